//! opencode: `opencode run`.

use super::{Login, Program, Session, Word};
use crate::agent::told::{Fault, Told, Usage};
use serde_json::Value;

/// It has no last event: the turn is over with the step that stops for no tool.
pub(super) const PROGRAM: Program = Program {
    name: "opencode",
    install: "npm install -g opencode-ai",
    native: &[
        "opencode-linux-x64/bin/opencode",
        "opencode-linux-arm64/bin/opencode",
        "opencode-darwin-arm64/bin/opencode",
        "opencode-darwin-x64/bin/opencode",
    ],
    keys: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"],
    aliases: &[],
    endpoints: &[],
    login: Some(Login {
        variable: None,
        folder: ".local/share/opencode",
        file: "auth.json",
        inside: ".local/share/opencode/auth.json",
    }),
    lent: &[],
    hosts: &["api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "openrouter.ai"],
    // Without the last one it rewrites the project's own configuration.
    fixed: &[
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_CLAUDE_CODE", "1"),
        ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
    ],
    verifier_files: &[(".config/opencode/opencode.json", VERIFIER)],
    worker_files: &[(".config/opencode/opencode.json", WORKER)],
    auth: ("", ""),
    verifier: &[RUN, Word::Model("-m"), Word::Extra],
    worker: &[RUN, Word::Model("-m"), Word::Extra],
    resume: &[RUN, Word::Session("-s"), Word::Model("-m"), Word::Extra],
    session: Session::Theirs,
    arguments: &["--variant V"],
    beside: false,
    read,
    transcript: None,
    exit_fault: None,
};

const RUN: Word = Word::Fixed(&["run", "--pure", "--format", "json", "--title", "countersign"]);
const VERIFIER: &str = concat!(
    r#"{"autoupdate":false,"share":"disabled","#,
    r#""permission":{"*":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow"}}"#
);
const WORKER: &str = concat!(
    r#"{"autoupdate":false,"share":"disabled","#,
    r#""permission":{"*":"allow","external_directory":"deny","webfetch":"deny","task":"deny"}}"#
);

fn read(event: &Value, told: &mut Told) {
    told.set_session(event["sessionID"].as_str());
    let part = &event["part"];
    match event["type"].as_str() {
        Some("step_start") => {
            told.began = true;
            told.answer.clear();
            // A turn that goes on was not over.
            if !matches!(told.end, Some(crate::agent::told::End::Failed { .. })) {
                told.end = None;
            }
        }
        Some("text") => told.answer.extend_from_slice(part["text"].as_str().unwrap_or_default().as_bytes()),
        Some("tool_use") => tool(part, told),
        Some("step_finish") => {
            told.usage.add(&Usage {
                input_tokens: part["tokens"]["input"].as_u64(),
                output_tokens: part["tokens"]["output"].as_u64(),
                cached_tokens: part["tokens"]["cache"]["read"].as_u64(),
                cost_usd: Usage::cost(&part["cost"]),
            });
            match part["reason"].as_str() {
                Some("stop") => told.done("step_finish"),
                Some("tool-calls") => {}
                other => told.failed("step_finish", Fault::Limit, other.unwrap_or("it does not say why")),
            }
        }
        Some("error") => {
            let data = &event["error"]["data"];
            let fault = match (data["statusCode"].as_u64(), data["isRetryable"].as_bool()) {
                (_, Some(true)) => Fault::Transient,
                (Some(status), _) => Fault::of_status(status),
                _ => Fault::Untyped,
            };
            let why = data["message"].as_str().or(event["error"]["name"].as_str());
            told.failed("error", fault, why.unwrap_or("it does not say why"));
        }
        _ => {}
    }
}

fn tool(part: &Value, told: &mut Told) {
    let state = &part["state"];
    let (id, name) = (part["callID"].as_str().unwrap_or_default(), part["tool"].as_str().unwrap_or_default());
    let Some(call) = told.called(id, name, &state["input"]) else { return };
    let whole = state["input"].get("offset").is_none() && state["input"].get("limit").is_none();
    call.opened = state["input"]["filePath"].as_str().filter(|_| name == "read" && whole).map(str::to_owned);
    call.ended(state["status"] != "completed");
    call.exit = state["metadata"]["exit"].as_i64();
    call.at(&state["time"]["start"]);
    call.took_ms = state["time"]["end"].as_u64().zip(state["time"]["start"].as_u64()).map(|(e, s)| e.saturating_sub(s));
}
