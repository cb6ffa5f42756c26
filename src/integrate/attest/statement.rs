//! The three statements of a landing: our own, a test result, and a verification summary over both.

use super::LANDING;
use super::envelope::{Statement, Subject};
use super::landing::Landing;
use crate::host::clock::Timestamp;
use crate::host::digest::digest;
use crate::host::ids::TreeId;
use crate::receipts::{CaseResult, Fact, Purpose, Receipt, TestCase};
use crate::verdict::WarrantOrigin;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The type of a SLSA verification summary, version 1.
pub const VSA: &str = "https://slsa.dev/verification_summary/v1";

/// The type of an in-toto test result, version 0.1.
pub const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// So many test names are listed; the sealed case has them all.
const MOST_NAMES: usize = 2_000;

/// Our own statement: everything that the merge gate compares.
pub fn landing_statement(landing: &Landing) -> Statement {
    let digest = |algorithm: &str, id: &str| BTreeMap::from([(algorithm.to_owned(), id.to_owned())]);
    let subject = vec![
        Subject { name: landing.target.clone(), digest: digest("gitCommit", landing.commit.as_str()) },
        Subject { name: format!("{}^{{tree}}", landing.target), digest: digest("gitTree", landing.tree.as_str()) },
    ];
    Statement::new(subject, LANDING, serde_json::to_value(landing).unwrap_or(Value::Null))
}

/// The tests that ran on the claim's tree; none where none did.
pub fn test_result(subject: &[Subject], tree: &TreeId, receipts: &[Receipt]) -> Option<Statement> {
    let (mut commands, mut cases, mut green) = (Vec::new(), Vec::new(), true);
    for receipt in receipts {
        match &receipt.fact {
            Fact::Command(command) if command.purpose == Purpose::Tests && command.tree == *tree => {
                green &= command.ending.is_success();
                commands.push(json!({
                    "name": command.command,
                    "digest": { "sha256": digest(command.command.as_bytes()) },
                }));
            }
            Fact::Tests(tests) if tests.tree == *tree => cases.extend(&tests.cases),
            _ => {}
        }
    }
    if commands.is_empty() {
        return None;
    }
    let named = |results: &[CaseResult]| {
        let mut names: Vec<String> =
            cases.iter().filter(|case| results.contains(&case.result)).map(|case| full_name(case)).collect();
        names.sort();
        names.dedup();
        names.truncate(MOST_NAMES);
        names
    };
    let failed = named(&[CaseResult::Failed, CaseResult::Errored]);
    let result = if green && failed.is_empty() { "PASSED" } else { "FAILED" };
    let predicate = json!({
        "result": result,
        "configuration": commands,
        "passedTests": named(&[CaseResult::Passed]),
        "warnedTests": named(&[CaseResult::Skipped]),
        "failedTests": failed,
    });
    Some(Statement::new(subject.to_vec(), TEST_RESULT, predicate))
}

fn full_name(case: &TestCase) -> String {
    if case.suite.is_empty() { case.name.clone() } else { format!("{}::{}", case.suite, case.name) }
}

/// The summary for others' tools. Only a verified landing has passed there: a reader that knows nothing of a SKIP or an
/// override must not take one for a pass.
pub fn verification_summary(landing: &Statement, tests: Option<&Statement>, at: Timestamp) -> Statement {
    let field = |name: &str| landing.predicate.get(name).and_then(Value::as_str).unwrap_or_default();
    let verified = landing.predicate.get("origin") == Some(&json!(WarrantOrigin::Verified));
    let inputs: Vec<Value> = std::iter::once(landing)
        .chain(tests)
        .map(|input| json!({ "uri": input.predicate_type, "digest": { "sha256": digest(&input.bytes()) } }))
        .collect();
    let predicate = json!({
        "verifier": {
            "id": "https://crates.io/crates/countersign",
            "version": { "countersign": env!("CARGO_PKG_VERSION") },
        },
        "timeVerified": rfc3339(at),
        "resourceUri": format!("urn:countersign:{}", field("target")),
        "policy": { "uri": "urn:countersign:policy", "digest": { "sha256": field("policy") } },
        "inputAttestations": inputs,
        "verificationResult": if verified { "PASSED" } else { "FAILED" },
        "verifiedLevels": if verified { vec!["COUNTERSIGN_VERIFIED"] } else { Vec::new() },
    });
    Statement::new(landing.subject.clone(), VSA, predicate)
}

fn rfc3339(at: Timestamp) -> String {
    at.to_utc().replacen(' ', "T", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_passed_for_a_verified_landing_alone() {
        for (origin, result) in
            [("verified", "PASSED"), ("skipped", "FAILED"), ("override", "FAILED"), ("unverified", "FAILED")]
        {
            let landing = Statement::new(Vec::new(), LANDING, json!({"origin": origin, "target": "refs/heads/main"}));
            let summary = verification_summary(&landing, None, Timestamp(0));
            assert_eq!(summary.predicate["verificationResult"], result, "{origin}");
            assert_eq!(summary.predicate["timeVerified"], "1970-01-01T00:00:00Z");
        }
    }

    #[test]
    fn without_a_test_run_there_is_no_test_result() {
        assert_eq!(test_result(&[], &TreeId::new(&"1".repeat(40)).unwrap(), &[]), None);
    }
}
