//! As much of Markdown as decides what is a heading and what only looks like one.

use super::text::TextLine;

/// What covers a line so that nothing in it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// Nothing.
    None,
    /// A fenced code block, its fences included.
    Fence,
    /// An HTML comment that began a line.
    Comment,
}

/// A line of the body and what it is.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Counted from 1 in the whole file.
    pub number: usize,
    /// The line without its ending.
    pub text: &'a str,
    /// What covers it.
    pub cover: Cover,
    /// Its heading level (1 to 6), if it is one.
    pub level: Option<u8>,
}

/// A body split into lines.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    /// In order.
    pub lines: Vec<Line<'a>>,
    /// Where a fence or comment was opened that never closes; nothing from there on counts as covered.
    pub unclosed: Option<usize>,
}

enum Open {
    Fence { mark: char, length: usize, indent: usize, in_item: bool },
    Comment,
}

impl<'a> Document<'a> {
    /// Reads a body, line by line.
    pub fn read(lines: impl Iterator<Item = TextLine<'a>>) -> Self {
        let mut out: Vec<Line<'a>> = Vec::new();
        let mut open: Option<(Open, usize)> = None;
        let mut column: Option<usize> = None;
        for TextLine { number, text, .. } in lines {
            if let Some((Open::Fence { indent, in_item: true, .. }, _)) = &open
                && !text.trim().is_empty()
                && indent_of(text) < (*indent).min(2)
            {
                // A list item that ends takes the fence inside it along, closed or not.
                open = None;
            }
            let mut line = Line { number, text, cover: Cover::None, level: None };
            match &open {
                Some((Open::Fence { mark, length, .. }, _)) => {
                    line.cover = Cover::Fence;
                    if closes(text, *mark, *length) {
                        open = None;
                    }
                }
                Some((Open::Comment, _)) => {
                    line.cover = Cover::Comment;
                    if text.contains("-->") {
                        open = None;
                    }
                }
                None => {
                    let after_blank = out.last().is_none_or(|previous| previous.text.trim().is_empty());
                    column = content_column(text, column, after_blank);
                    if let Some((mark, length)) = opens(text) {
                        line.cover = Cover::Fence;
                        let indent = indent_of(text);
                        let in_item = column.is_some() && indent >= 2;
                        open = Some((Open::Fence { mark, length, indent, in_item }, number));
                    } else if text.trim_start().starts_with("<!--") {
                        line.cover = Cover::Comment;
                        if !text.contains("-->") {
                            open = Some((Open::Comment, number));
                        }
                    } else {
                        line.level = atx(text).map(|(level, _)| level);
                    }
                }
            }
            out.push(line);
        }
        let unclosed = open.map(|(_, number)| number);
        // A fence forgotten open must not swallow what was asked, so from there on nothing is covered.
        for line in out.iter_mut().filter(|line| unclosed.is_some_and(|number| line.number >= number)) {
            line.cover = Cover::None;
            line.level = atx(line.text).map(|(level, _)| level);
        }
        Self { lines: out, unclosed }
    }
}

impl<'a> Line<'a> {
    /// The heading's text, without its marks and emphasis.
    pub fn title(&self) -> Option<&'a str> {
        self.level.and_then(|_| atx(self.text)).map(|(_, title)| title)
    }

    /// Columns of white space at its beginning; a tab goes to the next multiple of four.
    pub fn indent(&self) -> usize {
        indent_of(self.text)
    }

    /// True if nothing is on it.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// A list item's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Columns before the marker.
    pub indent: usize,
    /// `-`, `*`, `+`, or the number with its `.` or `)`.
    pub marker: &'a str,
    /// What follows marker and blanks.
    pub rest: &'a str,
}

/// Reads a line as a list item. A rule (`---`, `* * *`) is none.
pub fn item(text: &str) -> Option<Item<'_>> {
    let trimmed = text.trim_start();
    let rule = ['-', '*', '_'].iter().any(|mark| {
        trimmed.matches(*mark).count() >= 3 && trimmed.chars().all(|c| c == *mark || c == ' ' || c == '\t')
    });
    if rule {
        return None;
    }
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let length = match trimmed.as_bytes().get(digits) {
        Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        _ => return None,
    };
    let (marker, rest) = trimmed.split_at(length);
    // Agentheim reads `-[ ] text` as a bullet too, so a box may follow the marker at once.
    let separate = rest.is_empty() || rest.starts_with([' ', '\t']) || (marker == "-" && rest.starts_with("[ ]"));
    let ticked = marker == "-" && (rest.starts_with("[x]") || rest.starts_with("[X]"));
    (separate || ticked).then(|| Item { indent: indent_of(text), marker, rest: rest.trim_start() })
}

fn indent_of(text: &str) -> usize {
    let mut column = 0;
    for c in text.chars() {
        match c {
            ' ' => column += 1,
            '\t' => column += 4 - column % 4,
            _ => break,
        }
    }
    column
}

/// The column of the list item's content that encloses what follows this line, if any.
fn content_column(text: &str, outer: Option<usize>, after_blank: bool) -> Option<usize> {
    if let Some(found) = item(text) {
        return Some(found.indent + found.marker.len() + 1);
    }
    outer.filter(|_| text.trim().is_empty() || indent_of(text) > 0 || !after_blank)
}

fn opens(text: &str) -> Option<(char, usize)> {
    // A fence may also stand right behind a bullet's marker.
    let text = item(text).map_or(text.trim_start(), |found| found.rest);
    ['`', '~'].into_iter().find_map(|mark| {
        let length = text.chars().take_while(|c| *c == mark).count();
        (length >= 3 && !(mark == '`' && text[length..].contains('`'))).then_some((mark, length))
    })
}

fn closes(text: &str, mark: char, length: usize) -> bool {
    let text = text.trim();
    text.chars().count() >= length && text.chars().all(|c| c == mark)
}

fn atx(text: &str) -> Option<(u8, &str)> {
    let trimmed = text.trim();
    let level = trimmed.bytes().take_while(|b| *b == b'#').count();
    let rest = &trimmed[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) || indent_of(text) > 3 {
        return None;
    }
    let title = rest.trim();
    let closing = title.trim_end_matches('#');
    let title = if closing.is_empty() || closing.ends_with([' ', '\t']) { closing.trim_end() } else { title };
    Some((u8::try_from(level).ok()?, title.trim_matches(['*', '_']).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::text::Text;

    fn headings(text: &str) -> Vec<(usize, u8, String)> {
        let document = Document::read(Text::read(text.as_bytes()).unwrap().lines());
        document.lines.iter().filter_map(|l| Some((l.number, l.level?, l.title()?.to_owned()))).collect()
    }

    #[test]
    fn headings_in_code_and_comments_are_none() {
        let text =
            "# One\n```\n## no\n~~~\n## no\n```\n<!--\n## no\n-->\n## **Two** ##\n~~~ sh\n```\n## no\n~~~~\n### C#\n";
        assert_eq!(headings(text), [(1, 1, "One".into()), (10, 2, "Two".into()), (15, 3, "C#".into())]);
        assert_eq!(headings("#no\n####### no\n    ## no\n"), []);
    }

    #[test]
    fn an_unclosed_fence_is_named_and_covers_nothing_and_one_in_an_item_ends_with_it() {
        let read = |text: &'static str| Document::read(Text::read(text.as_bytes()).unwrap().lines());
        for text in ["a\n```\n## yes\n", "a\n<!-- x\n## yes\n"] {
            let open = read(text);
            assert_eq!((open.unclosed, open.lines[2].level), (Some(2), Some(2)));
        }
        let inside = read("- one\n  ```\n  code\n- two\n## yes\n");
        assert_eq!(inside.unclosed, None);
        assert_eq!(inside.lines[4].level, Some(2));
        let top = read("  ```\n# code\n  ```\n# yes\n");
        assert_eq!((top.lines[1].level, top.lines[3].level), (None, Some(1)));
    }

    #[test]
    fn bullets_are_told_from_rules_and_words() {
        for (text, want) in [
            ("- a", Some((0, "-", "a"))),
            ("  * [ ] a", Some((2, "*", "[ ] a"))),
            ("12. a", Some((0, "12.", "a"))),
            ("3) a", Some((0, "3)", "a"))),
            ("\t+ a", Some((4, "+", "a"))),
            ("-[ ] a", Some((0, "-", "[ ] a"))),
            ("-", Some((0, "-", ""))),
            ("---", None),
            ("* * *", None),
            ("-rf", None),
            ("**bold**", None),
            ("1.5 times", None),
            ("1234567890. a", None),
        ] {
            let got = item(text).map(|b| (b.indent, b.marker, b.rest));
            assert_eq!(got, want, "{text}");
        }
    }
}
