//! Landing: a warrant becomes one commit on its target, or nothing moves and the warrant is handed back.
//!
//! The merge is made of trees alone. If the target moved since the claim was measured, what would land is another tree
//! than the verified one: it lands only where it differs in nothing but bookkeeping, or where that tree was verified, too.

mod batch;

pub use batch::land_batch;

use super::attest;
use super::board;
use super::books::{BooksError, Completion, Pages, keep_books};
use super::hooks::{HookError, run_hooks};
use super::likeness::{foreign_paths, without_books};
use super::peer;
use crate::host::clock::Timestamp;
use crate::host::failpoint;
use crate::host::git::{BranchMove, GitError, Merged, Notes, Obstacle, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::verdict::{Warrant, WarrantOrigin};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// With these words and its tasks a landing moves its branch, in the reflog.
const MOVED: &str = "countersign: land ";

/// How often a landing is worked out anew because the target moved meanwhile.
const TRIES: u32 = 10;

/// Where and how to land.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The task, for note and messages.
    pub task: &'a str,
    /// The branch, as a full name.
    pub target: &'a RefName,
    /// The commit's message.
    pub message: &'a str,
    /// What is written on the board; none where there is no board.
    pub books: Option<&'a Completion<'a>>,
    /// Merged trees that were verified since the warrant was made.
    pub verified: &'a [TreeId],
    /// The sealed case that the warrant rests on.
    pub case: Option<&'a CommitId>,
    /// The time of the landing.
    pub at: Timestamp,
}

/// Why nothing landed. Nothing has moved then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No such branch.
    #[error("there is no branch {target}: it was deleted or renamed; name another with --into")]
    NoTarget {
        /// The name.
        target: String,
    },
    /// The claim's base is not on the target.
    #[error(
        "{target} at {tip} does not contain {base}, which the claim was measured against: it was rewritten; judge the claim anew on the branch as it is"
    )]
    Rewound {
        /// The branch.
        target: String,
        /// Where it points.
        tip: CommitId,
        /// The claim's base.
        base: CommitId,
    },
    /// The claim and the target changed the same places.
    #[error("the claim and {target} changed the same places: {}", named(paths))]
    Conflict {
        /// The branch.
        target: String,
        /// Those places.
        paths: Vec<RepoPath>,
    },
    /// What would land was not verified.
    #[error(
        "{target} moved since the claim was judged: the merge is tree {merged}, which nobody verified (it differs in {}); judge that tree first",
        named(paths)
    )]
    Unverified {
        /// The branch.
        target: String,
        /// What would land.
        merged: TreeId,
        /// Where it differs from what was verified.
        paths: Vec<RepoPath>,
    },
    /// The claim changes nothing that the target does not have.
    #[error("nothing to land: {target} at {tip} has all of the claim already")]
    Nothing {
        /// The branch.
        target: String,
        /// Where it points.
        tip: CommitId,
    },
    /// The task is no longer the one that was judged.
    #[error(
        "{path} on {target} asks for something else than what was judged: judge the claim against the task as it is now"
    )]
    TaskChanged {
        /// The branch.
        target: String,
        /// The task's page there.
        path: RepoPath,
    },
    /// The board cannot be written.
    #[error(transparent)]
    Books(#[from] BooksError),
    /// A hook of the project says no, or cannot run.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The checkout of the target cannot follow.
    #[error(transparent)]
    Checkout(Obstacle),
    /// Others keep moving the target.
    #[error("{target} kept moving: {TRIES} tries to land on it were overtaken; try again")]
    Raced {
        /// The branch.
        target: String,
    },
    /// Git failed: no identity, no signature, a full disk.
    #[error(transparent)]
    Git(#[from] GitError),
}

fn named(paths: &[RepoPath]) -> String {
    let shown: Vec<String> = paths.iter().take(10).map(ToString::to_string).collect();
    let more = paths.len().saturating_sub(10);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// A warrant that was not spent, and why.
#[derive(Debug)]
pub struct Unlanded {
    /// The warrant: it is still good.
    pub warrant: Warrant,
    /// Why nothing landed.
    pub why: Refusal,
}

/// The proof of a landing. Made by [`land`] alone.
#[derive(Debug, PartialEq, Eq)]
pub struct Landed {
    base: CommitId,
    claim_tree: TreeId,
    record: LandingRecord,
}

/// A landing as it is recorded and shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LandingRecord {
    /// The task.
    pub task: String,
    /// The branch.
    pub target: String,
    /// The landing commit.
    pub commit: CommitId,
    /// What the branch pointed to before.
    pub parent: CommitId,
    /// The merged tree without bookkeeping.
    pub merged: TreeId,
    /// The landed tree.
    pub tree: TreeId,
    /// The claim's commit.
    pub claim: CommitId,
    /// Where the warrant came from.
    pub origin: WarrantOrigin,
    /// The checkout that followed the branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkout: Option<PathBuf>,
    /// What the bookkeeping met: a page that is missing, a README change that met another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Of several that landed together: the tree of the last one, which was judged for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<TreeId>,
    /// Why the commit has no note yet, if so: it is to be made again, the landing holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note_missing: Option<String>,
    /// Why the note has no signature, if so: a merge gate takes it only where the settings say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note_unsigned: Option<String>,
}

impl Landed {
    /// The commit that the claim was measured against.
    pub fn base(&self) -> &CommitId {
        &self.base
    }

    /// The claim's tree.
    pub fn claim_tree(&self) -> &TreeId {
        &self.claim_tree
    }

    /// What landed, and where.
    pub fn record(&self) -> &LandingRecord {
        &self.record
    }
}

/// Lands a warrant as one commit on its target.
///
/// # Errors
/// The warrant, and why it was not spent. Nothing has moved then.
pub fn land(repo: &Repo, warrant: Warrant, order: &Order<'_>) -> Result<Landed, Box<Unlanded>> {
    match attempt_all(repo, &warrant, order) {
        Ok(record) => Ok(Landed { base: warrant.base().clone(), claim_tree: warrant.tree().clone(), record }),
        Err(why) => Err(Box::new(Unlanded { warrant, why })),
    }
}

/// What is known of a landing that another process made.
#[derive(Debug, Clone, Copy)]
pub struct Recognised<'a> {
    /// The task.
    pub task: &'a str,
    /// The branch.
    pub target: &'a RefName,
    /// Trees that were verified since the warrant was made.
    pub verified: &'a [TreeId],
    /// The sealed case that the warrant rests on.
    pub case: Option<&'a CommitId>,
}

/// The proof of a landing that another process made: `commit` is on the target, and it is what landing this warrant on its
/// parent gives, or a tree verified since, bookkeeping apart. A note that is missing is made. None if it is something else.
///
/// # Errors
/// Git fails.
pub fn recognise(
    repo: &Repo,
    warrant: &Warrant,
    known: &Recognised<'_>,
    commit: &CommitId,
) -> Result<Option<Landed>, GitError> {
    let Recognised { task, target, verified, case } = *known;
    let Some(tip) = repo.read_ref(target)? else { return Ok(None) };
    let (parents, _) = repo.parents_of(commit)?;
    let ([parent], true) = (parents.as_slice(), repo.is_ancestor(commit, &tip)?) else { return Ok(None) };
    let merged = if parent == warrant.base() {
        warrant.tree().clone()
    } else {
        match repo.merge(parent, warrant.commit())? {
            Merged::Clean(tree) => tree,
            Merged::Conflict(_) => return Ok(None),
        }
    };
    let tree = repo.tree_of(commit)?;
    let mut same = foreign_paths(repo, &merged, &tree)?.is_empty();
    for other in verified {
        same = same || foreign_paths(repo, other, &tree)?.is_empty();
    }
    if !same {
        return Ok(None);
    }
    let mut record = LandingRecord {
        task: task.to_owned(),
        target: target.to_string(),
        commit: commit.clone(),
        parent: parent.clone(),
        merged,
        tree,
        claim: warrant.commit().clone(),
        origin: warrant.origin(),
        checkout: None,
        remarks: Vec::new(),
        batch: None,
        note_missing: None,
        note_unsigned: None,
    };
    if Notes::open(repo, &attest::notes_ref()?)?.get(commit)?.is_none() {
        record.batch = batch::batch_of(repo, target, commit)?;
        annotate(repo, &mut record, warrant, case);
    }
    Ok(Some(Landed { base: warrant.base().clone(), claim_tree: warrant.tree().clone(), record }))
}

/// Puts the note on the landed commit, and records why there is none, or why nobody signed it.
fn annotate(repo: &Repo, record: &mut LandingRecord, warrant: &Warrant, case: Option<&CommitId>) {
    match attest::attest_landing(repo, record, warrant, case, repo.host().clock.now()) {
        Ok(noted) => record.note_unsigned = noted.unsigned,
        Err(why) => record.note_missing = Some(why.to_string()),
    }
}

fn attempt_all(repo: &Repo, warrant: &Warrant, order: &Order<'_>) -> Result<LandingRecord, Refusal> {
    for _ in 0..TRIES {
        if let Some(record) = attempt(repo, warrant, order)? {
            return Ok(record);
        }
    }
    Err(Refusal::Raced { target: order.target.to_string() })
}

/// One try; none if the target moved meanwhile.
fn attempt(repo: &Repo, warrant: &Warrant, order: &Order<'_>) -> Result<Option<LandingRecord>, Refusal> {
    let target = || order.target.to_string();
    let tip = repo.read_ref(order.target)?.ok_or_else(|| Refusal::NoTarget { target: target() })?;
    let merged = merged(repo, warrant, order, &tip)?;
    let parent_tree = repo.tree_of(&tip)?;
    if merged == parent_tree {
        return Err(Refusal::Nothing { target: target(), tip });
    }
    let mut record = built(repo, warrant, order, &tip, merged)?;
    failpoint::pass(repo.host());
    let held = match peer::lock_board(repo, order.target, order.at)? {
        Ok(held) => held,
        Err(obstacle) => return Err(Refusal::Checkout(obstacle)),
    };
    let moved = repo.move_branch(order.target, &tip, &record.commit, &format!("{MOVED}{}", order.task))?;
    drop(held);
    let checkout = match moved {
        BranchMove::Moved(checkout) => checkout,
        BranchMove::Raced => return Ok(None),
        BranchMove::Refused(obstacle) => return Err(Refusal::Checkout(obstacle)),
    };
    record.checkout = checkout;
    failpoint::pass(repo.host());
    annotate(repo, &mut record, warrant, order.case);
    Ok(Some(record))
}

/// The commit of a landing on `parent`: the merged tree with its books, as the project's hooks leave it. No reference moves.
fn built(
    repo: &Repo,
    warrant: &Warrant,
    order: &Order<'_>,
    parent: &CommitId,
    merged: TreeId,
) -> Result<LandingRecord, Refusal> {
    let (tree, remarks) = match order.books {
        Some(done) => with_books(repo, order, done, parent, &merged)?,
        None => (merged.clone(), Vec::new()),
    };
    let hooked = run_hooks(repo, parent, &tree, order.message)?;
    if hooked.tree != tree {
        verified_by_hook(repo, order, &merged, &hooked.tree)?;
    }
    Ok(LandingRecord {
        task: order.task.to_owned(),
        target: order.target.to_string(),
        commit: repo.commit_as_user(&hooked.tree, parent, order.at, &hooked.message)?,
        parent: parent.clone(),
        merged,
        tree: hooked.tree,
        claim: warrant.commit().clone(),
        origin: warrant.origin(),
        checkout: None,
        remarks,
        batch: None,
        note_missing: None,
        note_unsigned: None,
    })
}

/// The merged tree with the books written, and what they met.
fn with_books(
    repo: &Repo,
    order: &Order<'_>,
    done: &Completion<'_>,
    tip: &CommitId,
    merged: &TreeId,
) -> Result<(TreeId, Vec<String>), Refusal> {
    let id = done.task.id.as_ref().map_or("", |id| id.as_str());
    let before = Pages::load(repo, &repo.tree_of(tip)?, done.layout, id)?;
    if let Some(path) = before.other_wording(done) {
        return Err(Refusal::TaskChanged { target: order.target.to_string(), path });
    }
    let pages = Pages::load(repo, merged, done.layout, id)?;
    let books = keep_books(&pages, done)?;
    let remarks = books.remarks.clone();
    Ok((board::with_books(repo, merged, &pages, books)?, remarks))
}

/// Refuses what a hook made of the tree, unless that was verified, too.
fn verified_by_hook(repo: &Repo, order: &Order<'_>, merged: &TreeId, found: &TreeId) -> Result<(), Refusal> {
    let paths = foreign_paths(repo, merged, found)?;
    if paths.is_empty() {
        return Ok(());
    }
    for verified in order.verified {
        if foreign_paths(repo, verified, found)?.is_empty() {
            return Ok(());
        }
    }
    let tree = Some(without_books(repo, merged, found)?);
    Err(HookError::TreeChanged { hook: "pre-commit", paths: paths.into_iter().collect(), tree }.into())
}

/// The merge of the claim into the target, if it is a tree that may land.
fn merged(repo: &Repo, warrant: &Warrant, order: &Order<'_>, tip: &CommitId) -> Result<TreeId, Refusal> {
    if tip == warrant.base() {
        return Ok(warrant.tree().clone());
    }
    let (target, base) = (order.target.to_string(), warrant.base().clone());
    if !repo.is_ancestor(&base, tip)? {
        return Err(Refusal::Rewound { target, tip: tip.clone(), base });
    }
    let merged = match repo.merge(tip, warrant.commit())? {
        Merged::Clean(tree) => tree,
        Merged::Conflict(paths) => return Err(Refusal::Conflict { target, paths }),
    };
    let mut nearest = foreign_paths(repo, warrant.tree(), &merged)?;
    for verified in order.verified {
        if nearest.is_empty() {
            break;
        }
        nearest = foreign_paths(repo, verified, &merged)?;
    }
    if nearest.is_empty() {
        return Ok(merged);
    }
    Err(Refusal::Unverified { target, merged, paths: nearest.into_iter().collect() })
}
