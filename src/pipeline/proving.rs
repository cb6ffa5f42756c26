//! The steps that need a room: the tests, and the proofs of checkable criteria.

use super::VerifyError;
use super::judge::Run;
use crate::claim::Claim;
use crate::floor;
use crate::floor::canary;
use crate::floor::criteria::{self, CriteriaOutcome};
use crate::floor::runtime_drive;
use crate::floor::tests_bite::{self, BiteOutcome};
use crate::floor::tests_collected;
use crate::floor::tests_kept;
use crate::floor::tests_run::{self, Baseline, Facts, Plan, PlanError, Reuse, TestsOutcome};
use crate::host::digest::digest;
use crate::host::redact::redact_log;
use crate::receipts::{CheckReport, ComparedRecord, Fact, State};
use crate::task::Task;
use crate::task::layout::ContextName;
use std::fs;
use std::path::Path;

impl Run<'_> {
    /// Runs the tests and proves the checkable criteria, unless the floor already denies.
    pub(super) fn prove(&mut self, claim: &Claim) -> Result<(), VerifyError> {
        self.pause()?;
        if self.is_denied() {
            return self.pass_by_tests("a cheaper check already denies; --all-checks runs it all the same");
        }
        if self.is_decision_record() {
            return self.pass_by_tests("a decision record: nothing executable changed");
        }
        if self.request.no_tests {
            return self.prove_without_tests(claim);
        }
        let plan = self.plan(claim)?;
        self.recorder.begin(&match &plan {
            Plan::Commands(commands) if !commands.is_empty() => {
                format!(
                    "running the tests: {}",
                    commands.iter().map(|c| c.command.as_str()).collect::<Vec<_>>().join(", ")
                )
            }
            _ => "looking for tests".to_owned(),
        });
        let criteria = self.asked.task.as_ref().map_or_else(Vec::new, |t| t.task.criteria());
        let logs = self.recorder.folder().join("raw");
        let tests = self.run_tests(claim, &plan, &logs);
        self.pause()?;
        let test_receipts = self.record_runs(&tests.runs)?;
        self.record_comparisons(&tests, &test_receipts)?;
        self.check(tests.report.clone())?;
        self.check(tests.kept.clone())?;
        let collected = tests_collected::inspect(&self.inspection(claim), &plan, &tests, &logs);
        self.pause()?;
        self.record_runs(&collected.runs)?;
        self.check(collected.report)?;
        self.recorder.begin("running the new tests without the change");
        let bites = tests_bite::inspect(&self.inspection(claim), &plan, (&tests, self.reuse()), &criteria, &logs);
        self.pause()?;
        self.record_bites(bites)?;
        let reported = floor::report_tests::inspect(&self.inspection(claim), &tests.report);
        self.check(reported)?;
        self.try_canary(claim, &plan, &tests.report, &logs)?;
        self.prove_criteria(claim, (&plan, &tests), &test_receipts)
    }

    fn prove_criteria(
        &mut self,
        claim: &Claim,
        (plan, tests): (&Plan, &TestsOutcome),
        test_receipts: &[Vec<u32>],
    ) -> Result<(), VerifyError> {
        let Some(asked) = &self.asked.task else { return Ok(()) };
        self.recorder.begin("proving the checkable criteria");
        let logs = self.recorder.folder().join("raw");
        let proofs = criteria::evaluate(&self.inspection(claim), &asked.task.criteria(), plan, tests, &logs);
        self.pause()?;
        self.record_proofs(proofs, test_receipts)
    }

    /// What needs no tests, where none are to be run: that is nobody's doubt, and no PASS lands on it.
    fn prove_without_tests(&mut self, claim: &Claim) -> Result<(), VerifyError> {
        let why = "no tests are run, by request";
        self.pass_by_tests(why)?;
        let plan = Plan::NoCommand { why: why.to_owned() };
        self.prove_criteria(claim, (&plan, &TestsOutcome::not_applicable(why)), &[])
    }

    /// Says why nothing that runs tests was asked.
    fn pass_by_tests(&mut self, why: &str) -> Result<(), VerifyError> {
        for id in [tests_run::ID, tests_kept::ID, tests_collected::ID, tests_bite::ID] {
            self.check(CheckReport::not_applicable(id, why))?;
        }
        Ok(())
    }

    /// Who asks for a fresh judgement wants the tests run, not remembered.
    fn reuse(&self) -> Reuse {
        if self.request.fresh { Reuse::Nothing } else { Reuse::Stored }
    }

    /// Proves that the tests see the claim.
    fn try_canary(&mut self, claim: &Claim, plan: &Plan, tests: &CheckReport, logs: &Path) -> Result<(), VerifyError> {
        self.recorder.begin("proving that the tests see the claim");
        let canary = canary::try_all(&self.inspection(claim), plan, tests, logs);
        self.pause()?;
        self.record_runs(&canary.runs)?;
        self.check(canary.report)
    }

    /// Drives the program, last of all, unless the floor already denies.
    pub(super) fn drive(&mut self, claim: &Claim) -> Result<(), VerifyError> {
        self.pause()?;
        if self.is_denied() {
            let why = "a cheaper check already denies; --all-checks runs it all the same";
            return self.check(CheckReport::not_applicable(runtime_drive::ID, why));
        }
        let readme = self.asked.task.as_ref().and_then(|t| self.context_readme(&t.task));
        self.recorder.begin("looking for a runtime surface");
        let logs = self.recorder.folder().join("raw");
        let driven = runtime_drive::drive(&self.inspection(claim), readme.as_ref(), &logs);
        self.pause()?;
        self.record_runs(&driven.runs)?;
        self.check(driven.report)
    }

    /// No command is a hold, except where nothing executable changed: then there is nothing that tests could show.
    fn run_tests(&self, claim: &Claim, plan: &Plan, logs: &Path) -> TestsOutcome {
        let prose =
            self.found(floor::skip_eligible::ID).is_some_and(|check| matches!(check.state, State::Pass | State::Info));
        match plan {
            Plan::NoCommand { why } if prose => {
                let why = format!("nothing executable changed, and there is no test command: {why}");
                TestsOutcome::not_applicable(&why)
            }
            _ => tests_run::run_tests(&self.inspection(claim), plan, logs, Baseline::Always, self.reuse()),
        }
    }

    fn plan(&self, claim: &Claim) -> Result<Plan, VerifyError> {
        let readme = self.asked.task.as_ref().and_then(|t| self.context_readme(&t.task));
        tests_run::plan(&self.inspection(claim), readme.as_ref()).map_err(|why| match why {
            PlanError::Git(why) => VerifyError::Git(why),
            other => VerifyError::TestPlan(other),
        })
    }

    fn context_readme(&self, task: &Task) -> Option<crate::host::path::RepoPath> {
        let context = ContextName::new(task.context.as_deref()?).ok()?;
        Some(self.asked.layout?.readme(&context))
    }

    /// Records commands with their redacted logs; returns each command's receipts (the command, and its tests if any).
    fn record_runs(&mut self, runs: &[Facts]) -> Result<Vec<Vec<u32>>, VerifyError> {
        let mut numbers = Vec::new();
        for facts in runs {
            let mut command = facts.command.clone();
            let raw = fs::read(&facts.log).map_err(|why| VerifyError::Io {
                doing: "read the log",
                path: facts.log.clone(),
                why,
            })?;
            let travels = redact_log(&raw).bytes;
            command.log_digest = digest(&travels);
            self.sealed.logs.insert(command.log.clone(), travels);
            let mut these = vec![self.recorder.record(Fact::Command(command))?];
            if let Some(mut tests) = facts.tests.clone() {
                tests.command = these[0];
                these.push(self.recorder.record(Fact::Tests(tests))?);
            }
            numbers.push(these);
        }
        Ok(numbers)
    }

    fn record_comparisons(&mut self, tests: &TestsOutcome, numbers: &[Vec<u32>]) -> Result<(), VerifyError> {
        for compared in &tests.compared {
            let number = |at: usize| numbers.get(at).and_then(|these| these.first()).copied();
            if let (Some(claim), Some(base)) = (number(compared.claim), number(compared.base)) {
                let record = ComparedRecord { claim, base, ..compared.record.clone() };
                self.recorder.record(Fact::Compared(record))?;
            }
        }
        Ok(())
    }

    fn record_bites(&mut self, outcome: BiteOutcome) -> Result<(), VerifyError> {
        let runs = self.record_runs(&outcome.runs)?;
        if let Some(mut record) = outcome.record {
            record.receipts = runs.into_iter().flatten().collect();
            self.recorder.record(Fact::Bites(record))?;
        }
        self.check(outcome.report)
    }

    fn record_proofs(&mut self, outcome: CriteriaOutcome, tests: &[Vec<u32>]) -> Result<(), VerifyError> {
        let runs = self.record_runs(&outcome.runs)?;
        for mut proven in outcome.proofs {
            let of = |numbers: &[Vec<u32>], at: &[usize]| {
                at.iter().filter_map(|at| numbers.get(*at)).flatten().copied().collect::<Vec<_>>()
            };
            proven.record.receipts = [of(&runs, &proven.runs), of(tests, &proven.tests)].concat();
            self.recorder.record(Fact::Proof(proven.record))?;
        }
        self.check(outcome.report)
    }
}
