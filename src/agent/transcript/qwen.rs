//! Qwen Code: Gemini's parts in records of its own; the exit code of a shell call is a field of its display.

use super::builder::{Builder, Call};
use super::event::{Actor, ExitSource, ToolKind, ToolStatus};
use super::gemini::{kind_of, response_text, shell_result};
use super::wire::Record;
use serde_json::value::RawValue;

/// Reads one record.
pub(super) fn take(builder: &mut Builder, record: &Record<'_>) {
    let at = record.time("timestamp");
    builder.note(record.text("sessionId"), record.text("cwd"), at);
    builder.chain(record.text("uuid").as_deref(), record.text("parentUuid").as_deref());
    match record.counted_as() {
        "user" => {
            let text: Vec<String> = parts(record).iter().filter_map(|part| part.text("text")).collect();
            builder.asked(&text.join("\n"));
            builder.skip("user");
        }
        "assistant" => assistant(builder, record, at),
        "tool_result" => result(builder, record, at),
        other => builder.skip(other),
    }
}

fn parts<'a>(record: &Record<'a>) -> Vec<Record<'a>> {
    record.get::<Record<'a>>("message").and_then(|message| message.get("parts")).unwrap_or_default()
}

fn assistant(builder: &mut Builder, record: &Record<'_>, at: Option<i64>) {
    for part in parts(record) {
        // A thought is text too, but nobody was told it.
        if let Some(text) = part.text("text").filter(|_| part.get("thought") != Some(true)) {
            builder.say(&text);
        }
        let Some(call) = part.get::<Record<'_>>("functionCall") else { continue };
        let tool = call.text("name").unwrap_or_default();
        let sidechain = record.get("isSidechain") == Some(true) || builder.in_sub_file();
        builder.call(Call {
            id: &call.text("id").unwrap_or_default(),
            tool: &tool,
            kind: kind_of(&tool),
            actor: if sidechain { Actor::Sub("side".to_owned()) } else { Actor::Main },
            input: call.get::<&RawValue>("args"),
            cwd: record.text("cwd"),
            at,
        });
    }
}

fn result(builder: &mut Builder, record: &Record<'_>, at: Option<i64>) {
    let parts = parts(record);
    let told: Option<Record<'_>> = record.get("toolCallResult");
    let of_part = || parts.iter().find_map(|part| part.get::<Record<'_>>("functionResponse")?.text("id"));
    let id = told.as_ref().and_then(|told| told.text("callId")).or_else(of_part).unwrap_or_default();
    let Some(place) = builder.answer(&id, at) else { return };
    let text = parts.iter().find_map(response_text).unwrap_or_default();
    let status = match told.as_ref().and_then(|told| told.text("status")).as_deref() {
        Some("success") => ToolStatus::Ok,
        Some("error") => ToolStatus::Error,
        Some("cancelled") => ToolStatus::Aborted,
        _ => ToolStatus::Unknown,
    };
    builder.event(place).status = status;
    if builder.event(place).kind != ToolKind::Shell {
        return;
    }
    shell_result(builder, place, &text, status);
    let display: Option<Record<'_>> = told.and_then(|told| told.get("resultDisplay"));
    let Some(display) = display.filter(|display| display.kind() == Some("shell_result")) else { return };
    let event = builder.event(place);
    event.truncated = display.get("truncated") == Some(true);
    if let Some(code) = display.get::<i32>("exitCode") {
        (event.exit, event.exit_source) = (Some(code), ExitSource::Field);
        event.status = if code == 0 { ToolStatus::Ok } else { ToolStatus::Error };
    }
}
