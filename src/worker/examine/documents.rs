//! The files, changes and extra blocks a report carries.

use super::{ProblemCode, Problems};
use crate::worker::blocks::Documents;
use crate::worker::delta::read_delta;
use crate::worker::report::{Blocks, Report};
use std::collections::HashSet;

/// The longest file name taken from a marker, in bytes.
const MAX_NAME: usize = 150;

/// The most records one report may name or carry: each name is compared with each file.
pub(super) const MAX_RECORDS: usize = 100;

pub(super) fn examine(report: &Report, problems: &mut Problems) {
    let Some(blocks) = &report.blocks else { return };
    files("ADRS", &blocks.adrs, is_record_name, "`NNNN-slug.md`, lower case, no folder", problems);
    files("BACKLOG_ITEMS", &blocks.backlog_items, is_task_name, "`<id>-<slug>.md`, no folder", problems);
    records(report, blocks, problems);
    for bad in read_delta(&blocks.readme_delta).1 {
        problems.add(ProblemCode::DeltaShape, &bad.at, &bad.expected, &bad.observed);
    }
    if !blocks.outcome.is_empty() && !blocks.outcome.starts_with("## Outcome") {
        let first = blocks.outcome.lines().next().unwrap_or_default();
        problems.add(ProblemCode::OutcomeShape, "OUTCOME", "a first line `## Outcome`", first);
    }
    let mut seen: HashSet<&str> = HashSet::from(["README_DELTA", "ADRS", "OUTCOME", "BACKLOG_ITEMS"]);
    for extra in &blocks.extra {
        if !seen.insert(&extra.name) {
            problems.add(ProblemCode::DuplicateBlock, &extra.name, "each block once", "a second one");
        }
    }
}

fn files(block: &str, documents: &Documents, safe: fn(&str) -> bool, shape: &str, problems: &mut Problems) {
    if !documents.before_first.is_empty() {
        let expected = "a marker line before any text";
        problems.add(ProblemCode::TextBeforeMarker, block, expected, &documents.before_first);
    }
    // File systems that fold case would write both to one place.
    let mut seen: HashSet<String> = HashSet::new();
    for file in &documents.files {
        if !safe(&file.file_name) {
            problems.add(ProblemCode::UnsafeFileName, block, shape, &file.file_name);
        }
        if !seen.insert(file.file_name.to_lowercase()) {
            problems.add(ProblemCode::DuplicateFileName, block, "each file once", &file.file_name);
        }
        if file.body.trim().is_empty() {
            problems.add(ProblemCode::EmptyFile, block, "a text below the marker", &file.file_name);
        }
    }
}

/// `NNNN-kebab-slug.md` (agentheim.md §2.6).
pub(super) fn is_record_name(name: &str) -> bool {
    let Some((number, slug)) = name.strip_suffix(".md").and_then(|stem| stem.split_once('-')) else { return false };
    name.len() <= MAX_NAME && number.len() == 4 && number.bytes().all(|b| b.is_ascii_digit()) && is_kebab(slug)
}

/// `<id>-<slug>.md` or `<id>.md`; both are kebab, so one rule serves. A lone word cannot be an id.
fn is_task_name(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".md") else { return false };
    name.len() <= MAX_NAME && stem.contains('-') && is_kebab(stem)
}

fn is_kebab(text: &str) -> bool {
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.split('-').all(word)
}

/// The names in a comma-separated list; `none` alone is no name.
pub(super) fn names(value: &str) -> Vec<String> {
    if value.trim().eq_ignore_ascii_case("none") {
        return Vec::new();
    }
    value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// True if `name`, as a worker writes it (`ADR-0012`, `0012`, `0012-slug`, with `.md`, with folders), means the file.
pub(super) fn same_record(name: &str, file: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let bare = last.strip_prefix("ADR-").unwrap_or(last);
    let bare = bare.strip_suffix(".md").unwrap_or(bare);
    let stem = file.strip_suffix(".md").unwrap_or(file);
    let number_only = bare.len() == 4 && bare.bytes().all(|b| b.is_ascii_digit());
    bare == stem || (number_only && stem.split('-').next() == Some(bare))
}

fn records(report: &Report, blocks: &Blocks, problems: &mut Problems) {
    let said = names(report.field("ADRS_WRITTEN").unwrap_or_default());
    let carried = &blocks.adrs.files;
    if said.len().max(carried.len()) > MAX_RECORDS {
        let observed = format!("{} named, {} carried", said.len(), carried.len());
        let expected = format!("at most {MAX_RECORDS} records in a report");
        problems.add(ProblemCode::AdrsMismatch, "ADRS_WRITTEN", &expected, &observed);
        return;
    }
    for name in &said {
        if !carried.iter().any(|file| same_record(name, &file.file_name)) {
            problems.add(ProblemCode::AdrsMismatch, "ADRS_WRITTEN", "records that the ADRS block carries", name);
        }
    }
    for file in carried {
        if !said.iter().any(|name| same_record(name, &file.file_name)) {
            let expected = "every record of the ADRS block named";
            problems.add(ProblemCode::AdrsMismatch, "ADRS_WRITTEN", expected, &file.file_name);
        }
    }
}
