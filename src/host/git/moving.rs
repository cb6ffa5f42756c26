//! What is written down while a checkout follows its branch, so that a move that was broken off is ended by the next one.
//!
//! The order is that of RULINGS 25. The lock of the index is made elsewhere first and linked into place, so that its inode
//! is on disk before anybody can meet it: what a dead process of ours left is told from every other git's lock by that
//! inode, and by nothing else. A branch that had moved takes its files along; one that had not leaves them.

use super::checkout::Obstacle;
use super::{Change, GitError, RefName, Repo};
use crate::host::digest::digest;
use crate::host::failpoint;
use crate::host::ids::CommitId;
use crate::host::path::RepoPath;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a locked index is tried again, and how long is waited between: a person's `git add` is over by then.
const PATIENCE: u32 = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// The largest record that is read.
const LARGEST: u64 = 64 << 10;

/// One move of one checkout, as it is on disk while it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Record {
    branch: String,
    old: CommitId,
    new: CommitId,
    /// Which file the lock of the index is.
    device: u64,
    inode: u64,
}

/// A checkout that is being moved by this process, and by no other of ours.
pub(super) struct Moving {
    /// Our folder for this checkout: the record, the index's copy, the draft of its lock.
    place: PathBuf,
    index: PathBuf,
    lock: PathBuf,
    /// The lock's file, while it is ours.
    file: Option<File>,
    _held: File,
}

impl Repo {
    /// Ends the move of a branch's checkout that a killed process began: the files follow where the branch has moved, and
    /// its lock goes. Nothing to do is the rule.
    ///
    /// # Errors
    /// Files of the checkout were edited meanwhile, or git fails. The lock stays then.
    pub fn end_broken_move(&self, branch: &RefName) -> Result<(), GitError> {
        for folder in self.checkouts_of(branch)? {
            let checkout = self.discover_beside(&folder)?;
            if Moving::place(&checkout).is_dir()
                && let Some(moving) = Moving::hold(&checkout)?
            {
                moving.recover(&checkout)?.map_err(|obstacle| GitError::Failed {
                    command: "end a move that was broken off".to_owned(),
                    ending: "not yet".to_owned(),
                    tree: folder,
                    said: obstacle.to_string(),
                })?;
            }
        }
        Ok(())
    }
}

impl Moving {
    fn place(repo: &Repo) -> PathBuf {
        let name = digest(repo.git_dir().as_os_str().as_bytes());
        repo.own_dir().join("moves").join(name.get(..16).unwrap_or(&name))
    }

    /// Takes the right to move this checkout; none while another process of ours moves it for longer than anybody should.
    pub(super) fn hold(repo: &Repo) -> Result<Option<Self>, GitError> {
        let place = Self::place(repo);
        fs::create_dir_all(&place).map_err(|why| io("make", &place, why))?;
        let path = place.join("held");
        let held = File::options().create(true).truncate(false).write(true).open(&path);
        let held = held.map_err(|why| io("open", &path, why))?;
        for _ in 0..PATIENCE * 10 {
            match held.try_lock() {
                Ok(()) => {
                    let index = repo.git_dir().join("index");
                    let lock = index.with_extension("lock");
                    return Ok(Some(Self { place, index, lock, file: None, _held: held }));
                }
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(PAUSE),
                Err(TryLockError::Error(why)) => return Err(io("lock", &path, why)),
            }
        }
        Ok(None)
    }

    fn record(&self) -> PathBuf {
        self.place.join("record.json")
    }

    /// The index's copy, on which everything is done first.
    pub(super) fn copy(&self) -> PathBuf {
        self.place.join("index")
    }

    /// Ends what a process that died began with this checkout; what stands in the way of that, if something does.
    pub(super) fn recover(mut self, repo: &Repo) -> Result<Result<Self, Obstacle>, GitError> {
        let path = self.record();
        let bytes = match fs::metadata(&path) {
            Ok(data) if data.len() <= LARGEST => fs::read(&path).map_err(|why| io("read", &path, why))?,
            _ => return Ok(Ok(self)),
        };
        // Written in one step; one that cannot be read is not ours, and no lock is known to be.
        if let Ok(record) = serde_json::from_slice::<Record>(&bytes) {
            let is_it = |path: &Path| {
                fs::symlink_metadata(path).is_ok_and(|data| (data.dev(), data.ino()) == (record.device, record.inode))
            };
            let moved = match RefName::new(&record.branch).ok().map(|name| repo.read_ref(&name)).transpose()?.flatten()
            {
                Some(tip) => tip == record.new || repo.is_ancestor(&record.new, &tip)?,
                None => false,
            };
            match (is_it(&self.lock), moved) {
                (true, true) => {
                    let file = File::options().write(true).truncate(true).open(&self.lock);
                    self.file = Some(file.map_err(|why| io("open", &self.lock, why))?);
                    if let Err(why) = self.follow(repo, &record) {
                        // Kept: without it, the next commit in that checkout would take the landing back.
                        self.file = None;
                        return Err(why);
                    }
                    failpoint::pass(repo.host());
                    self.put()?;
                }
                (true, false) => fs::remove_file(&self.lock).map_err(|why| io("remove", &self.lock, why))?,
                // A person took the lock away. The files have to follow all the same.
                (false, true) if !is_it(&self.index) => {
                    if let Err(obstacle) = self.lock(&record.branch, &record.old, &record.new)? {
                        self.remember(&record)?;
                        return Ok(Err(obstacle));
                    }
                    fs::copy(&self.index, self.copy()).map_err(|why| io("read", &self.index, why))?;
                    if let Err(why) = self.follow(repo, &record) {
                        self.file = None;
                        return Err(why);
                    }
                    self.put()?;
                }
                (false, _) => {}
            }
        }
        self.forget();
        Ok(Ok(self))
    }

    /// Moves the files of a checkout whose branch has moved. Those that were moved before the process died are noticed.
    fn follow(&self, repo: &Repo, record: &Record) -> Result<(), GitError> {
        let copy = self.copy();
        let busy = copy.with_extension("lock");
        // A git that was started by the dead process may still be at it.
        for _ in 0..PATIENCE {
            if !busy.exists() {
                break;
            }
            std::thread::park_timeout(PAUSE);
        }
        drop(fs::remove_file(&busy));
        let words = ["read-tree", "-m", "-u", record.old.as_str(), record.new.as_str()];
        let on = |index: &Path| repo.git().env("GIT_INDEX_FILE", index);
        on(&copy).run_unchecked(["update-index", "-q", "--refresh"])?;
        if on(&copy).run_unchecked(words)?.success() {
            return Ok(());
        }
        let probe = self.place.join("probe");
        drop(fs::remove_file(&probe));
        on(&probe).run(["read-tree", record.new.as_str()])?;
        on(&probe).run_unchecked(["update-index", "-q", "--refresh"])?;
        let differing = on(&probe).run(["diff-files", "--name-only", "--no-renames", "-z"])?.stdout;
        let differing: BTreeSet<RepoPath> = differing.split(|byte| *byte == 0).map(RepoPath::from_bytes).collect();
        drop(fs::remove_file(&probe));
        let mut lines = Vec::new();
        let zero = "0".repeat(record.new.as_str().len());
        let (before, after) = (repo.tree_of(&record.old)?, repo.tree_of(&record.new)?);
        for path in repo.changes(&before, &after)?.iter().flat_map(Change::paths) {
            let entry = repo.entry(&after, path)?;
            let line = match entry {
                Some(entry) if !differing.contains(path) => format!("{:o} {}\t", entry.mode, entry.id),
                None if fs::symlink_metadata(repo.top().join(path.to_path_buf())).is_err() => format!("0 {zero}\t"),
                _ => continue,
            };
            lines.extend_from_slice(line.as_bytes());
            lines.extend_from_slice(path.as_bytes());
            lines.push(0);
        }
        on(&copy).stdin(lines).run(["update-index", "-z", "--index-info"])?;
        on(&copy).run_unchecked(["update-index", "-q", "--refresh"])?;
        on(&copy).run(words).map(|_| ())
    }

    /// Takes the lock of the index, as every git does; what is in the way, if it is another's.
    pub(super) fn lock(
        &mut self,
        branch: &str,
        old: &CommitId,
        new: &CommitId,
    ) -> Result<Result<(), Obstacle>, GitError> {
        let draft = self.place.join("draft");
        drop(fs::remove_file(&draft));
        let file = File::create_new(&draft).map_err(|why| io("make", &draft, why))?;
        let data = file.metadata().map_err(|why| io("read", &draft, why))?;
        let (branch, old, new) = (branch.to_owned(), old.clone(), new.clone());
        let record = Record { branch, old, new, device: data.dev(), inode: data.ino() };
        self.remember(&record)?;
        for _ in 0..PATIENCE {
            match fs::hard_link(&draft, &self.lock) {
                Ok(()) => {
                    drop(fs::remove_file(&draft));
                    self.file = Some(file);
                    return Ok(Ok(()));
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists => std::thread::park_timeout(PAUSE),
                Err(why) => {
                    self.forget();
                    return Err(io("make", &self.lock, why));
                }
            }
        }
        drop(fs::remove_file(&draft));
        self.forget();
        Ok(Err(Obstacle::Locked { lock: self.lock.clone() }))
    }

    fn remember(&self, record: &Record) -> Result<(), GitError> {
        let path = self.record();
        let failed = |why: std::io::Error| io("write", &path, why);
        let mut draft = tempfile::NamedTempFile::new_in(&self.place).map_err(failed)?;
        let bytes = serde_json::to_vec(record).map_err(|why| failed(why.into()))?;
        draft.write_all(&bytes).and_then(|()| draft.as_file().sync_data()).map_err(failed)?;
        draft.persist(&path).map_err(|why| failed(why.error))?;
        Ok(())
    }

    /// The copy becomes the index, in one step. If that fails, lock and record stay for the next run: the branch has moved.
    pub(super) fn put(&mut self) -> Result<(), GitError> {
        let copy = self.copy();
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let bytes = fs::read(&copy).map_err(|why| io("read", &copy, why))?;
        let written = file.write_all(&bytes).and_then(|()| file.sync_all());
        written.map_err(|why| io("write", &self.lock, why))?;
        fs::rename(&self.lock, &self.index).map_err(|why| io("replace", &self.index, why))
    }

    /// As [`Moving::put`]; then the move is over.
    pub(super) fn finish(mut self, repo: &Repo) -> Result<(), GitError> {
        self.put()?;
        failpoint::pass(repo.host());
        self.forget();
        Ok(())
    }

    /// The move is over, in whichever way: nothing is left to recover.
    fn forget(&mut self) {
        if self.file.take().is_some() {
            drop(fs::remove_file(&self.lock));
        }
        drop(fs::remove_file(self.record()));
        drop(fs::remove_file(self.copy()));
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        // Only what this process took: a record that could not be ended stays for the next one.
        if self.file.is_some() {
            self.forget();
        }
    }
}

fn io(doing: &'static str, path: &Path, why: std::io::Error) -> GitError {
    GitError::Io { doing, path: path.to_owned(), why }
}
