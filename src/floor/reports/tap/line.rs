//! One line of TAP.

use crate::floor::reports::tally::cut;

/// A line that means something.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    Version(u64),
    /// `1..N`, and the reason behind its `# SKIP`.
    Plan {
        last: u64,
        reason: Option<String>,
    },
    Point(Point),
    /// `Bail out!` and why.
    BailOut(String),
    /// The end of a subtest written in braces.
    Close,
}

/// A test point.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) ok: bool,
    pub(super) number: Option<u64>,
    pub(super) name: String,
    pub(super) directive: Option<Directive>,
    /// Its subtest follows in braces.
    pub(super) opens: bool,
}

/// What excuses a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Skip,
    Todo,
}

/// What a line, without its indentation, means; none for anything else, which is output.
pub(super) fn item(body: &str) -> Option<Item> {
    if body == "}" {
        return Some(Item::Close);
    }
    if let Some(version) = body.strip_prefix("TAP version ") {
        return version.trim().parse().ok().map(Item::Version);
    }
    if body.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("bail out!")) {
        return Some(Item::BailOut(cut(body[9..].trim()).to_owned()));
    }
    if let Some(rest) = body.strip_prefix("1..") {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = rest.split_at(digits);
        let rest = rest.trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            return None;
        }
        let reason = rest.strip_prefix('#').map(|reason| cut(reason.trim()).to_owned());
        return number.parse().ok().map(|last| Item::Plan { last, reason });
    }
    point(body).map(Item::Point)
}

fn point(body: &str) -> Option<Point> {
    let (ok, rest) = match body.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, body.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let is_number = digits > 0 && rest[digits..].chars().next().is_none_or(char::is_whitespace);
    let (number, rest) = if is_number { rest.split_at(digits) } else { ("", rest) };
    let (rest, opens) = match rest.trim_end().strip_suffix('{') {
        Some(shorter) if shorter.is_empty() || shorter.ends_with(' ') => (shorter, true),
        _ => (rest, false),
    };
    let (name, directive) = directive(rest.trim());
    let name = name.trim();
    let name = name.strip_prefix('-').map_or(name, str::trim_start);
    Some(Point { ok, number: number.parse().ok(), name: unescape(cut(name)), directive, opens })
}

/// Splits a description from its directive: an unescaped `#` and the word behind it.
fn directive(text: &str) -> (&str, Option<Directive>) {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == '#' && !escaped && (at == 0 || text[..at].ends_with(char::is_whitespace)) {
            let word = text[at + 1..].trim_start().get(..4).unwrap_or_default().to_ascii_lowercase();
            match word.as_str() {
                "skip" => return (&text[..at], Some(Directive::Skip)),
                "todo" => return (&text[..at], Some(Directive::Todo)),
                _ => {}
            }
        }
        escaped = c == '\\' && !escaped;
    }
    (text, None)
}

fn unescape(text: &str) -> String {
    text.replace("\\#", "#").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_split_into_state_number_name_and_directive() {
        let cases = [
            ("ok", true, None, "", None),
            ("not ok 2", false, Some(2), "", None),
            ("ok 3 - adds", true, Some(3), "adds", None),
            ("ok 4 adds # SKIP no net", true, Some(4), "adds", Some(Directive::Skip)),
            ("not ok 5 - x # todo later", false, Some(5), "x", Some(Directive::Todo)),
            ("ok 6 - a \\# skip b", true, Some(6), "a # skip b", None),
            ("ok 7 - issue #12", true, Some(7), "issue #12", None),
            ("ok - 2 plus 2", true, None, "2 plus 2", None),
        ];
        for (text, ok, number, name, directive) in cases {
            let expected = Point { ok, number, name: name.to_owned(), directive, opens: false };
            assert_eq!(item(text), Some(Item::Point(expected)), "{text}");
        }
        for other in ["okay", "not okay", "# ok 1", "1..x", "1..2 3", "pragma +strict"] {
            assert_eq!(item(other), None, "{other}");
        }
        assert!(matches!(item("ok 1 - a {"), Some(Item::Point(Point { opens: true, .. }))));
        assert!(matches!(item("1..0 # SKIP none"), Some(Item::Plan { last: 0, .. })));
        assert!(matches!(item("Bail out! no disk"), Some(Item::BailOut(why)) if why == "no disk"));
    }
}
