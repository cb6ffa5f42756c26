//! The commands of one side: from the store where nothing that they depend on changed, else in a room, a red one again.

use super::apart::Said;
use super::store::{Key, Store};
use super::{Facts, Side, Site};
use super::{Reuse, Runs, TestCommand, judge, run_one, set_up_all};
use crate::floor::Inspection;
use crate::floor::lockfiles::is_lockfile;
use crate::floor::reports::Reading;
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::host::process::Ending;
use crate::receipts::Purpose;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One test command's run.
#[derive(Debug, Clone)]
pub(in crate::floor) struct Run {
    pub(in crate::floor) ending: Ending,
    pub(super) reading: Reading,
    /// Tracked paths it changed, those left out that an earlier run in the same room had changed.
    pub(super) changed: Vec<RepoPath>,
    /// A package folder outside the room that node's module look-up finds.
    pub(super) leak: Option<PathBuf>,
    /// Why the room may lack what the tests need: one of our own guesses at a set-up failed.
    pub(super) unready: Option<String>,
    /// Its repetitions, if it was red.
    pub(super) again: Vec<Repetition>,
    /// Which of the outcome's runs it is.
    pub(super) place: usize,
    /// Its own words, kept on a hybrid or a mutant only.
    pub(super) said: Option<Said>,
}

/// A red run, run again.
#[derive(Debug, Clone)]
pub(super) struct Repetition {
    pub(super) ending: Ending,
    pub(super) reading: Reading,
}

impl Run {
    /// A tracked file it changed that is no lockfile: those a package manager brings up to date as it runs.
    pub(super) fn rewritten(&self) -> Option<&RepoPath> {
        self.changed.iter().find(|path| !is_lockfile(path))
    }

    /// True if its list of tests is whole and its exit status says the same.
    pub(in crate::floor) fn is_borne_out(&self) -> bool {
        self.reading.complete && self.ending.is_success() == (self.reading.failed == 0)
    }

    /// True if it is known to have executed anything.
    pub(in crate::floor) fn has_tests(&self) -> bool {
        self.reading.executed.is_some_and(|count| count > 0) || !self.reading.cases.is_empty()
    }

    /// Why its list of tests cannot be believed; none if it can.
    pub(in crate::floor) fn doubt(&self) -> Option<String> {
        if let Some(why) = self.unready.as_ref().filter(|_| !self.is_borne_out()) {
            return Some(why.clone());
        }
        if let Some(path) = self.rewritten() {
            return Some(format!("the run changed the tracked file {path}"));
        }
        let said = if self.reading.trouble.is_empty() {
            format!("it {} and its report does not name every test", self.ending.sentence())
        } else {
            self.reading.trouble.join("; ")
        };
        // pytest's way to say that it collected nothing is a red exit with a whole, empty list.
        let is_empty = self.reading.complete && self.reading.executed == Some(0);
        (!self.is_borne_out() && !is_empty).then_some(said)
    }

    /// What it and its repetitions reported.
    pub(in crate::floor) fn readings(&self) -> Vec<&Reading> {
        std::iter::once(&self.reading).chain(self.again.iter().map(|again| &again.reading)).collect()
    }
}

/// What may stand for a new run.
pub(in crate::floor) struct Remembered {
    reuse: Reuse,
    store: Option<Store>,
}

impl Remembered {
    pub(in crate::floor) fn open(inspection: &Inspection<'_>, reuse: Reuse) -> Self {
        Self { reuse, store: Store::open(inspection.repo, inspection.settings) }
    }
}

/// The tree that commands run on.
#[derive(Debug, Clone, Copy)]
pub(in crate::floor) struct Subject<'a> {
    pub(in crate::floor) side: Side,
    pub(in crate::floor) commit: &'a CommitId,
    pub(in crate::floor) tree: &'a TreeId,
    /// Which run of several: to find out whether two agree, neither may stand for the other.
    pub(in crate::floor) time: usize,
}

impl<'a> Subject<'a> {
    /// The first run on a tree.
    pub(in crate::floor) fn first(side: Side, commit: &'a CommitId, tree: &'a TreeId) -> Self {
        Self { side, commit, tree, time: 0 }
    }
}

/// What all runs of one attempt share.
pub(super) struct Attempt<'a> {
    inspection: &'a Inspection<'a>,
    logs: &'a Path,
    remembered: &'a Remembered,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(inspection: &'a Inspection<'a>, logs: &'a Path, remembered: &'a Remembered) -> Self {
        Self { inspection, logs, remembered }
    }

    /// Runs every command on one tree.
    pub(super) fn run_side(&self, commands: &[TestCommand], subject: &Subject<'_>, runs: &mut Vec<Facts>) -> Runs {
        let store = self.remembered.store.as_ref();
        let keys: Vec<Option<Key>> =
            commands.iter().map(|command| store.map(|store| store.key(subject, command))).collect();
        let mut known: Vec<Option<Run>> =
            keys.iter().map(|key| self.stored(key.as_ref(), subject.side, runs)).collect();
        let wanted: Vec<TestCommand> = commands
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(command, _)| command.clone())
            .collect();
        if wanted.is_empty() {
            return known.into_iter().flatten().map(Ok).collect();
        }
        let mut ran = self.run_all(&wanted, subject, runs).into_iter();
        let mut all = Vec::new();
        for (known, key) in known.iter_mut().zip(&keys) {
            let run = match known.take() {
                Some(run) => Ok(run),
                None => ran.next().unwrap_or_else(|| Err("it was not run".to_owned())),
            };
            if let (Ok(run), Some(key), Some(store)) = (&run, key, store) {
                store.keep(key, run, runs);
            }
            all.push(run);
        }
        all
    }

    fn stored(&self, key: Option<&Key>, side: Side, runs: &mut Vec<Facts>) -> Option<Run> {
        if self.remembered.reuse == Reuse::Nothing {
            return None;
        }
        self.remembered.store.as_ref()?.find(key?, side, self.logs, runs)
    }

    fn run_all(&self, commands: &[TestCommand], subject: &Subject<'_>, runs: &mut Vec<Facts>) -> Runs {
        let on = self.inspection;
        let failed = |why: String| commands.iter().map(|_| Err(why.clone())).collect();
        let site = match Site::open(on.repo, on.settings, self.logs, subject.side, subject.commit) {
            Ok(site) => site,
            Err(why) => return failed(format!("there is no room to test in: {why}")),
        };
        let readiness = match set_up_all(&site, &on.settings.tests, commands, runs) {
            Ok(readiness) => readiness,
            Err(why) => return failed(why),
        };
        let mut tested = Vec::new();
        let mut named: BTreeSet<RepoPath> = BTreeSet::new();
        for (number, command) in commands.iter().enumerate() {
            let run = run_one(&site, number, Purpose::Tests, command, runs);
            tested.push(run.map(|mut run| {
                run.unready = readiness.get(&command.root).cloned();
                self.repeat(&site, (number, commands.len()), command, &mut run, runs);
                // The runs share the room: what an earlier one changed is that one's.
                run.changed.retain(|path| named.insert(path.clone()));
                run
            }));
        }
        tested
    }

    /// Runs a red command again, whole and in the same room: a test's order and company are part of why it fails.
    fn repeat(
        &self,
        site: &Site<'_>,
        (number, commands): (usize, usize),
        command: &TestCommand,
        run: &mut Run,
        runs: &mut Vec<Facts>,
    ) {
        // Red is what a hybrid or a mutant is made for; whoever doubts it runs another one.
        let times = if site.side().is_apart() { 0 } else { self.inspection.settings.tests.retries() };
        for time in 1..=times {
            if !judge::wants_repetition(command.runner, run) {
                return;
            }
            // A report's path is used once, so that no run can find another's.
            let Ok(again) = run_one(site, number + commands * time, Purpose::Rerun, command, runs) else { return };
            run.changed.extend(again.changed);
            run.again.push(Repetition { ending: again.ending, reading: again.reading });
        }
    }
}
