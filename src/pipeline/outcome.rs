//! The answer of `verify`, computed from receipts alone.

use crate::claim::Claim;
use crate::receipts::{CheckReport, DecisionRecord, Fact, HeardRecord, Receipt, Reconciled};
use schemars::JsonSchema;
use serde::Serialize;

/// What `verify --json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Outcome {
    /// `countersign/verify/1`.
    pub schema: String,
    /// The task's id or case key; none without a task.
    pub task: Option<String>,
    /// Where the task was read; none without a task.
    pub task_source: Option<String>,
    /// How the task was inferred, if nobody named it.
    pub task_inferred: Option<String>,
    /// Which attempt of the case.
    pub attempt: u32,
    /// The rule that chose the base.
    pub base_rule: String,
    /// The frozen work.
    pub claim: Claim,
    /// The floor.
    pub floor: FloorSummary,
    /// What the worker's report says it did, against its tool calls; none where nothing was held against them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconciled: Option<Box<Reconciled>>,
    /// Who was asked, or would have been.
    pub verifier: String,
    /// What the verifier's answer amounts to; none if it was not reached.
    pub verdict: Option<HeardRecord>,
    /// What we make of it.
    pub decision: DecisionRecord,
    /// The sealed case commit; none for a run without a task.
    pub case: Option<String>,
    /// True if this tree had been judged before under the same rules, and that judgement is shown.
    pub judged_before: bool,
}

/// The floor's part of an [`Outcome`].
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FloorSummary {
    /// Every check that ran, or why it did not apply.
    pub checks: Vec<CheckReport>,
}

impl Outcome {
    /// The name of its schema.
    pub const SCHEMA: &str = "countersign/verify/1";

    /// Reads it off the receipts of a decided attempt; `None` if they do not hold a claim and a decision.
    pub fn from_receipts(receipts: &[Receipt], case: Option<String>) -> Option<Self> {
        let (mut task, mut task_source, mut attempt, mut base_rule, mut verifier) =
            (None, None, 0, String::new(), String::new());
        let (mut claim, mut verdict, mut decision, mut checks) = (None, None, None, Vec::new());
        let mut reconciled = None;
        for receipt in receipts {
            match &receipt.fact {
                Fact::Opened(opened) => {
                    attempt = opened.attempt;
                    task = Some(opened.case.clone());
                }
                Fact::Base(base) => base_rule.clone_from(&base.rule),
                Fact::Settings(settings) => verifier.clone_from(&settings.verifier),
                Fact::Task(found) => task_source = Some(found.source.clone()),
                Fact::Claim(found) => claim = Some(found.clone()),
                Fact::Check(check) => checks.push(check.clone()),
                Fact::Heard(heard) => verdict = Some(heard.clone()),
                Fact::Reconciled(table) => reconciled = Some(table.clone()),
                Fact::Decided(decided) => decision = Some(decided.clone()),
                Fact::Report(_)
                | Fact::Sightings { .. }
                | Fact::Command(_)
                | Fact::Tests(_)
                | Fact::Compared(_)
                | Fact::Bites(_)
                | Fact::Proof(_)
                | Fact::Token { .. }
                | Fact::Consulted(_)
                | Fact::Waived { .. }
                | Fact::Uncertified { .. }
                | Fact::Declined(_)
                | Fact::Ruling(_) => {}
            }
        }
        Some(Self {
            schema: Self::SCHEMA.to_owned(),
            task: task.filter(|_| task_source.is_some()),
            task_source,
            task_inferred: None,
            attempt,
            base_rule,
            claim: claim?,
            floor: FloorSummary { checks },
            reconciled,
            verifier,
            verdict,
            decision: decision?,
            case,
            judged_before: false,
        })
    }
}
