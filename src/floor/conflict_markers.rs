//! `conflict-markers`: a merge that nobody finished.

use super::Inspection;
use super::finding::{ask, deny, unknown, unreadable};
use super::reading::{Reading, lines, new_file, old_file, read, text_or_empty};
use crate::host::git::{Change, GitError};
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CheckReport, Finding};
use std::collections::HashMap;

/// The check's id.
pub const ID: &str = "conflict-markers";

/// Denies a conflict that the claim adds: an opening, a middle and a closing marker line in this order (RULINGS 11). A
/// lone `=======` underlines a heading and means nothing. In a Markdown code block it may be an example: that is asked.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let mut findings = Vec::new();
    for change in &on.claim.changed {
        match look(on, change) {
            Ok(found) => findings.extend(found),
            Err(why) => findings.push(unreadable(&change.path, &why)),
        }
    }
    CheckReport::of(ID, findings)
}

fn look(on: &Inspection<'_>, change: &Change) -> Result<Vec<Finding>, GitError> {
    let Some(blob) = new_file(change).filter(|new| **new != change.old) else { return Ok(Vec::new()) };
    let (text, cut) = match read(on.repo, blob)? {
        Reading::Text(text) => (text, false),
        Reading::Cut(text) => (text, true),
        Reading::Binary => return Ok(Vec::new()),
    };
    let here = conflicts(&text, is_markdown(&change.path));
    let mut findings = Vec::new();
    if !here.is_empty() {
        let old = match old_file(change) {
            Some(old) => text_or_empty(on.repo, old)?,
            None => Vec::new(),
        };
        let mut known: HashMap<(&[u8], &[u8]), usize> = HashMap::new();
        for conflict in conflicts(&old, false) {
            *known.entry(conflict.marks()).or_default() += 1;
        }
        for conflict in &here {
            match known.get_mut(&conflict.marks()).filter(|left| **left > 0) {
                Some(left) => *left -= 1,
                None => findings.push(finding(&change.path, conflict)),
            }
        }
    }
    if cut {
        let observed = format!("only its first {} bytes were looked at", text.len());
        findings.push(unknown(&change.path, "a text file that can be read whole", observed));
    }
    Ok(findings)
}

fn finding(path: &RepoPath, conflict: &Conflict<'_>) -> Finding {
    let place = format!("{path}:{}", conflict.line);
    let observed = format!("`{}` … `=======` … `{}`", clipped(conflict.open), clipped(conflict.close));
    if conflict.in_code_block {
        return ask(place, "an example of conflict markers, not a conflict", observed);
    }
    deny(place, "a finished merge: keep one side, or both in order, and delete the marker lines", observed)
}

fn clipped(line: &[u8]) -> String {
    escape(&line[..line.len().min(60)])
}

fn is_markdown(path: &RepoPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    name.ends_with(b".md") || name.ends_with(b".markdown")
}

/// A conflict left in a text.
struct Conflict<'t> {
    line: usize,
    open: &'t [u8],
    close: &'t [u8],
    in_code_block: bool,
}

impl<'t> Conflict<'t> {
    fn marks(&self) -> (&'t [u8], &'t [u8]) {
        (self.open, self.close)
    }
}

/// A marker line: seven of the mark, then nothing or a blank and a label.
fn is_marker(line: &[u8], mark: u8) -> bool {
    line.len() >= 7 && line[..7].iter().all(|b| *b == mark) && matches!(line.get(7), None | Some(b' ' | b'\t'))
}

fn conflicts(text: &[u8], markdown: bool) -> Vec<Conflict<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &[u8], bool)> = None;
    let mut middle = false;
    let mut fence: Option<u8> = None;
    for (at, line) in lines(text).enumerate() {
        if markdown {
            fence = after_fence(fence, line);
        }
        if is_marker(line, b'<') {
            (open, middle) = (Some((at + 1, line, fence.is_some())), false);
        } else if line == b"=======" {
            middle = open.is_some();
        } else if is_marker(line, b'>')
            && middle
            && let Some((number, first, in_code_block)) = open.take()
        {
            found.push(Conflict { line: number, open: first, close: line, in_code_block });
            middle = false;
        }
    }
    found
}

/// The open code fence's mark after this line.
fn after_fence(fence: Option<u8>, line: &[u8]) -> Option<u8> {
    let line = line.trim_ascii();
    let mark = line.first().copied().filter(|b| matches!(b, b'`' | b'~'));
    match (fence, mark) {
        (None, Some(mark)) if line.starts_with(&[mark; 3]) => Some(mark),
        (Some(open), Some(mark)) if open == mark && line.len() >= 3 && line.iter().all(|b| *b == mark) => None,
        (fence, _) => fence,
    }
}
