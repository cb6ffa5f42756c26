//! What changed between two trees, from plumbing that no user configuration can bend.

use super::{GitError, Repo, Running};
use crate::host::ids::{BlobId, TreeId};
use crate::host::path::{RepoPath, escape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How a path changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Content or mode differ.
    Modified,
    /// File became link, or the like.
    TypeChanged,
    /// Moved, perhaps edited; `from` names the old path.
    Renamed,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Change {
    /// How.
    pub kind: ChangeKind,
    /// The path in the new tree (in the old one for a deletion).
    pub path: RepoPath,
    /// The old path of a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<RepoPath>,
    /// Old mode in octal, `000000` if absent.
    pub old_mode: String,
    /// New mode in octal, `000000` if absent.
    pub new_mode: String,
    /// Old content id, all zeros if absent.
    pub old: BlobId,
    /// New content id, all zeros if absent.
    pub new: BlobId,
}

impl Change {
    /// True if either side is a gitlink: the content is a commit of another repository.
    pub fn is_gitlink(&self) -> bool {
        self.old_mode == "160000" || self.new_mode == "160000"
    }

    /// Every path this change touches: the new one and, for a rename, the old one.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        std::iter::once(&self.path).chain(&self.from)
    }
}

/// Spelled out, because users and repositories configure every one of these. Submodules are never ignored:
/// `.gitmodules` can say `ignore = all`.
const PLAIN: &[&str] = &[
    "diff-tree",
    "-r",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--full-index",
    "--ignore-submodules=none",
    "--submodule=short",
    "--no-indent-heuristic",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "-O/dev/null",
    "--no-relative",
];

impl Repo {
    /// The changed paths, sorted by path; renames are found by content.
    ///
    /// # Errors
    /// Git fails, or a tree is missing.
    pub fn changes(&self, old: &TreeId, new: &TreeId) -> Result<Vec<Change>, GitError> {
        self.start_changes(old, new)?.finish()
    }

    /// As [`Repo::changes`]; the caller does something else meanwhile.
    ///
    /// # Errors
    /// Git cannot be started.
    pub fn start_changes(&self, old: &TreeId, new: &TreeId) -> Result<Changes, GitError> {
        // -l bounds rename detection: beyond it, an addition and a deletion are told instead.
        let args = PLAIN.iter().copied().chain(["--raw", "-z", "-M50%", "-l1000", old.as_str(), new.as_str()]);
        self.git().start(args).map(Changes)
    }

    /// Writes the difference between two trees to a file, so that `git apply` gives the new tree from the old bit for
    /// bit: binary content, modes, links and gitlinks included, whatever the user configured.
    ///
    /// # Errors
    /// Git fails, or a tree is missing.
    pub fn write_patch(&self, old: &TreeId, new: &TreeId, file: &Path) -> Result<(), GitError> {
        let mut output = OsString::from("--output=");
        output.push(file);
        let mut args: Vec<OsString> = ["-c", "diff.suppressBlankEmpty=false"].map(OsString::from).into();
        args.extend(PLAIN.iter().map(OsString::from));
        let shape = ["-p", "--binary", "--no-renames", "-U3", "--inter-hunk-context=0", "--ws-error-highlight=none"];
        args.extend(shape.map(OsString::from));
        args.push(output);
        args.extend([old.as_str(), new.as_str()].map(OsString::from));
        self.git().run(args).map(drop)
    }

    /// The tree that a patch makes of another, worked out in the index `index`, which must not exist yet.
    ///
    /// # Errors
    /// The patch does not apply.
    pub fn tree_after_patch(&self, tree: &TreeId, patch: &Path, index: &Path) -> Result<TreeId, GitError> {
        let git = || self.git().env("GIT_INDEX_FILE", index);
        git().run(["read-tree", tree.as_str()])?;
        let plain = ["-c", "apply.whitespace=nowarn", "-c", "apply.ignoreWhitespace=no"];
        let words = plain.into_iter().chain(["apply", "--cached", "--whitespace=nowarn", "--"]).map(OsStr::new);
        git().run(words.chain([patch.as_os_str()]))?;
        let line = git().run(["write-tree"])?.line();
        TreeId::new(&line)
            .map_err(|why| GitError::Unreadable { command: "git write-tree".to_owned(), what: why.to_string() })
    }
}

/// A comparison that was started.
#[derive(Debug)]
pub struct Changes(Running);

impl Changes {
    /// The changed paths, sorted by path.
    ///
    /// # Errors
    /// Git fails, or a tree is missing.
    pub fn finish(self) -> Result<Vec<Change>, GitError> {
        let mut changes = parse_raw(&self.0.success()?.stdout)?;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }
}

/// Reads `git diff-tree --raw -z`: `:oldmode newmode old new status NUL path NUL [path NUL]`.
fn parse_raw(bytes: &[u8]) -> Result<Vec<Change>, GitError> {
    let mut fields = bytes.split(|b| *b == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|f| !f.is_empty()) {
        let bad = || GitError::Unreadable { command: "git diff-tree --raw".to_owned(), what: escape(head) };
        let text = std::str::from_utf8(head).map_err(|_| bad())?;
        let words: Vec<&str> = text.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old, new, status] = words[..] else { return Err(bad()) };
        let first = fields.next().ok_or_else(bad)?;
        let (kind, from, path) = match status.as_bytes().first() {
            Some(b'A') => (ChangeKind::Added, None, first),
            Some(b'D') => (ChangeKind::Deleted, None, first),
            Some(b'M') => (ChangeKind::Modified, None, first),
            Some(b'T') => (ChangeKind::TypeChanged, None, first),
            Some(b'R') => (ChangeKind::Renamed, Some(first), fields.next().ok_or_else(bad)?),
            _ => return Err(bad()),
        };
        changes.push(Change {
            kind,
            path: RepoPath::from_bytes(path),
            from: from.map(RepoPath::from_bytes),
            old_mode: old_mode.to_owned(),
            new_mode: new_mode.to_owned(),
            old: BlobId::new(old).map_err(|_| bad())?,
            new: BlobId::new(new).map_err(|_| bad())?,
        });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_changes_keep_hostile_names_apart() {
        let id = |c: &str| c.repeat(40);
        let raw = format!(
            ":100644 100644 {a} {b} M\0caf\u{e9}\0:100644 100755 {a} {a} R100\0old name\0neu\nname\0:000000 160000 {z} {b} A\0app\0",
            a = id("a"),
            b = id("b"),
            z = id("0")
        );
        let changes = parse_raw(raw.as_bytes()).unwrap();
        assert_eq!(changes.len(), 3);
        assert_eq!(changes[1].from.as_ref().unwrap(), &RepoPath::from("old name"));
        assert_eq!(changes[1].path.to_string(), "neu\\x0aname");
        assert!(changes[2].is_gitlink());
        assert!(parse_raw(b":100644 garbage\0x\0").is_err());
        assert!(parse_raw(b"").unwrap().is_empty());
    }
}
