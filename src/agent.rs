//! A program that reads a brief and answers.
//!
//! It is trusted with nothing: it runs in the box, in a room that it may read and not write, with a private home that is
//! removed afterwards, and with the variables that were named for it. What it prints is an answer only if it ended by
//! itself with exit code 0.

mod command;
pub mod kit;
pub mod transcript;

use crate::host::process::{Ending, LogFile};
use crate::host::sandbox::Level;
use std::path::Path;
use std::time::Duration;

pub use command::ask_command;

/// How many bytes of an answer are held. Far more than a verdict needs, so that a longer one can be named as such.
pub const LARGEST_ANSWER: u64 = 4 << 20;

/// What is asked, of which program, where.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Program and arguments; no shell.
    pub command: &'a [String],
    /// Variables it may see beside the allow-list.
    pub env: &'a [String],
    /// True if it may reach the network.
    pub network: bool,
    /// False: no box; the level says so.
    pub confined: bool,
    /// What it reads on standard input.
    pub brief: &'a [u8],
    /// Where it runs; absolute.
    pub room: &'a Path,
    /// How long it may take.
    pub wall: Duration,
    /// How many bytes of its output the log keeps.
    pub log_bytes: u64,
    /// Where its output is kept.
    pub log: &'a Path,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct AgentReply {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output, at most [`LARGEST_ANSWER`] bytes of it.
    pub answer: Vec<u8>,
    /// All bytes of its standard output; more than `answer` holds if it was cut.
    pub answer_bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// How many processes it left behind, ended by us.
    pub strays: u32,
    /// What the box enforced.
    pub level: Level,
    /// Both its outputs.
    pub log: LogFile,
}

/// Why a program gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Stable, in kebab case.
    pub code: &'static str,
    /// One sentence.
    pub why: String,
}

impl AgentReply {
    /// The answer, or why there is none. A perfect answer of a program that failed is no answer.
    ///
    /// # Errors
    /// The program did not end by itself with exit code 0, or it wrote more than is held.
    pub fn heard(&self) -> Result<&[u8], Silence> {
        if !self.ending.is_success() {
            let log = self.log.path.display();
            let why = format!("the verifier gave no answer: it {}; its output is in {log}", clause(&self.ending));
            return Err(Silence { code: self.ending.code(), why });
        }
        if self.answer_bytes > self.answer.len() as u64 {
            let total = self.answer_bytes;
            let why = format!("the verifier wrote {total} bytes; at most {LARGEST_ANSWER} are an answer");
            return Err(Silence { code: "too-long", why });
        }
        Ok(&self.answer)
    }
}

fn clause(ending: &Ending) -> String {
    match ending {
        Ending::NotStarted { why } => format!("was not started: {why}"),
        Ending::TimedOut { .. } | Ending::Idle { .. } | Ending::Flooded { .. } | Ending::Cancelled => {
            format!("was {}", ending.sentence())
        }
        Ending::Lost { why } => format!("ended in a way we do not know: {why}"),
        Ending::Signalled { .. } => format!("was {}", ending.sentence()),
        Ending::Exited { .. } => ending.sentence(),
    }
}
