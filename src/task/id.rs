//! Task ids: what is let in at the door, and what of a stranger's id can be said without letting it in.
//!
//! An id becomes a branch, folders, file names, refs and a commit trailer, so the grammar is narrow. The tail classes
//! are Agentheim's own (agentheim.md §2.3); the prefix, which its tools leave open, is held to plain words here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest id, in bytes: names made from it stay under every file system's limit.
pub const MAX_BYTES: usize = 100;

/// Ids of a broken shape that Agentheim issued before it had a grammar. The list never grows.
pub const GRANDFATHERED: [&str; 1] = ["infrastructure-5w5gs"];

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TOKEN_BYTES: usize = 5;

/// The shape of an id's tail: what follows its last `-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdClass {
    /// Digits only: the old running numbers.
    Legacy,
    /// Five characters of the alphabet without `i l o u`, the first of them a letter.
    Token,
    /// Anything else.
    Malformed,
}

/// Classifies by the tail alone, as Agentheim does: this says nothing about safety, see [`TaskId::new`].
pub fn classify(id: &str) -> IdClass {
    let Some((_, tail)) = id.rsplit_once('-') else { return IdClass::Malformed };
    if !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit()) {
        IdClass::Legacy
    } else if is_token(tail) && !tail.starts_with(|c: char| c.is_ascii_digit()) {
        IdClass::Token
    } else {
        IdClass::Malformed
    }
}

/// The context an id belongs to, or the whole id where its tail says nothing (agentheim.md §2.3, §6.1 A15).
///
/// More tolerant than [`classify`]: a token may begin with a digit here.
pub fn derive_context(id: &str) -> &str {
    match id.rsplit_once('-') {
        Some((context, tail)) if is_token(tail) || classify(id) == IdClass::Legacy => context,
        _ => id,
    }
}

fn is_token(tail: &str) -> bool {
    tail.len() == TOKEN_BYTES && tail.bytes().all(|b| ALPHABET.contains(&b))
}

/// Why a text is not the id of a task that can be worked on. The text is shown quoted and escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Nothing there.
    #[error("the task id is empty")]
    Empty,
    /// Over [`MAX_BYTES`].
    #[error("the task id has {0} bytes, more than {MAX_BYTES}")]
    TooLong(usize),
    /// Would be read as an option by programs.
    #[error("the task id {0:?} begins with `-`")]
    LeadingDash(String),
    /// A name that Windows gives to a device, whatever its extension.
    #[error("the task id {0:?} is a device name on Windows")]
    Device(String),
    /// git refuses refs with this ending.
    #[error("the task id {0:?} ends in `.lock`, which git refuses")]
    Lock(String),
    /// Not a lower-case ASCII letter, digit or `-`.
    #[error("the task id {id:?} holds {found:?}; only a-z, 0-9 and `-` are allowed")]
    Character {
        /// The id.
        id: String,
        /// The first character at fault.
        found: char,
    },
    /// The tail is neither a number nor a token.
    #[error(
        "the task id {0:?} does not end in `-` and a number, or `-` and five of a-z and 0-9 without i, l, o, u, letter first"
    )]
    Tail(String),
}

/// The id of a task: safe as a file name, a path part, a ref component, an argument and a commit trailer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct TaskId(String);

impl TaskId {
    /// Lets a text in as an id: `[a-z0-9][a-z0-9-]*` with a legacy or token tail, or a grandfathered id.
    ///
    /// # Errors
    /// The first rule it breaks. Nothing is trimmed, folded or normalised: `w-1` and `W-1` are never the same task.
    pub fn new(text: &str) -> Result<Self, IdError> {
        let owned = || text.chars().take(MAX_BYTES).collect::<String>();
        if text.is_empty() {
            return Err(IdError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(IdError::TooLong(text.len()));
        }
        if text.starts_with('-') {
            return Err(IdError::LeadingDash(owned()));
        }
        if is_device(text) {
            return Err(IdError::Device(owned()));
        }
        if text.to_ascii_lowercase().ends_with(".lock") {
            return Err(IdError::Lock(owned()));
        }
        if let Some(found) = text.chars().find(|c| !(c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')) {
            return Err(IdError::Character { id: owned(), found });
        }
        if classify(text) == IdClass::Malformed && !GRANDFATHERED.contains(&text) {
            return Err(IdError::Tail(owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Makes a fresh token id in a context from 64 random bits (never a next number: two sessions would both take it).
    ///
    /// # Errors
    /// The context is not a prefix that [`TaskId::new`] lets in.
    pub fn mint(context: &str, random: u64) -> Result<Self, IdError> {
        let letters = &ALPHABET[10..];
        let mut rest = random;
        let mut draw = |from: &[u8]| {
            let size = from.len() as u64;
            let at = usize::try_from(rest % size).unwrap_or(0);
            rest /= size;
            char::from(from[at])
        };
        let mut tail = String::from(draw(letters));
        for _ in 1..TOKEN_BYTES {
            tail.push(draw(ALPHABET));
        }
        Self::new(&format!("{context}-{tail}"))
    }

    /// The id, byte for byte as the task file has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The context the id belongs to; see [`derive_context`].
    pub fn context(&self) -> &str {
        derive_context(&self.0)
    }
}

/// True for the names Windows keeps for devices; an extension does not free them.
fn is_device(text: &str) -> bool {
    let stem = text.split('.').next().unwrap_or(text).to_ascii_lowercase();
    let numbered =
        |base: &str| stem.strip_prefix(base).is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit());
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for TaskId {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        Self::new(&text)
    }
}

impl From<TaskId> for String {
    fn from(id: TaskId) -> String {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn n1_tails_fall_into_three_classes() {
        for (id, want) in [
            ("infrastructure-001", IdClass::Legacy),
            ("w-1", IdClass::Legacy),
            ("w-0123456789", IdClass::Legacy),
            ("agentic-workflow-c4t8m", IdClass::Token),
            ("../../../tmp/evil-k3f9q", IdClass::Token),
            ("nodash", IdClass::Malformed),
            ("w-", IdClass::Malformed),
            ("w-c4t8", IdClass::Malformed),
            ("w-c4t8mm", IdClass::Malformed),
            ("w-ci4t8", IdClass::Malformed),
            ("w-cl4t8", IdClass::Malformed),
            ("w-co4t8", IdClass::Malformed),
            ("w-cu4t8", IdClass::Malformed),
            ("w-C4T8M", IdClass::Malformed),
            ("infrastructure-5w5gs", IdClass::Malformed),
        ] {
            assert_eq!(classify(id), want, "{id}");
        }
    }

    #[test]
    fn n2_the_grandfather_list_is_frozen_and_let_in() {
        assert_eq!(GRANDFATHERED, ["infrastructure-5w5gs"]);
        assert!(TaskId::new("infrastructure-5w5gs").is_ok());
        assert!(TaskId::new("infrastructure-5w5gt").is_err());
    }

    #[test]
    fn a15_the_context_is_read_off_the_tail_or_is_the_id_itself() {
        for (id, want) in [
            ("infrastructure-001", "infrastructure"),
            ("agentic-workflow-071", "agentic-workflow"),
            ("agentic-workflow-c4t8m", "agentic-workflow"),
            ("w-5w5gs", "w"),
            ("infrastructure-5w5gs", "infrastructure"),
            ("w-c4t8mm", "w-c4t8mm"),
            ("nodash", "nodash"),
            ("w-uuuuu", "w-uuuuu"),
        ] {
            assert_eq!(derive_context(id), want, "{id}");
        }
    }

    /// Case C068.
    #[test]
    fn task_id_traversal_hostile_ids_are_refused_with_a_reason() {
        let long = "w".repeat(300);
        for (id, reason) in [
            ("", "empty"),
            ("../../evil", "'.'"),
            ("../../../tmp/evil-k3f9q", "'.'"),
            ("a/b", "'/'"),
            ("a/b-1", "'/'"),
            ("-rf", "begins with `-`"),
            ("--help", "begins with `-`"),
            ("-1", "begins with `-`"),
            ("w.lock", ".lock"),
            ("w-1.lock", ".lock"),
            ("w..1", "'.'"),
            ("w~1", "'~'"),
            ("@{u}", "'@'"),
            ("w 1", "' '"),
            ("w-1 ", "' '"),
            ("w;touch x", "';'"),
            ("$(id)", "'$'"),
            ("w\nx", "'\\n'"),
            ("w-1\n", "'\\n'"),
            ("w-1\0", "'\\0'"),
            (&long, "300 bytes"),
            ("con", "device"),
            ("NUL", "device"),
            ("com1", "device"),
            ("lpt9.txt", "device"),
            ("w.", "'.'"),
            ("\u{1f600}-1", "'\u{1f600}'"),
            ("caf\u{e9}-1", "'\u{e9}'"),
            ("cafe\u{301}-1", "'\\u{301}'"),
            ("w\u{202e}-1", "'\\u{202e}'"),
            ("W-1", "'W'"),
            ("w_x-1", "'_'"),
            ("012", "does not end in"),
            ("5e10", "does not end in"),
            ("w-abc", "does not end in"),
            ("w-\u{661}", "only a-z"),
        ] {
            let error = TaskId::new(id).unwrap_err().to_string();
            assert!(error.contains(reason), "{id:?}: {error}");
            assert!(error.len() < 400 && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn an_id_stays_what_it_was_byte_for_byte() {
        for id in ["w-1", "w-012", "0-1", "agentic-workflow-c4t8m", "design-system-001", "con-1"] {
            assert_eq!(TaskId::new(id).unwrap().as_str(), id);
        }
        assert!(serde_json::from_str::<TaskId>("\"../x-1\"").is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        /// N3.
        #[test]
        fn n3_minted_ids_are_well_formed_tokens(random: u64) {
            let id = TaskId::mint("two-words", random).unwrap();
            prop_assert_eq!(classify(id.as_str()), IdClass::Token);
            prop_assert_eq!(id.context(), "two-words");
        }

        #[test]
        fn whatever_is_let_in_is_safe_as_a_path_part_and_a_ref(text in "[-a-z0-9./~^:@{}\\\\ *?\\[\\]]{0,24}") {
            if let Ok(id) = TaskId::new(&text) {
                let bytes = id.as_str().as_bytes();
                prop_assert!(bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-'));
                prop_assert!(bytes[0] != b'-' && bytes.len() <= MAX_BYTES);
            }
        }
    }
}
