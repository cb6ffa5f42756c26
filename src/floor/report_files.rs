//! `report-files`: what the worker says it changed against what changed, both ways.

use super::bookkeeping::{Page, page};
use super::finding::{ask, count, deny, info, unknown};
use super::lockfiles::is_lockfile;
use super::names::bytes;
use super::patterns::Patterns;
use super::{Inspection, ReportState};
use crate::config::Bookkeeper;
use crate::host::git::Change;
use crate::host::path::RepoPath;
use crate::receipts::{CheckReport, Finding};
use crate::worker::{Listed, Outcome, Place, ProblemCode, Report, ReportProblem, file_list};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;

/// The check's id.
pub const ID: &str = "report-files";

/// Denies a changed path that `FILE_LIST` leaves out and a listed path that did not change. Lockfiles and the
/// configured generated globs need not be listed (RULINGS 10), nor the moved task file where the worker keeps the board
/// (agentheim.md §3.1). A name that the list's commas cannot carry is named and denies nothing.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let (report, problems) = match on.report {
        ReportState::None { why } => return CheckReport::not_applicable(ID, why),
        ReportState::Rejected { .. } => {
            return CheckReport::not_applicable(ID, "the report could not be read: see report-shape");
        }
        ReportState::Read { report, .. } if report.outcome != Outcome::Success => {
            let why = format!("a {} report lists no files", report.outcome.word());
            return CheckReport::not_applicable(ID, &why);
        }
        ReportState::Read { report, problems, .. } => (report, problems),
    };
    let generated = match Patterns::compile(&on.settings.generated) {
        Ok(patterns) => patterns,
        Err(why) => return CheckReport::of(ID, vec![unknown("generated", "globs that can be read", why)]),
    };
    let mut list = List::read(on, report);
    let mut findings = std::mem::take(&mut list.findings);
    for change in &on.claim.changed {
        findings.extend(list.missing(on, &generated, change));
    }
    findings.extend(list.surplus(on, report));
    findings.extend(problems.iter().filter_map(counted));
    let note = format!("{} listed, {}", list.entries, count(on.claim.changed.len(), "changed path"));
    CheckReport::of(ID, findings).noting(note)
}

/// A miscount is a slip, and the files themselves are compared one by one: it is asked, not denied.
fn counted(problem: &ReportProblem) -> Option<Finding> {
    let place = problem.field.as_str();
    match problem.code {
        ProblemCode::CountMismatch => Some(ask(place, problem.expected.clone(), problem.observed.clone())),
        ProblemCode::DuplicateFile => Some(info(place, problem.expected.clone(), problem.observed.clone())),
        _ => None,
    }
}

/// The list as paths of the tree.
struct List {
    entries: usize,
    paths: BTreeSet<RepoPath>,
    /// Pieces of changed names that hold a comma: they are in the list without being files.
    pieces: HashSet<Vec<u8>>,
    /// The ids of new backlog items, from their own field.
    items: HashSet<String>,
    /// True if an absolute path cannot be placed, because nobody knows the worktree it was written in.
    unplaced: bool,
    findings: Vec<Finding>,
}

impl List {
    fn read(on: &Inspection<'_>, report: &Report) -> Self {
        let top = on.worktree.map(|path| path.as_os_str().as_bytes().to_vec()).or_else(|| shared_top(on, report));
        let listed = file_list(report, top.as_deref().unwrap_or_default());
        let touched: HashMap<&RepoPath, bool> =
            on.claim.changed.iter().flat_map(|c| c.paths().map(|path| (path, c.is_gitlink()))).collect();
        let items = report.field("NEW_BACKLOG_ITEMS").unwrap_or_default().split([',', ' ']).map(str::trim);
        let mut list = Self {
            entries: listed.len(),
            paths: BTreeSet::new(),
            pieces: on.claim.changed.iter().flat_map(|c| pieces(&c.path)).collect(),
            items: items.filter(|id| !id.is_empty()).map(str::to_owned).collect(),
            unplaced: false,
            findings: Vec::new(),
        };
        let mut seen = HashSet::new();
        for entry in listed.iter().filter(|entry| seen.insert(&entry.raw)) {
            list.take(&touched, entry, top.is_some());
        }
        list
    }

    fn take(&mut self, touched: &HashMap<&RepoPath, bool>, entry: &Listed, has_top: bool) {
        let place = format!("FILE_LIST: {}", entry.raw);
        match &entry.path {
            Place::Path(path) if entry.backslash && !touched.contains_key(path) => {
                let slashed = slashed(path);
                if touched.contains_key(&slashed) {
                    let observed = format!("`\\` between parts; taken as {slashed}");
                    self.findings.push(info(place, "`/` between the parts of a path", observed));
                    self.paths.insert(slashed);
                } else {
                    self.paths.insert(path.clone());
                }
            }
            Place::Path(path) => {
                self.paths.insert(path.clone());
            }
            Place::Outside if !has_top && entry.raw.as_bytes().starts_with(b"/") => {
                let expected = "paths relative to the top of the tree, or a known worktree (--worktree)";
                let observed = "an absolute path, and the worktree that the worker knew is not known here";
                self.findings.push(unknown(place, expected, observed));
                self.unplaced = true;
            }
            Place::Outside => {
                let expected = "files inside the worktree";
                self.findings.push(deny(place, expected, "a path outside of it: what lies there does not land"));
            }
            Place::Unrepresentable(why) => {
                let trimmed = RepoPath::from_bytes(entry.raw.as_bytes().trim_ascii_end().to_vec());
                let bare = RepoPath::from_bytes(trimmed.as_bytes().strip_suffix(b"/").unwrap_or_default().to_vec());
                // A submodule is a folder to the worker and one path to git.
                if touched.get(&bare) == Some(&true) {
                    self.paths.insert(bare);
                } else {
                    let observed = format!("no file that git could hold ({})", cause(*why));
                    self.findings.push(ask(place, "a file's path", observed));
                }
            }
        }
    }

    /// The finding for a changed path that is not listed.
    fn missing(&self, on: &Inspection<'_>, generated: &Patterns, change: &Change) -> Option<Finding> {
        let path = &change.path;
        if self.paths.contains(path) || is_lockfile(path) || generated.hit(path).is_some() {
            return None;
        }
        if !pieces(path).is_empty() {
            let expected = "a name of UTF-8 without commas, line ends or outer blanks: FILE_LIST cannot carry others";
            return Some(info(path, expected, "changed; whether it was reported cannot be told"));
        }
        if self.is_kept_by_worker(on, change) {
            return None;
        }
        if self.unplaced {
            let observed = "changed; whether a path that cannot be placed means it is unknown";
            return Some(unknown(path, "listed in FILE_LIST", observed));
        }
        let observed = format!("changed but not reported{}", bytes_shown(path));
        Some(deny(path, "listed in FILE_LIST, or restored from the base", observed))
    }

    /// The moved task file, and new backlog items that the report names in their own field.
    fn is_kept_by_worker(&self, on: &Inspection<'_>, change: &Change) -> bool {
        if on.keeper() != Some(Bookkeeper::Worker) {
            return false;
        }
        match page(on, &change.path) {
            Some(Page::OwnTask) => true,
            Some(Page::OtherTask(_)) => {
                let name = String::from_utf8_lossy(change.path.file_name());
                let stem = name.strip_suffix(".md").unwrap_or(&name);
                let heads = stem.match_indices('-').map(|(at, _)| &stem[..at]);
                heads.chain([stem]).any(|id| self.items.contains(id))
            }
            _ => false,
        }
    }

    /// Findings for listed paths that did not change.
    fn surplus(&self, on: &Inspection<'_>, report: &Report) -> Vec<Finding> {
        let touched: HashSet<&RepoPath> = on.claim.changed.iter().flat_map(Change::paths).collect();
        let carried = carried_names(report);
        let idle = self.paths.iter().filter(|path| !touched.contains(path) && !self.pieces.contains(path.as_bytes()));
        idle.map(|path| {
            if path.is_under(".agentheim") && carried.iter().any(|name| name.as_bytes() == path.file_name()) {
                return info(path, "only files that are in the worktree", "listed; the report's blocks carry it");
            }
            let observed = format!("listed but not changed{}", bytes_shown(path));
            deny(path, "a changed file, or no mention in FILE_LIST", observed)
        })
        .collect()
    }
}

/// The folder that the report's absolute paths lie in, where the worktree is not known: the one under which they all
/// lie and one of them is a changed path. It is a guess about names in a claim; nothing is opened there.
fn shared_top(on: &Inspection<'_>, report: &Report) -> Option<Vec<u8>> {
    let absolute: Vec<&RepoPath> = report.file_list.iter().filter(|p| p.as_bytes().starts_with(b"/")).collect();
    let changed = on.claim.changed.iter().flat_map(Change::paths);
    let tops = changed.filter_map(|path| ends_in(absolute.first()?, path));
    let mut tops = tops
        .filter(|top| absolute.iter().all(|p| p.as_bytes().strip_prefix(*top).is_some_and(|r| r.starts_with(b"/"))));
    tops.find(|top| !top.is_empty()).map(<[u8]>::to_vec)
}

/// What stands before `/path` in an absolute path that ends in it.
fn ends_in<'p>(absolute: &'p RepoPath, path: &RepoPath) -> Option<&'p [u8]> {
    absolute.as_bytes().strip_suffix(path.as_bytes())?.strip_suffix(b"/")
}

fn cause(why: crate::worker::files::Unrepresentable) -> &'static str {
    use crate::worker::files::Unrepresentable as U;
    match why {
        U::Folder => "a folder; list the files in it",
        U::GitFolder => "inside git's own folder",
        U::Nul => "a NUL byte",
    }
}

/// The file names of the documents a report carries in its blocks.
fn carried_names(report: &Report) -> Vec<&str> {
    let blocks = report.blocks.iter();
    blocks.flat_map(|b| b.adrs.files.iter().chain(&b.backlog_items.files)).map(|f| f.file_name.as_str()).collect()
}

/// What a comma-separated list of text makes of a name; nothing if the name survives it.
fn pieces(path: &RepoPath) -> Vec<Vec<u8>> {
    let text = String::from_utf8_lossy(path.as_bytes());
    let bytes = text.as_bytes();
    let splits = bytes.iter().any(|b| matches!(b, b',' | b'\n' | b'\r'));
    if !splits && bytes.trim_ascii() == path.as_bytes() {
        return Vec::new();
    }
    let pieces = bytes.split(|b| matches!(b, b',' | b'\n' | b'\r'));
    pieces.map(|piece| piece.trim_ascii().to_vec()).filter(|piece| !piece.is_empty()).collect()
}

fn slashed(path: &RepoPath) -> RepoPath {
    RepoPath::from_bytes(path.as_bytes().iter().map(|b| if *b == b'\\' { b'/' } else { *b }).collect::<Vec<_>>())
}

/// A name's bytes, where its letters alone may not tell it from another one (C148).
fn bytes_shown(path: &RepoPath) -> String {
    if path.as_bytes().is_ascii() {
        return String::new();
    }
    format!(" (bytes: {})", bytes(path))
}
