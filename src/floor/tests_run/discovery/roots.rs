//! Project roots: folders whose manifest says how they are tested.

use super::{Listing, PlanError};
use crate::floor::tests_run::{TestCommand, runner};
use crate::host::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// Folders that hold other people's projects or products.
const FOREIGN: &[&str] = &["node_modules", "vendor", "target", ".venv", "venv", "third_party", ".git", "dist", "build"];

/// What makes a folder a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ecosystem {
    Cargo,
    Npm,
    Python,
    Go,
    Make,
    BareNode,
}

/// All roots of a tree, sorted by folder.
pub(super) fn discover(listing: &Listing<'_>, side: &str) -> Result<Vec<TestCommand>, PlanError> {
    let mut found: BTreeMap<(RepoPath, Ecosystem), (String, String)> = BTreeMap::new();
    for path in listing.files.iter().filter(|path| !is_foreign(path)) {
        let folder = parent(path);
        let read = || -> Result<String, PlanError> {
            Ok(String::from_utf8_lossy(&(listing.read)(path)?.unwrap_or_default()).into_owned())
        };
        let (ecosystem, folder, command) = match path.file_name() {
            b"Cargo.toml" => (Ecosystem::Cargo, folder, cargo(&read()?).to_owned()),
            b"package.json" => match npm_command(&read()?) {
                Some(command) => (Ecosystem::Npm, folder, command),
                None => continue,
            },
            b"go.mod" => (Ecosystem::Go, folder, "go test ./...".to_owned()),
            b"Makefile" | b"makefile" | b"GNUmakefile" if has_test_target(&read()?) => {
                (Ecosystem::Make, folder, "make test".to_owned())
            }
            name if is_python(name, &read)? => {
                (Ecosystem::Python, python_root(listing, &folder), "python3 -m pytest".to_owned())
            }
            name if is_node_test(name) && read()?.contains("node:test") => {
                (Ecosystem::BareNode, above_tests(&folder), "node --test".to_owned())
            }
            _ => continue,
        };
        found.entry((folder, ecosystem)).or_insert_with(|| (command, format!("{side}:{path}")));
    }
    let keys: BTreeSet<(RepoPath, Ecosystem)> = found.keys().cloned().collect();
    found.retain(|(folder, ecosystem), (command, _)| is_own_root(folder, *ecosystem, command, &keys));
    Ok(found.into_iter().map(|((root, _), (command, source))| super::as_recognised(command, root, source)).collect())
}

/// Whether a candidate is a root of its own, or part of one above it.
fn is_own_root(folder: &RepoPath, kind: Ecosystem, command: &str, all: &BTreeSet<(RepoPath, Ecosystem)>) -> bool {
    let above = |wanted: &[Ecosystem], strictly: bool| {
        all.iter().any(|(other, ecosystem)| {
            wanted.contains(ecosystem) && contains(other, folder) && (!strictly || other != folder)
        })
    };
    match kind {
        // Members of a workspace are tested with it; a second workspace stands alone.
        Ecosystem::Cargo => command.ends_with("--workspace") || !above(&[Ecosystem::Cargo], true),
        Ecosystem::Python => !above(&[Ecosystem::Python], true),
        Ecosystem::BareNode => !above(&[Ecosystem::Npm], false) && !above(&[Ecosystem::BareNode], true),
        // A Makefile beside a manifest wraps what the manifest says.
        Ecosystem::Make => !all.iter().any(|(other, e)| other == folder && *e != Ecosystem::Make),
        Ecosystem::Npm | Ecosystem::Go => true,
    }
}

/// The roots that a changed file belongs to: the deepest folders above it. A file outside every root belongs to the top
/// root, and where there is none, to all: anything may read it. Only prose beside a change of something else does not
/// count (RULINGS 16): every task moves its own file on the board.
pub(super) fn touched(roots: Vec<TestCommand>, changed: &[&RepoPath]) -> Vec<TestCommand> {
    let mut wanted: BTreeSet<RepoPath> = BTreeSet::new();
    for path in changed {
        let deepest = roots.iter().map(|c| &c.root).filter(|r| contains(r, path)).max_by_key(|r| r.as_bytes().len());
        match deepest {
            Some(root) => {
                wanted.insert(root.clone());
            }
            None if is_prose(path) => {}
            None => wanted.extend(roots.iter().map(|command| command.root.clone())),
        }
    }
    let all = wanted.is_empty();
    roots.into_iter().filter(|command| all || wanted.contains(&command.root)).collect()
}

/// Text and images that nothing executes or loads as instructions.
fn is_prose(path: &RepoPath) -> bool {
    let name = path.file_name().to_ascii_lowercase();
    let ends: &[&[u8]] = &[b".md", b".txt", b".rst", b".adoc", b".png", b".jpg", b".jpeg", b".gif", b".webp"];
    let loaded = ["agents", "skills", "commands", ".claude", ".github"];
    ends.iter().any(|end| name.ends_with(end))
        && name != b"agents.md"
        && name != b"claude.md"
        && !path.as_bytes().split(|b| *b == b'/').any(|part| loaded.iter().any(|l| l.as_bytes() == part))
}

/// A path below a root.
pub(super) fn join(root: &RepoPath, name: &str) -> RepoPath {
    let slash: &[u8] = if root.as_bytes().is_empty() { b"" } else { b"/" };
    RepoPath::from_bytes([root.as_bytes(), slash, name.as_bytes()].concat())
}

fn contains(root: &RepoPath, path: &RepoPath) -> bool {
    let root = root.as_bytes();
    root.is_empty() || path.as_bytes().strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn parent(path: &RepoPath) -> RepoPath {
    let bytes = path.as_bytes();
    let end = bytes.iter().rposition(|b| *b == b'/').unwrap_or(0);
    RepoPath::from_bytes(&bytes[..end])
}

fn is_foreign(path: &RepoPath) -> bool {
    path.as_bytes().split(|b| *b == b'/').any(|part| FOREIGN.iter().any(|name| name.as_bytes() == part))
}

/// A `test` or `tests` folder, with all below it, belongs to the project around it.
fn above_tests(folder: &RepoPath) -> RepoPath {
    let mut end = 0;
    for part in folder.as_bytes().split(|b| *b == b'/') {
        if matches!(part, b"test" | b"tests" | b"__tests__") {
            return RepoPath::from_bytes(&folder.as_bytes()[..end.max(1) - 1]);
        }
        end += part.len() + 1;
    }
    folder.clone()
}

/// Python tests belong to the nearest folder that is packaged or configured.
fn python_root(listing: &Listing<'_>, folder: &RepoPath) -> RepoPath {
    let mut here = folder.clone();
    loop {
        let manifests = ["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"];
        if manifests.iter().any(|name| listing.files.contains(&join(&here, name))) {
            return here;
        }
        if here.as_bytes().is_empty() {
            return above_tests(folder);
        }
        here = parent(&here);
    }
}

fn cargo(text: &str) -> &'static str {
    let workspace = text.lines().any(|line| line.trim_start().starts_with("[workspace"));
    if workspace { "cargo test --workspace" } else { "cargo test" }
}

pub(super) fn script(package: &serde_json::Value, name: &str) -> Option<String> {
    package.get("scripts")?.get(name)?.as_str().map(str::to_owned)
}

/// `npm test`, or the script itself where it is node's own runner, so that its report can be switched on.
fn npm_command(text: &str) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let tested = script(&package, "test").filter(|script| !script.contains("no test specified"))?;
    if runner::recognise(&tested).runner != crate::floor::tests_run::Runner::NodeTest {
        return Some("npm test".to_owned());
    }
    let around = [script(&package, "pretest"), Some(tested), script(&package, "posttest")];
    Some(around.into_iter().flatten().collect::<Vec<_>>().join(" && "))
}

fn has_test_target(text: &str) -> bool {
    text.lines().any(|line| {
        line.split_once(':').is_some_and(|(names, rest)| {
            !rest.starts_with('=') && !line.starts_with('\t') && names.split_whitespace().any(|name| name == "test")
        })
    })
}

fn is_python(name: &[u8], read: &dyn Fn() -> Result<String, PlanError>) -> Result<bool, PlanError> {
    Ok(match name {
        b"pytest.ini" | b".pytest.ini" | b"conftest.py" => true,
        b"pyproject.toml" => read()?.contains("[tool.pytest"),
        b"setup.cfg" => read()?.contains("[tool:pytest]"),
        b"tox.ini" => read()?.contains("[pytest]"),
        _ => name.strip_suffix(b".py").is_some_and(|stem| stem.starts_with(b"test_") || stem.ends_with(b"_test")),
    })
}

fn is_node_test(name: &[u8]) -> bool {
    [".test.js", ".test.mjs", ".test.cjs"].iter().any(|end| name.ends_with(end.as_bytes()))
}
