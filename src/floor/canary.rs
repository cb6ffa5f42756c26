//! `canary`: do the tests see the claim at all? (RULINGS 15)
//!
//! An editable install, a link or an absolute path can make a suite test another checkout: green, whatever the claim
//! does. So a failure that happens on loading is planted into production files, in a room of its own, and the suite must
//! turn red. What turned red once is remembered for the project, the command and its environment.

mod memory;
mod outside;
mod poison;

use super::Inspection;
use super::finding::{count, info, unknown, unreadable};
use super::tests_run::{Facts, Job, Plan, Runner, Side, Site, TestCommand, set_up_all};
use crate::host::clock::Timestamp;
use crate::host::git::{Entry, GitError};
use crate::host::ids::CommitId;
use crate::host::path::{RepoPath, escape};
use crate::host::process::Ending;
use crate::receipts::{CheckReport, Finding, Purpose, State};
use outside::Pointer;
use std::collections::BTreeMap;
use std::path::Path;

/// The check's public id.
pub const ID: &str = "canary";

/// At most this many files are poisoned at a time.
const MOST_FILES: usize = 2_000;
/// At most this many names stand in one sentence.
const MOST_NAMES: usize = 5;
/// What should be.
const EXPECTED: &str = "tests that load the claim's own files";

/// What the canaries showed.
#[derive(Debug, Clone)]
pub struct CanaryOutcome {
    /// The check's report.
    pub report: CheckReport,
    /// Every command that was run, in order.
    pub runs: Vec<Facts>,
}

/// How the suite took a poisoned tree.
enum Taken {
    /// It failed; `said`: with the words that were planted.
    Red { said: bool },
    /// It passed all the same.
    Green,
    /// It cannot be told.
    Unclear(String),
}

/// The claim's tree, and what one canary may look at.
struct Aviary<'a> {
    inspection: &'a Inspection<'a>,
    entries: BTreeMap<RepoPath, Entry>,
    logs: &'a Path,
}

/// Tries every command of the plan, where `tests` (the report of `tests-run`) says that it was green. `logs` is a folder
/// for raw logs that nothing under test can write.
pub fn try_all(inspection: &Inspection<'_>, plan: &Plan, tests: &CheckReport, logs: &Path) -> CanaryOutcome {
    let mut runs = Vec::new();
    let report = tried(inspection, plan, tests, logs, &mut runs);
    CanaryOutcome { report, runs }
}

fn tried(
    inspection: &Inspection<'_>,
    plan: &Plan,
    tests: &CheckReport,
    logs: &Path,
    runs: &mut Vec<Facts>,
) -> CheckReport {
    let Plan::Commands(commands) = plan else {
        return CheckReport::not_applicable(ID, "there is no test command");
    };
    if !matches!(tests.state, State::Pass | State::Info | State::Ask) {
        return CheckReport::not_applicable(ID, "the tests are not green, so nothing rests on what they see");
    }
    if inspection.settings.tests.canary == Some(false) {
        let said = "not proven: the settings say `tests: {canary: false}`";
        return CheckReport::of(ID, vec![info("", EXPECTED, said)]);
    }
    let entries = match inspection.repo.list(&inspection.claim.tree, "") {
        Ok(entries) => entries.into_iter().collect(),
        Err(why) => return CheckReport::of(ID, vec![unreadable("", &why)]),
    };
    let aviary = Aviary { inspection, entries, logs };
    let mut findings = Vec::new();
    let mut notes = Vec::new();
    for command in commands {
        let pointers = match outside::find(inspection, &aviary.entries, command) {
            Ok(pointers) => pointers,
            Err(why) => {
                findings.push(unreadable("", &why));
                continue;
            }
        };
        match aviary.try_one(command, pointers, runs) {
            Ok(note) => notes.push(note),
            Err(finding) => findings.push(*finding),
        }
    }
    CheckReport::of(ID, findings).noting(notes.join("; "))
}

impl Aviary<'_> {
    /// Tries one command: a note if the tests are known to see the claim.
    fn try_one(
        &self,
        command: &TestCommand,
        mut pointers: Vec<Pointer>,
        runs: &mut Vec<Facts>,
    ) -> Result<String, Box<Finding>> {
        let changed = self.changed(command);
        let key = memory::key(self.inspection, &self.entries, command, &pointers, &changed);
        if let Some(place) = memory::recall(self.inspection.repo, &key) {
            return Ok(format!("a failure in {place} turned {} red before", shown(command)));
        }
        if !changed.is_empty() {
            match self.take(command, &changed, &mut pointers, runs) {
                Taken::Red { said } => return Ok(self.seen(command, &key, &changed, said)),
                Taken::Unclear(why) => return Err(Box::new(unavailable(command, &why, &pointers))),
                Taken::Green if !pointers.is_empty() => return Err(Box::new(blind(command, &changed, &pointers))),
                Taken::Green => {}
            }
        }
        let all = self.production(command);
        if all.is_empty() {
            let why = "there is no production file that a failure could be planted in";
            return Err(Box::new(unavailable(command, why, &pointers)));
        }
        match self.take(command, &all, &mut pointers, runs) {
            Taken::Red { said } if changed.is_empty() => Ok(self.seen(command, &key, &all, said)),
            Taken::Red { said } => {
                self.seen(command, &key, &all, said);
                let observed = format!("no test of {} loads it; other files are loaded", shown(command));
                Err(Box::new(info(named(&changed), "a test that loads what changed", observed)))
            }
            Taken::Unclear(why) => Err(Box::new(unavailable(command, &why, &pointers))),
            // Of a runner that we do not know, nobody can say which files it should load.
            Taken::Green if pointers.is_empty() && (changed.is_empty() || command.runner == Runner::Other) => {
                let why = format!("the tests load none of the {} in which it was planted", count(all.len(), "file"));
                Err(Box::new(unavailable(command, &why, &pointers)))
            }
            Taken::Green => Err(Box::new(blind(command, &all, &pointers))),
        }
    }

    /// The changed production files below the command's folder.
    fn changed(&self, command: &TestCommand) -> Vec<RepoPath> {
        let changed = self.inspection.claim.changed.iter().map(|change| change.path.clone());
        changed.filter(|path| self.can_poison(command, path)).take(MOST_FILES).collect()
    }

    /// All of them.
    fn production(&self, command: &TestCommand) -> Vec<RepoPath> {
        self.entries.keys().filter(|path| self.can_poison(command, path)).take(MOST_FILES).cloned().collect()
    }

    fn can_poison(&self, command: &TestCommand, path: &RepoPath) -> bool {
        let root = command.root.as_str();
        let file = self.entries.get(path).is_some_and(|entry| entry.mode & 0o170_000 == 0o100_000);
        file && root.is_some_and(|root| root.is_empty() || path.is_under(root))
            && poison::fits(path, &command.command, command.runner)
    }

    fn seen(&self, command: &TestCommand, key: &str, files: &[RepoPath], said: bool) -> String {
        memory::remember(self.inspection.repo, key, &named(files));
        let how = if said { "" } else { ", though the planted words are not in its log" };
        format!("a failure in {} turns {} red{how}", named(files), shown(command))
    }

    /// Runs the command on the claim's tree with poison in these files.
    fn take(
        &self,
        command: &TestCommand,
        files: &[RepoPath],
        pointers: &mut Vec<Pointer>,
        runs: &mut Vec<Facts>,
    ) -> Taken {
        let inspection = self.inspection;
        let commit = match self.poisoned(files) {
            Ok(commit) => commit,
            Err(why) => return Taken::Unclear(format!("no poisoned tree could be made: {why}")),
        };
        let site = match Site::open(inspection.repo, inspection.settings, self.logs, Side::Claim, &commit) {
            Ok(site) => site,
            Err(why) => return Taken::Unclear(format!("there is no room for it: {why}")),
        };
        // A known set-up is a guess: the tests were green however it went.
        let first = runs.len();
        let ready = set_up_all(&site, &inspection.settings.tests, std::slice::from_ref(command), runs);
        for facts in &mut runs[first..] {
            // It prepared a poisoned room: no receipt of the claim's.
            facts.command.purpose = Purpose::Canary;
        }
        if let Err(why) = ready {
            return Taken::Unclear(why);
        }
        let (facts, ended) = site.run(&Job {
            purpose: Purpose::Canary,
            command: &command.command,
            script: &command.command,
            root: &command.root,
            fetches: false,
            shared_memory: command.runner == Runner::Pytest,
        });
        pointers.extend(outside::links(site.room().path(), &command.root));
        let log = std::fs::read(&facts.log).unwrap_or_default();
        runs.push(facts);
        match ended.ending {
            Ending::Exited { code: 0 } => Taken::Green,
            Ending::Exited { .. } => {
                Taken::Red { said: log.windows(poison::WORDS.len()).any(|words| words == poison::WORDS.as_bytes()) }
            }
            other => Taken::Unclear(format!("the poisoned run {}", other.sentence())),
        }
    }

    /// A commit that nothing refers to: the claim's tree with poison in these files.
    fn poisoned(&self, files: &[RepoPath]) -> Result<CommitId, GitError> {
        let repo = self.inspection.repo;
        let mut entries: BTreeMap<RepoPath, (u32, String)> =
            self.entries.iter().map(|(path, entry)| (path.clone(), (entry.mode, entry.id.clone()))).collect();
        for path in files {
            let Some((mode, id)) = entries.get(path).cloned() else { continue };
            let Some(blob) = self.entries.get(path).and_then(Entry::blob) else { continue };
            let (text, cut) = repo.blob(&blob, poison::LARGEST)?;
            let id = if cut { id } else { repo.write_blob(&poison::plant(path, &text))?.as_str().to_owned() };
            entries.insert(path.clone(), (mode, id));
        }
        let tree = repo.write_tree(&entries)?;
        repo.write_commit(&tree, &[], Timestamp(0), "canary\n")
    }
}

/// The suite passes whatever these files hold.
fn blind(command: &TestCommand, files: &[RepoPath], pointers: &[Pointer]) -> Finding {
    let observed = format!(
        "the suite does not see the claim: with a failure on loading planted in {} it still passes{}; or say \
         `tests: {{canary: false}}` if no test is meant to load it",
        named(files),
        found(pointers)
    );
    unknown(shown(command), EXPECTED, observed)
}

/// Nothing could be tried: a hold only where something points out of the room.
fn unavailable(command: &TestCommand, why: &str, pointers: &[Pointer]) -> Finding {
    let observed = format!("canary-unavailable: {why}{}", found(pointers));
    if pointers.is_empty() {
        info(shown(command), EXPECTED, observed)
    } else {
        unknown(shown(command), EXPECTED, observed)
    }
}

fn found(pointers: &[Pointer]) -> String {
    if pointers.is_empty() {
        return String::new();
    }
    let listed: Vec<String> = pointers.iter().take(MOST_NAMES).map(ToString::to_string).collect();
    let more = pointers.len().saturating_sub(MOST_NAMES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("; what leads out of the room: {}{more}", listed.join(", "))
}

fn named(files: &[RepoPath]) -> String {
    let names: Vec<String> = files.iter().take(MOST_NAMES).map(ToString::to_string).collect();
    let more = files.len().saturating_sub(MOST_NAMES);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}

fn shown(command: &TestCommand) -> String {
    let root = if command.root.as_bytes().is_empty() { String::new() } else { format!(" in {}", command.root) };
    format!("`{}`{root}", escape(command.command.as_bytes()))
}
