//! `scope`: the claim stays inside what its task may touch.

use super::Inspection;
use super::bookkeeping::{Page, page};
use super::finding::{ask, deny, unknown};
use super::patterns::Patterns;
use crate::config::Bookkeeper;
use crate::host::git::Change;
use crate::host::path::RepoPath;
use crate::receipts::{CheckReport, Finding};
use std::collections::BTreeSet;

/// The check's id.
pub const ID: &str = "scope";

/// Denies a path that the settings forbid, one outside the task's declared `paths`, and what the base's layout does not
/// let a worker write: another context's README, and anything under `.agentheim/` where the conductor keeps the board
/// (RULINGS 10, 11). Without declared paths no path is denied for being unexpected. The pages that `tamper` guards
/// (protocol, INDEX, settings, task files) are left to it.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let forbidden = &on.settings.scope.forbidden;
    let declared: &[String] = on.task.map_or(&[], |task| &task.paths);
    if on.task.is_none() && forbidden.is_empty() {
        return CheckReport::not_applicable(ID, "no task says what may be touched, and no `scope.forbidden` is set");
    }
    let (barred, allowed) = match (Patterns::compile(forbidden), Patterns::compile(declared)) {
        (Ok(barred), Ok(allowed)) => (barred, allowed),
        (Err(why), _) => return unreadable("scope.forbidden", why),
        (_, Err(why)) => return unreadable("the task's `paths`", why),
    };
    let touched: BTreeSet<&RepoPath> = on.claim.changed.iter().flat_map(Change::paths).collect();
    let mut findings = Vec::new();
    for path in touched {
        if let Some(glob) = barred.hit(path) {
            let expected = format!("unchanged: the settings forbid `{glob}`; restore it from the base");
            findings.push(deny(path, expected, "changed"));
            continue;
        }
        let place = page(on, path);
        findings
            .extend(on.keeper().filter(|_| on.task.is_some()).and_then(|keeper| structural(on, keeper, place, path)));
        let free = matches!(place, None | Some(Page::Application));
        if free && !declared.is_empty() && allowed.hit(path).is_none() {
            let expected = format!("only paths that the task declares: {}", declared.join(", "));
            findings.push(deny(path, expected, "changed outside of them"));
        }
    }
    let report = CheckReport::of(ID, findings);
    if declared.is_empty() { report.noting("the task declares no `paths`: none is unexpected") } else { report }
}

fn unreadable(place: &str, why: String) -> CheckReport {
    CheckReport::of(ID, vec![unknown(place, "globs that can be read", why)])
}

fn structural(on: &Inspection<'_>, keeper: Bookkeeper, place: Option<Page>, path: &RepoPath) -> Option<Finding> {
    match (keeper, place?) {
        (_, Page::Protocol | Page::Index | Page::Settings | Page::OwnTask | Page::OtherTask(_) | Page::Application)
        | (Bookkeeper::Worker, Page::OwnReadme | Page::Decision) => None,
        (_, Page::Runtime) => {
            Some(deny(path, "left alone: a running project's state is never part of a claim", "changed"))
        }
        (_, Page::OtherReadme) if on.context().is_none() => {
            Some(ask(path, "the README of the task's own context", "a context's README; the task names no context"))
        }
        (_, Page::OtherReadme) => {
            let own = on.context().unwrap_or_default();
            let expected =
                format!("only the README of the task's own context, `{own}`; restore this one from the base");
            Some(deny(path, expected, "another context's README is changed"))
        }
        (Bookkeeper::Conductor, _) => {
            let expected = "nothing under .agentheim/ changed by a worker: put it into the report's README_DELTA, ADRS, \
                            OUTCOME or BACKLOG_ITEMS block and restore the file from the base";
            Some(deny(path, expected, "changed"))
        }
        (Bookkeeper::Worker, Page::Other) => {
            let expected = "the task's own file, its context's README, decision records and new backlog items";
            Some(ask(path, expected, "another page under .agentheim/ is changed"))
        }
    }
}
