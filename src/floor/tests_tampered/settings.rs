//! Settings of runners, coverage, lints and CI: changed ones are asked about, each with the lines that changed.

use super::mask::runs_tests;
use super::rules::{quote, raise};
use super::scripts::narrows;
use super::version::{Changed, Version};
use crate::claim::SightingKind;
use crate::floor::Inspection;
use crate::floor::test_files::FileRole;
use crate::receipts::Finding;
use serde_json::Value;

pub(super) fn look(on: &Inspection<'_>, changes: &[Changed<'_>]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = changes.iter().filter_map(setting).collect();
    findings.extend(changes.iter().flat_map(silenced));
    findings.extend(ignored_files(on, changes));
    findings
}

fn setting(changed: &Changed<'_>) -> Option<Finding> {
    let is_setting = |version: &&Version<'_>| version.role == FileRole::Configuration;
    let judged = changed.new.as_ref().filter(is_setting).or(changed.old.as_ref().filter(is_setting))?;
    let path = judged.path;
    let name = String::from_utf8_lossy(path.file_name()).into_owned();
    if name == "package.json" {
        return package(changed);
    }
    let added = relevant(changed.new.as_ref(), changed.added_lines(), &name);
    let removed = relevant(changed.old.as_ref(), changed.removed_lines(), &name);
    let (line, shown) = match (added.first(), removed.first()) {
        (Some((line, text)), _) => (*line, format!("now {}", quote(text))),
        (None, Some((_, text))) => (1, format!("{} is gone", quote(text))),
        (None, None) => return None,
    };
    let ci = [
        ".github/",
        ".gitlab",
        ".circleci",
        ".gitea",
        ".forgejo",
        ".buildkite",
        ".woodpecker",
        ".travis",
        "Jenkinsfile",
        "azure-pipelines",
        "bitbucket-pipelines",
    ];
    let is_ci = ci.iter().any(|start| path.to_string().starts_with(start));
    let text = |lines: &[(usize, &str)]| lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
    if changed.old.is_none() && name == "conftest.py" && !HOOKS.iter().any(|hook| text(&added).contains(hook)) {
        return None;
    }
    let rule = if is_ci {
        "ci-changed"
    } else if narrows(&text(&added)) {
        "collection-narrowed"
    } else {
        "runner-settings"
    };
    let before = removed
        .first()
        .map_or_else(|| "settings as on the base".to_owned(), |(_, text)| format!("as on the base: {}", quote(text)));
    let lowered = lowered(&removed, &added)
        .map(|(old, new)| format!("; a threshold went from {old} to {new}"))
        .unwrap_or_default();
    let lines = format!("{} changed", crate::floor::finding::count(added.len().max(removed.len()), "line"));
    Some(raise(rule, format!("{path}:{line}"), before, format!("{shown} ({lines}){lowered}")))
}

/// What in a new `conftest.py` reaches beyond fixtures.
const HOOKS: &[&str] =
    &["pytest_", "collect_ignore", "hookwrapper", "hookimpl", "outcome", "xfail", "skip", "_exit", "autouse"];

/// The changed lines that bear on tests, coverage or lints.
fn relevant<'l>(version: Option<&Version<'_>>, lines: Vec<(usize, &'l str)>, name: &str) -> Vec<(usize, &'l str)> {
    let Some(version) = version else { return Vec::new() };
    let whole: Vec<&str> = version.text.lines().collect();
    let is_relevant = |number: usize, line: &str| match name {
        "Cargo.toml" => {
            let section = section(&whole, number);
            ["lints", "[test]", "[[test", "profile.test", "bench]"]
                .iter()
                .any(|word| section.contains(word) || line.contains(word))
                || ["autotests", "harness", "doctest"].iter().any(|key| line.trim_start().starts_with(key))
                || section == "[lib]" && line.trim_start().starts_with("test")
        }
        "pyproject.toml" | "setup.cfg" | "tox.ini" => {
            let section = section(&whole, number);
            name == "tox.ini"
                || ["pytest", "coverage", "tox", "nox", "ruff", "mypy", "testenv", "flake8", "pylint"]
                    .iter()
                    .any(|word| section.contains(word))
        }
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | ".justfile" | "Rakefile"
        | "Taskfile.yml" | "Taskfile.yaml" => {
            runs_tests(line)
                || ["test", "check", "coverage", "lint"]
                    .iter()
                    .any(|word| section(&whole, number).contains(word) || line.contains(word))
        }
        "vite.config.ts" | "vite.config.js" | "deno.json" | "bunfig.toml" => {
            line.contains("test") || line.contains("coverage") || line.contains("threshold")
        }
        name if name.starts_with("tsconfig") => {
            ["strict", "include", "exclude", "noEmit", "skipLibCheck", "types", "no"]
                .iter()
                .any(|word| line.contains(word))
        }
        _ => !line.trim_start().starts_with(['#', ';']) || line.contains('!'),
    };
    lines.into_iter().filter(|(number, line)| is_relevant(*number, line)).collect()
}

/// The header that a line stands under: `[section]`, or a target.
fn section(whole: &[&str], number: usize) -> String {
    let above = whole[..number.min(whole.len())].iter().rev();
    let is_header = |line: &&&str| {
        line.starts_with('[') || (!line.starts_with([' ', '\t', '#']) && line.contains(':') && !line.contains('='))
    };
    above.take(500).find(is_header).map_or_else(String::new, |line| line.trim().to_owned())
}

/// A number that shrank on a line that speaks of coverage.
fn lowered<'l>(removed: &[(usize, &'l str)], added: &[(usize, &'l str)]) -> Option<(f64, f64)> {
    const WORDS: &[&str] =
        &["cov", "threshold", "fail_under", "fail-under", "branches", "lines", "functions", "statements", "minimum"];
    let number = |line: &str| {
        let digits: String =
            line.chars().skip_while(|c| !c.is_ascii_digit()).take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        digits.parse::<f64>().ok()
    };
    let key = |line: &str| line.chars().take_while(|c| !c.is_ascii_digit()).collect::<String>();
    removed.iter().filter(|(_, line)| WORDS.iter().any(|word| line.contains(word))).find_map(|(_, old)| {
        let (_, new) = added.iter().find(|(_, new)| key(new) == key(old))?;
        let (old, new) = (number(old)?, number(new)?);
        (new < old).then_some((old, new))
    })
}

fn package(changed: &Changed<'_>) -> Option<Finding> {
    const KEYS: &[&str] = &["jest", "vitest", "mocha", "nyc", "c8", "ava", "tap", "eslintConfig"];
    let read = |version: &Option<Version<'_>>| {
        version.as_ref().and_then(|version| serde_json::from_str::<Value>(&version.text).ok())
    };
    let (old, new) = (read(&changed.old), read(&changed.new));
    let of = |page: &Option<Value>, key: &str| page.as_ref().and_then(|page| page.get(key)).cloned();
    let key = KEYS.iter().find(|key| of(&old, key) != of(&new, key))?;
    let text = |value: Option<Value>| value.map_or_else(|| "absent".to_owned(), |value| quote(&value.to_string()));
    let (before, after) = (text(of(&old, key)), text(of(&new, key)));
    let entries = |page: &Option<Value>| of(page, key).and_then(|value| value.as_object().cloned()).unwrap_or_default();
    let (old_entries, new_entries) = (entries(&old), entries(&new));
    let narrower = new_entries.iter().any(|(name, value)| narrows(name) && old_entries.get(name) != Some(value));
    let rule = if narrower { "collection-narrowed" } else { "runner-settings" };
    Some(raise(rule, &changed.change.path, format!("`{key}` as on the base: {before}"), format!("now {after}")))
}

/// Lints switched off in a line of code.
fn silenced(changed: &Changed<'_>) -> Vec<Finding> {
    const WORDS: &[&str] = &[
        "#[allow(",
        "#![allow(",
        "eslint-disable",
        "# noqa",
        "# type: ignore",
        "//nolint",
        "@ts-ignore",
        "@ts-nocheck",
        "# pylint: disable",
        "#[expect(",
        "istanbul ignore",
        "c8 ignore",
        "pragma: no cover",
        "NOLINT",
        "@SuppressWarnings",
    ];
    let Some(new) = changed.new.as_ref().filter(|new| crate::floor::test_files::syntax_of(new.path).is_some()) else {
        return Vec::new();
    };
    let lines = changed.added_lines();
    let found = lines.iter().find(|(_, line)| WORDS.iter().any(|word| line.contains(word)));
    found
        .map(|(line, text)| raise("lint-silenced", new.at(*line), "code that the lints let pass", quote(text)))
        .into_iter()
        .collect()
}

/// Ignored files of the worktree that a changed test names: they are not there when the claim is tested or landed.
fn ignored_files(on: &Inspection<'_>, changes: &[Changed<'_>]) -> Vec<Finding> {
    let ignored =
        on.sightings.iter().filter(|s| matches!(s.kind, SightingKind::IgnoredFile | SightingKind::NewlyIgnoredFile));
    let mut findings = Vec::new();
    for path in ignored.filter_map(|sighting| sighting.path.as_ref()) {
        let name = String::from_utf8_lossy(path.file_name()).into_owned();
        // Short names (`a`, `db`) stand in any text.
        if name.len() < 5 || !name.contains('.') {
            continue;
        }
        for new in changes.iter().filter_map(|changed| changed.new.as_ref()).filter(|new| new.is_collected()) {
            let hit = new.text.lines().enumerate().find(|(at, line)| line.contains(&name) && new.is_test_line(at + 1));
            if let Some((at, line)) = hit {
                let expected = "files that the tests load in the tree; commit it, or let the test make it";
                findings.push(raise(
                    "ignored-file-loaded",
                    new.at(at + 1),
                    expected,
                    format!("{} names {path}, which is ignored", quote(line)),
                ));
            }
        }
    }
    findings
}
