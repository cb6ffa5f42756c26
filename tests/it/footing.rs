//! A command proves a criterion only by what the claim did not write itself.

use crate::support::{FakeVerifier, Outcome, TestRepo};
use std::path::Path;

const SETTINGS: &str = "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\n  canary: false\n";
const TESTS: &str = "printf '<testsuite><testcase name=\"a\" file=\"tests/test_mul.py\"/></testsuite>' > out.xml\n";
const CHECK: &str = "import sys\nsys.exit(0 if 'mul' in open('calc.txt').read() else 1)\n";
const CHECK_JS: &str = "process.exit(require('fs').readFileSync('calc.txt', 'utf8').includes('mul') ? 0 : 1)\n";

struct Project {
    repo: TestRepo,
    base: String,
}

impl Project {
    /// A project whose one criterion is this command, with these files at the base.
    fn new(command: &str, files: &[(&str, &str)]) -> Self {
        let repo = TestRepo::new();
        let task = format!("# Chore\n\n## Acceptance criteria\n\n- [ ] mul — run: `{command}`\n");
        let own = [("run.sh", TESTS), (".agentheim/countersign.yaml", SETTINGS), (".gitignore", "out.xml\n")];
        for (path, text) in own.iter().chain(&[("calc.txt", "add\n"), ("task.md", task.as_str())]).chain(files) {
            repo.write(path, text);
        }
        let base = repo.commit("base");
        Self { repo, base }
    }

    /// The claim writes these files and takes these away.
    fn claim(self, files: &[(&str, &str)], gone: &[&str]) -> Self {
        for (path, text) in files {
            self.repo.write(path, text);
        }
        for path in gone {
            std::fs::remove_file(self.repo.path().join(Path::new(path))).unwrap();
        }
        self
    }

    fn judged(&self, args: &[&str]) -> Outcome {
        self.repo.run(&[&["verify", "task.md", "--json", "--base", &self.base], args].concat())
    }
}

/// The state of `criteria`, and the exit code.
fn found(outcome: &Outcome) -> (Option<i32>, String) {
    let document = outcome.json();
    let checks = document["floor"]["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == "criteria").unwrap_or_else(|| panic!("{outcome}"));
    (outcome.code, check["state"].as_str().unwrap().to_owned())
}

#[test]
fn a_command_whose_program_the_claim_rewrote_is_asked_about() {
    type Files<'a> = &'a [(&'a str, &'a str)];
    let package = "{\"scripts\": {\"mul\": \"node c.js\"}}\n";
    let yes = "import sys\nsys.exit(0)\n";
    let lies: &[(&str, Files<'_>, Files<'_>)] = &[
        ("python3 -m pkg.mod", &[("pkg/mod.py", CHECK)], &[("pkg/mod.py", yes)]),
        ("python3 -m pkg", &[("pkg/__init__.py", ""), ("pkg/check.py", CHECK)], &[("pkg/__main__.py", yes)]),
        (
            "python3 -m pkg.mod",
            &[
                ("pkg/mod.py", "from pkg.lib import ok\nimport sys\nsys.exit(not ok())\n"),
                ("pkg/lib.py", "def ok():\n    return 'mul' in open('calc.txt').read()\n"),
            ],
            &[("pkg/lib.py", "def ok():\n    return True\n")],
        ),
        ("cd dir && sh x.sh", &[("dir/x.sh", "grep -q mul ../calc.txt\n")], &[("dir/x.sh", "exit 0\n")]),
        (
            "sh x.sh",
            &[("x.sh", ". ./lib.sh\nhas mul\n"), ("lib.sh", "has() { grep -q \"$1\" calc.txt; }\n")],
            &[("lib.sh", "has() { :; }\n")],
        ),
        ("npm run mul", &[("package.json", package), ("c.js", CHECK_JS)], &[("c.js", "process.exit(0)\n")]),
        ("npm run mul", &[("package.json", package), ("c.js", CHECK_JS)], &[(".npmrc", "script-shell=/bin/true\n")]),
        (
            "npm run mul",
            &[("package.json", package), ("c.js", CHECK_JS)],
            &[("package.json", "{\"scripts\": {\"mul\": \"node d.js\"}}\n"), ("d.js", "process.exit(0)\n")],
        ),
        ("node ./chk", &[("chk/index.js", CHECK_JS)], &[("chk/index.js", "process.exit(0)\n")]),
        (
            "make -s check",
            &[("Makefile", "check:\n\tgrep -q mul calc.txt\n")],
            &[("Makefile", "check:\n\tgrep -q add calc.txt\n")],
        ),
        ("sh new.sh", &[], &[("new.sh", "exit 0\n")]),
        ("python3 -m unittest -q", &[("tests/.keep", "")], &[("unittest.py", yes)]),
    ];
    for (command, base, claim) in lies {
        let judged = Project::new(command, base).claim(claim, &[]).judged(&[]);
        assert_eq!(found(&judged), (Some(3), "ask".to_owned()), "{command}: {claim:?}\n{judged}");
    }
}

#[test]
fn a_command_that_is_green_because_something_was_taken_away_is_asked_about() {
    let files = [
        ("check.sh", "for c in checks/*.sh; do test ! -f $c || sh $c || exit 1; done\n"),
        ("checks/mul.sh", "grep -q mul calc.txt\n"),
    ];
    let judged = Project::new("sh check.sh", &files).claim(&[("note.txt", "x\n")], &["checks/mul.sh"]).judged(&[]);
    assert_eq!(found(&judged), (Some(3), "ask".to_owned()), "{judged}");
}

#[test]
fn a_check_that_only_reads_the_work_is_a_receipt() {
    let package = "{\"scripts\": {\"mul\": \"node c.js\"}}\n";
    let done = [("calc.txt", "mul\n"), ("docs/mul.md", "how to mul\n")];
    for (command, base) in [
        ("python3 -m pkg.mod", &[("pkg/mod.py", CHECK)][..]),
        ("cd dir && sh x.sh", &[("dir/x.sh", "grep -q mul ../calc.txt\n")]),
        ("npm run mul", &[("package.json", package), ("c.js", CHECK_JS)]),
        ("node ./chk", &[("chk/index.js", CHECK_JS)]),
        ("make -s check", &[("Makefile", "check:\n\tgrep -q mul calc.txt\n")]),
        ("grep -q mul calc.txt && test -f docs/mul.md", &[]),
    ] {
        let judged = Project::new(command, base).claim(&done, &[]).judged(&[]);
        assert_eq!(found(&judged), (Some(0), "pass".to_owned()), "{command}\n{judged}");
    }
}

#[test]
fn a_runner_that_is_green_without_the_production_code_is_asked_about() {
    let command = "python3 -m unittest -q tests.test_mul";
    let base = [("calc.py", "def add(a, b):\n    return a + b\n"), ("tests/__init__.py", "")];
    let test = |body: &str| {
        format!("import unittest, calc\n\n\nclass T(unittest.TestCase):\n    def test_mul(self):\n        {body}\n")
    };
    let work = "def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b\n";
    let (empty, real) = (test("self.assertTrue(True)"), test("self.assertEqual(calc.mul(2, 3), 6)"));
    let guard =
        Project::new(command, &base).claim(&[("calc.py", work), ("tests/test_mul.py", &empty)], &[]).judged(&[]);
    assert_eq!(found(&guard), (Some(3), "ask".to_owned()), "{guard}");
    let honest =
        Project::new(command, &base).claim(&[("calc.py", work), ("tests/test_mul.py", &real)], &[]).judged(&[]);
    assert_eq!(found(&honest), (Some(0), "pass".to_owned()), "{honest}");
}

#[test]
fn the_program_that_the_task_asks_for_is_for_a_verifier_that_reads() {
    let project = Project::new("node src/cli.js --help", &[("src/cli.js", "process.exit(1)\n")])
        .claim(&[("src/cli.js", "console.log('help'); process.exit(0)\n")], &[]);
    let held = project.judged(&[]);
    assert_eq!(found(&held), (Some(3), "ask".to_owned()), "{held}");
    let evidence = "C1 mul — covered by run:node src/cli.js --help, file:src/cli.js";
    let task = held.json()["task"].as_str().unwrap().to_owned();
    let program = FakeVerifier::passing(&task, &[evidence]).install(&project.repo);
    let program = serde_json::to_string(&program).unwrap();
    let settings = format!("verifier: fake\nverifiers:\n  fake:\n    command: [{program}]\n");
    crate::support::write(&project.repo.root().join("home/.config"), "countersign/settings.yaml", settings);
    let read = project.judged(&["--fresh"]);
    assert_eq!(found(&read), (Some(0), "ask".to_owned()), "{read}");
}
