//! A log that keeps the start and the end of what it is given.

use super::LogFile;
use rustix::fs::{Mode, OFlags, fchmod, open};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The most of the end that is held in memory until the child has ended.
const TAIL: u64 = 16 << 20;

/// An open log.
pub(super) struct Log {
    file: File,
    path: PathBuf,
    hash: Sha256,
    head_kept: u64,
    head_room: u64,
    tail: VecDeque<u8>,
    tail_room: usize,
    total: u64,
}

impl Log {
    /// Makes the file, empty and for us alone. A link in its place is refused, not followed.
    pub(super) fn create(path: &Path, keep: u64) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::RUSR | Mode::WUSR)?;
        fchmod(&fd, Mode::RUSR | Mode::WUSR)?;
        let tail = (keep / 2).min(TAIL);
        Ok(Self {
            file: File::from(fd),
            path: path.to_owned(),
            hash: Sha256::new(),
            head_kept: 0,
            head_room: keep - tail,
            tail: VecDeque::new(),
            tail_room: usize::try_from(tail).unwrap_or(usize::MAX),
            total: 0,
        })
    }

    /// Bytes given so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Takes one piece of output.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.total += bytes.len() as u64;
        let fits = usize::try_from(self.head_room).unwrap_or(usize::MAX).min(bytes.len());
        let (head, rest) = bytes.split_at(fits);
        self.head_room -= head.len() as u64;
        self.head_kept += head.len() as u64;
        let rest = &rest[rest.len().saturating_sub(self.tail_room)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..excess);
        self.tail.extend(rest);
        self.write(head)
    }

    /// Writes the end and closes the file.
    pub(super) fn finish(mut self) -> io::Result<LogFile> {
        let kept = self.head_kept + self.tail.len() as u64;
        if kept < self.total {
            self.write(format!("\n[countersign: {} bytes left out here]\n", self.total - kept).as_bytes())?;
        }
        let tail = std::mem::take(&mut self.tail);
        let (first, second) = tail.as_slices();
        self.write(first)?;
        self.write(second)?;
        let sha256 = hex(&self.hash.finalize());
        Ok(LogFile { path: self.path, bytes_total: self.total, bytes_kept: kept, sha256 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }
}

/// What stands for a log that could not be made.
pub(super) fn absent(path: &Path) -> LogFile {
    let sha256 = hex(&Sha256::digest(b""));
    LogFile { path: path.to_owned(), bytes_total: 0, bytes_kept: 0, sha256 }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_the_start_and_the_end_and_counts_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        for (keep, pieces, text, kept) in [
            (8, &["abc", "def"][..], "abcdef", 6),
            (8, &["abcdefgh"], "abcdefgh", 8),
            (8, &["abcdefghi"], "abcd\n[countersign: 1 bytes left out here]\nfghi", 8),
            (8, &["abc", "defg", "hijklmnopq", "r"], "abcd\n[countersign: 10 bytes left out here]\nopqr", 8),
            (0, &["abc"], "\n[countersign: 3 bytes left out here]\n", 0),
            (1, &["abc"], "a\n[countersign: 2 bytes left out here]\n", 1),
        ] {
            let path = folder.path().join("log");
            let mut log = Log::create(&path, keep).unwrap();
            for piece in pieces {
                log.push(piece.as_bytes()).unwrap();
            }
            let file = log.finish().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(String::from_utf8_lossy(&bytes), text);
            assert_eq!(file.bytes_kept, kept);
            assert_eq!(file.bytes_total, pieces.iter().map(|piece| piece.len() as u64).sum::<u64>());
            assert_eq!(file.sha256, hex(&Sha256::digest(&bytes)));
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_log_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("log"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(Log::create(&link, 8).is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}
