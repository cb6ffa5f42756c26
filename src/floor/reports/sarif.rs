//! Reads SARIF 2.1.0: what static checkers found.
//!
//! An analysis that ran to its end is one passed case; each result that counts is a failed case beside it. A result
//! does not count if one of its suppressions was accepted (or has no status), or if its kind says that nothing is
//! wrong. A run without `results` was not analysed, which is not the same as an empty list.

use super::tally::{Tally, is_overfull};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Debug, Deserialize)]
struct Log {
    version: Option<String>,
    #[serde(default)]
    runs: Option<Vec<Run>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    #[serde(default)]
    tool: Option<Tool>,
    #[serde(default)]
    results: Option<Vec<Finding>>,
    #[serde(default)]
    invocations: Option<Vec<Invocation>>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    #[serde(default)]
    driver: Option<Driver>,
}

#[derive(Debug, Deserialize)]
struct Driver {
    #[serde(default)]
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    #[serde(default)]
    execution_successful: Option<bool>,
    #[serde(default)]
    tool_execution_notifications: Option<Vec<Notification>>,
    #[serde(default)]
    tool_configuration_notifications: Option<Vec<Notification>>,
}

#[derive(Debug, Deserialize)]
struct Notification {
    #[serde(default)]
    level: Option<String>,
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    #[serde(default)]
    rule_id: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    baseline_state: Option<String>,
    #[serde(default)]
    suppressions: Option<Vec<Suppression>>,
    #[serde(default)]
    locations: Option<Vec<Location>>,
}

/// A misspelt status would mean that somebody accepted it: no other members are read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suppression {
    #[serde(default)]
    status: Option<String>,
    #[serde(default, rename = "kind")]
    _kind: IgnoredAny,
    #[serde(default, rename = "location")]
    _location: IgnoredAny,
    #[serde(default, rename = "guid")]
    _guid: IgnoredAny,
    #[serde(default, rename = "justification")]
    _justification: IgnoredAny,
    #[serde(default, rename = "properties")]
    _properties: IgnoredAny,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Location {
    physical_location: Option<Physical>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Physical {
    artifact_location: Option<Artifact>,
    region: Option<Region>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Artifact {
    uri: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Region {
    start_line: Option<u64>,
}

/// What was seen, run by run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// The number of results; none where the member is absent.
    pub(super) results: Vec<Option<u64>>,
    pub(super) with_suppressions: u64,
}

/// Reads the log.
pub(super) fn read(bytes: &[u8], tally: &mut Tally) -> Marks {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_overfull(bytes) {
        tally.executed_unknown();
        tally.trouble("the log has too many values".to_owned());
        return Marks::default();
    }
    let log: Log = match serde_json::from_slice(bytes) {
        Ok(log) => log,
        Err(why) => {
            tally.executed_unknown();
            tally.trouble(format!("the report is no whole SARIF log: {}", escape(why.to_string().as_bytes())));
            return Marks::default();
        }
    };
    if log.version.as_deref() != Some("2.1.0") {
        let version = escape(log.version.as_deref().unwrap_or("(none)").as_bytes());
        tally.trouble(format!("the log is of version {version}; only 2.1.0 is read"));
    }
    let runs = log.runs.unwrap_or_default();
    if runs.is_empty() {
        tally.trouble("the log has no runs: nothing was analysed".to_owned());
    }
    let mut marks = Marks::default();
    for run in &runs {
        read_run(run, &mut marks, tally);
    }
    if marks.results.iter().all(Option::is_none) {
        tally.executed_unknown();
    }
    marks
}

fn read_run(run: &Run, marks: &mut Marks, tally: &mut Tally) {
    let tool = run.tool.as_ref().and_then(|tool| tool.driver.as_ref()).and_then(|driver| driver.name.as_deref());
    let tool = tool.unwrap_or("a tool");
    for invocation in run.invocations.iter().flatten() {
        check(invocation, tool, tally);
    }
    marks.results.push(run.results.as_ref().map(|results| results.len() as u64));
    let Some(results) = &run.results else {
        tally.trouble(format!("{} reported no results: nothing was analysed", escape(tool.as_bytes())));
        return;
    };
    tally.case(tool, "(analysis)", None, CaseResult::Passed);
    for finding in results {
        marks.with_suppressions += u64::from(finding.suppressions.as_ref().is_some_and(|list| !list.is_empty()));
        let place = finding.locations.iter().flatten().find_map(|location| location.physical_location.as_ref());
        let file = place.and_then(|place| place.artifact_location.as_ref()).and_then(|file| file.uri.as_deref());
        let line = place.and_then(|place| place.region.as_ref()).and_then(|region| region.start_line);
        let rule = finding.rule_id.as_deref().unwrap_or("(no rule)");
        let name = match (file, line) {
            (Some(file), Some(line)) => format!("{rule} {file}:{line}"),
            (Some(file), None) => format!("{rule} {file}"),
            (None, _) => rule.to_owned(),
        };
        tally.case(tool, &name, file, result(finding));
    }
}

/// An undecided result counts: only a person's yes, or the tool's own, takes it away.
fn result(finding: &Finding) -> CaseResult {
    let accepted =
        finding.suppressions.iter().flatten().any(|s| matches!(s.status.as_deref(), None | Some("accepted")));
    let is_gone = finding.baseline_state.as_deref() == Some("absent");
    let is_harmless = matches!(finding.kind.as_deref(), Some("pass" | "informational" | "notApplicable"));
    if accepted || is_gone || is_harmless { CaseResult::Skipped } else { CaseResult::Failed }
}

fn check(invocation: &Invocation, tool: &str, tally: &mut Tally) {
    let tool = escape(tool.as_bytes());
    if invocation.execution_successful == Some(false) {
        tally.trouble(format!("{tool} did not run to its end"));
    }
    let both = [&invocation.tool_execution_notifications, &invocation.tool_configuration_notifications];
    for notification in both.into_iter().flatten().flatten() {
        let text = notification.message.as_ref().and_then(|message| message.text.as_deref()).unwrap_or("no message");
        let text = escape(super::tally::cut(text).as_bytes());
        if notification.level.as_deref() == Some("error") {
            tally.trouble(format!("{tool} reports an error of its own: {text}"));
        } else {
            tally.remark(format!("{tool} says: {text}"));
        }
    }
}
