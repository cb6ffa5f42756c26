//! A private index and a private object store, until the work is accepted as a claim.

use crate::host::git::{Git, GitError, Repo};
use std::fs::{self, File, FileTimes};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder of our own inside the git directory (same disk as the object store: objects leave it by a rename).
#[derive(Debug)]
pub(super) struct Quarantine {
    root: TempDir,
    objects: PathBuf,
    index: PathBuf,
}

impl Quarantine {
    pub(super) fn open(repo: &Repo) -> Result<Self, GitError> {
        let own = repo.own_dir();
        fs::create_dir_all(&own).map_err(|why| GitError::Io { doing: "create", path: own.clone(), why })?;
        let root = tempfile::Builder::new().prefix("freeze-").tempdir_in(&own);
        let root = root.map_err(|why| GitError::Io { doing: "create a folder in", path: own, why })?;
        let work = root.path().join("work");
        let (objects, index) = (work.join("objects"), work.join("index"));
        fs::create_dir_all(&objects).map_err(|why| GitError::Io { doing: "create", path: objects.clone(), why })?;
        Ok(Self { root, objects, index })
    }

    /// Where logs may lie: the snapshot's git cannot write here.
    pub(super) fn root(&self) -> &Path {
        self.root.path()
    }

    /// All that the snapshot's git may write: the private index and store.
    pub(super) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(super) fn objects(&self) -> &Path {
        &self.objects
    }

    /// Copies the user's index: its stat cache makes the snapshot several times cheaper, and entries that are only
    /// staged are in it. Its time is copied too: git trusts an entry that is older than the index file, so a younger
    /// copy would hide an edit made in the same instant as the last `git add`.
    pub(super) fn copy_index(&self, repo: &Repo) -> Result<(), GitError> {
        let users = repo.git_dir().join("index");
        let read = |why| GitError::Io { doing: "read", path: users.clone(), why };
        let time = match fs::metadata(&users) {
            Ok(found) => found.modified().map_err(read)?,
            // A worktree made with --no-checkout has none yet.
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
            Err(why) => return Err(read(why)),
        };
        fs::copy(&users, &self.index).map_err(read)?;
        let write = |why| GitError::Io { doing: "write", path: self.index.clone(), why };
        let copy = File::options().write(true).open(&self.index).map_err(write)?;
        copy.set_times(FileTimes::new().set_modified(time)).map_err(write)
    }

    /// Makes a git work on the private index and store.
    pub(super) fn apply<'h>(&self, git: Git<'h>, repo: &Repo) -> Git<'h> {
        git.env("GIT_INDEX_FILE", &self.index).reading_also(&repo.common_dir().join("objects"), &self.objects)
    }

    /// Moves the objects into the repository's store. Content-addressed: what is there already is the same.
    pub(super) fn release(self, repo: &Repo) -> Result<(), GitError> {
        let store = repo.common_dir().join("objects");
        let mut packs = Vec::new();
        for entry in walkdir::WalkDir::new(&self.objects).min_depth(1) {
            let entry =
                entry.map_err(|why| GitError::Io { doing: "read", path: self.objects.clone(), why: why.into() })?;
            if !entry.file_type().is_file() {
                continue;
            }
            let from = entry.into_path();
            let Ok(inside) = from.strip_prefix(&self.objects) else { continue };
            // git-pack-objects: a pack is usable once its index is there, so the index moves last.
            if inside.starts_with("pack") || inside.starts_with("info") {
                packs.push((from.extension().is_some_and(|e| e == "idx"), from.clone(), store.join(inside)));
            } else {
                move_object(&from, &store.join(inside))?;
            }
        }
        packs.sort();
        packs
            .into_iter()
            .filter(|(_, from, _)| !from.components().any(|c| c.as_os_str() == "info"))
            .try_for_each(|(_, from, to)| move_object(&from, &to))
    }
}

fn move_object(from: &Path, to: &Path) -> Result<(), GitError> {
    if to.exists() {
        return Ok(());
    }
    let failed = |why| GitError::Io { doing: "store an object as", path: to.to_owned(), why };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::rename(from, to).map_err(failed)
}
