//! The task's own page: from `doing` to `done`, with status, date and outcome.

use super::page::Page;
use super::pages::is_of;
use super::{BooksError, Completion, Desk};
use crate::config::Bookkeeper;
use crate::host::path::RepoPath;
use crate::task::frontmatter::{EditError, set};
use crate::task::layout::{ContextName, Folder, Layout};

/// Moves and completes the page; the name it has in `done`.
pub(super) fn complete(
    desk: &mut Desk<'_>,
    done: &Completion<'_>,
    outcome: Option<&str>,
) -> Result<String, BooksError> {
    let id = done.task.id.as_ref().map_or("", |id| id.as_str());
    let (from, folder) = find(desk, done.layout, done.context, id)?;
    // A worker who keeps its own page has moved it in its tree.
    let moved = folder == Folder::Done && done.keeper == Bookkeeper::Worker;
    if folder != Folder::Doing && !moved {
        return Err(BooksError::NotInDoing { id: id.to_owned(), found: format!("it is in `{}`", folder.as_str()) });
    }
    let Some(text) = desk.text(&from)? else { return Err(BooksError::NoText { path: from }) };
    let mut bytes = text.into_bytes();
    let date = done.at.to_utc().chars().take(10).collect::<String>();
    for (key, value) in [("status", Folder::Done.as_str()), ("completed", date.as_str())] {
        bytes = match set(&bytes, key, value) {
            Ok(bytes) => bytes,
            // A page without that field does without it.
            Err(EditError::NoKey(_)) => bytes,
            Err(why) => return Err(BooksError::Frontmatter { path: from, why }),
        };
    }
    let text = String::from_utf8(bytes).map_err(|_| BooksError::NoText { path: from.clone() })?;
    let mut page = Page::of(&text);
    let outcome = outcome.unwrap_or_default().trim();
    let whole = text.replace("\r\n", "\n");
    if !outcome.is_empty() && !whole.contains(outcome) {
        page.append(outcome);
    }
    let name = String::from_utf8_lossy(from.file_name()).into_owned();
    let folder = done.layout.folder(done.context, Folder::Done);
    let to = RepoPath::from(format!("{folder}/{name}").as_str());
    if to != from {
        if desk.has(&to) {
            let found = "a page of the same name is in `done` already".to_owned();
            return Err(BooksError::NotInDoing { id: id.to_owned(), found });
        }
        desk.remove(from);
    }
    desk.put(to, page.text());
    Ok(name)
}

/// The one page of the task, in the context the task names.
pub(super) fn find(
    desk: &Desk<'_>,
    layout: Layout,
    context: &ContextName,
    id: &str,
) -> Result<(RepoPath, Folder), BooksError> {
    let context = context.as_str().as_bytes();
    let mut found: Vec<(RepoPath, Folder)> = desk
        .names()
        .filter(|path| is_of(path, id))
        .filter_map(|path| {
            let place = layout.place(path).filter(|place| place.context == context)?;
            Some((path.clone(), place.folder))
        })
        .collect();
    // The exact name wins; else a longer id that begins alike would be taken for this one's slug.
    if let Some(exact) = found.iter().position(|(path, _)| path.file_name() == format!("{id}.md").as_bytes()) {
        found = vec![found.swap_remove(exact)];
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(BooksError::NotInDoing { id: id.to_owned(), found: "it is nowhere".to_owned() }),
        more => {
            let places: Vec<String> = more.iter().map(|(path, _)| path.to_string()).collect();
            Err(BooksError::NotInDoing { id: id.to_owned(), found: format!("it is in {}", places.join(" and ")) })
        }
    }
}
