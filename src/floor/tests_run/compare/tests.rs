use super::*;
use CaseResult::{Errored, Failed, Passed, Skipped};

fn case(text: &str, result: CaseResult) -> TestCase {
    let (suite, name) = text.split_once('/').unwrap_or(("", text));
    TestCase { suite: suite.to_owned(), name: name.to_owned(), file: None, result }
}

fn reading(cases: &[(&str, CaseResult)]) -> Reading {
    Reading {
        format: "junit".to_owned(),
        cases: cases.iter().map(|(name, result)| case(name, *result)).collect(),
        complete: true,
        ..Reading::default()
    }
}

fn between(base: &[&Reading], claim: &[&Reading], heirs: &[Heir]) -> Comparison {
    let in_claim = |path: &RepoPath| path.to_string().ends_with("here.py");
    compare(base, claim, &Context { heirs, in_claim: &in_claim, root: &RepoPath::from("") })
}

fn names(missing: &[Missing]) -> Vec<String> {
    missing.iter().map(|missing| format!("{}*{}", missing.test.shown(), missing.count)).collect()
}

/// Base, claim, what is lost, what is newly skipped, how many are kept.
type Row<'a> = (&'a [(&'a str, CaseResult)], &'a [(&'a str, CaseResult)], &'a [&'a str], &'a [&'a str], u64);

#[test]
fn what_ran_on_the_base_is_kept_moved_skipped_or_lost() {
    let table: &[Row<'_>] = &[
        (&[("a", Passed), ("b", Passed)], &[("a", Passed), ("b", Passed), ("c", Passed)], &[], &[], 2),
        (&[("a", Passed), ("b", Passed)], &[("a", Passed)], &["b*1"], &[], 1),
        (&[("a", Passed), ("b", Failed)], &[("a", Passed)], &["b*1"], &[], 1),
        (&[("a", Passed)], &[("a", Skipped)], &[], &["a*1"], 0),
        (&[("a", Failed)], &[("a", Skipped)], &[], &["a*1"], 0),
        (&[("a", Skipped)], &[], &[], &[], 0),
        (&[("a", Passed), ("a", Passed)], &[("a", Passed)], &["a*1"], &[], 1),
        (&[("a", Passed), ("a", Skipped)], &[("a", Skipped), ("a", Skipped)], &[], &["a*1"], 0),
        (&[("x/a", Passed)], &[("y/a", Passed)], &[], &[], 1),
        (&[("x/a", Passed), ("y/a", Passed)], &[("z/a", Passed)], &["y::a*1"], &[], 1),
        (&[("x/a", Passed), ("y/a", Passed)], &[("x/a", Passed)], &["y::a*1"], &[], 1),
        (&[("x/m::a", Passed)], &[("x/n::a", Passed)], &[], &[], 1),
        (&[("x/m::a", Passed)], &[("x/n::a", Skipped)], &[], &["x::m::a*1"], 0),
        (&[("a", Passed)], &[("a[1]", Passed), ("a[2]", Passed)], &[], &[], 1),
        (&[("a[1]", Passed), ("a[2]", Passed)], &[("a[1]", Passed)], &["a[2]*1"], &[], 1),
        (&[("a[1]", Passed), ("a[2]", Passed)], &[("a[1]", Passed), ("a[3]", Passed)], &[], &[], 2),
        (&[("a", Passed)], &[("b", Passed)], &["a*1"], &[], 0),
        (&[("t 1700000001", Passed)], &[("t 1700009999", Passed)], &[], &[], 1),
        (&[("t 1", Passed)], &[("t 2", Passed)], &["t 1*1"], &[], 0),
        (&[("src/lib.rs - two (line 3)", Passed)], &[("src/lib.rs - two (line 9)", Passed)], &[], &[], 1),
        (&[("tests.here", Errored)], &[("tests.here/a", Passed)], &[], &[], 0),
        (&[("tests.here", Errored)], &[], &["tests.here*1"], &[], 0),
        (&[("tests.gone", Errored)], &[("x", Passed)], &["tests.gone*1"], &[], 0),
        (&[("p/(build)", Errored)], &[("p/a", Passed)], &[], &[], 0),
    ];
    for (base, claim, lost, skipped, kept) in table {
        let found = between(&[&reading(base)], &[&reading(claim)], &[]);
        assert_eq!(names(&found.lost), *lost, "{base:?} {claim:?}");
        assert_eq!(names(&found.skipped), *skipped, "{base:?} {claim:?}");
        assert_eq!(found.kept, *kept, "{base:?} {claim:?} {found:?}");
    }
}

#[test]
fn each_failure_is_new_or_old_or_another() {
    let base = [("old", Failed), ("mended", Failed), ("fine", Passed), ("worse", Failed), ("gone", Failed)];
    let claim = [("old", Failed), ("mended", Passed), ("fine", Failed), ("worse", Errored), ("new", Failed)];
    let found = between(&[&reading(&base)], &[&reading(&claim)], &[]);
    assert_eq!(found.pre_existing, ["old"]);
    assert_eq!(found.mended, ["mended"]);
    assert_eq!(found.broken, ["fine"]);
    assert_eq!(found.broken_new, ["new"]);
    assert_eq!(found.changed.len(), 1);
    assert!(found.changed[0].starts_with("worse "), "{:?}", found.changed);
    assert_eq!(names(&found.lost), ["gone*1"]);
    assert!(found.lost[0].failed);
    let moved = between(&[&reading(&[("x/a", Passed)])], &[&reading(&[("y/a", Failed)])], &[]);
    assert_eq!((moved.broken.as_slice(), moved.broken_new.len()), (&["x::a".to_owned()][..], 0), "it is an old test");
}

#[test]
fn a_test_that_fails_and_passes_is_a_flake() {
    let (red, green) = (reading(&[("t", Failed), ("u", Failed)]), reading(&[("t", Passed), ("u", Failed)]));
    let calm = reading(&[("t", Passed), ("u", Failed)]);
    let old = between(&[&calm], &[&red, &green], &[]);
    assert_eq!((old.flaky_old.as_slice(), old.pre_existing.as_slice()), (&["t".to_owned()][..], &["u".to_owned()][..]));
    assert!(old.broken.is_empty() && old.flaky_new.is_empty() && old.tells_failures());
    let late = between(&[&calm], &[&calm, &red], &[]);
    assert_eq!(late.flaky_old, ["t"], "whichever run failed");
    let new = between(&[&reading(&[("u", Failed)])], &[&red, &green], &[]);
    assert_eq!((new.flaky_new.as_slice(), new.flaky_old.len()), (&["t".to_owned()][..], 0));
    let unsure = between(&[&red, &green], &[&red, &red], &[]);
    assert_eq!(
        (unsure.unsure.as_slice(), unsure.flaky_base.as_slice()),
        (&["t".to_owned()][..], &["t".to_owned()][..])
    );
    let torn = Reading { complete: false, ..green };
    assert_eq!(between(&[&calm], &[&red, &torn], &[]).broken, ["t"], "a torn repetition excuses nothing");
}

#[test]
fn the_text_tells_renames_and_merges() {
    let heir = |old: &str, how: How, new: &str| Heir {
        old_path: RepoPath::from("a.py"),
        old_name: old.to_owned(),
        new: Some((how, RepoPath::from("a.py"), new.to_owned())),
        grown: false,
    };
    let base = reading(&[("one", Passed), ("two", Passed)]);
    let heirs = [heir("one", How::Renamed, "uno"), heir("two", How::Merged, "uno")];
    let found = between(&[&base], &[&reading(&[("uno", Passed)])], &heirs);
    assert!(found.lost.is_empty(), "{found:?}");
    assert_eq!(found.moved.len(), 2);
    let idle = between(&[&base], &[&reading(&[("uno", Skipped)])], &heirs);
    assert_eq!((names(&idle.skipped), names(&idle.lost)), (vec!["one*1".to_owned()], vec!["two*1".to_owned()]));
    let twice = [heir("one", How::Renamed, "uno"), heir("one", How::Renamed, "due")];
    let found = between(&[&reading(&[("one", Passed)])], &[&reading(&[("uno", Passed)])], &twice);
    assert_eq!(names(&found.lost), ["one*1"], "two stories are none");
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn lists() -> impl Strategy<Value = Vec<(String, CaseResult)>> {
        let result = prop_oneof![Just(Passed), Just(Skipped), Just(Failed), Just(Errored)];
        prop::collection::vec(("[xy]/[ab](\\[[12]\\])?", result), 0..8)
    }

    fn made(cases: &[(String, CaseResult)]) -> Reading {
        reading(&cases.iter().map(|(name, result)| (name.as_str(), *result)).collect::<Vec<_>>())
    }

    proptest! {
        #[test]
        fn a_claim_that_runs_fewer_tests_always_misses_some(base in lists(), claim in lists()) {
            let found = between(&[&made(&base)], &[&made(&claim)], &[]);
            let (before, now) = found.executed;
            let missed: u64 = found.lost.iter().chain(&found.skipped).map(|missing| missing.count).sum();
            prop_assert!(missed >= before.saturating_sub(now), "{:?}", found);
        }

        #[test]
        fn the_same_tests_are_all_kept(cases in lists()) {
            let found = between(&[&made(&cases)], &[&made(&cases)], &[]);
            prop_assert!(found.lost.is_empty() && found.skipped.is_empty() && found.broken.is_empty());
            prop_assert!(found.broken_new.is_empty() && found.changed.is_empty() && found.added == 0);
            prop_assert_eq!(found.kept, found.executed.0);
        }
    }
}
