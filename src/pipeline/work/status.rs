//! What is running, waiting, held or stranded, and where its work is: read off the repository, also while a run goes on.

use super::WorkError;
use super::hand::saved;
use super::journal::{Entry, Journal};
use super::settings::{main_top, target};
use crate::host::Host;
use crate::host::git::Repo;
use crate::task::TaskId;
use crate::task::layout::Folder;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// How one task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TaskStatus {
    /// Its id.
    pub task: String,
    /// The folder its page is in on the branch; none: it has no page there.
    pub folder: Option<Folder>,
    /// Its state in one word: `running`, `waiting`, `held`, `foreign`, `stranded`.
    pub state: String,
    /// More, in words.
    pub why: String,
    /// The worker's iteration, 0 before the first.
    pub iteration: u32,
    /// Its worktree, if there is one.
    pub worktree: Option<PathBuf>,
    /// Where its work was saved, newest last.
    pub saved: Vec<String>,
}

/// Every task that is under way, or whose worktree or journal is still here.
///
/// # Errors
/// The board, a journal or the repository cannot be read.
pub fn status(start: &Path, into: Option<&str>, host: &Host) -> Result<Vec<TaskStatus>, WorkError> {
    let repo = Repo::discover(host, start)?;
    let board = super::crew::board_at(&repo, &target(&repo, into)?)?;
    let top = main_top(&repo);
    let mut found = Vec::new();
    let mut known = Vec::new();
    for listed in &board.tasks {
        let Some(id) = listed.outcome.task().ok().and_then(|task| task.id.clone()) else { continue };
        known.push(id.clone());
        let worktree = Some(top.join(".worktrees").join(id.as_str())).filter(|place| place.is_dir());
        if listed.folder == Folder::Doing || worktree.is_some() {
            found.push(of(&repo, &id, Some(listed.folder), worktree)?);
        }
    }
    for entry in std::fs::read_dir(top.join(".worktrees")).into_iter().flatten().flatten() {
        let id = entry.file_name().to_str().and_then(|name| TaskId::new(name).ok());
        let Some(id) = id.filter(|id| !known.contains(id) && entry.path().is_dir()) else { continue };
        found.push(of(&repo, &id, None, Some(entry.path()))?);
    }
    Ok(found)
}

fn of(repo: &Repo, id: &TaskId, folder: Option<Folder>, worktree: Option<PathBuf>) -> Result<TaskStatus, WorkError> {
    let (entries, running) = Journal::peek(&repo.own_dir(), id)?;
    let iteration = entries.iter().rev().find_map(|entry| match entry {
        Entry::Sent { iteration, .. } => Some(*iteration),
        _ => None,
    });
    let (state, why) = match (running, entries.last(), folder) {
        (true, last, _) => ("running", last.map_or_else(|| "taken".to_owned(), doing)),
        (false, Some(Entry::Held { code, why, .. }), _) => ("held", format!("{code}: {why}")),
        (false, None, Some(Folder::Doing)) => ("foreign", "no journal of ours: name it to take it over".to_owned()),
        (false, _, Some(Folder::Doing)) => ("waiting", "no process works on it; `countersign work` goes on".to_owned()),
        (false, _, Some(folder)) => ("stranded", format!("its page is in `{}`, its worktree is here", folder.as_str())),
        (false, _, None) => ("stranded", "no page on the branch, but its worktree is here".to_owned()),
    };
    Ok(TaskStatus {
        task: id.to_string(),
        folder,
        state: state.to_owned(),
        why,
        iteration: iteration.unwrap_or(0),
        worktree,
        saved: saved(&entries),
    })
}

/// What a running task does, as its last entry says.
fn doing(last: &Entry) -> String {
    match last {
        Entry::Sent { .. } => "a worker is at work",
        Entry::Returned { .. } => "its worker is back",
        Entry::Judging { .. } => "its work is being judged",
        Entry::Conflicted { .. } | Entry::Merged { .. } => "a merge is to be resolved",
        Entry::Saved { .. } => "its work was saved",
        Entry::Hooked { .. } | Entry::Landing { .. } => "it is landing",
        Entry::Landed { .. } => "it landed",
        Entry::Held { .. } | Entry::Resumed { .. } => "it is being taken up",
    }
    .to_owned()
}
