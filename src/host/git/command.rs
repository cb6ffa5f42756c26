//! One git command: where it runs, what it may not do, how it ended.

use super::{GitError, OLDEST_GIT};
use crate::host::Host;
use crate::host::path::escape;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Settings that every git of ours runs under, whatever the repository's configuration says: nothing a worker wrote
/// into it may execute (`fsmonitor`, hooks) or change what we read.
const HARDENED: &[&str] = &[
    "--no-replace-objects",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.quotePath=false",
    // What a run that was killed started may hold a lock for a moment more.
    "-c",
    "core.filesRefLockTimeout=10000",
    "-c",
    "core.packedRefsTimeout=10000",
    "-c",
    "core.pager=cat",
    "-c",
    "core.safecrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
    "-c",
    "color.ui=false",
    "-c",
    "diff.orderFile=/dev/null",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "protocol.ext.allow=never",
];

/// A git command under construction. Arguments are plumbing; decisions rest on exit codes and NUL-separated bytes.
#[derive(Debug, Clone)]
pub struct Git<'h> {
    host: &'h Host,
    tree: PathBuf,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
}

/// How a git command ended and what it wrote.
#[derive(Debug)]
pub struct Output {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Everything on standard output.
    pub stdout: Vec<u8>,
    /// Everything on standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// True for exit code 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// The end of standard error on one line, escaped, at most 400 characters: for messages, never for decisions.
    pub fn said(&self) -> String {
        let text = escape(&self.stderr).replace("\\x0a", " ");
        let text = text.trim();
        let start = text.char_indices().rev().nth(399).map_or(0, |(at, _)| at);
        if text.is_empty() { "it said nothing".to_owned() } else { text[start..].to_owned() }
    }

    /// Standard output without its final newline.
    pub fn trim_end_newline(&self) -> &[u8] {
        self.stdout.strip_suffix(b"\n").unwrap_or(&self.stdout)
    }

    /// Standard output as one line of text.
    pub fn line(&self) -> String {
        String::from_utf8_lossy(self.trim_end_newline()).into_owned()
    }
}

/// A git that was started. Dropped, it is ended.
#[derive(Debug)]
pub struct Running {
    /// Until its output is taken.
    handle: Option<duct::Handle>,
    args: Vec<OsString>,
    tree: PathBuf,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // It reads only, and its answer is no longer wanted.
            let _ = handle.kill();
        }
    }
}

impl Running {
    /// Waits for its end and leaves the exit code to the caller.
    ///
    /// # Errors
    /// Its output cannot be read.
    pub fn output(mut self) -> Result<Output, GitError> {
        let gone = || std::io::Error::other("its output was taken before");
        match self.handle.take().ok_or_else(gone).and_then(duct::Handle::into_output) {
            Ok(done) => Ok(Output { code: done.status.code(), stdout: done.stdout, stderr: done.stderr }),
            Err(why) => Err(GitError::Io { doing: "run git in", path: self.tree.clone(), why }),
        }
    }

    /// Waits for its end; any exit but 0 is an error.
    ///
    /// # Errors
    /// It fails.
    pub fn success(self) -> Result<Output, GitError> {
        let (command, tree) = (command_line(&self.args), self.tree.clone());
        let output = self.output()?;
        if output.success() {
            return Ok(output);
        }
        let ending = output.code.map_or_else(|| "killed by a signal".to_owned(), |code| format!("exit {code}"));
        Err(GitError::Failed { command, ending, tree, said: output.said() })
    }
}

impl<'h> Git<'h> {
    /// A git that runs in `tree`.
    pub fn new(host: &'h Host, tree: &Path) -> Self {
        Self { host, tree: tree.to_owned(), env: Vec::new(), stdin: Vec::new() }
    }

    /// Runs in another folder.
    #[must_use]
    pub fn within(mut self, tree: &Path) -> Self {
        tree.clone_into(&mut self.tree);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Gives it something to read.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Writes new objects into `store` and reads them beside the real `objects` folder.
    #[must_use]
    pub fn reading_also(self, objects: &Path, store: &Path) -> Self {
        self.env("GIT_OBJECT_DIRECTORY", store).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
    }

    /// The full command line, for a process of another kind (a box around it).
    pub fn argv<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Vec<OsString> {
        let mut line: Vec<OsString> = vec![self.host.git.clone().into()];
        line.extend(HARDENED.iter().map(OsString::from));
        line.extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        line
    }

    /// The environment it runs in.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut env = self.host.env.for_git();
        env.extend(self.env.iter().cloned());
        env
    }

    /// The folder it runs in.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// Runs it; any exit but 0 is an error.
    ///
    /// # Errors
    /// It cannot be started, or it fails.
    pub fn run<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Result<Output, GitError> {
        self.start(args)?.success()
    }

    /// Runs it and leaves the exit code to the caller.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run_unchecked<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Result<Output, GitError> {
        self.start(args)?.output()
    }

    /// Starts it; the caller does something else meanwhile.
    ///
    /// # Errors
    /// It cannot be started.
    #[expect(clippy::disallowed_methods, reason = "the one place that starts git directly")]
    pub fn start<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Result<Running, GitError> {
        let args: Vec<OsString> = args.into_iter().map(|a| a.as_ref().to_owned()).collect();
        let line = self.argv(&args);
        let command = duct::cmd(&line[0], &line[1..]).dir(&self.tree).full_env(self.environment());
        // Input costs a thread of its own.
        let command = if self.stdin.is_empty() { command.stdin_null() } else { command.stdin_bytes(self.stdin) };
        match command.stdout_capture().stderr_capture().unchecked().start() {
            Ok(handle) => Ok(Running { handle: Some(handle), args, tree: self.tree }),
            // std reports a missing working directory with the same error as a missing program.
            Err(why) if !self.tree.is_dir() => Err(GitError::Io { doing: "enter", path: self.tree, why }),
            Err(why) => Err(GitError::NotFound { program: self.host.git.display().to_string(), why: why.to_string() }),
        }
    }

    /// The version of the program, refused if it is too old.
    pub(super) fn version(output: &Output) -> Result<String, GitError> {
        let line = output.line();
        let version = line.trim_start_matches("git version ").split(' ').next().unwrap_or_default().to_owned();
        let mut numbers = version.split('.').map(|n| n.parse::<u32>().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), Some(minor)) if (major, minor) >= OLDEST_GIT => Ok(version),
            (Some(_), Some(_)) => Err(GitError::TooOld { found: version }),
            _ => Err(GitError::Unreadable { command: "git version".to_owned(), what: escape(line.as_bytes()) }),
        }
    }
}

/// `git` and its arguments without our hardening, for messages.
fn command_line(args: &[OsString]) -> String {
    let mut line = "git".to_owned();
    for arg in args {
        line.push(' ');
        line.push_str(&escape(arg.as_encoded_bytes()));
    }
    line
}
