//! The `countersign` program.

use countersign::agent::acp;
use countersign::cli::{self, ExitCode};
use countersign::host::cancel::Cancel;
use countersign::host::process::drive;
use countersign::host::sandbox;
use std::io::Write as _;
use std::sync::atomic::Ordering;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    // The box helper comes before everything else: its start is part of the cost of every child.
    if words.get(1).is_some_and(|first| first == sandbox::BOX_ARGUMENT) {
        return if sandbox::box_main() == 0 { ExitCode::Pass } else { ExitCode::Bug };
    }
    if words.get(1).is_some_and(|first| first == drive::DRIVE_ARGUMENT) {
        let told = drive::serve(std::io::stdin()).map(|transcript| std::io::stdout().write_all(&transcript));
        return if matches!(told, Some(Ok(()))) { ExitCode::Pass } else { ExitCode::Bug };
    }
    if words.get(1).is_some_and(|first| first == acp::RELAY_ARGUMENT) {
        let told = acp::serve(std::io::stdin(), std::io::stdout());
        return if told.is_ok() { ExitCode::Pass } else { ExitCode::Bug };
    }
    let cancel = Cancel::new();
    listen(&cancel);
    cli::run(words, &cancel)
}

/// The first signal asks everybody to stop; the second insists. Without handlers (a system that refuses them) the default
/// applies: we die at once, and the box helpers end their trees when our pipes close.
fn listen(cancel: &Cancel) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let counter = cancel.counter();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
}
