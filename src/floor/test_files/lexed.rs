//! Source text split into code, comments and strings: all that the scanners of tests need, and no grammar.
//!
//! It is tolerant: text that no compiler would take still gives spans, and an open string or comment ends with its line
//! or with the file. Known to be rough: a JavaScript regular expression is told from a division by what stands before
//! it; what stands in a template string's `${…}` counts as string.

use std::borrow::Cow;
use std::ops::Range;

/// How a language writes comments and strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::floor) enum Syntax {
    /// Nested block comments, raw strings, lifetimes.
    Rust,
    /// `#`, triple quotes; blocks by indentation.
    Python,
    /// Template strings, regular expressions.
    JavaScript,
    /// Raw strings in backquotes.
    Go,
    /// Java, Kotlin, C#, PHP and the like.
    Braces,
    /// `#` comments and quoted strings: Ruby, shell, YAML.
    Hash,
}

/// A stretch that is no code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::floor) struct Span {
    pub(in crate::floor) range: Range<usize>,
    pub(in crate::floor) is_comment: bool,
}

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::floor) enum TokenKind {
    Word,
    Number,
    Text,
    Symbol,
    /// A block of Python begins.
    Indent,
    /// A block of Python ends.
    Dedent,
}

/// One token, at its offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::floor) struct Token<'t> {
    pub(in crate::floor) text: Cow<'t, str>,
    pub(in crate::floor) at: usize,
    pub(in crate::floor) kind: TokenKind,
    /// First of its logical line (outside brackets).
    pub(in crate::floor) first: bool,
}

/// A lexed text. Offsets are bytes of the text.
#[derive(Debug)]
pub(in crate::floor) struct Lexed<'t> {
    pub(in crate::floor) text: &'t str,
    /// The text with comments and strings blanked, a `"` left where each string starts; same length, same lines.
    pub(in crate::floor) code: String,
    pub(in crate::floor) spans: Vec<Span>,
    syntax: Syntax,
    line_starts: Vec<usize>,
    /// Each opening bracket with the offset behind its closing one, in order. Found once: a hostile file must not make
    /// every look-up a walk to its end.
    brackets: Vec<(usize, usize)>,
}

/// A signature or head longer than this is not read.
const HEAD: usize = 4 << 10;

const SYMBOLS: &[&str] = &[
    "===", "!==", "...", "<<=", ">>=", "**=", "==", "!=", "<=", ">=", "=>", "->", "::", "&&", "||", ":=", "+=", "-=",
    "?.", "??", "..",
];

impl<'t> Lexed<'t> {
    pub(in crate::floor) fn new(text: &'t str, syntax: Syntax) -> Self {
        let mut spans = Vec::new();
        let mut code = String::with_capacity(text.len());
        let mut at = 0;
        let mut before = Before::default();
        while let Some(c) = text[at..].chars().next() {
            let Some((length, is_comment)) = span_at(&text[at..], syntax, before) else {
                code.push(c);
                before.see(c, &code);
                at += c.len_utf8();
                continue;
            };
            let end = at + length;
            blank(&text[at..end], is_comment, &mut code);
            if !is_comment {
                before = Before { last: '"', word: false, operand: true };
            }
            spans.push(Span { range: at..end, is_comment });
            at = end;
        }
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1))
            .collect();
        let brackets = brackets(&code);
        Self { text, code, spans, syntax, line_starts, brackets }
    }

    pub(in crate::floor) fn syntax(&self) -> Syntax {
        self.syntax
    }

    /// The line of an offset, counted from 1.
    pub(in crate::floor) fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// Where the line of an offset starts.
    pub(in crate::floor) fn line_start(&self, at: usize) -> usize {
        self.line_starts[self.line_of(at).saturating_sub(1)]
    }

    /// The lines that a range of bytes touches, counted from 1.
    pub(in crate::floor) fn lines_of(&self, range: &Range<usize>) -> Range<usize> {
        let last = self.line_of(range.end.saturating_sub(1).max(range.start));
        self.line_of(range.start)..last + 1
    }

    /// The string that starts at this offset, with its quotes.
    pub(in crate::floor) fn string_at(&self, at: usize) -> Option<&'t str> {
        let index = self.spans.partition_point(|span| span.range.start < at);
        let span = self.spans.get(index).filter(|span| span.range.start == at && !span.is_comment)?;
        Some(&self.text[span.range.clone()])
    }

    /// The offset behind the bracket that closes the one at `open`; the end of the text if none does.
    pub(in crate::floor) fn after_closing(&self, open: usize) -> usize {
        let found = self.brackets.binary_search_by_key(&open, |(open, _)| *open);
        found.map_or(self.code.len(), |index| self.brackets[index].1)
    }

    /// What the bracket at `open` holds; up to the end of the text if nothing closes it.
    pub(in crate::floor) fn inside(&self, open: usize) -> Range<usize> {
        let end = self.after_closing(open);
        let closed = end > open + 1 && matches!(self.code.as_bytes()[end - 1], b')' | b']' | b'}');
        // A text may end in a bracket that closes another one: then one byte less is still a boundary.
        let end = if closed { end - 1 } else { end };
        (open + 1).min(end)..end
    }

    /// The code from here on, as far as a signature may reach.
    pub(in crate::floor) fn head(&self, at: usize) -> &str {
        let mut end = at.saturating_add(HEAD).min(self.code.len());
        while !self.code.is_char_boundary(end) {
            end -= 1;
        }
        self.code.get(at..end).unwrap_or_default()
    }

    /// The tokens of a range, comments left out. In Python, blocks give [`TokenKind::Indent`] and [`TokenKind::Dedent`].
    pub(in crate::floor) fn tokens(&self, range: Range<usize>) -> Vec<Token<'t>> {
        let mut out = Vec::new();
        let mut blocks = Blocks::default();
        let mut at = range.start;
        let mut next = self.spans.partition_point(|span| span.range.start < at);
        let mut line = usize::MAX;
        while at < range.end {
            if let Some(span) = self.spans.get(next).filter(|span| span.range.start == at) {
                next += 1;
                if span.is_comment {
                    at = span.range.end;
                    continue;
                }
                let text = quoted(&self.text[span.range.clone()]);
                self.push(&mut out, &mut blocks, &mut line, Token { text, at, kind: TokenKind::Text, first: false });
                at = span.range.end;
                continue;
            }
            let rest = &self.code[at..range.end];
            let Some(c) = rest.chars().next() else { break };
            if c.is_whitespace() {
                at += c.len_utf8();
                continue;
            }
            let (length, kind) = word_or_symbol(rest, c);
            let text = Cow::Borrowed(&self.text[at..at + length]);
            self.push(&mut out, &mut blocks, &mut line, Token { text, at, kind, first: false });
            at += length;
        }
        out
    }

    fn push(&self, out: &mut Vec<Token<'t>>, blocks: &mut Blocks, line: &mut usize, mut token: Token<'t>) {
        let here = self.line_of(token.at);
        let new_line = here != *line && blocks.brackets == 0;
        *line = here;
        token.first = new_line;
        if self.syntax == Syntax::Python && new_line {
            let indent = token.at - self.line_start(token.at);
            blocks.settle(indent, token.at, out);
        }
        match token.text.as_ref() {
            "(" | "[" | "{" if token.kind == TokenKind::Symbol => blocks.brackets += 1,
            ")" | "]" | "}" if token.kind == TokenKind::Symbol => blocks.brackets = blocks.brackets.saturating_sub(1),
            _ => {}
        }
        if self.syntax != Syntax::Python {
            blocks.brackets = 0;
        }
        out.push(token);
    }
}

fn brackets(code: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => {
                open.push(found.len());
                found.push((at, code.len()));
            }
            b')' | b']' | b'}' => {
                if let Some(index) = open.pop() {
                    found[index].1 = at + 1;
                }
            }
            _ => {}
        }
    }
    found
}

/// The open blocks of Python while tokens are read.
#[derive(Default)]
struct Blocks {
    brackets: usize,
    indents: Vec<usize>,
}

impl Blocks {
    fn settle(&mut self, indent: usize, at: usize, out: &mut Vec<Token<'_>>) {
        let edge = |text: &'static str, kind| Token { text: Cow::Borrowed(text), at, kind, first: false };
        if self.indents.is_empty() {
            self.indents.push(indent);
            return;
        }
        if self.indents.last().is_some_and(|top| indent > *top) {
            self.indents.push(indent);
            out.push(edge("»", TokenKind::Indent));
        }
        while self.indents.len() > 1 && self.indents.last().is_some_and(|top| indent < *top) {
            self.indents.pop();
            out.push(edge("«", TokenKind::Dedent));
        }
    }
}

/// Tokens as one text that no formatter changes: one blank between tokens, no trailing commas, one kind of quotes.
pub(in crate::floor) fn normalised(tokens: &[Token<'_>], syntax: Syntax) -> String {
    let mut out = String::new();
    for (index, token) in tokens.iter().enumerate() {
        let closes = tokens.get(index + 1).is_some_and(|next| matches!(next.text.as_ref(), ")" | "]" | "}"));
        let idle = (token.text == "," && closes) || (token.text == ";" && syntax == Syntax::JavaScript);
        if !idle {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&token.text);
        }
    }
    out
}

/// What stands before a place, as far as it decides what a quote or a slash means there.
#[derive(Clone, Copy, Default)]
struct Before {
    last: char,
    word: bool,
    operand: bool,
}

impl Before {
    fn see(&mut self, c: char, code: &str) {
        let word = c.is_alphanumeric() || matches!(c, '_' | '$');
        if !c.is_whitespace() {
            self.operand = if word { !ends_in_keyword(code) } else { matches!(c, ')' | ']' | '}') };
        }
        (self.last, self.word) = (c, word);
    }
}

fn ends_in_keyword(code: &str) -> bool {
    // Longest keyword here: `typeof`.
    let tail: Vec<char> = code.chars().rev().take(7).take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let word: String = tail.into_iter().rev().collect();
    matches!(word.as_str(), "return" | "typeof" | "case" | "in" | "of" | "delete" | "void" | "throw" | "new" | "await")
}

/// The length of the comment or string that starts here, and whether it is a comment.
fn span_at(rest: &str, syntax: Syntax, before: Before) -> Option<(usize, bool)> {
    let bytes = rest.as_bytes();
    let line_comment = || Some((rest.find('\n').unwrap_or(rest.len()), true));
    let hash = matches!(syntax, Syntax::Python | Syntax::Hash);
    match bytes[0] {
        b'#' if hash => line_comment(),
        b'/' if !hash && bytes.get(1) == Some(&b'/') => line_comment(),
        b'/' if !hash && bytes.get(1) == Some(&b'*') => Some((block_comment(rest, syntax == Syntax::Rust), true)),
        b'/' if syntax == Syntax::JavaScript && !before.operand => Some((regular_expression(rest)?, false)),
        b'r' | b'b' | b'c' if syntax == Syntax::Rust && !before.word => Some((raw_string(rest)?, false)),
        b'"' | b'\'' if syntax == Syntax::Python => Some((python_string(rest), false)),
        b'"' => Some((string(rest, '"', syntax == Syntax::Rust), false)),
        b'\'' if syntax == Syntax::Rust => Some((character(rest)?, false)),
        b'\'' => Some((string(rest, '\'', false), false)),
        b'`' if syntax == Syntax::Go => Some((1 + rest[1..].find('`').map_or(rest.len() - 1, |end| end + 1), false)),
        b'`' if syntax == Syntax::JavaScript => Some((template(rest), false)),
        _ => None,
    }
}

fn string(rest: &str, quote: char, over_lines: bool) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' if !over_lines && !escaped => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn python_string(rest: &str) -> usize {
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    if !rest.starts_with(&triple) {
        return string(rest, if quote == "\"" { '"' } else { '\'' }, false);
    }
    let mut at = 3;
    while let Some(c) = rest[at..].chars().next() {
        if rest[at..].starts_with(&triple) {
            return at + 3;
        }
        at += c.len_utf8();
        if c == '\\' {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    rest.len()
}

/// A Rust character; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let mut after = rest.chars().skip(1);
    match (after.next()?, after.next()) {
        ('\\', _) => Some(string(rest, '\'', false)),
        (c, Some('\'')) => Some(2 + c.len_utf8()),
        _ => None,
    }
}

fn raw_string(rest: &str) -> Option<usize> {
    let inner = ["br", "cr", "r"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(rest.len() - body.len() + body.find(&end).map_or(body.len(), |at| at + end.len()))
}

fn block_comment(rest: &str, nests: bool) -> usize {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (1_usize, 2);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            b"/*" if nests => (depth, at) = (depth + 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

/// A template string with what it embeds, nested ones included.
fn template(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    // `None`: in a string; `Some(n)`: in an embedded expression, n braces deep.
    let mut nest: Vec<Option<usize>> = vec![None];
    let mut at = 1;
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        let Some(top) = nest.last_mut() else { return at - 1 };
        match (top, byte) {
            (_, b'\\') => at += usize::from(bytes.get(at).is_some_and(u8::is_ascii)),
            (None, b'`') => {
                nest.pop();
                if nest.is_empty() {
                    return at;
                }
            }
            (None, b'$') if bytes.get(at) == Some(&b'{') => {
                at += 1;
                nest.push(Some(0));
            }
            (Some(_), b'`') => nest.push(None),
            (Some(depth), b'{') => *depth += 1,
            (Some(0), b'}') => {
                nest.pop();
            }
            (Some(depth), b'}') => *depth -= 1,
            _ => {}
        }
    }
    rest.len()
}

fn regular_expression(rest: &str) -> Option<usize> {
    let (mut escaped, mut in_class) = (false, false);
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn blank(span: &str, is_comment: bool, code: &mut String) {
    let start = code.len();
    for c in span.chars() {
        if c == '\n' {
            code.push('\n');
        } else {
            code.extend(std::iter::repeat_n(' ', c.len_utf8()));
        }
    }
    if !is_comment {
        // Every string starts with an ASCII byte.
        code.replace_range(start..=start, "\"");
    }
}

/// A string token; `'a'` and `"a"` are one.
fn quoted(raw: &str) -> Cow<'_, str> {
    match raw.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')) {
        Some(inner) if !inner.contains('"') => Cow::Owned(format!("\"{inner}\"")),
        _ => Cow::Borrowed(raw),
    }
}

fn word_or_symbol(rest: &str, c: char) -> (usize, TokenKind) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    if c.is_ascii_digit() {
        return (number(rest), TokenKind::Number);
    }
    if is_word(c) {
        return (rest.find(|c| !is_word(c)).unwrap_or(rest.len()), TokenKind::Word);
    }
    let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
    (symbol.map_or(c.len_utf8(), |symbol| symbol.len()), TokenKind::Symbol)
}

fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hexadecimal = bytes.get(1).is_some_and(|b| matches!(b, b'x' | b'X'));
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        let after = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let exponent = !hexadecimal && matches!(bytes[at - 1], b'e' | b'E');
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => at += 1,
            b'.' if after => at += 1,
            b'+' | b'-' if exponent && after => at += 1,
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Syntax; 6] =
        [Syntax::Rust, Syntax::Python, Syntax::JavaScript, Syntax::Go, Syntax::Braces, Syntax::Hash];

    #[test]
    fn comments_and_strings_are_no_code() {
        for (syntax, text, code) in [
            (Syntax::Rust, "a /* /* x */ y */ b // z", "a                 b     "),
            (Syntax::Rust, "f('x', r#\"a\"b\"#) &'a T", "f(\"  , \"       ) &'a T"),
            (Syntax::Python, "x = '''a\n# b''' # c", "x = \"   \n          "),
            (Syntax::JavaScript, "a = b / c; d(/[/'\"]/g)", "a = b / c; d(\"      g)"),
            (Syntax::JavaScript, "`a ${ `b` + {c: '}'} } d` + e", "\"                         + e"),
            (Syntax::Go, "x := `a\n\"b` + 'c'", "x := \" \n    + \"  "),
            (Syntax::Hash, "a 'b # c' # d", "a \"        "),
        ] {
            let lexed = Lexed::new(text, syntax);
            assert_eq!(lexed.code.trim_end(), code.trim_end(), "{text}");
            assert_eq!(lexed.code.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn formatting_does_not_change_the_normal_form() {
        let normal = |text: &str, syntax| {
            let lexed = Lexed::new(text, syntax);
            normalised(&lexed.tokens(0..text.len()), syntax)
        };
        for (syntax, one, two) in [
            (
                Syntax::Python,
                "if a:\n  f('x')\n  g(1e-9)\n",
                "if a:\n    f(\"x\")  # why\n    g(\n        1e-9,\n    )\n",
            ),
            (Syntax::JavaScript, "f(1,'a');\ng()", "f(\n  1,\n  \"a\",\n)\ng();"),
            (Syntax::Rust, "f(a::b,1.5)", "f(\n    a::b, // x\n    1.5,\n)"),
        ] {
            assert_eq!(normal(one, syntax), normal(two, syntax));
        }
        assert_ne!(normal("if a:\n  f()\ng()", Syntax::Python), normal("if a:\n  f()\n  g()", Syntax::Python));
    }

    proptest! {
        #[test]
        fn any_text_is_lexed_without_losing_its_place(text in "[a-z0-9 \n\t'\"`/*#\\\\${}()\\[\\]ré=»:.e+-]{0,80}") {
            for syntax in ALL {
                let lexed = Lexed::new(&text, syntax);
                prop_assert_eq!(lexed.code.len(), text.len());
                prop_assert_eq!(lexed.code.matches('\n').count(), text.matches('\n').count());
                for token in lexed.tokens(0..text.len()) {
                    prop_assert!(token.at <= text.len());
                }
            }
        }
    }
}
