//! Run a program to its end (interface; the full stage replaces this).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "ended")]
pub enum Ending {
    /// It left by itself.
    Exited {
        /// Its exit code.
        code: i32,
    },
}
