//! Giving a task's work up: saved first, then the worktree goes, and the task is back in the backlog.

use super::WorkError;
use super::journal::{Entry, Journal};
use super::settings::{main_top, target};
use super::standing::{Subject, added_by, is_worktree};
use super::surroundings::keep_branch;
use crate::host::Host;
use crate::host::git::{RefName, Repo};
use crate::host::ids::CommitId;
use crate::integrate::books::{self, Moved};
use crate::integrate::{Pages, SalvageRecord, SalvageTag, Settled, remove_worktree, salvage, with_books, write_board};
use crate::pipeline::VerifyError;
use crate::task::TaskId;
use crate::task::dependency::Found;
use crate::task::layout::Folder;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// What to give up.
#[derive(Debug, Clone)]
pub struct DiscardRequest {
    /// The folder the user is in.
    pub start: PathBuf,
    /// The task.
    pub task: String,
    /// The branch with its board; none: the one that is checked out.
    pub into: Option<String>,
    /// Why, for the task's page.
    pub why: String,
}

/// What was given up, and where it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Discarded {
    /// The task.
    pub task: String,
    /// The saved work; none if there was no worktree.
    pub saved: Option<SalvageRecord>,
    /// The folder its page is in now; none if it has no page on the branch.
    pub folder: Option<Folder>,
}

/// Discards a task's work: salvage, a note in its page, which goes back to the backlog if it was in `doing`, then the
/// worktree and its branch go.
///
/// # Errors
/// See [`WorkError`]. The work is where it was, or saved.
pub fn discard(request: &DiscardRequest, host: &Host) -> Result<Discarded, WorkError> {
    let repo = Repo::discover(host, &request.start)?;
    let no_task = |why: String| WorkError::Verify(VerifyError::NoSuchTask { word: request.task.clone(), why });
    let id = TaskId::new(&request.task).map_err(|why| no_task(why.to_string()))?;
    let target = target(&repo, request.into.as_deref())?;
    let busy = || no_task("another process works on it: stop that one first".to_owned());
    let mut journal = Journal::open(&repo.own_dir(), &id)?.ok_or_else(busy)?;
    let top = main_top(&repo);
    let board = super::crew::board_at(&repo, &target)?;
    let page = match board.find(id.as_str()).map_err(|why| no_task(why.to_string()))? {
        Found::One(listed, _) => Some((listed.path.clone(), listed.folder)),
        Found::None => None,
    };
    let place = top.join(".worktrees").join(id.as_str());
    if page.is_none() && !place.is_dir() {
        return Err(no_task("it has neither a page on the branch nor a worktree".to_owned()));
    }
    let mut saved = None;
    if is_worktree(&repo, &place) {
        let inside = repo.discover_beside(&place)?;
        let base = base(&repo, &inside, &target, page.as_ref().map(|(path, _)| path))?;
        let safe = salvage(&inside, &top, &id, SalvageTag::Discarded, &base)?;
        let record = safe.record().clone();
        journal.write(Entry::Saved {
            tag: record.tag.clone(),
            reference: record.reference.clone(),
            patch: record.patch.clone(),
        })?;
        saved = Some((safe, record));
    } else if place.is_dir() && std::fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(WorkError::InTheWay(place));
    }
    let record = saved.as_ref().map(|(_, record)| record.clone());
    let mut folder = page.as_ref().map(|(_, folder)| *folder);
    if let Some((path, Folder::Doing)) = &page
        && let Some(subject) = Subject::of(board.layout, &id, path)
    {
        note(&repo, &target, &subject, board.layout, &request.why, record.as_ref())?;
        folder = Some(Folder::Backlog);
    }
    let at = host.clock.now();
    journal.write(Entry::Held { code: "discarded".to_owned(), why: request.why.clone(), at })?;
    if let Some((safe, _)) = saved {
        clear(&repo, &id, Settled::Salvaged(safe))?;
    }
    Ok(Discarded { task: id.to_string(), saved: record, folder })
}

/// What the work is measured against: the commit that took the task, if the worktree has it; else where it left the branch.
fn base(
    repo: &Repo,
    inside: &Repo,
    target: &RefName,
    path: Option<&crate::host::path::RepoPath>,
) -> Result<CommitId, WorkError> {
    let no_commit = || WorkError::Inconsistent {
        task: inside.top().display().to_string(),
        what: "it has no commit checked out; save what is in there by hand".to_owned(),
    };
    let head = inside.resolve("HEAD")?.ok_or_else(no_commit)?;
    let start = path.map(|path| added_by(repo, target, path)).transpose()?.flatten();
    if let Some(start) = start.filter(|start| *start == head || repo.is_ancestor(start, &head).unwrap_or(false)) {
        return Ok(start);
    }
    let tip = repo.read_ref(target)?.ok_or_else(|| WorkError::NoTarget(target.to_string()))?;
    Ok(repo.merge_base(&tip, &head)?.unwrap_or(head))
}

fn note(
    repo: &Repo,
    target: &RefName,
    subject: &Subject,
    layout: crate::task::layout::Layout,
    why: &str,
    record: Option<&SalvageRecord>,
) -> Result<(), WorkError> {
    let id = subject.id.as_str();
    let kept = match record {
        Some(SalvageRecord { reference, patch: Some(patch), .. }) => format!("{reference} and {}", patch.display()),
        Some(SalvageRecord { reference, .. }) => reference.clone(),
        None => "there was no worktree".to_owned(),
    };
    let why = if why.is_empty() { String::new() } else { format!("{}\n\n", crate::host::redact::redact_text(why)) };
    let text = format!("discarded: {why}The work is saved: {kept}");
    let message = format!("chore({}): task discarded [{id}]\n", subject.context);
    let task = Moved { layout, context: &subject.context, id };
    write_board(repo, target, repo.host().clock.now(), &message, &|tree| {
        let pages = Pages::load(repo, tree, layout, id)?;
        let books = books::give_back(&pages, &task, "Salvage note (discarded)", &text)?;
        Ok(with_books(repo, tree, &pages, books)?)
    })?;
    Ok(())
}

fn clear(repo: &Repo, id: &TaskId, settled: Settled) -> Result<(), WorkError> {
    let branch = format!("refs/heads/aw/{id}");
    let branch = RefName::new(&branch).map_err(WorkError::NoTarget)?;
    let tip = repo.read_ref(&branch)?;
    if let Some(tip) = &tip {
        keep_branch(repo, id, tip)?;
    }
    remove_worktree(repo, settled)?;
    if let Some(tip) = &tip {
        repo.git().run(["update-ref", "-d", branch.as_str(), tip.as_str()])?;
    }
    Ok(())
}
