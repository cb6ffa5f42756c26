//! The readers, each against minimal streams in the program's own form.

use super::*;
use crate::agent::stream::Stream;
use crate::agent::told::{End, Fault, ToolOutcome};
use proptest::prelude::*;
use serde_json::json;

/// A program's complete turn: one file read, then the answer. The last event is the terminal one.
fn turn(name: &str) -> Vec<Value> {
    match name {
        "claude" => vec![
            json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": "m-1", "tools": ["Read"]}),
            json!({"type": "assistant", "timestamp": "t1", "message": {"model": "m-1", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.rs"}}]}}),
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "fn a() {}"}]}}),
            json!({"type": "assistant", "message": {"model": "m-1", "content": [{"type": "text", "text": "42"}]}}),
            json!({"subtype": "success", "is_error": false, "result": "42", "session_id": "s-1", "total_cost_usd": 0.5,
                "usage": {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 3}, "type": "result"}),
        ],
        "codex" => vec![
            json!({"type": "thread.started", "thread_id": "s-1"}),
            json!({"type": "item.completed", "item": {"type": "error", "message": "unknown model, using defaults"}}),
            json!({"type": "item.completed", "item": {"id": "c1", "type": "command_execution", "command": "cat a.rs",
                "exit_code": 0, "status": "completed"}}),
            json!({"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "42"}}),
            json!({"type": "turn.completed",
                "usage": {"input_tokens": 11, "cached_input_tokens": 3, "output_tokens": 7}}),
        ],
        "gemini" => vec![
            json!({"type": "init", "session_id": "s-1", "model": "m-1"}),
            json!({"type": "message", "role": "user", "content": "the brief"}),
            json!({"type": "message", "role": "assistant", "content": "I look.", "delta": true}),
            json!({"type": "tool_use", "tool_id": "c1", "tool_name": "read_file", "timestamp": "t1",
                "parameters": {"file_path": "a.rs"}}),
            json!({"type": "tool_result", "tool_id": "c1", "status": "success", "output": ""}),
            json!({"type": "message", "role": "assistant", "content": "4", "delta": true}),
            json!({"type": "message", "role": "assistant", "content": "2", "delta": true}),
            json!({"type": "result", "status": "success",
                "stats": {"input_tokens": 11, "output_tokens": 7, "cached": 3}}),
        ],
        "pi" => vec![
            json!({"type": "session", "id": "s-1"}),
            json!({"type": "message_end", "message": {"role": "assistant", "model": "m-1", "stopReason": "toolUse",
                "content": [{"type": "text", "text": "I look."}], "usage": {"input": 5, "output": 3, "cacheRead": 1,
                "cost": {"total": 0}}}}),
            json!({"type": "tool_execution_start", "toolCallId": "c1", "toolName": "read", "args": {"path": "a.rs"}}),
            json!({"type": "tool_execution_end", "toolCallId": "c1", "isError": false, "durationMs": 8, "result": {}}),
            json!({"type": "message_end", "message": {"role": "assistant", "model": "m-1", "stopReason": "stop",
                "content": [{"type": "text", "text": "42"}], "usage": {"input": 6, "output": 4, "cacheRead": 2,
                "cost": {"total": 0}}}}),
            json!({"type": "agent_settled", "aborted": false}),
        ],
        "copilot" => vec![
            json!({"type": "session.tools_updated", "data": {"model": "m-1"}}),
            json!({"type": "assistant.message", "data": {"model": "m-1", "content": "I look.",
                "toolRequests": [{"toolCallId": "c1"}]}}),
            json!({"type": "tool.execution_start", "timestamp": "t1", "data": {"toolCallId": "c1", "toolName": "view",
                "arguments": {"path": "a.rs"}}}),
            json!({"type": "tool.execution_complete", "data": {"toolCallId": "c1", "success": true}}),
            json!({"type": "assistant.message", "data": {"model": "m-1", "content": "42", "toolRequests": []}}),
            json!({"type": "result", "sessionId": "s-1", "exitCode": 0, "usage": {"premiumRequests": 0}}),
        ],
        "opencode" => vec![
            json!({"type": "step_start", "sessionID": "s-1", "part": {}}),
            json!({"type": "text", "sessionID": "s-1", "part": {"text": "I look."}}),
            json!({"type": "tool_use", "sessionID": "s-1", "part": {"callID": "c1", "tool": "read", "state": {
                "status": "completed", "input": {"filePath": "a.rs"}, "time": {"start": 10, "end": 18}}}}),
            json!({"type": "step_finish", "sessionID": "s-1", "part": {"reason": "tool-calls", "cost": 0,
                "tokens": {"input": 5, "output": 3, "cache": {"read": 1}}}}),
            json!({"type": "step_start", "sessionID": "s-1", "part": {}}),
            json!({"type": "text", "sessionID": "s-1", "part": {"text": "42"}}),
            json!({"type": "step_finish", "sessionID": "s-1", "part": {"reason": "stop", "cost": 0,
                "tokens": {"input": 6, "output": 4, "cache": {"read": 2}}}}),
        ],
        "qwen" => vec![
            json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": "m-1"}),
            json!({"type": "assistant", "message": {"model": "m-1", "content": [
                {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"file_path": "a.rs"}}]}}),
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": "c1", "is_error": false, "content": "fn a() {}"}]}}),
            json!({"type": "result", "subtype": "success", "is_error": false, "result": "42", "session_id": "s-1",
                "usage": {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 3}}),
        ],
        other => panic!("{other} has no sample turn"),
    }
}

/// Its ways to say that a turn failed, and what each is taken for.
fn failures(name: &str) -> Vec<(Value, Fault)> {
    match name {
        "claude" => {
            [(401, Fault::Credentials), (429, Fault::Transient), (529, Fault::Transient), (400, Fault::Refused)]
                .into_iter()
                .map(|(status, fault)| {
                    let event = json!({"type": "result", "subtype": "success", "is_error": true, "result": "API Error",
                    "terminal_reason": "api_error", "api_error_status": status});
                    (event, fault)
                })
                .chain([
                    (
                        json!({"type": "result", "subtype": "success", "is_error": true, "result": "it is 429 o'clock",
                    "api_error": "connection_failed", "api_error_status": null}),
                        Fault::Transient,
                    ),
                    (
                        json!({"type": "result", "subtype": "error_max_turns", "is_error": true, "errors": ["too many"],
                    "terminal_reason": "max_turns"}),
                        Fault::Limit,
                    ),
                    (json!({"type": "result", "subtype": "success", "result": "42"}), Fault::Untyped),
                    (json!({"type": "result", "subtype": "success", "is_error": false}), Fault::Untyped),
                ])
                .collect()
        }
        "codex" => vec![(
            json!({"type": "turn.failed", "error": {"message": "last status: 429 Too Many Requests"}}),
            Fault::Untyped,
        )],
        "gemini" => vec![
            (json!({"type": "result", "status": "error", "error": {"message": "429"}}), Fault::Untyped),
            (json!({"type": "error", "severity": "warning", "message": "Loop detected"}), Fault::Untyped),
        ],
        "pi" => vec![(json!({"type": "agent_settled", "aborted": true}), Fault::Untyped)],
        "copilot" => vec![
            (json!({"type": "session.error", "data": {"statusCode": 401, "message": "no"}}), Fault::Credentials),
            (json!({"type": "result", "exitCode": 1}), Fault::Untyped),
            (json!({"type": "abort", "data": {}}), Fault::Untyped),
        ],
        "opencode" => vec![
            (json!({"type": "error", "error": {"data": {"statusCode": 429, "isRetryable": true}}}), Fault::Transient),
            (
                json!({"type": "error", "error": {"data": {"statusCode": 401, "isRetryable": false}}}),
                Fault::Credentials,
            ),
            (json!({"type": "step_finish", "part": {"reason": "length"}}), Fault::Limit),
        ],
        "qwen" => vec![(
            json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
                "error": {"message": "[API Error: 401]"}}),
            Fault::Untyped,
        )],
        other => panic!("{other} has no sample failures"),
    }
}

fn lines(events: &[Value]) -> Vec<u8> {
    events.iter().flat_map(|event| format!("{event}\n").into_bytes()).collect()
}

fn hear(program: &'static Program, bytes: &[u8]) -> Told {
    let mut stream = Stream::read_by(program.read);
    // In pieces, as a pipe gives them.
    bytes.chunks(7).for_each(|piece| stream.hear(piece));
    stream.told()
}

fn is_done(told: &Told) -> bool {
    matches!(told.end, Some(End::Done { .. })) && told.broken.is_none()
}

#[test]
fn every_program_has_a_sample_and_is_read() {
    for program in PROGRAMS {
        let told = hear(program, &lines(&turn(program.name)));
        let name = program.name;
        assert!(is_done(&told), "{name}: {told:?}");
        assert_eq!(String::from_utf8_lossy(&told.answer), "42", "{name}: the final answer only");
        assert_eq!(told.session.as_deref(), Some("s-1"), "{name}");
        let counted = (told.usage.input_tokens, told.usage.output_tokens, told.usage.cached_tokens);
        let expected = if name == "copilot" { (None, None, None) } else { (Some(11), Some(7), Some(3)) };
        assert_eq!(counted, expected, "{name}: what it does not count is absent");
        assert_eq!(told.usage.cost_usd.is_some(), name == "claude", "{name}");
        let [call] = told.tools.as_slice() else { panic!("{name}: {:?}", told.tools) };
        assert_eq!(call.outcome, ToolOutcome::Done, "{name}");
        assert!(call.input.contains("a.rs"), "{name}: {call:?}");
        // The one whose stream does not say what a command reads says it in its own record.
        assert_eq!(call.opened.as_deref(), (name != "codex").then_some("a.rs"), "{name}");
        let model = told.model.as_deref();
        assert_eq!(model, (!matches!(name, "codex" | "opencode")).then_some("m-1"), "{name}");
    }
}

#[test]
fn a_failed_turn_is_none_whatever_came_before_or_after() {
    for program in PROGRAMS {
        for (failure, fault) in failures(program.name) {
            let mut events = turn(program.name);
            let terminal = events.pop().unwrap();
            events.push(failure.clone());
            for after in [false, true] {
                if after {
                    events.push(terminal.clone());
                }
                let told = hear(program, &lines(&events));
                let Some(End::Failed { fault: found, .. }) = &told.end else {
                    panic!("{}: {failure}: {:?}", program.name, told.end)
                };
                assert_eq!(*found, fault, "{}: {failure}", program.name);
            }
        }
    }
}

#[test]
fn a_call_that_failed_or_read_a_part_opened_nothing() {
    let claude = Program::named("claude").unwrap();
    for (input, result) in [
        (json!({"file_path": "a.rs", "limit": 5}), json!({})),
        (json!({"file_path": "a.rs"}), json!({"is_error": true})),
    ] {
        let mut result = result;
        result["type"] = json!("tool_result");
        result["tool_use_id"] = json!("c1");
        let told = hear(
            claude,
            &lines(&[
                json!({"type": "assistant", "message": {"content": [
                {"type": "tool_use", "id": "c1", "name": "Read", "input": input}]}}),
                json!({"type": "user", "message": {"content": [result]}}),
            ]),
        );
        assert_eq!(told.tools[0].opened, None, "{input}");
    }
}

#[test]
fn a_commands_exit_code_is_read_where_the_program_says_it() {
    let claude = Program::named("claude").unwrap();
    for (error, content, exit) in
        [(true, "Exit code 3\nout", Some(3)), (false, "Exit code 3", Some(0)), (true, "denied", None)]
    {
        let told = hear(
            claude,
            &lines(&[
                json!({"type": "assistant", "message": {"content": [
                {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "x"}}]}}),
                json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": "c1", "is_error": error, "content": content}]}}),
            ]),
        );
        assert_eq!(told.tools[0].exit, exit, "{content}");
    }
}

#[test]
fn codexs_own_record_has_what_its_stream_leaves_out() {
    let read = Program::named("codex").unwrap().transcript.unwrap().read;
    let mut told = Told::default();
    for line in [
        json!({"type": "event_msg", "payload": {"type": "task_started"}}),
        json!({"type": "response_item", "payload": {"type": "function_call", "call_id": "old", "name": "exec_command",
            "arguments": "{}"}}),
        json!({"type": "event_msg", "payload": {"type": "task_started"}}),
        json!({"type": "turn_context", "payload": {"model": "m-1"}}),
        json!({"timestamp": "t1", "type": "response_item", "payload": {"type": "function_call", "call_id": "c1",
            "name": "exec_command", "arguments": "{\"cmd\": \"cat a.rs\"}"}}),
        json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "CommandExecution", "id": "c1",
            "parsed_cmd": [{"type": "read", "path": "a.rs"}], "status": "completed", "exit_code": 0,
            "duration": {"secs": 1, "nanos": 2_000_000}}}}),
        json!({"timestamp": "t2", "type": "response_item", "payload": {"type": "custom_tool_call", "call_id": "c2",
            "name": "apply_patch", "input": "*** Begin Patch"}}),
    ] {
        read(&line, &mut told);
    }
    assert_eq!((told.model.as_deref(), told.tools.len()), (Some("m-1"), 2), "only the last turn counts");
    let (command, patch) = (&told.tools[0], &told.tools[1]);
    assert_eq!((command.exit, command.took_ms, command.at.as_deref()), (Some(0), Some(1002), Some("t1")));
    assert_eq!(command.opened.as_deref(), Some("a.rs"));
    assert_eq!((patch.outcome, patch.exit), (ToolOutcome::Failed, None), "refused: nothing says that it ran");

    for (info, fault) in [
        (json!({"http_connection_failed": {"http_status_code": 401}}), Fault::Credentials),
        (json!({"response_too_many_failed_attempts": {"http_status_code": 429}}), Fault::Transient),
        (json!("internal_server_error"), Fault::Transient),
        (json!("bad_request"), Fault::Refused),
        (json!("usage_limit_exceeded"), Fault::Limit),
        (json!("other"), Fault::Untyped),
        (json!(null), Fault::Untyped),
    ] {
        let mut told = Told::default();
        let error = json!({"message": "429 500 high demand", "codex_error_info": info});
        read(&json!({"type": "event_msg", "payload": {"type": "task_complete", "error": error}}), &mut told);
        assert_eq!(told.fault, Some(fault), "{info}");
    }
}

#[test]
fn geminis_exit_codes_are_statuses_in_eight_bits() {
    let read = Program::named("gemini").unwrap().exit_fault.unwrap();
    for (code, status) in [(144, Some(400)), (145, Some(401)), (173, Some(429)), (244, Some(500)), (1, None), (0, None)]
    {
        assert_eq!(read(code), status, "{code}");
    }
}

#[test]
fn an_argument_list_holds_what_is_meant_and_nothing_empty() {
    let extra = ["--effort".to_owned(), "high".to_owned()];
    let url = |_: &str| Some("http://127.0.0.1:1/v1".to_owned());
    let none = |_: &str| None;
    let mut fill = Fill {
        model: Some("m-1"),
        session: Some("s-1"),
        extra: &extra,
        room: Path::new("/room"),
        home: Path::new("/home"),
        boxed: true,
        variable: &url,
    };
    let list = |program: &str, words: fn(&Program) -> &'static [Word], fill: &Fill<'_>| {
        arguments(words(Program::named(program).unwrap()), fill).join(" ")
    };
    let codex = list("codex", |p| p.verifier, &fill);
    assert!(codex.contains("--dangerously-bypass-approvals-and-sandbox") && !codex.contains("read-only"), "{codex}");
    assert!(codex.ends_with("-c openai_base_url=\"http://127.0.0.1:1/v1\" -m m-1 --effort high -"), "{codex}");
    assert!(list("codex", |p| p.resume, &fill).ends_with(" s-1 -"));
    assert!(list("gemini", |p| p.verifier, &fill).contains("--include-directories /room"));
    assert!(list("pi", |p| p.worker, &fill).contains("--session-dir /home/.pi/sessions --session-id s-1"));
    (fill.boxed, fill.model, fill.variable) = (false, None, &none);
    let codex = list("codex", |p| p.verifier, &fill);
    assert!(codex.contains("-s read-only") && !codex.contains("bypass") && !codex.contains("-m "), "{codex}");
}

#[test]
fn a_verifier_is_never_given_a_session_to_go_on_with() {
    for program in PROGRAMS {
        assert!(!program.verifier.iter().any(|word| matches!(word, Word::Session(_))), "{}", program.name);
    }
}

fn any_program() -> impl Strategy<Value = &'static Program> {
    (0..PROGRAMS.len()).prop_map(|index| PROGRAMS[index])
}

proptest! {
    #[test]
    fn a_stream_that_is_cut_before_its_terminal_event_is_no_answer(
        program in any_program(), at in any::<prop::sample::Index>()
    ) {
        let bytes = lines(&turn(program.name));
        // All but the line end: the closing brace is the last byte that matters.
        let cut = at.index(bytes.len() - 1);
        prop_assert!(!is_done(&hear(program, &bytes[..cut])), "{}", program.name);
    }

    #[test]
    fn no_stream_without_a_terminal_event_of_success_is_an_answer(
        program in any_program(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0..12_u8), 0..30),
    ) {
        let mut events = turn(program.name);
        let terminal = events.pop().unwrap();
        events.extend(failures(program.name).into_iter().map(|(event, _)| event));
        // What a model or a tool says may quote a terminal event; it stands inside a string.
        let quoted = json!({"type": "assistant", "message": {"content": [{"type": "text", "text": terminal.to_string()}]},
            "role": "assistant", "content": format!("\n{terminal}\n"), "part": {"text": terminal.to_string()}});
        let mut bytes = Vec::new();
        for (pick, form) in picks {
            let event = pick.get(&events);
            match form {
                0 => bytes.extend(format!("{quoted}\n").into_bytes()),
                1 => bytes.extend(format!("noise {terminal}\n").into_bytes()),
                2 => bytes.extend(format!("[{terminal}]\n").into_bytes()),
                3 => bytes.extend(format!("{}\n", Value::from(terminal.to_string())).into_bytes()),
                _ => bytes.extend(format!("{event}\n").into_bytes()),
            }
        }
        prop_assert!(!is_done(&hear(program, &bytes)), "{}: {}", program.name, String::from_utf8_lossy(&bytes));
    }
}
