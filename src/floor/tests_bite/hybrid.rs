//! The hybrid tree: the base's production code with the claim's tests.
//!
//! What stands among tests comes along: test files, snapshots, fixtures, helpers, and the test regions of mixed files.
//! Settings of runners, manifests and lockfiles stay the base's unless the tests cannot be collected without the claim's;
//! `conftest.py` is both and counts as tests, because it holds fixtures.

use super::cause::Brought;
use crate::floor::Inspection;
use crate::floor::reading;
use crate::floor::test_files::{FileRole, TestFiles, classify, is_among_tests, splice};
use crate::host::git::{Change, EntryKind, GitError};
use crate::host::ids::{BlobId, CommitId, TreeId};
use crate::host::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// Which half of the hybrid a changed file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::floor) enum Part {
    /// Comes from the claim.
    Test,
    /// Is spliced of both.
    Mixed,
    /// Comes from the claim only if nothing can be collected without it.
    Configuration,
    /// Stays the base's.
    Production,
}

/// A changed file that is no gitlink.
#[derive(Debug, Clone)]
pub(in crate::floor) struct Changed {
    pub(in crate::floor) path: RepoPath,
    pub(in crate::floor) part: Part,
    /// Its text at the base, under its old name; none if it is new.
    pub(in crate::floor) base: Option<Vec<u8>>,
    /// Its text in the claim; none if it is gone.
    pub(in crate::floor) claim: Option<Vec<u8>>,
    pub(in crate::floor) change: Change,
}

/// Every changed file with its part.
pub(in crate::floor) fn changed_files(
    inspection: &Inspection<'_>,
    roles: &TestFiles,
) -> Result<Vec<Changed>, GitError> {
    let mut found = Vec::new();
    for change in inspection.claim.changed.iter().filter(|change| !change.is_gitlink()) {
        // Pages of the board are bookkeeping, neither tests nor what they test.
        if change.paths().all(|path| path.is_under(".agentheim") && path.as_bytes().ends_with(b".md")) {
            continue;
        }
        let text = |id: Option<&BlobId>| id.map(|id| reading::text_or_empty(inspection.repo, id)).transpose();
        let old = reading::old_file(change).filter(|id| !id.is_null());
        let new = reading::new_file(change).filter(|id| !id.is_null());
        let (base, claim) = (text(old)?, text(new)?);
        let content = claim.as_deref().or(base.as_deref()).unwrap_or_default();
        let mut part = part_of(&change.path, content, roles);
        // A file whose last test went away is still mixed: its tests belong to the other half.
        if part == Part::Production
            && let Some(text) = &base
            && matches!(roles.classify(change.from.as_ref().unwrap_or(&change.path), text), FileRole::Mixed { .. })
        {
            part = Part::Mixed;
        }
        found.push(Changed { path: change.path.clone(), part, base, claim, change: change.clone() });
    }
    Ok(found)
}

/// True for settings of runners, manifests and lockfiles, by the name alone.
pub(in crate::floor) fn is_configuration(path: &RepoPath) -> bool {
    is_lock(path.file_name()) || classify(path, b"") == FileRole::Configuration
}

fn is_lock(name: &[u8]) -> bool {
    name.ends_with(b".lock") || name.ends_with(b"-lock.json") || name.ends_with(b"-lock.yaml")
}

fn part_of(path: &RepoPath, content: &[u8], roles: &TestFiles) -> Part {
    match roles.classify(path, content) {
        FileRole::Test | FileRole::Snapshot => Part::Test,
        FileRole::Mixed { .. } => Part::Mixed,
        FileRole::Configuration if path.file_name() == b"conftest.py" => Part::Test,
        FileRole::Configuration => Part::Configuration,
        FileRole::Other if is_lock(path.file_name()) => Part::Configuration,
        FileRole::Production | FileRole::Other if is_among_tests(path) => Part::Test,
        FileRole::Production | FileRole::Other => Part::Production,
    }
}

/// What production code the claim brings, for telling an absent name from a broken test.
pub(super) fn brought(changed: &[Changed]) -> Brought {
    let mut brought = Brought::default();
    for file in changed.iter().filter(|file| matches!(file.part, Part::Production | Part::Mixed)) {
        let Some(claim) = &file.claim else { continue };
        if file.base.is_none() || file.change.from.is_some() {
            brought.path(&String::from_utf8_lossy(file.path.as_bytes()));
        }
        let had: BTreeSet<&[u8]> = reading::lines(file.base.as_deref().unwrap_or_default()).collect();
        // A mixed file's test regions bring nothing.
        let production = production_half(file).unwrap_or_else(|| claim.clone());
        for line in reading::lines(&production).filter(|line| !had.contains(line)) {
            brought.line(&String::from_utf8_lossy(line));
        }
    }
    brought
}

/// The claim's production code of a mixed file with the base's tests.
fn production_half(file: &Changed) -> Option<Vec<u8>> {
    if file.part != Part::Mixed {
        return None;
    }
    splice(file.claim.as_deref()?, file.base.as_deref().unwrap_or_default()).ok()
}

/// How a hybrid is made.
#[derive(Debug, Clone, Default)]
pub(in crate::floor) struct Recipe {
    /// The claim's settings of runners, manifests and lockfiles come along.
    pub(in crate::floor) with_configuration: bool,
    /// Test files that stay the base's, because they kept everything from being built.
    pub(in crate::floor) leave_out: BTreeSet<RepoPath>,
}

/// A hybrid that could be made.
#[derive(Debug, Clone)]
pub(in crate::floor) struct Hybrid {
    pub(in crate::floor) tree: TreeId,
    pub(in crate::floor) commit: CommitId,
    /// Files whose test regions could not be put into the base's version, and why.
    pub(in crate::floor) unspliced: Vec<(RepoPath, String)>,
}

/// Makes the hybrid and an unreferenced commit of it: it is an object like any other until git collects it.
pub(in crate::floor) fn make(
    inspection: &Inspection<'_>,
    changed: &[Changed],
    recipe: &Recipe,
) -> Result<Hybrid, GitError> {
    let repo = inspection.repo;
    let mut entries: BTreeMap<RepoPath, (u32, String)> = repo
        .list(&inspection.claim.base_tree, "")?
        .into_iter()
        .map(|(path, entry)| (path, (entry.mode, entry.id)))
        .collect();
    let mut unspliced = Vec::new();
    for file in changed.iter().filter(|file| !recipe.leave_out.contains(&file.path)) {
        let taken = match file.part {
            Part::Test => true,
            Part::Configuration => recipe.with_configuration,
            Part::Production => false,
            Part::Mixed => {
                match spliced(file) {
                    Ok(Some(text)) => {
                        let blob = repo.write_blob(&text)?;
                        let old = file.change.from.as_ref().filter(|_| file.base.is_some());
                        let at = old.unwrap_or(&file.path).clone();
                        entries.insert(at, (0o100_644, blob.as_str().to_owned()));
                    }
                    Ok(None) => {}
                    Err(why) => unspliced.push((file.path.clone(), why)),
                }
                false
            }
        };
        if taken {
            if let Some(from) = &file.change.from {
                entries.remove(from);
            }
            entries.remove(&file.path);
            let entry = repo.entry(&inspection.claim.tree, &file.path)?;
            if let Some(entry) = entry.filter(|entry| matches!(entry.kind(), EntryKind::File | EntryKind::Link)) {
                entries.insert(file.path.clone(), (entry.mode, entry.id));
            }
        }
    }
    // A file and a folder of one name cannot both be: what the claim's tests need wins.
    let folders: BTreeSet<RepoPath> = entries.keys().flat_map(parents).collect();
    entries.retain(|path, _| !folders.contains(path));
    let tree = repo.write_tree(&entries)?;
    let commit = commit_of(inspection, &tree)?;
    Ok(Hybrid { tree, commit, unspliced })
}

/// The base's production code with the claim's test regions; of a new file the regions alone. None if there are none.
fn spliced(file: &Changed) -> Result<Option<Vec<u8>>, String> {
    let Some(claim) = &file.claim else { return Ok(None) };
    let text = splice(file.base.as_deref().unwrap_or_default(), claim).map_err(|why| why.to_string())?;
    Ok((file.base.is_some() || !text.is_empty()).then_some(text))
}

/// An unreferenced commit of a tree, by the base: a room is taken for a commit.
pub(in crate::floor) fn commit_of(inspection: &Inspection<'_>, tree: &TreeId) -> Result<CommitId, GitError> {
    let (_, time) = inspection.repo.parents_of(&inspection.claim.base)?;
    let parents = [inspection.claim.base.clone()];
    inspection.repo.write_commit(tree, &parents, time, "countersign: a tree to test\n")
}

fn parents(path: &RepoPath) -> Vec<RepoPath> {
    let bytes = path.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
    ends.map(|at| RepoPath::from_bytes(&bytes[..at])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TestSettings;

    #[test]
    fn what_stands_among_tests_comes_along_and_settings_do_not() {
        let roles = TestFiles::new(&TestSettings::default()).unwrap();
        for (path, text, part) in [
            ("tests/a.rs", "", Part::Test),
            ("tests/fixtures/a.json", "{}", Part::Test),
            ("tests/helpers.py", "", Part::Test),
            ("lib/__snapshots__/a.snap", "", Part::Test),
            ("conftest.py", "", Part::Test),
            ("src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {}\n", Part::Mixed),
            ("src/a.rs", "fn a() {}\n", Part::Production),
            ("package.json", "{}", Part::Configuration),
            ("Cargo.lock", "", Part::Configuration),
            ("package-lock.json", "{}", Part::Configuration),
            ("skills/a/SKILL.md", "x", Part::Production),
        ] {
            assert_eq!(part_of(&RepoPath::from(path), text.as_bytes(), &roles), part, "{path}");
        }
    }
}
