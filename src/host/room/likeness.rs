//! Whether a room equals its tree.

use super::{Room, RoomError};
use crate::host::git::{GitError, Repo};
use crate::host::path::{RepoPath, escape};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// How many files git may call modified before we stop asking whether a new checkout would look the same.
const MOST_LOOKALIKES: usize = 50;

/// One path that is not as the tree has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: RepoPath,
    /// What git says of it: `M`, `D`, `T`, `?`, `!`, …
    state: char,
    /// The blob, where only the content of a tracked file differs.
    blob: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.state {
            'D' => "is missing",
            '?' | '!' => "should not be there",
            'T' => "is another kind of file",
            _ => "is changed",
        };
        write!(f, "{} {word}", self.path)
    }
}

impl Room {
    /// Everything in which the room is not its tree; with `untracked`, what lies beside the tree counts too.
    pub(super) fn differences(&self, repo: &Repo, untracked: bool) -> Result<Vec<Difference>, RoomError> {
        self.real_differences(repo, &self.gits(repo, &[question(untracked)])?)
    }

    /// The differences that git's answer to [`question`] names and that are real.
    pub(super) fn real_differences(&self, repo: &Repo, answer: &[u8]) -> Result<Vec<Difference>, RoomError> {
        let (head, found) = parse_status(answer)?;
        if head.as_deref() != Some(self.commit.as_str()) {
            return Err(RoomError::Differs {
                room: self.path().to_owned(),
                tree: self.tree.clone(),
                what: format!("its HEAD is {}", head.unwrap_or_else(|| "unborn".to_owned())),
            });
        }
        let suspects = found.iter().filter(|d| d.blob.is_some()).count();
        let mut real = Vec::new();
        for difference in found {
            if suspects > MOST_LOOKALIKES || !self.is_as_checked_out(repo, &difference)? {
                real.push(difference);
            }
        }
        Ok(real)
    }

    /// True if the file is byte for byte what a checkout of the blob writes: then only the way back (a filter or line
    /// ending rule that is not its own inverse) makes git call it modified.
    fn is_as_checked_out(&self, repo: &Repo, difference: &Difference) -> Result<bool, RoomError> {
        let Some(blob) = &difference.blob else { return Ok(false) };
        let file = self.path().join(difference.path.to_path_buf());
        if !fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file()) {
            return Ok(false);
        }
        let mut path = OsString::from("--path=");
        path.push(OsStr::from_bytes(difference.path.as_bytes()));
        let wanted = self.gits(repo, &[vec!["cat-file".into(), "--filters".into(), path, blob.into()]])?;
        let found = fs::read(&file).map_err(|why| RoomError::Io { doing: "read", path: file, why })?;
        Ok(wanted == found)
    }
}

/// Asks git where the room is not its HEAD; with `untracked`, what lies beside the tree counts too.
pub(super) fn question(untracked: bool) -> Vec<OsString> {
    let fixed = ["status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--ignore-submodules=none"];
    let which = if untracked { ["-uall", "--ignored"] } else { ["-uno", "--ignored=no"] };
    fixed.iter().chain(&which).map(OsString::from).collect()
}

/// Reads `git status --porcelain=v2 --branch -z`: the commit of HEAD and every entry.
fn parse_status(bytes: &[u8]) -> Result<(Option<String>, Vec<Difference>), GitError> {
    let mut head = None;
    let mut found = Vec::new();
    for (number, record) in bytes.split(|b| *b == 0).filter(|r| !r.is_empty()).enumerate() {
        let bad = || GitError::Unreadable { command: "git status".to_owned(), what: escape(record) };
        let fields = |count: usize| -> Option<(Vec<&str>, RepoPath)> {
            let mut parts = record.splitn(count, |b| *b == b' ').collect::<Vec<_>>();
            let path = RepoPath::from_bytes(parts.pop()?);
            if parts.len() + 1 != count {
                return None;
            }
            Some((parts.into_iter().map(|p| std::str::from_utf8(p).ok()).collect::<Option<_>>()?, path))
        };
        match record[0] {
            // These two come first and nothing like them follows: a filter may have reached our pipe.
            b'#' => match (number, record.strip_prefix(b"# branch.oid ")) {
                (0, Some(id)) => head = Some(String::from_utf8_lossy(id).into_owned()),
                (1, None) if record == b"# branch.head (detached)" => {}
                _ => return Err(bad()),
            },
            b'?' | b'!' => {
                let (words, path) = fields(2).ok_or_else(bad)?;
                let state = words[0].chars().next().unwrap_or('?');
                found.push(Difference { path, state, blob: None });
            }
            b'1' => {
                let (words, path) = fields(9).ok_or_else(bad)?;
                let state = words[1].chars().find(|c| *c != '.').unwrap_or('M');
                let content_only = words[1] == ".M" && words[4] == words[5] && words[2] == "N...";
                let blob = content_only.then(|| words[7].to_owned());
                found.push(Difference { path, state, blob });
            }
            b'u' => {
                let (_, path) = fields(11).ok_or_else(bad)?;
                found.push(Difference { path, state: 'U', blob: None });
            }
            _ => return Err(bad()),
        }
    }
    Ok((head, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_with_hostile_names() {
        let id = "a".repeat(40);
        let raw = format!(
            "# branch.oid {id}\0# branch.head (detached)\0\
             1 .M N... 100644 100644 100644 {id} {id} two words\nand a line\0\
             1 .M N... 100644 100644 100755 {id} {id} mode\0\
             1 D. N... 100644 000000 000000 {id} {id} gone\0? new\0! ignored/x\0"
        );
        let (head, found) = parse_status(raw.as_bytes()).unwrap();
        assert_eq!(head, Some(id.clone()));
        let names: Vec<String> = found.iter().map(|d| d.path.to_string()).collect();
        assert_eq!(names, ["two words\\x0aand a line", "mode", "gone", "new", "ignored/x"]);
        assert_eq!(found[0].blob, Some(id));
        assert_eq!(found[1].blob, None, "a changed mode is never a lookalike");
        assert_eq!(found[2].to_string(), "gone is missing");
        assert_eq!(found[4].to_string(), "ignored/x should not be there");
    }

    #[test]
    fn an_unreadable_status_is_an_error() {
        for bad in [
            &b"1 .M N... 100644\0"[..],
            b"x what\0",
            b"?\0",
            b"# branch.oid a\0# branch.head main\0",
            b"# branch.oid a\0# branch.head (detached)\0# forged# branch.oid b\0",
            b"# branch.oid a\0# branch.head (detached)\0# branch.oid b\0",
        ] {
            assert!(parse_status(bad).is_err(), "{}", escape(bad));
        }
        assert_eq!(parse_status(b"").unwrap(), (None, Vec::new()));
    }
}
