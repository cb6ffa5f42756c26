//! The only code that touches the machine: git, processes, the sandbox, rooms, the clock and the environment; with it
//! what is done to everything that comes from there before it is kept or shown.

pub mod cancel;
pub mod clock;
pub mod digest;
pub mod env;
pub mod failpoint;
pub mod git;
pub mod ids;
pub mod keepsake;
pub mod lockfile;
pub mod path;
pub mod process;
pub mod random;
pub mod reach;
pub mod redact;
pub mod room;
pub mod sandbox;
pub mod signing;

use std::path::PathBuf;

/// Everything of the outside that a run may use, settled once by the caller.
///
/// The library never reads the environment, the clock or the current directory by itself; it asks this.
#[derive(Debug, Clone)]
pub struct Host {
    /// The `git` program, as found on the caller's `PATH` (or given).
    pub git: PathBuf,
    /// Our own binary, re-executed as `countersign __box` to confine a child; see [`sandbox`].
    pub helper: PathBuf,
    /// Where a child's private `HOME`, `TMPDIR` and scratch are made.
    pub scratch: PathBuf,
    /// The variables children may see (an allow-list is applied on top, see [`env::Env`]).
    pub env: env::Env,
    /// The clock; tests use a fixed one.
    pub clock: clock::Clock,
    /// Set when the user pressed Ctrl-C.
    pub cancel: cancel::Cancel,
}
