//! Changing one frontmatter value and nothing else.

use super::{Frontmatter, FrontmatterError, value};
use crate::task::text::{Text, TextError};

/// Why a value cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The file is no text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The block cannot be read, so it is not written either.
    #[error(transparent)]
    Frontmatter(#[from] FrontmatterError),
    /// A key that is not in the block is never looked for in the body.
    #[error("the frontmatter has no key `{0}`")]
    NoKey(String),
    /// The new value would not be read back as given.
    #[error("{value:?} cannot be the value of `{key}`: it would not be read back as it is")]
    NotPlain {
        /// The key.
        key: String,
        /// The refused value.
        value: String,
    },
}

/// Sets the single-line value of a key and returns the new file; every other byte stays as it was: line ending, byte
/// order mark, blanks, quotes around the old value, a comment after it.
///
/// # Errors
/// See [`EditError`]. In particular the value must be on one line and read back as given.
pub fn set(bytes: &[u8], key: &str, new: &str) -> Result<Vec<u8>, EditError> {
    let front = Frontmatter::read(Text::read(bytes)?)?;
    let entry = front.entry(key).ok_or_else(|| EditError::NoKey(key.to_owned()))?;
    entry.single()?;
    let refused = || EditError::NotPlain { key: key.to_owned(), value: new.chars().take(200).collect() };
    if new.chars().any(char::is_control) {
        return Err(refused());
    }
    let span = entry.span.clone();
    let Some(rest) = bytes.get(span.clone()).and_then(|raw| std::str::from_utf8(raw).ok()) else {
        return Err(refused());
    };
    let lead = rest.len() - rest.trim_start().len();
    // A title is everything on its line; any other value ends before a comment and inside its quotes.
    let old = if key == "title" { rest.trim() } else { value::without_comment(&rest[lead..]) };
    let quoted = key != "title" && old.len() >= 2 && old.starts_with(['"', '\'']);
    let (from, to) = if quoted { (lead + 1, lead + old.len() - 1) } else { (lead, lead + old.len()) };
    let gap = if lead == 0 && !new.is_empty() { " " } else { "" };
    let tail = if old.is_empty() && !new.is_empty() && rest[to..].starts_with('#') { " " } else { "" };
    let mut out = bytes[..span.start + from].to_vec();
    out.extend_from_slice(gap.as_bytes());
    out.extend_from_slice(new.as_bytes());
    out.extend_from_slice(tail.as_bytes());
    out.extend_from_slice(&bytes[span.start + to..]);

    let after = Frontmatter::read(Text::read(&out)?).map_err(|_| refused())?;
    let read = if key == "title" { after.raw(key).map(|v| v.map(str::to_owned)) } else { after.word(key) };
    if read.map_err(|_| refused())?.unwrap_or_default() != new || after.entries.len() != front.entries.len() {
        return Err(refused());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edited(text: &str, key: &str, new: &str) -> String {
        String::from_utf8(set(text.as_bytes(), key, new).unwrap()).unwrap()
    }

    #[test]
    fn only_the_value_changes() {
        for (before, key, new, after) in [
            ("---\nstatus: todo\n---\n", "status", "doing", "---\nstatus: doing\n---\n"),
            (
                "\u{feff}---\r\nstatus:  todo \r\n---\r\nx",
                "status",
                "done",
                "\u{feff}---\r\nstatus:  done \r\n---\r\nx",
            ),
            ("---\nstatus: \"todo\" # now\n---", "status", "doing", "---\nstatus: \"doing\" # now\n---"),
            (
                "---\ncompleted:\nid: w-1\n---\n",
                "completed",
                "2026-11-30",
                "---\ncompleted: 2026-11-30\nid: w-1\n---\n",
            ),
            ("---\ncompleted: # later\n---\n", "completed", "2026-11-30", "---\ncompleted: 2026-11-30 # later\n---\n"),
            ("---\ntitle: \"a\" # b: `c`\n---\n", "title", "$& $1 # x", "---\ntitle: $& $1 # x\n---\n"),
        ] {
            assert_eq!(edited(before, key, new), after);
        }
    }

    /// D13: the body is never edited in place of the block.
    #[test]
    fn a_key_that_only_the_body_has_is_not_found() {
        let text = b"---\nid: w-1\n---\nstatus: todo\n";
        assert_eq!(set(text, "status", "done"), Err(EditError::NoKey("status".into())));
    }

    #[test]
    fn values_that_would_not_be_read_back_are_refused() {
        let text = b"---\nstatus: todo\ntags:\n  - a\n---\n";
        for bad in ["a\nid: w-2", "a\r", "a #b", " a", "a ", "'a", "&a", "|"] {
            assert!(matches!(set(text, "status", bad), Err(EditError::NotPlain { .. })), "{bad:?}");
        }
        assert!(matches!(set(text, "tags", "b"), Err(EditError::Frontmatter(_))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn setting_and_setting_back_gives_the_file_back(
            old in "[a-z0-9-]{1,12}", new in "[a-z0-9:.-]{1,12}",
            lead in " {1,3}", tail in "( # [a-z]{0,5})?", eol in "\r?\n", body in "[a-z:\n]{0,30}",
        ) {
            let text = format!("---{eol}id: w-1{eol}status:{lead}{old}{tail}{eol}---{eol}{body}");
            let out = set(text.as_bytes(), "status", &new).unwrap();
            let front = Frontmatter::read(Text::read(&out).unwrap()).unwrap();
            prop_assert_eq!(front.word("status").unwrap().unwrap(), new);
            prop_assert_eq!(set(&out, "status", &old).unwrap(), text.into_bytes());
        }
    }
}
