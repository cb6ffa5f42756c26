//! What the conductor and the box helper say to each other over one socket.
//!
//! Down: one line of JSON (an [`Order`]), then exactly the announced bytes of the child's standard input, then control
//! words, one a line. The end of the stream means that the conductor is gone. Up: one line of JSON (an [`Answer`]).

use super::{Level, Network, Profile, Role};
use crate::host::process::Launch;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// Ask the child's tree to end: TERM, the order's grace, then KILL.
pub(in crate::host) const TERM: &str = "term";
/// End the child's tree now.
pub(in crate::host) const KILL: &str = "kill";

/// Any bytes as JSON text, one character a byte: arguments and paths need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Bytes(Vec<u8>);

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        bytes.0.iter().map(|byte| char::from(*byte)).collect()
    }
}

impl TryFrom<String> for Bytes {
    type Error = std::char::TryFromCharError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.chars().map(u8::try_from).collect::<Result<_, _>>().map(Self)
    }
}

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Bytes {
    pub(super) fn into_os(self) -> OsString {
        OsString::from_vec(self.0)
    }
}

/// What the helper is to run, and within which box.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(in crate::host) struct Order {
    /// Commands, each started where the one before it succeeded; the first one gets the input.
    pub(super) commands: Vec<Vec<Bytes>>,
    pub(super) cwd: Bytes,
    pub(super) env: Vec<(Bytes, Bytes)>,
    pub(super) stdin: u64,
    grace_ms: u64,
    write: Vec<Bytes>,
    network: Network,
    role: Role,
    confined: bool,
    read_only_metadata: bool,
    shared_memory: bool,
}

impl Order {
    /// The order for a launch and what follows it, with this network instead of the profile's.
    pub(in crate::host) fn of(launch: &Launch, next: &[Vec<OsString>], network: Network) -> Self {
        let profile = &launch.profile;
        let words = |argv: &Vec<OsString>| argv.iter().map(|arg| Bytes::from(arg.as_os_str())).collect();
        Self {
            commands: std::iter::once(&launch.argv).chain(next).map(words).collect(),
            cwd: launch.cwd.as_os_str().into(),
            env: launch.env.iter().map(|(k, v)| (k.as_os_str().into(), v.as_os_str().into())).collect(),
            stdin: launch.stdin.len() as u64,
            grace_ms: u64::try_from(launch.limits.grace.as_millis()).unwrap_or(u64::MAX),
            write: profile.write.iter().map(|path| Bytes::from(path.as_os_str())).collect(),
            network,
            role: profile.role,
            confined: profile.confined,
            read_only_metadata: profile.read_only_metadata,
            shared_memory: profile.shared_memory,
        }
    }

    pub(super) fn profile(&self) -> Profile {
        Profile {
            write: self.write.iter().map(|path| PathBuf::from(path.clone().into_os())).collect(),
            network: self.network,
            role: self.role,
            confined: self.confined,
            read_only_metadata: self.read_only_metadata,
            shared_memory: self.shared_memory,
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn wants_loopback(&self) -> bool {
        self.confined && self.network == Network::Loopback
    }

    pub(super) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

/// How it went.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::host) enum Answer {
    /// The child of this turn (from 0) was the last one; its tree is gone, but for `left` processes that could not be
    /// ended.
    Ended { turn: usize, code: Option<i32>, signal: Option<i32>, strays: u32, left: u32, level: Level },
    /// The child of this turn was not started.
    NotStarted { turn: usize, why: String },
    /// A network of its own is impossible here; nothing was started. The conductor decides what now.
    NoLoopback { why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_travel_as_json_text() {
        let bytes = Bytes((0..=255).collect());
        let json = serde_json::to_string(&bytes).unwrap();
        assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap(), bytes);
        assert!(!json.contains('\n'));
        assert!(serde_json::from_str::<Bytes>("\"\u{100}\"").is_err());
    }
}
