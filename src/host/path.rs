//! Paths as git has them: bytes, relative to the top of the tree, `/` between parts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A path inside a repository, byte for byte.
///
/// Its text form (`Display`, JSON) is reversible: valid, visible UTF-8 stands as it is; a backslash is `\\`; control
/// characters, invalid bytes, and characters that reorder or hide text are `\xNN` per byte. Two different paths never
/// share a text form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct RepoPath(Vec<u8>);

/// Why a text is not the text form of a path.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an escaped repository path: {0:?}")]
pub struct BadPath(String);

impl RepoPath {
    /// Wraps git's own bytes.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes, as git has them.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path as text if it is UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The path as a relative file-system path.
    pub fn to_path_buf(&self) -> PathBuf {
        PathBuf::from(OsStr::from_bytes(&self.0))
    }

    /// The last part.
    pub fn file_name(&self) -> &[u8] {
        self.0.rsplit(|b| *b == b'/').next().unwrap_or(&self.0)
    }

    /// True if the path lies in the folder `prefix` (given with or without its final `/`) or is it.
    pub fn is_under(&self, prefix: &str) -> bool {
        let prefix = prefix.trim_end_matches('/').as_bytes();
        self.0.starts_with(prefix) && matches!(self.0.get(prefix.len()), None | Some(b'/'))
    }

    /// True if every part is an ordinary name: not empty, `.`, `..`, `.git`, and the path is relative.
    pub fn is_safe(&self) -> bool {
        self.0
            .split(|b| *b == b'/')
            .all(|part| !part.is_empty() && part != b"." && part != b".." && !part.eq_ignore_ascii_case(b".git"))
    }
}

/// True for characters that hide or reorder text on a screen: controls, zero-width, bidi, line separators.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Escapes hostile bytes for display: see [`RepoPath`] for the form.
pub fn escape(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len());
    let hex = |out: &mut String, raw: &[u8]| {
        for byte in raw {
            out.push_str("\\x");
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    };
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' {
                out.push_str("\\\\");
            } else if is_deceptive(c) {
                hex(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                out.push(c);
            }
        }
        hex(&mut out, chunk.invalid());
    }
    out
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        match rest.split_first()? {
            (b'\\', tail) => {
                out.push(b'\\');
                rest = tail;
            }
            (b'x', tail) => {
                let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
                out.push(u8::from_str_radix(digits, 16).ok()?);
                rest = &tail[2..];
            }
            _ => return None,
        }
    }
    Some(out)
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0))
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl TryFrom<String> for RepoPath {
    type Error = BadPath;
    fn try_from(text: String) -> Result<Self, BadPath> {
        unescape(&text).map(Self).ok_or(BadPath(text))
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> String {
        path.to_string()
    }
}

/// A path without `.` and `..`, by its words alone.
pub fn plain(path: &Path) -> PathBuf {
    let mut kept = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = kept.pop(),
            Component::CurDir => {}
            other => kept.push(other),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_of_a_path_is_reversible() {
        for (bytes, text) in [
            (&b"src/lib.rs"[..], "src/lib.rs"),
            ("ümlaut b.txt".as_bytes(), "ümlaut b.txt"),
            (b"caf\xe9", "caf\\xe9"),
            (b"a\nb", "a\\x0ab"),
            (b"back\\slash", "back\\\\slash"),
            (b"lit\\x41", "lit\\\\x41"),
            ("x\u{202e}y".as_bytes(), "x\\xe2\\x80\\xaey"),
        ] {
            let path = RepoPath::from_bytes(bytes);
            assert_eq!(path.to_string(), text);
            assert_eq!(RepoPath::try_from(text.to_owned()).unwrap(), path);
        }
        assert!(RepoPath::try_from("bad\\q".to_owned()).is_err());
        assert!(RepoPath::try_from("bad\\x4".to_owned()).is_err());
    }

    #[test]
    fn under_means_the_folder_and_not_its_namesake() {
        let path = RepoPath::from("src/a/b.rs");
        assert!(path.is_under("src/a"));
        assert!(path.is_under("src/a/"));
        assert!(!path.is_under("src/ab"));
        assert!(!RepoPath::from("src/ab").is_under("src/a"));
    }

    #[test]
    fn traversal_and_git_folders_are_not_safe() {
        for bad in ["../x", "a/../b", "/abs", "a//b", ".git/config", "a/.GIT/x", "", "a/"] {
            assert!(!RepoPath::from(bad).is_safe(), "{bad}");
        }
        assert!(RepoPath::from("a/.gitignore").is_safe());
    }
}
