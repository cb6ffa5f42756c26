//! A commit in the user's name.

use super::{GitError, Repo};
use crate::host::clock::Timestamp;
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::escape;
use crate::host::process::{Ending, Launch, Limits, run_to_end};
use crate::host::sandbox::Profile;
use std::time::Duration;

/// How long git may take for one commit. A signing program may ask for a touch or a passphrase; nobody may be there.
const SIGNING_LIMIT: Duration = Duration::from_secs(120);

impl Repo {
    /// Stores a commit in the user's own name, signed if `commit.gpgSign` says so. The signing program is the user's; it
    /// runs outside every box and has a time limit. No reference moves.
    ///
    /// # Errors
    /// No identity, no signature, or the object store is full or read-only.
    pub fn commit_as_user(
        &self,
        tree: &TreeId,
        parent: &CommitId,
        at: Timestamp,
        message: &str,
    ) -> Result<CommitId, GitError> {
        let signed = self.git().run_unchecked(["config", "--type=bool", "--get", "commit.gpgSign"])?.line() == "true";
        let date = format!("{} +0000", at.0);
        let git = self.git().env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        let sign = if signed { "-S" } else { "--no-gpg-sign" };
        // A name that git guesses from the machine is nobody's.
        let words = ["-c", "user.useConfigOnly=true", "commit-tree", sign, "-p", parent.as_str(), tree.as_str()];
        let own = self.own_dir();
        let failed = |why| GitError::Io { doing: "make a folder in", path: own.clone(), why };
        std::fs::create_dir_all(&own).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("commit-").tempdir_in(&own).map_err(failed)?;
        let launch = Launch {
            argv: git.argv(words),
            cwd: self.top().to_owned(),
            env: git.environment(),
            stdin: message.as_bytes().to_vec(),
            log: folder.path().join("git.log"),
            capture: 1 << 10,
            limits: Limits { log_bytes: 64 << 10, ..Limits::within(SIGNING_LIMIT) },
            profile: Profile::snapshot(Vec::new()).unconfined(),
        };
        let ended = run_to_end(self.host(), &launch);
        if !ended.ending.is_success() {
            let said = std::fs::read(&ended.log.path).unwrap_or_default();
            let said = escape(said.get(said.len().saturating_sub(400)..).unwrap_or(&said)).replace("\\x0a", " ");
            let late = matches!(ended.ending, Ending::TimedOut { .. });
            let hint = if late && signed { " (does the signing program wait for somebody?)" } else { "" };
            return Err(GitError::Failed {
                command: format!("git commit-tree {sign} {}", tree.short()),
                ending: format!("{}{hint}", ended.ending.sentence()),
                tree: self.top().to_owned(),
                said: said.trim().to_owned(),
            });
        }
        let id = String::from_utf8_lossy(ended.stdout.trim_ascii()).into_owned();
        CommitId::new(&id)
            .map_err(|why| GitError::Unreadable { command: "git commit-tree".to_owned(), what: why.to_string() })
    }
}
