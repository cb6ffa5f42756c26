//! What the machine would run the tests with, as a digest, without starting any of it.
//!
//! A program is known by where its name leads, its size and the time of its last change; asking each for its version
//! would cost more than many test runs. rustup's own programs stay the same while the toolchain behind them changes, so
//! its settings and the list of what it installed count too.

use crate::host::Host;
use crate::host::digest::digest;
use crate::host::git::{GitError, Repo};
use crate::host::path::escape;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Programs that test commands start.
const PROGRAMS: &[&str] = &[
    "cargo",
    "rustc",
    "cargo-nextest",
    "python",
    "python3",
    "pytest",
    "uv",
    "node",
    "npm",
    "npx",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "go",
    "java",
    "mvn",
    "gradle",
    "dotnet",
    "ruby",
    "php",
    "make",
    "cc",
    "bash",
    "sh",
];

/// A digest of what a run depends on besides its tree and command: the tools, the variables that children are given, and
/// what turns a tree's blobs into other bytes on disk.
///
/// # Errors
/// Git cannot read its configuration.
pub fn circumstances(repo: &Repo) -> Result<String, GitError> {
    let host = repo.host();
    let mut parts = vec![fingerprint(host), conversions(repo)?];
    let home = host.env.get("HOME").map(|home| ("HOME".into(), home.to_owned()));
    for (name, value) in host.env.for_child().into_iter().chain(home) {
        parts.push(escape(name.as_encoded_bytes()) + "=" + &escape(value.as_encoded_bytes()));
    }
    Ok(digest(parts.join("\n").as_bytes()))
}

/// Filters and line ends outside the tree: the same tree is another set of files under others.
fn conversions(repo: &Repo) -> Result<String, GitError> {
    let names = r"^(filter\..*|core\.(autocrlf|eol|safecrlf|attributesfile))$";
    let mut found = repo.git().run_unchecked(["config", "-z", "--get-regexp", names])?.stdout;
    let own = repo.common_dir().join("info/attributes");
    let named = String::from_utf8_lossy(&found).into_owned();
    let named = named.split('\0').filter_map(|entry| entry.strip_prefix("core.attributesfile\n")).map(PathBuf::from);
    for file in named.chain([own]) {
        found.extend(identity(&file).unwrap_or_default().into_bytes());
        found.push(0);
    }
    Ok(digest(&found))
}

/// A digest that changes with the tools.
fn fingerprint(host: &Host) -> String {
    let mut found = String::new();
    let path = host.env.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let folders: Vec<&Path> = path.as_bytes().split(|b| *b == b':').map(|f| Path::new(OsStr::from_bytes(f))).collect();
    for program in PROGRAMS {
        if let Some(file) = folders.iter().map(|folder| folder.join(program)).find(|file| file.is_file()) {
            describe(&file, &mut found);
        }
    }
    let home = |name: &str, folder: &str| {
        let set = host.env.text(name).map(PathBuf::from);
        set.or_else(|| host.env.text("HOME").map(|home| Path::new(home).join(folder)))
    };
    if let Some(rustup) = home("RUSTUP_HOME", ".rustup") {
        describe(&rustup.join("settings.toml"), &mut found);
        for entry in std::fs::read_dir(rustup.join("update-hashes")).into_iter().flatten().flatten() {
            describe(&entry.path(), &mut found);
        }
    }
    let mut lines: Vec<&str> = found.lines().collect();
    lines.sort_unstable();
    digest(lines.join("\n").as_bytes())
}

fn describe(file: &Path, into: &mut String) {
    into.extend(identity(file).into_iter().map(|line| line + "\n"));
}

/// What a program is known by; none if it is not there.
pub(in crate::floor) fn identity(file: &Path) -> Option<String> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let meta = std::fs::metadata(&real).ok()?;
    let [name, real] = [file, &real].map(|path| escape(path.as_os_str().as_bytes()));
    Some(format!("{name} {real} {} {}.{}", meta.len(), meta.mtime(), meta.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{cancel::Cancel, clock::Clock, env::Env};

    #[test]
    fn another_program_under_the_same_name_is_another_toolchain() {
        let folder = tempfile::tempdir().unwrap();
        let host = |path: &str| Host {
            git: "git".into(),
            helper: "none".into(),
            scratch: folder.path().to_owned(),
            env: Env::of([("PATH", path), ("HOME", "/nonexistent")]),
            clock: Clock::System,
            cancel: Cancel::new(),
        };
        let here = folder.path().to_string_lossy().into_owned();
        let none = fingerprint(&host(&here));
        std::fs::write(folder.path().join("node"), "one").unwrap();
        let one = fingerprint(&host(&here));
        assert_eq!(one, fingerprint(&host(&format!("/nonexistent:{here}"))));
        std::fs::write(folder.path().join("node"), "another").unwrap();
        let other = fingerprint(&host(&here));
        assert!(none != one && one != other && none != other);
    }
}
