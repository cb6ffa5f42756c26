//! What was asked.

pub mod criteria;

pub use criteria::{Criterion, Kind, Proof};
