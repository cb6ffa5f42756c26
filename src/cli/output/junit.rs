//! JUnit XML of verdicts, as every CI reads it: a suite a task, a case a criterion.
//!
//! Written by hand, because a log reader may see it too: no line of a text begins a line of the document, so none can be
//! taken for a log command. Nothing is timed here, so no times are given.

use super::text::{count, covering, headline, word};
use crate::pipeline::ci::{CiDecision, CiReport, Covering, GateFinding, TaskReport};
use crate::receipts::{DecisionKind, Reason, State};
use std::collections::BTreeMap;

/// How many findings of one check are written out in its case; the JSON document has all.
const MOST_FINDINGS: usize = 200;

/// How a case ended.
#[derive(Debug)]
enum Ending {
    Passed,
    Skipped,
    Failed,
    Error,
}

#[derive(Debug)]
struct Case {
    name: String,
    ending: Ending,
    /// Why, in one line.
    message: String,
    /// The rest.
    body: String,
}

#[derive(Debug)]
struct Suite {
    name: String,
    class: String,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

/// The document.
pub(super) fn document(report: &CiReport) -> String {
    let suites: Vec<Suite> = std::iter::once(gate(report)).chain(report.tasks.iter().map(of_task)).collect();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let (failed, errors) = (all().filter(|c| c.is_failed()).count(), all().filter(|c| c.is_error()).count());
    out.push_str(&format!(
        "<testsuites name=\"countersign\" tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\">\n",
        all().count()
    ));
    for suite in &suites {
        suite.write(&mut out);
    }
    out.push_str("</testsuites>\n");
    out
}

/// What is about the run as a whole.
fn gate(report: &CiReport) -> Suite {
    let mut cases: Vec<Case> = report
        .health
        .checks
        .iter()
        .map(|check| Case {
            name: format!("health {}", check.name),
            ending: if check.works { Ending::Passed } else { Ending::Error },
            message: check.text.clone(),
            body: String::new(),
        })
        .collect();
    cases.extend(of_findings(&report.findings, report.decision == CiDecision::Pass));
    cases.push(Case {
        name: "decision".to_owned(),
        ending: match report.decision {
            CiDecision::Pass => Ending::Passed,
            CiDecision::Fail => Ending::Failed,
            CiDecision::Held | CiDecision::Broken => Ending::Error,
        },
        message: headline(report.decision).to_owned(),
        body: why(&report.reasons),
    });
    let tree = report.tree.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    Suite {
        name: "countersign".to_owned(),
        class: "countersign".to_owned(),
        properties: vec![("base", report.base.to_string()), ("head", report.head.to_string()), ("tree", tree)],
        cases,
    }
}

fn of_task(task: &TaskReport) -> Suite {
    let mut cases: Vec<Case> = task
        .criteria
        .iter()
        .map(|criterion| {
            let by = criterion.covered_by.join(", ");
            Case {
                name: format!("C{} {}", criterion.number, criterion.text),
                ending: match criterion.covering {
                    Covering::Covered => Ending::Passed,
                    Covering::EyePending | Covering::Skipped => Ending::Skipped,
                    Covering::Failed => Ending::Failed,
                    Covering::Unknown => Ending::Error,
                },
                message: if by.is_empty() { covering(criterion.covering).to_owned() } else { by },
                body: String::new(),
            }
        })
        .collect();
    cases.extend(of_findings(&task.findings, task.passes));
    cases.push(Case {
        name: "decision".to_owned(),
        ending: match (task.passes, task.decision) {
            (true, DecisionKind::Skip) => Ending::Skipped,
            (true, _) => Ending::Passed,
            (false, DecisionKind::SendBack) => Ending::Failed,
            (false, _) => Ending::Error,
        },
        message: word(task).to_owned(),
        body: why(&task.reasons),
    });
    let title = if task.title.is_empty() { String::new() } else { format!(": {}", task.title) };
    Suite {
        name: format!("{}{title}", task.id),
        class: task.id.clone(),
        properties: vec![("because", task.because.clone()), ("evidence", task.evidence.word().to_owned())],
        cases,
    }
}

/// One case a check that found something; a question that was answered by the decision is none.
fn of_findings(findings: &[GateFinding], passes: bool) -> Vec<Case> {
    let mut by_check: BTreeMap<&str, Vec<&GateFinding>> = BTreeMap::new();
    let counts = |state| state == State::Deny || (!passes && matches!(state, State::Ask | State::Unknown));
    for finding in findings.iter().filter(|finding| counts(finding.state)) {
        by_check.entry(&finding.check).or_default().push(finding);
    }
    let of_check = |(check, found): (&str, Vec<&GateFinding>)| {
        let mut lines: Vec<String> = found.iter().take(MOST_FINDINGS).map(|finding| sentence(finding)).collect();
        if found.len() > MOST_FINDINGS {
            lines.push(format!("and {} more", found.len() - MOST_FINDINGS));
        }
        let denies = found.iter().any(|finding| finding.state == State::Deny);
        Case {
            name: format!("check {check}"),
            ending: if denies { Ending::Failed } else { Ending::Error },
            message: count(found.len(), "finding"),
            body: lines.join("\n"),
        }
    };
    by_check.into_iter().map(of_check).collect()
}

fn sentence(finding: &GateFinding) -> String {
    let mut line = finding.line.map_or_else(|| finding.place.clone(), |line| format!("{}:{line}", finding.place));
    if !line.is_empty() {
        line.push_str(": ");
    }
    line.push_str(&finding.observed);
    if !finding.expected.is_empty() {
        line.push_str(&format!(" (expected: {})", finding.expected));
    }
    line
}

fn why(reasons: &[Reason]) -> String {
    reasons.iter().map(|reason| format!("{}: {}", reason.code, reason.text)).collect::<Vec<_>>().join("\n")
}

impl Case {
    fn is_failed(&self) -> bool {
        matches!(self.ending, Ending::Failed)
    }

    fn is_error(&self) -> bool {
        matches!(self.ending, Ending::Error)
    }
}

impl Suite {
    fn write(&self, out: &mut String) {
        let number = |is: fn(&Case) -> bool| self.cases.iter().filter(|case| is(case)).count();
        out.push_str(&format!(
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n    <properties>\n",
            escape(&self.name),
            self.cases.len(),
            number(Case::is_failed),
            number(Case::is_error),
            number(|case| matches!(case.ending, Ending::Skipped)),
        ));
        for (name, value) in &self.properties {
            out.push_str(&format!("      <property name=\"{name}\" value=\"{}\"/>\n", escape(value)));
        }
        out.push_str("    </properties>\n");
        for case in &self.cases {
            let (name, class) = (escape(&case.name), escape(&self.class));
            out.push_str(&format!("    <testcase name=\"{name}\" classname=\"{class}\""));
            let element = match case.ending {
                Ending::Passed => {
                    out.push_str("/>\n");
                    continue;
                }
                Ending::Skipped => "skipped",
                Ending::Failed => "failure",
                Ending::Error => "error",
            };
            out.push_str(&format!(
                "><{element} message=\"{}\">{}</{element}></testcase>\n",
                escape(&case.message),
                escape(&case.body)
            ));
        }
        out.push_str("  </testsuite>\n");
    }
}

/// Text for an attribute or an element. Line ends are references, which every parser turns back, and so is the bracket
/// of GitHub's older log command, which it finds anywhere in a line.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '[' if out.ends_with("##") => out.push_str("&#91;"),
            c => out.push(c),
        }
    }
    out
}
