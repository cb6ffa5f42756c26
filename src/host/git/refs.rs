//! References: created once, moved only from a known value.

use super::{GitError, Repo};
use crate::host::failpoint;
use crate::host::ids::CommitId;
use std::fmt;

/// A full, well-formed reference name such as `refs/countersign/claims/w-1/1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(String);

impl RefName {
    /// Checks git's own rules for names (git-check-ref-format) and our own: it starts with `refs/`.
    ///
    /// # Errors
    /// The refused name.
    pub fn new(name: &str) -> Result<Self, String> {
        let fine = name.starts_with("refs/")
            && name.split('/').all(|part| {
                !part.is_empty() && !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock")
            })
            && !name.ends_with('.')
            && !name.contains("..")
            && !name.contains("@{")
            && name.bytes().all(|b| b > b' ' && b != 0x7f && !b"~^:?*[\\".contains(&b));
        if fine { Ok(Self(name.to_owned())) } else { Err(name.to_owned()) }
    }

    /// The full name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a compare-and-swap on a reference ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefMove {
    /// It now has the new value.
    Moved,
    /// It did not have the expected old value; nothing changed.
    Raced,
}

impl Repo {
    /// The branch that is checked out; none where HEAD is detached.
    ///
    /// # Errors
    /// Git fails.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        let branch = |name: &str| name.strip_prefix("refs/heads/").map(str::to_owned);
        if let Some(repo) = self.graph.borrow().as_ref()
            && let Ok(head) = repo.find_reference("HEAD")
        {
            let target = head.symbolic_target_bytes().map(String::from_utf8_lossy);
            return Ok(target.as_deref().and_then(branch));
        }
        let output = self.git().run_unchecked(["symbolic-ref", "--quiet", "HEAD"])?;
        Ok(output.success().then(|| output.line()).as_deref().and_then(branch))
    }

    /// The reference that a branch tracks; none if it tracks nothing.
    ///
    /// # Errors
    /// Git fails.
    pub fn upstream_of(&self, branch: &str) -> Result<Option<String>, GitError> {
        let name = format!("refs/heads/{branch}");
        if let Some(repo) = self.graph.borrow().as_ref() {
            match repo.branch_upstream_name(&name) {
                Ok(found) => return Ok(std::str::from_utf8(&found).ok().map(str::to_owned)),
                Err(why) if why.code() == git2::ErrorCode::NotFound => return Ok(None),
                Err(_) => {}
            }
        }
        let line = self.git().run(["for-each-ref", "--format=%(upstream)", &name])?.line();
        Ok((!line.is_empty()).then_some(line))
    }

    /// The commit a reference points to.
    ///
    /// # Errors
    /// Git fails.
    pub fn read_ref(&self, name: &RefName) -> Result<Option<CommitId>, GitError> {
        if let Some(repo) = self.graph.borrow().as_ref() {
            return match repo.refname_to_id(name.as_str()) {
                Ok(id) => Ok(CommitId::new(&id.to_string()).ok()),
                Err(why) if why.code() == git2::ErrorCode::NotFound => Ok(None),
                Err(why) => Err(self.graph_error(name.as_str(), &why)),
            };
        }
        let output =
            self.git().run_unchecked(["rev-parse", "--verify", "--quiet", "--end-of-options", name.as_str()])?;
        Ok(if output.success() { CommitId::new(&output.line()).ok() } else { None })
    }

    /// Moves a reference from `old` (`None`: it must not exist) to `new`, or changes nothing.
    ///
    /// # Errors
    /// Git fails for another reason than the old value.
    pub fn move_ref(&self, name: &RefName, new: &CommitId, old: Option<&CommitId>) -> Result<RefMove, GitError> {
        let zero = "0".repeat(new.as_str().len());
        let line = format!("update {name}\0{new}\0{}\0", old.map_or(zero.as_str(), CommitId::as_str));
        failpoint::pass(self.host());
        let output = self.git().stdin(line).run_unchecked(["update-ref", "--stdin", "-z"])?;
        failpoint::pass(self.host());
        if output.success() {
            return Ok(RefMove::Moved);
        }
        if self.read_ref(name)?.as_ref() == old {
            return Err(GitError::Failed {
                command: format!("git update-ref {name} {}", new.short()),
                ending: format!("exit {}", output.code.unwrap_or(-1)),
                tree: self.common_dir.clone(),
                said: output.said(),
            });
        }
        Ok(RefMove::Raced)
    }

    /// All references under a prefix such as `refs/countersign/`, with what they point to, sorted by name.
    ///
    /// # Errors
    /// Git fails.
    pub fn refs_under(&self, prefix: &str) -> Result<Vec<(String, String)>, GitError> {
        let output = self.git().run(["for-each-ref", "--format=%(refname)%00%(objectname)", prefix])?;
        let mut refs: Vec<(String, String)> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(|line| line.split_once('\0').map(|(name, id)| (name.to_owned(), id.to_owned())))
            .collect();
        refs.sort();
        Ok(refs)
    }

    pub(super) fn graph_error(&self, id: &str, why: &git2::Error) -> GitError {
        GitError::Missing { id: id.to_owned(), repo: self.common_dir.clone(), why: why.message().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_not_references() {
        for bad in [
            "heads/x",
            "refs/../x",
            "refs/a..b",
            "refs/a b",
            "refs/x.lock",
            "refs/@{u}",
            "refs/a/",
            "refs/.a",
            "refs/a~1",
            "refs/\u{7f}",
        ] {
            assert!(RefName::new(bad).is_err(), "{bad}");
        }
        assert!(RefName::new("refs/countersign/claims/w-1/1").is_ok());
    }
}
