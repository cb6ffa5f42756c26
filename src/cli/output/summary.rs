//! The Markdown of a step summary or a check run, within a budget of bytes.
//!
//! Every text from the report is written so that Markdown and HTML see letters only: no link, no mention, no image, no
//! heading and no table cell can be made by it.

use super::entry::{Entry, Weight};
use super::text::{count, covering, headline, word};
use crate::pipeline::ci::{CiReport, TaskReport};

/// GitHub's limit for one step.
pub(super) const STEP_LIMIT: usize = 1 << 20;
/// GitHub's limit for a check run's summary is 65,535 characters; bytes are never fewer.
pub(super) const CHECK_RUN_LIMIT: usize = 65_535;

/// What the last lines need, whatever the numbers in them.
const TAIL: usize = 400;

/// The summary in at most so many bytes. What does not fit is counted at the end.
pub(super) fn markdown(report: &CiReport, entries: &[Entry], budget: usize) -> String {
    let mut out = Bounded { text: String::new(), most: budget.saturating_sub(TAIL) };
    out.push(&format!("## countersign: {}\n\n", headline(report.decision)));
    let tree = report.tree.as_ref().map_or("none, head and base do not merge", |tree| tree.short());
    out.push(&format!(
        "Judged tree `{tree}`: head `{}` on base `{}`, {}, {}.\n\n",
        report.head.short(),
        report.base.short(),
        count(report.commits, "commit"),
        count(report.changed, "changed path"),
    ));
    for reason in &report.reasons {
        out.push(&format!("- {}: {}\n", code(&reason.code), plain(&reason.text)));
    }
    for check in report.health.checks.iter().filter(|check| !check.works) {
        out.push(&format!("- **the gate does not work**: {}: {}\n", code(&check.name), plain(&check.text)));
    }
    if report.health.works {
        let tried: Vec<String> = report.health.checks.iter().map(|check| code(&check.name)).collect();
        out.push(&format!("\nThe gate can say no: {}.\n", tried.join(", ")));
    }
    let tasks = tasks(report, &mut out);
    let listed = findings(entries, &mut out);
    let mut text = out.text;
    if tasks < report.tasks.len() {
        text.push_str(&format!("\n{} not shown here: there is no room.\n", count(report.tasks.len() - tasks, "task")));
    }
    if listed < entries.len() {
        let more = count(entries.len() - listed, "finding");
        text.push_str(&format!(
            "\n{more} not shown here (of {}): there is no room. The report has all.\n",
            entries.len()
        ));
    }
    text
}

/// The table of tasks, and what is known of each criterion; how many had room.
fn tasks(report: &CiReport, out: &mut Bounded) -> usize {
    if report.tasks.is_empty() {
        return 0;
    }
    out.push("\n| task | decision | evidence | criteria covered |\n|---|---|---|---|\n");
    let mut shown = 0;
    for task in &report.tasks {
        let covered = task.criteria.iter().filter(|c| c.covering == crate::pipeline::ci::Covering::Covered).count();
        let row = format!(
            "| {} {} | {} | {} | {covered} of {} |\n",
            code(&task.id),
            plain(&task.title),
            word(task),
            task.evidence.word(),
            task.criteria.len()
        );
        if !out.push(&row) {
            break;
        }
        shown += 1;
    }
    for task in report.tasks.iter().take(shown) {
        if !out.push(&details(task)) {
            break;
        }
    }
    shown
}

fn details(task: &TaskReport) -> String {
    let mut text = format!("\n**{}** ({})\n\n", code(&task.id), plain(&task.because));
    for reason in &task.reasons {
        text.push_str(&format!("- {}: {}\n", code(&reason.code), plain(&reason.text)));
    }
    for criterion in &task.criteria {
        let by = criterion.covered_by.iter().map(|by| code(by)).collect::<Vec<_>>().join(", ");
        let by = if by.is_empty() { by } else { format!(" ({by})") };
        let covering = covering(criterion.covering);
        text.push_str(&format!("- C{} {covering}: {}{by}\n", criterion.number, plain(&criterion.text)));
    }
    text
}

/// The table of findings, worst first; how many had room.
fn findings(entries: &[Entry], out: &mut Bounded) -> usize {
    if entries.is_empty() {
        return 0;
    }
    let number = |weight| entries.iter().filter(|entry| entry.weight == weight).count();
    out.push(&format!(
        "\n### Findings: {}, {}, {}\n\n| | check | task | where | what |\n|---|---|---|---|---|\n",
        count(number(Weight::Error), "error"),
        count(number(Weight::Warning), "warning"),
        count(number(Weight::Note), "note"),
    ));
    let mut shown = 0;
    for entry in entries {
        let what = if entry.expected.is_empty() {
            plain(&entry.observed)
        } else {
            format!("{}<br>expected: {}", plain(&entry.observed), plain(&entry.expected))
        };
        let task = entry.task.as_deref().map_or_else(String::new, code);
        let line = entry.location.as_ref().and_then(|at| at.line).map_or_else(String::new, |line| format!(":{line}"));
        let place = entry.location.as_ref().map_or_else(|| entry.place.clone(), |at| format!("{}{line}", at.path));
        let place = if place.is_empty() { place } else { code(&place) };
        if !out.push(&format!("| {} | {} | {task} | {place} | {what} |\n", entry.state.word(), code(&entry.rule))) {
            break;
        }
        shown += 1;
    }
    shown
}

/// Text that never grows beyond its budget; what does not fit as a whole is left out.
struct Bounded {
    text: String,
    most: usize,
}

impl Bounded {
    fn push(&mut self, piece: &str) -> bool {
        let fits = self.text.len() + piece.len() <= self.most;
        if fits {
            self.text.push_str(piece);
        }
        fits
    }
}

/// A text in the type of code. In it GitHub makes neither mentions nor references to issues.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}

/// A text as letters: what could mean something to Markdown or HTML is a numeric reference, line ends are breaks.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("<br>"),
            // A full stop ends the `www.` that would become a link; the colon ends a scheme.
            '-' | ',' | '/' | '(' | ')' | ' ' | '\'' | ';' => out.push(c),
            c if c.is_ascii_punctuation() => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_means_nothing_to_markdown() {
        let shown =
            plain("a|b <img src=x> [x](http://e.invalid) @team #1 `c` **d** www.e.invalid $x$ ~~e~~ \\ &amp; _f_\n# g");
        for mark in ['|', '[', ']', '<', '@', '`', '*', '_', '$', '~', '\\', '.', ':', '!', '#'] {
            let bare = shown.replace("&#", "").replace("<br>", "");
            assert!(!bare.contains(mark), "{mark} in {shown}");
        }
        assert!(shown.contains("<br>&#35; g"), "{shown}");
    }
}
