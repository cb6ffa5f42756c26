//! Assertions from a file: `[{"kind": "file-written", "subject": "src/a.rs", "expected": {…}}]`.

use super::{AssertedBy, Assertion, AssertionKind, Expected, SaidChange};
use serde::Deserialize;

/// A file of assertions larger than this is refused.
pub const LARGEST: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Given {
    kind: AssertionKind,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    quote: String,
    #[serde(default)]
    expected: Expected,
}

/// Why a file of assertions is none.
#[derive(Debug, thiserror::Error)]
pub enum GivenError {
    /// Not the JSON that it should be.
    #[error(
        "{name} is no list of assertions: {why}; write `[{{\"kind\": \"file-written\", \"subject\": \"PATH\"}}]` (kinds and fields: `countersign schema reconcile`)"
    )]
    Malformed {
        /// The file.
        name: String,
        /// The parser's words, with line and column.
        why: String,
    },
    /// A list of nothing.
    #[error("{name} asserts nothing; leave --assertions out, or name at least one assertion")]
    Empty {
        /// The file.
        name: String,
    },
}

/// Reads a list of assertions. They are added to the others; the file cannot take one away.
///
/// # Errors
/// See [`GivenError`].
pub fn read_given(bytes: &[u8], name: &str) -> Result<Vec<Assertion>, GivenError> {
    let given: Vec<Given> = serde_json::from_slice(bytes)
        .map_err(|why| GivenError::Malformed { name: name.to_owned(), why: why.to_string() })?;
    if given.is_empty() {
        return Err(GivenError::Empty { name: name.to_owned() });
    }
    let read = |given: Given| {
        let mut assertion = Assertion::new(given.kind, AssertedBy::File, &given.quote, &given.subject);
        assertion.expected = given.expected;
        if given.kind == AssertionKind::FileWritten && assertion.expected.change.is_none() {
            assertion.expected.change = Some(SaidChange::Present);
        }
        assertion
    };
    Ok(given.into_iter().map(read).collect())
}
