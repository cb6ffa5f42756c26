//! Bounded repair: unbacked assertions go back, twice at most; then the claim is blocked.
//!
//! The state is data and this is a pure function of it, so that a hook, a command and the conductor count alike. All
//! assertions are held against the evidence anew each time, so whatever a repair's edits made stale shows by itself.

use crate::receipts::{Gate, Reconciled, Repair, RepairStage, TamperedRepair, Unbacked};
use std::collections::BTreeMap;

/// How often unbacked assertions go back.
pub const MOST_CYCLES: u32 = 2;

/// Tests and contract, by path, with the id of their content: what a repair must leave alone.
pub type Guarded = BTreeMap<String, String>;

/// The repair's state after a reconciliation. `before` is what the last one left, `seen` names what this one looked at
/// (tree and calls): the same again is no new cycle. `guarded` are the contract's and the tests' contents now, `weakened`
/// says which of the tests among them now ask for less than at the start.
pub fn advance(
    before: Option<&Repair>,
    table: &Reconciled,
    seen: &str,
    guarded: &Guarded,
    weakened: &[TamperedRepair],
) -> Repair {
    let open: Vec<Unbacked> = table
        .unbacked()
        .map(|row| Unbacked {
            what: row.assertion.what(),
            quote: row.assertion.quote.clone(),
            observed: row.observed.clone(),
            wants: row.wants.clone(),
        })
        .collect();
    let counted = |stage, cycles, open, tampered, guarded: &Guarded| Repair {
        stage,
        cycles,
        seen: seen.to_owned(),
        open,
        tampered,
        guarded: guarded.clone(),
    };
    let is_false = table.gate == Gate::FalseCompletion;
    let Some(before) = before.filter(|before| before.stage != RepairStage::Closed) else {
        let stage = if is_false { RepairStage::Open } else { RepairStage::Closed };
        return counted(stage, 0, open, Vec::new(), guarded);
    };
    let bent = tampering(before, guarded, weakened);
    if !bent.is_empty() {
        return counted(RepairStage::Tampered, before.cycles, open, bent, &before.guarded);
    }
    let cycles = if before.seen == seen { before.cycles } else { before.cycles.saturating_add(1) };
    let stage = match (is_false, before.stage) {
        (false, _) => RepairStage::Closed,
        // Blocked ends by new receipts, never by time.
        (true, RepairStage::Blocked) => RepairStage::Blocked,
        (true, _) if cycles >= MOST_CYCLES => RepairStage::Blocked,
        (true, _) => RepairStage::Open,
    };
    counted(stage, cycles.min(MOST_CYCLES), open, Vec::new(), &before.guarded)
}

/// What a repair bent: the contract in any way, a test that it was to make pass by asking less of it.
fn tampering(before: &Repair, guarded: &Guarded, weakened: &[TamperedRepair]) -> Vec<TamperedRepair> {
    let mut bent = Vec::new();
    for (path, id) in before.guarded.iter().filter(|(path, _)| path.starts_with(CONTRACT)) {
        if guarded.get(path) != Some(id) {
            let path = path.trim_start_matches(CONTRACT).to_owned();
            bent.push(TamperedRepair { path, why: "the contract was changed during a repair".to_owned() });
        }
    }
    bent.extend(since(before, guarded, weakened).cloned());
    bent
}

/// Those of these tests that were changed since the repair began: what was so before is the claim's fault, and told as that.
fn since<'t>(
    before: &'t Repair,
    guarded: &'t Guarded,
    tests: &'t [TamperedRepair],
) -> impl Iterator<Item = &'t TamperedRepair> {
    tests.iter().filter(move |test| before.guarded.get(&test.path) != guarded.get(&test.path))
}

/// True for the rules of `tests-tampered` by which a test demands less than before, as `observed` opens with them.
pub fn asks_for_less(observed: &str) -> bool {
    const LESS: [&str; 11] = [
        "assertion-removed",
        "assertion-weakened",
        "assertion-swallowed",
        "assertion-unreachable",
        "assertion-never-reached",
        "assertion-vacuous",
        "tolerance-changed",
        "exception-broad",
        "cases-changed",
        "marker-conditional",
        "panic-expected",
    ];
    observed.split_once(':').is_some_and(|(rule, _)| LESS.contains(&rule))
}

/// Puts the repair's state into the table. Tampering refutes whatever the rows say, and a test that asks for something
/// else since the repair began is for whoever judges: the state can only lower what follows.
pub fn lower(
    table: &mut Reconciled,
    state: Repair,
    before: Option<&Repair>,
    guarded: &Guarded,
    changed: &[TamperedRepair],
) {
    if state.stage == RepairStage::Tampered {
        table.gate = Gate::FalseCompletion;
        table.notes.push("the repair bent what it is measured against".to_owned());
    } else if let Some(before) = before.filter(|before| before.stage != RepairStage::Closed)
        && let Some(test) = since(before, guarded, changed).next()
        && table.gate < Gate::NeedsReview
    {
        table.gate = Gate::NeedsReview;
        table.notes.push(format!("a test was changed during a repair: {}: {}", test.path, test.why));
    }
    table.repair = Some(state);
}

/// How a path of the contract is marked among the guarded ones.
pub const CONTRACT: &str = "contract:";

/// What goes back to the worker: only the unbacked assertions, each with what was observed.
pub fn order(repair: &Repair) -> Vec<String> {
    let mut lines = Vec::new();
    for open in &repair.open {
        let quote = if open.quote.is_empty() { String::new() } else { format!(" (\"{}\")", open.quote) };
        lines.push(format!("{}{quote}: {}", open.what, open.observed));
        if !open.wants.is_empty() {
            lines.push(format!("  would show it: {}", open.wants.join("; or ")));
        }
    }
    for bent in &repair.tampered {
        lines.push(format!("{}: {}", bent.path, bent.why));
    }
    lines
}
