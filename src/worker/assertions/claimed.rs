//! Assertions from a worker's own words.
//!
//! Precision first: a sentence that is a question, hedged, denied or planned asserts nothing, and a rule that is not sure
//! says nothing. What nobody extracted is still covered: the criteria are asserted whether claimed or not.

use super::phrases::{self as rule, find, number, says};
use super::sentences::{Sentence, is_hedged, sentences, without_code};
use super::{AssertedBy, Assertion, AssertionKind, Expected, SaidChange};

/// The assertions of a claim, in the order of its words.
pub fn claimed(claim: &str) -> Vec<Assertion> {
    let mut found = Vec::new();
    for sentence in sentences(claim) {
        of_sentence(&sentence, &mut found);
    }
    // `All 86 tests pass` and, elsewhere, `tests pass`: the plainer one says nothing more.
    let precise = |a: &Assertion| a.kind == AssertionKind::TestGreen && a.expected != Expected::default();
    if found.iter().any(precise) {
        found.retain(|a| a.kind != AssertionKind::TestGreen || a.expected != Expected::default());
    }
    let named = |a: &Assertion, kind| a.kind == kind && !a.subject.is_empty();
    for kind in
        [AssertionKind::CommitExists, AssertionKind::BranchPushed, AssertionKind::PrOpened, AssertionKind::Deployed]
    {
        if found.iter().any(|a| named(a, kind)) {
            found.retain(|a| a.kind != kind || named(a, kind));
        }
    }
    found
}

fn of_sentence(sentence: &Sentence<'_>, found: &mut Vec<Assertion>) {
    let text = sentence.text;
    if sentence.pasted {
        found.extend(pasted(text));
        return;
    }
    // These are denials by their nature, so they come before the hedges.
    let before = found.len();
    left_alone(text, found);
    if found.len() > before {
        return;
    }
    if let Some(caught) = find(&rule::ONLY_FAILURE, text) {
        let failures = vec![caught["name"].trim().to_owned()];
        found
            .push(by_claim(AssertionKind::TestGreen, text, "").expecting(Expected { failures, ..Expected::default() }));
        return;
    }
    if sentence.listed {
        found.extend(leading_path(text).map(|path| written(text, path)));
        return;
    }
    if is_hedged(text) {
        return;
    }
    let plain = without_code(text);
    tests_and_builds(text, &plain, found);
    found.extend(published(text, &plain));
    let counted = items(text, &plain);
    files(text, found);
    // The list that the items stand in was not necessarily written.
    found.retain(|a| counted.as_ref().is_none_or(|counted| a.quote != counted.quote || a.subject != counted.subject));
    found.extend(counted);
    commands(text, found);
    found.extend(looked(text, &plain));
}

fn by_claim(kind: AssertionKind, quote: &str, subject: &str) -> Assertion {
    Assertion::new(kind, AssertedBy::Claim, quote, subject)
}

fn tests(quote: &str, count: Option<u64>, whole: bool) -> Assertion {
    by_claim(AssertionKind::TestGreen, quote, "").expecting(Expected { count, whole, ..Expected::default() })
}

fn pasted(line: &str) -> Option<Assertion> {
    let caught = find(&rule::PASTED, line)?;
    let count = ["libtest", "jest", "pytest", "node", "mocha"].iter().find_map(|name| caught.name(name))?;
    Some(tests(line, number(count.as_str()), false))
}

fn tests_and_builds(text: &str, plain: &str, found: &mut Vec<Assertion>) {
    found.extend(green(text, plain));
    if let Some(caught) = find(&rule::BUILD, plain) {
        let what = caught.name("what").map_or(String::new(), |what| what.as_str().to_lowercase());
        let subject = match what.as_str() {
            word if word.starts_with("lint") || word == "clippy" => "lint",
            word if word.starts_with("type") => "typecheck",
            _ => "build",
        };
        found.push(by_claim(AssertionKind::BuildOk, text, subject));
        let both = plain.to_lowercase();
        if green(text, plain).is_none() && both.contains("tests") && both.contains("and") {
            found.push(tests(text, None, false));
        }
    }
}

fn green(text: &str, plain: &str) -> Option<Assertion> {
    let ratio = |caught: &regex::Captures<'_>| {
        let (some, all) = (number(&caught["some"])?, number(&caught["all"])?);
        (some == all && all > 0).then(|| tests(text, Some(all), true))
    };
    let about_tests = |words: &str| {
        let words = words.to_lowercase();
        words.trim().is_empty() || ["test", "spec", "check", "all", "suite", "assert"].iter().any(|w| words.contains(w))
    };
    if let Some(caught) = find(&rule::TESTS_OF, plain).filter(|caught| about_tests(&caught["words"])) {
        return ratio(&caught);
    }
    if let Some(caught) = find(&rule::TESTS_RATIO, plain) {
        return ratio(&caught);
    }
    if let Some(caught) = find(&rule::TESTS_COUNTED, plain) {
        return Some(tests(text, number(&caught["count"]), caught.name("whole").is_some()));
    }
    if let Some(caught) = find(&rule::TESTS_RAN, plain) {
        let words = caught[0].to_lowercase();
        let whole = ["all the", "whole", "full", "suite"].iter().any(|word| words.contains(word));
        return Some(tests(text, caught.name("count").and_then(|count| number(count.as_str())), whole));
    }
    if says(&rule::TESTS_WHOLE, plain) {
        return Some(tests(text, None, true));
    }
    (says(&rule::TESTS_PLAIN, plain) || says(&rule::TESTS_FIELD, text)).then(|| tests(text, None, false))
}

/// Commits, pushes, pull requests, deployments.
fn published(text: &str, plain: &str) -> Vec<Assertion> {
    let mut found = Vec::new();
    if let Some(caught) =
        find(&rule::COMMIT_ID, text).filter(|caught| caught["id"].contains(|c: char| c.is_ascii_digit()))
    {
        found.push(by_claim(AssertionKind::CommitExists, text, &caught["id"]));
    } else if says(&rule::COMMITTED, plain) {
        let whole = says(&rule::COMMITTED_ALL, plain);
        found
            .push(by_claim(AssertionKind::CommitExists, text, "").expecting(Expected { whole, ..Expected::default() }));
    }
    if says(&rule::PUSHED, text) {
        let branch = find(&rule::PUSHED_BRANCH, text).and_then(|caught| {
            ["named", "before", "after", "remote"]
                .iter()
                .find_map(|name| caught.name(name))
                .map(|m| m.as_str().to_owned())
        });
        let branch = branch.unwrap_or_default();
        let branch = branch.trim_start_matches("origin/").trim_end_matches('.');
        found.push(by_claim(AssertionKind::BranchPushed, text, branch));
    }
    if says(&rule::PR, plain) {
        let caught = find(&rule::PR_NUMBER, text);
        let id = caught.and_then(|c| c.name("number").or(c.name("linked")).map(|m| m.as_str().to_owned()));
        found.push(by_claim(AssertionKind::PrOpened, text, &id.unwrap_or_default()));
    }
    if says(&rule::DEPLOYED, plain) {
        let address = find(&rule::URL, text).map_or(String::new(), |caught| caught["url"].to_owned());
        found.push(by_claim(AssertionKind::Deployed, text, address.trim_end_matches(['.', ','])));
    }
    found
}

fn written(text: &str, path: &str) -> Assertion {
    let change = Some(SaidChange::Written);
    by_claim(AssertionKind::FileWritten, text, path).expecting(Expected { change, ..Expected::default() })
}

/// Files that a sentence says were made, changed, taken away or installed.
fn files(text: &str, found: &mut Vec<Assertion>) {
    if says(&rule::INSTALLED, text) {
        found.extend(code_spans(text).map(|(_, code)| by_claim(AssertionKind::Installed, text, code)));
        let bare = bare_paths(text).filter(|(at, _)| text[..*at].matches('`').count().is_multiple_of(2));
        found.extend(bare.map(|(_, path)| by_claim(AssertionKind::Installed, text, path)));
        return;
    }
    let in_code: Vec<(usize, &str)> = code_spans(text).filter(|(_, code)| is_path(code)).collect();
    let bare = bare_paths(text).filter(|(at, _)| text[..*at].matches('`').count().is_multiple_of(2));
    for (at, path) in in_code.iter().copied().chain(bare) {
        let before = text[..at].trim_end_matches('`');
        let after = text[at + path.len()..].trim_start_matches('`');
        // A list of paths hangs on the verb before its first one.
        let head = before.rfind('`').map_or(before, |_| in_code.first().map_or(before, |(first, _)| &text[..*first]));
        let head = head.trim_end_matches('`');
        if says(&rule::DELETES, head) {
            let change = Some(SaidChange::Deleted);
            let gone = by_claim(AssertionKind::FileWritten, text, path);
            found.push(gone.expecting(Expected { change, ..Expected::default() }));
        } else if (says(&rule::ADDED_TO, before) && !says(&rule::POINTS_TO, before))
            || says(&rule::PASSIVE, after)
            || (says(&rule::WRITES, before) && says(&rule::BEFORE_PATH, &between(before)))
        {
            found.push(written(text, path));
        }
    }
    if let Some(path) = leading_path(text).filter(|_| says(&rule::WRITES, text)) {
        let assertion = written(text, path);
        if !found.iter().any(|known| known.kind == assertion.kind && known.subject == assertion.subject) {
            found.push(assertion);
        }
    }
}

/// What stands directly before a path: the words after the last code span, or the comma of a list of them.
fn between(before: &str) -> String {
    match before.rfind('`') {
        Some(at) if before[at + 1..].trim().is_empty() => ",".to_owned(),
        Some(at) => before[at + 1..].to_owned(),
        None => before.to_owned(),
    }
}

fn commands(text: &str, found: &mut Vec<Assertion>) {
    let ran = |(at, code): &(usize, &str)| {
        let before = text[..*at].trim_end_matches('`');
        says(&rule::RAN, before) && !code.trim().is_empty() && !is_path(code)
    };
    found.extend(code_spans(text).filter(ran).map(|(_, code)| by_claim(AssertionKind::CommandRan, text, code)));
}

fn items(text: &str, plain: &str) -> Option<Assertion> {
    let caught = find(&rule::ITEMS, plain)?;
    let group = |name: &str| caught.name(name).and_then(|found| number(found.as_str()));
    let count = match (group("some"), group("of")) {
        (Some(some), Some(all)) if some == all => some,
        (Some(_), Some(_)) => return None,
        _ => group("all")?,
    };
    if count == 0 || !says(&rule::ITEMS_DONE, plain) || plain.to_lowercase().contains("test") {
        return None;
    }
    let noun = caught["noun"].to_lowercase();
    let subject = if noun.starts_with("file") { "files" } else { "" };
    let path = code_spans(text).map(|(_, code)| code).find(|code| is_path(code)).unwrap_or(subject);
    Some(by_claim(AssertionKind::ItemCount, text, path).expecting(Expected {
        count: Some(count),
        whole: true,
        ..Expected::default()
    }))
}

fn looked(text: &str, plain: &str) -> Option<Assertion> {
    if says(&rule::REVIEWED, plain) {
        let file = code_spans(text).map(|(_, code)| code).find(|code| is_path(code)).unwrap_or_default();
        let mut review = by_claim(AssertionKind::Observed, text, "review");
        review.expected.artifact = (!file.is_empty()).then(|| file.to_owned());
        return Some(review);
    }
    says(&rule::OBSERVED, plain).then(|| {
        let artifact = find(&rule::ARTIFACT, text).map(|caught| caught["path"].to_owned());
        by_claim(AssertionKind::Observed, text, "").expecting(Expected { artifact, ..Expected::default() })
    })
}

/// Paths that were left alone, and the only ones that were not.
fn left_alone(text: &str, found: &mut Vec<Assertion>) {
    let paths: Vec<(usize, &str)> = code_spans(text).filter(|(_, code)| is_path(code)).collect();
    if says(&rule::ONLY_CHANGED, &without_code(text)) && !paths.is_empty() {
        let only = paths.iter().map(|(_, path)| (*path).to_owned()).collect();
        found.push(by_claim(AssertionKind::NotChanged, text, "").expecting(Expected { only, ..Expected::default() }));
        return;
    }
    for (at, path) in paths {
        let before = text[..at].trim_end_matches('`');
        let denies = find(&rule::UNTOUCHED, before).is_some_and(|caught| {
            let words = caught[0].to_lowercase();
            ["touch", "chang", "modif", "edit"].iter().any(|verb| words.contains(verb))
        });
        let left = text[at + path.len()..].trim_start_matches('`').trim_start().to_lowercase();
        if denies
            || ["untouched", "unchanged", "is untouched", "is unchanged", "was left alone"]
                .iter()
                .any(|w| left.starts_with(w))
        {
            found.push(by_claim(AssertionKind::NotChanged, text, path));
        }
    }
}

/// What stands in backquotes, with its place.
fn code_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split('`').enumerate().filter_map(move |(number, part)| {
        let start = at;
        at += part.len() + 1;
        (number % 2 == 1 && !part.trim().is_empty()).then_some((start, part))
    })
}

fn bare_paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let rule = rule::BARE_PATH.as_ref();
    rule.into_iter().flat_map(move |rule| rule.captures_iter(text)).filter_map(|caught| {
        let path = caught.name("path")?;
        let text = path.as_str().trim_end_matches(['.', ',']);
        (!text.contains("//") && is_path(text)).then_some((path.start(), text))
    })
}

/// True for what reads as a path of a file or folder.
pub(super) fn is_path(text: &str) -> bool {
    !text.contains("://") && text.len() < 300 && says(&rule::PATH_SHAPE, text)
}

fn leading_path(text: &str) -> Option<&str> {
    let caught = find(&rule::LEADING_PATH, text);
    let path = caught.and_then(|caught| caught.name("path")).map(|path| path.as_str());
    path.or_else(|| Some(text.trim().trim_matches('`')).filter(|whole| !whole.contains(' ')))
        .filter(|path| is_path(path))
}
