//! `readme-delta`: the README changes that a report carries can be made.

use super::finding::{ask, deny, info, unreadable};
use super::{Inspection, ReportState};
use crate::config::Bookkeeper;
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CheckReport, Finding};
use crate::task::layout::ContextName;
use crate::worker::delta::{Change, Finding as Met, Footing, Target};
use crate::worker::{check_delta, read_delta};

/// The check's id.
pub const ID: &str = "readme-delta";

/// Denies an operation without the shape of one: it cannot be applied, so what it says would be lost. One that does not
/// find what it names in the base's page is asked: it would land in another place than meant (agentheim.md §5.12).
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let report = match on.report {
        ReportState::None { why } => return CheckReport::not_applicable(ID, why),
        ReportState::Rejected { .. } => {
            return CheckReport::not_applicable(ID, "the report could not be read: see report-shape");
        }
        ReportState::Read { report, .. } => report,
    };
    let Some(blocks) = &report.blocks else {
        return CheckReport::not_applicable(ID, "the report has no README_DELTA block");
    };
    let Some(layout) =
        on.layout.filter(|_| on.keeper() == Some(Bookkeeper::Conductor) || !blocks.readme_delta.is_empty())
    else {
        return CheckReport::not_applicable(ID, "the report changes no README");
    };
    let (changes, bad) = read_delta(&blocks.readme_delta);
    let mut findings: Vec<Finding> =
        bad.into_iter().map(|op| deny(op.at, op.expected, escape(op.observed.as_bytes()))).collect();
    for target in [Target::Readme, Target::ContextMap] {
        if changes.iter().any(|change| change.document == target) {
            let path = match target {
                Target::ContextMap => Some(layout.context_map()),
                Target::Readme => on.context().and_then(|name| ContextName::new(name).ok()).map(|c| layout.readme(&c)),
            };
            match path {
                Some(path) => findings.extend(met(on, &path, target, &changes)),
                None => findings.push(ask("README_DELTA", "a task that names its context", "no README to change")),
            }
        }
    }
    CheckReport::of(ID, findings)
}

fn met(on: &Inspection<'_>, path: &RepoPath, target: Target, changes: &[Change]) -> Vec<Finding> {
    let text = match on.at_base(path) {
        Err(why) => return vec![unreadable(path, &why)],
        Ok(None) => return vec![ask(path, "a page at the base that the delta can change", "no such page")],
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Err(_) => return vec![ask(path, "a page in UTF-8", "bytes that are none")],
            Ok(text) => text,
        },
    };
    check_delta(&text, target, changes).iter().filter_map(|met| worded(path, met)).collect()
}

fn worded(path: &RepoPath, met: &Met) -> Option<Finding> {
    let place = format!("README_DELTA[{}].ops[{}]", met.entry, met.op);
    let section = escape(met.section.as_bytes());
    let anchor = escape(met.anchor.as_deref().unwrap_or_default().as_bytes());
    match met.state {
        Footing::Ready => None,
        Footing::AlreadyThere => Some(info(place, format!("a change of {path}"), "the page already reads so")),
        Footing::SectionMissing => {
            Some(ask(place, format!("a section `## {section}` in {path}"), "none: it would land in a fallback section"))
        }
        Footing::AnchorMissing => Some(ask(
            place,
            format!("a bullet `- **{anchor}` in `## {section}` of {path}"),
            "none: the text would be appended and the old one stay",
        )),
        Footing::AnchorAmbiguous => Some(ask(
            place,
            format!("one bullet `- **{anchor}` in `## {section}` of {path}"),
            "several; the first is meant",
        )),
        Footing::ExpectedDiffers => Some(ask(
            place,
            format!("the bullet `- **{anchor}` of {path} as the report quotes it"),
            "it reads otherwise at the base: both texts would stay",
        )),
    }
}
