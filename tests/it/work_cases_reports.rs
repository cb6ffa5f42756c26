//! Cases of the log about verdicts and reports, at the end of a run (C051, C057, C060).

use crate::support::{Crew, FakeVerifier, TestRepo, end_of, why_of, write};

/// An answer's first lines.
fn head(verdict: &str, id: &str) -> String {
    format!("VERDICT: {verdict}\nTASK_ID: {id}\nTOKEN: @TOKEN@\n")
}

/// C051: an answer that lacks something never lands anything, and is never taken for more than it is.
#[test]
fn verdict_fail_incomplete_to_the_end() {
    let crew = Crew::on(TestRepo::new(), 7);
    let fail = |id: &str, hint: &str| format!("{}REASONS:\n- C1: no\nSUGGESTED_FIX: mend it\n{hint}", head("FAIL", id));
    let answers = [
        ("w-1", head("FAIL", "w-1"), "escalated", 3),
        ("w-2", fail("w-2", "ITERATION_HINT: maybe\n"), "escalated", 3),
        ("w-3", fail("w-3", "ITERATION_HINT: task-under-specified\n"), "task-under-specified", 1),
        ("w-4", format!("{}REASON: the split is unusual\n", head("SKIP", "w-4")), "held", 1),
        ("w-5", head("SKIP", "w-5"), "held", 1),
        ("w-6", format!("{}EVIDENCE:\n- C1 One — covered by file:w-6.txt\n", head("PASS", "w-6")), "held", 1),
        ("w-7", format!("{}EVIDENCE:\n- C1 One — covered by test:waves\n", head("PASS", "w-7")), "held", 1),
    ];
    let mut step = String::new();
    for (id, answer, ..) in &answers {
        let criteria: &[&str] = if *id == "w-6" { &["One", "Two", "Three"] } else { &["One"] };
        crew.task(id, "", criteria);
        let answer = answer.replace("@TOKEN@", "'\"$token\"'");
        step += &format!("case $brief in *'answer is `{id}`'*) printf '%s' '{answer}'; exit 0 ;; esac\n");
    }
    crew.repo.commit("criteria that somebody has to judge");
    crew.worker(
        "mkdir -p src; echo made > \"$id.txt\"; echo 'fn main() {}' > src/$id.rs\nreport \"$id.txt, src/$id.rs\"\n",
    );
    crew.judged_by(&FakeVerifier::answering("nobody asked\n").doing(&step));
    let report = crew.run_settled(&[]);
    for (id, _, code, attempts) in answers {
        assert_eq!(end_of(&report, id), format!("held:{code}"), "{report:#?}");
        crew.assert_nothing_landed(id);
        assert_eq!(crew.attempts(id).len(), attempts, "{id}");
        assert!(crew.worktree(id).join(format!("{id}.txt")).is_file());
    }
    for (id, word) in [("w-4", "skip-not-permitted"), ("w-5", "skip"), ("w-6", "C2"), ("w-7", "waves")] {
        assert!(why_of(&report, id).contains(word), "{id}: {}", why_of(&report, id));
    }
    crew.assert_patch("w-1-escalated-iter3.patch");
    crew.assert_patch("w-3-escalated-iter1.patch");
}

/// C057: a report that lay there before is no answer of this dispatch, whatever it says.
#[test]
fn res_stale_sidecar_to_the_end() {
    let crew = Crew::of(5);
    // w-1 never writes again after its first report was found false; w-2 never writes, and an older run's report lies
    // where the peer's tools look; w-3 answers for another task; w-4 leaves a link; w-5 a second report beside its own.
    crew.worker(
        "case $id$n in\n\
         w-11) echo other > x.txt; report x.txt ;;\n\
         w-12) : ;;\n\
         w-2*) : ;;\n\
         w-3*) echo made > w-3.txt; (id=w-9; report w-3.txt) ;;\n\
         w-4*) echo made > w-4.txt; report w-4.txt; mv \"$COUNTERSIGN_REPORT\" kept.md; ln -s \"$PWD/kept.md\" \"$COUNTERSIGN_REPORT\" ;;\n\
         w-5*) echo made > w-5.txt; fail 'the other one' ; cp \"$COUNTERSIGN_REPORT\" \"$(dirname \"$COUNTERSIGN_REPORT\")/w-5.iter-9.md\" 2>/dev/null; report w-5.txt ;;\n\
         esac\n",
    );
    let old = crate::support::report("w-2.txt").replace(crate::support::TASK, "w-2");
    write(&crew.repo.path(), ".worktrees/.gitignore", "*\n");
    write(&crew.repo.path(), ".worktrees/.results/w-2.iter-1.md", &old);
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "held:lost-result", "{report:#?}");
    assert_eq!(crew.attempts("w-1").len(), 1, "the first report was not judged a second time");
    for id in ["w-2", "w-3", "w-4"] {
        assert_eq!(end_of(&report, id), "held:lost-result", "{report:#?}");
        assert_eq!(crew.attempts(id).len(), 0, "{id}: nothing was judged");
        crew.assert_nothing_landed(id);
    }
    assert!(why_of(&report, "w-3").contains("task-id-mismatch"), "{report:#?}");
    assert!(why_of(&report, "w-4").contains("links are refused"), "{report:#?}");
    let lost = std::fs::read_to_string(crew.repo.path().join(".worktrees/.results/w-2.iter-1.md"));
    assert!(lost.is_err(), "the older report is gone before anybody could read it as a new one");
    assert_eq!(end_of(&report, "w-5"), "landed", "{report:#?}");
}

/// C060: what was given back, failed, or reported without sense is neither judged nor merged, and stays visible.
#[test]
fn res_bounce_fail_to_the_end() {
    let crew = Crew::of(6);
    crew.worker(
        "echo half > half.txt; echo 1 > a.txt\n\
         case $id in\n\
         w-1) bounce 'which greeting?' ;;\n\
         w-2) printf 'RESULT: FAILED\\nTASK_ID: w-2\\nERROR: one\\ntwo\\nthree\\nfour\\nfive\\n' > \"$COUNTERSIGN_REPORT\" ;;\n\
         w-3) printf 'RESULT: BOUNCED\\nTASK_ID: w-3\\nRESULT_END\\n' > \"$COUNTERSIGN_REPORT\" ;;\n\
         w-4) echo made > w-4.txt; report 'half.txt, a.txt, w-4.txt'; sed -i 's/^TESTS_PASSING: yes/TESTS_PASSING: no/' \"$COUNTERSIGN_REPORT\" ;;\n\
         w-5) echo made > w-5.txt; report 'half.txt, a.txt, w-5.txt'; sed -i 's/^RESULT: SUCCESS/RESULT: DONE/' \"$COUNTERSIGN_REPORT\" ;;\n\
         w-6) echo made > w-6.txt; report 'half.txt, a.txt, w-6.txt'; sed -i 's/^RESULT: SUCCESS/RESULT: success/' \"$COUNTERSIGN_REPORT\" ;;\n\
         esac\n",
    );
    crew.judged_by(&FakeVerifier::answering("never asked\n"));
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "bounced", "{report:#?}");
    let page = crew.landed(".agentheim/board/w/backlog/w-1-make.md").unwrap();
    assert!(page.contains("status: backlog") && page.contains("## Worker note\n\n> which greeting?"), "{page}");
    assert!(!crew.worktree("w-1").exists());
    let tree = crew.assert_patch("w-1-bounced.patch");
    assert_eq!(crew.repo.git(&["show", &format!("{tree}:half.txt")]), "half");
    assert_eq!(crew.repo.git(&["show", &format!("{tree}:a.txt")]), "1");

    assert_eq!(end_of(&report, "w-2"), "held:worker-failed", "{report:#?}");
    assert!(why_of(&report, "w-2").replace('\n', " ").contains("one two three four five"), "{report:#?}");
    assert!(crew.worktree("w-2").join("half.txt").is_file());
    crew.assert_patch("w-2-failed.patch");
    let logs = std::fs::read_dir(crew.repo.common_dir().join("countersign/work/w-2/logs")).unwrap().count();
    assert_eq!(logs, 1, "it was not tried again in silence");

    // Success with red tests contradicts itself: the floor says so, and nobody is asked.
    assert_eq!(end_of(&report, "w-4"), "held:escalated", "{report:#?}");
    assert!(why_of(&report, "w-4").contains("TESTS_PASSING"), "{report:#?}");
    assert_eq!(crew.attempts("w-4").len(), 3);
    for case in crew.attempts("w-4") {
        assert!(!crew.sealed(&case, "receipts.jsonl").contains("\"fact\":\"consulted\""));
    }
    crew.assert_patch("w-4-escalated-iter3.patch");

    for (id, word) in [("w-3", "REASON"), ("w-5", "unknown-result"), ("w-6", "unknown-result")] {
        assert_eq!(end_of(&report, id), "held:lost-result", "{report:#?}");
        assert!(why_of(&report, id).contains(word), "{id}: {}", why_of(&report, id));
        assert!(crew.worktree(id).join("half.txt").is_file());
        crew.assert_patch(&format!("{id}-lost-result.patch"));
    }
    for number in 1..=6 {
        let id = format!("w-{number}");
        assert!(id == "w-4" || crew.attempts(&id).is_empty(), "{id}: nothing was judged");
        crew.assert_nothing_landed(&id);
    }
    assert!(crew.landed("half.txt").is_none());
}
