//! Git object ids as types, so that a tree can never be passed where a commit is meant.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a text is not an object id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an object id: {0:?}")]
pub struct BadId(String);

fn checked(text: &str) -> Result<String, BadId> {
    let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if hex && (text.len() == 40 || text.len() == 64) { Ok(text.to_owned()) } else { Err(BadId(text.to_owned())) }
}

macro_rules! object_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Reads a full lower-case hexadecimal id (40 digits, or 64 in a SHA-256 repository).
            ///
            /// # Errors
            /// Anything else, abbreviations included: they are not identities.
            pub fn new(text: &str) -> Result<Self, BadId> {
                checked(text).map(Self)
            }

            /// The full id.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The first twelve digits, for people.
            pub fn short(&self) -> &str {
                &self.0[..12]
            }

            /// All zeros: git's way to say "no object".
            pub fn is_null(&self) -> bool {
                self.0.bytes().all(|b| b == b'0')
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                Self::new(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

object_id!(
    /// A commit.
    CommitId
);
object_id!(
    /// A tree.
    TreeId
);
object_id!(
    /// A blob (or, for a gitlink entry, the commit it points to: git stores both in the same column).
    BlobId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_lower_case_ids_are_ids() {
        let full = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(CommitId::new(full).unwrap().as_str(), full);
        assert!(CommitId::new(&full[..12]).is_err());
        assert!(CommitId::new(&full.to_uppercase()).is_err());
        assert!(CommitId::new("HEAD").is_err());
        assert!(BlobId::new(&"0".repeat(64)).unwrap().is_null());
    }
}
