//! The index file, as far as two questions need it: is any entry marked so that git does not look at the file, and what
//! did git see of each file last?

use super::ObjectFormat;

/// Bytes of an entry before its object id: times, device, inode, mode, owner, size.
const STAT: usize = 40;
/// Entry flags: assume-unchanged, and "sixteen more flags follow".
const ASSUME_UNCHANGED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
/// Which side of a merge.
const STAGE: u16 = 0x3000;
/// The bits of the name's length; all set: longer than that.
const LENGTH: u16 = 0x0fff;
/// Among the further flags.
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

/// True only if every entry of an index file was read and none is marked assume-unchanged or skip-worktree. False means
/// "ask git": a mark, or a file that is not fully understood (split or sparse index, an unknown version, damage).
pub fn has_no_marks(index: &[u8], format: ObjectFormat) -> bool {
    read(index, format, |raw| (!raw.marked).then_some(())).is_some()
}

/// One entry of an index file: a tracked file and what git saw of it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    /// The path.
    pub path: Vec<u8>,
    /// What the system said of the file, in 32 bits each: change time (seconds, nanoseconds), modification time (the
    /// same), device, inode, mode, owner, group, size. The mode is git's own (e.g. `0o100644`).
    pub stat: [u32; 10],
    /// The content's id.
    pub id: Vec<u8>,
}

impl Tracked {
    /// The mode as git stores it.
    pub fn mode(&self) -> u32 {
        self.stat[6]
    }

    /// True if these bytes are the content as it is stored. False where nobody can say (SHA-256).
    pub fn is_content(&self, bytes: &[u8]) -> bool {
        let id = git2::Oid::hash_object(git2::ObjectType::Blob, bytes);
        id.is_ok_and(|id| id.as_bytes() == self.id)
    }
}

/// Every entry of an index file, in its order; `None` where only git understands it: marks, several stages of a path,
/// entries without content, and whatever [`has_no_marks`] does not read.
pub fn entries(index: &[u8], format: ObjectFormat) -> Option<Vec<Tracked>> {
    let mut all: Vec<Tracked> = Vec::new();
    read(index, format, |raw| {
        if raw.marked || raw.staged || raw.intended {
            return None;
        }
        let kept = all.last().map_or(&[][..], |last| &last.path[..]);
        let kept = kept.len().checked_sub(raw.dropped.unwrap_or(kept.len())).map(|length| &kept[..length])?;
        let path = [kept, raw.name].concat();
        let mut stat = raw.stat;
        let mut numbers = [0; 10];
        for number_of in &mut numbers {
            *number_of = number(&mut stat)?;
        }
        all.push(Tracked { path, stat: numbers, id: raw.id.to_vec() });
        Some(())
    })?;
    Some(all)
}

/// Shows every entry, in its order; `None` if one is not wanted or something is not understood.
fn read<'b>(index: &'b [u8], format: ObjectFormat, mut each: impl FnMut(&Raw<'b>) -> Option<()>) -> Option<()> {
    let id = match format {
        ObjectFormat::Sha1 => 20,
        ObjectFormat::Sha256 => 32,
    };
    // The last bytes are the file's own checksum.
    let body = index.len().checked_sub(id).and_then(|end| index.get(..end))?;
    let mut rest = body.strip_prefix(b"DIRC")?;
    let (version, count) = (number(&mut rest)?, number(&mut rest)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    for _ in 0..count {
        let raw = entry(rest, id, version)?;
        each(&raw)?;
        rest = raw.rest;
    }
    while !rest.is_empty() {
        let name = take(&mut rest, 4)?;
        // A lower-case letter first: what cannot be understood without it (`link`, `sdir`).
        if !name[0].is_ascii_uppercase() {
            return None;
        }
        let size = usize::try_from(number(&mut rest)?).ok()?;
        take(&mut rest, size)?;
    }
    Some(())
}

/// An entry as it stands in the file.
struct Raw<'b> {
    stat: &'b [u8],
    id: &'b [u8],
    /// Git does not look at the file.
    marked: bool,
    /// One of several sides of a merge.
    staged: bool,
    /// Announced only, without content.
    intended: bool,
    /// How many bytes at the end of the name before are replaced by this one; `None`: all.
    dropped: Option<usize>,
    name: &'b [u8],
    /// What follows.
    rest: &'b [u8],
}

fn entry(whole: &[u8], id: usize, version: u32) -> Option<Raw<'_>> {
    let mut rest = whole;
    let (stat, id) = (take(&mut rest, STAT)?, take(&mut rest, id)?);
    let flags = short(&mut rest)?;
    let further = if version > 2 && flags & EXTENDED != 0 { short(&mut rest)? } else { 0 };
    let marked =
        flags & ASSUME_UNCHANGED != 0 || further & SKIP_WORKTREE != 0 || (version == 2 && flags & EXTENDED != 0);
    let dropped = if version == 4 { Some(dropped(&mut rest)?) } else { None };
    let length = match flags & LENGTH {
        short if version != 4 && short < LENGTH => usize::from(short),
        _ => rest.iter().position(|byte| *byte == 0)?,
    };
    let name = take(&mut rest, length)?;
    if name.contains(&0) {
        return None;
    }
    // One zero ends the name; older versions fill up to a multiple of eight.
    let used = whole.len() - rest.len();
    let fill = if version == 4 { 1 } else { 8 - used % 8 };
    let zeros = take(&mut rest, fill)?.iter().all(|byte| *byte == 0);
    let (staged, intended) = (flags & STAGE != 0, further & INTENT_TO_ADD != 0);
    zeros.then_some(Raw { stat, id, marked, staged, intended, dropped, name, rest })
}

/// How much of the name before is dropped: seven bits a byte, the last without the eighth; each further byte adds one.
fn dropped(rest: &mut &[u8]) -> Option<usize> {
    let mut byte = take(rest, 1)?[0];
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = take(rest, 1)?[0];
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some(value)
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    take(rest, 4)?.try_into().ok().map(u32::from_be_bytes)
}

fn short(rest: &mut &[u8]) -> Option<u16> {
    take(rest, 2)?.try_into().ok().map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    #[expect(clippy::disallowed_methods, reason = "git makes the samples")]
    fn git(folder: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(folder).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let done = command.output().unwrap();
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn sample(format: &str, version: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q", "--object-format", format]);
        let names = ["a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh", "caf\u{e9}"];
        for name in names {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let long = vec!["l".repeat(250); 17].join("/");
        std::fs::create_dir_all(folder.path().join(Path::new(&long[..long.len() - 251]))).unwrap();
        std::fs::write(folder.path().join("zz"), "z").unwrap();
        git(folder.path(), &["add", "-A"]);
        git(folder.path(), &["update-index", "--index-version", version]);
        git(folder.path(), &["write-tree"]);
        // A name too long for the twelve bits of its length.
        let id = if format == "sha256" { "1".repeat(64) } else { "1".repeat(40) };
        git(folder.path(), &["update-index", "--add", "--cacheinfo", &format!("100644,{id},{long}")]);
        folder
    }

    fn is_plain(folder: &tempfile::TempDir, format: ObjectFormat) -> bool {
        has_no_marks(&std::fs::read(folder.path().join(".git/index")).unwrap(), format)
    }

    #[test]
    fn every_version_and_both_formats_are_read_and_a_mark_is_seen() {
        for (word, format) in [("sha1", ObjectFormat::Sha1), ("sha256", ObjectFormat::Sha256)] {
            for version in ["2", "4"] {
                let folder = sample(word, version);
                assert!(is_plain(&folder, format), "{word}, version {version}");
                for (mark, undo) in [
                    ("--assume-unchanged", "--no-assume-unchanged"),
                    // Also turns version 2 into version 3.
                    ("--skip-worktree", "--no-skip-worktree"),
                ] {
                    git(folder.path(), &["update-index", mark, "zz"]);
                    assert!(!is_plain(&folder, format), "{word}, version {version}, {mark}");
                    git(folder.path(), &["update-index", undo, "zz"]);
                    assert!(is_plain(&folder, format), "{word}, version {version}, {undo}");
                }
                std::fs::write(folder.path().join("later"), "").unwrap();
                git(folder.path(), &["add", "-N", "later"]);
                assert!(is_plain(&folder, format), "{word}, version {version}: intent to add is no mark");
            }
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "git lists the entries to compare with")]
    fn every_entry_is_read_as_git_lists_it() {
        for (word, format) in [("sha1", ObjectFormat::Sha1), ("sha256", ObjectFormat::Sha256)] {
            for version in ["2", "4"] {
                let folder = sample(word, version);
                let read = || entries(&std::fs::read(folder.path().join(".git/index")).unwrap(), format);
                let listed = Command::new("git").current_dir(folder.path()).args(["ls-files", "-s", "-z"]).output();
                let mut ours = Vec::new();
                for entry in read().unwrap() {
                    let id: String = entry.id.iter().map(|byte| format!("{byte:02x}")).collect();
                    ours.extend_from_slice(format!("{:06o} {id} 0\t", entry.mode()).as_bytes());
                    ours.extend_from_slice(&[&entry.path[..], b"\0"].concat());
                }
                assert!(ours == listed.unwrap().stdout, "{word}, version {version}");
                let sized = read().unwrap().into_iter().find(|entry| entry.path == b"abc").unwrap();
                assert_eq!(sized.stat[9], 3, "its size");
                assert_eq!(sized.is_content(b"abc"), format == ObjectFormat::Sha1);
                assert!(!sized.is_content(b"abd"));
                std::fs::write(folder.path().join("later"), "").unwrap();
                git(folder.path(), &["add", "-N", "later"]);
                assert_eq!(read(), None, "{word}, version {version}: an entry without content");
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_left_to_git() {
        let folder = sample("sha1", "2");
        let whole = std::fs::read(folder.path().join(".git/index")).unwrap();
        for cut in [0, 3, 11, 12, 40, 73, whole.len() - 21, whole.len() - 1] {
            assert!(!has_no_marks(&whole[..cut], ObjectFormat::Sha1), "cut at {cut}");
        }
        assert!(!has_no_marks(&whole, ObjectFormat::Sha256), "another format");
        let mut version = whole.clone();
        version[7] = 5;
        assert!(!has_no_marks(&version, ObjectFormat::Sha1), "another version");
        git(folder.path(), &["update-index", "--split-index"]);
        assert!(!is_plain(&folder, ObjectFormat::Sha1), "a split index has its entries elsewhere");
    }
}
