//! The receipt that tells what became of each test between base and claim.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a command's tests between base and claim, test by test. Names are for people; each list is sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ComparedRecord {
    /// The receipt of the command on the claim's tree.
    pub claim: u32,
    /// The receipt of the same command on the base's tree.
    pub base: u32,
    /// True if both lists are believed complete.
    pub complete: bool,
    /// How many tests of the base ran on the claim too.
    pub kept: u64,
    /// How many ran on the claim only.
    pub added: u64,
    /// Failed on the base, passed on the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<String>,
    /// Failed on both, in the same way: never the worker's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pre_existing: Vec<String>,
    /// Failed on both, but not in the same way, or failed where the base was unstable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unclear: Vec<String>,
    /// Failed on the claim only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// Both failed and passed on one side's runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
    /// Of these, tests that only the claim has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky_new: Vec<String>,
    /// Ran on the base, listed and not run on the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Ran on the base, not there on the claim.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

impl ComparedRecord {
    /// True if every failure of the claim's run was there before or is an old test's flake, and something ran: then a
    /// red exit status says nothing against the claim (RULINGS 13).
    pub fn explains_red(&self) -> bool {
        self.complete
            && self.broken.is_empty()
            && self.unclear.is_empty()
            && self.flaky_new.is_empty()
            && self.kept + self.added > 0
            && !(self.pre_existing.is_empty() && self.flaky.is_empty())
    }
}
