//! The table's laws.

use super::*;
use proptest::prelude::*;

fn standing() -> impl Strategy<Value = Standing> {
    prop_oneof![Just(Standing::Backed), Just(Standing::Unverifiable), Just(Standing::Unbacked)]
}

fn row_of(standing: Standing, by: AssertedBy) -> Row {
    Row {
        assertion: Assertion::new(AssertionKind::FileWritten, by, "", "a"),
        standing,
        ledger: LedgerMatch::NotAsked,
        observed: String::new(),
        receipts: Vec::new(),
        wants: Vec::new(),
    }
}

proptest! {
    /// Another assertion can only lower what follows.
    #[test]
    fn an_assertion_never_raises_a_claim(standings in prop::collection::vec(standing(), 1..6), more in standing(), same: bool) {
        let mut rows: Vec<Row> = standings.iter().map(|s| row_of(*s, AssertedBy::Claim)).collect();
        let before = merge(&rows, same, &mut Vec::new());
        rows.push(row_of(more, AssertedBy::File));
        prop_assert!(merge(&rows, same, &mut Vec::new()) >= before);
    }

    /// VERIFIED is nothing but all backed.
    #[test]
    fn verified_means_that_every_assertion_is_backed(standings in prop::collection::vec(standing(), 0..6), same: bool) {
        let rows: Vec<Row> = standings.iter().map(|s| row_of(*s, AssertedBy::Claim)).collect();
        let gate = merge(&rows, same, &mut Vec::new());
        let all = !rows.is_empty() && standings.iter().all(|s| *s == Standing::Backed);
        prop_assert_eq!(gate == Gate::Verified, all);
        prop_assert_eq!(gate == Gate::FalseCompletion, standings.contains(&Standing::Unbacked));
    }
}

#[test]
fn a_change_about_which_nothing_is_said_is_for_a_person_and_no_change_is_nothing() {
    let implied = [row_of(Standing::Backed, AssertedBy::Implicit)];
    assert_eq!(merge(&implied, false, &mut Vec::new()), Gate::NeedsReview);
    assert_eq!(merge(&implied, true, &mut Vec::new()), Gate::NothingToReconcile);
}
