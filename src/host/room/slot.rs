//! One place of the pool: its lock, its worktree, and what a crash leaves.

use super::{MOST_ROOMS, RoomError};
use crate::host::git::{GitError, Repo, register};
use crate::host::ids::CommitId;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A slot that is locked by us until dropped.
#[derive(Debug)]
pub(super) struct Slot {
    folder: PathBuf,
    tree: PathBuf,
    admin: PathBuf,
    gitfile: Vec<u8>,
    /// The operating system frees it even if we are killed.
    lock: File,
    /// Its last user did not end properly.
    crashed: bool,
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> RoomError {
    let path = path.to_owned();
    move |why| RoomError::Io { doing, path, why }
}

impl Slot {
    /// Locks the first free slot.
    pub(super) fn take(pool: &Path) -> Result<Self, RoomError> {
        for number in 1..=MOST_ROOMS {
            let folder = pool.join(number.to_string());
            fs::create_dir_all(&folder).map_err(io("make", &folder))?;
            let path = folder.join("lock");
            let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
            let lock = lock.map_err(io("open", &path))?;
            match lock.try_lock() {
                Ok(()) => {
                    let (tree, admin) = (folder.join("tree"), PathBuf::new());
                    return Ok(Self { folder, tree, admin, gitfile: Vec::new(), lock, crashed: false });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(why)) => return Err(RoomError::Io { doing: "lock", path, why }),
            }
        }
        Err(RoomError::Full { pool: pool.to_owned() })
    }

    /// True if nobody knows what its last user was doing to it.
    pub(super) fn crashed(&self) -> bool {
        self.crashed
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// The worktree's own git directory.
    pub(super) fn admin(&self) -> &Path {
        &self.admin
    }

    /// Where the last git command's output goes: beside the room, so that nothing inside can write it.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("git.log")
    }

    fn marker(&self) -> PathBuf {
        self.folder.join("in-use")
    }

    /// Finds the slot's worktree, or makes it, and marks it as in use.
    pub(super) fn begin(&mut self, repo: &Repo, commit: &CommitId) -> Result<(), RoomError> {
        self.crashed = self.marker().exists();
        fs::write(self.marker(), b"").map_err(io("write", &self.marker()))?;
        if !self.recall() {
            return self.rebuild(repo, commit);
        }
        if self.crashed {
            self.unlock_git()?;
        }
        Ok(())
    }

    /// Reads where the worktree's git directory is; false if there is no intact worktree.
    fn recall(&mut self) -> bool {
        let Ok(gitfile) = fs::read(self.folder.join("gitfile")) else { return false };
        let Some(admin) = admin_of(&gitfile, &self.tree) else { return false };
        let is_folder = fs::symlink_metadata(&self.tree).is_ok_and(|meta| meta.is_dir());
        if !is_folder || !admin.join("HEAD").is_file() || !admin.join("commondir").is_file() {
            return false;
        }
        self.admin = admin;
        self.gitfile = gitfile;
        true
    }

    /// Puts the `.git` file back as git wrote it: whoever used the room could have pointed it at another repository.
    pub(super) fn restore_gitfile(&self) -> Result<(), RoomError> {
        let path = self.tree.join(".git");
        let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
        if is_file && fs::read(&path).is_ok_and(|bytes| bytes == self.gitfile) {
            return Ok(());
        }
        if fs::symlink_metadata(&path).is_ok() {
            self.discard(&path)?;
        }
        fs::write(&path, &self.gitfile).map_err(io("write", &path))
    }

    /// A crashed git leaves its locks; nobody else may hold them, since the slot is ours.
    fn unlock_git(&self) -> Result<(), RoomError> {
        let entries = fs::read_dir(&self.admin).map_err(io("list", &self.admin))?;
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension() == Some(OsStr::new("lock")) {
                fs::remove_file(&path).map_err(io("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Throws the worktree away and makes a new one without files.
    pub(super) fn rebuild(&mut self, repo: &Repo, commit: &CommitId) -> Result<(), RoomError> {
        self.forget(repo)?;
        // No files are written here, so no filter runs; hooks are off.
        let mut args = ["worktree", "add", "--detach", "--no-checkout", "--force", "--quiet"].map(OsStr::new).to_vec();
        args.extend([self.tree.as_os_str(), OsStr::new(commit.as_str())]);
        repo.git().env("GIT_NO_LAZY_FETCH", "1").run(args)?;
        let path = self.tree.join(".git");
        self.gitfile = fs::read(&path).map_err(io("read", &path))?;
        self.admin = admin_of(&self.gitfile, &self.tree).ok_or_else(|| GitError::Unreadable {
            command: "git worktree add".to_owned(),
            what: path.display().to_string(),
        })?;
        if self.admin.join("config.worktree").is_file() {
            // Copied from the user's worktree; git inside the room must not believe that it is sparse.
            let git = repo.git().env("GIT_DIR", &self.admin).env("GIT_WORK_TREE", &self.tree);
            git.run(["config", "--worktree", "core.sparseCheckout", "false"])?;
        }
        let record = self.folder.join("gitfile");
        fs::write(&record, &self.gitfile).map_err(io("write", &record))?;
        sweep(repo, self.folder.parent().unwrap_or(&self.folder)).ok();
        Ok(())
    }

    /// Removes the worktree, files and registration.
    pub(super) fn remove(self, repo: &Repo) -> Result<(), RoomError> {
        self.forget(repo)
    }

    fn forget(&self, repo: &Repo) -> Result<(), RoomError> {
        let record = self.folder.join("gitfile");
        let known = fs::read(&record).ok().and_then(|gitfile| admin_of(&gitfile, &self.tree));
        if fs::symlink_metadata(&self.tree).is_ok() {
            self.discard(&self.tree)?;
        }
        if let Some(admin) = known {
            // Only if git's own entry still says that it is this slot's.
            repo.unregister(&admin, &self.tree)?;
        }
        match fs::remove_file(&record) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => Err(io("remove", &record)(why)),
            _ => Ok(()),
        }
    }

    /// Moves something into the trash.
    fn discard(&self, path: &Path) -> Result<(), RoomError> {
        let trash = trash_of(self.folder.parent().unwrap_or(&self.folder));
        fs::create_dir_all(&trash).map_err(io("make", &trash))?;
        let place = tempfile::Builder::new().prefix("gone-").tempdir_in(&trash).map_err(io("make", &trash))?.keep();
        fs::rename(path, place.join("it")).map_err(io("move away", path))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // A marker that stays only costs the next user a look for stale locks.
        fs::remove_file(self.marker()).ok();
        // Closing is not enough: a child that another thread is just starting may hold a copy for a moment.
        self.lock.unlock().ok();
    }
}

fn trash_of(pool: &Path) -> PathBuf {
    pool.join("trash")
}

/// Deletes what was moved away: files of the pool, and entries of git's register.
pub(super) fn sweep(repo: &Repo, pool: &Path) -> Result<(), RoomError> {
    empty(&trash_of(pool)).and(empty(&register::trash_of(repo)))
}

fn empty(trash: &Path) -> Result<(), RoomError> {
    let Ok(entries) = fs::read_dir(trash) else { return Ok(()) };
    let mut first = Ok(());
    for entry in entries.flatten() {
        let path = entry.path();
        match fs::remove_dir_all(&path) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound && first.is_ok() => {
                first = Err(RoomError::Io { doing: "delete", path, why });
            }
            _ => {}
        }
    }
    first
}

/// The directory that a `.git` file points to.
fn admin_of(gitfile: &[u8], tree: &Path) -> Option<PathBuf> {
    let target = gitfile.strip_prefix(b"gitdir: ")?;
    let target = target.strip_suffix(b"\n").unwrap_or(target);
    tree.join(OsStr::from_bytes(target)).canonicalize().ok()
}
