//! What the conductor did with a task, line by line, so that another run can carry on from there.
//!
//! A line is on disk before the step it announces begins, and another one after it has ended (RULINGS 31). A torn last
//! line is absent. Nothing here is the only copy of work: that lies in worktrees and references. The task's lock is
//! held by the operating system, so that it ends with its holder.

use crate::host::clock::Timestamp;
use crate::host::ids::{CommitId, TreeId};
use crate::receipts::ReportedOutcome;
use crate::task::TaskId;
use crate::worker::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A journal larger than this is not read: something writes it that is not us.
const LARGEST: u64 = 64 << 20;

/// Why a journal could not be kept or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The disk refuses.
    #[error("cannot {doing} the journal {}: {why}; the task's work is where it was", path.display())]
    Io {
        /// Verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: std::io::Error,
    },
    /// A complete line that is no entry.
    #[error("line {line} of {} is not an entry ({why}): move that file away; what was done is then told from references and worktrees", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The parser's words.
        why: String,
    },
}

/// Why a worker is sent out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Errand {
    /// For the first time, or again after a stop that was nobody's fault.
    Do,
    /// Its claim was sent back.
    Mend,
    /// Its report was lost.
    Repeat,
    /// The target moved into the same places: the merge is to be resolved.
    Resolve,
}

/// Where a held task is taken up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum From {
    /// A worker is sent out again.
    Sending,
    /// The work is judged again.
    Judging {
        /// Attempts sealed until now.
        sealed: u32,
    },
    /// The landing is tried again.
    Landing,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "entry", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Entry {
    /// A worker is sent out.
    Sent {
        /// Which life of the task: the commit that took it from `todo`.
        life: CommitId,
        /// The iteration within that life, from 1.
        iteration: u32,
        /// Why.
        errand: Errand,
        /// What its work is measured against.
        base: CommitId,
        /// When.
        at: Timestamp,
    },
    /// It came back.
    Returned {
        /// What its report says.
        outcome: ReportedOutcome,
        /// The copy of the report that counts.
        source: Option<Source>,
        /// How its process ended: a stable code.
        ending: String,
        /// In words: why it stopped, or why there is no report.
        why: String,
        /// When.
        at: Timestamp,
    },
    /// Its work is to be judged.
    Judging {
        /// How many attempts the case has before.
        sealed: u32,
    },
    /// Landing met the target's own changes.
    Conflicted {
        /// The target's commit that is to be merged.
        tip: CommitId,
        /// Where, escaped.
        paths: Vec<String>,
        /// The target's commits that changed these places since, one line each.
        #[serde(default)]
        with: Vec<String>,
        /// Both sides wrote a decision record of the same name: no worker can tell which one holds.
        #[serde(default)]
        records: bool,
    },
    /// The merge was made and lies in the worktree, to be resolved.
    Merged {
        /// The merge commit; its second parent is the target's.
        commit: CommitId,
        /// The target's commit.
        tip: CommitId,
    },
    /// Work was saved.
    Saved {
        /// The event.
        tag: String,
        /// The reference.
        reference: String,
        /// The patch, if anything differs from the base.
        patch: Option<PathBuf>,
    },
    /// The end, as far as the conductor can go.
    Held {
        /// Stable, in kebab case.
        code: String,
        /// In words.
        why: String,
        /// When.
        at: Timestamp,
    },
    /// A person asked to go on with a task that was held.
    Resumed {
        /// Where to go on.
        from: From,
    },
    /// A hook of the project changes what would land: that tree is judged, once.
    Hooked {
        /// The tree, bookkeeping apart.
        tree: TreeId,
    },
    /// A landing is about to be made.
    Landing {
        /// The case it rests on.
        case: CommitId,
    },
    /// It was made.
    Landed {
        /// The commit.
        commit: CommitId,
        /// When.
        at: Timestamp,
    },
}

/// The journal of one task, and the right to act on it: held by one process at a time.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
    _lock: File,
}

impl Journal {
    /// The folder of all journals.
    pub fn folder(own_dir: &Path) -> PathBuf {
        own_dir.join("work")
    }

    fn place(own_dir: &Path, id: &TaskId) -> PathBuf {
        Self::folder(own_dir).join(id.as_str())
    }

    /// Opens a task's journal for writing; none while another process holds it.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn open(own_dir: &Path, id: &TaskId) -> Result<Option<Self>, JournalError> {
        let folder = Self::place(own_dir, id);
        fs::create_dir_all(&folder).map_err(io("make the folder of", &folder))?;
        let lock_path = folder.join("lock");
        let lock = File::options().create(true).truncate(false).write(true).open(&lock_path);
        let lock = lock.map_err(io("lock", &lock_path))?;
        if !taken(&lock).map_err(io("lock", &lock_path))? {
            return Ok(None);
        }
        let path = folder.join("journal.jsonl");
        let entries = Self::read_file(&path)?;
        let mut file = File::options().create(true).append(true).open(&path).map_err(io("open", &path))?;
        // A torn line was never an entry; without its end, the next one would be torn with it.
        if fs::read(&path).map_err(io("read", &path))?.last().is_some_and(|last| *last != b'\n') {
            cut_torn_line(&path)?;
            file = File::options().append(true).open(&path).map_err(io("open", &path))?;
        }
        Ok(Some(Self { path, file, entries, _lock: lock }))
    }

    /// Reads a task's journal without taking it. True: another process holds it now.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn peek(own_dir: &Path, id: &TaskId) -> Result<(Vec<Entry>, bool), JournalError> {
        let folder = Self::place(own_dir, id);
        let entries = Self::read_file(&folder.join("journal.jsonl"))?;
        let held = match File::options().write(true).open(folder.join("lock")) {
            Ok(lock) => matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        };
        Ok((entries, held))
    }

    fn read_file(path: &Path) -> Result<Vec<Entry>, JournalError> {
        match fs::metadata(path) {
            Ok(data) if data.len() > LARGEST => {
                let why = std::io::Error::other(format!("it has {} bytes, more than {LARGEST}", data.len()));
                return Err(io("read", path)(why));
            }
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            _ => {}
        }
        let bytes = fs::read(path).map_err(io("read", path))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(&[][..], |at| &bytes[..at]);
        let lines = whole.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        lines
            .map(|(at, line)| {
                serde_json::from_slice(line).map_err(|why| JournalError::Damaged {
                    path: path.to_owned(),
                    line: at + 1,
                    why: why.to_string(),
                })
            })
            .collect()
    }

    /// Writes one entry; the next step may begin when this returns.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn write(&mut self, entry: Entry) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(&entry).map_err(|why| io("encode", &self.path)(why.into()))?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(io("append to", &self.path))?;
        self.entries.push(entry);
        Ok(())
    }

    /// All entries so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Where the worker leaves its report: the one place outside its worktree that it may write.
    pub fn inbox(&self) -> PathBuf {
        self.path.with_file_name("inbox")
    }

    /// Where the task's logs are kept.
    pub fn logs(&self) -> PathBuf {
        self.path.with_file_name("logs")
    }
}

/// Takes the lock. A look at it ([`Journal::peek`]) holds it for an instant, which is not worth giving up for.
fn taken(lock: &File) -> std::io::Result<bool> {
    for _ in 0..200 {
        match lock.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            Err(TryLockError::Error(why)) => return Err(why),
        }
    }
    Ok(false)
}

fn cut_torn_line(path: &Path) -> Result<(), JournalError> {
    let bytes = fs::read(path).map_err(io("read", path))?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let file = File::options().write(true).open(path).map_err(io("open", path))?;
    file.set_len(whole as u64).and_then(|()| file.sync_data()).map_err(io("mend", path))
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> JournalError + use<> {
    let path = path.to_owned();
    move |why| JournalError::Io { doing, path, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(code: &str) -> Entry {
        Entry::Held { code: code.to_owned(), why: "x".to_owned(), at: Timestamp(1) }
    }

    #[test]
    fn a_torn_last_line_is_absent_and_the_next_entry_stands_on_its_own_line() {
        let own = tempfile::tempdir().unwrap();
        let id = TaskId::new("w-1").unwrap();
        let mut journal = Journal::open(own.path(), &id).unwrap().unwrap();
        journal.write(held("a")).unwrap();
        let path = journal.path.clone();
        drop(journal);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"entry\":\"he").unwrap();
        let mut journal = Journal::open(own.path(), &id).unwrap().unwrap();
        assert_eq!(journal.entries(), [held("a")]);
        journal.write(held("b")).unwrap();
        drop(journal);
        assert_eq!(Journal::peek(own.path(), &id).unwrap(), (vec![held("a"), held("b")], false));
        fs::write(&path, "{}\n").unwrap();
        assert!(matches!(Journal::peek(own.path(), &id), Err(JournalError::Damaged { line: 1, .. })));
    }

    #[test]
    fn one_process_at_a_time_holds_a_task() {
        let own = tempfile::tempdir().unwrap();
        let id = TaskId::new("w-1").unwrap();
        let first = Journal::open(own.path(), &id).unwrap();
        assert!(first.is_some());
        assert!(Journal::open(own.path(), &id).unwrap().is_none());
        assert!(Journal::peek(own.path(), &id).unwrap().1);
        drop(first);
        assert!(Journal::open(own.path(), &id).unwrap().is_some());
    }
}
