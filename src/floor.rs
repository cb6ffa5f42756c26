//! The floor: what is judged without an opinion, cheapest first, all findings kept.
//!
//! Each check is one file with a public, stable id. It reads the two trees (never the worktree), the task as of the base
//! and the worker's report, and returns a [`CheckReport`]; what it cannot find out is `unknown`, which is never a pass
//! and never the worker's fault.

pub mod criteria;
pub mod injection;
pub mod secrets;
pub mod tests_run;

use crate::claim::{Claim, Sighting};
use crate::config::Settings;
use crate::host::git::{GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use crate::receipts::{CheckReport, State};

/// A file larger than this is not read by a check; the check says so.
pub const LARGEST_READ: u64 = 4 << 20;

/// What a check may look at.
#[derive(Debug, Clone, Copy)]
pub struct Inspection<'a> {
    /// The repository, for reading objects.
    pub repo: &'a Repo,
    /// The settings in force.
    pub settings: &'a Settings,
    /// The claim.
    pub claim: &'a Claim,
    /// What the freezing saw beside the tree.
    pub sightings: &'a [Sighting],
}

impl Inspection<'_> {
    /// A file as it was at the base.
    ///
    /// # Errors
    /// The object store cannot answer.
    pub fn at_base(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        self.repo.file(&self.claim.base_tree, path, LARGEST_READ)
    }

    /// A file as the claim has it.
    ///
    /// # Errors
    /// The object store cannot answer.
    pub fn in_claim(&self, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        self.repo.file(&self.claim.tree, path, LARGEST_READ)
    }

    /// The two trees, base first.
    pub fn trees(&self) -> (&TreeId, &TreeId) {
        (&self.claim.base_tree, &self.claim.tree)
    }
}

/// One check that needs no room.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The public, stable id.
    pub id: &'static str,
    /// The worst state it can report (RULINGS 9).
    pub worst: State,
    /// Why that state and no other, for the README's table.
    pub why: &'static str,
    /// The check.
    pub inspect: fn(&Inspection<'_>) -> CheckReport,
}
