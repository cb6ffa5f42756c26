//! The worker's report against its captured tool calls: the check `receipts`, before anybody is asked.

use super::asking::Asked;
use super::judge::Run;
use super::report::Reported;
use super::{CallsWord, VerifyError, VerifyRequest};
use crate::agent::Sessions;
use crate::agent::transcript::{Found, Transcript, files_of_session, find_kept, read_session, read_transcript};
use crate::claim::Claim;
use crate::claim::witness::{Scene, look};
use crate::floor::reconcile::{Evidence, Rerun, reconcile};
use crate::floor::{self, ReportState, tests_run};
use crate::host::digest::{digest, digest_of_all};
use crate::host::env::Env;
use crate::host::path::escape;
use crate::receipts::{CheckReport, CommandRecord, Fact, Purpose};
use crate::worker::assertions::{claimed, gathered, implicit};
use crate::worker::{Outcome, Report};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The worker's tool calls, or why there are none.
#[derive(Debug)]
pub(super) struct Calls {
    kept: Kept,
    /// SHA-256 of what they are read from, or of why they cannot be read.
    pub(super) digest: String,
}

/// Where they are.
#[derive(Debug)]
enum Kept {
    /// There are none, and nothing is wrong with that; or these.
    Read(Option<Box<Transcript>>),
    /// A session that `work` remembers, read once it is needed.
    Session { home: PathBuf, session: String },
}

/// Finds the calls, and reads what the key of a judgement needs of them. A file that the user named must be readable. A
/// session that `work` remembers is only looked at where a report would be held against it.
pub(super) fn read(request: &VerifyRequest, asked: &Asked, reported: &Reported) -> Result<Calls, VerifyError> {
    let none = || Calls { kept: Kept::Read(None), digest: digest(b"") };
    match &request.calls {
        CallsWord::None => Ok(none()),
        CallsWord::File(file) => {
            let read = read_transcript(&files_of_session(&request.start.join(file)))?;
            let seen = (&read.events, &read.gaps, &read.damaged);
            let digest = digest(&serde_json::to_vec(&seen).unwrap_or_default());
            Ok(Calls { kept: Kept::Read(Some(Box::new(read))), digest })
        }
        CallsWord::OfTask if asked.commit.is_some() || !says_done(&reported.state) => Ok(none()),
        CallsWord::OfTask => {
            let sessions = asked.task_id().and_then(|id| Sessions::of(&asked.repo.own_dir(), id).ok());
            let Some((session, home)) = sessions.and_then(|sessions| sessions.latest()) else { return Ok(none()) };
            let digest = digest_of(&home, &session).unwrap_or_else(|why| digest(why.as_bytes()));
            Ok(Calls { kept: Kept::Session { home, session }, digest })
        }
    }
}

fn says_done(report: &ReportState) -> bool {
    matches!(report, ReportState::Read { report, .. } if report.outcome == Outcome::Success)
}

impl Calls {
    /// The calls, and why calls that should be there cannot be read (empty if nothing is wrong). A remembered session was
    /// kept where its worker can write: one that is gone or spoilt refutes nothing, and what it would have shown is in doubt.
    fn open(&self) -> (Option<Cow<'_, Transcript>>, String) {
        let (home, session) = match &self.kept {
            Kept::Read(transcript) => return (transcript.as_deref().map(Cow::Borrowed), String::new()),
            Kept::Session { home, session } => (home, session),
        };
        let read = of_session(home, session).and_then(|transcript| {
            let same = digest_of(home, session)? == self.digest;
            if same { Ok(transcript) } else { Err("it was written to while it was judged".to_owned()) }
        });
        match read {
            Ok(transcript) => (Some(Cow::Owned(transcript)), String::new()),
            Err(why) => {
                let session = escape(session.as_bytes());
                (None, format!("the tool calls of the worker's session {session} cannot be read: {why}"))
            }
        }
    }
}

fn file_of(home: &Path, session: &str) -> Result<PathBuf, String> {
    match find_kept(&Env::of([("HOME", home)]), session).map_err(|why| why.to_string())? {
        Found::One(file) => Ok(file),
        Found::Several(files) => Err(format!("{} transcripts in its home fit", files.len())),
        Found::Nothing => Err("no transcript of it lies in its home".to_owned()),
    }
}

fn of_session(home: &Path, session: &str) -> Result<Transcript, String> {
    read_session(&file_of(home, session)?, session).map_err(|why| why.to_string())
}

/// SHA-256 of the bytes of a session's files, and of what its database has not taken over yet.
fn digest_of(home: &Path, session: &str) -> Result<String, String> {
    let main = file_of(home, session)?;
    let mut files = files_of_session(&main);
    let mut log = main.into_os_string();
    log.push("-wal");
    files.extend(Some(PathBuf::from(log)).filter(|log| log.is_file()));
    let mut digests = String::new();
    for file in files {
        let found = File::open(&file).and_then(digest_of_all);
        let found = found.map_err(|why| format!("{}: {why}", escape(file.as_os_str().as_encoded_bytes())))?;
        digests.push_str(&found);
    }
    Ok(digest(digests.as_bytes()))
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
        let (transcript, doubt) = self.calls.open();
        let words = words(report);
        let kept = transcript.is_some().then(|| implicit(false)).into_iter().flatten();
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
                transcript: transcript.as_deref(),
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
        if !doubt.is_empty() {
            table.notes.push(doubt.clone());
        }
        let found = floor::receipts::inspect(&table, &doubt);
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
