//! The story in one screen.

use super::asking::{self, Asked};
use super::captured::{self, Calls};
use super::declined;
use super::known;
use super::recorder::Recorder;
use super::replay::replay;
use super::report::{Reported, read_report};
use super::settings::{Settled, settle_settings};
use super::{Observer, Outcome, VerifyError, VerifyRequest};
use crate::claim::{Claim, Frozen, Sighting, SightingKind, freeze_commit, freeze_worktree};
use crate::config::SandboxRequirement;
use crate::floor::{self, Inspection};
use crate::host::Host;
use crate::host::digest::digest;
use crate::host::process::probe_box;
use crate::integrate::open_ranges;
use crate::receipts::case::{self, Attempt};
use crate::receipts::ledger::Ledger;
use crate::receipts::ruling::DeclinedRecord;
use crate::receipts::{
    BaseRecord, CheckReport, DecisionKind, FORMAT, Fact, Opened, Receipt, SettingsRecord, State, TaskRecord,
};

/// Judges one claim, from its task to a sealed decision.
///
/// # Errors
/// See [`VerifyError`]: there is no judgement then, nothing is blamed on the worker, and nothing is lost.
pub fn verify(request: &VerifyRequest, host: &Host, watch: &mut dyn Observer) -> Result<Outcome, VerifyError> {
    judge(request, host, watch, None)
}

/// The same without tests and without a verifier, because somebody told this run not to verify. What the cheap checks deny
/// goes back all the same; anything else may land, and the warrant's origin says for good that nobody verified it.
///
/// # Errors
/// As [`verify`].
pub fn admit(request: &VerifyRequest, host: &Host, watch: &mut dyn Observer, by: &str) -> Result<Outcome, VerifyError> {
    judge(request, host, watch, Some(by))
}

fn judge(
    request: &VerifyRequest,
    host: &Host,
    watch: &mut dyn Observer,
    waived: Option<&str>,
) -> Result<Outcome, VerifyError> {
    let asked = asking::settle(request, host)?;
    let mut settled = settle_settings(request, &asked.repo, &asked.base_tree)?;
    if asked.task.is_some() {
        settled.find_verifier(&asked.repo)?;
    }
    let reported = read_report(request, &asked.repo, asked.task_id())?;
    watch.began("freezing the work");
    let frozen = freeze(&asked)?;
    let calls = captured::read(request, &asked, &reported)?;
    require_box(&settled, &frozen, host)?;
    if frozen.changed.is_empty() && asked.task.is_none() {
        return Err(VerifyError::NothingToJudge { base: asked.base.commit.to_string(), rule: asked.base.rule.clone() });
    }
    let declined = match &asked.task {
        Some(task) => declined::before(&asked.repo, &task.task.case_key(), &frozen.tree, &frozen.changed)?,
        None => Vec::new(),
    };
    let key = cache_key(request, &asked, &settled, (&reported, &calls), (&frozen, &declined))?;
    if !request.fresh
        && waived.is_none()
        && let Some(outcome) = judged_before(&asked, &key)?
    {
        return Ok(outcome);
    }
    let mut run = Run::open((request, &asked, &settled), (&reported, &calls), key, watch)?;
    let claim = run.claim(frozen)?;
    run.recall(declined)?;
    run.floor(&claim)?;
    if let Some(by) = waived {
        run.recorder.record(Fact::Waived { by: by.to_owned() })?;
    } else {
        run.prove(&claim)?;
        run.drive(&claim)?;
        run.reconcile(&claim)?;
        run.ask(&claim)?;
    }
    run.decide()?;
    run.seal()
}

impl Asked {
    /// The task's id.
    pub(super) fn task_id(&self) -> Option<&str> {
        self.task.as_ref().and_then(|t| t.task.id.as_ref()).map(crate::task::TaskId::as_str)
    }
}

fn freeze(asked: &Asked) -> Result<Frozen, VerifyError> {
    let mut frozen = match &asked.commit {
        Some(commit) => freeze_commit(&asked.repo, &asked.base.commit, commit)?,
        None => freeze_worktree(&asked.repo, &asked.base.commit)?,
    };
    let doubt = asked.base.doubt.iter().cloned();
    frozen.sightings.extend(doubt.map(|detail| Sighting { kind: SightingKind::ChosenBase, path: None, detail }));
    Ok(frozen)
}

/// Where the settings require confinement, a machine that cannot give it ends the run before anything is executed. The
/// snapshot's git has just shown what the box enforces; for a commit, an empty child shows it.
fn require_box(settled: &Settled, frozen: &Frozen, host: &Host) -> Result<(), VerifyError> {
    if settled.settings.sandbox.require != Some(SandboxRequirement::Landlock) {
        return Ok(());
    }
    let level = frozen.level.clone().unwrap_or_else(|| probe_box(host));
    if level.enforced { Ok(()) } else { Err(VerifyError::NoSandbox { why: level.sentence() }) }
}

/// Everything a judgement depends on (RULINGS 4), and what some checks read beside it: the report, and what was seen
/// around the tree. The same tree on a rewritten history, or beside a file hidden from git, is another case.
fn cache_key(
    request: &VerifyRequest,
    asked: &Asked,
    settled: &Settled,
    (reported, calls): (&Reported, &Calls),
    (frozen, declined): (&Frozen, &[DeclinedRecord]),
) -> Result<String, VerifyError> {
    let around = floor::tests_run::circumstances(&asked.repo)?;
    let seen = digest(&serde_json::to_vec(&frozen.sightings).unwrap_or_default());
    let parts = [
        asked.task.as_ref().map_or("", |t| t.task.digest.as_str()),
        asked.base.commit.as_str(),
        frozen.tree.as_str(),
        &settled.digest,
        &settled.verifier.identity(),
        &reported.record.digest,
        &calls.digest,
        &seen,
        &digest(&serde_json::to_vec(declined).unwrap_or_default()),
        if request.all_checks { "all" } else { "" },
        if request.no_tests { "no tests" } else { "" },
        &digest(request.removals.join("\n").as_bytes()),
        &settled.verifier.files(&asked.repo),
        &around,
        env!("CARGO_PKG_VERSION"),
    ];
    Ok(digest(parts.join("\n").as_bytes()))
}

/// A PASS or a FAIL that was already sealed under the same key, and that its receipts still give: a case lies where
/// others can write. Holds are tried again.
fn judged_before(asked: &Asked, key: &str) -> Result<Option<Outcome>, VerifyError> {
    let Some(task) = &asked.task else { return Ok(None) };
    for commit in case::attempts(&asked.repo, &task.task.case_key())? {
        let sealed = case::read(&asked.repo, &commit)?;
        let same = sealed.attempt.receipts.iter().any(|r| matches!(&r.fact, Fact::Settings(s) if s.key == key));
        let ended = |outcome: &Outcome| matches!(outcome.decision.kind, DecisionKind::Land | DecisionKind::SendBack);
        let stored = Outcome::from_receipts(&sealed.attempt.receipts, Some(commit.to_string()));
        // A person's ruling is about landing, and so is a wish not to verify: neither is a judgement.
        let ruled = |r: &Receipt| matches!(&r.fact, Fact::Ruling(_) | Fact::Waived { .. });
        let ruled = sealed.attempt.receipts.iter().any(ruled);
        if let Some(mut outcome) = stored.filter(|outcome| same && !ruled && ended(outcome))
            && known::is_known(&asked.repo, key, &commit)
            && replay(&asked.repo, &sealed).is_ok_and(|found| found.agrees)
        {
            outcome.judged_before = true;
            outcome.task_inferred.clone_from(&task.inferred);
            return Ok(Some(outcome));
        }
    }
    Ok(None)
}

/// One attempt while it is judged.
pub(super) struct Run<'a> {
    pub(super) request: &'a VerifyRequest,
    pub(super) asked: &'a Asked,
    pub(super) settled: &'a Settled,
    pub(super) reported: &'a Reported,
    pub(super) calls: &'a Calls,
    pub(super) recorder: Recorder<'a>,
    /// The case key: also what an answer must give as `TASK_ID`.
    pub(super) case_key: String,
    number: u32,
    sightings: Vec<Sighting>,
    /// Work that was refused before it became a commit; its objects live as long as this.
    pub(super) refused: Option<Frozen>,
    /// What will be sealed.
    pub(super) sealed: Attempt,
}

impl<'a> Run<'a> {
    fn open(
        (request, asked, settled): (&'a VerifyRequest, &'a Asked, &'a Settled),
        (reported, calls): (&'a Reported, &'a Calls),
        key: String,
        watch: &'a mut dyn Observer,
    ) -> Result<Self, VerifyError> {
        let repo = &asked.repo;
        let case_key = asked.task.as_ref().map_or_else(|| format!("floor-{}", &key[..16]), |t| t.task.case_key());
        let number = u32::try_from(case::attempts(repo, &case_key)?.len()).unwrap_or(u32::MAX).saturating_add(1);
        let (ledger, number) = Ledger::open(&repo.own_dir().join("attempts").join(&case_key), number)?;
        let mut run = Self {
            request,
            asked,
            settled,
            reported,
            calls,
            recorder: Recorder::new(ledger, watch, repo.host()),
            case_key,
            number,
            sightings: Vec::new(),
            refused: None,
            sealed: Attempt::default(),
        };
        run.preamble(key)?;
        Ok(run)
    }

    fn preamble(&mut self, key: String) -> Result<(), VerifyError> {
        let (asked, settled) = (self.asked, self.settled);
        let repo = &asked.repo;
        self.recorder.record(Fact::Opened(Opened {
            format: FORMAT,
            countersign: env!("CARGO_PKG_VERSION").to_owned(),
            case: self.case_key.clone(),
            attempt: self.number,
            origin: self.request.origin,
            at: repo.host().clock.now().to_utc(),
            git: format!("git {}, graph read by {}", repo.git_version(), repo.graph_reader()),
            unobserved: vec![
                "refs, configuration and hooks before the work began: a run by hand has no \"before\"".to_owned(),
            ],
        }))?;
        let base = BaseRecord {
            commit: asked.base.commit.clone(),
            tree: asked.base_tree.clone(),
            rule: asked.base.rule.clone(),
        };
        self.recorder.record(Fact::Base(base))?;
        self.recorder.record(Fact::Settings(SettingsRecord {
            sources: settled.sources.clone(),
            digest: settled.digest.clone(),
            verifier: settled.verifier.name().to_owned(),
            skip_allowed: settled.settings.skip.allowed,
            require_task: self.request.require_task,
            policy: settled.policy.clone(),
            key,
        }))?;
        if let Some(asked) = &asked.task {
            let task = &asked.task;
            self.recorder.record(Fact::Task(TaskRecord {
                id: task.id.as_ref().map(ToString::to_string),
                title: task.display_title().to_owned(),
                kind: task.kind.clone().map(String::from).unwrap_or_default(),
                source: asked.source.clone(),
                digest: task.digest.clone(),
                criteria: task.criteria(),
            }))?;
        }
        self.recorder.record(Fact::Report(self.reported.record.clone()))?;
        Ok(())
    }

    /// Stops between steps when the user asked.
    pub(super) fn pause(&self) -> Result<(), VerifyError> {
        if self.asked.repo.host().cancel.is_asked() { Err(VerifyError::Interrupted) } else { Ok(()) }
    }

    /// Makes the frozen work a claim, unless it holds secrets: git history does not forget.
    fn claim(&mut self, frozen: Frozen) -> Result<Claim, VerifyError> {
        let repo = &self.asked.repo;
        self.sightings.clone_from(&frozen.sightings);
        let preview = frozen.preview();
        let secrets = floor::secrets::inspect(&self.inspection(&preview));
        let claim = if secrets.state == State::Deny {
            // The refused objects stay readable for the other checks, and are gone when the run ends.
            self.refused = Some(frozen);
            preview
        } else {
            let kept = self.asked.task.is_some() || self.request.seal_floor;
            frozen.keep(repo, &self.case_key, kept.then_some(self.number))?
        };
        self.recorder.record(Fact::Claim(claim.clone()))?;
        self.recorder.record(Fact::Sightings { sightings: self.sightings.clone() })?;
        self.check(secrets)?;
        Ok(claim)
    }

    /// What persons declined before, and what landed on the base unverified, is part of what this judgement rests on.
    fn recall(&mut self, declined: Vec<DeclinedRecord>) -> Result<(), VerifyError> {
        let ranges = open_ranges(&self.asked.repo, &self.asked.base.commit)?;
        if !ranges.is_empty() {
            self.recorder.record(Fact::Uncertified { ranges })?;
        }
        declined.into_iter().try_for_each(|record| self.recorder.record(Fact::Declined(record)).map(|_| ()))
    }

    pub(super) fn inspection<'i>(&'i self, claim: &'i Claim) -> Inspection<'i> {
        let task = self.asked.task.as_ref();
        Inspection {
            repo: &self.asked.repo,
            settings: &self.settled.settings,
            claim,
            sightings: &self.sightings,
            worktree: self.asked.commit.is_none().then(|| self.asked.repo.top()),
            task: task.map(|t| &t.task),
            task_path: task.and_then(|t| t.path.as_ref()),
            layout: self.asked.layout,
            report: &self.reported.state,
            removals: &self.request.removals,
        }
    }

    pub(super) fn check(&mut self, report: CheckReport) -> Result<(), VerifyError> {
        self.recorder.record(Fact::Check(report.without_secrets())).map(|_| ())
    }

    /// True if a check denied and nobody asked for the rest.
    pub(super) fn is_denied(&self) -> bool {
        let denied = |fact: &Fact| matches!(fact, Fact::Check(check) if check.state == State::Deny);
        !self.request.all_checks && self.recorder.receipts().iter().any(|r| denied(&r.fact))
    }

    /// What the check of this id found, if it ran.
    pub(super) fn found(&self, id: &str) -> Option<&CheckReport> {
        self.recorder.receipts().iter().find_map(|r| match &r.fact {
            Fact::Check(check) if check.id == id => Some(check),
            _ => None,
        })
    }

    /// True for a decision task with exactly one ADR and nothing executable, where a SKIP may pass.
    pub(super) fn is_decision_record(&self) -> bool {
        let eligible =
            |check: &CheckReport| check.state == State::Info && check.note == floor::skip_eligible::DECISION_ADR;
        self.settled.settings.skip.allowed && self.found(floor::skip_eligible::ID).is_some_and(eligible)
    }

    fn floor(&mut self, claim: &Claim) -> Result<(), VerifyError> {
        self.pause()?;
        self.recorder.begin("checking what needs no opinion");
        for report in floor::inspect_all(&self.inspection(claim)) {
            self.check(report)?;
        }
        Ok(())
    }
}
