//! Reconciliation from request to answer: settle the start, read the transcript, take the claim apart, look, run again if
//! asked, hold everything against everything, and count the repairs.

mod memory;
mod rerun;
mod start;

pub(super) use memory::{forget_repair, session_file};
pub use memory::{keep_repair, last_repair};

use super::asking::{self, Asked};
use super::settings::{Settled, settle_settings};
use super::starting::{SessionStart, started};
use super::{Observer, TaskWord, VerifyError, VerifyRequest};
use crate::agent::transcript::{Transcript, files_of_session, read_session, read_transcript};
use crate::claim::witness::{Scene, look};
use crate::claim::{Claim, Frozen, Sighting, freeze_worktree};
use crate::floor::reconcile::{Evidence, repair};
use crate::floor::{Inspection, ReportState, reconcile as held, tamper, tests_tampered};
use crate::host::Host;
use crate::host::digest::digest;
use crate::host::git::Repo;
use crate::receipts::{CheckReport, Finding, Reconciled, State, TamperedRepair};
use crate::task::Task;
use crate::worker::assertions::{asked, claimed, gathered, given, implicit};
use crate::worker::{Assertion, AssertionKind, Expected};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much of a claim is read.
const LARGEST_CLAIM: u64 = 1 << 20;

/// Said where a push is looked at without a record of the session's start.
const UNRECORDED: &str = "no hook recorded the remotes when the session began: their addresses are today's";

/// What to reconcile.
#[derive(Debug, Clone)]
pub struct ReconcileRequest {
    /// The folder the user is in.
    pub start: PathBuf,
    /// The session's own transcript file.
    pub transcript: Option<PathBuf>,
    /// A session's id, to be found where agent programs keep their transcripts.
    pub session: Option<String>,
    /// The worker's words; the transcript's last ones if absent.
    pub claim: Option<ClaimWord>,
    /// A task whose criteria are asserted, claimed or not.
    pub task: Option<String>,
    /// What the work is measured against.
    pub since: Option<String>,
    /// A file of further assertions.
    pub assertions: Option<PathBuf>,
    /// True: run the tests and the criteria's commands anew, in a room of our own.
    pub rerun: bool,
    /// True: count repairs in the repository's own folder, by the session's id.
    pub count_repairs: bool,
    /// A session whose calls the caller has read; then `transcript` and `session` are not looked at.
    pub captured: Option<Captured>,
}

/// A session as its host or its conductor knows it.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Its id.
    pub session: String,
    /// Its tool calls; none if none were kept.
    pub transcript: Option<Transcript>,
}

/// Where the worker's words are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimWord {
    /// These.
    Text(String),
    /// In a file if there is one of this name, else these.
    TextOrFile(String),
}

impl ReconcileRequest {
    /// A request about the folder and nothing else.
    pub fn of(start: &Path) -> Self {
        Self {
            start: start.to_owned(),
            transcript: None,
            session: None,
            claim: None,
            task: None,
            since: None,
            assertions: None,
            rerun: false,
            count_repairs: false,
            captured: None,
        }
    }

    fn as_verify(&self, since: Option<String>) -> VerifyRequest {
        VerifyRequest {
            task: self.task.clone().map_or(TaskWord::None, TaskWord::Named),
            base: since,
            ..VerifyRequest::of(&self.start)
        }
    }
}

/// Reconciles one claim.
///
/// # Errors
/// See [`VerifyError`]: there is no answer then, and nothing is said about the worker. What could not be found out about
/// one assertion is part of the answer.
pub fn reconcile(request: &ReconcileRequest, host: &Host, watch: &mut dyn Observer) -> Result<Reconciled, VerifyError> {
    let read = match (&request.captured, start::transcript_of(request, host)?) {
        (None, Some(file)) => {
            watch.began("reading the transcript");
            Some(match &request.session {
                Some(id) => read_session(&file, id)?,
                None => read_transcript(&files_of_session(&file))?,
            })
        }
        _ => None,
    };
    let transcript = request.captured.as_ref().map_or(read.as_ref(), |captured| captured.transcript.as_ref());
    let words = claim_of(request, transcript)?;
    let session = request.captured.as_ref().map(|captured| captured.session.as_str());
    let session = session.or_else(|| transcript?.session.as_deref());
    let began = match session {
        Some(session) => started(&Repo::discover(host, &request.start)?, session)?,
        None => None,
    };
    let since = start::since(request, host, (transcript, began.as_ref()))?;
    let verify = request.as_verify(since.as_ref().map(|(commit, _)| commit.clone()));
    let mut asked = asking::settle(&verify, host)?;
    if let Some((_, rule)) = since {
        asked.base.rule = rule;
    }
    let settled = settle_settings(&verify, &asked.repo, &asked.base_tree)?;
    watch.began("looking at what is there now");
    let frozen = freeze_worktree(&asked.repo, &asked.base.commit)?;
    let about = About { request, asked: &asked, settled: &settled, transcript, words: &words, began: began.as_ref() };
    let (assertions, left_out) = about.assertions(&frozen)?;
    let (mut table, contract, guarded) = about.hold(&assertions, frozen, watch)?;
    if left_out > 0 {
        table.notes.push(format!("{left_out} further assertions were not looked at"));
    }
    if began.is_none() && assertions.iter().any(|a| a.kind == AssertionKind::BranchPushed) {
        table.notes.push(UNRECORDED.to_owned());
    }
    if let Some(session) = session.filter(|_| request.count_repairs) {
        let seen = seen(&table, transcript, &words);
        let before = last_repair(&asked.repo, session)?;
        let (weakened, others) = bent_tests(&contract);
        let state = repair::advance(before.as_ref(), &table, &seen, &guarded, &weakened);
        keep_repair(&asked.repo, session, &state)?;
        repair::lower(&mut table, state, before.as_ref(), &guarded, &others);
    }
    Ok(table)
}

/// What one reconciliation looked at: the tree, the calls and the words.
fn seen(table: &Reconciled, transcript: Option<&Transcript>, words: &str) -> String {
    let calls = transcript.map_or(0, |transcript| transcript.events.len());
    digest(format!("{}\n{calls}\n{words}", table.start.now).as_bytes())
}

/// Tests that ask for less than at the start, and those that ask for something else, as the floor found them.
fn bent_tests(contract: &[CheckReport]) -> (Vec<TamperedRepair>, Vec<TamperedRepair>) {
    let tests = contract.iter().filter(|check| check.id == tests_tampered::ID);
    let found = tests.flat_map(|check| &check.findings).filter(|finding| finding.state >= State::Ask);
    let (less, other): (Vec<_>, Vec<_>) =
        found.partition(|finding| finding.state == State::Deny || repair::asks_for_less(&finding.observed));
    let told =
        |finding: &Finding| TamperedRepair { path: path_of(&finding.place).to_owned(), why: finding.observed.clone() };
    (less.into_iter().map(told).collect(), other.into_iter().map(told).collect())
}

/// A place without its line.
fn path_of(place: &str) -> &str {
    match place.rsplit_once(':') {
        Some((path, line)) if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) => path,
        _ => place,
    }
}

fn claim_of(request: &ReconcileRequest, transcript: Option<&Transcript>) -> Result<String, VerifyError> {
    match &request.claim {
        Some(ClaimWord::Text(text)) => Ok(text.clone()),
        Some(ClaimWord::TextOrFile(word)) => {
            let file = request.start.join(word);
            if word.is_empty() || word.contains('\n') || !file.is_file() {
                return Ok(word.clone());
            }
            let bytes = read_small(&file, LARGEST_CLAIM, "read the claim in")?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        None => {
            let words = transcript.and_then(|transcript| transcript.last_words.clone());
            let asserted = request.task.is_some() || request.assertions.is_some() || transcript.is_some();
            if words.is_none() && !asserted {
                return Err(VerifyError::NothingClaimed);
            }
            Ok(words.unwrap_or_default())
        }
    }
}

fn read_small(file: &Path, most: u64, doing: &'static str) -> Result<Vec<u8>, VerifyError> {
    let failed = |why| VerifyError::Io { doing, path: file.to_owned(), why };
    let mut bytes = Vec::new();
    File::open(file).map_err(failed)?.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(failed(std::io::Error::other(format!("it has more than {most} bytes"))));
    }
    Ok(bytes)
}

/// Everything that was settled before the work was looked at.
struct About<'a> {
    request: &'a ReconcileRequest,
    asked: &'a Asked,
    settled: &'a Settled,
    transcript: Option<&'a Transcript>,
    words: &'a str,
    began: Option<&'a SessionStart>,
}

impl About<'_> {
    fn task(&self) -> Option<&Task> {
        self.asked.task.as_ref().map(|asked| &asked.task)
    }

    /// The assertions of all five sources.
    fn assertions(&self, frozen: &Frozen) -> Result<(Vec<Assertion>, usize), VerifyError> {
        let mut all = self.task().map_or_else(Vec::new, |task| asked::of_criteria(&task.criteria()));
        all.extend(claimed::claimed(self.words));
        all.extend(self.goal(!frozen.changed.is_empty()));
        if let Some(file) = &self.request.assertions {
            let file = self.request.start.join(file);
            let bytes = read_small(&file, given::LARGEST, "read the assertions in")?;
            all.extend(given::read_given(&bytes, &file.display().to_string())?);
        }
        let about_a_change = all.iter().any(|assertion| assertion.kind.is_about_a_change());
        all.extend(implicit(about_a_change || self.task().is_some() || !frozen.changed.is_empty()));
        Ok(gathered(all))
    }

    /// A question that wants a reason, where only a change was delivered.
    fn goal(&self, changed: bool) -> Option<Assertion> {
        let asked_by_task = self.task().and_then(|task| asked::of_goal(task.display_title()));
        let asked_by_person = || asked::of_goal(self.transcript?.asked.as_deref()?);
        let mut goal = asked_by_task.or_else(asked_by_person).filter(|_| changed)?;
        goal.expected = Expected { only: asked::cited(self.words), ..Expected::default() };
        Some(goal)
    }

    fn inspection<'i>(
        &'i self,
        claim: &'i Claim,
        sightings: &'i [Sighting],
        report: &'i ReportState,
    ) -> Inspection<'i> {
        let task = self.asked.task.as_ref();
        Inspection {
            repo: &self.asked.repo,
            settings: &self.settled.settings,
            claim,
            sightings,
            worktree: Some(self.asked.repo.top()),
            task: task.map(|task| &task.task),
            task_path: task.and_then(|task| task.path.as_ref()),
            layout: self.asked.layout,
            report,
            removals: &[],
        }
    }

    /// Holds the assertions against everything. Also gives what guards a repair.
    fn hold(
        &self,
        assertions: &[Assertion],
        frozen: Frozen,
        watch: &mut dyn Observer,
    ) -> Result<(Reconciled, Vec<CheckReport>, repair::Guarded), VerifyError> {
        let repo = &self.asked.repo;
        let report = ReportState::None { why: "a session is reconciled by its words".to_owned() };
        let sightings = frozen.sightings.clone();
        let preview = frozen.preview();
        let inspection = self.inspection(&preview, &sightings, &report);
        let contract = vec![tests_tampered::inspect(&inspection), tamper::inspect(&inspection)];
        let scene = Scene {
            repo,
            start: (&preview.base, &self.asked.base.rule),
            trees: (&preview.base_tree, &preview.tree),
            changed: &preview.changed,
            given_top: Some(self.request.start.clone()).filter(|start| start.join(".git").exists()),
            urls: self.began.map(|began| &began.remotes[..]),
        };
        let witness = look(&scene, assertions)?;
        let guarded = guarded(&inspection, &contract)?;
        let ran = rerun::run(self, assertions, (frozen, &sightings, &report), watch)?;
        let evidence = Evidence {
            transcript: self.transcript,
            witness: &witness,
            reruns: &ran.reruns,
            contract: &contract,
            claim: self.words,
            test_commands: &ran.commands,
        };
        let mut table = held::reconcile(assertions, &evidence);
        table.notes.extend(ran.notes);
        Ok((table, contract, guarded))
    }
}

/// The contract's and the doubted tests' contents now.
fn guarded(on: &Inspection<'_>, contract: &[CheckReport]) -> Result<repair::Guarded, VerifyError> {
    let mut guarded = repair::Guarded::new();
    let task = on.task_path.map(ToString::to_string);
    for path in task.into_iter().chain([crate::config::PROJECT_FILE.to_owned()]) {
        if let Some(entry) = on.repo.entry(&on.claim.tree, &path.as_str().into())? {
            guarded.insert(format!("{}{path}", repair::CONTRACT), entry.id);
        }
    }
    let (less, other) = bent_tests(contract);
    for test in less.into_iter().chain(other) {
        if let Some(entry) = on.repo.entry(&on.claim.tree, &test.path.as_str().into())? {
            guarded.insert(test.path, entry.id);
        }
    }
    Ok(guarded)
}

/// True if a run of our own could tell about one of these.
fn wants_runs(assertions: &[Assertion]) -> bool {
    assertions.iter().any(|a| matches!(a.kind, AssertionKind::TestGreen | AssertionKind::CommandRan))
}
