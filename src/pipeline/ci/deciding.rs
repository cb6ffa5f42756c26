//! The decision over a whole range: pure, and the first rule that applies decides.

use super::own::reason;
use super::range::Range;
use super::report::{CiDecision, GateFinding, TaskReport};
use crate::receipts::{DecisionKind, Reason, State};

/// The decision over everything, without approvals.
pub(super) fn decide(
    range: &Range,
    tasks: &[TaskReport],
    findings: &[GateFinding],
    free: bool,
) -> (CiDecision, Vec<Reason>) {
    if !range.conflicts.is_empty() {
        let paths: Vec<String> = range.conflicts.iter().take(10).map(ToString::to_string).collect();
        let text = format!("head and base changed the same places ({}): there is nothing to merge", paths.join(", "));
        return (CiDecision::Held, vec![reason("conflict", text)]);
    }
    let told = |task: &TaskReport| -> Vec<Reason> {
        task.reasons.iter().map(|one| reason(&one.code, format!("{}: {}", task.id, one.text))).collect()
    };
    let failed: Vec<Reason> = tasks.iter().filter(|t| t.decision == DecisionKind::SendBack).flat_map(told).collect();
    if !failed.is_empty() {
        return (CiDecision::Fail, failed);
    }
    let mut reasons: Vec<Reason> = tasks.iter().filter(|task| !task.passes).flat_map(told).collect();
    let open = findings.iter().filter(|finding| finding.state >= State::Ask);
    reasons.extend(open.map(|finding| reason(&finding.check, format!("{}: {}", finding.place, finding.observed))));
    if !reasons.is_empty() {
        return (CiDecision::Held, reasons);
    }
    if !tasks.is_empty() {
        let words =
            tasks.iter().map(|task| reason(task.evidence.word(), format!("{}: {}", task.id, task.decision.word())));
        return (CiDecision::Pass, words.collect());
    }
    if free {
        return (CiDecision::Pass, vec![reason("free", "the settings at the base ask nothing of these paths")]);
    }
    let text = if range.members.is_empty() {
        format!("the range {}..{} has no commit: nothing was checked", range.base.commit.short(), range.head.short())
    } else {
        "the range changes nothing that could be checked".to_owned()
    };
    (CiDecision::Held, vec![reason("nothing-checked", text)])
}
