//! Two trees into one that has everything of both.

use super::{EntryKind, GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use std::collections::BTreeMap;

impl Repo {
    /// Everything that either tree has. Folders down to `depth` are united; below that, and for files, what `first` has
    /// under a name stands, whole and unmixed.
    ///
    /// # Errors
    /// A tree is missing, or the object store is full or read-only.
    pub fn union_trees(&self, first: &TreeId, second: &TreeId, depth: usize) -> Result<TreeId, GitError> {
        if first == second {
            return Ok(first.clone());
        }
        let top = RepoPath::from("");
        let mut entries: BTreeMap<Vec<u8>, _> = self.folder(first, &top)?.into_iter().collect();
        let mut grew = false;
        for (name, theirs) in self.folder(second, &top)? {
            match entries.get(&name) {
                None => {
                    entries.insert(name, theirs);
                    grew = true;
                }
                Some(ours) if depth > 0 && ours.kind() == EntryKind::Folder && theirs.kind() == EntryKind::Folder => {
                    let id = |id: &str| {
                        TreeId::new(id).map_err(|why| GitError::Unreadable {
                            command: "unite trees".to_owned(),
                            what: why.to_string(),
                        })
                    };
                    let (own, other) = (id(&ours.id)?, id(&theirs.id)?);
                    let united = self.union_trees(&own, &other, depth - 1)?;
                    if united != own {
                        let mut entry = ours.clone();
                        united.as_str().clone_into(&mut entry.id);
                        entries.insert(name, entry);
                        grew = true;
                    }
                }
                Some(_) => {}
            }
        }
        if !grew {
            return Ok(first.clone());
        }
        let entries = entries.into_iter().map(|(name, entry)| (name, (entry.mode, entry.id))).collect();
        self.write_one_tree(&entries)
    }
}
