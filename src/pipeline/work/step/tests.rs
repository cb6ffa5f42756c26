use super::*;
use crate::host::clock::Timestamp;
use crate::receipts::Reason;

fn id(digit: char) -> CommitId {
    CommitId::new(&digit.to_string().repeat(40)).unwrap()
}

fn doing(latest: Latest) -> Standing {
    Standing {
        folder: Some(Folder::Doing),
        worktree: true,
        fails: 0,
        sealed: 0,
        decision: None,
        report: false,
        noted: false,
        drift: None,
        progress: Progress { latest, iteration: 1, ..Progress::default() },
    }
}

fn back(outcome: ReportedOutcome, ending: &str) -> Standing {
    doing(Latest::Back { outcome, ending: ending.to_owned(), why: "because".to_owned() })
}

fn judged(kind: DecisionKind, code: &str, fails: u32) -> Standing {
    let reasons = vec![Reason { code: code.to_owned(), text: "t".to_owned() }];
    Standing {
        sealed: 1,
        fails,
        decision: Some(DecisionRecord { kind, reasons }),
        ..doing(Latest::Judging { sealed: 0 })
    }
}

fn code(step: &Step) -> &str {
    match step {
        Step::Hold { code, .. } => code,
        other => panic!("no hold: {other:?}"),
    }
}

#[test]
fn a_task_goes_from_its_worktree_to_its_landing() {
    let fresh = Standing { worktree: false, ..doing(Latest::Nothing) };
    assert_eq!(next(&fresh), Step::MakeWorktree);
    assert_eq!(next(&doing(Latest::Nothing)), Step::Send { iteration: 1, errand: Errand::Do });
    assert_eq!(next(&back(ReportedOutcome::Success, "exited")), Step::Judge);
    assert_eq!(next(&doing(Latest::Judging { sealed: 0 })), Step::Judge);
    assert_eq!(next(&judged(DecisionKind::Land, "verified", 0)), Step::Land);
    assert_eq!(next(&judged(DecisionKind::Skip, "verdict-skip", 0)), Step::Land);
    let drifted = Standing { drift: Some("x".to_owned()), ..judged(DecisionKind::Land, "verified", 0) };
    assert_eq!(code(&next(&drifted)), "metric-drift");
    let done = Standing { folder: Some(Folder::Done), ..doing(Latest::Landed(id('a'))) };
    assert_eq!(next(&done), Step::Teardown);
    assert_eq!(next(&Standing { worktree: false, ..done }), Step::Stop);
}

#[test]
fn a_false_claim_is_noted_and_mended_twice_and_then_escalates() {
    let first = judged(DecisionKind::SendBack, "verdict-fail", 1);
    assert_eq!(next(&first), Step::Note { iteration: 1 });
    let noted = Standing { noted: true, ..first };
    assert_eq!(next(&noted), Step::Send { iteration: 2, errand: Errand::Mend });
    let second = Standing { noted: true, ..judged(DecisionKind::SendBack, "verdict-fail", 2) };
    assert_eq!(next(&second), Step::Send { iteration: 3, errand: Errand::Mend });
    assert_eq!(code(&next(&judged(DecisionKind::SendBack, "verdict-fail", 3))), "escalated");
}

#[test]
fn an_under_specified_task_escalates_at_once_and_a_hold_holds() {
    assert_eq!(code(&next(&judged(DecisionKind::SendBack, "task-under-specified", 1))), "task-under-specified");
    assert_eq!(code(&next(&judged(DecisionKind::Hold, "unknown:tests", 0))), "held");
}

#[test]
fn a_lost_report_is_asked_for_once_and_uses_up_no_attempt() {
    for ending in ["exited", "timed-out", "idle", "flooded", "signalled"] {
        let lost = back(ReportedOutcome::None, ending);
        assert_eq!(next(&lost), Step::Send { iteration: 1, errand: Errand::Repeat }, "{ending}");
        let twice = Standing { progress: Progress { repeated: true, ..lost.progress.clone() }, ..lost };
        assert_eq!(code(&next(&twice)), "lost-result");
    }
    for ending in ["not-started", "lost", "cancelled", "failed-credentials"] {
        assert_eq!(code(&next(&back(ReportedOutcome::None, ending))), "worker-not-run");
    }
    assert_eq!(code(&next(&back(ReportedOutcome::Failed, "exited"))), "worker-failed");
    assert_eq!(next(&back(ReportedOutcome::Bounced, "exited")), Step::Bounce { why: "because".to_owned() });
}

#[test]
fn a_worker_whose_end_nobody_saw_is_sent_out_again_unless_its_report_is_there() {
    let away = doing(Latest::Away(Errand::Mend));
    assert_eq!(next(&away), Step::Send { iteration: 1, errand: Errand::Mend });
    assert_eq!(next(&Standing { report: true, ..away }), Step::Collect);
}

#[test]
fn a_conflict_is_resolved_once() {
    let conflict =
        doing(Latest::Conflicted { tip: id('b'), paths: vec!["a.txt".to_owned()], with: Vec::new(), records: false });
    assert_eq!(next(&conflict), Step::Merge);
    assert_eq!(next(&doing(Latest::Merged)), Step::Send { iteration: 1, errand: Errand::Resolve });
    let again = Standing { progress: Progress { resolved: true, ..conflict.progress.clone() }, ..conflict };
    assert_eq!(code(&next(&again)), "merge-conflict");
}

#[test]
fn counters_belong_to_one_life() {
    let at = Timestamp(0);
    let sent = |life: CommitId, iteration, errand| Entry::Sent { base: life.clone(), life, iteration, errand, at };
    let entries = [
        sent(id('a'), 1, Errand::Do),
        sent(id('a'), 1, Errand::Repeat),
        Entry::Held { code: "lost-result".to_owned(), why: String::new(), at },
        sent(id('b'), 1, Errand::Do),
    ];
    let progress = Progress::of(&entries, &id('b'));
    assert_eq!((progress.repeated, progress.latest), (false, Latest::Away(Errand::Do)));
    let before = Progress::of(&entries[..3], &id('a'));
    assert!(before.repeated && matches!(before.latest, Latest::Held { .. }));
    assert_eq!(Progress::of(&entries[..3], &id('b')), Progress::default());
}

#[test]
fn a_held_task_goes_on_where_it_stood() {
    let at = Timestamp(0);
    let sent = Entry::Sent { life: id('a'), base: id('a'), iteration: 2, errand: Errand::Mend, at };
    let held = Entry::Held { code: "held".to_owned(), why: String::new(), at };
    for (from, latest) in [
        (From::Sending, Latest::Nothing),
        (From::Judging { sealed: 4 }, Latest::Judging { sealed: 4 }),
        (From::Landing, Latest::Judging { sealed: 1 }),
    ] {
        let entries = [sent.clone(), Entry::Judging { sealed: 1 }, held.clone(), Entry::Resumed { from }];
        assert_eq!(Progress::of(&entries, &id('a')).latest, latest);
    }
}
