//! A worker's turn: its brief, its errand, and what it left when it ended.

use super::WorkError;
use super::budget::Spent;
use super::hand::{Hand, base_of, io, told};
use super::journal::{Entry, Errand};
use super::standing::{Life, Seen};
use super::step::Latest;
use super::surroundings;
use crate::agent::{Question, Retries, Role, Sessions, ask};
use crate::host::process::Ending;
use crate::host::redact;
use crate::integrate::SalvageTag;
use crate::pipeline::declined;
use crate::receipts::ReportedOutcome;
use crate::worker::mission::{Mission, Occasion};
use crate::worker::outbox;
use crate::worker::{Candidate, Generation, Outcome, Source, pick_report, sidecar_name};
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

impl Hand<'_> {
    pub(super) fn send(&mut self, seen: &Seen, life: &Life, iteration: u32, errand: Errand) -> Result<(), WorkError> {
        let agent = self.terms.worker.clone().ok_or(WorkError::NoWorker)?;
        if errand == Errand::Repeat {
            let late = matches!(&seen.standing.progress.latest, Latest::Back { ending, .. } if ending == "timed-out" || ending == "idle");
            self.save(life, if late { SalvageTag::TimedOut } else { SalvageTag::Crashed })?;
        }
        let sidecar = self.sidecar(iteration)?;
        let inbox = self.journal.inbox();
        self.effect(|| {
            outbox::clear_reports(&inbox).map_err(io("empty", &inbox))?;
            match fs::remove_file(&sidecar) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => Err(io("remove", &sidecar)(why)),
                _ => Ok(()),
            }
        })?;
        let report = inbox.join(format!("{}.iter-{iteration}.md", self.id()));
        let brief = self.brief(seen, life, iteration, errand, &report)?;
        let (base, at) = (base_of(seen, life).clone(), self.repo.host().clock.now());
        self.record(Entry::Sent { life: life.start.clone(), iteration, errand, base, at })?;
        let logs = self.journal.logs();
        fs::create_dir_all(&logs).map_err(io("make", &logs))?;
        let log = logs.join(format!("worker-{}.log", self.journal.entries().len()));
        let limits = &self.terms.settings.limits;
        let sessions = Sessions::of(&self.repo.own_dir(), self.id()).map_err(|why| self.inconsistent(why))?;
        let question = Question {
            agent: &agent,
            role: Role::Worker,
            hosts: &self.terms.settings.sandbox.allow_hosts,
            confined: self.terms.confined(),
            brief: brief.as_bytes(),
            room: &self.worktree(),
            sessions: Some(&sessions),
            report: Some(&report),
            wall: Duration::from_secs(self.worker_wall(life)),
            idle: limits.agent_idle(),
            retries: Retries { most: limits.agent_retries, pause: Duration::from_secs(limits.agent_pause_seconds) },
            log_bytes: limits.log_bytes,
            log: &log,
        };
        let reply = ask(self.repo.host(), &question);
        if reply.ending == Ending::Cancelled {
            return Err(WorkError::Interrupted);
        }
        self.spend(Spent::of(Some(&reply.record.usage), reply.took.as_secs()))?;
        let (code, how) = match reply.heard() {
            Ok(_) => (reply.ending.code(), reply.ending.sentence()),
            Err(silence) => (silence.code, silence.why),
        };
        self.collect(iteration, &reply.answer, (code, &how))
    }

    fn brief(
        &self,
        seen: &Seen,
        life: &Life,
        iteration: u32,
        errand: Errand,
        report: &Path,
    ) -> Result<String, WorkError> {
        let reasons: Vec<String> =
            seen.standing.decision.iter().flat_map(|decision| &decision.reasons).map(told).collect();
        let met = seen.standing.progress.before_merge.clone().unwrap_or_default();
        let tip = seen.standing.progress.merged_from.as_ref().map(ToString::to_string).unwrap_or_default();
        let occasion = match errand {
            Errand::Do => Occasion::Begin,
            Errand::Mend => Occasion::Mend(&reasons),
            Errand::Repeat => Occasion::Report,
            Errand::Resolve => Occasion::Resolve { paths: &met.0, with: &met.1, tip: &tip },
        };
        let around = surroundings::read(&self.repo, self.terms, &self.subject, life)?;
        let worktree = self.worktree();
        let decided = declined::for_worker(&self.repo, self.id(), &self.repo.tree_of(base_of(seen, life))?)?;
        let mission = Mission {
            task: &life.task,
            worktree: &worktree,
            report,
            iteration,
            form: if self.terms.keeper == crate::config::Bookkeeper::Worker { Generation::A } else { Generation::E },
            occasion,
            decided: &decided,
            pages: &around.pages,
            recent: &around.recent,
        };
        Ok(redact::redact_text(&mission.brief()))
    }

    /// Takes in what a worker left and what it said, and keeps a copy where the peer's tools look for it.
    pub(super) fn collect(&mut self, iteration: u32, said: &[u8], (code, how): (&str, &str)) -> Result<(), WorkError> {
        let place = self.journal.inbox().join(format!("{}.iter-{iteration}.md", self.id()));
        let left = outbox::read_left_report(&place);
        let refused = left.as_ref().err().map(|why| format!("{}: {why}", place.display()));
        let left = left.ok().flatten();
        let mut candidates: Vec<Candidate<'_>> = Vec::new();
        if let Some(bytes) = &left {
            candidates.push(Candidate { source: Source::Sidecar, text: bytes });
        }
        candidates.push(Candidate { source: Source::Transcript, text: said });
        let at = self.repo.host().clock.now();
        let code = code.to_owned();
        let picked = pick_report(&candidates, Some(self.id()));
        let entry = match picked {
            Ok(picked) => {
                let text = if picked.source == Source::Sidecar { left.as_deref().unwrap_or_default() } else { said };
                let sidecar = self.sidecar(iteration)?;
                self.effect(|| write_whole(&sidecar, text))?;
                let outcome = match picked.report.outcome {
                    Outcome::Success => ReportedOutcome::Success,
                    Outcome::Bounced => ReportedOutcome::Bounced,
                    Outcome::Failed => ReportedOutcome::Failed,
                };
                let why = redact::redact_text(&picked.report.explanation().unwrap_or_default());
                Entry::Returned { outcome, source: Some(picked.source), ending: code, why, at }
            }
            Err(none) => {
                let why = format!("the worker: {how}; {}{none}", refused.map(|why| why + "; ").unwrap_or_default());
                Entry::Returned { outcome: ReportedOutcome::None, source: None, ending: code, why, at }
            }
        };
        self.record(entry)
    }

    pub(super) fn sidecar(&self, iteration: u32) -> Result<PathBuf, WorkError> {
        let number = NonZeroU32::new(iteration).unwrap_or(NonZeroU32::MIN);
        let name = sidecar_name(self.id(), number).map_err(|why| self.inconsistent(why.to_string()))?;
        Ok(self.terms.top.join(name))
    }
}

/// Writes a file so that it is there whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WorkError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(io("make", folder))?;
    let draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder).map_err(io("write in", folder))?;
    fs::write(draft.path(), bytes).map_err(io("write", draft.path()))?;
    draft.persist(path).map_err(|why| io("write", path)(why.error))?;
    Ok(())
}
