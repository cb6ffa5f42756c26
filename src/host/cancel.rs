//! Whether the user asked us to stop.

use rustix::event::{Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Counts the interrupts so far: none, asked once, insisted.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicUsize>);

impl Cancel {
    /// A cancel that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counter behind it, for a signal handler.
    pub fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }

    /// Records one interrupt.
    pub fn ask(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// True after the first interrupt: stop politely.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    /// Waits this long, or until the user asks to stop. True if the time went by.
    pub fn wait(&self, long: Duration) -> bool {
        let tick = Duration::from_millis(50);
        let mut left = long;
        while !self.is_asked() && !left.is_zero() {
            let now = left.min(tick);
            let timeout = Timespec { tv_sec: 0, tv_nsec: now.subsec_nanos().into() };
            let _ = poll(&mut [], Some(&timeout));
            left -= now;
        }
        !self.is_asked()
    }

    /// True after the second interrupt: stop now.
    pub fn is_insisted(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 1
    }
}
