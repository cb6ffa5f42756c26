//! The answer for a terminal.

use crate::pipeline::ci::{Attested, CiDecision, CiReport, Covering, GateFinding, TaskReport};
use crate::receipts::DecisionKind;

/// The lines, in the order of `verify`'s: what was judged, what was found, what follows.
pub(super) fn lines(report: &CiReport) -> Vec<String> {
    let mut lines = vec![
        format!("base     {} ({})", report.base, report.base_rule),
        format!(
            "head     {} ({}, {})",
            report.head,
            count(report.commits, "commit"),
            count(report.changed, "changed path")
        ),
        tree(report),
    ];
    let tried: Vec<&str> = report.health.checks.iter().map(|check| check.name.as_str()).collect();
    lines.push(format!("gate     {}: {}", if report.health.works { "works" } else { "BROKEN" }, tried.join(" ")));
    let broken = report.health.checks.iter().filter(|check| !check.works);
    lines.extend(broken.map(|check| format!("  {}: {}", check.name, check.text)));
    if !report.findings.is_empty() {
        lines.push("range".to_owned());
        findings(&report.findings, &mut lines);
    }
    for task in &report.tasks {
        of_task(task, &mut lines);
    }
    lines.push(format!("decision {}", headline(report.decision)));
    lines.extend(report.reasons.iter().map(|reason| format!("  {}: {}", reason.code, reason.text)));
    // A text of several lines keeps its place under its heading.
    lines.iter().map(|line| line.replace('\n', "\n          ")).collect()
}

fn tree(report: &CiReport) -> String {
    match (&report.tree, report.merged) {
        (Some(tree), true) => format!("tree     {tree} (head merged into base)"),
        (Some(tree), false) => format!("tree     {tree} (the head's own)"),
        (None, _) => "tree     none: head and base do not merge".to_owned(),
    }
}

fn of_task(task: &TaskReport, lines: &mut Vec<String>) {
    let title = if task.title.is_empty() { String::new() } else { format!(" {}", task.title) };
    let word = if task.passes { "passes" } else { "does not pass" };
    lines.push(format!(
        "task     {}{title}: {word} ({}, {}; {})",
        task.id,
        task.decision.word(),
        task.evidence.word(),
        task.because
    ));
    lines.extend(task.attested.as_ref().map(attested));
    for criterion in &task.criteria {
        let by = if criterion.covered_by.is_empty() {
            String::new()
        } else {
            format!(" — {}", criterion.covered_by.join(", "))
        };
        lines.push(format!("  C{:<7}{}: {}{by}", criterion.number, covering(criterion.covering), criterion.text));
    }
    findings(&task.findings, lines);
    lines.extend(task.reasons.iter().map(|reason| format!("  {}: {}", reason.code, reason.text)));
}

fn attested(note: &Attested) -> String {
    let signer = match (&note.signer, &note.role) {
        (Some(signer), Some(role)) => format!("signed by {signer} as {role}"),
        (Some(signer), None) => format!("signed by {signer}"),
        (None, _) => "not signed".to_owned(),
    };
    format!("  note     on {}, {signer}, verifier {}", note.commit.short(), note.verifier)
}

fn findings(findings: &[GateFinding], lines: &mut Vec<String>) {
    for finding in findings {
        let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
        let place = if finding.place.is_empty() { String::new() } else { format!("{}{line}: ", finding.place) };
        lines.push(format!("  {:<8}{}", finding.state.word(), finding.check));
        lines.push(format!("          {place}{}", finding.observed));
        if !finding.expected.is_empty() {
            lines.push(format!("            expected: {}", finding.expected));
        }
    }
}

/// A task's decision in one word, and whether it is enough here.
pub(super) fn word(task: &TaskReport) -> &'static str {
    match (task.decision, task.passes) {
        (DecisionKind::Land, true) => "PASS",
        (DecisionKind::Land, false) => "HELD (verified, but not enough here)",
        (DecisionKind::Skip, true) => "SKIP (permitted)",
        (DecisionKind::Skip, false) => "HELD (SKIP is not permitted here)",
        (DecisionKind::FloorOnly, true) => "FLOOR ONLY (permitted)",
        (DecisionKind::FloorOnly, false) => "HELD (no task: floor only)",
        (DecisionKind::SendBack, _) => "FAIL",
        (DecisionKind::Hold, true) => "HELD (released)",
        (DecisionKind::Hold, false) => "HELD",
    }
}

/// Whether a criterion is covered, in one word.
pub(super) fn covering(covering: Covering) -> &'static str {
    match covering {
        Covering::Covered => "covered",
        Covering::EyePending => "builder eye-check pending",
        Covering::Skipped => "skipped",
        Covering::Failed => "NOT MET",
        Covering::Unknown => "not found out",
    }
}

/// The whole run's decision as a headline.
pub(super) fn headline(decision: CiDecision) -> &'static str {
    match decision {
        CiDecision::Pass => "PASS",
        CiDecision::Fail => "FAIL",
        CiDecision::Held => "HELD for a person",
        CiDecision::Broken => "BROKEN: the gate cannot say no, so it says nothing",
    }
}

/// `1 commit`, `3 commits`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
