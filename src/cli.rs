//! Speaks to people: flags in, words and an exit code out. The only code that prints.

mod args;
mod attest;
mod board;
mod ci;
mod console;
mod decide;
mod doctor;
mod exit_code;
mod forge;
mod hook;
mod init;
mod manual;
mod message;
mod output;
mod receipts;
mod reconcile;
mod salvage;
mod schema;
mod share;
mod tour;
mod transcript;
mod verify;
mod work;

pub use exit_code::ExitCode;

use crate::agent::kit::KitError;
use crate::agent::transcript::TranscriptError;
use crate::host::Host;
use crate::host::cancel::Cancel;
use crate::host::clock::Clock;
use crate::host::env::Env;
use crate::host::git::GitError;
use crate::integrate::RestoreError;
use crate::integrate::share::ShareError;
use crate::pipeline::attest::NoteError;
use crate::pipeline::ci::CiError;
use crate::pipeline::ruling::RulingError;
use crate::pipeline::work::WorkError;
use crate::pipeline::{Fault, VerifyError};
use anyhow::Context;
use args::{BoardCommand, Cli, Command, HookCommand, TranscriptCommand};
use clap::Parser;
use clap::error::ErrorKind;
use console::Console;
use std::path::PathBuf;

/// Runs the command line and says how to leave. `words` are the arguments, the program's name first.
pub fn run(words: Vec<std::ffi::OsString>, cancel: &Cancel) -> ExitCode {
    let asked_by_host = words.get(1).is_some_and(|word| word == "hook");
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(why) if asked_by_host && why.use_stderr() => return hook::misread(&why, &mut Console::new()),
        Err(why) => {
            // Help and version are answers (stdout, 0); everything else is a usage error.
            let asked = matches!(why.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let printed = why.print();
            return if asked && printed.is_ok() { ExitCode::Pass } else { ExitCode::Usage };
        }
    };
    let mut console = Console::new();
    let code = match dispatch(cli, cancel, &mut console) {
        Ok(code) => code,
        Err(why) => {
            console.error(&why);
            code_of(&why)
        }
    };
    if let Some(why) = console.lost().filter(|_| !asked_by_host) {
        // Whoever reads an answer that is cut must not take the exit code for it.
        console.error(&anyhow::anyhow!(
            "the answer was not written to standard output: {why}; make room there and ask again"
        ));
        return ExitCode::Environment;
    }
    code
}

fn dispatch(cli: Cli, cancel: &Cancel, console: &mut Console) -> anyhow::Result<ExitCode> {
    let start = start_folder(cli.directory)?;
    let host = host_of_process(cancel)?;
    if host.env.text("GITHUB_ACTIONS") == Some("true") {
        console.be_order_free();
    }
    match cli.command {
        Command::Verify(args) => verify::run(*args, start, &host, console),
        Command::Work(args) => work::run(*args, start, &host, console),
        Command::Resume(args) => work::resume(*args, start, &host, console),
        Command::Decide(args) => decide::run(&args, start, &host, console),
        Command::Salvage { command } => salvage::run(&command, &start, &host, console),
        Command::Discard(args) => salvage::discard_task(args, start, &host, console),
        Command::Status(args) => work::status(&args, &start, &host, console),
        Command::Board { command: BoardCommand::List(args) } => board::list(&args, &start, &host, console),
        Command::Board { command: BoardCommand::Show { task, args } } => {
            board::show(&task, &args, &start, &host, console)
        }
        Command::Board { command: BoardCommand::Check(args) } => board::check(&args, &start, &host, console),
        Command::Board { command: BoardCommand::Message(args) } => message::run(&args, &start, &host, console),
        Command::Doctor(args) => doctor::run(&args, &start, &host, console),
        Command::Completions { shell } => Ok(manual::completions(shell, console)),
        Command::Man(args) => manual::man(&args, &start, console),
        Command::Hook { command: HookCommand::Stop { host: asks } } => Ok(hook::stop(asks, &start, &host, console)),
        Command::Hook { command: HookCommand::Start { host: says } } => Ok(hook::start(says, &start, &host, console)),
        Command::Init(args) => init::run(&args, &start, &host, console),
        Command::Receipts(args) => receipts::show(&args, &start, &host, console),
        Command::Reconcile(args) => reconcile::run(*args, start, &host, console),
        Command::Replay(args) => receipts::replay(&args, &start, &host, console),
        Command::Ci(args) => ci::run(*args, start, &host, console),
        Command::Attest { command } => attest::run(command, &start, &host, console),
        Command::Push(args) => share::push(&args, &start, &host, console),
        Command::Fetch(args) => share::fetch(&args, &start, &host, console),
        Command::Schema { which } => schema::print(which, console),
        Command::Transcript { command: TranscriptCommand::Show { file, session, json } } => {
            transcript::show(&start.join(file), session.as_deref(), json, console)
        }
        Command::Tour { keep } => tour::run(keep, &host, console),
    }
}

fn by_fault(fault: Fault) -> ExitCode {
    match fault {
        Fault::Usage => ExitCode::Usage,
        Fault::Environment => ExitCode::Environment,
        Fault::Interrupted => ExitCode::Interrupted,
        Fault::Bug => ExitCode::Bug,
    }
}

/// An error's exit code: ours are typed, anything else is our bug.
fn code_of(why: &anyhow::Error) -> ExitCode {
    let fault = why.downcast_ref::<VerifyError>().map(VerifyError::fault);
    let fault = fault.or_else(|| why.downcast_ref::<WorkError>().map(WorkError::fault));
    let fault = fault.or_else(|| why.downcast_ref::<CiError>().map(CiError::fault));
    if let Some(fault) = fault.or_else(|| why.downcast_ref::<RulingError>().map(RulingError::fault)) {
        return by_fault(fault);
    }
    if let Some(known) = why.downcast_ref::<NoteError>() {
        return match known {
            NoteError::NoCommit(_) | NoteError::Key { .. } => ExitCode::Usage,
            NoteError::NoNote { .. } => ExitCode::Held,
            NoteError::Verify(why) => by_fault(why.fault()),
            NoteError::Git(_) => ExitCode::Environment,
        };
    }
    if let Some(known) = why.downcast_ref::<ShareError>() {
        return if matches!(known, ShareError::NoRemote(_)) { ExitCode::Usage } else { ExitCode::Environment };
    }
    if let Some(known) = why.downcast_ref::<TranscriptError>() {
        return match known {
            TranscriptError::Unreadable { .. } | TranscriptError::Locked { .. } | TranscriptError::Broken { .. } => {
                ExitCode::Environment
            }
            TranscriptError::Foreign { .. }
            | TranscriptError::Mixed { .. }
            | TranscriptError::Several { .. }
            | TranscriptError::NoSession { .. } => ExitCode::Usage,
        };
    }
    if let Some(known) = why.downcast_ref::<RestoreError>() {
        return salvage::code_of(known);
    }
    if why.is::<decide::NotAsked>() || why.is::<output::UsageError>() || why.is::<forge::ForgeError>() {
        return ExitCode::Usage;
    }
    if why.is::<KitError>() || why.is::<GitError>() || why.is::<std::io::Error>() {
        ExitCode::Environment
    } else {
        ExitCode::Bug
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks where we are")]
fn start_folder(directory: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let here = std::env::current_dir().context("cannot tell the current directory")?;
    let start = directory.map_or_else(|| here.clone(), |folder| here.join(folder));
    start.canonicalize().with_context(|| format!("cannot enter {}", start.display()))
}

fn host_of_process(cancel: &Cancel) -> anyhow::Result<Host> {
    let env = Env::of_process();
    let helper = std::env::current_exe().context("cannot find our own binary, which confines children")?;
    // A fixed clock makes two runs comparable byte for byte (tests, reproducible cases).
    let clock =
        env.text("COUNTERSIGN_CLOCK").and_then(|seconds| seconds.parse().ok()).map_or(Clock::System, Clock::Fixed);
    let scratch = env.get("TMPDIR").filter(|v| !v.is_empty()).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    // The bare name, and with it the system's error, where there is none.
    let git = env.program("git").unwrap_or_else(|| PathBuf::from("git"));
    Ok(Host { git, helper, scratch, env, clock, cancel: cancel.clone() })
}
