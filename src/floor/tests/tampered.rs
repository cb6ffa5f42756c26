//! The audit of tests: every lie beside its honest twin, in Rust, Python and JavaScript.

use super::*;
use crate::floor::tests_tampered::{ID, RULES};
use State::{Ask, Deny, Info, Pass, Unknown};

/// One language's three tests; the second is the red one.
struct Tongue {
    path: &'static str,
    text: &'static str,
    red: &'static str,
    /// The red test with what keeps it from running.
    marked: [&'static str; 2],
    renamed: &'static str,
    moved: &'static str,
    emptied: &'static str,
    commented: &'static str,
}

const TONGUES: [Tongue; 3] = [
    Tongue {
        path: "tests/door.rs",
        text: "#[test]\nfn opens() {\n    assert_eq!(door(), 1);\n}\n\n#[test]\nfn closes_well() {\n    assert_eq!(shut(), 2);\n}\n\n#[test]\nfn locks() {\n    assert!(lock());\n}\n",
        red: "#[test]\nfn closes_well() {\n    assert_eq!(shut(), 2);\n}\n",
        marked: [
            "#[test]\n#[ignore]\nfn closes_well() {\n    assert_eq!(shut(), 2);\n}\n",
            "#[cfg(any())]\n#[test]\nfn closes_well() {\n    assert_eq!(shut(), 2);\n}\n",
        ],
        renamed: "fn closes_well() {\n    assert_eq!(shut(), 2);\n}\n",
        moved: "attic/door.rs",
        emptied: "#[test]\nfn closes_well() {}\n",
        commented: "// #[test]\n// fn closes_well() {\n//     assert_eq!(shut(), 2);\n// }\n",
    },
    Tongue {
        path: "tests/test_door.py",
        text: "def test_opens():\n    assert door() == 1\n\n\ndef test_closes_well():\n    assert shut() == 2\n\n\ndef test_locks():\n    assert lock()\n",
        red: "def test_closes_well():\n    assert shut() == 2\n",
        marked: [
            "@pytest.mark.skip\ndef test_closes_well():\n    assert shut() == 2\n",
            "@pytest.mark.xfail(strict=False)\ndef test_closes_well():\n    assert shut() == 2\n",
        ],
        renamed: "def xtest_closes_well():\n    assert shut() == 2\n",
        moved: "attic/door.py",
        emptied: "def test_closes_well():\n    pass\n",
        commented: "# def test_closes_well():\n#     assert shut() == 2\n",
    },
    Tongue {
        path: "test/door.test.js",
        text: "test('opens', () => {\n  expect(door()).toBe(1);\n});\n\ntest('closes well', () => {\n  expect(shut()).toBe(2);\n});\n\ntest('locks', () => {\n  expect(lock()).toBe(true);\n});\n",
        red: "test('closes well', () => {\n  expect(shut()).toBe(2);\n});\n",
        marked: [
            "test.skip('closes well', () => {\n  expect(shut()).toBe(2);\n});\n",
            "test.failing('closes well', () => {\n  expect(shut()).toBe(2);\n});\n",
        ],
        renamed: "const closesWell = () => {\n  expect(shut()).toBe(2);\n};\n",
        moved: "attic/door.js",
        emptied: "test('closes well', () => {\n});\n",
        commented: "// test('closes well', () => {\n//   expect(shut()).toBe(2);\n// });\n",
    },
];

impl Tongue {
    fn scene(&self) -> Scene {
        Scene::new().had(self.path, self.text)
    }

    fn edited(&self, red: &str) -> Scene {
        assert!(self.text.contains(self.red));
        self.scene().wrote(self.path, self.text.replace(self.red, red))
    }
}

/// The check's report on a scene.
fn report(stand: &Stand, scene: &Scene) -> CheckReport {
    scene.check(stand, ID)
}

fn all(report: &CheckReport) -> String {
    report.findings.iter().map(|f| format!("{:?} {}\n", f.state, text(f))).collect()
}

#[test]
fn hack_delete_skip_static_every_way_to_lose_a_red_test_is_stopped_by_name() {
    let stand = Stand::new();
    for tongue in TONGUES {
        let variants = [
            ("a deleted", tongue.edited(""), "test-removed"),
            ("b marked", tongue.edited(tongue.marked[0]), "marker-added"),
            ("c marked otherwise", tongue.edited(tongue.marked[1]), "marker-added"),
            ("d renamed out of sight", tongue.edited(tongue.renamed), "test-"),
            ("e moved out of sight", tongue.scene().moved(tongue.path, tongue.moved, |text| text), "test-uncollected"),
            ("f emptied", tongue.edited(tongue.emptied), "test-emptied"),
            ("g commented out", tongue.edited(tongue.commented), "test-removed"),
        ];
        for (what, scene, rule) in variants {
            let report = report(&stand, &scene);
            let said = all(&report);
            assert_eq!(report.state, Deny, "{} {what}: {said}", tongue.path);
            assert!(said.contains(rule), "{} {what}: {said}", tongue.path);
            assert!(said.contains("closes") && said.contains("ell`"), "{} {what} names the test: {said}", tongue.path);
        }
    }
}

#[test]
fn run_count_drop_static_losses_are_named_and_honest_changes_are_not() {
    let py = &TONGUES[1];
    let jest = "{\n  \"scripts\": { \"test\": \"jest\" },\n  \"jest\": { \"testPathIgnorePatterns\": [\"/node_modules/\"] }\n}\n";
    let ignoring = jest.replace("[\"/node_modules/\"]", "[\"/node_modules/\", \"door\"]");
    let merged =
        "def test_opens():\n    assert door() == 1\n    assert shut() == 2\n\n\ndef test_locks():\n    assert lock()\n";
    let task = || Scene::board().had(py.path, py.text);
    let without_red = py.text.replace(py.red, "");
    let declaring = |t: &str| t.replace("completed:\n", "removes-tests: [tests/test_door.py]\ncompleted:\n");
    hold(
        ID,
        vec![
            (
                "deletes two",
                py.scene().wrote(py.path, "def test_opens():\n    assert door() == 1\n"),
                Deny,
                "test-removed",
            ),
            ("renames", py.edited(&py.red.replace("closes_well", "shuts")), Info, "test-renamed"),
            ("out of the pattern", py.scene().moved(py.path, "lib/door.py", |t| t), Deny, "test-uncollected"),
            (
                "a narrower pattern",
                Scene::new().had("package.json", jest).wrote("package.json", ignoring),
                Ask,
                "collection-narrowed",
            ),
            ("ignored", TONGUES[0].edited(TONGUES[0].marked[0]), Deny, "marker-added"),
            ("two merged into one", py.scene().wrote(py.path, merged), Info, "test-merged"),
            (
                "removed as the task declares",
                task().asked(declaring).wrote(py.path, &without_red),
                Info,
                "removal-declared",
            ),
            (
                "removed as the criteria ask",
                task().asked(|t| t.replace("the door opens", "the old door is removed")).wrote(py.path, &without_red),
                Ask,
                "removal-asked",
            ),
            ("removed and nobody asked", task().wrote(py.path, &without_red), Deny, "removes-tests"),
            (
                "one more",
                py.scene().wrote(py.path, format!("{}\n\ndef test_more():\n    assert more() == 3\n", py.text)),
                Info,
                "tests-added",
            ),
        ],
    );
}

const SUM: &str = "import pytest\n\n\ndef test_total():\n    items = [1, 2]\n    assert total(items) == 3\n    assert ratio(1, 3) == pytest.approx(0.333, abs=1e-9)\n\n\ndef test_bad():\n    with pytest.raises(ValueError):\n        total(None)\n";

#[test]
fn hack_assert_weaken_static_seven_lies_are_shown() {
    let stand = Stand::new();
    let line = "    assert total(items) == 3\n";
    let change = |from: &str, to: &str| {
        assert!(SUM.contains(from), "{from}");
        Scene::new().had("tests/test_sum.py", SUM).wrote("tests/test_sum.py", SUM.replace(from, to))
    };
    let snap = "exports[`a 1`] = `3`;\n";
    for (what, scene, rule) in [
        ("equality to presence", change(line, "    assert total(items) is not None\n"), "assertion-weakened"),
        ("tolerance", change("1e-9", "1e9"), "tolerance-changed"),
        (
            "caught",
            change(line, "    try:\n        assert total(items) == 3\n    except AssertionError:\n        pass\n"),
            "assertion-swallowed",
        ),
        (
            "snapshot",
            Scene::new().had("t/__snapshots__/a.snap", snap).wrote("t/__snapshots__/a.snap", snap.replace('3', "4")),
            "snapshot-rewritten",
        ),
        ("expectation", change("== 3", "== 4"), "expectation-changed"),
        (
            "loop over nothing",
            change(line, "    for _ in []:\n        assert total(items) == 3\n"),
            "assertion-never-reached",
        ),
        ("early return", change(line, "    return\n    assert total(items) == 3\n"), "assertion-unreachable"),
        ("any exception", change("ValueError", "Exception"), "assertion-weakened"),
        ("one demand fewer", change(line, ""), "assertion-removed"),
        (
            "only the calls are left",
            change("    with pytest.raises(ValueError):\n        total(None)\n", "    total([])\n"),
            "assertion-free",
        ),
    ] {
        let report = report(&stand, &scene);
        assert_eq!(report.state, Ask, "{what}: {}", all(&report));
        assert!(all(&report).contains(rule), "{what}: {}", all(&report));
    }
}

#[test]
fn hack_assert_weaken_static_seven_honest_edits_cry_no_wolf() {
    let stand = Stand::new();
    let had = || Scene::new().had("tests/test_sum.py", SUM);
    let change = |from: &str, to: &str| {
        assert!(SUM.contains(from), "{from}");
        had().wrote("tests/test_sum.py", SUM.replace(from, to))
    };
    let line = "    items = [1, 2]\n    assert total(items) == 3\n";
    let table = "@pytest.mark.parametrize(\"items, wanted\", [([1, 2], 3), ([], 0)])\ndef test_total(items, wanted):\n    assert total(items) == wanted\n";
    let helper = SUM.replace(line, "    check([1, 2], 3)\n").replace(
        "\n\ndef test_total",
        "\n\ndef check(items, wanted):\n    assert total(items) == wanted\n\n\ndef test_total",
    );
    let honest = [
        ("renamed", change("test_total", "test_sum_of_items"), Info),
        ("one more assertion", change(line, &format!("{line}    assert total([]) == 0\n")), Info),
        ("parametrised", change(&format!("def test_total():\n{line}"), table), Info),
        ("formatted", change("total(items) == 3", "(\n        total( items )==3\n    )"), Info),
        ("moved", had().moved("tests/test_sum.py", "tests/unit/test_sum.py", |t| t), Info),
        ("a helper extracted", had().wrote("tests/test_sum.py", helper), Info),
        ("the expectation the task asks for", change("== 3", "== 4"), Ask),
    ];
    for (what, scene, state) in honest {
        let report = report(&stand, &scene);
        assert_eq!(report.state, state, "{what}: {}", all(&report));
        assert!(report.findings.iter().filter(|f| f.state == Ask).count() <= 1, "{what}: {}", all(&report));
    }
}

#[test]
fn hack_runner_config_static_a_changed_gate_is_its_own_item() {
    let make = "build:\n\tcargo build\n\ntest:\n\tcargo test\n";
    let flow = ".github/workflows/ci.yml";
    let steps = "jobs:\n  test:\n    steps:\n      - run: cargo test\n  lint:\n    steps:\n      - run: cargo clippy\n";
    let cover = "[tool.coverage.report]\nfail_under = 90\n";
    let had = |path: &str, text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Scene::new().had(path, text).wrote(path, text.replace(from, to))
    };
    hold(
        ID,
        vec![
            (
                "masked target",
                had("Makefile", make, "cargo test", "cargo test || true"),
                Deny,
                "masked-script: `cargo test || true`",
            ),
            ("ignored recipe", had("Makefile", make, "\tcargo test", "\t-cargo test"), Deny, "masked-script"),
            ("another target", had("Makefile", make, "cargo build", "cargo build || true"), Pass, ""),
            ("another runner", had("Makefile", make, "cargo test", "cargo nextest run"), Ask, "runner-settings"),
            ("masked step", had(flow, steps, "run: cargo test", "run: cargo test || true"), Deny, "masked-script"),
            ("piped step", had(flow, steps, "run: cargo test", "run: cargo test | tee log"), Deny, "pipe"),
            (
                "tolerated step",
                had(flow, steps, "- run: cargo test", "- run: cargo test\n        continue-on-error: true"),
                Deny,
                "masked-script",
            ),
            (
                "a job removed",
                had(flow, steps, "  lint:\n    steps:\n      - run: cargo clippy\n", ""),
                Ask,
                "ci-changed",
            ),
            ("a lower threshold", had("pyproject.toml", cover, "90", "10"), Ask, "from 90 to 10"),
            ("a page of the project", had("pyproject.toml", "[project]\nversion = \"1\"\n", "1", "2"), Pass, ""),
            (
                "a lint silenced",
                Scene::new().wrote("src/a.rs", "#[allow(dead_code)]\nfn a() {}\n"),
                Info,
                "lint-silenced",
            ),
            (
                "a lint's level",
                had("Cargo.toml", "[lints.clippy]\nall = \"deny\"\n", "deny", "allow"),
                Ask,
                "runner-settings",
            ),
            ("a dependency", had("Cargo.toml", "[dependencies]\na = \"1\"\n", "1", "2"), Pass, ""),
            (
                "new fixtures",
                Scene::new().wrote("tests/conftest.py", "import pytest\n\n@pytest.fixture\ndef x():\n    return 1\n"),
                Pass,
                "",
            ),
            (
                "a hook",
                Scene::new()
                    .wrote("tests/conftest.py", "def pytest_collection_modifyitems(items):\n    items.clear()\n"),
                Ask,
                "runner-settings",
            ),
            (
                "a hook that leaves",
                Scene::new().wrote("tests/conftest.py", "import os\ndef pytest_sessionfinish():\n    os._exit(0)\n"),
                Deny,
                "exit-in-test",
            ),
        ],
    );
}

#[test]
fn run_pipe_tee_static_a_script_masked_by_the_worker_is_denied() {
    let page = |script: &str| {
        format!("{{\n  \"scripts\": {{\n    \"build\": \"tsc\",\n    \"test\": \"{script}\"\n  }}\n}}\n")
    };
    let changed = |old: &str, new: &str| Scene::new().had("package.json", page(old)).wrote("package.json", page(new));
    hold(
        ID,
        vec![
            ("|| true", changed("jest", "jest || true"), Deny, "package.json:4"),
            ("a pipe", changed("jest", "jest 2>&1 | tee log"), Deny, "masked-script"),
            ("exit 0", changed("jest", "jest; exit 0"), Deny, "masked-script"),
            ("nothing", changed("jest", "true"), Deny, "nothing"),
            ("in the background", changed("jest", "jest &"), Deny, "masked-script"),
            ("was masked before", changed("jest || true", "jest --ci || true"), Ask, "runner-settings"),
            ("another flag", changed("jest", "jest --ci"), Ask, "runner-settings"),
            ("fewer files", changed("jest", "jest --testPathIgnorePatterns door"), Ask, "collection-narrowed"),
        ],
    );
}

#[test]
fn hack_cannot_fail_static_new_tests_that_prove_nothing_are_shown() {
    let new = |text: &str| Scene::new().wrote("tests/test_limit.py", text);
    hold(
        ID,
        vec![
            (
                "any exception",
                new("def test_limit():\n    with pytest.raises(Exception):\n        limt(3)\n"),
                Ask,
                "exception-broad",
            ),
            ("always true", new("def test_limit():\n    limit(3)\n    assert True\n"), Ask, "assertion-"),
            ("the same on both sides", new("def test_limit():\n    assert limit == limit\n"), Ask, "assertion-"),
            ("nothing at all", new("def test_limit():\n    limit(3)\n"), Ask, "assertion-free"),
            ("not run", new("@pytest.mark.skip\ndef test_limit():\n    assert limit(3) == 3\n"), Ask, "new-test-idle"),
            (
                "a proper test",
                new(
                    "def test_limit():\n    assert limit(3) == 3\n    with pytest.raises(ValueError):\n        limit(-1)\n",
                ),
                Info,
                "tests-added",
            ),
            (
                "through a helper",
                new("def check(x):\n    assert x\n\ndef test_limit():\n    check(limit(3))\n"),
                Info,
                "tests-added",
            ),
        ],
    );
}

#[test]
fn hack_impossible_spec_static_special_cases_and_edited_tests_are_shown() {
    let test = "def test_round_half_even():\n    assert round_half(2.5) == 2\n";
    let had = || {
        Scene::new().had("tests/test_round.py", test).had("src/round.py", "def round_half(x):\n    return round(x)\n")
    };
    let prod = |body: &str| {
        had().wrote(
            "src/round.py",
            format!("import os, sys, inspect\n\n\ndef round_half(x):\n{body}    return round(x)\n"),
        )
    };
    hold(
        ID,
        vec![
            (
                "by a test's name",
                prod("    if who() == \"test_round_half_even\":\n        return 2\n"),
                Deny,
                "test-name-special-cased",
            ),
            (
                "by a part of it",
                prod("    if \"test_round_half_even\" in os.environ.get(\"X\", \"\"):\n        return 2\n"),
                Deny,
                "src/round.py:5",
            ),
            (
                "by the runner's trace",
                prod("    if os.environ.get(\"PYTEST_CURRENT_TEST\"):\n        return 2\n"),
                Ask,
                "test-environment-detected",
            ),
            (
                "by a loaded module",
                prod("    if \"pytest\" in sys.modules:\n        return 2\n"),
                Ask,
                "test-environment-detected",
            ),
            (
                "by the caller",
                prod("    if inspect.stack()[1].function != \"main\":\n        return 2\n"),
                Ask,
                "caller-inspected",
            ),
            (
                "by node's environment",
                Scene::new().wrote("src/a.js", "if (process.env.NODE_ENV === 'test') { f() }\n"),
                Ask,
                "test-environment-detected",
            ),
            (
                "in Rust",
                Scene::new().wrote("src/a.rs", "fn a() -> u8 { if cfg!(test) { 2 } else { 3 } }\n"),
                Ask,
                "test-environment-detected",
            ),
            (
                "worker C edits the test",
                had().wrote("tests/test_round.py", test.replace("== 2", "== 3")),
                Ask,
                "expectation-changed",
            ),
            ("an honest change", prod("    x = float(x)\n"), Pass, ""),
            ("a comment", prod("    # see test_round_half_even\n"), Pass, ""),
        ],
    );
}

#[test]
fn exits_markers_and_only_make_tests_unable_to_fail() {
    let js = |body: &str| {
        let (path, text) =
            ("test/a.test.js", "test('adds numbers well', () => {\n  assert.equal(add(1, 2), 3);\n});\n");
        Scene::new().had(path, text).wrote(path, text.replace("  assert", &format!("{body}  assert")))
    };
    let go = |body: &str| {
        let (path, text) =
            ("a_test.go", "package a\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1) != 2 {\n\t\tt.Fatal(1)\n\t}\n}\n");
        Scene::new().had(path, text).wrote(path, text.replace("\tif Add", &format!("{body}\tif Add")))
    };
    let inline = "pub fn add() -> u8 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds_it() {\n        assert_eq!(super::add(), 1);\n    }\n}\n";
    let rust = |from: &str, to: &str| Scene::new().had("src/b.rs", inline).wrote("src/b.rs", inline.replace(from, to));
    hold(
        ID,
        vec![
            ("process.exit", js("  process.exit(0);\n"), Deny, "test/a.test.js:2"),
            ("a failing exit", js("  if (x) process.exit(1);\n"), Info, "test-edited"),
            ("a computed exit", js("  process.exit(failed);\n"), Ask, "exit-possible"),
            ("in a string", js("  run('process.exit(0)');\n"), Info, "test-edited"),
            ("os.Exit", go("\tos.Exit(0)\n"), Deny, "exit-in-test"),
            ("t.Skip", go("\tt.Skip()\n"), Deny, "marker-added"),
            ("a skip under a condition", go("\tif testing.Short() {\n\t\tt.Skip()\n\t}\n"), Ask, "marker-conditional"),
            (
                "process::exit in a region",
                rust("        assert", "        std::process::exit(0);\n        assert"),
                Deny,
                "src/b.rs:7",
            ),
            ("process::exit in production", rust("{ 1 }", "{ std::process::exit(0) }"), Pass, ""),
            ("a module compiled never", rust("#[cfg(test)]", "#[cfg(any())]"), Deny, "marker-added"),
            (
                "only",
                Scene::new()
                    .had("test/a.test.js", "it('a b c', () => { ok(1); });\n")
                    .wrote("test/a.test.js", "it.only('a b c', () => { ok(1); });\n"),
                Deny,
                "only-added",
            ),
            (
                "a test of an exit",
                Scene::new().wrote(
                    "test_a.py",
                    "def test_leaves():\n    with pytest.raises(SystemExit):\n        sys.exit(0)\n",
                ),
                Ask,
                "exit-possible",
            ),
            (
                "was marked before",
                Scene::new()
                    .had("test_a.py", "@pytest.mark.skip\ndef test_a():\n    assert f() == 1\n")
                    .wrote("test_a.py", "@pytest.mark.skip(reason='x')\ndef test_a():\n    assert f() == 1\n"),
                Pass,
                "",
            ),
            (
                "a Java test without its demand",
                Scene::new()
                    .had("src/test/java/A.java", "a();\nassertEquals(1, a());\n")
                    .wrote("src/test/java/A.java", "a();\n"),
                Ask,
                "test-file-unread",
            ),
        ],
    );
}

#[test]
fn what_tests_load_and_cannot_be_read_is_said() {
    let loading = "def test_a():\n    assert load('fixture-data.json') == 1\n";
    let settings = |settings: &mut Settings| settings.tests.files = vec!["{".to_owned()];
    let moved = |script: &str| {
        let page = format!("{{\"scripts\": {{\"test\": \"{script}\"}}}}\n");
        let text = TONGUES[2].text;
        Scene::new().had("package.json", page).had("test/a.test.js", text).had("other/x.js", "1\n").moved(
            "test/a.test.js",
            "attic/a.test.js",
            |t| t,
        )
    };
    hold(
        ID,
        vec![
            (
                "an ignored file",
                Scene::new().wrote("test_a.py", loading).saw(SightingKind::IgnoredFile, "data/fixture-data.json"),
                Ask,
                "ignored-file-loaded",
            ),
            (
                "another ignored file",
                Scene::new().wrote("test_a.py", loading).saw(SightingKind::IgnoredFile, "data/other-data.json"),
                Info,
                "tests-added",
            ),
            ("globs that cannot be read", Scene::new().wrote("x", "1").set(settings), Unknown, "tests: {files"),
            ("out of the declared folder", moved("node --test test/"), Deny, "test-uncollected"),
            ("where nothing is declared", moved("node --test"), Info, "test-moved"),
        ],
    );
}

#[test]
fn a_flood_of_findings_is_counted_not_listed() {
    let stand = Stand::new();
    let tests: String = (0..500).map(|n| format!("def test_number_{n}():\n    assert f({n}) == {n}\n")).collect();
    let scene = Scene::new().had("test_a.py", tests).wrote("test_a.py", "x = 1\n");
    let report = report(&stand, &scene);
    assert_eq!((report.state, report.findings.len()), (Deny, 100));
    assert!(all(&report).contains("and 400 more"));
}

#[test]
fn every_rule_has_one_row_and_a_reason() {
    let ids: std::collections::BTreeSet<&str> = RULES.iter().map(|(id, ..)| *id).collect();
    assert_eq!(ids.len(), RULES.len());
    for (id, state, why) in RULES {
        assert!(matches!(state, Deny | Ask | Info), "{id}");
        assert!(!why.is_empty() && !why.ends_with('.'), "{id}");
    }
}
