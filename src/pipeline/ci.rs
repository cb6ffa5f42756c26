//! The merge gate: whether what would be merged was verified, on exactly this tree.
//!
//! Base and head give the tree that is judged; the range's commits, its moved pages and the settings at the base say which
//! tasks it answers for. Each task passes on a note that matches by tree, base, policy and signature, or on our own
//! judgement. Everything else is held, with words; a gate that cannot say no is broken.

mod attested;
mod attesting;
mod believe;
mod codes;
mod deciding;
mod evidence;
mod gate;
mod guarded;
mod health;
mod own;
mod range;
mod released;
mod report;
mod wanted;

pub use crate::config::Requirement;
pub use codes::GATE_CODES;
pub use gate::run;
pub use report::{
    Attested, CiDecision, CiReport, Covering, CriterionReport, EvidenceKind, GateFinding, Health, HealthCheck,
    TaskReport,
};
pub use wanted::named_ids;

use super::{Fault, Observer, VerifyError};
use crate::claim::BaseError;
use crate::config::SettingsError;
use crate::host::Host;
use crate::host::git::GitError;
use crate::host::ids::CommitId;
use crate::integrate::attest::{AttestError, Noted};
use std::path::PathBuf;

/// What to judge.
#[derive(Debug, Clone, Default)]
pub struct CiRequest {
    /// The folder the user is in.
    pub start: PathBuf,
    /// The base, if it was named.
    pub base: Option<String>,
    /// The head; none: what is checked out.
    pub head: Option<String>,
    /// Which evidence is enough, if it was said; the settings at the base otherwise.
    pub require: Option<Requirement>,
    /// Who judges, if it was said; the settings at the base otherwise.
    pub verifier: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CiError {
    /// A head without a base.
    #[error("--head names what is judged, and nothing says against what: name it with --base")]
    NoBase,
    /// No such head.
    #[error("--head {rev} names no commit in this repository; fetch it, or give a branch, a tag or a full commit id")]
    NoHead {
        /// The revision, escaped.
        rev: String,
    },
    /// Two histories.
    #[error("{base} and {head} have no history in common: there is nothing that merging them would mean")]
    Unrelated {
        /// The base.
        base: CommitId,
        /// The head.
        head: CommitId,
    },
    /// Too many commits.
    #[error("the range has more than {most} commits: is the base the right one? name another with --base")]
    TooLong {
        /// How many are read.
        most: usize,
    },
    /// Nothing to approve.
    #[error("nothing is held here ({0}): there is nothing to approve")]
    NotHeld(String),
    /// An approval that nobody signed.
    #[error("an approval without a signature is none: {0}")]
    NotSigned(String),
    /// The base.
    #[error(transparent)]
    Base(#[from] BaseError),
    /// The settings at the base.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Task, board or machine.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// A note.
    #[error(transparent)]
    Attest(#[from] AttestError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl CiError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::NoBase
            | Self::NoHead { .. }
            | Self::Unrelated { .. }
            | Self::TooLong { .. }
            | Self::NotHeld(_)
            | Self::NotSigned(_)
            | Self::Settings(_)
            | Self::Base(BaseError::Unknown { .. } | BaseError::Ambiguous { .. }) => Fault::Usage,
            Self::Verify(why) => why.fault(),
            Self::Base(_) | Self::Attest(_) | Self::Git(_) => Fault::Environment,
        }
    }
}

/// Judges a range and, where all of it passes on what this run verified itself, says so in a note on the head, signed with
/// the key of the job. Whether that key is enough for the next gate says the base.
///
/// # Errors
/// See [`CiError`].
pub fn run_and_attest(
    request: &CiRequest,
    host: &Host,
    watch: &mut dyn Observer,
) -> Result<(CiReport, Option<Noted>), CiError> {
    let range = gate::settle(request, host)?;
    let report = gate::judge_range(&range, request, host, watch)?;
    let noted = attesting::attest(&range, &report)?;
    Ok((report, noted))
}

/// Judges a range and, if it is held, writes a signed approval of exactly that onto its head. The base's settings say whose
/// approval counts.
///
/// # Errors
/// Nothing is held, there is no key, or see [`CiError`].
pub fn approve(
    request: &CiRequest,
    why: &str,
    host: &Host,
    watch: &mut dyn Observer,
) -> Result<(CiReport, Noted), CiError> {
    let range = gate::settle(request, host)?;
    let report = gate::judge_range(&range, request, host, watch)?;
    if report.decision != CiDecision::Held || report.tree.is_none() {
        return Err(CiError::NotHeld(report.decision.word().to_owned()));
    }
    let codes: Vec<String> = report.reasons.iter().map(|reason| reason.code.clone()).collect();
    let noted = released::approve(&range, &codes, why)?;
    match noted.unsigned {
        Some(why) => Err(CiError::NotSigned(why)),
        None => Ok((report, noted)),
    }
}
