//! `countersign transcript show`: the normalised ledger of a session.

use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::agent::transcript::{
    Actor, Damage, Dialect, ToolEvent, Transcript, files_of_session, read_session, read_transcript,
};
use crate::host::clock::Timestamp;
use crate::host::redact::redact_text;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The document of `--json`.
#[derive(Serialize)]
struct Shown<'a> {
    schema: &'static str,
    dialect: Dialect,
    session: Option<&'a str>,
    cwd: Option<&'a str>,
    files: &'a [PathBuf],
    complete: bool,
    gaps: &'a [String],
    damaged: &'a [Damage],
    damaged_lines: u64,
    records: u64,
    skipped: &'a BTreeMap<String, u64>,
    events: &'a [ToolEvent],
}

pub(super) fn show(file: &Path, session: Option<&str>, json: bool, console: &mut Console) -> anyhow::Result<ExitCode> {
    let transcript = match session {
        Some(id) => read_session(file, id)?,
        None => read_transcript(&files_of_session(file))?,
    };
    if json {
        console.answer(&redact_text(&serde_json::to_string_pretty(&document(&transcript))?));
    } else {
        for line in page(&transcript) {
            // What an agent ran can hold what nobody should read twice.
            console.answer(&visible(&redact_text(&line)));
        }
    }
    Ok(ExitCode::Pass)
}

fn document(transcript: &Transcript) -> Shown<'_> {
    Shown {
        schema: "countersign/transcript/1",
        dialect: transcript.dialect,
        session: transcript.session.as_deref(),
        cwd: transcript.cwd.as_deref(),
        files: &transcript.files,
        complete: transcript.is_complete(),
        gaps: &transcript.gaps,
        damaged: &transcript.damaged,
        damaged_lines: transcript.damaged_lines,
        records: transcript.records,
        skipped: &transcript.skipped,
        events: &transcript.events,
    }
}

fn page(transcript: &Transcript) -> Vec<String> {
    let mut lines = vec![format!(
        "{} session {} in {}",
        word(&transcript.dialect),
        transcript.session.as_deref().unwrap_or("without an id"),
        transcript.cwd.as_deref().unwrap_or("a folder that is not recorded"),
    )];
    lines.extend(transcript.events.iter().map(event_line));
    let skipped: u64 = transcript.skipped.values().sum();
    lines.push(format!(
        "{} calls in {} records ({skipped} of kinds without calls)",
        transcript.events.len(),
        transcript.records
    ));
    for damage in &transcript.damaged {
        lines.push(format!(
            "damaged: {} line {}: {}",
            transcript.files[damage.file].display(),
            damage.line,
            damage.why
        ));
    }
    if transcript.damaged_lines > transcript.damaged.len() as u64 {
        lines.push(format!("damaged: {} lines in all", transcript.damaged_lines));
    }
    lines.extend(transcript.gaps.iter().map(|gap| format!("gap: {gap}")));
    lines.push(if transcript.is_complete() {
        "complete: a call that is not listed was not made".to_owned()
    } else {
        "INCOMPLETE: a call that is not listed may have been made".to_owned()
    });
    lines
}

fn event_line(event: &ToolEvent) -> String {
    let when = event
        .started
        .and_then(|ms| u64::try_from(ms / 1000).ok())
        .map_or_else(|| "no time recorded".to_owned(), |seconds| Timestamp(seconds).to_utc());
    let what = event.command.clone().unwrap_or_else(|| event.paths.join(", ")).replace('\n', "\\n");
    let exit = match event.exit {
        Some(exit) => format!(" exit {exit} ({})", word(&event.exit_source)),
        None => String::new(),
    };
    let marks = [
        (event.background, "in the background"),
        (event.rolled_back, "taken back"),
        (event.truncated, "output cut"),
        (event.user_modified, "changed by a person"),
    ];
    let marks: String = marks.iter().filter(|(set, _)| *set).map(|(_, mark)| format!(", {mark}")).collect();
    let who = match &event.actor {
        Actor::Main => String::new(),
        Actor::Sub(id) => format!(" [sub-agent {id}]"),
    };
    format!(
        "{:>6}  {when}  {} `{}` {what}: {}{exit}{marks}{who}",
        event.line,
        word(&event.kind),
        event.tool,
        word(&event.status)
    )
}

/// The public word of a unit variant.
fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}
