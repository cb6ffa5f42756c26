//! The witness: what is there now, and what differs from the start, read by us and by nobody's word.

mod files;
mod remote;

pub use files::{Counted, FileNow, Holds, Place};
pub use remote::{Pulls, RemoteNow, Url, urls};

use crate::host::Host;
use crate::host::git::{Change, GitError, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::worker::{Assertion, AssertionKind};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many commits since the start are looked at.
const MOST_COMMITS: usize = 1000;

/// One commit since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitSeen {
    /// Its id.
    pub id: CommitId,
    /// True if its tree is its first parent's: it changes nothing.
    pub empty: bool,
}

/// A commit that an assertion names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedCommit {
    /// There is no such commit, or the name fits several.
    Absent,
    /// It is there.
    Present {
        /// The full id.
        id: CommitId,
        /// True if it is among the commits since the start.
        since_start: bool,
        /// True if it changes nothing.
        empty: bool,
    },
}

/// Whether a service answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceNow {
    /// It answered.
    Answers {
        /// The status.
        status: u16,
        /// The body, or its start.
        body: String,
    },
    /// It did not.
    Silent {
        /// Why not.
        why: String,
    },
    /// It was not asked: only this machine is.
    NotAsked,
}

/// What is there now. Plain data, so that the reconciliation is a pure function.
#[derive(Debug, Clone)]
pub struct Witness {
    /// The tops of the worktree, as it may be written: real and as given.
    pub tops: Vec<PathBuf>,
    /// The user's home, for paths that begin with `~`.
    pub home: Option<PathBuf>,
    /// The commit at the start.
    pub start: CommitId,
    /// The rule that chose it.
    pub start_rule: String,
    /// The tree at the start.
    pub start_tree: TreeId,
    /// The tree now, uncommitted work included.
    pub tree: TreeId,
    /// Every path that differs.
    pub changed: Vec<Change>,
    /// When the changed files were last written, in milliseconds since 1970 UTC.
    pub touched: BTreeMap<RepoPath, i64>,
    /// HEAD; none on an unborn branch.
    pub head: Option<CommitId>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// The commits since the start, newest first.
    pub commits: Vec<CommitSeen>,
    /// Changed paths that are not committed.
    pub uncommitted: Vec<RepoPath>,
    /// The paths that assertions name, by the words they use.
    pub files: BTreeMap<String, FileNow>,
    /// The commits that assertions name.
    pub named: BTreeMap<String, NamedCommit>,
    /// True if the addresses of the remotes were recorded before the work, so that a later change of them has no say.
    pub recorded: bool,
    /// The branches that assertions say were pushed, at their remote.
    pub remotes: BTreeMap<String, RemoteNow>,
    /// The pull requests of the branch.
    pub pulls: Option<Pulls>,
    /// The services that assertions name.
    pub services: BTreeMap<String, ServiceNow>,
    /// Lists of items, by the assertion that counts them.
    pub counts: BTreeMap<String, Counted>,
    /// Names that are installed, and where.
    pub installed: BTreeMap<String, Option<String>>,
}

/// The work that is looked at.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The repository, seen from the worktree.
    pub repo: &'a Repo,
    /// The commit at the start, and the rule that chose it.
    pub start: (&'a CommitId, &'a str),
    /// The tree at the start and now.
    pub trees: (&'a TreeId, &'a TreeId),
    /// Every path that differs.
    pub changed: &'a [Change],
    /// Where the worktree is, as the user wrote it.
    pub given_top: Option<PathBuf>,
    /// The addresses of the remotes at the start, where somebody recorded them; else those of now.
    pub urls: Option<&'a [Url]>,
}

/// Looks at everything that these assertions are about.
///
/// # Errors
/// Git cannot answer about the repository itself. What cannot be found out about one assertion is part of the result.
pub fn look(scene: &Scene<'_>, assertions: &[Assertion]) -> Result<Witness, GitError> {
    let repo = scene.repo;
    let (start, tree) = (scene.start.0, scene.trees.1);
    let head = repo.resolve("HEAD")?;
    let commits = commits(repo, start, head.as_ref())?;
    let uncommitted = match &head {
        Some(head) => repo.changes(&repo.tree_of(head)?, tree)?.into_iter().map(|change| change.path).collect(),
        None => scene.changed.iter().map(|change| change.path.clone()).collect(),
    };
    let mut witness = Witness {
        tops: [Some(repo.top().to_owned()), repo.top().canonicalize().ok(), scene.given_top.clone()]
            .into_iter()
            .flatten()
            .collect(),
        home: home(repo.host()),
        start: start.clone(),
        start_rule: scene.start.1.to_owned(),
        start_tree: scene.trees.0.clone(),
        tree: tree.clone(),
        changed: scene.changed.to_vec(),
        touched: files::touched(repo, scene.changed),
        branch: repo.current_branch()?,
        head,
        commits,
        uncommitted,
        files: BTreeMap::new(),
        named: BTreeMap::new(),
        recorded: scene.urls.is_some(),
        remotes: BTreeMap::new(),
        pulls: None,
        services: BTreeMap::new(),
        counts: BTreeMap::new(),
        installed: BTreeMap::new(),
    };
    for assertion in assertions {
        look_for(scene, assertion, &mut witness)?;
    }
    Ok(witness)
}

fn home(host: &Host) -> Option<PathBuf> {
    host.env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn look_for(scene: &Scene<'_>, assertion: &Assertion, witness: &mut Witness) -> Result<(), GitError> {
    let repo = scene.repo;
    let subject = &assertion.subject;
    let expected = &assertion.expected;
    let mut paths: Vec<&String> = expected.only.iter().chain(&expected.artifact).chain(&expected.same_as).collect();
    match assertion.kind {
        AssertionKind::FileWritten | AssertionKind::NotChanged if !subject.is_empty() => paths.push(subject),
        AssertionKind::Deployed if !subject.contains("://") && !subject.is_empty() => paths.push(subject),
        AssertionKind::CommitExists if !subject.is_empty() => {
            let named = named_commit(repo, subject, &witness.commits)?;
            witness.named.insert(subject.clone(), named);
        }
        AssertionKind::BranchPushed | AssertionKind::PrOpened => {
            let branch = if assertion.kind == AssertionKind::BranchPushed { subject.as_str() } else { "" };
            let branch = Some(branch.to_owned()).filter(|b| !b.is_empty()).or_else(|| witness.branch.clone());
            let Some(branch) = branch else { return Ok(()) };
            if assertion.kind == AssertionKind::PrOpened {
                witness.pulls = Some(remote::pulls(repo, &branch));
            } else if !witness.remotes.contains_key(subject) {
                let now = remote::look(repo, &branch, scene.urls)?;
                witness.remotes.insert(subject.clone(), now);
            }
        }
        AssertionKind::Deployed => {
            let now = remote::service(subject);
            witness.services.insert(subject.clone(), now);
        }
        AssertionKind::ItemCount => {
            let counted = files::count(scene, witness, assertion)?;
            witness.counts.insert(assertion.id.clone(), counted);
        }
        AssertionKind::Installed => {
            let place = files::installed(repo, witness.home.as_deref(), subject);
            witness.installed.insert(subject.clone(), place);
        }
        _ => {}
    }
    for path in paths {
        if !witness.files.contains_key(path) {
            let now = files::look(scene, witness, path, expected.contains.as_deref())?;
            witness.files.insert(path.clone(), now);
        }
    }
    if let (Some(other), Some(now)) = (&expected.same_as, witness.files.get(subject).cloned()) {
        let same = files::same(&now, witness.files.get(other));
        witness.files.insert(subject.clone(), FileNow { same_as_other: same, ..now });
    }
    Ok(())
}

fn commits(repo: &Repo, start: &CommitId, head: Option<&CommitId>) -> Result<Vec<CommitSeen>, GitError> {
    let Some(head) = head else { return Ok(Vec::new()) };
    let range = format!("{start}..{head}");
    let limit = format!("--max-count={MOST_COMMITS}");
    let output = repo.git().run(["log", "--format=%H", &limit, &range, "--"])?;
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(id) = CommitId::new(line) else { continue };
        let empty = is_empty(repo, &id)?;
        found.push(CommitSeen { id, empty });
    }
    Ok(found)
}

fn is_empty(repo: &Repo, id: &CommitId) -> Result<bool, GitError> {
    let (parents, _) = repo.parents_of(id)?;
    match parents.first() {
        // The history of a shallow clone ends somewhere; a commit there is not empty.
        Some(parent) => Ok(repo.tree_of(parent).is_ok_and(|tree| repo.tree_of(id).is_ok_and(|own| own == tree))),
        None => Ok(false),
    }
}

fn named_commit(repo: &Repo, name: &str, since: &[CommitSeen]) -> Result<NamedCommit, GitError> {
    let hex = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(id) = (if hex { repo.resolve(name)? } else { None }) else { return Ok(NamedCommit::Absent) };
    let seen = since.iter().find(|commit| commit.id == id);
    let empty = match seen {
        Some(seen) => seen.empty,
        None => is_empty(repo, &id)?,
    };
    Ok(NamedCommit::Present { since_start: seen.is_some(), id, empty })
}
