//! Landing a task's warrant, and what follows when the target has moved meanwhile.

use super::WorkError;
use super::batch::{Prepared, land_together};
use super::hand::{Hand, base_of, may_land, task_word};
use super::journal::Entry;
use super::settings::judgement;
use super::standing::{Attempted, Life, Seen};
use super::step::Latest;
use crate::claim::freeze_worktree;
use crate::host::failpoint;
use crate::host::git::{Change, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::integrate::{HookError, Refusal, land};
use crate::pipeline::WorkWord;
use crate::receipts::case::Sealed;
use crate::task::layout::{DECISIONS, Folder};
use crate::verdict::{self, Decision, Warrant, WarrantOrigin};
use crate::worker::{Report, parse_report};
use std::ffi::OsStr;
use std::sync::Arc;

/// How many commits are named to whoever resolves a conflict.
const MOST_NAMED: u32 = 10;

/// The warrant of an attempt, made anew from its receipts by the one function that makes any.
pub(super) fn warrant_of(attempt: &Attempted) -> Option<Warrant> {
    warrant_from(&attempt.sealed)
}

/// The warrant that a sealed case gives.
pub(super) fn warrant_from(sealed: &Sealed) -> Option<Warrant> {
    match verdict::judge(&sealed.attempt.receipts) {
        Decision::Land(warrant) | Decision::Skip(warrant) => Some(warrant),
        Decision::SendBack(_) | Decision::Hold(_) | Decision::FloorOnly(_) => None,
    }
}

/// The newest attempt on the worker's own work that may land, and the merged trees that were judged since.
///
/// `waived`: also those of a run that was told not to verify.
pub(super) fn chosen<'s>(seen: &'s Seen, life: &Life, waived: bool) -> Option<(&'s Attempted, Vec<TreeId>)> {
    let base = base_of(seen, life);
    let passed = |attempt: &&Attempted| {
        let counts = waived || attempt.ruled || !attempt.waived;
        counts && attempt.decision.as_ref().is_some_and(|decision| may_land(decision.kind))
    };
    // What a hook made of it is no work of the worker's.
    let hooked = seen.standing.progress.hooked.as_ref();
    // What a person approved, or nobody verified, is spent as it is, also where it is a merge: its origin is to stand in
    // the note.
    let own = |attempt: &Attempted| {
        let measured = attempt.ruled || attempt.waived;
        attempt.claim.as_ref().is_some_and(|claim| (measured || claim.base == *base) && Some(&claim.tree) != hooked)
    };
    let at = seen.attempts.iter().rposition(|attempt| passed(&attempt) && own(attempt))?;
    let later = seen.attempts[at + 1..].iter().filter(passed);
    let merged = later.filter_map(|attempt| attempt.claim.as_ref().map(|claim| claim.tree.clone())).collect();
    Some((&seen.attempts[at], merged))
}

/// The report that the worker left with the work, if one can be read.
fn report_of(hand: &Hand<'_>, seen: &Seen) -> Result<Option<Report>, WorkError> {
    let place = hand.sidecar(seen.standing.progress.iteration)?;
    let bytes = crate::worker::outbox::read_left_report(&place).ok().flatten();
    Ok(bytes.and_then(|bytes| parse_report(&bytes).ok()))
}

/// What a landing of this attempt needs.
fn prepare(
    hand: &Hand<'_>,
    seen: &Seen,
    life: &Life,
    (attempt, warrant): (&Attempted, &Warrant),
) -> Result<Prepared, WorkError> {
    let report = report_of(hand, seen)?;
    let entries = hand.journal.entries();
    let began = entries.iter().find_map(|entry| match entry {
        Entry::Sent { life: of, at, .. } if *of == life.start => Some(*at),
        _ => None,
    });
    let source = entries.iter().rev().find_map(|entry| match entry {
        Entry::Returned { source, .. } => source.map(|source| source.to_string()),
        _ => None,
    });
    Ok(Prepared {
        id: hand.id().to_owned(),
        context: hand.subject.context.clone(),
        task: life.task.clone(),
        case: attempt.sealed.commit.clone(),
        message: message(hand, life, report.as_ref()) + trailer(warrant.origin()),
        report,
        source,
        origin: warrant.origin(),
        reason: warrant.reason().text.clone(),
        iteration: seen.standing.progress.iteration.max(1),
        files_changed: attempt.claim.as_ref().map_or(0, |claim| claim.changed.len()),
        began,
        at: hand.repo.host().clock.now(),
    })
}

/// Lands, or records what stands in the way.
pub(super) fn land_task(hand: &mut Hand<'_>, seen: &Seen, life: &Life) -> Result<(), WorkError> {
    let (attempt, merged) = chosen(seen, life, hand.terms.no_verify)
        .ok_or_else(|| hand.inconsistent("no attempt of this life may land"))?;
    let warrant = warrant_of(attempt).ok_or_else(|| hand.inconsistent("its sealed receipts give no warrant"))?;
    let prepared = Arc::new(prepare(hand, seen, life, (attempt, &warrant))?);
    let gate = hand.gate;
    // In line before the journal says so: whoever has the turn sees all that have got this far.
    gate.stand_in_line(&prepared);
    let recorded = hand.record(Entry::Landing { case: prepared.case.clone() });
    // One landing at a time: the next one meets the target as this one leaves it.
    let _turn = gate.turn();
    gate.leave_line(&prepared);
    recorded?;
    let tip = tip(hand)?;
    let page = hand.subject.path(hand.terms.layout, Folder::Done);
    if hand.repo.entry(&hand.repo.tree_of(&tip)?, &page)?.is_some() {
        // It landed with others while it waited. The loop looks again, and finds the proof.
        return Ok(());
    }
    let books = prepared.completion(hand.terms);
    let target = hand.terms.target.clone();
    let order = prepared.order(&target, &books, &merged);
    failpoint::pass(hand.repo.host());
    let landed = land(&hand.repo, warrant, &order);
    failpoint::pass(hand.repo.host());
    match landed {
        Ok(landed) => {
            let commit = landed.record().commit.clone();
            hand.landed = Some(landed);
            hand.record(Entry::Landed { commit, at: prepared.at })
        }
        Err(unlanded) => {
            let moved = matches!(unlanded.why, Refusal::Unverified { .. });
            // The loop finds what landed with others as it finds what another process landed.
            if moved && !hand.terms.no_verify && land_together(hand, &prepared, &tip)? {
                return Ok(());
            }
            // What was refused is about the target as it was: if it moved meanwhile, the loop lands anew.
            if moved && self::tip(hand)? != tip {
                return Ok(());
            }
            refused(hand, seen, life, attempt, &unlanded.why)
        }
    }
}

fn refused(hand: &mut Hand<'_>, seen: &Seen, life: &Life, attempt: &Attempted, why: &Refusal) -> Result<(), WorkError> {
    match why {
        Refusal::Conflict { paths, .. } => {
            let tip = tip(hand)?;
            let base = base_of(seen, life);
            let with = landed_at(&hand.repo, base, &tip, paths)?;
            let records = same_record(&hand.repo, base, paths)?;
            let paths = paths.iter().map(ToString::to_string).collect();
            hand.record(Entry::Conflicted { tip, paths, with, records })
        }
        Refusal::Unverified { merged, .. } => {
            let tip = tip(hand)?;
            judge_merged(hand, seen, life, merged, &tip)
        }
        // The loop looks again at the target as it is now.
        Refusal::Raced { .. } => Ok(()),
        Refusal::TaskChanged { .. } | Refusal::Rewound { .. } | Refusal::Nothing { .. } => {
            let claim = attempt.claim.as_ref().and_then(|claim| claim.name.clone()).unwrap_or_default();
            hand.held("not-landable", &format!("{why}; the claim is {claim}"))
        }
        Refusal::Hook(HookError::TreeChanged { tree: Some(tree), .. }) => match &seen.standing.progress.hooked {
            Some(before) if before != tree => hand.held("landing-waits", &format!("{why}; it was judged once already")),
            _ => {
                hand.record(Entry::Hooked { tree: tree.clone() })?;
                let tip = tip(hand)?;
                judge_merged(hand, seen, life, tree, &tip)
            }
        },
        // A hook or a signature that Ctrl-C ended is no reason to wait.
        _ if hand.repo.host().cancel.is_asked() => Err(WorkError::Interrupted),
        _ => hand.held("landing-waits", &why.to_string()),
    }
}

/// The commits of the target that changed these places after `base`, newest first, one line each.
fn landed_at(repo: &Repo, base: &CommitId, tip: &CommitId, paths: &[RepoPath]) -> Result<Vec<String>, WorkError> {
    let range = format!("{base}..{tip}");
    let most = format!("--max-count={MOST_NAMED}");
    let words = ["--literal-pathspecs", "log", "--format=%h %s", "--no-show-signature", &most, &range, "--"];
    let words = words.into_iter().map(OsStr::new).map(ToOwned::to_owned);
    let listed = repo.git().run(words.chain(paths.iter().map(|path| path.to_path_buf().into_os_string())))?;
    Ok(listed.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(escape).collect())
}

/// True if both sides added a decision record of one name: two decisions, and no text that is both.
fn same_record(repo: &Repo, base: &CommitId, paths: &[RepoPath]) -> Result<bool, WorkError> {
    let tree = repo.tree_of(base)?;
    let folder = format!("{DECISIONS}/");
    for path in paths.iter().filter(|path| path.as_bytes().starts_with(folder.as_bytes())) {
        if repo.entry(&tree, path)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Places where the work takes back what landed on the target between the life's start and the commit that was merged
/// in: a resolver that took an old copy of a file, for instance.
pub(super) fn undone(hand: &Hand<'_>, life: &Life, tip: &CommitId) -> Result<Vec<String>, WorkError> {
    let repo = &hand.repo;
    let inside = repo.discover_beside(&hand.worktree())?;
    let work = freeze_worktree(&inside, tip)?;
    inside.leave_quarantine();
    let landed = repo.changes(&repo.tree_of(&life.start)?, &repo.tree_of(tip)?)?;
    let takes_back = |change: &&Change| {
        landed.iter().any(|other| other.path == change.path && other.new == change.old && other.old == change.new)
    };
    Ok(work.changed.iter().filter(takes_back).map(|change| change.path.to_string()).collect())
}

fn tip(hand: &Hand<'_>) -> Result<CommitId, WorkError> {
    let target = &hand.terms.target;
    hand.repo.read_ref(target)?.ok_or_else(|| WorkError::NoTarget(target.to_string()))
}

/// Has the merge of claim and target judged as it would land.
fn judge_merged(
    hand: &mut Hand<'_>,
    seen: &Seen,
    life: &Life,
    merged: &TreeId,
    tip: &CommitId,
) -> Result<(), WorkError> {
    let (_, time) = hand.repo.parents_of(tip)?;
    let words = format!("merge of {} into the target, to be judged\n", hand.id());
    let commit = hand.repo.write_commit(merged, std::slice::from_ref(tip), time, &words)?;
    hand.record(Entry::Judging { sealed: seen.standing.sealed })?;
    let mut question = judgement(&hand.terms.top, hand.terms.verifier.clone());
    question.work = WorkWord::Commit(commit.to_string());
    question.base = Some(tip.to_string());
    question.task = match task_word(hand, seen, life) {
        crate::pipeline::TaskWord::Named(_) => crate::pipeline::TaskWord::Text(life.task.text.clone().into_bytes()),
        word => word,
    };
    hand.ask(&question)
}

/// What the message of a landing says that nobody verified.
fn trailer(origin: WarrantOrigin) -> &'static str {
    match origin {
        WarrantOrigin::Verified | WarrantOrigin::Skipped => "",
        WarrantOrigin::Override => "\nCountersign: override\n",
        WarrantOrigin::Unverified => "\nCountersign: unverified\n",
    }
}

/// The landing commit's message: `<type>(<context>): <summary> [<id>]`.
fn message(hand: &Hand<'_>, life: &Life, report: Option<&Report>) -> String {
    let summary = report.and_then(|report| report.summary.clone());
    let summary = summary.filter(|text| !text.trim().is_empty());
    let summary = summary.unwrap_or_else(|| life.task.display_title().to_owned());
    let plain: String = summary.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ").replace(['[', ']'], "");
    let kind = life.task.commit_type();
    let kind = if kind.chars().all(|c| c.is_ascii_lowercase()) && !kind.is_empty() { kind } else { "chore".to_owned() };
    format!("{kind}({}): {plain} [{}]\n", hand.subject.context, hand.id())
}

/// Merges the target into the work: a commit with both as parents, its tree with the conflicts marked, put into the
/// worktree. Nothing is left in the middle of a merge, so a crash on either side leaves a whole state.
pub(super) fn merge(hand: &mut Hand<'_>, seen: &Seen) -> Result<(), WorkError> {
    let Latest::Conflicted { tip, .. } = &seen.standing.progress.latest else { return Ok(()) };
    let life = seen.life.as_ref().ok_or_else(|| hand.inconsistent("no commit took it from `todo`"))?;
    let (attempt, _) = chosen(seen, life, true).ok_or_else(|| hand.inconsistent("there is no claim to merge"))?;
    let claim = attempt.claim.as_ref().and_then(|claim| Some((claim.commit.clone()?, claim.tree.clone())));
    let (claim, tree) = claim.ok_or_else(|| hand.inconsistent("its claim is no commit"))?;
    let merged = marked_merge(&hand.repo, &claim, tip)?;
    let (_, time) = hand.repo.parents_of(&claim)?;
    let words = format!("wip [{}] iter {} (merge main)\n", hand.id(), seen.standing.progress.iteration);
    let commit = hand.repo.write_commit(&merged, &[claim.clone(), tip.clone()], time, &words)?;
    let inside = hand.repo.discover_beside(&hand.worktree())?;
    let head = inside.resolve("HEAD")?;
    if head.as_ref() != Some(&commit) {
        let found = freeze_worktree(&inside, base_of(seen, life))?.tree;
        inside.leave_quarantine();
        if found != tree {
            return hand.held("held", "its worktree is not as it was judged: somebody edited it; judge it again");
        }
        hand.effect(|| {
            inside.git().run(["reset", "--quiet", "--hard", commit.as_str()])?;
            Ok(())
        })?;
    }
    hand.record(Entry::Merged { commit, tip: tip.clone() })
}

/// The tree of a merge with its conflicts marked in the files: the target's side first.
fn marked_merge(repo: &Repo, claim: &CommitId, tip: &CommitId) -> Result<TreeId, WorkError> {
    let words = ["-c", "merge.conflictStyle=merge", "merge-tree", "--write-tree", "--no-messages", "-z", "--name-only"];
    let output = repo.git().run_unchecked(words.into_iter().chain([tip.as_str(), claim.as_str()]))?;
    let id = output.stdout.split(|byte| *byte == 0).next().unwrap_or_default();
    TreeId::new(&String::from_utf8_lossy(id)).map_err(|_| {
        WorkError::Git(crate::host::git::GitError::Failed {
            command: format!("git merge-tree {} {}", tip.short(), claim.short()),
            ending: output.code.map_or_else(|| "killed by a signal".to_owned(), |code| format!("exit {code}")),
            tree: repo.top().to_owned(),
            said: output.said(),
        })
    })
}
