//! `countersign tour`: a small real repository and board, an honest claim and several false ones; then the whole loop.

mod conducted;
mod stage;
mod story;

use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::host::Host;
use crate::pipeline::{Observer, Outcome, ReportWord, TaskWord, VerifyRequest, verify};
use crate::receipts::{Receipt, State};
use anyhow::Context;
use stage::Stage;
use story::{Act, STORY};

/// Hears nothing: the tour tells its own story.
struct Silent;

impl Observer for Silent {
    fn began(&mut self, _what: &str) {}
    fn recorded(&mut self, _receipt: &Receipt) {}
}

pub(super) fn run(keep: bool, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let folder = tempfile::Builder::new().prefix("countersign-tour-").tempdir_in(&host.scratch);
    let folder = folder.with_context(|| format!("cannot make a folder in {}", host.scratch.display()))?;
    console.answer("A small Rust project with a task board, and workers who say that they are done.");
    console.answer(&visible(&format!("It lies in {}", folder.path().display())));
    let stage = Stage::build(host, folder.path(), STORY).context("cannot build the tour's repository")?;
    let mut surprises = 0;
    for (number, act) in STORY.iter().enumerate() {
        if host.cancel.is_asked() {
            return Ok(ExitCode::Interrupted);
        }
        console.answer("");
        console.answer(&format!("{}. {}", number + 1, act.title));
        console.answer(&format!("   the worker says: {}", act.says));
        let outcome = verify(&request(&stage, act), host, &mut Silent)?;
        tell(act, &outcome, console);
        if outcome.decision.kind != act.expected {
            surprises += 1;
            console.answer(&format!("   SURPRISE: the tour expected {} here; please report it", act.expected.word()));
        }
    }
    surprises += conducted::run(folder.path(), host, console)?;
    console.answer("");
    closing(keep, folder, console);
    Ok(if surprises == 0 { ExitCode::Pass } else { ExitCode::Bug })
}

fn request(stage: &Stage, act: &Act) -> VerifyRequest {
    VerifyRequest {
        task: TaskWord::Named(act.id.to_owned()),
        report: ReportWord::Auto,
        verifier: Some("mechanical".to_owned()),
        ..VerifyRequest::of(stage.top())
    }
}

fn tell(act: &Act, outcome: &Outcome, console: &mut Console) {
    console.answer(&visible(&format!(
        "   decision: {}, tree {}",
        outcome.decision.kind.word(),
        outcome.claim.tree.short()
    )));
    for reason in &outcome.decision.reasons {
        console.answer(&visible(&format!("     {}: {}", reason.code, reason.text)));
    }
    let passed = outcome.floor.checks.iter().filter(|c| c.state == State::Pass).count();
    console.answer(&format!("   floor: {passed} checks passed"));
    for check in outcome.floor.checks.iter().filter(|c| c.state >= State::Ask) {
        for finding in &check.findings {
            console.answer(&visible(&format!(
                "     {} {} {}: {}",
                check.state.word(),
                check.id,
                finding.place,
                finding.observed
            )));
        }
    }
    console.answer(&format!("   why it matters: {}", act.lesson));
    if let Some(case) = &outcome.case {
        console.answer(&visible(&format!(
            "   receipts: countersign receipts {}   (sealed as {})",
            act.id,
            &case[..12.min(case.len())]
        )));
    }
}

fn closing(keep: bool, folder: tempfile::TempDir, console: &mut Console) {
    if keep {
        let kept = folder.keep();
        console.answer(&visible(&format!("The repository is kept in {}", kept.display())));
    } else {
        console.answer("The repository is removed; `countersign tour --keep` leaves it for you to look at.");
    }
}
