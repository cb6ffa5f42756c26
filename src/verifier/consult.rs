//! One consultation: watch, ask, watch again, record.

use super::brief::Brief;
use super::fence::Fence;
use super::watch::{Watch, Watched};
use crate::agent::{AgentReply, Question, Silence, ask_command};
use crate::config::{LimitSettings, SandboxRequirement, VerifierProgram};
use crate::host::digest::digest;
use crate::host::git::{GitError, Repo};
use crate::host::process::LogFile;
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
    /// The verifier's name in the settings.
    pub name: &'a str,
    /// The program.
    pub program: &'a VerifierProgram,
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
    let hosts = hosts(input);
    let watch = Watch::before(&watched)?;
    let reply = ask_command(input.repo.host(), &question(input, text.as_bytes(), &hosts));
    let found = watch.after(&watched, reply.level.enforced);
    let answer = heard(input, &reply);
    let record = ConsultedRecord {
        verifier: verifier_name(input),
        resend: input.resend.is_some(),
        brief_digest: digest(text.as_bytes()),
        not_shown: input.brief.not_shown.clone(),
        // A plain program does not tell what it reads.
        opened: Vec::new(),
        ending: Some(reply.ending),
        answer_digest: digest(&reply.answer),
        trespasses: found.trespasses,
        bystanders: found.bystanders,
        level: Some(reply.level),
        contacts: reply.contacts,
    };
    Ok(Consulted { record, answer, log: reply.log })
}

/// What a program that names its hosts may reach: those, and what the settings add for everybody.
fn hosts(input: &ConsultInput<'_>) -> Vec<Endpoint> {
    let own = &input.program.allow_hosts;
    if own.is_empty() { Vec::new() } else { own.iter().chain(input.allow_hosts).cloned().collect() }
}

fn question<'a>(input: &ConsultInput<'a>, brief: &'a [u8], hosts: &'a [Endpoint]) -> Question<'a> {
    Question {
        command: &input.program.command,
        env: &input.program.env,
        network: input.program.network,
        hosts,
        confined: input.sandbox != Some(SandboxRequirement::None),
        brief,
        room: input.room,
        wall: Duration::from_secs(input.limits.verifier_seconds),
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
    if answer.is_empty() && holds_a_verdict(reply.log.path.as_path()) {
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
    match &input.program.model {
        Some(model) => format!("{} ({model})", input.name),
        None => input.name.to_owned(),
    }
}
