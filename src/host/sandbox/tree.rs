//! Ending a child together with everything it started.
//!
//! The helper is a subreaper: a descendant whose parent died becomes the helper's own child, also after `setsid` and
//! double forks. So the tree is gone when the helper has no child left.

use crate::host::clock::Clock;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpgid, kill_process_group, wait};
use rustix::thread::{Timespec, nanosleep};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long survivors of a child that ended by itself may take to follow it before they count as strays.
const SETTLE: Duration = Duration::from_millis(100);
/// How long ending a tree may take; only processes stuck in the kernel need longer.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// What was found when a tree was ended.
pub(super) struct Remains {
    /// The leader's status, if it was reaped.
    pub(super) status: Option<WaitStatus>,
    /// How many processes besides the leader had to be killed.
    pub(super) strays: u32,
    /// How many of our children are still there.
    pub(super) left: u32,
}

/// What [`reap`] collected.
pub(super) struct Reaped {
    /// The leader's status if it was among them.
    pub(super) leader: Option<WaitStatus>,
    /// True if no child is left, dead or alive.
    pub(super) none_left: bool,
}

/// Collects all children that have ended, orphans included.
pub(super) fn reap(leader: Pid) -> Reaped {
    let mut reaped = Reaped { leader: None, none_left: false };
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == leader => reaped.leader = Some(status),
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return reaped,
            Err(_) => {
                reaped.none_left = true;
                return reaped;
            }
        }
    }
}

/// Asks the whole tree to end. The leader must not have been reaped: its group's number could be someone else's.
pub(super) fn ask(leader: Pid) {
    let _ = kill_process_group(leader, Signal::TERM);
    for process in descendants() {
        // One TERM each: a second one means "now" to many programs.
        if getpgid(Some(process.pid)).is_ok_and(|group| group != leader) {
            process.signal(Signal::TERM);
        }
    }
}

/// Ends what is left of the tree. `status` is the leader's, if it was reaped already.
pub(super) fn end(leader: Pid, mut status: Option<WaitStatus>) -> Remains {
    let clock = Clock::System.stopwatch();
    let mut killed = BTreeSet::new();
    loop {
        let reaped = reap(leader);
        status = status.or(reaped.leader);
        let out_of_patience = clock.elapsed() > PATIENCE;
        if reaped.none_left || out_of_patience {
            let left = if reaped.none_left { 0 } else { descendants().len().max(1) };
            killed.remove(&leader.as_raw_nonzero().get());
            return Remains { status, strays: count(killed.len()), left: count(left) };
        }
        if status.is_none() || clock.elapsed() > SETTLE || !killed.is_empty() {
            let tree = descendants();
            // Stopped first, so that a process that keeps forking cannot outrun the walk.
            for process in &tree {
                process.signal(Signal::STOP);
            }
            for process in &tree {
                if process.signal(Signal::KILL) {
                    killed.insert(process.pid.as_raw_nonzero().get());
                }
            }
            // A group outlives its leader's number only where orphans are not handed to us.
            if status.is_none() || cfg!(not(target_os = "linux")) {
                let _ = kill_process_group(leader, Signal::KILL);
            }
        }
        let _ = nanosleep(&PAUSE);
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A live descendant, held so that its number cannot pass to another process.
struct Process {
    pid: Pid,
    #[cfg(target_os = "linux")]
    handle: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Process {
    fn signal(&self, signal: Signal) -> bool {
        rustix::process::pidfd_send_signal(&self.handle, signal).is_ok()
    }

    /// Holds the process if it is still what it was when it was listed.
    fn hold(listed: &Listed) -> Option<Self> {
        let pid = Pid::from_raw(listed.pid)?;
        let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()?;
        let now = Listed::read(listed.pid)?;
        let same = now.session == listed.session || now.parent == listed.parent || now.parent == me();
        same.then_some(Self { pid, handle })
    }
}

#[cfg(target_os = "linux")]
fn me() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// One live process as `/proc` lists it.
#[cfg(target_os = "linux")]
struct Listed {
    pid: i32,
    parent: i32,
    session: i32,
}

#[cfg(target_os = "linux")]
impl Listed {
    /// Reads a process that has not ended. Its name may hold spaces and brackets: fields start after the last bracket.
    fn read(pid: i32) -> Option<Self> {
        let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(line.get(end + 2..)?).ok()?.split(' ');
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        Some(Self { pid, parent, session })
    }

    fn all() -> Vec<Self> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        entries.flatten().filter_map(|entry| Self::read(entry.file_name().to_str()?.parse().ok()?)).collect()
    }
}

/// Every live process below us.
#[cfg(target_os = "linux")]
fn descendants() -> Vec<Process> {
    let all = Listed::all();
    let mut below = BTreeSet::from([me()]);
    let mut grew = true;
    while grew {
        grew = false;
        for listed in &all {
            grew |= below.contains(&listed.parent) && below.insert(listed.pid);
        }
    }
    all.iter().filter(|listed| listed.pid != me() && below.contains(&listed.pid)).filter_map(Process::hold).collect()
}

/// Ends every process of a session whose leader died and has not been reaped (so its number is nobody else's).
///
/// For a conductor whose helper was killed: the orphans are no longer below anyone who knows them, but those that did
/// not leave the helper's session can still be found. Returns how many were killed.
#[cfg(target_os = "linux")]
pub(in crate::host) fn end_session(session: u32) -> usize {
    let clock = Clock::System.stopwatch();
    let mut killed = BTreeSet::new();
    while clock.elapsed() < PATIENCE {
        let members: Vec<_> = Listed::all()
            .iter()
            .filter(|listed| u32::try_from(listed.session) == Ok(session))
            .filter_map(Process::hold)
            .collect();
        if members.is_empty() {
            break;
        }
        for process in &members {
            process.signal(Signal::STOP);
        }
        for process in &members {
            if process.signal(Signal::KILL) {
                killed.insert(process.pid.as_raw_nonzero().get());
            }
        }
        let _ = nanosleep(&PAUSE);
    }
    killed.len()
}

/// Sessions cannot be listed here.
#[cfg(not(target_os = "linux"))]
pub(in crate::host) fn end_session(_session: u32) -> usize {
    0
}

#[cfg(not(target_os = "linux"))]
impl Process {
    fn signal(&self, signal: Signal) -> bool {
        rustix::process::kill_process(self.pid, signal).is_ok()
    }
}

/// Without `/proc` only the child's own group can be reached.
#[cfg(not(target_os = "linux"))]
fn descendants() -> Vec<Process> {
    Vec::new()
}
