//! The box, closed around a child that writes where it must not.

use super::{Condition, Observation};
use crate::config::SandboxRequirement;
use crate::host::Host;
use crate::host::process::{Launch, Limits, run_to_end};
use crate::host::sandbox::{Level, Profile};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

/// Writes one file that it may and one that it may not.
const TRESPASS: &str = "echo in > \"$1/in\" || exit 3; echo out > \"$2/out\"; exit 0";

pub(super) fn try_it(host: &Host, require: Option<SandboxRequirement>) -> Observation {
    let required = require == Some(SandboxRequirement::Landlock);
    if require == Some(SandboxRequirement::None) {
        return Observation::new("box", Condition::Note, false, "turned off by the settings: children run unconfined");
    }
    let folder = match tempfile::Builder::new().prefix("doctor-").tempdir_in(&host.scratch) {
        Ok(folder) => folder,
        Err(why) => {
            let text = format!("not tried: cannot make a folder in {}: {why}", host.scratch.display());
            return Observation::new("box", Condition::Missing, required, text);
        }
    };
    match trespass(host, folder.path()) {
        Ok((level, false)) if level.enforced => {
            let text = format!("a write outside was refused: {}", level.sentence());
            Observation::new("box", Condition::Good, required, text)
        }
        Ok((level, landed)) => {
            let seen = if landed { "a write outside LANDED" } else { "nothing is enforced" };
            let ask = "; use Linux with Landlock (5.13 or newer), or say `sandbox: {require: none}`";
            Observation::new("box", Condition::Missing, required, format!("{seen}: {}{ask}", level.sentence()))
        }
        Err(why) => Observation::new("box", Condition::Missing, required, why),
    }
}

/// What was enforced, and whether the forbidden file is there.
fn trespass(host: &Host, folder: &Path) -> Result<(Level, bool), String> {
    let (inside, outside) = (folder.join("inside"), folder.join("outside"));
    for place in [&inside, &outside] {
        std::fs::create_dir(place).map_err(|why| format!("not tried: cannot make {}: {why}", place.display()))?;
    }
    let mut argv: Vec<OsString> = ["sh", "-c", TRESPASS, "sh"].map(OsString::from).into();
    argv.extend([inside.clone().into(), outside.clone().into()]);
    let launch = Launch {
        argv,
        cwd: inside.clone(),
        env: host.env.for_child(),
        stdin: Vec::new(),
        log: folder.join("box.log"),
        capture: 0,
        limits: Limits::within(Duration::from_secs(20)),
        profile: Profile::checks(vec![inside.clone()]),
    };
    let ended = run_to_end(host, &launch);
    if !ended.ending.is_success() || !inside.join("in").exists() {
        return Err(format!("not known: a child that writes one file {}", ended.ending.sentence()));
    }
    Ok((ended.level, outside.join("out").exists()))
}
