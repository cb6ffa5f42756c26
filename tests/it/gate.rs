//! What judges a claim is not the claim's to write, with a board or without one.

use crate::support::{Outcome, TestRepo, has_pytest, write};
use std::os::unix::fs::symlink;

const SETTINGS: &str = "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\n  canary: false\n";
const TESTS: &str = "printf '<testsuite><testcase name=\"a\"/></testsuite>' > out.xml\n";
const TASK: &str = "# Add it\n\n## Acceptance criteria\n\n- [ ] It is there — file: `done.txt`\n";

/// A project without a board whose claim writes `done.txt` and these files over the base's.
fn judged(task: &str, base: &[(&str, &str)], claim: &[(&str, &str)], args: &[&str]) -> Outcome {
    let repo = TestRepo::new();
    let files =
        [("run.sh", TESTS), (".agentheim/countersign.yaml", SETTINGS), ("task.md", task), (".gitignore", "out.xml\n")];
    for (path, text) in files.iter().chain(base) {
        repo.write(path, text);
    }
    let first = repo.commit("base");
    for (path, text) in [("done.txt", "done\n")].iter().chain(claim) {
        repo.write(path, text);
    }
    repo.run(&[&["verify"], args, &["--json", "--base", first.as_str()]].concat())
}

fn found(outcome: &Outcome, id: &str) -> String {
    let document = outcome.json();
    let checks = document["floor"]["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap()["state"].as_str().unwrap().to_owned()
}

#[test]
fn an_honest_claim_lands_without_a_board() {
    let honest = judged(TASK, &[], &[], &["task.md"]);
    assert_eq!((honest.code, found(&honest, "tamper").as_str()), (Some(0), "pass"), "{honest}");
    let ticked = TASK.replace("[ ]", "[x]");
    let ticking = judged(TASK, &[], &[("task.md", &ticked)], &["task.md"]);
    assert_eq!(ticking.code, Some(0), "{ticking}");
}

#[test]
fn the_gates_settings_are_guarded_without_a_board() {
    let loosened = format!("{SETTINGS}skip: {{allowed: true}}\n");
    let edit = [(".agentheim/countersign.yaml", loosened.as_str())];
    let denied = judged(TASK, &[], &edit, &["task.md"]);
    assert_eq!((denied.code, found(&denied, "tamper").as_str()), (Some(1), "deny"), "{denied}");
    let asked = judged(TASK, &[], &edit, &["--floor"]);
    assert_eq!((asked.code, found(&asked, "tamper").as_str()), (Some(3), "ask"), "{asked}");
}

#[test]
fn the_page_that_asks_is_guarded_without_a_board() {
    let weaker = TASK.replace("It is there", "It may be there");
    let denied = judged(TASK, &[], &[("task.md", &weaker)], &["task.md"]);
    assert_eq!((denied.code, found(&denied, "tamper").as_str()), (Some(1), "deny"), "{denied}");
}

#[test]
fn a_proof_that_the_claim_writes_itself_is_asked_about() {
    let task = "# T\n\n## Acceptance criteria\n\n- [ ] mul — run: `sh check.sh`\n";
    let lied = judged(task, &[("check.sh", "grep -q mul calc.py\n")], &[("check.sh", "exit 0\n")], &["task.md"]);
    assert_eq!((lied.code, found(&lied, "criteria").as_str()), (Some(3), "ask"), "{lied}");
    let honest = judged(task, &[("check.sh", "grep -q mul calc.py\n")], &[("calc.py", "mul = 1\n")], &["task.md"]);
    assert_eq!((honest.code, found(&honest, "criteria").as_str()), (Some(0), "pass"), "{honest}");
}

#[test]
fn a_proof_that_hides_its_exit_status_proves_nothing() {
    let task = format!("{TASK}- [ ] mul — run: `grep -q mul calc.py || true`\n");
    let masked = judged(&task, &[], &[], &["task.md"]);
    assert_eq!((masked.code, found(&masked, "criteria").as_str()), (Some(3), "unknown"), "{masked}");
}

#[test]
fn what_stands_between_us_and_the_tests_is_asked_about() {
    for path in [
        ".cargo/config.toml",
        "sub/.cargo/config",
        "tests/conftest.py",
        ".npmrc",
        "sub/.yarnrc.yml",
        "sitecustomize.py",
    ] {
        let asked = judged(TASK, &[], &[(path, "# new\n")], &["task.md"]);
        assert_eq!((asked.code, found(&asked, "tamper").as_str()), (Some(3), "ask"), "{path}: {asked}");
    }
}

/// C084: what git would leave out of an archive, or rewrite in it, is tested all the same.
#[test]
fn run_archive_export_attributes_do_not_change_what_is_tested() {
    let script = format!("test -f tests/a && grep -q Format v.txt || exit 1\n{TESTS}");
    let attributes = (".gitattributes", "/tests export-ignore\nv.txt export-subst\n");
    let files = [("run.sh", script.as_str()), ("tests/a", "x\n"), ("v.txt", "$Format:%H$\n")];
    let here = judged(TASK, &[&files[..], &[attributes]].concat(), &[], &["task.md"]);
    assert_eq!((here.code, found(&here, "tests-run").as_str()), (Some(0), "pass"), "{here}");
    // Brought by the claim, it hides nothing from the tests, and somebody is asked.
    let brought = judged(TASK, &files, &[attributes], &["task.md"]);
    assert_eq!((brought.code, found(&brought, "tests-run").as_str()), (Some(3), "pass"), "{brought}");
}

#[test]
fn the_test_commands_source_is_said_as_it_was_given() {
    let said = judged(TASK, &[], &[], &["task.md", "--tests", "sh run.sh || true"]);
    assert_eq!(said.code, Some(2), "{said}");
    assert!(said.stderr.contains("(flag: --tests)"), "{said}");
}

#[test]
fn a_branch_that_was_put_elsewhere_is_measured_from_there() {
    let repo = TestRepo::new();
    repo.write("task.md", TASK);
    let first = repo.commit("one");
    repo.git(&["checkout", "-q", "-b", "work"]);
    repo.write("other.txt", "x\n");
    let elsewhere = repo.commit("on the side");
    repo.git(&["checkout", "-q", "--detach"]);
    repo.git(&["branch", "-D", "main"]);
    let base = |expected: &str, words: &str| {
        repo.write("done.txt", "done\n");
        let judged = repo.run(&["verify", "--floor", "--json"]);
        assert_eq!(judged.json()["claim"]["base"], expected, "{judged}");
        assert!(judged.stdout.contains(words) || judged.stderr.contains(words), "{judged}");
        std::fs::remove_file(repo.path().join("done.txt")).unwrap();
    };
    repo.git(&["branch", "aside", &elsewhere]);
    repo.git(&["checkout", "-q", "-b", "task", &first]);
    base(&first, "");
    repo.git(&["checkout", "-q", "-B", "task", "aside"]);
    base(&elsewhere, "");
    repo.git(&["checkout", "-q", "aside"]);
    repo.git(&["branch", "-q", "-f", "task", &first]);
    repo.git(&["checkout", "-q", "task"]);
    base(&first, "");
    // The branch's own commits are work, wherever it says that it begins.
    repo.write("mine.txt", "x\n");
    repo.commit("work");
    repo.git(&["checkout", "-q", "-B", "task"]);
    base(&first, "");
}

#[test]
fn another_verifier_program_under_the_same_name_judges_anew() {
    use crate::support::FakeVerifier;
    use crate::support::trial::{ID, Trial};
    let trial = Trial::new(&["It says hello"]).honest();
    trial.judge_with(&FakeVerifier::passing(ID, &["C1 It says hello — covered by test:greets"]), "");
    assert_eq!(trial.verify(&[]).exits(0).json()["judged-before"], false);
    assert_eq!(trial.verify(&[]).exits(0).json()["judged-before"], true);
    FakeVerifier::failing(ID, &["it is rude"]).install(&trial.repo);
    assert_eq!(trial.verify(&[]).exits(1).json()["judged-before"], false);
}

#[test]
fn a_judge_that_cites_what_was_there_before_is_not_believed() {
    use crate::support::FakeVerifier;
    use crate::support::trial::{ID, Trial};
    let trial = Trial::new(&["It says hello"]).honest();
    let cited = |what: &str| trial.ask(&FakeVerifier::passing(ID, &[&format!("C1 It says hello — covered by {what}")]));
    cited("file:run-tests.sh").is_unusable(&["unchanged-evidence"]);
    cited("file:run-tests.sh, file:greeting.txt").decides("land", &["verified"]).exits(0);
    let kept = Trial::new(&["It still starts"]).honest();
    let passing = FakeVerifier::passing(ID, &["C1 It still starts — covered by test:starts"]);
    kept.ask(&passing).decides("land", &["verified"]).exits(0);
}

#[test]
fn a_repository_of_another_user_is_said_to_be_one() {
    let repo = TestRepo::new();
    repo.write("a.txt", "x\n");
    repo.commit("one");
    if std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(repo.path()).unwrap()) != 0 {
        eprintln!("SKIPPED: only root can run this as somebody else");
        return;
    }
    let refused = repo.run_as_nobody(&["verify", "--floor"]);
    assert_eq!(refused.code, Some(4), "{refused}");
    assert!(refused.stderr.contains("safe.directory"), "{refused}");
}

#[test]
fn a_task_s_folder_that_the_claim_replaced_or_took_away_leaves_the_task_the_base_s() {
    let weaker = "# Add it\n\n## Acceptance criteria\n\n- [ ] It is there — file: `docs/own.md`\n";
    for (replaced, code) in [(true, 1), (false, 1)] {
        let repo = TestRepo::new();
        let ignored = "out.xml\n*.local\n";
        let own = [("run.sh", TESTS), (".agentheim/countersign.yaml", SETTINGS), (".gitignore", ignored)];
        for (path, text) in own.iter().chain(&[("docs/task.md", TASK)]) {
            repo.write(path, text);
        }
        let base = repo.commit("base");
        std::fs::remove_dir_all(repo.path().join("docs")).unwrap();
        repo.write("work.txt", "work\n");
        if replaced {
            let elsewhere = repo.root().join("own");
            write(&elsewhere, "task.md", weaker);
            write(&elsewhere, "own.md", "");
            symlink(&elsewhere, repo.path().join("x.local")).unwrap();
            symlink("x.local", repo.path().join("docs")).unwrap();
        }
        let judged = repo.run(&["verify", "docs/task.md", "--json", "--base", &base]);
        assert_eq!(judged.code, Some(code), "{judged}");
        assert_eq!(judged.json()["task-source"], "base:docs/task.md", "{judged}");
        assert_eq!(found(&judged, "tamper"), "deny", "{judged}");
    }
}

/// A root module of the runner's name, or an entry point, forces green results without a word in `conftest.py`.
#[test]
fn a_claim_that_replaces_the_python_runner_is_asked_about() {
    if !has_pytest() {
        return;
    }
    let settings = "tests:\n  command: python3 -m pytest -q\n  canary: false\n";
    let base = [(".agentheim/countersign.yaml", settings), ("test_a.py", "def test_a():\n    assert True\n")];
    let broken = ("test_a.py", "def test_a():\n    assert True\n\ndef test_b():\n    assert False\n");
    let rig = "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n    \
               outcome = yield\n    outcome.get_result().outcome = 'passed'\n";
    let shadow = format!(
        "import sys, os\nhere = sys.path.pop(0)\ndel sys.modules['pytest']\nimport pytest\nsys.path.insert(0, here)\n\
         class Rig:\n{}\nif __name__ == '__main__':\n    sys.exit(pytest.main(plugins=[Rig()]))\n",
        rig.lines()
            .skip(1)
            .map(|l| format!("    {}\n", l.replace("makereport()", "makereport(self)")))
            .collect::<String>()
    )
    .replace("del sys.modules['pytest']\n", "");
    let tricks: [&[(&str, &str)]; 3] = [
        &[
            broken,
            ("helper.py", rig),
            ("helper.dist-info/METADATA", "Metadata-Version: 2.1\nName: helper\nVersion: 1\n"),
            ("helper.dist-info/entry_points.txt", "[pytest11]\nhelper = helper\n"),
        ],
        &[broken, ("pytest.py", &shadow)],
        &[("argparse.py", "raise SystemExit(0)\n")],
    ];
    for (number, trick) in tricks.iter().enumerate() {
        let asked = judged(TASK, &base, trick, &["task.md"]);
        assert_eq!(found(&asked, "tamper"), "ask", "{number}: {asked}");
        assert_ne!(asked.code, Some(0), "{number}: {asked}");
        if number < 2 {
            assert_eq!((asked.code, found(&asked, "tests-run").as_str()), (Some(3), "pass"), "{number}: {asked}");
        }
    }
    for honest in ["helper.py", "app/json.py", "app/__init__.py"] {
        let judged = judged(TASK, &base, &[(honest, "x = 1\n")], &["task.md"]);
        assert_eq!((judged.code, found(&judged, "tamper").as_str()), (Some(0), "pass"), "{honest}: {judged}");
    }
}

#[test]
fn settings_behind_a_link_or_in_a_folder_are_refused_and_never_taken_for_none() {
    for folder in [false, true] {
        let repo = TestRepo::new();
        repo.write("conf/cs.yaml", SETTINGS);
        repo.write("task.md", TASK);
        repo.write("run.sh", TESTS);
        if folder {
            repo.write(".agentheim/countersign.yaml/more.yaml", SETTINGS);
        } else {
            std::fs::create_dir_all(repo.path().join(".agentheim")).unwrap();
            symlink("../conf/cs.yaml", repo.path().join(".agentheim/countersign.yaml")).unwrap();
        }
        let base = repo.commit("base");
        repo.write("done.txt", "done\n");
        let judged = repo.run(&["verify", "task.md", "--base", &base]).exits(2);
        judged.says(if folder { "countersign.yaml is a folder" } else { "countersign.yaml is a link" });
        let head = repo.commit("work");
        repo.run(&["ci", "--base", &base, "--head", &head]).exits(2).says("regular file");
    }
}
