//! Whether a tree is one that was verified, bookkeeping apart (RULINGS 24).

use crate::host::git::{GitError, Repo};
use crate::host::ids::TreeId;
use crate::host::path::RepoPath;
use crate::task::layout::{DECISIONS, Layout, ROOT, TOP_INDEX, detect};
use std::collections::{BTreeMap, BTreeSet};

/// A README is not read beyond this many bytes: what it says about commands is then unknown, and so different.
const LARGEST_README: u64 = 4 << 20;

/// Sections of a context's README that say how a claim is judged.
const RULES: [&str; 2] = ["## Test command", "## Runtime surface"];

/// The paths in which `found` differs from `verified`, those of the bookkeeping left out. None: what was verified is what
/// there is.
///
/// # Errors
/// A tree is missing, or the board is half migrated (then nothing counts as bookkeeping).
pub fn foreign_paths(repo: &Repo, verified: &TreeId, found: &TreeId) -> Result<BTreeSet<RepoPath>, GitError> {
    if verified == found {
        return Ok(BTreeSet::new());
    }
    let names: Vec<RepoPath> = repo.list(found, ROOT)?.into_iter().map(|(path, _)| path).collect();
    let layout = detect(&names).ok().flatten();
    let mut foreign = BTreeSet::new();
    for change in repo.changes(verified, found)? {
        for path in change.paths() {
            let ours = layout.is_some_and(|layout| is_bookkeeping(layout, path));
            if !ours || (is_readme(path) && rules(repo, verified, path)? != rules(repo, found, path)?) {
                foreign.insert(path.clone());
            }
        }
    }
    Ok(foreign)
}

/// `verified` with everything of `found` but its bookkeeping: what there is to judge of a tree that would land.
///
/// # Errors
/// See [`foreign_paths`].
pub fn without_books(repo: &Repo, verified: &TreeId, found: &TreeId) -> Result<TreeId, GitError> {
    let mut edits = BTreeMap::new();
    for path in foreign_paths(repo, verified, found)? {
        let entry = repo.entry(found, &path)?.map(|entry| (entry.mode, entry.id));
        edits.insert(path, entry);
    }
    repo.edit_tree(verified, &edits)
}

/// True for the fixed list of paths that landing itself writes.
pub fn is_bookkeeping(layout: Layout, path: &RepoPath) -> bool {
    let under = |folder: &RepoPath| folder.as_str().is_some_and(|folder| path.is_under(folder)) && *path != *folder;
    let below = |root: &RepoPath| path.as_bytes().strip_prefix(root.as_bytes())?.strip_prefix(b"/");
    let page = |root: &RepoPath, names: &[&[u8]]| {
        let parts: Vec<&[u8]> = below(root).map(|rest| rest.split(|byte| *byte == b'/').collect()).unwrap_or_default();
        parts.len() == 2 && names.contains(&parts[1])
    };
    let archive = below(&layout.lifecycle_root())
        .is_some_and(|rest| rest.split(|byte| *byte == b'/').nth(1) == Some(b"done-archive"));
    layout.place(path).is_some()
        || *path == layout.protocol()
        || *path == layout.context_map()
        || path.as_bytes() == TOP_INDEX.as_bytes()
        || under(&layout.protocol_archive())
        || archive
        || page(&layout.lifecycle_root(), &[b"INDEX.md"])
        || page(&layout.knowledge_root(), &[b"INDEX.md", b"README.md"])
        || (path.is_under(DECISIONS) && path.as_bytes().ends_with(b".md"))
}

fn is_readme(path: &RepoPath) -> bool {
    path.file_name() == b"README.md"
}

/// What a README says about how claims are judged; none if that cannot be told.
fn rules(repo: &Repo, tree: &TreeId, path: &RepoPath) -> Result<Option<String>, GitError> {
    let Some(bytes) = repo.file(tree, path, LARGEST_README)? else { return Ok(Some(String::new())) };
    if bytes.len() as u64 >= LARGEST_README {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut kept = String::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("## ") || line.starts_with("# ") {
            inside = RULES.contains(&line.trim_end());
        }
        if inside {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    Ok(Some(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_that_landing_writes_are_bookkeeping() {
        for (layout, path, is) in [
            (Layout::Board, ".agentheim/board/core/done/core-001-x.md", true),
            (Layout::Board, ".agentheim/board/core/INDEX.md", true),
            (Layout::Board, ".agentheim/board/core/done-archive/2026-01.md", true),
            (Layout::Board, ".agentheim/board/protocol.md", true),
            (Layout::Board, ".agentheim/board/protocol/2026-01.md", true),
            (Layout::Board, ".agentheim/knowledge/contexts/core/README.md", true),
            (Layout::Board, ".agentheim/knowledge/contexts/core/INDEX.md", true),
            (Layout::Board, ".agentheim/knowledge/decisions/0001-x.md", true),
            (Layout::Board, ".agentheim/knowledge/context-map.md", true),
            (Layout::Board, ".agentheim/knowledge/index.md", true),
            (Layout::Board, ".agentheim/knowledge/vision.md", false),
            (Layout::Board, ".agentheim/knowledge/contexts/core/concepts/README.md", false),
            (Layout::Board, ".agentheim/knowledge/contexts/design-system/styleguide/README.md", false),
            (Layout::Board, ".agentheim/countersign.yaml", false),
            (Layout::Board, ".agentheim/contexts/core/INDEX.md", false),
            (Layout::Board, "README.md", false),
            (Layout::Board, "src/core/INDEX.md", false),
            (Layout::Legacy, ".agentheim/contexts/core/doing/core-001.md", true),
            (Layout::Legacy, ".agentheim/contexts/core/README.md", true),
            (Layout::Legacy, ".agentheim/knowledge/protocol.md", true),
            (Layout::Legacy, ".agentheim/contexts/core/doing/deep/core-001.md", false),
            (Layout::Legacy, ".agentheim/contexts/core/x.js", false),
        ] {
            assert_eq!(is_bookkeeping(layout, &RepoPath::from(path)), is, "{layout:?} {path}");
        }
    }
}
