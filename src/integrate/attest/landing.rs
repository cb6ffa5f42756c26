//! Our own predicates: what landed and on what evidence, and a person's approval.

use super::uncertified::Uncertified;
use crate::host::clock::Timestamp;
use crate::host::digest::digest;
use crate::host::ids::{CommitId, TreeId};
use crate::integrate::land::LandingRecord;
use crate::receipts::case::Sealed;
use crate::receipts::ledger::to_lines;
use crate::receipts::{Fact, Gate, HeardRecord, Origin, Reason, Receipt, Reconciled, Row};
use crate::task::Criterion;
use crate::verdict::{Warrant, WarrantOrigin};
use serde::{Deserialize, Serialize};

/// The ledger a landing rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceiptsDigest {
    /// SHA-256 of `receipts.jsonl` as it was sealed.
    pub sha256: String,
    /// How many receipts.
    pub count: usize,
}

/// What the note says about a landing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Landing {
    /// The task.
    pub task: String,
    /// SHA-256 of the task's text as it was judged; none where nothing was sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_digest: Option<String>,
    /// Its criteria as they were judged.
    #[serde(default)]
    pub criteria: Vec<Criterion>,
    /// Where the warrant came from.
    pub origin: WarrantOrigin,
    /// Why it was made.
    pub reason: Reason,
    /// The branch it landed on.
    pub target: String,
    /// The landed commit.
    pub commit: CommitId,
    /// The landed tree.
    pub tree: TreeId,
    /// What the branch pointed to before.
    pub parent: CommitId,
    /// That commit's tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tree: Option<TreeId>,
    /// The merged tree without bookkeeping.
    pub merged_tree: TreeId,
    /// The claim's commit.
    pub claim: CommitId,
    /// The claim's tree: what was verified.
    pub claim_tree: TreeId,
    /// What the claim was measured against.
    pub base: CommitId,
    /// Which attempt of the task.
    #[serde(default)]
    pub attempt: u32,
    /// Who asked for the judgement: `work`, `hand`, `ci`. Whose signature it is says the key, not this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Origin>,
    /// Who judged.
    #[serde(default)]
    pub verifier: String,
    /// What the verifier's answer amounts to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<HeardRecord>,
    /// What the worker's report said it did, against its tool calls; none where nothing was held against them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciled: Option<ReconciledDigest>,
    /// The reason of a SKIP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// True if nobody verified it because nobody was to (`--no-verify`).
    pub no_verify: bool,
    /// True if a person landed it over the verdict.
    #[serde(rename = "override")]
    pub overridden: bool,
    /// SHA-256 of the policy it was judged under.
    #[serde(default)]
    pub policy: String,
    /// Where the settings came from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The receipts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipts: Option<ReceiptsDigest>,
    /// The sealed case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<CommitId>,
    /// Ranges that are on the branch and that nobody certified.
    #[serde(default)]
    pub uncertified: Vec<Uncertified>,
    /// Of several that landed together: the tree of the last one, which was judged for all of them. A head that
    /// stops short of it was judged by nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<TreeId>,
    /// The version of countersign.
    pub version: String,
    /// When, in UTC.
    pub at: String,
}

impl Landing {
    /// Reads it off a landing and the case behind it. `parent_tree` and `uncertified` are the caller's.
    pub fn of(record: &LandingRecord, warrant: &Warrant, sealed: Option<&Sealed>, at: Timestamp) -> Self {
        let mut landing = Self {
            task: record.task.clone(),
            task_digest: None,
            criteria: Vec::new(),
            origin: warrant.origin(),
            reason: warrant.reason().clone(),
            target: record.target.clone(),
            commit: record.commit.clone(),
            tree: record.tree.clone(),
            parent: record.parent.clone(),
            parent_tree: None,
            merged_tree: record.merged.clone(),
            claim: record.claim.clone(),
            claim_tree: warrant.tree().clone(),
            base: warrant.base().clone(),
            attempt: 0,
            asked_by: None,
            verifier: String::new(),
            verdict: None,
            reconciled: None,
            skip: None,
            no_verify: warrant.origin() == WarrantOrigin::Unverified,
            overridden: warrant.origin() == WarrantOrigin::Override,
            policy: String::new(),
            sources: Vec::new(),
            receipts: None,
            case: sealed.map(|sealed| sealed.commit.clone()),
            uncertified: Vec::new(),
            batch: record.batch.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at: at.to_utc(),
        };
        if landing.origin == WarrantOrigin::Skipped {
            landing.skip = Some(landing.reason.text.clone());
        }
        if let Some(sealed) = sealed {
            landing.read(sealed);
        }
        landing
    }

    fn read(&mut self, sealed: &Sealed) {
        let receipts = &sealed.attempt.receipts;
        if let Ok(lines) = to_lines(receipts) {
            self.receipts = Some(ReceiptsDigest { sha256: digest(&lines), count: receipts.len() });
        }
        (self.verifier, self.policy) = judged_under(receipts);
        for receipt in receipts {
            match &receipt.fact {
                Fact::Opened(opened) => {
                    self.attempt = opened.attempt;
                    self.asked_by = Some(opened.origin);
                }
                Fact::Settings(settings) => self.sources.clone_from(&settings.sources),
                Fact::Task(task) => {
                    self.task_digest = Some(task.digest.clone());
                    self.criteria.clone_from(&task.criteria);
                }
                Fact::Heard(heard) => self.verdict = Some(heard.clone()),
                Fact::Reconciled(table) => self.reconciled = Some(ReconciledDigest::of(table)),
                _ => {}
            }
        }
    }

    /// The key under which its result is shared: of claim, base, task, policy and attempt.
    pub fn key(&self) -> String {
        let attempt = self.attempt.to_string();
        let parts = [self.claim_tree.as_str(), self.base.as_str(), &self.task, &self.policy, &attempt];
        digest(parts.join("\n").as_bytes())[..32].to_owned()
    }
}

/// Who judged, and under which policy.
pub(super) fn judged_under(receipts: &[Receipt]) -> (String, String) {
    let (mut verifier, mut policy) = (String::new(), String::new());
    for receipt in receipts {
        match &receipt.fact {
            Fact::Settings(settings) => {
                policy.clone_from(&settings.policy);
                verifier.clone_from(&settings.verifier);
            }
            // Another one may have been asked in the place of the settings'.
            Fact::Consulted(consulted) => verifier.clone_from(&consulted.verifier),
            _ => {}
        }
    }
    (verifier, policy)
}

/// A receipts table in a note: what follows from it, and each row without the worker's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReconciledDigest {
    /// What follows from it.
    pub gate: Gate,
    /// The rows: the standing, what was asserted, what was observed.
    pub rows: Vec<String>,
    /// How many rows were left out: a note stays small.
    #[serde(default)]
    pub left_out: usize,
}

impl ReconciledDigest {
    /// At most this many rows travel; the sealed case has all of them.
    const MOST: usize = 50;

    fn of(table: &Reconciled) -> Self {
        let row = |row: &Row| {
            let text = format!("{} {}: {}", row.standing.word(), row.assertion.what(), row.observed);
            text.chars().take(300).collect()
        };
        Self {
            gate: table.gate,
            rows: table.rows.iter().take(Self::MOST).map(row).collect(),
            left_out: table.rows.len().saturating_sub(Self::MOST),
        }
    }
}

/// A person's approval of a held change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The judged tree.
    pub tree: TreeId,
    /// The base that it was judged against.
    pub base: CommitId,
    /// The codes of what was held, sorted: another reason to hold is not released.
    pub codes: Vec<String>,
    /// Why, in the person's words.
    pub why: String,
    /// When, in UTC.
    pub at: String,
}
