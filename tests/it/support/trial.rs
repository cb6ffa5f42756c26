//! One task with its worker's worktree, judged by the real binary as often as a test likes.

use super::{Board, FakeVerifier, Outcome, TestRepo, assert_invariants, write};
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The project's test runner: every script in `checks/` is a test, the report is JUnit. Without it only the shell is
/// needed, so that a run takes milliseconds.
pub(crate) const RUNNER: &str = r#"#!/bin/sh
failed=0; cases=
for check in checks/*.sh; do
  name=$(basename "$check" .sh)
  if sh "$check"; then
    cases="$cases<testcase classname=\"checks\" name=\"$name\"/>"
  else
    failed=1
    cases="$cases<testcase classname=\"checks\" name=\"$name\"><failure message=\"no\"/></testcase>"
  fi
done
printf '<testsuite name="checks">%s</testsuite>\n' "$cases" > report.xml
exit $failed
"#;

/// The settings at the base.
const SETTINGS: &str = "tests:\n  command: sh run-tests.sh\n  report: report.xml\n  format: junit\n";

/// The task's id in every trial.
pub(crate) const ID: &str = "greet-001";

/// A repository with a board, a task in `doing`, the worker's worktree, and a user's settings file.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) repo: TestRepo,
    /// The worker's worktree.
    pub(crate) worktree: PathBuf,
}

impl Trial {
    /// A two-root board whose task has these criteria.
    pub(crate) fn new(criteria: &[&str]) -> Self {
        let board = criteria.iter().fold(Board::two_root(ID), |board, text| board.criterion(text));
        Self::on(&board)
    }

    /// Any board with task [`ID`].
    pub(crate) fn on(board: &Board) -> Self {
        Self::with(board, &[])
    }

    /// Any board, and further (or other) files at the base.
    pub(crate) fn with(board: &Board, files: &[(&str, &str)]) -> Self {
        Self::on_project(board, |repo| {
            repo.write("run-tests.sh", RUNNER);
            repo.write("checks/starts.sh", "test -f greeting.txt\n");
            repo.write("greeting.txt", "good day\n");
            repo.write(".agentheim/countersign.yaml", SETTINGS);
            for (path, text) in files {
                repo.write(path, text);
            }
        })
    }

    /// Any board in a project that the caller writes.
    pub(crate) fn on_project(board: &Board, write: impl FnOnce(&TestRepo)) -> Self {
        let repo = TestRepo::new();
        write(&repo);
        board.commit(&repo);
        let worktree = repo.add_worktree(ID);
        Self { repo, worktree }
    }

    /// The honest change: `greeting.txt` says hello, and test `greets` holds it to that.
    pub(crate) fn honest(self) -> Self {
        self.work("greeting.txt", "hello\n");
        self.work("checks/greets.sh", "grep -q hello greeting.txt\n");
        self
    }

    /// Writes a file of the worker's worktree.
    pub(crate) fn work(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.worktree, path, bytes);
    }

    /// Writes the user's settings file.
    pub(crate) fn settings(&self, yaml: &str) {
        write(&self.repo.root().join("home/.config"), "countersign/settings.yaml", yaml);
    }

    /// Makes this program the verifier, with further settings.
    pub(crate) fn judge_with(&self, fake: &FakeVerifier, more: &str) {
        let program = fake.install(&self.repo);
        let program = serde_json::to_string(&program).unwrap();
        self.settings(&format!("verifier: fake\nverifiers:\n  fake:\n    command: [{program}]\n{more}"));
    }

    /// Writes the worker's report where it is looked for.
    pub(crate) fn report(&self, text: &str) {
        self.repo.write(format!(".worktrees/.results/{ID}.iter-1.md"), text);
    }

    /// Judges afresh with this program as the verifier.
    pub(crate) fn ask(&self, fake: &FakeVerifier) -> Outcome {
        self.judge_with(fake, "");
        self.verify(&["--fresh"])
    }

    /// `verify <ID> --json`, the invariants, and the replay of what was sealed.
    pub(crate) fn verify(&self, args: &[&str]) -> Outcome {
        self.verify_with(args, &[])
    }

    /// As [`Trial::verify`], with further variables.
    pub(crate) fn verify_with(&self, args: &[&str], vars: &[(&str, &OsStr)]) -> Outcome {
        let before = self.repo.fingerprint();
        let args = [&["verify", ID, "--json"], args].concat();
        let outcome = self.repo.run_with(&self.repo.path(), &args, vars, b"");
        assert_invariants(&before, &outcome, &self.repo);
        assert_replays(&outcome, &self.repo);
        outcome
    }

    /// A file of the sealed case.
    pub(crate) fn sealed(&self, outcome: &Outcome, file: &str) -> String {
        let case =
            outcome.json()["case"].as_str().unwrap_or_else(|| panic!("nothing was sealed\n{outcome}")).to_owned();
        self.repo.git(&["show", &format!("{case}:{file}")])
    }

    /// The sealed receipts that record this fact.
    pub(crate) fn facts(&self, outcome: &Outcome, fact: &str) -> Vec<Value> {
        let lines = self.sealed(outcome, "receipts.jsonl");
        let receipts = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        receipts.filter(|receipt| receipt["fact"] == fact).collect()
    }
}

/// Every sealed case, decided again from its receipts alone, gives the same decision.
pub(crate) fn assert_replays(outcome: &Outcome, repo: &TestRepo) {
    let Ok(document) = serde_json::from_str::<Value>(&outcome.stdout) else { return };
    let (Some(_), Some(task)) = (document["case"].as_str(), document["task"].as_str()) else { return };
    let attempt = document["attempt"].to_string();
    let again = repo.run(&["replay", task, "--attempt", &attempt, "--json"]).exits(0).json();
    assert_eq!(again["agrees"], true, "{again:#}");
    assert_eq!(again["replayed"], document["decision"], "{again:#}");
}

impl Outcome {
    /// `land`, `send-back`, …
    pub(crate) fn decision(&self) -> String {
        self.json()["decision"]["kind"].as_str().unwrap_or_else(|| panic!("no decision\n{self}")).to_owned()
    }

    /// The codes of the decision's reasons.
    pub(crate) fn reasons(&self) -> Vec<String> {
        strings(&self.json()["decision"]["reasons"], "code")
    }

    /// The reasons in words, one line each.
    pub(crate) fn words(&self) -> String {
        strings(&self.json()["decision"]["reasons"], "text").iter().fold(String::new(), |mut all, text| {
            let _ = writeln!(all, "{text}");
            all
        })
    }

    /// What the answer was heard as, and its codes.
    pub(crate) fn heard(&self) -> (String, Vec<String>) {
        let verdict = &self.json()["verdict"];
        let heard = verdict["heard"].as_str().unwrap_or("nothing").to_owned();
        let codes = verdict["codes"].as_array().cloned().unwrap_or_default();
        let code = verdict["code"].as_str().map(str::to_owned);
        (heard, codes.iter().filter_map(Value::as_str).map(str::to_owned).chain(code).collect())
    }

    /// A check's state.
    pub(crate) fn state(&self, id: &str) -> String {
        self.check(id)["state"].as_str().unwrap_or("absent").to_owned()
    }

    /// A check with its findings.
    pub(crate) fn check(&self, id: &str) -> Value {
        let checks = self.json()["floor"]["checks"].as_array().cloned().unwrap_or_default();
        checks.into_iter().find(|check| check["id"] == id).unwrap_or(Value::Null)
    }

    /// Asserts the decision and its codes.
    pub(crate) fn decides(self, kind: &str, codes: &[&str]) -> Self {
        assert_eq!(
            (self.decision().as_str(), self.reasons()),
            (kind, codes.iter().map(ToString::to_string).collect()),
            "{self}"
        );
        self
    }

    /// Asserts a hold because the answer is unusable for exactly these codes.
    pub(crate) fn is_unusable(self, codes: &[&str]) -> Self {
        let codes = codes.iter().map(ToString::to_string).collect();
        assert_eq!(self.heard(), ("unusable".to_owned(), codes), "{self}");
        self.decides("hold", &["unusable-answer"]).exits(3)
    }
}

fn strings(list: &Value, key: &str) -> Vec<String> {
    let list = list.as_array().cloned().unwrap_or_default();
    list.iter().filter_map(|entry| entry[key].as_str()).map(str::to_owned).collect()
}
