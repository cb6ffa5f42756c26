//! What persons declined before: found again for later attempts of the task, and for other tasks on the same files.
//!
//! `refs/countersign/rulings/<case>/<n>` points at each case commit with a ruling, so that looking for them costs nothing
//! where there are none, however many tasks are done.

use super::VerifyError;
use crate::host::digest::digest;
use crate::host::git::{Change, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::receipts::case::RULING_PAGE;
use crate::receipts::ruling::{Anchor, Block, DeclinedRecord, Point, RulingRecord};
use similar::{Algorithm, DiffTag, capture_diff_slices};
use std::collections::BTreeSet;

/// Where the rulings are pointed at.
pub(super) const RULINGS: &str = "refs/countersign/rulings/";
/// The most rulings that are read, the newest of each case first.
const MOST_RULINGS: usize = 2_000;
/// A ruling's page, and a file that is looked at line by line, may have this many bytes.
const LARGEST: u64 = 1 << 20;
/// A worker is told of this many at most, in this many characters each.
const MOST_TOLD: usize = 40;
const LONGEST_TOLD: usize = 1_000;
/// A claim with more blocks in one file is told by the whole content.
const MOST_BLOCKS: usize = 200;

/// Every ruling, with its case key and commit. One that cannot be read is an error: it may be the one that matters.
pub(super) fn rulings(repo: &Repo) -> Result<Vec<(String, CommitId, RulingRecord)>, VerifyError> {
    let mut found = Vec::new();
    for (name, id) in repo.refs_under(RULINGS)?.into_iter().take(MOST_RULINGS) {
        let key = name.strip_prefix(RULINGS).and_then(|rest| rest.rsplit_once('/')).map(|(key, _)| key.to_owned());
        let (Some(key), Ok(commit)) = (key, CommitId::new(&id)) else { continue };
        let page = repo.file(&repo.tree_of(&commit)?, &RepoPath::from(RULING_PAGE), LARGEST)?;
        let ruling = page.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let ruling = ruling.ok_or_else(|| crate::receipts::case::CaseError::Incomplete {
            commit: commit.clone(),
            part: RULING_PAGE.to_owned(),
        })?;
        found.push((key, commit, ruling));
    }
    Ok(found)
}

/// What a judgement of this tree has to know: everything declined for the same case, and what was declined for another
/// one in a file that this claim changes, if the code there is as it was.
pub(super) fn before(
    repo: &Repo,
    key: &str,
    tree: &TreeId,
    changed: &[Change],
) -> Result<Vec<DeclinedRecord>, VerifyError> {
    let touched: BTreeSet<&RepoPath> = changed.iter().flat_map(Change::paths).collect();
    let mut found = Vec::new();
    for (task, case, ruling) in rulings(repo)? {
        for point in ruling.declined {
            let here = point.code.iter().any(|anchor| touched.contains(&anchor.path));
            if task != key && !here {
                continue;
            }
            let stands = stands(repo, tree, &point)?;
            if task == key || stands {
                let (task, case, why) = (task.clone(), case.clone(), ruling.why.clone());
                found.push(DeclinedRecord { task, case, point, why, stands });
            }
        }
    }
    Ok(found)
}

/// What a worker is told: everything declined for its task, and what was declined for others in code that its base still
/// has. The newest first; one line each.
pub(super) fn for_worker(repo: &Repo, key: &str, base: &TreeId) -> Result<Vec<String>, VerifyError> {
    let mut told = Vec::new();
    for (task, _, ruling) in rulings(repo)?.into_iter().rev() {
        for point in &ruling.declined {
            if told.len() < MOST_TOLD && (task == key || stands(repo, base, point)?) {
                let why = if ruling.why.is_empty() { String::new() } else { format!(" (because: {})", ruling.why) };
                let text: String = format!("{}{why}", point.sentence()).chars().take(LONGEST_TOLD).collect();
                told.push(text.replace(['\n', '\r'], " "));
            }
        }
    }
    Ok(told)
}

/// True if the code that a point is about is in this tree as it was.
pub(super) fn stands(repo: &Repo, tree: &TreeId, point: &Point) -> Result<bool, VerifyError> {
    for anchor in &point.code {
        let now = repo.entry(tree, &anchor.path)?;
        if now.as_ref().map(|entry| &entry.id) == anchor.content.as_ref() {
            continue;
        }
        if anchor.blocks.is_empty() || now.is_none() {
            return Ok(false);
        }
        let text = repo.file(tree, &anchor.path, LARGEST)?.unwrap_or_default();
        let lines = lines(&text);
        let there =
            |block: &Block| lines.windows(block.lines.max(1)).any(|some| digest(&some.concat()) == block.digest);
        if !anchor.blocks.iter().all(there) {
            return Ok(false);
        }
    }
    // A point about no file in particular stands for the very tree only, and that one is told by its ruling.
    Ok(!point.code.is_empty())
}

/// The files that a finding of a claim is about: the one it names, else all that the claim changes.
pub(super) fn code(
    repo: &Repo,
    point: &Point,
    base: &TreeId,
    tree: &TreeId,
    changed: &[Change],
) -> Result<Vec<Anchor>, VerifyError> {
    let names = |path: &RepoPath| {
        let name = path.to_string();
        point.place == name || point.place.strip_prefix(&name).is_some_and(|rest| rest.starts_with(':'))
    };
    let mut paths: Vec<RepoPath> =
        changed.iter().map(|change| change.path.clone()).filter(|path| names(path)).collect();
    if paths.is_empty() {
        let named = RepoPath::from(point.place.split(':').next().unwrap_or_default());
        if !point.place.is_empty() && repo.entry(tree, &named)?.is_some() {
            paths.push(named);
        } else {
            paths.extend(changed.iter().map(|change| change.path.clone()));
        }
    }
    paths.into_iter().map(|path| anchor(repo, path, base, tree)).collect()
}

fn anchor(repo: &Repo, path: RepoPath, base: &TreeId, tree: &TreeId) -> Result<Anchor, VerifyError> {
    let content = repo.entry(tree, &path)?.map(|entry| entry.id);
    let text =
        |tree: &TreeId| -> Result<Vec<u8>, VerifyError> { Ok(repo.file(tree, &path, LARGEST)?.unwrap_or_default()) };
    let (old, new) = (text(base)?, text(tree)?);
    let (old, new) = (lines(&old), lines(&new));
    let brought: Vec<Block> = capture_diff_slices(Algorithm::Myers, &old, &new)
        .into_iter()
        .filter(|op| matches!(op.tag(), DiffTag::Insert | DiffTag::Replace))
        .map(|op| Block { lines: op.new_range().len(), digest: digest(&new[op.new_range()].concat()) })
        .collect();
    let blocks = if brought.len() > MOST_BLOCKS { Vec::new() } else { brought };
    Ok(Anchor { path, content, blocks })
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}
