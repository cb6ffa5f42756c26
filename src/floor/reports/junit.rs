//! Reads JUnit XML as runners really write it: nested suites, missing attributes, wrong totals, broken encodings.
//!
//! Counts come from the test cases, never from the totals a file declares; where the two disagree the report is in
//! trouble and says so. Entities stay off and a document type is refused.

mod frame;

pub(super) use frame::attribute;

use super::encoding::decode;
use super::tally::{Tally, cut};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use frame::{Frame, joined};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Elements nested deeper than this are not read.
const DEEPEST: usize = 256;

/// Whose dialect it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Suites are groups of tests, their names belong to the tests' names; a case named by a path stands for a whole
    /// file.
    Node,
    /// Everything else.
    Common,
}

/// What kinds of element were seen.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) suites: u64,
    pub(super) cases: u64,
    pub(super) with_failure: u64,
    pub(super) with_error: u64,
    pub(super) with_skipped: u64,
    /// Cases with more than one failure or error.
    pub(super) with_several: u64,
    /// `flakyFailure`, `rerunFailure` and their like.
    pub(super) reruns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Suites,
    Suite,
    Case,
    Other,
}

#[derive(Debug)]
struct Case {
    suite: String,
    name: String,
    file: Option<String>,
    /// Node's stand-in for a whole file.
    is_file: bool,
    result: CaseResult,
    failures: u64,
    errors: u64,
    skips: u64,
    flaky: u64,
    reruns: u64,
}

struct Parser<'a> {
    dialect: Dialect,
    module: &'a str,
    tally: &'a mut Tally,
    open: Vec<Kind>,
    frames: Vec<Frame>,
    case: Option<Case>,
    roots: u64,
    marks: Marks,
    /// Cases node counts as failing although only their children are listed.
    node_failures: Option<u64>,
    failed: u64,
}

/// Reads one file. `module` goes before the names of its suites.
pub(super) fn read(bytes: &[u8], dialect: Dialect, module: &str, tally: &mut Tally) -> Marks {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        tally.trouble("the report is empty".to_owned());
        return Marks::default();
    }
    let text = decode(bytes, tally);
    let mut parser = Parser {
        dialect,
        module,
        tally,
        open: Vec::new(),
        frames: Vec::new(),
        case: None,
        roots: 0,
        marks: Marks::default(),
        node_failures: None,
        failed: 0,
    };
    if let Err(why) = parser.parse(&text) {
        parser.tally.trouble(why);
    }
    parser.finish()
}

/// A name as its test has it: Node 20 escapes quotes in attributes twice, later ones once.
pub(in crate::floor) fn node_name(name: &str) -> String {
    name.replace("&quot;", "\"")
}

impl Parser<'_> {
    fn parse(&mut self, text: &str) -> Result<(), String> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.check_comments = false;
        loop {
            let event = reader.read_event().map_err(|why| {
                let why = why.to_string();
                format!("the report is not XML at byte {}: {}", reader.error_position(), escape(cut(&why).as_bytes()))
            })?;
            match event {
                Event::Eof if !self.open.is_empty() => return Err("the report is truncated".to_owned()),
                Event::Eof => return Ok(()),
                Event::DocType(_) => return Err("the report has a document type, which is refused".to_owned()),
                Event::Start(element) => {
                    if self.open.len() >= DEEPEST {
                        return Err(format!("the report is nested deeper than {DEEPEST}"));
                    }
                    self.start(&element)?;
                }
                Event::Empty(element) => {
                    self.start(&element)?;
                    self.end();
                }
                Event::End(_) => self.end(),
                Event::Comment(text) if self.dialect == Dialect::Node => self.comment(&text),
                Event::Text(text) if self.open.is_empty() && !text.trim_ascii().is_empty() => {
                    self.tally.trouble("the report has text outside its root".to_owned());
                }
                _ => {}
            }
        }
    }

    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let name = element.name().0.rsplit(':').next().unwrap_or_default().to_owned();
        if self.open.is_empty() {
            self.roots += 1;
            if self.roots > 1 {
                return Err("the report has more than one root".to_owned());
            }
            if !matches!(name.as_str(), "testsuites" | "testsuite") {
                return Err(format!("the report is no JUnit file: its root is <{}>", escape(cut(&name).as_bytes())));
            }
        }
        let kind = match name.as_str() {
            "testsuites" => Kind::Suites,
            "testsuite" => Kind::Suite,
            "testcase" => Kind::Case,
            _ => Kind::Other,
        };
        let inside = self.open.last().copied();
        if kind != Kind::Other && matches!(inside, Some(Kind::Case | Kind::Other)) {
            // Output that was not escaped, or an attempt to add cases from inside a test.
            self.tally.trouble(format!("the report has a <{name}> inside a test case or its output"));
            self.open.push(Kind::Other);
            return Ok(());
        }
        match kind {
            Kind::Suites | Kind::Suite => self.suite(element, kind == Kind::Suite),
            Kind::Case => self.open_case(element),
            Kind::Other => self.mark(&name, inside == Some(Kind::Case)),
        }
        self.open.push(kind);
        Ok(())
    }

    fn suite(&mut self, element: &BytesStart<'_>, is_suite: bool) {
        self.marks.suites += u64::from(is_suite);
        let mut frame = Frame::open(element, is_suite);
        if self.dialect == Dialect::Node {
            frame.name = node_name(&frame.name);
        }
        self.frames.push(frame);
    }

    fn open_case(&mut self, element: &BytesStart<'_>) {
        self.marks.cases += 1;
        let word = |name: &str| attribute(element, name).unwrap_or_default().to_ascii_lowercase();
        let result = ["status", "result"].iter().map(|name| match word(name).as_str() {
            "skipped" | "disabled" | "notrun" | "ignored" | "suppressed" => CaseResult::Skipped,
            "failed" | "failure" => CaseResult::Failed,
            "error" | "errored" | "broken" => CaseResult::Errored,
            _ => CaseResult::Passed,
        });
        let class = attribute(element, "classname").filter(|class| !class.is_empty());
        let mut name = attribute(element, "name").unwrap_or_default();
        let is_file =
            self.dialect == Dialect::Node && !self.frames.iter().any(|frame| frame.is_suite) && names_a_file(&name);
        let groups = self.frames.iter().filter(|frame| frame.is_suite).map(|frame| frame.name.as_str());
        let suite = if self.dialect == Dialect::Node {
            let own = node_name(&name);
            name = joined(groups.chain([self.tally.below_room(&own)]));
            String::new()
        } else {
            class.unwrap_or_else(|| joined(groups.filter(|name| !name.is_empty())))
        };
        let suite = match (self.module, suite.as_str()) {
            ("", _) => suite,
            (module, "") => module.to_owned(),
            (module, suite) => format!("{module}/{suite}"),
        };
        self.case = Some(Case {
            suite: cut(&suite).to_owned(),
            name: cut(&name).to_owned(),
            file: attribute(element, "file"),
            is_file,
            result: result.max().unwrap_or(CaseResult::Passed),
            failures: 0,
            errors: 0,
            skips: 0,
            flaky: 0,
            reruns: 0,
        });
    }

    /// An element that says how a case, or a whole suite, ended.
    fn mark(&mut self, name: &str, is_direct: bool) {
        let result = match name {
            "skipped" | "disabled" | "ignored" => CaseResult::Skipped,
            "failure" => CaseResult::Failed,
            "error" => CaseResult::Errored,
            "flakyFailure" | "flakyError" | "rerunFailure" | "rerunError" => {
                self.marks.reruns += 1;
                if let Some(case) = &mut self.case {
                    let place = if name.starts_with("flaky") { &mut case.flaky } else { &mut case.reruns };
                    *place += 1;
                }
                return;
            }
            _ => return,
        };
        let Some(case) = &mut self.case else {
            // A suite that broke outside its cases must not vanish.
            if result >= CaseResult::Failed {
                let groups = self.frames.iter().map(|frame| frame.name.as_str()).filter(|name| !name.is_empty());
                self.tally.case(&joined(groups), "(outside any test)", None, result);
                self.failed += 1;
                if let Some(frame) = self.frames.last_mut() {
                    frame.bad_elements += 1;
                }
            }
            return;
        };
        case.result = case.result.max(result);
        if is_direct {
            match result {
                CaseResult::Failed => case.failures += 1,
                CaseResult::Errored => case.errors += 1,
                _ => case.skips += 1,
            }
        }
    }

    fn end(&mut self) {
        match self.open.pop() {
            Some(Kind::Case) => self.close_case(),
            Some(Kind::Suite | Kind::Suites) => self.close_frame(),
            _ => {}
        }
    }

    fn close_case(&mut self) {
        let Some(mut case) = self.case.take() else { return };
        self.marks.with_failure += u64::from(case.failures > 0);
        self.marks.with_error += u64::from(case.errors > 0);
        self.marks.with_skipped += u64::from(case.skips > 0);
        self.marks.with_several += u64::from(case.failures + case.errors > 1);
        if case.result == CaseResult::Passed && case.reruns > 0 && case.flaky == 0 {
            self.tally.remark("a case lists failed reruns and no failure: it counts as failed".to_owned());
            case.result = CaseResult::Failed;
        }
        if case.is_file {
            // Node lists a file without tests, or one that left early, as a passing test of the file's name.
            case.file = Some(case.name.clone());
            case.result = match case.result {
                CaseResult::Passed | CaseResult::Skipped => CaseResult::Skipped,
                CaseResult::Failed | CaseResult::Errored => CaseResult::Errored,
            };
        }
        if case.result == CaseResult::Passed && case.flaky > 0 {
            self.tally.flaky(&case.suite, &case.name);
        }
        let is_bad = case.result >= CaseResult::Failed;
        self.failed += u64::from(is_bad);
        if let Some(frame) = self.frames.last_mut() {
            frame.cases += 1;
            frame.bad_cases += u64::from(is_bad);
            frame.bad_elements += case.failures + case.errors;
        }
        self.tally.case(&case.suite, &case.name, case.file.as_deref(), case.result);
    }

    fn close_frame(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        match self.frames.last_mut() {
            Some(parent) => {
                parent.cases += frame.cases;
                parent.bad_cases += frame.bad_cases;
                parent.bad_elements += frame.bad_elements;
                // Without a total of its own the root declares what its suites add up to.
                if !parent.is_suite && self.frames.len() == 1 {
                    let parent = &mut self.frames[0];
                    if parent.declared.tests.is_none() {
                        self.tally.declare(frame.declared);
                    }
                }
            }
            None if frame.is_suite || frame.declared.tests.is_some() => self.tally.declare(frame.declared),
            None => {}
        }
        if self.dialect == Dialect::Common {
            frame.compare(self.tally);
        }
    }

    fn comment(&mut self, text: &str) {
        if self.open.len() <= 1
            && let Some(count) = text.trim().strip_prefix("fail ").and_then(|count| count.parse().ok())
        {
            self.node_failures = Some(count);
        }
    }

    fn finish(mut self) -> Marks {
        if self.case.is_some() {
            self.close_case();
        }
        if self.roots == 0 {
            self.tally.trouble("the report has no test suites".to_owned());
        }
        if let Some(more) = self.node_failures.filter(|count| *count > self.failed) {
            let listed = self.failed;
            self.tally
                .trouble(format!("{more} tests failed and {listed} of them are listed; the others have subtests"));
        }
        self.marks
    }
}

/// True for the absolute path of a script.
pub(super) fn names_a_file(name: &str) -> bool {
    name.starts_with('/') && [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"].iter().any(|end| name.ends_with(end))
}
