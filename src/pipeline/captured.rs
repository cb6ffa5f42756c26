//! The worker's report against its captured tool calls: the check `receipts`, before anybody is asked.

use super::asking::Asked;
use super::judge::Run;
use super::{CallsWord, VerifyError, VerifyRequest};
use crate::agent::Sessions;
use crate::agent::transcript::{Found, Transcript, files_of_session, find_kept, read_session, read_transcript};
use crate::claim::Claim;
use crate::claim::witness::{Scene, look};
use crate::floor::reconcile::{Evidence, Rerun, reconcile};
use crate::floor::{self, ReportState, tests_run};
use crate::host::digest::digest;
use crate::host::env::Env;
use crate::host::path::escape;
use crate::receipts::{CheckReport, CommandRecord, Fact, Purpose};
use crate::worker::assertions::{claimed, gathered, implicit};
use crate::worker::{Outcome, Report};
use std::collections::BTreeMap;
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

/// Reads the calls. A file that the user named must be readable. A session that `work` remembers was kept where its worker
/// can write: one that is gone or spoilt refutes nothing, and what it would have shown is in doubt.
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
                Ok(transcript) => Calls::of(Some(transcript), String::new()),
                Err(why) => {
                    let session = escape(session.as_bytes());
                    Calls::of(None, format!("the tool calls of the worker's session {session} cannot be read: {why}"))
                }
            })
        }
    }
}

fn of_session(home: &Path, session: &str) -> Result<Transcript, String> {
    match find_kept(&Env::of([("HOME", home)]), session).map_err(|why| why.to_string())? {
        Found::One(file) => read_session(&file, session).map_err(|why| why.to_string()),
        Found::Several(files) => Err(format!("{} transcripts in its home fit", files.len())),
        Found::Nothing => Err("no transcript of it lies in its home".to_owned()),
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
            let (reruns, test_commands) = self.own_runs(claim);
            let evidence = Evidence {
                transcript: calls.transcript.as_ref(),
                witness: &witness,
                reruns: &reruns,
                contract: &[],
                claim: &words,
                test_commands: &test_commands,
            };
            reconcile(&assertions, &evidence)
        };
        if left_out > 0 {
            table.notes.push(format!("{left_out} further assertions were not looked at"));
        }
        if !calls.doubt.is_empty() {
            table.notes.push(calls.doubt.clone());
        }
        let found = floor::receipts::inspect(&table, &calls.doubt);
        self.recorder.record(Fact::Reconciled(Box::new(table.without_secrets())))?;
        self.check(found)
    }

    /// Our own runs of this judgement, as receipts for what the report says of tests and commands, and the project's test
    /// commands among them.
    fn own_runs(&self, claim: &Claim) -> (Vec<Rerun>, Vec<String>) {
        let receipts = self.recorder.receipts();
        let proofs = receipts.iter().filter_map(|receipt| match &receipt.fact {
            Fact::Proof(proof) => Rerun::of_proof(proof),
            _ => None,
        });
        let runs: BTreeMap<u32, &CommandRecord> = receipts
            .iter()
            .filter_map(|receipt| match &receipt.fact {
                Fact::Command(run) if run.purpose == Purpose::Tests && run.tree == claim.tree => {
                    Some((receipt.id, run))
                }
                _ => None,
            })
            .collect();
        let told = receipts.iter().filter_map(|receipt| match &receipt.fact {
            Fact::Tests(tests) if runs.contains_key(&tests.command) => Some(tests),
            _ => None,
        });
        let added = receipts.iter().rev().find_map(|receipt| match &receipt.fact {
            Fact::Bites(bites) if bites.tree == claim.tree => Some(bites.tests.len() as u64),
            _ => None,
        });
        let tests = self.found(tests_run::ID).map(|found| {
            let rerun = Rerun::of_tests(found, runs.values().copied(), told);
            Rerun { added, ..rerun }
        });
        let commands = runs.values().map(|run| run.command.clone()).collect();
        (proofs.chain(tests).collect(), commands)
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
