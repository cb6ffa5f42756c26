//! Whole cases, slips and properties, beside the numbered behaviours.

use super::*;
use proptest::prelude::*;

#[test]
fn res_unclosed_fence() {
    assert_eq!(read(&unclosed("", &format!("{HEADER}RESULT_END\n"))).layout.repairs.len(), 1);
    let malformed = unclosed("", &format!("````adr\n{HEADER}RESULT_END\n"));
    assert_eq!(refused(&malformed).0, "truncated-block");
    let not_last = full().replacen("\n````\n", "\n", 1);
    assert_eq!(refused(&not_last), about("truncated-block", "README_DELTA"));
    assert_eq!(refused(&unclosed("", HEADER)).0, "truncated-block");
    let digits = format!("{HEADER}{}{}", blocks(), block("NOTE_2", "x"));
    assert_eq!(read(&digits).blocks.unwrap().extra[0].name, "NOTE_2");
    assert!(read(&full()).layout.repairs.is_empty());
}

#[test]
fn res_result_inside_block() {
    let sample = format!("{}RESULT_END", HEADER.replace("SUCCESS", "FAILED"));
    let inside = format!("{HEADER}{}{HEADER}RESULT_END\n", blocks_with("[]", "", &format!("## Outcome\n{sample}"), ""));
    let report = read(&inside);
    assert_eq!((report.outcome, report.layout.repairs.len()), (Outcome::Success, 0));
    for outside in [
        format!("{HEADER}{}{sample}\n{HEADER}RESULT_END\n", blocks()),
        format!("{HEADER}{}An example:\n{sample}\n", blocks()),
        format!("{HEADER}{sample}\n{}", blocks()),
        format!("{HEADER}{}{sample}\n{}", block("README_DELTA", ""), block("ADRS", "")),
        format!("{OLD_FORM}\nAn example:\n{sample}\n"),
        format!("RESULT: BOUNCED\nTASK_ID: a-1\nREASON: r\n{sample}\n"),
    ] {
        assert_eq!(refused(&outside), about("layout-conflict", "RESULT"), "{outside}");
    }
    let other_task = format!("{HEADER}{}An example:\n{}", blocks(), HEADER.replace("area-k3f9q", "area-x1111"));
    assert_eq!(refused(&other_task), about("header-mismatch", "TASK_ID"));
}

#[test]
fn res_bounce_fail() {
    let failed =
        read("RESULT: FAILED\nTASK_ID: a-1\nERROR: build broke\n  at line 2\nline 3\n\nline 4\nline 5\nRESULT_END\n");
    assert_eq!(failed.explanation().unwrap(), "build broke\n  at line 2\nline 3\nline 4\nline 5");
    assert!(failed.fits(Generation::E) && !failed.fits(Generation::A));
    let bounced = read("RESULT: BOUNCED\nTASK_ID: a-1\nREASON: two readings\n");
    assert_eq!(bounced.explanation().as_deref(), Some("two readings"));
    assert!(bounced.fits(Generation::A) && bounced.fits(Generation::C) && !bounced.fits(Generation::E));
    assert_eq!(refused("RESULT: BOUNCED\nTASK_ID: a-1\n").0, "missing-field");
    assert_eq!(refused("RESULT: BOUNCE\nTASK_ID: a-1\nREASON: r\n").0, "unknown-result");
    assert_eq!(refused("RESULT: bounced\nTASK_ID: a-1\nREASON: r\n").0, "unknown-result");
    assert_eq!(refused("result: BOUNCED\nTASK_ID: a-1\nREASON: r\n").0, "missing-result-line");
}

#[test]
fn the_twelve_field_form_without_blocks_is_generation_a() {
    let report = read(OLD_FORM);
    assert_eq!(report.generation, Generation::A);
    assert_eq!(report.field("BC_README_UPDATED"), Some("no"));
    assert_eq!(report.blocks, None);
    let with_end = format!("{OLD_FORM}RESULT_END\n");
    assert_eq!(refused(&with_end), about("missing-block", "README_DELTA"));
    let eleven = OLD_FORM.replace("NEW_BACKLOG_ITEMS: none\n", "");
    assert_eq!(refused(&eleven), about("missing-block", "README_DELTA"));
}

#[test]
fn fields_after_the_end_line_change_nothing() {
    let report = read(&format!("{}TESTS_PASSING: no\n", full()));
    assert_eq!(report.field("TESTS_PASSING"), Some("yes"));
    assert_eq!(report.unread, ["TESTS_PASSING: no"]);
}

#[test]
fn a_later_line_with_the_same_name_counts_and_the_earlier_is_kept_apart() {
    let header = HEADER.replace("TESTS_ADDED: 1", "TESTS_ADDED: 4\nTESTS_ADDED: 1");
    let report = read(&format!("{header}{}", blocks()));
    assert_eq!(report.field("TESTS_ADDED"), Some("1"));
    assert_eq!(report.layout.overwritten, [Field { name: "TESTS_ADDED".into(), value: "4".into() }]);
}

#[test]
fn unknown_fields_are_kept_and_ordinary_lines_are_not_lost() {
    let text = HEADER.replace("TDD_SKIPPED", "MOOD: fine\nsome prose\nTDD_SKIPPED") + &blocks();
    let report = read(&text);
    assert_eq!(report.field("MOOD"), Some("fine"));
    assert_eq!(report.unread, ["some prose"]);
}

#[test]
fn bytes_that_are_not_plain_text_are_noted() {
    let mut text = b"\xef\xbb\xbf".to_vec();
    text.extend_from_slice(full().replace("Paint", "P\0int").replace('\n', "\r\n").as_bytes());
    text.extend_from_slice(b"\xff\n");
    let report = parse_report(&text).unwrap();
    let all = [EncodingNote::ByteOrderMark, EncodingNote::Crlf, EncodingNote::InvalidUtf8, EncodingNote::Nul];
    assert_eq!(report.encoding, all);
}

#[test]
fn a_report_above_the_limit_is_refused_whole() {
    let text = full() + &" ".repeat(MAX_REPORT_BYTES);
    assert_eq!(refused(&text), ("too-large", None));
}

#[test]
fn the_codes_are_the_peers_ten_and_each_says_its_serialized_name() {
    let names: Vec<String> = RejectionCode::PEER
        .iter()
        .map(|code| serde_json::to_value(code).unwrap().as_str().unwrap().to_owned())
        .collect();
    let said: Vec<&str> = RejectionCode::PEER.iter().map(|code| code.as_str()).collect();
    assert_eq!(names, said);
    assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), 10);
}

#[test]
fn a_report_survives_being_written_down() {
    let mut text = HEADER.replace("src/a.rs", "src/\\x.rs").into_bytes();
    text.extend_from_slice(blocks().as_bytes());
    let report = parse_report(&text).unwrap();
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
}

#[test]
fn crlf_patch_report_reads_the_same_with_either_line_end() {
    for text in [full(), OLD_FORM.to_owned(), unclosed("x", &format!("{HEADER}RESULT_END\n"))] {
        let mut dos = read(&text.replace('\n', "\r\n"));
        assert_eq!(dos.encoding, [EncodingNote::Crlf]);
        dos.encoding.clear();
        assert_eq!(dos, read(&text));
    }
}

/// Texts near the format: its own lines in any order, with slips.
fn near_reports() -> impl Strategy<Value = String> {
    let lines: Vec<String> = full()
        .lines()
        .chain(OLD_FORM.lines())
        .chain([
            "````X",
            "````",
            "`````",
            "````y",
            "RESULT: FAILED",
            "ERROR: e",
            "",
            "loose",
            "<!-- ADR: 0001-a.md -->",
        ])
        .map(str::to_owned)
        .collect();
    let shuffled = proptest::collection::vec(proptest::sample::select(lines), 0..40).prop_map(|l| l.join("\n"));
    let cut = (0..full().len(), 0..full().len()).prop_map(|(from, to)| {
        let text = full();
        text[..from.min(to)].to_owned() + &text[from.max(to)..]
    });
    prop_oneof![shuffled, cut]
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse_report(&bytes).map(|report| crate::worker::examine(&report));
    }

    #[test]
    fn near_reports_never_panic_and_read_the_same_with_crlf(text in near_reports()) {
        let unix = parse_report(text.as_bytes());
        let dos = parse_report(text.replace('\n', "\r\n").as_bytes());
        match (unix, dos) {
            (Ok(unix), Ok(mut dos)) => {
                dos.encoding.clone_from(&unix.encoding);
                prop_assert_eq!(&unix, &dos);
                let _ = crate::worker::examine(&unix);
            }
            (Err(unix), Err(dos)) => prop_assert_eq!(unix, dos),
            (unix, dos) => prop_assert!(false, "LF {unix:?}, CRLF {dos:?}"),
        }
    }

    #[test]
    fn a_clean_report_has_no_repairs(body in "[a-zA-Z0-9 #*\n-]{0,80}", summary in "[a-zA-Z ]{1,40}") {
        let header = HEADER.replace("Paint a widget", &summary);
        let text = format!("{header}{}{header}RESULT_END\n", blocks_with("[]", "", &body, &body));
        let report = parse_report(text.as_bytes()).unwrap();
        prop_assert!(report.layout.repairs.is_empty());
        prop_assert_eq!(report.summary.unwrap(), summary.trim());
    }
}
