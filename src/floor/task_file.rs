//! Two versions of a task file, compared for what the worker may not change.

use super::finding::deny;
use super::reading::lines;
use crate::host::path::{RepoPath, escape};
use crate::receipts::Finding;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::borrow::Cow;

/// Above this many lines a file is not compared line by line.
const MOST_LINES: usize = 5_000;

/// What a worker may change in its own task file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowance {
    /// Nothing: the conductor keeps the board.
    Nothing,
    /// `status`, `completed`, `commit`, ticks, the `## Outcome` section (agentheim.md §0, generations A and B). The
    /// conductor shares the file and may have added its notes; `related_adrs` is compared as a list elsewhere.
    Outcome,
    /// That, and the `## Worker note` of a bounce.
    Bounce,
}

/// The headings of the notes that the conductor appends (agentheim.md §2.4).
const NOTES: [&[u8]; 3] = [b"verifier note", b"salvage note", b"merge-conflict note"];

/// A finding for each run of lines that changed beyond the allowance. Line endings, a byte order mark, blank lines and
/// stray closing tags of a transcript say nothing and are not compared.
pub(super) fn beyond(path: &RepoPath, old: &[u8], new: &[u8], allowance: Allowance) -> Vec<Finding> {
    let added = if allowance == Allowance::Nothing { Vec::new() } else { added_notes(old, new) };
    let (old, new) = (kept(old, allowance, &[]), kept(new, allowance, &added));
    if old.len().max(new.len()) > MOST_LINES {
        let same = old.iter().map(|l| &l.text).eq(new.iter().map(|l| &l.text));
        let observed = format!("a file of {} lines, rewritten", new.len());
        return if same { Vec::new() } else { vec![deny(path, expected(allowance), observed)] };
    }
    let texts = |side: &[Kept<'_>]| side.iter().map(|l| l.text.to_vec()).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Myers, &texts(&old), &texts(&new));
    ops.iter().filter_map(|op| hunk(path, op, &old, &new, allowance)).collect()
}

/// The headings of notes that only the new version has.
pub(super) fn added_notes<'t>(old: &[u8], new: &'t [u8]) -> Vec<&'t [u8]> {
    let title =
        |line: &'_ [u8]| line.strip_prefix(b"## ").is_some_and(|title| NOTES.iter().any(|note| heads(title, note)));
    let known: Vec<&[u8]> = lines(old).filter(|line| title(line)).collect();
    lines(new).filter(|line| title(line) && !known.contains(line)).collect()
}

/// True if a title begins with these (lower-case) words.
fn heads(title: &[u8], words: &[u8]) -> bool {
    let title = title.trim_ascii().to_ascii_lowercase();
    title.strip_prefix(words).is_some_and(|rest| rest.first().is_none_or(|b| !b.is_ascii_alphanumeric()))
}

/// True for a line like `</content>`.
fn is_closing_tag(line: &[u8]) -> bool {
    let word = line.trim_ascii().strip_prefix(b"</").and_then(|rest| rest.strip_suffix(b">"));
    word.is_some_and(|word| {
        !word.is_empty() && word.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':'))
    })
}

fn hunk(path: &RepoPath, op: &DiffOp, old: &[Kept<'_>], new: &[Kept<'_>], allowance: Allowance) -> Option<Finding> {
    if matches!(op, DiffOp::Equal { .. }) {
        return None;
    }
    let (was, is) = (&old[op.old_range()], &new[op.new_range()]);
    let (place, observed) = match (is.first(), was.first()) {
        (Some(line), Some(first)) => {
            (format!("{path}:{}", line.number), format!("`{}` became `{}`", quoted(first), quoted(line)))
        }
        (Some(line), None) => (format!("{path}:{}", line.number), format!("added: `{}`", quoted(line))),
        (None, Some(first)) => {
            (format!("{path}:{} (of the base)", first.number), format!("removed: `{}`", quoted(first)))
        }
        (None, None) => return None,
    };
    let more = was.len().max(is.len()).saturating_sub(1);
    let observed = if more == 0 { observed } else { format!("{observed}, and {more} more") };
    Some(deny(place, expected(allowance), observed))
}

fn expected(allowance: Allowance) -> &'static str {
    match allowance {
        Allowance::Nothing => "unchanged: the conductor keeps the board; restore the task file from the base",
        Allowance::Outcome | Allowance::Bounce => {
            "as at the base, but for status, completed, ticked boxes and the Outcome section"
        }
    }
}

fn quoted(line: &Kept<'_>) -> String {
    const SHOWN: usize = 100;
    escape(&line.text[..line.text.len().min(SHOWN)])
}

/// A line that the worker may not change, with its ticks taken away.
struct Kept<'t> {
    number: usize,
    text: Cow<'t, [u8]>,
}

fn kept<'t>(text: &'t [u8], allowance: Allowance, notes: &[&[u8]]) -> Vec<Kept<'t>> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut state = Reader { allowance, notes, front: Front::Before, fence: None, own_section: false };
    let numbered = lines(text).enumerate().map(|(at, line)| (at + 1, line));
    numbered.filter_map(|(number, line)| Some(Kept { number, text: state.keep(line)? })).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Front {
    Before,
    Inside,
    Behind,
}

struct Reader<'n> {
    allowance: Allowance,
    notes: &'n [&'n [u8]],
    front: Front,
    fence: Option<(u8, usize)>,
    own_section: bool,
}

impl Reader<'_> {
    /// The line as it is compared; none if it is the worker's or says nothing.
    fn keep<'t>(&mut self, line: &'t [u8]) -> Option<Cow<'t, [u8]>> {
        let line = line.trim_ascii_end();
        match (self.front, line == b"---") {
            (Front::Before, true) => self.front = Front::Inside,
            (Front::Before, false) | (Front::Inside, true) => self.front = Front::Behind,
            (Front::Inside, false) => return self.field(line).map(Cow::Borrowed),
            (Front::Behind, _) => {}
        }
        if line.is_empty() {
            return None;
        }
        if self.allowance == Allowance::Nothing {
            return Some(Cow::Borrowed(line));
        }
        if self.is_code(line) {
            return (!self.own_section).then_some(Cow::Borrowed(line));
        }
        if line.starts_with(b"# ") || line.starts_with(b"## ") {
            self.own_section =
                line.strip_prefix(b"## ").is_some_and(|title| self.is_own(title)) || self.notes.contains(&line);
        }
        if self.own_section || is_closing_tag(line) { None } else { Some(without_tick(line)) }
    }

    fn field<'t>(&self, line: &'t [u8]) -> Option<&'t [u8]> {
        const OWN: [&str; 4] = ["status:", "completed:", "commit:", "related_adrs:"];
        let own = self.allowance != Allowance::Nothing && OWN.iter().any(|key| line.starts_with(key.as_bytes()));
        (!line.is_empty() && !own).then_some(line)
    }

    fn is_own(&self, title: &[u8]) -> bool {
        heads(title, b"outcome") || (self.allowance == Allowance::Bounce && heads(title, b"worker note"))
    }

    /// True for a line of a code fence, the fences included.
    fn is_code(&mut self, line: &[u8]) -> bool {
        let text = line.trim_ascii_start();
        let mark = text.first().copied().filter(|b| matches!(b, b'`' | b'~')).unwrap_or_default();
        let length = if mark == 0 { 0 } else { text.iter().take_while(|b| **b == mark).count() };
        match self.fence {
            Some((open, least)) => {
                if mark == open && length >= least && length == text.len() {
                    self.fence = None;
                }
                true
            }
            None if length >= 3 => {
                self.fence = Some((mark, length));
                true
            }
            None => false,
        }
    }
}

/// `- [x] text` as `- [ ] text`.
fn without_tick(line: &[u8]) -> Cow<'_, [u8]> {
    let indent = line.len() - line.trim_ascii_start().len();
    let rest = &line[indent..];
    let marker = match rest.first() {
        Some(b'-' | b'*' | b'+') => 1,
        _ => rest.iter().take_while(|b| b.is_ascii_digit()).count() + 1,
    };
    let Some(after) = rest.get(marker..) else { return Cow::Borrowed(line) };
    let at = indent + marker + (after.len() - after.trim_ascii_start().len());
    match line.get(at..at + 3) {
        Some(b"[x]" | b"[X]") => {
            let mut open = line.to_vec();
            open[at + 1] = b' ';
            Cow::Owned(open)
        }
        _ => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "---\nid: a-1\ntitle: T\nstatus: doing\ncompleted:\n---\n\n## Why\nw\n\n## Acceptance criteria\n- [ ] one\n  goes on\n- [ ] two\n\n## Notes\n```\n- [ ] no box\n```\n";

    fn places(new: &str, allowance: Allowance) -> Vec<String> {
        beyond(&"t.md".into(), BASE.as_bytes(), new.as_bytes(), allowance).into_iter().map(|f| f.place).collect()
    }

    #[test]
    fn a_worker_that_keeps_the_board_may_finish_its_task_and_nothing_else() {
        let done = BASE
            .replace("status: doing", "status: done")
            .replace("completed:", "completed: 2026-01-02\ncommit: abc")
            .replace("- [ ] one", "- [x] one")
            + "\n## Outcome (2026-01-02)\nIt works.\n```\n## Acceptance criteria\n- [x] quoted\n```\n### Detail\nx\n";
        assert!(places(&done, Allowance::Outcome).is_empty());
        assert!(places(&done.replace('\n', "\r\n"), Allowance::Outcome).is_empty(), "line endings say nothing");
        assert!(!places(&done, Allowance::Nothing).is_empty());

        for (what, new, place) in [
            ("softened criterion", BASE.replace("- [ ] two", "- [x] two, mostly"), "t.md:14"),
            ("softened wrapped line", BASE.replace("  goes on", "  goes off"), "t.md:13"),
            ("removed criterion", BASE.replace("- [ ] two\n", ""), "t.md:14 (of the base)"),
            ("new title", BASE.replace("title: T", "title: U"), "t.md:3"),
            ("new id", BASE.replace("id: a-1", "id: a-2"), "t.md:2"),
            ("ticked box in code", BASE.replace("- [ ] no box", "- [x] no box"), "t.md:18"),
            (
                "criteria hidden in a note",
                BASE.replace("## Acceptance", "## Verifier note\n### Acceptance"),
                "t.md:11 (of the base)",
            ),
            (
                "criteria behind an outcome",
                format!("{BASE}\n## Outcome\no\n## Acceptance criteria\n- [x] easy\n"),
                "t.md:23",
            ),
            (
                "criteria hidden in the outcome",
                BASE.replace("## Acceptance", "## Outcome\n### Acceptance"),
                "t.md:11 (of the base)",
            ),
            ("a note without a bounce", format!("{BASE}## Worker note\nn\n"), "t.md:20"),
        ] {
            assert_eq!(places(&new, Allowance::Outcome), [place], "{what}");
        }
        assert!(places(&format!("{BASE}## Worker note\nn\n"), Allowance::Bounce).is_empty());

        let noted = format!("{BASE}\n## Verifier note (iteration 1)\nFAIL\n");
        assert!(places(&noted, Allowance::Outcome).is_empty());
        assert_eq!(added_notes(BASE.as_bytes(), noted.as_bytes()), [b"## Verifier note (iteration 1)"]);
        assert_eq!(places(&noted, Allowance::Nothing), ["t.md:21"]);
        let path = RepoPath::from("t.md");
        let edited = beyond(&path, noted.as_bytes(), noted.replace("FAIL", "PASS").as_bytes(), Allowance::Outcome);
        assert_eq!(edited[0].place, "t.md:22", "a note of the base is not the worker's");
        let untidy = format!("{BASE}</content>\n</invoke>\n");
        assert!(beyond(&path, untidy.as_bytes(), BASE.as_bytes(), Allowance::Outcome).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn ticks_and_line_ends_never_count_and_a_lost_line_always_does(
            picked in proptest::collection::vec(proptest::sample::select(vec!["- [ ] a", "  * [ ] b", "## Why", "### x", "t", ""]), 1..20),
        ) {
            let path = RepoPath::from("t");
            let text = format!("# T\n{}\n", picked.join("\n"));
            for allowance in [Allowance::Nothing, Allowance::Outcome, Allowance::Bounce] {
                proptest::prop_assert!(beyond(&path, text.as_bytes(), text.as_bytes(), allowance).is_empty());
            }
            let ticked = text.replace("[ ]", "[x]").replace('\n', "\r\n");
            proptest::prop_assert!(beyond(&path, text.as_bytes(), ticked.as_bytes(), Allowance::Outcome).is_empty());
            let fewer = format!("# T\n{}\n", picked[1..].join("\n"));
            let found = beyond(&path, text.as_bytes(), fewer.as_bytes(), Allowance::Outcome);
            proptest::prop_assert_eq!(found.is_empty(), picked[0].is_empty());
        }

        #[test]
        fn no_bytes_make_the_comparison_panic(
            old in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            new in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        ) {
            beyond(&"t".into(), &old, &new, Allowance::Outcome);
        }
    }

    #[test]
    fn only_a_box_at_the_head_of_a_bullet_is_a_tick() {
        for (line, open) in
            [("- [x] a", "- [ ] a"), ("  * [X] a", "  * [ ] a"), ("12. [x] a", "12. [ ] a"), ("-[x] a", "-[ ] a")]
        {
            assert_eq!(without_tick(line.as_bytes()), open.as_bytes());
        }
        for line in ["see [x] there", "- a [x]", "- [~] a", "[x]", "", "-"] {
            assert_eq!(without_tick(line.as_bytes()), line.as_bytes(), "{line}");
        }
    }
}
