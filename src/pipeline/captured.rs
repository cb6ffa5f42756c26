//! The worker's report against its captured tool calls: the check `receipts`, before anybody is asked.

use super::asking::Asked;
use super::judge::Run;
use super::{CallsWord, VerifyError, VerifyRequest};
use crate::agent::Sessions;
use crate::agent::transcript::{
    Found, Transcript, TranscriptError, database_with, files_of_session, find_by_id, read_session, read_transcript,
    transcript_folders,
};
use crate::claim::Claim;
use crate::claim::witness::{Scene, look};
use crate::floor::reconcile::{Evidence, Rerun, RerunOf, reconcile};
use crate::floor::{self, ReportState, tests_run};
use crate::host::digest::digest;
use crate::host::env::Env;
use crate::receipts::{CaseResult, CheckReport, Fact, Purpose, State};
use crate::task::Proof;
use crate::worker::assertions::{claimed, gathered, implicit};
use crate::worker::{Assertion, Outcome, Report};
use std::path::Path;

/// The worker's tool calls, or why there are none.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) transcript: Option<Transcript>,
    /// Why calls that should be there cannot be read; empty if nothing is wrong.
    pub(super) doubt: String,
    /// SHA-256 of what was read.
    pub(super) digest: String,
}

impl Calls {
    fn of(transcript: Option<Transcript>, doubt: String) -> Self {
        let seen = transcript.as_ref().map(|read| (&read.events, &read.gaps, &read.damaged));
        let digest = digest(&serde_json::to_vec(&(seen, &doubt)).unwrap_or_default());
        Self { transcript, doubt, digest }
    }
}

/// Reads the calls. A file that the user named must be readable; a session that a worker had every chance to spoil leaves
/// its assertions to what is there.
pub(super) fn read(request: &VerifyRequest, asked: &Asked) -> Result<Calls, VerifyError> {
    match &request.calls {
        CallsWord::None => Ok(Calls::of(None, String::new())),
        CallsWord::File(file) => {
            let files = files_of_session(&request.start.join(file));
            Ok(Calls::of(Some(read_transcript(&files)?), String::new()))
        }
        CallsWord::OfTask => {
            let sessions = asked.task_id().and_then(|id| Sessions::of(&asked.repo.own_dir(), id).ok());
            let Some((session, home)) = sessions.and_then(|sessions| sessions.latest()) else {
                return Ok(Calls::of(None, String::new()));
            };
            Ok(match of_session(&home, &session) {
                Ok(transcript) => Calls::of(transcript, String::new()),
                Err(why) => Calls::of(None, format!("the worker's session cannot be read: {why}")),
            })
        }
    }
}

fn of_session(home: &Path, session: &str) -> Result<Option<Transcript>, TranscriptError> {
    let env = Env::of([("HOME", home)]);
    match find_by_id(&transcript_folders(&env), session) {
        Found::One(file) => read_transcript(&files_of_session(&file)).map(Some),
        Found::Several(_) => Ok(None),
        Found::Nothing => match database_with(&env, session)? {
            Some(database) => read_session(&database, session).map(Some),
            None => Ok(None),
        },
    }
}

impl Run<'_> {
    /// Holds what the report says in words against the calls, what is there now, and our own runs.
    pub(super) fn reconcile(&mut self, claim: &Claim) -> Result<(), VerifyError> {
        self.pause()?;
        let id = floor::receipts::ID;
        if self.is_denied() {
            let why = "a cheaper check already denies; --all-checks runs it all the same";
            return self.check(CheckReport::not_applicable(id, why));
        }
        let reported = self.reported;
        let ReportState::Read { report, .. } = &reported.state else {
            return self.check(CheckReport::not_applicable(id, "there is no report"));
        };
        if report.outcome != Outcome::Success {
            return self.check(CheckReport::not_applicable(id, "the report does not say that the work is done"));
        }
        if self.asked.commit.is_some() {
            let why = "a commit is judged: what its worker's worktree and session show is not looked for";
            return self.check(CheckReport::not_applicable(id, why));
        }
        self.recorder.begin("holding the report against the worker's tool calls");
        let calls = self.calls;
        let words = words(report);
        let kept = calls.transcript.is_some().then(|| implicit(false)).into_iter().flatten();
        let (assertions, left_out) = gathered(claimed::claimed(&words).into_iter().chain(kept));
        let mut table = {
            let repo = &self.asked.repo;
            let scene = Scene {
                repo,
                start: (&claim.base, &self.asked.base.rule),
                trees: (&claim.base_tree, &claim.tree),
                changed: &claim.changed,
                given_top: None,
                urls: None,
            };
            let witness = look(&scene, &assertions)?;
            let evidence = Evidence {
                transcript: calls.transcript.as_ref(),
                witness: &witness,
                reruns: &self.reruns(&assertions),
                contract: &[],
                claim: &words,
                test_commands: &self.test_commands(claim),
            };
            reconcile(&assertions, &evidence)
        };
        if left_out > 0 {
            table.notes.push(format!("{left_out} further assertions were not looked at"));
        }
        if !calls.doubt.is_empty() {
            table.notes.push(calls.doubt.clone());
        }
        let found = floor::receipts::inspect(&table);
        self.recorder.record(Fact::Reconciled(Box::new(table.without_secrets())))?;
        self.check(found)
    }

    /// Our own runs of this judgement, as receipts for what the report says of tests and commands.
    fn reruns(&self, assertions: &[Assertion]) -> Vec<Rerun> {
        let receipts = self.recorder.receipts();
        let mut reruns: Vec<Rerun> = receipts
            .iter()
            .filter_map(|receipt| match &receipt.fact {
                Fact::Proof(proof) => Some(proof),
                _ => None,
            })
            .filter_map(|proof| {
                let subject = match &proof.proof {
                    Proof::Test { name } => name.clone(),
                    Proof::Run { command } => command.clone(),
                    Proof::File { .. } => return None,
                };
                let (holds, observed) = (proof.on_claim, proof.observed.clone());
                Some(Rerun { of: RerunOf::Proof(subject), holds, observed, tests: None, weak: None })
            })
            .collect();
        if !assertions.is_empty() {
            reruns.extend(self.rerun_of_tests());
        }
        reruns
    }

    fn rerun_of_tests(&self) -> Option<Rerun> {
        let found = self.found(tests_run::ID)?;
        let holds = match found.state {
            State::Pass | State::Info => Some(true),
            State::Deny => Some(false),
            State::NotApplicable | State::Ask | State::Unknown => None,
        };
        let tree = self.recorder.receipts().iter().find_map(|receipt| match &receipt.fact {
            Fact::Claim(claim) => Some(&claim.tree),
            _ => None,
        })?;
        let commands: Vec<(u32, String)> = self
            .recorder
            .receipts()
            .iter()
            .filter_map(|receipt| match &receipt.fact {
                Fact::Command(run) if run.purpose == Purpose::Tests && run.tree == *tree => {
                    Some((receipt.id, format!("`{}` {}", run.command, run.ending.sentence())))
                }
                _ => None,
            })
            .collect();
        let listed = || {
            self.recorder.receipts().iter().filter_map(|receipt| match &receipt.fact {
                Fact::Tests(tests) if commands.iter().any(|(id, _)| *id == tests.command) => Some(tests),
                _ => None,
            })
        };
        let count = |fits: fn(CaseResult) -> bool| {
            listed().flat_map(|tests| &tests.cases).filter(|case| fits(case.result)).count() as u64
        };
        let passed = count(|result| result == CaseResult::Passed);
        let failed = count(|result| matches!(result, CaseResult::Failed | CaseResult::Errored));
        let said: Vec<&str> = commands.iter().map(|(_, said)| said.as_str()).collect();
        let tests = listed().next().is_some().then_some((passed, failed));
        let observed = if said.is_empty() { found.note.clone() } else { said.join(", ") };
        Some(Rerun { of: RerunOf::Tests, holds, observed, tests, weak: None })
    }

    /// The project's own test commands, as this judgement ran them.
    fn test_commands(&self, claim: &Claim) -> Vec<String> {
        let commands = self.recorder.receipts().iter().filter_map(|receipt| match &receipt.fact {
            Fact::Command(run) if run.purpose == Purpose::Tests && run.tree == claim.tree => Some(run.command.clone()),
            _ => None,
        });
        commands.collect()
    }
}

/// What the report says in words: its summary, its Outcome, and what stands in it loose. Lists and fields have checks of
/// their own.
fn words(report: &Report) -> String {
    let outcome = report.blocks.as_ref().map(|blocks| blocks.outcome.as_str());
    let loose = report.unread.join("\n");
    let parts = [report.summary.as_deref().unwrap_or_default(), outcome.unwrap_or_default(), &loose];
    parts.iter().filter(|part| !part.trim().is_empty()).copied().collect::<Vec<_>>().join("\n\n")
}
