//! Which paths are tests, by each language's habit.

use super::lexed::Syntax;
use crate::host::path::RepoPath;

/// What a path alone says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    Test,
    Configuration,
    Snapshot,
    /// Source of this kind; what it holds decides the rest.
    Source,
    Other,
}

/// How a file's language is read; none for what is no program.
pub(in crate::floor) fn syntax_of(path: &RepoPath) -> Option<Syntax> {
    let name = String::from_utf8_lossy(path.file_name()).to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.')?;
    if stem.is_empty() {
        return None;
    }
    Some(match extension {
        "rs" => Syntax::Rust,
        "py" | "pyi" => Syntax::Python,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Syntax::JavaScript,
        "go" => Syntax::Go,
        "java" | "kt" | "kts" | "scala" | "cs" | "php" | "swift" | "c" | "cc" | "cpp" | "cxx" | "h" | "hpp"
        | "dart" | "groovy" | "zig" => Syntax::Braces,
        "rb" | "sh" | "bash" | "bats" | "ex" | "exs" | "pl" | "t" => Syntax::Hash,
        _ => return None,
    })
}

/// What the path says of the file.
pub(super) fn habit(path: &RepoPath) -> Habit {
    let text = String::from_utf8_lossy(path.as_bytes()).into_owned();
    let (folders, name) = text.rsplit_once('/').unwrap_or(("", &text));
    let folders: Vec<&str> = folders.split('/').collect();
    if is_snapshot(&folders, name) {
        Habit::Snapshot
    } else if is_configuration(&text, name) {
        Habit::Configuration
    } else {
        match syntax_of(path) {
            Some(syntax) if is_test(syntax, &folders, name) => Habit::Test,
            Some(_) => Habit::Source,
            None => Habit::Other,
        }
    }
}

/// Fixtures and helpers: whatever a folder of tests holds.
pub(in crate::floor) fn is_among_tests(path: &RepoPath) -> bool {
    const FOLDERS: &[&[u8]] = &[
        b"test",
        b"tests",
        b"__tests__",
        b"spec",
        b"specs",
        b"testdata",
        b"test-data",
        b"test_data",
        b"fixtures",
        b"__fixtures__",
        b"__mocks__",
    ];
    let mut folders: Vec<&[u8]> = path.as_bytes().split(|b| *b == b'/').collect();
    folders.pop();
    folders.iter().any(|folder| FOLDERS.contains(folder))
}

fn is_snapshot(folders: &[&str], name: &str) -> bool {
    const FOLDERS: &[&str] =
        &["__snapshots__", "__image_snapshots__", "snapshots", "golden", "goldens", "goldenfiles", "cassettes"];
    const ENDS: &[&str] = &[".snap", ".snap.new", ".golden", ".approved.txt", ".approved.json", ".ambr"];
    folders.iter().any(|folder| FOLDERS.contains(folder))
        || ENDS.iter().any(|end| name.ends_with(end))
        || name.contains(".golden.")
        || name.contains(".approved.")
        || folders.iter().any(|folder| matches!(*folder, "tests" | "test" | "testdata" | "__tests__"))
            && (folders.contains(&"expected") || name.ends_with(".expected"))
}

/// What chooses a runner's shell, a toolchain's version, or what an interpreter loads before anything else.
const START_UP: &[&str] = &[
    ".npmrc",
    ".pnpmrc",
    ".pnpmfile.cjs",
    ".nvmrc",
    ".node-version",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    ".envrc",
    "rust-toolchain",
    "rust-toolchain.toml",
    "bunfig.toml",
    ".bunfig.toml",
    "sitecustomize.py",
    "usercustomize.py",
];

/// True for a file that chooses what a runner or an interpreter starts with, in whichever folder.
pub(in crate::floor) fn is_start_up(name: &str) -> bool {
    START_UP.contains(&name) || name.starts_with(".yarnrc")
}

fn is_configuration(path: &str, name: &str) -> bool {
    const NAMES: &[&str] = &[
        "conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "noxfile.py",
        ".coveragerc",
        "setup.cfg",
        "nextest.toml",
        "clippy.toml",
        ".clippy.toml",
        "tarpaulin.toml",
        "phpunit.xml",
        "phpunit.xml.dist",
        ".rspec",
        "codecov.yml",
        ".codecov.yml",
        "Makefile",
        "makefile",
        "GNUmakefile",
        "justfile",
        "Justfile",
        ".justfile",
        "Taskfile.yml",
        "Taskfile.yaml",
        "Rakefile",
        "package.json",
        "pyproject.toml",
        "Cargo.toml",
        "Jenkinsfile",
        ".gitlab-ci.yml",
        ".travis.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "ruff.toml",
        ".ruff.toml",
        "mypy.ini",
        ".golangci.yml",
        ".golangci.yaml",
        "deno.json",
    ];
    const STEMS: &[&str] = &[
        ".mocharc",
        ".nycrc",
        ".c8rc",
        ".taprc",
        ".eslintrc",
        "eslint.config.",
        "jest.config.",
        "jest.setup.",
        "karma.conf.",
        "playwright.config.",
        "vitest.config.",
        "vitest.workspace.",
        "vitest.setup.",
        "vite.config.",
        "ava.config.",
        "cypress.config.",
        "tsconfig.",
        "setupTests.",
    ];
    const UNDER: &[&str] = &[
        ".github/workflows/",
        ".github/actions/",
        ".circleci/",
        ".gitea/workflows/",
        ".forgejo/workflows/",
        ".buildkite/",
        ".woodpecker/",
        ".cargo/",
        ".config/nextest",
    ];
    NAMES.contains(&name)
        || is_start_up(name)
        || STEMS.iter().any(|stem| name.starts_with(stem))
        || UNDER.iter().any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}")))
}

/// True if runners of that language collect the file, or it stands among tests.
fn is_test(syntax: Syntax, folders: &[&str], name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let within = |names: &[&str]| folders.iter().any(|folder| names.contains(folder));
    let ends = |ends: &[&str]| ends.iter().any(|end| stem.ends_with(end));
    match syntax {
        Syntax::Rust => within(&["tests"]) || matches!(stem, "tests" | "test") || ends(&["_test", "_tests"]),
        Syntax::Python => {
            stem.starts_with("test_") || ends(&["_test"]) || stem == "tests" || within(&["tests", "test"])
        }
        Syntax::JavaScript => {
            ends(&[".test", ".spec", "-test", "_test", ".cy", ".e2e"])
                || within(&["__tests__", "test", "tests", "spec", "specs"])
                || stem == "test"
                || stem.starts_with("test-")
        }
        Syntax::Go => ends(&["_test"]),
        Syntax::Braces => {
            within(&["test", "tests", "androidTest", "commonTest"])
                || ends(&["Test", "Tests", "TestCase", "IT", "Spec", "_test", "_tests", "_unittest"])
                || folders.iter().any(|folder| folder.ends_with(".Tests") || folder.ends_with(".Test"))
        }
        Syntax::Hash => {
            ends(&["_spec", "_test"])
                || stem.starts_with("test_")
                || matches!(name.rsplit('.').next(), Some("bats" | "t"))
                || within(&["spec", "test", "tests"])
        }
    }
}
