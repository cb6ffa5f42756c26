//! What is shared with a remote: notes, and one ledger of sealed results.
//!
//! A remote's push grows dear with the references it has, so finished cases become folders in the tree of one reference,
//! one commit a landing: `landed/<tree, spread>/<task>/<key>`. A result is made once under its key; of many that race, one
//! wins and the others see it. Claims and their commits stay where they were made (RULINGS 41).

mod remote;

pub use remote::{Fetched, Pushed, ShareError, Sharing, fetch, push};

use super::attest::{LANDING, Landing, NOTES, landing_in, notes_ref, parse_bundle};
use crate::host::clock::Timestamp;
use crate::host::git::{EntryKind, GitError, NewEntry, Notes, RefMove, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::host::redact::redact;
use std::collections::BTreeMap;

/// The reference of the shared ledger.
pub const LEDGER: &str = "refs/countersign/ledger";

/// Where results wait on a remote until somebody folds them into the ledger.
pub const INBOX: &str = "refs/countersign/inbox/";

/// The statements of a result, beside the pages of its case.
pub const BUNDLE: &str = "statement.intoto.jsonl";

/// Folders down to a task's are united, a result below it is taken whole.
const DEPTH: usize = 4;

/// How often the ledger is tried again when another process moved it meanwhile.
const TRIES: u32 = 50;

/// A larger page of a case is not shared.
const LARGEST_PAGE: u64 = 64 << 20;

/// A result in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// The task.
    pub task: String,
    /// Its key.
    pub key: String,
    /// The tree with its pages and statements.
    pub pages: TreeId,
}

/// What folding did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    /// Results that are new in the ledger.
    pub added: Vec<String>,
    /// Results that another one stands for, made earlier under the same key.
    pub stood: Vec<String>,
    /// What was not shared, and why.
    pub refused: Vec<String>,
}

pub(super) fn ledger_ref() -> Result<RefName, GitError> {
    named(LEDGER)
}

fn named(name: &str) -> Result<RefName, GitError> {
    RefName::new(name)
        .map_err(|name| GitError::Unreadable { command: "open".to_owned(), what: escape(name.as_bytes()) })
}

fn place(landing: &Landing) -> RepoPath {
    let tree = landing.tree.as_str();
    RepoPath::from(format!("landed/{}/{}/{}/{}", &tree[..2], &tree[2..], landing.task, landing.key()).as_str())
}

/// The results that are shared for a landed tree.
///
/// # Errors
/// Git fails.
pub fn results_for(repo: &Repo, tree: &TreeId) -> Result<Vec<Shared>, GitError> {
    let Some(ledger) = ledger_tree(repo)? else { return Ok(Vec::new()) };
    let id = tree.as_str();
    results_in(repo, &ledger, &format!("landed/{}/{}", &id[..2], &id[2..]))
}

/// The results that are shared for a task, whatever tree they landed as.
///
/// # Errors
/// Git fails.
pub fn results_of(repo: &Repo, task: &str) -> Result<Vec<Shared>, GitError> {
    let Some(ledger) = ledger_tree(repo)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for (first, _) in repo.folder(&ledger, &RepoPath::from("landed"))? {
        let first = String::from_utf8_lossy(&first).into_owned();
        for (rest, _) in repo.folder(&ledger, &RepoPath::from(format!("landed/{first}").as_str()))? {
            let place = format!("landed/{first}/{}", String::from_utf8_lossy(&rest));
            if repo.entry(&ledger, &RepoPath::from(format!("{place}/{task}").as_str()))?.is_some() {
                found.extend(results_in(repo, &ledger, &place)?.into_iter().filter(|shared| shared.task == task));
            }
        }
    }
    Ok(found)
}

fn ledger_tree(repo: &Repo) -> Result<Option<TreeId>, GitError> {
    repo.read_ref(&ledger_ref()?)?.map(|tip| repo.tree_of(&tip)).transpose()
}

fn results_in(repo: &Repo, ledger: &TreeId, place: &str) -> Result<Vec<Shared>, GitError> {
    let mut found = Vec::new();
    for (task, entry) in repo.folder(ledger, &RepoPath::from(place))? {
        let task = String::from_utf8_lossy(&task).into_owned();
        if entry.kind() != EntryKind::Folder {
            continue;
        }
        for (key, entry) in repo.folder(ledger, &RepoPath::from(format!("{place}/{task}").as_str()))? {
            if let (EntryKind::Folder, Ok(pages)) = (entry.kind(), TreeId::new(&entry.id)) {
                found.push(Shared { task: task.clone(), key: String::from_utf8_lossy(&key).into_owned(), pages });
            }
        }
    }
    Ok(found)
}

/// Folds what these commits' notes speak of into the local ledger, one commit a landing.
///
/// # Errors
/// Git fails, or other processes keep moving the ledger.
pub fn fold(repo: &Repo, commits: &[CommitId], at: Timestamp) -> Result<Folded, GitError> {
    let name = ledger_ref()?;
    for _ in 0..TRIES {
        let mut folded = Folded::default();
        let start = repo.read_ref(&name)?;
        let (mut tip, notes) = (start.clone(), Notes::open(repo, &notes_ref()?)?);
        for commit in commits {
            let Some(note) = notes.get(commit)? else { continue };
            let Some(landing) = landing_in(&note, commit) else { continue };
            if let Some(made) = fold_one(repo, tip.as_ref(), &landing, &note, at, &mut folded)? {
                tip = Some(made);
            }
        }
        match &tip {
            Some(new) if tip != start => {
                if repo.move_ref(&name, new, start.as_ref())? == RefMove::Moved {
                    return Ok(folded);
                }
            }
            _ => return Ok(folded),
        }
    }
    Err(overtaken(repo, LEDGER))
}

/// All landings that a bundle speaks of.
fn landings(bundle: &[u8]) -> Vec<Landing> {
    let statements = parse_bundle(bundle).0.into_iter().filter_map(|envelope| envelope.statement().ok());
    let landings = statements.filter(|statement| statement.predicate_type == LANDING);
    landings.filter_map(|statement| serde_json::from_value(statement.predicate).ok()).collect()
}

fn fold_one(
    repo: &Repo,
    tip: Option<&CommitId>,
    landing: &Landing,
    note: &[u8],
    at: Timestamp,
    folded: &mut Folded,
) -> Result<Option<CommitId>, GitError> {
    let place = place(landing);
    let told = format!("{} {} {}", landing.task, landing.tree.short(), landing.key());
    if !place.is_safe() {
        folded.refused.push(format!("{}: its name cannot be a path", escape(told.as_bytes())));
        return Ok(None);
    }
    let old = match tip {
        Some(tip) => repo.tree_of(tip)?,
        None => repo.write_tree(&BTreeMap::new())?,
    };
    if repo.entry(&old, &place)?.is_some() {
        let file = RepoPath::from(format!("{place}/{BUNDLE}").as_str());
        let bundle = repo.file(&old, &file, LARGEST_PAGE)?.unwrap_or_default();
        let key = landing.key();
        // A commit that two machines judged has both their statements, and one place for them.
        if let Some(other) = landings(&bundle).into_iter().next()
            && landings(note).iter().any(|own| own.key() == key && own.case != other.case)
        {
            folded.stood.push(format!("{told}: another one came first, landed as {}", other.commit.short()));
        }
        return Ok(None);
    }
    let inside = |name: &str| RepoPath::from(format!("{place}/{name}").as_str());
    let mut edits: BTreeMap<RepoPath, Option<NewEntry>> = BTreeMap::new();
    let bundle = repo.write_blob(note)?;
    edits.insert(inside(BUNDLE), Some((0o100_644, bundle.as_str().to_owned())));
    let case = landing.case.as_ref().and_then(|case| repo.tree_of(case).ok());
    for (path, entry) in case.map(|tree| repo.list(&tree, "")).transpose()?.unwrap_or_default() {
        let (Some(blob), Some(name)) = (entry.blob(), path.as_str()) else { continue };
        let (bytes, cut) = repo.blob(&blob, LARGEST_PAGE)?;
        let clean = redact(&bytes);
        let changed = clean.bytes != bytes;
        if cut || (changed && name == "receipts.jsonl") {
            let why = if cut { "is too large" } else { "holds what looks like a secret" };
            folded.refused.push(format!("{told}: {name} {why}; the result is not shared"));
            return Ok(None);
        }
        let id = if changed { repo.write_blob(&clean.bytes)? } else { blob };
        edits.insert(inside(name), Some((0o100_644, id.as_str().to_owned())));
    }
    let tree = repo.edit_tree(&old, &edits)?;
    let parents: Vec<CommitId> = tip.into_iter().cloned().collect();
    let words = format!("{} landed as {}\n", landing.task, landing.commit);
    folded.added.push(told);
    repo.write_commit(&tree, &parents, at, &words).map(Some)
}

/// Takes another ledger in: what either has is kept; of two results under one key the other's stands, because others may
/// have seen it.
pub(super) fn merge_ledger(repo: &Repo, other: &CommitId, at: Timestamp) -> Result<(), GitError> {
    let name = ledger_ref()?;
    for _ in 0..TRIES {
        let made = match repo.read_ref(&name)? {
            None => (None, other.clone()),
            Some(tip) if repo.is_ancestor(other, &tip)? => return Ok(()),
            Some(tip) if repo.is_ancestor(&tip, other)? => (Some(tip), other.clone()),
            Some(tip) => {
                let tree = repo.union_trees(&repo.tree_of(other)?, &repo.tree_of(&tip)?, DEPTH)?;
                let parents = [tip.clone(), other.clone()];
                (Some(tip), repo.write_commit(&tree, &parents, at, "results of two machines\n")?)
            }
        };
        let (old, new) = made;
        if repo.move_ref(&name, &new, old.as_ref())? == RefMove::Moved {
            return Ok(());
        }
    }
    Err(overtaken(repo, LEDGER))
}

/// Takes a result that waited in an inbox in: its pages into the ledger, its statements onto the commit they are about.
fn take_in(repo: &Repo, inbox: &CommitId, at: Timestamp) -> Result<(), GitError> {
    let tree = repo.tree_of(inbox)?;
    for (path, entry) in repo.list(&tree, "landed")? {
        if path.file_name() != BUNDLE.as_bytes() {
            continue;
        }
        let Some(blob) = entry.blob() else { continue };
        let (bytes, cut) = repo.blob(&blob, crate::host::git::LARGEST_NOTE)?;
        let about = parse_bundle(&bytes)
            .0
            .iter()
            .find_map(|envelope| CommitId::new(envelope.statement().ok()?.digest("gitCommit")?).ok());
        if let Some(commit) = about.filter(|_| !cut) {
            repo.add_to_note(&notes_ref()?, &commit, &String::from_utf8_lossy(&bytes), at)?;
        }
    }
    merge_ledger(repo, inbox, at)
}

/// A commit with nothing but one result of the local ledger, for an inbox.
fn parcel(repo: &Repo, landing: &Landing, at: Timestamp) -> Result<Option<CommitId>, GitError> {
    let Some(ledger) = ledger_tree(repo)? else { return Ok(None) };
    let place = place(landing);
    let Some(entry) = repo.entry(&ledger, &place)? else { return Ok(None) };
    let tree = repo.write_tree(&BTreeMap::from([(place, (entry.mode, entry.id))]))?;
    repo.write_commit(&tree, &[], at, &format!("{} landed as {}\n", landing.task, landing.commit)).map(Some)
}

fn overtaken(repo: &Repo, name: &str) -> GitError {
    GitError::Failed {
        command: format!("git update-ref {name}"),
        ending: format!("{TRIES} times overtaken by other processes"),
        tree: repo.common_dir().to_owned(),
        said: "nothing was overwritten; run it again".to_owned(),
    }
}

/// The commits that have a note here and none (or another) in that line of notes.
fn news(repo: &Repo, theirs: Option<&CommitId>) -> Result<Vec<CommitId>, GitError> {
    let ours = Notes::open(repo, &notes_ref()?)?.all()?;
    let theirs = match theirs {
        Some(tip) => Notes::at(repo, tip)?.all()?,
        None => BTreeMap::new(),
    };
    let new = ours.into_iter().filter(|(commit, blob)| theirs.get(commit) != Some(blob));
    Ok(new.filter_map(|(commit, _)| CommitId::new(&commit).ok()).collect())
}

/// The references that are shared, for people: what `git fetch` and `git push` would be told.
pub const REFSPECS: [&str; 2] = [NOTES, LEDGER];
