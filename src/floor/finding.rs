//! How a check words what it found.

use crate::host::git::GitError;
use crate::receipts::{CheckReport, Finding, Remedy, State};
use std::fmt::Display;

fn finding(
    state: State,
    remedy: Remedy,
    place: impl Display,
    expected: impl Into<String>,
    observed: impl Into<String>,
) -> Finding {
    Finding { state, place: place.to_string(), expected: expected.into(), observed: observed.into(), remedy }
}

/// A fact that makes the claim false; the worker can mend it.
pub(super) fn deny(place: impl Display, expected: impl Into<String>, observed: impl Into<String>) -> Finding {
    finding(State::Deny, Remedy::Fix, place, expected, observed)
}

/// A suspicion: the verifier sees it, without one a person decides.
pub(super) fn ask(place: impl Display, expected: impl Into<String>, observed: impl Into<String>) -> Finding {
    finding(State::Ask, Remedy::AskUser, place, expected, observed)
}

/// Worth knowing; nothing follows from it.
pub(super) fn info(place: impl Display, expected: impl Into<String>, observed: impl Into<String>) -> Finding {
    finding(State::Info, Remedy::AskUser, place, expected, observed)
}

/// It could not be found out; nobody is blamed.
pub(super) fn unknown(place: impl Display, expected: impl Into<String>, observed: impl Into<String>) -> Finding {
    finding(State::Unknown, Remedy::AskUser, place, expected, observed)
}

/// The object store did not answer.
pub(super) fn unreadable(place: impl Display, why: &GitError) -> Finding {
    unknown(place, "an object store that can be read; run `git fsck`, or fetch what is missing", why.to_string())
}

/// A check's report; where the look-up itself failed, the check as a whole is unknown.
pub(super) fn settle(id: &str, looked: Result<Vec<Finding>, GitError>) -> CheckReport {
    match looked {
        Ok(findings) => CheckReport::of(id, findings),
        Err(why) => CheckReport::of(id, vec![unreadable("", &why)]),
    }
}

/// `1 file`, `2 files`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
