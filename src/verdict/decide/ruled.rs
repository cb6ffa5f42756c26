//! What a person's ruling makes of a decision. It is bound to the claim's tree and findings; the dossier refuses a ledger
//! in which it is not.

use super::{Decision, Grounds, SentBack, WarrantOrigin, hold, listed, reason};
use crate::receipts::ruling::{Answer, Point, RulingRecord};
use crate::verdict::disguise::visible;
use crate::verdict::dossier::Dossier;

/// The decision with the last ruling taken into account.
pub(super) fn ruled(dossier: &Dossier, by_rule: Decision) -> Decision {
    let Some(ruling) = dossier.rulings.last() else { return by_rule };
    match ruling.answer {
        // Its points are taken out of the findings where these are weighed.
        Answer::Decline => by_rule,
        Answer::Approve => approved(dossier, ruling, by_rule),
        Answer::Mend => {
            let said = |point: &Point| reason("mend", visible(&point.sentence()));
            let mut reasons: Vec<_> = ruling.mend.iter().map(said).collect();
            if !ruling.why.is_empty() {
                reasons.push(reason("mend", format!("{} says: {}", visible(&ruling.by), visible(&ruling.why))));
            }
            for point in &ruling.declined {
                let text =
                    format!("not to be touched, {} declined it: {}", visible(&ruling.by), visible(&point.sentence()));
                reasons.push(reason("declined", text));
            }
            Decision::SendBack(SentBack { reasons, hint: None })
        }
        Answer::Abort => hold("aborted", format!("{} gave the work up{}", visible(&ruling.by), because(ruling))),
    }
}

fn because(ruling: &RulingRecord) -> String {
    if ruling.why.is_empty() { String::new() } else { format!(": {}", visible(&ruling.why)) }
}

/// Approving what may land anyway changes nothing. Approving anything else is an override, if there is a task and a commit.
fn approved(dossier: &Dossier, ruling: &RulingRecord, by_rule: Decision) -> Decision {
    if matches!(by_rule, Decision::Land(_) | Decision::Skip(_)) || dossier.task.is_none() {
        return by_rule;
    }
    let Some(claim) = &dossier.claim else { return by_rule };
    let Some(commit) = &claim.commit else {
        return hold("no-commit", "it was approved, but the work was never made a commit: there is nothing to land");
    };
    let over: Vec<String> = by_rule.record().reasons.into_iter().map(|reason| reason.code).collect();
    let text = format!("{} approved it over {}{}", visible(&ruling.by), listed(&over), because(ruling));
    Decision::Land(Grounds { dossier, claim, commit }.warrant(WarrantOrigin::Override, "override", text))
}

/// The reasons of a verifier that no person declined; none if every one of them was.
pub(super) fn open_reasons(dossier: &Dossier, reasons: &[String]) -> Option<Vec<String>> {
    let open: Vec<String> = reasons.iter().filter(|text| !dossier.is_declined_reason(text)).cloned().collect();
    (reasons.is_empty() || !open.is_empty()).then_some(open)
}
