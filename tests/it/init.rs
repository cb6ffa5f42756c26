//! `countersign init`: prompts and skills reach a project, or a plugin, and nobody's text is lost.

use crate::support::{Outcome, TestRepo, write};
use std::collections::BTreeMap;
use std::path::Path;

const PROMPTS: [&str; 5] = [
    ".claude/agents/worker.md",
    ".claude/agents/verifier.md",
    ".claude/skills/work/SKILL.md",
    ".claude/skills/verification-before-completion/SKILL.md",
    ".claude/skills/false-completion-gate/SKILL.md",
];

/// Every file below a folder with its bytes, the git directory aside.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git")
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let name = entry.path().strip_prefix(folder).unwrap().display().to_string();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn shipped(file: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn states(outcome: &Outcome) -> Vec<(String, String, String)> {
    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["path"]), text(&one["state"]), text(&one["deed"])))
        .collect()
}

#[test]
fn init_installs_what_the_binary_carries_and_a_second_run_changes_nothing() {
    let repo = TestRepo::new();
    write(&repo.path(), "sub/x.txt", "x");
    let first = repo.run_with(&repo.path().join("sub"), &["init"], &[], b"");
    assert_eq!(first.exits(0).stdout.matches("written ").count(), PROMPTS.len());
    for file in PROMPTS {
        let own = file.strip_prefix(".claude/").unwrap();
        assert_eq!(files(&repo.path())[file], shipped(own), "{file}");
    }
    let before = files(&repo.path());
    assert_eq!(repo.run(&["init"]).exits(0).stdout.matches("current ").count(), PROMPTS.len());
    assert_eq!(files(&repo.path()), before);
    repo.run(&["init", "--check"]).exits(0);
    assert_eq!(repo.git(&["status", "--porcelain", "--", "a.txt", ".gitignore"]), "");
}

#[test]
fn a_check_writes_nothing_and_says_what_is_missing() {
    let repo = TestRepo::new();
    let outcome = repo.run(&["init", "--check", "--json"]);
    let found = states(&outcome.exits(1));
    assert!(found.iter().all(|(_, state, deed)| state == "missing" && deed == "nothing"), "{found:?}");
    assert_eq!(found.len(), PROMPTS.len());
    assert!(!repo.path().join(".claude").exists());
}

#[test]
fn a_file_that_somebody_changed_is_named_and_left_alone() {
    let repo = TestRepo::new();
    repo.run(&["init"]).exits(0);
    repo.write(PROMPTS[1], "my own judge\n");
    let held = repo.run(&["init"]);
    assert!(
        held.exits(3).stdout.contains("changed      .claude/agents/verifier.md: it is not as countersign wrote it")
    );
    assert_eq!(files(&repo.path())[PROMPTS[1]], b"my own judge\n");
    assert!(repo.run(&["init", "--check"]).exits(1).stdout.contains("changed      .claude/agents/verifier.md"));
    assert!(repo.run(&["init", "--force"]).exits(0).stdout.contains("overwritten  .claude/agents/verifier.md"));
    assert_eq!(files(&repo.path())[PROMPTS[1]], shipped("agents/verifier.md"));
}

#[test]
fn a_text_that_was_there_first_is_not_ours() {
    let repo = TestRepo::new();
    repo.write(PROMPTS[0], "a worker of long ago\n");
    let outcome = repo.run(&["init", "--json"]);
    let found = states(&outcome.exits(3));
    assert_eq!(found[0], (PROMPTS[0].to_owned(), "changed".to_owned(), "left-alone".to_owned()));
    assert!(found[1..].iter().all(|(_, _, deed)| deed == "written"), "{found:?}");
}

#[test]
fn nothing_is_written_through_a_link() {
    let repo = TestRepo::new();
    let elsewhere = repo.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, repo.path().join(".claude")).unwrap();
    for force in [&["init"][..], &["init", "--force"]] {
        let outcome = repo.run(force);
        assert_eq!(outcome.exits(3).stdout.matches("is a symbolic link; it was left alone").count(), PROMPTS.len());
    }
    assert_eq!(files(&elsewhere), BTreeMap::new());
}

#[test]
fn a_plugin_is_written_into_the_folder_that_is_named() {
    let repo = TestRepo::new();
    let folder = repo.root().join("plugin");
    repo.run(&["init", "--plugin", folder.to_str().unwrap()]).exits(0);
    let found = files(&folder);
    for file in
        [".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "agents/worker.md", "agents/verifier.md"]
    {
        assert_eq!(found[file], shipped(file), "{file}");
    }
    assert_eq!(found.len(), 8, "seven files and the record: {:?}", found.keys());
    assert!(!repo.path().join(".claude").exists());
    repo.run(&["init", "--check", "--plugin", folder.to_str().unwrap()]).exits(0);
}

#[test]
fn outside_a_repository_there_is_no_project_to_install_into() {
    let repo = TestRepo::new();
    let outside = repo.root().join("nowhere");
    std::fs::create_dir(&outside).unwrap();
    let outcome = repo.run_with(&outside, &["init"], &[], b"");
    assert!(outcome.exits(4).stderr.contains("is not inside a git repository"));
    assert_eq!(files(&outside), BTreeMap::new());
}

#[test]
fn hooks_join_what_the_programs_settings_hold_already() {
    let repo = TestRepo::new();
    repo.write(
        ".claude/settings.json",
        r#"{"model":"m","hooks":{"Stop":[{"hooks":[{"type":"command","command":"bell"}]}]}}"#,
    );
    assert!(!repo.run(&["init", "--check"]).exits(1).stdout.contains("settings.json"), "hooks are asked for by name");
    let looked = repo.run(&["init", "--check", "--hooks"]);
    let looked = looked.exits(1);
    assert!(looked.stdout.contains("missing      .codex/hooks.json"), "{looked}");
    assert!(!repo.path().join(".codex").exists());
    let first = repo.run(&["init", "--hooks"]);
    let first = first.exits(0);
    assert!(first.stdout.contains("written      .claude/settings.json"), "{first}");
    let read = |path: &str| -> serde_json::Value { serde_json::from_slice(&files(&repo.path())[path]).unwrap() };
    let (claude, codex) = (read(".claude/settings.json"), read(".codex/hooks.json"));
    assert_eq!((&claude["model"], &claude["hooks"]["Stop"][0]["hooks"][0]["command"]), (&"m".into(), &"bell".into()));
    assert_eq!(claude["hooks"]["Stop"][1]["hooks"][0]["command"], "countersign hook stop --host claude");
    assert_eq!(codex["hooks"]["Stop"][0]["hooks"][0]["command"], "countersign hook stop --host codex");
    for (settings, host) in [(&claude, "claude"), (&codex, "codex")] {
        let command = format!("countersign hook start --host {host}");
        assert_eq!(settings["hooks"]["SessionStart"][0]["hooks"][0]["command"], command.as_str());
    }
    let before = files(&repo.path());
    repo.run(&["init", "--hooks"]).exits(0);
    repo.run(&["init", "--hooks", "--check"]).exits(0);
    assert_eq!(files(&repo.path()), before);
    repo.write(".codex/hooks.json", "// mine\n{}\n");
    let held = repo.run(&["init", "--hooks"]);
    let held = held.exits(3);
    assert!(held.stdout.contains("blocked      .codex/hooks.json: it is not the JSON"), "{held}");
    assert_eq!(files(&repo.path())[".codex/hooks.json"], b"// mine\n{}\n");
}
