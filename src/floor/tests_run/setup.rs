//! What a room needs before its tests can run: the settings' own commands, or the known set-up of each lockfile.
//!
//! Code of the claim never runs with the network open in a known set-up: packages are fetched first, their install
//! scripts run afterwards without it. A set-up that fails is the environment's fault, never the worker's.

use super::{Runner, TestCommand};
use crate::config::TestSettings;
use crate::host::path::{RepoPath, escape};
use std::path::Path;

/// A larger lockfile is taken to name packages without being read.
const LARGEST_LOCKFILE: u64 = 32 << 20;

/// One set-up command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) command: String,
    /// Where it runs, below the top of the tree.
    pub(super) root: RepoPath,
    /// True if it may reach the network.
    pub(super) network: bool,
    /// Tried if this one fails.
    pub(super) otherwise: Option<Box<Step>>,
}

/// The set-ups of a room for these commands, each once.
pub(super) fn steps(settings: &TestSettings, commands: &[TestCommand], room: &Path) -> Vec<Step> {
    let step = |command: &str, root: &RepoPath, network: bool| Step {
        command: command.to_owned(),
        root: root.clone(),
        network,
        otherwise: None,
    };
    if !settings.setup.is_empty() {
        return settings.setup.iter().map(|command| step(command, &RepoPath::from(""), true)).collect();
    }
    let mut steps: Vec<Step> = Vec::new();
    for TestCommand { root, runner, .. } in commands {
        let lockfile = |name: &str| read(&room.join(root.to_path_buf()).join(name));
        match runner {
            Runner::NodeTest | Runner::Npm
                if lockfile("package-lock.json").is_some_and(|text| names_packages(&text)) =>
            {
                steps.push(step("npm ci --ignore-scripts --no-audit --no-fund", root, true));
                steps.push(step("npm rebuild", root, false));
            }
            Runner::CargoTest if lockfile("Cargo.lock").is_some_and(|text| text.contains("\nsource = ")) => {
                // The user's own cache first: it is lent read-only. What it lacks goes into a private one.
                let private = step("CARGO_HOME=\"$COUNTERSIGN_CARGO_HOME\" cargo fetch", root, true);
                let mut cached = step("cargo fetch --offline", root, false);
                cached.otherwise = Some(Box::new(private));
                steps.push(cached);
            }
            _ => {}
        }
    }
    steps.dedup();
    steps
}

/// True if installing would install something: npm lists the project itself under the empty name.
fn names_packages(lockfile: &str) -> bool {
    let Ok(lock) = serde_json::from_str::<serde_json::Value>(lockfile) else { return true };
    match lock.get("packages").and_then(serde_json::Value::as_object) {
        Some(packages) => packages.keys().any(|name| !name.is_empty()),
        None => lock.get("dependencies").and_then(serde_json::Value::as_object).is_some_and(|all| !all.is_empty()),
    }
}

fn read(path: &Path) -> Option<String> {
    let meta = std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    if meta.len() > LARGEST_LOCKFILE {
        return Some("{\nsource = ".to_owned());
    }
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// For messages.
pub(super) fn place(root: &RepoPath) -> String {
    if root.as_bytes().is_empty() { "the top of the tree".to_owned() } else { escape(root.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::tests_run::ReportWay;

    fn command(runner: Runner) -> TestCommand {
        TestCommand {
            command: "x".to_owned(),
            root: RepoPath::from("a"),
            source: String::new(),
            runner,
            report: ReportWay::None,
        }
    }

    #[test]
    fn only_a_lockfile_that_names_packages_needs_a_set_up() {
        let room = tempfile::tempdir().unwrap();
        let folder = room.path().join("a");
        std::fs::create_dir(&folder).unwrap();
        let found = |runner| steps(&TestSettings::default(), &[command(runner), command(runner)], room.path());
        assert!(found(Runner::Npm).is_empty() && found(Runner::CargoTest).is_empty());
        std::fs::write(folder.join("package-lock.json"), "{\"packages\":{\"\":{}}}").unwrap();
        std::fs::write(folder.join("Cargo.lock"), "[[package]]\nname = \"toy\"\n").unwrap();
        assert!(found(Runner::Npm).is_empty() && found(Runner::CargoTest).is_empty());
        std::fs::write(folder.join("package-lock.json"), "{\"packages\":{\"\":{},\"node_modules/x\":{}}}").unwrap();
        std::fs::write(folder.join("Cargo.lock"), "[[package]]\nname = \"x\"\nsource = \"registry\"\n").unwrap();
        let npm = found(Runner::Npm);
        assert!(npm[0].network && npm[0].command.contains("--ignore-scripts") && !npm[1].network, "{npm:?}");
        let cargo = found(Runner::CargoTest);
        assert_eq!(cargo.len(), 1, "once a room");
        assert!(!cargo[0].network && cargo[0].otherwise.as_ref().is_some_and(|step| step.network));
    }

    #[test]
    fn the_settings_replace_the_known_set_ups() {
        let settings = TestSettings { setup: vec!["make deps".to_owned()], ..TestSettings::default() };
        let steps = steps(&settings, &[command(Runner::Npm)], Path::new("/nonexistent"));
        assert_eq!((steps.len(), steps[0].command.as_str(), steps[0].network), (1, "make deps", true));
    }
}
