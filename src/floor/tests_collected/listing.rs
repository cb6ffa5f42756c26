//! A runner's own list of what it would run, asked for where its report does not tell.

use super::rule::has_ending;
use super::{LISTING, Seen, TestFile, is_from, joined};
use crate::floor::Inspection;
use crate::floor::tests_run::{Facts, Job, Runner, Side, Site, TestCommand, listing_script, set_up_all};
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CaseResult, Purpose, TestCase};
use std::path::Path;

/// Lines of a listing that are read.
const MOST_LINES: usize = 200_000;

/// What one listing says.
struct Listed {
    cases: Vec<TestCase>,
    /// True if the runner came to the end of a list that we can read.
    is_whole: bool,
    ending: String,
}

/// The listings of an attempt, each asked for once.
pub(super) struct Listings<'a> {
    on: &'a Inspection<'a>,
    logs: &'a Path,
    done: Vec<(TestCommand, Result<Listed, String>)>,
}

impl<'a> Listings<'a> {
    pub(super) fn new(on: &'a Inspection<'a>, logs: &'a Path) -> Self {
        Self { on, logs, done: Vec::new() }
    }

    /// Asks the runners of these commands for a file of which the reports did not tell; `why` says why not.
    pub(super) fn ask(&mut self, able: &[&TestCommand], file: &TestFile, why: String, runs: &mut Vec<Facts>) -> Seen {
        let mut said = Seen::Unclear(why);
        for command in able {
            let Some(script) = listing_script(command) else { continue };
            if !self.done.iter().any(|(done, _)| done == *command) {
                let listed = self.list(command, &script, runs);
                self.done.push(((*command).clone(), listed));
            }
            let Some((_, listed)) = self.done.iter().find(|(done, _)| done == *command) else { continue };
            match listed {
                Ok(listed) if listed.cases.iter().any(|case| is_from(case, file)) => return Seen::Yes(LISTING),
                Ok(listed) if listed.is_whole => {
                    said = Seen::No("the runner's own listing does not have it".to_owned());
                }
                Ok(listed) => said = doubt(said, &format!("its listing {}", listed.ending)),
                Err(why) => said = doubt(said, why),
            }
        }
        said
    }

    fn list(&self, command: &TestCommand, script: &str, runs: &mut Vec<Facts>) -> Result<Listed, String> {
        let on = self.on;
        let commit = on.claim.commit.as_ref().ok_or("the work was not frozen as a commit")?;
        let site = Site::open(on.repo, on.settings, self.logs, Side::Claim, commit)
            .map_err(|why| format!("there is no room to list tests in: {why}"))?;
        set_up_all(&site, &on.settings.tests, std::slice::from_ref(command), runs)?;
        let (facts, ended) = site.run(&Job {
            purpose: Purpose::Listing,
            command: script,
            script,
            root: &command.root,
            fetches: false,
            shared_memory: command.runner == Runner::Pytest,
        });
        runs.push(facts);
        let is_cut = ended.stdout_total > ended.stdout.len() as u64;
        let root = site.room().path().join(command.root.to_path_buf());
        let cases = cases(command, &String::from_utf8_lossy(&ended.stdout), &root.to_string_lossy());
        let is_whole = ended.ending.is_success() && !is_cut && !cases.is_empty();
        Ok(Listed { cases, is_whole, ending: ended.ending.sentence() })
    }
}

fn doubt(said: Seen, more: &str) -> Seen {
    match said {
        Seen::Unclear(why) => Seen::Unclear(format!("{why}, and {more}")),
        other => other,
    }
}

/// The lines of a listing as cases: of some runners they name files, of others tests.
fn cases(command: &TestCommand, text: &str, root: &str) -> Vec<TestCase> {
    let case = |suite: &str, name: &str, file: Option<&str>| TestCase {
        suite: escape(suite.as_bytes()),
        name: escape(name.as_bytes()),
        file: file.map(|file| RepoPath::from_bytes(joined(&command.root, &RepoPath::from(file)))),
        result: CaseResult::Skipped,
    };
    let below = |line: &str| line.strip_prefix(root).map_or(line, |rest| rest.trim_start_matches('/')).to_owned();
    let mut binary = String::new();
    let mut found = Vec::new();
    for line in text.lines().take(MOST_LINES).map(str::trim) {
        match command.runner {
            Runner::CargoTest | Runner::Nextest => {
                if let Some(target) = line.strip_prefix("Running ") {
                    // `Running tests/a.rs (target/…)`, `Running unittests src/lib.rs (target/…)`.
                    let target = target.split(" (").next().unwrap_or_default();
                    let target = target.rsplit(' ').next().unwrap_or_default();
                    target.strip_suffix(".rs").unwrap_or(target).clone_into(&mut binary);
                } else if let Some(name) = line.strip_suffix(": test") {
                    found.push(case(&binary, name, None));
                }
            }
            Runner::GoTest if line.starts_with("Test") && !line.contains(' ') => found.push(case("", line, None)),
            Runner::Pytest => {
                if let Some((file, name)) = line.split_once("::").filter(|(file, _)| has_ending(file, "py")) {
                    found.push(case("", name, Some(file)));
                } else if let Some((file, number)) = line.split_once(": ")
                    && has_ending(file, "py")
                    && number.bytes().all(|byte| byte.is_ascii_digit())
                {
                    // With two `-q` it prints how many each file has.
                    found.push(case("", "", Some(file)));
                }
            }
            Runner::Jest | Runner::Vitest if line.contains('.') && !line.contains(' ') => {
                found.push(case("", "", Some(&below(line))));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::tests_run::{ReportWay, Through};

    #[test]
    fn each_runners_listing_is_read_as_it_is_printed() {
        let listed = |runner, text: &str| -> Vec<(String, String, Option<String>)> {
            let command = TestCommand {
                command: String::new(),
                root: RepoPath::from("web"),
                source: String::new(),
                runner,
                report: ReportWay::None("x"),
                through: Through::Directly,
            };
            let cases = cases(&command, text, "/room/web");
            cases.into_iter().map(|case| (case.suite, case.name, case.file.map(|file| file.to_string()))).collect()
        };
        let own =
            |suite: &str, name: &str, file: Option<&str>| (suite.to_owned(), name.to_owned(), file.map(str::to_owned));
        let cargo = "     Running tests/a.rs (target/debug/deps/a-1)\nouter: test\n\n1 test, 0 benchmarks\n";
        assert_eq!(listed(Runner::CargoTest, cargo), [own("tests/a", "outer", None)]);
        let pytest = "tests/test_a.py::TestX::test_b[1]\ntests/test_c.py: 2\n\n1 test collected in 0.01s\n";
        assert_eq!(
            listed(Runner::Pytest, pytest),
            [own("", "TestX::test_b[1]", Some("web/tests/test_a.py")), own("", "", Some("web/tests/test_c.py"))]
        );
        assert_eq!(listed(Runner::Jest, "/room/web/a.test.js\n"), [own("", "", Some("web/a.test.js"))]);
        assert_eq!(listed(Runner::Vitest, "src/a.test.ts\n"), [own("", "", Some("web/src/a.test.ts"))]);
        assert_eq!(listed(Runner::GoTest, "TestA\nok  \tp\t0.1s\n"), [own("", "TestA", None)]);
    }
}
