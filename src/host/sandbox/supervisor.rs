//! The box helper: one order, one child at a time, one answer.
//!
//! The helper's main thread stays outside the box, so that the child can neither signal it nor read its socket. A
//! second thread enters the box, starts the child from inside and ends at once: restrictions belong to threads and are
//! inherited, and no confined thread of ours remains that the child could strike.

use super::wire::{Answer, Bytes, KILL, Order, TERM};
use super::{Apart, Level, confine, tree};
use crate::host::clock::{Clock, Stopwatch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, WaitStatus, setsid, umask};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::ffi::{OsStr, OsString};
#[cfg(target_os = "linux")]
use std::io::IoSlice;
use std::io::{ErrorKind, Read, Write};
#[cfg(target_os = "linux")]
use std::mem::MaybeUninit;
#[cfg(target_os = "linux")]
use std::net::{SocketAddr, TcpListener};
#[cfg(target_os = "linux")]
use std::os::fd::BorrowedFd;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NO_ORDER: i32 = 2;
/// How often dead orphans are collected while nothing happens.
const TICK: Duration = Duration::from_secs(1);
/// The same where the kernel cannot announce the child's end.
const BLIND_TICK: Duration = Duration::from_millis(20);

/// See [`super::box_main`].
pub(super) fn serve() -> i32 {
    let asked = Arc::new(AtomicBool::new(false));
    prepare(&asked);
    let Ok(stream) = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return NO_ORDER };
    let mut control = Control { stream, buffer: Vec::new(), open: true };
    let Some((order, input)) = control.order() else { return NO_ORDER };
    let answer = fulfil(&order, input, &mut control, &asked);
    let Ok(mut line) = serde_json::to_vec(&answer) else { return NO_ORDER };
    line.push(b'\n');
    // A conductor that is gone cannot be told; its child's tree has ended all the same.
    let _ = control.stream.set_nonblocking(false);
    let _ = control.stream.write_all(&line);
    0
}

/// Makes this process fit to answer for a tree: out of the terminal's reach, heir of all orphans, deaf to the signals
/// that would orphan the tree (they ask it to end instead), without descriptors of whoever started us.
fn prepare(asked: &Arc<AtomicBool>) {
    close_inherited();
    let _ = setsid();
    umask(Mode::WGRP | Mode::WOTH);
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGQUIT] {
        let _ = signal_hook::flag::register(signal, Arc::clone(asked));
    }
}

fn close_inherited() {
    #[cfg(target_os = "linux")]
    if let Ok(entries) = std::fs::read_dir("/proc/self/fd") {
        let open: Vec<i32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|fd| *fd > 2)
            .collect();
        for fd in open {
            let _ = nix::unistd::close(fd);
        }
    }
}

fn fulfil(order: &Order, input: Vec<u8>, control: &mut Control, asked: &AtomicBool) -> Answer {
    let apart = match separate(order, control) {
        Ok(apart) => apart,
        Err(why) => return Answer::NoNetwork { why },
    };
    let (mut input, mut strays) = (input, 0);
    for (turn, argv) in order.commands.iter().enumerate() {
        let (child, level) = match start(order, argv, !input.is_empty(), apart.clone()) {
            Ok(started) => started,
            Err(why) => return Answer::NotStarted { turn, why },
        };
        let Some(leader) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return Answer::NotStarted { turn, why: "the system gave an impossible process number".to_owned() };
        };
        let over = Watch::new(child, leader, std::mem::take(&mut input), order.grace()).until_over(control, asked);
        let remains = tree::end(leader, over.status);
        strays += remains.strays;
        let code = remains.status.and_then(WaitStatus::exit_status);
        let goes_on = turn + 1 < order.commands.len() && code == Some(0) && remains.left == 0;
        if !goes_on || over.asked {
            let signal = remains.status.and_then(WaitStatus::terminating_signal);
            return Answer::Ended { turn, code, signal, strays, left: remains.left, level };
        }
    }
    Answer::NotStarted { turn: 0, why: "there is no command".to_owned() }
}

/// Enters the namespaces that the order needs.
///
/// # Errors
/// A network of its own is impossible.
#[cfg(target_os = "linux")]
fn separate(order: &Order, control: &mut Control) -> Result<Apart, String> {
    let nothing = || Ok(Vec::new());
    let places = if order.wants_cover() {
        // Listed before we leave the network that the list is of.
        super::cover::places(&order.hidden.sockets(), &order.profile().write)
    } else {
        nothing()
    };
    let to_cover = places.as_ref().is_ok_and(|places| !places.is_empty());
    let network = order.wants_own_network();
    let mounts = super::network::enter(network, to_cover)?;
    if network {
        control.hand_over(&order.listen)?;
    }
    let own_ipc = order.profile().confined && super::network::enter_own_ipc();
    let covered = match (places, mounts) {
        (Ok(places), Ok(())) if !places.is_empty() => super::cover::cover(&places),
        (Ok(_), mounts) => mounts,
        (Err(why), _) => Err(why),
    };
    Ok(Apart { covered, own_ipc })
}

/// There are no namespaces here.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "one signature for all systems")]
fn separate(_: &Order, _: &mut Control) -> Result<Apart, String> {
    Ok(Apart { covered: Ok(()), own_ipc: false })
}

/// Starts the child from inside the box.
fn start(order: &Order, argv: &[Bytes], has_input: bool, apart: Apart) -> Result<(Child, Level), String> {
    let mut command = command(order, argv, has_input)?;
    let (profile, hidden) = (order.profile(), order.hidden.clone());
    let inside = move || -> Result<(Child, Level), String> {
        let level = confine(&profile, &hidden, apart)?;
        let child = command
            .spawn()
            .map_err(|error| format!("failed to start {}: {error}", Path::new(command.get_program()).display()))?;
        Ok((child, level))
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn(inside);
    let thread = thread.map_err(|error| format!("failed to start the thread that enters the box: {error}"))?;
    thread.join().map_err(|_| "the thread that enters the box failed".to_owned())?
}

#[expect(clippy::disallowed_methods, reason = "programs are started here and in host/process")]
fn command(order: &Order, argv: &[Bytes], has_input: bool) -> Result<Command, String> {
    let cwd = PathBuf::from(order.cwd.clone().into_os());
    if !cwd.is_dir() {
        return Err(format!("the working folder {} does not exist", cwd.display()));
    }
    let env: Vec<(OsString, OsString)> =
        order.env.iter().map(|(name, value)| (name.clone().into_os(), value.clone().into_os())).collect();
    let mut argv = argv.iter().map(|arg| arg.clone().into_os());
    let name = argv.next().filter(|name| !name.is_empty()).ok_or("the command is empty")?;
    let path = env.iter().rfind(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let mut command = Command::new(program(&name, &cwd, path)?);
    command.arg0(&name).args(argv).env_clear().envs(env).current_dir(cwd).process_group(0);
    command.stdin(if has_input { Stdio::piped() } else { Stdio::null() });
    Ok(command)
}

/// Finds a program on the child's own `PATH`, so that what is missing can be named.
fn program(name: &OsStr, cwd: &Path, path: Option<&OsStr>) -> Result<PathBuf, String> {
    let runnable =
        |file: &Path| file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    let shown = Path::new(name).display();
    if name.as_bytes().contains(&b'/') {
        let file = cwd.join(name);
        return match file.metadata() {
            _ if runnable(&file) => Ok(file),
            Ok(_) => Err(format!("{shown} is not an executable file")),
            Err(error) => Err(format!("failed to find the program {shown}: {error}")),
        };
    }
    let path =
        path.ok_or_else(|| format!("failed to find the program {shown}: the child's environment has no PATH"))?;
    std::env::split_paths(path)
        .map(|folder| cwd.join(folder).join(name))
        .find(|file| runnable(file))
        .ok_or_else(|| format!("failed to find the program {shown} on PATH {}", Path::new(path).display()))
}

/// The conductor's end of the line.
struct Control {
    stream: UnixStream,
    buffer: Vec<u8>,
    open: bool,
}

impl Control {
    fn order(&mut self) -> Option<(Order, Vec<u8>)> {
        let line = loop {
            if let Some(line) = self.line() {
                break line;
            }
            self.receive();
            if !self.open {
                return None;
            }
        };
        let order: Order = serde_json::from_slice(&line).ok()?;
        let mut input = std::mem::take(&mut self.buffer);
        let wanted = usize::try_from(order.stdin).ok()?;
        if input.len() > wanted {
            self.buffer = input.split_off(wanted);
        }
        let missing = (wanted - input.len()) as u64;
        (&self.stream).take(missing).read_to_end(&mut input).ok()?;
        (input.len() == wanted).then_some((order, input))
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let rest = self.buffer.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        Some(line)
    }

    /// Listens inside the child's network and gives the sockets to the conductor.
    #[cfg(target_os = "linux")]
    fn hand_over(&mut self, places: &[SocketAddr]) -> Result<(), String> {
        let (Some(first), mut at) = (places.first(), Vec::new()) else { return Ok(()) };
        let mut sockets = Vec::new();
        for place in places {
            match TcpListener::bind(place) {
                Ok(socket) => {
                    at.push(*place);
                    sockets.push(socket);
                }
                Err(error) if place == first => return Err(format!("failed to listen at {place}: {error}")),
                // A machine without IPv6 has no `::1`.
                Err(_) => {}
            }
        }
        let mut line = serde_json::to_vec(&Answer::Listening { at }).map_err(|error| error.to_string())?;
        line.push(b'\n');
        pass(&self.stream, &line, &sockets).map_err(|error| format!("failed to hand over sockets: {error}"))
    }

    fn receive(&mut self) {
        let mut chunk = [0_u8; 8192];
        match self.stream.read(&mut chunk) {
            Ok(0) => self.open = false,
            Ok(length) => self.buffer.extend_from_slice(&chunk[..length]),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(_) => self.open = false,
        }
    }
}

/// Sends a line together with sockets.
#[cfg(target_os = "linux")]
fn pass(stream: &UnixStream, line: &[u8], sockets: &[TcpListener]) -> std::io::Result<()> {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let handles: Vec<BorrowedFd<'_>> = sockets.iter().map(AsFd::as_fd).collect();
    let message = SendAncillaryMessage::ScmRights(&handles);
    let mut space = vec![MaybeUninit::uninit(); message.size()];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(message) {
        return Err(std::io::Error::other("too many sockets"));
    }
    let sent = sendmsg(stream, &[IoSlice::new(line)], &mut ancillary, SendFlags::empty())?;
    (&*stream).write_all(line.get(sent..).unwrap_or_default())
}

/// How the watch over a child ended.
struct Over {
    /// The child's status; none if it must be killed.
    status: Option<WaitStatus>,
    /// True if it was asked to end: nothing follows it then.
    asked: bool,
}

/// A running child.
struct Watch {
    leader: Pid,
    input: Option<(ChildStdin, Vec<u8>, usize)>,
    end: Option<OwnedFd>,
    clock: Stopwatch,
    grace: Duration,
    kill_at: Option<Duration>,
}

impl Watch {
    fn new(mut child: Child, leader: Pid, input: Vec<u8>, grace: Duration) -> Self {
        let stdin = child
            .stdin
            .take()
            .filter(|pipe| fcntl_getfl(pipe).and_then(|flags| fcntl_setfl(pipe, flags | OFlags::NONBLOCK)).is_ok());
        #[cfg(target_os = "linux")]
        let end = rustix::process::pidfd_open(leader, rustix::process::PidfdFlags::empty()).ok();
        #[cfg(not(target_os = "linux"))]
        let end = None;
        let clock = Clock::System.stopwatch();
        Self { leader, input: stdin.map(|pipe| (pipe, input, 0)), end, clock, grace, kill_at: None }
    }

    /// Waits for the child's end, or until it must be killed.
    fn until_over(mut self, control: &mut Control, asked: &AtomicBool) -> Over {
        loop {
            if let Some(status) = tree::reap(self.leader).leader {
                return Over { status: Some(status), asked: self.kill_at.is_some() };
            }
            while let Some(word) = control.line() {
                if word == KILL.as_bytes() {
                    return Over { status: None, asked: true };
                }
                if word == TERM.as_bytes() {
                    self.ask();
                }
            }
            if !control.open || asked.load(Ordering::SeqCst) {
                self.ask();
            }
            if self.kill_at.is_some_and(|at| self.clock.elapsed() >= at) {
                return Over { status: None, asked: true };
            }
            self.wait(control);
        }
    }

    fn ask(&mut self) {
        if self.kill_at.is_none() {
            self.kill_at = Some(self.clock.elapsed().saturating_add(self.grace));
            tree::ask(self.leader);
        }
    }

    fn wait(&mut self, control: &mut Control) {
        let tick = if self.end.is_some() { TICK } else { BLIND_TICK };
        let wait = self.kill_at.map_or(tick, |at| tick.min(at.saturating_sub(self.clock.elapsed())));
        let timeout =
            Timespec { tv_sec: i64::try_from(wait.as_secs()).unwrap_or(1), tv_nsec: wait.subsec_nanos().into() };
        let mut watched = Vec::with_capacity(3);
        if let Some((pipe, _, _)) = &self.input {
            watched.push(PollFd::new(pipe, PollFlags::OUT));
        }
        if let Some(end) = &self.end {
            watched.push(PollFd::new(end, PollFlags::IN));
        }
        if control.open {
            watched.push(PollFd::new(&control.stream, PollFlags::IN));
        }
        if poll(&mut watched, Some(&timeout)).is_err() {
            return;
        }
        let spoken = control.open && watched.last().is_some_and(|fd| !fd.revents().is_empty());
        let hungry = self.input.is_some() && watched.first().is_some_and(|fd| !fd.revents().is_empty());
        if spoken {
            control.receive();
        }
        if hungry {
            self.feed();
        }
    }

    /// Writes what fits. A child that closes its input does not want the rest: no fault of anyone.
    fn feed(&mut self) {
        let Some((pipe, input, done)) = &mut self.input else { return };
        match pipe.write(input.get(*done..).unwrap_or_default()) {
            Ok(length) if *done + length < input.len() => *done += length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            _ => self.input = None,
        }
    }
}
