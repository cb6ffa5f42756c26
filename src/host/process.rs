//! Running a program to its end: limits, a bounded log, and nothing left behind.
//!
//! Every untrusted program (checks, verifiers, agents, the snapshot's git) is started through [`run_to_end`]. The
//! child's whole tree is gone when it returns, whatever the ending. The work is shared with the box helper
//! ([`super::sandbox`]): we read the output and watch the limits, the helper owns the tree and ends it, also when we die.

pub mod drive;
mod helper;
mod last_words;
mod lines;
mod log;
pub mod piped;
mod run;

pub use lines::{LONGEST_LINE, Line};

use super::{Host, failpoint, sandbox};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program (looked up on the `PATH` in `env` unless it holds a `/`) and its arguments.
    pub argv: Vec<OsString>,
    /// Where it runs; absolute.
    pub cwd: PathBuf,
    /// Exactly what it sees as environment.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads; empty means `/dev/null`.
    pub stdin: Vec<u8>,
    /// Where its output is kept; made anew, readable by us only. Must not lie where the child can write.
    pub log: PathBuf,
    /// How many bytes of its standard output to hold in memory, from the start.
    pub capture: u64,
    /// When to stop it.
    pub limits: Limits,
    /// What it may touch.
    pub profile: sandbox::Profile,
}

/// When a child is stopped, and how much of it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run, from its launch.
    pub wall: Duration,
    /// How long it may be silent on both outputs.
    pub idle: Option<Duration>,
    /// How long it may take to end after TERM before it is killed.
    pub grace: Duration,
    /// How many bytes of output the log file keeps: the start and the end; the rest is counted.
    pub log_bytes: u64,
    /// How many bytes it may write at all.
    pub hard_output: u64,
}

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "kind")]
pub enum Ending {
    /// By itself, with this exit code.
    Exited {
        /// 0 to 255.
        code: i32,
    },
    /// By a signal that was not ours.
    Signalled {
        /// The signal's number.
        signal: i32,
    },
    /// Stopped by us: it ran past its wall-clock limit. Holds what was measured, never the limit.
    TimedOut {
        /// Milliseconds from launch to the stop.
        ran_for_ms: u64,
        /// Milliseconds from its last output to the stop; absent if it never wrote.
        last_output_ago_ms: Option<u64>,
        /// Lines on both outputs until then.
        lines: u64,
        /// The last line of its standard error, without secrets, escaped and short.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_error: Option<String>,
    },
    /// Stopped by us: it was silent for too long.
    Idle {
        /// Milliseconds from launch to the stop.
        ran_for_ms: u64,
        /// Milliseconds from its last output to the stop; absent if it never wrote.
        last_output_ago_ms: Option<u64>,
        /// Lines on both outputs until then.
        lines: u64,
        /// The last line of its standard error, without secrets, escaped and short.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_error: Option<String>,
    },
    /// Stopped by us: it wrote too much.
    Flooded {
        /// Bytes on both outputs when it was stopped.
        bytes: u64,
    },
    /// It never ran.
    NotStarted {
        /// What stood in the way.
        why: String,
    },
    /// The user interrupted us.
    Cancelled,
    /// We do not know how it ended: never a pass, and not the child's fault.
    Lost {
        /// What happened.
        why: String,
    },
}

/// Which output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What is known about a child that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Which command it was, from 0; of several ([`run_in_turn`]) the last one that was started or was to be.
    pub turn: usize,
    /// How it ended.
    pub ending: Ending,
    /// From launch until its tree was gone.
    pub took: Duration,
    /// The start of its standard output, as much as was asked for.
    pub stdout: Vec<u8>,
    /// All bytes of its standard output.
    pub stdout_total: u64,
    /// Lines on both outputs; an unfinished last line counts.
    pub lines: u64,
    /// Its output on disk.
    pub log: LogFile,
    /// How many processes it left behind (or, when it was stopped, that did not follow the request) and were killed.
    pub strays: u32,
    /// The box it ran in.
    pub level: sandbox::Level,
    /// With a listed network: what it asked for there, refused places first.
    pub contacts: Vec<sandbox::Contact>,
}

/// A child's output on disk: both streams as they arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Where.
    pub path: PathBuf,
    /// Bytes the child wrote.
    pub bytes_total: u64,
    /// Bytes of these in the file; if fewer, one line in the middle says how many were left out.
    pub bytes_kept: u64,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
}

impl Limits {
    /// This long and no longer; 5 s to end politely, 8 MiB of log, 1 GiB of output, silence allowed.
    pub fn within(wall: Duration) -> Self {
        Self { wall, idle: None, grace: Duration::from_secs(5), log_bytes: 8 << 20, hard_output: 1 << 30 }
    }
}

impl Ending {
    /// True only for exit code 0.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Exited { code: 0 })
    }

    /// Its stable name, as it is recorded.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Exited { .. } => "exited",
            Self::Signalled { .. } => "signalled",
            Self::TimedOut { .. } => "timed-out",
            Self::Idle { .. } => "idle",
            Self::Flooded { .. } => "flooded",
            Self::NotStarted { .. } => "not-started",
            Self::Cancelled => "cancelled",
            Self::Lost { .. } => "lost",
        }
    }

    /// One clause for people: what happened, as measured.
    pub fn sentence(&self) -> String {
        match self {
            Self::Exited { code } => format!("exited with code {code}"),
            Self::Signalled { signal } => match signal_hook::low_level::signal_name(*signal) {
                Some(name) => format!("ended by {name} (signal {signal})"),
                None => format!("ended by signal {signal}"),
            },
            Self::TimedOut { ran_for_ms, last_output_ago_ms, lines, last_error } => {
                let output = output(*last_output_ago_ms, *lines);
                format!(
                    "stopped, still running after {}: {output}{}",
                    seconds(*ran_for_ms),
                    own_words(last_error.as_ref())
                )
            }
            Self::Idle { ran_for_ms, last_output_ago_ms, lines, last_error } => {
                let output = output(*last_output_ago_ms, *lines);
                format!(
                    "stopped for silence after {}: {output}{}",
                    seconds(*ran_for_ms),
                    own_words(last_error.as_ref())
                )
            }
            Self::Flooded { bytes } => format!("stopped after writing {bytes} bytes"),
            Self::NotStarted { why } => format!("not started: {why}"),
            Self::Cancelled => "stopped by an interrupt".to_owned(),
            Self::Lost { why } => format!("ending unknown: {why}"),
        }
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

fn own_words(last_error: Option<&String>) -> String {
    last_error.map_or_else(String::new, |said| format!("; its last words on standard error: {said}"))
}

fn output(last_ago_ms: Option<u64>, lines: u64) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    match last_ago_ms {
        Some(ago) => format!("last output {} ago, {lines} line{plural}", seconds(ago)),
        None => "no output".to_owned(),
    }
}

/// What the box enforces on this machine, shown by a child that does nothing.
pub fn probe_box(host: &Host) -> sandbox::Level {
    let Ok(folder) = tempfile::tempdir_in(&host.scratch) else {
        return sandbox::Level::none(format!("{} cannot be written", host.scratch.display()));
    };
    let launch = Launch {
        argv: vec!["true".into()],
        cwd: host.scratch.clone(),
        env: host.env.for_child(),
        stdin: Vec::new(),
        log: folder.path().join("probe.log"),
        capture: 0,
        limits: Limits::within(Duration::from_secs(20)),
        profile: sandbox::Profile::checks(Vec::new()),
    };
    let ended = run_to_end(host, &launch);
    if ended.ending.is_success() {
        ended.level
    } else {
        sandbox::Level::none(format!("an empty child {}", ended.ending.sentence()))
    }
}

/// Runs a program until it and everything it started have ended.
///
/// Infallible: what goes wrong is an [`Ending`]. Blocks for at most the wall limit plus the grace plus a few seconds;
/// less after an interrupt ([`Host::cancel`]): asked once means TERM and the grace, insisted means KILL.
pub fn run_to_end(host: &Host, launch: &Launch) -> Ended {
    run_watched(host, launch, &mut |_, _| {})
}

/// As [`run_to_end`], showing each piece of output to `seen` as it arrives.
pub fn run_watched(host: &Host, launch: &Launch, seen: &mut dyn FnMut(Stream, &[u8])) -> Ended {
    failpoint::pass(host);
    let ended = run::run(host, launch, &[], seen);
    failpoint::pass(host);
    ended
}

/// As [`run_to_end`], for several commands of one launch: each of `next` is started, in a box of the same profile, where
/// the command before it succeeded and nothing of it is left. Limits, log and capture are those of all together; input
/// goes to the first one. Spares the start of a helper for each.
pub fn run_in_turn(host: &Host, launch: &Launch, next: &[Vec<OsString>]) -> Ended {
    failpoint::pass(host);
    let ended = run::run(host, launch, next, &mut |_, _| {});
    failpoint::pass(host);
    ended
}

/// As [`run_to_end`], showing each line of output to `seen` once it is complete, while the program still runs. An
/// unfinished last line is shown after its end.
pub fn run_lines(host: &Host, launch: &Launch, seen: &mut dyn FnMut(Stream, Line<'_>)) -> Ended {
    let mut lines = lines::Splitter::default();
    let ended = run::run(host, launch, &[], &mut |stream, bytes| lines.take(stream, bytes, seen));
    lines.finish(seen);
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_states_what_was_measured() {
        for (ending, sentence) in [
            (Ending::Exited { code: 3 }, "exited with code 3"),
            (Ending::Signalled { signal: 11 }, "ended by SIGSEGV (signal 11)"),
            (
                Ending::TimedOut {
                    ran_for_ms: 50_123,
                    last_output_ago_ms: Some(41_070),
                    lines: 212,
                    last_error: Some("connect: refused".into()),
                },
                "stopped, still running after 50.1 s: last output 41.0 s ago, 212 lines; its last words on standard error: connect: refused",
            ),
            (
                Ending::Idle { ran_for_ms: 900, last_output_ago_ms: None, lines: 0, last_error: None },
                "stopped for silence after 0.9 s: no output",
            ),
            (Ending::NotStarted { why: "no such program".into() }, "not started: no such program"),
        ] {
            assert_eq!(ending.sentence(), sentence);
            let json = serde_json::to_string(&ending).unwrap();
            assert_eq!(serde_json::from_str::<Ending>(&json).unwrap(), ending, "{json}");
            assert!(!ending.is_success());
            assert!(json.contains(&format!(r#""kind":"{}""#, ending.code())), "{json}");
        }
        assert!(Ending::Exited { code: 0 }.is_success());
        let stopped = Ending::TimedOut { ran_for_ms: 1, last_output_ago_ms: None, lines: 2, last_error: None };
        let json = serde_json::to_value(stopped).unwrap();
        assert_eq!(json["kind"], "timed-out");
        assert_eq!(json["ran-for-ms"], 1);
    }
}
