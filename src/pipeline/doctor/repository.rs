//! What kind of repository this is, and which of our two hands reads it.

use super::{Condition, Observation};
use crate::host::git::{GitError, ObjectFormat, Repo};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) fn look(repo: &Repo) -> Observation {
    match features(repo) {
        Ok(features) => {
            let text = format!("{}: {}", repo.top().display(), features.join(", "));
            Observation::new("repository", Condition::Good, true, text)
        }
        Err(why) => Observation::new("repository", Condition::Missing, true, why.to_string()),
    }
}

fn features(repo: &Repo) -> Result<Vec<String>, GitError> {
    let objects = match repo.object_format() {
        ObjectFormat::Sha1 => "SHA-1 objects",
        ObjectFormat::Sha256 => "SHA-256 objects",
    };
    let storage = setting(repo, "extensions.refStorage")?.unwrap_or_else(|| "files".to_owned());
    let mut features = vec![
        objects.to_owned(),
        format!("references in {storage}"),
        format!("history read by {}", repo.graph_reader()),
    ];
    if repo.is_shallow() {
        features.push("shallow (a base outside it cannot be judged)".to_owned());
    }
    if setting(repo, "core.sparseCheckout")?.as_deref() == Some("true") {
        features.push("sparse checkout".to_owned());
    }
    // Git names a shared part whenever one may be split; only one that is there has been.
    let shared = repo.git().run(["-c", "core.splitIndex=true", "rev-parse", "--shared-index-path"])?;
    let shared = Path::new(OsStr::from_bytes(shared.trim_end_newline()));
    if !shared.as_os_str().is_empty() && repo.top().join(shared).is_file() {
        features.push("split index".to_owned());
    }
    let listed = repo.worktrees()?;
    let count = |word: &[u8]| listed.split(|byte| *byte == 0).filter(|line| line.starts_with(word)).count();
    features.push(match count(b"worktree ") {
        1 => "one worktree".to_owned(),
        more => format!("{more} worktrees"),
    });
    if count(b"prunable") > 0 {
        features.push(format!("{} of them with a folder that is not there", count(b"prunable")));
    }
    Ok(features)
}

/// One value of git's configuration; none if it is not set.
fn setting(repo: &Repo, name: &str) -> Result<Option<String>, GitError> {
    let output = repo.git().run_unchecked(["config", "--get", name])?;
    Ok(output.success().then(|| output.line()).filter(|value| !value.is_empty()))
}
