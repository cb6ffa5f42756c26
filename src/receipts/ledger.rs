//! The running attempt's ledger: append-only JSON lines, complete or absent.

use super::{Fact, Receipt};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Why a ledger could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The disk refused.
    #[error("cannot {doing} the ledger {path}: {why}; what was recorded so far is in it", path = path.display())]
    Io {
        /// Verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// A fact that cannot be written down: our bug.
    #[error("cannot record a fact: {0}")]
    Encoding(serde_json::Error),
    /// A line that is not a receipt.
    #[error("line {line} of {name} is not a receipt: {why}")]
    Damaged {
        /// Which ledger.
        name: String,
        /// Line number, from 1.
        line: usize,
        /// The parser's words.
        why: String,
    },
}

/// The ledger of one attempt while it runs. Each fact is on disk before the next step begins.
#[derive(Debug)]
pub struct Ledger {
    file: File,
    path: PathBuf,
    receipts: Vec<Receipt>,
}

impl Ledger {
    /// Takes the next free attempt number of a case, from `at_least` on, and opens its ledger.
    ///
    /// The number is taken by making its folder, which only one process can do.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn open(attempts: &Path, at_least: u32) -> Result<(Self, u32), LedgerError> {
        fs::create_dir_all(attempts).map_err(|why| LedgerError::Io {
            doing: "make room for",
            path: attempts.to_owned(),
            why,
        })?;
        let mut number = at_least;
        loop {
            let folder = attempts.join(number.to_string());
            match fs::create_dir(&folder) {
                Ok(()) => return Self::create(&folder).map(|ledger| (ledger, number)),
                Err(why) if why.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(why) => return Err(LedgerError::Io { doing: "make room for", path: folder, why }),
            }
        }
    }

    fn create(folder: &Path) -> Result<Self, LedgerError> {
        let path = folder.join("receipts.jsonl");
        let file = File::options().append(true).create_new(true).open(&path);
        let file = file.map_err(|why| LedgerError::Io { doing: "create", path: path.clone(), why })?;
        Ok(Self { file, path, receipts: Vec::new() })
    }

    /// Records a fact and returns its number.
    ///
    /// # Errors
    /// The disk refuses: nothing is recorded then, not even half a line (a torn line is ignored when read).
    pub fn record(&mut self, fact: Fact) -> Result<u32, LedgerError> {
        let id = u32::try_from(self.receipts.len()).unwrap_or(u32::MAX).saturating_add(1);
        let receipt = Receipt { id, fact };
        let mut line = serde_json::to_vec(&receipt).map_err(LedgerError::Encoding)?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(|why| LedgerError::Io { doing: "append to", path: self.path.clone(), why })?;
        self.receipts.push(receipt);
        Ok(id)
    }

    /// All receipts so far.
    pub fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }

    /// The folder of this attempt.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }
}

/// Writes receipts as a ledger.
///
/// # Errors
/// A fact that cannot be written down.
pub fn to_lines(receipts: &[Receipt]) -> Result<Vec<u8>, LedgerError> {
    let mut out = Vec::new();
    for receipt in receipts {
        serde_json::to_writer(&mut out, receipt).map_err(LedgerError::Encoding)?;
        out.push(b'\n');
    }
    Ok(out)
}

/// Reads a ledger. A last line without its newline was being written when its writer died: it is absent.
///
/// # Errors
/// A complete line that is not a receipt, or receipts out of order.
pub fn read_lines(bytes: &[u8], name: &str) -> Result<Vec<Receipt>, LedgerError> {
    let complete = bytes.iter().rposition(|b| *b == b'\n').map_or(&[][..], |at| &bytes[..at]);
    let mut receipts = Vec::new();
    for (at, line) in complete.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let damaged = |why: String| LedgerError::Damaged { name: name.to_owned(), line: at + 1, why };
        let receipt: Receipt = serde_json::from_slice(line).map_err(|why| damaged(why.to_string()))?;
        if usize::try_from(receipt.id).ok() != Some(receipts.len() + 1) {
            return Err(damaged(format!("it has number {}, expected {}", receipt.id, receipts.len() + 1)));
        }
        receipts.push(receipt);
    }
    Ok(receipts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Fact {
        Fact::Token { token: text.to_owned() }
    }

    #[test]
    fn a_torn_last_line_is_absent_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (mut ledger, number) = Ledger::open(folder.path(), 1).unwrap();
        assert_eq!(number, 1);
        assert_eq!(ledger.record(token("a")).unwrap(), 1);
        assert_eq!(ledger.record(token("b")).unwrap(), 2);
        let mut bytes = fs::read(folder.path().join("1/receipts.jsonl")).unwrap();
        assert_eq!(read_lines(&bytes, "x").unwrap(), ledger.receipts());
        bytes.extend_from_slice(b"{\"n\":3,\"fact\":\"tok");
        assert_eq!(read_lines(&bytes, "x").unwrap().len(), 2);
        bytes.extend_from_slice(b"\n");
        assert!(matches!(read_lines(&bytes, "x"), Err(LedgerError::Damaged { line: 3, .. })));
    }

    #[test]
    fn two_attempts_never_share_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let numbers: Vec<u32> = (0..3).map(|_| Ledger::open(folder.path(), 2).unwrap().1).collect();
        assert_eq!(numbers, [2, 3, 4]);
    }

    #[test]
    fn a_receipt_out_of_order_is_damage() {
        let lines = b"{\"n\":2,\"fact\":\"token\",\"token\":\"x\"}\n";
        assert!(read_lines(lines, "x").unwrap_err().to_string().contains("expected 1"));
    }
}
