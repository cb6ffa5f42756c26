//! What the changed tests of each commit show: they are run on the commit, on its parent, and on the parent's production
//! code with the commit's tests.

use crate::git::{Clone, Failed};
use crate::history::{Role, Step};
use crate::judge;
use countersign::claim::Claim;
use countersign::config::Settings;
use countersign::floor::reports::Format;
use countersign::floor::tests_bite;
use countersign::floor::tests_run::{
    self, Baseline, Plan, ReportWay, Reuse, Runner, Side, TestCommand, TestsOutcome, Through,
};
use countersign::floor::{Inspection, ReportState};
use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::host::path::RepoPath;
use countersign::receipts::{Bite, BiteClass, CaseResult, TestCase};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The commits that bring a task to `done` and change tests, each once, in the order of history.
pub(crate) fn commits(clone: &Clone, steps: &[Step], only: Option<&str>) -> Result<Vec<Changed>, Failed> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for step in steps.iter().filter(|step| step.role == Role::Integration) {
        // A word of the user's is a task, or how a commit's id begins.
        if only.is_some_and(|only| only != step.task && !(only.len() > 6 && step.commit.starts_with(only))) {
            continue;
        }
        if seen.insert(&step.commit) {
            let files = changed_tests(clone, step)?;
            if !files.is_empty() {
                let (commit, parent, task) = (step.commit.clone(), step.parent.clone(), step.task.clone());
                found.push(Changed { commit, parent, task, files });
            }
        }
    }
    Ok(found)
}

/// One of them.
pub(crate) struct Changed {
    commit: String,
    parent: String,
    task: String,
    /// Its added and changed test files, and which of them the parent has.
    files: Vec<(String, bool)>,
}

fn changed_tests(clone: &Clone, step: &Step) -> Result<Vec<(String, bool)>, Failed> {
    let fields = clone.git(&[
        "diff-tree",
        "-r",
        "--no-renames",
        "--diff-filter=AM",
        "--name-status",
        "-z",
        &step.parent,
        &step.commit,
    ])?;
    let fields = String::from_utf8_lossy(&fields).into_owned();
    let mut fields = fields.split('\0');
    let mut found = Vec::new();
    while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
        if [".test.mjs", ".test.js", ".test.cjs"].iter().any(|end| path.ends_with(end)) {
            found.push((path.to_owned(), status == "M"));
        }
    }
    Ok(found)
}

/// What one commit's changed tests showed.
pub(crate) struct Shown {
    executed: usize,
    bites: Vec<Bite>,
    /// Names of tests that the parent's version of these files reports.
    known: BTreeSet<String>,
    failing: Vec<String>,
    failing_before: Vec<String>,
    /// Why there are no classes; empty if there are.
    note: String,
}

/// Runs them.
pub(crate) struct Bites {
    repo: Repo,
    settings: Settings,
    logs: PathBuf,
}

impl Bites {
    /// In this clone, without any settings: each command names the changed files.
    pub(crate) fn new(clone: &Clone) -> Result<Self, Failed> {
        let host = judge::host(clone)?;
        let repo =
            Repo::discover(&host, &clone.top()).map_err(|why| Failed::new(format!("not a repository: {why}")))?;
        let mut settings = Settings::default();
        // What is asked is whether tests bite, not how well.
        settings.tests.mutants = Some(0);
        Ok(Self { repo, settings, logs: clone.scratch().join("logs") })
    }

    /// Runs the changed tests of one commit.
    pub(crate) fn show(&self, changed: &Changed) -> Result<Shown, Failed> {
        let claim = self.claim(changed)?;
        let report = ReportState::None { why: "history keeps no reports".to_owned() };
        let inspection = Inspection {
            repo: &self.repo,
            settings: &self.settings,
            claim: &claim,
            sightings: &[],
            worktree: None,
            task: None,
            task_path: None,
            layout: None,
            report: &report,
            removals: &[],
        };
        let logs = self.logs.join(&changed.commit);
        let plan = self.plan(&claim, changed.files.iter().map(|(path, _)| path.as_str()))?;
        let tests = tests_run::run_tests(&inspection, &plan, &logs, Baseline::WhenRed, Reuse::Stored);
        let bites = tests_bite::inspect(&inspection, &plan, (&tests, Reuse::Stored), &[], &logs);
        let kept = changed.files.iter().filter(|(_, kept)| *kept).map(|(path, _)| path.as_str());
        let before =
            tests_run::run_tests(&inspection, &self.plan(&claim, kept)?, &logs, Baseline::Always, Reuse::Stored);
        let failing = failing(&tests, Side::Claim);
        let failed_before = self::failing(&before, Side::Base);
        let failing_before = failing.iter().filter(|name| failed_before.contains(name)).cloned().collect();
        let known = cases(&before, Side::Base).map(|case| case.name.clone()).collect();
        let executed = cases(&tests, Side::Claim).filter(|case| case.result != CaseResult::Skipped).count();
        let note = if bites.record.is_some() { String::new() } else { said(&tests, &bites.report.note) };
        let bites = bites.record.map(|record| record.tests).unwrap_or_default();
        Ok(Shown { executed, bites, known, failing, failing_before, note })
    }

    fn claim(&self, changed: &Changed) -> Result<Claim, Failed> {
        let failed = |why: &dyn std::fmt::Display| Failed::new(format!("cannot read {}: {why}", changed.commit));
        let id = |text: &str| CommitId::new(text).map_err(|why| failed(&why));
        let (base, commit) = (id(&changed.parent)?, id(&changed.commit)?);
        let tree = |commit| self.repo.tree_of(commit).map_err(|why| failed(&why));
        let (base_tree, tree) = (tree(&base)?, tree(&commit)?);
        let changed = self.repo.changes(&base_tree, &tree).map_err(|why| failed(&why))?;
        Ok(Claim { name: None, commit: Some(commit), tree, base, base_tree, changed })
    }

    /// `node --test` with these files, for each folder that a `package.json` makes a project.
    fn plan<'p>(&self, claim: &Claim, files: impl Iterator<Item = &'p str>) -> Result<Plan, Failed> {
        let mut roots: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in files {
            let root = self.root_of(claim, file)?;
            let rest = if root.is_empty() { file } else { &file[root.len() + 1..] };
            roots.entry(root).or_default().push(format!("'{rest}'"));
        }
        let command = |(root, files): (String, Vec<String>)| TestCommand {
            command: format!("node --test {}", files.join(" ")),
            root: RepoPath::from(root.as_str()),
            source: "replay: the commit's changed tests".to_owned(),
            runner: Runner::NodeTest,
            report: ReportWay::File(Format::NodeJunit),
            through: Through::Directly,
        };
        Ok(Plan::Commands(roots.into_iter().map(command).collect()))
    }

    fn root_of(&self, claim: &Claim, file: &str) -> Result<String, Failed> {
        let mut folder = file;
        while let Some((above, _)) = folder.rsplit_once('/') {
            let manifest = RepoPath::from(format!("{above}/package.json").as_str());
            let there = self.repo.entry(&claim.tree, &manifest);
            if there.map_err(|why| Failed::new(format!("cannot read {manifest}: {why}")))?.is_some() {
                return Ok(above.to_owned());
            }
            folder = above;
        }
        Ok(String::new())
    }
}

fn cases(tests: &TestsOutcome, side: Side) -> impl Iterator<Item = &TestCase> {
    tests.tests(side).flat_map(|record| &record.cases)
}

fn failing(tests: &TestsOutcome, side: Side) -> Vec<String> {
    let failed = |case: &&TestCase| matches!(case.result, CaseResult::Failed | CaseResult::Errored);
    cases(tests, side).filter(failed).map(|case| case.name.clone()).collect()
}

fn said(tests: &TestsOutcome, note: &str) -> String {
    let found = tests.report.findings.iter().map(|finding| finding.observed.as_str());
    std::iter::once(note).chain(found).collect::<Vec<_>>().join("; ")
}

impl Shown {
    fn count(&self, wanted: impl Fn(&Bite) -> bool) -> usize {
        self.bites.iter().filter(|bite| wanted(bite)).count()
    }

    fn biting(&self) -> usize {
        self.count(|bite| bite.class.is_proof())
    }

    fn guarding(&self) -> usize {
        self.count(|bite| bite.class == BiteClass::Guards)
    }

    /// Guards that the parent does not have under this name.
    fn new_guards(&self) -> usize {
        self.count(|bite| bite.class == BiteClass::Guards && !self.known.contains(&bite.test.name))
    }

    fn unproven(&self) -> usize {
        self.bites.len() - self.biting() - self.guarding()
    }

    /// One line about a commit.
    pub(crate) fn line(&self, changed: &Changed, findings: bool) -> String {
        let mut line = format!(
            "{:.10}  executed {:>3}  biting {:>3} ({} by build)  guarding {:>2} ({} new)  failing {} ({} before)  {}",
            changed.commit,
            self.executed,
            self.biting(),
            self.count(|bite| bite.class == BiteClass::ByBuild),
            self.guarding(),
            self.new_guards(),
            self.failing.len(),
            self.failing_before.len(),
            changed.task,
        );
        if self.unproven() > 0 {
            let _ = write!(line, "  unproven {}", self.unproven());
        }
        if !self.note.is_empty() {
            let _ = write!(line, "  ({})", self.note);
        }
        if findings {
            for bite in &self.bites {
                let known = if self.known.contains(&bite.test.name) { "" } else { "new " };
                let _ = write!(line, "\n    {known}{}: {}: {}", bite.class.word(), bite.test.name, bite.observed);
            }
            for name in &self.failing {
                let before = if self.failing_before.contains(name) { " (before too)" } else { "" };
                let _ = write!(line, "\n    fails{before}: {name}");
            }
        }
        line
    }
}

/// Sums over all commits.
#[derive(Default)]
pub(crate) struct Sums {
    commits: usize,
    executed: usize,
    /// Commits and tests.
    biting: (usize, usize),
    guarding: (usize, usize),
    new_guards: (usize, usize),
    failing: (usize, usize),
    failing_before: (usize, usize),
    unproven: (usize, usize),
}

impl Sums {
    /// Counts a commit.
    pub(crate) fn count(&mut self, shown: &Shown) {
        let add = |sum: &mut (usize, usize), count: usize| {
            sum.0 += usize::from(count > 0);
            sum.1 += count;
        };
        self.commits += 1;
        self.executed += shown.executed;
        add(&mut self.biting, shown.biting());
        add(&mut self.guarding, shown.guarding());
        add(&mut self.new_guards, shown.new_guards());
        add(&mut self.failing, shown.failing.len());
        add(&mut self.failing_before, shown.failing_before.len());
        add(&mut self.unproven, shown.unproven());
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} commits that change tests, {} tests executed", self.commits, self.executed)?;
        for (what, (commits, tests)) in [
            ("biting", self.biting),
            ("guarding", self.guarding),
            ("of these new", self.new_guards),
            ("failing", self.failing),
            ("of these before", self.failing_before),
            ("unproven", self.unproven),
        ] {
            write!(f, "\n{what:<16}{tests:>5} tests in {commits:>3} commits")?;
        }
        Ok(())
    }
}
