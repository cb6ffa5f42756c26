//! The steps that need a room: the tests, and the proofs of checkable criteria.

use super::VerifyError;
use super::judge::Run;
use crate::claim::Claim;
use crate::floor;
use crate::floor::criteria::{self, CriteriaOutcome};
use crate::floor::tests_bite::{self, BiteOutcome};
use crate::floor::tests_run::{self, Baseline, Facts, Plan, PlanError, TestsOutcome};
use crate::host::digest::digest;
use crate::receipts::redact::redact_log;
use crate::receipts::{CheckReport, Fact, State};
use crate::task::Task;
use crate::task::layout::ContextName;
use crate::verdict::EMBEDDED;
use std::fs;
use std::path::Path;

impl Run<'_> {
    /// Runs the tests and proves the checkable criteria, unless the floor already denies.
    pub(super) fn prove(&mut self, claim: &Claim) -> Result<(), VerifyError> {
        self.pause()?;
        if self.is_denied() {
            let why = "a cheaper check already denies; --all-checks runs it all the same";
            return self.no_tests(why);
        }
        if self.is_decision_record() {
            let why = "a decision record: nothing executable changed";
            return self.no_tests(why);
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
        // The embedded verifier needs to know what was true before (RULINGS 12); others read it in the brief.
        let baseline = if criteria::name_tests(&criteria) && self.settled.verifier.name() == EMBEDDED {
            Baseline::Always
        } else {
            Baseline::WhenRed
        };
        let logs = self.recorder.folder().join("raw");
        let tests = self.run_tests(claim, &plan, &logs, baseline);
        self.pause()?;
        let test_receipts = self.record_runs(&tests.runs)?;
        self.check(tests.report.clone())?;
        self.recorder.begin("running the new tests without the change");
        let bites = tests_bite::inspect(&self.inspection(claim), &plan, &tests, &criteria, &logs);
        self.pause()?;
        self.record_bites(bites)?;
        let reported = floor::report_tests::inspect(&self.inspection(claim), &tests.report);
        self.check(reported)?;
        if self.asked.task.is_some() {
            self.recorder.begin("proving the checkable criteria");
            let proofs = criteria::evaluate(&self.inspection(claim), &criteria, &plan, &tests, &logs);
            self.pause()?;
            self.record_proofs(proofs, &test_receipts)?;
        }
        Ok(())
    }

    /// Says why nothing that runs tests was asked.
    fn no_tests(&mut self, why: &str) -> Result<(), VerifyError> {
        self.check(CheckReport::not_applicable(tests_run::ID, why))?;
        self.check(CheckReport::not_applicable(tests_bite::ID, why))
    }

    /// No command is a hold, except where nothing executable changed: then there is nothing that tests could show.
    fn run_tests(&self, claim: &Claim, plan: &Plan, logs: &Path, baseline: Baseline) -> TestsOutcome {
        let prose =
            self.found(floor::skip_eligible::ID).is_some_and(|check| matches!(check.state, State::Pass | State::Info));
        match plan {
            Plan::NoCommand { why } if prose => {
                let why = format!("nothing executable changed, and there is no test command: {why}");
                TestsOutcome { report: CheckReport::not_applicable(tests_run::ID, &why), runs: Vec::new() }
            }
            _ => tests_run::run_tests(&self.inspection(claim), plan, logs, baseline),
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
