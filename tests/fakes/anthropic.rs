//! Anthropic Messages.

use super::plan::Said;
use super::wire::{CACHED, Frames, INPUT, OUTPUT, pieces};
use serde_json::{Value, json};

/// True if a message has a block of this type; plain text has none.
fn has(message: &Value, kind: &str) -> bool {
    message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind))
}

pub(super) fn rounds(body: &Value) -> usize {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let since = messages.iter().rev().take_while(|m| m["role"] != "user" || has(m, "tool_result"));
    since.filter(|m| m["role"] == "assistant" && has(m, "tool_use")).count()
}

fn usage(output: u64) -> Value {
    json!({"input_tokens": INPUT, "output_tokens": output, "cache_creation_input_tokens": 0,
           "cache_read_input_tokens": CACHED})
}

fn blocks(said: &Said, nth: usize) -> Vec<Value> {
    let text = said.text.iter().map(|text| json!({"type": "text", "text": text}));
    let tool = |(n, call): (usize, &super::ToolCall)| json!({"type": "tool_use", "id": format!("toolu_{nth}_{n}"), "name": call.name, "input": call.input});
    text.chain(said.tools.iter().enumerate().map(tool)).collect()
}

fn stop_reason(said: &Said) -> &'static str {
    if said.tools.is_empty() { "end_turn" } else { "tool_use" }
}

pub(super) fn whole(said: &Said, body: &Value, nth: usize) -> Value {
    json!({"id": format!("msg_{nth}"), "type": "message", "role": "assistant", "model": body["model"],
           "content": blocks(said, nth), "stop_reason": stop_reason(said), "stop_sequence": null,
           "usage": usage(OUTPUT)})
}

pub(super) fn frames(said: &Said, body: &Value, nth: usize) -> Frames {
    let mut frames = Frames::default();
    let begun = json!({"id": format!("msg_{nth}"), "type": "message", "role": "assistant", "model": body["model"],
                       "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(1)});
    frames.named(&json!({"type": "message_start", "message": begun}));
    for (index, block) in blocks(said, nth).iter().enumerate() {
        let (start, deltas): (Value, Vec<Value>) = if let Some(text) = block["text"].as_str() {
            let delta = |piece: &String| json!({"type": "text_delta", "text": piece});
            (json!({"type": "text", "text": ""}), pieces(text).iter().map(delta).collect())
        } else {
            let delta = |piece: &String| json!({"type": "input_json_delta", "partial_json": piece});
            let start = json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}});
            (start, pieces(&block["input"].to_string()).iter().map(delta).collect())
        };
        frames.named(&json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            frames.named(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        if block["type"] == "text" {
            frames.text_ends();
        }
        frames.named(&json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop_reason(said), "stop_sequence": null});
    frames.named(&json!({"type": "message_delta", "delta": delta, "usage": usage(OUTPUT)}));
    frames.named(&json!({"type": "message_stop"}));
    frames
}
