//! What is to be judged: which worktree, which task, measured against what.
//!
//! A task inside the judged repository is read at the base commit, never from the claim; only what comes from outside
//! every worktree, or from standard input, is the user's own word (RULINGS 2).

use super::{TaskWord, VerifyError, VerifyRequest, WorkWord};
use crate::claim::{Base, check_history, settle_base};
use crate::host::Host;
use crate::host::git::{EntryKind, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape, plain};
use crate::task::board::{Board, BoardFile};
use crate::task::dependency::{Found, Rule};
use crate::task::layout::{Folder, Layout};
use crate::task::{Task, TaskId, read_markdown};
use std::fs;
use std::path::{Path, PathBuf};

/// A task file larger than this is refused.
const LARGEST_TASK: u64 = 4 << 20;

/// Everything settled before the work is frozen.
#[derive(Debug)]
pub(super) struct Asked {
    /// The repository, seen from the judged worktree.
    pub(super) repo: Repo,
    /// What the claim is measured against.
    pub(super) base: Base,
    /// The base's tree.
    pub(super) base_tree: TreeId,
    /// The commit to judge, when it is not the worktree.
    pub(super) commit: Option<CommitId>,
    /// The project's layout at the base.
    pub(super) layout: Option<Layout>,
    /// The task; none: the change is judged by the floor alone.
    pub(super) task: Option<AskedTask>,
}

/// The task and where it was read.
#[derive(Debug)]
pub(super) struct AskedTask {
    pub(super) task: Task,
    /// `base:<path>` or `given:<what>`.
    pub(super) source: String,
    /// Its path in the repository.
    pub(super) path: Option<RepoPath>,
    /// How it was inferred, if it was.
    pub(super) inferred: Option<String>,
}

/// Settles the worktree, the base and the task.
pub(super) fn settle(request: &VerifyRequest, host: &Host) -> Result<Asked, VerifyError> {
    let repo = open_worktree(request, host)?;
    let named = request.base.as_deref();
    let commit = match &request.work {
        WorkWord::Commit(rev) => {
            Some(repo.resolve(rev)?.ok_or_else(|| VerifyError::NoSuchClaim { rev: escape(rev.as_bytes()) })?)
        }
        WorkWord::Here | WorkWord::Worktree(_) => None,
    };
    let base = settle_base(&repo, named)?;
    check_history(&repo, &base, commit.as_ref())?;
    let base_tree = repo.tree_of(&base.commit)?;
    let (layout, board) = read_board(&repo, &base_tree)?;
    let task = match &request.task {
        TaskWord::None => None,
        TaskWord::Infer => infer_task(&repo, board.as_ref(), &base)?,
        TaskWord::Named(word) => Some(named_task(&repo, &request.start, board.as_ref(), &base_tree, &base, word)?),
        TaskWord::Text(bytes) => Some(AskedTask {
            task: read_markdown(bytes, "-")?,
            source: "given:standard input".to_owned(),
            path: None,
            inferred: None,
        }),
    };
    if let Some(asked) = &task
        && asked.task.bullets.is_empty()
    {
        return Err(VerifyError::NoCriteria { source_name: asked.source.clone() });
    }
    Ok(Asked { repo, base, base_tree, commit, layout, task })
}

/// The judged worktree: the one that was named; else `.worktrees/<id>` of the named task; else the one around us.
fn open_worktree(request: &VerifyRequest, host: &Host) -> Result<Repo, VerifyError> {
    if let WorkWord::Worktree(folder) = &request.work {
        return Ok(Repo::discover(host, &request.start.join(folder))?);
    }
    let home = Repo::discover(host, &request.start)?;
    let (TaskWord::Named(word), WorkWord::Here) = (&request.task, &request.work) else { return Ok(home) };
    let Ok(id) = TaskId::new(word) else { return Ok(home) };
    for top in tops(&home) {
        let folder = top.join(".worktrees").join(id.as_str());
        // A link could lead anywhere; git makes folders.
        if fs::symlink_metadata(&folder).is_ok_and(|m| m.is_dir()) && folder.join(".git").exists() {
            let repo = home.discover_beside(&folder)?;
            if repo.common_dir() != home.common_dir() {
                return Err(VerifyError::ForeignWorktree { folder, belongs: repo.common_dir().to_owned() });
            }
            return Ok(repo);
        }
    }
    Ok(home)
}

/// This worktree's top and the main worktree's.
fn tops(repo: &Repo) -> Vec<PathBuf> {
    let main = repo.common_dir().parent().filter(|_| repo.common_dir().ends_with(".git")).map(Path::to_owned);
    let mut tops = vec![repo.top().to_owned()];
    tops.extend(main.filter(|main| main != repo.top()));
    tops
}

/// The board as it is in a tree; neither layout nor board where there is none.
pub fn read_board(repo: &Repo, tree: &TreeId) -> Result<(Option<Layout>, Option<Board>), VerifyError> {
    let listed = repo.list(tree, ".agentheim")?;
    let paths: Vec<RepoPath> = listed.iter().map(|(path, _)| path.clone()).collect();
    if crate::task::layout::detect(&paths).map_err(|why| VerifyError::Board(why.into()))?.is_none() {
        return Ok((None, None));
    }
    let wanted = Board::task_paths(&paths)?;
    let mut files = Vec::new();
    for (path, entry) in listed.iter().filter(|(path, _)| wanted.binary_search(path).is_ok() || wanted.contains(path)) {
        if let Some(blob) = entry.blob().filter(|_| entry.kind() == EntryKind::File) {
            let (bytes, cut) = repo.blob(&blob, LARGEST_TASK)?;
            if !cut {
                files.push(BoardFile { path: path.clone(), bytes });
            }
        }
    }
    let board = Board::read(&paths, files)?;
    Ok((Some(board.layout), Some(board)))
}

fn infer_task(repo: &Repo, board: Option<&Board>, base: &Base) -> Result<Option<AskedTask>, VerifyError> {
    let Some(board) = board else { return Ok(None) };
    let branch = repo.git().run_unchecked(["symbolic-ref", "--quiet", "HEAD"])?.line();
    let of_branch = branch.strip_prefix("refs/heads/aw/").map(|id| (id.to_owned(), format!("from the branch aw/{id}")));
    let of_folder = worktree_id(repo.top()).map(|id| (id.clone(), format!("from the worktree .worktrees/{id}")));
    if let Some((id, how)) = of_branch.or(of_folder) {
        let mut asked = task_of_board(board, &id, base)?;
        asked.inferred = Some(escape(how.as_bytes()));
        return Ok(Some(asked));
    }
    // A task in `doing` that has no worktree of its own is worked on in the one around us.
    let own = |id: &str| tops(repo).iter().any(|top| top.join(".worktrees").join(id).exists());
    let doing: Vec<&str> = board
        .in_folder(Folder::Doing)
        .filter_map(|listed| listed.outcome.task().ok()?.id.as_ref().map(TaskId::as_str))
        .filter(|id| !own(id))
        .collect();
    match doing[..] {
        [id] => {
            let mut asked = task_of_board(board, id, base)?;
            asked.inferred = Some("the only task in doing without a worktree of its own".to_owned());
            Ok(Some(asked))
        }
        _ => Ok(None),
    }
}

fn worktree_id(top: &Path) -> Option<String> {
    let inside = top.parent()?.file_name()? == ".worktrees";
    let name = top.file_name()?.to_str()?;
    (inside && TaskId::new(name).is_ok()).then(|| name.to_owned())
}

fn named_task(
    repo: &Repo,
    start: &Path,
    board: Option<&Board>,
    base_tree: &TreeId,
    base: &Base,
    word: &str,
) -> Result<AskedTask, VerifyError> {
    let as_path = start.join(word);
    let looks_like_a_file = word.contains('/') || word.to_ascii_lowercase().ends_with(".md") || as_path.is_file();
    if !looks_like_a_file {
        let board = board.ok_or_else(|| VerifyError::NoSuchTask {
            word: escape(word.as_bytes()),
            why: format!("there is no task board at the base {}", base.commit.short()),
        })?;
        return task_of_board(board, word, base);
    }
    match inside_any_worktree(repo, &as_path) {
        Some(path) => task_at_base(repo, base_tree, base, path),
        None => task_from_outside(&as_path, word),
    }
}

fn task_of_board(board: &Board, id: &str, base: &Base) -> Result<AskedTask, VerifyError> {
    let refused = |why: String| VerifyError::NoSuchTask { word: escape(id.as_bytes()), why };
    TaskId::new(id).map_err(|why| refused(why.to_string()))?;
    match board.find(id).map_err(|why| refused(why.to_string()))? {
        Found::One(listed, rule) => {
            let task = listed.outcome.task().map_err(|why| refused(why.to_string()))?.clone();
            let by = if rule == Rule::FileName { " (by its file name)" } else { "" };
            Ok(AskedTask {
                task,
                source: format!("base:{}{by}", listed.path),
                path: Some(listed.path.clone()),
                inferred: None,
            })
        }
        Found::None => Err(refused(format!(
            "the board at the base {} has no such task; `countersign board list` shows what it has",
            base.commit.short()
        ))),
    }
}

/// The path of a file inside the repository, seen from whichever of its worktrees holds it: by its words, or by where
/// its folder really is. By its words first: a worker may have put a link to elsewhere in the place of the folder, or
/// taken it away, and the task is still the base's.
fn inside_any_worktree(repo: &Repo, file: &Path) -> Option<RepoPath> {
    let written = plain(file);
    // The last part is never resolved: the file itself may be gone, or be a link.
    let real = real_folder(written.parent()?).join(written.file_name()?);
    let tops: Vec<PathBuf> =
        tops(repo).into_iter().flat_map(|top| [top.canonicalize().ok(), Some(top)]).flatten().collect();
    let under = |path: &Path| tops.iter().find_map(|top| path.strip_prefix(top).ok().map(Path::to_owned));
    let found = under(&written).or_else(|| under(&real))?;
    Some(RepoPath::from_bytes(found.as_os_str().as_encoded_bytes()))
}

/// Where a folder really is, as far as it is there.
fn real_folder(folder: &Path) -> PathBuf {
    let there = folder.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match there {
        Some((above, real)) => folder.strip_prefix(above).map_or(real.clone(), |rest| real.join(rest)),
        None => folder.to_owned(),
    }
}

fn task_at_base(repo: &Repo, base_tree: &TreeId, base: &Base, path: RepoPath) -> Result<AskedTask, VerifyError> {
    let Some(bytes) = repo.file(base_tree, &path, LARGEST_TASK + 1)? else {
        return Err(VerifyError::NotAtBase { path: path.to_string(), base: base.commit.short().to_owned() });
    };
    let task = read_markdown(&bytes, &path.to_string())?;
    Ok(AskedTask { task, source: format!("base:{path}"), path: Some(path), inferred: None })
}

fn task_from_outside(file: &Path, word: &str) -> Result<AskedTask, VerifyError> {
    let name = escape(word.as_bytes());
    let unreadable = |why: std::io::Error| VerifyError::NoSuchTask { word: name.clone(), why: why.to_string() };
    let size = fs::metadata(file).map_err(unreadable)?.len();
    if size > LARGEST_TASK {
        return Err(VerifyError::NoSuchTask {
            word: name,
            why: format!("it has {size} bytes; a task has at most {LARGEST_TASK}"),
        });
    }
    let bytes = fs::read(file).map_err(unreadable)?;
    Ok(AskedTask { task: read_markdown(&bytes, &name)?, source: format!("given:{name}"), path: None, inferred: None })
}
