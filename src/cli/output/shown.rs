//! A report that may be shown: without secrets, without characters that hide or reorder text, and no text endless.

use super::super::console::visible;
use crate::host::redact::redact_text;
use crate::pipeline::ci::{CiReport, GateFinding};
use crate::receipts::Reason;

/// How many characters of one text are shown; the JSON document has all of it.
const LONGEST: usize = 4_000;

/// The same report, fit for people.
pub(super) fn shown(report: &CiReport) -> CiReport {
    with_texts(report, &|text| {
        let safe = visible(&redact_text(text));
        // XML has no place for these two.
        let safe = safe.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
        match safe.char_indices().nth(LONGEST) {
            Some((at, _)) => format!("{}… ({} more characters)", &safe[..at], safe[at..].chars().count()),
            None => safe,
        }
    })
}

/// The same report without secrets, everything else as it is.
pub(super) fn without_secrets(report: &CiReport) -> CiReport {
    with_texts(report, &redact_text)
}

fn with_texts(report: &CiReport, change: &dyn Fn(&str) -> String) -> CiReport {
    let mut report = report.clone();
    change_in(&mut report.base_rule, change);
    for check in &mut report.health.checks {
        change_in(&mut check.name, change);
        change_in(&mut check.text, change);
    }
    for task in &mut report.tasks {
        for text in [&mut task.id, &mut task.title, &mut task.because] {
            change_in(text, change);
        }
        if let Some(attested) = &mut task.attested {
            change_in(&mut attested.verifier, change);
            attested.signer.iter_mut().chain(&mut attested.role).for_each(|text| change_in(text, change));
        }
        for criterion in &mut task.criteria {
            change_in(&mut criterion.text, change);
            criterion.covered_by.iter_mut().for_each(|text| change_in(text, change));
        }
        change_reasons(&mut task.reasons, change);
        change_findings(&mut task.findings, change);
        task.case.iter_mut().for_each(|text| change_in(text, change));
    }
    change_findings(&mut report.findings, change);
    change_reasons(&mut report.reasons, change);
    report
}

fn change_in(text: &mut String, change: &dyn Fn(&str) -> String) {
    *text = change(text);
}

fn change_reasons(reasons: &mut [Reason], change: &dyn Fn(&str) -> String) {
    for reason in reasons {
        change_in(&mut reason.code, change);
        change_in(&mut reason.text, change);
    }
}

fn change_findings(findings: &mut [GateFinding], change: &dyn Fn(&str) -> String) {
    for finding in findings {
        for text in [&mut finding.check, &mut finding.place, &mut finding.expected, &mut finding.observed] {
            change_in(text, change);
        }
    }
}
