//! `countersign verify`.

use super::args::{Requirement, VerifyArgs};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::reconcile::row_lines;
use crate::host::Host;
use crate::pipeline::{CallsWord, Outcome, ReportWord, TaskWord, VerifyRequest, WorkWord, verify};
use crate::receipts::{DecisionKind, HeardRecord, Origin, State};
use anyhow::Context;
use std::io::Read;
use std::path::PathBuf;

pub(super) fn run(args: VerifyArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let (json, events) = (args.json, args.events);
    if events {
        console.stream_events();
    }
    let request = request_of(args, start)?;
    let outcome = verify(&request, host, console)?;
    if json {
        console.json(&outcome)?;
    } else if !events {
        print(&outcome, console);
    }
    Ok(ExitCode::of(outcome.decision.kind))
}

fn request_of(args: VerifyArgs, start: PathBuf) -> anyhow::Result<VerifyRequest> {
    let task = match args.task.as_deref() {
        None if args.floor => TaskWord::None,
        None => TaskWord::Infer,
        Some("-") => {
            let mut bytes = Vec::new();
            // One byte over the largest task: the reader refuses it by its size.
            std::io::stdin()
                .take((4 << 20) + 1)
                .read_to_end(&mut bytes)
                .context("cannot read the task from standard input")?;
            TaskWord::Text(bytes)
        }
        Some(word) => TaskWord::Named(word.to_owned()),
    };
    let work = match (args.worktree, args.claim) {
        (Some(folder), _) => WorkWord::Worktree(folder),
        (None, Some(rev)) => WorkWord::Commit(rev),
        (None, None) => WorkWord::Here,
    };
    let report = match args.result {
        None => ReportWord::Auto,
        Some(file) if file.as_os_str() == "none" => ReportWord::None,
        Some(file) => ReportWord::File(file),
    };
    Ok(VerifyRequest {
        start,
        task,
        work,
        base: args.base,
        report,
        verifier: args.verifier,
        tests: args.tests,
        removals: args.removes_tests,
        no_tests: false,
        all_checks: args.all_checks,
        require_task: args.require == Some(Requirement::Task),
        fresh: args.fresh,
        seal_floor: args.seal,
        calls: args.transcript.map_or(CallsWord::OfTask, CallsWord::File),
        origin: Origin::Hand,
    })
}

/// Prints an outcome for people: what was judged, what was found, what follows.
pub(super) fn print(outcome: &Outcome, console: &mut Console) {
    let claim = &outcome.claim;
    match (&outcome.task, &outcome.task_source) {
        (Some(task), Some(source)) => {
            let how = outcome.task_inferred.as_ref().map_or_else(String::new, |how| format!(", inferred {how}"));
            console.answer(&visible(&format!("task     {task} ({source}{how})")));
        }
        _ => console.answer("task     none: the change is judged by the floor alone"),
    }
    console.answer(&visible(&format!("base     {} ({})", claim.base, outcome.base_rule)));
    let commit =
        claim.commit.as_ref().map_or_else(|| "not made a commit".to_owned(), |c| format!("commit {}", c.short()));
    console.answer(&format!(
        "claim    tree {} ({commit}, {})",
        claim.tree.short(),
        count(claim.changed.len(), "changed path")
    ));
    print_checks(outcome, console);
    print_report(outcome, console);
    print_verdict(outcome, console);
    let word = match outcome.decision.kind {
        DecisionKind::Land => "PASS",
        DecisionKind::Skip => "SKIP (permitted)",
        DecisionKind::SendBack => "FAIL",
        DecisionKind::Hold => "HELD for a person",
        DecisionKind::FloorOnly => "FLOOR ONLY: nothing false found, and nothing more is said (no task, no warrant)",
    };
    console.answer(&format!("decision {word}"));
    for reason in &outcome.decision.reasons {
        console.answer(&visible(&format!("  {}: {}", reason.code, reason.text)));
    }
    if outcome.judged_before {
        console.answer("judged before under the same rules, so not judged again (--fresh judges anew)");
    }
    if let (Some(case), Some(task)) = (&outcome.case, &outcome.task) {
        console.answer(&visible(&format!(
            "case     {} (git show {}; countersign receipts {task})",
            &case[..12.min(case.len())],
            &case[..12.min(case.len())]
        )));
    }
}

fn print_checks(outcome: &Outcome, console: &mut Console) {
    let quiet = |state| matches!(state, State::Pass | State::NotApplicable);
    let passed: Vec<&str> =
        outcome.floor.checks.iter().filter(|c| c.state == State::Pass).map(|c| c.id.as_str()).collect();
    console.answer(&format!("floor    {} passed: {}", passed.len(), passed.join(" ")));
    for check in outcome.floor.checks.iter().filter(|c| !quiet(c.state)) {
        let note = if check.note.is_empty() { String::new() } else { format!(": {}", check.note) };
        console.answer(&visible(&format!("  {:<8}{}{note}", check.state.word(), check.id)));
        for finding in &check.findings {
            let place = if finding.place.is_empty() { String::new() } else { format!("{}: ", finding.place) };
            console.answer(&visible(&format!("          {place}{}", finding.observed)));
            if !finding.expected.is_empty() {
                console.answer(&visible(&format!("            expected: {}", finding.expected)));
            }
        }
    }
}

/// What the worker's report says, where something of it is not backed.
fn print_report(outcome: &Outcome, console: &mut Console) {
    let Some(table) = outcome.reconciled.as_ref().filter(|table| table.backed() < table.rows.len()) else {
        return;
    };
    console.answer(&format!("report   {}", table.gate.word()));
    for line in table.rows.iter().flat_map(row_lines) {
        console.answer(&visible(&format!("  {line}")));
    }
}

fn print_verdict(outcome: &Outcome, console: &mut Console) {
    let (said, details): (String, Vec<String>) = match &outcome.verdict {
        None => ("not asked".to_owned(), Vec::new()),
        Some(HeardRecord::Pass { evidence }) => (
            "PASS".to_owned(),
            evidence.iter().map(|e| format!("C{} covered by {}", e.criterion, e.covered_by.join(", "))).collect(),
        ),
        Some(HeardRecord::Fail { reasons, suggested_fix, .. }) => {
            let fix = (!suggested_fix.is_empty()).then(|| format!("suggested fix: {suggested_fix}"));
            ("FAIL".to_owned(), reasons.iter().cloned().chain(fix).collect())
        }
        Some(HeardRecord::Skip { reason }) => ("SKIP".to_owned(), vec![reason.clone()]),
        Some(HeardRecord::Abstained { reasons }) => ("cannot judge this".to_owned(), reasons.clone()),
        Some(HeardRecord::Unusable { detail, .. }) => ("answered, but unusably".to_owned(), detail.clone()),
        Some(HeardRecord::NoAnswer { why, .. }) => ("gave no answer".to_owned(), vec![why.clone()]),
        Some(HeardRecord::Trespassed { what }) => {
            ("touched what it was to judge: its verdict is void".to_owned(), what.clone())
        }
        Some(HeardRecord::NotAsked { why }) => (format!("not asked: {why}"), Vec::new()),
    };
    console.answer(&visible(&format!("verifier {} {said}", outcome.verifier)));
    for detail in details {
        console.answer(&visible(&format!("  {detail}")));
    }
}

/// `1 changed path`, `3 changed paths`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}
