//! Gemini's `generateContent` and `streamGenerateContent`.

use super::plan::{Said, ToolCall};
use super::wire::{CACHED, Frames, INPUT, OUTPUT, pieces};
use serde_json::{Value, json};

fn has(content: &Value, part: &str) -> bool {
    content["parts"].as_array().is_some_and(|parts| parts.iter().any(|known| known.get(part).is_some()))
}

pub(super) fn rounds(body: &Value) -> usize {
    let contents = body["contents"].as_array().map(Vec::as_slice).unwrap_or_default();
    let since = contents.iter().rev().take_while(|c| c["role"] == "model" || has(c, "functionResponse"));
    since.filter(|c| c["role"] == "model" && has(c, "functionCall")).count()
}

fn calls(said: &Said, nth: usize) -> Vec<Value> {
    let call = |(n, call): (usize, &ToolCall)| json!({"functionCall": {"name": call.name, "args": call.input, "id": format!("call_{nth}_{n}")}});
    said.tools.iter().enumerate().map(call).collect()
}

fn reply(parts: &[Value], last: bool, nth: usize) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut whole = json!({"modelVersion": "stub", "responseId": format!("r{nth}")});
    if last {
        candidate["finishReason"] = json!("STOP");
        whole["usageMetadata"] = json!({"promptTokenCount": INPUT, "candidatesTokenCount": OUTPUT,
            "totalTokenCount": INPUT + OUTPUT, "cachedContentTokenCount": CACHED});
    }
    whole["candidates"] = json!([candidate]);
    whole
}

pub(super) fn whole(said: &Said, nth: usize) -> Value {
    let text = said.text.iter().map(|text| json!({"text": text}));
    reply(&text.chain(calls(said, nth)).collect::<Vec<_>>(), true, nth)
}

pub(super) fn frames(said: &Said, nth: usize) -> Frames {
    let mut frames = Frames::default();
    for piece in said.text.iter().flat_map(|text| pieces(text)) {
        frames.bare(&reply(&[json!({"text": piece})], false, nth));
    }
    frames.text_ends();
    for call in calls(said, nth) {
        frames.bare(&reply(&[call], false, nth));
    }
    frames.bare(&reply(&[json!({"text": ""})], true, nth));
    frames
}
