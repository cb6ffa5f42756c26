//! A task under way: a board at the base, passing tests, a worktree for the worker, and its judgement.

use super::{Board, FakeVerifier, Outcome, TestRepo, assert_again_changes_nothing, assert_invariants, write};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The task of every stage.
pub(crate) const TASK: &str = "w-001";

/// A program that always finds one passing test, and says so in a report that is read.
const TESTS: &str = "printf '<testsuite><testcase name=\"works\"/></testsuite>' > out.xml\n";

/// One task in `doing`, its worktree, and a test command that passes wherever it runs.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) repo: TestRepo,
    pub(crate) base: String,
}

impl Stage {
    /// A task that asks for this file, in a fresh repository.
    pub(crate) fn asking_for(path: &str) -> Self {
        Self::of(TestRepo::new(), path)
    }

    /// A task that asks for this file, in this repository. What lies in the repository uncommitted becomes the base's.
    pub(crate) fn of(repo: TestRepo, path: &str) -> Self {
        Self::on(repo, &Board::two_root(TASK).criterion(&format!("It is there — file: `{path}`")))
    }

    /// A task that asks for `done.txt`, beside whatever lies in this repository.
    pub(crate) fn asking_in(repo: TestRepo) -> Self {
        Self::of(repo, "done.txt")
    }

    /// This board in this repository.
    pub(crate) fn on(repo: TestRepo, board: &Board) -> Self {
        Self::on_page(repo, board, board.task().as_bytes())
    }

    /// This board in this repository, its task file with these bytes.
    pub(crate) fn on_page(repo: TestRepo, board: &Board, page: &[u8]) -> Self {
        repo.write("run.sh", TESTS);
        repo.write(".agentheim/countersign.yaml", "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\n");
        board.commit(&repo);
        repo.write(board.task_path(), page);
        let base = repo.commit("task");
        repo.add_worktree(TASK);
        Self { repo, base }
    }

    /// The worker's worktree.
    pub(crate) fn worktree(&self) -> PathBuf {
        self.repo.path().join(".worktrees").join(TASK)
    }

    /// The worker writes a file.
    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        write(&self.worktree(), path, bytes);
    }

    /// The worker uses git.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.repo.git_in(&self.worktree(), args)
    }

    /// The worker reports success and these files.
    pub(crate) fn report(&self, files: &str) {
        self.report_bytes(report(files).as_bytes());
    }

    /// The worker's report, byte for byte.
    pub(crate) fn report_bytes(&self, bytes: &[u8]) {
        self.repo.write(format!(".worktrees/.results/{TASK}.iter-1.md"), bytes);
    }

    /// The verifier `fake` of the user's settings becomes this one; `more` are further lines of them.
    pub(crate) fn verifier(&self, fake: &FakeVerifier, more: &str) {
        let program = fake.install(&self.repo);
        let text = format!("verifier: fake\nverifiers:\n  fake:\n    command: ['{}']\n{more}", program.display());
        write(self.repo.root(), "home/.config/countersign/settings.yaml", text);
    }

    /// Judges the task from the main worktree and asserts the invariants.
    pub(crate) fn judge(&self) -> Judged {
        self.judge_with(&[])
    }

    /// The same with further arguments.
    pub(crate) fn judge_with(&self, args: &[&str]) -> Judged {
        judge(&self.repo, &[&["verify", TASK, "--json"], args].concat())
    }
}

/// A report of success about these files.
pub(crate) fn report(files: &str) -> String {
    let count = if files.is_empty() { 0 } else { files.split(',').count() };
    let header = format!(
        "RESULT: SUCCESS\nTASK_ID: {TASK}\nSUMMARY: it is done\nFILES_CHANGED: {count}\nFILE_LIST: {files}\n\
         ADRS_WRITTEN: none\nTESTS_ADDED: 0\nTESTS_PASSING: yes\nTDD_SKIPPED: a page\nCONCEPT_CANDIDATE: none\n"
    );
    let block = |name: &str, content: &str| format!("````{name}\n{content}````\n");
    format!(
        "{header}{}{}{}{}{header}RESULT_END\n",
        block("README_DELTA", "[]\n"),
        block("ADRS", ""),
        block("OUTCOME", "## Outcome\n\nDone.\n"),
        block("BACKLOG_ITEMS", "")
    )
}

/// Runs a judgement with `--json` and asserts the invariants.
pub(crate) fn judge(repo: &TestRepo, args: &[&str]) -> Judged {
    let before = repo.fingerprint();
    let outcome = repo.run(args);
    assert_invariants(&before, &outcome, repo);
    assert!(matches!(outcome.code, Some(0 | 1 | 3)), "no judgement\n{outcome}");
    let document = outcome.json();
    Judged { outcome, document, args: args.iter().map(|arg| (*arg).to_owned()).collect() }
}

/// A judgement whose invariants hold.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) outcome: Outcome,
    document: Value,
    args: Vec<String>,
}

impl Judged {
    /// Asserts the decision: `land`, `send-back`, `hold`.
    pub(crate) fn is(self, kind: &str) -> Self {
        assert_eq!(self.document["decision"]["kind"], kind, "{}", self.outcome);
        self
    }

    /// Asserts that it is not a PASS.
    pub(crate) fn never_lands(self) -> Self {
        assert!(!matches!(self.document["decision"]["kind"].as_str(), Some("land" | "skip")), "{}", self.outcome);
        self
    }

    /// Asserts that a second run says the same and changes nothing. A hold is tried again (RULINGS 4), so there another
    /// attempt is sealed.
    pub(crate) fn again(self, repo: &TestRepo) -> Self {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        if self.document["decision"]["kind"] == "hold" {
            let second = judge(repo, &args);
            assert_eq!(second.document["decision"], self.document["decision"], "{}", second.outcome);
            assert_eq!(second.document["claim"]["tree"], self.document["claim"]["tree"], "{}", second.outcome);
        } else {
            assert_again_changes_nothing(&self.outcome, repo, &args);
        }
        self
    }

    /// Asserts a check's state, and that its findings hold these words.
    pub(crate) fn finds(self, check: &str, state: &str, words: &[&str]) -> Self {
        let found = self.check(check);
        assert_eq!(found["state"], state, "{check}\n{}", self.outcome);
        let text = found.to_string();
        for word in words {
            assert!(text.contains(word), "{check} does not say `{word}`: {found:#}");
        }
        self
    }

    /// Asserts that the reasons of the decision hold these words.
    pub(crate) fn because(self, words: &str) -> Self {
        assert!(
            self.document["decision"]["reasons"].to_string().contains(words),
            "not because of {words}\n{}",
            self.outcome
        );
        self
    }

    /// A check's report.
    pub(crate) fn check(&self, id: &str) -> &Value {
        let checks = self.document["floor"]["checks"].as_array().unwrap();
        checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no check {id}\n{}", self.outcome))
    }

    /// The changed paths, escaped, in order.
    pub(crate) fn changed(&self) -> Vec<&str> {
        self.document["claim"]["changed"].as_array().unwrap().iter().map(|c| c["path"].as_str().unwrap()).collect()
    }

    /// A field of the claim.
    pub(crate) fn claim(&self, field: &str) -> &str {
        self.document["claim"][field].as_str().unwrap_or_else(|| panic!("no {field}\n{}", self.outcome))
    }

    /// A value of the whole document.
    pub(crate) fn value(&self, field: &str) -> &Value {
        &self.document[field]
    }

    /// A file of the sealed case.
    pub(crate) fn sealed(&self, repo: &TestRepo, file: &str) -> String {
        repo.git(&["show", &format!("{}:{file}", self.document["case"].as_str().unwrap())])
    }

    /// A file of the claim's tree, byte for byte.
    pub(crate) fn file(&self, repo: &TestRepo, path: &str) -> Vec<u8> {
        let shown = repo.try_git_in(&repo.path(), &["cat-file", "blob", &format!("{}:{path}", self.claim("tree"))]);
        assert!(shown.status.success(), "{path} is not in the claim");
        shown.stdout
    }
}

impl Outcome {
    /// Asserts a refusal: this exit code, no answer, and one line that says all of these words.
    pub(crate) fn refuses(self, code: i32, words: &[&str]) -> Self {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self}");
        let lines: Vec<&str> = self.stderr.lines().filter(|line| !line.starts_with("· ")).collect();
        let [line] = lines[..] else { panic!("not one line\n{self}") };
        assert!(line.starts_with("error: "), "{self}");
        for word in words {
            assert!(line.contains(word), "`{word}` is not said\n{self}");
        }
        self
    }
}

#[test]
fn a_stage_is_judged_and_lands() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    stage.report("done.txt");
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.changed(), ["done.txt"]);
    assert_eq!(judged.claim("base"), stage.base);
    assert_eq!(judged.file(&stage.repo, "done.txt"), b"1\n");
}
