//! What a task or a run may cost, and what it has cost: a spent budget holds, and is named.
//!
//! The program's own totals count; one that tells none cannot be kept to a budget of tokens or money, and that holds too.

use super::hand::Hand;
use super::journal::Entry;
use super::{WorkError, standing::Life};
use crate::agent::Usage;
use crate::config::Budget;
use crate::receipts::{Fact, Receipt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;

/// What one turn of an agent cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Spent {
    /// Tokens read and written; none if the program tells none.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar; none if the program tells no cost.
    pub micro_usd: Option<u64>,
    /// Whole seconds it took.
    pub seconds: u64,
}

/// What several turns cost together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    tokens: u64,
    micro_usd: u64,
    seconds: u64,
    untold_tokens: bool,
    untold_cost: bool,
}

impl Tally {
    pub(super) fn add(&mut self, spent: &Spent) {
        self.tokens = self.tokens.saturating_add(spent.tokens.unwrap_or(0));
        self.micro_usd = self.micro_usd.saturating_add(spent.micro_usd.unwrap_or(0));
        self.seconds = self.seconds.saturating_add(spent.seconds);
        self.untold_tokens |= spent.tokens.is_none();
        self.untold_cost |= spent.micro_usd.is_none();
    }
}

impl Tally {
    /// The same with another time: that of a run is measured, not summed.
    pub(super) fn within(self, seconds: u64) -> Self {
        Self { seconds, ..self }
    }
}

impl Spent {
    /// An agent's turn.
    pub(super) fn of(usage: Option<&Usage>, seconds: u64) -> Self {
        let told = usage.map(|usage| (usage.input_tokens, usage.output_tokens));
        let tokens = match told {
            Some((None, None)) | None => None,
            Some((read, written)) => Some(read.unwrap_or(0).saturating_add(written.unwrap_or(0))),
        };
        let dollars = usage.and_then(|usage| usage.cost_usd.as_ref()).and_then(serde_json::Number::as_f64);
        Self { tokens, micro_usd: dollars.map(micros), seconds }
    }

    /// A judgement, from its receipts: the embedded verifier costs nothing.
    pub(super) fn of_judgement(receipts: &[Receipt], seconds: u64) -> Self {
        let mut all = Self { tokens: Some(0), micro_usd: Some(0), seconds };
        for receipt in receipts {
            let Fact::Consulted(consulted) = &receipt.fact else { continue };
            let Some(agent) = &consulted.agent else { continue };
            let one = Self::of(Some(&agent.usage), 0);
            let sum = |all: Option<u64>, one: Option<u64>| all.zip(one).map(|(all, one)| all.saturating_add(one));
            (all.tokens, all.micro_usd) = (sum(all.tokens, one.tokens), sum(all.micro_usd, one.micro_usd));
        }
        all
    }
}

/// Rounded up: a budget is never more than it says.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a negative or absurd cost is cut, not wrapped"
)]
fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).ceil() as u64
}

/// Why no further turn may begin, as a code and in words. `whose`: `task` or `run`.
pub(super) fn over(budget: &Budget, tally: &Tally, whose: &str) -> Option<(&'static str, String)> {
    let limit = budget.usd.as_ref().and_then(serde_json::Number::as_f64).map(micros);
    if let Some(limit) = budget.tokens.filter(|limit| tally.tokens >= *limit) {
        return Some(("budget-spent", format!("{} of the {whose}'s {limit} tokens are spent", tally.tokens)));
    }
    if let Some(limit) = limit.filter(|limit| tally.micro_usd >= *limit) {
        let dollars = |micro: u64| format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
        let text = format!("{} of the {whose}'s {} US dollars are spent", dollars(tally.micro_usd), dollars(limit));
        return Some(("budget-spent", text));
    }
    if let Some(limit) = budget.minutes.filter(|limit| tally.seconds >= limit.saturating_mul(60)) {
        return Some(("budget-spent", format!("{} s of the {whose}'s {limit} minutes are spent", tally.seconds)));
    }
    let untold = match (budget.tokens.is_some() && tally.untold_tokens, limit.is_some() && tally.untold_cost) {
        (true, _) => "tokens",
        (_, true) => "cost",
        _ => return None,
    };
    Some((
        "budget-unknown",
        format!("the {whose} has a budget, and a program that ran tells no {untold}: it cannot be kept"),
    ))
}

impl Hand<'_> {
    /// Why this task may not go on, if its budget or the run's is spent.
    pub(super) fn over_budget(&self, life: &Life) -> Option<(&'static str, String)> {
        let budget = &self.terms.settings.budget;
        if budget.is_unlimited() {
            return None;
        }
        let run = self.terms.run_tally();
        over(&budget.run, &run, "run").or_else(|| over(&budget.task, &self.tally(life), "task"))
    }

    /// What this life of the task cost so far.
    fn tally(&self, life: &Life) -> Tally {
        let mut tally = Tally::default();
        let mut ours = false;
        for entry in self.journal.entries() {
            match entry {
                Entry::Sent { life: of, .. } | Entry::Began { life: of } => ours = *of == life.start,
                Entry::Spent { spent } if ours => tally.add(spent),
                _ => {}
            }
        }
        tally
    }

    /// Seconds that a worker's turn may take: what is left of the minutes, and never more than its own limit.
    pub(super) fn worker_wall(&self, life: &Life) -> u64 {
        let budget = &self.terms.settings.budget;
        let left = |minutes: Option<u64>, tally: &Tally| {
            minutes.map_or(u64::MAX, |minutes| minutes.saturating_mul(60).saturating_sub(tally.seconds).max(1))
        };
        let limit = self.terms.settings.limits.worker_seconds;
        limit.min(left(budget.task.minutes, &self.tally(life))).min(left(budget.run.minutes, &self.terms.run_tally()))
    }

    /// Records what a turn cost, where somebody limits it.
    pub(super) fn spend(&mut self, spent: Spent) -> Result<(), WorkError> {
        if self.terms.settings.budget.is_unlimited() {
            return Ok(());
        }
        self.terms.spent.lock().unwrap_or_else(PoisonError::into_inner).add(&spent);
        self.record(Entry::Spent { spent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(tokens: Option<u64>, micro_usd: Option<u64>, seconds: u64) -> Tally {
        let mut tally = Tally::default();
        tally.add(&Spent { tokens, micro_usd, seconds });
        tally
    }

    #[test]
    fn a_spent_budget_holds_by_name_and_an_untold_one_holds_too() {
        let usd = serde_json::Number::from_f64(0.5);
        let all = Budget { tokens: Some(100), usd, minutes: Some(2) };
        for (spent, code, words) in [
            (tally(Some(99), Some(499_999), 119), None, ""),
            (tally(Some(100), Some(0), 0), Some("budget-spent"), "100 of the task's 100 tokens"),
            (tally(Some(0), Some(500_000), 0), Some("budget-spent"), "0.500000 of the task's 0.500000 US dollars"),
            (tally(Some(0), Some(0), 120), Some("budget-spent"), "120 s of the task's 2 minutes"),
            (tally(None, Some(0), 0), Some("budget-unknown"), "tells no tokens"),
            (tally(Some(0), None, 0), Some("budget-unknown"), "tells no cost"),
        ] {
            let found = over(&all, &spent, "task");
            assert_eq!(found.as_ref().map(|(code, _)| *code), code, "{found:?}");
            assert!(found.map(|(_, why)| why).unwrap_or_default().contains(words));
        }
        assert_eq!(over(&Budget::default(), &tally(None, None, u64::MAX), "run"), None);
    }

    #[test]
    fn a_cost_is_rounded_up_and_a_negative_one_is_nothing() {
        for (dollars, micro) in [(0.0, 0), (0.000_000_1, 1), (1.5, 1_500_000), (-3.0, 0)] {
            assert_eq!(micros(dollars), micro);
        }
    }
}
