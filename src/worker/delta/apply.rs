//! Changes applied to a text, and what would come of them (agentheim.md §5.12).

use super::outline::{Outline, anchor_of, folded};
use super::{Change, Op, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where a change lands whose section does not exist.
pub const FALLBACK_SECTION: &str = "Ubiquitous language";

/// What came of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Disposition {
    /// Done as written.
    Applied,
    /// The text already reads so.
    NoopAlready,
    /// The bullet was changed by somebody else: the new text stands right after it.
    Merged,
    /// No bullet has the anchor: the new text stands at the end of the section.
    AnchorMissing,
    /// No such section: the new text stands in [`FALLBACK_SECTION`], or at the end if that is missing, too.
    AppendedFallback,
}

/// One operation done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Step {
    /// The entry of the delta, from 0.
    pub entry: usize,
    /// The operation in the entry, from 0.
    pub op: usize,
    /// The section named.
    pub section: String,
    /// What came of it.
    pub disposition: Disposition,
}

/// A text with changes applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Applied {
    /// The new text.
    pub text: String,
    /// One step an operation, in order.
    pub steps: Vec<Step>,
}

/// What an operation would meet in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// The entry of the delta, from 0.
    pub entry: usize,
    /// The operation in the entry, from 0.
    pub op: usize,
    /// The section named.
    pub section: String,
    /// The anchor of a `replace`.
    pub anchor: Option<String>,
    /// What stands there.
    pub state: Footing,
}

/// Whether an operation finds what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Footing {
    /// The section is there and, for a `replace`, one bullet with the anchor that reads as expected.
    Ready,
    /// The text already reads as the operation wants it.
    AlreadyThere,
    /// No section has this heading.
    SectionMissing,
    /// No bullet of the section begins with the anchor in bold.
    AnchorMissing,
    /// Several bullets of the section begin with the anchor; the first is meant.
    AnchorAmbiguous,
    /// The bullet reads otherwise than the worker expected.
    ExpectedDiffers,
}

/// Applies the changes meant for `target`, in order; each sees what the ones before it did.
///
/// Line ends stay as they are; new lines get the text's own (the more frequent kind, LF on a tie). Applying the same
/// changes again changes nothing.
pub fn apply_delta(text: &str, target: Target, changes: &[Change]) -> Applied {
    let mut text = text.to_owned();
    let mut steps = Vec::new();
    for (change, op_at, op) in operations(target, changes) {
        let (disposition, edit) = plan(&text, &change.section, op);
        if let Some(edit) = edit {
            text = edit.apply(&text, op.body());
        }
        steps.push(Step { entry: change.entry, op: op_at, section: change.section.clone(), disposition });
    }
    Applied { text, steps }
}

/// Says for each operation meant for `target` what it would meet, after the ones before it.
pub fn check_delta(text: &str, target: Target, changes: &[Change]) -> Vec<Finding> {
    let mut text = text.to_owned();
    let mut findings = Vec::new();
    for (change, op_at, op) in operations(target, changes) {
        let anchor = match op {
            Op::Append { .. } => None,
            Op::Replace { anchor, .. } => Some(anchor.clone()),
        };
        let state = footing(&text, &change.section, op);
        findings.push(Finding { entry: change.entry, op: op_at, section: change.section.clone(), anchor, state });
        if let (_, Some(edit)) = plan(&text, &change.section, op) {
            text = edit.apply(&text, op.body());
        }
    }
    findings
}

fn operations(target: Target, changes: &[Change]) -> impl Iterator<Item = (&Change, usize, &Op)> {
    let meant = changes.iter().filter(move |change| change.document == target);
    meant.flat_map(|change| change.ops.iter().map(move |(at, op)| (change, *at, op)))
}

/// Lines to take out and to fill with the operation's body.
struct Edit(Range<usize>);

impl Edit {
    fn insert(at: usize) -> Self {
        Self(at..at)
    }

    fn apply(&self, text: &str, body: &str) -> String {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let end = line_end(text);
        let before = lines[..self.0.start].concat();
        let after = lines[self.0.end..].concat();
        let mut out = before;
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(end);
        }
        out.push_str(&body.lines().collect::<Vec<_>>().join(end));
        // A text without a final line end keeps having none.
        if !after.is_empty() || text.is_empty() || text.ends_with('\n') {
            out.push_str(end);
        }
        out.push_str(&after);
        out
    }
}

fn line_end(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    let crlf = text.matches("\r\n").count();
    if crlf * 2 > all { "\r\n" } else { "\n" }
}

fn plan(text: &str, section: &str, op: &Op) -> (Disposition, Option<Edit>) {
    let outline = Outline::read(text);
    let Some(range) = outline.section(section) else {
        return fallback(&outline, op.body());
    };
    let bullets = outline.bullets(&range);
    let reads = |bullet: &Range<usize>, wanted: &str| folded(&outline.text(bullet)) == folded(wanted);
    let present = bullets.iter().any(|bullet| reads(bullet, op.body()));
    let list_end = outline.without_blank_end(range.clone());
    match op {
        _ if present => (Disposition::NoopAlready, None),
        Op::Append { .. } => (Disposition::Applied, Some(Edit::insert(list_end))),
        Op::Replace { anchor, expected, .. } => match anchored(&outline, &bullets, anchor).next() {
            None => (Disposition::AnchorMissing, Some(Edit::insert(list_end))),
            Some(bullet) if reads(bullet, expected) => (Disposition::Applied, Some(Edit(bullet.clone()))),
            Some(bullet) => (Disposition::Merged, Some(Edit::insert(bullet.end))),
        },
    }
}

fn fallback(outline: &Outline<'_>, body: &str) -> (Disposition, Option<Edit>) {
    let whole = 0..outline.lines.len();
    let range = outline.section(FALLBACK_SECTION);
    let bullets = outline.bullets(range.as_ref().unwrap_or(&whole));
    if bullets.iter().any(|bullet| folded(&outline.text(bullet)) == folded(body)) {
        return (Disposition::NoopAlready, None);
    }
    let at = range.map_or(whole.end, |range| outline.without_blank_end(range));
    (Disposition::AppendedFallback, Some(Edit::insert(at)))
}

fn anchored<'b>(
    outline: &'b Outline<'_>,
    bullets: &'b [Range<usize>],
    anchor: &str,
) -> impl Iterator<Item = &'b Range<usize>> {
    let wanted = folded(anchor);
    bullets.iter().filter(move |bullet| anchor_of(&outline.text(bullet)).is_some_and(|found| found == wanted))
}

fn footing(text: &str, section: &str, op: &Op) -> Footing {
    let outline = Outline::read(text);
    let Some(range) = outline.section(section) else { return Footing::SectionMissing };
    let bullets = outline.bullets(&range);
    if bullets.iter().any(|bullet| folded(&outline.text(bullet)) == folded(op.body())) {
        return Footing::AlreadyThere;
    }
    let Op::Replace { anchor, expected, .. } = op else { return Footing::Ready };
    let mut meant = anchored(&outline, &bullets, anchor);
    let Some(first) = meant.next() else { return Footing::AnchorMissing };
    if meant.next().is_some() {
        return Footing::AnchorAmbiguous;
    }
    let same = folded(&outline.text(first)) == folded(expected);
    if same { Footing::Ready } else { Footing::ExpectedDiffers }
}
