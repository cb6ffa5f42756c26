//! Markers that keep a test from running, or turn its failure into a success.

use super::lexed::{Lexed, Token, TokenKind};

/// What a marker does to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkerKind {
    /// It does not run (`skip`, `#[ignore]`, `xit`).
    Skip,
    /// No other test runs (`only`, `fit`).
    Only,
    /// Its failure is a success (`xfail`, `failing`).
    ExpectedFailure,
    /// It is announced and not run (`todo`).
    Todo,
    /// It must panic (`#[should_panic]`).
    MustPanic,
}

impl MarkerKind {
    /// The word for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Only => "only",
            Self::ExpectedFailure => "expected failure",
            Self::Todo => "todo",
            Self::MustPanic => "must panic",
        }
    }
}

/// A marker on a test, its class, its module or its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// What it does.
    pub kind: MarkerKind,
    /// Where, counted from 1.
    pub line: usize,
    /// True if a condition decides whether it applies (`skipif`, a skip inside an `if`, `cfg_attr`).
    pub conditional: bool,
}

/// Markers that a test's own statements set: `pytest.skip()`, `t.Skip()`, `this.skip()`.
///
/// `outer` is how deep the body's first block lies among the tokens.
pub(super) fn in_body(lexed: &Lexed<'_>, tokens: &[Token<'_>], outer: usize) -> Vec<Marker> {
    const CALLS: &[(&[&str], &str, MarkerKind)] = &[
        (&["pytest"], "skip", MarkerKind::Skip),
        (&["pytest"], "xfail", MarkerKind::ExpectedFailure),
        (&["pytest"], "importorskip", MarkerKind::Skip),
        (&["self"], "skipTest", MarkerKind::Skip),
        (&["unittest"], "SkipTest", MarkerKind::Skip),
        (&["this", "t", "ctx", "context", "test"], "skip", MarkerKind::Skip),
        (&["t", "ctx", "context"], "todo", MarkerKind::Todo),
        (&["t", "b", "tb"], "Skip", MarkerKind::Skip),
        (&["t", "b", "tb"], "Skipf", MarkerKind::Skip),
        (&["t", "b", "tb"], "SkipNow", MarkerKind::Skip),
    ];
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Indent => depth += 1,
            TokenKind::Dedent => depth = depth.saturating_sub(1),
            TokenKind::Symbol if token.text == "{" => depth += 1,
            TokenKind::Symbol if token.text == "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let Some([dot, name, open]) = tokens.get(index + 1..index + 4) else { continue };
        if dot.text != "." || open.text != "(" {
            continue;
        }
        let call = CALLS.iter().find(|(on, called, _)| name.text == *called && on.contains(&token.text.as_ref()));
        if let Some((_, called, kind)) = call {
            let guarded = index.checked_sub(1).is_some_and(|before| tokens[before].text == ")");
            let conditional = depth > outer || guarded && !token.first || *called == "importorskip";
            found.push(Marker { kind: *kind, line: lexed.line_of(token.at), conditional });
        }
    }
    found
}
