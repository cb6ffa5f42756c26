//! Our own predicate about a range that nobody verified when it landed and that somebody verified since (RULINGS 23). It
//! lies on the range's last commit, so that it travels with the notes; the reference in `certified/` stays at home.

use super::envelope::{Statement, Subject};
use super::landing::judged_under;
use super::{AttestError, CERTIFIED, Noted, write};
use crate::host::clock::Timestamp;
use crate::host::git::Repo;
use crate::host::ids::{CommitId, TreeId};
use crate::host::signing::find_key;
use crate::receipts::case;
use crate::receipts::uncertified::Range;
use crate::verdict::Warrant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A PASS whose diff starts at or before a range, on work that contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certified {
    /// The commit before the range.
    pub from: CommitId,
    /// Its last commit.
    pub to: CommitId,
    /// Where the verified diff starts.
    pub base: CommitId,
    /// Where the judged branch or worktree stood: it contains the range.
    pub head: CommitId,
    /// The verified tree.
    pub tree: TreeId,
    /// Who judged.
    pub verifier: String,
    /// SHA-256 of the policy it was judged under.
    pub policy: String,
    /// The sealed case.
    pub case: CommitId,
    /// The version of countersign.
    pub version: String,
    /// When, in UTC.
    pub at: String,
}

/// Writes onto the last commit of each range that a PASS covers it, signed if there is a key.
///
/// # Errors
/// The case or the notes cannot be read or written.
pub fn attest_certified(
    repo: &Repo,
    ranges: &[Range],
    head: &CommitId,
    warrant: &Warrant,
    case: &CommitId,
    at: Timestamp,
) -> Result<Vec<Noted>, AttestError> {
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let sealed = case::read(repo, case)?;
    let (verifier, policy) = judged_under(&sealed.attempt.receipts);
    let mut noted = Vec::new();
    for range in ranges {
        let tree = repo.tree_of(&range.commit)?;
        let certified = Certified {
            from: range.parent.clone(),
            to: range.commit.clone(),
            base: warrant.base().clone(),
            head: head.clone(),
            tree: warrant.tree().clone(),
            verifier: verifier.clone(),
            policy: policy.clone(),
            case: case.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at: at.to_utc(),
        };
        let digest = |algorithm: &str, id: &str| BTreeMap::from([(algorithm.to_owned(), id.to_owned())]);
        let subject = vec![
            Subject { name: "the range's last commit".to_owned(), digest: digest("gitCommit", range.commit.as_str()) },
            Subject { name: "its tree".to_owned(), digest: digest("gitTree", tree.as_str()) },
        ];
        let statement = Statement::new(subject, CERTIFIED, serde_json::to_value(&certified).unwrap_or_default());
        noted.push(write(repo, &range.commit, &[statement], find_key(repo, None), at)?);
    }
    Ok(noted)
}
