//! Folders that a set-up fills, kept for later rooms.
//!
//! They are stored under a digest of everything that a set-up reads, only from rooms of the *base*, only after a set-up
//! that succeeded and before any test ran; and they are copied, never linked. So no claim can leave anything in them for
//! another: one that changes a lockfile or a manifest has another key, finds nothing, and stores nothing.

use super::setup::Step;
use super::{Side, Site};
use crate::config::TestSettings;
use crate::host::digest::hex;
use crate::host::path::{RepoPath, escape};
use crate::host::room;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files that a set-up reads, at the top of the tree or in the folder it runs in.
const READ: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "package.json",
    ".npmrc",
    "yarn.lock",
    ".yarnrc.yml",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "bun.lock",
    "Cargo.lock",
    "Cargo.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-test.txt",
    "constraints.txt",
    "poetry.lock",
    "uv.lock",
    "Pipfile.lock",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "go.mod",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "Makefile",
    "makefile",
    "justfile",
    ".tool-versions",
    ".nvmrc",
    ".python-version",
    "rust-toolchain.toml",
];
/// At most this many stored set-ups of one repository are kept.
const MOST: usize = 6;

/// What is kept for one room.
pub(super) struct Caches {
    folder: PathBuf,
    places: Vec<PathBuf>,
    stores: bool,
}

impl Caches {
    /// What these steps fill; none if nothing is to be kept or the room cannot be read.
    ///
    /// # Errors
    /// A declared folder that does not lie in the tree, in words.
    pub(super) fn of(site: &Site<'_>, settings: &TestSettings, steps: &[Step]) -> Result<Option<Self>, String> {
        let top = site.room().path();
        let mut places = Vec::new();
        for folder in &settings.caches {
            let path = RepoPath::from(folder.trim_end_matches('/'));
            if !path.is_safe() {
                let shown = escape(folder.as_bytes());
                return Err(format!("`tests.caches: {shown}` is not a folder below the top of the tree"));
            }
            places.push(top.join(path.to_path_buf()));
        }
        places.extend(steps.iter().filter_map(|step| step.fills.as_ref()).map(|path| top.join(path.to_path_buf())));
        places.sort();
        places.dedup();
        if places.is_empty() || steps.is_empty() {
            return Ok(None);
        }
        // What the tree itself holds there is the claim's, not a set-up's.
        if places.iter().any(|place| fs::symlink_metadata(place).is_ok()) {
            return Ok(None);
        }
        let Ok(key) = key(site, steps, &places) else { return Ok(None) };
        let folder = room::pool(site.repo()).join("caches").join(key);
        Ok(Some(Self { folder, places, stores: site.side() == Side::Base }))
    }

    /// Copies what is stored into the room; false if nothing is.
    pub(super) fn restore(&self) -> bool {
        if !self.folder.join("whole").is_file() {
            return false;
        }
        let copied = self.places.iter().enumerate().try_for_each(|(at, place)| {
            let stored = self.folder.join(at.to_string());
            if fs::symlink_metadata(&stored).is_err() {
                return Ok(());
            }
            if let Some(parent) = place.parent() {
                fs::create_dir_all(parent)?;
            }
            copy(&stored, place)
        });
        if copied.is_err() {
            // The set-up then runs in a room as empty as it expects.
            for place in &self.places {
                fs::remove_dir_all(place).ok();
            }
        }
        copied.is_ok()
    }

    /// Stores what a set-up has just made, if this is a room of the base. What cannot be stored is made again next time.
    pub(super) fn store(&self) {
        if self.stores {
            self.try_store().ok();
        }
    }

    fn try_store(&self) -> io::Result<()> {
        let Some(all) = self.folder.parent() else { return Ok(()) };
        fs::create_dir_all(all)?;
        let fresh = tempfile::Builder::new().prefix("new-").tempdir_in(all)?;
        for (at, place) in self.places.iter().enumerate() {
            if fs::symlink_metadata(place).is_ok() {
                copy(place, &fresh.path().join(at.to_string()))?;
            }
        }
        fs::write(fresh.path().join("whole"), b"")?;
        // Somebody else may have been faster; theirs is as good.
        if fs::rename(fresh.path(), &self.folder).is_ok() {
            drop(fresh.keep());
        }
        thin_out(all)
    }
}

/// Removes the oldest where there are too many.
fn thin_out(all: &Path) -> io::Result<()> {
    let mut found = Vec::new();
    for entry in fs::read_dir(all)? {
        let entry = entry?;
        found.push((entry.metadata()?.modified()?, entry.path()));
    }
    found.sort();
    for (_, path) in found.iter().take(found.len().saturating_sub(MOST)) {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

/// A digest over the steps, the environment's toolchains, and every file that a set-up reads.
fn key(site: &Site<'_>, steps: &[Step], places: &[PathBuf]) -> io::Result<String> {
    let top = site.room().path();
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    for (name, value) in site.repo().host().env.for_child() {
        add(name.as_encoded_bytes());
        add(value.as_encoded_bytes());
    }
    for place in places {
        add(place.strip_prefix(top).unwrap_or(place).as_os_str().as_encoded_bytes());
    }
    for step in steps {
        add(step.command.as_bytes());
        let root = top.join(step.root.to_path_buf());
        // A script that the command names is part of the set-up.
        let words = step.command.split(|c: char| c.is_whitespace() || "\"';&|()=".contains(c));
        let words = words.filter(|word| RepoPath::from(word.trim_start_matches("./")).is_safe());
        for name in READ.iter().copied().chain(words) {
            for folder in [top, &root] {
                let path = folder.join(name);
                if fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
                    add(name.as_bytes());
                    add(&fs::read(&path)?);
                }
            }
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Copies a folder with its modes and links; anything that is neither file, folder nor link is an error.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry?;
        let target = to.join(entry.path().strip_prefix(from).map_err(io::Error::other)?);
        let kind = entry.file_type();
        if kind.is_dir() {
            fs::create_dir_all(&target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        } else {
            return Err(io::Error::other(format!("{} is no file", entry.path().display())));
        }
    }
    Ok(())
}
