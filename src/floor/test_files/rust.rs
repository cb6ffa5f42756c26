//! Tests in Rust: functions under an attribute that ends in `test` (or `rstest`, `test_case`, `quickcheck`), and the
//! regions of a file that are compiled for tests only.

use super::lexed::Lexed;
use super::marker::{Marker, MarkerKind};
use super::outline::Draft;
use std::collections::HashMap;
use std::ops::Range;

/// An item compiled for tests only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    /// From its first comment or attribute to its end, in bytes.
    pub(super) range: Range<usize>,
    /// What it is, to find it again in another version of the file: `mod tests`, `fn a`.
    pub(super) key: String,
    /// True if it stands at the top of the file.
    pub(super) at_top: bool,
}

/// What the scanner finds.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) drafts: Vec<Draft>,
    pub(super) regions: Vec<Region>,
    /// `#![cfg(test)]`: all of the file.
    pub(super) all_test: bool,
    seen: HashMap<String, usize>,
}

/// Attributes of more enclosing modules than this are not looked at.
const DEEPEST: usize = 64;

struct Scope {
    /// A module's name.
    name: Option<String>,
    markers: Vec<Marker>,
    region: Option<(usize, String)>,
}

#[derive(Default)]
struct Pending {
    start: Option<usize>,
    attributes: Vec<Range<usize>>,
    item: Option<String>,
}

/// Scans a file.
pub(super) fn scan(lexed: &Lexed<'_>) -> Found {
    let mut found = Found::default();
    let mut scopes: Vec<Scope> = Vec::new();
    let mut pending = Pending::default();
    let mut file_markers = Vec::new();
    let mut regions = 0_usize;
    let code = lexed.code.as_bytes();
    let mut at = 0;
    while at < code.len() {
        match code[at] {
            b'#' if matches!(code.get(at + 1), Some(b'[')) || code[at..].starts_with(b"#![") => {
                let inner = code[at + 1] == b'!';
                let end = lexed.after_closing(at + 1 + usize::from(inner));
                if inner {
                    found.all_test |= scopes.is_empty() && is_test_only(&attribute(lexed, &(at..end)));
                    file_markers.extend(marker(lexed, &(at..end)).filter(|_| scopes.is_empty()));
                } else {
                    pending.start.get_or_insert(at);
                    pending.attributes.push(at..end);
                }
                at = end;
            }
            b'{' => {
                let test_only = pending.attributes.iter().any(|range| is_test_only(&attribute(lexed, range)));
                let region = (test_only && regions == 0)
                    .then(|| (pending.start.unwrap_or(at), pending.item.clone().unwrap_or_else(|| "block".to_owned())));
                let name = pending.item.as_deref().and_then(|item| item.strip_prefix("mod ")).map(str::to_owned);
                regions += usize::from(region.is_some());
                scopes.push(Scope { name, markers: markers(lexed, &pending.attributes), region });
                pending = Pending::default();
                at += 1;
            }
            b'}' => {
                if let Some((start, key)) = scopes.pop().and_then(|scope| scope.region) {
                    regions -= 1;
                    push_region(lexed, &mut found, start..at + 1, key, scopes.is_empty());
                }
                pending = Pending::default();
                at += 1;
            }
            b';' => {
                let test_only = pending.attributes.iter().any(|range| is_test_only(&attribute(lexed, range)));
                if test_only && regions == 0 {
                    let start = pending.start.unwrap_or(at);
                    let key =
                        pending.item.clone().unwrap_or_else(|| lexed.text[start..at].split_whitespace().collect());
                    push_region(lexed, &mut found, start..at + 1, key, scopes.is_empty());
                }
                pending = Pending::default();
                at += 1;
            }
            byte if byte == b'_' || byte.is_ascii_alphabetic() => {
                let word = word_at(lexed, at);
                at += word.len();
                if word == "mod" || word == "fn" {
                    let from = at + lexed.code[at..].len() - lexed.code[at..].trim_start().len();
                    let name = word_at(lexed, from);
                    if name.is_empty() {
                        continue;
                    }
                    pending.start.get_or_insert(at - word.len());
                    pending.item = Some(format!("{word} {name}"));
                    at = from + name.len();
                    if word == "fn" {
                        let inherited =
                            scopes.iter().take(DEEPEST).flat_map(|scope| &scope.markers).chain(&file_markers).cloned();
                        let around = Around { scopes: &scopes, inherited: inherited.collect(), in_region: regions > 0 };
                        at = function(lexed, at, name, around, &mut pending, &mut found);
                    }
                }
            }
            byte if byte.is_ascii_digit() => at += word_at(lexed, at).len().max(1),
            _ => at += 1,
        }
    }
    found.drafts.sort_by_key(|draft| draft.whole.start);
    found
}

/// What a function stands in.
struct Around<'s> {
    scopes: &'s [Scope],
    inherited: Vec<Marker>,
    in_region: bool,
}

/// Reads a function from behind its name; returns where to go on.
fn function(
    lexed: &Lexed<'_>,
    at: usize,
    name: &str,
    around: Around<'_>,
    pending: &mut Pending,
    found: &mut Found,
) -> usize {
    let Some(open) = body_start(lexed, at) else { return at };
    let end = lexed.after_closing(open);
    let start = pending.start.unwrap_or(at);
    let is_test = pending.attributes.iter().any(|range| is_test_attribute(&attribute(lexed, range)));
    let mut all = around.inherited;
    all.extend(markers(lexed, &pending.attributes));
    let modules = around.scopes.iter().take(DEEPEST).filter_map(|scope| scope.name.as_deref());
    let full = modules.chain([name]).collect::<Vec<_>>().join("::");
    let told = |range: &&Range<usize>| {
        let text = attribute(lexed, range);
        ["case", "values", "test_case", "rstest"].iter().any(|word| text.starts_with(word))
    };
    found.drafts.push(Draft {
        name: if is_test { full } else { name.to_owned() },
        whole: start..end,
        body: lexed.inside(open),
        parameters: pending.attributes.iter().filter(told).cloned().collect(),
        markers: all,
        is_test,
    });
    if !is_test {
        return open;
    }
    if !around.in_region {
        push_region(lexed, found, start..end, format!("fn {name}"), around.scopes.is_empty());
    }
    *pending = Pending::default();
    end
}

fn body_start(lexed: &Lexed<'_>, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in lexed.head(from).bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' if depth == 0 => return Some(from + offset),
            b';' | b'}' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn push_region(lexed: &Lexed<'_>, found: &mut Found, range: Range<usize>, key: String, at_top: bool) {
    // A documentation comment without its item would not compile.
    let mut start = range.start;
    let before = lexed.spans.partition_point(|span| span.range.end <= start);
    for span in lexed.spans[..before].iter().rev().take_while(|span| span.is_comment) {
        let doc =
            lexed.text[span.range.clone()].starts_with("///") || lexed.text[span.range.clone()].starts_with("/**");
        if !doc || !lexed.text[span.range.end..start].trim().is_empty() {
            break;
        }
        start = span.range.start;
    }
    let same = found.seen.entry(key.clone()).or_default();
    *same += 1;
    let key = if *same == 1 { key } else { format!("{key} #{same}") };
    found.regions.push(Region { range: start..range.end, key, at_top });
}

fn word_at<'t>(lexed: &Lexed<'t>, at: usize) -> &'t str {
    let rest = lexed.text.get(at..).unwrap_or_default();
    let code = lexed.code.get(at..).unwrap_or_default();
    let end = code.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(code.len());
    &rest[..end]
}

/// An attribute's inside without blanks, strings included.
fn attribute(lexed: &Lexed<'_>, range: &Range<usize>) -> String {
    let text = &lexed.text[range.clone()];
    let inner = text.trim_start_matches(['#', '!', '[']).trim_end_matches(']');
    inner.chars().filter(|c| !c.is_whitespace()).collect()
}

fn is_test_attribute(attribute: &str) -> bool {
    let path = attribute.split(['(', '=']).next().unwrap_or(attribute);
    let last = path.rsplit("::").next().unwrap_or(path);
    matches!(last, "test" | "rstest" | "test_case" | "quickcheck" | "wasm_bindgen_test" | "parameterized")
}

/// True for a `cfg` that holds in tests only: `test`, or an `all` with it.
fn is_test_only(attribute: &str) -> bool {
    fn holds(predicate: &str) -> bool {
        if let Some(all) = predicate.strip_prefix("all(").and_then(|rest| rest.strip_suffix(')')) {
            return split_top(all).iter().any(|part| holds(part));
        }
        predicate == "test"
    }
    attribute.strip_prefix("cfg(").and_then(|rest| rest.strip_suffix(')')).is_some_and(holds)
}

fn split_top(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

fn markers(lexed: &Lexed<'_>, attributes: &[Range<usize>]) -> Vec<Marker> {
    attributes.iter().filter_map(|range| marker(lexed, range)).collect()
}

fn marker(lexed: &Lexed<'_>, range: &Range<usize>) -> Option<Marker> {
    let text = attribute(lexed, range);
    let line = lexed.line_of(range.start);
    let of = |kind, conditional| Some(Marker { kind, line, conditional });
    let name = text.split(['(', '=']).next().unwrap_or_default();
    let predicate = text.strip_prefix("cfg(").and_then(|rest| rest.strip_suffix(')'));
    match name {
        "ignore" => of(MarkerKind::Skip, false),
        "should_panic" => of(MarkerKind::MustPanic, false),
        "cfg_attr" if text.contains("ignore") => of(MarkerKind::Skip, true),
        "cfg" if matches!(predicate, Some("any()" | "not(test)" | "not(all())" | "FALSE" | "false")) => {
            of(MarkerKind::Skip, false)
        }
        "cfg" if !is_test_only(&text) || text.contains(',') => of(MarkerKind::Skip, true),
        _ => None,
    }
}
