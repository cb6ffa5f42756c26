//! From the bytes of one copy of a report to a [`Report`], or the reason why it is none (agentheim.md §3.3).
//!
//! Beyond the peer's rules, three things are settled here:
//! - a report without blocks is generation A when all twelve fields of that form are there and no `RESULT_END`;
//!   any other `SUCCESS` without blocks is `missing-block`, as with the peer;
//! - a further `RESULT:` line outside every block must agree with the first: another word is `layout-conflict`,
//!   another fact in a complete copy is `header-mismatch`. Inside a block it is content;
//! - a header ends at the next `RESULT:` line or at `RESULT_END`; nothing behind that line can change a field.

use super::blocks::{Line, Scan, Span, documents, scan, split_lines};
use super::report::{
    Blocks, EncodingNote, ExtraBlock, Field, GENERATION_A_FIELDS, Generation, Layout, MAX_REPORT_BYTES, Outcome,
    Rejection, RejectionCode, Report,
};
use crate::host::path::{RepoPath, escape};
use std::collections::HashMap;
use std::ops::Range;

#[cfg(test)]
mod tests;

const BLOCKS: [&str; 4] = ["README_DELTA", "ADRS", "OUTCOME", "BACKLOG_ITEMS"];
const PROSE: [&str; 2] = ["SUMMARY", "CONCEPT_CANDIDATE"];
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Reads one copy of a report.
///
/// A byte order mark, CRLF and invalid UTF-8 are read and noted in [`Report::encoding`].
///
/// # Errors
/// A [`Rejection`] with the peer's code, or `too-large` above [`MAX_REPORT_BYTES`].
pub fn parse_report(text: &[u8]) -> Result<Report, Rejection> {
    if text.len() > MAX_REPORT_BYTES {
        let reason = format!("the report has {} bytes; write at most {MAX_REPORT_BYTES}", text.len());
        return Err(Rejection::new(RejectionCode::TooLarge, reason));
    }
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let lines = split_lines(body);
    let Some(first) = lines.iter().find(|line| !line.is_blank()) else {
        return Err(Rejection::new(RejectionCode::EmptyResult, "the report is empty; write the RESULT block"));
    };
    if first.result_word().is_none() && !first.opens_block() {
        return Err(no_result_line(text, first));
    }
    let scan = scan(&lines)?;
    let outside = Outside::read(&lines, &scan);
    let mut report =
        if scan.blocks.is_empty() { headers_only(&outside)? } else { with_blocks(&lines, &scan, &outside)? };
    report.encoding = encoding(text, body);
    report.unread = outside.unread;
    Ok(report)
}

fn no_result_line(text: &[u8], first: &Line<'_>) -> Rejection {
    let utf16 = text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff");
    let hint = if utf16 { " (it looks like UTF-16: write UTF-8)" } else { "" };
    let shown: Vec<u8> = first.raw.iter().copied().take(80).collect();
    let reason = format!(
        "the report begins with `{}`{hint}; its first line must be `RESULT: SUCCESS`, `RESULT: BOUNCED` or `RESULT: FAILED`, or open a block",
        escape(&shown)
    );
    Rejection::new(RejectionCode::MissingResultLine, reason)
}

fn encoding(text: &[u8], body: &[u8]) -> Vec<EncodingNote> {
    [
        (body.len() < text.len(), EncodingNote::ByteOrderMark),
        (body.windows(2).any(|pair| pair == b"\r\n"), EncodingNote::Crlf),
        (std::str::from_utf8(body).is_err(), EncodingNote::InvalidUtf8),
        (body.contains(&0), EncodingNote::Nul),
    ]
    .into_iter()
    .filter_map(|(seen, note)| seen.then_some(note))
    .collect()
}

/// One header: a `RESULT:` line and the fields below it.
#[derive(Debug, Default)]
struct Header {
    word: String,
    fields: Vec<Field>,
    place: HashMap<String, usize>,
    file_list: Vec<RepoPath>,
    overwritten: Vec<Field>,
    leading: bool,
    trailing: bool,
}

impl Header {
    fn get(&self, name: &str) -> Option<&str> {
        self.place.get(name).and_then(|at| self.fields.get(*at)).map(|f| f.value.as_str())
    }

    fn missing(&self, required: &[&'static str]) -> Vec<&'static str> {
        required.iter().filter(|name| self.get(name).is_none()).copied().collect()
    }

    fn outcome(&self) -> Result<Outcome, Rejection> {
        Outcome::from_word(&self.word).ok_or_else(|| {
            let reason =
                format!("`RESULT: {}` is not known; write SUCCESS, BOUNCED or FAILED", escape(self.word.as_bytes()));
            Rejection::about(RejectionCode::UnknownResult, "RESULT", reason)
        })
    }

    fn set(&mut self, name: &str, value: &str, raw_value: &[u8]) {
        if name == "FILE_LIST" {
            self.file_list = split_file_list(raw_value);
        }
        let field = Field { name: name.to_owned(), value: value.trim().to_owned() };
        if let Some(old) = self.place.get(name).and_then(|at| self.fields.get_mut(*at)) {
            self.overwritten.push(std::mem::replace(old, field));
        } else {
            self.place.insert(name.to_owned(), self.fields.len());
            self.fields.push(field);
        }
    }
}

/// `none` alone is an empty list; empty entries are dropped.
fn split_file_list(raw: &[u8]) -> Vec<RepoPath> {
    if raw.trim_ascii().eq_ignore_ascii_case(b"none") {
        return Vec::new();
    }
    let entries = raw.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    entries.filter(|entry| !entry.is_empty()).map(RepoPath::from_bytes).collect()
}

/// What stands outside the blocks.
#[derive(Debug, Default)]
struct Outside {
    headers: Vec<Header>,
    sentinel: bool,
    unread: Vec<String>,
}

impl Outside {
    fn read(lines: &[Line<'_>], scan: &Scan) -> Self {
        let mut out = Self::default();
        out.region(lines, &scan.leading, |header| header.leading = true);
        for gap in &scan.gaps {
            out.region(lines, gap, |_| {});
        }
        // Only the end line after the last block counts; without blocks the leading region is the whole text.
        if !scan.blocks.is_empty() {
            out.sentinel = false;
        }
        out.region(lines, &scan.trailing, |header| header.trailing = true);
        out
    }

    fn region(&mut self, lines: &[Line<'_>], range: &Range<usize>, mark_first: impl Fn(&mut Header)) {
        let (mut open, mut begun) = (false, false);
        for line in lines[range.clone()].iter().filter(|line| !line.is_blank()) {
            if let Some(word) = line.result_word() {
                let mut header = Header { word: word.to_owned(), ..Header::default() };
                if !begun {
                    mark_first(&mut header);
                }
                self.headers.push(header);
                open = true;
            } else if line.is_sentinel() {
                self.sentinel = true;
                open = false;
            } else if let (true, Some((name, value, raw))) = (open, field(line)) {
                if let Some(header) = self.headers.last_mut() {
                    header.set(name, value, raw);
                }
            } else {
                self.unread.push(line.text.trim_end().to_owned());
            }
            begun = true;
        }
    }
}

/// A `NAME: value` line: the name, the value as text and as bytes.
fn field<'a>(line: &'a Line<'_>) -> Option<(&'a str, &'a str, &'a [u8])> {
    let (name, value) = line.text.split_once(':')?;
    let legal = !name.is_empty() && name != "RESULT" && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    // The name is ASCII, so its length is the same in the raw bytes.
    legal.then(|| (name, value, line.raw.get(name.len() + 1..).unwrap_or_default()))
}

fn headers_only(outside: &Outside) -> Result<Report, Rejection> {
    let Some(header) = outside.headers.first() else {
        return Err(Rejection::new(RejectionCode::MissingResultLine, "no line says what came of the task"));
    };
    let outcome = header.outcome()?;
    if let Some(other) = outside.headers.iter().find(|other| other.word != header.word) {
        let reason = format!(
            "the report says both `RESULT: {}` and `RESULT: {}`; write one, and put quoted reports inside a block",
            header.word,
            escape(other.word.as_bytes())
        );
        return Err(Rejection::about(RejectionCode::LayoutConflict, "RESULT", reason));
    }
    require(header, outcome.required_fields(), outcome)?;
    let old_form = header.missing(&GENERATION_A_FIELDS).is_empty() && !outside.sentinel;
    if outcome == Outcome::Success && !old_form {
        let reason = "the header is complete but no block follows; write README_DELTA, ADRS, OUTCOME and BACKLOG_ITEMS in this order, even when empty";
        return Err(Rejection::about(RejectionCode::MissingBlock, BLOCKS[0], reason));
    }
    let generation = match (outcome, outside.sentinel) {
        (Outcome::Success, _) => Generation::A,
        (_, true) => Generation::E,
        (_, false) => Generation::C,
    };
    let mut layout = compare(header, &outside.headers, outcome)?;
    layout.leading_header = true;
    layout.end_sentinel = outside.sentinel;
    Ok(build(header, outcome, generation, None, layout))
}

fn require(header: &Header, required: &[&'static str], outcome: Outcome) -> Result<(), Rejection> {
    let missing = header.missing(required);
    let Some(first) = missing.first() else { return Ok(()) };
    let reason = format!("a {} report needs {}; add the missing lines", outcome.word(), missing.join(", "));
    Err(Rejection::about(RejectionCode::MissingField, first, reason))
}

fn with_blocks(lines: &[Line<'_>], scan: &Scan, outside: &Outside) -> Result<Report, Rejection> {
    if let Some(other) = outside.headers.iter().find(|h| matches!(h.word.as_str(), "BOUNCED" | "FAILED")) {
        let reason = format!(
            "`RESULT: {}` stands outside the blocks of a report that carries blocks; only SUCCESS does",
            other.word
        );
        return Err(Rejection::about(RejectionCode::LayoutConflict, "RESULT", reason));
    }
    for header in &outside.headers {
        header.outcome()?;
    }
    let required = Outcome::Success.required_fields();
    let at_edge: Vec<&Header> = outside.headers.iter().filter(|h| h.leading || h.trailing).collect();
    let Some(winner) = at_edge.iter().find(|h| h.missing(required).is_empty()) else {
        if let Some(begun) = at_edge.first() {
            require(begun, required, Outcome::Success)?;
        }
        let reason = "the blocks have no header; write `RESULT: SUCCESS` and its fields before them";
        return Err(Rejection::new(RejectionCode::MissingResultLine, reason));
    };
    let mut layout = compare(winner, &outside.headers, Outcome::Success)?;
    let complete = |h: &&&Header| h.missing(required).is_empty();
    layout.leading_header = at_edge.iter().filter(complete).any(|h| h.leading);
    layout.trailing_header = at_edge.iter().filter(complete).any(|h| h.trailing);
    layout.end_sentinel = outside.sentinel;
    layout.repairs = scan.repaired.iter().map(|name| format!("implicit-close:{name}")).collect();
    let late = layout.end_sentinel || layout.trailing_header;
    let generation = if late { Generation::E } else { Generation::C };
    let blocks = read_blocks(lines, &scan.blocks)?;
    Ok(build(winner, Outcome::Success, generation, Some(blocks), layout))
}

/// Compares every complete header with the one used: facts must agree, prose is noted (agentheim.md §3.3 rule 9).
fn compare(winner: &Header, headers: &[Header], outcome: Outcome) -> Result<Layout, Rejection> {
    let required = outcome.required_fields();
    let mut layout = Layout { overwritten: winner.overwritten.clone(), ..Layout::default() };
    for other in headers {
        if !other.missing(required).is_empty() {
            layout.incomplete_copies += 1;
            continue;
        }
        for name in required {
            let same = folded(winner.get(name)) == folded(other.get(name));
            let prose = PROSE.contains(name);
            if !same && !prose {
                let reason = format!("two headers give different values for {name}; write the same header twice");
                return Err(Rejection::about(RejectionCode::HeaderMismatch, name, reason));
            }
            if !same && !layout.soft_mismatch.iter().any(|n| n == name) {
                layout.soft_mismatch.push((*name).to_owned());
            }
        }
    }
    Ok(layout)
}

fn folded(value: Option<&str>) -> String {
    value.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read_blocks(lines: &[Line<'_>], spans: &[Span]) -> Result<Blocks, Rejection> {
    for (at, expected) in BLOCKS.iter().enumerate() {
        if spans.get(at).is_none_or(|span| span.name != *expected) {
            let found = spans.get(at).map_or("nothing".to_owned(), |span| format!("`{}`", span.name));
            let reason = format!("block {} must be `{expected}`, found {found}; write all four in order", at + 1);
            return Err(Rejection::about(RejectionCode::MissingBlock, expected, reason));
        }
    }
    let content = |at: usize| spans.get(at).map(|span| &lines[span.lines.clone()]).unwrap_or_default();
    let extra = spans.iter().skip(BLOCKS.len());
    Ok(Blocks {
        readme_delta: read_json(&joined(content(0)))?,
        adrs: documents(content(1), "ADR"),
        outcome: joined(content(2)).trim().to_owned(),
        backlog_items: documents(content(3), "TASK"),
        extra: extra
            .map(|span| ExtraBlock { name: span.name.clone(), content: joined(&lines[span.lines.clone()]) })
            .collect(),
    })
}

fn joined(lines: &[Line<'_>]) -> String {
    lines.iter().map(|line| line.text.as_ref()).collect::<Vec<_>>().join("\n")
}

fn read_json(text: &str) -> Result<Vec<serde_json::Value>, Rejection> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text.trim()).map_err(|why| {
        let reason = format!("README_DELTA is not a JSON array ({why}); write `[]` when there is nothing to change");
        Rejection::about(RejectionCode::MalformedBlock, BLOCKS[0], reason)
    })
}

fn build(header: &Header, outcome: Outcome, generation: Generation, blocks: Option<Blocks>, layout: Layout) -> Report {
    Report {
        outcome,
        generation,
        task_id: header.get("TASK_ID").unwrap_or_default().to_owned(),
        summary: header.get("SUMMARY").map(str::to_owned),
        fields: header.fields.clone(),
        file_list: header.file_list.clone(),
        blocks,
        layout,
        encoding: Vec::new(),
        unread: Vec::new(),
    }
}
