//! The INDEX pages: task lists with their counts, and lists of decision records.

use super::page::Page;
use super::records::Record;
use super::{BooksError, Completion, Desk, one_line};
use crate::host::path::RepoPath;
use crate::task::layout::{ContextName, Folder, Layout, TOP_INDEX};

/// A page that is read, edited and put back; none if the board has no such page.
fn with_page(
    desk: &mut Desk<'_>,
    path: RepoPath,
    edit: impl FnOnce(&mut Page) -> Result<(), String>,
) -> Result<bool, BooksError> {
    let Some(text) = desk.text(&path)? else { return Ok(false) };
    let mut page = Page::of(&text);
    edit(&mut page).map_err(|what| BooksError::Page { path: path.clone(), what })?;
    desk.put(path, page.text());
    Ok(true)
}

/// A line about this id, whatever else it says.
fn about(id: &str) -> impl Fn(&str) -> bool + use<> {
    let bold = format!("**{id}**");
    move |line| line.contains(&bold)
}

/// Moves the task's line from the doing list to the top of the done list, and the counts with it.
pub(super) fn complete(desk: &mut Desk<'_>, done: &Completion<'_>, file: &str) -> Result<(), BooksError> {
    let id = done.task.id.as_ref().map_or("", |id| id.as_str());
    let kind = one_line(&done.task.commit_type());
    let line = format!("- **{id}** — {} ({kind}) — `done/{file}`", one_line(&done.task.title));
    let path = done.layout.task_index(done.context);
    let written = with_page(desk, path.clone(), |page| {
        page.block("done-list")?;
        let gone = page.remove_in(page.block("doing-list")?, about(id));
        if gone > 0 {
            shift(page, "Doing", false)?;
        }
        let list = page.block("done-list")?;
        if !page.any_in(list.clone(), about(id)) {
            page.insert(list.start, &line);
            shift(page, "Done", true)?;
        }
        page.block("task-counts").map(drop)
    })?;
    if !written {
        desk.remark(format!("{path} does not exist, so no list was changed"));
    }
    Ok(())
}

/// Moves a task's line from one list to the top of another, and the counts with it.
pub(super) fn relist(
    desk: &mut Desk<'_>,
    path: &RepoPath,
    id: &str,
    (from, to): (Folder, Folder),
    line: &str,
) -> Result<(), BooksError> {
    let list = |folder: Folder| format!("{}-list", folder.as_str());
    let label = |folder: Folder| match folder {
        Folder::Backlog => "Backlog",
        Folder::Todo => "Todo",
        Folder::Doing => "Doing",
        Folder::Done => "Done",
    };
    let written = with_page(desk, path.clone(), |page| {
        if page.remove_in(page.block(&list(from))?, about(id)) > 0 {
            shift(page, label(from), false)?;
        }
        let block = page.block(&list(to))?;
        if !page.any_in(block.clone(), about(id)) {
            page.insert(block.start, line);
            shift(page, label(to), true)?;
        }
        Ok(())
    })?;
    if !written {
        desk.remark(format!("{path} does not exist, so no list was changed"));
    }
    Ok(())
}

/// Adds a new task's line to the backlog list of its context.
pub(super) fn backlog(
    desk: &mut Desk<'_>,
    layout: Layout,
    context: &ContextName,
    id: &str,
    line: &str,
) -> Result<(), BooksError> {
    let path = layout.task_index(context);
    let written = with_page(desk, path.clone(), |page| {
        let list = page.block("backlog-list")?;
        if !page.any_in(list.clone(), about(id)) {
            page.insert(list.start, line);
            shift(page, "Backlog", true)?;
        }
        Ok(())
    })?;
    if !written {
        desk.remark(format!("{path} does not exist, so {id} is on no list"));
    }
    Ok(())
}

/// Adds the lines of new decision records: to the context's page, or to the top page for those of global scope.
pub(super) fn records(desk: &mut Desk<'_>, done: &Completion<'_>, records: &[Record]) -> Result<(), BooksError> {
    for record in records {
        let (path, list, pointer) = if record.global {
            (RepoPath::from(TOP_INDEX), "adr-global", format!("knowledge/decisions/{}", record.file))
        } else {
            let up = if done.layout == Layout::Board { "../../decisions" } else { "../../knowledge/decisions" };
            (done.layout.knowledge_index(done.context), "adr-local", format!("{up}/{}", record.file))
        };
        let id = format!("ADR-{:04}", record.number);
        let line = format!("- **{id}** — {} — {} — `{pointer}`", one_line(&record.title), one_line(&record.date));
        let written = with_page(desk, path.clone(), |page| {
            let block = page.block(list)?;
            if !page.any_in(block.clone(), about(&id)) {
                page.insert(block.start, &line);
            }
            Ok(())
        })?;
        if !written {
            desk.remark(format!("{path} does not exist, so {} is on no list", record.file));
        }
    }
    Ok(())
}

/// Adds one to a count, or takes one away.
fn shift(page: &mut Page, label: &str, up: bool) -> Result<(), String> {
    let head = format!("- **{label}:** ");
    let block = page.block("task-counts")?;
    let at = block.clone().find(|at| page.line(*at).starts_with(&head));
    let at = at.ok_or_else(|| format!("the counts have no line `{}`", head.trim_end()))?;
    let number = page.line(at)[head.len()..].trim().to_owned();
    let count: u32 = number.parse().map_err(|_| format!("`{label}` counts {number:?}, which is no number"))?;
    let count = if up { count.checked_add(1) } else { count.checked_sub(1) };
    let count = count.ok_or_else(|| format!("`{label}` counts {number} although a task leaves it"))?;
    page.replace(at, &format!("{head}{count}"));
    Ok(())
}
