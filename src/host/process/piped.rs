//! A program whose two ends are held by somebody who sits in the same box: our own relay (`agent/acp`).
//!
//! It is no way out of [`run_to_end`](super::run_to_end): the relay itself was started by that, with its box, its limits
//! and its end of the whole tree.

use std::ffi::OsString;
use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long it may take to leave once nobody speaks to it any more.
const LEAVE: Duration = Duration::from_secs(5);

/// A running program.
#[derive(Debug)]
pub struct Piped {
    child: Child,
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes; its standard error is ours.
    pub stdout: ChildStdout,
}

/// How to wait for it.
#[derive(Debug)]
pub struct Leaving(Child);

impl Piped {
    /// Starts it in our own folder and with our own environment, which are those of the box.
    ///
    /// # Errors
    /// It cannot be started.
    #[expect(clippy::disallowed_methods, reason = "programs are started here and in the box helper")]
    pub fn start(argv: &[OsString]) -> io::Result<Self> {
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
        let (program, arguments) = argv.split_first().ok_or_else(nothing)?;
        let mut command = Command::new(program);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("its pipes are not there"));
        };
        Ok(Self { child, stdin, stdout })
    }

    /// Its two ends, and what is left to wait for.
    pub fn split(self) -> (ChildStdin, ChildStdout, Leaving) {
        (self.stdin, self.stdout, Leaving(self.child))
    }
}

impl Leaving {
    /// Waits until it has left by itself, and ends it if it does not. Whoever holds its standard input must let go first.
    pub fn wait(self) {
        let mut child = self.0;
        let id = child.id();
        let (told, gone) = mpsc::channel();
        std::thread::spawn(move || {
            let _ = told.send(child.wait());
        });
        if gone.recv_timeout(LEAVE).is_err()
            && let Some(id) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
        }
    }
}
