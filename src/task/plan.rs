//! Which tasks can be worked on now, in which order, and why the others cannot.
//!
//! Planning fails closed: a task whose dependencies cannot be told apart, found or read waits, and says so. Nothing is
//! left out in silence: every task of `todo` is either in the plan or among those held back.

mod vision;

use super::board::{Board, Listed, stem};
use super::dependency::{Dependency, DependencyState, Found};
use super::layout::Folder;
use super::{Task, TaskId, TaskType};
use crate::host::path::{RepoPath, escape};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

pub use vision::{OpenQuestion, open_questions};

/// What can be done on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Plan {
    /// Tasks to be started, in order.
    pub ready: Vec<Ready>,
    /// Tasks under way that were named: their work is carried on.
    pub resumed: Vec<TaskId>,
    /// Tasks of `todo` that cannot start, and why.
    pub held_back: Vec<HeldBack>,
    /// Circles of dependencies, each by the ids of its tasks.
    pub cycles: Vec<Vec<String>>,
    /// Pairs of ready tasks that may touch the same files: they run side by side and land in this order.
    pub overlaps: Vec<(TaskId, TaskId)>,
}

/// A task that can be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ready {
    /// Its id.
    pub id: TaskId,
    /// Where its file stands.
    pub path: RepoPath,
    /// Its context.
    pub context: String,
    /// Its title, for people.
    pub title: String,
}

/// A task that cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldBack {
    /// What its file gives as id; else the file's name, escaped.
    pub task: String,
    /// Where its file stands.
    pub path: RepoPath,
    /// Every reason.
    pub why: Vec<Reason>,
}

/// Why a task cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema, thiserror::Error)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Reason {
    /// Its file cannot be read.
    #[error("{problem}")]
    Unreadable {
        /// What is wrong.
        problem: String,
    },
    /// Several files have its id.
    #[error("{} files have this id ({}); keep one", paths.len(), paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", "))]
    Twice {
        /// All of them.
        paths: Vec<RepoPath>,
    },
    /// Its page contradicts the folder it stands in: a move that was interrupted, perhaps.
    #[error("its status is {status:?} although its page stands in `todo` (`{path}`); make both agree")]
    OtherStatus {
        /// What the page says.
        status: String,
        /// Where it stands.
        path: RepoPath,
    },
    /// Its page would not be found by its id on the way.
    #[error("its page `{path}` is not named after its id; name it `{id}-<words>.md`")]
    OtherName {
        /// The id.
        id: TaskId,
        /// Where it stands.
        path: RepoPath,
    },
    /// Nothing can be judged by nothing.
    #[error("it has no acceptance criterion; add `- [ ]` bullets under `## Acceptance criteria`")]
    NoCriteria,
    /// A dependency is not done.
    #[error("it depends on {:?}, which {}", .0.reference, told(.0))]
    Waits(Dependency),
    /// It waits for itself.
    #[error("it waits for itself: {}", .0.join(" → "))]
    Cycle(Vec<String>),
}

fn told(dependency: &Dependency) -> String {
    match &dependency.state {
        DependencyState::Done { path, .. } => format!("is done (`{path}`)"),
        DependencyState::Open { path, folder, .. } => format!("is in `{}` (`{path}`)", folder.as_str()),
        DependencyState::Unreadable { path } => format!("cannot be read (`{path}`)"),
        DependencyState::Missing => "no task answers to".to_owned(),
        DependencyState::Ambiguous { paths } => {
            let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
            format!("may be any of {}", paths.join(", "))
        }
    }
}

/// Why named tasks cannot be worked on. One refused name refuses the whole run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[error("nothing was started: {}", .refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ScopeRefused {
    /// Each name that was refused.
    pub refused: Vec<RefusedName>,
}

/// A name that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[error("{name} {why}")]
pub struct RefusedName {
    /// As typed, escaped.
    pub name: String,
    /// A clause that goes on from the name.
    pub why: String,
}

/// Plans a run over all that is ready, or over the named tasks in the order named.
///
/// # Errors
/// [`ScopeRefused`], naming every name that cannot be worked on. Without names there is no error.
pub fn plan(board: &Board, names: &[String]) -> Result<Plan, ScopeRefused> {
    let cycles = cycles(board);
    let judged: Vec<(&Listed, Result<Ready, HeldBack>)> =
        board.in_folder(Folder::Todo).map(|listed| (listed, judge(board, listed, &cycles))).collect();
    let (mut ready, mut resumed) = (Vec::new(), Vec::new());
    if names.is_empty() {
        ready.extend(judged.iter().filter_map(|(_, judged)| judged.clone().ok()));
        remediation_first(board, &mut ready);
    } else {
        let mut refused = Vec::new();
        let mut seen = BTreeSet::new();
        for name in names.iter().filter(|name| seen.insert(name.as_str())) {
            match named(board, name, &judged) {
                Ok(Named::Start(task)) => ready.push(task),
                Ok(Named::CarryOn(id)) => resumed.push(id),
                Err(why) => refused.push(RefusedName { name: escape(name.as_bytes()), why }),
            }
        }
        if !refused.is_empty() {
            return Err(ScopeRefused { refused });
        }
    }
    let held_back = judged.into_iter().filter_map(|(_, judged)| judged.err()).collect();
    let overlaps = overlaps(board, &ready);
    Ok(Plan { ready, resumed, held_back, cycles, overlaps })
}

fn cycles(board: &Board) -> Vec<Vec<String>> {
    let name = |at: &usize| named_as(&board.tasks[*at]);
    board.cycles().iter().map(|cycle| cycle.iter().map(name).collect()).collect()
}

/// What a task is called where its id may be missing.
fn named_as(listed: &Listed) -> String {
    listed.claimed_id.as_ref().map_or_else(|| escape(listed.path.file_name()), |id| escape(id.as_bytes()))
}

fn judge(board: &Board, listed: &Listed, cycles: &[Vec<String>]) -> Result<Ready, HeldBack> {
    let name = named_as(listed);
    let held = |why: Vec<Reason>| HeldBack { task: name.clone(), path: listed.path.clone(), why };
    let task = listed.outcome.task().map_err(|why| held(vec![Reason::Unreadable { problem: why.to_string() }]))?;
    let no_id = || held(vec![Reason::Unreadable { problem: "its frontmatter has no `id`".to_owned() }]);
    let id = task.id.clone().ok_or_else(no_id)?;
    let mut why = Vec::new();
    if let Err(twice) = board.find(id.as_str()) {
        why.push(Reason::Twice { paths: twice.paths });
    } else {
        // Two ids that differ in case alone share their file names and worktrees on many disks.
        let alike =
            |other: &&Listed| other.claimed_id.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(id.as_str()));
        let paths: Vec<RepoPath> = board.tasks.iter().filter(alike).map(|other| other.path.clone()).collect();
        if paths.len() > 1 {
            why.push(Reason::Twice { paths });
        }
    }
    if let Some(status) = task.status.as_ref().filter(|status| *status != Folder::Todo.as_str()) {
        why.push(Reason::OtherStatus { status: status.clone(), path: listed.path.clone() });
    }
    if !stem(&listed.path).strip_prefix(id.as_str().as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'-') {
        why.push(Reason::OtherName { id: id.clone(), path: listed.path.clone() });
    }
    if task.bullets.is_empty() {
        why.push(Reason::NoCriteria);
    }
    let waits = task.depends_on.iter().map(|reference| board.dependency(reference));
    why.extend(waits.filter(|dependency| !dependency.state.is_satisfied()).map(Reason::Waits));
    why.extend(cycles.iter().filter(|cycle| cycle.contains(&name)).cloned().map(Reason::Cycle));
    if why.is_empty() {
        let title = task.display_title().to_owned();
        Ok(Ready { id, path: listed.path.clone(), context: listed.context.clone(), title })
    } else {
        Err(held(why))
    }
}

enum Named {
    Start(Ready),
    CarryOn(TaskId),
}

/// What a name on the command line means. Names are ids, byte for byte: no file-name rule, no prefix.
fn named(board: &Board, name: &str, judged: &[(&Listed, Result<Ready, HeldBack>)]) -> Result<Named, String> {
    let all: Vec<&Listed> = board.tasks.iter().filter(|listed| listed.claimed_id.as_deref() == Some(name)).collect();
    let listed = match all.as_slice() {
        [] => return Err("is on no board here (ids must match exactly)".to_owned()),
        [one] => *one,
        many => {
            let paths: Vec<String> = many.iter().map(|listed| format!("`{}`", listed.path)).collect();
            return Err(format!("is the id of {} files ({}); keep one", many.len(), paths.join(", ")));
        }
    };
    if listed.folder == Folder::Doing {
        let task = listed.outcome.task().map_err(|why| format!("cannot be carried on: {why}"))?;
        return task.id.clone().map(Named::CarryOn).ok_or_else(|| "has no id".to_owned());
    }
    if listed.folder != Folder::Todo {
        return Err(format!("is in `{}`, not in `todo` (`{}`)", listed.folder.as_str(), listed.path));
    }
    let found = judged.iter().find(|(other, _)| other.path == listed.path).map(|(_, judged)| judged);
    match found {
        Some(Ok(ready)) => Ok(Named::Start(ready.clone())),
        Some(Err(held)) => {
            let why: Vec<String> = held.why.iter().map(ToString::to_string).collect();
            Err(format!("is not ready: {}", why.join(", and ")))
        }
        None => Err("is not in `todo`".to_owned()),
    }
}

/// Puts an investigation behind every ready repair of the same thread: what is known to be wrong is mended before more
/// is looked for. The order is otherwise that of the board.
fn remediation_first(board: &Board, ready: &mut Vec<Ready>) {
    let task = |ready: &Ready| match board.find(ready.id.as_str()) {
        Ok(Found::One(listed, _)) => listed.outcome.task().ok(),
        _ => None,
    };
    let mut ordered: Vec<Ready> = Vec::with_capacity(ready.len());
    let mut waiting: Vec<Ready> = Vec::new();
    for candidate in ready.iter() {
        let behind = task(candidate).is_some_and(|spike| {
            is_spike(spike) && ready.iter().filter_map(task).any(|other| !is_spike(other) && same_thread(spike, other))
        });
        if behind { waiting.push(candidate.clone()) } else { ordered.push(candidate.clone()) }
    }
    ordered.append(&mut waiting);
    *ready = ordered;
}

fn is_spike(task: &Task) -> bool {
    task.kind == Some(TaskType::Spike)
}

/// True if two tasks share a tag, or one names the other.
fn same_thread(one: &Task, other: &Task) -> bool {
    let names = |from: &Task, to: &Task| {
        let id = to.id.as_ref().map(TaskId::as_str);
        let lists = [&from.depends_on, &from.blocks, &from.prior_art];
        lists.iter().any(|list| list.iter().any(|word| Some(word.as_str()) == id))
    };
    one.tags.iter().any(|tag| other.tags.contains(tag)) || names(one, other) || names(other, one)
}

/// Pairs whose declared `paths` may meet. A task that declares none may touch anything, and is in no pair: what really
/// overlaps is seen from the finished work.
fn overlaps(board: &Board, ready: &[Ready]) -> Vec<(TaskId, TaskId)> {
    let paths = |ready: &Ready| match board.find(ready.id.as_str()) {
        Ok(Found::One(listed, _)) => listed.outcome.task().map(|task| task.paths.as_slice()).unwrap_or_default(),
        _ => &[],
    };
    let mut pairs = Vec::new();
    for (at, first) in ready.iter().enumerate() {
        for second in &ready[at + 1..] {
            if paths(first).iter().any(|one| paths(second).iter().any(|other| may_meet(one, other))) {
                pairs.push((first.id.clone(), second.id.clone()));
            }
        }
    }
    pairs
}

/// True if two globs may match one path: their fixed beginnings do not part. That is an over-estimate, which only orders.
fn may_meet(one: &str, other: &str) -> bool {
    let fixed = |glob: &str| glob.find(['*', '?', '[', '{']).map_or(glob.len(), |at| at);
    let (one, other) = (&one[..fixed(one)], &other[..fixed(other)]);
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests;
