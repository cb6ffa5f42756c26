//! Two paths that are one path on another machine: macOS and Windows fold case, macOS normalises.

use super::{Sighting, SightingKind};
use crate::host::git::{Change, ChangeKind, GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::{RepoPath, escape};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use unicode_normalization::UnicodeNormalization;

/// The names of one folder, by what they are called where case and composition do not count.
type Folded = HashMap<String, Vec<Vec<u8>>>;

/// Collisions that the change touches: each part of a path that it writes against its neighbours in the same folder.
pub(super) fn collisions(repo: &Repo, tree: &TreeId, changed: &[Change]) -> Result<Vec<Sighting>, GitError> {
    let mut folders: HashMap<&[u8], Folded> = HashMap::new();
    let mut done: HashSet<&[u8]> = HashSet::new();
    let mut seen = Vec::new();
    for change in changed.iter().filter(|c| c.kind != ChangeKind::Deleted) {
        let bytes = change.path.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).chain([bytes.len()]);
        let mut start = 0;
        for end in ends {
            let (folder, name) = (&bytes[..start.max(1) - 1], &bytes[start..end]);
            start = end + 1;
            let Some(key) = fold(name).filter(|_| done.insert(&bytes[..end])) else { continue };
            let names = match folders.entry(folder) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(names_in(repo, tree, folder)?),
            };
            for other in names.get(&key).into_iter().flatten().filter(|other| &other[..] != name) {
                let detail = format!(
                    "`{}` is the same name as `{}` on file systems that fold case or normalise ({} and {})",
                    escape(name),
                    escape(other),
                    hex(name),
                    hex(other)
                );
                seen.push(Sighting { kind: SightingKind::NameCollision, path: Some(change.path.clone()), detail });
            }
        }
    }
    Ok(seen)
}

fn names_in(repo: &Repo, tree: &TreeId, folder: &[u8]) -> Result<Folded, GitError> {
    let mut names = Folded::new();
    for (name, _) in repo.folder(tree, &RepoPath::from_bytes(folder))? {
        if let Some(folded) = fold(&name) {
            names.entry(folded).or_default().push(name);
        }
    }
    Ok(names)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

fn fold(name: &[u8]) -> Option<String> {
    std::str::from_utf8(name).ok().map(|text| text.nfc().collect::<String>().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_and_decomposed_names_fold_to_one() {
        assert_eq!(fold("\u{e4}.md".as_bytes()), fold("a\u{308}.md".as_bytes()));
        assert_eq!(fold(b"README"), fold(b"readme"));
        assert_ne!(fold(b"a.md"), fold(b"b.md"));
        assert_eq!(fold(b"\xff"), None);
    }
}
