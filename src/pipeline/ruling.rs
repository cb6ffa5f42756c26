//! A person's ruling on a judged claim: what there is to rule on, and how it is sealed into the case.
//!
//! The ruling is a commit on top of the case with the same ledger, the ruling and the decision that follows from both; the
//! conductor then goes on from it as from any other decision. Nothing here asks who is at the keyboard: the caller proves
//! that, by a terminal or by a signature.

use super::declined::{self, RULINGS};
use super::replay::find_case;
use super::work::journal::{Entry, From, Journal};
use super::{Fault, VerifyError};
use crate::host::Host;
use crate::host::git::{GitError, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::receipts::case::{self, CaseError, Sealed};
use crate::receipts::ruling::{Answer, Point, Proof, RulingRecord, points};
use crate::receipts::{DecisionRecord, Fact, Receipt};
use crate::task::TaskId;
use crate::verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Who may sign, in git's allowed-signers format, at the base.
pub const SIGNERS_FILE: &str = ".agentheim/allowed_signers";
/// A list of signers larger than this is none.
const LARGEST_SIGNERS: u64 = 1 << 20;
/// What a person says may have this many characters.
const LONGEST_WHY: usize = 4_000;

/// Why there is no ruling. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulingError {
    /// No such task.
    #[error("`{0}` is no task id")]
    NoId(String),
    /// Nothing was judged.
    #[error(
        "nothing of {task} was judged: there is no claim to rule on; `countersign resume` goes on with a held task"
    )]
    NothingJudged {
        /// The task.
        task: String,
    },
    /// A process works on it.
    #[error("another process works on {task}: wait until it is held, or stop that process")]
    Busy {
        /// The task.
        task: String,
    },
    /// A finding that is not there.
    #[error("{task} has no finding {id}; it has {known}")]
    NoFinding {
        /// The task.
        task: String,
        /// As typed.
        id: String,
        /// Those it has.
        known: String,
    },
    /// A finding that is a fact.
    #[error(
        "{id} is a fact ({state}), and no question: it cannot be declined; have it mended (approve --finding {id}), or approve the claim in spite of it"
    )]
    Fact {
        /// The finding.
        id: String,
        /// Its state.
        state: &'static str,
    },
    /// Nothing to decline.
    #[error("{task} has no finding that can be declined")]
    NothingToDecline {
        /// The task.
        task: String,
    },
    /// It was judged again meanwhile.
    #[error("{task} was judged or ruled on again meanwhile: look at it and decide again")]
    Moved {
        /// The task.
        task: String,
    },
    /// It has an answer that ended it.
    #[error("{task} landed or was given up already: there is nothing to rule on")]
    Over {
        /// The task.
        task: String,
    },
    /// The work cannot land at all.
    #[error("the work of {task} never became a commit (see `countersign receipts {task}`): it cannot be approved")]
    NoCommit {
        /// The task.
        task: String,
    },
    /// The signature is nobody's.
    #[error(
        "the signature is by nobody whom {SIGNERS_FILE} allows to sign commits at the base {base}: add the key there in a commit of its own (with `git` among its `namespaces`, if it names any), or decide at a terminal"
    )]
    NotAllowed {
        /// The base.
        base: CommitId,
    },
    /// The journal cannot be kept.
    #[error(transparent)]
    Journal(#[from] super::work::journal::JournalError),
    /// The case cannot be sealed or read.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The case, or the repository, cannot be read.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl RulingError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Verify(why) => why.fault(),
            Self::Journal(_) | Self::Case(_) | Self::Git(_) | Self::Moved { .. } => Fault::Environment,
            _ => Fault::Usage,
        }
    }
}

/// What there is to rule on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Pending {
    /// `countersign/decide/1`.
    pub schema: String,
    /// The task.
    pub task: String,
    /// The sealed attempt.
    pub case: CommitId,
    /// The claim's tree.
    pub tree: TreeId,
    /// What was decided.
    pub decision: DecisionRecord,
    /// Its findings, those that were declined already left out.
    pub findings: Vec<Point>,
}

impl Pending {
    /// The name of its schema.
    pub const SCHEMA: &str = "countersign/decide/1";

    /// The newest attempt of a task.
    ///
    /// # Errors
    /// See [`RulingError`].
    pub fn read(start: &Path, task: &str, host: &Host) -> Result<Self, RulingError> {
        let repo = Repo::discover(host, start)?;
        Ok(Subject::of(&repo, task)?.pending)
    }
}

/// A person's answer, as asked for.
#[derive(Debug, Clone)]
pub struct RulingRequest {
    /// What was looked at: another state of the case refuses the ruling.
    pub pending: Pending,
    /// The answer. [`Answer::Mend`] chooses `findings`; [`Answer::Decline`] declines them, all if none is named.
    pub answer: Answer,
    /// Ids of findings.
    pub findings: Vec<String>,
    /// Why; may be empty.
    pub why: String,
    /// What proves that a person answers.
    pub proof: Proof,
}

struct Subject {
    pending: Pending,
    sealed: Sealed,
}

impl Subject {
    fn of(repo: &Repo, task: &str) -> Result<Self, RulingError> {
        let id = TaskId::new(task).map_err(|_| RulingError::NoId(crate::host::path::escape(task.as_bytes())))?;
        let nothing = || RulingError::NothingJudged { task: id.to_string() };
        let sealed = match find_case(repo, id.as_str(), None) {
            Ok(sealed) => sealed,
            Err(VerifyError::NoSuchCase { .. }) => return Err(nothing()),
            Err(why) => return Err(why.into()),
        };
        let receipts = &sealed.attempt.receipts;
        let claim = receipts.iter().find_map(|r| if let Fact::Claim(claim) = &r.fact { Some(claim) } else { None });
        let decided = receipts.iter().find_map(|r| if let Fact::Decided(d) = &r.fact { Some(d) } else { None });
        let (Some(claim), Some(decided)) = (claim, decided) else { return Err(nothing()) };
        let settled: Vec<&Point> = rulings(receipts).flat_map(|ruling| &ruling.declined).collect();
        let open = |point: &Point| !settled.iter().any(|done| done.id == point.id);
        let pending = Pending {
            schema: Pending::SCHEMA.to_owned(),
            task: id.to_string(),
            case: sealed.commit.clone(),
            tree: claim.tree.clone(),
            decision: decided.clone(),
            findings: points(receipts).into_iter().filter(open).collect(),
        };
        Ok(Self { pending, sealed })
    }
}

fn rulings(receipts: &[Receipt]) -> impl Iterator<Item = &RulingRecord> {
    receipts.iter().filter_map(|receipt| match &receipt.fact {
        Fact::Ruling(ruling) => Some(ruling),
        _ => None,
    })
}

/// What came of a ruling.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Ruled {
    /// The task.
    pub task: String,
    /// The case commit that holds it.
    pub case: CommitId,
    /// The ruling.
    pub ruling: RulingRecord,
    /// What is decided now.
    pub decision: DecisionRecord,
    /// True if a conductor works on the task and goes on from here.
    pub conducted: bool,
}

/// Seals a person's ruling into the case, and lets the conductor go on from it.
///
/// # Errors
/// See [`RulingError`]: nothing has changed then.
pub fn rule(request: &RulingRequest, start: &Path, host: &Host) -> Result<Ruled, RulingError> {
    let repo = Repo::discover(host, start)?;
    let task = request.pending.task.clone();
    let id = TaskId::new(&task).map_err(|_| RulingError::NoId(task.clone()))?;
    // Held until the ruling is sealed: nobody judges or lands the task meanwhile.
    let busy = || RulingError::Busy { task: task.clone() };
    let mut journal = Journal::open(&repo.own_dir(), &id)?.ok_or_else(busy)?;
    let subject = Subject::of(&repo, &task)?;
    if subject.pending.case != request.pending.case {
        return Err(RulingError::Moved { task });
    }
    let over = |entry: &Entry| match entry {
        Entry::Landed { .. } => true,
        Entry::Held { code, .. } => code == "discarded",
        _ => false,
    };
    let last_life = journal.entries().iter().rposition(|entry| matches!(entry, Entry::Sent { .. })).unwrap_or(0);
    if journal.entries()[last_life..].iter().any(over) {
        return Err(RulingError::Over { task });
    }
    let ruling = ruling_of(&repo, request, &subject)?;
    let mut receipts = subject.sealed.attempt.receipts.clone();
    receipts.retain(|receipt| !matches!(receipt.fact, Fact::Decided(_)));
    let next = |receipts: &[Receipt]| u32::try_from(receipts.len()).unwrap_or(u32::MAX).saturating_add(1);
    receipts.push(Receipt { id: next(&receipts), fact: Fact::Ruling(ruling.clone()) });
    let decision = verdict::judge(&receipts).record();
    receipts.push(Receipt { id: next(&receipts), fact: Fact::Decided(decision.clone()) });
    let commit = seal(&repo, &task, &subject, &receipts, &ruling)?;
    let conducted = !journal.entries().is_empty() && ruling.answer != Answer::Abort;
    if conducted {
        journal.write(Entry::Resumed { from: From::Ruling })?;
    }
    Ok(Ruled { task, case: commit, ruling, decision, conducted })
}

fn seal(
    repo: &Repo,
    task: &str,
    subject: &Subject,
    receipts: &[Receipt],
    ruling: &RulingRecord,
) -> Result<CommitId, RulingError> {
    let moved = || RulingError::Moved { task: task.to_owned() };
    let tip = repo.read_ref(&case::case_ref(task)?)?.ok_or_else(moved)?;
    let sign = ruling.proof == Proof::Signature;
    let commit = case::ruled(repo, (task, &tip), &subject.sealed, receipts, (repo.host().clock.now(), sign))?;
    if sign {
        let base = receipts.iter().find_map(|r| if let Fact::Base(base) = &r.fact { Some(base) } else { None });
        let base = base.ok_or_else(moved)?;
        let allowed = repo.file(&base.tree, &RepoPath::from(SIGNERS_FILE), LARGEST_SIGNERS)?.unwrap_or_default();
        if repo.signer_of(&commit, &allowed)?.is_none() {
            return Err(RulingError::NotAllowed { base: base.commit.clone() });
        }
    }
    if !case::append(repo, task, &commit, &tip)? {
        return Err(moved());
    }
    if !ruling.declined.is_empty() {
        let number = repo.refs_under(&format!("{RULINGS}{task}/"))?.len() + 1;
        let refused = |name: String| CaseError::BadKey { key: name };
        let name = RefName::new(&format!("{RULINGS}{task}/{number}")).map_err(refused)?;
        repo.move_ref(&name, &commit, None)?;
    }
    Ok(commit)
}

/// The record: what is named is looked up, its code is told, and what is not chosen is declined only where a person chose.
fn ruling_of(repo: &Repo, request: &RulingRequest, subject: &Subject) -> Result<RulingRecord, RulingError> {
    let (task, all) = (&subject.pending.task, &subject.pending.findings);
    let known = || all.iter().map(|point| point.id.as_str()).collect::<Vec<_>>().join(", ");
    let mut named = Vec::new();
    for id in &request.findings {
        let point = all.iter().find(|point| point.id.eq_ignore_ascii_case(id));
        let none = || RulingError::NoFinding {
            task: task.clone(),
            id: crate::host::path::escape(id.as_bytes()),
            known: if all.is_empty() { "none".to_owned() } else { known() },
        };
        named.push(point.ok_or_else(none)?.clone());
    }
    let receipts = &subject.sealed.attempt.receipts;
    let claim = receipts.iter().find_map(|r| if let Fact::Claim(claim) = &r.fact { Some(claim) } else { None });
    let claim = claim.ok_or_else(|| RulingError::NothingJudged { task: task.clone() })?;
    let others = || all.iter().filter(|point| !named.contains(point)).cloned().collect::<Vec<_>>();
    let (mend, declined) = match request.answer {
        Answer::Approve => {
            if claim.commit.is_none() {
                return Err(RulingError::NoCommit { task: task.clone() });
            }
            (Vec::new(), all.clone())
        }
        // The complement of what a person chose is declined, where it is a question; a fact stays one.
        Answer::Mend => {
            let rest = others().into_iter().filter(Point::is_declinable).collect();
            (named, rest)
        }
        Answer::Decline if request.findings.is_empty() => {
            let open: Vec<Point> = all.iter().filter(|point| point.is_declinable()).cloned().collect();
            if open.is_empty() {
                return Err(RulingError::NothingToDecline { task: task.clone() });
            }
            (Vec::new(), open)
        }
        Answer::Decline => {
            if let Some(fact) = named.iter().find(|point| !point.is_declinable()) {
                let state = fact.state.map_or("", crate::receipts::State::word);
                return Err(RulingError::Fact { id: fact.id.clone(), state });
            }
            (Vec::new(), named)
        }
        Answer::Abort => (Vec::new(), Vec::new()),
    };
    let mut declined = declined;
    for point in &mut declined {
        point.code = declined::code(repo, point, &claim.base_tree, &claim.tree, &claim.changed)?;
    }
    let why: String = crate::host::redact::redact_text(&request.why).chars().take(LONGEST_WHY).collect();
    let identity = repo.git().run_unchecked(["var", "GIT_COMMITTER_IDENT"])?.line();
    let by =
        identity.split_once('>').map_or_else(|| "somebody git does not know".to_owned(), |(who, _)| format!("{who}>"));
    Ok(RulingRecord {
        answer: request.answer,
        tree: claim.tree.clone(),
        case: subject.sealed.commit.clone(),
        mend,
        declined,
        why,
        by,
        proof: request.proof.clone(),
        at: repo.host().clock.now().to_utc(),
    })
}
