//! What is recorded about a consultation.

use crate::host::path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A verifier was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ConsultedRecord {
    /// Its name, and model if it has one.
    pub verifier: String,
    /// True for the one resend.
    pub resend: bool,
    /// SHA-256 of the brief.
    pub brief_digest: String,
    /// Changed paths whose text the brief did not carry.
    pub not_shown: Vec<RepoPath>,
    /// Of those, the ones it is known to have opened.
    pub opened: Vec<RepoPath>,
    /// How its process ended; none for the embedded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<crate::host::process::Ending>,
    /// SHA-256 of the answer.
    pub answer_digest: String,
    /// What changed while it ran: room tree, refs, HEAD, config, hooks, stash. Any entry voids the verdict.
    pub trespasses: Vec<String>,
    /// What else changed meanwhile that cannot be its doing, in words.
    pub bystanders: Vec<String>,
    /// What the box enforced; none for the embedded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<crate::host::sandbox::Level>,
    /// What it asked for in a listed network, refused places first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contacts: Vec<crate::host::sandbox::Contact>,
    /// The program that ran: version, model, tokens, tool calls; none for the embedded one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<crate::agent::AgentRecord>>,
    /// The settings' worker, where they name one, and whether it and this verifier are one program with one model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerNamed>,
    /// Whom it was asked in place of, because that one could not answer at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
}

/// The worker of the settings, beside the verifier that was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct WorkerNamed {
    /// Its name.
    pub name: String,
    /// True if worker and verifier are the same program with the same model: eyes that are fresh, but the same.
    pub same_model: bool,
}
