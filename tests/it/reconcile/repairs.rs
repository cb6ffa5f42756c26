//! Bounded repair: two cycles, then blocked; and what a repair must not do.

use super::{Scene, refuted, verified};
use crate::support::session::Session;
use serde_json::Value;

const CLAIM: &str = "Updated `app.py`. All tests pass.";

fn repair(outcome: &crate::support::Outcome) -> Value {
    outcome.json()["repair"].clone()
}

fn green(session: Session) -> Session {
    session.ran("pytest", 0, "3 passed in 0.1s")
}

#[test]
fn two_cycles_without_the_receipt_block_the_claim_and_name_what_is_missing() {
    let scene = Scene::app();
    let session = scene.edits(scene.claude());
    let first = session.clone().says(CLAIM);
    let state = repair(&scene.check(&first));
    assert_eq!((&state["stage"], &state["cycles"]), (&"open".into(), &0.into()), "{state}");
    assert_eq!(state["open"].as_array().unwrap().len(), 1, "only what is unbacked goes back: {state}");
    let again = repair(&scene.check(&first));
    assert_eq!(again["cycles"], 0, "the same work again is no cycle: {again}");
    let second = first.ran("ls", 0, "app.py").says(CLAIM);
    assert_eq!(repair(&scene.check(&second))["cycles"], 1);
    let third = second.ran("ls -l", 0, "app.py").says(CLAIM);
    let outcome = scene.check(&third);
    refuted(&outcome, "test-green", "no test command");
    let state = repair(&outcome);
    assert_eq!((&state["stage"], &state["cycles"]), (&"blocked".into(), &2.into()), "{state}");
    assert_eq!(state["open"][0]["what"], "test-green", "{state}");
    assert!(state["open"][0]["wants"].to_string().contains("--rerun"), "{state}");
    let outcome = scene.check(&green(third).says(CLAIM));
    verified(&outcome);
    assert_eq!(repair(&outcome)["stage"], "closed", "a new receipt ends it: {outcome}");
}

#[test]
fn a_repair_s_edit_makes_what_was_green_stale() {
    let scene = Scene::app();
    let session = green(scene.edits(scene.claude())).says("Updated `app.py` and `lib.py`. All tests pass.");
    refuted(&scene.check(&session), "file-written", "lib.py does not exist");
    scene.repo.write("lib.py", "y = 1\n");
    let mended = session.wrote("lib.py").says("Updated `app.py` and `lib.py`. All tests pass.");
    refuted(&scene.check(&mended), "test-green", "before lib.py was last changed");
}

#[test]
fn a_repair_that_weakens_the_test_it_was_to_make_pass_is_tampering() {
    let test = "from app import x\n\ndef test_x():\n    assert x == 3\n\ndef test_y():\n    assert x > 0\n";
    let scene = Scene::new(&[("app.py", "x = 1\n"), ("tests/test_app.py", test)]);
    let session = scene.edits(scene.claude()).ran("pytest", 1, "1 failed, 1 passed in 0.1s").says(CLAIM);
    assert_eq!(repair(&scene.check(&session))["stage"], "open");
    scene.repo.write("tests/test_app.py", test.replace("def test_x", "import pytest\n\n@pytest.mark.skip\ndef test_x"));
    let bent = session.wrote("tests/test_app.py").ran("pytest", 0, "1 passed, 1 skipped in 0.1s").says(CLAIM);
    let outcome = scene.check(&bent);
    refuted(&outcome, "contract-kept", "tests/test_app.py");
    let state = repair(&outcome);
    assert_eq!(state["stage"], "tampered", "{state}");
    assert_eq!(state["tampered"][0]["path"], "tests/test_app.py", "{state}");
}

#[test]
fn a_repair_that_only_demands_less_is_tampering_and_one_that_expects_something_else_is_for_a_person() {
    let test = "from app import x\n\ndef test_x():\n    assert x == 3\n    assert x > 0\n";
    for (edited, code, stage) in
        [(test.replace("    assert x == 3\n", ""), 1, "tampered"), (test.replace("x == 3", "x == 2"), 3, "closed")]
    {
        let scene = Scene::new(&[("app.py", "x = 1\n"), ("tests/test_app.py", test)]);
        let session = scene.edits(scene.claude()).ran("pytest", 1, "1 failed in 0.1s").says(CLAIM);
        assert_eq!(repair(&scene.check(&session))["stage"], "open");
        scene.repo.write("tests/test_app.py", &edited);
        let mended = session.wrote("tests/test_app.py").ran("pytest", 0, "1 passed in 0.1s").says(CLAIM);
        let outcome = scene.check(&mended);
        assert_eq!((outcome.code, &repair(&outcome)["stage"]), (Some(code), &stage.into()), "{edited}\n{outcome}");
    }
}

#[test]
fn a_call_that_writes_to_the_records_refutes_the_claim() {
    let scene = Scene::app();
    for command in ["rm -rf .git/countersign", "echo '{}' > .git/countersign/sessions/x.repair.json"] {
        let session = scene.edits(scene.claude()).ran(command, 0, "").says("Updated `app.py`.");
        refuted(
            &scene.check(&session),
            "contract-kept",
            "a call wrote to what the work is measured by: .git/countersign",
        );
    }
    let session = scene.edits(scene.claude()).ran("ls .git/countersign", 0, "").says("Updated `app.py`.");
    verified(&scene.check(&session));
}

#[test]
fn two_sessions_count_apart() {
    let scene = Scene::app();
    let one = scene.edits(scene.claude()).says(CLAIM);
    scene.check(&one);
    let other = one.text().replace("5e551011", "5e551012");
    let file = scene.repo.root().join("other.jsonl");
    std::fs::write(&file, other).unwrap();
    let file = file.to_str().unwrap();
    let outcome = scene.repo.run(&["reconcile", "--transcript", file, "--since", &scene.base, "--json"]);
    assert_eq!(repair(&outcome)["cycles"], 0, "{outcome}");
    let kept = std::fs::read_dir(scene.repo.common_dir().join("countersign/sessions")).unwrap().count();
    assert_eq!(kept, 2);
}
