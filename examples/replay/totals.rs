//! What a whole replay found, by check and state.

use crate::history::Step;
use crate::judge::{Judged, word};
use crate::prepare::Claim;
use countersign::receipts::State;
use std::collections::{BTreeMap, BTreeSet};

/// The columns of the table.
const STATES: [State; 6] = [State::Deny, State::Unknown, State::Ask, State::Info, State::NotApplicable, State::Pass];

/// The counts.
#[derive(Default)]
pub(crate) struct Totals {
    commits: BTreeSet<String>,
    tasks: BTreeSet<String>,
    integrations: usize,
    bookkeeping: usize,
    from_claim: usize,
    decisions: BTreeMap<String, usize>,
    reasons: BTreeMap<String, usize>,
    /// In the order the checks ran.
    checks: Vec<(String, BTreeMap<State, usize>)>,
}

impl Totals {
    /// Counts a step and, for an integration, what was made of it.
    pub(crate) fn count(&mut self, step: &Step, replayed: Option<&(Claim, Judged)>) {
        self.commits.insert(step.commit.clone());
        self.tasks.insert(step.task.clone());
        let Some((claim, judged)) = replayed else {
            self.bookkeeping += 1;
            return;
        };
        self.integrations += 1;
        self.from_claim += usize::from(claim.borrowed);
        *self.decisions.entry(judged.decision.clone()).or_default() += 1;
        for reason in judged.reasons.iter().collect::<BTreeSet<_>>() {
            *self.reasons.entry(reason.clone()).or_default() += 1;
        }
        for check in &judged.checks {
            let at = self.checks.iter().position(|(id, _)| *id == check.id).unwrap_or_else(|| {
                self.checks.push((check.id.clone(), BTreeMap::new()));
                self.checks.len() - 1
            });
            *self.checks[at].1.entry(check.state).or_default() += 1;
        }
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { commits, tasks, integrations, bookkeeping, from_claim, decisions, reasons, checks } = self;
        writeln!(
            f,
            "{} commits with a task, {} tasks: {integrations} integrations ({from_claim} task-from-claim), \
             {bookkeeping} bookkeeping",
            commits.len(),
            tasks.len()
        )?;
        for (name, counts) in [("decisions", decisions), ("reasons", reasons)] {
            let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
            writeln!(f, "{name}: {}", counts.join(", "))?;
        }
        write!(f, "{:<20}", "check")?;
        for state in STATES {
            write!(f, "{:>9}", word(state))?;
        }
        for (id, counts) in checks {
            write!(f, "\n{id:<20}")?;
            for state in STATES {
                match counts.get(&state) {
                    Some(count) => write!(f, "{count:>9}")?,
                    None => write!(f, "{:>9}", "-")?,
                }
            }
        }
        Ok(())
    }
}
