//! Taking a task's worktree and branch away, once its work has landed or is saved.

use super::WorkError;
use super::hand::Hand;
use super::journal::{Entry, Journal};
use super::landing::{chosen, warrant_of};
use super::standing::{Life, Seen, added_by};
use super::surroundings::keep_branch;
use crate::host::failpoint;
use crate::host::git::{RefName, Repo};
use crate::host::ids::CommitId;
use crate::integrate::{Recognised, SalvageTag, Salvaged, Settled, TeardownError, recognise, remove_worktree, salvage};
use crate::task::TaskId;
use crate::task::layout::Folder;
use std::time::Duration;

/// Removes the worktree with the proof of a landing, found again if another process made it, or of a salvage; then the
/// branch, whose commits stay reachable.
pub(super) fn teardown(hand: &mut Hand<'_>, seen: &Seen, life: &Life) -> Result<(), WorkError> {
    let worktree = hand.worktree();
    let landed = match hand.landed.take() {
        Some(landed) => Some(landed),
        None if seen.standing.folder == Some(Folder::Done) => found(hand, seen, life)?,
        None => None,
    };
    let claim = landed.as_ref().map(|landed| landed.record().claim.clone());
    let settled = if let Some(landed) = landed {
        Settled::Landed { landed, worktree }
    } else {
        // Returned by its worker, or moved by a person: nothing goes that is not saved.
        let tag =
            if seen.standing.folder == Some(Folder::Backlog) { SalvageTag::Bounced } else { SalvageTag::Discarded };
        Settled::Salvaged(save(hand, tag, &life.start)?)
    };
    let branch = hand.branch()?;
    let tip = hand.repo.read_ref(&branch)?;
    let removed = hand.effect(|| {
        if let Some(tip) = tip.as_ref().filter(|tip| **tip != life.start) {
            keep_branch(&hand.repo, &hand.subject.id, tip)?;
        }
        Ok(remove_worktree(&hand.repo, settled))
    })?;
    match (removed, claim) {
        (Err(TeardownError::Changed { .. }), Some(claim)) => {
            // What landed is what was judged. What was written afterwards is nobody's claim, and is not lost either.
            let settled = Settled::Salvaged(save(hand, SalvageTag::Late, &claim)?);
            hand.effect(|| Ok(remove_worktree(&hand.repo, settled)?))?;
        }
        (removed, _) => removed?,
    }
    hand.effect(|| {
        if let Some(tip) = &tip {
            hand.repo.git().run(["update-ref", "-d", branch.as_str(), tip.as_str()])?;
        }
        Ok(())
    })
}

/// A run that died between a worktree's removal and its branch's left the branch. It goes if nobody has it checked out;
/// commits that no other reference has are kept under one of ours.
pub(super) fn end_broken_removal(repo: &Repo, id: &TaskId) -> Result<(), WorkError> {
    let Ok(branch) = RefName::new(&format!("refs/heads/aw/{id}")) else { return Ok(()) };
    if repo.read_ref(&branch)?.is_none() {
        return Ok(());
    }
    // The task's lock gives the right to act. What the dead run started may hold it for a moment more.
    let Some(_lock) = lock_of(repo, id)? else { return Ok(()) };
    let Some(tip) = repo.read_ref(&branch)? else { return Ok(()) };
    let contains = format!("--contains={tip}");
    let holders = repo.git().run(["for-each-ref", "--format=%(refname)", &contains])?.stdout;
    let kept = String::from_utf8_lossy(&holders).lines().any(|name| name != branch.as_str());
    if repo.checkouts_of(&branch)?.is_empty() {
        if !kept {
            keep_branch(repo, id, &tip)?;
        }
        repo.git().run(["update-ref", "-d", branch.as_str(), tip.as_str()])?;
    }
    Ok(())
}

/// How often a lock is tried, and how long each time is waited.
const LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(20);

fn lock_of(repo: &Repo, id: &TaskId) -> Result<Option<Journal>, WorkError> {
    for _ in 0..LOOKS {
        if let Some(journal) = Journal::open(&repo.own_dir(), id)? {
            return Ok(Some(journal));
        }
        if !repo.host().cancel.wait(LOOK) {
            return Err(WorkError::Interrupted);
        }
    }
    Ok(None)
}

/// Saves what the worktree holds beyond `base`, and says so in the journal.
fn save(hand: &mut Hand<'_>, tag: SalvageTag, base: &CommitId) -> Result<Salvaged, WorkError> {
    let inside = hand.repo.discover_beside(&hand.worktree())?;
    failpoint::pass(hand.repo.host());
    let saved = salvage(&inside, &hand.terms.top, &hand.subject.id, tag, base)?;
    let record = saved.record().clone();
    hand.record(Entry::Saved { tag: record.tag, reference: record.reference, patch: record.patch })?;
    Ok(saved)
}

/// The proof of a landing that was made before: by a run that died, for instance.
fn found(hand: &mut Hand<'_>, seen: &Seen, life: &Life) -> Result<Option<crate::integrate::Landed>, WorkError> {
    let path = hand.subject.path(hand.terms.layout, Folder::Done);
    let Some(commit) = added_by(&hand.repo, &hand.terms.target, &path)? else { return Ok(None) };
    let Some((attempt, verified)) = chosen(seen, life, true) else { return Ok(None) };
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
