//! Masks: what in a command line hides the exit status of the tests.
//!
//! The command runs under `-e` and, where bash is there, `pipefail`; what even these cannot make visible is named here.

use std::ops::Range;

/// One piece of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::floor) struct Piece {
    /// Its text without quotes; for an operator, the operator.
    pub(in crate::floor) text: String,
    /// True for `;`, `&&`, `|`, a newline and the like.
    pub(in crate::floor) operator: bool,
    /// Where it stands in the command line.
    pub(in crate::floor) span: Range<usize>,
}

/// What hides the exit status, in words that finish "the command hides the exit status: ".
pub type Mask = String;

/// Finds the first mask of a command line. `pipefail`: a pipe's failing stage will be seen.
pub fn mask(command: &str, pipefail: bool) -> Option<Mask> {
    mask_within(command, pipefail, 0)
}

fn mask_within(command: &str, pipefail: bool, depth: usize) -> Option<Mask> {
    let pieces = pieces(command);
    for (at, piece) in pieces.iter().enumerate() {
        let next = simple_command(&pieces[at + 1..]);
        let found = match (piece.operator, piece.text.as_str()) {
            (true, "||") if !fails(&next) => Some(format!("`|| {}` turns a failure into success", next.join(" "))),
            (true, "|" | "|&") if !pipefail => Some("a pipe ends with its last program's status".to_owned()),
            (true, "&") => Some("`&` does not wait for the program".to_owned()),
            (true, ";" | "\n") if succeeds(&next) => {
                Some(format!("`{}` comes last and always succeeds", next.join(" ")))
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    if let Some(first) = lost_in_a_list(&pieces) {
        return Some(format!("`{first} && …` is not the end: where `{first}` fails, the line goes on"));
    }
    for segment in segments(&pieces) {
        let words: Vec<&str> = segment.iter().map(|piece| piece.text.as_str()).collect();
        let words = after_keywords(&words);
        let found = match words[..] {
            ["if" | "elif" | "while" | "until", ref asked @ ..] if !asks(asked) => {
                Some(format!("`{}` asks for the status of `{}` and goes on", words[0], asked.join(" ")))
            }
            ["set", option, ..] if option.starts_with('+') && option.contains('e') => {
                Some("`set +e` lets failures pass".to_owned())
            }
            ["set", "+o", "errexit" | "pipefail", ..] => Some(format!("`{}` lets failures pass", words.join(" "))),
            ["exit" | "return", "0", ..] => Some("`exit 0` succeeds whatever came before".to_owned()),
            ["!", ..] => Some("`!` turns a failure into success".to_owned()),
            ["trap", action, ..] => Some(format!("`trap {action}` may change the exit status")),
            _ => nested(words).filter(|_| depth < 4).and_then(|inner| {
                // The inner shell has neither -e nor pipefail of ours.
                mask_within(inner, false, depth + 1).or_else(|| loses_a_status(inner))
            }),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// A command without the words that only open or part a compound one.
fn after_keywords<'w, 't>(words: &'w [&'t str]) -> &'w [&'t str] {
    let opening = words.iter().take_while(|word| matches!(**word, "then" | "else" | "do" | "{" | "time")).count();
    &words[opening..]
}

/// True for a condition that only looks at the machine: what it may fail with is no test's failure.
fn asks(words: &[&str]) -> bool {
    match words {
        ["!", rest @ ..] => asks(rest),
        [first, ..] => matches!(base_name(first), "[" | "[[" | "test" | "command" | "which" | "type" | "hash" | "true"),
        [] => false,
    }
}

/// The first command of a list of `&&` that is followed by others: there `-e` sees the last command's failure alone.
/// What only sets the scene (`cd web && npm test`) loses nothing worth a word.
fn lost_in_a_list(pieces: &[Piece]) -> Option<String> {
    let mut open: Option<String> = None;
    for (at, piece) in pieces.iter().enumerate().filter(|(_, piece)| piece.operator) {
        match piece.text.as_str() {
            "&&" => {
                let start = pieces[..at].iter().rposition(|piece| piece.operator).map_or(0, |before| before + 1);
                let words = simple_command(&pieces[start..at]);
                let words = after_keywords(&words);
                let is_scene = matches!(words, [first, ..] if matches!(
                    base_name(first),
                    "cd" | "pushd" | "export" | "source" | "." | "mkdir" | "echo" | "printf" | "set"
                ));
                if !words.is_empty() && !is_scene && !asks(words) {
                    open.get_or_insert_with(|| words.join(" "));
                }
            }
            ";" | "\n" => {
                let goes_on = pieces[at + 1..].iter().any(|piece| !piece.operator);
                if let Some(first) = open.take().filter(|_| goes_on) {
                    return Some(first);
                }
            }
            // Within brackets the list's failure is the brackets' own.
            ")" => open = None,
            _ => {}
        }
    }
    None
}

/// The script of `sh -c SCRIPT`.
fn nested<'a>(words: &[&'a str]) -> Option<&'a str> {
    let shell = words.iter().position(|word| matches!(base_name(word), "sh" | "bash" | "dash" | "zsh"))?;
    let flag = words[shell..].iter().position(|word| word.starts_with('-') && word.ends_with('c'))?;
    words.get(shell + flag + 1).copied()
}

/// In a shell without `-e`, only the last command of a list counts.
fn loses_a_status(script: &str) -> Option<Mask> {
    let pieces = pieces(script);
    let lists = segments(&pieces);
    let strict = lists.first().is_some_and(|first| {
        first.first().is_some_and(|w| w.text == "set") && first.get(1).is_some_and(|w| w.text.starts_with("-e"))
    });
    let listed = pieces.iter().any(|piece| piece.operator && matches!(piece.text.as_str(), ";" | "\n"));
    (listed && !strict && lists.len() > 1).then(|| format!("`{script}` ends with its last command's status"))
}

/// The words up to the next operator.
fn simple_command(pieces: &[Piece]) -> Vec<&str> {
    pieces.iter().take_while(|piece| !piece.operator).map(|piece| piece.text.as_str()).collect()
}

fn succeeds(words: &[&str]) -> bool {
    match words {
        [first, rest @ ..] => match base_name(first) {
            "true" | ":" | "echo" | "printf" => true,
            "exit" | "return" => rest.first() == Some(&"0"),
            _ => false,
        },
        [] => false,
    }
}

fn fails(words: &[&str]) -> bool {
    match words {
        ["false", ..] => true,
        ["exit" | "return", code, ..] => *code == "$?" || code.parse::<u8>().is_ok_and(|code| code != 0),
        _ => false,
    }
}

pub(in crate::floor) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The simple commands of a line: words between operators.
pub(super) fn segments(pieces: &[Piece]) -> Vec<&[Piece]> {
    pieces.split(|piece| piece.operator).filter(|segment| !segment.is_empty()).collect()
}

/// Splits a command line as a shell does, as far as quotes, operators, redirections and comments go.
pub(in crate::floor) fn pieces(command: &str) -> Vec<Piece> {
    let bytes = command.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' | b'\t' | b'\r' => at += 1,
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'#' => at = command[at..].find('\n').map_or(bytes.len(), |end| at + end),
            _ => {
                let piece = match operator(&command[at..]) {
                    Some(length) => {
                        let text = command[at..at + length].to_owned();
                        Piece { text, operator: true, span: at..at + length }
                    }
                    None => word(command, at),
                };
                at = piece.span.end;
                found.push(piece);
            }
        }
    }
    found
}

fn operator(rest: &str) -> Option<usize> {
    // Redirections to descriptors (`>&`, `&>`) are words: they hide nothing.
    if rest.starts_with("&>") {
        return None;
    }
    ["&&", "||", "|&", ";;", "|", ";", "&", "\n", "(", ")"].iter().find(|op| rest.starts_with(**op)).map(|op| op.len())
}

fn word(command: &str, start: usize) -> Piece {
    let bytes = command.as_bytes();
    let mut text = Vec::new();
    let mut at = start;
    let mut quote = None;
    while at < bytes.len() {
        let byte = bytes[at];
        match (quote, byte) {
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            (None | Some(b'"'), b'\\') if at + 1 < bytes.len() => {
                at += 1;
                text.push(bytes[at]);
            }
            (None, b' ' | b'\t' | b'\r' | b'\n' | b'|' | b';' | b'(' | b')') => break,
            (None, b'&') if !matches!(text.last(), Some(b'>' | b'<')) && bytes.get(at + 1) != Some(&b'>') => break,
            _ => text.push(byte),
        }
        at += 1;
    }
    Piece { text: String::from_utf8_lossy(&text).into_owned(), operator: false, span: start..at.max(start + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hides_its_status_is_named() {
        for masked in [
            "make test || true",
            "pytest || :",
            "cargo test || echo failed",
            "pytest || [ $? -eq 5 ]",
            "timeout 1 sleep 5 || :",
            "npm test &",
            "set +e; false; exit 0",
            "set +e\ncargo test",
            "pytest; echo done",
            "pytest\ntrue",
            "sh -c \"cargo test; echo done\"",
            "bash -lc 'pytest | tail -5'",
            "sh -c 'cargo test; ls'",
            "! pytest",
            "trap 'exit 0' EXIT; pytest",
            "(cargo test) || true",
            "cargo test;exit 0",
            "if pytest; then echo green; fi",
            "if pytest\nthen echo green\nfi",
            "if [ -f x ]; then pytest || true; fi",
            "while ! pytest; do sleep 1; done",
            "until pytest; do break; done",
            "if [ -f x ]; then exit 0; fi; pytest",
            "pytest & wait",
            "pytest; true",
            "set +e\npytest\nls",
            "pytest && echo green; ls",
            "npm ci && npm test\npytest",
        ] {
            assert!(mask(masked, true).is_some(), "{masked}");
        }
    }

    #[test]
    fn an_honest_command_is_no_mask() {
        for honest in [
            "cargo test",
            "cd web && npm ci && npm test",
            "cargo test 2>&1 | tee log",
            "pytest -k 'a || true' | tail -5",
            "npm test -- --grep \"x; echo y\"",
            "cargo test || exit 1",
            "cargo test &> log",
            "make test >/dev/null 2>&1",
            "cargo test # || true",
            "cd sub; npm test",
            "cargo fmt --check\ncargo test",
            "sh -c 'set -e; cargo fmt; cargo test'",
            "echo start; pytest",
            "if [ -f package-lock.json ]; then npm ci; fi; npm test",
            "if command -v uv >/dev/null; then uv run pytest; else pytest; fi",
            "if ! [ -d node_modules ]; then npm ci; fi\nnpm test",
            "for dir in a b; do pytest $dir; done",
            "cd web && npm test\ncd ../api && pytest",
            "(npm ci && npm test)\npytest",
            "npm ci && npm test",
            "npm ci && npm test;",
        ] {
            assert_eq!(mask(honest, true), None, "{honest}");
        }
        assert!(mask("cargo test | tee log", false).is_some(), "without pipefail a pipe hides the status");
    }

    proptest::proptest! {
        #[test]
        fn any_text_splits_without_losing_its_place(text in "[ -~\n\u{e9}]{0,60}") {
            let mut end = 0;
            for piece in pieces(&text) {
                assert!(piece.span.start >= end && piece.span.end <= text.len() && text.get(piece.span.clone()).is_some());
                end = piece.span.end;
            }
            mask(&text, true);
        }
    }
}
