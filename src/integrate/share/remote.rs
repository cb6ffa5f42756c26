//! Fetching and pushing what is shared: compare-and-swap on both sides, never by force.

use super::{Folded, INBOX, LEDGER, fold, merge_ledger, named, news, parcel, take_in};
use crate::host::clock::Timestamp;
use crate::host::digest::digest;
use crate::host::git::{GitError, Notes, RefName, Repo};
use crate::host::ids::CommitId;
use crate::host::path::escape;
use crate::integrate::attest::{NOTES, landing_in, notes_ref};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How often a push is made anew because somebody else's came first.
const TRIES: u32 = 20;

/// More references than this are not taken from an inbox at once.
const MOST_INBOX: usize = 1_000;

/// What was not shared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShareError {
    /// No such remote.
    #[error("there is no remote `{0}` here: name one that `git remote` lists, or a URL")]
    NoRemote(String),
    /// The remote does not take it.
    #[error("{remote} refuses the push, and nothing of it was taken ({}): fetch and merge the branch, or ask for the right to push", refused.join("; "))]
    Refused {
        /// The remote.
        remote: String,
        /// Each reference and git's word about it.
        refused: Vec<String>,
    },
    /// Others kept pushing.
    #[error(
        "{remote} kept moving: {TRIES} pushes were overtaken, and none was forced; run it again, or leave the results in its inbox with --inbox"
    )]
    Overtaken {
        /// The remote.
        remote: String,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What to push beside notes and ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// The branch that is checked out as well, all or nothing.
    WithBranch,
    /// Only the evidence.
    EvidenceOnly,
    /// Only new results, each as a reference of its own that somebody else folds in: for jobs that must not wait.
    Inbox,
}

/// What a fetch brought.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Fetched {
    /// From where.
    pub remote: String,
    /// Results taken from its inbox.
    pub inbox: usize,
    /// True if the remote had notes.
    pub notes: bool,
    /// True if the remote had a ledger.
    pub ledger: bool,
    /// What is still missing here, and the command that brings it.
    pub missing: Vec<String>,
}

/// What a push did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Pushed {
    /// Where to.
    pub remote: String,
    /// The references it has now as they are here.
    pub references: Vec<String>,
    /// Results that are new in the ledger.
    pub added: Vec<String>,
    /// Results that the ledger already has one for, under the same key: that one stands.
    pub stood: Vec<String>,
    /// Inbox references that were folded in and removed.
    pub folded: usize,
    /// What was not shared, and why.
    pub refused: Vec<String>,
    /// How many pushes it took.
    pub tries: u32,
}

/// What a remote has of ours.
#[derive(Debug, Default, PartialEq, Eq)]
struct There {
    notes: Option<CommitId>,
    ledger: Option<CommitId>,
    inbox: BTreeMap<String, CommitId>,
}

/// Fetches notes, ledger and inbox, and merges them without loss. A shallow clone is deepened, because evidence speaks of
/// commits.
///
/// # Errors
/// See [`ShareError`].
pub fn fetch(repo: &Repo, remote: &str, at: Timestamp) -> Result<Fetched, ShareError> {
    let there = bring(repo, remote, at)?;
    let mut fetched = Fetched {
        remote: escape(remote.as_bytes()),
        inbox: there.inbox.len(),
        notes: there.notes.is_some(),
        ledger: there.ledger.is_some(),
        missing: Vec::new(),
    };
    if repo.is_shallow() {
        let deep = repo.git().run_unchecked(["fetch", "--quiet", "--unshallow", "--no-tags", "--", remote])?;
        if !deep.success() {
            let said = deep.said();
            fetched.missing.push(format!("this clone is shallow ({said}): git fetch --unshallow {}", fetched.remote));
        }
    }
    if !fetched.notes && fetched.inbox == 0 {
        fetched.missing.push(format!("{} has no notes: whoever landed has to run `countersign push`", fetched.remote));
    }
    Ok(fetched)
}

/// Brings what the remote has of ours and merges it into what is here.
fn bring(repo: &Repo, remote: &str, at: Timestamp) -> Result<There, ShareError> {
    let there = look(repo, remote)?;
    let own = format!("refs/countersign/remotes/{}", &digest(remote.as_bytes())[..12]);
    let mut specs = Vec::new();
    for (present, name, short) in [(&there.notes, NOTES, "notes"), (&there.ledger, LEDGER, "ledger")] {
        if present.is_some() {
            specs.push(format!("+{name}:{own}/{short}"));
        }
    }
    for name in there.inbox.keys() {
        specs.push(format!("+{name}:{own}/inbox/{}", name.strip_prefix(INBOX).unwrap_or(name)));
    }
    if !specs.is_empty() {
        let plain = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", remote];
        repo.git().run(plain.into_iter().chain(specs.iter().map(String::as_str)))?;
    }
    repo.merge_notes(&notes_ref()?, there.notes.as_ref(), at)?;
    if let Some(ledger) = &there.ledger {
        merge_ledger(repo, ledger, at)?;
    }
    for inbox in there.inbox.values() {
        take_in(repo, inbox, at)?;
    }
    Ok(there)
}

fn look(repo: &Repo, remote: &str) -> Result<There, ShareError> {
    if remote.is_empty() || remote.starts_with('-') {
        return Err(ShareError::NoRemote(escape(remote.as_bytes())));
    }
    let asked = repo.git().run_unchecked(["ls-remote", "--refs", "--", remote, NOTES, LEDGER, &format!("{INBOX}*")])?;
    if !asked.success() {
        let known = repo.git().run_unchecked(["remote", "get-url", "--", remote])?.success();
        if !known && !remote.contains(['/', ':']) {
            return Err(ShareError::NoRemote(escape(remote.as_bytes())));
        }
        return Err(ShareError::Git(GitError::Failed {
            command: format!("git ls-remote {}", escape(remote.as_bytes())),
            ending: format!("exit {}", asked.code.unwrap_or(-1)),
            tree: repo.top().to_owned(),
            said: asked.said(),
        }));
    }
    let mut there = There::default();
    for line in String::from_utf8_lossy(&asked.stdout).lines() {
        let Some((id, name)) = line.split_once('\t') else { continue };
        let Ok(id) = CommitId::new(id) else { continue };
        match name {
            NOTES => there.notes = Some(id),
            LEDGER => there.ledger = Some(id),
            // A stranger's name becomes one of ours.
            _ if name.starts_with(INBOX) && RefName::new(name).is_ok() && there.inbox.len() < MOST_INBOX => {
                there.inbox.insert(name.to_owned(), id);
            }
            _ => {}
        }
    }
    Ok(there)
}

/// Pushes notes, ledger and (unless told otherwise) the branch, in one atomic push. Whoever came first stays first: his
/// results are fetched, merged, and the push is made anew.
///
/// # Errors
/// See [`ShareError`]. The remote is as it was then.
pub fn push(repo: &Repo, remote: &str, sharing: Sharing, at: Timestamp) -> Result<Pushed, ShareError> {
    let mut pushed = Pushed { remote: escape(remote.as_bytes()), ..Pushed::default() };
    let mut there = bring(repo, remote, at)?;
    for tries in 1..=TRIES {
        pushed.tries = tries;
        let new = news(repo, there.notes.as_ref())?;
        let Folded { added, stood, refused } = fold(repo, &new, at)?;
        pushed.added.extend(added);
        pushed.stood.extend(stood.into_iter().filter(|one| !pushed.stood.contains(one)).collect::<Vec<_>>());
        pushed.refused.extend(refused.into_iter().filter(|one| !pushed.refused.contains(one)).collect::<Vec<_>>());
        let specs = match sharing {
            Sharing::Inbox => parcels(repo, &new, &there, at)?,
            Sharing::WithBranch | Sharing::EvidenceOnly => references(repo, sharing)?,
        };
        if specs.is_empty() {
            return Ok(pushed);
        }
        let leased: Vec<(&String, &CommitId)> =
            if sharing == Sharing::Inbox { Vec::new() } else { there.inbox.iter().collect() };
        let mut words: Vec<String> =
            ["push", "--porcelain", "--atomic", "--no-verify", "--no-recurse-submodules"].map(str::to_owned).into();
        words.extend(leased.iter().map(|(name, id)| format!("--force-with-lease={name}:{id}")));
        words.extend(["--".to_owned(), remote.to_owned()]);
        words.extend(specs.iter().map(|(from, to)| format!("{from}:{to}")));
        words.extend(leased.iter().map(|(name, _)| format!(":{name}")));
        let output = repo.git().run_unchecked(&words)?;
        if output.success() {
            pushed.references = specs.into_iter().map(|(_, to)| to).collect();
            pushed.folded = leased.len();
            return Ok(pushed);
        }
        let before = there;
        there = bring(repo, remote, at)?;
        if there == before {
            return Err(ShareError::Refused {
                remote: pushed.remote,
                refused: rejected(&output.stdout, &output.said()),
            });
        }
    }
    Err(ShareError::Overtaken { remote: pushed.remote })
}

/// What is pushed: local name or id, remote name.
fn references(repo: &Repo, sharing: Sharing) -> Result<Vec<(String, String)>, ShareError> {
    let mut specs = Vec::new();
    for name in [NOTES, LEDGER] {
        if repo.read_ref(&named(name)?)?.is_some() {
            specs.push((name.to_owned(), name.to_owned()));
        }
    }
    if sharing == Sharing::WithBranch
        && let Some(branch) = repo.current_branch()?
    {
        let name = format!("refs/heads/{branch}");
        if repo.read_ref(&named(&name)?)?.is_some() {
            specs.push((name.clone(), name));
        }
    }
    Ok(specs)
}

/// New results as references of their own. One that is there already stands.
fn parcels(repo: &Repo, new: &[CommitId], there: &There, at: Timestamp) -> Result<Vec<(String, String)>, ShareError> {
    let notes = Notes::open(repo, &notes_ref()?)?;
    let mut specs = Vec::new();
    for commit in new {
        let Some(landing) = notes.get(commit)?.and_then(|note| landing_in(&note, commit)) else { continue };
        let name = format!("{INBOX}{}/{}", landing.task, landing.key());
        if there.inbox.contains_key(&name) {
            continue;
        }
        if let (Some(made), Ok(name)) = (parcel(repo, &landing, at)?, RefName::new(&name)) {
            specs.push((made.to_string(), name.to_string()));
        }
    }
    Ok(specs)
}

/// The references that git says were rejected, with its word about each.
fn rejected(porcelain: &[u8], said: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(porcelain).into_owned();
    let lines = text.lines().filter_map(|line| line.strip_prefix("!\t"));
    let mut refused: Vec<String> = lines.map(|line| escape(line.replace('\t', " ").as_bytes())).collect();
    if refused.is_empty() {
        refused.push(said.to_owned());
    }
    refused
}
