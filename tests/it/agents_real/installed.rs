//! The pinned programs of `tests/fakes/programs.txt`, where `.ci/agents` has installed them.

use crate::support::{skip, variable, write_script};
use std::path::{Path, PathBuf};

/// A line of the table.
struct Pin {
    version: &'static str,
    executable: &'static str,
}

fn pin(name: &str) -> Pin {
    let lines = include_str!("../../fakes/programs.txt").lines().filter(|line| !line.starts_with('#'));
    let mut words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    let found = words.find(|words| words.first() == Some(&name));
    let Some(&[_, _, version, executable]) = found.as_deref() else { panic!("{name} is not in programs.txt") };
    Pin { version, executable }
}

/// The pinned version.
pub(super) fn version(name: &str) -> &'static str {
    pin(name).version
}

/// Where `.ci/agents` puts them.
fn folder() -> PathBuf {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || {
        let own = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
        own.unwrap_or_default().join("countersign-agents")
    };
    set("COUNTERSIGN_AGENTS").unwrap_or_else(cache)
}

/// A program's executable; `None`, said aloud, where it is not installed.
pub(super) fn executable(name: &str) -> Option<PathBuf> {
    let Pin { version, executable } = pin(name);
    let found = folder().join(format!("{name}-{version}")).join("node_modules").join(executable);
    if !found.is_file() {
        skip(&format!("{name} {version} is not installed in {}; `.ci/agents` installs it", folder().display()));
        return None;
    }
    Some(found)
}

/// The words that start a program: itself, or Node and its script.
pub(super) fn words(name: &str) -> Option<Vec<String>> {
    let executable = executable(name)?;
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    if executable.extension().is_some_and(|ext| ext == "js") {
        return Some(vec![text(&self::executable("node")?), text(&executable)]);
    }
    Some(vec![text(&executable)])
}

/// One file that starts a program, as a launcher on the `PATH` does; a script of Node's is given its Node.
pub(super) fn wrapped(name: &str, folder: &Path) -> Option<PathBuf> {
    let words = words(name)?;
    if let [one] = words.as_slice() {
        return Some(PathBuf::from(one));
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let file = folder.join(format!("launch-{name}"));
    write_script(&file, &format!("#!/bin/sh\nexec {} \"$@\"\n", quoted.join(" ")));
    Some(file)
}
