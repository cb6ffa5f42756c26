//! Commits that change nothing but the board: made of trees, with compare-and-swap, never left uncommitted (RULINGS 29).

use super::books::{Books, BooksError, Pages};
use super::peer;
use crate::host::clock::Timestamp;
use crate::host::failpoint;
use crate::host::git::{BranchMove, GitError, Obstacle, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use std::collections::BTreeMap;

/// How often a board commit is worked out anew because the branch moved meanwhile.
const TRIES: u32 = 50;

/// Why the board was not written. Nothing has moved then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardWriteError {
    /// No such branch.
    #[error("there is no branch {0}: it was deleted or renamed; name another with --into")]
    NoTarget(String),
    /// A page does not allow it.
    #[error(transparent)]
    Books(#[from] BooksError),
    /// The checkout of the branch cannot follow.
    #[error(transparent)]
    Checkout(Obstacle),
    /// Others keep moving the branch.
    #[error("{0} kept moving: {TRIES} tries to write on its board were overtaken; try again")]
    Raced(String),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Changes the board of a branch by one commit. `edit` works out the new tree from the branch's present one; where it
/// gives the same tree back, there is nothing to do and no commit.
///
/// # Errors
/// See [`BoardWriteError`].
pub fn write_board(
    repo: &Repo,
    target: &RefName,
    at: Timestamp,
    message: &str,
    edit: &dyn Fn(&TreeId) -> Result<TreeId, BooksError>,
) -> Result<Option<CommitId>, BoardWriteError> {
    let why = format!("countersign: {}", message.lines().next().unwrap_or_default());
    for _ in 0..TRIES {
        let tip = repo.read_ref(target)?.ok_or_else(|| BoardWriteError::NoTarget(target.to_string()))?;
        let old = repo.tree_of(&tip)?;
        let tree = edit(&old)?;
        if tree == old {
            return Ok(None);
        }
        let commit = repo.commit_as_user(&tree, &tip, at, message)?;
        failpoint::pass(repo.host());
        let held = match peer::lock_board(repo, target, at)? {
            Ok(held) => held,
            Err(obstacle) => return Err(BoardWriteError::Checkout(obstacle)),
        };
        let moved = repo.move_branch(target, &tip, &commit, &why)?;
        drop(held);
        match moved {
            BranchMove::Moved(_) => return Ok(Some(commit)),
            BranchMove::Raced => {}
            BranchMove::Refused(obstacle) => return Err(BoardWriteError::Checkout(obstacle)),
        }
    }
    Err(BoardWriteError::Raced(target.to_string()))
}

/// The tree with these books written.
///
/// # Errors
/// Git fails.
pub fn with_books(repo: &Repo, tree: &TreeId, pages: &Pages, books: Books) -> Result<TreeId, GitError> {
    let mut edits = BTreeMap::new();
    for (path, text) in books.edits {
        let blob = text.map(|text| repo.write_blob(&text)).transpose()?;
        let entry = blob.map(|blob| (pages.mode(&path), blob.as_str().to_owned()));
        edits.insert(path, entry);
    }
    if edits.is_empty() { Ok(tree.clone()) } else { repo.edit_tree(tree, &edits) }
}
