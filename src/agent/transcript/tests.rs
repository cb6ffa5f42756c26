//! Small transcripts, written for these tests in the shape of the real ones.

use super::*;
use std::io::Write as _;

fn read(lines: &str) -> Transcript {
    read_files(&[lines]).unwrap()
}

fn read_files(files: &[&str]) -> Result<Transcript, TranscriptError> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let path = folder.path().join(format!("{index}.jsonl"));
            File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
            path
        })
        .collect();
    read_transcript(&paths)
}

/// `kind command-or-path status exit(source)` of each event, with marks for what is unusual.
fn told(transcript: &Transcript) -> Vec<String> {
    let told = |event: &ToolEvent| {
        let what = event.command.clone().unwrap_or_else(|| event.paths.join(","));
        let exit = event.exit.map_or(String::new(), |exit| format!(" {exit}({:?})", event.exit_source));
        let marks = [
            (event.background, " background"),
            (event.rolled_back, " rolled-back"),
            (event.user_modified, " user-modified"),
            (event.actor != Actor::Main, " sub"),
        ];
        let marks: String = marks.iter().filter(|(set, _)| *set).map(|(_, mark)| *mark).collect();
        format!("{:?} {what} {:?}{exit}{marks}", event.kind, event.status)
    };
    transcript.events.iter().map(told).collect()
}

const CLAUDE: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","cwd":"/p","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","cwd":"/p","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"I write."},{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/p/a.txt","content":"x"}}]}}
{"type":"assistant","uuid":"a1b","parentUuid":"a1","sessionId":"s1","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/p/a.txt","content":"x"}}]}}
{"type":"user","uuid":"u2","parentUuid":"a1b","sessionId":"s1","timestamp":"2026-01-01T00:00:02Z","toolUseResult":{"type":"create","filePath":"/p/a.txt","userModified":true},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"File created"}]}}
{"type":"assistant","uuid":"a2","parentUuid":"u2","sessionId":"s1","timestamp":"2026-01-01T00:00:03Z","message":{"id":"m2","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"cargo test"}},{"type":"tool_use","id":"t3","name":"Bash","input":{"command":"npm run dev","run_in_background":true}}]}}
{"type":"user","uuid":"u3","parentUuid":"a2","sessionId":"s1","toolUseResult":"Error: Exit code 101\nno","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"Exit code 101\nno"}]}}
{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"s1","toolUseResult":{"stdout":"","stderr":"","interrupted":false,"backgroundTaskId":"b1"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":"running as b1"}]}}
{"type":"assistant","uuid":"a3","parentUuid":"u4","sessionId":"s1","message":{"id":"m3","role":"assistant","content":[{"type":"tool_use","id":"t4","name":"Bash","input":{"command":"true"}},{"type":"tool_use","id":"t5","name":"Bash","input":{"command":"sleep 9"}}]}}
{"type":"user","uuid":"u5","parentUuid":"a3","sessionId":"s1","toolUseResult":{"stdout":"","stderr":"","interrupted":false},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t4","content":""}]}}
{"type":"user","uuid":"u6","parentUuid":"u5","sessionId":"s1","toolUseResult":{"stdout":"","stderr":"","interrupted":true},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t5","content":""}]}}
{"type":"assistant","uuid":"a4","parentUuid":"u6","sessionId":"s1","message":{"id":"m4","role":"assistant","content":[{"type":"text","text":"All done."}]}}
"#;

#[test]
fn a_claude_session_gives_each_call_once_with_its_end() {
    let found = read(CLAUDE);
    assert_eq!(found.dialect, Dialect::Claude);
    assert_eq!((found.session.as_deref(), found.cwd.as_deref()), (Some("s1"), Some("/p")));
    let expected = [
        "Write /p/a.txt Ok user-modified",
        "Shell cargo test Error 101(Text)",
        "Shell npm run dev Running background",
        "Shell true Ok 0(Inferred)",
        "Shell sleep 9 Aborted",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.last_words.as_deref(), Some("All done."));
    assert!(found.is_complete(), "{:?}", found.gaps);
}

#[test]
fn the_end_of_a_command_in_the_background_is_where_the_agent_asked_for_it() {
    let asked = r#"{"type":"assistant","uuid":"a5","parentUuid":"a4","sessionId":"s1","message":{"content":[{"type":"tool_use","id":"t6","name":"TaskOutput","input":{"task_id":"b1"}}]}}
{"type":"user","uuid":"u7","parentUuid":"a5","sessionId":"s1","toolUseResult":{"task":{"task_id":"b1","status":"completed","exitCode":3,"output":"bad"}},"message":{"content":[{"type":"tool_result","tool_use_id":"t6","content":"bad"}]}}
"#;
    let found = read(&format!("{CLAUDE}{asked}"));
    assert_eq!(told(&found)[2], "Shell npm run dev Error 3(Field) background");
}

#[test]
fn a_sub_agent_s_calls_stand_behind_the_call_that_started_it() {
    let main = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","message":{"content":"go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","message":{"content":[{"type":"tool_use","id":"t1","name":"Task","input":{}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","sessionId":"s1","toolUseResult":{"agentId":"x"},"message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}
{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"ok"}]}}
"#;
    let sub = r#"{"type":"user","uuid":"v1","parentUuid":null,"isSidechain":true,"agentId":"x","sessionId":"s1","message":{"content":"sub"}}
{"type":"assistant","uuid":"v2","parentUuid":"v1","isSidechain":true,"agentId":"x","sessionId":"s1","message":{"content":[{"type":"text","text":"VERDICT: PASS"},{"type":"tool_use","id":"t9","name":"Edit","input":{"file_path":"b"}}]}}
{"type":"user","uuid":"v3","parentUuid":"v2","isSidechain":true,"agentId":"x","sessionId":"s1","message":{"content":[{"type":"tool_result","tool_use_id":"t9","content":"ok"}]}}
"#;
    let found = read_files(&[main, sub]).unwrap();
    assert_eq!(told(&found), ["Agent  Ok", "Edit b Ok sub", "Shell ls Ok 0(Inferred)"]);
    assert_eq!(found.last_words, None);
    assert!(found.is_complete(), "{:?}", found.gaps);
}

const CODEX: &str = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"c1","cwd":"/p"}}
{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"cargo test | tail -1\"],\"workdir\":\"/p/sub\"}","call_id":"k1"}}
{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"function_call_output","call_id":"k1","output":"{\"output\":\"ok\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"}}
{"timestamp":"2026-01-01T00:00:03Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make\"}","call_id":"k2"}}
{"timestamp":"2026-01-01T00:00:03Z","type":"response_item","payload":{"type":"function_call_output","call_id":"k2","output":"Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\nProcess exited with code 0\n"}}
{"timestamp":"2026-01-01T00:00:04Z","type":"response_item","payload":{"type":"function_call","name":"write_stdin","arguments":"{\"session_id\":7,\"chars\":\"\"}","call_id":"k3"}}
{"timestamp":"2026-01-01T00:00:05Z","type":"response_item","payload":{"type":"function_call_output","call_id":"k3","output":"Wall time: 1 seconds\nProcess exited with code 2\nOutput:\nbad\n"}}
{"timestamp":"2026-01-01T00:00:06Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** Add File: new.rs\n+x\n*** Update File: old.rs\n*** Move to: moved.rs\n*** End Patch","call_id":"k4","status":"completed"}}
{"timestamp":"2026-01-01T00:00:07Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"k4","output":"{\"output\":\"Success\",\"metadata\":{\"exit_code\":0}}"}}
{"timestamp":"2026-01-01T00:00:07Z","type":"event_msg","payload":{"type":"task_started","turn_id":"2"}}
{"timestamp":"2026-01-01T00:00:08Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"rm x\"}","call_id":"k5"}}
{"timestamp":"2026-01-01T00:00:08Z","type":"response_item","payload":{"type":"function_call_output","call_id":"k5","output":"Exit code: 1\nWall time: 0 seconds\nOutput:\nExit code: 0"}}
{"timestamp":"2026-01-01T00:00:08Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
{"timestamp":"2026-01-01T00:00:09Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"sleep 99\"}","call_id":"k6"}}
{"timestamp":"2026-01-01T00:00:10Z","type":"response_item","payload":{"type":"function_call_output","call_id":"k6","output":"command timed out after 10 milliseconds"}}
{"timestamp":"2026-01-01T00:00:11Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"3","last_agent_message":"Done."}}
"#;

#[test]
fn a_codex_rollout_tells_the_end_in_each_of_its_shapes() {
    let found = read(CODEX);
    assert_eq!(found.dialect, Dialect::Codex);
    let expected = [
        "Shell cargo test | tail -1 Ok 0(Field)",
        "Shell make Error 2(Text) background",
        "Poll  Error 2(Text)",
        "Patch new.rs,old.rs,moved.rs Ok 0(Field)",
        "Shell rm x Error 1(Text) rolled-back",
        "Shell sleep 99 TimedOut",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.events[0].cwd.as_deref(), Some("/p/sub"));
    assert_eq!(found.last_words.as_deref(), Some("Done."));
}

#[test]
fn a_gemini_message_counts_as_last_written_and_can_be_taken_back() {
    let found = read(
        r#"{"sessionId":"g1","projectHash":"h","startTime":"2026-01-01T00:00:00Z","kind":"main"}
{"id":"m1","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"I run."}
{"id":"m1","timestamp":"2026-01-01T00:00:01Z","type":"gemini","content":"I run.","toolCalls":[{"id":"x1","name":"run_shell_command","args":{"command":"make test"},"status":"success","result":[{"functionResponse":{"response":{"output":"Output: Exit Code: 0\nExit Code: 2\nProcess Group PGID: 5"}}}]}]}
{"id":"m2","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"","toolCalls":[{"id":"x2","name":"run_shell_command","args":{"command":"ls"},"status":"success","result":[{"functionResponse":{"response":{"output":"Output: a"}}}]}]}
{"id":"m3","timestamp":"2026-01-01T00:00:03Z","type":"gemini","content":"","toolCalls":[{"id":"x3","name":"write_file","args":{"file_path":"w"},"status":"success","result":[{"functionResponse":{"response":{"output":"ok"}}}]},{"id":"x4","name":"run_shell_command","args":{"command":"serve"},"status":"success","result":[{"functionResponse":{"response":{"output":"Command moved to background (PID: 9)."}}}]}]}
{"$rewindTo":"m3"}
{"id":"m4","timestamp":"2026-01-01T00:00:04Z","type":"gemini","content":"End."}
"#,
    );
    assert_eq!(found.dialect, Dialect::Gemini);
    let expected = [
        "Shell make test Error 2(Text)",
        "Shell ls Ok 0(Inferred)",
        "Write w Ok rolled-back",
        "Shell serve Running background rolled-back",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.last_words.as_deref(), Some("End."));
}

#[test]
fn pi_copilot_and_qwen_are_read_alike() {
    let pi = r#"{"type":"session","version":3,"id":"p1","timestamp":"2026-01-01T00:00:00Z","cwd":"/p"}
{"type":"message","id":"1","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"/p/w"}},{"type":"toolCall","id":"c2","name":"bash","arguments":{"command":"make"}}]}}
{"type":"message","id":"2","parentId":"1","message":{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"ok"}],"isError":false}}
{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"c2","content":[{"type":"text","text":"out\n\nCommand exited with code 3"}],"isError":true}}
{"type":"message","id":"4","parentId":"3","message":{"role":"assistant","content":[{"type":"text","text":"End."}]}}
"#;
    let copilot = r#"{"type":"session.start","data":{"sessionId":"o1","context":{"cwd":"/p"}},"id":"1","timestamp":"2026-01-01T00:00:00Z","parentId":null}
{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"create","arguments":{"path":"/p/w"}},"id":"2","parentId":"1"}
{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"fileEdits":[{"path":"/p/w","kind":"create"}]},"id":"3","parentId":"2"}
{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"bash","arguments":{"command":"make"}},"id":"4","parentId":"3"}
{"type":"tool.execution_complete","data":{"toolCallId":"c2","success":true,"shellExecution":{"exitCode":3},"result":{"content":"out"}},"id":"5","parentId":"4"}
{"type":"assistant.message","data":{"content":"End."},"id":"6","parentId":"5"}
"#;
    let qwen = r#"{"uuid":"1","parentUuid":null,"sessionId":"q1","timestamp":"2026-01-01T00:00:00Z","type":"user","provenance":"real_user","cwd":"/p","message":{"parts":[{"text":"go"}]}}
{"uuid":"2","parentUuid":"1","sessionId":"q1","type":"assistant","provenance":"assistant_output","message":{"parts":[{"functionCall":{"id":"c1","name":"write_file","args":{"file_path":"/p/w"}}},{"functionCall":{"id":"c2","name":"run_shell_command","args":{"command":"make"}}}]}}
{"uuid":"3","parentUuid":"2","sessionId":"q1","type":"tool_result","provenance":"tool_result","message":{"parts":[{"functionResponse":{"id":"c1","response":{"output":"ok"}}}]},"toolCallResult":{"callId":"c1","status":"success"}}
{"uuid":"4","parentUuid":"3","sessionId":"q1","type":"tool_result","provenance":"tool_result","message":{"parts":[{"functionResponse":{"id":"c2","response":{"error":"bad"}}}]},"toolCallResult":{"callId":"c2","status":"error","resultDisplay":{"type":"shell_result","exitCode":3,"truncated":false}}}
{"uuid":"5","parentUuid":"4","sessionId":"q1","type":"assistant","provenance":"assistant_output","message":{"parts":[{"text":"thinking","thought":true},{"text":"End."}]}}
"#;
    for (text, dialect, source, session) in [
        (pi, Dialect::Pi, "Text", "p1"),
        (copilot, Dialect::Copilot, "Field", "o1"),
        (qwen, Dialect::Qwen, "Field", "q1"),
    ] {
        let found = read(text);
        assert_eq!(found.dialect, dialect);
        assert_eq!(found.session.as_deref(), Some(session));
        assert_eq!(found.cwd.as_deref(), Some("/p"), "{dialect:?}");
        assert_eq!(told(&found), ["Write /p/w Ok".to_owned(), format!("Shell make Error 3({source})")], "{dialect:?}");
        assert_eq!(found.last_words.as_deref(), Some("End."), "{dialect:?}");
        assert!(found.is_complete(), "{dialect:?}: {:?}", found.gaps);
    }
}

#[test]
fn damage_is_counted_by_line_and_makes_the_ledger_incomplete() {
    let (first, rest) = CLAUDE.split_once('\n').unwrap();
    let torn = format!("{first}\n{{\"type\":\"assistant\",\"mess\n{rest}");
    let cut = &CLAUDE[..CLAUDE.len() - 20];
    let nul = format!("{CLAUDE}{}", "\0".repeat(4096));
    let crlf = format!("\u{feff}{}", CLAUDE.replace('\n', "\r\n"));
    let glued = CLAUDE.replacen('\n', "", 1);
    for (text, events, damaged) in
        [(torn.as_str(), 5, &[2][..]), (cut, 5, &[11]), (&nul, 5, &[12]), (&crlf, 5, &[]), (&glued, 5, &[1])]
    {
        let found = read(text);
        assert_eq!(found.events.len(), events);
        let lines: Vec<u64> = found.damaged.iter().map(|damage| damage.line).collect();
        assert_eq!(lines, damaged);
        assert_eq!(found.is_complete(), damaged.is_empty());
    }
    assert_eq!(read(cut).last_words.as_deref(), Some("I write."));
}

#[test]
fn a_call_without_its_result_and_a_lost_parent_are_gaps() {
    let lines: Vec<&str> = CLAUDE.lines().collect();
    let without = |left_out: usize| {
        let kept: Vec<&str> =
            lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line).collect();
        read(&kept.join("\n"))
    };
    assert_eq!(without(5).gaps, ["1 calls have no recorded result", "1 records follow one that is not there"]);
    assert_eq!(told(&without(5))[1], "Shell cargo test Unknown");
}

#[test]
fn what_no_known_program_wrote_is_refused_by_name() {
    for (text, why) in [
        ("", "no intact record"),
        ("not json\n", "no intact record"),
        ("{\"hello\":1}\n[2]\n", "none of its first 2 records"),
    ] {
        let message = read_files(&[text]).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }
    assert!(matches!(read_files(&[CLAUDE, CODEX]), Err(TranscriptError::Mixed { .. })));
    let missing = read_transcript(&[PathBuf::from("/nowhere/t.jsonl")]).unwrap_err().to_string();
    assert!(missing.contains("/nowhere/t.jsonl"), "{missing}");
}

proptest::proptest! {
    /// Whatever is cut, doubled or flipped: no panic, and no call that the intact text does not have.
    #[test]
    fn damage_never_invents_a_call(cut in 0..CLAUDE.len(), flip in 0..CLAUDE.len(), byte: u8) {
        let mut bytes = CLAUDE.as_bytes()[..cut].to_vec();
        if let Some(at) = bytes.get_mut(flip) {
            *at = byte;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(found) = read_transcript(&[path]) {
            proptest::prop_assert!(found.events.len() <= 6, "{:?}", told(&found));
        }
    }
}
