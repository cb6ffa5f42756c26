//! What is unusual about a task's criteria.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is unusual about a task's criteria; the ids are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OddityKind {
    /// The heading says more than `Acceptance criteria`, or has another level.
    SectionHeading,
    /// More than one acceptance section; all of them count.
    SeveralSections,
    /// A bullet without a box.
    NoBox,
    /// A mark other than blank and `x`; the criterion counts as open.
    OddMark,
    /// A box inside another bullet.
    NestedBox,
    /// A bullet other than `-` in column one.
    OddBullet,
    /// A box in an HTML comment, a code block or a quotation: not a criterion.
    HiddenBox,
    /// A code fence or comment that is never closed: what follows is read as if it had not been opened.
    UnclosedBlock,
    /// `[human-eye]` inside a code span: not taken as the marker.
    QuotedMarker,
    /// A proof on a `[human-eye]` criterion: not looked at.
    ProofOnHumanEye,
    /// Words that look like a proof but are not at the end, or lack their quotes.
    UnreadProof,
    /// A proof that cannot be used: the criterion is judged instead.
    BadProof,
    /// A criterion that says nothing.
    EmptyCriterion,
    /// Control or invisible characters in a criterion.
    HiddenCharacters,
}

/// Something unusual, reported and never dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Oddity {
    /// What kind.
    pub id: OddityKind,
    /// Where, counted from 1.
    pub line: usize,
    /// What was found and how it is taken.
    pub message: String,
}
