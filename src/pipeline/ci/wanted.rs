//! Which tasks a range has to answer for: those its commits name, those whose pages it moves to `done`, and those the
//! settings at the base ask of every change. A pull request's text is nobody's criteria.

use super::CiError;
use super::range::{Member, Range};
use crate::host::git::EntryKind;
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::pipeline::{TaskWord, read_board};
use crate::task::board::Board;
use crate::task::dependency::Found;
use crate::task::id::derive_context;
use crate::task::layout::Folder;
use crate::task::{Criterion, Task, TaskId, read_markdown, read_task};
use std::collections::BTreeMap;

/// A task file larger than this is not read.
const LARGEST_TASK: u64 = 4 << 20;

/// A task of the range.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) because: String,
    /// How to ask for it; none if nobody knows it.
    pub(super) word: Option<TaskWord>,
    pub(super) criteria: Vec<Criterion>,
    /// Why its criteria are the range's own, if they are.
    pub(super) own: Option<String>,
}

/// A board page that the range changed, as the judged tree has it.
#[derive(Debug)]
pub(super) struct TaskPage {
    pub(super) folder: Folder,
    pub(super) path: RepoPath,
    pub(super) task: Task,
}

/// The task ids that a message names: `[id]` in its subject, in the lines of a squashed list, at the end of a line, and
/// `Task:` trailers.
pub fn named_ids(message: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |id: &str| {
        if TaskId::new(id).is_ok() && !found.iter().any(|known| known == id) {
            found.push(id.to_owned());
        }
    };
    for (number, line) in message.lines().take(2_000).enumerate() {
        let line = line.trim();
        let listed = number == 0 || line.starts_with("* ") || line.starts_with("- ");
        if let Some(id) = line.strip_prefix("Task:") {
            add(id.trim());
        }
        for piece in line.split('[').skip(1) {
            if let Some((id, rest)) = piece.split_once(']')
                && (listed || rest.trim().is_empty())
            {
                add(id);
            }
        }
    }
    found
}

/// The board pages that differ between base and judged tree, by task id.
pub(super) fn changed_pages(range: &Range) -> Result<BTreeMap<String, TaskPage>, CiError> {
    let mut pages = BTreeMap::new();
    let Some(layout) = range.layout else { return Ok(pages) };
    for change in &range.changed {
        let Some(place) = layout.place(&change.path) else { continue };
        let entry = range.repo.entry(&range.tree, &change.path)?.filter(|entry| entry.kind() == EntryKind::File);
        let Some(blob) = entry.and_then(|entry| entry.blob()) else { continue };
        let (bytes, cut) = range.repo.blob(&blob, LARGEST_TASK)?;
        let Some(task) = read_task(&bytes, &change.path).ok().filter(|_| !cut) else { continue };
        if let Some(id) = &task.id {
            let id = id.to_string();
            pages.insert(id, TaskPage { folder: place.folder, path: change.path.clone(), task });
        }
    }
    Ok(pages)
}

/// All tasks that the range has to answer for, in the order in which it brings them.
pub(super) fn wanted(
    range: &Range,
    pages: &BTreeMap<String, TaskPage>,
    noted: &[String],
) -> Result<Vec<Wanted>, CiError> {
    let mut found: Vec<Wanted> = Vec::new();
    let mut boards = Boards { range, read: BTreeMap::new() };
    for member in &range.members {
        for id in named_ids(&member.message) {
            if found.iter().all(|known| known.id != id) {
                let because = format!("named by {}", member.id.short());
                found.extend(boards.look_up(&id, because, Some(member), pages)?);
            }
        }
    }
    for (id, page) in pages.iter().filter(|(_, page)| page.folder == Folder::Done) {
        let was_done = range.board.as_ref().is_some_and(|board| folder_of(board, id) == Some(Folder::Done));
        if !was_done && found.iter().all(|known| known.id != *id) {
            found.extend(boards.look_up(id, format!("moved to {}", page.path), None, pages)?);
        }
    }
    for id in noted {
        if found.iter().all(|known| known.id != *id) {
            found.extend(boards.look_up(id, "named by a note".to_owned(), None, pages)?);
        }
    }
    for word in &range.settings.gate.tasks {
        if found.iter().all(|known| known.id != *word) {
            found.push(standing(range, word)?);
        }
    }
    Ok(found)
}

fn folder_of(board: &Board, id: &str) -> Option<Folder> {
    match board.find(id) {
        Ok(Found::One(listed, _)) => Some(listed.folder),
        _ => None,
    }
}

fn task_in<'b>(board: Option<&'b Board>, id: &str) -> Result<Option<&'b Task>, String> {
    let Some(board) = board else { return Ok(None) };
    match board.find(id).map_err(|why| why.to_string())? {
        Found::One(listed, _) => listed.outcome.task().map(Some).map_err(ToString::to_string),
        Found::None => Ok(None),
    }
}

/// The settings' own tasks: every change has to meet them.
fn standing(range: &Range, word: &str) -> Result<Wanted, CiError> {
    let mut wanted = Wanted {
        id: escape(word.as_bytes()),
        title: String::new(),
        because: "the settings ask it of every change".to_owned(),
        word: None,
        criteria: Vec::new(),
        own: None,
    };
    let task = match task_in(range.board.as_ref(), word) {
        Ok(Some(task)) => Some(task.clone()),
        Ok(None) | Err(_) => match range.repo.file(&range.base_tree, &RepoPath::from(word), LARGEST_TASK)? {
            Some(bytes) => read_markdown(&bytes, word).ok(),
            None => None,
        },
    };
    if let Some(task) = task {
        task.display_title().clone_into(&mut wanted.title);
        wanted.criteria = task.criteria();
        wanted.id = task.case_key();
        wanted.word = Some(TaskWord::Text(task.text.into_bytes()));
    }
    Ok(wanted)
}

/// Boards by tree, each read once.
struct Boards<'r> {
    range: &'r Range,
    read: BTreeMap<TreeId, Option<Board>>,
}

impl Boards<'_> {
    /// The task as the base has it; else as the parent of the commit that first names it has it (RULINGS 40). Nothing for
    /// words in brackets that are no task here.
    fn look_up(
        &mut self,
        id: &str,
        because: String,
        member: Option<&Member>,
        pages: &BTreeMap<String, TaskPage>,
    ) -> Result<Option<Wanted>, CiError> {
        let mut wanted =
            Wanted { id: id.to_owned(), title: String::new(), because, word: None, criteria: Vec::new(), own: None };
        match task_in(self.range.board.as_ref(), id) {
            Ok(Some(task)) => {
                task.display_title().clone_into(&mut wanted.title);
                wanted.criteria = task.criteria();
                wanted.word = Some(TaskWord::Named(id.to_owned()));
                if let Some(what) = pages.get(id).and_then(|page| changed(task, &page.task)) {
                    wanted.own = Some(format!("the range changes {what}"));
                }
                return Ok(Some(wanted));
            }
            Err(why) => {
                wanted.own = Some(why);
                return Ok(Some(wanted));
            }
            Ok(None) => {}
        }
        let before = member.and_then(|member| member.parents.first().cloned());
        if let Some(task) = before.map(|parent| self.at(&parent, id)).transpose()?.flatten() {
            task.display_title().clone_into(&mut wanted.title);
            wanted.criteria = task.criteria();
            wanted.word = Some(TaskWord::Text(task.text.into_bytes()));
            wanted.own = Some("the range itself wrote it: the base has no such task".to_owned());
            return Ok(Some(wanted));
        }
        let context = derive_context(id);
        let known = self.range.board.as_ref().is_some_and(|board| board.contexts.iter().any(|c| c.as_str() == context));
        Ok((known || pages.contains_key(id) || member.is_none()).then_some(wanted))
    }

    fn at(&mut self, commit: &CommitId, id: &str) -> Result<Option<Task>, CiError> {
        let tree = self.range.repo.tree_of(commit)?;
        if !self.read.contains_key(&tree) {
            let board = read_board(&self.range.repo, &tree)?.1;
            self.read.insert(tree.clone(), board);
        }
        let board = self.read.get(&tree).and_then(Option::as_ref);
        Ok(task_in(board, id).ok().flatten().cloned())
    }
}

/// True if both ask for the same.
pub(super) fn same(one: &[Criterion], two: &[Criterion]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(a, b)| a.text == b.text && a.kind == b.kind)
}

/// What of a task's contract is another one on the second page, if something is: what it asks for, which tests it lets
/// go, which paths it may touch, what kind of work it is.
pub(super) fn changed(before: &Task, now: &Task) -> Option<&'static str> {
    [
        (same(&before.criteria(), &now.criteria()), "its criteria"),
        (before.removes_tests == now.removes_tests, "which tests it lets go (`removes-tests`)"),
        (before.paths == now.paths, "which paths it may touch (`paths`)"),
        (before.kind == now.kind, "what kind of work it is (`type`)"),
    ]
    .into_iter()
    .find_map(|(same, what)| (!same).then_some(what))
}

#[cfg(test)]
mod tests {
    use super::named_ids;

    #[test]
    fn a_message_names_tasks_in_its_subject_its_lists_and_its_trailers() {
        for (message, ids) in [
            ("feature(w): it is done [w-001]", vec!["w-001"]),
            ("feature(w): it is done [w-001] (#12)", vec!["w-001"]),
            ("Pull request (#3)\n\n* feat: a [w-001]\n* feat: b [w-002] (#4)\n- c [w-001]\n", vec!["w-001", "w-002"]),
            ("x\n\nsee array[w-003] and more\nlast words [w-004]\n\nTask: w-005\n", vec!["w-004", "w-005"]),
            ("fix [skip ci] [WIP] [../x-1] []", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(named_ids(message), ids, "{message}");
        }
    }
}
