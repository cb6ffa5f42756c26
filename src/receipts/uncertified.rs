//! Commits that landed without a verification (RULINGS 23): by `--no-verify`, or by a person's approval over a finding.

use crate::host::ids::CommitId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A landing that nobody verified. It stays open until something is verified whose diff starts at or before `parent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Range {
    /// What the branch pointed to before.
    pub parent: CommitId,
    /// The landed commit.
    pub commit: CommitId,
    /// The task.
    pub task: String,
    /// `no-verify` or `override`.
    pub origin: String,
}
