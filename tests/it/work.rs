//! The conductor: tasks go from `todo` to landed commits, with nothing lost.

use crate::support::{Crew, end_of};

/// A worker that does what is asked.
const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";

#[test]
fn tasks_are_taken_done_judged_landed_and_cleared_away() {
    let crew = Crew::of(2);
    crew.worker(HONEST);
    let report = crew.work(&[]);
    for id in ["w-1", "w-2"] {
        assert_eq!(end_of(&report, id), "landed", "{report:#?}");
        assert_eq!(crew.landed(&format!("{id}.txt")).as_deref(), Some("made\n"));
        let page = crew.landed(&format!(".agentheim/board/w/done/{id}-make.md")).unwrap();
        assert!(page.contains("status: done") && page.contains("## Outcome"), "{page}");
        assert!(!crew.worktree(id).exists());
        assert!(crew.repo.git(&["for-each-ref", &format!("refs/heads/aw/{id}")]).is_empty());
        assert!(crew.subjects().contains(&format!("feature(w): {id} is made [{id}]")), "{:?}", crew.subjects());
    }
    let index = crew.landed(".agentheim/board/w/INDEX.md").unwrap();
    assert!(index.contains("- **Todo:** 0") && index.contains("- **Doing:** 0") && index.contains("- **Done:** 2"));
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
    crew.repo.no_process_left();
    crew.repo.no_lock_left();
}

#[test]
fn a_false_claim_is_corrected_with_the_reasons_and_three_false_ones_are_escalated() {
    let crew = Crew::of(2);
    // w-1 mends at the second attempt what the notes name; w-2 never does.
    crew.worker(
        "case $id$n in\n w-12) echo made > w-1.txt; report w-1.txt ;;\n *) echo other > \"x-$id-$n\"; report \"x-$id-$n\" ;;\nesac\n\
         printf '%s' \"$brief\" > ../../brief-$id-$n 2>/dev/null || true\n",
    );
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-2"), "held:escalated", "{report:#?}");
    let page = crew.landed(".agentheim/board/w/doing/w-2-make.md").unwrap();
    assert!(page.contains("## Verifier note (iteration 1)") && page.contains("## Verifier note (iteration 2)"));
    assert!(page.contains("## Salvage note"), "{page}");
    assert!(crew.worktree("w-2").join("x-w-2-3").exists());
    let patch = crew.repo.path().join(".agentheim/salvage/w-2-escalated-iter3.patch");
    assert!(patch.is_file(), "{report:#?}");
}

#[test]
fn a_bounced_task_goes_back_and_a_failed_one_is_kept() {
    let crew = Crew::of(2);
    crew.worker("echo half > half.txt\ncase $id in w-1) bounce 'what is it for?' ;; *) fail 'no network' ;; esac\n");
    let report = crew.work(&[]);
    assert_eq!((end_of(&report, "w-1").as_str(), end_of(&report, "w-2").as_str()), ("bounced", "held:worker-failed"));
    let page = crew.landed(".agentheim/board/w/backlog/w-1-make.md").unwrap();
    assert!(page.contains("## Worker note") && page.contains("what is it for?"), "{page}");
    assert!(!crew.worktree("w-1").exists() && crew.worktree("w-2").join("half.txt").exists());
    assert!(crew.repo.path().join(".agentheim/salvage/w-1-bounced.patch").is_file());
    assert!(crew.repo.path().join(".agentheim/salvage/w-2-failed.patch").is_file());
}

#[test]
fn a_lost_report_is_asked_for_once() {
    let crew = Crew::of(2);
    crew.worker("echo made > \"$id.txt\"\nif [ -e seen-$id ] && [ $id = w-1 ]; then rm seen-$id; report \"$id.txt\"; else touch seen-$id; fi\n");
    let report = crew.work(&[]);
    assert_eq!((end_of(&report, "w-1").as_str(), end_of(&report, "w-2").as_str()), ("landed", "held:lost-result"));
}

#[test]
fn two_tasks_on_one_file_both_land_after_the_second_resolves_the_merge() {
    let crew = Crew::of(2);
    crew.repo.write("shared.txt", "one\n");
    crew.repo.commit("shared");
    crew.worker(
        "if grep -q '^<<<<<<<' shared.txt; then printf 'w-1\\nw-2\\n' > shared.txt; else echo $id > shared.txt; fi\n\
         echo made > \"$id.txt\"\nreport \"$id.txt, shared.txt\"\n",
    );
    let report = crew.work(&[]);
    assert_eq!((end_of(&report, "w-1").as_str(), end_of(&report, "w-2").as_str()), ("landed", "landed"), "{report:#?}");
    assert_eq!(crew.landed("shared.txt").as_deref(), Some("w-1\nw-2\n"));
}

#[test]
fn an_empty_board_shows_the_visions_questions_and_invents_nothing() {
    let crew = Crew::of(0);
    crew.worker(HONEST);
    let before = crew.repo.git(&["rev-parse", "main"]);
    let report = crew.work(&[]);
    assert!(report.tasks.is_empty());
    assert_eq!(report.open_questions[0].text, "Which port?");
    assert_eq!(crew.repo.git(&["rev-parse", "main"]), before);
}

#[test]
fn a_task_that_becomes_ready_is_taken_in_the_same_run_unless_the_run_is_scoped() {
    let crew = Crew::of(1);
    crew.task("w-2", "depends_on: [w-1]\n", &["It is there — file: `w-2.txt`"]);
    let index = crew.landed(".agentheim/board/w/INDEX.md").unwrap().replace("**Todo:** 1", "**Todo:** 2");
    crew.repo.write(".agentheim/board/w/INDEX.md", index);
    crew.repo.commit("second");
    crew.worker(HONEST);
    let report = crew.work(&["w-1"]);
    assert_eq!(report.tasks.len(), 1, "{report:#?}");
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-2"), "landed", "{report:#?}");
}
