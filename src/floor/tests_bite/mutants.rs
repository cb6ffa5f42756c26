//! Small wrongs, one at a time, in the lines that the claim added to production code. Pure.
//!
//! Only tokens are looked at, no grammar: a mutant may fail to build, and then it does not count.

mod bodies;

use crate::floor::test_files::lexed::{Lexed, Syntax, Token, TokenKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// One changed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mutant {
    /// Counted from 1.
    pub(super) line: usize,
    /// What was done, e.g. `== became !=`.
    pub(super) what: String,
    /// The whole file.
    pub(super) text: String,
}

/// All mutants of these lines (counted from 1), in reading order.
pub(super) fn mutants(text: &str, syntax: Syntax, lines: &BTreeSet<usize>) -> Vec<Mutant> {
    let lexed = Lexed::new(text, syntax);
    let tokens = lexed.tokens(0..text.len());
    let mut found = Vec::new();
    let mut skipped = 0;
    for (index, token) in tokens.iter().enumerate() {
        let line = lexed.line_of(token.at);
        if !lines.contains(&line) || line == skipped {
            continue;
        }
        if is_first_on_line(&lexed, token) && is_declaration(token, syntax) {
            skipped = line;
            continue;
        }
        for (range, with) in changes(&lexed, &tokens, index) {
            let was = text.get(range.clone()).unwrap_or_default();
            let mutated = format!("{}{with}{}", &text[..range.start], &text[range.end..]);
            let what = format!("`{}` became `{}`", was.trim(), with.trim());
            found.push(Mutant { line, what, text: mutated });
        }
    }
    let emptied = emptied(&lexed, &tokens, lines, &found);
    found.extend(emptied);
    found
}

/// Functions with changed lines that hold none of these small wrongs do nothing.
fn emptied(lexed: &Lexed<'_>, tokens: &[Token<'_>], lines: &BTreeSet<usize>, small: &[Mutant]) -> Vec<Mutant> {
    let text = lexed.text;
    let of = |body: bodies::Body| {
        let whole = lexed.lines_of(&body.whole);
        let is_changed = lines.range(whole.clone()).next().is_some();
        if !is_changed || small.iter().any(|mutant| whole.contains(&mutant.line)) {
            return None;
        }
        let (was, with) = (shortened(&text[body.range.clone()]), shortened(&body.with));
        let what = if was.is_empty() { format!("`{with}` came first") } else { format!("`{was}` became `{with}`") };
        let text = format!("{}{}{}", &text[..body.range.start], body.with, &text[body.range.end..]);
        Some(Mutant { line: lexed.line_of(body.at), what, text })
    };
    bodies::bodies(lexed, tokens).into_iter().filter_map(of).collect()
}

/// More of a function is not shown.
const SHOWN: usize = 60;

fn shortened(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN).collect()
}

/// At most `count` of them, spread over all.
pub(super) fn spread<T>(all: Vec<T>, count: usize) -> Vec<T> {
    let total = all.len();
    if total <= count {
        return all;
    }
    let wanted: BTreeSet<usize> = (0..count).map(|n| n * total / count).collect();
    all.into_iter().enumerate().filter(|(at, _)| wanted.contains(at)).map(|(_, one)| one).collect()
}

fn is_first_on_line(lexed: &Lexed<'_>, token: &Token<'_>) -> bool {
    lexed.text[lexed.line_start(token.at)..token.at].trim().is_empty()
}

/// Imports and attributes: a wrong there only fails to load.
fn is_declaration(token: &Token<'_>, syntax: Syntax) -> bool {
    let word = token.text.as_ref();
    match syntax {
        Syntax::Rust => matches!(word, "use" | "#" | "mod" | "extern"),
        Syntax::Python => matches!(word, "import" | "from" | "@"),
        Syntax::JavaScript => matches!(word, "import"),
        Syntax::Go => matches!(word, "import" | "package"),
        Syntax::Braces | Syntax::Hash => false,
    }
}

fn changes(lexed: &Lexed<'_>, tokens: &[Token<'_>], index: usize) -> Vec<(Range<usize>, String)> {
    let token = &tokens[index];
    let whole = token.at..token.at + token.text.len();
    if lexed.text.get(whole.clone()) != Some(token.text.as_ref()) && token.kind != TokenKind::Text {
        return Vec::new();
    }
    match token.kind {
        TokenKind::Number => number(token).map(|with| (whole, with)).into_iter().collect(),
        TokenKind::Text => string(lexed, token).into_iter().collect(),
        TokenKind::Symbol => {
            let spaced = lexed.text[..whole.start].ends_with(' ') && lexed.text[whole.end..].starts_with([' ', '\n']);
            symbol(token.text.as_ref(), spaced).map(|with| (whole, with.to_owned())).into_iter().collect()
        }
        TokenKind::Word => word(lexed, tokens, index, whole),
        TokenKind::Indent | TokenKind::Dedent => Vec::new(),
    }
}

fn number(token: &Token<'_>) -> Option<String> {
    let value: u64 = token.text.parse().ok()?;
    value.checked_add(1).map(|next| next.to_string())
}

/// Another text between the same quotes.
fn string(lexed: &Lexed<'_>, token: &Token<'_>) -> Option<(Range<usize>, String)> {
    let literal = lexed.string_at(token.at)?;
    let quote = literal.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inner = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    let simple = !inner.contains([quote, '\\', '\n']) && !inner.starts_with(quote);
    let with = if inner.is_empty() { "x" } else { "" };
    simple.then(|| (token.at + 1..token.at + 1 + inner.len(), with.to_owned()))
}

/// Signs that also mean something else (generics, pointers, signs) count only with blanks around them.
fn symbol(text: &str, spaced: bool) -> Option<&'static str> {
    Some(match text {
        "==" => "!=",
        "!=" => "==",
        "===" => "!==",
        "!==" => "===",
        "<=" => "<",
        ">=" => ">",
        "&&" if spaced => "||",
        "||" if spaced => "&&",
        "+=" => "-=",
        "-=" => "+=",
        "<" if spaced => "<=",
        ">" if spaced => ">=",
        "+" if spaced => "-",
        "-" | "*" | "%" if spaced => "+",
        "/" if spaced => "*",
        _ => return None,
    })
}

fn word(lexed: &Lexed<'_>, tokens: &[Token<'_>], index: usize, whole: Range<usize>) -> Vec<(Range<usize>, String)> {
    let syntax = lexed.syntax();
    let simple = match (tokens[index].text.as_ref(), syntax) {
        ("true", _) => Some("false"),
        ("false", _) => Some("true"),
        ("True", Syntax::Python) => Some("False"),
        ("False", Syntax::Python) => Some("True"),
        ("and", Syntax::Python) => Some("or"),
        ("or", Syntax::Python) => Some("and"),
        _ => None,
    };
    if let Some(with) = simple {
        return vec![(whole, with.to_owned())];
    }
    match tokens[index].text.as_ref() {
        "return" => returned(lexed, &whole).into_iter().collect(),
        "if" | "while" | "elif" => negated(lexed, tokens, index, &whole).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// `return X` returns nothing, where X ends with its line.
fn returned(lexed: &Lexed<'_>, whole: &Range<usize>) -> Option<(Range<usize>, String)> {
    let with = match lexed.syntax() {
        Syntax::Python => "None",
        Syntax::JavaScript => "undefined",
        _ => return None,
    };
    let line_end = lexed.text[whole.end..].find('\n').map_or(lexed.text.len(), |at| whole.end + at);
    let comment = lexed.spans.iter().find(|span| span.is_comment && span.range.start >= whole.end);
    let end = comment.map_or(line_end, |span| span.range.start.min(line_end));
    // Strings are blanked in the code: a sign that ends the statement is looked for there, blanks in the text.
    let code = &lexed.code[whole.end..end];
    let code = &code[..code.find(';').unwrap_or(code.len())];
    let value = lexed.text[whole.end..whole.end + code.len()].trim_end();
    let is_open = code.matches(['(', '[', '{']).count() != code.matches([')', ']', '}']).count();
    let told = value.trim();
    if is_open || told.is_empty() || told == with {
        return None;
    }
    Some((whole.end..whole.end + value.len(), format!(" {with}")))
}

/// The opposite condition, where it ends with its line.
fn negated(
    lexed: &Lexed<'_>,
    tokens: &[Token<'_>],
    index: usize,
    whole: &Range<usize>,
) -> Option<(Range<usize>, String)> {
    let next = tokens.get(index + 1)?;
    let line_end = lexed.text[whole.end..].find('\n').map_or(lexed.text.len(), |at| whole.end + at);
    let condition = match lexed.syntax() {
        Syntax::JavaScript | Syntax::Braces if next.text == "(" => {
            next.at + 1..lexed.after_closing(next.at).checked_sub(1)?
        }
        Syntax::Rust | Syntax::Go if next.text != "let" => {
            let code = &lexed.code[whole.end..line_end];
            let open = code.find('{').filter(|_| !code.contains(" let ") && !code.contains(';'))?;
            whole.end..whole.end + open
        }
        Syntax::Python => {
            let code = lexed.code[whole.end..line_end].trim_end();
            whole.end..whole.end + code.strip_suffix(':')?.len()
        }
        _ => return None,
    };
    if condition.end > line_end || condition.start >= condition.end {
        return None;
    }
    let text = lexed.text.get(condition.clone())?.trim();
    let not = if lexed.syntax() == Syntax::Python { "not " } else { "!" };
    let (before, after) = match lexed.syntax() {
        Syntax::Python => (" ", ""),
        Syntax::Rust | Syntax::Go => (" ", " "),
        _ => ("", ""),
    };
    (!text.is_empty()).then(|| (condition, format!("{before}{not}({text}){after}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, syntax: Syntax) -> Vec<String> {
        let all = (1..=text.lines().count()).collect();
        mutants(text, syntax, &all)
            .into_iter()
            .map(|mutant| mutant.text.lines().nth(mutant.line - 1).unwrap().trim().to_owned())
            .collect()
    }

    #[test]
    fn each_language_has_its_small_wrongs() {
        assert_eq!(
            lines(
                "pub fn limit(n: u32) -> u32 {\n    if n > 3 {\n        return n + 1;\n    }\n    3\n}\n",
                Syntax::Rust
            ),
            ["if !(n > 3) {", "if n >= 3 {", "if n > 4 {", "return n - 1;", "return n + 2;", "4"]
        );
        assert_eq!(
            lines("def f(x):\n    if x == 1 and y:\n        return 'a'\n    return True\n", Syntax::Python),
            [
                "if not (x == 1 and y):",
                "if x != 1 and y:",
                "if x == 2 and y:",
                "if x == 1 or y:",
                "return None",
                "return ''",
                "return None",
                "return False",
            ]
        );
        assert_eq!(
            lines(
                "import a from 'b';\nexport const f = (x) => {\n  if (x === 1) return \"\";\n  return x; // 7\n};\n",
                Syntax::JavaScript
            ),
            [
                "if (!(x === 1)) return \"\";",
                "if (x !== 1) return \"\";",
                "if (x === 2) return \"\";",
                "if (x === 1) return undefined;",
                "if (x === 1) return \"x\";",
                "return undefined; // 7"
            ]
        );
    }

    #[test]
    fn only_wanted_lines_are_touched_and_generics_are_left_alone() {
        let text = "fn a() -> Vec<u8> { b::<u8>() }\nfn c() -> bool { true }\n";
        let found = mutants(text, Syntax::Rust, &BTreeSet::from([1]));
        let whats: Vec<&str> = found.iter().map(|mutant| mutant.what.as_str()).collect();
        assert_eq!(whats, ["`b::<u8>()` became `Default::default()`"]);
        let found = mutants(text, Syntax::Rust, &BTreeSet::from([2]));
        assert_eq!((found.len(), found[0].line, found[0].what.as_str()), (1, 2, "`true` became `false`"));
    }

    #[test]
    fn a_choice_is_spread_over_all() {
        assert_eq!(spread((0..100).collect(), 4), [0, 25, 50, 75]);
        assert_eq!(spread(vec![1, 2], 4), [1, 2]);
        assert_eq!(spread(vec![1, 2], 0), Vec::<i32>::new());
    }

    proptest::proptest! {
        #[test]
        fn every_mutant_differs_from_its_text(text in "(?s)[a-z0-9 <>=+!&|(){}\"';:\n]{0,80}") {
            for syntax in [Syntax::Rust, Syntax::Python, Syntax::JavaScript, Syntax::Go] {
                let all = (1..=text.lines().count() + 1).collect();
                for mutant in mutants(&text, syntax, &all) {
                    proptest::prop_assert_ne!(&mutant.text, &text);
                }
            }
        }
    }
}
