//! What was asked: a task file of a board, or any Markdown page with acceptance criteria.
//!
//! This stage is pure. Whoever calls it reads the bytes, from the base commit or from what the user gave by hand, and
//! hands them in. What cannot be read is an error that says why; it is never an empty task.

pub mod board;
pub mod criteria;
pub mod dependency;
pub mod frontmatter;
pub mod id;
pub mod layout;
pub mod lint;
pub mod markdown;
pub mod plan;
pub mod promise;
pub mod proof;
pub mod text;

use crate::host::digest::digest;
use crate::host::path::{RepoPath, escape};
use frontmatter::{Frontmatter, FrontmatterError};
use id::IdError;
use markdown::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use text::{Text, TextError};

pub use criteria::{Bullet, Criterion, Kind, Oddity, OddityKind};
pub use id::TaskId;
pub use proof::Proof;

/// What kind of work a task is; the type of its landing commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum TaskType {
    /// New behaviour.
    Feature,
    /// Wrong behaviour put right.
    Bug,
    /// Same behaviour, other code.
    Refactor,
    /// Upkeep.
    Chore,
    /// An investigation with a limit.
    Spike,
    /// A decision record.
    Decision,
    /// A word we do not know, kept as it is.
    Other(String),
}

impl From<String> for TaskType {
    fn from(word: String) -> Self {
        match word.as_str() {
            "feature" => Self::Feature,
            "bug" => Self::Bug,
            "refactor" => Self::Refactor,
            "chore" => Self::Chore,
            "spike" => Self::Spike,
            "decision" => Self::Decision,
            _ => Self::Other(word),
        }
    }
}

impl From<TaskType> for String {
    fn from(kind: TaskType) -> String {
        match kind {
            TaskType::Feature => "feature".into(),
            TaskType::Bug => "bug".into(),
            TaskType::Refactor => "refactor".into(),
            TaskType::Chore => "chore".into(),
            TaskType::Spike => "spike".into(),
            TaskType::Decision => "decision".into(),
            TaskType::Other(word) => word,
        }
    }
}

/// Why a file cannot be taken as a task. It names the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[error("the task file `{path}` cannot be read: {problem}")]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct TaskError {
    /// The file, escaped; `-` for standard input.
    pub path: String,
    /// What is wrong with it.
    pub problem: TaskProblem,
}

/// What is wrong with a task file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskProblem {
    /// It is no text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Its frontmatter cannot be read.
    #[error(transparent)]
    Frontmatter(#[from] FrontmatterError),
    /// A board's task has no id.
    #[error("the frontmatter has no `id`")]
    NoId,
    /// Its id is refused.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A glob that could reach outside the repository.
    #[error("`{key}` holds {glob:?}, which is not a path pattern inside the repository")]
    Glob {
        /// `paths` or `removes-tests`.
        key: &'static str,
        /// The pattern.
        glob: String,
    },
    /// Nothing to judge by.
    #[error("there is no acceptance criterion; add a section `## Acceptance criteria` with `- [ ]` bullets")]
    NoCriteria,
    /// The board lists the file but its bytes were not given.
    #[error("its content was not available")]
    NotGiven,
}

impl From<TaskError> for String {
    fn from(error: TaskError) -> String {
        error.to_string()
    }
}

/// A task, read without loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Task {
    /// Its id; a plain Markdown page may have none.
    pub id: Option<TaskId>,
    /// The title as it stands, quotes included; without the key, the page's own title.
    pub title: String,
    /// The `status` field, whatever it says.
    pub status: Option<String>,
    /// The `type` field.
    #[serde(rename = "type")]
    pub kind: Option<TaskType>,
    /// The `context` field, else the context its id names.
    pub context: Option<String>,
    /// The `created` field.
    pub created: Option<String>,
    /// References to tasks that must be done before.
    pub depends_on: Vec<String>,
    /// References to tasks that wait for this one.
    pub blocks: Vec<String>,
    /// Words.
    pub tags: Vec<String>,
    /// Decision records, in whichever spelling.
    pub related_adrs: Vec<String>,
    /// Earlier tasks to learn from.
    pub prior_art: Vec<String>,
    /// Globs of the paths the work may touch; empty: not declared.
    pub paths: Vec<String>,
    /// Globs of the tests the work may remove.
    pub removes_tests: Vec<String>,
    /// The acceptance criteria as they stand in the file.
    #[serde(rename = "criteria")]
    pub bullets: Vec<Bullet>,
    /// What is unusual about them.
    pub oddities: Vec<Oddity>,
    /// SHA-256 of the file's bytes, in hexadecimal.
    pub digest: String,
    /// The whole text, byte order mark and line endings included.
    #[serde(skip)]
    pub text: String,
    /// The number of the body's first line, counted from 1.
    #[serde(skip)]
    pub body_line: usize,
}

/// Reads a board's task file. It must have frontmatter with an id that [`TaskId::new`] lets in.
///
/// # Errors
/// [`TaskError`], naming the file. Zero criteria is no error here: the caller decides what that means.
pub fn read_task(bytes: &[u8], path: &RepoPath) -> Result<Task, TaskError> {
    let fail = |problem| TaskError { path: path.to_string(), problem };
    let text = Text::read(bytes).map_err(|error| fail(error.into()))?;
    let front = Frontmatter::read(text).map_err(|error| fail(error.into()))?;
    let task = assemble(text, Some(&front)).map_err(fail)?;
    if task.id.is_some() { Ok(task) } else { Err(fail(TaskProblem::NoId)) }
}

/// Reads any Markdown page as a task; `name` is what messages call it. Frontmatter is optional, but where there is
/// some it must be readable.
///
/// # Errors
/// As [`read_task`], but for the id.
pub fn read_markdown(bytes: &[u8], name: &str) -> Result<Task, TaskError> {
    let fail = |problem| TaskError { path: escape(name.as_bytes()), problem };
    let text = Text::read(bytes).map_err(|error| fail(error.into()))?;
    let front = Frontmatter::is_expected(text)
        .then(|| Frontmatter::read(text))
        .transpose()
        .map_err(|error| fail(error.into()))?;
    assemble(text, front.as_ref()).map_err(fail)
}

fn assemble(text: Text<'_>, front: Option<&Frontmatter>) -> Result<Task, TaskProblem> {
    let word = |key: &str| front.map_or(Ok(None), |front| front.word(key));
    let list = |key: &str| front.map_or_else(|| Ok(Vec::new()), |front| front.list(key));
    let globs = |key: &'static str| -> Result<Vec<String>, TaskProblem> {
        let globs = list(key)?;
        match globs.iter().find(|glob| !is_inside(glob)) {
            Some(glob) => Err(TaskProblem::Glob { key, glob: glob.clone() }),
            None => Ok(globs),
        }
    };
    let body_line = front.map_or(1, Frontmatter::body_line);
    let document = Document::read(text.lines().skip(body_line - 1));
    let found = criteria::read(&document);
    let id = word("id")?.map(|id| TaskId::new(&id)).transpose()?;
    let title = front.map_or(Ok(None), |front| front.raw("title"))?.map(str::to_owned);
    Ok(Task {
        title: title.or_else(|| heading(&document, front.is_none())).unwrap_or_default(),
        status: word("status")?,
        kind: word("type")?.map(TaskType::from),
        context: word("context")?.or_else(|| id.as_ref().map(|id| id.context().to_owned())),
        created: word("created")?,
        depends_on: list("depends_on")?,
        blocks: list("blocks")?,
        tags: list("tags")?,
        related_adrs: list("related_adrs")?,
        prior_art: list("prior_art")?,
        paths: globs("paths")?,
        removes_tests: globs("removes-tests")?,
        bullets: found.list,
        oddities: found.oddities,
        digest: digest(text.whole().as_bytes()),
        text: text.whole().to_owned(),
        body_line,
        id,
    })
}

impl Task {
    /// The name under which the task's attempts are kept: its id, or `md-` and the beginning of its text's digest.
    pub fn case_key(&self) -> String {
        match &self.id {
            Some(id) => id.to_string(),
            None => format!("md-{}", &self.digest[..16]),
        }
    }

    /// What is asked for, numbered.
    pub fn criteria(&self) -> Vec<Criterion> {
        self.bullets.iter().map(|bullet| bullet.criterion.clone()).collect()
    }

    /// The criteria of a task that is to be judged; `name` is what messages call its file.
    ///
    /// # Errors
    /// [`TaskProblem::NoCriteria`]: nothing can be judged by nothing.
    pub fn judged_by(&self, name: &str) -> Result<Vec<Criterion>, TaskError> {
        match self.criteria() {
            none if none.is_empty() => {
                Err(TaskError { path: escape(name.as_bytes()), problem: TaskProblem::NoCriteria })
            }
            criteria => Ok(criteria),
        }
    }

    /// The title without one layer of quotes around it, for people.
    pub fn display_title(&self) -> &str {
        let inner = |quote| self.title.strip_prefix(quote)?.strip_suffix(quote);
        inner('"').or_else(|| inner('\'')).unwrap_or(&self.title)
    }

    /// The type for a commit subject; a task without one is a chore.
    pub fn commit_type(&self) -> String {
        self.kind.clone().unwrap_or(TaskType::Chore).into()
    }

    /// True if there are criteria and all of them are for a person's eye (agentheim.md §2.4).
    pub fn is_all_human_eye(&self) -> bool {
        !self.bullets.is_empty() && self.bullets.iter().all(|bullet| bullet.criterion.kind == Kind::HumanEye)
    }

    /// The body: everything after the frontmatter.
    pub fn body(&self) -> &str {
        let start = self.text.split_inclusive('\n').take(self.body_line - 1).map(str::len).sum();
        self.text.get(start..).unwrap_or_default()
    }
}

/// True for a pattern that is relative and climbs nowhere.
fn is_inside(glob: &str) -> bool {
    !glob.contains(['\\', '\0']) && RepoPath::from(glob.trim_end_matches('/')).is_safe()
}

/// The page's own title: its first level-one heading; without frontmatter any heading is better than none.
fn heading(document: &Document<'_>, any: bool) -> Option<String> {
    let titled = |top: bool| {
        let fits = |line: &&markdown::Line<'_>| !top || line.level == Some(1);
        document.lines.iter().filter(fits).find_map(|line| line.title().filter(|title| !title.is_empty()))
    };
    titled(true).or_else(|| titled(false).filter(|_| any)).map(str::to_owned)
}

#[cfg(test)]
#[path = "task/tests.rs"]
mod tests;
