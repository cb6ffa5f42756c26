//! The measured things, and what each is compared with.

use super::stage::Stage;
use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::host::room::{self, Room};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// One measured thing.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Not measured.
    pub(super) before: Box<dyn Fn()>,
    pub(super) run: Box<dyn Fn()>,
    /// Not measured.
    pub(super) after: Box<dyn Fn()>,
    /// Milliseconds, one for each round.
    pub(super) times: Vec<f64>,
    /// Milliseconds of processors, ours and those of all processes we waited for, one for each round.
    pub(super) work: Vec<f64>,
    pub(super) comparisons: Vec<Comparison>,
}

/// A row against the sum of others.
pub(super) struct Comparison {
    pub(super) to: &'static [&'static str],
    pub(super) how: How,
    pub(super) target: &'static str,
}

/// How two times are compared.
#[derive(Clone, Copy)]
pub(super) enum How {
    /// Own time by the others'.
    Ratio,
    /// The others' time by the own.
    Faster,
    /// Milliseconds more than the others.
    More,
}

impl How {
    pub(super) fn of(self, own: f64, others: f64) -> f64 {
        match self {
            Self::Ratio => own / others,
            Self::Faster => others / own,
            Self::More => own - others,
        }
    }

    pub(super) fn in_words(self, value: f64) -> String {
        match self {
            Self::Ratio => format!("{value:.2}"),
            Self::Faster => format!("{value:.1}x less"),
            Self::More => format!("{value:+.1} ms"),
        }
    }
}

impl Row {
    fn new(name: &'static str, run: impl Fn() + 'static) -> Self {
        let nothing = || Box::new(|| ()) as Box<dyn Fn()>;
        Self {
            name,
            before: nothing(),
            run: Box::new(run),
            after: nothing(),
            times: Vec::new(),
            work: Vec::new(),
            comparisons: Vec::new(),
        }
    }

    fn against(mut self, to: &'static [&'static str], how: How, target: &'static str) -> Self {
        self.comparisons.push(Comparison { to, how, target });
        self
    }

    fn before(mut self, before: impl Fn() + 'static) -> Self {
        self.before = Box::new(before);
        self
    }

    fn after(mut self, after: impl Fn() + 'static) -> Self {
        self.after = Box::new(after);
        self
    }
}

const SNAPSHOT: &str = "git: copy index, add, write-tree";
const DIFF: &str = "git: diff-tree";
/// The snapshot, its changes, and the listings of what could hide: what git alone needs for the answers of a freeze.
const WRAPPED: &str = "git: all that a freeze answers";
/// The same, where add and write-tree run in the box, one helper for each: what the walls themselves cost.
const WALLED: &str = "git: the same, add and write-tree boxed";
const BARE: &str = "a program that does nothing";
const ADD: &str = "git worktree add";
const REMOVE: &str = "git worktree remove";
const UNTESTED: &str = "verify, no tests";

pub(super) fn rows(stage: &Stage) -> Vec<Row> {
    let mut rows = freezing(stage);
    rows.extend(rooms(stage));
    rows
}

fn freezing(stage: &Stage) -> Vec<Row> {
    let on = || stage.clone();
    let tree = stage.plumbing_snapshot();
    let (repo, base) = (stage.open(), stage.base());
    let (git, diff, wrapped, walled, opener) = (on(), on(), on(), on(), on());
    let (bare, boxed, floor, verify, untested, tested) = (on(), on(), on(), on(), on(), on());
    vec![
        Row::new(SNAPSHOT, move || drop(git.plumbing_snapshot())),
        Row::new(DIFF, move || diff.diff_tree(&tree)),
        Row::new(WRAPPED, move || wrapped.wrapped_plumbing()),
        Row::new(WALLED, move || walled.walled_plumbing()).against(&[WRAPPED], How::Ratio, ""),
        Row::new("countersign: open the repository", move || drop(opener.open())),
        Row::new("countersign: freeze", move || super::stage::freeze(&repo, &base))
            .against(&[WRAPPED], How::Ratio, "<= 1.10")
            .against(&[WALLED], How::Ratio, "")
            .against(&[SNAPSHOT], How::Ratio, ""),
        Row::new(BARE, move || bare.program("true")),
        Row::new("the same in the box", move || boxed.boxed(&[vec!["true".into()]])).against(
            &[BARE],
            How::More,
            "<= +2 ms",
        ),
        Row::new("verify --floor", move || drop(floor.verify(&["--floor"]))).against(&[SNAPSHOT, DIFF], How::Ratio, ""),
        Row::new("verify, mechanical", move || drop(verify.verify(&["task.md", "--fresh"]))).against(
            &[SNAPSHOT, DIFF],
            How::Ratio,
            "< 300 ms at 3k, < 800 ms at 50k",
        ),
        Row::new(UNTESTED, move || drop(untested.verify(&["judged.md"]))),
        Row::new("verify, tree tested before", move || tested.verify_tested()).against(
            &[UNTESTED],
            How::More,
            "<= +50 ms",
        ),
    ]
}

fn rooms(stage: &Stage) -> Vec<Row> {
    let on = || stage.clone();
    let commits = stage.two_commits();
    let turn = Rc::new(Cell::new(0));
    let next = move || {
        turn.set(turn.get() + 1);
        commits[turn.get() % 2].clone()
    };
    let (repo, held) = (Rc::new(stage.open()), Rc::new(RefCell::new(None::<Room>)));
    let take = move |repo: &Repo, held: &RefCell<Option<Room>>, commit: &CommitId| {
        *held.borrow_mut() = Some(Room::take(repo, commit).unwrap());
    };
    let (add, remove, one, other) = (on(), on(), next.clone(), next.clone());
    let (clear, fill) = (on(), on());
    let pooled = (Rc::clone(&repo), Rc::clone(&held), next);
    let (dirtied, freed) = (Rc::clone(&held), held);
    let spare = Rc::new(RefCell::new(None::<Room>));
    let retired = (Rc::clone(&repo), Rc::clone(&spare));
    let (taken, swept) = ((Rc::clone(&repo), spare, stage.base()), repo);
    vec![
        Row::new(ADD, move || add.worktree_add(&one())).after(move || clear.worktree_remove()),
        // The room stays taken until its next turn, so that the other row retires another one.
        Row::new("a room from the pool", move || take(&pooled.0, &pooled.1, &(pooled.2)()))
            .before(move || drop(freed.borrow_mut().take()))
            // As a test run leaves it.
            .after(move || super::stage::litter(dirtied.borrow().as_ref().unwrap().path()))
            .against(&[ADD], How::Faster, ">= 2.5x less at 3k, >= 5x at 10k"),
        Row::new(REMOVE, move || remove.worktree_remove()).before(move || fill.worktree_add(&other())),
        Row::new("a room retired", move || {
            retired.1.borrow_mut().take().unwrap().retire(&retired.0).unwrap();
        })
        .before(move || take(&taken.0, &taken.1, &taken.2))
        .after(move || room::sweep(&swept).unwrap())
        .against(&[REMOVE], How::Faster, ">= 20x less"),
    ]
}
