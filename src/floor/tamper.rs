//! `tamper`: the claim leaves alone what judges it and what others keep.

mod board;
mod gate;
mod hiding;
mod python;

pub use gate::kind as what_judges;

use super::Inspection;
use super::finding::{ask, deny};
use crate::claim::SightingKind;
use crate::receipts::{CheckReport, Finding};

/// The check's id.
pub const ID: &str = "tamper";

/// Denies a rewritten base, changes to pages that only the conductor writes (protocol, INDEX, other tasks' files), to
/// our settings and the verifier's prompt, and to the task's own file beyond what its generation lets a worker do.
/// Asks about a base that the branch's own upstream or creation chose, and about CI, hooks, runner settings and rules that hide files: they may be the task, but somebody must look (C098).
///
/// Without a task nobody was told what to leave alone: what would be denied is then only told.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let mut findings: Vec<Finding> = rewritten(on).collect();
    findings.extend(chosen(on));
    findings.extend(board::look(on));
    findings.extend(gate::look(on));
    findings.extend(hiding::look(on));
    CheckReport::of(ID, findings)
}

fn rewritten<'a>(on: &'a Inspection<'_>) -> impl Iterator<Item = Finding> + 'a {
    let seen = on.sightings.iter().filter(|s| s.kind == SightingKind::RewrittenHistory);
    seen.map(|sighting| {
        let expected = format!("new commits on top of the base {}", on.claim.base.short());
        deny("HEAD", expected, format!("the base is no longer an ancestor: {}", sighting.detail))
    })
}

fn chosen<'a>(on: &'a Inspection<'_>) -> impl Iterator<Item = Finding> + 'a {
    let seen = on.sightings.iter().filter(|s| s.kind == SightingKind::ChosenBase);
    let expected = "a base that the work could not choose; give the one you mean with --base REV";
    seen.map(move |sighting| ask("the base", expected, sighting.detail.as_str()))
}
