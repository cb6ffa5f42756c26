//! pi: `pi`.

use super::{Lent, Login, Program, Session, Word};
use crate::agent::told::{Fault, Told, Usage};
use serde_json::Value;

/// Exit code 0 means nothing here: its JSON mode leaves with 0 after refused credentials too.
pub(super) const PROGRAM: Program = Program {
    name: "pi",
    install: "npm install -g @earendil-works/pi-coding-agent (Node 22.19 or later)",
    native: &[],
    keys: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"],
    aliases: &[],
    endpoints: &[],
    login: Some(Login {
        variable: Some("PI_CODING_AGENT_DIR"),
        folder: ".pi/agent",
        file: "auth.json",
        inside: ".pi/agent/auth.json",
    }),
    lent: &[Lent { from: ".pi/agent/models.json", to: ".pi/agent/models.json" }],
    hosts: &["api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "openrouter.ai"],
    fixed: &[("PI_CODING_AGENT_DIR", "@HOME/.pi/agent"), ("PI_OFFLINE", "1")],
    verifier_files: &[(".pi/agent/.keep", "")],
    worker_files: &[(".pi/agent/.keep", ""), (".pi/sessions/.keep", "")],
    auth: ("", ""),
    verifier: &[
        Word::Fixed(&["-p", "--mode", "json", "--tools", "read,grep,find,ls", "--no-session"]),
        Word::Fixed(&["-ne", "-ns", "-np", "-nc", "--no-mcp", "-na", "--no-themes"]),
        Word::Model("--model"),
        Word::Extra,
    ],
    worker: &[WORKER, Word::Home("--session-dir", ".pi/sessions"), Word::Session("--session-id"), MODEL, Word::Extra],
    // The same line again goes on with the session.
    resume: &[WORKER, Word::Home("--session-dir", ".pi/sessions"), Word::Session("--session-id"), MODEL, Word::Extra],
    session: Session::Ours,
    arguments: &["--provider V", "--thinking V"],
    beside: false,
    read,
    transcript: None,
    exit_fault: None,
};

const MODEL: Word = Word::Model("--model");
const WORKER: Word = Word::Fixed(&[
    "-p",
    "--mode",
    "json",
    "--tools",
    "read,bash,edit,write",
    "-ne",
    "-ns",
    "-np",
    "-nc",
    "--no-mcp",
    "-na",
    "--no-themes",
]);

fn read(event: &Value, told: &mut Told) {
    match event["type"].as_str() {
        Some("session") => told.set_session(event["id"].as_str()),
        Some("message_end") if event["message"]["role"] == "assistant" => message(&event["message"], told),
        Some("tool_execution_start") => {
            let (id, name) = (event["toolCallId"].as_str().unwrap_or_default(), event["toolName"].as_str());
            let name = name.unwrap_or_default();
            let Some(call) = told.called(id, name, &event["args"]) else { return };
            let whole = event["args"].get("offset").is_none() && event["args"].get("limit").is_none();
            call.opened = event["args"]["path"].as_str().filter(|_| name == "read" && whole).map(str::to_owned);
        }
        Some("tool_execution_end") => {
            if let Some(call) = told.call(event["toolCallId"].as_str().unwrap_or_default()) {
                call.ended(event["isError"] == true);
                call.exit = event["result"]["structuredContent"]["exit_code"].as_i64();
                call.took_ms = event["durationMs"].as_u64();
            }
        }
        // One turn may be retried by the program itself; the last word is `agent_settled`.
        Some("agent_settled") if event["aborted"] != false => {
            told.failed("agent_settled", Fault::Untyped, "it was aborted");
        }
        Some("agent_settled") => match told.fault.take() {
            None => told.done("agent_settled"),
            Some(fault) => {
                let why = String::from_utf8_lossy(&std::mem::take(&mut told.answer)).into_owned();
                told.failed("agent_settled", fault, &why);
            }
        },
        _ => {}
    }
}

/// A finished message of the model: answer, or why there is none.
fn message(message: &Value, told: &mut Told) {
    told.set_model(message["model"].as_str());
    let usage = &message["usage"];
    told.usage.add(&Usage {
        input_tokens: usage["input"].as_u64(),
        output_tokens: usage["output"].as_u64(),
        cached_tokens: usage["cacheRead"].as_u64(),
        cost_usd: Usage::cost(&usage["cost"]["total"]),
    });
    let words = message["content"].as_array().into_iter().flatten().filter(|part| part["type"] == "text");
    match message["stopReason"].as_str() {
        Some("stop") => {
            told.began = true;
            told.fault = None;
            told.answer = words.filter_map(|part| part["text"].as_str()).collect::<String>().into_bytes();
        }
        Some("toolUse") => {
            told.began = true;
            told.fault = None;
            told.answer.clear();
        }
        // A message that was cut by a limit is no answer; an error has no type here, only words.
        other => {
            told.fault = Some(if other == Some("length") { Fault::Limit } else { Fault::Untyped });
            told.answer = message["errorMessage"].as_str().unwrap_or("the message is not complete").into();
        }
    }
}
