//! Tests, builds and commands that are said to have run.
//!
//! A green run backs a claim where its own exit status was seen, it came after the last edit of code, its own output says
//! how many tests ran, and it ran no less than what is claimed. Our own run outranks all of that.

use super::calls::{Calls, Ran};
use super::programs::{self, Scope};
use super::shell::steps;
use super::{Evidence, Found, RerunOf, counts, many, own_runs};
use crate::agent::transcript::{ToolEvent, ToolStatus};
use crate::receipts::{LedgerMatch, Standing};
use crate::worker::{AssertedBy, Assertion};
use std::collections::BTreeSet;

/// Asks for our own run.
const RERUN: &str = "countersign reconcile --rerun";

pub(super) fn tests_green(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    if let Some(found) = own_runs::of_tests(assertion, evidence, calls) {
        return found;
    }
    let run: Vec<(&Ran<'_>, Scope)> = calls
        .ran
        .iter()
        .filter(|ran| !ran.event.rolled_back)
        .filter_map(|ran| Some((ran, programs::tests(&ran.step.words, evidence.test_commands)?)))
        .collect();
    if run.is_empty() {
        return no_run(evidence, calls);
    }
    let mut best: Option<Found> = None;
    for (number, (ran, scope)) in run.iter().enumerate().rev() {
        let found = judge_run(assertion, evidence, calls, (ran, scope), &run[..number]);
        let red = is_red(ran.event) && ran.step.masked.is_none() && assertion.expected.failures.is_empty();
        let better = best.as_ref().is_none_or(|best| found.standing < best.standing);
        if better {
            best = Some(found);
        }
        // A red run is the last word about the code it ran on.
        if red && calls.later_edit(ran.place).is_none() {
            break;
        }
    }
    best.unwrap_or_else(|| no_run(evidence, calls))
}

fn no_run(evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let count = calls.transcript.map_or(0, |transcript| transcript.events.len());
    let elsewhere =
        calls.elsewhere.iter().find(|ran| programs::tests(&ran.step.words, evidence.test_commands).is_some());
    let words = match (elsewhere, count) {
        (Some(ran), _) => format!("no test command ran in this worktree: `{}` ran elsewhere", shown(&ran.step.words)),
        (None, 0) => "no test command ran".to_owned(),
        (None, count) => format!("no test command among {}", many(count, "call")),
    };
    Found::missing(calls, &words).wanting("run the tests after the last edit").wanting(RERUN)
}

fn is_red(event: &ToolEvent) -> bool {
    matches!(event.status, ToolStatus::Error | ToolStatus::TimedOut | ToolStatus::Aborted)
        || event.exit.is_some_and(|exit| exit != 0)
}

/// How one test run stands to what is claimed.
fn judge_run(
    assertion: &Assertion,
    evidence: &Evidence<'_>,
    calls: &Calls<'_>,
    (ran, scope): (&Ran<'_>, &Scope),
    earlier: &[(&Ran<'_>, Scope)],
) -> Found {
    let expected = &assertion.expected;
    let words = format!("`{}`", shown(&ran.step.words));
    let counted = counts::counts(&ran.event.output);
    if !expected.failures.is_empty() {
        return only_failures(assertion, calls, ran, &words);
    }
    let at = |found: Found| found.receipt(calls.receipt(ran.event)).wanting(RERUN);
    if let Some(found) = unfit(calls, ran, &words, counted.map(counts::Counts::words)) {
        return at(found);
    }
    let Some(counted) = counted else {
        if counts::names_packages(&ran.event.output) && expected.count.is_none() {
            return at(scoped(
                assertion,
                scope,
                Found::backed(LedgerMatch::Yes, format!("{words} exited with 0: packages ok")),
            ));
        }
        let words = format!("{words} exited with 0, but its recorded output does not say how many tests ran");
        return at(Found::unverifiable(LedgerMatch::Unknown, words));
    };
    let words = format!("{words} exited with 0: {}", counted.words());
    if counted.failed > 0 {
        return at(Found::unbacked(LedgerMatch::No, words));
    }
    if counted.passed == 0 {
        return at(Found::unbacked(LedgerMatch::No, format!("{words}; zero tests are never green")));
    }
    if let Some(count) = expected.count.filter(|count| *count != counted.passed) {
        let found = if counted.partial && counted.passed < count {
            Found::unverifiable(LedgerMatch::Unknown, format!("{words} in what is recorded; {count} were claimed"))
        } else {
            Found::unbacked(LedgerMatch::No, format!("{words}; {count} were claimed"))
        };
        return at(found);
    }
    if let Some(path) = calls.unexplained(evidence.witness, ran.event) {
        return at(Found::unverifiable(
            LedgerMatch::Unknown,
            format!("{words}, but {path} changed later by no recorded call"),
        ));
    }
    if let Some(found) = shrunken(assertion, ran, counted.executed(), earlier, &words) {
        return at(found);
    }
    if !assertion.subject.is_empty() {
        return at(named_test(assertion, ran.event, &words));
    }
    at(scoped(assertion, scope, Found::backed(LedgerMatch::Yes, words)))
}

/// What makes a run no evidence, whatever it printed.
pub(super) fn unfit(calls: &Calls<'_>, ran: &Ran<'_>, words: &str, counted: Option<String>) -> Option<Found> {
    let event = ran.event;
    let no = |words: String| Some(Found::unbacked(LedgerMatch::No, words));
    let printed = counted.map_or_else(String::new, |counted| format!(" ({counted})"));
    match event.status {
        ToolStatus::Running => {
            let words = format!("{words} was started in the background and its end was never seen");
            return Some(Found::missing(calls, &words));
        }
        ToolStatus::Unknown => return Some(Found::missing(calls, &format!("{words} has no recorded result"))),
        ToolStatus::TimedOut => return no(format!("{words} ran out of time")),
        ToolStatus::Aborted => return no(format!("{words} was interrupted")),
        ToolStatus::Ok | ToolStatus::Error => {}
    }
    if let Some(mask) = &ran.step.masked {
        return no(format!("{words} ran{printed}, but its exit status was not seen: {mask}"));
    }
    match event.exit {
        Some(0) if event.status == ToolStatus::Ok => {}
        Some(exit) => return no(format!("{words} exited with {exit}{printed}")),
        None if event.status == ToolStatus::Error => return no(format!("{words} failed{printed}")),
        None => return Some(Found::missing(calls, &format!("{words} has no recorded exit status"))),
    }
    let edit = calls.later_edit(ran.place)?;
    let what = edit.path.as_ref().map_or_else(|| "files".to_owned(), ToString::to_string);
    no(format!("{words} ran{printed} before {what} was last changed (line {})", edit.line))
}

/// Less than what is claimed, where its words show it.
fn scoped(assertion: &Assertion, scope: &Scope, found: Found) -> Found {
    let Scope::Part(what) = scope else { return found };
    let words = format!("{}, but `{what}` ran only a part of them", found.observed);
    match (assertion.expected.whole, assertion.expected.count) {
        (true, None) => Found::unbacked(LedgerMatch::No, words),
        (false, Some(_)) => found,
        // `All 5 tests` may be the five that ran.
        (true, Some(_)) | (false, None) => Found::unverifiable(LedgerMatch::Unknown, words),
    }
}

/// The same command ran more tests before.
fn shrunken(
    assertion: &Assertion,
    ran: &Ran<'_>,
    now: u64,
    earlier: &[(&Ran<'_>, Scope)],
    words: &str,
) -> Option<Found> {
    let same = |other: &&(&Ran<'_>, Scope)| other.0.step.words == ran.step.words;
    let totals = earlier.iter().filter(same).filter_map(|(ran, _)| counts::counts(&ran.event.output));
    let most = totals.map(counts::Counts::executed).max().filter(|most| *most > now)?;
    (assertion.by != AssertedBy::Task).then(|| {
        Found::unverifiable(LedgerMatch::Unknown, format!("{words}, but the same command ran {most} tests before"))
    })
}

/// A test that a criterion names: it must show in the run's own output.
fn named_test(assertion: &Assertion, event: &ToolEvent, words: &str) -> Found {
    let name = assertion.subject.as_str();
    let shown = event.output.head.contains(name) || event.output.tail.contains(name);
    if shown {
        Found::backed(LedgerMatch::Yes, format!("{words}; its output names `{name}`"))
    } else {
        Found::unverifiable(LedgerMatch::Unknown, format!("{words}; its recorded output does not name `{name}`"))
    }
}

/// `The only failing test is X`: the failures of the last run, against the ones named.
fn only_failures(assertion: &Assertion, calls: &Calls<'_>, ran: &Ran<'_>, words: &str) -> Found {
    let claimed: BTreeSet<&str> = assertion.expected.failures.iter().map(String::as_str).collect();
    let failed = counts::failures(&ran.event.output);
    let at = |found: Found| found.receipt(calls.receipt(ran.event));
    if failed.is_empty() {
        let found =
            Found::unverifiable(LedgerMatch::Unknown, format!("{words}: its recorded output names no failed test"));
        return at(found).wanting("run the tests and keep the list of failures");
    }
    let listed = failed.iter().cloned().collect::<Vec<_>>().join(", ");
    let fits = |name: &String| claimed.iter().any(|claim| name.ends_with(claim) || claim.ends_with(name.as_str()));
    if failed.iter().all(fits) && failed.len() == claimed.len() {
        at(Found::backed(LedgerMatch::Yes, format!("{words}: {listed} failed, and nothing else")))
    } else {
        at(Found::unbacked(LedgerMatch::No, format!("{words}: {listed} failed")))
            .wanting("name the tests that really fail")
    }
}

pub(super) fn build_ok(assertion: &Assertion, _: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let builds: Vec<&Ran<'_>> = calls
        .ran
        .iter()
        .filter(|ran| !ran.event.rolled_back && programs::builds(&ran.step.words, &assertion.subject))
        .collect();
    let Some(last) = builds.last() else {
        return Found::missing(calls, &format!("no {} command ran", assertion.subject))
            .wanting("build after the last edit, with its own exit status");
    };
    let words = format!("`{}`", shown(&last.step.words));
    let at = |found: Found| found.receipt(calls.receipt(last.event)).wanting("build again, with its own exit status");
    if let Some(found) = unfit(calls, last, &words, None) {
        return at(found);
    }
    if let Some(line) = counts::complaint(&last.event.output) {
        return at(Found::unbacked(LedgerMatch::No, format!("{words} exited with 0 and printed: {line}")));
    }
    at(Found::backed(LedgerMatch::Yes, format!("{words} exited with 0 after the last edit")))
}

pub(super) fn command_ran(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let proof = evidence.reruns.iter().find(|rerun| rerun.of == RerunOf::Proof(assertion.subject.clone()));
    if let Some((rerun, holds)) = proof.and_then(|rerun| Some((rerun, rerun.holds?))) {
        let words = format!("our own run: {}", rerun.observed);
        let standing = if holds { Standing::Backed } else { Standing::Unbacked };
        return Found::new(standing, LedgerMatch::NotAsked, words).receipt(format!("run:{}", assertion.subject));
    }
    let wanted: Vec<Vec<String>> = steps(&assertion.subject).into_iter().map(|step| step.words).collect();
    let fits =
        |ran: &&Ran<'_>| !ran.event.rolled_back && wanted.iter().any(|words| starts_with(&ran.step.words, words));
    let by_task = assertion.by == AssertedBy::Task;
    let Some(last) = calls.ran.iter().rev().find(fits) else {
        let found = Found::missing(calls, &format!("`{}` did not run", assertion.subject));
        return found.wanting(assertion.subject.clone()).wanting(if by_task { RERUN } else { "run it" });
    };
    let words = format!("`{}`", shown(&last.step.words));
    let at = |found: Found| found.receipt(calls.receipt(last.event)).wanting(assertion.subject.clone());
    // What a criterion names must succeed on the work as it is; what was merely run may have failed.
    if by_task {
        return at(match unfit(calls, last, &words, None) {
            Some(found) => found,
            None => Found::backed(LedgerMatch::Yes, format!("{words} exited with 0 after the last edit")),
        });
    }
    match last.event.status {
        ToolStatus::Running | ToolStatus::Unknown => at(Found::missing(calls, &format!("{words} has no recorded end"))),
        ToolStatus::Aborted => at(Found::unbacked(LedgerMatch::No, format!("{words} was interrupted or refused"))),
        _ => {
            let exit = last.event.exit.map_or_else(String::new, |exit| format!(" and exited with {exit}"));
            at(Found::backed(LedgerMatch::Yes, format!("{words} ran{exit}")))
        }
    }
}

fn starts_with(words: &[String], wanted: &[String]) -> bool {
    !wanted.is_empty() && words.len() >= wanted.len() && words.iter().zip(wanted).all(|(a, b)| a == b)
}

/// A command line for the table.
pub(super) fn shown(words: &[String]) -> String {
    let line = words.join(" ");
    if line.chars().count() > 100 { line.chars().take(99).chain(['…']).collect() } else { line }
}
