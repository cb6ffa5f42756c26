//! Which executed tests are new or changed, and where they are written.

use super::hybrid::{Changed, Part};
use crate::floor::test_files::{FileRole, Outline, TestDefinition, TestFiles, classify, outline};
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CaseResult, TestCase, TestsRecord};
use std::collections::BTreeSet;

/// One new or changed test that passes on the claim.
#[derive(Debug, Clone)]
pub(super) struct Target<'a> {
    /// Of the plan's commands, the one that ran it.
    pub(super) command: usize,
    pub(super) case: TestCase,
    pub(super) file: &'a Changed,
}

/// A changed file and what of it is new.
#[derive(Debug, Clone)]
pub(super) struct Claimed<'a> {
    pub(super) file: &'a Changed,
    /// The names of its new and changed tests; none if all of them count.
    pub(super) names: Option<BTreeSet<String>>,
}

/// The changed files that define new or changed tests.
pub(super) fn claimed<'a>(changed: &'a [Changed], roles: &TestFiles) -> Vec<Claimed<'a>> {
    let mut found = Vec::new();
    let mut gone = gone(changed, roles);
    for file in changed.iter().filter(|file| matches!(file.part, Part::Test | Part::Mixed)) {
        let Some(claim) = file.claim.as_deref().filter(|text| roles.defines_tests(&file.path, text)) else { continue };
        let Some(new) = test_outline(&file.path, claim) else {
            found.push(Claimed { file, names: None });
            continue;
        };
        let names = new_names(&new, &old_outline(file), &mut gone);
        if names.as_ref().is_none_or(|names| !names.is_empty()) {
            found.push(Claimed { file, names });
        }
    }
    found
}

fn old_outline(file: &Changed) -> Outline {
    let path = file.change.from.as_ref().unwrap_or(&file.path);
    file.base.as_deref().and_then(|text| test_outline(path, text)).unwrap_or_default()
}

/// Tests of the base whose names are gone from their files: whatever has their bodies now was renamed or moved.
fn gone(changed: &[Changed], roles: &TestFiles) -> Vec<TestDefinition> {
    let mut gone = Vec::new();
    for file in changed.iter().filter(|file| file.base.is_some()) {
        let old_path = file.change.from.as_ref().unwrap_or(&file.path);
        if !file.base.as_deref().is_some_and(|text| roles.defines_tests(old_path, text)) {
            continue;
        }
        let now = file.claim.as_deref().and_then(|text| test_outline(&file.path, text)).unwrap_or_default();
        let stays = |test: &TestDefinition| now.tests.iter().any(|new| new.name == test.name);
        gone.extend(old_outline(file).tests.into_iter().filter(|test| test.can_fail && !stays(test)));
    }
    gone
}

/// What a file defines for its tests: in a mixed file, the functions of its production half are none of theirs.
fn test_outline(path: &RepoPath, text: &[u8]) -> Option<Outline> {
    let mut outline = outline(path, text)?;
    if let FileRole::Mixed { regions } = classify(path, text) {
        outline.functions.retain(|function| regions.iter().any(|region| region.contains(&function.line)));
    }
    Some(outline)
}

/// New and changed tests; all of them (none) if a function that they may call changed. Each test of `gone` is found again
/// once: of two copies one is new.
fn new_names(new: &Outline, old: &Outline, gone: &mut Vec<TestDefinition>) -> Option<BTreeSet<String>> {
    let helpers = |outline: &Outline| -> BTreeSet<(String, String)> {
        outline.functions.iter().map(|function| (function.name.clone(), function.body.clone())).collect()
    };
    let gained: BTreeSet<_> = helpers(new).difference(&helpers(old)).map(|(name, _)| name.clone()).collect();
    let had = helpers(old).into_iter().map(|(name, _)| name).collect::<BTreeSet<_>>();
    if gained.iter().any(|name| had.contains(name)) {
        return None;
    }
    let mut names = BTreeSet::new();
    for test in &new.tests {
        if old.tests.iter().any(|was| was.name == test.name && is_same(was, test)) {
            continue;
        }
        match gone.iter().position(|was| is_same(was, test)) {
            Some(at) => drop(gone.swap_remove(at)),
            None => drop(names.insert(test.name.clone())),
        }
    }
    Some(names)
}

/// True for the same test, whatever its name.
fn is_same(was: &TestDefinition, now: &TestDefinition) -> bool {
    was.body == now.body && was.parameters == now.parameters && was.markers.len() == now.markers.len()
}

/// The claim's passing cases that are new or changed, for the runs of each command.
pub(super) fn targets<'a>(claimed: &[Claimed<'a>], runs: &[Option<&TestsRecord>]) -> Vec<Target<'a>> {
    let mut found = Vec::new();
    let mut taken: BTreeSet<(usize, &str, &str)> = BTreeSet::new();
    for (command, record) in runs.iter().enumerate() {
        for case in record.iter().flat_map(|record| &record.cases).filter(|case| case.result == CaseResult::Passed) {
            let home = claimed.iter().find(|claimed| {
                let file = claimed.file;
                match &claimed.names {
                    Some(names) => names.iter().any(|name| is_named(case, name) && is_of(case, &file.path)),
                    None => match outline(&file.path, file.claim.as_deref().unwrap_or_default()) {
                        Some(outline) => {
                            outline.tests.iter().any(|test| is_named(case, &test.name)) && is_of(case, &file.path)
                        }
                        None => is_of(case, &file.path) && stands_in(case, &file.path),
                    },
                }
            });
            if let Some(home) = home
                && taken.insert((command, &case.suite, &case.name))
            {
                found.push(Target { command, case: case.clone(), file: home.file });
            }
        }
    }
    found
}

/// A test's parts below its file, whatever the runner puts between them.
fn parts(suite: &str, name: &str) -> Vec<String> {
    let of_suite = suite.split("::").flat_map(|part| part.split(" > ")).flat_map(|part| part.split(['.', '/', '\\']));
    let of_name = name.split("::").flat_map(|part| part.split(" > "));
    of_suite.chain(of_name).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// True if a definition of this name can be this case.
pub(in crate::floor) fn is_named(case: &TestCase, definition: &str) -> bool {
    let bare = match case.name.find('[') {
        Some(at) if at > 0 && case.name.ends_with(']') => &case.name[..at],
        _ => case.name.as_str(),
    };
    let definition = escape(definition.as_bytes());
    let wanted = parts("", &definition);
    !wanted.is_empty() && [bare, &case.name].iter().any(|name| parts(&case.suite, name).ends_with(&wanted))
}

/// False if the case says that it stands in another file.
pub(in crate::floor) fn is_of(case: &TestCase, file: &RepoPath) -> bool {
    if let Some(said) = &case.file {
        return ends_with_path(file.as_bytes(), said.as_bytes());
    }
    let parts = parts(&case.suite, &case.name);
    // A runner that names neither module nor class cannot contradict: node gives every test the class `test`.
    case.suite.is_empty() || case.suite == "test" || is_anonymous(file) || holds_stem(&parts, file)
}

/// A file that gives its tests no name of their own.
fn is_anonymous(file: &RepoPath) -> bool {
    matches!(stem(file).as_str(), "lib" | "main" | "mod" | "index" | "__init__")
}

fn holds_stem(parts: &[String], file: &RepoPath) -> bool {
    let stem = stem(file);
    parts.iter().any(|part| *part == stem || part.replace('-', "_") == stem.replace('-', "_"))
}

/// True if the case says that it stands in this file, for languages whose tests are not read.
pub(in crate::floor) fn stands_in(case: &TestCase, file: &RepoPath) -> bool {
    case.file.is_some() || holds_stem(&parts(&case.suite, &case.name), file)
}

fn stem(file: &RepoPath) -> String {
    let name = String::from_utf8_lossy(file.file_name()).into_owned();
    name.rsplit_once('.').map_or(name.clone(), |(stem, _)| stem.to_owned())
}

/// One path ends with the other, in whole segments: a report may be about a folder below the top.
pub(super) fn ends_with_path(long: &[u8], short: &[u8]) -> bool {
    let ends = |long: &[u8], short: &[u8]| {
        long == short || long.strip_suffix(short).is_some_and(|before| before.ends_with(b"/"))
    };
    !short.is_empty() && (ends(long, short) || ends(short, long))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::git::{Change, ChangeKind};
    use crate::host::ids::BlobId;

    fn changed(path: &str, base: Option<&str>, claim: &str) -> Changed {
        let id = BlobId::new(&"1".repeat(40)).unwrap();
        let change = Change {
            kind: ChangeKind::Modified,
            path: path.into(),
            from: None,
            old_mode: "100644".into(),
            new_mode: "100644".into(),
            old: id.clone(),
            new: id,
        };
        let part = if path.starts_with("src") { Part::Mixed } else { Part::Test };
        let (base, claim) = (base.map(|text| text.as_bytes().to_vec()), Some(claim.as_bytes().to_vec()));
        Changed { path: path.into(), part, base, claim, change }
    }

    fn case(suite: &str, name: &str, file: Option<&str>) -> TestCase {
        let (suite, name) = (suite.to_owned(), name.to_owned());
        TestCase { suite, name, file: file.map(RepoPath::from), result: CaseResult::Passed }
    }

    fn found(files: &[Changed], cases: Vec<TestCase>) -> Vec<String> {
        let roles = TestFiles::new(&crate::config::TestSettings::default()).unwrap();
        let record = TestsRecord {
            command: 1,
            tree: crate::host::ids::TreeId::new(&"a".repeat(40)).unwrap(),
            format: "junit".to_owned(),
            complete: true,
            cases,
        };
        let claimed = claimed(files, &roles);
        targets(&claimed, &[Some(&record)]).into_iter().map(|target| target.case.name).collect()
    }

    #[test]
    fn only_new_and_changed_tests_are_asked_for() {
        let python = changed(
            "tests/test_a.py",
            Some("def test_old():\n    assert f() == 1\n\ndef test_edited():\n    assert f() == 1\n"),
            "def test_old():\n    assert f() == 1\n\ndef test_edited():\n    assert f() == 2\n\nclass TestX:\n    def test_new(self):\n        assert g()\n",
        );
        let cases = vec![
            case("tests.test_a", "test_old", Some("tests/test_a.py")),
            case("tests.test_a", "test_edited", Some("tests/test_a.py")),
            case("tests.test_a.TestX", "test_new[1-2]", Some("tests/test_a.py")),
            case("tests.test_b.TestX", "test_new", Some("tests/test_b.py")),
        ];
        assert_eq!(found(&[python], cases), ["test_edited", "test_new[1-2]"]);
        let rust = changed(
            "src/limits.rs",
            None,
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() { assert!(true) }\n}\n",
        );
        let cases = vec![case("toy", "limits::tests::adds", None), case("toy", "other::tests::adds", None)];
        assert_eq!(found(&[rust], cases), ["limits::tests::adds"]);
        let half = |body: &str, more: &str| {
            format!(
                "fn a() {{ {body} }}\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn adds() {{ assert!(true) }}\n{more}}}\n"
            )
        };
        let more = "    #[test]\n    fn more() { assert!(false) }\n";
        let mixed = changed("src/lib.rs", Some(&half("1", "")), &half("2", more));
        let cases = vec![case("toy", "tests::adds", None), case("toy", "tests::more", None)];
        assert_eq!(found(&[mixed], cases), ["tests::more"]);
        let node = changed(
            "a.test.mjs",
            None,
            "import { test, describe } from 'node:test';\ndescribe('limits', () => {\n  test('rejects <zero>', () => { assert(f()); });\n});\n",
        );
        let cases = vec![case("test", "limits > rejects <zero>", None), case("test", "rejects", None)];
        assert_eq!(found(&[node], cases), ["limits > rejects <zero>"]);
    }

    #[test]
    fn a_test_that_was_renamed_or_moved_is_no_new_one() {
        let test = |name: &str, what: &str| format!("def test_{name}():\n    assert {what}\n\n");
        let case = |name: &str| case("tests.test_a", name, Some("tests/test_a.py"));
        let base = test("one", "f() == 1") + &test("two", "f() == 2");
        let claim = test("uno", "f() == 1") + &test("two", "f() == 2");
        let renamed = changed("tests/test_a.py", Some(&base), &claim);
        assert_eq!(found(&[renamed], vec![case("test_uno"), case("test_two")]), Vec::<String>::new());
        let copied = changed("tests/test_a.py", Some(&base), &(test("one", "f() == 1") + &base.replace("one", "uno")));
        assert_eq!(found(&[copied], vec![case("test_one"), case("test_uno")]), ["test_uno"], "the first still stands");
        let twice = changed("tests/test_a.py", Some(&base), &(claim.clone() + &test("eins", "f() == 1")));
        assert_eq!(found(&[twice], vec![case("test_uno"), case("test_eins")]), ["test_eins"], "one was renamed");
        let edited = changed("tests/test_a.py", Some(&base), &claim.replace("== 1", "== 3"));
        assert_eq!(found(&[edited], vec![case("test_uno")]), ["test_uno"]);
        let left = changed("tests/test_b.py", Some(&base), &test("two", "f() == 2"));
        let moved = changed("tests/test_a.py", None, &test("one", "f() == 1"));
        assert_eq!(found(&[moved, left], vec![case("test_one")]), Vec::<String>::new());
    }

    #[test]
    fn a_changed_helper_makes_every_test_of_its_file_a_changed_one() {
        let base = "def check(x):\n    assert x == 1\n\ndef test_a():\n    check(f())\n";
        let file = changed("tests/test_a.py", Some(base), &base.replace("== 1", "> 0"));
        assert_eq!(found(&[file], vec![case("tests.test_a", "test_a", None)]), ["test_a"]);
        let touched = changed("tests/test_a.py", Some(base), &format!("# a word\n{base}"));
        assert_eq!(found(&[touched], vec![case("tests.test_a", "test_a", None)]), Vec::<String>::new());
    }
}
