//! The patch: written beside its final place, proved by applying it, then given the event's name.

use super::{MOST_EVENTS, SALVAGE_FOLDER, SalvageError, SalvageTag, crowded, numbered};
use crate::host::git::Repo;
use crate::host::ids::{CommitId, TreeId};
use crate::task::TaskId;
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What stands above the patch; `git apply` skips it.
pub(super) struct Header<'a> {
    pub(super) task: &'a TaskId,
    pub(super) tag: SalvageTag,
    pub(super) base: &'a CommitId,
    pub(super) commit: &'a CommitId,
}

impl Header<'_> {
    fn text(&self, tree: &TreeId) -> String {
        let (task, tag, base, commit) = (self.task, self.tag, self.base, self.commit);
        format!(
            "Salvage of {task} ({tag}), saved by countersign.\nbase {base}\ncommit {commit}\ntree {tree}\n\
             To get the files back, in a checkout of the base: git apply --index <this file>\n\n"
        )
    }
}

/// Writes the patch into the salvage folder under a temporary name.
pub(super) fn draft(
    repo: &Repo,
    project: &Path,
    header: &Header<'_>,
    tree: &TreeId,
) -> Result<NamedTempFile, SalvageError> {
    let folder = folder(project)?;
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |why| SalvageError::Io { doing, path, why }
    };
    let mut file = NamedTempFile::with_prefix_in(".draft-", &folder).map_err(failed("write into", &folder))?;
    file.write_all(header.text(tree).as_bytes()).map_err(failed("write", file.path()))?;
    // Git writes a file of its own: a patch can be larger than what we hold in memory.
    let body = NamedTempFile::with_prefix_in(".body-", &folder).map_err(failed("write into", &folder))?;
    repo.write_patch(&repo.tree_of(header.base)?, tree, body.path())?;
    let mut from = File::open(body.path()).map_err(failed("read", body.path()))?;
    io::copy(&mut from, file.as_file_mut()).map_err(failed("write", file.path()))?;
    file.as_file().sync_all().map_err(failed("write", file.path()))?;
    Ok(file)
}

/// The folder, which git does not see.
fn folder(project: &Path) -> Result<PathBuf, SalvageError> {
    let folder = project.join(SALVAGE_FOLDER);
    let failed = |doing, path: PathBuf| move |why| SalvageError::Io { doing, path, why };
    fs::create_dir_all(&folder).map_err(failed("make", folder.clone()))?;
    let ignore = folder.join(".gitignore");
    match File::create_new(&ignore).and_then(|mut file| file.write_all(b"*\n")) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(failed("write", ignore)(why)),
        _ => Ok(folder),
    }
}

/// Applies the patch to the base and compares what comes out with the frozen tree.
pub(super) fn prove(
    repo: &Repo,
    draft: &NamedTempFile,
    base: &TreeId,
    wanted: &TreeId,
    reference: &str,
) -> Result<(), SalvageError> {
    let own = repo.own_dir();
    let failed = |why| SalvageError::Io { doing: "make a folder in", path: own.clone(), why };
    fs::create_dir_all(&own).map_err(failed)?;
    let scratch = tempfile::Builder::new().prefix("prove-").tempdir_in(&own).map_err(failed)?;
    let found = repo.tree_after_patch(base, draft.path(), &scratch.path().join("index"));
    let found = match found {
        Ok(tree) if tree == *wanted => return Ok(()),
        Ok(tree) => format!("it gives {tree}"),
        Err(why) => why.to_string(),
    };
    Err(SalvageError::NotExact {
        tree: repo.top().to_owned(),
        wanted: wanted.clone(),
        found,
        reference: reference.to_owned(),
    })
}

/// Gives the patch the first free name of its kind. One that is there with the very same bytes is this event's own, from
/// a run that died before it could say so.
pub(super) fn settle(
    mut draft: NamedTempFile,
    project: &Path,
    task: &TaskId,
    tag: SalvageTag,
) -> Result<PathBuf, SalvageError> {
    let folder = project.join(SALVAGE_FOLDER);
    for event in 1..=MOST_EVENTS {
        let place = folder.join(format!("{task}-{}.patch", numbered(tag, event)));
        match draft.persist_noclobber(&place) {
            Ok(_) => return Ok(place),
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => {
                draft = refused.file;
                if same(draft.path(), &place) {
                    return Ok(place);
                }
            }
            Err(refused) => return Err(SalvageError::Io { doing: "write", path: place, why: refused.error }),
        }
    }
    Err(crowded(task, tag, project))
}

/// True if two files have the same bytes. What cannot be read is not the same.
fn same(one: &Path, two: &Path) -> bool {
    let size = |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len());
    let open = |path: &Path| File::open(path).map(io::BufReader::new);
    let (Some(first), Some(second)) = (size(one), size(two)) else { return false };
    let (true, Ok(mut one), Ok(mut two)) = (first == second, open(one), open(two)) else { return false };
    loop {
        let used = match (one.fill_buf(), two.fill_buf()) {
            (Ok([]), Ok([])) => return true,
            (Ok(left), Ok(right)) => {
                let used = left.len().min(right.len());
                if used == 0 || left[..used] != right[..used] {
                    return false;
                }
                used
            }
            _ => return false,
        };
        one.consume(used);
        two.consume(used);
    }
}
