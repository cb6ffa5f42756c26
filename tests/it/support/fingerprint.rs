//! Everything of a repository that a judgement must leave as it was.

use super::TestRepo;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Files beyond this size are known by size, dates and their two ends: reading them whole would be the slowest part of
/// the tests that need them.
const READ_WHOLE: u64 = 64 << 20;

/// References that are ours to write.
const OURS: [&str; 2] = ["refs/countersign/", "refs/notes/countersign"];

/// The index, HEAD, references, stash, configuration, hooks and files of every worktree, each known by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint(BTreeMap<String, String>);

impl TestRepo {
    /// The state now. Reads only: nothing here refreshes an index.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut parts = BTreeMap::new();
        for line in self.git(&["for-each-ref", "--format=%(refname) %(objectname) %(symref)"]).lines() {
            if !OURS.iter().any(|ours| line.starts_with(ours)) {
                let (name, rest) = line.split_once(' ').unwrap();
                parts.insert(format!("ref {name}"), rest.to_owned());
            }
        }
        let common = self.common_dir();
        for name in ["HEAD", "index", "config", "config.worktree", "logs/refs/stash", "logs/HEAD"] {
            add(&mut parts, "git", &common, &common.join(name));
        }
        for folder in ["hooks", "info"] {
            add_all(&mut parts, "git", &common, &common.join(folder), &common.join("nothing"));
        }
        // The pool's rooms are ours; every other worktree is the user's or a worker's.
        for worktree in std::fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
            let place = worktree.path();
            let file = std::fs::read(place.join("gitdir")).unwrap_or_default();
            let pool = b"/countersign/rooms/";
            if !file.windows(pool.len()).any(|part| part == pool) {
                for name in ["HEAD", "index", "config.worktree", "gitdir", "locked"] {
                    add(&mut parts, "git", &common, &place.join(name));
                }
            }
        }
        add_all(&mut parts, "file", &self.path(), &self.path(), &common);
        Fingerprint(parts)
    }
}

impl Fingerprint {
    /// Asserts that nothing differs, and names what does.
    pub(crate) fn assert_unchanged(&self, after: &Self) {
        let different = self.differences(after);
        assert!(different.is_empty(), "changed under the user's hands: {different:#?}");
    }

    /// What differs, one line each.
    pub(crate) fn differences(&self, after: &Self) -> Vec<String> {
        let names: std::collections::BTreeSet<_> = self.0.keys().chain(after.0.keys()).collect();
        let show = |value: Option<&String>| value.map_or("absent", String::as_str).to_owned();
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != after.0.get(*name))
            .map(|name| format!("{name}: {} became {}", show(self.0.get(name)), show(after.0.get(name))))
            .collect()
    }
}

fn add_all(parts: &mut BTreeMap<String, String>, sort: &str, top: &Path, folder: &Path, except: &Path) {
    let walk = walkdir::WalkDir::new(folder).min_depth(1).into_iter().filter_entry(|entry| entry.path() != except);
    for entry in walk.filter_map(Result::ok) {
        add(parts, sort, top, entry.path());
    }
}

fn add(parts: &mut BTreeMap<String, String>, sort: &str, top: &Path, path: &Path) {
    let Ok(about) = path.symlink_metadata() else { return };
    let name = format!("{sort} {}", path.strip_prefix(top).unwrap().display());
    // Escaped only for people; two names that print alike must not become one.
    let raw = short(path.as_os_str().as_bytes());
    parts.insert(format!("{name} [{raw}]"), format!("{:o} {}", about.mode(), content(path, &about)));
}

fn content(path: &Path, about: &Metadata) -> String {
    if about.is_symlink() {
        return short(std::fs::read_link(path).unwrap().as_os_str().as_bytes());
    }
    if !about.is_file() {
        return String::new();
    }
    if about.len() <= READ_WHOLE {
        return std::fs::read(path).map_or_else(|why| why.to_string(), |bytes| short(&bytes));
    }
    let file = std::fs::File::open(path).unwrap();
    let mut ends = vec![0; 2 << 20];
    let (head, tail) = ends.split_at_mut(1 << 20);
    file.read_exact_at(head, 0).unwrap();
    file.read_exact_at(tail, about.len() - (1 << 20)).unwrap();
    format!("{} bytes, {}.{:09}, {}", about.len(), about.mtime(), about.mtime_nsec(), short(&ends))
}

fn short(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_fingerprint_sees_each_thing_that_must_not_change_and_nothing_that_may() {
    let repo = TestRepo::new();
    repo.add_worktree("w-001");
    let before = repo.fingerprint();
    repo.git(&["update-ref", "refs/countersign/claims/w-001/1", "HEAD"]);
    before.assert_unchanged(&repo.fingerprint());

    let mut last = before;
    let mut changes = |words: &str| {
        let now = repo.fingerprint();
        let found = last.differences(&now).join("\n");
        assert!(found.contains(words), "`{words}` should have changed, found: {found}");
        last = now;
    };
    repo.write("a.txt", "1\n");
    changes("file a.txt");
    repo.git(&["add", "a.txt"]);
    changes("git index");
    repo.git(&["stash", "-q"]);
    changes("ref refs/stash");
    repo.git(&["config", "core.fsmonitor", "evil"]);
    changes("git config");
    std::fs::write(repo.common_dir().join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    changes("git hooks/pre-commit");
    std::fs::write(repo.common_dir().join("info/exclude"), "hidden\n").unwrap();
    changes("git info/exclude");
    repo.git(&["update-ref", "refs/heads/other", "HEAD"]);
    changes("ref refs/heads/other");
    repo.git_in(&repo.path().join(".worktrees/w-001"), &["checkout", "-q", "--detach"]);
    changes("git worktrees/w-001/HEAD");
    repo.git(&["checkout", "-q", "--detach"]);
    changes("git HEAD");
}
