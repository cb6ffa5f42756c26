//! A changed file before and after, with what it is to the tests.

use crate::floor::Inspection;
use crate::floor::reading::{new_file, old_file, text_or_empty};
use crate::floor::test_files::lexed::Syntax;
use crate::floor::test_files::{FileRole, LARGEST_SCANNED, Outline, TestFiles, outline, syntax_of};
use crate::host::git::{Change, GitError};
use crate::host::path::RepoPath;
use std::collections::HashMap;

/// One side of a change.
pub(super) struct Version<'c> {
    pub(super) path: &'c RepoPath,
    pub(super) text: String,
    pub(super) role: FileRole,
    /// None for a language that is not read, or no program.
    pub(super) outline: Option<Outline>,
}

/// A change with both its sides.
pub(super) struct Changed<'c> {
    pub(super) change: &'c Change,
    pub(super) old: Option<Version<'c>>,
    pub(super) new: Option<Version<'c>>,
}

/// Why the changes could not be read.
pub(super) enum Unread {
    /// The settings' globs, in words.
    Setting(String),
    /// The object store.
    Git(GitError),
}

/// Reads both sides of every changed regular file.
pub(super) fn read_changes<'c>(on: &Inspection<'c>) -> Result<Vec<Changed<'c>>, Unread> {
    let files = TestFiles::new(&on.settings.tests).map_err(Unread::Setting)?;
    let version = |path: &'c RepoPath, bytes: &[u8]| {
        let role = files.classify(path, bytes);
        let outline = outline(path, bytes);
        Version { path, text: String::from_utf8_lossy(bytes).into_owned(), role, outline }
    };
    let mut changes = Vec::new();
    for change in on.claim.changed.iter().filter(|change| !change.is_gitlink()) {
        let read = |id| text_or_empty(on.repo, id).map_err(Unread::Git);
        let old = old_file(change).map(read).transpose()?;
        let new = new_file(change).map(read).transpose()?;
        changes.push(Changed {
            change,
            old: old.map(|bytes| version(change.from.as_ref().unwrap_or(&change.path), &bytes)),
            new: new.map(|bytes| version(&change.path, &bytes)),
        });
    }
    Ok(changes)
}

impl Version<'_> {
    /// True if a runner collects the tests that this file defines, as far as its path says.
    pub(super) fn is_collected(&self) -> bool {
        matches!(self.role, FileRole::Test | FileRole::Mixed { .. })
    }

    /// The language it is read in; none for one that is not read, for no program, and for a file too large to scan.
    pub(super) fn scanned(&self) -> Option<Syntax> {
        syntax_of(self.path).filter(|_| self.text.len() <= LARGEST_SCANNED)
    }

    /// A line, counted from 1; empty beyond the end.
    pub(super) fn line(&self, number: usize) -> &str {
        self.text.lines().nth(number.saturating_sub(1)).unwrap_or_default()
    }

    /// The path with a line, for findings.
    pub(super) fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path)
    }

    /// True if the line, counted from 1, is test code.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        match &self.role {
            FileRole::Test => true,
            FileRole::Mixed { regions } => regions.iter().any(|region| region.contains(&line)),
            _ => false,
        }
    }
}

impl Changed<'_> {
    /// The lines that the new side has more often than the old one, counted from 1.
    pub(super) fn added_lines(&self) -> Vec<(usize, &str)> {
        self.new.as_ref().map_or_else(Vec::new, |new| beyond(self.old.as_ref(), new))
    }

    /// The lines that only the old side has.
    pub(super) fn removed_lines(&self) -> Vec<(usize, &str)> {
        self.old.as_ref().map_or_else(Vec::new, |old| beyond(self.new.as_ref(), old))
    }
}

fn beyond<'v>(known: Option<&Version<'_>>, judged: &'v Version<'_>) -> Vec<(usize, &'v str)> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in known.map_or("", |version| version.text.as_str()).lines() {
        *left.entry(line.trim()).or_default() += 1;
    }
    let lines = judged.text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines
        .filter(|(_, line)| match left.get_mut(line.trim()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => !line.trim().is_empty(),
        })
        .collect()
}
