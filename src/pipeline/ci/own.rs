//! Our own judgement of a task, by the same path as `verify`, with everything it needs from the base alone.

use super::report::{Covering, CriterionReport, EvidenceKind, GateFinding, TaskReport};
use super::wanted::Wanted;
use crate::config::GateSettings;
use crate::host::Host;
use crate::host::ids::CommitId;
use crate::pipeline::{Observer, Outcome, TaskWord, VerifyError, VerifyRequest, WorkWord, verify};
use crate::receipts::{CheckReport, DecisionKind, HeardRecord, Origin, Reason, Remedy, State};
use crate::task::{Criterion, Kind};
use std::path::Path;

/// How a judgement is asked for.
pub(super) struct Question<'a> {
    pub(super) host: &'a Host,
    pub(super) start: &'a Path,
    pub(super) base: &'a CommitId,
    pub(super) commit: &'a CommitId,
    pub(super) verifier: Option<&'a str>,
}

impl Question<'_> {
    pub(super) fn ask(&self, task: TaskWord, watch: &mut dyn Observer) -> Result<Outcome, VerifyError> {
        let request = VerifyRequest {
            task,
            work: WorkWord::Commit(self.commit.to_string()),
            base: Some(self.base.to_string()),
            verifier: self.verifier.map(str::to_owned),
            all_checks: true,
            // What another run sealed here is not this run's evidence.
            fresh: true,
            origin: Origin::Ci,
            ..VerifyRequest::of(self.start)
        };
        verify(&request, self.host, watch)
    }
}

/// True if a decision lets a change through under the settings at the base.
pub(super) fn passes(gate: &GateSettings, kind: DecisionKind) -> bool {
    match kind {
        DecisionKind::Land => true,
        DecisionKind::Skip => gate.skip,
        DecisionKind::FloorOnly => gate.floor_only,
        DecisionKind::SendBack | DecisionKind::Hold => false,
    }
}

/// What a judgement says about a task.
pub(super) fn report(gate: &GateSettings, wanted: &Wanted, outcome: &Outcome) -> TaskReport {
    let kind = outcome.decision.kind;
    let mut reasons = outcome.decision.reasons.clone();
    if !passes(gate, kind) {
        match kind {
            DecisionKind::Skip => reasons.push(skip_held()),
            DecisionKind::FloorOnly => reasons.push(reason(
                "floor-only",
                "there is no task, so only floor and tests speak: `gate: {floor-only: true}` at the base would let it through",
            )),
            _ => {}
        }
    }
    TaskReport {
        id: wanted.id.clone(),
        title: wanted.title.clone(),
        because: wanted.because.clone(),
        decision: kind,
        passes: passes(gate, kind),
        reasons,
        evidence: EvidenceKind::Verified,
        attested: None,
        criteria: covering(&wanted.criteria, outcome.verdict.as_ref(), kind, &outcome.floor.checks),
        findings: outcome.floor.checks.iter().flat_map(findings).collect(),
        case: outcome.case.clone(),
    }
}

/// A task that nobody judged, and why.
pub(super) fn held(wanted: &Wanted, code: &str, text: impl Into<String>) -> TaskReport {
    TaskReport {
        id: wanted.id.clone(),
        title: wanted.title.clone(),
        because: wanted.because.clone(),
        decision: DecisionKind::Hold,
        passes: false,
        reasons: vec![reason(code, text)],
        evidence: EvidenceKind::None,
        attested: None,
        criteria: covering(&wanted.criteria, None, DecisionKind::Hold, &[]),
        findings: Vec::new(),
        case: None,
    }
}

pub(super) fn skip_held() -> Reason {
    reason("skip-held", "a SKIP is no pass here: `gate: {skip: true}` at the base would let it through")
}

pub(super) fn reason(code: &str, text: impl Into<String>) -> Reason {
    Reason { code: code.to_owned(), text: text.into() }
}

/// How each criterion stands.
pub(super) fn covering(
    criteria: &[Criterion],
    verdict: Option<&HeardRecord>,
    kind: DecisionKind,
    checks: &[CheckReport],
) -> Vec<CriterionReport> {
    let evidence = match verdict {
        Some(HeardRecord::Pass { evidence }) => evidence.as_slice(),
        _ => &[],
    };
    let denied = |label: &str| {
        let findings = checks.iter().filter(|check| check.id == "criteria").flat_map(|check| &check.findings);
        findings.into_iter().any(|finding| finding.state == State::Deny && finding.place == label)
    };
    let of = |criterion: &Criterion| {
        let covered_by: Vec<String> = evidence
            .iter()
            .find(|line| line.criterion == criterion.number)
            .map(|line| line.covered_by.clone())
            .unwrap_or_default();
        let covering = match kind {
            DecisionKind::Skip => Covering::Skipped,
            _ if denied(&criterion.label()) => Covering::Failed,
            _ if criterion.kind == Kind::HumanEye && !covered_by.is_empty() => Covering::EyePending,
            _ if covered_by.is_empty() => Covering::Unknown,
            _ => Covering::Covered,
        };
        CriterionReport { number: criterion.number, text: criterion.text.clone(), covering, covered_by }
    };
    criteria.iter().map(of).collect()
}

/// What a check found, passes left out. A check that names no finding is one itself.
pub(super) fn findings(check: &CheckReport) -> Vec<GateFinding> {
    if matches!(check.state, State::Pass | State::NotApplicable) {
        return Vec::new();
    }
    let found = check.findings.iter().map(|finding| {
        let (place, line) = apart(&finding.place);
        GateFinding {
            check: check.id.clone(),
            state: finding.state,
            place,
            line,
            expected: finding.expected.clone(),
            observed: finding.observed.clone(),
            remedy: finding.remedy,
        }
    });
    let found: Vec<GateFinding> = found.collect();
    if found.is_empty() { vec![bare(&check.id, check.state, "", &check.note)] } else { found }
}

/// A finding of the gate itself.
pub(super) fn bare(check: &str, state: State, place: &str, observed: &str) -> GateFinding {
    GateFinding {
        check: check.to_owned(),
        state,
        place: place.to_owned(),
        line: None,
        expected: String::new(),
        observed: observed.to_owned(),
        remedy: Remedy::AskUser,
    }
}

/// `path:line` as path and line.
fn apart(place: &str) -> (String, Option<u32>) {
    match place.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?))) {
        Some((path, line)) if !path.is_empty() => (path.to_owned(), Some(line)),
        _ => (place.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_with_or_without_a_line() {
        for (place, path, line) in [
            ("src/a.rs:12", "src/a.rs", Some(12)),
            ("src/a.rs", "src/a.rs", None),
            ("a::b", "a::b", None),
            (":7", ":7", None),
            ("", "", None),
        ] {
            assert_eq!(apart(place), (path.to_owned(), line));
        }
    }
}
