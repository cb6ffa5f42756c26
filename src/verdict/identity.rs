//! Which executed test a cited name means, and with which result.
//!
//! What a name means says [`TestCase::is_called`]. A full name wins over suffixes; of all parameters of a test the worst
//! result counts. A name that several different tests share is good only where all of them passed: whichever was meant
//! did.

use crate::receipts::{CaseResult, Named, TestCase};
use std::collections::BTreeSet;

/// What a cited name amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// No executed test has that name.
    None,
    /// One test (all its parameters, all its runs), with its worst result; or several that all passed.
    One(CaseResult),
    /// Several different tests that did not all pass, as many as this.
    Several(usize),
}

/// Looks a cited name up among cases. A full name wins over suffixes.
pub fn look_up<'a>(cited: &str, cases: impl Iterator<Item = &'a TestCase>) -> Match {
    let hits: Vec<(Named, &TestCase)> = cases.filter_map(|case| Some((case.is_called(cited)?, case))).collect();
    let best = hits.iter().map(|(named, _)| *named).max();
    let hits: Vec<&TestCase> = hits.iter().filter(|(named, _)| Some(*named) == best).map(|(_, case)| *case).collect();
    let distinct: BTreeSet<_> = hits.iter().map(|case| (&case.suite, &case.file, bare(cited, case))).collect();
    match (distinct.len(), hits.iter().map(|case| case.result).max()) {
        (0, _) | (_, None) => Match::None,
        (1, Some(worst)) | (_, Some(worst @ CaseResult::Passed)) => Match::One(worst),
        (several, _) => Match::Several(several),
    }
}

/// The name without its parameters, unless they are cited.
fn bare<'n>(cited: &str, case: &'n TestCase) -> &'n str {
    if cited.ends_with(']') { &case.name } else { case.bare_name() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::path::RepoPath;

    fn case(suite: &str, name: &str, result: CaseResult) -> TestCase {
        TestCase { suite: suite.into(), name: name.into(), file: None, result }
    }

    #[test]
    fn a_cited_name_means_a_full_name_or_whole_segments_of_it() {
        use CaseResult::{Failed, Passed, Skipped};
        let mut cases = vec![
            case("", "limits::rejects_zero", Passed),
            case("", "other::limits_rejects_zero", Failed),
            case("tests.test_a.TestT", "test_x[1]", Passed),
            case("tests.test_a.TestT", "test_x[2]", Failed),
            case("sums", "adds 1.5 to x", Passed),
            case("one", "same", Passed),
            case("two", "same", Passed),
            case("one", "mixed", Passed),
            case("two", "mixed", Skipped),
            case("", "twice", Passed),
            case("", "twice", Skipped),
        ];
        cases.push(TestCase { file: Some(RepoPath::from("test/sum.test.js")), ..case("", "subtracts", Passed) });
        for (cited, expected) in [
            ("limits::rejects_zero", Match::One(Passed)),
            ("rejects_zero", Match::One(Passed)),
            ("rejects_zer", Match::None),
            ("ejects_zero", Match::None),
            ("zero", Match::None),
            ("crate::limits::rejects_zero", Match::None),
            ("tests/test_a.py::TestT::test_x[1]", Match::One(Passed)),
            ("TestT::test_x[2]", Match::One(Failed)),
            ("test_x", Match::One(Failed)),
            ("test_a.TestT.test_x", Match::One(Failed)),
            ("adds 1.5 to x", Match::One(Passed)),
            ("sums > adds 1.5 to x", Match::One(Passed)),
            ("5 to x", Match::None),
            ("same", Match::One(Passed)),
            ("mixed", Match::Several(2)),
            ("one::mixed", Match::One(Passed)),
            ("two::same", Match::One(Passed)),
            ("twice", Match::One(Skipped)),
            ("test/sum.test.js > subtracts", Match::One(Passed)),
            ("", Match::None),
            ("::", Match::None),
        ] {
            assert_eq!(look_up(cited, cases.iter()), expected, "{cited}");
        }
    }
}
