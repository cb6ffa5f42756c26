//! The decision over a whole range: pure, and the first rule that applies decides.

use super::own::reason;
use super::report::{CiDecision, GateFinding, TaskReport};
use crate::host::path::RepoPath;
use crate::receipts::{DecisionKind, Reason, State};

/// What the decision needs to know of the range itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Where head and base do not merge.
    pub(super) conflicts: &'a [RepoPath],
    /// Its ends, for people.
    pub(super) ends: &'a str,
    pub(super) commits: usize,
    /// True if the settings at the base ask nothing of what it changes.
    pub(super) free: bool,
}

/// The decision over everything, without approvals.
pub(super) fn decide(scope: Scope<'_>, tasks: &[TaskReport], findings: &[GateFinding]) -> (CiDecision, Vec<Reason>) {
    if !scope.conflicts.is_empty() {
        let paths: Vec<String> = scope.conflicts.iter().take(10).map(ToString::to_string).collect();
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
    if scope.free {
        return (CiDecision::Pass, vec![reason("free", "the settings at the base ask nothing of these paths")]);
    }
    let text = if scope.commits == 0 {
        format!("the range {} has no commit: nothing was checked", scope.ends)
    } else {
        "the range changes nothing that could be checked".to_owned()
    };
    (CiDecision::Held, vec![reason("nothing-checked", text)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GateSettings;
    use crate::pipeline::ci::own::{bare, passes};
    use crate::pipeline::ci::report::EvidenceKind;
    use proptest::prelude::*;

    const KINDS: [DecisionKind; 5] =
        [DecisionKind::Land, DecisionKind::Skip, DecisionKind::SendBack, DecisionKind::Hold, DecisionKind::FloorOnly];
    const STATES: [State; 4] = [State::Info, State::Ask, State::Unknown, State::Deny];

    fn task(kind: DecisionKind, gate: &GateSettings) -> TaskReport {
        TaskReport {
            id: "w-1".into(),
            title: String::new(),
            because: String::new(),
            decision: kind,
            passes: passes(gate, kind),
            reasons: vec![reason("x", "y")],
            evidence: EvidenceKind::Verified,
            attested: None,
            criteria: Vec::new(),
            findings: Vec::new(),
            case: None,
        }
    }

    proptest! {
        #[test]
        fn a_pass_leaves_nothing_open_and_every_decision_has_a_reason(
            kinds in proptest::collection::vec(0_usize..5, 0..4),
            states in proptest::collection::vec(0_usize..4, 0..4),
            (skip, floor_only, free, conflict) in any::<(bool, bool, bool, bool)>(),
            commits in 0_usize..3,
        ) {
            let gate = GateSettings { skip, floor_only, ..GateSettings::default() };
            let tasks: Vec<TaskReport> = kinds.iter().map(|kind| task(KINDS[*kind], &gate)).collect();
            let findings: Vec<GateFinding> = states.iter().map(|state| bare("c", STATES[*state], "", "o")).collect();
            let conflicts: Vec<RepoPath> = conflict.then(|| RepoPath::from("a")).into_iter().collect();
            let scope = Scope { conflicts: &conflicts, ends: "a..b", commits, free };
            let (decision, reasons) = decide(scope, &tasks, &findings);
            prop_assert!(!reasons.is_empty());
            let open = findings.iter().any(|finding| finding.state >= State::Ask);
            let all_pass = tasks.iter().all(|task| task.passes);
            let false_claim = tasks.iter().any(|task| task.decision == DecisionKind::SendBack);
            match decision {
                CiDecision::Pass => prop_assert!(all_pass && !open && !conflict && (free || !tasks.is_empty())),
                CiDecision::Fail => prop_assert!(false_claim && !conflict),
                CiDecision::Held => prop_assert!(conflict || !false_claim),
                CiDecision::Broken => prop_assert!(false, "only the gate's health says so"),
            }
        }
    }
}
