//! Landings that wait for one another are judged together, and one that breaks the others is found.

use crate::support::{Crew, write_script};
use std::collections::BTreeSet;

const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";
const WORK: [&str; 5] = ["work", "--agent", "worker=scripted", "--parallel", "4"];

/// The first landing waits until all the others stand in line behind it: they then find a target that has moved.
pub(crate) fn line_up(crew: &Crew, tasks: usize) {
    let journals = crew.repo.path().join(".git/countersign/work");
    let waits: String = (1..=tasks)
        .map(|n| {
            let journal = journals.join(format!("w-{n}/journal.jsonl"));
            format!(
                "n=0\nuntil grep -q '\"entry\":\"landing\"' '{}' 2>/dev/null; do\n  n=$((n + 1))\n  [ $n -lt 1200 ] || exit 1\n  sleep 0.05\ndone\n",
                journal.display()
            )
        })
        .collect();
    write_script(&crew.repo.path().join(".git/hooks/pre-commit"), &format!("#!/bin/sh\n{waits}"));
}

/// What moved the branch, newest first.
fn moves(crew: &Crew) -> Vec<String> {
    let log = crew.repo.git(&["reflog", "show", "--format=%gs", "main"]);
    log.lines().filter(|line| line.starts_with("countersign: land ")).map(str::to_owned).collect()
}

#[test]
fn landings_that_wait_are_judged_once_and_land_in_one_move_of_the_branch() {
    let crew = Crew::of(4);
    crew.worker(HONEST);
    line_up(&crew, 4);
    crew.repo.run(&WORK).exits(0);
    let moves = moves(&crew);
    assert_eq!(moves.len(), 2, "{moves:?}");
    assert_eq!(moves[0].matches("w-").count(), 3, "three landed together: {moves:?}");
    let mut trees = BTreeSet::new();
    let mut alone = 0;
    for n in 1..=4 {
        assert!(crew.landed(&format!("w-{n}.txt")).is_some(), "w-{n}");
        let note = crew.noted(&format!("w-{n}"));
        assert_eq!(note["origin"], "verified", "{note:#}");
        match note["batch"].as_str() {
            Some(tree) => drop(trees.insert(tree.to_owned())),
            None => alone += 1,
        }
    }
    assert_eq!((trees.len(), alone), (1, 1), "the three name one tree");
    let judged = trees.first().unwrap();
    let last = moves[0].rsplit(' ').next().unwrap();
    assert_eq!(crew.noted(last)["tree"], *judged, "which is what came of all of them");
    // Each is a commit of its own, with its own page and its own note.
    let subjects = crew.subjects();
    assert_eq!(subjects.iter().filter(|subject| subject.starts_with("feature(w): ")).count(), 4, "{subjects:?}");
    assert!(crew.repo.git(&["for-each-ref", "refs/heads/aw/"]).is_empty());
    assert!(!crew.repo.path().join(".worktrees/w-1").exists());
    let status = crew.repo.git(&["status", "--porcelain"]);
    assert_eq!(status, "", "the checkout followed");
}

#[test]
fn one_that_breaks_the_others_is_found_and_the_others_land() {
    let crew = Crew::of(4);
    // Each is fine alone; two of them together are not.
    crew.repo.write(
        "run.sh",
        "if [ -e w-1.txt ] && [ -e w-3.txt ]; then inside='<failure/>'; else inside=; fi\n\
         printf '<testsuite><testcase name=\"works\">%s</testcase></testsuite>' \"$inside\" > out.xml\n\
         [ -z \"$inside\" ]\n",
    );
    crew.repo.commit("two that do not agree");
    crew.worker(HONEST);
    line_up(&crew, 4);
    let outcome = crew.repo.run(&WORK).exits(3);
    let landed: Vec<bool> = (1..=4).map(|n| crew.landed(&format!("w-{n}.txt")).is_some()).collect();
    assert!(landed[1] && landed[3], "they break nothing: {landed:?}\n{outcome}");
    assert!(landed[0] != landed[2], "one of the two, never both: {landed:?}\n{outcome}");
    let held = if landed[0] { "w-3" } else { "w-1" };
    outcome.says("held");
    let patches = crew.repo.path().join(".agentheim/salvage");
    let saved = std::fs::read_dir(patches).unwrap().filter_map(Result::ok);
    let saved: Vec<String> = saved.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(saved.iter().any(|name| name.starts_with(held)), "its work is saved: {saved:?}");
    // Every tree that the branch stood at is green.
    for commit in crew.repo.git(&["reflog", "show", "--format=%H", "main"]).lines() {
        let has = |path: &str| {
            let name = format!("{commit}:{path}");
            crew.repo.try_git_in(&crew.repo.path(), &["cat-file", "-e", &name]).status.success()
        };
        assert!(!(has("w-1.txt") && has("w-3.txt")), "{commit}");
    }
}
