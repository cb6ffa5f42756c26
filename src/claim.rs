//! Freeze the work: a claim is the finished work as a commit that nobody can edit.

mod attributes;
mod base;
mod freeze;
mod names;
mod quarantine;
mod sightings;
mod submodules;
pub mod text;
pub mod witness;

pub use base::{Base, BaseError, check_history, settle_base};
pub use freeze::{FreezeError, Frozen, freeze_commit, freeze_worktree};

use crate::host::git::Change;
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Finished work, frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Claim {
    /// The reference that keeps it (`refs/countersign/claims/<task>/<n>`); none for a claim given as a commit.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The commit; none when the work was refused before it became one (check `secrets`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The frozen tree: what is tested, shown and landed.
    pub tree: TreeId,
    /// What it is measured against.
    pub base: CommitId,
    /// The base's tree.
    pub base_tree: TreeId,
    /// Every changed path, renames followed.
    pub changed: Vec<Change>,
}

/// Something about the worktree that the tree alone does not show: places where work can hide or be lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Sighting {
    /// What kind of place.
    pub kind: SightingKind,
    /// Where, if it has a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<RepoPath>,
    /// More, in words.
    pub detail: String,
}

/// The kinds of [`Sighting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SightingKind {
    /// The base is no longer an ancestor of the worktree's HEAD.
    RewrittenHistory,
    /// The base was chosen by an upstream that leaves out commits of the branch itself.
    ChosenBase,
    /// An index entry is marked assume-unchanged: git would not look at the file.
    AssumeUnchanged,
    /// An index entry is marked skip-worktree although its file is present and differs.
    SkipWorktree,
    /// An ignored file: it will not land, and tests in a room do not see it.
    IgnoredFile,
    /// An ignored file that only a rule outside the base ignores (a changed `.gitignore`, the shared `info/exclude`).
    NewlyIgnoredFile,
    /// The shared `info/exclude` hides paths.
    Exclude,
    /// A repository inside the worktree without a `.gitmodules` entry.
    NestedRepository,
    /// A submodule with uncommitted content.
    DirtySubmodule,
    /// A gitlink whose commit is reachable only inside this worktree.
    UnreachableGitlink,
    /// A gitlink whose commit nobody could look for: the submodule is not checked out.
    UnseenGitlink,
    /// A submodule pointer that moved backwards.
    SubmoduleRegressed,
    /// Two paths that are one path on a case-folding or normalising file system.
    NameCollision,
    /// Git configuration that runs programs (filters, drivers, hooks, includes).
    ExecutableConfig,
    /// A file whose content a rule outside of every tree converts (`info/attributes`, the repository's `core.attributesFile`).
    ForeignAttributes,
    /// A file whose only change is its line endings, or that the repository's own attributes make look changed.
    LineEndings,
}
