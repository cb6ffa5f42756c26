//! Where a session's repair is counted: one file a session, replaced as a whole.

use super::VerifyError;
use crate::host::digest::digest;
use crate::host::git::Repo;
use crate::receipts::Repair;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

/// A larger file is not ours.
const LARGEST: u64 = 4 << 20;

/// `<common dir>/countersign/sessions/<digest of the id>.<what>.json`: the id is a stranger's word and no file's name.
pub(in crate::pipeline) fn session_file(repo: &Repo, session: &str, what: &str) -> PathBuf {
    let name = &digest(session.as_bytes())[..32];
    repo.own_dir().join("sessions").join(format!("{name}.{what}.json"))
}

fn file_of(repo: &Repo, session: &str) -> PathBuf {
    session_file(repo, session, "repair")
}

/// Begins the counting anew: a person spoke, so what follows is another claim.
pub(in crate::pipeline) fn forget_repair(repo: &Repo, session: &str) -> Result<(), VerifyError> {
    let path = file_of(repo, session);
    match fs::remove_file(&path) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
            Err(VerifyError::Io { doing: "remove the repair state", path, why })
        }
        _ => Ok(()),
    }
}

/// What the last reconciliation of this session left; nothing if it was the first.
///
/// # Errors
/// The file is there and cannot be read. It is never taken for none: that would give a worker new cycles.
pub fn last_repair(repo: &Repo, session: &str) -> Result<Option<Repair>, VerifyError> {
    let path = file_of(repo, session);
    let failed = |why| VerifyError::Io { doing: "read the repair state", path: path.clone(), why };
    match fs::symlink_metadata(&path) {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(why)),
        Ok(found) if !found.is_file() || found.len() > LARGEST => {
            return Err(failed(std::io::Error::other("it is no state of a repair; move it away")));
        }
        Ok(_) => {}
    }
    let bytes = fs::read(&path).map_err(failed)?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|why| failed(std::io::Error::other(format!("{why}; move it away"))))
}

/// Keeps the state of a session's repair, by one rename.
///
/// # Errors
/// The folder cannot be written.
pub fn keep_repair(repo: &Repo, session: &str, state: &Repair) -> Result<(), VerifyError> {
    let path = file_of(repo, session);
    let failed = |why| VerifyError::Io { doing: "keep the repair state", path: path.clone(), why };
    let folder = path.parent().unwrap_or(&path).to_owned();
    fs::create_dir_all(&folder).map_err(failed)?;
    let text = serde_json::to_vec(state).map_err(|why| failed(why.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(&path).map_err(|why| failed(why.error))?;
    Ok(())
}
