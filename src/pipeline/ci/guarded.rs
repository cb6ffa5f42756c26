//! What decides about changes: settings, contracts, ignore lists, CI, prompts. Whoever changes them changes the gate, and a
//! person has to see it, whatever evidence there is.

use super::believe::any_glob;
use super::own::bare;
use super::range::Range;
use super::report::GateFinding;
use super::wanted::{TaskPage, Wanted, same};
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

pub(super) fn look(range: &Range, pages: &BTreeMap<String, TaskPage>, wanted: &[Wanted]) -> Vec<GateFinding> {
    let mut findings = Vec::new();
    for change in &range.changed {
        if let Some((path, what)) = change.paths().find_map(|path| Some((path, kind(range, path)?))) {
            let observed = format!("changed: {what}; it counts only once it is on the base");
            findings.push(bare(GATE_CHANGED, State::Ask, &path.to_string(), &observed));
        }
    }
    for (id, page) in pages {
        let before = range.board.as_ref().and_then(|board| match board.find(id) {
            Ok(Found::One(listed, _)) => listed.outcome.task().ok(),
            _ => None,
        });
        // A task that the range answers for is held by its own name.
        let other = wanted.iter().all(|wanted| wanted.id != *id);
        if let Some(before) = before.filter(|before| other && !same(&before.criteria(), &page.criteria)) {
            let observed = format!("the criteria of {id} ({}) are changed", before.display_title());
            findings.push(bare(CONTRACT_CHANGED, State::Ask, &page.path.to_string(), &observed));
        }
    }
    findings
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
    if any_glob(&range.settings.gate.guarded, text) {
        return Some("guarded by the settings");
    }
    if ["agents/", "skills/", "commands/", ".claude/"].iter().any(|folder| text.starts_with(folder)) {
        return Some("a prompt");
    }
    what_judges(path)
}
