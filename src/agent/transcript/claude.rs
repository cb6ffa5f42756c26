//! Claude Code: one file a session; sub-agents in files of their own beside it.
//!
//! A shell result has no exit code of its own: success is recorded by the absence of an error, failure as text that opens
//! with `Exit code N`. A command in the background has its end only where the agent asked after it.

use super::builder::{Builder, Call};
use super::event::{Actor, ExitSource, ToolKind, ToolStatus};
use super::wire::Record;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Kinds of records that hold no tool calls; counted, not used.
const WITHOUT_CHAIN: [&str; 3] = ["summary", "file-history-snapshot", "last-prompt"];

/// A message whose blocks are all as we know them: read in one go.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
}

/// Any other message.
#[derive(Deserialize)]
struct OddMessage<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// Reads one record.
pub(super) fn take(builder: &mut Builder, record: &Record<'_>) {
    let kind = record.counted_as();
    let at = record.time("timestamp");
    builder.note(record.text("sessionId"), record.text("cwd"), at);
    if !WITHOUT_CHAIN.contains(&kind) {
        builder.chain(record.text("uuid").as_deref(), record.text("parentUuid").as_deref());
    }
    match kind {
        "assistant" => assistant(builder, record, at),
        "user" => user(builder, record, at),
        other => builder.skip(other),
    }
}

fn blocks<'a>(record: &Record<'a>) -> Vec<Block<'a>> {
    if let Some(message) = record.get::<Message<'a>>("message") {
        return message.content;
    }
    let Some(content) = record.get::<OddMessage<'a>>("message").and_then(|message| message.content) else {
        return Vec::new();
    };
    let raw: Vec<&'a RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    raw.into_iter().filter_map(|block| serde_json::from_str(block.get()).ok()).collect()
}

fn actor(builder: &Builder, record: &Record<'_>) -> Actor {
    if builder.in_sub_file() || record.get("isSidechain") == Some(true) {
        Actor::Sub(record.text("agentId").unwrap_or_else(|| "side".to_owned()))
    } else {
        Actor::Main
    }
}

fn assistant(builder: &mut Builder, record: &Record<'_>, at: Option<i64>) {
    let actor = actor(builder, record);
    for block in blocks(record) {
        match &*block.kind {
            "tool_use" => {
                builder.call(Call {
                    id: &block.id,
                    tool: &block.name,
                    kind: kind_of(&block.name),
                    actor: actor.clone(),
                    input: block.input,
                    cwd: record.text("cwd"),
                    at,
                });
            }
            "text" if actor == Actor::Main => builder.say(&block.text),
            _ => {}
        }
    }
}

fn user(builder: &mut Builder, record: &Record<'_>, at: Option<i64>) {
    // What the program itself says to the agent (hooks, reminders) is marked as such.
    if record.get("isMeta") != Some(true)
        && actor(builder, record) == Actor::Main
        && let Some(text) = record.get::<Record<'_>>("message").and_then(|message| message.text("content"))
    {
        builder.asked(&text);
    }
    for block in blocks(record) {
        if block.kind == "text" && record.get("isMeta") != Some(true) && actor(builder, record) == Actor::Main {
            builder.asked(&block.text);
        }
        if block.kind != "tool_result" {
            continue;
        }
        let Some(place) = builder.answer(&block.tool_use_id, at) else { continue };
        let text = block.content.map(text_of).unwrap_or_default();
        let details: Option<Record<'_>> = record.get("toolUseResult");
        result(builder, place, &text, block.is_error == Some(true));
        if let Some(details) = details {
            detailed(builder, place, &details);
        }
    }
}

/// The text of a result: a string, or the text blocks of a list.
fn text_of(raw: &RawValue) -> Cow<'_, str> {
    if let Ok(Text(text)) = serde_json::from_str(raw.get()) {
        return text;
    }
    let blocks: Vec<Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n").into()
}

/// Text that is borrowed if nothing in it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn result(builder: &mut Builder, place: usize, text: &str, is_error: bool) {
    let event = builder.event(place);
    event.status = if is_error { ToolStatus::Error } else { ToolStatus::Ok };
    if event.kind == ToolKind::Shell {
        if is_error {
            event.exit = text.strip_prefix("Exit code ").and_then(|rest| rest.lines().next()?.trim().parse().ok());
            if event.exit.is_some() {
                event.exit_source = ExitSource::Text;
            }
            if text.starts_with("Command timed out after") {
                event.status = ToolStatus::TimedOut;
            }
        } else {
            event.exit = Some(0);
            event.exit_source = ExitSource::Inferred;
        }
        builder.output(place, text);
    }
}

/// What the record says beside the text that the model was given.
fn detailed(builder: &mut Builder, place: usize, details: &Record<'_>) {
    if details.get("interrupted") == Some(true) {
        let event = builder.event(place);
        (event.status, event.exit, event.exit_source) = (ToolStatus::Aborted, None, ExitSource::None);
    }
    let id = details.text("backgroundTaskId").or_else(|| details.text("shellId").filter(|_| !details.has("status")));
    if builder.event(place).kind == ToolKind::Shell && (id.is_some() || builder.event(place).background) {
        builder.goes_on(&id.unwrap_or_default(), place);
        let event = builder.event(place);
        (event.exit, event.exit_source) = (None, ExitSource::None);
    }
    if details.get("userModified") == Some(true) {
        builder.event(place).user_modified = true;
    }
    if let Some(sub) = details.text("agentId") {
        builder.hosts(&sub, place);
    }
    if builder.event(place).kind == ToolKind::Poll {
        let task: Option<Record<'_>> = details.get("task");
        polled(builder, task.as_ref().unwrap_or(details));
    }
}

/// The end of a command in the background, as the agent saw it.
fn polled(builder: &mut Builder, task: &Record<'_>) {
    let id = ["task_id", "shellId", "taskId"].iter().find_map(|name| task.text(name)).unwrap_or_default();
    let Some(place) = builder.going_on(&id) else { return };
    let exit: Option<i32> = task.get("exitCode").or_else(|| task.get("exit_code"));
    let event = builder.event(place);
    event.status = match (task.text("status").as_deref(), exit) {
        (Some("killed" | "stopped"), _) => ToolStatus::Aborted,
        (_, Some(0)) => ToolStatus::Ok,
        (Some("failed"), _) | (_, Some(_)) => ToolStatus::Error,
        _ => ToolStatus::Running,
    };
    if exit.is_some() {
        (event.exit, event.exit_source) = (exit, ExitSource::Field);
    }
    if let Some(text) = task.text("output").or_else(|| task.text("stdout")) {
        builder.output(place, &text);
    }
}

fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "Bash" | "PowerShell" => ToolKind::Shell,
        "TaskOutput" | "BashOutput" | "AgentOutputTool" => ToolKind::Poll,
        "Write" => ToolKind::Write,
        "Edit" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Read" | "Grep" | "Glob" | "LS" | "NotebookRead" => ToolKind::Read,
        "WebFetch" | "WebSearch" => ToolKind::Net,
        "Skill" => ToolKind::Skill,
        "Task" | "Agent" => ToolKind::Agent,
        _ => ToolKind::Other,
    }
}
