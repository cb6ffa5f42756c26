//! A private index and a private object store, until the work is accepted as a claim.

use crate::host::git::{Git, GitError, Repo, has_no_marks};
use crate::host::path::escape;
use crate::host::process::{Ended, Launch, Limits, run_in_turn};
use crate::host::sandbox::Profile;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A larger index is left to git.
const LARGEST_INDEX: u64 = 256 << 20;

/// The private index is gone in a moment: it needs no checksum against a failing disk (git 2.40, 3 ms at 10,000 files).
const NO_CHECKSUM: [&str; 2] = ["-c", "index.skipHash=true"];

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

    /// Runs gits on the private index, each after the success of the one before, in one box: any git that compares files with an index or writes one may execute
    /// filters that a worker planted (writing re-reads files as young as the index). It may write the private index and
    /// store and git-lfs's own store, nothing else; its log lies beside them, where it cannot write.
    pub(super) fn run_in_box(&self, repo: &Repo, gits: &[Vec<OsString>], stdin: Vec<u8>, capture: u64) -> Ended {
        let git = self.apply(repo.git(), repo);
        let mut lines = gits
            .iter()
            .map(|words| git.argv(NO_CHECKSUM.iter().map(OsStr::new).chain(words.iter().map(OsString::as_os_str))));
        let mut write = vec![self.root.path().join("work")];
        // git-lfs's clean filter stores its objects beside git's.
        write.extend(Some(repo.common_dir().join("lfs")).filter(|lfs| lfs.is_dir()));
        let launch = Launch {
            argv: lines.next().unwrap_or_default(),
            cwd: repo.top().to_owned(),
            env: git.environment(),
            stdin,
            log: self.root.path().join("git.log"),
            capture,
            limits: Limits {
                wall: Duration::from_secs(900),
                idle: None,
                grace: Duration::from_secs(2),
                log_bytes: 64 << 10,
                hard_output: 1 << 30,
            },
            profile: Profile::snapshot(write),
        };
        run_in_turn(repo.host(), &launch, &lines.collect::<Vec<_>>())
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

    /// True if the private index is known to hold no entry that git does not look at.
    pub(super) fn has_no_marks(&self, repo: &Repo) -> bool {
        let small = fs::metadata(&self.index).is_ok_and(|meta| meta.len() <= LARGEST_INDEX);
        small && fs::read(&self.index).is_ok_and(|bytes| has_no_marks(&bytes, repo.object_format()))
    }

    /// Makes a git work on the private index and store. For one that only reads the index.
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

/// The standard output of boxed gits, where anything but success is an error.
pub(super) fn answer(repo: &Repo, command: &str, ended: &Ended, most: u64) -> Result<Vec<u8>, GitError> {
    if ended.ending.is_success() && ended.stdout_total <= most {
        return Ok(ended.stdout.clone());
    }
    let said = if ended.ending.is_success() {
        format!("its answer of {} bytes is too long", ended.stdout_total)
    } else {
        said(ended)
    };
    Err(GitError::Failed {
        command: format!("git {command}"),
        ending: ended.ending.sentence(),
        tree: repo.top().to_owned(),
        said,
    })
}

/// The end of what a boxed git wrote on both outputs, on one line, escaped.
pub(super) fn said(ended: &Ended) -> String {
    let said = fs::read(&ended.log.path).unwrap_or_default();
    let said = escape(said.get(said.len().saturating_sub(400)..).unwrap_or(&said)).replace("\\x0a", " ");
    let said = said.trim();
    if said.is_empty() { "it said nothing".to_owned() } else { said.to_owned() }
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
