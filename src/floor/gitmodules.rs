//! What a tree's `.gitmodules` declares, read by git's own parser.

use crate::host::git::{GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use std::collections::BTreeMap;

/// One declared submodule: its settings by key, the last one of a key counting, as in git.
pub(super) type Module = BTreeMap<String, Vec<u8>>;

/// The declared submodules by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Modules(pub(super) BTreeMap<Vec<u8>, Module>, Vec<RepoPath>);

impl Modules {
    /// Reads the file of a tree; no file declares nothing.
    pub(super) fn read(repo: &Repo, tree: &TreeId) -> Result<Self, GitError> {
        let entry = repo.entry(tree, &RepoPath::from(".gitmodules"))?;
        // A link in its place is refused by git as well, and declares nothing.
        let Some(blob) = entry.filter(|e| e.mode & 0o170_000 == 0o100_000).and_then(|e| e.blob()) else {
            return Ok(Self::default());
        };
        let listed = repo.git().run(["config", "--blob", blob.as_str(), "--no-includes", "--list", "-z"])?;
        Ok(Self::parse(&listed.stdout))
    }

    /// Reads `git config --list -z`: `section.name.key LF value NUL`.
    fn parse(listed: &[u8]) -> Self {
        let mut modules: BTreeMap<Vec<u8>, Module> = BTreeMap::new();
        for record in listed.split(|b| *b == 0).filter(|r| !r.is_empty()) {
            let end = record.iter().position(|b| *b == b'\n').unwrap_or(record.len());
            let (key, value) = (&record[..end], record.get(end + 1..).unwrap_or_default());
            let Some(rest) = key.strip_prefix(b"submodule.") else { continue };
            let Some(dot) = rest.iter().rposition(|b| *b == b'.') else { continue };
            let field = String::from_utf8_lossy(&rest[dot + 1..]).into_owned();
            modules.entry(rest[..dot].to_vec()).or_default().insert(field, value.to_vec());
        }
        let paths = modules.values().filter_map(|m| m.get("path"));
        let paths = paths.map(|p| RepoPath::from_bytes(p.strip_suffix(b"/").unwrap_or(p))).collect();
        Self(modules, paths)
    }

    /// True if a submodule is declared at this path.
    pub(super) fn has(&self, path: &RepoPath) -> bool {
        self.1.contains(path)
    }

    /// The declared paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.1.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_submodule_is_read_with_dots_in_its_name_and_the_last_value_counts() {
        let listed = b"submodule.a.b.path\nlib/x/\0submodule.a.b.ignore\nnone\0submodule.a.b.ignore\nall\0core.x\ny\0";
        let modules = Modules::parse(listed);
        assert!(modules.has(&"lib/x".into()));
        assert_eq!(modules.0[&b"a.b"[..]]["ignore"], b"all");
        assert_eq!(Modules::parse(b""), Modules::default());
    }
}
