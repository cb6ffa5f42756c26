//! Notes on commits, read and written as what they are: a tree of blobs named by the commits they are about.

use super::objects::NewEntry;
use super::{EntryKind, GitError, RefMove, RefName, Repo};
use crate::host::clock::Timestamp;
use crate::host::ids::{BlobId, CommitId, TreeId};
use crate::host::path::RepoPath;
use std::collections::BTreeMap;

/// A longer note is not read.
pub const LARGEST_NOTE: u64 = 4 << 20;

/// How often a note is tried again when another process wrote one meanwhile.
const TRIES: u32 = 50;

/// The notes under one reference, as they were when it was opened.
#[derive(Debug)]
pub struct Notes<'r> {
    repo: &'r Repo,
    tip: Option<CommitId>,
    tree: Option<TreeId>,
}

impl<'r> Notes<'r> {
    /// Opens the notes under `name`; where the reference does not exist there are none.
    ///
    /// # Errors
    /// Git fails.
    pub fn open(repo: &'r Repo, name: &RefName) -> Result<Self, GitError> {
        let tip = repo.read_ref(name)?;
        let tree = tip.as_ref().map(|tip| repo.tree_of(tip)).transpose()?;
        Ok(Self { repo, tip, tree })
    }

    /// The notes as a commit of theirs has them.
    ///
    /// # Errors
    /// The commit is missing.
    pub fn at(repo: &'r Repo, tip: &CommitId) -> Result<Self, GitError> {
        Ok(Self { repo, tip: Some(tip.clone()), tree: Some(repo.tree_of(tip)?) })
    }

    /// The commit that the reference pointed to.
    pub fn tip(&self) -> Option<&CommitId> {
        self.tip.as_ref()
    }

    /// The note on a commit. A note over [`LARGEST_NOTE`] comes back cut, and so unreadable.
    ///
    /// # Errors
    /// Git fails.
    pub fn get(&self, commit: &CommitId) -> Result<Option<Vec<u8>>, GitError> {
        match self.find(commit)? {
            Some((_, blob)) => Ok(Some(self.repo.blob(&blob, LARGEST_NOTE)?.0)),
            None => Ok(None),
        }
    }

    /// The path and blob of the note on a commit. Git spreads notes over folders as their number grows.
    fn find(&self, commit: &CommitId) -> Result<Option<(RepoPath, BlobId)>, GitError> {
        let Some(tree) = &self.tree else { return Ok(None) };
        let id = commit.as_str();
        let places =
            [format!("{}/{}", &id[..2], &id[2..]), id.to_owned(), format!("{}/{}/{}", &id[..2], &id[2..4], &id[4..])];
        for place in places {
            let path = RepoPath::from(place.as_str());
            if let Some(blob) = self.repo.entry(tree, &path)?.and_then(|entry| entry.blob()) {
                return Ok(Some((path, blob)));
            }
        }
        Ok(None)
    }

    /// Every note: the commit it is about (whether that is here or not) and its blob.
    ///
    /// # Errors
    /// Git fails.
    pub fn all(&self) -> Result<BTreeMap<String, BlobId>, GitError> {
        let Some(tree) = &self.tree else { return Ok(BTreeMap::new()) };
        let listed = self.repo.list(tree, "")?;
        let named =
            listed.into_iter().filter(|(_, entry)| entry.kind() == EntryKind::File).filter_map(|(path, entry)| {
                let id = path.as_str()?.replace('/', "");
                CommitId::new(&id).ok()?;
                Some((id, entry.blob()?))
            });
        Ok(named.collect())
    }
}

/// The lines of `old`, then those of `new` that are not among them.
pub(super) fn union(old: &[u8], new: &[u8]) -> Vec<u8> {
    let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    };
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for line in lines(old).into_iter().chain(lines(new)) {
        if !kept.contains(&line) {
            kept.push(line);
        }
    }
    kept.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect()
}

impl Repo {
    /// Adds lines to the note on a commit. Lines that are there stay, and so do the notes of other commits, also those
    /// that another process writes at the same time: the reference moves by compare-and-swap.
    ///
    /// # Errors
    /// Git fails, or others keep writing notes.
    pub fn add_to_note(&self, name: &RefName, commit: &CommitId, lines: &str, at: Timestamp) -> Result<(), GitError> {
        for _ in 0..TRIES {
            let notes = Notes::open(self, name)?;
            let found = notes.find(commit)?;
            let old = match &found {
                Some((_, blob)) => self.blob(blob, u64::MAX)?.0,
                None => Vec::new(),
            };
            let new = union(&old, lines.as_bytes());
            if new == old {
                return Ok(());
            }
            let id = commit.as_str();
            let path =
                found.map_or_else(|| RepoPath::from(format!("{}/{}", &id[..2], &id[2..]).as_str()), |(path, _)| path);
            let entry: NewEntry = (0o100_644, self.write_blob(&new)?.as_str().to_owned());
            let empty = || self.write_tree(&BTreeMap::new());
            let tree = notes.tree.clone().map_or_else(empty, Ok)?;
            let tree = self.edit_tree(&tree, &BTreeMap::from([(path, Some(entry))]))?;
            let parents: Vec<CommitId> = notes.tip.iter().cloned().collect();
            let made = self.write_commit(&tree, &parents, at, &format!("note on {}\n", commit.short()))?;
            if self.move_ref(name, &made, notes.tip.as_ref())? == RefMove::Moved {
                return Ok(());
            }
        }
        Err(overtaken(self, name))
    }

    /// Takes another line of notes in: what either side has is kept, line by line. Returns the commit that the reference
    /// then points to; none where both sides are empty.
    ///
    /// # Errors
    /// Git fails, or others keep writing notes.
    pub fn merge_notes(
        &self,
        name: &RefName,
        other: Option<&CommitId>,
        at: Timestamp,
    ) -> Result<Option<CommitId>, GitError> {
        let Some(other) = other else { return self.read_ref(name) };
        for _ in 0..TRIES {
            let ours = Notes::open(self, name)?;
            let made = match &ours.tip {
                None => other.clone(),
                Some(tip) if self.is_ancestor(other, tip)? => return Ok(Some(tip.clone())),
                Some(tip) if self.is_ancestor(tip, other)? => other.clone(),
                Some(tip) => {
                    let tree = self.united(&ours, &Notes::at(self, other)?)?;
                    self.write_commit(&tree, &[tip.clone(), other.clone()], at, "notes of two machines\n")?
                }
            };
            if self.move_ref(name, &made, ours.tip.as_ref())? == RefMove::Moved {
                return Ok(Some(made));
            }
        }
        Err(overtaken(self, name))
    }

    /// The tree of both sides' notes.
    fn united(&self, ours: &Notes<'_>, theirs: &Notes<'_>) -> Result<TreeId, GitError> {
        let mut all = ours.all()?;
        for (commit, blob) in theirs.all()? {
            let merged = match all.get(&commit) {
                Some(own) if *own == blob => continue,
                Some(own) => {
                    let (own, other) = (self.blob(own, u64::MAX)?.0, self.blob(&blob, u64::MAX)?.0);
                    self.write_blob(&union(&own, &other))?
                }
                None => blob,
            };
            all.insert(commit, merged);
        }
        let entries = all.into_iter().map(|(id, blob)| {
            (RepoPath::from(format!("{}/{}", &id[..2], &id[2..]).as_str()), (0o100_644, blob.as_str().to_owned()))
        });
        self.write_tree(&entries.collect())
    }
}

fn overtaken(repo: &Repo, name: &RefName) -> GitError {
    GitError::Failed {
        command: format!("git update-ref {name}"),
        ending: format!("{TRIES} times overtaken by other processes"),
        tree: repo.common_dir().to_owned(),
        said: "nothing was overwritten; run it again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::union;

    #[test]
    fn two_notes_become_one_without_loss_and_without_doubles() {
        for (old, new, both) in
            [("", "a\n", "a\n"), ("a\nb\n", "b\nc", "a\nb\nc\n"), ("a", "", "a\n"), ("x\n\n", "x\n", "x\n")]
        {
            assert_eq!(union(old.as_bytes(), new.as_bytes()), both.as_bytes());
        }
    }
}
