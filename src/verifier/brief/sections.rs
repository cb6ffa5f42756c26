//! The parts of a brief that are read from the ledger and the change.

use super::BriefInput;
use crate::claim::text::Body;
use crate::host::path::RepoPath;
use crate::receipts::{BitesRecord, CaseResult, CheckReport, Fact, Finding, Purpose, Receipt, State, TestCase};
use crate::task::Proof;
use crate::verifier::fence::Fence;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// At most this many bytes of test names; failures come first.
const MOST_TEST_BYTES: usize = 100_000;
/// At most this many rows in a table of paths or findings.
const MOST_ROWS: usize = 5_000;

/// Checks that only read the worker's report. They are settled before a verifier is asked and their words would carry
/// the worker's. What `receipts` found has a section of its own.
fn is_about_the_report(check: &CheckReport) -> bool {
    check.id.starts_with("report-") || check.id == "readme-delta" || check.id == "receipts"
}

fn checks(receipts: &[Receipt]) -> impl Iterator<Item = (u32, &CheckReport)> {
    receipts.iter().filter_map(|receipt| match &receipt.fact {
        Fact::Check(check) if !is_about_the_report(check) => Some((receipt.id, check)),
        _ => None,
    })
}

/// What was decided mechanically: checks, commands, proofs of criteria.
pub(super) fn settled(receipts: &[Receipt], fence: &Fence) -> String {
    let mut rows = String::new();
    for (_, check) in checks(receipts) {
        let note = if check.note.is_empty() { String::new() } else { format!(" ({})", one_line(&check.note)) };
        let _ = writeln!(rows, "check {}: {}{note}", check.id, check.state.word());
    }
    let apart = apart(receipts);
    for receipt in receipts {
        match &receipt.fact {
            Fact::Bites(bites) => rows.push_str(&bitten(bites)),
            Fact::Command(run) if apart.contains(&receipt.id) => {}
            Fact::Command(run) => {
                let root = if run.root.is_empty() { "the top".to_owned() } else { one_line(&run.root) };
                let (command, how) = (one_line(&run.command), one_line(&run.ending.sentence()));
                let again = if run.purpose == Purpose::Rerun { ", run again because it was red" } else { "" };
                let _ = writeln!(rows, "command `{command}` in {root} on tree {}{again}: {how}", run.tree.short());
            }
            Fact::Proof(proof) => {
                let claim = |word: Option<bool>| word.map_or("not found out", |yes| if yes { "yes" } else { "no" });
                let _ = writeln!(
                    rows,
                    "proof of C{}: {} — on the finished tree: {}; on the base: {}; {}",
                    proof.criterion,
                    named(&proof.proof),
                    claim(proof.on_claim),
                    claim(proof.on_base),
                    one_line(&proof.observed)
                );
            }
            _ => {}
        }
    }
    format!("\n# Settled already\n\n{}", fence.block("settled", rows.as_bytes()))
}

/// Runs on trees that are neither the claim's nor the base's: what they showed is told in words.
fn apart(receipts: &[Receipt]) -> BTreeSet<u32> {
    let bites = receipts.iter().filter_map(|receipt| match &receipt.fact {
        Fact::Bites(bites) => Some(&bites.receipts),
        _ => None,
    });
    bites.flatten().copied().collect()
}

/// The claim's new and changed tests on the base's production code, and what the criteria's own tests are worth.
fn bitten(bites: &BitesRecord) -> String {
    let mut rows = String::new();
    for bite in &bites.tests {
        if rows.len() > MOST_TEST_BYTES {
            let _ = writeln!(rows, "(further new tests are not listed)");
            break;
        }
        let weak = match (bite.weak, bite.noticed) {
            (true, _) => "; weak: nothing shows that it would notice wrong code",
            (false, Some(true)) => "; it noticed a mutant of the change",
            _ => "",
        };
        let name = one_line(&bite.test.name);
        let _ = writeln!(
            rows,
            "new test {name} without the change: {}{weak}; {}",
            bite.class.word(),
            one_line(&bite.observed)
        );
    }
    for cited in &bites.cited {
        let class = cited.class.map_or("pre-existing, unchanged", |class| class.word());
        let weak = if cited.weak { ", weak" } else { "" };
        let _ = writeln!(rows, "C{} names test {}: {class}{weak}", cited.criterion, one_line(&cited.name));
    }
    rows
}

/// What a machine cannot decide.
pub(super) fn findings(receipts: &[Receipt], fence: &Fence) -> String {
    let (mut rows, mut count) = (String::new(), 0);
    for (_, check) in checks(receipts) {
        for finding in check.findings.iter().filter(|f| f.state != State::Pass && f.state != State::NotApplicable) {
            if is_declined(receipts, check, finding) {
                continue;
            }
            count += 1;
            if count <= MOST_ROWS {
                let place = if finding.place.is_empty() { "no particular place" } else { &finding.place };
                let _ = writeln!(
                    rows,
                    "{} {} at {}: expected {}; observed {}",
                    finding.state.word(),
                    check.id,
                    one_line(place),
                    one_line(&finding.expected),
                    one_line(&finding.observed)
                );
            }
        }
    }
    for receipt in receipts {
        let Fact::Sightings { sightings } = &receipt.fact else { continue };
        for sighting in sightings.iter().take(MOST_ROWS) {
            let kind = serde_json::to_value(sighting.kind).ok();
            let kind = kind.as_ref().and_then(serde_json::Value::as_str).unwrap_or("sighting");
            let place = sighting.path.as_ref().map_or_else(|| "the repository".to_owned(), ToString::to_string);
            let _ = writeln!(rows, "seen {kind} at {place}: {}", one_line(&sighting.detail));
        }
    }
    if rows.is_empty() {
        return "\n# Suspicions to decide\n\nNone.\n".to_owned();
    }
    format!("\n# Suspicions to decide\n\n{}{}", more(count), fence.block("findings", rows.as_bytes()))
}

fn is_declined(receipts: &[Receipt], check: &CheckReport, f: &Finding) -> bool {
    receipts.iter().any(|receipt| match &receipt.fact {
        Fact::Declined(before) => before.stands && before.point.is_about(&check.id, &f.place, &f.expected, &f.observed),
        _ => false,
    })
}

/// What persons decided before: it stands above the task's wording. The verdicts that they answered are not told.
pub(super) fn declined(receipts: &[Receipt], fence: &Fence) -> String {
    let (mut rows, mut count) = (String::new(), 0);
    for receipt in receipts {
        let Fact::Declined(before) = &receipt.fact else { continue };
        count += 1;
        if count > MOST_ROWS {
            continue;
        }
        let standing =
            if before.stands { "no defect" } else { "was no defect; the code has changed since, decide anew" };
        let why = if before.why.is_empty() { String::new() } else { format!(" (because: {})", one_line(&before.why)) };
        let _ = writeln!(rows, "{standing}: {}{why}", one_line(&before.point.sentence()));
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n# Decided by a person\n\nA person looked at these and declined them. They are not to be raised again, whatever the \
         task's wording says.\n\n{}{}",
        more(count),
        fence.block("decided", rows.as_bytes())
    )
}

/// What the base holds that nobody verified: machine-written and unreviewed.
pub(super) fn uncertified(receipts: &[Receipt], fence: &Fence) -> String {
    let mut rows = String::new();
    for receipt in receipts {
        let Fact::Uncertified { ranges } = &receipt.fact else { continue };
        for range in ranges.iter().take(MOST_ROWS) {
            let (parent, commit) = (range.parent.short(), range.commit.short());
            let _ = writeln!(rows, "{parent}..{commit} ({}, {})", one_line(&range.task), one_line(&range.origin));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n# Unverified below\n\nThe base contains these commits, which a machine wrote and nobody verified. Whatever rests on \
         them rests on nothing.\n\n{}",
        fence.block("unverified", rows.as_bytes())
    )
}

/// What the worker's report says it did, against its tool calls and what is there. Its own words are not told.
pub(super) fn reconciled(receipts: &[Receipt], fence: &Fence) -> String {
    let tables = receipts.iter().filter_map(|receipt| match &receipt.fact {
        Fact::Reconciled(table) => Some(table),
        _ => None,
    });
    let (mut rows, mut count) = (String::new(), 0);
    for row in tables.flat_map(|table| &table.rows) {
        count += 1;
        if count <= MOST_ROWS {
            let (what, observed) = (one_line(&row.assertion.what()), one_line(&row.observed));
            let _ = writeln!(rows, "{} {what}: {observed}", row.standing.word());
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n# What was reported, against what was seen\n\nA worker's statement that is backed is no evidence for a criterion; \
         one that is not is a reason for doubt.\n\n{}{}",
        more(count),
        fence.block("reported", rows.as_bytes())
    )
}

/// The executed tests, failures first, then by name.
pub(super) fn tests(receipts: &[Receipt], fence: &Fence) -> String {
    let mut cases: Vec<(&TestCase, &str)> = Vec::new();
    let mut incomplete = false;
    let apart = apart(receipts);
    for receipt in receipts.iter().filter(|receipt| !apart.contains(&receipt.id)) {
        if let Fact::Tests(run) = &receipt.fact {
            incomplete |= !run.complete;
            cases.extend(run.cases.iter().map(|case| (case, run.tree.short())));
        }
    }
    cases.sort_by_key(|(case, tree)| (case.result == CaseResult::Passed, *case, *tree));
    let (mut rows, mut left_out) = (String::new(), 0_usize);
    for (case, tree) in &cases {
        if rows.len() > MOST_TEST_BYTES {
            left_out += 1;
            continue;
        }
        let result = match case.result {
            CaseResult::Passed => "passed",
            CaseResult::Skipped => "skipped",
            CaseResult::Failed => "failed",
            CaseResult::Errored => "broke",
        };
        let suite = if case.suite.is_empty() { String::new() } else { format!(" (in {})", one_line(&case.suite)) };
        let _ = writeln!(rows, "{result} on {tree}: {}{suite}", one_line(&case.name));
    }
    let mut note = if cases.len() == 1 { "1 result.".to_owned() } else { format!("{} results.", cases.len()) };
    if left_out > 0 {
        let _ = write!(note, " {left_out} passed or later ones are not listed.");
    }
    if incomplete {
        note.push_str(" A run's list of names is incomplete.");
    }
    format!("\n# Executed tests\n\n{note}\n\n{}", fence.block("tests", rows.as_bytes()))
}

/// The table of changed paths, then the patch of those that are carried.
pub(super) fn changes(input: &BriefInput<'_>, carried: &[usize], fence: &Fence) -> String {
    let mut rows = String::new();
    for change in input.claim.changed.iter().take(MOST_ROWS) {
        let kind = format!("{:?}", change.kind).to_lowercase();
        let from = change.from.as_ref().map(|from| format!(" (was {from})")).unwrap_or_default();
        let (old, new) = (short(change.old.as_str()), short(change.new.as_str()));
        let _ = writeln!(rows, "{kind} {} {} {old} {new} {}{from}", change.old_mode, change.new_mode, change.path);
    }
    let mut patch = String::new();
    for (index, change) in input.claim.changed.iter().enumerate() {
        let Some(text) = input.changes.get(index) else { continue };
        let body = match &text.body {
            Body::Text { text, .. } if carried.binary_search(&index).is_ok() => text.clone(),
            Body::Text { .. } | Body::TooLarge { .. } => "(not shown here; see the list below)\n".to_owned(),
            Body::Binary { bytes, id } => format!("(not text: {bytes} bytes, content {})\n", id.short()),
            Body::Nothing => String::new(),
        };
        let notes = if text.notes.is_empty() { String::new() } else { format!(" [{}]", text.notes.join("; ")) };
        let _ = writeln!(patch, "file {}{notes}", change.path);
        patch.push_str(&body);
    }
    let count = input.claim.changed.len();
    format!(
        "\n# The change\n\nKind, old and new mode, old and new content, path:\n{}{}\n{}",
        more(count),
        fence.block("paths", rows.as_bytes()),
        fence.block("patch", patch.as_bytes())
    )
}

/// What did not fit, and where to read it.
pub(super) fn not_shown_table(input: &BriefInput<'_>, not_shown: &[RepoPath], fence: &Fence) -> String {
    if not_shown.is_empty() {
        return String::new();
    }
    let wanted: BTreeSet<&RepoPath> = not_shown.iter().collect();
    let missing = input.claim.changed.iter().enumerate().filter(|(_, change)| wanted.contains(&change.path));
    let mut rows = String::new();
    for (index, change) in missing.take(MOST_ROWS) {
        let size = match input.changes.get(index).map(|c| &c.body) {
            Some(Body::Text { text, .. }) => format!("{} bytes of patch", text.len()),
            Some(Body::TooLarge { bytes, .. }) => format!("{bytes} bytes"),
            _ => "size unknown".to_owned(),
        };
        let _ = writeln!(rows, "{size}, content {}: {}", change.new, change.path);
    }
    format!(
        "\n# Not shown\n\nThe text of these {} changed files did not fit, or not whole. Each is in your current folder under \
         its path: open it before you judge. A PASS without them is held.\n{}\n{}",
        not_shown.len(),
        more(not_shown.len()),
        fence.block("not-shown", rows.as_bytes())
    )
}

/// Says that a table ends early.
fn more(count: usize) -> String {
    if count > MOST_ROWS { format!("The first {MOST_ROWS} of {count}.\n") } else { String::new() }
}

/// A proof as evidence lines spell it.
fn named(proof: &Proof) -> String {
    match proof {
        Proof::Test { name } => format!("test:{}", one_line(name)),
        Proof::File { path, contains: None } => format!("file:{path}"),
        Proof::File { path, contains: Some(text) } => format!("file:{path} containing \"{}\"", one_line(text)),
        Proof::Run { command } => format!("run:{}", one_line(command)),
    }
}

/// A field of a row must not start another row.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
