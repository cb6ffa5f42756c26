//! The block of `key: value` lines at the top of a task file, read line by line as raw strings.
//!
//! It looks like YAML and is not read as YAML: a YAML reader turns `0017` into 15, an all-digit commit into a number
//! and a title with a colon into an error (agentheim.md §8.2). What cannot be read is an error that names line and key,
//! never an empty set of fields.

mod edit;
mod value;

use super::text::{Text, TextLine};
use std::ops::Range;

pub use edit::{EditError, set};
pub use value::ValueError;

/// The most keys a block may have: each is compared with all others.
pub const MAX_KEYS: usize = 200;
/// The most items a list may have: each reference is looked up on the whole board.
pub const MAX_ITEMS: usize = 500;

/// Keys that mean something here. A key that is one of these but for case, `-` or `_` is refused: its value would
/// silently be ignored.
pub const KNOWN: [&str; 17] = [
    "id",
    "title",
    "status",
    "type",
    "context",
    "created",
    "completed",
    "commit",
    "depends_on",
    "blocks",
    "tags",
    "related_adrs",
    "related_research",
    "prior_art",
    "related_tasks",
    "paths",
    "removes-tests",
];

/// Why a frontmatter block cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// The file begins with something else.
    #[error("there is no frontmatter: line 1 must be `---`")]
    Absent,
    /// The fence comes later than the first line.
    #[error("the frontmatter's opening `---` stands on line {line}; it must be line 1")]
    NotFirst {
        /// Where it stands.
        line: usize,
    },
    /// No closing fence.
    #[error("the frontmatter opened on line 1 is never closed by a line `---`")]
    Unclosed,
    /// The other YAML document end.
    #[error("line {line} ends the frontmatter with `...`; end it with `---`")]
    Dots {
        /// Counted from 1.
        line: usize,
    },
    /// Neither a key, a list item, a comment nor blank.
    #[error("line {line} of the frontmatter is not `key: value`: {text:?}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// Its beginning.
        text: String,
    },
    /// The same key twice.
    #[error("the key `{key}` stands on line {first} and again on line {second}; keep one")]
    Duplicate {
        /// The key.
        key: String,
        /// Its first line.
        first: usize,
        /// Its second line.
        second: usize,
    },
    /// More than [`MAX_KEYS`].
    #[error("line {line} is the frontmatter's key number {}; {MAX_KEYS} are the most", MAX_KEYS + 1)]
    TooManyKeys {
        /// Counted from 1.
        line: usize,
    },
    /// Almost a known key.
    #[error("line {line}: the key `{key}` would be ignored; spell it `{wanted}`")]
    Spelling {
        /// As found.
        key: String,
        /// As meant.
        wanted: &'static str,
        /// Counted from 1.
        line: usize,
    },
    /// A value that cannot be read.
    #[error("line {line}: the value of `{key}` {problem}")]
    Value {
        /// The key.
        key: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: ValueError,
    },
}

#[derive(Debug, Clone)]
struct Entry {
    key: String,
    line: usize,
    /// Byte range in the file of everything between the colon and the line's end.
    span: Range<usize>,
    raw: String,
    items: Vec<(usize, String)>,
    /// The first line of a multi-line value that is not a plain list.
    opaque: Option<usize>,
}

/// A frontmatter block that was read without loss.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    entries: Vec<Entry>,
    body_line: usize,
}

impl Frontmatter {
    /// Reads the block; the file must begin with it.
    ///
    /// # Errors
    /// See [`FrontmatterError`].
    pub fn read(text: Text<'_>) -> Result<Self, FrontmatterError> {
        let mut lines = text.lines();
        if !lines.next().is_some_and(|first| is_fence(first.text)) {
            return Err(late_fence(text).map_or(FrontmatterError::Absent, |line| FrontmatterError::NotFirst { line }));
        }
        let mut entries: Vec<Entry> = Vec::new();
        for line in lines {
            if is_fence(line.text) {
                return Ok(Self { entries, body_line: line.number + 1 });
            }
            if line.text.trim_end() == "..." {
                return Err(FrontmatterError::Dots { line: line.number });
            }
            take_line(&mut entries, line)?;
        }
        Err(FrontmatterError::Unclosed)
    }

    /// True if the text begins with a block, readable or not, or seems to be meant to: then it must be read.
    pub fn is_expected(text: Text<'_>) -> bool {
        text.lines().next().is_some_and(|first| is_fence(first.text)) || late_fence(text).is_some()
    }

    /// The number of the first line after the closing fence, counted from 1.
    pub fn body_line(&self) -> usize {
        self.body_line
    }

    /// The keys, in the file's order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// A single-line value as it stands, quotes and `#` included; `None` if the key is absent or blank.
    ///
    /// # Errors
    /// The value continues on further lines.
    pub fn raw(&self, key: &str) -> Result<Option<&str>, FrontmatterError> {
        let Some(entry) = self.entry(key) else { return Ok(None) };
        entry.single()?;
        Ok(Some(entry.raw.as_str()).filter(|raw| !raw.is_empty()))
    }

    /// A value that is one word: a trailing comment and one layer of quotes are not part of it.
    ///
    /// # Errors
    /// The value continues on further lines, or cannot be read as one string.
    pub fn word(&self, key: &str) -> Result<Option<String>, FrontmatterError> {
        let Some(entry) = self.entry(key) else { return Ok(None) };
        entry.single()?;
        let word = value::word(&entry.raw).map_err(|problem| entry.fault(problem))?;
        Ok(Some(word).filter(|word| !word.is_empty()))
    }

    /// A list: `[a, b]`, `- a` lines, `a` alone, `a, b`; blank, `null`, `~` and `none` are the empty list.
    ///
    /// # Errors
    /// A list that cannot be read whole is never taken for a shorter one.
    pub fn list(&self, key: &str) -> Result<Vec<String>, FrontmatterError> {
        let Some(entry) = self.entry(key) else { return Ok(Vec::new()) };
        if let Some(line) = entry.opaque {
            return Err(entry.fault_at(line, ValueError::SeveralLines));
        }
        let items = if entry.items.is_empty() {
            value::list(&entry.raw).map_err(|problem| entry.fault(problem))?
        } else if value::without_comment(&entry.raw).is_empty() {
            entry.block()?
        } else {
            return Err(entry.fault(ValueError::TwoForms));
        };
        if items.len() > MAX_ITEMS { Err(entry.fault(ValueError::TooMany)) } else { Ok(items) }
    }

    /// The line a key stands on, counted from 1.
    pub fn line(&self, key: &str) -> Option<usize> {
        self.entry(key).map(|entry| entry.line)
    }
}

impl Entry {
    fn single(&self) -> Result<(), FrontmatterError> {
        match self.opaque.or(self.items.first().map(|(line, _)| *line)) {
            Some(line) => Err(self.fault_at(line, ValueError::SeveralLines)),
            None => Ok(()),
        }
    }

    fn block(&self) -> Result<Vec<String>, FrontmatterError> {
        let item = |(line, raw): &(usize, String)| match value::word(raw) {
            Ok(word) if word.is_empty() => Err(self.fault_at(*line, ValueError::EmptyItem)),
            Ok(word) => Ok(word),
            Err(problem) => Err(self.fault_at(*line, problem)),
        };
        self.items.iter().map(item).collect()
    }

    fn fault(&self, problem: ValueError) -> FrontmatterError {
        self.fault_at(self.line, problem)
    }

    fn fault_at(&self, line: usize, problem: ValueError) -> FrontmatterError {
        FrontmatterError::Value { key: self.key.clone(), line, problem }
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The line of a fence that follows only blank lines and comments, with a known key below it: a block put in the wrong
/// place. (A rule under a heading is no such thing.)
fn late_fence(text: Text<'_>) -> Option<usize> {
    let mut lines = text.lines().skip_while(|line| {
        let line = line.text.trim();
        line.is_empty() || line.starts_with('#') || line.starts_with("<!--")
    });
    let fence = lines.next().filter(|line| is_fence(line.text.trim_start()))?;
    let (key, _) = lines.next().and_then(|line| split_key(line.text))?;
    KNOWN.iter().any(|known| folded(known) == folded(key)).then_some(fence.number)
}

fn take_line(entries: &mut Vec<Entry>, line: TextLine<'_>) -> Result<(), FrontmatterError> {
    let trimmed = line.text.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Ok(());
    }
    let refused = || FrontmatterError::Line { line: line.number, text: line.text.chars().take(60).collect() };
    if let Some((key, rest)) = split_key(line.text) {
        if let Some(first) = entries.iter().find(|entry| entry.key == key) {
            return Err(FrontmatterError::Duplicate { key: key.to_owned(), first: first.line, second: line.number });
        }
        if let Some(wanted) = KNOWN.into_iter().find(|known| *known != key && folded(known) == folded(key)) {
            return Err(FrontmatterError::Spelling { key: key.to_owned(), wanted, line: line.number });
        }
        if entries.len() == MAX_KEYS {
            return Err(FrontmatterError::TooManyKeys { line: line.number });
        }
        let start = line.start + line.text.len() - rest.len();
        entries.push(Entry {
            key: key.to_owned(),
            line: line.number,
            span: start..line.start + line.text.len(),
            raw: rest.trim().to_owned(),
            items: Vec::new(),
            opaque: None,
        });
        return Ok(());
    }
    let indented = line.text.starts_with([' ', '\t']);
    let entry = entries.last_mut().ok_or_else(refused)?;
    match trimmed.strip_prefix('-') {
        Some(item) if item.is_empty() || item.starts_with([' ', '\t']) => {
            entry.items.push((line.number, item.trim().to_owned()));
        }
        _ if indented => entry.opaque = entry.opaque.or(Some(line.number)),
        _ => return Err(refused()),
    }
    Ok(())
}

/// Splits `key: value` at the first colon; the key begins in column one and is a plain name.
fn split_key(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    plain.then_some((key, rest))
}

fn folded(key: &str) -> String {
    key.chars().filter(|c| *c != '-' && *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
#[path = "frontmatter/tests.rs"]
mod tests;
