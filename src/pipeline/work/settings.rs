//! What a run has settled once: the branch, its board's layout, the settings, the worker's program.

use super::budget::Tally;
use super::{WorkError, WorkRequest};
use crate::agent::{Agent, locate, settle_agent};
use crate::config::{Bookkeeper, SandboxRequirement, Settings};
use crate::host::clock::Stopwatch;
use crate::host::git::{RefName, Repo};
use crate::host::path::escape;
use crate::pipeline::settings::settle_settings;
use crate::pipeline::{VerifyError, VerifyRequest};
use crate::receipts::Origin;
use crate::task::layout::Layout;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The variable that names a worker where the command line does not.
const WORKER_VARIABLE: &str = "COUNTERSIGN_WORKER";

/// What every task of a run shares.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) target: RefName,
    /// The main worktree, below which worktrees are made.
    pub(super) top: PathBuf,
    pub(super) layout: Layout,
    pub(super) keeper: Bookkeeper,
    pub(super) settings: Settings,
    /// None: nobody can be sent out, only recovery and landing are possible.
    pub(super) worker: Option<Agent>,
    pub(super) verifier: Option<String>,
    /// What the agents of this run cost so far.
    pub(super) spent: Mutex<Tally>,
    /// When the run began.
    began: Stopwatch,
    /// This run was told not to verify.
    pub(super) no_verify: bool,
}

impl Terms {
    pub(super) fn settle(repo: &Repo, request: &WorkRequest, layout: Layout) -> Result<Self, WorkError> {
        let target = target(repo, request.into.as_deref())?;
        let tip = repo.read_ref(&target)?.ok_or_else(|| WorkError::NoTarget(target.to_string()))?;
        let question = judgement(&request.start, request.verifier.clone());
        let settings = settle_settings(&question, repo, &repo.tree_of(&tip)?)?.settings;
        let default = if layout == Layout::Board { Bookkeeper::Conductor } else { Bookkeeper::Worker };
        let keeper = settings.scope.bookkeeping.unwrap_or(default);
        let named = request.worker.as_deref().or_else(|| repo.host().env.text(WORKER_VARIABLE));
        let named = named.or(settings.agents.worker.as_deref());
        let confined = settings.sandbox.require != Some(SandboxRequirement::None);
        let mut worker = named.map(|name| settle_agent(name, &settings)).transpose().map_err(VerifyError::from)?;
        if let Some(agent) = &mut worker {
            locate(repo.host(), agent, repo.top(), confined).map_err(VerifyError::from)?;
        }
        let (verifier, no_verify) = (request.verifier.clone(), request.no_verify);
        let (spent, began) = (Mutex::default(), repo.host().clock.stopwatch());
        Ok(Self { target, top: main_top(repo), layout, keeper, settings, worker, verifier, spent, began, no_verify })
    }

    pub(super) fn worktree(&self, id: &str) -> PathBuf {
        self.top.join(".worktrees").join(id)
    }

    /// What this run cost so far: the agents' own figures, and the time since it began.
    pub(super) fn run_tally(&self) -> Tally {
        let spent = *self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.within(self.began.elapsed().as_secs())
    }

    pub(super) fn confined(&self) -> bool {
        self.settings.sandbox.require != Some(SandboxRequirement::None)
    }
}

/// A question for the gate in which everything but the work is said.
pub(super) fn judgement(start: &Path, verifier: Option<String>) -> VerifyRequest {
    VerifyRequest { verifier, require_task: true, fresh: true, origin: Origin::Work, ..VerifyRequest::of(start) }
}

/// The branch to land on, as a full name.
pub(super) fn target(repo: &Repo, into: Option<&str>) -> Result<RefName, WorkError> {
    let branch = match into {
        Some(branch) => branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned(),
        None => repo.current_branch()?.ok_or(WorkError::Detached)?,
    };
    RefName::new(&format!("refs/heads/{branch}")).map_err(|name| WorkError::NoTarget(escape(name.as_bytes())))
}

/// The top of the main worktree, wherever in the repository we were started.
pub fn main_top(repo: &Repo) -> PathBuf {
    let common = repo.common_dir();
    let beside = common.parent().filter(|_| common.file_name().is_some_and(|name| name == ".git"));
    beside.unwrap_or_else(|| repo.top()).to_owned()
}
