//! The proof that the judge touched nothing: what is observed before it runs and again after.
//!
//! The box makes most changes impossible; this is the other half (invariant 6), and without a box the only one. The room
//! must be untouched, always. Of everything else a change is a trespass where the box was open, and a bystander's where it
//! was closed (RULINGS 6). Changes are seen by state, not by content alone: kind, mode, size, inode and times of each
//! file, so that writing something and putting it back is seen as well.

mod files;

use crate::host::digest::digest;
use crate::host::git::{GitError, Repo};
use crate::host::path::escape;
use files::{Manifest, digests, manifest, manifest_of_checkout};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// At most this many differences are named; the rest is counted.
const MOST_NAMED: usize = 50;

/// What to watch.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The room in which the judge works.
    pub room: &'a Path,
    /// The case: its own refs must not move, those of other cases may.
    pub case: &'a str,
    /// More files that nobody may change meanwhile (the running ledger).
    pub also: &'a [PathBuf],
}

/// Everything as it was.
#[derive(Debug)]
pub struct Watch {
    room: Manifest,
    around: BTreeMap<String, String>,
}

/// What is different afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trespasses {
    /// Changes that void the verdict, in words.
    pub trespasses: Vec<String>,
    /// Changes that the judge cannot have made, in words.
    pub bystanders: Vec<String>,
}

impl Watch {
    /// Observes everything before the judge runs: three git processes, and one walk of room and worktree.
    ///
    /// # Errors
    /// Git fails.
    pub fn before(watched: &Watched<'_>) -> Result<Self, GitError> {
        Ok(Self { room: room(watched.room), around: around(watched)? })
    }

    /// Observes it again. `confined` is whether the box really was closed. What cannot be observed any more is a trespass.
    pub fn after(self, watched: &Watched<'_>, confined: bool) -> Trespasses {
        let mut found = Trespasses {
            trespasses: differences(&self.room, &room(watched.room), "in the room: "),
            bystanders: Vec::new(),
        };
        match around(watched) {
            Err(why) => found.trespasses.push(format!("the repository cannot be observed any more: {why}")),
            Ok(now) => {
                let list = if confined { &mut found.bystanders } else { &mut found.trespasses };
                list.extend(differences(&self.around, &now, ""));
            }
        }
        found
    }
}

/// A room is a linked worktree. In a main checkout the git folder lies inside, and there our own logs are written.
fn room(path: &Path) -> Manifest {
    if path.join(".git").is_dir() { manifest_of_checkout(path) } else { manifest(path) }
}

fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>, place: &str) -> Vec<String> {
    let gone = before.keys().filter(|what| !after.contains_key(*what)).map(|what| format!("{place}{what} is gone"));
    let others = after.iter().filter_map(|(what, now)| match before.get(what) {
        None => Some(format!("{place}{what} is new")),
        Some(then) if then != now => Some(format!("{place}{what} changed")),
        Some(_) => None,
    });
    let mut found: Vec<String> = gone.chain(others).collect();
    found.sort();
    if found.len() > MOST_NAMED {
        let rest = found.len() - MOST_NAMED;
        found.truncate(MOST_NAMED);
        found.push(format!("{place}{rest} more changes"));
    }
    found
}

fn around(watched: &Watched<'_>) -> Result<BTreeMap<String, String>, GitError> {
    let repo = watched.repo;
    let mut state = BTreeMap::new();
    refs(repo, watched.case, &mut state)?;
    heads(repo, watched.room, &mut state)?;
    let staged = repo.git().run(["ls-files", "--stage", "-z"])?;
    state.insert(format!("the index of {}", shown(repo.top())), digest(&staged.stdout));
    let common = repo.common_dir();
    for name in ["config", "config.worktree", "shallow", "logs/refs/stash", "info", "hooks", "objects/info"] {
        digests(&common.join(name), &format!("{name} of the repository"), &mut state);
    }
    if repo.git_dir() != common {
        digests(&repo.git_dir().join("config.worktree"), "config.worktree of the worktree", &mut state);
    }
    for path in watched.also {
        digests(path, &shown(path), &mut state);
    }
    // The main worktree is the user's, also where a worker's is judged.
    let main = common.parent().filter(|_| common.ends_with(".git")).filter(|main| *main != repo.top());
    for top in [Some(repo.top()), main].into_iter().flatten().filter(|top| *top != watched.room) {
        let place = format!("in {}: ", shown(top));
        state.extend(manifest_of_checkout(top).into_iter().map(|(what, how)| (format!("{place}{what}"), how)));
    }
    Ok(state)
}

fn refs(repo: &Repo, case: &str, state: &mut BTreeMap<String, String>) -> Result<(), GitError> {
    let listed = repo.git().run(["for-each-ref", "--format=%(refname)%00%(objectname) %(symref)"])?;
    for line in listed.stdout.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let at = line.iter().position(|b| *b == 0).unwrap_or(line.len());
        let (name, value) = line.split_at(at);
        if is_of_another_case(name, case) {
            continue;
        }
        state.insert(format!("reference {}", escape(name)), escape(value));
    }
    Ok(())
}

/// Our own references move whenever another task is judged meanwhile.
fn is_of_another_case(name: &[u8], case: &str) -> bool {
    let Some(own) = name.strip_prefix(b"refs/countersign/") else { return false };
    let case = case.as_bytes();
    let mine = |kind: &[u8]| {
        let rest = own.strip_prefix(kind).and_then(|rest| rest.strip_prefix(case));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    case.is_empty() || !(mine(b"claims/") || mine(b"cases/"))
}

/// What each worktree has checked out. Rooms of other runs come and go; ours stays.
fn heads(repo: &Repo, room: &Path, state: &mut BTreeMap<String, String>) -> Result<(), GitError> {
    let listed = repo.worktrees()?;
    let mut place = None;
    for field in listed.split(|b| *b == 0) {
        if let Some(path) = field.strip_prefix(b"worktree ") {
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
            let pooled = path.starts_with(repo.own_dir()) || path.starts_with(&repo.host().scratch);
            let watched = !pooled || path == room || path == repo.top();
            place = watched.then(|| format!("HEAD of {}", shown(&path)));
        } else if let Some(place) = &place
            && (field.starts_with(b"HEAD ") || field.starts_with(b"branch ") || field == b"detached")
        {
            let value: &mut String = state.entry(place.clone()).or_default();
            value.push_str(&escape(field));
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests;
