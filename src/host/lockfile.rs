//! A lock that is a file: whoever makes it first holds it, and its text says who that is.
//!
//! The peer's own tools guard their board this way (`{pid, hostname, startedAt}`, agentheim.md §5.11), so both sides can
//! wait for each other. A lock is taken away from somebody only where he is known to be dead: his process is gone from this
//! very machine, or the file stayed empty, as one does whose maker died before he wrote, for as long as we are patient.

use super::Host;
use super::clock::Timestamp;
use super::path::escape;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long somebody is waited for: as long as the peer waits.
pub const PATIENCE: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(50);

/// A text longer than this is no holder's.
const LONGEST: u64 = 4 << 10;

/// Which file it is: device and inode.
type Identity = (u64, u64);

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Holder {
    pid: i32,
    hostname: String,
    #[serde(default)]
    started_at: String,
}

/// A lock that is held by this process. Dropped, it is released.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    inode: Identity,
}

/// How taking a lock ended.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Ours(LockFile),
    /// Somebody else's, in words, for longer than the patience.
    Theirs(String),
}

impl LockFile {
    /// Takes the lock, waiting for its holder this long.
    ///
    /// # Errors
    /// The folder is missing or cannot be written.
    pub fn take(host: &Host, path: &Path, at: Timestamp, patience: Duration) -> io::Result<Taken> {
        let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let own = Holder { pid, hostname, started_at: at.to_utc() };
        let mut left = patience;
        let mut empty: Option<Identity> = None;
        loop {
            match File::create_new(path) {
                Ok(mut file) => {
                    let lock = Self { path: path.to_owned(), inode: identity(&file.metadata()?) };
                    file.write_all(&serde_json::to_vec(&own)?)?;
                    return Ok(Taken::Ours(lock));
                }
                Err(why) if why.kind() == ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
            let Some((inode, text)) = read(path)? else { continue };
            let said = match serde_json::from_slice::<Holder>(&text) {
                Ok(holder) if holder.hostname == own.hostname && !is_alive(holder.pid) => {
                    reap(path, inode, &text)?;
                    continue;
                }
                Ok(holder) => format!("process {} on {}", holder.pid, escape(holder.hostname.as_bytes())),
                Err(_) if text.is_empty() => "somebody who has not written who he is".to_owned(),
                Err(_) => "somebody who writes another text than the tools do".to_owned(),
            };
            // One that was empty all the time has nobody behind it any more; each new one gets the whole patience.
            if text.is_empty() && empty != Some(inode) {
                (empty, left) = (Some(inode), patience);
            }
            if left.is_zero() {
                if text.is_empty() {
                    reap(path, inode, &text)?;
                    continue;
                }
                return Ok(Taken::Theirs(said));
            }
            let now = left.min(PAUSE);
            if !host.cancel.wait(now) {
                return Ok(Taken::Theirs(said));
            }
            left -= now;
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // Only the file that we made: who took it from us may hold it now.
        if fs::symlink_metadata(&self.path).is_ok_and(|data| identity(&data) == self.inode) {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn identity(data: &Metadata) -> Identity {
    (data.dev(), data.ino())
}

/// The lock's file and text; none if it has just gone. Never through a link.
fn read(path: &Path) -> io::Result<Option<(Identity, Vec<u8>)>> {
    match fs::symlink_metadata(path) {
        Ok(data) if !data.is_file() => Err(io::Error::other("it is no plain file")),
        Ok(_) => match File::open(path) {
            Ok(file) => {
                let inode = identity(&file.metadata()?);
                let mut text = Vec::new();
                file.take(LONGEST).read_to_end(&mut text)?;
                Ok(Some((inode, text)))
            }
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        },
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

/// True unless the process is known to be gone.
fn is_alive(pid: i32) -> bool {
    // What is no process at all is nobody who could be known to be gone.
    let Some(pid) = (pid > 0).then(|| rustix::process::Pid::from_raw(pid)).flatten() else { return true };
    !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

/// Takes a dead holder's file away. If it turns out to be another one, which was made in this very moment, it is put back.
fn reap(path: &Path, inode: Identity, text: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = path.with_file_name(format!(".{name}.dead-{}", rustix::process::getpid().as_raw_nonzero()));
    match fs::rename(path, &aside) {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(()),
        done => done?,
    }
    if !read(&aside)?.is_some_and(|(found, now)| found == inode && now == text) {
        // Whoever made a third one meanwhile has it; ours is only to give back what we took.
        drop(fs::hard_link(&aside, path));
    }
    fs::remove_file(&aside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::cancel::Cancel;
    use crate::host::clock::Clock;
    use crate::host::env::Env;

    const SHORT: Duration = Duration::from_millis(120);

    fn host() -> Host {
        let scratch = PathBuf::from("/");
        let vars: [(&str, &str); 0] = [];
        Host {
            git: "git".into(),
            helper: "helper".into(),
            scratch,
            env: Env::of(vars),
            clock: Clock::Fixed(1),
            cancel: Cancel::new(),
        }
    }

    fn take(path: &Path) -> Result<LockFile, String> {
        match LockFile::take(&host(), path, Timestamp(1), SHORT).unwrap() {
            Taken::Ours(lock) => Ok(lock),
            Taken::Theirs(said) => Err(said),
        }
    }

    fn written(path: &Path, pid: i32, hostname: &str) {
        fs::write(path, format!("{{\"pid\": {pid}, \"hostname\": \"{hostname}\", \"startedAt\": \"x\"}}")).unwrap();
    }

    #[test]
    fn a_lock_is_held_by_one_and_gone_when_he_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lifecycle.lock");
        let lock = take(&path).unwrap();
        let text: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(text["pid"].as_i64(), Some(i64::from(std::process::id())));
        assert!(take(&path).unwrap_err().starts_with("process "), "a living holder is waited for, and named");
        assert!(path.exists());
        drop(lock);
        assert!(!path.exists());
        take(&path).unwrap();
    }

    #[test]
    fn only_the_dead_on_this_machine_and_the_long_silent_lose_their_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lifecycle.lock");
        let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // No process has this number: Linux counts to 2^22 at most.
        let dead = (1 << 22) + 1;
        written(&path, dead, &here);
        take(&path).unwrap();
        written(&path, dead, "another-machine");
        assert_eq!(take(&path).unwrap_err(), format!("process {dead} on another-machine"));
        written(&path, 1, &here);
        assert!(take(&path).is_err(), "process 1 lives");
        fs::write(&path, "held by hand").unwrap();
        assert!(take(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "held by hand");
        fs::write(&path, "").unwrap();
        take(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn a_link_is_no_lock_and_nothing_behind_it_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("lock"), folder.path().join("target"));
        fs::write(&target, "").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(LockFile::take(&host(), &path, Timestamp(1), SHORT).is_err());
        assert!(target.exists() && path.is_symlink());
    }
}
