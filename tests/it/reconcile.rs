//! `reconcile`: what a session says it did, against its calls and against what is there.

mod fewer;
mod hostile;
mod publicly;
mod repairs;

use crate::support::session::{Form, SESSION, Session};
use crate::support::{Outcome, TestRepo};
use serde_json::Value;
use std::ffi::OsStr;

/// A small repository and the commit that the work starts from.
pub(crate) struct Scene {
    pub(crate) repo: TestRepo,
    pub(crate) base: String,
}

impl Scene {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let repo = TestRepo::unborn();
        for (path, text) in files {
            repo.write(path, text);
        }
        let base = repo.commit("base");
        Self { repo, base }
    }

    /// One with `app.py`.
    pub(crate) fn app() -> Self {
        Self::new(&[("app.py", "x = 1\n")])
    }

    pub(crate) fn claude(&self) -> Session {
        Session::new(Form::Claude, &self.repo.path())
    }

    pub(crate) fn in_form(&self, form: Form) -> Session {
        Session::new(form, &self.repo.path())
    }

    /// Changes `app.py`, by a call that says so.
    pub(crate) fn edits(&self, session: Session) -> Session {
        self.repo.write("app.py", "x = 2\n");
        session.wrote("app.py")
    }

    /// Reconciles a session that is kept outside the repository.
    pub(crate) fn check(&self, session: &Session) -> Outcome {
        self.check_with(session, &[], &[])
    }

    pub(crate) fn check_with(&self, session: &Session, more: &[&str], vars: &[(&str, &OsStr)]) -> Outcome {
        let file = self.repo.root().join("session.jsonl");
        std::fs::write(&file, session.text()).unwrap();
        let file = file.to_str().unwrap();
        let args = [&["reconcile", "--transcript", file, "--since", &self.base, "--json"], more].concat();
        self.repo.run_with(&self.repo.path(), &args, vars, b"")
    }
}

/// The rows of a kind.
pub(crate) fn rows(outcome: &Outcome, kind: &str) -> Vec<Value> {
    let rows = outcome.json()["rows"].as_array().unwrap().clone();
    rows.into_iter().filter(|row| row["kind"] == kind).collect()
}

fn stands(outcome: &Outcome, kind: &str, standing: &str, words: &str) {
    let rows = rows(outcome, kind);
    let found = rows.iter().any(|row| row["standing"] == standing && row["observed"].as_str().unwrap().contains(words));
    assert!(found, "no {kind} is {standing} with `{words}`:\n{outcome}");
}

/// FALSE-COMPLETION: this kind is unbacked, and this was observed.
#[track_caller]
pub(crate) fn refuted(outcome: &Outcome, kind: &str, words: &str) {
    assert_eq!((outcome.code, &outcome.json()["gate"]), (Some(1), &"false-completion".into()), "{outcome}");
    stands(outcome, kind, "unbacked", words);
}

/// NEEDS-REVIEW: this kind is unverifiable, and this was observed.
#[track_caller]
pub(crate) fn held(outcome: &Outcome, kind: &str, words: &str) {
    assert_eq!((outcome.code, &outcome.json()["gate"]), (Some(3), &"needs-review".into()), "{outcome}");
    stands(outcome, kind, "unverifiable", words);
}

/// VERIFIED.
#[track_caller]
pub(crate) fn verified(outcome: &Outcome) {
    assert_eq!((outcome.code, &outcome.json()["gate"]), (Some(0), &"verified".into()), "{outcome}");
}

#[test]
fn a_table_says_what_was_claimed_what_was_observed_and_what_would_show_it() {
    let scene = Scene::app();
    let session = scene.claude().ran("pytest -q", 0, "8 passed in 0.02s").wrote("app.py");
    let session = session.says("Updated `app.py`. All 8 tests pass.");
    scene.repo.write("app.py", "x = 2\n");
    let file = scene.repo.root().join("s.jsonl");
    std::fs::write(&file, session.text()).unwrap();
    let outcome = scene.repo.run(&["reconcile", "--transcript", file.to_str().unwrap(), "--since", &scene.base]);
    assert_eq!(outcome.code, Some(1), "{outcome}");
    for words in [
        "BACKED       a1 file-written app.py: app.py differs from the start (6 bytes)",
        "UNBACKED     a2 test-green: `pytest -q` ran (8 passed) before app.py was last changed",
        "said: \"All 8 tests pass\"",
        "read in: transcript:s.jsonl:",
        "would show it: countersign reconcile --rerun",
        "outcome  FALSE-COMPLETION",
    ] {
        assert!(outcome.stdout.contains(words), "`{words}` is missing\n{outcome}");
    }
}

#[test]
fn nothing_said_is_nothing_where_nothing_changed_and_a_person_s_where_something_did() {
    let scene = Scene::app();
    let quiet = scene.claude().says("It reads the file at start.");
    let outcome = scene.check(&quiet);
    assert_eq!((outcome.code, &outcome.json()["gate"]), (Some(0), &"nothing-to-reconcile".into()), "{outcome}");
    let changed = scene.edits(scene.claude()).says("Hm.");
    let outcome = scene.check(&changed);
    assert_eq!((outcome.code, &outcome.json()["gate"]), (Some(3), &"needs-review".into()), "{outcome}");
}

#[test]
fn without_captured_calls_git_can_bear_out_files_and_nobody_can_bear_out_a_run() {
    let scene = Scene::app();
    scene.repo.write("app.py", "x = 2\n");
    let run = |claim: &str| scene.repo.run(&["reconcile", "--claim", claim, "--since", &scene.base, "--json"]);
    verified(&run("Updated `app.py`."));
    held(&run("Updated `app.py`. All tests pass."), "test-green", "no tool calls were captured");
    refuted(&run("Updated `other.py`."), "file-written", "other.py does not exist");
    assert_eq!(scene.repo.run(&["reconcile"]).code, Some(2));
}

#[test]
fn a_question_that_is_answered_only_by_a_patch_is_not_answered() {
    let scene = Scene::app();
    let session = scene.claude().asked("Why does the import fail?");
    let session = scene.edits(session);
    refuted(
        &scene.check(&session.clone().says("Updated `app.py`.")),
        "question-answered",
        "no reason is given, only a change",
    );
    let answer = "It fails because `app.py` sets x too late. Updated `app.py`.";
    verified(&scene.check(&session.says(answer)));
}

#[test]
fn a_session_is_found_by_its_id_and_measured_from_where_head_was_when_it_began() {
    let scene = Scene::app();
    let session = scene.edits(scene.claude());
    scene.repo.commit("first");
    scene.repo.commit("second");
    scene.repo.commit("third, after the session began");
    let session = session.says("Updated `app.py` and committed the changes.");
    let file = format!("home/.claude/projects/-p/{SESSION}.jsonl");
    crate::support::write(scene.repo.root(), &file, session.text());
    let outcome = scene.repo.run(&["reconcile", "--session", SESSION, "--json"]);
    // The session began at 22:13:23.5, after the base and the first two commits.
    let start = outcome.json()["start"].clone();
    assert!(start["rule"].as_str().unwrap().contains("when the session began"), "{outcome}");
    assert_eq!(start["commit"], scene.repo.git(&["rev-parse", "HEAD~1"]).as_str(), "{outcome}");
    let unknown = scene.repo.run(&["reconcile", "--session", "nobody"]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.contains("no transcript of it lies in"), "{unknown}");
}

#[test]
fn a_criterion_is_asserted_whether_the_worker_speaks_of_it_or_not() {
    let task = "# T\n\n## Acceptance criteria\n\n- [ ] It is written down — file: `NOTES.md` contains \"x is 2\"\n";
    let scene = Scene::new(&[("app.py", "x = 1\n"), ("task.md", task)]);
    let session = scene.edits(scene.claude()).says("Updated `app.py`.");
    let outcome = scene.check_with(&session, &["--task", "task.md"], &[]);
    refuted(&outcome, "file-written", "NOTES.md does not exist");
    scene.repo.write("NOTES.md", "x is 2\n");
    verified(&scene.check_with(&session, &["--task", "task.md"], &[]));
    scene.repo.write("NOTES.md", "x is 3\n");
    refuted(&scene.check_with(&session, &["--task", "task.md"], &[]), "file-written", "does not contain `x is 2`");
}

#[test]
fn a_file_of_assertions_adds_and_never_takes_away() {
    let scene = Scene::app();
    let session = scene.edits(scene.claude()).says("Updated `app.py`. All tests pass.");
    let given = scene.repo.root().join("given.json");
    std::fs::write(&given, r#"[{"kind":"not-changed","subject":"app.py"}]"#).unwrap();
    let outcome = scene.check_with(&session, &["--assertions", given.to_str().unwrap()], &[]);
    refuted(&outcome, "not-changed", "app.py differs from the start");
    stands(&outcome, "test-green", "unbacked", "no test command");
    std::fs::write(&given, r#"[{"kind":"sung","subject":"app.py"}]"#).unwrap();
    let outcome = scene.check_with(&session, &["--assertions", given.to_str().unwrap()], &[]);
    assert_eq!(outcome.code, Some(2), "{outcome}");
    assert!(outcome.stderr.contains("given.json is no list of assertions"), "{outcome}");
}

#[test]
fn the_answer_has_the_shape_that_its_schema_says() {
    let scene = Scene::app();
    let schema = scene.repo.run(&["schema", "reconcile"]).exits(0).json();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let session = scene.edits(scene.claude()).says("Updated `app.py`. Pushed. All 3 tests pass. 3 of 3 items done.");
    let outcome = scene.check(&session).json();
    assert_eq!(outcome["schema"], "countersign/reconcile/1");
    let faults: Vec<String> = schema.iter_errors(&outcome).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, [""; 0], "{outcome}");
    assert!(
        !schema.is_valid(&serde_json::json!({"schema": "countersign/reconcile/1"})),
        "the schema demands something"
    );
}

#[test]
fn the_user_s_repository_is_as_it_was() {
    let scene = Scene::app();
    let session =
        scene.edits(scene.claude()).ran("pytest", 0, "3 passed in 0.1s").says("Updated `app.py`. 3 tests passed.");
    let before = scene.repo.fingerprint();
    verified(&scene.check(&session));
    before.assert_unchanged(&scene.repo.fingerprint());
    scene.repo.no_lock_left();
    scene.repo.no_process_left();
}
