//! What is there of a task: its page on the target, its worktree, its sealed attempts, its journal.

use super::WorkError;
use super::drift::drift;
use super::journal::Journal;
use super::settings::Terms;
use super::step::{Progress, Standing};
use crate::claim::Claim;
use crate::host::git::{RefName, Repo};
use crate::host::ids::CommitId;
use crate::host::path::RepoPath;
use crate::receipts::case::{self, Sealed};
use crate::receipts::{DecisionKind, DecisionRecord, Fact, Origin};
use crate::task::layout::{ContextName, Folder, Layout};
use crate::task::{Task, TaskId, read_task};
use crate::worker::{Candidate, Source, pick_report};
use std::path::Path;

/// A page larger than this is no task.
const LARGEST_TASK: u64 = 4 << 20;

/// A task, and where its page stands whatever folder it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) id: TaskId,
    pub(super) context: ContextName,
    /// The page's file name: it stays the same from folder to folder.
    pub(super) file: String,
}

impl Subject {
    pub(super) fn of(layout: Layout, id: &TaskId, path: &RepoPath) -> Option<Self> {
        let place = layout.place(path)?;
        let context = ContextName::new(std::str::from_utf8(&place.context).ok()?).ok()?;
        let file = std::str::from_utf8(path.file_name()).ok()?.to_owned();
        Some(Self { id: id.clone(), context, file })
    }

    pub(super) fn path(&self, layout: Layout, folder: Folder) -> RepoPath {
        RepoPath::from(format!("{}/{}", layout.folder(&self.context, folder), self.file).as_str())
    }
}

/// A life of a task: the commit that took it, and the task as that commit has it.
#[derive(Debug, Clone)]
pub(super) struct Life {
    pub(super) start: CommitId,
    pub(super) task: Task,
}

/// An attempt that was sealed in this life by the conductor.
#[derive(Debug, Clone)]
pub(super) struct Attempted {
    pub(super) sealed: Sealed,
    pub(super) claim: Option<Claim>,
    pub(super) decision: Option<DecisionRecord>,
}

/// Everything about a task at one moment.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) standing: Standing,
    /// None if no commit ever put its page into `doing`.
    pub(super) life: Option<Life>,
    /// Those of this life, oldest first.
    pub(super) attempts: Vec<Attempted>,
}

/// The newest commit of the target that put a file where it is.
pub(super) fn added_by(repo: &Repo, target: &RefName, path: &RepoPath) -> Result<Option<CommitId>, WorkError> {
    let Some(path) = path.as_str() else { return Ok(None) };
    let literal = format!(":(top,literal){path}");
    let words =
        ["log", "-1", "--format=%H", "--diff-filter=A", "--no-renames", target.as_str(), "--", literal.as_str()];
    Ok(CommitId::new(&repo.git().run(words)?.line()).ok())
}

pub(super) fn life(repo: &Repo, terms: &Terms, subject: &Subject) -> Result<Option<Life>, WorkError> {
    let path = subject.path(terms.layout, Folder::Doing);
    let Some(start) = added_by(repo, &terms.target, &path)? else { return Ok(None) };
    let bytes = repo.file(&repo.tree_of(&start)?, &path, LARGEST_TASK)?;
    let task = bytes.and_then(|bytes| read_task(&bytes, &path).ok());
    match task {
        Some(task) if task.id.as_ref() == Some(&subject.id) => Ok(Some(Life { start, task })),
        _ => Err(WorkError::Inconsistent {
            task: subject.id.to_string(),
            what: format!("{path} cannot be read as this task at {}; mend the page on the branch", start.short()),
        }),
    }
}

/// Looks at everything.
pub(super) fn look(repo: &Repo, terms: &Terms, subject: &Subject, journal: &Journal) -> Result<Seen, WorkError> {
    let tip = repo.read_ref(&terms.target)?.ok_or_else(|| WorkError::NoTarget(terms.target.to_string()))?;
    let tree = repo.tree_of(&tip)?;
    let (mut folder, mut page) = (None, Vec::new());
    for candidate in Folder::ALL {
        if let Some(bytes) = repo.file(&tree, &subject.path(terms.layout, candidate), LARGEST_TASK)? {
            (folder, page) = (Some(candidate), bytes);
        }
    }
    let life = life(repo, terms, subject)?;
    let progress = life.as_ref().map(|life| Progress::of(journal.entries(), &life.start)).unwrap_or_default();
    let attempts = attempts(repo, subject.id.as_str(), life.as_ref())?;
    let sent_back = |attempt: &&Attempted| {
        attempt.decision.as_ref().is_some_and(|decision| decision.kind == DecisionKind::SendBack)
    };
    let fails = u32::try_from(attempts.iter().filter(sent_back).count()).unwrap_or(u32::MAX);
    let heading = format!("## Verifier note (iteration {fails})");
    let noted = String::from_utf8_lossy(&page).lines().any(|line| line.trim_end() == heading);
    let place = terms.worktree(subject.id.as_str());
    // One that an earlier life left is not this life's: its work is measured against another commit.
    let worktree = is_worktree(repo, &place)
        && match (folder, &life) {
            (Some(Folder::Doing), Some(life)) => descends(repo, &place, &life.start)?,
            _ => true,
        };
    let standing = Standing {
        folder,
        worktree,
        fails,
        sealed: u32::try_from(attempts.len()).unwrap_or(u32::MAX),
        decision: attempts.last().and_then(|attempt| attempt.decision.clone()),
        report: has_report(&journal.inbox(), &subject.id, progress.iteration),
        noted,
        drift: drift(&attempts.iter().map(|attempt| attempt.sealed.attempt.receipts.as_slice()).collect::<Vec<_>>()),
        progress,
    };
    Ok(Seen { standing, life, attempts })
}

/// True if a folder is a linked worktree of this repository.
pub(super) fn is_worktree(repo: &Repo, folder: &Path) -> bool {
    let inside = || repo.discover_beside(folder).ok();
    folder.join(".git").is_file() && inside().is_some_and(|inside| inside.common_dir() == repo.common_dir())
}

/// True if what is checked out in a worktree has this commit in its history.
fn descends(repo: &Repo, place: &Path, start: &CommitId) -> Result<bool, WorkError> {
    let head = repo.discover_beside(place)?.resolve("HEAD")?;
    Ok(match head {
        Some(head) => head == *start || repo.is_ancestor(start, &head)?,
        None => false,
    })
}

fn has_report(inbox: &Path, id: &TaskId, iteration: u32) -> bool {
    let place = inbox.join(format!("{id}.iter-{iteration}.md"));
    let Ok(Some(bytes)) = crate::worker::outbox::read_left_report(&place) else { return false };
    pick_report(&[Candidate { source: Source::Sidecar, text: &bytes }], Some(id.as_str())).is_ok()
}

/// The conductor's attempts of this life, oldest first. Runs by hand are no attempts (RULINGS 22).
fn attempts(repo: &Repo, key: &str, life: Option<&Life>) -> Result<Vec<Attempted>, WorkError> {
    let Some(life) = life else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for commit in case::attempts(repo, key)?.iter().rev() {
        let sealed = case::read(repo, commit)?;
        let (mut ours, mut base, mut claim, mut decision) = (false, None, None, None);
        for receipt in &sealed.attempt.receipts {
            match &receipt.fact {
                Fact::Opened(opened) => ours = opened.origin == Origin::Work,
                Fact::Base(record) => base = Some(record.commit.clone()),
                Fact::Claim(record) => claim = Some(record.clone()),
                Fact::Decided(record) => decision = Some(record.clone()),
                _ => {}
            }
        }
        let Some(base) = base else { continue };
        if ours && (base == life.start || repo.is_ancestor(&life.start, &base)?) {
            found.push(Attempted { sealed, claim, decision });
        }
    }
    Ok(found)
}
