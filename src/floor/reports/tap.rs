//! Reads TAP 13 and 14: plans, test points, subtests, directives, YAML blocks.
//!
//! A subtest's points are cases under its name; the point that sums it up is a group, not a case, unless it fails on
//! its own. SKIP and TODO points were not run as far as evidence goes. A plan that its points do not fill, at any
//! level, and a plan that is missing, are trouble.

mod line;
mod tree;

use super::Totals;
use super::lines::lines;
use super::node;
use super::tally::Tally;
use line::{Item, item};
use tree::Tree;

/// Reads the output.
pub(super) fn read(output: &[u8], tally: &mut Tally) {
    let mut tree = Tree::default();
    let mut yaml: Option<usize> = None;
    let mut after_point: Option<usize> = None;
    for text in lines(output) {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let body = text.trim();
        if let Some(block) = yaml {
            if indent == block && body == "..." {
                yaml = None;
            } else if indent == block {
                tree.detail(body);
            }
            continue;
        }
        if body == "---" && after_point.is_some_and(|point| indent == point + 2) {
            yaml = Some(indent);
            continue;
        }
        after_point = None;
        let Some(item) = item(body).filter(|_| indent % 4 == 0) else { continue };
        if matches!(item, Item::Point(_)) {
            after_point = Some(indent);
        }
        if let Err(why) = tree.item(indent / 4, item) {
            tally.trouble(why);
            break;
        }
    }
    if yaml.is_some() {
        tally.trouble("the report ends inside a YAML block".to_owned());
    }
    let totals = node::totals(output);
    let points = tree.finish(totals.is_some(), tally);
    if let Some((totals, blocks)) = totals {
        if blocks > 1 {
            tally.remark(format!("node's totals are printed {blocks} times; the last ones count"));
        }
        let declared = Totals {
            tests: Some(totals.tests),
            failed: Some(totals.failed.saturating_add(totals.cancelled)),
            skipped: None,
        };
        tally.declare(declared);
        // Node counts some groups as tests: only more declared than there are points is a contradiction.
        let seen = Totals { tests: Some(points.all), failed: Some(points.failed), skipped: None };
        let more = |declared: Option<u64>, seen: u64| declared.filter(|declared| *declared > seen);
        let least = Totals {
            tests: more(declared.tests, points.all),
            failed: more(declared.failed, points.failed),
            skipped: None,
        };
        tally.compare("its last lines", least, seen);
    }
}
