//! The normalised event.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Bytes kept of an output's beginning and end.
const HEAD: usize = 512;
const TAIL: usize = 1536;

/// Who made a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Actor {
    /// The session's own agent.
    Main,
    /// A sub-agent, by its id.
    Sub(String),
}

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolKind {
    /// Runs a command.
    Shell,
    /// Asks after, or feeds, a command that runs already.
    Poll,
    /// Writes a whole file.
    Write,
    /// Changes part of a file.
    Edit,
    /// Applies a patch.
    Patch,
    /// Reads files or lists them.
    Read,
    /// Reaches the network.
    Net,
    /// Loads a skill.
    Skill,
    /// Starts a sub-agent.
    Agent,
    /// Anything else.
    Other,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolStatus {
    /// The program said it succeeded.
    Ok,
    /// The program said it failed.
    Error,
    /// It ran out of time.
    TimedOut,
    /// It was interrupted or refused.
    Aborted,
    /// It was started, and no end is recorded.
    Running,
    /// No result is recorded.
    Unknown,
}

/// Where an exit code was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitSource {
    /// A field of its own.
    Field,
    /// Text of the result, at its fixed place.
    Text,
    /// The program records only failures, and none is recorded.
    Inferred,
    /// Nowhere.
    None,
}

/// What is kept of an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Excerpt {
    /// Its first bytes.
    pub head: String,
    /// Its last bytes, if it is longer than its head.
    pub tail: String,
    /// All its bytes.
    pub bytes: u64,
    /// SHA-256 of all of it, in hexadecimal.
    pub sha256: String,
}

/// One tool call with its result.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts, none of which implies another")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolEvent {
    /// Index of the file it was read from.
    pub file: usize,
    /// The line of the call, from 1.
    pub line: u64,
    /// The line of its result, if it has one.
    pub answered: Option<u64>,
    /// Who called.
    pub actor: Actor,
    /// The call's id; empty if the program gave none.
    pub call: String,
    /// The tool's name as the program calls it.
    pub tool: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// Where it ran, if recorded.
    pub cwd: Option<String>,
    /// The command line of a shell call.
    pub command: Option<String>,
    /// The files it names.
    pub paths: Vec<String>,
    /// When it was called, in milliseconds since 1970 UTC.
    pub started: Option<i64>,
    /// When its result was recorded.
    pub ended: Option<i64>,
    /// How it ended.
    pub status: ToolStatus,
    /// Its exit code.
    pub exit: Option<i32>,
    /// Where the exit code was read.
    pub exit_source: ExitSource,
    /// Its output.
    pub output: Excerpt,
    /// True if the program says that it recorded only part of the output.
    pub truncated: bool,
    /// True if it ran, or was to run, in the background.
    pub background: bool,
    /// True if the conversation was taken back behind this call. What it did to files stays done.
    pub rolled_back: bool,
    /// True if a person changed what the tool wrote.
    pub user_modified: bool,
}

impl Excerpt {
    /// Keeps head, tail and digest of a text.
    pub fn of(text: &str) -> Self {
        let head = &text[..floor(text, HEAD)];
        let tail = &text[ceil(text, text.len().saturating_sub(TAIL).max(head.len()))..];
        Self { head: head.to_owned(), tail: tail.to_owned(), bytes: text.len() as u64, sha256: sha256(text) }
    }

    /// True if nothing was left out between head and tail.
    pub fn is_whole(&self) -> bool {
        (self.head.len() + self.tail.len()) as u64 == self.bytes
    }
}

impl ToolEvent {
    /// True if the call can change files by its kind.
    pub fn writes(&self) -> bool {
        matches!(self.kind, ToolKind::Write | ToolKind::Edit | ToolKind::Patch)
    }
}

/// In hexadecimal, without an allocation for each byte: a long session has a hundred thousand outputs.
fn sha256(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text.as_bytes()) {
        hex.extend([byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)])));
    }
    hex
}

/// The greatest place at most `at` that does not split a character.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_keeps_both_ends_and_splits_no_character() {
        let short = Excerpt::of("três");
        assert_eq!((short.head.as_str(), short.tail.as_str(), short.bytes), ("três", "", 5));
        assert_eq!(Excerpt::of("abc").sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(short.is_whole());
        let long = Excerpt::of(&"ê".repeat(4000));
        assert_eq!((long.head.len(), long.tail.len(), long.bytes), (512, 1536, 8000));
        assert!(!long.is_whole());
        let odd = Excerpt::of(&format!("a{}", "ê".repeat(400)));
        assert_eq!(odd.head.len() + odd.tail.len(), 801);
        assert!(odd.is_whole());
    }
}
