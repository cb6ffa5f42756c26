//! What the worker reports is a claim, never evidence: the case log's area `worker-result-parse`, through the real binary.

use crate::support::trial::{ID, Trial};
use crate::support::{Board, FakeVerifier, Outcome, TestRepo, write};
use std::path::Path;

const CRITERION: &str = "It says hello — test: `greets`";

/// Nine header lines for what [`Trial::honest`] changes.
fn header() -> String {
    format!(
        "RESULT: SUCCESS\nTASK_ID: {ID}\nSUMMARY: greets\nFILES_CHANGED: 2\n\
         FILE_LIST: checks/greets.sh, greeting.txt\nADRS_WRITTEN: none\nTESTS_ADDED: 1\nTESTS_PASSING: yes\n\
         TDD_SKIPPED: no\nCONCEPT_CANDIDATE: none\n"
    )
}

fn blocks(outcome: &str) -> String {
    format!(
        "````README_DELTA\n[]\n````\n````ADRS\n````\n````OUTCOME\n## Outcome\n\n{outcome}\n````\n\
         ````BACKLOG_ITEMS\n````\n"
    )
}

fn clean() -> String {
    format!("{}{}RESULT_END\n", header(), blocks("It says hello."))
}

fn honest() -> Trial {
    Trial::new(&[CRITERION]).honest()
}

/// Judges with this report.
fn with(trial: &Trial, report: &str) -> Outcome {
    trial.report(report);
    trial.verify(&["--fresh"])
}

/// Asserts that the report is refused for this reason, and nothing else is held against the claim.
fn refused(outcome: &Outcome, code: &str) {
    assert_eq!(
        (outcome.decision().as_str(), outcome.reasons()),
        ("send-back", vec!["report-shape".to_owned()]),
        "{outcome}"
    );
    assert!(outcome.words().contains(code), "{code}\n{outcome}");
    assert_eq!(outcome.state("tests-run"), "n/a", "a deny spends no test run\n{outcome}");
    assert_eq!(outcome.heard().0, "not-asked");
}

#[test]
fn res_unclosed_fence_is_repaired_only_where_nothing_is_guessed() {
    let trial = honest();
    let whole = with(&trial, &clean()).exits(0);
    whole.clone().decides("land", &["verified"]);
    assert_eq!(whole.state("report-shape"), "pass", "{whole}");

    let unclosed = clean().replace("````\nRESULT_END", "RESULT_END");
    let repaired = with(&trial, &unclosed).exits(0);
    assert!(repaired.check("report-shape").to_string().contains("BACKLOG_ITEMS"), "the repair is told\n{repaired}");

    for fence in ["````notes", "````2ND", "`````NOTES", "````NOTES and more"] {
        let torn = clean().replace("````\nRESULT_END", &format!("{fence}\nmore\nRESULT_END"));
        let outcome = with(&trial, &torn).exits(1);
        refused(&outcome, "truncated");
    }
    let middle = clean().replacen("[]\n````\n", "[]\n", 1);
    refused(&with(&trial, &middle).exits(1), "truncated");
    let endless = clean().replace("````\nRESULT_END\n", "");
    refused(&with(&trial, &endless).exits(1), "truncated");
    let digits = clean().replace("RESULT_END", "````NOTES_2\nkept\n````\nRESULT_END");
    with(&trial, &digits).exits(0).decides("land", &["verified"]);
}

/// A project whose runner is `node --test`: `paint` stores nothing, and its test says so.
fn widgets(report: &str) -> TestRepo {
    let repo = TestRepo::new();
    repo.write("package.json", "{\"type\": \"module\", \"scripts\": {\"test\": \"node --test\"}}\n");
    repo.write("src/widget.js", "export class Widget {\n  size() { return 1; }\n}\n");
    repo.write(
        "test/size.test.js",
        "import test from 'node:test';\nimport assert from 'node:assert';\nimport { Widget } from '../src/widget.js';\n\
         test('a widget has a size', () => assert.equal(new Widget().size(), 1));\n",
    );
    Board::legacy("widgets-001").criterion("Painting a widget sets its color").commit(&repo);
    let worktree = repo.add_worktree("widgets-001");
    write(&worktree, "src/widget.js", "export class Widget {\n  size() { return 1; }\n  paint() {}\n}\n");
    write(
        &worktree,
        "test/paint.test.js",
        "import test from 'node:test';\nimport assert from 'node:assert';\nimport { Widget } from '../src/widget.js';\n\
         test('paint keeps the color', () => { const w = new Widget(); w.paint('red'); assert.equal(w.color, 'red'); });\n",
    );
    repo.write(".worktrees/.results/widgets-001.iter-1.md", report);
    repo
}

fn painted(tests_added: &str, passing: &str) -> String {
    format!(
        "RESULT: SUCCESS\nTASK_ID: widgets-001\nSUMMARY: paints\nFILES_CHANGED: 2\n\
         FILE_LIST: src/widget.js, test/paint.test.js\nBC_README_UPDATED: no\nADRS_WRITTEN: none\n\
         NEW_BACKLOG_ITEMS: none\nTESTS_ADDED: {tests_added}\n{passing}TDD_SKIPPED: no\nCONCEPT_CANDIDATE: none\n"
    )
}

#[test]
fn res_false_tests_our_own_run_decides_and_the_claim_is_contradicted() {
    for added in ["1", "0"] {
        let repo = widgets(&painted(added, "TESTS_PASSING: yes\n"));
        let fake = FakeVerifier::passing("widgets-001", &["C1 Painting — covered by file:src/widget.js"]);
        let program = serde_json::to_string(&fake.install(&repo)).unwrap();
        write(
            &repo.root().join("home/.config"),
            "countersign/settings.yaml",
            format!("verifier: fake\nverifiers:\n  fake:\n    command: [{program}]\n"),
        );
        let before = repo.fingerprint();
        let outcome = repo.run(&["verify", "widgets-001", "--json", "--all-checks"]).exits(1);
        crate::support::assert_invariants(&before, &outcome, &repo);
        crate::support::trial::assert_replays(&outcome, &repo);
        assert_eq!(outcome.decision(), "send-back");
        assert!(outcome.reasons().contains(&"tests-run".to_owned()), "{outcome}");
        assert!(outcome.words().contains("paint keeps the color"), "the failing test is named\n{outcome}");
        assert!(outcome.reasons().contains(&"report-tests".to_owned()), "the report is contradicted\n{outcome}");
        assert_eq!(outcome.heard().0, "pass", "the verifier was asked, and is overruled\n{outcome}");
    }
    let missing = widgets(&painted("1", ""));
    let outcome = missing.run(&["verify", "widgets-001", "--json"]).exits(1);
    assert!(outcome.words().contains("TESTS_PASSING"), "{outcome}");
    let hedged = widgets(&painted("1", "TESTS_PASSING: yes (expected)\n"));
    let outcome = hedged.run(&["verify", "widgets-001", "--json"]).exits(1);
    assert!(outcome.check("report-shape").to_string().contains("not-yes-or-no"), "{outcome}");
    outcome.decides("send-back", &["tests-run"]);
}

#[test]
fn res_stale_sidecar_another_tasks_or_a_linked_report_is_not_this_one() {
    let trial = honest();
    let foreign = with(&trial, &clean().replace(ID, "greet-002"));
    refused(&foreign.exits(1), "greet-002");

    // Of two iterations the newest is read.
    let folder = trial.repo.path().join(".worktrees/.results");
    write(&folder, format!("{ID}.iter-2.md"), clean());
    write(&folder, "greet-002.iter-9.md", "RESULT: FAILED\nTASK_ID: greet-002\nERROR: not mine\n");
    trial.verify(&["--fresh"]).exits(0).decides("land", &["verified"]);
    write(&folder, format!("{ID}.iter-10.md"), format!("RESULT: FAILED\nTASK_ID: {ID}\nERROR: no network\n"));
    trial.verify(&["--fresh"]).exits(3).decides("hold", &["worker-failed"]);

    // A link is refused, wherever it leads.
    write(trial.repo.root(), "elsewhere.md", clean());
    let link = folder.join(format!("{ID}.iter-11.md"));
    std::os::unix::fs::symlink(trial.repo.root().join("elsewhere.md"), &link).unwrap();
    let said = trial.repo.run(&["verify", ID]).exits(2);
    assert!(said.stderr.contains("not a regular file"), "{said}");
    std::fs::remove_file(&link).unwrap();
    let named = link_beside(&trial);
    trial.repo.run(&["verify", ID, "--result", named.to_str().unwrap()]).exits(2).says("links are refused");
    trial.repo.run(&["verify", ID, "--result", "/no/such/report.md"]).exits(2).says("--result none");

    // Another file, or none at all, is the user's word.
    let whole = trial.repo.root().join("elsewhere.md");
    trial.verify(&["--fresh", "--result", whole.to_str().unwrap()]).exits(0).decides("land", &["verified"]);
    let none = trial.verify(&["--fresh", "--result", "none"]).exits(0);
    assert_eq!((none.state("report-shape"), none.state("report-files")), ("n/a".to_owned(), "n/a".to_owned()));
}

fn link_beside(trial: &Trial) -> std::path::PathBuf {
    let link = trial.repo.root().join("link.md");
    std::os::unix::fs::symlink(Path::new("elsewhere.md"), &link).unwrap();
    link
}

#[test]
fn res_result_inside_block_is_content_and_outside_is_ambiguous() {
    let trial = honest();
    let sample =
        format!("A report looks so:\n\nRESULT: FAILED\nTASK_ID: {ID}\nERROR: none\nRESULT_END\n\nThat is all.");
    let inside = format!("{}{}RESULT_END\n", header(), blocks(&sample));
    with(&trial, &inside).exits(0).decides("land", &["verified"]);
    let outside = format!("{}{}RESULT: FAILED\nTASK_ID: {ID}\nERROR: none\nRESULT_END\n", header(), blocks("Done."));
    refused(&with(&trial, &outside).exits(1), "layout-conflict");
}

#[test]
fn res_bounce_fail_nothing_is_judged_and_everything_stays_visible() {
    let trial = honest();
    trial.judge_with(&FakeVerifier::passing(ID, &["C1 x — covered by test:greets"]), "");
    let bounced = with(&trial, &format!("RESULT: BOUNCED\nTASK_ID: {ID}\nREASON: which greeting?\nRESULT_END\n"));
    assert_eq!(bounced.heard().0, "not-asked");
    assert!(bounced.check("report-shape").to_string().contains("which greeting?"), "{bounced}");
    let kept = bounced.json()["claim"]["ref"].as_str().unwrap().to_owned();
    assert_eq!(trial.repo.git(&["show", &format!("{kept}:greeting.txt")]), "hello", "the edits are kept under {kept}");
    bounced.decides("hold", &["worker-bounced"]).exits(3);

    let failed = with(&trial, &format!("RESULT: FAILED\nTASK_ID: {ID}\nERROR: one\ntwo\nthree\nfour\nfive\n"));
    assert_eq!(failed.heard().0, "not-asked");
    assert!(failed.check("report-shape").to_string().contains("one two three four five"), "{failed}");
    failed.decides("hold", &["worker-failed"]).exits(3);

    refused(&with(&trial, &format!("RESULT: BOUNCED\nTASK_ID: {ID}\n")).exits(1), "missing-field");
    refused(&with(&trial, &clean().replace("TESTS_PASSING: yes", "TESTS_PASSING: no")).exits(1), "tests-not-passing");
    for word in ["DONE", "success", "Success"] {
        let outcome = with(&trial, &clean().replace("RESULT: SUCCESS", &format!("RESULT: {word}"))).exits(1);
        refused(&outcome, "unknown-result");
    }
}
