//! What a path under `.agentheim/` is to a claim: whose page it is and who may write it.

use super::Inspection;
use crate::config::PROJECT_FILE;
use crate::host::path::RepoPath;
use crate::task::layout::{DECISIONS, Folder, Layout, ROOT, RUNTIME, TOP_INDEX};

/// A page of the project's own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    /// The diary or its archive.
    Protocol,
    /// A list that only the conductor writes: INDEX pages, the archive of done tasks.
    Index,
    /// Our own settings.
    Settings,
    /// The task's own file, in whichever folder.
    OwnTask,
    /// Another task's file.
    OtherTask(Folder),
    /// The README of the task's context.
    OwnReadme,
    /// The README of another context.
    OtherReadme,
    /// A decision record.
    Decision,
    /// Application source that lives there (the styleguide).
    Application,
    /// A running project's state, never committed.
    Runtime,
    /// Anything else.
    Other,
}

/// What `path` is; `None` if it is no page of the project's memory. Without a board there are two all the same: the gate's
/// settings, and the page that asks.
pub(super) fn page(on: &Inspection<'_>, path: &RepoPath) -> Option<Page> {
    let Some(layout) = on.layout else {
        let settings = (path.as_bytes() == PROJECT_FILE.as_bytes()).then_some(Page::Settings);
        return settings.or_else(|| (on.task_path == Some(path)).then_some(Page::OwnTask));
    };
    if RUNTIME.iter().any(|folder| path.is_under(folder)) {
        return Some(Page::Runtime);
    }
    if !path.is_under(ROOT) {
        return None;
    }
    Some(if is_own_task(on, layout, path) { Page::OwnTask } else { settled(on, layout, path) })
}

fn settled(on: &Inspection<'_>, layout: Layout, path: &RepoPath) -> Page {
    let archive = layout.protocol_archive();
    let is_archive = archive.as_str().is_some_and(|folder| path.is_under(folder));
    let in_lifecycle = layout.lifecycle_root().as_str().is_some_and(|root| path.is_under(root));
    if *path == layout.protocol() || is_archive {
        Page::Protocol
    } else if path.as_bytes() == PROJECT_FILE.as_bytes() {
        Page::Settings
    } else if layout.styleguide().as_str().is_some_and(|folder| path.is_under(folder)) {
        Page::Application
    } else if path.as_bytes() == TOP_INDEX.as_bytes() || is_index(layout, path) {
        Page::Index
    } else if path.is_under(DECISIONS) {
        Page::Decision
    } else if let Some(place) = layout.place(path) {
        Page::OtherTask(place.folder)
    } else if in_lifecycle && has_part(path, b"done-archive") {
        Page::Index
    } else if let Some(context) = context_page(layout, path, b"README.md") {
        if on.context().is_some_and(|own| own.as_bytes() == context) { Page::OwnReadme } else { Page::OtherReadme }
    } else {
        Page::Other
    }
}

fn has_part(path: &RepoPath, part: &[u8]) -> bool {
    path.as_bytes().split(|b| *b == b'/').any(|p| p == part)
}

fn is_index(layout: Layout, path: &RepoPath) -> bool {
    context_page(layout, path, b"INDEX.md").is_some() || under(&layout.lifecycle_root(), path, b"INDEX.md").is_some()
}

/// The context whose page of this name `path` is.
fn context_page<'p>(layout: Layout, path: &'p RepoPath, name: &[u8]) -> Option<&'p [u8]> {
    under(&layout.knowledge_root(), path, name)
}

/// The middle part of `<root>/<context>/<name>`.
fn under<'p>(root: &RepoPath, path: &'p RepoPath, name: &[u8]) -> Option<&'p [u8]> {
    let rest = path.as_bytes().strip_prefix(root.as_bytes())?.strip_prefix(b"/")?;
    let context = rest.strip_suffix(name)?.strip_suffix(b"/")?;
    (!context.is_empty() && !context.contains(&b'/')).then_some(context)
}

/// True for the task's file at the base, and for a file of its context that has the same name or is named after the
/// same id: a slug may change, whose task it is does not.
fn is_own_task(on: &Inspection<'_>, layout: Layout, path: &RepoPath) -> bool {
    let Some(own) = on.task_path else { return false };
    if path == own {
        return true;
    }
    let (Some(here), Some(there)) = (layout.place(path), layout.place(own)) else { return false };
    let by_id = on.task.and_then(|task| task.id.as_ref()).is_some_and(|id| is_named_after(path, id.as_str()));
    here.context == there.context && (path.file_name() == own.file_name() || by_id)
}

fn is_named_after(path: &RepoPath, id: &str) -> bool {
    let stem = path.file_name().strip_suffix(b".md").and_then(|stem| stem.strip_prefix(id.as_bytes()));
    stem.is_some_and(|slug| slug.is_empty() || slug.starts_with(b"-"))
}
