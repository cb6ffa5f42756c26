//! The prompts as products: their form, and that their examples are read by what reads the real thing.

use countersign::agent::kit::{
    COMPLETION_SKILL, MARKETPLACE, PLUGIN_KIT, PLUGIN_MANIFEST, PROJECT_KIT, RECEIPTS_SKILL, WORK_SKILL, WORKER_PROMPT,
};
use countersign::receipts::{Fact, ProofRecord, Receipt, TaskRecord};
use countersign::task::{Criterion, Kind, Proof};
use countersign::verdict::{Expect, Verdict, parse_verdict};
use countersign::verifier::VERIFIER_PROMPT;
use countersign::verifier::mechanical::{MechanicalAnswer, answer};
use countersign::worker::{Generation, Outcome, examine, parse_report, read_delta};

/// A prompt's frontmatter as `key: value` lines, and its body.
fn parts(text: &str) -> (Vec<(&str, &str)>, &str) {
    let (head, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    (head.lines().map(|line| line.split_once(':').unwrap()).map(|(key, value)| (key, value.trim())).collect(), body)
}

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

/// The worker's prompt shows reports between lines of tildes: they hold backticks themselves.
fn reports() -> Vec<&'static str> {
    let mut parts = WORKER_PROMPT.split("\n~~~");
    let mut found = Vec::new();
    parts.next();
    while let (Some(example), Some(_)) = (parts.next(), parts.next()) {
        found.push(example.strip_prefix("text\n").unwrap());
    }
    found
}

#[test]
fn every_report_of_the_workers_prompt_is_read_by_the_real_parser_without_a_complaint() {
    let read: Vec<_> = reports()
        .iter()
        .map(|text| parse_report(text.as_bytes()).unwrap_or_else(|why| panic!("{why}: {text}")))
        .collect();
    let kinds: Vec<_> = read.iter().map(|report| (report.outcome, report.generation)).collect();
    assert_eq!(
        kinds,
        [
            (Outcome::Success, Generation::E),
            (Outcome::Success, Generation::A),
            (Outcome::Bounced, Generation::E),
            (Outcome::Failed, Generation::E)
        ]
    );
    for report in &read {
        assert_eq!(examine(report), [], "{}", report.task_id);
        assert_eq!(report.unread, [""; 0]);
    }
    let blocks = read[0].blocks.as_ref().unwrap();
    let (documents, bad) = read_delta(&blocks.readme_delta);
    assert_eq!((documents.len(), bad.len(), blocks.adrs.files.len(), blocks.backlog_items.files.len()), (1, 0, 1, 1));
    assert!(blocks.outcome.starts_with("## Outcome\n"));
}

#[test]
fn the_worker_is_told_that_it_cannot_commit_and_where_its_report_goes() {
    let (head, body) = parts(WORKER_PROMPT);
    let keys: Vec<&str> = head.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, ["name", "description", "tools"]);
    assert_eq!(head[0].1, "worker");
    for words in ["**you cannot commit**", "read-only to you", "as they lie in the worktree", ".worktrees/.results/"] {
        assert!(body.contains(words), "{words}");
    }
    for field in countersign::worker::report::SUCCESS_FIELDS {
        assert!(body.contains(&format!("\n{field}: ")), "{field}");
    }
}

#[test]
fn a_skill_has_only_the_keys_and_lengths_that_validators_accept() {
    let skills = [
        ("work", WORK_SKILL),
        ("verification-before-completion", COMPLETION_SKILL),
        ("false-completion-gate", RECEIPTS_SKILL),
    ];
    for (folder, text) in skills {
        let (head, body) = parts(text);
        let allowed = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];
        for (key, value) in head.iter().filter(|(key, _)| !key.starts_with(' ')) {
            assert!(allowed.contains(key), "{folder}: {key}");
            let longest = match *key {
                "name" => 64,
                "compatibility" => 500,
                _ => 1024,
            };
            assert!(value.len() <= longest, "{folder}: {key}");
        }
        assert_eq!(head[0], ("name", folder), "the name is that of its folder");
        assert!(head[1].0 == "description" && !head[1].1.is_empty());
        assert!(folder.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !folder.contains("--"));
        assert!(!body.trim().is_empty() && body.lines().count() < 500);
    }
}

/// Every `countersign <word>` of a text, where a command is meant.
fn commands(text: &str) -> Vec<&str> {
    text.split("countersign ")
        .zip(text.split("countersign ").skip(1))
        .filter(|(before, _)| before.ends_with(['`']) || before.ends_with("\n    "))
        .map(|(_, after)| after.split(|c: char| !c.is_ascii_lowercase()).next().unwrap())
        .collect()
}

#[test]
fn every_command_a_prompt_names_is_one_of_the_program() {
    let repo = crate::support::TestRepo::new();
    let mut named = std::collections::BTreeSet::new();
    for (place, text) in PROJECT_KIT.files.iter().chain(PLUGIN_KIT.files) {
        named.extend(commands(text).into_iter().map(|word| (word, *place)));
    }
    assert!(named.len() >= 4, "{named:?}");
    let help = repo.run(&["--help"]).exits(0).stdout.clone();
    for (word, place) in named {
        assert!(help.contains(&format!("\n  {word} ")), "{place} names `countersign {word}`");
    }
}

#[test]
fn the_plugin_is_this_version_and_its_marketplace_offers_it() {
    let read = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let (plugin, market) = (read(PLUGIN_MANIFEST), read(MARKETPLACE));
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin["name"], "countersign");
    let offered = market["plugins"].as_array().unwrap();
    assert_eq!((offered.len(), &offered[0]["name"], &offered[0]["source"]), (1, &plugin["name"], &"./".into()));
    for (_, text) in PLUGIN_KIT.files.iter().filter(|(_, text)| text.starts_with("---\n")) {
        assert!(PROJECT_KIT.files.iter().any(|(_, other)| other == text), "a project gets what a plugin has");
    }
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
