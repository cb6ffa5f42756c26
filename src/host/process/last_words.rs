//! What a program said last on standard error: its own account of why it hangs.

use crate::host::path::escape;
use crate::host::redact::redact;
use std::collections::VecDeque;

/// How much of the end is held, so that a secret is seen whole before anything is cut.
const HELD: usize = 16 << 10;
/// How many characters are told.
const TOLD: usize = 300;

/// The end of a program's standard error.
#[derive(Default)]
pub(super) struct LastWords(VecDeque<u8>);

impl LastWords {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(HELD)..];
        let excess = (self.0.len() + bytes.len()).saturating_sub(HELD);
        self.0.drain(..excess);
        self.0.extend(bytes);
    }

    /// The last line that is not empty, without secrets, escaped and short.
    pub(super) fn line(self) -> Option<String> {
        let full = self.0.len() >= HELD;
        let held = Vec::from(self.0);
        // What began before the part we hold may be the rest of a secret.
        let start = if full { held.iter().position(|byte| *byte == b'\n').map_or(held.len(), |at| at + 1) } else { 0 };
        let masked = redact(held.get(start..).unwrap_or_default()).bytes;
        let last =
            masked.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii).rfind(|l| !l.is_empty())?;
        let shown = escape(last);
        let mut told: String = shown.chars().take(TOLD).collect();
        if told.len() < shown.len() {
            told.push('…');
        }
        Some(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> Option<String> {
        let mut words = LastWords::default();
        for piece in pieces {
            words.take(piece);
        }
        words.line()
    }

    #[test]
    fn the_last_line_is_told_short_and_escaped() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[b"\n \n"]), None);
        assert_eq!(of(&[b"first\n  cannot con", b"nect\n\n"]).unwrap(), "cannot connect");
        assert_eq!(of(&[b"a\rb\x1b]0;title\x07"]).unwrap(), escape(b"b\x1b]0;title\x07"));
        assert_eq!(of(&[&b"\xc3\xa4".repeat(400)]).unwrap().chars().count(), TOLD + 1);
    }

    #[test]
    fn a_secret_is_masked_before_anything_is_cut_wherever_the_cut_falls() {
        let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        for before in 0..TOLD {
            let line = format!("{} {secret}\n", "x".repeat(before));
            let told = of(&[line.as_bytes()]).unwrap();
            assert!(!told.contains("ghp_"), "{before}: {told}");
        }
        // The part that is held begins somewhere inside the secret.
        for after in (HELD - 60)..(HELD + 2) {
            let told = of(&[secret.as_bytes(), &b"\xc3".repeat(0), "y".repeat(after - 1).as_bytes(), b"\n"]);
            assert!(told.as_ref().is_none_or(|told| !told.contains("D4e5")), "{after}: {told:?}");
        }
    }
}
