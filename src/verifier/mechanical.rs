//! The embedded verifier: it knows receipts and nothing else.
//!
//! It answers in the same words as any other verifier and is cross-examined like one. It says PASS only where receipts
//! decide everything (RULINGS 12), and abstains where an opinion would be needed.

use crate::receipts::{BiteClass, BitesRecord, Fact, ProofRecord, Receipt, TaskRecord};
use crate::task::promise::{Promise, is_guard};
use crate::task::{Criterion, Kind, Proof};
use std::fmt::Write as _;

/// The name under which it is recorded.
pub const NAME: &str = "mechanical";

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MechanicalAnswer {
    /// A verdict, in the strict form.
    Verdict(String),
    /// What it cannot judge, one sentence each; never empty.
    Abstained(Vec<String>),
}

/// What the receipts say about one criterion.
enum Word {
    Holds(Vec<String>),
    EyeCheck,
    Broken(Vec<String>),
    Open(String),
}

/// Answers from the ledger. `answer_id` is the task's id, else the case key.
pub fn answer(receipts: &[Receipt], answer_id: &str, token: &str) -> MechanicalAnswer {
    let task = receipts.iter().rev().find_map(|receipt| match &receipt.fact {
        Fact::Task(task) => Some(task),
        _ => None,
    });
    let Some(task) = task.filter(|task| !task.criteria.is_empty()) else {
        return MechanicalAnswer::Abstained(vec!["the ledger holds no criteria, so nothing can be judged".to_owned()]);
    };
    let proofs: Vec<&ProofRecord> = receipts
        .iter()
        .filter_map(|receipt| match &receipt.fact {
            Fact::Proof(proof) => Some(proof),
            _ => None,
        })
        .collect();
    let bites = receipts.iter().rev().find_map(|receipt| match &receipt.fact {
        Fact::Bites(bites) => Some(bites),
        _ => None,
    });
    let words: Vec<(&Criterion, Word)> =
        task.criteria.iter().map(|c| (c, strong_word((task, c), &proofs, bites))).collect();
    // A new test that also passes without the change is absent on the base, not false there (RULINGS 12).
    let fresh = proofs.iter().any(|proof| is_new(proof) && !only_guards(proof, bites));
    conclude(task, &words, (&proofs, fresh), &format!("TASK_ID: {answer_id}\nTOKEN: {token}\n"))
}

/// The word about a criterion, which stays open where its tests would notice nothing (issue B, part 7).
fn strong_word(
    (task, criterion): (&TaskRecord, &Criterion),
    proofs: &[&ProofRecord],
    bites: Option<&BitesRecord>,
) -> Word {
    match word(criterion, proofs) {
        Word::Holds(_) if bites.is_some_and(|bites| bites.is_weak(criterion.number)) => Word::Open(
            "weak: the tests it names fail on the base, but nothing shows that they would notice wrong code".to_owned(),
        ),
        Word::Holds(_) if is_unshown((task, criterion), proofs, bites) => Word::Open(
            "guards-only: no test it names was seen to fail without the change; name one that does, or say in the \
             criterion that something stays as it is"
                .to_owned(),
        ),
        word => word,
    }
}

/// True if a criterion of new behaviour rests on tests alone, and none of them tells the change from no change.
fn is_unshown(
    (task, criterion): (&TaskRecord, &Criterion),
    proofs: &[&ProofRecord],
    bites: Option<&BitesRecord>,
) -> bool {
    let Kind::Checkable(wanted) = &criterion.kind else { return false };
    let on_tests = wanted.iter().all(|proof| matches!(proof, Proof::Test { .. }));
    if !on_tests || is_guard(&criterion.text) || !Promise::of(&task.kind, &task.title).is_made() {
        return false;
    }
    // Absent from the base and not seen to fail there is no proof; an unchanged test that was red is one.
    let shows = |proof: &&&ProofRecord| {
        let Proof::Test { name } = &proof.proof else { return false };
        let class = bites.and_then(|bites| bites.class_of(criterion.number, name));
        is_new(proof) && class.is_none_or(BiteClass::is_proof)
    };
    let mut own = proofs.iter().filter(|proof| proof.criterion == criterion.number);
    let any_new = proofs.iter().any(|proof| is_new(proof));
    // Where no proof at all is new, that is said about the whole (RULINGS 12).
    any_new && !own.any(|proof| shows(&proof))
}

fn only_guards(proof: &ProofRecord, bites: Option<&BitesRecord>) -> bool {
    let Proof::Test { name } = &proof.proof else { return false };
    bites.is_some_and(|bites| bites.only_guards(proof.criterion, name))
}

fn conclude(
    task: &TaskRecord,
    words: &[(&Criterion, Word)],
    (proofs, fresh): (&[&ProofRecord], bool),
    head: &str,
) -> MechanicalAnswer {
    let (mut evidence, mut reasons, mut open) = (String::new(), String::new(), Vec::new());
    for (criterion, word) in words {
        let (number, text) = (criterion.number, one_line(&criterion.text));
        match word {
            Word::Holds(cited) => {
                let _ = writeln!(evidence, "- C{number} {text} — covered by {}", cited.join(", "));
            }
            Word::EyeCheck => {
                let _ = writeln!(evidence, "- C{number} {text} — covered by builder eye-check pending");
            }
            Word::Broken(what) => {
                for one in what {
                    let _ = writeln!(reasons, "- [fix] C{number}: {one}");
                }
            }
            Word::Open(why) => open.push(format!("C{number}: {why}")),
        }
    }
    // What is false stays false, whatever else is open.
    if !reasons.is_empty() {
        return MechanicalAnswer::Verdict(format!(
            "VERDICT: FAIL\n{head}REASONS:\n{reasons}SUGGESTED_FIX: Make each proof named above hold on the finished tree.\n\
             ITERATION_HINT: likely-fixable\n"
        ));
    }
    if task.criteria.iter().all(|c| c.kind == Kind::HumanEye) {
        open.push("every criterion waits for a person's eye; no receipt can decide it".to_owned());
    } else if open.is_empty() && !fresh {
        open.push(nothing_new(proofs));
    }
    if open.is_empty() {
        MechanicalAnswer::Verdict(format!("VERDICT: PASS\n{head}EVIDENCE:\n{evidence}"))
    } else {
        MechanicalAnswer::Abstained(open)
    }
}

/// False before, true now: it tells this change from no change.
fn is_new(proof: &ProofRecord) -> bool {
    proof.on_base == Some(false) && proof.on_claim == Some(true)
}

fn nothing_new(proofs: &[&ProofRecord]) -> String {
    if proofs.iter().any(|proof| is_new(proof)) {
        "every new test also passes without the change, so nothing shows that this change made the criteria true"
    } else if proofs.iter().any(|proof| proof.on_base.is_none()) {
        "whether any proof was false on the base was not found out, so nothing shows that this change made the criteria true"
    } else {
        "every proof held on the base already, so nothing shows that this change made the criteria true; \
         name a test or file that is new"
    }
    .to_owned()
}

fn word(criterion: &Criterion, proofs: &[&ProofRecord]) -> Word {
    let wanted = match &criterion.kind {
        Kind::HumanEye => return Word::EyeCheck,
        Kind::Judged => {
            return Word::Open("it needs a verifier that can judge; set `verifier` or pass --verifier".to_owned());
        }
        Kind::Checkable(wanted) if wanted.is_empty() => return Word::Open("it names no proof".to_owned()),
        Kind::Checkable(wanted) => wanted,
    };
    let (mut held, mut broken, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for proof in wanted {
        let mine: Vec<&&ProofRecord> =
            proofs.iter().filter(|p| p.criterion == criterion.number && p.proof == *proof).collect();
        let name = named(proof);
        match mine.as_slice() {
            [] => open.push(format!("no receipt for {name}")),
            all if all.iter().all(|p| p.on_claim == Some(true)) => held.push(name),
            all if all.iter().all(|p| p.on_claim == Some(false)) => {
                let observed = all.first().map(|p| one_line(&p.observed)).unwrap_or_default();
                broken.push(format!("{name} does not hold on the finished tree: {observed}"));
            }
            all if all.iter().any(|p| p.on_claim.is_none()) => {
                let observed =
                    all.iter().find(|p| p.on_claim.is_none()).map(|p| one_line(&p.observed)).unwrap_or_default();
                open.push(format!("{name} was not found out: {observed}"));
            }
            _ => open.push(format!("the receipts for {name} contradict each other")),
        }
    }
    if !broken.is_empty() {
        Word::Broken(broken)
    } else if !open.is_empty() {
        Word::Open(open.join("; "))
    } else {
        Word::Holds(held)
    }
}

/// The proof as a citation. Line ends would break the answer's form.
fn named(proof: &Proof) -> String {
    match proof {
        Proof::Test { name } => format!("test:{}", one_line(name)),
        Proof::File { path, .. } => format!("file:{path}"),
        Proof::Run { command } => format!("run:{}", one_line(command)),
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn test(name: &str) -> Proof {
        Proof::Test { name: name.to_owned() }
    }

    fn ledger(criteria: Vec<Kind>, proofs: Vec<(u32, Proof, Option<bool>, Option<bool>)>) -> Vec<Receipt> {
        let criteria =
            (1..).zip(criteria).map(|(number, kind)| Criterion { number, text: format!("It does {number}"), kind });
        let task = TaskRecord {
            id: Some("w-001".to_owned()),
            title: "T".to_owned(),
            kind: "feature".to_owned(),
            source: "base:x".to_owned(),
            digest: String::new(),
            criteria: criteria.collect(),
        };
        let proofs = proofs.into_iter().map(|(criterion, proof, on_base, on_claim)| {
            let observed = "seen".to_owned();
            Fact::Proof(ProofRecord { criterion, proof, on_claim, on_base, observed, receipts: Vec::new() })
        });
        let facts = std::iter::once(Fact::Task(task)).chain(proofs);
        (1..).zip(facts).map(|(id, fact)| Receipt { id, fact }).collect()
    }

    fn say(receipts: &[Receipt]) -> MechanicalAnswer {
        answer(receipts, "w-001", "abcd")
    }

    fn why_not(receipts: &[Receipt]) -> String {
        match say(receipts) {
            MechanicalAnswer::Abstained(why) => why.join("\n"),
            MechanicalAnswer::Verdict(text) => panic!("a verdict: {text}"),
        }
    }

    #[test]
    fn a_new_test_that_passes_is_a_pass_in_the_strict_form() {
        let file = Proof::File { path: "docs/a.md".into(), contains: None };
        let receipts = ledger(
            vec![Kind::Checkable(vec![test("m::new"), file.clone()]), Kind::HumanEye],
            vec![(1, test("m::new"), Some(false), Some(true)), (1, file, Some(true), Some(true))],
        );
        let expected = "VERDICT: PASS\nTASK_ID: w-001\nTOKEN: abcd\nEVIDENCE:\n\
             - C1 It does 1 — covered by test:m::new, file:docs/a.md\n\
             - C2 It does 2 — covered by builder eye-check pending\n";
        assert_eq!(say(&receipts), MechanicalAnswer::Verdict(expected.to_owned()));
    }

    #[test]
    fn a_proof_that_does_not_hold_fails_the_work_even_where_others_are_open() {
        let receipts = ledger(
            vec![Kind::Judged, Kind::Checkable(vec![test("m::new")])],
            vec![(2, test("m::new"), Some(false), Some(false))],
        );
        let MechanicalAnswer::Verdict(text) = say(&receipts) else { panic!("no verdict") };
        assert!(
            text.starts_with("VERDICT: FAIL\nTASK_ID: w-001\nTOKEN: abcd\nREASONS:\n- [fix] C2: test:m::new does not")
        );
        assert!(text.ends_with("ITERATION_HINT: likely-fixable\n"));
    }

    #[test]
    fn whatever_receipts_cannot_decide_is_an_abstention_with_its_reason() {
        let one = || vec![Kind::Checkable(vec![test("t")])];
        for (receipts, word) in [
            (ledger(vec![], vec![]), "no criteria"),
            (Vec::new(), "no criteria"),
            (ledger(one(), vec![]), "no receipt for test:t"),
            (ledger(one(), vec![(2, test("t"), Some(false), Some(true))]), "no receipt for test:t"),
            (ledger(one(), vec![(1, test("t"), Some(false), None)]), "not found out: seen"),
            (ledger(one(), vec![(1, test("t"), None, Some(true))]), "not found out, so nothing shows"),
            (ledger(one(), vec![(1, test("t"), Some(true), Some(true))]), "held on the base already"),
            (
                ledger(one(), vec![(1, test("t"), Some(false), Some(true)), (1, test("t"), Some(false), Some(false))]),
                "contradict",
            ),
            (ledger(vec![Kind::Checkable(vec![])], vec![]), "names no proof"),
            (ledger(vec![Kind::HumanEye, Kind::HumanEye], vec![]), "person's eye"),
        ] {
            let why = why_not(&receipts);
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn new_tests_that_guard_or_are_weak_prove_nothing() {
        use crate::host::ids::TreeId;
        use crate::receipts::{BiteClass, CitedBite};
        let record = |class, weak| {
            Fact::Bites(BitesRecord {
                tree: TreeId::new(&"a".repeat(40)).unwrap(),
                hybrids: Vec::new(),
                tests: Vec::new(),
                cited: vec![CitedBite { criterion: 1, name: "t".to_owned(), class: Some(class), weak }],
                mutation: None,
                receipts: Vec::new(),
            })
        };
        let with = |class, weak| {
            let mut receipts =
                ledger(vec![Kind::Checkable(vec![test("t")])], vec![(1, test("t"), Some(false), Some(true))]);
            receipts.push(Receipt { id: 9, fact: record(class, weak) });
            receipts
        };
        assert!(why_not(&with(BiteClass::Guards, false)).contains("C1: guards-only"));
        assert!(why_not(&with(BiteClass::Unclassified, false)).contains("C1: guards-only"));
        assert!(why_not(&with(BiteClass::ByBuild, true)).contains("C1: weak"));
        for class in [BiteClass::Bites, BiteClass::ByBuild] {
            assert!(matches!(say(&with(class, false)), MechanicalAnswer::Verdict(text) if text.contains("PASS")));
        }
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        let proofs = prop::collection::vec("[ab]".prop_map(|name| test(&name)), 0..3);
        prop_oneof![Just(Kind::HumanEye), Just(Kind::Judged), proofs.prop_map(Kind::Checkable)]
    }

    proptest! {
        #[test]
        fn a_pass_needs_every_proof_and_one_that_is_new(
            criteria in prop::collection::vec(kinds(), 0..4),
            proofs in prop::collection::vec((1..4_u32, "[ab]".prop_map(|n| test(&n)), any::<Option<bool>>(), any::<Option<bool>>()), 0..8),
        ) {
            let receipts = ledger(criteria.clone(), proofs.clone());
            if let MechanicalAnswer::Verdict(text) = say(&receipts)
                && text.starts_with("VERDICT: PASS")
            {
                prop_assert!(!criteria.contains(&Kind::Judged));
                prop_assert!(proofs.iter().any(|(_, _, base, claim)| *base == Some(false) && *claim == Some(true)));
                for (number, kind) in (1..).zip(&criteria) {
                    let Kind::Checkable(wanted) = kind else { continue };
                    prop_assert!(!wanted.is_empty());
                    for proof in wanted {
                        let mine = proofs.iter().filter(|(c, p, _, _)| *c == number && p == proof).collect::<Vec<_>>();
                        prop_assert!(!mine.is_empty() && mine.iter().all(|(_, _, _, claim)| *claim == Some(true)));
                    }
                }
            }
        }
    }
}
