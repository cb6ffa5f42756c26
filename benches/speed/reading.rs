//! A gigabyte of transcript: how fast it is read, and how much of it is held.

use super::flood::high_water;
use super::stage::Stage;
use countersign::agent::transcript::read_transcript;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Bytes of each generated transcript.
const BYTES: u32 = 1_000_000_000;

/// The word by which this program starts itself for one reading.
pub(super) const WORD: &str = "--read";

/// Reads a generated session of each program in a process of its own.
#[expect(clippy::disallowed_methods, reason = "the bench starts itself")]
pub(super) fn measure() -> String {
    // On a disk: a gigabyte in memory would be counted by nobody.
    let folder = tempfile::Builder::new().prefix("countersign-bench-").tempdir().unwrap();
    let mut told = String::new();
    for (name, turn) in [("claude", claude as fn(u64) -> String), ("codex", codex)] {
        let path = folder.path().join(format!("{name}.jsonl"));
        generate(&path, BYTES, turn);
        let output = Command::new(std::env::current_exe().unwrap()).arg(WORD).arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        write!(
            told,
            "a {name} transcript of {:.1} GB: {}",
            f64::from(BYTES) / 1e9,
            String::from_utf8_lossy(&output.stdout)
        )
        .unwrap();
        fs::remove_file(path).unwrap();
    }
    told
}

/// Reads a transcript three times and tells the best.
pub(super) fn read(path: PathBuf) {
    let size = f64::from(u32::try_from(fs::metadata(&path).unwrap().len()).unwrap());
    let mut fastest = 0.0_f64;
    let mut calls = 0;
    let files = [path];
    for _ in 0..3 {
        let began = Instant::now();
        let found = read_transcript(&files).unwrap();
        fastest = fastest.max(size / 1e6 / began.elapsed().as_secs_f64());
        assert!(found.is_complete(), "{:?}", found.gaps);
        calls = found.events.len();
    }
    let held = high_water(std::process::id()).unwrap() * 1024.0 / 1e6;
    println!("{fastest:.0} MB/s (target >= 300), {held:.0} MB held at most (target < 100), {calls} calls");
}

/// How long a host waits for its answer, with a session of 20 MB.
pub(super) fn hook_latency() -> String {
    const ASKED: usize = 9;
    let stage = Stage::build(3_000);
    let path = stage.scratch("session.jsonl");
    generate(&path, 20_000_000, claude);
    let last = fs::read_to_string(&path).unwrap().matches("Next, part ").count() - 1;
    let word = serde_json::json!({
        "session_id": "s", "cwd": stage.repo(), "transcript_path": path, "hook_event_name": "Stop",
        "stop_hook_active": false, "last_assistant_message": format!("Next, part {last}."),
    });
    let mut times: Vec<f64> = (0..ASKED).map(|_| stage.asked(word.to_string().as_bytes())).collect();
    times.sort_by(f64::total_cmp);
    format!("hook stop on a 20 MB transcript, 3000 files: {:.0} ms (target < 300)\n", times[ASKED / 2])
}

pub(super) fn generate(path: &Path, bytes: u32, turn: fn(u64) -> String) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let (mut written, mut number) = (0, 0);
    while written < bytes as usize {
        let text = turn(number);
        file.write_all(text.as_bytes()).unwrap();
        (written, number) = (written + text.len(), number + 1);
    }
}

/// What a test run prints, as it stands in a string of JSON.
fn output(turn: u64, lines: u64) -> String {
    let line =
        |line| format!("test part_{turn}::case_{line} ... ok, \\\"quoted\\\" and a place src/part_{line}.rs:{line}\\n");
    (0..lines).map(line).collect()
}

/// One call and its result as Claude Code records them: the text twice.
pub(super) fn claude(turn: u64) -> String {
    let about = |id: String, parent: String, kind: &str| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":"11111111-2222-3333-4444-555555555555","version":"2.1.332","gitBranch":"main","type":"{kind}","uuid":"{id}","timestamp":"2026-01-01T00:00:00.000Z""#
        )
    };
    let before = if turn == 0 { "null".to_owned() } else { format!("\"r{}\"", turn - 1) };
    let call = format!(
        r#"{},"message":{{"id":"msg_{turn}","type":"message","role":"assistant","content":[{{"type":"text","text":"Next, part {turn}."}},{{"type":"tool_use","id":"toolu_{turn}","name":"Bash","input":{{"command":"cargo test part_{turn}","description":"Run tests"}}}}],"usage":{{"input_tokens":1,"output_tokens":2}}}}}}"#,
        about(format!("a{turn}"), before, "assistant")
    );
    let output = output(turn, 40);
    let result = format!(
        r#"{},"message":{{"role":"user","content":[{{"tool_use_id":"toolu_{turn}","type":"tool_result","content":"{output}","is_error":false}}]}},"toolUseResult":{{"stdout":"{output}","stderr":"","interrupted":false,"isImage":false}}}}"#,
        about(format!("r{turn}"), format!("\"a{turn}\""), "user")
    );
    format!("{call}\n{result}\n")
}

/// One call and its result as Codex records them.
fn codex(turn: u64) -> String {
    let line = |kind: &str, payload: String| {
        format!("{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    };
    let mut text = String::new();
    if turn == 0 {
        text += &line("session_meta", r#"{"id":"s","cwd":"/home/user/project"}"#.to_owned());
    }
    text += &line(
        "response_item",
        format!(
            r#"{{"type":"function_call","name":"exec_command","arguments":"{{\"cmd\":\"cargo test part_{turn}\"}}","call_id":"call_{turn}"}}"#
        ),
    );
    text + &line(
        "response_item",
        format!(
            r#"{{"type":"function_call_output","call_id":"call_{turn}","output":"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{}"}}"#,
            output(turn, 80)
        ),
    )
}
