//! What turned red once, by everything that it depends on.

use super::outside::Pointer;
use crate::floor::Inspection;
use crate::floor::lockfiles::LOCKFILES;
use crate::floor::tests_run::{TestCommand, identity};
use crate::host::digest::digest;
use crate::host::git::{Entry, Repo};
use crate::host::path::RepoPath;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Files beside the lockfiles that decide what is installed and what is run.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "Makefile",
    "go.mod",
    "go.work",
    "package.json",
    "pyproject.toml",
    "pytest.ini",
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
    "tox.ini",
];

/// Everything that decides whether a suite sees the claim. Where something points out of the room, also the changed files
/// themselves: what was shown for one file then says nothing about another.
pub(super) fn key(
    on: &Inspection<'_>,
    entries: &BTreeMap<RepoPath, Entry>,
    command: &TestCommand,
    pointers: &[Pointer],
    changed: &[RepoPath],
) -> String {
    let host = on.repo.host();
    let mut parts = vec![env!("CARGO_PKG_VERSION").to_owned(), command.command.clone(), command.root.to_string()];
    parts.extend(on.settings.tests.setup.iter().cloned());
    for (name, value) in host.env.for_child() {
        parts.push(format!("{}={}", name.display(), value.display()));
        if name == "PATH" {
            let words = command.command.split_whitespace();
            parts.extend(words.filter_map(|word| program(word, value.as_bytes())).filter_map(|path| identity(&path)));
        }
    }
    for folder in [&RepoPath::from(""), &command.root] {
        for name in LOCKFILES.iter().chain(MANIFESTS) {
            let slash = if folder.as_bytes().is_empty() { "" } else { "/" };
            let path = RepoPath::from_bytes([folder.as_bytes(), slash.as_bytes(), name.as_bytes()].concat());
            parts.extend(entries.get(&path).map(|entry| format!("{path} {}", entry.id)));
        }
    }
    parts.extend(pointers.iter().map(ToString::to_string));
    if !pointers.is_empty() {
        parts.extend(changed.iter().map(ToString::to_string));
        parts.push(on.claim.tree.as_str().to_owned());
    }
    digest(parts.join("\0").as_bytes())
}

/// The program that a word of a command line means, if it is one.
pub(super) fn program(word: &str, path: &[u8]) -> Option<PathBuf> {
    let word = word.trim_matches(['"', '\'']);
    if word.starts_with('/') {
        return Some(PathBuf::from(word)).filter(|file| file.is_file());
    }
    if word.is_empty() || word.contains('/') {
        return None;
    }
    let folders = path.split(|b| *b == b':').filter(|folder| folder.starts_with(b"/"));
    folders.map(|folder| Path::new(std::ffi::OsStr::from_bytes(folder)).join(word)).find(|file| file.is_file())
}

fn place(repo: &Repo, key: &str) -> PathBuf {
    repo.own_dir().join("canary").join(key)
}

/// Where the failure was planted that turned red.
pub(super) fn recall(repo: &Repo, key: &str) -> Option<String> {
    let text = fs::read_to_string(place(repo, key)).ok()?;
    let (first, rest) = text.split_once('\n')?;
    (first == key).then(|| rest.trim_end().to_owned())
}

/// Remembers it. What cannot be written is tried again next time.
pub(super) fn remember(repo: &Repo, key: &str, files: &str) {
    let place = place(repo, key);
    let Some(folder) = place.parent() else { return };
    let written = fs::create_dir_all(folder).and_then(|()| {
        let file = tempfile::Builder::new().prefix("new-").tempfile_in(folder)?;
        fs::write(file.path(), format!("{key}\n{files}\n"))?;
        file.persist(&place).map_err(|why| why.error)
    });
    drop(written);
}
