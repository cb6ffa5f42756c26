//! Which executed tests a name means that a criterion or a verdict cites: one rule for both.
//!
//! A name means a test if it is its full name or a suffix of it made of whole segments. The full name is the suite (or
//! the file) and the name; between suites `::`, `.`, `/`, `\`, `#` and ` > ` are the same sign and a source file's
//! extension does not count, so that `tests/test_a.py::T::test_x` and `tests.test_a.T.test_x` are one test. The name
//! itself may hold any sign and is cut only at `::` and ` > `. All parameters of a test (`test_x[1]`, `test_x[2]`)
//! answer to its bare name.

use super::TestCase;

/// How a name means a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// By its end.
    Suffix,
    /// In full.
    Full,
}

impl TestCase {
    /// How `cited` means this test; none if it does not.
    pub fn is_called(&self, cited: &str) -> Option<Named> {
        if is_full_name(cited, self) {
            return Some(Named::Full);
        }
        is_suffix(cited, self).then_some(Named::Suffix)
    }

    /// True if `cited` means a group that this test stands in: node's suites, and tests with subtests.
    pub fn is_within(&self, cited: &str) -> bool {
        let (groups, wanted) = (self.name.split(" > ").map(str::trim).collect::<Vec<_>>(), parts(cited));
        !wanted.is_empty() && (1..groups.len()).any(|length| groups[..length].ends_with(&wanted))
    }

    /// The name without its parameters.
    pub fn bare_name(&self) -> &str {
        match self.name.find('[') {
            Some(at) if at > 0 && self.name.ends_with(']') => &self.name[..at],
            _ => &self.name,
        }
    }
}

fn is_full_name(cited: &str, case: &TestCase) -> bool {
    if case.suite.is_empty() {
        return cited == case.name;
    }
    prefix(cited, &case.name).is_some_and(|prefix| segments(prefix) == segments(&case.suite))
}

fn is_suffix(cited: &str, case: &TestCase) -> bool {
    let (file, wanted) = (case.file.as_ref().map(ToString::to_string), parts(cited));
    [case.name.as_str(), case.bare_name()].iter().any(|name| {
        let across = prefix(cited, name).is_some_and(|prefix| {
            let prefix = segments(prefix);
            let of_suite = segments(&case.suite).ends_with(&prefix);
            !prefix.is_empty() && (of_suite || file.as_deref().is_some_and(|file| segments(file).ends_with(&prefix)))
        });
        !wanted.is_empty() && (parts(name).ends_with(&wanted) || across)
    })
}

/// A name's parts: groups or modules, and its own.
fn parts(name: &str) -> Vec<&str> {
    name.split("::").flat_map(|part| part.split(" > ")).map(str::trim).filter(|part| !part.is_empty()).collect()
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
    use crate::receipts::CaseResult;

    #[test]
    fn a_name_means_a_test_by_whole_segments_and_a_group_by_its_own_end() {
        let case = |suite: &str, name: &str, file: Option<&str>| TestCase {
            suite: suite.into(),
            name: name.into(),
            file: file.map(RepoPath::from),
            result: CaseResult::Passed,
        };
        let rust = case("toy", "limits::rejects_zero", None);
        let python = case("tests.test_a.TestX", "test_b[1-2]", Some("tests/test_a.py"));
        let node = case("", "outer > in 1.5 s > leaf", Some("test/a.test.mjs"));
        for (case, cited, named) in [
            (&rust, "toy::limits::rejects_zero", Some(Named::Full)),
            (&rust, "limits::rejects_zero", Some(Named::Suffix)),
            (&rust, "zero", None),
            (&rust, "crate::limits::rejects_zero", None),
            (&python, "tests/test_a.py::TestX::test_b[1-2]", Some(Named::Full)),
            (&python, "test_a.TestX.test_b", Some(Named::Suffix)),
            (&python, "TestY::test_b", None),
            (&node, "in 1.5 s > leaf", Some(Named::Suffix)),
            (&node, "in 1.5 s::leaf", Some(Named::Suffix)),
            (&node, "5 s > leaf", None),
            (&node, "", None),
            (&node, "::", None),
        ] {
            assert_eq!(case.is_called(cited), named, "{cited}");
        }
        assert!(node.is_within("outer") && node.is_within("outer > in 1.5 s") && node.is_within("in 1.5 s"));
        assert!(!node.is_within("leaf") && !node.is_within("") && !rust.is_within("limits"));
    }
}
