//! The report as read, and why a text is not one.

use super::blocks::Documents;
use crate::host::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest report read, in bytes (2 MiB; real ones stay below 100 kB). A longer one is refused whole: a cut report
/// would be another report.
pub const MAX_REPORT_BYTES: usize = 2 * 1024 * 1024;

/// The fields every `SUCCESS` report carries, in the order the format gives (agentheim.md §3.2).
pub const SUCCESS_FIELDS: [&str; 9] = [
    "TASK_ID",
    "SUMMARY",
    "FILES_CHANGED",
    "FILE_LIST",
    "ADRS_WRITTEN",
    "TESTS_ADDED",
    "TESTS_PASSING",
    "TDD_SKIPPED",
    "CONCEPT_CANDIDATE",
];

/// The fields only generation A has (agentheim.md §3.1).
pub const GENERATION_A_FIELDS: [&str; 2] = ["BC_README_UPDATED", "NEW_BACKLOG_ITEMS"];

/// What a worker says came of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The work is finished.
    Success,
    /// The worker hands the task back with a reason; no work is offered.
    Bounced,
    /// The worker could not finish; partial work may remain.
    Failed,
}

impl Outcome {
    /// Reads the word after `RESULT:`. Upper case only, as in the format.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "SUCCESS" => Some(Self::Success),
            "BOUNCED" => Some(Self::Bounced),
            "FAILED" => Some(Self::Failed),
            _ => None,
        }
    }

    /// The word as it stands in a report.
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Bounced => "BOUNCED",
            Self::Failed => "FAILED",
        }
    }

    /// The fields a report with this outcome must carry.
    pub fn required_fields(self) -> &'static [&'static str] {
        match self {
            Self::Success => &SUCCESS_FIELDS,
            Self::Bounced => &["TASK_ID", "REASON"],
            Self::Failed => &["TASK_ID", "ERROR"],
        }
    }
}

/// Which generation of the format a report is written in (agentheim.md §0, §3.1, §3.2).
///
/// What a worker was *allowed* to write is fixed by the base commit, never by this (RULINGS 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Generation {
    /// Header lines only: all twelve of the first format, no block, no end line.
    A,
    /// Nine header lines and four blocks, or a bare bounce or failure.
    C,
    /// As C with the header repeated after the blocks, or the `RESULT_END` line, or both.
    E,
}

/// One `NAME: value` line of a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Field {
    /// The name, `[A-Z_]+`.
    pub name: String,
    /// The value without surrounding blanks.
    pub value: String,
}

/// A named block that the format does not know; kept, never acted upon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtraBlock {
    /// The name after the four backticks.
    pub name: String,
    /// The lines between the fences.
    pub content: String,
}

/// The blocks of a `SUCCESS` report of generation C or E.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Blocks {
    /// The JSON array as it came; [`super::read_delta`] gives its entries a shape.
    pub readme_delta: Vec<serde_json::Value>,
    /// Decision records to write.
    pub adrs: Documents,
    /// Markdown for the task file, with its own heading.
    pub outcome: String,
    /// Task files to put on the board.
    pub backlog_items: Documents,
    /// Blocks after the four.
    pub extra: Vec<ExtraBlock>,
}

/// Where the header stood and what had to be forgiven.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Layout {
    /// A complete header stands before the blocks.
    pub leading_header: bool,
    /// A complete header stands after the blocks.
    pub trailing_header: bool,
    /// The `RESULT_END` line is there.
    pub end_sentinel: bool,
    /// Prose fields that differ between the two headers; the leading one is used.
    pub soft_mismatch: Vec<String>,
    /// `implicit-close:<BLOCK>` for a last block closed on the worker's behalf; empty on a clean report.
    pub repairs: Vec<String>,
    /// Values that a later line with the same name replaced.
    pub overwritten: Vec<Field>,
    /// How many incomplete headers were passed over beside a complete one.
    pub incomplete_copies: usize,
}

/// What was noticed about the bytes of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EncodingNote {
    /// A UTF-8 byte order mark was taken off the front.
    ByteOrderMark,
    /// Lines end in CRLF; read as LF.
    Crlf,
    /// Invalid UTF-8 reads as U+FFFD, except in `FILE_LIST`, whose bytes are kept.
    InvalidUtf8,
    /// The text holds NUL bytes.
    Nul,
}

/// A worker's report, read and well-formed. What it says may still be false or nonsense: see [`super::examine()`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    /// What the worker says came of it.
    pub outcome: Outcome,
    /// The generation of the format it is written in.
    pub generation: Generation,
    /// The task the report is about, as written.
    pub task_id: String,
    /// One line about the work; `SUCCESS` only.
    pub summary: Option<String>,
    /// All header fields in order, unknown ones too; `RESULT` is not one of them.
    pub fields: Vec<Field>,
    /// The entries of `FILE_LIST` byte for byte as written, not yet resolved: see [`super::file_list`].
    pub file_list: Vec<RepoPath>,
    /// The blocks; none in generation A and in bounced or failed reports.
    pub blocks: Option<Blocks>,
    /// Where the header stood and what was forgiven.
    pub layout: Layout,
    /// What was noticed about the bytes.
    pub encoding: Vec<EncodingNote>,
    /// Lines outside every block that carry no field: kept so that nothing a worker said is lost.
    pub unread: Vec<String>,
}

impl Report {
    /// The value of a header field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|f| f.name == name).map(|f| f.value.as_str())
    }

    /// Why a bounced or failed worker stopped: its `REASON` or `ERROR` and the loose lines that go on from it.
    pub fn explanation(&self) -> Option<String> {
        let first = match self.outcome {
            Outcome::Success => return None,
            Outcome::Bounced => self.field("REASON")?,
            Outcome::Failed => self.field("ERROR")?,
        };
        let lines = std::iter::once(first).chain(self.unread.iter().map(String::as_str));
        Some(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"))
    }

    /// True if a board of `generation` expects a report of this shape.
    ///
    /// A bounce or failure without `RESULT_END` is written alike in A and C and fits both.
    pub fn fits(&self, generation: Generation) -> bool {
        let bare = self.outcome != Outcome::Success && !self.layout.end_sentinel;
        self.generation == generation || (bare && generation == Generation::A)
    }
}

/// Why a text is not a report. All but the last are the peer's own codes (agentheim.md §3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RejectionCode {
    /// Nothing but blanks.
    EmptyResult,
    /// The text does not begin with a `RESULT:` line or a block.
    MissingResultLine,
    /// The word after `RESULT:` is not one of the three.
    UnknownResult,
    /// A required field has no line.
    MissingField,
    /// One of the four blocks is not where it belongs.
    MissingBlock,
    /// `README_DELTA` is not a JSON array.
    MalformedBlock,
    /// A block has no end.
    TruncatedBlock,
    /// A four-backtick line outside every block that opens none.
    StrayFence,
    /// Two headers disagree on a fact.
    HeaderMismatch,
    /// Two headers, or a header and blocks, that cannot belong to one report.
    LayoutConflict,
    /// Longer than [`MAX_REPORT_BYTES`]. Ours: the peer knows no limit.
    TooLarge,
}

impl RejectionCode {
    /// The peer's ten codes.
    pub const PEER: [Self; 10] = [
        Self::EmptyResult,
        Self::MissingResultLine,
        Self::UnknownResult,
        Self::MissingField,
        Self::MissingBlock,
        Self::MalformedBlock,
        Self::TruncatedBlock,
        Self::StrayFence,
        Self::HeaderMismatch,
        Self::LayoutConflict,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyResult => "empty-result",
            Self::MissingResultLine => "missing-result-line",
            Self::UnknownResult => "unknown-result",
            Self::MissingField => "missing-field",
            Self::MissingBlock => "missing-block",
            Self::MalformedBlock => "malformed-block",
            Self::TruncatedBlock => "truncated-block",
            Self::StrayFence => "stray-fence",
            Self::HeaderMismatch => "header-mismatch",
            Self::LayoutConflict => "layout-conflict",
            Self::TooLarge => "too-large",
        }
    }
}

impl fmt::Display for RejectionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is not a report, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
#[error("{code}: {reason}")]
pub struct Rejection {
    /// The stable code.
    pub code: RejectionCode,
    /// What is wrong and what to write instead.
    pub reason: String,
    /// The header field or the block it is about.
    pub field: Option<String>,
}

impl Rejection {
    pub(super) fn new(code: RejectionCode, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), field: None }
    }

    pub(super) fn about(code: RejectionCode, field: &str, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), field: Some(field.to_owned()) }
    }
}
