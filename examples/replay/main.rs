//! Replays a repository whose commits carry task ids: which of them brought a task to `done`, and what countersign would
//! have said then.
//!
//! ```text
//! cargo run --release --example replay -- <clone> [--no-tests] [--only ID] [--findings] [--jobs N]
//! cargo run --release --example replay -- <clone> --bites [--only ID] [--findings]
//! ```
//! One line a commit and task, then the totals. The clone is only read; claims, bases and cases are made in a scratch
//! clone that borrows its objects. Tests run for real unless `--no-tests` is given. With `--bites` nothing is decided:
//! the changed tests of each integration are run on both sides, and it is told how many bite.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, for people")]

mod bites;
mod board;
mod git;
mod history;
mod judge;
mod prepare;
mod totals;

use countersign::host::sandbox;
use git::{Clone, Failed};
use history::{Role, Step};
use judge::{Judge, Judged, Options};
use prepare::Claim;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use totals::Totals;

const USAGE: &str = "usage: replay <clone> [--no-tests | --bites] [--only ID] [--findings] [--jobs N]
  --no-tests   leave `tests-run` out: the checks that need no room
  --bites      the changed tests of each integration: executed, biting, guarding, failing before
  --only ID    this task alone (with --bites also: the commit whose id begins so)
  --findings   each finding below its line
  --jobs N     as many claims at a time, each in its own scratch clone (1)";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    // Children are confined by this very program, started again under this word.
    if words.get(1).is_some_and(|first| first == sandbox::BOX_ARGUMENT) {
        return ExitCode::from(u8::from(sandbox::box_main() != 0));
    }
    let Some((clone, options)) = read(words.iter().skip(1).map(|word| word.to_string_lossy().into_owned())) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = if options.bites { show_bites(&clone, &options) } else { replay(&clone, &options) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(4)
        }
    }
}

fn read(mut words: impl Iterator<Item = String>) -> Option<(PathBuf, Options)> {
    let mut clone = None;
    let mut options = Options { tests: true, bites: false, only: None, findings: false, jobs: 1 };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--no-tests" => options.tests = false,
            "--bites" => options.bites = true,
            "--findings" => options.findings = true,
            "--only" => options.only = Some(words.next()?),
            "--jobs" => options.jobs = words.next()?.parse().ok().filter(|jobs| (1..=64).contains(jobs))?,
            flag if flag.starts_with('-') => return None,
            _ if clone.is_some() => return None,
            _ => clone = Some(PathBuf::from(word)),
        }
    }
    Some((clone?, options))
}

fn replay(original: &Path, options: &Options) -> Result<(), Failed> {
    let clone = Clone::borrow(original)?;
    let mut steps = history::steps(&clone)?;
    steps.retain(|step| options.only.as_ref().is_none_or(|only| *only == step.task));
    let mut totals = Totals::default();
    let (send, receive) = mpsc::channel();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            let (send, next, steps) = (send.clone(), &next, &steps);
            scope.spawn(move || work(original, options, steps, next, &send));
        }
        drop(send);
        // Jobs end in any order; lines are printed in the order of history.
        let mut waiting = BTreeMap::new();
        let mut at = 0;
        for (number, replayed) in receive {
            waiting.insert(number, replayed?);
            while let Some(replayed) = waiting.remove(&at) {
                print_line(&steps[at], replayed.as_ref(), options);
                totals.count(&steps[at], replayed.as_ref());
                at += 1;
            }
        }
        Ok(())
    })?;
    println!("\n{totals}");
    println!("{}", board::read(&judge::host(&clone)?, &clone)?);
    Ok(())
}

/// One commit after the other: their tests are fast, and some of them mind their neighbours.
fn show_bites(original: &Path, options: &Options) -> Result<(), Failed> {
    let clone = Clone::borrow(original)?;
    let commits = bites::commits(&clone, &history::steps(&clone)?, options.only.as_deref())?;
    let runner = bites::Bites::new(&clone)?;
    let mut sums = bites::Sums::default();
    for changed in &commits {
        let shown = runner.show(changed)?;
        println!("{}", shown.line(changed, options.findings));
        sums.count(&shown);
    }
    println!("\n{sums}");
    Ok(())
}

/// An integration's claim and what was made of it; none for bookkeeping.
type Replayed = Option<(Claim, Judged)>;

/// Takes steps until there are none, each job in a scratch clone of its own. Stops when nobody listens any more.
fn work(
    original: &Path,
    options: &Options,
    steps: &[Step],
    next: &AtomicUsize,
    send: &mpsc::Sender<(usize, Result<Replayed, Failed>)>,
) {
    let place = Clone::borrow(original).and_then(|clone| Ok((Judge::new(&clone, options)?, clone)));
    let (judge, clone) = match place {
        Ok(place) => place,
        Err(why) => {
            // The listener stops at the first failure; a second one has nobody to tell.
            let _ = send.send((usize::MAX, Err(why)));
            return;
        }
    };
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(step) = steps.get(at) else { return };
        let replayed = match step.role {
            Role::Bookkeeping => Ok(None),
            Role::Integration => prepare::claim(&clone, step).map(|claim| {
                let judged = judge.judge(&claim, &step.task);
                Some((claim, judged))
            }),
        };
        if send.send((at, replayed)).is_err() {
            return;
        }
    }
}

fn print_line(step: &Step, replayed: Option<&(Claim, Judged)>, options: &Options) {
    let Some((claim, judged)) = replayed else {
        println!("{:.10}  bookkeeping  {}", step.commit, step.task);
        return;
    };
    let mark = if claim.borrowed { "  task-from-claim" } else { "" };
    println!("{:.10}  integration  {}{mark}  {}", step.commit, step.task, judged.line());
    if options.findings {
        print!("{}", judged.findings());
    }
}
