//! A board: all task files of a project, each read or named as unreadable.

use super::frontmatter::Frontmatter;
use super::layout::{self, ContextName, Folder, Layout, LayoutError};
use super::text::Text;
use super::{Task, TaskError, TaskProblem, read_task};
use crate::host::path::{RepoPath, escape};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A file of the project, handed in by whoever may read it. Symlinks and submodules are not files.
#[derive(Debug, Clone)]
pub struct BoardFile {
    /// Where it stands.
    pub path: RepoPath,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Why there is no board to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// Two layouts at once.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// No layout at all.
    #[error(
        "there is no task board: neither `.agentheim/board` nor `.agentheim/contexts` exists; name a Markdown file, or judge without a task"
    )]
    None,
}

/// A task file's reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Read without loss.
    Task(Box<Task>),
    /// Not readable; this blocks the task it would have been and no other.
    Malformed(TaskError),
}

impl Outcome {
    /// The task, if it was read.
    ///
    /// # Errors
    /// Why it was not.
    pub fn task(&self) -> Result<&Task, &TaskError> {
        match self {
            Self::Task(task) => Ok(task),
            Self::Malformed(error) => Err(error),
        }
    }
}

/// One task file of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Listed {
    /// Where it stands.
    pub path: RepoPath,
    /// The folder name of its context, escaped.
    pub context: String,
    /// Its lifecycle folder: this, not the `status` field, says how far it is.
    pub folder: Folder,
    /// What its frontmatter gives as id, let in or not; none where the frontmatter cannot be read or has none.
    pub claimed_id: Option<String>,
    /// What reading it gave.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// All tasks of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Board {
    /// The project's layout.
    pub layout: Layout,
    /// Its contexts.
    pub contexts: Vec<ContextName>,
    /// Context folders whose names are refused, escaped.
    pub refused_contexts: Vec<String>,
    /// Task folders that belong to no context, escaped.
    pub orphans: Vec<String>,
    /// Every task file, in path order.
    pub tasks: Vec<Listed>,
}

impl Board {
    /// Tells which of a project's paths are task files, so that only they need to be loaded.
    ///
    /// # Errors
    /// [`BoardError`].
    pub fn task_paths(paths: &[RepoPath]) -> Result<Vec<RepoPath>, BoardError> {
        let layout = layout::detect(paths)?.ok_or(BoardError::None)?;
        Ok(paths.iter().filter(|path| layout.place(path).is_some()).cloned().collect())
    }

    /// Reads a board. `paths` are all paths under `.agentheim/` (they tell layout and contexts), `files` the contents of
    /// the task files among them; others are ignored. A missing lifecycle folder is an empty one.
    ///
    /// # Errors
    /// [`BoardError`]. A file that cannot be read, or whose content was not given, is listed as malformed instead.
    pub fn read(paths: &[RepoPath], files: Vec<BoardFile>) -> Result<Self, BoardError> {
        let layout = layout::detect(paths)?.ok_or(BoardError::None)?;
        let mut bytes: BTreeMap<RepoPath, Option<Vec<u8>>> = paths.iter().map(|path| (path.clone(), None)).collect();
        for file in files {
            bytes.insert(file.path, Some(file.bytes));
        }
        let (contexts, refused_contexts) = layout.contexts(paths);
        let tasks = bytes.iter().filter_map(|(path, bytes)| listed(layout, path, bytes.as_deref())).collect();
        Ok(Self { layout, contexts, refused_contexts, orphans: layout.orphans(paths), tasks })
    }

    /// The tasks of one folder.
    pub fn in_folder(&self, folder: Folder) -> impl Iterator<Item = &Listed> {
        self.tasks.iter().filter(move |listed| listed.folder == folder)
    }
}

fn listed(layout: Layout, path: &RepoPath, bytes: Option<&[u8]>) -> Option<Listed> {
    let place = layout.place(path)?;
    let outcome = match bytes.map(|bytes| read_task(bytes, path)) {
        Some(Ok(task)) => Outcome::Task(Box::new(task)),
        Some(Err(error)) => Outcome::Malformed(error),
        None => Outcome::Malformed(TaskError { path: path.to_string(), problem: TaskProblem::NotGiven }),
    };
    let claimed_id = match &outcome {
        Outcome::Task(task) => task.id.as_ref().map(ToString::to_string),
        Outcome::Malformed(_) => bytes.and_then(claimed_id),
    };
    Some(Listed { path: path.clone(), context: escape(&place.context), folder: place.folder, claimed_id, outcome })
}

/// The id a file gives itself, whatever else is wrong with it.
fn claimed_id(bytes: &[u8]) -> Option<String> {
    let front = Frontmatter::read(Text::read(bytes).ok()?).ok()?;
    front.word("id").ok()?
}

/// A file's name without its extension.
pub(super) fn stem(path: &RepoPath) -> &[u8] {
    let name = path.file_name();
    let cut = name.len().checked_sub(3).filter(|at| name[*at..].eq_ignore_ascii_case(b".md"));
    &name[..cut.unwrap_or(name.len())]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A task file of context `core` with one criterion.
    pub(crate) fn page(id: &str, status: &str, depends_on: &str) -> String {
        format!(
            "---\nid: {id}\ntitle: t\nstatus: {status}\ntype: chore\ncreated: 2026-11-01\ndepends_on: [{depends_on}]\n---\n\
             ## Acceptance criteria\n- [ ] it works\n"
        )
    }

    /// A two-root board of these files, paths given below `.agentheim/board/`.
    pub(crate) fn board(files: &[(&str, String)]) -> Board {
        let files: Vec<BoardFile> = files
            .iter()
            .map(|(path, text)| BoardFile {
                path: RepoPath::from(format!(".agentheim/board/{path}").as_str()),
                bytes: text.clone().into_bytes(),
            })
            .collect();
        let mut paths: Vec<RepoPath> = files.iter().map(|file| file.path.clone()).collect();
        paths.push(RepoPath::from(".agentheim/knowledge/contexts/core/README.md"));
        paths.push(RepoPath::from(".agentheim/knowledge/contexts/design-system/README.md"));
        Board::read(&paths, files).unwrap()
    }

    #[test]
    fn a_malformed_file_blocks_only_itself_and_is_listed() {
        let board = board(&[
            ("core/todo/core-1.md", page("core-1", "todo", "")),
            ("core/todo/core-2.md", "no frontmatter".to_owned()),
            ("core/todo/core-3.md", page("../x-3", "todo", "")),
            ("core/INDEX.md", "# Index".to_owned()),
        ]);
        let shape: Vec<_> = board.tasks.iter().map(|l| (l.outcome.task().is_ok(), l.claimed_id.as_deref())).collect();
        assert_eq!(shape, [(true, Some("core-1")), (false, None), (false, Some("../x-3"))]);
    }

    /// Case C066, the reading half: folders that do not exist are empty.
    #[test]
    fn task_empty_folders_a_board_with_one_folder_is_a_board() {
        let board = board(&[("core/done/core-1.md", page("core-1", "done", ""))]);
        assert_eq!(board.in_folder(Folder::Done).count(), 1);
        assert_eq!(board.in_folder(Folder::Todo).count(), 0);
        assert_eq!(board.layout.folder(&board.contexts[0], Folder::Doing).to_string(), ".agentheim/board/core/doing");
    }

    #[test]
    fn a_file_that_was_not_given_is_malformed_and_not_absent() {
        let path = RepoPath::from(".agentheim/contexts/core/todo/core-1.md");
        let board = Board::read(std::slice::from_ref(&path), Vec::new()).unwrap();
        assert_eq!(board.layout, Layout::Legacy);
        assert_eq!(board.tasks[0].outcome.task().unwrap_err().problem, TaskProblem::NotGiven);
        assert_eq!(Board::task_paths(std::slice::from_ref(&path)).unwrap(), [path]);
    }

    #[test]
    fn no_board_and_half_a_board_are_errors() {
        assert_eq!(Board::read(&[RepoPath::from("src/a.rs")], Vec::new()).unwrap_err(), BoardError::None);
        let mixed = [".agentheim/contexts/a/x", ".agentheim/board/a/x"].map(RepoPath::from);
        assert!(matches!(Board::read(&mixed, Vec::new()), Err(BoardError::Layout(_))));
    }

    #[test]
    fn a_board_prints_as_json() {
        let board = board(&[("core/todo/core-1.md", page("core-1", "todo", "")), ("core/todo/x.md", String::new())]);
        let json = serde_json::to_value(&board).unwrap();
        assert_eq!(json["tasks"][0]["task"]["id"], "core-1");
        assert_eq!(json["tasks"][0]["folder"], "todo");
        assert!(json["tasks"][1]["malformed"].as_str().unwrap().contains("x.md"));
        let schema = serde_json::to_string(&schemars::schema_for!(Board)).unwrap();
        assert!(schema.contains("claimed_id"));
    }
}
