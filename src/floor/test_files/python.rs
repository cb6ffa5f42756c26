//! Tests in Python as pytest and unittest collect them: functions `test*` at the top and in classes `Test*` or
//! subclasses of a test case.

use super::lexed::Lexed;
use super::marker::{Marker, MarkerKind};
use super::outline::Draft;
use std::ops::Range;

struct Class {
    indent: usize,
    name: String,
    collected: bool,
    markers: Vec<Marker>,
    parameters: Vec<Range<usize>>,
}

struct Line {
    start: usize,
    end: usize,
    indent: usize,
}

/// Scans a file.
pub(super) fn scan(lexed: &Lexed<'_>) -> Vec<Draft> {
    let lines = logical_lines(lexed);
    let mut drafts: Vec<Draft> = Vec::new();
    let mut classes: Vec<Class> = Vec::new();
    let mut decorators: Vec<Range<usize>> = Vec::new();
    let module = module_markers(lexed, &lines);
    // Indentation of the innermost function: what it defines is not collected.
    let mut inside: Option<usize> = None;
    for (index, line) in lines.iter().enumerate() {
        let text = &lexed.code[line.start..line.end];
        classes.retain(|class| class.indent < line.indent);
        inside = inside.filter(|indent| *indent < line.indent);
        if text.starts_with('@') {
            decorators.push(line.start..line.end);
            continue;
        }
        let head = text.strip_prefix("async ").map_or(text, str::trim_start);
        if let Some(name) = head.strip_prefix("class ").map(word) {
            let bases = head.split_once('(').map_or("", |(_, bases)| bases);
            let collected = name.starts_with("Test") || bases.contains("Test") || bases.contains("Case");
            let outer = classes.last();
            classes.push(Class {
                indent: line.indent,
                collected: collected && inside.is_none() && outer.is_none_or(|outer| outer.collected),
                markers: markers(lexed, &decorators)
                    .into_iter()
                    .chain(outer.map(|o| o.markers.clone()).unwrap_or_default())
                    .collect(),
                parameters: parameters(lexed, &decorators),
                name,
            });
        } else if let Some(name) = head.strip_prefix("def ").map(word).filter(|name| !name.is_empty()) {
            let start = decorators.first().map_or(line.start, |first| first.start);
            let body = body(lexed, &lines, index);
            let class = classes.last();
            let collected = name.starts_with("test") && inside.is_none() && class.is_none_or(|class| class.collected);
            let full =
                classes.iter().map(|class| class.name.as_str()).chain([name.as_str()]).collect::<Vec<_>>().join("::");
            let inherited = class.map(|class| class.markers.clone()).unwrap_or_default();
            let shared = class.map(|class| class.parameters.clone()).unwrap_or_default();
            drafts.push(Draft {
                whole: start..body.end,
                body,
                parameters: parameters(lexed, &decorators).into_iter().chain(shared).collect(),
                markers: markers(lexed, &decorators).into_iter().chain(inherited).chain(module.clone()).collect(),
                is_test: collected,
                name: if collected { full } else { name },
            });
            inside = inside.or(Some(line.indent));
        }
        decorators.clear();
    }
    drafts
}

/// Lines of code as Python counts them: brackets and strings continue a line.
fn logical_lines(lexed: &Lexed<'_>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let (mut at, mut depth, mut continued) = (0, 0_usize, false);
    for physical in lexed.code.split_inclusive('\n') {
        let text = physical.trim_end();
        let indent = text.len() - text.trim_start().len();
        if !text.trim_start().is_empty() {
            // A string over several lines leaves the lines after its first blank or starting inside it.
            let in_string = lexed
                .spans
                .get(lexed.spans.partition_point(|span| span.range.end <= at))
                .is_some_and(|span| span.range.start < at);
            match lines.last_mut().filter(|_| depth > 0 || continued || in_string) {
                Some(open) => open.end = at + text.len(),
                None => lines.push(Line { start: at + indent, end: at + text.len(), indent }),
            }
            for byte in text.bytes() {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            continued = text.ends_with('\\');
        }
        at += physical.len();
    }
    lines
}

/// The body of the function whose `def` is this line.
fn body(lexed: &Lexed<'_>, lines: &[Line], index: usize) -> Range<usize> {
    let line = &lines[index];
    let inner = lines[index + 1..].iter().take_while(|other| other.indent > line.indent);
    let (first, last) = inner.fold((None, None), |(first, _), other| (first.or(Some(other)), Some(other)));
    let trailing = |end: usize| {
        // A string that ends the body is blank in the code: its span says where it ends.
        let next = lexed.spans.partition_point(|span| span.range.end <= end);
        lexed.spans.get(next).filter(|span| span.range.start < end).map_or(end, |span| span.range.end)
    };
    if let (Some(first), Some(last)) = (first, last) {
        return first.start..trailing(last.end);
    }
    // `def f(): return 1`
    let text = &lexed.code[line.start..line.end];
    let open = text.find('(').map_or(line.start, |open| line.start + open);
    let close = lexed.after_closing(open).min(line.end);
    let colon = lexed.code[close..line.end].find(':').map_or(line.end, |colon| close + colon + 1);
    colon..line.end
}

fn word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn parameters(lexed: &Lexed<'_>, decorators: &[Range<usize>]) -> Vec<Range<usize>> {
    let told = |range: &&Range<usize>| {
        let code = &lexed.code[(*range).clone()];
        ["parametrize", "parameterized", "example", "given", "ddt", "data("].iter().any(|word| code.contains(word))
    };
    decorators.iter().filter(told).cloned().collect()
}

fn markers(lexed: &Lexed<'_>, decorators: &[Range<usize>]) -> Vec<Marker> {
    decorators.iter().filter_map(|range| marker(lexed, range)).collect()
}

fn marker(lexed: &Lexed<'_>, range: &Range<usize>) -> Option<Marker> {
    let code = &lexed.code[range.clone()];
    if code.contains("parametrize") {
        return None;
    }
    let line = lexed.line_of(range.start);
    let name = code.trim_start_matches('@').split('(').next().unwrap_or_default().trim();
    let arguments: String =
        code.split_once('(').map(|(_, rest)| rest.chars().filter(|c| !c.is_whitespace()).collect()).unwrap_or_default();
    let constant =
        ["True", "1,", "1)", "not"].iter().any(|word| arguments.starts_with(word)) && !arguments.starts_with("not");
    let (kind, conditional) = match name.rsplit('.').next().unwrap_or(name) {
        "skip" => (MarkerKind::Skip, false),
        "skipif" | "skipIf" => (MarkerKind::Skip, !constant),
        "skipUnless" => (MarkerKind::Skip, !arguments.starts_with("False")),
        "xfail" => (MarkerKind::ExpectedFailure, arguments.starts_with("sys.") || arguments.starts_with("condition")),
        "expectedFailure" => (MarkerKind::ExpectedFailure, false),
        _ => return None,
    };
    Some(Marker { kind, line, conditional })
}

/// `pytestmark`, `__test__ = False` and a skip at the top of the file.
fn module_markers(lexed: &Lexed<'_>, lines: &[Line]) -> Vec<Marker> {
    let mut found = Vec::new();
    for line in lines.iter().filter(|line| line.indent == 0) {
        let code: String = lexed.code[line.start..line.end].chars().filter(|c| !c.is_whitespace()).collect();
        let at = lexed.line_of(line.start);
        let of = |kind, conditional| Marker { kind, line: at, conditional };
        if let Some(value) = code.strip_prefix("pytestmark=") {
            if value.contains("mark.skipif") {
                found.push(of(MarkerKind::Skip, !value.contains("skipif(True")));
            } else if value.contains("mark.skip") {
                found.push(of(MarkerKind::Skip, false));
            }
            if value.contains("mark.xfail") {
                found.push(of(MarkerKind::ExpectedFailure, false));
            }
        } else if code.starts_with("pytest.skip(")
            || code == "__test__=False"
            || code.starts_with("raiseunittest.SkipTest")
        {
            found.push(of(MarkerKind::Skip, false));
        }
    }
    found
}
