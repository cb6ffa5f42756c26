//! `tests-kept`, the baseline, flakes and stored runs, through the real binary: each lie beside its honest twin.

use crate::support::trial::{ID, Trial};
use crate::support::{Board, Outcome, has_node, has_pytest};
use serde_json::Value;
use std::fs;

/// Proved by the file alone, so that only what the tests say stands between a claim and its landing.
const SAYS_HELLO: &str = "It says hello — file: `greeting.txt` contains \"hello\"";

/// Every script is a test; exit code 2 is a test that breaks before it can fail, 3 one that is skipped.
const RUNNER: &str = r#"failed=0; cases=
for check in checks/*.sh; do
  name=$(basename "$check" .sh); code=0
  sh "$check" || code=$?
  case $code in
    0) inside= ;;
    2) inside="<error/>"; failed=1 ;;
    3) inside="<skipped/>" ;;
    *) inside="<failure/>"; failed=1 ;;
  esac
  cases="$cases<testcase classname=\"checks\" name=\"$name\">$inside</testcase>"
done
printf '<testsuite>%s</testsuite>\n' "$cases" > report.xml
exit $failed
"#;

/// Fails the first time and passes the second, counted outside the tree.
const EVERY_SECOND: &str =
    "n=$(cat \"$TMPDIR/count\" 2>/dev/null || echo 0)\necho $((n + 1)) > \"$TMPDIR/count\"\n[ $((n % 2)) = 1 ]\n";

fn board() -> Board {
    Board::two_root(ID).criterion(SAYS_HELLO)
}

fn trial(board: &Board, checks: &[(&str, &str)]) -> Trial {
    let files: Vec<(String, &str)> = checks.iter().map(|(name, text)| (format!("checks/{name}.sh"), *text)).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    files.push(("run-tests.sh", RUNNER));
    let trial = Trial::with(board, &files);
    trial.work("greeting.txt", "hello\n");
    trial
}

fn remove(trial: &Trial, path: &str) {
    fs::remove_file(trial.worktree.join(path)).unwrap();
}

fn said(outcome: &Outcome, check: &str) -> String {
    let findings = outcome.check(check)["findings"].as_array().cloned().unwrap_or_default();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    findings.iter().map(|f| format!("{} {}: {}\n", text(f, "state"), text(f, "where"), text(f, "observed"))).collect()
}

#[track_caller]
fn tells(outcome: &Outcome, check: &str, words: &[&str]) {
    let said = said(outcome, check);
    for words in words {
        assert!(said.contains(words), "{words:?} is not in\n{said}\n{outcome}");
    }
}

fn judged(trial: &Trial) -> Outcome {
    trial.verify(&["--all-checks", "--fresh"])
}

#[test]
fn without_a_task_the_user_says_which_tests_may_go() {
    let four = [("one", "true\n"), ("two", "true\n"), ("three", "true\n")];
    let trial = trial(&board(), &four);
    remove(&trial, "checks/one.sh");
    let run = |args: &[&str]| {
        let words = [&["verify", "--floor", "--json", "--tests", "sh run-tests.sh"], args].concat();
        trial.repo.run_with(&trial.worktree, &words, &[], b"")
    };
    tells(&run(&[]).exits(1), "tests-kept", &["deny checks::one: "]);
    tells(&run(&["--removes-tests", "checks::two"]).exits(1), "tests-kept", &["deny checks::one: "]);
    let told = run(&["--removes-tests", "checks/two.sh", "--removes-tests", "checks::one"]).exits(0);
    assert_eq!(told.decision(), "floor-only", "{told}");
    tells(&told, "tests-kept", &["info checks::one: "]);
    run(&["--removes-tests", "["]).exits(2).says("--removes-tests");
}

#[test]
fn run_count_drop_names_each_test_that_is_gone() {
    let four = [("one", "true\n"), ("two", "true\n"), ("three", "true\n"), ("four", "true\n")];
    let deleted = trial(&board(), &four);
    remove(&deleted, "checks/one.sh");
    remove(&deleted, "checks/two.sh");
    let outcome = judged(&deleted).exits(1);
    tells(&outcome, "tests-kept", &["deny checks::one: it passed on the base and is not executed", "checks::two"]);
    assert_eq!(outcome.state("tests-run"), "pass", "the suite itself is green\n{outcome}");
    // As many as before, and yet one is gone.
    let swapped = trial(&board(), &four);
    remove(&swapped, "checks/one.sh");
    swapped.work("checks/five.sh", "true\n");
    tells(&judged(&swapped).exits(1), "tests-kept", &["deny checks::one: "]);
    let skipped = trial(&board(), &four);
    skipped.work("checks/one.sh", "exit 3\n");
    tells(&judged(&skipped).exits(1), "tests-kept", &["deny checks::one: it passed on the base and is skipped"]);
    let filtered = trial(&board(), &four);
    filtered.work("run-tests.sh", RUNNER.replace("checks/*.sh", "checks/[os]*.sh"));
    tells(&judged(&filtered).exits(1), "tests-kept", &["deny checks::two: ", "checks::three", "checks::four"]);
    for name in ["five", "six"] {
        let honest = trial(&board(), &four);
        honest.work(&format!("checks/{name}.sh"), "grep -q hello greeting.txt\n");
        let outcome = judged(&honest).decides("land", &["verified"]).exits(0);
        assert_eq!(outcome.state("tests-kept"), "pass", "{outcome}");
    }
}

#[test]
fn run_count_drop_is_explained_by_the_task() {
    let gone = |board: &Board| {
        let trial = trial(board, &[("old", "true\n")]);
        remove(&trial, "checks/old.sh");
        judged(&trial)
    };
    let declared = gone(&board().frontmatter("removes-tests: [\"checks::old\"]"));
    tells(&declared, "tests-kept", &["info checks::old: "]);
    assert_eq!(declared.state("tests-kept"), "info", "{declared}");
    let other = gone(&board().frontmatter("removes-tests: [\"checks::older\"]"));
    tells(&other.exits(1), "tests-kept", &["deny checks::old: "]);
    let worded = gone(&board().criterion("The old check is removed — file: `greeting.txt`"));
    tells(&worded, "tests-kept", &["ask checks::old: ", "the criteria speak of removing"]);
}

#[test]
fn run_zero_tests_end_to_end() {
    let none = trial(&board(), &[]);
    none.work("run-tests.sh", "echo '<testsuite/>' > report.xml\n");
    let outcome = judged(&none).exits(1);
    tells(&outcome, "tests-run", &["deny", "no test was executed; on the base 1 ran"]);
    tells(&outcome, "tests-kept", &["deny checks::starts: "]);
    let skipped = trial(&board(), &[]);
    skipped.work("checks/starts.sh", "exit 3\n");
    tells(&judged(&skipped).exits(1), "tests-run", &["no test was executed, 1 were skipped"]);
    // Nothing ran before either: nobody is blamed, and nothing passes.
    let never = Trial::with(&board(), &[("run-tests.sh", "echo '<testsuite/>' > report.xml\n")]);
    never.work("greeting.txt", "hello\n");
    let outcome = judged(&never).exits(3);
    tells(&outcome, "tests-run", &["unknown", "on the base none ran either"]);
}

#[test]
fn hack_preexisting_red_is_judged_test_by_test() {
    let red = [("t1", "exit 1\n"), ("t2", EVERY_SECOND), ("t3", "true\n")];
    let honest = trial(&board(), &red);
    honest.work("checks/t4.sh", "grep -q hello greeting.txt\n");
    let outcome = judged(&honest).decides("land", &["verified"]).exits(0);
    tells(
        &outcome,
        "tests-run",
        &["info", "failed on the base already", "checks::t1", "passed in another: checks::t2"],
    );
    assert!(!said(&outcome, "tests-run").contains("deny"), "{outcome}");
    let compared = honest.facts(&outcome, "compared");
    assert_eq!(compared[0]["pre-existing"], serde_json::json!(["checks::t1"]), "{compared:?}");
    assert_eq!(compared[0]["flaky"], serde_json::json!(["checks::t2"]), "both results are kept: {compared:?}");
    let purposes = honest.facts(&outcome, "command");
    assert_eq!(purposes.iter().filter(|command| command["purpose"] == "rerun").count(), 2, "{purposes:?}");

    let breaks = trial(&board(), &red);
    breaks.work("checks/t3.sh", "exit 1\n");
    let outcome = judged(&breaks).exits(1);
    tells(&outcome, "tests-run", &["deny", "on the base these pass, on the claim they fail: checks::t3"]);
    assert!(!outcome.words().contains("pass, on the claim they fail: checks::t1"), "{outcome}");

    let changes = trial(&board(), &red);
    changes.work("checks/t1.sh", "exit 2\n");
    let outcome = judged(&changes).exits(3);
    tells(&outcome, "tests-run", &["unknown", "fail in another way now: checks::t1"]);

    let mends = trial(&board(), &red);
    mends.work("checks/t1.sh", "true\n");
    let outcome = judged(&mends).decides("land", &["verified"]);
    tells(&outcome, "tests-run", &["info", "failed on the base and pass on the claim: checks::t1"]);
}

#[test]
fn a_new_test_that_flakes_denies_and_an_old_one_is_named() {
    let new = trial(&board(), &[]);
    new.work("checks/fresh.sh", EVERY_SECOND);
    tells(&judged(&new).exits(1), "tests-run", &["deny", "these are new, and failed in one run and passed", "fresh"]);
    let old = trial(&board(), &[("shaky", EVERY_SECOND)]);
    let outcome = judged(&old).decides("land", &["verified"]);
    tells(&outcome, "tests-run", &["info", "checks::shaky"]);
    // Without a repetition nobody can tell it from a failure that was there before.
    let strict = trial(&board(), &[("shaky", EVERY_SECOND)]);
    strict.settings("tests: {retries: 0}\n");
    let outcome = judged(&strict);
    tells(&outcome, "tests-run", &["failed on the base already", "checks::shaky"]);
    assert!(strict.facts(&outcome, "command").iter().all(|command| command["purpose"] != "rerun"), "{outcome}");
}

/// What becomes of an entry's bytes.
type Damage = fn(&[u8]) -> Vec<u8>;

#[test]
fn the_same_tree_is_never_tested_twice_unless_asked_afresh() {
    let trial = Trial::new(&["It says hello"]).honest();
    let stored = |outcome: &Outcome| {
        let commands = trial.facts(outcome, "command");
        assert_eq!(commands.len(), 2, "claim and base\n{outcome}");
        commands.iter().filter(|command| command["cached"].is_string()).count()
    };
    let logs = |outcome: &Outcome| trial.facts(outcome, "command").iter().map(|c| c["log-digest"].clone()).collect();
    let first = trial.verify(&[]).decides("hold", &["needs-judgement"]);
    let second = trial.verify(&[]).decides("hold", &["needs-judgement"]);
    assert_eq!((stored(&first), stored(&second)), (0, 2), "{second}");
    let digests: [Vec<Value>; 2] = [logs(&first), logs(&second)];
    assert_eq!(digests[0], digests[1], "the log travels with it");
    assert_eq!(stored(&trial.verify(&["--fresh"])), 0, "who asks for a fresh judgement gets fresh tests");
    assert_eq!(stored(&trial.verify(&[])), 2);
    // Damage of any kind makes an entry vanish, never a result.
    let damages: [Damage; 3] = [
        |_| Vec::new(),
        |bytes| bytes[..bytes.len() / 2].to_vec(),
        |bytes| String::from_utf8_lossy(bytes).replace("\"passed\"", "\"failed\"").into_bytes(),
    ];
    for damage in damages {
        for entry in fs::read_dir(trial.repo.common_dir().join("countersign/tests")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ext| ext == "json") {
                fs::write(&path, damage(&fs::read(&path).unwrap())).unwrap();
            }
        }
        assert_eq!(stored(&trial.verify(&[])), 0);
    }
    // One that somebody else wrote, whole and with a checksum of its own, is not believed: the key is another's.
    assert_eq!(stored(&trial.verify(&[])), 2);
    fs::write(trial.repo.root().join("home/.cache/countersign/key"), "0".repeat(64)).unwrap();
    assert_eq!(stored(&trial.verify(&[])), 0);
    // Another environment is another run; the base is tested once for all claims.
    assert_eq!(stored(&trial.verify_with(&[], &[("LANG", "xx_XX.UTF-8".as_ref())])), 0);
    trial.work("greeting.txt", "hello there\n");
    assert_eq!(stored(&trial.verify(&[])), 1, "the base only");
}

/// A test file at the base, seven ways to be rid of its failing test, and two honest ways to work.
struct Lies {
    command: &'static str,
    path: &'static str,
    base: &'static str,
    ways: [(&'static str, &'static str); 6],
    elsewhere: &'static str,
    honest: [&'static str; 2],
}

impl Lies {
    fn start(&self) -> Trial {
        let settings = format!("tests:\n  command: {}\n", self.command);
        let trial = Trial::with(&board(), &[(".agentheim/countersign.yaml", &settings), (self.path, self.base)]);
        trial.work("greeting.txt", "hello\n");
        trial
    }

    fn try_all(&self) {
        for (name, text) in self.ways {
            let trial = self.start();
            trial.work(self.path, text);
            let outcome = judged(&trial);
            assert_eq!(outcome.decision(), "send-back", "{}: {name}\n{outcome}", self.command);
            if name != "empties" {
                // What a runner calls `todo` still runs: there the exit status contradicts the report.
                let said = said(&outcome, "tests-kept") + &said(&outcome, "tests-run");
                let denies = said.lines().any(|line| line.starts_with("deny") && line.contains("greets"));
                assert!(denies, "{}: {name}\n{outcome}", self.command);
            }
        }
        let trial = self.start();
        remove(&trial, self.path);
        trial.work(self.elsewhere, self.base);
        let outcome = judged(&trial);
        assert_eq!(
            (outcome.decision().as_str(), outcome.state("tests-kept").as_str()),
            ("send-back", "deny"),
            "{outcome}"
        );
        for text in self.honest {
            let trial = self.start();
            trial.work(self.path, text);
            let outcome = judged(&trial).decides("land", &["verified"]);
            assert!(matches!(outcome.state("tests-kept").as_str(), "pass" | "info"), "{outcome}");
        }
    }
}

#[test]
fn hack_delete_skip_is_stopped_whatever_the_node_test_became() {
    if !has_node() {
        return;
    }
    Lies {
        command: "node --test",
        path: "a.test.mjs",
        base: "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\ntest('greets', () => { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello, all/); });\n",
        ways: [
            ("deletes", "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\n"),
            ("skips", "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\ntest.skip('greets', () => { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello, all/); });\n"),
            ("todo", "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\ntest.todo('greets', () => { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello, all/); });\n"),
            ("uncollects", "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\nexport function greets() { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello, all/); }\n"),
            ("empties", "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\ntest('greets', () => {});\n"),
            ("comments out", "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\n// test('greets', () => { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello, all/); });\n"),
        ],
        elsewhere: "attic/a.mjs",
        honest: [
            "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\ntest('greets', () => { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello, all/); });\ntest('is polite', () => { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello/); });\n",
            "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport fs from 'node:fs';\ntest('the file is there', () => { assert.ok(fs.existsSync('greeting.txt')); });\ntest('greets', () => { assert.match(fs.readFileSync('greeting.txt', 'utf8'), /hello, all/); });\n",
        ],
    }
    .try_all();
}

#[test]
fn hack_delete_skip_is_stopped_whatever_the_pytest_became() {
    if !has_pytest() {
        return;
    }
    Lies {
        command: "python3 -m pytest",
        path: "test_a.py",
        base: "def test_is_there():\n    assert open('greeting.txt')\ndef test_greets():\n    assert 'hello, all' in open('greeting.txt').read()\n",
        ways: [
            ("deletes", "def test_is_there():\n    assert open('greeting.txt')\n"),
            ("skips", "import pytest\ndef test_is_there():\n    assert open('greeting.txt')\n@pytest.mark.skip\ndef test_greets():\n    assert 'hello, all' in open('greeting.txt').read()\n"),
            ("xfails", "import pytest\ndef test_is_there():\n    assert open('greeting.txt')\n@pytest.mark.xfail\ndef test_greets():\n    assert 'hello, all' in open('greeting.txt').read()\n"),
            ("uncollects", "def test_is_there():\n    assert open('greeting.txt')\ndef greets():\n    assert 'hello, all' in open('greeting.txt').read()\n"),
            ("empties", "def test_is_there():\n    assert open('greeting.txt')\ndef test_greets():\n    pass\n"),
            ("comments out", "def test_is_there():\n    assert open('greeting.txt')\n# def test_greets():\n#     assert 'hello, all' in open('greeting.txt').read()\n"),
        ],
        elsewhere: "attic/a.py",
        honest: [
            "def test_is_there():\n    assert open('greeting.txt')\ndef test_greets():\n    assert 'hello, all' in open('greeting.txt').read()\ndef test_is_polite():\n    assert 'hello' in open('greeting.txt').read()\n",
            "def test_the_file_is_there():\n    assert open('greeting.txt')\ndef test_greets():\n    assert 'hello, all' in open('greeting.txt').read()\n",
        ],
    }
    .try_all();
}
