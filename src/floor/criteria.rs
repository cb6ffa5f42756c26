//! Check `criteria`: does what each checkable criterion names hold on the claim, and did it hold on the base?
//!
//! A file is looked up in the frozen trees, a test in the results of our own run, a command is run in rooms of both
//! trees. A proof that does not hold denies and names its criterion; one that could not be found out is unknown. A command
//! that the claim may have made green by rewriting what it runs is asked about (`footing`).

mod footing;
mod front;
pub(super) mod names;

use super::tests_run::{Facts, Job, Plan, Side, Site, TestsOutcome, has_pipefail, mask, set_up_all};
use super::{Inspection, LARGEST_READ};
use crate::host::git::EntryKind;
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::{RepoPath, escape};
use crate::host::process::Ending;
use crate::receipts::{CheckReport, Finding, ProofRecord, Purpose, Remedy, State};
use crate::task::{Criterion, Kind, Proof};
use names::Answer;
use std::path::Path;

/// The check's public id.
pub const ID: &str = "criteria";

/// A proof and what it rests on.
#[derive(Debug, Clone)]
pub struct Proven {
    /// The receipt; `receipts` in it is empty until the ledger has numbered what it rests on.
    pub record: ProofRecord,
    /// Of [`CriteriaOutcome::runs`], the commands it rests on.
    pub runs: Vec<usize>,
    /// Of [`TestsOutcome::runs`], the test runs it rests on.
    pub tests: Vec<usize>,
}

/// What the criteria's proofs showed.
#[derive(Debug, Clone)]
pub struct CriteriaOutcome {
    /// The check's report.
    pub report: CheckReport,
    /// One for each proof, in the order of the criteria.
    pub proofs: Vec<Proven>,
    /// Every command that was run for them.
    pub runs: Vec<Facts>,
}

/// Whether a proof holds on one side, and what was seen.
#[derive(Debug, Clone)]
struct Seen {
    holds: Option<bool>,
    words: String,
    run: Option<usize>,
    tests: Vec<usize>,
}

impl Seen {
    fn of(holds: Option<bool>, words: impl Into<String>) -> Self {
        Self { holds, words: words.into(), run: None, tests: Vec::new() }
    }
}

/// Evaluates every proof of the checkable criteria. `plan` tells which set-ups a room needs, `tests` is what `tests-run`
/// found, `logs` a folder for raw logs that nothing under test can write.
pub fn evaluate(
    inspection: &Inspection<'_>,
    criteria: &[Criterion],
    plan: &Plan,
    tests: &TestsOutcome,
    logs: &Path,
) -> CriteriaOutcome {
    let all: Vec<(u32, &Proof)> = proofs(criteria).collect();
    if all.is_empty() {
        let report = CheckReport::not_applicable(ID, "no criterion is checkable");
        return CriteriaOutcome { report, proofs: Vec::new(), runs: Vec::new() };
    }
    let commands: Vec<&str> = all.iter().filter_map(|(_, proof)| command_of(proof)).collect();
    let mut runs = Vec::new();
    let claim = match &inspection.claim.commit {
        Some(commit) => run_all(inspection, plan, &commands, (Side::Claim, commit), logs, &mut runs),
        None => commands.iter().map(|_| Seen::of(None, "the work was not frozen as a commit")).collect(),
    };
    let base = run_all(inspection, plan, &commands, (Side::Base, &inspection.claim.base), logs, &mut runs);
    let (mut claim, mut base) = (claim.into_iter(), base.into_iter());
    let mut proven = Vec::new();
    for (criterion, proof) in all {
        let (base_tree, claim_tree) = inspection.trees();
        let not_run = || Seen::of(None, "the command was not run");
        let (on_claim, on_base) = match proof {
            Proof::Run { .. } => (claim.next().unwrap_or_else(not_run), base.next().unwrap_or_else(not_run)),
            Proof::File { path, contains } => {
                let look = |tree| look_up(inspection, tree, path, contains.as_deref());
                (look(claim_tree), look(base_tree))
            }
            Proof::Test { name } => (tested(tests, Side::Claim, name), tested(tests, Side::Base, name)),
        };
        let observed = format!("on the claim {}; on the base {}", on_claim.words, on_base.words);
        proven.push(Proven {
            record: ProofRecord {
                criterion,
                proof: proof.clone(),
                on_claim: on_claim.holds,
                on_base: on_base.holds,
                observed,
                receipts: Vec::new(),
            },
            runs: on_claim.run.into_iter().chain(on_base.run).collect(),
            tests: on_claim.tests.into_iter().chain(on_base.tests).collect(),
        });
    }
    let mut findings: Vec<Finding> = proven.iter().filter_map(|proven| finding(&proven.record)).collect();
    let bench = footing::Bench { inspection, plan, logs };
    findings.extend(footing::doubts(&bench, &mut proven, &mut runs));
    CriteriaOutcome { report: CheckReport::of(ID, findings), proofs: proven, runs }
}

fn proofs(criteria: &[Criterion]) -> impl Iterator<Item = (u32, &Proof)> {
    criteria.iter().flat_map(|criterion| {
        let proofs: &[Proof] = if let Kind::Checkable(proofs) = &criterion.kind { proofs } else { &[] };
        proofs.iter().map(|proof| (criterion.number, proof))
    })
}

fn command_of(proof: &Proof) -> Option<&str> {
    if let Proof::Run { command } = proof { Some(command) } else { None }
}

fn finding(record: &ProofRecord) -> Option<Finding> {
    let (state, remedy) = match record.on_claim {
        Some(true) => return None,
        Some(false) => (State::Deny, Remedy::Fix),
        None => (State::Unknown, Remedy::AskUser),
    };
    let expected = match &record.proof {
        Proof::Test { name } => format!("test `{}` runs and passes", escape(name.as_bytes())),
        Proof::File { path, contains: None } => format!("file `{path}` exists"),
        Proof::File { path, contains: Some(text) } => {
            format!("file `{path}` contains \"{}\"", escape(text.as_bytes()))
        }
        Proof::Run { command } => format!("`{}` exits with code 0", escape(command.as_bytes())),
    };
    Some(Finding {
        state,
        place: format!("C{}", record.criterion),
        expected,
        observed: record.observed.clone(),
        remedy,
    })
}

fn look_up(inspection: &Inspection<'_>, tree: &TreeId, path: &RepoPath, contains: Option<&str>) -> Seen {
    if !path.is_safe() {
        return Seen::of(None, format!("`{path}` is not a path inside the tree"));
    }
    let entry = match inspection.repo.entry(tree, path) {
        Ok(Some(entry)) if entry.kind() == EntryKind::File => entry,
        Ok(Some(_)) => return Seen::of(Some(false), "it is not a regular file"),
        Ok(None) => return Seen::of(Some(false), "it does not exist"),
        Err(why) => return Seen::of(None, format!("the tree cannot be read: {why}")),
    };
    let (Some(text), Some(blob)) = (contains, entry.blob()) else { return Seen::of(Some(true), "it exists") };
    match inspection.repo.blob(&blob, LARGEST_READ) {
        Ok((bytes, _)) if holds_text(&bytes, text.as_bytes()) => Seen::of(Some(true), "it contains the text"),
        Ok((_, false)) => Seen::of(Some(false), "it exists and does not contain the text"),
        Ok((_, true)) => {
            Seen::of(None, format!("its first {LARGEST_READ} bytes do not contain the text, the rest is not read"))
        }
        Err(why) => Seen::of(None, format!("it cannot be read: {why}")),
    }
}

fn holds_text(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text)
}

fn tested(tests: &TestsOutcome, side: Side, name: &str) -> Seen {
    let of_side: Vec<usize> = (0..tests.runs.len())
        .filter(|at| tests.runs[*at].side == side && tests.runs[*at].command.purpose == Purpose::Tests)
        .collect();
    let records: Vec<_> = of_side.iter().map(|at| tests.runs[*at].tests.as_ref()).collect();
    let (answer, places) = names::ask(&records, name);
    let again = |wanted: Answer| {
        let runs = tests.runs.iter().filter(|run| run.side == side && run.command.purpose == Purpose::Rerun);
        let records: Vec<_> = runs.filter_map(|run| run.tests.as_ref()).map(Some).collect();
        names::ask(&records, name).0 == wanted
    };
    let (holds, words) = match answer {
        Answer::Passed if again(Answer::Failed) => (None, "it passed in one run and failed in another"),
        Answer::Failed if again(Answer::Passed) => (None, "it failed in one run and passed in another"),
        Answer::Passed => (Some(true), "it ran and passed"),
        // Whatever spoilt the run may have spoilt this test: nobody's fault yet (RULINGS 13).
        Answer::Failed if side == Side::Claim && tests.report.state == State::Unknown => {
            (None, "it ran and failed, in a run that may have failed for its environment")
        }
        Answer::Failed => (Some(false), "it ran and failed"),
        Answer::Skipped => (Some(false), "it was skipped, not run"),
        Answer::Absent => (Some(false), "no test of this name ran"),
        Answer::Unknown => (None, "the names of the tests that ran are not known"),
        Answer::NotRun => (None, "no tests were run"),
    };
    Seen { tests: places.iter().map(|at| of_side[*at]).collect(), ..Seen::of(holds, words) }
}

fn run_all(
    inspection: &Inspection<'_>,
    plan: &Plan,
    commands: &[&str],
    (side, commit): (Side, &CommitId),
    logs: &Path,
    runs: &mut Vec<Facts>,
) -> Vec<Seen> {
    let none = |why: String| commands.iter().map(|_| Seen::of(None, why.clone())).collect();
    if commands.is_empty() {
        return Vec::new();
    }
    let place = match Site::open(inspection.repo, inspection.settings, logs, side, commit) {
        Ok(place) => place,
        Err(why) => return none(format!("there is no room to run it in: {why}")),
    };
    let set_up: &[_] = if let Plan::Commands(commands) = plan { commands } else { &[] };
    let unready = match set_up_all(&place, &inspection.settings.tests, set_up, runs) {
        Ok(unready) => unready.into_values().next(),
        Err(why) => return none(why),
    };
    let mut disturbed = None;
    let mut seen = Vec::new();
    for command in commands {
        if let Some(mask) = mask(command, has_pipefail(inspection.repo.host())) {
            seen.push(Seen::of(None, format!("it hides its exit status: {mask}")));
            continue;
        }
        if let Some(why) = &disturbed {
            seen.push(Seen::of(None, format!("it was not run: {why}")));
            continue;
        }
        let mut result = run_one(&place, command, runs);
        match place.changed() {
            Ok(changed) if changed.is_empty() => {}
            Ok(changed) => {
                let why = format!("`{}` changed the tracked file {}", escape(command.as_bytes()), changed[0]);
                result = Seen { holds: None, words: format!("what it saw is in doubt: {why}"), ..result };
                disturbed = Some(why);
            }
            Err(why) => disturbed = Some(format!("the room cannot be compared: {why}")),
        }
        if let Some(why) = unready.as_ref().filter(|_| result.holds == Some(false)) {
            result = Seen { holds: None, words: format!("{}, and before that {why}", result.words), ..result };
        }
        seen.push(result);
    }
    seen
}

fn run_one(site: &Site<'_>, command: &str, runs: &mut Vec<Facts>) -> Seen {
    let (facts, ended) = site.run(&Job {
        purpose: Purpose::Criterion,
        command,
        script: command,
        root: &RepoPath::from(""),
        fetches: false,
        shared_memory: false,
    });
    runs.push(facts);
    let first = command.split_whitespace().next().unwrap_or_default();
    let holds = match ended.ending {
        Ending::Exited { code: 0 } => Some(true),
        // The shell found no such program: a tool this machine lacks, unless it is a file of the tree.
        Ending::Exited { code: 126 | 127 } if !first.contains('/') => None,
        Ending::Exited { .. } | Ending::Signalled { .. } => Some(false),
        _ => None,
    };
    Seen { run: Some(runs.len() - 1), ..Seen::of(holds, format!("it {}", ended.ending.sentence())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_byte_for_byte() {
        assert!(holds_text(b"a\xff needle", b"needle"));
        assert!(!holds_text(b"need\nle", b"needle"));
        assert!(holds_text(b"", b""));
    }

    #[test]
    fn only_what_was_not_found_out_is_unknown() {
        let record = |on_claim| ProofRecord {
            criterion: 2,
            proof: Proof::Test { name: "a::b".to_owned() },
            on_claim,
            on_base: None,
            observed: "seen".to_owned(),
            receipts: Vec::new(),
        };
        assert_eq!(finding(&record(Some(true))), None);
        let denied = finding(&record(Some(false))).unwrap();
        assert_eq!((denied.state, denied.place.as_str()), (State::Deny, "C2"));
        assert_eq!(finding(&record(None)).unwrap().state, State::Unknown);
    }
}
