//! What the four protocols have in common.

use super::http::Response;
use super::plan::{Said, Turn};
use super::{anthropic, chat, gemini, responses};
use serde_json::{Value, json};

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions.
    Chat,
    /// Gemini.
    Gemini,
}

/// Tokens of every answer: `input`, of which `cached`, and `output`.
pub(super) const INPUT: u64 = 11;
/// See [`INPUT`].
pub(super) const CACHED: u64 = 3;
/// See [`INPUT`].
pub(super) const OUTPUT: u64 = 7;

/// One answer as events, and where its text ends: an answer that breaks off does so there.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub(super) list: Vec<String>,
    text_ends: Option<usize>,
}

impl Frames {
    /// An event with a name, which is its `type`.
    pub(super) fn named(&mut self, event: &Value) {
        let name = event["type"].as_str().unwrap();
        self.list.push(format!("event: {name}\ndata: {event}\n\n"));
    }

    /// An event without a name.
    pub(super) fn bare(&mut self, data: &impl std::fmt::Display) {
        self.list.push(format!("data: {data}\n\n"));
    }

    /// All text has been sent.
    pub(super) fn text_ends(&mut self) {
        self.text_ends = Some(self.list.len());
    }

    fn up_to_text(mut self) -> Vec<String> {
        self.list.truncate(self.text_ends.unwrap_or(self.list.len()));
        self.list
    }
}

/// A text in the pieces in which a model sends it.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(4000).map(|piece| piece.iter().collect()).collect()
}

impl Wire {
    pub(super) fn of(place: &str) -> Option<Self> {
        let ends = |end: &str| place.ends_with(end);
        match () {
            () if ends("/messages") => Some(Self::Anthropic),
            () if ends("/responses") => Some(Self::Responses),
            () if ends("/chat/completions") => Some(Self::Chat),
            () if ends(":generateContent") || ends(":streamGenerateContent") => Some(Self::Gemini),
            () => None,
        }
    }

    /// How often tools were called since a person last spoke.
    pub(super) fn rounds(self, body: &Value) -> usize {
        match self {
            Self::Anthropic => anthropic::rounds(body),
            Self::Responses => responses::rounds(body),
            Self::Chat => chat::rounds(body),
            Self::Gemini => gemini::rounds(body),
        }
    }

    pub(super) fn respond(self, turn: &Turn, place: &str, body: &Value, nth: usize) -> Response {
        let streamed = body["stream"] == true || place.ends_with(":streamGenerateContent");
        let text_only = |text: &str| Said { text: Some(text.to_owned()), tools: Vec::new() };
        match turn {
            Turn::Says(said) if streamed => Response::Stream(self.frames(said, body, nth).list),
            Turn::Says(said) => Response::whole(200, &self.whole(said, body, nth)),
            Turn::Fails { status, retry_after } => self.fault(*status, *retry_after),
            Turn::Breaks { after } | Turn::Hangs { after: Some(after) } => {
                let frames = streamed.then(|| self.frames(&text_only(after), body, nth));
                let before = frames.map(Frames::up_to_text).unwrap_or_default();
                match turn {
                    Turn::Breaks { .. } => Response::Cut { before },
                    _ => Response::Silence { before },
                }
            }
            Turn::Hangs { after: None } => Response::Silence { before: Vec::new() },
            Turn::Rubbish(text) => {
                let kind = if streamed { "text/event-stream" } else { "application/json" };
                let headers = vec![("content-type", kind.to_owned())];
                Response::Whole { status: 200, headers, body: text.clone().into_bytes() }
            }
        }
    }

    fn frames(self, said: &Said, body: &Value, nth: usize) -> Frames {
        match self {
            Self::Anthropic => anthropic::frames(said, body, nth),
            Self::Responses => responses::frames(said, body, nth),
            Self::Chat => chat::frames(said, body, nth),
            Self::Gemini => gemini::frames(said, nth),
        }
    }

    fn whole(self, said: &Said, body: &Value, nth: usize) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(said, body, nth),
            Self::Responses => responses::whole(said, body, nth),
            Self::Chat => chat::whole(said, body, nth),
            Self::Gemini => gemini::whole(said, nth),
        }
    }

    /// An error in the protocol's own form.
    fn fault(self, status: u16, retry_after: Option<u32>) -> Response {
        let message = format!("planned fault {status}");
        let kind = |unauthenticated, limited, other| match status {
            401 => unauthenticated,
            429 => limited,
            _ => other,
        };
        let body = match self {
            Self::Anthropic => {
                let kind = kind("authentication_error", "rate_limit_error", "api_error");
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Self::Gemini => {
                let kind = kind("UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "INTERNAL");
                json!({"error": {"code": status, "message": message, "status": kind}})
            }
            Self::Responses | Self::Chat => {
                let kind = kind("invalid_request_error", "rate_limit_error", "server_error");
                json!({"error": {"message": message, "type": kind, "code": status.to_string()}})
            }
        };
        let mut headers = vec![("content-type", "application/json".to_owned())];
        headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
        Response::Whole { status, headers, body: body.to_string().into_bytes() }
    }
}
