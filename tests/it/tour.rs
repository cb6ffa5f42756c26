//! The tour: what it shows is what happens.

use crate::support::TestRepo;

#[test]
fn the_tour_ends_as_its_stories_say_and_keeps_nothing() {
    let repo = TestRepo::new();
    let outcome = repo.run(&["tour"]).exits(0);
    assert!(!outcome.stdout.contains("SURPRISE"), "{outcome}");
    for words in [
        "1. An honest claim",
        "site-002: attempt 1 (do), judged, sent back with the reasons, attempt 2 (mend), judged, landing",
        "held (escalated): 3 attempts were false",
        "saved: .agentheim/salvage/site-003-escalated-iter3.patch",
        "met another landing",
        "(resolve)",
    ] {
        assert!(outcome.stdout.contains(words), "{words}\n{outcome}");
    }
    let left = std::fs::read_dir(repo.root().join("tmp")).unwrap().flatten();
    let left: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("countersign-tour-")).collect();
    assert!(left.is_empty(), "{left:?}");
    repo.no_process_left();
}
