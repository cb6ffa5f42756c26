//! Programs that speak the Agent Client Protocol, as verifiers and as workers: `acp:<command>`.

use crate::stand::{LONG, Stand};
use crate::support::trial::{ID, Trial};
use crate::support::{Crew, FakeVerifier, Outcome, write_script};
use countersign::agent::{AgentReply, Resumed, Role, Sessions, settle_agent};
use countersign::config::Settings;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// An agent that answers with what another program makes of the question. `$1` is that program, `$2` how it behaves.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys

answer, how = sys.argv[1], sys.argv[2]

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def update(session, **what):
    send({"method": "session/update", "params": {"sessionId": session, "update": what}})

def say(session, text):
    update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})

def call(session, title, kind, given, **more):
    update(session, sessionUpdate="tool_call", toolCallId=title, title=title, kind=kind, status="pending", rawInput=given, **more)

def ask(session, title, kind):
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]
    tool = {"toolCallId": title, "title": title, "kind": kind}
    send({"id": "ask", "method": "session/request_permission", "params": {"sessionId": session, "toolCall": tool, "options": options}})
    reply = json.loads(sys.stdin.readline())
    return reply["result"]["outcome"].get("optionId") == "yes"

def prompt(id, params):
    session = params["sessionId"]
    text = params["prompt"][0]["text"]
    sys.stderr.write("blocks: %s; started in %s\n" % (json.dumps(params["prompt"][1:]), os.getcwd()))
    for name in ("HOME", "MY_KEY", "GITHUB_TOKEN", "COUNTERSIGN_REPORT"):
        sys.stderr.write("variable: %s=%s\n" % (name, os.environ.get(name)))
    if how == "hang":
        say(session, "VERDICT: PASS")
        sys.stdin.readline()
        sys.stdin.readline()
        return
    if how == "dies":
        say(session, "VERDICT: PASS")
        os._exit(0)
    if how == "error":
        return send({"id": id, "error": {"code": -32603, "message": "the model says 429"}})
    say(session, "Let me look.")
    call(session, "look", "read", {"path": "greeting.txt"}, locations=[{"path": "greeting.txt"}])
    update(session, sessionUpdate="tool_call_update", toolCallId="look", status="completed")
    if how == "writes":
        room = [b["uri"][7:] for b in params["prompt"] if b["type"] == "resource_link"]
        place = os.path.join(room[0] if room else os.getcwd(), "planted.txt")
        call(session, "plant", "edit", {"path": place})
        granted = ask(session, "plant", "edit")
        sys.stderr.write("granted: %s\n" % granted)
        try:
            open(place, "w").write("planted\n")
            update(session, sessionUpdate="tool_call_update", toolCallId="plant", status="completed")
        except OSError as why:
            sys.stderr.write("refused: %s\n" % why)
            update(session, sessionUpdate="tool_call_update", toolCallId="plant", status="failed")
    said = subprocess.run([answer], input=text.encode(), stdout=subprocess.PIPE).stdout.decode()
    update(session, sessionUpdate="something_new", whatever=1)
    if how == "long":
        said = "x" * (5 << 20)
    for start in range(0, len(said), 700):
        say(session, said[start:start + 700])
    update(session, sessionUpdate="usage_update", used=5, size=9, cost={"amount": 0.5, "currency": "USD"})
    send({"id": id, "result": {"stopReason": "max_tokens" if how == "cut" else "end_turn"}})

print("a greeting that is no message", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        offers = {"loadSession": how in ("loads", "forgets")}
        send({"id": id, "result": {"protocolVersion": 1, "agentCapabilities": offers, "agentInfo": {"name": "fake", "version": "4.5.6"}}})
    elif method == "session/new" and how == "locked":
        send({"id": id, "error": {"code": -32000, "message": "Authentication required"}})
    elif method == "session/new":
        sys.stderr.write("session in %s\n" % params["cwd"])
        send({"id": id, "result": {"sessionId": "s-1"}})
    elif method == "session/load" and how == "forgets":
        send({"id": id, "error": {"code": -32002, "message": "no such session"}})
    elif method == "session/load":
        say(params["sessionId"], "VERDICT: PASS from before")
        send({"id": id, "result": {}})
    elif method == "session/prompt":
        prompt(id, params)
    elif id is not None and method:
        send({"id": id, "error": {"code": -32601, "message": "no such method"}})
"#;

fn agent_at(root: &Path) -> PathBuf {
    let program = root.join("fake/acp-agent");
    write_script(&program, AGENT);
    program
}

/// Judges with an agent of the protocol that behaves so and answers as this verifier.
fn judged(how: &str, fake: &FakeVerifier, more: &str) -> (Trial, Outcome) {
    let trial = Trial::new(&["It says hello"]).honest();
    let (program, answer) = (agent_at(trial.repo.root()), fake.install(&trial.repo));
    let command = format!("['{}', '{}', '{how}']", program.display(), answer.display());
    let text = format!("verifiers: {{mine: {{agent: acp, command: {command}, env: [MY_KEY]}}}}\n{more}");
    crate::support::write(trial.repo.root(), "home/.config/countersign/settings.yaml", text);
    let vars = [("MY_KEY", OsStr::new("mine")), ("GITHUB_TOKEN", OsStr::new("never"))];
    let outcome = trial.verify_with(&["--verifier", "mine", "--fresh"], &vars);
    (trial, outcome)
}

fn passing() -> FakeVerifier {
    FakeVerifier::passing(ID, &["C1 It says hello — covered by test:greets"])
}

fn consulted(trial: &Trial, outcome: &Outcome) -> Value {
    trial.facts(outcome, "consulted").pop().unwrap()
}

fn heard(trial: &Trial, outcome: &Outcome) -> Value {
    trial.facts(outcome, "heard").pop().unwrap()
}

fn log(trial: &Trial, outcome: &Outcome) -> String {
    trial.sealed(outcome, "logs/verifier-1.log")
}

#[test]
fn an_agent_of_the_protocol_judges_beside_the_tree_and_is_recorded() {
    let (trial, outcome) = judged("plain", &passing(), "");
    let outcome = outcome.decides("land", &["verified"]).exits(0);
    let record = consulted(&trial, &outcome);
    let agent = &record["agent"];
    assert_eq!((&agent["agent"], &agent["version"]), (&"acp".into(), &"fake 4.5.6".into()), "{agent}");
    assert_eq!((&agent["session"], &agent["terminal"]), (&"s-1".into(), &"session/prompt end_turn".into()));
    assert_eq!(agent["resumed"]["kind"], "fresh");
    assert_eq!((&agent["usage"]["cost-usd"], &agent["usage"]["input-tokens"]), (&0.5.into(), &Value::Null));
    assert_eq!((&agent["tools"][0]["name"], &agent["tools"][0]["outcome"]), (&"read".into(), &"done".into()));
    assert_eq!(agent["network"], "off", "nobody named its model's place");
    let log = log(&trial, &outcome);
    let started = log.lines().find(|line| line.contains("started in ")).unwrap();
    assert!(started.contains("resource_link") && started.ends_with("/away"), "{started}");
    assert!(log.contains("session in ") && log.contains("variable: GITHUB_TOKEN=None"), "{log}");
    assert!(!log.contains("variable: MY_KEY=None"), "a variable that the settings name is lent: {log}");
    assert!(!log.contains(&format!("variable: HOME={}", trial.repo.root().join("home").display())), "{log}");
}

#[test]
fn what_it_answers_is_judged_as_anybody_s_answer() {
    let (_trial, failing) = judged("plain", &FakeVerifier::failing(ID, &["it does not say hello"]), "");
    failing.decides("send-back", &["verdict-fail"]).exits(1);
    let (_trial, unusable) = judged("plain", &FakeVerifier::answering("Looks fine to me."), "");
    assert_eq!(unusable.decision(), "hold", "{unusable}");
    let (_trial, long) = judged("long", &passing(), "");
    long.decides("hold", &["no-answer"]).exits(3).says("at most");
}

#[test]
fn a_turn_that_does_not_end_well_is_no_answer_whatever_was_said_before() {
    let limits = "limits: {verifier-seconds: 20, agent-retries: 0}\n";
    for (how, code) in [
        ("dies", "failed-untyped"),
        ("error", "failed-untyped"),
        ("cut", "failed-limit"),
        ("locked", "failed-credentials"),
    ] {
        let (trial, outcome) = judged(how, &passing(), limits);
        let outcome = outcome.decides("hold", &["no-answer"]).exits(3);
        let heard = heard(&trial, &outcome);
        assert_eq!(heard["code"], code, "{how}: {heard}");
    }
    let (trial, outcome) = judged("plain", &passing(), "");
    let gone = trial.repo.root().join("fake/gone");
    let named = format!("acp:{}", gone.display());
    let missing = trial.verify(&["--verifier", &named, "--fresh"]).exits(3);
    assert!(missing.words().contains("cannot start"), "{missing}\n{outcome}");
}

#[test]
fn an_agent_that_falls_silent_is_ended_and_what_was_measured_is_said() {
    let (trial, outcome) = judged("hang", &passing(), "limits: {agent-idle-seconds: 2, agent-retries: 0}\n");
    let outcome = outcome.decides("hold", &["no-answer"]).exits(3);
    let record = consulted(&trial, &outcome);
    assert_eq!(heard(&trial, &outcome)["code"], "idle", "{record}");
    assert!(outcome.words().contains("last output"), "{outcome}");
    assert_eq!(record["agent"]["tries"][0]["ending"]["kind"], "idle");
    let left = fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    let program = trial.repo.root().join("fake/acp-agent").display().to_string();
    assert!(!left.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(&program)));
}

#[test]
fn a_judge_s_write_is_refused_twice_and_its_verdict_stands() {
    let (trial, outcome) = judged("writes", &passing(), "");
    let outcome = outcome.decides("land", &["verified"]).exits(0);
    let log = log(&trial, &outcome);
    assert!(log.contains("granted: False") && log.contains("refused: "), "{log}");
    let tools = consulted(&trial, &outcome)["agent"]["tools"].clone();
    assert_eq!((&tools[1]["name"], &tools[1]["outcome"]), (&"edit".into(), &"failed".into()), "{tools}");
}

#[test]
fn without_a_box_the_same_write_lands_in_the_room_and_voids_the_verdict() {
    let (_trial, outcome) = judged("writes", &passing(), "sandbox: {require: none}\n");
    assert_eq!(outcome.decision(), "hold", "{outcome}");
    assert!(outcome.words().contains("planted.txt"), "{outcome}");
}

struct Shop {
    stand: Stand,
    program: PathBuf,
}

impl Shop {
    fn new() -> Self {
        let stand = Stand::new();
        fs::create_dir_all(stand.outside().join("worktree")).unwrap();
        let program = agent_at(&stand.inside());
        write_script(&stand.inside().join("fake/answer"), "#!/bin/sh\necho done; echo made > made.txt\n");
        Self { stand, program }
    }

    fn worktree(&self) -> PathBuf {
        self.stand.outside().join("worktree")
    }

    fn dispatch(&self, how: &str) -> AgentReply {
        let answer = self.stand.inside().join("fake/answer");
        let mut agent =
            settle_agent(&format!("acp:{} {} {how}", self.program.display(), answer.display()), &Settings::default())
                .unwrap();
        // One task, one name: a session belongs to both.
        "mine".clone_into(&mut agent.name);
        self.stand.ask(&agent, Role::Worker, "core-001", b"do it", (1, LONG))
    }
}

#[test]
fn a_worker_of_the_protocol_works_in_its_worktree_and_goes_on_where_it_was() {
    let shop = Shop::new();
    let first = shop.dispatch("loads");
    assert_eq!(first.record.resumed, Resumed::Fresh);
    assert_eq!(first.heard().unwrap().trim_ascii(), b"done", "{:?}", first.record);
    assert!(shop.worktree().join("made.txt").is_file());
    let second = shop.dispatch("loads");
    assert_eq!(second.record.resumed, Resumed::Yes, "{:?}", second.record);
    assert_eq!(second.heard().unwrap().trim_ascii(), b"done", "what was said before is not said again");
    // One that cannot, and one that has forgotten: the same turn, afresh, and it is said.
    for how in ["plain", "forgets"] {
        let third = shop.dispatch(how);
        assert!(matches!(&third.record.resumed, Resumed::Failed { why } if why.contains("did not go on")), "{how}");
        assert_eq!(third.heard().unwrap().trim_ascii(), b"done", "{how}");
        assert_eq!(third.record.tries.len(), 2, "{how}");
    }
    let sessions = Sessions::of(&shop.stand.outside().join("own"), "core-001").unwrap();
    assert!(sessions.latest().is_none(), "no transcript that we can read: nothing is missed");
}

/// What a run of `work` comes to whose one worker speaks the protocol and behaves so.
fn worked(how: &str) -> (Crew, Outcome) {
    let crew = Crew::of(1);
    crew.worker("echo made > \"$id.txt\"\nreport \"$id.txt\"\n");
    let (program, answer) = (agent_at(crew.repo.root()), crew.repo.root().join("fake/worker"));
    let command = format!("['{}', '{}', '{how}']", program.display(), answer.display());
    let text = format!("verifiers: {{speaker: {{agent: acp, command: {command}}}}}\n");
    crate::support::write(crew.repo.root(), "home/.config/countersign/settings.yaml", text);
    let outcome = crew.repo.run(&["work", "--agent", "worker=speaker"]);
    (crew, outcome)
}

#[test]
fn the_work_of_an_agent_of_the_protocol_lands_like_anybody_s() {
    let (crew, outcome) = worked("plain");
    outcome.exits(0);
    assert!(crew.landed("w-1.txt").is_some());
    // What it was permitted to write and did not report is held against the diff.
    let (_crew, outcome) = worked("writes");
    assert!(outcome.exits(3).stdout.contains("report-files"), "a file that no list has");
}
