//! Programs that speak the Agent Client Protocol: `acp:<command>`.
//!
//! The protocol is a conversation, so somebody must sit beside the agent and answer it. That is our own binary, started
//! again inside the agent's box as `countersign __acp` ([`serve`]): it starts the agent, asks its one question, and writes
//! what it hears as one JSON object a line, which the adapter reads outside as the stream of any other program. The
//! protocol's crate and its tasks live in that process and nowhere else.
//!
//! Everything it says is the agent's word: agent and relay share a box, and nothing is decided by what only the relay saw.

mod conversation;
mod hearing;

pub(super) use hearing::read;

use super::program::Program;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// The first argument that turns our binary into the relay.
pub const RELAY_ARGUMENT: &str = "__acp";

/// What a name of such an agent begins with.
pub(super) const PREFIX: &str = "acp:";

/// A longer first line is no order of ours.
const LONGEST_ORDER: u64 = 1 << 20;

/// Commands that are a program's other face: they take its keys, its log-in and its model's place.
const FACES: &[(&str, &str)] = &[
    ("claude-agent-acp", "claude"),
    ("claude-code-acp", "claude"),
    ("codex-acp", "codex"),
    ("gemini", "gemini"),
    ("opencode", "opencode"),
    ("qwen", "qwen"),
    ("copilot", "copilot"),
];

/// An agent that speaks the protocol.
#[derive(Debug, Clone)]
pub struct Speaker {
    /// Its command.
    pub command: Vec<String>,
    /// The known program that it is a face of, by its executable's name.
    pub like: Option<&'static Program>,
}

impl Speaker {
    pub(super) fn of(command: Vec<String>) -> Self {
        let name = command.first().and_then(|program| Path::new(program).file_name()).and_then(|name| name.to_str());
        let face = FACES.iter().find(|(face, _)| Some(*face) == name);
        Self { command, like: face.and_then(|(_, program)| Program::named(program)) }
    }
}

/// What the relay is told on the first line of its standard input; the question follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Order {
    /// The agent.
    pub(super) command: Vec<String>,
    /// Where the session works.
    pub(super) cwd: PathBuf,
    /// The tree in question, where that is another folder.
    pub(super) room: Option<PathBuf>,
    /// True if it may write and execute: the box still says where.
    pub(super) works: bool,
    /// The session to go on with.
    pub(super) resume: Option<String>,
    /// The model to ask for.
    pub(super) model: Option<String>,
}

impl Order {
    /// What the relay reads.
    pub(super) fn with(&self, question: &[u8]) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(question);
        bytes
    }
}

/// The relay: reads an order and a question, has the conversation, writes what it hears.
///
/// # Errors
/// The order is none of ours, or nobody listens any more. What goes wrong with the agent is part of what is written.
pub fn serve(input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    input.by_ref().take(LONGEST_ORDER).read_until(b'\n', &mut line)?;
    let order: Order = serde_json::from_slice(&line)?;
    let mut question = String::new();
    input.read_to_string(&mut question)?;
    conversation::have(order, question, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_line_and_the_question_follows_untouched() {
        let order = Order {
            command: vec!["agent".to_owned(), "--acp".to_owned()],
            cwd: PathBuf::from("/room"),
            room: None,
            works: false,
            resume: Some("s-1".to_owned()),
            model: None,
        };
        let bytes = order.with(b"a\nb\n");
        let (line, question) = bytes.split_at(bytes.iter().position(|b| *b == b'\n').unwrap() + 1);
        assert_eq!(serde_json::from_slice::<Order>(line).unwrap(), order);
        assert_eq!(question, b"a\nb\n");
        assert!(serve(&b"{}\nhello"[..], Vec::new()).is_err(), "an order has all its members");
    }

    #[test]
    fn a_known_face_brings_its_programs_keys() {
        let like = |command: &str| {
            let words = command.split(' ').map(str::to_owned).collect();
            Speaker::of(words).like.map(|program| program.name)
        };
        assert_eq!(like("/opt/bin/gemini --experimental-acp"), Some("gemini"));
        assert_eq!(like("claude-code-acp"), Some("claude"));
        assert_eq!(like("my-agent gemini"), None);
    }
}
