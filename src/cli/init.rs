//! `countersign init`.

use super::args::InitArgs;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use crate::agent::kit::{Deed, PLUGIN_KIT, PROJECT_KIT, Permission, Placed, Standing, place, place_hooks};
use crate::host::Host;
use crate::host::git::Repo;
use crate::pipeline::VerifyError;
use std::path::Path;

pub(super) fn run(args: &InitArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let (kit, folder) = match &args.plugin {
        Some(folder) => (&PLUGIN_KIT, start.join(folder)),
        None => (&PROJECT_KIT, Repo::discover(host, start).map_err(VerifyError::from)?.top().to_owned()),
    };
    let permission = match (args.check, args.force) {
        (true, _) => Permission::Look,
        (false, true) => Permission::Overwrite,
        (false, false) => Permission::Install,
    };
    let mut placed = place(kit, &folder, permission)?;
    if args.hooks {
        placed.extend(place_hooks(&folder, permission)?);
    }
    let current = placed.iter().all(Placed::is_current);
    if args.json {
        console.json(&serde_json::json!({ "folder": folder, "current": current, "files": placed }))?;
    } else {
        for one in &placed {
            console.answer(&visible(&format!("{:<12} {}{}", word(one), one.path, remark(one))));
        }
    }
    Ok(match (current, permission) {
        (true, _) => ExitCode::Pass,
        (false, Permission::Look) => ExitCode::Fail,
        (false, _) => ExitCode::Held,
    })
}

fn word(one: &Placed) -> &'static str {
    match (one.deed, &one.standing) {
        (Deed::Written, _) => "written",
        (Deed::Updated, _) => "updated",
        (Deed::Overwritten, _) => "overwritten",
        (_, Standing::Current) => "current",
        (_, Standing::Missing) => "missing",
        (_, Standing::Older) => "old",
        (_, Standing::Changed) => "changed",
        (_, Standing::Blocked { .. }) => "blocked",
    }
}

fn remark(one: &Placed) -> String {
    match (one.deed, &one.standing) {
        (Deed::LeftAlone, Standing::Changed) => {
            ": it is not as countersign wrote it, so it was left alone (--force replaces it)".to_owned()
        }
        (_, Standing::Blocked { why }) => format!(": {why}; it was left alone, move it away and run this again"),
        _ => String::new(),
    }
}
