//! What leads a test run out of its room, back to a checkout of this repository: found without running anything.

use super::memory::program;
use crate::floor::tests_run::{Runner, TestCommand};
use crate::floor::{Inspection, LARGEST_READ};
use crate::host::git::{Entry, EntryKind, GitError, Repo};
use crate::host::path::{RepoPath, escape};
use crate::host::room;
use regex::bytes::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// At most this many files of settings, or of one package folder, are read.
const MOST_FILES: usize = 400;
/// At most this many entries of one package folder are looked at.
const MOST_ENTRIES: usize = 20_000;

/// Something that leads out of the room.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pointer {
    from: String,
    to: PathBuf,
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.from, escape(self.to.as_os_str().as_bytes()))
    }
}

/// Everything found for one command, sorted.
pub(super) fn find(
    on: &Inspection<'_>,
    entries: &BTreeMap<RepoPath, Entry>,
    command: &TestCommand,
) -> Result<Vec<Pointer>, GitError> {
    let search = Search { checkouts: checkouts(on.repo), changed: changed(on) };
    let mut found = BTreeSet::new();
    search.in_text(&format!("`{}`", escape(command.command.as_bytes())), command.command.as_bytes(), &mut found);
    let mut read = 0;
    for (path, entry) in entries {
        let is_link = entry.kind() == EntryKind::Link;
        if !is_link && (!is_settings(path) || read >= MOST_FILES) {
            continue;
        }
        let Some(blob) = entry.blob() else { continue };
        let (text, _) = on.repo.blob(&blob, LARGEST_READ)?;
        if is_link {
            search.add(&path.to_string(), Path::new(OsStr::from_bytes(&text)), &mut found);
        } else {
            read += 1;
            search.in_text(&path.to_string(), &text, &mut found);
        }
    }
    for folder in package_folders(on, command) {
        search.in_packages(&folder, &mut found);
    }
    if matches!(command.runner, Runner::CargoTest | Runner::Nextest) {
        for file in cargo_settings(on.repo) {
            search.in_text(&file.display().to_string(), &fs::read(&file).unwrap_or_default(), &mut found);
        }
    }
    Ok(found.into_iter().collect())
}

/// Links below `node_modules` of a room that is set up, where they leave it.
pub(super) fn links(room: &Path, root: &RepoPath) -> Vec<Pointer> {
    let Ok(room) = room.canonicalize() else { return Vec::new() };
    let mut found = Vec::new();
    let mut folders = vec![room.join(root.to_path_buf()).join("node_modules")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            let path = entry.path();
            let scope = entry.file_name().as_bytes().starts_with(b"@");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && scope => folders.push(path),
                Ok(kind) if kind.is_symlink() => {
                    let target = path.canonicalize().ok().filter(|target| !target.starts_with(&room));
                    let from = path.strip_prefix(&room).unwrap_or(&path).display().to_string();
                    found.extend(target.map(|to| Pointer { from, to }));
                }
                _ => {}
            }
        }
    }
    found
}

struct Search {
    checkouts: Vec<PathBuf>,
    changed: Vec<PathBuf>,
}

impl Search {
    /// Keeps what leads into a checkout of this repository, or to a folder that holds one of the changed files.
    fn add(&self, from: &str, to: &Path, found: &mut BTreeSet<Pointer>) {
        let Some(real) = Some(to).filter(|to| to.is_absolute()).and_then(|to| to.canonicalize().ok()) else { return };
        let ours = self.checkouts.iter().any(|checkout| real.starts_with(checkout));
        if ours || self.changed.iter().any(|file| holds(&real, file)) {
            found.insert(Pointer { from: from.to_owned(), to: real });
        }
    }

    /// Every absolute path in a text.
    fn in_text(&self, from: &str, text: &[u8], found: &mut BTreeSet<Pointer>) {
        for path in absolute_paths(text) {
            self.add(from, Path::new(OsStr::from_bytes(path)), found);
        }
    }

    /// What python's start-up files and editable installs add to the import path.
    fn in_packages(&self, folder: &Path, found: &mut BTreeSet<Pointer>) {
        let mut read = 0;
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            let name = entry.file_name();
            let name = name.as_bytes();
            let path = entry.path();
            let from = path.display().to_string();
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                self.add(&from, &path.canonicalize().unwrap_or_default(), found);
            }
            let editable = name.starts_with(b"__editable__") || name.ends_with(b".egg-link");
            if (!editable && !name.ends_with(b".pth")) || read >= MOST_FILES {
                continue;
            }
            let Ok(meta) = path.metadata() else { continue };
            if meta.is_file() && meta.len() <= LARGEST_READ {
                read += 1;
                let text = fs::read(&path).unwrap_or_default();
                for line in text.split(|b| *b == b'\n') {
                    self.add(&from, Path::new(OsStr::from_bytes(line.trim_ascii())), found);
                }
                self.in_text(&from, &text, found);
            }
        }
    }
}

/// True if the folder holds a file of this name and place; the file's own name alone is no likeness.
fn holds(folder: &Path, file: &Path) -> bool {
    let parts: Vec<_> = file.components().collect();
    (0..parts.len().saturating_sub(1)).any(|skip| folder.join(parts[skip..].iter().collect::<PathBuf>()).is_file())
}

/// The worktrees of this repository that are no rooms.
fn checkouts(repo: &Repo) -> Vec<PathBuf> {
    let common = repo.common_dir();
    let mut found = vec![repo.top().to_owned()];
    if common.file_name() == Some(OsStr::new(".git")) {
        found.extend(common.parent().map(Path::to_owned));
    }
    for entry in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
        let gitdir = fs::read(entry.path().join("gitdir")).unwrap_or_default();
        found.extend(Path::new(OsStr::from_bytes(gitdir.trim_ascii())).parent().map(Path::to_owned));
    }
    let rooms = room::pool(repo);
    let rooms = rooms.canonicalize().unwrap_or(rooms);
    let real = found.into_iter().filter_map(|path| path.canonicalize().ok());
    let real: BTreeSet<PathBuf> = real.filter(|path| !path.starts_with(&rooms) && path.parent().is_some()).collect();
    real.into_iter().collect()
}

fn changed(on: &Inspection<'_>) -> Vec<PathBuf> {
    on.claim.changed.iter().map(|change| change.path.to_path_buf()).take(MOST_FILES).collect()
}

/// Files in which a tool is told where to look.
fn is_settings(path: &RepoPath) -> bool {
    const NAMES: &[&str] = &[
        "Cargo.toml",
        "package.json",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "tox.ini",
        "pytest.ini",
        "conftest.py",
        "go.mod",
        "go.work",
        "Makefile",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        "pnpm-workspace.yaml",
        "Gemfile",
        ".env",
        "composer.json",
        "settings.gradle",
        "settings.gradle.kts",
        "sitecustomize.py",
    ];
    let Some(text) = path.as_str() else { return false };
    let name = text.rsplit('/').next().unwrap_or(text);
    let is_foreign = text.split('/').any(|part| matches!(part, "node_modules" | "vendor" | "third_party"));
    let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_config = name.contains(".config.")
        || (stem.starts_with("tsconfig") && end == "json")
        || (stem.starts_with("requirements") && end == "txt")
        || text == ".cargo/config.toml"
        || text.ends_with("/.cargo/config.toml")
        || end == "pth";
    !is_foreign && (is_config || NAMES.contains(&name))
}

/// Where the command's python finds installed packages.
fn package_folders(on: &Inspection<'_>, command: &TestCommand) -> BTreeSet<PathBuf> {
    let env = &on.repo.host().env;
    let search = env.get("PATH").map(OsStr::as_bytes).unwrap_or_default();
    let mut prefixes = Vec::new();
    for word in command.command.split_whitespace() {
        let name = word.rsplit('/').next().unwrap_or(word).trim_matches(['"', '\'']);
        if !["python", "pytest", "py.test", "tox", "nox"].iter().any(|known| name.starts_with(known)) {
            continue;
        }
        let Some(found) = program(word, search) else { continue };
        for file in [found.clone(), found.canonicalize().unwrap_or_default()] {
            prefixes.extend(file.parent().and_then(Path::parent).map(Path::to_owned));
            if file.parent().and_then(Path::file_name) == Some(OsStr::new("shims")) {
                let versions = file.parent().and_then(Path::parent).map(|top| top.join("versions"));
                let versions = versions.and_then(|versions| fs::read_dir(versions).ok());
                prefixes.extend(versions.into_iter().flatten().flatten().map(|version| version.path()));
            }
        }
        let base = env.text("PYTHONUSERBASE").map(PathBuf::from);
        prefixes.extend(base.or_else(|| env.text("HOME").map(|home| Path::new(home).join(".local"))));
    }
    let mut folders = BTreeSet::new();
    for prefix in prefixes {
        for lib in ["lib", "lib64", "local/lib"] {
            for entry in fs::read_dir(prefix.join(lib)).into_iter().flatten().flatten() {
                if entry.file_name().as_bytes().starts_with(b"python") {
                    let inner = ["site-packages", "dist-packages"].map(|name| entry.path().join(name));
                    folders.extend(inner.into_iter().filter_map(|folder| folder.canonicalize().ok()));
                }
            }
        }
    }
    folders
}

/// The user's own cargo settings, and those in the folders above the rooms.
fn cargo_settings(repo: &Repo) -> Vec<PathBuf> {
    let env = &repo.host().env;
    let home = env.text("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env.text("HOME").map(|home| Path::new(home).join(".cargo")));
    let pool = room::pool(repo);
    let above = pool.ancestors().map(|folder| folder.join(".cargo"));
    let folders = home.into_iter().chain(above);
    folders.flat_map(|folder| [folder.join("config.toml"), folder.join("config")]).filter(|f| f.is_file()).collect()
}

/// The absolute paths in a text, each ending where quotes, blanks or brackets do.
fn absolute_paths(text: &[u8]) -> Vec<&[u8]> {
    let Ok(pattern) = Regex::new(r#"(?-u)(?:^|[\s"'=(\[{,:`])(?://)?(/[^/\s"'`,;:)\]}\\][^\s"'`,;:)\]}\\]*)"#) else {
        return Vec::new();
    };
    pattern.captures_iter(text).filter_map(|found| found.get(1)).map(|path| path.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_are_found_in_each_tools_own_words() {
        for (text, paths) in [
            ("pkg = { path = \"/main/pkg\" }", vec!["/main/pkg"]),
            ("\"pkg\": \"file:///main/pkg\", \"b\": \"link:/main/b\"", vec!["/main/pkg", "/main/b"]),
            ("-e /main\n/main/src", vec!["/main", "/main/src"]),
            ("replace x => /main/x", vec!["/main/x"]),
            ("MAPPING: dict = {'pkg': '/main/src/pkg'}", vec!["/main/src/pkg"]),
            ("PYTHONPATH=/main/src:/other pytest", vec!["/main/src", "/other"]),
            ("a/b ../c ./d http://host/x", vec![]),
        ] {
            let found: Vec<_> = absolute_paths(text.as_bytes()).into_iter().map(String::from_utf8_lossy).collect();
            assert_eq!(found, paths, "{text}");
        }
    }

    #[test]
    fn only_what_leads_to_a_checkout_or_a_copy_of_the_changed_file_counts() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        for folder in ["main/src", "copy/src/pkg", "other/pkg2", "site"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        fs::write(top.join("copy/src/pkg/f.py"), "").unwrap();
        let path = |name: &str| top.join(name).display().to_string();
        fs::write(top.join("site/__editable__.pkg.pth"), path("main/src")).unwrap();
        fs::write(top.join("site/old.egg-link"), format!("{}\n.\n", path("copy/src"))).unwrap();
        fs::write(top.join("site/other.pth"), format!("{}\nimport x\n", path("other"))).unwrap();
        fs::write(top.join("site/module.py"), path("main/src")).unwrap();
        let search = Search { checkouts: vec![top.join("main")], changed: vec![PathBuf::from("src/pkg/f.py")] };
        let mut found = BTreeSet::new();
        search.in_packages(&top.join("site"), &mut found);
        let targets: Vec<_> = found.iter().map(|pointer| pointer.to.clone()).collect();
        assert_eq!(targets, [top.join("main/src"), top.join("copy/src")]);
        assert!(found.iter().next().unwrap().to_string().contains("__editable__.pkg.pth → "));
    }
}
