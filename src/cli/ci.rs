//! `countersign ci`.

use super::args::{CiArgs, EvidenceWord};
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::forge;
use super::output::{self, Wanted};
use crate::config::Requirement;
use crate::host::Host;
use crate::host::git::Repo;
use crate::host::path::RepoPath;
use crate::pipeline::VerifyError;
use crate::pipeline::ci::{self, CiDecision, CiRequest};
use std::path::PathBuf;

pub(super) fn run(args: CiArgs, start: PathBuf, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let wanted = Wanted::settled(args.format, args.output.map(|folder| start.join(folder)))?;
    let repo = Repo::discover(host, &start).map_err(VerifyError::from)?;
    let (mut base, mut head) = (args.base, args.head);
    // What was named by hand holds; the forge is asked for the rest.
    if (base.is_none() || head.is_none())
        && let Some(review) = forge::review(&host.env)?
    {
        let found = review.base(|rev| repo.resolve(rev).is_ok_and(|commit| commit.is_some())).to_owned();
        let fork = if review.fork { " from another repository" } else { "" };
        console.say(&visible(&format!("· {}{fork}: head {} on base {found}", review.event, review.head)));
        base.get_or_insert(found);
        head.get_or_insert(review.head);
    }
    let request = CiRequest { start, base, head, require: args.require.map(requirement), verifier: args.verifier };
    let report = if args.attest {
        let (report, noted) = ci::run_and_attest(&request, host, console)?;
        match noted.map(|noted| noted.unsigned) {
            Some(Some(why)) => console.say(&visible(&format!("the note on the head is not signed: {why}"))),
            Some(None) => console.say("the head has a signed note of this run now"),
            None => console.say(
                "no note was written: one is for a head whose base has not moved, and of which everything passed on what this run verified itself",
            ),
        }
        report
    } else {
        ci::run(&request, host, console)?
    };
    let is_here = |path: &RepoPath| {
        report.tree.as_ref().is_some_and(|tree| repo.entry(tree, path).is_ok_and(|entry| entry.is_some()))
    };
    output::publish(&report, &wanted, &is_here, host, console)?;
    Ok(code(report.decision))
}

fn code(decision: CiDecision) -> ExitCode {
    match decision {
        CiDecision::Pass => ExitCode::Pass,
        CiDecision::Fail => ExitCode::Fail,
        CiDecision::Held => ExitCode::Held,
        CiDecision::Broken => ExitCode::Environment,
    }
}

fn requirement(word: EvidenceWord) -> Requirement {
    match word {
        EvidenceWord::Attested => Requirement::Attested,
        EvidenceWord::Verified => Requirement::Verified,
        EvidenceWord::Either => Requirement::Either,
    }
}
