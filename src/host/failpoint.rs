//! Places at which a test can end the process as a crash would: SIGKILL, nothing run down, nothing flushed.
//!
//! Only debug builds have them; a release build has an empty function.

use super::Host;

/// The variable that names the place by its number in the run, from 1.
pub const VARIABLE: &str = "COUNTERSIGN_DIE_AT";

/// Passes a place.
#[cfg(debug_assertions)]
pub fn pass(host: &Host) {
    use std::sync::atomic::{AtomicU64, Ordering};
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let Some(at) = host.env.text(VARIABLE).and_then(|number| number.parse::<u64>().ok()) else { return };
    if PASSED.fetch_add(1, Ordering::SeqCst) + 1 == at {
        let own = rustix::process::getpid();
        _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    }
}

/// Passes a place, which a release build does not have.
#[cfg(not(debug_assertions))]
pub fn pass(_host: &Host) {}
