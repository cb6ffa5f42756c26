//! Finds a test by the name a person wrote, and what became of it.

use crate::receipts::{CaseResult, TestCase, TestsRecord};

/// What became of a named test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It ran and passed, everywhere its name fits.
    Passed,
    /// It failed or broke somewhere.
    Failed,
    /// It was listed and not run.
    Skipped,
    /// All names are known and this is none of them.
    Absent,
    /// The names are not known, or not believed.
    Unknown,
    /// Nothing was run.
    NotRun,
}

/// Looks a name up in the results of all runs of one side; also says on which of them the answer rests.
pub(super) fn ask(records: &[Option<&TestsRecord>], wanted: &str) -> (Answer, Vec<usize>) {
    if records.is_empty() {
        return (Answer::NotRun, Vec::new());
    }
    let mut found: Vec<(usize, CaseResult, bool)> = Vec::new();
    for fits in [is_test, TestCase::is_within] {
        for (at, record) in records.iter().enumerate() {
            let Some(record) = record else { continue };
            let cases = record.cases.iter().filter(|case| fits(case, wanted));
            found.extend(cases.map(|case| (at, case.result, record.complete)));
        }
        if !found.is_empty() {
            break;
        }
    }
    let mut places: Vec<usize> = found.iter().map(|(at, ..)| *at).collect();
    places.dedup();
    if places.is_empty() {
        // That no list has it rests on all of them.
        places.extend((0..records.len()).filter(|at| records[*at].is_some()));
    }
    let any = |wanted: fn(CaseResult) -> bool| found.iter().any(|(_, result, _)| wanted(*result));
    let answer = if any(|result| result >= CaseResult::Failed) {
        Answer::Failed
    } else if any(|result| result == CaseResult::Passed) {
        // A list that is not believed cannot prove a pass.
        if found.iter().all(|(.., complete)| *complete) { Answer::Passed } else { Answer::Unknown }
    } else if !found.is_empty() {
        Answer::Skipped
    } else if records.iter().all(|record| record.is_some_and(|record| record.complete)) {
        Answer::Absent
    } else {
        Answer::Unknown
    };
    (answer, places)
}

/// True if the name a person wrote can mean this test, or a group that it stands in.
pub(in crate::floor) fn means(case: &TestCase, wanted: &str) -> bool {
    is_test(case, wanted) || case.is_within(wanted)
}

fn is_test(case: &TestCase, wanted: &str) -> bool {
    case.is_called(wanted).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ids::TreeId;

    fn record(complete: bool, cases: &[(&str, &str, CaseResult)]) -> TestsRecord {
        let case = |(suite, name, result): &(&str, &str, CaseResult)| TestCase {
            suite: (*suite).to_owned(),
            name: (*name).to_owned(),
            file: None,
            result: *result,
        };
        TestsRecord {
            command: 1,
            tree: TreeId::new(&"a".repeat(40)).unwrap(),
            format: "junit".to_owned(),
            complete,
            cases: cases.iter().map(case).collect(),
        }
    }

    #[test]
    fn a_name_fits_whole_segments_only() {
        use CaseResult::{Failed, Passed, Skipped};
        let record = record(
            true,
            &[
                ("toy", "limits::rejects_zero", Passed),
                ("toy", "limits::not_rejects_zero_either", Failed),
                ("tests.test_a.TestX", "test_b[1-2]", Passed),
                ("tests.test_a.TestX", "test_b[3]", Skipped),
                ("", "outer > inner <x> > leaf", Passed),
                ("", "outer > broken", Failed),
                ("", "ignored one", Skipped),
            ],
        );
        for (name, answer) in [
            ("limits::rejects_zero", Answer::Passed),
            ("rejects_zero", Answer::Passed),
            ("zero", Answer::Absent),
            ("toy::limits::rejects_zero", Answer::Passed),
            ("limits", Answer::Absent),
            ("TestX::test_b", Answer::Passed),
            ("test_b[3]", Answer::Skipped),
            ("tests/test_a.TestX.test_b", Answer::Passed),
            ("inner <x> > leaf", Answer::Passed),
            ("inner <x>", Answer::Passed),
            ("outer", Answer::Failed),
            ("ignored one", Answer::Skipped),
            ("", Answer::Absent),
        ] {
            assert_eq!(ask(&[Some(&record)], name).0, answer, "{name}");
        }
    }

    #[test]
    fn an_incomplete_list_proves_neither_presence_nor_absence() {
        let doubtful = record(false, &[("", "a", CaseResult::Passed), ("", "b", CaseResult::Failed)]);
        assert_eq!(ask(&[Some(&doubtful)], "a").0, Answer::Unknown);
        assert_eq!(ask(&[Some(&doubtful)], "b").0, Answer::Failed);
        assert_eq!(ask(&[Some(&doubtful)], "c").0, Answer::Unknown);
        let whole = record(true, &[("", "a", CaseResult::Passed)]);
        assert_eq!(ask(&[Some(&whole), None], "c").0, Answer::Unknown);
        assert_eq!(ask(&[None, Some(&whole)], "a"), (Answer::Passed, vec![1]));
        assert_eq!(ask(&[], "a").0, Answer::NotRun);
    }
}
