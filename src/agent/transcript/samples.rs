//! Recorded transcripts of the real programs and the case log's files, against counts that were taken without our
//! reader. Read where they are kept: `COUNTERSIGN_LAB_SAMPLES` and `COUNTERSIGN_CASE_FILES`, or beside this folder in
//! `../shared`; elsewhere these tests say nothing.

use super::{Transcript, TranscriptError, opencode, read_transcript};
use serde_json::Value;
use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "a test's own input is chosen by the person who runs it")]
fn folder(variable: &str, beside: &str) -> Option<PathBuf> {
    let given = std::env::var_os(variable).map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(beside);
    given.or_else(|| beside.is_dir().then_some(beside))
}

#[test]
fn the_recorded_sessions_give_the_calls_that_an_independent_script_counts() {
    let Some(folder) = folder("COUNTERSIGN_LAB_SAMPLES", "../shared/lab/agent-clis/samples") else { return };
    let oracle: Value = serde_json::from_str(include_str!("../../../tests/oracles/transcripts.json")).unwrap();
    let mut read = 0;
    let scratch = tempfile::tempdir().unwrap();
    for (program, counted) in oracle.as_object().unwrap() {
        let mut path = folder.join(program).join("ondisk-transcript.tools_rw.jsonl");
        if program == "opencode" {
            // It keeps a database; the sample is its rows.
            let rows: Vec<Value> =
                std::fs::read_to_string(path).unwrap().lines().map(|row| serde_json::from_str(row).unwrap()).collect();
            path = scratch.path().join("opencode.db");
            opencode::tests::rebuilt(&path, &rows).close().unwrap();
        }
        let found = read_transcript(&[path]).unwrap();
        assert_eq!(format!("{:?}", found.dialect).to_lowercase(), *program);
        assert_eq!(Some(found.records), counted["records"].as_u64(), "{program}");
        assert_eq!(found.damaged_lines, 0, "{program}");
        let tools: Vec<Value> = found.events.iter().map(|event| event.tool.clone().into()).collect();
        assert_eq!(Value::Array(tools), counted["tools"], "{program}");
        // Each session reads, writes, and runs one command that ends with 3.
        assert_eq!(found.events[2].exit, Some(3), "{program}: {:?}", found.events[2]);
        assert!(found.events[1].writes(), "{program}: {:?}", found.events[1]);
        assert!(found.is_complete(), "{program}: {:?}", found.gaps);
        assert!(found.session.is_some() && found.last_words.is_some(), "{program}");
        read += 1;
    }
    assert_eq!(read, 7);
}

#[test]
fn the_case_log_s_transcripts_are_counted_as_the_facts_say() {
    let Some(folder) = folder("COUNTERSIGN_CASE_FILES", "../shared/cases/files") else { return };
    for (name, records, damaged, calls) in [
        ("C086/codex-malformed-rollout.jsonl", 2, 1, 0),
        ("C086/edge_cases.jsonl", 19, 0, 3),
        ("C088/representative_messages.jsonl", 12, 0, 2),
        ("C088/session_b.jsonl", 3, 0, 0),
        ("C088/subagents-agent-a1b2c3d4e5f6.jsonl", 3, 0, 1),
        ("C090/codex-test-call-without-output.jsonl", 6, 0, 2),
        ("C090/failed-edit-claude-session.jsonl", 10, 0, 2),
        ("C090/phantom-change.jsonl", 4, 0, 1),
    ] {
        let found = read_transcript(&[folder.join(name)]).unwrap();
        assert_eq!((found.records, found.damaged_lines), (records, damaged), "{name}");
        assert_eq!(found.events.len(), calls, "{name}: {:?}", found.events);
    }
    let labels = read_transcript(&[folder.join("C090/labelled-claims.jsonl")]);
    assert!(matches!(labels, Err(TranscriptError::Foreign { .. })), "{labels:?}");
}

#[test]
fn the_case_log_s_sessions_are_complete_only_where_they_are() {
    let Some(folder) = folder("COUNTERSIGN_CASE_FILES", "../shared/cases/files") else { return };
    let read = |name: &str| -> Transcript { read_transcript(&[folder.join(name)]).unwrap() };
    let cut_short = read("C090/codex-test-call-without-output.jsonl");
    assert_eq!(cut_short.events[0].paths, ["src/main.rs"]);
    assert_eq!(cut_short.gaps, ["2 calls have no recorded result"]);
    // Its results name calls that have no ids.
    assert!(!read("C090/failed-edit-claude-session.jsonl").is_complete());
    assert!(!read("C086/codex-malformed-rollout.jsonl").is_complete());
}
