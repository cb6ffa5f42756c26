use super::*;
use crate::agent::transcript::{ToolEvent, database_with, read_session, read_transcript};
use rusqlite::Connection;
use serde_json::{Map, Value, json};

/// Builds a database from rows that name their table, as OpenCode would have written it.
pub(in crate::agent::transcript) fn rebuilt(path: &Path, rows: &[Value]) -> Connection {
    let connection = Connection::open(path).unwrap();
    for table in TABLES {
        let of_table = rows.iter().filter_map(|row| row.as_object()).filter(|row| row["table"] == table);
        for (number, row) in of_table.enumerate() {
            let fields: Map<String, Value> = row
                .iter()
                .filter(|(key, _)| *key != "table")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            if number == 0 {
                let columns: Vec<String> = names
                    .iter()
                    .map(|name| if *name == "id" { "id TEXT PRIMARY KEY".to_owned() } else { (*name).to_owned() })
                    .collect();
                connection.execute(&format!("CREATE TABLE {table} ({})", columns.join(", ")), []).unwrap();
            }
            let marks = vec!["?"; names.len()].join(", ");
            let insert = format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", "));
            let values = fields.values().map(|value| match value {
                Value::Null => rusqlite::types::Value::Null,
                Value::Number(number) => number.as_i64().map_or(rusqlite::types::Value::Null, Into::into),
                Value::String(text) => text.clone().into(),
                object => object.to_string().into(),
            });
            connection.execute(&insert, rusqlite::params_from_iter(values)).unwrap();
        }
    }
    connection
}

fn session(id: &str, parent: Option<&str>, revert: Option<&str>) -> Value {
    json!({ "table": "session", "id": id, "parent_id": parent, "directory": "/p", "time_created": 1_796_067_564_003_i64,
        "revert": revert })
}

fn message(id: &str, session: &str, role: &str) -> Value {
    json!({ "table": "message", "id": id, "session_id": session, "data": { "role": role } })
}

#[expect(clippy::needless_pass_by_value, reason = "rows are written where they are used")]
fn part(id: &str, message: &str, session: &str, data: Value) -> Value {
    json!({ "table": "part", "id": id, "message_id": message, "session_id": session, "data": data })
}

#[expect(clippy::needless_pass_by_value, reason = "rows are written where they are used")]
fn bash(call: &str, command: &str, state: Value) -> Value {
    let mut whole = json!({ "status": "completed", "input": { "command": command }, "output": "",
        "time": { "start": 1_796_067_581_922_i64, "end": 1_796_067_583_700_i64 } });
    for (key, value) in state.as_object().unwrap() {
        whole[key] = value.clone();
    }
    json!({ "type": "tool", "tool": "bash", "callID": call, "state": whole })
}

/// One session with these parts in one message of the agent.
fn of_parts(parts: &[Value]) -> Vec<Value> {
    let mut rows = vec![session("s1", None, None), message("m1", "s1", "assistant")];
    rows.extend(parts.iter().enumerate().map(|(at, data)| part(&format!("p{at}"), "m1", "s1", data.clone())));
    rows
}

fn read_rows(rows: &[Value]) -> Transcript {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    rebuilt(&path, rows).close().unwrap();
    read_transcript(&[path]).unwrap()
}

fn told(event: &ToolEvent) -> String {
    let what = event.command.clone().unwrap_or_else(|| event.paths.join(" "));
    format!("{:?} {what} {:?} {:?} {:?}", event.kind, event.status, event.exit, event.exit_source)
}

#[test]
fn a_call_is_read_with_its_last_state_and_its_exit_from_a_field() {
    let tool = |name: &str, input: Value, state: &str| {
        json!({ "type": "tool", "tool": name, "callID": name, "state": { "status": state, "input": input,
            "output": "done", "error": "no" } })
    };
    let timed_out =
        "half\n\n<bash_metadata>\nbash tool terminated command after exceeding timeout 1000 ms\n</bash_metadata>";
    let aborted = "<bash_metadata>\nUser aborted the command\n</bash_metadata>";
    for (data, expected) in [
        (bash("c", "make", json!({ "metadata": { "exit": 0 } })), "Shell make Ok Some(0) Field"),
        (bash("c", "make", json!({ "metadata": { "exit": 3 } })), "Shell make Error Some(3) Field"),
        (
            bash("c", "make", json!({ "metadata": { "exit": null }, "output": timed_out })),
            "Shell make TimedOut None None",
        ),
        (bash("c", "make", json!({ "output": aborted })), "Shell make Aborted None None"),
        (bash("c", "echo '<bash_metadata>'", json!({})), "Shell echo '<bash_metadata>' Unknown None None"),
        (bash("c", "make", json!({ "status": "running" })), "Shell make Running None None"),
        (
            bash("c", "make", json!({ "status": "error", "output": null, "error": "Tool execution aborted" })),
            "Shell make Aborted None None",
        ),
        (tool("write", json!({ "filePath": "/p/w" }), "completed"), "Write /p/w Ok None None"),
        (tool("edit", json!({ "filePath": "/p/w" }), "error"), "Edit /p/w Error None None"),
        (
            tool(
                "apply_patch",
                json!({ "patchText": "*** Begin Patch\n*** Add File: a\n*** Delete File: b" }),
                "completed",
            ),
            "Patch a b Ok None None",
        ),
        (tool("webfetch", json!({}), "pending"), "Net  Unknown None None"),
    ] {
        let found = read_rows(&of_parts(std::slice::from_ref(&data)));
        assert_eq!(found.events.iter().map(told).collect::<Vec<_>>(), [expected], "{data}");
        let open = matches!(data["state"]["status"].as_str(), Some("running" | "pending"));
        assert_eq!(found.is_complete(), !open, "{data}: {:?}", found.gaps);
    }
}

#[test]
fn a_sub_agent_s_calls_stand_behind_the_call_that_started_it() {
    let started = json!({ "type": "tool", "tool": "task", "callID": "t", "state": { "status": "completed",
        "input": {}, "output": "", "metadata": { "sessionId": "s2" } } });
    let mut rows = of_parts(&[bash("c1", "first", json!({})), started, bash("c2", "last", json!({}))]);
    rows.extend([session("s2", Some("s1"), None), message("m2", "s2", "assistant"), session("s3", Some("s2"), None)]);
    rows.extend([
        part("q1", "m2", "s2", bash("c3", "below", json!({}))),
        part("q2", "m2", "s2", json!({ "type": "text", "text": "VERDICT: PASS" })),
        part("q3", "m1", "s1", json!({ "type": "text", "text": "Done." })),
    ]);
    let found = read_rows(&rows);
    let commands: Vec<_> = found.events.iter().map(|event| event.command.as_deref().unwrap_or("task")).collect();
    assert_eq!(commands, ["first", "task", "below", "last"]);
    assert_eq!(found.events[2].actor, Actor::Sub("s2".to_owned()));
    assert_eq!(found.last_words.as_deref(), Some("Done."));
    assert_eq!((found.files.len(), found.session.as_deref()), (3, Some("s1")));
}

#[test]
fn what_was_taken_back_is_marked_and_a_place_that_is_not_there_is_a_gap() {
    let rows = |revert: &str| {
        vec![
            session("s1", None, Some(revert)),
            message("m1", "s1", "assistant"),
            message("m2", "s1", "assistant"),
            part("p1", "m1", "s1", bash("c1", "one", json!({}))),
            part("p2", "m2", "s1", bash("c2", "two", json!({}))),
            part("p3", "m2", "s1", bash("c3", "three", json!({}))),
        ]
    };
    for (revert, marked, complete) in [
        (r#"{"messageID":"m2"}"#, [false, true, true], true),
        (r#"{"messageID":"m2","partID":"p3"}"#, [false, false, true], true),
        (r#"{"messageID":"m9"}"#, [false; 3], false),
        ("torn", [false; 3], false),
    ] {
        let found = read_rows(&rows(revert));
        assert_eq!(found.events.iter().map(|event| event.rolled_back).collect::<Vec<_>>(), marked, "{revert}");
        assert_eq!(found.is_complete(), complete, "{revert}: {:?}", found.gaps);
    }
}

#[test]
fn a_person_s_words_are_not_the_agent_s_and_damage_is_named_by_row() {
    let mut rows = of_parts(&[json!({ "type": "text", "text": "I am done." })]);
    rows.extend([
        message("m2", "s1", "user"),
        part("p8", "m2", "s1", json!({ "type": "text", "text": "All 42 tests pass." })),
        part("p9", "m1", "s1", json!("{torn")),
    ]);
    let found = read_rows(&rows);
    assert_eq!((found.last_words.as_deref(), found.asked.as_deref()), (Some("I am done."), Some("All 42 tests pass.")));
    assert_eq!((found.damaged_lines, found.damaged[0].line), (1, 3));
    assert!(!found.is_complete());
}

#[test]
fn of_several_sessions_one_must_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode").join("opencode.db");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let mut rows = of_parts(&[bash("c1", "one", json!({}))]);
    rows.extend([session("s2", None, None), message("m2", "s2", "assistant")]);
    rows.push(part("p9", "m2", "s2", bash("c2", "two", json!({}))));
    rebuilt(&path, &rows).close().unwrap();
    let message = read_transcript(std::slice::from_ref(&path)).unwrap_err().to_string();
    assert!(message.contains("holds 2 sessions") && message.contains("s2, s1"), "{message}");
    let two = read_session(&path, "s2").unwrap();
    assert_eq!(two.events.iter().filter_map(|event| event.command.as_deref()).collect::<Vec<_>>(), ["two"]);
    assert!(matches!(read_session(&path, "s9"), Err(TranscriptError::NoSession { .. })));
    let env = Env::of([("XDG_DATA_HOME", folder.path().to_str().unwrap())]);
    assert_eq!(database_with(&env, "s2").unwrap(), Some(path));
    assert_eq!(database_with(&env, "s9").unwrap(), None);
    assert_eq!(database_with(&Env::of([("HOME", "/nonexistent")]), "s2").unwrap(), None);
}

/// Names, sizes and contents of a folder.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_write_ahead_log_is_read_and_nothing_is_written_beside_it() {
    let folder = tempfile::Builder::new().prefix("a name? #1%").tempdir().unwrap();
    let path = folder.path().join("live.db");
    let writer = rebuilt(&path, &of_parts(&[]));
    writer.execute_batch("CREATE TABLE part (id, message_id, session_id, data)").unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let row = bash("c1", "one", json!({})).to_string();
    writer.execute("INSERT INTO part VALUES ('p1', 'm1', 's1', ?1)", [row]).unwrap();
    // The writer is at work: its log and the log's index are there.
    assert_eq!(read_transcript(std::slice::from_ref(&path)).unwrap().events.len(), 1);
    // A copy of database and log without the index, as a crash or a backup leaves it.
    let copy = tempfile::tempdir().unwrap();
    for ending in ["", "-wal"] {
        std::fs::copy(folder.path().join(format!("live.db{ending}")), copy.path().join(format!("live.db{ending}")))
            .unwrap();
    }
    let before = contents(copy.path());
    assert!(before[1].1.len() > 1000, "the rows are in the log");
    assert_eq!(read_transcript(&[copy.path().join("live.db")]).unwrap().events.len(), 1);
    assert_eq!(contents(copy.path()), before);
    // Closed by its writer: no log any more.
    drop(writer);
    let before = contents(folder.path());
    assert_eq!(before.len(), 1, "{:?}", before.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(read_transcript(&[path]).unwrap().events.len(), 1);
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_database_that_is_locked_broken_or_somebody_else_s_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let writer = rebuilt(&path, &of_parts(&[bash("c1", "one", json!({}))]));
    let refused = || read_transcript(std::slice::from_ref(&path)).unwrap_err();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let message = refused().to_string();
    assert!(message.contains("another program keeps it locked") && message.contains("t.db"), "{message}");
    writer.execute_batch("COMMIT").unwrap();

    // A view in the place of a table could go on for ever.
    writer.execute_batch("ALTER TABLE part RENAME TO kept; CREATE VIEW part AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT * FROM n, kept").unwrap();
    assert!(matches!(refused(), TranscriptError::Foreign { .. }), "{:?}", refused());
    drop(writer);

    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[200..end].fill(0xee);
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(refused(), TranscriptError::Broken { .. }), "{:?}", refused());
    std::fs::write(&path, &bytes[..50]).unwrap();
    assert!(matches!(refused(), TranscriptError::Unreadable { .. }), "{:?}", refused());
}
