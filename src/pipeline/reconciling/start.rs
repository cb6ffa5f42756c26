//! Which transcript, and what the work is measured against.

use super::{ReconcileRequest, SessionStart, VerifyError};
use crate::agent::transcript::{Found, Transcript, find_kept, transcript_folders};
use crate::host::Host;
use crate::host::git::Repo;
use crate::host::path::escape;
use std::path::PathBuf;

/// The file that was named, or the session's.
pub(super) fn transcript_of(request: &ReconcileRequest, host: &Host) -> Result<Option<PathBuf>, VerifyError> {
    let Some(id) = &request.session else {
        return Ok(request.transcript.as_ref().map(|file| request.start.join(file)));
    };
    let refused = |why: String| VerifyError::NoSuchSession { id: escape(id.as_bytes()), why };
    match find_kept(&host.env, id)? {
        Found::One(file) => Ok(Some(file)),
        Found::Nothing => {
            let folders = transcript_folders(&host.env);
            let places: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            Err(refused(format!("no transcript of it lies in {}", places.join(", "))))
        }
        Found::Several(files) => {
            let names: Vec<String> = files.iter().take(5).map(|file| file.display().to_string()).collect();
            Err(refused(format!("{} transcripts fit: {}", files.len(), names.join(", "))))
        }
    }
}

/// The revision to measure against and the rule that chose it; nothing leaves it to the rules for a base.
///
/// A session is measured from where HEAD was when it began: what it committed since is its work, also on the default
/// branch, where a merge-base would hide it.
pub(super) fn since(
    request: &ReconcileRequest,
    host: &Host,
    (transcript, recorded): (Option<&Transcript>, Option<&SessionStart>),
) -> Result<Option<(String, String)>, VerifyError> {
    if let Some(rev) = &request.since {
        return Ok(Some((rev.clone(), format!("named: {}", escape(rev.as_bytes())))));
    }
    let repo = Repo::discover(host, &request.start)?;
    if let Some(head) = recorded.and_then(|recorded| recorded.head.as_ref())
        && repo.resolve(head.as_str())?.is_some()
    {
        return Ok(Some((head.to_string(), "where HEAD was when the session began, by its hook".to_owned())));
    }
    let Some(began) = transcript.and_then(|transcript| transcript.began) else { return Ok(None) };
    let log = repo.git().run_unchecked(["reflog", "show", "--date=unix", "--format=%H%x00%gd", "HEAD", "--"])?;
    let text = String::from_utf8_lossy(&log.stdout).into_owned();
    // Newest first: the first entry that is not newer than the session.
    let before = text.lines().find_map(|line| {
        let (id, at) = line.split_once('\0')?;
        let at: i64 = at.rsplit_once("@{")?.1.strip_suffix('}')?.parse().ok()?;
        (at.saturating_mul(1000) <= began).then(|| id.to_owned())
    });
    Ok(before.map(|id| (id, "where HEAD was when the session began, by its reflog".to_owned())))
}
