//! A file's text as far as a check reads it.

use super::LARGEST_READ;
use crate::host::git::{Change, GitError, Repo};
use crate::host::ids::BlobId;

/// Above this size git itself treats every file as binary (`core.bigFileThreshold`): it is not even opened.
const NEVER_TEXT: u64 = 512 << 20;
/// Git looks for a NUL in this many bytes to tell binary from text.
const SNIFFED: usize = 8_000;

/// What came of reading a blob.
pub(super) enum Reading {
    /// All of a text file.
    Text(Vec<u8>),
    /// The first [`LARGEST_READ`] bytes of a larger text file.
    Cut(Vec<u8>),
    /// Not text.
    Binary,
}

/// Reads a blob as text.
pub(super) fn read(repo: &Repo, id: &BlobId) -> Result<Reading, GitError> {
    if repo.blob_size(id)? > NEVER_TEXT {
        return Ok(Reading::Binary);
    }
    let (bytes, cut) = repo.blob(id, LARGEST_READ)?;
    Ok(if bytes[..bytes.len().min(SNIFFED)].contains(&0) {
        Reading::Binary
    } else if cut {
        Reading::Cut(bytes)
    } else {
        Reading::Text(bytes)
    })
}

/// The text of a blob, empty for the null id, whatever else is no whole text file.
pub(super) fn text_or_empty(repo: &Repo, id: &BlobId) -> Result<Vec<u8>, GitError> {
    if id.is_null() {
        return Ok(Vec::new());
    }
    Ok(match read(repo, id)? {
        Reading::Text(bytes) | Reading::Cut(bytes) => bytes,
        Reading::Binary => Vec::new(),
    })
}

/// True for a mode that git gives to regular files.
pub(super) fn is_file(mode: &str) -> bool {
    mode.starts_with("100")
}

/// The old file's id, if there was a regular file.
pub(super) fn old_file(change: &Change) -> Option<&BlobId> {
    is_file(&change.old_mode).then_some(&change.old)
}

/// The new file's id, if there is a regular file.
pub(super) fn new_file(change: &Change) -> Option<&BlobId> {
    is_file(&change.new_mode).then_some(&change.new)
}

/// Lines without their endings (LF or CR LF).
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}
