//! The header's values.

use super::{ProblemCode, Problems};
use crate::host::path::RepoPath;
use crate::worker::report::{Generation, Outcome, Report};
use regex::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

static CONCEPT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\S.* — converging on ([0-9]{1,9}) artifacts? \(([^()]+)\)$").ok());

pub(super) fn examine(report: &Report, problems: &mut Problems) {
    for name in report.outcome.required_fields() {
        // An empty list is how a worker writes that it changed nothing.
        if *name != "FILE_LIST" && report.field(name).is_some_and(str::is_empty) {
            problems.add(ProblemCode::BlankField, name, "a value", "nothing");
        }
    }
    if report.outcome != Outcome::Success {
        return;
    }
    tests(report, problems);
    files(report, problems);
    if let Some(concept) = report.field("CONCEPT_CANDIDATE").filter(|value| !value.is_empty())
        && !is_concept(concept)
    {
        let expected = "`none` or `<name> — converging on N artifacts (<ids>)` with N ids";
        problems.add(ProblemCode::ConceptShape, "CONCEPT_CANDIDATE", expected, concept);
    }
    if report.generation == Generation::A {
        generation_a(report, problems);
    }
}

/// A whole number in plain ASCII digits, at most nine of them.
fn integer(report: &Report, name: &str, problems: &mut Problems) -> Option<usize> {
    let value = report.field(name).filter(|value| !value.is_empty())?;
    let digits = value.len() <= 9 && value.bytes().all(|b| b.is_ascii_digit());
    let number = value.parse().ok().filter(|_| digits);
    if number.is_none() {
        problems.add(ProblemCode::NotAnInteger, name, "a whole number", value);
    }
    number
}

fn yes_or_no(report: &Report, name: &str, problems: &mut Problems) -> Option<bool> {
    match report.field(name).filter(|value| !value.is_empty())? {
        "yes" => Some(true),
        "no" => Some(false),
        other => {
            problems.add(ProblemCode::NotYesOrNo, name, "`yes` or `no` and nothing else", other);
            None
        }
    }
}

fn tests(report: &Report, problems: &mut Problems) {
    let added = integer(report, "TESTS_ADDED", problems);
    if yes_or_no(report, "TESTS_PASSING", problems) == Some(false) {
        let expected = "`yes` in a SUCCESS report; with red tests report FAILED";
        problems.add(ProblemCode::TestsNotPassing, "TESTS_PASSING", expected, "no");
    }
    let Some(skipped) = report.field("TDD_SKIPPED").filter(|value| !value.is_empty()) else { return };
    let bare = ["yes", "true", "skipped", "y"].iter().any(|word| skipped.eq_ignore_ascii_case(word));
    if bare {
        problems.add(ProblemCode::SkipWithoutReason, "TDD_SKIPPED", "`no` or the reason", skipped);
    } else if skipped == "no" && added == Some(0) {
        let expected = "tests added, or the reason for none in TDD_SKIPPED";
        problems.add(ProblemCode::TestsUnexplained, "TESTS_ADDED", expected, "0 with TDD_SKIPPED `no`");
    }
}

fn files(report: &Report, problems: &mut Problems) {
    let listed = report.file_list.len();
    if let Some(count) = integer(report, "FILES_CHANGED", problems)
        && count != listed
    {
        let expected = format!("{listed}, the number of files in FILE_LIST");
        problems.add(ProblemCode::CountMismatch, "FILES_CHANGED", &expected, &count.to_string());
    }
    let mut seen: HashSet<&[u8]> = HashSet::new();
    for path in &report.file_list {
        if !seen.insert(without_dot(path)) {
            let shown = String::from_utf8_lossy(path.as_bytes());
            problems.add(ProblemCode::DuplicateFile, "FILE_LIST", "each file once", &shown);
        }
    }
}

fn without_dot(path: &RepoPath) -> &[u8] {
    path.as_bytes().strip_prefix(b"./").unwrap_or(path.as_bytes())
}

fn is_concept(value: &str) -> bool {
    value == "none"
        || CONCEPT.as_ref().and_then(|shape| shape.captures(value)).is_some_and(|found| {
            let ids = found[2].split(',').filter(|id| !id.trim().is_empty()).count();
            found[1].parse() == Ok(ids)
        })
}

/// In generation A the worker edits README and records itself, so they stand in `FILE_LIST` (agentheim.md §3.1).
fn generation_a(report: &Report, problems: &mut Problems) {
    let names: HashSet<&[u8]> = report.file_list.iter().map(RepoPath::file_name).collect();
    if let Some(updated) = yes_or_no(report, "BC_README_UPDATED", problems)
        && updated
        && !names.contains(&b"README.md"[..])
    {
        let expected = "a README.md in FILE_LIST";
        problems.add(ProblemCode::ReadmeMismatch, "BC_README_UPDATED", expected, "yes without one");
    }
    let written = super::documents::names(report.field("ADRS_WRITTEN").unwrap_or_default());
    if written.len() > super::documents::MAX_RECORDS {
        let expected = format!("at most {} records in a report", super::documents::MAX_RECORDS);
        problems.add(ProblemCode::AdrsMismatch, "ADRS_WRITTEN", &expected, &written.len().to_string());
        return;
    }
    for name in written {
        let listed = report.file_list.iter().any(|path| {
            let file = String::from_utf8_lossy(path.file_name());
            super::documents::same_record(&name, &file)
        });
        if !listed {
            problems.add(ProblemCode::AdrsMismatch, "ADRS_WRITTEN", "records that FILE_LIST names", &name);
        }
    }
}
