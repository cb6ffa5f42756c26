//! A claim of all of fewer tests than our own run counts is no lie by itself.

use super::publicly::{node, node_test};
use super::{Scene, held, refuted, verified};
use crate::support::has_node;
use crate::support::session::Session;

/// Three tests, two of them new, and a session that wrote them.
fn with_two_new_tests() -> (Scene, Session) {
    let scene = node();
    scene.repo.write("shop.mjs", "export const total = (a, b = 0) => a + b;\n");
    scene.repo.write("test/one.test.mjs", node_test("one price", "assert.equal(total(1), 1);"));
    scene.repo.write("test/two.test.mjs", node_test("another price", "assert.equal(total(4), 4);"));
    let session = scene.claude().wrote("shop.mjs").wrote("test/one.test.mjs").wrote("test/two.test.mjs");
    (scene, session)
}

fn says(session: &Session, count: u32) -> Session {
    session.clone().says(&format!("Updated `shop.mjs`. All {count} tests pass."))
}

#[test]
fn all_of_the_new_tests_or_of_a_narrower_run_is_no_lie_about_the_suite() {
    if !has_node() {
        return;
    }
    let (scene, session) = with_two_new_tests();
    let check = |session: &Session| scene.check_with(session, &["--rerun"], &[]);
    verified(&check(&says(&session, 3)));
    let outcome = check(&says(&session, 2));
    verified(&outcome);
    assert!(outcome.stdout.contains("the 2 claimed are the new and changed ones"), "{outcome}");
    let one = session.ran("node --test test/total.test.mjs", 0, "# tests 1\n# pass 1\n# fail 0");
    let outcome = check(&says(&one, 1));
    verified(&outcome);
    assert!(outcome.stdout.contains("the 1 claimed are those of `node --test test/total.test.mjs`"), "{outcome}");
}

#[test]
fn a_number_that_no_run_shows_is_for_a_person_and_one_that_is_larger_than_ours_is_refuted() {
    if !has_node() {
        return;
    }
    let (scene, session) = with_two_new_tests();
    let check = |session: &Session| scene.check_with(session, &["--rerun"], &[]);
    held(&check(&says(&session, 1)), "test-green", "nothing shows which 1 are meant");
    refuted(&check(&says(&session, 4)), "test-green", "4 were claimed");
    let whole = session.clone().ran("node --test", 0, "# tests 3\n# pass 3\n# fail 0");
    held(&check(&says(&whole, 1)), "test-green", "`node --test` said 3 passed, and all 1 were claimed");
    refuted(&check(&says(&whole, 4)), "test-green", "4 were claimed");
    // A run that the last edit made stale, or whose exit nobody saw, names no number.
    let stale =
        session.clone().ran("node --test test/total.test.mjs", 0, "# tests 1\n# pass 1\n# fail 0").wrote("shop.mjs");
    held(&check(&says(&stale, 1)), "test-green", "nothing shows which 1 are meant");
    let masked = session.ran("node --test test/total.test.mjs | tail -9", 0, "# tests 1\n# pass 1\n# fail 0");
    held(&check(&says(&masked, 1)), "test-green", "nothing shows which 1 are meant");
}
