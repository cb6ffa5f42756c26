//! What is planted, and where: a failure that happens when a file is loaded or compiled.

use crate::floor::test_files::{FileRole, classify, is_among_tests};
use crate::floor::tests_run::Runner;
use crate::host::path::RepoPath;

/// The words that a log shows where the poison was found.
pub(super) const WORDS: &str = "countersign canary";

/// Larger files are left alone.
pub(super) const LARGEST: u64 = 4 << 20;

/// Where a line is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before everything but a byte order mark and a `#!` line.
    Top,
    /// After everything.
    End,
}

const JAVASCRIPT: &[&str] = &["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"];

/// Endings of file names, where the line goes, and the line.
const POISONS: &[(&[&str], Place, &str)] = &[
    (&["rs"], Place::End, "compile_error!(\"countersign canary\");"),
    (&["py"], Place::Top, "raise RuntimeError(\"countersign canary\")"),
    (JAVASCRIPT, Place::Top, "throw new Error(\"countersign canary\");"),
    (&["go"], Place::End, "func init() { panic(\"countersign canary\") }"),
    (&["rb"], Place::Top, "raise \"countersign canary\""),
    (&["c", "cc", "cpp", "cxx", "h", "hpp", "cs"], Place::End, "#error countersign canary"),
    (&["swift"], Place::End, "#error(\"countersign canary\")"),
    (&["java", "kt", "scala"], Place::End, "} countersign canary {"),
    (&["ex"], Place::Top, "raise \"countersign canary\""),
    (&["php"], Place::End, "<?php throw new Exception(\"countersign canary\");"),
];

/// Folders beside those of tests whose files are not production.
const APART: &[&str] = &[
    "testing",
    "e2e",
    "cypress",
    "benches",
    "examples",
    "docs",
    "node_modules",
    "vendor",
    "target",
    ".venv",
    "venv",
    "third_party",
    "dist",
    "build",
];

/// Files that a set-up loads by itself.
const HARNESS: &[&str] = &["setup.py", "build.rs", "gulpfile.js"];

/// The endings of a runner's own language; none if it could be any.
fn language(runner: Runner) -> Option<&'static [&'static str]> {
    match runner {
        Runner::CargoTest | Runner::Nextest => Some(&["rs"]),
        Runner::Pytest => Some(&["py"]),
        Runner::NodeTest | Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Npm => Some(JAVASCRIPT),
        Runner::GoTest => Some(&["go"]),
        Runner::Phpunit => Some(&["php"]),
        Runner::Maven | Runner::Gradle | Runner::Dotnet | Runner::Other => None,
    }
}

/// True for a production file of the runner's language, or of any that we can poison, unless the command itself names
/// it: a harness that fails says nothing about what it loads.
pub(super) fn fits(path: &RepoPath, command: &str, runner: Runner) -> bool {
    let Some(text) = path.as_str() else { return false };
    let (folders, name) = text.rsplit_once('/').unwrap_or(("", text));
    // A declaration or a setting holds nothing that a test could load and judge.
    let idle = [".d", ".config"].iter().any(|end| name.rsplit_once('.').is_some_and(|(stem, _)| stem.ends_with(end)));
    let is_production = classify(path, b"") == FileRole::Production && !is_among_tests(path) && !idle;
    let end = name.rsplit_once('.').map_or("", |(_, end)| end).to_ascii_lowercase();
    poison(path).is_some()
        && language(runner).is_none_or(|ends| ends.contains(&end.as_str()))
        && is_production
        && !HARNESS.contains(&name)
        && !folders.split('/').any(|folder| APART.contains(&folder))
        && !command.contains(name)
}

fn poison(path: &RepoPath) -> Option<(Place, &'static str)> {
    let name = path.as_str()?.rsplit('/').next()?;
    let (stem, end) = name.rsplit_once('.')?;
    let end = end.to_ascii_lowercase();
    let known = POISONS.iter().find(|(ends, ..)| ends.contains(&end.as_str()))?;
    (!stem.is_empty()).then_some((known.1, known.2))
}

/// The file with the failure in it; as it was if its language is not known.
pub(super) fn plant(path: &RepoPath, text: &[u8]) -> Vec<u8> {
    let Some((place, line)) = poison(path) else { return text.to_vec() };
    let at = match place {
        Place::End => text.len(),
        Place::Top => {
            let mark = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
            let rest = &text[mark..];
            let first = rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |end| end + 1);
            mark + if rest.starts_with(b"#!") { first } else { 0 }
        }
    };
    let gap: &[u8] = if at == 0 || text[..at].ends_with(b"\n") || text[..at].ends_with(b"\xbf") { b"" } else { b"\n" };
    [&text[..at], gap, line.as_bytes(), b"\n", &text[at..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_stands_where_loading_finds_it() {
        for (path, text, planted) in [
            ("a.py", "\"\"\"Doc.\"\"\"\n", "raise RuntimeError(\"countersign canary\")\n\"\"\"Doc.\"\"\"\n"),
            (
                "a.js",
                "#!/usr/bin/env node\nx();\n",
                "#!/usr/bin/env node\nthrow new Error(\"countersign canary\");\nx();\n",
            ),
            ("a.mjs", "#!/usr/bin/node", "#!/usr/bin/node\nthrow new Error(\"countersign canary\");\n"),
            ("a.ts", "\u{feff}x", "\u{feff}throw new Error(\"countersign canary\");\nx"),
            ("a.rs", "fn a() {}", "fn a() {}\ncompile_error!(\"countersign canary\");\n"),
            ("a.go", "package a\n", "package a\nfunc init() { panic(\"countersign canary\") }\n"),
            ("a.txt", "x", "x"),
        ] {
            let planted_now = plant(&RepoPath::from(path), text.as_bytes());
            assert_eq!(String::from_utf8(planted_now).unwrap(), planted, "{path}");
        }
        assert!(POISONS.iter().all(|(_, _, line)| line.contains(WORDS)));
    }

    #[test]
    fn only_production_is_poisoned() {
        for (path, fits_here) in [
            ("src/pkg/f.py", true),
            ("lib/a.mjs", true),
            ("src/main.rs", true),
            ("tests/test_f.py", false),
            ("pkg/test_f.py", false),
            ("pkg/f_test.go", false),
            ("a.test.ts", false),
            ("vitest.config.ts", false),
            ("types.d.ts", false),
            ("conftest.py", false),
            ("build.rs", false),
            ("node_modules/x/index.js", false),
            ("README.md", false),
            (".js", false),
            ("tools/run.py", false),
        ] {
            assert_eq!(fits(&RepoPath::from(path), "python3 tools/run.py -q", Runner::Other), fits_here, "{path}");
        }
        assert!(!fits(&RepoPath::from("src/a.py"), "cargo test", Runner::CargoTest));
    }
}
