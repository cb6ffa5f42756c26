//! Landings that wait for one another are judged together, and one that breaks the others is found.

use crate::support::{Crew, write_script};
use countersign::host::git::{RefName, Repo};
use countersign::host::ids::CommitId;
use countersign::integrate::{Recognised, recognise};
use countersign::pipeline::find_case;
use countersign::verdict::{Decision, judge};
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
    // A run that died before it wrote the notes: whoever finds the landing writes the same.
    for n in 1..=4 {
        let task = format!("w-{n}");
        let before = crew.noted(&task);
        crew.repo.git(&["notes", "--ref=countersign", "remove", before["commit"].as_str().unwrap()]);
        let host = crew.repo.host();
        let repo = Repo::discover(&host, &crew.repo.path()).unwrap();
        let sealed = find_case(&repo, &task, None).unwrap();
        let Decision::Land(warrant) = judge(&sealed.attempt.receipts) else { panic!("no warrant") };
        let target = RefName::new("refs/heads/main").unwrap();
        let known = Recognised { task: &task, target: &target, verified: &[], case: Some(&sealed.commit) };
        let commit = CommitId::new(before["commit"].as_str().unwrap()).unwrap();
        assert!(recognise(&repo, &warrant, &known, &commit).unwrap().is_some(), "{task}");
        assert_eq!(crew.noted(&task)["batch"], before["batch"], "{task}");
    }
}

#[test]
fn a_branch_that_a_broken_removal_left_goes_and_its_commits_are_kept() {
    let crew = Crew::of(1);
    crew.worker(HONEST);
    crew.repo.run(&WORK).exits(0);
    // As if the run had died before its last step, with a commit that nobody else has.
    let tree = crew.repo.git(&["rev-parse", "main^{tree}"]);
    let lost = crew.repo.git(&["commit-tree", "-p", "main", "-m", "the worker's own", &tree]);
    crew.repo.git(&["update-ref", "refs/heads/aw/w-1", &lost]);
    crew.repo.run(&["resume"]).exits(0);
    assert_eq!(crew.repo.git(&["for-each-ref", "refs/heads/aw/"]), "");
    let holders = crew.repo.git(&["for-each-ref", "--format=%(refname)", &format!("--contains={lost}")]);
    assert!(holders.starts_with("refs/countersign/"), "{holders}");
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
