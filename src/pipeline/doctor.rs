//! What this machine and this repository have of what a judgement needs: one line a thing, nothing guessed.
//!
//! Everything is tried, not read up: the box is closed around a child that writes where it must not, programs say their own
//! version, endpoints are connected to. Nothing is changed.

mod agents;
mod boxes;
mod repository;

use super::settings::{Settled, Verifier, settle_settings};
use super::{VerifyError, VerifyRequest};
use crate::agent::AgentKind;
use crate::host::Host;
use crate::host::git::{GitError, OLDEST_GIT, Repo};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// It is there and does what is needed.
    Good,
    /// Worth knowing; nothing asks for it.
    Note,
    /// It is missing or does not do what is needed.
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Observation {
    /// What, e.g. `git` or `agent:claude`.
    pub thing: String,
    /// How it stands.
    pub condition: Condition,
    /// True if the settings (or any judgement) cannot do without it.
    pub required: bool,
    /// What was seen, and what to do.
    pub text: String,
}

impl Observation {
    fn new(thing: impl Into<String>, condition: Condition, required: bool, text: impl Into<String>) -> Self {
        Self { thing: thing.into(), condition, required, text: text.into() }
    }
}

/// All that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Diagnosis {
    /// One entry a thing.
    pub observations: Vec<Observation>,
}

impl Diagnosis {
    /// True if nothing that is required is missing.
    pub fn is_sound(&self) -> bool {
        !self.observations.iter().any(|one| one.required && one.condition == Condition::Missing)
    }
}

/// Looks at git, the repository around `start`, the settings in force there, the box and the agent programs.
pub fn diagnose(start: &Path, host: &Host) -> Diagnosis {
    let mut observations = Vec::new();
    let repo = match Repo::discover(host, start) {
        Ok(repo) => {
            observations.push(git_works(host, repo.git_version()));
            Some(repo)
        }
        Err(why @ (GitError::NotFound { .. } | GitError::TooOld { .. } | GitError::Unreadable { .. })) => {
            observations.push(Observation::new("git", Condition::Missing, true, why.to_string()));
            None
        }
        Err(why) => {
            observations.push(git_works(host, "in use"));
            let none = matches!(why, GitError::NoRepository { .. });
            let condition = if none { Condition::Note } else { Condition::Missing };
            observations.push(Observation::new("repository", condition, !none, why.to_string()));
            None
        }
    };
    if let Some(repo) = &repo {
        observations.push(repository::look(repo));
    }
    let (settled, told) = settings(repo.as_ref(), start);
    observations.push(told);
    let require = settled.as_ref().and_then(|settled| settled.settings.sandbox.require);
    observations.push(boxes::try_it(host, require));
    let asked = settled.as_ref().map(|settled| &settled.verifier);
    observations.extend(verifier(host, asked));
    observations.extend(agents::look(host));
    Diagnosis { observations }
}

fn git_works(host: &Host, version: &str) -> Observation {
    let (major, minor) = OLDEST_GIT;
    let text = format!("{version}, {} (at least {major}.{minor} is needed)", host.git.display());
    Observation::new("git", Condition::Good, true, text)
}

/// The settings at the current commit, with the user's and the environment's on top.
fn settings(repo: Option<&Repo>, start: &Path) -> (Option<Settled>, Observation) {
    let note = |text: &str| (None, Observation::new("settings", Condition::Note, false, text));
    let Some(repo) = repo else { return note("none here: they are read from a repository's commits") };
    let request = VerifyRequest::of(start);
    let tree = match repo.resolve("HEAD") {
        Ok(Some(commit)) => repo.tree_of(&commit),
        Ok(None) => return note("none yet: they are read from commits, and there is none"),
        Err(why) => Err(why),
    };
    let settled = tree.map_err(VerifyError::from).and_then(|tree| settle_settings(&request, repo, &tree));
    match settled {
        Ok(settled) => {
            let text = format!("from {}; verifier {}", settled.sources.join(", "), settled.verifier.name());
            (Some(settled), Observation::new("settings", Condition::Good, true, text))
        }
        Err(why) => (None, Observation::new("settings", Condition::Missing, true, why.to_string())),
    }
}

/// The program that the settings name as verifier; the embedded one needs nothing.
fn verifier(host: &Host, asked: Option<&Verifier>) -> Vec<Observation> {
    let Some(Verifier::Agent { agent, .. }) = asked else { return Vec::new() };
    let thing = format!("verifier:{}", agent.name);
    let word = match &agent.kind {
        described @ (AgentKind::Command(_) | AgentKind::Acp(_)) => {
            described.command().and_then(|command| command.first()).map(String::as_str).unwrap_or_default()
        }
        AgentKind::Program(program) => agent.executable.as_deref().unwrap_or(program.name),
    };
    let mut observations = Vec::new();
    if let Some(found) = host.env.program(word) {
        observations.push(Observation::new(&thing, Condition::Good, true, found.display().to_string()));
    } else {
        let text = format!("`{word}` is not there; install it, or name it by its absolute path in the settings");
        observations.push(Observation::new(&thing, Condition::Missing, true, text));
    }
    let unset: Vec<&str> = agent.env.iter().map(String::as_str).filter(|v| host.env.get(v).is_none()).collect();
    if !unset.is_empty() {
        let text = format!("these variables that the settings lend it are not set: {}", unset.join(", "));
        observations.push(Observation::new(&thing, Condition::Missing, true, text));
    }
    observations
}
