//! Land a warrant, save what does not land, and take a worktree away only with a proof of either.

pub mod attest;
pub mod board;
pub mod books;
pub mod hooks;
pub mod land;
pub mod likeness;
mod peer;
pub mod salvage;
pub mod share;
pub mod teardown;
pub mod uncertified;

pub use board::{BoardWriteError, with_books, write_board};
pub use books::{Books, BooksError, Completion, Pages, keep_books};
pub use hooks::HookError;
pub use land::{Landed, LandingRecord, Order, Recognised, Refusal, Unlanded, land, land_batch, recognise};
pub use salvage::restore::{RestoreError, Restored, SavedPatch, find_patch, restore, saved_patches};
pub use salvage::{SalvageError, SalvageRecord, SalvageTag, Salvaged, salvage};
pub use teardown::{Settled, TeardownError, remove_worktree, sweep_removed};
pub use uncertified::{certify, open_ranges};
