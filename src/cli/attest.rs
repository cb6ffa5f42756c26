//! `countersign attest`.

use super::args::{AttestCommand, NoteArgs};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::host::Host;
use crate::host::git::Repo;
use crate::integrate::attest::{AllowedSigners, key_file, parse_bundle};
use crate::pipeline::VerifyError;
use crate::pipeline::attest::{NoteError, Standing, note_of, show_note, verify_note};
use std::io::Read;
use std::path::Path;

/// A longer file is no key.
const LARGEST_KEY: u64 = 1 << 20;

pub(super) fn run(
    command: AttestCommand,
    start: &Path,
    host: &Host,
    console: &mut Console,
) -> anyhow::Result<ExitCode> {
    match command {
        AttestCommand::Show(args) => show(&args, start, host, console),
        AttestCommand::Verify(args) => verify(&args, start, host, console),
        AttestCommand::Export { commit } => export(&commit, start, host, console),
    }
}

fn open(start: &Path, host: &Host) -> Result<Repo, VerifyError> {
    Ok(Repo::discover(host, start)?)
}

/// The key that was given; a file that is none is the user's mistake.
fn key_of(args: &NoteArgs, start: &Path) -> anyhow::Result<Option<AllowedSigners>> {
    let Some(file) = &args.key else { return Ok(None) };
    let file = start.join(file);
    let refused = |why: &str| NoteError::Key { path: file.clone(), why: why.to_owned() };
    let mut bytes = Vec::new();
    std::fs::File::open(&file)
        .and_then(|open| open.take(LARGEST_KEY).read_to_end(&mut bytes))
        .map_err(|why| refused(&why.to_string()))?;
    Ok(Some(key_file(&bytes).ok_or_else(|| refused("it holds none"))?))
}

fn show(args: &NoteArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let repo = open(start, host)?;
    let note = show_note(&repo, &args.commit, key_of(args, start)?.as_ref())?;
    if args.json {
        console.json(&note)?;
        return Ok(ExitCode::Pass);
    }
    console.answer(&format!("commit   {}", note.commit));
    for shown in &note.statements {
        console.answer(&visible(&format!("type     {}", shown.predicate_type)));
        console.answer(&visible(&format!("  signature {}: {}", shown.signature, shown.detail)));
        let text = serde_json::to_string_pretty(&shown.statement["predicate"])?;
        for line in text.lines() {
            console.answer(&visible(&format!("  {line}")));
        }
    }
    if note.unreadable > 0 {
        console.answer(&format!("{} lines of the note are no statements", note.unreadable));
    }
    Ok(ExitCode::Pass)
}

fn verify(args: &NoteArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let repo = open(start, host)?;
    let verified = verify_note(&repo, &args.commit, key_of(args, start)?.as_ref())?;
    if args.json {
        console.json(&verified)?;
    } else {
        console.answer(&format!("commit   {}", verified.commit));
        for check in &verified.checks {
            let word = match check.standing {
                Standing::Good => "good",
                Standing::Missing => "missing",
                Standing::Bad => "BAD",
            };
            console.answer(&visible(&format!("{word:<8} {}: {}", check.name, check.text)));
        }
    }
    Ok(match verified.standing() {
        Standing::Good => ExitCode::Pass,
        Standing::Bad => ExitCode::Fail,
        Standing::Missing => ExitCode::Held,
    })
}

fn export(commit: &str, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let repo = open(start, host)?;
    let (_, note) = note_of(&repo, commit)?;
    let (envelopes, mut unreadable) = parse_bundle(&note);
    for envelope in envelopes {
        let line = envelope.line();
        // Nothing in an envelope of ours is anything but ASCII; a stranger's could steer a terminal.
        if line.is_ascii() { console.answer(&line) } else { unreadable += 1 }
    }
    if unreadable > 0 {
        console.say(&format!("{unreadable} lines of the note are no statements and were left out"));
        return Ok(ExitCode::Held);
    }
    Ok(ExitCode::Pass)
}
