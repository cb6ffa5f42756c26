//! Moving a branch, with the files of the checkout it belongs to.
//!
//! A checkout that follows its branch later than the branch moves shows the landed files as deleted, and a person's next
//! commit would delete them. So the order is fixed: lock the index, try the move on a copy, move the branch by
//! compare-and-swap, move the files with the copy, put the copy in the index's place (RULINGS 25).

use super::moving::Moving;
use super::{GitError, RefMove, RefName, Repo};
use crate::host::failpoint;
use crate::host::ids::CommitId;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often worktrees are listed again, and how long is waited before.
const LISTS: u32 = 5;
const LIST_PAUSE: Duration = Duration::from_millis(50);

/// Edited files that are compared byte for byte, to name the cause of a refusal.
const MOST_COMPARED: usize = 50;

/// How moving a branch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchMove {
    /// It has the new value; the folder is the checkout that followed, if there is one.
    Moved(Option<PathBuf>),
    /// It did not have the expected old value; nothing changed.
    Raced,
    /// Nothing changed, because of the checkout.
    Refused(Obstacle),
}

/// What in a checkout stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Another git works on its index.
    #[error("{} exists: another git is at work there; if none is, remove that file", lock.display())]
    Locked {
        /// The lock.
        lock: PathBuf,
    },
    /// A merge or the like is under way.
    #[error("{} is in the middle of something ({what}): finish or abort it", folder.display())]
    Busy {
        /// The checkout.
        folder: PathBuf,
        /// What is under way.
        what: String,
    },
    /// Files there would be overwritten.
    #[error("files in {} are in the way: {said}; commit them or move them away", folder.display())]
    InTheWay {
        /// The checkout.
        folder: PathBuf,
        /// Git's words.
        said: String,
    },
    /// The peer's own tools write on the board.
    #[error("{} is held by {holder}: let it end, or remove that file if nothing runs there", lock.display())]
    Peer {
        /// The lock.
        lock: PathBuf,
        /// Who holds it, in words.
        holder: String,
    },
    /// The branch is checked out more than once.
    #[error("{branch} is checked out in {} folders ({}): only one of them could follow", folders.len(), folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", "))]
    Several {
        /// The branch.
        branch: String,
        /// The folders.
        folders: Vec<PathBuf>,
    },
}

/// What lies in a git directory while something is under way.
const UNDER_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase or am"),
    ("sequencer", "a sequence of picks"),
];

impl Repo {
    /// All worktrees, as `git worktree list --porcelain -z` tells them. It fails while another process makes one ("failed to
    /// read commondir: Success"), so it is asked again.
    ///
    /// # Errors
    /// Git fails each time.
    pub fn worktrees(&self) -> Result<Vec<u8>, GitError> {
        let ask = || self.git().run(["worktree", "list", "--porcelain", "-z"]).map(|listed| listed.stdout);
        let mut listed = ask();
        for _ in 0..LISTS {
            if listed.is_ok() || !self.host().cancel.wait(LIST_PAUSE) {
                break;
            }
            listed = ask();
        }
        listed
    }

    /// The folders in which a branch is checked out.
    ///
    /// # Errors
    /// Git fails.
    pub fn checkouts_of(&self, branch: &RefName) -> Result<Vec<PathBuf>, GitError> {
        let listed = self.worktrees()?;
        let wanted = [b"branch ", branch.as_str().as_bytes()].concat();
        let (mut folder, mut found) = (None, Vec::new());
        for line in listed.split(|byte| *byte == 0) {
            if let Some(path) = line.strip_prefix(b"worktree ") {
                folder = Some(PathBuf::from(OsStr::from_bytes(path)));
            } else if line == wanted {
                // One that is not there cannot follow, and shows nothing to anybody.
                found.extend(folder.take().filter(|folder| folder.is_dir()));
            }
        }
        Ok(found)
    }

    /// Moves a branch from `old` to `new`, and the checkout it belongs to along with it: over clean paths only. Staged
    /// and edited files elsewhere stay as they are. `why` stands in the reflog.
    ///
    /// # Errors
    /// Git fails, or the files could not follow after all (then the branch is moved back if nobody else moved it).
    pub fn move_branch(
        &self,
        branch: &RefName,
        old: &CommitId,
        new: &CommitId,
        why: &str,
    ) -> Result<BranchMove, GitError> {
        if let Some(obstacle) = self.rebasing(branch) {
            return Ok(BranchMove::Refused(obstacle));
        }
        let folders = self.checkouts_of(branch)?;
        match folders.as_slice() {
            [] => Ok(match self.swap(branch, old, new, why)? {
                RefMove::Moved => BranchMove::Moved(None),
                RefMove::Raced => BranchMove::Raced,
            }),
            [folder] => self.discover_beside(folder)?.move_here(branch, old, new, why),
            _ => Ok(BranchMove::Refused(Obstacle::Several { branch: branch.to_string(), folders })),
        }
    }

    /// The git directory and the top of every worktree, read off the disk without a git.
    pub fn worktree_places(&self) -> Vec<(PathBuf, PathBuf)> {
        let common = self.common_dir();
        // The main worktree has no such file: its git directory stands in it.
        let main = common.parent().map(|top| (common.to_owned(), top.to_owned()));
        let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten().filter_map(|entry| {
            let file = fs::read(entry.path().join("gitdir")).ok()?;
            let top = Path::new(OsStr::from_bytes(file.trim_ascii())).parent()?.to_owned();
            Some((entry.path(), top))
        });
        main.into_iter().chain(linked).collect()
    }

    /// A checkout in which this very branch is being rebased or bisected. It has no branch checked out meanwhile; yet git
    /// moves the branch when that ends, from where it was when that began.
    fn rebasing(&self, branch: &RefName) -> Option<Obstacle> {
        let short = branch.as_str().trim_start_matches("refs/heads/");
        let signs = [
            ("rebase-merge/head-name", branch.as_str(), "a rebase"),
            ("rebase-apply/head-name", branch.as_str(), "a rebase"),
            ("BISECT_START", short, "a bisection"),
        ];
        for (git_dir, folder) in self.worktree_places() {
            for (name, wanted, what) in signs {
                if fs::read(git_dir.join(name)).is_ok_and(|found| found.trim_ascii() == wanted.as_bytes()) {
                    return Some(Obstacle::Busy { folder, what: format!("{what} of {branch}") });
                }
            }
        }
        None
    }

    fn move_here(&self, branch: &RefName, old: &CommitId, new: &CommitId, why: &str) -> Result<BranchMove, GitError> {
        if let Some((_, what)) = UNDER_WAY.iter().find(|(name, _)| self.git_dir().join(name).exists()) {
            let (folder, what) = (self.top().to_owned(), (*what).to_owned());
            return Ok(BranchMove::Refused(Obstacle::Busy { folder, what }));
        }
        let Some(moving) = Moving::hold(self)? else {
            return Ok(BranchMove::Refused(Obstacle::Locked { lock: self.git_dir().join("index.lock") }));
        };
        let mut moving = match moving.recover(self)? {
            Ok(moving) => moving,
            Err(obstacle) => return Ok(BranchMove::Refused(obstacle)),
        };
        if let Err(obstacle) = moving.lock(branch.as_str(), old, new)? {
            return Ok(BranchMove::Refused(obstacle));
        }
        failpoint::pass(self.host());
        // Under the lock: who moved the branch before us moved its files as well, and those are no dirt.
        if self.read_ref(branch)?.as_ref() != Some(old) {
            return Ok(BranchMove::Raced);
        }
        let (index, copy) = (self.git_dir().join("index"), moving.copy());
        fs::copy(&index, &copy).map_err(|why| io("read", &index, why))?;
        // What was only touched is not dirty. The exit code tells of files that are, which the next step judges.
        self.on_index(&copy, &["update-index", "-q", "--refresh"]).run_or_not()?;
        let words = ["read-tree", "-m", "-u", old.as_str(), new.as_str()];
        let tried = self.on_index(&copy, &[&words[..2], &["-n"], &words[2..]].concat()).run_or_not()?;
        if !tried.success() {
            let (folder, said) = (self.top().to_owned(), tried.said() + &self.unedited(&copy)?);
            return Ok(BranchMove::Refused(Obstacle::InTheWay { folder, said }));
        }
        if self.swap(branch, old, new, why)? == RefMove::Raced {
            return Ok(BranchMove::Raced);
        }
        failpoint::pass(self.host());
        let followed = self.on_index(&copy, &words).run_or_not()?;
        if !followed.success() {
            // Somebody edited one of the paths in this very moment; git checks all of them before it writes any.
            let back = self.swap(branch, new, old, "countersign: the checkout could not follow")?;
            let (folder, said) = (self.top().to_owned(), followed.said());
            let obstacle = Obstacle::InTheWay { folder, said };
            return match back {
                RefMove::Moved => Ok(BranchMove::Refused(obstacle)),
                RefMove::Raced => Err(GitError::Failed {
                    command: words.join(" "),
                    ending: format!("failed after {branch} had moved on"),
                    tree: self.top().to_owned(),
                    said: obstacle.to_string(),
                }),
            };
        }
        failpoint::pass(self.host());
        moving.finish(self)?;
        Ok(BranchMove::Moved(Some(self.top().to_owned())))
    }

    /// Files that git calls edited although their bytes are those of the index: rules for line endings that the commit
    /// does not keep. A person who looks for an edit of theirs would find none.
    fn unedited(&self, index: &Path) -> Result<String, GitError> {
        let listed = self.on_index(index, &["diff-files", "--name-only", "-z"]).run_or_not()?;
        let paths = listed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let mut unedited = Vec::new();
        for path in paths.take(MOST_COMPARED) {
            let literal = [b":(top,literal)", path].concat();
            let entry = self.git().env("GIT_INDEX_FILE", index);
            let words = ["ls-files", "-s", "-z", "--"].map(OsStr::new);
            let entry = entry.run_unchecked(words.into_iter().chain([OsStr::from_bytes(&literal)]))?.stdout;
            let id = entry.split(|byte| *byte == b' ').nth(1).unwrap_or_default().to_vec();
            let words = ["hash-object", "--no-filters", "--"].map(OsStr::new);
            let raw = self.git().run_unchecked(words.into_iter().chain([OsStr::from_bytes(path)]))?;
            if raw.success() && raw.stdout.trim_ascii() == id {
                unedited.push(crate::host::path::escape(path));
            }
        }
        Ok(if unedited.is_empty() {
            String::new()
        } else {
            let names = unedited.join(", ");
            format!(
                " (line endings not normalised: nobody edited {names}; `git add --renormalize` and a commit mend that)"
            )
        })
    }

    fn on_index<'r>(&'r self, index: &'r Path, words: &[&'r str]) -> OnIndex<'r> {
        OnIndex { repo: self, index, words: words.to_vec() }
    }

    /// Compare-and-swap with a line in the reflogs of the branch and of the HEAD that follows it.
    fn swap(&self, branch: &RefName, old: &CommitId, new: &CommitId, why: &str) -> Result<RefMove, GitError> {
        let words = ["update-ref", "-m", why, branch.as_str(), new.as_str(), old.as_str()];
        let output = self.git().run_unchecked(words)?;
        if output.success() {
            return Ok(RefMove::Moved);
        }
        if self.read_ref(branch)?.as_ref() == Some(old) {
            return Err(GitError::Failed {
                command: format!("git update-ref {branch} {}", new.short()),
                ending: format!("exit {}", output.code.unwrap_or(-1)),
                tree: self.common_dir().to_owned(),
                said: output.said(),
            });
        }
        Ok(RefMove::Raced)
    }
}

/// A git on another index of this worktree.
struct OnIndex<'r> {
    repo: &'r Repo,
    index: &'r Path,
    words: Vec<&'r str>,
}

impl OnIndex<'_> {
    fn run_or_not(&self) -> Result<super::Output, GitError> {
        let words = ["-c", "submodule.recurse=false"].into_iter().chain(self.words.iter().copied());
        self.repo.git().env("GIT_INDEX_FILE", self.index).run_unchecked(words)
    }
}

fn io(doing: &'static str, path: &Path, why: std::io::Error) -> GitError {
    GitError::Io { doing, path: path.to_owned(), why }
}
