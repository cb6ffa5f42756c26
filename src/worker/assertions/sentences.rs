//! A worker's words, sentence by sentence, without what is quoted, hedged or only planned.

use regex::Regex;
use std::sync::LazyLock;

/// How much of a claim is read.
const LONGEST_CLAIM: usize = 256 << 10;

/// One statement of a claim.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sentence<'a> {
    pub(super) text: &'a str,
    /// Inside a fence: pasted output, where only a runner's own summary counts.
    pub(super) pasted: bool,
    /// An item under a line such as `Files changed:`.
    pub(super) listed: bool,
}

/// The statements of a claim, questions and quotations left out.
pub(super) fn sentences(claim: &str) -> Vec<Sentence<'_>> {
    let end = (0..=claim.len().min(LONGEST_CLAIM)).rev().find(|at| claim.is_char_boundary(*at)).unwrap_or(0);
    let mut found = Vec::new();
    let (mut fence, mut listed) = (None, false);
    for line in claim[..end].lines() {
        let line = line.trim();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)) {
            fence = if fence == Some(mark) { None } else { fence.or(Some(mark)) };
            continue;
        }
        if fence.is_some() {
            found.push(Sentence { text: line, pasted: true, listed: false });
            continue;
        }
        if line.is_empty() || line.starts_with('>') {
            continue;
        }
        if is_heading_of_files(line) {
            listed = true;
            continue;
        }
        let item = line.starts_with(['-', '*', '+']) || line.starts_with(|c: char| c.is_ascii_digit());
        listed &= item;
        let bare = line.trim_start_matches(['-', '*', '+', '#', '|', ' ', '\u{2705}', '\u{2713}', '\u{2714}']);
        found.extend(split(bare).map(|text| Sentence { text, pasted: false, listed }));
    }
    found.retain(|sentence| !sentence.text.is_empty() && !sentence.text.ends_with('?'));
    found
}

/// Sentences of a line: a full stop counts where a blank follows, so paths and numbers stay whole.
fn split(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.match_indices(['.', '!', '?', ';']).filter(|(at, mark)| {
        line[at + mark.len()..].starts_with(' ') && !line[..*at].ends_with("e.g") && !line[..*at].ends_with("i.e")
    });
    let mut from = 0;
    let mut parts = Vec::new();
    for (at, mark) in ends {
        let end = at + mark.len();
        // A question keeps its mark: it asserts nothing.
        parts.push(line[from..if mark == "?" { end } else { at }].trim());
        from = end;
    }
    parts.push(line[from..].trim().trim_end_matches(['.', '!', ';']).trim());
    parts.into_iter()
}

fn is_heading_of_files(line: &str) -> bool {
    static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^\W*(?:(?:new|changed|modified|created|updated|edited)\s+files?|files?\s+(?:changed|modified|created|updated|edited|added|written))\W*$").ok()
    });
    HEADING.as_ref().is_some_and(|heading| heading.is_match(line))
}

/// True if a sentence says that something is not so, not yet so, or only meant to be so.
pub(super) fn is_hedged(sentence: &str) -> bool {
    static HARMLESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\b(?:0|no|zero|without(?:\s+any)?|never)\s+(?:\w+\s+)?(?:failed|failures?|failing|errors?|warnings?|regressions?|skipped|problems?|issues?)(?:\s*/\s*errors?)?\b",
        )
        .ok()
    });
    static HEDGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\b(?:not|never|cannot|can't|\w+n't|unable|fails?|failed|failing|should|would|could|will|may|might|if|unless|until|todo|remaining|next steps?|please|you can|you may|needs? to|to be|previously|expect(?:ed|s)?|plan(?:ned)?|let me|i'll|going to|want(?:s|ed)?|instead of|no longer|skip(?:ped)?|pending|try|trying|attempt(?:ed)?|once|assum(?:e|ing|ed)|ideally|hopefully|red before|used to|none of|nothing|nobody|neither|no (?:commits?|tests?|pushe?s?|evidence)|doubt(?:s|ful)?|unclear|unsure|uncertain|false that|make sure|ensure|whether|except)\b",
        )
        .ok()
    });
    let plain = sentence.replace('\u{2019}', "'");
    let plain =
        HARMLESS.as_ref().map_or_else(|| plain.clone(), |harmless| harmless.replace_all(&plain, "").into_owned());
    HEDGE.as_ref().is_some_and(|hedge| hedge.is_match(&without_code(&plain)))
}

/// The sentence with what stands in backquotes taken out: a test's name may hold any word.
pub(super) fn without_code(sentence: &str) -> String {
    sentence.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_falls_into_sentences_and_paths_stay_whole() {
        let claim = "Fixed `a.rs`. All 3 tests pass!\n\n> quoted\n- v1.2 is out; done?\n```\n3 passed\n```\nFiles changed:\n- src/a.rs\nEnd.";
        let found: Vec<(&str, bool, bool)> = sentences(claim).iter().map(|s| (s.text, s.pasted, s.listed)).collect();
        let expected = [
            ("Fixed `a.rs`", false, false),
            ("All 3 tests pass", false, false),
            ("v1.2 is out", false, false),
            ("3 passed", true, false),
            ("src/a.rs", false, true),
            ("End", false, false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_denied_planned_or_wished_is_hedged_and_no_failure_is_not() {
        for hedged in [
            "I could not run the tests",
            "Tests weren’t run",
            "the tests should pass",
            "If you run it, all tests pass",
            "2 tests failed",
            "Next step: push the branch",
            "None of the tests pass yet",
            "Nothing was pushed",
            "No commit was made",
            "I neither committed nor pushed",
            "Nobody pushed the branch",
            "It is unclear whether all tests pass",
            "I doubt that all tests pass",
            "Make sure all tests pass before merging",
            "All tests pass except one",
        ] {
            assert!(is_hedged(hedged), "{hedged}");
        }
        for plain in
            ["42 passed, 0 failed", "No failures: all tests pass", "Fixed `should_not_fail`", "builds without errors"]
        {
            assert!(!is_hedged(plain), "{plain}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_claim_is_read(claim in "\\PC{0,200}") {
            for sentence in sentences(&claim) {
                is_hedged(sentence.text);
            }
        }
    }
}
