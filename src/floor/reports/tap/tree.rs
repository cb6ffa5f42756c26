//! The points of a TAP stream, level by level.

use super::line::{Directive, Item, Point};
use crate::floor::reports::junit::names_a_file;
use crate::floor::reports::tally::{MOST_CASES, Tally, cut};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use std::collections::BTreeSet;

/// Subtests nested deeper than this are not read.
const DEEPEST: usize = 64;

#[derive(Debug, Default)]
struct Level {
    plan: Option<u64>,
    points: u64,
    numbers: BTreeSet<u64>,
    /// Where its cases begin.
    first: usize,
    /// The point that opened it in braces.
    opened_by: Option<Point>,
}

#[derive(Debug)]
struct Leaf {
    name: String,
    result: CaseResult,
    /// A suite or a file without tests, by its YAML block or its name.
    is_empty_group: bool,
}

/// How many points there were, groups included.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Points {
    pub(super) all: u64,
    pub(super) failed: u64,
}

/// Everything read so far.
#[derive(Debug, Default)]
pub(super) struct Tree {
    levels: Vec<Level>,
    leaves: Vec<Leaf>,
    points: Points,
    /// Whether the last point is itself a case, the last of `leaves`.
    last_is_leaf: bool,
    trouble: Vec<String>,
    remarks: Vec<String>,
}

impl Tree {
    /// Takes one line at a level.
    pub(super) fn item(&mut self, level: usize, item: Item) -> Result<(), String> {
        if level >= DEEPEST {
            return Err(format!("its subtests are nested deeper than {DEEPEST}"));
        }
        match item {
            Item::Version(version) if !matches!(version, 12..=14) => {
                self.say(format!("it is of the unknown TAP version {version}"));
            }
            Item::Version(_) => {}
            Item::Plan { last, reason } => {
                self.descend(level);
                if let Some(reason) = reason.filter(|_| last == 0) {
                    self.remark(format!("nothing was run: {}", escape(reason.as_bytes())));
                }
                if self.levels[level].plan.replace(last).is_some() {
                    self.say("it has two plans".to_owned());
                }
            }
            Item::Point(_) if self.points.all >= MOST_CASES as u64 => {
                return Err(format!("it has more than {MOST_CASES} test points"));
            }
            Item::Point(point) => self.point(level, point),
            Item::BailOut(why) => {
                self.say(format!("the run bailed out: {}", escape(why.as_bytes())));
                self.leaf("Bail out!".to_owned(), CaseResult::Errored);
            }
            Item::Close => {
                if self.levels.len() == level + 2 && self.levels[level + 1].opened_by.is_some() {
                    self.ascend();
                }
            }
        }
        Ok(())
    }

    /// Takes a line of the last point's YAML block.
    pub(super) fn detail(&mut self, line: &str) {
        if line == "type: 'suite'"
            && self.last_is_leaf
            && let Some(leaf) = self.leaves.last_mut()
        {
            leaf.is_empty_group = true;
        }
    }

    fn point(&mut self, level: usize, point: Point) {
        // The level below, if open, is this point's subtest, unless a brace opened it.
        self.descend_to_parent(level);
        let children = (self.levels.len() == level + 2).then(|| self.levels[level + 1].first);
        if children.is_some() {
            self.close_plan(level + 1);
            self.levels.truncate(level + 1);
        }
        self.points.all += 1;
        let is_bad = !point.ok && point.directive.is_none();
        self.points.failed += u64::from(is_bad);
        let here = &mut self.levels[level];
        here.points += 1;
        let repeated = point.number.filter(|number| !here.numbers.insert(*number));
        if let Some(number) = repeated {
            self.say(format!("it has two test points {number}"));
        }
        if point.opens {
            let first = self.leaves.len();
            self.levels.push(Level { first, opened_by: Some(point), ..Level::default() });
            self.last_is_leaf = false;
            return;
        }
        match children {
            Some(first) => self.group(first, &point),
            None => self.leaf(point.name.clone(), result(&point)),
        }
        if let Some(directive) = point.directive.filter(|_| !point.ok) {
            let word = if directive == Directive::Skip { "SKIP" } else { "TODO" };
            self.remark(format!("{} is marked {word} and not ok", escape(cut(&point.name).as_bytes())));
        }
    }

    /// Puts a group's name before its cases; a group that fails alone is a case.
    fn group(&mut self, first: usize, point: &Point) {
        let children = &mut self.leaves[first..];
        let failing = children.iter().any(|leaf| leaf.result >= CaseResult::Failed);
        let is_empty = children.is_empty();
        for leaf in children {
            let name = format!("{} > {}", point.name, leaf.name);
            cut(&name).clone_into(&mut leaf.name);
        }
        self.last_is_leaf = false;
        let own = result(point);
        if is_empty || (own >= CaseResult::Failed && !failing) {
            let own = match own {
                CaseResult::Failed => CaseResult::Errored,
                CaseResult::Passed => CaseResult::Skipped,
                other => other,
            };
            self.leaf(point.name.clone(), own);
        } else if point.ok && failing {
            self.remark(format!("{} is ok although a subtest of it is not", escape(point.name.as_bytes())));
        }
    }

    fn leaf(&mut self, name: String, result: CaseResult) {
        self.leaves.push(Leaf { name, result, is_empty_group: false });
        self.last_is_leaf = true;
    }

    /// Opens levels down to this one and closes those below it.
    fn descend(&mut self, level: usize) {
        self.descend_to_parent(level);
        if self.levels.len() == level + 2 && self.levels[level + 1].opened_by.is_some() {
            self.ascend();
        }
    }

    /// The same, but leaves the level right below open: it may be the subtest of the point that comes.
    fn descend_to_parent(&mut self, level: usize) {
        while self.levels.len() > level + 2 {
            self.ascend();
        }
        if self.levels.len() == level + 2 && self.levels[level + 1].opened_by.is_some() {
            self.ascend();
        }
        while self.levels.len() <= level {
            self.levels.push(Level { first: self.leaves.len(), ..Level::default() });
        }
    }

    /// Closes the deepest level.
    fn ascend(&mut self) {
        let Some(deepest) = self.levels.len().checked_sub(1) else { return };
        self.close_plan(deepest);
        let Some(level) = self.levels.pop() else { return };
        match level.opened_by {
            Some(point) => self.group(level.first, &point),
            None if deepest > 0 => self.say("a subtest has no result".to_owned()),
            None => {}
        }
    }

    fn close_plan(&mut self, at: usize) {
        let level = &self.levels[at];
        let what = if at == 0 { "the report" } else { "a subtest" };
        let sentence = match level.plan {
            None => format!("{what} has no plan and {} test points", level.points),
            Some(plan) if plan != level.points => {
                format!("{what} plans {plan} test points and has {}", level.points)
            }
            Some(plan) => match level.numbers.last() {
                Some(number) if *number > plan => format!("{what} plans {plan} test points and numbers one {number}"),
                _ => return,
            },
        };
        self.say(sentence);
    }

    fn say(&mut self, what: String) {
        if self.trouble.len() < 100 {
            self.trouble.push(what);
        }
    }

    fn remark(&mut self, what: String) {
        if self.remarks.len() < 100 {
            self.remarks.push(what);
        }
    }

    /// Closes everything and hands the cases over. `is_node` is true if node's own totals follow.
    pub(super) fn finish(mut self, is_node: bool, tally: &mut Tally) -> Points {
        if self.levels.is_empty() {
            self.say("the report has neither plan nor test points".to_owned());
            tally.executed_unknown();
        }
        while !self.levels.is_empty() {
            self.ascend();
        }
        for leaf in self.leaves {
            let is_file = is_node && names_a_file(&leaf.name);
            let result = match leaf.result {
                CaseResult::Passed if leaf.is_empty_group || is_file => CaseResult::Skipped,
                CaseResult::Failed if is_file => CaseResult::Errored,
                result => result,
            };
            tally.case("", &leaf.name, is_file.then_some(leaf.name.as_str()), result);
        }
        self.trouble.into_iter().for_each(|why| tally.trouble(why));
        self.remarks.into_iter().for_each(|what| tally.remark(what));
        self.points
    }
}

fn result(point: &Point) -> CaseResult {
    match point.directive {
        Some(_) => CaseResult::Skipped,
        None if point.ok => CaseResult::Passed,
        None => CaseResult::Failed,
    }
}
