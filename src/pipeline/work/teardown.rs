//! Taking a task's worktree and branch away, once its work has landed or is saved.

use super::WorkError;
use super::hand::Hand;
use super::journal::Entry;
use super::landing::{chosen, warrant_of};
use super::standing::{Life, Seen, added_by};
use super::surroundings::keep_branch;
use crate::host::failpoint;
use crate::integrate::{Recognised, SalvageTag, Settled, recognise, remove_worktree, salvage};
use crate::task::layout::Folder;

/// Removes the worktree with the proof of a landing, found again if another process made it, or of a salvage; then the
/// branch, whose commits stay reachable.
pub(super) fn teardown(hand: &mut Hand<'_>, seen: &Seen, life: &Life) -> Result<(), WorkError> {
    let worktree = hand.worktree();
    let landed = match hand.landed.take() {
        Some(landed) => Some(landed),
        None if seen.standing.folder == Some(Folder::Done) => found(hand, seen, life)?,
        None => None,
    };
    let settled = if let Some(landed) = landed {
        Settled::Landed { landed, worktree }
    } else {
        // Returned by its worker, or moved by a person: nothing goes that is not saved.
        let tag =
            if seen.standing.folder == Some(Folder::Backlog) { SalvageTag::Bounced } else { SalvageTag::Discarded };
        let inside = hand.repo.discover_beside(&worktree)?;
        failpoint::pass(hand.repo.host());
        let saved = salvage(&inside, &hand.terms.top, &hand.subject.id, tag, &life.start)?;
        let record = saved.record().clone();
        hand.record(Entry::Saved { tag: record.tag, reference: record.reference, patch: record.patch })?;
        Settled::Salvaged(saved)
    };
    let branch = hand.branch()?;
    let tip = hand.repo.read_ref(&branch)?;
    hand.effect(|| {
        if let Some(tip) = tip.as_ref().filter(|tip| **tip != life.start) {
            keep_branch(hand, tip)?;
        }
        remove_worktree(&hand.repo, settled)?;
        failpoint::pass(hand.repo.host());
        if let Some(tip) = &tip {
            hand.repo.git().run(["update-ref", "-d", branch.as_str(), tip.as_str()])?;
        }
        Ok(())
    })
}

/// The proof of a landing that was made before: by a run that died, for instance.
fn found(hand: &mut Hand<'_>, seen: &Seen, life: &Life) -> Result<Option<crate::integrate::Landed>, WorkError> {
    let path = hand.subject.path(hand.terms.layout, Folder::Done);
    let Some(commit) = added_by(&hand.repo, &hand.terms.target, &path)? else { return Ok(None) };
    let Some((attempt, verified)) = chosen(seen, life) else { return Ok(None) };
    let Some(warrant) = warrant_of(attempt) else { return Ok(None) };
    let order = Recognised {
        task: hand.id(),
        target: &hand.terms.target,
        verified: &verified,
        case: Some(&attempt.sealed.commit),
    };
    let landed = recognise(&hand.repo, &warrant, &order, &commit)?;
    if landed.is_some() {
        hand.record(Entry::Landed { commit, at: hand.repo.host().clock.now() })?;
    }
    Ok(landed)
}
