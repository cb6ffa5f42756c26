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
        self.commit_in_name(tree, std::slice::from_ref(parent), at, message, signed)
    }

    /// The same with any parents, and always signed.
    ///
    /// # Errors
    /// No identity, no signature, or the object store is full or read-only.
    pub fn commit_signed(
        &self,
        tree: &TreeId,
        parents: &[CommitId],
        at: Timestamp,
        message: &str,
    ) -> Result<CommitId, GitError> {
        self.commit_in_name(tree, parents, at, message, true)
    }

    /// Whom git takes a commit's ssh signature to be by, of those that the text `allowed` (git's allowed-signers format)
    /// names; none if it is unsigned, signed otherwise, or by nobody of these.
    ///
    /// # Errors
    /// Git cannot be started, or the text cannot be put where it reads it.
    pub fn signer_of(&self, commit: &CommitId, allowed: &[u8]) -> Result<Option<String>, GitError> {
        let object = self.git().run(["cat-file", "commit", commit.as_str()])?.stdout;
        let head = object.windows(2).position(|two| two == b"\n\n").map_or(&object[..], |at| &object[..at]);
        // Another kind of signature is checked against a keyring, and no list of persons limits that.
        let kind = b"-----BEGIN SSH SIGNATURE-----";
        if !head.windows(kind.len()).any(|text| text == kind) {
            return Ok(None);
        }
        let own = self.own_dir();
        let failed = |why| GitError::Io { doing: "write into", path: own.clone(), why };
        std::fs::create_dir_all(&own).map_err(failed)?;
        let file = tempfile::NamedTempFile::with_prefix_in("signers-", &own).map_err(failed)?;
        std::fs::write(file.path(), allowed).map_err(failed)?;
        let signers = format!("gpg.ssh.allowedSignersFile={}", file.path().display());
        let words = ["-c", &signers, "-c", "gpg.ssh.program=ssh-keygen", "verify-commit", "--raw", commit.as_str()];
        let output = self.git().run_unchecked(words)?;
        if !output.success() {
            return Ok(None);
        }
        let said = output.said();
        let name = said.split_once(" signature for ").and_then(|(_, rest)| rest.split_once(" with "));
        Ok(Some(name.map_or_else(|| "somebody the base allows".to_owned(), |(name, _)| name.to_owned())))
    }

    fn commit_in_name(
        &self,
        tree: &TreeId,
        parents: &[CommitId],
        at: Timestamp,
        message: &str,
        signed: bool,
    ) -> Result<CommitId, GitError> {
        let date = format!("@{} +0000", at.0);
        let git = self.git().env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        let sign = if signed { "-S" } else { "--no-gpg-sign" };
        // A name that git guesses from the machine is nobody's.
        let mut words = vec!["-c", "user.useConfigOnly=true", "commit-tree", sign];
        words.extend(parents.iter().flat_map(|parent| ["-p", parent.as_str()]));
        words.push(tree.as_str());
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
