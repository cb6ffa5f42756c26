//! What happened: receipts, in order, for good.
//!
//! A receipt is one recorded fact about a claim; the ledger is a claim's receipts in order; a sealed case is a ledger
//! with its brief, answer and decision as a commit. Every later stage reads receipts, and a decision is computed from
//! nothing else, so that replaying a ledger gives the same decision.

mod bites;
pub mod case;
mod check;
mod compared;
mod consulted;
pub mod ledger;
mod masked;
mod reconciled;
pub mod ruling;
mod test_name;
pub mod uncertified;

pub use bites::{Bite, BiteClass, BitesRecord, CitedBite, MutationRecord};
pub use check::{CheckReport, Finding, Remedy, State};
pub use compared::ComparedRecord;
pub use consulted::{ConsultedRecord, WorkerNamed};
pub use reconciled::{
    Gate, LedgerMatch, LedgerSummary, Reconciled, Repair, RepairStage, Row, Standing, StartRecord, TamperedRepair,
    Unbacked,
};
pub use test_name::Named;

use crate::claim::{Claim, Sighting};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::task::{Criterion, Proof};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the ledger's format: the first thing in its first line.
pub const FORMAT: u32 = 1;

/// One line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Its number in the ledger, from 1.
    #[serde(rename = "n")]
    pub id: u32,
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
}

/// A recorded fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "kebab-case")]
pub enum Fact {
    /// The ledger begins.
    Opened(Opened),
    /// What the claim is measured against.
    Base(BaseRecord),
    /// The settings in force.
    Settings(SettingsRecord),
    /// What was asked.
    Task(TaskRecord),
    /// What the worker reported.
    Report(ReportRecord),
    /// The frozen work.
    Claim(Claim),
    /// Where work could hide.
    Sightings {
        /// All of them.
        sightings: Vec<Sighting>,
    },
    /// One check of the floor.
    Check(CheckReport),
    /// A command run by us.
    Command(CommandRecord),
    /// The test cases a run reported.
    Tests(TestsRecord),
    /// The tests of the base against those of the claim.
    Compared(ComparedRecord),
    /// What the new and changed tests do without the claim's production change.
    Bites(BitesRecord),
    /// Whether a criterion's proof holds.
    Proof(ProofRecord),
    /// What the worker's report says it did, held against its tool calls and what is there. Boxed: it is a whole table.
    Reconciled(Box<Reconciled>),
    /// The claim's token: the last line before the brief.
    Token {
        /// 128 random bits in hexadecimal, drawn after every check had ended.
        token: String,
    },
    /// A verifier was asked.
    Consulted(ConsultedRecord),
    /// What its answer amounts to.
    Heard(HeardRecord),
    /// This run was told not to verify (`--no-verify`): no test ran and nobody was asked.
    Waived {
        /// Who told it, in words.
        by: String,
    },
    /// What the base holds that landed without a verification.
    Uncertified {
        /// All open ranges.
        ranges: Vec<uncertified::Range>,
    },
    /// A finding that a person declined before this judgement began.
    Declined(ruling::DeclinedRecord),
    /// What a person made of the judged claim.
    Ruling(ruling::RulingRecord),
    /// What we make of it all.
    Decided(DecisionRecord),
}

/// Who asked for the judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The conductor.
    Work,
    /// A person at a terminal.
    Hand,
    /// The merge gate.
    Ci,
}

/// The first line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Opened {
    /// [`FORMAT`].
    pub format: u32,
    /// The version of countersign that wrote it.
    pub countersign: String,
    /// The case key.
    pub case: String,
    /// Which attempt of the case, from 1.
    pub attempt: u32,
    /// Who asked.
    pub origin: Origin,
    /// When, in UTC. No decision depends on it.
    pub at: String,
    /// The git program, and which hand reads the object graph.
    pub git: String,
    /// What could not be observed in this run, in words (a run by hand has no "before" of refs, config and hooks).
    pub unobserved: Vec<String>,
}

/// The base and the rule that chose it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BaseRecord {
    /// The full id.
    pub commit: CommitId,
    /// Its tree.
    pub tree: TreeId,
    /// The rule, in words.
    pub rule: String,
}

/// The settings that bind a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SettingsRecord {
    /// Where they came from, in words, most specific last.
    pub sources: Vec<String>,
    /// SHA-256 of the settled settings.
    pub digest: String,
    /// The verifier's name.
    pub verifier: String,
    /// True if a SKIP may pass where nothing executable changed.
    pub skip_allowed: bool,
    /// True if a run without a task is held (`--require task`).
    #[serde(default)]
    pub require_task: bool,
    /// SHA-256 of the policy: the settings that shape a judgement, and the prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// SHA-256 over everything a judgement depends on (RULINGS 4): the same key is not judged again.
    pub key: String,
}

/// The task as it was read at the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TaskRecord {
    /// The id; none for plain Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The title.
    pub title: String,
    /// Its type as written (`feature`, `decision`, …), empty if none.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it was read: `base:<path>` or `given:<what>`.
    pub source: String,
    /// SHA-256 of its bytes.
    pub digest: String,
    /// Its criteria.
    pub criteria: Vec<Criterion>,
}

/// The worker's report: a claim, never evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ReportRecord {
    /// Where it was read.
    pub source: String,
    /// SHA-256 of its bytes.
    pub digest: String,
    /// What it says of itself.
    pub outcome: ReportedOutcome,
    /// The code of a report that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<String>,
}

/// What a report says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReportedOutcome {
    /// Done, says the worker.
    Success,
    /// The task went back unanswered, with a reason.
    Bounced,
    /// The worker gave up.
    Failed,
    /// The report could not be read.
    Unreadable,
    /// There is no report.
    None,
}

/// Why a command was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Prepare a room (`npm ci`, …).
    Setup,
    /// Run the tests.
    Tests,
    /// Run the tests once more, because some failed: tells flakes from failures, and is never itself a green run.
    Rerun,
    /// Prove a criterion.
    Criterion,
    /// Run the tests on a tree that was made to fail.
    Canary,
    /// Launch the program and ask it.
    Drive,
    /// Ask a test runner which tests it would run.
    Listing,
}

/// A command run by us, in a room, in the box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CommandRecord {
    /// Why.
    pub purpose: Purpose,
    /// The command line as given.
    pub command: String,
    /// The folder of the tree it ran in; empty for the top.
    pub root: String,
    /// The tree the room held.
    pub tree: TreeId,
    /// How it ended.
    pub ending: crate::host::process::Ending,
    /// Whole milliseconds it took; no decision depends on it.
    pub took_ms: u64,
    /// The name of its log among the case's logs, redacted.
    pub log: String,
    /// SHA-256 of that log as it travels.
    pub log_digest: String,
    /// Bytes it wrote, kept or not.
    pub log_bytes: u64,
    /// Background processes it left, ended by us.
    pub strays: u32,
    /// What the box enforced.
    pub level: crate::host::sandbox::Level,
    /// The key of the stored run that this record was taken from; absent if it ran for this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<String>,
}

/// How one test case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseResult {
    /// It ran and passed.
    Passed,
    /// It was not run.
    Skipped,
    /// It ran and an expectation failed.
    Failed,
    /// It broke before or after its expectations.
    Errored,
}

/// One executed (or skipped) test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TestCase {
    /// What it belongs to: class, module, file or binary; empty if the runner does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    /// Its name.
    pub name: String,
    /// The test file, if the report names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RepoPath>,
    /// How it ended.
    pub result: CaseResult,
}

/// The test cases one run reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TestsRecord {
    /// The receipt of the command.
    pub command: u32,
    /// The tree they ran on.
    pub tree: TreeId,
    /// Where the names were read: `libtest-text`, `junit`, …; empty if the runner is unknown to us.
    pub format: String,
    /// True if the list is believed complete (report and exit status agree).
    pub complete: bool,
    /// The cases, sorted.
    pub cases: Vec<TestCase>,
}

/// Whether a proof of a criterion holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ProofRecord {
    /// The criterion's number.
    pub criterion: u32,
    /// The proof.
    pub proof: Proof,
    /// On the claim's tree: yes, no, or not found out.
    pub on_claim: Option<bool>,
    /// On the base's tree: yes, no, or not found out (or not asked).
    pub on_base: Option<bool>,
    /// What was observed, in words.
    pub observed: String,
    /// The receipts it rests on.
    pub receipts: Vec<u32>,
}

/// What an answer amounts to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "heard")]
pub enum HeardRecord {
    /// A clean PASS, cross-examined.
    Pass {
        /// One line for each criterion.
        evidence: Vec<EvidenceRecord>,
    },
    /// A FAIL.
    Fail {
        /// Why.
        reasons: Vec<String>,
        /// What the worker should do.
        suggested_fix: String,
        /// Whether another attempt makes sense.
        hint: Hint,
    },
    /// A SKIP.
    Skip {
        /// Why.
        reason: String,
    },
    /// The verifier cannot judge this (the embedded one meets a judged criterion).
    Abstained {
        /// What it cannot judge.
        reasons: Vec<String>,
    },
    /// An answer that is not a verdict, or a PASS that the receipts contradict.
    Unusable {
        /// Stable codes.
        codes: Vec<String>,
        /// In words.
        detail: Vec<String>,
    },
    /// It gave no answer: it failed, timed out, or could not be started.
    NoAnswer {
        /// Stable: how its process ended, or what was wrong with what it wrote.
        code: String,
        /// In words.
        why: String,
    },
    /// It touched what it was to judge.
    Trespassed {
        /// What it touched.
        what: Vec<String>,
    },
    /// It was not asked.
    NotAsked {
        /// Why.
        why: String,
    },
}

/// A verifier's guess whether another attempt makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hint {
    /// Yes.
    LikelyFixable,
    /// No: the task has to change first.
    TaskUnderSpecified,
}

/// One evidence line of a PASS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct EvidenceRecord {
    /// The criterion's number.
    pub criterion: u32,
    /// What covers it, e.g. `test:limits::rejects_zero`, or `builder eye-check pending`.
    pub covered_by: Vec<String>,
}

/// What we make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionKind {
    /// It may land.
    Land,
    /// It may land, unjudged, because nothing executable changed.
    Skip,
    /// Back to the worker.
    SendBack,
    /// A person decides.
    Hold,
    /// Nothing false found, no warrant: there was no task.
    FloorOnly,
}

impl DecisionKind {
    /// The decision as a word, as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Land => "land",
            Self::Skip => "skip",
            Self::SendBack => "send-back",
            Self::Hold => "hold",
            Self::FloorOnly => "floor-only",
        }
    }
}

/// One reason of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Reason {
    /// Stable code: a check id, or one of the table in `verdict::decide`.
    pub code: String,
    /// In words.
    pub text: String,
}

/// A decision and its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DecisionRecord {
    /// Which.
    pub kind: DecisionKind,
    /// Why; never empty.
    pub reasons: Vec<Reason>,
}
