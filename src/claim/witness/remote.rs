//! What is outside: branches at their remote, pull requests, services of this machine.
//!
//! A remote is asked under the address that it had, from a folder that belongs to no repository: what a worker wrote into
//! the repository's configuration (another address, a program to run) has no say. Who does not answer is unknown.

use super::ServiceNow;
use crate::host::git::{Git, GitError, Repo};
use crate::host::ids::CommitId;
use crate::host::process::drive::{Ask, Heard, ask_once};
use crate::host::process::{Launch, Limits, run_to_end};
use crate::host::sandbox::Profile;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a remote or a forge may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a service of this machine may take.
const SERVICE_PATIENCE: Duration = Duration::from_secs(3);

/// The address of a remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Url {
    /// The remote's name.
    pub remote: String,
    /// Where it is.
    pub url: String,
}

/// A branch at its remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteNow {
    /// It is there.
    At {
        /// The remote's name.
        remote: String,
        /// What it points to there.
        there: CommitId,
        /// What it points to here.
        here: CommitId,
        /// True if what is there is older than what is here.
        behind: bool,
    },
    /// The remote answers and does not have it.
    Absent {
        /// The remote's name.
        remote: String,
    },
    /// The configuration gives another address than was recorded, and at the recorded one the branch is not as it is here.
    Moved {
        /// The remote's name.
        remote: String,
    },
    /// The repository has no remote at all.
    NoRemote,
    /// Nobody can tell.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// One pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// `OPEN`, `MERGED` or `CLOSED`.
    pub state: String,
    /// The commit at its head.
    pub head_ref_oid: String,
}

/// The pull requests of a branch, as the forge's own program tells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pulls {
    /// These.
    Found(Vec<Pull>),
    /// Nobody can tell.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// The addresses of all remotes, as the configuration has them now.
///
/// # Errors
/// Git fails.
pub fn urls(repo: &Repo) -> Result<Vec<Url>, GitError> {
    let output = repo.git().run_unchecked(["config", "-z", "--get-regexp", r"^remote\..*\.url$"])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = |record: &str| {
        let (key, url) = record.split_once('\n')?;
        let remote = key.strip_prefix("remote.")?.strip_suffix(".url")?;
        Some(Url { remote: remote.to_owned(), url: url.to_owned() })
    };
    Ok(text.split('\0').filter_map(read).collect())
}

/// Reads a branch at its remote.
pub(super) fn look(repo: &Repo, branch: &str, known: Option<&[Url]>) -> Result<RemoteNow, GitError> {
    let unknown = |why: String| Ok(RemoteNow::Unknown { why });
    let now;
    let known = if let Some(known) = known {
        known
    } else {
        now = urls(repo)?;
        &now
    };
    let tracked = repo.git().run_unchecked(["config", "--get", &format!("branch.{branch}.remote")])?.line();
    let url =
        known.iter().find(|url| url.remote == tracked).or_else(|| known.iter().find(|url| url.remote == "origin")).or(
            match known {
                [only] => Some(only),
                _ => None,
            },
        );
    let Some(url) = url else {
        return if known.is_empty() {
            Ok(RemoteNow::NoRemote)
        } else {
            unknown(format!("{} remotes and none is the branch's", known.len()))
        };
    };
    let Some(here) = repo.resolve(&format!("refs/heads/{branch}"))? else {
        return unknown(format!("there is no local branch {branch}"));
    };
    let place = if url.url.contains("://") || url.url.contains(':') || url.url.starts_with('/') {
        url.url.clone()
    } else {
        repo.top().join(&url.url).display().to_string()
    };
    if place.contains("::") || place.starts_with('-') {
        return unknown(format!("the address of {} starts a program: refused", url.remote));
    }
    match ask_remote(repo, &place, branch) {
        Err(why) => unknown(format!("{} does not answer: {why}", url.remote)),
        Ok(there) if there.as_ref() != Some(&here) && has_moved(repo, url)? => {
            Ok(RemoteNow::Moved { remote: url.remote.clone() })
        }
        Ok(None) => Ok(RemoteNow::Absent { remote: url.remote.clone() }),
        Ok(Some(there)) => {
            let known_here = repo.resolve(there.as_str())?.is_some();
            let behind = there != here && known_here && repo.is_ancestor(&there, &here)?;
            Ok(RemoteNow::At { remote: url.remote.clone(), there, here, behind })
        }
    }
}

/// True if the configuration has another address for it now.
fn has_moved(repo: &Repo, known: &Url) -> Result<bool, GitError> {
    Ok(!urls(repo)?.contains(known))
}

fn ask_remote(repo: &Repo, place: &str, branch: &str) -> Result<Option<CommitId>, String> {
    let host = repo.host();
    let folder = tempfile::tempdir_in(&host.scratch).map_err(|why| why.to_string())?;
    let name = format!("refs/heads/{branch}");
    let git = Git::new(host, folder.path())
        .env("GIT_CEILING_DIRECTORIES", folder.path())
        .env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=5")
        .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
    let launch = Launch {
        argv: git.argv(["ls-remote", "--exit-code", "--end-of-options", place, &name]),
        cwd: folder.path().to_owned(),
        env: git.environment(),
        stdin: Vec::new(),
        log: folder.path().join("remote.log"),
        capture: 64 << 10,
        limits: Limits::within(PATIENCE),
        profile: Profile::checks(Vec::new()).unconfined(),
    };
    let ended = run_to_end(host, &launch);
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    match ended.ending {
        // ls-remote --exit-code: 2 where the remote answers and nothing fits.
        crate::host::process::Ending::Exited { code: 2 } => Ok(None),
        ending if ending.is_success() => {
            let line = text.lines().find(|line| line.ends_with(&format!("\t{name}")));
            line.and_then(|line| CommitId::new(line.split('\t').next()?).ok())
                .map(Some)
                .ok_or_else(|| "its answer cannot be read".to_owned())
        }
        ending => Err(ending.sentence()),
    }
}

/// Asks the forge's own program, where it is installed, for the pull requests of a branch.
pub(super) fn pulls(repo: &Repo, branch: &str) -> Pulls {
    let host = repo.host();
    let unknown = |why: String| Pulls::Unknown { why };
    let Some(program) = host.env.program("gh") else {
        return unknown("`gh` is not installed, and no other way to ask the forge is known".to_owned());
    };
    let folder = match tempfile::tempdir_in(&host.scratch) {
        Ok(folder) => folder,
        Err(why) => return unknown(format!("{} cannot be written: {why}", host.scratch.display())),
    };
    let words = ["pr", "list", "--state", "all", "--json", "number,state,headRefOid", "--limit", "50"];
    let mut argv: Vec<std::ffi::OsString> = vec![program.into()];
    argv.extend(words.map(Into::into));
    argv.push(format!("--head={branch}").into());
    let launch = Launch {
        argv,
        cwd: repo.top().to_owned(),
        env: host.env.for_git(),
        stdin: Vec::new(),
        log: folder.path().join("forge.log"),
        capture: 1 << 20,
        limits: Limits::within(PATIENCE),
        profile: Profile::checks(Vec::new()).unconfined(),
    };
    let ended = run_to_end(host, &launch);
    if !ended.ending.is_success() {
        return unknown(format!("`gh pr list` {}", ended.ending.sentence()));
    }
    match serde_json::from_slice(&ended.stdout) {
        Ok(found) => Pulls::Found(found),
        Err(why) => unknown(format!("`gh pr list` answered something unreadable: {why}")),
    }
}

/// Asks a service of this machine once. Others are not asked: a worker's words must not make us call anybody.
pub(super) fn service(address: &str) -> ServiceNow {
    let local = ["http://127.0.0.1:", "http://localhost:"].iter().find_map(|head| address.strip_prefix(head));
    let digits = local.map(|rest| rest.split('/').next().unwrap_or_default());
    let Some(port) = digits.and_then(|digits| digits.parse::<u16>().ok()) else { return ServiceNow::NotAsked };
    let path = address.splitn(4, '/').nth(3).map_or_else(|| "/".to_owned(), |path| format!("/{path}"));
    if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return ServiceNow::NotAsked;
    }
    match ask_once(port, &Ask { method: "GET".to_owned(), path }, SERVICE_PATIENCE) {
        Heard::Answer { status, body, .. } => ServiceNow::Answers { status, body: body.unwrap_or_default() },
        Heard::Nothing { why } => ServiceNow::Silent { why },
    }
}
