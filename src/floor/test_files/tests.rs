use super::*;
use proptest::prelude::*;

fn at(path: &str) -> RepoPath {
    RepoPath::from(path)
}

fn named(path: &str, text: &str) -> Vec<String> {
    definitions(&at(path), text.as_bytes()).into_iter().map(|test| test.name).collect()
}

#[test]
fn every_language_has_its_habit() {
    for (path, role) in [
        ("tests/it/main.rs", FileRole::Test),
        ("src/floor/tests.rs", FileRole::Test),
        ("src/floor/tests_run.rs", FileRole::Production),
        ("test_a.py", FileRole::Test),
        ("pkg/a_test.py", FileRole::Test),
        ("tests/helper.py", FileRole::Test),
        ("tests/conftest.py", FileRole::Configuration),
        ("src/a.py", FileRole::Production),
        ("src/a.test.ts", FileRole::Test),
        ("src/__tests__/a.jsx", FileRole::Test),
        ("test/a.mjs", FileRole::Test),
        ("src/latest.js", FileRole::Production),
        ("pkg/a_test.go", FileRole::Test),
        ("pkg/a.go", FileRole::Production),
        ("app/src/test/java/A.java", FileRole::Test),
        ("src/Calc.Tests/CalcTests.cs", FileRole::Test),
        ("spec/a_spec.rb", FileRole::Test),
        ("tests/FooTest.php", FileRole::Test),
        ("src/__snapshots__/a.test.js.snap", FileRole::Snapshot),
        ("tests/expected/a.txt", FileRole::Snapshot),
        ("tests/data/a.json", FileRole::Other),
        ("jest.config.js", FileRole::Configuration),
        (".github/workflows/ci.yml", FileRole::Configuration),
        ("README.md", FileRole::Other),
    ] {
        assert_eq!(classify(&at(path), b""), role, "{path}");
    }
}

#[test]
fn the_settings_word_comes_first() {
    let settings = TestSettings { files: vec!["checks/**".to_owned()], ..TestSettings::default() };
    let files = TestFiles::new(&settings).unwrap();
    assert_eq!(files.classify(&at("checks/a.js"), b""), FileRole::Test);
    assert!(files.defines_tests(&at("checks/a.js"), b"test('x', () => {})"));
    assert!(!files.defines_tests(&at("checks/a.js"), b"export const x = 1"));
    assert!(files.defines_tests(&at("src/test/java/A.java"), b"class A {}"), "unread languages count by role");
    assert!(TestFiles::new(&TestSettings { files: vec!["{".to_owned()], ..TestSettings::default() }).is_err());
}

const RUST: &str = r#"//! A page.
pub fn a() -> &'static str { "}" }

#[cfg(test)]
use x::y;

/// Says a.
#[test]
fn alone() {
    assert_eq!(a(), "}");
}

#[cfg(not(test))]
fn b() {}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    fn helper(x: &str) { assert!(!x.is_empty()) }
    #[tokio::test]
    #[ignore = "slow"]
    async fn slow() { helper(a()); }
    mod inner {
        #[test_case(1, 2)]
        #[should_panic(expected = "x")]
        fn cased(a: u8, b: u8) { f(a, b) }
    }
}

#[cfg(test)]
mod more;
"#;

#[test]
fn a_rust_file_is_split_by_region() {
    let FileRole::Mixed { regions } = classify(&at("src/a.rs"), RUST.as_bytes()) else { panic!("not mixed") };
    assert_eq!(regions, [4..6, 7..12, 16..29, 30..32]);
    let tests = definitions(&at("src/a.rs"), RUST.as_bytes());
    let names: Vec<_> = tests.iter().map(|test| (test.name.as_str(), test.lines.clone())).collect();
    assert_eq!(names, [("alone", 8..12), ("tests::slow", 20..23), ("tests::inner::cased", 24..27)]);
    assert_eq!(tests[0].assertions[0].text, "assert_eq ! ( a ( ) , \"}\"");
    assert_eq!(
        tests[1].markers.iter().map(|m| (m.kind, m.conditional)).collect::<Vec<_>>(),
        [(MarkerKind::Skip, true), (MarkerKind::Skip, false)]
    );
    assert!(tests[1].can_fail, "a call into a helper that asserts");
    assert_eq!(tests[2].parameters, "# [ test_case ( 1 , 2 ) ]");
    assert!(tests[2].markers.iter().any(|marker| marker.kind == MarkerKind::MustPanic));
    assert_eq!(classify(&at("src/a.rs"), b"#![cfg(test)]\nfn a() {}"), FileRole::Test);
    assert_eq!(classify(&at("src/a.rs"), b"#[cfg(any(test, x))]\nfn a() {}"), FileRole::Production);
}

#[test]
fn python_tests_are_found_as_pytest_finds_them() {
    let text = r#"
"""test_not in text: def test_z(): pass"""
import pytest

def helper(x):
    assert x

@pytest.mark.parametrize("a,b", [
    (1, 2),
])
def test_a(a, b):
    """doc
def test_in_doc(): pass
"""
    assert f(a) == b, "why"
    def test_nested(): pass

class TestB(Base):
    @pytest.mark.skip(reason="x")
    async def test_c(self):
        with pytest.raises(ValueError):
            f()

    def other(self): pass

class Plain:
    def test_not(self): pass

class Case(unittest.TestCase):
    def test_d(self): self.assertEqual(1, 1)

@pytest.mark.skipif(sys.platform == "win32", reason="x")
def test_e():
    if f():
        pytest.skip("x")
    helper(1)
"#;
    let tests = definitions(&at("test_x.py"), text.as_bytes());
    let names: Vec<_> = tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["test_a", "TestB::test_c", "Case::test_d", "test_e"]);
    assert!(tests[0].parameters.contains("( 1 , 2 )"));
    assert_eq!(tests[0].assertions[0].text, "f ( a ) == b");
    assert_eq!(tests[0].lines, 8..17);
    assert_eq!((tests[1].markers[0].kind, tests[1].markers[0].conditional), (MarkerKind::Skip, false));
    assert_eq!(tests[1].assertions[0].strength, Strength::Exact);
    assert_eq!(tests[2].assertions[0].strength, Strength::Nothing);
    assert!(tests[3].markers.iter().all(|marker| marker.conditional) && tests[3].markers.len() == 2);
    assert!(tests[3].can_fail && tests[3].assertions.is_empty());
    let module = definitions(&at("test_x.py"), b"pytestmark = pytest.mark.skip\ndef test_a(): assert f()\n");
    assert!(!module[0].markers[0].conditional);
}

#[test]
fn a_javascript_name_is_what_its_string_means() {
    let text = r#"test('What\'s "next"', () => {}); test("a \\ and\ta \u2014", () => {});"#;
    let names: Vec<_> = definitions(&at("a.test.js"), text.as_bytes()).into_iter().map(|test| test.name).collect();
    assert_eq!(names, ["What's \"next\"", "a \\ and\ta \\u2014"]);
}

#[test]
fn javascript_tests_are_found_in_every_dialect() {
    let text = r"
import test from 'node:test';
// test('no', () => {})
describe('outer', () => {
  beforeEach(() => {});
  it('one `quoted`', async () => { expect(await f(')')).not.toBe(2); });
  it.skip('two', () => {});
  test.each([[1, 2], [3, 4]])('adds %i', (a, b) => { expect(a).toBeLessThan(b); });
});
test('node', { skip: true }, (t) => {
  t.test('sub', () => { assert.strictEqual(f(/[/(]/), 1); });
  assert.ok(x);
});
if (/x/.test('y')) { regexp.test(line); }
xit('three', function () { this.skip(); });
for (const c of cases) test(`case ${c}`, () => assert.equal(c, 1));
const check = (x) => { assert.equal(x, 1); };
";
    let tests = definitions(&at("a.test.js"), text.as_bytes());
    let names: Vec<_> = tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(
        names,
        ["outer::one `quoted`", "outer::two", "outer::adds %i", "node", "node::sub", "three", "case ${c}"]
    );
    let kinds = |index: usize| tests[index].markers.iter().map(|m| m.kind).collect::<Vec<_>>();
    assert_eq!(kinds(1), [MarkerKind::Skip]);
    assert_eq!(kinds(3), [MarkerKind::Skip]);
    assert_eq!(kinds(5).len(), 2);
    assert_eq!(tests[2].parameters, "( [ [ 1 , 2 ] , [ 3 , 4 ] ] )");
    assert_eq!(tests[0].assertions[0].strength, Strength::Partial);
    assert_eq!(tests[3].assertions.len(), 1, "the subtest's assertion is its own");
    assert_eq!(tests[4].assertions[0].strength, Strength::Exact);
    let functions = outline(&at("a.test.js"), text.as_bytes()).unwrap().functions;
    assert!(functions.iter().any(|function| function.name == "check" && function.assertions.len() == 1));
}

#[test]
fn go_tests_are_found_with_their_conditions() {
    let text = "package a\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(1, 2); got != 3 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n\trequire.NotNil(t, x)\n}\n\nfunc Testify(t *testing.T) {}\nfunc helper(t *testing.T) { t.Fatal(1) }\nfunc (s *S) TestM(t *testing.T) {}\nfunc TestSkip(t *testing.T) {\n\tt.Skip()\n}\n";
    let tests = definitions(&at("a_test.go"), text.as_bytes());
    assert_eq!(tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>(), ["TestAdd", "TestSkip"]);
    assert_eq!(tests[0].assertions[0].text, "if got := Add ( 1 , 2 ) ; got != 3");
    assert_eq!(tests[0].assertions.iter().map(|a| a.strength).collect::<Vec<_>>(), [Strength::Exact, Strength::Truth]);
    assert_eq!(tests[1].markers, [Marker { kind: MarkerKind::Skip, line: 14, conditional: false }]);
    assert!(tests[1].assertions.is_empty());
}

#[test]
fn an_assertions_strength_is_read_from_its_words() {
    let strength = |path: &str, text: &str| definitions(&at(path), text.as_bytes())[0].assertions[0].strength;
    for (statement, wanted) in [
        ("assert f() == 1", Strength::Exact),
        ("assert f() == pytest.approx(1)", Strength::Partial),
        ("assert f() is not None", Strength::Truth),
        ("assert f()", Strength::Truth),
        ("assert 1 in f()", Strength::Partial),
        ("assert abs(f() - 1) < 1e-9", Strength::Partial),
        ("assert True", Strength::Nothing),
        ("assert x == x", Strength::Nothing),
        ("self.assertEqual(f(), 1)", Strength::Exact),
        ("self.assertIsNotNone(f())", Strength::Truth),
        ("self.assertTrue(f())", Strength::Truth),
        ("self.assertNotEqual(f(), 1)", Strength::Partial),
        ("pytest.raises(ValueError)", Strength::Exact),
        ("pytest.raises(Exception)", Strength::Partial),
    ] {
        assert_eq!(strength("test_a.py", &format!("def test_a():\n    {statement}\n")), wanted, "{statement}");
    }
    for (statement, wanted) in [
        ("expect(f()).toBe(1)", Strength::Exact),
        ("expect(f()).toEqual({a: 1})", Strength::Exact),
        ("expect(f()).toBeTruthy()", Strength::Truth),
        ("expect(f()).toBeDefined()", Strength::Truth),
        ("expect(f()).toBeCloseTo(1)", Strength::Partial),
        ("expect(f).toThrow(RangeError)", Strength::Exact),
        ("expect(f).toThrow()", Strength::Partial),
        ("assert.strictEqual(f(), 1)", Strength::Exact),
        ("assert.ok(f())", Strength::Truth),
        ("assert(f() === 1)", Strength::Exact),
        ("expect(true).toBe(true)", Strength::Nothing),
    ] {
        assert_eq!(strength("a.test.js", &format!("test('a', () => {{ {statement} }})")), wanted, "{statement}");
    }
    for (statement, wanted) in [
        ("assert_eq!(f(), 1);", Strength::Exact),
        ("assert!(f().is_some());", Strength::Truth),
        ("assert!(f() > 1);", Strength::Partial),
        ("assert!(f() == 1);", Strength::Exact),
        ("assert!(true);", Strength::Nothing),
        ("assert_ne!(f(), 1);", Strength::Partial),
    ] {
        assert_eq!(strength("tests/a.rs", &format!("#[test]\nfn a() {{ {statement} }}")), wanted, "{statement}");
    }
}

#[test]
fn a_splice_has_the_bases_production_and_the_claims_tests() {
    let base = "fn a() -> u8 { 1 }\n\n/// Gone.\n#[test]\nfn gone() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { assert_eq!(super::a(), 1) }\n}\n";
    let claim = "fn a() -> u8 { 2 }\nfn b() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { assert_eq!(super::a(), 2) }\n}\n\n#[test]\nfn new() {}\n";
    let spliced = String::from_utf8(splice(base.as_bytes(), claim.as_bytes()).unwrap()).unwrap();
    assert!(spliced.contains("fn a() -> u8 { 1 }") && !spliced.contains("fn b"), "{spliced}");
    assert!(spliced.contains("super::a(), 2") && spliced.contains("fn new() {}"), "{spliced}");
    assert!(!spliced.contains("gone") && !spliced.contains("Gone"), "{spliced}");
    assert_eq!(splice(b"fn a() {}", b"mod m { #[test] fn t() {} }"), Err(SpliceError::Nested("fn t".to_owned())));
    assert_eq!(splice(b"\xff", b""), Err(SpliceError::Encoding));
}

#[test]
fn deep_nesting_costs_no_square() {
    for (path, text) in [
        ("a.test.js", "test('x', () => {".repeat(20_000)),
        ("tests/a.rs", "#[test] fn a() { fn b() {".repeat(20_000)),
        ("tests/a.rs", "{".repeat(500_000)),
        ("tests/a.rs", "fn a(".repeat(50_000)),
        ("test_a.py", "def test_a((".repeat(50_000)),
        ("a_test.go", "func TestA(t *testing.T) {\n".repeat(20_000)),
    ] {
        assert!(outline(&at(path), text.as_bytes()).is_some());
    }
    assert!(outline(&at("a.js"), &vec![b' '; LARGEST_SCANNED + 1]).is_none());
}

/// Whole files in each language, out of well-formed pieces.
fn file(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..6).prop_map(|parts| parts.concat())
}

const RUST_PIECES: &[&str] = &[
    "#[test]\nfn a() { assert!(f('{')); }\n",
    "fn p() {}\n",
    "#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n",
    "// }\n",
    "/// Doc.\n#[cfg(test)]\nuse x;\n",
];
const PYTHON_PIECES: &[&str] =
    &["def test_a():\n    assert f('''\nx''')\n", "class TestX:\n    def test_b(self): pass\n", "x = [\n1]\n", "# c\n"];
const JS_PIECES: &[&str] = &[
    "test('a', () => { expect(1).toBe(f()); });\n",
    "describe('d', () => {\n  it('b', () => {});\n});\n",
    "const x = `}`;\n",
];
const GO_PIECES: &[&str] = &["func TestA(t *testing.T) {\n\tt.Error(\"}\")\n}\n", "var x = `{`\n"];

proptest! {
    #[test]
    fn any_text_is_scanned_without_panic(text in "[a-z \n#@\\[\\](){}'\"`/*:;,.=!é]{0,60}", word in "(test|fn|def|#\\[test\\]|func Test|it\\(|class T|mod|#\\[cfg\\(test\\)\\])") {
        let content = format!("{word} {text}\n{word}{text}");
        for path in ["src/a.rs", "test_a.py", "a.test.ts", "a_test.go", "A.java"] {
            classify(&at(path), content.as_bytes());
            for test in definitions(&at(path), content.as_bytes()) {
                prop_assert!(test.lines.start >= 1 && test.lines.start < test.lines.end);
            }
        }
        prop_assert_eq!(splice(content.as_bytes(), content.as_bytes()).unwrap(), content.as_bytes());
    }

    #[test]
    fn any_bytes_are_scanned_without_panic(content in prop::collection::vec(any::<u8>(), 0..200)) {
        for path in ["src/a.rs", "test_a.py", "a.test.ts", "a_test.go"] {
            definitions(&at(path), &content);
        }
    }

    #[test]
    fn splicing_a_file_into_itself_changes_nothing(text in file(RUST_PIECES)) {
        prop_assert_eq!(splice(text.as_bytes(), text.as_bytes()).unwrap(), text.as_bytes());
    }

    #[test]
    fn definitions_of_two_files_are_those_of_both_together(
        which in 0..4_usize, rust in (file(RUST_PIECES), file(RUST_PIECES)), python in (file(PYTHON_PIECES), file(PYTHON_PIECES)),
        js in (file(JS_PIECES), file(JS_PIECES)), go in (file(GO_PIECES), file(GO_PIECES)),
    ) {
        let (path, (one, two)) = [("tests/a.rs", rust), ("test_a.py", python), ("a.test.js", js), ("a_test.go", go)][which].clone();
        let mut apart = named(path, &one);
        apart.extend(named(path, &two));
        let together = named(path, &format!("{one}{two}"));
        prop_assert_eq!(together, apart);
    }
}
