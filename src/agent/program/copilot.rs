//! GitHub Copilot CLI: `copilot`.

use super::{Program, Session, Word};
use crate::agent::told::{Fault, Told};
use serde_json::Value;

/// Its log-in lies in the system's key ring or in a file with settings: only variables are handed on.
pub(super) const PROGRAM: Program = Program {
    name: "copilot",
    install: "npm install -g @github/copilot",
    native: &[
        "@github/copilot-linux-x64/copilot",
        "@github/copilot-linux-arm64/copilot",
        "@github/copilot-darwin-arm64/copilot",
        "@github/copilot-darwin-x64/copilot",
    ],
    keys: &["COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"],
    aliases: &[],
    endpoints: &["COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE", "COPILOT_OFFLINE"],
    login: None,
    lent: &[],
    hosts: &["api.githubcopilot.com", "api.github.com", "github.com"],
    fixed: &[("COPILOT_HOME", "@HOME/.copilot"), ("COPILOT_AUTO_UPDATE", "false")],
    verifier_files: &[(".copilot/.keep", "")],
    worker_files: &[(".copilot/.keep", "")],
    auth: ("", ""),
    verifier: &[QUIET, Word::Fixed(&["--available-tools", "view,grep,glob"]), Word::Model("--model"), Word::Extra],
    worker: &[QUIET, ALL_PATHS, Word::Session("--session-id"), Word::Model("--model"), Word::Extra],
    resume: &[QUIET, ALL_PATHS, Word::Session("--resume"), Word::Model("--model"), Word::Extra],
    session: Session::Ours,
    arguments: &[],
    beside: false,
    read,
    transcript: None,
    exit_fault: None,
};

/// Else it refuses every command that names a place beside its folder, even the scratch folder; the box decides that.
const ALL_PATHS: Word = Word::Fixed(&["--allow-all-paths"]);
const QUIET: Word = Word::Fixed(&[
    "--output-format",
    "json",
    "--no-color",
    "--disable-builtin-mcps",
    "--no-custom-instructions",
    "--allow-all-tools",
]);

fn read(event: &Value, told: &mut Told) {
    let data = &event["data"];
    match event["type"].as_str() {
        Some("session.tools_updated") => told.set_model(data["model"].as_str()),
        Some("assistant.message") => {
            told.began = true;
            told.set_model(data["model"].as_str());
            let asks = data["toolRequests"].as_array().is_some_and(|asked| !asked.is_empty());
            let text = data["content"].as_str().filter(|_| !asks).unwrap_or_default();
            told.answer = text.into();
        }
        Some("tool.execution_start") => {
            let (id, name) = (data["toolCallId"].as_str().unwrap_or_default(), data["toolName"].as_str());
            let name = name.unwrap_or_default();
            let Some(call) = told.called(id, name, &data["arguments"]) else { return };
            call.at(&event["timestamp"]);
            let whole = data["arguments"].get("view_range").is_none();
            call.opened = data["arguments"]["path"].as_str().filter(|_| name == "view" && whole).map(str::to_owned);
        }
        Some("tool.execution_complete") => {
            if let Some(call) = told.call(data["toolCallId"].as_str().unwrap_or_default()) {
                call.exit = data["shellExecution"]["exitCode"].as_i64();
                call.ended(data["success"] != true || call.exit.is_some_and(|code| code != 0));
            }
        }
        // Told for every try; the last one says what the failure was.
        Some("model.call_failure") => {
            let transport = data["failureKind"] == "transport";
            let status = data["statusCode"].as_u64().map(Fault::of_status);
            told.fault = status.or(transport.then_some(Fault::Transient));
        }
        Some("session.error") => {
            let fault = data["statusCode"].as_u64().map_or(Fault::Untyped, Fault::of_status);
            told.failed("session.error", fault, data["message"].as_str().unwrap_or("it does not say why"));
        }
        Some("abort") => told.failed("abort", Fault::Untyped, "it was interrupted"),
        Some("result") => {
            told.set_session(event["sessionId"].as_str());
            if event["exitCode"] == 0 {
                told.done("result");
            } else {
                told.failed("result", Fault::Untyped, "its own exit code is not 0");
            }
        }
        _ => {}
    }
}
