//! Acceptance criteria.

use crate::host::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One acceptance bullet, all its wrapped lines folded into one text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Criterion {
    /// Its number in the brief: 1 for `C1`.
    pub number: u32,
    /// The whole text, white space folded.
    pub text: String,
    /// How it is judged.
    pub kind: Kind,
}

/// How a criterion is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A person looks at it (`[human-eye]`).
    HumanEye,
    /// Receipts decide.
    Checkable(Vec<Proof>),
    /// A verifier judges it.
    Judged,
}

/// What makes a checkable criterion true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// A test of this name ran on the claim's tree and passed.
    Test {
        /// The name, or a whole-segment suffix of it.
        name: String,
    },
    /// A file exists in the claim's tree.
    File {
        /// Its path.
        path: RepoPath,
        /// Text that it must contain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contains: Option<String>,
    },
    /// A command exits 0 in a room of the claim's tree.
    Run {
        /// The command line, for `sh -c`.
        command: String,
    },
}
