//! `countersign push` and `countersign fetch`.

use super::args::{FetchArgs, PushArgs};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::verify::count;
use crate::host::Host;
use crate::host::git::Repo;
use crate::integrate::share::{self, Sharing};
use crate::pipeline::VerifyError;
use std::path::Path;

pub(super) fn push(args: &PushArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let repo = Repo::discover(host, start).map_err(VerifyError::from)?;
    let sharing = match (args.evidence_only, args.inbox) {
        (_, true) => Sharing::Inbox,
        (true, false) => Sharing::EvidenceOnly,
        (false, false) => Sharing::WithBranch,
    };
    let pushed = share::push(&repo, &args.remote, sharing, host.clock.now())?;
    if args.json {
        console.json(&pushed)?;
    } else {
        console.answer(&visible(&format!("pushed   to {}: {}", pushed.remote, pushed.references.join(" "))));
        for added in &pushed.added {
            console.answer(&visible(&format!("  new in the ledger: {added}")));
        }
        for stood in &pushed.stood {
            console.answer(&visible(&format!("  stands already: {stood}")));
        }
        if pushed.folded > 0 {
            console.answer(&format!("  {} of its inbox folded in and removed", count(pushed.folded, "result")));
        }
        for refused in &pushed.refused {
            console.answer(&visible(&format!("  NOT SHARED {refused}")));
        }
    }
    Ok(if pushed.refused.is_empty() { ExitCode::Pass } else { ExitCode::Held })
}

pub(super) fn fetch(args: &FetchArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let repo = Repo::discover(host, start).map_err(VerifyError::from)?;
    let fetched = share::fetch(&repo, &args.remote, host.clock.now())?;
    if args.json {
        console.json(&fetched)?;
    } else {
        let has = |there: bool, what: &'static str| if there { what } else { "" };
        let parts = [has(fetched.notes, "notes"), has(fetched.ledger, "ledger")];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        console.answer(&visible(&format!(
            "fetched  from {}: {} and {} waiting in its inbox",
            fetched.remote,
            if parts.is_empty() { "nothing".to_owned() } else { parts.join(" ") },
            count(fetched.inbox, "result")
        )));
        for missing in &fetched.missing {
            console.answer(&visible(&format!("  missing: {missing}")));
        }
    }
    Ok(if fetched.missing.is_empty() { ExitCode::Pass } else { ExitCode::Held })
}
