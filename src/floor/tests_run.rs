//! Check `tests-run`: run the tests ourselves, in a room that holds exactly the claim's tree.
//!
//! The verdict is the runner's exit status, never a printed PASS. Names and results come from the runner's own report;
//! report and exit status must agree. A red run denies only if the same command is green on the base in the same kind of
//! room, otherwise the environment is in question and a person decides. Zero executed tests is never green (RULINGS 13).

pub mod discovery;
mod judge;
mod mask;
mod run;
mod runner;
mod setup;

pub use discovery::{Listing, Plan, PlanError, Question};
pub use mask::{Mask, mask};
pub use run::{Facts, Side, has_pipefail};
pub(in crate::floor) use run::{Job, Site};

use super::Inspection;
use super::reports::{Format, LARGEST_REPORT, Reading, Source, read_report};
use crate::config::TestSettings;
use crate::host::git::Change;
use crate::host::ids::CommitId;
use crate::host::path::{RepoPath, escape};
use crate::host::process::{Ended, Ending};
use crate::receipts::{CheckReport, Finding, Purpose, Remedy, State, TestsRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The check's public id.
pub const ID: &str = "tests-run";

/// A runner whose report we can read, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// `cargo test`: libtest's text.
    CargoTest,
    /// pytest: its JUnit report.
    Pytest,
    /// `node --test`: its JUnit report.
    NodeTest,
    /// `npm test` around a runner that we do not know.
    Npm,
    /// Anything else.
    Other,
}

/// Where the names of the executed tests are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportWay {
    /// In the output.
    LibtestText,
    /// In a JUnit report that we switch on.
    Junit,
    /// In a report that the settings promise, below the top of the tree.
    Declared(RepoPath, Format),
    /// Nowhere: only the exit status is known.
    None,
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
}

/// Whether the base is tested although the claim is green.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// Only to explain a red run.
    WhenRed,
    /// Always: someone wants to know which tests passed before (RULINGS 12).
    Always,
}

/// What the test runs showed.
#[derive(Debug, Clone)]
pub struct TestsOutcome {
    /// The check's report.
    pub report: CheckReport,
    /// Every command that was run, in order.
    pub runs: Vec<Facts>,
}

impl TestsOutcome {
    /// The tests reported on one side, command by command.
    pub fn tests(&self, side: Side) -> impl Iterator<Item = &TestsRecord> {
        self.runs.iter().filter(move |facts| facts.side == side).filter_map(|facts| facts.tests.as_ref())
    }
}

/// One test command's run.
#[derive(Debug, Clone)]
struct Run {
    ending: Ending,
    reading: Reading,
    /// Tracked paths it changed.
    changed: Vec<RepoPath>,
    /// A package folder outside the room that node's module look-up finds.
    leak: Option<PathBuf>,
    /// Why the room may lack what the tests need: one of our own guesses at a set-up failed.
    unready: Option<String>,
    /// Its own words about failures, where they matter.
    said: Said,
}

/// What a run wrote, as far as somebody asks why a test failed.
#[derive(Debug, Clone, Default)]
pub(in crate::floor) struct Said {
    pub(in crate::floor) output: Vec<u8>,
    pub(in crate::floor) report: Vec<u8>,
}

/// A run on a tree that is neither the claim's nor the base's.
#[derive(Debug, Clone)]
pub(in crate::floor) struct Apart {
    pub(in crate::floor) ending: Ending,
    pub(in crate::floor) reading: Reading,
    pub(in crate::floor) said: Said,
}

/// Words of one run that are kept to find out why tests failed.
const SAID: usize = 8 << 20;

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
pub fn run_tests(inspection: &Inspection<'_>, plan: &Plan, logs: &Path, baseline: Baseline) -> TestsOutcome {
    let unknown = |place: &str, why: &str| TestsOutcome {
        report: CheckReport::unknown(ID, place, "the project's tests run and pass", why),
        runs: Vec::new(),
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
    let claim = run_side(inspection, commands, (Side::Claim, commit), logs, &mut runs);
    let wants_base = |at: usize| judge::needs_base(commands[at].runner, &claim[at]) && is_from_base(&commands[at]);
    let asked: Vec<usize> = (0..commands.len()).filter(|at| baseline == Baseline::Always || wants_base(*at)).collect();
    let wanted: Vec<TestCommand> = asked.iter().map(|at| commands[*at].clone()).collect();
    let base = if wanted.is_empty() {
        Vec::new()
    } else {
        run_side(inspection, &wanted, (Side::Base, &inspection.claim.base), logs, &mut runs)
    };
    for (at, command) in commands.iter().enumerate() {
        let base = asked.iter().position(|asked| *asked == at).and_then(|place| base.get(place));
        findings.extend(judge::judge(command, &claim[at], base.filter(|_| is_from_base(command))));
    }
    let note = judge::summary(commands, &claim);
    TestsOutcome { report: CheckReport::of(ID, findings).noting(note), runs }
}

/// A command that only the claim has says nothing about the base.
fn is_from_base(command: &TestCommand) -> bool {
    !command.source.starts_with("claim")
}

/// Runs these commands on a hybrid or a mutant.
pub(in crate::floor) fn run_apart(
    inspection: &Inspection<'_>,
    commands: &[TestCommand],
    on: (Side, &CommitId),
    logs: &Path,
    runs: &mut Vec<Facts>,
) -> Vec<Result<Apart, String>> {
    let done = run_side(inspection, commands, on, logs, runs);
    let apart = |run: Run| match run.unready {
        Some(why) if run.reading.executed.is_none() => Err(why),
        _ => Ok(Apart { ending: run.ending, reading: run.reading, said: run.said }),
    };
    done.into_iter().map(|run| run.and_then(apart)).collect()
}

fn run_side(
    inspection: &Inspection<'_>,
    commands: &[TestCommand],
    (side, commit): (Side, &CommitId),
    logs: &Path,
    runs: &mut Vec<Facts>,
) -> Runs {
    let place = match Site::open(inspection.repo, inspection.settings, logs, side, commit) {
        Ok(place) => place,
        Err(why) => return commands.iter().map(|_| Err(format!("there is no room to test in: {why}"))).collect(),
    };
    let readiness = match set_up_all(&place, &inspection.settings.tests, commands, runs) {
        Ok(readiness) => readiness,
        Err(why) => return commands.iter().map(|_| Err(why.clone())).collect(),
    };
    let mut tested = Vec::new();
    for (number, command) in commands.iter().enumerate() {
        let unready = readiness.get(&command.root).cloned();
        tested.push(run_one(&place, number, command, runs).map(|run| Run { unready, ..run }));
    }
    tested
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
    for step in setup::steps(settings, commands, site.room().path()) {
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

fn run_one(site: &Site<'_>, number: usize, command: &TestCommand, runs: &mut Vec<Facts>) -> Result<Run, String> {
    if !site.room().path().join(command.root.to_path_buf()).is_dir() {
        return Err(format!("the folder {} is not in this tree", setup::place(&command.root)));
    }
    let report = match &command.report {
        ReportWay::Declared(path, _) => {
            let path = inside(site.room().path(), path)?;
            // Whatever a set-up left there is not this run's report.
            std::fs::remove_file(&path).ok();
            path
        }
        _ => site.report(number),
    };
    let mut script = runner::instrument(&command.command, command.runner, &report);
    let is_apart = matches!(site.side(), Side::Hybrid | Side::Mutant);
    if is_apart && command.runner == Runner::Pytest {
        // One file that cannot be loaded must not keep the others from being run.
        script.insert_str(0, "export PYTEST_ADDOPTS=\"--continue-on-collection-errors $PYTEST_ADDOPTS\"\n");
    }
    let (mut facts, ended) = site.run(&Job {
        purpose: Purpose::Tests,
        command: &command.command,
        script: &script,
        root: &command.root,
        fetches: false,
        shared_memory: command.runner == Runner::Pytest,
    });
    let reading = reading(command, &ended, &report, site.room().path());
    let said = if is_apart { said(command, &ended, &report, site.room().path()) } else { Said::default() };
    if !reading.format.is_empty() {
        facts.tests = Some(TestsRecord {
            command: 0,
            tree: site.room().tree().clone(),
            format: reading.format.clone(),
            complete: reading.complete && ended.ending.is_success() == (reading.failed == 0),
            cases: reading.cases.clone(),
        });
    }
    runs.push(facts);
    let changed = site.changed().map_err(|why| format!("the room cannot be compared after the run: {why}"))?;
    let is_node = matches!(command.runner, Runner::NodeTest | Runner::Npm);
    let leak = site.visible_packages().filter(|_| is_node);
    Ok(Run { ending: ended.ending, reading, changed, leak, unready: None, said })
}

fn reading(command: &TestCommand, ended: &Ended, report: &Path, room: &Path) -> Reading {
    let below = room.join(command.root.to_path_buf());
    let (format, place) = match &command.report {
        ReportWay::None => return Reading::default(),
        ReportWay::LibtestText => {
            let mut reading =
                read_report(Format::LibtestText, &[Source::only(&ended.stdout)], &below.to_string_lossy());
            if ended.stdout_total > ended.stdout.len() as u64 {
                reading.trouble.push(format!("the output of {} bytes is too long to read", ended.stdout_total));
                (reading.complete, reading.distrusted) = (false, true);
            }
            return reading;
        }
        ReportWay::Junit if command.runner == Runner::NodeTest => (Format::NodeJunit, RepoPath::from("report.xml")),
        ReportWay::Junit => (Format::Junit, RepoPath::from("report.xml")),
        ReportWay::Declared(path, Format::Junit) if command.runner == Runner::NodeTest => {
            (Format::NodeJunit, path.clone())
        }
        ReportWay::Declared(path, format) => (*format, path.clone()),
    };
    // Looked at again: the tests may have put a link there.
    let found = match &command.report {
        ReportWay::Declared(path, _) => inside(room, path),
        _ => Ok(report.to_owned()),
    };
    match found.and_then(|report| fetch_report(&report)) {
        Ok(bytes) => read_report(format, &[Source { path: place, bytes: &bytes }], &below.to_string_lossy()),
        Err(why) => Reading { trouble: vec![why], ..Reading::default() },
    }
}

fn said(command: &TestCommand, ended: &Ended, report: &Path, room: &Path) -> Said {
    let found = match &command.report {
        ReportWay::Declared(path, _) => inside(room, path),
        _ => Ok(report.to_owned()),
    };
    let mut report = found.and_then(|report| fetch_report(&report)).unwrap_or_default();
    report.truncate(SAID);
    Said { output: ended.stdout[..ended.stdout.len().min(SAID)].to_vec(), report }
}

/// The place of a declared report in a room. A link on the way, by the claim or by its tests, would make us remove or
/// believe a file outside.
fn inside(room: &Path, path: &RepoPath) -> Result<PathBuf, String> {
    let full = room.join(path.to_path_buf());
    let folders = full.ancestors().skip(1).take_while(|folder| *folder != room);
    let linked = |folder: &&Path| std::fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink());
    match folders.filter(linked).last() {
        Some(link) => {
            Err(format!("its report {path} lies behind the link {}", escape(link.as_os_str().as_encoded_bytes())))
        }
        None => Ok(full),
    }
}

fn fetch_report(path: &Path) -> Result<Vec<u8>, String> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => Err("its report is not a regular file".to_owned()),
        Ok(meta) if meta.len() > LARGEST_REPORT => {
            Err(format!("its report has {} bytes, too many to read", meta.len()))
        }
        Ok(_) => std::fs::read(path).map_err(|why| format!("its report cannot be read: {why}")),
        Err(_) => Err("it wrote no report".to_owned()),
    }
}

/// A test script that the claim made unable to fail (RULINGS 14); the base's own was refused when the plan was made.
fn masked_scripts(inspection: &Inspection<'_>, commands: &[TestCommand]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for command in commands.iter().filter(|command| command.runner == Runner::Npm) {
        let path = discovery::package_json(&command.root);
        let Ok(Some(text)) = inspection.in_claim(&path) else { continue };
        let script = discovery::script_of(&text);
        if let Some(mask) = script.as_deref().and_then(|script| mask(script, has_pipefail(inspection.repo.host()))) {
            findings.push(Finding {
                state: State::Deny,
                place: path.to_string(),
                expected: "a test script that fails when a test fails".to_owned(),
                observed: format!("the claim's script hides the exit status: {mask}"),
                remedy: Remedy::Fix,
            });
        }
    }
    findings
}
