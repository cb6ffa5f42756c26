//! `countersign decide`: a person's answer to a judged claim, and the proof that a person gives it.

use super::args::{AnswerWord, DecideArgs};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::host::Host;
use crate::host::env::Env;
use crate::pipeline::ci::{CiRequest, approve};
use crate::pipeline::ruling::{Pending, Ruled, RulingRequest, rule};
use crate::pipeline::work::{DiscardRequest, discard};
use crate::receipts::ruling::{Answer, Proof};
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

/// Variables by which agent programs (and our own conductor) mark the environment of what they start.
const AGENT_MARKS: &[&str] = &[
    "AI_AGENT",
    "AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "COPILOT_AGENT_SESSION_ID",
    "COUNTERSIGN_REPORT",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "PI_CODING_AGENT",
    "QWEN_CODE",
];

/// How much of the claim's tree a person types.
const TYPED: usize = 8;

/// Why nobody's answer was taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotAsked {
    #[error("{0} is set: this is an agent's environment, and a person decides; run it in a terminal of your own")]
    Agent(&'static str),
    #[error(
        "there is no terminal to ask at; run it at one, or sign the decision with --sign (your key is named in {signers} at the base)",
        signers = crate::pipeline::ruling::SIGNERS_FILE
    )]
    NoTerminal,
    #[error("what was typed is not the beginning of the claim's tree: nothing was decided")]
    NotConfirmed,
    #[error("abort gives up the whole work: it takes no --finding")]
    AbortsAll,
}

pub(super) fn run(args: &DecideArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let Some(task) = &args.task else { return approve_range(args, start, host, console) };
    let pending = Pending::read(&start, task, host)?;
    let Some(word) = args.answer else {
        if args.json {
            console.json(&pending)?;
        } else {
            show(&pending, console);
        }
        return Ok(ExitCode::Pass);
    };
    let answer = match word {
        AnswerWord::Approve if args.finding.is_empty() => Answer::Approve,
        AnswerWord::Approve => Answer::Mend,
        AnswerWord::Decline => Answer::Decline,
        AnswerWord::Abort if args.finding.is_empty() => Answer::Abort,
        AnswerWord::Abort => return Err(NotAsked::AbortsAll.into()),
    };
    let proof = proof(args, answer, &pending, &host.env, console)?;
    let why = args.why.clone().unwrap_or_default();
    let request = RulingRequest { pending, answer, findings: args.finding.clone(), why: why.clone(), proof };
    let ruled = rule(&request, &start, host)?;
    let given_up = if answer == Answer::Abort {
        let why = if why.is_empty() { format!("{} gave the work up", ruled.ruling.by) } else { why };
        Some(discard(&DiscardRequest { start, task: task.clone(), into: args.into.clone(), why }, host)?)
    } else {
        None
    };
    if args.json {
        console.json(&serde_json::json!({ "ruled": ruled, "discarded": given_up }))?;
    } else {
        tell(&ruled, console);
        if let Some(discarded) = &given_up {
            super::salvage::tell_discarded(discarded, console);
        }
    }
    Ok(ExitCode::Pass)
}

fn show(pending: &Pending, console: &mut Console) {
    console.answer(&visible(&format!(
        "{}: {}, tree {}",
        pending.task,
        pending.decision.kind.word(),
        pending.tree.short()
    )));
    for reason in &pending.decision.reasons {
        console.answer(&visible(&format!("  {}: {}", reason.code, reason.text)));
    }
    for point in &pending.findings {
        let state = point.state.map_or("says", crate::receipts::State::word);
        console.answer(&visible(&format!("  {:<4} {state:<8} {}", point.id, point.sentence())));
    }
    if pending.findings.is_empty() {
        console.answer("  no findings");
    }
}

/// `decide --ci`: the signature is the proof, because whoever runs the gate was not there.
fn approve_range(args: &DecideArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    refuse_agents(&host.env)?;
    let (base, head) = (args.base.clone(), args.head.clone());
    let request = CiRequest { start, base, head, require: None, verifier: None };
    let (report, _) = approve(&request, args.why.as_deref().unwrap_or_default(), host, console)?;
    let codes: Vec<&str> = report.reasons.iter().map(|reason| reason.code.as_str()).collect();
    console.answer(&visible(&format!("approved on {}: {}", report.head, codes.join(", "))));
    console
        .answer("push the notes (countersign push --evidence-only); the base's settings say whether this key counts");
    Ok(ExitCode::Pass)
}

fn refuse_agents(env: &Env) -> Result<(), NotAsked> {
    let mark = AGENT_MARKS.iter().find(|mark| env.get(mark).is_some_and(|value| !value.is_empty()));
    mark.map_or(Ok(()), |mark| Err(NotAsked::Agent(mark)))
}

/// A terminal with a person at it, or a signature; never inside an agent's environment.
fn proof(
    args: &DecideArgs,
    answer: Answer,
    pending: &Pending,
    env: &Env,
    console: &mut Console,
) -> Result<Proof, NotAsked> {
    refuse_agents(env)?;
    if args.sign {
        return Ok(Proof::Signature);
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(NotAsked::NoTerminal);
    }
    show(pending, console);
    let what = match answer {
        Answer::Approve => "lands in spite of all of this",
        Answer::Mend => "goes back to its worker with the findings you chose; the other questions are declined",
        Answer::Decline => "is judged without the findings you decline",
        Answer::Abort => "is given up; the work is saved",
    };
    console.say(&format!("{} {what}.", visible(&pending.task)));
    console.say(&format!("Type the first {TYPED} characters of its tree ({}…) to decide:", pending.tree.short()));
    let mut line = String::new();
    // Whoever only pressed enter, or sent a prepared yes, has not looked.
    let read = std::io::stdin().lock().read_line(&mut line);
    let typed = line.trim();
    let confirmed = read.is_ok() && typed.len() >= TYPED && pending.tree.as_str().starts_with(typed);
    if confirmed { Ok(Proof::Terminal) } else { Err(NotAsked::NotConfirmed) }
}

fn tell(ruled: &Ruled, console: &mut Console) {
    let ruling = &ruled.ruling;
    console.answer(&visible(&format!("{}: {} by {}", ruled.task, ruling.answer.word(), ruling.by)));
    for point in &ruling.mend {
        console.answer(&visible(&format!("  to be mended  {} {}", point.id, point.sentence())));
    }
    for point in &ruling.declined {
        console.answer(&visible(&format!("  declined      {} {}", point.id, point.sentence())));
    }
    console.answer(&visible(&format!("decision {}", ruled.decision.kind.word())));
    for reason in &ruled.decision.reasons {
        console.answer(&visible(&format!("  {}: {}", reason.code, reason.text)));
    }
    console.answer(&visible(&format!("sealed as {} (countersign receipts {})", ruled.case.short(), ruled.task)));
    if ruled.conducted {
        console.answer(&visible(&format!("`countersign work {}` goes on from it", ruled.task)));
    }
}
