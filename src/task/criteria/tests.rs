use super::OddityKind as K;
use super::*;
use crate::task::text::Text;
use proptest::prelude::*;

fn criteria(text: &str) -> Criteria {
    read(&Document::read(Text::read(text.as_bytes()).unwrap().lines()))
}

fn section(lines: &str) -> Criteria {
    criteria(&format!("## Acceptance criteria\n{lines}"))
}

fn texts(found: &Criteria) -> Vec<&str> {
    found.list.iter().map(|c| c.criterion.text.as_str()).collect()
}

fn kinds(found: &Criteria) -> Vec<OddityKind> {
    found.oddities.iter().map(|o| o.id).collect()
}

/// D20.
#[test]
fn a_criterion_is_its_whole_wrapped_text() {
    let found = section(
        "- [ ] one\n      goes on\tand   on\n- [x] two\nlazily\n\n- [X] three\n\n  second paragraph\n\nProse.\n- [ ] four\n",
    );
    assert_eq!(texts(&found), ["one goes on and on", "two lazily", "three second paragraph", "four"]);
    let shape: Vec<_> =
        found.list.iter().map(|c| (c.criterion.number, c.line, c.last_line, c.ticked, c.is_wrapped())).collect();
    assert_eq!(
        shape,
        [(1, 2, 3, false, true), (2, 4, 5, true, true), (3, 7, 9, true, true), (4, 12, 12, false, false)]
    );
    assert_eq!(kinds(&found), []);
}

/// K1, and the marker on a wrapped line.
#[test]
fn k1_the_human_eye_marker_is_found_wherever_it_stands() {
    let found = section(
        "- [ ] looks right [human-eye]\n- [ ] looks right **[HUMAN-EYE]**\n- [ ] [Human-Eye] looks\n- [ ] long\n  line [human-eye]\n- [ ] plain\n",
    );
    let eyes: Vec<_> = found.list.iter().map(|c| c.criterion.kind == Kind::HumanEye).collect();
    assert_eq!(eyes, [true, true, true, true, false]);
}

#[test]
fn a_quoted_marker_is_no_marker_and_a_proof_on_a_marked_criterion_is_reported() {
    let found = section(
        "- [ ] parses `[human-eye]`\n- [ ] nice, test: `x` [human-eye]\n- [ ] nice [human-eye] test: `x`\n- [ ] a ` [human-eye]\n",
    );
    assert_eq!(
        found.list.iter().map(|c| c.criterion.kind == Kind::HumanEye).collect::<Vec<_>>(),
        [false, true, true, true]
    );
    assert_eq!(kinds(&found), [K::QuotedMarker, K::ProofOnHumanEye]);
}

/// K2.
#[test]
fn k2_the_section_ends_at_the_next_heading_of_its_level() {
    assert_eq!(criteria("## Why\n- [ ] no\n").list, []);
    let found = criteria("## acceptance CRITERIA\n- [ ] a\n### Sub\nwords\n- [ ] b\n## Notes\n- [ ] no\n");
    assert_eq!(texts(&found), ["a", "b"]);
    assert_eq!(texts(&criteria("# Acceptance criteria\n- [ ] a\n# Next\n- [ ] no\n")), ["a"]);
}

/// D21.
#[test]
fn d21_suffix_headings_odd_marks_and_nested_boxes_are_read_and_reported() {
    let found = criteria(
        "## Acceptance criteria (end to end)\n- [~] half\n- [x] parent:\n  - [ ] child\n    wraps\n  - detail\n* [ ] star\n1. [ ] number\n  - [ ] under number\n",
    );
    assert_eq!(texts(&found), ["half", "parent: - detail", "child wraps", "star", "number", "under number"]);
    let flags: Vec<_> = found.list.iter().map(|c| (c.mark, c.ticked, c.nested, c.last_line)).collect();
    assert_eq!(
        flags,
        [
            (Some('~'), false, false, 2),
            (Some('x'), true, false, 6),
            (Some(' '), false, true, 5),
            (Some(' '), false, false, 7),
            (Some(' '), false, false, 9),
            (Some(' '), false, true, 9),
        ]
    );
    assert_eq!(kinds(&found), [K::SectionHeading, K::OddMark, K::NestedBox, K::OddBullet, K::OddBullet, K::NestedBox]);
}

#[test]
fn several_sections_all_count_and_near_names_do_not() {
    let found = criteria(
        "## Acceptance criteria\n- [ ] a\n## Acceptance criteria: more\n- [ ] b\n## Acceptance criteria-like\n- [ ] no\n",
    );
    assert_eq!(texts(&found), ["a", "b"]);
    assert_eq!(kinds(&found), [K::SectionHeading, K::SeveralSections]);
}

#[test]
fn bullets_without_a_box_count_and_links_are_no_boxes() {
    let found = section("- plain\n- [x](url) link\n-[ ] tight\n- []\n");
    assert_eq!(texts(&found), ["plain", "[x](url) link", "tight", ""]);
    assert_eq!(found.list.iter().map(|c| c.mark).collect::<Vec<_>>(), [None, None, Some(' '), Some(' ')]);
    assert_eq!(kinds(&found), [K::NoBox, K::NoBox, K::EmptyCriterion]);
}

#[test]
fn code_comments_and_quotations_hold_no_criteria() {
    let found = section(
        "```\n- [ ] no\n## Notes\n```\n<!--\n- [ ] no\n-->\n> - [ ] no\n- [ ] yes\n  ```\n  - [ ] part\n  ```\n- [ ] two\n",
    );
    assert_eq!(texts(&found), ["yes ``` - [ ] part ```", "two"]);
    assert_eq!(kinds(&found), [K::HiddenBox, K::HiddenBox, K::HiddenBox]);
    let open = section("- [ ] a\n\n```\n- [ ] seen\n");
    assert_eq!((texts(&open), kinds(&open)), (vec!["a", "seen"], vec![K::UnclosedBlock]));
}

#[test]
fn proofs_are_read_from_the_wrapped_end_and_bad_ones_leave_the_criterion_to_judgment() {
    let found = section(
        "- [ ] adds\n  two. test:\n  `adds two`\n- [ ] page (file: ../x)\n- [ ] maybe test: adds\n- [ ] words \u{202e}\n",
    );
    assert_eq!(found.list[0].criterion.kind, Kind::Checkable(vec![Proof::Test { name: "adds two".into() }]));
    assert!(found.list[1..].iter().all(|c| c.criterion.kind == Kind::Judged));
    assert_eq!(kinds(&found), [K::BadProof, K::UnreadProof, K::HiddenCharacters]);
}

#[test]
fn a_nested_proof_belongs_to_its_own_box() {
    let found = section("- [ ] both:\n  - [ ] one, test: `a`\n  - [ ] two [human-eye]\n");
    assert_eq!(found.list[0].criterion.kind, Kind::Judged);
    assert!(matches!(found.list[1].criterion.kind, Kind::Checkable(_)));
    assert_eq!(found.list[2].criterion.kind, Kind::HumanEye);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn reading_never_panics_and_texts_are_folded(lines in proptest::collection::vec("[-*+ \\t#>`~\\[\\]xé1.)(a:<!]{0,14}", 0..20)) {
        let found = section(&lines.join("\n"));
        for (number, bullet) in (1..).zip(&found.list) {
            prop_assert_eq!(bullet.criterion.number, number);
            prop_assert!(bullet.last_line >= bullet.line);
            let folded = bullet.criterion.text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(&folded, &bullet.criterion.text);
        }
    }

    #[test]
    fn every_box_in_column_one_is_a_criterion(words in proptest::collection::vec("[a-z]{1,8}( [a-z]{1,8}){0,3}", 1..8), width in 1usize..12) {
let lines: Vec<String> =
            words.iter().map(|w| format!("- [ ] {}", w.replacen(' ', &format!("\n{}", " ".repeat(width)), 1))).collect();
        let found = section(&lines.join("\n"));
        prop_assert_eq!(found.list.iter().map(|c| c.criterion.text.clone()).collect::<Vec<_>>(), words);
    }
}

#[test]
fn code_spans_are_taken_out_as_markdown_pairs_them() {
    for (text, want) in [
        ("a `b` c", "a  c"),
        ("``a ` b`` c", " c"),
        ("a `b", "a `b"),
        ("a ``b` c", "a ``b` c"),
        ("`a` ```b` `c`", " ```bc`"),
        ("```a `b` c", "```a  c"),
    ] {
        assert_eq!(outside_code(text), want, "{text}");
    }
}
