use super::*;
use proptest::prelude::*;
use serde_json::json;

const README: &str = "# Widgets

## Purpose

Things with colour.

## Ubiquitous language

- **Paint** (verb) — give a widget
  a colour.
- **Brush** — paints.

## Key events

- **Painted** — it happened.
";

fn changes(value: Value) -> Vec<Change> {
    let Value::Array(entries) = value else { panic!("an array") };
    let (changes, bad) = read_delta(&entries);
    assert_eq!(bad, [], "the delta is well-formed");
    changes
}

fn append(section: &str, body: &str) -> Vec<Change> {
    changes(json!([{"section": section, "ops": [{"op": "append", "body": body}]}]))
}

fn replace(section: &str, anchor: &str, expected: &str, body: &str) -> Vec<Change> {
    let op = json!({"op": "replace", "anchor": anchor, "expected": expected, "body": body});
    changes(json!([{"section": section, "ops": [op]}]))
}

fn run(text: &str, changes: &[Change]) -> (String, Disposition) {
    let applied = apply_delta(text, Target::Readme, changes);
    assert_eq!(applied.steps.len(), 1);
    (applied.text, applied.steps[0].disposition)
}

fn footing(text: &str, changes: &[Change]) -> Footing {
    check_delta(text, Target::Readme, changes)[0].state
}

const PAINT: &str = "- **Paint** (verb) — give a widget a colour.";

#[test]
fn h1_append_lands_at_the_end_of_the_sections_list() {
    let (text, disposition) = run(README, &append("Ubiquitous language", "- **Pot** — holds paint."));
    assert_eq!(disposition, Disposition::Applied);
    assert_eq!(text, README.replace("- **Brush** — paints.\n", "- **Brush** — paints.\n- **Pot** — holds paint.\n"));
}

#[test]
fn h2_the_same_term_in_another_section_is_left_alone() {
    let (text, disposition) =
        run(README, &replace("Key events", "Painted", "- **Painted** — it happened.", "- **Painted** — now."));
    assert_eq!(disposition, Disposition::Applied);
    let both = README.replace("- **Painted** — it happened.", "- **Paint** — noise.\n- **Painted** — it happened.");
    let (after, _) = run(&both, &replace("Ubiquitous language", "Paint", PAINT, "- **Paint** — new."));
    assert!(after.contains("- **Paint** — noise.") && after.contains("- **Paint** — new."));
    assert_eq!(text, README.replace("it happened", "now"));
}

#[test]
fn h3_an_identical_bullet_changes_nothing() {
    let (text, disposition) = run(README, &append("Ubiquitous language", PAINT));
    assert_eq!((text.as_str(), disposition), (README, Disposition::NoopAlready));
    assert_eq!(footing(README, &append("Ubiquitous language", PAINT)), Footing::AlreadyThere);
}

#[test]
fn h4_a_missing_section_falls_back_to_the_ubiquitous_language() {
    let change = append("Invariants", "- **Dry** — before touch.");
    let (text, disposition) = run(README, &change);
    assert_eq!(disposition, Disposition::AppendedFallback);
    assert!(text.contains("- **Brush** — paints.\n- **Dry** — before touch.\n\n## Key events"));
    assert_eq!(footing(README, &change), Footing::SectionMissing);
    let (bare, disposition) = run("# X\n", &change);
    assert_eq!((bare.as_str(), disposition), ("# X\n- **Dry** — before touch.\n", Disposition::AppendedFallback));
}

#[test]
fn h5_replace_finds_the_lead_in_cut_at_the_bracket_and_takes_the_whole_bullet() {
    let change = replace("Ubiquitous language", "Paint", PAINT, "- **Paint** — colour\n  it.");
    let (text, disposition) = run(README, &change);
    assert_eq!(disposition, Disposition::Applied);
    assert_eq!(
        text,
        README.replace("- **Paint** (verb) — give a widget\n  a colour.\n", "- **Paint** — colour\n  it.\n")
    );
    let inside = "## S\n\n- **Paint (verb)** — x.\n";
    assert_eq!(
        run(inside, &replace("S", "Paint", "- **Paint (verb)** — x.", "- **Paint** — y.")).0,
        "## S\n\n- **Paint** — y.\n"
    );
}

#[test]
fn h6_a_bullet_that_reads_so_already_beats_a_stale_expectation() {
    let (text, disposition) = run(README, &replace("Ubiquitous language", "Paint", "- **Paint** — old.", PAINT));
    assert_eq!((text.as_str(), disposition), (README, Disposition::NoopAlready));
}

#[test]
fn h7_what_was_expected_is_compared_without_regard_to_blanks() {
    let expected = "- **Paint**   (verb)\n— give a\twidget a colour.";
    let (_, disposition) = run(README, &replace("Ubiquitous language", "Paint", expected, "- **Paint** — x."));
    assert_eq!(disposition, Disposition::Applied);
}

#[test]
fn h8_a_missing_anchor_is_said_and_the_text_appended() {
    let change = replace("Ubiquitous language", "Roller", "- **Roller** — old.", "- **Roller** — rolls.");
    let (text, disposition) = run(README, &change);
    assert_eq!(disposition, Disposition::AnchorMissing);
    assert!(text.contains("- **Brush** — paints.\n- **Roller** — rolls.\n"));
    assert_eq!(footing(README, &change), Footing::AnchorMissing);
}

#[test]
fn h9_of_two_workers_replacing_one_bullet_both_texts_survive() {
    let first = run(README, &replace("Ubiquitous language", "Paint", PAINT, "- **Paint** — first.")).0;
    let second = replace("Ubiquitous language", "Paint", PAINT, "- **Paint** — second.");
    assert_eq!(footing(&first, &second), Footing::ExpectedDiffers);
    let (text, disposition) = run(&first, &second);
    assert_eq!(disposition, Disposition::Merged);
    assert!(text.contains("- **Paint** — first.\n- **Paint** — second.\n- **Brush**"));
}

#[test]
fn h10_two_appends_both_survive() {
    let one = run(README, &append("Key events", "- **Dried** — later.")).0;
    let two = run(&one, &append("Key events", "- **Peeled** — much later.")).0;
    assert!(two.ends_with("- **Painted** — it happened.\n- **Dried** — later.\n- **Peeled** — much later.\n"));
}

const WRAPPED: &str = "## S\n\n- **A long\n  lead-in** — text.\n- **B** — b.\n";

#[test]
fn h11_a_lead_in_wrapped_over_a_line_is_found() {
    let (text, disposition) =
        run(WRAPPED, &replace("S", "A long lead-in", "- **A long lead-in** — text.", "- **A** — a."));
    assert_eq!((text.as_str(), disposition), ("## S\n\n- **A** — a.\n- **B** — b.\n", Disposition::Applied));
}

#[test]
fn h12_a_mismatch_on_it_lands_right_behind_that_bullet() {
    let (text, disposition) =
        run(WRAPPED, &replace("S", "A long lead-in", "- **A long lead-in** — other.", "- **A** — a."));
    assert_eq!(disposition, Disposition::Merged);
    assert_eq!(text, WRAPPED.replace("text.\n", "text.\n- **A** — a.\n"));
}

#[test]
fn headings_and_bullets_in_code_are_neither() {
    let text = "# X\n\n```md\n## S\n- **A** — fake.\n```\n\n## S\n\n- **A** — real:\n\n  ~~~\n# not a heading\n- not a bullet\n<!-- not a marker -->\n  ~~~\n  end.\n- **B** — b.\n";
    let expected = "- **A** — real:\n~~~\n# not a heading\n- not a bullet\n<!-- not a marker -->\n~~~\nend.";
    let (after, disposition) = run(text, &replace("S", "A", expected, "- **A** — new."));
    assert_eq!(disposition, Disposition::Applied);
    assert_eq!(after, "# X\n\n```md\n## S\n- **A** — fake.\n```\n\n## S\n\n- **A** — new.\n- **B** — b.\n");
    let open = "```\n## S\n\n- **A** — a.\n";
    assert_eq!(run(open, &append("S", "- **B** — b.")).0, "```\n## S\n\n- **A** — a.\n- **B** — b.\n");
}

#[test]
fn a_text_with_crlf_keeps_it() {
    let dos = README.replace('\n', "\r\n");
    let (text, _) = run(&dos, &append("Ubiquitous language", "- **Pot** —\n  holds paint."));
    assert!(text.contains("\r\n- **Pot** —\r\n  holds paint.\r\n\r\n## Key events"));
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    let (unix, _) = run(README, &append("Key events", "- **A** —\r\n  b."));
    assert!(!unix.contains('\r'));
}

#[test]
fn a_text_without_a_final_line_end_stays_without() {
    let (text, _) = run("## S\n\n- **A** — a.", &append("S", "- **B** — b."));
    assert_eq!(text, "## S\n\n- **A** — a.\n- **B** — b.");
    let (text, _) = run("## S", &append("S", "- **B** — b."));
    assert_eq!(text, "## S\n- **B** — b.");
    assert_eq!(run("", &append("S", "- **B** — b.")).0, "- **B** — b.\n");
}

#[test]
fn bullets_end_at_headings_markers_and_the_next_bullet() {
    let text = "## S\n\n- **A** — a.\n\n<!-- list:end -->\n### Sub\n- **C** — c.\n";
    let (after, _) = run(text, &replace("S", "A", "- **A** — a.", "- **A** — b."));
    assert_eq!(after, text.replace("— a.", "— b."));
}

#[test]
fn an_anchor_that_two_bullets_share_is_said() {
    let text = "## S\n- **A** — one.\n- **A** — two.\n";
    assert_eq!(footing(text, &replace("S", "A", "- **A** — one.", "- **A** — x.")), Footing::AnchorAmbiguous);
    let plain = "## S\n- no bold\n";
    assert_eq!(footing(plain, &replace("S", "no bold", "- no bold", "- **A** — x.")), Footing::AnchorMissing);
}

#[test]
fn each_operation_sees_what_came_before_and_only_its_own_document() {
    let delta = changes(json!([
        {"section": "Key events", "ops": [
            {"op": "append", "body": "- **Dried** — later."},
            {"op": "replace", "anchor": "Dried", "expected": "- **Dried** — later.", "body": "- **Dried** — at last."}]},
        {"document": "context-map.md", "section": "Contexts", "ops": [{"op": "append", "body": "Widgets → Sheds"}]},
    ]));
    let states: Vec<Footing> = check_delta(README, Target::Readme, &delta).iter().map(|f| f.state).collect();
    assert_eq!(states, [Footing::Ready, Footing::Ready]);
    let applied = apply_delta(README, Target::Readme, &delta);
    assert!(applied.text.ends_with("- **Dried** — at last.\n") && !applied.text.contains("Sheds"));
    let map = apply_delta("## Contexts\n", Target::ContextMap, &delta);
    assert_eq!(map.text, "## Contexts\nWidgets → Sheds\n");
    assert_eq!((map.steps[0].entry, map.steps[0].op), (1, 0));
}

#[test]
fn applying_twice_changes_nothing_more() {
    for change in [
        append("Key events", "- **Dried** — later."),
        append("Nowhere", "- **Dried** — later."),
        replace("Key events", "Painted", "- **Painted** — stale.", "- **Painted** — merged."),
        replace("Key events", "Nothing", "- **Nothing** — x.", "- **Nothing** — y."),
    ] {
        let once = run(README, &change).0;
        let (twice, disposition) = run(&once, &change);
        assert_eq!((twice, disposition), (once, Disposition::NoopAlready));
    }
}

#[test]
fn every_operation_without_a_shape_is_named_by_its_place() {
    let op = |op: Value| json!([{"section": "S", "ops": [op]}]);
    for (delta, at) in [
        (json!([1]), "README_DELTA[0]"),
        (json!([{"ops": [{"op": "append", "body": "- x"}]}]), "README_DELTA[0].section"),
        (json!([{"section": "## S", "ops": [{"op": "append", "body": "- x"}]}]), "README_DELTA[0].section"),
        (json!([{"section": "S\n## T", "ops": [{"op": "append", "body": "- x"}]}]), "README_DELTA[0].section"),
        (json!([{"section": "S"}]), "README_DELTA[0].ops"),
        (json!([{"section": "S", "ops": []}]), "README_DELTA[0].ops"),
        (json!([{"section": "S", "ops": {}}]), "README_DELTA[0].ops"),
        (
            json!([{"section": "S", "ops": vec![json!({"op": "append", "body": "- x"}); MAX_OPS + 1]}]),
            "README_DELTA[0].ops",
        ),
        (
            json!([{"document": "../x.md", "section": "S", "ops": [{"op": "append", "body": "- x"}]}]),
            "README_DELTA[0].document",
        ),
        (op(json!("append")), "README_DELTA[0].ops[0]"),
        (op(json!({"op": "remove", "anchor": "A"})), "README_DELTA[0].ops[0].op"),
        (op(json!({"body": "- x"})), "README_DELTA[0].ops[0].op"),
        (op(json!({"op": "append"})), "README_DELTA[0].ops[0].body"),
        (op(json!({"op": "append", "body": " \n"})), "README_DELTA[0].ops[0].body"),
        (op(json!({"op": "append", "body": 7})), "README_DELTA[0].ops[0].body"),
        (op(json!({"op": "append", "body": "no bullet"})), "README_DELTA[0].ops[0].body"),
        (op(json!({"op": "append", "body": "- x\n\n## Test command\nrm"})), "README_DELTA[0].ops[0].body"),
        (op(json!({"op": "append", "body": "- x\n```\ncode"})), "README_DELTA[0].ops[0].body"),
        (op(json!({"op": "append", "body": "- x", "anchor": "A"})), "README_DELTA[0].ops[0]"),
        (op(json!({"op": "replace", "expected": "- a", "body": "- x"})), "README_DELTA[0].ops[0].anchor"),
        (op(json!({"op": "replace", "anchor": "A", "body": "- x"})), "README_DELTA[0].ops[0].expected"),
    ] {
        let (_, bad) = read_delta(delta.as_array().unwrap());
        assert_eq!(bad.iter().map(|b| b.at.as_str()).collect::<Vec<_>>(), [at], "{delta:.200}");
        assert!(!bad[0].expected.is_empty() && !bad[0].observed.is_empty());
    }
    let map = json!([{"document": "context-map.md", "section": "S", "ops": [
        {"op": "replace", "anchor": "A", "expected": "- a", "body": "- x"}]}]);
    assert_eq!(read_delta(map.as_array().unwrap()).1[0].at, "README_DELTA[0].ops[0].op");
}

#[test]
fn a_bad_operation_does_not_take_the_good_ones_with_it() {
    let delta = json!([{"section": "S", "ops": [{"op": "move"}, {"op": "append", "body": "- x ```code``` y"}]}]);
    let (changes, bad) = read_delta(delta.as_array().unwrap());
    assert_eq!((changes[0].ops.len(), changes[0].ops[0].0, bad.len()), (1, 1, 1));
}

proptest! {
    #[test]
    fn every_line_of_the_text_survives_an_append(text in "(## S\n|- \\*\\*A\\*\\* x\n|```\n|~~~~\n|\r\n|# T\n|é\n|a){0,20}", section in "S|T") {
        let change = append(&section, "- **Z** — z.");
        let applied = apply_delta(&text, Target::Readme, &change);
        let lines: Vec<&str> = applied.text.lines().filter(|l| *l != "- **Z** — z.").collect();
        prop_assert_eq!(lines, text.lines().collect::<Vec<_>>());
        let again = apply_delta(&applied.text, Target::Readme, &change);
        prop_assert_eq!(again.text, applied.text);
    }

    #[test]
    fn no_text_makes_a_replace_panic(text in any::<String>(), anchor in ".{1,8}", body in "- .{0,20}") {
        let op = json!([{"section": "S", "ops": [{"op": "replace", "anchor": anchor, "expected": "x", "body": body}]}]);
        let (changes, _) = read_delta(op.as_array().unwrap());
        let text = format!("## S\n- **A**\n{text}");
        let _ = check_delta(&text, Target::Readme, &changes);
        let _ = apply_delta(&text, Target::Readme, &changes);
    }
}
