//! Codex: rollouts. The end of a command is recorded in up to three shapes, in text and, in newer versions, as an item.
//!
//! A command that outlives its call goes on under a session id; later `write_stdin` calls of that id tell its end.

use super::builder::{Builder, Call};
use super::event::{Actor, ExitSource, ToolKind, ToolStatus};
use super::input::{joined, patch_paths};
use super::wire::Record;
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads one record.
pub(super) fn take(builder: &mut Builder, record: &Record<'_>) {
    let at = record.time("timestamp");
    let kind = record.counted_as();
    let Some(payload) = record.get::<Record<'_>>("payload") else { return builder.skip(kind) };
    match kind {
        "session_meta" => {
            let id = payload.text("id").or_else(|| payload.text("session_id"));
            builder.note(id, payload.text("cwd"), at);
        }
        "turn_context" => builder.works_in(payload.text("cwd")),
        "response_item" => item(builder, &payload, at),
        "event_msg" => message(builder, &payload, at),
        other => builder.skip(other),
    }
}

fn item(builder: &mut Builder, payload: &Record<'_>, at: Option<i64>) {
    let id = payload.text("call_id").unwrap_or_default();
    match payload.counted_as() {
        "function_call" => {
            let arguments = payload.text("arguments").unwrap_or_default();
            let raw = serde_json::from_str::<&RawValue>(&arguments).ok();
            called(builder, &id, &payload.text("name").unwrap_or_default(), raw, at);
        }
        "custom_tool_call" => {
            let place = called(builder, &id, &payload.text("name").unwrap_or_default(), None, at);
            let patch = payload.text("input").unwrap_or_default();
            builder.event(place).paths = patch_paths(&patch);
        }
        "local_shell_call" => {
            called(builder, &id, "local_shell", payload.get::<&RawValue>("action"), at);
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            output(builder, &id, payload.get::<Value>("output").unwrap_or(Value::Null), at);
        }
        "message" => {
            if payload.text("role").as_deref() == Some("assistant") {
                let blocks: Vec<Record<'_>> = payload.get("content").unwrap_or_default();
                let text: Vec<String> = blocks.iter().filter_map(|block| block.text("text")).collect();
                builder.say(&text.join("\n"));
            }
        }
        other => builder.skip(other),
    }
}

fn called(builder: &mut Builder, id: &str, tool: &str, input: Option<&RawValue>, at: Option<i64>) -> usize {
    let known = builder.place_of(id);
    let cwd = builder.place_of_work();
    let place = builder.call(Call { id, tool, kind: kind_of(tool), actor: Actor::Main, input, cwd, at });
    if known.is_none() {
        let parsed: Option<Record<'_>> = input.and_then(|raw| serde_json::from_str(raw.get()).ok());
        if let Some(parsed) = parsed {
            of_input(builder, place, &parsed);
        }
    }
    place
}

/// What only Codex's arguments hold: a place of its own, a session that is asked after, a patch.
fn of_input(builder: &mut Builder, place: usize, input: &Record<'_>) {
    if let Some(cwd) = input.text("workdir").or_else(|| input.text("working_directory")) {
        builder.event(place).cwd = Some(cwd);
    }
    if builder.event(place).kind == ToolKind::Poll {
        let session = input.get::<Value>("session_id").map(|id| id.to_string().trim_matches('"').to_owned());
        builder.asks_after(place, session.unwrap_or_default());
    }
    let event = builder.event(place);
    let patch = event.command.as_deref().filter(|command| command.contains("*** Begin Patch")).map(patch_paths);
    if let Some(paths) =
        patch.or_else(|| input.text("input").or_else(|| input.text("patch")).map(|patch| patch_paths(&patch)))
    {
        event.paths = paths;
        if !event.paths.is_empty() {
            event.kind = ToolKind::Patch;
        }
    }
}

/// How a command's text says that it ended.
enum End {
    Exit(i32),
    GoesOn(String),
    TimedOut,
    Unsaid,
}

fn output(builder: &mut Builder, id: &str, value: Value, at: Option<i64>) {
    let Some(place) = builder.answer(id, at) else { return };
    let (text, field) = unwrapped(value);
    let end = match field {
        Some(code) => End::Exit(code),
        None => end_of(&text),
    };
    // A poll's answer is the answer of the command that it asks after.
    let subject = builder.asked_after(place).unwrap_or(place);
    let kind = builder.event(place).kind;
    let source = if field.is_some() { ExitSource::Field } else { ExitSource::Text };
    match end {
        End::Exit(code) => {
            for at in [place, subject] {
                let event = builder.event(at);
                // Text is for the model; an item's own field is what happened.
                if event.exit_source == ExitSource::Field {
                    continue;
                }
                event.status = if code == 0 { ToolStatus::Ok } else { ToolStatus::Error };
                (event.exit, event.exit_source) = (Some(code), source);
            }
        }
        End::GoesOn(session) => builder.goes_on(&session, subject),
        End::TimedOut => builder.event(subject).status = ToolStatus::TimedOut,
        // An item may have told the end already.
        End::Unsaid if matches!(kind, ToolKind::Shell | ToolKind::Poll | ToolKind::Patch) => {}
        End::Unsaid => builder.event(place).status = ToolStatus::Ok,
    }
    if matches!(kind, ToolKind::Shell | ToolKind::Poll | ToolKind::Patch) {
        let event = builder.event(subject);
        event.truncated |= text.contains("tokens truncated") || text.contains("[... omitted");
        builder.output(subject, &text);
    }
}

/// The text of an output, and the exit code if the output is an object that has one.
fn unwrapped(value: Value) -> (String, Option<i32>) {
    let object = match value {
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(object @ Value::Object(_)) if object.get("output").is_some() => object,
            _ => return (text, None),
        },
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
            return (texts.collect::<Vec<_>>().join("\n"), None);
        }
        other => other,
    };
    let code = object.pointer("/metadata/exit_code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let text = object.get("output").or_else(|| object.get("content")).and_then(Value::as_str).unwrap_or_default();
    (text.to_owned(), code)
}

/// Reads only what stands before the command's own output: what a command prints is not how it ended.
fn end_of(text: &str) -> End {
    if text.starts_with("command timed out after") {
        return End::TimedOut;
    }
    let mut head = text.lines().take(8).take_while(|line| *line != "Output:").peekable();
    let nested = text.strip_prefix("Wall time: ").and_then(|rest| rest.split_once("\nOutput:\n")).map(|(_, rest)| rest);
    let found = head.find_map(end_of_line);
    match (found, nested) {
        (Some(end), _) => end,
        // A patch run through the shell reports inside the report of the shell.
        (None, Some(inner)) if inner.starts_with("Exit code: ") => {
            inner.lines().next().and_then(end_of_line).unwrap_or(End::Unsaid)
        }
        _ => End::Unsaid,
    }
}

fn end_of_line(line: &str) -> Option<End> {
    let code = |rest: &str| rest.trim().parse().ok().map(End::Exit);
    if let Some(rest) = line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code ")) {
        return code(rest);
    }
    let session = line.strip_prefix("Process running with session ID ")?;
    Some(End::GoesOn(session.trim().to_owned()))
}

fn message(builder: &mut Builder, payload: &Record<'_>, at: Option<i64>) {
    match payload.counted_as() {
        "task_started" | "turn_started" => builder.turn(&payload.text("turn_id").unwrap_or_default()),
        "task_complete" | "turn_complete" => builder.say(&payload.text("last_agent_message").unwrap_or_default()),
        "thread_rolled_back" => builder.take_back(payload.get("num_turns").unwrap_or(1)),
        "item_completed" => {
            if let Some(item) = payload.get::<Record<'_>>("item") {
                completed(builder, &item, at);
            }
        }
        "patch_apply_end" => patched(builder, payload, payload.get("success") == Some(true), at),
        "user_message" => {
            builder.asked(&payload.text("message").unwrap_or_default());
            builder.skip("user_message");
        }
        other => builder.skip(other),
    }
}

fn completed(builder: &mut Builder, item: &Record<'_>, at: Option<i64>) {
    let id = item.text("id").unwrap_or_default();
    match item.counted_as() {
        "CommandExecution" => {
            let words: Vec<String> = item.get("command").unwrap_or_default();
            let place = builder.place_of(&id).unwrap_or_else(|| called(builder, &id, "exec_command", None, at));
            builder.answer(&id, at);
            let exit: Option<i32> = item.get("exit_code");
            let event = builder.event(place);
            if event.command.is_none() {
                event.command = Some(joined(&words.iter().map(String::as_str).collect::<Vec<_>>()));
            }
            if let Some(cwd) = item.text("cwd") {
                event.cwd = Some(cwd.strip_prefix("file://").unwrap_or(&cwd).to_owned());
            }
            if let Some(code) = exit {
                (event.exit, event.exit_source) = (Some(code), ExitSource::Field);
                event.status = if code == 0 { ToolStatus::Ok } else { ToolStatus::Error };
            }
            if let Some(text) = item.text("aggregated_output") {
                builder.output(place, &text);
            }
        }
        "FileChange" => patched(builder, item, item.text("status").as_deref() == Some("completed"), at),
        other => builder.skip(other),
    }
}

fn patched(builder: &mut Builder, patch: &Record<'_>, succeeded: bool, at: Option<i64>) {
    let id = patch.text("id").or_else(|| patch.text("call_id")).unwrap_or_default();
    let place = builder.place_of(&id).unwrap_or_else(|| called(builder, &id, "apply_patch", None, at));
    builder.answer(&id, at);
    let changes: serde_json::Map<String, Value> = patch.get("changes").unwrap_or_default();
    let event = builder.event(place);
    event.kind = ToolKind::Patch;
    event.status = if succeeded { ToolStatus::Ok } else { ToolStatus::Error };
    if !changes.is_empty() {
        event.paths = changes.keys().cloned().collect();
    }
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec" => ToolKind::Shell,
        "write_stdin" => ToolKind::Poll,
        "apply_patch" => ToolKind::Patch,
        "read_file" | "list_dir" | "grep_files" | "view_image" => ToolKind::Read,
        "web_search" => ToolKind::Net,
        "spawn_agent" => ToolKind::Agent,
        _ => ToolKind::Other,
    }
}
