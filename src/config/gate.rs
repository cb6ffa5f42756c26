//! What the merge gate asks for. Read at the base alone: a change cannot loosen the gate it has to pass.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the allowed signers are kept unless the settings say otherwise.
pub const SIGNERS_FILE: &str = ".agentheim/allowed_signers";

/// Which evidence is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requirement {
    /// Only a note that matches; nothing is judged here.
    Attested,
    /// Only what this run judged itself.
    Verified,
    /// A note that matches, else our own judgement.
    #[default]
    Either,
}

/// Who made a signature, by the settings' list of principals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A person, on their own machine. The role of a principal that no list names.
    Developer,
    /// The machine that conducts the board.
    Conductor,
    /// The merge gate, after its own verification.
    Ci,
}

impl Role {
    /// The role as a word, as it stands in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::Conductor => "conductor",
            Self::Ci => "ci",
        }
    }
}

/// The merge gate (`countersign ci`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own in the settings file")]
pub struct GateSettings {
    /// Which evidence is enough: `attested`, `verified` or `either` (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require: Option<Requirement>,
    /// True: a note without a signature counts. Default false.
    pub unsigned: bool,
    /// The file of allowed signers, in OpenSSH's format, at the base. Default `.agentheim/allowed_signers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_signers: Option<String>,
    /// Principals of each role, as globs. A principal that no role names is a developer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<Role, Vec<String>>,
    /// Whose signature is enough. Default: any role's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept_roles: Vec<Role>,
    /// Versions of countersign whose notes count, as globs. Default: the minor version that reads them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept_versions: Vec<String>,
    /// Verifiers whose verdict counts in a note. Default: any; how one is run is bound by the policy in either case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verifiers: Vec<String>,
    /// True: a permitted SKIP passes. Default false: it is held.
    pub skip: bool,
    /// True: a change without a task passes if the floor finds nothing false and the tests ran green. Default false.
    pub floor_only: bool,
    /// Globs of paths that need no evidence: a change that touches nothing else passes. `**` frees an empty range, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<String>,
    /// Tasks that every change has to meet: ids, or Markdown files of the base.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// True: criteria that the range itself wrote or changed count. Default false: they are held.
    pub author_criteria: bool,
    /// Principals, as globs, whose signed approval of a head's tree releases what is held. Default: nobody's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// Globs of further files that decide about changes: one that touches them is held for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guarded: Vec<String>,
}

impl GateSettings {
    /// The file of allowed signers.
    pub fn signers_file(&self) -> &str {
        self.allowed_signers.as_deref().unwrap_or(SIGNERS_FILE)
    }
}
