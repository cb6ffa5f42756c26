//! What happens to a task's page before it lands: it is taken from `todo`, gets notes, or goes back to the backlog.

use super::page::Page;
use super::task_page::find;
use super::{Books, BooksError, Desk, Pages, index, one_line, protocol};
use crate::host::clock::Timestamp;
use crate::host::path::RepoPath;
use crate::task::frontmatter::{EditError, set};
use crate::task::layout::{ContextName, Folder, Layout};
use crate::task::read_task;

/// Which task, where.
#[derive(Debug, Clone, Copy)]
pub struct Moved<'a> {
    /// The board's layout.
    pub layout: Layout,
    /// The task's context.
    pub context: &'a ContextName,
    /// Its id.
    pub id: &'a str,
}

/// An entry of the diary.
#[derive(Debug, Clone, Copy)]
pub struct Diary<'a> {
    /// When.
    pub at: Timestamp,
    /// Its title; becomes one line.
    pub title: &'a str,
    /// Its fields in order; values become one line each.
    pub fields: &'a [(&'a str, String)],
}

/// Takes a task from `todo` to `doing`. Nothing is to be written if it is there already.
///
/// # Errors
/// See [`BooksError`].
pub fn take(pages: &Pages, task: &Moved<'_>) -> Result<Books, BooksError> {
    shift(pages, task, (Folder::Todo, Folder::Doing), None)
}

/// Gives a task back: from `doing` to the backlog, with the worker's reason as `## Worker note`.
///
/// # Errors
/// See [`BooksError`].
pub fn bounce(pages: &Pages, task: &Moved<'_>, why: &str) -> Result<Books, BooksError> {
    give_back(pages, task, "Worker note", why)
}

/// Gives a task back under another heading.
///
/// # Errors
/// See [`BooksError`].
pub fn give_back(pages: &Pages, task: &Moved<'_>, heading: &str, text: &str) -> Result<Books, BooksError> {
    shift(pages, task, (Folder::Doing, Folder::Backlog), Some(&section(heading, text)))
}

/// Appends a section to the page of a task in `doing`. Nothing is to be written if the page has that heading already.
///
/// # Errors
/// See [`BooksError`].
pub fn note(pages: &Pages, task: &Moved<'_>, heading: &str, text: &str) -> Result<Books, BooksError> {
    let mut desk = Desk { pages, books: Books::default() };
    let path = located(&desk, task, Folder::Doing)?;
    let Some(old) = desk.text(&path)? else { return Err(BooksError::NoText { path }) };
    let wanted = format!("## {heading}");
    if !old.lines().any(|line| line.trim_end() == wanted) {
        let mut page = Page::of(&old);
        page.append(&section(heading, text));
        desk.put(path, page.text());
    }
    Ok(desk.books)
}

/// Puts an entry on top of the diary.
///
/// # Errors
/// See [`BooksError`].
pub fn write_diary(pages: &Pages, layout: Layout, entry: &Diary<'_>) -> Result<Books, BooksError> {
    let mut desk = Desk { pages, books: Books::default() };
    let when: String = entry.at.to_utc().chars().take(16).collect();
    let body: String = entry.fields.iter().map(|(name, value)| format!("**{name}:** {}\n", one_line(value))).collect();
    let text = format!("## {} -- {}\n\n{body}\n---\n\n", when.replace('T', " "), one_line(entry.title));
    protocol::put(&mut desk, layout, &text)?;
    Ok(desk.books)
}

fn shift(
    pages: &Pages,
    task: &Moved<'_>,
    (from, to): (Folder, Folder),
    section: Option<&str>,
) -> Result<Books, BooksError> {
    let mut desk = Desk { pages, books: Books::default() };
    let (path, folder) = find(&desk, task.layout, task.context, task.id)?;
    if folder == to {
        return Ok(desk.books);
    }
    if folder != from {
        let found = format!("it is in `{}`, expected in `{}`", folder.as_str(), from.as_str());
        return Err(BooksError::NotInDoing { id: task.id.to_owned(), found });
    }
    let Some(text) = desk.text(&path)? else { return Err(BooksError::NoText { path }) };
    let bytes = match set(text.as_bytes(), "status", to.as_str()) {
        Ok(bytes) => bytes,
        Err(EditError::NoKey(_)) => text.into_bytes(),
        Err(why) => return Err(BooksError::Frontmatter { path, why }),
    };
    let title = read_task(&bytes, &path).map_or_else(|_| task.id.to_owned(), |task| one_line(&task.title));
    let kind = read_task(&bytes, &path).map_or_else(|_| "chore".to_owned(), |task| one_line(&task.commit_type()));
    let mut text = String::from_utf8(bytes).map_err(|_| BooksError::NoText { path: path.clone() })?;
    if let Some(section) = section {
        let mut page = Page::of(&text);
        page.append(section);
        text = page.text();
    }
    let name = String::from_utf8_lossy(path.file_name()).into_owned();
    let place = RepoPath::from(format!("{}/{name}", task.layout.folder(task.context, to)).as_str());
    if desk.has(&place) {
        let found = format!("a page of the same name is in `{}` already", to.as_str());
        return Err(BooksError::NotInDoing { id: task.id.to_owned(), found });
    }
    desk.remove(path);
    desk.put(place, text);
    let line = format!("- **{}** — {title} ({kind}) — `{}/{name}`", task.id, to.as_str());
    index::relist(&mut desk, &task.layout.task_index(task.context), task.id, (from, to), &line)?;
    Ok(desk.books)
}

fn located(desk: &Desk<'_>, task: &Moved<'_>, wanted: Folder) -> Result<RepoPath, BooksError> {
    let (path, folder) = find(desk, task.layout, task.context, task.id)?;
    if folder == wanted {
        return Ok(path);
    }
    Err(BooksError::NotInDoing { id: task.id.to_owned(), found: format!("it is in `{}`", folder.as_str()) })
}

/// A section whose text cannot end it, nor begin another one.
fn section(heading: &str, text: &str) -> String {
    let quoted: String = text.lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect();
    format!("## {heading}\n\n{quoted}")
}
