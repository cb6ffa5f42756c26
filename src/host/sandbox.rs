//! Confine a child (interface; the full stage replaces this).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was enforced around a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Level {
    /// The Landlock ABI in force.
    pub landlock_abi: Option<i32>,
}
