//! What a claim is measured against, and the rule that chose it (RULINGS 1).

use crate::host::git::{GitError, Repo};
use crate::host::ids::CommitId;
use crate::host::path::escape;

/// The base and why it is this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// The commit.
    pub commit: CommitId,
    /// The rule that chose it, in words.
    pub rule: String,
    /// Why a person should look at it, if it leaves out commits that a rule the branch does not choose would judge.
    pub doubt: Option<String>,
}

impl Base {
    fn new(commit: CommitId, rule: String) -> Self {
        Self { commit, rule, doubt: None }
    }
}

/// Why there is no base.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// The user named a revision that does not exist. A usage error.
    #[error("--base {rev} names no commit in this repository; give a branch, a tag or a full commit id")]
    Unknown {
        /// The revision, escaped.
        rev: String,
    },
    /// Nothing was committed yet.
    #[error("{branch} has no commit yet: there is nothing to measure a claim against; make a first commit")]
    Unborn {
        /// The branch.
        branch: String,
    },
    /// No rule applies, or two disagree. A usage error.
    #[error("cannot tell what the work is measured against: {why}; name it with --base REV")]
    Ambiguous {
        /// Why.
        why: String,
    },
    /// The clone lacks the history that would answer.
    #[error(
        "this clone is shallow and lacks the base ({why}); run `git fetch --unshallow`, or fetch the base and name it with --base"
    )]
    Shallow {
        /// What was missing.
        why: String,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The base a user named, or the one the rules find for the worktree's HEAD.
///
/// Without a name: the branch's upstream (if it tracks another branch) or the latest entry of its reflog that created or reset it; else the
/// merge-base with `origin/HEAD`; else with `main` or `master`.
///
/// # Errors
/// See [`BaseError`].
pub fn settle_base(repo: &Repo, named: Option<&str>) -> Result<Base, BaseError> {
    if let Some(rev) = named {
        return match repo.resolve(rev)? {
            Some(commit) => Ok(Base::new(commit, format!("named: {}", escape(rev.as_bytes())))),
            None if repo.is_shallow() => {
                Err(BaseError::Shallow { why: format!("{} is not in it", escape(rev.as_bytes())) })
            }
            None if repo.resolve("HEAD")?.is_none() => Err(unborn(repo.current_branch()?)),
            None => Err(BaseError::Unknown { rev: escape(rev.as_bytes()) }),
        };
    }
    let branch = repo.current_branch()?;
    let Some(head) = repo.resolve("HEAD")? else {
        return Err(unborn(branch));
    };
    if let Some(branch) = &branch {
        if let Some(base) = from_upstream(repo, branch, &head)? {
            return Ok(base);
        }
        if let Some(base) = from_creation(repo, branch, &head)? {
            return Ok(base);
        }
    }
    from_default_branch(repo, &head)
}

/// Refuses a shallow clone whose history does not lead from `tip` back to the base: nobody can tell there whether the work
/// builds on it. In a whole clone the same finding is the worker's doing, and the freezing says so.
///
/// # Errors
/// See [`BaseError`].
pub fn check_history(repo: &Repo, base: &Base, tip: Option<&CommitId>) -> Result<(), BaseError> {
    let tip =
        if repo.is_shallow() { tip.cloned().map_or_else(|| repo.resolve("HEAD"), |tip| Ok(Some(tip)))? } else { None };
    match tip {
        Some(tip) if !repo.is_ancestor(&base.commit, &tip)? => Err(BaseError::Shallow {
            why: format!("the history between {} and {} is not in it", base.commit.short(), tip.short()),
        }),
        _ => Ok(()),
    }
}

fn unborn(branch: Option<String>) -> BaseError {
    BaseError::Unborn { branch: branch.unwrap_or_else(|| "HEAD".to_owned()) }
}

fn from_upstream(repo: &Repo, branch: &str, head: &CommitId) -> Result<Option<Base>, BaseError> {
    let Some(upstream) = repo.upstream_of(branch)? else { return Ok(None) };
    // A branch that tracks its own published copy says where it was pushed, not where it came from.
    let own_copy =
        upstream.strip_prefix("refs/remotes/").and_then(|r| r.split_once('/')).is_some_and(|(_, b)| b == branch);
    let is_default = matches!(branch, "main" | "master");
    if own_copy && !is_default {
        return Ok(None);
    }
    let Some(tip) = repo.resolve(&upstream)? else { return Ok(None) };
    let Some(commit) = merge_base(repo, head, &tip, &upstream)? else { return Ok(None) };
    let doubt = doubt_upstream(repo, (branch, head), &upstream, &commit)?;
    Ok(Some(Base { doubt, ..Base::new(commit, format!("merge-base with the upstream {upstream}")) }))
}

/// A branch of this repository that is not the default one can be made, and made the upstream, after the fact: what lies
/// between the other rules' base and this one would be judged by nobody, and may be what the task is read from.
fn doubt_upstream(
    repo: &Repo,
    (branch, head): (&str, &CommitId),
    upstream: &str,
    base: &CommitId,
) -> Result<Option<String>, BaseError> {
    if !upstream.starts_with("refs/heads/") || is_default_branch(repo, upstream)? {
        return Ok(None);
    }
    let other = match from_default_branch(repo, head) {
        Ok(other) => Some(other),
        Err(BaseError::Git(why)) => return Err(why.into()),
        Err(_) => from_creation(repo, branch, head)?,
    };
    let name = escape(upstream.as_bytes());
    Ok(match other {
        Some(other) if repo.is_ancestor(base, &other.commit)? => None,
        Some(other) => Some(format!(
            "the base {} is chosen by the branch's own upstream {name}; the commits after {} ({}) up to it are not in the claim",
            base.short(),
            other.commit.short(),
            other.rule
        )),
        None => Some(format!(
            "the base {} is chosen by the branch's own upstream {name}, and there is no default branch to compare with",
            base.short()
        )),
    })
}

/// True for the branch that `origin/HEAD` names; without it, for the one of `main` and `master` that there is.
fn is_default_branch(repo: &Repo, name: &str) -> Result<bool, BaseError> {
    let origin = repo.git().run_unchecked(["symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"])?;
    if origin.success() {
        let target = origin.line();
        return Ok(target.strip_prefix("refs/remotes/origin/") == name.strip_prefix("refs/heads/"));
    }
    let mut there = Vec::new();
    for usual in ["refs/heads/main", "refs/heads/master"] {
        there.extend(repo.resolve(usual)?.map(|_| usual));
    }
    Ok(there == [name])
}

fn from_creation(repo: &Repo, branch: &str, head: &CommitId) -> Result<Option<Base>, BaseError> {
    let name = format!("refs/heads/{branch}");
    let output = repo.git().run_unchecked(["reflog", "show", "--no-abbrev", "--format=%H%x00%gs", &name, "--"])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entries: Vec<(CommitId, &str)> = text
        .lines()
        .filter_map(|line| line.split_once('\0'))
        .filter_map(|(id, words)| Some((CommitId::new(id).ok()?, words)))
        .collect();
    let Some((created, how)) = latest_start(repo, &entries)? else { return Ok(None) };
    // A branch that took in the default branch since is measured from there: its own work begins after it.
    if let Ok(Base { commit, rule, .. }) = from_default_branch(repo, head)
        && commit != created
        && commit != *head
        && repo.is_ancestor(&created, &commit)?
    {
        return Ok(Some(Base::new(commit, format!("{rule}, newer than the creation of {branch}"))));
    }
    let doubt = doubt_creation(repo, (branch, head), how, &created)?;
    Ok(Some(Base { doubt, ..Base::new(created, format!("{how} of {branch} in its reflog")) }))
}

/// A branch can be created on top of its own work (`git commit`, then `git switch -c`): what lies between the default
/// branch and its creation would be judged by nobody, and may be what the task is read from.
fn doubt_creation(
    repo: &Repo,
    (branch, head): (&str, &CommitId),
    how: &str,
    created: &CommitId,
) -> Result<Option<String>, BaseError> {
    let other = match from_default_branch(repo, head) {
        Ok(other) => other,
        Err(BaseError::Git(why)) => return Err(why.into()),
        // Nothing that the branch has no say in; the creation is all there is.
        Err(_) => return Ok(None),
    };
    if repo.is_ancestor(created, &other.commit)? {
        return Ok(None);
    }
    // The default branch may have commits that nobody pushed yet.
    for name in ["refs/heads/main", "refs/heads/master", "refs/heads/trunk", "refs/heads/develop"] {
        if is_default_branch(repo, name)?
            && let Some(tip) = repo.resolve(name)?
            && repo.is_ancestor(created, &tip)?
        {
            return Ok(None);
        }
    }
    // Nor is what the user's own checkout is on the choice of a worker in a linked worktree.
    if repo.git_dir() != repo.common_dir() {
        let users = repo.git().run_unchecked(["rev-parse", "--verify", "--quiet", "main-worktree/HEAD"])?;
        if let Ok(tip) = CommitId::new(&users.line())
            && repo.is_ancestor(created, &tip)?
        {
            return Ok(None);
        }
    }
    Ok(Some(format!(
        "the base {} is the {how} of {}; the commits after {} ({}) up to it are not in the claim",
        created.short(),
        escape(branch.as_bytes()),
        other.commit.short(),
        other.rule
    )))
}

/// The latest entry of a reflog (newest first) that made the branch or put it elsewhere (`git branch -f`, `git checkout
/// -B`, `git switch -C`). One that leads to the branch's own commits is no start: it would hide them.
fn latest_start(repo: &Repo, entries: &[(CommitId, &str)]) -> Result<Option<(CommitId, &'static str)>, BaseError> {
    let start = |words: &str| {
        let forms = [("branch: Created from", "creation"), ("branch: Reset to", "latest reset")];
        forms.into_iter().find(|(form, _)| words.starts_with(form)).map(|(_, how)| how)
    };
    for (at, (commit, words)) in entries.iter().enumerate() {
        let Some(how) = start(words) else { continue };
        let mut own = entries[at + 1..].iter().filter(|(_, words)| start(words).is_none());
        let holds_own =
            own.try_fold(false, |found, (own, _)| Ok::<_, BaseError>(found || repo.is_ancestor(own, commit)?));
        if !holds_own? {
            return Ok(Some((commit.clone(), how)));
        }
    }
    Ok(None)
}

fn from_default_branch(repo: &Repo, head: &CommitId) -> Result<Base, BaseError> {
    let mut found: Vec<Base> = Vec::new();
    for names in [&["refs/remotes/origin/HEAD"][..], &["refs/heads/main", "refs/heads/master"][..]] {
        for name in names {
            let Some(tip) = repo.resolve(name)? else { continue };
            if let Some(commit) = merge_base(repo, head, &tip, name)?
                && !found.iter().any(|base| base.commit == commit)
            {
                found.push(Base::new(commit, format!("merge-base with {name}")));
            }
        }
        match found.len() {
            0 => {}
            1 => return Ok(found.remove(0)),
            _ => {
                let why = format!("{} and {} differ", found[0].rule, found[1].rule);
                return Err(BaseError::Ambiguous { why });
            }
        }
    }
    if repo.is_shallow() {
        return Err(BaseError::Shallow { why: "no merge-base with a default branch".to_owned() });
    }
    Err(BaseError::Ambiguous {
        why: "there is no upstream, and no origin/HEAD, main or master that shares history with it".to_owned(),
    })
}

fn merge_base(repo: &Repo, head: &CommitId, tip: &CommitId, name: &str) -> Result<Option<CommitId>, BaseError> {
    match repo.merge_base(head, tip)? {
        None if repo.is_shallow() => Err(BaseError::Shallow { why: format!("HEAD and {name} share no commit in it") }),
        found => Ok(found),
    }
}
