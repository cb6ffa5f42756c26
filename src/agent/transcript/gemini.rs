//! Gemini CLI: messages keyed by id, of which the last written counts; control records take messages back.
//!
//! A shell result names its exit code only when that is not zero.

use super::builder::{Builder, Call};
use super::event::{Actor, ExitSource, ToolKind, ToolStatus};
use super::wire::Record;
use serde_json::value::RawValue;

/// Reads one record.
pub(super) fn take(builder: &mut Builder, record: &Record<'_>) {
    if let Some(id) = record.text("$rewindTo") {
        return builder.take_back_to(&id);
    }
    if let Some(set) = record.get::<Record<'_>>("$set") {
        let messages: Vec<Record<'_>> = set.get("messages").unwrap_or_default();
        for message in &messages {
            one_message(builder, message);
        }
        return builder.skip("$set");
    }
    if record.has("projectHash") {
        return builder.note(record.text("sessionId"), None, record.time("startTime"));
    }
    if record.has("id") {
        one_message(builder, record);
    } else {
        builder.skip(record.counted_as());
    }
}

fn one_message(builder: &mut Builder, message: &Record<'_>) {
    let at = message.time("timestamp");
    let id = message.text("id").unwrap_or_default();
    builder.message(&id);
    if message.kind() == Some("user") {
        let parts: Vec<Record<'_>> = message.get("content").unwrap_or_default();
        let text: Vec<String> = parts.iter().filter_map(|part| part.text("text")).collect();
        builder.asked(&message.text("content").unwrap_or_else(|| text.join("\n")));
    }
    if message.kind() != Some("gemini") {
        return builder.skip(message.counted_as());
    }
    builder.say(&message.text("content").unwrap_or_default());
    let calls: Vec<Record<'_>> = message.get("toolCalls").unwrap_or_default();
    for call in &calls {
        let tool = call.text("name").unwrap_or_default();
        let id = call.text("id").unwrap_or_default();
        let actor = if builder.in_sub_file() { Actor::Sub("sub".to_owned()) } else { Actor::Main };
        builder.call(Call {
            id: &id,
            tool: &tool,
            kind: kind_of(&tool),
            actor,
            input: call.get::<&RawValue>("args"),
            cwd: None,
            at: call.time("timestamp").or(at),
        });
        if call.has("result") || matches!(call.text("status").as_deref(), Some("error" | "cancelled")) {
            answered(builder, call, &id, at);
        }
    }
}

fn answered(builder: &mut Builder, call: &Record<'_>, id: &str, at: Option<i64>) {
    let Some(place) = builder.answer(id, call.time("timestamp").or(at)) else { return };
    let text = response(call);
    let status = match call.text("status").as_deref() {
        Some("success") => ToolStatus::Ok,
        Some("cancelled") => ToolStatus::Aborted,
        Some("error") => ToolStatus::Error,
        _ => ToolStatus::Unknown,
    };
    builder.event(place).status = status;
    if builder.event(place).kind == ToolKind::Shell {
        shell_result(builder, place, &text, status);
    }
}

fn response(call: &Record<'_>) -> String {
    let parts: Vec<Record<'_>> = call.get("result").unwrap_or_default();
    let texts = parts.iter().filter_map(|part| response_text(part));
    texts.collect::<Vec<_>>().join("\n")
}

/// The text of a `functionResponse` part.
pub(super) fn response_text(part: &Record<'_>) -> Option<String> {
    let response: Record<'_> = part.get::<Record<'_>>("functionResponse")?.get("response")?;
    response.text("output").or_else(|| response.text("error"))
}

/// What the text of a shell result says. Its lines `Exit Code:` and `Signal:` stand behind the output, so the last counts.
pub(super) fn shell_result(builder: &mut Builder, place: usize, text: &str, status: ToolStatus) {
    let field = |name: &str| text.lines().rev().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let code: Option<i32> = field("Exit Code: ").and_then(|code| code.parse().ok());
    let signal = field("Signal: ").filter(|signal| !matches!(*signal, "(none)" | "0"));
    let behind = field("Background PIDs: ").is_some_and(|pids| pids != "(none)");
    let moved = text.contains("moved to background");
    let event = builder.event(place);
    event.background |= behind || moved;
    match (code, status) {
        (Some(code), _) => {
            (event.exit, event.exit_source) = (Some(code), ExitSource::Text);
            if code != 0 {
                event.status = ToolStatus::Error;
            }
        }
        (None, ToolStatus::Ok) if moved || event.background => event.status = ToolStatus::Running,
        (None, ToolStatus::Ok) if signal.is_some() => event.status = ToolStatus::Error,
        // Summarised output loses its last lines, and with them the exit code.
        (None, ToolStatus::Ok) if text.contains("Output:") => {
            (event.exit, event.exit_source) = (Some(0), ExitSource::Inferred);
        }
        _ => {}
    }
    builder.output(place, text);
}

/// The kind of a tool of Gemini CLI, and of its descendants.
pub(super) fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "run_shell_command" => ToolKind::Shell,
        "write_file" | "save_memory" => ToolKind::Write,
        "replace" | "edit" => ToolKind::Edit,
        "read_file" | "read_many_files" | "list_directory" | "glob" | "search_file_content" | "grep_search" => {
            ToolKind::Read
        }
        "web_fetch" | "google_web_search" => ToolKind::Net,
        "activate_skill" | "skill" => ToolKind::Skill,
        "task" | "agent" | "delegate_to_agent" => ToolKind::Agent,
        _ => ToolKind::Other,
    }
}
