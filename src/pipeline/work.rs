//! The conductor: from a board of tasks to landed commits, with nothing lost.
//!
//! Each task is driven by one loop: look at what is there (`standing`), ask what to do next ([`step::next`], pure), do
//! that one step, look again. A run that was killed is recovered by the same loop. Tasks run side by side; landings on
//! the target happen one after another.

mod batch;
pub mod budget;
mod crew;
pub mod discard;
mod drift;
mod hand;
pub mod journal;
mod landing;
mod sending;
mod session;
mod settings;
mod standing;
pub mod status;
pub mod step;
mod surroundings;
mod teardown;

pub use crew::{plan_only, work};
pub use discard::{DiscardRequest, Discarded, discard};
pub use settings::main_top;
pub use status::{StatusReport, TaskStatus, status};

use super::{Fault, VerifyError};
use crate::claim::FreezeError;
use crate::host::git::GitError;
use crate::integrate::{BoardWriteError, SalvageError, TeardownError};
use crate::receipts::case::CaseError;
use crate::task::board::BoardError;
use crate::task::plan::{HeldBack, OpenQuestion, ScopeRefused};
use journal::JournalError;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use step::Step;

/// What to work on, and how.
#[derive(Debug, Clone)]
pub struct WorkRequest {
    /// The folder the user is in.
    pub start: PathBuf,
    /// The tasks, in order; none: all that are ready.
    pub names: Vec<String>,
    /// The branch to land on; none: the one that is checked out.
    pub into: Option<String>,
    /// How many tasks at once.
    pub parallel: usize,
    /// The worker: an agent program, or a name under `verifiers:` in the settings; none: what the settings say.
    pub worker: Option<String>,
    /// The verifier, if the user named one.
    pub verifier: Option<String>,
    /// Go on with tasks that are held, where a machine or a person may have removed the reason.
    pub resume: bool,
    /// Only recover and go on; start nothing new.
    pub only_resume: bool,
    /// Land without verification what nothing cheap denies. For this run alone: it is never stored as a setting, and the
    /// landing's note says it.
    pub no_verify: bool,
}

/// What happens, as it happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum WorkEvent {
    /// Tasks were taken from `todo`.
    Taken {
        /// Their ids.
        tasks: Vec<String>,
    },
    /// A step of a task begins.
    Step {
        /// The task.
        task: String,
        /// The step.
        step: Step,
    },
    /// A phase inside a step, in words.
    Phase {
        /// The task.
        task: String,
        /// What begins.
        what: String,
    },
    /// A task is at its end, as far as this run goes.
    Ended(TaskEnd),
    /// The run is over: what it did.
    Report(Box<WorkReport>),
}

/// How a task stands at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TaskEnd {
    /// The task.
    pub task: String,
    /// How.
    #[serde(flatten)]
    pub end: End,
    /// Where its worktree is, if it has one.
    pub worktree: Option<PathBuf>,
    /// Why its worktree is still there although nothing needs it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Where its work was saved: references and patches, newest last.
    pub saved: Vec<String>,
}

/// See [`TaskEnd`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum End {
    /// On the target.
    Landed {
        /// The commit.
        commit: String,
    },
    /// Back in the backlog.
    Bounced,
    /// It waits.
    Held {
        /// Stable code.
        code: String,
        /// In words.
        why: String,
    },
    /// Another process works on it, or nobody does whose journal is here.
    Foreign {
        /// Which.
        why: String,
    },
    /// It could not be gone on with. Its work is where it was.
    Stopped {
        /// In words.
        why: String,
    },
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct WorkReport {
    /// `countersign/work/1`.
    pub schema: String,
    /// The branch, as a full name.
    pub target: String,
    /// Every task that was touched, in the order they ended.
    pub tasks: Vec<TaskEnd>,
    /// Tasks of `todo` that could not start, and why.
    pub held_back: Vec<HeldBack>,
    /// Circles of dependencies.
    pub cycles: Vec<Vec<String>>,
    /// The vision's open questions, where the board has nothing to do.
    pub open_questions: Vec<OpenQuestion>,
    /// What somebody should know about the run itself: the branch differs from what it tracks, the diary was not written.
    pub remarks: Vec<String>,
    /// What others committed on the branch since the last session ended, in a sentence; none if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_band: Option<String>,
    /// Folders with the files of removed worktrees that could not be deleted; the next run tries again.
    pub leftovers: Vec<PathBuf>,
}

impl WorkReport {
    /// The name of its schema.
    pub const SCHEMA: &str = "countersign/work/1";
}

/// Why a run did not happen, or a task of it could not be gone on with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// Named tasks that cannot be worked on.
    #[error(transparent)]
    Scope(#[from] ScopeRefused),
    /// No branch to land on.
    #[error("HEAD is detached here: name the branch to land on with --into")]
    Detached,
    /// `--into` names nothing.
    #[error("there is no branch {0} here; name another with --into")]
    NoTarget(String),
    /// Nobody to send.
    #[error("no worker is named: say `agents: {{worker: NAME}}` in the settings, or --agent worker=NAME")]
    NoWorker,
    /// Something stands where a worktree should be.
    #[error("{} is in the way of the task's worktree and is none: move it away", .0.display())]
    InTheWay(PathBuf),
    /// A file of ours could not be written.
    #[error("cannot {doing} {}: {why}", path.display())]
    Io {
        /// Verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// The task's page, life or claim is not what it has to be.
    #[error("{task}: {what}")]
    Inconsistent {
        /// The task.
        task: String,
        /// What, and what to do.
        what: String,
    },
    /// The user pressed Ctrl-C.
    #[error("interrupted; every task's work is where it was, and running the command again goes on from there")]
    Interrupted,
    /// The journal cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The board cannot be read.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The board cannot be written.
    #[error(transparent)]
    BoardWrite(#[from] BoardWriteError),
    /// Work could not be saved.
    #[error(transparent)]
    Salvage(#[from] SalvageError),
    /// A worktree was kept.
    #[error(transparent)]
    Teardown(#[from] TeardownError),
    /// Work could not be frozen.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    /// A case cannot be read.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// Settings, task or repository.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl WorkError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Scope(_)
            | Self::Detached
            | Self::NoTarget(_)
            | Self::NoWorker
            | Self::Board(_)
            | Self::Inconsistent { .. } => Fault::Usage,
            Self::Verify(why) => why.fault(),
            Self::Interrupted => Fault::Interrupted,
            Self::InTheWay(_)
            | Self::Io { .. }
            | Self::Journal(_)
            | Self::BoardWrite(_)
            | Self::Salvage(_)
            | Self::Teardown(_)
            | Self::Freeze(_)
            | Self::Case(_)
            | Self::Git(_) => Fault::Environment,
        }
    }
}
