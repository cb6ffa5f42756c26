//! `countersign schema`: what the answers look like, from the types that print them.

use super::args::SchemaName;
use super::console::Console;
use super::exit_code::ExitCode;
use crate::config::Settings;
use crate::pipeline::Outcome;
use crate::pipeline::ci::CiReport;
use crate::pipeline::ruling::Pending;
use crate::pipeline::work::{StatusReport, WorkEvent, WorkReport};
use crate::receipts::{Receipt, Reconciled};
use schemars::schema_for;

pub(super) fn print(which: SchemaName, console: &mut Console) -> anyhow::Result<ExitCode> {
    let schema = match which {
        SchemaName::Verify => schema_for!(Outcome),
        SchemaName::Reconcile => schema_for!(Reconciled),
        SchemaName::Receipt => schema_for!(Receipt),
        SchemaName::Settings => schema_for!(Settings),
        SchemaName::Decide => schema_for!(Pending),
        SchemaName::Work => schema_for!(WorkReport),
        SchemaName::WorkEvent => schema_for!(WorkEvent),
        SchemaName::Status => schema_for!(StatusReport),
        SchemaName::Ci => schema_for!(CiReport),
    };
    console.json(&schema)?;
    Ok(ExitCode::Pass)
}
