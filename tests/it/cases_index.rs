//! The case log's index against the tests: a case is open until a test carries its name, and may stay open only until
//! the code of the issue that completes it is here.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// An issue of the plan, and the file that exists once its code does.
const ISSUES: [(&str, &str); 6] = [
    ("A", "src/cli/verify.rs"),
    ("B", "src/floor/tests_bite.rs"),
    ("C", "src/cli/doctor.rs"),
    ("D", "src/cli/work.rs"),
    ("E", "src/cli/reconcile.rs"),
    ("F", "src/cli/ci.rs"),
];

/// How many cases the log has: a page that lost one must not pass.
const CASES: usize = 92;

/// What a test's name ends in if it covers the part of a case that `verify` alone cannot.
const TO_THE_END: &str = "_to_the_end";

/// One case of the log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Case {
    id: String,
    key: String,
    area: String,
    completed_by: String,
    half: bool,
}

impl Case {
    /// The name a test of it carries.
    fn test_name(&self) -> String {
        self.key.replace('-', "_")
    }

    /// What is due given the issues whose code is here, and missing among these tests.
    fn missing(&self, here: &BTreeSet<&str>, tests: &BTreeSet<String>) -> Vec<String> {
        let (name, due) = (self.test_name(), |issue: &str| here.contains(issue));
        let first = if self.half { "A" } else { &self.completed_by };
        let mut missing = Vec::new();
        let named = |test: &String| {
            test.strip_prefix(&name)
                .is_some_and(|rest| rest.is_empty() || (rest.starts_with('_') && rest != TO_THE_END))
        };
        if due(first) && !tests.iter().any(named) {
            missing.push(format!("{} {}: no test is named `{name}`, due with issue {first}", self.id, self.key));
        }
        if self.half && due(&self.completed_by) && !tests.contains(&format!("{name}{TO_THE_END}")) {
            let by = &self.completed_by;
            missing
                .push(format!("{} {}: no test is named `{name}{TO_THE_END}`, due with issue {by}", self.id, self.key));
        }
        missing
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Reads the index: tables of plain strings, nothing else.
fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        if line == "[[case]]" {
            cases.push(Case::default());
            continue;
        }
        let value = line.split_once(" = \"").and_then(|(name, rest)| Some((name, rest.strip_suffix('"')?)));
        let Some(((name, value), case)) = value.zip(cases.last_mut()) else {
            panic!("tests/cases.toml:{}: expected `name = \"value\"` inside a [[case]], found {line}", number + 1)
        };
        match name {
            "id" => value.clone_into(&mut case.id),
            "key" => value.clone_into(&mut case.key),
            "area" => value.clone_into(&mut case.area),
            "completed-by" => value.clone_into(&mut case.completed_by),
            "half" if value == "verify" => case.half = true,
            _ => panic!("tests/cases.toml:{}: unknown {line}", number + 1),
        }
    }
    cases
}

fn index() -> Vec<Case> {
    parse(&std::fs::read_to_string(root().join("tests/cases.toml")).unwrap())
}

/// The names of all test functions in `src` and `tests/it`.
fn test_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in ["src", "tests/it"] {
        for entry in walkdir::WalkDir::new(root().join(folder)).into_iter().filter_map(Result::ok) {
            if entry.path().extension().is_some_and(|ext| ext == "rs") {
                names.extend(tests_in(&std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    names
}

/// Functions whose attributes make them tests that run: an ignored one covers nothing.
fn tests_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut attributes = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
        } else if let Some(rest) = line.strip_prefix("fn ") {
            let is_test = attributes.contains(&"#[test]") && !attributes.iter().any(|a| a.starts_with("#[ignore"));
            if let Some((name, _)) = rest.split_once('(').filter(|_| is_test) {
                names.push(name.to_owned());
            }
            attributes.clear();
        } else if !line.starts_with("//") {
            attributes.clear();
        }
    }
    names
}

#[test]
fn the_index_names_every_case_once() {
    let cases = index();
    assert_eq!(cases.len(), CASES);
    let unique = |of: fn(&Case) -> &String| cases.iter().map(of).collect::<BTreeSet<_>>().len();
    assert_eq!((unique(|case| &case.id), unique(|case| &case.key)), (CASES, CASES));
    for case in &cases {
        assert!(ISSUES.iter().any(|(issue, _)| *issue == case.completed_by), "{}: who completes it?", case.id);
        assert_ne!(case.area, "", "{}", case.id);
        assert!(!case.half || case.completed_by != "A", "{}: half of what?", case.id);
        let name = case.test_name();
        let prefix = |other: &&Case| other.test_name().starts_with(&format!("{name}_"));
        assert_eq!(cases.iter().find(prefix), None, "a test of this case would count for {}", case.id);
    }
}

#[test]
fn every_case_whose_code_is_here_has_its_test() {
    let here = ISSUES.iter().filter(|(_, marker)| root().join(marker).exists()).map(|(issue, _)| *issue).collect();
    let tests = test_names();
    let missing: Vec<_> = index().iter().flat_map(|case| case.missing(&here, &tests)).collect();
    assert!(missing.is_empty(), "cases without their test:\n{}", missing.join("\n"));
}

#[test]
fn a_case_is_due_when_its_code_is_here_and_its_halves_apart() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let case = |by: &str, half| Case { key: "a-key".to_owned(), completed_by: by.to_owned(), half, ..Case::default() };
    let whole = case("B", false);
    assert_eq!(whole.missing(&["A"].into(), &set(&[])).len(), 0, "B is not here yet");
    assert_eq!(whole.missing(&["A", "B"].into(), &set(&["a_keyhole"])).len(), 1);
    assert_eq!(whole.missing(&["A", "B"].into(), &set(&["a_key_in_words"])).len(), 0);
    let half = case("D", true);
    assert_eq!(half.missing(&["A"].into(), &set(&[])).len(), 1, "the half about verify is due with A");
    assert_eq!(half.missing(&["A"].into(), &set(&["a_key"])).len(), 0);
    assert_eq!(half.missing(&["A", "D"].into(), &set(&["a_key"])).len(), 1, "the rest is due with D");
    assert_eq!(half.missing(&["A", "D"].into(), &set(&["a_key_to_the_end"])).len(), 1);
    assert_eq!(half.missing(&["A", "D"].into(), &set(&["a_key", "a_key_to_the_end"])).len(), 0);
}

#[test]
fn an_ignored_function_covers_no_case() {
    let text = "#[test]\nfn runs() {}\n\n#[test]\n#[ignore = \"x\"]\nfn sleeps() {}\nfn plain() {}\n    #[test]\n    // why\n    fn inner() {}\n";
    assert_eq!(tests_in(text), ["runs", "inner"]);
}
