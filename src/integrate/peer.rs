//! The lock that Agentheim's own tools take while they write the board: whoever moves the board's files waits for it.

use crate::host::clock::Timestamp;
use crate::host::git::{GitError, Obstacle, RefName, Repo};
use crate::host::lockfile::{LockFile, PATIENCE, Taken};
use crate::task::layout::ROOT;
use std::path::Path;

/// The folder it lies in, below the project's own. A project without it does not use those tools.
const STATE: &str = "state";
/// Its name (agentheim.md §5.11).
const LOCK: &str = "lifecycle.lock";

/// Takes the lock in every checkout of a branch whose project has one. Held until what is given back is dropped.
///
/// # Errors
/// Git fails.
pub(super) fn lock_board(
    repo: &Repo,
    target: &RefName,
    at: Timestamp,
) -> Result<Result<Vec<LockFile>, Obstacle>, GitError> {
    let mut held = Vec::new();
    // The rule is that nobody has one: that costs no git.
    if !repo.worktree_places().iter().any(|(_, top)| has_state(top)) {
        return Ok(Ok(held));
    }
    for checkout in repo.checkouts_of(target)? {
        if !has_state(&checkout) {
            continue;
        }
        let lock = checkout.join(ROOT).join(STATE).join(LOCK);
        match LockFile::take(repo.host(), &lock, at, PATIENCE) {
            Ok(Taken::Ours(file)) => held.push(file),
            Ok(Taken::Theirs(holder)) => return Ok(Err(Obstacle::Peer { lock, holder })),
            Err(why) => return Err(GitError::Io { doing: "take", path: lock, why }),
        }
    }
    Ok(Ok(held))
}

/// True if a project's tools keep their state there. Links are not followed: they might lead anywhere.
fn has_state(top: &Path) -> bool {
    let root = top.join(ROOT);
    [&root, &root.join(STATE)].iter().all(|place| place.symlink_metadata().is_ok_and(|data| data.is_dir()))
}
