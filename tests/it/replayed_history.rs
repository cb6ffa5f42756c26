//! Replays a real history with the `replay` example, where `COUNTERSIGN_REPLAY_CLONE` names a clone of
//! `rommsen/Agentheim` at `d645789`. Without the variable there is nothing to replay, and the test says so.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The example. `cargo test` builds it beside the tests; with `--test it` it must have been built before.
fn example() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_countersign")).with_file_name("examples").join("replay");
    assert!(program.is_file(), "there is no {}: run `cargo build --example replay`", program.display());
    program
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the opt-in of this test alone, and a program of our own")]
fn a_real_history_is_replayed_commit_by_commit() {
    let Some(clone) = std::env::var_os("COUNTERSIGN_REPLAY_CLONE") else {
        println!("COUNTERSIGN_REPLAY_CLONE is not set: no real history was replayed");
        return;
    };
    let refs = || Command::new("git").arg("-C").arg(&clone).args(["for-each-ref"]).output().unwrap().stdout;
    let before = refs();
    let output = Command::new(example()).arg(&clone).arg("--no-tests").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(refs(), before, "the clone is only read");

    let lines = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    assert_eq!(lines(" ()"), 0, "every decision has a code: {text}");
    assert_eq!((lines("  integration  "), lines("  bookkeeping  ")), (121, 74));
    assert_eq!(lines("  task-from-claim  "), 77);
    assert!(
        text.contains("184 commits with a task, 122 tasks: 121 integrations (77 task-from-claim), 74 bookkeeping\n"),
        "{text}"
    );
    assert!(text.contains("122 of 122 live task files read without loss: 847 boxes"), "{text}");

    // What history cannot hide, each looked up by hand: criteria edited by the commit that ends the task, a task left in
    // two folders. And the checks that must not cry wolf on honest work are silent.
    let denied = |check: &str| text.lines().filter(|l| l.contains("  deny: ") && l.contains(check)).count();
    assert_eq!(denied("tamper"), 14, "{text}");
    let found = |task: &str| text.lines().any(|l| l.contains(&format!("  integration  {task}  send-back (tamper)")));
    assert!(found("infrastructure-001") && found("agentic-workflow-077"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("  deny: ")).count(), 14, "{text}");
}
