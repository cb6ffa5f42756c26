//! Our own runs: the project's test command and the criteria's commands, as the base has them, in a room of our own.
//!
//! Nothing that a transcript says is ever run.

use super::{About, AssertionKind, Observer, VerifyError, wants_runs};
use crate::claim::{Frozen, Sighting};
use crate::floor::reconcile::{Rerun, first_finding};
use crate::floor::tests_run::{self, Baseline, Plan, PlanError, Reuse, Side, TestsOutcome};
use crate::floor::{Inspection, ReportState, criteria, secrets, tests_bite};
use crate::receipts::{Bite, Purpose, State};
use crate::worker::Assertion;
use std::path::Path;

/// What was run.
#[derive(Default)]
pub(super) struct Ran {
    pub(super) reruns: Vec<Rerun>,
    /// The project's test commands, run or not.
    pub(super) commands: Vec<String>,
    pub(super) notes: Vec<String>,
}

pub(super) fn run(
    about: &About<'_>,
    assertions: &[Assertion],
    (frozen, sightings, report): (Frozen, &[Sighting], &ReportState),
    watch: &mut dyn Observer,
) -> Result<Ran, VerifyError> {
    let preview = frozen.preview();
    let inspection = about.inspection(&preview, sightings, report);
    let plan = tests_run::plan(&inspection, None);
    let mut ran = Ran::default();
    if let Ok(Plan::Commands(commands)) = &plan {
        ran.commands = commands.iter().map(|command| command.command.clone()).collect();
    }
    if !about.request.rerun || !wants_runs(assertions) {
        return Ok(ran);
    }
    if secrets::inspect(&inspection).state == State::Deny {
        ran.notes.push("nothing was run again: the work holds a secret, and no commit is made of it".to_owned());
        return Ok(ran);
    }
    let plan = plan.map_err(|why| match why {
        PlanError::Git(why) => VerifyError::Git(why),
        other => VerifyError::TestPlan(other),
    })?;
    watch.began("running the tests again");
    let claim = frozen.keep(&about.asked.repo, "reconcile", None)?;
    let inspection = about.inspection(&claim, sightings, report);
    let own = about.asked.repo.own_dir();
    let made = std::fs::create_dir_all(&own).and_then(|()| tempfile::tempdir_in(&own));
    let logs = made.map_err(|why| VerifyError::Io { doing: "make a folder in", path: own, why })?;
    let tests = tests_run::run_tests(&inspection, &plan, logs.path(), Baseline::Always, Reuse::Nothing);
    if assertions.iter().any(|a| a.kind == AssertionKind::TestGreen) {
        ran.reruns.push(of_tests(&inspection, &plan, &tests, logs.path()));
    }
    let asked = about.task().map_or_else(Vec::new, crate::task::Task::criteria);
    let proofs = criteria::evaluate(&inspection, &asked, &plan, &tests, logs.path());
    ran.reruns.extend(proofs.proofs.iter().filter_map(|proven| Rerun::of_proof(&proven.record)));
    Ok(ran)
}

fn of_tests(inspection: &Inspection<'_>, plan: &Plan, tests: &TestsOutcome, logs: &Path) -> Rerun {
    let runs = tests.runs.iter().filter(|run| run.side == Side::Claim && run.command.purpose == Purpose::Tests);
    let mut rerun = Rerun::of_tests(&tests.report, runs.map(|run| &run.command), tests.tests(Side::Claim));
    if rerun.holds == Some(true) {
        (rerun.weak, rerun.added) = new_tests(inspection, plan, tests, logs);
    }
    rerun
}

/// Why the new and changed tests prove little (nothing if one of them fails without the change, or if there are none), and
/// how many there are.
fn new_tests(
    inspection: &Inspection<'_>,
    plan: &Plan,
    tests: &TestsOutcome,
    logs: &Path,
) -> (Option<String>, Option<u64>) {
    let bites = tests_bite::inspect(inspection, plan, (tests, Reuse::Nothing), &[], logs);
    let added = bites.record.as_ref().map(|record| record.tests.len() as u64);
    if let Some(why) = first_finding(&bites.report) {
        return (Some(why.to_owned()), added);
    }
    let tests = bites.record.map_or_else(Vec::new, |record| record.tests);
    let proves = |bite: &Bite| bite.class.is_proof() && !bite.weak;
    let why = tests.first().filter(|_| !tests.iter().any(proves)).map(|first| {
        let (count, word) = (tests.len(), first.class.word());
        format!("none of the {count} new or changed tests fails without the change (`{}`: {word})", first.test.name)
    });
    (why, added)
}
