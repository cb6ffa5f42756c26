//! Claude Code: `claude`.

use super::{Login, Program, Session, Word};
use crate::agent::told::{Fault, Told, Usage};
use serde_json::Value;

/// See the fact that an API failure is told as `subtype: success`: only `is_error` counts.
pub(super) const PROGRAM: Program = Program {
    name: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    native: &[
        "@anthropic-ai/claude-code-linux-x64/claude",
        "@anthropic-ai/claude-code-linux-arm64/claude",
        "@anthropic-ai/claude-code-darwin-arm64/claude",
        "@anthropic-ai/claude-code-darwin-x64/claude",
    ],
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    aliases: &[],
    endpoints: &["ANTHROPIC_BASE_URL"],
    login: Some(Login {
        variable: Some("CLAUDE_CONFIG_DIR"),
        folder: ".claude",
        file: ".credentials.json",
        inside: ".claude/.credentials.json",
    }),
    lent: &[],
    hosts: &["api.anthropic.com", "console.anthropic.com", "platform.claude.com"],
    fixed: &[
        ("CLAUDE_CONFIG_DIR", "@HOME/.claude"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Its own habit is ten, on refused credentials too.
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ],
    verifier_files: &[],
    worker_files: &[],
    auth: ("", ""),
    verifier: &[
        Word::Fixed(&["-p", "--output-format", "stream-json", "--verbose", "--restricted", "--strict-mcp-config"]),
        Word::Fixed(&["--tools", "Read,Grep,Glob", "--permission-prompts", "none"]),
        Word::Fixed(&["--no-session-persistence", "--disable-slash-commands"]),
        Word::Model("--model"),
        Word::Extra,
    ],
    worker: &[WORKER, WORKER_TOOLS, Word::Session("--session-id"), Word::Model("--model"), Word::Extra],
    resume: &[WORKER, WORKER_TOOLS, Word::Session("--resume"), Word::Model("--model"), Word::Extra],
    session: Session::Ours,
    arguments: &["--effort V", "--fallback-model V", "--max-turns V", "--max-budget-usd V", "--autocompact V"],
    beside: false,
    read,
    transcript: None,
    exit_fault: None,
};

const WORKER: Word = Word::Fixed(&[
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--setting-sources",
    "",
    "--strict-mcp-config",
    "--disable-slash-commands",
]);
const WORKER_TOOLS: Word = Word::Fixed(&[
    "--tools",
    "Bash,Read,Edit,Write,Grep,Glob",
    "--allowedTools",
    "Bash",
    "--permission-mode",
    "acceptEdits",
    "--permission-prompts",
    "none",
]);

fn read(event: &Value, told: &mut Told) {
    match event["type"].as_str() {
        Some("system") if event["subtype"] == "init" => {
            told.set_session(event["session_id"].as_str());
            told.set_model(event["model"].as_str());
        }
        Some("assistant") => calls(event, told),
        Some("user") => results(event, told),
        Some("result") => result(event, told),
        _ => {}
    }
}

/// The tool calls in a message of the model.
pub(super) fn calls(event: &Value, told: &mut Told) {
    // What the program itself says in the model's place is not the model.
    if event["message"]["model"] == "<synthetic>" {
        return;
    }
    told.began = true;
    // A sub-agent's words are not the judge's.
    let own = event["parent_tool_use_id"].is_null();
    for part in event["message"]["content"].as_array().into_iter().flatten() {
        if let Some(text) = part["text"].as_str().filter(|_| own && part["type"] == "text") {
            text.clone_into(&mut told.said);
        }
        if part["type"] != "tool_use" {
            continue;
        }
        let (id, name) = (part["id"].as_str().unwrap_or_default(), part["name"].as_str().unwrap_or_default());
        let Some(call) = told.called(id, name, &part["input"]) else { continue };
        call.at(&event["timestamp"]);
        let whole = part["input"].get("offset").is_none() && part["input"].get("limit").is_none();
        let path = part["input"]["file_path"].as_str().filter(|_| matches!(name, "Read" | "read_file") && whole);
        call.opened = path.map(str::to_owned);
    }
}

/// The results of tool calls, handed back to the model.
pub(super) fn results(event: &Value, told: &mut Told) {
    for part in event["message"]["content"].as_array().into_iter().flatten() {
        if part["type"] != "tool_result" {
            continue;
        }
        told.said.clear();
        let failed = part["is_error"] == true;
        let Some(call) = told.call(part["tool_use_id"].as_str().unwrap_or_default()) else { continue };
        call.ended(failed);
        if call.name == "Bash" {
            // The program's own form: a failed command's result begins with its code, any other ended with 0.
            let code = part["content"].as_str().and_then(|text| text.strip_prefix("Exit code "));
            let code = code.and_then(|rest| rest.lines().next()?.trim().parse().ok());
            call.exit = if failed { code } else { Some(0) };
        }
    }
}

fn result(event: &Value, told: &mut Told) {
    told.set_session(event["session_id"].as_str());
    told.usage = Usage { cost_usd: Usage::cost(&event["total_cost_usd"]), ..usage(&event["usage"]) };
    if event["is_error"] == false && event["subtype"] == "success" && event["result"].is_string() {
        answer(event, told);
        told.done("result");
        return;
    }
    let fault = match (event["api_error_status"].as_u64(), event["api_error"].as_str()) {
        (Some(status), _) => Fault::of_status(status),
        (None, Some("connection_failed")) => Fault::Transient,
        _ if matches!(event["terminal_reason"].as_str(), Some("max_turns" | "budget_exhausted")) => Fault::Limit,
        _ => Fault::Untyped,
    };
    let first = event["errors"].get(0).and_then(Value::as_str);
    let why = event["result"].as_str().or(first).or(event["subtype"].as_str()).unwrap_or("it does not say why");
    told.failed("result", fault, why);
}

/// The answer, from the first place that holds one: the final event's text, its structured output, the model's last
/// message. A final text can be empty although the whole answer was given before it.
fn answer(event: &Value, told: &mut Told) {
    let structured = &event["structured_output"];
    let structured = structured.as_str().or(structured["answer"].as_str());
    let said = std::mem::take(&mut told.said);
    let places = [
        ("", event["result"].as_str()),
        ("the final text is empty: the answer is its structured output", structured),
        ("the final text is empty: the answer is the model's last message", Some(said.as_str())),
    ];
    let found = places.into_iter().find(|(_, text)| text.is_some_and(|text| !text.trim().is_empty()));
    if let Some((note, text)) = found {
        told.answer = text.unwrap_or_default().into();
        told.notes.extend((!note.is_empty()).then(|| note.to_owned()));
    } else {
        told.answer.clear();
    }
}

/// Tokens under Anthropic's names.
pub(super) fn usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: usage["input_tokens"].as_u64(),
        output_tokens: usage["output_tokens"].as_u64(),
        cached_tokens: usage["cache_read_input_tokens"].as_u64(),
        cost_usd: None,
    }
}
