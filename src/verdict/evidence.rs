//! One evidence line of a PASS: which criterion, and what covers it.
//!
//! ```text
//! - C1 <text> — covered by test:<name>[, file:<path>][, run:<command>]
//! - C2 <text> — covered by builder eye-check pending
//! ```
//! The criterion is found by its number, else by its text with white space folded (RULINGS 18). The sign before
//! `covered by` is an em dash, an en dash, ` - ` or ` -- `. A list is cut only at a comma and a blank that are followed by
//! a known kind, so that names and commands may hold commas; an id may stand in backticks.

use super::disguise::{deceives, excerpt};
use super::parse::Complaint;
use crate::receipts::EvidenceRecord;
use crate::task::Criterion;
use std::fmt;

/// The words of a criterion that only the builder's eye can judge.
pub const EYE_CHECK: &str = "builder eye-check pending";

/// The most places where a line is tried to be cut, and the most citations it may hold.
const MOST_PARTS: usize = 64;

const COVERED_BY: &str = "covered by";

/// One thing that a verifier cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Citation {
    /// A test, by name.
    Test(String),
    /// A file, by its path in text form.
    File(String),
    /// A command line.
    Run(String),
}

impl Citation {
    /// Reads `kind:id`. `None` for an unknown kind or an empty id.
    pub fn read(text: &str) -> Option<Self> {
        let (kind, id) = text.split_once(':')?;
        let id = unquote(id.trim_matches(BLANKS));
        if id.is_empty() {
            return None;
        }
        let id = id.to_owned();
        match kind {
            "test" => Some(Self::Test(id)),
            "file" => Some(Self::File(id)),
            "run" => Some(Self::Run(id)),
            _ => None,
        }
    }
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(id) => write!(f, "test:{id}"),
            Self::File(id) => write!(f, "file:{id}"),
            Self::Run(id) => write!(f, "run:{id}"),
        }
    }
}

/// What covers a criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cover {
    /// Nothing yet: a person will look ([`EYE_CHECK`]).
    EyeCheck,
    /// These; never empty.
    Cited(Vec<Citation>),
}

impl Cover {
    /// Reads the part of a line behind `covered by`.
    fn read(text: &str) -> Option<Self> {
        let text = text.trim_matches(BLANKS);
        if text == EYE_CHECK {
            return Some(Self::EyeCheck);
        }
        let parts = split(text);
        if parts.len() > MOST_PARTS {
            return None;
        }
        parts.into_iter().map(Citation::read).collect::<Option<Vec<_>>>().map(Self::Cited)
    }
}

/// One criterion's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The criterion's number.
    pub criterion: u32,
    /// What covers it.
    pub cover: Cover,
}

impl Evidence {
    /// Its form in the ledger.
    pub fn record(&self) -> EvidenceRecord {
        let covered_by = match &self.cover {
            Cover::EyeCheck => vec![EYE_CHECK.to_owned()],
            Cover::Cited(cited) => cited.iter().map(ToString::to_string).collect(),
        };
        EvidenceRecord { criterion: self.criterion, covered_by }
    }

    /// Reads it back from the ledger. `None` if the record is not one that [`Evidence::record`] makes.
    pub fn from_record(record: &EvidenceRecord) -> Option<Self> {
        let cover = match record.covered_by.as_slice() {
            [] => return None,
            [only] if only == EYE_CHECK => Cover::EyeCheck,
            cited => Cover::Cited(cited.iter().map(|text| Citation::read(text)).collect::<Option<Vec<_>>>()?),
        };
        Some(Self { criterion: record.criterion, cover })
    }

    /// Reads one line without its bullet.
    ///
    /// # Errors
    /// A complaint: the line has no readable form, names no criterion, or carries hidden characters in its citations.
    pub fn read(line: &str, criteria: &[Criterion]) -> Result<Self, Complaint> {
        let unreadable = || {
            let form = "expected `C<n> <text> — covered by <kind>:<id>[, …]`";
            Complaint::new("evidence-unreadable", format!("evidence line `{}`: {form}", excerpt(line)))
        };
        let splits = separators(line);
        if splits.len() > MOST_PARTS {
            return Err(unreadable());
        }
        let (numbered, body_at) = number(line).map_or((None, 0), |(n, at)| (Some(n), at));
        let named = numbered.map(|n| find(n, line, criteria)).transpose()?;
        let candidates: Vec<(&str, &str)> = splits
            .iter()
            .filter(|split| split.0 >= body_at)
            .map(|split| (&line[body_at..split.0], &line[split.1..]))
            .collect();
        let (criterion, cover) = match named {
            Some(criterion) => (criterion, pick_numbered(criterion, &candidates, criteria)),
            None => pick_by_text(&candidates, criteria).map(|(c, cover)| (c, Some(cover))).ok_or_else(unreadable)?,
        };
        let cover = cover.ok_or_else(unreadable)?;
        if deceives(cover) {
            let what = format!("evidence line `{}` holds hidden characters", excerpt(line));
            return Err(Complaint::new("deceptive-character", what));
        }
        let cover = Cover::read(cover).ok_or_else(unreadable)?;
        Ok(Self { criterion: criterion.number, cover })
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

fn unquote(id: &str) -> &str {
    id.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).filter(|inner| !inner.contains('`')).unwrap_or(id)
}

fn split(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, comma) in list.match_indices(", ") {
        let next = &list[at + comma.len()..];
        if ["test:", "file:", "run:"].iter().any(|kind| next.starts_with(kind)) {
            parts.push(&list[from..at]);
            from = at + comma.len();
        }
    }
    parts.push(&list[from..]);
    parts
}

/// Where a separator and `covered by` stand: the end of what is before, the begin of what is behind.
fn separators(line: &str) -> Vec<(usize, usize)> {
    line.match_indices(COVERED_BY)
        .filter_map(|(at, words)| {
            let behind = &line[at + words.len()..];
            let before = line[..at].trim_end_matches(BLANKS);
            let text = ["—", "–", " --", " -"].iter().find_map(|sign| before.strip_suffix(sign))?;
            (behind.starts_with(BLANKS) && before.len() < at).then_some((text.len(), at + words.len()))
        })
        .collect()
}

/// A leading `C<n>`, and where the text behind it begins.
fn number(line: &str) -> Option<(u32, usize)> {
    let digits = line.strip_prefix('C')?;
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = digits.split_at(len);
    if digits.starts_with('0') || !(rest.is_empty() || rest.starts_with(BLANKS) || rest.starts_with(": ")) {
        return None;
    }
    let colon = usize::from(rest.starts_with(':'));
    Some((digits.parse().ok()?, 1 + len + colon))
}

fn find<'c>(number: u32, line: &str, criteria: &'c [Criterion]) -> Result<&'c Criterion, Complaint> {
    criteria.iter().find(|c| c.number == number).ok_or_else(|| {
        let what = format!("evidence line `{}` names C{number}, which the task does not have", excerpt(line));
        Complaint::new("evidence-unknown-criterion", what)
    })
}

/// With a number the text may be shortened, unless it is another criterion's, or the line can be cut in two ways.
fn pick_numbered<'l>(criterion: &Criterion, cuts: &[(&'l str, &'l str)], criteria: &[Criterion]) -> Option<&'l str> {
    let exact: Vec<_> = cuts.iter().filter(|(text, _)| fold(text) == fold(&criterion.text)).collect();
    match (exact.as_slice(), cuts) {
        ([(_, cover)], _) => Some(cover),
        ([], [(text, cover)]) if !criteria.iter().any(|c| fold(&c.text) == fold(text)) => Some(cover),
        _ => None,
    }
}

fn pick_by_text<'l, 'c>(cuts: &[(&'l str, &'l str)], criteria: &'c [Criterion]) -> Option<(&'c Criterion, &'l str)> {
    let mut hits = cuts.iter().flat_map(|(text, cover)| {
        let text = fold(text);
        criteria.iter().filter(move |c| fold(&c.text) == text).map(move |c| (c, *cover))
    });
    let hit = hits.next()?;
    hits.next().is_none().then_some(hit)
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::judged;
    use super::*;

    fn read(line: &str) -> Result<Evidence, &'static str> {
        let criteria = [judged(1, "limits are kept"), judged(2, "a dash — covered by tests"), judged(3, "rare")];
        Evidence::read(line, &criteria).map_err(|complaint| complaint.code)
    }

    fn cites(line: &str) -> (u32, Vec<String>) {
        let record = read(line).unwrap().record();
        (record.criterion, record.covered_by)
    }

    #[test]
    fn lines_are_matched_by_number_else_by_folded_text() {
        for (line, criterion, cover) in [
            ("C1 limits are kept — covered by test:a::b", 1, vec!["test:a::b"]),
            ("C1 limits — covered by test:a, file:src/a, b.rs", 1, vec!["test:a", "file:src/a, b.rs"]),
            ("C1: limits – covered by run:`make a, b`", 1, vec!["run:make a, b"]),
            ("limits  are\tkept - covered by test:a", 1, vec!["test:a"]),
            ("limits are kept -- covered by test:a", 1, vec!["test:a"]),
            ("C2 a dash — covered by tests — covered by test:x", 2, vec!["test:x"]),
            ("a dash — covered by tests — covered by test:x", 2, vec!["test:x"]),
            ("C1 limits are kept — covered by test:x — covered by test:y", 1, vec!["test:x — covered by test:y"]),
            ("C3 — covered by builder eye-check pending", 3, vec![EYE_CHECK]),
            ("C1 limits — covered by test:a, run:b, file:c", 1, vec!["test:a", "run:b", "file:c"]),
        ] {
            assert_eq!(cites(line), (criterion, cover.into_iter().map(str::to_owned).collect()), "{line}");
        }
    }

    #[test]
    fn lines_that_could_mean_two_things_are_refused() {
        for (line, code) in [
            ("C4 — covered by test:a", "evidence-unknown-criterion"),
            ("C01 limits are kept — covered by test:a", "evidence-unreadable"),
            ("C1 limits are kept", "evidence-unreadable"),
            ("C1 limits are kept covered by test:a", "evidence-unreadable"),
            ("C1 rare — covered by test:a", "evidence-unreadable"),
            ("C1 short — covered by test:x — covered by test:y", "evidence-unreadable"),
            ("something else — covered by test:a", "evidence-unreadable"),
            ("C1 limits are kept — covered by a test", "evidence-unreadable"),
            ("C1 limits are kept — covered by test:", "evidence-unreadable"),
            ("C1 limits are kept — covered by test:a, Test:b, test: ", "evidence-unreadable"),
            ("C3 — covered by builder eye-check pending.", "evidence-unreadable"),
            ("C3 — covered by builder\u{a0}eye-check pending", "evidence-unreadable"),
            ("C1 limits are kept — covered by test:a\u{200b}b", "deceptive-character"),
        ] {
            assert_eq!(read(line), Err(code), "{line}");
        }
    }

    #[test]
    fn a_line_of_endless_parts_is_refused() {
        let cuts = format!("C1 x{}", " — covered by test:a".repeat(MOST_PARTS + 1));
        let list = format!("C1 — covered by test:a{}", ", test:a".repeat(MOST_PARTS));
        for line in [cuts, list] {
            assert_eq!(read(&line), Err("evidence-unreadable"));
        }
    }

    #[test]
    fn a_line_read_back_from_the_ledger_is_the_same() {
        for line in ["C1 limits are kept — covered by test:a, run:b c", "C3 — covered by builder eye-check pending"]
        {
            let evidence = read(line).unwrap();
            assert_eq!(Evidence::from_record(&evidence.record()), Some(evidence));
        }
        assert_eq!(Evidence::from_record(&EvidenceRecord { criterion: 1, covered_by: vec![] }), None);
    }
}
