//! A decision record's file: its name, its number, its shape (agentheim.md §2.6).

use crate::host::path::RepoPath;
use crate::host::redact::redact_and_cut;
use crate::receipts::State;
use crate::task::frontmatter::{Frontmatter, FrontmatterError};
use crate::task::layout::DECISIONS;
use crate::task::markdown::{Cover, Document};
use crate::task::text::Text;

/// Something about a record that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Which rule, stable between two versions of a file.
    pub(super) rule: String,
    pub(super) state: State,
    pub(super) expected: String,
    pub(super) observed: String,
}

fn fault(state: State, rule: &str, expected: impl Into<String>, observed: impl Into<String>) -> Fault {
    Fault { rule: rule.to_owned(), state, expected: expected.into(), observed: observed.into() }
}

/// The file name of a record that lies directly in the decisions folder; README, INDEX and template are none.
pub(super) fn record_name(path: &RepoPath) -> Option<String> {
    let name = path.as_bytes().strip_prefix(DECISIONS.as_bytes())?.strip_prefix(b"/")?;
    let name = String::from_utf8_lossy(name).into_owned();
    let stem = name.strip_suffix(".md")?.to_ascii_lowercase();
    let other = name.contains('/') || matches!(stem.as_str(), "readme" | "index" | "template");
    (!other).then_some(name)
}

/// The number and slug of `NNNN-kebab-slug.md`.
pub(super) fn well_named(name: &str) -> Option<u32> {
    let (number, slug) = name.strip_suffix(".md")?.split_once('-')?;
    let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let digits = number.len() == 4 && number.bytes().all(|b| b.is_ascii_digit());
    (digits && slug.split('-').all(word)).then(|| number.parse().ok())?
}

/// The number at the head of a record's file name, well formed or not.
pub(super) fn number_of_file(name: &str) -> Option<u32> {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 9 { None } else { name[..digits].parse().ok() }
}

/// The number that a reference means: `0017`, `ADR-0017`, `ADR 17`, `0017-slug`, with `.md`.
pub(super) fn number_of(reference: &str) -> Option<u32> {
    let bare = reference.trim();
    let head = bare.get(..3).filter(|head| head.eq_ignore_ascii_case("adr"));
    let bare = head.map_or(bare, |_| bare[3..].trim_start_matches(['-', ' ', '_']));
    let number = number_of_file(bare)?;
    let rest = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.is_empty() || rest.starts_with(['-', '.', ' ', ':'])).then_some(number)
}

/// The records that a list in the frontmatter refers to; a list that cannot be read gives its fault.
pub(super) fn references(text: &[u8], key: &str) -> Result<Vec<String>, String> {
    let Ok(text) = Text::read(text) else { return Ok(Vec::new()) };
    let Ok(front) = Frontmatter::read(text) else { return Ok(Vec::new()) };
    front.list(key).map_err(|why| why.to_string())
}

/// True if the record says that another one took its place.
pub(super) fn is_superseded(text: &[u8]) -> bool {
    let Some(front) = Text::read(text).ok().and_then(|text| Frontmatter::read(text).ok()) else { return false };
    let status = front.word("status").ok().flatten().unwrap_or_default();
    let by = front.list("superseded_by").unwrap_or_default();
    status.eq_ignore_ascii_case("superseded") || status.eq_ignore_ascii_case("deprecated") || !by.is_empty()
}

/// What is wrong with a record of this number.
pub(super) fn examine(number: Option<u32>, bytes: &[u8]) -> Vec<Fault> {
    let text = match Text::read(bytes) {
        Ok(text) => text,
        Err(why) => return vec![fault(State::Deny, "text", "UTF-8 text", why.to_string())],
    };
    let mut faults = Vec::new();
    let body_line = match Frontmatter::read(text) {
        Ok(front) => {
            fields(number, &front, &mut faults);
            front.body_line()
        }
        Err(why) => {
            use FrontmatterError as F;
            let none = matches!(why, F::Absent | F::NotFirst { .. } | F::Unclosed | F::Dots { .. });
            let state = if none && !has_head(text) { State::Deny } else { State::Ask };
            let expected = "frontmatter with id, title, scope, status and date";
            faults.push(fault(state, "frontmatter", expected, why.to_string()));
            1
        }
    };
    sections(&Document::read(text.lines().skip(body_line - 1)), &mut faults);
    faults
}

/// True for the older way to head a record: status and date as lines between the title and the first section. It says
/// what frontmatter says, only not to a program, so nobody's work is false for it.
fn has_head(text: Text<'_>) -> bool {
    let head = || text.lines().map(|line| line.text).take_while(|line| !line.starts_with("## "));
    let gives = |line: &str, key: &str| {
        let line = line.trim_start_matches([' ', '-', '*', '+']);
        let rest = line.get(..key.len()).filter(|word| word.eq_ignore_ascii_case(key)).map(|_| &line[key.len()..]);
        let value = rest.and_then(|rest| rest.trim_start_matches(['*', ' ']).strip_prefix(':'));
        value.is_some_and(|value| !value.trim_matches(['*', ' ', '\r']).is_empty())
    };
    ["Status", "Date"].iter().all(|key| head().any(|line| gives(line, key)))
}

fn fields(number: Option<u32>, front: &Frontmatter, faults: &mut Vec<Fault>) {
    for key in ["id", "title", "scope", "status", "date"] {
        let value = if key == "title" { front.raw(key).map(|v| v.map(str::to_owned)) } else { front.word(key) };
        let value = match value {
            Ok(Some(value)) => value,
            Ok(None) => {
                faults.push(fault(State::Deny, key, format!("a value of `{key}`"), "none"));
                continue;
            }
            Err(why) => {
                faults.push(fault(State::Ask, key, format!("a plain value of `{key}`"), why.to_string()));
                continue;
            }
        };
        let shown = crate::host::path::escape(redact_and_cut(&value, 80).0.as_bytes());
        match key {
            "id" if number.is_some() && number_of(&value) != number => {
                let expected = format!("the file's number, ADR-{:04}", number.unwrap_or_default());
                faults.push(fault(State::Deny, "id", expected, format!("`id: {shown}`")));
            }
            "status" if !["proposed", "accepted", "superseded", "deprecated"].contains(&value.as_str()) => {
                let expected = "proposed, accepted, superseded or deprecated";
                faults.push(fault(State::Ask, "status", expected, format!("`status: {shown}`")));
            }
            "date" if !is_date(&value) => {
                faults.push(fault(State::Ask, "date", "YYYY-MM-DD", format!("`date: {shown}`")));
            }
            _ => {}
        }
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, b)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() })
}

fn sections(document: &Document<'_>, faults: &mut Vec<Fault>) {
    for wanted in ["Context", "Decision", "Consequences"] {
        let observed = match body_of(document, wanted) {
            None => "no such section",
            Some(false) => "the section is empty",
            Some(true) => continue,
        };
        faults.push(fault(State::Deny, wanted, format!("a section `## {wanted}` that says something"), observed));
    }
    let weighed = document.lines.iter().any(|line| {
        let lower = line.text.to_lowercase();
        let heading = line.level.is_some() && (lower.contains("alternativ") || lower.contains("option"));
        heading || [" over ", "instead of", "rather than", "rejected"].iter().any(|word| lower.contains(word))
    });
    if !weighed {
        let expected = "an alternative that was weighed, and why it lost";
        faults.push(fault(State::Info, "alternatives", expected, "none that these words give away"));
    }
}

/// Whether a section holds text; none if there is no such section. A heading may go on after the word.
fn body_of(document: &Document<'_>, wanted: &str) -> Option<bool> {
    let is_wanted = |title: &str| {
        let head = title.get(..wanted.len()).is_some_and(|head| head.eq_ignore_ascii_case(wanted));
        head && title[wanted.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric())
    };
    let start = document.lines.iter().position(|l| l.level == Some(2) && l.title().is_some_and(is_wanted))?;
    let body = document.lines[start + 1..].iter().take_while(|l| !matches!(l.level, Some(1 | 2)));
    Some(body.into_iter().any(|l| l.level.is_none() && l.cover != Cover::Comment && !l.is_blank()))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) const GOOD: &str = "---\nid: ADR-0007\ntitle: `x` over y: why\nscope: global\nstatus: accepted\ndate: 2026-01-02\nsupersedes: [0003]\n---\n# ADR-0007: x\n\n## Context\nc\n\n## Decision\nx over y\n\n## Consequences\nq\n";

    fn rules(text: &str) -> Vec<(State, String)> {
        examine(Some(7), text.as_bytes()).into_iter().map(|f| (f.state, f.rule)).collect()
    }

    #[test]
    fn a_record_says_who_it_is_and_why() {
        assert!(rules(GOOD).is_empty());
        assert!(rules(&GOOD.replace("ADR-0007\n", "0007\n").replace('\n', "\r\n")).is_empty());
        assert!(rules(&GOOD.replace("## Context", "## Context and problem")).is_empty());
        for (from, to, state, rule) in [
            ("id: ADR-0007", "id: ADR-0008", State::Deny, "id"),
            ("scope: global\n", "", State::Deny, "scope"),
            ("status: accepted", "status:", State::Deny, "status"),
            ("status: accepted", "status: maybe", State::Ask, "status"),
            ("date: 2026-01-02", "date: yesterday", State::Ask, "date"),
            ("## Context\nc\n", "## Context\n<!-- later -->\n### Detail\n", State::Deny, "Context"),
            ("## Consequences\nq\n", "", State::Deny, "Consequences"),
            ("## Decision", "## Decisions", State::Deny, "Decision"),
            ("x over y\n", "x\n", State::Info, "alternatives"),
        ] {
            let text = if rule == "alternatives" { GOOD.replace(" over y: why", "") } else { GOOD.to_owned() };
            assert_eq!(rules(&text.replace(from, to)), [(state, rule.to_owned())], "{from} -> {to}");
        }
        let bare = GOOD.split_once("---\n# ").unwrap().1;
        assert_eq!(rules(&format!("# {bare}")), [(State::Deny, "frontmatter".to_owned())]);
        assert_eq!(examine(None, b"\xff")[0].rule, "text");
    }

    #[test]
    fn a_record_headed_by_lines_instead_of_frontmatter_is_asked_about() {
        let sections = "## Context\nc\n\n## Decision\nx over y\n\n## Consequences\nq\n";
        for (head, state) in [
            ("# ADR-0007: x\n\n- Status: accepted\n- Date: 2026-01-02\n", State::Ask),
            ("# 7. x\n\nDate: 2026-01-02\n\n**Status:** accepted\n", State::Ask),
            ("# ADR-0007: x\n\n- **Status**: accepted\n* date : 2026-01-02\n", State::Ask),
            ("# ADR-0007: x\n\n- Status:\n- Date: 2026-01-02\n", State::Deny),
            ("# ADR-0007: x\n\n- Status: accepted\n", State::Deny),
            ("# ADR-0007: x\n", State::Deny),
            ("---\nid: 7\nStatus: accepted\nDate: d\n", State::Ask),
        ] {
            assert_eq!(rules(&format!("{head}\n{sections}")), [(state, "frontmatter".to_owned())], "{head}");
        }
        let below = format!("# x\n\n{sections}\nStatus: accepted\nDate: 2026-01-02\n");
        assert_eq!(rules(&below), [(State::Deny, "frontmatter".to_owned())]);
    }

    #[test]
    fn a_reference_means_a_number_in_each_of_its_spellings() {
        for (text, number) in [
            ("0017", Some(17)),
            ("ADR-0017", Some(17)),
            ("adr 17", Some(17)),
            ("0017-some-slug.md", Some(17)),
            ("ADR-0017: title", Some(17)),
            ("", None),
            ("none", None),
            ("17th", None),
            ("ADR-", None),
            ("99999999999", None),
        ] {
            assert_eq!(number_of(text), number, "{text:?}");
        }
        assert_eq!(well_named("0017-a-b2.md"), Some(17));
        for bad in ["17-a.md", "0017-A.md", "0017.md", "0017-a--b.md", "0017-a.txt", "0017-.md", "../0017-a.md"] {
            assert_eq!(well_named(bad), None, "{bad}");
        }
    }
}
