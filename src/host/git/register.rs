//! Git's register of linked worktrees: one folder each under `worktrees/` of the shared git directory.

use super::{GitError, Repo};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl Repo {
    /// Takes the worktree at `place` out of the register, where `entry` is its folder there; its files must be gone
    /// already. Does what `git worktree remove --force --force` does once the files are deleted, without a process and
    /// for this one entry only (RULINGS 26, ADR 14). The entry leaves by one rename: after a crash it is whole or gone.
    ///
    /// False: `entry` is not of this repository, not there, or another place's by now; then nothing is touched.
    ///
    /// # Errors
    /// The entry cannot be read or moved.
    pub fn unregister(&self, entry: &Path, place: &Path) -> Result<bool, GitError> {
        let register = self.common_dir().join("worktrees");
        if entry.parent() != Some(&*register) {
            return Ok(false);
        }
        let pointer = entry.join("gitdir");
        let named = match fs::read(&pointer) {
            Ok(named) => named,
            Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(false),
            Err(why) => return Err(GitError::Io { doing: "read", path: pointer, why }),
        };
        // Absolute, or (git 2.48, `worktree.useRelativePaths`) relative to the entry.
        let named = entry.join(OsStr::from_bytes(named.trim_ascii_end()));
        if named.file_name() != Some(OsStr::new(".git")) || named.parent().and_then(settled) != settled(place) {
            return Ok(false);
        }
        let trash = trash_of(self);
        let failed = |doing, path: &Path| {
            let path = path.to_owned();
            move |why| GitError::Io { doing, path, why }
        };
        fs::create_dir_all(&trash).map_err(failed("create", &trash))?;
        let gone = tempfile::Builder::new().prefix("gone-").tempdir_in(&trash);
        let gone = gone.map_err(failed("create a folder in", &trash))?;
        fs::rename(entry, gone.path().join("it")).map_err(failed("move away", entry))?;
        // As git does: the register itself goes with its last entry. Refused while it holds another one.
        fs::remove_dir(&register).ok();
        // What cannot be deleted now is deleted by the next sweep.
        gone.close().ok();
        Ok(true)
    }
}

/// Where entries go that left the register, on the register's own disk.
pub(in crate::host) fn trash_of(repo: &Repo) -> PathBuf {
    repo.own_dir().join("trash")
}

/// A path whose last part need not exist, with every link before it followed.
fn settled(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}
