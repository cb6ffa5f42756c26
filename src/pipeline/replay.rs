//! Decide a sealed case again from its receipts alone, and compare.

use super::VerifyError;
use crate::host::git::{EntryKind, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::receipts::case::{self, Sealed};
use crate::receipts::{DecisionRecord, Fact, HeardRecord, Receipt};
use crate::verdict;
use schemars::JsonSchema;
use serde::Serialize;

/// What a replay found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Replayed {
    /// The case commit.
    pub case: CommitId,
    /// What was sealed.
    pub sealed: DecisionRecord,
    /// What the receipts give now.
    pub replayed: DecisionRecord,
    /// True if both agree, the verdict included.
    pub agrees: bool,
    /// What differs, in words.
    pub differences: Vec<String>,
}

/// One sealed attempt of a case: the last, or the numbered one.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn find_case(repo: &Repo, key: &str, attempt: Option<u32>) -> Result<Sealed, VerifyError> {
    let missing = || VerifyError::NoSuchCase {
        key: escape(key.as_bytes()),
        attempt: attempt.map_or_else(String::new, |n| format!(" with attempt {n}")),
    };
    // Attempts that ran side by side are sealed in the order they ended: the last is the one with the highest number.
    let mut last: Option<(u32, Sealed)> = None;
    for commit in case::attempts(repo, key)? {
        let sealed = case::read(repo, &commit)?;
        let opened = sealed.attempt.receipts.iter().find_map(|r| match &r.fact {
            Fact::Opened(opened) => Some(opened.attempt),
            _ => None,
        });
        let number = opened.unwrap_or(0);
        if attempt == Some(number) {
            return Ok(sealed);
        }
        if attempt.is_none() && last.as_ref().is_none_or(|(highest, _)| number > *highest) {
            last = Some((number, sealed));
        }
    }
    if let Some((_, sealed)) = last {
        return Ok(sealed);
    }
    Err(missing())
}

/// Hears the sealed answer again, decides again, and compares with what was sealed.
///
/// # Errors
/// The claim's tree is gone, or the case is not complete.
pub fn replay(repo: &Repo, sealed: &Sealed) -> Result<Replayed, VerifyError> {
    replay_on(repo, sealed, None)
}

/// The same where the claim's own tree may be absent: claims are never shared, and the landed tree has their files.
///
/// # Errors
/// As [`replay`].
pub(super) fn replay_on(repo: &Repo, sealed: &Sealed, landed: Option<&TreeId>) -> Result<Replayed, VerifyError> {
    let receipts = &sealed.attempt.receipts;
    let incomplete = |part: &str| case::CaseError::Incomplete { commit: sealed.commit.clone(), part: part.to_owned() };
    let decided = receipts.iter().find_map(|r| if let Fact::Decided(d) = &r.fact { Some(d.clone()) } else { None });
    let decided = decided.ok_or_else(|| incomplete("a decision"))?;
    let mut differences = Vec::new();
    let last_heard = receipts.iter().rposition(|r| matches!(r.fact, Fact::Heard(_)));
    let mut again: Vec<Receipt> = receipts.iter().filter(|r| !matches!(r.fact, Fact::Decided(_))).cloned().collect();
    if let Some(at) = last_heard
        && let Fact::Heard(was) = &receipts[at].fact
        && let Some(answer) = heard_from(was, sealed)
    {
        let tree = receipts.iter().find_map(|r| if let Fact::Claim(c) = &r.fact { Some(c.tree.clone()) } else { None });
        let tree = tree.ok_or_else(|| incomplete("a claim"))?;
        let tree = landed.filter(|_| repo.folder(&tree, &RepoPath::from("")).is_err()).cloned().unwrap_or(tree);
        let exists =
            |path: &RepoPath| repo.entry(&tree, path).ok().map(|e| e.is_some_and(|e| e.kind() != EntryKind::Folder));
        let heard = verdict::hear(answer, &receipts[..at], &exists);
        if heard != *was {
            differences.push(format!("the answer is heard as {} now, it was {}", word(&heard), word(was)));
        }
        again[at].fact = Fact::Heard(heard);
    }
    let replayed = verdict::judge(&again).record();
    if replayed != decided {
        differences.push(format!("the decision is {} now, it was {}", replayed.kind.word(), decided.kind.word()));
    }
    for page in case::edited(repo, sealed)? {
        differences.push(format!(
            "{} is not what the receipts say: it was edited after it was sealed",
            escape(page.as_bytes())
        ));
    }
    Ok(Replayed { case: sealed.commit.clone(), sealed: decided, replayed, agrees: differences.is_empty(), differences })
}

/// The answer that a verdict was read from; none where the verdict rests on something else than words.
fn heard_from<'a>(was: &HeardRecord, sealed: &'a Sealed) -> Option<&'a [u8]> {
    match was {
        HeardRecord::Pass { .. }
        | HeardRecord::Fail { .. }
        | HeardRecord::Skip { .. }
        | HeardRecord::Unusable { .. } => sealed.attempt.answers.last().map(Vec::as_slice),
        HeardRecord::Abstained { .. }
        | HeardRecord::NoAnswer { .. }
        | HeardRecord::Trespassed { .. }
        | HeardRecord::NotAsked { .. } => None,
    }
}

fn word(heard: &HeardRecord) -> &'static str {
    match heard {
        HeardRecord::Pass { .. } => "PASS",
        HeardRecord::Fail { .. } => "FAIL",
        HeardRecord::Skip { .. } => "SKIP",
        HeardRecord::Abstained { .. } => "an abstention",
        HeardRecord::Unusable { .. } => "unusable",
        HeardRecord::NoAnswer { .. } => "no answer",
        HeardRecord::Trespassed { .. } => "void",
        HeardRecord::NotAsked { .. } => "not asked",
    }
}
