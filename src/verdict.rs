//! Read a verifier's answer, cross-examine it, decide.
//!
//! An answer is text that somebody else wrote. [`parse`] accepts one exact form of it and nothing that resembles it;
//! [`examine`] holds every citation against the receipts; [`decide()`] is the only place where a [`Warrant`] is made, and
//! reads nothing but the ledger. Each step fails closed: what is not a clean, cross-examined PASS (or a permitted SKIP)
//! ends as a send-back or a hold with a stable code.

pub mod decide;
pub mod disguise;
pub mod dossier;
pub mod evidence;
pub mod examine;
#[cfg(test)]
mod fixture;
pub mod identity;
pub mod parse;
pub mod stored;

pub use decide::{Decision, FloorOnly, Held, REASONS, SentBack, Warrant, WarrantOrigin, decide, judge};
pub use dossier::{Dossier, DossierError};
pub use evidence::{Citation, Cover, Evidence};
pub use examine::{Objection, cross_examine};
pub use parse::{Complaint, Expect, Unusable, Verdict, parse_verdict};
pub use stored::{StoredNote, read_stored_note};

use crate::host::path::RepoPath;
use crate::host::process::Ending;
use crate::receipts::{ConsultedRecord, Fact, HeardRecord, Receipt};

/// The name of the embedded verifier, which reads receipts only.
pub const EMBEDDED: &str = "mechanical";

/// True if the consultation was of the embedded verifier: by its name, and because no process ended.
pub fn is_embedded(consulted: &ConsultedRecord) -> bool {
    consulted.verifier == EMBEDDED && consulted.ending.is_none()
}

/// True if a program read the brief and ended well. Only then can its verdict settle a suspicion.
pub fn is_reading(consulted: &ConsultedRecord) -> bool {
    consulted.verifier != EMBEDDED && ended_well(consulted)
}

fn ended_well(consulted: &ConsultedRecord) -> bool {
    consulted.ending.as_ref().is_some_and(Ending::is_success)
}

/// What an answer amounts to, given the ledger up to and including the consultation it answers.
///
/// A trespass voids any answer; a verifier that did not end well gave none, whatever it printed; an answer that does
/// not parse, or a PASS with an objection, is unusable. `file_exists` says whether a path is a file of the claim's tree;
/// `None` means that it could not be found out.
pub fn hear(answer: &[u8], receipts: &[Receipt], file_exists: &dyn Fn(&RepoPath) -> Option<bool>) -> HeardRecord {
    let consulted = receipts.iter().rev().find_map(|r| match &r.fact {
        Fact::Consulted(consulted) => Some(consulted),
        _ => None,
    });
    let Some(consulted) = consulted else {
        return HeardRecord::NotAsked { why: "the ledger records no consultation".into() };
    };
    if !consulted.trespasses.is_empty() {
        return HeardRecord::Trespassed { what: consulted.trespasses.clone() };
    }
    if !is_embedded(consulted) && !ended_well(consulted) {
        let code = consulted.ending.as_ref().map_or("not-started", Ending::code).to_owned();
        return HeardRecord::NoAnswer { code, why: unwell(consulted) };
    }
    let verdict = match Expectation::of(receipts) {
        Ok(expectation) => parse_verdict(answer, &expectation.expect()),
        Err(missing) => Err(Unusable::of("no-expectation", missing)),
    };
    match verdict {
        Ok(verdict) => {
            let objections = cross_examine(&verdict, receipts, file_exists);
            if objections.is_empty() { verdict.into_record() } else { Unusable::from(objections).into_record() }
        }
        Err(unusable) => unusable.into_record(),
    }
}

fn unwell(consulted: &ConsultedRecord) -> String {
    let name = disguise::visible(&consulted.verifier);
    match &consulted.ending {
        None => format!("the verifier {name} could not be started"),
        Some(ending) => format!("the verifier {name} {}; what it printed is not a verdict", ending.sentence()),
    }
}

/// What the ledger says an answer must name.
struct Expectation<'a> {
    token: &'a str,
    task_id: &'a str,
    criteria: &'a [crate::task::Criterion],
}

impl<'a> Expectation<'a> {
    fn of(receipts: &'a [Receipt]) -> Result<Self, &'static str> {
        let (mut case, mut task, mut token) = (None, None, None);
        for receipt in receipts {
            match &receipt.fact {
                Fact::Opened(opened) => case = Some(opened.case.as_str()),
                Fact::Task(record) => task = Some(record),
                Fact::Token { token: drawn } => token = Some(drawn.as_str()),
                _ => {}
            }
        }
        let task = task.ok_or("the ledger records no task that a verdict could answer")?;
        let token = token.ok_or("the ledger records no token that a verdict could carry")?;
        let case = case.ok_or("the ledger does not name its case")?;
        Ok(Self { token, task_id: task.id.as_deref().unwrap_or(case), criteria: &task.criteria })
    }

    fn expect(&self) -> Expect<'a> {
        Expect { token: self.token, task_id: self.task_id, criteria: self.criteria }
    }
}
