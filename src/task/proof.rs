//! What a criterion names at its end as its own proof.

use crate::host::path::{RepoPath, is_deceptive};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// One thing a program can look up or run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// A test of this name runs on the claim and passes.
    Test {
        /// The name, or a whole-segment suffix of it.
        name: String,
    },
    /// A file exists in the claim.
    File {
        /// Where.
        path: RepoPath,
        /// Text that must occur in it, byte for byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contains: Option<String>,
    },
    /// A command exits with status 0 on the claim.
    Run {
        /// The command line, for `sh -c`.
        command: String,
    },
}

/// The most proofs one criterion may name: each costs a pass over its text.
pub const MAX_PROOFS: usize = 32;

/// Why words at a criterion's end that look like a proof are not taken as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// A path that leaves the repository or hides its name.
    #[error("`file: {0}` is not a plain path inside the repository")]
    UnsafePath(String),
    /// Nothing named.
    #[error("`{0}:` names nothing")]
    Empty(&'static str),
    /// Characters that a reader cannot see.
    #[error("`{0}:` holds hidden or control characters")]
    Hidden(&'static str),
    /// More than [`MAX_PROOFS`].
    #[error("it names more than {MAX_PROOFS} proofs; split it")]
    TooMany,
}

/// One proof at the end of the text, an opening bracket or dash before it and a full stop after it allowed.
static LAST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?:^|[\s(\[,;—–])(?:"#,
        r#"test:\s*(?:``\s?(?P<test2>(?:[^`]|`[^`])+?)\s?``|`(?P<test>[^`]*)`)"#,
        r#"|run:\s*(?:``\s?(?P<run2>(?:[^`]|`[^`])+?)\s?``|`(?P<run>[^`]*)`)"#,
        r#"|file:\s*(?:`(?P<file>[^`]*)`|(?P<bare>[^\s`"]+?))"#,
        r#"(?:\s+contains\s+(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|`(?P<code>[^`]*)`))?"#,
        r#")\s*(?:[.)\]]|\)\.)?\s*$"#,
    ))
    .ok()
});

/// The proofs at the end of a criterion's text, in the order written; several stand side by side, with `,`, `;` or
/// `and` between them. No proof at the end is the empty list: words in the middle never count.
///
/// # Errors
/// One of them is unusable; then none counts, so that a criterion is never judged by half of what it names.
pub fn proofs(text: &str) -> Result<Vec<Proof>, ProofError> {
    let Some(last) = LAST.as_ref() else { return Ok(Vec::new()) };
    let mut rest = text;
    let mut found = Vec::new();
    // The expression looks for the leftmost proof that reaches the end, and no form spans two proofs.
    while let Some(caps) = last.captures(rest) {
        if found.len() == MAX_PROOFS {
            return Err(ProofError::TooMany);
        }
        let group = |name: &str| caps.name(name).map(|m| m.as_str());
        found.push(if let Some(name) = group("test").or(group("test2")) {
            Proof::Test { name: plain("test", name)? }
        } else if let Some(command) = group("run").or(group("run2")) {
            Proof::Run { command: plain("run", command)? }
        } else if let Some(path) = group("file").or(group("bare")) {
            let contains = group("quoted").map(unquoted).or(group("code").map(str::to_owned));
            Proof::File { path: safe_path(path)?, contains }
        } else {
            break;
        });
        let start = caps.get(0).map_or(0, |m| m.start());
        rest = rest[..start].trim_end();
        rest = rest.strip_suffix([',', ';', '+', '&']).or(rest.strip_suffix(" and")).unwrap_or(rest);
    }
    found.reverse();
    Ok(found)
}

/// True if the text names a proof somewhere, well-formed or not.
pub fn mentions_one(text: &str) -> bool {
    ["test: ", "run: ", "file: ", "test:`", "run:`", "file:`"].iter().any(|word| {
        text.match_indices(word).any(|(at, _)| text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric()))
    })
}

fn plain(kind: &'static str, value: &str) -> Result<String, ProofError> {
    let value = value.trim();
    if value.is_empty() {
        Err(ProofError::Empty(kind))
    } else if value.chars().any(is_deceptive) {
        Err(ProofError::Hidden(kind))
    } else {
        Ok(value.to_owned())
    }
}

fn safe_path(path: &str) -> Result<RepoPath, ProofError> {
    let path = plain("file", path)?;
    let inner = path.strip_prefix("./").unwrap_or(&path);
    let drive = inner.as_bytes().get(1) == Some(&b':');
    let safe = RepoPath::from(inner);
    if safe.is_safe() && !drive && !inner.contains('\\') { Ok(safe) } else { Err(ProofError::UnsafePath(path)) }
}

/// Takes `\"` and `\\` as the characters they protect; any other backslash stands for itself.
fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('"' | '\\')) => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn test(name: &str) -> Proof {
        Proof::Test { name: name.into() }
    }
    fn run(command: &str) -> Proof {
        Proof::Run { command: command.into() }
    }
    fn file(path: &str, contains: Option<&str>) -> Proof {
        Proof::File { path: path.into(), contains: contains.map(str::to_owned) }
    }

    #[test]
    fn proofs_are_read_at_the_end_only() {
        for (text, want) in [
            ("It adds. test: `adds_two`", vec![test("adds_two")]),
            ("It adds (test: `a::b::adds two`).", vec![test("a::b::adds two")]),
            ("It adds — test: `adds`.", vec![test("adds")]),
            ("test: `adds`", vec![test("adds")]),
            ("Page. file: docs/a.md", vec![file("docs/a.md", None)]),
            ("Page (file: docs/a.md)", vec![file("docs/a.md", None)]),
            ("Page (file: docs/a.md).", vec![file("docs/a.md", None)]),
            ("Page. file: `docs/a b.md` contains \"x \\\"y\\\" \\d\"", vec![file("docs/a b.md", Some("x \"y\" \\d"))]),
            ("Page. file: ./a.md contains `## b`", vec![file("a.md", Some("## b"))]),
            (
                "Page. file: a.md contains \"two  blanks, test: `x`\"",
                vec![file("a.md", Some("two  blanks, test: `x`"))],
            ),
            ("Builds. run: `cargo build --locked`", vec![run("cargo build --locked")]),
            ("Prints. run: ``sh -c 'echo `date`'``", vec![run("sh -c 'echo `date`'")]),
            ("Both. test: `a`, test: `b`", vec![test("a"), test("b")]),
            (
                "All (test: `a`; file: x.rs contains \"y\", run: `z`)",
                vec![test("a"), file("x.rs", Some("y")), run("z")],
            ),
            ("All. test: `a` and run: `b`", vec![test("a"), run("b")]),
            ("Two. run: ``a`` and test: ``b``", vec![run("a"), test("b")]),
            ("The test: `a` passes everywhere", vec![]),
            ("Each latest: `a`", vec![]),
            ("No quotes. test: adds", vec![]),
            ("run: `x` must stay fast", vec![]),
        ] {
            assert_eq!(proofs(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn an_unusable_proof_voids_its_neighbours() {
        for (text, want) in [
            ("file: ../../etc/passwd", "not a plain path"),
            ("file: /etc/passwd", "not a plain path"),
            ("file: .git/config", "not a plain path"),
            ("file: C:/x", "not a plain path"),
            ("file: `a\\b`", "not a plain path"),
            ("test: `a`, file: a/../../b", "not a plain path"),
            (&"test: `a` ".repeat(33), "more than 32"),
            ("test: ``", "names nothing"),
            ("run: ` `", "names nothing"),
            ("run: `a\u{202e}b`", "hidden"),
        ] {
            let error = proofs(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn near_misses_are_noticed() {
        assert!(mentions_one("No quotes. test: adds"));
        assert!(mentions_one("run: `x` must stay fast"));
        assert!(!mentions_one("The latest: news"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn reading_never_panics_and_paths_stay_inside(text in "(test:|file:|run:|contains|[`\"\\\\ ./,;()a-c\u{e9}-]){0,20}") {
            for proof in proofs(&text).unwrap_or_default() {
                if let Proof::File { path, .. } = proof {
                    prop_assert!(path.is_safe());
                }
            }
        }
    }
}
