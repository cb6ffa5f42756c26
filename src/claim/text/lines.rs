//! Lines, their ends, and what differs between two pages of them.

use crate::host::path::is_deceptive;
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};
use std::fmt::Write as _;

/// Lines around a change.
const CONTEXT: usize = 8;
/// A line is cut after this many bytes of display.
const LONGEST_LINE: usize = 4000;
/// Two middles with more lines than this altogether are shown as replaced: finding the shortest difference would take
/// time that grows with the square, and a time limit would make the text depend on the machine.
const MOST_COMPARED_LINES: usize = 20_000;

/// How the lines of a page end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Lf,
    Crlf,
    Mixed,
}

impl Ends {
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Lf => "LF",
            Self::Crlf => "CRLF",
            Self::Mixed => "LF and CRLF mixed",
        }
    }
}

/// A content as lines, each with its end.
pub(super) struct Page<'a>(Vec<&'a [u8]>);

impl<'a> Page<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes.split_inclusive(|b| *b == b'\n').collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A last line without an end follows the others.
    pub(super) fn ends(&self) -> Ends {
        let ended: Vec<bool> = self.0.iter().filter(|l| l.ends_with(b"\n")).map(|l| l.ends_with(b"\r\n")).collect();
        match (ended.iter().any(|crlf| *crlf), ended.iter().any(|crlf| !crlf)) {
            (true, false) => Ends::Crlf,
            (true, true) => Ends::Mixed,
            (false, _) => Ends::Lf,
        }
    }

    pub(super) fn equals_but_for_line_ends(&self, other: &Self) -> bool {
        fn bare(line: &[u8]) -> (&[u8], bool) {
            match line.strip_suffix(b"\r\n").or_else(|| line.strip_suffix(b"\n")) {
                Some(bare) => (bare, true),
                None => (line, false),
            }
        }
        self.0.iter().map(|l| bare(l)).eq(other.0.iter().map(|l| bare(l)))
    }
}

/// The hunks between two pages, whether every line is whole, and how many characters had to be spelled out.
pub(super) fn hunks(old: &Page<'_>, new: &Page<'_>, hide_cr: bool) -> (String, bool, u64) {
    let mut sheet = Sheet { text: String::new(), whole: true, hidden: 0, hide_cr };
    for group in group_diff_ops(compare(&old.0, &new.0), CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (from, to) = (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        let _ = writeln!(
            sheet.text,
            "@@ -{},{} +{},{} @@",
            from.start + usize::from(!from.is_empty()),
            from.len(),
            to.start + usize::from(!to.is_empty()),
            to.len()
        );
        for op in &group {
            let (gone, come) = (&old.0[op.old_range()], &new.0[op.new_range()]);
            if matches!(op, DiffOp::Equal { .. }) {
                sheet.write(' ', come);
            } else {
                sheet.write('-', gone);
                sheet.write('+', come);
            }
        }
    }
    (sheet.text, sheet.whole, sheet.hidden)
}

fn compare(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old_mid, new_mid) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    if old_mid.len() + new_mid.len() <= MOST_COMPARED_LINES {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let mut ops = Vec::with_capacity(3);
    if same > 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: same });
    }
    let (old_len, new_len) = (old_mid.len(), new_mid.len());
    ops.push(DiffOp::Replace { old_index: same, old_len, new_index: same, new_len });
    if tail > 0 {
        ops.push(DiffOp::Equal { old_index: same + old_len, new_index: same + new_len, len: tail });
    }
    ops
}

struct Sheet {
    text: String,
    whole: bool,
    hidden: u64,
    hide_cr: bool,
}

impl Sheet {
    fn write(&mut self, sign: char, lines: &[&[u8]]) {
        for line in lines {
            self.text.push(sign);
            let ended = line.strip_suffix(b"\n");
            let mut bare = ended.unwrap_or(line);
            if self.hide_cr && ended.is_some() {
                bare = bare.strip_suffix(b"\r").unwrap_or(bare);
            }
            self.spell(bare);
            self.text.push('\n');
            if ended.is_none() {
                self.text.push_str("\\ no newline at the end of the file\n");
            }
        }
    }

    fn spell(&mut self, line: &[u8]) {
        let (spelled, hidden) = spell(line);
        self.hidden += hidden;
        if spelled.len() <= LONGEST_LINE {
            self.text.push_str(&spelled);
            return;
        }
        self.whole = false;
        let cut = (0..=LONGEST_LINE).rev().find(|at| spelled.is_char_boundary(*at)).unwrap_or(0);
        self.text.push_str(&spelled[..cut]);
        let _ = write!(self.text, " <the line goes on for {} bytes>", spelled.len() - cut);
    }
}

/// One line as visible text, and how many characters or bytes were spelled out: characters that hide or reorder text as
/// `<U+202E>`, bytes that are not UTF-8 as `<0xE9>`. A tab stays.
pub fn spell(line: &[u8]) -> (String, u64) {
    let mut out = String::with_capacity(line.len());
    let mut hidden = 0;
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c != '\t' && is_deceptive(c) {
                let _ = write!(out, "<U+{:04X}>", u32::from(c));
                hidden += 1;
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "<0x{byte:02X}>");
            hidden += 1;
        }
    }
    (out, hidden)
}
