//! What a run means: the exit status first, then whether the report agrees, then what the base does.

mod differential;

use super::compare::Comparison;
use super::{ReportWay, Run, Runner, Runs, TestCommand};
use crate::floor::lockfiles::is_lockfile;
use crate::floor::reports::Reading;
use crate::host::path::{RepoPath, escape};
use crate::host::process::Ending;
use crate::receipts::{CaseResult, Finding, Remedy, State, TestCase};

/// At most this many names stand in one sentence.
const MOST_NAMES: usize = 10;

/// What one run amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Exit 0, tests executed, the report agrees.
    Green,
    /// A failing exit.
    Red,
    /// Exit 0, although the report lists failures.
    Contradicted,
    /// No test was executed.
    Zero,
    /// Exit 0 without the report that the runner was told to write.
    Silent,
    /// Exit 0 with a report that proves nothing.
    Unreadable,
    /// Exit 0 of a runner we cannot read.
    Unreported,
    /// Stopped by us, or never started: it says nothing.
    Stopped,
}

fn shape(runner: Runner, run: &Run) -> Shape {
    shape_of(runner, &run.ending, &run.reading)
}

fn shape_of(runner: Runner, ending: &Ending, reading: &Reading) -> Shape {
    match ending {
        // pytest's and nextest's own ways to say that they collected nothing.
        Ending::Exited { code: 5 } if runner == Runner::Pytest && reading.failed == 0 => Shape::Zero,
        Ending::Exited { code: 4 } if runner == Runner::Nextest && reading.failed == 0 => Shape::Zero,
        // Others fail like any failure and write an empty list.
        Ending::Exited { code: 1 } if is_empty_list(runner, reading) => Shape::Zero,
        Ending::Exited { code: 0 } if reading.failed > 0 => Shape::Contradicted,
        Ending::Exited { code: 0 } if reading.unwritten && writes_always(runner) => Shape::Silent,
        // Build tools write nothing where there is nothing to test.
        Ending::Exited { code: 0 } if reading.unwritten && builds(runner) => Shape::Zero,
        Ending::Exited { code: 0 } => match reading.executed {
            _ if reading.distrusted => Shape::Unreadable,
            Some(0) => Shape::Zero,
            None if reading.trouble.is_empty() => Shape::Unreported,
            _ if !reading.trouble.is_empty() => Shape::Unreadable,
            _ => Shape::Green,
        },
        Ending::Exited { .. } | Ending::Signalled { .. } => Shape::Red,
        _ => Shape::Stopped,
    }
}

fn is_empty_list(runner: Runner, reading: &Reading) -> bool {
    matches!(runner, Runner::Jest | Runner::Vitest | Runner::Mocha | Runner::Phpunit)
        && reading.failed == 0
        && reading.executed == Some(0)
        && reading.cases.is_empty()
        && !reading.distrusted
}

/// True for a runner that ends with its report, even an empty one: where that is missing, something else ended the run.
fn writes_always(runner: Runner) -> bool {
    matches!(
        runner,
        Runner::Pytest
            | Runner::NodeTest
            | Runner::Nextest
            | Runner::Jest
            | Runner::Vitest
            | Runner::Mocha
            | Runner::Phpunit
    )
}

fn builds(runner: Runner) -> bool {
    matches!(runner, Runner::Maven | Runner::Gradle | Runner::Dotnet)
}

/// True if a run is worth repeating: it failed by itself, in a room that was ready and is as it was.
pub(super) fn wants_repetition(runner: Runner, run: &Run) -> bool {
    let last = run.again.last();
    let now = match last {
        Some(again) => shape_of(runner, &again.ending, &again.reading),
        None => shape(runner, run),
    };
    run.unready.is_none() && run.rewritten().is_none() && matches!(now, Shape::Red | Shape::Contradicted)
}

/// True if a report says what it says, so that a stored run is as good as a new one.
pub(super) fn is_readable(reading: &Reading) -> bool {
    !reading.distrusted && reading.trouble.is_empty()
}

/// True if only the base can tell what the claim's result means.
pub(super) fn needs_base(runner: Runner, claim: &Result<Run, String>) -> bool {
    let Ok(run) = claim else { return false };
    if run.unready.is_some() {
        return false;
    }
    matches!(shape(runner, run), Shape::Red | Shape::Contradicted | Shape::Zero | Shape::Silent)
}

/// The findings about one command.
pub(super) fn judge(
    command: &TestCommand,
    claim: &Result<Run, String>,
    base: Option<&Result<Run, String>>,
    compared: Option<&Comparison>,
) -> Vec<Finding> {
    let run = match claim {
        Ok(run) => run,
        Err(why) => return vec![finding(State::Unknown, command, why.clone())],
    };
    let mut findings = Vec::new();
    let before = base.and_then(|base| base.as_ref().ok());
    let before_shape = before.map(|before| shape(command.runner, before));
    match shape(command.runner, run) {
        Shape::Green => {}
        _ if run.unready.is_some() => {
            let why = run.unready.as_deref().unwrap_or_default();
            findings.push(finding(
                State::Unknown,
                command,
                format!("environment: {}; before that, {why}", measured(run)),
            ));
        }
        Shape::Stopped => {
            // A limit is ours: what was measured is told, and nobody is blamed for it.
            findings.push(finding(State::Unknown, command, measured(run)));
        }
        Shape::Silent => findings.push(silent(command, run, base, before_shape)),
        Shape::Unreadable => {
            let why = format!("it exited with code 0, but {}", run.reading.trouble.join("; "));
            findings.push(finding(State::Unknown, command, why));
        }
        Shape::Unreported => {
            let why = match &command.report {
                ReportWay::None(why) => why,
                _ => "its report does not say",
            };
            let why = format!(
                "it exited with code 0, but which tests ran is unknown: {why}; declare its report under `tests.report` \
                 and `tests.format`"
            );
            findings.push(finding(State::Unknown, command, why));
        }
        Shape::Red => match compared.filter(|found| found.tells_failures()) {
            Some(found) => findings.extend(differential::failures(command, run, found)),
            None => findings.push(red(command, run, base, before_shape)),
        },
        Shape::Contradicted => {
            let names = listed(&failing(&run.reading.cases));
            let why =
                format!("it exited with code 0 although its report lists {} failing: {names}", run.reading.failed);
            // On a red base the same failures still made the run fail: the claim took that away.
            let told = is_green(before_shape) || before_shape == Some(Shape::Red);
            let state = if told { State::Deny } else { State::Unknown };
            findings.push(finding(state, command, format!("{why}; {}", base_in_words(base, before_shape))));
        }
        Shape::Zero => findings.push(zero(command, run, before)),
    }
    if let Some(found) = compared {
        findings.extend(differential::asides(command, found));
    }
    findings.extend(rewritten(command, run));
    findings
}

/// A package manager brings its lockfile up to date as it runs, for whoever runs it; nothing under test is in it. Any
/// other tracked file that a run rewrites was not tested as it was frozen.
fn rewritten(command: &TestCommand, run: &Run) -> Vec<Finding> {
    let (locks, others): (Vec<&RepoPath>, Vec<&RepoPath>) = run.changed.iter().partition(|path| is_lockfile(path));
    let shown = |paths: &[&RepoPath]| listed(&paths.iter().map(ToString::to_string).collect::<Vec<_>>());
    let mut findings = Vec::new();
    if !locks.is_empty() {
        let why = format!("the run brought lockfiles up to date: {}", shown(&locks));
        findings.push(finding(State::Info, command, why));
    }
    if !others.is_empty() {
        let why =
            format!("the run changed tracked files, so what was tested is not what was frozen: {}", shown(&others));
        findings.push(finding(State::Unknown, command, why));
    }
    findings
}

fn red(command: &TestCommand, run: &Run, base: Option<&Result<Run, String>>, before: Option<Shape>) -> Finding {
    let failing = failing(&run.reading.cases);
    let what = if !failing.is_empty() {
        format!("{} failed: {}", run.ending.sentence(), listed(&failing))
    } else if run.reading.complete {
        format!("{}, although its report lists no failure", run.ending.sentence())
    } else {
        run.ending.sentence()
    };
    if run.again.iter().any(|again| again.ending.is_success()) {
        let why = format!("it {what}, and passed when it was run again: it is unstable, and which test is not known");
        return finding(State::Unknown, command, why);
    }
    if is_green(before) {
        return finding(State::Deny, command, format!("it {what}; on the base it passes"));
    }
    let known: Vec<String> =
        base.and_then(|base| base.as_ref().ok()).map(|b| self::failing(&b.reading.cases)).unwrap_or_default();
    let new: Vec<String> = failing.into_iter().filter(|name| !known.contains(name)).collect();
    let new = if known.is_empty() || new.is_empty() {
        String::new()
    } else {
        format!("; new on the claim: {}", listed(&new))
    };
    let hint = "what git ignores is not in a room: name the commands that make it under `tests.setup`";
    let why = format!("environment: it {what}; {}{new}; {hint}", base_in_words(base, before));
    finding(State::Unknown, command, why)
}

fn zero(command: &TestCommand, run: &Run, before: Option<&Run>) -> Finding {
    let what = if run.reading.skipped > 0 {
        format!("no test was executed, {} were skipped", run.reading.skipped)
    } else {
        "no test was executed".to_owned()
    };
    match before.and_then(|before| before.reading.executed) {
        Some(count) if count > 0 => finding(State::Deny, command, format!("{what}; on the base {count} ran")),
        Some(_) => finding(State::Unknown, command, format!("{what}; on the base none ran either")),
        None => finding(State::Unknown, command, format!("{what}; how many ran on the base is unknown")),
    }
}

/// A runner that ends by itself writes its report; a program that calls `exit(0)` from inside a test ends it before.
fn silent(command: &TestCommand, run: &Run, base: Option<&Result<Run, String>>, before: Option<Shape>) -> Finding {
    let what = format!(
        "it exited with code 0, but {}: something ended the runner before it could, as an exit from inside a test does",
        run.reading.trouble.join("; ")
    );
    match before {
        Some(Shape::Green | Shape::Red | Shape::Contradicted) if has_report(base) => {
            finding(State::Deny, command, format!("{what}; on the base it wrote one"))
        }
        _ => {
            let hint = match command.runner {
                Runner::Nextest => "; if `.config/nextest.toml` names a JUnit report, declare it under `tests.report`",
                _ => "",
            };
            let why = format!("{what}; {}{hint}", base_in_words(base, before));
            finding(State::Unknown, command, why)
        }
    }
}

fn has_report(base: Option<&Result<Run, String>>) -> bool {
    base.is_some_and(|base| base.as_ref().is_ok_and(|run| !run.reading.unwritten && run.has_tests()))
}

/// The exit status is the truth on the base too; a base that executed nothing is not green.
fn is_green(shape: Option<Shape>) -> bool {
    matches!(shape, Some(Shape::Green | Shape::Unreported | Shape::Unreadable))
}

fn base_in_words(base: Option<&Result<Run, String>>, shape: Option<Shape>) -> String {
    match (base, shape) {
        (None, _) => "the base has no such command to compare with".to_owned(),
        (Some(Err(why)), _) => format!("the base could not be tested: {why}"),
        (Some(Ok(_)), Some(Shape::Zero)) => "on the base no test was executed".to_owned(),
        (Some(Ok(run)), Some(Shape::Red)) => {
            let names = failing(&run.reading.cases);
            let names = if names.is_empty() { String::new() } else { format!(": {}", listed(&names)) };
            format!("on the base it {} too{names}", run.ending.sentence())
        }
        (Some(Ok(_)), Some(Shape::Contradicted)) => "the base does the same".to_owned(),
        (Some(Ok(run)), _) => format!("on the base: {}", run.ending.sentence()),
    }
}

fn measured(run: &Run) -> String {
    let read = match run.reading.executed {
        Some(count) => format!("; {count} tests had run by then"),
        None => String::new(),
    };
    format!("{}{read}", run.ending.sentence())
}

fn failing(cases: &[TestCase]) -> Vec<String> {
    let failed = cases.iter().filter(|case| case.result >= CaseResult::Failed);
    failed.map(full_name).collect()
}

fn full_name(case: &TestCase) -> String {
    if case.suite.is_empty() { case.name.clone() } else { format!("{}::{}", case.suite, case.name) }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST_NAMES) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

fn finding(state: State, command: &TestCommand, observed: String) -> Finding {
    let root = if command.root.as_bytes().is_empty() { String::new() } else { format!(" in {}", command.root) };
    Finding {
        state,
        place: format!("`{}`{root}", escape(command.command.as_bytes())),
        expected: "the tests run and pass".to_owned(),
        observed,
        remedy: if state == State::Deny { Remedy::Fix } else { Remedy::AskUser },
    }
}

/// One line: what ran.
pub(super) fn summary(commands: &[TestCommand], claim: &Runs) -> String {
    let parts = commands.iter().zip(claim).map(|(command, run)| {
        let name = format!("`{}` ({})", escape(command.command.as_bytes()), command.source);
        match run {
            Ok(run) => {
                let leak = run.leak.as_ref().map(|folder| {
                    format!(", packages of {} were visible to it", escape(folder.as_os_str().as_encoded_bytes()))
                });
                let count = match run.reading.executed {
                    Some(count) => format!("{count} executed, {} skipped", run.reading.skipped),
                    None => "executed tests unknown".to_owned(),
                };
                format!("{name}: {count}{}", leak.unwrap_or_default())
            }
            Err(_) => format!("{name}: not run"),
        }
    });
    parts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::tests_run::{ReportWay, Through};

    fn run(code: i32, executed: Option<u64>, failed: u64) -> Run {
        let case = TestCase { suite: String::new(), name: "t".to_owned(), file: None, result: CaseResult::Failed };
        let reading = Reading {
            format: "junit".to_owned(),
            cases: if failed > 0 { vec![case] } else { Vec::new() },
            executed,
            failed,
            complete: true,
            ..Reading::default()
        };
        Run {
            ending: Ending::Exited { code },
            reading,
            changed: Vec::new(),
            leak: None,
            unready: None,
            again: Vec::new(),
            place: 0,
            said: None,
        }
    }

    fn state(runner: Runner, claim: Run, base: Option<Run>) -> State {
        let command = TestCommand {
            command: "x".to_owned(),
            root: RepoPath::from(""),
            source: "base:x".to_owned(),
            runner,
            report: ReportWay::None("nobody knows"),
            through: Through::Directly,
        };
        let findings = judge(&command, &Ok(claim), base.map(Ok).as_ref(), None);
        findings.iter().map(|f| f.state).max().unwrap_or(State::Pass)
    }

    #[test]
    fn a_run_means_what_exit_status_report_and_base_say_together() {
        let (green, red, zero) = (run(0, Some(3), 0), run(1, Some(3), 1), run(0, Some(0), 0));
        let lie = run(0, Some(3), 1);
        let silent = run(0, None, 0);
        let hung = Run {
            ending: Ending::TimedOut { ran_for_ms: 9, last_output_ago_ms: None, lines: 0, last_error: None },
            ..green.clone()
        };
        let crash = Run { ending: Ending::Signalled { signal: 11 }, ..green.clone() };
        for (claim, base, expected) in [
            (&green, None, State::Pass),
            (&red, Some(&green), State::Deny),
            (&red, Some(&red), State::Unknown),
            (&red, Some(&hung), State::Unknown),
            (&red, Some(&zero), State::Unknown),
            (&red, None, State::Unknown),
            (&crash, Some(&green), State::Deny),
            (&zero, Some(&green), State::Deny),
            (&zero, Some(&zero), State::Unknown),
            (&lie, Some(&green), State::Deny),
            (&lie, Some(&lie), State::Unknown),
            (&lie, Some(&red), State::Deny),
            (&silent, Some(&green), State::Unknown),
            (&hung, Some(&green), State::Unknown),
        ] {
            assert_eq!(state(Runner::NodeTest, claim.clone(), base.cloned()), expected, "{claim:?} {base:?}");
        }
        assert_eq!(state(Runner::Pytest, run(5, None, 0), Some(green.clone())), State::Deny);
        let meddling = Run { changed: vec![RepoPath::from("a")], ..green.clone() };
        assert_eq!(state(Runner::NodeTest, meddling, None), State::Unknown);
        let locking = Run { changed: vec![RepoPath::from("web/package-lock.json")], ..green.clone() };
        assert_eq!(state(Runner::NodeTest, locking, None), State::Info);
        let both = Run { changed: vec![RepoPath::from("a"), RepoPath::from("Cargo.lock")], ..green.clone() };
        assert_eq!(state(Runner::NodeTest, both, None), State::Unknown);
        let unready = Some("the set-up failed".to_owned());
        assert_eq!(state(Runner::Npm, Run { unready: unready.clone(), ..red }, Some(green.clone())), State::Unknown);
        assert_eq!(state(Runner::NodeTest, Run { unready, ..green.clone() }, None), State::Pass);
        let torn = Run { reading: Reading { distrusted: true, ..green.reading.clone() }, ..green };
        assert_eq!(state(Runner::NodeTest, torn, None), State::Unknown);
    }
}
