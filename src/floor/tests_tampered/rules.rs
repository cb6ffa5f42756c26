//! The rows of the audit: what is denied, what is asked, what is only told, and why (RULINGS 14).

use crate::host::path::escape;
use crate::host::redact::redact_and_cut;
use crate::receipts::{Finding, Remedy, State};
use std::fmt::Display;

/// Each rule's id, the state of its findings, and why that state.
pub const RULES: &[(&str, State, &str)] = &[
    ("marker-added", State::Deny, "a test that ran on the base no longer runs, or its failure became a success"),
    ("only-added", State::Deny, "a test marked as the only one keeps all others from running"),
    ("exit-in-test", State::Deny, "a test that ends the run with success lets no other test fail"),
    ("masked-script", State::Deny, "a command whose failure is hidden cannot fail"),
    ("test-name-special-cased", State::Deny, "production code that knows a test's name answers the test, not the user"),
    (
        "test-removed",
        State::Deny,
        "a test of the base is gone, nothing else has its body, and the task does not declare it",
    ),
    ("test-emptied", State::Deny, "the test's name stands, its body is gone: nothing in it can fail"),
    ("test-uncollected", State::Deny, "the test's body stands where no runner collects it"),
    ("removal-asked", State::Ask, "the criteria speak of removing, the task does not declare which tests"),
    ("marker-conditional", State::Ask, "a condition now decides whether a test of the base runs"),
    ("panic-expected", State::Ask, "a test of the base now passes by panicking"),
    ("new-test-idle", State::Ask, "a new test that does not run proves nothing"),
    ("exit-possible", State::Ask, "a test ends the process with a code that only a run can show"),
    ("assertion-removed", State::Ask, "a test demands fewer things than before"),
    ("assertion-weakened", State::Ask, "a test demands less than before"),
    ("expectation-changed", State::Ask, "a test expects something else than before"),
    ("tolerance-changed", State::Ask, "a test allows another distance than before"),
    ("assertion-swallowed", State::Ask, "an assertion's failure may be caught"),
    ("assertion-unreachable", State::Ask, "a test may return before its assertions"),
    ("assertion-never-reached", State::Ask, "an assertion stands where nothing executes it"),
    ("assertion-free", State::Ask, "a test without assertions may still bite; a run decides"),
    ("assertion-vacuous", State::Ask, "an assertion that cannot fail proves nothing"),
    ("exception-broad", State::Ask, "any exception satisfies it, a typing error's too"),
    ("cases-changed", State::Ask, "cases of a test were taken away or changed"),
    ("test-file-unread", State::Ask, "tests of this language are not told apart, and lines of the base are gone"),
    ("collection-narrowed", State::Ask, "fewer tests may be collected; a run shows which"),
    ("runner-settings", State::Ask, "settings decide what a green run means"),
    ("ci-changed", State::Ask, "CI runs the tests for others"),
    ("snapshot-rewritten", State::Ask, "a kept expectation was replaced"),
    ("test-environment-detected", State::Ask, "production code asks whether it is tested; there are honest reasons"),
    ("assertion-replaced", State::Ask, "what tests are judged with is replaced, or the runner reached into"),
    ("name-rebound", State::Ask, "what others use is bound anew and stays so for every test behind it"),
    ("equality-constant", State::Ask, "what tests compare with is always equal"),
    ("caller-inspected", State::Ask, "production code looks at who calls it"),
    ("ignored-file-loaded", State::Ask, "a test names a file that does not land"),
    ("marker-platform", State::Info, "another system does not run it; whether this one does is seen by the run"),
    ("test-renamed", State::Info, "the same body under another name"),
    ("test-moved", State::Info, "the same test in another file"),
    ("test-merged", State::Info, "its assertions stand in another test"),
    ("assertion-moved", State::Info, "its demands stand in a helper or in parameters"),
    ("removal-declared", State::Info, "the task declares it"),
    ("tests-added", State::Info, "new tests"),
    ("test-edited", State::Info, "edited, every assertion kept"),
    ("test-data-changed", State::Info, "data among the tests changed; no expectation by its name"),
    ("snapshot-added", State::Info, "a new kept expectation"),
    ("lint-silenced", State::Info, "a lint is switched off for a line"),
];

/// A quoted line shows at most this many characters.
const LONGEST_QUOTE: usize = 160;

/// A finding of a rule of the table.
pub(super) fn raise(
    rule: &'static str,
    place: impl Display,
    expected: impl Into<String>,
    observed: impl Display,
) -> Finding {
    // A rule that is not in the table would be a mistake of ours: it must not pass silently.
    let state = RULES.iter().find(|(id, ..)| *id == rule).map_or(State::Unknown, |(_, state, _)| *state);
    let remedy = if state == State::Deny { Remedy::Fix } else { Remedy::AskUser };
    Finding {
        state,
        place: place.to_string(),
        expected: expected.into(),
        observed: format!("{rule}: {observed}"),
        remedy,
    }
}

/// A line for people: trimmed, escaped, bounded, in backquotes.
pub(super) fn quote(line: &str) -> String {
    let (shown, cut) = redact_and_cut(line.trim(), LONGEST_QUOTE);
    let more = if cut { "…" } else { "" };
    format!("`{}{more}`", escape(shown.as_bytes()))
}

/// A name for people.
pub(super) fn name(name: &str) -> String {
    quote(name)
}
