//! Tests that are said to pass, against our own run of all of them.
//!
//! More than we saw pass is refuted. Fewer is no lie by itself: `all 5 tests pass` may speak of the five that a captured
//! run ran, or of those that the change adds.

use super::calls::{Calls, Ran};
use super::{Evidence, Found, Rerun, RerunOf, counts, programs, runs};
use crate::receipts::LedgerMatch;
use crate::worker::Assertion;

/// What our own run says, if there was one that says anything.
pub(super) fn of_tests(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Option<Found> {
    if !assertion.expected.failures.is_empty() {
        return None;
    }
    let fits = |rerun: &&Rerun| match &rerun.of {
        RerunOf::Tests => assertion.subject.is_empty(),
        RerunOf::Proof(subject) => !assertion.subject.is_empty() && *subject == assertion.subject,
    };
    let rerun = evidence.reruns.iter().find(fits)?;
    let receipt = format!("run:{}", if assertion.subject.is_empty() { "tests" } else { assertion.subject.as_str() });
    let words = format!("our own run: {}", rerun.observed);
    let no = |words: String| Found::unbacked(LedgerMatch::NotAsked, words);
    let found = match (rerun.holds, assertion.expected.count, rerun.tests) {
        (None, _, _) => return None,
        (Some(false), _, _) => no(words),
        (Some(true), Some(count), Some((passed, _))) if passed < count => no(format!("{words}; {count} were claimed")),
        (Some(true), Some(count), Some((passed, _))) if assertion.expected.whole && passed != count => {
            fewer(count, rerun, &words, evidence, calls)
        }
        (Some(true), Some(count), None) => Found::unverifiable(
            LedgerMatch::NotAsked,
            format!("{words}, but nothing says how many tests; {count} were claimed"),
        ),
        (Some(true), _, _) => proven(rerun, words, LedgerMatch::NotAsked),
    };
    Some(found.receipt(receipt))
}

/// A green run of ours, as far as its new tests prove anything.
fn proven(rerun: &Rerun, words: String, ledger: LedgerMatch) -> Found {
    match &rerun.weak {
        Some(why) => Found::unverifiable(ledger, format!("{words}, but {why}")).wanting("countersign verify"),
        None => Found::backed(ledger, words),
    }
}

/// All of fewer tests than ours: those of a captured run, or those that the change adds.
fn fewer(count: u64, rerun: &Rerun, words: &str, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    let captured: Vec<(&Ran<'_>, counts::Counts)> =
        calls.ran.iter().filter_map(|ran| green(ran, evidence, calls)).collect();
    if let Some((ran, _)) = captured.iter().find(|(_, counted)| counted.passed == count) {
        let line = runs::shown(&ran.step.words);
        let words = format!("{words}; the {count} claimed are those of `{line}`");
        return proven(rerun, words, LedgerMatch::Yes).receipt(calls.receipt(ran.event));
    }
    if rerun.added == Some(count) {
        return proven(
            rerun,
            format!("{words}; the {count} claimed are the new and changed ones"),
            LedgerMatch::NotAsked,
        );
    }
    if let Some((ran, counted)) = captured.last() {
        let line = runs::shown(&ran.step.words);
        let words = format!("{words}; `{line}` said {}, and all {count} were claimed", counted.words());
        let found = Found::unverifiable(LedgerMatch::No, words).receipt(calls.receipt(ran.event));
        return found.wanting("say which tests are meant");
    }
    let words = format!("{words}; all {count} were claimed, and nothing shows which {count} are meant");
    Found::unverifiable(LedgerMatch::Unknown, words).wanting("say how many tests ran, as the runner says it")
}

/// A captured run of tests that is evidence, green and fresh, with what it counted in full.
fn green<'c, 'a>(
    ran: &'c Ran<'a>,
    evidence: &Evidence<'_>,
    calls: &Calls<'_>,
) -> Option<(&'c Ran<'a>, counts::Counts)> {
    if ran.event.rolled_back {
        return None;
    }
    programs::tests(&ran.step.words, evidence.test_commands)?;
    let counted = counts::counts(&ran.event.output).filter(|counted| !counted.partial && counted.failed == 0)?;
    let fit = runs::unfit(calls, ran, "", None).is_none() && calls.unexplained(evidence.witness, ran.event).is_none();
    fit.then_some((ran, counted))
}
