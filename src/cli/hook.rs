//! `countersign hook stop`: the program that hosts an agent asks whether a turn may end; and `hook start`, by which it says
//! that a session begins.
//!
//! Always exit 0 with the host's JSON: another code is a refusal to some hosts and an end to others. Nothing here may keep
//! an agent for ever, and nothing here takes long.

use super::args::HookHost;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::agent::WITHIN_VARIABLE;
use crate::host::Host;
use crate::host::redact::redact_text;
use crate::pipeline::{self, Observer, StopAnswer, StopRequest};
use crate::receipts::Receipt;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// A host's word is short, but for the agent's last words.
const LARGEST_WORD: u64 = 8 << 20;

/// The hosts wait longer; an answer that came too late would be none.
const LIMIT: Duration = Duration::from_secs(15);

/// What the hosts say on standard input. Both use these names; what a host adds is not needed.
#[derive(Debug, Deserialize)]
struct Word {
    session_id: String,
    cwd: PathBuf,
    #[serde(default)]
    hook_event_name: Option<String>,
    #[serde(default)]
    transcript_path: Option<PathBuf>,
    #[serde(default)]
    stop_hook_active: bool,
    #[serde(default)]
    last_assistant_message: Option<String>,
    /// Codex's name for a turn.
    #[serde(default)]
    turn_id: Option<String>,
    /// Claude Code's.
    #[serde(default)]
    prompt_id: Option<String>,
}

/// Hears nothing: a hook's standard error is shown to nobody, or to everybody.
struct Deaf;

impl Observer for Deaf {
    fn began(&mut self, _: &str) {}

    fn recorded(&mut self, _: &Receipt) {}
}

/// The answer to a command line that cannot be read: a wrong word in a settings file must not keep an agent.
pub(super) fn misread(why: &clap::Error, console: &mut Console) -> ExitCode {
    let line = why.to_string().lines().next().unwrap_or_default().to_owned();
    answered(&unverified(&format!("the hook's command is wrong ({line})")), console)
}

pub(super) fn stop(_host: HookHost, start: &Path, host: &Host, console: &mut Console) -> ExitCode {
    // Our own workers and judges: their words are judged by whoever sent them.
    if host.env.get(WITHIN_VARIABLE).is_some() {
        return answered(&json!({}), console);
    }
    let word = match read_word(std::io::stdin()) {
        Ok(word) => word,
        Err(why) => return answered(&unverified(&format!("what the hook was told cannot be read ({why})")), console),
    };
    // A sub-agent's report goes to its agent, whose own end is asked about.
    if word.hook_event_name.as_deref().is_some_and(|event| event != "Stop") {
        return answered(&json!({}), console);
    }
    let request = StopRequest {
        start: start.join(&word.cwd),
        session: word.session_id,
        turn: word.turn_id.or(word.prompt_id),
        active: word.stop_hook_active,
        transcript: word.transcript_path,
        words: word.last_assistant_message,
    };
    let answer = match in_time(&request, host) {
        Ok(StopAnswer::Allow { tell: None }) => json!({}),
        Ok(StopAnswer::Allow { tell: Some(line) }) => json!({ "systemMessage": shown(&line) }),
        Ok(StopAnswer::Block { order }) => json!({ "decision": "block", "reason": shown(&order) }),
        Err(why) => {
            pipeline::mark_unverified(&request, &why, host);
            unverified(&why)
        }
    };
    answered(&answer, console)
}

pub(super) fn start(_host: HookHost, start: &Path, host: &Host, console: &mut Console) -> ExitCode {
    if host.env.get(WITHIN_VARIABLE).is_some() {
        return answered(&json!({}), console);
    }
    let begun = read_word(std::io::stdin()).and_then(|word| {
        pipeline::begin(&start.join(&word.cwd), &word.session_id, host).map_err(|why| why.to_string())
    });
    let answer = match begun {
        Ok(_) => json!({}),
        Err(why) => json!({ "systemMessage": shown(&format!(
            "countersign: the start of this session was not recorded: {why}. A push will be looked at where the remote is then"
        )) }),
    };
    answered(&answer, console)
}

fn read_word(from: impl Read) -> Result<Word, String> {
    let mut bytes = Vec::new();
    from.take(LARGEST_WORD + 1).read_to_end(&mut bytes).map_err(|why| why.to_string())?;
    if bytes.len() as u64 > LARGEST_WORD {
        return Err(format!("it has more than {LARGEST_WORD} bytes"));
    }
    serde_json::from_slice(&bytes).map_err(|why| why.to_string())
}

/// Reconciles on a thread of its own, so that neither a slow disk nor a defect of ours keeps the agent.
fn in_time(request: &StopRequest, host: &Host) -> Result<StopAnswer, String> {
    let (sender, receiver) = mpsc::channel();
    let (request, owned) = (request.clone(), host.clone());
    std::thread::spawn(move || {
        let found = catch_unwind(AssertUnwindSafe(|| pipeline::stop(&request, &owned, &mut Deaf)));
        // Whoever waits no longer has answered already.
        _ = sender.send(match found {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(why.to_string()),
            Err(_) => Err("a defect of countersign; please report it".to_owned()),
        });
    });
    receiver.recv_timeout(LIMIT).unwrap_or_else(|_| {
        // What runs now is ended before the process leaves.
        host.cancel.ask();
        _ = receiver.recv_timeout(Duration::from_secs(2));
        Err(format!("no answer within {} s", LIMIT.as_secs()))
    })
}

fn unverified(why: &str) -> Value {
    json!({ "systemMessage": shown(&format!(
        "countersign: UNVERIFIED, nothing was reconciled: {why}. The stop is allowed; nothing lands from it without a verification"
    )) })
}

/// Without secrets and without control characters: a worker chose most of the words.
fn shown(text: &str) -> String {
    visible(&redact_text(text))
}

fn answered(answer: &Value, console: &mut Console) -> ExitCode {
    console.answer(&answer.to_string());
    ExitCode::Pass
}
