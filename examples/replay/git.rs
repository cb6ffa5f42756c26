//! A scratch clone to make claims in, and git inside it.

use countersign::host::env::Env;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Something that failed, in words.
#[derive(Debug)]
pub(crate) struct Failed(String);

impl Failed {
    /// What failed, in words.
    pub(crate) fn new(why: String) -> Self {
        Self(why)
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A clone that borrows the original's objects and vanishes at the end.
pub(crate) struct Clone {
    folder: tempfile::TempDir,
    env: Env,
}

impl Clone {
    /// Clones without a checkout; nothing is written to the original.
    pub(crate) fn borrow(original: &Path) -> Result<Self, Failed> {
        let folder = tempfile::tempdir().map_err(|why| Failed(format!("cannot make a scratch folder: {why}")))?;
        let clone = Self { folder, env: Env::of_process() };
        let original =
            original.canonicalize().map_err(|why| Failed(format!("cannot find {}: {why}", original.display())))?;
        let words = ["clone", "-q", "--shared", "--no-checkout", "--"].map(OsStr::new);
        clone.run(
            clone.folder.path(),
            &[&words[..], &[original.as_os_str(), OsStr::new("replayed")]].concat(),
            b"",
            None,
        )?;
        Ok(clone)
    }

    /// Its worktree, which has nothing checked out.
    pub(crate) fn top(&self) -> PathBuf {
        self.folder.path().join("replayed")
    }

    /// Git in the clone: its output.
    pub(crate) fn git(&self, args: &[&str]) -> Result<Vec<u8>, Failed> {
        self.git_fed(args, b"", None)
    }

    /// Git in the clone: its output as text without the last line end.
    pub(crate) fn text(&self, args: &[&str]) -> Result<String, Failed> {
        Ok(String::from_utf8_lossy(&self.git(args)?).trim_end_matches('\n').to_owned())
    }

    /// Git with something on standard input, and perhaps an index of its own.
    pub(crate) fn git_fed(&self, args: &[&str], input: &[u8], index: Option<&Path>) -> Result<Vec<u8>, Failed> {
        let args: Vec<_> = args.iter().map(OsStr::new).collect();
        self.run(&self.top(), &args, input, index)
    }

    /// Where private indexes may lie.
    pub(crate) fn scratch(&self) -> &Path {
        self.folder.path()
    }

    #[expect(clippy::disallowed_methods, reason = "the example's one starter of programs")]
    fn run(&self, dir: &Path, args: &[&OsStr], input: &[u8], index: Option<&Path>) -> Result<Vec<u8>, Failed> {
        let name = args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let failed = |why: String| Failed(format!("`git {name}` failed: {why}"));
        let mut command = Command::new("git");
        command.current_dir(dir).env_clear().envs(self.env.for_git());
        // Made here, not by a person: one name and one date, so that a replay gives the same ids each time.
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "replay")
                .env(format!("GIT_{role}_EMAIL"), "replay@example.invalid");
            command.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
        }
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|why| failed(why.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // The commands fed here read all their input before they answer.
            stdin.write_all(input).map_err(|why| failed(why.to_string()))?;
        }
        let done = child.wait_with_output().map_err(|why| failed(why.to_string()))?;
        if done.status.success() {
            Ok(done.stdout)
        } else {
            Err(failed(format!("{}: {}", done.status, String::from_utf8_lossy(&done.stderr).trim())))
        }
    }
}
