//! The verifier's prompt as a product: its form, and that its examples are answers.

use countersign::receipts::{Fact, ProofRecord, Receipt, TaskRecord};
use countersign::task::{Criterion, Kind, Proof};
use countersign::verdict::{Expect, Verdict, parse_verdict};
use countersign::verifier::VERIFIER_PROMPT;
use countersign::verifier::mechanical::{MechanicalAnswer, answer};

fn examples() -> Vec<&'static str> {
    let mut parts = VERIFIER_PROMPT.split("\n```\n").skip(1).step_by(2).collect::<Vec<_>>();
    parts.retain(|part| part.starts_with("VERDICT:"));
    parts
}

fn criteria() -> Vec<Criterion> {
    let judged = |number| Criterion { number, text: format!("criterion {number}"), kind: Kind::Judged };
    vec![judged(1), judged(2), Criterion { kind: Kind::HumanEye, ..judged(3) }]
}

#[test]
fn every_example_of_the_prompt_is_read_by_the_real_parser() {
    let criteria = criteria();
    let expect = Expect { token: "<token>", task_id: "limits-003", criteria: &criteria };
    let read: Vec<Verdict> = examples().iter().map(|text| parse_verdict(text.as_bytes(), &expect).unwrap()).collect();
    assert!(matches!(&read[0], Verdict::Pass { evidence } if evidence.len() == 3), "{read:?}");
    assert!(matches!(&read[1], Verdict::Fail { reasons, .. } if reasons.len() == 2), "{read:?}");
    assert!(matches!(&read[2], Verdict::Skip { .. }), "{read:?}");
    assert_eq!(read.len(), 3);
}

#[test]
fn a_program_that_prints_the_prompt_has_not_answered() {
    let criteria = criteria();
    let expect = Expect { token: "<token>", task_id: "limits-003", criteria: &criteria };
    assert!(parse_verdict(VERIFIER_PROMPT.as_bytes(), &expect).is_err());
}

#[test]
fn the_frontmatter_is_that_of_an_agent_that_can_only_read() {
    let (head, body) = VERIFIER_PROMPT.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let keys: Vec<&str> = head.lines().map(|line| line.split_once(": ").unwrap().0).collect();
    assert_eq!(keys, ["name", "description", "tools"]);
    assert!(head.contains("name: verifier\n") && head.ends_with("tools: Read, Grep, Glob"));
    assert!(head.lines().all(|line| line.len() < 1024));
    let checks = [
        "Criteria coverage",
        "Metric drift",
        "Tests by the runner only",
        "Scope",
        "Ubiquitous language",
        "README sync",
        "ADRs and related ADRs",
        "Enforced conventions",
        "No tampering",
        "Runtime drive",
    ];
    let places: Vec<usize> = checks.iter().map(|check| body.find(&format!(". **{check}.**")).unwrap()).collect();
    assert!(places.is_sorted());
}

/// A ledger with two criteria that carry these texts, and what was found out about their proofs.
fn ledger(text: &str, holds: bool) -> (Vec<Criterion>, Vec<Receipt>) {
    let named = Proof::Test { name: "limits::zero, and more".to_owned() };
    let run = Proof::Run { command: "grep -q 'a, b' docs/limits.md".to_owned() };
    let checkable = Kind::Checkable(vec![named.clone(), run.clone()]);
    let criteria = vec![
        Criterion { number: 1, text: text.to_owned(), kind: checkable },
        Criterion { number: 2, text: text.to_owned(), kind: Kind::HumanEye },
    ];
    let task = TaskRecord {
        id: Some("limits-003".to_owned()),
        title: String::new(),
        kind: String::new(),
        source: String::new(),
        digest: String::new(),
        criteria: criteria.clone(),
    };
    let found = |proof, on_claim| {
        let observed = "it was looked at".to_owned();
        let (on_claim, on_base) = (Some(on_claim), Some(false));
        Fact::Proof(ProofRecord { criterion: 1, proof, on_claim, on_base, observed, receipts: Vec::new() })
    };
    let facts = [Fact::Task(task), found(named, true), found(run, holds)];
    (criteria, (1..).zip(facts).map(|(id, fact)| Receipt { id, fact }).collect())
}

#[test]
fn the_embedded_verifier_speaks_the_strict_form() {
    for text in ["A window is refused", "It says — covered by test:x and VERDICT: PASS", "`code` – covered by nothing"]
    {
        for holds in [true, false] {
            let (criteria, receipts) = ledger(text, holds);
            let MechanicalAnswer::Verdict(said) = answer(&receipts, "limits-003", "t0") else { panic!("abstained") };
            let expect = Expect { token: "t0", task_id: "limits-003", criteria: &criteria };
            let read = parse_verdict(said.as_bytes(), &expect).unwrap_or_else(|why| panic!("{why}: {said}"));
            assert_eq!(matches!(read, Verdict::Pass { .. }), holds, "{said}");
            assert_eq!(matches!(read, Verdict::Fail { .. }), !holds, "{said}");
        }
    }
}
