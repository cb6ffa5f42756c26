//! What holds for every reader: no panic, no loss of a failure in silence, no growth without bound.

use super::{Format, LARGEST_REPORT, Reading, Source, read_report};
use proptest::prelude::*;

/// One whole report a format, with one failure at least and whatever totals the format has.
const WHOLE: [(Format, &str); 13] = [
    (
        Format::Junit,
        "<testsuites tests='3' failures='1'><testsuite name='s' tests='3' failures='1'><testcase name='a'/>\
         <testcase name='b'><failure>x</failure></testcase><testcase name='c'><skipped/></testcase></testsuite></testsuites>",
    ),
    (
        Format::NodeJunit,
        "<testsuites><testsuite name='o' failures='1'><testcase name='a'/><testcase name='b'><failure/></testcase>\
         </testsuite><!-- fail 1 --></testsuites>",
    ),
    (
        Format::Surefire,
        "<testsuite name='s' tests='2' errors='1' failures='0'><testcase classname='s' name='a'/>\
         <testcase classname='s' name='b'><error/></testcase></testsuite>",
    ),
    (Format::Tap, "TAP version 14\n1..3\nok 1 - a\n    not ok 1 - b\n    1..1\nnot ok 2 - c\nok 3 - d # SKIP\n"),
    (
        Format::LibtestText,
        "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; \
         0 measured; 0 filtered out; finished in 0.00s\n",
    ),
    (
        Format::NextestText,
        "        PASS [   0.004s] (1/2) p::t a\n        FAIL [   0.004s] (2/2) p::t b\n------------\n     \
         Summary [   0.023s] 2 tests run: 1 passed, 1 failed, 3 skipped\n        FAIL [   0.004s] (2/2) p::t b\n",
    ),
    (
        Format::GoTestJson,
        "{\"Action\":\"start\",\"Package\":\"p\"}\n{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"A\"}\n\
         {\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"A\"}\n{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"B\"}\n\
         {\"Action\":\"fail\",\"Package\":\"p\",\"Test\":\"B\"}\n{\"Action\":\"fail\",\"Package\":\"p\"}\n",
    ),
    (
        Format::JestJson,
        "{\"numTotalTests\":2,\"numFailedTests\":1,\"success\":false,\"testResults\":[{\"name\":\"a\",\
         \"status\":\"failed\",\"assertionResults\":[{\"title\":\"x\",\"status\":\"passed\"},{\"title\":\"y\",\
         \"status\":\"failed\"}]}]}",
    ),
    (
        Format::VitestJson,
        "{\"numTotalTests\":1,\"numFailedTests\":1,\"success\":false,\"testResults\":[{\"name\":\"a\",\
         \"status\":\"failed\",\"assertionResults\":[{\"title\":\"y\",\"status\":\"failed\"}]}]}",
    ),
    (Format::PytestText, "a.py::x PASSED [ 50%]\na.py::y FAILED [100%]\n=== 1 failed, 1 passed in 0.12s ===\n"),
    (
        Format::NodeSpec,
        "✖ a\nℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 1\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ duration_ms 1.5\n",
    ),
    (
        Format::Trx,
        "<TestRun><Results><UnitTestResult testId='1' testName='a' outcome='Passed'/><UnitTestResult testId='2' \
         testName='b' outcome='Failed'/></Results><ResultSummary outcome='Failed'><Counters total='2' failed='1'/>\
         </ResultSummary></TestRun>",
    ),
    (
        Format::Sarif,
        "{\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"t\"}},\"results\":[{\"ruleId\":\"R\"},\
         {\"ruleId\":\"S\",\"suppressions\":[{\"kind\":\"external\",\"status\":\"rejected\"}]}]}]}",
    ),
];

fn read(format: Format, bytes: &[u8]) -> Reading {
    let path = crate::host::path::RepoPath::from("TEST-a.xml");
    read_report(format, &[Source { path, bytes }], "/room")
}

/// A reading without trouble may be believed, so it must not know of fewer failures than the whole report.
fn assert_not_greener(format: Format, whole: &Reading, bytes: &[u8]) {
    let reading = read(format, bytes);
    assert!(
        !reading.trouble.is_empty() || reading.failed >= whole.failed,
        "{format:?} lost a failure in silence: {} {reading:?}",
        String::from_utf8_lossy(bytes)
    );
    assert!(reading.trouble.is_empty() || !reading.complete);
}

#[test]
fn every_format_has_a_whole_report_here_and_it_is_readable() {
    for (format, text) in WHOLE {
        let reading = read(format, text.as_bytes());
        assert!(reading.trouble.is_empty() && reading.failed > 0, "{reading:?}");
        assert_eq!(reading.complete, format != Format::NodeSpec, "{reading:?}");
        assert_eq!(reading.format, format.name());
    }
    let formats: std::collections::BTreeSet<Format> = WHOLE.iter().map(|(format, _)| *format).collect();
    assert_eq!(formats.len(), Format::ALL.len());
}

#[test]
fn a_truncated_report_never_loses_a_failure_in_silence() {
    for (format, text) in WHOLE {
        let whole = read(format, text.as_bytes());
        for end in 0..text.len() {
            assert_not_greener(format, &whole, &text.as_bytes()[..end]);
        }
    }
}

#[test]
fn a_lost_line_or_byte_never_loses_a_failure_in_silence() {
    for (format, text) in WHOLE {
        let whole = read(format, text.as_bytes());
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = b'X';
            assert_not_greener(format, &whole, &bytes);
        }
        for at in 0..text.lines().count() {
            // Without its failure a package of go is another package's story: its own end still tells.
            let kept: Vec<&str> = text.lines().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| line).collect();
            assert_not_greener(format, &whole, kept.join("\n").as_bytes());
        }
    }
}

#[test]
fn noise_is_bounded() {
    let huge = vec![b'a'; usize::try_from(LARGEST_REPORT).unwrap() + (36 << 20)];
    for (format, text) in WHOLE {
        let reading = read(format, &huge);
        assert!(reading.distrusted && reading.trouble[0].contains("are not read"), "{format:?}");
        let noise: Vec<u8> = text.bytes().cycle().take(1 << 20).collect();
        let reading = read(format, &noise);
        assert!(reading.trouble.len() <= 21 && reading.remarks.len() <= 21, "{format:?}");
        for noise in [
            &b"<"[..],
            b"{",
            b"[",
            b"    ok 1 {\n",
            b"ok\n",
            b"{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}\n",
        ] {
            let noise: Vec<u8> = noise.iter().copied().cycle().take(256 << 10).collect();
            let reading = read(format, &noise);
            assert!(!reading.complete, "{format:?} {reading:?}");
        }
    }
}

#[test]
fn too_many_cases_still_count_and_are_trouble() {
    let mut text = "<testsuite>".to_owned();
    text.push_str(&"<testcase/>".repeat(super::tally::MOST_CASES));
    text.push_str("<testcase><failure/></testcase></testsuite>");
    let reading = read(Format::Junit, text.as_bytes());
    assert_eq!((reading.failed, reading.complete), (1, false));
    assert_eq!(reading.cases.len(), super::tally::MOST_CASES);
}

#[test]
fn an_entity_bomb_is_refused_unread() {
    let bomb = "<?xml version='1.0'?><!DOCTYPE t [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'>\
        <!ENTITY c SYSTEM 'file:///etc/passwd'>]><testsuite><testcase name='&b;&c;'/></testsuite>";
    for format in [Format::Junit, Format::NodeJunit, Format::Surefire, Format::Trx] {
        let reading = read(format, bomb.as_bytes());
        assert!(reading.distrusted && reading.cases.is_empty(), "{reading:?}");
        assert!(reading.trouble[0].contains("document type"), "{reading:?}");
    }
    // An undeclared entity stays what it is.
    let reading = read(Format::Junit, b"<testsuite><testcase name='&c;'/></testsuite>");
    assert_eq!(reading.cases[0].name, "&c;");
}

proptest! {
    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in Format::ALL {
            read(format, &bytes);
        }
    }

    #[test]
    fn any_shuffle_of_a_reports_pieces_can_be_read(
        which in 0..WHOLE.len(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..60), 0..12),
    ) {
        let (format, text) = WHOLE[which];
        let mut bytes = Vec::new();
        for (start, length) in cuts {
            let start = start.index(text.len());
            bytes.extend_from_slice(&text.as_bytes()[start..text.len().min(start + length)]);
        }
        let reading = read(format, &bytes);
        prop_assert!(reading.trouble.is_empty() || reading.distrusted);
    }

    #[test]
    fn one_wrong_byte_never_loses_a_failure_in_silence(
        which in 0..WHOLE.len(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (format, text) = WHOLE[which];
        let whole = read(format, text.as_bytes());
        let mut bytes = text.as_bytes().to_vec();
        let at = place.index(bytes.len());
        bytes[at] = byte;
        assert_not_greener(format, &whole, &bytes);
    }
}
