//! Bookkeeping: what a landing writes on the board, as a pure function of the merged tree's pages, the report and the
//! decision (RULINGS 24). Everything is worked out before anything is written; one fault and nothing is.
//!
//! The shapes are the peer's, so that its readers keep working (agentheim.md §2.6, §5.6). Lines that are not ours stay
//! byte for byte, line ends and byte order mark included.

mod backlog;
mod index;
mod moves;
mod page;
mod pages;
mod protocol;
mod records;
mod rotation;
mod task_page;

pub use moves::{Diary, Moved, bounce, give_back, note, take, write_diary};
pub use pages::Pages;
pub use rotation::{LONGEST_DIARY, LONGEST_DONE_LIST, Rotated, rotate_diary, rotate_done_list};

use crate::config::Bookkeeper;
use crate::host::clock::Timestamp;
use crate::host::git::GitError;
use crate::host::path::RepoPath;
use crate::task::Task;
use crate::task::frontmatter::EditError;
use crate::task::layout::{ContextName, Layout};
use crate::verdict::WarrantOrigin;
use crate::worker::delta::{Disposition, Target, apply_delta};
use crate::worker::{Report, read_delta};
use std::collections::BTreeMap;

/// What is to be written down.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// The board's layout.
    pub layout: Layout,
    /// Who keeps the board. Where workers do, task page, README and records are in the claim already.
    pub keeper: Bookkeeper,
    /// The task as the base had it.
    pub task: &'a Task,
    /// Its context.
    pub context: &'a ContextName,
    /// The worker's report, if there is one.
    pub report: Option<&'a Report>,
    /// Where the report was found: `sidecar`, `transcript`, `notification`.
    pub source: Option<&'a str>,
    /// Where the warrant comes from.
    pub origin: WarrantOrigin,
    /// Its reason, in words.
    pub reason: &'a str,
    /// The attempt within the task's life, from 1.
    pub iteration: u32,
    /// How many files the claim changes.
    pub files_changed: usize,
    /// When the task was claimed, if that is known.
    pub began: Option<Timestamp>,
    /// When it lands.
    pub at: Timestamp,
}

/// What comes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Books {
    /// Pages with their new text; none for one that goes.
    pub edits: BTreeMap<RepoPath, Option<Vec<u8>>>,
    /// What somebody should know: a page that is missing, a change that met another one.
    pub remarks: Vec<String>,
}

/// Why the books cannot be written. Nothing lands then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BooksError {
    /// The task is not where a landing takes it from.
    #[error(
        "the task {id} is not in `doing` on the target ({found}): somebody moved it; look at the board, then land again"
    )]
    NotInDoing {
        /// The task.
        id: String,
        /// Where it is.
        found: String,
    },
    /// A page without its markers, or with a broken one.
    #[error("{path}: {what}; mend the page, then land again")]
    Page {
        /// The page.
        path: RepoPath,
        /// What is missing.
        what: String,
    },
    /// A page that is no text.
    #[error("{path} is no UTF-8 text of at most 8 MiB; mend the page, then land again")]
    NoText {
        /// The page.
        path: RepoPath,
    },
    /// A frontmatter value cannot be set.
    #[error("{path}: {why}")]
    Frontmatter {
        /// The page.
        path: RepoPath,
        /// Why not.
        why: EditError,
    },
    /// Something in the report cannot be written.
    #[error("the report's {block}: {what}")]
    Report {
        /// The block.
        block: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Works out every page of a completed task. Pure: the same input gives the same bytes.
///
/// # Errors
/// See [`BooksError`].
pub fn keep_books(pages: &Pages, done: &Completion<'_>) -> Result<Books, BooksError> {
    let mut desk = Desk { pages, books: Books::default() };
    let blocks = done.report.and_then(|report| report.blocks.as_ref());
    let blocks = blocks.filter(|_| done.keeper == Bookkeeper::Conductor);
    if let Some(blocks) = blocks {
        deltas(&mut desk, done, &blocks.readme_delta)?;
    }
    let records = match blocks {
        Some(blocks) => records::write(&mut desk, done, &blocks.adrs.files)?,
        None => Vec::new(),
    };
    let file = task_page::complete(&mut desk, done, blocks.map(|blocks| blocks.outcome.as_str()))?;
    index::complete(&mut desk, done, &file)?;
    if let Some(blocks) = blocks {
        backlog::write(&mut desk, done.layout, &blocks.backlog_items.files)?;
    }
    index::records(&mut desk, done, &records)?;
    protocol::write(&mut desk, done, &records)?;
    Ok(desk.books)
}

/// The README changes of the report.
fn deltas(desk: &mut Desk<'_>, done: &Completion<'_>, entries: &[serde_json::Value]) -> Result<(), BooksError> {
    let (changes, bad) = read_delta(entries);
    if let Some(bad) = bad.first() {
        let what = format!("{} needs {}, has {}", bad.at, bad.expected, bad.observed);
        return Err(BooksError::Report { block: "README_DELTA", what });
    }
    let targets = [(Target::Readme, done.layout.readme(done.context)), (Target::ContextMap, done.layout.context_map())];
    for (target, path) in targets {
        if !changes.iter().any(|change| change.document == target) {
            continue;
        }
        let Some(text) = desk.text(&path)? else {
            let what = format!("it changes {path}, which the target does not have");
            return Err(BooksError::Report { block: "README_DELTA", what });
        };
        let applied = apply_delta(&text, target, &changes);
        for step in applied.steps {
            if !matches!(step.disposition, Disposition::Applied | Disposition::NoopAlready) {
                let how = serde_json::to_value(step.disposition).unwrap_or_default();
                let how = how.as_str().unwrap_or("otherwise").to_owned();
                desk.remark(format!("{path}, section {}: {how}", step.section));
            }
        }
        desk.put(path, applied.text);
    }
    Ok(())
}

/// The pages as they will be.
struct Desk<'a> {
    pages: &'a Pages,
    books: Books,
}

impl Desk<'_> {
    fn bytes(&self, path: &RepoPath) -> Option<&[u8]> {
        match self.books.edits.get(path) {
            Some(edited) => edited.as_deref(),
            None => self.pages.file(path),
        }
    }

    fn text(&self, path: &RepoPath) -> Result<Option<String>, BooksError> {
        if self.pages.is_unreadable(path) {
            return Err(BooksError::NoText { path: path.clone() });
        }
        let Some(bytes) = self.bytes(path) else { return Ok(None) };
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(BooksError::NoText { path: path.clone() }),
        }
    }

    fn put(&mut self, path: RepoPath, text: impl Into<Vec<u8>>) {
        let text = text.into();
        if self.bytes(&path) != Some(&text) {
            self.books.edits.insert(path, Some(text));
        }
    }

    fn remove(&mut self, path: RepoPath) {
        self.books.edits.insert(path, None);
    }

    /// Every name on the board as it will be.
    fn names(&self) -> impl Iterator<Item = &RepoPath> {
        let gone = |path: &&RepoPath| !matches!(self.books.edits.get(*path), Some(None));
        let new = self.books.edits.iter().filter(|(_, text)| text.is_some()).map(|(path, _)| path);
        self.pages.names().filter(gone).chain(new)
    }

    fn has(&self, path: &RepoPath) -> bool {
        self.names().any(|name| name == path)
    }

    fn remark(&mut self, text: impl Into<String>) {
        self.books.remarks.push(text.into());
    }
}

/// A value for one line: no line break, no control character, no blank at its ends.
fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
