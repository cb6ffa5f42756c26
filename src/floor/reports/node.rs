//! Reads the totals that node's test runner prints last, after `ℹ` (spec) or `#` (TAP).

use super::Totals;
use super::lines::lines;
use super::tally::Tally;

/// Node's own totals. What is marked as to do was not run as far as evidence goes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeTotals {
    pub(super) tests: u64,
    pub(super) passed: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) skipped: u64,
    pub(super) todo: u64,
}

/// The last complete block of totals, and how many there are: a test may print one of its own.
pub(super) fn totals(output: &[u8]) -> Option<(NodeTotals, u64)> {
    let mut open: Option<(NodeTotals, u32)> = None;
    let mut found = None;
    for line in lines(output) {
        let Some(rest) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) else {
            continue;
        };
        let Some((word, value)) = rest.trim_end().split_once(' ') else { continue };
        if word == "duration_ms" {
            // Seven lines make a block: tests, suites, pass, fail, cancelled, skipped, todo.
            if let Some((totals, 7)) = open.take() {
                let before = found.map_or(0, |(_, blocks): (NodeTotals, u64)| blocks);
                found = Some((totals, before + 1));
            }
            continue;
        }
        let Ok(value) = value.parse::<u64>() else { continue };
        if word == "tests" {
            open = Some((NodeTotals { tests: value, ..NodeTotals::default() }, 1));
            continue;
        }
        let Some((totals, count)) = &mut open else { continue };
        let place = match word {
            "suites" => &mut 0,
            "pass" => &mut totals.passed,
            "fail" => &mut totals.failed,
            "cancelled" => &mut totals.cancelled,
            "skipped" => &mut totals.skipped,
            "todo" => &mut totals.todo,
            _ => continue,
        };
        *place = value;
        *count += 1;
    }
    found
}

/// Reads the spec reporter's output: counts, no names.
pub(super) fn read(output: &[u8], tally: &mut Tally) {
    tally.names_missing();
    let Some((totals, blocks)) = totals(output) else {
        tally.executed_unknown();
        tally.trouble("node printed no totals".to_owned());
        return;
    };
    if blocks > 1 {
        tally.trouble(format!("node's totals are printed {blocks} times"));
    }
    let failed = totals.failed.saturating_add(totals.cancelled);
    let skipped = totals.skipped.saturating_add(totals.todo);
    let sum = [totals.passed, failed, skipped].into_iter().fold(0, u64::saturating_add);
    if sum != totals.tests {
        tally.trouble(format!("node counts {} tests and {sum} results", totals.tests));
    }
    tally.count(totals.passed.saturating_add(failed), failed, skipped);
    tally.declare(Totals { tests: Some(totals.tests), failed: Some(failed), skipped: Some(skipped) });
}

#[cfg(test)]
mod tests {
    use crate::floor::reports::{Format, Source, read_report};

    fn block(tests: u64, pass: u64, fail: u64) -> String {
        format!(
            "ℹ tests {tests}\nℹ suites 1\nℹ pass {pass}\nℹ fail {fail}\nℹ cancelled 1\nℹ skipped 1\nℹ todo 1\n\
             ℹ duration_ms 3.5\n"
        )
    }

    #[test]
    fn one_complete_block_counts() {
        let read = |text: &str| read_report(Format::NodeSpec, &[Source::only(text.as_bytes())], "");
        let text = block(6, 2, 1);
        assert!(read(&format!("{text}{}", block(3, 0, 0))).distrusted);
        let reading = read(&text);
        assert_eq!((reading.executed, reading.failed, reading.skipped), (Some(4), 2, 2));
        assert!(!reading.complete && !reading.distrusted, "{reading:?}");
        let cut = text.replace("ℹ duration_ms 3.5\n", "");
        assert_eq!(read(&cut).executed, None);
        assert!(read(&block(9, 2, 1)).distrusted);
    }
}
