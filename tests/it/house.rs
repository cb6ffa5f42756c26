//! The house rules that no compiler holds: who may import whom, who may start programs, who may print, and how long a
//! file or a function may get. Each failure names the file, the line and the rule.

mod source;

use source::{SourceFile, code_only};
use std::path::{Path, PathBuf};

/// The stages in the order data flows through them. A module imports only what stands to its left.
const CORRIDOR: [&str; 14] = [
    "host",
    "config",
    "task",
    "agent",
    "worker",
    "claim",
    "receipts",
    "floor",
    "verifier",
    "verdict",
    "integrate",
    "pipeline",
    "cli",
    "main",
];

/// Lines of production a file may have: no blanks, no comments, no in-file tests.
const FILE_BUDGET: usize = 350;

/// Files that may exceed [`FILE_BUDGET`], each with its reason.
const LONG_FILES: [(&str, &str); 0] = [];

/// Lines a function may have, from `fn` to its closing brace.
const FUNCTION_BUDGET: usize = 80;

/// The only places that start programs.
const STARTERS: [&str; 3] = ["host/git", "host/process", "host/sandbox"];

/// File names that say nothing.
const EMPTY_NAMES: [&str; 4] = ["util", "utils", "helpers", "manager"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rank(stage: &str) -> Option<usize> {
    CORRIDOR.iter().position(|name| *name == stage)
}

/// Asserts that a list of broken rules is empty, and shows it.
fn assert_none(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

#[test]
fn every_stage_stands_in_the_corridor() {
    let broken: Vec<_> = SourceFile::all()
        .iter()
        .filter(|file| file.stage() != "lib" && rank(file.stage()).is_none())
        .map(|file| {
            format!("{}: `{}` is not in CORRIDOR; give it its place, or put it inside a stage", file.name, file.stage())
        })
        .collect();
    assert_none("a module outside the corridor has no order", &broken);
}

#[test]
fn imports_point_only_to_the_left() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for file in SourceFile::all().iter().filter(|file| file.stage() != "lib") {
        for (line, other) in file.imports() {
            seen += 1;
            let allowed = other == file.stage() || rank(&other).is_some_and(|theirs| Some(theirs) < rank(file.stage()));
            if !allowed {
                broken.push(format!(
                    "{}:{line}: `{}` imports `{other}`, which stands to its right",
                    file.name,
                    file.stage()
                ));
            }
        }
    }
    assert_none("imports go one way: host first, main last", &broken);
    assert!(seen > 10, "only {seen} imports found: the reader of imports is broken");
}

#[test]
fn the_crate_page_lists_the_stages_in_corridor_order() {
    let page = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let listed: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("//! ")?.split_once(". [`")?.1.split_once('`').map(|(name, _)| name))
        .collect();
    let declared: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let expected: Vec<_> = CORRIDOR.into_iter().filter(|stage| declared.contains(stage)).collect();
    assert_eq!(listed, expected, "src/lib.rs is the map: one line a stage, in the corridor's order");
}

#[test]
fn programs_are_started_in_one_place() {
    let starters =
        |name: &str| STARTERS.iter().any(|place| name.strip_prefix("src/").unwrap_or(name).starts_with(place));
    let words = ["duct::", "process::Command", "posix_spawn", "execve(", "execvp("];
    let broken = find_in_production(&words, |file| !starters(&file.name));
    assert_none("only host/git, host/process and host/sandbox start programs", &broken);
}

#[test]
fn repositories_are_opened_in_one_place() {
    let broken = find_in_production(&["git2::"], |file| !file.name.starts_with("src/host/git"));
    assert_none("only host/git knows git2", &broken);
}

#[test]
fn only_the_command_line_prints() {
    let words = ["println!", "print!", "io::stdout", "io::stderr"];
    let broken = find_in_production(&words, |file| !matches!(file.stage(), "cli" | "main"));
    assert_none("the library never prints", &broken);
}

fn find_in_production(words: &[&str], judged: impl Fn(&SourceFile) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in SourceFile::all().iter().filter(|file| judged(file)) {
        for (number, line) in file.production().lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(**word)) {
                found.push(format!("{}:{}: `{word}`", file.name, number + 1));
            }
        }
    }
    found
}

#[test]
fn no_file_outgrows_its_budget() {
    let mut broken = Vec::new();
    for file in SourceFile::all() {
        let lines = file.production().lines().filter(|line| !line.trim().is_empty()).count();
        let excused = LONG_FILES.iter().any(|(name, _)| *name == file.name);
        if lines > FILE_BUDGET && !excused {
            broken.push(format!("{}: {lines} lines of production; the budget is {FILE_BUDGET}", file.name));
        }
        if lines <= FILE_BUDGET && excused {
            broken.push(format!("{}: needs no exception any more", file.name));
        }
    }
    assert_none("split a file that has become two nouns", &broken);
}

#[test]
fn no_function_outgrows_its_budget() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for file in SourceFile::all() {
        for function in file.functions() {
            seen += 1;
            if function.lines > FUNCTION_BUDGET {
                let (name, lines) = (&function.name, function.lines);
                broken.push(format!(
                    "{}:{}: `{name}` has {lines} lines; the budget is {FUNCTION_BUDGET}",
                    file.name, function.line
                ));
            }
        }
    }
    assert_none("a function is short enough to read aloud", &broken);
    assert!(seen > 50, "only {seen} functions found: the reader of functions is broken");
}

#[test]
fn no_file_is_forgotten() {
    let mut broken = Vec::new();
    for folder in ["src", "tests/it"] {
        for path in rust_files(&root().join(folder)) {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let parent = path.parent().unwrap();
            let top = parent == root().join(folder);
            if top && matches!(stem.as_str(), "main" | "lib") {
                continue;
            }
            let holders = match (top, folder) {
                (true, "src") => vec![parent.join("lib.rs"), parent.join("main.rs")],
                (true, _) => vec![parent.join("main.rs")],
                (false, _) => vec![parent.with_extension("rs")],
            };
            let declared = holders.iter().any(|holder| {
                let text = code_only(&std::fs::read_to_string(holder).unwrap_or_default());
                text.lines().any(|line| line.trim().ends_with(&format!("mod {stem};")))
            });
            if !declared {
                broken.push(format!("{}: no `mod {stem};` in {}", path.display(), holders[0].display()));
            }
        }
    }
    assert_none("a file that nothing declares is never compiled", &broken);
}

#[test]
fn every_file_has_a_name_that_says_what_it_holds() {
    let mut broken = Vec::new();
    for folder in ["src", "tests", "benches", "examples"] {
        for path in rust_files(&root().join(folder)) {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            if EMPTY_NAMES.iter().any(|name| stem.split('_').any(|word| word == *name)) {
                broken.push(format!("{}: name the noun it holds", path.display()));
            }
            if stem == "mod" {
                broken.push(format!("{}: the face of a folder stands beside it, as `<folder>.rs`", path.display()));
            }
        }
    }
    assert_none("one noun a file", &broken);
}

#[test]
fn every_decision_record_is_whole_and_listed() {
    let knowledge = root().join(".agentheim/knowledge");
    let index = std::fs::read_to_string(knowledge.join("index.md")).unwrap();
    let mut broken = Vec::new();
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(knowledge.join("decisions")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let (text, number) = (std::fs::read_to_string(&path).unwrap(), name.get(..4).unwrap_or(&name));
        let title = text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap_or_default();
        let mut parts = vec![format!("---\nid: ADR-{number}\n"), format!("\n# ADR-{number}: {title}\n")];
        parts.extend(["scope", "status", "date"].map(|key| format!("\n{key}: ")));
        parts.extend(["Context", "Decision", "Consequences", "Alternatives considered"].map(|h| format!("\n## {h}\n")));
        broken.extend(
            parts.iter().filter(|part| !text.contains(*part)).map(|part| format!("{name}: lacks {}", part.trim())),
        );
        if !index.contains(&format!("**ADR-{number}**")) || !index.contains(&format!("`knowledge/decisions/{name}`")) {
            broken.push(format!("{name}: not in knowledge/index.md"));
        }
        numbers.push(number.to_owned());
    }
    assert_none("a decision says why, and what else there was", &broken);
    numbers.sort();
    let expected: Vec<_> = (1..=numbers.len()).map(|number| format!("{number:04}")).collect();
    assert_eq!(numbers, expected, "records are numbered without a gap");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .collect();
    files.sort();
    files
}
