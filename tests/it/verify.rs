//! `verify` against the machine: hanging and stray processes, interrupts, a judge that writes, configuration that runs
//! programs, links that lead outside, sizes.

use crate::support::trial::{ID, Trial, assert_replays};
use crate::support::{Board, FakeVerifier, Outcome, TestRepo, assert_invariants, write};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Stdio};

const GREETS: &str = "C1 It says hello — covered by test:greets";
const SETTINGS: &str = "tests:\n  command: sh run-tests.sh\n  report: report.xml\n  format: junit\n";

fn passing() -> FakeVerifier {
    FakeVerifier::passing(ID, &[GREETS])
}

fn judged() -> Trial {
    Trial::new(&["It says hello"]).honest()
}

/// A check of the claim that misbehaves.
fn misbehaving(script: &str) -> Trial {
    let trial = judged();
    trial.work("checks/zz_misbehaves.sh", script);
    trial.judge_with(&passing(), "limits:\n  tests-seconds: 2\n  verifier-seconds: 2\n  log-bytes: 200000\n");
    trial
}

#[test]
fn a_run_that_falls_silent_is_held_as_idle_with_what_was_measured() {
    let trial = judged();
    trial.work("checks/zz_misbehaves.sh", "echo ok 1; exec sleep 300");
    trial.judge_with(&passing(), "limits:\n  tests-idle-seconds: 2\n");
    let outcome = trial.verify(&[]);
    assert_eq!((outcome.decision().as_str(), outcome.code), ("hold", Some(3)), "{outcome}");
    assert_eq!(outcome.reasons(), ["unknown:tests-run"], "nobody is blamed for our limit: {outcome}");
    assert!(outcome.words().contains("stopped for silence after"), "{outcome}");
    let ending = &trial.facts(&outcome, "command")[0]["ending"];
    assert_eq!(ending["kind"], "idle", "{ending}");
    assert!(ending["last-output-ago-ms"].as_u64().is_some_and(|ago| ago >= 2_000), "{ending}");
    assert!(trial.sealed(&outcome, "logs/tests-claim-1.log").contains("ok 1"), "{outcome}");
}

/// Asserts that the run was stopped at its limit, that nobody is blamed, and that what was printed is kept.
fn stopped(trial: &Trial, outcome: &Outcome, kept: &str) {
    assert_eq!((outcome.decision().as_str(), outcome.code), ("hold", Some(3)), "{outcome}");
    assert_eq!(outcome.reasons(), ["unknown:tests-run"], "{outcome}");
    assert!(outcome.words().contains("still running after"), "{outcome}");
    let run = &trial.facts(outcome, "command")[0];
    assert_eq!(run["ending"]["kind"], "timed-out", "{run}");
    let log = trial.sealed(outcome, "logs/tests-claim-1.log");
    assert!(log.contains(kept), "partial output is lost: {log}");
}

#[test]
fn run_hang_a_run_is_stopped_at_its_limit_and_is_neither_pass_nor_skip() {
    for script in [
        "echo ok 1; echo ok 2; echo ok 3; exec sleep 300",
        "echo ok 3; trap '' TERM; while :; do sleep 300; done",
        "echo ok 3; (setsid sleep 300 &) ; sleep 300",
        "echo ok 3; while :; do printf .; sleep 1; done",
    ] {
        let trial = misbehaving(script);
        let outcome = trial.verify(&[]);
        stopped(&trial, &outcome, "ok 3");
    }
    let trial = judged();
    trial.judge_with(
        &FakeVerifier::answering("").doing("echo thinking; exec sleep 300"),
        "limits:\n  verifier-seconds: 1\n",
    );
    let outcome = trial.verify(&[]).exits(3);
    assert!(trial.sealed(&outcome, "logs/verifier-1.log").contains("thinking"));
    outcome.decides("hold", &["no-answer"]);
}

#[test]
fn proc_grandchild_pipe_a_stray_is_ended_and_told_and_never_waited_for() {
    let trial = misbehaving("setsid sleep 300 & echo ok");
    let outcome = trial.verify(&[]).decides("land", &["verified"]).exits(0);
    assert_eq!(trial.facts(&outcome, "command")[0]["strays"], 1, "the process left behind is counted");
    let trial = misbehaving("setsid sleep 300 & echo ok; sleep 300");
    let outcome = trial.verify(&[]);
    stopped(&trial, &outcome, "ok");
    let trial =
        misbehaving("setsid sh -c 'while :; do head -c 1000000 /dev/zero | tr \"\\0\" x; done' & echo ok; sleep 300");
    let outcome = trial.verify(&[]);
    assert_eq!((outcome.decision().as_str(), outcome.code), ("hold", Some(3)), "{outcome}");
    assert!(trial.sealed(&outcome, "logs/tests-claim-1.log").len() < 300_000, "the log is bounded");
}

/// The binary, started in the repository.
fn start(trial: &Trial, args: &[&str]) -> Child {
    trial
        .repo
        .command(env!("CARGO_BIN_EXE_countersign"), &trial.repo.path())
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the narration up to the line that holds these words.
fn hear(child: &mut Child, words: &str) -> BufReader<std::process::ChildStderr> {
    let mut narration = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert_ne!(narration.read_line(&mut line).unwrap(), 0, "it ended before it said `{words}`");
    }
    narration
}

/// Waits until a process whose command line ends in these words runs below the repository.
fn wait_for(trial: &Trial, words: &str) {
    let root = trial.repo.root().as_os_str().as_encoded_bytes().to_vec();
    loop {
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let vars = fs::read(process.path().join("environ")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.trim_end() == words && vars.windows(root.len()).any(|window| window == root) {
                return;
            }
        }
        std::thread::yield_now();
    }
}

fn interrupt(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn finish(mut child: Child, mut narration: BufReader<std::process::ChildStderr>, line: &str) -> Outcome {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    narration.read_to_string(&mut stderr).unwrap();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    Outcome { code: child.wait().unwrap().code(), stdout, stderr, line: line.to_owned() }
}

#[test]
fn proc_sigterm_ignored_limits_and_interrupts_reach_everyone() {
    // TERM and INT mean nothing to it, and there is no terminal that it could wait for.
    let trial = misbehaving("trap '' TERM INT; echo ok 3; read answer </dev/tty; while :; do sleep 299; done");
    let outcome = trial.verify(&[]);
    stopped(&trial, &outcome, "ok 3");

    let stubborn = "trap '' TERM INT; while :; do sleep 298; done";
    let polite = "exec sleep 298";
    for (presses, signal, script) in
        [(1, Signal::INT, polite), (2, Signal::INT, stubborn), (1, Signal::TERM, polite), (2, Signal::TERM, stubborn)]
    {
        let trial = judged();
        trial.work("checks/zz_waits.sh", script);
        trial.judge_with(&passing(), "");
        let before = trial.repo.fingerprint();
        let mut child = start(&trial, &["verify", ID]);
        let narration = hear(&mut child, "running the tests");
        wait_for(&trial, "sleep 298");
        for _ in 0..presses {
            interrupt(&child, signal);
        }
        let outcome = finish(child, narration, "countersign verify").exits(130);
        assert!(outcome.stderr.contains("interrupted") && !outcome.stdout.contains("decision"), "{outcome}");
        assert_invariants(&before, &outcome, &trial.repo);
        assert_eq!(trial.repo.git(&["for-each-ref", "refs/countersign/cases"]), "", "nothing half is sealed");
        // Nothing stands in the way of the next run.
        trial.work("checks/zz_waits.sh", "true\n");
        trial.verify(&[]).decides("land", &["verified"]).exits(0);
    }

    // While a verifier thinks.
    let trial = judged();
    trial.judge_with(&passing().doing("sleep 297"), "");
    let mut child = start(&trial, &["verify", ID]);
    let narration = hear(&mut child, "asking fake");
    wait_for(&trial, "sleep 297");
    interrupt(&child, Signal::INT);
    finish(child, narration, "countersign verify").exits(130);
    trial.repo.no_process_left();
    trial.ask(&passing()).decides("land", &["verified"]);
}

/// What a judge might do to the evidence, and a word of the report about it where no box stands in the way. The paths are
/// those of a test's own repository.
fn deeds(trial: &Trial) -> Vec<(String, &'static str)> {
    let (main, work) = (trial.repo.path().display().to_string(), trial.worktree.display().to_string());
    let git = format!("git -C {work}");
    vec![
        ("echo x >> greeting.txt".to_owned(), "in the room: greeting.txt changed"),
        ("echo x > untracked.txt".to_owned(), "in the room: untracked.txt is new"),
        (format!("{git} stash -u"), "refs/stash is new"),
        (format!("{git} checkout -q --detach"), "HEAD of"),
        (
            format!("{git} -c user.name=J -c user.email=j@example.invalid commit -q --allow-empty -m mine"),
            "reference refs/heads/aw/greet-001 changed",
        ),
        (format!("git -C {main} update-ref refs/heads/main HEAD~1"), "reference refs/heads/main changed"),
        (format!("echo exit > {main}/.git/hooks/pre-push"), "hooks of the repository: pre-push is new"),
        (format!("git -C {main} config core.pager evil"), "config of the repository changed"),
        (format!("echo x >> {work}/.agentheim/board/greet/doing/{ID}-make-it-so.md"), "make-it-so.md changed"),
        (
            format!("for f in {main}/.git/countersign/attempts/*/*/receipts.jsonl; do echo '{{}}' >> $f; done"),
            "receipts.jsonl changed",
        ),
        (format!("echo x >> {main}/greeting.txt"), "greeting.txt changed"),
    ]
}

#[test]
fn sb_verifier_writes_are_refused_by_the_box_or_void_the_verdict() {
    let trial = judged();
    let refused: Vec<String> = deeds(&trial).into_iter().map(|(deed, _)| format!("({deed}) 2>/dev/null")).collect();
    let boxed = trial.ask(&passing().doing(&refused.join("\n")));
    let consulted = &trial.facts(&boxed, "consulted")[0];
    assert_eq!(consulted["level"]["enforced"], true, "this machine confines nothing: {consulted}");
    assert_eq!((&consulted["trespasses"], &consulted["bystanders"]), (&serde_json::json!([]), &serde_json::json!([])));
    boxed.decides("land", &["verified"]).exits(0);

    let kinds = deeds(&trial).len();
    for at in 0..kinds {
        let trial = judged();
        let (deed, word) = deeds(&trial).swap_remove(at);
        trial.judge_with(&passing().doing(&format!("({deed}) >/dev/null 2>&1")), "sandbox:\n  require: none\n");
        // What it did stays done: only the verdict is void. So no invariants here but the exit and the replay.
        let outcome = trial.repo.run(&["verify", ID, "--json"]);
        if word.contains("receipts.jsonl") && outcome.code == Some(4) {
            continue; // A ledger that somebody else wrote to cannot be carried on at all.
        }
        assert_replays(&outcome, &trial.repo);
        let (asked, heard) = (trial.facts(&outcome, "consulted"), trial.facts(&outcome, "heard"));
        assert!(asked[0]["trespasses"].to_string().contains(word), "{word}\n{outcome}");
        assert_eq!(heard[0]["heard"], "trespassed", "{outcome}");
        // No second chance (ADR-0009): what it did once may show no difference when it is done again.
        assert_eq!(asked.len(), 1, "{outcome}");
        outcome.decides("hold", &["verdict-void"]).exits(3);
        trial.repo.no_process_left();
    }
}

#[test]
fn sb_git_exec_configuration_is_never_executed_and_the_bytes_are_shown() {
    let trial = judged();
    let marks = trial.repo.root().join("marks");
    fs::create_dir(&marks).unwrap();
    let script = |name: &str, then: &str| {
        let path = trial.repo.root().join(format!("evil/{name}"));
        write(Path::new("/"), &path, format!("#!/bin/sh\ntouch {}/{name}\n{then}\n", marks.display()));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let git = |args: &[&str]| trial.repo.git_in(&trial.worktree, args);
    git(&["config", "core.fsmonitor", &script("fsmonitor", "")]);
    git(&["config", "diff.x.textconv", &script("textconv", "echo benign")]);
    git(&["config", "diff.x.command", &script("command", "echo benign")]);
    git(&["config", "diff.external", &script("external", "echo benign")]);
    git(&["config", "core.pager", &script("pager", "cat")]);
    git(&["config", "alias.status", &format!("!{}", script("alias", ""))]);
    git(&["config", "core.sshCommand", &script("ssh", "")]);
    git(&["config", "credential.helper", &script("credential", "")]);
    write(
        &trial.repo.root().join("evil"),
        "more",
        format!("[core]\n\thooksPath = {}\n", trial.repo.root().join("evil").display()),
    );
    git(&["config", "include.path", &trial.repo.root().join("evil/more").display().to_string()]);
    for hook in ["post-checkout", "reference-transaction", "pre-commit", "post-index-change"] {
        script(hook, "");
    }
    trial.work(".gitattributes", "*.txt diff=x\n");
    let marked = |names: &[&str]| {
        let found: Vec<String> =
            fs::read_dir(&marks).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        assert!(found.iter().all(|name| names.contains(&name.as_str())), "executed: {found:?}");
    };
    // Our own reads in this test must not mark either.
    trial.judge_with(&passing(), "");
    let outcome = trial.repo.run(&["verify", ID, "--json"]).exits(0);
    marked(&[]);
    assert_eq!(outcome.decision(), "land", "{outcome}");
    let case = outcome.json()["case"].as_str().unwrap().to_owned();
    let shown = trial.repo.git(&["cat-file", "blob", &format!("{case}:brief.md")]);
    assert!(shown.contains("| -good day") && shown.contains("| +hello"), "{shown}");
    let told = outcome.json()["floor"]["checks"].to_string()
        + &trial.repo.git(&["cat-file", "blob", &format!("{case}:receipts.jsonl")]);
    for name in ["core.fsmonitor", "diff.x.textconv", "include.path"] {
        assert!(told.contains(name), "{name} is not reported\n{outcome}");
    }

    // A clean filter would have to run to know the bytes; it runs boxed or the work is refused, and never marks.
    let trial = judged();
    let marker = trial.repo.root().join("marks-clean");
    trial.repo.git(&[
        "config",
        "filter.y.clean",
        &format!("tr '\\0' ' ' </proc/$PPID/cmdline >>{}; cat", marker.display()),
    ]);
    trial.work(".gitattributes", "*.txt filter=y\n");
    trial.judge_with(&passing(), "");
    let outcome = trial.repo.run(&["verify", ID, "--json"]);
    let ran = fs::read_to_string(&marker).unwrap_or_default();
    assert_eq!(ran, "", "the filter wrote outside its box\n{outcome}");
    assert!(
        outcome.stdout.contains("filter") || outcome.stderr.contains("filter"),
        "the filter is reported\n{outcome}"
    );
}

#[test]
fn sb_symlink_escape_links_are_data_and_lead_nowhere() {
    // A link into the whole disk is one object; the board's folder behind a link is no board.
    let trial = judged();
    let outside = trial.repo.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept.txt"), "kept\n").unwrap();
    fs::create_dir_all(trial.worktree.join("src")).unwrap();
    symlink("/", trial.worktree.join("src/all")).unwrap();
    trial.judge_with(&passing(), "");
    let outcome = trial.verify(&[]);
    let changed = outcome.json()["claim"]["changed"].to_string();
    assert!(changed.contains("src/all") && changed.contains("120000"), "{changed}");
    fs::create_dir_all(trial.worktree.join(".agentheim/board/greet")).unwrap();
    symlink(&outside, trial.worktree.join(".agentheim/board/greet/done")).unwrap();
    let outcome = trial.verify(&[]).exits(1);
    assert_eq!(outcome.decision(), "send-back", "{outcome}");

    // The report's place: a link of the claim is neither followed nor removed behind.
    let elsewhere = "<testsuite name=\"x\"><testcase name=\"greets\"/></testsuite>\n";
    for (report, link) in [("out.xml", "out.xml"), ("reports/out.xml", "reports")] {
        let settings = SETTINGS.replace("report.xml", report);
        let trial =
            Trial::with(&Board::two_root(ID).criterion("It says hello"), &[(".agentheim/countersign.yaml", &settings)])
                .honest();
        let outside = trial.repo.root().join("outside");
        write(&outside, "out.xml", elsewhere);
        let target = if link == report { outside.join("out.xml") } else { outside.clone() };
        symlink(&target, trial.worktree.join(link)).unwrap();
        trial.judge_with(&passing(), "");
        let outcome = trial.verify(&[]);
        assert_eq!(
            fs::read_to_string(outside.join("out.xml")).unwrap(),
            elsewhere,
            "a file outside was touched\n{outcome}"
        );
        assert_eq!((outcome.decision().as_str(), outcome.code), ("hold", Some(3)), "{outcome}");
        assert_eq!(outcome.reasons(), ["unknown:tests-run"], "{outcome}");
    }
}

/// A worker's generated files, and one more that sorts last.
fn generated(files: usize, bytes: usize) -> Trial {
    let trial = judged();
    for file in 0..files {
        let line = format!("{file:03} ").repeat(15) + "\n";
        trial.work(&format!("gen/{file:03}.txt"), line.repeat(bytes / line.len()));
    }
    trial.work("zz_evil.py", "import os\n");
    trial
}

#[test]
fn diff_worktree_truncated_unseen_code_is_unverified_code() {
    for (files, bytes, limit, shown) in [
        (40, 300_000, 400_000, false),
        (2, 30_000, 62_000, true),
        (2, 30_000, 59_000, false),
        (3, 340_000, 1_200_000, true),
        (3, 340_000, 900_000, false),
        (0, 0, 1, false),
    ] {
        let trial = generated(files, bytes);
        trial.judge_with(&passing(), &format!("limits:\n  brief-bytes: {limit}\n"));
        let outcome = trial.verify(&[]);
        let hidden = trial.facts(&outcome, "consulted")[0]["not-shown"].as_array().unwrap().clone();
        assert_eq!(hidden.is_empty(), shown, "{files} × {bytes} under {limit}\n{hidden:?}");
        let brief = trial.sealed(&outcome, "brief.md");
        if shown {
            assert!(brief.contains("| +import os"), "the last file is shown");
            outcome.decides("land", &["verified"]).exits(0);
        } else {
            for path in &hidden {
                assert!(brief.contains(&format!(": {}", path.as_str().unwrap())), "{path} is not offered");
            }
            outcome.is_unusable(&["not-shown"]);
        }
    }
}

/// A repository with this many tracked, ignored and untracked files beside the change.
fn sized(files: usize) -> (TestRepo, Vec<String>) {
    let trial = Trial::with(
        &Board::two_root(ID).criterion("It is written down — file: `docs/greeting.md`"),
        &[(".gitignore", "node_modules/\n"), (".agentheim/countersign.yaml", "{}\n")],
    );
    for file in 0..files {
        write(&trial.worktree, format!("node_modules/p{}/f{file}.js", file % 50), "x\n");
        write(&trial.worktree, format!("data/d{}/f{file}.txt", file % 20), format!("{file}\n"));
    }
    write(&trial.worktree, "docs/greeting.md", "hello\n");
    let before = trial.repo.fingerprint();
    let (outcome, gits) = trial.repo.run_counting_git(&["verify", ID, "--json"]);
    assert_invariants(&before, &outcome, &trial.repo);
    assert_eq!(outcome.json()["claim"]["changed"].as_array().unwrap().len(), files + 1, "{outcome}");
    assert_eq!(outcome.code, Some(3), "no test command: a hold\n{outcome}");
    let Trial { repo, .. } = trial;
    (repo, gits)
}

#[test]
fn perf_huge_untracked_the_number_of_gits_does_not_grow_with_files() {
    let ((small, few), (large, many)) = (sized(3), sized(3_000));
    assert_eq!(few.len(), many.len(), "{few:#?}\n{many:#?}");
    // The snapshot's boxed `add` and `write-tree` are the two that the list does not hold.
    assert!(many.len() + 2 <= 12, "{many:#?}");
    let size = |repo: &TestRepo| {
        let objects = repo.git(&["count-objects", "-v"]);
        objects.lines().find_map(|line| line.strip_prefix("count: ")).unwrap().parse::<usize>().unwrap()
    };
    // 2997 further blobs and at most 20 further trees: what is ignored costs nothing.
    assert!(size(&large) - size(&small) <= 2_997 + 20, "{} and {} objects", size(&small), size(&large));
}

#[test]
fn con_sibling_lands_meanwhile_and_the_warrant_still_names_the_old_base() {
    let trial = judged();
    let gate = trial.repo.root().join("gate");
    let status = trial.repo.command("mkfifo", trial.repo.root()).arg(&gate).status().unwrap();
    assert!(status.success());
    let old = trial.repo.git(&["rev-parse", "main"]);
    trial.judge_with(&passing().doing(&format!("cat {} >/dev/null", gate.display())), "");
    let mut child = start(&trial, &["verify", ID, "--json"]);
    let narration = hear(&mut child, "asking fake");
    wait_for(&trial, &format!("cat {}", gate.display()));
    trial.repo.write("sibling.txt", "landed meanwhile\n");
    let moved = trial.repo.commit("a sibling lands");
    fs::write(&gate, "go on\n").unwrap();
    let outcome = finish(child, narration, "countersign verify --json");
    assert_replays(&outcome, &trial.repo);
    assert_eq!(outcome.json()["claim"]["base"], old, "the base is what it was judged against, not {moved}");
    let consulted = &trial.facts(&outcome, "consulted")[0];
    assert!(consulted["bystanders"].to_string().contains("refs/heads/main changed"), "{consulted}");
    assert_eq!(consulted["trespasses"], serde_json::json!([]), "a boxed judge is not blamed for it");
    outcome.decides("land", &["verified"]).exits(0);
}
