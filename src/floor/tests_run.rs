//! Check `tests-run`: run the tests ourselves, in a room that holds exactly the claim's tree.
//!
//! The verdict is the runner's exit status, never a printed PASS. Names and results come from the runner's own report;
//! report and exit status must agree. A red run denies only if the same command is green on the base in the same kind of
//! room, otherwise the environment is in question and a person decides. Zero executed tests is never green (RULINGS 13).

mod apart;
mod attempt;
mod caches;
pub(in crate::floor) mod compare;
pub mod discovery;
mod fetch;
mod judge;
mod mask;
mod run;
mod runner;
mod setup;
mod store;
mod toolchain;

pub(in crate::floor) use apart::{Apart, run_apart};
pub(in crate::floor) use attempt::{Remembered, Run, Subject};
pub use discovery::{Listing, Plan, PlanError, Question};
pub use mask::{Mask, mask};
pub(in crate::floor) use mask::{Piece, base_name, pieces};
pub use run::{Facts, Side, has_pipefail};
pub(in crate::floor) use run::{Job, Site};
pub(in crate::floor) use runner::listing_script;
pub use runner::{KnownRunner, RUNNERS};
pub use toolchain::circumstances;
pub(in crate::floor) use toolchain::identity;

use super::reports::{Format, Reading};
use super::{Inspection, tests_kept};
use crate::config::TestSettings;
use crate::host::git::Change;
use crate::host::ids::TreeId;
use crate::host::path::{RepoPath, escape};
use crate::host::process::Ending;
use crate::receipts::{CheckReport, ComparedRecord, Finding, Purpose, Remedy, State, TestsRecord};
use attempt::Attempt;
use caches::Caches;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The check's public id.
pub const ID: &str = "tests-run";

/// A runner whose report we can read, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// `cargo test`: libtest's text.
    CargoTest,
    /// `cargo nextest run`: its JUnit report.
    Nextest,
    /// pytest: its JUnit report.
    Pytest,
    /// `node --test`: its JUnit report.
    NodeTest,
    /// `go test`: its JSON events.
    GoTest,
    /// jest: its JSON report.
    Jest,
    /// vitest: its JSON report.
    Vitest,
    /// mocha: its `XUnit` report.
    Mocha,
    /// Maven: Surefire's and Failsafe's folders.
    Maven,
    /// Gradle: the folders of its test tasks.
    Gradle,
    /// `dotnet test`: its trx files.
    Dotnet,
    /// `PHPUnit`: its JUnit report.
    Phpunit,
    /// A package script around something that we do not know.
    Npm,
    /// Anything else.
    Other,
}

impl Runner {
    /// True for what looks packages up in `node_modules`.
    pub fn is_node(self) -> bool {
        matches!(self, Self::NodeTest | Self::Jest | Self::Vitest | Self::Mocha | Self::Npm)
    }
}

/// Where the names of the executed tests are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportWay {
    /// In the output.
    Output(Format),
    /// In a report that we switch on, outside the tree.
    File(Format),
    /// In a folder of reports that we switch on, outside the tree.
    Folder(Format),
    /// In the files that the build always writes below the command's folder, as far as the run wrote them.
    Built(Format),
    /// In a report that the settings promise, below the top of the tree.
    Declared(RepoPath, Format),
    /// Nowhere, and why: only the exit status is known.
    None(&'static str),
}

/// What stands between a command line and its runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// Nothing.
    Directly,
    /// Package scripts; options reach the runner behind so many `--`.
    Script {
        /// One for each call by npm.
        dashes: usize,
    },
}

/// One test command of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCommand {
    /// The command line.
    pub command: String,
    /// The folder it runs in; empty for the top of the tree.
    pub root: RepoPath,
    /// Where it was read, e.g. `base:Cargo.toml`.
    pub source: String,
    /// What it starts.
    pub runner: Runner,
    /// How its tests are learned.
    pub report: ReportWay,
    /// What stands between.
    pub through: Through,
}

/// Whether the base is tested although the claim is green.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// Only to explain a red run.
    WhenRed,
    /// Always: someone wants to know which tests passed before (RULINGS 12).
    Always,
}

/// Whether a stored run of the same command on the same tree may stand for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Yes, where everything that a run depends on is the same.
    Stored,
    /// No: every command runs (`--fresh`), and what is stored is replaced.
    Nothing,
}

/// What the test runs showed.
#[derive(Debug, Clone)]
pub struct TestsOutcome {
    /// The report of `tests-run`.
    pub report: CheckReport,
    /// The report of `tests-kept`.
    pub kept: CheckReport,
    /// Every command that was run, or taken from the store, in order.
    pub runs: Vec<Facts>,
    /// The tests of both sides compared, command by command.
    pub compared: Vec<Compared>,
}

/// One command's tests on both sides.
#[derive(Debug, Clone)]
pub struct Compared {
    /// Of [`TestsOutcome::runs`], the run on the claim.
    pub claim: usize,
    /// Of [`TestsOutcome::runs`], the run on the base.
    pub base: usize,
    /// The receipt; its two numbers are 0 until the ledger has numbered the runs.
    pub record: ComparedRecord,
}

impl TestsOutcome {
    /// Nothing was run, and both checks say the same about it.
    pub fn not_applicable(why: &str) -> Self {
        let report = |id| CheckReport::not_applicable(id, why);
        Self { report: report(ID), kept: report(tests_kept::ID), runs: Vec::new(), compared: Vec::new() }
    }

    /// The tests reported on one side, command by command; repetitions of red runs do not count.
    pub fn tests(&self, side: Side) -> impl Iterator<Item = &TestsRecord> {
        let first = move |facts: &&Facts| facts.side == side && facts.command.purpose == Purpose::Tests;
        self.runs.iter().filter(first).filter_map(|facts| facts.tests.as_ref())
    }
}

/// All commands on one side: a run for each, or why there is none.
type Runs = Vec<Result<Run, String>>;

/// Resolves the test commands of a claim. `readme` is the README of the task's context.
///
/// # Errors
/// See [`PlanError`].
pub fn plan(inspection: &Inspection<'_>, readme: Option<&RepoPath>) -> Result<Plan, PlanError> {
    let (base, claim) = inspection.trees();
    let list = |tree| -> Result<BTreeSet<RepoPath>, PlanError> {
        let entries = inspection.repo.list(tree, "")?;
        Ok(entries.into_iter().filter(|(_, entry)| entry.blob().is_some()).map(|(path, _)| path).collect())
    };
    let (base_files, claim_files) = (list(base)?, list(claim)?);
    discovery::plan(&Question {
        settings: &inspection.settings.tests,
        readme,
        base: Listing { files: &base_files, read: &|path| inspection.at_base(path) },
        claim: Listing { files: &claim_files, read: &|path| inspection.in_claim(path) },
        changed: &inspection.claim.changed.iter().flat_map(Change::paths).collect::<Vec<_>>(),
        pipefail: has_pipefail(inspection.repo.host()),
    })
}

/// Runs a plan on the claim, and on the base where the claim's result needs explaining (or `baseline` asks). `logs` is a
/// folder for the raw logs that nothing under test can write.
pub fn run_tests(
    inspection: &Inspection<'_>,
    plan: &Plan,
    logs: &Path,
    baseline: Baseline,
    reuse: Reuse,
) -> TestsOutcome {
    let unknown = |place: &str, why: &str| TestsOutcome {
        report: CheckReport::unknown(ID, place, "the project's tests run and pass", why),
        ..TestsOutcome::not_applicable("no test ran on the claim; tests-run says why")
    };
    let commands = match plan {
        Plan::Commands(commands) => commands,
        Plan::NoCommand { why } => return unknown("", &format!("there is no test command: {why}")),
    };
    let Some(commit) = &inspection.claim.commit else {
        return unknown("", "the work was not frozen as a commit, so there is nothing to test");
    };
    let mut findings = masked_scripts(inspection, commands);
    let mut runs = Vec::new();
    let remembered = Remembered::open(inspection, reuse);
    let attempt = Attempt::new(inspection, logs, &remembered);
    let (base_tree, claim_tree) = inspection.trees();
    let claim = attempt.run_side(commands, &Subject::first(Side::Claim, commit, claim_tree), &mut runs);
    let ran = claim.iter().any(Result::is_ok);
    let wants_base = |at: usize| judge::needs_base(commands[at].runner, &claim[at]) && is_from_base(&commands[at]);
    let asked: Vec<usize> =
        (0..commands.len()).filter(|at| (baseline == Baseline::Always && ran) || wants_base(*at)).collect();
    let wanted: Vec<TestCommand> = asked.iter().map(|at| commands[*at].clone()).collect();
    let base = if wanted.is_empty() {
        Vec::new()
    } else {
        attempt.run_side(&wanted, &Subject::first(Side::Base, &inspection.claim.base, base_tree), &mut runs)
    };
    let text = tests_kept::Text::read(inspection);
    let mut kept = tests_kept::Findings::new(inspection, &text);
    let mut compared = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let base = asked.iter().position(|asked| *asked == at).and_then(|place| base.get(place));
        let base = base.filter(|_| is_from_base(command));
        let both = claim[at].as_ref().ok().zip(base.and_then(|base| base.as_ref().ok()));
        let found = both.map(|(claim, base)| text.compare(inspection, &command.root, base, claim));
        if let (Some((claim, base)), Some(found)) = (both, &found) {
            compared.push(Compared { claim: claim.place, base: base.place, record: found.record() });
        }
        let judged = judge::judge(command, &claim[at], base, found.as_ref());
        let is_settled = judged.iter().any(|finding| finding.state >= State::Unknown);
        let is_doubted = claim[at].as_ref().is_ok_and(|run| run.doubt().is_some());
        findings.extend(judged);
        kept.add(command, &claim[at], base, found.as_ref().filter(|_| !(is_settled && is_doubted)));
    }
    let note = judge::summary(commands, &claim);
    TestsOutcome { report: CheckReport::of(ID, findings).noting(note), kept: kept.into_report(), runs, compared }
}

/// A command that only the claim has says nothing about the base.
fn is_from_base(command: &TestCommand) -> bool {
    !command.source.starts_with("claim")
}

/// Roots whose known set-up failed, and how.
pub(in crate::floor) type Unready = BTreeMap<RepoPath, String>;

/// Prepares a room for these commands. A known set-up is a guess: where it fails the tests may still run, and a green
/// run is evidence; only a run that is not green is then put down to the set-up.
///
/// # Errors
/// A set-up that the settings ask for fails.
pub(in crate::floor) fn set_up_all(
    site: &Site<'_>,
    settings: &TestSettings,
    commands: &[TestCommand],
    runs: &mut Vec<Facts>,
) -> Result<Unready, String> {
    let mut unready = Unready::new();
    let steps = setup::steps(settings, commands, site.room().path());
    let caches = Caches::of(site, settings, &steps)?;
    if caches.as_ref().is_some_and(Caches::restore) {
        return Ok(unready);
    }
    for step in steps {
        if unready.contains_key(&step.root) {
            continue;
        }
        match set_up(site, &step, runs) {
            Err(why) if settings.setup.is_empty() => {
                unready.insert(step.root, why);
            }
            done => done?,
        }
    }
    if let Some(caches) = caches.filter(|_| unready.is_empty()) {
        caches.store();
    }
    Ok(unready)
}

fn set_up(site: &Site<'_>, step: &setup::Step, runs: &mut Vec<Facts>) -> Result<(), String> {
    let job = Job {
        purpose: Purpose::Setup,
        command: &step.command,
        script: &step.command,
        root: &step.root,
        fetches: step.network,
        shared_memory: false,
    };
    let (facts, ended) = site.run(&job);
    runs.push(facts);
    if ended.ending.is_success() {
        return Ok(());
    }
    match &step.otherwise {
        Some(other) => set_up(site, other, runs),
        None => Err(format!(
            "the set-up `{}` in {} {}; see its log, or set `tests.setup`",
            escape(step.command.as_bytes()),
            setup::place(&step.root),
            ended.ending.sentence()
        )),
    }
}

fn run_one(
    site: &Site<'_>,
    number: usize,
    purpose: Purpose,
    command: &TestCommand,
    runs: &mut Vec<Facts>,
) -> Result<Run, String> {
    let room = site.room().path();
    if !room.join(command.root.to_path_buf()).is_dir() {
        return Err(format!("the folder {} is not in this tree", setup::place(&command.root)));
    }
    let report = fetch::make_way(command, site.report(number), room)?;
    let mut script = runner::instrument(command, &report);
    if site.side().is_apart() && command.runner == Runner::Pytest {
        // One file that cannot be loaded must not keep the others from being run.
        script.insert_str(0, "export PYTEST_ADDOPTS=\"--continue-on-collection-errors $PYTEST_ADDOPTS\"\n");
    }
    if site.side().is_apart() && command.runner == Runner::NodeTest {
        // Half the run's time is more than a file needs that ends at all.
        script = runner::give_up_after(&script, site.settings().limits.tests_seconds.saturating_mul(500));
    }
    let (mut facts, ended) = site.run(&Job {
        purpose,
        command: &command.command,
        script: &script,
        root: &command.root,
        fetches: false,
        shared_memory: command.runner == Runner::Pytest,
    });
    let (reading, words) = fetch::reading(command, &ended, &report, room);
    let said = site.side().is_apart().then(|| apart::said(&ended, words));
    facts.tests = record(&reading, &ended.ending, site.room().tree());
    facts.files.clone_from(&reading.files);
    let place = runs.len();
    runs.push(facts);
    let changed = site.changed().map_err(|why| format!("the room cannot be compared after the run: {why}"))?;
    let leak = site.visible_packages().filter(|_| command.runner.is_node());
    Ok(Run { ending: ended.ending, reading, changed, leak, unready: None, again: Vec::new(), place, said })
}

/// The receipt of a report; its list counts as complete only where the exit status agrees.
fn record(reading: &Reading, ending: &Ending, tree: &TreeId) -> Option<TestsRecord> {
    (!reading.format.is_empty()).then(|| TestsRecord {
        command: 0,
        tree: tree.clone(),
        format: reading.format.clone(),
        complete: reading.complete && ending.is_success() == (reading.failed == 0),
        cases: reading.cases.clone(),
    })
}

/// A test script that the claim made unable to fail (RULINGS 14); the base's own was refused when the plan was made.
fn masked_scripts(inspection: &Inspection<'_>, commands: &[TestCommand]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for command in commands {
        let path = discovery::package_json(&command.root);
        let Ok(Some(text)) = inspection.in_claim(&path) else { continue };
        for (name, mask) in discovery::masked_bodies(&command.command, &text) {
            findings.push(Finding {
                state: State::Deny,
                place: path.to_string(),
                expected: "a test script that fails when a test fails".to_owned(),
                observed: format!("the claim's script `{}` hides the exit status: {mask}", escape(name.as_bytes())),
                remedy: Remedy::Fix,
            });
        }
    }
    findings
}
