//! Runs that were done: the same command on the same tree, under the same circumstances, is not run again.
//!
//! An entry lies in the shared git directory, which no box may write, and carries a mark made with a key that lies outside
//! ([`Keepsake`]): one that somebody else wrote does not exist, and neither does one that is damaged, or whose log is.
//! Without a box nothing is stored and nothing is believed, because the code under test could have written it. What may come
//! out otherwise the next time is never stored: a run that was stopped, whose set-up failed, that changed tracked files, or
//! whose report could not be read.

use super::apart::Said;
use super::attempt::{Repetition, Subject};
use super::run::free_log;
use super::{Facts, Run, Side, TestCommand, judge, record, toolchain};
use crate::config::{SandboxRequirement, Settings};
use crate::floor::reports::Reading;
use crate::host::digest::digest;
use crate::host::git::Repo;
use crate::host::ids::TreeId;
use crate::host::keepsake::Keepsake;
use crate::host::path::escape;
use crate::host::process::{Ending, probe_box};
use crate::receipts::{CommandRecord, Purpose};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The version of an entry's form.
const FORMAT: u32 = 4;
/// At most this many entries are kept, the newest.
const MOST_ENTRIES: usize = 256;
/// No entry has more runs: one, and its repetitions.
const MOST_RUNS: usize = 16;
/// A larger entry, or log, is not read.
const LARGEST: u64 = 64 << 20;

/// Where runs are kept, and what they all depend on.
pub(super) struct Store {
    folder: PathBuf,
    /// Environment, settings, tools and our own version.
    circumstances: String,
    keepsake: Keepsake,
}

/// What one run depends on.
pub(super) struct Key {
    digest: String,
    tree: TreeId,
    /// As it stands in a receipt.
    command: String,
    root: String,
    /// True: its words belong to it.
    is_apart: bool,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    /// By the user's key.
    mark: String,
    entry: Entry,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    format: u32,
    key: String,
    leak: Option<PathBuf>,
    /// The run, then its repetitions.
    runs: Vec<Kept>,
    /// Digests of its words, output and report, which lie beside it like further logs; empty if nobody asks for them.
    said: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    command: CommandRecord,
    reading: Reading,
}

impl Store {
    /// The store of a repository; none where no box protects it.
    pub(super) fn open(repo: &Repo, settings: &Settings) -> Option<Self> {
        let host = repo.host();
        if settings.sandbox.require == Some(SandboxRequirement::None) || !probe_box(host).enforced {
            return None;
        }
        let keepsake = Keepsake::of(host)?;
        let mut parts = vec![env!("CARGO_PKG_VERSION").to_owned(), toolchain::circumstances(repo).ok()?];
        parts.push(serde_json::to_string(&(&settings.tests, &settings.sandbox, &settings.limits)).ok()?);
        Some(Self {
            folder: repo.own_dir().join("tests"),
            circumstances: digest(parts.join("\n").as_bytes()),
            keepsake,
        })
    }

    /// A hybrid may have the very tree of the base; it is still run in another way.
    pub(super) fn key(&self, subject: &Subject<'_>, command: &TestCommand) -> Key {
        let root = command.root.to_string();
        let report = format!("{:?} {:?} {:?}", command.runner, command.report, command.through);
        let is_apart = subject.side.is_apart();
        let way = format!("{} {}", if is_apart { "apart" } else { "whole" }, subject.time);
        let parts = [subject.tree.as_str(), &command.command, &root, &report, &way, &self.circumstances];
        Key {
            digest: digest(parts.join("\0").as_bytes()),
            tree: subject.tree.clone(),
            command: escape(command.command.as_bytes()),
            root,
            is_apart,
        }
    }

    /// A stored run, its facts among `runs` and its logs among `logs`, as if it had just been done.
    pub(super) fn find(&self, key: &Key, side: Side, logs: &Path, runs: &mut Vec<Facts>) -> Option<Run> {
        let entry = self.read(key)?;
        let said = if key.is_apart { Some(self.said(key, &entry)?) } else { None };
        let mut facts = Vec::new();
        let place = runs.len();
        fs::create_dir_all(logs).ok()?;
        for (number, kept) in entry.runs.iter().enumerate() {
            let mut command = kept.command.clone();
            let bytes = read_bounded(&self.log(key, number))?;
            let purpose = if number == 0 { Purpose::Tests } else { Purpose::Rerun };
            let fits = command.purpose == purpose && command.tree == key.tree && command.level.enforced;
            let same = command.command == key.command && command.root == key.root;
            if !fits || !same || digest(&bytes) != command.log_digest {
                return None;
            }
            let log = free_log(logs, side, purpose);
            write_new(&log, &bytes).ok()?;
            command.log = log.file_name()?.to_string_lossy().into_owned();
            command.cached = Some(key.digest.clone());
            let tests = record(&kept.reading, &command.ending, &key.tree);
            facts.push(Facts { side, command, log, tests, files: kept.reading.files.clone() });
        }
        runs.extend(facts);
        let mut all = entry.runs.into_iter();
        let Kept { command, reading } = all.next()?;
        let again = all.map(|kept| Repetition { ending: kept.command.ending, reading: kept.reading }).collect();
        Some(Run {
            ending: command.ending,
            reading,
            changed: Vec::new(),
            leak: entry.leak,
            unready: None,
            again,
            place,
            said,
        })
    }

    /// The words of a stored run; none if they are not what was stored.
    fn said(&self, key: &Key, entry: &Entry) -> Option<Said> {
        let [output, report] = entry.said.as_slice() else { return None };
        let first = entry.runs.len();
        let read =
            |at: usize, sha256: &str| read_bounded(&self.log(key, first + at)).filter(|bytes| digest(bytes) == sha256);
        Some(Said { output: read(0, output)?, report: read(1, report)? })
    }

    fn read(&self, key: &Key) -> Option<Entry> {
        let sealed: Sealed = serde_json::from_slice(&read_bounded(&self.entry(key))?).ok()?;
        let whole = self.keepsake.mark(&serde_json::to_vec(&sealed.entry).ok()?)? == sealed.mark;
        let entry = sealed.entry;
        (whole && entry.format == FORMAT && entry.key == key.digest && !entry.runs.is_empty()).then_some(entry)
    }

    /// Stores a run if it may stand for later ones. That it cannot be stored is no reason to fail.
    pub(super) fn keep(&self, key: &Key, run: &Run, runs: &[Facts]) {
        let Some(facts) = runs.get(run.place..).and_then(|facts| facts.get(..=run.again.len())) else { return };
        let is_steady = run.unready.is_none()
            && run.changed.is_empty()
            && facts.iter().all(|f| f.command.level.enforced && f.command.cached.is_none())
            && facts.iter().all(|f| matches!(f.command.ending, Ending::Exited { .. } | Ending::Signalled { .. }))
            && judge::is_readable(&run.reading);
        if is_steady {
            // A full disk, for instance: the next run tests again.
            self.write(key, run, facts).ok();
        }
    }

    fn write(&self, key: &Key, run: &Run, facts: &[Facts]) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        for (number, facts) in facts.iter().enumerate() {
            self.replace(&self.log(key, number), &fs::read(&facts.log)?)?;
        }
        let readings = run.readings().into_iter().cloned();
        let kept = facts.iter().zip(readings).map(|(f, reading)| Kept { command: f.command.clone(), reading });
        let mut said = Vec::new();
        for (at, bytes) in run.said.iter().flat_map(|said| [&said.output, &said.report]).enumerate() {
            self.replace(&self.log(key, facts.len() + at), bytes)?;
            said.push(digest(bytes));
        }
        let (leak, runs) = (run.leak.clone(), kept.collect());
        let entry = Entry { format: FORMAT, key: key.digest.clone(), leak, runs, said };
        let Some(mark) = self.keepsake.mark(&serde_json::to_vec(&entry)?) else { return Ok(()) };
        self.replace(&self.entry(key), &serde_json::to_vec(&Sealed { mark, entry })?)?;
        self.prune()
    }

    /// Whoever reads meanwhile sees the old file or the new one.
    fn replace(&self, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let mut fresh = tempfile::NamedTempFile::new_in(&self.folder)?;
        fresh.write_all(bytes)?;
        fresh.persist(path)?;
        Ok(())
    }

    fn prune(&self) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.folder)?.flatten() {
            if found.path().extension().is_some_and(|ext| ext == "json") {
                entries.push((found.metadata()?.modified()?, found.path()));
            }
        }
        entries.sort();
        let beyond = entries.len().saturating_sub(MOST_ENTRIES);
        for (_, path) in &entries[..beyond] {
            let number = |at: usize| path.with_extension(format!("{at}.log"));
            (0..=MOST_RUNS).map(number).take_while(|log| fs::remove_file(log).is_ok()).for_each(drop);
            fs::remove_file(path)?;
        }
        Ok(())
    }

    fn entry(&self, key: &Key) -> PathBuf {
        self.folder.join(format!("{}.json", key.digest))
    }

    fn log(&self, key: &Key, number: usize) -> PathBuf {
        self.folder.join(format!("{}.{number}.log", key.digest))
    }
}

fn read_bounded(path: &Path) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(path).ok()?;
    (meta.is_file() && meta.len() <= LARGEST).then(|| fs::read(path).ok()).flatten()
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}
