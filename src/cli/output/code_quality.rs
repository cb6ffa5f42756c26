//! GitLab's code quality report: the widget of a merge request.

use super::entry::{Entry, Weight};
use super::sarif::NOWHERE;
use serde::Serialize;

/// One issue, with the members that GitLab reads.
#[derive(Debug, Serialize)]
pub(super) struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Place,
}

#[derive(Debug, Serialize)]
struct Place {
    path: String,
    lines: Lines,
}

#[derive(Debug, Serialize)]
struct Lines {
    begin: u32,
}

/// One issue an entry. A path that is not text cannot be matched there and is given escaped.
pub(super) fn issues(entries: &[Entry]) -> Vec<Issue> {
    entries
        .iter()
        .map(|entry| {
            let (path, line) = entry.location.as_ref().map_or((NOWHERE.to_owned(), 1), |at| {
                (at.path.as_str().map_or_else(|| at.path.to_string(), str::to_owned), at.line.unwrap_or(1))
            });
            let task = entry.task.as_ref().map_or_else(String::new, |task| format!("{task}: "));
            Issue {
                description: format!("{task}{}", entry.sentence()),
                check_name: entry.rule.clone(),
                fingerprint: entry.fingerprint.clone(),
                severity: match entry.weight {
                    Weight::Error => "critical",
                    Weight::Warning => "major",
                    Weight::Note => "info",
                },
                location: Place { path, lines: Lines { begin: line } },
            }
        })
        .collect()
}
