//! Qwen Code: `qwen`.

use super::claude::{calls, results, usage};
use super::{Login, Program, Session, Word};
use crate::agent::told::{Fault, Told};
use serde_json::Value;

/// `--bare` and `--safe-mode` also keep it from a second request of its own after the answer.
pub(super) const PROGRAM: Program = Program {
    name: "qwen",
    install: "npm install -g @qwen-code/qwen-code (Node 22 or later)",
    native: &[],
    keys: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
    aliases: &[("OPENAI_API_KEY", "DASHSCOPE_API_KEY")],
    endpoints: &["OPENAI_BASE_URL"],
    login: Some(Login { variable: None, folder: ".qwen", file: "oauth_creds.json", inside: ".qwen/oauth_creds.json" }),
    lent: &[],
    hosts: &["dashscope.aliyuncs.com", "portal.qwen.ai", "chat.qwen.ai"],
    fixed: &[],
    verifier_files: &[(".qwen/settings.json", SETTINGS)],
    worker_files: &[(".qwen/settings.json", SETTINGS)],
    auth: ("openai", "qwen-oauth"),
    verifier: &[
        Word::Fixed(&["-o", "stream-json", "--bare", "--approval-mode", "plan", "--chat-recording", "false"]),
        Word::Model("-m"),
        Word::Extra,
    ],
    worker: &[WORKER, Word::Session("--session-id"), Word::Model("-m"), Word::Extra],
    resume: &[WORKER, Word::Session("--resume"), Word::Model("-m"), Word::Extra],
    session: Session::Ours,
    arguments: &["--max-session-turns V", "--max-wall-time V", "--max-tool-calls V"],
    beside: false,
    read,
    transcript: None,
    exit_fault: None,
};

const SETTINGS: &str = r#"{"security":{"auth":{"selectedType":"@AUTH"}}}"#;
const WORKER: Word = Word::Fixed(&["-o", "stream-json", "--safe-mode", "--approval-mode", "yolo"]);

fn read(event: &Value, told: &mut Told) {
    match event["type"].as_str() {
        Some("system") if event["subtype"] == "init" => {
            told.set_session(event["session_id"].as_str());
            told.set_model(event["model"].as_str());
        }
        Some("assistant") => calls(event, told),
        Some("user") => results(event, told),
        Some("result") => {
            told.usage = usage(&event["usage"]);
            if event["is_error"] == false && event["subtype"] == "success" && event["result"].is_string() {
                told.answer = event["result"].as_str().unwrap_or_default().into();
                told.done("result");
            } else {
                // It names no type: its words stand, and are not searched.
                let why = event["error"]["message"].as_str().or(event["subtype"].as_str());
                told.failed("result", Fault::Untyped, why.unwrap_or("it does not say why"));
            }
        }
        _ => {}
    }
}
