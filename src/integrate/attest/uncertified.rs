//! Ranges of a branch that nobody certified (RULINGS 23): opened by a landing without verification or over a verdict,
//! carried by every later note, cleared only by a verification whose diff starts at or before the range.

use super::envelope::parse_bundle;
use super::landing::Landing;
use super::{LANDING, notes_ref};
use crate::host::git::{GitError, Notes, Repo};
use crate::host::ids::CommitId;
use crate::integrate::land::LandingRecord;
use crate::integrate::uncertified::without_closed;
use crate::verdict::{Warrant, WarrantOrigin};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many commits back the last note is looked for.
const FURTHEST: usize = 5_000;

/// A range that nobody certified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uncertified {
    /// The commit before it.
    pub from: CommitId,
    /// Its last commit.
    pub to: CommitId,
    /// `no-verify` or `override`.
    pub why: String,
    /// The task it landed with.
    pub task: String,
}

/// The ranges that are open after this landing: those of the last note before it, without those that this warrant's diff
/// covers, and its own.
pub(super) fn carried(repo: &Repo, warrant: &Warrant, record: &LandingRecord) -> Result<Vec<Uncertified>, GitError> {
    let mut open = Vec::new();
    let clears = warrant.origin() == WarrantOrigin::Verified;
    for range in without_closed(repo, last_ranges(repo, &record.parent)?)? {
        if !(clears && repo.is_ancestor(warrant.base(), &range.from)?) {
            open.push(range);
        }
    }
    let why = match warrant.origin() {
        WarrantOrigin::Unverified => "no-verify",
        WarrantOrigin::Override => "override",
        WarrantOrigin::Verified | WarrantOrigin::Skipped => return Ok(open),
    };
    let (to, task) = (record.commit.clone(), record.task.clone());
    open.push(Uncertified { from: record.parent.clone(), to, why: why.to_owned(), task });
    Ok(open)
}

/// What the last note at or before a commit carries.
pub(in crate::integrate) fn last_ranges(repo: &Repo, from: &CommitId) -> Result<Vec<Uncertified>, GitError> {
    let notes = Notes::open(repo, &notes_ref()?)?;
    if notes.tip().is_none() {
        return Ok(Vec::new());
    }
    let mut next = Some(from.clone());
    for _ in 0..FURTHEST {
        let Some(commit) = next else { break };
        if let Some(note) = notes.get(&commit)?
            && let Some(landing) = landing_in(&note, &commit)
        {
            return Ok(landing.uncertified);
        }
        next = repo.parents_of(&commit)?.0.into_iter().next();
    }
    Ok(Vec::new())
}

/// The landing that a note says its own commit is. Whether to believe it is the caller's business.
pub fn landing_in(note: &[u8], commit: &CommitId) -> Option<Landing> {
    let statements = parse_bundle(note).0.into_iter().filter_map(|envelope| envelope.statement().ok());
    let ours = statements.filter(|statement| statement.predicate_type == LANDING);
    let mut landings = ours.filter_map(|statement| serde_json::from_value::<Landing>(statement.predicate).ok());
    landings.rfind(|landing| landing.commit == *commit)
}
