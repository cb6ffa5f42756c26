//! `tests/trees`: for each ecosystem a small project, one honest change, and one lie per rule about tests, all of them
//! judged by the real binary. `tests/trees/README.md` says how a tree is laid out.

use crate::support::trial::{ID, Trial};
use crate::support::{Board, Outcome, has};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What `tree.json` says of a project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    /// A command that succeeds where the project's tests can be run.
    needs: Vec<String>,
    /// The settings' test command; null leaves it to discovery.
    command: Option<String>,
    /// The task's one criterion.
    criterion: String,
    lies: Vec<Lie>,
}

/// One false change.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lie {
    /// Its folder below `lies/`; `<name>.base/` lies over the base.
    name: String,
    /// The check that finds it, in which state, with which words.
    check: String,
    state: String,
    says: String,
    /// Files that it deletes.
    #[serde(default)]
    removes: Vec<String>,
    /// True: it does not rest on the honest change.
    #[serde(default)]
    alone: bool,
    /// True: the honest change is judged on its base as well, and lands.
    #[serde(default)]
    honest: bool,
    /// The task's type, if it is no feature.
    kind: Option<String>,
    /// Another criterion.
    criterion: Option<String>,
    /// A file whose text is added to the context's README.
    readme: Option<String>,
}

/// One project on disk.
struct Project {
    folder: PathBuf,
    tree: Tree,
}

impl Project {
    /// None if its tools are missing here, which is said aloud.
    fn open(name: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(name);
        let text = std::fs::read_to_string(folder.join("tree.json")).unwrap();
        let tree: Tree = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{name}/tree.json: {why}"));
        let (program, args) = tree.needs.split_first().unwrap();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        has(program, &args).then_some(Self { folder, tree })
    }

    /// The files of an overlay by their path in the project; a name's last `.tree` only hides the file from this
    /// project's own tools.
    fn files(&self, overlay: &str) -> Vec<(String, String)> {
        let top = self.folder.join(overlay);
        let mut found = Vec::new();
        for entry in walkdir::WalkDir::new(&top).sort_by_file_name().into_iter().flatten() {
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(&top).unwrap().to_str().unwrap();
                let path = path.strip_suffix(".tree").unwrap_or(path).to_owned();
                found.push((path, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
        found
    }

    /// The base with this lie's overlay, and its task.
    fn start(&self, lie: Option<&Lie>) -> Trial {
        let tree = &self.tree;
        let criterion = lie.and_then(|lie| lie.criterion.as_ref()).unwrap_or(&tree.criterion);
        let mut board = Board::two_root(ID).criterion(criterion);
        if let Some(kind) = lie.and_then(|lie| lie.kind.as_ref()) {
            board = board.kind(kind);
        }
        if let Some(readme) = lie.and_then(|lie| lie.readme.as_ref()) {
            board = board.readme(&std::fs::read_to_string(self.folder.join(readme)).unwrap());
        }
        let settings = tree.command.as_ref().map_or(String::from("limits: {boot-seconds: 60}\n"), |command| {
            format!("tests:\n  command: {command}\nlimits: {{boot-seconds: 60}}\n")
        });
        Trial::on_project(&board, |repo| {
            repo.write(".agentheim/countersign.yaml", &settings);
            let mut files = self.files("base");
            files.extend(lie.iter().flat_map(|lie| self.files(&format!("lies/{}.base", lie.name))));
            let top = repo.path().to_str().unwrap().to_owned();
            for (path, text) in files {
                repo.write(path, text.replace("@TOP@", &top));
            }
        })
    }

    fn lay(&self, trial: &Trial, overlay: &str) {
        let files = self.files(overlay);
        assert!(!files.is_empty() || overlay.starts_with("lies/"), "{overlay} is empty");
        for (path, text) in files {
            trial.work(&path, text.replace("@TOP@", trial.repo.path().to_str().unwrap()));
        }
    }

    fn honest(&self, lie: Option<&Lie>) -> Outcome {
        let trial = self.start(lie);
        self.lay(&trial, "honest");
        trial.verify(&[])
    }

    fn lie(&self, lie: &Lie) -> Outcome {
        let trial = self.start(Some(lie));
        if !lie.alone {
            self.lay(&trial, "honest");
        }
        self.lay(&trial, &format!("lies/{}", lie.name));
        for path in &lie.removes {
            std::fs::remove_file(trial.worktree.join(path)).unwrap();
        }
        trial.verify(&[])
    }

    /// Judges the honest change and every lie; all that went wrong is told together.
    fn judge_all(&self) {
        let mut wrong = String::new();
        let mut honest = |of: &str, outcome: &Outcome| {
            if outcome.decision() != "land" {
                let _ = writeln!(wrong, "honest {of} does not land: {}\n{}", outcome.decision(), outcome.words());
            }
        };
        honest("change", &self.honest(None));
        for lie in self.tree.lies.iter().filter(|lie| lie.honest) {
            honest(&format!("twin of {}", lie.name), &self.honest(Some(lie)));
        }
        for lie in &self.tree.lies {
            let outcome = self.lie(lie);
            if let Some(why) = escaped(lie, &outcome) {
                let _ = writeln!(wrong, "{}: {why}\n{}", lie.name, outcome.words());
            }
        }
        assert!(wrong.is_empty(), "{}\n{wrong}", self.folder.display());
    }
}

/// Why a lie was not found as its description says; none if it was.
fn escaped(lie: &Lie, outcome: &Outcome) -> Option<String> {
    let wanted = if lie.state == "deny" { "send-back" } else { "hold" };
    let decision = outcome.decision();
    // What only asks may meet a denial as well, never a landing.
    if decision != wanted && !(wanted == "hold" && decision == "send-back") {
        return Some(format!("the decision is {decision}"));
    }
    let check = outcome.check(&lie.check);
    let findings = check["findings"].as_array().cloned().unwrap_or_default();
    let found = findings
        .iter()
        .any(|finding| finding["state"] == lie.state.as_str() && finding.to_string().contains(&lie.says));
    (!found).then(|| format!("{} has no finding `{}` that says `{}`: {check}", lie.check, lie.state, lie.says))
}

/// Judges one project.
fn judge(name: &str) {
    if let Some(project) = Project::open(name) {
        project.judge_all();
    }
}

#[test]
fn no_lie_of_the_rust_tree_lands_and_no_honest_change_is_denied() {
    judge("rust");
}

#[test]
fn no_lie_of_the_python_tree_lands_and_no_honest_change_is_denied() {
    judge("python");
}

#[test]
fn no_lie_of_the_node_tree_lands_and_no_honest_change_is_denied() {
    judge("node");
}
