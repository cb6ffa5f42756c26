use super::*;
use crate::host::ids::{CommitId, TreeId};
use crate::receipts::{StartRecord, Unbacked};

fn table(gate: Gate, stage: Option<RepairStage>) -> Reconciled {
    let (commit, tree) = (CommitId::new(&"1".repeat(40)).unwrap(), TreeId::new(&"2".repeat(40)).unwrap());
    let open = vec![Unbacked {
        what: "test-green".to_owned(),
        quote: "all tests pass".to_owned(),
        observed: "no test ran".to_owned(),
        wants: vec!["cargo test".to_owned()],
    }];
    Reconciled {
        schema: Reconciled::SCHEMA.to_owned(),
        gate,
        notes: vec!["work was changed and nothing was said".to_owned()],
        start: StartRecord { commit, rule: String::new(), tree: tree.clone(), now: tree, changed: 1 },
        ledger: None,
        rows: Vec::new(),
        repair: stage.map(|stage| Repair {
            stage,
            cycles: 1,
            seen: String::new(),
            open,
            tampered: Vec::new(),
            guarded: std::collections::BTreeMap::new(),
        }),
    }
}

#[test]
fn only_a_false_completion_sends_back_and_only_while_the_repair_lasts() {
    use RepairStage::{Blocked, Closed, Open, Tampered};
    for (gate, stage, blocks, blocked, outcome) in [
        (Gate::Verified, Closed, 0, false, StopOutcome::Verified),
        (Gate::NothingToReconcile, Closed, 0, false, StopOutcome::NothingToReconcile),
        (Gate::NeedsReview, Closed, 0, false, StopOutcome::NeedsReview),
        (Gate::NeedsReview, Open, 3, false, StopOutcome::NeedsReview),
        (Gate::FalseCompletion, Open, 0, true, StopOutcome::SentBack),
        (Gate::FalseCompletion, Tampered, 4, true, StopOutcome::SentBack),
        (Gate::FalseCompletion, Blocked, 2, false, StopOutcome::Unverified),
        (Gate::FalseCompletion, Open, MOST_BLOCKS, false, StopOutcome::Unverified),
        (Gate::FalseCompletion, Tampered, MOST_BLOCKS, false, StopOutcome::Unverified),
    ] {
        let (answer, found) = decide(&table(gate, Some(stage)), blocks);
        assert_eq!(
            (matches!(answer, StopAnswer::Block { .. }), found),
            (blocked, outcome),
            "{gate:?} {stage:?} {blocks}"
        );
        let quiet = matches!(gate, Gate::Verified | Gate::NothingToReconcile);
        assert_eq!(told(&answer).is_none(), quiet, "{answer:?}");
    }
    // Whoever does not count repairs is held by the blocks alone.
    assert_eq!(decide(&table(Gate::FalseCompletion, None), MOST_BLOCKS).1, StopOutcome::Unverified);
}

#[test]
fn an_order_names_the_words_what_was_observed_and_what_would_show_it() {
    let (answer, _) = decide(&table(Gate::FalseCompletion, Some(RepairStage::Open)), 1);
    let order = told(&answer).unwrap();
    for part in
        ["FALSE-COMPLETION", "test-green (\"all tests pass\"): no test ran", "cargo test", "refusal 2 of at most 5"]
    {
        assert!(order.contains(part), "{order}");
    }
}

fn request(turn: Option<&str>, active: bool) -> StopRequest {
    StopRequest {
        start: PathBuf::new(),
        session: "s".to_owned(),
        turn: turn.map(str::to_owned),
        active,
        transcript: None,
        words: None,
    }
}

#[test]
fn counting_begins_anew_only_when_a_person_spoke() {
    let counted = |turn: Option<&str>, outcome| StopState {
        turn: turn.map(str::to_owned),
        blocks: 3,
        outcome,
        ..StopState::default()
    };
    let sent_back = Some(StopOutcome::SentBack);
    for (state, request, anew) in [
        (counted(None, None), request(Some("t1"), false), false),
        (counted(Some("t1"), sent_back), request(Some("t1"), true), false),
        (counted(Some("t1"), sent_back), request(Some("t1"), false), false),
        (counted(Some("t1"), sent_back), request(Some("t2"), true), false),
        (counted(Some("t1"), sent_back), request(Some("t2"), false), true),
        (counted(None, sent_back), request(None, false), false),
        (counted(None, Some(StopOutcome::Unverified)), request(None, false), true),
        (counted(None, Some(StopOutcome::Unverified)), request(None, true), false),
    ] {
        assert_eq!(state.begins_anew(&request), anew, "{state:?} {request:?}");
    }
}

#[test]
fn a_cut_splits_no_character_and_is_told() {
    assert_eq!(bounded("short", 10), "short");
    assert_eq!(bounded("êêê", 3), "ê (and 4 bytes more)");
}

proptest::proptest! {
    /// However long a session goes on: it is sent back at most five times in a turn.
    #[test]
    fn a_turn_is_never_kept_for_ever(stages in proptest::collection::vec(0..4_usize, 0..40)) {
        let all = [RepairStage::Closed, RepairStage::Open, RepairStage::Blocked, RepairStage::Tampered];
        let mut blocks = 0;
        for stage in stages {
            let (answer, _) = decide(&table(Gate::FalseCompletion, Some(all[stage])), blocks);
            blocks += u32::from(matches!(answer, StopAnswer::Block { .. }));
        }
        proptest::prop_assert!(blocks <= MOST_BLOCKS);
    }
}
