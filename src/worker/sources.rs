//! Which copy of a report to read: the sidecar file, the transcript, the notification (agentheim.md §3.4).

use super::parse::parse_report;
use super::report::{Rejection, Report};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;

#[cfg(test)]
mod tests;

/// The folder of the sidecars, from the project root.
pub const SIDECAR_FOLDER: &str = ".worktrees/.results";

/// Where a copy of a report came from, most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The file the worker wrote: exact bytes.
    Sidecar,
    /// The worker's final message in its transcript.
    Transcript,
    /// The completion notice: escaped, often without its beginning.
    Notification,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sidecar => "sidecar",
            Self::Transcript => "transcript",
            Self::Notification => "notification",
        })
    }
}

/// One copy. The caller has made sure that it belongs to this attempt and is no link; a missing one has no bytes.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Where it came from.
    pub source: Source,
    /// Its bytes, empty if there is no such copy.
    pub text: &'a [u8],
}

/// Why one copy was not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "why")]
pub enum Refusal {
    /// Nothing but blanks.
    #[error("empty")]
    Empty,
    /// Not a report.
    #[error(transparent)]
    Rejected {
        /// The parser's answer.
        rejection: Rejection,
    },
    /// A report about another task.
    #[error("task-id-mismatch: the report is about {found:?}, the worker was sent for {dispatched:?}")]
    TaskIdMismatch {
        /// The report's `TASK_ID`.
        found: String,
        /// The task the worker was sent for.
        dispatched: String,
    },
}

impl Refusal {
    /// The stable code: `empty`, `task-id-mismatch` or a code of the parser.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Rejected { rejection } => rejection.code.as_str(),
            Self::TaskIdMismatch { .. } => "task-id-mismatch",
        }
    }
}

/// A copy that was tried and not used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Attempt {
    /// The copy.
    pub source: Source,
    /// Why not.
    pub refusal: Refusal,
}

/// The report that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Picked {
    /// The report.
    pub report: Report,
    /// The copy it was read from.
    pub source: Source,
    /// The copies tried before it.
    pub attempts: Vec<Attempt>,
}

/// No copy is a report about this task: the result is lost, which says nothing about the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
#[error("no-valid-source: {}", listed(.attempts))]
pub struct NoValidSource {
    /// Every copy tried, in order.
    pub attempts: Vec<Attempt>,
}

fn listed(attempts: &[Attempt]) -> String {
    if attempts.is_empty() {
        return "no copy of the report was offered".to_owned();
    }
    attempts.iter().map(|a| format!("{} {}", a.source, a.refusal)).collect::<Vec<_>>().join("; ")
}

/// Reads the copies in the order of [`Source`] and takes the first that is a report about `dispatched`.
///
/// `dispatched` is none when a person hands a report over without naming a task; then any task id is taken.
///
/// # Errors
/// [`NoValidSource`] with one entry a candidate.
pub fn pick_report(candidates: &[Candidate<'_>], dispatched: Option<&str>) -> Result<Picked, NoValidSource> {
    let mut ordered: Vec<&Candidate<'_>> = candidates.iter().collect();
    ordered.sort_by_key(|candidate| candidate.source);
    let mut attempts = Vec::new();
    for candidate in ordered {
        match try_candidate(candidate, dispatched) {
            Ok(report) => return Ok(Picked { report, source: candidate.source, attempts }),
            Err(refusal) => attempts.push(Attempt { source: candidate.source, refusal }),
        }
    }
    Err(NoValidSource { attempts })
}

fn try_candidate(candidate: &Candidate<'_>, dispatched: Option<&str>) -> Result<Report, Refusal> {
    if candidate.text.trim_ascii().is_empty() {
        return Err(Refusal::Empty);
    }
    let parsed = match candidate.source {
        Source::Notification => parse_report(&drop_stray_closers(&unescape_entities(candidate.text))),
        Source::Sidecar | Source::Transcript => parse_report(candidate.text),
    };
    let report = parsed.map_err(|rejection| Refusal::Rejected { rejection })?;
    match dispatched {
        Some(dispatched) if report.task_id != dispatched => {
            Err(Refusal::TaskIdMismatch { found: report.task_id, dispatched: dispatched.to_owned() })
        }
        _ => Ok(report),
    }
}

/// Undoes XML escaping in one pass, left to right, so that `&amp;lt;` becomes `&lt;` and no further. What is not an
/// entity of the five or a number of a character stays byte for byte.
pub fn unescape_entities(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.iter().position(|b| *b == b'&') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        // The longest entity is `&#x10FFFF;`; leading zeros beyond that are not written by anyone.
        let end = rest.iter().take(12).position(|b| *b == b';');
        if let Some((c, end)) = end.and_then(|end| entity(&rest[1..end]).map(|c| (c, end))) {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[end + 1..];
        } else {
            out.push(b'&');
            rest = &rest[1..];
        }
    }
    out.extend_from_slice(rest);
    out
}

fn entity(name: &[u8]) -> Option<char> {
    match name {
        b"lt" => return Some('<'),
        b"gt" => return Some('>'),
        b"amp" => return Some('&'),
        b"quot" => return Some('"'),
        b"apos" => return Some('\''),
        _ => {}
    }
    let number = std::str::from_utf8(name.strip_prefix(b"#")?).ok()?;
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    // `from_str_radix` would also take a sign.
    let plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    u32::from_str_radix(digits, radix).ok().filter(|_| plain).and_then(char::from_u32)
}

/// Drops lines that are only `</README_DELTA>` or the like: some transports put them after a block.
fn drop_stray_closers(text: &[u8]) -> Vec<u8> {
    const CLOSERS: [&[u8]; 4] = [b"</README_DELTA>", b"</ADRS>", b"</OUTCOME>", b"</BACKLOG_ITEMS>"];
    let kept = text.split_inclusive(|b| *b == b'\n').filter(|line| !CLOSERS.contains(&line.trim_ascii()));
    kept.flatten().copied().collect()
}

/// Why there is no sidecar for a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("task id {0:?} cannot name a file; use letters, digits, `.`, `_` and `-`")]
pub struct UnsafeTaskId(pub String);

/// Where a worker leaves its report, from the project root: `.worktrees/.results/<task>.iter-<n>.md`.
///
/// The attempt is part of the name, so an earlier attempt's file is never read as this one's.
///
/// # Errors
/// A task id that is not one plain file name (agentheim.md D15).
pub fn sidecar_name(task_id: &str, iteration: NonZeroU32) -> Result<String, UnsafeTaskId> {
    let plain = task_id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if task_id.is_empty() || task_id.starts_with(['.', '-']) || !plain || task_id.len() > 200 {
        return Err(UnsafeTaskId(task_id.to_owned()));
    }
    Ok(format!("{SIDECAR_FOLDER}/{task_id}.iter-{iteration}.md"))
}
