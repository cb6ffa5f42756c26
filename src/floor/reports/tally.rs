//! What a reader has counted so far, within bounds.

use super::{Format, Reading, Totals};
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CaseResult, TestCase};

/// More cases than this are not kept.
pub(super) const MOST_CASES: usize = 200_000;
/// Bytes of names that are kept.
const MOST_NAME_BYTES: usize = 64 << 20;
/// A longer name is cut.
pub(super) const LONGEST_NAME: usize = 1_000;
/// More sentences than this are only counted.
const MOST_SENTENCES: usize = 20;

/// A reading that is being made.
#[derive(Debug, Default)]
pub(super) struct Tally {
    room: String,
    place: String,
    cases: Vec<TestCase>,
    name_bytes: usize,
    flaky: Vec<String>,
    declared: Option<Totals>,
    /// Executed, failed, skipped, where the report counts more than it names.
    counted: Option<(u64, u64, u64)>,
    /// The report does not say how many ran.
    unknown: bool,
    /// The report is not meant to name every test.
    unnamed: bool,
    full: bool,
    trouble: Sentences,
    remarks: Sentences,
}

#[derive(Debug, Default)]
struct Sentences {
    kept: Vec<String>,
    more: u64,
}

impl Sentences {
    fn add(&mut self, sentence: String) {
        if self.kept.contains(&sentence) {
            return;
        }
        if self.kept.len() < MOST_SENTENCES {
            self.kept.push(sentence);
        } else {
            self.more += 1;
        }
    }

    fn into_list(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("and {} more of the kind", self.more));
        }
        self.kept
    }
}

impl Tally {
    /// Nothing counted yet. `room` is the folder the tests ran under.
    pub(super) fn new(room: &str) -> Self {
        Self { room: room.trim_end_matches('/').to_owned(), ..Self::default() }
    }

    /// What follows is about this file.
    pub(super) fn enter(&mut self, file: &RepoPath) {
        self.place = format!("{file}: ");
    }

    /// One case. Its names are made fit for a screen here.
    pub(super) fn case(&mut self, suite: &str, name: &str, file: Option<&str>, result: CaseResult) {
        let file = file.map(|file| RepoPath::from(self.below_room(file))).filter(RepoPath::is_safe);
        let case = TestCase { suite: self.shown(suite), name: self.shown(name), file, result };
        let bytes = case.suite.len() + case.name.len() + case.file.as_ref().map_or(0, |file| file.as_bytes().len());
        if self.cases.len() >= MOST_CASES || self.name_bytes + bytes > MOST_NAME_BYTES {
            if !self.full {
                self.full = true;
                self.trouble(format!("the report has too many cases; {} are kept", self.cases.len()));
            }
            // A failure beyond the bound is still counted.
            let (executed, failed, skipped) = self.counted.unwrap_or_else(|| self.of_cases());
            let one = |yes: bool| u64::from(yes);
            self.counted = Some((
                executed + one(result != CaseResult::Skipped),
                failed + one(result >= CaseResult::Failed),
                skipped + one(result == CaseResult::Skipped),
            ));
            return;
        }
        self.name_bytes += bytes;
        self.cases.push(case);
    }

    /// A test that passed only after failing.
    pub(super) fn flaky(&mut self, suite: &str, name: &str) {
        if self.flaky.len() < MOST_SENTENCES * 50 {
            let (suite, name) = (self.shown(suite), self.shown(name));
            self.flaky.push(if suite.is_empty() { name } else { format!("{suite}::{name}") });
        }
    }

    /// The report is damaged, contradicts itself, or cannot be understood.
    pub(super) fn trouble(&mut self, why: String) {
        let why = self.placed(why);
        self.trouble.add(why);
    }

    /// Something odd that takes nothing from the report's worth.
    pub(super) fn remark(&mut self, what: String) {
        let what = self.placed(what);
        self.remarks.add(what);
    }

    /// Totals that the report declares for all of itself.
    pub(super) fn declare(&mut self, totals: Totals) {
        let old = self.declared.unwrap_or_default();
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.declared = Some(Totals {
            tests: sum(old.tests, totals.tests),
            failed: sum(old.failed, totals.failed),
            skipped: sum(old.skipped, totals.skipped),
        });
    }

    /// Holds declared totals against what was seen: more declared than seen is trouble, less is odd.
    pub(super) fn compare(&mut self, what: &str, declared: Totals, seen: Totals) {
        let pairs = [("tests", declared.tests, seen.tests), ("failures", declared.failed, seen.failed)];
        for (noun, declared, seen) in pairs {
            let (Some(declared), Some(seen)) = (declared, seen) else { continue };
            let sentence = format!("{what} declares {declared} {noun} and lists {seen}");
            match declared.cmp(&seen) {
                std::cmp::Ordering::Greater => self.trouble(sentence),
                std::cmp::Ordering::Less => self.remark(sentence),
                std::cmp::Ordering::Equal => {}
            }
        }
    }

    /// Adds to the counts of a report that counts tests which it does not name.
    pub(super) fn count(&mut self, executed: u64, failed: u64, skipped: u64) {
        let old = self.counted.unwrap_or_default();
        self.counted =
            Some((old.0.saturating_add(executed), old.1.saturating_add(failed), old.2.saturating_add(skipped)));
    }

    /// The report does not name every test, and is not at fault.
    pub(super) fn names_missing(&mut self) {
        self.unnamed = true;
    }

    /// The report does not say how many tests ran.
    pub(super) fn executed_unknown(&mut self) {
        self.unknown = true;
    }

    /// How many cases are kept, and how many of them failed, were skipped.
    pub(super) fn seen(&self) -> Totals {
        let (executed, failed, skipped) = self.of_cases();
        Totals { tests: Some(executed + skipped), failed: Some(failed), skipped: Some(skipped) }
    }

    fn of_cases(&self) -> (u64, u64, u64) {
        let count = |wanted: fn(CaseResult) -> bool| self.cases.iter().filter(|c| wanted(c.result)).count() as u64;
        let skipped = count(|result| result == CaseResult::Skipped);
        (self.cases.len() as u64 - skipped, count(|result| result >= CaseResult::Failed), skipped)
    }

    /// The text relative to the room.
    pub(super) fn below_room<'t>(&self, text: &'t str) -> &'t str {
        let below = text.strip_prefix(self.room.as_str()).and_then(|rest| rest.strip_prefix('/'));
        below.filter(|_| !self.room.is_empty()).unwrap_or(text)
    }

    fn placed(&self, sentence: String) -> String {
        if self.place.is_empty() { sentence } else { format!("{}{sentence}", self.place) }
    }

    fn shown(&self, text: &str) -> String {
        escape(cut(self.below_room(text)).as_bytes())
    }

    /// The reading.
    pub(super) fn into_reading(self, format: Format) -> Reading {
        let named = self.of_cases();
        let counted = self.counted.unwrap_or(named);
        let trouble = self.trouble.into_list();
        let mut cases = self.cases;
        cases.sort();
        Reading {
            format: format.name().to_owned(),
            executed: (!self.unknown).then_some(counted.0.max(named.0)),
            failed: counted.1.max(named.1),
            skipped: counted.2.max(named.2),
            cases,
            declared: self.declared,
            flaky: self.flaky,
            complete: trouble.is_empty() && !self.unnamed,
            distrusted: !trouble.is_empty(),
            trouble,
            remarks: self.remarks.into_list(),
            unwritten: false,
            files: Vec::new(),
        }
    }
}

/// True if a JSON text has more objects or values than a report of so many cases needs: building it would take memory
/// many times its size.
pub(super) fn is_overfull(json: &[u8]) -> bool {
    let (objects, values) = json.iter().fold((0_usize, 0_usize), |(objects, values), byte| {
        (objects + usize::from(*byte == b'{'), values + usize::from(*byte == b','))
    });
    objects > 5 * MOST_CASES || values > 40 * MOST_CASES
}

/// At most [`LONGEST_NAME`] bytes of a name.
pub(super) fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
