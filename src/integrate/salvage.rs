//! Salvage: the saved copy of work that did not land, as a reference and as a patch that applies bit for bit.
//!
//! The work is frozen as for a judgement (staged, unstaged and untracked files, modes, links, binary files); the patch is
//! made by plumbing that no configuration bends, and is applied to the base once before anybody relies on it. Each event
//! has a file of its own and none is ever overwritten.

mod patch;

use crate::claim::{FreezeError, Sighting, SightingKind, freeze_worktree};
use crate::host::failpoint;
use crate::host::git::{EntryKind, Git, GitError, RefMove, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::task::TaskId;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where people look for patches, below the project's top (agentheim.md §5.8).
pub const SALVAGE_FOLDER: &str = ".agentheim/salvage";

/// How many events of one kind and one task are told apart.
const MOST_EVENTS: u32 = 10_000;

/// How many ignored places are named.
const MOST_NAMED: usize = 100;

/// What happened, so that the work did not land. It is part of the names of patch and reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SalvageTag {
    /// The last attempt failed, or the task has to change first; with the iteration.
    Escalated(u32),
    /// The worker gave the task back.
    Bounced,
    /// A person gave the work up.
    Discarded,
    /// A second merge conflict.
    MergeConflict,
    /// The worker's report was lost twice.
    LostResult,
    /// The worker says that it failed.
    Failed,
    /// The worker ran past its limit.
    TimedOut,
    /// The worker, or we, died.
    Crashed,
}

impl fmt::Display for SalvageTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Escalated(iteration) => write!(f, "escalated-iter{iteration}"),
            Self::Bounced => f.write_str("bounced"),
            Self::Discarded => f.write_str("discarded"),
            Self::MergeConflict => f.write_str("merge-conflict"),
            Self::LostResult => f.write_str("lost-result"),
            Self::Failed => f.write_str("failed"),
            Self::TimedOut => f.write_str("timed-out"),
            Self::Crashed => f.write_str("crashed"),
        }
    }
}

/// Why work could not be saved. The worktree stays as it is, whatever the reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SalvageError {
    /// History that exists only inside the worktree.
    #[error("{} holds history that exists nowhere else ({}): the worktree is kept; push it, or move that repository out, then run this again", tree.display(), places.join("; "))]
    Inside {
        /// The worktree.
        tree: PathBuf,
        /// Each place with what it is.
        places: Vec<String>,
    },
    /// The patch does not give the work back.
    #[error("the patch of {} does not give tree {wanted} when it is applied ({found}): the worktree is kept, and {reference} keeps the work", tree.display())]
    NotExact {
        /// The worktree.
        tree: PathBuf,
        /// The frozen tree.
        wanted: TreeId,
        /// What came out instead.
        found: String,
        /// The reference that keeps the work.
        reference: String,
    },
    /// Too many events of one kind.
    #[error("{task} has {MOST_EVENTS} salvages tagged {tag} already; move some of them away from {}", folder.display())]
    Crowded {
        /// The task.
        task: String,
        /// The tag.
        tag: String,
        /// The folder.
        folder: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {why}; the worktree is kept", path.display())]
    Io {
        /// Verb, e.g. `write`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// The work could not be frozen.
    #[error("{0}; the worktree is kept")]
    Freeze(#[from] FreezeError),
    /// Git failed.
    #[error("{0}; the worktree is kept")]
    Git(#[from] GitError),
}

/// The proof that a worktree's work is safe. Made by [`salvage`] alone, spent by removing the worktree.
#[derive(Debug, PartialEq, Eq)]
pub struct Salvaged {
    worktree: PathBuf,
    base: CommitId,
    record: SalvageRecord,
}

/// A salvage as it is recorded and shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SalvageRecord {
    /// The task.
    pub task: String,
    /// The event, as in the names.
    pub tag: String,
    /// The frozen tree.
    pub tree: TreeId,
    /// The commit that holds it; its parent is the base.
    pub commit: CommitId,
    /// The reference that keeps the commit.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The patch; none if nothing differs from the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<PathBuf>,
    /// Ignored files and folders, which are in neither: they go with the worktree.
    pub left_out: Vec<String>,
}

impl Salvaged {
    /// The worktree whose work is safe.
    pub fn worktree(&self) -> &Path {
        &self.worktree
    }

    /// The commit that the work was measured against.
    pub fn base(&self) -> &CommitId {
        &self.base
    }

    /// What was saved, and where.
    pub fn record(&self) -> &SalvageRecord {
        &self.record
    }
}

/// Saves the work in the worktree of `repo`, measured against `base`. `project` is the top of the checkout in whose
/// [`SALVAGE_FOLDER`] the patch is written.
///
/// # Errors
/// See [`SalvageError`]: then nothing may be removed.
pub fn salvage(
    repo: &Repo,
    project: &Path,
    task: &TaskId,
    tag: SalvageTag,
    base: &CommitId,
) -> Result<Salvaged, SalvageError> {
    let frozen = freeze_worktree(repo, base)?;
    let places = only_here(repo, &frozen.tree, &frozen.sightings)?;
    if !places.is_empty() {
        return Err(SalvageError::Inside { tree: repo.top().to_owned(), places });
    }
    let left_out = ignored(repo)?;
    let claim = frozen.keep(repo, task.as_str(), None)?;
    let unborn = || GitError::Unreadable { command: "git commit-tree".to_owned(), what: "no commit".to_owned() };
    let commit = claim.commit.ok_or_else(unborn)?;
    failpoint::pass(repo.host());
    let reference = keep(repo, task, tag, &commit, project)?;
    failpoint::pass(repo.host());
    let patch = if claim.tree == claim.base_tree {
        None
    } else {
        let draft = patch::draft(repo, project, &patch::Header { task, tag, base, commit: &commit }, &claim.tree)?;
        patch::prove(repo, &draft, &claim.base_tree, &claim.tree, &reference)?;
        Some(patch::settle(draft, project, task, tag)?)
    };
    let record = SalvageRecord {
        task: task.as_str().to_owned(),
        tag: tag.to_string(),
        tree: claim.tree,
        commit,
        reference,
        patch,
        left_out,
    };
    Ok(Salvaged { worktree: repo.top().to_owned(), base: base.clone(), record })
}

/// Keeps the commit under a reference of its own; one that already keeps this very commit is enough.
fn keep(
    repo: &Repo,
    task: &TaskId,
    tag: SalvageTag,
    commit: &CommitId,
    project: &Path,
) -> Result<String, SalvageError> {
    let prefix = format!("refs/countersign/claims/{task}/");
    if let Some((name, _)) = repo.refs_under(&prefix)?.into_iter().find(|(_, id)| id == commit.as_str()) {
        return Ok(name);
    }
    for event in 1..=MOST_EVENTS {
        let name = format!("{prefix}{}", numbered(tag, event));
        let refused = |name: String| FreezeError::BadName { name: escape(name.as_bytes()) };
        let name = RefName::new(&name).map_err(refused)?;
        if repo.move_ref(&name, commit, None)? == RefMove::Moved {
            return Ok(name.to_string());
        }
    }
    Err(crowded(task, tag, project))
}

/// The first event has the plain name.
fn numbered(tag: SalvageTag, event: u32) -> String {
    if event == 1 { tag.to_string() } else { format!("{tag}-{event}") }
}

fn crowded(task: &TaskId, tag: SalvageTag, project: &Path) -> SalvageError {
    SalvageError::Crowded { task: task.to_string(), tag: tag.to_string(), folder: project.join(SALVAGE_FOLDER) }
}

/// Ignored files and folders, the first few by name.
fn ignored(repo: &Repo) -> Result<Vec<String>, GitError> {
    let output = repo.git().run(["ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"])?;
    let places: Vec<&[u8]> = output.stdout.split(|byte| *byte == 0).filter(|place| !place.is_empty()).collect();
    let mut named: Vec<String> = places.iter().take(MOST_NAMED).map(|place| escape(place)).collect();
    if places.len() > MOST_NAMED {
        named.push(format!("and {} more", places.len() - MOST_NAMED));
    }
    Ok(named)
}

/// Places inside the worktree whose history would be lost with it: what git stores for them here is a pointer at most.
fn only_here(repo: &Repo, tree: &TreeId, sightings: &[Sighting]) -> Result<Vec<String>, GitError> {
    let kinds = [SightingKind::NestedRepository, SightingKind::DirtySubmodule, SightingKind::UnreachableGitlink];
    let mut places: Vec<String> = sightings
        .iter()
        .filter(|sighting| kinds.contains(&sighting.kind))
        .map(|sighting| {
            let place = sighting.path.as_ref().map_or_else(String::new, |path| format!("{path}: "));
            format!("{place}{}", sighting.detail)
        })
        .collect();
    for (path, entry) in repo.list(tree, "")? {
        let named = places.iter().any(|place| place.starts_with(&format!("{path}: ")));
        if entry.kind() == EntryKind::Gitlink && !named && has_unpublished(repo, &path)? {
            places.push(format!("{path}: the submodule has commits that no remote branch has"));
        }
    }
    Ok(places)
}

/// True if a checked-out submodule holds commits (on any branch, stash or HEAD) that its remotes do not have.
fn has_unpublished(repo: &Repo, path: &RepoPath) -> Result<bool, GitError> {
    let inner = repo.top().join(path.to_path_buf());
    if !inner.join(".git").exists() {
        return Ok(false);
    }
    let git = Git::new(repo.host(), &inner);
    let output = git.run_unchecked(["rev-list", "--max-count=1", "HEAD", "--all", "--not", "--remotes"])?;
    // What cannot be read might be the only copy.
    Ok(!output.success() || !output.stdout.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_a_name_of_its_own() {
        for (tag, event, name) in [
            (SalvageTag::Escalated(3), 1, "escalated-iter3"),
            (SalvageTag::Bounced, 1, "bounced"),
            (SalvageTag::Bounced, 2, "bounced-2"),
            (SalvageTag::MergeConflict, 11, "merge-conflict-11"),
            (SalvageTag::LostResult, 1, "lost-result"),
            (SalvageTag::Discarded, 1, "discarded"),
            (SalvageTag::Failed, 1, "failed"),
            (SalvageTag::TimedOut, 1, "timed-out"),
            (SalvageTag::Crashed, 1, "crashed"),
        ] {
            assert_eq!(numbered(tag, event), name);
        }
    }
}
