//! Where comments and strings end, language by language.

use super::Syntax;

/// What stands before a place, as far as it decides what a quote or a slash means there.
#[derive(Clone, Copy, Default)]
pub(super) struct Before {
    pub(super) last: char,
    pub(super) word: bool,
    pub(super) operand: bool,
}

impl Before {
    pub(super) fn see(&mut self, c: char, code: &str) {
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
pub(super) fn span_at(rest: &str, syntax: Syntax, before: Before) -> Option<(usize, bool)> {
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
