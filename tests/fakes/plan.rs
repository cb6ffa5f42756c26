//! What the server is to say.

use serde_json::Value;

/// The sentence of a brief that holds the token an answer must repeat.
const TOKEN_BEFORE: &str = "The token for your answer is `";

/// The turns of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The n-th request of all gets the n-th of these, whatever it asks.
    pub(super) first: Vec<Turn>,
    /// Afterwards: the turn after so many tool rounds, the last one from then on.
    pub(super) turns: Vec<Turn>,
    /// The models it lists.
    pub(super) models: Vec<String>,
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// A good one.
    Says(Said),
    /// An HTTP status that is not 200.
    Fails { status: u16, retry_after: Option<u32> },
    /// The connection breaks after this text.
    Breaks { after: String },
    /// After this text, if any, there is silence for as long as the server lives.
    Hangs { after: Option<String> },
    /// 200, and a body that is no answer.
    Rubbish(String),
}

/// Text and then tool calls; tool calls make it a round, and the conversation goes on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    pub(crate) text: Option<String>,
    pub(crate) tools: Vec<ToolCall>,
}

/// A tool the model asks for, by the name its program has for it.
#[derive(Debug, Clone)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    /// An object, or a string for a free-form tool.
    pub(crate) input: Value,
}

impl Plan {
    /// These turns.
    pub(crate) fn of(turns: impl IntoIterator<Item = Turn>) -> Self {
        let turns: Vec<Turn> = turns.into_iter().collect();
        assert!(!turns.is_empty(), "a plan without a turn");
        Self { first: Vec::new(), turns, models: vec!["stub-model".to_owned()] }
    }

    /// One answer to everything. `@TOKEN@` in it becomes the token of the brief that the request holds.
    pub(crate) fn answering(text: impl Into<String>) -> Self {
        Self::of([Turn::says(text)])
    }

    /// The next request of all gets this.
    pub(crate) fn first(mut self, turn: Turn) -> Self {
        self.first.push(turn);
        self
    }

    pub(super) fn turn(&self, nth: usize, rounds: usize) -> &Turn {
        self.first.get(nth).unwrap_or_else(|| &self.turns[rounds.min(self.turns.len() - 1)])
    }
}

impl Turn {
    /// Text only.
    pub(crate) fn says(text: impl Into<String>) -> Self {
        Self::Says(Said { text: Some(text.into()), tools: Vec::new() })
    }

    /// Tool calls only.
    pub(crate) fn calls(tools: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::Says(Said { text: None, tools: tools.into_iter().collect() })
    }

    /// This status.
    pub(crate) fn fails(status: u16) -> Self {
        Self::Fails { status, retry_after: None }
    }

    /// With the token of the brief that this request holds.
    pub(super) fn with_token(&self, request: &str) -> Self {
        let mut turn = self.clone();
        let text = match &mut turn {
            Self::Says(Said { text, .. }) | Self::Hangs { after: text } => text.as_mut(),
            Self::Breaks { after } => Some(after),
            Self::Fails { .. } | Self::Rubbish(_) => None,
        };
        // The last one: a resumed conversation holds the briefs of earlier attempts as well.
        let token = request.rsplit_once(TOKEN_BEFORE).and_then(|(_, rest)| rest.split('`').next());
        if let (Some(text), Some(token)) = (text, token) {
            *text = text.replace("@TOKEN@", token);
        }
        turn
    }
}

impl ToolCall {
    /// This tool with these arguments.
    pub(crate) fn new(name: &str, input: Value) -> Self {
        Self { name: name.to_owned(), input }
    }
}
