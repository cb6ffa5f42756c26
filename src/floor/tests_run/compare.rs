//! The tests of the base against those of the claim, one by one: a bare count, or a bare exit status, hides what matters.
//!
//! A test is known by suite, file and name; equal ones are counted. A test whose identity is gone is looked for under its
//! name elsewhere (a moved file), then as itself with parameters, then as what the text of the claim says it became.

mod matching;

use super::Reading;
use crate::host::path::RepoPath;
use crate::receipts::{CaseResult, ComparedRecord, TestCase};
use matching::{Matched, match_up};
use std::collections::{BTreeMap, BTreeSet};

/// What tells a test from all others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::floor) struct Identity {
    pub(in crate::floor) suite: String,
    pub(in crate::floor) file: Option<RepoPath>,
    pub(in crate::floor) name: String,
}

impl Identity {
    fn of(case: &TestCase) -> Self {
        Self { suite: case.suite.clone(), file: case.file.clone(), name: without_line(&case.name) }
    }

    /// For people.
    pub(in crate::floor) fn shown(&self) -> String {
        if self.suite.is_empty() { self.name.clone() } else { format!("{}::{}", self.suite, self.name) }
    }

    /// The name without groups and modules around it.
    pub(in crate::floor) fn own_name(&self) -> &str {
        let name = self.name.rsplit("::").next().unwrap_or(&self.name);
        name.rsplit(" > ").next().unwrap_or(name)
    }

    /// The name without parameters; none if it has none.
    pub(in crate::floor) fn stem(&self) -> Option<&str> {
        self.name.split_once('[').filter(|(stem, rest)| !stem.is_empty() && rest.ends_with(']')).map(|(stem, _)| stem)
    }
}

/// A doc test is named after its line, which any edit above moves: the line is not part of what it is.
fn without_line(name: &str) -> String {
    let Some((before, rest)) = name.split_once(" (line ") else { return name.to_owned() };
    match rest.split_once(')') {
        Some((digits, after)) if digits.bytes().all(|b| b.is_ascii_digit()) => format!("{before}{after}"),
        _ => name.to_owned(),
    }
}

/// What became of all tests of one identity on one side, over its run and the repeated ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Standing {
    passed: u64,
    skipped: u64,
    /// Failed in every run.
    failed: u64,
    /// Broke in every run.
    errored: u64,
    /// Failed in one run and passed in another.
    flaky: u64,
}

impl Standing {
    fn executed(self) -> u64 {
        self.passed + self.failing() + self.flaky
    }

    fn failing(self) -> u64 {
        self.failed + self.errored
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.errored += other.errored;
        self.flaky += other.flaky;
    }
}

/// Every test of one side.
type Side = BTreeMap<Identity, Standing>;

/// How a test of the base appears on the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::floor) enum How {
    /// The same name in another place.
    Moved,
    /// The same body under another name.
    Renamed,
    /// Its assertions stand in that test.
    Merged,
    /// The same test with or without parameters.
    Parametrised,
    /// A case of the same test with other parameters.
    Recased,
    /// The same, where the text says that cases were put in and none was taken away or changed.
    Shifted,
}

/// What the text of the claim says a test of the base became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::floor) struct Heir {
    pub(in crate::floor) old_path: RepoPath,
    pub(in crate::floor) old_name: String,
    /// Where it is now; none if it is gone.
    pub(in crate::floor) new: Option<(How, RepoPath, String)>,
    /// True if its parameters have what they had, in order, and more.
    pub(in crate::floor) grown: bool,
}

/// What a comparison may ask of the two trees.
pub(in crate::floor) struct Context<'a> {
    /// What became of the tests that the changed files define.
    pub(in crate::floor) heirs: &'a [Heir],
    /// True if a file of this path is in the claim's tree.
    pub(in crate::floor) in_claim: &'a dyn Fn(&RepoPath) -> bool,
    /// The folder the command runs in.
    pub(in crate::floor) root: &'a RepoPath,
}

/// A test of the base that does not run on the claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::floor) struct Missing {
    pub(in crate::floor) test: Identity,
    /// How many of this identity.
    pub(in crate::floor) count: u64,
    /// True if it failed on the base.
    pub(in crate::floor) failed: bool,
}

/// Names are for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::floor) struct Comparison {
    /// True if both lists are believed complete.
    pub(in crate::floor) complete: bool,
    pub(in crate::floor) executed: (u64, u64),
    pub(in crate::floor) kept: u64,
    pub(in crate::floor) added: u64,
    pub(in crate::floor) mended: Vec<String>,
    pub(in crate::floor) pre_existing: Vec<String>,
    /// Failing in another way than on the base.
    pub(in crate::floor) changed: Vec<String>,
    /// Failing on the claim, unstable on the base.
    pub(in crate::floor) unsure: Vec<String>,
    /// Failing on the claim, passed on the base.
    pub(in crate::floor) broken: Vec<String>,
    /// Failing on the claim, not there on the base.
    pub(in crate::floor) broken_new: Vec<String>,
    pub(in crate::floor) flaky_old: Vec<String>,
    pub(in crate::floor) flaky_new: Vec<String>,
    pub(in crate::floor) flaky_base: Vec<String>,
    /// Old name, new name.
    pub(in crate::floor) moved: Vec<(How, String, String)>,
    pub(in crate::floor) skipped: Vec<Missing>,
    pub(in crate::floor) lost: Vec<Missing>,
}

/// Compares two sides; each is the reading of a run and those of its repetitions.
pub(in crate::floor) fn compare(base: &[&Reading], claim: &[&Reading], context: &Context<'_>) -> Comparison {
    let (old, new) = (settle(base), settle(claim));
    let sum = |side: &Side| side.values().map(|standing| standing.executed()).sum();
    let complete = |readings: &[&Reading]| readings.first().is_some_and(|reading| reading.complete);
    let mut found = Comparison {
        complete: complete(base) && complete(claim),
        executed: (sum(&old), sum(&new)),
        ..Comparison::default()
    };
    let Matched { moved, loads } = match_up(&old, &new, context);
    let mut by_old = new.clone();
    for (how, from, to) in &moved {
        let standing = match how {
            // That test is counted as itself; here it only stands in for another.
            How::Merged => new.get(to).map(|_| Standing { passed: 1, ..Standing::default() }),
            _ => by_old.remove(to),
        };
        if let Some(standing) = standing {
            by_old.entry(from.clone()).or_default().add(standing);
            found.moved.push((*how, from.shown(), to.shown()));
        }
    }
    for (test, standing) in &by_old {
        let before = old.get(test).copied().unwrap_or_default();
        found.judge(test, before, *standing);
    }
    for (test, before) in old.iter().filter(|(test, before)| before.executed() > 0 && !by_old.contains_key(test)) {
        if loads.contains(test) {
            found.mended.push(format!("{} (it loads now)", test.shown()));
        } else {
            found.miss(test, *before, before.executed());
        }
        found.unstable_before(test, *before);
    }
    found
}

impl Comparison {
    /// One identity that the claim lists.
    fn judge(&mut self, test: &Identity, before: Standing, now: Standing) {
        let name = || test.shown();
        self.kept += before.executed().min(now.executed());
        self.added += now.executed().saturating_sub(before.executed());
        let is_new = before.executed() == 0;
        if now.flaky > 0 {
            if is_new { self.flaky_new.push(name()) } else { self.flaky_old.push(name()) }
        }
        self.unstable_before(test, before);
        if now.failing() > before.failing() + before.flaky {
            if is_new { self.broken_new.push(name()) } else { self.broken.push(name()) }
        } else if now.failing() > before.failing() {
            self.unsure.push(name());
        } else if now.errored != before.errored && now.failing() > 0 && now.errored > before.errored {
            self.changed.push(format!("{} (it failed on the base, and breaks before it can fail)", name()));
        } else if now.failing() > 0 {
            self.pre_existing.push(name());
        }
        if before.failing() > now.failing() + now.flaky && now.passed > before.passed {
            self.mended.push(name());
        }
        let deficit = before.executed().saturating_sub(now.executed());
        let skipped = deficit.min(now.skipped.saturating_sub(before.skipped));
        if skipped > 0 {
            let failed = before.failing() > 0;
            self.skipped.push(Missing { test: test.clone(), count: skipped, failed });
        }
        if deficit > skipped {
            self.miss(test, before, deficit - skipped);
        }
    }

    fn miss(&mut self, test: &Identity, before: Standing, count: u64) {
        self.lost.push(Missing { test: test.clone(), count, failed: before.failing() > 0 });
    }

    fn unstable_before(&mut self, test: &Identity, before: Standing) {
        if before.flaky > 0 {
            self.flaky_base.push(test.shown());
        }
    }

    /// Its receipt; the numbers of the runs are the ledger's to give.
    pub(in crate::floor) fn record(&self) -> ComparedRecord {
        let names = |missing: &[Missing]| missing.iter().map(|missing| missing.test.shown()).collect();
        let all = |lists: &[&Vec<String>]| {
            let names: BTreeSet<String> = lists.iter().flat_map(|list| list.iter().cloned()).collect();
            names.into_iter().collect()
        };
        ComparedRecord {
            claim: 0,
            base: 0,
            complete: self.complete,
            kept: self.kept,
            added: self.added,
            mended: self.mended.clone(),
            pre_existing: self.pre_existing.clone(),
            unclear: all(&[&self.changed, &self.unsure]),
            broken: all(&[&self.broken, &self.broken_new]),
            flaky: all(&[&self.flaky_old, &self.flaky_new, &self.flaky_base]),
            flaky_new: self.flaky_new.clone(),
            skipped: names(&self.skipped),
            lost: names(&self.lost),
        }
    }

    /// True if something failed on the claim and can be told apart from what failed before.
    pub(in crate::floor) fn tells_failures(&self) -> bool {
        let failing = [&self.pre_existing, &self.changed, &self.unsure, &self.broken, &self.broken_new];
        self.complete && (failing.iter().any(|names| !names.is_empty()) || self.has_flakes())
    }

    fn has_flakes(&self) -> bool {
        !(self.flaky_old.is_empty() && self.flaky_new.is_empty())
    }
}

/// The results of a run and its repetitions, identity by identity. A repetition that is not complete says nothing.
fn settle(readings: &[&Reading]) -> Side {
    let Some((first, again)) = readings.split_first() else { return Side::new() };
    let again: Vec<Side> = again.iter().filter(|reading| reading.complete).map(|reading| tally(reading)).collect();
    let mut side = tally(first);
    for (test, standing) in &mut side {
        let executed = standing.executed();
        // A run in which it was skipped, or did not come up, tells nothing about its failures.
        let others = again.iter().filter_map(|side| side.get(test)).filter(|other| other.executed() == executed);
        let all: Vec<Standing> = std::iter::once(*standing).chain(others.copied()).collect();
        let steady = all.iter().map(|one| one.failing()).min().unwrap_or_default();
        let worst = all.iter().map(|one| one.failing()).max().unwrap_or_default();
        let errored = all.iter().map(|one| one.errored).min().unwrap_or_default().min(steady);
        let flaky = worst - steady;
        *standing = Standing {
            passed: executed.saturating_sub(worst),
            skipped: standing.skipped,
            failed: steady - errored,
            errored,
            flaky,
        };
    }
    side
}

fn tally(reading: &Reading) -> Side {
    let mut side = Side::new();
    for case in &reading.cases {
        let standing = side.entry(Identity::of(case)).or_default();
        match case.result {
            CaseResult::Passed => standing.passed += 1,
            CaseResult::Skipped => standing.skipped += 1,
            CaseResult::Failed => standing.failed += 1,
            CaseResult::Errored => standing.errored += 1,
        }
    }
    side
}

#[cfg(test)]
#[path = "compare/tests.rs"]
mod tests;
