//! Reads what the relay writes.

use crate::agent::told::{Fault, Told, Usage};
use serde_json::Value;

/// Members of a tool's input that name a file, and nothing else about it.
const PATHS: &[&str] = &["path", "file_path", "filePath", "absolute_path", "abs_path"];

/// The protocol's code for missing credentials.
const AUTH_REQUIRED: i64 = -32_000;

pub(in crate::agent) fn read(event: &Value, told: &mut Told) {
    match event["acp"].as_str() {
        Some("initialized") => {
            let word = |name: &str| event["agent"][name].as_str().unwrap_or_default().to_owned();
            let named = format!("{} {}", word("name"), word("version"));
            told.version = Some(named.trim().to_owned()).filter(|named| !named.is_empty());
        }
        Some("session") => told.set_session(event["id"].as_str()),
        Some("model") => told.set_model(event["id"].as_str()),
        Some("update") => update(&event["update"], told),
        Some("permission") if event["granted"] == false => {
            if let Some(call) = told.call(event["toolCallId"].as_str().unwrap_or_default()) {
                call.ended(true);
            }
        }
        Some("end") => end(event["stopReason"].as_str().unwrap_or_default(), told),
        Some("error") => error(event, told),
        _ => {}
    }
}

fn update(update: &Value, told: &mut Told) {
    match update["sessionUpdate"].as_str() {
        Some("agent_message_chunk") => {
            told.began = true;
            told.answer.extend_from_slice(update["content"]["text"].as_str().unwrap_or_default().as_bytes());
        }
        Some("agent_thought_chunk") => told.began = true,
        Some("tool_call") => {
            // What was said before a tool call is no answer.
            told.answer.clear();
            let name = ["name", "kind", "title"].iter().find_map(|key| update[key].as_str()).unwrap_or("other");
            let id = update["toolCallId"].as_str().unwrap_or_default();
            if told.called(id, name, &update["rawInput"]).is_some() {
                tool(update, told);
            }
        }
        Some("tool_call_update") => tool(update, told),
        // Its total for the session; tokens it does not split.
        Some("usage_update") if update["cost"]["currency"] == "USD" => {
            told.usage.cost_usd = Usage::cost(&update["cost"]["amount"]);
        }
        _ => {}
    }
}

/// What a call's message adds to it.
fn tool(update: &Value, told: &mut Told) {
    let Some(call) = told.call(update["toolCallId"].as_str().unwrap_or_default()) else { return };
    if update["rawInput"].is_object() {
        call.asked(&update["rawInput"]);
    }
    let file = || {
        let [place] = update["locations"].as_array()?.as_slice() else { return None };
        let input = update["rawInput"].as_object()?;
        let whole = place["line"].is_null() && input.keys().all(|key| PATHS.contains(&key.as_str()));
        place["path"].as_str().filter(|_| whole).map(str::to_owned)
    };
    if update["kind"] == "read" {
        call.opened = file();
    }
    match update["status"].as_str() {
        Some("completed") => call.ended(false),
        Some("failed") => call.ended(true),
        _ => return,
    }
    let output = &update["rawOutput"];
    call.exit = ["exitCode", "exit_code"].iter().find_map(|key| output[key].as_i64());
}

fn end(reason: &str, told: &mut Told) {
    let failed = |told: &mut Told, fault, why: &str| told.failed("session/prompt", fault, why);
    match reason {
        "end_turn" => told.done("session/prompt end_turn"),
        "max_tokens" => failed(told, Fault::Limit, "it reached its limit of tokens"),
        "max_turn_requests" => failed(told, Fault::Limit, "it reached its limit of requests in one turn"),
        "refusal" => failed(told, Fault::Refused, "it refused to go on"),
        other => failed(told, Fault::Untyped, &format!("it stopped: {other}")),
    }
}

fn error(event: &Value, told: &mut Told) {
    let fault = if event["code"].as_i64() == Some(AUTH_REQUIRED) { Fault::Credentials } else { Fault::Untyped };
    let during = event["during"].as_str().unwrap_or("connection");
    told.failed(during, fault, event["message"].as_str().unwrap_or("it does not say why"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::told::{End, ToolOutcome};
    use serde_json::json;

    fn told(events: &[Value]) -> Told {
        let mut told = Told::default();
        for event in events {
            read(event, &mut told);
        }
        told
    }

    fn said(text: &str) -> Value {
        json!({"acp": "update", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}})
    }

    #[test]
    fn the_answer_is_what_was_said_after_the_last_tool_call() {
        let call = json!({"acp": "update", "update": {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Read a.txt",
            "kind": "read", "status": "pending", "rawInput": {"path": "a.txt"}, "locations": [{"path": "/room/a.txt"}]}});
        let done = json!({"acp": "update", "update": {"sessionUpdate": "tool_call_update", "toolCallId": "1",
            "status": "completed", "rawOutput": {"exit_code": 0}}});
        let end = json!({"acp": "end", "stopReason": "end_turn"});
        let told = told(&[said("VERDICT: PASS"), call, done, said("VERDICT: "), said("FAIL"), end]);
        assert_eq!(told.answer, b"VERDICT: FAIL");
        assert_eq!(told.end, Some(End::Done { event: "session/prompt end_turn".to_owned() }));
        let call = &told.tools[0];
        assert_eq!((call.name.as_str(), call.outcome, call.exit), ("read", ToolOutcome::Done, Some(0)));
        assert_eq!(call.opened.as_deref(), Some("/room/a.txt"));
    }

    #[test]
    fn a_part_of_a_file_and_a_refused_call_open_nothing() {
        let read = |more: Value, line: Value| {
            json!({"acp": "update", "update": {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "t", "kind": "read",
                "rawInput": more, "locations": [{"path": "/room/a.txt", "line": line}]}})
        };
        assert_eq!(told(&[read(json!({"path": "a", "limit": 3}), json!(null))]).tools[0].opened, None);
        assert_eq!(told(&[read(json!({"path": "a"}), json!(7))]).tools[0].opened, None);
        let refused = json!({"acp": "permission", "toolCallId": "1", "granted": false});
        let told = told(&[read(json!({"path": "a"}), json!(null)), refused]);
        assert_eq!((told.tools[0].outcome, told.tools[0].opened.clone()), (ToolOutcome::Failed, None));
    }

    #[test]
    fn a_turn_that_ends_otherwise_or_never_is_no_answer() {
        for (event, fault) in [
            (json!({"acp": "end", "stopReason": "max_tokens"}), Fault::Limit),
            (json!({"acp": "end", "stopReason": "refusal"}), Fault::Refused),
            (json!({"acp": "end", "stopReason": "cancelled"}), Fault::Untyped),
            (json!({"acp": "end", "stopReason": "new"}), Fault::Untyped),
            (json!({"acp": "error", "during": "session/new", "code": -32000, "message": "log in"}), Fault::Credentials),
            (json!({"acp": "error", "during": "session/prompt", "code": -32603, "message": "429"}), Fault::Untyped),
        ] {
            let told = told(&[said("VERDICT: PASS"), event.clone()]);
            assert!(matches!(&told.end, Some(End::Failed { fault: is, .. }) if *is == fault), "{event}");
        }
        assert_eq!(told(&[said("VERDICT: PASS")]).end, None);
    }

    #[test]
    fn a_cost_that_was_not_said_is_absent() {
        let usage = |cost: Value| json!({"acp": "update", "update": {"sessionUpdate": "usage_update", "used": 3, "size": 9, "cost": cost}});
        assert_eq!(told(&[usage(json!(null))]).usage, Usage::default());
        assert_eq!(told(&[usage(json!({"amount": 2.0, "currency": "EUR"}))]).usage, Usage::default());
        let known = told(&[usage(json!({"amount": 0.5, "currency": "USD"}))]).usage;
        assert_eq!(known.cost_usd.and_then(|cost| cost.as_f64()), Some(0.5));
        assert_eq!(known.input_tokens, None);
    }
}
