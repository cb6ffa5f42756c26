//! What a range can do to the gate itself: move while it is judged, change what later changes are judged by, be wrapped by
//! the forge.

use crate::support::{Forge, TASK, write};
use std::path::Path;

const ATTESTED: &[&str] = &["--require", "attested"];

/// Runs the binary in the developer's clone, and does something else there once it has come to the tests.
fn while_it_judges(forge: &Forge, words: &[&str], meanwhile: impl FnOnce() + Send) -> crate::support::Outcome {
    let mut meanwhile = Some(meanwhile);
    let mut command = forge.stage.repo.command(env!("CARGO_BIN_EXE_countersign"), &forge.top());
    command.args(words).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = String::new();
    let stderr = child.stderr.take().unwrap();
    for line in std::io::BufRead::lines(std::io::BufReader::new(stderr)) {
        let line = line.unwrap();
        if line.contains("running the tests")
            && let Some(meanwhile) = meanwhile.take()
        {
            meanwhile();
        }
        said.push_str(&line);
        said.push('\n');
    }
    assert!(meanwhile.is_none(), "it never came to the tests:\n{said}");
    let done = child.wait_with_output().unwrap();
    let line = format!("countersign {}", words.join(" "));
    crate::support::Outcome {
        code: done.status.code(),
        stdout: String::from_utf8(done.stdout).unwrap(),
        stderr: said,
        line,
    }
}

fn evil(forge: &Forge) {
    write(&forge.top(), "value.txt", "2\n");
    forge.stage.repo.commit("meanwhile");
}

#[test]
fn what_is_committed_while_the_gate_judges_is_neither_attested_nor_approved() {
    let forge = Forge::new("gate: {roles: {ci: ['developer@*']}}\n");
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    let judged = forge.git(&forge.top(), &["rev-parse", "HEAD"]);
    let words = ["ci", "--base", "origin/main", "--attest"];
    while_it_judges(&forge, &words, || evil(&forge)).exits(0).says("decision PASS");
    let noted = forge.git(&forge.top(), &["notes", "--ref=refs/notes/countersign", "list"]);
    assert!(noted.ends_with(&judged), "the note is on what was judged: {noted}");
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "HEAD"]);
    forge.developer(&["push", "--evidence-only"]).exits(0);
    forge.job("ci", ATTESTED).is("held", 3);

    let forge = Forge::new("gate: {approvers: ['developer@*']}\n");
    forge.commit("value.txt", "1\n\n", "chore: harmless");
    let words = ["decide", "--ci", "--base", "origin/main", "--head", "pr", "--why", "seen"];
    while_it_judges(&forge, &words, || evil(&forge)).exits(0).says("approved on ");
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "HEAD"]);
    forge.developer(&["push", "--evidence-only"]).exits(0);
    let gated = forge.job("ci", &[]);
    assert_ne!(gated.document["decision"], "pass", "{}", gated.outcome);
}

#[test]
fn what_later_changes_are_judged_by_does_not_change_unseen() {
    let readme = ".agentheim/knowledge/contexts/w/README.md";
    let page = ".agentheim/board/w/todo/w-004-make.md";
    let text = "---\nid: w-004\ntitle: Make it\nstatus: todo\ntype: feature\ncreated: 2026-09-20\n---\n\n\
                ## Acceptance criteria\n- [ ] It is there — file: `four.txt`\n";
    let forge = Forge::new("gate: {tasks: [docs/every.md]}\n");
    let every = "# Every change\n\n## Acceptance criteria\n\n- [ ] It has a word — file: `done.txt`\n";
    let tried = "# w\n\n## Purpose\nx\n\n## Test command\n`sh run.sh`\n\n## Runtime surface\nnone\n";
    let top = forge.top();
    forge.git(&top, &["switch", "-q", "main"]);
    for (path, text) in [(readme, tried), (page, text), ("docs/every.md", every)] {
        write(&top, path, text);
    }
    forge.stage.repo.commit("what is asked");
    forge.git(&top, &["push", "-q", "origin", "main"]);
    let table: &[(&str, String, &[&str])] = &[
        (readme, tried.replace("`sh run.sh`", "`true`"), &["gate-changed", "## Test command"]),
        (readme, tried.replace("none", "some"), &["gate-changed", "## Runtime surface"]),
        (page, text.replace("type:", "removes-tests: '**'\ntype:"), &["contract-changed", "removes-tests"]),
        (page, text.replace("type:", "paths: ['**']\ntype:"), &["contract-changed", "paths"]),
        (page, text.replace("feature", "chore"), &["contract-changed", "type"]),
        (page, text.replace("four", "five"), &["contract-changed", "criteria"]),
        ("docs/every.md", every.replace("done", "value"), &["gate-changed", "every change has to meet"]),
    ];
    for (number, (path, text, words)) in table.iter().enumerate() {
        forge.git(&top, &["switch", "-q", "-C", "pr", "main"]);
        write(&top, path, text);
        forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
        let gated = forge.job(&format!("ci-{number}"), &[]).is("held", 3).because(&words[..1]);
        gated.finds(words);
    }
    // Words around those sections, and a page that a landing moves, are nobody's gate.
    forge.git(&top, &["switch", "-q", "-C", "pr", "main"]);
    write(&top, readme, tried.replace("\nx\n", "\nTo be tested.\n"));
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    forge.job("ci-last", &[]).is("pass", 0);
}

fn verified(forge: &Forge, at: &Path, code: i32) {
    forge.run(at, &["attest", "verify", "HEAD"]).exits(code);
}

#[test]
fn the_gates_own_notes_verify_for_ranges_for_several_tasks_and_for_a_job_that_ran_twice() {
    let forge = Forge::new("");
    let top = forge.top();
    write(&top, "more.txt", "more\n");
    forge.stage.repo.commit("first half");
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    let words = ["--base", "origin/main", "--attest"];
    forge.judge_in(&top, &words).is("pass", 0);
    verified(&forge, &top, 0);
    let again = ["--base", "origin/main", "--require", "verified", "--attest"];
    forge.judge_in(&top, &again).is("pass", 0).rests_on(TASK, "verified");
    verified(&forge, &top, 0);
    // What is copied from another commit still says nothing about this one.
    let honest = forge.git(&top, &["rev-parse", "HEAD"]);
    forge.commit("other.txt", "x\n", "another");
    forge.git(&top, &["notes", "--ref=refs/notes/countersign", "copy", &honest, "HEAD"]);
    verified(&forge, &top, 1);
}

#[test]
fn an_approval_of_a_tree_counts_behind_the_forges_merge_commit() {
    let forge = Forge::new("gate: {approvers: ['developer@*']}\n");
    let top = forge.top();
    forge.commit("value.txt", "1\n\n", "chore: harmless");
    let words = ["decide", "--ci", "--base", "origin/main", "--head", "pr", "--why", "seen, and wanted"];
    forge.developer(&words).exits(0);
    forge.git(&top, &["switch", "-q", "-C", "queue", "main"]);
    forge.git(&top, &["merge", "-q", "--no-ff", "pr", "-m", "Merge pull request #4"]);
    let gated = forge.judge_in(&top, &["--base", "origin/main", "--head", "queue"]);
    gated.is("pass", 0).because(&["approved", "seen, and wanted"]);
}

#[test]
fn the_loser_of_a_race_is_told_whose_result_stands_and_an_inbox_without_notes_is_an_answer() {
    let forge = Forge::new("");
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    let judge = |name: &str| {
        let clone = forge.clone_as(name, &[]);
        forge.git(&clone, &["checkout", "-q", "origin/pr"]);
        forge.judge_in(&clone, &["--base", "origin/main", "--attest"]).is("pass", 0);
        clone
    };
    let (first, second) = (judge("ci-1"), judge("ci-2"));
    forge.run(&first, &["push", "--inbox"]).exits(0);
    let fetched = forge.run(&forge.top(), &["fetch"]).exits(0);
    assert!(fetched.stdout.contains("1 result waiting"), "{fetched}");
    forge.run(&first, &["push", "--evidence-only"]).exits(0).says("folded in");
    forge.run(&second, &["push", "--evidence-only"]).exits(0).says("stands already");
}
