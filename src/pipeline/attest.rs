//! The note on a landed commit, shown and verified: without a network, without a model, from what this clone has.

use super::VerifyError;
use super::replay::replay_on;
use super::settings::project_layer;
use crate::config::{GateSettings, Layer, settle};
use crate::host::digest::digest;
use crate::host::git::{GitError, Notes, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::integrate::attest::{
    AllowedSigners, Envelope, LANDING, Landing, SignatureState, Statement, VSA, check_signature, notes_ref,
    parse_bundle,
};
use crate::integrate::share::results_for;
use crate::receipts::case::{self, Sealed};
use crate::receipts::ledger::to_lines;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The ledger of a sealed case is read no further.
const LARGEST: u64 = 256 << 20;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// No such commit.
    #[error("{0} names no commit in this repository; fetch it, or give a branch, a tag or a full commit id")]
    NoCommit(String),
    /// No note.
    #[error("{commit} has no note: whoever landed it runs `countersign push`, and this clone `countersign fetch`")]
    NoNote {
        /// The commit.
        commit: CommitId,
    },
    /// A file that is no key.
    #[error("cannot take {path} as a key: {why}; give a public key (OpenSSH, or Ed25519 in PEM) or a file of allowed signers", path = path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The settings or the case.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// One statement of a note.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShownStatement {
    /// The type of what it says.
    pub predicate_type: String,
    /// What it says; null if it cannot be read.
    pub statement: Value,
    /// `good`, `unsigned`, or the code of a signature that does not count.
    pub signature: String,
    /// Whose signature, or why it does not count.
    pub detail: String,
}

/// A note, as it is.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ShownNote {
    /// The commit it is on.
    pub commit: CommitId,
    /// Its statements, in order.
    pub statements: Vec<ShownStatement>,
    /// How many of its lines are none.
    pub unreadable: usize,
}

/// How one thing about a note stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is as it has to be.
    Good,
    /// It could not be found out.
    Missing,
    /// It is not.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct NoteCheck {
    /// `subject`, `signature`, `statements`, `receipts`, `replay`.
    pub name: String,
    /// How it stands.
    pub standing: Standing,
    /// In words.
    pub text: String,
}

/// The answer of `countersign attest verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct VerifiedNote {
    /// The commit.
    pub commit: CommitId,
    /// What was looked at.
    pub checks: Vec<NoteCheck>,
}

impl VerifiedNote {
    /// The worst of it.
    pub fn standing(&self) -> Standing {
        let has = |standing| self.checks.iter().any(|check| check.standing == standing);
        match (has(Standing::Bad), has(Standing::Missing)) {
            (true, _) => Standing::Bad,
            (false, true) => Standing::Missing,
            (false, false) => Standing::Good,
        }
    }
}

/// The commit that a word names, and the bytes of its note.
///
/// # Errors
/// There is none.
pub fn note_of(repo: &Repo, rev: &str) -> Result<(CommitId, Vec<u8>), NoteError> {
    let commit = repo.resolve(rev)?.ok_or_else(|| NoteError::NoCommit(escape(rev.as_bytes())))?;
    match Notes::open(repo, &notes_ref()?)?.get(&commit)? {
        Some(note) => Ok((commit, note)),
        None => Err(NoteError::NoNote { commit }),
    }
}

/// Whose signatures count for a commit: those of the key that was given, else those that its parent allows.
///
/// # Errors
/// The parent's settings cannot be read.
fn allowed(repo: &Repo, commit: &CommitId, key: Option<&AllowedSigners>) -> Result<AllowedSigners, NoteError> {
    if let Some(key) = key {
        return Ok(key.clone());
    }
    let Some(parent) = repo.parents_of(commit)?.0.into_iter().next() else { return Ok(AllowedSigners::default()) };
    let tree = repo.tree_of(&parent)?;
    let layers: Vec<Layer> = project_layer(repo, &tree)?.into_iter().collect();
    let gate: GateSettings = settle(&layers).map_err(VerifyError::from)?.gate;
    let file = repo.file(&tree, &RepoPath::from(gate.signers_file()), 2 << 20)?;
    Ok(AllowedSigners::parse(&file.unwrap_or_default()))
}

fn state(repo: &Repo, envelope: &Envelope, allowed: &AllowedSigners) -> (String, String) {
    match check_signature(repo.host(), envelope, allowed, repo.host().clock.now()) {
        SignatureState::Good { principal } => ("good".to_owned(), principal),
        SignatureState::Unsigned => ("unsigned".to_owned(), "nobody signed it".to_owned()),
        SignatureState::Bad { code, why } => (code.to_owned(), why),
    }
}

/// A note as it is, with what its signatures are worth.
///
/// # Errors
/// There is no such commit, or no note on it.
pub fn show_note(repo: &Repo, rev: &str, key: Option<&AllowedSigners>) -> Result<ShownNote, NoteError> {
    let (commit, note) = note_of(repo, rev)?;
    let allowed = allowed(repo, &commit, key)?;
    let (envelopes, unreadable) = parse_bundle(&note);
    let statements = envelopes.iter().map(|envelope| {
        let (signature, detail) = state(repo, envelope, &allowed);
        let statement = envelope.statement();
        ShownStatement {
            predicate_type: statement.as_ref().map_or_else(|_| String::new(), |one| one.predicate_type.clone()),
            statement: statement.ok().and_then(|one| serde_json::to_value(one).ok()).unwrap_or(Value::Null),
            signature,
            detail,
        }
    });
    Ok(ShownNote { commit, statements: statements.collect(), unreadable })
}

/// Verifies a note: subjects, signatures, the statements against each other, the receipts against their digest, and the
/// decision computed again from them.
///
/// # Errors
/// There is no such commit, or no note on it.
pub fn verify_note(repo: &Repo, rev: &str, key: Option<&AllowedSigners>) -> Result<VerifiedNote, NoteError> {
    let (commit, note) = note_of(repo, rev)?;
    let allowed = allowed(repo, &commit, key)?;
    let (envelopes, unreadable) = parse_bundle(&note);
    let mut checks = Vec::new();
    let mut add = |name: &str, standing, text: String| checks.push(NoteCheck { name: name.to_owned(), standing, text });
    if unreadable > 0 {
        add("statements", Standing::Bad, format!("{unreadable} lines of the note are no statements"));
    }
    for envelope in &envelopes {
        let kind = envelope.statement().map_or_else(|why| why.to_string(), |one| one.predicate_type);
        let (code, detail) = state(repo, envelope, &allowed);
        let standing = match code.as_str() {
            "good" => Standing::Good,
            "unsigned" => Standing::Missing,
            _ => Standing::Bad,
        };
        add("signature", standing, format!("{kind}: {code}: {detail}"));
    }
    let statements: Vec<Statement> = envelopes.iter().filter_map(|envelope| envelope.statement().ok()).collect();
    let summaries: Vec<String> = statements
        .iter()
        .filter(|statement| statement.predicate_type == VSA)
        .map(|statement| statement.predicate["inputAttestations"].to_string())
        .collect();
    let mut tasks: BTreeMap<String, Vec<Vec<NoteCheck>>> = BTreeMap::new();
    for statement in statements.iter().rev().filter(|statement| statement.predicate_type == LANDING) {
        let Ok(landing) = serde_json::from_value::<Landing>(statement.predicate.clone()) else { continue };
        let named = summaries.iter().any(|inputs| inputs.contains(&digest(&statement.bytes())));
        let found = landing_checks(repo, &commit, &landing, named)?;
        tasks.entry(landing.task).or_default().push(found);
    }
    if tasks.is_empty() {
        add("statements", Standing::Bad, "the note says nothing about a landing".to_owned());
    }
    // Several machines may have judged one task, and one machine twice: one that holds is enough, and the newest speaks
    // where none does.
    for found in tasks.into_values() {
        let whole = |checks: &Vec<NoteCheck>| checks.iter().all(|check| check.standing == Standing::Good);
        let at = found.iter().position(whole).unwrap_or(0);
        checks.extend(found.into_iter().nth(at).into_iter().flatten());
    }
    Ok(VerifiedNote { commit, checks })
}

/// What one landing of a note says about its commit, against what is there.
fn landing_checks(repo: &Repo, commit: &CommitId, landing: &Landing, named: bool) -> Result<Vec<NoteCheck>, NoteError> {
    let check = |name: &str, good: bool, text: String| NoteCheck {
        name: name.to_owned(),
        standing: if good { Standing::Good } else { Standing::Bad },
        text,
    };
    let task = escape(landing.task.as_bytes());
    let mut checks = Vec::new();
    let here = landing.commit == *commit && landing.tree == repo.tree_of(commit)?;
    // One landing has one parent; a gate that judged a range speaks of all of it.
    let below = repo.is_ancestor(&landing.parent, commit).unwrap_or(false) && landing.parent != *commit;
    let true_tree =
        landing.parent_tree.as_ref().is_none_or(|tree| repo.tree_of(&landing.parent).is_ok_and(|own| own == *tree));
    let about = here && below && true_tree;
    let text = if about {
        let (tree, parent) = (landing.tree.short(), landing.parent.short());
        format!("{task}: the commit, its tree {tree} and what changed since {parent}")
    } else {
        let (other, tree, parent) = (landing.commit.short(), landing.tree.short(), landing.parent.short());
        format!("{task}: it is about the commit {other} with the tree {tree} on {parent}")
    };
    checks.push(check("subject", about, text));
    let text = if named { "the summary names the landing by its digest" } else { "no summary names the landing" };
    checks.push(check("statements", named, format!("{task}: {text}")));
    checks.extend(replayed(repo, landing)?);
    Ok(checks)
}

/// The case behind a landing: sealed here, or shared in the ledger.
fn sealed_case(repo: &Repo, landing: &Landing) -> Result<Option<Sealed>, NoteError> {
    if let Some(case) = &landing.case
        && let Ok(sealed) = case::read(repo, case)
    {
        return Ok(Some(sealed));
    }
    for shared in results_for(repo, &landing.tree)? {
        if (&shared.task, shared.key) == (&landing.task, landing.key()) {
            let name = landing.case.clone().unwrap_or_else(|| landing.commit.clone());
            return Ok(case::read_tree(repo, &name, shared.pages).ok());
        }
    }
    Ok(None)
}

fn replayed(repo: &Repo, landing: &Landing) -> Result<Vec<NoteCheck>, NoteError> {
    let check = |name: &str, standing, text: String| NoteCheck { name: name.to_owned(), standing, text };
    let Some(sealed) = sealed_case(repo, landing)? else {
        let text = "its sealed case is not here: run `countersign fetch`; whoever landed it runs `countersign push`";
        return Ok(vec![check("receipts", Standing::Missing, text.to_owned())]);
    };
    let lines = repo.file(&sealed.tree, &RepoPath::from("receipts.jsonl"), LARGEST)?.unwrap_or_default();
    let again = to_lines(&sealed.attempt.receipts).unwrap_or_default();
    let wanted = landing.receipts.as_ref().map(|receipts| receipts.sha256.as_str());
    if wanted != Some(digest(&lines).as_str()) || lines != again {
        let text = "the sealed receipts are not those that the note names: one of both was edited".to_owned();
        return Ok(vec![check("receipts", Standing::Bad, text)]);
    }
    let count = sealed.attempt.receipts.len();
    let mut checks = vec![check("receipts", Standing::Good, format!("{count} receipts with the digest of the note"))];
    let stand_in: &TreeId = &landing.tree;
    let found = replay_on(repo, &sealed, Some(stand_in))?;
    checks.push(if found.agrees {
        check("replay", Standing::Good, format!("the receipts give {} again", found.replayed.kind.word()))
    } else {
        check("replay", Standing::Bad, found.differences.join("; "))
    });
    Ok(checks)
}
