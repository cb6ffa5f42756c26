//! A program's event stream: JSON lines on its standard output, read as they come.

use super::told::Told;
use serde_json::Value;

/// A line longer than this is no event: an answer has at most 4 MiB, and JSON can need six bytes for one.
const LONGEST_LINE: usize = 32 << 20;

/// Reads one event.
pub(super) type Reader = fn(&Value, &mut Told);

/// Splits the stream into events and lets the program's own reader take each.
#[derive(Debug)]
pub(super) struct Stream {
    read: Reader,
    line: Vec<u8>,
    unread: u64,
    told: Told,
}

impl Stream {
    pub(super) fn read_by(read: Reader) -> Self {
        Self { read, line: Vec::new(), unread: 0, told: Told::default() }
    }

    /// Takes the next piece of output.
    pub(super) fn hear(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.push(&bytes[..end]);
            self.event();
            bytes = &bytes[end + 1..];
        }
        self.push(bytes);
    }

    fn push(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > LONGEST_LINE {
            self.told.broken = Some(format!("one line of its output has more than {LONGEST_LINE} bytes"));
            return;
        }
        self.line.extend_from_slice(bytes);
    }

    fn event(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.iter().all(u8::is_ascii_whitespace) || self.told.broken.is_some() {
            return;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(event) if event.is_object() => (self.read)(&event, &mut self.told),
            _ => self.unread += 1,
        }
    }

    /// What was told in all. A last line without its end counts if it is a whole object; one that was cut is none.
    pub(super) fn told(mut self) -> Told {
        self.event();
        if self.unread > 0 {
            self.told.notes.push(format!("{} of its output lines are not events", self.unread));
        }
        self.told
    }
}
