//! Asks the library what it makes of a claim.

use crate::git::{Clone, Failed};
use crate::prepare::Claim;
use countersign::floor::tests_run;
use countersign::host::Host;
use countersign::host::cancel::Cancel;
use countersign::host::clock::Clock;
use countersign::host::env::Env;
use countersign::pipeline::{Observer, Outcome, TaskWord, VerifyRequest, WorkWord, verify};
use countersign::receipts::{CheckReport, Receipt, State};
use std::fmt::Write as _;
use std::path::PathBuf;

/// What the caller wants.
pub(crate) struct Options {
    /// Run the tests.
    pub(crate) tests: bool,
    /// Tell what changed tests show, and judge nothing.
    pub(crate) bites: bool,
    /// This task alone.
    pub(crate) only: Option<String>,
    /// Print each finding.
    pub(crate) findings: bool,
    /// How many claims at a time.
    pub(crate) jobs: usize,
}

/// Everything that stays the same from claim to claim.
pub(crate) struct Judge {
    host: Host,
    start: PathBuf,
    tests: bool,
}

/// What was made of one claim.
pub(crate) struct Judged {
    /// The decision in one word; `error` where there is none.
    pub(crate) decision: String,
    /// The reasons' codes, or why there is no decision.
    pub(crate) reasons: Vec<String>,
    /// What each check found, the leading ones only where tests are left out.
    pub(crate) checks: Vec<CheckReport>,
}

struct Silent;

impl Observer for Silent {
    fn began(&mut self, _: &str) {}
    fn recorded(&mut self, _: &Receipt) {}
}

/// Settles the machine: this program confines the children, and no settings of the user's apply.
pub(crate) fn host(clone: &Clone) -> Result<Host, Failed> {
    let failed = |what: &str, why: &dyn std::fmt::Display| Failed::new(format!("cannot {what}: {why}"));
    let helper = std::env::current_exe().map_err(|why| failed("find this program", &why))?;
    let scratch = clone.scratch().join("rooms");
    let empty = clone.scratch().join("settings");
    for folder in [&scratch, &empty] {
        std::fs::create_dir_all(folder).map_err(|why| failed(&format!("make {}", folder.display()), &why))?;
    }
    let of_process = Env::of_process();
    let mut env = of_process.for_child();
    env.extend(of_process.get("HOME").map(|home| ("HOME".into(), home.to_owned())));
    env.push(("XDG_CONFIG_HOME".into(), empty.into_os_string()));
    let path = of_process.get("PATH").unwrap_or_default();
    let programs = std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|f| f.join("git"));
    let git = programs.into_iter().find(|git| git.is_file()).unwrap_or_else(|| PathBuf::from("git"));
    Ok(Host { git, helper, scratch, env: Env::of(env), clock: Clock::System, cancel: Cancel::new() })
}

impl Judge {
    /// A judge for claims that were made in this clone.
    pub(crate) fn new(clone: &Clone, options: &Options) -> Result<Self, Failed> {
        Ok(Self { host: host(clone)?, start: clone.top(), tests: options.tests })
    }

    /// Judges a claim with the embedded verifier, without a report: history keeps none.
    pub(crate) fn judge(&self, claim: &Claim, task: &str) -> Judged {
        let request = VerifyRequest {
            task: TaskWord::Named(task.to_owned()),
            work: WorkWord::Commit(claim.commit.clone()),
            base: Some(claim.base.clone()),
            no_tests: !self.tests,
            all_checks: self.tests,
            fresh: true,
            ..VerifyRequest::of(&self.start)
        };
        match verify(&request, &self.host, &mut Silent) {
            Ok(outcome) => Self::judged(outcome),
            Err(why) => Judged { decision: "error".to_owned(), reasons: vec![why.to_string()], checks: Vec::new() },
        }
    }

    fn judged(outcome: Outcome) -> Judged {
        // Every decision says why: a line without a code would tell nothing.
        let mut reasons: Vec<String> = outcome.decision.reasons.into_iter().map(|reason| reason.code).collect();
        reasons.dedup();
        Judged { decision: word(outcome.decision.kind), reasons, checks: outcome.floor.checks }
    }
}

impl Judged {
    /// The decision, its reasons, and the checks that found something, the worst state first.
    pub(crate) fn line(&self) -> String {
        let mut line = format!("{} ({})", self.decision, self.reasons.join(", "));
        for state in [State::Deny, State::Unknown, State::Ask] {
            let found: Vec<&str> = self.checks.iter().filter(|c| c.state == state).map(|c| c.id.as_str()).collect();
            if !found.is_empty() {
                let _ = write!(line, "  {}: {}", word(state), found.join(" "));
            }
        }
        line
    }

    /// Every finding, one a line.
    pub(crate) fn findings(&self) -> String {
        let mut text = String::new();
        for check in &self.checks {
            if check.id == tests_run::ID {
                let _ = writeln!(text, "    {} {}: {}", word(check.state), check.id, check.note);
            }
            for finding in check.findings.iter().filter(|f| f.state > State::NotApplicable) {
                let (state, place) = (word(finding.state), &finding.place);
                let _ = writeln!(
                    text,
                    "    {state} {}: {place}: {} (expected: {})",
                    check.id, finding.observed, finding.expected
                );
            }
        }
        text
    }
}

/// The word that `--json` has for it.
pub(crate) fn word(what: impl serde::Serialize) -> String {
    serde_json::to_value(what).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
