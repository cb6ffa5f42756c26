//! The board's pages, read once from a tree.

use super::Completion;
use crate::host::git::{Entry, EntryKind, GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use crate::task::layout::{Layout, ROOT, TOP_INDEX};
use crate::task::read_task;
use std::collections::{BTreeMap, BTreeSet};

/// A page larger than this is not edited.
const LARGEST_PAGE: u64 = 8 << 20;

/// The names below `.agentheim`, and the texts of those pages that a landing may write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pages {
    names: BTreeSet<RepoPath>,
    files: BTreeMap<RepoPath, Vec<u8>>,
    modes: BTreeMap<RepoPath, u32>,
    /// Too large, a link, or no file.
    unreadable: BTreeSet<RepoPath>,
}

impl Pages {
    /// Reads them from a tree. `id` names the task whose own pages are read, too.
    ///
    /// # Errors
    /// The tree or a blob is missing.
    pub fn load(repo: &Repo, tree: &TreeId, layout: Layout, id: &str) -> Result<Self, GitError> {
        let mut pages = Self::default();
        for (path, entry) in repo.list(tree, ROOT)? {
            pages.names.insert(path.clone());
            if !is_wanted(layout, &path, id) {
                continue;
            }
            let blob = Some(&entry).filter(|entry| entry.kind() == EntryKind::File).and_then(Entry::blob);
            let bytes = blob.map(|blob| repo.blob(&blob, LARGEST_PAGE)).transpose()?;
            match bytes {
                Some((bytes, false)) => {
                    pages.modes.insert(path.clone(), entry.mode);
                    pages.files.insert(path, bytes);
                }
                _ => drop(pages.unreadable.insert(path)),
            }
        }
        Ok(pages)
    }

    /// Pages given by hand.
    pub fn of(files: impl IntoIterator<Item = (RepoPath, Vec<u8>)>) -> Self {
        let files: BTreeMap<_, _> = files.into_iter().collect();
        Self { names: files.keys().cloned().collect(), files, ..Self::default() }
    }

    /// The task's page, if its criteria are not those of the task that was judged.
    pub fn other_wording(&self, done: &Completion<'_>) -> Option<RepoPath> {
        let id = done.task.id.as_ref().map_or("", |id| id.as_str());
        let wanted: Vec<_> = done.task.bullets.iter().map(|bullet| &bullet.criterion).collect();
        let same = |path: &RepoPath| {
            let task = self.file(path).and_then(|bytes| read_task(bytes, path).ok());
            task.is_some_and(|task| task.bullets.iter().map(|bullet| &bullet.criterion).eq(wanted.iter().copied()))
        };
        let mut own = self.names.iter().filter(|path| done.layout.place(path).is_some() && is_of(path, id));
        own.find(|path| !same(path)).cloned()
    }

    /// The mode that a page is written with.
    pub fn mode(&self, path: &RepoPath) -> u32 {
        self.modes.get(path).copied().unwrap_or(0o100_644)
    }

    pub(super) fn file(&self, path: &RepoPath) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &RepoPath> {
        self.names.iter()
    }

    pub(super) fn is_unreadable(&self, path: &RepoPath) -> bool {
        self.unreadable.contains(path)
    }
}

fn is_wanted(layout: Layout, path: &RepoPath, id: &str) -> bool {
    let page = matches!(path.file_name(), b"INDEX.md" | b"README.md");
    let own = layout.place(path).is_some() && is_of(path, id);
    page || own
        || *path == layout.protocol()
        || *path == layout.context_map()
        || path.as_bytes() == TOP_INDEX.as_bytes()
}

/// True if a task file's name means this id (agentheim.md §2.1).
pub(super) fn is_of(path: &RepoPath, id: &str) -> bool {
    let rest = path.file_name().strip_prefix(id.as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"-") || rest.eq_ignore_ascii_case(b".md"))
}
