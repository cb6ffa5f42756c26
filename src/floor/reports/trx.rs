//! Reads Visual Studio's test results (`dotnet test --logger trx`).

use super::Totals;
use super::encoding::decode;
use super::junit::attribute;
use super::tally::{MOST_CASES, Tally, cut};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeMap;

/// Elements nested deeper than this are not read.
const DEEPEST: usize = 256;

#[derive(Debug)]
struct Outcome {
    id: String,
    name: String,
    result: CaseResult,
    /// How many results lie inside it, and whether one of them is bad.
    inner: u64,
    inner_bad: bool,
}

#[derive(Default)]
struct Parser {
    open: Vec<String>,
    results: Vec<Outcome>,
    done: Vec<Outcome>,
    /// Class names by test id.
    classes: BTreeMap<String, String>,
    test: Option<String>,
    summary: Option<String>,
    counters: Option<Totals>,
    trouble: Vec<String>,
}

/// Reads the file.
pub(super) fn read(bytes: &[u8], tally: &mut Tally) {
    let text = decode(bytes, tally);
    let mut parser = Parser::default();
    if let Err(why) = parser.parse(&text) {
        parser.trouble.push(why);
    }
    parser.report(tally);
}

impl Parser {
    fn parse(&mut self, text: &str) -> Result<(), String> {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.allow_dangling_amp = true;
        config.check_comments = false;
        let mut roots = 0;
        loop {
            let event = reader.read_event().map_err(|why| {
                let why = why.to_string();
                format!("the report is not XML at byte {}: {}", reader.error_position(), escape(cut(&why).as_bytes()))
            })?;
            let (element, is_empty) = match event {
                Event::Eof if !self.open.is_empty() => return Err("the report is truncated".to_owned()),
                Event::Eof if roots == 0 => return Err("the report is empty".to_owned()),
                Event::Eof => return Ok(()),
                Event::DocType(_) => return Err("the report has a document type, which is refused".to_owned()),
                Event::End(_) => {
                    self.end();
                    continue;
                }
                Event::Start(element) => (element, false),
                Event::Empty(element) => (element, true),
                _ => continue,
            };
            let name = element.name().0.rsplit(':').next().unwrap_or_default().to_owned();
            if self.open.is_empty() {
                roots += 1;
                if roots > 1 || name != "TestRun" {
                    return Err("the report is no trx file: its root is not one <TestRun>".to_owned());
                }
            }
            if self.open.len() >= DEEPEST {
                return Err(format!("the report is nested deeper than {DEEPEST}"));
            }
            if self.done.len() >= MOST_CASES || self.classes.len() >= MOST_CASES {
                return Err(format!("the report has more than {MOST_CASES} results"));
            }
            self.start(&name, &element);
            self.open.push(name);
            if is_empty {
                self.end();
            }
        }
    }

    fn start(&mut self, name: &str, element: &BytesStart<'_>) {
        let text = |name: &str| attribute(element, name).map(|value| cut(&value).to_owned());
        match name {
            "UnitTestResult" | "TestResult" | "GenericTestResult" | "WebTestResult" | "TestResultAggregation" => {
                self.results.push(Outcome {
                    id: text("testId").unwrap_or_default(),
                    name: text("testName").unwrap_or_default(),
                    result: result(text("outcome").as_deref()),
                    inner: 0,
                    inner_bad: false,
                });
            }
            "UnitTest" => self.test = text("id"),
            "TestMethod" => {
                if let Some((id, class)) = self.test.clone().zip(text("className")) {
                    self.classes.insert(id, class);
                }
            }
            "ResultSummary" => self.summary = text("outcome"),
            "Counters" => {
                let number = |name: &str| text(name).and_then(|value| value.trim().parse::<u64>().ok());
                let bad = ["failed", "error", "timeout", "aborted"].iter().filter_map(|name| number(name));
                let totals = Totals {
                    tests: number("total"),
                    failed: Some(bad.fold(0, u64::saturating_add)),
                    skipped: number("notExecuted"),
                };
                self.counters = Some(totals);
            }
            "RunInfo" if text("outcome").as_deref() == Some("Error") => {
                self.trouble.push("the run itself reports an error".to_owned());
            }
            _ => {}
        }
    }

    fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        if !name.ends_with("Result") && name != "TestResultAggregation" {
            return;
        }
        let Some(outcome) = self.results.pop() else { return };
        let is_bad = outcome.result >= CaseResult::Failed;
        if let Some(outer) = self.results.last_mut() {
            outer.inner += 1;
            outer.inner_bad |= is_bad || outcome.inner_bad;
        }
        // A data-driven test stands for its rows, unless it fails where no row does.
        if outcome.inner == 0 || (is_bad && !outcome.inner_bad) {
            self.done.push(outcome);
        }
    }

    fn report(mut self, tally: &mut Tally) {
        self.done.append(&mut self.results);
        let mut failed = 0_u64;
        for outcome in &self.done {
            failed += u64::from(outcome.result >= CaseResult::Failed);
            let class = self.classes.get(&outcome.id).map_or("", String::as_str);
            let name = outcome.name.strip_prefix(class).and_then(|rest| rest.strip_prefix('.'));
            tally.case(class, name.unwrap_or(&outcome.name), None, outcome.result);
        }
        self.trouble.into_iter().for_each(|why| tally.trouble(why));
        match self.summary.as_deref() {
            Some("Completed" | "Passed" | "Warning") => {}
            Some("Failed") if failed > 0 => {}
            Some(other) => tally.trouble(format!("the run ended as {}", escape(other.as_bytes()))),
            None => tally.trouble("the report has no summary".to_owned()),
        }
        let Some(counters) = self.counters else {
            tally.trouble("the report has no counters".to_owned());
            return;
        };
        tally.declare(counters);
        let seen = tally.seen();
        tally.compare("the report", counters, seen);
    }
}

/// A missing outcome is the format's way to write its default, which is a failure.
fn result(outcome: Option<&str>) -> CaseResult {
    match outcome {
        Some("Passed" | "Completed" | "Warning") => CaseResult::Passed,
        Some("NotExecuted" | "NotRunnable" | "Inconclusive" | "Pending") => CaseResult::Skipped,
        None | Some("Failed") => CaseResult::Failed,
        Some(_) => CaseResult::Errored,
    }
}

#[cfg(test)]
mod tests {
    use crate::floor::reports::{Format, Reading, Source, read_report};
    use crate::receipts::CaseResult;

    const REPORT: &str = "<?xml version='1.0'?><TestRun xmlns='http://x'><Results>\
        <UnitTestResult testId='1' testName='N.T.Adds' outcome='Passed'/>\
        <UnitTestResult testId='2' testName='Rows' outcome='Failed'><InnerResults>\
        <UnitTestResult testId='2' testName='Rows (1)' outcome='Passed'/>\
        <UnitTestResult testId='2' testName='Rows (2)'/></InnerResults></UnitTestResult>\
        <UnitTestResult testId='3' testName='Later' outcome='NotExecuted'/>\
        <UnitTestResult testId='4' testName='Hangs' outcome='Timeout'/></Results>\
        <TestDefinitions><UnitTest id='1' name='x'><TestMethod className='N.T' name='Adds'/></UnitTest></TestDefinitions>\
        <ResultSummary outcome='Failed'><Counters total='4' failed='1' timeout='1' notExecuted='1'/></ResultSummary></TestRun>";

    fn read(text: &str) -> Reading {
        read_report(Format::Trx, &[Source::only(text.as_bytes())], "/room")
    }

    #[test]
    fn outcomes_rows_and_classes_are_read() {
        let reading = read(REPORT);
        let found: Vec<(&str, &str, CaseResult)> =
            reading.cases.iter().map(|c| (c.suite.as_str(), c.name.as_str(), c.result)).collect();
        let expected = [
            ("", "Hangs", CaseResult::Errored),
            ("", "Later", CaseResult::Skipped),
            ("", "Rows (1)", CaseResult::Passed),
            ("", "Rows (2)", CaseResult::Failed),
            ("N.T", "Adds", CaseResult::Passed),
        ];
        assert_eq!(found, expected);
        assert!(reading.complete, "{reading:?}");
    }

    #[test]
    fn contradictions_and_damage_are_named() {
        for (text, word) in [
            (REPORT[..REPORT.len() - 10].to_owned(), "truncated"),
            (REPORT[..REPORT.find("<UnitTestResult testId='3'").unwrap()].to_owned(), "truncated"),
            (REPORT.replace("total='4'", "total='9'"), "declares 9"),
            (REPORT.replace("outcome='Failed'><Counters", "outcome='Aborted'><Counters"), "ended as Aborted"),
            (format!("<!DOCTYPE x>{REPORT}"), "document type"),
            ("<html/>".to_owned(), "no trx file"),
            (String::new(), "empty"),
        ] {
            let reading = read(&text);
            assert!(reading.distrusted && !reading.complete, "{text}");
            assert!(reading.trouble.iter().any(|t| t.contains(word)), "{word}: {:?}", reading.trouble);
        }
    }
}
