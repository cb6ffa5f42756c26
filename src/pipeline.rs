//! The story: settle what is asked, freeze the work, judge it on the floor, ask fresh eyes, decide, seal.
//!
//! The library never prints and never exits; an [`Observer`] hears what happens, and the caller turns an [`Outcome`] or a
//! [`VerifyError`] into words and an exit code.

mod asking;
pub mod attest;
mod captured;
pub mod ci;
mod closing;
mod consulting;
pub(crate) mod declined;
pub mod doctor;
mod judge;
mod known;
mod outcome;
mod proving;
mod reconciling;
mod recorder;
mod replay;
mod report;
pub mod ruling;
mod settings;
mod starting;
mod stopping;
pub mod work;

pub use asking::read_board;
pub use judge::{admit, verify};
pub use outcome::{FloorSummary, Outcome};
pub use reconciling::{Captured, ClaimWord, ReconcileRequest, keep_repair, last_repair, reconcile};
pub use replay::{Replayed, find_case, replay};
pub use starting::{SessionStart, begin};
pub use stopping::{MOST_BLOCKS, StopAnswer, StopOutcome, StopRequest, StopState, mark_unverified, stop};

use crate::agent::AgentError;
use crate::agent::transcript::TranscriptError;
use crate::claim::{BaseError, FreezeError};
use crate::config::SettingsError;
use crate::host::git::GitError;
use crate::receipts::case::CaseError;
use crate::receipts::ledger::LedgerError;
use crate::receipts::{Origin, Receipt};
use crate::task::TaskError;
use crate::task::board::BoardError;
use std::path::{Path, PathBuf};

/// What to judge.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each mirrors one flag of the command line")]
pub struct VerifyRequest {
    /// The folder the user is in.
    pub start: PathBuf,
    /// The task.
    pub task: TaskWord,
    /// The work.
    pub work: WorkWord,
    /// The base, if the user named one.
    pub base: Option<String>,
    /// The worker's report.
    pub report: ReportWord,
    /// The verifier, if the user named one.
    pub verifier: Option<String>,
    /// The test command, if the user gave one.
    pub tests: Option<String>,
    /// Tests that may go, as globs: the user's own word, beside the task's `removes-tests`.
    pub removals: Vec<String>,
    /// Run no tests at all: no PASS can land then.
    pub no_tests: bool,
    /// Run everything even after a deny.
    pub all_checks: bool,
    /// A run without a task is held instead of passed.
    pub require_task: bool,
    /// Judge again what was judged before.
    pub fresh: bool,
    /// Seal the case of a run without a task too.
    pub seal_floor: bool,
    /// Where the worker's tool calls are.
    pub calls: CallsWord,
    /// Who asks.
    pub origin: Origin,
}

impl VerifyRequest {
    /// The change in this folder, by the floor alone and with the settings' own verifier and tests.
    pub fn of(start: &Path) -> Self {
        Self {
            start: start.to_owned(),
            task: TaskWord::None,
            work: WorkWord::Here,
            base: None,
            report: ReportWord::None,
            verifier: None,
            tests: None,
            removals: Vec::new(),
            no_tests: false,
            all_checks: false,
            require_task: false,
            fresh: false,
            seal_floor: false,
            calls: CallsWord::None,
            origin: Origin::Hand,
        }
    }
}

/// Where the worker's tool calls were captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallsWord {
    /// In the session that the conductor keeps for the task, if there is one.
    OfTask,
    /// Nowhere.
    None,
    /// In this transcript.
    File(PathBuf),
}

/// Which task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskWord {
    /// Infer it from the branch, the worktree or the board.
    Infer,
    /// None: the floor alone.
    None,
    /// An id or a file, as typed.
    Named(String),
    /// The text itself.
    Text(Vec<u8>),
}

/// Which work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkWord {
    /// The task's worktree if it has one, else the one around the start.
    Here,
    /// The worktree in this folder.
    Worktree(PathBuf),
    /// This commit.
    Commit(String),
}

/// Which report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportWord {
    /// The task's newest sidecar, if there is one.
    Auto,
    /// None.
    None,
    /// This file.
    File(PathBuf),
}

/// Hears what happens.
pub trait Observer {
    /// A step begins, in words.
    fn began(&mut self, what: &str);
    /// A receipt was recorded.
    fn recorded(&mut self, receipt: &Receipt);
}

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The command, the task or the settings.
    Usage,
    /// The machine or the repository.
    Environment,
    /// The user interrupted.
    Interrupted,
    /// Ours.
    Bug,
}

/// Why there is no judgement. None of it is the worker's fault, and nothing is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// No such task.
    #[error("cannot take `{word}` as the task: {why}")]
    NoSuchTask {
        /// What the user typed.
        word: String,
        /// Why not.
        why: String,
    },
    /// A task inside the repository that the base does not have.
    #[error(
        "{path} does not exist at the base {base}, and a task is never read from the claim; commit it before the work, or give it by hand: countersign verify - < {path}"
    )]
    NotAtBase {
        /// The path.
        path: String,
        /// The base.
        base: String,
    },
    /// A task that asks for nothing.
    #[error(
        "{source_name} has no acceptance criteria: there is nothing to verify; add `- [ ]` bullets under `## Acceptance criteria`"
    )]
    NoCriteria {
        /// Where it was read.
        source_name: String,
    },
    /// `--claim` names nothing.
    #[error("--claim {rev} names no commit in this repository")]
    NoSuchClaim {
        /// The revision.
        rev: String,
    },
    /// Nothing to hold against anything.
    #[error(
        "there is nothing to reconcile: name the session's transcript (--transcript FILE or --session ID), the worker's words (--claim TEXT), a task (--task) or a file of assertions (--assertions)"
    )]
    NothingClaimed,
    /// A session that is not found.
    #[error("cannot take session {id}: {why}; name its transcript with --transcript FILE")]
    NoSuchSession {
        /// The id, escaped.
        id: String,
        /// Why not.
        why: String,
    },
    /// The transcript cannot be read, or is none.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// The file of assertions is none.
    #[error(transparent)]
    Assertions(#[from] crate::worker::assertions::given::GivenError),
    /// No change and no task.
    #[error(
        "nothing to judge: the work does not differ from the base {base} ({rule}); name another base with --base, or a task"
    )]
    NothingToJudge {
        /// The base.
        base: String,
        /// The rule that chose it.
        rule: String,
    },
    /// The verifier that was named cannot be used.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// A verifier program under the embedded one's name.
    #[error(
        "`verifiers:` may not describe one named `mechanical`: that is the embedded verifier; give yours another name"
    )]
    ReservedVerifier,
    /// A worktree that belongs to another repository.
    #[error("{folder} is a worktree of another repository ({belongs}): its .git was changed; name the right one with --worktree", folder = folder.display(), belongs = belongs.display())]
    ForeignWorktree {
        /// The folder.
        folder: PathBuf,
        /// Where it points.
        belongs: PathBuf,
    },
    /// A report that cannot be opened.
    #[error("cannot read the worker's report {path}: {why}; name another with --result, or `--result none`", path = path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The user's own settings file cannot be opened.
    #[error("cannot read {path}: {why}", path = path.display())]
    UserSettings {
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// Confinement is required and cannot be had.
    #[error("the settings require a sandbox that this machine does not give: {why}")]
    NoSandbox {
        /// What is missing.
        why: String,
    },
    /// A file of our own could not be written.
    #[error("cannot {doing} {path}: {why}", path = path.display())]
    Io {
        /// Verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// No sealed case.
    #[error("there is no sealed case {key}{attempt}; `countersign verify` makes one")]
    NoSuchCase {
        /// The key.
        key: String,
        /// ` with attempt N`, or nothing.
        attempt: String,
    },
    /// Ours.
    #[error("this is a bug of countersign: {what}; please report it")]
    Internal {
        /// What should not have happened.
        what: String,
    },
    /// The user pressed Ctrl-C.
    #[error("interrupted; what was recorded so far is kept, and running the command again starts afresh")]
    Interrupted,
    /// The test commands cannot be settled: one hides its exit status, or the settings are wrong.
    #[error(transparent)]
    TestPlan(crate::floor::tests_run::PlanError),
    /// The task file cannot be read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The board cannot be read.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The settings cannot be read.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is no base.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The work cannot be frozen.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    /// The ledger cannot be kept.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The case cannot be sealed or read.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// A judgement that could not be sealed.
    #[error("cannot seal the case: {why}; nothing is lost: the receipts are in {ledger}{claim}; make room, or mend what is named, and run it again", ledger = ledger.display())]
    NotSealed {
        /// Why not.
        why: Box<CaseError>,
        /// The complete ledger.
        ledger: PathBuf,
        /// ` and the work is <reference>`, or nothing.
        claim: String,
    },
    /// There is no room to work in.
    #[error(transparent)]
    Room(#[from] crate::host::room::RoomError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl VerifyError {
    /// Whose fault it is: one exhaustive match, so that a new error will not compile without an answer.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Agent(why) if why.is_of_the_machine() => Fault::Environment,
            Self::Transcript(
                TranscriptError::Unreadable { .. } | TranscriptError::Locked { .. } | TranscriptError::Broken { .. },
            ) => Fault::Environment,
            Self::NoSuchTask { .. }
            | Self::NotAtBase { .. }
            | Self::NoCriteria { .. }
            | Self::NoSuchClaim { .. }
            | Self::NothingToJudge { .. }
            | Self::NothingClaimed
            | Self::NoSuchSession { .. }
            | Self::Transcript(_)
            | Self::Assertions(_)
            | Self::ReservedVerifier
            | Self::TestPlan(_)
            | Self::NoSuchCase { .. }
            | Self::Case(CaseError::BadKey { .. })
            | Self::Report { .. }
            | Self::Agent(_)
            | Self::Task(_)
            | Self::Board(_)
            | Self::Settings(_) => Fault::Usage,
            Self::Base(why) => match why {
                BaseError::Unknown { .. } | BaseError::Ambiguous { .. } => Fault::Usage,
                BaseError::Unborn { .. } | BaseError::Shallow { .. } | BaseError::Git(_) => Fault::Environment,
            },
            Self::Internal { .. }
            | Self::Case(CaseError::Ledger(LedgerError::Encoding(_)))
            | Self::Ledger(LedgerError::Encoding(_)) => Fault::Bug,
            Self::NotSealed { why, .. } if matches!(**why, CaseError::Ledger(LedgerError::Encoding(_))) => Fault::Bug,
            Self::Interrupted => Fault::Interrupted,
            Self::ForeignWorktree { .. }
            | Self::UserSettings { .. }
            | Self::NoSandbox { .. }
            | Self::Io { .. }
            | Self::Freeze(_)
            | Self::Ledger(_)
            | Self::Case(_)
            | Self::NotSealed { .. }
            | Self::Room(_)
            | Self::Git(_) => Fault::Environment,
        }
    }
}
