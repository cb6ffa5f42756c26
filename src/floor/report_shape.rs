//! `report-shape`: the worker's report is one, of the right generation, about this task, and does not contradict itself.

use super::finding::{ask, deny, info};
use super::{Inspection, ReportState};
use crate::config::Bookkeeper;
use crate::host::path::escape;
use crate::host::redact::redact_and_cut;
use crate::receipts::{CheckReport, Finding, State};
use crate::worker::{Generation, Outcome, ProblemCode, Report, ReportProblem};

/// The check's id.
pub const ID: &str = "report-shape";

/// Denies a report that cannot be read, that is about another task, or whose own statements exclude each other. What is
/// merely odd is asked or told; see `weight`. No report is no fault (RULINGS 10).
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    match on.report {
        ReportState::None { why } => CheckReport::not_applicable(ID, why),
        ReportState::Rejected { code, detail, source } => {
            let expected = "a RESULT report that can be read; write it again";
            CheckReport::of(ID, vec![deny(source, expected, format!("{code}: {detail}"))])
        }
        ReportState::Read { report, problems, source } => {
            let mut findings = belongs(on, report, source);
            findings.extend(problems.iter().filter_map(|problem| told(problem, source)));
            let repairs = report.layout.repairs.iter();
            findings.extend(repairs.map(|what| info(source, "every block closed", format!("repaired: {what}"))));
            let told = CheckReport::of(ID, findings);
            match report.outcome {
                Outcome::Success => told,
                other => told.noting(format!("the worker reports {}: {}", other.word(), explanation(report))),
            }
        }
    }
}

fn explanation(report: &Report) -> String {
    let (said, _) = redact_and_cut(&report.explanation().unwrap_or_default(), 200);
    escape(said.replace('\n', " ").as_bytes())
}

/// Whether the report is of a generation that the base allows (RULINGS 10), and about this task.
fn belongs(on: &Inspection<'_>, report: &Report, source: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let fits = report.fits(Generation::C) || report.fits(Generation::E);
    if on.keeper() == Some(Bookkeeper::Conductor) && !fits {
        let expected = "a report of generation C or E (nine header lines and four blocks): the base's board is kept by \
                        the conductor";
        findings.push(deny(source, expected, "generation A: twelve header lines and no block"));
    }
    if let Some(id) = on.task.and_then(|task| task.id.as_ref())
        && report.task_id != id.as_str()
    {
        let observed = format!("a report about `{}`", escape(report.task_id.as_bytes()));
        findings.push(deny(source, format!("a report about {id}"), observed));
    }
    findings
}

fn told(problem: &ReportProblem, source: &str) -> Option<Finding> {
    let place = format!("{source}: {}", problem.field);
    let observed = format!("{} ({})", problem.observed, problem.code);
    Some(match weight(problem.code)? {
        State::Deny => deny(place, problem.expected.clone(), observed),
        State::Ask => ask(place, problem.expected.clone(), observed),
        _ => info(place, problem.expected.clone(), observed),
    })
}

/// What a problem weighs; none where another check owns it.
///
/// Deny: the report says of itself that the work is not done, promises files that it does not carry, or names a file
/// that must not be written. Ask: a value that cannot be used, so that what it would have said stays unsaid. Info:
/// nothing is lost.
pub(super) fn weight(code: ProblemCode) -> Option<State> {
    use ProblemCode as P;
    match code {
        P::TestsNotPassing | P::AdrsMismatch | P::UnsafeFileName | P::DuplicateFileName | P::EmptyFile => {
            Some(State::Deny)
        }
        P::BlankField
        | P::NotAnInteger
        | P::NotYesOrNo
        | P::SkipWithoutReason
        | P::TestsUnexplained
        | P::ReadmeMismatch
        | P::DuplicateField
        | P::DuplicateBlock
        | P::TextBeforeMarker
        | P::OutcomeShape
        | P::InvalidUtf8
        | P::NulByte
        | P::DeceptiveText => Some(State::Ask),
        P::ConceptShape | P::SoftMismatch | P::IncompleteCopy | P::UnreadText => Some(State::Info),
        // `report-files` and `readme-delta` tell these.
        P::CountMismatch | P::DuplicateFile | P::DeltaShape => None,
    }
}
