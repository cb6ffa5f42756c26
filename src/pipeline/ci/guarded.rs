//! What decides about changes: settings, contracts, ignore lists, CI, prompts. Whoever changes them changes the gate, and a
//! person has to see it, whatever evidence there is.

use super::CiError;
use super::believe::any_glob;
use super::own::bare;
use super::range::Range;
use super::report::GateFinding;
use super::wanted::{TaskPage, Wanted, changed};
use crate::config::PROJECT_FILE;
use crate::floor::tamper::what_judges;
use crate::host::path::RepoPath;
use crate::receipts::State;
use crate::task::dependency::Found;
use std::collections::BTreeMap;

/// The code of these findings.
pub(super) const GATE_CHANGED: &str = "gate-changed";

/// The code of a contract that the range changed.
pub(super) const CONTRACT_CHANGED: &str = "contract-changed";

pub(super) fn look(
    range: &Range,
    pages: &BTreeMap<String, TaskPage>,
    wanted: &[Wanted],
) -> Result<Vec<GateFinding>, CiError> {
    let mut findings = Vec::new();
    for change in &range.changed {
        if let Some((path, what)) = change.paths().find_map(|path| Some((path, kind(range, path)?))) {
            let observed = format!("changed: {what}; it counts only once it is on the base");
            findings.push(bare(GATE_CHANGED, State::Ask, &path.to_string(), &observed));
        }
        for path in change.paths().filter(|path| is_readme(path)) {
            for section in sections_changed(range, path)? {
                let observed = format!("changed: `{section}`, by which the context's work is tried");
                findings.push(bare(GATE_CHANGED, State::Ask, &path.to_string(), &observed));
            }
        }
    }
    for (id, page) in pages {
        let before = range.board.as_ref().and_then(|board| match board.find(id) {
            Ok(Found::One(listed, _)) => listed.outcome.task().ok(),
            _ => None,
        });
        // A task that the range answers for is held by its own name; one that the settings ask of every change is not.
        let standing = range.settings.gate.tasks.contains(id);
        let other = standing || wanted.iter().all(|wanted| wanted.id != *id);
        if let Some(before) = before.filter(|_| other)
            && let Some(what) = changed(before, &page.task)
        {
            let observed = format!("{id} ({}): {what} is changed", before.display_title());
            findings.push(bare(CONTRACT_CHANGED, State::Ask, &page.path.to_string(), &observed));
        }
    }
    Ok(findings)
}

/// Sections of a context's README that decide how its work is tried.
const TRIED_BY: &[&str] = &["## Test command", "## Runtime surface"];

/// A README larger than this is not read.
const LARGEST_README: u64 = 4 << 20;

fn is_readme(path: &RepoPath) -> bool {
    path.as_str().is_some_and(|text| text.starts_with(".agentheim/") && text.ends_with("/README.md"))
}

/// Which of these sections have another text in the judged tree than on the base.
fn sections_changed(range: &Range, path: &RepoPath) -> Result<Vec<&'static str>, CiError> {
    let text = |tree| -> Result<String, CiError> {
        let bytes = range.repo.file(tree, path, LARGEST_README)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (before, now) = (text(&range.base_tree)?, text(&range.tree)?);
    Ok(TRIED_BY.iter().copied().filter(|heading| section(&before, heading) != section(&now, heading)).collect())
}

/// All lines below headings that begin so, up to the next one of their rank.
fn section<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("## ") || line.starts_with("# ") {
            inside = line.to_lowercase().starts_with(&heading.to_lowercase());
        } else if inside && !line.trim().is_empty() {
            lines.push(line.trim_end());
        }
    }
    lines
}

fn kind(range: &Range, path: &RepoPath) -> Option<&'static str> {
    let text = path.as_str()?;
    let name = text.rsplit('/').next().unwrap_or(text);
    if text == PROJECT_FILE {
        return Some("the settings");
    }
    if text == range.settings.gate.signers_file() {
        return Some("who may sign");
    }
    if matches!(name, ".gitignore" | ".gitattributes" | ".gitmodules") {
        return Some("what git ignores, filters or follows");
    }
    if range.settings.gate.tasks.iter().any(|word| word == text) {
        return Some("what every change has to meet");
    }
    if any_glob(&range.settings.gate.guarded, text) {
        return Some("guarded by the settings");
    }
    if ["agents/", "skills/", "commands/", ".claude/"].iter().any(|folder| text.starts_with(folder)) {
        return Some("a prompt");
    }
    what_judges(path)
}
