//! The command line of the conductor: `work` and what belongs to it.

use clap::{Args, Subcommand, ValueEnum};
use std::num::NonZeroU8;
use std::path::PathBuf;

/// `work`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct WorkArgs {
    /// Only these tasks, in this order [default: all that are ready]. One that cannot be worked on refuses the run.
    #[arg(value_name = "ID")]
    pub(crate) tasks: Vec<String>,
    /// The branch to land on [default: the one that is checked out]. No checkout is switched.
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// The most tasks at once.
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) parallel: NonZeroU8,
    /// Run no tests and ask no verifier. For this run alone; the landing's note, its message and the board say so.
    #[arg(long)]
    pub(crate) no_verify: bool,
    /// Who works or judges: `worker=NAME`, `verifier=NAME`, each a built-in agent or a name under `verifiers:`.
    #[arg(long, value_name = "ROLE=NAME", value_parser = agent_word)]
    pub(crate) agent: Vec<AgentWord>,
    /// Print one JSON document at the end.
    #[arg(long, conflicts_with = "events")]
    pub(crate) json: bool,
    /// Print every event as a JSON line the moment it happens; the last one is the report.
    #[arg(long)]
    pub(crate) events: bool,
    /// Say what would start and what waits, and touch nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// One `--agent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentWord {
    pub(crate) role: RoleWord,
    pub(crate) name: String,
}

/// What an agent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoleWord {
    /// It works.
    Worker,
    /// It judges.
    Verifier,
}

fn agent_word(word: &str) -> Result<AgentWord, String> {
    let (role, name) = word.split_once('=').ok_or("say worker=NAME or verifier=NAME")?;
    let role = match role {
        "worker" => RoleWord::Worker,
        "verifier" => RoleWord::Verifier,
        _ => return Err("only worker= and verifier= are known".to_owned()),
    };
    if name.is_empty() { Err("the name is empty".to_owned()) } else { Ok(AgentWord { role, name: name.to_owned() }) }
}

/// `decide`.
#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// The task's id.
    #[arg(required_unless_present = "ci")]
    pub(crate) task: Option<String>,
    /// The answer; without one the findings are shown. `approve` lands the claim in spite of all of them; with `--finding`
    /// those are to be mended, and the other questions are declined.
    #[arg(value_enum)]
    pub(crate) answer: Option<AnswerWord>,
    /// Sign an approval of what `countersign ci` holds, for exactly this head and base. The base's settings say whose
    /// counts.
    #[arg(long, requires = "why", conflicts_with_all = ["task", "answer", "finding", "into", "json"])]
    pub(crate) ci: bool,
    /// With --ci: as `ci --base`.
    #[arg(long, value_name = "REV", requires = "ci")]
    pub(crate) base: Option<String>,
    /// With --ci: as `ci --head`.
    #[arg(long, value_name = "REV", requires = "ci")]
    pub(crate) head: Option<String>,
    /// A finding, by its id (F1, F2, …); may be given several times.
    #[arg(long, value_name = "ID")]
    pub(crate) finding: Vec<String>,
    /// Why: for the case, and for whoever works on the same code later.
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
    /// Sign the decision with your git signing key (ssh) in place of typing at a terminal.
    #[arg(long)]
    pub(crate) sign: bool,
    /// The branch with the board [default: the one that is checked out].
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerWord {
    /// Land it in spite of its findings; with --finding: have these mended.
    Approve,
    /// These findings (all, if none is named) are no defects.
    Decline,
    /// Give the work up.
    Abort,
}

/// `salvage`.
#[derive(Debug, Subcommand)]
pub(crate) enum SalvageCommand {
    /// List the saved patches.
    List {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Show a patch: task, event, base, changed files, text.
    Show {
        /// A file, or a name from the list.
        #[arg(value_name = "PATCH")]
        patch: PathBuf,
    },
    /// Restore a patch into a new worktree below `.worktrees/.restored`.
    Apply {
        /// A file, or a name from the list.
        #[arg(value_name = "PATCH")]
        patch: PathBuf,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

/// `discard`.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    /// The task's id.
    pub(crate) task: String,
    /// Why, for the task's page.
    #[arg(long, value_name = "TEXT")]
    pub(crate) why: Option<String>,
    /// The branch with the board [default: the one that is checked out].
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The branch whose board is meant [default: the one that is checked out].
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}
