//! Scripts that run the tests, made unable to fail: package scripts, make and just targets, tox, CI steps, shell files.

use super::mask::{mask_of, runs_tests};
use super::rules::{quote, raise};
use super::version::{Changed, Version};
use crate::floor::test_files::FileRole;
use crate::receipts::Finding;
use serde_json::Value;

/// Lines around a `continue-on-error` in which a step's command is looked for.
const STEP: usize = 8;

pub(super) fn look(changes: &[Changed<'_>]) -> Vec<Finding> {
    changes
        .iter()
        .flat_map(
            |changed| {
                if changed.change.path.file_name() == b"package.json" { package(changed) } else { lines(changed) }
            },
        )
        .collect()
}

/// The script of this name in a `package.json`.
fn scripts(version: Option<&Version<'_>>) -> serde_json::Map<String, Value> {
    let page = version.and_then(|version| serde_json::from_str::<Value>(&version.text).ok());
    page.and_then(|page| page.get("scripts").and_then(Value::as_object).cloned()).unwrap_or_default()
}

fn package(changed: &Changed<'_>) -> Vec<Finding> {
    let Some(new) = &changed.new else { return Vec::new() };
    let (before, after) = (scripts(changed.old.as_ref()), scripts(Some(new)));
    let mut findings = Vec::new();
    for (key, value) in &after {
        let command = value.as_str().unwrap_or_default();
        let old = before.get(key).and_then(Value::as_str);
        if old == Some(command) || !(key.contains("test") || key == "check" || key == "verify" || runs_tests(command)) {
            continue;
        }
        let line = new.text.lines().position(|line| line.contains(&format!("\"{key}\""))).map_or(1, |at| at + 1);
        if let Some(why) = mask_of(command).filter(|_| old.is_none_or(|old| mask_of(old).is_none())) {
            let expected = format!(
                "a script `{key}` that fails when a test fails{}",
                old.map(|old| format!("; on the base {}", quote(old))).unwrap_or_default()
            );
            findings.push(raise("masked-script", new.at(line), expected, format!("{}: {why}", quote(command))));
        } else if let Some(old) = old {
            let rule = if narrows(command) && !narrows(old) { "collection-narrowed" } else { "runner-settings" };
            findings.push(raise(
                rule,
                new.at(line),
                format!("script `{key}` as on the base: {}", quote(old)),
                quote(command),
            ));
        }
    }
    for (key, old) in before.iter().filter(|(key, _)| key.contains("test") && !after.contains_key(*key)) {
        findings.push(raise(
            "runner-settings",
            new.path,
            format!("script `{key}`: {}", quote(old.as_str().unwrap_or_default())),
            "removed",
        ));
    }
    findings
}

/// True if words of a command or setting leave tests out.
pub(super) fn narrows(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "testPathIgnorePatterns",
        "modulePathIgnorePatterns",
        "testMatch",
        "testRegex",
        "testNamePattern",
        "--ignore",
        "--deselect",
        "--exclude",
        "--skip",
        "collect_ignore",
        "norecursedirs",
        "testpaths",
        "python_files",
        "python_functions",
        "python_classes",
        "default-filter",
        "autotests",
        "--passWithNoTests",
        "passWithNoTests",
        "--test-name-pattern",
        "--grep",
        "exclude:",
        "pytest_ignore_collect",
        "--filter",
        "-run",
        "harness = false",
        "test = false",
        "doctest = false",
    ];
    WORDS.iter().any(|word| text.contains(word))
        || [" -k ", " -m ", " -t "].iter().any(|flag| text.contains(flag) && !text.contains("python -m"))
}

/// What kind of script a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Make,
    Other,
}

fn kind(version: &Version<'_>) -> Option<Script> {
    let name = String::from_utf8_lossy(version.path.file_name()).into_owned();
    let is_make =
        matches!(name.as_str(), "Makefile" | "makefile" | "GNUmakefile") || name.rsplit('.').next() == Some("mk");
    let other = version.role == FileRole::Configuration
        || [".sh", ".bash", ".yml", ".yaml"].iter().any(|end| name.ends_with(end));
    let program = ["py", "js", "mjs", "cjs", "ts", "toml", "json"].iter().any(|end| name.ends_with(&format!(".{end}")));
    if is_make {
        Some(Script::Make)
    } else {
        (other && (!program || name == "pyproject.toml")).then_some(Script::Other)
    }
}

fn lines(changed: &Changed<'_>) -> Vec<Finding> {
    let Some(new) = &changed.new else { return Vec::new() };
    let Some(kind) = kind(new) else { return Vec::new() };
    let whole: Vec<&str> = new.text.lines().collect();
    let pipefail = new.text.contains("pipefail");
    let file_runs_tests = whole.iter().any(|line| runs_tests(line));
    let mut findings = Vec::new();
    for (number, line) in changed.added_lines() {
        let command = command_of(line);
        let runs = runs_tests(command) || in_test_target(&whole, number, kind);
        let forgiven = kind == Script::Make
            && runs
            && line.trim_start().trim_start_matches('@').starts_with('-')
            && line.starts_with('\t');
        let near = || {
            whole[number.saturating_sub(STEP + 1)..(number + STEP).min(whole.len())].iter().any(|line| runs_tests(line))
        };
        let tolerant = [
            "continue-on-error: true",
            "allow_failure: true",
            "ignore_outcome = true",
            "ignore_errors: true",
            "ignore_outcome=true",
        ]
        .iter()
        .any(|word| line.contains(word))
            && near();
        let loose = file_runs_tests
            && (command == "set +e"
                || command.starts_with("set +e;")
                || command == ".IGNORE:"
                || line.starts_with(".IGNORE"));
        let why = if forgiven {
            Some("`-` before a recipe line ignores its failure")
        } else if tolerant {
            Some("the step may fail without failing the run")
        } else if loose {
            Some("the script goes on after a failure")
        } else if runs {
            mask_of(command).filter(|why| !(is_bookkeeping(command) || pipefail && why.contains("pipe")))
        } else {
            None
        };
        if let Some(why) = why {
            let expected = "a command that fails when a test fails; take the mask away";
            findings.push(raise("masked-script", new.at(number), expected, format!("{}: {why}", quote(line))));
        }
    }
    findings
}

/// An `echo` in a test target beside the command that runs the tests says nothing about them.
fn is_bookkeeping(command: &str) -> bool {
    command.starts_with("echo ") && !runs_tests(command)
}

/// A line's command, without what YAML, make or tox put before it.
fn command_of(line: &str) -> &str {
    let mut text = line.trim();
    for prefix in ["- ", "run:", "script:", "command:", "commands =", "cmd:", "@", "-", "@-", "test_command ="] {
        if let Some(rest) = text.strip_prefix(prefix) {
            text = rest.trim();
        }
    }
    let quotes = ['"', '\''];
    text.strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes)).unwrap_or(text)
}

/// True if a recipe line belongs to a target that is named for tests.
fn in_test_target(whole: &[&str], number: usize, kind: Script) -> bool {
    let Some(line) = whole.get(number - 1).filter(|line| kind == Script::Make && line.starts_with('\t')) else {
        return false;
    };
    let header =
        whole[..number - 1].iter().rev().find(|line| !line.starts_with(['\t', '#', ' ']) && line.contains(':'));
    let target = header.and_then(|header| header.split(':').next()).unwrap_or_default();
    let named = ["test", "check", "verify", "ci"]
        .iter()
        .any(|word| target.split(['-', '_', ' ', '/']).any(|part| part == *word));
    named && !line.trim().is_empty()
}
