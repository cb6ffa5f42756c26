//! What runners really print, in their quiet, normal and verbose forms.

use super::*;
use proptest::prelude::*;

fn brought() -> Brought {
    let mut brought = Brought::default();
    for line in ["pub fn limit(n: u32) -> u32 {", "def fresh(x, depth=1):", "export const absent = () => 2;"] {
        brought.line(line);
    }
    for path in ["src/gone.mjs", "lib/pages.py", "skills/new/SKILL.md"] {
        brought.path(path);
    }
    brought
}

fn absent(name: &str) -> Cause {
    Cause::Absent(vec![name.to_owned()])
}

#[track_caller]
fn table(tongue: Tongue, rows: &[(&str, Cause)]) {
    for (text, expected) in rows {
        assert_eq!(cause(tongue, text, &brought()), *expected, "{text}");
    }
}

#[test]
fn rust_failures_are_told_apart() {
    let panic =
        "thread 'tests::x' panicked at src/lib.rs:9:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n";
    let old = "thread 'tests::x' panicked at 'assertion failed: a', src/lib.rs:9:5\n";
    let build = |code: &str, message: &str| {
        format!(
            "error[{code}]: {message}\n --> src/lib.rs:3:5\n  |\n\nerror: could not compile `toy` (lib test) due to 1 previous error\n"
        )
    };
    table(
        Tongue::Rust,
        &[
            (panic, Cause::Assertion),
            (old, Cause::Assertion),
            ("note: test did not panic as expected\n", Cause::Assertion),
            ("Error: \"no\"\n", Cause::Assertion),
            (&build("E0425", "cannot find function `limit` in this scope"), absent("limit")),
            (&build("E0599", "no method named `limit` found for struct `A` in the current scope"), absent("limit")),
            (&build("E0432", "unresolved import `crate::limit`"), absent("crate::limit")),
            ("src/lib.rs:3:5: error[E0425]: cannot find value `limit` in this scope\n", absent("limit")),
            (&build("E0425", "cannot find function `tpyo` in this scope"), Cause::Build),
            (&build("E0433", "failed to resolve: use of undeclared crate or module `tempfile`"), Cause::Build),
            (&build("E0308", "mismatched types"), Cause::Build),
            ("error: expected one of `!` or `::`, found `fn`\n --> src/lib.rs:1:1\n", Cause::Build),
            (
                "thread 'x' panicked at a.rs:1:1:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 13, message: \"Permission denied\" }",
                Cause::Unclassified,
            ),
            (
                "thread 'x' panicked at a.rs:1:1:\nread \"skills/new/SKILL.md\": No such file or directory",
                absent("skills/new/SKILL.md"),
            ),
            ("", Cause::Unclassified),
        ],
    );
}

#[test]
fn compiler_errors_know_their_file() {
    let text = "error[E0425]: cannot find function `limit` in this scope\n   --> tests/a.rs:3:5\n    |\n\
                error[E0433]: failed to resolve\n   --> tests/b.rs:1:1\n\nerror: aborting due to 2 previous errors\n\
                error: could not compile `toy` (test \"a\") due to 2 previous errors\n";
    let files: Vec<String> = compiler_errors(text).into_iter().map(|error| error.file).collect();
    assert_eq!(files, ["tests/a.rs", "tests/b.rs"]);
}

#[test]
fn python_failures_are_told_apart() {
    let collecting = |line: &str| {
        format!(
            "ImportError while importing test module '/r/test_b.py'.\nTraceback:\ntest_b.py:1: in <module>\n    from m import x\nE   {line}\n"
        )
    };
    table(
        Tongue::Python,
        &[
            (
                "def test_a():\n>       assert m.two() == 3\nE       assert 2 == 3\nE        +  where 2 = two()\n\ntest_a.py:2: AssertionError",
                Cause::Assertion,
            ),
            ("assert 2 == 3\n +  where 2 = two()", Cause::Assertion),
            ("AssertionError: assert 2 == 3", Cause::Assertion),
            ("/r/test_a.py:2: AssertionError: assert 2 == 3", Cause::Unclassified),
            ("E       Failed: DID NOT RAISE <class 'ValueError'>\n", Cause::Assertion),
            ("E       ValueError: no such kind\n", Cause::Assertion),
            ("E       AttributeError: module 'm' has no attribute 'fresh'\n", absent("fresh")),
            ("AttributeError: module 'm' has no attribute 'fresh'", absent("fresh")),
            ("E       AttributeError: module 'm' has no attribute 'limt'\n", Cause::Unclassified),
            ("E       AttributeError: 'NoneType' object has no attribute 'fresh'\n", Cause::Assertion),
            ("E       NameError: name 'nopey' is not defined\n", Cause::Unclassified),
            ("E       TypeError: f() got an unexpected keyword argument 'depth'\n", absent("depth")),
            ("E       TypeError: unsupported operand\n", Cause::Assertion),
            ("E       PermissionError: [Errno 13] denied\n", Cause::Unclassified),
            (
                "E       FileNotFoundError: [Errno 2] No such file or directory: 'skills/new/SKILL.md'\n",
                absent("skills/new/SKILL.md"),
            ),
            ("E       FileNotFoundError: [Errno 2] No such file or directory: '/etc/none'\n", Cause::Unclassified),
            (&collecting("ImportError: cannot import name 'fresh' from 'm' (/r/m.py)"), absent("fresh")),
            (&collecting("ModuleNotFoundError: No module named 'lib.pages'"), absent("lib.pages")),
            (&collecting("ModuleNotFoundError: No module named 'requests'"), Cause::Collection),
            (&collecting("SyntaxError: invalid syntax"), Cause::Collection),
            ("", Cause::Unclassified),
        ],
    );
}

#[test]
fn node_failures_are_told_apart() {
    table(
        Tongue::Node,
        &[
            (
                "[Error [ERR_TEST_FAILURE]: 2 == 3] {\n  cause: AssertionError [ERR_ASSERTION]: 2 == 3\n",
                Cause::Assertion,
            ),
            ("  cause: TypeError [Error]: m.absent is not a function\n", absent("absent")),
            ("  cause: TypeError [Error]: list.map is not a function\n", Cause::Assertion),
            ("  cause: ReferenceError [Error]: nopey is not defined\n", Cause::Unclassified),
            ("  cause: TypeError: Cannot read properties of undefined (reading 'absent')\n", absent("absent")),
            ("  cause: TypeError: Cannot read properties of null (reading 'length')\n", Cause::Assertion),
            (
                "SyntaxError: The requested module './m.mjs' does not provide an export named 'absent'\n",
                absent("absent"),
            ),
            (
                "SyntaxError: The requested module './m.mjs' does not provide an export named 'other'\n",
                Cause::Collection,
            ),
            ("SyntaxError: Unexpected token '}'\n", Cause::Collection),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/room/src/gone.mjs' imported from /room/a.test.mjs\n",
                absent("/room/src/gone.mjs"),
            ),
            (
                "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'lodash' imported from /room/a.test.mjs\n",
                Cause::Collection,
            ),
            (
                "Error: ENOENT: no such file or directory, open '/room/skills/new/SKILL.md'\n",
                absent("/room/skills/new/SKILL.md"),
            ),
            ("Error: ENOENT: no such file or directory, open '/etc/none'\n", Cause::Unclassified),
            ("Error: connect ECONNREFUSED 127.0.0.1:1\n", Cause::Unclassified),
            (
                "[Error: test failed] { code: 'ERR_TEST_FAILURE', cause: 'test failed', exitCode: 1 }",
                Cause::Unclassified,
            ),
            ("  cause: Error: unknown kind\n", Cause::Assertion),
            ("", Cause::Unclassified),
        ],
    );
}

#[test]
fn a_runner_we_do_not_know_must_say_that_it_asserted() {
    table(
        Tongue::Any,
        &[
            ("Expected: 3, got: 2", Cause::Assertion),
            ("./a_test.go:4:2: undefined: limit", absent("limit")),
            ("no", Cause::Unclassified),
            ("E       assert 1 == 2\n", Cause::Assertion),
        ],
    );
}

#[test]
fn an_excerpt_is_the_telling_line() {
    assert_eq!(
        excerpt("\nError [ERR_TEST_FAILURE]: x\n  cause: AssertionError: 2 == 3\n"),
        "cause: AssertionError: 2 == 3"
    );
    assert_eq!(excerpt("def t():\nE   assert 2 == 3\n"), "E   assert 2 == 3");
    assert_eq!(excerpt("plain\u{1b}[1m"), escape(b"plain\x1b[1m"));
}

proptest! {
    #[test]
    fn any_text_has_a_cause(text in "(?s).{0,200}") {
        for tongue in [Tongue::Rust, Tongue::Python, Tongue::Node, Tongue::Any] {
            cause(tongue, &text, &brought());
        }
        excerpt(&text);
    }
}
