//! A worker's session with the real program: the second turn goes on where the first ended.

use super::installed::wrapped;
use super::loose::Loose;
use super::pointed;
use crate::model::{Model, Plan, Turn};
use crate::stand::{LONG, Stand};
use countersign::agent::{AgentReply, Resumed, Role, locate, settle_agent};
use countersign::config::{Settings, VerifierProgram};
use countersign::host::env::Env;
use std::path::Path;

/// A turn of this program in a worktree, while the model writes a file and then says that it is done.
fn turn(stand: &mut Stand, program: &Path, name: &str, model: &Model, brief: &str) -> AgentReply {
    let home = stand.outside().join("home");
    let vars = pointed::at(name, model, &home);
    let mut env = vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())];
    env.push(("HOME".to_owned(), home.display().to_string()));
    env.extend(vars);
    stand.host.env = Env::of(env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let worktree = stand.outside().join("worktree");
    std::fs::create_dir_all(&worktree).unwrap();
    let described = VerifierProgram {
        agent: Some(name.to_owned()),
        command: vec![program.display().to_string()],
        model: Some(pointed::model(name).to_owned()),
        allow_hosts: vec![model.url().rsplit('/').next().unwrap().parse().unwrap()],
        ..VerifierProgram::default()
    };
    let settings = Settings { verifiers: [(name.to_owned(), described)].into(), ..Settings::default() };
    let mut agent = settle_agent(name, &settings).unwrap();
    locate(&stand.host, &mut agent, &worktree, true).unwrap();
    stand.ask(&agent, Role::Worker, "core-001", brief.as_bytes(), (0, LONG * 2))
}

fn a_worker_writes_its_worktree_only_and_its_session_goes_on(name: &str) {
    let mut stand = Stand::new();
    let Some(program) = wrapped(name, &stand.inside()) else { return };
    let loose = Loose::named(name);
    let line = "echo work > made-by-shell.txt; echo no > ../outside.txt; echo the shell has run";
    let first = Model::start(Plan::of([Turn::calls([(loose.shell)(line)]), Turn::says("ANSWER-ONE")]));
    let reply = turn(&mut stand, &program, name, &first, "BRIEF-ONE");
    assert_eq!(reply.heard().unwrap(), b"ANSWER-ONE", "{:?}", reply.record);
    assert_eq!(reply.record.resumed, Resumed::Fresh);
    let worktree = stand.outside().join("worktree");
    assert_eq!(std::fs::read_to_string(worktree.join("made-by-shell.txt")).unwrap(), "work\n");
    assert!(!reply.level.enforced || !stand.outside().join("outside.txt").exists(), "it wrote beside its worktree");
    assert_eq!(reply.record.tools_total, 1, "{:?}", reply.record);

    let second = Model::start(Plan::answering("ANSWER-TWO"));
    let reply = turn(&mut stand, &program, name, &second, "BRIEF-TWO");
    assert_eq!(reply.heard().unwrap(), b"ANSWER-TWO", "{:?}", reply.record);
    assert_eq!(reply.record.resumed, Resumed::Yes, "{:?}", reply.record);
    let asked = second.asked();
    for word in ["BRIEF-ONE", "the shell has run", "ANSWER-ONE", "BRIEF-TWO"] {
        assert!(asked[0].text.contains(word), "{word} did not reach the model again");
    }
}

macro_rules! each {
    ($($program:ident)*) => {$(
        #[test]
        fn $program() {
            super::a_worker_writes_its_worktree_only_and_its_session_goes_on(stringify!($program));
        }
    )*};
}

mod a_worker_goes_on_with_its_session {
    each!(claude codex pi gemini copilot);
}
