//! The real programs as verifiers, each with its own most permissive flags, while the model asks for writes.
//!
//! What a program promises is not what holds them back here: the box is. And where the box is turned off, the look at the
//! room afterwards is.

use super::installed::words;
use crate::model::{Model, Plan, Seen, ToolCall, Turn};
use crate::support::trial::{ID, Trial};
use crate::support::{Outcome, write_script};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;

/// A program that is trusted with everything.
pub(super) struct Loose {
    name: &'static str,
    /// The shell lines that start it: `@PROGRAM@` is its words, `$STUB` the model server.
    start: &'static str,
    /// Its tool that writes a file.
    pub(super) write: fn(&str, &str) -> ToolCall,
    /// Its tool that runs a shell.
    pub(super) shell: fn(&str) -> ToolCall,
}

const LOOSE: [Loose; 5] = [
    Loose {
        name: "claude",
        start: "export CLAUDE_CONFIG_DIR=$HOME/.claude ANTHROPIC_API_KEY=dummy ANTHROPIC_BASE_URL=$STUB IS_SANDBOX=1\n\
                export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1\n\
                exec @PROGRAM@ -p --dangerously-skip-permissions\n",
        write: |path, text| ToolCall::new("Write", json!({"file_path": path, "content": text})),
        shell: |line| ToolCall::new("Bash", json!({"command": line, "description": "x"})),
    },
    Loose {
        name: "codex",
        start: "export CODEX_HOME=$HOME/.codex STUB_KEY=dummy\nmkdir -p \"$CODEX_HOME\"\n\
                exec @PROGRAM@ exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox \
                -c analytics.enabled=false -c model_provider='\"stub\"' -c \"model_providers.stub={name=\\\"stub\\\",\
                base_url=\\\"$STUB/v1\\\",wire_api=\\\"responses\\\",env_key=\\\"STUB_KEY\\\"}\" -m stub-model -\n",
        write: |path, text| {
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch\n");
            ToolCall::new("exec_command", json!({"cmd": format!("apply_patch <<'EOF'\n{patch}EOF\n")}))
        },
        shell: |line| ToolCall::new("exec_command", json!({"cmd": line})),
    },
    Loose {
        name: "pi",
        start: "export PI_CODING_AGENT_DIR=$HOME/.pi PI_OFFLINE=1\nmkdir -p \"$PI_CODING_AGENT_DIR\"\n\
                echo '{\"providers\":{\"stub\":{\"baseUrl\":\"'$STUB'/v1\",\"api\":\"openai-completions\",\
                \"apiKey\":\"dummy\",\"models\":[{\"id\":\"stub-model\"}]}}}' > \"$PI_CODING_AGENT_DIR/models.json\"\n\
                exec @PROGRAM@ -p --provider stub --model stub-model\n",
        write: |path, text| ToolCall::new("write", json!({"path": path, "content": text})),
        shell: |line| ToolCall::new("bash", json!({"command": line})),
    },
    Loose {
        name: "gemini",
        start: "export GEMINI_API_KEY=dummy GOOGLE_GEMINI_BASE_URL=$STUB GEMINI_CLI_NO_RELAUNCH=true\n\
                mkdir -p \"$HOME/.gemini\"\n\
                echo '{\"security\":{\"auth\":{\"selectedType\":\"gemini-api-key\"}}}' > \"$HOME/.gemini/settings.json\"\n\
                exec @PROGRAM@ -o text --skip-trust --approval-mode yolo -m gemini-2.5-pro\n",
        write: |path, text| ToolCall::new("write_file", json!({"file_path": path, "content": text})),
        shell: |line| ToolCall::new("run_shell_command", json!({"command": line, "description": "x"})),
    },
    Loose {
        name: "copilot",
        start: "export COPILOT_HOME=$HOME/.copilot COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_API_KEY=dummy\n\
                export COPILOT_PROVIDER_BASE_URL=$STUB/v1 COPILOT_MODEL=stub-model COPILOT_OFFLINE=true\n\
                export COPILOT_AUTO_UPDATE=false\n\
                exec @PROGRAM@ --silent --no-color --disable-builtin-mcps --allow-all\n",
        write: |path, text| ToolCall::new("create", json!({"path": path, "file_text": text})),
        shell: |line| {
            ToolCall::new("bash", json!({"command": line, "description": "x", "sessionId": "s", "async": false}))
        },
    },
];

pub(super) const PASS: &str = "VERDICT: PASS\nTASK_ID: greet-001\nTOKEN: @TOKEN@\nEVIDENCE:\n\
                    - C1 It says hello — covered by test:greets\n";

impl Loose {
    pub(super) fn named(name: &str) -> &'static Self {
        LOOSE.iter().find(|loose| loose.name == name).unwrap()
    }

    /// Makes it the verifier of a trial.
    pub(super) fn judge(&self, trial: &Trial, model: &Model, words: &[String], more: &str) -> Outcome {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let start = self.start.replace("@PROGRAM@", &quoted.join(" "));
        let program = trial.repo.root().join("fake/loose");
        write_script(&program, &format!("#!/bin/sh\nset -e\n{start}"));
        trial.settings(&format!(
            "verifier: loose\nverifiers:\n  loose: {{command: ['{}'], env: [STUB], network: true}}\n\
             limits: {{verifier-seconds: 90}}\n{more}",
            program.display()
        ));
        trial.verify_with(&["--fresh"], &[("STUB", OsStr::new(&model.url()))])
    }
}

/// What came back from the tools, as the model was told: the last request holds all of it.
fn told(asked: &[Seen]) -> &str {
    asked.last().map_or("", |seen| seen.text.as_str())
}

/// Files of this name anywhere below a folder.
pub(super) fn planted(folder: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    let found = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("planted"));
    found.map(|entry| entry.path().display().to_string()).collect()
}

fn in_the_box(name: &str) {
    let Some(words) = words(name) else { return };
    let loose = Loose::named(name);
    let trial = Trial::new(&["It says hello"]).honest();
    let beside = trial.repo.root().join("beside");
    std::fs::create_dir(&beside).unwrap();
    let places = [trial.repo.path(), trial.worktree.clone(), beside];
    let line: String = places.iter().map(|place| format!("echo x > {}/planted-by-shell; ", place.display())).collect();
    let tools = places.iter().map(|place| (loose.write)(&format!("{}/planted-by-tool", place.display()), "x"));
    let plan = Plan::of([
        Turn::calls(tools),
        Turn::calls([(loose.write)("planted-by-tool", "x")]),
        Turn::calls([(loose.shell)(&format!("{line} echo x > planted-by-shell; echo the shell has run"))]),
        Turn::says(PASS),
    ]);
    let model = Model::start(plan);
    let said = loose.judge(&trial, &model, &words, "");
    let consulted = &trial.facts(&said, "consulted")[0];
    if consulted["level"]["enforced"] != true {
        crate::support::skip("this machine has no Landlock, so nothing refuses a write");
        return;
    }
    assert_eq!(planted(trial.repo.root()), [""; 0], "{said}");
    assert_eq!(consulted["trespasses"], json!([]), "{said}");
    let asked = model.asked();
    assert!(told(&asked).contains("the shell has run"), "{name} did not run the shell: {}\n{said}", told(&asked));
    assert!(told(&asked).to_lowercase().contains("denied"), "nothing was refused: {}", told(&asked));
    said.decides("land", &["verified"]).exits(0);
}

fn without_the_box(name: &str) {
    let Some(words) = words(name) else { return };
    let loose = Loose::named(name);
    let trial = Trial::new(&["It says hello"]).honest();
    let line = "echo x > planted-by-shell";
    let model = Model::start(Plan::of([Turn::calls([(loose.shell)(line)]), Turn::says(PASS)]));
    let said = loose.judge(&trial, &model, &words, "sandbox: {require: none}\n");
    let consulted = &trial.facts(&said, "consulted")[0];
    assert_eq!(consulted["level"]["enforced"], Value::Bool(false), "{said}");
    let trespasses = consulted["trespasses"].to_string();
    assert!(trespasses.contains("in the room: planted-by-shell is new"), "{trespasses}\n{said}");
    said.decides("hold", &["verdict-void"]).exits(3);
}

macro_rules! each {
    ($($program:ident),*) => {$(
        #[test]
        fn $program() {
            in_the_box(stringify!($program));
            without_the_box(stringify!($program));
        }
    )*};
}

mod a_refused_write_of_the_most_permissive_program_changes_nothing_and_one_that_lands_voids {
    use super::{in_the_box, without_the_box};
    each!(claude, codex, pi, gemini, copilot);
}

#[test]
fn the_task_of_the_trial_is_the_task_of_the_answers() {
    assert!(PASS.contains(&format!("TASK_ID: {ID}\n")));
}
