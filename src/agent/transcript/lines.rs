//! Lines of a file, one at a time, in bounded memory.

use memchr::memchr;
use std::io::{Read, Result};
use std::ops::Range;

/// How much is read at once.
const CHUNK: usize = 256 << 10;

/// The longest line that is read. A longer one is named and stepped over, not held.
pub const LONGEST_LINE: usize = 32 << 20;

/// One line.
pub(super) enum Piece<'a> {
    /// Its bytes, without the line end, never empty.
    Line(&'a [u8]),
    /// Why it is not given.
    Bad(String),
}

/// What was taken from what is held.
enum Taken {
    Nothing,
    Line(Range<usize>),
    TooLong(u64),
}

/// Reads lines. A byte-order mark at the start, CRLF and blank lines are no damage.
pub(super) struct Lines<R> {
    from: R,
    /// What was read and not yet given; beyond `end` it is free.
    held: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    longest: usize,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        Self::with_longest(from, LONGEST_LINE)
    }

    fn with_longest(from: R, longest: usize) -> Self {
        Self { from, held: vec![0; CHUNK], start: 0, end: 0, number: 0, longest }
    }

    /// How many lines were read.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not blank, with its number, from 1.
    pub(super) fn next_line(&mut self) -> Result<Option<(u64, Piece<'_>)>> {
        loop {
            let line = match self.whole_line()? {
                Taken::Nothing => return Ok(None),
                Taken::Line(range) => range,
                Taken::TooLong(total) => {
                    let why = format!("a line of {total} bytes; at most {} are read", self.longest);
                    return Ok(Some((self.number, Piece::Bad(why))));
                }
            };
            let inner = content(&self.held[line.clone()], self.number == 1);
            let range = line.start + inner.start..line.start + inner.end;
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

    /// Takes one line, where it was read. One that is too long is stepped over.
    fn whole_line(&mut self) -> Result<Taken> {
        let mut seen = self.start;
        loop {
            let found = memchr(b'\n', &self.held[seen..self.end]).map(|at| seen + at + 1);
            let all = found.unwrap_or(self.end);
            if all - self.start > self.longest {
                return self.step_over();
            }
            if let Some(after) = found {
                return Ok(self.take(after));
            }
            self.make_room();
            seen = self.end;
            let more = self.from.read(&mut self.held[self.end..])?;
            self.end += more;
            if more == 0 {
                return Ok(if self.start == self.end { Taken::Nothing } else { self.take(self.end) });
            }
        }
    }

    fn take(&mut self, after: usize) -> Taken {
        let line = self.start..after;
        self.start = after;
        self.number += 1;
        Taken::Line(line)
    }

    /// Makes room behind what is held: moves it to the front, and grows only for a line that fills everything.
    fn make_room(&mut self) {
        self.held.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.held.len() {
            self.held.resize(self.end * 2, 0);
        } else if self.end < CHUNK && self.held.len() > CHUNK {
            // A long line is no reason to hold its room until the end of the file.
            self.held.truncate(CHUNK);
            self.held.shrink_to(CHUNK);
        }
    }

    /// Steps over the rest of a line, and tells how long it was.
    fn step_over(&mut self) -> Result<Taken> {
        let mut total = 0;
        loop {
            let found = memchr(b'\n', &self.held[self.start..self.end]);
            let taken = found.map_or(self.end - self.start, |at| at + 1);
            total += taken as u64;
            self.start += taken;
            if found.is_some() {
                break;
            }
            (self.start, self.end) = (0, 0);
            self.end = self.from.read(&mut self.held)?;
            if self.end == 0 {
                break;
            }
        }
        self.number += 1;
        Ok(Taken::TooLong(total))
    }
}

/// What is left of a line without mark and white space at its ends.
fn content(line: &[u8], first: bool) -> Range<usize> {
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
