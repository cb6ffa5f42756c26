//! Assertions: where they are, and how much they demand.

use super::lexed::{Lexed, Syntax, Token, TokenKind, normalised};

/// How much an assertion demands, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// It cannot fail: `assert True`, `assertEqual(1, 1)`.
    Nothing,
    /// Any value that is there, or true.
    Truth,
    /// A range, a part, a type, any exception.
    Partial,
    /// One value, one exception.
    Exact,
}

/// One assertion of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// Where it starts, counted from 1.
    pub line: usize,
    /// Its normal form, without its message: no formatter changes it.
    pub text: String,
    /// How much it demands.
    pub strength: Strength,
    /// The literals in it, sorted.
    pub literals: Vec<String>,
}

/// The assertions among a body's tokens, in order.
pub(super) fn assertions(lexed: &Lexed<'_>, tokens: &[Token<'_>]) -> Vec<Assertion> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        match extent(tokens, index, lexed.syntax()) {
            Some((start, end)) => {
                found.push(assertion(lexed, &tokens[start..end], &tokens[index..end]));
                index = end.max(index + 1);
            }
            None => index += 1,
        }
    }
    found
}

/// Index range of the assertion whose name stands at `index`; it starts earlier where its condition does.
fn extent(tokens: &[Token<'_>], index: usize, syntax: Syntax) -> Option<(usize, usize)> {
    let token = tokens.get(index).filter(|token| token.kind == TokenKind::Word)?;
    let is = |offset: usize, text: &str| tokens.get(index + offset).is_some_and(|token| token.text == text);
    let after_dot = index.checked_sub(1).is_some_and(|before| tokens[before].text == ".");
    let word = token.text.as_ref();
    match syntax {
        Syntax::Rust => {
            let asserts =
                word.starts_with("assert") || word.starts_with("prop_assert") || word.starts_with("debug_assert");
            let macro_call = is(1, "!") && (asserts || matches!(word, "panic" | "unreachable"));
            (macro_call || asserts && is(1, "("))
                .then(|| (index, group_end(tokens, index + if macro_call { 2 } else { 1 })))
        }
        Syntax::Python if word == "assert" => Some((index, statement_end(tokens, index))),
        Syntax::Python => {
            let named =
                word.starts_with("assert") || matches!(word, "raises" | "warns") || (word == "fail" && after_dot);
            (named && is(1, "(")).then(|| (index, group_end(tokens, index + 1)))
        }
        Syntax::JavaScript => {
            let bare = matches!(word, "assert" | "expect")
                && (is(1, "(") || is(1, "."))
                && (!after_dot || is_on(tokens, index, &["t"]));
            let method = after_dot && is_on(tokens, index, &["t"]) && T_METHODS.contains(&word) && is(1, "(");
            let should = after_dot && word == "should" && (is(1, ".") || is(1, "("));
            (bare || method || should).then(|| (index, chain_end(tokens, index + 1)))
        }
        Syntax::Go => {
            let fails = matches!(word, "Error" | "Errorf" | "Fatal" | "Fatalf" | "Fail" | "FailNow");
            if fails && is(1, "(") && is_on(tokens, index, &["t", "b", "tb"]) {
                return Some((condition_start(tokens, index), group_end(tokens, index + 1)));
            }
            let library = matches!(word, "assert" | "require") && is(1, ".") && is(3, "(");
            library.then(|| (index, group_end(tokens, index + 3)))
        }
        Syntax::Braces | Syntax::Hash => None,
    }
}

const T_METHODS: &[&str] = &[
    "assert",
    "is",
    "not",
    "like",
    "deepEqual",
    "notDeepEqual",
    "equal",
    "equals",
    "notEqual",
    "same",
    "ok",
    "notOk",
    "true",
    "false",
    "truthy",
    "falsy",
    "throws",
    "throwsAsync",
    "rejects",
    "regex",
    "match",
    "snapshot",
    "pass",
    "fail",
];

fn is_on(tokens: &[Token<'_>], index: usize, names: &[&str]) -> bool {
    index >= 2 && tokens[index - 1].text == "." && names.contains(&tokens[index - 2].text.as_ref())
}

/// The index behind the bracket group that opens at `open`.
fn group_end(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_ref() {
            "(" | "[" | "{" if token.kind == TokenKind::Symbol => depth += 1,
            ")" | "]" | "}" if token.kind == TokenKind::Symbol => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// The index behind a chain of calls and members: `expect(a).not.toBe(b)`.
fn chain_end(tokens: &[Token<'_>], mut at: usize) -> usize {
    loop {
        match tokens.get(at).map(|token| token.text.as_ref()) {
            Some("(") => at = group_end(tokens, at),
            Some(".") => at += 2,
            _ => return at.min(tokens.len()),
        }
    }
}

fn statement_end(tokens: &[Token<'_>], index: usize) -> usize {
    let ends = |token: &Token<'_>| token.first || matches!(token.kind, TokenKind::Indent | TokenKind::Dedent);
    tokens.iter().skip(index + 1).position(ends).map_or(tokens.len(), |offset| index + 1 + offset)
}

/// In Go the condition stands before the failing call: `if got != want { t.Errorf(…) }`.
fn condition_start(tokens: &[Token<'_>], index: usize) -> usize {
    let start = index.saturating_sub(2);
    let Some(brace) = tokens[..start].iter().rposition(|token| token.text == "{" || token.text == "}") else {
        return start;
    };
    if tokens[brace].text == "}" {
        return start;
    }
    tokens[..brace]
        .iter()
        .enumerate()
        .rev()
        .take_while(|(_, token)| !matches!(token.text.as_ref(), "{" | "}"))
        .find(|(_, token)| token.text == "if")
        .map_or(start, |(at, _)| at)
}

fn assertion(lexed: &Lexed<'_>, whole: &[Token<'_>], call: &[Token<'_>]) -> Assertion {
    let syntax = lexed.syntax();
    let told = without_message(whole, syntax);
    let literal = |token: &&Token<'_>| matches!(token.kind, TokenKind::Number | TokenKind::Text);
    let mut literals: Vec<String> = told.iter().filter(literal).map(|token| token.text.to_string()).collect();
    literals.sort();
    let named = if call.len() < whole.len() { "condition".to_owned() } else { name_of(call, syntax) };
    Assertion {
        line: lexed.line_of(whole.first().map_or(0, |token| token.at)),
        text: normalised(told, syntax),
        strength: strength(&named, told, syntax),
        literals,
    }
}

/// The last name before the arguments that decide: `toBe` of `expect(a).toBe(b)`.
fn name_of(call: &[Token<'_>], syntax: Syntax) -> String {
    let mut name = String::new();
    let mut depth = 0_usize;
    for token in call {
        match token.text.as_ref() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ if depth == 0 && token.kind == TokenKind::Word => {
                if syntax == Syntax::Python && !name.is_empty() {
                    break;
                }
                if token.text == "not" {
                    name.clear();
                    name.push_str("not");
                } else if name == "not" {
                    name.push_str(&token.text);
                } else {
                    name = token.text.to_string();
                }
            }
            _ => {}
        }
    }
    name.to_ascii_lowercase().replace('_', "")
}

/// Cuts the message off: it demands nothing.
fn without_message<'a, 't>(whole: &'a [Token<'t>], syntax: Syntax) -> &'a [Token<'t>] {
    let Some(first) = whole.first() else { return whole };
    let kept = match (syntax, first.text.as_ref()) {
        (Syntax::Python, "assert") | (Syntax::Rust, "assert" | "debug_assert" | "prop_assert") => 1,
        (Syntax::Rust, "assert_eq" | "assert_ne" | "prop_assert_eq" | "prop_assert_ne") => 2,
        (Syntax::Go, "if") => {
            let open = whole.iter().position(|token| token.text == "{").unwrap_or(whole.len());
            return &whole[..open];
        }
        _ => return whole,
    };
    let outer = usize::from(syntax == Syntax::Rust);
    let (mut depth, mut commas) = (0_usize, 0);
    for (index, token) in whole.iter().enumerate() {
        match token.text.as_ref() {
            "(" | "[" | "{" if token.kind == TokenKind::Symbol => depth += 1,
            ")" | "]" | "}" if token.kind == TokenKind::Symbol => depth = depth.saturating_sub(1),
            "," if depth == outer => {
                commas += 1;
                if commas == kept {
                    return if syntax == Syntax::Python { unwrapped(&whole[..index]) } else { &whole[..index] };
                }
            }
            _ => {}
        }
    }
    // The closing bracket goes too, so that a form without a message equals one whose message was cut.
    if syntax == Syntax::Rust { &whole[..whole.len().saturating_sub(1)] } else { unwrapped(whole) }
}

/// `assert (a == b)` as `assert a == b`: formatters add such brackets.
fn unwrapped<'a, 't>(whole: &'a [Token<'t>]) -> &'a [Token<'t>] {
    match whole {
        [_, open, .., _] if open.text == "(" && group_end(whole, 1) == whole.len() => &whole[2..whole.len() - 1],
        [_, inner @ ..] if !inner.is_empty() => inner,
        _ => whole,
    }
}

fn strength(name: &str, tokens: &[Token<'_>], syntax: Syntax) -> Strength {
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let holds = |texts: &[&str]| tokens.iter().any(|token| texts.contains(&token.text.as_ref()));
    if is_vacuous(tokens) {
        Strength::Nothing
    } else if has(&["raises", "throw", "rejects", "panics", "warns"]) {
        exception(tokens)
    } else if has(&["notnone", "notnull", "notnil", "notundefined", "truthy", "defined", "nottobenull", "nottobenil"]) {
        Strength::Truth
    } else if has(&[
        "not",
        "asserntne",
        "assertne",
        "almost",
        "close",
        "contain",
        "match",
        "greater",
        "less",
        "len",
        "instance",
        "typeof",
    ]) && !has(&["snapshot"])
    {
        Strength::Partial
    } else if has(&["equal", "eq", "tobe", "same", "snapshot", "assertis", "calledwith", "jsoneq"])
        && name != "tobetruthy"
        || matches!(name, "is" | "equals")
    {
        if holds(&["approx", "closeTo", "isclose"]) { Strength::Partial } else { Strength::Exact }
    } else {
        by_operator(tokens, name == "condition" && syntax == Syntax::Go)
    }
}

fn exception(tokens: &[Token<'_>]) -> Strength {
    let broad =
        |token: &&Token<'_>| matches!(token.text.as_ref(), "Exception" | "BaseException" | "Error" | "Throwable");
    let named = tokens
        .iter()
        .any(|token| token.text == "match" || token.kind == TokenKind::Text && token.text.starts_with('/'));
    let open = tokens.iter().rposition(|token| token.text == "(");
    let empty = open.is_some_and(|open| tokens.get(open + 1).is_some_and(|token| token.text == ")"));
    let bare_throws = tokens.iter().any(|token| token.text == "throws" || token.text == "rejects")
        && !tokens.iter().any(|token| {
            token.kind == TokenKind::Word && token.text.ends_with("Error")
                || token.text == "{"
                || token.kind == TokenKind::Text
        });
    let weak = !named && (tokens.iter().find(broad).is_some() || empty || bare_throws);
    if weak { Strength::Partial } else { Strength::Exact }
}

fn by_operator(tokens: &[Token<'_>], inverted: bool) -> Strength {
    let holds = |texts: &[&str]| {
        tokens.iter().any(|token| token.kind != TokenKind::Text && texts.contains(&token.text.as_ref()))
    };
    let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_ref()).collect();
    let present = texts.windows(3).any(|three| three == ["is", "not", "None"])
        || texts.windows(2).any(|two| matches!(two, ["!=" | "!==", "None" | "null" | "nil" | "undefined"]));
    let exact: &[&str] = if inverted { &["!=", "DeepEqual", "Equal"] } else { &["==", "===", "is", "equals"] };
    let partial = [
        "<",
        ">",
        "<=",
        ">=",
        "in",
        "!=",
        "==",
        "!==",
        "isinstance",
        "contains",
        "includes",
        "starts_with",
        "startswith",
        "startsWith",
        "matches",
        "Contains",
        "HasPrefix",
        "abs",
        "approx",
        "isclose",
        "any",
    ];
    if present {
        Strength::Truth
    } else if holds(exact) && !holds(&["approx", "isclose"]) {
        Strength::Exact
    } else if holds(&partial) {
        Strength::Partial
    } else {
        Strength::Truth
    }
}

/// True if nothing but literals is looked at, or both sides of an equality are the same text.
fn is_vacuous(tokens: &[Token<'_>]) -> bool {
    const PLAIN: &[&str] = &[
        "true",
        "True",
        "assert",
        "assert_eq",
        "assert_ne",
        "expect",
        "self",
        "t",
        "toBe",
        "toEqual",
        "toStrictEqual",
        "ok",
        "equal",
        "strictEqual",
        "toBeTruthy",
        "assertTrue",
        "assertEqual",
        "deepEqual",
        "require",
        "True",
        "not",
        "false",
        "False",
        "Equal",
        "is",
    ];
    let said = |token: &&Token<'_>| token.kind == TokenKind::Word && !PLAIN.contains(&token.text.as_ref());
    let values = tokens.iter().filter(|token| {
        matches!(token.kind, TokenKind::Number | TokenKind::Text)
            || matches!(token.text.as_ref(), "true" | "True" | "not" | "false" | "False")
    });
    if tokens.iter().find(said).is_none() {
        let fails = tokens.iter().filter(|token| matches!(token.text.as_ref(), "false" | "False")).count() == 1;
        return values.count() > 0 && !fails && !is_false_equality(tokens);
    }
    let equals = tokens.iter().position(|token| matches!(token.text.as_ref(), "==" | "==="));
    equals.is_some_and(|at| {
        let text = |side: &[Token<'_>]| side.iter().map(|token| token.text.to_string()).collect::<Vec<_>>().join(" ");
        let left = text(&tokens[..at]);
        let right = text(&tokens[at + 1..]);
        left == right || left.strip_prefix("assert ! ( ").is_some_and(|left| left == right)
    })
}

/// Two different literals compared: it always fails, and whoever wrote it sees that.
fn is_false_equality(tokens: &[Token<'_>]) -> bool {
    let mut values: Vec<&str> = tokens
        .iter()
        .filter(|token| matches!(token.kind, TokenKind::Number | TokenKind::Text))
        .map(|token| token.text.as_ref())
        .collect();
    values.dedup();
    values.len() > 1
}
