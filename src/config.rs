//! Settings, settled once: defaults ← the project's file at the base commit ← the user's file ← environment ← flags.
//!
//! The project's file (`.agentheim/countersign.yaml`) is read from the base commit, never from the claim: a candidate may
//! propose new rules, it may not be judged under them.

mod gate;
pub mod glob;
mod parse;
mod policy;

pub use gate::{GateSettings, Requirement, Role, SIGNERS_FILE};
pub use parse::{Layer, SettingsError, read_yaml, settle};
pub use policy::policy_digest;

use crate::host::sandbox::Endpoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a project keeps its settings.
pub const PROJECT_FILE: &str = ".agentheim/countersign.yaml";

/// Everything that can be set. Unknown keys and duplicate keys are refused, so that a typing error never loosens a gate.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Settings {
    /// The verifier: `mechanical`, an agent program (`claude`, `codex`, …), or a name under `verifiers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifier: Option<String>,
    /// Programs that answer a brief.
    #[serde(deserialize_with = "parse::unique_map")]
    pub verifiers: BTreeMap<String, VerifierProgram>,
    /// Who works and who judges.
    pub agents: AgentSettings,
    /// How to run the tests.
    pub tests: TestSettings,
    /// What a claim may touch.
    pub scope: ScopeSettings,
    /// Globs of files that only a build writes: a claim that changes them is denied (`derived-artifacts`).
    pub derived_artifacts: Vec<String>,
    /// Globs of generated files that a report need not list (`report-files`). Lockfiles are always forgiven.
    pub generated: Vec<String>,
    /// Globs of files that may look like secrets (test fixtures).
    pub secrets: SecretSettings,
    /// When a SKIP may pass.
    pub skip: SkipSettings,
    /// What confines children.
    pub sandbox: SandboxSettings,
    /// Sizes and times.
    pub limits: LimitSettings,
    /// What the merge gate asks for; read at the base alone.
    pub gate: GateSettings,
    /// What `work` may cost.
    #[serde(skip_serializing_if = "BudgetSettings::is_unlimited")]
    pub budget: BudgetSettings,
}

/// What `work` may cost. What is spent holds the task (`budget-spent`); nothing is cut off without being named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BudgetSettings {
    /// For each task, from the moment it is taken.
    #[serde(skip_serializing_if = "Budget::is_unlimited")]
    pub task: Budget,
    /// For each run, all tasks together.
    #[serde(skip_serializing_if = "Budget::is_unlimited")]
    pub run: Budget,
}

impl BudgetSettings {
    /// True if nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        self.task.is_unlimited() && self.run.is_unlimited()
    }
}

/// A budget; what is absent is not limited.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Budget {
    /// Tokens read and written, by the programs' own totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars, by the programs' own totals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<serde_json::Number>,
    /// Minutes: of a task, those that its workers and judgements took; of a run, those since it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
}

impl Budget {
    /// True if nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// An agent: a program that reads a brief and answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct VerifierProgram {
    /// `claude`, `codex`, `gemini`, `pi`, `copilot`, `opencode`, `qwen` or `command`. Absent: `command` where a
    /// command is given, else the entry's own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Program and arguments; no shell. Of a known program: its path, if the one on the `PATH` is not meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The model to ask for; of a plain command, the one to name in the receipt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Further arguments for a known program. Only those that are known to leave its confinement as it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables it may see beside the allow-list (its own key, for instance).
    pub env: Vec<String>,
    /// True if it needs the whole network.
    pub network: bool,
    /// The places it needs, its model's for instance; others are refused and named in the receipt. As
    /// `sandbox.allow-hosts`. A known program's model is listed already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<Endpoint>,
}

/// Who works and who judges.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AgentSettings {
    /// The worker: a built-in name, or a name under `verifiers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The verifier, where `verifier` names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifier: Option<String>,
    /// Who is asked, in order, when the verifier could not answer at all. An answer is never asked for again elsewhere.
    pub fallback: Vec<String>,
}

/// How to run the tests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TestSettings {
    /// The command line, for `sh -c` at the top of the tree; without one it is discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where the command was said, for messages, if not in a settings file.
    #[serde(skip)]
    pub command_said: Option<&'static str>,
    /// Commands that prepare a room, in order; without any the known set-ups apply.
    pub setup: Vec<String>,
    /// A report the command writes, relative to the top of the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// That report's format, by name: `junit` (the default), `tap`, `go-test-json`, … (see `floor::reports::Format`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// How many mutants may show whether new tests would notice wrong code; 0 asks for none, and tests then count as they
    /// are. Default 12; up to four times as many for a cited test that bites by its expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutants: Option<u32>,
    /// Seconds for all mutants, and again for all undone hunks. Default 120.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutation_budget_seconds: Option<u64>,
    /// Undo the production change hunk by hunk and name what no test misses. Default false.
    pub needed_change: bool,
    /// Globs of files that are tests, whatever their language's habit says.
    pub files: Vec<String>,
    /// How often a red run is repeated, on both sides, to tell flakes from failures: 1 unless said, at most 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// `false`: do not prove that the tests see the claim (`canary`); said in every judgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<bool>,
    /// Folders that a set-up fills (`node_modules`, `.venv`), relative to the top of the tree. They are kept by lockfile
    /// and copied into later rooms in place of the set-up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<String>,
}

impl TestSettings {
    /// See [`TestSettings::retries`].
    pub fn retries(&self) -> usize {
        self.retries.unwrap_or(1).min(5) as usize
    }
}

/// What a claim may touch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ScopeSettings {
    /// Globs that no claim may change.
    pub forbidden: Vec<String>,
    /// Who keeps the board: `worker` moves its task file, edits its context's README and writes decision records itself;
    /// `conductor` does all of that from the report, and a worker changes nothing under `.agentheim/`. Absent: `worker`
    /// in the legacy layout, `conductor` in the two-root layout (RULINGS 10).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bookkeeping: Option<Bookkeeper>,
}

/// See [`ScopeSettings::bookkeeping`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bookkeeper {
    /// The worker, in its own worktree.
    Worker,
    /// The conductor, after the decision.
    Conductor,
}

/// What may look like a secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SecretSettings {
    /// Globs of files that are exempt.
    pub allow: Vec<String>,
}

/// When a SKIP may pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SkipSettings {
    /// True (the default): a SKIP passes where nothing executable changed.
    pub allowed: bool,
}

impl Default for SkipSettings {
    fn default() -> Self {
        Self { allowed: true }
    }
}

/// What confines children.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SandboxSettings {
    /// `landlock`: a machine that cannot confine is exit 4; `none`: run unconfined, said in every receipt; absent: confine
    /// where possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require: Option<SandboxRequirement>,
    /// The network of test runs: `loopback` (default), `off` or `open`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_network: Option<NetworkSetting>,
    /// Places that every agent may reach beside its model: `api.example.com`, `registry.example.com:8443`,
    /// `127.0.0.1:8080`. Port 443 unless said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_hosts: Vec<Endpoint>,
}

/// See [`SandboxSettings::require`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxRequirement {
    /// Confinement must work.
    Landlock,
    /// No confinement.
    None,
}

/// See [`SandboxSettings::tests_network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkSetting {
    /// No sockets but local ones.
    Off,
    /// Only this machine.
    Loopback,
    /// Everything.
    Open,
}

/// Sizes and times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Wall-clock seconds of one test run.
    pub tests_seconds: u64,
    /// Seconds that a test run may print nothing at all; 0 sets no such limit.
    pub tests_idle_seconds: u64,
    /// Wall-clock seconds of one set-up command.
    pub setup_seconds: u64,
    /// Wall-clock seconds of one worker's turn.
    pub worker_seconds: u64,
    /// Seconds until a program that is launched must listen (`runtime-drive`).
    pub boot_seconds: u64,
    /// Wall-clock seconds of one verifier run.
    pub verifier_seconds: u64,
    /// Seconds that an agent may print nothing at all; 0 sets no such limit.
    pub agent_idle_seconds: u64,
    /// How often an agent is tried again after a failure that it types as transient.
    pub agent_retries: u32,
    /// Seconds before the first of these; twice as long before each further one.
    pub agent_pause_seconds: u64,
    /// Bytes of patch text a brief carries; what exceeds it is listed and offered as files.
    pub brief_bytes: u64,
    /// Bytes of one log that are kept (half its head, half its tail).
    pub log_bytes: u64,
}

impl LimitSettings {
    /// How long an agent may be silent, if that is limited.
    pub fn agent_idle(&self) -> Option<std::time::Duration> {
        (self.agent_idle_seconds > 0).then(|| std::time::Duration::from_secs(self.agent_idle_seconds))
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            tests_seconds: 1_800,
            tests_idle_seconds: 900,
            setup_seconds: 900,
            worker_seconds: 7_200,
            boot_seconds: 60,
            verifier_seconds: 1_800,
            agent_idle_seconds: 1_800,
            agent_retries: 2,
            agent_pause_seconds: 5,
            brief_bytes: 400_000,
            log_bytes: 4 << 20,
        }
    }
}
