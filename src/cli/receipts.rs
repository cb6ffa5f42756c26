//! `countersign receipts` and `countersign replay`.

use super::args::CaseArgs;
use super::console::{Console, visible};
use super::exit_code::ExitCode;
use super::verify::count;
use crate::agent::AgentRecord;
use crate::host::Host;
use crate::host::git::Repo;
use crate::pipeline::{VerifyError, find_case, replay as replay_case};
use crate::receipts::{BitesRecord, Fact, Reconciled};
use std::path::Path;

pub(super) fn show(args: &CaseArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let repo = Repo::discover(host, start).map_err(VerifyError::from)?;
    let sealed = find_case(&repo, &args.task, args.attempt)?;
    if args.json {
        console.json(&sealed.attempt.receipts)?;
        return Ok(ExitCode::Pass);
    }
    console.answer(&visible(&format!("case {} ({})", args.task, sealed.commit)));
    for receipt in &sealed.attempt.receipts {
        console.answer(&visible(&format!("{:>4}  {}", receipt.id, line(&receipt.fact))));
    }
    Ok(ExitCode::Pass)
}

pub(super) fn replay(args: &CaseArgs, start: &Path, host: &Host, console: &mut Console) -> anyhow::Result<ExitCode> {
    let repo = Repo::discover(host, start).map_err(VerifyError::from)?;
    let sealed = find_case(&repo, &args.task, args.attempt)?;
    let found = replay_case(&repo, &sealed)?;
    if args.json {
        console.json(&found)?;
    } else if found.agrees {
        console.answer(&format!("agrees: the receipts give {} again", found.replayed.kind.word()));
    } else {
        console.answer("DISAGREES: the sealed decision does not follow from the sealed receipts");
        for difference in &found.differences {
            console.answer(&visible(&format!("  {difference}")));
        }
    }
    // A disagreement is for a person: the case was edited, or the rules changed with the version.
    Ok(if found.agrees { ExitCode::Pass } else { ExitCode::Held })
}

/// One receipt in one line.
fn line(fact: &Fact) -> String {
    match fact {
        Fact::Opened(o) => {
            format!("opened    attempt {} of {}, countersign {}, {}", o.attempt, o.case, o.countersign, o.at)
        }
        Fact::Base(b) => format!("base      {} ({})", b.commit.short(), b.rule),
        Fact::Settings(s) => format!(
            "settings  {} (verifier {}, key {})",
            s.sources.join(" ← "),
            s.verifier,
            &s.key[..12.min(s.key.len())]
        ),
        Fact::Task(t) => format!("task      {} ({}, {} criteria)", t.title, t.source, t.criteria.len()),
        Fact::Report(r) => format!("report    {:?} ({})", r.outcome, r.source),
        Fact::Claim(c) => {
            format!("claim     tree {} on base {}, {} changed", c.tree.short(), c.base.short(), c.changed.len())
        }
        Fact::Sightings { sightings } => format!("sightings {}", sightings.len()),
        Fact::Check(c) => format!(
            "check     {} {}{}",
            c.id,
            c.state.word(),
            if c.note.is_empty() { String::new() } else { format!(": {}", c.note) }
        ),
        Fact::Command(c) => format!(
            "command   `{}` on tree {}: {}{}",
            c.command,
            c.tree.short(),
            c.ending.sentence(),
            if c.cached.is_some() { " (stored by an earlier run)" } else { "" }
        ),
        Fact::Tests(t) => format!("tests     {} cases on tree {} ({})", t.cases.len(), t.tree.short(), t.format),
        Fact::Compared(c) => format!(
            "compared  {} tests kept, {} added; {} mended, {} failing before, {} broken, {} flaky, {} skipped, {} lost",
            c.kept,
            c.added,
            c.mended.len(),
            c.pre_existing.len(),
            c.broken.len(),
            c.flaky.len(),
            c.skipped.len(),
            c.lost.len()
        ),
        Fact::Bites(b) => bites(b),
        Fact::Proof(p) => format!(
            "proof     C{}: on the claim {}, on the base {} ({})",
            p.criterion,
            yes(p.on_claim),
            yes(p.on_base),
            p.observed
        ),
        Fact::Reconciled(table) => reconciled(table),
        Fact::Token { .. } => "token     drawn".to_owned(),
        Fact::Consulted(c) => {
            let agent = c.agent.as_deref().map(told).unwrap_or_default();
            format!("consulted {}{}{agent}", c.verifier, if c.resend { " (resend)" } else { "" })
        }
        Fact::Heard(h) => format!("heard     {}", serde_json::to_string(h).unwrap_or_default()),
        Fact::Waived { by } => format!("waived    {by} told this run not to verify"),
        Fact::Uncertified { ranges } => format!("base has  {} that nobody verified", count(ranges.len(), "landing")),
        Fact::Declined(d) => {
            let stands = if d.stands { "" } else { " (the code has changed since: open again)" };
            format!("declined  for {}: {}{stands}", d.task, d.point.sentence())
        }
        Fact::Ruling(r) => {
            let why = if r.why.is_empty() { String::new() } else { format!(": {}", r.why) };
            format!("ruling    {} by {}, {} declined{why}", r.answer.word(), r.by, r.declined.len())
        }
        Fact::Decided(d) => format!(
            "decided   {}: {}",
            d.kind.word(),
            d.reasons.iter().map(|r| r.code.as_str()).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn bites(record: &BitesRecord) -> String {
    let words = record.tests.iter().map(|bite| bite.class.word()).collect::<std::collections::BTreeSet<_>>();
    let of = |word: &str| record.tests.iter().filter(|bite| bite.class.word() == word).count();
    let counts = words.into_iter().map(|word| format!("{} {word}", of(word)));
    format!("bites     {}", counts.collect::<Vec<_>>().join(", "))
}

fn reconciled(table: &Reconciled) -> String {
    let all = count(table.rows.len(), "assertion");
    format!("reported  {}: {} of {all} backed", table.gate.word(), table.backed())
}

/// A program's run in a few words; what it did not say is left out.
fn told(agent: &AgentRecord) -> String {
    let version = agent.version.as_ref().map(|version| format!("{} {version}", agent.agent));
    let model = agent.model.as_ref().map(|model| format!("model {model}"));
    let usage = &agent.usage;
    let tokens = usage.input_tokens.zip(usage.output_tokens);
    let tokens = tokens.map(|(read, written)| format!("{read} tokens read, {written} written"));
    let cost = usage.cost_usd.as_ref().map(|dollars| format!("{dollars} USD"));
    let tools =
        (agent.tools_total > 0).then(|| count(usize::try_from(agent.tools_total).unwrap_or(usize::MAX), "tool call"));
    let parts: Vec<String> = [version, model, tokens, cost, tools].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

fn yes(answer: Option<bool>) -> &'static str {
    match answer {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "not found out",
    }
}
