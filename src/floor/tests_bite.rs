//! Check `tests-bite`: do the claim's new and changed tests fail on the base's production code?
//!
//! They are run on a *hybrid*: the base with the claim's tests (`hybrid`). A test that fails there by its own
//! expectation bites; one that fails only because names are absent bites `by-build`; mutants show whether it, and any
//! test that a criterion names, would notice wrong code (`weak`); one that passes guards, which is a receipt and no fault. Only a feature or bug task
//! that claims tests of which none bites is denied (issue B, parts 4 and 7); a task without a type counts as a feature,
//! but only asks, because nobody said that it is one. What does not bite for an unknown reason stays unknown.
//!
//! An exception that the code under test raises counts as a failed expectation: the test passes on the claim, so the
//! claim is what removed it. What a broken machine raises as well (no permission, no connection) does not.

mod cause;
mod cited;
mod failures;
pub(in crate::floor) mod hybrid;
mod mutants;
mod needed;
mod rounds;
mod targets;
mod weak;

use super::Inspection;
use super::ReportState;
use super::test_files::TestFiles;
use super::tests_run::{Facts, Plan, Remembered, Reuse, Side, TestCommand, TestsOutcome};
use crate::config::Settings;
use crate::host::git::GitError;
use crate::receipts::{
    Bite, BiteClass, BitesRecord, CheckReport, Finding, MutationRecord, Purpose, Remedy, State, TestsRecord,
};
use crate::task::Criterion;
use crate::task::promise::Promise;
use hybrid::{Changed, Part};
use std::path::Path;
use targets::Claimed;
pub(in crate::floor) use targets::{is_named, is_of, stands_in};

/// The check's public id.
pub const ID: &str = "tests-bite";

/// What a run on a hybrid may take beyond three times the claim's, in seconds.
const SPARE_SECONDS: u64 = 60;

const EXPECTED: &str = "a new or changed test fails on the base's production code";

/// What the hybrid runs showed.
#[derive(Debug, Clone)]
pub struct BiteOutcome {
    /// The check's report.
    pub report: CheckReport,
    /// Every command that was run, in order.
    pub runs: Vec<Facts>,
    /// The receipt; `receipts` in it is empty until the ledger has numbered the commands. None if no test was asked.
    pub record: Option<BitesRecord>,
}

/// What every step needs.
#[derive(Clone, Copy)]
struct Work<'a> {
    inspection: &'a Inspection<'a>,
    commands: &'a [TestCommand],
    changed: &'a [Changed],
    logs: &'a Path,
    remembered: &'a Remembered,
}

/// Runs the claim's new and changed tests without its production change. `tests` is what `tests-run` found, `reuse` says
/// whether stored runs may stand for new ones, `logs` is a folder for raw logs that nothing under test can write.
pub fn inspect(
    inspection: &Inspection<'_>,
    plan: &Plan,
    (tests, reuse): (&TestsOutcome, Reuse),
    criteria: &[Criterion],
    logs: &Path,
) -> BiteOutcome {
    let mut runs = Vec::new();
    match look(inspection, plan, (tests, reuse), criteria, logs, &mut runs) {
        Ok((report, record)) => BiteOutcome { report, runs, record },
        Err(why) => BiteOutcome { report: CheckReport::unknown(ID, "", EXPECTED, &why), runs, record: None },
    }
}

fn look(
    inspection: &Inspection<'_>,
    plan: &Plan,
    (tests, reuse): (&TestsOutcome, Reuse),
    criteria: &[Criterion],
    logs: &Path,
    runs: &mut Vec<Facts>,
) -> Result<(CheckReport, Option<BitesRecord>), String> {
    let not_applicable = |why: &str| Ok((CheckReport::not_applicable(ID, why), None));
    let Plan::Commands(commands) = plan else { return not_applicable("there is no test command") };
    let roles = TestFiles::new(&inspection.settings.tests)?;
    let git = |why: GitError| format!("the trees cannot be read: {why}");
    let changed = hybrid::changed_files(inspection, &roles).map_err(git)?;
    let claimed = targets::claimed(&changed, &roles);
    if claimed.is_empty() {
        return Ok((nothing_claimed(inspection, tests), None));
    }
    if tests.report.state == State::Deny {
        return not_applicable("the tests do not pass on the claim, so there is nothing to compare");
    }
    let records: Vec<Option<&TestsRecord>> = commands.iter().map(|command| record_of(tests, command)).collect();
    let targets = targets::targets(&claimed, &records);
    if targets.is_empty() {
        return Ok((not_found(&claimed, &records, promise(inspection)), None));
    }
    let remembered = Remembered::open(inspection, reuse);
    let settings = in_proportion(inspection.settings, commands, tests);
    let inspection = &Inspection { settings: &settings, ..*inspection };
    let work = Work { inspection, commands, changed: &changed, logs, remembered: &remembered };
    let (mut bites, hybrids) = rounds::run(&work, &targets, runs).map_err(git)?;
    let mutation =
        weak::try_mutants(&work, tests, &targets, (&mut bites, &|bite: &Bite| cited::names(criteria, bite)), runs)
            .map_err(git)?;
    let cited = cited::cited(criteria, &bites);
    let mut report = judge(inspection, &changed, &bites, mutation.as_ref());
    let record = BitesRecord {
        tree: inspection.claim.tree.clone(),
        hybrids,
        tests: bites,
        cited,
        mutation,
        receipts: Vec::new(),
    };
    let mut findings = std::mem::take(&mut report.findings);
    findings.extend(cited::weak_criteria(&record));
    findings.extend(needed::undo_hunks(&work, tests, runs).map_err(git)?);
    let report = CheckReport::of(ID, findings).noting(report.note);
    Ok((report, Some(record)))
}

/// The settings, with a time for one run that the claim's own runs are the measure of: tests on code that is not theirs
/// may wait for ever.
fn in_proportion(settings: &Settings, commands: &[TestCommand], tests: &TestsOutcome) -> Settings {
    let took = commands.iter().filter_map(|command| facts_of(tests, command)).map(|facts| facts.command.took_ms);
    let mut settings = settings.clone();
    let limit = &mut settings.limits.tests_seconds;
    *limit = (*limit).min(took.sum::<u64>() / 1000 * 3 + SPARE_SECONDS);
    settings
}

/// What the claim's run of this command reported.
fn record_of<'t>(tests: &'t TestsOutcome, command: &TestCommand) -> Option<&'t TestsRecord> {
    facts_of(tests, command).and_then(|facts| facts.tests.as_ref())
}

fn facts_of<'t>(tests: &'t TestsOutcome, command: &TestCommand) -> Option<&'t Facts> {
    let shown = crate::host::path::escape(command.command.as_bytes());
    tests.runs.iter().find(|facts| {
        let run = &facts.command;
        facts.side == Side::Claim
            && run.purpose == Purpose::Tests
            && run.command == shown
            && run.root == command.root.to_string()
    })
}

/// Whether the task promises new behaviour, which its tests must show.
fn promise(inspection: &Inspection<'_>) -> Promise {
    inspection.task.map_or(Promise::None, |task| {
        Promise::of(&task.kind.clone().map(String::from).unwrap_or_default(), task.display_title())
    })
}

fn finding(state: State, place: &str, observed: String) -> Finding {
    let remedy = if state == State::Deny { Remedy::Fix } else { Remedy::AskUser };
    Finding { state, place: place.to_owned(), expected: EXPECTED.to_owned(), observed, remedy }
}

/// No file that we know as a test holds a new or changed one. A report that says otherwise is false only if the names of
/// both runs are known and none is new.
fn nothing_claimed(inspection: &Inspection<'_>, tests: &TestsOutcome) -> CheckReport {
    let why = "no test is new or changed in a file that is known as a test; name others under `tests.files`";
    let added = match inspection.report {
        ReportState::Read { report, .. } => {
            report.field("TESTS_ADDED").and_then(|text| text.trim().parse::<u64>().ok())
        }
        ReportState::None { .. } | ReportState::Rejected { .. } => None,
    };
    let Some(added) = added.filter(|added| *added > 0) else { return CheckReport::not_applicable(ID, why) };
    let names = |side| -> Option<Vec<_>> {
        let records: Vec<&TestsRecord> = tests.tests(side).collect();
        let whole = !records.is_empty() && records.iter().all(|record| record.complete);
        whole.then(|| records.iter().flat_map(|r| &r.cases).map(|case| (&case.suite, &case.name)).collect())
    };
    match (names(Side::Claim), names(Side::Base)) {
        (Some(claim), Some(base))
            if claim.iter().all(|name| base.contains(name)) && promise(inspection) == Promise::Said =>
        {
            let observed = format!("the report says that {added} tests were added; every test that ran is the base's");
            CheckReport::of(ID, vec![finding(State::Deny, "TESTS_ADDED", observed)])
        }
        // What the report says and nobody can refute is the worker's story, which the brief does not tell.
        _ => CheckReport::not_applicable(ID, why),
    }
}

/// Tests were written and none of them was seen to pass.
fn not_found(claimed: &[Claimed<'_>], records: &[Option<&TestsRecord>], promise: Promise) -> CheckReport {
    let files: Vec<String> = claimed.iter().take(10).map(|claimed| claimed.file.path.to_string()).collect();
    let named = records.iter().any(|record| record.is_some_and(|record| !record.cases.is_empty()));
    let why = if named {
        "none of their new or changed tests is among those that passed"
    } else {
        "which tests ran is not known"
    };
    let state = match promise {
        Promise::Said => State::Unknown,
        Promise::Assumed => State::Ask,
        Promise::None => State::Info,
    };
    CheckReport::of(ID, vec![finding(state, &files.join(", "), why.to_owned())])
}

fn judge(
    inspection: &Inspection<'_>,
    changed: &[Changed],
    bites: &[Bite],
    mutation: Option<&MutationRecord>,
) -> CheckReport {
    let note = summary(bites, mutation);
    if bites.iter().any(|bite| bite.class.is_proof()) {
        return CheckReport::of(ID, Vec::new()).noting(note);
    }
    let only_tests = changed.iter().all(|file| matches!(file.part, Part::Test | Part::Configuration));
    let all_guard = bites.iter().all(|bite| bite.class == BiteClass::Guards);
    let state = match (promise(inspection), all_guard) {
        (Promise::None, _) => State::Info,
        // That it is a feature is an assumption, and an assumption denies nothing.
        (Promise::Assumed, _) => State::Ask,
        // Nothing could bite: whether the task asked for tests alone is a question for somebody who reads it.
        (Promise::Said, true) if only_tests => State::Ask,
        (Promise::Said, true) => State::Deny,
        (Promise::Said, false) => State::Unknown,
    };
    let findings = bites.iter().take(50).map(|bite| {
        let why = match bite.class {
            BiteClass::Guards if only_tests => {
                "the claim changes no production code, so it passes without it".to_owned()
            }
            BiteClass::Guards => "it also passes without the claim's production change".to_owned(),
            class => format!("{}: {}", class.word(), bite.observed),
        };
        finding(state, &full_name(bite), why)
    });
    CheckReport::of(ID, findings.collect()).noting(note)
}

fn full_name(bite: &Bite) -> String {
    let test = &bite.test;
    if test.suite.is_empty() { test.name.clone() } else { format!("{}::{}", test.suite, test.name) }
}

/// `3 bite, 1 by-build, 2 guards`.
fn summary(bites: &[Bite], mutation: Option<&MutationRecord>) -> String {
    use BiteClass as B;
    let all = [
        B::Bites,
        B::ByBuild,
        B::Guards,
        B::Build,
        B::Collection,
        B::Timeout,
        B::NoneExecuted,
        B::Flaky,
        B::Unclassified,
    ];
    let counted = all.into_iter().filter_map(|class| {
        let count = bites.iter().filter(|bite| bite.class == class).count();
        (count > 0).then(|| format!("{count} {}", class.word()))
    });
    let mut note = counted.collect::<Vec<_>>().join(", ");
    if let Some(tried) = mutation {
        use std::fmt::Write as _;
        let spent = if tried.budget_spent { ", the budget is spent" } else { "" };
        let _ = write!(note, "; {} of {} mutants noticed{spent}", tried.noticed, tried.built);
    }
    note
}
