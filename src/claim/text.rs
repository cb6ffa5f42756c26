//! A change as text, made by us from the two contents.
//!
//! Git's own patch is not used: attributes, text converters and the user's configuration can bend it. The same two
//! contents give the same text on every machine.

mod lines;

pub use lines::spell;

use crate::claim::Claim;
use crate::host::git::{Change, ChangeKind, GitError, Repo};
use crate::host::ids::BlobId;
use lines::{Ends, Page, hunks};
use std::collections::BinaryHeap;
use std::fmt::Write as _;

/// A content larger than this is not compared.
pub const LARGEST_COMPARED: usize = 4 << 20;
/// Above this size git itself treats every file as binary (`core.bigFileThreshold`): it is not even opened.
const NEVER_TEXT: u64 = 512 << 20;
/// How many bytes decide whether a content is binary, as in git.
const SNIFFED: usize = 8000;

/// One change as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeText {
    /// What a patch would not say: new file, mode change, rename, link, foreign commit, line endings, encoding.
    pub notes: Vec<String>,
    /// The content.
    pub body: Body,
    /// True if nothing but line endings differs.
    pub line_endings_only: bool,
}

/// The content of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// A unified diff with eight lines of context; visible characters, tabs and newlines only.
    Text {
        /// The hunks, without file headers.
        text: String,
        /// False if a line was too long and was cut.
        whole: bool,
    },
    /// No content differs (a mode change, a pure rename), or it is no content of this repository (a gitlink).
    Nothing,
    /// Not text.
    Binary {
        /// Size of the new content (of the old one for a deletion).
        bytes: u64,
        /// Its id.
        id: BlobId,
    },
    /// Too large to be compared or to be held.
    TooLarge {
        /// Size of the larger content.
        bytes: u64,
        /// The id of the new content (of the old one for a deletion).
        id: BlobId,
    },
}

/// Shows one change. `None` stands for an absent side.
pub fn unified(old: Option<&[u8]>, new: Option<&[u8]>, change: &Change) -> ChangeText {
    let mut notes = describe(change);
    let said = |notes, body| ChangeText { notes, body, line_endings_only: false };
    if change.is_gitlink() {
        return said(notes, Body::Nothing);
    }
    let (before, after) = (old.unwrap_or_default(), new.unwrap_or_default());
    if before == after && old.is_some() == new.is_some() {
        return said(notes, Body::Nothing);
    }
    let bytes = before.len().max(after.len());
    if bytes > LARGEST_COMPARED {
        return said(notes, Body::TooLarge { bytes: bytes as u64, id: shown_id(change) });
    }
    let before = readable(before, &mut notes);
    let after = if new.is_some() || before.is_some() { readable(after, &mut notes) } else { None };
    let Some(after) = after else {
        let bytes = new.or(old).unwrap_or_default().len() as u64;
        return said(notes, Body::Binary { bytes, id: shown_id(change) });
    };
    // New text is always shown, whatever it replaces.
    let before = before.unwrap_or_else(|| {
        notes.push("the old content is binary and not shown".to_owned());
        Vec::new()
    });
    notes.dedup();
    let (before, after) = (Page::of(&before), Page::of(&after));
    if old.is_some() && new.is_some() && before.equals_but_for_line_ends(&after) {
        notes.push(format!(
            "only line endings differ: {} before, {} after, on {} lines",
            before.ends().sentence(),
            after.ends().sentence(),
            after.len()
        ));
        return ChangeText { notes, body: Body::Nothing, line_endings_only: true };
    }
    let both_crlf = [&before, &after].iter().all(|page| page.len() == 0 || page.ends() == Ends::Crlf);
    if both_crlf {
        notes.push("every line ends in CRLF; the carriage returns are not shown".to_owned());
    }
    let (text, whole, hidden) = hunks(&before, &after, both_crlf);
    if hidden > 0 {
        notes.push(format!(
            "{hidden} characters that hide or reorder text, or are not text, are shown as <U+…> or <0x…>"
        ));
    }
    ChangeText { notes, body: Body::Text { text, whole }, line_endings_only: false }
}

/// Reads both sides of every change and shows it, in the order of `claim.changed`. Of the texts only the smallest are
/// kept, up to `budget` bytes altogether; the others become [`Body::TooLarge`], so that memory stays bounded.
///
/// # Errors
/// An object is missing.
pub fn texts(repo: &Repo, claim: &Claim, budget: u64) -> Result<Vec<ChangeText>, GitError> {
    let mut shown: Vec<ChangeText> = Vec::with_capacity(claim.changed.len());
    let mut held = BinaryHeap::new();
    let mut total = 0;
    for change in &claim.changed {
        let text = one(repo, change)?;
        if let Body::Text { text, .. } = &text.body {
            held.push((text.len() as u64, shown.len()));
            total += text.len() as u64;
        }
        shown.push(text);
        while total > budget {
            let Some((bytes, index)) = held.pop() else { break };
            total -= bytes;
            if let (Some(evicted), Some(change)) = (shown.get_mut(index), claim.changed.get(index)) {
                evicted.body = Body::TooLarge { bytes, id: shown_id(change) };
            }
        }
    }
    Ok(shown)
}

fn one(repo: &Repo, change: &Change) -> Result<ChangeText, GitError> {
    if change.is_gitlink() {
        return Ok(unified(None, None, change));
    }
    if let Some(body) = unread(repo, change)? {
        return Ok(ChangeText { notes: describe(change), body, line_endings_only: false });
    }
    let side = |id: &BlobId| -> Result<Option<Vec<u8>>, GitError> {
        if id.is_null() { Ok(None) } else { repo.blob(id, LARGEST_COMPARED as u64).map(|(bytes, _)| Some(bytes)) }
    };
    let (old, new) = (side(&change.old)?, side(&change.new)?);
    Ok(unified(old.as_deref(), new.as_deref(), change))
}

/// What stands for a change with a side that is too large to be compared. A large binary is told from a large text by its
/// beginning.
fn unread(repo: &Repo, change: &Change) -> Result<Option<Body>, GitError> {
    let size = |id: &BlobId| if id.is_null() { Ok(0) } else { repo.blob_size(id) };
    let (old, new) = (size(&change.old)?, size(&change.new)?);
    let bytes = old.max(new);
    if bytes <= LARGEST_COMPARED as u64 {
        return Ok(None);
    }
    let id = shown_id(change);
    let seen = size(&id)?;
    let binary = seen > NEVER_TEXT || repo.blob(&id, SNIFFED as u64)?.0.contains(&0);
    Ok(Some(if binary { Body::Binary { bytes: seen, id } } else { Body::TooLarge { bytes, id } }))
}

fn shown_id(change: &Change) -> BlobId {
    if change.new.is_null() { change.old.clone() } else { change.new.clone() }
}

/// What happened to the path, in words.
fn describe(change: &Change) -> Vec<String> {
    let mut notes = Vec::new();
    let (old, new) = (change.old_mode.as_str(), change.new_mode.as_str());
    match change.kind {
        ChangeKind::Added => notes.push(format!("new {}", mode_name(new))),
        ChangeKind::Deleted => notes.push(format!("deleted {}", mode_name(old))),
        ChangeKind::Renamed => notes.push("moved; the old path is in the table".to_owned()),
        ChangeKind::TypeChanged => notes.push(format!("was a {}, is a {}", mode_name(old), mode_name(new))),
        ChangeKind::Modified => {}
    }
    if matches!(change.kind, ChangeKind::Modified | ChangeKind::Renamed) && old != new {
        let effect = match (old, new) {
            (_, "100755") => " (now executable)",
            ("100755", _) => " (no longer executable)",
            _ => "",
        };
        notes.push(format!("mode {old} became {new}{effect}"));
    }
    if old == "120000" || new == "120000" {
        notes.push("a link's content is the path it points to".to_owned());
    }
    if change.is_gitlink() {
        let mut note = "a commit of another repository, whose content is not shown".to_owned();
        let _ = write!(note, ": {} became {}", change.old, change.new);
        notes.push(note);
    }
    notes
}

fn mode_name(mode: &str) -> &'static str {
    match mode {
        "100644" | "100664" => "file",
        "100755" => "executable file",
        "120000" => "symbolic link",
        "160000" => "gitlink",
        _ => "entry of an unknown mode",
    }
}

/// The content if it can be read as text, UTF-16 as UTF-8. A NUL makes it binary for git; a source file with a stray
/// one would hide that way, so a content that is text but for a few bytes stays text.
fn readable(bytes: &[u8], notes: &mut Vec<String>) -> Option<Vec<u8>> {
    let head = &bytes[..bytes.len().min(SNIFFED)];
    if !head.contains(&0) {
        return Some(bytes.to_vec());
    }
    if let Some(text) = from_utf16(bytes) {
        notes.push("UTF-16, shown as UTF-8".to_owned());
        return Some(text.into_bytes());
    }
    let odd = head.iter().filter(|b| **b < b' ' && !matches!(**b, b'\t' | b'\n' | b'\r' | 0x0c) || **b >= 0x7f).count();
    if odd.saturating_mul(20) > head.len() {
        return None;
    }
    notes.push("holds NUL bytes, so git calls it binary; it is shown because it is text otherwise".to_owned());
    Some(bytes.to_vec())
}

fn from_utf16(bytes: &[u8]) -> Option<String> {
    let (mark, rest) = bytes.split_at_checked(2)?;
    let read: fn([u8; 2]) -> u16 = match mark {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return None,
    };
    let (pairs, odd) = rest.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| read(*pair)).collect();
    if odd.is_empty() { String::from_utf16(&units).ok() } else { None }
}

#[cfg(test)]
mod tests;
