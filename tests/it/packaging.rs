//! What ships beside the program: the action, the GitLab component, the hooks, the workflows, completions and pages.

use crate::support::{Board, TestRepo, write_script};
use serde_yaml::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|why| panic!("{file}: {why}"))
}

pub(crate) fn yaml(file: &str) -> Value {
    serde_yaml::from_str(&text(file)).unwrap_or_else(|why| panic!("{file}: {why}"))
}

/// Every mapping in a document that has this key.
fn with_key<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Mapping(map) => {
            if map.contains_key(key) {
                found.push(value);
            }
            map.values().for_each(|inner| with_key(inner, key, found));
        }
        Value::Sequence(list) => list.iter().for_each(|inner| with_key(inner, key, found)),
        _ => {}
    }
}

/// The scripts of a document.
fn scripts(document: &Value) -> Vec<String> {
    let mut steps = Vec::new();
    with_key(document, "run", &mut steps);
    steps.iter().map(|step| step["run"].as_str().unwrap().to_owned()).collect()
}

fn assert_shell(repo: &TestRepo, shell: &str, script: &str) {
    let file = repo.root().join("script");
    std::fs::write(&file, script).unwrap();
    let done = repo.command(shell, repo.root()).arg("-n").arg(&file).output().unwrap();
    assert!(done.status.success(), "{}\n{script}", String::from_utf8_lossy(&done.stderr));
}

/// The words between these marks, anywhere in a text.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Vec<&'t str> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(close)).map(|(inner, _)| inner.trim()).collect()
}

#[test]
fn no_script_of_an_action_or_workflow_has_text_of_an_event_pasted_into_it() {
    let repo = TestRepo::new();
    for file in ["action.yml", ".github/workflows/gate.yml", ".github/workflows/release.yml"] {
        let scripts = scripts(&yaml(file));
        assert!(!scripts.is_empty(), "{file}");
        for script in scripts {
            // A branch's name may hold `$(…)`: it reaches a shell as a variable or not at all.
            assert!(!script.contains("${{"), "{file}: an expression inside a script:\n{script}");
            assert!(script.lines().count() == 1 || script.starts_with("set -euo pipefail\n"), "{file}:\n{script}");
            assert_shell(&repo, "bash", &script);
        }
    }
}

#[test]
fn the_action_is_composite_and_reads_only_what_it_declares() {
    let action = yaml("action.yml");
    assert_eq!(action["runs"]["using"], "composite");
    let whole = text("action.yml");
    let declared: BTreeSet<String> =
        action["inputs"].as_mapping().unwrap().keys().map(|key| key.as_str().unwrap().to_owned()).collect();
    let used: BTreeSet<String> = between(&whole, "${{ inputs.", "}}").into_iter().map(str::to_owned).collect();
    assert_eq!(declared, used);
    let steps = action["runs"]["steps"].as_sequence().unwrap();
    assert!(steps.iter().all(|step| step["shell"] == "bash"), "a composite step names its shell");
    let ids: Vec<&str> = steps.iter().filter_map(|step| step["id"].as_str()).collect();
    for output in between(&whole, "${{ steps.", "}}") {
        let (step, name) = output.split_once(".outputs.").unwrap();
        assert!(ids.contains(&step), "{output}");
        let own = steps.iter().find(|one| one["id"] == step).unwrap()["run"].as_str().unwrap();
        let told = step == "gate" || own.contains(&format!("\"{name}="));
        assert!(told, "the step {step} has no output {name}");
    }
    assert!(whole.contains("--unshallow"), "the whole history is fetched");
}

#[test]
fn the_gate_of_this_repository_runs_for_queues_and_can_not_be_skipped() {
    let gate = yaml(".github/workflows/gate.yml");
    let events: Vec<&str> = gate["on"].as_mapping().unwrap().keys().filter_map(Value::as_str).collect();
    assert_eq!(events, ["pull_request", "merge_group", "push"]);
    assert!(gate["concurrency"]["group"].as_str().unwrap().contains("github.event.pull_request.number"));
    let job = &gate["jobs"]["countersign"];
    for skipping in ["if", "needs", "continue-on-error", "strategy"] {
        assert!(job.get(skipping).is_none(), "a job with `{skipping}` may be skipped, and that counts as passed");
    }
    let filters = gate["on"]["pull_request"].as_mapping();
    assert!(filters.is_none(), "a filter on paths or branches is a way around the gate: {filters:?}");
    assert_eq!(job["permissions"]["contents"], "read");
    let steps = job["steps"].as_sequence().unwrap();
    assert_eq!(steps[0]["with"]["fetch-depth"], 0);
    let judge = steps.iter().find(|step| step["with"]["path"] == ".judge").unwrap();
    assert!(judge["with"]["ref"].as_str().unwrap().contains("base.sha"), "the judge comes from the base");
    let (at, used) = steps.iter().enumerate().find(|(_, step)| step["uses"] == "./.judge").unwrap();
    assert!(at > 1 && used.get("if").is_none() && used.get("continue-on-error").is_none());
    let mut uses = Vec::new();
    with_key(&gate, "uses", &mut uses);
    let checkout = |step: &&&Value| step["uses"].as_str().unwrap().starts_with("actions/checkout@");
    assert!(
        uses.iter().filter(checkout).all(|step| step["uses"].as_str().unwrap().len() == "actions/checkout@".len() + 40)
    );
}

#[test]
fn the_gitlab_component_uses_the_inputs_and_files_that_exist() {
    let whole = text("templates/gate.yml");
    let documents: Vec<Value> = serde_yaml::Deserializer::from_str(&whole)
        .map(|document| serde::Deserialize::deserialize(document).unwrap())
        .collect();
    let [spec, jobs] = &documents[..] else { panic!("a component is two documents") };
    let declared: BTreeSet<&str> =
        spec["spec"]["inputs"].as_mapping().unwrap().keys().filter_map(Value::as_str).collect();
    let used: BTreeSet<&str> = between(&whole, "$[[ inputs.", "]]").into_iter().collect();
    assert_eq!(declared, used);
    let job = &jobs["countersign"];
    assert_eq!(job["variables"]["GIT_DEPTH"], "0");
    assert!(job.get("allow_failure").is_none());
    assert_eq!(job["artifacts"]["when"], "always");
    for (kind, file) in [("junit", "countersign.junit.xml"), ("codequality", "countersign.code-quality.json")] {
        assert_eq!(job["artifacts"]["reports"][kind], format!("countersign-report/{file}"));
    }
    let repo = TestRepo::new();
    for part in ["before_script", "script"] {
        for line in job[part].as_sequence().unwrap() {
            assert_shell(&repo, "sh", &line.as_str().unwrap().replace("$[[ inputs.install ]]", "true"));
        }
    }
}

#[test]
fn the_hooks_name_commands_that_exist() {
    let repo = TestRepo::new();
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hooks = hooks.as_sequence().unwrap();
    let stages: Vec<_> = hooks.iter().map(|hook| hook["stages"][0].as_str().unwrap()).collect();
    assert_eq!(stages, ["pre-push", "commit-msg"]);
    for hook in hooks {
        assert_eq!(hook["language"], "rust");
        let mut words: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
        assert_eq!(words.remove(0), "countersign");
        words.push("--help");
        repo.run(&words).exits(0);
    }
}

#[test]
fn a_release_has_the_archives_that_binstall_looks_for() {
    let manifest = text("Cargo.toml");
    let value = |key: &str| between(&manifest, &format!("\n{key} = \""), "\"").first().copied().unwrap().to_owned();
    let (url, inside) = (value("pkg-url"), value("bin-dir"));
    let release = yaml(".github/workflows/release.yml");
    let script = scripts(&release).concat();
    let archive = url.rsplit('/').next().unwrap().replace("{ target }", "$TARGET");
    assert!(script.contains(&format!("\"{archive}\"")), "{archive} is not uploaded");
    let folder = inside.strip_suffix("/{ bin }").unwrap().replace("{ target }", "$TARGET");
    assert!(script.contains(&format!("folder={folder}\n")), "{folder} is not what is packed");
    assert!(url.contains("/v{ version }/"));
    assert_eq!(release["on"]["push"]["tags"][0], "v*");
    assert!(manifest.contains("\n[profile.release]\n"));
}

/// The program's commands, `board list` as two words, from its own help.
fn commands(repo: &TestRepo, above: &[&str]) -> Vec<Vec<String>> {
    let help = repo.run(&[above, &["--help"]].concat()).exits(0).stdout;
    let listed = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut found = Vec::new();
    for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        let words: Vec<&str> = above.iter().copied().chain([name]).collect();
        found.push(words.iter().map(|word| (*word).to_owned()).collect());
        found.extend(commands(repo, &words));
    }
    found
}

#[test]
fn every_command_has_its_page_and_its_completion() {
    let repo = TestRepo::new();
    let commands = commands(&repo, &[]);
    assert!(commands.len() > 10, "{commands:?}");
    let folder = repo.root().join("pages");
    repo.run(&["man", "--output", folder.to_str().unwrap()]).exits(0);
    let mut wanted: BTreeSet<String> =
        commands.iter().map(|words| format!("countersign-{}.1", words.join("-"))).collect();
    wanted.insert("countersign.1".to_owned());
    let found: BTreeSet<String> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(found, wanted);
    for name in &found {
        let page = std::fs::read_to_string(folder.join(name)).unwrap();
        let title = name.strip_suffix(".1").unwrap();
        assert!(page.contains(&format!(".TH {}", title.to_uppercase())), "{name}: {page}");
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
    }
    let main = repo.run(&["man"]).exits(0).stdout;
    assert_eq!(main.trim_end(), std::fs::read_to_string(folder.join("countersign.1")).unwrap().trim_end());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = repo.run(&["completions", shell]).exits(0).stdout;
        for words in &commands {
            assert!(script.contains(words.last().unwrap()), "{shell}: {words:?}");
        }
    }
    assert_shell(&repo, "bash", &repo.run(&["completions", "bash"]).exits(0).stdout);
    repo.run(&["completions", "cobol"]).exits(2);
}

#[test]
fn a_commit_that_names_a_task_the_board_lacks_is_refused_by_the_hook() {
    let repo = TestRepo::new();
    Board::two_root("core-001").status("todo").criterion("it is so").commit(&repo);
    let hook = format!("#!/bin/sh\nexec '{}' board message \"$1\"\n", env!("CARGO_BIN_EXE_countersign"));
    write_script(&repo.path().join(".git/hooks/commit-msg"), &hook);
    let commit = |message: &str| {
        let done = repo.try_git_in(&repo.path(), &["commit", "-q", "--allow-empty", "-m", message]);
        (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
    };
    for good in ["feat(core): make it [core-001]", "fix: no task at all", "fix: an array[0]"] {
        assert!(commit(good).0, "{good}");
    }
    let (made, said) = commit("feat(core): make it [core-010]");
    assert!(!made);
    assert!(said.contains("the message names [core-010]: the board has no such task"), "{said}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "fix: an array[0]");
}

#[test]
fn a_project_without_a_board_may_put_anything_in_brackets() {
    let repo = TestRepo::new();
    let file = repo.root().join("message");
    std::fs::write(&file, "fix: it [bug-12]\n").unwrap();
    repo.run(&["board", "message", file.to_str().unwrap()]).exits(0);
    let gone = repo.run(&["board", "message", "nowhere"]).exits(4);
    assert!(gone.stderr.contains("cannot read the message in "), "{gone}");
}
