//! The console: stdout is the answer, stderr the narration.

use crate::host::path::escape;
use crate::pipeline::Observer;
use crate::receipts::{Fact, Receipt, State};
use std::io::{self, Write};

/// The only printer.
pub(crate) struct Console {
    out: io::Stdout,
    err: io::Stderr,
    events: bool,
    lost: Option<io::Error>,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self { out: io::stdout(), err: io::stderr(), events: false, lost: None }
    }

    /// Prints every receipt as a JSON line from now on.
    pub(crate) fn stream_events(&mut self) {
        self.events = true;
    }

    /// One line of the answer. A closed pipe is the reader's choice; any other loss is told by [`Console::lost`].
    pub(crate) fn answer(&mut self, line: &str) {
        if let Err(why) = writeln!(self.out, "{line}")
            && why.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.get_or_insert(why);
        }
    }

    /// Why part of the answer did not reach its reader, if it did not.
    pub(crate) fn lost(&mut self) -> Option<io::Error> {
        if let Err(why) = self.out.flush()
            && why.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.get_or_insert(why);
        }
        self.lost.take()
    }

    /// One line of narration.
    pub(crate) fn say(&mut self, line: &str) {
        _ = writeln!(self.err, "{line}");
    }

    /// A JSON document on stdout.
    pub(crate) fn json<T: serde::Serialize>(&mut self, value: &T) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.answer(&text);
        Ok(())
    }

    /// A JSON document as one line on stdout.
    pub(crate) fn json_line<T: serde::Serialize>(&mut self, value: &T) {
        match serde_json::to_string(value) {
            Ok(line) => self.answer(&line),
            Err(why) => _ = self.lost.get_or_insert(why.into()),
        }
    }

    /// An error with its causes.
    pub(crate) fn error(&mut self, why: &anyhow::Error) {
        _ = writeln!(self.err, "error: {}", visible(&why.to_string()));
        for cause in why.chain().skip(1) {
            _ = writeln!(self.err, "  caused by: {}", visible(&cause.to_string()));
        }
    }
}

impl Observer for Console {
    fn began(&mut self, what: &str) {
        self.say(&format!("· {}", visible(what)));
    }

    fn recorded(&mut self, receipt: &Receipt) {
        if self.events {
            if let Ok(line) = serde_json::to_string(receipt) {
                self.answer(&line);
            }
            return;
        }
        if let Fact::Check(check) = &receipt.fact
            && check.state >= State::Ask
        {
            self.say(&format!("  {} {}", check.id, check.state.word()));
        }
    }
}

/// Text that may come from a stranger, made safe for a terminal: line by line, controls and bidi escaped.
pub(crate) fn visible(text: &str) -> String {
    text.lines().map(|line| escape(line.as_bytes()).replace("\\\\", "\\")).collect::<Vec<_>>().join("\n")
}
