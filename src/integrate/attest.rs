//! The note on a landed commit: signed in-toto statements about the commit and its tree, one envelope a line.
//!
//! What the merge gate believes it believes for three reasons at once: the signature is of a key that the base allows, the
//! statement is about exactly this tree on exactly this parent, and its policy is the base's. Nothing here decides; it
//! writes, reads and compares.

mod certified;
mod check;
mod envelope;
mod landing;
mod signers;
mod sshsig;
mod statement;
mod uncertified;

pub use certified::{Certified, attest_certified};
pub use check::{SignatureState, check_signature, signatures_tell_apart};
pub use envelope::{Envelope, EnvelopeError, EnvelopeSignature, PAYLOAD_TYPE, Statement, Subject, pae, parse_bundle};
pub use landing::{Approval, Landing, ReceiptsDigest};
pub use signers::{AllowedSigners, key_file};
pub use statement::{TEST_RESULT, VSA, landing_statement, test_result, verification_summary};
use uncertified::carried;
pub(super) use uncertified::last_ranges;
pub use uncertified::{Uncertified, landing_in};

use super::land::LandingRecord;
use crate::host::clock::Timestamp;
use crate::host::git::{GitError, RefName, Repo};
use crate::host::ids::CommitId;
use crate::host::signing::{SigningError, SigningKey, find_key, sign};
use crate::receipts::case::{self, CaseError, Sealed};
use crate::verdict::Warrant;

/// Where the notes are.
pub const NOTES: &str = "refs/notes/countersign";

/// The type of our own predicate about a landing.
pub const LANDING: &str = "urn:countersign:landing:1";

/// The type of our own predicate about a person's approval of a held change.
pub const APPROVAL: &str = "urn:countersign:approval:1";

/// The type of our own predicate about a PASS over a range that had landed without one.
pub const CERTIFIED: &str = "urn:countersign:certified:1";

/// Why a commit has no note.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttestError {
    /// The sealed case cannot be read.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// No signature.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The reference of the notes.
///
/// # Errors
/// Never in practice: the name is well-formed.
pub fn notes_ref() -> Result<RefName, GitError> {
    RefName::new(NOTES).map_err(|name| GitError::Unreadable { command: "open notes".to_owned(), what: name })
}

/// What became of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// Why it is not signed, if it is not.
    pub unsigned: Option<String>,
}

/// Puts the statements about a landing on its commit, signed if there is a key. A note without a signature is written all
/// the same: whether it counts is the reader's settings' business.
///
/// # Errors
/// The case or the notes cannot be read or written. The landing stands; the note can be made again.
pub fn attest_landing(
    repo: &Repo,
    record: &LandingRecord,
    warrant: &Warrant,
    case: Option<&CommitId>,
    at: Timestamp,
) -> Result<Noted, AttestError> {
    let sealed = case.map(|commit| case::read(repo, commit)).transpose()?;
    let statements = statements_of(repo, record, warrant, sealed.as_ref(), at)?;
    write(repo, &record.commit, &statements, find_key(repo, None), at)
}

fn statements_of(
    repo: &Repo,
    record: &LandingRecord,
    warrant: &Warrant,
    sealed: Option<&Sealed>,
    at: Timestamp,
) -> Result<Vec<Statement>, AttestError> {
    let mut landing = Landing::of(record, warrant, sealed, at);
    landing.parent_tree = Some(repo.tree_of(&record.parent)?);
    landing.uncertified = carried(repo, warrant, record)?;
    let receipts = sealed.map(|sealed| sealed.attempt.receipts.as_slice()).unwrap_or_default();
    let landing = landing_statement(&landing);
    let tests = test_result(&landing.subject, warrant.tree(), receipts);
    let summary = verification_summary(&landing, tests.as_ref(), at);
    Ok([Some(landing), tests, Some(summary)].into_iter().flatten().collect())
}

/// Signs statements and adds them to the note on a commit. A key that cannot be used leaves the note unsigned, and says so.
///
/// # Errors
/// The notes cannot be written.
pub fn write(
    repo: &Repo,
    commit: &CommitId,
    statements: &[Statement],
    key: Result<Option<SigningKey>, SigningError>,
    at: Timestamp,
) -> Result<Noted, AttestError> {
    let mut envelopes: Vec<Envelope> = statements.iter().map(Envelope::of).collect();
    let unsigned = match key {
        Ok(Some(key)) => sign_all(repo, &mut envelopes, &key).err().map(|why| why.to_string()),
        Ok(None) => Some("there is no key to sign with: set git's gpg.format to ssh and user.signingKey".to_owned()),
        Err(why) => Some(why.to_string()),
    };
    if unsigned.is_some() {
        for envelope in &mut envelopes {
            envelope.signatures.clear();
        }
    }
    let lines: String = envelopes.iter().map(|envelope| format!("{}\n", envelope.line())).collect();
    repo.add_to_note(&notes_ref()?, commit, &lines, at)?;
    Ok(Noted { unsigned })
}

fn sign_all(repo: &Repo, envelopes: &mut [Envelope], key: &SigningKey) -> Result<(), SigningError> {
    for envelope in envelopes {
        let made = sign(repo, key, &envelope.signed_bytes())?;
        envelope.signatures = vec![EnvelopeSignature::of(&made)];
    }
    Ok(())
}
