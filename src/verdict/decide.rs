//! The decision: pure, total, and the only place where a warrant is made.
//!
//! The rules are read from the top; the first that applies decides. [`REASONS`] explains every code.
//!
//! | rule | decision |
//! |---|---|
//! | the ledger is ill-formed, or holds no claim | hold |
//! | the worker itself says bounced or failed | hold |
//! | a check denies | send back, naming every denied check |
//! | the work never became a commit | hold |
//! | the run was told not to verify, and there is a task | land as unverified |
//! | a check is unknown | hold |
//! | the worker's report could not be read | hold |
//! | `claim-empty` did not report a pass | hold |
//! | a suspicion stands that no reading verifier settled | hold |
//! | no task | floor-only |
//! | a decision task with exactly one ADR, nothing executable changed, nobody was asked, SKIP allowed | skip |
//! | no criteria, or only criteria for the builder's eye | hold |
//! | FAIL | send back |
//! | SKIP | skip if it is allowed and nothing executable changed, else hold |
//! | PASS | land if tests of ours ran green on the claim's tree and no receipt objects, else hold |
//! | anything else that a verifier did or did not do | hold |
//!
//! What a person declined is not weighed; a person's approval of the tree turns anything but a landing into an override,
//! their choice of findings into a send-back, their abort into a hold.

mod ruled;
mod warrant;

pub use warrant::{Warrant, WarrantOrigin};

use super::disguise::visible;
use super::dossier::Dossier;
use crate::claim::Claim;
use crate::host::ids::CommitId;
use crate::receipts::{
    CheckReport, DecisionKind, DecisionRecord, HeardRecord, Hint, Reason, Receipt, ReportedOutcome, State,
};
use crate::task::Kind;

/// Every code of a reason, and what it means. A denied check is its own code.
pub const REASONS: &[(&str, &str)] = &[
    ("verified", "a clean PASS that the receipts bear out"),
    ("verdict-skip", "the verifier skipped, and nothing executable changed"),
    ("decision-adr", "a decision task that brought exactly one ADR and nothing executable"),
    ("nothing-false-found", "without a task: the floor found nothing false"),
    ("<check>", "this check denies the claim"),
    ("verdict-fail", "the verifier says FAIL"),
    ("task-under-specified", "the verifier says FAIL, and that the task has to change first"),
    ("ill-formed-ledger", "the ledger has gaps, another format, or contradicts itself"),
    ("no-claim", "the ledger holds no claim"),
    ("worker-bounced", "the worker gave the task back"),
    ("worker-failed", "the worker says that it failed"),
    ("no-commit", "the work was never made a commit"),
    ("unknown:<check>", "this check could not find out; the worker is not to blame"),
    ("report-unreadable", "the worker's report could not be read"),
    ("floor-incomplete", "a check that every decision needs did not report a pass"),
    ("suspicion", "a check asks a question that no reading verifier answered"),
    ("no-task", "there is no task, and one is required"),
    ("no-criteria", "the task has no acceptance criteria"),
    ("human-eye-only", "only the builder's eye can judge this task"),
    ("tests-not-run", "no green test run of ours on the claim's tree"),
    ("skip-not-permitted", "a SKIP, but something executable changed or the settings forbid it"),
    ("needs-judgement", "a criterion needs a verifier that reads"),
    ("unusable-answer", "the answer is not a verdict, or the receipts contradict it"),
    ("no-answer", "the verifier failed, timed out or could not be started"),
    ("verdict-void", "the verifier touched what it was to judge"),
    ("not-asked", "no verifier was asked"),
    ("unverified", "this run was told not to verify (`--no-verify`)"),
    ("override", "a person approved this tree over its findings"),
    ("mend", "a person chose what is to be mended"),
    ("declined", "a person declined this finding, or every reason of the verifier"),
    ("aborted", "a person gave the work up"),
];

/// What we make of a claim.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may land.
    Land(Warrant),
    /// It may land unjudged.
    Skip(Warrant),
    /// Back to the worker.
    SendBack(SentBack),
    /// A person decides.
    Hold(Held),
    /// There was no task: nothing false found, no warrant.
    FloorOnly(FloorOnly),
}

/// A claim that goes back to its worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentBack {
    /// Why; never empty.
    pub reasons: Vec<Reason>,
    /// The verifier's hint; none if the floor denied.
    pub hint: Option<Hint>,
}

/// A claim that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Why; never empty.
    pub reasons: Vec<Reason>,
}

/// A change without a task in which the floor found nothing false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloorOnly {
    /// What was looked at; never empty.
    pub reasons: Vec<Reason>,
}

impl Decision {
    /// Its form in the ledger.
    pub fn record(&self) -> DecisionRecord {
        let (kind, reasons) = match self {
            Self::Land(warrant) => (DecisionKind::Land, vec![warrant.reason().clone()]),
            Self::Skip(warrant) => (DecisionKind::Skip, vec![warrant.reason().clone()]),
            Self::SendBack(sent) => (DecisionKind::SendBack, sent.reasons.clone()),
            Self::Hold(held) => (DecisionKind::Hold, held.reasons.clone()),
            Self::FloorOnly(floor) => (DecisionKind::FloorOnly, floor.reasons.clone()),
        };
        DecisionRecord { kind, reasons }
    }
}

/// Decides from a ledger, whole or up to its decision. An ill-formed one holds.
pub fn judge(receipts: &[Receipt]) -> Decision {
    match Dossier::from_receipts(receipts) {
        Ok(dossier) => decide(&dossier),
        Err(error) => hold("ill-formed-ledger", error.to_string()),
    }
}

/// Decides. Pure and total: the same dossier always gives the same decision, and every dossier gives one.
pub fn decide(dossier: &Dossier) -> Decision {
    ruled::ruled(dossier, by_rule(dossier))
}

fn by_rule(dossier: &Dossier) -> Decision {
    let Some(claim) = &dossier.claim else {
        return hold("no-claim", "the ledger holds no claim");
    };
    if let Some(decision) = gave_up(dossier).or_else(|| denied(dossier)) {
        return decision;
    }
    let Some(commit) = &claim.commit else {
        return hold("no-commit", "the work was never made a commit, and no check says why");
    };
    let grounds = Grounds { dossier, claim, commit };
    RULES.iter().find_map(|rule| rule(&grounds)).unwrap_or_else(|| by_verdict(&grounds))
}

/// A dossier whose claim is a commit and that no check denies.
struct Grounds<'a> {
    dossier: &'a Dossier,
    claim: &'a Claim,
    commit: &'a CommitId,
}

type Rule = fn(&Grounds<'_>) -> Option<Decision>;

const RULES: &[Rule] =
    &[waived, unknowns, unreadable_report, floor_incomplete, suspicions, no_task, decision_adr, unjudgeable];

impl Grounds<'_> {
    fn warrant(&self, origin: WarrantOrigin, code: &str, text: impl Into<String>) -> Warrant {
        Warrant::new((self.commit, &self.claim.tree, &self.claim.base), origin, reason(code, text))
    }

    /// True if the settings allow a SKIP and the floor says that nothing executable changed.
    fn may_skip(&self) -> bool {
        let eligible = matches!(self.dossier.state_of("skip-eligible"), Some(State::Pass | State::Info));
        self.dossier.settings.skip_allowed && eligible
    }
}

/// A run that was told not to verify lands what nothing cheap denies, and says so for good.
fn waived(grounds: &Grounds<'_>) -> Option<Decision> {
    let by = grounds.dossier.waived.as_ref()?;
    grounds.dossier.task.as_ref()?;
    let text = format!("{} told this run not to verify: no test ran and nobody was asked", visible(by));
    Some(Decision::Land(grounds.warrant(WarrantOrigin::Unverified, "unverified", text)))
}

fn gave_up(dossier: &Dossier) -> Option<Decision> {
    match dossier.report.as_ref()?.outcome {
        ReportedOutcome::Bounced => Some(hold("worker-bounced", "the worker gave the task back; nothing was judged")),
        ReportedOutcome::Failed => Some(hold("worker-failed", "the worker says that it failed; nothing was judged")),
        ReportedOutcome::Success | ReportedOutcome::Unreadable | ReportedOutcome::None => None,
    }
}

fn denied(dossier: &Dossier) -> Option<Decision> {
    let reasons: Vec<_> = dossier.checks_in(State::Deny).map(|c| reason(&c.id, told(c, State::Deny))).collect();
    (!reasons.is_empty()).then_some(Decision::SendBack(SentBack { reasons, hint: None }))
}

fn unknowns(grounds: &Grounds<'_>) -> Option<Decision> {
    let unknown = grounds.dossier.checks_in(State::Unknown);
    let reasons: Vec<_> = unknown.map(|c| reason(&format!("unknown:{}", c.id), told(c, State::Unknown))).collect();
    (!reasons.is_empty()).then_some(Decision::Hold(Held { reasons }))
}

fn unreadable_report(grounds: &Grounds<'_>) -> Option<Decision> {
    let report = grounds.dossier.report.as_ref()?;
    let unread = report.outcome == ReportedOutcome::Unreadable || report.rejection.is_some();
    unread.then(|| {
        let code = report.rejection.as_deref().unwrap_or("no reason recorded");
        let text = format!("the report {} could not be read: {}", visible(&report.source), visible(code));
        hold("report-unreadable", text)
    })
}

fn floor_incomplete(grounds: &Grounds<'_>) -> Option<Decision> {
    let looked = matches!(grounds.dossier.state_of("claim-empty"), Some(State::Pass | State::Info | State::Ask));
    (!looked)
        .then(|| hold("floor-incomplete", "check claim-empty did not report a pass: an empty floor proves nothing"))
}

fn suspicions(grounds: &Grounds<'_>) -> Option<Decision> {
    let asked: Vec<_> = grounds.dossier.checks_in(State::Ask).filter(|c| !grounds.dossier.is_settled(c)).collect();
    // A reading verifier that did not judge holds by its own rule; only a SKIP would pass the question by.
    let open = match &grounds.dossier.heard {
        None | Some(HeardRecord::NotAsked { .. } | HeardRecord::Skip { .. }) => true,
        Some(_) => !grounds.dossier.was_read(),
    };
    if asked.is_empty() || !open {
        return None;
    }
    let mut reasons: Vec<_> =
        asked.iter().map(|c| reason("suspicion", format!("{}: {}", visible(&c.id), told(c, State::Ask)))).collect();
    if let Some(HeardRecord::Fail { reasons: failed, hint, .. }) = &grounds.dossier.heard {
        reasons.extend(failures(failed, *hint));
    }
    Some(Decision::Hold(Held { reasons }))
}

fn no_task(grounds: &Grounds<'_>) -> Option<Decision> {
    if grounds.dossier.task.is_some() {
        return None;
    }
    if grounds.dossier.settings.require_task {
        return Some(hold("no-task", "there is no task to verify against, and one is required (--require task)"));
    }
    let passed = grounds.dossier.checks_in(State::Pass).count();
    let text = format!("{passed} checks passed, none denies; without a task nothing more can be said");
    Some(Decision::FloorOnly(FloorOnly { reasons: vec![reason("nothing-false-found", text)] }))
}

fn decision_adr(grounds: &Grounds<'_>) -> Option<Decision> {
    let dossier = grounds.dossier;
    let asked = !matches!(dossier.heard, None | Some(HeardRecord::NotAsked { .. })) || dossier.consulted.is_some();
    let decides = dossier.task.as_ref().is_some_and(|task| task.kind == "decision");
    let mut eligible = dossier.checks.iter().filter(|check| check.id == "skip-eligible");
    let one_adr = eligible.next().is_some_and(|check| check.note == "decision-adr") && eligible.next().is_none();
    let skips =
        !asked && decides && one_adr && grounds.may_skip() && dossier.state_of("skip-eligible") == Some(State::Info);
    skips.then(|| {
        let text = "a decision task that brought exactly one ADR; nothing executable changed";
        Decision::Skip(grounds.warrant(WarrantOrigin::Skipped, "decision-adr", text))
    })
}

fn unjudgeable(grounds: &Grounds<'_>) -> Option<Decision> {
    let criteria = &grounds.dossier.task.as_ref()?.criteria;
    if criteria.is_empty() {
        return Some(hold("no-criteria", "the task has no acceptance criteria; add some and verify again"));
    }
    let eye_only = criteria.iter().all(|criterion| criterion.kind == Kind::HumanEye);
    eye_only.then(|| hold("human-eye-only", "every criterion is for the builder's eye; look, then decide"))
}

fn by_verdict(grounds: &Grounds<'_>) -> Decision {
    let dossier = grounds.dossier;
    if let Some(consulted) = dossier.consulted.as_ref().filter(|consulted| !consulted.trespasses.is_empty()) {
        return hold("verdict-void", format!("the verifier touched {}", listed(&consulted.trespasses)));
    }
    match &dossier.heard {
        Some(HeardRecord::Fail { reasons, hint, .. }) => {
            answered(dossier).unwrap_or_else(|| match ruled::open_reasons(dossier, reasons) {
                Some(open) => Decision::SendBack(SentBack { reasons: failures(&open, *hint), hint: Some(*hint) }),
                None => hold("declined", "a person declined every reason of the verifier; it is to be judged anew"),
            })
        }
        Some(HeardRecord::Skip { reason }) => answered(dossier).unwrap_or_else(|| skipped(grounds, reason)),
        Some(HeardRecord::Pass { .. }) => answered(dossier).unwrap_or_else(|| passed(grounds)),
        Some(HeardRecord::Abstained { reasons }) => hold("needs-judgement", listed(reasons)),
        Some(HeardRecord::Unusable { codes, detail }) => {
            hold("unusable-answer", format!("{}: {}", listed(codes), listed(detail)))
        }
        Some(HeardRecord::NoAnswer { code, why }) => hold("no-answer", visible(&format!("{code}: {why}"))),
        Some(HeardRecord::Trespassed { what }) => {
            hold("verdict-void", format!("the verifier touched {}", listed(what)))
        }
        Some(HeardRecord::NotAsked { why }) => hold("not-asked", visible(why)),
        None => hold("not-asked", "the ledger records no answer of a verifier"),
    }
}

/// A verdict counts only if it is the embedded verifier's or that of a process that ended well.
fn answered(dossier: &Dossier) -> Option<Decision> {
    let counts = dossier.consulted.as_ref().is_some_and(|c| super::is_embedded(c) || super::is_reading(c));
    (!counts).then(|| hold("no-answer", "the verifier did not end with exit code 0; what it printed is not a verdict"))
}

fn passed(grounds: &Grounds<'_>) -> Decision {
    let dossier = grounds.dossier;
    if !dossier.objections.is_empty() {
        let reasons = dossier.objections.iter().map(|o| reason("unusable-answer", format!("{}: {}", o.code, o.text)));
        return Decision::Hold(Held { reasons: reasons.collect() });
    }
    let ran = matches!(dossier.state_of("tests-run"), Some(State::Pass | State::Info | State::Ask));
    if !(ran && dossier.tests_green) {
        return hold("tests-not-run", "no test command of ours exited 0 on the claim's tree, so a PASS cannot land");
    }
    let verifier = dossier.consulted.as_ref().map_or("", |consulted| consulted.verifier.as_str());
    let text = format!("the verifier {} passed every criterion with evidence that holds", visible(verifier));
    Decision::Land(grounds.warrant(WarrantOrigin::Verified, "verified", text))
}

fn skipped(grounds: &Grounds<'_>, why: &str) -> Decision {
    if grounds.may_skip() {
        return Decision::Skip(grounds.warrant(WarrantOrigin::Skipped, "verdict-skip", visible(why)));
    }
    let why = visible(why);
    let text = if grounds.dossier.settings.skip_allowed {
        format!("the verifier skipped ({why}), but the floor does not say that nothing executable changed")
    } else {
        format!("the verifier skipped ({why}), but the settings do not allow a SKIP")
    };
    hold("skip-not-permitted", text)
}

fn failures(reasons: &[String], hint: Hint) -> Vec<Reason> {
    let code = match hint {
        Hint::LikelyFixable => "verdict-fail",
        Hint::TaskUnderSpecified => "task-under-specified",
    };
    if reasons.is_empty() {
        return vec![reason(code, "the verifier says FAIL and gives no reason")];
    }
    reasons.iter().map(|text| reason(code, text)).collect()
}

fn hold(code: &str, text: impl Into<String>) -> Decision {
    Decision::Hold(Held { reasons: vec![reason(code, text)] })
}

fn reason(code: &str, text: impl Into<String>) -> Reason {
    Reason { code: code.to_owned(), text: text.into() }
}

fn listed(texts: &[String]) -> String {
    if texts.is_empty() { "(nothing named)".to_owned() } else { visible(&texts.join(", ")) }
}

/// A check's findings of one state, in words: the first three, and how many more.
fn told(check: &CheckReport, state: State) -> String {
    let findings: Vec<_> = check.findings.iter().filter(|finding| finding.state == state).collect();
    let mut told: Vec<String> = findings
        .iter()
        .take(3)
        .map(|f| {
            let place = if f.place.is_empty() { String::new() } else { format!("{}: ", f.place) };
            format!("{place}expected {}, observed {}", f.expected, f.observed)
        })
        .collect();
    if findings.len() > 3 {
        told.push(format!("and {} more", findings.len() - 3));
    }
    if told.is_empty() {
        told.push(if check.note.is_empty() { "no finding recorded".to_owned() } else { check.note.clone() });
    }
    told.join("; ")
}

#[cfg(test)]
mod tests;
