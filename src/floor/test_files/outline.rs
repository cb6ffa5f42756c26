//! What every language's scanner hands over, made into definitions in one way.

use super::assertion::{Assertion, Strength, assertions};
use super::lexed::{Lexed, Syntax, Token, TokenKind, normalised};
use super::marker::{Marker, MarkerKind, in_body};
use std::ops::Range;

/// A test that a runner would collect from this file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestDefinition {
    /// Its name below the file: module, class or `describe` names and its own, joined with `::`.
    pub name: String,
    /// Its lines, attributes and decorators included, counted from 1; the end is exclusive.
    pub lines: Range<usize>,
    /// Its body in normal form (no comments, one blank between tokens), without its name and without tests inside it.
    pub body: String,
    /// The arguments of its attributes, decorators or `each`, in normal form.
    pub parameters: String,
    /// What keeps it from running or from failing, its own and inherited from class, module and file.
    pub markers: Vec<Marker>,
    /// Its assertions.
    pub assertions: Vec<Assertion>,
    /// True if something in it can fail: an assertion, `?`, an unwrap, a throw, or a call into a helper (RULINGS 14).
    pub can_fail: bool,
    /// True if nothing is left in it that does anything.
    pub is_empty: bool,
}

impl TestDefinition {
    /// The name without what it belongs to.
    pub fn own_name(&self) -> &str {
        self.name.rsplit("::").next().unwrap_or(&self.name)
    }
}

/// A function of a test file that no runner collects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its own name.
    pub name: String,
    /// Its first line, counted from 1.
    pub line: usize,
    /// Its body in normal form.
    pub body: String,
    /// Its assertions.
    pub assertions: Vec<Assertion>,
}

/// Tests inside tests deeper than this are not told apart: a hostile file must not cost its square.
pub(super) const DEEPEST: usize = 16;

/// What a file defines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// In reading order.
    pub tests: Vec<TestDefinition>,
    /// In reading order.
    pub functions: Vec<Function>,
}

/// A function or test as a scanner finds it; ranges are bytes.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) whole: Range<usize>,
    pub(super) body: Range<usize>,
    pub(super) parameters: Vec<Range<usize>>,
    pub(super) markers: Vec<Marker>,
    pub(super) is_test: bool,
}

/// Settles a scanner's drafts.
pub(super) fn settle(lexed: &Lexed<'_>, drafts: &[Draft]) -> Outline {
    let mut outline = Outline::default();
    let spoken = |ranges: &[Range<usize>]| {
        let each = ranges.iter().map(|range| normalised(&lexed.tokens(range.clone()), lexed.syntax()));
        each.collect::<Vec<_>>().join(" ")
    };
    let mut open: Vec<usize> = Vec::new();
    for (index, draft) in drafts.iter().enumerate() {
        open.retain(|end| *end > draft.whole.start);
        if open.len() >= DEEPEST {
            continue;
        }
        open.push(draft.whole.end);
        let inner = drafts[index + 1..].iter().take_while(|other| other.whole.start < draft.whole.end);
        let inner: Vec<&Range<usize>> = inner.filter(|other| other.is_test).map(|other| &other.whole).collect();
        let outside = |token: &Token<'_>| {
            let next = inner.partition_point(|range| range.end <= token.at);
            inner.get(next).is_none_or(|range| token.at < range.start)
        };
        let tokens: Vec<Token<'_>> = lexed.tokens(draft.body.clone()).into_iter().filter(outside).collect();
        let body = normalised(&tokens, lexed.syntax());
        let found = assertions(lexed, &tokens);
        if !draft.is_test {
            let line = lexed.line_of(draft.whole.start);
            outline.functions.push(Function { name: draft.name.clone(), line, body, assertions: found });
            continue;
        }
        let mut markers = draft.markers.clone();
        markers.extend(in_body(lexed, &tokens, usize::from(lexed.syntax() == Syntax::JavaScript)));
        outline.tests.push(TestDefinition {
            name: draft.name.clone(),
            lines: lexed.lines_of(&draft.whole),
            parameters: spoken(&draft.parameters),
            can_fail: can_fail(&tokens, &found, &markers) || !inner.is_empty(),
            is_empty: inner.is_empty() && is_empty(&tokens, &found),
            markers,
            assertions: found,
            body,
        });
    }
    let helpers: Vec<&str> =
        outline.functions.iter().filter(|function| !function.assertions.is_empty()).map(|f| f.name.as_str()).collect();
    for test in &mut outline.tests {
        test.can_fail |= test.body.split(' ').any(|word| helpers.contains(&word));
    }
    outline
}

fn can_fail(tokens: &[Token<'_>], found: &[Assertion], markers: &[Marker]) -> bool {
    const HELPERS: &[&str] = &["assert", "check", "verify", "expect", "should", "must", "ensure"];
    let calls = |pair: &[Token<'_>]| {
        let word = pair[0].text.to_ascii_lowercase();
        pair[0].kind == TokenKind::Word
            && matches!(pair[1].text.as_ref(), "(" | "!")
            && HELPERS.iter().any(|helper| word.starts_with(helper) || word.contains(&format!("_{helper}")))
    };
    let raises = |token: &Token<'_>| {
        matches!(token.text.as_ref(), "?" | "unwrap" | "unwrap_err" | "expect_err" | "raise" | "throw")
    };
    found.iter().any(|assertion| assertion.strength > Strength::Nothing)
        || markers.iter().any(|marker| marker.kind == MarkerKind::MustPanic)
        || tokens.iter().any(raises)
        || tokens.windows(2).any(calls)
}

/// True if the body does nothing: no call, no assertion that says anything, no operator that could fail.
fn is_empty(tokens: &[Token<'_>], found: &[Assertion]) -> bool {
    let acts = tokens.windows(2).enumerate().any(|(index, pair)| {
        let named = pair[0].kind == TokenKind::Word
            && !matches!(pair[0].text.as_ref(), "async" | "function" | "assert" | "expect" | "assert_eq");
        // `(t) => {`, `function () {`: the wrapper of a JavaScript body is no call.
        named
            && pair[1].text == "("
            && index > 0
            && !tokens[index - 1].text.eq("function")
            && tokens[index - 1].text != "self"
            || named && pair[1].text == "!" && !matches!(pair[0].text.as_ref(), "assert" | "assert_eq" | "assert_ne")
            || index == 0 && named && pair[1].text == "("
    });
    let does = tokens
        .iter()
        .any(|token| matches!(token.text.as_ref(), "?" | "raise" | "throw" | "await" | "for" | "while" | "with"));
    !acts && !does && found.iter().all(|assertion| assertion.strength == Strength::Nothing)
}
