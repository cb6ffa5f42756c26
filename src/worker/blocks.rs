//! The fenced blocks of a report: where they begin and end, and the files two of them carry.

use super::report::{Rejection, RejectionCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;

/// The line that ends a report of generation E.
pub const END_SENTINEL: &str = "RESULT_END";

const FENCE: &str = "````";

/// One line of a report, as bytes and as text.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    pub(super) raw: &'a [u8],
    pub(super) text: Cow<'a, str>,
}

impl Line<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub(super) fn is_sentinel(&self) -> bool {
        self.text.trim() == END_SENTINEL
    }

    /// The word of a `RESULT: WORD` line: at column 0, at most one blank after the colon, nothing behind the word.
    pub(super) fn result_word(&self) -> Option<&str> {
        result_word(&self.text)
    }

    fn opener(&self) -> Option<&str> {
        let name = self.text.strip_prefix(FENCE)?.trim_end();
        let mut chars = name.chars();
        let head = chars.next()?.is_ascii_uppercase();
        let rest = chars.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        (head && rest).then_some(name)
    }

    pub(super) fn opens_block(&self) -> bool {
        self.opener().is_some()
    }

    fn closes_block(&self) -> bool {
        self.text.strip_prefix(FENCE).is_some_and(|rest| rest.trim().is_empty())
    }

    fn is_fence_like(&self) -> bool {
        self.text.starts_with(FENCE)
    }
}

fn result_word(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("RESULT:")?;
    let rest = rest.strip_prefix(char::is_whitespace).unwrap_or(rest);
    let word = rest.trim_end();
    (!word.is_empty() && !word.contains(char::is_whitespace)).then_some(word)
}

/// Splits a text at LF; a CR before the LF belongs to the line end.
pub(super) fn split_lines(text: &[u8]) -> Vec<Line<'_>> {
    let mut pieces: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    let last = pieces.pop().unwrap_or_default();
    let ended = pieces.into_iter().map(|piece| piece.strip_suffix(b"\r").unwrap_or(piece));
    ended.chain([last]).map(|raw| Line { raw, text: String::from_utf8_lossy(raw) }).collect()
}

/// A block by line numbers; the fences are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) lines: Range<usize>,
}

/// A text cut into blocks and what stands outside them.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) blocks: Vec<Span>,
    /// Everything before the first block (the whole text if there is none).
    pub(super) leading: Range<usize>,
    /// Between two blocks.
    pub(super) gaps: Vec<Range<usize>>,
    /// Everything after the last block.
    pub(super) trailing: Range<usize>,
    /// The block that was closed on the worker's behalf.
    pub(super) repaired: Option<String>,
}

/// Finds the blocks. This scan alone decides what is content; no later step searches for fences again
/// (agentheim.md §3.3 rules 3 to 6).
pub(super) fn scan(lines: &[Line<'_>]) -> Result<Scan, Rejection> {
    let mut scan = Scan::default();
    let (mut at, mut outside_from) = (0, 0);
    while let Some(line) = lines.get(at) {
        let Some(name) = line.opener() else {
            if line.is_fence_like() {
                let reason = format!(
                    "line {} begins with four backticks outside every block and opens none; write four backticks and an upper-case name, or indent it",
                    at + 1
                );
                return Err(Rejection::new(RejectionCode::StrayFence, reason));
            }
            at += 1;
            continue;
        };
        note_outside(&mut scan, outside_from..at);
        let start = at + 1;
        let body = &lines[start..];
        let end = body.iter().position(|l| l.closes_block() || l.opens_block());
        match end {
            Some(end) if body[end].closes_block() => {
                scan.blocks.push(Span { name: name.to_owned(), lines: start..start + end });
                at = start + end + 1;
                outside_from = at;
            }
            None => return close_last(scan, name, lines, start),
            Some(_) => return Err(truncated(name, at + 1)),
        }
    }
    if scan.blocks.is_empty() {
        scan.leading = 0..lines.len();
        scan.trailing = lines.len()..lines.len();
    } else {
        scan.trailing = outside_from..lines.len();
    }
    Ok(scan)
}

fn note_outside(scan: &mut Scan, range: Range<usize>) {
    if scan.blocks.is_empty() {
        scan.leading = range;
    } else {
        scan.gaps.push(range);
    }
}

fn truncated(name: &str, line: usize) -> Rejection {
    let reason =
        format!("the block `{name}` opened on line {line} is not closed; end it with a line of exactly four backticks");
    Rejection::about(RejectionCode::TruncatedBlock, name, reason)
}

/// Closes a last block that lacks its fence, where nothing has to be guessed (agentheim.md §3.3 rule 5): no fence-like
/// line follows and the text ends in the end line. Stricter than the peer in one point: a header split off inside the
/// block must be complete, because an incomplete one may just as well be the block's own text.
fn close_last(mut scan: Scan, name: &str, lines: &[Line<'_>], start: usize) -> Result<Scan, Rejection> {
    let refuse = || truncated(name, start);
    let region = &lines[start..];
    if region.iter().any(Line::is_fence_like) {
        return Err(refuse());
    }
    let last = region.iter().rposition(|l| !l.is_blank()).ok_or_else(refuse)?;
    if !region[last].is_sentinel() {
        return Err(refuse());
    }
    let known = ["SUCCESS", "BOUNCED", "FAILED"];
    let split = region[..last].iter().rposition(|l| result_word(l.text.trim()).is_some_and(|w| known.contains(&w)));
    if let Some(split) = split
        && !header_is_complete(&region[split..last])
    {
        return Err(refuse());
    }
    let end = start + split.unwrap_or(last);
    scan.blocks.push(Span { name: name.to_owned(), lines: start..end });
    scan.trailing = end..lines.len();
    scan.repaired = Some(name.to_owned());
    Ok(scan)
}

fn header_is_complete(lines: &[Line<'_>]) -> bool {
    let outcome = lines.first().and_then(|l| result_word(l.text.trim())).and_then(super::report::Outcome::from_word);
    outcome.is_some_and(|outcome| {
        let names: Vec<&str> = lines.iter().filter_map(|l| l.text.split_once(':')).map(|(name, _)| name).collect();
        outcome.required_fields().iter().all(|required| names.contains(required))
    })
}

/// A file carried inside a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Document {
    /// The name in the marker, as written: hostile until [`super::examine()`] has seen it.
    pub file_name: String,
    /// The text up to the next marker, without leading and trailing line ends.
    pub body: String,
}

/// The files of an `ADRS` or `BACKLOG_ITEMS` block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Documents {
    /// The files in order.
    pub files: Vec<Document>,
    /// Text before the first marker: part of no file.
    pub before_first: String,
}

/// Splits a block at its `<!-- LABEL: name -->` lines (agentheim.md §3.2).
pub(super) fn documents(lines: &[Line<'_>], label: &str) -> Documents {
    let open = format!("<!-- {label}: ");
    let mut bodies: Vec<(String, Vec<&str>)> = Vec::new();
    let mut before = Vec::new();
    for line in lines {
        let inner = line.text.trim_end().strip_prefix(open.as_str()).and_then(|rest| rest.strip_suffix(" -->"));
        match (inner.map(str::trim).filter(|name| !name.is_empty()), bodies.last_mut()) {
            (Some(name), _) => bodies.push((name.to_owned(), Vec::new())),
            (None, Some((_, body))) => body.push(&line.text),
            (None, None) => before.push(line.text.as_ref()),
        }
    }
    let before_first = before.join("\n").trim().to_owned();
    let files = bodies
        .into_iter()
        .map(|(file_name, body)| Document { file_name, body: body.join("\n").trim_matches('\n').to_owned() })
        .collect();
    Documents { files, before_first }
}
