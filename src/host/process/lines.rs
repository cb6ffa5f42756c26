//! Output as lines, while it arrives.

use super::Stream;

/// The most bytes of one line that are held.
pub const LONGEST_LINE: usize = 16 << 20;

/// One line of output, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its bytes, at most [`LONGEST_LINE`] of them.
    pub bytes: &'a [u8],
    /// False if the line was longer.
    pub whole: bool,
}

/// Puts lines together from pieces, for both outputs apart.
#[derive(Default)]
pub(super) struct Splitter([Open; 2]);

/// A line whose end has not come.
#[derive(Default)]
struct Open {
    bytes: Vec<u8>,
    cut: bool,
}

impl Open {
    fn add(&mut self, piece: &[u8]) {
        let fits = piece.len().min(LONGEST_LINE - self.bytes.len());
        self.bytes.extend_from_slice(&piece[..fits]);
        self.cut |= fits < piece.len();
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && !self.cut
    }

    fn show(&mut self, stream: Stream, seen: &mut dyn FnMut(Stream, Line<'_>)) {
        seen(stream, Line { bytes: &self.bytes, whole: !self.cut });
        self.bytes.clear();
        self.cut = false;
    }
}

impl Splitter {
    fn open(&mut self, stream: Stream) -> &mut Open {
        &mut self.0[usize::from(stream == Stream::Err)]
    }

    /// Takes a piece of output and shows the lines that it completes.
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8], seen: &mut dyn FnMut(Stream, Line<'_>)) {
        let open = self.open(stream);
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        let last = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            if open.is_empty() && piece.len() <= LONGEST_LINE {
                seen(stream, Line { bytes: piece, whole: true });
            } else {
                open.add(piece);
                open.show(stream, seen);
            }
        }
        open.add(last);
    }

    /// Shows the lines that never ended.
    pub(super) fn finish(mut self, seen: &mut dyn FnMut(Stream, Line<'_>)) {
        for stream in [Stream::Out, Stream::Err] {
            let open = self.open(stream);
            if !open.is_empty() {
                open.show(stream, seen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_arrive_and_the_outputs_do_not_mix() {
        let mut shown = Vec::new();
        let mut seen = |stream, line: Line<'_>| {
            let name = if stream == Stream::Out { "out" } else { "err" };
            shown.push(format!("{name} {} {}", String::from_utf8_lossy(line.bytes), line.whole));
        };
        let mut lines = Splitter::default();
        for (stream, piece) in [
            (Stream::Out, "a\n\nb"),
            (Stream::Err, "x"),
            (Stream::Out, "c"),
            (Stream::Out, "d\ne"),
            (Stream::Err, "y\n"),
            (Stream::Out, ""),
        ] {
            lines.take(stream, piece.as_bytes(), &mut seen);
        }
        lines.finish(&mut seen);
        assert_eq!(shown, ["out a true", "out  true", "out bcd true", "err xy true", "out e true"]);
    }

    #[test]
    fn a_line_without_an_end_is_held_as_far_as_it_may_be() {
        let mut lengths = Vec::new();
        let mut seen = |_, line: Line<'_>| lengths.push((line.bytes.len(), line.whole));
        let mut lines = Splitter::default();
        let piece = vec![b'x'; LONGEST_LINE / 2 + 1];
        for _ in 0..3 {
            lines.take(Stream::Out, &piece, &mut seen);
        }
        lines.take(Stream::Out, b"\nend\n", &mut seen);
        lines.finish(&mut seen);
        assert_eq!(lengths, [(LONGEST_LINE, false), (3, true)]);
    }
}
