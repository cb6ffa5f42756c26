//! The real programs under our own adapters, pointed at the model server in the way their users would.

use super::installed::{version, wrapped};
use super::loose::{Loose, PASS, planted};
use crate::model::{Model, Plan, Turn};
use crate::support::trial::Trial;
use crate::support::{Outcome, write};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;

const KEY: &str = "dummy-for-the-model-server";

/// The variables that point a program at the server; what it reads from its user's home is written there.
pub(super) fn at(name: &str, model: &Model, home: &Path) -> Vec<(String, String)> {
    let url = model.url();
    let openai = format!("{url}/v1");
    let vars: &[(&str, &str)] = match name {
        "claude" => &[("ANTHROPIC_API_KEY", KEY), ("ANTHROPIC_BASE_URL", &url)],
        "codex" => &[("CODEX_API_KEY", KEY), ("OPENAI_BASE_URL", &openai)],
        "gemini" => &[("GEMINI_API_KEY", KEY), ("GOOGLE_GEMINI_BASE_URL", &url)],
        "copilot" => &[
            ("COPILOT_PROVIDER_API_KEY", KEY),
            ("COPILOT_PROVIDER_TYPE", "openai"),
            ("COPILOT_PROVIDER_BASE_URL", &openai),
            ("COPILOT_OFFLINE", "true"),
        ],
        _ => {
            let provider = json!({"baseUrl": openai, "api": "openai-completions", "apiKey": KEY,
                "models": [{"id": "stub-model"}]});
            write(home, ".pi/agent/models.json", json!({"providers": {"stub": provider}}).to_string());
            &[]
        }
    };
    vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What the program is to call the server's model.
pub(super) fn model(name: &str) -> &'static str {
    match name {
        "pi" => "stub/stub-model",
        "gemini" => "gemini-2.5-pro",
        _ => "stub-model",
    }
}

/// Has the program judge an honest change while the model follows this plan.
fn judges(name: &str, trial: &Trial, model: &Model) -> Option<Outcome> {
    let root = trial.repo.root();
    let program = wrapped(name, root)?;
    let vars = at(name, model, &root.join("home"));
    let place = model.url().rsplit('/').next().unwrap().to_owned();
    trial.settings(&format!(
        "verifiers: {{{name}: {{agent: {name}, command: ['{}'], model: {}, allow-hosts: ['{place}']}}}}\n\
         limits: {{verifier-seconds: 120, agent-pause-seconds: 0, agent-retries: 0}}\n",
        program.display(),
        self::model(name)
    ));
    let vars: Vec<_> = vars.iter().map(|(name, value)| (name.as_str(), OsStr::new(value))).collect();
    Some(trial.verify_with(&["--verifier", name, "--fresh"], &vars))
}

fn asked_for(name: &str, plan: Plan) -> Option<(Trial, Model, Outcome, Value)> {
    let (trial, model) = (Trial::new(&["It says hello"]).honest(), Model::start(plan));
    let said = judges(name, &trial, &model)?;
    let agent = trial.facts(&said, "consulted").last().unwrap()["agent"].clone();
    Some((trial, model, said, agent))
}

fn a_pass_lands(name: &str) {
    let Some((_, model, said, agent)) = asked_for(name, Plan::answering(PASS)) else { return };
    assert!(model.asked().iter().any(|asked| asked.text.contains("It says hello")), "the brief did not arrive: {said}");
    assert!(agent["version"].as_str().unwrap().contains(version(name)), "{agent}");
    // What a program does not count stays unknown.
    let tokens = if name == "copilot" { Value::Null } else { json!(7) };
    assert_eq!(agent["usage"]["output-tokens"], tokens, "{agent}");
    said.decides("land", &["verified"]).exits(0);
}

fn a_fail_sends_back(name: &str) {
    let fail = "VERDICT: FAIL\nTASK_ID: greet-001\nTOKEN: @TOKEN@\nREASONS:\n- it is rude\n\
                SUGGESTED_FIX: mend it\nITERATION_HINT: likely-fixable\n";
    let Some((_, _, said, _)) = asked_for(name, Plan::answering(fail)) else { return };
    assert!(said.words().contains("it is rude"), "{said}");
    said.decides("send-back", &["verdict-fail"]).exits(1);
}

fn an_unusable_answer_and_a_refused_key_judge_nothing(name: &str) {
    let Some((_, _, said, _)) = asked_for(name, Plan::answering("I looked at it: []")) else { return };
    said.is_unusable(&["no-verdict"]);
    let Some((_, _, said, _)) = asked_for(name, Plan::of([Turn::fails(401)])) else { return };
    assert_eq!(said.heard().0, "no-answer", "{said}");
    said.decides("hold", &["no-answer"]).exits(3);
}

fn a_write_is_not_offered_or_fails_and_the_verdict_stands(name: &str) {
    let loose = Loose::named(name);
    let trial = Trial::new(&["It says hello"]).honest();
    let place = |what: &str| format!("{}/planted-{what}", trial.repo.path().display());
    let model = Model::start(Plan::of([
        Turn::calls([(loose.write)(&place("by-tool"), "x")]),
        Turn::calls([(loose.shell)(&format!("echo x > {}", place("by-shell")))]),
        Turn::says(PASS),
    ]));
    let Some(said) = judges(name, &trial, &model) else { return };
    assert_eq!(planted(trial.repo.root()), [""; 0], "{said}");
    assert!(model.asked().len() >= 3, "the model's tool calls were not answered: {said}");
    said.decides("land", &["verified"]).exits(0);
}

macro_rules! each {
    ($program:ident: $($fact:ident)*) => {$(
        #[test]
        fn $fact() {
            super::$fact(stringify!($program));
        }
    )*};
}

macro_rules! judges {
    ($($program:ident)*) => {$(
        mod $program {
            each! { $program:
                a_pass_lands
                a_fail_sends_back
                an_unusable_answer_and_a_refused_key_judge_nothing
                a_write_is_not_offered_or_fails_and_the_verdict_stands
            }
        }
    )*};
}

// Claude Code and Codex are asked more, beside this.
judges!(pi gemini copilot);
