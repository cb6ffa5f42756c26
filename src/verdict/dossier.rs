//! Everything that a decision rests on, taken from the ledger and from nothing else.

use super::evidence::Evidence;
use super::examine::{Objection, cross_examine};
use super::parse::Verdict;
use super::{is_embedded, is_reading};
use crate::claim::Claim;
use crate::host::ids::TreeId;
use crate::receipts::ruling::{DeclinedRecord, Point, RulingRecord, VERDICT, points};
use crate::receipts::{
    BaseRecord, CheckReport, ComparedRecord, ConsultedRecord, FORMAT, Fact, HeardRecord, Opened, Purpose, Receipt,
    ReportRecord, SettingsRecord, State, TaskRecord,
};

/// Why a ledger does not amount to a dossier. No such ledger is ever the worker's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DossierError {
    /// The first line is missing or not the opening.
    #[error("the ledger does not begin with its opening line")]
    NotOpened,
    /// Another format.
    #[error("the ledger has format {0}, and this version reads format {FORMAT}")]
    Format(u32),
    /// A line is missing, doubled or out of order.
    #[error("the ledger's line {position} has number {id}")]
    Numbering {
        /// Its place, from 1.
        position: usize,
        /// The number it has.
        id: u32,
    },
    /// A fact that there can be only one of is there twice.
    #[error("the ledger records {0} twice")]
    Twice(&'static str),
    /// A fact without which nothing can be decided.
    #[error("the ledger records no {0}")]
    Missing(&'static str),
    /// Two facts that cannot both be true.
    #[error("the ledger contradicts itself: {0}")]
    Contradiction(&'static str),
}

/// What a decision rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Dossier {
    pub(super) settings: SettingsRecord,
    pub(super) task: Option<TaskRecord>,
    pub(super) report: Option<ReportRecord>,
    pub(super) claim: Option<Claim>,
    /// Sorted by id: their order in the ledger means nothing.
    pub(super) checks: Vec<CheckReport>,
    /// True if a test command of ours exited 0 on the claim's tree, or its failures were all there before.
    pub(super) tests_green: bool,
    pub(super) consulted: Option<ConsultedRecord>,
    pub(super) heard: Option<HeardRecord>,
    /// What the receipts hold against the PASS that was heard.
    pub(super) objections: Vec<Objection>,
    /// What persons made of this claim, oldest first.
    pub(super) rulings: Vec<RulingRecord>,
    /// What persons declined before.
    pub(super) declined: Vec<DeclinedRecord>,
    /// Who told this run not to verify, if it was.
    pub(super) waived: Option<String>,
}

impl Dossier {
    /// Takes a dossier from a ledger, whole or up to its decision.
    ///
    /// # Errors
    /// The ledger has gaps, another format, or contradicts itself.
    pub fn from_receipts(receipts: &[Receipt]) -> Result<Self, DossierError> {
        numbered(receipts)?;
        let mut parts = Parts::default();
        for receipt in receipts {
            parts.take(&receipt.fact)?;
        }
        bound(&parts, receipts)?;
        let settings = parts.settings.ok_or(DossierError::Missing("settings"))?;
        let base = parts.base.ok_or(DossierError::Missing("base"))?;
        if parts.claim.as_ref().is_some_and(|claim| claim.base != base.commit || claim.base_tree != base.tree) {
            return Err(DossierError::Contradiction("the claim is measured against another base"));
        }
        if parts.waived.is_some() && (parts.consulted.is_some() || parts.heard.is_some()) {
            return Err(DossierError::Contradiction("a verifier was asked in a run that was told not to verify"));
        }
        if parts.task.is_none() && parts.consulted.is_some() {
            return Err(DossierError::Contradiction("a verifier was asked without a task"));
        }
        parts.checks.sort_by(|a, b| (&a.id, a.state, &a.note).cmp(&(&b.id, b.state, &b.note)));
        Ok(Self {
            settings,
            tests_green: parts.claim.as_ref().is_some_and(|claim| tests_green(claim, receipts)),
            objections: parts.heard.as_ref().map(|heard| objections(heard, receipts)).unwrap_or_default(),
            task: parts.task,
            report: parts.report,
            claim: parts.claim,
            checks: parts.checks,
            consulted: parts.consulted,
            heard: parts.heard,
            rulings: parts.rulings,
            declined: parts.declined,
            waived: parts.waived,
        })
    }

    /// The checks in a state, a check counting as bad as its worst finding.
    pub(super) fn checks_in(&self, state: State) -> impl Iterator<Item = &CheckReport> {
        self.checks.iter().filter(move |check| effective(check) == state)
    }

    /// The worst state of a check; `None` if it did not report.
    pub(super) fn state_of(&self, id: &str) -> Option<State> {
        self.checks.iter().filter(|check| check.id == id).map(effective).max()
    }

    /// What persons declined and what still stands: on this very tree, or earlier while the code stays the same.
    fn settled(&self) -> impl Iterator<Item = &Point> {
        let before = self.declined.iter().filter(|declined| declined.stands).map(|declined| &declined.point);
        self.rulings.iter().flat_map(|ruling| &ruling.declined).chain(before)
    }

    /// True if every question of a check was declined.
    pub(super) fn is_settled(&self, check: &CheckReport) -> bool {
        let mut asked = check.findings.iter().filter(|finding| finding.state == State::Ask).peekable();
        asked.peek().is_some()
            && asked.all(|f| self.settled().any(|p| p.is_about(&check.id, &f.place, &f.expected, &f.observed)))
    }

    /// True if a reason of the verifier was declined, word for word.
    pub(super) fn is_declined_reason(&self, text: &str) -> bool {
        self.settled().any(|point| point.is_about(VERDICT, "", "", text))
    }

    /// True if a program read the brief and its verdict can settle a suspicion.
    pub(super) fn was_read(&self) -> bool {
        self.consulted.as_ref().is_some_and(is_reading)
    }
}

/// The state that counts: a report never hides a finding worse than itself.
pub(super) fn effective(check: &CheckReport) -> State {
    check.findings.iter().map(|finding| finding.state).max().map_or(check.state, |worst| worst.max(check.state))
}

#[derive(Default)]
struct Parts {
    opened: Option<Opened>,
    base: Option<BaseRecord>,
    settings: Option<SettingsRecord>,
    task: Option<TaskRecord>,
    report: Option<ReportRecord>,
    claim: Option<Claim>,
    checks: Vec<CheckReport>,
    token: Option<String>,
    consulted: Option<ConsultedRecord>,
    /// True while a consultation waits for its answer.
    waiting: bool,
    heard: Option<HeardRecord>,
    rulings: Vec<RulingRecord>,
    declined: Vec<DeclinedRecord>,
    waived: Option<String>,
    decided: bool,
}

impl Parts {
    fn take(&mut self, fact: &Fact) -> Result<(), DossierError> {
        if self.decided {
            return Err(DossierError::Contradiction("a fact follows the decision"));
        }
        match fact {
            Fact::Opened(opened) => once(&mut self.opened, opened, "its opening"),
            Fact::Base(base) => once(&mut self.base, base, "the base"),
            Fact::Settings(settings) => once(&mut self.settings, settings, "the settings"),
            Fact::Task(task) => once(&mut self.task, task, "the task"),
            Fact::Report(report) => once(&mut self.report, report, "the report"),
            Fact::Claim(claim) => once(&mut self.claim, claim, "the claim"),
            Fact::Token { token } => once(&mut self.token, token, "the token"),
            Fact::Check(check) => {
                self.checks.push(check.clone());
                Ok(())
            }
            Fact::Consulted(consulted) => self.consult(consulted),
            Fact::Heard(heard) => self.hear(heard),
            Fact::Waived { by } => once(&mut self.waived, by, "that it is not verified"),
            Fact::Declined(declined) => {
                self.declined.push(declined.clone());
                Ok(())
            }
            Fact::Ruling(ruling) => {
                self.rulings.push(ruling.clone());
                Ok(())
            }
            Fact::Decided(_) => {
                self.decided = true;
                Ok(())
            }
            Fact::Sightings { .. }
            | Fact::Command(_)
            | Fact::Tests(_)
            | Fact::Compared(_)
            | Fact::Bites(_)
            | Fact::Uncertified { .. }
            | Fact::Reconciled(_)
            | Fact::Proof(_) => Ok(()),
        }
    }

    /// A verifier is asked once more only after an answer that could not be used: nobody shops for a verdict.
    fn consult(&mut self, consulted: &ConsultedRecord) -> Result<(), DossierError> {
        let again = matches!(self.heard, Some(HeardRecord::Unusable { .. } | HeardRecord::NoAnswer { .. }));
        if self.waiting || (self.heard.is_some() && !again) {
            return Err(DossierError::Contradiction("a verifier was asked again after a usable answer"));
        }
        if self.consulted.as_ref().is_some_and(|before| !before.trespasses.is_empty()) {
            return Err(DossierError::Contradiction("a verifier that touched something was asked again"));
        }
        if let Some(before) = &consulted.instead_of {
            let silent = matches!(self.heard, Some(HeardRecord::NoAnswer { .. }));
            let other = self.consulted.as_ref().is_some_and(|last| last.verifier == *before);
            if !silent || !other || *before == consulted.verifier || consulted.resend {
                return Err(DossierError::Contradiction("a verifier was asked in place of one that had answered"));
            }
        } else if consulted.resend != self.consulted.is_some()
            || self.consulted.as_ref().is_some_and(|before| before.resend)
        {
            return Err(DossierError::Contradiction("a verifier was asked more often than twice"));
        }
        if !is_embedded(consulted) && self.token.is_none() {
            return Err(DossierError::Contradiction("a verifier was asked before a token was drawn"));
        }
        self.consulted = Some(consulted.clone());
        self.waiting = true;
        self.heard = None;
        Ok(())
    }

    fn hear(&mut self, heard: &HeardRecord) -> Result<(), DossierError> {
        let silent = matches!(heard, HeardRecord::NotAsked { .. } | HeardRecord::NoAnswer { .. });
        if self.heard.is_some() || (!self.waiting && !silent) {
            return Err(DossierError::Contradiction("an answer was heard that nobody was asked for"));
        }
        if self.waiting && matches!(heard, HeardRecord::NotAsked { .. }) {
            return Err(DossierError::Contradiction("a verifier was asked and was not asked"));
        }
        self.waiting = false;
        self.heard = Some(heard.clone());
        Ok(())
    }
}

/// A ruling speaks of this claim's tree and of findings that are in this ledger, or it is none.
fn bound(parts: &Parts, receipts: &[Receipt]) -> Result<(), DossierError> {
    if parts.rulings.is_empty() {
        return Ok(());
    }
    let here = points(receipts);
    for ruling in &parts.rulings {
        if parts.claim.as_ref().is_none_or(|claim| claim.tree != ruling.tree) {
            return Err(DossierError::Contradiction("a person ruled on another tree"));
        }
        let known = |point: &Point| {
            here.iter().any(|p| p.is_about(&point.check, &point.place, &point.expected, &point.observed))
        };
        if !ruling.mend.iter().chain(&ruling.declined).all(known) {
            return Err(DossierError::Contradiction("a person ruled on a finding that is not here"));
        }
    }
    Ok(())
}

fn once<T: Clone>(slot: &mut Option<T>, value: &T, what: &'static str) -> Result<(), DossierError> {
    if slot.replace(value.clone()).is_some() { Err(DossierError::Twice(what)) } else { Ok(()) }
}

fn numbered(receipts: &[Receipt]) -> Result<(), DossierError> {
    match receipts.first().map(|receipt| &receipt.fact) {
        Some(Fact::Opened(opened)) if opened.format != FORMAT => return Err(DossierError::Format(opened.format)),
        Some(Fact::Opened(_)) => {}
        _ => return Err(DossierError::NotOpened),
    }
    let wrong = receipts.iter().zip(1_u32..).find(|(receipt, number)| receipt.id != *number);
    wrong.map_or(Ok(()), |(receipt, number)| Err(DossierError::Numbering { position: number as usize, id: receipt.id }))
}

/// True if a test command of ours exited 0 on the claim's tree, or if one that did not is explained test by test: the
/// same command ran on the base, both lists are complete, and nothing failed that did not fail before (RULINGS 13).
fn tests_green(claim: &Claim, receipts: &[Receipt]) -> bool {
    receipts.iter().any(|receipt| match &receipt.fact {
        Fact::Command(command) => {
            command.purpose == Purpose::Tests && command.tree == claim.tree && command.ending.is_success()
        }
        Fact::Compared(compared) => compared.explains_red() && is_borne_out(compared, claim, receipts),
        _ => false,
    })
}

/// A comparison counts only if the ledger holds both runs it speaks of, each with a complete list.
fn is_borne_out(compared: &ComparedRecord, claim: &Claim, receipts: &[Receipt]) -> bool {
    let command = |id: u32, tree: &TreeId| {
        receipts.iter().find_map(|receipt| match &receipt.fact {
            Fact::Command(command) if receipt.id == id && command.tree == *tree => Some(command),
            _ => None,
        })
    };
    let listed = |id: u32, tree: &TreeId| {
        receipts
            .iter()
            .any(|receipt| matches!(&receipt.fact, Fact::Tests(t) if t.command == id && t.complete && t.tree == *tree))
    };
    let both = command(compared.claim, &claim.tree).zip(command(compared.base, &claim.base_tree));
    let same = both.is_some_and(|(on_claim, on_base)| {
        on_claim.purpose == Purpose::Tests
            && on_base.purpose == Purpose::Tests
            && (&on_claim.command, &on_claim.root) == (&on_base.command, &on_base.root)
    });
    same && listed(compared.claim, &claim.tree) && listed(compared.base, &claim.base_tree)
}

/// The receipts are heard once more at the decision. Whether an unchanged file exists was settled when the answer was
/// heard; the ledger alone cannot tell.
fn objections(heard: &HeardRecord, receipts: &[Receipt]) -> Vec<Objection> {
    let HeardRecord::Pass { evidence } = heard else {
        return Vec::new();
    };
    match evidence.iter().map(Evidence::from_record).collect::<Option<Vec<_>>>() {
        Some(evidence) => cross_examine(&Verdict::Pass { evidence }, receipts, &|_| Some(true)),
        None => vec![Objection { code: "evidence-unreadable", text: "a recorded evidence line has no form".into() }],
    }
}

#[cfg(test)]
mod tests;
