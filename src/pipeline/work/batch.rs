//! Landings that wait for one another, judged together: one judgement for all that wait, and where it is red, for the
//! first half of them, until whoever is to blame stands alone (RULINGS 24, 30).

use super::WorkError;
use super::hand::{Hand, Phases};
use super::landing::warrant_from;
use super::settings::{Terms, judgement};
use crate::floor::tests_run;
use crate::host::clock::Timestamp;
use crate::host::git::{Merged, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::integrate::likeness::foreign_paths;
use crate::integrate::{Completion, Order, land_batch};
use crate::pipeline::{Fault, TaskWord, VerifyError, WorkWord, verify};
use crate::receipts::{CheckReport, DecisionKind, State, case};
use crate::task::Task;
use crate::task::layout::ContextName;
use crate::verdict::{Warrant, WarrantOrigin};
use crate::worker::Report;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the hands of a run share about the target: whoever writes on it holds the turn, and who wants to land waits.
#[derive(Debug, Default)]
pub(super) struct Gate {
    turn: Mutex<()>,
    waiting: Mutex<Vec<Arc<Prepared>>>,
}

/// Everything a landing needs, told to whoever may make it.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) id: String,
    pub(super) context: ContextName,
    pub(super) task: Task,
    /// The sealed case that its warrant is made from.
    pub(super) case: CommitId,
    pub(super) message: String,
    pub(super) report: Option<Report>,
    pub(super) source: Option<String>,
    pub(super) origin: WarrantOrigin,
    pub(super) reason: String,
    pub(super) iteration: u32,
    pub(super) files_changed: usize,
    pub(super) began: Option<Timestamp>,
    pub(super) at: Timestamp,
}

impl Prepared {
    pub(super) fn completion(&self, terms: &Terms) -> Completion<'_> {
        Completion {
            layout: terms.layout,
            keeper: terms.keeper,
            task: &self.task,
            context: &self.context,
            report: self.report.as_ref(),
            source: self.source.as_deref(),
            origin: self.origin,
            reason: &self.reason,
            iteration: self.iteration,
            files_changed: self.files_changed,
            began: self.began,
            at: self.at,
        }
    }

    /// `verified`: merged trees that were verified since its warrant was made.
    pub(super) fn order<'a>(
        &'a self,
        target: &'a RefName,
        books: &'a Completion<'a>,
        verified: &'a [TreeId],
    ) -> Order<'a> {
        Order {
            task: &self.id,
            target,
            message: &self.message,
            books: Some(books),
            verified,
            case: Some(&self.case),
            at: self.at,
        }
    }
}

impl Gate {
    /// Waits for the turn to write on the target.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Arc<Prepared>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stands in line, where whoever has the turn sees it.
    pub(super) fn stand_in_line(&self, prepared: &Arc<Prepared>) {
        self.waiting().push(Arc::clone(prepared));
    }

    pub(super) fn leave_line(&self, prepared: &Arc<Prepared>) {
        self.waiting().retain(|other| !Arc::ptr_eq(other, prepared));
    }
}

/// One that can be part of a batch, with what comes of it on top of those before it.
struct Link {
    prepared: Arc<Prepared>,
    warrant: Warrant,
    /// A commit of the merged trees so far, without bookkeeping.
    commit: CommitId,
    tree: TreeId,
}

/// Lands `own` together with those who wait behind it, if one judgement covers them; false if it is to be judged alone.
/// The turn is held by the caller. The others find their landing when they look again, as if another process had made it.
pub(super) fn land_together(hand: &Hand<'_>, own: &Arc<Prepared>, tip: &CommitId) -> Result<bool, WorkError> {
    let mut members = vec![Arc::clone(own)];
    members.extend(hand.gate.waiting().iter().cloned());
    while members.len() > 1 {
        let chain = chain(&hand.repo, &hand.terms.target, &members, tip)?;
        let alone = chain.first().is_none_or(|link| !Arc::ptr_eq(&link.prepared, own));
        if alone || chain.len() < 2 {
            return Ok(false);
        }
        if is_good(hand, &chain, tip)? {
            return land_chain(hand, chain, tip);
        }
        members = chain.iter().take(chain.len() / 2).map(|link| Arc::clone(&link.prepared)).collect();
    }
    Ok(false)
}

/// Those of them whose work merges cleanly on top of the ones before, and for whom tests are enough: where the target, or
/// one before, moved in the claim's own places, a verifier has to look, and so it is left out.
fn chain(repo: &Repo, target: &RefName, members: &[Arc<Prepared>], tip: &CommitId) -> Result<Vec<Link>, WorkError> {
    let mut links: Vec<Link> = Vec::new();
    if repo.read_ref(target)?.as_ref() != Some(tip) {
        return Ok(links);
    }
    let (_, time) = repo.parents_of(tip)?;
    for prepared in members {
        let Some(warrant) = warrant_from(&case::read(repo, &prepared.case)?) else { continue };
        let verified = matches!(warrant.origin(), WarrantOrigin::Verified | WarrantOrigin::Skipped);
        let at = links.last().map_or(tip, |link| &link.commit).clone();
        if !verified || !repo.is_ancestor(warrant.base(), tip)? {
            continue;
        }
        let Merged::Clean(tree) = repo.merge(&at, warrant.commit())? else { continue };
        let before = repo.tree_of(&at)?;
        if tree == before || meets(repo, &warrant, &before)? {
            continue;
        }
        let words = format!("merge of {} with those before it, to be judged\n", prepared.id);
        let commit = repo.write_commit(&tree, std::slice::from_ref(&at), time, &words)?;
        links.push(Link { prepared: Arc::clone(prepared), warrant, commit, tree });
    }
    Ok(links)
}

/// True if what moved since the claim's base meets the claim.
fn meets(repo: &Repo, warrant: &Warrant, before: &TreeId) -> Result<bool, WorkError> {
    let base = repo.tree_of(warrant.base())?;
    let moved: BTreeSet<RepoPath> = foreign_paths(repo, &base, before)?.into_iter().collect();
    Ok(foreign_paths(repo, &base, warrant.tree())?.iter().any(|path| moved.contains(path)))
}

/// Floor and tests on what comes of all of them. What cannot be found out is not good.
fn is_good(hand: &Hand<'_>, chain: &[Link], tip: &CommitId) -> Result<bool, WorkError> {
    let Some(last) = chain.last() else { return Ok(false) };
    let host = hand.repo.host();
    let (_, time) = hand.repo.parents_of(tip)?;
    let names: Vec<&str> = chain.iter().map(|link| link.prepared.id.as_str()).collect();
    let words = format!("merge of {} into the target, to be judged\n", names.join(", "));
    let commit = hand.repo.write_commit(&last.tree, std::slice::from_ref(tip), time, &words)?;
    let mut question = judgement(&hand.terms.top, None);
    question.work = WorkWord::Commit(commit.to_string());
    question.base = Some(tip.to_string());
    question.task = TaskWord::None;
    question.require_task = false;
    question.seal_floor = true;
    question.removals = chain.iter().flat_map(|link| link.prepared.task.removes_tests.iter().cloned()).collect();
    let watch_time = host.clock.stopwatch();
    match verify(&question, host, &mut Phases { task: names.join("+"), tell: hand.tell }) {
        Ok(outcome) => {
            hand.spend_together(&outcome, watch_time.elapsed().as_secs())?;
            // Without a task nothing is held for want of tests: here they must have run.
            let tested = |check: &CheckReport| check.id == tests_run::ID && check.state == State::Pass;
            Ok(outcome.decision.kind == DecisionKind::FloorOnly && outcome.floor.checks.iter().any(tested))
        }
        Err(VerifyError::Interrupted) => Err(WorkError::Interrupted),
        Err(_) if host.cancel.is_asked() => Err(WorkError::Interrupted),
        Err(why) if why.fault() == Fault::Bug => Err(why.into()),
        // Each is judged alone then, and says what stands in the way.
        Err(_) => Ok(false),
    }
}

/// All of them, in one move. A refusal leaves each to its own landing, which names it.
fn land_chain(hand: &Hand<'_>, chain: Vec<Link>, tip: &CommitId) -> Result<bool, WorkError> {
    let Some(judged) = chain.last().map(|link| link.tree.clone()) else { return Ok(false) };
    let target = &hand.terms.target;
    let (prepared, warrants): (Vec<_>, Vec<_>) = chain.into_iter().map(|link| (link.prepared, link.warrant)).unzip();
    let books: Vec<Completion<'_>> = prepared.iter().map(|one| one.completion(hand.terms)).collect();
    let orders = prepared.iter().zip(&books).map(|(one, books)| one.order(target, books, &[]));
    match land_batch(&hand.repo, warrants.into_iter().zip(orders).collect(), target, tip, &judged) {
        Ok(_) => Ok(true),
        Err(_) if hand.repo.host().cancel.is_asked() => Err(WorkError::Interrupted),
        Err(_) => Ok(false),
    }
}
