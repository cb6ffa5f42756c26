//! The tests must see the claim: what leads them to another checkout, and the canary that shows it.

use crate::rooms::Ground;
use countersign::claim::Claim;
use countersign::config::{Settings, TestSettings};
use countersign::floor::canary::{self, CanaryOutcome};
use countersign::floor::tests_run::{self, Baseline, TestsOutcome};
use countersign::floor::{Inspection, ReportState};
use countersign::receipts::{Purpose, State};
use std::path::{Path, PathBuf};
use std::process::Command;

static NO_REPORT: ReportState = ReportState::None { why: String::new() };

/// A repository, its claim, and what tests and canary say about it.
struct Tried {
    tests: TestsOutcome,
    canary: CanaryOutcome,
}

fn judged(ground: &Ground, settings: &Settings) -> Tried {
    look(ground, settings, |inspection| {
        let plan = tests_run::plan(inspection, None).unwrap();
        let tests =
            tests_run::run_tests(inspection, &plan, &ground.logs(), Baseline::WhenRed, tests_run::Reuse::Nothing);
        let canary = canary::try_all(inspection, &plan, &tests.report, &ground.logs());
        Tried { tests, canary }
    })
}

/// Shows the last commit as a claim on the one before it.
fn look<T>(ground: &Ground, settings: &Settings, judge: impl Fn(&Inspection<'_>) -> T) -> T {
    let repo = ground.repo();
    let commit = |rev: &str| repo.resolve(rev).unwrap().unwrap();
    let (base, commit) = (commit("HEAD~1"), commit("HEAD"));
    let (base_tree, tree) = (repo.tree_of(&base).unwrap(), repo.tree_of(&commit).unwrap());
    let changed = repo.changes(&base_tree, &tree).unwrap();
    let claim = Claim { name: None, commit: Some(commit), tree, base, base_tree, changed };
    judge(&Inspection {
        repo: &repo,
        settings,
        claim: &claim,
        sightings: &[],
        worktree: None,
        task: None,
        task_path: None,
        layout: None,
        report: &NO_REPORT,
        removals: &[],
    })
}

fn told(tried: &Tried) -> String {
    let findings = tried.canary.report.findings.iter().chain(&tried.tests.report.findings);
    let said: String = findings.map(|f| format!("{:?} {} {}\n", f.state, f.place, f.observed)).collect();
    format!("{said}{}", tried.canary.report.note)
}

fn canaries(tried: &Tried) -> usize {
    let suites = tried.canary.runs.iter().filter(|facts| !facts.command.command.contains(" pip "));
    suites.filter(|facts| facts.command.purpose == Purpose::Canary).count()
}

fn commanding(command: &str) -> Settings {
    let tests = TestSettings { command: Some(command.to_owned()), ..TestSettings::default() };
    Settings { tests, ..Settings::default() }
}

/// Two commits: the base, and the claim's change of one file.
fn with_change(files: &[(&str, &str)], (path, text): (&str, &str)) -> Ground {
    let ground = Ground::new();
    for (path, text) in files {
        ground.write(path, text);
    }
    ground.commit();
    ground.write(path, text);
    ground.commit();
    ground
}

#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "asks this machine, and tells a person")]
fn output(program: &Path, args: &[&str]) -> Option<String> {
    let done = Command::new(program).args(args).output().ok().filter(|done| done.status.success());
    if done.is_none() {
        println!("SKIPPED: `{} {}` does not work on this machine", program.display(), args.join(" "));
    }
    done.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

const PYTHON: &[(&str, &str)] = &[
    ("src/pkg/__init__.py", ""),
    ("src/pkg/f.py", "def f():\n    return 1\n"),
    ("tests/test_f.py", "from pkg.f import f\n\ndef test_f():\n    assert f() == 1\n"),
];

/// A virtual environment beside the repository that finds pytest where this machine has it, and `pkg` where `imports`
/// says: what an editable install leaves behind.
fn venv(ground: &Ground, imports: &Path) -> Option<PathBuf> {
    let python = Path::new("python3");
    let pytest =
        output(python, &["-c", "import pytest, os; print(os.path.dirname(os.path.dirname(pytest.__file__)))"])?;
    let venv = ground.top().parent().unwrap().join("venv");
    output(python, &["-m", "venv", "--without-pip", venv.to_str().unwrap()])?;
    let inside = venv.join("bin/python");
    let site = output(&inside, &["-c", "import site; print(site.getsitepackages()[0])"])?;
    std::fs::write(Path::new(&site).join("shared.pth"), format!("{pytest}\n")).unwrap();
    std::fs::write(Path::new(&site).join("__editable__.pkg-1.pth"), format!("{}\n", imports.display())).unwrap();
    Some(inside)
}

#[test]
fn wt_wrong_code_tested_by_an_editable_install_of_the_main_checkout() {
    let broken = ("src/pkg/f.py", "def f():\n    return 2\n");
    let ground = with_change(PYTHON, broken);
    // The main checkout keeps the old code: the claim lives in its commit alone.
    ground.git(&["checkout", "-q", "HEAD~1", "--", "."]);
    let Some(python) = venv(&ground, &ground.top().join("src")) else { return };
    let settings = commanding(&format!("{} -m pytest -q", python.display()));
    let tried = judged(&ground, &settings);
    assert_eq!(tried.tests.report.state, State::Pass, "the worst green: {}", told(&tried));
    assert_eq!(tried.canary.report.state, State::Unknown, "{}", told(&tried));
    let said = told(&tried);
    assert!(said.contains("the suite does not see the claim") && said.contains("src/pkg/f.py"), "{said}");
    assert!(said.contains("__editable__.pkg-1.pth → "), "{said}");
    assert_eq!(canaries(&tried), 1, "one run was enough to know");
}

#[test]
fn wt_wrong_code_tested_is_not_said_of_a_suite_that_sees_the_claim() {
    let ground = with_change(PYTHON, ("src/pkg/f.py", "def f():\n    return 2 - 1\n"));
    let Some(_) = output(Path::new("python3"), &["-m", "pytest", "--version"]) else { return };
    let settings = commanding("PYTHONPATH=src python3 -m pytest -q");
    let first = judged(&ground, &settings);
    assert_eq!(first.canary.report.state, State::Pass, "{}", told(&first));
    assert!(first.canary.report.note.contains("a failure in src/pkg/f.py turns"), "{}", told(&first));
    assert!(!first.canary.report.note.contains("not in its log"), "{}", told(&first));
    let second = judged(&ground, &settings);
    assert_eq!((second.canary.report.state, canaries(&second)), (State::Pass, 0), "remembered: {}", told(&second));
    ground.write("requirements.txt", "pytest\n");
    ground.commit();
    let third = judged(&ground, &settings);
    assert_eq!(canaries(&third), 1, "another lockfile: {}", told(&third));
}

#[test]
fn wt_wrong_code_tested_by_a_cargo_dependency_on_the_main_checkout() {
    let ground = Ground::new();
    let main = ground.top().join("pkg");
    let manifest = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n{more}")
    };
    ground.write("pkg/Cargo.toml", &manifest("pkg", ""));
    ground.write("pkg/src/lib.rs", "pub fn f() -> u8 { 1 }\n");
    let dependency = format!("[dependencies]\npkg = {{ path = \"{}\" }}\n", main.display());
    ground.write("suite/Cargo.toml", &manifest("suite", &dependency));
    ground.write("suite/src/lib.rs", "");
    ground.write("suite/tests/f.rs", "#[test]\nfn f() { assert_eq!(pkg::f(), 1) }\n");
    ground.write(".gitignore", "target\nCargo.lock\n");
    ground.commit();
    ground.write("pkg/src/lib.rs", "pub fn f() -> u8 { 2 }\n");
    ground.commit();
    ground.git(&["checkout", "-q", "HEAD~1", "--", "."]);
    let tried = judged(&ground, &commanding("cargo test --manifest-path suite/Cargo.toml"));
    assert_eq!(tried.tests.report.state, State::Pass, "the worst green: {}", told(&tried));
    assert_eq!(tried.canary.report.state, State::Unknown, "{}", told(&tried));
    let said = told(&tried);
    assert!(said.contains("suite/Cargo.toml → ") && said.contains("pkg/src/lib.rs"), "{said}");
}

const NODE: &[(&str, &str)] = &[
    ("package.json", "{\"name\": \"top\", \"scripts\": {\"test\": \"node --test\"}}"),
    ("pkg/package.json", "{\"name\": \"pkg\", \"type\": \"module\", \"main\": \"f.js\"}"),
    ("pkg/f.js", "export const f = () => 1;\n"),
];

const NODE_TEST: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { f } from 'pkg';\ntest('f', () => assert.equal(f(), 1));\n";

#[test]
fn wt_wrong_code_tested_by_a_node_link_to_the_main_checkout() {
    if output(Path::new("node"), &["--version"]).is_none() {
        return;
    }
    for (inside, state) in [(false, State::Unknown), (true, State::Pass)] {
        let ground = Ground::new();
        for (path, text) in NODE {
            ground.write(path, text);
        }
        ground.write("test/f.test.mjs", NODE_TEST);
        std::fs::create_dir(ground.top().join("node_modules")).unwrap();
        let target = if inside { PathBuf::from("../pkg") } else { ground.top().join("pkg") };
        std::os::unix::fs::symlink(target, ground.top().join("node_modules/pkg")).unwrap();
        ground.commit();
        ground.write("pkg/f.js", "export const f = () => 2 - 1;\n");
        ground.commit();
        let tried = judged(&ground, &Settings::default());
        assert_eq!(tried.canary.report.state, state, "{}", told(&tried));
        assert_eq!(told(&tried).contains("node_modules/pkg → "), !inside, "{}", told(&tried));
    }
}

#[test]
fn a_changed_file_that_no_test_loads_is_told_and_nothing_follows() {
    if output(Path::new("node"), &["--version"]).is_none() {
        return;
    }
    let test = NODE_TEST.replace("'pkg'", "'../lib/f.mjs'");
    let files = [
        ("package.json", "{\"scripts\": {\"test\": \"node --test\"}}"),
        ("lib/f.mjs", "export const f = () => 1;\n"),
        ("test/f.test.mjs", test.as_str()),
    ];
    let ground = with_change(&files, ("lib/alone.mjs", "export const g = 1;\n"));
    let tried = judged(&ground, &Settings::default());
    assert_eq!(tried.canary.report.state, State::Info, "{}", told(&tried));
    assert!(told(&tried).contains("lib/alone.mjs") && told(&tried).contains("no test of"), "{}", told(&tried));
}

#[test]
fn no_canary_is_no_hold_unless_something_leads_out_and_turned_off_it_is_said() {
    let files = [("check.sh", "test -f words.txt\n"), ("words.txt", "a\n")];
    let ground = with_change(&files, ("words.txt", "b\n"));
    let mut settings = commanding("sh check.sh && echo '<testsuite><testcase name=\"a\"/></testsuite>' > r.xml");
    settings.tests.report = Some("r.xml".to_owned());
    let tried = judged(&ground, &settings);
    assert_eq!(tried.canary.report.state, State::Info, "{}", told(&tried));
    assert!(told(&tried).contains("canary-unavailable"), "{}", told(&tried));
    settings.tests.command = settings.tests.command.map(|c| format!("test -d {} && {c}", ground.top().display()));
    let tried = judged(&ground, &settings);
    assert_eq!(tried.canary.report.state, State::Unknown, "{}", told(&tried));
    settings.tests.canary = Some(false);
    let tried = judged(&ground, &settings);
    assert_eq!((tried.canary.report.state, canaries(&tried)), (State::Info, 0), "{}", told(&tried));
}

#[test]
fn wt_post_checkout_env_lacks_what_git_ignores_and_says_so() {
    let files =
        [(".gitignore", "deps/\n.husky/\n"), ("check.sh", "cat deps/lib.txt > /dev/null\n"), ("words.txt", "a\n")];
    let ground = with_change(&files, ("words.txt", "b\n"));
    ground.write("deps/lib.txt", "lib\n");
    ground.git(&["config", "core.hooksPath", ".husky/_"]);
    ground.write(".husky/_/post-checkout", "#!/bin/sh\ntouch \"$PWD/hooked\"\n");
    let tried = judged(&ground, &commanding("sh check.sh"));
    assert_eq!(tried.tests.report.state, State::Unknown, "never the worker's: {}", told(&tried));
    let said = told(&tried);
    assert!(said.contains("environment") && said.contains("`tests.setup`"), "{said}");
}

#[test]
fn wt_post_checkout_env_gives_each_room_a_copy_that_no_claim_can_change_for_another() {
    let check = "cat deps/lib.txt; echo spoilt > deps/lib.txt\n";
    let files = [
        (".gitignore", "deps/\nr.xml\n"),
        ("Makefile", "deps:\n\tmkdir deps; echo lib > deps/lib.txt; echo made >> $$HOME/made; echo MADE-NOW\n"),
        ("check.sh", check),
        ("words.txt", "a\n"),
    ];
    let ground = with_change(&files, ("words.txt", "b\n"));
    ground.write("deps/lib.txt", "the user's own\n");
    let command = "grep -qx lib deps/lib.txt && sh check.sh && \
                   echo '<testsuite><testcase name=\"a\"/></testsuite>' > r.xml";
    let mut settings = commanding(command);
    settings.tests.report = Some("r.xml".to_owned());
    settings.tests.setup = vec!["make deps".to_owned()];
    settings.tests.caches = vec!["deps".to_owned()];
    let set_ups = |ground: &Ground, baseline: Baseline| -> (State, usize) {
        let tried = look(ground, &settings, |inspection| {
            let plan = tests_run::plan(inspection, None).unwrap();
            tests_run::run_tests(inspection, &plan, &ground.logs(), baseline, tests_run::Reuse::Nothing)
        });
        (tried.report.state, tried.runs.iter().filter(|facts| facts.command.purpose == Purpose::Setup).count())
    };
    assert_eq!(set_ups(&ground, Baseline::Always), (State::Pass, 2), "each side makes its own; the base's is kept");
    assert_eq!(set_ups(&ground, Baseline::Always), (State::Pass, 0), "copied, and not spoilt by the run before");
    assert_eq!(std::fs::read_to_string(ground.top().join("deps/lib.txt")).unwrap(), "the user's own\n");
    ground.write("Makefile", "deps:\n\tmkdir deps; echo lib > deps/lib.txt; echo evil > deps/evil\n");
    ground.commit();
    assert_eq!(set_ups(&ground, Baseline::WhenRed), (State::Pass, 1), "the claim's own set-up");
    assert_eq!(set_ups(&ground, Baseline::WhenRed), (State::Pass, 1), "and nothing of it is kept");
}
