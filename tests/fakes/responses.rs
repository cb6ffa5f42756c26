//! OpenAI Responses.

use super::plan::{Said, ToolCall};
use super::wire::{CACHED, Frames, INPUT, OUTPUT, pieces};
use serde_json::{Value, json};

/// Calls that stand side by side are one round.
pub(super) fn rounds(body: &Value) -> usize {
    let input = body["input"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_call = |item: &Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call"));
    let is_person = |item: &Value| item["role"] == "user" && item["type"].as_str().is_none_or(|kind| kind == "message");
    let (mut rounds, mut beside) = (0, false);
    for item in input.iter().rev().take_while(|item| !is_person(item)) {
        rounds += usize::from(is_call(item) && !beside);
        beside = is_call(item);
    }
    rounds
}

fn items(said: &Said, nth: usize) -> Vec<Value> {
    let text = said.text.iter().map(|text| {
        json!({"type": "message", "id": format!("msg_{nth}"), "role": "assistant", "status": "completed",
               "content": [{"type": "output_text", "text": text, "annotations": []}]})
    });
    let tool = |(n, call): (usize, &ToolCall)| {
        let id = format!("call_{nth}_{n}");
        match &call.input {
            Value::String(free) => json!({"type": "custom_tool_call", "id": format!("ctc_{id}"), "call_id": id,
                                          "name": call.name, "input": free, "status": "completed"}),
            input => json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": call.name,
                            "arguments": input.to_string(), "status": "completed"}),
        }
    };
    text.chain(said.tools.iter().enumerate().map(tool)).collect()
}

fn response(body: &Value, nth: usize) -> Value {
    json!({"id": format!("resp_{nth}"), "object": "response", "created_at": 1_700_000_000, "model": body["model"],
           "status": "in_progress", "output": [], "error": null, "parallel_tool_calls": true, "tools": [],
           "metadata": {}})
}

pub(super) fn whole(said: &Said, body: &Value, nth: usize) -> Value {
    let mut done = response(body, nth);
    done["status"] = json!("completed");
    done["output"] = json!(items(said, nth));
    done["usage"] = json!({"input_tokens": INPUT, "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens": OUTPUT, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": INPUT + OUTPUT});
    done
}

pub(super) fn frames(said: &Said, body: &Value, nth: usize) -> Frames {
    let mut frames = Frames::default();
    let send = |frames: &mut Frames, mut event: Value| {
        event["sequence_number"] = json!(frames.list.len());
        frames.named(&event);
    };
    for kind in ["response.created", "response.in_progress"] {
        send(&mut frames, json!({"type": kind, "response": response(body, nth)}));
    }
    for (index, item) in items(said, nth).into_iter().enumerate() {
        let mut added = item.clone();
        added["status"] = json!("in_progress");
        let at = |mut event: Value| {
            event["item_id"] = item["id"].clone();
            event["output_index"] = json!(index);
            event
        };
        if item["type"] == "message" {
            added["content"] = json!([]);
            send(&mut frames, json!({"type": "response.output_item.added", "output_index": index, "item": added}));
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            send(&mut frames, at(json!({"type": "response.content_part.added", "content_index": 0, "part": empty})));
            let part = &item["content"][0];
            for piece in pieces(part["text"].as_str().unwrap()) {
                send(
                    &mut frames,
                    at(json!({"type": "response.output_text.delta", "content_index": 0, "delta": piece})),
                );
            }
            frames.text_ends();
            let text = &part["text"];
            send(&mut frames, at(json!({"type": "response.output_text.done", "content_index": 0, "text": text})));
            send(&mut frames, at(json!({"type": "response.content_part.done", "content_index": 0, "part": part})));
        } else {
            if item["type"] == "function_call" {
                added["arguments"] = json!("");
            }
            send(&mut frames, json!({"type": "response.output_item.added", "output_index": index, "item": added}));
            if item["type"] == "function_call" {
                let text = &item["arguments"];
                send(&mut frames, at(json!({"type": "response.function_call_arguments.delta", "delta": text})));
                send(&mut frames, at(json!({"type": "response.function_call_arguments.done", "arguments": text})));
            }
        }
        send(&mut frames, json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    send(&mut frames, json!({"type": "response.completed", "response": whole(said, body, nth)}));
    frames
}
