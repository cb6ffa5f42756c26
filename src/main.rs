//! The `countersign` program.

use countersign::host::sandbox;
use std::process::ExitCode;

fn main() -> ExitCode {
    // The box helper comes before everything else: its start is part of the cost of every child.
    if std::env::args_os().nth(1).is_some_and(|first| first == sandbox::BOX_ARGUMENT) {
        return ExitCode::from(u8::try_from(sandbox::box_main()).unwrap_or(u8::MAX));
    }
    ExitCode::SUCCESS
}
