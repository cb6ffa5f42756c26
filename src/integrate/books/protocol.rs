//! The diary: one entry on top.

use super::page::Page;
use super::records::Record;
use super::{BooksError, Completion, Desk, one_line};
use crate::task::layout::Layout;
use crate::verdict::WarrantOrigin;
use crate::worker::report::Layout as ReportLayout;

/// What a diary begins with.
const HEADER: &str = "# Protocol\n\nWhat happened here, newest on top.\n\n---\n\n";

pub(super) fn write(desk: &mut Desk<'_>, done: &Completion<'_>, records: &[Record]) -> Result<(), BooksError> {
    let text = entry(desk, done, records)?;
    put(desk, done.layout, &text)
}

/// Puts an entry on top.
pub(super) fn put(desk: &mut Desk<'_>, layout: Layout, entry: &str) -> Result<(), BooksError> {
    let path = layout.protocol();
    let text = desk.text(&path)?.unwrap_or_else(|| HEADER.to_owned());
    let mut page = Page::of(&text);
    let top = header_end(&page).map_err(|what| BooksError::Page { path: path.clone(), what })?;
    page.insert(top, entry);
    desk.put(path, page.text());
    Ok(())
}

/// The first line behind a diary's header.
pub(super) fn header_end(page: &Page) -> Result<usize, String> {
    let rule = (1..page.len().saturating_sub(1)).find(|at| page.line(*at) == "---" && page.line(at + 1).is_empty());
    rule.map(|at| at + 2).ok_or_else(|| "its header has no end: a line `---` with a blank line behind it".to_owned())
}

fn entry(desk: &Desk<'_>, done: &Completion<'_>, records: &[Record]) -> Result<String, BooksError> {
    let id = done.task.id.as_ref().map_or("", |id| id.as_str());
    let title = one_line(done.task.display_title());
    let verified = done.origin == WarrantOrigin::Verified;
    let event = if verified { "Task verified and completed" } else { "Task completed (verification skipped)" };
    let when: String = done.at.to_utc().chars().take(16).collect();
    let report = done.report;
    let field = |name: &str| report.and_then(|report| report.field(name)).map(one_line);
    let mut fields = vec![
        ("Type", "Work / Task completion".to_owned()),
        ("Task", format!("{id} - {title}")),
        ("Summary", field("SUMMARY").unwrap_or_else(|| title.clone())),
        ("Duration", duration(done)),
        ("Verification", verification(done)),
    ];
    if let (Some(report), Some(source)) = (report, done.source) {
        fields.push(("Result source", result_source(source, &report.layout)));
    }
    fields.push(("Files changed", done.files_changed.to_string()));
    if verified {
        fields.push(("Tests added", field("TESTS_ADDED").unwrap_or_else(|| "not reported".to_owned())));
        let names: Vec<&str> = records.iter().map(|record| record.file.as_str()).collect();
        let written = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        fields.push(("ADRs written", written));
        let readme = done.layout.readme(done.context);
        let changed = desk.books.edits.contains_key(&readme);
        fields.push(("README delta", if changed { "applied" } else { "none" }.to_owned()));
        if let Some(text) = desk.text(&readme)? {
            fields.push(("README length", format!("{} lines", text.lines().count())));
        }
    }
    let body: String = fields.iter().map(|(name, value)| format!("**{name}:** {value}\n")).collect();
    Ok(format!("## {when} -- {event}: {id} - {title}\n\n{body}\n---\n\n"))
}

fn verification(done: &Completion<'_>) -> String {
    match done.origin {
        WarrantOrigin::Verified => format!("PASS (iteration {})", done.iteration),
        WarrantOrigin::Skipped => format!("SKIPPED — {}", one_line(done.reason)),
        WarrantOrigin::Override => format!("SKIPPED — overridden by a person: {}", one_line(done.reason)),
        WarrantOrigin::Unverified => "SKIPPED — not verified (--no-verify)".to_owned(),
    }
}

fn duration(done: &Completion<'_>) -> String {
    match done.began.and_then(|began| done.at.0.checked_sub(began.0)) {
        Some(seconds) => format!("{} min", seconds.div_ceil(60)),
        None => "not known".to_owned(),
    }
}

/// Where the report was found and what its shape was (agentheim.md §2.6).
fn result_source(source: &str, layout: &ReportLayout) -> String {
    let shape = match (layout.leading_header, layout.trailing_header) {
        (true, true) => "both",
        (false, true) => "trailing",
        _ => "leading",
    };
    let sentinel = if layout.end_sentinel { "+sentinel" } else { "" };
    let sidecar = if source == "sidecar" { "present" } else { "missing" };
    let repaired = match layout.repairs.as_slice() {
        [] => String::new(),
        repairs => format!(" · repaired {}", repairs.join(", ")),
    };
    format!("{source} · layout {shape}{sentinel} · sidecar {sidecar}{repaired}")
}
