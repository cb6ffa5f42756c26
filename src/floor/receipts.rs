//! `receipts`: what the worker's report says it did, against its captured tool calls and what is there.
//!
//! The table is made by [`super::reconcile`]; this check reads it. It can only lower a claim. What the report says about
//! its list of files, and the field for its tests, have checks of their own.

use super::finding::{ask, count, deny, info};
use crate::receipts::{CheckReport, Finding, Reconciled, Row, Standing};
use crate::worker::AssertionKind;

/// The check's id.
pub const ID: &str = "receipts";

/// Denies what a receipt refutes. What nobody can tell is a question where the worker's calls were captured, where they
/// should have been and cannot be read (`doubt` says why; empty otherwise), or where the world outside would have to show
/// it; without calls that is the rule and no suspicion, so it is only told.
pub fn inspect(table: &Reconciled, doubt: &str) -> CheckReport {
    if table.rows.is_empty() {
        return CheckReport::not_applicable(ID, "the report says nothing in words that a receipt could bear out");
    }
    let captured = table.ledger.is_some() || !doubt.is_empty();
    let findings: Vec<Finding> = table.rows.iter().filter_map(|row| finding(row, captured)).collect();
    let calls = match &table.ledger {
        Some(ledger) => count(ledger.calls, "captured call"),
        None if doubt.is_empty() => "no captured calls".to_owned(),
        None => doubt.to_owned(),
    };
    CheckReport::of(ID, findings).noting(format!(
        "{} of {} backed; {calls}",
        table.backed(),
        count(table.rows.len(), "assertion")
    ))
}

fn finding(row: &Row, captured: bool) -> Option<Finding> {
    let place = format!("the report: {}", row.assertion.what());
    let expected = "a receipt that bears it out";
    match row.standing {
        Standing::Backed => None,
        Standing::Unbacked => Some(deny(place, expected, row.observed.as_str())),
        Standing::Unverifiable if captured || is_outside(row.assertion.kind) => {
            Some(ask(place, expected, row.observed.as_str()))
        }
        Standing::Unverifiable => Some(info(place, expected, row.observed.as_str())),
    }
}

/// True for what happens outside this machine: there no tree can show it.
fn is_outside(kind: AssertionKind) -> bool {
    matches!(kind, AssertionKind::BranchPushed | AssertionKind::PrOpened | AssertionKind::Deployed)
}
