//! Agent programs as verifiers: what they are started with, what counts as their answer, what is recorded about them.

use crate::support::agent::{FakeAgent, path, program_path, turn};
use crate::support::trial::{ID, Trial};
use crate::support::{Outcome, write};
use countersign::agent::PROGRAMS;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;

const PASS: &str = "VERDICT: PASS\nTASK_ID: greet-001\nTOKEN: @TOKEN@\nEVIDENCE:\n\
                    - C1 It says hello — covered by test:greets\n";
const KEYS: &[(&str, &str)] = &[
    ("ANTHROPIC_API_KEY", "dummy-for-claude"),
    ("CODEX_API_KEY", "dummy-for-codex"),
    ("GEMINI_API_KEY", "dummy-for-gemini"),
    ("OPENAI_API_KEY", "dummy-for-qwen"),
    ("COPILOT_GITHUB_TOKEN", "dummy-for-copilot"),
    ("GITHUB_TOKEN", "never-for-an-agent"),
];

fn judged() -> Trial {
    let trial = Trial::new(&["It says hello"]).honest();
    trial.settings("limits: {agent-pause-seconds: 0}\n");
    trial
}

/// Judges afresh with this program under its built-in name.
fn ask(trial: &Trial, name: &str, fake: &FakeAgent) -> Outcome {
    ask_with(trial, &["--verifier", name, "--fresh"], fake, KEYS)
}

fn ask_with(trial: &Trial, args: &[&str], fake: &FakeAgent, vars: &[(&str, &str)]) -> Outcome {
    let path = fake.install(trial.repo.root());
    let mut all: Vec<(&str, &OsStr)> = vars.iter().map(|(name, value)| (*name, OsStr::new(value))).collect();
    all.push(("PATH", &path));
    trial.verify_with(args, &all)
}

/// The last consultation, as it was sealed.
fn consulted(trial: &Trial, outcome: &Outcome) -> Value {
    trial.facts(outcome, "consulted").pop().unwrap()
}

fn log(trial: &Trial, outcome: &Outcome) -> String {
    trial.sealed(outcome, "logs/verifier-1.log")
}

#[test]
fn every_known_program_judges_under_its_own_name_without_settings() {
    for program in PROGRAMS {
        let name = program.name;
        let trial = judged();
        let said = ask(&trial, name, &FakeAgent::answering(name, PASS, "greeting.txt")).exits(0);
        let record = consulted(&trial, &said);
        let agent = &record["agent"];
        assert_eq!(agent["agent"], name);
        assert_eq!(agent["version"], "1.2.3", "{name}");
        assert_eq!(agent["path"], program_path(trial.repo.root(), name).display().to_string());
        assert_eq!(agent["role"], "verifier");
        assert_eq!(agent["resumed"]["kind"], "fresh");
        assert!(agent["terminal"].is_string(), "{name}: {agent}");
        assert_eq!(agent["tries"].as_array().unwrap().len(), 1);
        let tokens = if name == "copilot" { Value::Null } else { json!(11) };
        assert_eq!(agent["usage"]["input-tokens"], tokens, "{name}: absent is null, never zero");
        assert_eq!(agent["usage"]["cached-tokens"], Value::Null, "{name}");
        assert_eq!(agent["usage"]["cost-usd"], if name == "claude" { json!(0.25) } else { Value::Null }, "{name}");
        if name != "codex" {
            assert_eq!(agent["tools"][0]["outcome"], "done", "{name}: {agent}");
            assert!(agent["tools"][0]["input"].as_str().unwrap().contains("greeting.txt"), "{name}");
        }
        assert!(agent["network"].as_str().unwrap().starts_with("listed: "), "{agent}");
        said.decides("land", &["verified"]);
    }
}

#[test]
fn a_verifier_gets_its_own_key_a_private_home_and_nothing_of_the_users() {
    for program in PROGRAMS {
        let name = program.name;
        let trial = judged();
        let home = trial.repo.root().join("home");
        for planted in [
            ".claude/CLAUDE.md",
            ".claude/settings.json",
            ".claude/skills/marker/SKILL.md",
            ".codex/AGENTS.md",
            ".codex/config.toml",
            ".gemini/GEMINI.md",
            ".pi/agent/SYSTEM.md",
            ".qwen/QWEN.md",
            ".config/opencode/AGENTS.md",
            ".copilot/config.json",
            ".mcp.json",
        ] {
            write(&home, planted, "MARKER");
        }
        let said = ask(&trial, name, &FakeAgent::answering(name, PASS, "greeting.txt")).exits(0);
        let log = log(&trial, &said);
        let homes: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("home: ./")).collect();
        let furnished = |file: &str| program.verifier_files.iter().any(|(path, _)| *path == file);
        assert!(homes.iter().all(|file| furnished(file)), "{name}: {homes:?}");
        assert!(!log.contains("MARKER") && !log.contains("never-for-an-agent"), "{name}: {log}");
        assert!(!log.contains(&format!("variable: HOME={}", home.display())), "{name}");
        for (key, value) in KEYS.iter().filter(|(key, _)| *key != "GITHUB_TOKEN") {
            let own = program.keys.contains(key);
            // The log is masked before it is sealed; that the variable is there is enough.
            assert_eq!(log.contains(&format!("variable: {key}=")), own, "{name}: {key}={value}");
        }
        let started = log.lines().find_map(|line| line.strip_prefix("started in ")).unwrap();
        assert_eq!(started.ends_with("/away"), program.beside, "{name}: {started}");
    }
}

#[test]
fn a_perfect_block_counts_only_with_a_terminal_event_of_success() {
    let claude = |events: &[Value]| FakeAgent::telling("claude", events);
    let whole = turn("claude", PASS, "greeting.txt");
    let failed = |mut fields: Value| {
        let mut event = whole[3].clone();
        event["is_error"] = json!(true);
        event.as_object_mut().unwrap().append(fields.as_object_mut().unwrap());
        [&whole[..3], &[event]].concat()
    };
    let spoken = json!({"type": "assistant", "message": {"model": "m-1", "content": [{"type": "text", "text": PASS}]}});
    let full = claude(&whole);
    let cut = full.stream_bytes() - 3;
    for (fake, code, word) in [
        (claude(&failed(json!({"api_error_status": 401}))).exiting(1), "failed-credentials", "`result`"),
        (claude(&failed(json!({"api_error_status": 400}))).exiting(1), "failed-refused", "its turn failed"),
        (claude(&failed(json!({"terminal_reason": "max_turns"}))), "failed-limit", "its turn failed"),
        (claude(&failed(json!({"note": "HTTP 429"}))).exiting(1), "failed-untyped", "its turn failed"),
        (claude(&[&whole[..3], &[spoken]].concat()), "no-terminal-event", "never said that its turn was complete"),
        (full.clone().cut_after(cut), "no-terminal-event", "never said that its turn was complete"),
        (claude(&[]), "no-terminal-event", "never said"),
        (full.clone().exiting(3), "exited", "exited with code 3"),
        (full.clone().doing("kill -TERM $$"), "signalled", "SIGTERM"),
        (claude(&[json!("VERDICT: PASS")]), "no-terminal-event", "never said"),
        (FakeAgent::telling("codex", &turn("codex", PASS, "")[..2]), "no-terminal-event", "never said"),
    ] {
        let name = if word == "never said" && code == "no-terminal-event" { None } else { Some("claude") };
        let trial = judged();
        let name = name.unwrap_or(if program_is(&fake, "codex") { "codex" } else { "claude" });
        let said = ask(&trial, name, &fake).exits(3);
        assert_eq!(said.heard(), ("no-answer".to_owned(), vec![code.to_owned()]), "{said}");
        assert!(said.words().contains(word), "{word}: {said}");
        said.decides("hold", &["no-answer"]);
    }
}

fn program_is(fake: &FakeAgent, name: &str) -> bool {
    format!("{fake:?}").contains(&format!("name: \"{name}\""))
}

#[test]
fn verdict_empty_result_an_answer_is_read_in_a_fixed_order_of_places_and_nothing_anywhere_is_no_answer() {
    let call = |text: &str| json!({"type": "assistant", "message": {"model": "m-1", "content": [{"type": "text", "text": text}]}});
    let result = |text: &str, structured: Value| {
        json!({"type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": "s-1",
            "structured_output": structured, "usage": {"input_tokens": 11, "output_tokens": 7}})
    };
    let limit = json!({"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}});
    let tool =
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]}});
    let sub = json!({"type": "assistant", "parent_tool_use_id": "c1",
        "message": {"model": "m-1", "content": [{"type": "text", "text": PASS}]}});
    for (events, note) in [
        (vec![result(PASS, Value::Null)], None),
        (vec![call(PASS), limit.clone(), result("", Value::Null)], Some("the model's last message")),
        (vec![call("thinking"), result("", json!(PASS))], Some("its structured output")),
        (vec![call("Nothing to say"), result(PASS, json!("{}"))], None),
    ] {
        let trial = judged();
        let said = ask(&trial, "claude", &FakeAgent::telling("claude", &events)).exits(0);
        let record = consulted(&trial, &said);
        let noted = record["agent"]["notes"].to_string();
        assert!(note.is_none_or(|note| noted.contains(note)), "{note:?}: {record}");
        said.decides("land", &["verified"]);
    }
    // Success is said, and there is no verdict: text before a tool's result, or of a sub-agent, is no final answer.
    for events in [
        vec![call("done"), result("", Value::Null)],
        vec![result("", json!({"verdict": "PASS"}))],
        vec![call(PASS), tool, limit, result("", Value::Null)],
        vec![sub, result("", Value::Null)],
    ] {
        let trial = judged();
        ask(&trial, "claude", &FakeAgent::telling("claude", &events)).exits(3);
    }
}

#[test]
fn a_transient_failure_is_tried_again_so_often_and_no_more_and_no_other_is() {
    let failed = |status: Value| {
        let mut events = turn("claude", "", "greeting.txt");
        events[3] = json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": status,
            "result": "HTTP 429 503 please try again"});
        FakeAgent::telling("claude", &events).exiting(1)
    };
    for (status, tries, code) in [
        (json!(429), 3, "failed-transient"),
        (json!(529), 3, "failed-transient"),
        (json!(401), 1, "failed-credentials"),
        (json!(null), 1, "failed-untyped"),
    ] {
        let trial = judged();
        let said = ask(&trial, "claude", &failed(status.clone())).exits(3);
        assert_eq!(said.heard().1, [code], "{said}");
        let agent = consulted(&trial, &said)["agent"].clone();
        assert_eq!(agent["tries"].as_array().unwrap().len(), tries, "{status}: {agent}");
    }

    // Outside the box a program can remember that it was asked before.
    let trial = judged();
    trial.settings("limits: {agent-pause-seconds: 0}\nsandbox: {require: none}\n");
    let good = trial.repo.root().join("good");
    let stream = turn("claude", PASS, "greeting.txt").iter().map(|event| format!("{event}\n")).collect::<String>();
    fs::write(&good, stream).unwrap();
    let seen = trial.repo.root().join("seen");
    let step = format!(
        "if [ -e '{0}' ]; then sed \"s/@TOKEN@/$token/g\" '{1}'; exit 0; fi; touch '{0}'",
        seen.display(),
        good.display()
    );
    let said = ask(&trial, "claude", &failed(json!(429)).doing(&step)).exits(0);
    let tries = consulted(&trial, &said)["agent"]["tries"].clone();
    assert_eq!((tries[0]["fault"].as_str(), tries[1]["fault"].as_str()), (Some("transient"), None), "{tries}");
    said.decides("land", &["verified"]);
}

#[test]
fn a_missing_program_is_exit_4_and_says_how_to_get_it() {
    let trial = judged();
    for (args, words) in [
        (&["--verifier", "claude"][..], "claude is not installed"),
        (&["--verifier", "codex"], "npm install -g @openai/codex"),
    ] {
        let args = [&["verify", ID, "--json"], args].concat();
        let empty = OsStr::new("/usr/bin:/bin");
        trial.repo.run_with(&trial.repo.path(), &args, &[("PATH", empty)], b"").exits(4).says(words);
    }
    let dumb = FakeAgent::answering("claude", PASS, "").version("unknown").install(trial.repo.root());
    let args = ["verify", ID, "--verifier", "claude"];
    let vars = [("PATH", dumb.as_os_str())];
    trial.repo.run_with(&trial.repo.path(), &args, &vars, b"").exits(4).says("says no version");
    let unknown = trial.repo.run(&["verify", ID, "--verifier", "nobody"]).exits(2);
    unknown.says("there is no agent named nobody").says("claude, codex, gemini");
}

#[test]
fn the_claim_may_not_bring_the_program_that_judges_it() {
    let trial = judged();
    trial.work("bin/claude", "#!/bin/sh\necho 'claude 1.2.3'\n");
    let path = format!("{}:/usr/bin:/bin", trial.worktree.join("bin").display());
    let args = ["verify", ID, "--verifier", "claude"];
    let missing = trial.repo.run_with(&trial.repo.path(), &args, &[("PATH", OsStr::new(&path))], b"").exits(4);
    missing.says("claude is not installed");
    let inside = trial.worktree.join("bin/claude").display().to_string();
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o755)).unwrap();
    trial.settings(&format!("verifiers: {{claude: {{agent: claude, command: ['{inside}']}}}}\n"));
    trial.repo.run(&args).exits(2).says("lies inside the judged repository");
}

#[test]
fn an_argument_that_could_loosen_the_confinement_is_refused_and_a_harmless_one_arrives() {
    let trial = judged();
    let args = ["verify", ID, "--verifier", "claude"];
    for bad in ["[--dangerously-skip-permissions]", "[--mcp-config, x.json]", "[--resume, x]", "['--tools=Bash']"] {
        trial.settings(&format!("verifiers: {{claude: {{args: {bad}}}}}\n"));
        trial.repo.run(&args).exits(2).says("is not known to be harmless; permitted are --effort V");
    }
    trial.settings("verifiers: {claude: {args: [--max-turns, '9'], model: opus}}\n");
    let said = ask(&trial, "claude", &FakeAgent::answering("claude", PASS, "greeting.txt")).exits(0);
    let log = log(&trial, &said);
    let started = log.lines().find(|line| line.starts_with("arguments: ")).unwrap().to_owned();
    assert!(started.ends_with("--model opus --max-turns 9"), "{started}");
    assert!(started.contains("--tools Read,Grep,Glob") && !started.contains("Bash"), "{started}");
    assert_eq!(consulted(&trial, &said)["verifier"], "claude (opus)");
}

#[test]
fn another_version_of_the_verifier_judges_anew() {
    let trial = judged();
    let fake = FakeAgent::answering("claude", PASS, "greeting.txt");
    let args = ["--verifier", "claude"];
    let first = ask_with(&trial, &args, &fake, KEYS).exits(0);
    let second = ask_with(&trial, &args, &fake, KEYS).exits(0);
    assert_eq!((&first.json()["judged-before"], &second.json()["judged-before"]), (&json!(false), &json!(true)));
    let third = ask_with(&trial, &args, &fake.version("1.2.4"), KEYS).exits(0);
    assert_eq!(third.json()["judged-before"], false, "{third}");
}

#[test]
fn only_the_credential_file_is_lent_and_only_its_refreshed_form_comes_back() {
    let login = r#"{"claudeAiOauth":{"accessToken":"old-one","expiresAt":1}}"#;
    let refresh = |token: &str| format!("sed -i 's/old-one/{token}/' \"$CLAUDE_CONFIG_DIR/.credentials.json\"");
    let garbage = "echo '{\"apiKeyHelper\":\"sh\"}' > \"$CLAUDE_CONFIG_DIR/.credentials.json\"";
    let link = "ln -sf /etc/passwd \"$CLAUDE_CONFIG_DIR/.credentials.json\"";
    for (step, kept, note) in [
        ("true", "old-one", None),
        (&refresh("new-one"), "new-one", Some("refreshed")),
        (garbage, "old-one", Some("stays as it was")),
        (link, "old-one", Some("stays as it was")),
    ] {
        let trial = judged();
        let home = trial.repo.root().join("home");
        write(&home, ".claude/.credentials.json", login);
        write(&home, ".claude/CLAUDE.md", "MARKER");
        let fake = FakeAgent::answering("claude", PASS, "greeting.txt").doing(step);
        let said = ask_with(&trial, &["--verifier", "claude", "--fresh"], &fake, &[]).exits(0);
        let log = log(&trial, &said);
        let homes: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("home: ")).collect();
        assert_eq!(homes, ["./.claude/.credentials.json"], "{step}");
        let now = fs::read_to_string(home.join(".claude/.credentials.json")).unwrap();
        assert!(now.contains(kept) && now.len() <= login.len(), "{step}: {now}");
        let notes = consulted(&trial, &said)["agent"]["notes"].to_string();
        assert!(note.map_or(notes == "[]", |note| notes.contains(note)), "{step}: {notes}");
        let left = fs::read_dir(home.join(".claude")).unwrap().count();
        assert_eq!(left, 2, "nothing is left beside it");
    }
}

#[test]
fn with_a_key_no_credential_file_is_lent() {
    let trial = judged();
    write(&trial.repo.root().join("home"), ".claude/.credentials.json", "{}");
    let said = ask(&trial, "claude", &FakeAgent::answering("claude", PASS, "greeting.txt")).exits(0);
    assert!(!log(&trial, &said).contains("home: "), "{said}");
}

#[test]
fn the_next_one_is_asked_only_where_the_first_could_not_answer_at_all() {
    let mut down = turn("claude", "", "greeting.txt");
    down[3] =
        json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 401, "result": "no"});
    let down = FakeAgent::telling("claude", &down).exiting(1);
    let settings =
        "limits: {agent-pause-seconds: 0}\nagents: {worker: codex, verifier: claude, fallback: [pi, codex]}\n";
    let trial = judged();
    trial.settings(settings);
    FakeAgent::answering("codex", PASS, "").install(trial.repo.root());
    // pi is not installed: it is passed over and named.
    let said = ask_with(&trial, &["--fresh"], &down, KEYS).exits(0).says("passing over pi");
    let asked = trial.facts(&said, "consulted");
    let names: Vec<_> = asked.iter().map(|c| (c["verifier"].clone(), c["instead-of"].clone())).collect();
    assert_eq!(names, [(json!("claude"), Value::Null), (json!("codex"), json!("claude"))]);
    assert_eq!(asked[0]["worker"], json!({"name": "codex", "same-model": false}));
    assert_eq!(asked[1]["worker"], json!({"name": "codex", "same-model": true}), "it is said where eyes are the same");
    said.decides("land", &["verified"]);

    let trial = judged();
    trial.settings(settings);
    FakeAgent::answering("codex", PASS, "").install(trial.repo.root());
    let unusable = FakeAgent::answering("claude", "I think it is fine.", "");
    let said = ask_with(&trial, &["--fresh"], &unusable, KEYS).exits(3);
    assert!(trial.facts(&said, "consulted").iter().all(|c| c["verifier"] == "claude"), "nobody shops for a verdict");
    said.decides("hold", &["unusable-answer"]);
}

#[test]
fn a_file_that_the_brief_did_not_show_counts_once_it_was_opened() {
    let settings = "limits: {brief-bytes: 1}\n";
    let fake = |files: &[&str]| {
        let mut events = turn("claude", PASS, files[0]);
        for (number, file) in files.iter().enumerate().skip(1) {
            let id = format!("d{number}");
            events.insert(
                1,
                json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": id, "content": "x"}]}}),
            );
            events.insert(
                1,
                json!({"type": "assistant", "message": {"model": "m-1", "content": [
                {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": file}}]}}),
            );
        }
        FakeAgent::telling("claude", &events)
    };
    let trial = judged();
    trial.settings(settings);
    ask(&trial, "claude", &fake(&["greeting.txt"])).is_unusable(&["not-shown"]);
    let said = ask(&trial, "claude", &fake(&["./greeting.txt", "checks/greets.sh"])).exits(0);
    let record = consulted(&trial, &said);
    assert_eq!(record["opened"].as_array().unwrap().len(), 2, "{record}");
    said.decides("land", &["verified"]);
}

#[test]
fn what_an_agents_tool_was_given_is_masked_before_it_travels() {
    let trial = judged();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let said = ask(&trial, "claude", &FakeAgent::answering("claude", PASS, &format!("/x/{secret}"))).exits(0);
    let receipts = trial.sealed(&said, "receipts.jsonl");
    assert!(!receipts.contains(&secret), "{receipts}");
    assert!(receipts.contains("\"tools\":[{\"name\":\"Read\""), "{receipts}");
}

#[test]
fn an_answer_that_is_too_long_in_a_stream_is_named() {
    let trial = judged();
    let big = "x".repeat(5 << 20);
    let file = trial.repo.root().join("big");
    let event = json!({"type": "result", "subtype": "success", "is_error": false, "result": big});
    fs::write(&file, format!("{event}\n")).unwrap();
    let fake = FakeAgent::telling("claude", &[]).doing(&format!("cat '{}'; exit 0", file.display()));
    let said = ask(&trial, "claude", &fake).exits(3);
    assert_eq!(said.heard().1, ["too-long"], "{said}");
}

#[test]
fn a_path_of_fakes_is_what_the_tests_think_it_is() {
    let trial = judged();
    assert!(path(trial.repo.root()).to_string_lossy().starts_with(&trial.repo.root().display().to_string()));
}
