//! What lies in a room, against what git's index says of it: one walk, in the way git itself compares, without a process.
//!
//! Nobody runs in the room meanwhile: it is locked, and whoever used it before is gone with everything he started. A walk
//! that is wrong all the same (a mount, a file system with names of its own) finds too much, never too little.

use crate::host::git::Tracked;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, open, openat, readlinkat, statat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A file that is larger is not read to be compared.
const LARGEST: u64 = 64 << 20;
/// Fewer files than this are looked at by one thread.
const FEW: usize = 500;
/// More threads wait for each other in the kernel.
const MOST_THREADS: usize = 4;

/// In what a room differs from an index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Files and folders beside the tracked ones, relative to the room. A folder stands for all it holds; one without any
    /// file counts.
    pub(super) extras: Vec<PathBuf>,
    /// Tracked files that are missing or may be changed, by their number.
    pub(super) suspects: Vec<usize>,
}

impl Found {
    pub(super) fn is_nothing(&self) -> bool {
        self.extras.is_empty() && self.suspects.is_empty()
    }
}

/// Walks through the room `top`. `written`: when the index was, in seconds; what is as young is compared by content.
/// The `.git` file at the top is not looked at.
///
/// # Errors
/// A folder cannot be read.
pub(super) fn scan(top: &Path, tracked: &[Tracked], written: i64) -> Result<Found, Errno> {
    let root = open(top, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let first = Folder { path: Vec::new(), range: 0..tracked.len() };
    let queue = Queue { state: Mutex::new(State { waiting: vec![first], busy: 0 }), changed: Condvar::new() };
    let threads = if tracked.len() < FEW { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let walk = || {
        let mut found = Found::default();
        let done = queue.work(|folder, more| look(root.as_fd(), folder, tracked, written, &mut found, more));
        done.map(|()| found)
    };
    let parts: Vec<Result<Found, Errno>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(MOST_THREADS)).map(|_| scope.spawn(walk)).collect();
        let mut parts = vec![walk()];
        parts.extend(others.into_iter().map(|other| other.join().unwrap_or(Err(Errno::IO))));
        parts
    });
    let mut all = Found::default();
    for part in parts {
        let part = part?;
        all.extras.extend(part.extras);
        all.suspects.extend(part.suspects);
    }
    all.extras.sort();
    all.suspects.sort_unstable();
    Ok(all)
}

/// A folder to look into, and which of the tracked files lie in it.
struct Folder {
    /// Empty, or with a final `/`.
    path: Vec<u8>,
    range: Range<usize>,
}

/// Folders that wait for a thread.
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: Vec<Folder>,
    /// How many threads may still find more.
    busy: usize,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes folders until there are none and nobody can find more.
    fn work(&self, mut look: impl FnMut(&Folder, &mut Vec<Folder>) -> Result<(), Errno>) -> Result<(), Errno> {
        let (mut more, mut outcome) = (Vec::new(), Ok(()));
        loop {
            let folder = {
                let mut state = self.lock();
                loop {
                    if let Some(folder) = state.waiting.pop() {
                        state.busy += 1;
                        break folder;
                    }
                    if state.busy == 0 {
                        return outcome;
                    }
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            };
            outcome = outcome.and(look(&folder, &mut more));
            let mut state = self.lock();
            state.busy -= 1;
            state.waiting.append(&mut more);
            drop(state);
            self.changed.notify_all();
        }
    }
}

/// What the index has of one name in a folder.
enum Known {
    File(usize),
    Folder(Range<usize>),
}

/// The names directly inside a folder.
fn names<'t>(folder: &Folder, tracked: &'t [Tracked]) -> HashMap<&'t [u8], Known> {
    let mut names: HashMap<&[u8], Known> = HashMap::new();
    for number in folder.range.clone() {
        let Some(rest) = tracked[number].path.get(folder.path.len()..) else { continue };
        match rest.iter().position(|byte| *byte == b'/') {
            None => drop(names.insert(rest, Known::File(number))),
            // What lies in one folder stands together.
            Some(end) => match names.get_mut(&rest[..end]) {
                Some(Known::Folder(range)) => range.end = number + 1,
                _ => drop(names.insert(&rest[..end], Known::Folder(number..number + 1))),
            },
        }
    }
    names
}

fn look(
    root: BorrowedFd<'_>,
    folder: &Folder,
    tracked: &[Tracked],
    written: i64,
    found: &mut Found,
    more: &mut Vec<Folder>,
) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let at = if folder.path.is_empty() { &b"."[..] } else { &folder.path[..folder.path.len() - 1] };
    let handle = openat(root, at, flags, Mode::empty())?;
    let mut names = names(folder, tracked);
    for entry in Dir::read_from(&handle)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || (folder.path.is_empty() && name == b".git") {
            continue;
        }
        let path = || [&folder.path[..], name].concat();
        match names.get(name) {
            Some(Known::File(number)) => {
                let same = is_same(&handle, name, &tracked[*number], written)?;
                let is_folder = entry.file_type() == FileType::Directory;
                if is_folder {
                    found.extras.push(PathBuf::from(OsStr::from_bytes(&path())));
                }
                if same {
                    names.remove(name);
                }
            }
            Some(Known::Folder(range)) if is_folder(&handle, &entry)? => {
                more.push(Folder { path: [&path()[..], b"/"].concat(), range: range.clone() });
                names.remove(name);
            }
            _ => found.extras.push(PathBuf::from(OsStr::from_bytes(&path()))),
        }
    }
    for left in names.into_values() {
        match left {
            Known::File(number) => found.suspects.push(number),
            Known::Folder(range) => found.suspects.extend(range),
        }
    }
    Ok(())
}

fn is_folder(parent: &OwnedFd, entry: &rustix::fs::DirEntry) -> Result<bool, Errno> {
    Ok(match entry.file_type() {
        FileType::Unknown => {
            let stat = statat(parent, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
            FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        }
        kind => kind == FileType::Directory,
    })
}

/// True if the file is what git saw, or holds the same bytes as the tree.
fn is_same(parent: &OwnedFd, name: &[u8], tracked: &Tracked, written: i64) -> Result<bool, Errno> {
    let stat = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(false),
        stat => stat?,
    };
    if !is_as_seen(&stat, &tracked.stat) {
        return Ok(false);
    }
    // As git: what was changed in the second the index was written could have been changed after git looked.
    if stat.st_mtime < written && stat.st_ctime < written {
        return Ok(true);
    }
    Ok(content(parent, name, &stat).is_some_and(|bytes| tracked.is_content(&bytes)))
}

/// The comparison that git makes with `core.trustctime` and `core.checkStat=default`, and of nanoseconds too.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the index holds the low 32 bits of each")]
fn is_as_seen(now: &Stat, seen: &[u32; 10]) -> bool {
    let [ctime, ctime_ns, mtime, mtime_ns, _, inode, mode, owner, group, size] = *seen;
    // A git that was built without them stores no nanoseconds.
    let same_time = |seconds: i64, seen: u32, nanos: u64, seen_nanos: u32| {
        seconds as u32 == seen && (seen_nanos == 0 || nanos as u32 == seen_nanos)
    };
    let kind = match FileType::from_raw_mode(now.st_mode) {
        FileType::Symlink => 0o120_000,
        FileType::RegularFile if now.st_mode & 0o100 != 0 => 0o100_755,
        FileType::RegularFile => 0o100_644,
        _ => return false,
    };
    kind == mode
        && same_time(now.st_mtime, mtime, now.st_mtime_nsec, mtime_ns)
        && same_time(now.st_ctime, ctime, now.st_ctime_nsec, ctime_ns)
        && now.st_ino as u32 == inode
        && now.st_uid == owner
        && now.st_gid == group
        && now.st_size as u32 == size
}

/// The bytes of a file, or where a link points.
fn content(parent: &OwnedFd, name: &[u8], stat: &Stat) -> Option<Vec<u8>> {
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return readlinkat(parent, name, Vec::new()).ok().map(std::ffi::CString::into_bytes);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = fs::File::from(openat(parent, name, flags, Mode::empty()).ok()?);
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LARGEST).then_some(bytes)
}
