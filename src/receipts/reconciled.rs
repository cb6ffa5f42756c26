//! What became of a claim's assertions: the receipts table, what follows from it, and how often it was sent back.

use crate::agent::transcript::Dialect;
use crate::host::ids::{CommitId, TreeId};
use crate::worker::Assertion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an assertion stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A receipt bears it out.
    Backed,
    /// Nobody can tell from what is there.
    Unverifiable,
    /// A receipt refutes it, or a complete ledger lacks the one it needs.
    Unbacked,
}

/// What the tool calls say about an assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LedgerMatch {
    /// A call bears it out.
    Yes,
    /// No call does, and the calls are complete.
    No,
    /// No call does, and some may be missing; or none were captured.
    Unknown,
    /// It does not depend on calls.
    NotAsked,
}

/// What follows from the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Nothing is asserted and nothing was changed.
    NothingToReconcile,
    /// Every assertion is backed. Necessary for a PASS, never sufficient.
    Verified,
    /// Something cannot be verified: a person decides.
    NeedsReview,
    /// At least one assertion is unbacked.
    FalseCompletion,
}

/// One line of the receipts table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Row {
    /// What was asserted.
    #[serde(flatten)]
    pub assertion: Assertion,
    /// Where it stands.
    pub standing: Standing,
    /// What the tool calls say.
    pub ledger: LedgerMatch,
    /// What was read now, in words.
    pub observed: String,
    /// Where that can be looked up: `transcript:<file>:<line>`, `git:…`, `run:…`.
    pub receipts: Vec<String>,
    /// What would produce the missing receipt: commands, or what a person has to look at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<String>,
}

/// What the work is measured against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct StartRecord {
    /// The commit.
    pub commit: CommitId,
    /// The rule that chose it.
    pub rule: String,
    /// Its tree.
    pub tree: TreeId,
    /// The tree now.
    pub now: TreeId,
    /// How many paths differ.
    pub changed: usize,
}

/// The tool calls that were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LedgerSummary {
    /// Who wrote the transcript.
    pub dialect: Dialect,
    /// The session's id as recorded.
    pub session: Option<String>,
    /// How many calls it has.
    pub calls: usize,
    /// True if a call that is not listed was not made.
    pub complete: bool,
    /// Why not.
    pub gaps: Vec<String>,
}

/// The whole answer of a reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Reconciled {
    /// `countersign/reconcile/1`.
    pub schema: String,
    /// What follows.
    pub gate: Gate,
    /// Why, where no row says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the work is measured against.
    pub start: StartRecord,
    /// The captured tool calls; none if there is no transcript.
    pub ledger: Option<LedgerSummary>,
    /// The receipts table.
    pub rows: Vec<Row>,
    /// How often unbacked assertions went back; none where nobody counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
}

/// How far a claim's repair has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RepairStage {
    /// Nothing is to be repaired.
    Closed,
    /// Unbacked assertions are with the worker.
    Open,
    /// Two cycles did not help: a person, new receipts or another dispatch.
    Blocked,
    /// The repair bent what it is measured against.
    Tampered,
}

/// An assertion that went back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Unbacked {
    /// Its kind and subject: assertions are numbered anew each time.
    pub what: String,
    /// The worker's words.
    pub quote: String,
    /// What was observed.
    pub observed: String,
    /// What would produce the missing receipt.
    pub wants: Vec<String>,
}

/// Something that a repair must not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TamperedRepair {
    /// The path.
    pub path: String,
    /// What about it.
    pub why: String,
}

/// The state of a bounded repair. It is plain data: whoever keeps it hands it back with the next reconciliation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Repair {
    /// How far it is.
    pub stage: RepairStage,
    /// How many cycles were used; at most two.
    pub cycles: u32,
    /// What the last reconciliation saw: tree and calls. The same again is no new cycle.
    pub seen: String,
    /// What is with the worker, or what it is blocked on.
    pub open: Vec<Unbacked>,
    /// What the last repair bent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tampered: Vec<TamperedRepair>,
    /// Paths of tests and contract with their content ids when the first assertion went back.
    #[serde(default)]
    pub guarded: std::collections::BTreeMap<String, String>,
}

impl Reconciled {
    /// The name of its schema.
    pub const SCHEMA: &str = "countersign/reconcile/1";

    /// How many assertions are backed.
    pub fn backed(&self) -> usize {
        self.rows.iter().filter(|row| row.standing == Standing::Backed).count()
    }

    /// The unbacked assertions, as they go back to the worker.
    pub fn unbacked(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.standing == Standing::Unbacked)
    }
}

impl Standing {
    /// The standing as a word of the table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Backed => "BACKED",
            Self::Unverifiable => "UNVERIFIABLE",
            Self::Unbacked => "UNBACKED",
        }
    }
}

impl Gate {
    /// The outcome as people read it.
    pub fn word(self) -> &'static str {
        match self {
            Self::NothingToReconcile => "NOTHING TO RECONCILE",
            Self::Verified => "VERIFIED",
            Self::NeedsReview => "NEEDS-REVIEW",
            Self::FalseCompletion => "FALSE-COMPLETION",
        }
    }
}
