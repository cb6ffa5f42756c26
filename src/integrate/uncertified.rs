//! Landings that nobody verified, read off the notes (RULINGS 23).
//!
//! Each note carries the ranges that are open at its commit, so that the newest note on a branch tells them all. A range
//! is closed by `refs/countersign/certified/<commit>`, which points at the case of a PASS whose diff starts at or before
//! the range's parent; the merge gate works that out anew from the case.

use super::land::LandingRecord;
use super::note::{NOTES, PREDICATE};
use crate::host::git::{GitError, RefMove, RefName, Repo};
use crate::host::ids::CommitId;
use crate::receipts::uncertified::Range;
use crate::verdict::WarrantOrigin;

/// Where closed ranges are pointed at.
const CERTIFIED: &str = "refs/countersign/certified/";
/// How many commits are looked at before all of them are: bookkeeping has no note.
const FIRST_LOOK: &str = "--max-count=64";

/// The ranges that are open at a commit, oldest first.
///
/// # Errors
/// Git fails.
pub fn open_ranges(repo: &Repo, tip: &CommitId) -> Result<Vec<Range>, GitError> {
    let notes = RefName::new(NOTES).ok();
    let none = notes.map(|notes| repo.read_ref(&notes)).transpose()?.flatten().is_none();
    if none {
        return Ok(Vec::new());
    }
    let told = match newest(repo, tip, &[FIRST_LOOK])? {
        Some(told) => told,
        None => newest(repo, tip, &[])?.unwrap_or_default(),
    };
    if told.is_empty() {
        return Ok(told);
    }
    let closed = repo.refs_under(CERTIFIED)?;
    let is_open =
        |range: &Range| !closed.iter().any(|(name, _)| name.strip_prefix(CERTIFIED) == Some(range.commit.as_str()));
    Ok(told.into_iter().filter(is_open).collect())
}

/// What the newest note of ours on a branch says; none if there is no note among these commits.
fn newest(repo: &Repo, tip: &CommitId, limit: &[&str]) -> Result<Option<Vec<Range>>, GitError> {
    let notes = format!("--notes={NOTES}");
    let words = ["log", "--first-parent", "--no-color", "--no-show-signature", "--format=%N%x1e", &notes];
    let output = repo.git().run(words.into_iter().chain(limit.iter().copied()).chain([tip.as_str()]))?;
    let told = output.stdout.split(|byte| *byte == 0x1e).find_map(ranges_of);
    Ok(told)
}

/// The ranges of one note; none if it is no landing's.
fn ranges_of(note: &[u8]) -> Option<Vec<Range>> {
    let statement: serde_json::Value = serde_json::from_slice(note.trim_ascii()).ok()?;
    let predicate = statement.get("predicate").filter(|_| statement["predicateType"] == PREDICATE)?;
    match predicate.get("uncertified") {
        Some(ranges) => serde_json::from_value(ranges.clone()).ok(),
        None => Some(Vec::new()),
    }
}

/// What the note on a landing carries: what was open at its parent, and the landing itself if nobody verified it.
///
/// # Errors
/// Git fails.
pub(super) fn carried(repo: &Repo, record: &LandingRecord) -> Result<Vec<Range>, GitError> {
    let mut ranges = open_ranges(repo, &record.parent)?;
    let origin = match record.origin {
        WarrantOrigin::Verified | WarrantOrigin::Skipped => return Ok(ranges),
        WarrantOrigin::Override => "override",
        WarrantOrigin::Unverified => "unverified",
    };
    ranges.push(Range {
        parent: record.parent.clone(),
        commit: record.commit.clone(),
        task: record.task.clone(),
        origin: origin.to_owned(),
    });
    Ok(ranges)
}

/// Closes every range at `head` that a PASS covers: its diff starts at `base`, at or before the range's parent, and its
/// work contains the range's commit.
///
/// # Errors
/// Git fails.
pub fn certify(repo: &Repo, base: &CommitId, head: &CommitId, case: &CommitId) -> Result<Vec<Range>, GitError> {
    let mut closed = Vec::new();
    for range in open_ranges(repo, head)? {
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
