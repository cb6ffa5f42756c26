//! A case: all attempts of one task, sealed in git as a chain of commits under `refs/countersign/cases/<key>`.
//!
//! Each commit holds one attempt (`claim.json`, `receipts.jsonl`, `brief.md`, `answer*.txt`, `verdict.json`,
//! `decision.json`, `logs/`); its parents are the previous case commit and the claim commit. Plain git shows it all.

use super::ledger::{LedgerError, read_lines, to_lines};
use super::{Fact, Receipt};
use crate::claim::Claim;
use crate::host::clock::Timestamp;
use crate::host::digest::digest;
use crate::host::git::{GitError, RefMove, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use std::collections::BTreeMap;

/// A ledger larger than this is not read back.
const LARGEST_LEDGER: u64 = 256 << 20;

/// The page of a case commit that holds a person's last ruling.
pub const RULING_PAGE: &str = "ruling.json";

/// How often sealing tries again when another process sealed an attempt of the same case meanwhile.
const TRIES: u32 = 20;

/// Why a case could not be sealed or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaseError {
    /// A key that cannot be a reference.
    #[error("cannot keep a case named {key}: git does not allow that reference")]
    BadKey {
        /// The key, escaped.
        key: String,
    },
    /// Others kept sealing.
    #[error("cannot seal the case {key}: other processes kept sealing attempts of it; run it again")]
    Raced {
        /// The key.
        key: String,
    },
    /// A sealed attempt without a part.
    #[error("the sealed case {commit} lacks {part}: it was not written by countersign, or was damaged")]
    Incomplete {
        /// The case commit.
        commit: CommitId,
        /// What is missing.
        part: String,
    },
    /// The ledger inside cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What one attempt seals.
#[derive(Debug, Clone, Default)]
pub struct Attempt {
    /// All receipts, the decision last.
    pub receipts: Vec<Receipt>,
    /// The brief, if a verifier was asked.
    pub brief: Option<String>,
    /// Its answers in order: the first, and the one to the resend.
    pub answers: Vec<Vec<u8>>,
    /// Logs by name, redacted.
    pub logs: BTreeMap<String, Vec<u8>>,
}

/// An attempt read back from git.
#[derive(Debug, Clone)]
pub struct Sealed {
    /// Its case commit, or that of the ledger it was shared in.
    pub commit: CommitId,
    /// The tree with its pages.
    pub tree: TreeId,
    /// What it holds (logs are left in git).
    pub attempt: Attempt,
}

/// The reference of a case.
///
/// # Errors
/// The key cannot be a reference.
pub fn case_ref(key: &str) -> Result<RefName, CaseError> {
    RefName::new(&format!("refs/countersign/cases/{key}"))
        .map_err(|name| CaseError::BadKey { key: escape(name.as_bytes()) })
}

/// Seals an attempt on top of the case and returns its commit.
///
/// # Errors
/// See [`CaseError`]. Nothing is lost then: the ledger stays where it is.
pub fn seal(repo: &Repo, key: &str, attempt: &Attempt, at: Timestamp) -> Result<CommitId, CaseError> {
    let name = case_ref(key)?;
    let tree = write_attempt(repo, attempt)?;
    let claim = attempt
        .receipts
        .iter()
        .find_map(|r| if let Fact::Claim(claim) = &r.fact { claim.commit.clone() } else { None });
    let message = message_of(key, &attempt.receipts);
    for _ in 0..TRIES {
        let tip = repo.read_ref(&name)?;
        let parents: Vec<CommitId> = tip.iter().cloned().chain(claim.clone()).collect();
        let commit = repo.write_commit(&tree, &parents, at, &message)?;
        if repo.move_ref(&name, &commit, tip.as_ref())? == RefMove::Moved {
            return Ok(commit);
        }
    }
    Err(CaseError::Raced { key: key.to_owned() })
}

/// Seals a person's ruling on a sealed attempt: the same pages with the ledger and the decision as they are now, and
/// `ruling.json`. It is not on the case before [`append`] puts it there. `sign`: in the user's name, with their key.
///
/// # Errors
/// See [`CaseError`]; nothing has moved then.
pub fn ruled(
    repo: &Repo,
    (key, tip): (&str, &CommitId),
    sealed: &Sealed,
    receipts: &[Receipt],
    (at, sign): (Timestamp, bool),
) -> Result<CommitId, CaseError> {
    let mut entries: BTreeMap<RepoPath, (u32, String)> = BTreeMap::new();
    for (path, entry) in repo.list(&repo.tree_of(&sealed.commit)?, "")? {
        entries.insert(path, (entry.mode, entry.id));
    }
    let mut files = sheets(receipts)?;
    files.insert("receipts.jsonl".to_owned(), to_lines(receipts)?);
    for (name, bytes) in files {
        let blob = repo.write_blob(&bytes)?;
        entries.insert(RepoPath::from(name.as_str()), (0o100_644, blob.as_str().to_owned()));
    }
    let tree = repo.write_tree(&entries)?;
    let claim =
        receipts.iter().find_map(|r| if let Fact::Claim(claim) = &r.fact { claim.commit.clone() } else { None });
    let parents: Vec<CommitId> = std::iter::once(tip.clone()).chain(claim).collect();
    let message = message_of(key, receipts);
    Ok(if sign {
        repo.commit_signed(&tree, &parents, at, &message)?
    } else {
        repo.write_commit(&tree, &parents, at, &message)?
    })
}

/// Puts a commit on top of a case whose tip is still `tip`. False: another process sealed something meanwhile.
///
/// # Errors
/// Git fails.
pub fn append(repo: &Repo, key: &str, commit: &CommitId, tip: &CommitId) -> Result<bool, CaseError> {
    Ok(repo.move_ref(&case_ref(key)?, commit, Some(tip))? == RefMove::Moved)
}

/// The attempts of a case, newest first.
///
/// # Errors
/// See [`CaseError`].
pub fn attempts(repo: &Repo, key: &str) -> Result<Vec<CommitId>, CaseError> {
    let mut next = repo.read_ref(&case_ref(key)?)?;
    let mut found = Vec::new();
    while let Some(commit) = next {
        next = previous(repo, &commit)?;
        found.push(commit);
    }
    Ok(found)
}

/// The case commit before this one. The claim is a parent too, and its content is the worker's: which parent is which is
/// told by what we wrote (`claim.json`), never by what the parent looks like.
fn previous(repo: &Repo, commit: &CommitId) -> Result<Option<CommitId>, CaseError> {
    let (mut parents, _) = repo.parents_of(commit)?;
    let written = repo.file(&repo.tree_of(commit)?, &RepoPath::from("claim.json"), LARGEST_LEDGER)?;
    let claim: Option<Claim> =
        written.map(|bytes| serde_json::from_slice(&bytes).map_err(LedgerError::Encoding)).transpose()?;
    if claim.and_then(|claim| claim.commit).is_some() {
        parents.pop();
    }
    Ok(parents.into_iter().next())
}

/// Reads one sealed attempt.
///
/// # Errors
/// See [`CaseError`].
pub fn read(repo: &Repo, commit: &CommitId) -> Result<Sealed, CaseError> {
    read_tree(repo, commit, repo.tree_of(commit)?)
}

/// Reads a sealed attempt from the tree with its pages; `commit` is what messages call it.
///
/// # Errors
/// See [`CaseError`].
pub fn read_tree(repo: &Repo, commit: &CommitId, tree: TreeId) -> Result<Sealed, CaseError> {
    let part = |name: &str| repo.file(&tree, &RepoPath::from(name), LARGEST_LEDGER);
    let lines = part("receipts.jsonl")?
        .ok_or_else(|| CaseError::Incomplete { commit: commit.clone(), part: "receipts.jsonl".to_owned() })?;
    let receipts = read_lines(&lines, &format!("{}:receipts.jsonl", commit.short()))?;
    let brief = part("brief.md")?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut answers = Vec::new();
    for number in 1.. {
        match part(&answer_name(number))? {
            Some(answer) => answers.push(answer),
            None => break,
        }
    }
    Ok(Sealed { commit: commit.clone(), tree, attempt: Attempt { receipts, brief, answers, logs: BTreeMap::new() } })
}

fn answer_name(number: usize) -> String {
    if number == 1 { "answer.txt".to_owned() } else { format!("answer-{number}.txt") }
}

fn write_attempt(repo: &Repo, attempt: &Attempt) -> Result<TreeId, CaseError> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    files.insert("receipts.jsonl".to_owned(), to_lines(&attempt.receipts)?);
    files.extend(sheets(&attempt.receipts)?);
    if let Some(brief) = &attempt.brief {
        files.insert("brief.md".to_owned(), brief.clone().into_bytes());
    }
    for (at, answer) in attempt.answers.iter().enumerate() {
        files.insert(answer_name(at + 1), answer.clone());
    }
    for (name, log) in &attempt.logs {
        files.insert(format!("logs/{name}"), log.clone());
    }
    let mut entries = BTreeMap::new();
    for (name, bytes) in files {
        let blob = repo.write_blob(&bytes)?;
        entries.insert(RepoPath::from(name.as_str()), (0o100_644, blob.as_str().to_owned()));
    }
    Ok(repo.write_tree(&entries)?)
}

/// The pages of a case that only repeat its receipts, for people who read it with plain git.
fn sheets(receipts: &[Receipt]) -> Result<BTreeMap<String, Vec<u8>>, CaseError> {
    let mut sheets = BTreeMap::new();
    for receipt in receipts {
        let (name, value) = match &receipt.fact {
            Fact::Claim(claim) => ("claim.json", serde_json::to_vec_pretty(claim)),
            Fact::Heard(heard) => ("verdict.json", serde_json::to_vec_pretty(heard)),
            Fact::Ruling(ruling) => (RULING_PAGE, serde_json::to_vec_pretty(ruling)),
            Fact::Decided(decision) => ("decision.json", serde_json::to_vec_pretty(decision)),
            _ => continue,
        };
        let mut value = value.map_err(LedgerError::Encoding)?;
        value.push(b'\n');
        sheets.insert(name.to_owned(), value);
    }
    Ok(sheets)
}

/// The pages and logs of a sealed attempt that are not what its receipts say: somebody edited them afterwards.
///
/// # Errors
/// The objects are gone.
pub fn edited(repo: &Repo, sealed: &Sealed) -> Result<Vec<String>, CaseError> {
    let tree = &sealed.tree;
    let mut edited = Vec::new();
    for (name, bytes) in sheets(&sealed.attempt.receipts)? {
        if repo.file(tree, &RepoPath::from(name.as_str()), LARGEST_LEDGER)?.as_ref() != Some(&bytes) {
            edited.push(name);
        }
    }
    for receipt in &sealed.attempt.receipts {
        let Fact::Command(command) = &receipt.fact else { continue };
        let name = format!("logs/{}", command.log);
        let log = repo.file(tree, &RepoPath::from(name.as_str()), LARGEST_LEDGER)?;
        if log.is_none_or(|log| digest(&log) != command.log_digest) {
            edited.push(name);
        }
    }
    Ok(edited)
}

fn message_of(key: &str, receipts: &[Receipt]) -> String {
    let mut subject = format!("case {key}");
    let mut body = String::new();
    for receipt in receipts {
        match &receipt.fact {
            Fact::Opened(opened) => subject.push_str(&format!(" attempt {}", opened.attempt)),
            Fact::Decided(decision) => {
                subject.push_str(&format!(": {}", decision.kind.word()));
                for reason in &decision.reasons {
                    body.push_str(&format!("- {}: {}\n", reason.code, escape(reason.text.as_bytes())));
                }
            }
            _ => {}
        }
    }
    format!("{subject}\n\n{body}")
}
