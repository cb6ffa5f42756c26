//! What the merge gate found: the one document that every output is made from.
//!
//! All texts that came from a repository are raw here; whoever prints them escapes them.

use crate::config::Requirement;
use crate::host::ids::{CommitId, TreeId};
use crate::receipts::{DecisionKind, Reason, Remedy, State};
use schemars::JsonSchema;
use serde::Serialize;

/// How the gate decides about the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CiDecision {
    /// Everything that would be merged is covered by evidence.
    Pass,
    /// A claim is false.
    Fail,
    /// Something is missing, unknown or for a person to decide.
    Held,
    /// The gate itself does not work: what it says about the change counts for nothing.
    Broken,
}

impl CiDecision {
    /// The exit code: that of `verify`, 4 for a broken gate.
    pub fn exit(self) -> u8 {
        match self {
            Self::Pass => 0,
            Self::Fail => 1,
            Self::Held => 3,
            Self::Broken => 4,
        }
    }

    /// The decision as a word, as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Held => "held",
            Self::Broken => "broken",
        }
    }
}

/// What a task's decision rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    /// A note whose tree, base, policy and signature match.
    Attested,
    /// A note for another base; its claim merged again gives the judged tree, and floor and tests ran on it here.
    Remerged,
    /// Our own judgement, made by this run.
    Verified,
    /// Nothing.
    None,
}

impl EvidenceKind {
    /// The kind as a word, as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Attested => "attested",
            Self::Remerged => "remerged",
            Self::Verified => "verified",
            Self::None => "none",
        }
    }
}

/// What a note that was believed says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Attested {
    /// The landed commit that the note is about.
    pub commit: CommitId,
    /// The tree that was verified and landed.
    pub tree: TreeId,
    /// The commit it landed on.
    pub base: CommitId,
    /// The principal of the key, from the base's allowed signers; none for a note without a signature.
    pub signer: Option<String>,
    /// That principal's role: `developer`, `conductor` or `ci`; none without a signature.
    pub role: Option<String>,
    /// Who judged, by name.
    pub verifier: String,
}

/// Whether a criterion is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Covering {
    /// Evidence covers it.
    Covered,
    /// It waits for a person's eye.
    EyePending,
    /// The verdict was SKIP.
    Skipped,
    /// The claim does not meet it.
    Failed,
    /// Nobody found out.
    Unknown,
}

/// One criterion of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CriterionReport {
    /// Its number in the brief, from 1.
    pub number: u32,
    /// Its text.
    pub text: String,
    /// Whether it is covered.
    pub covering: Covering,
    /// By what: `test:…`, `file:…`, `builder eye-check pending`.
    pub covered_by: Vec<String>,
}

/// One finding, of a check of the floor or of the gate itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct GateFinding {
    /// The check's id, or the gate's own code (`gate-changed`, `note-rejected`, …). Stable.
    pub check: String,
    /// How bad.
    pub state: State,
    /// A path in the judged tree in its escaped text form, a test name or a command; empty if nowhere in particular.
    pub place: String,
    /// The line in that file, from 1, where one is known.
    pub line: Option<u32>,
    /// What should have been; empty if nothing is to be said.
    pub expected: String,
    /// What is.
    pub observed: String,
    /// What to do about it.
    pub remedy: Remedy,
}

/// One task of the range, or the change as a whole where there is no task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TaskReport {
    /// The task's id or case key; `change` where there is no task.
    pub id: String,
    /// Its title; empty if it was never read.
    pub title: String,
    /// Why it is judged: `trailer of <commit>`, `moved to done`, `settings`, `no task in the range`.
    pub because: String,
    /// What we make of it.
    pub decision: DecisionKind,
    /// True if this decision lets the change through under the settings at the base.
    pub passes: bool,
    /// Why; never empty.
    pub reasons: Vec<Reason>,
    /// What it rests on.
    pub evidence: EvidenceKind,
    /// The note that was believed, if one was.
    pub attested: Option<Attested>,
    /// Its criteria, in order.
    pub criteria: Vec<CriterionReport>,
    /// What the checks found, the passing ones left out.
    pub findings: Vec<GateFinding>,
    /// The case that was sealed or replayed, as a commit.
    pub case: Option<String>,
}

/// One thing that the gate tried on itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct HealthCheck {
    /// `canary`, `honest`, `signature`, `box`.
    pub name: String,
    /// True if the gate did what it must.
    pub works: bool,
    /// What was seen.
    pub text: String,
}

/// Whether the gate can say no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Health {
    /// True if everything that was tried works.
    pub works: bool,
    /// What was tried.
    pub checks: Vec<HealthCheck>,
}

/// The answer of `countersign ci`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CiReport {
    /// `countersign/ci/1`.
    pub schema: String,
    /// The base: settings, tasks and trust are read there.
    pub base: CommitId,
    /// The rule that chose it.
    pub base_rule: String,
    /// The head under review.
    pub head: CommitId,
    /// The judged tree: what merging head into base gives; none where they do not merge.
    pub tree: Option<TreeId>,
    /// True if that tree is not the head's own.
    pub merged: bool,
    /// How many commits the range has.
    pub commits: usize,
    /// How many paths the change touches.
    pub changed: usize,
    /// Which evidence was asked for.
    pub require: Requirement,
    /// SHA-256 of the policy at the base.
    pub policy: String,
    /// Whether the gate can say no.
    pub health: Health,
    /// The tasks, in the order in which the range brings them.
    pub tasks: Vec<TaskReport>,
    /// What was found about the range itself, worst first.
    pub findings: Vec<GateFinding>,
    /// What the gate makes of it.
    pub decision: CiDecision,
    /// Why; never empty.
    pub reasons: Vec<Reason>,
    /// The exit code.
    pub exit: u8,
}

impl CiReport {
    /// The name of its schema.
    pub const SCHEMA: &str = "countersign/ci/1";
}
