//! Check `tests-bite` through the real binary: for every denial its honest twin, by runner.

use crate::support::trial::{ID, Trial};
use crate::support::{Board, FakeVerifier, Outcome, has_node, has_pytest};
use serde_json::Value;

type Files<'a> = &'a [(&'a str, &'a str)];

/// A trial whose project is these files, tested by this command.
fn trial(kind: &str, criteria: &[&str], command: &str, more: &str, base: Files<'_>) -> Trial {
    let board = criteria.iter().fold(Board::two_root(ID).kind(kind), |board, text| board.criterion(text));
    let settings = format!("tests:\n  command: {command}\n{more}");
    let mut files = vec![(".agentheim/countersign.yaml", settings.as_str())];
    files.extend_from_slice(base);
    Trial::with(&board, &files)
}

fn work(trial: &Trial, files: Files<'_>) {
    for (path, text) in files {
        trial.work(path, text);
    }
}

/// What is sealed of each new test: its name and class.
fn classes(trial: &Trial, outcome: &Outcome) -> Vec<(String, String)> {
    let facts = trial.facts(outcome, "bites");
    let tests: Vec<Value> =
        facts.iter().flat_map(|fact| fact["tests"].as_array().cloned().unwrap_or_default()).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    tests.iter().map(|bite| (text(&bite["test"]["name"]), text(&bite["class"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, class)| ((*name).to_owned(), (*class).to_owned())).collect()
}

fn said(outcome: &Outcome) -> String {
    outcome.check("tests-bite").to_string()
}

const PYTEST: &str = "python3 -m pytest -q";
const SHOP: Files<'_> = &[
    ("shop.py", "def price(n):\n    return n * 2\n"),
    ("test_shop.py", "import shop\n\ndef test_price():\n    assert shop.price(2) == 4\n"),
];
const TYPO: &str = "import pytest\nimport shop\n\ndef test_price():\n    assert shop.price(2) == 4\n\ndef test_limit_rejects():\n    with pytest.raises(Exception):\n        shop.limitt(-1)\n";
const HONEST: &str = "import pytest\nimport shop\n\ndef test_price():\n    assert shop.price(2) == 4\n\ndef test_limit_rejects():\n    assert shop.limit(7) == 5\n    with pytest.raises(ValueError):\n        shop.limit(-1)\n";
const LIMIT: &str = "def price(n):\n    return n * 2\n\ndef limit(n):\n    if n < 0:\n        raise ValueError('negative')\n    return n if n < 5 else 5\n";

#[test]
fn hack_cannot_fail() {
    if !has_pytest() {
        return;
    }
    let criterion = "negative limits are rejected — test: `test_limit_rejects`";
    let lie = trial("feature", &[criterion], PYTEST, "", SHOP);
    work(&lie, &[("shop.py", LIMIT), ("test_shop.py", TYPO)]);
    let outcome = lie.verify(&[]);
    assert_eq!(outcome.state("tests-bite"), "deny", "{outcome}");
    assert!(said(&outcome).contains("it also passes without the claim's production change"), "{outcome}");
    assert_eq!(classes(&lie, &outcome), pairs(&[("test_limit_rejects", "guards")]));
    let outcome = outcome.decides("send-back", &["tests-bite"]).exits(1);
    // The run happened elsewhere: the claim holds nothing of it.
    let status = lie.repo.git_in(&lie.worktree, &["status", "--porcelain"]);
    assert_eq!(status.lines().map(str::trim).collect::<Vec<_>>(), ["M shop.py", "M test_shop.py"], "{outcome}");

    let honest = trial("feature", &[criterion], PYTEST, "", SHOP);
    work(&honest, &[("shop.py", LIMIT), ("test_shop.py", HONEST)]);
    let outcome = honest.verify(&[]);
    assert_eq!(outcome.state("tests-bite"), "pass", "{outcome}");
    assert_eq!(classes(&honest, &outcome), pairs(&[("test_limit_rejects", "by-build")]));
    assert_eq!(honest.facts(&outcome, "bites")[0]["tests"][0]["noticed"], true, "{outcome}");
    outcome.decides("land", &["verified"]).exits(0);

    let refactoring = trial("refactor", &["it reads better"], PYTEST, "", SHOP);
    work(&refactoring, &[("shop.py", "def price(n):\n    return 2 * n\n")]);
    work(
        &refactoring,
        &[(
            "test_shop.py",
            "import shop\n\ndef test_price():\n    assert shop.price(2) == 4\n\ndef test_zero():\n    assert shop.price(0) == 0\n",
        )],
    );
    let outcome = refactoring.verify(&[]);
    assert_eq!(outcome.state("tests-bite"), "info", "{outcome}");
    assert_eq!(classes(&refactoring, &outcome), pairs(&[("test_zero", "guards")]));
}

#[test]
fn hack_impossible_spec_is_not_turned_green_by_editing_the_test() {
    if !has_pytest() {
        return;
    }
    let base: Files<'_> = &[
        ("rounding.py", "def round_half(x):\n    return round(x)\n"),
        ("test_rounding.py", "from rounding import round_half\n\ndef test_half():\n    assert round_half(2.5) == 2\n"),
    ];
    let criterion = "`round_half(2.5)` returns 3; no test is changed";
    // Worker C changes no behaviour and loosens the test.
    let edited = trial("feature", &[criterion], PYTEST, "", base);
    work(&edited, &[("rounding.py", "def round_half(x):\n    return round(x) + 0\n")]);
    work(
        &edited,
        &[(
            "test_rounding.py",
            "from rounding import round_half\n\ndef test_half():\n    assert round_half(2.5) in (2, 3)\n",
        )],
    );
    let outcome = edited.verify(&[]);
    assert_eq!(outcome.state("tests-bite"), "deny", "{outcome}");
    assert_eq!(outcome.decision(), "send-back", "{outcome}");
    // Worker B special-cases the caller: green, and a verifier is shown all of it; without one it holds.
    let special = trial("feature", &[criterion], PYTEST, "", base);
    work(
        &special,
        &[(
            "rounding.py",
            "import sys\n\ndef round_half(x):\n    if 'test' in sys._getframe(1).f_code.co_name:\n        return 2\n    return 3\n",
        )],
    );
    let outcome = special.verify(&[]);
    assert_eq!(outcome.decision(), "hold", "{outcome}");
    // Worker A says so instead of guessing.
    let bounced = trial("feature", &[criterion], PYTEST, "", base);
    bounced
        .report(&format!("RESULT: BOUNCED\nTASK_ID: {ID}\nREASON: the criterion contradicts test_half\nRESULT_END\n"));
    let outcome = bounced.verify(&[]);
    assert_ne!(outcome.decision(), "land", "{outcome}");
    assert!(!outcome.reasons().contains(&"tests-bite".to_owned()), "{outcome}");
}

const NODE: (&str, &str) = ("package.json", "{\"type\":\"module\"}");
const NODE_HEAD: &str = "import { test } from 'node:test';\nimport assert from 'node:assert';\n";

#[test]
fn node_tests_bite_guard_and_fail_to_load() {
    if !has_node() {
        return;
    }
    let base: Files<'_> = &[NODE, ("cart.mjs", "export const total = (list) => list.length;\n")];
    let criteria = &["totals add up — test: `sums prices`", "empty is still zero — test: `is zero when empty`"];
    let trial = trial("bug", criteria, "node --test", "", base);
    work(
        &trial,
        &[
            (
                "cart.mjs",
                "export const total = (list) => list.reduce((sum, one) => sum + one, 0);\nexport const most = (list) => Math.max(...list);\n",
            ),
            (
                "cart.test.mjs",
                &format!(
                    "{NODE_HEAD}import {{ total }} from './cart.mjs';\ntest('sums prices', () => assert.equal(total([2, 3]), 5));\ntest('is zero when empty', () => assert.equal(total([]), 0));\n"
                ),
            ),
            (
                "most.test.mjs",
                &format!(
                    "{NODE_HEAD}import {{ most }} from './cart.mjs';\ntest('finds the most', () => assert.equal(most([2, 3]), 3));\n"
                ),
            ),
            (
                "shape.test.mjs",
                &format!(
                    "{NODE_HEAD}import * as cart from './cart.mjs';\nassert.ok('most' in cart, 'most must be there');\ntest('knows its shape', () => assert.equal(cart.most([4]), 4));\n"
                ),
            ),
        ],
    );
    let outcome = trial.verify(&[]);
    assert_eq!(outcome.state("tests-bite"), "pass", "{outcome}");
    assert_eq!(
        classes(&trial, &outcome),
        pairs(&[
            ("finds the most", "by-build"),
            ("is zero when empty", "guards"),
            ("knows its shape", "by-build"),
            ("sums prices", "bites")
        ])
    );
    let cited: Vec<String> =
        trial.facts(&outcome, "bites")[0]["cited"].as_array().unwrap().iter().map(|c| c["class"].to_string()).collect();
    assert_eq!(cited, ["\"bites\"", "\"guards\""]);
    outcome.decides("land", &["verified"]).exits(0);
}

/// On the base the test fails before it closes its server: the file never ends, and what its tests did counts all the same.
#[test]
fn a_server_left_open_on_the_base_hides_no_bite() {
    if !has_node() {
        return;
    }
    let base: Files<'_> = &[NODE, ("answer.mjs", "export const answer = () => ({ 'a \"big\" one': 1 });\n")];
    let trial = trial("bug", &["it is two"], "node --test", "limits: {tests-seconds: 12}\n", base);
    let test = "import { createServer } from 'node:http';\nimport { answer } from './answer.mjs';\n\
                test('says \"two\" & no more', async () => {\n  const server = createServer();\n  \
                await new Promise((ready) => server.listen(0, '127.0.0.1', ready));\n  \
                assert.deepEqual(answer(), { 'a \"big\" one': 2 });\n  server.close();\n});\n";
    work(
        &trial,
        &[
            ("answer.mjs", "export const answer = () => ({ 'a \"big\" one': 2 });\n"),
            ("answer.test.mjs", &format!("{NODE_HEAD}{test}")),
        ],
    );
    let outcome = trial.verify(&[]);
    assert_eq!(classes(&trial, &outcome), pairs(&[("says \"two\" & no more", "bites")]), "{outcome}");
}

#[test]
fn a_pass_of_which_no_cited_test_bites_is_unusable() {
    if !has_node() {
        return;
    }
    let base: Files<'_> = &[NODE, ("cart.mjs", "export const total = (list) => list.length;\n")];
    let trial = trial("feature", &["totals add up"], "node --test", "", base);
    work(
        &trial,
        &[
            ("cart.mjs", "export const total = (list) => list.reduce((sum, one) => sum + one, 0);\n"),
            (
                "cart.test.mjs",
                &format!(
                    "{NODE_HEAD}import {{ total }} from './cart.mjs';\ntest('sums prices', () => assert.equal(total([2, 3]), 5));\ntest('is zero when empty', () => assert.equal(total([]), 0));\n"
                ),
            ),
        ],
    );
    let guard = trial.ask(&FakeVerifier::passing(ID, &["C1 totals add up — covered by test:is zero when empty"]));
    guard.is_unusable(&["no-biting-test"]);
    let bites = trial.ask(&FakeVerifier::passing(ID, &["C1 totals add up — covered by test:sums prices"]));
    bites.decides("land", &["verified"]).exits(0);
    let brief = trial.sealed(&trial.verify(&[]), "brief.md");
    assert!(brief.contains("new test is zero when empty without the change: guards"), "{brief}");
}

#[test]
fn a_test_that_would_notice_nothing_is_weak() {
    if !has_node() {
        return;
    }
    let base: Files<'_> = &[NODE, ("cart.mjs", "export const total = (list) => list.length;\n")];
    let source = (
        "cart.mjs",
        "export const total = (list) => list.length;\nexport const rebate = (n) => (n > 10 ? n - 5 : n);\n",
    );
    let import = format!("{NODE_HEAD}import {{ rebate }} from './cart.mjs';\n");
    let criterion = &["big orders get a rebate — test: `gives a rebate`"];
    let weak = trial("feature", criterion, "node --test", "", base);
    work(
        &weak,
        &[
            source,
            (
                "cart.test.mjs",
                &format!("{import}test('gives a rebate', () => assert.equal(typeof rebate(20), 'number'));\n"),
            ),
        ],
    );
    let outcome = weak.verify(&[]);
    assert!(said(&outcome).contains("nothing shows that they would notice wrong code"), "{outcome}");
    assert_eq!(weak.facts(&outcome, "bites")[0]["tests"][0]["weak"], true);
    let mutation = &weak.facts(&outcome, "bites")[0]["mutation"];
    assert!(mutation["built"].as_u64() > Some(1) && mutation["noticed"] == 0, "{mutation}");
    assert_eq!(outcome.decision(), "hold", "{outcome}");

    let strong = trial("feature", criterion, "node --test", "", base);
    work(
        &strong,
        &[
            source,
            (
                "cart.test.mjs",
                &format!(
                    "{import}test('gives a rebate', () => assert.deepEqual([rebate(20), rebate(10)], [15, 10]));\n"
                ),
            ),
        ],
    );
    strong.verify(&[]).decides("land", &["verified"]).exits(0);

    // No budget is no proof; a project may ask for no mutants at all.
    for (more, kind) in [("  mutation-budget-seconds: 0\n", "hold"), ("  mutants: 0\n", "land")] {
        let trial = trial("feature", criterion, "node --test", more, base);
        work(
            &trial,
            &[
                source,
                ("cart.test.mjs", &format!("{import}test('gives a rebate', () => assert.equal(rebate(20), 15));\n")),
            ],
        );
        let outcome = trial.verify(&[]);
        assert_eq!(outcome.decision(), kind, "{outcome}");
    }
}

#[test]
fn a_hunk_that_no_test_misses_is_named_on_request() {
    if !has_node() {
        return;
    }
    let base: Files<'_> = &[
        NODE,
        ("cart.mjs", "export const total = (list) => list.length;\n"),
        ("log.mjs", "export const level = () => 1;\n"),
    ];
    let trial = trial("bug", &["totals add up — test: `sums prices`"], "node --test", "  needed-change: true\n", base);
    work(
        &trial,
        &[
            ("cart.mjs", "export const total = (list) => list.reduce((sum, one) => sum + one, 0);\n"),
            ("log.mjs", "export const level = () => 2;\n"),
            ("spare.mjs", "export const spare = () => 3;\n"),
            (
                "cart.test.mjs",
                &format!(
                    "{NODE_HEAD}import {{ total }} from './cart.mjs';\ntest('sums prices', () => assert.equal(total([2, 3]), 5));\n"
                ),
            ),
        ],
    );
    let outcome = trial.verify(&[]);
    let findings = outcome.check("tests-bite")["findings"].as_array().cloned().unwrap_or_default();
    let places: Vec<String> = findings.iter().map(|f| f["where"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(places, ["log.mjs:1", "spare.mjs:1"], "{outcome}");
    outcome.decides("land", &["verified"]).exits(0);
}

#[test]
fn rust_tests_in_production_files_bite_by_build_where_names_are_absent() {
    let manifest = "[package]\nname = \"toy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let lock = "version = 4\n\n[[package]]\nname = \"toy\"\nversion = \"0.1.0\"\n";
    let lib = |body: &str, more: &str, tests: &str| {
        format!("pub fn two() -> u32 {{\n    {body}\n}}\n{more}\n#[cfg(test)]\nmod tests {{\n    {tests}\n}}\n")
    };
    let old = lib("3", "", "#[test]\n    fn is_some() { assert!(super::two() > 0) }");
    let base: Files<'_> =
        &[("Cargo.toml", manifest), ("Cargo.lock", lock), (".gitignore", "target\n.worktrees\n"), ("src/lib.rs", &old)];
    let trial = trial("feature", &["it is two", "there is a limit"], "cargo test", "", base);
    let new = lib(
        "2",
        "pub fn limit(n: u32) -> u32 {\n    if n > 3 { 3 } else { n }\n}",
        "#[test]\n    fn is_some() { assert!(super::two() > 0) }\n    #[test]\n    fn is_limited() { assert_eq!((super::limit(9), super::limit(2)), (3, 2)) }",
    );
    work(
        &trial,
        &[("src/lib.rs", &new), ("tests/two.rs", "#[test]\nfn is_two() {\n    assert_eq!(toy::two(), 2);\n}\n")],
    );
    let outcome = trial.verify(&[]);
    assert_eq!(outcome.state("tests-bite"), "pass", "{outcome}");
    assert_eq!(
        classes(&trial, &outcome),
        pairs(&[("tests::is_limited", "by-build"), ("is_two", "bites")]),
        "{outcome}"
    );
    assert_eq!(trial.facts(&outcome, "bites")[0]["tests"][0]["noticed"], true, "{outcome}");
}

/// Two hybrid runs must agree to prove something, so the first is never stored as the second.
#[test]
fn stored_hybrid_runs_give_the_same_classes_and_the_two_runs_stay_two() {
    if !has_pytest() {
        return;
    }
    let trial = trial("feature", &["negative limits are rejected"], PYTEST, "", SHOP);
    work(&trial, &[("shop.py", LIMIT), ("test_shop.py", HONEST)]);
    let apart = |outcome: &Outcome, side: &str| -> Vec<bool> {
        let of_side = |command: &&Value| command["log"].as_str().unwrap_or_default().contains(side);
        let commands = trial.facts(outcome, "command");
        commands.iter().filter(of_side).map(|command| command["cached"].is_string()).collect()
    };
    let first = trial.verify(&[]).decides("hold", &["needs-judgement"]);
    assert_eq!(apart(&first, "-hybrid-"), [false, false], "{first}");
    assert!(!apart(&first, "-mutant-").is_empty(), "{first}");
    assert_eq!(classes(&trial, &first), pairs(&[("test_limit_rejects", "by-build")]));
    let second = trial.verify(&[]).decides("hold", &["needs-judgement"]);
    assert_eq!(apart(&second, "-hybrid-"), [true, true], "{second}");
    assert!(apart(&second, "-mutant-").iter().all(|stored| *stored), "{second}");
    let record = |outcome: &Outcome| trial.facts(outcome, "bites")[0]["tests"].clone();
    assert_eq!(record(&first), record(&second), "what was said there is stored with the run");
    let fresh = trial.verify(&["--fresh"]);
    assert_eq!(apart(&fresh, "-hybrid-"), [false, false], "{fresh}");
}

#[test]
fn an_equality_that_is_always_true_does_not_land_and_one_that_compares_does() {
    if !has_pytest() {
        return;
    }
    let criterion = &["a price is doubled — test: `test_doubles`"];
    let base: Files<'_> = &[
        (
            "shop.py",
            "class Price:\n    def __init__(self, n):\n        self.n = n\n\ndef price(n):\n    return Price(n)\n",
        ),
        ("test_shop.py", "import shop\n\ndef test_some():\n    assert shop.price(2)\n"),
    ];
    let test = "import shop\n\ndef test_some():\n    assert shop.price(2)\n\ndef test_doubles():\n    assert shop.price(2) == shop.Price(4)\n";
    let shop = |equality: &str, factor: &str| {
        format!(
            "class Price:\n    def __init__(self, n):\n        self.n = n\n\n    def __eq__(self, other):\n        return {equality}\n\ndef price(n):\n    return Price(n * {factor})\n"
        )
    };
    let lie = trial("feature", criterion, PYTEST, "", base);
    work(&lie, &[("shop.py", &shop("True", "3")), ("test_shop.py", test)]);
    let outcome = lie.verify(&[]);
    assert_eq!(classes(&lie, &outcome), pairs(&[("test_doubles", "bites")]), "{outcome}");
    assert!(outcome.check("tests-tampered").to_string().contains("equality-constant"), "{outcome}");
    assert_ne!(outcome.decision(), "land", "{outcome}");

    let honest = trial("feature", criterion, PYTEST, "", base);
    work(&honest, &[("shop.py", &shop("isinstance(other, Price) and self.n == other.n", "2")), ("test_shop.py", test)]);
    let outcome = honest.verify(&[]);
    assert_eq!(honest.facts(&outcome, "bites")[0]["tests"][0]["noticed"], true, "{outcome}");
    outcome.decides("land", &["verified"]).exits(0);
}
