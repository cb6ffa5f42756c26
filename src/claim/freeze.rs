//! The snapshot: committed, staged, unstaged and untracked work becomes one tree, and nothing of the user's moves.
//!
//! The recipe is git's own definition of "what would be committed": copy the index, `git add -A` into the copy,
//! `git write-tree`. New objects go to a quarantine first, so that refused work never enters the object store. The
//! snapshot's git runs in the box: a worker may have planted filters that `add` would execute.

use super::quarantine::{self, Quarantine, said};
use super::sightings::{self, Listings};
use super::{Claim, Sighting, SightingKind};
use crate::host::git::{Change, ChangeKind, Git, GitError, RefMove, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::host::sandbox::Level;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More than this many bytes are no tree's id.
const LARGEST_ID: u64 = 1 << 10;

/// More nested repositories than this are not asked whether they have a commit.
const MOST_UNBORN: usize = 100;

/// Why work could not be frozen. All of it is the environment's fault, never the worker's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FreezeError {
    /// `git add` could not read the worktree.
    #[error("cannot freeze {tree}: git add ended {ending}: {said}; nothing was changed and the worktree is as it was; mend that and run it again", tree = tree.display())]
    Unreadable {
        /// The worktree.
        tree: PathBuf,
        /// How it ended.
        ending: String,
        /// The end of what it said.
        said: String,
    },
    /// A folder that cannot be looked into.
    #[error("cannot freeze the work: {path} cannot be read: {why}; nothing was changed; make it readable, or move it away", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// A claim's reference was created by somebody else again and again.
    #[error("cannot create {name}: another process keeps creating claims of this case; run it again")]
    Raced {
        /// The reference.
        name: String,
    },
    /// A task key that cannot be a reference.
    #[error("cannot name a claim {name}: git does not allow that reference")]
    BadName {
        /// The name, escaped.
        name: String,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// A frozen tree that is not yet a claim: its new objects are still in quarantine.
#[derive(Debug)]
pub struct Frozen {
    /// What it is measured against.
    pub base: CommitId,
    /// The base's tree.
    pub base_tree: TreeId,
    /// The frozen tree.
    pub tree: TreeId,
    /// Every changed path.
    pub changed: Vec<Change>,
    /// Places where work can hide.
    pub sightings: Vec<Sighting>,
    /// What the box enforced around the snapshot; none when a commit was given.
    pub level: Option<Level>,
    /// The commit, when it was given as one.
    given: Option<CommitId>,
    quarantine: Option<Quarantine>,
}

/// Freezes the worktree of `repo` as it is now, measured against `base`.
///
/// # Errors
/// See [`FreezeError`].
pub fn freeze_worktree(repo: &Repo, base: &CommitId) -> Result<Frozen, FreezeError> {
    let quarantine = Quarantine::open(repo)?;
    quarantine.copy_index(repo)?;
    // What does not depend on each other runs side by side: some listings beside `add`, the last one beside the diff.
    let mut listings = Listings::start(repo)?;
    let Added { mut tree, level, unborn } = add_everything(repo, &quarantine)?;
    repo.enter_quarantine(quarantine.objects())?;
    let base_tree = repo.tree_of(base)?;
    let changes = repo.start_changes(&base_tree, &tree)?;
    listings.start_flags(repo, &quarantine)?;
    let mut changed = changes.finish()?;
    let mut sightings: Vec<Sighting> = unborn.into_iter().map(unborn_repository).collect();
    let phantoms = untouched_but_changed(repo, &changed)?;
    if !phantoms.is_empty() {
        tree = put_back(repo, &quarantine, &phantoms)?;
        changed = repo.changes(&base_tree, &tree)?;
        sightings.extend(phantoms.into_iter().map(|change| Sighting {
            kind: SightingKind::LineEndings,
            path: Some(change.path),
            detail: "line endings not normalised at the base: git would rewrite it on any commit; nobody edited it, so it is left out"
                .to_owned(),
        }));
    }
    sightings.extend(sightings::look_around(repo, base, (&base_tree, &tree), &changed, &quarantine, listings)?);
    Ok(Frozen {
        base: base.clone(),
        base_tree,
        tree,
        changed,
        sightings,
        level: Some(level),
        given: None,
        quarantine: Some(quarantine),
    })
}

fn unborn_repository(path: RepoPath) -> Sighting {
    let detail = "nested git repository without a commit: git can add neither a pointer nor its files, so nothing of it is in the claim";
    Sighting { kind: SightingKind::NestedRepository, path: Some(path), detail: detail.to_owned() }
}

/// Takes a commit as the finished work.
///
/// # Errors
/// See [`FreezeError`].
pub fn freeze_commit(repo: &Repo, base: &CommitId, commit: &CommitId) -> Result<Frozen, FreezeError> {
    let (base_tree, tree) = (repo.tree_of(base)?, repo.tree_of(commit)?);
    let changed = repo.changes(&base_tree, &tree)?;
    let sightings = sightings::look_at_commit(repo, base, commit, &tree, &changed)?;
    let given = Some(commit.clone());
    Ok(Frozen { base: base.clone(), base_tree, tree, changed, sightings, level: None, given, quarantine: None })
}

impl Frozen {
    /// Makes the work a claim: objects leave the quarantine, a commit is made, and with a `number`
    /// `refs/countersign/claims/<key>/<number>` keeps it from garbage collection. This alone is already a salvage.
    ///
    /// The commit has a fixed identity and the base's time: the same work has the same id, whoever freezes it.
    ///
    /// # Errors
    /// See [`FreezeError`].
    pub fn keep(self, repo: &Repo, key: &str, number: Option<u32>) -> Result<Claim, FreezeError> {
        if let Some(quarantine) = self.quarantine {
            quarantine.release(repo)?;
            repo.leave_quarantine();
        }
        let commit = if let Some(commit) = self.given {
            commit
        } else {
            let (_, time) = repo.parents_of(&self.base)?;
            let message =
                format!("claim {key}\n\nFrozen by countersign; the change is the difference to its parent.\n");
            repo.write_commit(&self.tree, std::slice::from_ref(&self.base), time, &message)?
        };
        let name = number.map(|number| create_claim_ref(repo, key, number, &commit)).transpose()?;
        Ok(Claim {
            name,
            commit: Some(commit),
            tree: self.tree,
            base: self.base,
            base_tree: self.base_tree,
            changed: self.changed,
        })
    }

    /// The work as it would be judged, without making it a commit.
    pub fn preview(&self) -> Claim {
        Claim {
            name: None,
            commit: self.given.clone(),
            tree: self.tree.clone(),
            base: self.base.clone(),
            base_tree: self.base_tree.clone(),
            changed: self.changed.clone(),
        }
    }
}

fn create_claim_ref(repo: &Repo, key: &str, number: u32, commit: &CommitId) -> Result<String, FreezeError> {
    let name = format!("refs/countersign/claims/{key}/{number}");
    let name = RefName::new(&name).map_err(|name| FreezeError::BadName { name: escape(name.as_bytes()) })?;
    if repo.move_ref(&name, commit, None)? == RefMove::Raced && repo.read_ref(&name)?.as_ref() != Some(commit) {
        return Err(FreezeError::Raced { name: name.to_string() });
    }
    Ok(name.as_str().to_owned())
}

/// What `git add` made of the worktree.
struct Added {
    tree: TreeId,
    level: Level,
    /// Repositories without a commit, which git cannot add.
    unborn: Vec<RepoPath>,
}

/// `git add` and `git write-tree`, in one box. Git adds nothing at all beside a repository without a commit, so where it
/// fails such ones are looked for and left out.
fn add_everything(repo: &Repo, quarantine: &Quarantine) -> Result<Added, FreezeError> {
    let others = unignored(repo, linked_worktrees(repo))?;
    let mut unborn = Vec::new();
    let mut ended = quarantine.run_in_box(repo, &[add_all_but(&others), write_tree()], Vec::new(), LARGEST_ID);
    if ended.turn == 0 {
        unborn = unborn_repositories(repo, &others)?;
        if !unborn.is_empty() {
            let places: Vec<PathBuf> = others.iter().chain(&unborn).cloned().collect();
            ended = quarantine.run_in_box(repo, &[add_all_but(&places), write_tree()], Vec::new(), LARGEST_ID);
        }
    }
    if ended.turn == 0 {
        let (ending, said) = (ended.ending.sentence(), said(&ended));
        return Err(FreezeError::Unreadable { tree: repo.top().to_owned(), ending, said });
    }
    let tree = tree_id(&quarantine::answer(repo, "write-tree", &ended, LARGEST_ID)?)?;
    // Git only warns about a folder it cannot open, and leaves out what is inside: any word beside the tree's id is
    // reason to look.
    if ended.log.bytes_total != ended.stdout_total {
        all_readable(repo)?;
    }
    let unborn = unborn.iter().map(|path| RepoPath::from_bytes(path.as_os_str().as_bytes())).collect();
    Ok(Added { tree, level: ended.level, unborn })
}

fn add_all_but(places: &[PathBuf]) -> Vec<OsString> {
    // core.sharedRepository: the box refuses chmod, and the quarantine is ours alone.
    // --sparse: new files outside a sparse cone are work too; absent files there are not deletions.
    let mut words: Vec<OsString> =
        ["-c", "core.sharedRepository=umask", "add", "-A", "--sparse", "--", ":/"].map(OsString::from).into();
    words.extend(places.iter().map(|inside| {
        let mut pathspec = OsString::from(":(top,exclude,literal)");
        pathspec.push(inside);
        pathspec
    }));
    words
}

/// Repositories inside the worktree whose HEAD names no commit, relative to its top: not ignored, not another worktree,
/// and without an entry of the index in them (git looks into such a folder as into any other).
fn unborn_repositories(repo: &Repo, others: &[PathBuf]) -> Result<Vec<PathBuf>, FreezeError> {
    let walk = walkdir::WalkDir::new(repo.top()).min_depth(1).into_iter();
    let inside = |path: &Path| path.strip_prefix(repo.top()).map(Path::to_owned).ok();
    let found: Vec<PathBuf> = walk
        .filter_entry(|e| e.file_name() != ".git" && inside(e.path()).is_none_or(|path| !others.contains(&path)))
        .filter_map(Result::ok)
        .filter(|e| e.file_type().is_dir() && e.path().join(".git").symlink_metadata().is_ok())
        .filter_map(|e| inside(e.path()))
        .collect();
    let mut unborn = Vec::new();
    for path in unignored(repo, found)?.into_iter().take(MOST_UNBORN) {
        if unborn.iter().any(|outer| path.starts_with(outer)) {
            continue;
        }
        let words = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsStr::new);
        let known = repo.git().run(words.into_iter().chain([path.as_os_str()]))?;
        let head = Git::new(repo.host(), &repo.top().join(&path)).run_unchecked([
            "rev-parse",
            "--verify",
            "--quiet",
            "HEAD^{commit}",
        ])?;
        if known.stdout.is_empty() && !head.success() {
            unborn.push(path);
        }
    }
    Ok(unborn)
}

fn write_tree() -> Vec<OsString> {
    vec!["write-tree".into()]
}

fn tree_id(answer: &[u8]) -> Result<TreeId, FreezeError> {
    TreeId::new(String::from_utf8_lossy(answer.trim_ascii_end()).as_ref())
        .map_err(|why| GitError::Unreadable { command: "git write-tree".to_owned(), what: why.to_string() }.into())
}

/// Refuses a worktree with a folder that cannot be opened: what it holds is unknown. Folders that are ignored anyway
/// hold nothing that could land.
fn all_readable(repo: &Repo) -> Result<(), FreezeError> {
    let others: Vec<PathBuf> = linked_worktrees(repo).into_iter().map(|inside| repo.top().join(inside)).collect();
    let walk = walkdir::WalkDir::new(repo.top()).into_iter();
    for failed in
        walk.filter_entry(|e| e.file_name() != ".git" && !others.iter().any(|o| o == e.path())).filter_map(Result::err)
    {
        let Some(path) = failed.path().map(Path::to_owned) else { continue };
        let why = std::io::Error::from(failed);
        if why.kind() == ErrorKind::NotFound {
            continue;
        }
        let words = ["check-ignore", "-q", "--"].map(OsStr::new);
        if !repo.git().run_unchecked(words.into_iter().chain([path.as_os_str()]))?.success() {
            return Err(FreezeError::Folder { path, why });
        }
    }
    Ok(())
}

/// Other worktrees of this repository that lie inside this one, relative to its top. Unless somebody ignores them, git
/// would take each for a nested repository; they are somebody else's work, not this one's.
fn linked_worktrees(repo: &Repo) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repo.common_dir().join("worktrees")).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let gitdir = std::fs::read(entry.path().join("gitdir")).ok()?;
            let file = Path::new(OsStr::from_bytes(gitdir.trim_ascii_end()));
            let inside = file.parent()?.strip_prefix(repo.top()).ok()?;
            (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
        })
        .collect()
}

/// Those of these paths that git does not ignore: it refuses to leave out by name what it leaves out anyway.
fn unignored(repo: &Repo, mut paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, FreezeError> {
    if paths.is_empty() {
        return Ok(paths);
    }
    let asked = paths.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect::<Vec<u8>>();
    let answer = repo.git().stdin(asked).run_unchecked(["check-ignore", "-z", "--stdin"])?;
    let ignored: HashSet<&[u8]> = answer.stdout.split(|b| *b == 0).collect();
    paths.retain(|path| !ignored.contains(path.as_os_str().as_bytes()));
    Ok(paths)
}

/// Files that `add` would rewrite although their bytes in the worktree are the base's: attributes demand other line ends
/// than the base has (`git checkout` cannot clear such a path either). Where HEAD or the user's index has another content,
/// somebody put it there: a change that an index flag keeps from being seen on disk is still the work.
fn untouched_but_changed(repo: &Repo, changed: &[Change]) -> Result<Vec<Change>, FreezeError> {
    let mut phantoms = Vec::new();
    for change in
        changed.iter().filter(|c| c.kind == ChangeKind::Modified && c.old_mode == c.new_mode && !c.is_gitlink())
    {
        let on_disk = repo.top().join(change.path.to_path_buf());
        let size = std::fs::symlink_metadata(&on_disk).ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
        // The size alone rules out nearly every real edit before anything is read.
        if size.is_none() || size != repo.blob_size(&change.old).ok() {
            continue;
        }
        let (old, cut) = repo.blob(&change.old, 64 << 20)?;
        if !cut && std::fs::read(&on_disk).is_ok_and(|bytes| bytes == old) && was_never_edited(repo, change)? {
            phantoms.push(change.clone());
        }
    }
    Ok(phantoms)
}

/// True if HEAD has the base's content of this path, and so has the user's index, or no entry for it at all.
fn was_never_edited(repo: &Repo, change: &Change) -> Result<bool, GitError> {
    let Some(head) = repo.resolve("HEAD")? else { return Ok(false) };
    let committed = repo.entry(&repo.tree_of(&head)?, &change.path)?;
    if committed.is_none_or(|entry| entry.id != change.old.as_str()) {
        return Ok(false);
    }
    let name = change.path.to_path_buf();
    let words = ["--literal-pathspecs", "ls-files", "-s", "-z", "--"].map(OsStr::new);
    let staged = repo.git().run(words.into_iter().chain([name.as_os_str()]))?;
    let mut entries = staged.stdout.split(|b| *b == 0).filter(|record| !record.is_empty());
    Ok(entries.all(|record| record.split(|b| *b == b' ').nth(1) == Some(change.old.as_str().as_bytes())))
}

/// Gives these paths their old content in the private index; the tree that this makes.
fn put_back(repo: &Repo, quarantine: &Quarantine, phantoms: &[Change]) -> Result<TreeId, FreezeError> {
    let mut input = Vec::new();
    for change in phantoms {
        input.extend_from_slice(format!("{} {}\t", change.old_mode, change.old).as_bytes());
        input.extend_from_slice(change.path.as_bytes());
        input.push(0);
    }
    let words = ["update-index", "-z", "--index-info"].map(OsString::from).to_vec();
    let ended = quarantine.run_in_box(repo, &[words, write_tree()], input, LARGEST_ID);
    let command = if ended.turn == 0 { "update-index" } else { "write-tree" };
    tree_id(&quarantine::answer(repo, command, &ended, LARGEST_ID)?)
}
