//! The console: stdout is the answer, stderr the narration.

use crate::host::path::escape;
use crate::pipeline::Observer;
use crate::receipts::{Fact, Receipt, State};
use std::borrow::Cow;
use std::io::{self, Write};

/// The only printer.
pub(crate) struct Console {
    out: io::Stdout,
    err: io::Stderr,
    events: bool,
    is_order_free: bool,
    lost: Option<io::Error>,
}

impl Console {
    pub(crate) fn new() -> Self {
        Self { out: io::stdout(), err: io::stderr(), events: false, is_order_free: false, lost: None }
    }

    /// Prints every receipt as a JSON line from now on.
    pub(crate) fn stream_events(&mut self) {
        self.events = true;
    }

    /// From now on no line that is printed can be taken for a log command by a GitHub runner, except by
    /// [`Console::command`]: texts of a stranger's change are printed in a job that has tokens.
    pub(crate) fn be_order_free(&mut self) {
        self.is_order_free = true;
    }

    /// One log command for the runner.
    pub(crate) fn command(&mut self, line: &str) {
        self.put(line);
    }

    /// One line of the answer. A closed pipe is the reader's choice; any other loss is told by [`Console::lost`].
    pub(crate) fn answer(&mut self, line: &str) {
        let line = self.harmless(line);
        self.put(&line);
    }

    fn put(&mut self, line: &str) {
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
        _ = writeln!(self.err, "{}", self.harmless(line));
    }

    fn harmless<'l>(&self, line: &'l str) -> Cow<'l, str> {
        if self.is_order_free { Cow::Owned(without_orders(line)) } else { Cow::Borrowed(line) }
    }

    /// A JSON document on stdout.
    pub(crate) fn json<T: serde::Serialize>(&mut self, value: &T) -> anyhow::Result<()> {
        // The same document; only a runner would read the bracket in another way.
        let text = serde_json::to_string_pretty(value)?.replace("##[", "##\\u005b");
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
        self.say(&format!("error: {}", visible(&why.to_string())));
        for cause in why.chain().skip(1) {
            self.say(&format!("  caused by: {}", visible(&cause.to_string())));
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
                self.answer(&line.replace("##[", "##\\u005b"));
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

/// Lines that no GitHub runner takes for an order: a command begins a line with `::`, or is `##[` anywhere in it.
fn without_orders(text: &str) -> String {
    let line = |line: &str| {
        let body = line.trim_start();
        let indent = &line[..line.len() - body.len()];
        let body = body.strip_prefix("::").map_or_else(|| body.to_owned(), |rest| format!(": :{rest}"));
        format!("{indent}{}", body.replace("##[", "## ["))
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_text_is_an_order_to_the_runner() {
        let text = "a ::error::b\n  ::add-mask::c\n::stop-commands::d\nx ##[add-matcher]e";
        assert_eq!(without_orders(text), "a ::error::b\n  : :add-mask::c\n: :stop-commands::d\nx ## [add-matcher]e");
    }
}
