//! Where tests run programs: a folder the child may write, one it may not, and a host that re-executes our own binary.

use countersign::agent::{Agent, AgentReply, Question, Retries, Role, Sessions, ask};
use countersign::host::process::{Ended, Launch, Limits, run_to_end};
use countersign::host::sandbox::Profile;
use countersign::host::{Host, cancel::Cancel, clock::Clock, env::Env};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No test waits for this; it only ends a test that would hang.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) struct Stand {
    folder: tempfile::TempDir,
    pub(crate) host: Host,
}

impl Stand {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["inside", "outside"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let host = Host {
            git: "git".into(),
            helper: env!("CARGO_BIN_EXE_countersign").into(),
            scratch: folder.path().to_owned(),
            env: Env::default(),
            clock: Clock::System,
            cancel: Cancel::new(),
        };
        Self { folder, host }
    }

    /// A folder the child may write.
    pub(crate) fn inside(&self) -> PathBuf {
        self.folder.path().join("inside")
    }

    /// A folder it may not.
    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }

    /// A launch of a program with ample limits, inside as working folder, in the checks' box without a network.
    pub(crate) fn launch<A: Into<OsString>>(&self, argv: impl IntoIterator<Item = A>) -> Launch {
        let mut profile = Profile::checks(vec![self.inside()]);
        profile.network = countersign::host::sandbox::Network::Off;
        Launch {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: self.inside(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            stdin: Vec::new(),
            log: self.folder.path().join("log"),
            capture: 4 << 20,
            limits: Limits { grace: Duration::from_millis(300), ..Limits::within(LONG) },
            profile,
        }
    }

    /// Asks an agent about `worktree` outside; its sessions with the task lie outside as well.
    pub(crate) fn ask(
        &self,
        agent: &Agent,
        role: Role,
        task: &str,
        brief: &[u8],
        (retries, wall): (u32, Duration),
    ) -> AgentReply {
        let sessions = Sessions::of(&self.outside().join("own"), task).unwrap();
        let question = Question {
            agent,
            role,
            hosts: &[],
            confined: true,
            brief,
            room: &self.outside().join("worktree"),
            sessions: Some(&sessions),
            report: None,
            wall,
            idle: None,
            retries: Retries { most: retries, pause: Duration::ZERO },
            log_bytes: 1 << 20,
            log: &self.outside().join("log"),
        };
        ask(&self.host, &question)
    }

    pub(crate) fn shell(&self, script: &str) -> Launch {
        self.launch(["sh", "-c", script])
    }

    pub(crate) fn run(&self, launch: &Launch) -> Ended {
        run_to_end(&self.host, launch)
    }

    /// A launch of one of this binary's own ignored tests: what is tried inside the box is then plain Rust.
    pub(crate) fn driver(&self, test: &str) -> Launch {
        let own: OsString = std::env::current_exe().unwrap().into();
        self.launch([own, "--ignored".into(), "--exact".into(), "--nocapture".into(), test.into()])
    }

    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.path().join("log")).unwrap()).into_owned()
    }

    /// The process number a child wrote into a file of the inside folder.
    pub(crate) fn pid(&self, name: &str) -> i32 {
        std::fs::read_to_string(self.inside().join(name)).unwrap().trim().parse().unwrap()
    }
}

/// True if no such process exists, not even a dead one.
pub(crate) fn is_gone(pid: i32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits until a process has ended; false if that takes for ever.
pub(crate) fn ends(pid: i32) -> bool {
    let Ok(handle) = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()) else { return true };
    let mut watched = [PollFd::new(&handle, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 30, tv_nsec: 0 })).unwrap() == 1
}
