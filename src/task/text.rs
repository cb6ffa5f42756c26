//! A task file's bytes as text, or the reason why they are not text.

/// The largest task file that is read, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

const BOM: &str = "\u{feff}";

/// Why bytes are not the text of a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Larger than [`MAX_BYTES`].
    #[error(
        "the file has {size} bytes, more than the {MAX_BYTES} a task may have; move the bulk into a file it refers to"
    )]
    TooLarge {
        /// Bytes found.
        size: usize,
    },
    /// A UTF-16 byte order mark.
    #[error("the file is UTF-16; save it as UTF-8")]
    Utf16,
    /// A NUL byte: UTF-16 without a mark, or no text at all.
    #[error("line {line} holds a NUL byte; save the file as UTF-8 text")]
    Nul {
        /// Counted from 1.
        line: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("line {line} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// Counted from 1.
        line: usize,
    },
    /// A carriage return that is not followed by a line feed: editors show a line break there, git does not.
    #[error("line {line} holds a carriage return without a line feed; end lines with LF or CR LF")]
    LoneCr {
        /// Counted from 1.
        line: usize,
    },
}

/// Text whose lines end in LF or CR LF, with or without a byte order mark.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    whole: &'a str,
    bom: usize,
}

/// One line, without its ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLine<'a> {
    /// Counted from 1.
    pub number: usize,
    /// Offset of its first byte in the file, the byte order mark included.
    pub start: usize,
    /// The line.
    pub text: &'a str,
}

impl<'a> Text<'a> {
    /// Checks and wraps a file's bytes.
    ///
    /// # Errors
    /// See [`TextError`]; nothing is ever replaced or guessed.
    pub fn read(bytes: &'a [u8]) -> Result<Self, TextError> {
        if bytes.len() > MAX_BYTES {
            return Err(TextError::TooLarge { size: bytes.len() });
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(TextError::Utf16);
        }
        if let Some(at) = bytes.iter().position(|b| *b == 0) {
            return Err(TextError::Nul { line: line_of(bytes, at) });
        }
        let whole = std::str::from_utf8(bytes)
            .map_err(|error| TextError::NotUtf8 { line: line_of(bytes, error.valid_up_to()) })?;
        let lone = bytes.iter().enumerate().position(|(at, b)| *b == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        if let Some(at) = lone {
            return Err(TextError::LoneCr { line: line_of(bytes, at) });
        }
        Ok(Self { whole, bom: if whole.starts_with(BOM) { BOM.len() } else { 0 } })
    }

    /// The lines in order. A final line ending does not make one more.
    pub fn lines(self) -> impl Iterator<Item = TextLine<'a>> {
        let mut start = self.bom;
        self.whole[self.bom..].split_inclusive('\n').enumerate().map(move |(index, raw)| {
            let line = TextLine { number: index + 1, start, text: raw.trim_end_matches('\n').trim_end_matches('\r') };
            start += raw.len();
            line
        })
    }

    /// Everything, the byte order mark included.
    pub fn whole(self) -> &'a str {
        self.whole
    }

    /// True if both kinds of line ending occur.
    pub fn is_mixed(self) -> bool {
        let all = self.whole.matches('\n').count();
        let windows = self.whole.matches("\r\n").count();
        windows > 0 && windows < all
    }
}

fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].split(|b| *b == b'\n').skip(1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_named_with_their_line() {
        for (bytes, want) in [
            (&b"\xff\xfe-\0"[..], TextError::Utf16),
            (b"\xfe\xff\0-", TextError::Utf16),
            (b"a\nb\0", TextError::Nul { line: 2 }),
            (b"a\ncaf\xe9\n", TextError::NotUtf8 { line: 2 }),
            (b"---\rid: w-1\r---\r", TextError::LoneCr { line: 1 }),
            (b"a\r\nb\r\r\n", TextError::LoneCr { line: 2 }),
        ] {
            assert_eq!(Text::read(bytes).unwrap_err(), want);
        }
        assert!(matches!(Text::read(&vec![b'a'; MAX_BYTES + 1]), Err(TextError::TooLarge { .. })));
        assert!(Text::read(&vec![b'a'; MAX_BYTES]).is_ok());
    }

    #[test]
    fn line_starts_are_offsets_into_the_file() {
        let bytes = "\u{feff}ab\r\nc\n\nlast".as_bytes();
        let text = Text::read(bytes).unwrap();
        assert!(text.is_mixed());
        let lines: Vec<_> = text.lines().map(|l| (l.number, l.start, l.text)).collect();
        assert_eq!(lines, [(1, 3, "ab"), (2, 7, "c"), (3, 9, ""), (4, 10, "last")]);
    }
}
