//! Gitlinks: a pointer to a commit of another repository is a promise that the commit exists.

use super::quarantine::{self, Quarantine};
use super::{Sighting, SightingKind};
use crate::host::git::{Change, EntryKind, Git, GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use std::ffi::OsString;
use std::path::Path;

/// How much of git's answer about submodules is read.
const LARGEST_STATUS: u64 = 64 << 20;

/// What the worktree says about its gitlinks.
pub(super) fn look(
    repo: &Repo,
    base_tree: &TreeId,
    tree: &TreeId,
    changed: &[Change],
    quarantine: &Quarantine,
) -> Result<Vec<Sighting>, GitError> {
    let mut seen = without_declaration(repo, tree, changed)?;
    let nested: Vec<RepoPath> = seen.iter().filter_map(|s| s.path.clone()).collect();
    for change in changed.iter().filter(|c| c.new_mode == "160000" && !nested.contains(&c.path)) {
        seen.extend(moved_pointer(repo, change)?);
    }
    let declared = RepoPath::from(".gitmodules");
    if repo.entry(tree, &declared)?.is_some() || repo.entry(base_tree, &declared)?.is_some() {
        seen.extend(dirty(repo, quarantine)?);
    }
    Ok(seen)
}

/// Added gitlinks that no `.gitmodules` entry declares: landed, they would be pointers to nowhere.
pub(super) fn without_declaration(repo: &Repo, tree: &TreeId, changed: &[Change]) -> Result<Vec<Sighting>, GitError> {
    let mut seen = Vec::new();
    for change in changed.iter().filter(|c| c.new_mode == "160000") {
        if is_declared(repo, tree, &change.path)? {
            continue;
        }
        let detail = format!(
            "nested git repository without a .gitmodules entry: only a pointer to its commit {} would land, its files would be lost",
            change.new.short()
        );
        seen.push(Sighting { kind: SightingKind::NestedRepository, path: Some(change.path.clone()), detail });
    }
    Ok(seen)
}

fn is_declared(repo: &Repo, tree: &TreeId, path: &RepoPath) -> Result<bool, GitError> {
    let Some(entry) = repo.entry(tree, &RepoPath::from(".gitmodules"))?.filter(|e| e.kind() == EntryKind::File) else {
        return Ok(false);
    };
    let blob = format!("--blob={}", entry.id);
    let output = repo.git().run_unchecked(["config", "-z", &blob, "--get-regexp", r"^submodule\..*\.path$"])?;
    Ok(output
        .stdout
        .split(|b| *b == 0)
        .filter_map(|r| r.splitn(2, |b| *b == b'\n').nth(1))
        .any(|p| p == path.as_bytes()))
}

fn moved_pointer(repo: &Repo, change: &Change) -> Result<Vec<Sighting>, GitError> {
    let inner = repo.top().join(change.path.to_path_buf());
    let sighting = |kind, detail| Sighting { kind, path: Some(change.path.clone()), detail };
    let (old, new) = (change.old.as_str(), change.new.as_str());
    if !inner.join(".git").exists() {
        let detail = format!(
            "the submodule is not checked out here, so nobody can say whether its commit {} exists",
            change.new.short()
        );
        return Ok(vec![sighting(SightingKind::UnseenGitlink, detail)]);
    }
    let mut seen = Vec::new();
    if !is_published(repo, &inner, new)? {
        let detail = format!(
            "its commit {} is on no remote branch that this clone knows: others could not fetch it",
            change.new.short()
        );
        seen.push(sighting(SightingKind::UnreachableGitlink, detail));
    }
    let backwards = inside(repo, &inner).run_unchecked(["merge-base", "--is-ancestor", new, old])?;
    if !change.old.is_null() && old != new && backwards.success() {
        let detail =
            format!("the pointer moves backwards, from {} to its ancestor {}", change.old.short(), change.new.short());
        seen.push(sighting(SightingKind::SubmoduleRegressed, detail));
    }
    Ok(seen)
}

/// A git of the submodule. Not [`Repo::git`]: that one reads the objects of this repository.
fn inside<'h>(repo: &'h Repo, inner: &Path) -> Git<'h> {
    Git::new(repo.host(), inner)
}

fn is_published(repo: &Repo, inner: &Path, commit: &str) -> Result<bool, GitError> {
    let output =
        inside(repo, inner).run_unchecked(["for-each-ref", "--count=1", "--contains", commit, "refs/remotes/"])?;
    Ok(output.success() && !output.stdout.is_empty())
}

/// Submodules with content that no commit of theirs has. Porcelain v2 spells it `S<commit><modified><untracked>`.
///
/// Status compares files, inside the submodules too, and so may run filters that a worker planted.
fn dirty(repo: &Repo, quarantine: &Quarantine) -> Result<Vec<Sighting>, GitError> {
    let words = ["status", "--porcelain=v2", "-z", "--ignore-submodules=none", "--untracked-files=no"];
    let ended = quarantine.run_in_box(repo, &[words.map(OsString::from).to_vec()], Vec::new(), LARGEST_STATUS);
    let output = quarantine::answer(repo, "status", &ended, LARGEST_STATUS)?;
    let mut seen = Vec::new();
    for record in output.split(|b| *b == 0) {
        let words: Vec<&[u8]> = record.splitn(9, |b| *b == b' ').collect();
        let ([b"1", _, state, .., path], 9) = (&words[..], words.len()) else { continue };
        if let [b'S', _, modified, untracked] = state
            && (*modified == b'M' || *untracked == b'U')
        {
            let detail =
                "the submodule has uncommitted content: it is not part of this claim and would not land".to_owned();
            seen.push(Sighting { kind: SightingKind::DirtySubmodule, path: Some(RepoPath::from_bytes(*path)), detail });
        }
    }
    Ok(seen)
}
