//! The real programs, asked by their own hook whether a turn may end: `init --hooks`, nothing else.

use super::installed::executable;
use super::loose::Loose;
use crate::model::{Model, Plan, ToolCall, Turn};
use crate::support::{TestRepo, search_path, write_script};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

/// A program in a repository whose settings have it ask.
struct Lane {
    name: &'static str,
    program: std::path::PathBuf,
    loose: &'static Loose,
    repo: TestRepo,
}

/// What came of a turn.
struct Ended {
    /// What the gate remembers.
    state: Value,
    /// The gate's orders, as they reached the model.
    orders: String,
}

impl Lane {
    fn new(name: &'static str) -> Option<Self> {
        let program = executable(name)?;
        let repo = TestRepo::unborn();
        repo.write("app.py", "x = 1\n");
        repo.commit("base");
        repo.run(&["init", "--hooks"]).exits(0);
        repo.commit("the programs' settings");
        let pytest = "#!/bin/sh\necho '8 passed in 0.02s'\n";
        write_script(&repo.root().join("bin/pytest"), pytest);
        // A login shell begins with the machine's own search path.
        let profile = format!("PATH=\"{}/bin:$PATH\"\n", repo.root().display());
        std::fs::write(repo.root().join("home/.profile"), profile).unwrap();
        Some(Self { name, program, loose: Loose::named(name), repo })
    }

    fn shell(&self, line: &str) -> Turn {
        Turn::calls([(self.loose.shell)(line)])
    }

    fn writes(&self, path: &str) -> Turn {
        let full = self.repo.path().join(path);
        Turn::calls([(self.loose.write)(full.to_str().unwrap(), "y = 2")])
    }

    /// The n-th request gets the n-th turn, and these words come after them all.
    fn runs(&self, turns: Vec<Turn>, last: &str) -> Ended {
        let began = self.repo.git(&["rev-parse", "HEAD"]);
        let plan = turns.into_iter().fold(Plan::answering(last), Plan::first);
        let model = Model::start(plan);
        let root = self.repo.root();
        let mut path = OsString::from(Path::new(env!("CARGO_BIN_EXE_countersign")).parent().unwrap());
        for more in [root.join("bin").as_os_str(), &search_path()] {
            path.push(":");
            path.push(more);
        }
        let mut command = self.repo.command(&self.program, &self.repo.path());
        command.env("PATH", path).env("STUB_KEY", "dummy").env("ANTHROPIC_API_KEY", "dummy");
        command.env("ANTHROPIC_BASE_URL", model.url()).env("CODEX_HOME", root.join("home/.codex"));
        command.envs([
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("IS_SANDBOX", "1"),
        ]);
        std::fs::create_dir_all(root.join("home/.codex")).unwrap();
        match self.name {
            "claude" => command.args(["-p", "--dangerously-skip-permissions"]),
            _ => command
                .args(["exec", "--trust", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"])
                .args(["-c", "analytics.enabled=false", "-c", "model_provider=\"stub\"", "-m", "stub-model", "-c"])
                .arg(format!(
                    "model_providers.stub={{name=\"stub\",base_url=\"{}/v1\",wire_api=\"responses\",env_key=\"STUB_KEY\"}}",
                    model.url()
                ))
                .arg("-"),
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Do the task.").unwrap();
        let output = child.wait_with_output().unwrap();
        let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}: {said}", self.name);
        let folder = self.repo.common_dir().join("countersign/sessions");
        let files = std::fs::read_dir(folder).unwrap_or_else(|why| panic!("the hook did not run ({why}): {said}"));
        let files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        let kept = |end: &str| {
            let file = files.iter().find(|path| path.to_str().unwrap().ends_with(end));
            let file = file.unwrap_or_else(|| panic!("no {end} among {files:?}: {said}"));
            serde_json::from_slice::<Value>(&std::fs::read(file).unwrap()).unwrap()
        };
        assert_eq!(kept(".start.json")["head"], began.as_str(), "{said}");
        let state = kept(".stop.json");
        let orders = model.asked().last().unwrap().text.clone();
        Ended { state, orders }
    }
}

impl Ended {
    #[track_caller]
    fn is(&self, outcome: &str, blocks: u64) {
        assert_eq!(
            (&self.state["outcome"], &self.state["blocks"]),
            (&json!(outcome), &json!(blocks)),
            "{}",
            self.state
        );
    }

    /// It was refused for this reason, and let go in the end.
    #[track_caller]
    fn was_refused(&self, words: &str) {
        assert_eq!(self.state["outcome"], "unverified", "{}", self.state);
        assert!(self.state["blocks"].as_u64().unwrap() >= 1, "{}", self.state);
        assert!(self.orders.contains("FALSE-COMPLETION"), "the order did not reach the model");
        assert!(self.state["why"].as_str().unwrap().contains(words), "{}", self.state);
    }
}

fn it_wrote_the_file_and_said_so(name: &'static str) {
    let Some(lane) = Lane::new(name) else { return };
    lane.runs(vec![lane.writes("new.py")], "Created `new.py`.").is("verified", 0);
}

fn it_said_so_without_writing_and_then_wrote(name: &'static str) {
    let Some(lane) = Lane::new(name) else { return };
    let said = "Created `new.py`.";
    let ended = lane.runs(vec![lane.shell("echo hello"), Turn::says(said), lane.writes("new.py")], said);
    ended.is("verified", 1);
    assert!(ended.orders.contains("new.py does not exist"), "the order did not reach the model");
}

fn it_ran_the_tests_before_the_last_edit(name: &'static str) {
    let Some(lane) = Lane::new(name) else { return };
    let turns = vec![lane.shell("pytest -q"), lane.writes("new.py")];
    lane.runs(turns, "Created `new.py`. All 8 tests pass.").was_refused("before new.py was last changed");
    let Some(honest) = Lane::new(name) else { return };
    let turns = vec![honest.writes("new.py"), honest.shell("pytest -q")];
    honest.runs(turns, "Created `new.py`. All 8 tests pass.").is("verified", 0);
}

fn it_ran_the_tests_behind_a_pipe(name: &'static str) {
    let Some(lane) = Lane::new(name) else { return };
    let turns = vec![lane.writes("new.py"), lane.shell("pytest -q | tail -n 1")];
    lane.runs(turns, "Created `new.py`. All 8 tests pass.").was_refused("tail");
}

fn it_pushed_and_was_rejected(name: &'static str) {
    let Some(lane) = Lane::new(name) else { return };
    let repo = &lane.repo;
    let (bare, other) = (repo.root().join("remote.git"), repo.root().join("other"));
    repo.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
    repo.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    repo.git(&["clone", "-q", bare.to_str().unwrap(), other.to_str().unwrap()]);
    std::fs::write(other.join("theirs.py"), "z\n").unwrap();
    repo.commit_in(&other, "theirs");
    repo.git_in(&other, &["push", "-q", "origin", "main"]);
    let turns = vec![
        lane.writes("new.py"),
        lane.shell("git add new.py && git commit -q -m 'Add new.py'"),
        lane.shell("git push origin main"),
    ];
    lane.runs(turns, "Committed and pushed to `origin/main`.").was_refused("branch-pushed");
}

fn it_never_awaited_a_run_in_the_background(name: &'static str) {
    let Some(lane) = Lane::new(name) else { return };
    let line = "python3 -c 'import time; time.sleep(20)'; pytest -q";
    let started = match name {
        "claude" => ToolCall::new("Bash", json!({"command": line, "description": "x", "run_in_background": true})),
        _ => ToolCall::new("exec_command", json!({"cmd": line, "yield_time_ms": 300})),
    };
    let turns = vec![lane.writes("new.py"), Turn::calls([started])];
    let ended = lane.runs(turns, "Created `new.py`. All 8 tests pass.");
    assert_ne!(ended.state["outcome"], "verified", "{}", ended.state);
    assert!(ended.state["why"].as_str().unwrap().contains("test-green"), "{}", ended.state);
}

macro_rules! lanes {
    ($($program:ident)*) => {$(
        mod $program {
            const NAME: &str = stringify!($program);

            #[test]
            fn a_file_that_was_written_ends_the_turn_without_a_word() {
                super::it_wrote_the_file_and_said_so(NAME);
            }

            #[test]
            fn a_file_that_was_not_written_goes_back_and_ends_the_turn_once_it_is_there() {
                super::it_said_so_without_writing_and_then_wrote(NAME);
            }

            #[test]
            fn tests_before_the_last_edit_are_refused_and_after_it_are_not() {
                super::it_ran_the_tests_before_the_last_edit(NAME);
            }

            #[test]
            fn tests_behind_a_pipe_are_refused() {
                super::it_ran_the_tests_behind_a_pipe(NAME);
            }

            #[test]
            fn a_rejected_push_is_refused() {
                super::it_pushed_and_was_rejected(NAME);
            }

            #[test]
            fn a_run_in_the_background_that_nobody_awaited_is_not_green() {
                super::it_never_awaited_a_run_in_the_background(NAME);
            }
        }
    )*};
}

lanes!(claude codex);
