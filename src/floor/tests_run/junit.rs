//! Reads JUnit XML as runners really write it: nested suites, missing attributes, wrong totals, broken encodings.
//!
//! Counts come from the test cases, never from the totals a file declares; where the two disagree the report is in
//! trouble and says so. Entities stay off and a document type is refused.

use super::Reading;
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CaseResult, TestCase};
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

/// A larger report is not read.
pub const LARGEST_REPORT: u64 = 64 << 20;
/// More cases than this are not read.
const MOST_CASES: usize = 500_000;
/// Suites nested deeper than this are not read.
const DEEPEST: usize = 256;

/// Whose dialect it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Suites are groups of tests, their names belong to the tests' names; a case named by an absolute path stands for a
    /// whole file.
    Node,
    /// Everything else.
    Common,
}

struct Parser<'a> {
    dialect: Dialect,
    /// The top of the room: absolute paths below it are shown relative to it.
    room: &'a str,
    suites: Vec<String>,
    depth: usize,
    case: Option<TestCase>,
    cases: Vec<TestCase>,
    declared: Option<u64>,
    /// Cases node counts as failing although only their children are listed.
    node_failures: Option<u64>,
    trouble: Vec<String>,
}

/// Reads a report. `room` is the folder the tests ran under.
pub fn read(bytes: &[u8], dialect: Dialect, room: &str) -> Reading {
    let mut parser = Parser {
        dialect,
        room,
        suites: Vec::new(),
        depth: 0,
        case: None,
        cases: Vec::new(),
        declared: None,
        node_failures: None,
        trouble: Vec::new(),
    };
    let text = decode(bytes, &mut parser.trouble);
    if let Err(why) = parser.parse(&text) {
        parser.trouble.push(why);
    }
    parser.into_reading()
}

/// The text, whatever its encoding; what is no text in it is replaced.
fn decode(bytes: &[u8], trouble: &mut Vec<String>) -> String {
    let wide = |order: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| order([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>()
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            let latin = bytes[..bytes.len().min(200)].to_ascii_lowercase();
            let latin = String::from_utf8_lossy(&latin).contains("iso-8859-1");
            match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) if latin => bytes.iter().map(|byte| char::from(*byte)).collect(),
                Err(why) => {
                    // Names may be damaged, results are not: still readable.
                    trouble.push(format!("the report is not UTF-8 (first bad byte at {})", why.valid_up_to()));
                    String::from_utf8_lossy(bytes).into_owned()
                }
            }
        }
    }
}

impl Parser<'_> {
    fn parse(&mut self, text: &str) -> Result<(), String> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.check_comments = false;
        loop {
            let event = reader.read_event().map_err(|why| {
                format!(
                    "the report is not XML at byte {}: {}",
                    reader.error_position(),
                    escape(why.to_string().as_bytes())
                )
            })?;
            match event {
                Event::Eof if self.depth > 0 => return Err("the report is truncated".to_owned()),
                Event::Eof => return Ok(()),
                Event::DocType(_) => return Err("the report has a document type, which is refused".to_owned()),
                Event::Start(element) => {
                    self.depth += 1;
                    if self.depth > DEEPEST {
                        return Err(format!("the report is nested deeper than {DEEPEST}"));
                    }
                    self.start(&element)?;
                }
                Event::Empty(element) => {
                    self.start(&element)?;
                    self.end(element.name().0);
                }
                Event::End(element) => {
                    self.depth = self.depth.saturating_sub(1);
                    self.end(element.name().0);
                }
                Event::Comment(text) if self.dialect == Dialect::Node => self.comment(&text),
                _ => {}
            }
        }
    }

    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let attribute = |name: &str| {
            // A lenient walk: a broken attribute hides itself, not the case.
            let found = element.attributes().with_checks(false).flatten().find(|a| a.key.0 == name)?;
            let value = unescape(&found.value).map_or_else(|_| found.value.to_string(), std::borrow::Cow::into_owned);
            Some(value)
        };
        match element.name().0 {
            "testsuites" => self.declare(attribute("tests")),
            "testsuite" => {
                if self.suites.is_empty() && self.dialect == Dialect::Common {
                    self.declare(attribute("tests").filter(|_| self.declared.is_none() || self.depth <= 2));
                }
                self.suites.push(attribute("name").unwrap_or_default());
            }
            "testcase" => {
                if self.cases.len() >= MOST_CASES {
                    return Err(format!("the report has more than {MOST_CASES} cases"));
                }
                let skipped =
                    attribute("status").is_some_and(|s| matches!(s.as_str(), "skipped" | "disabled" | "notrun"));
                let result = if skipped { CaseResult::Skipped } else { CaseResult::Passed };
                self.finish_case();
                self.case = Some(self.named(attribute("name"), attribute("classname"), attribute("file"), result));
            }
            "skipped" | "disabled" => self.worsen(CaseResult::Skipped),
            "failure" => self.worsen(CaseResult::Failed),
            "error" => self.worsen(CaseResult::Errored),
            _ => {}
        }
        Ok(())
    }

    fn named(&self, name: Option<String>, class: Option<String>, file: Option<String>, result: CaseResult) -> TestCase {
        let name = name.unwrap_or_default();
        let shown = |text: &str| escape(self.below_room(text).as_bytes());
        let file = file.map(|file| RepoPath::from(self.below_room(&file))).filter(RepoPath::is_safe);
        if self.dialect == Dialect::Node {
            let groups = self.suites.iter().map(String::as_str).chain([self.below_room(&name)]);
            let name = escape(groups.collect::<Vec<_>>().join(" > ").as_bytes());
            return TestCase { suite: String::new(), name, file, result };
        }
        let suite = class.filter(|class| !class.is_empty()).unwrap_or_else(|| self.suites.join(" > "));
        TestCase { suite: shown(&suite), name: shown(&name), file, result }
    }

    fn below_room<'t>(&self, text: &'t str) -> &'t str {
        text.strip_prefix(self.room).and_then(|rest| rest.strip_prefix('/')).unwrap_or(text)
    }

    fn declare(&mut self, tests: Option<String>) {
        if let Some(tests) = tests.and_then(|tests| tests.trim().parse::<u64>().ok()) {
            // A root's total covers its suites; without one, the outermost suites add up.
            self.declared = Some(if self.depth <= 1 { tests } else { self.declared.unwrap_or(0).max(tests) });
        }
    }

    fn worsen(&mut self, result: CaseResult) {
        match &mut self.case {
            Some(case) => case.result = case.result.max(result),
            // A suite that broke outside its cases must not vanish.
            None if result >= CaseResult::Failed => {
                let suite = escape(self.suites.join(" > ").as_bytes());
                self.cases.push(TestCase { suite, name: "(outside any test)".to_owned(), file: None, result });
            }
            None => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "testsuite" => {
                self.suites.pop();
            }
            "testcase" => self.finish_case(),
            _ => {}
        }
    }

    fn finish_case(&mut self) {
        let Some(mut case) = self.case.take() else { return };
        // Node lists a file without tests, or one that left early, as a passing test of the file's name.
        let whole_file = self.dialect == Dialect::Node
            && self.suites.is_empty()
            && [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"].iter().any(|end| case.name.ends_with(end))
            && case.name.contains('/');
        if whole_file {
            case.file = Some(RepoPath::from(case.name.as_str())).filter(RepoPath::is_safe);
            case.result = match case.result {
                CaseResult::Passed | CaseResult::Skipped => CaseResult::Skipped,
                CaseResult::Failed | CaseResult::Errored => CaseResult::Errored,
            };
        }
        self.cases.push(case);
    }

    fn comment(&mut self, text: &str) {
        if let Some(count) = text.trim().strip_prefix("fail ").and_then(|count| count.parse().ok()) {
            self.node_failures = Some(count);
        }
    }

    fn into_reading(mut self) -> Reading {
        self.finish_case();
        let distrusted = !self.trouble.is_empty();
        let count = |wanted: &[CaseResult]| self.cases.iter().filter(|c| wanted.contains(&c.result)).count() as u64;
        let failed = count(&[CaseResult::Failed, CaseResult::Errored]);
        let skipped = count(&[CaseResult::Skipped]);
        let total = self.cases.len() as u64;
        let mut trouble = self.trouble;
        if let Some(declared) = self.declared.filter(|declared| *declared > total) {
            trouble.push(format!("the report declares {declared} tests and lists {total}"));
        }
        if let Some(more) = self.node_failures.filter(|count| *count > failed) {
            trouble.push(format!("{more} tests failed and {failed} of them are listed; the others have subtests"));
        }
        let mut cases = self.cases;
        cases.sort();
        if self.dialect == Dialect::Common {
            // One test may be listed twice (its body, then its teardown): the worse state, sorted last, holds.
            cases.reverse();
            cases.dedup_by(|later, kept| {
                (&later.suite, &later.name, &later.file) == (&kept.suite, &kept.name, &kept.file)
            });
            cases.reverse();
        }
        Reading {
            format: "junit".to_owned(),
            executed: Some(total - skipped),
            failed,
            skipped,
            complete: trouble.is_empty(),
            distrusted: distrusted || !trouble.is_empty(),
            trouble,
            cases,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(xml: &str) -> Reading {
        read(xml.as_bytes(), Dialect::Common, "/room")
    }

    #[test]
    fn worst_state_wins_and_nested_failures_stay() {
        let reading = common(
            "<testsuites><testsuite name='a'><testsuite name='b'><testcase name='x' classname='m'/>\
             <testcase name='x' classname='m'><error/></testcase></testsuite>\
             <testcase name='y'><skipped/></testcase><testcase name='z'><failure/></testcase></testsuite>\
             <testsuite name='a'><testcase name='w'/></testsuite></testsuites>",
        );
        let states: Vec<(String, CaseResult)> =
            reading.cases.iter().map(|c| (format!("{}/{}", c.suite, c.name), c.result)).collect();
        assert_eq!(
            states,
            [
                ("a/w".to_owned(), CaseResult::Passed),
                ("a/y".to_owned(), CaseResult::Skipped),
                ("a/z".to_owned(), CaseResult::Failed),
                ("m/x".to_owned(), CaseResult::Errored),
            ]
        );
        assert_eq!(reading.failed, 2);
        assert!(reading.complete, "{reading:?}");
    }

    #[test]
    fn damage_is_named_and_never_green() {
        let deep = "<testsuite>".repeat(400);
        for (xml, word) in [
            ("<testsuites><testsuite><testcase name='a'/>", "truncated"),
            ("<!DOCTYPE x [<!ENTITY a 'b'>]><testsuites/>", "document type"),
            ("<testsuite tests='57'><testcase name='a'/></testsuite>", "declares 57"),
            ("<testsuites tests='9'><testsuite tests='1'><testcase name='a'/></testsuite></testsuites>", "declares 9"),
            ("<testsuite><testcase name='a'></testsuite>", "not XML"),
            (deep.as_str(), "nested deeper"),
        ] {
            let reading = common(xml);
            assert!(!reading.complete && reading.distrusted, "{xml}");
            assert!(reading.trouble.iter().any(|t| t.contains(word)), "{word}: {:?}", reading.trouble);
        }
    }

    #[test]
    fn control_characters_and_encodings_keep_the_failure() {
        let case = |text: &[u8]| {
            [b"<testsuite><testcase name='a\x1b'><failure>", text, b"</failure></testcase></testsuite>"].concat()
        };
        for text in [&b"\x1b[31m"[..], b"&#27;[0m", b"\xff", b"\0", b"a & b", b"<![CDATA[ ]] > ]]>"] {
            let reading = read(&case(text), Dialect::Common, "/room");
            assert_eq!(reading.failed, 1, "{text:?} {reading:?}");
        }
        let wide: Vec<u8> = "\u{feff}<testsuite><testcase name='ü'><error/></testcase></testsuite>"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(read(&wide, Dialect::Common, "/room").cases[0].name, "ü");
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><testsuite><testcase name='\xfc'/></testsuite>";
        assert_eq!(read(latin, Dialect::Common, "/room").cases[0].name, "ü");
    }

    #[test]
    fn node_groups_name_their_tests_and_a_file_is_no_test() {
        let xml = "<testsuites><testcase name='/room/test/empty.test.mjs' classname='test'/>\
            <testcase name='/room/test/bad.test.mjs' classname='test'><failure/></testcase>\
            <testsuite name='outer'><testsuite name='inner'><testcase name='leaf' classname='test'/></testsuite></testsuite>\
            <!-- fail 2 --></testsuites>";
        let reading = read(xml.as_bytes(), Dialect::Node, "/room");
        let found: Vec<(&str, CaseResult)> = reading.cases.iter().map(|c| (c.name.as_str(), c.result)).collect();
        assert_eq!(
            found,
            [
                ("outer > inner > leaf", CaseResult::Passed),
                ("test/bad.test.mjs", CaseResult::Errored),
                ("test/empty.test.mjs", CaseResult::Skipped),
            ]
        );
        assert_eq!(reading.executed, Some(2));
        assert!(reading.trouble[0].contains("have subtests"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            read(&bytes, Dialect::Common, "/room");
            read(&bytes, Dialect::Node, "/room");
        }
    }
}
