//! Runs hybrids until every target has a class: first with the base's settings, then without the files that keep others
//! from being built, then with the claim's settings.

use super::Work;
use super::cause::{Brought, Cause, Tongue, cause, compile_cause, compiler_errors, excerpt};
use super::failures::{Failures, about_file};
use super::hybrid::{self, Changed, Hybrid, Part, Recipe, brought};
use super::targets::{Target, ends_with_path};
use crate::floor::reports::Format;
use crate::floor::tests_run::{Apart, Facts, Runner, Side, Subject, TestCommand, run_apart};
use crate::host::git::GitError;
use crate::host::ids::TreeId;
use crate::host::path::{RepoPath, escape};
use crate::host::process::Ending;
use crate::receipts::{Bite, BiteClass, CaseResult, TestCase};
use std::collections::BTreeSet;

/// Hybrids made at most, each run at most twice.
const MOST_ROUNDS: usize = 4;

type Class = (BiteClass, String);

/// Classes every target; also says which trees were run.
pub(super) fn run(
    work: &Work<'_>,
    targets: &[Target<'_>],
    runs: &mut Vec<Facts>,
) -> Result<(Vec<Bite>, Vec<TreeId>), GitError> {
    let brought = brought(work.changed);
    let mut classes: Vec<Option<Class>> = targets.iter().map(|target| without_running(work, target)).collect();
    let mut hybrids = Vec::new();
    let mut recipe = Recipe::default();
    for _ in 0..MOST_ROUNDS {
        if classes.iter().flatten().filter(|(class, _)| !is_open(*class)).count() == targets.len() {
            break;
        }
        let hybrid = hybrid::make(work.inspection, work.changed, &recipe)?;
        hybrids.push(hybrid.tree.clone());
        let mut round = Round { work, targets, brought: &brought, classes: &mut classes, unspliced: &hybrid.unspliced };
        let obstacles = round.twice(&hybrid, runs);
        recipe = match next(work, &recipe, &classes, &obstacles) {
            Some(recipe) => recipe,
            None => break,
        };
    }
    let bites = targets.iter().zip(classes).map(|(target, class)| {
        let (class, observed) = class.unwrap_or((BiteClass::NoneExecuted, "it was not run there".to_owned()));
        Bite { test: target.case.clone(), class, observed, noticed: None, weak: false }
    });
    Ok((bites.collect(), hybrids))
}

/// What needs no run: without production changes nothing differs, and a new file that holds both halves has nothing to
/// be tested on the base.
fn without_running(work: &Work<'_>, target: &Target<'_>) -> Option<Class> {
    if work.changed.iter().all(|file| file.part == Part::Test) {
        return Some((BiteClass::Guards, "the claim changes no production code".to_owned()));
    }
    let is_new = target.file.part == Part::Mixed && target.file.base.is_none() && target.file.change.from.is_none();
    is_new.then(|| (BiteClass::ByBuild, format!("the production code in {} is new", target.file.path)))
}

/// True for a class that another recipe may still change.
fn is_open(class: BiteClass) -> bool {
    matches!(class, BiteClass::Build | BiteClass::Collection | BiteClass::NoneExecuted)
}

/// The next hybrid worth a run.
fn next(work: &Work<'_>, recipe: &Recipe, classes: &[Option<Class>], obstacles: &BTreeSet<RepoPath>) -> Option<Recipe> {
    if classes.iter().all(|class| class.as_ref().is_some_and(|(class, _)| !is_open(*class))) {
        return None;
    }
    let new: BTreeSet<RepoPath> = obstacles.difference(&recipe.leave_out).cloned().collect();
    let none_run =
        classes.iter().any(|class| class.as_ref().is_none_or(|(class, _)| *class == BiteClass::NoneExecuted));
    if !new.is_empty() && none_run {
        let mut next = recipe.clone();
        next.leave_out.extend(new);
        return Some(next);
    }
    let has_settings = work.changed.iter().any(|file| file.part == Part::Configuration);
    (has_settings && !recipe.with_configuration)
        .then(|| Recipe { with_configuration: true, leave_out: BTreeSet::new() })
}

struct Round<'r, 'a> {
    work: &'r Work<'a>,
    targets: &'r [Target<'a>],
    brought: &'r Brought,
    classes: &'r mut Vec<Option<Class>>,
    unspliced: &'r [(RepoPath, String)],
}

impl Round<'_, '_> {
    /// Runs the hybrid; where a test proved something, once more. Gives the files that kept all from being built.
    fn twice(&mut self, hybrid: &Hybrid, runs: &mut Vec<Facts>) -> BTreeSet<RepoPath> {
        let (first, obstacles) = self.once((hybrid, 0), runs);
        let executed = first.iter().any(|class| {
            class.as_ref().is_some_and(|(class, _)| class.is_proof() || *class == BiteClass::Unclassified)
        });
        // A compiler does not change its mind: only what was executed is asked again.
        let second = if executed && obstacles.is_empty() { Some(self.once((hybrid, 1), runs).0) } else { None };
        for (at, class) in first.into_iter().enumerate() {
            let Some((class, words)) = class else { continue };
            let again = second.as_ref().and_then(|second| second[at].clone());
            let settled = match again {
                Some((other, _)) if other != class => {
                    (BiteClass::Flaky, format!("{} at first, then {}", class.word(), other.word()))
                }
                _ => (class, words),
            };
            self.classes[at] = Some(settled);
        }
        obstacles
    }

    /// The class of each target that is still open.
    fn once(
        &self,
        (hybrid, time): (&Hybrid, usize),
        runs: &mut Vec<Facts>,
    ) -> (Vec<Option<Class>>, BTreeSet<RepoPath>) {
        let Work { inspection, commands, logs, remembered, .. } = *self.work;
        let wanted: Vec<usize> = (0..commands.len()).filter(|at| self.is_open_at(*at)).collect();
        let chosen: Vec<TestCommand> = wanted.iter().map(|at| commands[*at].clone()).collect();
        let subject = Subject { time, ..Subject::first(Side::Hybrid, &hybrid.commit, &hybrid.tree) };
        let done = run_apart(inspection, &chosen, &subject, (logs, remembered), runs);
        let mut classes = vec![None; self.targets.len()];
        let mut obstacles = BTreeSet::new();
        for (at, run) in wanted.into_iter().zip(done) {
            let command = &commands[at];
            let view = run.map(|run| View::of(command, run));
            if let Ok(view) = &view {
                obstacles.extend(view.obstacles(self.work.changed));
            }
            for (number, target) in self.targets.iter().enumerate() {
                if target.command != at || self.classes[number].as_ref().is_some_and(|(class, _)| !is_open(*class)) {
                    continue;
                }
                classes[number] = Some(match &view {
                    Ok(view) => self.class_of(target, view),
                    Err(why) => (BiteClass::NoneExecuted, why.clone()),
                });
            }
        }
        (classes, obstacles)
    }

    fn is_open_at(&self, command: usize) -> bool {
        let open = |class: &Option<Class>| class.as_ref().is_none_or(|(class, _)| is_open(*class));
        self.targets.iter().zip(self.classes.iter()).any(|(target, class)| target.command == command && open(class))
    }

    fn class_of(&self, target: &Target<'_>, view: &View<'_>) -> Class {
        if let Some((_, why)) = self.unspliced.iter().find(|(path, _)| *path == target.file.path) {
            return (BiteClass::NoneExecuted, format!("its file could not be put together: {why}"));
        }
        let (result, text) = match view.result_of(&target.case) {
            Some(CaseResult::Passed) => return (BiteClass::Guards, "it passes there".to_owned()),
            Some(CaseResult::Skipped) => return (BiteClass::Unclassified, "it is skipped there".to_owned()),
            Some(result) => (Some(result), view.failures.about(&target.case.name).unwrap_or_default()),
            None => match view.kept_from(target.file, self.brought) {
                Some(Kept::Words(text)) => (None, text),
                Some(Kept::Compiler(cause, text)) => return (class(&cause, None, view.tongue), excerpt(&text)),
                None => return view.absent(),
            },
        };
        let cause = cause(view.tongue, &text, self.brought);
        if result.is_none() && cause == Cause::Assertion && is_asserted(&text) {
            return (BiteClass::ByBuild, excerpt(&text));
        }
        let observed = match &cause {
            Cause::Absent(names) => format!("absent: {}", escape(names.join(", ").as_bytes())),
            _ => excerpt(&text),
        };
        (class(&cause, result, view.tongue), observed)
    }
}

/// True if a file says by an assertion of its own why it cannot be loaded: then the expectation is the tests', and only
/// which of them would have failed is not known.
fn is_asserted(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start().trim_start_matches("E ").trim_start();
        line.starts_with("AssertionError")
    })
}

fn class(cause: &Cause, result: Option<CaseResult>, tongue: Tongue) -> BiteClass {
    match cause {
        // pytest's errors come from set-up and tear-down, which are not the test's expectation.
        Cause::Assertion if tongue == Tongue::Python && result == Some(CaseResult::Errored) => BiteClass::Unclassified,
        Cause::Assertion if result.is_none() => BiteClass::Collection,
        Cause::Assertion => BiteClass::Bites,
        Cause::Absent(_) => BiteClass::ByBuild,
        Cause::Build => BiteClass::Build,
        Cause::Collection => BiteClass::Collection,
        Cause::Unclassified => BiteClass::Unclassified,
    }
}

/// Why a test has no result although its run ended.
enum Kept {
    Words(String),
    Compiler(Cause, String),
}

/// A run, made ready for questions.
pub(super) struct View<'a> {
    command: &'a TestCommand,
    run: Apart,
    output: String,
    failures: Failures,
    pub(super) tongue: Tongue,
}

impl<'a> View<'a> {
    pub(super) fn of(command: &'a TestCommand, run: Apart) -> Self {
        let output = String::from_utf8_lossy(&run.said.output).into_owned();
        let tongue = match command.runner {
            Runner::CargoTest | Runner::Nextest => Tongue::Rust,
            Runner::Pytest => Tongue::Python,
            Runner::NodeTest | Runner::Jest | Runner::Vitest | Runner::Mocha => Tongue::Node,
            _ => Tongue::Any,
        };
        let failures = match Format::named(&run.reading.format) {
            Some(Format::LibtestText) => Failures::of_libtest(&output),
            Some(Format::JestJson | Format::VitestJson) => Failures::of_jest(&run.said.report),
            Some(Format::GoTestJson) => Failures::of_go(&output),
            _ => Failures::of_junit(&run.said.report),
        };
        Self { command, run, output, failures, tongue }
    }

    /// The worst result of a test; nothing if it was not reported.
    pub(super) fn result_of(&self, wanted: &TestCase) -> Option<CaseResult> {
        let same = |case: &&TestCase| {
            case.suite == wanted.suite && case.name == wanted.name && (case.file == wanted.file || case.file.is_none())
        };
        self.run.reading.cases.iter().filter(same).map(|case| case.result).max()
    }

    /// True if anything was executed at all.
    pub(super) fn was_built(&self) -> bool {
        self.run.reading.executed.is_some_and(|count| count > 0) && self.compiler_errors().is_empty()
    }

    /// True if every test that ran passed.
    pub(super) fn is_green(&self) -> bool {
        self.run.ending.is_success() && self.run.reading.failed == 0 && !self.run.reading.distrusted
    }

    /// True if the run came to its own end.
    pub(super) fn ended(&self) -> bool {
        matches!(self.run.ending, Ending::Exited { .. } | Ending::Signalled { .. })
    }

    fn compiler_errors(&self) -> Vec<super::cause::CompilerError> {
        // Lines of a run that executed tests may be printed by them.
        let silent = self.tongue != Tongue::Rust || self.run.reading.executed.is_some();
        if silent { Vec::new() } else { compiler_errors(&self.output) }
    }

    /// The changed test files that rustc complains about.
    fn obstacles(&self, changed: &[Changed]) -> BTreeSet<RepoPath> {
        let errors = self.compiler_errors();
        let blamed = |file: &&Changed| {
            matches!(file.part, Part::Test | Part::Mixed)
                && errors.iter().any(|error| ends_with_path(file.path.as_bytes(), error.file.as_bytes()))
        };
        changed.iter().filter(blamed).map(|file| file.path.clone()).collect()
    }

    fn kept_from(&self, file: &Changed, brought: &Brought) -> Option<Kept> {
        let path = self.path_below_root(file);
        match self.tongue {
            Tongue::Rust => {
                let errors = self.compiler_errors();
                let mine: Vec<_> =
                    errors.iter().filter(|error| ends_with_path(file.path.as_bytes(), error.file.as_bytes())).collect();
                let first = mine.first()?;
                let text = format!("error[{}]: {}", first.code, first.message);
                Some(Kept::Compiler(compile_cause(&mine, brought), text))
            }
            Tongue::Python => {
                let module = path.strip_suffix(".py").unwrap_or(&path).replace('/', ".");
                let last = module.rsplit('.').next().unwrap_or_default().to_owned();
                self.failures.about(&module).or_else(|| self.failures.about(&last)).map(Kept::Words)
            }
            Tongue::Node | Tongue::Any => about_file(&self.output, &path).map(Kept::Words),
        }
    }

    fn path_below_root(&self, file: &Changed) -> String {
        let path = String::from_utf8_lossy(file.path.as_bytes()).into_owned();
        let root = String::from_utf8_lossy(self.command.root.as_bytes()).into_owned();
        path.strip_prefix(&format!("{root}/")).filter(|_| !root.is_empty()).map_or(path.clone(), str::to_owned)
    }

    /// A test that nothing was heard of.
    fn absent(&self) -> Class {
        match &self.run.ending {
            Ending::Exited { .. } | Ending::Signalled { .. } => (
                BiteClass::NoneExecuted,
                format!("it is not among the tests that ran; the run {}", self.run.ending.sentence()),
            ),
            stopped => (BiteClass::Timeout, stopped.sentence()),
        }
    }
}
