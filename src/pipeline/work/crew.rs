//! A run: recover, plan, take, drive side by side, plan again, say what was done.

use super::batch::Gate;
use super::hand::{Hand, saved};
use super::journal::Journal;
use super::session::{Beginning, Tally, end_session};
use super::settings::Terms;
use super::standing::Subject;
use super::{End, TaskEnd, WorkError, WorkEvent, WorkReport, WorkRequest};
use crate::host::Host;
use crate::host::failpoint;
use crate::host::git::{GitError, Repo};
use crate::host::path::{RepoPath, escape};
use crate::integrate::books::{self, Diary, Moved};
use crate::integrate::{Pages, sweep_removed, with_books, write_board};
use crate::pipeline::{VerifyError, read_board};
use crate::task::TaskId;
use crate::task::board::{Board, BoardError};
use crate::task::layout::{Folder, Layout};
use crate::task::plan::{OpenQuestion, Plan, open_questions, plan};
use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most tasks at once.
const MOST_PARALLEL: usize = 64;

/// A task to be driven: taken from `todo` first, or under way already.
#[derive(Debug, Clone)]
struct Turn {
    subject: Subject,
    take: bool,
    resume: bool,
}

/// What the threads of a run share.
struct Shared {
    queue: VecDeque<Turn>,
    seen: BTreeSet<TaskId>,
    running: usize,
}

/// Works on a board until nothing is left that can be done.
///
/// # Errors
/// See [`WorkError`]: then nothing was started. What happens to a single task is in the report.
pub fn work(request: &WorkRequest, host: &Host, tell: &mut dyn FnMut(&WorkEvent)) -> Result<WorkReport, WorkError> {
    let repo = Repo::discover(host, &request.start)?;
    let target = super::settings::target(&repo, request.into.as_deref())?;
    repo.end_broken_move(&target)?;
    let board = board_at(&repo, &target)?;
    let terms = Terms::settle(&repo, request, board.layout)?;
    let mut planned = plan(&board, &request.names)?;
    if request.only_resume {
        planned.ready.clear();
    }
    let (turns, mut ends) = opening(&repo, &terms, &board, &planned, request)?;
    if terms.worker.is_none() && turns.iter().any(|turn| turn.take) {
        return Err(WorkError::NoWorker);
    }
    let open_questions = if turns.is_empty() && ends.is_empty() { vision(&repo, &terms)? } else { Vec::new() };
    let mut remarks = if turns.is_empty() { Vec::new() } else { upstream(&repo, &terms)? };
    let began = Beginning::look(&repo, &terms)?;
    let seen = turns.iter().map(|turn| turn.subject.id.clone()).collect();
    let shared = Mutex::new(Shared { queue: turns.into(), seen, running: 0 });
    let mut tally = Tally::default();
    run(request, host, &terms, &shared, &mut ends, &mut |event| {
        tally.see(event);
        tell(event);
    })?;
    // A run that only looked leaves no entry: running the command again changes nothing.
    if tally.acted
        && let Err(why) = end_session(&repo, &terms, &ends, &tally, &began)
    {
        // The tasks are where they are whether or not the diary says so.
        remarks.push(format!("the diary has no entry of this run's end: {why}"));
    }
    let after = plan(&board_at(&repo, &target)?, &[])?;
    Ok(WorkReport {
        schema: WorkReport::SCHEMA.to_owned(),
        target: terms.target.to_string(),
        tasks: ends,
        held_back: after.held_back,
        cycles: after.cycles,
        open_questions,
        remarks,
        out_of_band: began.others,
        leftovers: sweep_removed(&terms.top.join(".worktrees")),
    })
}

/// In words how the target differs from the branch it tracks: the base is never switched, but nobody should be surprised.
fn upstream(repo: &Repo, terms: &Terms) -> Result<Vec<String>, WorkError> {
    let branch = terms.target.as_str().trim_start_matches("refs/heads/");
    let Some(upstream) = repo.upstream_of(branch)? else { return Ok(Vec::new()) };
    let range = format!("{}...{upstream}", terms.target);
    // An upstream that was never fetched tells nothing.
    let counted = repo.git().run_unchecked(["rev-list", "--left-right", "--count", &range, "--"])?;
    let line = counted.line();
    let mut numbers = line.split_whitespace().filter_map(|number| number.parse::<u64>().ok());
    let (Some(ahead), Some(behind)) = (numbers.next(), numbers.next()) else { return Ok(Vec::new()) };
    if behind == 0 {
        return Ok(Vec::new());
    }
    let upstream = escape(upstream.trim_start_matches("refs/remotes/").as_bytes());
    let commits = |number: u64| if number == 1 { "1 commit".to_owned() } else { format!("{number} commits") };
    Ok(vec![format!(
        "tasks are cut from {branch} as it is here, which is {} behind {upstream} and {} ahead of it; pull first if they need those",
        commits(behind),
        commits(ahead)
    )])
}

/// What [`work`] would start and why the rest waits. Nothing is touched.
///
/// # Errors
/// See [`WorkError`].
pub fn plan_only(request: &WorkRequest, host: &Host) -> Result<Plan, WorkError> {
    let repo = Repo::discover(host, &request.start)?;
    let target = super::settings::target(&repo, request.into.as_deref())?;
    Ok(plan(&board_at(&repo, &target)?, &request.names)?)
}

/// The board as the target's tip has it.
pub(super) fn board_at(repo: &Repo, target: &crate::host::git::RefName) -> Result<Board, WorkError> {
    let tip = repo.read_ref(target)?.ok_or_else(|| WorkError::NoTarget(target.to_string()))?;
    let (_, board) = read_board(repo, &repo.tree_of(&tip)?)?;
    board.ok_or(WorkError::Board(BoardError::None))
}

/// The first turns: tasks under way that are ours, then those to be taken. Others under way are left alone and named.
fn opening(
    repo: &Repo,
    terms: &Terms,
    board: &Board,
    planned: &Plan,
    request: &WorkRequest,
) -> Result<(Vec<Turn>, Vec<TaskEnd>), WorkError> {
    let (mut turns, mut foreign) = (Vec::new(), Vec::new());
    for listed in board.tasks.iter().filter(|listed| listed.folder != Folder::Todo) {
        let Some(id) = listed.outcome.task().ok().and_then(|task| task.id.clone()) else { continue };
        let named = planned.resumed.contains(&id);
        let Some(subject) = Subject::of(terms.layout, &id, &listed.path) else { continue };
        let (entries, held) = Journal::peek(&repo.own_dir(), &id)?;
        let ours = !entries.is_empty();
        let left = terms.worktree(id.as_str()).is_dir();
        let in_scope = request.names.is_empty() || named;
        if listed.folder != Folder::Doing {
            // Landed or returned, but its worktree is still here: the run that did it died before the end.
            if ours && left && !held && request.names.is_empty() {
                turns.push(Turn { subject, take: false, resume: false });
            } else if ours && !left {
                super::teardown::end_broken_removal(repo, &id)?;
            }
        } else if held && in_scope {
            foreign.push(foreign_end(&id, "another process works on it"));
        } else if named || (ours && in_scope) || (in_scope && began_by_us(repo, &id)?) {
            turns.push(Turn { subject, take: false, resume: named || request.resume });
        } else if in_scope {
            foreign.push(foreign_end(&id, "it is in `doing` and nothing here began it; name it to take it over"));
        }
    }
    for ready in &planned.ready {
        if let Some(subject) = Subject::of(terms.layout, &ready.id, &ready.path) {
            turns.push(Turn { subject, take: true, resume: false });
        }
    }
    Ok((turns, foreign))
}

/// True if a reference of ours keeps a claim of this task, or a run of ours was about to take it.
fn began_by_us(repo: &Repo, id: &TaskId) -> Result<bool, WorkError> {
    let claims = !repo.refs_under(&format!("refs/countersign/claims/{id}/"))?.is_empty();
    Ok(claims || Journal::folder(&repo.own_dir()).join(id.as_str()).join("taken").is_file())
}

fn foreign_end(id: &TaskId, why: &str) -> TaskEnd {
    TaskEnd {
        task: id.to_string(),
        end: End::Foreign { why: why.to_owned() },
        worktree: None,
        kept: None,
        saved: Vec::new(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Drives all turns, at most `parallel` at once. A slow task blocks nobody else's.
fn run(
    request: &WorkRequest,
    host: &Host,
    terms: &Terms,
    shared: &Mutex<Shared>,
    ends: &mut Vec<TaskEnd>,
    tell: &mut dyn FnMut(&WorkEvent),
) -> Result<(), WorkError> {
    let (sender, events) = mpsc::channel::<WorkEvent>();
    let gate = Gate::default();
    let interrupted = Mutex::new(false);
    std::thread::scope(|scope| {
        for _ in 0..request.parallel.clamp(1, MOST_PARALLEL) {
            let sender = sender.clone();
            let (gate, interrupted) = (&gate, &interrupted);
            scope.spawn(move || {
                let sender = Mutex::new(sender);
                // Nobody listens only when the run is over.
                let tell = |event: WorkEvent| drop(lock(&sender).send(event));
                while let Some(turn) = next_turn(shared, host) {
                    let id = turn.subject.id.clone();
                    let ended = one(request, host, terms, turn, gate, &tell);
                    let end = match ended {
                        Ok(Some(end)) => end,
                        Ok(None) => foreign_end(&id, "another process took it"),
                        Err(WorkError::Interrupted) => {
                            *lock(interrupted) = true;
                            stopped(host, request, &id, "interrupted; run the command again to go on")
                        }
                        Err(why) => stopped(host, request, &id, &why.to_string()),
                    };
                    let landed = matches!(end.end, End::Landed { .. });
                    tell(WorkEvent::Ended(end));
                    if landed && request.names.is_empty() && !request.only_resume {
                        plan_again(host, request, terms, shared);
                    }
                    lock(shared).running -= 1;
                }
            });
        }
        drop(sender);
        for event in events {
            tell(&event);
            if let WorkEvent::Ended(end) = event {
                ends.push(end);
            }
        }
    });
    if *lock(&interrupted) { Err(WorkError::Interrupted) } else { Ok(()) }
}

/// The next turn; waits while a running task may still make others ready.
fn next_turn(shared: &Mutex<Shared>, host: &Host) -> Option<Turn> {
    loop {
        if host.cancel.is_asked() {
            return None;
        }
        let mut state = lock(shared);
        if let Some(turn) = state.queue.pop_front() {
            state.running += 1;
            return Some(turn);
        }
        if state.running == 0 {
            return None;
        }
        drop(state);
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}

/// Adds tasks that became ready. That it cannot be found out stops nobody who is at work: the next run sees it.
fn plan_again(host: &Host, request: &WorkRequest, terms: &Terms, shared: &Mutex<Shared>) {
    let Ok(repo) = Repo::discover(host, &request.start) else { return };
    let Ok(board) = board_at(&repo, &terms.target) else { return };
    let Ok(planned) = plan(&board, &[]) else { return };
    let mut state = lock(shared);
    for ready in planned.ready {
        let Some(subject) = Subject::of(terms.layout, &ready.id, &ready.path) else { continue };
        if state.seen.insert(ready.id) {
            state.queue.push_back(Turn { subject, take: true, resume: false });
        }
    }
}

/// One task, from its lock to its end; none if another process has it.
fn one(
    request: &WorkRequest,
    host: &Host,
    terms: &Terms,
    turn: Turn,
    gate: &Gate,
    tell: &(dyn Fn(WorkEvent) + Sync),
) -> Result<Option<TaskEnd>, WorkError> {
    let repo = Repo::discover(host, &request.start)?;
    let Some(journal) = Journal::open(&repo.own_dir(), &turn.subject.id)? else { return Ok(None) };
    if turn.take {
        let mark = Journal::folder(&repo.own_dir()).join(turn.subject.id.as_str()).join("taken");
        std::fs::write(&mark, b"").map_err(super::hand::io("write", &mark))?;
        let writing = gate.turn();
        let taken = take(&repo, terms, request, &turn.subject)?;
        drop(writing);
        if !taken {
            return Ok(None);
        }
        tell(WorkEvent::Taken { tasks: vec![turn.subject.id.to_string()] });
    }
    let mut hand = Hand { repo, terms, subject: turn.subject, journal, gate, tell, landed: None };
    hand.drive(turn.resume).map(Some)
}

/// Takes a task: its page moves to `doing`, INDEX and diary say so, in one commit. False: another process was faster.
fn take(repo: &Repo, terms: &Terms, request: &WorkRequest, subject: &Subject) -> Result<bool, WorkError> {
    let id = subject.id.as_str();
    let at = repo.host().clock.now();
    let message = format!("chore({}): batch start [{id}]\n", subject.context);
    let title = format!("Batch started: [{id}]");
    let fields = [
        ("Type", "Work / Batch start".to_owned()),
        ("Tasks", id.to_owned()),
        (
            "Parallel",
            if request.parallel > 1 {
                format!("yes ({} workers)", request.parallel)
            } else {
                "no (1 worker)".to_owned()
            },
        ),
    ];
    let task = Moved { layout: terms.layout, context: &subject.context, id };
    failpoint::pass(repo.host());
    let commit = write_board(repo, &terms.target, at, &message, &|tree| {
        let pages = Pages::load(repo, tree, terms.layout, id)?;
        let books = books::take(&pages, &task)?;
        if books.edits.is_empty() {
            return Ok(tree.clone());
        }
        let moved = with_books(repo, tree, &pages, books)?;
        diary(repo, &moved, terms.layout, &Diary { at, title: &title, fields: &fields })
    })?;
    failpoint::pass(repo.host());
    Ok(commit.is_some())
}

/// The tree with an entry on top of its diary.
pub(super) fn diary(
    repo: &Repo,
    tree: &crate::host::ids::TreeId,
    layout: Layout,
    entry: &Diary<'_>,
) -> Result<crate::host::ids::TreeId, crate::integrate::BooksError> {
    let pages = Pages::load(repo, tree, layout, "")?;
    let books = books::write_diary(&pages, layout, entry)?;
    Ok(with_books(repo, tree, &pages, books)?)
}

/// The end of a task that an error stopped.
fn stopped(host: &Host, request: &WorkRequest, id: &TaskId, why: &str) -> TaskEnd {
    let repo = Repo::discover(host, &request.start).ok();
    let entries = repo.as_ref().and_then(|repo| Journal::peek(&repo.own_dir(), id).ok()).unwrap_or_default().0;
    let worktree = repo.map(|repo| super::settings::main_top(&repo).join(".worktrees").join(id.as_str()));
    TaskEnd {
        task: id.to_string(),
        end: End::Stopped { why: why.to_owned() },
        worktree: worktree.filter(|place| place.is_dir()),
        kept: None,
        saved: saved(&entries),
    }
}

/// What the vision leaves open, where there is nothing to do.
fn vision(repo: &Repo, terms: &Terms) -> Result<Vec<OpenQuestion>, WorkError> {
    let tip = repo.read_ref(&terms.target)?.ok_or_else(|| WorkError::NoTarget(terms.target.to_string()))?;
    let path: RepoPath = terms.layout.vision();
    let bytes = repo.file(&repo.tree_of(&tip)?, &path, 1 << 20)?.unwrap_or_default();
    open_questions(&bytes).map_err(|why| {
        WorkError::Verify(VerifyError::Git(GitError::Unreadable {
            command: format!("read {path}"),
            what: why.to_string(),
        }))
    })
}
