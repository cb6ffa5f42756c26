//! Which files are tests, and what they define. Pure over paths and contents (issue B, parts 2, 4 and 6).
//!
//! The settings' `tests: {files: […]}` come first, then each language's habit. Rust, Python, JavaScript (TypeScript) and
//! Go are read by tolerant scanners; of other languages only the path is understood.

mod assertion;
mod convention;
mod golang;
mod javascript;
pub(super) mod lexed;
mod marker;
mod outline;
mod python;
mod rust;
mod splice;

pub use assertion::{Assertion, Strength};
pub use marker::{Marker, MarkerKind};
pub use outline::{Function, Outline, TestDefinition};
pub use splice::{SpliceError, splice};

pub(super) use convention::{is_among_tests, is_start_up, syntax_of};

use super::patterns::Patterns;
use crate::config::TestSettings;
use crate::host::path::RepoPath;
use convention::{Habit, habit};
use lexed::{Lexed, Syntax};
use std::ops::Range;

/// Larger files are not scanned: no test file that people read is that large.
pub const LARGEST_SCANNED: usize = 1 << 20;

/// What a file is to the tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRole {
    /// Tests, or what stands among them to serve them.
    Test,
    /// Production code with tests in it.
    Mixed {
        /// The lines compiled for tests only, counted from 1, ends exclusive.
        regions: Vec<Range<usize>>,
    },
    /// Settings of a runner, of CI, of coverage or of lints.
    Configuration,
    /// An expectation kept in a file of its own.
    Snapshot,
    /// A program.
    Production,
    /// Anything else.
    Other,
}

/// The settings' own word on which files are tests.
pub struct TestFiles {
    declared: Patterns,
}

impl TestFiles {
    /// Compiles `tests: {files: […]}`.
    ///
    /// # Errors
    /// A glob that cannot be read, in words.
    pub fn new(settings: &TestSettings) -> Result<Self, String> {
        Patterns::compile(&settings.files).map(|declared| Self { declared })
    }

    /// What a file is: declared globs first, then [`classify`].
    pub fn classify(&self, path: &RepoPath, content: &[u8]) -> FileRole {
        if self.declared.hit(path).is_some() { FileRole::Test } else { classify(path, content) }
    }

    /// True for a test file in the sense of RULINGS 14: one that defines tests. A file of a language whose tests are
    /// not read counts by its role.
    pub fn defines_tests(&self, path: &RepoPath, content: &[u8]) -> bool {
        match self.classify(path, content) {
            FileRole::Test => outline(path, content).is_none_or(|outline| !outline.tests.is_empty()),
            FileRole::Mixed { .. } => !definitions(path, content).is_empty(),
            _ => false,
        }
    }
}

/// What a file is by its language's habit.
pub fn classify(path: &RepoPath, content: &[u8]) -> FileRole {
    match habit(path) {
        Habit::Test => FileRole::Test,
        Habit::Configuration => FileRole::Configuration,
        Habit::Snapshot => FileRole::Snapshot,
        Habit::Other => FileRole::Other,
        Habit::Source if syntax_of(path) == Some(Syntax::Rust) && content.len() <= LARGEST_SCANNED => {
            rust_role(content)
        }
        Habit::Source => FileRole::Production,
    }
}

fn rust_role(content: &[u8]) -> FileRole {
    let text = String::from_utf8_lossy(content);
    let lexed = Lexed::new(&text, Syntax::Rust);
    let found = rust::scan(&lexed);
    if found.all_test {
        return FileRole::Test;
    }
    let mut regions: Vec<Range<usize>> = found.regions.iter().map(|region| lexed.lines_of(&region.range)).collect();
    regions.sort_by_key(|lines| lines.start);
    if regions.is_empty() { FileRole::Production } else { FileRole::Mixed { regions } }
}

/// What a file defines; none if its language is not read or it is larger than [`LARGEST_SCANNED`].
pub fn outline(path: &RepoPath, content: &[u8]) -> Option<Outline> {
    if content.len() > LARGEST_SCANNED {
        return None;
    }
    let syntax = syntax_of(path)?;
    let text = String::from_utf8_lossy(content);
    let lexed = Lexed::new(&text, syntax);
    let drafts = match syntax {
        Syntax::Rust => rust::scan(&lexed).drafts,
        Syntax::Python => python::scan(&lexed),
        Syntax::JavaScript => javascript::scan(&lexed),
        Syntax::Go => golang::scan(&lexed),
        Syntax::Braces | Syntax::Hash => return None,
    };
    Some(outline::settle(&lexed, &drafts))
}

/// The tests a file defines, in reading order; nothing for a language that is not read.
///
/// Whether a runner collects the *file* is another question: see [`classify`].
pub fn definitions(path: &RepoPath, content: &[u8]) -> Vec<TestDefinition> {
    outline(path, content).unwrap_or_default().tests
}

#[cfg(test)]
#[path = "test_files/tests.rs"]
mod tests;
