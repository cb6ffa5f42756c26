//! Sealed cases as a user meets them: what is judged again and what is not, what replay says, and how the task, its base
//! and its report are named.

use crate::support::trial::{ID, Trial, assert_replays};
use crate::support::{
    Board, FakeVerifier, Outcome, TestRepo, assert_again_changes_nothing, assert_invariants, variable, write,
};
use serde_json::Value;
use std::ffi::OsStr;

const CRITERION: &str = "It says hello — test: `greets`";

fn honest() -> Trial {
    Trial::new(&[CRITERION]).honest()
}

fn attempts(repo: &TestRepo) -> usize {
    repo.git(&["log", "--first-parent", "--format=%s", &format!("refs/countersign/cases/{ID}")])
        .lines()
        .filter(|subject| subject.starts_with("case "))
        .count()
}

#[test]
fn a_stored_judgement_without_the_users_mark_is_made_again() {
    let trial = honest();
    trial.verify(&[]).decides("land", &["verified"]).exits(0);
    trial.repo.run(&["verify", ID]).exits(0).says("judged before");
    // A case lies where a worker can write; that it is this user's own judgement is marked with a key of the user's.
    let marks = trial.repo.path().join(".git/countersign/judged");
    for mark in std::fs::read_dir(&marks).unwrap().filter_map(Result::ok) {
        std::fs::write(mark.path(), "0".repeat(64)).unwrap();
    }
    let anew = trial.repo.run(&["verify", ID]).exits(0);
    assert!(!anew.stdout.contains("judged before"), "{anew}");
}

#[test]
fn a_tree_judged_under_the_same_rules_is_not_judged_again_and_says_so() {
    let trial = honest();
    let first = trial.verify(&[]).decides("land", &["verified"]).exits(0);
    let second = trial.verify(&[]).exits(0);
    assert_eq!(
        (first.json()["judged-before"].clone(), second.json()["judged-before"].clone()),
        (false.into(), true.into())
    );
    assert_eq!(first.json()["case"], second.json()["case"]);
    trial.repo.run(&["verify", ID]).exits(0).says("judged before under the same rules");
    assert_again_changes_nothing(&second, &trial.repo, &["verify", ID, "--json"]);
    assert_eq!(attempts(&trial.repo), 1);
    let fresh = trial.verify(&["--fresh"]).exits(0);
    assert_eq!((fresh.json()["judged-before"].clone(), attempts(&trial.repo)), (false.into(), 2));

    // Another rule, another task text, another base: judged again.
    trial.settings("limits:\n  tests-seconds: 77\n");
    assert_eq!(trial.verify(&[]).json()["judged-before"], false);
    trial.settings("");
    let base = trial.repo.path().join(Board::two_root(ID).task_path());
    let text = std::fs::read_to_string(&base).unwrap();
    std::fs::write(&base, text.replace("Because.", "For a reason.")).unwrap();
    let next = trial.repo.commit("the task is clearer");
    trial.repo.git_in(&trial.worktree, &["checkout", "-q", "HEAD", "--", "."]);
    assert_eq!(trial.verify(&["--base", &next]).json()["judged-before"], false);

    // A FAIL is remembered like a PASS; a hold is tried again.
    let failing = honest();
    failing.ask(&FakeVerifier::failing(ID, &["C1: it is rude"])).exits(1);
    let again = failing.verify(&[]).exits(1);
    assert_eq!(again.json()["judged-before"], true, "{again}");
    failing.ask(&FakeVerifier::answering("no idea\n")).exits(3);
    let held = honest();
    held.judge_with(&FakeVerifier::answering("no idea\n"), "");
    held.verify(&[]).exits(3);
    assert_eq!(held.verify(&[]).exits(3).json()["judged-before"], false);
    assert_eq!(attempts(&held.repo), 2);
}

#[test]
fn a_replay_agrees_for_every_decision_and_an_edited_case_is_found_out() {
    let trial = honest();
    trial.verify(&[]).decides("land", &["verified"]);
    trial.ask(&FakeVerifier::failing(ID, &["rude"])).decides("send-back", &["verdict-fail"]);
    trial.ask(&FakeVerifier::answering("?\n")).exits(3);
    let floor = {
        let before = trial.repo.fingerprint();
        let args = ["verify", "--floor", "--seal", "--json"];
        let outcome = trial.repo.run_with(&trial.worktree, &args, &[], b"");
        assert_invariants(&before, &outcome, &trial.repo);
        outcome.exits(0)
    };
    assert_eq!(floor.decision(), "floor-only", "{floor}");
    let key = trial.repo.git(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/countersign/cases/floor-*"]);
    trial.repo.run(&["replay", &key]).exits(0).says("agrees");

    let prose = Trial::with(&Board::two_root(ID).criterion("It is told"), &[(".agentheim/countersign.yaml", "{}\n")]);
    prose.work("docs/greeting.md", "hello\n");
    let skip = format!("VERDICT: SKIP\nTASK_ID: {ID}\nTOKEN: @TOKEN@\nREASON: prose only\n");
    prose.ask(&FakeVerifier::answering(&skip)).decides("skip", &["verdict-skip"]).exits(0);

    // Somebody makes a FAIL of the record into a PASS, as a further commit on the case.
    let edited = honest();
    let said = edited.ask(&FakeVerifier::failing(ID, &["C1: it is rude"])).exits(1);
    let receipts = edited.sealed(&said, "receipts.jsonl");
    let decided = receipts.lines().last().unwrap();
    for forged in [
        receipts.replace(decided, &decided.replace("send-back", "land")),
        receipts.replace("\"heard\":\"fail\"", "\"heard\":\"skip\""),
        receipts.lines().filter(|line| !line.contains("\"fact\":\"heard\"")).map(|line| format!("{line}\n")).collect(),
        receipts.replace("\"state\":\"pass\"", "\"state\":\"deny\""),
    ] {
        assert_ne!(forged, receipts);
        forge(&edited.repo, &said, "receipts.jsonl", &forged);
        let found = edited.repo.run(&["replay", ID]);
        assert!(matches!(found.code, Some(3 | 4)), "the forgery goes unnoticed\n{found}");
        assert!(!found.stdout.contains("agrees:"), "{found}");
    }
    // The pages that only repeat the receipts are what people read with plain git.
    for page in ["decision.json", "verdict.json", "claim.json"] {
        let text = edited
            .sealed(&said, page)
            .replace("send-back", "land")
            .replace("fail", "pass")
            .replace("greeting", "other");
        forge(&edited.repo, &said, page, &text);
        edited.repo.run(&["replay", ID]).exits(3).says(page);
    }
    edited.repo.run(&["replay", "greet-404"]).exits(2).says("no sealed case");
    edited.repo.run(&["replay", ID, "--attempt", "9"]).exits(2).says("attempt 9");
    let shown = trial.repo.run(&["receipts", ID, "--attempt", "1"]).exits(0);
    assert!(shown.stdout.contains("decided   land: verified"), "{shown}");
}

#[test]
fn a_sealed_case_is_believed_only_as_far_as_its_receipts_go_and_where_it_was_made() {
    let lie = honest();
    lie.work("checks/greets.sh", "grep -q goodbye greeting.txt\n");
    let said = lie.verify(&[]).exits(1);
    let receipts = lie.sealed(&said, "receipts.jsonl");
    let decided = receipts.lines().last().unwrap();
    let forged = receipts.replace(decided, &decided.replace("send-back", "land"));
    assert_ne!(forged, receipts);
    forge(&lie.repo, &said, "receipts.jsonl", &forged);
    let again = lie.verify(&[]).exits(1);
    assert_eq!(again.json()["judged-before"], false, "{again}");

    // Other programs on the search path may answer otherwise: what was judged with them is no answer here.
    let trial = honest();
    trial.verify(&[]).exits(0);
    assert_eq!(trial.verify(&[]).json()["judged-before"], true);
    let elsewhere = format!("{}:/nowhere", variable("PATH").unwrap().to_str().unwrap());
    let args = ["verify", ID, "--json"];
    let other = trial.repo.run_with(&trial.repo.path(), &args, &[("PATH", OsStr::new(&elsewhere))], b"").exits(0);
    assert_eq!(other.json()["judged-before"], false, "{other}");
}

#[test]
fn an_answer_that_cannot_be_written_is_not_taken_for_one() {
    let trial = honest();
    for args in [&["verify", ID][..], &["verify", ID, "--json"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = trial.repo.command(env!("CARGO_BIN_EXE_countersign"), &trial.repo.path());
        let done = command.args(args).stdout(full).output().unwrap();
        let told = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(4), "{told}");
        assert!(told.contains("the answer was not written to standard output"), "{told}");
    }
}

/// Puts a case commit with this text as one of its pages on top of the sealed one.
fn forge(repo: &TestRepo, said: &Outcome, page: &str, text: &str) {
    let case = said.json()["case"].as_str().unwrap().to_owned();
    write(repo.root(), "forged.jsonl", text);
    let blob = repo.git(&["hash-object", "-w", repo.root().join("forged.jsonl").to_str().unwrap()]);
    let listed = repo.git(&["ls-tree", &case]);
    let lines: String = listed
        .lines()
        .map(|line| {
            let (about, name) = line.split_once('\t').unwrap();
            if name == page { format!("100644 blob {blob}\t{name}\n") } else { format!("{about}\t{name}\n") }
        })
        .collect();
    write(repo.root(), "tree", lines);
    let list = std::fs::File::open(repo.root().join("tree")).unwrap();
    let made = repo.command("git", &repo.path()).arg("mktree").stdin(list).output().unwrap();
    let tree = String::from_utf8(made.stdout).unwrap();
    let parents = repo.git(&["show", "-s", "--format=%P", &case]);
    let parents: Vec<&str> = parents.split(' ').flat_map(|parent| ["-p", parent]).collect();
    let commit = repo.git(&[&["commit-tree", tree.trim(), "-m", "case"], &parents[..]].concat());
    repo.git(&["update-ref", &format!("refs/countersign/cases/{ID}"), &commit]);
}

#[test]
fn each_exit_code_is_reached() {
    let trial = honest();
    trial.verify(&[]).exits(0);
    trial.work("checks/greets.sh", "grep -q goodbye greeting.txt\n");
    trial.verify(&[]).exits(1);
    for args in [
        &["verify", "greet-404"][..],
        &["verify", "no such id!"],
        &["verify", "--no-such-flag"],
        &["verify", ID, "--base", "nowhere"],
        &[],
    ] {
        let said = trial.repo.run(args).exits(2);
        assert!(!said.stderr.is_empty(), "{said}");
    }
    trial.settings("unknown-key: 1\n");
    trial.repo.run(&["verify", ID]).exits(2).says("unknown-key");
    trial.settings("verifier: nobody\n");
    trial.repo.run(&["verify", ID]).exits(2).says("nobody");
    trial.settings("");
    let judged = Trial::new(&["It is polite"]).honest();
    judged.verify(&[]).decides("hold", &["needs-judgement"]).exits(3);
    let nowhere = trial.repo.root().join("home");
    trial.repo.run_with(&nowhere, &["verify", ID], &[], b"").exits(4);
    TestRepo::unborn().run(&["verify", ID]).exits(4);
}

#[test]
fn without_a_task_the_floor_alone_is_judged_and_a_task_can_be_required() {
    let trial = honest();
    let run = |args: &[&str]| {
        let before = trial.repo.fingerprint();
        let outcome = trial.repo.run_with(&trial.worktree, &[&["verify", "--json"], args].concat(), &[], b"");
        assert_invariants(&before, &outcome, &trial.repo);
        outcome
    };
    let floor = run(&["--floor"]).exits(0);
    assert_eq!((floor.decision().as_str(), floor.json()["case"].clone()), ("floor-only", Value::Null), "{floor}");
    assert_eq!(trial.repo.git(&["for-each-ref", "refs/countersign"]), "", "nothing is sealed unless asked");
    let required = run(&["--floor", "--require", "task"]).exits(3);
    assert_eq!((required.decision().as_str(), required.reasons()), ("hold", vec!["no-task".to_owned()]));
    run(&["--floor", "--seal"]).exits(0);
    assert!(!trial.repo.git(&["for-each-ref", "refs/countersign/cases"]).is_empty());
    trial.repo.run_with(&trial.worktree, &["verify", "--floor"], &[], b"").exits(0).says("no warrant");
    let clean = TestRepo::new();
    clean.run(&["verify", "--floor"]).exits(2).says("nothing to judge");
}

#[test]
fn a_deny_spends_nothing_unless_all_checks_are_asked_for() {
    let trial = honest();
    trial.work(".agentheim/board/protocol.md", "# Mine\n");
    trial.judge_with(&FakeVerifier::passing(ID, &["C1 It says hello — covered by test:greets"]), "");
    let cheap = trial.verify(&[]).exits(1);
    assert_eq!((cheap.state("tests-run").as_str(), cheap.heard().0.as_str()), ("n/a", "not-asked"), "{cheap}");
    let all = trial.verify(&["--all-checks"]).exits(1);
    assert_eq!((all.state("tests-run").as_str(), all.heard().0.as_str()), ("pass", "pass"), "{all}");
    assert_eq!(cheap.reasons(), all.reasons());
}

#[test]
fn the_task_comes_from_the_base_from_outside_or_from_standard_input() {
    let trial = honest();
    let text = "# Greet\n\n## Acceptance criteria\n- [ ] It says hello — test: `greets`\n";
    let run = |args: &[&str], input: &str| {
        let before = trial.repo.fingerprint();
        let outcome =
            trial.repo.run_with(&trial.worktree, &[&["verify", "--json"], args].concat(), &[], input.as_bytes());
        assert_invariants(&before, &outcome, &trial.repo);
        assert_replays(&outcome, &trial.repo);
        outcome
    };
    let typed = run(&["-"], text).exits(0);
    assert_eq!(typed.json()["task-source"], "given:standard input");
    let key = typed.json()["task"].as_str().unwrap().to_owned();
    assert!(key.starts_with("md-"), "{key}");
    write(trial.repo.root(), "task.md", text);
    let outside = trial.repo.root().join("task.md").display().to_string();
    let given = run(&[&outside], "").exits(0);
    assert_eq!(given.json()["task"], key, "the same text is the same case, wherever it comes from");
    let plain = |args: &[&str], input: &str| {
        trial.repo.run_with(&trial.worktree, &[&["verify"], args].concat(), &[], input.as_bytes())
    };
    plain(&["-"], "# Greet\n\nNo criteria.\n").exits(2).says("no acceptance criteria");

    // A file that only the claim has is not the task.
    trial.work("docs/task.md", text);
    let inside = plain(&["docs/task.md"], "").exits(2);
    assert!(inside.stderr.contains("countersign verify - <"), "{inside}");
    // One that the base has is read there, whatever the claim made of it.
    let own = Board::two_root(ID).task_path();
    trial.work(&own, "# Nothing\n\n## Acceptance criteria\n- [ ] Nothing — file: `a.txt`\n");
    let at_base = run(&[&own, "--all-checks"], "").exits(1);
    assert_eq!(at_base.json()["task-source"], format!("base:{own}"));
    assert_eq!(trial.facts(&at_base, "task")[0]["criteria"][0]["text"].as_str().unwrap().split(' ').next(), Some("It"));
}

#[test]
fn a_task_nobody_named_is_inferred_and_said() {
    let trial = honest();
    let inferred = |dir: &std::path::Path| {
        let outcome = trial.repo.run_with(dir, &["verify", "--json", "--fresh"], &[], b"");
        assert_replays(&outcome, &trial.repo);
        (outcome.json()["task"].clone(), outcome.json()["task-inferred"].as_str().unwrap_or("none").to_owned())
    };
    let (task, how) = inferred(&trial.worktree);
    assert_eq!(task, ID, "{how}");
    assert!(how.contains("aw/greet-001"), "{how}");
    trial.repo.git_in(&trial.worktree, &["branch", "-m", "topic"]);
    let (task, how) = inferred(&trial.worktree);
    assert_eq!(task, ID, "{how}");
    assert!(how.contains("worktree") || how.contains(".worktrees"), "{how}");

    // One task in doing, and no worktree of its own.
    let plain = TestRepo::new();
    Board::two_root(ID).criterion("It is written — file: `b.txt`").commit(&plain);
    plain.branch("topic");
    plain.write("b.txt", "b\n");
    let outcome = plain.run(&["verify", "--json", "--tests", "true"]);
    assert_eq!(outcome.json()["task"], ID, "{outcome}");
    assert!(outcome.json()["task-inferred"].as_str().unwrap().contains("doing"), "{outcome}");
}

/// What a judgement says and what its judge was told, without what is drawn or measured.
fn essence(trial: &Trial, vars: &[(&str, &OsStr)]) -> (String, String, Value) {
    let said = trial.verify_with(&["--fresh"], vars);
    let brief = trial.sealed(&said, "brief.md");
    let token = trial.facts(&said, "token")[0]["token"].as_str().unwrap().to_owned();
    let nonce = brief.split("The nonce of this brief's data blocks is `").nth(1).unwrap()[..16].to_owned();
    let brief = brief.replace(&token, "TOKEN").replace(&nonce, "NONCE");
    let claim = said.json()["claim"].clone();
    (said.decision(), brief, serde_json::json!([claim["tree"], claim["base"], claim["changed"]]))
}

#[test]
fn diff_user_config_locale_time_zone_and_umask_never_change_a_judgement() {
    let trial = honest();
    trial.work("b name.txt", "b\n");
    std::fs::remove_file(trial.worktree.join("a.txt")).unwrap();
    trial.judge_with(&FakeVerifier::passing(ID, &["C1 It says hello — covered by test:greets"]), "");
    let plain = essence(&trial, &[("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null"))]);
    assert_eq!(plain.0, "land");
    let home = trial.repo.root().join("home/.gitconfig");
    let hostile = "[diff]\n\tnoprefix = true\n\texternal = true\n\tmnemonicPrefix = true\n\trenames = copies\n\
                   \talgorithm = histogram\n\tcontext = 0\n[color]\n\tui = always\n[core]\n\tpager = less\n\
                   \tquotePath = false\n\tautocrlf = true\n\tattributesFile = ~/attributes\n[status]\n\tshowUntrackedFiles = no\n\
                   [log]\n\tshowSignature = true\n[user]\n\tname = Someone Else\n\temail = else@example.invalid\n";
    std::fs::write(&home, hostile).unwrap();
    std::fs::write(trial.repo.root().join("home/attributes"), "*.txt -diff text eol=crlf\n").unwrap();
    let vars: [&[(&str, &OsStr)]; 3] = [
        &[],
        &[("LC_ALL", OsStr::new("tr_TR.UTF-8")), ("LANG", OsStr::new("tr_TR.UTF-8")), ("LANGUAGE", OsStr::new("tr"))],
        &[("TZ", OsStr::new("Pacific/Chatham")), ("COLUMNS", OsStr::new("20")), ("TERM", OsStr::new("dumb"))],
    ];
    for vars in vars {
        let other = essence(&trial, vars);
        assert_eq!(plain.0, other.0, "{vars:?}");
        assert_eq!(plain.2, other.2, "{vars:?}");
        assert!(plain.1 == other.1, "{vars:?} changed the brief:\n{}", other.1);
    }
    let masked = trial
        .repo
        .command("sh", &trial.repo.path())
        .args([
            "-c",
            "umask 077; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_countersign"),
            "verify",
            ID,
            "--json",
            "--fresh",
        ])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&masked.stdout).unwrap();
    assert_eq!((&document["claim"]["tree"], &document["decision"]["kind"]), (&plain.2[0], &"land".into()));
}

#[test]
fn what_is_printed_follows_its_published_schema() {
    let trial = honest();
    let schema = |which: &str| {
        let schema = trial.repo.run(&["schema", which]).exits(0).json();
        jsonschema::validator_for(&schema).unwrap()
    };
    let verify = schema("verify");
    trial.judge_with(&FakeVerifier::passing(ID, &["C1 It says hello — covered by test:greets"]), "");
    let documents = [
        trial.verify(&[]).json(),
        trial.ask(&FakeVerifier::failing(ID, &["rude"])).json(),
        trial.ask(&FakeVerifier::answering("?\n")).json(),
        trial.repo.run_with(&trial.worktree, &["verify", "--floor", "--json"], &[], b"").json(),
    ];
    for document in &documents {
        assert!(verify.is_valid(document), "{:?}\n{document:#}", verify.iter_errors(document).next());
    }
    assert!(!verify.is_valid(&serde_json::json!({"schema": "countersign/verify/1"})), "the schema demands something");

    let receipt = schema("receipt");
    let events = trial.repo.run(&["verify", ID, "--events", "--fresh"]).exits(3);
    let lines: Vec<Value> = events.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 20 && lines.last().unwrap()["fact"] == "decided", "{events}");
    for line in &lines {
        assert!(receipt.is_valid(line), "{:?}\n{line}", receipt.iter_errors(line).next());
    }
    assert_eq!(lines.len(), trial.repo.run(&["receipts", ID, "--json"]).exits(0).json().as_array().unwrap().len());

    let settings = schema("settings");
    let good = serde_json::json!({
        "verifier": "mine", "verifiers": {"mine": {"command": ["judge"], "network": true}},
        "tests": {"command": "make test"}, "limits": {"tests-seconds": 5}, "sandbox": {"require": "landlock"},
    });
    assert!(settings.is_valid(&good), "{:?}", settings.iter_errors(&good).next());
    assert!(!settings.is_valid(&serde_json::json!({"limits": {"test-seconds": 5}})), "an unknown key is refused");
}
