//! What a room needs before its tests can run: the settings' own commands, or the known set-up of each lockfile.
//!
//! Code of the claim never runs with the network open in a known set-up: packages are fetched first, their install
//! scripts run afterwards without it. A set-up that fails is the environment's fault, never the worker's.

use super::discovery::join;
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
    /// The folder of the tree that it fills, if that may be kept for later rooms.
    pub(super) fills: Option<RepoPath>,
}

/// The set-ups of a room for these commands, each once.
pub(super) fn steps(settings: &TestSettings, commands: &[TestCommand], room: &Path) -> Vec<Step> {
    let step = |command: &str, root: &RepoPath, network: bool| Step {
        command: command.to_owned(),
        root: root.clone(),
        network,
        otherwise: None,
        fills: None,
    };
    if !settings.setup.is_empty() {
        return settings.setup.iter().map(|command| step(command, &RepoPath::from(""), true)).collect();
    }
    let mut steps: Vec<Step> = Vec::new();
    for TestCommand { root, runner, .. } in commands {
        let lockfile = |name: &str| read(&room.join(root.to_path_buf()).join(name));
        match runner {
            _ if runner.is_node() && lockfile("package-lock.json").is_some_and(|text| names_packages(&text)) => {
                let mut install = step("npm ci --ignore-scripts --no-audit --no-fund", root, true);
                install.fills = Some(join(root, "node_modules"));
                steps.push(install);
                steps.push(step("npm rebuild", root, false));
            }
            Runner::CargoTest | Runner::Nextest
                if lockfile("Cargo.lock").is_some_and(|text| text.contains("\nsource = ")) =>
            {
                // The user's own cache first: it is lent read-only. What it lacks goes into a private one.
                let private = step("CARGO_HOME=\"$COUNTERSIGN_CARGO_HOME\" cargo fetch", root, true);
                let mut cached = step("cargo fetch --offline", root, false);
                cached.otherwise = Some(Box::new(private));
                steps.push(cached);
            }
            Runner::Pytest => {
                let folder = room.join(root.to_path_buf());
                let lists: Vec<&str> =
                    REQUIREMENTS.iter().copied().filter(|name| only_names(&folder, name, 0)).collect();
                if !lists.is_empty() {
                    steps.push(pip(&lists, root));
                }
            }
            _ => {}
        }
    }
    steps.dedup();
    steps
}

/// Lists of python packages that are installed without being asked.
const REQUIREMENTS: &[&str] = &["requirements.txt", "requirements-dev.txt", "requirements-test.txt"];

/// Installs lists of packages where the python at hand lacks them: ready-made ones only, because building a package runs
/// its code, and the network is open.
fn pip(lists: &[&str], root: &RepoPath) -> Step {
    let lists = lists.iter().map(|name| format!(" -r {name}")).collect::<String>();
    // The interpreter itself: a version manager's stand-in would also write into its own folder, which the box refuses.
    let python = "\"$(python3 -c 'import sys; print(sys.executable)')\"";
    let pip = format!("{python} -m pip --disable-pip-version-check install --quiet");
    let step =
        |command: String, network, otherwise| Step { command, root: root.clone(), network, otherwise, fills: None };
    let install = step(format!("{pip} --only-binary :all: --target \"$COUNTERSIGN_PYTHON\"{lists}"), true, None);
    step(format!("{pip} --dry-run --no-index{lists}"), false, Some(Box::new(install)))
}

/// True if a requirements file is there and names packages of an index only: no folder, no address, no editable install.
fn only_names(folder: &Path, name: &str, depth: usize) -> bool {
    let Some(text) = read(&folder.join(name)).filter(|_| depth < 8) else { return false };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            let option = |short: &str, long: &str| {
                let rest = line.strip_prefix(long).or_else(|| line.strip_prefix(short))?;
                Some(rest.trim_start_matches('=').trim())
            };
            if let Some(other) = option("-r", "--requirement").or_else(|| option("-c", "--constraint")) {
                let path = RepoPath::from(other.trim_start_matches("./"));
                return path.is_safe() && only_names(folder, other, depth + 1);
            }
            line.starts_with(|c: char| c.is_ascii_alphanumeric()) && !line.contains("://") && !line.contains(" @ ")
        })
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
    use crate::floor::tests_run::{ReportWay, Through};

    fn command(runner: Runner) -> TestCommand {
        TestCommand {
            command: "x".to_owned(),
            root: RepoPath::from("a"),
            source: String::new(),
            runner,
            report: ReportWay::None("x"),
            through: Through::Directly,
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
    fn a_list_of_packages_is_installed_without_running_code_that_it_names() {
        let room = tempfile::tempdir().unwrap();
        std::fs::create_dir(room.path().join("a")).unwrap();
        let found = |text: &str| {
            std::fs::write(room.path().join("a/requirements.txt"), text).unwrap();
            steps(&TestSettings::default(), &[command(Runner::Pytest)], room.path())
        };
        let steps = found("# what we need\npytest>=8\nrequests[socks]==2.0 ; python_version > '3'\n");
        assert_eq!(steps.len(), 1);
        assert!(!steps[0].network && steps[0].command.ends_with("--no-index -r requirements.txt"), "{steps:?}");
        let install = steps[0].otherwise.as_ref().unwrap();
        assert!(install.network && install.command.contains("--only-binary :all:"), "{install:?}");
        for text in
            ["-e .\n", "./pkg\n", "pkg @ git+https://x/y\n", "--index-url https://x\n", "-r ../o.txt\n", "-r no\n"]
        {
            assert!(found(text).is_empty(), "{text}");
        }
        std::fs::write(room.path().join("a/more.txt"), "attrs\n").unwrap();
        assert_eq!(found("-r more.txt\n--constraint=more.txt\n").len(), 1);
    }

    #[test]
    fn the_settings_replace_the_known_set_ups() {
        let settings = TestSettings { setup: vec!["make deps".to_owned()], ..TestSettings::default() };
        let steps = steps(&settings, &[command(Runner::Npm)], Path::new("/nonexistent"));
        assert_eq!((steps.len(), steps[0].command.as_str(), steps[0].network), (1, "make deps", true));
    }
}
