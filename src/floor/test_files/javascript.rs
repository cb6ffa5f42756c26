//! Tests in JavaScript and TypeScript: calls of `test`, `it` and their kin, inside `describe` or `suite`; jest, vitest,
//! mocha, jasmine, ava and node's own runner.

use super::lexed::Lexed;
use super::marker::{Marker, MarkerKind};
use super::outline::{DEEPEST, Draft};
use std::ops::Range;

struct Group {
    name: String,
    end: usize,
    markers: Vec<Marker>,
}

struct Call<'t> {
    word: &'t str,
    modifiers: Vec<&'t str>,
    /// Arguments of `each`, `skipIf` and the like.
    tables: Vec<Range<usize>>,
    /// The brackets of the last call.
    open: usize,
    end: usize,
}

const TESTS: &[&str] = &["test", "it", "xit", "xtest", "fit", "ftest", "specify", "xspecify"];
const KNOWN: &[&str] = &[
    "skip",
    "only",
    "todo",
    "each",
    "for",
    "failing",
    "fails",
    "skipIf",
    "runIf",
    "concurrent",
    "sequential",
    "serial",
    "step",
    "describe",
    "parallel",
];
const GROUPS: &[&str] = &["describe", "suite", "context", "xdescribe", "fdescribe", "xcontext"];

/// Scans a file.
pub(super) fn scan(lexed: &Lexed<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut at = 0;
    let mut last = ' ';
    while let Some(c) = lexed.code[at..].chars().next() {
        let starts =
            (c.is_alphabetic() || matches!(c, '_' | '$')) && !(last.is_alphanumeric() || matches!(last, '_' | '$'));
        if !starts {
            last = c;
            at += c.len_utf8();
            continue;
        }
        let word = word_at(lexed, at);
        groups.retain(|group| group.end > at);
        if word == "function" {
            function(lexed, at + word.len(), at, &mut drafts);
        } else if word == "const" || word == "let" {
            arrow(lexed, at + word.len(), at, &mut drafts);
        } else if (TESTS.contains(&word) || GROUPS.contains(&word))
            && is_free(lexed, at)
            && let Some(call) = call(lexed, at, word)
        {
            test_or_group(lexed, at, &call, &mut groups, &mut drafts);
        }
        last = 'a';
        at += word.len();
    }
    drafts.sort_by_key(|draft| draft.whole.start);
    drafts
}

fn word_at<'t>(lexed: &Lexed<'t>, at: usize) -> &'t str {
    let code = &lexed.code[at..];
    let end = code.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))).unwrap_or(code.len());
    &lexed.text[at..at + end]
}

/// True unless the word is a member of something other than a test context: `t.test` counts, `regexp.test` does not.
fn is_free(lexed: &Lexed<'_>, at: usize) -> bool {
    let before = lexed.code[..at].trim_end();
    match before.strip_suffix('.') {
        Some(owner) => ["t", "ctx", "context", "test"].iter().any(|name| {
            owner
                .strip_suffix(name)
                .is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.')))
        }),
        None => !before.ends_with("function") && !before.ends_with("const") && !before.ends_with("import"),
    }
}

fn call<'t>(lexed: &Lexed<'t>, start: usize, word: &'t str) -> Option<Call<'t>> {
    let mut modifiers = Vec::new();
    let mut tables = Vec::new();
    let mut at = start + word.len();
    loop {
        let rest = &lexed.code[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        match trimmed.bytes().next()? {
            b'.' => {
                let from = at + 1 + trimmed[1..].len() - trimmed[1..].trim_start().len();
                let modifier = word_at(lexed, from);
                if modifier.is_empty() {
                    return None;
                }
                modifiers.push(modifier);
                at = from + modifier.len();
            }
            b'"' => {
                // A table as a template string: `` test.each`…` ``.
                let table = lexed.string_at(at)?;
                tables.push(at..at + table.len());
                at += table.len();
            }
            b'(' => {
                let end = lexed.after_closing(at);
                let taken = modifiers.last().is_some_and(|last| matches!(*last, "each" | "for" | "skipIf" | "runIf"));
                if taken && tables.is_empty() {
                    tables.push(at..end);
                    at = end;
                    continue;
                }
                return modifiers.iter().all(|m| KNOWN.contains(m)).then_some(Call {
                    word,
                    modifiers,
                    tables,
                    open: at,
                    end,
                });
            }
            _ => return None,
        }
    }
}

fn test_or_group(lexed: &Lexed<'_>, start: usize, call: &Call<'_>, groups: &mut Vec<Group>, drafts: &mut Vec<Draft>) {
    if groups.len() >= DEEPEST {
        return;
    }
    let arguments = lexed.inside(call.open);
    let first = lexed.code[arguments.clone()].trim_start();
    let name_at = arguments.end - first.len();
    let name_end = first_comma(lexed, &arguments);
    let raw = lexed.text[name_at..name_end.max(name_at)].trim();
    let code = &lexed.code[arguments.clone()];
    let holds_function = code.contains("=>") || code.contains("function");
    let is_string = lexed.string_at(name_at).is_some();
    if raw.is_empty() || !is_string && !holds_function {
        return;
    }
    let quotes = ['\'', '"', '`'];
    let bare = raw.strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes)).unwrap_or(raw);
    let own = if is_string { unescaped(bare) } else { bare.to_owned() }.replace("::", ":");
    let line = lexed.line_of(start);
    let mut markers = markers(call, line);
    markers.extend(option_markers(lexed, name_end..arguments.end));
    let in_groups: Vec<Marker> = groups.iter().flat_map(|group| group.markers.clone()).collect();
    let group_like = GROUPS.contains(&call.word) || call.modifiers.contains(&"describe");
    let path: Vec<String> = groups.iter().map(|group| group.name.clone()).chain([own.clone()]).collect();
    groups.push(Group { name: own, end: call.end, markers: markers.clone() });
    if group_like {
        return;
    }
    markers.extend(in_groups);
    drafts.push(Draft {
        name: path.join("::"),
        whole: start..call.end,
        body: (name_end + 1).min(arguments.end)..arguments.end,
        parameters: call.tables.clone(),
        markers,
        is_test: true,
    });
}

/// What a string means: a runner reports `What's`, not `What\'s`. Code points by number stay as they are written.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        let next = if sign == '\\' { signs.clone().next() } else { None };
        match next {
            Some('u' | 'x') | None => plain.push(sign),
            Some(next) => {
                signs.next();
                plain.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
            }
        }
    }
    plain
}

/// Where the first argument ends.
fn first_comma(lexed: &Lexed<'_>, arguments: &Range<usize>) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in lexed.code[arguments.clone()].bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return arguments.start + offset,
            _ => {}
        }
    }
    arguments.end
}

fn markers(call: &Call<'_>, line: usize) -> Vec<Marker> {
    let mut found = Vec::new();
    let of = |kind, conditional| Marker { kind, line, conditional };
    match call.word {
        "xit" | "xtest" | "xdescribe" | "xcontext" | "xspecify" => found.push(of(MarkerKind::Skip, false)),
        "fit" | "ftest" | "fdescribe" => found.push(of(MarkerKind::Only, false)),
        _ => {}
    }
    found.extend(call.modifiers.iter().filter_map(|modifier| match *modifier {
        "skip" => Some(of(MarkerKind::Skip, false)),
        "only" => Some(of(MarkerKind::Only, false)),
        "todo" => Some(of(MarkerKind::Todo, false)),
        "failing" | "fails" => Some(of(MarkerKind::ExpectedFailure, false)),
        "skipIf" | "runIf" => Some(of(MarkerKind::Skip, true)),
        _ => None,
    }));
    found
}

/// The options object of node's runner: `{ skip: true, only: true, todo: 'later' }`.
fn option_markers(lexed: &Lexed<'_>, range: Range<usize>) -> Vec<Marker> {
    let code = lexed.code[range.clone()].trim_start_matches(|c: char| c == ',' || c.is_whitespace());
    if !code.starts_with('{') {
        return Vec::new();
    }
    let open = range.end - code.len();
    let tokens = lexed.tokens(open..lexed.after_closing(open).min(range.end));
    let marker = |three: &[super::lexed::Token<'_>]| {
        let kind = match (three[0].text.as_ref(), three[1].text.as_ref()) {
            ("skip", ":") => MarkerKind::Skip,
            ("only", ":") => MarkerKind::Only,
            ("todo", ":") => MarkerKind::Todo,
            ("expectFailure" | "fails", ":") => MarkerKind::ExpectedFailure,
            _ => return None,
        };
        let value = three[2].text.as_ref();
        let constant = value == "true" || three[2].kind == super::lexed::TokenKind::Text;
        let off = matches!(value, "false" | "undefined" | "null");
        (!off).then(|| Marker { kind, line: lexed.line_of(three[0].at), conditional: !constant })
    };
    tokens.windows(3).filter_map(marker).collect()
}

/// `function name(…) {…}`
fn function(lexed: &Lexed<'_>, from: usize, start: usize, drafts: &mut Vec<Draft>) {
    let rest = &lexed.code[from..];
    let name_at = from + rest.len() - rest.trim_start_matches([' ', '*']).len();
    let name = word_at(lexed, name_at);
    let Some(open) = lexed.head(name_at).find('(').filter(|_| !name.is_empty()) else { return };
    let close = lexed.after_closing(name_at + open);
    let Some(brace) = lexed.head(close).find('{') else { return };
    let end = lexed.after_closing(close + brace);
    drafts.push(helper(name, start..end, lexed.inside(close + brace)));
}

/// `const name = (…) => …`
fn arrow(lexed: &Lexed<'_>, from: usize, start: usize, drafts: &mut Vec<Draft>) {
    let rest = &lexed.code[from..];
    let name_at = from + rest.len() - rest.trim_start().len();
    let name = word_at(lexed, name_at);
    let head = lexed.head(name_at);
    let line_end = name_at + head.find('\n').unwrap_or(head.len());
    let Some(arrow) = lexed.code[name_at..line_end].find("=>").filter(|_| !name.is_empty()) else { return };
    let body_at = name_at + arrow + 2;
    let body = lexed.code[body_at..].trim_start();
    let open = lexed.code.len() - body.len();
    let end = if body.starts_with('{') { lexed.after_closing(open) } else { line_end.max(open) };
    drafts.push(helper(name, start..end, open.min(end)..end));
}

fn helper(name: &str, whole: Range<usize>, body: Range<usize>) -> Draft {
    Draft { name: name.to_owned(), whole, body, parameters: Vec::new(), markers: Vec::new(), is_test: false }
}
