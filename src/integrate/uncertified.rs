//! Landings that nobody verified, read off the notes (RULINGS 23).
//!
//! Each note carries the ranges that are open at its commit, so that the newest note on a branch tells them all. A range
//! is closed by `refs/countersign/certified/<commit>`, which points at the case of a PASS whose diff starts at or before
//! the range's parent; the merge gate works that out anew from the case.

use super::attest::{Uncertified, last_ranges};
use crate::host::git::{GitError, RefMove, RefName, Repo};
use crate::host::ids::CommitId;
use crate::receipts::uncertified::Range;

/// Where closed ranges are pointed at.
const CERTIFIED: &str = "refs/countersign/certified/";

/// The ranges that are open at a commit, oldest first.
///
/// # Errors
/// Git fails.
pub fn open_ranges(repo: &Repo, tip: &CommitId) -> Result<Vec<Range>, GitError> {
    Ok(without_closed(repo, last_ranges(repo, tip)?)?.into_iter().map(range).collect())
}

fn range(told: Uncertified) -> Range {
    Range { parent: told.from, commit: told.to, task: told.task, origin: told.why }
}

/// Leaves out what a judgement by hand has closed.
pub(super) fn without_closed(repo: &Repo, mut told: Vec<Uncertified>) -> Result<Vec<Uncertified>, GitError> {
    if !told.is_empty() {
        let closed = repo.refs_under(CERTIFIED)?;
        told.retain(|range| !closed.iter().any(|(name, _)| name.strip_prefix(CERTIFIED) == Some(range.to.as_str())));
    }
    Ok(told)
}

/// Closes every range at `head` that a PASS covers: its diff starts at `base`, at or before the range's parent, and its
/// work contains the range's commit. Those that were closed before are among them: whoever closed them may have had no key
/// to sign with.
///
/// # Errors
/// Git fails.
pub fn certify(repo: &Repo, base: &CommitId, head: &CommitId, case: &CommitId) -> Result<Vec<Range>, GitError> {
    let mut closed = Vec::new();
    for range in last_ranges(repo, head)?.into_iter().map(range) {
        let starts_before = *base == range.parent || repo.is_ancestor(base, &range.parent)?;
        let contains = *head == range.commit || repo.is_ancestor(&range.commit, head)?;
        let Ok(name) = RefName::new(&format!("{CERTIFIED}{}", range.commit)) else { continue };
        // Another process that closed it is as good.
        if starts_before && contains && matches!(repo.move_ref(&name, case, None)?, RefMove::Moved | RefMove::Raced) {
            closed.push(range);
        }
    }
    Ok(closed)
}
