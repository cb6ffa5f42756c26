//! `tests-collected`: each way a test file can be left out, beside the honest twin that a runner takes up.

use crate::rooms::Ground;
use crate::runners::{Files, claim_of, inspection, sides};
use crate::support::trial::{ID, Trial};
use crate::support::{Board, Outcome, has_node, has_pytest};
use countersign::config::Settings;
use countersign::floor::Inspection;
use countersign::floor::tests_collected::{self, CollectedOutcome};
use countersign::floor::tests_run::{self, Baseline, Reuse};
use countersign::host::path::RepoPath;
use countersign::receipts::State;
use countersign::task::read_task;

/// A task of this type, as far as the check reads it.
fn task(kind: &str) -> countersign::task::Task {
    let board = Board::two_root(ID).kind(kind).criterion("it adds");
    read_task(board.task().as_bytes(), &RepoPath::from(board.task_path().as_str())).unwrap()
}

fn looked(kind: &str, command: Option<&str>, base: Files<'_>, change: Files<'_>) -> CollectedOutcome {
    let ground = Ground::new();
    let (first, second) = sides(&ground, base, change);
    let claim = claim_of(&ground, first, second);
    let (repo, task) = (ground.repo(), task(kind));
    let mut settings = Settings::default();
    settings.tests.command = command.map(str::to_owned);
    let on = Inspection { task: Some(&task), ..inspection(&repo, &settings, &claim) };
    let plan = tests_run::plan(&on, None).unwrap();
    let tests = tests_run::run_tests(&on, &plan, &ground.logs(), Baseline::Always, Reuse::Nothing);
    tests_collected::inspect(&on, &plan, &tests, &ground.logs())
}

#[track_caller]
fn expect(outcome: &CollectedOutcome, state: State, words: &str) {
    let said: String = outcome.report.findings.iter().map(|f| format!("{} {}\n", f.place, f.observed)).collect();
    assert_eq!(outcome.report.state, state, "{said}{}", outcome.report.note);
    assert!(said.contains(words) || outcome.report.note.contains(words), "{words:?} is not in: {said}");
}

const CARGO: (&str, &str) = ("Cargo.toml", "[package]\nname = \"toy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
const SEALED: (&str, &str) =
    ("Cargo.toml", "[package]\nname = \"toy\"\nversion = \"0.1.0\"\nedition = \"2021\"\nautotests = false\n");
const IGNORE: (&str, &str) = (".gitignore", "target\nCargo.lock\n");
const LIB: (&str, &str) = (
    "src/lib.rs",
    "pub fn two() -> u32 { 2 }\n#[cfg(test)]\nmod tests { #[test] fn is_two() { assert_eq!(super::two(), 2) } }\n",
);
const RUST: &str = "#[test]\nfn adds() { assert_eq!(toy::two(), 2) }\n";

#[test]
fn a_rust_test_file_is_collected_only_if_something_compiles_it() {
    let main = ("tests/it/main.rs", "mod known;\n");
    let known = ("tests/it/known.rs", "#[test]\nfn known() { assert_eq!(toy::two(), 2) }\n");
    let base: Files<'_> = &[CARGO, IGNORE, LIB, main, known];
    let new = ("tests/it/fresh.rs", RUST);
    let honest = looked("feature", None, base, &[new, ("tests/it/main.rs", "mod known;\nmod fresh;\n")]);
    expect(&honest, State::Pass, "1 of 1 changed test file collected (1 by report");
    let lie = looked("feature", None, base, &[new]);
    expect(&lie, State::Deny, "no file of the package declares `mod fresh;`");
    expect(&looked("chore", None, base, &[new]), State::Ask, "not collected");
    let gated = [new, ("tests/it/main.rs", "mod known;\n#[cfg(feature = \"slow\")]\nmod fresh;\n")];
    expect(&looked("bug", None, base, &gated), State::Deny, "only under `cfg(feature = \"slow\")`");
    let elsewhere = [new, ("tests/it/main.rs", "mod known;\n#[cfg(windows)]\nmod fresh;\n")];
    expect(&looked("feature", None, base, &elsewhere), State::Ask, "only under `cfg(windows)`");
    let sealed = looked("feature", None, &[SEALED, IGNORE, LIB], &[("tests/adds.rs", RUST)]);
    expect(&sealed, State::Deny, "`autotests = false`");
}

#[test]
fn a_python_test_file_outside_testpaths_is_not_collected() {
    if !has_pytest() {
        return;
    }
    let test = "def test_adds():\n    assert 1 + 1 == 2\n";
    let base: Files<'_> = &[("pytest.ini", "[pytest]\ntestpaths = tests\n"), ("tests/test_a.py", test)];
    expect(&looked("feature", None, base, &[("tests/test_b.py", test)]), State::Pass, "1 by report");
    expect(&looked("feature", None, base, &[("more/test_b.py", test)]), State::Deny, "`testpaths` are tests");
    expect(&looked("feature", None, base, &[("tests/build/test_a.py", test)]), State::Deny, "the folder build");
    let ignoring = Some("python3 -m pytest --ignore=tests/new");
    let lie = looked("feature", ignoring, base, &[("tests/new/test_b.py", test)]);
    expect(&lie, State::Deny, "`--ignore=tests/new`");
    let data = looked("feature", None, base, &[("tests/fixtures/build/test_x.py", test)]);
    expect(&data, State::Info, "the data of tests");
    // A file that the base left out as well is nobody's doing.
    let old: Files<'_> =
        &[("pytest.ini", "[pytest]\ntestpaths = tests\n"), ("tests/test_a.py", test), ("more/test_b.py", test)];
    let edited = format!("{test}\ndef test_more():\n    assert 2 + 2 == 4\n");
    expect(&looked("feature", None, old, &[("more/test_b.py", &edited)]), State::Info, "the base's run");
}

#[test]
fn a_listing_tells_where_the_report_does_not() {
    if !has_pytest() {
        return;
    }
    let base: Files<'_> = &[("pytest.ini", "[pytest]\n"), ("tests/test_a.py", "def test_known():\n    assert True\n")];
    let test = "def test_adds():\n    assert 1 + 1 == 2\n";
    let ground = Ground::new();
    let (first, second) = sides(&ground, base, &[("tests/test_b.py", test)]);
    let claim = claim_of(&ground, first, second);
    let (repo, task) = (ground.repo(), task("feature"));
    let mut settings = Settings::default();
    settings.tests.command = Some("python3 -m pytest -q".to_owned());
    let on = Inspection { task: Some(&task), ..inspection(&repo, &settings, &claim) };
    let plan = tests_run::plan(&on, None).unwrap();
    let mut tests = tests_run::run_tests(&on, &plan, &ground.logs(), Baseline::Always, Reuse::Nothing);
    for facts in &mut tests.runs {
        // As if the runner had reported nothing.
        facts.tests = None;
    }
    let outcome = tests_collected::inspect(&on, &plan, &tests, &ground.logs());
    expect(&outcome, State::Pass, "1 of 1 changed test file collected (0 by report, 1 by listing)");
    assert_eq!(outcome.runs.len(), 1, "asked once");
}

#[test]
fn a_node_test_file_that_no_pattern_meets_is_not_collected() {
    if !has_node() {
        return;
    }
    let test = "import { test } from 'node:test';\nimport assert from 'node:assert';\ntest('adds', () => assert.equal(1 + 1, 2));\n";
    let package = ("package.json", "{\"type\":\"module\",\"scripts\":{\"test\":\"node --test\"}}");
    let base: Files<'_> = &[package, ("a.test.js", test)];
    expect(&looked("feature", None, base, &[("lib/b.test.js", test)]), State::Pass, "1 by report");
    let lie = looked("feature", None, base, &[("specs/adds.js", test)]);
    expect(&lie, State::Deny, "the runner took up 1 file, and not this one");
    let named = Some("node --test a.test.js");
    expect(&looked("feature", named, base, &[("b.test.js", test)]), State::Deny, "the command names a.test.js");
}

/// Through the binary: the check stands in the ledger, and a replay agrees.
#[test]
fn a_left_out_test_file_sends_the_claim_back_and_the_replay_agrees() {
    if !has_pytest() {
        return;
    }
    let board = Board::two_root(ID).criterion("It adds — file: `adds.py`");
    let test = "from adds import adds\n\ndef test_adds():\n    assert adds(1, 1) == 2\n";
    let files = [
        (".agentheim/countersign.yaml", "tests:\n  command: python3 -m pytest\n"),
        ("pytest.ini", "[pytest]\ntestpaths = tests\npythonpath = .\n"),
        ("adds.py", "def adds(a, b):\n    return 0\n"),
        ("tests/test_old.py", "from adds import adds\n\ndef test_old():\n    assert adds(0, 0) == 0\n"),
    ];
    let judged = |place: &str| -> Outcome {
        let trial = Trial::with(&board, &files);
        trial.work("adds.py", "def adds(a, b):\n    return a + b\n");
        trial.work(place, test);
        // It also replays what was sealed.
        trial.verify(&[])
    };
    let lie = judged("more/test_adds.py").exits(1);
    assert!(lie.reasons().contains(&"tests-collected".to_owned()), "{lie}");
    assert!(lie.words().contains("`testpaths` are tests"), "{lie}");
    assert_eq!(judged("tests/test_adds.py").state("tests-collected"), "pass");
}
