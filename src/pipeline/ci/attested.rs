//! What landings that were found say about a task.

use super::believe::Believed;
use super::evidence::Chain;
use super::own::{self, reason};
use super::report::{Attested, EvidenceKind, TaskReport};
use super::wanted::{Wanted, same};
use crate::config::{GateSettings, Requirement};
use crate::pipeline::{Outcome, VerifyError};
use crate::receipts::{DecisionKind, Reason};
use crate::verdict::WarrantOrigin;

/// How far the landings that were found reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To exactly what is judged.
    Judged,
    /// To what is judged once they are merged again; floor and tests have to run on it.
    Remerged,
    /// Not far enough.
    Short,
}

/// The landings of a range, and how far they count.
#[derive(Debug)]
pub(super) struct Covered<'a> {
    pub(super) gate: &'a GateSettings,
    pub(super) require: Requirement,
    pub(super) chain: &'a Chain,
    pub(super) reach: Reach,
    /// What floor and tests say about the merge, where they had to run on it.
    pub(super) floor: Option<&'a Result<Outcome, VerifyError>>,
}

impl Covered<'_> {
    /// What the landings say about a task, if they reach and say something that counts.
    pub(super) fn report(&self, wanted: &Wanted) -> Option<TaskReport> {
        if self.reach == Reach::Short || wanted.own.is_some() || wanted.word.is_none() {
            return None;
        }
        let link = self.chain.links.iter().find(|link| link.landing.task == wanted.id)?;
        if !same(&link.landing.criteria, &wanted.criteria) {
            return None;
        }
        let (mut kind, mut reasons) = self.by_origin(link)?;
        let (mut findings, mut evidence) = (Vec::new(), EvidenceKind::Attested);
        if self.reach == Reach::Remerged {
            evidence = EvidenceKind::Remerged;
            match self.floor? {
                Ok(outcome) => {
                    findings = outcome.floor.checks.iter().flat_map(own::findings).collect();
                    if outcome.decision.kind != DecisionKind::FloorOnly {
                        kind = outcome.decision.kind;
                        reasons.extend(outcome.decision.reasons.clone());
                    }
                }
                Err(why) => {
                    kind = DecisionKind::Hold;
                    reasons.push(reason("not-judged", why.to_string()));
                }
            }
        }
        let passes = own::passes(self.gate, kind);
        if kind == DecisionKind::Skip && !passes {
            reasons.push(own::skip_held());
        }
        if reasons.is_empty() {
            reasons.push(reason(evidence.word(), sentence(link, evidence)));
        }
        Some(TaskReport {
            id: wanted.id.clone(),
            title: wanted.title.clone(),
            because: wanted.because.clone(),
            decision: kind,
            passes,
            reasons,
            evidence,
            attested: Some(shown(link)),
            criteria: own::covering(&wanted.criteria, link.landing.verdict.as_ref(), kind, &[]),
            findings,
            case: link.landing.case.as_ref().map(ToString::to_string),
        })
    }

    /// What a warrant of this origin is worth here; none where we may judge for ourselves.
    fn by_origin(&self, link: &Believed) -> Option<(DecisionKind, Vec<Reason>)> {
        Some(match link.landing.origin {
            WarrantOrigin::Verified => (DecisionKind::Land, Vec::new()),
            WarrantOrigin::Skipped => (DecisionKind::Skip, vec![reason("skipped", link.landing.reason.text.clone())]),
            WarrantOrigin::Override => {
                let text = format!("a person landed it over the verdict ({})", link.landing.reason.text);
                (DecisionKind::Hold, vec![reason("override-landing", text)])
            }
            WarrantOrigin::Unverified if self.require == Requirement::Either => return None,
            WarrantOrigin::Unverified => {
                let text = "it was landed with --no-verify: nobody verified it";
                (DecisionKind::Hold, vec![reason("no-verify-landing", text)])
            }
        })
    }
}

fn sentence(link: &Believed, evidence: EvidenceKind) -> String {
    let landing = &link.landing;
    let who = match (&link.signer, &link.role) {
        (Some(signer), Some(role)) => format!("signed by {signer} ({})", role.word()),
        _ => "not signed, which the base allows".to_owned(),
    };
    let how = if evidence == EvidenceKind::Remerged { ", merged again; floor and tests ran on it here" } else { "" };
    format!("{} verified tree {} on {}, {who}{how}", landing.verifier, landing.tree.short(), landing.parent.short())
}

fn shown(link: &Believed) -> Attested {
    Attested {
        commit: link.landing.commit.clone(),
        tree: link.landing.tree.clone(),
        base: link.landing.parent.clone(),
        signer: link.signer.clone(),
        role: link.role.map(|role| role.word().to_owned()),
        verifier: link.landing.verifier.clone(),
    }
}
