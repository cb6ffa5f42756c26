//! Land a warrant, save what does not land, and take a worktree away only with a proof of either.

pub mod salvage;
pub mod teardown;

pub use salvage::{SalvageError, SalvageRecord, SalvageTag, Salvaged, salvage};
pub use teardown::{Settled, TeardownError, remove_worktree};
