//! GitHub Copilot's command line: a start and an end record for each tool, with the exit code in a field of its own.
//! `success` says only that the tool itself worked, not the command that it ran.

use super::builder::{Builder, Call};
use super::event::{Actor, ExitSource, ToolKind, ToolStatus};
use super::wire::Record;
use serde_json::value::RawValue;

/// Reads one record.
pub(super) fn take(builder: &mut Builder, record: &Record<'_>) {
    let at = record.time("timestamp");
    builder.chain(record.text("id").as_deref(), record.text("parentId").as_deref());
    let kind = record.counted_as();
    let Some(data) = record.get::<Record<'_>>("data") else { return builder.skip(kind) };
    match kind {
        "session.start" => {
            let context: Option<Record<'_>> = data.get("context");
            builder.note(data.text("sessionId"), context.and_then(|context| context.text("cwd")), at);
        }
        "user.message" => {
            builder.asked(&data.text("content").unwrap_or_default());
            builder.skip(kind);
        }
        "assistant.message" => builder.say(&data.text("content").unwrap_or_default()),
        "tool.execution_start" => {
            let tool = data.text("toolName").unwrap_or_default();
            builder.call(Call {
                id: &data.text("toolCallId").unwrap_or_default(),
                tool: &tool,
                kind: kind_of(&tool),
                actor: data.text("parentToolCallId").map_or(Actor::Main, Actor::Sub),
                input: data.get::<&RawValue>("arguments"),
                cwd: None,
                at,
            });
        }
        "tool.execution_complete" => complete(builder, &data, at),
        other => builder.skip(other),
    }
}

fn complete(builder: &mut Builder, data: &Record<'_>, at: Option<i64>) {
    let Some(place) = builder.answer(&data.text("toolCallId").unwrap_or_default(), at) else { return };
    let succeeded = data.get("success") == Some(true);
    let shell: Option<Record<'_>> = data.get("shellExecution");
    let exit: Option<i32> = shell.and_then(|shell| shell.get("exitCode"));
    let edits: Vec<Record<'_>> = data.get("fileEdits").unwrap_or_default();
    let event = builder.event(place);
    event.status = match (succeeded, exit) {
        (true, None) if event.kind == ToolKind::Shell => ToolStatus::Running,
        (true, None | Some(0)) => ToolStatus::Ok,
        _ => ToolStatus::Error,
    };
    if exit.is_some() {
        (event.exit, event.exit_source) = (exit, ExitSource::Field);
    }
    for path in edits.iter().filter_map(|edit| edit.text("path")) {
        if !event.paths.contains(&path) {
            event.paths.push(path);
        }
    }
    if event.kind == ToolKind::Shell {
        let result: Option<Record<'_>> = data.get("result");
        builder.output(place, &result.and_then(|result| result.text("content")).unwrap_or_default());
    }
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "bash" | "powershell" => ToolKind::Shell,
        "read_bash" | "write_bash" | "stop_bash" | "read_powershell" => ToolKind::Poll,
        "create" => ToolKind::Write,
        "edit" | "str_replace_editor" | "str_replace" | "insert" => ToolKind::Edit,
        "apply_patch" => ToolKind::Patch,
        "view" | "grep" | "glob" => ToolKind::Read,
        "web_fetch" | "web_search" => ToolKind::Net,
        "skill" => ToolKind::Skill,
        "task" => ToolKind::Agent,
        _ => ToolKind::Other,
    }
}
