//! What is judged: base, head, and the tree that merging them gives, as the forge would have it.

use super::CiError;
use crate::claim::{Base, BaseError, settle_base};
use crate::config::{Layer, Settings, settle};
use crate::host::Host;
use crate::host::git::{Change, Merged, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::integrate::likeness::is_bookkeeping;
use crate::pipeline::read_board;
use crate::pipeline::settings::project_layer;
use crate::task::board::Board;
use crate::task::layout::Layout;
use std::collections::BTreeMap;
use std::path::Path;

/// A longer range is not read.
const MOST_COMMITS: usize = 10_000;

/// One commit of the range.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: CommitId,
    pub(super) parents: Vec<CommitId>,
    pub(super) message: String,
}

/// The range under review.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) repo: Repo,
    pub(super) base: Base,
    pub(super) base_tree: TreeId,
    pub(super) head: CommitId,
    pub(super) head_tree: TreeId,
    /// Where head left the base's history.
    pub(super) fork: CommitId,
    /// What merging head into base gives; the head's own tree where they do not merge.
    pub(super) tree: TreeId,
    /// Where they do not merge.
    pub(super) conflicts: Vec<RepoPath>,
    /// Oldest first.
    pub(super) members: Vec<Member>,
    /// Base against judged tree.
    pub(super) changed: Vec<Change>,
    pub(super) layout: Option<Layout>,
    /// The board at the base.
    pub(super) board: Option<Board>,
    /// The settings at the base, and nothing else.
    pub(super) settings: Settings,
}

impl Range {
    pub(super) fn settle(host: &Host, start: &Path, base: Option<&str>, head: Option<&str>) -> Result<Self, CiError> {
        let repo = Repo::discover(host, start)?;
        if head.is_some() && base.is_none() {
            return Err(CiError::NoBase);
        }
        let base = settle_base(&repo, base)?;
        let word = head.unwrap_or("HEAD");
        let head = repo.resolve(word)?.ok_or_else(|| CiError::NoHead { rev: escape(word.as_bytes()) })?;
        let fork = match repo.merge_base(&base.commit, &head)? {
            Some(fork) => fork,
            None if repo.is_shallow() => {
                let why = format!("{} and {} share no commit in it", base.commit.short(), head.short());
                return Err(BaseError::Shallow { why }.into());
            }
            None => return Err(CiError::Unrelated { base: base.commit, head }),
        };
        let (base_tree, head_tree) = (repo.tree_of(&base.commit)?, repo.tree_of(&head)?);
        let (tree, conflicts) = if fork == base.commit {
            (head_tree.clone(), Vec::new())
        } else {
            match repo.merge(&base.commit, &head)? {
                Merged::Clean(tree) => (tree, Vec::new()),
                Merged::Conflict(paths) => (head_tree.clone(), paths),
            }
        };
        let members = members(&repo, &base.commit, &head)?;
        let changed = repo.changes(&base_tree, &tree)?;
        let (layout, board) = read_board(&repo, &base_tree)?;
        let layers: Vec<Layer> = project_layer(&repo, &base_tree)?.into_iter().collect();
        let settings = settle(&layers)?;
        Ok(Self {
            repo,
            base,
            base_tree,
            head,
            head_tree,
            fork,
            tree,
            conflicts,
            members,
            changed,
            layout,
            board,
            settings,
        })
    }

    /// True if the base has moved since head left it.
    pub(super) fn base_moved(&self) -> bool {
        self.fork != self.base.commit
    }

    /// True if nothing but pages that landing writes differs between two trees' entries at a path.
    pub(super) fn is_book(&self, path: &RepoPath) -> bool {
        self.layout.is_some_and(|layout| is_bookkeeping(layout, path))
    }

    /// The commit that is judged anew: the judged tree with the board's pages as the base has them, on the base. They are
    /// written by landing, not by a worker; what they say is looked at apart.
    pub(super) fn to_judge(&self) -> Result<Option<CommitId>, CiError> {
        let mut put_back = BTreeMap::new();
        for change in &self.changed {
            for path in change.paths().filter(|path| self.is_book(path)) {
                let old = self.repo.entry(&self.base_tree, path)?;
                put_back.insert(path.clone(), old.map(|entry| (entry.mode, entry.id)));
            }
        }
        let tree = if put_back.is_empty() { self.tree.clone() } else { self.repo.edit_tree(&self.tree, &put_back)? };
        if tree == self.base_tree {
            return Ok(None);
        }
        if tree == self.head_tree && !self.base_moved() {
            return Ok(Some(self.head.clone()));
        }
        let (_, time) = self.repo.parents_of(&self.head)?;
        let parents = [self.base.commit.clone(), self.head.clone()];
        Ok(Some(self.repo.write_commit(&tree, &parents, time, "what would be merged, to be judged\n")?))
    }
}

fn members(repo: &Repo, base: &CommitId, head: &CommitId) -> Result<Vec<Member>, CiError> {
    let most = format!("--max-count={}", MOST_COMMITS + 1);
    let range = format!("{base}..{head}");
    let plain =
        ["-c", "i18n.logOutputEncoding=UTF-8", "log", "-z", "--no-show-signature", "--no-notes", "--topo-order"];
    let words = plain.into_iter().chain(["--reverse", &most, "--format=%H%x00%P%x00%B", &range, "--"]);
    let output = repo.git().run(words)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut fields = text.split('\0');
    let mut members = Vec::new();
    while let (Some(id), Some(parents), Some(message)) = (fields.next(), fields.next(), fields.next()) {
        let Ok(id) = CommitId::new(id.trim()) else { break };
        let parents = parents.split(' ').filter_map(|parent| CommitId::new(parent).ok()).collect();
        members.push(Member { id, parents, message: message.to_owned() });
    }
    if members.len() > MOST_COMMITS { Err(CiError::TooLong { most: MOST_COMMITS }) } else { Ok(members) }
}
