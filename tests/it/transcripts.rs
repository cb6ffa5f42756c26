//! `transcript show`: what a person reads of a session, and what happens with files that are none.

use crate::support::TestRepo;
use std::fs;

const SESSION: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","cwd":"/p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","timestamp":"2026-01-01T00:00:01Z","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"curl -H 'Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345'\nmake"}}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","sessionId":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 2\nVERDICT: PASS"}]}}
"#;

#[test]
fn a_session_is_shown_call_by_call_with_where_its_exit_code_was_read() {
    let repo = TestRepo::new();
    repo.write("s1.jsonl", SESSION);
    let shown = repo.run(&["transcript", "show", "s1.jsonl"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert!(shown.stdout.contains("claude session s1 in /p"), "{shown}");
    assert!(shown.stdout.contains("2026-01-01 00:00:01Z  shell `Bash` curl"), "{shown}");
    assert!(shown.stdout.contains("\\nmake: error exit 2 (text)"), "{shown}");
    assert!(shown.stdout.contains("complete: a call that is not listed was not made"), "{shown}");
    assert!(!shown.stdout.contains("ghp_0123456789"), "a token is shown: {shown}");

    let shown = repo.run(&["transcript", "show", "s1.jsonl", "--json"]);
    let document = shown.json();
    assert_eq!(document["schema"], "countersign/transcript/1");
    assert_eq!(document["complete"], true);
    assert_eq!(document["events"][0]["exit"], 2);
    assert!(!shown.stdout.contains("ghp_0123456789"), "a token is shown: {shown}");
}

#[test]
fn a_damaged_session_says_that_it_is_incomplete_and_where() {
    let repo = TestRepo::new();
    repo.write("s1.jsonl", SESSION.replace("\"is_error\":true", "\"is_err"));
    let shown = repo.run(&["transcript", "show", "s1.jsonl"]);
    assert_eq!(shown.code, Some(0), "{shown}");
    assert!(shown.stdout.contains("s1.jsonl line 3: not JSON"), "{shown}");
    assert!(shown.stdout.contains("gap: 1 calls have no recorded result"), "{shown}");
    assert!(shown.stdout.contains("INCOMPLETE: a call that is not listed may have been made"), "{shown}");
}

#[test]
fn a_file_that_is_no_transcript_is_a_usage_error_and_a_missing_one_the_environment_s() {
    let repo = TestRepo::new();
    repo.write("notes.jsonl", "{\"hello\":1}\n");
    let foreign = repo.run(&["transcript", "show", "notes.jsonl"]);
    assert_eq!(foreign.code, Some(2), "{foreign}");
    assert!(foreign.stderr.contains("is not a transcript of any program we can read"), "{foreign}");
    let missing = repo.run(&["transcript", "show", "none.jsonl"]);
    assert_eq!(missing.code, Some(4), "{missing}");
    assert!(missing.stderr.contains("none.jsonl"), "{missing}");
    assert!(fs::metadata(repo.path().join("none.jsonl")).is_err());
}

#[test]
fn a_session_of_a_database_is_chosen_by_its_id_and_a_locked_one_is_the_environment_s() {
    let repo = TestRepo::new();
    let writer = rusqlite::Connection::open(repo.path().join("o.db")).unwrap();
    writer
        .execute_batch(
            r#"CREATE TABLE session (id, parent_id, directory, time_created, revert);
               CREATE TABLE message (id, session_id, data);
               CREATE TABLE part (id, message_id, session_id, data);
               INSERT INTO session VALUES ('ses_1', NULL, '/p', 0, NULL), ('ses_2', NULL, '/p', 0, NULL);
               INSERT INTO message VALUES ('m', 'ses_2', '{"role":"assistant"}');
               INSERT INTO part VALUES ('p', 'm', 'ses_2', '{"type":"tool","tool":"bash","callID":"c","state":
                   {"status":"completed","input":{"command":"make"},"output":"","metadata":{"exit":2}}}');"#,
        )
        .unwrap();
    let unnamed = repo.run(&["transcript", "show", "o.db"]);
    let unnamed = unnamed.exits(2);
    assert!(unnamed.stderr.contains("holds 2 sessions; name one of them with --session"), "{unnamed}");
    let shown = repo.run(&["transcript", "show", "o.db", "--session", "ses_2"]);
    let shown = shown.exits(0);
    assert!(shown.stdout.contains("opencode session ses_2 in /p"), "{shown}");
    assert!(shown.stdout.contains("`bash` make: error exit 2 (field)"), "{shown}");
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let locked = repo.run(&["transcript", "show", "o.db", "--session", "ses_2"]);
    let locked = locked.exits(4);
    assert!(locked.stderr.contains("another program keeps it locked"), "{locked}");
}
