//! The moment an agent wants to end its turn: its last words are reconciled, and the program that hosts it is answered.
//!
//! Only FALSE-COMPLETION sends it back, with what is not borne out and nothing else: at most five times in a turn, and no
//! longer than a repair lasts. Then the stop is allowed and the session is marked unverified. What goes wrong on our side
//! allows the stop, too, and says so: an agent that cannot end is no gate. Landing does not look at any of this; it wants
//! a verification of its own.

mod memory;

pub use memory::{StopOutcome, StopState};

use super::reconciling::{self, Captured, ClaimWord, ReconcileRequest};
use super::{Observer, VerifyError};
use crate::agent::transcript::{Transcript, TranscriptError, files_of_session, read_transcript};
use crate::floor::reconcile::repair::{MOST_CYCLES, order};
use crate::host::Host;
use crate::host::git::Repo;
use crate::host::path::escape;
use crate::receipts::{Gate, Reconciled, Repair, RepairStage, Standing};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a turn's end is refused. The hosts give up later than this.
pub const MOST_BLOCKS: u32 = 5;

/// How long the transcript is given to catch up with the agent's last words.
const CATCHING_UP: Duration = Duration::from_secs(2);

/// Between two looks at it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How much of an order is given; the rest is counted.
const LONGEST_ORDER: usize = 6_000;

/// A turn that wants to end, in the words of its host.
#[derive(Debug, Clone)]
pub struct StopRequest {
    /// The folder the agent is in.
    pub start: PathBuf,
    /// The session's id.
    pub session: String,
    /// The turn's or prompt's id, where the host gives one.
    pub turn: Option<String>,
    /// The host's word that the agent goes on only because an earlier end was refused.
    pub active: bool,
    /// The session's transcript, where the host keeps one.
    pub transcript: Option<PathBuf>,
    /// What the agent said last.
    pub words: Option<String>,
}

/// What the host is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopAnswer {
    /// The turn may end; this is for the user.
    Allow {
        /// One line, or nothing where all is borne out.
        tell: Option<String>,
    },
    /// The agent goes on with this.
    Block {
        /// What is not borne out, for the agent.
        order: String,
    },
}

/// Answers a turn that wants to end.
///
/// # Errors
/// See [`VerifyError`]: nothing was reconciled then. The caller allows the stop and says why, after [`mark_unverified`].
pub fn stop(request: &StopRequest, host: &Host, watch: &mut dyn Observer) -> Result<StopAnswer, VerifyError> {
    let repo = Repo::discover(host, &request.start)?;
    let mut state = memory::load(&repo, &request.session)?.unwrap_or_default();
    if state.begins_anew(request) {
        state = StopState { turn: request.turn.clone(), ..StopState::default() };
        reconciling::forget_repair(&repo, &request.session)?;
    }
    let captured = match &request.transcript {
        Some(file) if file.exists() => Some(caught_up(file, request.words.as_deref(), host)?),
        _ => None,
    };
    let reconcile = ReconcileRequest {
        claim: request.words.clone().map(ClaimWord::Text),
        captured: Some(Captured { session: request.session.clone(), transcript: captured }),
        count_repairs: true,
        ..ReconcileRequest::of(&request.start)
    };
    let table = reconciling::reconcile(&reconcile, host, watch)?;
    let (answer, outcome) = decide(&table, state.blocks);
    state.blocks += u32::from(matches!(answer, StopAnswer::Block { .. }));
    state.outcome = Some(outcome);
    told(&answer).unwrap_or_default().clone_into(&mut state.why);
    state.tree = Some(table.start.now.to_string());
    memory::keep(&repo, &request.session, &state)?;
    Ok(answer)
}

/// Records that a session ended without having been reconciled. Where there is no repository there is no record.
pub fn mark_unverified(request: &StopRequest, why: &str, host: &Host) {
    let Ok(repo) = Repo::discover(host, &request.start) else { return };
    let before = memory::load(&repo, &request.session).ok().flatten().unwrap_or_default();
    let state = StopState { outcome: Some(StopOutcome::Unverified), why: why.to_owned(), tree: None, ..before };
    // The user is told in any case; a folder that cannot be written is no reason to keep the agent.
    _ = memory::keep(&repo, &request.session, &state);
}

fn told(answer: &StopAnswer) -> Option<&str> {
    match answer {
        StopAnswer::Allow { tell } => tell.as_deref(),
        StopAnswer::Block { order } => Some(order),
    }
}

/// What a table means for the turn. Pure.
fn decide(table: &Reconciled, blocks: u32) -> (StopAnswer, StopOutcome) {
    let allow = |tell: String, outcome| (StopAnswer::Allow { tell: Some(tell) }, outcome);
    match table.gate {
        Gate::Verified => (StopAnswer::Allow { tell: None }, StopOutcome::Verified),
        Gate::NothingToReconcile => (StopAnswer::Allow { tell: None }, StopOutcome::NothingToReconcile),
        Gate::NeedsReview => allow(review(table), StopOutcome::NeedsReview),
        Gate::FalseCompletion => {
            let repair = table.repair.as_ref();
            let over = repair.is_some_and(|repair| repair.stage == RepairStage::Blocked);
            if over || blocks >= MOST_BLOCKS {
                return allow(given_up(table, blocks), StopOutcome::Unverified);
            }
            (StopAnswer::Block { order: refusal(table, repair, blocks) }, StopOutcome::SentBack)
        }
    }
}

/// One line for a person.
fn review(table: &Reconciled) -> String {
    let open: Vec<String> = table
        .rows
        .iter()
        .filter(|row| row.standing == Standing::Unverifiable)
        .map(|row| format!("{}: {}", row.assertion.kind.word(), row.observed))
        .collect();
    let what = if open.is_empty() { table.notes.join("; ") } else { open.join("; ") };
    bounded(&format!("countersign: NEEDS-REVIEW, a person has to look: {what}"), 1_000)
}

fn given_up(table: &Reconciled, blocks: u32) -> String {
    let open: Vec<String> =
        table.unbacked().map(|row| format!("{}: {}", row.assertion.kind.word(), row.observed)).collect();
    bounded(
        &format!(
            "countersign: UNVERIFIED. After {blocks} refusals these assertions still have no receipt: {}. The stop is allowed; \
             nothing lands from it without a verification",
            open.join("; ")
        ),
        2_000,
    )
}

fn refusal(table: &Reconciled, repair: Option<&Repair>, blocks: u32) -> String {
    let lines = repair.map_or_else(
        || table.unbacked().map(|row| format!("{}: {}", row.assertion.kind.word(), row.observed)).collect(),
        order,
    );
    let bent = repair.is_some_and(|repair| repair.stage == RepairStage::Tampered);
    let head = if bent {
        "the repair bent what it is measured against. Put that back, and:"
    } else {
        "what you said is not borne out by your tool calls and by what is there now:"
    };
    let cycles = repair.map_or(0, |repair| repair.cycles);
    let body = bounded(&lines.join("\n"), LONGEST_ORDER);
    format!(
        "countersign: FALSE-COMPLETION: {head}\n{body}\nMake the missing receipt or take the words back, for exactly these, \
         and say again what is done. Do not weaken a test, the task or the record: that is found. (refusal {} of at most \
         {MOST_BLOCKS}, repair {cycles} of {MOST_CYCLES})",
        blocks + 1
    )
}

/// Cut at a character, with the number of bytes left out.
fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{} (and {} bytes more)", &text[..end], text.len() - end)
}

/// Reads a transcript that holds these words. Programs write it behind the agent's back: it is given a moment, and what is
/// still not there then makes the ledger incomplete.
fn caught_up(file: &Path, words: Option<&str>, host: &Host) -> Result<Transcript, TranscriptError> {
    let files = files_of_session(file);
    let size = || fs::metadata(file).map(|about| about.len()).ok();
    let mut waited = Duration::ZERO;
    let mut before = size();
    let mut transcript = read_transcript(&files)?;
    while !holds(&transcript, words) {
        if waited >= CATCHING_UP || !host.cancel.wait(LOOK_AGAIN) {
            let name = escape(file.as_os_str().as_encoded_bytes());
            transcript.gaps.push(format!("the agent's last words are not in {name} yet"));
            break;
        }
        waited += LOOK_AGAIN;
        let now = size();
        if now != before {
            before = now;
            transcript = read_transcript(&files)?;
        }
    }
    Ok(transcript)
}

fn holds(transcript: &Transcript, words: Option<&str>) -> bool {
    let Some(words) = words.map(str::trim).filter(|words| !words.is_empty()) else { return true };
    // A program may join several texts of a message, and keeps a very long one only in part.
    let last = transcript.last_words.as_deref().map(str::trim).unwrap_or_default();
    !last.is_empty() && (words.ends_with(last) || last.ends_with(words) || words.starts_with(last))
}

#[cfg(test)]
mod tests;
