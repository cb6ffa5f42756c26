//! `runtime-drive`: launch the program, ask it over its own loopback, stop it (agentheim.md §5.13, check 8 of §4.2).
//!
//! The manifest is `## Runtime surface` of the context's README at the base. It counts only if the claim touches one of
//! its `surfacePaths`. A boot that fails and an answer that differs deny, unless the base does the same.

mod judge;
mod shape;
mod surface;

use super::Inspection;
use super::finding::{settle, unknown, unreadable};
use super::tests_run::{self, Facts, Job, Plan, Side, Site, TestCommand, set_up_all};
use crate::host::git::Change;
use crate::host::ids::CommitId;
use crate::host::path::{RepoPath, escape};
use crate::host::process::drive::{Ask, Boot, DRIVE_ARGUMENT, Script, Transcript};
use crate::host::process::{Ended, Ending, Limits};
use crate::host::random;
use crate::host::sandbox::Network;
use crate::receipts::{CheckReport, Purpose};
use std::path::Path;
use std::time::Duration;
use surface::{Manifest, Surface};

/// The check's public id.
pub const ID: &str = "runtime-drive";

/// What a probe, a stop and the start of a box may take beside the boot.
const REST: Duration = Duration::from_secs(60);
/// What each probe adds to it.
const EACH: Duration = Duration::from_secs(15);

/// What the drive showed.
#[derive(Debug, Clone)]
pub struct DriveOutcome {
    /// The check's report.
    pub report: CheckReport,
    /// Every command that was run, in order.
    pub runs: Vec<Facts>,
}

/// One drive of one side.
struct Drive {
    transcript: Transcript,
    /// How many processes `stop` left.
    strays: u32,
    /// True if nothing but the program can have answered.
    private: bool,
}

/// Drives the program of the task's context. `readme` is that context's README, `logs` a folder for raw logs that nothing
/// under test can write.
pub fn drive(inspection: &Inspection<'_>, readme: Option<&RepoPath>, logs: &Path) -> DriveOutcome {
    let mut runs = Vec::new();
    let report = driven(inspection, readme, logs, &mut runs);
    DriveOutcome { report, runs }
}

fn driven(inspection: &Inspection<'_>, readme: Option<&RepoPath>, logs: &Path, runs: &mut Vec<Facts>) -> CheckReport {
    let none = |why: &str| CheckReport::not_applicable(ID, why);
    let Some(readme) = readme else { return none("the task names no context whose README could hold a surface") };
    let text = match inspection.at_base(readme) {
        Ok(Some(text)) => text,
        Ok(None) => return none("the context has no README at the base"),
        Err(why) => return CheckReport::of(ID, vec![unreadable(readme, &why)]),
    };
    let surface = match surface::read(&readme.to_string(), &text) {
        Ok(Manifest::Surface(surface)) => surface,
        Ok(Manifest::None { why }) => return none(why),
        Err(why) => {
            let expected = "a runtime surface that can be read; mend it on the base";
            return CheckReport::of(ID, vec![unknown(readme, expected, why.to_string())]);
        }
    };
    let changed = inspection.claim.changed.iter().flat_map(Change::paths);
    let Some(touched) = changed.into_iter().find(|path| surface.paths.iter().any(|glob| glob.matches(path))) else {
        return none("no changed path is part of the runtime surface");
    };
    let note = format!("driven because of {touched}: {} probes", surface.probes.len());
    let Some(commit) = &inspection.claim.commit else {
        return CheckReport::unknown(ID, "", judge::EXPECTED_BOOT, "the work was not frozen as a commit");
    };
    // What the tests need in a room, the program needs too.
    let commands = match tests_run::plan(inspection, Some(readme)) {
        Ok(Plan::Commands(commands)) => commands,
        Ok(Plan::NoCommand { .. }) => Vec::new(),
        Err(why) => return CheckReport::unknown(ID, "", judge::EXPECTED_BOOT, &why.to_string()).noting(note),
    };
    let claim = match drive_side(inspection, &surface, &commands, (Side::Claim, commit), logs, runs) {
        Ok(claim) => claim,
        Err(why) => return CheckReport::unknown(ID, &launch_of(&surface), judge::EXPECTED_BOOT, &why).noting(note),
    };
    let base = judge::is_bad(&surface, &claim.transcript)
        .then(|| drive_side(inspection, &surface, &commands, (Side::Base, &inspection.claim.base), logs, runs));
    let findings = judge::judge(&surface, &claim, base.as_ref());
    settle(ID, Ok(findings)).noting(note)
}

fn launch_of(surface: &Surface) -> String {
    format!("`{}`", escape(surface.launch.trim().as_bytes()))
}

/// Drives one side; an error is the environment's fault.
fn drive_side(
    inspection: &Inspection<'_>,
    surface: &Surface,
    commands: &[TestCommand],
    (side, commit): (Side, &CommitId),
    logs: &Path,
    runs: &mut Vec<Facts>,
) -> Result<Drive, String> {
    let settings = inspection.settings;
    let site = Site::open(inspection.repo, settings, logs, side, commit)
        .map_err(|why| format!("there is no room to launch it in: {why}"))?;
    // A known set-up that fails may not matter to the program; a declared one does.
    set_up_all(&site, &settings.tests, commands, runs)?;
    let token = random::token().map_err(|why| format!("there are no random bits: {why}"))?;
    let boot = Duration::from_secs(settings.limits.boot_seconds);
    let script = Script {
        token: token.clone(),
        launch: surface.launch.clone(),
        stop: surface.stop.clone(),
        runfile: surface.runfile.clone(),
        boot_ms: u64::try_from(boot.as_millis()).unwrap_or(u64::MAX),
        asks: surface.probes.iter().map(|p| Ask { method: p.method.clone(), path: p.path.clone() }).collect(),
    };
    let top = RepoPath::from("");
    let job = Job {
        purpose: Purpose::Drive,
        command: surface.launch.trim(),
        script: "",
        root: &top,
        fetches: false,
        shared_memory: false,
    };
    let stdin = serde_json::to_vec(&script).map_err(|why| format!("the driver's orders cannot be written: {why}"))?;
    let argv = vec![inspection.repo.host().helper.clone().into(), DRIVE_ARGUMENT.into()];
    let probes = u32::try_from(script.asks.len()).unwrap_or(u32::MAX);
    let wall = boot.saturating_add(REST).saturating_add(EACH.saturating_mul(probes));
    let (facts, ended) = site.run_program(&job, argv, stdin, Limits::within(wall));
    runs.push(facts);
    let transcript = believe(&ended, &token, script.asks.len())?;
    Ok(Drive { transcript, strays: ended.strays, private: ended.level.network == Network::Loopback })
}

/// Reads what the driver says; the program under test sat beside it in the box.
fn believe(ended: &Ended, token: &str, asks: usize) -> Result<Transcript, String> {
    if !matches!(ended.ending, Ending::Exited { code: 0 }) {
        return Err(format!("the driver {}", ended.ending.sentence()));
    }
    let transcript: Transcript =
        serde_json::from_slice(&ended.stdout).map_err(|why| format!("the driver's words cannot be read: {why}"))?;
    let listening = matches!(transcript.boot, Boot::Listening { .. });
    let expected = if listening { asks } else { 0 };
    if transcript.token != token || transcript.answers.len() != expected {
        return Err("the driver's words are not about this drive".to_owned());
    }
    Ok(transcript)
}

#[cfg(test)]
mod tests;
