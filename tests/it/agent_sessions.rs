//! Workers: one durable session for each task and provider.

use crate::stand::{LONG, Stand};
use crate::support::agent::{FakeAgent, path, turn};
use countersign::agent::{Agent, AgentReply, Resumed, Role, locate, settle_agent};
use countersign::config::Settings;
use countersign::host::env::Env;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// A worktree, a place for sessions, and fake programs.
struct Shop {
    stand: Stand,
}

impl Shop {
    fn new() -> Self {
        let mut stand = Stand::new();
        let root = stand.inside();
        let path = path(&root).into_string().unwrap();
        stand.host.env = Env::of([("PATH", path.as_str()), ("HOME", "/nonexistent"), ("ANTHROPIC_API_KEY", "dummy")]);
        for folder in ["worktree", "own"] {
            fs::create_dir_all(stand.outside().join(folder)).unwrap();
        }
        Self { stand }
    }

    fn worktree(&self) -> PathBuf {
        self.stand.outside().join("worktree")
    }

    fn agent(&self, name: &str) -> Agent {
        let mut agent = settle_agent(name, &Settings::default()).unwrap();
        locate(&self.stand.host, &mut agent, &self.worktree(), true).unwrap();
        agent
    }

    fn dispatch(&self, fake: &FakeAgent, name: &str, task: &str, brief: &str) -> AgentReply {
        fake.install(&self.stand.inside());
        let agent = self.agent(name);
        self.stand.ask(&agent, Role::Worker, task, brief.as_bytes(), (1, LONG))
    }

    fn started_with(&self) -> String {
        let log = fs::read_to_string(self.stand.outside().join("log")).unwrap();
        log.lines().find_map(|line| line.strip_prefix("arguments: ")).unwrap_or_default().to_owned()
    }
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let found = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = found.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let name = entry.path().strip_prefix(folder).unwrap().display().to_string();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn a_worker_writes_its_worktree_and_goes_on_with_its_session() {
    let shop = Shop::new();
    let fake = FakeAgent::answering("claude", "done", "a.txt").doing("echo work > made.txt; echo no > ../outside.txt");
    let first = shop.dispatch(&fake, "claude", "core-001", "THE BRIEF of turn one");
    assert_eq!(first.heard().unwrap(), b"done");
    assert_eq!(first.record.resumed, Resumed::Fresh);
    assert_eq!(fs::read_to_string(shop.worktree().join("made.txt")).unwrap(), "work\n");
    assert!(!first.level.enforced || !shop.stand.outside().join("outside.txt").exists());
    let started = shop.started_with();
    assert!(started.contains("--session-id ") && !started.contains("--resume"), "{started}");

    let second = shop.dispatch(&fake, "claude", "core-001", "THE BRIEF of turn two");
    assert_eq!(second.record.resumed, Resumed::Yes);
    assert!(shop.started_with().contains("--resume s-1"), "{}", shop.started_with());

    // Another task, and another model, are other sessions.
    let other = shop.dispatch(&fake, "claude", "core-002", "x");
    assert_eq!(other.record.resumed, Resumed::Fresh);

    let kept = files(&shop.stand.outside().join("own/agents/core-001/claude"));
    let identity: Vec<_> = kept.iter().filter(|(name, _)| !name.starts_with("home/")).collect();
    assert_eq!(identity.len(), 1, "{kept:?}");
    let identity: serde_json::Value = serde_json::from_str(&identity[0].1).unwrap();
    assert_eq!(
        identity,
        json!({"agent": "claude", "version": "1.2.3", "model": null, "session": "s-1", "turns": 2}),
        "who it is, nothing that was said"
    );
    assert!(kept.iter().all(|(_, text)| !text.contains("THE BRIEF")), "{kept:?}");
}

#[test]
fn a_session_that_cannot_go_on_begins_afresh_and_says_so() {
    let shop = Shop::new();
    let good = FakeAgent::answering("claude", "done", "a.txt");
    shop.dispatch(&good, "claude", "core-001", "one");
    // The session is unknown to the program: it leaves before the model did anything.
    let lost = good.clone().doing("case \"$*\" in *--resume*) exit 1;; esac");
    let again = shop.dispatch(&lost, "claude", "core-001", "two");
    assert_eq!(again.heard().unwrap(), b"done", "the same turn ran");
    let Resumed::Failed { why } = &again.record.resumed else { panic!("{:?}", again.record) };
    assert!(why.contains("did not go on") && why.contains("exited with code 1"), "{why}");
    assert_eq!(again.record.tries.len(), 2);
    assert!(shop.started_with().contains("--session-id "), "{}", shop.started_with());
}

#[test]
fn a_failure_of_the_service_does_not_cost_the_session() {
    let shop = Shop::new();
    shop.dispatch(&FakeAgent::answering("claude", "done", "a.txt"), "claude", "core-001", "one");
    let mut events = turn("claude", "", "");
    events.drain(1..3);
    events[1] =
        json!({"type": "result", "is_error": true, "subtype": "success", "api_error_status": 401, "result": "no"});
    let refused = FakeAgent::telling("claude", &events).exiting(1);
    let failed = shop.dispatch(&refused, "claude", "core-001", "two");
    assert_eq!(failed.heard().unwrap_err().code, "failed-credentials");
    assert_eq!((failed.record.resumed, failed.record.tries.len()), (Resumed::Yes, 1));
    let third = shop.dispatch(&FakeAgent::answering("claude", "done", "a.txt"), "claude", "core-001", "three");
    assert_eq!(third.record.resumed, Resumed::Yes);
}

#[test]
fn a_program_that_names_its_sessions_is_resumed_under_that_name() {
    for (name, flag) in [("codex", "exec resume"), ("opencode", "-s s-1")] {
        let shop = Shop::new();
        let fake = FakeAgent::answering(name, "done", "a.txt");
        shop.dispatch(&fake, name, "core-001", "one");
        assert!(!shop.started_with().contains(flag), "{name}");
        let second = shop.dispatch(&fake, name, "core-001", "two");
        assert_eq!(second.record.resumed, Resumed::Yes, "{name}");
        let started = shop.started_with();
        assert!(started.contains(flag) && started.contains("s-1"), "{name}: {started}");
    }
}

#[test]
fn a_verifier_never_goes_on_with_a_workers_session() {
    let shop = Shop::new();
    let fake = FakeAgent::answering("claude", "done", "a.txt");
    shop.dispatch(&fake, "claude", "core-001", "one");
    let agent = shop.agent("claude");
    let reply = shop.stand.ask(&agent, Role::Verifier, "core-001", b"judge", (0, LONG));
    assert_eq!((reply.record.role, reply.record.resumed.clone()), (Role::Verifier, Resumed::Fresh));
    let started = shop.started_with();
    assert!(started.contains("--no-session-persistence") && !started.contains("--resume"), "{started}");
}
