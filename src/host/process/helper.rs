//! Our end of a box helper.

use crate::host::sandbox::wire::{Answer, Order};
use crate::host::sandbox::{BOX_ARGUMENT, tree};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
#[cfg(not(target_os = "linux"))]
use std::io::Read;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The most an answer may take.
const ANSWER_BYTES: usize = 1 << 20;
/// The most descriptors that come with one line.
#[cfg(target_os = "linux")]
const MOST_SOCKETS: usize = 32;

/// A running helper with the three lines to it.
pub(super) struct Helper<'a> {
    child: Child,
    control: Option<UnixStream>,
    outgoing: VecDeque<Piece<'a>>,
    sent: usize,
    incoming: Vec<u8>,
    sockets: Vec<OwnedFd>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

enum Piece<'a> {
    Own(Vec<u8>),
    Lent(&'a [u8]),
}

/// Which lines have something for us.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Ready {
    pub(super) stdout: bool,
    pub(super) stderr: bool,
    pub(super) control: bool,
}

impl<'a> Helper<'a> {
    /// Starts the helper and queues its order. Nothing runs between fork and exec here, which keeps the start cheap
    /// however large we are; the helper sees none of our environment.
    #[expect(clippy::disallowed_methods, reason = "programs are started here and in the box helper")]
    pub(super) fn start(program: &Path, order: &Order, stdin: &'a [u8]) -> io::Result<Self> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = Command::new(program);
        command.arg(BOX_ARGUMENT).env_clear();
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let outgoing = VecDeque::from([Piece::Own(line), Piece::Lent(stdin)]);
        Ok(Self {
            child,
            control: Some(ours),
            outgoing,
            sent: 0,
            incoming: Vec::new(),
            sockets: Vec::new(),
            stdout,
            stderr,
        })
    }

    /// Queues a control word.
    pub(super) fn tell(&mut self, word: &str) {
        self.outgoing.push_back(Piece::Own(format!("{word}\n").into_bytes()));
    }

    /// Waits for one of the lines, at most this long, and sends what can be sent.
    pub(super) fn wait(&mut self, longest: Duration) -> io::Result<Ready> {
        let timeout = Timespec {
            tv_sec: i64::try_from(longest.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: longest.subsec_nanos().into(),
        };
        let (ready, writable) = self.poll(&timeout)?;
        if writable {
            self.send();
        }
        Ok(ready)
    }

    fn poll(&self, timeout: &Timespec) -> io::Result<(Ready, bool)> {
        let mut watched = Vec::with_capacity(3);
        let wish = if self.outgoing.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        if let Some(pipe) = &self.stdout {
            watched.push(PollFd::new(pipe, PollFlags::IN));
        }
        if let Some(pipe) = &self.stderr {
            watched.push(PollFd::new(pipe, PollFlags::IN));
        }
        if let Some(socket) = &self.control {
            watched.push(PollFd::new(socket, wish));
        }
        match poll(&mut watched, Some(timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut states = watched.iter().map(PollFd::revents);
        let mut next =
            |there: bool| if there { states.next().unwrap_or(PollFlags::empty()) } else { PollFlags::empty() };
        let (out, err) = (next(self.stdout.is_some()), next(self.stderr.is_some()));
        let control = next(self.control.is_some());
        let ready = Ready {
            stdout: !out.is_empty(),
            stderr: !err.is_empty(),
            control: control.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR),
        };
        Ok((ready, control.contains(PollFlags::OUT)))
    }

    fn send(&mut self) {
        let Some(socket) = &mut self.control else { return };
        while let Some(piece) = self.outgoing.front() {
            let bytes = match piece {
                Piece::Own(bytes) => bytes.as_slice(),
                Piece::Lent(bytes) => bytes,
            };
            let rest = bytes.get(self.sent..).unwrap_or_default();
            if !rest.is_empty() {
                match socket.write(rest) {
                    Ok(length) => self.sent += length,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // Full: later. Broken: the helper is gone, and reading will say so.
                    Err(_) => return,
                }
                continue;
            }
            self.outgoing.pop_front();
            self.sent = 0;
        }
    }

    /// Reads what there is on the control line.
    pub(super) fn receive(&mut self) {
        let Some(control) = &self.control else { return };
        let mut chunk = [0_u8; 8192];
        let over = match receive(control, &mut chunk, &mut self.sockets) {
            Ok(0) => true,
            Ok(length) => {
                self.incoming.extend_from_slice(&chunk[..length]);
                self.incoming.len() > ANSWER_BYTES
            }
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        if over {
            self.control = None;
        }
    }

    /// What the helper says next, once it is complete, or why it will say no more.
    pub(super) fn said(&mut self) -> Option<Result<Answer, String>> {
        let Some(end) = self.incoming.iter().position(|byte| *byte == b'\n') else {
            let over = self.control.is_none();
            return over.then(|| Err("the box helper ended without an answer".to_owned()));
        };
        let line: Vec<u8> = self.incoming.drain(..=end).collect();
        let said = serde_json::from_slice(&line).map_err(|why| format!("the box helper's answer is unreadable: {why}"));
        if !matches!(said, Ok(Answer::Listening { .. })) {
            self.control = None;
        }
        Some(said)
    }

    /// The sockets that came with what was said so far.
    pub(super) fn take_sockets(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.sockets)
    }

    /// True once the child's side has closed both outputs.
    pub(super) fn is_silent(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Ends the helper itself if it has not ended, and collects it. If it was lost, what it leaves of its session is
    /// ended for it.
    pub(super) fn finish(mut self, lost: bool) -> Option<String> {
        if lost {
            let _ = self.child.kill();
            tree::end_session(self.child.id());
        }
        // Closed first: a helper that still listens takes it as our end and leaves.
        drop(self.control.take());
        match self.child.wait() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(format!("failed to wait for it: {error}")),
        }
    }
}

/// Reads bytes, and keeps what descriptors come with them.
#[cfg(target_os = "linux")]
fn receive(socket: &UnixStream, chunk: &mut [u8], sockets: &mut Vec<OwnedFd>) -> io::Result<usize> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_SOCKETS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [io::IoSliceMut::new(chunk)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(handles) = message {
            sockets.extend(handles);
        }
    }
    Ok(received.bytes)
}

#[cfg(not(target_os = "linux"))]
fn receive(mut socket: &UnixStream, chunk: &mut [u8], _: &mut Vec<OwnedFd>) -> io::Result<usize> {
    socket.read(chunk)
}
