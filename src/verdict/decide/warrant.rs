//! The right to land one exact tree on one exact base.

use crate::host::ids::{CommitId, TreeId};
use crate::receipts::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a warrant comes from (RULINGS 20). It stands in the note, the trailer and the merge gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WarrantOrigin {
    /// A clean, cross-examined PASS.
    Verified,
    /// A permitted SKIP: nothing executable changed.
    Skipped,
    /// A signed decision of a person about this tree and its findings.
    Override,
    /// This run was told not to verify.
    Unverified,
}

/// The right to land one exact tree on one exact base. Made by [`super::decide()`] alone, spent by landing: it cannot be
/// copied, read from a file or put together elsewhere.
#[derive(Debug, PartialEq, Eq)]
pub struct Warrant {
    commit: CommitId,
    tree: TreeId,
    base: CommitId,
    origin: WarrantOrigin,
    reason: Reason,
}

impl Warrant {
    pub(super) fn new(claim: (&CommitId, &TreeId, &CommitId), origin: WarrantOrigin, reason: Reason) -> Self {
        let (commit, tree, base) = claim;
        Self { commit: commit.clone(), tree: tree.clone(), base: base.clone(), origin, reason }
    }

    /// The claim's commit.
    pub fn commit(&self) -> &CommitId {
        &self.commit
    }

    /// The claim's tree: what was tested, shown and judged.
    pub fn tree(&self) -> &TreeId {
        &self.tree
    }

    /// The commit that the claim was measured against.
    pub fn base(&self) -> &CommitId {
        &self.base
    }

    /// Where it comes from.
    pub fn origin(&self) -> WarrantOrigin {
        self.origin
    }

    /// Why it was made.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }
}
