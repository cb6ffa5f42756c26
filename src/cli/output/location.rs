//! Where a finding is, if it is in a file.

use crate::host::path::RepoPath;

/// A file of the judged tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// The path.
    pub(super) path: RepoPath,
    /// The line, from 1.
    pub(super) line: Option<u32>,
}

impl Location {
    /// Reads a finding's place: a path, `path:line`, a test that is named with its file, or neither. Only a file that
    /// the judged tree has is a location: a forge refuses, or silently drops, what it cannot find.
    pub(super) fn of(place: &str, line: Option<u32>, is_here: &dyn Fn(&RepoPath) -> bool) -> Option<Self> {
        let file = |text: &str| RepoPath::try_from(text.to_owned()).ok().filter(|path| path.is_safe() && is_here(path));
        let line = line.filter(|line| *line > 0);
        if let Some(path) = file(place) {
            return Some(Self { path, line });
        }
        if let Some((before, after)) = place.rsplit_once(':')
            && let Ok(found) = after.parse::<u32>()
            && let Some(path) = file(before)
        {
            return Some(Self { path, line: line.or(Some(found).filter(|line| *line > 0)) });
        }
        let (before, _) = place.split_once("::")?;
        file(before).map(|path| Self { path, line })
    }

    /// The path as a relative URI reference.
    pub(super) fn uri(&self) -> String {
        let mut uri = String::new();
        for byte in self.path.as_bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
                uri.push(char::from(*byte));
            } else {
                uri.push_str(&format!("%{byte:02X}"));
            }
        }
        uri
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_judged_tree_are_locations() {
        let here = |path: &RepoPath| ["src/a b.rs", "tests/t.py", "x:7"].contains(&path.as_str().unwrap_or_default());
        let of = |place: &str, line| Location::of(place, line, &here).map(|at| (at.uri(), at.line));
        let at = |uri: &str, line| Some((uri.to_owned(), line));
        assert_eq!(of("src/a b.rs", None), at("src/a%20b.rs", None));
        assert_eq!(of("src/a b.rs", Some(3)), at("src/a%20b.rs", Some(3)));
        assert_eq!(of("src/a b.rs:12", None), at("src/a%20b.rs", Some(12)));
        assert_eq!(of("src/a b.rs:0", None), at("src/a%20b.rs", None));
        assert_eq!(of("tests/t.py::test_x", None), at("tests/t.py", None));
        assert_eq!(of("x:7", None), at("x%3A7", None), "a name may end like a line number");
        for nowhere in ["", "a::b", "cargo test", "gone.rs:3", "../src/a b.rs", "/tests/t.py", "tests/t.py:x"] {
            assert_eq!(of(nowhere, None), None, "{nowhere}");
        }
    }
}
