//! One consultation: watch, ask, watch again, record.

use super::brief::Brief;
use super::fence::Fence;
use super::watch::{Watch, Watched};
use crate::agent::{Agent, AgentKind, AgentRecord, AgentReply, Question, Retries, Role, Silence, ask};
use crate::config::{LimitSettings, SandboxRequirement};
use crate::host::digest::digest;
use crate::host::git::{GitError, Repo};
use crate::host::path::RepoPath;
use crate::host::process::LogFile;
use crate::host::redact::redact;
use crate::host::sandbox::Endpoint;
use crate::receipts::ConsultedRecord;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Whom to ask what.
#[derive(Debug, Clone, Copy)]
pub struct ConsultInput<'a> {
    /// The repository; its host runs the program.
    pub repo: &'a Repo,
    /// The case key.
    pub case: &'a str,
    /// The verifier; a known program must have been located.
    pub agent: &'a Agent,
    /// A room that holds the claim's tree.
    pub room: &'a Path,
    /// The brief.
    pub brief: &'a Brief,
    /// The claim's token; a resend keeps it.
    pub token: &'a str,
    /// What was wrong with the last answer; `None` the first time.
    pub resend: Option<&'a [String]>,
    /// Times and sizes.
    pub limits: &'a LimitSettings,
    /// `sandbox.require`.
    pub sandbox: Option<SandboxRequirement>,
    /// `sandbox.allow-hosts`.
    pub allow_hosts: &'a [Endpoint],
    /// Where the program's output is kept, as it came: not for travelling.
    pub log: &'a Path,
    /// Files beside the repository that nobody may change meanwhile: the running ledger.
    pub watch: &'a [PathBuf],
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Consulted {
    /// For the ledger. Any entry in its `trespasses` voids the answer, whatever it is.
    pub record: ConsultedRecord,
    /// The answer as it came (not redacted), or why there is none.
    pub answer: Result<Vec<u8>, Silence>,
    /// The program's output on disk.
    pub log: LogFile,
}

/// Asks a verifier once. The caller decides whether an unusable answer is worth the one resend.
///
/// # Errors
/// Git cannot say how things are before the verifier runs. Everything later is part of the result.
pub fn consult(input: &ConsultInput<'_>) -> Result<Consulted, GitError> {
    let watched = Watched { repo: input.repo, room: input.room, case: input.case, also: input.watch };
    let text = told(input);
    let watch = Watch::before(&watched)?;
    let reply = ask(input.repo.host(), &question(input, text.as_bytes()));
    let found = watch.after(&watched, reply.level.enforced);
    let answer = heard(input, &reply);
    let record = ConsultedRecord {
        verifier: verifier_name(input),
        resend: input.resend.is_some(),
        brief_digest: digest(text.as_bytes()),
        not_shown: input.brief.not_shown.clone(),
        opened: opened(input, &reply.opened),
        ending: Some(reply.ending),
        answer_digest: digest(&reply.answer),
        trespasses: found.trespasses,
        bystanders: found.bystanders,
        level: Some(reply.level),
        agent: Some(Box::new(redacted(reply.record))),
        worker: None,
        instead_of: None,
        contacts: reply.contacts,
    };
    Ok(Consulted { record, answer, log: reply.log })
}

fn question<'a>(input: &ConsultInput<'a>, brief: &'a [u8]) -> Question<'a> {
    Question {
        agent: input.agent,
        role: Role::Verifier,
        hosts: input.allow_hosts,
        confined: input.sandbox != Some(SandboxRequirement::None),
        brief,
        room: input.room,
        sessions: None,
        report: None,
        wall: Duration::from_secs(input.limits.verifier_seconds),
        idle: input.limits.agent_idle(),
        retries: Retries {
            most: input.limits.agent_retries,
            pause: Duration::from_secs(input.limits.agent_pause_seconds),
        },
        log_bytes: input.limits.log_bytes,
        log: input.log,
    }
}

fn heard(input: &ConsultInput<'_>, reply: &AgentReply) -> Result<Vec<u8>, Silence> {
    let answer = reply.heard()?;
    if input.sandbox == Some(SandboxRequirement::Landlock) && !reply.level.enforced {
        let level = reply.level.sentence();
        let why = format!("the settings require a sandbox (sandbox.require: landlock), but it was not closed: {level}");
        return Err(Silence { code: "box-open", why });
    }
    if answer.is_empty()
        && matches!(input.agent.kind, AgentKind::Command(_))
        && holds_a_verdict(reply.log.path.as_path())
    {
        let why = "the verifier wrote its verdict to standard error; its answer belongs on standard output";
        return Err(Silence { code: "only-on-stderr", why: why.to_owned() });
    }
    Ok(answer.to_vec())
}

/// Asking again would not help a program that answers on the wrong output.
fn holds_a_verdict(log: &Path) -> bool {
    let text = std::fs::read(log).unwrap_or_default();
    text.split(|b| *b == b'\n').any(|line| line.starts_with(b"VERDICT:"))
}

/// The brief, and for a resend what was wrong with the last answer. Objections can quote that answer: they are data.
fn told(input: &ConsultInput<'_>) -> String {
    let mut text = input.brief.text.clone();
    if let Some(objections) = input.resend {
        let mut listed = String::new();
        for objection in objections {
            let _ = writeln!(listed, "- {}", objection.replace(['\n', '\r'], " "));
        }
        text.push_str("\n# Your last answer could not be used\n\n");
        text.push_str(&Fence::of(input.token).block("objections", listed.as_bytes()));
        text.push_str("\nJudge again from the brief above, then answer in the form it describes. This is the last time you are asked.\n");
    }
    text
}

fn verifier_name(input: &ConsultInput<'_>) -> String {
    match &input.agent.model {
        Some(model) => format!("{} ({model})", input.agent.name),
        None => input.agent.name.clone(),
    }
}

/// Of the files that the brief did not show, those it read as a whole. It may have named them from the top of the room or
/// from the top of the machine.
fn opened(input: &ConsultInput<'_>, named: &[String]) -> Vec<RepoPath> {
    let room = input.room.canonicalize().unwrap_or_else(|_| input.room.to_owned());
    let inside = |named: &String| {
        let path = Path::new(named);
        let path = path.strip_prefix(&room).or_else(|_| path.strip_prefix(input.room)).unwrap_or(path);
        let path = path.strip_prefix(".").unwrap_or(path);
        RepoPath::from_bytes(path.as_os_str().as_encoded_bytes())
    };
    let read: Vec<RepoPath> = named.iter().map(inside).collect();
    input.brief.not_shown.iter().filter(|path| read.contains(path)).cloned().collect()
}

/// What travels is masked: a tool's input can hold anything.
fn redacted(mut record: AgentRecord) -> AgentRecord {
    let mask = |text: &mut String| *text = String::from_utf8_lossy(&redact(text.as_bytes()).bytes).into_owned();
    record.tools.iter_mut().for_each(|call| mask(&mut call.input));
    record.notes.iter_mut().for_each(mask);
    if let crate::agent::Resumed::Failed { why } = &mut record.resumed {
        mask(why);
    }
    record
}
