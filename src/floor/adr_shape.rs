//! `adr-shape`: each decision record the claim writes, in the tree or in the report, is one.

use super::finding::{ask, deny, info, settle};
use super::reading::{new_file, old_file, text_or_empty};
use super::record::{Fault, examine, number_of_file, record_name, well_named};
use super::{Inspection, LARGEST_READ};
use crate::host::git::{Change, ChangeKind, GitError};
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CheckReport, Finding, State};
use crate::task::layout::DECISIONS;
use std::collections::{BTreeMap, HashSet};

/// The check's id.
pub const ID: &str = "adr-shape";

/// Denies a new record without the name, the frontmatter or the sections of one, or with a number that is taken
/// (agentheim.md §2.6, §4.2 check 6). What a record already lacked at the base is not the worker's.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    if on.layout.is_none() {
        return CheckReport::not_applicable(ID, "the base has no .agentheim/ board, so no place for decision records");
    }
    let changed: Vec<&Change> =
        on.claim.changed.iter().filter(|c| c.paths().any(|p| record_name(p).is_some())).collect();
    if changed.is_empty() && on.carried_records().is_empty() {
        return CheckReport::not_applicable(ID, "no decision record is added or changed");
    }
    settle(ID, look(on, &changed))
}

fn look(on: &Inspection<'_>, changed: &[&Change]) -> Result<Vec<Finding>, GitError> {
    let mut findings = Vec::new();
    let mut by_number: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (path, _) in on.repo.list(&on.claim.tree, DECISIONS)? {
        if let Some(name) = record_name(&path)
            && let Some(number) = number_of_file(&name)
        {
            by_number.entry(number).or_default().push(name);
        }
    }
    for change in changed {
        findings.extend(in_tree(on, change, &by_number)?);
    }
    let mut carried_numbers = HashSet::new();
    for document in on.carried_records() {
        let place = format!("ADRS: {}", escape(document.file_name.as_bytes()));
        let number = well_named(&document.file_name);
        findings.extend(examine(number, document.body.as_bytes()).iter().map(|f| worded(&place, f)));
        // A name that is no record's is told by `report-shape`.
        let Some(number) = number else { continue };
        let taken = by_number.get(&number).map_or(&[][..], Vec::as_slice);
        if taken.contains(&document.file_name) {
            findings.push(deny(&place, "a new record: supersede the old one instead", "a record of this name exists"));
        } else if let Some(other) = taken.first() {
            let observed = format!("{} has this number: it will be renumbered when it lands", escape(other.as_bytes()));
            findings.push(info(&place, "a number that is free", observed));
        }
        if !carried_numbers.insert(number) {
            findings.push(deny(&place, "one record a number", "two records of the report have this number"));
        }
    }
    Ok(findings)
}

fn in_tree(
    on: &Inspection<'_>,
    change: &Change,
    by_number: &BTreeMap<u32, Vec<String>>,
) -> Result<Vec<Finding>, GitError> {
    let path = &change.path;
    if change.kind == ChangeKind::Deleted {
        let expected = "a record that stays: mark it superseded instead of removing it";
        return Ok(vec![ask(path, expected, "removed")]);
    }
    let mut findings = Vec::new();
    if let Some(from) = change.from.as_ref().filter(|from| record_name(from).is_some()) {
        findings.push(ask(
            path,
            "records that keep their name, since others refer to it",
            format!("renamed from {from}"),
        ));
    }
    let Some(name) = record_name(path) else { return Ok(findings) };
    let Some(blob) = new_file(change) else {
        findings.push(deny(path, "a file", "a link or repository in a record's place"));
        return Ok(findings);
    };
    let number = well_named(&name);
    let is_new_name = change.kind == ChangeKind::Added || change.kind == ChangeKind::Renamed;
    if is_new_name && number.is_none() {
        findings.push(deny(path, "a file name NNNN-kebab-slug.md", "another name"));
    }
    let (text, cut) = on.repo.blob(blob, LARGEST_READ)?;
    if cut {
        findings.push(ask(path, "a record that can be read", "larger than any record"));
    }
    let old = match old_file(change) {
        Some(old) => examine(number, &text_or_empty(on.repo, old)?),
        None => Vec::new(),
    };
    let known: HashSet<&str> = old.iter().map(|fault| fault.rule.as_str()).collect();
    let faults = examine(number_of_file(&name), &text);
    findings.extend(faults.iter().filter(|fault| !known.contains(fault.rule.as_str())).map(|f| worded(path, f)));
    if is_new_name && let Some(others) = number_of_file(&name).and_then(|n| by_number.get(&n)) {
        let others: Vec<String> = others.iter().filter(|o| **o != name).map(|o| escape(o.as_bytes())).collect();
        if !others.is_empty() {
            findings.push(deny(path, "a number that is free", format!("{} has it, too", others.join(", "))));
        }
    }
    Ok(findings)
}

fn worded(place: impl std::fmt::Display, fault: &Fault) -> Finding {
    match fault.state {
        State::Deny => deny(place, fault.expected.clone(), fault.observed.clone()),
        State::Ask => ask(place, fault.expected.clone(), fault.observed.clone()),
        _ => info(place, fault.expected.clone(), fault.observed.clone()),
    }
}

/// The numbers of all records in a tree, with their paths.
pub(super) fn numbers(
    on: &Inspection<'_>,
    tree: &crate::host::ids::TreeId,
) -> Result<BTreeMap<u32, RepoPath>, GitError> {
    let listed = on.repo.list(tree, DECISIONS)?;
    let number = |path: &RepoPath| record_name(path).and_then(|name| number_of_file(&name));
    Ok(listed.into_iter().filter_map(|(path, _)| Some((number(&path)?, path))).collect())
}
