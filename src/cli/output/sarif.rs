//! SARIF 2.1.0 (OASIS): the findings, for code scanning and editors.
//!
//! A suspicion is no failure: only what makes a claim false has the kind `fail` and a level; a question has the kind
//! `review`, what could not be found out `open`, and the standard wants `none` as the level of both.

use super::command::cut;
use super::entry::{Entry, Weight};
use super::text::count;
use crate::floor::CHECKS;
use crate::pipeline::ci::CiReport;
use crate::receipts::{Remedy, State};
use crate::verdict::REASONS;
use serde_json::{Value, json};

/// Code scanning refuses a result without a file. One that is about none is put where the gate is set up.
pub(super) const NOWHERE: &str = ".agentheim/countersign.yaml";

/// Code scanning shows this many results of a run.
pub(super) const MOST_RESULTS: usize = 5_000;

/// How many characters of a message are given: five thousand of them stay below the 10 MB that code scanning takes.
const LONGEST_MESSAGE: usize = 1_000;

/// The log.
pub(super) fn log(report: &CiReport, entries: &[Entry]) -> Value {
    let listed = &entries[..entries.len().min(MOST_RESULTS)];
    let mut rules: Vec<&str> = Vec::new();
    let results: Vec<Value> = listed
        .iter()
        .map(|entry| {
            let index = rules.iter().position(|rule| *rule == entry.rule).unwrap_or_else(|| {
                rules.push(&entry.rule);
                rules.len() - 1
            });
            result(entry, index)
        })
        .collect();
    let rules: Vec<Value> = rules.into_iter().map(|id| rule(id, listed)).collect();
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "countersign",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "automationDetails": { "id": "countersign/ci/" },
            "invocations": [{
                "executionSuccessful": report.health.works,
                "exitCode": report.exit,
                "toolExecutionNotifications": notifications(report, entries.len() - listed.len()),
            }],
            "originalUriBaseIds": { "%SRCROOT%": { "description": { "text": "The top of the judged tree." } } },
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {
                "base": report.base,
                "head": report.head,
                "tree": report.tree,
                "policy": report.policy,
                "decision": report.decision,
                "notListed": entries.len() - listed.len(),
            },
        }],
    })
}

fn result(entry: &Entry, rule: usize) -> Value {
    let (kind, level) = match (entry.weight, entry.state) {
        (Weight::Error, _) => ("fail", "error"),
        (_, State::Unknown) => ("open", "none"),
        (Weight::Warning, _) => ("review", "none"),
        (Weight::Note, _) => ("informational", "none"),
    };
    let (uri, line) = entry.location.as_ref().map_or_else(|| (NOWHERE.to_owned(), None), |at| (at.uri(), at.line));
    let mut physical = json!({ "artifactLocation": { "uri": uri, "uriBaseId": "%SRCROOT%" } });
    if let Some(line) = line {
        physical["region"] = json!({ "startLine": line });
    }
    let mut location = json!({ "physicalLocation": physical });
    if entry.location.is_none() && !entry.place.is_empty() {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": entry.place }]);
    }
    json!({
        "ruleId": entry.rule,
        "ruleIndex": rule,
        "kind": kind,
        "level": level,
        "message": { "text": message(&cut(&entry.sentence(), LONGEST_MESSAGE)) },
        "locations": [location],
        "partialFingerprints": { "countersign/v1": entry.fingerprint },
        "properties": {
            "state": entry.state,
            "remedy": if entry.remedy == Remedy::Fix { "fix" } else { "ask-user" },
            "task": entry.task,
        },
    })
}

fn rule(id: &str, entries: &[Entry]) -> Value {
    let name = id.strip_prefix("unknown:").unwrap_or(id);
    let why = CHECKS.iter().find(|check| check.id == name).map(|check| check.why);
    let why = why.or_else(|| REASONS.iter().find(|(code, _)| *code == id).map(|(_, meaning)| *meaning));
    // What a rule can do at worst is known by what it did: the level of a rule that only asks is a warning.
    let worst = entries.iter().filter(|entry| entry.rule == id).map(|entry| entry.weight).min();
    let level = match worst {
        Some(Weight::Error) => "error",
        Some(Weight::Warning) | None => "warning",
        Some(Weight::Note) => "note",
    };
    json!({
        "id": id,
        "shortDescription": { "text": message(why.unwrap_or(id)) },
        "defaultConfiguration": { "level": level },
    })
}

fn notifications(report: &CiReport, left_out: usize) -> Vec<Value> {
    let broken = report.health.checks.iter().filter(|check| !check.works);
    let mut all: Vec<Value> = broken
        .map(|check| {
            let text = format!("the gate does not work: {}: {}", check.name, check.text);
            json!({ "level": "error", "message": { "text": message(&text) } })
        })
        .collect();
    if left_out > 0 {
        let text = format!(
            "{} not listed: code scanning shows {MOST_RESULTS} results; the JSON document has all",
            count(left_out, "finding")
        );
        all.push(json!({ "level": "warning", "message": { "text": text } }));
    }
    all
}

/// A message's text is itself a small language: brackets make links, and numbers in braces are places for arguments.
fn message(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            '\\' | '[' | ']' => out.extend(['\\', c]),
            '{' if is_placeholder(&text[at + 1..]) => out.push_str("{{"),
            '}' if text[..at]
                .rsplit('{')
                .next()
                .is_some_and(|digits| text[..at].contains('{') && is_number(digits)) =>
            {
                out.push_str("}}");
            }
            _ => out.push(c),
        }
    }
    out
}

fn is_placeholder(after: &str) -> bool {
    after.split_once('}').is_some_and(|(digits, _)| is_number(digits))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_holds_no_link_and_no_placeholder() {
        assert_eq!(message("see [x](http://e.invalid) \\ {0} {a}"), "see \\[x\\](http://e.invalid) \\\\ {{0}} {a}");
        assert_eq!(message("fn f() { g(1) }"), "fn f() { g(1) }");
    }
}
