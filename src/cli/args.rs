//! The command line.

mod conducting;

pub(crate) use conducting::{
    AgentWord, AnswerWord, DecideArgs, DiscardArgs, ResumeArgs, RoleWord, SalvageCommand, StatusArgs, WorkArgs,
};

use super::output::Format;
use crate::config::glob::Glob;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Decides from evidence whether a coding agent's claim is true.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Run as if started in this folder.
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge one task's claim; without a task, the change alone.
    Verify(Box<VerifyArgs>),
    /// Work on a board: send workers out, judge what they claim, land what is true.
    Work(Box<WorkArgs>),
    /// Go on with what an earlier run left, held tasks included where that can help; start nothing new.
    Resume(Box<ResumeArgs>),
    /// Say what is running, waiting, held or stranded, and where its work is.
    Status(StatusArgs),
    /// Answer what was held: land a claim in spite of its findings, have some mended, decline some, or give the work up.
    Decide(DecideArgs),
    /// Look at saved work, and get it back.
    Salvage {
        #[command(subcommand)]
        command: SalvageCommand,
    },
    /// Give a task's work up: it is saved first, then its worktree goes and the task is back in the backlog.
    Discard(DiscardArgs),
    /// Read the task board.
    Board {
        #[command(subcommand)]
        command: BoardCommand,
    },
    /// Say what this machine and this repository have of what a judgement needs.
    Doctor(DoctorArgs),
    /// Put the agents and skills of countersign into the project, for coding agents to load.
    Init(InitArgs),
    /// Show the receipts of a sealed case.
    Receipts(CaseArgs),
    /// Decide a sealed case again from its receipts alone, and compare.
    Replay(CaseArgs),
    /// Answer the program that hosts an agent; `init --hooks` has it asked.
    Hook {
        #[command(subcommand)]
        command: HookCommand,
    },
    /// Hold what a session says it did against its tool calls and against what is there now.
    Reconcile(Box<ReconcileArgs>),
    /// Read the transcript that an agent program keeps of its session.
    Transcript {
        #[command(subcommand)]
        command: TranscriptCommand,
    },
    /// Judge what would be merged: each task of the range by evidence that travelled with it, or by judging it here.
    Ci(Box<CiArgs>),
    /// The signed note on a landed commit.
    Attest {
        #[command(subcommand)]
        command: AttestCommand,
    },
    /// Push the branch with its notes and the ledger of sealed results: all or nothing, never by force.
    Push(PushArgs),
    /// Fetch notes and ledger, and merge them without loss.
    Fetch(FetchArgs),
    /// Print the JSON schema of an answer.
    Schema {
        /// Which answer.
        #[arg(value_enum)]
        which: SchemaName,
    },
    /// Print the completions for a shell.
    Completions {
        /// Which shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder.
    Man(ManArgs),
    /// In a temporary folder: judge an honest claim and several false ones, then work on a board with scripted workers.
    Tour {
        /// Keep the folder afterwards.
        #[arg(long)]
        keep: bool,
    },
}

/// What has a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SchemaName {
    /// `verify --json`.
    Verify,
    /// `reconcile --json`.
    Reconcile,
    /// One line of a ledger, and of `verify --events`.
    Receipt,
    /// The settings file.
    Settings,
    /// `work --json`.
    Work,
    /// One line of `work --events`.
    WorkEvent,
    /// `status --json`.
    Status,
    /// `decide TASK --json` without an answer.
    Decide,
    /// `ci --format json`.
    Ci,
}

/// `verify`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct VerifyArgs {
    /// A task id, a Markdown file, or `-` for standard input; inferred from the branch or worktree if absent.
    pub(crate) task: Option<String>,
    /// What the claim is measured against [default: the branch's upstream or creation, else the default branch].
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,
    /// The worktree to judge [default: `.worktrees/<id>` if it exists, else the current one].
    #[arg(long, value_name = "DIR", conflicts_with = "claim")]
    pub(crate) worktree: Option<PathBuf>,
    /// Judge this commit instead of a worktree.
    #[arg(long, value_name = "REV")]
    pub(crate) claim: Option<String>,
    /// The worker's report, or `none` [default: the newest sidecar of the task].
    #[arg(long, value_name = "FILE")]
    pub(crate) result: Option<PathBuf>,
    /// The worker's transcript, to hold its report against its tool calls [default: the session that `work` keeps].
    #[arg(long, value_name = "FILE", conflicts_with = "claim")]
    pub(crate) transcript: Option<PathBuf>,
    /// Who judges: `mechanical`, or a name from the settings.
    #[arg(long, value_name = "NAME")]
    pub(crate) verifier: Option<String>,
    /// The test command, for a shell at the top of the tree.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) tests: Option<String>,
    /// Tests that may go or be skipped, by file or name, as `removes-tests` in a task; may be given several times.
    #[arg(long, value_name = "GLOB", value_parser = removal)]
    pub(crate) removes_tests: Vec<String>,
    /// Run tests and verifier even if a cheap check already denies.
    #[arg(long)]
    pub(crate) all_checks: bool,
    /// Judge the change by the floor alone, without a task.
    #[arg(long, conflicts_with = "task")]
    pub(crate) floor: bool,
    /// Hold (exit 3) instead of passing where there is no task.
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) require: Option<Requirement>,
    /// Judge again even if this tree was already judged under the same rules.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Seal the case of a run without a task as well.
    #[arg(long)]
    pub(crate) seal: bool,
    /// Print one JSON document.
    #[arg(long, conflicts_with = "events")]
    pub(crate) json: bool,
    /// Print every receipt as a JSON line the moment it is recorded.
    #[arg(long)]
    pub(crate) events: bool,
}

/// `reconcile`.
#[derive(Debug, Args)]
pub(crate) struct ReconcileArgs {
    /// The session's own transcript; files of its sub-agents are found beside it.
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) transcript: Option<PathBuf>,
    /// The session's id: its transcript is found where agent programs keep them.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// What the worker says it did: a file, or the words [default: the last words of the transcript].
    #[arg(long, value_name = "TEXT|FILE")]
    pub(crate) claim: Option<String>,
    /// A task whose criteria are asserted, whether the worker speaks of them or not.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// What the work is measured against [default: where HEAD was when the session began, else the base].
    #[arg(long, value_name = "REV")]
    pub(crate) since: Option<String>,
    /// A JSON file of further assertions.
    #[arg(long, value_name = "FILE")]
    pub(crate) assertions: Option<PathBuf>,
    /// Run the project's tests and the criteria's commands again, in a room of our own.
    #[arg(long)]
    pub(crate) rerun: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What must be there for an exit code of 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Requirement {
    /// A task.
    Task,
}

/// `hook`.
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// Whether a turn may end: reads the hook's JSON on standard input, prints the host's JSON, always exits 0.
    Stop {
        /// The program that asks.
        #[arg(long, value_enum)]
        host: HookHost,
    },
    /// Writes down where HEAD and the remotes are when a session begins; otherwise like `stop`.
    Start {
        /// The program that says so.
        #[arg(long, value_enum)]
        host: HookHost,
    },
}

/// A program that asks before an agent's turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HookHost {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

/// `transcript`.
#[derive(Debug, Subcommand)]
pub(crate) enum TranscriptCommand {
    /// Show every tool call of a session: what, how it ended, and where that was read.
    Show {
        /// The session's own file, or OpenCode's database; files of sub-agents are found beside it.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Which of its sessions; OpenCode keeps all of them in one database.
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

/// `board`.
#[derive(Debug, Subcommand)]
pub(crate) enum BoardCommand {
    /// List the tasks.
    List(BoardArgs),
    /// Show one task with its criteria and dependencies.
    Show {
        /// Its id.
        task: String,
        #[command(flatten)]
        args: BoardArgs,
    },
    /// Look for defects of the board.
    Check(BoardArgs),
    /// Check that the board has each task that a commit message names (for git's `commit-msg` hook).
    Message(MessageArgs),
}

/// `board message`.
#[derive(Debug, Args)]
pub(crate) struct MessageArgs {
    /// The file with the message.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// What the board commands share.
#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// Read the board at this commit instead of the files on disk.
    #[arg(long, value_name = "REV")]
    pub(crate) at: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write `countersign.1` and a page for each command into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// `init`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is one flag")]
pub(crate) struct InitArgs {
    /// Write nothing; exit 1 if a file is missing, of another version, or changed.
    #[arg(long, conflicts_with = "force")]
    pub(crate) check: bool,
    /// Replace files that were changed, too.
    #[arg(long)]
    pub(crate) force: bool,
    /// Have Claude Code and Codex ask before an agent's turn ends: adds a hook to `.claude/settings.json` and
    /// `.codex/hooks.json`.
    #[arg(long, conflicts_with = "plugin")]
    pub(crate) hooks: bool,
    /// Write a Claude Code plugin with its marketplace into this folder, in place of the project's `.claude`.
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `receipts` and `replay`.
#[derive(Debug, Args)]
pub(crate) struct CaseArgs {
    /// A task id, or the case key of a judgement.
    pub(crate) task: String,
    /// Which attempt [default: the last].
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<u32>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `ci`.
#[derive(Debug, Args)]
pub(crate) struct CiArgs {
    /// What the change is merged into: settings, tasks and trust are read there [default: as the forge's event or
    /// pre-commit says, else as `verify`].
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,
    /// What is judged [default: as the forge's event or pre-commit says, else HEAD].
    #[arg(long, value_name = "REV")]
    pub(crate) head: Option<String>,
    /// Which evidence is enough [default: the settings at the base, else either].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) require: Option<EvidenceWord>,
    /// Who judges what has no evidence: `mechanical`, or a name from the settings at the base.
    #[arg(long, value_name = "NAME")]
    pub(crate) verifier: Option<String>,
    /// The forms of the answer.
    #[arg(long, value_name = "FORMS", value_enum, value_delimiter = ',', default_value = "text")]
    pub(crate) format: Vec<Format>,
    /// The folder for the forms that are files; without it one document goes to standard output.
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Sign what this run verified itself, as a note on the head.
    #[arg(long)]
    pub(crate) attest: bool,
}

/// Which evidence is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvidenceWord {
    /// Only a note that matches.
    Attested,
    /// Only what this run judges itself.
    Verified,
    /// A note that matches, else a judgement of our own.
    Either,
}

/// `attest`.
#[derive(Debug, Subcommand)]
pub(crate) enum AttestCommand {
    /// Show what the note on a commit says, and what its signatures are worth.
    Show(NoteArgs),
    /// Verify the note: subject, signatures, receipts, and the decision computed again from them. Offline.
    Verify(NoteArgs),
    /// Print the note as it is: an in-toto bundle, one DSSE envelope a line.
    Export {
        /// The landed commit.
        commit: String,
    },
}

/// `attest show` and `attest verify`.
#[derive(Debug, Args)]
pub(crate) struct NoteArgs {
    /// The landed commit.
    pub(crate) commit: String,
    /// A public key (OpenSSH or PEM) or a file of allowed signers [default: what the commit's parent allows].
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `push`.
#[derive(Debug, Args)]
pub(crate) struct PushArgs {
    /// The remote, by name or URL.
    #[arg(default_value = "origin")]
    pub(crate) remote: String,
    /// Leave the branch where it is on the remote.
    #[arg(long, conflicts_with = "inbox")]
    pub(crate) evidence_only: bool,
    /// Only leave new results in the remote's inbox, each as a reference of its own; the next push folds them in.
    #[arg(long)]
    pub(crate) inbox: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `fetch`.
#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// The remote, by name or URL.
    #[arg(default_value = "origin")]
    pub(crate) remote: String,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

fn removal(glob: &str) -> Result<String, String> {
    Glob::new(glob).map(|glob| glob.as_str().to_owned()).map_err(|why| why.to_string())
}
