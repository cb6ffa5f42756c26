//! Salvage seen from the other side: what was saved, and getting it back without touching anybody's checkout.

use super::SALVAGE_FOLDER;
use crate::host::git::{GitError, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::escape;
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What stands above a patch has at most this many bytes.
const LARGEST_HEADER: u64 = 4 << 10;
/// Folders of restored work, below the project's top.
const RESTORED: &str = ".worktrees/.restored";
/// How often one patch can be restored side by side.
const MOST_RESTORED: u32 = 1_000;

/// Why saved work was not found or not restored. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// No such patch.
    #[error("there is no salvage patch {word}: `countersign salvage list` names them")]
    NoPatch {
        /// As typed, escaped.
        word: String,
    },
    /// A file that is no patch of ours.
    #[error("{} does not begin as a salvage patch does (task, base, commit, tree): `git apply` may take it all the same", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// Its base is not here.
    #[error("{} was saved on {base}, and this repository does not have that commit: fetch it first", path.display())]
    NoBase {
        /// The file.
        path: PathBuf,
        /// The commit.
        base: CommitId,
    },
    /// It was edited.
    #[error("{} gives tree {found}, and says that it gives {wanted}: it was edited; `git apply` takes it as it is", path.display())]
    Edited {
        /// The file.
        path: PathBuf,
        /// What it gives.
        found: TreeId,
        /// What it says.
        wanted: TreeId,
    },
    /// A file or folder could not be read or made.
    #[error("cannot {doing} {}: {why}", path.display())]
    Io {
        /// Verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A patch, as its header tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SavedPatch {
    /// The task.
    pub task: String,
    /// The event.
    pub tag: String,
    /// The file.
    pub path: PathBuf,
    /// What it applies to.
    pub base: CommitId,
    /// The commit that holds the same work.
    pub commit: CommitId,
    /// The tree that it gives.
    pub tree: TreeId,
    /// The reference that keeps the commit; none if it is gone.
    pub reference: Option<String>,
}

/// Saved work in a worktree of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Restored {
    /// The patch.
    pub patch: SavedPatch,
    /// The worktree: its base is checked out, the work is staged.
    pub worktree: PathBuf,
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RestoreError + use<> {
    let path = path.to_owned();
    move |why| RestoreError::Io { doing, path, why }
}

/// Every patch in a project's salvage folder, by name; and files there that are no patches of ours.
///
/// # Errors
/// The folder or the references cannot be read.
pub fn saved_patches(repo: &Repo, project: &Path) -> Result<(Vec<SavedPatch>, Vec<PathBuf>), RestoreError> {
    let folder = project.join(SALVAGE_FOLDER);
    let mut names = Vec::new();
    match fs::read_dir(&folder) {
        Ok(entries) => {
            for entry in entries {
                names.push(entry.map_err(failed("read", &folder))?.path());
            }
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) => return Err(failed("read", &folder)(why)),
    }
    names.sort();
    let kept = repo.refs_under("refs/countersign/claims/")?;
    let (mut patches, mut others) = (Vec::new(), Vec::new());
    for path in names.into_iter().filter(|path| path.extension() == Some(OsStr::new("patch"))) {
        match header(&path)? {
            Some(mut patch) => {
                patch.reference = kept.iter().find(|(_, id)| id == patch.commit.as_str()).map(|(name, _)| name.clone());
                patches.push(patch);
            }
            None => others.push(path),
        }
    }
    Ok((patches, others))
}

/// The patch that a person means: a file, or a name in the salvage folder with or without its ending.
///
/// # Errors
/// There is none, or it is none of ours.
pub fn find_patch(repo: &Repo, project: &Path, start: &Path, word: &OsStr) -> Result<SavedPatch, RestoreError> {
    let inside = project.join(SALVAGE_FOLDER);
    let mut ended = word.to_owned();
    ended.push(".patch");
    let places = [start.join(word), inside.join(word), inside.join(ended)];
    let found = places.into_iter().find(|place| place.is_file());
    let path = found.ok_or_else(|| RestoreError::NoPatch { word: escape(word.as_encoded_bytes()) })?;
    let mut patch = header(&path)?.ok_or(RestoreError::NoHeader { path })?;
    let kept = repo.refs_under("refs/countersign/claims/")?;
    patch.reference = kept.into_iter().find(|(_, id)| id == patch.commit.as_str()).map(|(name, _)| name);
    Ok(patch)
}

/// Reads what stands above a patch; none if it is not ours.
fn header(path: &Path) -> Result<Option<SavedPatch>, RestoreError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed("read", path))?;
    file.take(LARGEST_HEADER).read_to_end(&mut bytes).map_err(failed("read", path))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(parse(&text, path))
}

fn parse(text: &str, path: &Path) -> Option<SavedPatch> {
    let mut lines = text.lines();
    let first = lines.next()?.strip_prefix("Salvage of ")?.strip_suffix("), saved by countersign.")?;
    let (task, tag) = first.split_once(" (")?;
    let base = CommitId::new(lines.next()?.strip_prefix("base ")?).ok()?;
    let commit = CommitId::new(lines.next()?.strip_prefix("commit ")?).ok()?;
    let tree = TreeId::new(lines.next()?.strip_prefix("tree ")?).ok()?;
    let (task, tag, path) = (task.to_owned(), tag.to_owned(), path.to_owned());
    Some(SavedPatch { task, tag, path, base, commit, tree, reference: None })
}

/// Gets saved work back: its base in a new worktree, the work staged there. What comes out is compared with what was
/// saved before anything is made.
///
/// # Errors
/// See [`RestoreError`].
pub fn restore(repo: &Repo, project: &Path, patch: SavedPatch) -> Result<Restored, RestoreError> {
    if repo.resolve(patch.base.as_str())?.is_none() {
        return Err(RestoreError::NoBase { path: patch.path, base: patch.base });
    }
    let own = repo.own_dir();
    fs::create_dir_all(&own).map_err(failed("make", &own))?;
    let scratch = tempfile::Builder::new().prefix("restore-").tempdir_in(&own).map_err(failed("write in", &own))?;
    let base = repo.tree_of(&patch.base)?;
    let found = repo.tree_after_patch(&base, &patch.path, &scratch.path().join("index"))?;
    if found != patch.tree {
        return Err(RestoreError::Edited { path: patch.path, found, wanted: patch.tree });
    }
    let worktree = place(project, &patch.path)?;
    let words = ["worktree", "add", "--quiet", "--detach", "--no-checkout", "--force", "--"].map(OsStr::new);
    repo.git().run(words.into_iter().chain([worktree.as_os_str(), OsStr::new(patch.base.as_str())]))?;
    repo.discover_beside(&worktree)?.git().run(["read-tree", "--reset", "-u", found.as_str()])?;
    Ok(Restored { patch, worktree })
}

/// A new folder for restored work; the folders ignore themselves.
fn place(project: &Path, patch: &Path) -> Result<PathBuf, RestoreError> {
    let folder = project.join(RESTORED);
    fs::create_dir_all(&folder).map_err(failed("make", &folder))?;
    let ignore = project.join(".worktrees/.gitignore");
    if !ignore.exists() {
        fs::write(&ignore, "*\n").map_err(failed("write", &ignore))?;
    }
    let stem = patch.file_stem().unwrap_or(OsStr::new("salvage"));
    for number in 1..=MOST_RESTORED {
        let mut name = stem.to_owned();
        if number > 1 {
            name.push(format!("-{number}"));
        }
        let place = folder.join(name);
        match fs::create_dir(&place) {
            Ok(()) => return Ok(place),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(failed("make", &place)(why)),
        }
    }
    let why = io::Error::other(format!("{MOST_RESTORED} folders of this name are there; remove some"));
    Err(failed("make a folder in", &folder)(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_header_makes_a_patch_ours() {
        let id = "a".repeat(40);
        let whole = format!(
            "Salvage of w-1 (escalated-iter3), saved by countersign.\nbase {id}\ncommit {id}\ntree {id}\nmore\n"
        );
        let patch = parse(&whole, Path::new("x.patch")).unwrap();
        assert_eq!((patch.task.as_str(), patch.tag.as_str()), ("w-1", "escalated-iter3"));
        for broken in
            ["", "diff --git a/x b/x\n", &whole.replace("base ", "from "), &whole.replace(&id, "zz"), &whole[..80]]
        {
            assert_eq!(parse(broken, Path::new("x.patch")), None, "{broken}");
        }
    }
}
