//! Verdicts in the notes that other tools left in task files, for display only.
//!
//! Agentheim's conductor copies a verdict into the task in several spellings (agentheim.md §4.1): plain labels, bold
//! labels, a bold label and value with the hint behind it. This reader forgives them all, and for that reason no
//! decision may rest on it: the type that it returns is not a [`super::Verdict`] and cannot become one.

use crate::receipts::Hint;

/// The longest note that is read, in bytes.
const LONGEST: usize = 1 << 20;

/// What a stored note says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredOutcome {
    /// PASS.
    Pass,
    /// FAIL.
    Fail,
    /// SKIP.
    Skip,
}

/// A verdict as an old note tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNote {
    /// Its outcome.
    pub outcome: StoredOutcome,
    /// Its hint, if it gives one that we know.
    pub hint: Option<Hint>,
    /// The bullets under its reasons, as written.
    pub reasons: Vec<String>,
}

/// Reads a stored note. `None` if it tells no outcome, or two different ones, or is longer than 1 MiB.
pub fn read_stored_note(text: &str) -> Option<StoredNote> {
    if text.len() > LONGEST {
        return None;
    }
    let (mut outcome, mut hint, mut reasons, mut listing) = (None, None, Vec::new(), false);
    for line in text.lines() {
        let plain: String = line.chars().filter(|c| !matches!(c, '*' | '`')).collect();
        let plain = plain.trim();
        if let Some(value) = plain.strip_prefix("VERDICT:") {
            let found = stored_outcome(value)?;
            if outcome.replace(found).is_some_and(|before| before != found) {
                return None;
            }
            hint = hint.or_else(|| stored_hint(value));
            listing = false;
        } else if let Some(rest) = plain.strip_prefix("REASONS:").or_else(|| plain.strip_prefix("REASON:")) {
            reasons.extend((!rest.trim().is_empty()).then(|| rest.trim().to_owned()));
            listing = true;
        } else if let Some(value) = plain.strip_prefix("ITERATION_HINT:") {
            hint = hint.or_else(|| stored_hint(value));
            listing = false;
        } else if listing {
            match line.trim_end().strip_prefix("- ") {
                Some(bullet) => reasons.push(bullet.trim().to_owned()),
                None if line.starts_with([' ', '\t']) || plain.is_empty() => {}
                None => listing = false,
            }
        }
    }
    outcome.map(|outcome| StoredNote { outcome, hint, reasons })
}

fn stored_outcome(value: &str) -> Option<StoredOutcome> {
    let value = value.trim();
    let word = value.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let rest = value[word.len()..].trim_start();
    if !(rest.is_empty() || rest.starts_with(['(', '—'])) {
        return None;
    }
    match word {
        "PASS" => Some(StoredOutcome::Pass),
        "FAIL" => Some(StoredOutcome::Fail),
        "SKIP" | "SKIPPED" => Some(StoredOutcome::Skip),
        _ => None,
    }
}

fn stored_hint(value: &str) -> Option<Hint> {
    match (value.contains("likely-fixable"), value.contains("task-under-specified")) {
        (true, false) => Some(Hint::LikelyFixable),
        (false, true) => Some(Hint::TaskUnderSpecified),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_stored_note_is_read() {
        let fixable = Some(Hint::LikelyFixable);
        for (note, outcome, hint, reasons) in [
            ("VERDICT: PASS\nTASK_ID: x\n", StoredOutcome::Pass, None, vec![]),
            (
                "VERDICT: FAIL\nREASONS:\n- one\n  more\n- two\nSUGGESTED_FIX: z\n- no\nITERATION_HINT: likely-fixable",
                StoredOutcome::Fail,
                fixable,
                vec!["one", "two"],
            ),
            ("**VERDICT:** FAIL\r\n\r\n**REASONS:**\r\n- one\r\n", StoredOutcome::Fail, None, vec!["one"]),
            ("**VERDICT: FAIL** (ITERATION_HINT: likely-fixable)", StoredOutcome::Fail, fixable, vec![]),
            ("**VERDICT: FAIL** — `likely-fixable`", StoredOutcome::Fail, fixable, vec![]),
            (
                "VERDICT: FAIL\nITERATION_HINT: task-under-specified",
                StoredOutcome::Fail,
                Some(Hint::TaskUnderSpecified),
                vec![],
            ),
            ("VERDICT: SKIP\nREASON: docs only", StoredOutcome::Skip, None, vec!["docs only"]),
        ] {
            let expected = StoredNote { outcome, hint, reasons: reasons.into_iter().map(str::to_owned).collect() };
            assert_eq!(read_stored_note(note), Some(expected), "{note}");
        }
        for note in
            ["", "All good.", "VERDICT: PASS\nVERDICT: FAIL", "VERDICT: PASSED", "VERDICT: PASS/FAIL", "VERDICT:"]
        {
            assert_eq!(read_stored_note(note), None, "{note}");
        }
    }
}
