//! Fresh eyes: what the verifier is told, how it is asked, and the proof that it touched nothing.

pub mod brief;
pub mod consult;
pub mod fence;
pub mod mechanical;
pub mod watch;

pub use crate::agent::kit::VERIFIER_PROMPT;
