//! The short way to a room's next tree: touch only what differs, then prove the whole room.
//!
//! The long way (`reset --hard`, `clean`, `status`) looks at every file three times, in three processes. Here we look
//! ourselves, remove what is beside the tree or not as git left it, let git write only what is missing and what the two
//! trees differ in, and look again. Whatever is not simple (no index yet, submodules, a crash before, a repository that
//! only git can read, a file that git has to judge) takes the long way.

use super::scan::{Found, scan};
use super::{Room, RoomError, words};
use crate::host::git::{Entry, Repo, Tracked, entries};
use crate::host::ids::CommitId;
use crate::host::path::RepoPath;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A larger index is left to git.
const LARGEST_INDEX: u64 = 256 << 20;
/// More bytes of paths than this do not go on one command line.
const LONGEST_LINE: usize = 64 << 10;
/// A commit of another repository.
const GITLINK: u32 = 0o160_000;

/// A room's index file.
struct Index {
    tracked: Vec<Tracked>,
    /// When it was written, in seconds.
    written: i64,
}

/// From one tree to the next.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step<'p> {
    /// Only in the first.
    gone: BTreeSet<&'p [u8]>,
    /// Only in the second, or otherwise there.
    new: Vec<&'p [u8]>,
    /// All of it, for `update-index --index-info`: what goes before what may need its place.
    lines: Vec<u8>,
}

impl<'p> Step<'p> {
    /// Both lists are in git's order.
    fn between(before: &'p [Tracked], after: &'p [(RepoPath, Entry)]) -> Self {
        let mut step = Self::default();
        let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
        let mut written = Vec::new();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(tracked), Some((path, _))) => tracked.path[..].cmp(path.as_bytes()),
            };
            let tracked = if order.is_le() { old.next() } else { None };
            let Some((path, entry)) = (if order.is_ge() { new.next() } else { None }) else {
                let Some(tracked) = tracked else { break };
                step.gone.insert(&tracked.path);
                step.lines.extend_from_slice(format!("0 {}\t", "0".repeat(2 * tracked.id.len())).as_bytes());
                step.lines.extend_from_slice(&[&tracked.path[..], b"\0"].concat());
                continue;
            };
            if tracked.is_none_or(|tracked| entry.mode != tracked.mode() || !is_id(&entry.id, &tracked.id)) {
                step.new.push(path.as_bytes());
                written.extend_from_slice(format!("{:06o} {}\t", entry.mode, entry.id).as_bytes());
                written.extend_from_slice(&[path.as_bytes(), b"\0"].concat());
            }
        }
        step.lines.append(&mut written);
        step
    }
}

/// Where the short way led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The room holds the tree, and that was proved.
    Done,
    /// Nobody knows: the long way is to be taken.
    Long,
    /// The trees have different attributes, so that files with the same content may have to look different: git leaves
    /// them as they are, and only a new checkout writes them all.
    Anew,
}

impl Room {
    /// Makes the room hold its commit's tree by the short way.
    ///
    /// # Errors
    /// As the long way's; that is still to be tried.
    pub(super) fn renew(&self, repo: &Repo) -> Result<Way, RoomError> {
        let Some(before) = self.head().filter(|_| !self.slot.crashed()) else { return Ok(Way::Long) };
        let Some(index) = self.index(repo).filter(|index| !index.tracked.is_empty()) else { return Ok(Way::Long) };
        let wanted = repo.list(&self.tree, "")?;
        if !same_attributes(&index, &wanted) {
            return Ok(Way::Anew);
        }
        let Ok(found) = scan(self.path(), &index.tracked, index.written) else { return Ok(Way::Long) };
        // So many are written faster all together.
        if found.suspects.len() > index.tracked.len() / 2 {
            return Ok(Way::Long);
        }
        self.remove(&found, &index)?;
        let done = |yes| if yes { Way::Done } else { Way::Long };
        if before == self.commit && found.suspects.is_empty() {
            return Ok(done(is_tree(&index, &wanted)));
        }
        self.write_missing(repo, &before, (&found, &index, &wanted))?;
        let Some(index) = self.index(repo) else { return Ok(Way::Long) };
        let Ok(left) = scan(self.path(), &index.tracked, index.written) else { return Ok(Way::Long) };
        if left.is_nothing() && is_tree(&index, &wanted) {
            return Ok(Way::Done);
        }
        // A filter's output, written this second: only git can compare it.
        Ok(done(self.differences(repo, true)?.is_empty()))
    }

    /// Removes a file that the next tree does not have, and the folders that this empties.
    fn prune(&self, path: &[u8]) -> Result<(), RoomError> {
        let path = Path::new(OsStr::from_bytes(path));
        gone(&self.path().join(path))?;
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(self.path().join(folder)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// True if every tracked file is surely as the tree has it, by a look alone. New files do not count.
    pub(super) fn is_untouched(&self, repo: &Repo) -> bool {
        let index = self.index(repo).filter(|_| self.head().as_ref() == Some(&self.commit));
        let Some(index) = index else { return false };
        let found = scan(self.path(), &index.tracked, index.written);
        let wanted = repo.list(&self.tree, "");
        found.is_ok_and(|found| found.suspects.is_empty()) && wanted.is_ok_and(|wanted| is_tree(&index, &wanted))
    }

    /// Where the room's HEAD stands, if that is a commit's id in a file.
    fn head(&self) -> Option<CommitId> {
        let text = fs::read_to_string(self.slot.admin().join("HEAD")).ok()?;
        CommitId::new(text.strip_suffix('\n')?).ok()
    }

    /// The room's index, where we understand all of it and nothing in it is a submodule.
    fn index(&self, repo: &Repo) -> Option<Index> {
        let path = self.slot.admin().join("index");
        let about = fs::symlink_metadata(&path).ok().filter(|about| about.is_file() && about.len() <= LARGEST_INDEX)?;
        let tracked = entries(&fs::read(&path).ok()?, repo.object_format())?;
        let simple = tracked.iter().all(|entry| entry.mode() != GITLINK);
        simple.then_some(Index { tracked, written: about.mtime() })
    }

    /// Removes what lies beside the tree, and what is not as git left it: git writes a missing file, but asks about a
    /// changed one.
    fn remove(&self, found: &Found, index: &Index) -> Result<(), RoomError> {
        // Links among the extras go before anything is removed by a path that could lead through them.
        for extra in &found.extras {
            gone(&self.path().join(extra))?;
        }
        for number in &found.suspects {
            gone(&self.path().join(OsStr::from_bytes(&index.tracked[*number].path)))?;
        }
        Ok(())
    }

    /// Lets git write the missing files, and what the new tree has otherwise than the old one.
    fn write_missing(
        &self,
        repo: &Repo,
        before: &CommitId,
        (found, index, wanted): (&Found, &Index, &[(RepoPath, Entry)]),
    ) -> Result<(), RoomError> {
        let step = Step::between(&index.tracked, wanted);
        let missing = found.suspects.iter().map(|number| &index.tracked[*number].path[..]);
        let missing: Vec<&[u8]> = missing.filter(|path| !step.gone.contains(path)).collect();
        let write: Vec<&[u8]> = missing.iter().chain(&step.new).copied().collect();
        if write.iter().map(|path| path.len() + 1).sum::<usize>() <= LONGEST_LINE {
            for path in &step.gone {
                self.prune(path)?;
            }
            let mut gits = Vec::new();
            if !step.lines.is_empty() {
                gits.push(words(&["update-index", "-z", "--index-info"]));
            }
            if !write.is_empty() {
                let mut line = words(&["checkout-index", "--force", "--index", "--"]);
                line.extend(write.iter().map(|path| OsStr::from_bytes(path).to_owned()));
                gits.push(line);
            }
            self.gits_reading(repo, &gits, step.lines)?;
        } else {
            let mut gits = Vec::new();
            if !missing.is_empty() {
                gits.push(words(&["checkout-index", "--force", "--index", "-z", "--stdin"]));
            }
            gits.push(words(&["read-tree", "-m", "-u", before.as_str(), self.commit.as_str()]));
            self.gits_reading(repo, &gits, missing.iter().flat_map(|path| [path, &b"\0"[..]].concat()).collect())?;
        }
        let head = self.slot.admin().join("HEAD");
        let lock = self.slot.admin().join("HEAD.lock");
        let write = || {
            let mut file = File::options().write(true).create_new(true).open(&lock)?;
            file.write_all(format!("{}\n", self.commit).as_bytes())?;
            fs::rename(&lock, &head)
        };
        write().map_err(|why| RoomError::Io { doing: "write", path: head.clone(), why })
    }
}

/// True if the index lists exactly these files.
fn is_tree(index: &Index, wanted: &[(RepoPath, Entry)]) -> bool {
    let same = |((path, entry), tracked): (&(RepoPath, Entry), &Tracked)| {
        path.as_bytes() == tracked.path && entry.mode == tracked.mode() && is_id(&entry.id, &tracked.id)
    };
    wanted.len() == index.tracked.len() && wanted.iter().zip(&index.tracked).all(same)
}

fn same_attributes(index: &Index, wanted: &[(RepoPath, Entry)]) -> bool {
    let rules = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes");
    let mut before = index.tracked.iter().filter(|tracked| rules(&tracked.path));
    let mut after = wanted.iter().filter(|(path, _)| rules(path.as_bytes()));
    before.all(|tracked| {
        let same = |(path, entry): &(RepoPath, Entry)| path.as_bytes() == tracked.path && is_id(&entry.id, &tracked.id);
        after.next().is_some_and(same)
    }) && after.next().is_none()
}

/// True if this is the number in hexadecimal.
fn is_id(text: &str, id: &[u8]) -> bool {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks_exact(2);
    text.len() == 2 * id.len()
        && pairs.zip(id).all(|(pair, byte)| digit(pair[0]) == Some(byte >> 4) && digit(pair[1]) == Some(byte & 15))
}

/// Removes a file, a link or a folder; one that is not there is gone.
fn gone(path: &Path) -> Result<(), RoomError> {
    let done = match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(why) => Err(why),
    };
    match done {
        Err(why) if !matches!(why.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(RoomError::Io { doing: "remove", path: path.to_owned(), why })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Tree = BTreeMap<Vec<u8>, (u32, u8)>;

    fn trees() -> impl Strategy<Value = Tree> {
        let path = prop::sample::select(vec!["a", "a/b", "a-b", "a.b", "b", "b/c/d", "c\nd", "z"]);
        let path = path.prop_map(|path| path.as_bytes().to_vec());
        prop::collection::btree_map(path, (prop::sample::select(vec![0o100_644, 0o100_755, 0o120_000]), 0_u8..3), 0..8)
    }

    fn tracked(tree: &Tree) -> Vec<Tracked> {
        let one = |(path, (mode, id)): (&Vec<u8>, &(u32, u8))| Tracked {
            path: path.clone(),
            stat: [0, 0, 0, 0, 0, 0, *mode, 0, 0, 0],
            id: vec![*id; 20],
        };
        tree.iter().map(one).collect()
    }

    fn listed(tree: &Tree) -> Vec<(RepoPath, Entry)> {
        let one = |(path, (mode, id)): (&Vec<u8>, &(u32, u8))| {
            (RepoPath::from_bytes(path.clone()), Entry { mode: *mode, id: format!("{id:02x}").repeat(20) })
        };
        tree.iter().map(one).collect()
    }

    proptest! {
        #[test]
        fn the_lines_of_a_step_make_the_second_tree_of_the_first(before in trees(), after in trees()) {
            let (old, new) = (tracked(&before), listed(&after));
            let step = Step::between(&old, &new);
            let mut made = before.clone();
            for line in step.lines.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
                let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
                let words = std::str::from_utf8(&line[..tab]).unwrap();
                let (mode, id) = words.split_once(' ').unwrap();
                let (mode, path) = (u32::from_str_radix(mode, 8).unwrap(), line[tab + 1..].to_vec());
                if mode == 0 {
                    prop_assert!(made.remove(&path).is_some());
                } else {
                    made.insert(path, (mode, u8::from_str_radix(&id[..2], 16).unwrap()));
                }
            }
            prop_assert_eq!(&made, &after);
            let index = Index { tracked: tracked(&made), written: 0 };
            prop_assert!(is_tree(&index, &new));
            prop_assert_eq!(is_tree(&Index { tracked: old.clone(), written: 0 }, &new), before == after);
            prop_assert!(step.new.iter().all(|path| before.get(*path) != after.get(*path)), "only what differs");
        }
    }
}
