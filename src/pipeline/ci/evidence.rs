//! Evidence that travelled: notes on the commits of the range, and results of the shared ledger, matched by tree.
//!
//! One landing covers the step from its parent to its tree. Landings that follow one another without a gap from the judged
//! tree back to the base cover the range; whatever else is in between (a later commit, a merge, an edit by hand) is a gap.

use super::believe::{About, Believed, Rejected, Trust};
use super::range::Range;
use crate::host::git::{GitError, Merged, Notes, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::integrate::attest::{APPROVAL, Statement, Uncertified, landing_in, notes_ref, parse_bundle};
use crate::integrate::likeness::foreign_paths;
use crate::integrate::share::{BUNDLE, results_for, results_of};
use std::collections::BTreeMap;

/// A longer chain is not followed.
const LONGEST: usize = 10_000;

/// How many commits below the base the last note is looked for.
const FURTHEST: usize = 2_000;

/// Notes are looked through for a tree only if there are no more than this.
const MOST_NOTES: usize = 5_000;

/// Landings of a task that are merged again, at most.
const MOST_REMERGED: usize = 20;

/// Landings one after another, newest first.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) links: Vec<Believed>,
    /// True if they lead from the tree that was asked for back to where they had to begin.
    pub(super) complete: bool,
    /// Where the first gap is, in words.
    pub(super) gap: String,
}

/// Everything that was found, and what was not believed.
pub(super) struct Search<'r> {
    range: &'r Range,
    trust: &'r Trust<'r>,
    notes: Notes<'r>,
    /// Landings by tree, from the notes; made when it is first needed.
    by_tree: Option<BTreeMap<String, Vec<CommitId>>>,
    pub(super) rejected: Vec<Rejected>,
}

impl<'r> Search<'r> {
    pub(super) fn open(range: &'r Range, trust: &'r Trust<'r>) -> Result<Self, GitError> {
        let notes = Notes::open(&range.repo, &notes_ref()?)?;
        Ok(Self { range, trust, notes, by_tree: None, rejected: Vec::new() })
    }

    fn repo(&self) -> &'r Repo {
        &self.range.repo
    }

    /// The tasks that notes of the range's commits speak of, believed or not.
    pub(super) fn noted(&self) -> Result<Vec<String>, GitError> {
        let mut tasks = Vec::new();
        for member in &self.range.members {
            let Some(note) = self.notes.get(&member.id)? else { continue };
            if let Some(landing) = landing_in(&note, &member.id)
                && !tasks.contains(&landing.task)
            {
                tasks.push(landing.task);
            }
        }
        Ok(tasks)
    }

    /// The landings that lead from the head's own tree back to where it left the base.
    pub(super) fn of_head(&mut self) -> Result<Chain, GitError> {
        let range = self.range;
        let goal = (range.fork.clone(), range.repo.tree_of(&range.fork)?);
        let mut chain = self.follow(&range.head, &range.head_tree, &goal)?;
        let batch = chain.links.first().and_then(|link| link.landing.batch.clone());
        if let Some(judged) = batch
            && !self.is_like(&judged, &range.head_tree)?
        {
            chain.complete = false;
            chain.gap = format!(
                "{} landed together with others, and only the last of them, tree {}, was judged",
                range.head.short(),
                judged.short()
            );
        }
        Ok(chain)
    }

    /// True if two trees differ in bookkeeping at most. One that is not here is another one.
    fn is_like(&self, one: &TreeId, other: &TreeId) -> Result<bool, GitError> {
        let is_here = || self.repo().git().run_unchecked(["cat-file", "-e", one.as_str()]).map(|found| found.success());
        Ok(one == other || is_here()? && foreign_paths(self.repo(), one, other)?.is_empty())
    }

    /// Follows landings from a commit back to the goal.
    fn follow(&mut self, head: &CommitId, head_tree: &TreeId, goal: &(CommitId, TreeId)) -> Result<Chain, GitError> {
        let mut chain = Chain::default();
        let (mut at, mut tree) = (head.clone(), Some(head_tree.clone()));
        for _ in 0..LONGEST {
            let reached = at == goal.0 || Self::is_goal(tree.as_ref(), goal);
            // The head itself may have the base's tree and still be something to answer for.
            if reached && (at == goal.0 || !chain.links.is_empty()) {
                chain.complete = !chain.links.is_empty();
                if !chain.complete {
                    "the range has no landing".clone_into(&mut chain.gap);
                }
                return Ok(chain);
            }
            if let Some(links) = self.link(&at, tree.as_ref())? {
                let Some(first) = links.first() else { continue };
                at = first.landing.parent.clone();
                tree = first.landing.parent_tree.clone().or_else(|| self.repo().tree_of(&at).ok());
                chain.links.extend(links);
            } else {
                let Some((before, its_tree)) = self.over_board(&at)? else {
                    chain.gap = format!("no note that counts covers the commit {}", at.short());
                    return Ok(chain);
                };
                (at, tree) = (before, Some(its_tree));
            }
        }
        chain.gap = format!("more than {LONGEST} landings in a row");
        Ok(chain)
    }

    /// A tree that is the goal's. A board commit between the two is stepped over where the chain meets it.
    fn is_goal(tree: Option<&TreeId>, goal: &(CommitId, TreeId)) -> bool {
        tree == Some(&goal.1)
    }

    /// The believed landings of a commit: by its note, else by its tree.
    fn link(&mut self, commit: &CommitId, tree: Option<&TreeId>) -> Result<Option<Vec<Believed>>, GitError> {
        if let Some(note) = self.notes.get(commit)? {
            let own = self.repo().tree_of(commit).ok();
            let about = own.as_ref().map_or(About::Named(commit), |tree| About::Commit(commit, tree));
            match self.trust.believe(&note, commit, about) {
                Ok(found) if self.parent_is_true(&found, commit)? => return Ok(Some(found)),
                Ok(found) => self.reject(Rejected {
                    commit: commit.clone(),
                    code: "note-of-another-base",
                    why: format!("it speaks of a change to {}, which is not below it", found[0].landing.parent.short()),
                }),
                Err(_) if is_approval(&note) => {}
                Err(rejected) => self.reject(rejected),
            }
        }
        let Some(tree) = tree else { return Ok(None) };
        self.link_by_tree(tree)
    }

    /// A landing with this tree on another commit: a forge squashed, or a change was taken back.
    fn link_by_tree(&mut self, tree: &TreeId) -> Result<Option<Vec<Believed>>, GitError> {
        for shared in results_for(self.repo(), tree)? {
            let Some(bundle) = self.repo().file(&shared.pages, &RepoPath::from(BUNDLE), 4 << 20)? else { continue };
            if let Ok(found) = self.trust.believe(&bundle, &self.range.head, About::Tree(tree)) {
                return Ok(Some(found));
            }
        }
        if self.by_tree.is_none() {
            self.by_tree = Some(self.index()?);
        }
        let commits = self.by_tree.as_ref().and_then(|index| index.get(tree.as_str())).cloned().unwrap_or_default();
        for commit in commits {
            let Some(note) = self.notes.get(&commit)? else { continue };
            match self.trust.believe(&note, &commit, About::Tree(tree)) {
                Ok(found) => return Ok(Some(found)),
                Err(rejected) => self.reject(rejected),
            }
        }
        Ok(None)
    }

    /// Which commits' notes speak of which tree.
    fn index(&self) -> Result<BTreeMap<String, Vec<CommitId>>, GitError> {
        let mut index: BTreeMap<String, Vec<CommitId>> = BTreeMap::new();
        let all = self.notes.all()?;
        if all.len() > MOST_NOTES {
            return Ok(index);
        }
        for (commit, blob) in all {
            let Ok(commit) = CommitId::new(&commit) else { continue };
            let (note, _) = self.repo().blob(&blob, crate::host::git::LARGEST_NOTE)?;
            for envelope in parse_bundle(&note).0 {
                if let Ok(statement) = envelope.statement()
                    && let Some(tree) = statement.digest("gitTree")
                {
                    let known = index.entry(tree.to_owned()).or_default();
                    if !known.contains(&commit) {
                        known.push(commit.clone());
                    }
                }
            }
        }
        Ok(index)
    }

    fn reject(&mut self, rejected: Rejected) {
        if !self.rejected.contains(&rejected) {
            self.rejected.push(rejected);
        }
    }

    /// What a note says lies below its commit does, with the tree it says.
    fn parent_is_true(&self, found: &[Believed], commit: &CommitId) -> Result<bool, GitError> {
        for one in found {
            let (parent, tree) = (&one.landing.parent, one.landing.parent_tree.as_ref());
            let Ok(own) = self.repo().tree_of(parent) else { continue };
            if tree.is_some_and(|tree| *tree != own) || !self.repo().is_ancestor(parent, commit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The commit before one that only wrote the board's pages.
    fn over_board(&self, commit: &CommitId) -> Result<Option<(CommitId, TreeId)>, GitError> {
        let Ok((parents, _)) = self.repo().parents_of(commit) else { return Ok(None) };
        let [parent] = parents.as_slice() else { return Ok(None) };
        let (Ok(own), Ok(before)) = (self.repo().tree_of(commit), self.repo().tree_of(parent)) else { return Ok(None) };
        let board_only = own == before || foreign_paths(self.repo(), &before, &own)?.is_empty();
        Ok(board_only.then(|| (parent.clone(), before)))
    }

    /// Ranges that nobody certified and that are on the base: what the last note there that counts carries, and what notes
    /// after it say that do not count.
    pub(super) fn open_at_base(&self) -> Result<Vec<Uncertified>, GitError> {
        let mut open: Vec<Uncertified> = Vec::new();
        if self.notes.tip().is_none() {
            return Ok(open);
        }
        let mut next = Some(self.range.base.commit.clone());
        for _ in 0..FURTHEST {
            let Some(commit) = next else { break };
            if let Some(note) = self.notes.get(&commit)?
                && let Some(landing) = landing_in(&note, &commit)
            {
                open.extend(landing.uncertified.into_iter().filter(|range| !open.contains(range)).collect::<Vec<_>>());
                if self.trust.is_signed(&note, &commit) {
                    break;
                }
            }
            next = self.repo().parents_of(&commit).ok().and_then(|(parents, _)| parents.into_iter().next());
        }
        Ok(open)
    }

    /// True if a note that counts says that somebody verified this range since it landed.
    pub(super) fn is_certified(&self, range: &Uncertified) -> Result<bool, GitError> {
        Ok(self.notes.get(&range.to)?.is_some_and(|note| self.trust.is_certified(&note, range)))
    }

    /// Landings of these tasks that give the judged tree when they are merged into the base again.
    pub(super) fn remerged(&mut self, tasks: &[String]) -> Result<Option<Chain>, GitError> {
        let range = self.range;
        for task in tasks {
            for shared in results_of(self.repo(), task)?.into_iter().take(MOST_REMERGED) {
                let Some(bundle) = self.repo().file(&shared.pages, &RepoPath::from(BUNDLE), 4 << 20)? else { continue };
                let Some(commit) = commit_of(&bundle) else { continue };
                // Its objects may be in nobody's clone any more: then it cannot be merged, and is judged again.
                let Ok(tree) = self.repo().tree_of(&commit) else {
                    self.reject(Rejected {
                        commit,
                        code: "landing-not-here",
                        why: "the landed commit is not in this clone, so it cannot be merged again; fetch its branch"
                            .to_owned(),
                    });
                    continue;
                };
                let Some(fork) = self.repo().merge_base(&range.base.commit, &commit)? else { continue };
                let merged = match self.repo().merge(&range.base.commit, &commit)? {
                    Merged::Clean(merged) => merged,
                    Merged::Conflict(_) => continue,
                };
                if !foreign_paths(self.repo(), &merged, &range.tree)?.is_empty() {
                    continue;
                }
                let goal = (fork.clone(), self.repo().tree_of(&fork)?);
                let moved = foreign_paths(self.repo(), &goal.1, &range.base_tree)?;
                if !moved.is_disjoint(&foreign_paths(self.repo(), &goal.1, &tree)?) {
                    let why = "the base moved in paths that this landing touches, too".to_owned();
                    self.reject(Rejected { commit, code: "base-meets-change", why });
                    continue;
                }
                let chain = self.follow(&commit, &tree, &goal)?;
                // A landing of a task that nobody asks about here would go unseen.
                let known = chain.links.iter().all(|link| tasks.contains(&link.landing.task));
                if chain.complete && known {
                    return Ok(Some(chain));
                }
            }
        }
        Ok(None)
    }
}

/// The commit that a bundle says it is about.
fn commit_of(bundle: &[u8]) -> Option<CommitId> {
    parse_bundle(bundle).0.iter().find_map(|envelope| {
        let statement = envelope.statement().ok()?;
        CommitId::new(statement.digest("gitCommit")?).ok()
    })
}

/// True if a note has nothing but a person's approvals: it is no landing, and nobody said that it was.
fn is_approval(note: &[u8]) -> bool {
    let (envelopes, unreadable) = parse_bundle(note);
    let approves = |statement: Statement| statement.predicate_type == APPROVAL;
    unreadable == 0 && !envelopes.is_empty() && envelopes.iter().all(|one| one.statement().is_ok_and(approves))
}
