//! The board's own pages and the task file.

use crate::config::Bookkeeper;
use crate::floor::bookkeeping::{Page, page};
use crate::floor::finding::{ask, deny, info, unreadable};
use crate::floor::reading::{is_file, lines};
use crate::floor::record::references;
use crate::floor::task_file::{Allowance, added_notes, beyond};
use crate::floor::{Inspection, ReportState};
use crate::host::git::{Change, ChangeKind, EntryKind, GitError};
use crate::host::path::{RepoPath, escape};
use crate::receipts::Finding;
use crate::task::layout::Folder;
use crate::task::{Bullet, Kind, read_task};
use crate::worker::Outcome;
use std::collections::BTreeSet;

pub(super) fn look(on: &Inspection<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = on.claim.changed.iter().flat_map(|change| guarded(on, change)).collect();
    if let Some(own) = on.task_path {
        match own_task(on, own) {
            Ok(found) => findings.extend(found),
            Err(why) => findings.push(unreadable(own, &why)),
        }
    }
    findings
}

/// Findings for the pages that a worker never writes.
fn guarded(on: &Inspection<'_>, change: &Change) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in change.paths() {
        let Some(place) = page(on, path) else { continue };
        let is_new = change.kind == ChangeKind::Added
            || change.from.as_ref().is_some_and(|from| from != path && path == &change.path);
        let wanted = match place {
            Page::Protocol => "unchanged: only the conductor writes the protocol",
            Page::Index => "unchanged: only the conductor writes INDEX pages and the archive",
            Page::Settings if on.task.is_none() || declares(on, path) => {
                let expected = "a change of the gate's settings that a person approves";
                findings.push(ask(path, expected, "the settings are changed; this claim was judged by the base's"));
                continue;
            }
            Page::Settings => "unchanged: a claim may not change the settings that judge the next one",
            Page::OtherTask(Folder::Backlog) if is_new && on.keeper() == Some(Bookkeeper::Worker) => continue,
            Page::OtherTask(_) => "unchanged: it is another task's file",
            Page::Decision | Page::OwnReadme | Page::OwnTask
                if path == &change.path && change.kind != ChangeKind::Deleted && !is_file(&change.new_mode) =>
            {
                "a page, not a link or a repository in its place"
            }
            _ => continue,
        };
        findings.push(if on.task.is_some() {
            deny(path, format!("{wanted}; restore it from the base"), "changed")
        } else {
            info(path, wanted, "changed; no task is judged here, so nobody is told off")
        });
    }
    findings
}

/// True if one of the task's `paths` names this very file: then changing it is what was asked.
fn declares(on: &Inspection<'_>, path: &RepoPath) -> bool {
    on.task.is_some_and(|task| task.paths.iter().any(|glob| glob.as_bytes() == path.as_bytes()))
}

fn own_task(on: &Inspection<'_>, own: &RepoPath) -> Result<Vec<Finding>, GitError> {
    let changes = on.claim.changed.iter().flat_map(Change::paths);
    let touched: BTreeSet<&RepoPath> = changes.filter(|path| page(on, path) == Some(Page::OwnTask)).collect();
    let Some(old) = on.at_base(own)?.filter(|_| !touched.is_empty()) else { return Ok(Vec::new()) };
    let mut standing = Vec::new();
    for path in touched.into_iter().chain([own]).collect::<BTreeSet<_>>() {
        if on.repo.entry(&on.claim.tree, path)?.is_some_and(|e| e.kind() == EntryKind::File) {
            standing.push(path);
        }
    }
    match standing[..] {
        [] => Ok(vec![deny(own, "the task's file, wherever the task stands", "removed; restore it from the base")]),
        [one] => {
            let new = on.in_claim(one)?.unwrap_or_default();
            Ok(compared(on, own, one, &old, &new))
        }
        [_, second, ..] => {
            let all: Vec<String> = standing.iter().map(ToString::to_string).collect();
            let observed = format!("in several folders at once: {}", all.join(", "));
            Ok(vec![deny(second, "one file a task; delete the copy", observed)])
        }
    }
}

fn compared(on: &Inspection<'_>, own: &RepoPath, now: &RepoPath, old: &[u8], new: &[u8]) -> Vec<Finding> {
    let bounced = matches!(on.report, ReportState::Read { report, .. } if report.outcome == Outcome::Bounced);
    let allowance = match on.keeper() {
        Some(Bookkeeper::Worker) if bounced => Allowance::Bounce,
        Some(Bookkeeper::Worker) => Allowance::Outcome,
        // A page of no board is nobody's to move; ticks and an Outcome are no new words of the task.
        None => return beyond(now, old, new, Allowance::Outcome),
        Some(Bookkeeper::Conductor) => Allowance::Nothing,
    };
    let mut findings = beyond(now, old, new, allowance);
    if allowance == Allowance::Nothing {
        if own != now {
            findings.push(deny(now, format!("left at {own}: the conductor moves tasks"), "moved"));
        }
    } else {
        findings.extend(moved(on, own, now, bounced));
        findings.extend(status(on, now, new));
        findings.extend(unrelated(now, old, new));
        findings.extend(added_notes(old, new).into_iter().map(|heading| {
            let expected = "notes that the conductor wrote; none of them is evidence";
            info(now, expected, format!("added: `{}`", escape(heading)))
        }));
        findings.extend(forged_eye(on, now, new));
    }
    if findings.is_empty() && old != new && beyond(now, old, new, Allowance::Nothing).is_empty() {
        let observed = "only blank lines, line endings or the byte order mark differ";
        findings.push(info(now, "the base's bytes, where nothing is said", observed));
    }
    findings
}

/// A finished task goes to `done` (or is still in `doing`), a bounced one to `backlog`.
fn moved(on: &Inspection<'_>, own: &RepoPath, now: &RepoPath, bounced: bool) -> Option<Finding> {
    let folder = |path| on.layout.and_then(|layout| layout.place(path)).map(|place| place.folder);
    let (from, to) = (folder(own)?, folder(now)?);
    let fine = from == to || matches!(to, Folder::Doing | Folder::Done) || (bounced && to == Folder::Backlog);
    let observed = format!("moved from `{}` to `{}`", from.as_str(), to.as_str());
    (!fine).then(|| ask(now, "a finished task in `done`, or a bounced one in `backlog`", observed))
}

fn status(on: &Inspection<'_>, now: &RepoPath, new: &[u8]) -> Option<Finding> {
    let folder = on.layout?.place(now)?.folder.as_str();
    let line = lines(new).find_map(|line| line.strip_prefix(b"status:"))?;
    let said = String::from_utf8_lossy(line).trim().trim_matches(['"', '\'']).to_owned();
    let observed = escape(said.as_bytes());
    (said != folder)
        .then(|| ask(now, format!("`status: {folder}`, the folder it stands in"), format!("`status: {observed}`")))
}

/// A worker that writes a decision record links it from its task, and takes no link away.
fn unrelated(now: &RepoPath, old: &[u8], new: &[u8]) -> Vec<Finding> {
    let after = references(new, "related_adrs").unwrap_or_default();
    let before = references(old, "related_adrs").unwrap_or_default();
    let gone = before.iter().filter(|reference| !after.contains(reference));
    gone.map(|reference| {
        let observed = format!("`{}` is gone from it", escape(reference.as_bytes()));
        deny(now, "a `related_adrs` list that only grows", observed)
    })
    .collect()
}

/// Only a person ticks a `[human-eye]` box (agentheim.md §2.4, ADR-0061 there).
fn forged_eye(on: &Inspection<'_>, now: &RepoPath, new: &[u8]) -> Vec<Finding> {
    let Some(old) = on.task else { return Vec::new() };
    let task = match read_task(new, now) {
        Ok(task) => task,
        Err(why) => return vec![deny(now, "a task file that can still be read", why.to_string())],
    };
    let eye = |bullet: &&Bullet| bullet.criterion.kind == Kind::HumanEye;
    let open = |text: &str| old.bullets.iter().filter(eye).any(|b| b.criterion.text == text && !b.ticked);
    let ticked = task.bullets.iter().filter(eye).filter(|b| b.ticked && open(&b.criterion.text));
    ticked
        .map(|bullet| {
            let place = format!("{now}:{}", bullet.line);
            deny(place, "an open box: only a person ticks what a person must see", "ticked by the claim")
        })
        .collect()
}
