//! The state of files: by their metadata where there are many, by content where there are few.

use crate::host::digest::digest;
use crate::host::path::escape;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use walkdir::WalkDir;

/// A file's path and state.
pub(super) type Manifest = BTreeMap<String, String>;

/// Every file and folder below `top`, `top` included, with its metadata. The change time is set by the kernel alone, so no
/// write goes unseen.
pub(super) fn manifest(top: &Path) -> Manifest {
    collect(top, WalkDir::new(top).follow_links(false).into_iter())
}

/// The same for a checkout that others use: its own git folder and the repositories and worktrees inside it change
/// by themselves and are left out.
pub(super) fn manifest_of_checkout(top: &Path) -> Manifest {
    let walk = WalkDir::new(top).follow_links(false).into_iter().filter_entry(|entry| {
        let shared = entry.depth() == 1 && (entry.file_name() == ".git" || entry.file_name() == ".worktrees");
        let nested = entry.depth() > 0 && entry.file_type().is_dir() && entry.path().join(".git").exists();
        !(shared || nested)
    });
    collect(top, walk)
}

fn collect(top: &Path, walk: impl Iterator<Item = walkdir::Result<walkdir::DirEntry>>) -> Manifest {
    let mut found = Manifest::new();
    for entry in walk {
        let (name, state) = match entry {
            Ok(entry) => {
                let path = entry.path().strip_prefix(top).unwrap_or(entry.path());
                let name = if path.as_os_str().is_empty() { "the folder".to_owned() } else { shown(path) };
                let read = entry.path().symlink_metadata();
                (name, read.map_or_else(|why| format!("unreadable: {why}"), |meta| state(&meta)))
            }
            Err(why) => (why.path().map_or_else(|| "the folder".to_owned(), shown), format!("unreadable: {why}")),
        };
        found.insert(name, state);
    }
    found
}

fn state(meta: &std::fs::Metadata) -> String {
    format!(
        "{:o} {} {} {}.{} {}.{}",
        meta.mode(),
        meta.ino(),
        meta.len(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec()
    )
}

/// The content and mode of a file, or of every file below a folder. What is absent is not listed.
pub(super) fn digests(path: &Path, name: &str, into: &mut BTreeMap<String, String>) {
    for entry in WalkDir::new(path).follow_links(false).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(why)
                if why.depth() == 0 && why.io_error().is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound) =>
            {
                continue;
            }
            Err(why) => {
                into.insert(name.to_owned(), format!("unreadable: {why}"));
                continue;
            }
        };
        if entry.file_type().is_dir() {
            continue;
        }
        let inner = entry.path().strip_prefix(path).unwrap_or(entry.path());
        let name = if inner.as_os_str().is_empty() { name.to_owned() } else { format!("{name}: {}", shown(inner)) };
        into.insert(name, content(entry.path()));
    }
}

fn content(path: &Path) -> String {
    let read = path.symlink_metadata().and_then(|meta| {
        let bytes = if meta.is_symlink() {
            let target = std::fs::read_link(path)?;
            // A link to a file outside is as good as that file.
            let mut bytes = target.as_os_str().as_bytes().to_vec();
            bytes.extend(std::fs::read(path).unwrap_or_default());
            bytes
        } else if meta.is_file() {
            std::fs::read(path)?
        } else {
            Vec::new()
        };
        Ok(format!("{:o} {}", meta.mode(), digest(&bytes)))
    });
    read.unwrap_or_else(|why| format!("unreadable: {why}"))
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}
