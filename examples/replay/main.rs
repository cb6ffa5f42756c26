//! Replays a repository whose commits carry task ids: which of them brought a task to `done`, and what would have been
//! judged then.
//!
//! ```text
//! cargo run --example replay -- <clone>
//! ```
//! One line a commit and task, then the totals. The clone is only read; claims and bases are made in a scratch clone
//! that borrows its objects.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, for people")]

mod git;
mod history;
mod prepare;

use git::{Clone, Failed};
use history::{Role, Step};
use prepare::Claim;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(clone) = std::env::args_os().nth(1) else {
        eprintln!("usage: replay <clone>");
        return ExitCode::from(2);
    };
    match replay(Path::new(&clone)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(4)
        }
    }
}

fn replay(original: &Path) -> Result<(), Failed> {
    let clone = Clone::borrow(original)?;
    let steps = history::steps(&clone)?;
    let mut totals = Totals::default();
    for step in &steps {
        totals.count(step);
        match step.role {
            Role::Bookkeeping => println!("{:.10}  bookkeeping  {}", step.commit, step.task),
            Role::Integration => {
                let claim = prepare::claim(&clone, step)?;
                totals.from_claim += usize::from(claim.borrowed);
                println!("{}", line(step, &claim));
            }
        }
    }
    println!("{totals}");
    Ok(())
}

fn line(step: &Step, claim: &Claim) -> String {
    let mark = if claim.borrowed { "  task-from-claim" } else { "" };
    let Claim { base, commit, put_back, .. } = claim;
    format!("{:.10}  integration  {}  {base:.10}..{commit:.10}  {put_back} put back{mark}", step.commit, step.task)
}

/// What the run found.
#[derive(Default)]
struct Totals {
    commits: BTreeSet<String>,
    tasks: BTreeSet<String>,
    integrations: usize,
    bookkeeping: usize,
    from_claim: usize,
}

impl Totals {
    fn count(&mut self, step: &Step) {
        self.commits.insert(step.commit.clone());
        self.tasks.insert(step.task.clone());
        match step.role {
            Role::Integration => self.integrations += 1,
            Role::Bookkeeping => self.bookkeeping += 1,
        }
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { commits, tasks, integrations, bookkeeping, from_claim } = self;
        write!(
            f,
            "{} commits with a task, {} tasks: {integrations} integrations ({from_claim} task-from-claim), {bookkeeping} bookkeeping",
            commits.len(),
            tasks.len()
        )
    }
}
