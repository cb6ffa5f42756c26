//! Where a worker works, and what it should know about the project.

use super::WorkError;
use super::hand::{Hand, io, move_own};
use super::journal::Entry;
use super::settings::Terms;
use super::standing::{Life, Subject, is_worktree};
use crate::host::git::{RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::integrate::{SalvageTag, Settled, remove_worktree, salvage};
use crate::task::TaskId;
use crate::task::layout::{DECISIONS, Folder};
use crate::worker::mission::Page;
use std::ffi::OsStr;
use std::fs;

/// Bytes of one page, and of all pages, that a worker is told.
const LARGEST_PAGE: u64 = 32 << 10;
const MOST_PAGES: usize = 12;
/// Entries of the diary.
const RECENT_ENTRIES: usize = 3;

/// What is known about a task's surroundings.
#[derive(Debug, Default)]
pub(super) struct Around {
    pub(super) pages: Vec<Page>,
    pub(super) recent: String,
}

/// Reads it from the commit that the life began with.
pub(super) fn read(repo: &Repo, terms: &Terms, subject: &Subject, life: &Life) -> Result<Around, WorkError> {
    let tree = repo.tree_of(&life.start)?;
    let mut wanted = vec![terms.layout.readme(&subject.context)];
    let records = repo.folder(&tree, &RepoPath::from(DECISIONS)).unwrap_or_default();
    for reference in &life.task.related_adrs {
        let number = reference.trim_start_matches("ADR-");
        wanted.extend(
            named(&records, number).map(|name| RepoPath::from_bytes([DECISIONS.as_bytes(), b"/", &name].concat())),
        );
    }
    let done = terms.layout.folder(&subject.context, Folder::Done);
    let finished = repo.folder(&tree, &done).unwrap_or_default();
    for reference in &life.task.prior_art {
        wanted.extend(
            named(&finished, reference).map(|name| RepoPath::from_bytes([done.as_bytes(), b"/", &name].concat())),
        );
    }
    let mut pages = Vec::new();
    for path in wanted.into_iter().take(MOST_PAGES) {
        pages.extend(page(repo, &tree, &path)?);
    }
    let diary = page(repo, &tree, &terms.layout.protocol())?;
    let recent = diary.map(|page| newest(&page.text)).unwrap_or_default();
    Ok(Around { pages, recent })
}

/// Names in a folder that mean a reference: the name itself, or the reference and `-`.
fn named<'n, V>(folder: &'n [(Vec<u8>, V)], reference: &str) -> impl Iterator<Item = Vec<u8>> + use<'n, V> {
    let head = format!("{reference}-").into_bytes();
    let whole = format!("{reference}.md").into_bytes();
    folder.iter().map(|(name, _)| name).filter(move |name| **name == whole || name.starts_with(&head)).cloned()
}

fn page(repo: &Repo, tree: &TreeId, path: &RepoPath) -> Result<Option<Page>, WorkError> {
    let Some(mut bytes) = repo.file(tree, path, LARGEST_PAGE)? else { return Ok(None) };
    bytes.truncate(usize::try_from(LARGEST_PAGE).unwrap_or(usize::MAX));
    Ok(Some(Page { path: path.to_string(), text: String::from_utf8_lossy(&bytes).into_owned() }))
}

/// The newest entries of a diary: those below the end of its header.
fn newest(diary: &str) -> String {
    let body = diary.split_once("\n---\n\n").map_or("", |(_, body)| body);
    body.split("\n---\n").take(RECENT_ENTRIES).collect::<Vec<_>>().join("\n---\n")
}

/// Makes `.worktrees/<id>` on `aw/<id>` from the commit that took the task. What an earlier life left on that branch stays
/// reachable under a reference of ours.
pub(super) fn make_worktree(hand: &mut Hand<'_>, start: &CommitId) -> Result<(), WorkError> {
    let folder = hand.terms.top.join(".worktrees");
    let place = hand.worktree();
    if is_worktree(&hand.repo, &place) {
        clear_earlier_life(hand, start)?;
    } else if place.exists() {
        let empty = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_none());
        if !empty {
            return Err(WorkError::InTheWay(place));
        }
    }
    // The worktrees ignore themselves; the project's own .gitignore is not ours to edit.
    let ignore = folder.join(".gitignore");
    fs::create_dir_all(&folder).map_err(io("make", &folder))?;
    if !ignore.exists() {
        fs::write(&ignore, "*\n").map_err(io("write", &ignore))?;
    }
    let branch = hand.branch()?;
    let tip = hand.repo.read_ref(&branch)?;
    hand.effect(|| {
        let repo = &hand.repo;
        if let Some(tip) = &tip
            && !repo.is_ancestor(start, tip)?
        {
            keep_branch(repo, &hand.subject.id, tip)?;
            move_own(repo, &branch, start, Some(tip))?;
        }
        if tip.is_none() {
            move_own(repo, &branch, start, None)?;
        }
        let short = branch.as_str().trim_start_matches("refs/heads/");
        let words = ["worktree", "add", "--quiet", "--force", "--"].map(OsStr::new);
        repo.git().run(words.into_iter().chain([place.as_os_str(), OsStr::new(short)]))?;
        Ok(())
    })
}

/// Takes away the worktree that an earlier life of the task left, once its work is saved.
fn clear_earlier_life(hand: &mut Hand<'_>, start: &CommitId) -> Result<(), WorkError> {
    let inside = hand.repo.discover_beside(&hand.worktree())?;
    let head = inside.resolve("HEAD")?.ok_or_else(|| hand.inconsistent("its worktree has no commit checked out"))?;
    let base = hand.repo.merge_base(start, &head)?.unwrap_or(head);
    let saved = salvage(&inside, &hand.terms.top, &hand.subject.id, SalvageTag::Discarded, &base)?;
    let record = saved.record().clone();
    hand.record(Entry::Saved { tag: record.tag, reference: record.reference, patch: record.patch })?;
    hand.effect(|| Ok(remove_worktree(&hand.repo, Settled::Salvaged(saved))?))
}

/// Keeps the commits of a task's branch reachable after the branch moves or goes.
pub(super) fn keep_branch(repo: &Repo, id: &TaskId, tip: &CommitId) -> Result<(), WorkError> {
    let prefix = format!("refs/countersign/claims/{id}/");
    if repo.refs_under(&prefix)?.iter().any(|(_, id)| id == tip.as_str()) {
        return Ok(());
    }
    let name = RefName::new(&format!("{prefix}branch-{}", tip.short())).map_err(WorkError::NoTarget)?;
    move_own(repo, &name, tip, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_of_a_diary_come_first_and_its_header_not_at_all() {
        let diary = "# Protocol\n\nHead.\n\n---\n\n## 4\n\n---\n\n## 3\n\n---\n\n## 2\n\n---\n\n## 1\n\n---\n\n";
        let recent = newest(diary);
        assert!(recent.starts_with("## 4") && recent.contains("## 2") && !recent.contains("## 1"));
        assert_eq!(newest("# Protocol\n"), "");
    }

    #[test]
    fn a_reference_means_a_name_that_begins_with_it_and_no_longer_number() {
        let names: Vec<(Vec<u8>, ())> =
            ["0007-a.md", "0070-b.md", "0007.md"].iter().map(|name| (name.as_bytes().to_vec(), ())).collect();
        let found: Vec<_> = named(&names, "0007").collect();
        assert_eq!(found, [b"0007-a.md".to_vec(), b"0007.md".to_vec()]);
    }
}
