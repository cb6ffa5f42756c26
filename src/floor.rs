//! The floor: what is judged without an opinion, cheapest first, all findings kept.
//!
//! Each check is one file with a public, stable id. It reads the two trees (never the worktree), the task as of the base
//! and the worker's report, and returns a [`CheckReport`]; what it cannot find out is `unknown`, which is never a pass
//! and never the worker's fault.

pub mod adr_shape;
mod bookkeeping;
pub mod canary;
pub mod claim_empty;
pub mod conflict_markers;
pub mod criteria;
pub mod derived_artifacts;
mod finding;
mod gitmodules;
pub mod hiding_places;
pub mod injection;
pub mod lockfiles;
pub mod names;
pub mod nested_repository;
mod patterns;
mod reading;
pub mod readme_delta;
pub mod receipts;
pub mod reconcile;
mod record;
pub mod related_adrs;
pub mod report_files;
pub mod report_shape;
pub mod report_tests;
pub mod reports;
pub mod runtime_drive;
pub mod scope;
pub mod secrets;
pub mod skip_eligible;
pub mod submodules;
pub mod tamper;
mod task_file;
pub mod test_files;
pub mod tests_bite;
pub mod tests_collected;
pub mod tests_kept;
pub mod tests_run;
pub mod tests_tampered;

use crate::claim::{Claim, Sighting};
use crate::config::{Bookkeeper, Settings};
use crate::host::git::{GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use crate::receipts::{CheckReport, State};
use crate::task::Task;
use crate::task::layout::Layout;
use crate::worker::blocks::Document;
use crate::worker::{Report, ReportProblem};
use std::path::Path;

/// A file larger than this is not read by a check; the check says so.
pub const LARGEST_READ: u64 = 4 << 20;

/// What became of the worker's report.
#[derive(Debug, Clone, PartialEq)]
pub enum ReportState {
    /// There is none, and why that is no fault.
    None {
        /// In words.
        why: String,
    },
    /// There is one and it cannot be read.
    Rejected {
        /// The peer's code (agentheim.md §3.3), or `no-valid-source`.
        code: String,
        /// In words.
        detail: String,
        /// Where it was read.
        source: String,
    },
    /// It was read.
    Read {
        /// The report. Boxed: it is many times larger than its siblings.
        report: Box<Report>,
        /// What [`crate::worker::examine()`] said about it.
        problems: Vec<ReportProblem>,
        /// Where it was read.
        source: String,
    },
}

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
    /// The worktree the worker wrote in, absolute, as the worker knew it; none for a claim given as a commit.
    pub worktree: Option<&'a Path>,
    /// The task as of the base; none when the change is judged by the floor alone.
    pub task: Option<&'a Task>,
    /// Where the task's file stands at the base; none for a task given by hand.
    pub task_path: Option<&'a RepoPath>,
    /// The shape of the base's `.agentheim/`; none without a board.
    pub layout: Option<Layout>,
    /// The worker's report.
    pub report: &'a ReportState,
    /// Tests that the user's own flags let go (`--removes-tests`): globs as in a task's `removes-tests`.
    pub removals: &'a [String],
}

impl<'a> Inspection<'a> {
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

    /// The globs of tests that may go: those of the task, and those of the user's flags.
    pub fn removals(&self) -> impl Iterator<Item = &'a str> {
        let of_task = self.task.map_or(&[][..], |task| &task.removes_tests);
        of_task.iter().chain(self.removals).map(String::as_str)
    }

    /// The two trees, base first.
    pub fn trees(&self) -> (&TreeId, &TreeId) {
        (&self.claim.base_tree, &self.claim.tree)
    }

    /// Who keeps the board, as the base fixes it by layout and settings, never the report (RULINGS 10); none without one.
    pub fn keeper(&self) -> Option<Bookkeeper> {
        let by_layout = match self.layout? {
            Layout::Legacy => Bookkeeper::Worker,
            Layout::Board => Bookkeeper::Conductor,
        };
        Some(self.settings.scope.bookkeeping.unwrap_or(by_layout))
    }

    /// The task's own context.
    pub fn context(&self) -> Option<&'a str> {
        self.task?.context.as_deref()
    }

    /// The decision records that the report carries in its `ADRS` block.
    pub fn carried_records(&self) -> &'a [Document] {
        match self.report {
            ReportState::Read { report, .. } => report.blocks.as_ref().map_or(&[], |blocks| &blocks.adrs.files),
            ReportState::None { .. } | ReportState::Rejected { .. } => &[],
        }
    }
}

/// One check that needs no room.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The public, stable id.
    pub id: &'static str,
    /// The worst that it can say about a claim (RULINGS 9). Any check is `unknown` where the object store does not answer
    /// or a setting cannot be read; that is never about the claim.
    pub worst: State,
    /// Why that state and no other, for the README's table.
    pub why: &'static str,
    /// The check.
    pub inspect: fn(&Inspection<'_>) -> CheckReport,
}

/// The checks that need no room, cheapest first.
pub const CHECKS: &[Check] = &[
    Check {
        id: claim_empty::ID,
        worst: State::Deny,
        why: "a claim without a changed path is no work",
        inspect: claim_empty::inspect,
    },
    Check {
        id: report_shape::ID,
        worst: State::Deny,
        why: "a report that cannot be read, is about another task or contradicts itself claims nothing",
        inspect: report_shape::inspect,
    },
    Check {
        id: report_files::ID,
        worst: State::Deny,
        why: "a list of changed files that differs from the changed files is false",
        inspect: report_files::inspect,
    },
    Check {
        id: scope::ID,
        worst: State::Deny,
        why: "the task, the settings or the layout say which paths are not the worker's",
        inspect: scope::inspect,
    },
    Check {
        id: derived_artifacts::ID,
        worst: State::Deny,
        why: "the settings say which files only a build writes",
        inspect: derived_artifacts::inspect,
    },
    Check {
        id: names::ID,
        worst: State::Ask,
        why: "names that collide elsewhere may be meant",
        inspect: names::inspect,
    },
    Check {
        id: nested_repository::ID,
        worst: State::Deny,
        why: "a pointer without a URL lands none of the files behind it",
        inspect: nested_repository::inspect,
    },
    Check {
        id: submodules::ID,
        worst: State::Deny,
        why: "a pointer to a commit that exists nowhere else cannot be fetched by anybody",
        inspect: submodules::inspect,
    },
    Check {
        id: hiding_places::ID,
        worst: State::Ask,
        why: "what hides does not land and is absent where tests run; somebody should know",
        inspect: hiding_places::inspect,
    },
    Check {
        id: tamper::ID,
        worst: State::Deny,
        why: "a claim that edits its task, its judge or others' pages is not the work that was asked",
        inspect: tamper::inspect,
    },
    Check {
        id: adr_shape::ID,
        worst: State::Deny,
        why: "a decision record without number, frontmatter or sections is none",
        inspect: adr_shape::inspect,
    },
    Check {
        id: related_adrs::ID,
        worst: State::Deny,
        why: "a record cannot supersede one that does not exist",
        inspect: related_adrs::inspect,
    },
    Check {
        id: readme_delta::ID,
        worst: State::Deny,
        why: "an operation without the shape of one cannot be applied, and what it says would be lost",
        inspect: readme_delta::inspect,
    },
    Check {
        id: conflict_markers::ID,
        worst: State::Deny,
        why: "an unfinished merge is not finished work",
        inspect: conflict_markers::inspect,
    },
    Check {
        id: injection::ID,
        worst: State::Ask,
        why: "prompts and their tests speak to a judge honestly; whoever judges should know",
        inspect: injection::inspect,
    },
    Check {
        id: tests_tampered::ID,
        worst: State::Deny,
        why: "a test or a run that was made unable to fail proves nothing",
        inspect: tests_tampered::inspect,
    },
    Check {
        id: skip_eligible::ID,
        worst: State::Info,
        why: "it tells whether anything executable changed; either answer is fine",
        inspect: skip_eligible::inspect,
    },
];

/// Runs every check of [`CHECKS`], in order. One that denies stops none: all findings are reported together.
pub fn inspect_all(on: &Inspection<'_>) -> Vec<CheckReport> {
    CHECKS.iter().map(|check| (check.inspect)(on)).collect()
}

#[cfg(test)]
mod tests;
