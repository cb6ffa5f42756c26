//! `claim-empty`: a claim that changes no path is no work.

use super::finding::{count, deny};
use super::{Inspection, ReportState};
use crate::receipts::CheckReport;
use crate::task::TaskType;
use crate::worker::Outcome;

/// The check's id.
pub const ID: &str = "claim-empty";

/// Denies a claim without a changed path. A decision or spike whose product travels in the report is not empty, and a
/// worker that reports a bounce or a failure offers no work to begin with.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let changed = on.claim.changed.len();
    if changed > 0 {
        return CheckReport::of(ID, Vec::new()).noting(count(changed, "changed path"));
    }
    if let ReportState::Read { report, .. } = on.report
        && report.outcome != Outcome::Success
    {
        let why = format!("the worker reports {} and offers no work", report.outcome.word());
        return CheckReport::not_applicable(ID, &why);
    }
    let written = matches!(on.task.and_then(|t| t.kind.as_ref()), Some(TaskType::Decision | TaskType::Spike));
    let carried = on.carried_records().len();
    if written && carried > 0 {
        let note = format!("no path changed; the report carries {}", count(carried, "decision record"));
        return CheckReport::of(ID, Vec::new()).noting(note);
    }
    let observed = format!("the claim's tree equals the base's ({})", on.claim.base.short());
    CheckReport::of(ID, vec![deny("", "at least one changed path", observed)])
}
