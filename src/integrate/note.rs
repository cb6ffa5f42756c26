//! The note on a landed commit: an in-toto Statement about the commit and its tree.

use super::land::LandingRecord;
use crate::host::ids::CommitId;
use crate::receipts::uncertified::Range;
use crate::verdict::{Warrant, WarrantOrigin};
use serde_json::json;

/// Where the notes are.
pub const NOTES: &str = "refs/notes/countersign";

/// The type of our own predicate, until its fields are settled.
pub const PREDICATE: &str = "urn:countersign:landing:0";

/// The note's text: one JSON document.
pub fn statement(record: &LandingRecord, warrant: &Warrant, case: Option<&CommitId>, open: &[Range]) -> String {
    let mut statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            { "name": record.target, "digest": { "gitCommit": record.commit } },
            { "name": format!("{}^{{tree}}", record.target), "digest": { "gitTree": record.tree } },
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "task": record.task,
            "origin": record.origin,
            "reason": warrant.reason().code,
            "claim": record.claim,
            "claimTree": warrant.tree(),
            "base": warrant.base(),
            "parent": record.parent,
            "mergedTree": record.merged,
            "case": case,
            "version": env!("CARGO_PKG_VERSION"),
        },
    });
    if !open.is_empty() {
        statement["predicate"]["uncertified"] = json!(open);
    }
    // Who took it upon themselves, and over what.
    if warrant.origin() == WarrantOrigin::Override {
        statement["predicate"]["approved"] = json!(warrant.reason().text);
    }
    format!("{statement:#}\n")
}
