//! What is remembered of a session between two stops: one file a session, replaced as a whole.

use super::{StopRequest, VerifyError};
use crate::host::git::Repo;
use crate::pipeline::reconciling::session_file;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;

/// A larger file is not ours.
const LARGEST: u64 = 1 << 20;

/// How a stop was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopOutcome {
    /// Everything asserted is borne out.
    Verified,
    /// Nothing was asserted and nothing was changed.
    NothingToReconcile,
    /// A person has to look.
    NeedsReview,
    /// The agent was sent back.
    SentBack,
    /// It was allowed although it is not borne out, or although nobody could tell.
    Unverified,
}

/// What is remembered of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct StopState {
    /// The turn or prompt that is counted.
    pub turn: Option<String>,
    /// How often its end was refused.
    pub blocks: u32,
    /// How the last stop was answered; none if there was no stop.
    pub outcome: Option<StopOutcome>,
    /// With which words.
    pub why: String,
    /// The tree that was looked at, if one was.
    pub tree: Option<String>,
}

impl StopState {
    /// True if this stop ends another turn than the one that was counted: a person spoke meanwhile.
    ///
    /// The host's word that the agent only goes on after a refusal is believed; its absence is not, where the turn's own id
    /// says otherwise, so that no host can make the counting begin anew for ever.
    pub fn begins_anew(&self, request: &StopRequest) -> bool {
        if request.active || self.outcome.is_none() {
            return false;
        }
        match (&self.turn, &request.turn) {
            (Some(counted), Some(now)) => counted != now,
            _ => self.outcome != Some(StopOutcome::SentBack),
        }
    }
}

/// What is remembered; nothing if this is the session's first stop.
pub(super) fn load(repo: &Repo, session: &str) -> Result<Option<StopState>, VerifyError> {
    let path = session_file(repo, session, "stop");
    let failed = |why| VerifyError::Io { doing: "read the session's state", path: path.clone(), why };
    let odd = |why: String| failed(std::io::Error::other(format!("{why}; move it away")));
    match fs::symlink_metadata(&path) {
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(failed(why)),
        Ok(found) if !found.is_file() || found.len() > LARGEST => {
            return Err(odd("it is no state of a session".to_owned()));
        }
        Ok(_) => {}
    }
    serde_json::from_slice(&fs::read(&path).map_err(failed)?).map(Some).map_err(|why| odd(why.to_string()))
}

pub(super) fn keep(repo: &Repo, session: &str, state: &StopState) -> Result<(), VerifyError> {
    let path = session_file(repo, session, "stop");
    let failed = |why| VerifyError::Io { doing: "keep the session's state", path: path.clone(), why };
    let folder = path.parent().unwrap_or(&path).to_owned();
    fs::create_dir_all(&folder).map_err(failed)?;
    let text = serde_json::to_vec(state).map_err(|why| failed(why.into()))?;
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    file.write_all(&text).map_err(failed)?;
    file.persist(&path).map_err(|why| failed(why.error))?;
    Ok(())
}
