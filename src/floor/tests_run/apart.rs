//! Runs on hybrids and mutants: their own words are kept, because somebody asks why a test failed there.

use super::attempt::{Attempt, Remembered, Run, Subject};
use super::{Facts, TestCommand};
use crate::floor::Inspection;
use crate::floor::reports::Reading;
use crate::host::process::{Ended, Ending};
use std::path::Path;

/// Words of one run that are kept to find out why tests failed.
const SAID: usize = 8 << 20;

/// What a run wrote, as far as somebody asks why a test failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::floor) struct Said {
    pub(in crate::floor) output: Vec<u8>,
    pub(in crate::floor) report: Vec<u8>,
}

/// A run on a tree that is neither the claim's nor the base's.
#[derive(Debug, Clone)]
pub(in crate::floor) struct Apart {
    pub(in crate::floor) ending: Ending,
    pub(in crate::floor) reading: Reading,
    pub(in crate::floor) said: Said,
}

/// Runs these commands on a hybrid or a mutant.
pub(in crate::floor) fn run_apart(
    inspection: &Inspection<'_>,
    commands: &[TestCommand],
    subject: &Subject<'_>,
    (logs, remembered): (&Path, &Remembered),
    runs: &mut Vec<Facts>,
) -> Vec<Result<Apart, String>> {
    let done = Attempt::new(inspection, logs, remembered).run_side(commands, subject, runs);
    let apart = |run: Run| match run.unready {
        Some(why) if run.reading.executed.is_none() => Err(why),
        _ => Ok(Apart { ending: run.ending, reading: run.reading, said: run.said.unwrap_or_default() }),
    };
    done.into_iter().map(|run| run.and_then(apart)).collect()
}

/// The words of a run that has just ended.
pub(super) fn said(ended: &Ended, mut report: Vec<u8>) -> Said {
    report.truncate(SAID);
    Said { output: ended.stdout[..ended.stdout.len().min(SAID)].to_vec(), report }
}
