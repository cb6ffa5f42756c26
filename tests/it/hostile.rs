//! Experiments that a well-known gate passed, on this one: an answer that is no verdict, a judge that writes, tests that
//! were none, a talkative judge, and a claim that chooses what is looked at. None of them passes here.

use crate::support::trial::{ID, Trial};
use crate::support::{Board, FakeVerifier};
use serde_json::json;
use std::path::Path;

const GREETS: &str = "C1 It says hello — covered by test:greets";

fn honest() -> Trial {
    Trial::new(&["It says hello"]).honest()
}

#[test]
fn e2_an_empty_list_of_findings_is_no_verdict() {
    let trial = honest();
    for answer in ["[]\n", "[]", "{\"findings\": []}\n", "```json\n[]\n```\n"] {
        trial.ask(&FakeVerifier::answering(answer)).is_unusable(&["no-verdict"]);
    }
}

#[test]
fn e3_null_is_no_verdict() {
    let trial = honest();
    for answer in ["null\n", "null", "undefined\n"] {
        trial.ask(&FakeVerifier::answering(answer)).is_unusable(&["no-verdict"]);
    }
    trial.ask(&FakeVerifier::answering("")).is_unusable(&["empty-answer"]);
}

/// True if the name stands in any tree that any reference reaches, or in any folder of the test.
fn is_anywhere(trial: &Trial, name: &str) -> bool {
    let objects = trial.repo.git(&["rev-list", "--objects", "--all", "--reflog"]);
    let stored = objects.lines().any(|line| line.ends_with(name));
    let lies = |folder: &Path| walkdir::WalkDir::new(folder).into_iter().flatten().any(|e| e.file_name() == name);
    stored || lies(trial.repo.root())
}

#[test]
fn e4_what_the_judge_writes_is_in_no_tree_and_voids_its_verdict_where_it_lands() {
    let backdoor = FakeVerifier::passing(ID, &[GREETS]).doing(
        "echo 'package main' > BACKDOOR.go; git add BACKDOOR.go; git commit -qm x; git stash -q; \
         git update-ref refs/heads/main $(git commit-tree -m x $(git write-tree)); : ",
    );
    let trial = honest();
    let boxed = trial.ask(&backdoor);
    let consulted = &trial.facts(&boxed, "consulted")[0];
    if consulted["level"]["enforced"] == true {
        assert!(!is_anywhere(&trial, "BACKDOOR.go"), "{boxed}");
        assert_eq!(consulted["trespasses"], json!([]), "{boxed}");
        boxed.decides("land", &["verified"]).exits(0);
    } else {
        crate::support::skip("this machine has no Landlock, so nothing refuses the write");
    }

    // Without a box the write lands in the room; that it does is what voids the verdict.
    let trial = honest();
    let landing = FakeVerifier::passing(ID, &[GREETS]).doing("echo 'package main' > BACKDOOR.go");
    trial.judge_with(&landing, "sandbox: {require: none}\n");
    let open = trial.verify(&["--fresh"]);
    let trespasses = trial.facts(&open, "consulted")[0]["trespasses"].to_string();
    assert!(trespasses.contains("in the room: BACKDOOR.go is new"), "{trespasses}\n{open}");
    let tree = open.json()["claim"]["tree"].as_str().unwrap().to_owned();
    assert_eq!(trial.repo.git(&["ls-tree", "-r", "--name-only", &tree, "BACKDOOR.go"]), "");
    open.decides("hold", &["verdict-void"]).exits(3);
}

#[test]
fn e5_tests_that_were_none_and_evidence_that_is_none_carry_nothing() {
    let nothing = "#!/bin/sh\necho 'all 42 tests passed, nothing at all was skipped'\n";
    let claims_much = "tests:\n  command: sh run-tests.sh\n";
    let files = [("run-tests.sh", nothing), (".agentheim/countersign.yaml", claims_much)];
    let trial = Trial::with(&Board::two_root(ID).criterion("It says hello"), &files).honest();
    let said = trial.ask(&FakeVerifier::passing(ID, &["C1 It says hello — covered by file:greeting.txt"]));
    assert_ne!(said.state("tests-run"), "pass", "{said}");
    assert!(!matches!(said.decision().as_str(), "land" | "skip"), "{said}");

    let empty = "#!/bin/sh\nprintf '<testsuite tests=\"42\"></testsuite>' > report.xml\n";
    let trial = Trial::with(&Board::two_root(ID).criterion("It says hello"), &[("run-tests.sh", empty)]).honest();
    let said = trial.ask(&FakeVerifier::passing(ID, &["C1 It says hello — covered by file:greeting.txt"]));
    assert_ne!(said.state("tests-run"), "pass", "{said}");
    assert!(!matches!(said.decision().as_str(), "land" | "skip"), "{said}");

    let trial = honest();
    for line in [
        "C1 It says hello — covered by nothing at all",
        "C1 It says hello — covered by test:nothing at all",
        "C1 It says hello",
    ] {
        let said = trial.ask(&FakeVerifier::passing(ID, &[line]));
        assert_eq!(said.heard().0, "unusable", "{line}: {said}");
        said.decides("hold", &["unusable-answer"]).exits(3);
    }
}

#[test]
fn e7_a_judge_that_talks_all_the_time_is_stopped_and_never_called_silent() {
    let trial = honest();
    let chatty = FakeVerifier::passing(ID, &[GREETS]).doing("while :; do echo still thinking; sleep 0.05; done");
    trial.judge_with(&chatty, "limits: {verifier-seconds: 1}\n");
    let said = trial.verify(&["--fresh"]).exits(3);
    assert_eq!(said.heard(), ("no-answer".to_owned(), vec!["timed-out".to_owned()]), "{said}");
    let ending = trial.facts(&said, "consulted")[0]["ending"].clone();
    let (ago, lines) = (ending["last-output-ago-ms"].as_u64().unwrap(), ending["lines"].as_u64().unwrap());
    let ran = ending["ran-for-ms"].as_u64().unwrap();
    assert!(lines > 1 && ago < ran, "measured, not the limit: {ending}");
    let words = said.words();
    assert!(words.contains(&format!("{lines} lines")) && words.contains("last output"), "{words}");
    assert!(!words.contains("silen") && !words.contains("no output"), "{words}");
    said.decides("hold", &["no-answer"]);
}

#[test]
fn e8_a_claim_does_not_choose_what_is_looked_at() {
    let finding = FakeVerifier::failing(ID, &["it opens a back door"]);
    for (path, text) in [
        (".no-mistakes.yaml", "ignore_patterns: [\"*\"]\n"),
        (".countersignignore", "*\n"),
        (".gitattributes", "* -diff linguist-generated\n"),
        (
            ".agentheim/countersign.yaml",
            "verifier: mechanical\ntests: {command: \"true\"}\nscope: {generated: [\"**\"]}\n",
        ),
    ] {
        let trial = honest();
        trial.work(path, text);
        trial.work("door.sh", "echo the back door is open\n");
        let said = trial.ask(&finding);
        assert_eq!(said.code, Some(1), "{path}\n{said}");
        // Where the floor has not denied it already, the judge was shown all of it.
        if let Some(consulted) = trial.facts(&said, "consulted").first() {
            assert_eq!(consulted["verifier"], "fake", "{path}: the claim chose its judge\n{said}");
            let brief = trial.sealed(&said, "brief.md");
            assert!(brief.contains("the back door is open") && brief.contains("hello"), "{path}\n{brief}");
            assert!(said.reasons().iter().any(|code| code == "verdict-fail"), "{said}");
        } else {
            assert_eq!(said.decision(), "send-back", "{said}");
        }
    }
}
