//! What is recorded about an agent's run.

use super::role::Role;
use super::told::{Fault, ToolCall, Usage};
use crate::host::process::Ending;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of an agent: who it was, how it ended, what it used and did. Its own words are as the program told them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct AgentRecord {
    /// The program: `claude`, …, `command`.
    pub agent: String,
    /// The executable that ran.
    pub path: Option<String>,
    /// Its version, as it says itself.
    pub version: Option<String>,
    /// The model that was asked for.
    pub model_asked: Option<String>,
    /// The model that answered, as the program says.
    pub model: Option<String>,
    /// What it was asked to be.
    pub role: Role,
    /// What its network was meant to be, in words; what was enforced is in the level.
    pub network: String,
    /// The session's identity.
    pub session: Option<String>,
    /// Whether an earlier session went on, and if not though it should have, why.
    pub resumed: Resumed,
    /// Each time the program was started, in order.
    pub tries: Vec<TryRecord>,
    /// The terminal event of the last try.
    pub terminal: Option<String>,
    /// Tokens and cost of the last try, from the program's own totals.
    pub usage: Usage,
    /// Its tool calls, in order; inputs are redacted.
    pub tools: Vec<ToolCall>,
    /// All its tool calls, also those that are not listed.
    pub tools_total: u64,
    /// Whatever else is worth a line.
    pub notes: Vec<String>,
}

/// Whether a session went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Resumed {
    /// A fresh session, as meant.
    Fresh,
    /// The session of an earlier turn.
    Yes,
    /// An earlier session should have gone on and could not; the same turn ran afresh.
    Failed {
        /// Why.
        why: String,
    },
}

/// One start of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TryRecord {
    /// How its process ended.
    pub ending: Ending,
    /// The failure it told, if it told one.
    pub fault: Option<Fault>,
    /// Whole milliseconds it took.
    pub took_ms: u64,
}
