//! A program that reads a brief and answers.
//!
//! It is trusted with nothing: it runs in the box, with a private home, and with the variables that were named for it.
//! A verifier reads the room and begins afresh each time; a worker writes its worktree and may go on with a session.
//! What comes back is an answer only if the program ended by itself with exit code 0 *and*, where it has a terminal
//! event, that event says that the turn is complete.
//!
//! [`PROGRAMS`] has one table for each program we know; [`ask`] is the one skeleton around all of them.

pub mod acp;
mod adapter;
mod aftermath;
mod arguments;
mod asking;
mod choice;
mod command;
mod home;
pub mod kit;
mod locate;
mod login;
mod program;
mod record;
mod role;
mod session;
mod stream;
mod told;
pub mod transcript;

pub use asking::ask;
pub use choice::{Agent, AgentError, AgentKind, settle_agent};
pub use locate::{Located, locate};
pub use program::{PROGRAMS, Program};
pub use record::{AgentRecord, Resumed, TryRecord};
pub use role::Role;
pub use session::Sessions;
pub use told::{Fault, ToolCall, ToolOutcome, Usage};

use crate::host::path::escape;
use crate::host::process::{Ending, LogFile};
use crate::host::sandbox::{Contact, Endpoint, Level};
use std::path::Path;
use std::time::Duration;
use told::End;

/// How many bytes of an answer are held. Far more than a verdict needs, so that a longer one can be named as such.
pub const LARGEST_ANSWER: u64 = 4 << 20;

/// The variable that tells a worker where its report goes.
pub const REPORT_VARIABLE: &str = "COUNTERSIGN_REPORT";

/// The variable by which an agent program of ours knows whose it is: a hook of ours stays out of its way.
pub const WITHIN_VARIABLE: &str = "COUNTERSIGN_WITHIN";

/// What is asked, of whom, where.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Whom; a known program must have been located.
    pub agent: &'a Agent,
    /// What it is asked to be.
    pub role: Role,
    /// The places that the settings let every agent with a listed network reach.
    pub hosts: &'a [Endpoint],
    /// False: no box; the level says so.
    pub confined: bool,
    /// What it reads on standard input.
    pub brief: &'a [u8],
    /// Where it runs; absolute. A worker may write all of it.
    pub room: &'a Path,
    /// A worker's sessions with this task; without them each turn is a fresh session.
    pub sessions: Option<&'a Sessions>,
    /// Where a worker's report goes: its folder is writable too, and [`REPORT_VARIABLE`] names the file.
    pub report: Option<&'a Path>,
    /// How long one try may take.
    pub wall: Duration,
    /// How long it may be silent on both outputs.
    pub idle: Option<Duration>,
    /// How often it is tried again after a failure that it types as transient.
    pub retries: Retries,
    /// How many bytes of its output the log keeps.
    pub log_bytes: u64,
    /// Where its output is kept; of several tries, the last one's.
    pub log: &'a Path,
}

/// When a transient failure is worth another try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// At most so often.
    pub most: u32,
    /// How long to wait before the first; twice as long before each further one.
    pub pause: Duration,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct AgentReply {
    /// How its process ended.
    pub ending: Ending,
    /// Its answer as it came, at most [`LARGEST_ANSWER`] bytes of it. See [`AgentReply::heard`].
    pub answer: Vec<u8>,
    /// All bytes of its answer; more than `answer` holds if it was cut.
    pub answer_bytes: u64,
    /// How long all of it took.
    pub took: Duration,
    /// How many processes it left behind, ended by us.
    pub strays: u32,
    /// What the box enforced.
    pub level: Level,
    /// What it asked for in a listed network, refused places first.
    pub contacts: Vec<Contact>,
    /// Both its outputs.
    pub log: LogFile,
    /// For the receipt.
    pub record: AgentRecord,
    /// The files it read as a whole, as it named them.
    pub opened: Vec<String>,
    /// How its turn ended by its own word; of a plain command, by its exit code.
    end: Option<End>,
    /// Why its stream cannot be trusted, if so.
    broken: Option<String>,
}

/// Why a program gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Stable, in kebab case.
    pub code: &'static str,
    /// One sentence.
    pub why: String,
}

impl Silence {
    /// True if the program could not answer, and another one might: it did not run, or its service failed. A program
    /// that answered badly is never passed over for another.
    pub fn is_outage(&self) -> bool {
        self.code.starts_with("failed-")
            || matches!(self.code, "not-started" | "exited" | "signalled" | "timed-out" | "idle")
    }
}

impl AgentReply {
    /// The answer, or why there is none. A perfect answer of a program that failed is no answer.
    ///
    /// # Errors
    /// The program did not end by itself with exit code 0, its turn did not end well by its own word, or it wrote more
    /// than is held.
    pub fn heard(&self) -> Result<&[u8], Silence> {
        let log = self.log.path.display();
        let name = &self.record.agent;
        if let Some(silence) = self.failure() {
            return Err(silence);
        }
        if !self.ending.is_success() {
            let why = format!("the verifier gave no answer: it {}; its output is in {log}", clause(&self.ending));
            return Err(Silence { code: self.ending.code(), why });
        }
        if let Some(broken) = &self.broken {
            let why = format!("the verifier gave no answer: {broken}; its output is in {log}");
            return Err(Silence { code: "stream-unreadable", why });
        }
        if self.end.is_none() {
            let why = format!(
                "the verifier gave no answer: {name} left with exit code 0, but never said that its turn was complete; its output is in {log}"
            );
            return Err(Silence { code: "no-terminal-event", why });
        }
        if self.answer_bytes > self.answer.len() as u64 {
            let total = self.answer_bytes;
            let why = format!("the verifier wrote {total} bytes; at most {LARGEST_ANSWER} are an answer");
            return Err(Silence { code: "too-long", why });
        }
        Ok(&self.answer)
    }

    /// The failure that the program itself told, if it was not stopped by us.
    fn failure(&self) -> Option<Silence> {
        let Some(End::Failed { event, fault, why }) = &self.end else { return None };
        if !matches!(self.ending, Ending::Exited { .. }) {
            return None;
        }
        let (name, why, log) = (&self.record.agent, escape(why.as_bytes()), self.log.path.display());
        let tries = match self.record.tries.len() {
            0 | 1 => String::new(),
            tries => format!(" in {tries} tries"),
        };
        let why = format!(
            "the verifier gave no answer: {name} says in `{event}` that its turn failed{tries}: {why}; its output is in {log}"
        );
        let code = match fault {
            Fault::Transient => "failed-transient",
            Fault::Credentials => "failed-credentials",
            Fault::Refused => "failed-refused",
            Fault::Limit => "failed-limit",
            Fault::Untyped => "failed-untyped",
        };
        Some(Silence { code, why })
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
