//! `countersign reconcile`.

use super::args::ReconcileArgs;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::verify::count;
use crate::host::Host;
use crate::host::redact::redact_text;
use crate::pipeline::{ClaimWord, ReconcileRequest, reconcile};
use crate::receipts::{Gate, Reconciled, Repair, RepairStage, Row, Standing};
use std::path::PathBuf;

pub(super) fn run(args: ReconcileArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let json = args.json;
    let request = ReconcileRequest {
        start,
        transcript: args.transcript,
        session: args.session,
        claim: args.claim.map(ClaimWord::TextOrFile),
        task: args.task,
        since: args.since,
        assertions: args.assertions,
        rerun: args.rerun,
        count_repairs: true,
        captured: None,
    };
    let table = reconcile(&request, host, console)?;
    if json {
        console.answer(&redact_text(&serde_json::to_string_pretty(&table)?));
    } else {
        for line in page(&table) {
            // Quotes and command lines are a worker's: they can hold what nobody should read twice.
            console.answer(&visible(&redact_text(&line)));
        }
    }
    Ok(match table.gate {
        Gate::NothingToReconcile | Gate::Verified => ExitCode::Pass,
        Gate::NeedsReview => ExitCode::Held,
        Gate::FalseCompletion => ExitCode::Fail,
    })
}

fn page(table: &Reconciled) -> Vec<String> {
    let start = &table.start;
    let mut lines =
        vec![format!("start    {} ({}), {}", start.commit, start.rule, count(start.changed, "changed path"))];
    lines.push(match &table.ledger {
        None => "calls    none captured".to_owned(),
        Some(ledger) => {
            let whose = serde_json::to_value(ledger.dialect).ok().and_then(|word| Some(word.as_str()?.to_owned()));
            let session = ledger.session.as_deref().unwrap_or("without an id");
            let state = if ledger.complete { "complete".to_owned() } else { ledger.gaps.join("; ") };
            format!("calls    {} of {} session {session} ({state})", ledger.calls, whose.unwrap_or_default())
        }
    });
    for row in &table.rows {
        lines.extend(row_lines(row));
    }
    lines.push(format!("outcome  {}", table.gate.word()));
    lines.extend(table.notes.iter().map(|note| format!("  {note}")));
    if let Some(repair) = &table.repair {
        lines.extend(repair_lines(repair));
    }
    lines
}

/// A row of the table; what is not backed says where that was read and what would show it.
pub(super) fn row_lines(row: &Row) -> Vec<String> {
    let assertion = &row.assertion;
    let mut lines = vec![format!("{:<13}{} {}: {}", row.standing.word(), assertion.id, assertion.what(), row.observed)];
    if row.standing == Standing::Backed {
        return lines;
    }
    if !assertion.is_implicit() && !assertion.quote.is_empty() {
        lines.push(format!("               said: \"{}\"", assertion.quote));
    }
    if !row.receipts.is_empty() {
        lines.push(format!("               read in: {}", row.receipts.join(", ")));
    }
    if !row.wants.is_empty() {
        lines.push(format!("               would show it: {}", row.wants.join("; or ")));
    }
    lines
}

fn repair_lines(repair: &Repair) -> Vec<String> {
    match repair.stage {
        RepairStage::Closed => Vec::new(),
        RepairStage::Open => vec![format!("repair   {} of 2 cycles used", repair.cycles)],
        RepairStage::Blocked => {
            let mut lines = vec!["repair   BLOCKED after 2 cycles; these receipts are missing:".to_owned()];
            lines.extend(crate::floor::reconcile::repair::order(repair).into_iter().map(|line| format!("  {line}")));
            lines
        }
        RepairStage::Tampered => {
            let bent = repair.tampered.iter().map(|bent| format!("  {}: {}", bent.path, bent.why));
            std::iter::once("repair   TAMPERING: it bent what it is measured against".to_owned()).chain(bent).collect()
        }
    }
}
