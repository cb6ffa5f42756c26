//! Where things stand in a project's `.agentheim/` folder, in both of the shapes it has had (agentheim.md §1).

use crate::host::path::{RepoPath, escape, is_deceptive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The folder's name at the top of the tree.
pub const ROOT: &str = ".agentheim";
/// The pages that every layout keeps in the same place.
pub const TOP_INDEX: &str = ".agentheim/knowledge/index.md";
/// Architecture decision records, in both layouts.
pub const DECISIONS: &str = ".agentheim/knowledge/decisions";
/// Research reports, in both layouts.
pub const RESEARCH: &str = ".agentheim/knowledge/research";
/// Folders that hold a running project's state and are never committed, in both layouts.
pub const RUNTIME: [&str; 4] = [".agentheim/state", ".agentheim/salvage", ".agentheim/.dashboard", ".worktrees"];

/// One of the two shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One root: `.agentheim/contexts/`.
    Legacy,
    /// Two roots: `.agentheim/board/` and `.agentheim/knowledge/`.
    Board,
}

/// Why a project's layout cannot be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// Half of each shape, as an interrupted migration leaves it.
    #[error("both `{old}` and `{new}` exist: the project is half migrated; finish or undo the migration first")]
    Mixed {
        /// What belongs to the legacy layout.
        old: &'static str,
        /// What belongs to the two-root layout.
        new: &'static str,
    },
}

/// Tells the layout from the paths that exist (files, or folders where the caller lists a disk).
///
/// `None`: there is no board here. Rules and their order: agentheim.md §1.2.
///
/// # Errors
/// [`LayoutError::Mixed`]; nothing is ever migrated.
pub fn detect<'a>(paths: impl IntoIterator<Item = &'a RepoPath>) -> Result<Option<Layout>, LayoutError> {
    const MARKS: [&str; 5] = [
        ".agentheim/contexts",
        ".agentheim/board",
        ".agentheim/vision.md",
        ".agentheim/knowledge/vision.md",
        ".agentheim/knowledge",
    ];
    let mut seen = [false; MARKS.len()];
    for path in paths {
        for (mark, seen) in MARKS.iter().zip(&mut seen) {
            *seen |= path.is_under(mark);
        }
    }
    let [contexts, board, old_vision, new_vision, knowledge] = seen;
    if contexts && board {
        return Err(LayoutError::Mixed { old: MARKS[0], new: MARKS[1] });
    }
    if old_vision && new_vision {
        return Err(LayoutError::Mixed { old: MARKS[2], new: MARKS[3] });
    }
    Ok(if contexts {
        Some(Layout::Legacy)
    } else if board || knowledge || old_vision {
        Some(Layout::Board)
    } else {
        None
    })
}

/// A bounded context's name: one safe path part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct ContextName(String);

/// Why a text is not a context's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the context name {0:?} is not one plain folder name (no `/`, no `..`, no hidden or control characters, at most 100 bytes)"
)]
pub struct BadContext(String);

impl ContextName {
    /// Lets a name in.
    ///
    /// # Errors
    /// It is no single, visible, ordinary path part.
    pub fn new(name: &str) -> Result<Self, BadContext> {
        let plain = RepoPath::from(name).is_safe()
            && !name.contains(['/', '\\', ':'])
            && !name.starts_with('-')
            && !name.chars().any(is_deceptive)
            && name.len() <= 100;
        if plain { Ok(Self(name.to_owned())) } else { Err(BadContext(name.chars().take(100).collect())) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContextName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ContextName {
    type Error = BadContext;
    fn try_from(name: String) -> Result<Self, BadContext> {
        Self::new(&name)
    }
}

impl From<ContextName> for String {
    fn from(name: ContextName) -> String {
        name.0
    }
}

/// The four lifecycle folders, in the order a task passes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Folder {
    /// Not yet ready to be worked on.
    Backlog,
    /// Ready.
    Todo,
    /// Being worked on.
    Doing,
    /// Landed.
    Done,
}

impl Folder {
    /// All four, in order.
    pub const ALL: [Self; 4] = [Self::Backlog, Self::Todo, Self::Doing, Self::Done];

    /// The folder's name, which is also the value of `status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Todo => "todo",
            Self::Doing => "doing",
            Self::Done => "done",
        }
    }

    /// The folder of this exact name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|folder| folder.as_str() == name)
    }
}

/// Where a file stands on a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The context's folder name, as bytes: it may not be a name we let in.
    pub context: Vec<u8>,
    /// The lifecycle folder.
    pub folder: Folder,
}

impl Layout {
    /// The folder under which each context has its four lifecycle folders.
    pub fn lifecycle_root(self) -> RepoPath {
        match self {
            Self::Legacy => ".agentheim/contexts".into(),
            Self::Board => ".agentheim/board".into(),
        }
    }

    /// The folder under which each context keeps its README and concepts.
    pub fn knowledge_root(self) -> RepoPath {
        match self {
            Self::Legacy => ".agentheim/contexts".into(),
            Self::Board => ".agentheim/knowledge/contexts".into(),
        }
    }

    fn lifecycle(self, context: &ContextName, rest: &str) -> RepoPath {
        RepoPath::from(format!("{}/{context}/{rest}", self.lifecycle_root()).as_str())
    }

    fn knowledge(self, context: &ContextName, rest: &str) -> RepoPath {
        RepoPath::from(format!("{}/{context}/{rest}", self.knowledge_root()).as_str())
    }

    /// A context's folder for tasks of one status.
    pub fn folder(self, context: &ContextName, folder: Folder) -> RepoPath {
        self.lifecycle(context, folder.as_str())
    }

    /// The page that lists a context's tasks.
    pub fn task_index(self, context: &ContextName) -> RepoPath {
        self.lifecycle(context, "INDEX.md")
    }

    /// The page that lists a context's decisions, research and concepts (the same page in the legacy layout).
    pub fn knowledge_index(self, context: &ContextName) -> RepoPath {
        self.knowledge(context, "INDEX.md")
    }

    /// The folder of a context's archived done list, one page a month.
    pub fn done_archive(self, context: &ContextName) -> RepoPath {
        self.lifecycle(context, "done-archive")
    }

    /// A context's README: its language, its test command.
    pub fn readme(self, context: &ContextName) -> RepoPath {
        self.knowledge(context, "README.md")
    }

    /// A context's concept pages.
    pub fn concepts(self, context: &ContextName) -> RepoPath {
        self.knowledge(context, "concepts")
    }

    /// The styleguide's sources; they are application code, not bookkeeping.
    pub fn styleguide(self) -> RepoPath {
        RepoPath::from(format!("{}/design-system/styleguide", self.knowledge_root()).as_str())
    }

    /// The diary.
    pub fn protocol(self) -> RepoPath {
        match self {
            Self::Legacy => ".agentheim/knowledge/protocol.md".into(),
            Self::Board => ".agentheim/board/protocol.md".into(),
        }
    }

    /// The folder of the diary's archive, one page a month.
    pub fn protocol_archive(self) -> RepoPath {
        match self {
            Self::Legacy => ".agentheim/knowledge/protocol".into(),
            Self::Board => ".agentheim/board/protocol".into(),
        }
    }

    /// The project's vision.
    pub fn vision(self) -> RepoPath {
        match self {
            Self::Legacy => ".agentheim/vision.md".into(),
            Self::Board => ".agentheim/knowledge/vision.md".into(),
        }
    }

    /// The map of contexts.
    pub fn context_map(self) -> RepoPath {
        match self {
            Self::Legacy => ".agentheim/context-map.md".into(),
            Self::Board => ".agentheim/knowledge/context-map.md".into(),
        }
    }

    /// Where a path stands if it is a task file: `<root>/<context>/<folder>/<name>.md`, and no deeper.
    pub fn place(self, path: &RepoPath) -> Option<Place> {
        let root = self.lifecycle_root();
        let rest = path.as_bytes().strip_prefix(root.as_bytes())?.strip_prefix(b"/")?;
        let parts: Vec<&[u8]> = rest.split(|b| *b == b'/').collect();
        let [context, folder, name] = parts.as_slice() else { return None };
        let folder = Folder::from_name(std::str::from_utf8(folder).ok()?)?;
        let page = name.len() > 3 && name[name.len() - 3..].eq_ignore_ascii_case(b".md");
        (page && path.is_safe()).then(|| Place { context: context.to_vec(), folder })
    }

    /// The folders directly under `root` among `paths`, as bytes.
    fn folders<'a>(root: &RepoPath, paths: impl IntoIterator<Item = &'a RepoPath>) -> BTreeSet<Vec<u8>> {
        let rest = |path: &'a RepoPath| path.as_bytes().strip_prefix(root.as_bytes())?.strip_prefix(b"/");
        paths
            .into_iter()
            .filter_map(|path| {
                let rest = rest(path)?;
                let end = rest.iter().position(|b| *b == b'/')?;
                Some(rest[..end].to_vec())
            })
            .collect()
    }

    /// The contexts of a project: the authoritative list is the knowledge side (agentheim.md §1.2). Names that are not
    /// let in come second, escaped.
    pub fn contexts<'a>(self, paths: impl IntoIterator<Item = &'a RepoPath>) -> (Vec<ContextName>, Vec<String>) {
        let mut names = Vec::new();
        let mut refused = Vec::new();
        for folder in Self::folders(&self.knowledge_root(), paths) {
            match std::str::from_utf8(&folder).ok().and_then(|name| ContextName::new(name).ok()) {
                Some(name) => names.push(name),
                None => refused.push(escape(&folder)),
            }
        }
        (names, refused)
    }

    /// Task folders that belong to no context (two-root layout only), escaped.
    pub fn orphans<'a>(self, paths: impl IntoIterator<Item = &'a RepoPath> + Clone) -> Vec<String> {
        let known = Self::folders(&self.knowledge_root(), paths.clone());
        Self::folders(&self.lifecycle_root(), paths)
            .into_iter()
            .filter(|folder| !known.contains(folder) && folder != b"protocol")
            .map(|folder| escape(&folder))
            .collect()
    }
}

#[cfg(test)]
#[path = "layout/tests.rs"]
mod tests;
