//! What there is to be said of a run, worst first: findings, and the reasons that no finding stands for.

use super::location::Location;
use crate::host::digest::digest;
use crate::host::path::RepoPath;
use crate::pipeline::ci::{CiDecision, CiReport, GateFinding, TaskReport};
use crate::receipts::{DecisionKind, Reason, Remedy, State};
use std::collections::{BTreeSet, HashMap};

/// How much an entry weighs for whoever reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// The change cannot be merged for it.
    Error,
    /// A person has to look.
    Warning,
    /// Worth knowing.
    Note,
}

/// One thing to be said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The task it is about; none for the range as a whole.
    pub(super) task: Option<String>,
    /// The check's id, or the code of a reason.
    pub(super) rule: String,
    /// How bad, as the checks say it.
    pub(super) state: State,
    /// How bad for a reader.
    pub(super) weight: Weight,
    /// The place in words; empty if nowhere.
    pub(super) place: String,
    /// The file, if it is in one.
    pub(super) location: Option<Location>,
    /// What should have been; empty if nothing is to be said.
    pub(super) expected: String,
    /// What is.
    pub(super) observed: String,
    /// Who mends it.
    pub(super) remedy: Remedy,
    /// The same for the same finding in the next run, also if its line has moved; different within one run.
    pub(super) fingerprint: String,
}

impl Entry {
    /// Everything in one paragraph, for readers that have one field.
    pub(super) fn sentence(&self) -> String {
        let mut text = String::new();
        if !self.place.is_empty() {
            text.push_str(&format!("{}: ", self.place));
        }
        text.push_str(&self.observed);
        if !self.expected.is_empty() {
            text.push_str(&format!(" (expected: {})", self.expected));
        }
        text
    }
}

/// All entries of a run, worst first, otherwise in the report's order.
pub(super) fn entries(report: &CiReport, is_here: &dyn Fn(&RepoPath) -> bool) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for check in report.health.checks.iter().filter(|check| !check.works) {
        entries.push(Entry {
            weight: Weight::Error,
            ..bare("gate-health", State::Unknown, format!("{}: {}", check.name, check.text))
        });
    }
    entries.extend(report.findings.iter().map(|finding| of_finding(None, finding, is_here)));
    for task in &report.tasks {
        entries.extend(task.findings.iter().map(|finding| of_finding(Some(&task.id), finding, is_here)));
        entries.extend(reasons_of(task));
    }
    if report.decision != CiDecision::Pass {
        let known: BTreeSet<&str> = entries.iter().map(|entry| entry.rule.as_str()).collect();
        let state = if report.decision == CiDecision::Fail { State::Deny } else { State::Unknown };
        let missing: Vec<Entry> =
            unspoken(&report.reasons, &known).map(|reason| bare(&reason.code, state, reason.text.clone())).collect();
        entries.extend(missing);
    }
    entries.sort_by_key(|entry| entry.weight);
    mark(&mut entries);
    entries
}

/// The reasons of a task that keeps the change out, where no finding says the same.
fn reasons_of(task: &TaskReport) -> Vec<Entry> {
    if task.passes {
        return Vec::new();
    }
    let known: BTreeSet<&str> = task.findings.iter().map(|finding| finding.check.as_str()).collect();
    let state = if task.decision == DecisionKind::SendBack { State::Deny } else { State::Unknown };
    unspoken(&task.reasons, &known)
        .map(|reason| Entry { task: Some(task.id.clone()), ..bare(&reason.code, state, reason.text.clone()) })
        .collect()
}

/// Reasons that are not the name of a check among those that were heard.
fn unspoken<'r>(reasons: &'r [Reason], known: &BTreeSet<&str>) -> impl Iterator<Item = &'r Reason> {
    reasons.iter().filter(|reason| !known.contains(reason.code.strip_prefix("unknown:").unwrap_or(&reason.code)))
}

fn bare(rule: &str, state: State, observed: String) -> Entry {
    Entry {
        task: None,
        rule: rule.to_owned(),
        state,
        weight: weight(state),
        place: String::new(),
        location: None,
        expected: String::new(),
        observed,
        remedy: Remedy::AskUser,
        fingerprint: String::new(),
    }
}

fn of_finding(task: Option<&String>, finding: &GateFinding, is_here: &dyn Fn(&RepoPath) -> bool) -> Entry {
    Entry {
        task: task.cloned(),
        place: finding.place.clone(),
        location: Location::of(&finding.place, finding.line, is_here),
        expected: finding.expected.clone(),
        remedy: finding.remedy,
        ..bare(&finding.check, finding.state, finding.observed.clone())
    }
}

fn weight(state: State) -> Weight {
    match state {
        State::Deny => Weight::Error,
        State::Ask | State::Unknown => Weight::Warning,
        State::Info | State::Pass | State::NotApplicable => Weight::Note,
    }
}

/// Gives every entry its fingerprint; equal ones are told apart by their order.
fn mark(entries: &mut [Entry]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let place = entry.location.as_ref().map_or_else(|| folded(&entry.place), |at| at.path.to_string());
        let task = entry.task.as_deref().unwrap_or_default();
        let parts = [task, &entry.rule, &place, &folded(&entry.expected), &folded(&entry.observed)];
        let text = parts.join("\0");
        let before = seen.entry(text.clone()).or_default();
        entry.fingerprint = digest(format!("countersign/1\0{before}\0{text}").as_bytes());
        *before += 1;
    }
}

/// A text without what changes from run to run: numbers that stand alone, and object ids.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
        let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
        let id = bare.len() >= 7
            && bare.bytes().all(|byte| byte.is_ascii_hexdigit())
            && bare.bytes().any(|byte| byte.is_ascii_digit());
        if number || id {
            out.push('#');
            out.push_str(&word[bare.len()..]);
        } else {
            out.push_str(word);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_outlives_numbers_and_ids_and_keeps_names() {
        assert_eq!(folded("3 of 12 tests at 342bce9df421"), "# of # tests at #");
        assert_eq!(folded("test_1 and test2 in a1.rs:44"), "test_1 and test2 in a1.rs:#");
        assert_eq!(folded("deadbeef faceted"), "deadbeef faceted", "words are words");
    }

    #[test]
    fn equal_findings_have_fingerprints_of_their_own() {
        let one = bare("x", State::Deny, "same".to_owned());
        let mut entries = vec![one.clone(), one.clone(), Entry { task: Some("w-1".to_owned()), ..one }];
        mark(&mut entries);
        let marks: BTreeSet<_> = entries.iter().map(|entry| entry.fingerprint.clone()).collect();
        assert_eq!(marks.len(), 3);
        let first = entries[0].fingerprint.clone();
        mark(&mut entries[..1]);
        assert_eq!(entries[0].fingerprint, first);
    }
}
