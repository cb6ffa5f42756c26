//! Asking fresh eyes: once, and once more if the answer cannot be used.

use super::VerifyError;
use super::judge::Run;
use super::settings::Verifier;
use crate::agent::{Agent, Silence, locate};
use crate::claim::{Claim, text};
use crate::config::SandboxRequirement;
use crate::host::digest::digest;
use crate::host::git::EntryKind;
use crate::host::ids::CommitId;
use crate::host::path::RepoPath;
use crate::host::random::token;
use crate::host::redact::{redact, redact_log};
use crate::host::room::Room;
use crate::receipts::{ConsultedRecord, Fact, HeardRecord, ReportedOutcome, State, TaskRecord, WorkerNamed};
use crate::verdict::{self, EMBEDDED};
use crate::verifier::brief::{Brief, BriefInput, compose_brief};
use crate::verifier::consult::{ConsultInput, consult};
use crate::verifier::mechanical::{self, MechanicalAnswer};
use std::fs;

/// What every verifier of one judgement is told, and how many logs there are of it.
struct Told<'a> {
    commit: &'a CommitId,
    claim: &'a Claim,
    brief: &'a Brief,
    token: &'a str,
    logs: u32,
    /// Who could not answer, for the next one's record.
    instead_of: Option<String>,
}

impl Run<'_> {
    /// Asks the verifier, where there is a task and asking can change anything.
    pub(super) fn ask(&mut self, claim: &Claim) -> Result<(), VerifyError> {
        self.pause()?;
        if self.asked.task.is_none() {
            return Ok(());
        }
        if let Some(why) = self.needs_no_verifier() {
            self.recorder.record(Fact::Heard(HeardRecord::NotAsked { why }))?;
            return Ok(());
        }
        // Drawn after every check has ended: nothing that ran can have seen it.
        let token = token().map_err(|why| VerifyError::Io {
            doing: "draw randomness from",
            path: "/dev/urandom".into(),
            why,
        })?;
        self.recorder.record(Fact::Token { token: token.clone() })?;
        match &self.settled.verifier {
            Verifier::Mechanical => self.ask_mechanical(claim, &token),
            Verifier::Agent { agent, fallback, .. } => self.ask_agents(claim, &token, agent, fallback),
        }
    }

    /// Why a verifier would be wasted: the decision is made already.
    fn needs_no_verifier(&self) -> Option<String> {
        match self.reported.record.outcome {
            ReportedOutcome::Bounced => return Some("the worker gave the task back".to_owned()),
            ReportedOutcome::Failed => return Some("the worker says that it failed".to_owned()),
            ReportedOutcome::Success | ReportedOutcome::Unreadable | ReportedOutcome::None => {}
        }
        if self.is_denied() {
            return Some("the floor denies the claim; --all-checks asks all the same".to_owned());
        }
        if self.is_decision_record() {
            return Some("a decision task with exactly one ADR is skipped".to_owned());
        }
        let unknown = |fact: &Fact| matches!(fact, Fact::Check(check) if check.state == State::Unknown);
        if !self.request.all_checks && self.recorder.receipts().iter().any(|r| unknown(&r.fact)) {
            return Some("a check could not find out; --all-checks asks all the same".to_owned());
        }
        None
    }

    fn ask_mechanical(&mut self, claim: &Claim, token: &str) -> Result<(), VerifyError> {
        self.recorder.begin("reading the receipts (mechanical verifier)");
        let answer = mechanical::answer(self.recorder.receipts(), &self.case_key, token);
        let text = match &answer {
            MechanicalAnswer::Verdict(text) => text.clone().into_bytes(),
            MechanicalAnswer::Abstained(_) => Vec::new(),
        };
        self.recorder.record(Fact::Consulted(ConsultedRecord {
            verifier: EMBEDDED.to_owned(),
            resend: false,
            brief_digest: digest(b""),
            not_shown: Vec::new(),
            opened: Vec::new(),
            ending: None,
            answer_digest: digest(&text),
            trespasses: Vec::new(),
            bystanders: Vec::new(),
            level: None,
            agent: None,
            worker: None,
            instead_of: None,
            contacts: Vec::new(),
        }))?;
        let heard = match answer {
            MechanicalAnswer::Verdict(_) => {
                let heard = self.hear(&text, claim);
                self.sealed.answers.push(text);
                heard
            }
            MechanicalAnswer::Abstained(reasons) => HeardRecord::Abstained { reasons },
        };
        self.recorder.record(Fact::Heard(heard)).map(|_| ())
    }

    /// Asks the verifier, and where it could not answer at all, the next of the settings' list. An answer, whatever it is
    /// worth, is never asked for again elsewhere.
    fn ask_agents(&mut self, claim: &Claim, token: &str, first: &Agent, fallback: &[Agent]) -> Result<(), VerifyError> {
        let Some(commit) = &claim.commit else {
            let why = "the work was not made a commit, so there is nothing to show".to_owned();
            return self.recorder.record(Fact::Heard(HeardRecord::NotAsked { why })).map(|_| ());
        };
        let brief = self.brief(claim, token)?;
        self.sealed.brief = Some(brief.text.clone());
        // No test may have run before.
        let raw = self.recorder.folder().join("raw");
        fs::create_dir_all(&raw).map_err(|why| VerifyError::Io { doing: "make", path: raw, why })?;
        let mut told = Told { commit, claim, brief: &brief, token, logs: 0, instead_of: None };
        if !self.ask_agent(&mut told, first)? {
            return Ok(());
        }
        for agent in fallback {
            let mut agent = agent.clone();
            let repo = &self.asked.repo;
            if let Err(why) = locate(repo.host(), &mut agent, repo.top(), self.is_confined()) {
                self.recorder.begin(&format!("passing over {}: {why}", agent.name));
                continue;
            }
            if !self.ask_agent(&mut told, &agent)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_confined(&self) -> bool {
        self.settled.settings.sandbox.require != Some(SandboxRequirement::None)
    }

    /// Asks one agent, and once more if its answer cannot be used. True if it could not answer at all.
    fn ask_agent(&mut self, told: &mut Told<'_>, agent: &Agent) -> Result<bool, VerifyError> {
        let mut objections: Option<Vec<String>> = None;
        for round in 1..=2 {
            self.pause()?;
            let name = &agent.name;
            self.recorder.begin(&format!("asking {name}{}", if round == 1 { "" } else { " again" }));
            // Taken anew each time: whatever happened to the last one is reset.
            let room = Room::take(&self.asked.repo, told.commit)?;
            told.logs += 1;
            let log_name = format!("verifier-{}.log", told.logs);
            let log = self.recorder.folder().join("raw").join(&log_name);
            let watch = [self.recorder.folder().join("receipts.jsonl")];
            let consulted = consult(&ConsultInput {
                repo: &self.asked.repo,
                case: &self.case_key,
                agent,
                room: room.path(),
                brief: told.brief,
                token: told.token,
                resend: objections.as_deref(),
                limits: &self.settled.settings.limits,
                sandbox: self.settled.settings.sandbox.require,
                allow_hosts: &self.settled.settings.sandbox.allow_hosts,
                log: &log,
                watch: &watch,
            })?;
            self.pause()?;
            if let Ok(raw) = fs::read(&consulted.log.path) {
                self.sealed.logs.insert(log_name, redact_log(&raw).bytes);
            }
            let mut record = consulted.record;
            record.resend = round == 2;
            record.worker = self.worker_beside(agent);
            record.instead_of = told.instead_of.take();
            let name = record.verifier.clone();
            let travels = consulted.answer.as_ref().map(|answer| redact(answer).bytes).unwrap_or_default();
            record.answer_digest = digest(&travels);
            self.recorder.record(Fact::Consulted(record))?;
            let heard = match &consulted.answer {
                // What travels is what is heard: a record of the raw words would seal what the masking keeps out, and
                // could not be replayed.
                Ok(_) => self.hear(&travels, told.claim),
                Err(silence) => self.no_answer(silence),
            };
            self.sealed.answers.push(travels);
            self.recorder.record(Fact::Heard(heard.clone()))?;
            match (heard, &consulted.answer) {
                (HeardRecord::Unusable { detail, .. }, _) => objections = Some(detail),
                (HeardRecord::NoAnswer { .. }, Err(silence)) if silence.is_outage() => {
                    told.instead_of = Some(name);
                    return Ok(true);
                }
                _ => return Ok(false),
            }
        }
        Ok(false)
    }

    /// The worker of the settings, beside this verifier.
    fn worker_beside(&self, agent: &Agent) -> Option<WorkerNamed> {
        let Verifier::Agent { worker: Some(worker), .. } = &self.settled.verifier else { return None };
        Some(WorkerNamed { name: worker.name.clone(), same_model: worker.is_same_model_as(agent) })
    }

    /// A verifier without an answer; what it touched meanwhile is said first.
    fn no_answer(&self, silence: &Silence) -> HeardRecord {
        let trespasses = self.recorder.receipts().iter().rev().find_map(|r| match &r.fact {
            Fact::Consulted(consulted) => Some(consulted.trespasses.clone()),
            _ => None,
        });
        match trespasses.filter(|what| !what.is_empty()) {
            Some(what) => HeardRecord::Trespassed { what },
            None => HeardRecord::NoAnswer { code: silence.code.to_owned(), why: silence.why.clone() },
        }
    }

    fn hear(&self, answer: &[u8], claim: &Claim) -> HeardRecord {
        let repo = &self.asked.repo;
        let exists = |path: &RepoPath| {
            repo.entry(&claim.tree, path).ok().map(|e| e.is_some_and(|e| e.kind() != EntryKind::Folder))
        };
        verdict::hear(answer, self.recorder.receipts(), &exists)
    }

    fn brief(&self, claim: &Claim, token: &str) -> Result<Brief, VerifyError> {
        let limit = self.settled.settings.limits.brief_bytes;
        let changes = text::texts(&self.asked.repo, claim, limit)?;
        let receipts = self.recorder.receipts();
        let record: Option<&TaskRecord> =
            receipts.iter().find_map(|r| if let Fact::Task(task) = &r.fact { Some(task) } else { None });
        let (Some(task), Some(asked)) = (record, &self.asked.task) else {
            return Err(VerifyError::Internal { what: "a brief without a task".to_owned() });
        };
        Ok(compose_brief(&BriefInput {
            token,
            answer_id: &self.case_key,
            task_text: asked.task.text.as_bytes(),
            task,
            claim,
            receipts,
            changes: &changes,
            patch_bytes: limit,
        }))
    }
}
