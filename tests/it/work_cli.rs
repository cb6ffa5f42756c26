//! The conductor at the command line: what is printed, streamed and told by the exit code.

use crate::support::{Crew, TestRepo};
use serde_json::Value;

const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";
const WORK: [&str; 3] = ["work", "--agent", "worker=scripted"];

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
}

#[test]
fn a_board_whose_tasks_all_land_is_exit_0_and_told_line_by_line_on_stderr() {
    let crew = Crew::of(2);
    crew.worker(HONEST);
    let outcome = crew.repo.run(&WORK).exits(0);
    assert!(outcome.stdout.starts_with("2 of 2 tasks landed on main\n"), "{outcome}");
    let told: Vec<&str> = outcome.stderr.lines().filter(|line| line.starts_with("w-1 ")).collect();
    for words in ["taken", "working    attempt 1", "judging    attempt 1", "landing", "clearing", "landed as"] {
        assert!(told.iter().any(|line| line.contains(words)), "no {words} in {told:#?}");
    }
    assert!(!outcome.stderr.contains('\x1b'), "no drawing without a terminal: {outcome}");
    crew.repo.run(&["status"]).exits(0).says("0 ready, 0 under way");
}

#[test]
fn a_task_that_is_held_makes_exit_3_and_its_work_is_named_by_work_and_status() {
    let crew = Crew::of(2);
    crew.worker("echo half > half.txt\ncase $id in w-1) fail 'no \u{1b}[31mnetwork' ;; *) echo made > $id.txt; report \"$id.txt, half.txt\" ;; esac\n");
    let outcome = crew.repo.run(&WORK).exits(3);
    assert!(outcome.stdout.contains("w-1") && outcome.stdout.contains("held (worker-failed)"), "{outcome}");
    assert!(
        outcome.stdout.contains(".worktrees/w-1") && outcome.stdout.contains("salvage/w-1-failed.patch"),
        "{outcome}"
    );
    assert!(!outcome.stdout.contains('\x1b') && !outcome.stderr.contains('\x1b'), "{outcome}");
    let status = crew.repo.run(&["status", "--json"]).exits(0).json();
    assert_eq!(status["tasks"][0]["state"], "held", "{status:#}");
    crew.repo.run(&["status"]).exits(0).says("saved: ");
}

#[test]
fn what_work_and_status_print_follows_its_published_schema() {
    let crew = Crew::of(2);
    crew.task("w-3", "depends_on: [w-9]\n", &["It is there — file: `w-3.txt`"]);
    crew.repo.commit("one that waits");
    crew.worker("case $id in w-1) bounce 'what for?' ;; *) echo made > $id.txt; report \"$id.txt\" ;; esac\n");
    let schema = |which: &str| {
        let schema = crew.repo.run(&["schema", which]).exits(0).json();
        jsonschema::validator_for(&schema).unwrap()
    };
    let valid = |schema: &jsonschema::Validator, document: &Value| {
        assert!(schema.is_valid(document), "{:?}\n{document:#}", schema.iter_errors(document).next());
    };
    let dry = crew.repo.run(&["work", "--dry-run", "--json"]).exits(0).json();
    assert_eq!(
        (dry["ready"].as_array().unwrap().len(), &dry["held_back"][0]["task"]),
        (2, &Value::from("w-3")),
        "{dry:#}"
    );
    let status = crew.repo.run(&["status", "--json"]).exits(0).json();
    valid(&schema("status"), &status);
    assert!(!schema("status").is_valid(&serde_json::json!({"schema": "countersign/status/1"})));
    let events = lines(&crew.repo.run(&[&WORK[..], &["--events"]].concat()).exits(3).stdout);
    let event = schema("work-event");
    for line in &events {
        valid(&event, line);
    }
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["schema"]), (&"report".into(), &"countersign/work/1".into()));
    assert!(events.iter().any(|event| event["event"] == "step" && event["step"]["step"] == "judge"), "{events:#?}");
    let report = crew.repo.run(&[&WORK[..], &["--json"]].concat()).exits(3).json();
    valid(&schema("work"), &report);
    assert_eq!(report["held-back"][0]["task"], "w-3", "{report:#}");
}

#[test]
fn a_dry_run_names_what_would_start_and_why_the_rest_waits_and_touches_nothing() {
    let crew = Crew::of(1);
    crew.task("w-2", "depends_on: [w-3]\n", &["It is there — file: `w-2.txt`"]);
    crew.task("w-3", "depends_on: [w-2]\n", &["It is there — file: `w-3.txt`"]);
    crew.repo.commit("a circle");
    let before = crew.repo.fingerprint();
    let outcome = crew.repo.run(&["work", "--dry-run"]).exits(0);
    assert!(outcome.stdout.contains("1 task would start") && outcome.stdout.contains("w-1"), "{outcome}");
    assert!(
        outcome.stdout.contains("circle of dependencies: ") && outcome.stdout.contains("waits for itself"),
        "{outcome}"
    );
    before.assert_unchanged(&crew.repo.fingerprint());
}

#[test]
fn one_refused_id_refuses_the_run_before_anything_is_touched() {
    let crew = Crew::of(1);
    crew.worker(HONEST);
    let before = crew.repo.fingerprint();
    crew.repo.run(&[&WORK[..], &["w-1", "w-7"]].concat()).exits(2).says("w-7");
    crew.repo.run(&["work", "w-1"]).exits(2).says("no worker is named");
    crew.repo.run(&["work", "--agent", "worker"]).exits(2).says("worker=NAME");
    crew.repo.run(&["work", "--agent", "cook=scripted"]).exits(2).says("only worker= and verifier= are known");
    crew.repo.run(&[&WORK[..], &["--into", "nowhere"]].concat()).exits(2).says("nowhere");
    before.assert_unchanged(&crew.repo.fingerprint());
}

#[test]
fn an_empty_board_is_exit_0_with_the_visions_questions_and_outside_a_repository_the_reason_is_given() {
    let crew = Crew::of(0);
    crew.worker(HONEST);
    let outcome = crew.repo.run(&WORK).exits(0);
    assert!(outcome.stdout.contains("nothing to do") && outcome.stdout.contains("Which port?"), "{outcome}");
    let outside = crew.repo.root().join("outside");
    std::fs::create_dir_all(outside.join(".agentheim")).unwrap();
    for args in [&WORK[..], &["status"], &["resume"]] {
        crew.repo.run_with(&outside, args, &[], b"").exits(4).says("is not inside a git repository");
    }
}

#[test]
fn status_tells_from_another_terminal_what_runs_and_resume_goes_on_with_what_was_held() {
    let crew = Crew::of(1);
    // The worker waits for a person; the first time it then fails.
    crew.worker("touch here\nwhile [ ! -e go ]; do sleep 0.02; done\nrm go here\n[ -e again ] || { touch again; fail tired; exit 0; }\nrm again\necho made > $id.txt; report \"$id.txt\"\n");
    let answer = |repo: &TestRepo, args: &[&str]| {
        std::thread::scope(|scope| {
            let run = scope.spawn(|| repo.run(args));
            let place = crew.worktree("w-1");
            while !place.join("here").exists() {
                assert!(!run.is_finished(), "{}", run.join().unwrap());
                std::thread::yield_now();
            }
            let status = repo.run(&["status", "--json"]).exits(0).json();
            std::fs::write(place.join("go"), "").unwrap();
            (status, run.join().unwrap())
        })
    };
    let (status, outcome) = answer(&crew.repo, &WORK);
    let task = &status["tasks"][0];
    assert_eq!(
        (&task["state"], &task["why"], &task["iteration"]),
        (&"running".into(), &"a worker is at work".into(), &1.into())
    );
    assert!(task["since"].is_u64() && task["active"].is_u64(), "{status:#}");
    outcome.exits(3);
    crew.repo.run(&WORK).exits(3).says("held (worker-failed)");
    let (_, outcome) = answer(&crew.repo, &["resume", "--agent", "worker=scripted"]);
    outcome.exits(0).says("1 of 1 task");
}

#[test]
fn at_a_terminal_running_tasks_are_drawn_over_and_ended_ones_stay() {
    let crew = Crew::of(2);
    crew.worker(HONEST);
    let outcome = crew.repo.run_at_terminal(&WORK, "").exits(0);
    assert!(outcome.stdout.contains("\x1b[1A\x1b[J") || outcome.stdout.contains("\x1b[2A\x1b[J"), "{outcome}");
    for task in ["w-1", "w-2"] {
        let ended = outcome.stdout.lines().filter(|line| line.contains(task) && line.contains("landed as"));
        assert_eq!(ended.count(), 2, "once as it happens, once in the answer: {outcome}");
    }
}
