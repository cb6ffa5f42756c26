//! What a person made of a judged claim, finding by finding (RULINGS 20, 21).
//!
//! A ruling is bound to the claim's tree and to the findings it names: on another tree it says nothing. A finding that a
//! person declined is told to later judgements, and is settled there as long as the code that it is about stays the same.
//! Only a person declines: what a machine does not select stays open.

use super::{Fact, HeardRecord, Receipt, State};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The check's id of what a verifier says: no check has it.
pub const VERDICT: &str = "verdict";

/// A finding of a judged attempt, as a person is asked about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Point {
    /// `F1`, `F2`, … in the order of the ledger.
    pub id: String,
    /// The check that reports it; `verdict` for a reason of the verifier.
    pub check: String,
    /// How bad; none for a reason of the verifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Where, as the finding says; may be empty.
    #[serde(rename = "where")]
    pub place: String,
    /// What should have been; may be empty.
    pub expected: String,
    /// What is.
    pub observed: String,
    /// The files it is about, as the claim has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<Anchor>,
}

impl Point {
    /// True if both name the same thing, whatever their numbers.
    pub fn is_about(&self, check: &str, place: &str, expected: &str, observed: &str) -> bool {
        (self.check.as_str(), unnumbered(&self.place), self.expected.as_str(), self.observed.as_str())
            == (check, unnumbered(place), expected, observed)
    }

    /// True if it is a question or an opinion. A fact that denies, or that could not be found out, is not declined away:
    /// a person may approve in spite of it.
    pub fn is_declinable(&self) -> bool {
        self.check == VERDICT || self.state == Some(State::Ask)
    }

    /// In one sentence.
    pub fn sentence(&self) -> String {
        let place = if self.place.is_empty() { String::new() } else { format!("{}: ", self.place) };
        let expected = if self.expected.is_empty() { String::new() } else { format!("expected {}, ", self.expected) };
        let observed = if expected.is_empty() { self.observed.clone() } else { format!("observed {}", self.observed) };
        format!("{}: {place}{expected}{observed}", self.check)
    }
}

/// A place without its line and column: they move when something above them does.
fn unnumbered(place: &str) -> &str {
    let mut rest = place;
    while let Some((head, tail)) = rest.rsplit_once(':')
        && !tail.is_empty()
        && tail.bytes().all(|byte| byte.is_ascii_digit())
    {
        rest = head;
    }
    rest
}

/// Lines of a file that stand together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Block {
    /// How many.
    pub lines: usize,
    /// SHA-256 of their bytes.
    pub digest: String,
}

/// A file that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Anchor {
    /// Its path.
    pub path: RepoPath,
    /// Its content in the claim; none if the claim does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The lines that the claim brought, block by block: while all of them are there, the code is as it was. Empty: the
    /// whole content counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
}

/// What a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The claim lands in spite of every finding.
    Approve,
    /// Some findings are right and are to be mended; the others are declined.
    Mend,
    /// Some findings are no defects; the others stay open.
    Decline,
    /// The work is given up.
    Abort,
}

impl Answer {
    /// The answer as a word, as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Mend => "mend",
            Self::Decline => "decline",
            Self::Abort => "abort",
        }
    }
}

/// What shows that a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "proof", rename_all = "kebab-case")]
pub enum Proof {
    /// The claim's tree was typed at a terminal, outside any agent's environment.
    Terminal,
    /// The commit of the case is signed, by a key that the base's allowed signers name.
    Signature,
}

/// A person's answer to a judged claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RulingRecord {
    /// What.
    pub answer: Answer,
    /// The claim's tree: on another one the answer says nothing.
    pub tree: TreeId,
    /// The sealed attempt that it answers.
    pub case: CommitId,
    /// Findings to be mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mend: Vec<Point>,
    /// Findings that are declined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<Point>,
    /// Why, in the person's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Who, as git knows them.
    pub by: String,
    /// What shows it.
    pub proof: Proof,
    /// When, in UTC.
    pub at: String,
}

/// A finding that a person declined before this judgement began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct DeclinedRecord {
    /// The task that it was declined for.
    pub task: String,
    /// The sealed ruling.
    pub case: CommitId,
    /// The finding.
    pub point: Point,
    /// Why, in the person's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// True if the code that it is about is as it was: then it is settled. Otherwise it is open again.
    pub stands: bool,
}

/// Everything in a ledger that a person may be asked about, in order: questions, facts that could not be found out, facts
/// that deny, and what the verifier says.
pub fn points(receipts: &[Receipt]) -> Vec<Point> {
    let mut found: Vec<Point> = Vec::new();
    let mut add = |check: &str, state, (place, expected, observed): (&str, &str, &str)| {
        let (check, place) = (check.to_owned(), place.to_owned());
        let (expected, observed) = (expected.to_owned(), observed.to_owned());
        let id = format!("F{}", found.len() + 1);
        found.push(Point { id, check, state, place, expected, observed, code: Vec::new() });
    };
    for receipt in receipts {
        let Fact::Check(check) = &receipt.fact else { continue };
        for finding in check.findings.iter().filter(|finding| finding.state >= State::Ask) {
            add(&check.id, Some(finding.state), (&finding.place, &finding.expected, &finding.observed));
        }
        if check.state >= State::Ask && !check.findings.iter().any(|finding| finding.state >= State::Ask) {
            add(&check.id, Some(check.state), ("", "", &check.note));
        }
    }
    let heard = receipts.iter().rev().find_map(|receipt| match &receipt.fact {
        Fact::Heard(heard) => Some(heard),
        _ => None,
    });
    if let Some(HeardRecord::Fail { reasons, .. }) = heard {
        for reason in reasons {
            add(VERDICT, None, ("", "", reason));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipts::{CheckReport, Finding, Remedy};

    #[test]
    fn a_moved_line_is_the_same_finding_and_other_words_are_another() {
        let point = Point {
            id: "F1".into(),
            check: "tests-tampered".into(),
            state: Some(State::Ask),
            place: "src/a.rs:12:3".into(),
            expected: "e".into(),
            observed: "o".into(),
            code: vec![],
        };
        assert!(point.is_about("tests-tampered", "src/a.rs:90", "e", "o"));
        assert!(!point.is_about("tests-tampered", "src/b.rs:12", "e", "o"));
        assert!(!point.is_about("tests-tampered", "src/a.rs:12", "e", "another"));
        assert!(!point.is_about("tamper", "src/a.rs:12", "e", "o"));
    }

    #[test]
    fn points_are_numbered_in_the_order_of_the_ledger_and_facts_are_not_declinable() {
        let finding = |state| Finding {
            state,
            place: "p".into(),
            expected: "e".into(),
            observed: "o".into(),
            remedy: Remedy::AskUser,
        };
        let check = |id: &str, states: &[State]| {
            Fact::Check(CheckReport::of(id, states.iter().map(|state| finding(*state)).collect()))
        };
        let fail = HeardRecord::Fail {
            reasons: vec!["r".into()],
            suggested_fix: String::new(),
            hint: crate::receipts::Hint::LikelyFixable,
        };
        let facts =
            [check("a", &[State::Info, State::Ask]), check("b", &[State::Deny, State::Unknown]), Fact::Heard(fail)];
        let receipts: Vec<Receipt> = (1..).zip(facts).map(|(id, fact)| Receipt { id, fact }).collect();
        let found: Vec<_> =
            points(&receipts).into_iter().map(|p| (p.id.clone(), p.check.clone(), p.is_declinable())).collect();
        let row = |id: &str, check: &str, may| (id.to_owned(), check.to_owned(), may);
        assert_eq!(
            found,
            [row("F1", "a", true), row("F2", "b", false), row("F3", "b", false), row("F4", VERDICT, true)]
        );
    }
}
