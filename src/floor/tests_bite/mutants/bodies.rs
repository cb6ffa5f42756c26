//! A function that does nothing: the wrong that is left where the changed lines hold no token to turn around. Pure.
//!
//! `pub fn loud(s: &str) -> String { s.to_uppercase() }` has no comparison, no literal and no `return`; still a test that
//! proves it must notice when it gives an empty answer. What is put in is a guess at the type: a mutant that does not
//! build does not count.

use crate::floor::test_files::lexed::{Lexed, Syntax, Token, TokenKind};
use std::ops::Range;

/// One function that can be emptied.
pub(super) struct Body {
    /// Where it begins: its `fn`, `def`, name or parameters.
    pub(super) at: usize,
    /// Everything of it.
    pub(super) whole: Range<usize>,
    /// What is replaced, and by what.
    pub(super) range: Range<usize>,
    pub(super) with: String,
}

/// Words before parentheses and a brace that are no method's name.
const STATEMENTS: &[&str] = &["if", "for", "while", "switch", "catch", "with", "function", "return"];

/// All functions of this text that can be emptied, in reading order.
pub(super) fn bodies(lexed: &Lexed<'_>, tokens: &[Token<'_>]) -> Vec<Body> {
    let of = match lexed.syntax() {
        Syntax::Rust => rust,
        Syntax::Python => python,
        Syntax::JavaScript => javascript,
        Syntax::Go => go,
        Syntax::Braces | Syntax::Hash => return Vec::new(),
    };
    (0..tokens.len()).filter_map(|index| of(lexed, tokens, index)).collect()
}

fn is_symbol(token: &Token<'_>, text: &str) -> bool {
    token.kind == TokenKind::Symbol && token.text == text
}

fn is_word(token: &Token<'_>, text: &str) -> bool {
    token.kind == TokenKind::Word && token.text == text
}

/// The first token at or behind this offset.
fn first_from<'l, 't>(tokens: &'l [Token<'t>], at: usize) -> Option<&'l Token<'t>> {
    tokens.get(tokens.partition_point(|token| token.at < at))
}

/// The first of these signs from an offset on, before anything that ends a signature.
fn sign<'l, 't>(tokens: &'l [Token<'t>], at: usize, wanted: &str) -> Option<&'l Token<'t>> {
    let from = tokens.partition_point(|token| token.at < at);
    let mut rest = tokens[from..].iter();
    rest.find(|token| {
        token.kind == TokenKind::Symbol && (token.text == wanted || matches!(token.text.as_ref(), ";" | "}"))
    })
    .filter(|token| token.text == wanted)
}

/// Puts `with` between the braces at `open`.
fn emptied(lexed: &Lexed<'_>, at: usize, open: usize, with: &str) -> Option<Body> {
    let range = lexed.inside(open);
    let was = lexed.text.get(range.clone())?.trim();
    (!was.is_empty() && was != with.trim()).then(|| Body {
        at,
        whole: at..lexed.after_closing(open),
        range,
        with: with.to_owned(),
    })
}

/// Leaves the braces at `open` at once. What follows is never reached, so that names used there stay used.
fn left_at_once(lexed: &Lexed<'_>, at: usize, open: usize, with: &str) -> Option<Body> {
    let range = lexed.inside(open);
    let was = lexed.text.get(range.clone())?.trim();
    (!was.is_empty() && !was.starts_with(with.trim())).then(|| Body {
        at,
        whole: at..lexed.after_closing(open),
        range: range.start..range.start,
        with: with.to_owned(),
    })
}

fn rust(lexed: &Lexed<'_>, tokens: &[Token<'_>], index: usize) -> Option<Body> {
    let token = tokens.get(index).filter(|token| is_word(token, "fn"))?;
    let open = parameters(tokens, index)?;
    let signature_end = lexed.after_closing(open.at);
    let brace = sign(tokens, signature_end, "{")?;
    let answer = lexed.code.get(signature_end..brace.at)?;
    let answer = answer.split(" where ").next().unwrap_or_default().trim();
    let with = match answer.strip_prefix("->").map(str::trim) {
        None => "",
        Some(kind) if kind.split('<').next().is_some_and(|head| head.trim().ends_with("Result")) => {
            " Ok(Default::default()) "
        }
        Some(_) => " Default::default() ",
    };
    emptied(lexed, token.at, brace.at, with)
}

/// Where a Rust function's parameters open: behind its name and what stands in angle brackets, which may hold parentheses.
fn parameters<'l, 't>(tokens: &'l [Token<'t>], index: usize) -> Option<&'l Token<'t>> {
    let mut depth = 0_usize;
    tokens.get(index + 1..)?.iter().find(|token| {
        match token.text.as_ref() {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_symbol(token, "(")
    })
}

fn python(lexed: &Lexed<'_>, tokens: &[Token<'_>], index: usize) -> Option<Body> {
    let token = tokens.get(index).filter(|token| is_word(token, "def"))?;
    let open = sign(tokens, token.at, "(")?;
    let colon = sign(tokens, lexed.after_closing(open.at), ":")?;
    let behind = tokens.partition_point(|token| token.at <= colon.at);
    let is_edge = |token: &Token<'_>| matches!(token.kind, TokenKind::Indent | TokenKind::Dedent);
    let first = tokens[behind..].iter().find(|token| !is_edge(token))?;
    let start = lexed.line_start(first.at);
    if start <= colon.at {
        return None;
    }
    let indent = lexed.text.get(start..first.at).filter(|indent| indent.trim().is_empty() && !indent.is_empty())?;
    // The block ends with the line before the first one that stands no deeper than its `def`.
    let outside =
        lexed.text[lexed.line_start(token.at)..].len() - lexed.text[lexed.line_start(token.at)..].trim_start().len();
    let end = tokens[behind..]
        .iter()
        .find(|token| token.first && token.at - lexed.line_start(token.at) <= outside)
        .map_or(lexed.text.len(), |token| lexed.line_start(token.at));
    Some(Body { at: token.at, whole: token.at..end, range: start..start, with: format!("{indent}return None\n") })
}

fn javascript(lexed: &Lexed<'_>, tokens: &[Token<'_>], index: usize) -> Option<Body> {
    let token = tokens.get(index)?;
    if is_symbol(token, "=>") {
        let next = tokens.get(index + 1)?;
        if is_symbol(next, "{") {
            return left_at_once(lexed, token.at, next.at, " return undefined;");
        }
        return arrow(lexed, token.at);
    }
    if is_word(token, "function") {
        let open = sign(tokens, token.at, "(")?;
        let brace = sign(tokens, lexed.after_closing(open.at), "{")?;
        return left_at_once(lexed, token.at, brace.at, " return undefined;");
    }
    // A method: a name, its parameters and, at once, its body.
    let is_name = token.kind == TokenKind::Word && !STATEMENTS.contains(&token.text.as_ref());
    let open = tokens.get(index + 1).filter(|next| is_name && is_symbol(next, "("))?;
    let is_named_function = index > 0 && is_word(&tokens[index - 1], "function");
    let brace = first_from(tokens, lexed.after_closing(open.at)).filter(|t| is_symbol(t, "{") && !is_named_function)?;
    left_at_once(lexed, token.at, brace.at, " return undefined;")
}

/// `=> X` gives nothing, where X ends with its line.
fn arrow(lexed: &Lexed<'_>, at: usize) -> Option<Body> {
    let start = at + "=>".len();
    let end = lexed.text[start..].find('\n').map_or(lexed.text.len(), |length| start + length);
    let code = lexed.code.get(start..end)?;
    let code = &code[..code.find(';').unwrap_or(code.len())];
    let is_open =
        [('(', ')'), ('[', ']'), ('{', '}')].iter().any(|(o, c)| code.matches(*o).count() != code.matches(*c).count());
    let value = lexed.text.get(start..start + code.len())?.trim_end().trim_end_matches(',');
    let told = value.trim();
    if is_open || told.is_empty() || told == "undefined" {
        return None;
    }
    let range = start..start + value.len();
    Some(Body { at, whole: at..range.end, range, with: " undefined".to_owned() })
}

fn go(lexed: &Lexed<'_>, tokens: &[Token<'_>], index: usize) -> Option<Body> {
    let token = tokens.get(index).filter(|token| is_word(token, "func"))?;
    let mut open = tokens.get(index + 1)?;
    // A receiver is a pair of parentheses with a name behind it.
    if is_symbol(open, "(") {
        let behind = first_from(tokens, lexed.after_closing(open.at))?;
        if behind.kind == TokenKind::Word && is_method(lexed, tokens, behind) {
            open = behind;
        }
    }
    let open = sign(tokens, open.at, "(")?;
    let signature_end = lexed.after_closing(open.at);
    let brace = sign(tokens, signature_end, "{")?;
    let answer = lexed.text.get(signature_end..brace.at)?.trim();
    let list = answer.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let is_named = list.is_some_and(|list| list.split(',').all(|one| one.trim().contains(' ')));
    let zeros: Vec<String> = list.unwrap_or(answer).split(',').map(|kind| format!("*new({})", kind.trim())).collect();
    let with = if answer.is_empty() || is_named {
        "\nreturn\n".to_owned()
    } else {
        format!("\nreturn {}\n", zeros.join(", "))
    };
    left_at_once(lexed, token.at, brace.at, &with)
}

/// Whether this word, behind a receiver, is a method's name: its parameters follow at once.
fn is_method(lexed: &Lexed<'_>, tokens: &[Token<'_>], word: &Token<'_>) -> bool {
    let next = first_from(tokens, word.at + 1);
    next.is_some_and(|next| is_symbol(next, "(") && lexed.text[word.at..next.at].trim() == word.text)
}

#[cfg(test)]
mod tests {
    use super::super::mutants;
    use super::*;

    fn texts(text: &str, syntax: Syntax) -> Vec<String> {
        let all = (1..=text.lines().count()).collect();
        mutants(text, syntax, &all).into_iter().map(|mutant| mutant.text).collect()
    }

    #[test]
    fn a_function_without_any_small_wrong_is_emptied() {
        let table = [
            (
                Syntax::Rust,
                "pub fn loud(s: &str) -> String { s.to_uppercase() }\n",
                "pub fn loud(s: &str) -> String { Default::default() }\n",
            ),
            (
                Syntax::Rust,
                "fn load<T: Of<(u8, u8)>>(p: &Path) -> io::Result<Vec<u8>> where T: Sized {\n    read(p)\n}\n",
                "fn load<T: Of<(u8, u8)>>(p: &Path) -> io::Result<Vec<u8>> where T: Sized { Ok(Default::default()) }\n",
            ),
            (Syntax::Rust, "fn tell(out: &mut Out) {\n    out.tell()\n}\n", "fn tell(out: &mut Out) {}\n"),
            (
                Syntax::Python,
                "def keep(seen, one):\n    seen.append(one)\n",
                "def keep(seen, one):\n    return None\n    seen.append(one)\n",
            ),
            (
                Syntax::JavaScript,
                "export const loud = (s) => s.toUpperCase();\n",
                "export const loud = (s) => undefined;\n",
            ),
            (
                Syntax::JavaScript,
                "class A {\n  keep(one) {\n    this.seen.push(one);\n  }\n}\n",
                "class A {\n  keep(one) { return undefined;\n    this.seen.push(one);\n  }\n}\n",
            ),
            (
                Syntax::JavaScript,
                "function keep(one) {\n  seen.push(one);\n}\n",
                "function keep(one) { return undefined;\n  seen.push(one);\n}\n",
            ),
            (
                Syntax::Go,
                "func (b *Box) Loud(s string) (string, error) {\n\treturn upper(s)\n}\n",
                "func (b *Box) Loud(s string) (string, error) {\nreturn *new(string), *new(error)\n\n\treturn upper(s)\n}\n",
            ),
            (Syntax::Go, "func Keep(s string) {\n\tkeep(s)\n}\n", "func Keep(s string) {\nreturn\n\n\tkeep(s)\n}\n"),
        ];
        for (syntax, text, wanted) in table {
            assert_eq!(texts(text, syntax), [wanted], "{text}");
        }
    }

    #[test]
    fn a_function_whose_changed_lines_have_small_wrongs_keeps_its_body() {
        let text = "pub fn next(n: u32) -> u32 {\n    n + 1\n}\n";
        let found = texts(text, Syntax::Rust);
        assert!(!found.is_empty() && found.iter().all(|text| !text.contains("default")), "{found:?}");
    }

    #[test]
    fn only_functions_that_were_changed_are_emptied() {
        let text = "fn a() -> String { b() }\n\nfn c() -> String {\n    d()\n}\n";
        let lexed = Lexed::new(text, Syntax::Rust);
        assert_eq!(bodies(&lexed, &lexed.tokens(0..text.len())).len(), 2);
        let found = mutants(text, Syntax::Rust, &[4].into());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].what.as_str()), (3, "`d()` became `Default::default()`"));
    }
}
