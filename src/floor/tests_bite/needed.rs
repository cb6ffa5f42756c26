//! Is every hunk of the production change needed? On request, each is undone alone; one that no test misses is named.

use super::hybrid::{Changed, Part};
use super::weak::{Budget, run_changed};
use super::{Work, finding};
use crate::claim::text::{Body, unified};
use crate::floor::test_files::{FileRole, classify};
use crate::floor::tests_run::{Facts, TestsOutcome};
use crate::host::git::GitError;
use crate::receipts::{Finding, State};
use std::ops::Range;

/// Undoes hunks until the budget is spent; says how many were not tried.
pub(super) fn undo_hunks(
    work: &Work<'_>,
    tests: &TestsOutcome,
    runs: &mut Vec<Facts>,
) -> Result<Vec<Finding>, GitError> {
    if !work.inspection.settings.tests.needed_change {
        return Ok(Vec::new());
    }
    let hunks: Vec<(&Changed, Hunk)> =
        work.changed.iter().flat_map(|file| hunks(file).into_iter().map(move |h| (file, h))).collect();
    let budget = Budget::of(work, tests);
    let mut findings = Vec::new();
    for (at, (file, hunk)) in hunks.iter().enumerate() {
        let text = undone(file, hunk);
        let Some(views) = run_changed(work, work.commands, (file, &text), &budget, runs)? else {
            let left = hunks.len() - at;
            let why = format!("the budget is spent: {left} of {} hunks were not undone", hunks.len());
            findings.push(finding(State::Info, "", why));
            break;
        };
        let missed = views.iter().any(|view| view.as_ref().is_ok_and(|view| !view.is_green()));
        let known = views.iter().all(|view| view.as_ref().is_ok_and(super::rounds::View::ended));
        if known && !missed {
            let place = format!("{}:{}", file.path, hunk.new.start.max(1));
            let (why, what) = if file.base.is_none() {
                ("no test misses this new file: with it empty every test still passes", "new file is emptied")
            } else {
                ("no test misses this hunk: with it undone every test still passes", "hunk is undone")
            };
            findings.push(Finding {
                expected: format!("a test fails when the {what}"),
                ..finding(State::Info, &place, why.to_owned())
            });
        }
    }
    Ok(findings)
}

/// Lines counted from 1, ends exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    old: Range<usize>,
    new: Range<usize>,
}

/// The hunks of a production file that can be undone on their own. A new file is one: it is emptied and not taken away,
/// so that a mere `mod new;` or a package's folder does not count as a test that misses it.
fn hunks(file: &Changed) -> Vec<Hunk> {
    let (Part::Production | Part::Mixed, Some(new)) = (file.part, &file.claim) else { return Vec::new() };
    if crate::floor::test_files::syntax_of(&file.path).is_none() {
        return Vec::new();
    }
    let Some(old) = &file.base else {
        let count = lines(new).len();
        return (count > 0).then_some(Hunk { old: 1..1, new: 1..count + 1 }).into_iter().collect();
    };
    let Body::Text { text, .. } = unified(Some(old), Some(new), &file.change).body else { return Vec::new() };
    let regions = match classify(&file.path, new) {
        FileRole::Mixed { regions } => regions,
        _ => Vec::new(),
    };
    let inside =
        |hunk: &Hunk| regions.iter().any(|region| region.start <= hunk.new.start && hunk.new.end <= region.end);
    text.lines().filter_map(read_head).filter(|hunk| !inside(hunk)).collect()
}

/// `@@ -3,4 +3,6 @@`: the lines of both sides, context included.
fn read_head(line: &str) -> Option<Hunk> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let new = rest.split_once(" @@")?.0;
    let range = |text: &str| -> Option<Range<usize>> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
        // Of an empty side the line before it is named.
        let start = if count == 0 { start + 1 } else { start };
        Some(start..start + count)
    };
    Some(Hunk { old: range(old)?, new: range(new)? })
}

/// The claim's text with this hunk as the base has it.
fn undone(file: &Changed, hunk: &Hunk) -> Vec<u8> {
    let old: Vec<&[u8]> = lines(file.base.as_deref().unwrap_or_default());
    let new: Vec<&[u8]> = lines(file.claim.as_deref().unwrap_or_default());
    let part = |of: &[&[u8]], range: Range<usize>| {
        let end = range.end.min(of.len());
        of[range.start.min(end)..end].concat()
    };
    let before = part(&new, 0..hunk.new.start - 1);
    let middle = part(&old, hunk.old.start - 1..hunk.old.end - 1);
    let after = part(&new, hunk.new.end - 1..new.len());
    [before, middle, after].concat()
}

/// Lines with their endings.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|b| *b == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::git::{Change, ChangeKind};
    use crate::host::ids::BlobId;

    #[test]
    fn each_hunk_is_undone_alone() {
        let base: String = (1..=40).map(|n| format!("line({n})\n")).collect();
        let claim = base.replace("line(3)\n", "three()\n").replace("line(30)\n", "line(30)\nmore()\n");
        let id = BlobId::new(&"1".repeat(40)).unwrap();
        let change = Change {
            kind: ChangeKind::Modified,
            path: "src/a.py".into(),
            from: None,
            old_mode: "100644".into(),
            new_mode: "100644".into(),
            old: id.clone(),
            new: id,
        };
        let file = Changed {
            path: "src/a.py".into(),
            part: Part::Production,
            base: Some(base.clone().into_bytes()),
            claim: Some(claim.clone().into_bytes()),
            change,
        };
        let found = hunks(&file);
        assert_eq!(found.len(), 2);
        let texts: Vec<String> = found.iter().map(|hunk| String::from_utf8(undone(&file, hunk)).unwrap()).collect();
        assert_eq!(texts, [claim.replace("three()\n", "line(3)\n"), claim.replace("more()\n", "")]);
        let new = Changed { base: None, ..file };
        assert_eq!(hunks(&new), [Hunk { old: 1..1, new: 1..42 }]);
        assert_eq!(undone(&new, &hunks(&new)[0]), b"");
        assert_eq!(read_head("@@ -0,0 +1,3 @@"), Some(Hunk { old: 1..1, new: 1..4 }));
        assert_eq!(read_head("+@@ -1 +1 @@"), None);
    }
}
