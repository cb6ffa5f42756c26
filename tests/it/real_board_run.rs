//! Three tasks of a real board, moved back to `todo`, run through with scripted workers, where `COUNTERSIGN_BOARD` names a
//! clone of `rommsen/Agentheim`. The run is in a copy; without the variable there is nothing to run, and the test says so.

use crate::support::trial::RUNNER;
use crate::support::{Crew, FakeVerifier, TestRepo, end_of, skip, variable};
use std::collections::BTreeMap;
use std::path::Path;

/// What becomes of each: landed, sent back until it is escalated, returned by its worker.
const TASKS: [(&str, &str); 3] = [
    ("agentic-workflow-c4t8m", "landed"),
    ("infrastructure-020", "held:escalated"),
    ("design-system-r4k8m", "bounced"),
];

const WORKER: &str = "case $id in\n\
    design-system-*) bounce 'which icon set?' ;;\n\
    *) mkdir -p checks; echo made > \"$id.txt\"; echo \"grep -q made $id.txt\" > \"checks/$id.sh\"\n\
       report \"$id.txt, checks/$id.sh\" ;;\n\
    esac\n";

/// Passes every criterion of the brief by the worker's test, but for one task whose work it never likes.
const JUDGE: &str = r#"id=$(printf '%s\n' "$brief" | sed -n 's/^The task id for your answer is `\(.*\)`\.$/\1/p')
case $id in infrastructure-*) printf 'VERDICT: FAIL\nTASK_ID: %s\nTOKEN: %s\nREASONS:\n- C1: no\nSUGGESTED_FIX: mend it\nITERATION_HINT: likely-fixable\n' "$id" "$token"; exit 0 ;; esac
printf 'VERDICT: PASS\nTASK_ID: %s\nTOKEN: %s\nEVIDENCE:\n' "$id" "$token"
printf '%s\n' "$brief" | sed -n 's/^[| ]*\(C[0-9]*\) \[\([a-z-]*\)\] .*/\1 \2/p' | sort -u | while read -r number kind; do
  if [ "$kind" = human-eye ]; then echo "- $number It is so — covered by builder eye-check pending"
  else echo "- $number It is so — covered by test:$id"; fi
done
exit 0
"#;

/// The files of the target's tip, each with its blob.
fn files(repo: &TestRepo) -> BTreeMap<String, String> {
    let listed = repo.git(&["ls-tree", "-r", "main"]);
    listed
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(blob, path)| (path.to_owned(), blob.to_owned()))
        .collect()
}

/// Moves a done task back to `todo`, as a person would: page, status, list, counts.
fn back_to_todo(repo: &TestRepo, id: &str) {
    let listed = repo.git(&["ls-files", &format!(".agentheim/contexts/*/done/{id}-*.md")]);
    let done = listed.lines().next().unwrap_or_else(|| panic!("{id} is not on that board"));
    let todo = done.replace("/done/", "/todo/");
    let page = std::fs::read_to_string(repo.path().join(done)).unwrap();
    std::fs::remove_file(repo.path().join(done)).unwrap();
    repo.write(&todo, page.replacen("status: done", "status: todo", 1));
    let index = format!("{}/INDEX.md", done.split_once("/done/").unwrap().0);
    let text = std::fs::read_to_string(repo.path().join(&index)).unwrap();
    let line = text.lines().find(|line| line.contains(&format!("**{id}**"))).unwrap().to_owned();
    let text = text.replacen(&format!("{line}\n"), "", 1);
    let text = text.replacen("<!-- todo-list:start -->\n", &format!("<!-- todo-list:start -->\n{line}\n"), 1);
    let count = |text: &str, name: &str, by: i64| {
        let head = format!("- **{name}:** ");
        let old = text.lines().find(|line| line.starts_with(&head)).unwrap().to_owned();
        let number: i64 = old[head.len()..].trim().parse().unwrap();
        text.replacen(&old, &format!("{head}{}", number + by), 1)
    };
    repo.write(&index, count(&count(&text, "Done", -1), "Todo", 1));
}

#[test]
fn three_tasks_of_a_real_board_run_through() {
    let Some(clone) = variable("COUNTERSIGN_BOARD") else {
        skip("COUNTERSIGN_BOARD names no clone of a real board");
        return;
    };
    let repo = TestRepo::unborn();
    repo.git(&["fetch", "-q", Path::new(&clone).to_str().unwrap(), "HEAD"]);
    repo.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    repo.write("run-tests.sh", RUNNER);
    repo.write("checks/starts.sh", "true\n");
    let settings =
        "tests:\n  command: sh run-tests.sh\n  report: report.xml\n  format: junit\nscope:\n  bookkeeping: conductor\n";
    repo.write(".agentheim/countersign.yaml", settings);
    for (id, _) in TASKS {
        back_to_todo(&repo, id);
    }
    repo.commit("three tasks again");
    let crew = Crew { repo };
    crew.worker(WORKER);
    crew.judged_by(&FakeVerifier::answering("nobody asked\n").doing(JUDGE));
    let before = files(&crew.repo);
    let started = std::time::Instant::now();
    let report = crew.work(&[]);
    let took = started.elapsed();
    for (id, end) in TASKS {
        assert_eq!(end_of(&report, id), end, "{report:#?}");
    }
    crew.assert_settled(&report);
    let after = files(&crew.repo);
    let same = before.iter().filter(|(path, blob)| after.get(*path) == Some(blob)).count();
    let board = |path: &&String| path.starts_with(".agentheim/");
    let changed: Vec<&String> = before.keys().filter(|path| after.get(*path) != before.get(*path)).collect();
    let foreign: Vec<&&String> = changed.iter().filter(|path| !board(path)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    for (id, folder) in [(TASKS[0].0, "done"), (TASKS[1].0, "doing"), (TASKS[2].0, "backlog")] {
        let pages: Vec<&String> =
            after.keys().filter(|path| path.contains(&format!("/{id}-"))).filter(|path| board(path)).collect();
        assert!(pages.len() == 1 && pages[0].contains(&format!("/{folder}/")), "{pages:?}");
    }
    for path in after.keys().filter(|path| path.starts_with(".agentheim/contexts/") && path.ends_with("/INDEX.md")) {
        let text = crew.landed(path).unwrap();
        for name in ["task-counts", "todo-list", "doing-list", "done-list", "backlog-list"] {
            assert_eq!(text.matches(&format!("<!-- {name}:start -->")).count(), 1, "{path}");
            assert_eq!(text.matches(&format!("<!-- {name}:end -->")).count(), 1, "{path}");
        }
    }
    crew.assert_patch("infrastructure-020-escalated-iter3.patch");
    let new: Vec<&String> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    println!(
        "{} files before, {same} of them unchanged, changed: {changed:#?}, new: {new:#?}, commits: {:#?}, {took:?}",
        before.len(),
        &crew.subjects()[..12]
    );
}
