//! Check `tests-collected`: did a runner really take up each changed test file?
//!
//! A test that nobody collects is green for ever. The runner's own report is asked first (the files and names of its
//! cases), then its listing; the static rules (`rule`) say why a file was left out, or that it must have been where
//! nothing else tells (issue B, part 2). Unknown is not a pass.
//!
//! A new test file that was provably not collected denies the claim of a feature or a bug: the tests it brings do not
//! exist as far as anybody can see. Elsewhere it is a question, and for a file that the base's run left out as well, or
//! that lies among test data, only worth knowing.

mod listing;
mod rule;

use super::finding::{ask, count, deny, info, unknown};
use super::test_files::{FileRole, Outline, TestFiles, outline};
use super::tests_bite::{is_named, is_of, stands_in};
use super::tests_run::{Facts, Plan, Runner, Side, TestCommand, TestsOutcome};
use super::{Inspection, reading};
use crate::host::git::{ChangeKind, GitError};
use crate::host::path::RepoPath;
use crate::receipts::{CheckReport, Finding, Purpose, State, TestCase, TestsRecord};
use crate::task::TaskType;
use rule::{Leaves, Reason};
use std::path::Path;

/// The check's public id.
pub const ID: &str = "tests-collected";

const EXPECTED: &str = "every changed test file is collected by a test runner";

/// Endings of what node runs, by itself or through a compiler.
const JAVASCRIPT: &[&str] = &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"];

/// What the reports and listings showed.
#[derive(Debug, Clone)]
pub struct CollectedOutcome {
    /// The check's report.
    pub report: CheckReport,
    /// The listings that were asked for, in order.
    pub runs: Vec<Facts>,
}

/// A changed file that defines tests.
struct TestFile {
    path: RepoPath,
    /// True if the base has no such file.
    is_new: bool,
    /// What it defines; none for a language that is not read.
    outline: Option<Outline>,
}

/// What is known about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    /// A runner collected it, and what says so.
    Yes(&'static str),
    /// None did, and what says so.
    No(String),
    /// It could not be found out.
    Unclear(String),
}

/// Looks whether the changed test files were collected. `tests` is what `tests-run` found; `logs` is a folder for raw logs
/// that nothing under test can write.
pub fn inspect(on: &Inspection<'_>, plan: &Plan, tests: &TestsOutcome, logs: &Path) -> CollectedOutcome {
    let mut runs = Vec::new();
    let report = match look(on, plan, tests, logs, &mut runs) {
        Ok(report) => report,
        Err(why) => CheckReport::unknown(ID, "", EXPECTED, &why),
    };
    CollectedOutcome { report, runs }
}

fn look(
    on: &Inspection<'_>,
    plan: &Plan,
    tests: &TestsOutcome,
    logs: &Path,
    runs: &mut Vec<Facts>,
) -> Result<CheckReport, String> {
    let not_applicable = |why: &str| Ok(CheckReport::not_applicable(ID, why));
    let files = changed_tests(on)?;
    if files.is_empty() {
        return not_applicable("no changed file defines tests");
    }
    let Plan::Commands(commands) = plan else {
        return not_applicable("there is no test command; tests-run says why");
    };
    let entries = on.repo.list(&on.claim.tree, "").map_err(|why| git(&why))?;
    let all = entries.into_iter().filter(|(_, entry)| entry.blob().is_some()).map(|(path, _)| path).collect();
    let leaves = Leaves { files: &all, read: &|path| on.in_claim(path).ok().flatten() };
    let mut listings = listing::Listings::new(on, logs);
    let mut findings = Vec::new();
    let mut proofs: Vec<&'static str> = Vec::new();
    for file in &files {
        let able: Vec<&TestCommand> = commands.iter().filter(|command| may_collect(command, &file.path)).collect();
        let reported = by_reports(&able, tests, Side::Claim, (file, &leaves));
        let seen = match reported {
            Seen::Unclear(why) if tests.report.state != State::Deny => listings.ask(&able, file, why, runs),
            other => other,
        };
        // Looking for a reason may read many files: only where one is needed.
        let reason = match seen {
            Seen::Yes(_) => None,
            _ => able.iter().find_map(|command| rule::left_out(command, &file.path, &leaves)),
        };
        match settle(seen, reason.as_ref(), able.is_empty()) {
            Seen::Yes(by) => proofs.push(by),
            Seen::No(why) => {
                let before = by_reports(&able, tests, Side::Base, (file, &leaves));
                findings.push(left_out(on, file, &why, reason.as_ref(), &before, &leaves));
            }
            Seen::Unclear(why)
                if tests.report.state == State::Deny || is_alien(file, &able) || rule::is_data(&file.path) =>
            {
                findings.push(info(&file.path, EXPECTED, why));
            }
            Seen::Unclear(why) => findings.push(unknown(&file.path, EXPECTED, why)),
        }
    }
    let by = |what| proofs.iter().filter(|by| **by == what).count();
    let note = format!(
        "{} of {} collected ({} by report, {} by listing)",
        proofs.len(),
        count(files.len(), "changed test file"),
        by(REPORT),
        by(LISTING)
    );
    Ok(CheckReport::of(ID, findings).noting(note))
}

const REPORT: &str = "report";
const LISTING: &str = "listing";

fn git(why: &GitError) -> String {
    format!("the trees cannot be read: {why}")
}

/// The changed files that define tests; of production files with tests in them, those whose tests are new or changed.
fn changed_tests(on: &Inspection<'_>) -> Result<Vec<TestFile>, String> {
    let roles = TestFiles::new(&on.settings.tests)?;
    let mut found = Vec::new();
    for change in on.claim.changed.iter().filter(|change| !change.is_gitlink() && change.kind != ChangeKind::Deleted) {
        let Some(id) = reading::new_file(change).filter(|id| !id.is_null()) else { continue };
        let text = reading::text_or_empty(on.repo, id).map_err(|why| git(&why))?;
        if !roles.defines_tests(&change.path, &text) {
            continue;
        }
        let old = reading::old_file(change).filter(|id| !id.is_null());
        let old = old.map(|id| reading::text_or_empty(on.repo, id)).transpose().map_err(|why| git(&why))?;
        let now = outline(&change.path, &text);
        let before = old.as_ref().and_then(|text| outline(&change.path, text));
        let is_mixed = matches!(roles.classify(&change.path, &text), FileRole::Mixed { .. });
        let same = |a: &Outline, b: &Outline| {
            a.tests.len() == b.tests.len()
                && a.tests.iter().zip(&b.tests).all(|(a, b)| a.name == b.name && a.body == b.body)
        };
        if is_mixed && now.as_ref().zip(before.as_ref()).is_some_and(|(now, before)| same(now, before)) {
            continue;
        }
        found.push(TestFile { path: change.path.clone(), is_new: old.is_none(), outline: now });
    }
    Ok(found)
}

/// True if a command's runner could collect a file: it stands below its folder, in its language.
fn may_collect(command: &TestCommand, path: &RepoPath) -> bool {
    let below = path.is_under(&command.root.to_string()) || command.root.as_bytes().is_empty();
    let name = String::from_utf8_lossy(path.file_name()).to_ascii_lowercase();
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let ends: &[&str] = match command.runner {
        Runner::CargoTest | Runner::Nextest => &["rs"],
        Runner::Pytest => &["py"],
        Runner::GoTest => &["go"],
        Runner::Phpunit => &["php"],
        Runner::Maven | Runner::Gradle => &["java", "kt", "scala", "groovy"],
        Runner::Dotnet => &["cs", "fs", "vb"],
        Runner::Other => return below,
        runner if runner.is_node() => JAVASCRIPT,
        _ => return below,
    };
    below && ends.contains(&end)
}

/// True for a file of a language that we do not read, with no runner of that language at work: whether it is a test at
/// all is a guess by its folder.
fn is_alien(file: &TestFile, able: &[&TestCommand]) -> bool {
    file.outline.is_none() && able.iter().all(|command| matches!(command.runner, Runner::Other | Runner::Npm))
}

/// What the reports of these commands say of a file.
fn by_reports(
    able: &[&TestCommand],
    tests: &TestsOutcome,
    side: Side,
    (file, leaves): (&TestFile, &Leaves<'_>),
) -> Seen {
    let mut said = Seen::Unclear("no run of its tests is known".to_owned());
    for command in able {
        let run = tests.runs.iter().find(|facts| {
            facts.side == side
                && facts.command.purpose == Purpose::Tests
                && facts.command.root == command.root.to_string()
                && facts.command.command == crate::host::path::escape(command.command.as_bytes())
        });
        let Some(run) = run else { continue };
        match by_report(command, run, (file, leaves)) {
            Seen::Yes(by) => return Seen::Yes(by),
            Seen::No(why) => said = Seen::No(why),
            Seen::Unclear(why) if !matches!(said, Seen::No(_)) => said = Seen::Unclear(why),
            Seen::Unclear(_) => {}
        }
    }
    said
}

fn by_report(command: &TestCommand, run: &Facts, (file, leaves): (&TestFile, &Leaves<'_>)) -> Seen {
    let place = |name: &RepoPath| RepoPath::from_bytes(joined(&command.root, name));
    if run.files.iter().any(|name| place(name) == file.path) {
        return Seen::Yes(REPORT);
    }
    if !run.files.is_empty() {
        return Seen::No(format!("the runner took up {}, and not this one", count(run.files.len(), "file")));
    }
    let Some(record) = run.tests.as_ref() else { return Seen::Unclear("the run left no report".to_owned()) };
    // A path that ends alike is another file's where that one exists.
    let is_others = |case: &TestCase| {
        let there = case.file.as_ref().map(place);
        there.is_some_and(|there| there != file.path && leaves.files.contains(&there))
    };
    if record.cases.iter().any(|case| !is_others(case) && is_from(case, file)) {
        return Seen::Yes(REPORT);
    }
    if !record.complete {
        return Seen::Unclear("the run's report does not name every test".to_owned());
    }
    absent_from(command.runner, record, file)
}

fn joined(root: &RepoPath, name: &RepoPath) -> Vec<u8> {
    let slash: &[u8] = if root.as_bytes().is_empty() { b"" } else { b"/" };
    [root.as_bytes(), slash, name.as_bytes()].concat()
}

/// True if a reported case comes from this file: by its path, or by its name where it gives none.
fn is_from(case: &TestCase, file: &TestFile) -> bool {
    match &file.outline {
        // A title may be made at run time; a file of its own says enough.
        _ if case.file.is_some() => is_of(case, &file.path),
        Some(outline) => outline.tests.iter().any(|test| is_named(case, &test.name)) && is_of(case, &file.path),
        None => is_of(case, &file.path) && stands_in(case, &file.path),
    }
}

/// A whole list without this file: proof of its absence where a case says where it stands, or its tests have fixed names.
fn absent_from(runner: Runner, record: &TestsRecord, file: &TestFile) -> Seen {
    let tests = count(record.cases.len(), "test");
    let all_placed = !record.cases.is_empty() && record.cases.iter().all(|case| case.file.is_some());
    let is_named = matches!(runner, Runner::CargoTest | Runner::Nextest | Runner::GoTest)
        && file.outline.as_ref().is_some_and(|outline| !outline.tests.is_empty());
    if all_placed || is_named {
        return Seen::No(format!("none of the {tests} that the runner reports comes from it"));
    }
    Seen::Unclear(format!("the {tests} that the runner reports do not say which files they come from"))
}

/// Puts what was seen and the static rule together.
fn settle(seen: Seen, reason: Option<&Reason>, nobody: bool) -> Seen {
    match (seen, reason) {
        (Seen::Unclear(_), Some(reason)) => Seen::No(reason.words.clone()),
        (Seen::No(why), Some(reason)) => Seen::No(format!("{why}: {}", reason.words)),
        (Seen::Unclear(_), None) if nobody => {
            Seen::Unclear("no test command of ours runs files of its kind there".to_owned())
        }
        (seen, _) => seen,
    }
}

/// A file that no runner took up.
fn left_out(
    on: &Inspection<'_>,
    file: &TestFile,
    why: &str,
    reason: Option<&Reason>,
    before: &Seen,
    leaves: &Leaves<'_>,
) -> Finding {
    let promised = matches!(on.task.and_then(|task| task.kind.as_ref()), Some(TaskType::Feature | TaskType::Bug));
    let observed = format!("not collected: {why}");
    if rule::is_data(&file.path) {
        return info(&file.path, EXPECTED, format!("{observed}; it stands among the data of tests"));
    }
    if !file.is_new && !matches!(before, Seen::Yes(_)) {
        return info(&file.path, EXPECTED, format!("{observed}; nothing shows that the base's run collected it"));
    }
    let is_excused = reason.is_some_and(|reason| reason.is_platform) || rule::has_own_manifest(&file.path, leaves);
    if file.is_new && promised && !is_excused {
        return deny(&file.path, EXPECTED, observed);
    }
    ask(&file.path, EXPECTED, observed)
}
