//! `related-adrs`: the decision records that task and claim refer to exist.

use super::Inspection;
use super::adr_shape::numbers;
use super::finding::{ask, deny, info, settle};
use super::reading::{new_file, text_or_empty};
use super::record::{is_superseded, number_of, record_name, references, well_named};
use crate::host::git::GitError;
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CheckReport, Finding};
use std::collections::{BTreeMap, HashSet};

/// The check's id.
pub const ID: &str = "related-adrs";

/// Denies a `supersedes` of a new record that names none. A `related_adrs` of the task that names none is the task's
/// fault: it is asked. Records that are no longer in force are told.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    if on.layout.is_none() {
        return CheckReport::not_applicable(ID, "the base has no .agentheim/ board, so no decision records");
    }
    let related: &[String] = on.task.map_or(&[], |task| &task.related_adrs);
    let writes = !on.carried_records().is_empty()
        || on.claim.changed.iter().any(|c| new_file(c).is_some() && record_name(&c.path).is_some());
    if related.is_empty() && !writes {
        return CheckReport::not_applicable(ID, "the task names no decision record and the claim writes none");
    }
    settle(ID, look(on, related))
}

fn look(on: &Inspection<'_>, related: &[String]) -> Result<Vec<Finding>, GitError> {
    let base = numbers(on, &on.claim.base_tree)?;
    let mut findings = Vec::new();
    let mut known: HashSet<u32> = base.keys().copied().collect();
    known.extend(numbers(on, &on.claim.tree)?.keys());
    known.extend(on.carried_records().iter().filter_map(|d| well_named(&d.file_name)));
    for reference in related {
        findings.extend(of_task(on, &base, &known, reference)?);
    }
    for change in on.claim.changed.iter().filter(|c| record_name(&c.path).is_some()) {
        let Some(new) = new_file(change) else { continue };
        let (old, new) = (text_or_empty(on.repo, &change.old)?, text_or_empty(on.repo, new)?);
        findings.extend(superseded(&change.path.to_string(), &old, &new, &known));
    }
    for document in on.carried_records() {
        let place = format!("ADRS: {}", escape(document.file_name.as_bytes()));
        findings.extend(superseded(&place, b"", document.body.as_bytes(), &known));
    }
    Ok(findings)
}

fn of_task(
    on: &Inspection<'_>,
    base: &BTreeMap<u32, RepoPath>,
    known: &HashSet<u32>,
    reference: &str,
) -> Result<Option<Finding>, GitError> {
    let place = on.task_path.map_or_else(|| "the task".to_owned(), ToString::to_string);
    let shown = escape(reference.as_bytes());
    let number = number_of(reference);
    let Some(path) = number.and_then(|number| base.get(&number)) else {
        // The task may ask for the very record that the claim writes.
        if number.is_some_and(|number| known.contains(&number)) {
            return Ok(None);
        }
        let expected = "`related_adrs` that name records of the base; correct the task";
        return Ok(Some(ask(place, expected, format!("`{shown}` names none"))));
    };
    let text = on.at_base(path)?.unwrap_or_default();
    let told = || info(place, "records in force", format!("{path} is superseded, in whole, or deprecated"));
    Ok(is_superseded(&text).then(told))
}

fn superseded(place: &str, old: &[u8], new: &[u8], known: &HashSet<u32>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for key in ["supersedes", "supersedes_in_part"] {
        let before = references(old, key).unwrap_or_default();
        match references(new, key) {
            Err(why) => findings.push(ask(place, format!("a list of records in `{key}`"), why)),
            Ok(list) => findings.extend(list.iter().filter(|r| !before.contains(r)).filter_map(|reference| {
                let found = number_of(reference).is_some_and(|number| known.contains(&number));
                let observed = format!("`{}` names none", escape(reference.as_bytes()));
                (!found).then(|| deny(place, format!("`{key}` that names an existing record"), observed))
            })),
        }
    }
    findings
}
