//! The commits that name a task, oldest first, and what each did for it.

use crate::git::{Clone, Failed};

/// What a commit did for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The task's file enters `done/`.
    Integration,
    /// Anything else: captured, promoted, noted.
    Bookkeeping,
}

/// One commit and one of the tasks it names.
#[derive(Debug)]
pub(crate) struct Step {
    /// The commit.
    pub(crate) commit: String,
    /// Its first parent.
    pub(crate) parent: String,
    /// The task's id.
    pub(crate) task: String,
    /// What the commit did for it.
    pub(crate) role: Role,
    /// The task's file in the commit, where it entered `done/`.
    pub(crate) file: Option<String>,
}

/// All of them. Merges are left out: what they bring was judged where it was made.
pub(crate) fn steps(clone: &Clone) -> Result<Vec<Step>, Failed> {
    let log = clone.git(&[
        "log",
        "--reverse",
        "--topo-order",
        "--max-parents=1",
        "--min-parents=1",
        "-z",
        "--format=%H %P %s",
    ])?;
    let mut steps = Vec::new();
    for record in String::from_utf8_lossy(&log).split('\0') {
        let mut words = record.splitn(3, ' ');
        let (Some(commit), Some(parent), Some(subject)) = (words.next(), words.next(), words.next()) else { continue };
        let mut tasks = tasks_of(subject);
        if !tasks.is_empty() {
            let contexts = contexts(clone, commit)?;
            tasks
                .retain(|task| task.rsplit_once('-').is_some_and(|(context, _)| contexts.iter().any(|c| c == context)));
        }
        let arrived = if tasks.is_empty() { Vec::new() } else { arrivals(clone, parent, commit)? };
        for task in tasks {
            let file = arrived.iter().find(|path| is_task_file(path, &task)).cloned();
            let role = if file.is_some() { Role::Integration } else { Role::Bookkeeping };
            steps.push(Step { commit: commit.to_owned(), parent: parent.to_owned(), task, role, file });
        }
    }
    Ok(steps)
}

/// The board's contexts: an id that belongs to none of them (a session's, say) only looks like a task's.
fn contexts(clone: &Clone, commit: &str) -> Result<Vec<String>, Failed> {
    let roots = [".agentheim/contexts/", ".agentheim/board/"];
    let names = clone.git(&[&["ls-tree", "-d", "-z", "--name-only", commit], &roots[..]].concat())?;
    let names = String::from_utf8_lossy(&names).into_owned();
    Ok(names.split('\0').filter_map(|path| path.rsplit_once('/')).map(|(_, name)| name.to_owned()).collect())
}

/// The ids in brackets at the end of a subject.
fn tasks_of(subject: &str) -> Vec<String> {
    let mut tasks = Vec::new();
    let mut rest = subject.trim_end();
    while let Some((before, inside)) = rest.strip_suffix(']').and_then(|inner| inner.rsplit_once('[')) {
        if !is_task_id(inside) {
            break;
        }
        tasks.push(inside.to_owned());
        rest = before.trim_end();
    }
    tasks.reverse();
    tasks
}

/// A context and a tail, either digits or five characters.
fn is_task_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.rsplit_once('-').is_some_and(|(context, tail)| {
        let named = !context.is_empty() && context.chars().all(|c| plain(c) || c == '-');
        let digits = !tail.is_empty() && tail.chars().all(|c| c.is_ascii_digit());
        named && (digits || tail.len() == 5 && tail.chars().all(plain))
    })
}

/// Paths the commit has and its parent has not.
fn arrivals(clone: &Clone, parent: &str, commit: &str) -> Result<Vec<String>, Failed> {
    let names =
        clone.git(&["diff-tree", "-r", "--no-renames", "--diff-filter=A", "--name-only", "-z", parent, commit])?;
    Ok(String::from_utf8_lossy(&names).split('\0').map(str::to_owned).collect())
}

fn is_task_file(path: &str, task: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let stem = name.strip_suffix(".md").and_then(|stem| stem.strip_prefix(task));
    let named = stem.is_some_and(|slug| slug.is_empty() || slug.starts_with('-'));
    named && folder.starts_with(".agentheim/") && folder.ends_with("/done")
}
