//! The object graph: revisions, commits, trees, blobs. libgit2 where it can, plumbing where it cannot.

use super::{GitError, Repo};
use crate::host::clock::Timestamp;
use crate::host::ids::{BlobId, CommitId, TreeId};
use crate::host::path::RepoPath;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// What a tree entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file (mode 100644 or 100755).
    File,
    /// A symbolic link (120000).
    Link,
    /// A folder (040000).
    Folder,
    /// A commit of another repository (160000): submodule or nested repository.
    Gitlink,
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The mode as git stores it, e.g. `0o100644`.
    pub mode: u32,
    /// What it points to (for a folder: a tree; for a gitlink: a foreign commit).
    pub id: String,
}

impl Entry {
    /// What it is, from its mode.
    pub fn kind(&self) -> EntryKind {
        match self.mode & 0o170_000 {
            0o040_000 => EntryKind::Folder,
            0o120_000 => EntryKind::Link,
            0o160_000 => EntryKind::Gitlink,
            _ => EntryKind::File,
        }
    }

    /// The blob, if it is a file or a link.
    pub fn blob(&self) -> Option<BlobId> {
        match self.kind() {
            EntryKind::File | EntryKind::Link => BlobId::new(&self.id).ok(),
            EntryKind::Folder | EntryKind::Gitlink => None,
        }
    }
}

/// A new file for [`Repo::write_tree`] and [`Repo::edit_tree`]: its mode and what it points to.
pub type NewEntry = (u32, String);

/// True for the plain full name of a reference, without any of git's suffixes for revisions.
fn is_full_name(rev: &str) -> bool {
    rev.starts_with("refs/") && !rev.contains(['~', '^', ':', '@', '{', '*', '?', '[', '\\', ' '])
}

impl Repo {
    /// The commit a revision names, or `None` if it names none.
    ///
    /// # Errors
    /// Git fails. A revision is a user's word: it may not start with `-`.
    pub fn resolve(&self, rev: &str) -> Result<Option<CommitId>, GitError> {
        if rev.starts_with('-') || rev.is_empty() {
            return Ok(None);
        }
        if let Some(repo) = self.graph.borrow().as_ref() {
            let found = repo.revparse_single(rev).and_then(|object| object.peel_to_commit());
            match found {
                Ok(commit) => return Ok(CommitId::new(&commit.id().to_string()).ok()),
                // The full name of a reference has one spelling only.
                Err(why) if why.code() == git2::ErrorCode::NotFound && is_full_name(rev) => return Ok(None),
                Err(_) => {}
            }
            // libgit2 knows fewer spellings than git: let git have the last word.
        }
        let wanted = format!("{rev}^{{commit}}");
        let output = self.git().run_unchecked(["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])?;
        Ok(if output.success() { CommitId::new(&output.line()).ok() } else { None })
    }

    /// A commit's tree.
    ///
    /// # Errors
    /// The commit is missing (shallow clone).
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, GitError> {
        if let Some(repo) = self.graph.borrow().as_ref() {
            let found = oid(commit.as_str()).and_then(|id| repo.find_commit(id)).map(|c| c.tree_id().to_string());
            return found.map_err(|why| self.graph_error(commit.as_str(), &why)).and_then(|id| tree_id(&id));
        }
        let output = self.git().run(["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")])?;
        tree_id(&output.line())
    }

    /// A commit's parents and its committer time in seconds.
    ///
    /// # Errors
    /// The commit is missing.
    pub fn parents_of(&self, commit: &CommitId) -> Result<(Vec<CommitId>, Timestamp), GitError> {
        let output = self.git_show_commit(commit)?;
        let mut words = output.split(' ');
        let time = words.next().and_then(|t| t.parse().ok()).unwrap_or(0);
        Ok((words.filter_map(|w| CommitId::new(w).ok()).collect(), Timestamp(time)))
    }

    fn git_show_commit(&self, commit: &CommitId) -> Result<String, GitError> {
        if let Some(repo) = self.graph.borrow().as_ref() {
            let found = oid(commit.as_str()).and_then(|id| repo.find_commit(id));
            let commit = found.map_err(|why| self.graph_error(commit.as_str(), &why))?;
            let parents: Vec<String> = commit.parent_ids().map(|id| id.to_string()).collect();
            return Ok(format!("{} {}", commit.time().seconds().max(0), parents.join(" ")));
        }
        Ok(self.git().run(["log", "-1", "--no-show-signature", "--format=%ct %P", commit.as_str(), "--"])?.line())
    }

    /// A commit's full message, as bytes.
    ///
    /// # Errors
    /// The commit is missing.
    pub fn message_of(&self, commit: &CommitId) -> Result<Vec<u8>, GitError> {
        let output = self.git().run(["log", "-1", "--no-show-signature", "--format=%B", commit.as_str(), "--"])?;
        Ok(output.stdout)
    }

    /// The best common ancestor of two commits.
    ///
    /// # Errors
    /// Git fails.
    pub fn merge_base(&self, one: &CommitId, two: &CommitId) -> Result<Option<CommitId>, GitError> {
        if let Some(repo) = self.graph.borrow().as_ref() {
            let found = oid(one.as_str()).and_then(|a| oid(two.as_str()).and_then(|b| repo.merge_base(a, b)));
            return match found {
                Ok(id) => Ok(CommitId::new(&id.to_string()).ok()),
                Err(why) if why.code() == git2::ErrorCode::NotFound => Ok(None),
                Err(why) => Err(self.graph_error(&format!("{}...{}", one.short(), two.short()), &why)),
            };
        }
        let output = self.git().run_unchecked(["merge-base", one.as_str(), two.as_str()])?;
        Ok(if output.success() { CommitId::new(&output.line()).ok() } else { None })
    }

    /// True if `old` is `new` or one of its ancestors.
    ///
    /// # Errors
    /// Git fails.
    pub fn is_ancestor(&self, old: &CommitId, new: &CommitId) -> Result<bool, GitError> {
        Ok(old == new || self.merge_base(old, new)?.as_ref() == Some(old))
    }

    /// The entry at `path` in a tree.
    ///
    /// # Errors
    /// The tree is missing or unreadable.
    pub fn entry(&self, tree: &TreeId, path: &RepoPath) -> Result<Option<Entry>, GitError> {
        if let Some(repo) = self.graph.borrow().as_ref() {
            let found = oid(tree.as_str()).and_then(|id| repo.find_tree(id));
            let tree = found.map_err(|why| self.graph_error(tree.as_str(), &why))?;
            return match tree.get_path(&path.to_path_buf()) {
                Ok(entry) => Ok(Some(Entry { mode: mode_of(entry.filemode_raw()), id: entry.id().to_string() })),
                Err(why) if why.code() == git2::ErrorCode::NotFound => Ok(None),
                Err(why) => Err(self.graph_error(&format!("{}:{path}", tree.id()), &why)),
            };
        }
        let mut args: Vec<OsString> =
            ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree.as_str(), "--"].map(OsString::from).into();
        args.push(OsString::from_vec(path.as_bytes().to_vec()));
        let listed = parse_ls_tree(&self.git().run(args)?.stdout)?;
        Ok(listed.into_iter().find(|(found, _)| found == path).map(|(_, entry)| entry))
    }

    /// All files, links and gitlinks below `folder` (the whole tree if it is empty), sorted as git sorts them.
    ///
    /// # Errors
    /// The tree is missing or unreadable.
    pub fn list(&self, tree: &TreeId, folder: &str) -> Result<Vec<(RepoPath, Entry)>, GitError> {
        let folder = folder.trim_end_matches('/');
        if self.graph.borrow().is_some() {
            let root = if folder.is_empty() {
                Some(tree.as_str().to_owned())
            } else {
                self.entry(tree, &RepoPath::from(folder))?.filter(|e| e.kind() == EntryKind::Folder).map(|e| e.id)
            };
            let mut found = Vec::new();
            if let Some(root) = root {
                let prefix = if folder.is_empty() { Vec::new() } else { format!("{folder}/").into_bytes() };
                self.walk(&root, &prefix, &mut found)?;
            }
            return Ok(found);
        }
        let mut args = vec!["--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", tree.as_str()];
        let folder = format!("{folder}/");
        if folder != "/" {
            args.extend(["--", &folder]);
        }
        parse_ls_tree(&self.git().run(args)?.stdout)
    }

    /// The names and entries directly inside `folder` (the top if it is empty); nothing if it is no folder.
    ///
    /// # Errors
    /// The tree is missing or unreadable.
    pub fn folder(&self, tree: &TreeId, folder: &RepoPath) -> Result<Vec<(Vec<u8>, Entry)>, GitError> {
        let id = if folder.as_bytes().is_empty() {
            tree.as_str().to_owned()
        } else {
            match self.entry(tree, folder)?.filter(|e| e.kind() == EntryKind::Folder) {
                Some(entry) => entry.id,
                None => return Ok(Vec::new()),
            }
        };
        if let Some(repo) = self.graph.borrow().as_ref() {
            let tree = oid(&id).and_then(|oid| repo.find_tree(oid)).map_err(|why| self.graph_error(&id, &why))?;
            let entry = |e: git2::TreeEntry<'_>| {
                (e.name_bytes().to_vec(), Entry { mode: mode_of(e.filemode_raw()), id: e.id().to_string() })
            };
            return Ok(tree.iter().map(entry).collect());
        }
        let listed = parse_ls_tree(&self.git().run(["ls-tree", "-z", &id])?.stdout)?;
        Ok(listed.into_iter().map(|(path, entry)| (path.as_bytes().to_vec(), entry)).collect())
    }

    fn walk(&self, id: &str, prefix: &[u8], found: &mut Vec<(RepoPath, Entry)>) -> Result<(), GitError> {
        let mut folders = Vec::new();
        {
            let graph = self.graph.borrow();
            let Some(repo) = graph.as_ref() else { return Ok(()) };
            let tree = oid(id).and_then(|oid| repo.find_tree(oid)).map_err(|why| self.graph_error(id, &why))?;
            for entry in &tree {
                let path = [prefix, entry.name_bytes()].concat();
                let entry = Entry { mode: mode_of(entry.filemode_raw()), id: entry.id().to_string() };
                folders.push((path, entry));
            }
        }
        for (path, entry) in folders {
            if entry.kind() == EntryKind::Folder {
                self.walk(&entry.id, &[&path[..], b"/"].concat(), found)?;
            } else {
                found.push((RepoPath::from_bytes(path), entry));
            }
        }
        Ok(())
    }

    /// A blob's bytes and whether they were cut at `cap`.
    ///
    /// # Errors
    /// The blob is missing (partial clone, lost quarantine).
    pub fn blob(&self, id: &BlobId, cap: u64) -> Result<(Vec<u8>, bool), GitError> {
        let cap = usize::try_from(cap).unwrap_or(usize::MAX);
        if let Some(repo) = self.graph.borrow().as_ref() {
            let header = oid(id.as_str()).and_then(|oid| repo.odb().and_then(|odb| odb.read_header(oid)));
            // libgit2 loads objects whole: one that is far over the cap is streamed by git instead.
            if !header.is_ok_and(|(size, _)| size > cap.saturating_mul(8).max(64 << 20)) {
                let found = oid(id.as_str()).and_then(|oid| repo.find_blob(oid));
                if let Ok(blob) = found {
                    let bytes = blob.content();
                    return Ok((bytes[..bytes.len().min(cap)].to_vec(), bytes.len() > cap));
                }
            }
        }
        self.git().head_of_blob(id, cap)
    }

    /// A blob's size in bytes.
    ///
    /// # Errors
    /// The blob is missing.
    pub fn blob_size(&self, id: &BlobId) -> Result<u64, GitError> {
        if let Some(repo) = self.graph.borrow().as_ref()
            && let Ok((size, _)) = oid(id.as_str()).and_then(|oid| repo.odb().and_then(|odb| odb.read_header(oid)))
        {
            return Ok(size as u64);
        }
        let output = self.git().run(["cat-file", "-s", id.as_str()])?;
        output
            .line()
            .parse()
            .map_err(|_| GitError::Unreadable { command: "git cat-file -s".to_owned(), what: output.line() })
    }

    /// The file at `path` of a tree, up to `cap` bytes; `None` if there is none or it is not a regular file.
    ///
    /// # Errors
    /// The tree or blob is missing.
    pub fn file(&self, tree: &TreeId, path: &RepoPath, cap: u64) -> Result<Option<Vec<u8>>, GitError> {
        let entry = self.entry(tree, path)?.filter(|e| e.kind() == EntryKind::File);
        match entry.and_then(|e| e.blob()) {
            Some(blob) => Ok(Some(self.blob(&blob, cap)?.0)),
            None => Ok(None),
        }
    }

    /// Stores bytes as a blob.
    ///
    /// # Errors
    /// The object store is full or read-only.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<BlobId, GitError> {
        let text = if let Some(repo) = self.graph.borrow().as_ref() {
            repo.blob(bytes).map(|id| id.to_string()).map_err(|why| self.store_error("a blob", &why))?
        } else {
            self.git().stdin(bytes).run(["hash-object", "-w", "--stdin", "--no-filters"])?.line()
        };
        BlobId::new(&text)
            .map_err(|why| GitError::Unreadable { command: "git hash-object".to_owned(), what: why.to_string() })
    }

    /// Stores a tree of these entries (nested folders are made), by `path → (mode, id)`.
    ///
    /// # Errors
    /// The object store is full or read-only, or a path is not safe.
    pub fn write_tree(&self, entries: &BTreeMap<RepoPath, NewEntry>) -> Result<TreeId, GitError> {
        let mut folders: BTreeMap<Vec<u8>, BTreeMap<RepoPath, NewEntry>> = BTreeMap::new();
        let mut here: BTreeMap<Vec<u8>, NewEntry> = BTreeMap::new();
        for (path, entry) in entries {
            let bytes = path.as_bytes();
            match bytes.iter().position(|b| *b == b'/') {
                Some(at) => {
                    let inner = folders.entry(bytes[..at].to_vec()).or_default();
                    inner.insert(RepoPath::from_bytes(&bytes[at + 1..]), entry.clone());
                }
                None => {
                    here.insert(bytes.to_vec(), entry.clone());
                }
            }
        }
        for (name, inner) in folders {
            let tree = self.write_tree(&inner)?;
            here.insert(name, (0o040_000, tree.as_str().to_owned()));
        }
        self.write_one_tree(&here)
    }

    pub(super) fn write_one_tree(&self, entries: &BTreeMap<Vec<u8>, NewEntry>) -> Result<TreeId, GitError> {
        if let Some(repo) = self.graph.borrow().as_ref() {
            let mut builder = repo.treebuilder(None).map_err(|why| self.store_error("a tree", &why))?;
            for (name, (mode, id)) in entries {
                let mode = i32::try_from(*mode).unwrap_or(0o100_644);
                let added = oid(id).and_then(|id| builder.insert(&name[..], id, mode).map(|_| ()));
                added.map_err(|why| self.store_error("a tree", &why))?;
            }
            let id = builder.write().map_err(|why| self.store_error("a tree", &why))?;
            return tree_id(&id.to_string());
        }
        let mut input = Vec::new();
        for (name, (mode, id)) in entries {
            let kind = match mode & 0o170_000 {
                0o040_000 => "tree",
                0o160_000 => "commit",
                _ => "blob",
            };
            input.extend_from_slice(format!("{mode:06o} {kind} {id}\t").as_bytes());
            input.extend_from_slice(name);
            input.push(0);
        }
        tree_id(&self.git().stdin(input).run(["mktree", "-z"])?.line())
    }

    /// Stores a commit by countersign itself. The identity is fixed and the time is the caller's, so that the same work
    /// gives the same id on every machine.
    ///
    /// # Errors
    /// The object store is full or read-only.
    pub fn write_commit(
        &self,
        tree: &TreeId,
        parents: &[CommitId],
        time: Timestamp,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let text = if let Some(repo) = self.graph.borrow().as_ref() {
            let made = (|| {
                let seconds = i64::try_from(time.0).unwrap_or(0);
                let who = git2::Signature::new("countersign", "countersign@localhost", &git2::Time::new(seconds, 0))?;
                let tree = repo.find_tree(oid(tree.as_str())?)?;
                let parents =
                    parents.iter().map(|p| repo.find_commit(oid(p.as_str())?)).collect::<Result<Vec<_>, _>>()?;
                repo.commit(None, &who, &who, message, &tree, &parents.iter().collect::<Vec<_>>())
            })();
            made.map(|id| id.to_string()).map_err(|why| self.store_error("a commit", &why))?
        } else {
            let mut args = vec![
                "-c".to_owned(),
                "commit.gpgSign=false".to_owned(),
                "commit-tree".to_owned(),
                tree.as_str().to_owned(),
            ];
            for parent in parents {
                args.extend(["-p".to_owned(), parent.as_str().to_owned()]);
            }
            let mut git = self.git().stdin(message);
            for role in ["AUTHOR", "COMMITTER"] {
                git = git.env(&format!("GIT_{role}_NAME"), "countersign");
                git = git.env(&format!("GIT_{role}_EMAIL"), "countersign@localhost");
                // Without the `@`, git takes a number of few digits for something else and refuses it.
                git = git.env(&format!("GIT_{role}_DATE"), format!("@{} +0000", time.0));
            }
            git.run(args)?.line()
        };
        CommitId::new(&text)
            .map_err(|why| GitError::Unreadable { command: "git commit-tree".to_owned(), what: why.to_string() })
    }

    fn store_error(&self, what: &'static str, why: &git2::Error) -> GitError {
        GitError::Failed {
            command: format!("store {what}"),
            ending: "refused".to_owned(),
            tree: self.common_dir.clone(),
            said: why.message().to_owned(),
        }
    }
}

impl super::Git<'_> {
    /// The first `cap` bytes of a blob, without holding the rest in memory.
    fn head_of_blob(self, id: &BlobId, cap: usize) -> Result<(Vec<u8>, bool), GitError> {
        let output = self.run(["cat-file", "blob", id.as_str()])?;
        let cut = output.stdout.len() > cap;
        let mut bytes = output.stdout;
        bytes.truncate(cap);
        Ok((bytes, cut))
    }
}

fn tree_id(text: &str) -> Result<TreeId, GitError> {
    TreeId::new(text).map_err(|why| GitError::Unreadable { command: "git rev-parse".to_owned(), what: why.to_string() })
}

fn oid(text: &str) -> Result<git2::Oid, git2::Error> {
    git2::Oid::from_str(text)
}

fn mode_of(raw: i32) -> u32 {
    u32::try_from(raw).unwrap_or(0)
}

/// Reads `git ls-tree -z`: `mode SP type SP id TAB path NUL`.
fn parse_ls_tree(bytes: &[u8]) -> Result<Vec<(RepoPath, Entry)>, GitError> {
    let mut found = Vec::new();
    for record in bytes.split(|b| *b == 0).filter(|r| !r.is_empty()) {
        let tab = record.iter().position(|b| *b == b'\t');
        let parsed = tab.and_then(|tab| {
            let head = std::str::from_utf8(&record[..tab]).ok()?;
            let mut words = head.split(' ');
            let mode = u32::from_str_radix(words.next()?, 8).ok()?;
            let id = words.nth(1)?.to_owned();
            Some((RepoPath::from_bytes(&record[tab + 1..]), Entry { mode, id }))
        });
        found.push(parsed.ok_or_else(|| GitError::Unreadable {
            command: "git ls-tree".to_owned(),
            what: crate::host::path::escape(record),
        })?);
    }
    Ok(found)
}
