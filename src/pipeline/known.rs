//! Which sealed cases are this user's own judgements under a key: a case lies where a worker outside the box can write, and
//! one that somebody forged replays as well as an honest one.

use crate::host::digest::digest;
use crate::host::git::Repo;
use crate::host::ids::CommitId;
use crate::host::keepsake::Keepsake;
use std::fs;
use std::path::PathBuf;

fn place(repo: &Repo, key: &str, case: &CommitId) -> PathBuf {
    repo.own_dir().join("judged").join(digest(format!("{key}\n{case}").as_bytes()))
}

/// The commit's id stands for every byte of the case.
fn mark(repo: &Repo, key: &str, case: &CommitId) -> Option<String> {
    Keepsake::of(repo.host())?.mark(format!("judged\n{key}\n{case}").as_bytes())
}

/// Remembers that this user judged this, by a key that no child of ours can read. Where it cannot be remembered, the same
/// work is judged again.
pub(super) fn remember(repo: &Repo, key: &str, case: &CommitId) {
    let Some(mark) = mark(repo, key, case) else { return };
    let place = place(repo, key, case);
    let Some(folder) = place.parent() else { return };
    drop(fs::create_dir_all(folder).and_then(|()| fs::write(&place, mark)));
}

/// True if this user judged this.
pub(super) fn is_known(repo: &Repo, key: &str, case: &CommitId) -> bool {
    let wanted = mark(repo, key, case);
    let found = fs::read_to_string(place(repo, key, case)).ok();
    wanted.is_some() && wanted == found
}
