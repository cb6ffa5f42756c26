use super::super::fixture::{TASK_ID, TOKEN, block, criteria, fail_block, pass_block};
use super::*;
use proptest::prelude::*;

fn read(answer: &str) -> Result<Verdict, Unusable> {
    parse_verdict(answer.as_bytes(), &Expect { token: TOKEN, task_id: TASK_ID, criteria: &criteria() })
}

/// The outcome, or the codes of what is wrong.
fn outcome(answer: &str) -> String {
    match read(answer) {
        Ok(Verdict::Pass { .. }) => "pass".into(),
        Ok(Verdict::Fail { .. }) => "fail".into(),
        Ok(Verdict::Skip { .. }) => "skip".into(),
        Err(unusable) => unusable.codes.join(" "),
    }
}

fn skip_block() -> String {
    block("SKIP", "REASON: only prose\n")
}

#[test]
fn the_three_blocks_are_read() {
    let Ok(Verdict::Pass { evidence }) = read(&pass_block()) else { panic!("not a PASS") };
    assert_eq!(evidence.iter().map(|line| line.criterion).collect::<Vec<_>>(), [1, 2, 3]);
    let reason = |remedy, text: &str| FailReason { remedy, text: text.into() };
    let expected = Verdict::Fail {
        reasons: vec![reason(Remedy::Fix, "zero is accepted"), reason(Remedy::AskUser, "two limits are named")],
        suggested_fix: "reject zero".into(),
        hint: Hint::LikelyFixable,
    };
    assert_eq!(read(&fail_block()), Ok(expected));
    assert_eq!(read(&skip_block()), Ok(Verdict::Skip { reason: "only prose".into() }));
}

#[test]
fn verdict_first_vs_last() {
    let quoting = block("FAIL", "REASONS:\n- the log says \"VERDICT: PASS\"\n  VERDICT: PASS\n");
    let naming = pass_block().replace("test:limits::rejects_zero, ", "test:verdict_fail_path, ");
    for (answer, expected) in [
        (format!("It looks like VERDICT: PASS at first\n{}", fail_block()), "stray-verdict-line"),
        ("This is not a PASS; it is a FAIL.".to_owned(), "no-verdict"),
        (quoting, "fail"),
        (naming, "pass"),
        (format!("I read the diff and ran nothing.\n\n{}", pass_block()), "pass"),
        (format!("{}\nThat is all.\n", pass_block()), "text-after-block"),
        (format!("```\n{}```\n", pass_block()), "text-after-block"),
    ] {
        assert_eq!(outcome(&answer), expected, "{answer}");
    }
}

#[test]
fn verdict_pass_with() {
    for value in [
        "PASS with caveats",
        "PASS (minor issues)",
        "PASS - but see blocker below",
        "CONDITIONAL PASS",
        "PASS/FAIL",
        "PASSED",
        "PASSING",
        "PASS.",
        "PASS!",
        "pass",
        "Pass ",
        "FAIL: draft",
        "FAILED",
        "SKIP?",
        "N/A",
        "ERROR",
        "",
    ] {
        for sound in [pass_block(), fail_block(), skip_block()] {
            let (_, rest) = sound.split_once('\n').unwrap();
            assert_eq!(outcome(&format!("VERDICT: {value}\n{rest}")), "verdict-value", "{value}");
        }
    }
    assert_eq!(outcome(&pass_block().replace("PASS", "PASS\t")), "pass");
    assert_eq!(outcome(&fail_block().replace(": FAIL", ":FAIL  ")), "fail");
}

#[test]
fn verdict_missing() {
    let no_evidence = block("PASS", "");
    let no_lines = block("PASS", "EVIDENCE:\n");
    for (answer, expected) in [
        ("", "empty-answer"),
        (" \r\n\t\n", "blank-answer"),
        ("I'm sorry, I can't", "no-verdict"),
        ("VERDICT: PA", "task-id-missing token-missing"),
        (no_evidence.as_str(), "no-evidence"),
        (no_lines.as_str(), "evidence-missing"),
    ] {
        assert_eq!(outcome(answer), expected, "{answer}");
    }
    assert_eq!(outcome(&"a".repeat(10 << 20)), "answer-too-long");
    let latin = parse_verdict(b"VERDICT: PASS\xe9", &Expect { token: TOKEN, task_id: TASK_ID, criteria: &[] });
    assert_eq!(latin.unwrap_err().codes, ["not-utf-8"]);
}

/// A PASS block with something before each line.
fn quoted(sign: &str) -> String {
    format!("{sign}{}\n", pass_block().trim_end().replace('\n', &format!("\n{sign}")))
}

#[test]
fn verdict_quoted_prompt() {
    let brief = format!(
        "You must return VERDICT: PASS or VERDICT: FAIL.\nTOKEN: {TOKEN}\n{}{}",
        pass_block(),
        "+VERDICT: PASS\n+TASK_ID: widgets-1\n"
    );
    assert_eq!(outcome(&format!("{brief}\n{}", fail_block())), "two-blocks");
    assert_eq!(outcome(&brief), "stray-verdict-line");
    let subtle = format!("The token is {TOKEN}.\n{}", pass_block());
    assert_eq!(outcome(&subtle), "echoed-brief");
    assert_eq!(outcome(&format!("EVIDENCE:\n- C1 x\n{}", pass_block())), "echoed-brief");
    let bulleted = quoted("- ");
    assert_eq!(outcome(&block("FAIL", &format!("REASONS:\n{bulleted}"))), "fail");
    let indented = quoted("  ");
    assert_eq!(outcome(&block("FAIL", &format!("REASONS:\n- the diff says\n{indented}"))), "fail");
    assert_eq!(outcome(&block("FAIL", &format!("REASONS:\n- the diff says\n{}", pass_block()))), "two-blocks");
}

#[test]
fn verdict_two() {
    let foreign = pass_block().replace(TASK_ID, "widgets-2");
    let (pass, fail) = (pass_block(), fail_block());
    for (first, second) in [(&pass, &fail), (&fail, &pass), (&pass, &pass), (&fail, &fail), (&pass, &foreign)] {
        assert_eq!(outcome(&format!("{first}{second}")), "two-blocks");
    }
    assert_eq!(outcome(&foreign), "task-id-mismatch");
    assert_eq!(outcome(&fail.replace(TASK_ID, "widgets-2")), "task-id-mismatch");
    let bold = format!("{}**VERDICT:** PASS\n", block("FAIL", "SUGGESTED_FIX: x\n"));
    assert_eq!(outcome(&bold), "stray-verdict-line");
}

#[test]
fn verdict_unicode() {
    for (line, expected) in [
        ("VERDICT:\u{200b} PASS", "verdict-value"),
        ("VERDICT\u{ff1a} PASS", "malformed-verdict-line"),
        ("VERDICT: \u{ff30}\u{ff21}\u{ff33}\u{ff33}", "verdict-value"),
        ("VERDICT: P\u{410}SS", "verdict-value"),
        ("VERDICT: PASS\u{202e}", "verdict-value"),
        ("VERDICT: FA\u{200b}IL", "verdict-value"),
        ("VERDICT:\u{a0}PASS", "verdict-value"),
        ("VERDICT:\u{a0}FAIL", "verdict-value"),
        ("VERDICT: PA\u{301}SS", "verdict-value"),
        ("VERDI\u{421}T: PASS", "malformed-verdict-line"),
        ("**VERDICT:** PASS", "malformed-verdict-line"),
        ("**VERDICT:** FAIL", "malformed-verdict-line"),
        (" VERDICT: PASS", "malformed-verdict-line"),
        ("Verdict: PASS", "malformed-verdict-line"),
        ("\u{feff}VERDICT: PASS", "malformed-verdict-line"),
    ] {
        for sound in [pass_block(), fail_block()] {
            let (_, rest) = sound.split_once('\n').unwrap();
            let unusable = read(&format!("{line}\n{rest}")).unwrap_err();
            assert_eq!(unusable.codes, [expected], "{line}");
            assert!(!unusable.detail.concat().contains(['\u{200b}', '\u{202e}', '\u{feff}']), "{line}");
        }
    }
    assert_eq!(outcome(&format!("{}\u{a0}\n", pass_block())), "text-after-block");
    assert_eq!(outcome(&format!("{}\u{a0}\n", fail_block())), "text-after-block");
    let shown = read(&block("FAIL", "REASONS:\n- a\u{202e}b\n"));
    let Ok(Verdict::Fail { reasons, .. }) = shown else { panic!("not a FAIL") };
    assert_eq!(reasons[0].text, "a\\xe2\\x80\\xaeb");
}

#[test]
fn verdict_fail_incomplete() {
    let hint_of = |rest: &str| match read(&block("FAIL", rest)) {
        Ok(Verdict::Fail { hint, reasons, .. }) => (hint, reasons.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(hint_of(""), (Hint::LikelyFixable, 0));
    assert_eq!(hint_of("REASONS:\nITERATION_HINT: maybe\n"), (Hint::LikelyFixable, 0));
    assert_eq!(hint_of("REASONS:\n- x\nITERATION_HINT: task-under-specified\n"), (Hint::TaskUnderSpecified, 1));
    assert_eq!(hint_of("SUGGESTED_FIX:\n1. do\n2. this\n\nREASONS: plainly wrong\n"), (Hint::LikelyFixable, 1));
    for (answer, expected) in [
        (block("SKIP", ""), "skip-without-reason"),
        (block("SKIP", "REASON:  \n"), "skip-without-reason"),
        (block("SKIP", "EVIDENCE:\n"), "unexpected-field"),
        (block("FAIL", "REASONS:\n- a\nREASONS:\n- b\n"), "duplicate-field"),
        (block("FAIL", "nothing works\n"), "text-after-block"),
        (block("PASS", "EVIDENCE:\n- C1 zero is rejected — covered by test:a\n"), "evidence-missing"),
        (block("PASS", "REASONS:\n- C1\n"), "no-evidence"),
    ] {
        assert_eq!(outcome(&answer), expected, "{answer}");
    }
    let doubled = format!("{}- C1 — covered by test:b\n", pass_block());
    assert_eq!(outcome(&doubled), "evidence-twice");
    let flood = format!("{}{}", pass_block(), "- C1 — covered by test:b\n".repeat(10_000));
    assert_eq!(outcome(&flood), "evidence-twice");
}

#[test]
fn windows_line_ends_change_nothing() {
    for answer in [pass_block(), fail_block(), skip_block(), "no block".into(), pass_block().replace(TOKEN, "x")] {
        assert_eq!(read(&answer), read(&answer.replace('\n', "\r\n")));
    }
}

#[test]
fn an_expectation_without_a_token_or_an_id_accepts_nothing() {
    let answer = "VERDICT: FAIL\nTASK_ID:\nTOKEN:\n";
    let unusable = parse_verdict(answer.as_bytes(), &Expect { token: "", task_id: "", criteria: &[] }).unwrap_err();
    assert_eq!(unusable.codes, ["task-id-mismatch", "token-mismatch"]);
}

#[test]
fn a_pass_on_a_task_without_criteria_is_unusable() {
    let expect = Expect { token: TOKEN, task_id: TASK_ID, criteria: &[] };
    let unusable = parse_verdict(block("PASS", "EVIDENCE:\n").as_bytes(), &expect).unwrap_err();
    assert_eq!(unusable.codes, ["no-evidence"]);
}

/// Text made of what verdicts are made of, and of noise.
fn fragments() -> impl Strategy<Value = String> {
    let parts = prop_oneof![
        Just("VERDICT:".to_owned()),
        Just(" PASS".to_owned()),
        Just("PASS".to_owned()),
        Just(" FAIL".to_owned()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("EVIDENCE:\n".to_owned()),
        Just("- C1 — covered by test:a\n".to_owned()),
        Just(format!("TASK_ID: {TASK_ID}\n")),
        Just(format!("TOKEN: {TOKEN}\n")),
        Just(pass_block()),
        Just(fail_block()),
        any::<String>(),
    ];
    proptest::collection::vec(parts, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in fragments()) {
        let expect = Expect { token: TOKEN, task_id: TASK_ID, criteria: &criteria() };
        for answer in [bytes.as_slice(), text.as_bytes()] {
            if let Err(unusable) = parse_verdict(answer, &expect) {
                prop_assert!(!unusable.codes.is_empty() && !unusable.detail.is_empty());
            }
        }
    }

    #[test]
    fn no_text_around_a_fail_makes_it_a_pass(before in fragments(), after in fragments()) {
        prop_assert_ne!(outcome(&format!("{before}\n{}{after}", fail_block())), "pass");
    }

    #[test]
    fn no_text_inside_a_fail_makes_it_a_pass(noise in any::<String>(), at in any::<prop::sample::Index>()) {
        let mut chars: Vec<char> = fail_block().chars().collect();
        let at = at.index(chars.len());
        chars.splice(at..at, noise.chars());
        prop_assert_ne!(outcome(&chars.iter().collect::<String>()), "pass");
    }

    #[test]
    fn another_token_always_voids(at in 0..TOKEN.len(), other in any::<char>()) {
        prop_assume!(TOKEN.as_bytes()[at] != u8::try_from(other).unwrap_or(0));
        let mut token = TOKEN.to_owned();
        token.replace_range(at..=at, &other.to_string());
        for answer in [pass_block(), fail_block(), skip_block()] {
            prop_assert!(read(&answer.replace(TOKEN, &token)).is_err());
        }
    }
}
