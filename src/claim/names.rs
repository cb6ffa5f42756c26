//! Two paths that are one path on another machine: macOS and Windows fold case, macOS normalises.

use super::{Sighting, SightingKind};
use crate::host::git::{Change, ChangeKind, GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::{RepoPath, escape};
use std::collections::BTreeMap;
use unicode_normalization::UnicodeNormalization;

/// Collisions that the change brings: each part of an added path against its neighbours in the same folder.
pub(super) fn collisions(repo: &Repo, tree: &TreeId, changed: &[Change]) -> Result<Vec<Sighting>, GitError> {
    let mut folders: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    let mut seen = Vec::new();
    for change in changed.iter().filter(|c| matches!(c.kind, ChangeKind::Added | ChangeKind::Renamed)) {
        let bytes = change.path.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).chain([bytes.len()]);
        let mut start = 0;
        for end in ends {
            let (folder, name) = (&bytes[..start.max(1) - 1], &bytes[start..end]);
            start = end + 1;
            if !folders.contains_key(folder) {
                let names =
                    repo.folder(tree, &RepoPath::from_bytes(folder))?.into_iter().map(|(name, _)| name).collect();
                folders.insert(folder.to_vec(), names);
            }
            let neighbours = folders.get(folder).map_or(&[][..], Vec::as_slice);
            for other in neighbours
                .iter()
                .filter(|other| &other[..] != name && fold(other).is_some() && fold(other) == fold(name))
            {
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
