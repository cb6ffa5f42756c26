//! What a claim asserts, as a table.

use super::claimed::claimed;
use super::given::read_given;
use super::*;

/// `kind subject {expected}` of each assertion of a claim.
fn told(claim: &str) -> Vec<String> {
    let told = |a: Assertion| {
        let mut line = a.kind.word().to_owned();
        if !a.subject.is_empty() {
            line.push_str(&format!(" {}", a.subject));
        }
        if let Some(count) = a.expected.count {
            line.push_str(&format!(" ={count}"));
        }
        if a.expected.whole {
            line.push_str(" whole");
        }
        if a.expected.change == Some(SaidChange::Deleted) {
            line.push_str(" gone");
        }
        for name in a.expected.failures.iter().chain(&a.expected.only) {
            line.push_str(&format!(" only {name}"));
        }
        if let Some(path) = &a.expected.artifact {
            line.push_str(&format!(" at {path}"));
        }
        line
    };
    claimed(claim).into_iter().map(told).collect()
}

#[test]
fn a_plain_claim_asserts_what_it_says() {
    for (claim, expected) in [
        ("86/86 tests pass.", &["test-green =86 whole"][..]),
        ("4966/4966 all passed", &["test-green =4966 whole"]),
        ("All 1,637 tests passing!", &["test-green =1637 whole"]),
        ("42 tests passed", &["test-green =42"]),
        ("Ran the tests, all green", &["test-green"]),
        ("The full test suite passes with no failures.", &["test-green whole"]),
        ("Tests are green.", &["test-green"]),
        ("TESTS_PASSING: yes", &["test-green"]),
        ("Done:\n```\ntest result: ok. 7 passed; 0 failed\n```", &["test-green =7"]),
        ("The only failing test is `slow::times_out` (flaky).", &["test-green only slow::times_out"]),
        ("The build succeeds.", &["build-ok build"]),
        ("Build and tests pass.", &["test-green", "build-ok build"]),
        ("Clippy is clean", &["build-ok lint"]),
        ("I created `src/a.rs` and updated `lib/b.py`.", &["file-written src/a.rs", "file-written lib/b.py"]),
        ("Fixed the bug in src/parser.rs.", &["file-written src/parser.rs"]),
        (
            "Done! I added a `rateLimiter` middleware to `src/server.ts`, fixed it, and added tests.",
            &["file-written src/server.ts"],
        ),
        ("`notes/x.md` was updated", &["file-written notes/x.md"]),
        ("Removed the old file `src/dead.rs`.", &["file-written src/dead.rs gone"]),
        ("Files changed:\n- src/a.rs\n- `b.toml`: the version", &["file-written src/a.rs", "file-written b.toml"]),
        (
            "Created directories `app/models/` and `app/views/`",
            &["file-written app/models/", "file-written app/views/"],
        ),
        ("I ran `cargo fmt --all`.", &["command-ran cargo fmt --all"]),
        ("Committed as abc1234.", &["commit-exists abc1234"]),
        ("Committed all changes.", &["commit-exists whole"]),
        ("Tests green, branch pushed.", &["test-green", "branch-pushed"]),
        ("Pushed to `feature/x`.", &["branch-pushed feature/x"]),
        ("Opened PR #12.", &["pr-opened 12"]),
        ("Deployed: the service is live at http://127.0.0.1:8080/health.", &["deployed http://127.0.0.1:8080/health"]),
        ("108 of 108 issues fixed in `TODO.md`", &["item-count TODO.md =108 whole"]),
        ("All 12 findings are resolved.", &["item-count =12 whole"]),
        ("Installed `left-pad`.", &["installed left-pad"]),
        ("Verified the fix in the live app.", &["observed"]),
        ("Confirmed with the debug build `target/debug/app`.", &["observed at target/debug/app"]),
        ("The reviewer approved it (`review/iter-5.md`).", &["observed review at review/iter-5.md"]),
        ("I did not touch `Cargo.lock`.", &["not-changed Cargo.lock"]),
        ("Only changed `src/a.rs`.", &["not-changed only src/a.rs"]),
    ] {
        assert_eq!(told(claim), expected, "{claim}");
    }
}

#[test]
fn a_claim_that_is_not_plain_asserts_nothing() {
    for claim in [
        "Do all tests pass?",
        "I could not run the tests; they should pass.",
        "Once merged, all 42 tests will pass.",
        "40/42 tests pass.",
        "2 tests failed, 40 passed.",
        "Next step: push the branch.",
        "> All tests pass",
        "See `src/a.rs` for the pattern.",
        "Added a test for `src/a.rs`.",
        "Added a link to `docs/x.md`.",
        "The code reads `config.toml` at start.",
        "You can run `cargo test` to check.",
        "I used the approach of commit messages elsewhere.",
        "```\nfn main() { println!(\"all tests pass\") }\n```",
        "The PR template asks for tests.",
        "Two of the three options were considered.",
        "",
    ] {
        assert_eq!(told(claim), [""; 0], "{claim}");
    }
}

#[test]
fn a_question_for_a_reason_wants_an_answer_and_an_order_does_not() {
    for (asked, wants) in [
        ("Why does the import fail on Windows?", true),
        ("The job is slow. What is causing it?", true),
        ("Please explain why the cache is never hit", true),
        ("Fix the import", false),
        ("Add a file that says why", false),
    ] {
        assert_eq!(asked::of_goal(asked).is_some(), wants, "{asked}");
    }
}

#[test]
fn assertions_of_several_sources_are_numbered_once_and_none_is_removed() {
    let given =
        read_given(br#"[{"kind":"file-written","subject":"a"},{"kind":"installed","subject":"x"}]"#, "f").unwrap();
    let (all, left_out) = gathered(given.iter().cloned().chain(given.clone()).chain(implicit(true)));
    let ids: Vec<_> = all.iter().map(|a| format!("{} {}", a.id, a.kind.word())).collect();
    assert_eq!(ids, ["a1 file-written", "a2 installed", "a3 work-done", "a4 contract-kept"]);
    assert_eq!(left_out, 0);
    let many = (0..MOST + 5).map(|n| Assertion::new(AssertionKind::Installed, AssertedBy::Claim, "", &n.to_string()));
    assert_eq!(gathered(many).1, 5);
    assert!(read_given(b"[]", "f").is_err());
    assert!(read_given(br#"[{"kind":"file-written","remove":true}]"#, "f").is_err());
}

proptest::proptest! {
    #[test]
    fn any_words_are_taken_apart(claim in "[ -~\u{e9}`\n]{0,300}") {
        for assertion in claimed(&claim) {
            assert!(assertion.by == AssertedBy::Claim && assertion.subject.len() <= 4 * LONGEST_SUBJECT);
        }
    }
}
