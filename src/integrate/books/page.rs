//! A page as lines, each with its own ending, and its marked blocks.

use std::ops::Range;

/// A page under the pen. New lines get the page's more frequent ending, LF on a tie.
#[derive(Debug, Clone)]
pub(super) struct Page {
    lines: Vec<String>,
    eol: &'static str,
}

impl Page {
    pub(super) fn of(text: &str) -> Self {
        let crlf = text.matches("\r\n").count();
        let eol = if crlf > text.matches('\n').count() - crlf { "\r\n" } else { "\n" };
        Self { lines: text.split_inclusive('\n').map(str::to_owned).collect(), eol }
    }

    pub(super) fn text(&self) -> String {
        self.lines.concat()
    }

    /// A line without its ending, and without the byte order mark.
    pub(super) fn line(&self, at: usize) -> &str {
        let line = self.lines.get(at).map_or("", |line| line.trim_end_matches(['\n', '\r']));
        if at == 0 { line.trim_start_matches('\u{feff}') } else { line }
    }

    /// The lines between `<!-- name:start -->` and `<!-- name:end -->`.
    ///
    /// # Errors
    /// What is wrong with the markers.
    pub(super) fn block(&self, name: &str) -> Result<Range<usize>, String> {
        let only = |kind: &str| {
            let marker = format!("<!-- {name}:{kind} -->");
            let mut places = (0..self.lines.len()).filter(|at| self.line(*at).trim() == marker);
            match (places.next(), places.next()) {
                (Some(at), None) => Ok(at),
                (None, _) => Err(format!("the marker `{marker}` is missing")),
                (Some(_), Some(_)) => Err(format!("the marker `{marker}` stands twice")),
            }
        };
        let (start, end) = (only("start")?, only("end")?);
        if start < end { Ok(start + 1..end) } else { Err(format!("the markers of `{name}` are in the wrong order")) }
    }

    /// Inserts one or more lines before the line `at`.
    pub(super) fn insert(&mut self, at: usize, text: &str) {
        let above = at.checked_sub(1).and_then(|above| self.lines.get_mut(above));
        if let Some(above) = above.filter(|above| !above.ends_with('\n')) {
            above.push_str(self.eol);
        }
        let new: Vec<String> = text.lines().map(|line| format!("{line}{}", self.eol)).collect();
        self.lines.splice(at..at, new);
    }

    /// Appends lines, after one blank line.
    pub(super) fn append(&mut self, text: &str) {
        let end = self.lines.len();
        let blank = end > 0 && self.line(end - 1).trim().is_empty();
        self.insert(end, &if blank || end == 0 { text.to_owned() } else { format!("\n{text}") });
    }

    /// Puts another text on a line; its ending stays.
    pub(super) fn replace(&mut self, at: usize, text: &str) {
        if let Some(line) = self.lines.get_mut(at) {
            let ending = line[line.trim_end_matches(['\n', '\r']).len()..].to_owned();
            let mark = if line.starts_with('\u{feff}') { "\u{feff}" } else { "" };
            *line = format!("{mark}{text}{ending}");
        }
    }

    /// Removes the lines of a range that a rule names; how many went.
    pub(super) fn remove_in(&mut self, range: Range<usize>, named: impl Fn(&str) -> bool) -> usize {
        let gone: Vec<usize> = range.filter(|at| named(self.line(*at))).collect();
        for at in gone.iter().rev() {
            self.lines.remove(*at);
        }
        gone.len()
    }

    /// Takes lines out; their text.
    pub(super) fn cut(&mut self, range: Range<usize>) -> String {
        self.lines.drain(range).collect()
    }

    pub(super) fn any_in(&self, range: Range<usize>, named: impl Fn(&str) -> bool) -> bool {
        range.into_iter().any(|at| named(self.line(at)))
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_stays_byte_for_byte() {
        for text in ["", "a", "a\n", "\u{feff}a\r\nb\r\n", "a\r\nb\nc\r\n", "\n\n", "a\rb\n"] {
            assert_eq!(Page::of(text).text(), text);
        }
        let mut page = Page::of("\u{feff}a\r\nb\nc\r\nd");
        page.insert(1, "x\ny");
        page.replace(0, "A");
        page.append("end");
        assert_eq!(page.text(), "\u{feff}A\r\nx\r\ny\r\nb\nc\r\nd\r\n\r\nend\r\n");
    }

    #[test]
    fn a_block_is_what_stands_between_its_two_markers() {
        let page = Page::of("x\n <!-- l:start --> \r\n- a\n<!-- l:end -->\n");
        assert_eq!(page.block("l"), Ok(2..3));
        for (text, word) in [
            ("<!-- l:start -->\n", "is missing"),
            ("<!-- l:end -->\n<!-- l:start -->\n", "wrong order"),
            ("<!-- l:start -->\n<!-- l:start -->\n<!-- l:end -->\n", "stands twice"),
            ("say <!-- l:start -->\n<!-- l:end -->\n", "is missing"),
        ] {
            assert!(Page::of(text).block("l").unwrap_err().contains(word), "{text}");
        }
    }
}
