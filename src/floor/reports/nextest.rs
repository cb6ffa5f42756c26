//! Reads what `cargo nextest run` prints: a status line a test, and a summary.
//!
//! What failing tests printed stands between the lines; a status line forged there makes more results than the summary
//! counts, and then the reading is distrusted.

use super::Totals;
use super::lines::lines;
use super::tally::{MOST_CASES, Tally, cut};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use std::collections::BTreeMap;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Summary {
    run: u64,
    planned: u64,
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// What one status line says.
#[derive(Debug, PartialEq, Eq)]
struct Status<'a> {
    binary: &'a str,
    test: &'a str,
    result: CaseResult,
    /// One attempt of several.
    attempt: bool,
    flaky: bool,
    leaked: bool,
}

#[derive(Default)]
struct Run {
    /// Tests that were tried more than once: the last result, and whether an earlier one was bad.
    tried: BTreeMap<(String, String), (CaseResult, bool)>,
    failing: u64,
    summary: Option<Summary>,
    leaks: u64,
    scripts: u64,
}

/// Reads the output, both streams in one.
pub(super) fn read(output: &[u8], tally: &mut Tally) {
    let mut run = Run::default();
    for line in lines(output) {
        let line = line.trim_start();
        if let Some(summary) = summary(line) {
            if run.summary.replace(summary).is_some() {
                tally.trouble("it has two summaries".to_owned());
            }
        } else if let Some(rest) = line.strip_prefix("SETUP ") {
            run.script(rest, tally);
        } else if run.summary.is_none()
            && let Some(status) = status(line)
        {
            run.status(&status, tally);
        }
    }
    run.close(tally);
}

impl Run {
    fn status(&mut self, status: &Status<'_>, tally: &mut Tally) {
        self.leaks += u64::from(status.leaked);
        if status.attempt {
            if self.tried.len() >= MOST_CASES {
                tally.trouble("it lists too many retried tests".to_owned());
                return;
            }
            let key = (cut(status.binary).to_owned(), cut(status.test).to_owned());
            let tried = self.tried.entry(key).or_insert((status.result, false));
            tried.1 |= tried.0 >= CaseResult::Failed;
            tried.0 = status.result;
            return;
        }
        if status.flaky {
            tally.flaky(status.binary, status.test);
        }
        self.failing += u64::from(status.result >= CaseResult::Failed);
        tally.case(status.binary, status.test, None, status.result);
    }

    /// A set-up script that fails stops the run; it is no test.
    fn script(&mut self, rest: &str, tally: &mut Tally) {
        let Some((word, place)) = rest.split_once(" [") else { return };
        if matches!(word, "FAIL" | "TIMEOUT" | "XFAIL" | "ABORT") || word.starts_with("SIG") {
            let name = place.split_once(']').map_or(place, |(_, name)| name);
            self.scripts += 1;
            tally.case("set-up script", name.trim(), None, CaseResult::Errored);
            tally.trouble(format!("the set-up script {} failed", escape(cut(name.trim()).as_bytes())));
        }
    }

    fn close(self, tally: &mut Tally) {
        for ((binary, test), (result, was_bad)) in &self.tried {
            if *result < CaseResult::Failed && *was_bad {
                tally.flaky(binary, test);
            }
            tally.case(binary, test, None, *result);
        }
        if self.leaks > 0 {
            tally.remark(format!("{} tests left processes behind", self.leaks));
        }
        let Some(summary) = self.summary else {
            tally.executed_unknown();
            tally.trouble("no summary was printed".to_owned());
            return;
        };
        let seen = tally.seen();
        let scripts = self.scripts;
        let listed = seen.tests.unwrap_or(0).saturating_sub(seen.skipped.unwrap_or(0)).saturating_sub(scripts);
        let failed = seen.failed.unwrap_or(0).saturating_sub(scripts);
        tally.count(summary.run, summary.failed.saturating_add(scripts), summary.skipped);
        tally.declare(Totals {
            tests: Some(summary.run.saturating_add(summary.skipped)),
            failed: Some(summary.failed),
            skipped: Some(summary.skipped),
        });
        if summary.run < summary.planned {
            tally.trouble(format!("{} of {} tests were run", summary.run, summary.planned));
        }
        if summary.passed.saturating_add(summary.failed) != summary.run {
            tally.trouble(format!(
                "its summary counts {} tests, {} passed and {} failed",
                summary.run, summary.passed, summary.failed
            ));
        }
        if listed > summary.run || failed > summary.failed {
            tally.trouble(format!(
                "it lists {listed} results, {failed} of them failures, and counts {} and {}",
                summary.run, summary.failed
            ));
        } else if listed < summary.run {
            // A lower status level leaves passing tests out; that is no contradiction.
            tally.names_missing();
            if failed < summary.failed {
                tally.remark(format!("{} failures are not named", summary.failed - failed));
            }
        }
    }
}

/// `PASS [   0.004s] (1/3) crate::binary module::test`.
fn status(line: &str) -> Option<Status<'_>> {
    let (word, rest) = line.split_once(" [")?;
    let (time, rest) = rest.split_once(']')?;
    let is_time = time.trim().is_empty()
        || time.trim().trim_start_matches(['>', ' ']).strip_suffix('s').is_some_and(|t| t.parse::<f64>().is_ok());
    let mut rest = rest.trim_start();
    if rest.starts_with('(') {
        rest = rest.split_once(')')?.1.trim_start();
    }
    let (binary, test) = rest.split_once(' ').filter(|_| is_time)?;
    let (attempt, word) = match word.strip_prefix("TRY ") {
        Some(rest) => (true, rest.split_once(' ')?.1),
        None => (false, word),
    };
    let (word, counts) = word.split_once(' ').map_or((word, ""), |(word, rest)| (word, rest));
    let (result, flaky) = match word {
        "PASS" | "LEAK" | "TIMEOUT-PASS" | "TMPASS" => (CaseResult::Passed, false),
        "FLAKY" => (CaseResult::Passed, true),
        "FLKY-FL" => (CaseResult::Failed, true),
        "FAIL" | "LEAK-FAIL" | "LKFAIL" | "FL+LK" => (CaseResult::Failed, false),
        "TIMEOUT" | "TMT" | "XFAIL" | "ABORT" | "ABRT" => (CaseResult::Errored, false),
        signal if signal.starts_with("SIG") => (CaseResult::Errored, false),
        "SKIP" => (CaseResult::Skipped, false),
        _ => return None,
    };
    let leaked = word.starts_with("LEAK") || word.starts_with("LK") || word == "FL+LK" || counts == "+ LEAK";
    Some(Status { binary, test: test.trim(), result, attempt, flaky, leaked })
}

/// `Summary [   0.023s] 3/5 tests run: 2 passed (1 flaky), 1 failed, 2 skipped`.
fn summary(line: &str) -> Option<Summary> {
    let (_, rest) = line.strip_prefix("Summary [")?.split_once(']')?;
    let (run, counts) = rest.trim().split_once(" run:")?;
    let run = run.strip_suffix(" tests").or_else(|| run.strip_suffix(" test"))?;
    let (run, planned) = run.split_once('/').unwrap_or((run, run));
    let mut summary = Summary { run: run.parse().ok()?, planned: planned.parse().ok()?, ..Summary::default() };
    let mut depth = 0_u32;
    let outside: String = counts
        .chars()
        .filter(|c| {
            depth = if *c == '(' { depth + 1 } else { depth };
            let kept = depth == 0;
            depth = if *c == ')' { depth.saturating_sub(1) } else { depth };
            kept
        })
        .collect();
    for part in outside.split(',') {
        let Some((number, what)) = part.trim().split_once(' ') else { continue };
        let number: u64 = number.parse().ok()?;
        match what.trim() {
            "passed" => summary.passed = number,
            "failed" | "exec failed" | "timed out" => summary.failed = summary.failed.saturating_add(number),
            "skipped" => summary.skipped = number,
            _ => {}
        }
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use crate::floor::reports::{Format, Reading, Source, read_report};
    use crate::receipts::CaseResult;

    const RUN: &str = "    Starting 6 tests across 2 binaries (1 test skipped)\n\
        \x1b[32m        PASS\x1b[0m [   0.004s] (1/6) toy::it adds\n        SLOW [> 60.000s] toy::it waits\n\
        \x20       LEAK [   0.010s] toy waits\n  TRY 1 FAIL [   0.004s] (2/6) toy::it flaky\n\n--- STDOUT: toy::it flaky ---\n\
        running 1 test\n  TRY 2 PASS [   0.004s] toy::it flaky\n  TRY 1 FAIL [   0.004s] toy::it bad\n\
        \x20 TRY 2 FAIL [   0.004s] toy::it bad\n     SIGSEGV [   0.004s] toy::it crash\n     TIMEOUT [  60.004s] toy::it hangs\n\
        ------------\n     Summary [  60.023s] 6 tests run: 3 passed (1 slow, 1 flaky, 1 leaky), 2 failed, 1 timed out, 1 skipped\n\
        \x20 TRY 2 FAIL [   0.004s] toy::it bad\n   FLAKY 2/2 [   0.004s] toy::it flaky\nerror: test run failed\n";

    fn read(text: &str) -> Reading {
        read_report(Format::NextestText, &[Source::only(text.as_bytes())], "/room")
    }

    #[test]
    fn the_last_try_counts_and_flakes_and_leaks_are_named() {
        let reading = read(RUN);
        let found: Vec<(&str, CaseResult)> = reading.cases.iter().map(|c| (c.name.as_str(), c.result)).collect();
        let expected = [
            ("waits", CaseResult::Passed),
            ("adds", CaseResult::Passed),
            ("bad", CaseResult::Failed),
            ("crash", CaseResult::Errored),
            ("flaky", CaseResult::Passed),
            ("hangs", CaseResult::Errored),
        ];
        assert_eq!(found, expected);
        assert_eq!((reading.executed, reading.failed, reading.skipped), (Some(6), 3, 1));
        assert_eq!(reading.flaky, ["toy::it::flaky"]);
        assert!(reading.complete && reading.remarks.iter().any(|r| r.contains("left processes")), "{reading:?}");
    }

    #[test]
    fn damage_forgery_and_cancelling_are_named() {
        let forged = RUN.replace("running 1 test", "        PASS [   0.004s] toy::it never_ran");
        for (text, word) in [
            (RUN.split("     Summary").next().unwrap().to_owned(), "no summary"),
            (forged, "lists 7 results"),
            (RUN.replace("6 tests run", "6/9 tests run"), "6 of 9"),
            (RUN.replace("3 passed", "4 passed"), "counts 6 tests"),
            (format!("  SETUP FAIL [   0.1s] 1/1: db\n{RUN}"), "set-up script"),
        ] {
            let reading = read(&text);
            assert!(reading.distrusted && reading.failed >= 3, "{reading:?}");
            assert!(reading.trouble.iter().any(|t| t.contains(word)), "{word}: {:?}", reading.trouble);
        }
    }

    #[test]
    fn quiet_status_levels_leave_names_out_without_fault() {
        let reading = read("     Summary [   0.023s] 2 tests run: 2 passed, 0 skipped\n");
        assert_eq!((reading.executed, reading.complete, reading.distrusted), (Some(2), false, false));
        let none = read("     Summary [   0.001s] 0 tests run: 0 passed, 4 skipped\n");
        assert_eq!((none.executed, none.skipped), (Some(0), 4));
    }
}
