//! Several warrants become commits of their own in one move of the branch: it never stands at a tree in between, of which
//! nobody knows whether it is good (RULINGS 30).

use super::{LandingRecord, MOVED, Order, Refusal, annotate, built};
use crate::host::failpoint;
use crate::host::git::{BranchMove, GitError, Merged, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::integrate::likeness::foreign_paths;
use crate::integrate::peer;
use crate::verdict::Warrant;

/// Lands these warrants on `tip`, in this order, if what comes of all of them is the tree that was judged for all of them,
/// bookkeeping apart.
///
/// # Errors
/// Why nothing landed: nothing has moved then. The warrants are spent all the same; each is made anew from its case.
pub fn land_batch(
    repo: &Repo,
    members: Vec<(Warrant, Order<'_>)>,
    target: &RefName,
    tip: &CommitId,
    judged: &TreeId,
) -> Result<Vec<LandingRecord>, Refusal> {
    let name = || target.to_string();
    let (mut at, mut records) = (tip.clone(), Vec::new());
    for (warrant, order) in &members {
        let record = member(repo, warrant, order, &at)?;
        at = record.commit.clone();
        records.push(record);
    }
    let Some((last, (_, first))) = records.last().zip(members.first()) else { return Ok(records) };
    let paths = foreign_paths(repo, judged, &last.tree)?;
    if !paths.is_empty() {
        let (merged, paths) = (last.merged.clone(), paths.into_iter().collect());
        return Err(Refusal::Unverified { target: name(), merged, paths });
    }
    failpoint::pass(repo.host());
    let held = match peer::lock_board(repo, target, first.at)? {
        Ok(held) => held,
        Err(obstacle) => return Err(Refusal::Checkout(obstacle)),
    };
    let tasks: Vec<&str> = members.iter().map(|(_, order)| order.task).collect();
    let moved = repo.move_branch(target, tip, &at, &format!("{MOVED}{}", tasks.join(", ")))?;
    drop(held);
    let checkout = match moved {
        BranchMove::Moved(checkout) => checkout,
        BranchMove::Raced => return Err(Refusal::Raced { target: name() }),
        BranchMove::Refused(obstacle) => return Err(Refusal::Checkout(obstacle)),
    };
    failpoint::pass(repo.host());
    let judged = records.last().map(|last| last.tree.clone());
    for (record, (warrant, order)) in records.iter_mut().zip(members) {
        record.batch.clone_from(&judged);
        record.checkout.clone_from(&checkout);
        annotate(repo, record, &warrant, order.case);
        failpoint::pass(repo.host());
    }
    Ok(records)
}

/// The tree of the last commit of the batch that this one landed with, read off the branch's reflog: who moved it there may
/// have died before the notes were written.
pub(super) fn batch_of(repo: &Repo, target: &RefName, commit: &CommitId) -> Result<Option<TreeId>, GitError> {
    let words = ["log", "--walk-reflogs", "--no-show-signature", "--max-count=1000", "--format=%H %gs"];
    let listed = repo.git().run_unchecked(words.into_iter().chain([target.as_str(), "--"]))?;
    let mut moved = None;
    // Newest first: the oldest place that has it is where it came.
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some((id, why)) = line.split_once(' ') else { break };
        let Ok(id) = CommitId::new(id) else { break };
        if !repo.is_ancestor(commit, &id)? {
            break;
        }
        moved = Some((id, why.starts_with(MOVED) && why.contains(", ")));
    }
    moved.filter(|(_, together)| *together).map(|(id, _)| repo.tree_of(&id)).transpose()
}

/// The commit of one of them on top of the one before. No reference moves.
fn member(repo: &Repo, warrant: &Warrant, order: &Order<'_>, parent: &CommitId) -> Result<LandingRecord, Refusal> {
    let target = || order.target.to_string();
    let merged = match repo.merge(parent, warrant.commit())? {
        Merged::Clean(tree) => tree,
        Merged::Conflict(paths) => return Err(Refusal::Conflict { target: target(), paths }),
    };
    if merged == repo.tree_of(parent)? {
        return Err(Refusal::Nothing { target: target(), tip: parent.clone() });
    }
    built(repo, warrant, order, parent, merged)
}
