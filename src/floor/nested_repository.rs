//! `nested-repository`: a repository inside the worktree would land as a pointer to commits that nobody else has.

use super::Inspection;
use super::finding::{deny, settle};
use super::gitmodules::Modules;
use crate::claim::SightingKind;
use crate::host::git::{EntryKind, GitError};
use crate::host::path::RepoPath;
use crate::receipts::{CheckReport, Finding};
use std::collections::BTreeSet;

/// The check's id.
pub const ID: &str = "nested-repository";

/// Denies a gitlink that the claim's `.gitmodules` does not declare, and a nested repository seen in the worktree
/// (C031), with a commit or without one. Gitlinks without a declaration that the base already had are not the worker's.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    settle(ID, look(on))
}

fn look(on: &Inspection<'_>) -> Result<Vec<Finding>, GitError> {
    let is_link = |mode: &str| mode == "160000";
    let known =
        |path: &RepoPath| on.claim.changed.iter().any(|c| c.path == *path && is_link(&c.old_mode) && c.from.is_none());
    let seen = on.sightings.iter().filter(|s| s.kind == SightingKind::NestedRepository);
    let mut nested: BTreeSet<RepoPath> = seen.filter_map(|s| s.path.clone()).filter(|path| !known(path)).collect();
    let new = on.claim.changed.iter().filter(|c| is_link(&c.new_mode) && !(is_link(&c.old_mode) && c.from.is_none()));
    let new: Vec<&RepoPath> = new.map(|c| &c.path).collect();
    let rules_changed = on.claim.changed.iter().any(|c| c.paths().any(|p| p.as_bytes() == b".gitmodules"));
    if !new.is_empty() || rules_changed {
        let declared = Modules::read(on.repo, &on.claim.tree)?;
        nested.extend(new.into_iter().filter(|path| !declared.has(path)).cloned());
        if rules_changed {
            for path in Modules::read(on.repo, &on.claim.base_tree)?.paths() {
                let entry = on.repo.entry(&on.claim.tree, path)?;
                if entry.is_some_and(|e| e.kind() == EntryKind::Gitlink) && !declared.has(path) {
                    nested.insert(path.clone());
                }
            }
        }
    }
    nested
        .iter()
        .map(|path| Ok(if on.repo.entry(&on.claim.tree, path)?.is_some() { finding(path) } else { unborn(path) }))
        .collect()
}

fn finding(path: &RepoPath) -> Finding {
    let expected = "plain files, or a submodule that .gitmodules declares; nothing was removed: move the inner `.git` \
                    away to land the files, or declare the submodule with its URL";
    let observed = "a nested git repository without an entry in .gitmodules; only a pointer to its commit would land, \
                    its files would not";
    deny(path, expected, observed)
}

/// Git cannot add a repository without a commit: the claim has neither a pointer nor the files.
fn unborn(path: &RepoPath) -> Finding {
    let expected =
        "plain files; nothing was removed: move the inner `.git` away to land the files, or move the folder away";
    let observed = "a nested git repository without a commit; git can add nothing of it, so its files are not in the claim \
                    and would not land";
    deny(path, expected, observed)
}
