//! The audit of tests: every lie beside its honest twin, in Rust, Python and JavaScript.

use super::*;
use crate::floor::tests_tampered::ID;
use State::{Ask, Deny, Info};

/// One language's three tests; the second is the red one.
pub(super) struct Tongue {
    path: &'static str,
    pub(super) text: &'static str,
    red: &'static str,
    /// The red test with what keeps it from running.
    marked: [&'static str; 2],
    renamed: &'static str,
    moved: &'static str,
    emptied: &'static str,
    commented: &'static str,
}

pub(super) const TONGUES: [Tongue; 3] = [
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
pub(super) fn report(stand: &Stand, scene: &Scene) -> CheckReport {
    scene.check(stand, ID)
}

pub(super) fn all(report: &CheckReport) -> String {
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
            ("two merged into one", py.scene().wrote(py.path, merged), Info, "test_opens"),
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
    let report = report(&Stand::new(), &py.scene().wrote(py.path, merged));
    assert!(all(&report).contains("test-merged: they stand in `test_opens`"), "{}", all(&report));
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
