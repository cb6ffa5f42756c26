//! `names`: file names that are one name elsewhere, or that do not look like what they are.

use super::Inspection;
use super::finding::{ask, info};
use crate::claim::SightingKind;
use crate::host::git::{Change, ChangeKind};
use crate::host::path::{RepoPath, escape, is_deceptive};
use crate::receipts::{CheckReport, Finding};
use std::collections::HashSet;

/// The check's id.
pub const ID: &str = "names";

/// Asks about names that collide where case or composition of letters does not count (C148), if the claim touches one
/// of them, and about new names with hidden or reordering characters. Older collisions are told.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let touched: HashSet<&RepoPath> = on.claim.changed.iter().flat_map(Change::paths).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for sighting in on.sightings.iter().filter(|s| s.kind == SightingKind::NameCollision) {
        let place = sighting.path.as_ref().map_or_else(|| "the tree".to_owned(), ToString::to_string);
        let expected = "names that stay apart on every file system";
        let said = match &sighting.path {
            Some(path) if !path.as_bytes().is_ascii() => {
                format!("{} (bytes: {})", escape(sighting.detail.as_bytes()), bytes(path))
            }
            _ => escape(sighting.detail.as_bytes()),
        };
        let ours = sighting.path.as_ref().is_none_or(|path| touched.contains(path));
        findings.push(if ours { ask(place, expected, said) } else { info(place, expected, said) });
    }
    let new = on.claim.changed.iter().filter(|c| matches!(c.kind, ChangeKind::Added | ChangeKind::Renamed));
    findings.extend(new.filter_map(|change| {
        let hidden = change.path.as_str().is_none_or(|text| text.chars().any(is_deceptive));
        let observed = "characters that are invisible, reorder text or are no UTF-8";
        (hidden || !change.path.is_safe()).then(|| ask(&change.path, "a name that shows what it is", observed))
    }));
    CheckReport::of(ID, findings)
}

/// A name with each byte above 127 as its number.
pub(super) fn bytes(path: &RepoPath) -> String {
    // One byte at a time: alone it is never valid UTF-8, so it is always shown as its number.
    path.as_bytes().iter().map(|byte| escape(std::slice::from_ref(byte))).collect()
}
