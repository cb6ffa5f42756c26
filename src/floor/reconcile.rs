//! Reconciliation: what a "done" asserts, against the captured tool calls, the witness and our own runs.
//!
//! One pure function, [`reconcile`]. It can only lower a claim: VERIFIED is necessary for a PASS and never sufficient. A
//! complete ledger that lacks an event refutes; an incomplete one leaves the assertion unverifiable; what cannot be read is
//! never taken as read. Text in a transcript is data: nothing in it is run or obeyed.

mod calls;
mod counts;
mod files;
mod looks;
mod own_runs;
mod programs;
mod publishing;
pub mod repair;
mod runs;
mod shell;

use crate::agent::transcript::Transcript;
use crate::claim::witness::Witness;
use crate::receipts::{
    CaseResult, CheckReport, CommandRecord, Finding, Gate, LedgerMatch, LedgerSummary, ProofRecord, Reconciled, Row,
    Standing, StartRecord, State, TestsRecord,
};
use crate::task::Proof;
use crate::worker::{AssertedBy, Assertion, AssertionKind};
use calls::Calls;

/// A run of our own, the strongest receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerun {
    /// What was run for.
    pub of: RerunOf,
    /// Whether it bears the assertion out; none if that could not be found out.
    pub holds: Option<bool>,
    /// What was seen, in words.
    pub observed: String,
    /// Tests that passed and failed, where the runner's report says.
    pub tests: Option<(u64, u64)>,
    /// Why a green run proves little: its new tests pass without the change as well.
    pub weak: Option<String>,
    /// How many new or changed tests pass on the claim, where that was found out.
    pub added: Option<u64>,
}

/// What a run of our own is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerunOf {
    /// The project's test command.
    Tests,
    /// The proof of a criterion: the test's name, the command or the path.
    Proof(String),
}

impl Rerun {
    /// The runs of the project's tests on the claim's tree: what `tests-run` found, the commands, and the cases they told.
    pub fn of_tests<'r>(
        report: &CheckReport,
        commands: impl IntoIterator<Item = &'r CommandRecord>,
        told: impl IntoIterator<Item = &'r TestsRecord>,
    ) -> Self {
        let holds = match report.state {
            State::Pass | State::Info => Some(true),
            State::Deny => Some(false),
            State::NotApplicable | State::Ask | State::Unknown => None,
        };
        let tests = told.into_iter().fold(None, |sum: Option<(u64, u64)>, record| {
            let count =
                |fits: fn(CaseResult) -> bool| record.cases.iter().filter(|case| fits(case.result)).count() as u64;
            let (passed, failed) = sum.unwrap_or_default();
            let fell = |result| matches!(result, CaseResult::Failed | CaseResult::Errored);
            Some((passed + count(|result| result == CaseResult::Passed), failed + count(fell)))
        });
        let said: Vec<String> =
            commands.into_iter().map(|run| format!("`{}` {}", run.command, run.ending.sentence())).collect();
        let counted = tests.map_or_else(String::new, |(passed, failed)| format!(" ({passed} passed, {failed} failed)"));
        let why = first_finding(report).map_or_else(String::new, |why| format!(": {why}"));
        Self {
            of: RerunOf::Tests,
            holds,
            observed: format!("{}{counted}{why}", said.join(", ")),
            tests,
            weak: None,
            added: None,
        }
    }

    /// The run that a criterion's proof is; none for a file, which is looked at and not run.
    pub fn of_proof(record: &ProofRecord) -> Option<Self> {
        let subject = match &record.proof {
            Proof::Test { name } => name.clone(),
            Proof::Run { command } => command.clone(),
            Proof::File { .. } => return None,
        };
        let (holds, observed) = (record.on_claim, record.observed.clone());
        Some(Self { of: RerunOf::Proof(subject), holds, observed, tests: None, weak: None, added: None })
    }
}

/// What a check found first that is more than a remark.
pub fn first_finding(report: &CheckReport) -> Option<&str> {
    report.findings.iter().find(|finding| finding.state >= State::Ask).map(|finding| finding.observed.as_str())
}

/// Everything that the assertions are held against.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The captured tool calls; none if there is no transcript.
    pub transcript: Option<&'a Transcript>,
    /// What is there now.
    pub witness: &'a Witness,
    /// Our own runs.
    pub reruns: &'a [Rerun],
    /// Checks of the floor that say whether task, settings and tests were bent.
    pub contract: &'a [CheckReport],
    /// The worker's own words, for a question that wants an answer.
    pub claim: &'a str,
    /// The project's own test commands, as the base has them.
    pub test_commands: &'a [String],
}

/// What one rule found.
struct Found {
    standing: Standing,
    ledger: LedgerMatch,
    observed: String,
    receipts: Vec<String>,
    wants: Vec<String>,
}

impl Found {
    fn new(standing: Standing, ledger: LedgerMatch, observed: impl Into<String>) -> Self {
        Self { standing, ledger, observed: observed.into(), receipts: Vec::new(), wants: Vec::new() }
    }

    fn backed(ledger: LedgerMatch, observed: impl Into<String>) -> Self {
        Self::new(Standing::Backed, ledger, observed)
    }

    fn unbacked(ledger: LedgerMatch, observed: impl Into<String>) -> Self {
        Self::new(Standing::Unbacked, ledger, observed)
    }

    fn unverifiable(ledger: LedgerMatch, observed: impl Into<String>) -> Self {
        Self::new(Standing::Unverifiable, ledger, observed)
    }

    /// No call bears it out: refuted by a complete ledger, unverifiable under an incomplete one.
    fn missing(calls: &Calls<'_>, observed: &str) -> Self {
        if calls.is_complete() {
            Self::unbacked(LedgerMatch::No, observed)
        } else {
            Self::unverifiable(LedgerMatch::Unknown, format!("{observed}, and {}", calls.doubt()))
        }
    }

    fn receipt(mut self, receipt: impl Into<String>) -> Self {
        self.receipts.push(receipt.into());
        self
    }

    fn wanting(mut self, want: impl Into<String>) -> Self {
        if self.standing != Standing::Backed {
            self.wants.push(want.into());
        }
        self
    }
}

/// Holds every assertion against the evidence. Pure: the same evidence gives the same table.
pub fn reconcile(assertions: &[Assertion], evidence: &Evidence<'_>) -> Reconciled {
    let calls = Calls::of(evidence.transcript, evidence.witness);
    let rows: Vec<Row> = assertions.iter().map(|assertion| row(assertion, evidence, &calls)).collect();
    let witness = evidence.witness;
    let mut notes = Vec::new();
    let gate = merge(&rows, witness.start_tree == witness.tree, &mut notes);
    Reconciled {
        schema: Reconciled::SCHEMA.to_owned(),
        gate,
        notes,
        start: StartRecord {
            commit: witness.start.clone(),
            rule: witness.start_rule.clone(),
            tree: witness.start_tree.clone(),
            now: witness.tree.clone(),
            changed: witness.changed.len(),
        },
        ledger: evidence.transcript.map(|transcript| LedgerSummary {
            dialect: transcript.dialect,
            session: transcript.session.clone(),
            calls: transcript.events.len(),
            complete: transcript.is_complete(),
            gaps: if transcript.is_complete() { Vec::new() } else { vec![calls.doubt()] },
        }),
        rows,
        repair: None,
    }
}

/// What follows from a table.
fn merge(rows: &[Row], same_tree: bool, notes: &mut Vec<String>) -> Gate {
    let worst = rows.iter().map(|row| row.standing).max();
    let said = rows.iter().any(|row| row.assertion.by != AssertedBy::Implicit);
    match worst {
        Some(Standing::Unbacked) => Gate::FalseCompletion,
        _ if !said && same_tree => Gate::NothingToReconcile,
        _ if !said => {
            notes.push("work was changed and nothing checkable was said about it: a person has to look".to_owned());
            Gate::NeedsReview
        }
        Some(Standing::Unverifiable) => Gate::NeedsReview,
        _ => Gate::Verified,
    }
}

fn row(assertion: &Assertion, evidence: &Evidence<'_>, calls: &Calls<'_>) -> Row {
    let found = match assertion.kind {
        AssertionKind::FileWritten => files::written(assertion, evidence, calls),
        AssertionKind::NotChanged => files::not_changed(assertion, evidence, calls),
        AssertionKind::Installed => files::installed(assertion, evidence, calls),
        AssertionKind::ItemCount => files::counted(assertion, evidence),
        AssertionKind::TestGreen => runs::tests_green(assertion, evidence, calls),
        AssertionKind::BuildOk => runs::build_ok(assertion, evidence, calls),
        AssertionKind::CommandRan => runs::command_ran(assertion, evidence, calls),
        AssertionKind::CommitExists => publishing::committed(assertion, evidence, calls),
        AssertionKind::BranchPushed => publishing::pushed(assertion, evidence, calls),
        AssertionKind::PrOpened => publishing::pull_request(assertion, evidence, calls),
        AssertionKind::Deployed => publishing::deployed(assertion, evidence, calls),
        AssertionKind::Observed if assertion.subject == "review" => looks::reviewed(assertion, evidence, calls),
        AssertionKind::Observed => looks::observed(assertion, evidence, calls),
        AssertionKind::QuestionAnswered => looks::answered(assertion, evidence),
        AssertionKind::CriterionMet => Found::unverifiable(
            LedgerMatch::NotAsked,
            if assertion.subject.is_empty() { "only judgement can tell" } else { "only a person can tell" },
        )
        .wanting("countersign verify"),
        AssertionKind::WorkDone => work_done(evidence),
        AssertionKind::ContractKept => contract_kept(evidence, calls),
    };
    Row {
        assertion: assertion.clone(),
        standing: found.standing,
        ledger: found.ledger,
        observed: found.observed,
        receipts: found.receipts,
        wants: found.wants,
    }
}

fn work_done(evidence: &Evidence<'_>) -> Found {
    let witness = evidence.witness;
    let receipt = format!("git:{}..{}", witness.start_tree.short(), witness.tree.short());
    if witness.changed.is_empty() {
        Found::unbacked(LedgerMatch::NotAsked, "the tree is that of the start: nothing was changed").receipt(receipt)
    } else {
        let verb = if witness.changed.len() == 1 { "differs" } else { "differ" };
        let words = format!("{} {verb} from the start", many(witness.changed.len(), "path"));
        Found::backed(LedgerMatch::NotAsked, words).receipt(receipt)
    }
}

fn contract_kept(evidence: &Evidence<'_>, calls: &Calls<'_>) -> Found {
    if let Some((receipt, what)) = calls.touches_the_ledger() {
        return Found::unbacked(LedgerMatch::Yes, format!("a call wrote to what the work is measured by: {what}"))
            .receipt(receipt)
            .wanting("a person looks at what was changed there");
    }
    let findings = || evidence.contract.iter().flat_map(|check| check.findings.iter().map(move |found| (check, found)));
    if let Some((check, found)) = findings().find(|(_, found)| found.state == State::Deny) {
        let place = if found.place.is_empty() { String::new() } else { format!("{}: ", found.place) };
        return Found::unbacked(LedgerMatch::NotAsked, format!("{place}{}", found.observed))
            .receipt(format!("check:{}", check.id))
            .wanting("put it back as it was at the start");
    }
    // A test that demands less may be the task. Whoever judges decides, and nobody does here.
    let doubted = |found: &Finding| {
        found.state == State::Unknown || (found.state == State::Ask && repair::asks_for_less(&found.observed))
    };
    if let Some((check, found)) = findings().find(|(_, found)| doubted(found)) {
        let place = if found.place.is_empty() { String::new() } else { format!("{}: ", found.place) };
        return Found::unverifiable(LedgerMatch::NotAsked, format!("{place}{}", found.observed))
            .receipt(format!("check:{}", check.id))
            .wanting("a verifier or a person looks at it (countersign verify)");
    }
    let asked = findings().filter(|(_, found)| found.state == State::Ask).count();
    let rest = if asked == 0 { String::new() } else { format!("; {} to look at", many(asked, "change")) };
    Found::backed(LedgerMatch::NotAsked, format!("no check says otherwise{rest}"))
}

/// `1 path`, `3 paths`.
fn many(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
