//! What a runner's own output says: how many tests ran, which failed, and whether a build complained.

use crate::agent::transcript::Excerpt;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A runner's summary, as far as it is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u64,
    pub(super) failed: u64,
    /// True if part of the output is missing: the numbers are at least these.
    pub(super) partial: bool,
}

impl Counts {
    pub(super) fn executed(self) -> u64 {
        self.passed + self.failed
    }

    /// `3 passed, 1 failed`.
    pub(super) fn words(self) -> String {
        let least = if self.partial { "at least " } else { "" };
        if self.failed == 0 {
            format!("{least}{} passed", self.passed)
        } else {
            format!("{least}{} passed, {} failed", self.passed, self.failed)
        }
    }
}

type Form = (&'static str, LazyLock<Option<Regex>>);

/// Summaries that stand once, at the end; several of one form are summed only for the first three.
static FORMS: [Form; 16] = [
    ("libtest", LazyLock::new(|| form(r"(?m)^test result: \w+\. (?P<p>\d+) passed; (?P<f>\d+) failed"))),
    (
        "maven",
        LazyLock::new(|| {
            form(r"(?m)Tests run: (?P<t>\d+), Failures: (?P<f>\d+), Errors: (?P<e>\d+), Skipped: (?P<s>\d+)\s*$")
        }),
    ),
    ("dotnet", LazyLock::new(|| form(r"Failed:\s+(?P<f>\d+), Passed:\s+(?P<p>\d+), Skipped:\s+\d+, Total:\s+\d+"))),
    ("nextest", LazyLock::new(|| form(r"(?m)Summary.*\btests? run: (?P<p>\d+) passed(?:.*?, (?P<f>\d+) failed)?"))),
    (
        "jest",
        LazyLock::new(|| {
            form(
                r"(?m)^\s*Tests:?\s+(?:(?P<f>\d+) failed[,|]? *\|? *)?(?:\d+ (?:skipped|todo)[,|]? *)*(?:(?P<p>\d+) passed)?",
            )
        }),
    ),
    (
        "pytest",
        LazyLock::new(|| form(r"(?m)^=*\s*(?:(?P<f>\d+) failed,? ?)?(?:(?P<p>\d+) passed)?(?:, \d+ \w+)* in [\d.]+s")),
    ),
    (
        "mocha",
        LazyLock::new(|| form(r"(?m)^\s*(?P<p>\d+) passing\b(?:[^\n]*\n(?:\s*\d+ pending\n)?\s*(?P<f>\d+) failing)?")),
    ),
    ("node", LazyLock::new(|| form(r"(?m)^\W*pass (?P<p>\d+)\s*\n\W*fail (?P<f>\d+)"))),
    (
        "unittest",
        LazyLock::new(|| {
            form(
                r"(?m)^Ran (?P<t>\d+) tests? in [\d.]+s\s+(?:OK|FAILED \((?:failures=(?P<f>\d+))?(?:, )?(?:errors=(?P<e>\d+))?)",
            )
        }),
    ),
    ("phpunit", LazyLock::new(|| form(r"(?m)^OK \((?P<p>\d+) tests?, \d+ assertions?\)"))),
    (
        "phpunit-red",
        LazyLock::new(|| {
            form(r"(?m)^Tests: (?P<t>\d+), Assertions: \d+(?:, Errors: (?P<e>\d+))?(?:, Failures: (?P<f>\d+))?")
        }),
    ),
    ("rspec", LazyLock::new(|| form(r"(?m)^(?P<t>\d+) examples?, (?P<f>\d+) failures?"))),
    ("ctest", LazyLock::new(|| form(r"(?m)tests passed, (?P<f>\d+) tests? failed out of (?P<t>\d+)"))),
    (
        "failed-passed",
        LazyLock::new(|| form(r"(?mi)\b(?P<p>\d+) pass(?:ed|ing)?\b[,;/ ]+(?P<f>\d+) fail(?:ed|ing|ures?)?\b")),
    ),
    ("ratio", LazyLock::new(|| form(r"(?mi)\b(?P<p>\d+)\s*/\s*(?P<t>\d+)\s+(?:tests?\s+)?(?:pass(?:ed|ing)?|ok)\b"))),
    ("passed", LazyLock::new(|| form(r"(?mi)^\W*(?P<p>\d+) (?:tests? )?pass(?:ed|ing)?\b"))),
];

fn form(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Reads a summary; nothing if none is recorded. The first form that fits counts, most exact first.
pub(super) fn counts(output: &Excerpt) -> Option<Counts> {
    let text = plain(output);
    let partial = !output.is_whole();
    for (name, form) in &FORMS {
        let Some(form) = form.as_ref() else { continue };
        let found: Vec<Counts> = form.captures_iter(&text).filter_map(|caught| read(&caught)).collect();
        let Some(last) = found.last() else { continue };
        // A test program each: their sum. Every other runner says its total once, last.
        let summed = matches!(*name, "libtest" | "dotnet");
        let each = if summed { &found[..] } else { std::slice::from_ref(last) };
        let sum = |of: fn(&Counts) -> u64| each.iter().map(of).sum();
        return Some(Counts { passed: sum(|c| c.passed), failed: sum(|c| c.failed), partial: partial && summed });
    }
    tap(&text).map(|counts| Counts { partial, ..counts })
}

fn read(caught: &regex::Captures<'_>) -> Option<Counts> {
    let number = |name: &str| caught.name(name).and_then(|found| found.as_str().parse::<u64>().ok());
    let failed = number("f").unwrap_or(0) + number("e").unwrap_or(0);
    let passed = match (number("p"), number("t")) {
        (Some(passed), None) => passed,
        (None, Some(total)) => total.saturating_sub(failed + number("s").unwrap_or(0)),
        // `4985/4992 passed`
        (Some(passed), Some(total)) => {
            return Some(Counts { passed, failed: total.saturating_sub(passed), partial: false });
        }
        (None, None) if number("f").is_some() => 0,
        (None, None) => return None,
    };
    Some(Counts { passed, failed, partial: false })
}

/// Lines `ok 1 …` and `not ok 2 …`.
fn tap(text: &str) -> Option<Counts> {
    let starts = |head: &str| {
        text.lines()
            .filter(|line| line.starts_with(head) && line.as_bytes().get(head.len()).is_some_and(u8::is_ascii_digit))
            .count() as u64
    };
    let counts = Counts { passed: starts("ok "), failed: starts("not ok "), partial: false };
    (counts.executed() > 0).then_some(counts)
}

/// True for a run of Go's, which names packages and no numbers: something ran and passed.
pub(super) fn names_packages(output: &Excerpt) -> bool {
    let text = plain(output);
    text.lines().any(|line| line.starts_with("ok  \t")) && !text.lines().any(|line| line.starts_with("FAIL"))
}

/// The names of the tests that failed, as runners print them.
pub(super) fn failures(output: &Excerpt) -> BTreeSet<String> {
    static NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?m)^(?:FAILED (?P<pytest>\S+)|test (?P<libtest>\S+) \.\.\. FAILED|\s*--- FAIL: (?P<go>\S+)|not ok \d+ (?:- )?(?P<tap>[^\n#]+)|\s*[✕✗×] (?P<jest>[^\n(]+))",
        )
        .ok()
    });
    let text = plain(output);
    let Some(names) = NAMES.as_ref() else { return BTreeSet::new() };
    let groups = ["pytest", "libtest", "go", "tap", "jest"];
    names
        .captures_iter(&text)
        .filter_map(|caught| groups.iter().find_map(|group| caught.name(group)).map(|m| m.as_str().trim().to_owned()))
        .collect()
}

/// The first line in which a compiler or a build tool complains of an error.
pub(super) fn complaint(output: &Excerpt) -> Option<String> {
    static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?mi)^(?:[^\n]*:\s*)?(?:fatal error|fatal:|error(?:\[\w+\])?:|error TS\d+|ERROR in\b|BUILD FAILED|FAILURE:|npm ERR!|make(?:\[\d+\])?: \*\*\*|error: could not compile)[^\n]*",
        )
        .ok()
    });
    let text = plain(output);
    LINE.as_ref()?.find(&text).map(|line| line.as_str().trim().chars().take(160).collect())
}

/// Head and tail without colours.
fn plain(output: &Excerpt) -> String {
    static COLOUR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*[A-Za-z]").ok());
    let joint = if output.is_whole() { "" } else { "\n" };
    let text = format!("{}{joint}{}", output.head, output.tail).replace('\r', "");
    COLOUR.as_ref().map_or_else(|| text.clone(), |colour| colour.replace_all(&text, "").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runner_s_summary_is_read() {
        for (text, expected) in [
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored\n\ntest result: FAILED. 4 passed; 1 failed; 0 ignored",
                Some((7, 1)),
            ),
            ("     Summary [   0.1s] 5 tests run: 4 passed, 1 failed, 0 skipped", Some((4, 1))),
            ("===== 1 failed, 2 passed in 0.10s =====", Some((2, 1))),
            ("8 passed in 0.02s", Some((8, 0))),
            ("no tests ran in 0.01s", None),
            ("Tests:       1 failed, 41 passed, 42 total", Some((41, 1))),
            ("      Tests  42 passed (42)", Some((42, 0))),
            ("  12 passing (3ms)\n  1 failing\n", Some((12, 1))),
            ("# tests 3\n# suites 0\n# pass 2\n# fail 1", Some((2, 1))),
            ("Ran 4 tests in 0.001s\n\nOK", Some((4, 0))),
            ("Ran 4 tests in 0.001s\n\nFAILED (failures=1)", Some((3, 1))),
            ("Tests run: 9, Failures: 1, Errors: 1, Skipped: 1", Some((6, 2))),
            ("OK (5 tests, 9 assertions)", Some((5, 0))),
            ("7 examples, 2 failures", Some((5, 2))),
            ("100% tests passed, 0 tests failed out of 6", Some((6, 0))),
            ("4985/4992 passed", Some((4985, 7))),
            ("4985 passed, 7 failed", Some((4985, 7))),
            ("\u{1b}[32m3 passed\u{1b}[0m", Some((3, 0))),
            ("1..2\nok 1 - a\nnot ok 2 - b", Some((1, 1))),
            ("compiled", None),
            ("", None),
        ] {
            let found = counts(&Excerpt::of(text)).map(|counts| (counts.passed, counts.failed));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn failures_and_complaints_are_named() {
        let text = "test a::b ... FAILED\nFAILED tests/t.py::test_x - assert\n--- FAIL: TestY (0.0s)\n";
        let names: Vec<String> = failures(&Excerpt::of(text)).into_iter().collect();
        assert_eq!(names, ["TestY", "a::b", "tests/t.py::test_x"]);
        assert_eq!(
            complaint(&Excerpt::of("src/a.c:3:1: fatal error: x.h: No such file")).unwrap(),
            "src/a.c:3:1: fatal error: x.h: No such file"
        );
        assert_eq!(complaint(&Excerpt::of("0 errors, 0 warnings")), None);
    }
}
