//! Reads what `cargo test` prints: the text of libtest, binary after binary.
//!
//! The lines are believed only as far as each binary's own totals agree with them; what the code under test prints
//! itself cannot be told apart with certainty, which is why the verdict rests on the exit status.

use super::lines::lines;
use super::tally::{MOST_CASES, Tally, cut};
use crate::host::path::escape;
use crate::receipts::CaseResult;

/// One `running N tests` … `test result:` section.
#[derive(Debug, Default)]
struct Section {
    announced: u64,
    cases: Vec<(String, CaseResult)>,
    totals: Option<Totals>,
    /// What tests printed is being shown.
    listing: bool,
    /// Some of them failed.
    failures: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
}

/// Reads the whole output, both streams in one.
pub(super) fn read(output: &[u8], tally: &mut Tally) {
    let mut suite = String::new();
    let mut open: Option<Section> = None;
    let mut results = 0_u64;
    for line in lines(output) {
        let line = line.as_ref();
        if let Some(name) = binary(line) {
            close(open.take(), &suite, tally);
            suite = name;
        } else if let Some(announced) = announced(line) {
            close(open.take(), &suite, tally);
            open = Some(Section { announced, ..Section::default() });
        } else if let Some(section) = &mut open {
            if let Some(totals) = totals(line) {
                results += 1;
                section.totals = Some(totals);
                // Output of failed tests comes before the real totals, and may look like them: the last ones count.
                if !section.listing {
                    close(open.take(), &suite, tally);
                }
            } else if line == "failures:" || line == "successes:" {
                section.listing = true;
                section.failures |= line == "failures:";
            } else if !section.listing
                && section.cases.len() < MOST_CASES
                && let Some((name, result)) = case(line)
            {
                section.cases.push((cut(name).to_owned(), result));
            }
        }
    }
    close(open, &suite, tally);
    if results == 0 {
        tally.executed_unknown();
        tally.trouble("no `test result:` line was printed".to_owned());
    }
}

fn close(section: Option<Section>, suite: &str, tally: &mut Tally) {
    let Some(section) = section else { return };
    let shown = if suite.is_empty() { "a test binary".to_owned() } else { escape(suite.as_bytes()) };
    let keep = |tally: &mut Tally, cases: &[(String, CaseResult)]| {
        for (name, result) in cases {
            tally.case(suite, name, doc_file(name), *result);
        }
    };
    let Some(totals) = section.totals else {
        tally.trouble(format!("{shown} started {} tests and printed no result", section.announced));
        keep(tally, &section.cases);
        return;
    };
    if section.failures && totals.failed == 0 {
        tally.trouble(format!("{shown} shows failures and counts none"));
    }
    let executed = totals.passed.saturating_add(totals.failed).saturating_add(totals.measured);
    tally.count(executed, totals.failed, totals.ignored);
    let count = |result| section.cases.iter().filter(|case| case.1 == result).count() as u64;
    let agrees = count(CaseResult::Passed) == totals.passed.saturating_add(totals.measured)
        && count(CaseResult::Failed) == totals.failed
        && count(CaseResult::Skipped) == totals.ignored;
    if agrees {
        keep(tally, &section.cases);
        return;
    }
    // `--quiet` prints dots and no names: nothing to contradict.
    tally.names_missing();
    if !section.cases.is_empty() {
        tally.trouble(format!(
            "{shown} printed {} results but counted {} passed, {} failed, {} ignored; run the tests without --nocapture",
            section.cases.len(),
            totals.passed,
            totals.failed,
            totals.ignored
        ));
    }
}

/// `     Running unittests src/lib.rs (target/debug/deps/name-0123abcd)` or `   Doc-tests name`.
fn binary(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("doc-tests {}", cut(name)));
    }
    let path = line.strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once('(')?.1;
    let file = path.rsplit(['/', '\\']).next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    Some(cut(name).to_owned())
}

fn announced(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    let count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?;
    count.parse().ok()
}

fn case(line: &str) -> Option<(&str, CaseResult)> {
    let (name, status) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let word = status.split([' ', ',']).next().unwrap_or_default();
    let result = match word {
        "ok" | "bench:" => CaseResult::Passed,
        "FAILED" | "failed" => CaseResult::Failed,
        "ignored" => CaseResult::Skipped,
        _ => return None,
    };
    Some((name, result))
}

/// A doc test is named after its file: `src/lib.rs - item (line 3)`.
fn doc_file(name: &str) -> Option<&str> {
    let (file, rest) = name.split_once(" - ")?;
    (rest.contains("(line ") && file.rsplit('.').next() == Some("rs")).then_some(file)
}

fn totals(line: &str) -> Option<Totals> {
    let rest = line.strip_prefix("test result: ")?;
    let (_, counts) = rest.split_once(". ")?;
    let mut totals = Totals::default();
    for part in counts.split(';') {
        let (count, what) = part.trim().split_once(' ')?;
        let place = match what {
            "passed" => &mut totals.passed,
            "failed" => &mut totals.failed,
            "ignored" => &mut totals.ignored,
            "measured" => &mut totals.measured,
            _ => continue,
        };
        *place = count.parse().ok()?;
    }
    Some(totals)
}

#[cfg(test)]
mod tests {
    use crate::floor::reports::{Format, Reading, Source, read_report};

    const RUN: &str = "     Running unittests src/lib.rs (target/debug/deps/toy-0a1b2c)\n\nrunning 4 tests\n\
        test a::adds ... ok\ntest a::panics - should panic ... ok\ntest slow ... ignored, needs a network\n\
        test b ... FAILED\n\nfailures:\n\n---- b stdout ----\ntest forged ... ok\n\
        test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\nfailures:\n    b\n\n\
        test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   \
        Doc-tests toy\n\nrunning 1 test\ntest src/lib.rs - add (line 3) ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.21s\n";

    fn read(text: &str) -> Reading {
        read_report(Format::LibtestText, &[Source::only(text.as_bytes())], "/room")
    }

    #[test]
    fn all_binaries_are_read_and_failure_output_is_not() {
        let reading = read(RUN);
        let names: Vec<(&str, &str)> = reading.cases.iter().map(|c| (c.suite.as_str(), c.name.as_str())).collect();
        let expected = [
            ("doc-tests toy", "src/lib.rs - add (line 3)"),
            ("toy", "a::adds"),
            ("toy", "a::panics"),
            ("toy", "b"),
            ("toy", "slow"),
        ];
        assert_eq!(names, expected);
        assert_eq!((reading.executed, reading.failed, reading.skipped), (Some(4), 1, 1));
        assert!(reading.complete && reading.trouble.is_empty(), "{reading:?}");
    }

    #[test]
    fn lines_that_the_totals_contradict_are_not_believed() {
        let reading = read(&RUN.replace("test b ... FAILED", "test b ... FAILED\ntest never_ran ... ok"));
        assert!(!reading.complete && reading.distrusted);
        assert!(!reading.cases.iter().any(|case| case.name == "never_ran"));
        assert_eq!(reading.failed, 1);
    }

    #[test]
    fn a_binary_that_leaves_without_a_result_is_named() {
        let reading = read(RUN.split("failures:").next().unwrap());
        assert_eq!(reading.executed, None);
        assert!(reading.trouble.iter().any(|t| t == "toy started 4 tests and printed no result"), "{reading:?}");
    }

    #[test]
    fn totals_printed_by_a_failed_test_are_not_the_binarys() {
        let quiet = RUN.replace("test b ... FAILED\n", "").replace("test a", "x").replace("test slow", "x");
        let cut = quiet.split("\n\nfailures:\n    b").next().unwrap();
        assert!(read(cut).trouble.iter().any(|t| t.contains("shows failures and counts none")), "{cut}");
    }

    #[test]
    fn quiet_output_has_counts_but_no_names_and_zero_is_zero() {
        let result = |n: u64| {
            let counts = format!("{n} passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s");
            read(&format!("running {n} tests\n..\ntest result: ok. {counts}\n"))
        };
        let reading = result(2);
        assert_eq!((reading.executed, reading.cases.len(), reading.complete), (Some(2), 0, false));
        assert!(reading.trouble.is_empty());
        assert_eq!(result(0).executed, Some(0));
    }
}
