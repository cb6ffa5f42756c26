//! Land a warrant, save what does not land, and take a worktree away only with a proof of either.

pub mod board;
pub mod books;
pub mod hooks;
pub mod land;
pub mod likeness;
pub mod note;
mod peer;
pub mod salvage;
pub mod teardown;

pub use board::{BoardWriteError, with_books, write_board};
pub use books::{Books, BooksError, Completion, Pages, keep_books};
pub use hooks::HookError;
pub use land::{Landed, LandingRecord, Order, Recognised, Refusal, Unlanded, land, recognise};
pub use salvage::{SalvageError, SalvageRecord, SalvageTag, Salvaged, salvage};
pub use teardown::{Settled, TeardownError, remove_worktree};
