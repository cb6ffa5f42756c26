//! Reads the JSON of jest and vitest, which share one shape.

use super::Totals;
use super::tally::{Tally, is_overfull};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Report {
    num_total_tests: Option<u64>,
    num_failed_tests: Option<u64>,
    num_pending_tests: Option<u64>,
    num_todo_tests: Option<u64>,
    num_failed_test_suites: Option<u64>,
    num_runtime_error_test_suites: Option<u64>,
    success: Option<bool>,
    was_interrupted: bool,
    test_results: Option<Vec<File>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    name: Option<String>,
    status: Option<String>,
    #[serde(alias = "testResults")]
    assertion_results: Option<Vec<Assertion>>,
    test_exec_error: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Assertion {
    ancestor_titles: Option<Vec<String>>,
    title: Option<String>,
    full_name: Option<String>,
    status: Option<String>,
    invocations: Option<u64>,
    retry_reasons: Option<Vec<serde::de::IgnoredAny>>,
}

/// Reads the report. What a wrapper prints before it is passed over.
pub(super) fn read(bytes: &[u8], tally: &mut Tally) {
    let report = match parse(bytes) {
        Ok((report, rest)) => {
            if !rest.is_empty() {
                tally.remark("text follows the report".to_owned());
            }
            report
        }
        Err(why) => {
            tally.trouble(why);
            tally.executed_unknown();
            return;
        }
    };
    if report.was_interrupted {
        tally.trouble("the run was interrupted".to_owned());
    }
    let Some(files) = &report.test_results else {
        tally.trouble("the report has no test results".to_owned());
        tally.executed_unknown();
        return;
    };
    let mut broken_files = 0;
    for file in files {
        broken_files += u64::from(read_file(file, tally));
    }
    check(&report, broken_files, tally);
}

/// The first JSON object that is a report, and what follows it.
fn parse(bytes: &[u8]) -> Result<(Report, &[u8]), String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_overfull(bytes) {
        return Err("the report has too many values; run without coverage".to_owned());
    }
    let starts = std::iter::once(0).chain((1..bytes.len()).filter(|at| bytes[at - 1] == b'\n' && bytes[*at] == b'{'));
    let mut first = None;
    // A banner may hold a brace or two, not dozens.
    for start in starts.take(20) {
        let mut stream = serde_json::Deserializer::from_slice(&bytes[start..]).into_iter::<Report>();
        match stream.next() {
            Some(Ok(report)) if report.num_total_tests.is_some() || report.test_results.is_some() => {
                return Ok((report, bytes[start + stream.byte_offset()..].trim_ascii()));
            }
            Some(Err(why)) if bytes[start..].trim_ascii_start().first() == Some(&b'{') => {
                first = Some(why.to_string());
            }
            _ => {}
        }
    }
    Err(match first {
        Some(why) => format!("the report is not whole: {}", escape(why.as_bytes())),
        None => "the report is no JSON of jest or vitest".to_owned(),
    })
}

/// Reads one file's results; true if the file broke apart from its tests.
fn read_file(file: &File, tally: &mut Tally) -> bool {
    let name = file.name.as_deref().unwrap_or_default();
    let mut failing = false;
    let assertions = file.assertion_results.as_deref().unwrap_or_default();
    for assertion in assertions {
        let result = match assertion.status.as_deref() {
            Some("passed") => CaseResult::Passed,
            Some("failed") => CaseResult::Failed,
            Some("pending" | "skipped" | "todo" | "disabled") => CaseResult::Skipped,
            other => {
                let shown = escape(other.unwrap_or("(none)").as_bytes());
                tally.trouble(format!("a test has the unknown status {shown}"));
                CaseResult::Errored
            }
        };
        failing |= result >= CaseResult::Failed;
        let title = match (&assertion.ancestor_titles, &assertion.title) {
            (Some(groups), Some(title)) => {
                groups.iter().map(String::as_str).chain([title.as_str()]).collect::<Vec<_>>().join(" > ")
            }
            (_, title) => assertion.full_name.as_ref().or(title.as_ref()).cloned().unwrap_or_default(),
        };
        let retried = assertion.invocations.is_some_and(|n| n > 1)
            || assertion.retry_reasons.as_ref().is_some_and(|reasons| !reasons.is_empty());
        if retried && result == CaseResult::Passed {
            tally.flaky(name, &title);
        }
        tally.case(name, &title, Some(name), result);
    }
    let broken = match file.status.as_deref() {
        _ if file.test_exec_error.is_some() => true,
        Some("passed" | "skipped" | "pending" | "focused") => false,
        Some("failed") => !failing,
        other => {
            let shown = escape(other.unwrap_or("(none)").as_bytes());
            tally.trouble(format!("a file has the unknown status {shown}"));
            false
        }
    };
    if broken {
        tally.case(name, "(file)", Some(name), CaseResult::Errored);
    }
    broken
}

fn check(report: &Report, broken_files: u64, tally: &mut Tally) {
    let seen = tally.seen();
    let tests = seen.tests.map(|tests| tests.saturating_sub(broken_files));
    let failed = seen.failed.map(|failed| failed.saturating_sub(broken_files));
    let skipped = report.num_pending_tests.map(|pending| pending.saturating_add(report.num_todo_tests.unwrap_or(0)));
    let declared = Totals { tests: report.num_total_tests, failed: report.num_failed_tests, skipped };
    tally.declare(declared);
    tally.compare("the report", declared, Totals { tests, failed, skipped: None });
    let broken = report.num_runtime_error_test_suites.unwrap_or(0);
    if broken > broken_files {
        tally.trouble(format!("{broken} files broke and {broken_files} of them are listed"));
    }
    if report.num_failed_test_suites.is_some_and(|suites| suites > 0) && seen.failed == Some(0) {
        tally.trouble("files failed and no failure is listed".to_owned());
    }
    match report.success {
        Some(false) if seen.failed == Some(0) && seen.tests != Some(0) => {
            tally.trouble("the report says the run failed and lists no failure".to_owned());
        }
        Some(true) if seen.failed > Some(0) => {
            tally.trouble("the report says the run succeeded and lists failures".to_owned());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::floor::reports::{Format, Reading, Source, read_report};
    use crate::receipts::CaseResult;

    const REPORT: &str = r#"{"numTotalTests":4,"numPassedTests":2,"numFailedTests":1,"numPendingTests":1,
        "numTodoTests":0,"numFailedTestSuites":2,"numRuntimeErrorTestSuites":1,"success":false,"testResults":[
        {"name":"/room/a.test.js","status":"failed","assertionResults":[
          {"ancestorTitles":["outer"],"title":"x","fullName":"outer x","status":"passed","invocations":2},
          {"ancestorTitles":[],"title":"y","status":"failed","failureMessages":["no"]},
          {"ancestorTitles":[],"title":"w","status":"passed"},
          {"ancestorTitles":[],"title":"z","status":"pending"}]},
        {"name":"/room/b.test.js","status":"failed","message":"cannot find module","assertionResults":[]}]}"#;

    fn read(text: &str) -> Reading {
        read_report(Format::JestJson, &[Source::only(text.as_bytes())], "/room")
    }

    #[test]
    fn tests_and_broken_files_are_cases() {
        let reading = read(&format!("> toy@1 test\n> jest --json\n\n{REPORT}\n"));
        let found: Vec<(&str, &str, CaseResult)> =
            reading.cases.iter().map(|c| (c.suite.as_str(), c.name.as_str(), c.result)).collect();
        let expected = [
            ("a.test.js", "outer > x", CaseResult::Passed),
            ("a.test.js", "w", CaseResult::Passed),
            ("a.test.js", "y", CaseResult::Failed),
            ("a.test.js", "z", CaseResult::Skipped),
            ("b.test.js", "(file)", CaseResult::Errored),
        ];
        assert_eq!(found, expected);
        assert_eq!((reading.executed, reading.failed, reading.skipped), (Some(4), 2, 1));
        assert_eq!(reading.flaky, ["a.test.js::outer > x"]);
        assert!(reading.complete, "{reading:?}");
    }

    #[test]
    fn contradictions_and_damage_are_named() {
        for (text, word) in [
            (REPORT[..REPORT.len() - 2].to_owned(), "not whole"),
            (REPORT.replace("\"numTotalTests\":4", "\"numTotalTests\":9"), "declares 9 tests"),
            (REPORT.replace("\"success\":false", "\"success\":true"), "succeeded"),
            (REPORT.replace("\"success\":false", "\"success\":false,\"success\":true"), "not whole"),
            (REPORT.replace("\"pending\"", "\"dreaming\""), "unknown status"),
            (REPORT.replace("\"success\":false", "\"success\":false,\"wasInterrupted\":true"), "interrupted"),
            ("[]".to_owned(), "no JSON of jest"),
            ("{\"numTotalTests\":0}".to_owned(), "no test results"),
        ] {
            let reading = read(&text);
            assert!(reading.distrusted, "{text}");
            assert!(reading.trouble.iter().any(|t| t.contains(word)), "{word}: {:?}", reading.trouble);
        }
    }
}
