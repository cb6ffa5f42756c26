//! What the grammar lets pass: values, counts, lists and names that a report cannot mean (agentheim.md §3.3 rule 12).
//!
//! A problem here is about the report alone. Whether it denies the claim is the floor's decision.

mod documents;
mod header;

use super::report::{EncodingNote, Report};
use crate::host::path::{escape, is_deceptive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

#[cfg(test)]
mod tests;

/// What is wrong with a report, by a stable name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemCode {
    /// A required field has no value.
    BlankField,
    /// Not a whole number in plain digits.
    NotAnInteger,
    /// Not exactly `yes` or `no`.
    NotYesOrNo,
    /// `SUCCESS` with `TESTS_PASSING: no`: a report that contradicts itself.
    TestsNotPassing,
    /// `TDD_SKIPPED` says neither `no` nor why.
    SkipWithoutReason,
    /// No test added and no reason given.
    TestsUnexplained,
    /// `FILES_CHANGED` is not the number of files in `FILE_LIST`.
    CountMismatch,
    /// A file is listed twice.
    DuplicateFile,
    /// `ADRS_WRITTEN` names other records than the report carries.
    AdrsMismatch,
    /// `BC_README_UPDATED` and `FILE_LIST` disagree.
    ReadmeMismatch,
    /// `CONCEPT_CANDIDATE` is neither `none` nor a name with its artifacts.
    ConceptShape,
    /// A field stands twice with different values; the later one counts.
    DuplicateField,
    /// Two complete headers differ in prose.
    SoftMismatch,
    /// A second header is incomplete and was passed over.
    IncompleteCopy,
    /// Lines outside the blocks that are no field.
    UnreadText,
    /// A block name stands twice; the later one is not used.
    DuplicateBlock,
    /// A file name in a marker that must not be written to.
    UnsafeFileName,
    /// Two files with one name.
    DuplicateFileName,
    /// A file without text.
    EmptyFile,
    /// Text before the first marker; it belongs to no file and is dropped.
    TextBeforeMarker,
    /// An entry or operation of `README_DELTA` without the shape it needs.
    DeltaShape,
    /// `OUTCOME` does not begin with an `## Outcome` heading.
    OutcomeShape,
    /// Invalid UTF-8.
    InvalidUtf8,
    /// NUL bytes.
    NulByte,
    /// Characters in a field that hide or reorder text.
    DeceptiveText,
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One thing wrong with a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ReportProblem {
    /// What kind.
    pub code: ProblemCode,
    /// The field or block it is about.
    pub field: String,
    /// What belongs there.
    pub expected: String,
    /// What stands there, made safe to show and at most 200 characters long.
    pub observed: String,
}

/// Examines a report that parsed. An empty answer says that the report is consistent, not that it is true.
pub fn examine(report: &Report) -> Vec<ReportProblem> {
    let mut problems = Problems::default();
    header::examine(report, &mut problems);
    documents::examine(report, &mut problems);
    layout(report, &mut problems);
    problems.found
}

/// The most problems of one kind that are listed one by one.
const LISTED: usize = 50;

#[derive(Default)]
struct Problems {
    found: Vec<ReportProblem>,
    counts: BTreeMap<ProblemCode, usize>,
}

impl Problems {
    fn add(&mut self, code: ProblemCode, field: &str, expected: &str, observed: &str) {
        const SHOWN: usize = 200;
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count > LISTED + 1 {
            return;
        }
        let observed = if *count > LISTED { "further ones of this kind, not listed" } else { observed };
        let kept: String = observed.chars().take(SHOWN).collect();
        self.found.push(ReportProblem {
            code,
            field: field.to_owned(),
            expected: expected.to_owned(),
            observed: escape(kept.as_bytes()),
        });
    }
}

fn layout(report: &Report, problems: &mut Problems) {
    let values: HashMap<&str, &str> = report.fields.iter().map(|f| (f.name.as_str(), f.value.as_str())).collect();
    for old in &report.layout.overwritten {
        let now = values.get(old.name.as_str()).copied().unwrap_or_default();
        if now != old.value {
            let observed = format!("first `{}`, then `{now}`", old.value);
            problems.add(ProblemCode::DuplicateField, &old.name, "one line a field", &observed);
        }
    }
    for name in &report.layout.soft_mismatch {
        problems.add(ProblemCode::SoftMismatch, name, "the same text in both headers", "two different texts");
    }
    if report.layout.incomplete_copies > 0 {
        problems.add(ProblemCode::IncompleteCopy, "RESULT", "complete headers only", "an incomplete second header");
    }
    // A bounced or failed worker explains itself over several lines; that is what the lines are for.
    let explains = report.explanation().is_some();
    if let (false, Some(first)) = (explains, report.unread.first()) {
        let observed = format!("{} lines, first: {first}", report.unread.len());
        problems.add(ProblemCode::UnreadText, "RESULT", "fields and blocks only", &observed);
    }
    for note in &report.encoding {
        match note {
            EncodingNote::InvalidUtf8 => problems.add(ProblemCode::InvalidUtf8, "RESULT", "UTF-8", "invalid bytes"),
            EncodingNote::Nul => problems.add(ProblemCode::NulByte, "RESULT", "text", "NUL bytes"),
            EncodingNote::ByteOrderMark | EncodingNote::Crlf => {}
        }
    }
    for field in &report.fields {
        let hidden = |c: char| is_deceptive(c) && c != '\t' && c != '\0';
        if field.value.contains(hidden) {
            problems.add(ProblemCode::DeceptiveText, &field.name, "visible characters", &field.value);
        }
    }
}
