//! Bad input from a test runner, through the binary: every fault is named, bounded, nobody's pass, and leaves no process.

use crate::support::trial::{ID, Trial};
use crate::support::{Board, Outcome};
use serde_json::Value;

/// Proved by the file alone, so that only the runner stands between the claim and its landing.
const SAYS_HELLO: &str = "It says hello — file: `greeting.txt` contains \"hello\"";

/// A claim whose test runner does this in place of writing its report.
fn judged(limits: &str, step: &str) -> Outcome {
    let settings = format!("tests:\n  command: sh run-tests.sh\n  report: report.xml\n  retries: 0\n{limits}");
    let board = Board::two_root(ID).criterion(SAYS_HELLO);
    let trial = Trial::with(&board, &[(".agentheim/countersign.yaml", &settings)]);
    trial.work("greeting.txt", "hello\n");
    trial.work("run-tests.sh", format!("set -e\n{step}\n"));
    // The invariants, a replay, and a look for processes that outlived the run.
    let outcome = trial.verify(&["--all-checks"]);
    trial.repo.no_process_left();
    outcome
}

#[track_caller]
fn told(outcome: &Outcome, state: &str, words: &str) {
    let check = outcome.check("tests-run");
    let findings = check["findings"].as_array().cloned().unwrap_or_default();
    let said: String = findings.iter().filter_map(|f| f["observed"].as_str()).map(|text| format!("{text}\n")).collect();
    assert_eq!(check["state"], Value::from(state), "{said}\n{outcome}");
    assert!(said.contains(words), "{words:?} is not in: {said}");
    assert_ne!(outcome.decision(), "land", "{outcome}");
}

#[test]
fn a_corrupt_report_is_named_and_holds() {
    for (step, words) in [
        ("printf '<testsuite><testcase name=\"a\"/>' > report.xml", "truncated"),
        (": > report.xml", "the report is empty"),
        ("printf '<testsuite><testcase name=\"\\377\\376\"/></testsuite>' > report.xml", "UTF-8"),
        ("truncate -s 100M report.xml", "too many to read"),
        (
            "printf '<!DOCTYPE t [<!ENTITY a \"aaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><testsuite><testcase name=\"&b;\"/></testsuite>' > report.xml",
            "document type",
        ),
        ("echo '<testsuite><testcase name=\"a\"/></testsuite>' > report.xml; rm report.xml", "it wrote no report"),
        ("mkfifo report.xml", "not a regular file"),
    ] {
        told(&judged("", step), "unknown", words);
    }
}

#[test]
fn a_runner_that_hangs_is_ended_and_nobody_is_blamed() {
    let outcome = judged("limits:\n  tests-seconds: 2\n", "echo started; (sleep 600 & wait)");
    told(&outcome, "unknown", "still running after");
}

#[test]
fn a_runner_that_leaves_daemons_behind_leaves_none() {
    let daemon = "setsid sh -c 'exec >/dev/null 2>&1 </dev/null; while :; do sleep 600; done' &\n\
                  echo '<testsuite><testcase name=\"a\"/></testsuite>' > report.xml";
    let outcome = judged("", daemon);
    assert_eq!(outcome.check("tests-run")["state"], "pass", "{outcome}");
}

#[test]
fn a_runner_that_floods_its_output_is_bounded() {
    let flood = "head -c 300000000 /dev/zero | tr '\\0' 'x'\n\
                 echo '<testsuite><testcase name=\"a\"/></testsuite>' > report.xml";
    let outcome = judged("limits:\n  log-bytes: 100000\n", flood);
    let runs = outcome.json();
    assert!(runs.to_string().len() < 2_000_000, "the flood is not in the document");
    assert_eq!(outcome.check("tests-run")["state"], "pass", "{outcome}");
}
