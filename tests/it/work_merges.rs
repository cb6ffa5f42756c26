//! Landings that meet other people's changes: nothing of theirs is lost, nothing of the task's, and nobody is blamed for
//! what is not his.

use crate::support::{Crew, end_of, write, write_script};
use countersign::host::Host;
use countersign::pipeline::work::journal::Errand;
use countersign::pipeline::work::step::Step;
use countersign::pipeline::work::{End, WorkError, WorkEvent, WorkReport, work};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// A worker that does what is asked.
const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";

/// Which worker is sent out, for which iteration, and why.
fn sent(event: &WorkEvent) -> Option<(String, u32, Errand)> {
    match event {
        WorkEvent::Step { task, step: Step::Send { iteration, errand } } => Some((task.clone(), *iteration, *errand)),
        _ => None,
    }
}

/// The newest landing of a task.
fn landing(crew: &Crew, id: &str) -> String {
    crew.repo.git(&["log", "-1", "--format=%H", "--fixed-strings", "--grep", &format!("{id} is made [{id}]"), "main"])
}

/// The paths of a commit that are no bookkeeping.
fn touched(crew: &Crew, commit: &str) -> Vec<String> {
    let listed = crew.repo.git(&["show", "--format=", "--name-only", "--no-renames", commit]);
    listed.lines().filter(|path| !path.starts_with(".agentheim/")).map(str::to_owned).collect()
}

/// Asserts that no half-made merge lies in the user's git directory.
fn nothing_under_way(crew: &Crew) {
    for name in ["MERGE_HEAD", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "REBASE_HEAD", "index.lock"] {
        assert!(!crew.repo.common_dir().join(name).exists(), "{name} is left behind");
    }
}

#[test]
fn merge_squash_abort_a_conflict_leaves_the_target_as_it_was_and_the_next_task_lands() {
    let crew = Crew::of(3);
    crew.repo.write("shared.txt", "one\n");
    crew.repo.write("mine.txt", "committed\n");
    crew.repo.commit("files");
    crew.repo.write("mine.txt", "a person edits this\n");
    crew.worker(
        "files=\"$id.txt\"\n\
         case $id in\n\
          w-1) until [ -e ../w-2/.git ] && [ -e ../w-3/.git ]; do :; done; echo A > shared.txt; files=\"$id.txt, shared.txt\" ;;\n\
          w-2) if grep -q '^<<<<<<<' shared.txt; then fail 'which one is right?'; exit; fi\n\
               until [ -e ../../w-1.txt ]; do :; done; echo B > shared.txt; files=\"$id.txt, shared.txt\" ;;\n\
          w-3) until [ -e ../../w-1.txt ]; do :; done ;;\n\
         esac\n\
         echo made > \"$id.txt\"; report \"$files\"\n",
    );
    let mut request = crew.request(&[]);
    request.parallel = 3;
    let report = crew.ask(&request).unwrap();
    let ends = ["w-1", "w-2", "w-3"].map(|id| end_of(&report, id));
    assert_eq!(ends, ["landed", "held:worker-failed", "landed"], "{report:#?}");
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), " M mine.txt");
    assert_eq!(std::fs::read_to_string(crew.repo.path().join("mine.txt")).unwrap(), "a person edits this\n");
    assert_eq!(crew.landed("shared.txt").as_deref(), Some("A\n"));
    nothing_under_way(&crew);
    crew.repo.no_lock_left();
    // The other side of it is kept three times: the worktree with both sides, the claim before the merge, and a patch.
    let kept = std::fs::read_to_string(crew.worktree("w-2").join("shared.txt")).unwrap();
    assert!(kept.contains("<<<<<<<") && kept.contains("A\n") && kept.contains("B\n"), "{kept}");
    assert_eq!(crew.repo.git(&["show", "refs/countersign/claims/w-2/1:shared.txt"]), "B");
    assert!(crew.repo.path().join(".agentheim/salvage/w-2-failed.patch").is_file());
    assert_eq!(
        crew.repo.try_git_in(&crew.worktree("w-2"), &["rev-parse", "-q", "--verify", "MERGE_HEAD"]).status.code(),
        Some(1)
    );
}

#[test]
fn merge_stale_base_revert_what_landed_meanwhile_stays_landed() {
    let crew = Crew::of(3);
    crew.repo.write("shared.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    crew.repo.write("old.txt", "old\n");
    crew.repo.commit("files");
    // The first one works on the tree of its base to the end: its shared.txt is a stale copy but for the last line.
    crew.worker(
        "echo made > \"$id.txt\"\n\
         case $id in\n\
          w-1) until [ -e ../../w-2.txt ] && [ -e ../../w-3.txt ]; do :; done\n\
               echo a > a.txt; printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\nA\\n' > shared.txt; report \"w-1.txt, a.txt, shared.txt\" ;;\n\
          w-2) until [ -e ../w-1/.git ]; do :; done; echo b > b.txt; sed -i 's/^1$/B/' shared.txt; report \"w-2.txt, b.txt, shared.txt\" ;;\n\
          w-3) until [ -e ../w-1/.git ]; do :; done; rm old.txt; report \"w-3.txt, old.txt\" ;;\n\
         esac\n",
    );
    let mut request = crew.request(&[]);
    request.parallel = 3;
    let report = crew.ask(&request).unwrap();
    let ends = ["w-1", "w-2", "w-3"].map(|id| end_of(&report, id));
    assert_eq!(ends, ["landed"; 3], "{report:#?}");
    assert_eq!(touched(&crew, &landing(&crew, "w-1")), ["a.txt", "shared.txt", "w-1.txt"]);
    assert_eq!(crew.landed("shared.txt").as_deref(), Some("B\n2\n3\n4\n5\n6\n7\n8\nA\n"));
    assert_eq!((crew.landed("b.txt").as_deref(), crew.landed("old.txt")), (Some("b\n"), None));
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn merge_stale_base_revert_a_resolution_that_undoes_what_landed_is_held_for_a_person() {
    let crew = Crew::of(1);
    crew.repo.write("shared.txt", "one\n");
    crew.repo.write("other.txt", "one\n");
    crew.repo.commit("files");
    // The resolver puts the file that the person changed back to what it was.
    crew.worker(
        "if grep -q '^<<<<<<<' shared.txt; then echo both > shared.txt; echo one > other.txt\n\
         else until [ -e ../go ]; do :; done; echo mine > shared.txt; fi\n\
         echo made > \"$id.txt\"; report \"$id.txt, shared.txt\"\n",
    );
    let mut once = true;
    let report = crew
        .ask_watching(&crew.request(&[]), &mut |event| {
            if sent(event).is_some() && std::mem::take(&mut once) {
                crew.repo.write("shared.txt", "theirs\n");
                crew.repo.write("other.txt", "theirs\n");
                crew.repo.commit("a person commits");
                write(&crew.repo.path(), ".worktrees/go", "");
            }
        })
        .unwrap();
    assert_eq!(end_of(&report, "w-1"), "held:merge-conflict", "{report:#?}");
    let End::Held { why, .. } = &report.tasks[0].end else { panic!("{report:#?}") };
    assert!(why.contains("other.txt"), "{why}");
    assert_eq!(crew.landed("other.txt").as_deref(), Some("theirs\n"));
    assert!(crew.repo.path().join(".agentheim/salvage/w-1-merge-conflict.patch").is_file(), "{report:#?}");
}

#[test]
fn merge_sweeps_staged_changes_of_a_person_into_no_commit() {
    for moves in [false, true] {
        let crew = Crew::of(1);
        for name in ["u", "v", "f"] {
            crew.repo.write(name, "0\n");
        }
        crew.repo.commit("files");
        crew.worker("until [ -e ../go ]; do :; done\necho 1 > f; echo made > \"$id.txt\"; report \"$id.txt, f\"\n");
        crew.repo.write("u", "staged\n");
        crew.repo.git(&["add", "u"]);
        crew.repo.write("v", "edited\n");
        crew.repo.write("w", "untracked\n");
        let start = crew.repo.git(&["rev-parse", "main"]);
        let before = crew.repo.git(&["status", "--porcelain"]);
        let staged = crew.repo.git(&["ls-files", "-s", "u", "v"]);
        let report = crew
            .ask_watching(&crew.request(&[]), &mut |event| {
                if sent(event).is_none() {
                    return;
                }
                if moves {
                    crew.repo.write("other.txt", "meanwhile\n");
                    crew.repo.git(&["add", "-N", "other.txt"]);
                    crew.repo.git(&["commit", "-q", "-m", "a person commits one file", "--", "other.txt"]);
                }
                write(&crew.repo.path(), ".worktrees/go", "");
            })
            .unwrap();
        assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
        assert_eq!(touched(&crew, &landing(&crew, "w-1")), ["f", "w-1.txt"]);
        assert_eq!(crew.repo.git(&["log", "--format=%s", &format!("{start}..main"), "--", "u", "v", "w"]), "");
        assert_eq!(crew.repo.git(&["status", "--porcelain"]), before);
        assert_eq!(crew.repo.git(&["ls-files", "-s", "u", "v"]), staged);
        assert_eq!(std::fs::read_to_string(crew.repo.path().join("v")).unwrap(), "edited\n");
        assert_eq!(crew.repo.git(&["stash", "list"]), "");
    }
}

/// A run whose landing is obstructed while the worker works, and the same task after the obstacle is gone.
fn obstructed(name: &str, obstruct: &dyn Fn(&Crew), clear: &dyn Fn(&Crew)) {
    let crew = Crew::of(1);
    crew.repo.write("f.txt", "0\n");
    crew.repo.commit("file");
    crew.worker("until [ -e ../go ]; do :; done\necho 1 > f.txt; echo made > \"$id.txt\"; report \"$id.txt, f.txt\"\n");
    let (mut sends, mut state) = (0, None);
    let report = crew
        .ask_watching(&crew.request(&[]), &mut |event| {
            if sent(event).is_some() {
                sends += 1;
                obstruct(&crew);
                state = Some((crew.repo.git(&["status", "--porcelain"]), crew.repo.git(&["rev-parse", "main"])));
                write(&crew.repo.path(), ".worktrees/go", "");
            }
        })
        .unwrap();
    assert_eq!(end_of(&report, "w-1"), "held:landing-waits", "{name}: {report:#?}");
    assert_eq!(sends, 1, "{name}: nobody is sent out for what the worker did not do");
    let (status, tip) = state.unwrap();
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), status, "{name}");
    assert_eq!(crew.landed("w-1.txt"), None, "{name}");
    // A refusal moves nothing; the run's own diary may follow only where the checkout can.
    assert_eq!(crew.repo.git(&["diff", "--name-only", &tip, "main", "--", ".", ":!.agentheim"]), "", "{name}");
    crew.repo.no_lock_left();
    clear(&crew);
    let mut request = crew.request(&[]);
    request.resume = true;
    let report = crew.ask(&request).unwrap();
    assert_eq!(end_of(&report, "w-1"), "landed", "{name}: {report:#?}");
}

#[test]
fn merge_refusal_vs_conflict_a_checkout_in_the_way_is_named_waited_for_and_nobodys_conflict() {
    obstructed("an untracked file", &|crew| crew.repo.write("w-1.txt", "a person's own\n"), &|crew| {
        let place = crew.repo.path().join("w-1.txt");
        assert_eq!(std::fs::read_to_string(&place).unwrap(), "a person's own\n");
        std::fs::remove_file(place).unwrap();
    });
    obstructed("an edited file", &|crew| crew.repo.write("f.txt", "edited\n"), &|crew| {
        assert_eq!(std::fs::read_to_string(crew.repo.path().join("f.txt")).unwrap(), "edited\n");
        crew.repo.git(&["checkout", "-q", "--", "f.txt"]);
    });
}

#[test]
fn merge_refusal_vs_conflict_a_rebase_and_a_hidden_edit_are_left_as_they_are() {
    obstructed(
        "a rebase",
        &|crew| {
            let done = crew.repo.try_git_in(&crew.repo.path(), &["rebase", "-q", "--exec", "false", "HEAD~1"]);
            assert!(!done.status.success(), "the rebase stops");
        },
        &|crew| {
            assert!(crew.repo.common_dir().join("rebase-merge").is_dir(), "somebody else's rebase was ended");
            crew.repo.git(&["rebase", "--abort"]);
            assert_eq!(crew.repo.git(&["symbolic-ref", "--short", "HEAD"]), "main");
        },
    );
    obstructed(
        "a file hidden by skip-worktree",
        &|crew| {
            crew.repo.git(&["update-index", "--skip-worktree", "f.txt"]);
            crew.repo.write("f.txt", "a local setting\n");
        },
        &|crew| {
            assert_eq!(std::fs::read_to_string(crew.repo.path().join("f.txt")).unwrap(), "a local setting\n");
            crew.repo.git(&["update-index", "--no-skip-worktree", "f.txt"]);
            crew.repo.git(&["checkout", "-q", "--", "f.txt"]);
        },
    );
}

/// The ends of a clean landing, a conflict, a dirty refusal, a held lock and an empty claim, with this machine.
fn classified(host_of: &dyn Fn(&Crew) -> Host) -> Vec<String> {
    let mut ends = Vec::new();
    let run = |crew: &Crew, prepare: &dyn Fn()| -> WorkReport {
        work(&crew.request(&[]), &host_of(crew), &mut |event| {
            if sent(event).is_some() {
                prepare();
            }
        })
        .unwrap()
    };
    let crew = Crew::of(2);
    crew.repo.write("shared.txt", "one\n");
    crew.repo.commit("shared");
    crew.worker(
        "if grep -q '^<<<<<<<' shared.txt; then echo both > shared.txt\n\
         else [ $id = w-1 ] || until [ -e ../../w-1.txt ]; do :; done; until [ -e ../w-2/.git ]; do :; done; echo $id > shared.txt; fi\n\
         echo made > \"$id.txt\"\nreport \"$id.txt, shared.txt\"\n",
    );
    let report = run(&crew, &|| {});
    ends.extend(["w-1", "w-2"].map(|id| end_of(&report, id)));
    ends.push(crew.landed("shared.txt").unwrap_or_default());
    for obstacle in ["w-1.txt", ".git/index.lock"] {
        let crew = Crew::of(1);
        crew.worker(&format!("until [ -e ../go ]; do :; done\n{HONEST}"));
        let report = run(&crew, &|| {
            crew.repo.write(obstacle, "a person's own\n");
            write(&crew.repo.path(), ".worktrees/go", "");
        });
        ends.push(end_of(&report, "w-1"));
        assert_eq!(std::fs::read_to_string(crew.repo.path().join(obstacle)).unwrap(), "a person's own\n");
    }
    let crew = Crew::of(1);
    crew.worker("report a.txt\n");
    ends.push(end_of(&run(&crew, &|| {}), "w-1"));
    ends
}

#[test]
fn merge_locale_decides_nothing_because_no_decision_rests_on_gits_words() {
    let plain = classified(&|crew| crew.repo.host());
    assert_eq!(plain, ["landed", "landed", "both\n", "held:landing-waits", "held:landing-waits", "held:escalated"]);
    let foreign = classified(&|crew| {
        let mut host = crew.repo.host();
        // Exit codes and standard output as they are, every word on standard error another one.
        let wrapper = crew.repo.root().join("fake/git");
        let real = host.git.display().to_string();
        let script = format!(
            "#!/bin/sh\n'{real}' \"$@\" 2>/dev/null\ncode=$?\n[ $code = 0 ] || echo 'Schwerwiegend: nichts geht mehr' >&2\nexit $code\n"
        );
        if !wrapper.exists() {
            write_script(&wrapper, &script);
        }
        host.git = wrapper;
        let mut vars: Vec<(OsString, OsString)> =
            ["PATH", "HOME"].map(|name| (name.into(), host.env.get(name).unwrap().to_owned())).into();
        vars.extend([("LANG", "de_DE.UTF-8"), ("LANGUAGE", "de")].map(|(name, value)| (name.into(), value.into())));
        host.env = countersign::host::env::Env::of(vars);
        host
    });
    assert_eq!(foreign, plain);
}

#[test]
fn merge_target_elsewhere_the_worktree_that_has_the_target_follows_and_the_other_is_untouched() {
    let crew = Crew::of(2);
    crew.worker(HONEST);
    crew.repo.branch("dev-human");
    let stage = crew.repo.root().join("stage");
    crew.repo.git(&["worktree", "add", "-q", stage.to_str().unwrap(), "main"]);
    crew.repo.write("a.txt", "a person edits this\n");
    let head = crew.repo.git(&["rev-parse", "HEAD"]);
    for (id, from_stage) in [("w-1", true), ("w-2", false)] {
        let mut request = crew.request(&[id]);
        if from_stage {
            request.start.clone_from(&stage);
        } else {
            request.into = Some("main".to_owned());
        }
        let report = crew.ask(&request).unwrap();
        assert_eq!(report.target, "refs/heads/main");
        assert_eq!(end_of(&report, id), "landed", "{report:#?}");
        let landings = crew.subjects().iter().filter(|subject| subject.ends_with(&format!("is made [{id}]"))).count();
        assert_eq!(landings, 1);
        assert_eq!(std::fs::read_to_string(stage.join(format!("{id}.txt"))).unwrap(), "made\n");
        assert_eq!(crew.repo.git_in(&stage, &["status", "--porcelain"]), "");
        assert_eq!(crew.repo.git(&["status", "--porcelain"]), " M a.txt");
        assert_eq!(crew.repo.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(crew.repo.git(&["symbolic-ref", "--short", "HEAD"]), "dev-human");
        assert!(!crew.repo.path().join(format!("{id}.txt")).exists());
    }
}

/// One real failure, a conflict whose resolution fails as well, and a second conflict.
const SECOND_CONFLICT: &str = "if grep -q '^<<<<<<<' shared.txt; then echo resolved > shared.txt; rm -f w-1.txt; report shared.txt; exit; fi\n\
    case $n in\n\
     1) echo x > x.txt; report x.txt; exit ;;\n\
     *) until [ -e ../go-$n ]; do :; done ;;\n\
    esac\n\
    rm -f x.txt; echo mine-$n > shared.txt; echo made > w-1.txt; report \"w-1.txt, shared.txt\"\n";

/// Commits on the target while the second and third worker are at work, once each.
fn interfere(crew: &Crew, done: &mut BTreeSet<u32>, event: &WorkEvent) {
    let Some((_, iteration @ 2.., Errand::Mend)) = sent(event) else { return };
    if done.insert(iteration) {
        crew.repo.write("shared.txt", format!("theirs {iteration}\n"));
        crew.repo.commit(&format!("feature(w): other {iteration} [w-9{iteration}]"));
        write(&crew.repo.path(), format!(".worktrees/go-{iteration}"), "");
    }
}

fn assert_second_conflict(crew: &Crew, report: &WorkReport, sends: &[(u32, Errand)]) {
    assert_eq!(end_of(report, "w-1"), "held:merge-conflict", "{report:#?}");
    let wanted = [(1, Errand::Do), (2, Errand::Mend), (2, Errand::Resolve), (3, Errand::Mend)];
    let mut once: Vec<(u32, Errand)> = sends.to_vec();
    once.dedup();
    assert_eq!(once, wanted, "the resolver is no attempt, and there is one resolver only");
    let page = crew.landed(".agentheim/board/w/doing/w-1-make.md").unwrap();
    assert!(
        page.contains("## Verifier note (iteration 2)") && !page.contains("## Verifier note (iteration 3)"),
        "{page}"
    );
    let End::Held { why, .. } = &report.tasks[0].end else { panic!("{report:#?}") };
    assert!(why.contains("shared.txt") && why.contains("[w-93]"), "{why}");
    assert!(page.contains("w-1-merge-conflict.patch") && page.contains("[w-93]"), "{page}");
    assert!(crew.repo.path().join(".agentheim/salvage/w-1-merge-conflict.patch").is_file());
    assert_eq!(crew.repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads/aw"]), "refs/heads/aw/w-1");
    assert_eq!(crew.landed("shared.txt").as_deref(), Some("theirs 3\n"));
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn merge_second_conflict_escalates_and_the_resolver_has_its_own_budget() {
    let crew = Crew::of(1);
    crew.repo.write("shared.txt", "one\n");
    crew.repo.commit("shared");
    crew.worker(SECOND_CONFLICT);
    let (mut done, mut sends) = (BTreeSet::new(), Vec::new());
    let report = crew
        .ask_watching(&crew.request(&[]), &mut |event| {
            sends.extend(sent(event).map(|(_, iteration, errand)| (iteration, errand)));
            interfere(&crew, &mut done, event);
        })
        .unwrap();
    assert_second_conflict(&crew, &report, &sends);
}

#[test]
fn merge_second_conflict_is_counted_the_same_when_the_process_is_restarted_between_the_steps() {
    let crew = Crew::of(1);
    crew.repo.write("shared.txt", "one\n");
    crew.repo.commit("shared");
    crew.worker(SECOND_CONFLICT);
    let (mut done, mut sends, mut stopped) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
    for _ in 0..60 {
        let host = crew.repo.host();
        let cancel = host.cancel.clone();
        let ended = work(&crew.request(&[]), &host, &mut |event| {
            sends.extend(sent(event).map(|(_, iteration, errand)| (iteration, errand)));
            interfere(&crew, &mut done, event);
            let WorkEvent::Step { step, .. } = event else { return };
            // Every step but a worker's turn is broken off the first time that it comes up.
            if sent(event).is_none() && stopped.insert(format!("{step:?} after {}", sends.len())) {
                cancel.ask();
            }
        });
        match ended {
            Ok(report) => {
                assert!(stopped.len() > 8, "{stopped:#?} {report:#?}");
                return assert_second_conflict(&crew, &report, &sends);
            }
            Err(WorkError::Interrupted) => {}
            Err(why) => panic!("{why}"),
        }
    }
    panic!("it never came to an end: {stopped:#?}");
}

/// Writes a `pre-commit` hook into the folder that all worktrees share.
fn pre_commit(crew: &Crew, script: &str) {
    write_script(&crew.repo.common_dir().join("hooks/pre-commit"), &format!("#!/bin/sh\n{script}\n"));
}

#[test]
fn a_tree_that_a_hook_formats_is_judged_as_it_would_land_and_lands() {
    let crew = Crew::of(1);
    crew.worker(HONEST);
    // The board's own commits are no business of the formatter's.
    pre_commit(&crew, "[ -e w-1.txt ] || exit 0; echo formatted > w-1.txt; git add w-1.txt");
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(crew.landed("w-1.txt").as_deref(), Some("formatted\n"));
    let cases = crew.repo.git(&["log", "--format=%s", "--grep", "^case w-1 attempt", "refs/countersign/cases/w-1"]);
    assert_eq!(cases.lines().count(), 2, "the claim and what the hook made of it were judged: {cases}");
    assert_eq!(touched(&crew, &landing(&crew, "w-1")), ["w-1.txt"]);
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
    crew.repo.git(&["fsck", "--strict"]);
}

#[test]
fn a_hook_that_makes_another_tree_each_time_holds_the_landing() {
    let crew = Crew::of(1);
    crew.worker(HONEST);
    pre_commit(&crew, "[ -e w-1.txt ] || exit 0; cat /proc/sys/kernel/random/uuid > w-1.txt; git add w-1.txt");
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "held:landing-waits", "{report:#?}");
    assert_eq!(crew.landed("w-1.txt"), None);
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}
