//! Codex: `codex exec`.

use super::{Login, Program, Session, Transcript, Word};
use crate::agent::told::{Fault, Told, ToolOutcome, Usage};
use serde_json::Value;

/// Its own sandbox cannot work inside ours, so it is off where ours is closed, and asked for where ours is not.
pub(super) const PROGRAM: Program = Program {
    name: "codex",
    install: "npm install -g @openai/codex",
    native: &[
        "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
        "@openai/codex-darwin-arm64/vendor/aarch64-apple-darwin/bin/codex",
        "@openai/codex-darwin-x64/vendor/x86_64-apple-darwin/bin/codex",
    ],
    keys: &["CODEX_API_KEY"],
    // It reads only the first by itself.
    aliases: &[("CODEX_API_KEY", "OPENAI_API_KEY")],
    endpoints: &["OPENAI_BASE_URL"],
    login: Some(Login {
        variable: Some("CODEX_HOME"),
        folder: ".codex",
        file: "auth.json",
        inside: ".codex/auth.json",
    }),
    lent: &[],
    hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    fixed: &[("CODEX_HOME", "@HOME/.codex")],
    verifier_files: &[(".codex/.keep", "")],
    worker_files: &[(".codex/.keep", "")],
    auth: ("", ""),
    verifier: &[
        Word::Fixed(&["exec", "--json", "--skip-git-repo-check"]),
        Word::Boxed(UNBOUND),
        Word::Unboxed(&["-s", "read-only"]),
        FRESH,
        QUIET,
        Word::Endpoint("-c", "openai_base_url=", "OPENAI_BASE_URL"),
        Word::Model("-m"),
        Word::Extra,
        Word::Fixed(&["-"]),
    ],
    worker: &[
        Word::Fixed(&["exec", "--json", "--skip-git-repo-check"]),
        Word::Boxed(UNBOUND),
        Word::Unboxed(WITHIN),
        FRESH,
        QUIET,
        Word::Endpoint("-c", "openai_base_url=", "OPENAI_BASE_URL"),
        Word::Model("-m"),
        Word::Extra,
        Word::Fixed(&["-"]),
    ],
    resume: &[
        Word::Fixed(&["exec", "resume", "--json", "--skip-git-repo-check"]),
        Word::Boxed(UNBOUND),
        Word::Unboxed(WITHIN),
        FRESH,
        QUIET,
        Word::Endpoint("-c", "openai_base_url=", "OPENAI_BASE_URL"),
        Word::Model("-m"),
        Word::Extra,
        Word::Session(""),
        Word::Fixed(&["-"]),
    ],
    session: Session::Theirs,
    arguments: &[
        "-c model_providers.*",
        "-c model_provider=*",
        "-c model_reasoning_effort=*",
        "-c model_reasoning_summary=*",
        "-c model_verbosity=*",
        "-c model_context_window=*",
        "-c service_tier=*",
        "-c openai_base_url=*",
    ],
    beside: false,
    read,
    transcript: Some(Transcript { folder: ".codex/sessions", prefix: "rollout-", read: rollout }),
    exit_fault: None,
};

const UNBOUND: &[&str] = &["--dangerously-bypass-approvals-and-sandbox"];
const WITHIN: &[&str] = &[
    "-c",
    "sandbox_mode=\"workspace-write\"",
    "-c",
    "sandbox_workspace_write.exclude_slash_tmp=true",
    "-c",
    "sandbox_workspace_write.exclude_tmpdir_env_var=true",
];
/// No user settings, no rules, no memory files, no skills.
const FRESH: Word = Word::Fixed(&[
    "--ignore-user-config",
    "--ignore-rules",
    "-c",
    "project_doc_max_bytes=0",
    "-c",
    "skills.include_instructions=false",
]);
/// No telemetry (it waits five seconds for it at the end), no keys for the model's shell, no web search.
const QUIET: Word = Word::Fixed(&[
    "-c",
    "analytics.enabled=false",
    "-c",
    "shell_environment_policy.inherit=core",
    "-c",
    "web_search=\"disabled\"",
]);

fn read(event: &Value, told: &mut Told) {
    let item = &event["item"];
    match (event["type"].as_str(), item["type"].as_str()) {
        (Some("thread.started"), _) => told.set_session(event["thread_id"].as_str()),
        (Some("item.completed"), Some("agent_message")) => {
            told.began = true;
            told.answer = item["text"].as_str().unwrap_or_default().into();
        }
        (Some("item.completed"), Some("command_execution" | "file_change" | "mcp_tool_call" | "web_search")) => {
            item_call(item, told);
        }
        (Some("turn.completed"), _) => {
            told.usage = Usage {
                input_tokens: event["usage"]["input_tokens"].as_u64(),
                output_tokens: event["usage"]["output_tokens"].as_u64(),
                cached_tokens: event["usage"]["cached_input_tokens"].as_u64(),
                cost_usd: None,
            };
            told.done("turn.completed");
        }
        (Some("turn.failed"), _) => {
            let why = event["error"]["message"].as_str().unwrap_or("it does not say why");
            told.failed("turn.failed", Fault::Untyped, why);
        }
        _ => {}
    }
}

fn item_call(item: &Value, told: &mut Told) {
    let name = item["type"].as_str().unwrap_or_default();
    let input = [&item["command"], &item["changes"], &item["query"]].into_iter().find(|v| !v.is_null());
    let id = item["id"].as_str().unwrap_or_default();
    let Some(call) = told.called(id, name, input.unwrap_or(&Value::Null)) else { return };
    call.exit = item["exit_code"].as_i64();
    call.ended(item["status"] != "completed");
}

/// The rollout holds what the stream leaves out: refused patches, commands that were denied, and how a turn failed.
fn rollout(line: &Value, told: &mut Told) {
    let payload = &line["payload"];
    match (line["type"].as_str(), payload["type"].as_str()) {
        (Some("turn_context"), _) => told.set_model(payload["model"].as_str()),
        (Some("response_item"), Some("function_call" | "custom_tool_call")) => {
            let input = [&payload["arguments"], &payload["input"]].into_iter().find(|v| !v.is_null());
            let parsed = input.and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
            let input = parsed.as_ref().or(input).unwrap_or(&Value::Null);
            let (id, name) = (payload["call_id"].as_str(), payload["name"].as_str());
            if let Some(call) = told.called(id.unwrap_or_default(), name.unwrap_or_default(), input) {
                call.at(&line["timestamp"]);
                // Until the program records that it ran and how, it was refused.
                call.outcome = ToolOutcome::Failed;
            }
        }
        (Some("event_msg"), Some("item_completed")) => finished(&payload["item"], told),
        // A resumed session's rollout holds its earlier turns too.
        (Some("event_msg"), Some("task_started")) => *told = Told { model: told.model.take(), ..Told::default() },
        (Some("event_msg"), Some("task_complete")) if payload["error"].is_object() => {
            told.fault = Some(error_info(&payload["error"]["codex_error_info"]));
        }
        _ => {}
    }
}

fn finished(item: &Value, told: &mut Told) {
    let Some(call) = told.call(item["id"].as_str().unwrap_or_default()) else { return };
    call.ended(item["status"] != "completed");
    call.exit = item["exit_code"].as_i64();
    if let (Some(seconds), Some(nanos)) = (item["duration"]["secs"].as_u64(), item["duration"]["nanos"].as_u64()) {
        call.took_ms = Some(seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000));
    }
    let parsed = item["parsed_cmd"].as_array().filter(|parts| parts.len() == 1).and_then(|parts| parts.first());
    let path = parsed.filter(|part| part["type"] == "read").and_then(|part| part["path"].as_str());
    call.opened = path.filter(|_| call.exit == Some(0)).map(str::to_owned);
}

/// How the program types an error: a word, or a word with a status.
fn error_info(info: &Value) -> Fault {
    let (word, detail) = match info {
        Value::String(word) => (word.as_str(), &Value::Null),
        Value::Object(map) => map.iter().next().map_or(("", &Value::Null), |(word, detail)| (word.as_str(), detail)),
        _ => ("", &Value::Null),
    };
    if let Some(status) = detail["http_status_code"].as_u64() {
        return Fault::of_status(status);
    }
    match word {
        "server_overloaded"
        | "internal_server_error"
        | "http_connection_failed"
        | "response_stream_connection_failed"
        | "response_stream_disconnected"
        | "response_too_many_failed_attempts" => Fault::Transient,
        "unauthorized" => Fault::Credentials,
        "bad_request" => Fault::Refused,
        "context_window_exceeded" | "usage_limit_exceeded" => Fault::Limit,
        _ => Fault::Untyped,
    }
}
