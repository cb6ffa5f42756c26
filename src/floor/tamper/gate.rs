//! What judges a claim beside us: the verifier's prompt, CI, hooks, runner and linter settings.

use super::python;
use crate::floor::Inspection;
use crate::floor::bookkeeping::{Page, page};
use crate::floor::finding::{ask, deny, unreadable};
use crate::floor::reading::text_or_empty;
use crate::floor::skip_eligible::commands;
use crate::floor::test_files::is_start_up;
use crate::host::git::{Change, GitError};
use crate::host::path::RepoPath;
use crate::receipts::Finding;

pub(super) fn look(on: &Inspection<'_>) -> Vec<Finding> {
    let mut findings = named(on);
    for change in on.claim.changed.iter().filter(|c| c.paths().any(|p| is_readme(on, p))) {
        let texts = text_or_empty(on.repo, &change.old).and_then(|old| Ok((old, text_or_empty(on.repo, &change.new)?)));
        match texts {
            Ok((old, new)) if commands(&old) == commands(&new) => {}
            Ok(_) => {
                let expected = "the test command and runtime surface of the base, or a change that the task asks for";
                findings.push(ask(&change.path, expected, "the commands that it gives to the gate are changed"));
            }
            Err(why) => findings.push(unreadable(&change.path, &why)),
        }
    }
    findings
}

fn is_readme(on: &Inspection<'_>, path: &RepoPath) -> bool {
    matches!(page(on, path), Some(Page::OwnReadme | Page::OtherReadme))
}

fn named(on: &Inspection<'_>) -> Vec<Finding> {
    on.claim.changed.iter().filter_map(|change| gate(on, change)).collect()
}

fn gate(on: &Inspection<'_>, change: &Change) -> Option<Finding> {
    let judged_by = |path: &&RepoPath| is_in_verifier_command(on, path);
    if let Some(path) = change.paths().find(judged_by) {
        let expected = "unchanged: the settings name it in a verifier's command, and a claim may not change its judge";
        let declared = on.task.is_some_and(|t| t.paths.iter().any(|glob| glob.as_bytes() == path.as_bytes()));
        let blamed = on.task.is_some() && !declared;
        return Some(if blamed { deny(path, expected, "changed") } else { ask(path, expected, "changed") });
    }
    let (path, what) = change
        .paths()
        .find_map(|path| Some((path, kind(path).or_else(|| python::stands_in(on, path))?)))
        .or_else(|| {
            change.paths().find(|path| is_in_test_command(on, path)).map(|path| (path, "what the test command runs"))
        })
        .or_else(|| {
            scripts_changed(on, change).transpose().map(|path| match path {
                Ok(path) => (path, "scripts that the test command runs"),
                Err(_) => (&change.path, "scripts that cannot be compared"),
            })
        })?;
    Some(ask(path, format!("a change of {what} that the task asks for"), "changed: the claim edits what judges it"))
}

fn is_in_verifier_command(on: &Inspection<'_>, path: &RepoPath) -> bool {
    let words = on.settings.verifiers.values().flat_map(|program| &program.command);
    words.into_iter().any(|word| names(word, path))
}

/// True if a word of a command line names this file, alone or behind an `=`.
fn names(word: &str, path: &RepoPath) -> bool {
    let value = word.rsplit('=').next().unwrap_or(word);
    [word, value].iter().any(|w| w.strip_prefix("./").unwrap_or(w).as_bytes() == path.as_bytes())
}

fn is_in_test_command(on: &Inspection<'_>, path: &RepoPath) -> bool {
    let Some(command) = &on.settings.tests.command else { return false };
    let mut words = command.split(|c: char| c.is_whitespace() || ";&|()".contains(c)).filter(|w| !w.is_empty());
    words.any(|word| {
        let named = names(word.trim_matches(['"', '\'']), path);
        let files: &[&str] = match word {
            "make" | "gmake" => &["Makefile", "makefile", "GNUmakefile"],
            "just" => &["justfile", "Justfile", ".justfile"],
            "task" => &["Taskfile.yml", "Taskfile.yaml"],
            "rake" => &["Rakefile"],
            _ => &[],
        };
        named || files.iter().any(|file| file.as_bytes() == path.as_bytes())
    })
}

/// The changed `package.json` whose scripts differ, where the test command runs one.
fn scripts_changed<'c>(on: &Inspection<'_>, change: &'c Change) -> Result<Option<&'c RepoPath>, GitError> {
    let runs = |command: &String| {
        command
            .split(|c: char| !(c.is_alphanumeric() || c == '-'))
            .any(|w| matches!(w, "npm" | "pnpm" | "yarn" | "bun"))
    };
    if change.path.file_name() != b"package.json" || !on.settings.tests.command.as_ref().is_some_and(runs) {
        return Ok(None);
    }
    let scripts = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).ok()?.get("scripts").cloned();
    let old = scripts(&text_or_empty(on.repo, &change.old)?);
    let new = scripts(&text_or_empty(on.repo, &change.new)?);
    Ok((old.is_some() && old != new).then_some(&change.path))
}

/// What kind of gate a path is by its name: CI, hooks, owners, prompts, runner settings.
pub fn kind(path: &RepoPath) -> Option<&'static str> {
    const CI: &[&str] = &[
        ".buildkite",
        ".circleci",
        ".drone.yml",
        ".github/actions",
        ".github/workflows",
        ".gitea/workflows",
        ".gitlab-ci.yml",
        ".gitlab/ci",
        ".forgejo/workflows",
        ".travis.yml",
        ".woodpecker",
        ".woodpecker.yml",
        "Jenkinsfile",
        "appveyor.yml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
    ];
    const HOOKS: &[&str] = &[
        ".husky",
        ".githooks",
        ".lefthook",
        "lefthook.yml",
        "lefthook.yaml",
        ".pre-commit-config.yaml",
        ".pre-commit-hooks.yaml",
    ];
    const OWNERS: &[&str] = &["CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];
    // In whichever folder: agents read those on the way to the files they work on.
    const AGENTS: &[&str] = &["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".mcp.json"];
    let under = |list: &[&str]| list.iter().any(|entry| path.is_under(entry));
    let name = path.as_str()?.rsplit('/').next()?;
    if under(CI) {
        Some("CI")
    } else if under(HOOKS) {
        Some("commit hooks")
    } else if under(OWNERS) {
        Some("review rules")
    } else if name == "verifier.md" && path.as_bytes().split(|b| *b == b'/').any(|part| part == b"agents") {
        Some("a verifier's prompt")
    } else if AGENTS.contains(&name) || path.as_bytes().ends_with(b".claude/settings.json") {
        Some("what agents are told")
    } else if is_runner_setting(name) || is_cargo_setting(path) {
        Some("runner, coverage or linter settings")
    } else {
        python::installed(path.as_str()?)
    }
}

/// Cargo's own settings, in whichever folder: a `runner` there stands between us and the tests.
fn is_cargo_setting(path: &RepoPath) -> bool {
    let mut parts = path.as_bytes().rsplit(|b| *b == b'/');
    matches!(parts.next(), Some(b"config.toml" | b"config")) && parts.next() == Some(b".cargo")
}

fn is_runner_setting(name: &str) -> bool {
    const WHOLE: &[&str] = &[
        ".coveragerc",
        "conftest.py",
        ".golangci.yml",
        ".golangci.yaml",
        ".rspec",
        "clippy.toml",
        ".clippy.toml",
        "codecov.yml",
        ".codecov.yml",
        "mypy.ini",
        "nextest.toml",
        "phpunit.xml",
        "phpunit.xml.dist",
        "pytest.ini",
        "ruff.toml",
        ".ruff.toml",
        "tarpaulin.toml",
        "tox.ini",
    ];
    const STEMS: &[&str] = &[
        ".eslintrc",
        ".mocharc",
        ".nycrc",
        ".c8rc",
        "eslint.config.",
        "jest.config.",
        "karma.conf.",
        "playwright.config.",
        "vitest.config.",
        "vitest.workspace.",
        "cypress.config.",
    ];
    WHOLE.contains(&name) || is_start_up(name) || STEMS.iter().any(|stem| name.starts_with(stem))
}
