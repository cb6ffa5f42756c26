//! The conductor's side of a run: reads the output, watches the limits, asks the helper to end the tree.

use super::helper::{Helper, Ready};
use super::last_words::LastWords;
use super::log::{self, Log};
use super::{Ended, Ending, Launch, LogFile, Stream};
use crate::host::Host;
use crate::host::clock::Stopwatch;
use crate::host::sandbox::gateway::{Gateway, Plan};
use crate::host::sandbox::hidden::Hidden;
use crate::host::sandbox::wire::{Answer, KILL, Order, TERM};
use crate::host::sandbox::{Contact, Level, Network};
use std::ffi::OsString;
use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

/// How often an interrupt is looked for.
const TICK: Duration = Duration::from_millis(50);
/// How long outputs may stay open after the helper's answer. Its tree is gone by then, so they close at once.
const DRAIN: Duration = Duration::from_millis(500);
/// How much longer than the grace a helper may take to end its tree before it is given up.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) fn run(host: &Host, launch: &Launch, next: &[Vec<OsString>], seen: &mut dyn FnMut(Stream, &[u8])) -> Ended {
    let clock = host.clock.stopwatch();
    if host.cancel.is_asked() {
        return stillborn(clock, Ending::Cancelled, log::absent(&launch.log));
    }
    let log = match Log::create(&launch.log, launch.limits.log_bytes) {
        Ok(log) => log,
        Err(error) => {
            let why = format!("failed to make the log {}: {error}", launch.log.display());
            return stillborn(clock, Ending::NotStarted { why }, log::absent(&launch.log));
        }
    };
    let mut run = Run::new(host, (launch, next), clock, log, seen);
    let mut answer = run.attempt(launch.profile.network);
    if let Ok(Answer::NoNetwork { why }) = &answer {
        run.weaker = Some(format!("the network stays open, because one of its own is impossible here: {why}"));
        answer = run.attempt(Network::Open);
    }
    run.into_ended(&answer)
}

fn stillborn(clock: Stopwatch, ending: Ending, log: LogFile) -> Ended {
    Ended {
        turn: 0,
        ending,
        took: clock.elapsed(),
        stdout: Vec::new(),
        stdout_total: 0,
        lines: 0,
        log,
        strays: 0,
        level: Level::none("nothing was started"),
        contacts: Vec::new(),
    }
}

/// What the helper was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Nothing,
    Term,
    Kill,
}

/// Counts the lines of one stream.
#[derive(Default)]
struct Lines {
    ended: u64,
    open: bool,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        self.ended += bytes.split(|byte| *byte == b'\n').skip(1).count() as u64;
        self.open = bytes.last().map_or(self.open, |last| *last != b'\n');
    }

    fn count(&self) -> u64 {
        self.ended + u64::from(self.open)
    }
}

struct Run<'a> {
    host: &'a Host,
    launch: &'a Launch,
    /// The commands that follow it.
    next: &'a [Vec<OsString>],
    clock: Stopwatch,
    log: Log,
    seen: &'a mut dyn FnMut(Stream, &[u8]),
    stdout: Vec<u8>,
    stdout_total: u64,
    lines: [Lines; 2],
    last_output: Option<Duration>,
    last_words: LastWords,
    /// Why we stopped the child, if we did, and when.
    stopped: Option<(Ending, Duration)>,
    told: Told,
    weaker: Option<String>,
    /// How the child may leave its box, while it may.
    gateway: Option<Gateway>,
    contacts: Vec<Contact>,
}

impl<'a> Run<'a> {
    fn new(
        host: &'a Host,
        (launch, next): (&'a Launch, &'a [Vec<OsString>]),
        clock: Stopwatch,
        log: Log,
        seen: &'a mut dyn FnMut(Stream, &[u8]),
    ) -> Self {
        Self {
            host,
            launch,
            next,
            clock,
            log,
            seen,
            stdout: Vec::new(),
            stdout_total: 0,
            lines: [Lines::default(), Lines::default()],
            last_output: None,
            last_words: LastWords::default(),
            stopped: None,
            told: Told::Nothing,
            weaker: None,
            gateway: None,
            contacts: Vec::new(),
        }
    }

    /// Starts a helper and stays with it until it has answered.
    fn attempt(&mut self, network: Network) -> Result<Answer, String> {
        self.clock = self.host.clock.stopwatch();
        let listed = self.launch.profile.confined && network == Network::Listed;
        let plan = listed.then(|| Plan::of(&self.launch.profile.hosts));
        let confined = self.launch.profile.confined;
        let hidden = if confined { Hidden::of(&self.host.env, &self.launch.cwd) } else { Hidden::default() };
        let order = Order::of((self.launch, self.next), &hidden, network, plan.as_ref());
        let mut helper = match Helper::start(&self.host.helper, &order, &self.launch.stdin) {
            Ok(helper) => helper,
            Err(error) => {
                let why = format!("failed to start the box helper {}: {error}", self.host.helper.display());
                return Ok(Answer::NotStarted { turn: 0, why });
            }
        };
        let (answer, lost) = self.converse(&mut helper, plan.as_ref());
        self.contacts = self.gateway.take().map(Gateway::close).unwrap_or_default();
        let left = helper.finish(lost);
        answer.map_err(|why| match left {
            Some(how) => format!("{why} ({how})"),
            None => why,
        })
    }

    /// Until the answer is there and the outputs are closed. True: the helper is lost and must be ended by force.
    fn converse(&mut self, helper: &mut Helper<'_>, plan: Option<&Plan>) -> (Result<Answer, String>, bool) {
        let mut buffer = vec![0_u8; 64 << 10];
        let mut answer: Option<(Result<Answer, String>, Duration)> = None;
        loop {
            let now = self.clock.elapsed();
            if let Some((_, since)) = &answer
                && (helper.is_silent() || now.saturating_sub(*since) > DRAIN)
            {
                break;
            }
            if answer.is_none() {
                self.enforce(now, helper);
                if self.is_overdue(now) {
                    return (Err("the box helper did not end the child's processes in time".to_owned()), true);
                }
            }
            let ready = match helper.wait(self.next_check(now)) {
                Ok(ready) => ready,
                Err(error) => return (Err(format!("failed to wait for the child's output: {error}")), true),
            };
            self.read(helper, ready, &mut buffer);
            if ready.control {
                helper.receive();
            }
            while answer.is_none()
                && let Some(said) = helper.said()
            {
                match said {
                    Ok(Answer::Listening { at }) => {
                        if let Err(why) = self.open_gateway(helper, plan, &at) {
                            return (Err(why), true);
                        }
                    }
                    said => answer = Some((said, self.clock.elapsed())),
                }
            }
        }
        let answer = answer.map_or_else(|| Err("the box helper gave no answer".to_owned()), |(answer, _)| answer);
        let lost = answer.is_err();
        (answer, lost)
    }

    fn open_gateway(&mut self, helper: &mut Helper<'_>, plan: Option<&Plan>, at: &[SocketAddr]) -> Result<(), String> {
        let sockets = helper.take_sockets();
        let plan = plan.filter(|_| sockets.len() == at.len() && self.gateway.is_none());
        let plan = plan.ok_or("the box helper opened sockets that it was not asked for")?;
        let gateway = Gateway::open(&self.launch.profile.hosts, plan, at, sockets);
        self.gateway = Some(gateway.map_err(|error| format!("failed to open the way to the network: {error}"))?);
        Ok(())
    }

    fn read(&mut self, helper: &mut Helper<'_>, ready: Ready, buffer: &mut [u8]) {
        if ready.stdout
            && let Some(pipe) = &mut helper.stdout
        {
            match pipe.read(buffer) {
                Ok(length) if length > 0 => self.take(Stream::Out, &buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => helper.stdout = None,
            }
        }
        if ready.stderr
            && let Some(pipe) = &mut helper.stderr
        {
            match pipe.read(buffer) {
                Ok(length) if length > 0 => self.take(Stream::Err, &buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => helper.stderr = None,
            }
        }
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.last_output = Some(self.clock.elapsed());
        if stream == Stream::Out {
            self.stdout_total += bytes.len() as u64;
            let room = self.launch.capture.saturating_sub(self.stdout.len() as u64);
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
            self.stdout.extend_from_slice(&bytes[..room]);
        }
        if stream == Stream::Err {
            self.last_words.take(bytes);
        }
        self.lines[usize::from(stream == Stream::Err)].take(bytes);
        if let Err(error) = self.log.push(bytes) {
            let why = format!("failed to write the log {}: {error}", self.launch.log.display());
            self.stop(Ending::Lost { why });
        }
        (self.seen)(stream, bytes);
    }

    fn stop(&mut self, ending: Ending) {
        if self.stopped.is_none() {
            self.stopped = Some((ending, self.clock.elapsed()));
        }
    }

    /// Finds out whether the child must stop, and tells the helper.
    fn enforce(&mut self, now: Duration, helper: &mut Helper<'_>) {
        if self.stopped.is_none()
            && let Some(ending) = self.breach(now)
        {
            self.stop(ending);
        }
        let Some((ending, _)) = &self.stopped else { return };
        let at_once = self.host.cancel.is_insisted() || matches!(ending, Ending::Flooded { .. });
        let wish = if at_once { Told::Kill } else { Told::Term };
        if wish > self.told {
            helper.tell(if at_once { KILL } else { TERM });
            self.told = wish;
        }
    }

    fn breach(&self, now: Duration) -> Option<Ending> {
        let limits = &self.launch.limits;
        let silent_for = now.saturating_sub(self.last_output.unwrap_or_default());
        let ran_for_ms = milliseconds(now);
        let last_output_ago_ms = self.last_output.map(|last| milliseconds(now.saturating_sub(last)));
        let lines = self.lines();
        if self.host.cancel.is_asked() {
            Some(Ending::Cancelled)
        } else if self.log.total() > limits.hard_output {
            Some(Ending::Flooded { bytes: self.log.total() })
        } else if now >= limits.wall {
            Some(Ending::TimedOut { ran_for_ms, last_output_ago_ms, lines, last_error: None })
        } else if limits.idle.is_some_and(|idle| silent_for >= idle) {
            Some(Ending::Idle { ran_for_ms, last_output_ago_ms, lines, last_error: None })
        } else {
            None
        }
    }

    fn lines(&self) -> u64 {
        self.lines.iter().map(Lines::count).sum()
    }

    fn is_overdue(&self, now: Duration) -> bool {
        let longest = self.launch.limits.grace.saturating_add(PATIENCE);
        self.stopped.as_ref().is_some_and(|(_, since)| now.saturating_sub(*since) > longest)
    }

    fn next_check(&self, now: Duration) -> Duration {
        let limits = &self.launch.limits;
        if self.stopped.is_some() {
            return TICK;
        }
        let wall = limits.wall.saturating_sub(now);
        let idle = limits.idle.map(|idle| (self.last_output.unwrap_or_default() + idle).saturating_sub(now));
        TICK.min(wall).min(idle.unwrap_or(TICK)).max(Duration::from_millis(1))
    }

    fn into_ended(self, answer: &Result<Answer, String>) -> Ended {
        let lines = self.lines();
        let stopped = self.stopped.map(|(ending, _)| ending);
        let (mut ending, strays, mut level) = settle(answer, stopped);
        // What it said when it was asked to end belongs to it.
        if let Ending::TimedOut { last_error, .. } | Ending::Idle { last_error, .. } = &mut ending {
            *last_error = self.last_words.line();
        }
        let turn = match answer {
            Ok(Answer::Ended { turn, .. } | Answer::NotStarted { turn, .. }) => *turn,
            Ok(Answer::Listening { .. } | Answer::NoNetwork { .. }) | Err(_) => 0,
        };
        level.why.extend(self.weaker);
        let log = self.log.finish().unwrap_or_else(|error| {
            ending = Ending::Lost { why: format!("failed to write the log {}: {error}", self.launch.log.display()) };
            log::absent(&self.launch.log)
        });
        Ended {
            turn,
            ending,
            took: self.clock.elapsed(),
            stdout: self.stdout,
            stdout_total: self.stdout_total,
            lines,
            log,
            strays,
            level,
            contacts: self.contacts,
        }
    }
}

/// What the helper's answer and our own stop together mean.
fn settle(answer: &Result<Answer, String>, stopped: Option<Ending>) -> (Ending, u32, Level) {
    match answer {
        Ok(Answer::Ended { code, signal, strays, left, level, .. }) => {
            let ending = match (stopped, code, signal) {
                _ if *left > 0 => Ending::Lost { why: format!("{left} of its processes could not be ended") },
                (Some(stopped), _, _) => stopped,
                (None, Some(code), _) => Ending::Exited { code: *code },
                (None, None, Some(signal)) => Ending::Signalled { signal: *signal },
                (None, None, None) => Ending::Lost { why: "the box helper could not read its status".to_owned() },
            };
            (ending, *strays, level.clone())
        }
        Ok(Answer::NotStarted { why, .. }) => {
            (Ending::NotStarted { why: why.clone() }, 0, Level::none("nothing was started"))
        }
        Ok(Answer::Listening { .. }) => {
            let why = "the box helper said nothing of the child's end".to_owned();
            (Ending::Lost { why }, 0, Level::none("the box helper did not say what it enforced"))
        }
        Ok(Answer::NoNetwork { why }) | Err(why) => {
            (Ending::Lost { why: why.clone() }, 0, Level::none("the box helper did not say what it enforced"))
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_last_line_counts() {
        let mut lines = Lines::default();
        lines.take(b"a\nb");
        assert_eq!(lines.count(), 2);
        lines.take(b"c\n");
        assert_eq!(lines.count(), 2);
        lines.take(b"");
        assert_eq!(lines.count(), 2);
    }

    #[test]
    fn our_stop_explains_the_signal_it_caused_but_not_a_lost_helper() {
        let killed = |left| {
            Ok(Answer::Ended { turn: 0, code: None, signal: Some(15), strays: 2, left, level: Level::none("test") })
        };
        let (ending, strays, _) = settle(&killed(0), Some(Ending::Cancelled));
        assert_eq!((ending, strays), (Ending::Cancelled, 2));
        assert_eq!(settle(&killed(0), None).0, Ending::Signalled { signal: 15 });
        assert!(matches!(settle(&killed(1), Some(Ending::Cancelled)).0, Ending::Lost { .. }));
        assert!(matches!(settle(&Err("gone".into()), Some(Ending::Cancelled)).0, Ending::Lost { .. }));
    }
}
