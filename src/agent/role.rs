//! What an agent is asked to be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Judges: reads the room, writes nothing but its scratch, and begins afresh each time.
    Verifier,
    /// Works: writes its worktree, and goes on with its own session.
    Worker,
}
