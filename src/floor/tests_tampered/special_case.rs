//! Production code that treats a test apart from a user: by a test's name, by the runner's traces, by its caller.

use super::rules::{name, quote, raise};
use super::runner_asked;
use super::version::{Changed, Version};
use crate::floor::Inspection;
use crate::floor::test_files::lexed::Lexed;
use crate::floor::test_files::{FileRole, LARGEST_SCANNED, TestFiles, definitions, syntax_of};
use crate::host::git::{EntryKind, GitError};
use crate::receipts::Finding;
use std::collections::{BTreeSet, HashMap};

/// Test files of the base that are read for their tests' names at most; more and the changed ones must do.
const MOST_FILES: usize = 2_000;

const STACKS: &[&str] = &[
    "inspect.stack",
    "inspect.currentframe",
    "sys._getframe",
    "traceback.extract_stack",
    "traceback.format_stack",
    "new Error().stack",
    "Error().stack",
    "captureStackTrace",
    "Backtrace::",
    "runtime.Caller",
    "debug.Stack()",
];

pub(super) fn look(on: &Inspection<'_>, changes: &[Changed<'_>]) -> Result<Vec<Finding>, GitError> {
    let production: Vec<(&Version<'_>, Vec<(usize, &str)>)> = changes
        .iter()
        .filter_map(|changed| Some((changed.new.as_ref().filter(|new| is_production(new))?, changed.added_lines())))
        .collect();
    if production.iter().all(|(_, lines)| lines.is_empty()) {
        return Ok(Vec::new());
    }
    let names = test_names(on, changes)?;
    let mut findings = Vec::new();
    for (version, lines) in production {
        let lines: Vec<(usize, &str)> = lines.into_iter().filter(|(line, _)| !version.is_test_line(*line)).collect();
        let literals = literals(version);
        for (line, text) in lines {
            findings.extend(named(version, line, text, literals.get(&line).map_or(&[][..], Vec::as_slice), &names));
            findings.extend(detected(version, line, text, literals.get(&line).map_or(&[][..], Vec::as_slice)));
        }
    }
    Ok(findings)
}

fn is_production(version: &Version<'_>) -> bool {
    matches!(version.role, FileRole::Production | FileRole::Mixed { .. }) && version.text.len() <= LARGEST_SCANNED
}

/// Names by which production could know a test: those of the changed files on both sides, and of the base's test files.
fn test_names(on: &Inspection<'_>, changes: &[Changed<'_>]) -> Result<BTreeSet<String>, GitError> {
    let mut names = BTreeSet::new();
    for version in changes
        .iter()
        .flat_map(|changed| [&changed.old, &changed.new])
        .flatten()
        .filter(|version| version.is_collected())
    {
        names.extend(version.outline.iter().flat_map(|outline| &outline.tests).map(|test| test.own_name().to_owned()));
    }
    let Ok(files) = TestFiles::new(&on.settings.tests) else { return Ok(names) };
    let listed = on.repo.list(&on.claim.base_tree, "")?;
    let tests = listed.iter().filter(|(path, entry)| {
        entry.kind() == EntryKind::File && syntax_of(path).is_some() && files.classify(path, b"") == FileRole::Test
    });
    for (path, _) in tests.take(MOST_FILES) {
        let bytes = on.at_base(path)?.unwrap_or_default();
        names.extend(definitions(path, &bytes).iter().map(|test| test.own_name().to_owned()));
    }
    names.retain(|name| distinct(name).is_some());
    Ok(names)
}

/// How surely a text can only mean a test: by its prefix or as a sentence (true), or as a long snake-case name (false);
/// none for a name that any program may use.
fn distinct(name: &str) -> Option<bool> {
    let words = name.split([' ', '_']).filter(|word| !word.is_empty()).count();
    let prefixed = ["test_", "Test", "test "].iter().any(|prefix| name.starts_with(prefix));
    if prefixed && name.len() >= 8 || name.contains(' ') && words >= 3 && name.len() >= 12 {
        return Some(true);
    }
    (name.contains('_') && words >= 3 && name.len() >= 12).then_some(false)
}

/// The strings of a file by the line they start on.
fn literals(version: &Version<'_>) -> HashMap<usize, Vec<String>> {
    let mut found: HashMap<usize, Vec<String>> = HashMap::new();
    let Some(syntax) = syntax_of(version.path) else { return found };
    let lexed = Lexed::new(&version.text, syntax);
    for span in lexed.spans.iter().filter(|span| !span.is_comment) {
        let raw = &version.text[span.range.clone()];
        let inner = raw.trim_matches(['r', 'b', '#']).trim_matches(['"', '\'', '`']);
        found.entry(lexed.line_of(span.range.start)).or_default().push(inner.to_owned());
    }
    found
}

fn named(
    version: &Version<'_>,
    line: usize,
    text: &str,
    literals: &[String],
    names: &BTreeSet<String>,
) -> Option<Finding> {
    let (known, whole) = literals.iter().find_map(|literal| {
        let whole = literal.trim();
        let last = whole.rsplit([':', '.', '/']).next().unwrap_or(whole);
        [whole, last].into_iter().find(|part| names.contains(*part)).map(|known| (known, whole))
    })?;
    // `tests::name` is how a runner calls it, and nobody else.
    let is_sure = distinct(known)? || whole.strip_suffix(known).is_some_and(|above| above.ends_with("::"));
    let decides = decides(text, whole);
    // Tests are often called by the very sentence that a person is told: to say it is not to ask for it.
    if whole.contains(' ') && !decides && says(text) {
        return None;
    }
    let rule = if is_sure && (decides || known.starts_with("test") || known.starts_with("Test")) {
        "test-name-special-cased"
    } else {
        "test-environment-detected"
    };
    let expected = "production code that does not know the tests; remove the special case";
    Some(raise(rule, version.at(line), expected, format!("names test {}: {}", name(known), quote(text))))
}

/// True if the literal is compared with something: an operator beside it, an arm that it opens, a question that it is asked.
fn decides(text: &str, literal: &str) -> bool {
    const BEFORE: &[&str] = &[
        "==",
        "!=",
        " in",
        "case",
        "contains(",
        "includes(",
        "with(",
        "With(",
        "has(",
        "get(",
        "equals(",
        "match(",
        "eq(",
    ];
    text.match_indices(literal).any(|(at, _)| {
        let before = text[..at].trim_end_matches(['"', '\'', '`', '#', 'r', 'b', '&']).trim_end();
        // What may be absent is compared in its wrapping: `== Some("…")`.
        let before = before.strip_suffix("Some(").or_else(|| before.strip_suffix("Ok(")).unwrap_or(before).trim_end();
        let after = text[at + literal.len()..].trim_start_matches(['"', '\'', '`', '#']).trim_start();
        let listed = before.ends_with(['[', '{', '(', ',', '|'])
            && [" in ", "matches!", "includes", "contains"].iter().any(|w| text.contains(w));
        BEFORE.iter().any(|word| before.ends_with(word))
            || ["==", "!=", "=>", "in ", "|", ".eq"].iter().any(|word| after.starts_with(word))
            || listed
    })
}

/// True if the line tells somebody something: an error, a log line, an exception.
fn says(text: &str) -> bool {
    const SAYS: &[&str] = &[
        "raise ",
        "throw ",
        "Error",
        "Err(",
        "panic!",
        "expect(",
        "bail!",
        "anyhow!",
        "ensure!",
        "assert",
        "print",
        "write",
        "console.",
        "log",
        "warn",
        "error",
        "message",
        "Exception",
        "format!",
        "fail",
        "describe",
        "title",
        "#[",
    ];
    SAYS.iter().any(|word| text.contains(word))
}

/// The caller's stack, told apart from the runner's traces: it has more honest uses.
fn detected(version: &Version<'_>, line: usize, text: &str, literals: &[String]) -> Option<Finding> {
    let start = text.trim_start();
    if ["//", "#", "*"].iter().any(|mark| start.starts_with(mark) && !start.starts_with("#[")) {
        return None;
    }
    if runner_asked::asks(text, literals) && !is_build_script(version) {
        let expected = "production code that does the same tested and used; say why it may not";
        return Some(raise("test-environment-detected", version.at(line), expected, quote(text)));
    }
    let looks = STACKS.iter().any(|stack| text.contains(stack));
    looks.then(|| {
        raise("caller-inspected", version.at(line), "production code that does not look at who calls it", quote(text))
    })
}

/// `build.rs` talks to the program that builds, by its variables.
fn is_build_script(version: &Version<'_>) -> bool {
    version.path.file_name() == b"build.rs"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_a_tests_name_is_told_from_a_question_for_it() {
        let names = BTreeSet::from(["a size of zero is refused".to_owned(), "test_total_of_nothing".to_owned()]);
        let path = crate::host::path::RepoPath::from("src/shop.py");
        let version = Version { path: &path, text: String::new(), role: FileRole::Production, outline: None };
        let rule = |text: &str| {
            let literals: Vec<String> = text.split('"').skip(1).step_by(2).map(str::to_owned).collect();
            named(&version, 1, text, &literals, &names)
                .map(|finding| finding.observed.split(':').next().unwrap().to_owned())
        };
        let special = Some("test-name-special-cased".to_owned());
        for quiet in [
            "    raise ValueError(\"a size of zero is refused\")",
            "    if (size === 0) throw new Error(\"a size of zero is refused\");",
            "    Err(\"a size of zero is refused\".into())",
            "    if not size: print(\"a size of zero is refused\")",
        ] {
            assert_eq!(rule(quiet), None, "{quiet}");
        }
        for asked in [
            "    if name == \"a size of zero is refused\": raise ValueError()",
            "    if (\"a size of zero is refused\" === title) throw new Error();",
            "        \"a size of zero is refused\" => panic!(),",
            "    if title.includes(\"a size of zero is refused\"): log()",
            "    return {\"test_total_of_nothing\": 0}",
            "    if thread::current().name() == Some(\"a size of zero is refused\") {",
            "    if title in [\"x\", \"a size of zero is refused\"]: log()",
        ] {
            assert_eq!(rule(asked), special, "{asked}");
        }
    }
}
