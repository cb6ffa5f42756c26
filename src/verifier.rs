//! Fresh eyes: what the verifier is told, how it is asked, and the proof that it touched nothing.

pub mod brief;
pub mod consult;
pub mod fence;
pub mod mechanical;
pub mod watch;

/// The verifier's standing orders, as coding agents load them.
pub const VERIFIER_PROMPT: &str = include_str!("../agents/verifier.md");
