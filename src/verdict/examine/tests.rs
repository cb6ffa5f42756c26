use super::super::fixture::*;
use super::super::hear;
use super::*;
use crate::receipts::HeardRecord;

fn cited(number: u32, cited: &str) -> Evidence {
    let record = crate::receipts::EvidenceRecord {
        criterion: number,
        covered_by: cited.split(", ").map(str::to_owned).collect(),
    };
    Evidence::from_record(&record).unwrap()
}

const EYE: &str = "builder eye-check pending";
const GOOD: &str = "test:limits::rejects_zero";

fn codes_with(facts: Vec<Fact>, covers: [&str; 3]) -> Vec<&'static str> {
    let evidence = covers.iter().zip(1..).map(|(cover, number)| cited(number, cover)).collect();
    let exists = |path: &RepoPath| match path.as_str() {
        Some("README.md") => Some(true),
        Some("gone.md") => Some(false),
        _ => None,
    };
    let objections = cross_examine(&Verdict::Pass { evidence }, &number(facts), &exists);
    objections.into_iter().map(|objection| objection.code).collect()
}

fn codes(cover: &str) -> Vec<&'static str> {
    codes_with(honest(), [cover, GOOD, EYE])
}

#[test]
fn every_citation_is_held_against_the_receipts() {
    for (cover, expected) in [
        (GOOD, vec![]),
        ("test:rejects_zero", vec![]),
        ("test:verdict_fail_path, file:src/limits.rs, run:cargo test", vec![]),
        ("test:limits::is_red", vec!["test-not-passed"]),
        ("test:limits::is_skipped", vec!["test-not-passed"]),
        ("test:limits::imagined", vec!["test-not-run"]),
        ("test:same", vec![]),
        ("test:mixed", vec!["test-ambiguous"]),
        ("test:a::same", vec![]),
        ("file:src/new.rs", vec![]),
        ("file:README.md", vec!["unchanged-evidence"]),
        ("file:README.md, file:src/limits.rs", vec![]),
        ("file:README.md, test:limits::rejects_zero", vec![]),
        ("file:gone.md", vec!["file-missing"]),
        ("file:src/old.rs", vec!["file-missing"]),
        ("file:src/former.rs", vec!["file-missing"]),
        ("file:../etc/passwd", vec!["file-missing"]),
        ("file:bad\\q", vec!["file-missing"]),
        ("file:other.rs", vec!["file-unknown"]),
        ("run:make red", vec!["run-failed"]),
        ("run:cargo test --all", vec!["run-not-run"]),
        (EYE, vec!["eye-check-misused"]),
        ("test:x, file:gone.md", vec!["test-not-run", "file-missing"]),
    ] {
        assert_eq!(codes(cover), expected, "{cover}");
    }
    assert_eq!(codes_with(honest(), [GOOD, GOOD, GOOD]), ["human-eye-proxied"]);
}

#[test]
fn a_test_counts_only_in_a_complete_run_of_ours_on_the_claims_tree() {
    let changed = |change: fn(&mut Fact)| {
        let mut facts = honest();
        facts.iter_mut().for_each(change);
        codes_with(facts, [GOOD, GOOD, EYE])
    };
    let incomplete = changed(|fact| {
        if let Fact::Tests(tests) = fact {
            tests.complete = false;
        }
    });
    let elsewhere = changed(|fact| {
        if let Fact::Tests(tests) = fact {
            tests.tree = tree('e');
        }
    });
    let foreign = changed(|fact| {
        if let Fact::Tests(tests) = fact {
            tests.command = 77;
        }
    });
    let other_command = changed(|fact| {
        if let Fact::Command(command) = fact {
            command.tree = tree('e');
        }
    });
    for codes in [incomplete, elsewhere, foreign, other_command] {
        assert_eq!(codes, ["test-not-run", "test-not-run"]);
    }
}

#[test]
fn a_failure_in_another_run_outweighs_a_pass() {
    for complete in [true, false] {
        let mut facts = honest();
        let red = tests(8, complete, vec![case("limits::rejects_zero", CaseResult::Failed)]);
        facts.insert(11, Fact::Tests(red));
        assert_eq!(codes_with(facts, [GOOD, GOOD, EYE]), ["test-not-passed", "test-not-passed"]);
    }
}

#[test]
fn a_checkable_criterion_needs_its_own_proof() {
    for (record, expected) in [
        (Some(proved(Some(true), Some(false))), vec![]),
        (Some(proved(Some(false), Some(false))), vec!["proof-false"]),
        (Some(proved(None, None)), vec!["proof-unknown"]),
        (None, vec!["proof-unknown"]),
    ] {
        let mut facts = honest();
        facts.splice(10..11, record);
        assert_eq!(codes_with(facts, [GOOD, GOOD, EYE]), expected);
    }
    let mut both = honest();
    both.insert(11, proved(None, None));
    assert_eq!(codes_with(both, [GOOD, GOOD, EYE]), ["proof-unknown"]);
}

#[test]
fn a_cited_proof_whose_receipts_hold_needs_no_second_look() {
    let group = || Proof::Test { name: "a group of tests".into() };
    let with = |on_claim| {
        let mut facts = honest();
        facts[3] = task(
            "feature",
            vec![
                judged(1, "zero is rejected"),
                criterion(2, "the limit is tested", Kind::Checkable(vec![group()])),
                criterion(3, "it looks right", Kind::HumanEye),
            ],
        );
        if let Fact::Proof(record) = &mut facts[10] {
            record.proof = group();
            record.on_claim = on_claim;
        }
        codes_with(facts, [GOOD, "test:a group of tests", EYE])
    };
    assert!(with(Some(true)).is_empty());
    assert_eq!(with(Some(false)), ["test-not-run", "proof-false"]);
    assert_eq!(with(None), ["test-not-run", "proof-unknown"]);
}

#[test]
fn a_reading_verifier_must_have_seen_every_changed_text() {
    let asked = |verifier: &str, code, opened: &[&str]| {
        let mut facts = honest();
        let mut record = consulted(verifier, code);
        record.not_shown = vec!["src/big.rs".into(), "src/limits.rs".into()];
        record.opened = opened.iter().map(|path| RepoPath::from(*path)).collect();
        *facts.last_mut().unwrap() = Fact::Consulted(record);
        codes_with(facts, [GOOD, GOOD, EYE])
    };
    assert_eq!(asked("command", Some(0), &[]), ["not-shown"]);
    assert_eq!(asked("command", Some(0), &["src/big.rs"]), ["not-shown"]);
    assert!(asked("command", Some(0), &["src/limits.rs", "src/big.rs"]).is_empty());
    assert!(asked("mechanical", None, &[]).is_empty());
    assert_eq!(asked("mechanical", Some(0), &[]), ["not-shown",], "a process of that name is not the embedded one");
}

#[test]
fn the_embedded_verifier_needs_a_proof_that_the_base_lacks() {
    let mut facts = honest();
    *facts.last_mut().unwrap() = Fact::Consulted(consulted("mechanical", None));
    assert!(codes_with(facts.clone(), [GOOD, GOOD, EYE]).is_empty());
    facts[10] = proved(Some(true), Some(true));
    assert_eq!(codes_with(facts.clone(), [GOOD, GOOD, EYE]), ["nothing-new"]);
    facts[10] = proved(Some(true), None);
    assert_eq!(codes_with(facts, [GOOD, GOOD, EYE]), ["nothing-new"]);
}

#[test]
fn a_fail_and_a_skip_are_not_examined() {
    let skip = Verdict::Skip { reason: "prose".into() };
    assert!(cross_examine(&skip, &[], &|_| None).is_empty());
    let pass = Verdict::Pass { evidence: vec![] };
    assert_eq!(cross_examine(&pass, &[], &|_| None)[0].code, "receipts-missing");
    let lines = cross_examine(&pass, &number(honest()), &|_| None);
    assert_eq!(lines.len(), 3, "one objection for each criterion without a line");
}

#[test]
fn an_answer_is_heard_only_from_a_verifier_that_ended_well_and_touched_nothing() {
    let heard = |record: ConsultedRecord, answer: &str| {
        let mut facts = honest();
        *facts.last_mut().unwrap() = Fact::Consulted(record);
        hear(answer.as_bytes(), &number(facts), &|_| None)
    };
    assert!(matches!(heard(consulted("command", Some(0)), &pass_block()), HeardRecord::Pass { .. }));
    assert!(matches!(heard(consulted("command", Some(1)), &pass_block()), HeardRecord::NoAnswer { .. }));
    assert!(matches!(heard(consulted("command", None), &pass_block()), HeardRecord::NoAnswer { .. }));
    assert!(matches!(heard(consulted("mechanical", None), &pass_block()), HeardRecord::Pass { .. }));
    let mut touched = consulted("command", Some(0));
    touched.trespasses = vec!["refs/heads/main".into()];
    assert!(matches!(heard(touched, &pass_block()), HeardRecord::Trespassed { .. }));
    let imagined = pass_block().replace("rejects_zero, ", "imagined, ");
    let HeardRecord::Unusable { codes, detail } = heard(consulted("command", Some(0)), &imagined) else { panic!() };
    assert_eq!(codes, ["test-not-run"]);
    assert!(detail[0].starts_with("C1: "), "{detail:?}");
    let HeardRecord::Fail { reasons, .. } = heard(consulted("command", Some(0)), &fail_block()) else { panic!() };
    assert_eq!(reasons, ["zero is accepted", "[ask-user] two limits are named"]);
}

#[test]
fn without_a_task_a_token_or_a_consultation_nothing_is_heard() {
    let without = |skip: fn(&Fact) -> bool| {
        let facts = honest().into_iter().filter(|fact| !skip(fact)).collect();
        hear(pass_block().as_bytes(), &number(facts), &|_| None)
    };
    assert!(matches!(without(|f| matches!(f, Fact::Consulted(_))), HeardRecord::NotAsked { .. }));
    for heard in [without(|f| matches!(f, Fact::Task(_))), without(|f| matches!(f, Fact::Token { .. }))] {
        let HeardRecord::Unusable { codes, .. } = heard else { panic!() };
        assert_eq!(codes, ["no-expectation"]);
    }
}

#[test]
fn a_pass_of_a_feature_needs_one_cited_test_that_bites() {
    use crate::receipts::{Bite, BiteClass, BitesRecord};
    let bite = |name: &str, class| Bite {
        test: case(name, CaseResult::Passed),
        class,
        observed: String::new(),
        noticed: None,
        weak: false,
    };
    let heard = |kind: &str, classes: &[(&str, BiteClass)], cited: &str| {
        let mut facts = honest();
        facts[3] = task(kind, vec![judged(1, "zero is rejected")]);
        facts.retain(|fact| !matches!(fact, Fact::Proof(_)));
        let tests = classes.iter().map(|(name, class)| bite(name, *class)).collect();
        let record =
            BitesRecord { tree: tree('d'), hybrids: vec![], tests, cited: vec![], mutation: None, receipts: vec![] };
        facts.insert(10, Fact::Bites(record));
        let answer = block("PASS", &format!("EVIDENCE:\n- C1 zero is rejected — covered by {cited}\n"));
        hear(answer.as_bytes(), &number(facts), &|_| None)
    };
    let refused =
        |heard: HeardRecord| matches!(heard, HeardRecord::Unusable { codes, .. } if codes == ["no-biting-test"]);
    let guards = [("limits::rejects_zero", BiteClass::Guards), ("a::same", BiteClass::Bites)];
    assert!(refused(heard("feature", &guards, "test:limits::rejects_zero")));
    assert!(refused(heard("bug", &guards, "test:verdict_fail_path")));
    for (kind, cited) in [
        ("feature", "test:limits::rejects_zero, test:a::same"),
        ("feature", "test:limits::rejects_zero, file:src/limits.rs"),
        ("refactor", "test:limits::rejects_zero"),
    ] {
        assert!(matches!(heard(kind, &guards, cited), HeardRecord::Pass { .. }), "{kind} {cited}");
    }
    assert!(matches!(heard("feature", &[], "test:limits::rejects_zero"), HeardRecord::Pass { .. }));
}

#[test]
fn a_test_that_passed_on_the_base_shows_nothing_new_where_no_new_test_was_tried() {
    let heard = |kind: &str, text: &str, cited: &str| {
        let mut facts = honest();
        facts[3] = task(kind, vec![judged(1, text)]);
        facts.retain(|fact| !matches!(fact, Fact::Proof(_) | Fact::Bites(_)));
        let at = facts.iter().position(|fact| matches!(fact, Fact::Tests(_))).unwrap();
        let Fact::Tests(mut before) = facts[at].clone() else { unreachable!() };
        before.tree = tree('b');
        facts.insert(at + 1, Fact::Tests(before));
        let answer = block("PASS", &format!("EVIDENCE:\n- C1 {text} — covered by {cited}\n"));
        hear(answer.as_bytes(), &number(facts), &|_| None)
    };
    let zero = "zero is rejected";
    let refused = heard("feature", zero, "test:limits::rejects_zero");
    assert!(matches!(&refused, HeardRecord::Unusable { codes, .. } if codes == &["no-biting-test"]), "{refused:?}");
    for (kind, text, cited) in [
        ("feature", zero, "test:limits::rejects_zero, file:src/limits.rs"),
        ("refactor", zero, "test:limits::rejects_zero"),
        ("feature", "zero is still rejected", "test:limits::rejects_zero"),
    ] {
        let found = heard(kind, text, cited);
        assert!(matches!(found, HeardRecord::Pass { .. }), "{kind} {text} {cited}: {found:?}");
    }
}
