//! The lines of a terminal's output, without its colours.

use std::borrow::Cow;

/// A longer line is cut: no runner writes a status behind so much text.
const LONGEST_LINE: usize = 64 << 10;

/// The lines as text, colours and carriage returns taken off.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = Cow<'_, str>> {
    bytes.split(|byte| *byte == b'\n').map(|line| plain(&line[..line.len().min(LONGEST_LINE)]))
}

fn plain(line: &[u8]) -> Cow<'_, str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.contains(&0x1b) {
        return String::from_utf8_lossy(line);
    }
    let mut kept = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != 0x1b {
            kept.push(*first);
            continue;
        }
        // ESC [ parameters, up to one final byte.
        if let Some(tail) = rest.strip_prefix(b"[") {
            let end = tail.iter().position(|byte| (0x40..=0x7e).contains(byte)).map_or(tail.len(), |end| end + 1);
            rest = &tail[end..];
        }
    }
    Cow::Owned(String::from_utf8_lossy(&kept).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_taken_off_and_text_stays() {
        let found: Vec<_> = lines(b"\x1b[1;32mok\x1b[0m 1\r\nplain\n\x1b[3").collect();
        assert_eq!(found, ["ok 1", "plain", ""]);
    }
}
