//! The check `receipts`: what a worker's report says, against its captured tool calls and what is there.

use crate::support::agent::{FakeAgent, turn};
use crate::support::session::{Form, SESSION, Session};
use crate::support::trial::{ID, Trial};
use crate::support::{Crew, FakeVerifier, Outcome};
use serde_json::Value;
use std::ffi::OsStr;

/// A report of success about these files.
fn success(id: &str, summary: &str, outcome: &str, files: &[&str]) -> String {
    // All but the first are tests; without any, the report says why.
    let skipped = if files.len() == 1 { "a page" } else { "no" };
    let header = format!(
        "RESULT: SUCCESS\nTASK_ID: {id}\nSUMMARY: {summary}\nFILES_CHANGED: {}\nFILE_LIST: {}\nADRS_WRITTEN: none\n\
         TESTS_ADDED: {}\nTESTS_PASSING: yes\nTDD_SKIPPED: {skipped}\nCONCEPT_CANDIDATE: none\n",
        files.len(),
        files.join(", "),
        files.len() - 1,
    );
    format!(
        "{header}````README_DELTA\n[]\n````\n````ADRS\n````\n````OUTCOME\n## Outcome\n\n{outcome}\n````\n\
         ````BACKLOG_ITEMS\n````\n{header}RESULT_END\n"
    )
}

/// A report of the honest change that sums the work up in these words.
fn report(summary: &str) -> String {
    success(ID, summary, summary, &["greeting.txt", "checks/greets.sh"])
}

/// The honest change, reported in these words, with the calls of this session.
fn said(summary: &str, session: Option<&dyn Fn(Session) -> Session>) -> (Trial, Outcome) {
    let trial = Trial::new(&["It says hello — test: `greets`"]).honest();
    trial.report(&report(summary));
    let file = trial.repo.root().join("session.jsonl");
    let mut args = vec!["--verifier", "mechanical"];
    if let Some(calls) = session {
        let session = Session::new(Form::Claude, &trial.worktree).wrote("greeting.txt").wrote("checks/greets.sh");
        std::fs::write(&file, calls(session).text()).unwrap();
        args.extend(["--transcript", file.to_str().unwrap()]);
    }
    let outcome = trial.verify(&args);
    (trial, outcome)
}

fn rows(outcome: &Outcome) -> Vec<(String, String)> {
    let rows = outcome.json()["reconciled"]["rows"].as_array().cloned().unwrap_or_default();
    let word = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    rows.iter().map(|row| (word(row, "kind"), word(row, "standing"))).collect()
}

#[test]
fn what_the_calls_and_our_own_run_bear_out_is_backed_and_lands() {
    let words = "I updated `greeting.txt`. All tests pass.";
    let (trial, outcome) = said(words, Some(&|calls| calls.ran("sh run-tests.sh", 0, "ok")));
    let outcome = outcome.decides("land", &["verified"]);
    assert_eq!(outcome.state("receipts"), "pass", "{outcome}");
    let rows = rows(&outcome);
    assert!(rows.contains(&("test-green".into(), "backed".into())), "{rows:?}");
    assert!(rows.contains(&("file-written".into(), "backed".into())), "{rows:?}");
    assert_eq!(trial.facts(&outcome, "reconciled").len(), 1, "the table is sealed");
}

#[test]
fn fewer_tests_than_our_run_has_may_be_the_authors_own_and_more_are_false() {
    // Ours has two: one that was there, and the author's.
    let own = "All 1 tests pass.";
    let standing = |outcome: &Outcome| {
        let rows = rows(outcome);
        rows.iter().find(|(kind, _)| kind == "test-green").unwrap_or_else(|| panic!("{outcome}")).1.clone()
    };
    let (_trial, silent) = said(own, None);
    assert_eq!(standing(&silent), "unverifiable", "{silent}");
    silent.decides("land", &["verified"]);
    let (_trial, shown) = said(own, Some(&|calls| calls.ran("pytest checks", 0, "==== 1 passed in 0.10s ====")));
    assert_eq!(standing(&shown), "backed", "{shown}");
    shown.decides("land", &["verified"]);
    let (_trial, other) = said(own, Some(&|calls| calls.ran("pytest checks", 0, "==== 7 passed in 0.10s ====")));
    assert_eq!(standing(&other), "unverifiable", "{other}");
    other.decides("hold", &["suspicion"]);
    let (_trial, more) = said("All 3 tests pass.", None);
    more.decides("send-back", &["receipts"]);
}

#[test]
fn a_report_of_a_push_that_no_call_made_goes_back_before_anybody_is_asked() {
    let trial = Trial::new(&["It says hello"]).honest();
    let fake = FakeVerifier::passing(ID, &["C1 It says hello — covered by test:greets"]);
    trial.judge_with(&fake, "");
    trial.report(&report("I said hello and pushed the branch to origin."));
    let file = trial.repo.root().join("session.jsonl");
    let calls = Session::new(Form::Claude, &trial.worktree).wrote("greeting.txt").wrote("checks/greets.sh");
    std::fs::write(&file, calls.text()).unwrap();
    let outcome = trial.verify(&["--transcript", file.to_str().unwrap()]).exits(1);
    let outcome = outcome.decides("send-back", &["receipts"]);
    assert!(outcome.words().contains("branch-pushed"), "what is false is named: {outcome}");
    let asked = trial.facts(&outcome, "heard");
    assert_eq!(asked[0]["heard"], "not-asked", "a verifier would be wasted: {asked:?}");
    // A person reads what was said, and what was seen instead.
    let page = trial.repo.run(&["verify", ID, "--fresh", "--transcript", file.to_str().unwrap()]).exits(1);
    assert!(page.stdout.contains("UNBACKED") && page.stdout.contains("pushed the branch to origin"), "{page}");
}

#[test]
fn without_captured_calls_what_only_calls_could_show_is_told_and_no_suspicion() {
    let (_trial, outcome) = said("I ran `npm run lint` and it says hello now.", None);
    let outcome = outcome.decides("land", &["verified"]);
    let check = outcome.check("receipts");
    assert!(["info", "pass"].contains(&check["state"].as_str().unwrap()), "{check}");
    assert!(check["note"].as_str().unwrap().contains("no captured calls"), "{check}");
}

#[test]
fn a_transcript_with_a_gap_refutes_nothing_and_is_a_question() {
    let words = "I ran `npm run lint` and it passed.";
    let (trial, whole) = said(words, Some(&|calls| calls));
    whole.decides("send-back", &["receipts"]);
    let file = trial.repo.root().join("session.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{{\"type\": \"assistant\", \"mess")).unwrap();
    let cut = trial.verify(&["--verifier", "mechanical", "--transcript", file.to_str().unwrap()]);
    let cut = cut.decides("hold", &["suspicion"]);
    assert_eq!(cut.state("receipts"), "ask", "another transcript is another judgement: {cut}");
}

#[test]
fn a_verifier_sees_the_table_and_none_of_the_workers_words() {
    let trial = Trial::new(&["It says hello"]).honest();
    let fake = FakeVerifier::passing(ID, &["C1 It says hello — covered by test:greets"]);
    trial.judge_with(&fake, "");
    trial.report(&report("All tests pass, and truly so."));
    let outcome = trial.verify(&[]).exits(0);
    let brief = trial.sealed(&outcome, "brief.md");
    assert!(brief.contains("BACKED test-green"), "{brief}");
    assert!(!brief.contains("truly so"), "the worker's words travel: {brief}");
}

#[test]
fn a_transcript_that_cannot_be_read_is_the_users_to_mend() {
    let trial = Trial::new(&["It says hello — test: `greets`"]).honest();
    trial.report(&report("It says hello."));
    let outcome = trial.repo.run(&["verify", ID, "--transcript", "nowhere.jsonl"]).exits(4);
    assert!(outcome.stderr.contains("nowhere.jsonl"), "{outcome}");
    trial.repo.write("notes.jsonl", "not a transcript\n");
    let outcome = trial.repo.run(&["verify", ID, "--transcript", "notes.jsonl"]);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("not a transcript"), "{outcome}");
}

/// A worker in the form of a known program, whose own transcript lies in the home that it was given.
fn worker(crew: &Crew, summary: &str, calls: impl Fn(Session) -> Session, last: &str) -> Outcome {
    let id = "w-1";
    let session = Session::new(Form::Claude, &crew.worktree(id)).wrote("w-1.txt");
    let text = calls(session).text();
    let report = success(id, summary, "It is there.", &["w-1.txt"]);
    let step = format!(
        "echo there > w-1.txt\nmkdir -p \"$HOME/.claude/projects/w\"\n\
         cat > \"$HOME/.claude/projects/w/{SESSION}.jsonl\" <<'END OF THE SESSION'\n{text}END OF THE SESSION\n\
         cat > \"$COUNTERSIGN_REPORT\" <<'END OF THE REPORT'\n{report}END OF THE REPORT\n{last}"
    );
    let mut events = turn("claude", "done", "w-1.txt");
    for event in &mut events {
        if event["session_id"].is_string() {
            event["session_id"] = SESSION.into();
        }
    }
    let path = FakeAgent::telling("claude", &events).doing(&step).install(&crew.repo.root().join("fake"));
    let vars = [("PATH", path.as_os_str()), ("ANTHROPIC_API_KEY", OsStr::new("dummy"))];
    let args = ["work", "w-1", "--agent", "worker=claude", "--json"];
    crew.repo.run_with(&crew.repo.path(), &args, &vars, b"")
}

#[test]
fn the_conductor_holds_a_report_against_the_session_that_its_worker_kept() {
    let honest = Crew::of(1);
    worker(&honest, "w-1.txt is made, all tests pass", |calls| calls.ran("sh run.sh", 0, "ok"), "").exits(0);
    let note = honest.noted("w-1");
    assert_eq!(note["reconciled"]["gate"], "verified", "the table travels in the note: {note:#}");

    let false_one = Crew::of(1);
    let outcome = worker(&false_one, "w-1.txt is made; I pushed the branch to origin", |calls| calls, "").exits(3);
    assert_eq!(false_one.landed("w-1.txt"), None, "nothing lands: {outcome}");
    assert!(outcome.stdout.contains("receipts"), "{outcome}");
}

#[test]
fn a_worker_that_takes_its_transcript_away_leaves_a_question_and_not_a_pass() {
    for (last, why) in [
        ("rm -r \"$HOME/.claude/projects\"", "no transcript of it lies in its home"),
        ("cp -r \"$HOME/.claude/projects/w\" \"$HOME/.claude/projects/v\"", "2 transcripts in its home fit"),
    ] {
        let crew = Crew::of(1);
        let outcome = worker(&crew, "w-1.txt is made; I ran `npm run lint`", |calls| calls, last).exits(3);
        assert_eq!(crew.landed("w-1.txt"), None, "nothing lands: {outcome}");
        assert!(outcome.stdout.contains("suspicion"), "{outcome}");
        let receipts = crew.repo.run(&["receipts", "w-1"]).exits(0);
        assert!(receipts.stdout.contains(why), "{receipts}");
    }
}
