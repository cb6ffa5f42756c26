//! Lines of a file, one at a time, in bounded memory.

use std::io::{BufRead, BufReader, Read, Result};

/// The longest line that is read. A longer one is named and stepped over, not held.
pub const LONGEST_LINE: usize = 32 << 20;

/// One line.
pub(super) enum Piece<'a> {
    /// Its bytes, without the line end, never empty.
    Line(&'a [u8]),
    /// Why it is not given.
    Bad(String),
}

/// Reads lines. A byte-order mark at the start, CRLF and blank lines are no damage.
pub(super) struct Lines<R> {
    from: BufReader<R>,
    held: Vec<u8>,
    number: u64,
    longest: usize,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self::with_longest(from, LONGEST_LINE)
    }

    fn with_longest(from: R, longest: usize) -> Self {
        Self { from: BufReader::with_capacity(256 << 10, from), held: Vec::new(), number: 0, longest }
    }

    /// How many lines were read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not blank, with its number, from 1.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, Piece<'_>)>> {
        loop {
            self.held.clear();
            // A line of 30 MB is no reason to hold 30 MB until the end of the file.
            self.held.shrink_to(1 << 20);
            let total = self.fill()?;
            if total == 0 {
                return Ok(None);
            }
            self.number += 1;
            if total > self.longest as u64 {
                let why = format!("a line of {total} bytes; at most {} are read", self.longest);
                return Ok(Some((self.number, Piece::Bad(why))));
            }
            let range = content(&self.held, self.number == 1);
            if range.is_empty() {
                continue;
            }
            let piece = if self.held[range.clone()].iter().all(|byte| *byte == 0) {
                Piece::Bad(format!("{} NUL bytes", range.len()))
            } else {
                Piece::Line(&self.held[range])
            };
            return Ok(Some((self.number, piece)));
        }
    }

    /// Fills `held` with one line, or with nothing of one that is too long; tells how long it is.
    fn fill(&mut self) -> Result<u64> {
        let mut total = 0;
        loop {
            let seen = self.from.fill_buf()?;
            if seen.is_empty() {
                return Ok(total);
            }
            let end = memchr(seen);
            let taken = end.map_or(seen.len(), |at| at + 1);
            total += taken as u64;
            if total <= self.longest as u64 {
                self.held.extend_from_slice(&seen[..taken]);
            } else {
                self.held = Vec::new();
            }
            self.from.consume(taken);
            if end.is_some() {
                return Ok(total);
            }
        }
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// What is left of a line without mark and white space at its ends.
fn content(line: &[u8], first: bool) -> std::ops::Range<usize> {
    let mark = if first && line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let start = mark + line[mark..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let end = line.len() - line[start..].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], longest: usize) -> Vec<(u64, String)> {
        let mut lines = Lines::with_longest(bytes, longest);
        let mut found = Vec::new();
        while let Some((number, piece)) = lines.next_line().unwrap() {
            let text = match piece {
                Piece::Line(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Piece::Bad(why) => format!("bad: {why}"),
            };
            found.push((number, text));
        }
        found
    }

    #[test]
    fn marks_line_ends_and_blank_lines_are_no_damage() {
        let found = read(b"\xef\xbb\xbf{}\r\n\r\n  [1]\n\n\nlast", 100);
        assert_eq!(found, [(1, "{}".to_owned()), (3, "[1]".to_owned()), (6, "last".to_owned())]);
    }

    #[test]
    fn a_line_that_is_too_long_is_named_and_the_next_one_is_read() {
        let found = read(b"short\n0123456789\nnext\n\0\0\0\0\n", 8);
        let expected = [
            (1, "short".to_owned()),
            (2, "bad: a line of 11 bytes; at most 8 are read".to_owned()),
            (3, "next".to_owned()),
            (4, "bad: 4 NUL bytes".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
