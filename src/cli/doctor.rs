//! `countersign doctor`.

use super::args::DoctorArgs;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::host::Host;
use crate::pipeline::doctor::{Condition, diagnose};
use std::path::Path;

pub(super) fn run(args: &DoctorArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let diagnosis = diagnose(start, host);
    if args.json {
        console.json(&diagnosis)?;
    } else {
        for one in &diagnosis.observations {
            let word = match (one.condition, one.required) {
                (Condition::Good, _) => "good",
                (Condition::Note, _) => "note",
                (Condition::Missing, false) => "lacking",
                (Condition::Missing, true) => "MISSING",
            };
            console.answer(&visible(&format!("{word:<8} {:<15} {}", one.thing, one.text.replace('\n', " "))));
        }
    }
    Ok(if diagnosis.is_sound() { ExitCode::Pass } else { ExitCode::Environment })
}
