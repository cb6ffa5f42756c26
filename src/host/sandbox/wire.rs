//! What the conductor and the box helper say to each other over one socket.
//!
//! Down: one line of JSON (an [`Order`]), then exactly the announced bytes of the child's standard input, then control
//! words, one a line. The end of the stream means that the conductor is gone. Up: one line of JSON (an [`Answer`]), and
//! before it, if sockets were ordered, one that says where they listen ([`Answer::Listening`]), which carries them.

use super::gateway::Plan;
use super::hidden::Hidden;
use super::{Level, Network, Profile, Role};
use crate::host::process::Launch;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
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
#[expect(clippy::struct_excessive_bools, reason = "those of a profile, on their way")]
pub(in crate::host) struct Order {
    /// Commands, each started where the one before it succeeded; the first one gets the input.
    pub(super) commands: Vec<Vec<Bytes>>,
    pub(super) cwd: Bytes,
    pub(super) env: Vec<(Bytes, Bytes)>,
    pub(super) stdin: u64,
    grace_ms: u64,
    write: Vec<Bytes>,
    network: Network,
    /// Where to listen inside the child's network; the first must not be missing.
    pub(super) listen: Vec<SocketAddr>,
    role: Role,
    confined: bool,
    read_only_metadata: bool,
    unix_sockets: bool,
    shared_memory: bool,
    pub(super) hidden: Hidden,
}

impl Order {
    /// The order for a launch and what follows it, with this network instead of the profile's and, for a listed one,
    /// this plan.
    pub(in crate::host) fn of(
        (launch, next): (&Launch, &[Vec<OsString>]),
        hidden: &Hidden,
        network: Network,
        plan: Option<&Plan>,
    ) -> Self {
        let profile = &launch.profile;
        let words = |argv: &Vec<OsString>| argv.iter().map(|arg| Bytes::from(arg.as_os_str())).collect();
        Self {
            commands: std::iter::once(&launch.argv).chain(next).map(words).collect(),
            cwd: launch.cwd.as_os_str().into(),
            env: environment(&launch.env, plan),
            stdin: launch.stdin.len() as u64,
            grace_ms: u64::try_from(launch.limits.grace.as_millis()).unwrap_or(u64::MAX),
            write: profile.write.iter().map(|path| Bytes::from(path.as_os_str())).collect(),
            network,
            listen: plan.map(Plan::listen).unwrap_or_default(),
            role: profile.role,
            confined: profile.confined,
            read_only_metadata: profile.read_only_metadata,
            unix_sockets: profile.unix_sockets,
            shared_memory: profile.shared_memory,
            hidden: hidden.clone(),
        }
    }

    pub(super) fn profile(&self) -> Profile {
        Profile {
            write: self.write.iter().map(|path| PathBuf::from(path.clone().into_os())).collect(),
            network: self.network,
            hosts: Vec::new(),
            role: self.role,
            confined: self.confined,
            read_only_metadata: self.read_only_metadata,
            unix_sockets: self.unix_sockets,
            shared_memory: self.shared_memory,
        }
    }

    /// True if other programs' sockets must be covered: it may make unix sockets itself.
    #[cfg(target_os = "linux")]
    pub(super) fn wants_cover(&self) -> bool {
        self.confined && self.unix_sockets
    }

    #[cfg(target_os = "linux")]
    pub(super) fn wants_own_network(&self) -> bool {
        self.confined && matches!(self.network, Network::Loopback | Network::Listed)
    }

    pub(super) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

/// The child's own variables, those of the plan on top.
fn environment(env: &[(OsString, OsString)], plan: Option<&Plan>) -> Vec<(Bytes, Bytes)> {
    let ours = plan.map(Plan::environment).unwrap_or_default();
    let theirs = env.iter().filter(|(name, _)| !ours.iter().any(|(own, _)| own == name));
    theirs.chain(&ours).map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into())).collect()
}

/// How it went.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::host) enum Answer {
    /// The child of this turn (from 0) was the last one; its tree is gone, but for `left` processes that could not be
    /// ended.
    Ended { turn: usize, code: Option<i32>, signal: Option<i32>, strays: u32, left: u32, level: Level },
    /// The child starts now; the sockets that listen at these places travel with this line. Not the last line.
    Listening { at: Vec<SocketAddr> },
    /// The child of this turn was not started.
    NotStarted { turn: usize, why: String },
    /// A network of its own is impossible here; nothing was started. The conductor decides what now.
    NoNetwork { why: String },
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
