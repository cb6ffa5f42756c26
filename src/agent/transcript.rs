//! What an agent program really did, read from the transcript that it keeps on disk.
//!
//! Seven programs, one normalised event. A transcript is hostile input and often damaged: it is read in bounded memory, a
//! bad line is counted and named by its number, and whatever is missing makes the ledger *incomplete*, never empty and
//! fine. Text inside it is data: it is never followed, and never an event.

mod builder;
mod claude;
mod codex;
mod copilot;
mod database;
mod event;
mod gemini;
mod input;
mod lines;
mod opencode;
mod pi;
mod qwen;
mod session;
mod wire;

pub use event::{Actor, Excerpt, ExitSource, ToolEvent, ToolKind, ToolStatus};
pub use lines::LONGEST_LINE;
pub use session::{Found, Opening, Wanted, files_of_session, find_session, transcript_folders};

use crate::host::env::Env;
use builder::Builder;
use lines::{Lines, Piece};
use session::find_by_id;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use wire::Record;

/// How many damaged lines are named; the others are counted.
const NAMED_LINES: usize = 20;

/// How many records a file may open with before its program must be known.
const UNKNOWN_RECORDS: u64 = 64;

/// The program that wrote a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// GitHub Copilot's command line.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    Opencode,
    /// Pi.
    Pi,
    /// Qwen Code.
    Qwen,
}

/// A line that could not be used.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Damage {
    /// Which of the transcript's files, by its index.
    pub file: usize,
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it, in words.
    pub why: String,
}

/// One session of one agent program.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// Who wrote it.
    pub dialect: Dialect,
    /// The files it was read from: the session's own first, then those of its sub-agents.
    pub files: Vec<PathBuf>,
    /// The session's id as recorded.
    pub session: Option<String>,
    /// Where the session began to work, as recorded.
    pub cwd: Option<String>,
    /// The first record's time, in milliseconds since 1970 UTC.
    pub began: Option<i64>,
    /// Tool calls, in the order they were recorded.
    pub events: Vec<ToolEvent>,
    /// What the agent was asked last, as far as that can be told from what programs put there themselves.
    pub asked: Option<String>,
    /// What the agent said last on its own main line, at most 64 KiB of it.
    pub last_words: Option<String>,
    /// Intact records.
    pub records: u64,
    /// Records of kinds we do not know or need, by kind.
    pub skipped: BTreeMap<String, u64>,
    /// Damaged lines, the first twenty of them.
    pub damaged: Vec<Damage>,
    /// All damaged lines.
    pub damaged_lines: u64,
    /// Why the ledger is incomplete; empty if nothing speaks against it.
    pub gaps: Vec<String>,
}

/// Why a file is no transcript at all.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// It cannot be opened or read.
    #[error("cannot read the transcript {}: {why}; name a file that this user may read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// No known program wrote it.
    #[error(
        "{} is not a transcript of any program we can read (claude, codex, copilot, gemini, opencode, pi, qwen): {why}",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        why: String,
    },
    /// A file of another program among the session's files.
    #[error("{} was written by {found:?}, but the session by {expected:?}: not read", path.display())]
    Mixed {
        /// The file.
        path: PathBuf,
        /// Who wrote it.
        found: Dialect,
        /// Who wrote the first one.
        expected: Dialect,
    },
    /// A database that somebody is at work on, or that only a writer could read.
    #[error("cannot read the database {}: {why}; end the program that uses it, or wait, and run this again", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// Who, or what, is in the way.
        why: String,
    },
    /// A database with damage: no part of it is believed.
    #[error("the database {} is damaged: {why}; restore it from a copy", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The library's reason.
        why: String,
    },
    /// A database holds several sessions, and none was named.
    #[error(
        "{} holds {count} sessions; name one of them with --session, of the newest: {}",
        path.display(),
        newest.join(", ")
    )]
    Several {
        /// The file.
        path: PathBuf,
        /// How many there are.
        count: usize,
        /// The newest ones' ids.
        newest: Vec<String>,
    },
    /// A session is not where it was looked for.
    #[error("{} holds no session `{session}`; `countersign transcript show` without --session names what is there", path.display())]
    NoSession {
        /// The file.
        path: PathBuf,
        /// The session's id.
        session: String,
    },
}

impl Transcript {
    /// True if nothing speaks against every tool call of the session being among the events.
    pub fn is_complete(&self) -> bool {
        self.gaps.is_empty() && self.damaged_lines == 0
    }
}

/// Reads a session: its own file first, then the files of its sub-agents. Streams; holds no file in memory.
///
/// # Errors
/// A file cannot be read, or it is no transcript of a known program. Damage inside a file is part of the result.
pub fn read_transcript(files: &[PathBuf]) -> Result<Transcript, TranscriptError> {
    if let [only] = files
        && database::is_database(only)
    {
        return opencode::read(only, None);
    }
    let mut builder = Builder::default();
    let mut dialect = None;
    for (index, path) in files.iter().enumerate() {
        let found = read_file(path, index, dialect, &mut builder)?;
        if let Some(expected) = dialect.filter(|expected| *expected != found) {
            return Err(TranscriptError::Mixed { path: path.clone(), found, expected });
        }
        dialect = Some(found);
    }
    let Some(dialect) = dialect else {
        return Err(TranscriptError::Foreign { path: PathBuf::new(), why: "no file was named".to_owned() });
    };
    Ok(builder.finish(dialect, files.to_vec()))
}

/// Reads one of the sessions that a file holds, with its sub-agents' files. Only OpenCode's database holds several; in any
/// other file, the session must be this one.
///
/// # Errors
/// As [`read_transcript`], or the file does not hold that session.
pub fn read_session(file: &Path, session: &str) -> Result<Transcript, TranscriptError> {
    if database::is_database(file) {
        return opencode::read(file, Some(session));
    }
    let transcript = read_transcript(&files_of_session(file))?;
    // What a session resumes may stand before its own id.
    let named = session::opening(file).is_some_and(|opening| opening.sessions.iter().any(|id| id == session));
    if named || transcript.session.as_deref() == Some(session) {
        return Ok(transcript);
    }
    Err(TranscriptError::NoSession { path: file.to_owned(), session: session.to_owned() })
}

/// Finds a session by its id alone, wherever agent programs keep what they record: in files of their own, else in OpenCode's
/// database. [`read_session`] reads either.
///
/// # Errors
/// There is a database, and it cannot be read.
pub fn find_kept(env: &Env, session: &str) -> Result<Found, TranscriptError> {
    match find_by_id(&transcript_folders(env), session) {
        Found::Nothing => Ok(database_with(env, session)?.map_or(Found::Nothing, Found::One)),
        found => Ok(found),
    }
}

/// OpenCode's database, if it is there and holds this session.
fn database_with(env: &Env, session: &str) -> Result<Option<PathBuf>, TranscriptError> {
    let Some(path) = opencode::place(env).filter(|path| database::is_database(path)) else { return Ok(None) };
    Ok(opencode::holds(&path, session)?.then_some(path))
}

fn read_file(
    path: &Path,
    index: usize,
    expected: Option<Dialect>,
    builder: &mut Builder,
) -> Result<Dialect, TranscriptError> {
    let unreadable = |why| TranscriptError::Unreadable { path: path.to_owned(), why };
    let mut lines = Lines::new(File::open(path).map_err(unreadable)?);
    builder.open_file(index);
    let mut dialect = None;
    let mut unknown = 0;
    while let Some((line, piece)) = lines.next_line().map_err(unreadable)? {
        let bytes = match piece {
            Piece::Line(bytes) => bytes,
            Piece::Bad(why) => {
                builder.damage(line, why);
                continue;
            }
        };
        for record in wire::records(bytes, |why| builder.damage(line, why)) {
            if dialect.is_none() {
                dialect = detect(&record);
            }
            if let Some(dialect) = dialect {
                builder.take(dialect, &record, line);
            } else {
                // A session can open with records that every program could have written.
                unknown += 1;
                builder.skip("unknown");
            }
        }
        if dialect.is_none() && unknown > UNKNOWN_RECORDS {
            break;
        }
    }
    dialect.or(expected.filter(|_| unknown == 0)).ok_or_else(|| {
        let why = if unknown == 0 {
            format!("it has no intact record in {} lines", lines.number())
        } else {
            format!("none of its first {unknown} records has the shape of one")
        };
        TranscriptError::Foreign { path: path.to_owned(), why }
    })
}

/// Whose record this is, if its shape says so.
fn detect(record: &Record<'_>) -> Option<Dialect> {
    let kind = record.kind();
    if record.has("payload") && record.has("timestamp") {
        return Some(Dialect::Codex);
    }
    if kind.is_some_and(|kind| kind.starts_with("session.")) && record.has("data") {
        return Some(Dialect::Copilot);
    }
    if kind == Some("session") && record.has("version") && record.has("id") {
        return Some(Dialect::Pi);
    }
    if record.has("projectHash") && record.has("sessionId") {
        return Some(Dialect::Gemini);
    }
    if record.has("provenance") && record.has("sessionId") {
        return Some(Dialect::Qwen);
    }
    let spoken = matches!(kind, Some("user" | "assistant")) && record.has("message");
    let enqueued = matches!(kind, Some("queue-operation" | "summary" | "system" | "attachment"));
    (spoken || (enqueued && (record.has("sessionId") || record.has("leafUuid")))).then_some(Dialect::Claude)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod samples;
