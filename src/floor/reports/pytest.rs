//! Reads what pytest prints: the counts of its last line, and the names that `-v` or the short summary give.
//!
//! The JUnit report is the better source; this one cross-checks it, or stands in where there is none.

use super::Totals;
use super::lines::lines;
use super::tally::{MOST_CASES, Tally, cut};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use std::collections::BTreeMap;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    errors: u64,
    skipped: u64,
    xfailed: u64,
    xpassed: u64,
    rerun: u64,
}

/// Reads the output.
pub(super) fn read(output: &[u8], tally: &mut Tally) {
    let mut cases: BTreeMap<String, CaseResult> = BTreeMap::new();
    let mut counts: Option<Counts> = None;
    let mut summaries = 0_u64;
    for line in lines(output) {
        let line = line.trim_end();
        if let Some(found) = summary(line) {
            // The code under test may print one of its own, even after pytest: the worst counts, and none is trusted.
            summaries += 1;
            let bad = |counts: &Counts| counts.failed.saturating_add(counts.errors);
            counts = Some(counts.filter(|known| bad(known) > bad(&found)).unwrap_or(found));
        } else if line.starts_with("!!!") && (line.contains("Interrupted") || line.contains("KeyboardInterrupt")) {
            let why = escape(cut(line.trim_matches(['!', ' '])).as_bytes());
            tally.trouble(format!("the run was interrupted: {why}"));
        } else if cases.len() < MOST_CASES
            && let Some((name, result)) = case(line)
        {
            let known = cases.entry(cut(name).to_owned()).or_insert(result);
            *known = result.max(*known);
        }
    }
    if summaries > 1 {
        tally.trouble(format!("{summaries} lines look like pytest's summary"));
    }
    if cases.len() >= MOST_CASES {
        tally.trouble("it names too many tests".to_owned());
    }
    for (name, result) in &cases {
        let (file, test) = name.split_once("::").unwrap_or((name, ""));
        let test = if test.is_empty() { "(collection)" } else { test };
        tally.case(file, test, Some(file), *result);
    }
    let Some(counts) = counts else {
        tally.executed_unknown();
        tally.trouble("pytest printed no summary".to_owned());
        return;
    };
    compare(counts, tally);
}

fn compare(counts: Counts, tally: &mut Tally) {
    let failed = counts.failed.saturating_add(counts.errors);
    let skipped = counts.skipped.saturating_add(counts.xfailed);
    let executed = [counts.passed, failed, counts.xpassed].into_iter().fold(0, u64::saturating_add);
    let seen = tally.seen();
    tally.count(executed, failed, skipped);
    tally.declare(Totals {
        tests: Some(executed.saturating_add(skipped)),
        failed: Some(failed),
        skipped: Some(skipped),
    });
    if counts.rerun > 0 {
        tally.remark(format!("{} reruns", counts.rerun));
    }
    if seen.tests != Some(executed.saturating_add(skipped)) {
        tally.names_missing();
    }
    // A test whose body and teardown both break is one name and two counts; never the other way round.
    if seen.failed > Some(failed) {
        tally.trouble(format!("it names {} failures and counts {failed}", seen.failed.unwrap_or(0)));
    }
}

/// `=== 1 failed, 2 passed in 0.12s ===`, with `-q` without the frame.
fn summary(line: &str) -> Option<Counts> {
    let line = line.trim_matches('=').trim();
    let (counts, time) = line.rsplit_once(" in ")?;
    let seconds = time.split_once(' ').map_or(time, |(seconds, _)| seconds);
    seconds.strip_suffix('s')?.parse::<f64>().ok()?;
    let mut found = Counts::default();
    if counts == "no tests ran" {
        return Some(found);
    }
    for part in counts.split(", ") {
        let (number, what) = part.split_once(' ')?;
        let number = number.parse::<u64>().ok()?;
        let place = match what {
            "passed" => &mut found.passed,
            "failed" => &mut found.failed,
            "error" | "errors" => &mut found.errors,
            "skipped" => &mut found.skipped,
            "xfailed" => &mut found.xfailed,
            "xpassed" => &mut found.xpassed,
            "rerun" => &mut found.rerun,
            "deselected" | "warning" | "warnings" | "subtests passed" => continue,
            _ => return None,
        };
        *place = number;
    }
    Some(found)
}

fn is_python(file: &str) -> bool {
    file.rsplit_once('.').is_some_and(|(_, end)| end == "py")
}

/// `a.py::test PASSED [ 50%]`, or `FAILED a.py::test - why` of the short summary.
fn case(line: &str) -> Option<(&str, CaseResult)> {
    let state = |word: &str| match word {
        "PASSED" | "XPASS" => Some(CaseResult::Passed),
        "SKIPPED" | "XFAIL" => Some(CaseResult::Skipped),
        "FAILED" => Some(CaseResult::Failed),
        "ERROR" => Some(CaseResult::Errored),
        _ => None,
    };
    let (first, rest) = line.split_once(' ')?;
    if let Some(result) = state(first) {
        let name = rest.split(" - ").next().unwrap_or(rest).trim();
        let is_name = name.contains("::") || (result == CaseResult::Errored && is_python(name));
        return (is_name && result >= CaseResult::Failed).then_some((name, result));
    }
    // Parameters may hold blanks: the state is the last word before the percentage.
    let line = line.strip_suffix(']').and_then(|line| line.rsplit_once('[')).map_or(line, |(line, _)| line).trim_end();
    let (name, word) = line.rsplit_once(' ')?;
    let is_name = name.split_once("::").is_some_and(|(file, _)| is_python(file) && !file.contains(' '));
    is_name.then_some((name.trim_end(), state(word)?))
}

#[cfg(test)]
mod tests {
    use crate::floor::reports::{Format, Reading, Source, read_report};

    fn read(text: &str) -> Reading {
        read_report(Format::PytestText, &[Source::only(text.as_bytes())], "/room")
    }

    #[test]
    fn counts_come_from_the_summary_line() {
        let cases = [
            ("=== 1 failed, 2 passed, 1 error in 0.12s ===\n", Some(4), 2, 0),
            ("2 passed, 1 skipped, 1 xfailed, 3 warnings in 61.02s (0:01:01)\n", Some(2), 0, 2),
            ("=== no tests ran in 0.01s ===\n", Some(0), 0, 0),
            ("=== 1 failed in 0.2s ===\nx\n=== 3 passed in 0.1s ===\n", Some(1), 1, 0),
            ("2 passed in 0.1", None, 0, 0),
            ("Segmentation fault\n", None, 0, 0),
        ];
        for (text, executed, failed, skipped) in cases {
            let reading = read(text);
            assert_eq!((reading.executed, reading.failed, reading.skipped), (executed, failed, skipped), "{text}");
            assert!(!reading.complete || executed == Some(0), "no names: {text}");
        }
    }

    #[test]
    fn verbose_names_are_cases_and_must_agree() {
        let text = "t/a.py::test_a PASSED [ 33%]\nt/a.py::T::test_b[x y] FAILED [ 66%]\n\
            t/a.py::test_c SKIPPED (no net) [100%]\n\nFAILED t/a.py::T::test_b[x y] - assert 1 == 2\n\
            === 1 failed, 1 passed in 0.10s ===\n";
        let reading = read(text);
        assert!(reading.complete, "{reading:?}");
        assert_eq!(reading.cases.len(), 2);
        let lie = read(&text.replace("1 failed, 1 passed", "2 passed"));
        assert!(lie.distrusted);
        assert_eq!(lie.failed, 1);
        let broken =
            read("ERROR t/b.py - ImportError\n!!! Interrupted: 1 error during collection !!!\n1 error in 0.1s");
        assert_eq!((broken.failed, broken.distrusted), (1, true));
    }
}
