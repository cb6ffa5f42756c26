//! One command in a room, in the box, with everything around it that tests expect of a machine.

use crate::config::{NetworkSetting, SandboxRequirement, Settings};
use crate::host::Host;
use crate::host::git::Repo;
use crate::host::ids::CommitId;
use crate::host::path::{RepoPath, escape};
use crate::host::process::{Ended, Launch, Limits, run_to_end};
use crate::host::room::{Room, RoomError};
use crate::host::sandbox::{Network, Profile};
use crate::receipts::{CommandRecord, Purpose, TestsRecord};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much of a command's standard output is read for test names.
const CAPTURE: u64 = 48 << 20;

/// Which tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The claim's.
    Claim,
    /// The base's.
    Base,
    /// The base's production code with the claim's tests.
    Hybrid,
    /// The claim's with one thing wrong or undone.
    Mutant,
}

impl Side {
    /// True for a tree that is neither the claim's nor the base's.
    pub fn is_apart(self) -> bool {
        matches!(self, Self::Hybrid | Self::Mutant)
    }
}

/// A command that was run, ready for the ledger.
#[derive(Debug, Clone)]
pub struct Facts {
    /// On which tree.
    pub side: Side,
    /// The receipt. Its log name and digest are those of the raw log; sealing replaces the digest after redaction.
    pub command: CommandRecord,
    /// The raw log, bounded.
    pub log: PathBuf,
    /// The tests it reported; `command` in it is 0 until the ledger has numbered the receipt above.
    pub tests: Option<TestsRecord>,
    /// The files that the runner said it collected, below the command's folder, where it says so apart from its cases.
    pub files: Vec<RepoPath>,
}

/// What to run.
pub(in crate::floor) struct Job<'a> {
    pub(in crate::floor) purpose: Purpose,
    /// As a person wrote it; the receipt shows this.
    pub(in crate::floor) command: &'a str,
    /// What the shell gets.
    pub(in crate::floor) script: &'a str,
    pub(in crate::floor) root: &'a RepoPath,
    /// True: the network is open (set-up only).
    pub(in crate::floor) fetches: bool,
    pub(in crate::floor) shared_memory: bool,
}

/// A room with a private home and scratch beside it.
pub(in crate::floor) struct Site<'a> {
    repo: &'a Repo,
    settings: &'a Settings,
    logs: &'a Path,
    side: Side,
    room: Room,
    scratch: tempfile::TempDir,
}

impl<'a> Site<'a> {
    /// Takes a room for `commit`.
    pub(in crate::floor) fn open(
        repo: &'a Repo,
        settings: &'a Settings,
        logs: &'a Path,
        side: Side,
        commit: &CommitId,
    ) -> Result<Self, RoomError> {
        let room = Room::take(repo, commit)?;
        let host = repo.host();
        let make = |path: &Path| std::fs::create_dir_all(path);
        let scratch = make(&host.scratch)
            .and_then(|()| tempfile::Builder::new().prefix("countersign-run-").tempdir_in(&host.scratch))
            .and_then(|scratch| scratch.path().canonicalize().map(|_| scratch));
        let scratch = scratch.map_err(|why| RoomError::Io { doing: "make", path: host.scratch.clone(), why })?;
        for folder in ["home", "tmp", "reports", "cargo"] {
            let path = scratch.path().join(folder);
            make(&path).map_err(|why| RoomError::Io { doing: "make", path: path.clone(), why })?;
        }
        make(logs).map_err(|why| RoomError::Io { doing: "make", path: logs.to_owned(), why })?;
        Ok(Self { repo, settings, logs, side, room, scratch })
    }

    pub(in crate::floor) fn repo(&self) -> &'a Repo {
        self.repo
    }

    pub(in crate::floor) fn settings(&self) -> &'a Settings {
        self.settings
    }

    pub(in crate::floor) fn side(&self) -> Side {
        self.side
    }

    pub(in crate::floor) fn room(&self) -> &Room {
        &self.room
    }

    /// Package folders around the room that module look-up also finds: what they hold is not part of the tree.
    pub(in crate::floor) fn visible_packages(&self) -> Option<PathBuf> {
        let around = self.room.path().ancestors().skip(1);
        around.map(|folder| folder.join("node_modules")).find(|folder| folder.is_dir())
    }

    /// The tracked paths that a run changed.
    pub(in crate::floor) fn changed(&self) -> Result<Vec<RepoPath>, RoomError> {
        self.room.changed(self.repo)
    }

    /// A fresh path for a report, outside the tree under test.
    pub(in crate::floor) fn report(&self, number: usize) -> PathBuf {
        self.scratch.path().join("reports").join(format!("{number}.xml"))
    }

    /// Runs one command to its end.
    pub(in crate::floor) fn run(&self, job: &Job<'_>) -> (Facts, Ended) {
        let limits = &self.settings.limits;
        // A package manager may fetch in silence; its wall is the shorter one.
        let (wall, idle) = match job.purpose {
            Purpose::Setup => (limits.setup_seconds, 0),
            _ => (limits.tests_seconds, limits.tests_idle_seconds),
        };
        let idle = (idle > 0).then(|| Duration::from_secs(idle));
        let limits = Limits { idle, ..Limits::within(Duration::from_secs(wall)) };
        self.run_program(job, shell(self.repo.host(), job.script), Vec::new(), limits)
    }

    /// Runs a program of ours in place of the job's script, and tells it something.
    pub(in crate::floor) fn run_program(
        &self,
        job: &Job<'_>,
        argv: Vec<OsString>,
        stdin: Vec<u8>,
        limits: Limits,
    ) -> (Facts, Ended) {
        let host = self.repo.host();
        let log = free_log(self.logs, self.side, job.purpose);
        let log_bytes = self.settings.limits.log_bytes;
        let launch = Launch {
            argv,
            cwd: self.room.path().join(job.root.to_path_buf()),
            env: self.environment(job),
            stdin,
            log: log.clone(),
            capture: CAPTURE,
            limits: Limits { log_bytes, ..limits },
            profile: self.profile(job),
        };
        let ended = run_to_end(host, &launch);
        let name = log.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let command = CommandRecord {
            purpose: job.purpose,
            command: escape(job.command.as_bytes()),
            root: job.root.to_string(),
            tree: self.room.tree().clone(),
            ending: ended.ending.clone(),
            took_ms: u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
            log: name,
            log_digest: ended.log.sha256.clone(),
            log_bytes: ended.log.bytes_total,
            strays: ended.strays,
            level: ended.level.clone(),
            cached: None,
        };
        (Facts { side: self.side, command, log, tests: None, files: Vec::new() }, ended)
    }

    fn profile(&self, job: &Job<'_>) -> Profile {
        let write = vec![self.room.path().to_owned(), self.scratch.path().to_owned()];
        let network = match (job.fetches, self.settings.sandbox.tests_network) {
            // Whoever asks a program must be sure to ask this one.
            _ if job.purpose == Purpose::Drive => Network::Loopback,
            (true, _) | (false, Some(NetworkSetting::Open)) => Network::Open,
            (false, Some(NetworkSetting::Off)) => Network::Off,
            (false, Some(NetworkSetting::Loopback) | None) => Network::Loopback,
        };
        // Lending all of /dev/shm would open the box to a repository that lies there.
        let in_memory = self.repo.common_dir().starts_with("/dev/shm") || self.repo.top().starts_with("/dev/shm");
        let shared_memory = job.shared_memory && !in_memory && Path::new("/dev/shm").is_dir();
        let profile = Profile { network, shared_memory, ..Profile::checks(write) };
        match self.settings.sandbox.require {
            Some(SandboxRequirement::None) => profile.unconfined(),
            Some(SandboxRequirement::Landlock) | None => profile,
        }
    }

    /// The allow-list, a private home, and the way to the user's toolchains and package caches, which the box keeps
    /// read-only.
    fn environment(&self, job: &Job<'_>) -> Vec<(OsString, OsString)> {
        let host = self.repo.host();
        let scratch = self.scratch.path();
        let mut env = host.env.for_child();
        let mut set = |name: &str, value: &OsStr| {
            env.retain(|(key, _)| key != name);
            env.push((name.into(), value.to_owned()));
        };
        for (name, folder) in [
            ("HOME", "home"),
            ("XDG_CACHE_HOME", "home/.cache"),
            ("XDG_CONFIG_HOME", "home/.config"),
            ("XDG_DATA_HOME", "home/.local/share"),
            ("npm_config_cache", "home/.npm"),
            ("TMPDIR", "tmp"),
            ("COUNTERSIGN_CARGO_HOME", "cargo"),
            ("COUNTERSIGN_PYTHON", "python"),
        ] {
            set(name, scratch.join(folder).as_os_str());
        }
        for (name, value) in [("CARGO_TERM_COLOR", "never"), ("PYTHONDONTWRITEBYTECODE", "1"), ("NO_COLOR", "1")] {
            set(name, OsStr::new(value));
        }
        let home = host.env.text("HOME").map(PathBuf::from);
        for (name, folder) in [
            ("CARGO_HOME", ".cargo"),
            ("RUSTUP_HOME", ".rustup"),
            ("PYENV_ROOT", ".pyenv"),
            ("NVM_DIR", ".nvm"),
            ("PYTHONUSERBASE", ".local"),
        ] {
            let folder = home.as_ref().map(|home| home.join(folder)).filter(|folder| folder.is_dir());
            if host.env.get(name).is_none()
                && let Some(folder) = folder
            {
                set(name, folder.as_os_str());
            }
        }
        if self.has_private_cargo() {
            set("CARGO_HOME", scratch.join("cargo").as_os_str());
        }
        if scratch.join("python").is_dir() {
            set("PYTHONPATH", scratch.join("python").as_os_str());
        }
        if !job.fetches {
            set("CARGO_NET_OFFLINE", OsStr::new("true"));
        }
        // What a project's own scripts find first.
        let bin = self.room.path().join(job.root.to_path_buf()).join("node_modules/.bin");
        let path = host.env.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        set("PATH", OsStr::from_bytes(&[bin.as_os_str().as_bytes(), b":", path.as_bytes()].concat()));
        env
    }

    fn has_private_cargo(&self) -> bool {
        self.scratch.path().join("cargo/registry").is_dir() || self.scratch.path().join("cargo/git").is_dir()
    }
}

/// A name for a log that no other run of this attempt has.
pub(super) fn free_log(logs: &Path, side: Side, purpose: Purpose) -> PathBuf {
    let what = match purpose {
        Purpose::Setup => "setup",
        Purpose::Tests => "tests",
        Purpose::Rerun => "rerun",
        Purpose::Criterion => "criterion",
        Purpose::Canary => "canary",
        Purpose::Drive => "drive",
        Purpose::Listing => "listing",
    };
    let side = match side {
        Side::Claim => "claim",
        Side::Base => "base",
        Side::Hybrid => "hybrid",
        Side::Mutant => "mutant",
    };
    let name = |number: u32| logs.join(format!("{what}-{side}-{number}.log"));
    (1..u32::MAX).map(name).find(|path| std::fs::symlink_metadata(path).is_err()).unwrap_or_else(|| name(0))
}

/// The shell that shows a failing stage of a pipe, where it is there.
fn bash(host: &Host) -> Option<PathBuf> {
    let path = host.env.get("PATH")?;
    path.as_bytes()
        .split(|b| *b == b':')
        .filter(|folder| folder.starts_with(b"/"))
        .map(|folder| Path::new(OsStr::from_bytes(folder)).join("bash"))
        .find(|bash| bash.is_file())
}

/// True if pipes will show a failing stage on this machine.
pub fn has_pipefail(host: &Host) -> bool {
    bash(host).is_some()
}

fn shell(host: &Host, script: &str) -> Vec<OsString> {
    match bash(host) {
        Some(bash) => vec![bash.into(), "-e".into(), "-o".into(), "pipefail".into(), "-c".into(), script.into()],
        None => vec!["sh".into(), "-e".into(), "-c".into(), script.into()],
    }
}
