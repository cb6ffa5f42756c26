//! A room: a pooled, disposable, detached checkout of one exact tree.
//!
//! Rooms are linked worktrees in the user's cache folder (see [`pool`]), because resetting one is many times
//! cheaper than making one (crates-perf.md §1b). A slot is taken by an operating system lock, so a crashed run frees it.
//! What is tested is what was frozen: files come from git's own checkout (filters, LFS, encodings), never from an
//! archive, and the room is compared with the tree before it is handed out.

mod likeness;
mod renew;
mod scan;
mod slot;

use super::Host;
use super::digest::digest;
use super::git::{Git, GitError, Repo};
use super::ids::{CommitId, TreeId};
use super::path::{RepoPath, escape};
use super::process::{Launch, Limits, run_in_turn};
use super::sandbox::{Network, Profile};
use renew::Way;
use slot::Slot;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// At most this many rooms of one repository exist at a time.
pub const MOST_ROOMS: u32 = 16;

/// How long one git command on a room may take.
const GIT_LIMIT: Duration = Duration::from_secs(900);
/// How much of a git answer is read; a room that differs in more than this is simply different.
const LARGEST_ANSWER: u64 = 16 << 20;

/// What the room's git runs under beside our usual hardening: the whole tree (no sparse or partial checkout), the same
/// bytes whatever this clone or user configured, and no short cut when files are compared.
const WHOLE_TREE: &[&str] = &[
    "-c",
    "core.sparseCheckout=false",
    "-c",
    "index.sparse=false",
    "-c",
    "core.fileMode=true",
    "-c",
    "core.symlinks=true",
    "-c",
    "core.autocrlf=false",
    "-c",
    "core.eol=lf",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.untrackedCache=false",
    // A room can be made anew: its index needs no checksum against a failing disk.
    "-c",
    "index.skipHash=true",
    "-c",
    "submodule.recurse=false",
];

/// Why there is no room. All of it is the environment's fault, never the worker's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoomError {
    /// Git or the object store.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file of the pool.
    #[error("cannot {doing} {path}: {why}", path = path.display())]
    Io {
        /// Verb, e.g. `lock`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// Every slot is taken.
    #[error("all {MOST_ROOMS} rooms under {pool} are in use by other runs; wait for one of them to end", pool = pool.display())]
    Full {
        /// The pool.
        pool: PathBuf,
    },
    /// The checkout failed.
    #[error("`{command}` {ending} in the room {room}: {said}", room = room.display())]
    Checkout {
        /// The command line, for people.
        command: String,
        /// How it ended.
        ending: String,
        /// The room.
        room: PathBuf,
        /// The end of what it said.
        said: String,
    },
    /// The checked-out files are not the tree.
    #[error("the room {room} does not equal tree {tree}: {what}; a filter or a file system that changes files is the usual cause", room = room.display())]
    Differs {
        /// The room.
        room: PathBuf,
        /// The tree it should hold.
        tree: TreeId,
        /// What differs, at most a few paths.
        what: String,
    },
}

/// A checkout of one tree that is ours until dropped. Dropping frees the slot and keeps the files for the next user.
#[derive(Debug)]
pub struct Room {
    slot: Slot,
    commit: CommitId,
    tree: TreeId,
}

impl Room {
    /// Takes a free slot and makes it hold exactly this commit's tree.
    ///
    /// # Errors
    /// No free slot, a checkout that fails (a required filter, missing LFS objects, a full disk), or files that do not
    /// equal the tree afterwards.
    pub fn take(repo: &Repo, commit: &CommitId) -> Result<Self, RoomError> {
        let tree = repo.tree_of(commit)?;
        let mut slot = Slot::take(&pool(repo))?;
        slot.begin(repo, commit)?;
        let mut room = Self { slot, commit: commit.clone(), tree };
        match room.short_way(repo) {
            Way::Done => return Ok(room),
            Way::Long => {}
            Way::Anew => room.slot.rebuild(repo, commit)?,
        }
        if room.reset(repo).is_err() {
            // Whatever the last user left (unreadable folders, a broken index), a new checkout does not have it.
            room.slot.rebuild(repo, commit)?;
            room.reset(repo)?;
        }
        Ok(room)
    }

    /// The top folder of the checkout; absolute.
    pub fn path(&self) -> &Path {
        self.slot.tree()
    }

    /// The tree it holds.
    pub fn tree(&self) -> &TreeId {
        &self.tree
    }

    /// The commit it stands at.
    pub fn commit(&self) -> &CommitId {
        &self.commit
    }

    /// The tracked paths that no longer equal the tree, at most a hundred. New files do not count: tests write them.
    ///
    /// # Errors
    /// Git cannot say.
    pub fn changed(&self, repo: &Repo) -> Result<Vec<RepoPath>, RoomError> {
        // A run may write anywhere in the room, its `.git` file included.
        self.slot.restore_gitfile()?;
        if self.is_untouched(repo) {
            return Ok(Vec::new());
        }
        let differences = self.differences(repo, false)?;
        Ok(differences.into_iter().map(|difference| difference.path).take(100).collect())
    }

    /// Removes the room's worktree: its files are moved away (see [`sweep`]), then its own entry leaves git's register of
    /// worktrees. Other worktrees are never looked at (RULINGS 26, ADR 14). No process is started.
    ///
    /// # Errors
    /// A file cannot be moved.
    pub fn retire(self, repo: &Repo) -> Result<(), RoomError> {
        self.slot.remove(repo)
    }

    /// Where the short way leads; into an error as well as into the unknown means the long way.
    fn short_way(&self, repo: &Repo) -> Way {
        if self.slot.restore_gitfile().is_err() {
            return Way::Long;
        }
        self.renew(repo).unwrap_or(Way::Long)
    }

    fn reset(&self, repo: &Repo) -> Result<(), RoomError> {
        self.slot.restore_gitfile()?;
        let reset = words(&["reset", "--hard", "--quiet", self.commit.as_str()]);
        let gits = [reset, words(&["clean", "-ffdxq"]), likeness::question(true)];
        let differences = self.real_differences(repo, &self.gits(repo, &gits)?)?;
        if differences.is_empty() { Ok(()) } else { Err(self.differs(&differences)) }
    }

    fn differs(&self, differences: &[likeness::Difference]) -> RoomError {
        let mut named: Vec<String> = differences.iter().take(5).map(ToString::to_string).collect();
        if differences.len() > named.len() {
            named.push(format!("and {} more", differences.len() - named.len()));
        }
        RoomError::Differs { room: self.path().to_owned(), tree: self.tree.clone(), what: named.join(", ") }
    }

    /// Runs gits on this room, each after the success of the one before, in one box: they may write the room and its own
    /// administrative folder, nothing else, because the repository's configuration may name filter programs that
    /// somebody planted. Returns what they all wrote on standard output.
    fn gits(&self, repo: &Repo, gits: &[Vec<OsString>]) -> Result<Vec<u8>, RoomError> {
        self.gits_reading(repo, gits, Vec::new())
    }

    /// The same; the first one reads `input`.
    fn gits_reading(&self, repo: &Repo, gits: &[Vec<OsString>], mut input: Vec<u8>) -> Result<Vec<u8>, RoomError> {
        let host = repo.host();
        let git = Git::new(host, self.path())
            .env("GIT_DIR", self.slot.admin())
            .env("GIT_WORK_TREE", self.path())
            .env("GIT_NO_LAZY_FETCH", "1");
        let line = |own: &Vec<OsString>| WHOLE_TREE.iter().map(OsString::from).chain(own.iter().cloned()).collect();
        let lines: Vec<Vec<OsString>> = gits.iter().map(line).collect();
        let failed = |turn: usize, ending: String, said: String| RoomError::Checkout {
            command: format!("git {}", in_words(gits.get(turn))),
            ending,
            room: self.path().to_owned(),
            said,
        };
        if !host.helper.is_file() {
            let mut all = Vec::new();
            for (turn, line) in lines.iter().enumerate() {
                let output = git.clone().stdin(std::mem::take(&mut input)).run_unchecked(line)?;
                if output.code != Some(0) {
                    let ending = output.code.map_or("was killed".to_owned(), |c| format!("exited with code {c}"));
                    return Err(failed(turn, ending, output.said()));
                }
                all.extend(output.stdout);
            }
            return Ok(all);
        }
        let mut lines = lines.into_iter().map(|line| git.argv(line));
        let write = vec![self.path().to_owned(), self.slot.admin().to_owned()];
        let launch = Launch {
            argv: lines.next().unwrap_or_default(),
            cwd: self.path().to_owned(),
            env: git.environment(),
            stdin: input,
            log: self.slot.log(),
            capture: LARGEST_ANSWER,
            limits: Limits::within(GIT_LIMIT),
            profile: Profile { network: Network::Off, unix_sockets: false, ..Profile::checks(write) },
        };
        let ended = run_in_turn(host, &launch, &lines.collect::<Vec<_>>());
        if !ended.ending.is_success() || ended.turn + 1 < gits.len() {
            return Err(failed(ended.turn, ended.ending.sentence(), end_of(&self.slot.log())));
        }
        if ended.stdout_total > LARGEST_ANSWER {
            let said = format!("its answer of {} bytes is too long", ended.stdout_total);
            return Err(failed(ended.turn, "succeeded".to_owned(), said));
        }
        Ok(ended.stdout)
    }
}

fn words(of: &[&str]) -> Vec<OsString> {
    of.iter().map(OsString::from).collect()
}

/// A command line for people.
fn in_words(git: Option<&Vec<OsString>>) -> String {
    let words: Vec<String> = git.into_iter().flatten().map(|word| escape(word.as_bytes())).collect();
    words.join(" ")
}

/// Where the rooms of a repository are: in the user's cache folder, under a digest of the shared git directory.
///
/// Never inside the repository: node, cargo, pytest and others look for packages and settings in every folder above, and
/// would find the user's checkout there (ADR 8).
pub fn pool(repo: &Repo) -> PathBuf {
    let key = digest(repo.common_dir().as_os_str().as_bytes());
    cache_folder(repo.host()).join("rooms").join(&key[..16])
}

/// Our own folder among the user's caches.
pub(super) fn cache_folder(host: &Host) -> PathBuf {
    let set = |name| {
        host.env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(|| host.scratch.join("countersign-cache")).join("countersign")
}

/// Deletes the files of retired rooms. Removal itself only moves them, so that nobody waits for it.
///
/// # Errors
/// A file cannot be deleted; the rest stays for the next time.
pub fn sweep(repo: &Repo) -> Result<(), RoomError> {
    slot::sweep(repo, &pool(repo))
}

/// The last words of a log on one line, escaped.
fn end_of(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = escape(&bytes[bytes.len().saturating_sub(400)..]).replace("\\x0a", " ");
    let text = text.trim();
    if text.is_empty() { "it said nothing".to_owned() } else { text.to_owned() }
}
