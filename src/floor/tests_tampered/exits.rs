//! Exits inside tests: a process that ends with success takes every other test's failure with it.

use super::rules::{quote, raise};
use super::version::{Changed, Version};
use crate::floor::test_files::lexed::{Lexed, Syntax, Token, TokenKind};
use crate::floor::test_files::{FileRole, TestDefinition};
use crate::receipts::Finding;
use std::collections::HashMap;

/// One exit: its line, its normal form, and what it says of its code.
struct Exit {
    line: usize,
    text: String,
    code: Code,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    Success,
    Failure,
    Computed,
}

/// Exits that the claim adds to test code, and to what runners load before it.
pub(super) fn look(changes: &[Changed<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for changed in changes {
        let Some(new) = changed.new.as_ref().filter(|new| is_judged(new)) else { continue };
        let mut known: HashMap<String, usize> = HashMap::new();
        for exit in changed.old.as_ref().map(exits).unwrap_or_default() {
            *known.entry(exit.text).or_default() += 1;
        }
        for exit in exits(new) {
            match known.get_mut(&exit.text) {
                Some(count) if *count > 0 => *count -= 1,
                _ => findings.extend(judge(new, &exit)),
            }
        }
    }
    findings
}

fn is_judged(version: &Version<'_>) -> bool {
    let defines = version.outline.as_ref().is_some_and(|outline| !outline.tests.is_empty());
    match version.role {
        // Go's `TestMain` and mocha's root hooks stand in files without tests.
        FileRole::Test => defines || version.text.contains("TestMain") || version.text.contains("before"),
        FileRole::Mixed { .. } => true,
        FileRole::Configuration => {
            matches!(version.path.file_name(), b"conftest.py")
                || version.path.file_name().windows(5).any(|part| part == b"setup")
        }
        _ => false,
    }
}

fn judge(version: &Version<'_>, exit: &Exit) -> Option<Finding> {
    let tests = version.outline.as_ref().map_or(&[][..], |outline| &outline.tests);
    let inside: Option<&TestDefinition> = tests.iter().find(|test| test.lines.contains(&exit.line));
    let words = inside.map_or("", |test| test.body.as_str());
    // A test of an exit catches it; Go's helper processes leave on purpose.
    let meant = ["raises ( SystemExit", "assertRaises ( SystemExit", "GO_WANT_HELPER_PROCESS"]
        .iter()
        .any(|word| words.contains(word));
    let rule = match (exit.code, inside) {
        (Code::Failure, _) | (Code::Computed, None) => return None,
        (Code::Success, _) if !meant => "exit-in-test",
        _ => "exit-possible",
    };
    let place = version.at(exit.line);
    Some(raise(rule, place, "tests that end by returning; let the runner exit", quote(version.line(exit.line))))
}

fn exits(version: &Version<'_>) -> Vec<Exit> {
    let Some(syntax) = version.scanned() else { return Vec::new() };
    let lexed = Lexed::new(&version.text, syntax);
    let tokens = lexed.tokens(0..version.text.len());
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let line = lexed.line_of(token.at);
        if token.kind == TokenKind::Word
            && is_exit(&tokens, index, syntax)
            && (version.role == FileRole::Configuration || version.is_test_line(line))
        {
            let end = (index + 6).min(tokens.len());
            let text = tokens[index..end].iter().map(|token| token.text.as_ref()).collect::<Vec<_>>().join(" ");
            found.push(Exit { line, text, code: code(&tokens[index + 1..], token.text.as_ref()) });
        }
    }
    found
}

fn is_exit(tokens: &[Token<'_>], index: usize, syntax: Syntax) -> bool {
    let word = tokens[index].text.as_ref();
    let called = tokens.get(index + 1).is_some_and(|next| next.text == "(");
    let before = |offset: usize| index.checked_sub(offset).map_or("", |at| tokens[at].text.as_ref());
    let owner = if matches!(before(1), "." | "::") { before(2) } else { "" };
    let free = !matches!(before(1), "." | "::" | "fn" | "def" | "function" | "func");
    match syntax {
        Syntax::Python if word == "SystemExit" => before(1) == "raise",
        Syntax::Python => {
            called
                && (matches!((owner, word), ("sys" | "pytest", "exit") | ("os", "_exit" | "abort"))
                    || free && matches!(word, "exit" | "quit" | "_exit"))
        }
        Syntax::JavaScript => {
            called && matches!((owner, word), ("process", "exit" | "reallyExit" | "abort") | ("Deno", "exit"))
        }
        Syntax::Rust => called && word == "exit" && (owner == "process" || free),
        Syntax::Go => called && matches!((owner, word), ("os" | "syscall", "Exit")),
        Syntax::Braces | Syntax::Hash => false,
    }
}

/// What the arguments say.
fn code(after: &[Token<'_>], word: &str) -> Code {
    let texts: Vec<&str> = after.iter().take(3).map(|token| token.text.as_ref()).collect();
    match texts[..] {
        _ if word == "abort" => Code::Failure,
        ["(", "0" | "None" | "False" | "ExitCode" | "EX_OK" | ")", ..] => Code::Success,
        ["(", number, ")"] if number.parse::<u32>().is_ok() => Code::Failure,
        ["(", ..]
            if word == "exit"
                && after.first().is_some_and(|_| texts.get(1).is_some_and(|text| text.starts_with('"'))) =>
        {
            Code::Failure
        }
        ["(", ..] => Code::Computed,
        // `raise SystemExit` without a code is success.
        _ => Code::Success,
    }
}
