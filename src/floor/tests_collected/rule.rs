//! The static rules of runners: why a file cannot have been collected, read from its name and the settings.
//!
//! They explain an absence, and settle it where no report does. A rule that the settings may change in a way that is not
//! read here says nothing.

use crate::floor::test_files::LARGEST_SCANNED;
use crate::floor::tests_run::{Runner, TestCommand};
use crate::host::path::RepoPath;
use std::collections::BTreeSet;

/// Folders that pytest does not enter.
const SKIPPED: &[&str] = &["build", "dist", "node_modules", "venv", "CVS", "_darcs", "{arch}"];

/// Build tags of a machine.
const PLATFORMS: &[&str] = &["windows", "darwin", "linux", "unix", "amd64", "arm64", "freebsd", "cgo"];

/// Files that make a folder a project.
const MANIFESTS: &[&str] =
    &["Cargo.toml", "package.json", "pyproject.toml", "setup.py", "pytest.ini", "go.mod", "pom.xml"];

/// Folders of what tests read.
const NAMES: &[&str] =
    &["fixtures", "fixture", "__fixtures__", "testdata", "test-data", "test_data", "__mocks__", "snapshots", "golden"];

/// The claim's tree.
pub(super) struct Leaves<'a> {
    pub(super) files: &'a BTreeSet<RepoPath>,
    pub(super) read: &'a dyn Fn(&RepoPath) -> Option<Vec<u8>>,
}

impl Leaves<'_> {
    fn text(&self, path: &str) -> Option<String> {
        let path = RepoPath::from(path);
        let bytes = self.files.contains(&path).then(|| (self.read)(&path)).flatten()?;
        (bytes.len() <= LARGEST_SCANNED).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Why a file is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) words: String,
    /// True if another machine would collect it.
    pub(super) is_platform: bool,
}

fn because(words: impl Into<String>) -> Reason {
    Reason { words: words.into(), is_platform: false }
}

/// Why the command's runner leaves this file out; none if no rule says so.
pub(super) fn left_out(command: &TestCommand, path: &RepoPath, leaves: &Leaves<'_>) -> Option<Reason> {
    let root = command.root.to_string();
    let whole = path.as_str()?;
    let below = if root.is_empty() { whole } else { whole.strip_prefix(&root)?.strip_prefix('/')? };
    match command.runner {
        Runner::CargoTest | Runner::Nextest => rust(whole, leaves),
        Runner::Pytest => pytest(&command.command, &root, below, leaves),
        Runner::NodeTest => node(&command.command, below),
        Runner::GoTest => go(below, whole, leaves),
        Runner::Maven => maven(below),
        Runner::Jest | Runner::Vitest => by_default_name(command.runner, &root, below, leaves),
        _ => None,
    }
}

/// Folders whose files are the data of tests.
pub(super) fn is_data(path: &RepoPath) -> bool {
    folders(path).iter().any(|folder| NAMES.contains(&folder.as_str()))
}

/// True if a folder between the file and the top has a manifest and is not the top itself: another project, whose tests
/// another command runs.
pub(super) fn has_own_manifest(path: &RepoPath, leaves: &Leaves<'_>) -> bool {
    let folders = folders(path);
    (1..=folders.len()).any(|depth| {
        let folder = folders[..depth].join("/");
        MANIFESTS.iter().any(|name| leaves.files.contains(&RepoPath::from(format!("{folder}/{name}").as_str())))
    })
}

fn folders(path: &RepoPath) -> Vec<String> {
    let text = String::from_utf8_lossy(path.as_bytes()).into_owned();
    let mut parts: Vec<String> = text.split('/').map(str::to_owned).collect();
    parts.pop();
    parts
}

/// Cargo: what no target and no module declaration leads to is not compiled.
fn rust(path: &str, leaves: &Leaves<'_>) -> Option<Reason> {
    let (package, rest) = package_of(path, leaves)?;
    let manifest = leaves.text(&join(&package, "Cargo.toml"))?;
    let parts: Vec<&str> = rest.split('/').collect();
    let named = manifest.contains(rest);
    if let ["tests", _] | ["tests", _, "main.rs"] = parts[..] {
        let auto = manifest.lines().map(str::trim).any(|line| line.replace(' ', "") == "autotests=false");
        if auto && !named {
            return Some(because("Cargo.toml says `autotests = false` and names no `[[test]]` for it"));
        }
        return gated(&leaves.text(path)?, "#![");
    }
    if named || matches!(rest, "src/lib.rs" | "src/main.rs") || parts.first() == Some(&"examples") {
        return None;
    }
    declared(path, &package, leaves)
}

/// The nearest folder above with a Cargo.toml, and the path below it.
fn package_of<'p>(path: &'p str, leaves: &Leaves<'_>) -> Option<(String, &'p str)> {
    let mut ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    ends.insert(0, 0);
    let found = ends
        .into_iter()
        .rev()
        .find(|end| leaves.files.contains(&RepoPath::from(join(&path[..*end], "Cargo.toml").as_str())))?;
    Some((path[..found].to_owned(), path[found..].trim_start_matches('/')))
}

/// A module file is compiled where some file of the package declares it; the declaration may be gated.
fn declared(path: &str, package: &str, leaves: &Leaves<'_>) -> Option<Reason> {
    let (folder, name) = path.rsplit_once('/')?;
    let stem = match name {
        "mod.rs" => folder.rsplit('/').next()?,
        _ => name.strip_suffix(".rs")?,
    };
    let home = if package.is_empty() { String::new() } else { format!("{package}/") };
    let mut gate = None;
    for file in leaves.files.iter().filter_map(|file| file.as_str()) {
        if !has_ending(file, "rs") || !file.starts_with(&home) || file == path {
            continue;
        }
        let Some(text) = leaves.text(file) else { continue };
        // `include!` and `#[path]` name the file; macros may declare modules.
        if text.contains(name) {
            return None;
        }
        if let Some(at) = declaration(&text, stem) {
            match gated_at(&text, at) {
                None => return gated(&leaves.text(path)?, "#!["),
                found => gate = found,
            }
        }
    }
    gate.or_else(|| Some(because(format!("no file of the package declares `mod {stem};`, so it is not compiled"))))
}

/// The line of `mod stem;` in a text.
fn declaration(text: &str, stem: &str) -> Option<usize> {
    text.lines().position(|line| {
        let line = line.trim();
        let bare = line.rsplit_once("mod ").filter(|(before, _)| !before.contains("//")).map_or("", |(_, rest)| rest);
        bare.trim().strip_prefix("r#").unwrap_or(bare.trim()).split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
            == Some(stem)
    })
}

/// What the attributes right above a line ask for.
fn gated_at(text: &str, line: usize) -> Option<Reason> {
    let lines: Vec<&str> = text.lines().collect();
    let above = lines[..=line].iter().rev().take_while(|line| {
        let line = line.trim();
        line.starts_with('#') || line.contains("mod ") && !line.starts_with("//")
    });
    above.take(6).find_map(|line| gate(line.trim(), "#["))
}

/// What a file's own first attributes ask for.
fn gated(text: &str, open: &str) -> Option<Reason> {
    text.lines().map(str::trim).find_map(|line| gate(line, open))
}

fn gate(line: &str, open: &str) -> Option<Reason> {
    let cfg = line.strip_prefix(open)?.trim_start().strip_prefix("cfg(")?;
    let cfg = cfg.rsplit_once(")]").map_or(cfg, |(cfg, _)| cfg).trim();
    if cfg == "test" {
        return None;
    }
    let is_platform = !cfg.contains("feature");
    Some(Reason {
        words: format!("it is compiled only under `cfg({cfg})`, which this command does not turn on"),
        is_platform,
    })
}

/// pytest: `python_files`, `testpaths`, `--ignore`, and the folders it does not enter.
fn pytest(command: &str, root: &str, below: &str, leaves: &Leaves<'_>) -> Option<Reason> {
    let name = below.rsplit('/').next()?;
    let settings = ["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"]
        .iter()
        .filter_map(|name| leaves.text(&join(root, name)))
        .find(|text| ["[pytest]", "[tool.pytest", "[tool:pytest]"].iter().any(|head| text.contains(head)))
        .unwrap_or_default();
    if settings.contains("python_files") {
        return None;
    }
    if !(name.starts_with("test_") || name.ends_with("_test.py")) {
        return Some(because("pytest collects `test_*.py` and `*_test.py`, and its settings name no other"));
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let ignored = words.iter().filter_map(|word| word.strip_prefix("--ignore=")).find(|path| within(below, path));
    if let Some(path) = ignored {
        return Some(because(format!("the command says `--ignore={path}`")));
    }
    let behind = words.iter().position(|word| word.ends_with("pytest")).map_or(&[][..], |at| &words[at + 1..]);
    let names_paths = behind.iter().any(|word| !word.starts_with('-'));
    let listed = setting(&settings, "testpaths");
    if !names_paths && !listed.is_empty() && !listed.iter().any(|path| within(below, path)) {
        return Some(because(format!("the settings' `testpaths` are {}", listed.join(", "))));
    }
    if settings.contains("norecursedirs") {
        return None;
    }
    let enters = |folder: &str| !SKIPPED.contains(&folder) && !folder.starts_with('.') && !has_ending(folder, "egg");
    let skipped = below.rsplit_once('/')?.0.split('/').find(|folder| !enters(folder))?;
    Some(because(format!("pytest does not enter the folder {skipped}")))
}

/// The values of an ini or TOML setting, on its line and the indented or bracketed ones below.
fn setting(text: &str, key: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !line.trim_start().starts_with(key));
    let Some((_, first)) = lines.next().and_then(|line| line.split_once('=')) else { return Vec::new() };
    let more = lines.take_while(|line| line.starts_with([' ', '\t', ']', '"']));
    let joined = std::iter::once(first).chain(more).collect::<Vec<_>>().join(" ");
    let words = joined.split([' ', ',', '[', ']', '"', '\'', '\t']).filter(|word| !word.is_empty());
    words.map(|word| word.trim_start_matches("./").trim_end_matches('/').to_owned()).collect()
}

fn within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    folder == "."
        || path == folder
        || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        || folder.contains('*')
}

/// `node --test` without files looks for names; with files or globs it takes those only.
fn node(command: &str, below: &str) -> Option<Reason> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "--test")?;
    let operators = ["&&", "||", ";", "|"];
    let files: Vec<&str> = words[at + 1..]
        .iter()
        .take_while(|word| !operators.contains(word))
        .map(|word| word.trim_matches(['\'', '"']))
        .filter(|word| !word.starts_with('-'))
        .collect();
    if !files.is_empty() {
        let plain = files.iter().all(|file| !file.contains(['*', '?', '[', '{', '$']));
        let taken = files.iter().any(|file| within(below, file));
        return if plain && !taken { Some(because(format!("the command names {}", files.join(", ")))) } else { None };
    }
    let (folders, name) = below.rsplit_once('/').unwrap_or(("", below));
    let stem = name.rsplit_once('.')?.0;
    let in_test = folders.split('/').any(|folder| folder == "test");
    let named = stem == "test"
        || stem.starts_with("test-")
        || ["-test", ".test", "_test"].iter().any(|end| stem.ends_with(end));
    let skipped = folders.split('/').any(|folder| folder == "node_modules");
    if skipped || !(in_test || named) {
        return Some(because(
            "node collects `*.test.js`, `*-test.js`, `*_test.js`, `test-*.js`, `test.js` and folders named `test`",
        ));
    }
    None
}

/// Go: names, folders that it does not enter, build tags.
fn go(below: &str, whole: &str, leaves: &Leaves<'_>) -> Option<Reason> {
    if !below.ends_with("_test.go") {
        return Some(because("go collects `*_test.go` only"));
    }
    let folders = below.rsplit_once('/').map_or("", |(folders, _)| folders);
    let enters = |folder: &str| !(folder.starts_with(['_', '.']) || folder == "testdata" || folder == "vendor");
    if let Some(folder) = folders.split('/').find(|folder| !folder.is_empty() && !enters(folder)) {
        return Some(because(format!("`./...` does not enter the folder {folder}")));
    }
    let text = leaves.text(whole)?;
    let tag = text.lines().take(30).find_map(|line| line.trim().strip_prefix("//go:build "))?;
    let is_platform = PLATFORMS.iter().any(|name| tag.contains(name));
    Some(Reason { words: format!("it is built only under `//go:build {}`", tag.trim()), is_platform })
}

/// Surefire's default names.
fn maven(below: &str) -> Option<Reason> {
    let stem = below.rsplit('/').next()?.rsplit_once('.')?.0;
    let named =
        stem.starts_with("Test") || ["Test", "Tests", "TestCase", "IT", "ITCase"].iter().any(|end| stem.ends_with(end));
    if !below.contains("src/test/") && !below.starts_with("src/it/") {
        return Some(because("Maven compiles tests below `src/test` only"));
    }
    if named { None } else { Some(because("Surefire collects `Test*`, `*Test`, `*Tests` and `*TestCase` only")) }
}

/// The default names of jest and vitest, where no setting gives others.
fn by_default_name(runner: Runner, root: &str, below: &str, leaves: &Leaves<'_>) -> Option<Reason> {
    let settings: &[&str] = if runner == Runner::Jest {
        &["testMatch", "testRegex", "projects"]
    } else {
        &["include", "projects", "workspace"]
    };
    let configured = leaves.files.iter().filter_map(|file| file.as_str()).any(|file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        let is_config = ["jest.config", "vitest.config", "vite.config", "vitest.workspace", "jest.preset"]
            .iter()
            .any(|head| name.starts_with(head))
            || file == join(root, "package.json");
        is_config && leaves.text(file).is_none_or(|text| settings.iter().any(|word| text.contains(word)))
    });
    let (folders, name) = below.rsplit_once('/').unwrap_or(("", below));
    let stem = name.rsplit_once('.')?.0;
    let named = ["test", "spec"].iter().any(|end| stem == *end || stem.ends_with(&format!(".{end}")));
    let in_folder = runner == Runner::Jest && folders.split('/').any(|folder| folder == "__tests__");
    if configured || named || in_folder {
        return None;
    }
    Some(because("its name is none that the runner collects (`*.test.*`, `*.spec.*`), and no setting gives others"))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// True if a name ends with a dot and this.
pub(super) fn has_ending(name: &str, ending: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found == ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::tests_run::{ReportWay, Through};
    use std::collections::BTreeMap;

    fn said(runner: Runner, command: &str, path: &str, files: &[(&str, &str)]) -> Option<(String, bool)> {
        let texts: BTreeMap<RepoPath, Vec<u8>> =
            files.iter().map(|(path, text)| (RepoPath::from(*path), text.as_bytes().to_vec())).collect();
        let command = TestCommand {
            command: command.to_owned(),
            root: RepoPath::from(""),
            source: String::new(),
            runner,
            report: ReportWay::None("x"),
            through: Through::Directly,
        };
        let leaves = Leaves { files: &texts.keys().cloned().collect(), read: &|path| texts.get(path).cloned() };
        left_out(&command, &RepoPath::from(path), &leaves).map(|reason| (reason.words, reason.is_platform))
    }

    #[test]
    fn each_runners_rule_leaves_out_what_the_runner_leaves_out() {
        let toml = |text: &'static str| [("pyproject.toml", text)];
        let paths = "[tool.pytest.ini_options]\ntestpaths = [\n  \"tests\",\n  \"more\",\n]\n";
        for (runner, command, path, files, word) in [
            (Runner::Pytest, "pytest", "tests/test_a.py", &toml(paths)[..], None),
            (Runner::Pytest, "pytest", "more/x/a_test.py", &toml(paths)[..], None),
            (Runner::Pytest, "pytest", "other/test_a.py", &toml(paths)[..], Some("`testpaths` are tests, more")),
            (Runner::Pytest, "pytest other", "other/test_a.py", &toml(paths)[..], None),
            (Runner::Pytest, "pytest", "tests/check_a.py", &toml(paths)[..], Some("pytest collects")),
            (Runner::Pytest, "pytest", "tests/.x/test_a.py", &[][..], Some("the folder .x")),
            (
                Runner::Pytest,
                "pytest",
                "check_a.py",
                &[("pytest.ini", "[pytest]\npython_files = check_*.py\n")][..],
                None,
            ),
            (Runner::NodeTest, "node --test", "test/deep/a.mjs", &[][..], None),
            (Runner::NodeTest, "node --test", "lib/test-a.js", &[][..], None),
            (Runner::NodeTest, "node --test", "lib/a.spec.js", &[][..], Some("node collects")),
            (Runner::NodeTest, "node --test 'lib/*.js'", "other/a.test.js", &[][..], None),
            (Runner::NodeTest, "node --test lib && x", "other/a.test.js", &[][..], Some("the command names lib")),
            (Runner::GoTest, "go test ./...", "a/b_test.go", &[("a/b_test.go", "package a\n")][..], None),
            (Runner::GoTest, "go test ./...", "testdata/b_test.go", &[][..], Some("the folder testdata")),
            (
                Runner::GoTest,
                "go test ./...",
                "b_test.go",
                &[("b_test.go", "//go:build slow\n\npackage a\n")][..],
                Some("//go:build slow"),
            ),
            (Runner::Maven, "mvn test", "src/test/java/x/ATest.java", &[][..], None),
            (Runner::Maven, "mvn test", "src/test/java/x/Checks.java", &[][..], Some("Surefire collects")),
            (Runner::Jest, "jest", "src/__tests__/a.js", &[][..], None),
            (Runner::Jest, "jest", "spec/a.js", &[][..], Some("its name is none")),
            (Runner::Vitest, "vitest", "src/__tests__/a.js", &[][..], Some("its name is none")),
            (
                Runner::Jest,
                "jest",
                "spec/a.js",
                &[("jest.config.js", "module.exports = {testMatch: ['**/spec/**']}")][..],
                None,
            ),
            (Runner::Other, "make test", "whatever.py", &[][..], None),
        ] {
            let found = said(runner, command, path, files).map(|(words, _)| words);
            match word {
                Some(word) => assert!(found.as_ref().is_some_and(|found| found.contains(word)), "{path}: {found:?}"),
                None => assert_eq!(found, None, "{command} {path}"),
            }
        }
    }

    #[test]
    fn a_rust_file_is_left_out_by_the_manifest_a_missing_module_or_a_gate() {
        let cargo = |files: &[(&str, &str)], path: &str| {
            let manifest = [("Cargo.toml", "[package]\nname = \"x\"\n")];
            said(Runner::CargoTest, "cargo test", path, &[&manifest[..], files].concat())
        };
        assert_eq!(cargo(&[("src/lib.rs", "mod a;"), ("src/a.rs", "")], "src/a.rs"), None);
        assert_eq!(cargo(&[("src/lib.rs", "pub(crate) mod a;"), ("src/a/mod.rs", "")], "src/a/mod.rs"), None);
        let missing = cargo(&[("src/lib.rs", "// mod a;\nmod ab;"), ("src/a.rs", "")], "src/a.rs").unwrap();
        assert!(missing.0.contains("declares `mod a;`"), "{missing:?}");
        let gated = cargo(&[("src/lib.rs", "#[cfg(windows)]\nmod a;"), ("src/a.rs", "")], "src/a.rs").unwrap();
        assert!(gated.1 && gated.0.contains("cfg(windows)"), "{gated:?}");
        let own = cargo(&[("tests/a.rs", "#![cfg(feature = \"slow\")]\n")], "tests/a.rs").unwrap();
        assert!(!own.1 && own.0.contains("slow"), "{own:?}");
        let sealed = [("Cargo.toml", "[package]\nautotests = false\n"), ("tests/a.rs", "")];
        assert!(said(Runner::Nextest, "cargo nextest run", "tests/a.rs", &sealed).is_some());
        let named = [("Cargo.toml", "autotests = false\n[[test]]\npath = \"tests/a.rs\"\n"), ("tests/a.rs", "")];
        assert_eq!(said(Runner::CargoTest, "cargo test", "tests/a.rs", &named), None);
    }

    proptest::proptest! {
        #[test]
        fn any_path_and_text_can_be_asked_about(path in "[a-z_./]{1,30}", text in "(?s)[#\\[\\]!a-z(){}=;\" \n]{0,120}") {
            for runner in [Runner::CargoTest, Runner::Pytest, Runner::NodeTest, Runner::GoTest, Runner::Maven, Runner::Jest] {
                let files = [("Cargo.toml", text.as_str()), ("src/lib.rs", &text), ("pytest.ini", &text), (&path, &text)];
                said(runner, &text, &path, &files);
            }
        }
    }
}
