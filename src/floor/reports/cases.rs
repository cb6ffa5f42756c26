//! The case log's cases about reports, with inputs of our own.

use super::{Format, Reading, Source, read_report};
use crate::host::path::RepoPath;
use crate::receipts::CaseResult::{self, Errored, Failed, Passed, Skipped};

fn read(format: Format, text: impl AsRef<[u8]>) -> Reading {
    read_report(format, &[Source::only(text.as_ref())], "/room")
}

fn states(reading: &Reading) -> Vec<(String, CaseResult)> {
    reading.cases.iter().map(|case| (format!("{}/{}", case.suite, case.name), case.result)).collect()
}

fn owned(expected: &[(&str, CaseResult)]) -> Vec<(String, CaseResult)> {
    expected.iter().map(|(name, result)| ((*name).to_owned(), *result)).collect()
}

#[test]
fn run_zero_tests() {
    let go = |action: &str| format!("{{\"Action\":\"{action}\",\"Package\":\"p\"}}\n");
    let skipped = "<testsuite tests='2'><testcase name='a'><skipped/></testcase>\
        <testcase name='b' status='disabled'/></testsuite>";
    for (format, text) in [
        (Format::Junit, "<testsuites tests='0'/>".to_owned()),
        (Format::Junit, skipped.to_owned()),
        (Format::Tap, "1..0 # SKIP nothing matches\n".to_owned()),
        (Format::Tap, "1..2\nok 1 - a # SKIP\nok 2 - b # TODO\n".to_owned()),
        (Format::GoTestJson, go("pass")),
        (Format::GoTestJson, go("skip")),
        (Format::JestJson, "{\"numTotalTests\":0,\"success\":false,\"testResults\":[]}".to_owned()),
        (Format::PytestText, "=== no tests ran in 0.01s ===\n".to_owned()),
        (
            Format::Trx,
            "<TestRun><ResultSummary outcome='Completed'><Counters total='0'/></ResultSummary></TestRun>".to_owned(),
        ),
    ] {
        let reading = read(format, &text);
        assert_eq!((reading.executed, reading.failed), (Some(0), 0), "{text}");
        assert!(reading.trouble.is_empty(), "{text}: {:?}", reading.trouble);
    }
    // Node counts a file without tests as a passing test.
    let file = "TAP version 13\n# Subtest: /room/t/a.test.mjs\nok 1 - /room/t/a.test.mjs\n  ---\n  duration_ms: 1\n  ...\n\
        1..1\n# tests 1\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 2\n";
    let reading = read(Format::Tap, file);
    assert_eq!((reading.executed, reading.skipped, reading.complete), (Some(0), 1, true), "{reading:?}");
    // A total without its cases is no result at all.
    let reading = read(Format::Junit, "<testsuite tests='6' failures='1' skipped='2'/>");
    assert!(reading.distrusted && reading.trouble.iter().any(|t| t.contains("declares 1 failures")), "{reading:?}");
}

#[test]
fn run_invalid_xml() {
    let case = |text: &[u8]| {
        [b"<testsuite><testcase name='a\x1b'><failure>", text, b"</failure></testcase></testsuite>"].concat()
    };
    for (text, is_readable) in [
        (&b"\x1b[31m"[..], true),
        (b"&#27;[0m", true),
        (b"\0", true),
        (b"a & b", true),
        (b"<![CDATA[ ]] > ]]>", true),
        (b"<![CDATA[ a ]]> ]]&gt;", true),
        (b"\xff", false),
        (b"\xed\xa0\x80", false),
    ] {
        let reading = read(Format::Junit, case(text));
        assert_eq!(reading.failed, 1, "{text:?} {reading:?}");
        assert_eq!(reading.complete, is_readable, "{text:?} {reading:?}");
        assert_eq!(reading.cases[0].name, "a\\x1b");
    }
    let long = case(&b"x".repeat(4 << 20));
    assert_eq!(read(Format::Junit, &long).failed, 1);
    let wide = |order: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        format!("{mark}<testsuite><testcase name='ü'><error/></testcase></testsuite>")
            .encode_utf16()
            .flat_map(order)
            .collect()
    };
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><testsuite><testcase name='\xfc'><failure/></testcase></testsuite>";
    for bytes in [
        wide(u16::to_le_bytes, "\u{feff}"),
        wide(u16::to_be_bytes, "\u{feff}"),
        wide(u16::to_le_bytes, ""),
        latin.to_vec(),
    ] {
        let reading = read(Format::Junit, &bytes);
        assert_eq!((reading.failed, reading.complete, reading.cases[0].name.as_str()), (1, true, "ü"), "{reading:?}");
    }
    for text in
        ["", " \n", "<html/>", "not xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><testsuite/>", "<testsuite/><testsuite/>"]
    {
        assert!(read(Format::Junit, text).distrusted, "{text}");
    }
}

#[test]
fn run_nested_suites() {
    let nested = "<testsuites><testsuite name='a' tests='1' failures='0'><testsuite name='b' failures='1'>\
        <testcase name='x' classname='m'/><testcase name='x' classname='n'><error/></testcase></testsuite>\
        <testcase name='y'><skipped/></testcase><testcase name='z'><failure/></testcase></testsuite>\
        <testsuite name='a'><testcase name='w'/></testsuite></testsuites>";
    let reading = read(Format::Junit, nested);
    let expected = [("a/w", Passed), ("a/y", Skipped), ("a/z", Failed), ("m/x", Passed), ("n/x", Errored)];
    assert_eq!(states(&reading), owned(&expected));
    assert_eq!((reading.failed, reading.complete), (2, true), "{reading:?}");
    assert!(reading.remarks.iter().any(|r| r == "the suite a declares 1 tests and lists 4"), "{reading:?}");
    let bare = "<testsuites><testsuite><testcase/><testcase><skipped/></testcase><testcase><failure/></testcase>\
        <testcase><error/></testcase></testsuite></testsuites>";
    let results: Vec<CaseResult> = read(Format::Junit, bare).cases.iter().map(|case| case.result).collect();
    assert_eq!(results, [Passed, Skipped, Failed, Errored]);
    let root = "<testsuite tests='2'><testsuite><testcase name='a'/></testsuite><testcase name='b'/></testsuite>";
    assert_eq!(read(Format::Junit, root).executed, Some(2));
    let short = "<testsuites tests='57'><testsuite tests='2'><testcase name='a'/></testsuite></testsuites>";
    let reading = read(Format::Junit, short);
    assert_eq!(reading.declared.and_then(|declared| declared.tests), Some(57));
    assert_eq!(reading.trouble, ["a suite declares 2 tests and lists 1", "the report declares 57 tests and lists 1"]);
    // Output that was not escaped cannot add cases.
    let forged =
        "<testsuite><testcase name='a'><system-out><testcase name='forged'/></system-out></testcase></testsuite>";
    let reading = read(Format::Junit, forged);
    assert!(reading.distrusted && reading.cases.len() == 1, "{reading:?}");
    let outside = "<testsuite name='s'><error message='set-up'/><testcase name='a'/></testsuite>";
    assert_eq!(states(&read(Format::Junit, outside)), owned(&[("s/(outside any test)", Errored), ("s/a", Passed)]));
}

#[test]
fn run_same_name() {
    let two = "<testsuite tests='5'><testcase classname='Foo' name='get'><failure/></testcase>\
        <testcase classname='Bar' name='get'/><testcase classname='Foo' name='get'/>\
        <testcase classname='Foo' name='p'/><testcase classname='Foo' name='p'/></testsuite>";
    let reading = read(Format::Junit, two);
    let expected =
        [("Bar/get", Passed), ("Foo/get", Passed), ("Foo/get", Failed), ("Foo/p", Passed), ("Foo/p", Passed)];
    assert_eq!(states(&reading), owned(&expected));
    assert_eq!((reading.executed, reading.failed), (Some(5), 1));
    let several = "<testsuite failures='3'><testcase name='a'><skipped/><failure/><error/></testcase>\
        <testcase name='b'><skipped/><failure/></testcase><testcase name='c'><skipped/></testcase>\
        <testcase name='d'/></testsuite>";
    let reading = read(Format::Junit, several);
    assert_eq!((reading.executed, reading.failed, reading.skipped), (Some(3), 2, 1));
    assert!(reading.complete, "{reading:?}");
    let files = [("core/a.xml", "<failure/>"), ("web/a.xml", "")].map(|(path, inside)| {
        (path, format!("<testsuite><testcase classname='T' name='a'>{inside}</testcase></testsuite>"))
    });
    let sources = files.each_ref().map(|(path, text)| Source { path: RepoPath::from(*path), bytes: text.as_bytes() });
    let reading = read_report(Format::Junit, &sources, "/room");
    assert_eq!(states(&reading), owned(&[("core/T/a", Failed), ("web/T/a", Passed)]));
    assert!(
        read(Format::Tap, "1..2\nok 1 - a\nnot ok 1 - a\n").trouble.iter().any(|t| t.contains("two test points 1"))
    );
}

/// What follows a good package; the cases; whether the reading is complete.
type GoRow = (String, &'static [(&'static str, CaseResult)], bool);

#[test]
fn run_go_json() {
    let event = |action: &str, package: &str, test: &str| {
        let test = if test.is_empty() { String::new() } else { format!(",\"Test\":\"{test}\"") };
        format!("{{\"Time\":\"t\",\"Action\":\"{action}\",\"Package\":\"{package}\"{test}}}\n")
    };
    let said = |package: &str, text: &str| {
        format!("{{\"Time\":\"t\",\"Action\":\"output\",\"Package\":\"{package}\",\"Output\":\"{text}\"}}\n")
    };
    let good =
        [event("start", "ok", ""), event("run", "ok", "TestA"), event("pass", "ok", "TestA"), event("pass", "ok", "")]
            .concat();
    let open = [event("start", "p", ""), event("run", "p", "TestB")].concat();
    let built = "{\"ImportPath\":\"p [p.test]\",\"Action\":\"build-output\",\"Output\":\"x.go:1: no\\n\"}\n\
        {\"ImportPath\":\"p [p.test]\",\"Action\":\"build-fail\"}\n{\"Action\":\"start\",\"Package\":\"p\"}\n\
        {\"Action\":\"fail\",\"Package\":\"p\",\"FailedBuild\":\"p [p.test]\"}\n";
    let all: [GoRow; 9] = [
        (built.to_owned(), &[("ok/TestA", Passed), ("p/(build)", Errored)], true),
        ("# p\nx.go:1: no\nFAIL\tp [build failed]\n".to_owned(), &[("ok/TestA", Passed), ("p/(build)", Errored)], true),
        (
            [said("p", "FAIL\\tp [setup failed]\\n"), event("fail", "p", "")].concat(),
            &[("ok/TestA", Passed), ("p/(build)", Errored)],
            true,
        ),
        // A crash: neither the test nor the package ends.
        (open.clone(), &[("ok/TestA", Passed), ("p/(package)", Errored), ("p/TestB", Errored)], false),
        ([open.clone(), event("fail", "p", "")].concat(), &[("ok/TestA", Passed), ("p/TestB", Errored)], true),
        // A race found after the tests.
        (
            [said("p", "FAIL\\tp\\t1.0s\\n"), event("pass", "p", "")].concat(),
            &[("ok/TestA", Passed), ("p/(package)", Errored)],
            false,
        ),
        // Output without a newline stands before the event.
        (
            [open.clone(), "printed".to_owned(), event("fail", "p", "TestB"), event("fail", "p", "")].concat(),
            &[("ok/TestA", Passed), ("p/TestB", Failed)],
            true,
        ),
        // Two events on one line, and text behind them.
        (
            [open, event("fail", "p", "TestB").trim_end().to_owned(), event("fail", "p", "").replace('\n', " x\n")]
                .concat(),
            &[("ok/TestA", Passed), ("p/TestB", Failed)],
            true,
        ),
        ([event("dream", "ok", "TestA"), "{\"a\":1}\n".to_owned()].concat(), &[("ok/TestA", Passed)], true),
    ];
    for (text, expected, complete) in all {
        let reading = read(Format::GoTestJson, format!("go: downloading x\n{good}{text}"));
        assert_eq!(states(&reading), owned(expected), "{text}");
        assert_eq!(reading.complete, complete, "{text} {reading:?}");
    }
    let reading = read(Format::GoTestJson, &good[..good.len() - 20]);
    assert!(reading.distrusted && reading.failed == 1, "{reading:?}");
    assert!(read(Format::GoTestJson, "FAIL\n").trouble.iter().any(|t| t.contains("no event")));
}

/// The half that a reader can show: what is not a report of this run is never a green one. That its file is new is shown
/// where the report is fetched.
#[test]
fn run_stale_report() {
    for format in Format::ALL {
        for text in ["", "\n", "PASS", "ok", "{}", "null", "<a/>"] {
            let reading = read(format, text);
            assert!(!reading.complete && reading.distrusted, "{format:?} {text:?}: {reading:?}");
        }
    }
}

#[test]
fn run_error_vs_failure() {
    let collection = "<testsuites tests='0' failures='0' errors='1'><testsuite tests='0' errors='1'>\
        <testcase classname='' name='test_a.py'><error message='collection failure'/></testcase></testsuite></testsuites>";
    let reading = read(Format::Junit, collection);
    assert_eq!((reading.failed, states(&reading)), (1, owned(&[("/test_a.py", Errored)])));
    assert!(reading.complete && reading.remarks.iter().any(|r| r.contains("declares 0 tests and lists 1")));
    let mixed = "<testsuite tests='4' failures='1' errors='1' skipped='1'><testcase name='a'/>\
        <testcase name='b'><failure/></testcase><testcase name='c'><error/></testcase>\
        <testcase name='d'><skipped/></testcase></testsuite>";
    let reading = read(Format::Junit, mixed);
    let declared = reading.declared.unwrap();
    assert_eq!((declared.tests, declared.failed, declared.skipped), (Some(4), Some(2), Some(1)));
    assert_eq!((reading.executed, reading.failed, reading.skipped), (Some(3), 2, 1));
    let reruns = "<testsuite tests='3' failures='1'><testcase name='a'><flakyFailure/></testcase>\
        <testcase name='b'><failure/><rerunFailure/></testcase><testcase name='c'><rerunFailure/></testcase></testsuite>";
    let reading = read(Format::Junit, reruns);
    assert_eq!(states(&reading), owned(&[("/a", Passed), ("/b", Failed), ("/c", Failed)]));
    assert_eq!(reading.flaky, ["a"]);
    let short = "\u{feff}<testsuites tests='173' failures='0'>\r\n<testsuite tests='1'><testcase name='a'/>\
        </testsuite></testsuites>\r\n";
    assert!(read(Format::Junit, short).distrusted);
}

#[test]
fn run_sarif() {
    let log = |runs: &str| format!("{{\"version\":\"2.1.0\",\"runs\":{runs}}}");
    let run = |inside: &str| log(&format!("[{{\"tool\":{{\"driver\":{{\"name\":\"lint\"}}}}{inside}}}]"));
    for (inside, failed, skipped) in [
        ("", 1, 0),
        (",\"suppressions\":[]", 1, 0),
        (",\"suppressions\":[{\"kind\":\"inSource\"}]", 0, 1),
        (",\"suppressions\":[{\"status\":\"accepted\"},{\"status\":\"rejected\"}]", 0, 1),
        (",\"suppressions\":[{\"status\":\"rejected\"}]", 1, 0),
        (",\"suppressions\":[{\"status\":\"underReview\"}]", 1, 0),
        (",\"kind\":\"pass\"", 0, 1),
        (",\"kind\":\"review\"", 1, 0),
        (",\"baselineState\":\"absent\"", 0, 1),
        (",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"a.c\"}}}]", 1, 0),
        (",\"locations\":[{}]", 1, 0),
    ] {
        let reading = read(Format::Sarif, run(&format!(",\"results\":[{{\"ruleId\":\"R\"{inside}}}]")));
        assert_eq!(
            (reading.failed, reading.skipped, reading.complete),
            (failed, skipped, true),
            "{inside} {reading:?}"
        );
    }
    let clean = read(Format::Sarif, run(",\"results\":[]"));
    assert_eq!((clean.executed, clean.failed, clean.complete), (Some(1), 0, true));
    let note = |level: &str| format!("[{{\"level\":\"{level}\",\"message\":{{\"text\":\"no such rules\"}}}}]");
    let told = |member: &str, level: &str| {
        run(&format!(",\"results\":[],\"invocations\":[{{\"executionSuccessful\":true,\"{member}\":{}}}]", note(level)))
    };
    assert!(read(Format::Sarif, told("toolConfigurationNotifications", "note")).complete);
    for (text, word) in [
        (run(""), "no results"),
        (log("[]"), "no runs"),
        (log("null"), "no runs"),
        (run(",\"results\":[],\"invocations\":[{\"executionSuccessful\":false}]"), "to its end"),
        (told("toolConfigurationNotifications", "error"), "no such rules"),
        (told("toolExecutionNotifications", "error"), "no such rules"),
        (run(",\"results\":[]").replace("2.1.0", "1.0.0"), "version 1.0.0"),
        (run(",\"results\":[]").replace("}]}", "}]"), "no whole"),
        (run(",\"results\":[{\"suppressions\":[{\"statuss\":\"rejected\"}]}]"), "no whole"),
    ] {
        let reading = read(Format::Sarif, &text);
        assert!(reading.distrusted, "{text}");
        assert!(reading.trouble.iter().any(|t| t.contains(word)), "{word}: {:?}", reading.trouble);
    }
}

#[test]
fn tap_subtests_plans_and_directives_are_read() {
    let text = "TAP version 14\n1..3\n# Subtest: outer\n    # Subtest: inner\n        ok 1 - leaf\n        not ok 2 - bad\n          \
        ---\n          not ok 9 - in yaml\n          ...\n        1..2\n    not ok 1 - inner\n    1..1\nnot ok 1 - outer\n\
        ok 2 - braces {\n    1..2\n    ok 1 - a\n    not ok 2 - b # TODO later\n}\nnot ok 3 - alone \\# 1\n";
    let reading = read(Format::Tap, text);
    let expected = [
        ("/alone # 1", Failed),
        ("/braces > a", Passed),
        ("/braces > b", Skipped),
        ("/outer > inner > bad", Failed),
        ("/outer > inner > leaf", Passed),
    ];
    assert_eq!(states(&reading), owned(&expected));
    assert!(reading.complete, "{reading:?}");
    for (text, word, failed) in [
        ("1..3\nok 1\nok 2\n", "plans 3 test points and has 2", 0),
        ("1..1\nok 1\nnot ok 2\n", "plans 1 test points and has 2", 1),
        ("ok 1\n", "no plan", 0),
        ("1..1\n1..1\nok 1\n", "two plans", 0),
        ("1..2\nok 1\nBail out! disk full\n", "bailed out: disk full", 1),
        ("1..1\n    ok 1 - a\n    1..2\nok 1 - b\n", "a subtest plans 2", 0),
        ("1..1\nok 1 - b\n    1..1\n    not ok 1 - a\n", "no result", 1),
        ("1..1\nok 1\n  ---\n  a: b\n", "YAML", 0),
        ("1..1\nok 3\n", "numbers one 3", 0),
        ("TAP version 99\n1..1\nok 1\n", "version 99", 0),
        ("hello\n", "neither plan nor", 0),
    ] {
        let reading = read(Format::Tap, text);
        assert!(reading.trouble.iter().any(|t| t.contains(word)), "{text}: {:?}", reading.trouble);
        assert_eq!(reading.failed, failed, "{text}");
    }
    let alone = read(Format::Tap, "1..1\n    ok 1 - a\n    1..1\nnot ok 1 - hooks\n");
    assert_eq!(states(&alone), owned(&[("/hooks", Errored), ("/hooks > a", Passed)]));
}
