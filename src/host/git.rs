//! Git: the only code that starts `git` or opens a repository.
//!
//! Two hands, one face. The `git` program does everything that turns files into blobs or blobs into files (snapshot,
//! checkout, clean) and everything textual (diff, patches); libgit2 does the object graph, because it is many times
//! cheaper there and exact. Repositories that libgit2 cannot open (reftable, SHA-256, unknown extensions) take plumbing
//! all the way; the caller never sees which hand answered.

mod checkout;
mod command;
mod commit;
mod diff;
mod index;
mod keys;
mod merge;
mod moving;
mod objects;
mod refs;
pub(super) mod register;

pub use checkout::{BranchMove, Obstacle};
pub use command::{Git, Output, Running};
pub use diff::{Change, ChangeKind, Changes};
pub use index::{Tracked, entries, has_no_marks};
pub use keys::signing_key;
pub use merge::Merged;
pub use objects::{Entry, EntryKind, NewEntry};
pub use refs::{RefMove, RefName};

use super::Host;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The oldest git with everything we use (`merge-tree --write-tree`).
pub const OLDEST_GIT: (u32, u32) = (2, 38);

/// What went wrong with git or with the repository. All of it is the environment's fault, never the worker's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// No program to run.
    #[error("cannot start {program}: {why}; install git {0}.{1} or newer, or put it on PATH", OLDEST_GIT.0, OLDEST_GIT.1)]
    NotFound {
        /// The program.
        program: String,
        /// The system's words.
        why: String,
    },
    /// A git older than we need.
    #[error("git {found} is too old: countersign needs {0}.{1} or newer; install one, or put it first on PATH", OLDEST_GIT.0, OLDEST_GIT.1)]
    TooOld {
        /// The version found.
        found: String,
    },
    /// The folder belongs to no repository.
    #[error("{path} is not inside a git repository ({said}); run countersign inside one, or name it with --worktree", path = path.display())]
    NoRepository {
        /// Where we looked.
        path: PathBuf,
        /// Git's words.
        said: String,
    },
    /// A repository of another user.
    #[error("git refuses to read {path}, because it belongs to another user; if you trust it, run `git config --global --add safe.directory '{path}'`, or judge a clone of your own", path = path.display())]
    Ownership {
        /// The top of the worktree.
        path: PathBuf,
    },
    /// A repository without files to judge.
    #[error("{path} is a bare repository: there is no worktree to judge; run countersign in a clone that has one", path = path.display())]
    Bare {
        /// The git directory.
        path: PathBuf,
    },
    /// The inside of a git directory.
    #[error("{path} is inside a git directory, not in a worktree: there are no files to judge here; run countersign in the worktree, or name it with --worktree", path = path.display())]
    NoWorktree {
        /// Where we looked.
        path: PathBuf,
    },
    /// A git command failed.
    #[error("`{command}` failed ({ending}) in {tree}: {said}", tree = tree.display())]
    Failed {
        /// The command line, for people.
        command: String,
        /// Exit code or signal.
        ending: String,
        /// Where it ran.
        tree: PathBuf,
        /// The end of what it said.
        said: String,
    },
    /// Git answered something we cannot read.
    #[error("`{command}` answered something unreadable: {what}")]
    Unreadable {
        /// The command line, for people.
        command: String,
        /// What was found.
        what: String,
    },
    /// An object that should be there is not.
    #[error("object {id} is missing in {repo}: {why}", repo = repo.display())]
    Missing {
        /// Id, or `revision:path`.
        id: String,
        /// The repository.
        repo: PathBuf,
        /// More, and what to do.
        why: String,
    },
    /// A file of the repository could not be read or written.
    #[error("cannot {doing} {path}: {why}", path = path.display())]
    Io {
        /// Verb, e.g. `read`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
}

/// How the repository names objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// 40 digits.
    Sha1,
    /// 64 digits.
    Sha256,
}

/// What a repository is and where it lies. One process: what a repository without a worktree answers before the last
/// question is still answered.
const PLACES: [&str; 7] = [
    "rev-parse",
    "--is-bare-repository",
    "--is-shallow-repository",
    "--show-object-format",
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-toplevel",
];

/// An opened repository, seen from one of its worktrees.
pub struct Repo {
    host: Host,
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    format: ObjectFormat,
    shallow: bool,
    version: String,
    graph: RefCell<Option<git2::Repository>>,
    quarantine: RefCell<Option<PathBuf>>,
}

impl std::fmt::Debug for Repo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repo").field("top", &self.top).field("git_dir", &self.git_dir).finish_non_exhaustive()
    }
}

impl Repo {
    /// Finds the repository and worktree around `start`.
    ///
    /// # Errors
    /// No git or too old a one, no repository, a bare one.
    pub fn discover(host: &Host, start: &Path) -> Result<Self, GitError> {
        // Both at once: a git too old for the question is told by its version.
        let version = Git::new(host, start).start(["version"])?;
        let asked = Git::new(host, start).start(PLACES);
        let version = Git::version(&version.success()?)?;
        Self::open(host, start, version, asked?)
    }

    /// Another worktree, of this repository or not, found by the same git program.
    ///
    /// # Errors
    /// As [`Repo::discover`].
    pub fn discover_beside(&self, start: &Path) -> Result<Self, GitError> {
        Self::open(&self.host, start, self.version.clone(), Git::new(&self.host, start).start(PLACES)?)
    }

    fn open(host: &Host, start: &Path, version: String, asked: Running) -> Result<Self, GitError> {
        let output = asked.output()?;
        let mut lines = output.stdout.splitn(PLACES.len() - 1, |b| *b == b'\n');
        let mut next = || lines.next().map(<[u8]>::to_vec).unwrap_or_default();
        let (bare, shallow, format) = (next() == b"true", next() == b"true", next());
        let git_dir = PathBuf::from(OsStr::from_bytes(&next()));
        let common = next();
        if git_dir.as_os_str().is_empty() || common.is_empty() {
            return Err(Self::refused(host, start)
                .unwrap_or_else(|| GitError::NoRepository { path: start.to_owned(), said: output.said() }));
        }
        // Relative answers are relative to where git ran.
        let common_dir = canonical(&start.join(OsStr::from_bytes(&common)))?;
        if bare {
            return Err(GitError::Bare { path: git_dir });
        }
        if !output.success() {
            return Err(GitError::NoWorktree { path: start.to_owned() });
        }
        let top = next();
        let top = PathBuf::from(OsStr::from_bytes(top.strip_suffix(b"\n").unwrap_or(&top)));
        let format = if format == b"sha256" { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 };
        let graph = if format == ObjectFormat::Sha1 { open_graph(&git_dir) } else { None };
        Ok(Self {
            host: host.clone(),
            top,
            git_dir: canonical(&git_dir)?,
            common_dir,
            format,
            shallow,
            version,
            graph: RefCell::new(graph),
            quarantine: RefCell::new(None),
        })
    }

    /// Git looks into no repository of another user unless it is told that it is safe; told so, it finds one.
    fn refused(host: &Host, start: &Path) -> Option<GitError> {
        let asked = ["-c", "safe.directory=*", "rev-parse", "--show-toplevel"];
        let output = Git::new(host, start).run_unchecked(asked).ok().filter(Output::success)?;
        let top = PathBuf::from(OsStr::from_bytes(output.trim_end_newline()));
        Some(GitError::Ownership { path: top })
    }

    /// The top folder of the worktree.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// This worktree's own git directory.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The directory that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Our own folder inside the shared git directory. Nothing in it is the only copy once a case is sealed.
    pub fn own_dir(&self) -> PathBuf {
        self.common_dir.join("countersign")
    }

    /// True if the clone lacks history.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }

    /// The git program's version, e.g. `2.47.3`.
    pub fn git_version(&self) -> &str {
        &self.version
    }

    /// How this repository names objects.
    pub fn object_format(&self) -> ObjectFormat {
        self.format
    }

    /// Which hand reads the object graph: `libgit2` or `git`.
    pub fn graph_reader(&self) -> &'static str {
        if self.graph.borrow().is_some() { "libgit2" } else { "git" }
    }

    /// The machine this repository was opened on.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// A git that runs in this worktree.
    pub fn git(&self) -> Git<'_> {
        let git = Git::new(&self.host, &self.top);
        match &*self.quarantine.borrow() {
            Some(store) => git.reading_also(&self.common_dir.join("objects"), store),
            None => git,
        }
    }

    /// Reads objects from a quarantine store as well, until [`Repo::leave_quarantine`].
    ///
    /// # Errors
    /// libgit2 refuses the folder.
    pub fn enter_quarantine(&self, store: &Path) -> Result<(), GitError> {
        *self.quarantine.borrow_mut() = Some(store.to_owned());
        let mut graph = self.graph.borrow_mut();
        if let Some(repo) = graph.as_ref() {
            let added = store.to_str().and_then(|path| repo.odb().and_then(|odb| odb.add_disk_alternate(path)).ok());
            if added.is_none() {
                // Non-UTF-8 temporary folders, for instance: plumbing reads it as well.
                *graph = None;
            }
        }
        Ok(())
    }

    /// Ends [`Repo::enter_quarantine`]: the objects were moved into the store, or are to be forgotten.
    pub fn leave_quarantine(&self) {
        if self.quarantine.borrow_mut().take().is_some() && self.graph.borrow().is_some() {
            *self.graph.borrow_mut() = open_graph(&self.git_dir);
        }
    }
}

fn open_graph(git_dir: &Path) -> Option<git2::Repository> {
    // Any refusal (reftable, unknown extension, ownership) means plumbing; libgit2's own words help nobody.
    let flags = git2::RepositoryOpenFlags::NO_SEARCH | git2::RepositoryOpenFlags::NO_DOTGIT;
    git2::Repository::open_ext(git_dir, flags, &[] as &[&OsStr]).ok()
}

fn canonical(path: &Path) -> Result<PathBuf, GitError> {
    path.canonicalize().map_err(|why| GitError::Io { doing: "find", path: path.to_owned(), why })
}
