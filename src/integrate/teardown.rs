//! Taking a worktree away. The only function that does it asks for the proof that its work is safe.

use super::land::Landed;
use super::salvage::Salvaged;
use crate::claim::{FreezeError, freeze_worktree};
use crate::host::failpoint;
use crate::host::git::{ChangeKind, GitError, Repo};
use crate::host::ids::{CommitId, TreeId};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Why a worktree was left where it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeardownError {
    /// The files are not those that were saved.
    #[error("{} has changed since it was saved (tree {found}, saved {saved}): it is kept; save it again", worktree.display())]
    Changed {
        /// The worktree.
        worktree: PathBuf,
        /// The tree it has now.
        found: TreeId,
        /// The tree that was saved.
        saved: TreeId,
    },
    /// Not a linked worktree of this repository.
    #[error("{} is no linked worktree of this repository: only such a one is ever removed", worktree.display())]
    NotLinked {
        /// The folder.
        worktree: PathBuf,
    },
    /// A lock that a person put there.
    #[error("{} is locked ({reason}): it is kept; `git worktree unlock` releases it", worktree.display())]
    Locked {
        /// The folder.
        worktree: PathBuf,
        /// The words of the lock.
        reason: String,
    },
    /// A file could not be moved or removed.
    #[error("cannot {doing} {}: {why}", path.display())]
    Io {
        /// Verb, e.g. `move`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// The worktree cannot be read any more.
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What makes a worktree's removal safe. It is used up by it.
#[derive(Debug)]
pub enum Settled {
    /// The work was saved.
    Salvaged(Salvaged),
    /// The work landed.
    Landed {
        /// The proof.
        landed: Landed,
        /// The worktree that the claim was frozen from.
        worktree: PathBuf,
    },
}

impl Settled {
    fn worktree(&self) -> &Path {
        match self {
            Self::Salvaged(salvaged) => salvaged.worktree(),
            Self::Landed { worktree, .. } => worktree,
        }
    }

    fn base(&self) -> &CommitId {
        match self {
            Self::Salvaged(salvaged) => salvaged.base(),
            Self::Landed { landed, .. } => landed.base(),
        }
    }

    fn tree(&self) -> &TreeId {
        match self {
            Self::Salvaged(salvaged) => &salvaged.record().tree,
            Self::Landed { landed, .. } => landed.claim_tree(),
        }
    }
}

/// Removes a linked worktree whose work is safe. Its branch stays.
///
/// The files are compared with the proof once more. Then they are moved away, so that no `git` walks through links or
/// mounts in there, and git forgets the worktree by its path; `git worktree prune` is never used, because it also forgets
/// worktrees of the user whose disk is not mounted (RULINGS 26). Links are removed, never followed.
///
/// # Errors
/// See [`TeardownError`]. After an error the work is where it was, or still saved.
pub fn remove_worktree(repo: &Repo, settled: Settled) -> Result<(), TeardownError> {
    let worktree = settled.worktree().to_owned();
    if worktree.is_dir() {
        let inside = repo.discover_beside(&worktree)?;
        linked(&inside, repo, &worktree)?;
        // Its objects are in a quarantine that is gone with it.
        let frozen = freeze_worktree(&inside, settled.base())?;
        let within = is_within(&inside, settled.tree(), &frozen.tree);
        let found = frozen.tree.clone();
        inside.leave_quarantine();
        drop(frozen);
        if !within? {
            return Err(TeardownError::Changed { worktree, found, saved: settled.tree().clone() });
        }
        failpoint::pass(repo.host());
        empty(repo, &worktree)?;
        failpoint::pass(repo.host());
    }
    let words = ["worktree", "remove", "--force", "--"].map(OsStr::new);
    repo.git().run(words.into_iter().chain([worktree.as_os_str()]))?;
    drop(settled);
    Ok(())
}

/// True if everything in `found` is in the proof, so that nothing can be lost: it is the same, or a removal that was broken
/// off has left a part of it.
fn is_within(repo: &Repo, proof: &TreeId, found: &TreeId) -> Result<bool, GitError> {
    Ok(proof == found || repo.changes(proof, found)?.iter().all(|change| change.kind == ChangeKind::Deleted))
}

fn linked(inside: &Repo, repo: &Repo, worktree: &Path) -> Result<(), TeardownError> {
    let own = inside.common_dir() == repo.common_dir() && inside.git_dir() != inside.common_dir();
    if !own || inside.top().canonicalize().ok() != worktree.canonicalize().ok() {
        return Err(TeardownError::NotLinked { worktree: worktree.to_owned() });
    }
    match fs::read(inside.git_dir().join("locked")) {
        Ok(reason) => {
            let reason = crate::host::path::escape(reason.trim_ascii());
            Err(TeardownError::Locked { worktree: worktree.to_owned(), reason })
        }
        Err(_) => Ok(()),
    }
}

/// Moves everything but the `.git` file into a folder of ours on the same disk, and removes it there. What cannot be moved
/// (a mount) brings everything back.
fn empty(repo: &Repo, worktree: &Path) -> Result<(), TeardownError> {
    let beside = worktree.parent().unwrap_or(worktree);
    // No task's id has a dot: the name tells whose it is, and whoever removes that worktree may go on with it.
    let name = worktree.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".removed-{name}.");
    for entry in fs::read_dir(beside).map_err(failed("read", beside))?.filter_map(Result::ok) {
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            writable(&entry.path());
            fs::remove_dir_all(entry.path()).map_err(failed("remove", &entry.path()))?;
        }
    }
    // Beside the worktree: a rename stays on one disk. Ours to make: nobody's files are in there.
    let away = tempfile::Builder::new().prefix(&prefix).tempdir_in(beside);
    let away = away.map_err(failed("make a folder in", beside))?.keep();
    let mut moved = Vec::new();
    for entry in fs::read_dir(worktree).map_err(failed("read", worktree))? {
        let entry = entry.map_err(failed("read", worktree))?;
        let (from, to) = (entry.path(), away.join(entry.file_name()));
        if entry.file_name() == ".git" {
            continue;
        }
        if let Err(why) = fs::rename(&from, &to) {
            let back = moved.iter().all(|(from, to): &(PathBuf, PathBuf)| fs::rename(to, from).is_ok());
            // Still empty only if everything went back; else it stays, and nothing in it is touched.
            if back {
                drop(fs::remove_dir(&away));
            }
            return Err(failed("move", &from)(why));
        }
        moved.push((from, to));
        failpoint::pass(repo.host());
    }
    writable(&away);
    fs::remove_dir_all(&away).map_err(failed("remove", &away))
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> TeardownError + use<> {
    let path = path.to_owned();
    move |why| TeardownError::Io { doing, path, why }
}

/// A folder without write permission cannot be emptied, even by its owner.
fn writable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for entry in walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok) {
        if entry.file_type().is_dir() {
            drop(fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700)));
        }
    }
}
