//! How much an assertion demands, from its words and operators.

use super::Strength;
use crate::floor::test_files::lexed::{Syntax, Token, TokenKind};

/// Judges by the name that decides (`tobe`, `assertequal`; `condition` for Go's `if`), then by operators.
pub(super) fn strength(name: &str, tokens: &[Token<'_>], syntax: Syntax) -> Strength {
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
