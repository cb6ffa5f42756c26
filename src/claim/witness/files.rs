//! Files that assertions name: whether they are there, and whether they differ from the start.

use super::{Scene, Witness};
use crate::host::digest::digest;
use crate::host::git::{Change, ChangeKind, GitError, Repo};
use crate::host::path::RepoPath;
use crate::worker::Assertion;
use regex::bytes::RegexBuilder;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file larger than this is not read for its content.
const LARGEST: u64 = 16 << 20;

/// How many files may fit a bare name.
const MOST_FITTING: usize = 20;

/// Where a path that an assertion names was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the tree, now or at the start.
    Tree(RepoPath),
    /// In the worktree, but ignored by git or empty as a folder.
    Beside(PathBuf),
    /// Outside the worktree.
    Outside(PathBuf),
    /// Several files have this name.
    Ambiguous(Vec<RepoPath>),
    /// Nowhere.
    Nowhere,
}

/// Whether a text occurs in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The file was not read.
    Unread,
}

/// A path that an assertion names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNow {
    /// Where it was found.
    pub place: Place,
    /// True if something is there now.
    pub exists: bool,
    /// True if that is a folder.
    pub folder: bool,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last written, in milliseconds since 1970 UTC.
    pub modified: Option<i64>,
    /// How it differs from the start: none if it does not, or if the start cannot tell.
    pub change: Option<ChangeKind>,
    /// True if the start has it.
    pub at_start: bool,
    /// Whether the expected text occurs in it.
    pub contains: Holds,
    /// SHA-256 of its bytes.
    pub sha256: Option<String>,
    /// Whether its bytes are those of the file it is compared with.
    pub same_as_other: Option<bool>,
}

impl FileNow {
    fn nowhere(place: Place) -> Self {
        Self {
            place,
            exists: false,
            folder: false,
            bytes: 0,
            modified: None,
            change: None,
            at_start: false,
            contains: Holds::Unread,
            sha256: None,
            same_as_other: None,
        }
    }
}

/// A list of items and how many of them are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counted {
    /// Boxes of a list, or matches of a pattern.
    Items {
        /// Where.
        path: String,
        /// How many are done.
        done: u64,
        /// How many there are.
        total: u64,
        /// How many there were at the start.
        total_at_start: Option<u64>,
    },
    /// Changed files.
    Files {
        /// How many.
        changed: u64,
    },
    /// Nothing here can be counted.
    Nothing {
        /// Why not.
        why: String,
    },
}

/// When the changed files were last written.
pub(super) fn touched(repo: &Repo, changed: &[Change]) -> BTreeMap<RepoPath, i64> {
    changed
        .iter()
        .filter_map(|change| {
            let found = std::fs::symlink_metadata(repo.top().join(change.path.to_path_buf())).ok()?;
            Some((change.path.clone(), modified(&found)?))
        })
        .collect()
}

fn modified(found: &Metadata) -> Option<i64> {
    let since = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// Looks at a path as an assertion writes it.
pub(super) fn look(scene: &Scene<'_>, witness: &Witness, word: &str, text: Option<&str>) -> Result<FileNow, GitError> {
    let place = find(scene, witness, word)?;
    let on_disk = match &place {
        Place::Tree(path) => scene.repo.top().join(path.to_path_buf()),
        Place::Beside(path) | Place::Outside(path) => path.clone(),
        Place::Ambiguous(_) | Place::Nowhere => return Ok(FileNow::nowhere(place)),
    };
    let mut now = FileNow::nowhere(place);
    if let Place::Tree(path) = &now.place {
        now.at_start = scene.repo.entry(scene.trees.0, path)?.is_some();
        now.change = scene.changed.iter().find_map(|change| {
            let gone = change.from.as_ref() == Some(path);
            if gone { Some(ChangeKind::Deleted) } else { (change.path == *path).then_some(change.kind) }
        });
        let inside = |change: &&Change| path.as_str().is_some_and(|folder| change.path.is_under(folder));
        now.change = now.change.or_else(|| scene.changed.iter().find(inside).map(|_| ChangeKind::Modified));
    }
    // A link counts as what it points to, and one that points nowhere as nothing.
    if let Ok(found) = std::fs::metadata(&on_disk) {
        (now.exists, now.folder, now.bytes) = (true, found.is_dir(), found.len());
        now.modified = modified(&found);
        if found.is_file() && found.len() <= LARGEST {
            let bytes = read(&on_disk);
            now.sha256 = bytes.as_ref().map(|bytes| digest(bytes));
            now.contains = match (text, bytes) {
                (Some(text), Some(bytes)) => {
                    let found = bytes.windows(text.len().max(1)).any(|part| part == text.as_bytes());
                    if found || text.is_empty() { Holds::Yes } else { Holds::No }
                }
                _ => Holds::Unread,
            };
        }
    }
    Ok(now)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether two files have the same bytes; nothing if one of them was not read.
pub(super) fn same(one: &FileNow, other: Option<&FileNow>) -> Option<bool> {
    Some(one.sha256.as_ref()? == other?.sha256.as_ref()?)
}

fn find(scene: &Scene<'_>, witness: &Witness, word: &str) -> Result<Place, GitError> {
    let folder = word.ends_with('/');
    let trimmed = word.trim_end_matches('/');
    let given = match (trimmed.strip_prefix("~/"), &witness.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(trimmed),
    };
    if given.is_absolute() {
        let inside = witness.tops.iter().find_map(|top| given.strip_prefix(top).ok());
        return match inside.map(|path| RepoPath::from_bytes(path.as_os_str().as_encoded_bytes())) {
            Some(path) if path.is_safe() => in_tree(scene, path),
            _ => Ok(Place::Outside(given)),
        };
    }
    let path = RepoPath::from(trimmed.trim_start_matches("./"));
    if !path.is_safe() {
        return Ok(Place::Nowhere);
    }
    let place = in_tree(scene, path.clone())?;
    if place != Place::Nowhere || folder {
        return Ok(place);
    }
    by_ending(scene, &path)
}

fn in_tree(scene: &Scene<'_>, path: RepoPath) -> Result<Place, GitError> {
    for tree in [scene.trees.1, scene.trees.0] {
        if scene.repo.entry(tree, &path)?.is_some() {
            return Ok(Place::Tree(path));
        }
    }
    let on_disk = scene.repo.top().join(path.to_path_buf());
    Ok(if std::fs::symlink_metadata(&on_disk).is_ok() { Place::Beside(on_disk) } else { Place::Nowhere })
}

/// A worker says `parser.rs` and means `src/parser.rs`.
fn by_ending(scene: &Scene<'_>, path: &RepoPath) -> Result<Place, GitError> {
    let ends =
        |other: &RepoPath| other.as_bytes().strip_suffix(path.as_bytes()).is_some_and(|head| head.ends_with(b"/"));
    let changed: Vec<RepoPath> = scene.changed.iter().flat_map(Change::paths).filter(|p| ends(p)).cloned().collect();
    if let [only] = &changed[..] {
        return Ok(Place::Tree(only.clone()));
    }
    let mut fitting: Vec<RepoPath> = Vec::new();
    for tree in [scene.trees.1, scene.trees.0] {
        let listed = scene.repo.list(tree, "")?;
        fitting.extend(listed.into_iter().map(|(path, _)| path).filter(|path| ends(path)).take(MOST_FITTING));
    }
    fitting.sort();
    fitting.dedup();
    Ok(match fitting.len() {
        0 => Place::Nowhere,
        1 => fitting.pop().map_or(Place::Nowhere, Place::Tree),
        _ => Place::Ambiguous(fitting),
    })
}

/// Counts what an assertion counts: matches of its pattern, boxes of the list it names, boxes of the one list here that
/// has so many, or changed files.
pub(super) fn count(scene: &Scene<'_>, witness: &Witness, assertion: &Assertion) -> Result<Counted, GitError> {
    let nothing = |why: String| Ok(Counted::Nothing { why });
    if assertion.subject == "files" {
        return Ok(Counted::Files { changed: scene.changed.len() as u64 });
    }
    let wanted = assertion.expected.count.unwrap_or_default();
    if !assertion.subject.is_empty() {
        return match find(scene, witness, &assertion.subject)? {
            Place::Tree(path) => count_in(scene, &path, assertion.expected.pattern.as_deref()),
            _ => nothing(format!("{} is not in the tree", assertion.subject)),
        };
    }
    let mut lists = Vec::new();
    for (path, _) in scene.repo.list(scene.trees.1, "")?.into_iter().filter(|(path, _)| is_markdown(path)) {
        if let Counted::Items { total, total_at_start, .. } = count_in(scene, &path, None)?
            && (total == wanted || total_at_start == Some(wanted))
        {
            lists.push(path);
        }
    }
    match &lists[..] {
        [only] => count_in(scene, only, None),
        [] => nothing(format!("no list here has {wanted} boxes")),
        _ => nothing(format!("{} lists here have {wanted} boxes", lists.len())),
    }
}

fn is_markdown(path: &RepoPath) -> bool {
    path.as_bytes().to_ascii_lowercase().ends_with(b".md")
}

fn count_in(scene: &Scene<'_>, path: &RepoPath, pattern: Option<&str>) -> Result<Counted, GitError> {
    let pattern = match pattern {
        Some(pattern) => match RegexBuilder::new(pattern).multi_line(true).size_limit(1 << 20).build() {
            Ok(pattern) => Some(pattern),
            Err(why) => return Ok(Counted::Nothing { why: format!("the pattern `{pattern}` is none: {why}") }),
        },
        None => None,
    };
    let of = |bytes: &[u8]| match &pattern {
        Some(pattern) => {
            let found = pattern.find_iter(bytes).count() as u64;
            (found, found)
        }
        None => boxes(bytes),
    };
    let before = scene.repo.file(scene.trees.0, path, LARGEST)?.map(|bytes| of(&bytes).1);
    Ok(match scene.repo.file(scene.trees.1, path, LARGEST)? {
        Some(bytes) => {
            let (done, total) = of(&bytes);
            let total_at_start = if pattern.is_some() { None } else { before };
            Counted::Items { path: path.to_string(), done, total, total_at_start }
        }
        None => Counted::Nothing { why: format!("{path} is gone") },
    })
}

/// Ticked boxes and all boxes.
fn boxes(bytes: &[u8]) -> (u64, u64) {
    let (mut done, mut total) = (0, 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_start();
        let Some(rest) = [b"- [".as_slice(), b"* [", b"+ ["].iter().find_map(|head| line.strip_prefix(*head)) else {
            continue;
        };
        if rest.get(1) == Some(&b']') {
            total += 1;
            done += u64::from(matches!(rest[0], b'x' | b'X'));
        }
    }
    (done, total)
}

/// Where something of this name is installed: a path, a package folder, or a program.
pub(super) fn installed(repo: &Repo, home: Option<&Path>, name: &str) -> Option<String> {
    let top = repo.top();
    let bare = name.trim().trim_end_matches('/');
    let versionless = bare.rsplit_once('@').map_or(bare, |(head, _)| if head.is_empty() { bare } else { head });
    let mut places = Vec::new();
    if bare.contains('/') || bare.contains('.') {
        places.push(match (bare.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => top.join(bare),
        });
    }
    let safe = versionless.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
    if safe {
        places.extend(
            ["node_modules", "vendor", ".venv/bin", "venv/bin"].map(|folder| top.join(folder).join(versionless)),
        );
        let module = versionless.replace('-', "_").to_lowercase();
        for venv in [".venv", "venv"] {
            let libraries = std::fs::read_dir(top.join(venv).join("lib")).into_iter().flatten().flatten();
            places.extend(libraries.map(|entry| entry.path().join("site-packages").join(&module)));
        }
    }
    let found = places.into_iter().find(|place| place.exists()).or_else(|| repo.host().env.program(versionless));
    found.map(|place| place.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_counted_with_and_without_a_tick() {
        assert_eq!(boxes(b"- [x] a\n  * [ ] b\n+ [X] c\n- [link](x)\n- [-] d\ntext [x]\n"), (2, 4));
    }
}
