//! Lines that replace what tests are judged with: an assertion of the runner's, a macro of the language's, a part of the
//! runner itself. Whatever does it, production code or another test's file, no assertion behind it can fail any more.

use super::rules::{quote, raise};
use super::version::Changed;
use crate::receipts::Finding;

/// What assertions are called on; to assign to a part of one replaces it for everybody.
const OWNERS: &[&str] = &["assert.", "expect.", "TestCase.", "unittest.", "pytest.", "chai."];

/// Macros that a test fails by.
const MACROS: &[&str] =
    &["assert", "assert_eq", "assert_ne", "assert_matches", "debug_assert", "debug_assert_eq", "panic"];

pub(super) fn look(changes: &[Changed<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for changed in changes {
        let Some(version) = changed.new.as_ref().filter(|version| version.scanned().is_some()) else { continue };
        for (line, text) in changed.added_lines() {
            if is_replaced(text) {
                let expected = "tests that are judged by their runner's own assertions; say why not";
                findings.push(raise("assertion-replaced", version.at(line), expected, quote(text)));
            }
        }
    }
    findings
}

fn is_replaced(text: &str) -> bool {
    let text = text.trim();
    let is_comment = ["//", "#", "*"].iter().any(|mark| text.starts_with(mark));
    if is_comment {
        return false;
    }
    reaches_in(text) || OWNERS.iter().any(|owner| assigns(text, owner)) || shadows(text)
}

/// The private package of pytest: its parts are nobody's to use but its plugins'.
fn reaches_in(text: &str) -> bool {
    let starts = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    text.match_indices("_pytest").any(|(at, word)| {
        let rest = &text[at + word.len()..];
        starts(at) && (rest.is_empty() || rest.starts_with(['.', ' ', '\'', '"', ',', ')']))
    })
}

/// `assert.equal = …`, `unittest.TestCase.assertEqual = …`; a comparison and a named argument are none.
fn assigns(text: &str, owner: &str) -> bool {
    text.match_indices(owner).any(|(at, _)| {
        let before = &text[..at];
        let is_whole = before.is_empty() || before.ends_with([' ', ';', '.', '{', '(', ':']);
        let path = text[at + owner.len()..].trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        let rest = path.trim_start();
        is_whole
            && path.len() < text.len() - at - owner.len()
            && rest.starts_with('=')
            && !rest.starts_with("==")
            && !rest.starts_with("=>")
    })
}

/// `macro_rules! assert_eq`.
fn shadows(text: &str) -> bool {
    text.split_once("macro_rules!").is_some_and(|(_, name)| {
        let name = name.trim_start();
        let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        MACROS.contains(&&name[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_replaces_an_assertion_is_told_from_what_uses_one() {
        for (text, wanted) in [
            ("from _pytest.python import Function", true),
            ("    Function.runtest = _pytest.python.x", true),
            ("import _pytest", true),
            ("assert.equal = () => {};", true),
            ("  assert.strict.equal=noop", true),
            ("unittest.TestCase.assertEqual = lambda *a: None", true),
            ("TestCase.assertTrue = f", true),
            ("macro_rules! assert_eq { ($a:expr, $b:expr) => {{}}; }", true),
            ("macro_rules! assert{", true),
            ("macro_rules! assert_close { () => {} }", false),
            ("assert.equal(a, b);", false),
            ("const equal = assert.equal;", false),
            ("if (assert.equal == x) {}", false),
            ("f(expect.any => 1)", false),
            ("my_pytest.x = 1", false),
            ("# from _pytest.python import Function", false),
            ("// assert.equal = x", false),
            ("import pytest", false),
            ("pytest.mark.skip", false),
        ] {
            assert_eq!(is_replaced(text), wanted, "{text}");
        }
    }
}
