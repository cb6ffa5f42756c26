//! Pi: messages with tool calls inside, results as messages of their own. The exit code is the last line of a failure.

use super::builder::{Builder, Call};
use super::event::{Actor, ExitSource, ToolKind, ToolStatus};
use super::wire::Record;
use serde_json::value::RawValue;

/// Reads one record.
pub(super) fn take(builder: &mut Builder, record: &Record<'_>) {
    let at = record.time("timestamp");
    builder.chain(record.text("id").as_deref(), record.text("parentId").as_deref());
    match record.counted_as() {
        "session" => builder.note(record.text("id"), record.text("cwd"), at),
        "message" => {
            let Some(message) = record.get::<Record<'_>>("message") else { return builder.skip("message") };
            match message.text("role").as_deref() {
                Some("assistant") => assistant(builder, &message, at),
                Some("user") => asked(builder, &message),
                Some("toolResult") => result(builder, &message, at),
                _ => builder.skip("message"),
            }
        }
        other => builder.skip(other),
    }
}

fn asked(builder: &mut Builder, message: &Record<'_>) {
    let blocks: Vec<Record<'_>> = message.get("content").unwrap_or_default();
    let text: Vec<String> = blocks.iter().filter_map(|block| block.text("text")).collect();
    builder.asked(&message.text("content").unwrap_or_else(|| text.join("\n")));
    builder.skip("message");
}

fn assistant(builder: &mut Builder, message: &Record<'_>, at: Option<i64>) {
    let blocks: Vec<Record<'_>> = message.get("content").unwrap_or_default();
    for block in blocks {
        match block.kind() {
            Some("toolCall") => {
                let tool = block.text("name").unwrap_or_default();
                builder.call(Call {
                    id: &block.text("id").unwrap_or_default(),
                    tool: &tool,
                    kind: kind_of(&tool),
                    actor: Actor::Main,
                    input: block.get::<&RawValue>("arguments"),
                    cwd: None,
                    at,
                });
            }
            Some("text") => builder.say(&block.text("text").unwrap_or_default()),
            _ => {}
        }
    }
}

fn result(builder: &mut Builder, message: &Record<'_>, at: Option<i64>) {
    let Some(place) = builder.answer(&message.text("toolCallId").unwrap_or_default(), at) else { return };
    let blocks: Vec<Record<'_>> = message.get("content").unwrap_or_default();
    let text = blocks.iter().filter_map(|block| block.text("text")).collect::<Vec<_>>().join("\n");
    let failed = message.get("isError") == Some(true);
    let event = builder.event(place);
    event.status = if failed { ToolStatus::Error } else { ToolStatus::Ok };
    if event.kind != ToolKind::Shell {
        return;
    }
    if failed {
        let last = text.trim_end().lines().next_back().unwrap_or_default();
        event.exit = last.strip_prefix("Command exited with code ").and_then(|code| code.trim().parse().ok());
        if event.exit.is_some() {
            event.exit_source = ExitSource::Text;
        } else if last.starts_with("Command timed out") {
            event.status = ToolStatus::TimedOut;
        } else if last.starts_with("Command aborted") {
            event.status = ToolStatus::Aborted;
        }
    } else {
        (event.exit, event.exit_source) = (Some(0), ExitSource::Inferred);
    }
    builder.output(place, &text);
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "bash" => ToolKind::Shell,
        "write" => ToolKind::Write,
        "edit" => ToolKind::Edit,
        "read" | "grep" | "find" | "ls" => ToolKind::Read,
        _ => ToolKind::Other,
    }
}
