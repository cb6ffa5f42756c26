//! Reads what `cargo test` prints: the text of libtest, binary after binary.
//!
//! The lines are believed only as far as each binary's own totals agree with them; what the code under test prints
//! itself cannot be told apart with certainty, which is why the verdict rests on the exit status.

use super::Reading;
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CaseResult, TestCase};

/// One `running N tests` … `test result:` section.
#[derive(Debug, Default)]
struct Section {
    announced: u64,
    cases: Vec<TestCase>,
    totals: Option<Totals>,
    listing_failures: bool,
}

#[derive(Debug, Default, Clone, Copy)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
}

/// Reads the whole output, both streams in one.
pub(super) fn read(output: &[u8]) -> Reading {
    let mut reading = Reading { format: "libtest-text".to_owned(), complete: true, ..Reading::default() };
    let mut suite = String::new();
    let mut open: Option<Section> = None;
    for line in output.split(|b| *b == b'\n') {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        if let Some(name) = binary(line) {
            close(open.take(), &suite, &mut reading);
            suite = name;
        } else if let Some(announced) = announced(line) {
            close(open.take(), &suite, &mut reading);
            open = Some(Section { announced, ..Section::default() });
        } else if let Some(section) = &mut open {
            if let Some(totals) = totals(line) {
                section.totals = Some(totals);
                // Output of failed tests comes before the real totals, and may look like them: the last ones count.
                if !section.listing_failures {
                    close(open.take(), &suite, &mut reading);
                }
            } else if line == "failures:" || line == "successes:" {
                section.listing_failures = true;
            } else if !section.listing_failures
                && let Some((name, result)) = case(line)
            {
                let (suite, name) = (escape(suite.as_bytes()), escape(name.as_bytes()));
                section.cases.push(TestCase { suite, file: doc_file(&name), name, result });
            }
        }
    }
    close(open, &suite, &mut reading);
    reading.cases.sort();
    if reading.executed.is_none() {
        reading.trouble.push("no `test result:` line was printed".to_owned());
        reading.complete = false;
    }
    reading
}

fn close(section: Option<Section>, suite: &str, reading: &mut Reading) {
    let Some(section) = section else { return };
    let suite = if suite.is_empty() { "a test binary" } else { suite };
    let Some(totals) = section.totals else {
        reading.complete = false;
        reading.trouble.push(format!("{suite} started {} tests and printed no result", section.announced));
        reading.cases.extend(section.cases);
        return;
    };
    *reading.executed.get_or_insert(0) += totals.passed + totals.failed + totals.measured;
    reading.failed += totals.failed;
    reading.skipped += totals.ignored;
    let count = |result| section.cases.iter().filter(|case| case.result == result).count() as u64;
    let agrees = count(CaseResult::Passed) == totals.passed + totals.measured
        && count(CaseResult::Failed) == totals.failed
        && count(CaseResult::Skipped) == totals.ignored;
    if agrees {
        reading.cases.extend(section.cases);
        return;
    }
    reading.complete = false;
    // `--quiet` prints dots and no names: nothing to contradict.
    if !section.cases.is_empty() {
        reading.trouble.push(format!(
            "{suite} printed {} results but counted {} passed, {} failed, {} ignored; run the tests without --nocapture",
            section.cases.len(),
            totals.passed,
            totals.failed,
            totals.ignored
        ));
        reading.distrusted = true;
    }
}

/// `     Running unittests src/lib.rs (target/debug/deps/name-0123abcd)` or `   Doc-tests name`.
fn binary(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(name) = line.strip_prefix("Doc-tests ") {
        return Some(format!("doc-tests {name}"));
    }
    let path = line.strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once('(')?.1;
    let file = path.rsplit(['/', '\\']).next()?;
    let name = file.rsplit_once('-').map_or(file, |(name, _)| name);
    Some(name.to_owned())
}

fn announced(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("running ")?;
    let count = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?;
    count.parse().ok()
}

fn case(line: &str) -> Option<(String, CaseResult)> {
    let (name, status) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let word = status.split([' ', ',']).next().unwrap_or_default();
    let result = match word {
        "ok" | "bench:" => CaseResult::Passed,
        "FAILED" | "failed" => CaseResult::Failed,
        "ignored" => CaseResult::Skipped,
        _ => return None,
    };
    Some((name.to_owned(), result))
}

/// A doc test is named after its file: `src/lib.rs - item (line 3)`.
fn doc_file(name: &str) -> Option<RepoPath> {
    let (file, rest) = name.split_once(" - ")?;
    (rest.contains("(line ") && file.rsplit('.').next() == Some("rs")).then(|| RepoPath::from(file))
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
    use super::*;

    const RUN: &str = "     Running unittests src/lib.rs (target/debug/deps/toy-0a1b2c)\n\nrunning 4 tests\n\
        test a::adds ... ok\ntest a::panics - should panic ... ok\ntest slow ... ignored, needs a network\n\
        test b ... FAILED\n\nfailures:\n\n---- b stdout ----\ntest forged ... ok\n\
        test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\nfailures:\n    b\n\n\
        test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   \
        Doc-tests toy\n\nrunning 1 test\ntest src/lib.rs - add (line 3) ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.21s\n";

    #[test]
    fn all_binaries_are_read_and_failure_output_is_not() {
        let reading = read(RUN.as_bytes());
        let names: Vec<(&str, &str)> = reading.cases.iter().map(|c| (c.suite.as_str(), c.name.as_str())).collect();
        assert_eq!(
            names,
            [
                ("doc-tests toy", "src/lib.rs - add (line 3)"),
                ("toy", "a::adds"),
                ("toy", "a::panics"),
                ("toy", "b"),
                ("toy", "slow")
            ]
        );
        assert_eq!((reading.executed, reading.failed, reading.skipped), (Some(4), 1, 1));
        assert!(reading.complete && reading.trouble.is_empty(), "{reading:?}");
    }

    #[test]
    fn lines_that_the_totals_contradict_are_not_believed() {
        let forged = RUN.replace("test b ... FAILED", "test b ... FAILED\ntest never_ran ... ok");
        let reading = read(forged.as_bytes());
        assert!(!reading.complete && reading.distrusted);
        assert!(!reading.cases.iter().any(|case| case.name == "never_ran"));
    }

    #[test]
    fn a_binary_that_leaves_without_a_result_is_named() {
        let cut = RUN.split("failures:").next().unwrap();
        let reading = read(cut.as_bytes());
        assert_eq!(reading.executed, None);
        assert!(reading.trouble.iter().any(|t| t == "toy started 4 tests and printed no result"), "{reading:?}");
    }

    #[test]
    fn quiet_output_has_counts_but_no_names() {
        let quiet = "\nrunning 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let reading = read(quiet.as_bytes());
        assert_eq!((reading.executed, reading.cases.len(), reading.complete), (Some(2), 0, false));
        assert!(reading.trouble.is_empty());
    }

    #[test]
    fn nothing_matched_means_nothing_executed() {
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.00s\n";
        assert_eq!(read(none.as_bytes()).executed, Some(0));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            read(&bytes);
        }
    }
}
