//! Records facts: on disk first, then told to the observer.

use super::{Observer, VerifyError};
use crate::host::{Host, failpoint};
use crate::receipts::ledger::Ledger;
use crate::receipts::{Fact, Receipt};
use std::path::Path;

/// The running attempt: its ledger, and whoever watches.
pub(super) struct Recorder<'w> {
    ledger: Ledger,
    watch: &'w mut dyn Observer,
    host: Host,
}

impl<'w> Recorder<'w> {
    pub(super) fn new(ledger: Ledger, watch: &'w mut dyn Observer, host: &Host) -> Self {
        Self { ledger, watch, host: host.clone() }
    }

    /// Says what begins.
    pub(super) fn begin(&mut self, what: &str) {
        self.watch.began(what);
    }

    /// Records one fact; the next step may begin when this returns.
    pub(super) fn record(&mut self, fact: Fact) -> Result<u32, VerifyError> {
        let id = self.ledger.record(fact)?;
        failpoint::pass(&self.host);
        if let Some(receipt) = self.ledger.receipts().last() {
            self.watch.recorded(receipt);
        }
        Ok(id)
    }

    pub(super) fn receipts(&self) -> &[Receipt] {
        self.ledger.receipts()
    }

    /// The attempt's folder inside the git directory.
    pub(super) fn folder(&self) -> &Path {
        self.ledger.folder()
    }
}
