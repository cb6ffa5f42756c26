use super::*;

mod cases;

const HEADER: &str = "RESULT: SUCCESS
TASK_ID: area-k3f9q
SUMMARY: Paint a widget
FILES_CHANGED: 2
FILE_LIST: src/a.rs, src/b.rs
ADRS_WRITTEN: none
TESTS_ADDED: 1
TESTS_PASSING: yes
TDD_SKIPPED: no
CONCEPT_CANDIDATE: none
";
const OLD_FORM: &str = "RESULT: SUCCESS
TASK_ID: area-012
SUMMARY: Paint a widget
FILES_CHANGED: 1
FILE_LIST: src/a.rs
BC_README_UPDATED: no
ADRS_WRITTEN: none
NEW_BACKLOG_ITEMS: none
TESTS_ADDED: 1
TESTS_PASSING: yes
TDD_SKIPPED: no
CONCEPT_CANDIDATE: none
";

fn block(name: &str, content: &str) -> String {
    format!("````{name}\n{content}\n````\n")
}

fn blocks_with(delta: &str, adrs: &str, outcome: &str, items: &str) -> String {
    block("README_DELTA", delta) + &block("ADRS", adrs) + &block("OUTCOME", outcome) + &block("BACKLOG_ITEMS", items)
}

fn blocks() -> String {
    blocks_with("[]", "", "## Outcome\n\nDone.", "")
}

fn full() -> String {
    format!("{HEADER}\n{}\n{HEADER}RESULT_END\n", blocks())
}

/// All blocks but the last one's closing fence, then `tail`.
fn unclosed(items: &str, tail: &str) -> String {
    let all = blocks_with("[]", "", "", items);
    format!("{HEADER}{}{tail}", all.strip_suffix("````\n").unwrap())
}

fn read(text: &str) -> Report {
    parse_report(text.as_bytes()).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn refused(text: &str) -> (&'static str, Option<String>) {
    match parse_report(text.as_bytes()) {
        Err(rejection) => {
            assert!(!rejection.reason.is_empty());
            (rejection.code.as_str(), rejection.field)
        }
        Ok(report) => panic!("accepted: {report:?}"),
    }
}

fn about(code: &'static str, field: &str) -> (&'static str, Option<String>) {
    (code, Some(field.to_owned()))
}

#[test]
fn e1_four_blocks_parse_and_an_empty_delta_is_an_empty_list() {
    for delta in ["[]", "", "  \n"] {
        let report = read(&format!("{HEADER}{}", blocks_with(delta, "", "## Outcome\nDone.", "")));
        let found = report.blocks.unwrap();
        assert!(found.readme_delta.is_empty());
        assert!(found.adrs.files.is_empty());
        assert_eq!(found.outcome, "## Outcome\nDone.");
    }
}

#[test]
fn e2_a_delta_is_read_as_json() {
    let delta = r#"[{"section":"Purpose","ops":[{"op":"append","body":"- **X** — y"}]}]"#;
    let report = read(&format!("{HEADER}{}", blocks_with(delta, "", "", "")));
    assert_eq!(report.blocks.unwrap().readme_delta[0]["section"], "Purpose");
}

#[test]
fn e3_three_backtick_code_in_a_record_is_kept() {
    let adr = "<!-- ADR: 0012-x.md -->\n\n# ADR-0012\n\n```sh\nls\n```\n\n";
    let found = read(&format!("{HEADER}{}", blocks_with("[]", adr, "", ""))).blocks.unwrap();
    assert_eq!(found.adrs.files[0].file_name, "0012-x.md");
    assert_eq!(found.adrs.files[0].body, "# ADR-0012\n\n```sh\nls\n```");
}

#[test]
fn e4_several_files_are_split_at_their_markers() {
    let adrs = "<!-- ADR: 0012-x.md -->\none\n<!-- ADR: 0013-y.md -->\ntwo";
    let items = "loose\n<!-- TASK: a-b1111-x.md -->\nthree\n<!-- TASK: a-b1112-y.md -->\nfour";
    let found = read(&format!("{HEADER}{}", blocks_with("[]", adrs, "", items))).blocks.unwrap();
    let names = |d: &crate::worker::blocks::Documents| d.files.iter().map(|f| f.body.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found.adrs), ["one", "two"]);
    assert_eq!(names(&found.backlog_items), ["three", "four"]);
    assert_eq!(found.backlog_items.before_first, "loose");
}

#[test]
fn e5_bounced_and_failed_reports_have_no_blocks() {
    for (text, outcome, generation) in [
        ("RESULT: BOUNCED\nTASK_ID: a-1\nREASON: unclear\nRESULT_END\n", Outcome::Bounced, Generation::E),
        ("RESULT: FAILED\nTASK_ID: a-1\nERROR: no network\n", Outcome::Failed, Generation::C),
    ] {
        let report = read(text);
        assert_eq!((report.outcome, report.generation), (outcome, generation));
        assert_eq!(report.blocks, None);
        assert_eq!(report.task_id, "a-1");
    }
}

#[test]
fn e6_bounced_without_reason_is_a_missing_field() {
    assert_eq!(refused("RESULT: BOUNCED\nTASK_ID: a-1\n"), about("missing-field", "REASON"));
    assert_eq!(refused("RESULT: FAILED\nTASK_ID: a-1\n"), about("missing-field", "ERROR"));
}

#[test]
fn e7_an_unclosed_block_is_named() {
    assert_eq!(refused(&format!("{HEADER}````README_DELTA\n[]\n")), about("truncated-block", "README_DELTA"));
}

#[test]
fn e8_a_delta_that_is_no_json_array_is_malformed() {
    for delta in ["{", "{}", "\"x\"", "[1,", &"[".repeat(5000)] {
        let text = format!("{HEADER}{}", blocks_with(delta, "", "", ""));
        assert_eq!(refused(&text), about("malformed-block", "README_DELTA"), "{delta:.20}");
    }
}

#[test]
fn e9_a_missing_field_is_named() {
    for name in crate::worker::report::SUCCESS_FIELDS {
        let kept: Vec<&str> = HEADER.lines().filter(|l| !l.starts_with(name)).collect();
        let header = kept.join("\n");
        assert_eq!(refused(&format!("{header}\n{}", blocks())), about("missing-field", name));
        assert_eq!(refused(&header), about("missing-field", name));
    }
}

#[test]
fn e10_blocks_out_of_order_name_the_one_expected() {
    let swapped =
        block("README_DELTA", "[]") + &block("OUTCOME", "") + &block("ADRS", "") + &block("BACKLOG_ITEMS", "");
    assert_eq!(refused(&format!("{HEADER}{swapped}")), about("missing-block", "ADRS"));
    let three = block("README_DELTA", "[]") + &block("ADRS", "") + &block("OUTCOME", "");
    assert_eq!(refused(&format!("{HEADER}{three}")), about("missing-block", "BACKLOG_ITEMS"));
    assert_eq!(refused(HEADER), about("missing-block", "README_DELTA"));
}

#[test]
fn e11_an_unknown_result_is_refused() {
    for word in ["DONE", "success", "SUCCES", "PASS"] {
        assert_eq!(refused(&format!("RESULT: {word}\nTASK_ID: a-1\n")), about("unknown-result", "RESULT"));
        let text = full().replace("RESULT: SUCCESS", &format!("RESULT: {word}"));
        assert_eq!(refused(&text), about("unknown-result", "RESULT"));
    }
}

#[test]
fn e12_nothing_but_blanks_is_an_empty_result() {
    for text in ["", "\n\n", "  \r\n\t", "\u{feff}\n"] {
        assert_eq!(refused(text), ("empty-result", None), "{text:?}");
    }
}

#[test]
fn e14_a_leading_header_alone_is_generation_c_and_result_is_no_field() {
    let report = read(&format!("{HEADER}{}", blocks()));
    assert_eq!(report.generation, Generation::C);
    assert_eq!(report.field("RESULT"), None);
    assert_eq!(report.layout, Layout { leading_header: true, ..Layout::default() });
}

#[test]
fn e15_a_bare_end_line_is_no_trailing_header() {
    let report = read(&format!("{HEADER}{}RESULT_END\n", blocks()));
    assert!(report.layout.end_sentinel && report.layout.leading_header && !report.layout.trailing_header);
    assert_eq!(report.generation, Generation::E);
}

#[test]
fn e16_a_trailing_header_alone_gives_the_fields() {
    let report = read(&format!("{}{HEADER}RESULT_END\n", blocks()));
    assert!(report.layout.trailing_header && !report.layout.leading_header);
    assert_eq!(report.task_id, "area-k3f9q");
    assert_eq!(report.file_list.len(), 2);
}

#[test]
fn e17_two_equal_headers_set_both_flags() {
    let layout = read(&full()).layout;
    assert!(layout.leading_header && layout.trailing_header && layout.end_sentinel);
    assert!(layout.soft_mismatch.is_empty() && layout.repairs.is_empty() && layout.overwritten.is_empty());
}

#[test]
fn e18_two_headers_that_differ_in_a_fact_are_refused() {
    for (field, from, to) in [
        ("FILE_LIST", "src/a.rs, src/b.rs", "src/a.rs, src/c.rs"),
        ("TASK_ID", "area-k3f9q", "area-k3f9r"),
        ("FILES_CHANGED", "FILES_CHANGED: 2", "FILES_CHANGED: 3"),
        ("ADRS_WRITTEN", "ADRS_WRITTEN: none", "ADRS_WRITTEN: 0012"),
        ("TESTS_ADDED", "TESTS_ADDED: 1", "TESTS_ADDED: 0"),
        ("TESTS_PASSING", "TESTS_PASSING: yes", "TESTS_PASSING: no"),
        ("TDD_SKIPPED", "TDD_SKIPPED: no", "TDD_SKIPPED: docs"),
    ] {
        let text = format!("{HEADER}{}{}RESULT_END\n", blocks(), HEADER.replace(from, to));
        assert_eq!(refused(&text), about("header-mismatch", field));
    }
}

#[test]
fn e19_prose_that_differs_is_noted_and_the_leading_header_wins() {
    let other = HEADER.replace("Paint a widget", "Painted it");
    let report = read(&format!("{HEADER}{}{other}RESULT_END\n", blocks()));
    assert_eq!(report.layout.soft_mismatch, ["SUMMARY"]);
    assert_eq!(report.summary.as_deref(), Some("Paint a widget"));
}

#[test]
fn e20_blanks_make_no_difference_between_headers() {
    let other = HEADER.replace("src/a.rs, src/b.rs", " src/a.rs,   src/b.rs  ");
    let report = read(&format!("{HEADER}{}{other}RESULT_END\n", blocks()));
    assert!(report.layout.trailing_header);
}

#[test]
fn e21_an_incomplete_trailing_header_is_passed_over_and_noted() {
    let report = read(&format!("{HEADER}{}RESULT: SUCCESS\nTASK_ID: other-1\n", blocks()));
    assert_eq!(report.task_id, "area-k3f9q");
    assert!(report.layout.incomplete_copies == 1 && !report.layout.trailing_header);
}

#[test]
fn e22_a_close_outside_every_block_is_a_stray_fence() {
    assert_eq!(refused(&format!("{HEADER}````\n{}", blocks())), ("stray-fence", None));
    assert_eq!(refused(&format!("{HEADER}{}````\n", blocks())), ("stray-fence", None));
}

#[test]
fn e23_a_bounce_beside_blocks_is_a_layout_conflict() {
    for word in ["BOUNCED", "FAILED"] {
        let text = format!("{HEADER}{}RESULT: {word}\nTASK_ID: area-k3f9q\nREASON: r\nRESULT_END\n", blocks());
        assert_eq!(refused(&text), about("layout-conflict", "RESULT"));
    }
}

#[test]
fn e24_text_before_the_first_line_is_refused() {
    for text in [format!("Here it is:\n\n{}", full()), format!(" {}", full()), "RESULT:\n".to_owned()] {
        assert_eq!(refused(&text), ("missing-result-line", None));
    }
    let utf16: Vec<u8> = full().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let text = [&b"\xff\xfe"[..], &utf16].concat();
    let rejection = parse_report(&text).unwrap_err();
    assert_eq!(rejection.code, RejectionCode::MissingResultLine);
    assert!(rejection.reason.contains("UTF-16"));
}

#[test]
fn e25_result_lines_inside_blocks_are_content() {
    let sample = "## Outcome\nRESULT: FAILED\nERROR: x\nRESULT_END";
    let report = read(&format!("{HEADER}{}", blocks_with("[]", "", sample, "")));
    assert_eq!(report.outcome, Outcome::Success);
    assert!(!report.layout.end_sentinel);
    assert_eq!(report.blocks.unwrap().outcome, sample);
}

#[test]
fn e26_further_named_blocks_are_kept_apart() {
    let text = format!("{HEADER}{}{}{HEADER}RESULT_END\n", blocks(), block("ADR_AMENDMENT", "more"));
    let extra = read(&text).blocks.unwrap().extra;
    assert_eq!((extra[0].name.as_str(), extra[0].content.as_str()), ("ADR_AMENDMENT", "more"));
}

#[test]
fn e27_unclosed_last_block_with_sentinel_is_repaired() {
    let item = "<!-- TASK: a-b1111-x.md -->\nthe body";
    let report = read(&unclosed(item, &format!("{HEADER}RESULT_END\n\n")));
    assert_eq!(report.layout.repairs, ["implicit-close:BACKLOG_ITEMS"]);
    assert!(report.layout.trailing_header && report.layout.end_sentinel);
    assert_eq!(report.blocks.unwrap().backlog_items.files[0].body, "the body");
}

#[test]
fn e28_the_repair_works_without_a_trailing_header() {
    let report = read(&unclosed("<!-- TASK: a-b1111-x.md -->\nthe body", "RESULT_END\n"));
    assert_eq!(report.layout.repairs, ["implicit-close:BACKLOG_ITEMS"]);
    assert!(!report.layout.trailing_header && report.layout.end_sentinel);
    assert_eq!(report.blocks.unwrap().backlog_items.files[0].body, "the body");
}

#[test]
fn e29_what_cannot_be_repaired_without_guessing_is_truncated() {
    let not_last = format!("{HEADER}````README_DELTA\n[]\n{}RESULT_END\n", block("ADRS", ""));
    assert_eq!(refused(&not_last), about("truncated-block", "README_DELTA"));
    let no_end = unclosed("text", HEADER);
    assert_eq!(refused(&no_end), about("truncated-block", "BACKLOG_ITEMS"));
    let text_after = unclosed("text", "RESULT_END\nbye\n");
    assert_eq!(refused(&text_after), about("truncated-block", "BACKLOG_ITEMS"));
    let half_header = unclosed("text", "RESULT: SUCCESS\nTASK_ID: area-k3f9q\nRESULT_END\n");
    assert_eq!(refused(&half_header), about("truncated-block", "BACKLOG_ITEMS"));
}

#[test]
fn e30_block_names_take_digits_and_nothing_else_new() {
    let good = format!("{HEADER}{}{}RESULT_END\n", blocks(), block("ADR_0082_AMENDMENT", "x"));
    assert_eq!(read(&good).blocks.unwrap().extra[0].name, "ADR_0082_AMENDMENT");
    for name in ["adr_amendment", "0ADR", "ADR AMENDMENT", "_ADR", "`ADR"] {
        let text = format!("{HEADER}{}{}RESULT_END\n", blocks(), block(name, "x"));
        assert_eq!(refused(&text), ("stray-fence", None), "{name}");
    }
}

#[test]
fn e31_a_malformed_fence_in_the_unclosed_region_is_never_repaired() {
    for fence in ["````adr_amendment", "````ADR AMENDMENT", "````0ADR", "````ADR_AMENDMENT trailing text", "`````"] {
        let text = unclosed("text", &format!("{fence}\nmore\n{HEADER}RESULT_END\n"));
        assert_eq!(refused(&text), about("truncated-block", "BACKLOG_ITEMS"), "{fence}");
    }
}

#[test]
fn e32_a_malformed_fence_in_a_closed_block_is_content() {
    let report = read(&format!("{HEADER}{}", blocks_with("[]", "", "## Outcome\n`````\n````x y", "")));
    assert_eq!(report.blocks.unwrap().outcome, "## Outcome\n`````\n````x y");
}
