//! What a GitHub job shows: step summary, check run or annotations, and outputs for the steps that follow.

use super::entry::{Entry, Weight};
use super::summary::{STEP_LIMIT, markdown};
use super::{check_run, command, write};
use crate::cli::console::Console;
use crate::host::Host;
use crate::pipeline::ci::CiReport;
use anyhow::Context;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes all of it. A file that the runner does not name is left out, and said.
pub(super) fn publish(
    report: &CiReport,
    entries: &[Entry],
    folder: Option<&Path>,
    host: &Host,
    console: &mut Console,
) -> anyhow::Result<()> {
    let check = match check_run::make(report, entries, host) {
        Ok(()) => "made",
        Err(why) => {
            console.say(&format!("no check run: {why}; the annotations are written as log commands"));
            for line in command::annotations(entries) {
                console.command(&line);
            }
            "none"
        }
    };
    let mut failed = None;
    if let Some(folder) = folder {
        failed = write(folder, "countersign.summary.md", markdown(report, entries, STEP_LIMIT).as_bytes()).err();
    }
    match host.env.get("GITHUB_STEP_SUMMARY").map(PathBuf::from) {
        Some(file) => {
            // The limit is the step's, and a step may have written before.
            let written = file.metadata().map_or(0, |found| usize::try_from(found.len()).unwrap_or(usize::MAX));
            let text = markdown(report, entries, STEP_LIMIT.saturating_sub(written));
            failed = failed.or(append(&file, "GITHUB_STEP_SUMMARY", &text).err());
        }
        None => console.say("no step summary: GITHUB_STEP_SUMMARY is not set"),
    }
    match host.env.get("GITHUB_OUTPUT").map(PathBuf::from) {
        Some(file) => failed = failed.or(append(&file, "GITHUB_OUTPUT", &outputs(report, entries, check)).err()),
        None => console.say("no job outputs: GITHUB_OUTPUT is not set"),
    }
    failed.map_or(Ok(()), Err)
}

/// `name=value` lines. Every value is ours, a number or an object id: no text of the change gets here.
fn outputs(report: &CiReport, entries: &[Entry], check: &str) -> String {
    let number = |weight| entries.iter().filter(|entry| entry.weight == weight).count();
    let tree = report.tree.as_ref().map_or_else(String::new, ToString::to_string);
    format!(
        "decision={}\nexit-code={}\nbase={}\nhead={}\ntree={tree}\ntasks={}\nerrors={}\nwarnings={}\nnotes={}\n\
         check-run={check}\n",
        report.decision.word(),
        report.exit,
        report.base,
        report.head,
        report.tasks.len(),
        number(Weight::Error),
        number(Weight::Warning),
        number(Weight::Note),
    )
}

fn append(file: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let put = || OpenOptions::new().append(true).create(true).open(file)?.write_all(text.as_bytes());
    put().with_context(|| format!("cannot write {} ({name}); make room there", file.display()))
}
