//! What a runner says of each failure: read from its report where it has one, else from its output.
//!
//! Names and results are the readers' business; here only the words around a failure are found again.

use crate::floor::reports::node_name;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Words of one failure that are kept.
const LONGEST: usize = 16 << 10;
/// Failures whose words are kept.
const MOST: usize = 20_000;

/// The words of failures, by the test's own name.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    by_name: BTreeMap<String, Vec<String>>,
}

impl Failures {
    /// Of a JUnit report; a damaged one gives what stands before the damage.
    pub(super) fn of_junit(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut failures = Self::default();
        let mut reader = Reader::from_str(&text);
        reader.config_mut().allow_dangling_amp = true;
        reader.config_mut().check_end_names = false;
        let (mut name, mut words) = (String::new(), None::<String>);
        loop {
            match reader.read_event() {
                Ok(Event::Start(tag)) if tag.local_name().as_ref() == "testcase" => name = value(&tag, "name"),
                Ok(Event::Start(tag)) if is_failure(&tag) => words = Some(value(&tag, "message") + "\n"),
                Ok(Event::Empty(tag)) if is_failure(&tag) => failures.add(&name, value(&tag, "message")),
                Ok(Event::End(tag)) if is_failure_name(tag.local_name().as_ref()) => {
                    if let Some(words) = words.take() {
                        failures.add(&name, words);
                    }
                }
                Ok(Event::Text(text)) => push(&mut words, &text),
                Ok(Event::CData(text)) => push(&mut words, &text),
                Ok(Event::GeneralRef(name)) => push(&mut words, entity(&name)),
                Ok(Event::Eof) | Err(_) => return failures,
                Ok(_) => {}
            }
        }
    }

    /// Of libtest's text: `---- name stdout ----`, up to the next one.
    pub(super) fn of_libtest(output: &str) -> Self {
        let mut failures = Self::default();
        let (mut name, mut words) = (String::new(), None::<String>);
        for line in output.lines() {
            let head = line
                .strip_prefix("---- ")
                .and_then(|rest| rest.strip_suffix(" stdout ----").or_else(|| rest.strip_suffix(" stderr ----")));
            let ends = head.is_some() || line == "failures:" || line.starts_with("test result: ");
            if let Some(words) = words.take_if(|_| ends) {
                failures.add(&name, words);
            }
            match head {
                Some(head) => {
                    head.strip_suffix(" - should panic").unwrap_or(head).clone_into(&mut name);
                    words = Some(String::new());
                }
                None => push(&mut words, &format!("{line}\n")),
            }
        }
        if let Some(words) = words {
            failures.add(&name, words);
        }
        failures
    }

    /// Of the JSON of jest and vitest; nothing of a damaged one.
    pub(super) fn of_jest(bytes: &[u8]) -> Self {
        let mut failures = Self::default();
        let start = bytes.iter().position(|byte| *byte == b'{').unwrap_or(bytes.len());
        let Ok(report) = serde_json::from_slice::<JestReport>(&bytes[start..]) else { return failures };
        for test in report.test_results.into_iter().flat_map(|file| file.assertion_results) {
            let name = test.ancestor_titles.iter().chain([&test.title]).map(String::as_str).collect::<Vec<_>>();
            if !test.failure_messages.is_empty() {
                failures.add(&name.join(" > "), test.failure_messages.join("\n"));
            }
        }
        failures
    }

    /// Of `go test -json`: what each test printed.
    pub(super) fn of_go(output: &str) -> Self {
        let mut failures = Self::default();
        let events = output.lines().filter_map(|line| serde_json::from_str::<GoEvent>(line).ok());
        for event in events.filter(|event| event.action == "output" && !event.test.is_empty()) {
            match failures.by_name.get_mut(&event.test).and_then(|words| words.last_mut()) {
                Some(words) if words.len() < LONGEST => words.push_str(&event.output),
                Some(_) => {}
                None => failures.add(&event.test, event.output),
            }
        }
        failures
    }

    /// The words about a test of this name: the report's own, whatever groups it stands in.
    pub(super) fn about(&self, name: &str) -> Option<String> {
        let name = node_name(name);
        let last = name.rsplit(" > ").next().unwrap_or(&name);
        let words = self.by_name.get(&name).or_else(|| self.by_name.get(last))?;
        Some(words.join("\n"))
    }

    fn add(&mut self, name: &str, mut words: String) {
        if self.by_name.len() < MOST {
            let mut end = words.len().min(LONGEST);
            while !words.is_char_boundary(end) {
                end -= 1;
            }
            words.truncate(end);
            self.by_name.entry(node_name(name)).or_default().push(words);
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JestReport {
    test_results: Vec<JestFile>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JestFile {
    assertion_results: Vec<JestTest>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct JestTest {
    ancestor_titles: Vec<String>,
    title: String,
    failure_messages: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct GoEvent {
    action: String,
    test: String,
    output: String,
}

fn is_failure(tag: &BytesStart<'_>) -> bool {
    is_failure_name(tag.local_name().as_ref())
}

fn is_failure_name(name: &str) -> bool {
    matches!(name, "failure" | "error")
}

fn push(words: &mut Option<String>, text: &str) {
    if let Some(words) = words.as_mut().filter(|words| words.len() < LONGEST) {
        words.push_str(text);
    }
}

fn entity(name: &str) -> &'static str {
    match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" | "#34" => "\"",
        "apos" | "#39" => "'",
        "#10" | "#xA" | "#xa" => "\n",
        _ => "",
    }
}

/// An attribute with its entities resolved; empty if it is not there.
fn value(tag: &BytesStart<'_>, name: &str) -> String {
    let found =
        tag.attributes().with_checks(false).flatten().find(|attribute| attribute.key.local_name().as_ref() == name);
    let raw = found.map(|attribute| attribute.value.into_owned()).unwrap_or_default();
    let mut parts = raw.split('&');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(';') {
            Some((name, rest)) => {
                text.push_str(entity(name));
                text.push_str(rest);
            }
            None => text.push_str(part),
        }
    }
    text
}

/// What a runner printed about a whole file that it could not load: node prints it before the line that names the file
/// as failed. Nothing if the output does not speak of it.
pub(super) fn about_file(output: &str, file: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().collect();
    let verdict = |line: &str| ["✖ ", "✔ ", "not ok ", "ok "].iter().any(|mark| line.trim_start().starts_with(mark));
    let speaks = |line: &str| line.contains(&format!("/{file}")) || line.contains(&format!(" {file}"));
    // A file that failed as a whole has a verdict of its own; the last one repeats in the summary without words.
    let at = lines.iter().position(|line| verdict(line) && speaks(line));
    let block = if let Some(at) = at {
        let start = lines[..at].iter().rposition(|line| verdict(line)).map_or(0, |before| before + 1);
        let mut block = lines[start..at].join("\n");
        if !block.contains("Error") {
            // TAP puts its words behind the verdict.
            let end = lines[at + 1..].iter().position(|line| verdict(line)).map_or(lines.len(), |next| at + 1 + next);
            block.push_str(&lines[at..end.min(at + 60)].join("\n"));
        }
        block
    } else {
        let at = lines.iter().position(|line| speaks(line))?;
        lines[at.saturating_sub(3)..(at + 12).min(lines.len())].join("\n")
    };
    let mut end = block.len().min(LONGEST);
    while !block.is_char_boundary(end) {
        end -= 1;
    }
    Some(block[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_junit_report_gives_the_words_of_each_failure() {
        let xml = "<testsuites><testcase name=\"a &gt; b\"><failure message=\"2 == 3&#10;x\">cause: &lt;A&gt;<![CDATA[ raw]]></failure></testcase>\
                   <testcase name=\"ok\"/><testcase name=\"t\"><error message=\"boom\"/></testcase>\
                   <testcase name=\"cut\"><failure message=\"m\">half";
        let failures = Failures::of_junit(xml.as_bytes());
        assert_eq!(failures.about("a > b").unwrap(), "2 == 3\nx\ncause: <A> raw");
        assert_eq!(failures.about("group > t").unwrap(), "boom");
        assert_eq!((failures.about("ok"), failures.about("cut")), (None, None));
    }

    #[test]
    fn json_reports_give_the_words_of_each_failure() {
        let jest = r#"{"success":false,"testResults":[{"name":"/r/a.test.js","assertionResults":[
            {"ancestorTitles":["outer"],"title":"bad","status":"failed","failureMessages":["Error: expect(received)"]},
            {"ancestorTitles":[],"title":"good","status":"passed","failureMessages":[]}]}]}"#;
        let failures = Failures::of_jest(jest.as_bytes());
        assert_eq!(failures.about("outer > bad").unwrap(), "Error: expect(received)");
        assert_eq!((failures.about("good"), Failures::of_jest(b"{").about("x")), (None, None));
        let go = "{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":\"a_test.go:3: got 1,\"}\nnoise\n\
                  {\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"TestA\",\"Output\":\" want 2\\n\"}\n";
        assert_eq!(Failures::of_go(go).about("TestA").unwrap(), "a_test.go:3: got 1, want 2\n");
    }

    #[test]
    fn libtest_prints_each_failure_under_its_name() {
        let text = "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\n\nthread 'a' panicked at x\n\n---- m::b - should panic stdout ----\n\
                    note: test did not panic as expected\n\nfailures:\n    a\n    m::b\n\ntest result: FAILED. 0 passed; 2 failed\n";
        let failures = Failures::of_libtest(text);
        assert!(failures.about("a").unwrap().contains("panicked at x"));
        assert!(failures.about("m::b").unwrap().contains("did not panic"));
        assert!(!failures.about("m::b").unwrap().contains("    a\n"));
    }

    #[test]
    fn node_prints_what_kept_a_file_from_loading_before_its_verdict() {
        let text = "✔ fine (1ms)\nfile:///r/y.test.mjs:2\nimport { absent } from './m.mjs';\nSyntaxError: no export\n\
                    Node.js v20\n✖ /r/y.test.mjs (277ms)\n  'test failed'\n\nError: other\n✖ /r/z.test.mjs (3ms)\n";
        let y = about_file(text, "y.test.mjs").unwrap();
        assert!(y.contains("no export") && !y.contains("other"), "{y}");
        assert!(about_file(text, "z.test.mjs").unwrap().contains("other"));
        assert_eq!(about_file(text, "q.test.mjs"), None);
        let tap = "not ok 1 - /r/a.test.mjs\n  ---\n  error: 'Cannot find module'\n  ...\nnot ok 2 - /r/b.test.mjs\n";
        assert!(about_file(tap, "a.test.mjs").unwrap().contains("Cannot find module"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_give_some_words(text in "(?s)[<>&;a-z\"= \n/-]{0,200}") {
            Failures::of_junit(text.as_bytes());
            Failures::of_libtest(&text);
            about_file(&text, "a");
        }
    }
}
