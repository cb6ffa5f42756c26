//! What a "done" asserts, taken apart into statements that a receipt can bear out or refute.
//!
//! Five sources: the task's criteria, whether the worker speaks of them or not ([`asked`]); the worker's own words, by
//! rules that stay silent unless a statement is plainly checkable ([`claimed`]); the question that was asked, where only a
//! change was delivered ([`asked`]); what every change asserts without saying so; and a file ([`given`]). An agent may add
//! assertions with the file; nothing removes one.

pub mod asked;
pub mod claimed;
pub mod given;
mod phrases;
mod sentences;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AssertionKind {
    /// A file or folder was made, changed or taken away.
    FileWritten,
    /// Tests pass.
    TestGreen,
    /// A command ran.
    CommandRan,
    /// A build, a lint or a type check succeeds.
    BuildOk,
    /// A commit was made.
    CommitExists,
    /// A branch was pushed.
    BranchPushed,
    /// A pull request was opened.
    PrOpened,
    /// Something was deployed, or a service answers.
    Deployed,
    /// All of so many items are done.
    ItemCount,
    /// The question that was asked is answered.
    QuestionAnswered,
    /// Somebody looked at the running thing, or reviewed the work.
    Observed,
    /// Some paths were left alone.
    NotChanged,
    /// Something was installed.
    Installed,
    /// A criterion that only judgement can settle.
    CriterionMet,
    /// There is a change at all.
    WorkDone,
    /// Task, settings and tests still say what they said.
    ContractKept,
}

/// Where an assertion comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AssertedBy {
    /// The worker's own words.
    Claim,
    /// A criterion of the task.
    Task,
    /// The question that was asked.
    Goal,
    /// Every claim about a change.
    Implicit,
    /// The file of assertions.
    File,
}

/// How a path is said to have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SaidChange {
    /// It is there, and new or different.
    Written,
    /// It is gone.
    Deleted,
    /// It is there; nothing is said about when it came.
    Present,
}

/// What would bear an assertion out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Expected {
    /// So many tests or items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// All of them: the whole suite, every change.
    #[serde(skip_serializing_if = "is_false")]
    pub whole: bool,
    /// How the path changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<SaidChange>,
    /// Text that the file, or the service's answer, holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// A regular expression whose matches in the file are the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// A file with the same bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    /// The built thing that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// The only tests that fail.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// The only paths that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_false(value: &bool) -> bool {
    !value
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Assertion {
    /// Its name in the table: `a1` and so on, in order.
    pub id: String,
    /// What is asserted.
    pub kind: AssertionKind,
    /// Where it comes from.
    pub by: AssertedBy,
    /// The words it was taken from; of a worker, so hostile.
    pub quote: String,
    /// The path, command, commit, branch, address or name that it is about; empty if none was named.
    pub subject: String,
    /// What would bear it out.
    #[serde(default)]
    pub expected: Expected,
}

impl AssertionKind {
    /// The kind as a word, as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::FileWritten => "file-written",
            Self::TestGreen => "test-green",
            Self::CommandRan => "command-ran",
            Self::BuildOk => "build-ok",
            Self::CommitExists => "commit-exists",
            Self::BranchPushed => "branch-pushed",
            Self::PrOpened => "pr-opened",
            Self::Deployed => "deployed",
            Self::ItemCount => "item-count",
            Self::QuestionAnswered => "question-answered",
            Self::Observed => "observed",
            Self::NotChanged => "not-changed",
            Self::Installed => "installed",
            Self::CriterionMet => "criterion-met",
            Self::WorkDone => "work-done",
            Self::ContractKept => "contract-kept",
        }
    }

    /// True for a statement about a change of the repository: without a change it is false.
    pub fn is_about_a_change(self) -> bool {
        matches!(self, Self::FileWritten | Self::CommitExists | Self::BranchPushed | Self::PrOpened)
    }
}

impl Assertion {
    /// An assertion without a name yet.
    pub fn new(kind: AssertionKind, by: AssertedBy, quote: &str, subject: &str) -> Self {
        Self {
            id: String::new(),
            kind,
            by,
            quote: quote.chars().take(LONGEST_QUOTE).collect(),
            subject: subject.chars().take(LONGEST_SUBJECT).collect(),
            expected: Expected::default(),
        }
    }

    /// The same with this expectation.
    #[must_use]
    pub fn expecting(self, expected: Expected) -> Self {
        Self { expected, ..self }
    }

    /// What is asserted, by its kind and subject: nothing of the words it was said in.
    pub fn what(&self) -> String {
        format!("{} {}", self.kind.word(), self.subject).trim().to_owned()
    }

    /// True for what is asserted without anybody saying so.
    pub fn is_implicit(&self) -> bool {
        self.by == AssertedBy::Implicit
    }
}

/// How much of the words is kept.
const LONGEST_QUOTE: usize = 300;

/// How long a path, a command or a name may be.
const LONGEST_SUBJECT: usize = 1000;

/// How many assertions one claim can make; what goes beyond is told by [`gathered`].
pub const MOST: usize = 200;

/// What every claim about a change asserts without saying so: that there is one, and that it was not bought by changing
/// what it is measured against.
pub fn implicit(asserts_a_change: bool) -> Vec<Assertion> {
    let implied = |kind, quote| Assertion::new(kind, AssertedBy::Implicit, quote, "");
    let mut found = Vec::new();
    if asserts_a_change {
        found.push(implied(AssertionKind::WorkDone, "a change is claimed"));
    }
    found.push(implied(AssertionKind::ContractKept, "task, settings and tests still say what they said"));
    found
}

/// Puts the assertions of all sources into one list: doubles once, numbered in order, at most [`MOST`]. The second value
/// is how many were left out.
pub fn gathered(sources: impl IntoIterator<Item = Assertion>) -> (Vec<Assertion>, usize) {
    let all: Vec<Assertion> = sources.into_iter().collect();
    let mut kept: Vec<Assertion> = Vec::new();
    let mut left_out = 0;
    // The same statement held to a stricter standard stands for the plain one.
    let stricter = |plain: &Assertion| {
        plain.expected == Expected::default()
            && !plain.subject.is_empty()
            && all.iter().any(|a| a.kind == plain.kind && a.subject == plain.subject && a.expected != plain.expected)
    };
    for assertion in all.iter().filter(|assertion| !stricter(assertion)).cloned() {
        let same = |known: &Assertion| {
            known.kind == assertion.kind && known.subject == assertion.subject && known.expected == assertion.expected
        };
        if kept.iter().any(same) {
            continue;
        }
        if kept.len() == MOST {
            left_out += 1;
            continue;
        }
        let id = format!("a{}", kept.len() + 1);
        kept.push(Assertion { id, ..assertion });
    }
    (kept, left_out)
}

#[cfg(test)]
mod tests;
