//! `countersign doctor`: what is there, what is not, and an exit code for what the settings ask for.

use crate::support::{Outcome, TestRepo, write};
use std::ffi::OsString;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program that answers `--version`.
fn program(folder: &Path, name: &str, script: &str) {
    write(folder, name, format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with `git` and `sh` alone, for a search path on which nothing else is found.
fn tools(repo: &TestRepo, names: &[&str]) -> PathBuf {
    let folder = repo.root().join("tools");
    std::fs::create_dir_all(&folder).unwrap();
    for name in names {
        let found = ["/usr/local/bin", "/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        let real = found.iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("no {name}"));
        std::os::unix::fs::symlink(real, folder.join(name)).unwrap();
    }
    folder
}

fn doctor(repo: &TestRepo, dir: &Path, path: &Path, vars: &[(&str, &str)]) -> Outcome {
    let vars: Vec<_> = vars.iter().map(|(name, value)| (*name, OsString::from(value))).collect();
    let mut all: Vec<_> = vars.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    all.push(("PATH", path.as_os_str()));
    repo.run_with(dir, &["doctor"], &all, b"")
}

/// The line about a thing: its first word and the rest.
fn line<'a>(outcome: &'a Outcome, thing: &str) -> (&'a str, &'a str) {
    let found = outcome.stdout.lines().find(|line| line.split_whitespace().nth(1) == Some(thing));
    let line = found.unwrap_or_else(|| panic!("no line about {thing}:\n{}", outcome.stdout));
    (line.split_whitespace().next().unwrap(), line.split_once(thing).unwrap().1.trim())
}

#[test]
fn a_sound_machine_is_exit_0_and_nothing_is_touched() {
    let repo = TestRepo::new();
    let path = tools(&repo, &["git", "sh"]);
    let before = repo.fingerprint();
    let outcome = doctor(&repo, &repo.path(), &path, &[]).exits(0);
    before.assert_unchanged(&repo.fingerprint());
    assert_eq!(line(&outcome, "git").0, "good");
    assert!(
        line(&outcome, "repository")
            .1
            .contains("SHA-1 objects, references in files, history read by libgit2, one worktree")
    );
    assert_eq!(line(&outcome, "settings"), ("good", "from defaults; verifier mechanical"));
    assert_eq!(line(&outcome, "agent:claude"), ("note", "not on the PATH"));
    assert!(!outcome.stdout.contains("npm"), "nothing that was found needs it");
    repo.no_process_left();
}

#[test]
fn the_box_is_shown_by_a_write_that_it_refuses() {
    let repo = TestRepo::new();
    repo.write(".agentheim/countersign.yaml", "sandbox: {require: landlock}\n");
    repo.commit("settings");
    let outcome = repo.run(&["doctor"]);
    let (word, text) = line(&outcome, "box");
    // Where the kernel cannot confine, the same settings make the same command fail.
    if outcome.code == Some(0) {
        assert!(word == "good" && text.starts_with("a write outside was refused: writes confined"), "{text}");
    } else {
        assert_eq!((outcome.code, word), (Some(4), "MISSING"));
        assert!(text.starts_with("nothing is enforced: ") || text.starts_with("a write outside LANDED: "), "{text}");
    }
    repo.write(".agentheim/countersign.yaml", "sandbox: {require: none}\n");
    repo.commit("off");
    assert_eq!(line(&repo.run(&["doctor"]).exits(0), "box").0, "note");
}

#[test]
fn a_repository_of_another_kind_is_described() {
    let repo = TestRepo::init(&["--object-format=sha256", "--ref-format=reftable"]);
    repo.write("a/x", "x");
    repo.commit("base");
    repo.add_worktree("w-001");
    repo.git(&["sparse-checkout", "set", "a"]);
    repo.git(&["update-index", "--split-index"]);
    let outcome = repo.run(&["doctor"]).exits(0);
    let (_, text) = line(&outcome, "repository");
    for feature in [
        "SHA-256 objects",
        "references in reftable",
        "history read by git",
        "sparse checkout",
        "split index",
        "2 worktrees",
    ] {
        assert!(text.contains(feature), "{feature}: {text}");
    }
}

#[test]
fn a_verifier_that_the_settings_name_and_nobody_has_is_exit_4() {
    let repo = TestRepo::new();
    let settings = "verifier: judge\nverifiers:\n  judge: {command: [the-judge], env: [JUDGE_KEY]}\n";
    repo.write(".agentheim/countersign.yaml", settings);
    repo.commit("settings");
    let path = tools(&repo, &["git", "sh"]);
    let outcome = doctor(&repo, &repo.path(), &path, &[]).exits(4);
    let (word, text) = line(&outcome, "verifier:judge");
    assert_eq!((word, text.starts_with("`the-judge` is not there")), ("MISSING", true));
    assert!(outcome.stdout.contains("not set: JUDGE_KEY"));
    program(&path, "the-judge", "exit 0");
    assert!(doctor(&repo, &repo.path(), &path, &[]).exits(4).stdout.contains("not set: JUDGE_KEY"));
    doctor(&repo, &repo.path(), &path, &[("JUDGE_KEY", "k")]).exits(0);
}

#[test]
fn settings_that_cannot_be_read_are_missing_and_named() {
    let repo = TestRepo::new();
    repo.write(".agentheim/countersign.yaml", "test: {}\n");
    repo.commit("settings");
    let outcome = repo.run(&["doctor"]).exits(4);
    let (word, text) = line(&outcome, "settings");
    assert!(word == "MISSING" && text.contains("base:.agentheim/countersign.yaml"), "{text}");
}

#[test]
fn an_agent_is_found_with_its_version_its_log_in_and_whether_its_model_answers() {
    let repo = TestRepo::new();
    let path = tools(&repo, &["git", "sh"]);
    program(&path, "claude", "echo '2.1.332 (Claude Code)'");
    program(&path, "codex", "exit 3");
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", server.local_addr().unwrap());
    let vars =
        [("ANTHROPIC_BASE_URL", url.as_str()), ("OPENAI_BASE_URL", &url), ("ANTHROPIC_API_KEY", "sk-secret-word")];
    let outcome = doctor(&repo, &repo.path(), &path, &vars).exits(0);
    let (word, text) = line(&outcome, "agent:claude");
    assert!(word == "good" && text.starts_with("2.1.332 (Claude Code), "), "{text}");
    assert!(text.contains("key in ANTHROPIC_API_KEY") && text.ends_with("takes connections"), "{text}");
    assert!(!outcome.stdout.contains("sk-secret-word"));
    let (word, text) = line(&outcome, "agent:codex");
    assert!(word == "lacking" && text.starts_with("does not say its version: exited with code 3"), "{text}");
    assert!(text.contains("no log-in: set CODEX_API_KEY"), "{text}");
    drop(server);
    write(&repo.root().join("home"), ".claude/.credentials.json", "{}");
    let outcome = doctor(&repo, &repo.path(), &path, &vars[..2]).exits(0);
    let text = line(&outcome, "agent:claude").1;
    assert!(text.contains("logged in (") && text.contains(" not reached: "), "{text}");
}

#[test]
fn node_is_looked_for_where_an_agent_needs_it() {
    let repo = TestRepo::new();
    let path = tools(&repo, &["git", "sh"]);
    program(&path, "qwen", "echo 0.24.4");
    let vars = [("OPENAI_BASE_URL", "http://127.0.0.1:1")];
    let outcome = doctor(&repo, &repo.path(), &path, &vars).exits(0);
    assert_eq!(line(&outcome, "node"), ("lacking", "not on the PATH: 22.0 is needed by the programs above"));
    assert_eq!(line(&outcome, "npm").0, "note");
    program(&path, "node", "echo v20.20.2");
    assert_eq!(line(&doctor(&repo, &repo.path(), &path, &vars).exits(0), "node").0, "lacking");
    program(&path, "node", "echo v22.23.3");
    assert_eq!(line(&doctor(&repo, &repo.path(), &path, &vars).exits(0), "node").0, "good");
}

#[test]
fn without_a_git_that_is_new_enough_nothing_can_be_judged() {
    let repo = TestRepo::new();
    let path = repo.root().join("tools");
    std::fs::create_dir(&path).unwrap();
    let outcome = doctor(&repo, &repo.path(), &path, &[]).exits(4);
    assert_eq!(line(&outcome, "git").0, "MISSING");
    program(&path, "git", "echo git version 2.20.1");
    let outcome = doctor(&repo, &repo.path(), &path, &[]).exits(4);
    assert!(line(&outcome, "git").1.starts_with("git 2.20.1 is too old"));
}

#[test]
fn outside_a_repository_the_machine_is_described_all_the_same() {
    let repo = TestRepo::new();
    let outside = repo.root().join("nowhere");
    std::fs::create_dir(&outside).unwrap();
    let outcome = repo.run_with(&outside, &["doctor", "--json"], &[], b"").exits(0);
    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let things = answer["observations"].as_array().unwrap();
    let condition = |thing: &str| things.iter().find(|one| one["thing"] == thing).unwrap()["condition"].clone();
    assert_eq!(
        (condition("git"), condition("repository"), condition("settings")),
        ("good".into(), "note".into(), "note".into())
    );
}
