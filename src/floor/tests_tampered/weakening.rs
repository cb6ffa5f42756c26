//! A test before and after: what it demanded then and what it demands now.

use super::rules::{name, quote, raise};
use super::version::Version;
use crate::floor::test_files::{Assertion, Function, Strength, TestDefinition};
use crate::receipts::Finding;
use std::collections::{HashMap, HashSet};

/// Findings for a test that is still there.
pub(super) fn compare(old: &TestDefinition, new: &TestDefinition, version: &Version<'_>) -> Vec<Finding> {
    let functions = version.outline.as_ref().map_or(&[][..], |outline| &outline.functions);
    let place = version.at(new.lines.start);
    let title = name(&new.name);
    let mut findings = Vec::new();
    if old.body == new.body && old.parameters == new.parameters {
        return findings;
    }
    if old.can_fail && new.is_empty {
        let expected = format!("the body of test {title}; restore it, or declare the removal with `removes-tests:`");
        return vec![raise("test-emptied", place, expected, format!("nothing is left in {title} that could fail"))];
    }
    let lost = without(&old.assertions, &new.assertions);
    let gained = without(&new.assertions, &old.assertions);
    if !lost.is_empty() && is_carried(&lost, new, Some(old), functions) {
        let told = format!("{} of test {title} stand in a helper or in parameters", count(lost.len()));
        findings.push(raise("assertion-moved", &place, "every demand kept", told));
    } else {
        findings.extend(changed_assertions(&lost, &gained, new, version));
    }
    findings.extend(structure(old, new, version));
    let fewer_cases = pieces(&old.parameters).any(|piece| !pieces(&new.parameters).any(|other| other == piece));
    if fewer_cases
        && old.parameters != new.parameters
        && !findings.iter().any(|f| f.observed.starts_with("assertion-moved"))
    {
        let told = format!("the cases of test {title} are now {}", quote(&new.parameters));
        findings.push(raise("cases-changed", &place, format!("the base's cases: {}", quote(&old.parameters)), told));
    }
    if findings.is_empty() {
        findings.push(raise(
            "test-edited",
            place,
            "edits that keep what a test demands",
            format!("test {title} was edited; every assertion is kept"),
        ));
    }
    findings
}

/// Findings for a test that is new: what a run cannot be asked before it is known to fail at all.
pub(super) fn judge_new(test: &TestDefinition, version: &Version<'_>) -> Vec<Finding> {
    let title = name(&test.name);
    let mut findings = Vec::new();
    let told = |line: usize| format!("new test {title}: {}", quote(version.line(line)));
    if !test.can_fail {
        let expected = "a test that can fail: an assertion, an unwrap, or a call into a helper that asserts";
        findings.push(raise("assertion-free", version.at(test.lines.start), expected, told(test.lines.start)));
    }
    for assertion in test.assertions.iter().filter(|assertion| assertion.strength == Strength::Nothing) {
        findings.push(raise(
            "assertion-vacuous",
            version.at(assertion.line),
            "an assertion that can fail",
            told(assertion.line),
        ));
    }
    for assertion in test.assertions.iter().filter(|assertion| is_broad(assertion)) {
        let expected = "the exception that the code under test raises, by name or message";
        findings.push(raise("exception-broad", version.at(assertion.line), expected, told(assertion.line)));
    }
    if never_reached(&test.body) > 0 {
        findings.push(raise(
            "assertion-never-reached",
            version.at(test.lines.start),
            "assertions that are executed",
            told(test.lines.start),
        ));
    }
    if swallowed(&test.body) > 0 {
        findings.push(raise(
            "assertion-swallowed",
            version.at(test.lines.start),
            "assertions whose failure is seen",
            told(test.lines.start),
        ));
    }
    findings
}

fn is_broad(assertion: &Assertion) -> bool {
    let text = assertion.text.as_str();
    ["raises ( Exception )", "raises ( BaseException )", "assertRaises ( Exception", "assertRaises ( BaseException"]
        .iter()
        .any(|broad| text.starts_with(broad))
}

fn changed_assertions(
    lost: &[&Assertion],
    gained: &[&Assertion],
    new: &TestDefinition,
    version: &Version<'_>,
) -> Vec<Finding> {
    let title = name(&new.name);
    let mut left: Vec<&Assertion> = gained.to_vec();
    let mut findings = Vec::new();
    for old in lost {
        let expected = |what: &str| format!("{what} of test {title}: {}", quote(&old.text));
        let Some(at) = nearest(old, &left) else {
            let rule = if new.can_fail { "assertion-removed" } else { "assertion-free" };
            let told = format!("test {title} no longer demands it; it has {}", count(new.assertions.len()));
            findings.push(raise(rule, version.at(new.lines.start), expected("the assertion"), told));
            continue;
        };
        let now = left.swap_remove(at);
        let told = format!("test {title} now demands {}", quote(version.line(now.line)));
        let rule = if now.strength < old.strength {
            "assertion-weakened"
        } else if is_tolerant(old) && is_tolerant(now) {
            "tolerance-changed"
        } else {
            "expectation-changed"
        };
        findings.push(raise(rule, version.at(now.line), expected("the demand"), told));
    }
    findings
}

/// The gained assertion that shares most words with a lost one.
fn nearest(old: &Assertion, gained: &[&Assertion]) -> Option<usize> {
    let words: HashSet<&str> = old.text.split(' ').collect();
    let shared = |other: &&Assertion| other.text.split(' ').filter(|word| words.contains(word)).count();
    gained
        .iter()
        .enumerate()
        .map(|(at, other)| (shared(other), at))
        .filter(|(shared, _)| *shared > 1)
        .max()
        .map(|(_, at)| at)
}

fn is_tolerant(assertion: &Assertion) -> bool {
    const WORDS: &[&str] = &[
        "approx",
        "abs",
        "rel",
        "delta",
        "places",
        "isclose",
        "toBeCloseTo",
        "closeTo",
        "epsilon",
        "EPSILON",
        "tolerance",
        "InDelta",
        "assertAlmostEqual",
        "assert_relative_eq",
        "assert_abs_diff_eq",
    ];
    assertion.text.split(' ').any(|word| WORDS.contains(&word))
}

/// Assertions of `one` that `other` has less often.
fn without<'a>(one: &'a [Assertion], other: &[Assertion]) -> Vec<&'a Assertion> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for assertion in other {
        *left.entry(assertion.text.as_str()).or_default() += 1;
    }
    let is_lost = |assertion: &&Assertion| match left.get_mut(assertion.text.as_str()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    one.iter().filter(is_lost).collect()
}

/// True if what these assertions demanded is now demanded through a helper, a loop or parameters: every literal (without
/// any, every name) of theirs stands in what the test gained, and what judges there is at least as strict.
pub(super) fn is_carried(
    lost: &[&Assertion],
    new: &TestDefinition,
    old: Option<&TestDefinition>,
    functions: &[Function],
) -> bool {
    let words: HashSet<&str> = pieces(&new.body).chain(pieces(&new.parameters)).collect();
    let helpers: Vec<&Function> =
        functions.iter().filter(|f| !f.assertions.is_empty() && words.contains(f.name.as_str())).collect();
    let strictest = lost.iter().map(|assertion| assertion.strength).max().unwrap_or(Strength::Nothing);
    let repeats = !new.parameters.is_empty() || words.contains("for") || words.contains("forEach");
    let own = without(&new.assertions, old.map_or(&[][..], |old| &old.assertions));
    let judged = own.into_iter().filter(|_| repeats).chain(helpers.iter().flat_map(|helper| &helper.assertions));
    if judged.map(|assertion| assertion.strength).max().is_none_or(|now| now < strictest) {
        return false;
    }
    let mut available: HashMap<&str, isize> = HashMap::new();
    let add = |text: &'_ str, by: isize, map: &mut HashMap<String, isize>| {
        for piece in pieces(text) {
            *map.entry(piece.to_owned()).or_default() += by;
        }
    };
    let mut stock: HashMap<String, isize> = HashMap::new();
    add(&new.body, 1, &mut stock);
    add(&new.parameters, 1, &mut stock);
    if let Some(old) = old {
        add(&old.body, -1, &mut stock);
        add(&old.parameters, -1, &mut stock);
        // What the lost assertions themselves used is not held against the new text; only where they stood in `old`.
        for assertion in lost.iter().filter(|lost| old.assertions.contains(lost)) {
            add(&assertion.text, 1, &mut stock);
        }
    }
    for (piece, count) in &stock {
        available.insert(piece, *count);
    }
    let literals: Vec<&str> =
        lost.iter().flat_map(|assertion| &assertion.literals).flat_map(|literal| literal.split(' ')).collect();
    let called_before = |text: &str| called(text).map(str::to_owned).collect::<Vec<_>>();
    let asserting = |word: &str| {
        ["assert", "expect", "toBe", "toEqual", "raises"].iter().any(|a| word.starts_with(a))
            || word == "equal"
            || word.ends_with("Equal")
    };
    let helper_words: HashSet<&str> = helpers.iter().flat_map(|helper| pieces(&helper.body)).collect();
    let subject_kept = lost
        .iter()
        .flat_map(|assertion| called_before(&assertion.text))
        .filter(|word| !asserting(word))
        .all(|word| words.contains(word.as_str()) || helper_words.contains(word.as_str()));
    if !subject_kept {
        return false;
    }
    if literals.is_empty() {
        let identifiers = |text: &'_ str| {
            pieces(text)
                .filter(|p| p.starts_with(|c: char| c.is_alphabetic() || c == '_'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        return lost
            .iter()
            .flat_map(|assertion| identifiers(&assertion.text))
            .filter(|word| !asserting(word))
            .all(|word| words.contains(word.as_str()));
    }
    literals.into_iter().all(|literal| {
        let left = available.entry(literal).or_default();
        *left -= 1;
        *left >= 0
    })
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|piece| !piece.is_empty())
}

/// The words that are called in a text in normal form.
fn called(text: &str) -> impl Iterator<Item = &str> {
    pieces(text)
        .zip(pieces(text).skip(1))
        .filter(|(word, next)| *next == "(" && word.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .map(|(word, _)| word)
}

/// What the body's shape does to its assertions.
fn structure(old: &TestDefinition, new: &TestDefinition, version: &Version<'_>) -> Vec<Finding> {
    let title = name(&new.name);
    let place = version.at(new.lines.start);
    let mut findings = Vec::new();
    if swallowed(&new.body) > swallowed(&old.body) {
        let told = format!("in test {title} an assertion now stands where its failure is caught");
        findings.push(raise("assertion-swallowed", &place, "assertions whose failure is seen", told));
    }
    if never_reached(&new.body) > never_reached(&old.body) {
        let told = format!("test {title} now loops over nothing, or asks what is never true");
        findings.push(raise("assertion-never-reached", &place, "assertions that are executed", told));
    }
    if early_returns(&new.body) > early_returns(&old.body) {
        let told = format!("test {title} now returns before its last assertion");
        findings.push(raise("assertion-unreachable", &place, "assertions that are reached", told));
    }
    findings
}

fn is_assertion_word(word: &str) -> bool {
    word.starts_with("assert")
        || matches!(word, "expect" | "Errorf" | "Fatalf" | "Error" | "Fatal" | "require" | "raises")
}

/// How many assertions stand between a `try` and its `except` or `catch`, or under something that swallows.
fn swallowed(body: &str) -> usize {
    let words: Vec<&str> = pieces(body).collect();
    let mut count = 0;
    for (at, word) in words.iter().enumerate() {
        let rest = &words[at + 1..];
        count += match *word {
            "try" => {
                let end = rest.iter().position(|word| matches!(*word, "except" | "catch" | "try")).unwrap_or(0);
                let kind = rest.get(end + 1).copied().unwrap_or_default();
                let broad = rest.get(end) == Some(&"catch")
                    || matches!(kind, ":" | "AssertionError" | "Exception" | "BaseException" | "(");
                let raised = rest[end..].iter().skip(1).take(12).any(|word| matches!(*word, "raise" | "throw"));
                usize::from(broad && !raised && rest[..end].iter().any(|word| is_assertion_word(word)))
            }
            "suppress" | "catch_unwind" | "recover" => usize::from(rest.first() == Some(&"(")),
            _ => 0,
        };
    }
    count
}

/// How many loops over nothing and conditions that never hold.
fn never_reached(body: &str) -> usize {
    let words: Vec<&str> = pieces(body).collect();
    let mut count = 0;
    for at in 0..words.len() {
        let is = |pattern: &[&str]| words[at..].starts_with(pattern);
        let nothing =
            [&["[", "]"][..], &["(", ")"], &["range", "(", "0", ")"], &["vec", "!", "[", "]"], &["0", "..", "0"]];
        if matches!(words[at], "in" | "of") && words[at.saturating_sub(8)..at].contains(&"for") {
            let rest = &words[at + 1..];
            let empty = nothing
                .iter()
                .any(|pattern| rest.starts_with(pattern) && !matches!(rest.get(pattern.len()), Some(&("+" | "."))));
            let named = rest.first().is_some_and(|name| is_empty_list(&words, name, at));
            count += usize::from(empty || named);
        }
        count += usize::from(
            is(&["[", "]", ".", "forEach"]) || is(&["if", "False"]) || is(&["if", "0", ":"]) || is(&["while", "False"]),
        );
        count += usize::from(
            is(&["if", "(", "false", ")"]) || is(&["if", "false", "{"]) || is(&["while", "(", "false", ")"]),
        );
    }
    count
}

/// True if the last thing said about a name before `at` is that it is an empty list.
fn is_empty_list(words: &[&str], name: &str, at: usize) -> bool {
    let Some(last) = words[..at].iter().rposition(|word| *word == name) else { return false };
    let rest = &words[last + 1..];
    rest.starts_with(&["=", "[", "]"])
        || rest.starts_with(&["=", "(", ")"])
        || rest.starts_with(&[":=", "[", "]"])
        || rest.starts_with(&["=", "vec", "!", "[", "]"])
}

/// How many returns stand before the last assertion, straight in the body or under an `if` there.
fn early_returns(body: &str) -> usize {
    let words: Vec<&str> = pieces(body).collect();
    let Some(last) = words.iter().rposition(|word| is_assertion_word(word)) else { return 0 };
    // In JavaScript the body is a function among arguments.
    let outer = words.iter().take(16).position(|word| *word == "=>" || *word == "function").map_or(0, |_| 1);
    let (mut depth, mut count) = (0_usize, 0);
    for (at, word) in words[..last].iter().enumerate() {
        match *word {
            "{" | "»" => depth += 1,
            "}" | "«" => depth = depth.saturating_sub(1),
            "return" if depth <= outer => {
                let is_arrow_body = at > 0 && words[at - 1] == "=>";
                count += usize::from(!is_arrow_body);
            }
            "return" if depth == outer + 1 => {
                let guarded = words[at.saturating_sub(16)..at].contains(&"if");
                let bare = matches!(words.get(at + 1), Some(&("}" | "«" | ";")));
                count += usize::from(guarded && bare);
            }
            _ => {}
        }
    }
    count
}

fn count(number: usize) -> String {
    crate::floor::finding::count(number, "assertion")
}
