//! Would a test that bites by build only, or that a criterion rests on, notice wrong code? Mutants of the claim's changed
//! production lines show it.

use super::hybrid::{Changed, Part, commit_of};
use super::mutants::{Mutant, mutants, spread};
use super::rounds::View;
use super::targets::Target;
use super::{Work, facts_of};
use crate::config::Settings;
use crate::floor::Inspection;
use crate::floor::reading;
use crate::floor::test_files::{FileRole, classify, syntax_of};
use crate::floor::tests_run::{Facts, Side, Subject, TestCommand, TestsOutcome, run_apart};
use crate::host::clock::Stopwatch;
use crate::host::git::GitError;
use crate::host::ids::{CommitId, TreeId};
use crate::receipts::{Bite, BiteClass, CaseResult, MutationRecord};
use std::collections::{BTreeMap, BTreeSet};

const DEFAULT_MUTANTS: u32 = 12;
const DEFAULT_SECONDS: u64 = 120;

/// Time for trees that are neither the claim's nor the base's.
pub(super) struct Budget {
    watch: Stopwatch,
    seconds: u64,
    /// Seconds of one run, unless the budget ends before.
    one: u64,
}

impl Budget {
    pub(super) fn of(work: &Work<'_>, tests: &TestsOutcome) -> Self {
        let settings = &work.inspection.settings.tests;
        let took =
            work.commands.iter().filter_map(|command| facts_of(tests, command)).map(|facts| facts.command.took_ms);
        Self {
            watch: work.inspection.repo.host().clock.stopwatch(),
            seconds: settings.mutation_budget_seconds.unwrap_or(DEFAULT_SECONDS),
            one: took.sum::<u64>() / 1000 * 3 + 20,
        }
    }

    /// Seconds that one run may take; none when the budget is spent.
    fn next(&self) -> Option<u64> {
        let left = self.seconds.saturating_sub(self.watch.elapsed().as_secs());
        (left > 0).then_some(left.min(self.one))
    }
}

/// One run for each command.
pub(super) type Views<'a> = Vec<Result<View<'a>, String>>;

/// Runs the commands on the claim's tree with one file's text replaced; none when the budget is spent.
pub(super) fn run_changed<'c>(
    work: &Work<'_>,
    commands: &'c [TestCommand],
    (file, text): (&Changed, &[u8]),
    budget: &Budget,
    runs: &mut Vec<Facts>,
) -> Result<Option<Views<'c>>, GitError> {
    let Some(seconds) = budget.next() else { return Ok(None) };
    let (tree, commit) = changed_commit(work.inspection, file, text)?;
    let mut settings: Settings = work.inspection.settings.clone();
    settings.limits.tests_seconds = seconds.min(settings.limits.tests_seconds);
    let inspection = Inspection { settings: &settings, ..*work.inspection };
    let subject = Subject::first(Side::Mutant, &commit, &tree);
    let mut these = Vec::new();
    let done = run_apart(&inspection, commands, &subject, (work.logs, work.remembered), &mut these);
    // Which tests ran on a tree that nobody wants is no fact worth sealing; that it was run is one.
    runs.extend(these.into_iter().map(|facts| Facts { tests: None, ..facts }));
    let views = commands.iter().zip(done).map(|(command, run)| run.map(|run| View::of(command, run)));
    Ok(Some(views.collect()))
}

fn changed_commit(inspection: &Inspection<'_>, file: &Changed, text: &[u8]) -> Result<(TreeId, CommitId), GitError> {
    let repo = inspection.repo;
    let mut entries: BTreeMap<_, _> = repo
        .list(&inspection.claim.tree, "")?
        .into_iter()
        .map(|(path, entry)| (path, (entry.mode, entry.id)))
        .collect();
    let blob = repo.write_blob(text)?;
    if let Some(entry) = entries.get_mut(&file.path) {
        blob.as_str().clone_into(&mut entry.1);
    }
    let tree = repo.write_tree(&entries)?;
    let commit = commit_of(inspection, &tree)?;
    Ok((tree, commit))
}

/// For a test that bites by its expectation, so many times more mutants than for one that bites by build: it has shown
/// something, and must not be called weak because the few that were chosen lay elsewhere.
const LONGER: usize = 3;

/// Whether a criterion rests on this test.
pub(super) type Named<'a> = &'a dyn Fn(&Bite) -> bool;

/// Tries mutants on the tests that bite by build only and on those that criteria name (`named`), and marks those that
/// nothing speaks for: of the former whatever noticed none, of the latter what noticed none though there was time for all
/// of the wider choice. None if there are no such tests, or the settings ask for no mutants.
pub(super) fn try_mutants(
    work: &Work<'_>,
    tests: &TestsOutcome,
    targets: &[Target<'_>],
    (bites, named): (&mut [Bite], Named<'_>),
    runs: &mut Vec<Facts>,
) -> Result<Option<MutationRecord>, GitError> {
    let wanted = work.inspection.settings.tests.mutants.unwrap_or(DEFAULT_MUTANTS);
    let is_open = |bite: &Bite| match bite.class {
        BiteClass::ByBuild => true,
        BiteClass::Bites => named(bite),
        _ => false,
    };
    let mut open: BTreeSet<usize> = (0..bites.len()).filter(|at| is_open(&bites[*at])).collect();
    if open.is_empty() || wanted == 0 {
        return Ok(None);
    }
    let all = possible(work.changed);
    let mut record =
        MutationRecord { possible: u32::try_from(all.len()).unwrap_or(u32::MAX), ..MutationRecord::default() };
    let budget = Budget::of(work, tests);
    let commands: Vec<usize> =
        open.iter().map(|at| targets[*at].command).collect::<BTreeSet<_>>().into_iter().collect();
    let chosen: Vec<TestCommand> = commands.iter().map(|at| work.commands[*at].clone()).collect();
    for (tried, (file, mutant)) in choice(all, wanted as usize).into_iter().enumerate() {
        let is_closed = |at: &usize| tried >= wanted as usize && bites[*at].class == BiteClass::ByBuild;
        if open.iter().all(is_closed) {
            break;
        }
        let Some(views) = run_changed(work, &chosen, (file, mutant.text.as_bytes()), &budget, runs)? else {
            record.budget_spent = true;
            break;
        };
        record.run += 1;
        let mut built = false;
        let mut noticed = BTreeSet::new();
        for (command, view) in commands.iter().zip(&views) {
            // One that does not build, or never ends, does not count.
            let Some(view) = view.as_ref().ok().filter(|view| view.ended() && view.was_built()) else { continue };
            built = true;
            for at in open.iter().filter(|at| targets[**at].command == *command) {
                if matches!(view.result_of(&targets[*at].case), Some(CaseResult::Failed | CaseResult::Errored)) {
                    noticed.insert(*at);
                }
            }
        }
        record.built += u32::from(built);
        record.noticed += u32::from(!noticed.is_empty());
        for at in &open {
            if built {
                bites[*at].noticed = Some(noticed.contains(at));
            }
        }
        open.retain(|at| !noticed.contains(at));
    }
    for at in open {
        let is_proof = bites[at].class == BiteClass::Bites;
        bites[at].weak = !is_proof || !record.budget_spent && bites[at].noticed == Some(false);
    }
    Ok(Some(record))
}

/// The first choice, spread over all, then the wider one.
fn choice<T>(all: Vec<T>, wanted: usize) -> Vec<T> {
    let total = all.len();
    let first = spread((0..total).collect(), wanted);
    let rest: Vec<usize> = (0..total).filter(|at| first.binary_search(at).is_err()).collect();
    let second = spread(rest, wanted.saturating_mul(LONGER));
    let mut left: Vec<Option<T>> = all.into_iter().map(Some).collect();
    first.into_iter().chain(second).filter_map(|at| left[at].take()).collect()
}

/// Every mutant of the production lines that the claim added.
fn possible(changed: &[Changed]) -> Vec<(&Changed, Mutant)> {
    let mut found = Vec::new();
    for file in changed.iter().filter(|file| matches!(file.part, Part::Production | Part::Mixed)) {
        let Some(syntax) = syntax_of(&file.path) else { continue };
        let Some(text) = file.claim.as_deref().and_then(|text| std::str::from_utf8(text).ok()) else { continue };
        let mut lines = added(file.base.as_deref().unwrap_or_default(), text.as_bytes());
        if let FileRole::Mixed { regions } = classify(&file.path, text.as_bytes()) {
            lines.retain(|line| !regions.iter().any(|region| region.contains(line)));
        }
        found.extend(mutants(text, syntax, &lines).into_iter().map(|mutant| (file, mutant)));
    }
    found
}

/// The lines of the new text that the old one does not have, counted from 1.
fn added(old: &[u8], new: &[u8]) -> BTreeSet<usize> {
    let had: BTreeSet<&[u8]> = reading::lines(old).collect();
    (1..).zip(reading::lines(new)).filter(|(_, line)| !had.contains(line)).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::choice;

    #[test]
    fn the_wider_choice_comes_after_the_first_and_repeats_nothing() {
        assert_eq!(choice((0..6).collect(), 2), [0, 3, 1, 2, 4, 5]);
        let found = choice((0..1000).collect::<Vec<u32>>(), 12);
        assert_eq!(found.len(), 48);
        assert_eq!(found.iter().collect::<std::collections::BTreeSet<_>>().len(), 48);
        assert!(choice(Vec::<u32>::new(), 3).is_empty());
    }
}
