//! Trees made from trees: a merge without a checkout, and an edit without an index.

use super::objects::NewEntry;
use super::{EntryKind, GitError, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use std::collections::BTreeMap;

/// What a merge gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// One tree.
    Clean(TreeId),
    /// Paths that both sides changed, each once, in path order.
    Conflict(Vec<RepoPath>),
}

/// What decides how texts are merged, whatever the user configured.
const PLAIN: &[&str] = &[
    "-c",
    "merge.renames=true",
    "-c",
    "merge.directoryRenames=conflict",
    "-c",
    "merge.renormalize=false",
    "-c",
    "merge.renameLimit=7000",
    "-c",
    "diff.algorithm=histogram",
    "-c",
    "core.attributesFile=/dev/null",
];

impl Repo {
    /// Merges `theirs` into `ours` as trees alone; nothing is checked out and no reference moves. Attributes are those of
    /// `ours` (git 2.41 or newer).
    ///
    /// # Errors
    /// Git fails, or the commits have no history in common.
    pub fn merge(&self, ours: &CommitId, theirs: &CommitId) -> Result<Merged, GitError> {
        let words =
            ["merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", ours.as_str(), theirs.as_str()];
        let git = self.git().env("GIT_ATTR_SOURCE", ours.as_str());
        let output = git.run_unchecked(PLAIN.iter().copied().chain(words))?;
        let mut fields = output.stdout.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        let tree = fields.next().and_then(|id| TreeId::new(&String::from_utf8_lossy(id)).ok());
        match (output.code, tree) {
            (Some(0), Some(tree)) => Ok(Merged::Clean(tree)),
            (Some(1), Some(_)) => {
                let mut paths: Vec<RepoPath> = fields.map(RepoPath::from_bytes).collect();
                paths.sort();
                paths.dedup();
                Ok(Merged::Conflict(paths))
            }
            (code, _) => Err(GitError::Failed {
                command: format!("git merge-tree {} {}", ours.short(), theirs.short()),
                ending: code.map_or_else(|| "killed by a signal".to_owned(), |code| format!("exit {code}")),
                tree: self.top().to_owned(),
                said: output.said(),
            }),
        }
    }

    /// The tree with these files written (`Some`) or gone (`None`). Folders are made, and vanish with their last file.
    ///
    /// # Errors
    /// A path that is not safe, or whose folder is a file; the object store is full or read-only.
    pub fn edit_tree(&self, tree: &TreeId, edits: &BTreeMap<RepoPath, Option<NewEntry>>) -> Result<TreeId, GitError> {
        if let Some(path) = edits.keys().find(|path| !path.is_safe()) {
            return Err(unfit(path, "a path that git would not check out"));
        }
        let top = edits.iter().map(|(path, entry)| (path.as_bytes(), entry.as_ref())).collect();
        let made = self.edit_folder(Some(tree.as_str()), &[], top)?;
        // An emptied tree is a tree all the same.
        made.map_or_else(|| self.write_tree(&BTreeMap::new()), Ok)
    }

    /// One folder; none if nothing is left in it.
    fn edit_folder(
        &self,
        id: Option<&str>,
        prefix: &[u8],
        edits: BTreeMap<&[u8], Option<&NewEntry>>,
    ) -> Result<Option<TreeId>, GitError> {
        let mut here = BTreeMap::new();
        if let Some(id) = id {
            let tree = TreeId::new(id).map_err(|why| unfit(&RepoPath::from_bytes(prefix), &why.to_string()))?;
            here.extend(self.folder(&tree, &RepoPath::from(""))?);
        }
        let mut inner: BTreeMap<&[u8], BTreeMap<&[u8], Option<&NewEntry>>> = BTreeMap::new();
        let mut files: BTreeMap<Vec<u8>, NewEntry> =
            here.iter().map(|(name, entry)| (name.clone(), (entry.mode, entry.id.clone()))).collect();
        for (path, entry) in edits {
            match (path.iter().position(|byte| *byte == b'/'), entry) {
                (Some(at), _) => {
                    inner.entry(&path[..at]).or_default().insert(&path[at + 1..], entry);
                }
                (None, Some(entry)) => {
                    if here.get(path).is_some_and(|old| old.kind() == EntryKind::Folder) {
                        return Err(unfit(&RepoPath::from_bytes([prefix, path].concat()), "it is a folder"));
                    }
                    files.insert(path.to_vec(), entry.clone());
                }
                (None, None) => drop(files.remove(path)),
            }
        }
        for (name, edits) in inner {
            let old = here.get(name);
            let place = [prefix, name, b"/"].concat();
            let folder = old.filter(|entry| entry.kind() == EntryKind::Folder);
            if old.is_some() && folder.is_none() {
                if edits.values().all(Option::is_none) {
                    continue;
                }
                return Err(unfit(&RepoPath::from_bytes(&place[..place.len() - 1]), "it is no folder"));
            }
            match self.edit_folder(folder.map(|entry| entry.id.as_str()), &place, edits)? {
                Some(tree) => drop(files.insert(name.to_vec(), (0o040_000, tree.as_str().to_owned()))),
                None => drop(files.remove(name)),
            }
        }
        if files.is_empty() { Ok(None) } else { self.write_one_tree(&files).map(Some) }
    }
}

fn unfit(path: &RepoPath, why: &str) -> GitError {
    GitError::Unreadable { command: format!("write {path}"), what: escape(why.as_bytes()) }
}
