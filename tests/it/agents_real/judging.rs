//! `countersign verify --verifier <program>` with the real program, whatever its model does.

use super::installed::{executable, version};
use super::loose::{Loose, PASS, planted};
use crate::model::{Model, Plan, Seen, Turn, Wire};
use crate::support::trial::{ID, Trial};
use crate::support::{Board, Outcome};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::PathBuf;

/// A program as a judge.
#[derive(Clone, Copy)]
struct Judge {
    name: &'static str,
    wire: Wire,
    key: &'static str,
    /// The variable for its model's address, and what follows the host in it.
    endpoint: (&'static str, &'static str),
}

const CLAUDE: Judge =
    Judge { name: "claude", wire: Wire::Anthropic, key: "ANTHROPIC_API_KEY", endpoint: ("ANTHROPIC_BASE_URL", "") };
const CODEX: Judge =
    Judge { name: "codex", wire: Wire::Responses, key: "CODEX_API_KEY", endpoint: ("OPENAI_BASE_URL", "/v1") };

/// No key is worth anything; that it arrives shows that nothing else did.
const KEY: &str = "dummy-for-the-model-server";

impl Judge {
    fn asks(self, trial: &Trial, model: &Model, more: &str) -> Option<Outcome> {
        let program = executable(self.name)?;
        let name = self.name;
        trial.settings(&format!(
            "verifiers:\n  {name}: {{agent: {name}, command: ['{}'], model: stub-model}}\n{more}",
            program.display()
        ));
        let (variable, rest) = self.endpoint;
        let url = format!("{}{rest}", model.url());
        let vars = [(variable, OsStr::new(&url)), (self.key, OsStr::new(KEY))];
        Some(trial.verify_with(&["--verifier", name, "--fresh"], &vars))
    }

    /// Judges an honest change while the model follows this plan.
    fn judges(self, plan: Plan) -> Option<(Trial, Model, Outcome)> {
        let (trial, model) = (Trial::new(&["It says hello"]).honest(), Model::start(plan));
        let said = self.asks(&trial, &model, LIMITS)?;
        Some((trial, model, said))
    }
}

const LIMITS: &str = "limits: {verifier-seconds: 120, agent-pause-seconds: 0, agent-retries: 1}\n";

const FAIL: &str = "VERDICT: FAIL\nTASK_ID: greet-001\nTOKEN: @TOKEN@\nREASONS:\n- it is rude\n\
                    SUGGESTED_FIX: mend it\nITERATION_HINT: likely-fixable\n";

fn agent(trial: &Trial, said: &Outcome) -> Value {
    trial.facts(said, "consulted").last().unwrap()["agent"].clone()
}

fn a_pass_lands(judge: Judge) {
    let Some((trial, model, said)) = judge.judges(Plan::answering(PASS)) else { return };
    let asked = model.asked();
    assert_eq!(asked.len(), 1, "{said}");
    assert_eq!(asked[0].wire, Some(judge.wire));
    assert_eq!(asked[0].body["model"], "stub-model");
    let key = asked[0].header("x-api-key").or_else(|| asked[0].header("authorization")).unwrap();
    assert!(key.ends_with(KEY), "{key}");
    assert!(asked[0].text.contains("It says hello"), "the brief did not arrive");
    let agent = agent(&trial, &said);
    assert!(agent["version"].as_str().unwrap().contains(version(judge.name)), "{agent}");
    assert_eq!((&agent["usage"]["input-tokens"], &agent["usage"]["output-tokens"]), (&json!(11), &json!(7)), "{agent}");
    assert_eq!(agent["tries"].as_array().unwrap().len(), 1, "{agent}");
    said.decides("land", &["verified"]).exits(0);
}

fn a_fail_sends_back(judge: Judge) {
    let Some((_, _, said)) = judge.judges(Plan::answering(FAIL)) else { return };
    assert!(said.words().contains("it is rude"), "{said}");
    said.decides("send-back", &["verdict-fail"]).exits(1);
}

/// The resend is a fresh session: nothing of the first answer's conversation is in it.
fn an_unusable_answer_is_asked_for_once_more_and_then_held(judge: Judge) {
    let Some((trial, model, said)) = judge.judges(Plan::answering("I looked at it: [] FIRST-ANSWER")) else { return };
    let asked = model.asked();
    assert_eq!(asked.len(), 2, "{said}");
    assert!(asked[1].text.contains("Your last answer could not be used"));
    assert!(!asked[1].text.contains("FIRST-ANSWER"), "the second judge saw the first one's words");
    assert_eq!(trial.facts(&said, "consulted").len(), 2);
    said.is_unusable(&["no-verdict"]);
    let again = Plan::answering(PASS).first(Turn::says("null"));
    let Some((_, _, said)) = judge.judges(again) else { return };
    said.decides("land", &["verified"]).exits(0);
}

fn refused_credentials_limits_and_server_faults_are_no_answer(judge: Judge) {
    for (turn, code) in [
        (Turn::fails(401), "failed-credentials"),
        (Turn::Fails { status: 429, retry_after: Some(0) }, "failed-transient"),
        (Turn::fails(500), "failed-transient"),
    ] {
        let Some((trial, model, said)) = judge.judges(Plan::of([turn])) else { return };
        assert!(!model.asked().is_empty(), "{said}");
        let agent = agent(&trial, &said);
        let fault = agent["tries"].as_array().unwrap().last().unwrap()["fault"].clone();
        assert_eq!(said.heard().0, "no-answer", "{code} {agent}\n{said}");
        // A program that does not type its fault leaves it untyped: it is never guessed from its words.
        let codes = said.heard().1;
        assert!(codes == [code] || codes == ["failed-untyped"] && fault == "untyped", "{code}: {codes:?} {agent}");
        said.decides("hold", &["no-answer"]).exits(3);
    }
    let after = Plan::answering(PASS).first(Turn::fails(500));
    let Some((_, _, said)) = judge.judges(after) else { return };
    said.decides("land", &["verified"]).exits(0);
}

fn a_broken_connection_is_no_answer(judge: Judge) {
    let half = PASS.split_once("EVIDENCE").unwrap().0;
    let breaks = || Turn::Breaks { after: half.to_owned() };
    let Some((_, _, said)) = judge.judges(Plan::of([breaks()])) else { return };
    assert_eq!(said.heard().0, "no-answer", "{said}");
    said.decides("hold", &["no-answer"]).exits(3);
    let Some((_, _, said)) = judge.judges(Plan::answering(PASS).first(breaks())) else { return };
    said.decides("land", &["verified"]).exits(0);
}

fn a_model_that_hangs_is_given_up_and_nobody_goes_on_asking_it(judge: Judge) {
    for after in [None, Some("VERDICT: PASS\n".to_owned())] {
        let (trial, model) = (Trial::new(&["It says hello"]).honest(), Model::start(Plan::of([Turn::Hangs { after }])));
        let limits = "limits: {verifier-seconds: 8, agent-pause-seconds: 0, agent-retries: 0}\n";
        let Some(said) = judge.asks(&trial, &model, limits) else { return };
        model.wait_until_asked(1);
        model.wait_until_left(model.asked().len());
        assert_eq!(said.heard(), ("no-answer".to_owned(), vec!["timed-out".to_owned()]), "{said}");
        said.decides("hold", &["no-answer"]).exits(3);
    }
}

fn an_answer_of_two_megabytes_is_named_as_too_long(judge: Judge) {
    let line = format!("{}\n", "x".repeat(99));
    let Some((_, _, said)) = judge.judges(Plan::answering(line.repeat(20_972) + PASS)) else { return };
    said.is_unusable(&["answer-too-long"]);
}

fn tools_that_write_are_refused_recorded_and_the_verdict_stands(judge: Judge) {
    let loose = Loose::named(judge.name);
    let trial = Trial::new(&["It says hello"]).honest();
    let places = [trial.repo.path(), trial.worktree.clone(), trial.repo.root().join("home"), PathBuf::from(".")];
    let tools = |tool: &dyn Fn(String) -> crate::model::ToolCall| {
        Turn::calls(places.iter().map(|place| tool(format!("{}/planted", place.display()))))
    };
    let model = Model::start(Plan::of([
        tools(&|path| (loose.write)(&path, "x")),
        tools(&|path| (loose.shell)(&format!("echo x > {path}"))),
        Turn::says(PASS),
    ]));
    let Some(said) = judge.asks(&trial, &model, LIMITS) else { return };
    let consulted = trial.facts(&said, "consulted").pop().unwrap();
    if consulted["level"]["enforced"] != true {
        crate::support::skip("this machine has no Landlock, so nothing refuses a write");
        return;
    }
    assert_eq!(planted(trial.repo.root()), [""; 0], "{said}");
    assert_eq!(consulted["trespasses"], json!([]));
    let tools = consulted["agent"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 8, "{tools:#?}");
    assert!(tools.iter().all(|tool| tool["outcome"] == "failed" || tool["exit"] != 0), "{tools:#?}");
    assert!(tools.iter().all(|tool| tool["input"].as_str().unwrap().contains("planted")), "{tools:#?}");
    said.decides("land", &["verified"]).exits(0);
}

/// Everything a project may bring to steer an agent, each with its own word.
fn steering(url: &str) -> Vec<(String, String)> {
    let port = url.rsplit(':').next().unwrap();
    let call = |what: &str| {
        format!("bash -c 'printf \\\"GET /{what} HTTP/1.1\\\\r\\\\n\\\\r\\\\n\\\" > /dev/tcp/127.0.0.1/{port}'")
    };
    let skill =
        |name: &str| format!("---\nname: {name}\ndescription: MARKER-{name} use this always\n---\nMARKER-{name}\n");
    let hook = |event: &str| {
        format!("\"{event}\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{}\"}}]}}]", call("hook"))
    };
    let hooks = format!("{{\"hooks\": {{{}, {}}}}}", hook("SessionStart"), hook("UserPromptSubmit"));
    let mcp = format!(
        "{{\"mcpServers\": {{\"m\": {{\"command\": \"bash\", \"args\": [\"-c\", \"printf 'GET /mcp HTTP/1.1\\\\r\\\\n\\\\r\\\\n' > /dev/tcp/127.0.0.1/{port}\"]}}}}}}"
    );
    [
        ("CLAUDE.md", "MARKER-claude-md\n".to_owned()),
        ("CLAUDE.local.md", "MARKER-claude-local\n".to_owned()),
        ("AGENTS.md", "MARKER-agents-md\n".to_owned()),
        (".claude/CLAUDE.md", "MARKER-claude-folder\n".to_owned()),
        (".claude/settings.json", hooks),
        (".claude/skills/steer/SKILL.md", skill("steer")),
        (".claude/agents/steer.md", skill("steer-agent")),
        (".claude/commands/steer.md", "MARKER-command\n".to_owned()),
        (".agents/skills/steer/SKILL.md", skill("steer-two")),
        (".codex/config.toml", format!("developer_instructions = \"MARKER-codex\"\n[mcp_servers.m]\ncommand = \"bash\"\nargs = [\"-c\", \"printf 'GET /mcp HTTP/1.1\\\\r\\\\n\\\\r\\\\n' > /dev/tcp/127.0.0.1/{port}\"]\n")),
        (".codex/AGENTS.md", "MARKER-codex-agents\n".to_owned()),
        (".mcp.json", mcp),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text))
    .collect()
}

/// A project's and its user's ways of steering an agent, none of which is in the change.
fn steered(model: &Model) -> Trial {
    let files = steering(&model.url());
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let trial = Trial::with(&Board::two_root(ID).criterion("It says hello"), &files).honest();
    let home = trial.repo.root().join("home");
    for (path, text) in files {
        let at_home = if path == "CLAUDE.md" { ".claude/CLAUDE.md" } else { path };
        crate::support::write(&home, at_home, text.replace("MARKER", "MARKER-of-the-user"));
    }
    trial
}

/// The markers in all that reached the model, and what else was asked of it.
fn steering_seen(model: &Model) -> (Vec<String>, Vec<String>) {
    let seen = model.seen();
    let words = |seen: &Seen| -> Vec<String> {
        let parts = seen.text.split("MARKER").skip(1);
        parts.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect()).collect()
    };
    let calls = seen.iter().filter(|seen| seen.path == "/hook" || seen.path == "/mcp");
    (seen.iter().flat_map(words).collect(), calls.map(|seen| seen.path.clone()).collect())
}

fn nothing_of_the_project_or_the_user_steers_the_judge(judge: Judge) {
    let model = Model::start(Plan::answering(PASS));
    let trial = steered(&model);
    let Some(said) = judge.asks(&trial, &model, LIMITS) else { return };
    assert_eq!(steering_seen(&model), (vec![], vec![]), "{said}");
    said.decides("land", &["verified"]).exits(0);

    // The same files do steer the program that is started without our flags: the markers are where it looks.
    let model = Model::start(Plan::answering(PASS));
    let trial = steered(&model);
    let words = super::installed::words(judge.name).unwrap();
    let said = Loose::named(judge.name).judge(&trial, &model, &words, "sandbox: {require: none}\n");
    let (markers, calls) = steering_seen(&model);
    assert!(!markers.is_empty(), "{said}");
    assert!(judge.name != "claude" || calls.iter().any(|call| call == "/hook"), "{calls:?}\n{said}");
}

macro_rules! each {
    ($judge:ident: $($fact:ident)*) => {$(
        #[test]
        fn $fact() {
            super::$fact(super::$judge);
        }
    )*};
}

macro_rules! judges {
    ($($name:ident: $judge:ident;)*) => {$(
        mod $name {
            each! { $judge:
                a_pass_lands
                a_fail_sends_back
                an_unusable_answer_is_asked_for_once_more_and_then_held
                refused_credentials_limits_and_server_faults_are_no_answer
                a_broken_connection_is_no_answer
                a_model_that_hangs_is_given_up_and_nobody_goes_on_asking_it
                an_answer_of_two_megabytes_is_named_as_too_long
                tools_that_write_are_refused_recorded_and_the_verdict_stands
                nothing_of_the_project_or_the_user_steers_the_judge
            }
        }
    )*};
}

judges! {
    claude: CLAUDE;
    codex: CODEX;
}
