//! The box: what a child process may touch.
//!
//! A child never runs directly under us. We start our own binary again as `countersign __box` ([`box_main`]); that
//! helper confines itself, starts the child, and answers for the child's whole process tree (see [`super::process`]).
//! What the kernel really enforced comes back as a [`Level`] and belongs into the receipt: a box that could not be
//! closed is never passed over in silence.

#[cfg(target_os = "linux")]
mod cover;
mod endpoint;
pub(in crate::host) mod gateway;
pub(in crate::host) mod hidden;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod seccomp;
mod supervisor;
pub(in crate::host) mod tree;
pub(in crate::host) mod wire;

pub use endpoint::{Endpoint, NoEndpoint};
pub use gateway::Contact;
use hidden::Hidden;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// The first argument that turns our binary into the box helper.
pub const BOX_ARGUMENT: &str = "__box";

/// What a child may do. Reading and executing is allowed everywhere but where the user's keys and log-ins lie;
/// everything else is listed here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one question about a child, answered apart from the others")]
pub struct Profile {
    /// Folders (with all they contain) and files the child may write. Each must exist and must not be a symbolic link.
    pub write: Vec<PathBuf>,
    /// What the child may reach.
    pub network: Network,
    /// With [`Network::Listed`]: the places it may reach.
    pub hosts: Vec<Endpoint>,
    /// Whom the box is for.
    pub role: Role,
    /// False: run without a box. The level says so.
    pub confined: bool,
    /// Refuse changes of mode, owner and extended attributes everywhere, because Landlock does not cover them. Changes of
    /// times are not made either, but a verifier is not told.
    pub read_only_metadata: bool,
    /// False: it may make no unix sockets, so that it reaches nobody's (pairs of connected ones excepted).
    pub unix_sockets: bool,
    /// Let the child write all of `/dev/shm`; Python's `multiprocessing` needs it.
    pub shared_memory: bool,
}

/// What a child can reach over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Unix sockets only; not even 127.0.0.1.
    Off,
    /// A network of its own that holds nothing but 127.0.0.1 and `::1`.
    Loopback,
    /// As `loopback`, and through our proxy the places that are listed. They are resolved and reached from outside.
    Listed,
    /// Everything the machine can reach.
    Open,
}

/// Whom a box is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Test runs and set-up commands.
    Checks,
    /// The judge: reads, writes its scratch only.
    Verifier,
    /// The git that freezes a claim, together with the filters a worker may have planted.
    Snapshot,
    /// The agent program that does the work.
    Worker,
}

/// What was really enforced around a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one fact about the machine, found out apart from the others"
)]
pub struct Level {
    /// The Landlock version in force (at most the one this build asks for); absent without Landlock.
    pub landlock_abi: Option<i32>,
    /// True if writes outside the listed places are refused by the kernel.
    pub enforced: bool,
    /// True if the child cannot gain rights through set-user-id programs.
    pub no_new_privs: bool,
    /// True if the system call filter is in force.
    pub seccomp: bool,
    /// What the child could reach.
    pub network: Network,
    /// True if the user's keys and log-ins, where they lie by custom and by configuration, cannot be read.
    #[serde(default)]
    pub keys_hidden: bool,
    /// True if the sockets of the user's agents and services (ssh-agent, gpg-agent, docker) cannot be reached.
    #[serde(default)]
    pub agents_hidden: bool,
    /// Each way in which the box is weaker than asked, as sentences.
    pub why: Vec<String>,
}

/// What sets a child apart from the machine before anything is refused to it.
#[derive(Debug, Clone)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there is no box on this system yet"))]
struct Apart {
    /// Other programs' sockets are covered, or why they are not.
    covered: Result<(), String>,
    /// Its queues, semaphores and shared memory are its own and end with it; without, it gets none.
    own_ipc: bool,
}

impl Profile {
    /// A box for test runs: no network but its own loopback.
    pub fn checks(write: Vec<PathBuf>) -> Self {
        Self {
            write,
            network: Network::Loopback,
            hosts: Vec::new(),
            role: Role::Checks,
            confined: true,
            read_only_metadata: false,
            unix_sockets: true,
            shared_memory: false,
        }
    }

    /// A box for the judge: no network, no unix sockets, no change of metadata anywhere.
    pub fn verifier(write: Vec<PathBuf>) -> Self {
        Self {
            network: Network::Off,
            role: Role::Verifier,
            read_only_metadata: true,
            unix_sockets: false,
            ..Self::checks(write)
        }
    }

    /// A box for the git that freezes a claim: as the judge's.
    pub fn snapshot(write: Vec<PathBuf>) -> Self {
        Self { role: Role::Snapshot, ..Self::verifier(write) }
    }

    /// A box for the agent that does the work: it writes its worktree and its scratch. The repository's git directory,
    /// with the worktree's own part, stays read-only, so it can neither stage nor commit (RULINGS 5). A place for its
    /// report is added to `write` by the caller. It reaches nothing until [`Profile::reaching`] says what.
    pub fn worker(worktree: &Path, scratch: &Path) -> Self {
        Self { role: Role::Worker, ..Self::checks(vec![worktree.to_owned(), scratch.to_owned()]) }
    }

    /// The same with these places in the network: the model's endpoint and what the settings list. A listed port of
    /// `127.0.0.1`, `::1` or `localhost` is found inside at the same address, also by clients that know no proxy.
    #[must_use]
    pub fn reaching(self, hosts: Vec<Endpoint>) -> Self {
        Self { network: Network::Listed, hosts, ..self }
    }

    /// The same without a box: process limits only.
    #[must_use]
    pub fn unconfined(self) -> Self {
        Self { confined: false, network: Network::Open, hosts: Vec::new(), ..self }
    }
}

impl Level {
    /// Nothing is enforced, for this reason.
    pub fn none(why: impl Into<String>) -> Self {
        Self {
            landlock_abi: None,
            enforced: false,
            no_new_privs: false,
            seccomp: false,
            network: Network::Open,
            keys_hidden: false,
            agents_hidden: false,
            why: vec![why.into()],
        }
    }

    /// One line for people.
    pub fn sentence(&self) -> String {
        let files = match self.landlock_abi {
            Some(abi) if self.enforced => format!("writes confined (Landlock {abi})"),
            _ => "writes NOT confined".to_owned(),
        };
        let calls = if self.seccomp { "system calls filtered" } else { "system calls NOT filtered" };
        let mut line = format!("{files}, {calls}, network {}", self.network);
        for why in &self.why {
            line.push_str("; ");
            line.push_str(why);
        }
        line
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Loopback => "loopback",
            Self::Listed => "listed hosts only",
            Self::Open => "open",
        })
    }
}

/// The helper's whole life: reads one order from standard input, runs it, answers on the same socket.
///
/// The exit code is 0 if the order was answered (whatever the answer), 2 if there was no order. To be called by the
/// binary before anything else when its first argument is [`BOX_ARGUMENT`].
pub fn box_main() -> i32 {
    supervisor::serve()
}

/// Puts this thread, and so every process it starts from now on, into the box.
///
/// `covered` says whether other programs' sockets were covered before, or why not.
///
/// # Errors
/// A place to be made writable that is missing or not what it seems: the child must not start. What the kernel cannot
/// do is no error; it is said in the level.
#[cfg(target_os = "linux")]
fn confine(profile: &Profile, hidden: &Hidden, apart: Apart) -> Result<Level, String> {
    if !profile.confined {
        return Ok(Level::none("the sandbox is turned off"));
    }
    let mut level = Level {
        landlock_abi: None,
        enforced: false,
        no_new_privs: false,
        seccomp: false,
        network: profile.network,
        keys_hidden: false,
        agents_hidden: false,
        why: Vec::new(),
    };
    landlock::restrict(profile, hidden, &mut level)?;
    level.why.extend(privileges::drop_rights().err());
    seccomp::filter(profile, apart.own_ipc, &mut level);
    level.agents_hidden = !profile.unix_sockets && level.seccomp || apart.covered.is_ok();
    if let Err(why) = apart.covered
        && !level.agents_hidden
    {
        level.why.push(format!("sockets of agents and services outside can be reached: {why}"));
    }
    if profile.network == Network::Off && !level.seccomp {
        level.network = Network::Open;
    }
    if profile.shared_memory {
        level.why.push("all of /dev/shm is writable, as asked".to_owned());
    }
    Ok(level)
}

/// There is no box on this system yet.
///
/// # Errors
/// None; the signature is that of the confined case.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "one signature for all systems")]
fn confine(profile: &Profile, _: &Hidden, _: Apart) -> Result<Level, String> {
    Ok(Level::none(if profile.confined {
        "there is no sandbox for this operating system; processes that leave their group outlive the run"
    } else {
        "the sandbox is turned off"
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_says_loudly_what_is_not_enforced() {
        let level = Level::none("the sandbox is turned off");
        assert_eq!(
            level.sentence(),
            "writes NOT confined, system calls NOT filtered, network open; the sandbox is turned off"
        );
        let json = serde_json::to_value(&level).unwrap();
        assert_eq!(json["landlock-abi"], serde_json::Value::Null);
        assert_eq!(json["network"], "open");
        assert_eq!(serde_json::from_value::<Level>(json).unwrap(), level);
    }
}
