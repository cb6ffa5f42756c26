//! The case log's input files, against figures that were counted without any reader of ours. Read where they are kept:
//! `COUNTERSIGN_CASE_FILES`, or `../shared/cases/files` beside this folder; elsewhere these tests say nothing.

use super::go_test;
use super::junit::{self, Dialect};
use super::sarif;
use super::tally::Tally;
use super::{Format, Reading, Source, read_report};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "a test's own input is chosen by the person who runs it")]
fn folder() -> Option<PathBuf> {
    let given = std::env::var_os("COUNTERSIGN_CASE_FILES").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/cases/files");
    given.or_else(|| beside.is_dir().then_some(beside))
}

fn files<T: Copy>(table: &[(&'static str, T)]) -> Vec<(&'static str, Vec<u8>, T)> {
    let Some(folder) = folder() else { return Vec::new() };
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
    table.iter().map(|(name, facts)| (*name, read(name), *facts)).collect()
}

fn read(format: Format, bytes: &[u8]) -> Reading {
    read_report(format, &[Source::only(bytes)], "/room")
}

/// A root's declared tests; suites, cases; cases with failure, error, skipped; reruns; cases with several; repeated.
type JunitFacts = (Option<u64>, [u64; 8]);

const JUNIT: [(&str, JunitFacts); 24] = [
    ("C069/cunit-testEmpty.xml", (Some(0), [0, 0, 0, 0, 0, 0, 0, 0])),
    ("C069/no-cases-but-tests.xml", (None, [1, 0, 0, 0, 0, 0, 0, 0])),
    ("C069/no-cases.xml", (None, [1, 0, 0, 0, 0, 0, 0, 0])),
    ("C071/empty-system-out-err.xml", (Some(1), [1, 1, 0, 0, 0, 0, 0, 0])),
    ("C071/unsupported-unicode.xml", (None, [1, 7, 2, 2, 2, 0, 0, 0])),
    ("C071/with-xml-entities.xml", (None, [1, 4, 1, 1, 2, 0, 0, 0])),
    ("C073/disabled.xml", (Some(31), [2, 31, 19, 1, 0, 0, 0, 0])),
    ("C073/minimal-attributes.xml", (None, [1, 4, 1, 1, 1, 0, 0, 0])),
    ("C073/nested-junit.xml", (None, [5, 5, 3, 0, 0, 0, 0, 3])),
    ("C073/nested-multi-level.xml", (Some(57), [2, 3, 0, 0, 0, 0, 0, 0])),
    ("C073/nextest-basic.xml", (Some(3), [1, 3, 1, 0, 0, 0, 0, 0])),
    ("C073/nextest-fixture-project-junit.xml", (Some(3), [1, 3, 1, 0, 0, 5, 0, 0])),
    ("C073/nextest-setup-script-junit.xml", (Some(1), [1, 1, 0, 0, 0, 0, 0, 0])),
    ("C073/nextest-stress-test-junit.xml", (Some(4), [2, 4, 0, 0, 0, 0, 0, 2])),
    ("C073/no-attributes.xml", (None, [1, 4, 1, 1, 1, 0, 0, 3])),
    ("C073/testsuite-in-testsuite.xml", (None, [4, 5, 0, 0, 0, 0, 0, 0])),
    ("C073/testsuite-root.xml", (Some(5), [4, 5, 0, 0, 0, 0, 0, 0])),
    ("C075/junit.multiresult.xml", (None, [1, 4, 2, 1, 3, 0, 1, 0])),
    ("C075/multiple_errors.xml", (None, [1, 3, 1, 2, 0, 0, 2, 0])),
    ("C075/multiple_failures.xml", (None, [1, 4, 2, 0, 1, 0, 1, 0])),
    ("C079/jest-junit.xml", (Some(2), [1, 2, 0, 0, 0, 0, 0, 0])),
    ("C079/jest-test-error.xml", (Some(0), [2, 2, 0, 2, 0, 0, 0, 0])),
    ("C079/pytest-junit.fail.xml", (None, [1, 5, 1, 0, 1, 0, 0, 0])),
    ("C079/xunit.xml", (Some(173), [1, 2, 0, 0, 0, 0, 0, 0])),
];

#[test]
fn junit_files_are_counted_as_the_facts_say() {
    for (name, bytes, (declared, facts)) in files(&JUNIT) {
        let mut tally = Tally::new("/room");
        let marks = junit::read(&bytes, Dialect::Common, "", &mut tally);
        let reading = tally.into_reading(Format::Junit);
        // Suites stand in for a class that is empty: the facts repeat by class and name alone.
        let class = |suite: &str| if suite.contains(" > ") { String::new() } else { suite.to_owned() };
        let distinct: BTreeSet<(String, &str)> =
            reading.cases.iter().map(|case| (class(&case.suite), case.name.as_str())).collect();
        let repeated = (reading.cases.len() - distinct.len()) as u64;
        let found = [
            marks.suites,
            marks.cases,
            marks.with_failure,
            marks.with_error,
            marks.with_skipped,
            marks.reruns,
            marks.with_several,
            repeated,
        ];
        assert_eq!(found, facts, "{name}");
        assert_eq!(reading.cases.len() as u64, facts[1], "{name}");
        if declared.is_some() {
            assert_eq!(reading.declared.and_then(|totals| totals.tests), declared, "{name}");
        }
    }
}

/// Executed, failed, skipped, and a word of what is wrong with it.
type Meaning = ((u64, u64, u64), &'static str);

const MEANING: [(&str, Meaning); 14] = [
    ("C069/cunit-testEmpty.xml", ((0, 0, 0), "")),
    ("C069/no-cases-but-tests.xml", ((0, 0, 0), "declares 6 tests and lists 0")),
    ("C069/no-cases.xml", ((0, 0, 0), "")),
    ("C071/unsupported-unicode.xml", ((5, 4, 2), "")),
    ("C073/disabled.xml", ((26, 20, 5), "")),
    ("C073/nested-junit.xml", ((5, 3, 0), "")),
    ("C073/nested-multi-level.xml", ((3, 0, 0), "declares 57 tests and lists 3")),
    ("C073/nextest-fixture-project-junit.xml", ((3, 1, 0), "")),
    ("C073/no-attributes.xml", ((3, 2, 1), "")),
    ("C075/junit.multiresult.xml", ((3, 2, 1), "")),
    ("C075/multiple_errors.xml", ((3, 2, 0), "")),
    ("C079/jest-test-error.xml", ((2, 2, 0), "")),
    ("C079/pytest-junit.fail.xml", ((4, 1, 1), "")),
    ("C079/xunit.xml", ((2, 0, 0), "declares 173 tests and lists 2")),
];

#[test]
fn junit_files_mean_what_the_cases_say() {
    for (name, bytes, (counts, word)) in files(&MEANING) {
        let reading = read(Format::Junit, &bytes);
        assert_eq!((reading.executed.unwrap(), reading.failed, reading.skipped), counts, "{name} {reading:?}");
        if word.is_empty() {
            assert!(reading.complete, "{name} {:?}", reading.trouble);
        } else {
            assert!(reading.trouble.iter().any(|t| t.contains(word)), "{name} {:?}", reading.trouble);
        }
    }
    for (_, bytes, ()) in files(&[("C073/nextest-fixture-project-junit.xml", ())]) {
        assert_eq!(read(Format::Junit, &bytes).flaky, ["fixture-project::basic::test_flaky_mod_4"]);
    }
}

/// Kinds of events; then executed, failed, skipped, and whether the reading is complete.
type GoFacts = (&'static [(&'static str, u64)], (u64, u64, u64), bool);

const GO: [(&str, GoFacts); 7] = [
    ("C069/go-outcome_06.jsonl", (&[("output", 3), ("pass", 1)], (0, 0, 0), true)),
    ("C069/go-outcome_07.jsonl", (&[("output", 1), ("skip", 1)], (0, 0, 0), true)),
    ("C069/go-outcome_08.jsonl", (&[("output", 2), ("pass", 1)], (0, 0, 0), true)),
    ("C076/go-failed_02.jsonl", (&[("fail", 2), ("output", 15), ("run", 1)], (1, 1, 0), true)),
    (
        "C076/go-failed_04.jsonl",
        (&[("cont", 5), ("fail", 7), ("output", 39), ("pause", 4), ("run", 6)], (6, 6, 0), true),
    ),
    // The package never ends: it is a failure of its own.
    (
        "C076/go-panic_03.jsonl",
        (&[("cont", 1), ("fail", 1), ("output", 26), ("pause", 1), ("run", 1)], (2, 2, 0), false),
    ),
    // The package says FAIL and its event says pass.
    (
        "C076/go-race_03.jsonl",
        (&[("cont", 2), ("output", 44), ("pass", 3), ("pause", 2), ("run", 2)], (3, 1, 0), false),
    ),
];

#[test]
fn go_files_are_counted_as_the_facts_say() {
    for (name, bytes, (kinds, counts, complete)) in files(&GO) {
        let mut tally = Tally::new("/room");
        let marks = go_test::read(&bytes, &mut tally);
        let reading = tally.into_reading(Format::GoTestJson);
        let kinds: BTreeMap<String, u64> = kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        assert_eq!((marks.events, marks.unreadable), (kinds, 0), "{name}");
        let found = (reading.executed.unwrap(), reading.failed, reading.skipped);
        assert_eq!((found, reading.complete), (counts, complete), "{name} {reading:?}");
    }
    for (name, bytes, (size, cases)) in
        files(&[("C076/go-prescan_01.txt", (3399, 1)), ("C076/go-prescan_04.txt", (874, 0))])
    {
        let reading = read(Format::GoTestJson, &bytes);
        assert_eq!((bytes.len(), reading.cases.len()), (size, cases), "{name}");
        assert_eq!(reading.complete, cases > 0, "{name} {reading:?}");
    }
}

/// Results a run, none where the member is absent; results with suppressions; how many count; what is wrong.
type SarifFacts = (&'static [Option<u64>], u64, u64, &'static str);

const SARIF: [(&str, SarifFacts); 10] = [
    ("C083/sarif/Catastrophic configuration error.sarif", (&[None], 0, 0, "did not run to its end")),
    ("C083/sarif/Catastrophic execution error.sarif", (&[None], 0, 0, "did not run to its end")),
    ("C083/sarif/Empty runs.sarif", (&[], 0, 0, "no runs")),
    ("C083/sarif/No runs.sarif", (&[], 0, 0, "no runs")),
    ("C083/sarif/One run empty results.sarif", (&[Some(0)], 0, 0, "")),
    ("C083/sarif/One run no results.sarif", (&[None], 0, 0, "no results")),
    ("C083/sarif/One run with results.sarif", (&[Some(1)], 0, 1, "")),
    ("C083/sarif/RegionVariants.sarif", (&[Some(18)], 0, 18, "")),
    // Not suppressed, rejected, under review, under review or rejected.
    ("C083/sarif/Suppressions.sarif", (&[Some(9)], 8, 4, "")),
    ("C083/sarif/empty-log.sarif.json", (&[Some(0)], 0, 0, "")),
];

#[test]
fn sarif_files_are_counted_as_the_facts_say() {
    for (name, bytes, (results, suppressed, failed, word)) in files(&SARIF) {
        let mut tally = Tally::new("/room");
        let marks = sarif::read(&bytes, &mut tally);
        let reading = tally.into_reading(Format::Sarif);
        assert_eq!((marks.results.as_slice(), marks.with_suppressions), (results, suppressed), "{name}");
        assert_eq!((reading.failed, reading.complete), (failed, word.is_empty()), "{name} {reading:?}");
        assert!(word.is_empty() || reading.trouble.iter().any(|t| t.contains(word)), "{name} {:?}", reading.trouble);
    }
}
