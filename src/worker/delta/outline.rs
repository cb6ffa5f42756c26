//! The sections and bullets of a Markdown text, by lines. What stands in a code fence is neither.

use std::ops::Range;

/// A text by lines (line ends included) and which of them are code.
pub(super) struct Outline<'t> {
    pub(super) lines: Vec<&'t str>,
    code: Vec<bool>,
}

impl<'t> Outline<'t> {
    pub(super) fn read(text: &'t str) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let code = code_lines(&lines);
        Self { lines, code }
    }

    /// The lines below the first `## name`, up to the next `## `.
    pub(super) fn section(&self, name: &str) -> Option<Range<usize>> {
        let heading = |at: &usize| self.heading(*at).is_some();
        let start = (0..self.lines.len()).find(|at| self.heading(*at) == Some(name))? + 1;
        let end = (start..self.lines.len()).find(heading).unwrap_or(self.lines.len());
        Some(start..end)
    }

    fn heading(&self, at: usize) -> Option<&'t str> {
        let name = self.prose(at)?.strip_prefix("## ")?.trim();
        (!name.is_empty()).then_some(name)
    }

    fn prose(&self, at: usize) -> Option<&'t str> {
        let code = self.code.get(at).copied().unwrap_or(false);
        self.lines.get(at).copied().filter(|_| !code)
    }

    /// The bullets of a section: from `- ` at column 0 to the next bullet, `#` or `<!--` line, without blank lines at
    /// the end.
    pub(super) fn bullets(&self, section: &Range<usize>) -> Vec<Range<usize>> {
        let mut bullets = Vec::new();
        let mut at = section.start;
        while at < section.end {
            let start = at;
            at += 1;
            if self.prose(start).is_none_or(|line| !line.starts_with("- ")) {
                continue;
            }
            let ends = |line: &str| line.starts_with("- ") || line.starts_with('#') || line.starts_with("<!--");
            while at < section.end && self.prose(at).is_none_or(|line| !ends(line)) {
                at += 1;
            }
            bullets.push(start..self.without_blank_end(start + 1..at));
        }
        bullets
    }

    /// The end of a range with the blank lines before it left out.
    pub(super) fn without_blank_end(&self, range: Range<usize>) -> usize {
        let kept = self.lines[range.clone()].iter().rposition(|line| !line.trim().is_empty());
        range.start + kept.map_or(0, |at| at + 1)
    }

    pub(super) fn text(&self, range: &Range<usize>) -> String {
        self.lines[range.clone()].concat()
    }
}

/// Marks the lines of closed code fences, the fence lines too. A fence that is never closed counts as text: one slip
/// in a document must not hide all its later sections.
fn code_lines(lines: &[&str]) -> Vec<bool> {
    let mut code = vec![false; lines.len()];
    let mut never_closed: [usize; 2] = [usize::MAX; 2];
    let mut at = 0;
    while at < lines.len() {
        let Some((mark, length)) = fence(lines[at]) else {
            at += 1;
            continue;
        };
        let kind = usize::from(mark == '~');
        // A search that failed for this length fails for every longer one further down, too.
        let searched = length < never_closed[kind];
        let closer = searched.then(|| (at + 1..lines.len()).find(|n| closes(lines[*n], mark, length))).flatten();
        if let Some(end) = closer {
            code[at..=end].fill(true);
            at = end + 1;
        } else {
            never_closed[kind] = never_closed[kind].min(length);
            at += 1;
        }
    }
    code
}

/// The mark and length of a line that opens a code fence.
fn fence(line: &str) -> Option<(char, usize)> {
    // A fence may stand on a bullet's own line.
    let line = line.strip_prefix("- ").unwrap_or(line).trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3 && (mark == '~' || !rest.contains('`'))).then_some((mark, length))
}

fn closes(line: &str, mark: char, length: usize) -> bool {
    let line = line.trim();
    line.len() >= length && line.chars().all(|c| c == mark)
}

/// What is wrong with a text that shall be put into a list, as what should stand there instead.
pub(super) fn body_fault(body: &str, needs_bullet: bool) -> Option<&'static str> {
    let outline = Outline::read(body);
    let lines = 0..outline.lines.len();
    if lines.clone().filter_map(|at| outline.prose(at)).any(|line| fence(line).is_some()) {
        return Some("a body whose code fences are all closed");
    }
    if lines.clone().filter_map(|at| outline.prose(at)).any(|line| line.starts_with("# ") || line.starts_with("## ")) {
        return Some("a body without headings: a change adds to a section and opens none");
    }
    if needs_bullet && !body.starts_with("- ") {
        return Some("a bullet starting with `- `");
    }
    None
}

/// Blanks and line ends folded to single blanks.
pub(super) fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The bold lead-in of a bullet up to its first `(`, folded; none if the bullet does not begin in bold.
pub(super) fn anchor_of(bullet: &str) -> Option<String> {
    let bullet = folded(bullet);
    let inner = bullet.strip_prefix("- **")?;
    // At least one character belongs to the lead-in, so the search starts behind it.
    let first = inner.chars().next()?.len_utf8();
    let end = inner[first..].find("**")? + first;
    let head = &inner[..end];
    Some(head.split('(').next().unwrap_or(head).trim().to_owned())
}
