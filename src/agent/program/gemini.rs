//! Gemini CLI: `gemini`.

use super::{Login, Program, Session, Word};
use crate::agent::told::{Fault, Told, Usage};
use serde_json::Value;

/// No setting keeps `GEMINI.md` out, so a verifier starts in an empty folder and is shown the room beside it.
pub(super) const PROGRAM: Program = Program {
    name: "gemini",
    install: "npm install -g @google/gemini-cli (Node 20 or later)",
    native: &[],
    keys: &["GEMINI_API_KEY"],
    aliases: &[("GEMINI_API_KEY", "GOOGLE_API_KEY")],
    endpoints: &["GOOGLE_GEMINI_BASE_URL"],
    login: Some(Login {
        variable: None,
        folder: ".gemini",
        file: "oauth_creds.json",
        inside: ".gemini/oauth_creds.json",
    }),
    lent: &[],
    hosts: &["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
    // Its launcher would outlive a request to end, and leave the agent running.
    fixed: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
    verifier_files: &[(".gemini/settings.json", VERIFIER)],
    worker_files: &[(".gemini/settings.json", WORKER)],
    auth: ("gemini-api-key", "oauth-personal"),
    verifier: &[
        Word::Fixed(&["-o", "stream-json", "--skip-trust", "--approval-mode", "default"]),
        Word::Room("--include-directories"),
        Word::Model("-m"),
        Word::Extra,
    ],
    worker: &[YOLO, Word::Session("--session-id"), Word::Model("-m"), Word::Extra],
    resume: &[YOLO, Word::Session("--resume"), Word::Model("-m"), Word::Extra],
    session: Session::Ours,
    arguments: &[],
    beside: true,
    read,
    transcript: None,
    exit_fault: Some(exit_fault),
};

const VERIFIER: &str = concat!(
    r#"{"security":{"auth":{"selectedType":"@AUTH"}},"skills":{"enabled":false},"#,
    r#""tools":{"core":["read_file","glob","grep_search","list_directory"]}}"#
);
const WORKER: &str = r#"{"security":{"auth":{"selectedType":"@AUTH"}},"skills":{"enabled":false}}"#;
const YOLO: Word = Word::Fixed(&["-o", "stream-json", "--skip-trust", "--approval-mode", "yolo"]);

fn read(event: &Value, told: &mut Told) {
    match event["type"].as_str() {
        Some("init") => {
            told.set_session(event["session_id"].as_str());
            told.set_model(event["model"].as_str());
        }
        Some("message") if event["role"] == "assistant" => {
            told.began = true;
            told.answer.extend_from_slice(event["content"].as_str().unwrap_or_default().as_bytes());
        }
        Some("tool_use") => {
            // What was said before a tool call is no answer.
            told.answer.clear();
            let (id, name) = (event["tool_id"].as_str().unwrap_or_default(), event["tool_name"].as_str());
            let name = name.unwrap_or_default();
            let Some(call) = told.called(id, name, &event["parameters"]) else { return };
            call.at(&event["timestamp"]);
            let whole = event["parameters"].get("offset").is_none() && event["parameters"].get("limit").is_none();
            let path = event["parameters"]["file_path"].as_str().filter(|_| name == "read_file" && whole);
            call.opened = path.map(str::to_owned);
        }
        Some("tool_result") => {
            if let Some(call) = told.call(event["tool_id"].as_str().unwrap_or_default()) {
                call.ended(event["status"] != "success");
            }
        }
        // Any of them, warnings too: a detected loop is one, and cuts the answer while the status stays `success`.
        Some("error") => told.failed("error", Fault::Untyped, event["message"].as_str().unwrap_or("an error")),
        Some("result") => result(event, told),
        _ => {}
    }
}

fn result(event: &Value, told: &mut Told) {
    let stats = &event["stats"];
    told.usage = Usage {
        input_tokens: stats["input_tokens"].as_u64(),
        output_tokens: stats["output_tokens"].as_u64(),
        cached_tokens: stats["cached"].as_u64(),
        cost_usd: None,
    };
    if event["status"] == "success" && event["error"].is_null() {
        told.done("result");
    } else {
        let why = event["error"]["message"].as_str().unwrap_or("it does not say why");
        told.failed("result", Fault::Untyped, why);
    }
}

/// It leaves with the last eight bits of the HTTP status: 401 as 145, 429 as 173, 500 as 244.
fn exit_fault(code: i32) -> Option<u64> {
    let code = u64::try_from(code).ok()?;
    [400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504].into_iter().find(|status| status & 0xff == code)
}
