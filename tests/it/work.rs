//! The conductor: tasks go from `todo` to landed commits, with nothing lost.

use crate::support::{Crew, end_of};
use countersign::pipeline::work::step::Step;
use countersign::pipeline::work::{WorkEvent, plan_only};

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

#[test]
fn an_escalated_task_that_a_person_moves_back_begins_another_life_and_its_earlier_work_is_saved() {
    let crew = Crew::of(1);
    crew.worker("echo other > x.txt; report x.txt\n");
    assert_eq!(end_of(&crew.work(&[]), "w-1"), "held:escalated");
    let again = crew.work(&[]);
    assert_eq!(end_of(&again, "w-1"), "held:escalated", "nothing is tried again without a person: {again:#?}");
    let (doing, todo) = (".agentheim/board/w/doing/w-1-make.md", ".agentheim/board/w/todo/w-1-make.md");
    let page = crew.landed(doing).unwrap().replace("status: doing", "status: todo");
    crew.repo.git(&["rm", "-q", doing]);
    crew.repo.write(todo, page);
    crew.repo.commit("back to todo");
    crew.worker("echo made > \"$id.txt\"; report \"$id.txt\"\n");
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert!(crew.landed("x.txt").is_none() && crew.landed("w-1.txt").is_some());
    assert!(crew.repo.path().join(".agentheim/salvage/w-1-discarded.patch").is_file(), "{report:#?}");
}

#[test]
fn a_task_that_somebody_else_took_is_left_alone_unless_it_is_named() {
    let crew = Crew::of(1);
    crew.worker(HONEST);
    let (todo, doing) = (".agentheim/board/w/todo/w-1-make.md", ".agentheim/board/w/doing/w-1-make.md");
    let page = crew.landed(todo).unwrap().replace("status: todo", "status: doing");
    crew.repo.git(&["rm", "-q", todo]);
    crew.repo.write(doing, page);
    crew.repo.commit("taken by hand");
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "foreign", "{report:#?}");
    let report = crew.work(&["w-1"]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
}

#[test]
fn status_says_what_is_held_and_where_its_work_is() {
    let crew = Crew::of(1);
    crew.worker("echo half > half.txt; fail 'no network'\n");
    crew.work(&[]);
    let stands = countersign::pipeline::work::status(&crew.repo.path(), None, &crew.repo.host()).unwrap();
    let [stands] = stands.as_slice() else { panic!("{stands:#?}") };
    assert_eq!((stands.task.as_str(), stands.state.as_str(), stands.iteration), ("w-1", "held", 1));
    assert!(stands.why.contains("no network") && stands.worktree.is_some() && stands.saved.len() == 1, "{stands:#?}");
}

#[test]
fn con_two_orchestrators_on_one_board_land_every_task_exactly_once() {
    let crew = Crew::of(6);
    crew.worker(HONEST);
    let request = crew.request(&[]);
    let reports: Vec<_> = std::thread::scope(|scope| {
        let runs = [0, 1].map(|_| scope.spawn(|| crew.ask(&request)));
        runs.map(|run| run.join().unwrap().unwrap()).into()
    });
    for number in 1..=6 {
        let id = format!("w-{number}");
        let landings = crew.subjects().iter().filter(|subject| subject.ends_with(&format!("is made [{id}]"))).count();
        assert_eq!(landings, 1, "{id}: {:#?}\n{reports:#?}", crew.subjects());
        assert_eq!(crew.landed(&format!("{id}.txt")).as_deref(), Some("made\n"));
        assert!(!crew.worktree(&id).exists());
    }
    let index = crew.landed(".agentheim/board/w/INDEX.md").unwrap();
    assert!(
        index.contains("- **Todo:** 0") && index.contains("- **Doing:** 0") && index.contains("- **Done:** 6"),
        "{index}"
    );
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
    crew.repo.no_lock_left();
}

#[test]
fn con_sibling_lands_and_the_merge_is_judged_before_it_lands() {
    let crew = Crew::of(1);
    // The worker waits until the sibling has committed on the target.
    crew.worker(&format!("until [ -e ../committed ]; do :; done\n{HONEST}"));
    let top = crew.repo.path();
    let request = crew.request(&[]);
    let mut once = true;
    let report = crew
        .ask_watching(&request, &mut |event| {
            let sent = matches!(event, WorkEvent::Step { step: Step::Send { .. }, .. });
            if sent && std::mem::take(&mut once) {
                crate::support::write(&top, "sibling.txt", "other\n");
                crew.repo.git(&["add", "sibling.txt"]);
                crew.repo.git(&["commit", "-q", "-m", "a person commits"]);
                crate::support::write(&top, ".worktrees/committed", "");
            }
        })
        .unwrap();
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(crew.landed("sibling.txt").as_deref(), Some("other\n"));
    let cases = crew.repo.git(&["log", "--format=%s", "--grep", "^case w-1 attempt", "refs/countersign/cases/w-1"]);
    assert_eq!(cases.lines().count(), 2, "the claim and its merge were judged: {cases}");
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_plan_touches_nothing_and_says_why_the_rest_waits() {
    let crew = Crew::of(1);
    crew.task("w-2", "depends_on: [w-9]\n", &["It is there — file: `w-2.txt`"]);
    crew.repo.commit("second");
    let before = crew.repo.fingerprint();
    let plan = plan_only(&crew.request(&[]), &crew.repo.host()).unwrap();
    before.assert_unchanged(&crew.repo.fingerprint());
    assert_eq!(plan.ready.iter().map(|ready| ready.id.as_str()).collect::<Vec<_>>(), ["w-1"]);
    assert!(plan.held_back[0].why[0].to_string().contains("no task answers to"), "{plan:#?}");
    let refused = plan_only(&crew.request(&["w-1", "w-2"]), &crew.repo.host()).unwrap_err().to_string();
    assert!(refused.starts_with("nothing was started: w-2 is not ready"), "{refused}");
}
