//! Path patterns, as settings and tasks write them.

use crate::host::path::RepoPath;
use regex::bytes::{Regex, RegexBuilder};

/// A compiled pattern holds at most this many bytes.
const LARGEST_PROGRAM: usize = 1 << 20;

/// A pattern for whole paths, from the top of the tree.
///
/// `*` and `?` match within one part, `**` as a whole part matches any number of parts, `[a-z]` and `[!a-z]` one
/// character, `{a,b}` either text, `\` takes the next character as it is. A final `/` means everything in that folder.
/// Matching takes time linear in the path, whatever the pattern.
#[derive(Debug, Clone)]
pub struct Glob {
    pattern: String,
    program: Regex,
}

/// Why a text is not a pattern.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{pattern}` is not a path pattern: {why}")]
pub struct GlobError {
    /// The text.
    pub pattern: String,
    /// What is wrong with it, and what to write instead.
    pub why: &'static str,
}

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// Empty, absolute, unbalanced, or too large.
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        let refuse = |why| GlobError { pattern: pattern.to_owned(), why };
        let text = pattern.strip_prefix("./").unwrap_or(pattern);
        if text.is_empty() {
            return Err(refuse("it is empty"));
        }
        if text.starts_with('/') {
            return Err(refuse("it starts with `/`; patterns are relative to the top of the tree"));
        }
        let mut text = text.to_owned();
        if text.ends_with('/') {
            text.push_str("**");
        }
        let source = translate(&text).map_err(refuse)?;
        let program = RegexBuilder::new(&source)
            .unicode(true)
            .dot_matches_new_line(true)
            .size_limit(LARGEST_PROGRAM)
            .build()
            .map_err(|_| refuse("it is too large, or one of its character ranges runs backwards"))?;
        Ok(Self { pattern: pattern.to_owned(), program })
    }

    /// True if the whole path matches, byte for byte and case by case.
    pub fn matches(&self, path: &RepoPath) -> bool {
        self.program.is_match(path.as_bytes())
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }
}

/// The pattern as a regular expression over bytes.
fn translate(pattern: &str) -> Result<String, &'static str> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::from("^");
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        match c {
            '*' => {
                let start = at - 1;
                while chars.get(at) == Some(&'*') {
                    at += 1;
                }
                at = star(&chars, start, at, &mut out);
            }
            '?' => out.push_str(r"(?:[^/]|(?-u:[^/\x00-\x7f]))"),
            '[' => at = class(&chars, at, &mut out)?,
            '{' => {
                depth += 1;
                out.push_str("(?:");
            }
            '}' if depth > 0 => {
                depth -= 1;
                out.push(')');
            }
            '}' => return Err("a `}` has no `{`"),
            ',' if depth > 0 => out.push('|'),
            '\\' => {
                literal(*chars.get(at).ok_or("it ends with a lone `\\`")?, &mut out);
                at += 1;
            }
            c => literal(c, &mut out),
        }
    }
    if depth > 0 {
        return Err("a `{` is not closed");
    }
    out.push('$');
    Ok(out)
}

/// Stars from `start` up to `end`; returns where to go on.
fn star(chars: &[char], start: usize, end: usize, out: &mut String) -> usize {
    let before = start.checked_sub(1).and_then(|i| chars.get(i));
    let opens = matches!(before, None | Some('/' | '{' | ','));
    let after = chars.get(end);
    if end - start == 2 && opens && matches!(after, Some('/')) {
        out.push_str(r"(?:(?-u:[^/])+/)*");
        return end + 1;
    }
    if end - start == 2 && opens && matches!(after, None | Some('}' | ',')) {
        out.push_str(r"(?s-u:.)+");
    } else {
        out.push_str(r"(?-u:[^/])*");
    }
    end
}

/// A bracket expression whose inside starts at `at`; returns where to go on.
fn class(chars: &[char], mut at: usize, out: &mut String) -> Result<usize, &'static str> {
    let negated = matches!(chars.get(at), Some('!' | '^'));
    at += usize::from(negated);
    out.push_str(if negated { "[[^" } else { "[[" });
    let first = at;
    loop {
        match chars.get(at).copied().ok_or("a `[` is not closed")? {
            ']' if at > first => break,
            '-' if at > first && !matches!(chars.get(at + 1), None | Some(']')) => out.push('-'),
            '\\' => {
                at += 1;
                literal(*chars.get(at).ok_or("a `[` is not closed")?, out);
            }
            c => literal(c, out),
        }
        at += 1;
    }
    out.push_str("]&&[^/]]");
    Ok(at + 1)
}

fn literal(c: char, out: &mut String) {
    out.push_str("\\x{");
    out.push_str(&format!("{:x}", u32::from(c)));
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_as_documented() {
        for (pattern, hits, misses) in [
            ("*.pem", &["a.pem"][..], &["x/a.pem", "a.pem/b"][..]),
            ("**/*.pem", &["a.pem", "x/a.pem", "x/y/a.pem"], &["a.pem.txt"]),
            ("src/**", &["src/a", "src/a/b"], &["src", "srcs/a"]),
            ("src/", &["src/a", "src/a/b"], &["src"]),
            ("src/**/test_?.rs", &["src/test_1.rs", "src/a/b/test_ü.rs"], &["src/test_.rs", "src/test_/.rs"]),
            ("**", &["a", "a/b"], &[]),
            ("a/{b,c/**,[d-f]x}/z", &["a/b/z", "a/ex/z", "a/c/q/z"], &["a/gx/z", "a/c/z/y"]),
            ("[!a-c]*", &["d", "d1"], &["a", "/x", "b1"]),
            ("a[]]b", &["a]b"], &["ab"]),
            ("a[x-]b", &["a-b", "axb"], &["ayb"]),
            (r"\*.md", &["*.md"], &["a.md"]),
            ("a.b+c", &["a.b+c"], &["aXb+c", "a.bbc"]),
            ("x**y", &["xy", "xay"], &["x/y"]),
            ("./a", &["a"], &["./a"]),
        ] {
            let glob = Glob::new(pattern).unwrap();
            for hit in hits {
                assert!(glob.matches(&RepoPath::from(*hit)), "{pattern} should match {hit}");
            }
            for miss in misses {
                assert!(!glob.matches(&RepoPath::from(*miss)), "{pattern} should not match {miss}");
            }
        }
        let odd = RepoPath::from_bytes(&b"caf\xe9\n.txt"[..]);
        assert!(Glob::new("caf?\n.txt").unwrap().matches(&odd));
        assert!(Glob::new("**").unwrap().matches(&odd));
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_a_reason() {
        for (bad, word) in [
            ("", "empty"),
            ("/abs", "relative"),
            ("a{b", "closed"),
            ("a}", "no `{`"),
            ("[a", "closed"),
            ("a\\", "lone"),
        ] {
            assert!(Glob::new(bad).unwrap_err().to_string().contains(word), "{bad}");
        }
        assert!(Glob::new("[z-a]").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_pattern_panic(pattern in "[a-c*?/{},\\[\\]!\\\\.\u{e9}-]{0,40}", path in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(glob) = Glob::new(&pattern) {
                glob.matches(&RepoPath::from_bytes(path));
            }
        }

        #[test]
        fn a_path_without_special_characters_matches_itself_only(path in "[a-z0-9._ü/]{1,20}", other in "[a-z0-9._ü/]{1,20}") {
            prop_assume!(!path.starts_with('/') && !path.ends_with('/') && !path.starts_with("./"));
            let glob = Glob::new(&path).unwrap();
            prop_assert!(glob.matches(&RepoPath::from(path.as_str())));
            prop_assert_eq!(glob.matches(&RepoPath::from(other.as_str())), other == path);
        }
    }
}
