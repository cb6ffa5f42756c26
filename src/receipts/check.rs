//! What a check reports: a state and its findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum State {
    /// Looked, found nothing.
    #[serde(rename = "pass")]
    Pass,
    /// It does not apply here.
    #[serde(rename = "n/a")]
    NotApplicable,
    /// Something worth knowing; nothing follows from it.
    #[serde(rename = "info")]
    Info,
    /// A suspicion: shown to the verifier, a hold without one.
    #[serde(rename = "ask")]
    Ask,
    /// It could not be found out: never a pass, never the worker's fault.
    #[serde(rename = "unknown")]
    Unknown,
    /// A fact that makes the claim false, or a test unable to fail.
    #[serde(rename = "deny")]
    Deny,
}

impl State {
    /// The state as a word, as it stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::NotApplicable => "n/a",
            Self::Info => "info",
            Self::Ask => "ask",
            Self::Unknown => "unknown",
            Self::Deny => "deny",
        }
    }
}

/// What should happen about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// The worker can mend it.
    Fix,
    /// A person decides.
    AskUser,
}

/// One defect that a check or the verifier reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// How bad: the worst finding is the check's state.
    pub state: State,
    /// Where: a path, `path:line`, a test name or a command; empty if nowhere in particular. Escaped for display.
    #[serde(rename = "where")]
    pub place: String,
    /// What should have been.
    pub expected: String,
    /// What is.
    pub observed: String,
    /// What to do about it.
    pub remedy: Remedy,
}

/// One check's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CheckReport {
    /// The public, stable id.
    pub id: String,
    /// The worst of its findings, or pass, or n/a.
    pub state: State,
    /// Why it does not apply, or what was looked at; one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// All findings.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// A check that looked and found these; no finding is a pass.
    pub fn of(id: &str, findings: Vec<Finding>) -> Self {
        let state = findings.iter().map(|f| f.state).max().unwrap_or(State::Pass);
        Self { id: id.to_owned(), state, note: String::new(), findings }
    }

    /// A check that does not apply, and why.
    pub fn not_applicable(id: &str, why: &str) -> Self {
        Self { id: id.to_owned(), state: State::NotApplicable, note: why.to_owned(), findings: Vec::new() }
    }

    /// A check that could not find out, and why.
    pub fn unknown(id: &str, place: &str, expected: &str, why: &str) -> Self {
        let finding = Finding {
            state: State::Unknown,
            place: place.to_owned(),
            expected: expected.to_owned(),
            observed: why.to_owned(),
            remedy: Remedy::AskUser,
        };
        Self::of(id, vec![finding])
    }

    /// Adds a one-line note.
    #[must_use]
    pub fn noting(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}
