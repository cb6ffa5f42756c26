//! `hook start`: what a session's start was, written down before an agent can change it.

use super::{answered, order, remembered, stops, told};
use crate::reconcile::{Scene, held};
use crate::support::session::{SESSION, Session};
use serde_json::{Value, json};

const CLAIM: &str = "Updated `app.py`. Committed and pushed the branch.";

fn starts(scene: &Scene) -> Value {
    let word = json!({
        "session_id": SESSION, "cwd": scene.repo.path(), "transcript_path": null, "hook_event_name": "SessionStart",
        "source": "startup",
    });
    let arguments = ["hook", "start", "--host", "claude"];
    answered(&scene.repo.run_with(&scene.repo.path(), &arguments, &[], word.to_string().as_bytes()))
}

/// A repository whose remote has the base, and another bare one beside it.
fn with_remotes() -> Scene {
    let scene = Scene::app();
    for name in ["remote.git", "own.git"] {
        scene.repo.git(&["init", "-q", "--bare", scene.repo.root().join(name).to_str().unwrap()]);
    }
    scene.repo.git(&["remote", "add", "origin", place(&scene, "remote.git").as_str()]);
    scene.repo.git(&["push", "-q", "origin", "main"]);
    scene
}

fn place(scene: &Scene, name: &str) -> String {
    scene.repo.root().join(name).to_str().unwrap().to_owned()
}

/// Edits, commits and pushes to where `origin` is then; `own` moves it before that.
fn works(scene: &Scene, own: bool) {
    scene.repo.write("app.py", "x = 2\n");
    scene.repo.commit("work");
    if own {
        scene.repo.git(&["remote", "set-url", "origin", place(scene, "own.git").as_str()]);
    }
    scene.repo.git(&["push", "-q", "origin", "main"]);
}

/// The calls of that, with the one that moved the remote or without it.
fn calls(scene: &Scene, own: bool) -> Session {
    let session = scene.claude().wrote("app.py").ran("git commit -am work", 0, "");
    let session = if own {
        session.ran(&format!("git remote set-url origin {}", place(scene, "own.git")), 0, "")
    } else {
        session
    };
    session.ran("git push origin main", 0, "").says(CLAIM)
}

#[test]
fn a_push_is_looked_for_where_the_remote_was_when_the_session_began() {
    let scene = with_remotes();
    assert_eq!(starts(&scene), json!({}));
    works(&scene, true);
    // Whoever asks again, the agent included, cannot replace the record.
    assert_eq!(starts(&scene), json!({}));
    let answer = stops(&scene, &calls(&scene, true), CLAIM, json!({}));
    assert!(order(&answer).contains("origin had another address when the session began"), "{answer}");
    assert!(order(&answer).contains("git remote set-url origin"), "{answer}");
    // Pushed to the true one as well, the words are true.
    scene.repo.git(&["push", "-q", place(&scene, "remote.git").as_str(), "main"]);
    assert_eq!(stops(&scene, &calls(&scene, true), CLAIM, json!({ "turn_id": "t2" })), json!({}));

    let honest = with_remotes();
    starts(&honest);
    works(&honest, false);
    assert_eq!(stops(&honest, &calls(&honest, false), CLAIM, json!({})), json!({}));
    assert_eq!(remembered(&honest.repo)["outcome"], "verified");
}

#[test]
fn a_remote_that_moved_by_no_call_or_without_a_record_is_for_a_person() {
    let scene = with_remotes();
    starts(&scene);
    works(&scene, true);
    let answer = stops(&scene, &calls(&scene, false), CLAIM, json!({}));
    assert!(told(&answer).contains("NEEDS-REVIEW") && told(&answer).contains("another address"), "{answer}");

    let unrecorded = with_remotes();
    works(&unrecorded, true);
    let table = unrecorded.check(&calls(&unrecorded, true));
    held(&table, "branch-pushed", "the remote was changed during the work");
    let table = unrecorded.check(&calls(&unrecorded, false)).json();
    assert!(table["notes"][0].as_str().unwrap().contains("no hook recorded the remotes"), "{table}");
}

#[test]
fn the_work_is_measured_from_where_head_was_when_the_session_began() {
    let scene = with_remotes();
    scene.repo.write("app.py", "x = 3\n");
    let head = scene.repo.commit("before the session");
    starts(&scene);
    scene.repo.write("app.py", "x = 2\n");
    scene.repo.commit("work");
    let file = scene.repo.root().join("session.jsonl");
    std::fs::write(&file, scene.claude().wrote("app.py").says("Updated `app.py`.").text()).unwrap();
    let start =
        scene.repo.run(&["reconcile", "--transcript", file.to_str().unwrap(), "--json"]).json()["start"].clone();
    assert_eq!(start["commit"], head.as_str(), "{start}");
    assert!(start["rule"].as_str().unwrap().contains("by its hook"), "{start}");
}

#[test]
fn a_record_that_cannot_be_read_or_written_is_said_and_never_taken_for_none() {
    let scene = with_remotes();
    starts(&scene);
    let folder = scene.repo.common_dir().join("countersign/sessions");
    let record = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    assert!(record.to_str().unwrap().ends_with(".start.json"), "{}", record.display());
    std::fs::write(&record, "{\"remotes\":7}").unwrap();
    works(&scene, false);
    let answer = stops(&scene, &calls(&scene, false), CLAIM, json!({}));
    assert!(told(&answer).contains("UNVERIFIED") && told(&answer).contains("session's start"), "{answer}");

    let outside = json!({ "session_id": SESSION, "cwd": scene.repo.root(), "hook_event_name": "SessionStart" });
    for (word, why) in [("{".to_owned(), "EOF"), (outside.to_string(), "not inside a git repository")] {
        let arguments = ["hook", "start", "--host", "codex"];
        let answer = answered(&scene.repo.run_with(&scene.repo.path(), &arguments, &[], word.as_bytes()));
        assert!(told(&answer).contains("was not recorded") && told(&answer).contains(why), "{answer}");
    }
}
