//! The hooks that `git commit` would run, run for a commit that is made without a checkout (RULINGS 28).
//!
//! They see the landing as they would see any commit: staged on top of the target, in a room, under the profile of checks.
//! Where the hooks are files of the project, they are the target's, never the claim's.

use crate::host::git::{EntryKind, Git, GitError, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::host::process::{Ended, Ending, Launch, Limits, run_to_end};
use crate::host::room::{Room, RoomError};
use crate::host::sandbox::Profile;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// How long one hook may take.
const LIMIT: Duration = Duration::from_secs(900);
/// A longer message is nobody's.
const LONGEST_MESSAGE: u64 = 1 << 20;
/// A larger file is no hook.
const LARGEST_HOOK: u64 = 16 << 20;

/// Why a landing waits because of a hook. The claim is not to blame.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookError {
    /// A hook says no.
    #[error("the hook {hook} refuses the landing ({ending}): {said}")]
    Refused {
        /// Which.
        hook: &'static str,
        /// How it ended.
        ending: String,
        /// The end of what it said.
        said: String,
    },
    /// A hook cannot run here.
    #[error(
        "the hook {hook} cannot run in a fresh checkout ({ending}): {said}; what it needs has to be installed where every checkout finds it"
    )]
    Unable {
        /// Which.
        hook: &'static str,
        /// How it ended.
        ending: String,
        /// The end of what it said.
        said: String,
    },
    /// A hook changed what would be committed.
    #[error("the hook {hook} changes what would land: {}; that tree was not verified", paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    TreeChanged {
        /// Which.
        hook: &'static str,
        /// The changed paths.
        paths: Vec<RepoPath>,
        /// The tree to judge, if the project wants what the hook makes of it: as it would land, bookkeeping apart.
        tree: Option<TreeId>,
    },
    /// The hooks are files that no commit has.
    #[error("core.hooksPath is {}, which the target's commits do not have, so nobody knows what these hooks are there; commit the folder, or set core.hooksPath to one outside the project", folder.display())]
    Untracked {
        /// The folder.
        folder: PathBuf,
    },
    /// A message that a hook emptied or blew up.
    #[error("the hook {hook} left no usable commit message")]
    Message {
        /// Which.
        hook: &'static str,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {why}", path.display())]
    Io {
        /// Verb, e.g. `write`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// No room to run them in.
    #[error(transparent)]
    Room(#[from] RoomError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The hooks that precede a commit, in git's order.
const HOOKS: [&str; 3] = ["pre-commit", "prepare-commit-msg", "commit-msg"];

/// What the hooks leave to be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hooked {
    /// The message.
    pub message: String,
    /// The tree; another one than before if `pre-commit` staged something, as a formatter does.
    pub tree: TreeId,
}

/// Runs the hooks for a commit of `tree` on `tip`. As git has it, only `pre-commit` may change what is committed.
///
/// # Errors
/// See [`HookError`]. Nothing of the user's was touched.
pub fn run_hooks(repo: &Repo, tip: &CommitId, tree: &TreeId, message: &str) -> Result<Hooked, HookError> {
    let as_it_is = || Hooked { message: message.to_owned(), tree: tree.clone() };
    let scratch = tempfile::Builder::new().prefix("hooks-").tempdir_in(&repo.host().scratch);
    let scratch = scratch.map_err(io("make a folder in", &repo.host().scratch))?;
    let Some(folder) = hooks_folder(repo, tip, scratch.path())? else { return Ok(as_it_is()) };
    let present: Vec<&'static str> = HOOKS.into_iter().filter(|hook| is_program(&folder.join(hook))).collect();
    if present.is_empty() {
        return Ok(as_it_is());
    }
    let stage = Stage::set(repo, tip, tree, message, folder, scratch)?;
    let mut tree = tree.clone();
    for hook in present {
        stage.run(repo, hook)?;
        let paths = stage.changed(repo, &tree)?;
        if paths.is_empty() {
            continue;
        }
        if hook != HOOKS[0] {
            return Err(HookError::TreeChanged { hook, paths, tree: None });
        }
        tree = stage.staged(repo, &tree)?;
    }
    Ok(Hooked { message: stage.message(repo)?, tree })
}

/// Where the hooks are; none if there are none. Those of the project are written out from the target.
fn hooks_folder(repo: &Repo, tip: &CommitId, scratch: &Path) -> Result<Option<PathBuf>, HookError> {
    let words = ["config", "-z", "--show-scope", "--type=path", "--get-all", "core.hooksPath"];
    let answer = repo.git().run_unchecked(words)?.stdout;
    let fields: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    // Our own git runs without hooks: what it is told on its command line is not the user's setting.
    let set = fields.chunks_exact(2).filter(|pair| pair[0] != b"command").map(|pair| pair[1]).next_back();
    let Some(set) = set.filter(|path| !path.is_empty()) else {
        return Ok(Some(repo.common_dir().join("hooks")).filter(|folder| folder.is_dir()));
    };
    let folder = repo.top().join(OsStr::from_bytes(set));
    let Ok(inside) = folder.strip_prefix(repo.top()) else { return Ok(Some(folder)) };
    let inside = RepoPath::from_bytes(inside.as_os_str().as_bytes());
    let copy = scratch.join("hooks");
    if write_out(repo, &repo.tree_of(tip)?, &inside, &copy)? {
        return Ok(Some(copy));
    }
    if folder.is_dir() { Err(HookError::Untracked { folder }) } else { Ok(None) }
}

/// Writes a folder of a tree to disk as it is stored; false if there is no such folder.
fn write_out(repo: &Repo, tree: &TreeId, folder: &RepoPath, to: &Path) -> Result<bool, HookError> {
    let Some(name) = folder.as_str().filter(|name| !name.is_empty()) else { return Ok(false) };
    let mut any = false;
    for (path, entry) in repo.list(tree, name)? {
        let (EntryKind::File, Some(blob)) = (entry.kind(), entry.blob()) else { continue };
        let inside = path.as_bytes().get(name.len() + 1..).unwrap_or_default();
        if !RepoPath::from_bytes(inside).is_safe() {
            continue;
        }
        let place = to.join(OsStr::from_bytes(inside));
        let above = place.parent().unwrap_or(to);
        fs::create_dir_all(above).map_err(io("make", above))?;
        fs::write(&place, repo.blob(&blob, LARGEST_HOOK)?.0).map_err(io("write", &place))?;
        let mode = if entry.mode & 0o111 == 0 { 0o644 } else { 0o755 };
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).map_err(io("write", &place))?;
        any = true;
    }
    Ok(any)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A room in which the landing is staged on top of the target.
struct Stage {
    room: Room,
    git_dir: PathBuf,
    folder: PathBuf,
    objects: PathBuf,
    message: PathBuf,
    scratch: TempDir,
}

impl Stage {
    fn set(
        repo: &Repo,
        tip: &CommitId,
        tree: &TreeId,
        message: &str,
        folder: PathBuf,
        scratch: TempDir,
    ) -> Result<Self, HookError> {
        let (_, time) = repo.parents_of(tip)?;
        let commit = repo.write_commit(tree, std::slice::from_ref(tip), time, "what the hooks see\n")?;
        let room = Room::take(repo, &commit)?;
        let inside = repo.discover_beside(room.path())?;
        inside.git().run(["reset", "--soft", "--quiet", tip.as_str()])?;
        let place = |name: &str| scratch.path().join(name);
        let (objects, file) = (place("work/objects"), place("work/COMMIT_EDITMSG"));
        for made in [&objects, &place("work/home"), &place("work/tmp")] {
            fs::create_dir_all(made).map_err(io("make", made))?;
        }
        fs::write(&file, message).map_err(io("write", &file))?;
        Ok(Self { git_dir: inside.git_dir().to_owned(), room, folder, objects, message: file, scratch })
    }

    /// Objects that a hook makes stay in the scratch: the repository's own store is not its to write.
    fn git<'r>(&self, repo: &'r Repo) -> Git<'r> {
        let git = Git::new(repo.host(), self.room.path()).env("GIT_INDEX_FILE", self.git_dir.join("index"));
        git.reading_also(&repo.common_dir().join("objects"), &self.objects)
    }

    fn run(&self, repo: &Repo, hook: &'static str) -> Result<(), HookError> {
        let ended = run_to_end(repo.host(), &self.launch(repo, hook));
        if ended.ending.is_success() {
            return Ok(());
        }
        let (ending, said) = (ended.ending.sentence(), said(&ended));
        Err(match ended.ending {
            // The shell's own codes for a program that is not there or cannot be run.
            Ending::Exited { code: 126 | 127 } | Ending::NotStarted { .. } => HookError::Unable { hook, ending, said },
            _ => HookError::Refused { hook, ending, said },
        })
    }

    fn launch(&self, repo: &Repo, hook: &'static str) -> Launch {
        let mut argv: Vec<OsString> = vec![self.folder.join(hook).into()];
        match hook {
            "prepare-commit-msg" => argv.extend([self.message.clone().into(), "message".into()]),
            "commit-msg" => argv.push(self.message.clone().into()),
            _ => {}
        }
        let work = self.scratch.path().join("work");
        let mut env = repo.host().env.for_child();
        let set = |name: &str, value: OsString| (OsString::from(name), value);
        env.extend([
            set("HOME", work.join("home").into()),
            set("TMPDIR", work.join("tmp").into()),
            set("GIT_EDITOR", ":".into()),
            set("GIT_INDEX_FILE", self.git_dir.join("index").into()),
            set("GIT_OBJECT_DIRECTORY", self.objects.clone().into()),
            set("GIT_ALTERNATE_OBJECT_DIRECTORIES", repo.common_dir().join("objects").into()),
        ]);
        Launch {
            argv,
            cwd: self.room.path().to_owned(),
            env,
            stdin: Vec::new(),
            log: self.scratch.path().join(format!("{hook}.log")),
            capture: 0,
            limits: Limits::within(LIMIT),
            profile: Profile::checks(vec![self.room.path().to_owned(), self.git_dir.clone(), work]),
        }
    }

    /// The paths that are no longer staged as they would land.
    fn changed(&self, repo: &Repo, tree: &TreeId) -> Result<Vec<RepoPath>, HookError> {
        let words = ["diff-index", "--cached", "--name-only", "--no-renames", "--ignore-submodules=none", "-z"];
        let answer = self.git(repo).run(words.into_iter().chain([tree.as_str(), "--"]))?.stdout;
        Ok(answer.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(RepoPath::from_bytes).collect())
    }

    /// What the hook staged, as a tree in the repository's own store. Git computes every object's id anew on the way in: a
    /// hook can write into the scratch what it likes.
    fn staged(&self, repo: &Repo, before: &TreeId) -> Result<TreeId, HookError> {
        let id = self.git(repo).run(["write-tree"])?.line();
        let unreadable = |why: String| GitError::Unreadable { command: "git write-tree".to_owned(), what: why };
        let tree = TreeId::new(&id).map_err(|why| unreadable(why.to_string()))?;
        let not = format!("^{before}");
        let new = self.git(repo).run(["rev-list", "--objects", "--no-object-names", tree.as_str(), &not])?.stdout;
        let pack = self.git(repo).stdin(new).run(["pack-objects", "--stdout", "-q"])?.stdout;
        repo.git().stdin(pack).run(["unpack-objects", "-q", "--strict"])?;
        Ok(tree)
    }

    /// The message as git would take it from the file.
    fn message(&self, repo: &Repo) -> Result<String, HookError> {
        let hook = HOOKS[2];
        let size = fs::metadata(&self.message).map_err(io("read", &self.message))?.len();
        let bytes = fs::read(&self.message).map_err(io("read", &self.message))?;
        let cleaned = repo.git().stdin(bytes).run(["stripspace"])?.stdout;
        let text = String::from_utf8(cleaned).map_err(|_| HookError::Message { hook })?;
        if size > LONGEST_MESSAGE || text.trim().is_empty() { Err(HookError::Message { hook }) } else { Ok(text) }
    }
}

fn said(ended: &Ended) -> String {
    let said = fs::read(&ended.log.path).unwrap_or_default();
    let said = escape(said.get(said.len().saturating_sub(800)..).unwrap_or(&said)).replace("\\x0a", " ");
    let said = said.trim();
    if said.is_empty() { "it said nothing".to_owned() } else { said.to_owned() }
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> HookError + use<> {
    let path = path.to_owned();
    move |why| HookError::Io { doing, path, why }
}
