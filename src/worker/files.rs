//! `FILE_LIST` as paths inside the repository.

use super::report::Report;
use crate::host::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an entry of `FILE_LIST` points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A path inside the worktree, relative to its top.
    Path(RepoPath),
    /// Outside the worktree.
    Outside,
    /// No file that git could hold.
    Unrepresentable(Unrepresentable),
}

/// Why an entry names no file that git could hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unrepresentable {
    /// It ends in `/`, or is the worktree itself.
    Folder,
    /// It goes into git's own folder.
    GitFolder,
    /// It holds a NUL byte.
    Nul,
}

/// One entry of `FILE_LIST`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Listed {
    /// Where it points.
    pub path: Place,
    /// The entry byte for byte as written.
    pub raw: RepoPath,
    /// It holds a backslash. On this platform that is a letter like any other, so it is noted and not changed; a
    /// worker that thinks of Windows may have meant `/`.
    pub backslash: bool,
}

/// Reads the report's `FILE_LIST` against the worktree it was written in.
///
/// `worktree` is the absolute path the worker knew. Absolute entries inside it become relative; `./`, doubled slashes
/// and `..` are folded by text, since a report is a claim about names and nothing is opened here.
///
/// The format separates entries by commas: a name that holds one arrives as its pieces, and blanks around a name are
/// lost. Neither can be told apart from two files, so such a name shows up as files that are not in the diff.
pub fn file_list(report: &Report, worktree: &[u8]) -> Vec<Listed> {
    report
        .file_list
        .iter()
        .map(|raw| Listed {
            path: place(raw.as_bytes(), worktree),
            raw: raw.clone(),
            backslash: raw.as_bytes().contains(&b'\\'),
        })
        .collect()
}

fn place(entry: &[u8], worktree: &[u8]) -> Place {
    if entry.contains(&0) {
        return Place::Unrepresentable(Unrepresentable::Nul);
    }
    let relative = if entry.starts_with(b"/") {
        let (Some(full), Some(top)) = (fold(entry), fold(worktree)) else { return Place::Outside };
        if !worktree.starts_with(b"/") || !full.starts_with(&top) {
            return Place::Outside;
        }
        full[top.len()..].to_vec()
    } else {
        let Some(parts) = fold(entry) else { return Place::Outside };
        parts
    };
    if relative.is_empty() || entry.ends_with(b"/") || entry.ends_with(b"/.") {
        return Place::Unrepresentable(Unrepresentable::Folder);
    }
    let path = RepoPath::from_bytes(relative.join(&b'/'));
    if path.is_safe() { Place::Path(path) } else { Place::Unrepresentable(Unrepresentable::GitFolder) }
}

/// The parts of a path without `.`, empty parts and `..`; none if it climbs above its start.
fn fold(path: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::parse_report;

    fn listed(value: &str) -> Vec<Listed> {
        let text = format!("RESULT: BOUNCED\nTASK_ID: a-1\nREASON: r\nFILE_LIST: {value}\n");
        file_list(&parse_report(text.as_bytes()).unwrap(), b"/repo/.worktrees/a-1/")
    }

    #[test]
    fn entries_become_paths_inside_the_worktree_or_say_why_not() {
        let path = |text: &str| Place::Path(RepoPath::from(text));
        for (entry, expected) in [
            ("src/a.rs", path("src/a.rs")),
            ("./src//a.rs", path("src/a.rs")),
            ("src/../b.rs", path("b.rs")),
            ("/repo/.worktrees/a-1/src/a.rs", path("src/a.rs")),
            ("/repo/.worktrees/a-1/../a-1/src/a.rs", path("src/a.rs")),
            ("/repo/.worktrees/a-10/src/a.rs", Place::Outside),
            ("/repo/.worktrees/a-1/../../src/a.rs", Place::Outside),
            ("../a.rs", Place::Outside),
            ("a/../../b.rs", Place::Outside),
            ("/../../etc/passwd", Place::Outside),
            ("/etc/passwd", Place::Outside),
            ("/repo/.worktrees/a-1", Place::Unrepresentable(Unrepresentable::Folder)),
            ("src/", Place::Unrepresentable(Unrepresentable::Folder)),
            (".", Place::Unrepresentable(Unrepresentable::Folder)),
            (".git/config", Place::Unrepresentable(Unrepresentable::GitFolder)),
            ("a\0b", Place::Unrepresentable(Unrepresentable::Nul)),
        ] {
            let found = listed(entry);
            assert_eq!(found.len(), 1, "{entry:?}");
            assert_eq!(found[0].path, expected, "{entry:?}");
        }
    }

    #[test]
    fn backslashes_are_noted_and_kept() {
        let found = listed("src\\a.rs, b.rs");
        assert_eq!(found[0].path, Place::Path(RepoPath::from("src\\a.rs")));
        assert!(found[0].backslash);
        assert!(!found[1].backslash);
    }

    #[test]
    fn a_comma_in_a_name_cannot_be_carried() {
        let raw: Vec<String> = listed("a,b.txt, c.txt,").iter().map(|l| l.raw.to_string()).collect();
        assert_eq!(raw, ["a", "b.txt", "c.txt"]);
    }

    #[test]
    fn none_is_an_empty_list_only_when_it_stands_alone() {
        assert!(listed("none").is_empty());
        assert!(listed("").is_empty());
        assert_eq!(listed("none, a.rs").len(), 2);
    }

    #[test]
    fn names_that_are_not_utf8_keep_their_bytes() {
        let text = b"RESULT: BOUNCED\nTASK_ID: a-1\nREASON: r\nFILE_LIST: caf\xe9.txt, b.rs\n";
        let report = parse_report(text).unwrap();
        let found = file_list(&report, b"/w");
        assert_eq!(found[0].path, Place::Path(RepoPath::from_bytes(*b"caf\xe9.txt")));
    }
}
