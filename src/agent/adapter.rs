//! The ways of talking to a program.

use super::LARGEST_ANSWER;
use super::stream::{Reader, Stream};
use super::told::{End, Told};
use crate::host::process::Ended;

/// One way of talking to a program.
pub(super) trait Adapter {
    /// What it reads.
    fn stdin(&self) -> Vec<u8>;
    /// How much of its standard output to hold as it comes.
    fn capture(&self) -> u64;
    /// Takes a piece of its standard output.
    fn hear(&mut self, bytes: &[u8]);
    /// All that it told, now that it has ended.
    fn told(self: Box<Self>, ended: &Ended) -> Told;
}

/// Brief on standard input, answer on standard output, and the exit code is its word.
pub(super) struct Plain(pub(super) Vec<u8>);

impl Adapter for Plain {
    fn stdin(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn capture(&self) -> u64 {
        LARGEST_ANSWER
    }

    fn hear(&mut self, _: &[u8]) {}

    fn told(self: Box<Self>, ended: &Ended) -> Told {
        let end = ended.ending.is_success().then(|| End::Done { event: "exit code 0".to_owned() });
        Told { answer: ended.stdout.clone(), end, began: ended.stdout_total > 0, ..Told::default() }
    }
}

/// Brief on standard input, events on standard output.
pub(super) struct Streamed {
    brief: Vec<u8>,
    stream: Stream,
}

impl Streamed {
    pub(super) fn read_by(read: Reader, brief: Vec<u8>) -> Self {
        Self { brief, stream: Stream::read_by(read) }
    }
}

impl Adapter for Streamed {
    fn stdin(&self) -> Vec<u8> {
        self.brief.clone()
    }

    fn capture(&self) -> u64 {
        0
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.stream.hear(bytes);
    }

    fn told(self: Box<Self>, _: &Ended) -> Told {
        self.stream.told()
    }
}
