//! Decision records of a report: their numbers are settled when they land.

use super::page::Page;
use super::{BooksError, Completion, Desk};
use crate::host::path::RepoPath;
use crate::task::frontmatter::Frontmatter;
use crate::task::layout::DECISIONS;
use crate::task::text::Text;
use crate::worker::blocks::Document;

/// A record as it landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) number: u32,
    pub(super) file: String,
    pub(super) title: String,
    pub(super) date: String,
    pub(super) global: bool,
}

/// Writes the records with the numbers after the highest there is, in the report's order (agentheim.md §5.12).
pub(super) fn write(
    desk: &mut Desk<'_>,
    done: &Completion<'_>,
    documents: &[Document],
) -> Result<Vec<Record>, BooksError> {
    let mut next = highest(desk);
    let mut records = Vec::new();
    for document in documents {
        let fault = |what: &str| BooksError::Report { block: "ADRS", what: format!("{}: {what}", document.file_name) };
        let (proposed, slug) = parts(&document.file_name).ok_or_else(|| fault("it is not `NNNN-slug.md`"))?;
        next += 1;
        if next > 9999 {
            return Err(fault("there is no number left below 10000"));
        }
        let file = format!("{next:04}-{slug}");
        let text = renumbered(&document.body, proposed, next);
        let front = Text::read(text.as_bytes()).ok().and_then(|text| Frontmatter::read(text).ok());
        let word = |key: &str| front.as_ref().and_then(|front| front.raw(key).ok().flatten()).unwrap_or("").to_owned();
        let record = Record {
            number: next,
            title: if word("title").is_empty() {
                slug.trim_end_matches(".md").replace('-', " ")
            } else {
                word("title")
            },
            date: if word("date").is_empty() { done.at.to_utc().chars().take(10).collect() } else { word("date") },
            global: word("scope") == "global",
            file,
        };
        desk.put(RepoPath::from(format!("{DECISIONS}/{}", record.file).as_str()), text);
        records.push(record);
    }
    Ok(records)
}

fn highest(desk: &Desk<'_>) -> u32 {
    let numbers = desk.names().filter(|path| path.is_under(DECISIONS)).filter_map(|path| {
        let name = std::str::from_utf8(path.file_name()).ok()?;
        parts(name).map(|(number, _)| number)
    });
    numbers.max().unwrap_or(0)
}

/// Number and the rest of `NNNN-slug.md`.
fn parts(name: &str) -> Option<(u32, &str)> {
    let (number, slug) = name.split_once('-')?;
    let digits = number.len() == 4 && number.bytes().all(|byte| byte.is_ascii_digit());
    let plain = slug.strip_suffix(".md").is_some_and(|stem| {
        !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    });
    (digits && plain && name.len() <= 150).then(|| number.parse().ok().map(|number| (number, slug))).flatten()
}

/// The record under its final number: `id` and the first heading follow, and a note says so.
fn renumbered(body: &str, proposed: u32, settled: u32) -> String {
    let mut page = Page::of(&format!("{}\n", body.trim_end_matches(['\n', '\r'])));
    if proposed == settled {
        return page.text();
    }
    let (old, new) = (format!("{proposed:04}"), format!("{settled:04}"));
    let mut heading = false;
    for at in 0..page.len() {
        let line = page.line(at).to_owned();
        let is_heading = !heading && line.starts_with("# ");
        heading |= is_heading;
        let is_id = !heading && line.strip_prefix("id:").is_some_and(|id| digits(id) == old);
        if is_id || (is_heading && digits(&line) == old) {
            page.replace(at, &line.replacen(&old, &new, 1));
        }
    }
    page.append(&format!(
        "## Note on ADR numbering\n\nWritten as {old}; numbered {new} when it landed, after the records that were there."
    ));
    page.text()
}

/// The first run of digits.
fn digits(text: &str) -> String {
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    text[start..].chars().take_while(char::is_ascii_digit).collect()
}
