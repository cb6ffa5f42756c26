//! OpenAI Chat Completions.

use super::plan::{Said, ToolCall};
use super::wire::{CACHED, Frames, INPUT, OUTPUT, pieces};
use serde_json::{Value, json};

pub(super) fn rounds(body: &Value) -> usize {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let since = messages.iter().rev().take_while(|message| message["role"] != "user");
    since.filter(|m| m["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty())).count()
}

fn usage() -> Value {
    json!({"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
           "prompt_tokens_details": {"cached_tokens": CACHED}})
}

fn calls(said: &Said, nth: usize) -> Vec<Value> {
    let call = |(n, call): (usize, &ToolCall)| {
        json!({"id": format!("call_{nth}_{n}"), "type": "function",
               "function": {"name": call.name, "arguments": call.input.to_string()}})
    };
    said.tools.iter().enumerate().map(call).collect()
}

fn finish_reason(said: &Said) -> &'static str {
    if said.tools.is_empty() { "stop" } else { "tool_calls" }
}

pub(super) fn whole(said: &Said, body: &Value, nth: usize) -> Value {
    let mut message = json!({"role": "assistant", "content": said.text});
    if !said.tools.is_empty() {
        message["tool_calls"] = json!(calls(said, nth));
    }
    json!({"id": format!("chatcmpl-{nth}"), "object": "chat.completion", "created": 1_700_000_000,
           "model": body["model"], "usage": usage(),
           "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(said)}]})
}

pub(super) fn frames(said: &Said, body: &Value, nth: usize) -> Frames {
    let mut frames = Frames::default();
    let chunk = |choices: Value| {
        json!({"id": format!("chatcmpl-{nth}"), "object": "chat.completion.chunk", "created": 1_700_000_000,
               "model": body["model"], "choices": choices})
    };
    let delta = |delta: Value, end: Option<&str>| chunk(json!([{"index": 0, "delta": delta, "finish_reason": end}]));
    frames.bare(&delta(json!({"role": "assistant", "content": ""}), None));
    for piece in said.text.iter().flat_map(|text| pieces(text)) {
        frames.bare(&delta(json!({"content": piece}), None));
    }
    frames.text_ends();
    for (index, call) in calls(said, nth).iter().enumerate() {
        let name = json!({"name": call["function"]["name"], "arguments": ""});
        let begun = json!([{"index": index, "id": call["id"], "type": "function", "function": name}]);
        frames.bare(&delta(json!({"tool_calls": begun}), None));
        let arguments = json!({"arguments": call["function"]["arguments"]});
        frames.bare(&delta(json!({"tool_calls": [{"index": index, "function": arguments}]}), None));
    }
    frames.bare(&delta(json!({}), Some(finish_reason(said))));
    let mut last = chunk(json!([]));
    last["usage"] = usage();
    frames.bare(&last);
    frames.bare(&"[DONE]");
    frames
}
