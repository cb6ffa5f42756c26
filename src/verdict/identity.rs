//! Which executed test a cited name means.
//!
//! A name means a test if it is its full name or a suffix of it made of whole segments. The full name is the suite (or
//! the file) and the name; between suites `::`, `.`, `/`, `\`, `#` and ` > ` are the same sign and a source file's
//! extension does not count, so that `tests/test_a.py::T::test_x` and `tests.test_a.T.test_x` are one test. The name
//! itself may hold any sign and is cut only at `::` and ` > `. All parameters of a test (`test_x[1]`, `test_x[2]`)
//! answer to its bare name, and then the worst result counts. A name that several different tests share is good only
//! where all of them passed: whichever was meant did.

use crate::receipts::{CaseResult, TestCase};
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
pub fn look_up<'a>(cited: &str, cases: impl Iterator<Item = &'a TestCase> + Clone) -> Match {
    let full: Vec<&TestCase> = cases.clone().filter(|case| is_full_name(cited, case)).collect();
    let hits = if full.is_empty() { cases.filter(|case| is_suffix(cited, case)).collect() } else { full };
    let distinct: BTreeSet<_> = hits.iter().map(|case| (&case.suite, &case.file, bare(cited, &case.name))).collect();
    match (distinct.len(), hits.iter().map(|case| case.result).max()) {
        (0, _) | (_, None) => Match::None,
        (1, Some(worst)) | (_, Some(worst @ CaseResult::Passed)) => Match::One(worst),
        (several, _) => Match::Several(several),
    }
}

/// The name without its parameters, unless they are cited.
fn bare<'n>(cited: &str, name: &'n str) -> &'n str {
    if cited.ends_with(']') { name } else { unparametrised(name) }
}

fn unparametrised(name: &str) -> &str {
    match name.find('[') {
        Some(at) if at > 0 && name.ends_with(']') => &name[..at],
        _ => name,
    }
}

fn is_full_name(cited: &str, case: &TestCase) -> bool {
    if case.suite.is_empty() {
        return cited == case.name;
    }
    prefix(cited, &case.name).is_some_and(|prefix| segments(prefix) == segments(&case.suite))
}

fn is_suffix(cited: &str, case: &TestCase) -> bool {
    let file = case.file.as_ref().map(ToString::to_string);
    [case.name.as_str(), unparametrised(&case.name)].iter().any(|name| {
        let within = ["::", " > "].iter().any(|sign| name.ends_with(&format!("{sign}{cited}")));
        let across = prefix(cited, name).is_some_and(|prefix| {
            let prefix = segments(prefix);
            let of_suite = segments(&case.suite).ends_with(&prefix);
            !prefix.is_empty() && (of_suite || file.as_deref().is_some_and(|file| segments(file).ends_with(&prefix)))
        });
        !cited.is_empty() && (cited == *name || within || across)
    })
}

/// What stands before the name and a sign, in a cited full name.
fn prefix<'c>(cited: &'c str, name: &str) -> Option<&'c str> {
    if name.is_empty() {
        return None;
    }
    let before = cited.strip_suffix(name)?;
    SIGNS.iter().find_map(|sign| before.strip_suffix(sign)).filter(|prefix| !prefix.is_empty())
}

const SIGNS: [&str; 6] = [" > ", "::", ".", "/", "\\", "#"];
const EXTENSIONS: [&str; 8] = ["py", "rs", "js", "mjs", "cjs", "ts", "tsx", "jsx"];

fn segments(text: &str) -> Vec<&str> {
    text.split(" > ")
        .flat_map(|part| part.split(['.', '/', '\\', '#', ':']))
        .filter(|segment| !segment.is_empty() && !EXTENSIONS.contains(segment))
        .collect()
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
