use super::*;
use crate::worker::parse_report;

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
TASK_ID: shed-p41nt
SUMMARY: The shed door takes a colour
FILES_CHANGED: 2
FILE_LIST: src/door.js, test/door.test.js
BC_README_UPDATED: no
ADRS_WRITTEN: none
NEW_BACKLOG_ITEMS: none
TESTS_ADDED: 1
TESTS_PASSING: yes
TDD_SKIPPED: no
CONCEPT_CANDIDATE: none
";

fn with_blocks(header: &str, delta: &str, adrs: &str, outcome: &str, items: &str) -> String {
    format!(
        "{header}````README_DELTA\n{delta}\n````\n````ADRS\n{adrs}\n````\n````OUTCOME\n{outcome}\n````\n````BACKLOG_ITEMS\n{items}\n````\n"
    )
}

fn problems(text: &str) -> Vec<(String, String)> {
    let report = parse_report(text.as_bytes()).unwrap();
    examine(&report).into_iter().map(|p| (p.code.to_string(), p.field)).collect()
}

fn in_header(from: &str, to: &str) -> Vec<(String, String)> {
    assert!(HEADER.contains(from));
    problems(&with_blocks(&HEADER.replace(from, to), "[]", "", "", ""))
}

fn one(code: &str, field: &str) -> Vec<(String, String)> {
    vec![(code.to_owned(), field.to_owned())]
}

#[test]
fn a_consistent_report_has_no_problems() {
    assert!(problems(&with_blocks(HEADER, "[]", "", "## Outcome\nDone.", "")).is_empty());
    assert!(problems(OLD_FORM).is_empty());
    let header = HEADER.replace("ADRS_WRITTEN: none", "ADRS_WRITTEN: 0012-why-paint.md");
    let delta = r#"[{"section":"Purpose","ops":[{"op":"append","body":"- **Paint** (noun) — colour"}]}]"#;
    let adr = "<!-- ADR: 0012-why-paint.md -->\n# ADR-0012";
    let item = "<!-- TASK: area-m1111-next.md -->\n---\nid: area-m1111\n---";
    assert!(problems(&with_blocks(&header, delta, adr, "## Outcome (early)\nDone.", item)).is_empty());
    assert!(problems("RESULT: FAILED\nTASK_ID: a-1\nERROR: x\nmore\nRESULT_END\n").is_empty());
}

#[test]
fn every_field_value_that_means_nothing_is_named() {
    for (from, to, code, field) in [
        ("FILES_CHANGED: 2", "FILES_CHANGED: two", "not-an-integer", "FILES_CHANGED"),
        ("FILES_CHANGED: 2", "FILES_CHANGED: 2.0", "not-an-integer", "FILES_CHANGED"),
        ("FILES_CHANGED: 2", "FILES_CHANGED: +2", "not-an-integer", "FILES_CHANGED"),
        ("FILES_CHANGED: 2", "FILES_CHANGED: 3", "count-mismatch", "FILES_CHANGED"),
        ("src/a.rs, src/b.rs", "src/a.rs", "count-mismatch", "FILES_CHANGED"),
        ("src/a.rs, src/b.rs", "", "count-mismatch", "FILES_CHANGED"),
        ("src/a.rs, src/b.rs", "src/a.rs, ./src/a.rs", "duplicate-file", "FILE_LIST"),
        ("TESTS_ADDED: 1", "TESTS_ADDED: some", "not-an-integer", "TESTS_ADDED"),
        ("TESTS_ADDED: 1", "TESTS_ADDED: -1", "not-an-integer", "TESTS_ADDED"),
        ("TESTS_ADDED: 1", "TESTS_ADDED: 99999999999999999999", "not-an-integer", "TESTS_ADDED"),
        ("TESTS_ADDED: 1", "TESTS_ADDED: 0", "tests-unexplained", "TESTS_ADDED"),
        ("TESTS_ADDED: 1", "TESTS_ADDED:", "blank-field", "TESTS_ADDED"),
        ("TESTS_PASSING: yes", "TESTS_PASSING: yes (expected)", "not-yes-or-no", "TESTS_PASSING"),
        ("TESTS_PASSING: yes", "TESTS_PASSING: Yes", "not-yes-or-no", "TESTS_PASSING"),
        ("TESTS_PASSING: yes", "TESTS_PASSING: no", "tests-not-passing", "TESTS_PASSING"),
        ("TDD_SKIPPED: no", "TDD_SKIPPED: yes", "skip-without-reason", "TDD_SKIPPED"),
        ("TDD_SKIPPED: no", "TDD_SKIPPED:", "blank-field", "TDD_SKIPPED"),
        ("ADRS_WRITTEN: none", "ADRS_WRITTEN: 0012-x.md", "adrs-mismatch", "ADRS_WRITTEN"),
        ("CONCEPT_CANDIDATE: none", "CONCEPT_CANDIDATE: paint", "concept-shape", "CONCEPT_CANDIDATE"),
        ("Paint a widget", "Paint\u{202e} a widget", "deceptive-text", "SUMMARY"),
        ("TESTS_ADDED: 1", "TESTS_ADDED: 4\nTESTS_ADDED: 1", "duplicate-field", "TESTS_ADDED"),
        ("TESTS_ADDED: 1", "and so\nTESTS_ADDED: 1", "unread-text", "RESULT"),
        ("TASK_ID: area-k3f9q", "TASK_ID: ", "blank-field", "TASK_ID"),
    ] {
        assert_eq!(in_header(from, to), one(code, field), "{to}");
    }
}

#[test]
fn a_concept_names_as_many_artifacts_as_it_counts() {
    assert!(
        in_header("CONCEPT_CANDIDATE: none", "CONCEPT_CANDIDATE: Paint — converging on 2 artifacts (a-1, a-2)")
            .is_empty()
    );
    for bad in ["Paint — converging on 3 artifacts (a-1, a-2)", "Paint — converging on N artifacts (a-1)", "Paint - 2"]
    {
        let found = in_header("CONCEPT_CANDIDATE: none", &format!("CONCEPT_CANDIDATE: {bad}"));
        assert_eq!(found, one("concept-shape", "CONCEPT_CANDIDATE"), "{bad}");
    }
}

#[test]
fn file_names_in_markers_that_must_not_be_written_are_named() {
    for name in [
        "../0012-x.md",
        "/etc/0012-x.md",
        "0012-x.txt",
        "12-x.md",
        "0012-X.md",
        "0012-x/../y.md",
        "0012-.md",
        "0012.md",
        "0012-x.md\0",
        "CON.md",
        &format!("0012-{}.md", "x".repeat(200)),
    ] {
        let header = HEADER.replace("ADRS_WRITTEN: none", &format!("ADRS_WRITTEN: {name}"));
        let text = with_blocks(&header, "[]", &format!("<!-- ADR: {name} -->\nbody"), "", "");
        let found = problems(&text);
        assert!(found.contains(&one("unsafe-file-name", "ADRS")[0]), "{name}: {found:?}");
    }
    for name in ["../a-b1111-x.md", "a/b-1.md", ".md", "README.md", "a-b1111-x", "-x.md", "a--b.md"] {
        let text = with_blocks(HEADER, "[]", "", "", &format!("<!-- TASK: {name} -->\nbody"));
        assert_eq!(problems(&text), one("unsafe-file-name", "BACKLOG_ITEMS"), "{name}");
    }
}

#[test]
fn what_the_blocks_lose_or_repeat_is_named() {
    let items = |items: &str| problems(&with_blocks(HEADER, "[]", "", "", items));
    assert_eq!(items("loose\n<!-- TASK: a-1.md -->\nx"), one("text-before-marker", "BACKLOG_ITEMS"));
    assert_eq!(items("<!-- TASK: a-1.md -->\n\n"), one("empty-file", "BACKLOG_ITEMS"));
    let twice = "<!-- TASK: a-1.md -->\nx\n<!-- TASK: a-1.md -->\ny";
    assert_eq!(items(twice), one("duplicate-file-name", "BACKLOG_ITEMS"));
    let again = with_blocks(HEADER, "[]", "", "", "") + "````OUTCOME\nother\n````\n";
    assert_eq!(problems(&again), one("duplicate-block", "OUTCOME"));
    let extra = with_blocks(HEADER, "[]", "", "", "") + "````NOTE\nother\n````\n";
    assert!(problems(&extra).is_empty());
    let bare = with_blocks(HEADER, "[]", "", "Done.", "");
    assert_eq!(problems(&bare), one("outcome-shape", "OUTCOME"));
    let delta = with_blocks(HEADER, r#"[{"section":"X","ops":[]}]"#, "", "", "");
    assert_eq!(problems(&delta), one("delta-shape", "README_DELTA[0].ops"));
}

#[test]
fn records_said_and_records_carried_must_be_the_same() {
    let both = |said: &str, carried: &str| {
        let header = HEADER.replace("ADRS_WRITTEN: none", &format!("ADRS_WRITTEN: {said}"));
        problems(&with_blocks(&header, "[]", &format!("<!-- ADR: {carried} -->\nx"), "", ""))
    };
    for said in ["0012-x.md", "0012-x", "ADR-0012", "0012", "docs/0012-x.md"] {
        assert!(both(said, "0012-x.md").is_empty(), "{said}");
    }
    assert_eq!(both("none", "0012-x.md"), one("adrs-mismatch", "ADRS_WRITTEN"));
    assert_eq!(both("0013-x.md", "0012-x.md").len(), 2);
    let old = OLD_FORM.replace("ADRS_WRITTEN: none", "ADRS_WRITTEN: ADR-0007");
    assert_eq!(problems(&old), one("adrs-mismatch", "ADRS_WRITTEN"));
    let listed = old.replace("src/door.js", "docs/0007-door.md");
    assert!(problems(&listed).is_empty());
}

#[test]
fn generation_a_says_whether_it_touched_the_readme() {
    let claimed = OLD_FORM.replace("UPDATED: no", "UPDATED: yes");
    assert_eq!(problems(&claimed), one("readme-mismatch", "BC_README_UPDATED"));
    assert!(problems(&claimed.replace("src/door.js", "docs/README.md")).is_empty());
    assert_eq!(problems(&OLD_FORM.replace("UPDATED: no", "UPDATED: maybe")), one("not-yes-or-no", "BC_README_UPDATED"));
}

#[test]
fn two_headers_that_tell_different_stories_are_named() {
    let full = with_blocks(HEADER, "[]", "", "", "") + &HEADER.replace("Paint", "Painted") + "RESULT_END\n";
    assert_eq!(problems(&full), one("soft-mismatch", "SUMMARY"));
    let half = with_blocks(HEADER, "[]", "", "", "") + "RESULT: SUCCESS\nTASK_ID: x\n";
    assert_eq!(problems(&half), one("incomplete-copy", "RESULT"));
}

#[test]
fn odd_bytes_are_named() {
    let mut text = with_blocks(HEADER, "[]", "", "## Outcome\nx\0", "").into_bytes();
    text.extend_from_slice(b"\n");
    let at = text.windows(4).position(|w| w == b"Outc").unwrap();
    text.insert(at + 10, 0xff);
    let codes: Vec<ProblemCode> = examine(&parse_report(&text).unwrap()).iter().map(|p| p.code).collect();
    assert_eq!(codes, [ProblemCode::InvalidUtf8, ProblemCode::NulByte]);
}

#[test]
fn res_false_tests() {
    let old = |from: &str, to: &str| {
        assert!(OLD_FORM.contains(from));
        OLD_FORM.replace(from, to)
    };
    assert_eq!(problems(&old("PASSING: yes", "PASSING: no")), one("tests-not-passing", "TESTS_PASSING"));
    assert_eq!(problems(&old("PASSING: yes", "PASSING: yes (expected)")), one("not-yes-or-no", "TESTS_PASSING"));
    assert_eq!(problems(&old("TESTS_ADDED: 1", "TESTS_ADDED: 0")), one("tests-unexplained", "TESTS_ADDED"));
    let missing = parse_report(old("TESTS_PASSING: yes\n", "").as_bytes()).unwrap_err();
    assert_eq!((missing.code.as_str(), missing.field.as_deref()), ("missing-field", Some("TESTS_PASSING")));
}

#[test]
fn many_problems_of_one_kind_are_not_listed_for_ever() {
    let list = vec!["a"; 5000].join(",");
    let text = HEADER.replace("FILES_CHANGED: 2", "FILES_CHANGED: 5000").replace("src/a.rs, src/b.rs", &list);
    let report = parse_report(with_blocks(&text, "[]", "", "", "").as_bytes()).unwrap();
    let found = examine(&report);
    assert_eq!(found.len(), LISTED + 1);
    assert!(found[LISTED].observed.contains("further"));
}

#[test]
fn what_is_shown_of_a_report_is_short_and_harmless() {
    let bad = format!("\u{1b}[31m{}", "x".repeat(1000));
    let text = with_blocks(&HEADER.replace("TESTS_ADDED: 1", &format!("TESTS_ADDED: {bad}")), "[]", "", "", "");
    let report = parse_report(text.as_bytes()).unwrap();
    for problem in examine(&report) {
        assert!(!problem.observed.contains('\u{1b}'));
        assert!(problem.observed.chars().count() < 210);
    }
}
