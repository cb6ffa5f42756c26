//! A worker's session: one for each task and provider, found again at the next dispatch.
//!
//! What is kept here is who the session is, nothing that was said in it. (The program keeps its own record of a session
//! in the private home beside this file; without it nothing could be resumed.)

use super::choice::{Agent, AgentKind};
use super::home::of_program;
use super::told::clipped;
use crate::host::random::token;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The name of an identity's file.
const IDENTITY: &str = "session.json";

/// An identity has at most this many bytes.
const LARGEST: u64 = 16 << 10;

/// Where one worker's sessions with one task lie: `<common dir>/countersign/agents/<task>`.
#[derive(Debug, Clone)]
pub struct Sessions {
    folder: PathBuf,
}

/// Who a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Identity {
    /// The agent's name.
    pub(super) agent: String,
    /// The program's version when it began.
    pub(super) version: Option<String>,
    /// The model asked for.
    pub(super) model: Option<String>,
    /// The session.
    pub(super) session: String,
    /// How many turns it has had.
    pub(super) turns: u32,
    /// True if its program keeps no transcript that we can read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) without_transcript: bool,
}

impl Sessions {
    /// The sessions of this task; `own_dir` is the repository's `<common dir>/countersign`.
    ///
    /// # Errors
    /// The task's name cannot be the name of a folder.
    pub fn of(own_dir: &Path, task: &str) -> Result<Self, String> {
        Ok(Self { folder: own_dir.join("agents").join(folder_name(task)?) })
    }

    /// The folder of one provider: its private home and its identity.
    pub(super) fn of_agent(&self, agent: &Agent) -> Result<PathBuf, String> {
        Ok(self.folder.join(folder_name(&agent.name)?))
    }

    /// The session that can be resumed, if there is one: the same agent and the same model.
    pub(super) fn resumable(&self, agent: &Agent) -> Result<Option<Identity>, String> {
        let known = read(&self.of_agent(agent)?)?.map(|(known, _)| known);
        Ok(known.filter(|known| known.agent == agent.name && known.model == agent.model))
    }

    /// The session of the latest turn, whichever provider had it: its id, and the home that its program knows. None
    /// before the first turn that told who it was, and of a program that keeps no transcript we can read.
    pub fn latest(&self) -> Option<(String, PathBuf)> {
        let folders = fs::read_dir(&self.folder).ok()?.filter_map(Result::ok).map(|entry| entry.path());
        let kept = |folder: PathBuf| {
            let (known, at) = read(&folder).ok()??;
            Some((at, known.without_transcript, known.session, of_program(&kept_home(&folder))))
        };
        let latest = folders.filter_map(kept).max_by_key(|(at, ..)| *at);
        latest.filter(|(_, without, ..)| !without).map(|(_, _, session, home)| (session, home))
    }

    /// Where the home of this provider's sessions is kept.
    pub(super) fn home_of(&self, agent: &Agent) -> Result<PathBuf, String> {
        Ok(kept_home(&self.of_agent(agent)?))
    }

    /// Remembers a session after a turn.
    pub(super) fn remember(&self, agent: &Agent, session: &str, turns: u32) -> Result<(), String> {
        let folder = self.of_agent(agent)?;
        let identity = Identity {
            agent: agent.name.clone(),
            version: agent.located.as_ref().map(|found| found.version.clone()),
            model: agent.model.clone(),
            session: session.to_owned(),
            turns,
            without_transcript: matches!(agent.kind, AgentKind::Acp(_)),
        };
        let file = folder.join(IDENTITY);
        let bytes = serde_json::to_vec(&identity).map_err(|why| why.to_string())?;
        let kept = fs::create_dir_all(&folder).and_then(|()| {
            let mut fresh = tempfile::NamedTempFile::new_in(&folder)?;
            std::io::Write::write_all(&mut fresh, &bytes)?;
            fresh.persist(&file).map_err(|why| why.error).map(|_| ())
        });
        kept.map_err(|why| format!("cannot write {}: {why}", file.display()))
    }
}

/// The home that is kept in a provider's folder.
fn kept_home(folder: &Path) -> PathBuf {
    folder.join("home")
}

/// The identity in a provider's folder, and when it was written; none before the first turn.
fn read(folder: &Path) -> Result<Option<(Identity, SystemTime)>, String> {
    let file = folder.join(IDENTITY);
    let Ok(meta) = fs::symlink_metadata(&file) else { return Ok(None) };
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(format!("{} is no identity of a session", file.display()));
    }
    let unreadable = |why: &dyn std::fmt::Display| format!("cannot read {}: {why}", file.display());
    let bytes = fs::read(&file).map_err(|why| unreadable(&why))?;
    let known = serde_json::from_slice(&bytes).map_err(|why| unreadable(&why))?;
    Ok(Some((known, meta.modified().map_err(|why| unreadable(&why))?)))
}

/// A name that is safe as a folder's, and tells two names apart.
fn folder_name(name: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if (1..=80).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('.') {
        return Ok(name.to_owned());
    }
    if name.is_empty() {
        return Err("a session needs a task and an agent with a name".to_owned());
    }
    let digest = crate::host::digest::digest(name.as_bytes());
    let words: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(format!("{}~{}", clipped(&words, 30).trim_end_matches('…'), &digest[..16]))
}

/// A new session's name, as a UUID (version 4).
pub(super) fn uuid() -> Result<String, String> {
    let bits = token().map_err(|why| format!("the system has no randomness for a session's name: {why}"))?;
    let variant = match bits.as_bytes()[16] {
        b'0'..=b'3' => '8',
        b'4'..=b'7' => '9',
        b'8' | b'9' | b'a' | b'b' => 'a',
        _ => 'b',
    };
    Ok(format!("{}-{}-4{}-{variant}{}-{}", &bits[..8], &bits[8..12], &bits[13..16], &bits[17..20], &bits[20..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_is_a_uuid() {
        let (one, two) = (uuid().unwrap(), uuid().unwrap());
        assert_ne!(one, two);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{one}");
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }

    #[test]
    fn names_become_folders_that_stay_apart() {
        assert_eq!(folder_name("core-001").unwrap(), "core-001");
        let (one, two) = (folder_name("acp:x y").unwrap(), folder_name("acp:x/y").unwrap());
        assert_ne!(one, two);
        for name in [&one, &two, &folder_name("../..").unwrap(), &folder_name(".git").unwrap()] {
            assert!(!name.contains('/') && !name.starts_with('.'), "{name}");
        }
        assert!(folder_name("").is_err());
    }
}
