//! `countersign ci`.

use super::args::{CiArgs, CiFormat, EvidenceWord};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::verify::count;
use crate::config::Requirement;
use crate::host::Host;
use crate::pipeline::ci::{self, CiDecision, CiReport, CiRequest, GateFinding, TaskReport};
use crate::receipts::State;
use std::path::PathBuf;

pub(super) fn run(args: CiArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let request = CiRequest {
        start,
        base: args.base,
        head: args.head,
        require: args.require.map(requirement),
        verifier: args.verifier,
    };
    let report = if args.attest {
        let (report, noted) = ci::run_and_attest(&request, host, console)?;
        match noted.map(|noted| noted.unsigned) {
            Some(Some(why)) => console.say(&visible(&format!("the note on the head is not signed: {why}"))),
            Some(None) => console.say("the head has a signed note of this run now"),
            None => console.say("no note was written: not everything passed on what this run verified itself"),
        }
        report
    } else {
        ci::run(&request, host, console)?
    };
    for format in &args.format {
        match format {
            CiFormat::Text => print(&report, console),
            CiFormat::Json => console.json(&report)?,
        }
    }
    Ok(code(report.decision))
}

fn code(decision: CiDecision) -> ExitCode {
    match decision {
        CiDecision::Pass => ExitCode::Pass,
        CiDecision::Fail => ExitCode::Fail,
        CiDecision::Held => ExitCode::Held,
        CiDecision::Broken => ExitCode::Environment,
    }
}

fn requirement(word: EvidenceWord) -> Requirement {
    match word {
        EvidenceWord::Attested => Requirement::Attested,
        EvidenceWord::Verified => Requirement::Verified,
        EvidenceWord::Either => Requirement::Either,
    }
}

/// Prints a report for people: what was judged, on which evidence, what follows.
fn print(report: &CiReport, console: &mut Console) {
    console.answer(&visible(&format!("base     {} ({})", report.base, report.base_rule)));
    console.answer(&format!(
        "head     {} ({}, {})",
        report.head,
        count(report.commits, "commit"),
        count(report.changed, "changed path")
    ));
    match &report.tree {
        Some(tree) if report.merged => console.answer(&format!("tree     {tree} (head merged into base)")),
        Some(tree) => console.answer(&format!("tree     {tree} (the head's own)")),
        None => console.answer("tree     none: head and base do not merge"),
    }
    let tried: Vec<&str> = report.health.checks.iter().map(|check| check.name.as_str()).collect();
    let state = if report.health.works { "works" } else { "BROKEN" };
    console.answer(&format!("gate     {state}: {}", tried.join(" ")));
    for task in &report.tasks {
        print_task(task, console);
    }
    for finding in &report.findings {
        print_finding(finding, console);
    }
    let word = match report.decision {
        CiDecision::Pass => "PASS",
        CiDecision::Fail => "FAIL",
        CiDecision::Held => "HELD for a person",
        CiDecision::Broken => "BROKEN: the gate cannot say no, so it says nothing",
    };
    console.answer(&format!("decision {word}"));
    for reason in &report.reasons {
        console.answer(&visible(&format!("  {}: {}", reason.code, reason.text)));
    }
}

fn print_task(task: &TaskReport, console: &mut Console) {
    let word = if task.passes { "passes" } else { "does not pass" };
    let title = if task.title.is_empty() { String::new() } else { format!(" {}", task.title) };
    console.answer(&visible(&format!(
        "task     {}{title}: {word} ({}, {}; {})",
        task.id,
        task.decision.word(),
        task.evidence.word(),
        task.because
    )));
    for reason in &task.reasons {
        console.answer(&visible(&format!("  {}: {}", reason.code, reason.text)));
    }
    for finding in task.findings.iter().filter(|finding| finding.state >= State::Ask) {
        print_finding(finding, console);
    }
}

fn print_finding(finding: &GateFinding, console: &mut Console) {
    let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
    let place = if finding.place.is_empty() { String::new() } else { format!("{}{line}: ", finding.place) };
    console.answer(&visible(&format!("  {:<8}{}: {place}{}", finding.state.word(), finding.check, finding.observed)));
}
