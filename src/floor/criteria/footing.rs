//! What the proof of a `run:` criterion rests on.
//!
//! A command that is green on the claim proves something only if the claim did not write what makes it green. Which files
//! a command runs cannot be read off its spelling, so it is found out by running it on two more trees (see [`front`] for
//! the commands that need neither):
//!
//! - *settings*: the base's production code with the claim's tests and settings of runners. A command that was red on the
//!   base and is green here proves nothing about the production code.
//! - *disarmed*: the claim with a line in each changed text that no language can load, its settings and whatever is no
//!   text put back to the base's, and what it deleted restored. Reading a file as data is not disturbed by that; a command
//!   that is no longer green runs what the claim wrote. That may be the work itself or a rewritten check: nobody can tell
//!   without reading, so it is a question for somebody who reads.

use super::front::{Front, Surroundings, front};
use super::{Proven, Seen, command_of, run_all};
use crate::floor::Inspection;
use crate::floor::reading::{self, Reading};
use crate::floor::skip_eligible::is_picture;
use crate::floor::test_files::{FileRole, TestFiles};
use crate::floor::tests_bite::hybrid::{self, Part, Recipe};
use crate::floor::tests_run::{Facts, Plan, Side};
use crate::host::git::{Change, ChangeKind, GitError};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::receipts::{Finding, Remedy, State};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The first statement of a disarmed program: it ends a shell and a Ruby script, and is an error in every language that
/// is compiled, checked or parsed as a whole.
const DISARMED: &[u8] = b"exit 97\n";
/// PHP prints whatever stands before its opening tag.
const DISARMED_PHP: &[u8] = b"<?php exit(97); ?>\n";

/// Changed paths named in a finding.
const MOST_NAMED: usize = 3;

/// What to run a command with, and where to keep what was run.
pub(super) struct Bench<'a, 'i> {
    pub(super) inspection: &'a Inspection<'i>,
    pub(super) plan: &'a Plan,
    pub(super) logs: &'a Path,
}

/// A question about every command that is green on the claim for a reason that the claim may have written itself. The
/// commands that were run to find out are added to what the proof rests on.
pub(super) fn doubts(bench: &Bench<'_, '_>, proven: &mut [Proven], runs: &mut Vec<Facts>) -> Vec<Finding> {
    let green: Vec<usize> = (0..proven.len()).filter(|at| is_green(&proven[*at])).collect();
    if green.is_empty() {
        return Vec::new();
    }
    match look(bench, &green, proven, runs) {
        Ok(findings) => findings,
        // What cannot be found out is no receipt.
        Err(why) => green
            .iter()
            .map(|at| question(&proven[*at], bench, &format!("what it rests on was not found out: {why}")))
            .collect(),
    }
}

fn is_green(proven: &Proven) -> bool {
    command_of(&proven.record.proof).is_some() && proven.record.on_claim == Some(true)
}

fn look(
    bench: &Bench<'_, '_>,
    green: &[usize],
    proven: &mut [Proven],
    runs: &mut Vec<Facts>,
) -> Result<Vec<Finding>, String> {
    let fronts = fronts(bench.inspection, green, proven)?;
    let git = |why: GitError| format!("the trees cannot be read: {why}");
    let of = |wanted: &dyn Fn(Front, &Proven) -> bool| -> Vec<usize> {
        green.iter().zip(&fronts).filter(|(at, front)| wanted(**front, &proven[**at])).map(|(at, _)| *at).collect()
    };
    let is_new = |proven: &Proven| proven.record.on_base == Some(false);
    let (judged, programs) =
        (of(&|front, proven| front != Front::Reads && is_new(proven)), of(&|front, _| front == Front::Program));
    let mut findings = BTreeMap::new();
    if !judged.is_empty()
        && let Some(commit) = settings_tree(bench.inspection)?
    {
        for (at, seen) in again(bench, (&judged, proven), &commit, runs) {
            if seen.holds != Some(false) {
                let why = if seen.holds.is_some() {
                    "it is green on the base's production code as well, once the claim's tests and settings are there"
                } else {
                    "whether it is green without the claim's production code was not found out"
                };
                findings.insert(at, question(&proven[at], bench, why));
            }
            proven[at].runs.extend(seen.run);
        }
    }
    if !programs.is_empty()
        && let Some(commit) = disarmed_tree(bench.inspection).map_err(git)?
    {
        for (at, seen) in again(bench, (&programs, proven), &commit, runs) {
            if seen.holds != Some(true) {
                let why = format!(
                    "it runs what the claim wrote, the work or a rewritten check: with the claim's changed programs unable \
                     to load and its settings put back, {}",
                    seen.words
                );
                findings.entry(at).or_insert_with(|| question(&proven[at], bench, &why));
            }
            proven[at].runs.extend(seen.run);
        }
    }
    Ok(findings.into_values().collect())
}

/// What each green command starts.
fn fronts(inspection: &Inspection<'_>, green: &[usize], proven: &[Proven]) -> Result<Vec<Front>, String> {
    let roles = TestFiles::new(&inspection.settings.tests)?;
    let is_test = |path: &RepoPath| {
        let content = inspection.in_claim(path).ok().flatten().unwrap_or_default();
        roles.classify(path, &content) == FileRole::Test
    };
    let changed: Vec<&RepoPath> = inspection.claim.changed.iter().flat_map(Change::paths).collect();
    let steers = |path: &RepoPath| {
        let name = path.file_name();
        name == b"package.json"
            || name == b"bunfig.toml"
            || [&b".npmrc"[..], b".yarnrc", b".pnpm"].iter().any(|head| name.starts_with(head))
    };
    let is_steered = changed.iter().any(|path| steers(path));
    let page = if is_steered { None } else { inspection.in_claim(&RepoPath::from("package.json")).ok().flatten() };
    let page = page.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok()).unwrap_or_default();
    let script = |name: &str| page["scripts"][name].as_str().map(str::to_owned);
    let programs: Vec<&RepoPath> = changed.iter().filter(|path| !is_test(path)).copied().collect();
    let around = Surroundings { script: &script, changed: &programs };
    let commands = green.iter().map(|at| command_of(&proven[*at].record.proof).unwrap_or_default());
    Ok(commands.map(|command| front(command, &around)).collect())
}

/// Runs these commands on another tree.
fn again(
    bench: &Bench<'_, '_>,
    (which, proven): (&[usize], &[Proven]),
    commit: &CommitId,
    runs: &mut Vec<Facts>,
) -> Vec<(usize, Seen)> {
    let commands: Vec<&str> = which.iter().filter_map(|at| command_of(&proven[*at].record.proof)).collect();
    let seen = run_all(bench.inspection, bench.plan, &commands, (Side::Hybrid, commit), bench.logs, runs);
    which.iter().copied().zip(seen).collect()
}

fn question(proven: &Proven, bench: &Bench<'_, '_>, why: &str) -> Finding {
    let command = command_of(&proven.record.proof).unwrap_or_default();
    let changed: Vec<String> =
        bench.inspection.claim.changed.iter().take(MOST_NAMED + 1).map(|change| change.path.to_string()).collect();
    let more = if changed.len() > MOST_NAMED { " and others" } else { "" };
    let named = changed[..changed.len().min(MOST_NAMED)].join(", ");
    Finding {
        state: State::Ask,
        place: format!("C{}", proven.record.criterion),
        expected: "a command that the claim cannot make green by itself, or somebody who reads what it changed"
            .to_owned(),
        observed: format!("`{}`: {why} (changed: {named}{more})", escape(command.as_bytes())),
        remedy: Remedy::AskUser,
    }
}

/// The base's production code with everything else of the claim; none if the claim has nothing else.
fn settings_tree(inspection: &Inspection<'_>) -> Result<Option<CommitId>, String> {
    let git = |why: GitError| format!("the trees cannot be read: {why}");
    let roles = TestFiles::new(&inspection.settings.tests)?;
    let changed = hybrid::changed_files(inspection, &roles).map_err(git)?;
    if changed.iter().all(|file| file.part == Part::Production) {
        return Ok(None);
    }
    let recipe = Recipe { with_configuration: true, ..Recipe::default() };
    let made = hybrid::make(inspection, &changed, &recipe).map_err(git)?;
    Ok((made.tree != inspection.claim.base_tree).then_some(made.commit))
}

/// The claim, unable to load anything that it wrote; none if there is nothing to disarm.
fn disarmed_tree(inspection: &Inspection<'_>) -> Result<Option<CommitId>, GitError> {
    let repo = inspection.repo;
    let listed = |tree: &TreeId| -> Result<BTreeMap<RepoPath, (u32, String)>, GitError> {
        Ok(repo.list(tree, "")?.into_iter().map(|(path, entry)| (path, (entry.mode, entry.id))).collect())
    };
    let base = listed(&inspection.claim.base_tree)?;
    let mut entries = listed(&inspection.claim.tree)?;
    let mut put_back: BTreeSet<&RepoPath> = BTreeSet::new();
    for change in &inspection.claim.changed {
        put_back.extend(&change.from);
        if change.kind == ChangeKind::Deleted {
            put_back.insert(&change.path);
        } else if is_picture(&change.path) {
            // Nothing loads it.
        } else if let Some(text) = disarmed(inspection, change)? {
            let blob = repo.write_blob(&text)?;
            if let Some(entry) = entries.get_mut(&change.path) {
                blob.as_str().clone_into(&mut entry.1);
            }
        } else {
            put_back.insert(&change.path);
        }
    }
    for path in put_back {
        entries.remove(path);
        if let Some(entry) = base.get(path) {
            // A file where the claim has a folder, or the other way round: the base's wins.
            entries.retain(|other, _| !is_within(other, path) && !is_within(path, other));
            entries.insert(path.clone(), entry.clone());
        }
    }
    let tree = repo.write_tree(&entries)?;
    if tree == inspection.claim.tree { Ok(None) } else { hybrid::commit_of(inspection, &tree).map(Some) }
}

fn is_within(path: &RepoPath, folder: &RepoPath) -> bool {
    path.as_bytes().strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}

/// A changed file's text that no language can load; none for settings and for what is no plain text, where a line more
/// would be no error.
fn disarmed(inspection: &Inspection<'_>, change: &Change) -> Result<Option<Vec<u8>>, GitError> {
    let name = change.path.file_name();
    let plain = matches!(change.new_mode.as_str(), "100644" | "100755");
    if !plain || name.starts_with(b".") || hybrid::is_configuration(&change.path) {
        return Ok(None);
    }
    let Reading::Text(text) = reading::read(inspection.repo, &change.new)? else { return Ok(None) };
    // The kernel reads the first line of a script.
    let head =
        if text.starts_with(b"#!") { text.iter().position(|b| *b == b'\n').map_or(text.len(), |at| at + 1) } else { 0 };
    let line = if name.ends_with(b".php") { DISARMED_PHP } else { DISARMED };
    let mut disarmed = text[..head].to_vec();
    if head > 0 && !disarmed.ends_with(b"\n") {
        disarmed.push(b'\n');
    }
    disarmed.extend_from_slice(line);
    disarmed.extend_from_slice(&text[head..]);
    Ok(Some(disarmed))
}
