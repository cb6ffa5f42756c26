//! `report-tests`: the worker's word on its tests against our own run.

use super::finding::deny;
use super::{Inspection, ReportState, tests_run};
use crate::receipts::{CheckReport, State};
use crate::worker::Outcome;

/// The check's id.
pub const ID: &str = "report-tests";

/// Denies a report that says `TESTS_PASSING: yes` where `tests` (what `tests-run` found) denies. A run that could not find
/// out contradicts nobody.
pub fn inspect(on: &Inspection<'_>, tests: &CheckReport) -> CheckReport {
    let ReportState::Read { report, source, .. } = on.report else {
        return CheckReport::not_applicable(ID, "there is no report that could be contradicted");
    };
    if report.outcome != Outcome::Success || report.field("TESTS_PASSING") != Some("yes") {
        return CheckReport::not_applicable(ID, "the report does not say that the tests pass");
    }
    match tests.state {
        State::Deny => {
            let observed = format!("our own run says otherwise: see {}", tests_run::ID);
            CheckReport::of(
                ID,
                vec![deny(format!("{source}: TESTS_PASSING"), "tests that pass, as reported", observed)],
            )
        }
        State::Pass | State::Info | State::Ask => CheckReport::of(ID, Vec::new()),
        State::Unknown | State::NotApplicable => {
            CheckReport::not_applicable(ID, "our own run neither bears the report out nor contradicts it")
        }
    }
}
