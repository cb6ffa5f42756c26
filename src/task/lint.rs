//! What `board check` reports. The ids are stable; Agentheim checks some of this in its own test suite only.

use super::board::{Board, Listed, Outcome, stem};
use super::criteria::OddityKind;
use super::dependency::{DependencyState, Rule};
use super::layout::Folder;
use super::text::Text;
use super::{Task, TaskProblem, TaskType};
use crate::host::path::{RepoPath, escape, is_deceptive};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Tasks created up to this day are exempt from the notes asked for below (agentheim.md §2.4).
pub const NOTES_SINCE: &str = "2026-07-21";

/// How much a lint weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Will bite.
    Warning,
    /// No worker may be started on the task.
    Error,
}

/// One thing a board check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lint {
    /// Stable id.
    pub id: &'static str,
    /// How much it weighs.
    pub level: Level,
    /// The file or folder.
    pub path: RepoPath,
    /// What was found and what to do.
    pub message: String,
}

/// Checks a whole board; the result is in path order.
pub fn check(board: &Board) -> Vec<Lint> {
    let mut lints = Vec::new();
    folders(board, &mut lints);
    duplicates(board, &mut lints);
    cycles(board, &mut lints);
    for listed in &board.tasks {
        match &listed.outcome {
            Outcome::Malformed(error) => {
                let id = if matches!(error.problem, TaskProblem::Id(_)) { "id-grammar" } else { "task-malformed" };
                push(&mut lints, listed, id, Level::Error, error.problem.to_string());
            }
            Outcome::Task(task) => {
                place(listed, task, &mut lints);
                dependencies(board, listed, task, &mut lints);
                notes(listed, task, &mut lints);
                contents(listed, task, &mut lints);
            }
        }
    }
    lints.sort_by(|a, b| (&a.path, a.id, &a.message).cmp(&(&b.path, b.id, &b.message)));
    lints
}

/// The lints that forbid working on the task in this file.
pub fn blocking<'a>(lints: &'a [Lint], path: &'a RepoPath) -> impl Iterator<Item = &'a Lint> {
    lints.iter().filter(move |lint| lint.level == Level::Error && lint.path == *path)
}

fn push(lints: &mut Vec<Lint>, listed: &Listed, id: &'static str, level: Level, message: String) {
    lints.push(Lint { id, level, path: listed.path.clone(), message });
}

/// Joins names; many are cut short, since each of them gets a lint of its own.
fn some(names: impl Iterator<Item = String>) -> String {
    const SHOWN: usize = 20;
    let names: Vec<String> = names.collect();
    let rest = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - rest].join(", ");
    if rest == 0 { shown } else { format!("{shown} and {rest} more") }
}

fn folders(board: &Board, lints: &mut Vec<Lint>) {
    let mut folder = |root: RepoPath, name: &str, id, level, message: &str| {
        let path = RepoPath::try_from(format!("{root}/{name}")).unwrap_or(root);
        lints.push(Lint { id, level, path, message: message.to_owned() });
    };
    for name in &board.refused_contexts {
        let message = "the folder's name cannot be a context's; rename it to one plain word";
        folder(board.layout.knowledge_root(), name, "context-name", Level::Error, message);
    }
    for name in &board.orphans {
        let message = "this task folder has no context beside it; add the context's README or move the tasks";
        folder(board.layout.lifecycle_root(), name, "orphan-task-folder", Level::Warning, message);
    }
}

/// Ids are compared without regard to case: two that differ only there share a file name on many disks.
fn duplicates(board: &Board, lints: &mut Vec<Lint>) {
    let mut by_id: BTreeMap<String, Vec<&Listed>> = BTreeMap::new();
    for listed in &board.tasks {
        if let Some(id) = &listed.claimed_id {
            by_id.entry(id.to_lowercase()).or_default().push(listed);
        }
    }
    for (id, all) in by_id.iter().filter(|(_, all)| all.len() > 1) {
        let paths = some(all.iter().map(|listed| format!("`{}`", listed.path)));
        for listed in all {
            let message = format!("the id {id:?} stands in {paths}; keep the one that is meant");
            push(lints, listed, "id-duplicate", Level::Error, message);
        }
    }
}

fn cycles(board: &Board, lints: &mut Vec<Lint>) {
    for cycle in board.cycles() {
        let members: Vec<&Listed> = cycle.iter().map(|at| &board.tasks[*at]).collect();
        let names = some(members.iter().filter_map(|listed| listed.claimed_id.clone()));
        let over = members.iter().all(|listed| listed.folder == Folder::Done);
        let level = if over { Level::Warning } else { Level::Error };
        for listed in members {
            let message = format!("these tasks wait for each other in a circle: {names}; remove one dependency");
            push(lints, listed, "dependency-cycle", level, message);
        }
    }
}

fn place(listed: &Listed, task: &Task, lints: &mut Vec<Lint>) {
    let folder = listed.folder.as_str();
    if task.status.as_deref() != Some(folder) {
        let message = match &task.status {
            Some(status) => format!("the status is {status:?} but the file stands in `{folder}`; make both agree"),
            None => {
                format!("the frontmatter has no status but the file stands in `{folder}`; write `status: {folder}`")
            }
        };
        push(lints, listed, "status-folder", Level::Error, message);
    }
    if let Some(context) = task.context.as_deref().filter(|context| *context != listed.context) {
        let message = format!("the task says context {context:?} but stands under `{}`", listed.context);
        push(lints, listed, "context-folder", Level::Warning, message);
    }
    let name = stem(&listed.path);
    let id = task.id.as_ref().map(|id| id.as_str().as_bytes()).unwrap_or_default();
    if !name.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-")) {
        let message =
            format!("the file is not named after its id `{}`; tools that look by name miss it", task.case_key());
        push(lints, listed, "file-name", Level::Warning, message);
    }
}

fn dependencies(board: &Board, listed: &Listed, task: &Task, lints: &mut Vec<Lint>) {
    let level = if listed.folder == Folder::Done { Level::Warning } else { Level::Error };
    for reference in &task.depends_on {
        match board.dependency(reference).state {
            DependencyState::Missing => {
                let message = format!("depends on {reference:?}, which no task answers to");
                push(lints, listed, "dependency-dangling", level, message);
            }
            DependencyState::Unreadable { path } => {
                let message = format!("depends on {reference:?}, whose file `{path}` cannot be read");
                push(lints, listed, "dependency-unreadable", level, message);
            }
            DependencyState::Ambiguous { paths } => {
                let paths = some(paths.iter().map(|path| format!("`{path}`")));
                let message = format!("depends on {reference:?}, which may mean any of {paths}");
                push(lints, listed, "dependency-ambiguous", level, message);
            }
            DependencyState::Done { path, rule: Rule::FileName }
            | DependencyState::Open { path, rule: Rule::FileName, .. } => {
                let message = format!("depends on {reference:?}, which is no task's id but names the file `{path}`");
                push(lints, listed, "dependency-by-file-name", Level::Info, message);
            }
            DependencyState::Done { .. } | DependencyState::Open { .. } => {}
        }
    }
}

/// The notes Agentheim asks for in tasks of these shapes (agentheim.md §2.4); an unknown date is never held against one.
fn notes(listed: &Listed, task: &Task, lints: &mut Vec<Lint>) {
    let recent = task.created.as_deref().is_some_and(|date| is_date(date) && date > NOTES_SINCE);
    if !recent {
        return;
    }
    if listed.folder != Folder::Backlog
        && task.is_all_human_eye()
        && !task.text.to_ascii_lowercase().contains("builder-eye only")
    {
        let message =
            "every criterion is `[human-eye]`; say `builder-eye only` in the task, or add one a program can check";
        push(lints, listed, "human-eye-note", Level::Error, message.to_owned());
    }
    let body = task.body().to_ascii_lowercase();
    if task.kind == Some(TaskType::Spike) && !body.contains("stop-loss") && !body.contains("record it and stop") {
        let message = "a spike needs a limit: say `stop-loss` or `record it and stop` in its text";
        push(lints, listed, "spike-stop-loss", Level::Error, message.to_owned());
    }
}

fn contents(listed: &Listed, task: &Task, lints: &mut Vec<Lint>) {
    if task.bullets.is_empty() && listed.folder != Folder::Backlog {
        let message = "there is no acceptance criterion; add a `## Acceptance criteria` section with `- [ ]` bullets";
        push(lints, listed, "criteria-none", Level::Warning, message.to_owned());
    }
    if task.title.chars().any(is_deceptive) {
        let message = format!("the title holds hidden or control characters: {}", escape(task.title.as_bytes()));
        push(lints, listed, "title-hidden-characters", Level::Warning, message);
    }
    if let Some(TaskType::Other(word)) = &task.kind {
        let message = format!("the type {word:?} is none of feature, bug, refactor, chore, spike, decision");
        push(lints, listed, "type-unknown", Level::Warning, message);
    }
    if Text::read(task.text.as_bytes()).is_ok_and(Text::is_mixed) {
        push(lints, listed, "line-endings", Level::Info, "lines end in both LF and CR LF".to_owned());
    }
    for oddity in &task.oddities {
        let (id, level) = oddity_lint(oddity.id);
        push(lints, listed, id, level, format!("line {}: {}", oddity.line, oddity.message));
    }
}

fn oddity_lint(kind: OddityKind) -> (&'static str, Level) {
    match kind {
        OddityKind::SectionHeading => ("criteria-section-heading", Level::Info),
        OddityKind::SeveralSections => ("criteria-several-sections", Level::Info),
        OddityKind::NoBox => ("criteria-no-box", Level::Info),
        OddityKind::OddMark => ("criteria-odd-mark", Level::Info),
        OddityKind::NestedBox => ("criteria-nested-box", Level::Info),
        OddityKind::OddBullet => ("criteria-odd-bullet", Level::Info),
        OddityKind::HiddenBox => ("criteria-hidden-box", Level::Warning),
        OddityKind::UnclosedBlock => ("criteria-unclosed-block", Level::Warning),
        OddityKind::QuotedMarker => ("criteria-quoted-marker", Level::Info),
        OddityKind::ProofOnHumanEye => ("criteria-proof-on-human-eye", Level::Warning),
        OddityKind::UnreadProof => ("criteria-unread-proof", Level::Info),
        OddityKind::BadProof => ("criteria-bad-proof", Level::Warning),
        OddityKind::EmptyCriterion => ("criteria-empty", Level::Warning),
        OddityKind::HiddenCharacters => ("criteria-hidden-characters", Level::Warning),
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, b)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() })
}

#[cfg(test)]
#[path = "lint/tests.rs"]
mod tests;
