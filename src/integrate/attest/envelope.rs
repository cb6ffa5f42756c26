//! DSSE envelopes around in-toto statements, and bundles of them: one JSON document a line.

use super::sshsig;
use crate::host::signing::MadeSignature;
use base64ct::{Base64, Encoding};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The payload type of an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The type of an in-toto statement, version 1.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// More envelopes than this are not read from one note.
const MOST: usize = 256;

/// Why an envelope is none of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Another payload.
    #[error("its payload is no in-toto statement but {0:?}")]
    PayloadType(String),
    /// Not base64.
    #[error("its payload is not base64")]
    Base64,
    /// Not a statement.
    #[error("its payload cannot be read: {0}")]
    Payload(String),
    /// Another statement type.
    #[error("its statement has the type {0:?}")]
    StatementType(String),
}

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// A name for people.
    #[serde(default)]
    pub name: String,
    /// Digests by algorithm: `gitCommit`, `gitTree`.
    pub digest: BTreeMap<String, String>,
}

/// An in-toto statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Its type.
    #[serde(rename = "_type")]
    pub kind: String,
    /// What it is about.
    pub subject: Vec<Subject>,
    /// The type of what it says.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What it says.
    pub predicate: Value,
}

impl Statement {
    /// A statement of this type about these subjects.
    pub fn new(subject: Vec<Subject>, predicate_type: &str, predicate: Value) -> Self {
        Self { kind: STATEMENT.to_owned(), subject, predicate_type: predicate_type.to_owned(), predicate }
    }

    /// The digest of one algorithm, if all subjects that have one have the same.
    pub fn digest(&self, algorithm: &str) -> Option<&str> {
        let mut found = self.subject.iter().filter_map(|subject| subject.digest.get(algorithm));
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    /// Its bytes as they are signed.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// One signature of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeSignature {
    /// The key's fingerprint: a hint, never evidence.
    #[serde(default)]
    pub keyid: String,
    /// Base64 of an armoured SSH signature, or of 64 bytes of Ed25519.
    pub sig: String,
}

impl EnvelopeSignature {
    /// A signature as it stands in an envelope.
    pub fn of(made: &MadeSignature) -> Self {
        let blob = made.public.map(|key| sshsig::ed25519_blob(&key));
        let blob = blob.or_else(|| sshsig::SshSignature::parse(&made.bytes).map(|signature| signature.key));
        let keyid = blob.map(|blob| sshsig::fingerprint(&blob)).unwrap_or_default();
        Self { keyid, sig: Base64::encode_string(&made.bytes) }
    }

    /// Its bytes; none if they are not base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        Base64::decode_vec(&self.sig).ok()
    }
}

/// A DSSE envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// What the payload is.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// Base64.
    pub payload: String,
    /// Who says so; empty where nobody signed.
    pub signatures: Vec<EnvelopeSignature>,
}

impl Envelope {
    /// A statement in an envelope that nobody signed yet.
    pub fn of(statement: &Statement) -> Self {
        let payload = Base64::encode_string(&statement.bytes());
        Self { payload_type: PAYLOAD_TYPE.to_owned(), payload, signatures: Vec::new() }
    }

    /// The statement inside, whoever signed it.
    ///
    /// # Errors
    /// It is no in-toto statement of version 1.
    pub fn statement(&self) -> Result<Statement, EnvelopeError> {
        if self.payload_type != PAYLOAD_TYPE {
            return Err(EnvelopeError::PayloadType(self.payload_type.chars().take(80).collect()));
        }
        let bytes = Base64::decode_vec(&self.payload).map_err(|_| EnvelopeError::Base64)?;
        let statement: Statement =
            serde_json::from_slice(&bytes).map_err(|why| EnvelopeError::Payload(why.to_string()))?;
        if statement.kind == STATEMENT { Ok(statement) } else { Err(EnvelopeError::StatementType(statement.kind)) }
    }

    /// What its signatures are over.
    pub fn signed_bytes(&self) -> Vec<u8> {
        pae(&self.payload_type, &Base64::decode_vec(&self.payload).unwrap_or_default())
    }

    /// It on one line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// DSSE's pre-authentication encoding.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

/// The envelopes of a note, and how many of its lines are none.
pub fn parse_bundle(bytes: &[u8]) -> (Vec<Envelope>, usize) {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let (mut envelopes, mut unreadable) = (Vec::new(), 0);
    for line in lines {
        match serde_json::from_slice(line) {
            Ok(envelope) if envelopes.len() < MOST => envelopes.push(envelope),
            _ => unreadable += 1,
        }
    }
    (envelopes, unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_that_is_signed_is_that_of_the_dsse_page() {
        assert_eq!(
            pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }

    #[test]
    fn a_bundle_counts_what_it_cannot_read_and_an_envelope_gives_its_statement_back() {
        let subject = Subject { name: "x".into(), digest: BTreeMap::from([("gitTree".into(), "1".into())]) };
        let statement = Statement::new(vec![subject], "urn:x", serde_json::json!({"a": 1}));
        let envelope = Envelope::of(&statement);
        let (read, unreadable) = parse_bundle(format!("{}\n\nnot json\n{{}}\n", envelope.line()).as_bytes());
        assert_eq!((read.len(), unreadable), (1, 2));
        assert_eq!(read[0].statement().unwrap(), statement);
        assert_eq!(statement.digest("gitTree"), Some("1"));
        let other = Envelope { payload_type: "text/plain".into(), ..envelope.clone() };
        assert!(matches!(other.statement(), Err(EnvelopeError::PayloadType(_))));
        let broken = Envelope { payload: "***".into(), ..envelope };
        assert_eq!(broken.statement(), Err(EnvelopeError::Base64));
    }
}
