//! The moment a session begins: where HEAD and the remotes are is written down, before an agent can change it.
//!
//! The first record of a session stands. A host asks again when it resumes or shortens a session, and an agent may run the
//! same command: neither can replace what was true at the start.

use super::VerifyError;
use super::reconciling::session_file;
use crate::claim::witness::{Url, urls};
use crate::host::Host;
use crate::host::git::Repo;
use crate::host::ids::CommitId;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

/// A larger file is not ours.
const LARGEST: u64 = 1 << 20;

/// What was there when a session began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SessionStart {
    /// Where HEAD was; none on an unborn branch.
    pub head: Option<CommitId>,
    /// The addresses of the remotes.
    pub remotes: Vec<Url>,
}

/// Writes down what is there now as the session's start, unless that was done before. True if this call did it.
///
/// # Errors
/// The folder is in no repository, git fails, or the record cannot be written.
pub fn begin(start: &Path, session: &str, host: &Host) -> Result<bool, VerifyError> {
    let repo = Repo::discover(host, start)?;
    let record = SessionStart { head: repo.resolve("HEAD")?, remotes: urls(&repo)? };
    let path = session_file(&repo, session, "start");
    let failed = |why| VerifyError::Io { doing: "record the session's start in", path: path.clone(), why };
    let folder = path.parent().unwrap_or(&path).to_owned();
    fs::create_dir_all(&folder).map_err(failed)?;
    let text = serde_json::to_vec(&record).map_err(|why| failed(why.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    file.write_all(&text).map_err(failed)?;
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(true),
        Err(why) if why.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(why) => Err(failed(why.error)),
    }
}

/// What was written down of a session's start; nothing if no hook did.
///
/// # Errors
/// The record is there and cannot be read. It is never taken for none: then a changed address would be believed.
pub(super) fn started(repo: &Repo, session: &str) -> Result<Option<SessionStart>, VerifyError> {
    let path = session_file(repo, session, "start");
    let failed = |why| VerifyError::Io { doing: "read the session's start in", path: path.clone(), why };
    let odd = |why: String| failed(std::io::Error::other(format!("{why}; move it away")));
    match fs::symlink_metadata(&path) {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(why)),
        Ok(found) if !found.is_file() || found.len() > LARGEST => {
            return Err(odd("it is no record of a session's start".to_owned()));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    fs::File::open(&path).map_err(failed)?.take(LARGEST).read_to_end(&mut bytes).map_err(failed)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|why| odd(why.to_string()))
}
