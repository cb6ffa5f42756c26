//! A remote on disk and three clones of it: the developer's, the conductor's, and the CI job's.

use super::{Board, Outcome, Stage, TASK, TestRepo, report, write};
use countersign::host::clock::Timestamp;
use countersign::host::git::{Notes, RefName, Repo};
use countersign::host::ids::CommitId;
use countersign::host::signing::find_key;
use countersign::integrate::attest::{self, Envelope, LANDING, NOTES, Statement, parse_bundle};
use countersign::integrate::{Order, land};
use countersign::pipeline::find_case;
use countersign::verdict::{Decision, judge};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Every file of `tests/` is a test: it passes if it exits 0.
const RUN: &str = "fail=0; out='<testsuite>'\nfor t in tests/*.sh; do\n  name=$(basename \"$t\" .sh)\n  \
    if sh \"$t\"; then out=\"$out<testcase name=\\\"$name\\\"/>\"\n  \
    else out=\"$out<testcase name=\\\"$name\\\"><failure/></testcase>\"; fail=1; fi\ndone\n\
    printf '%s</testsuite>' \"$out\" > out.xml\nexit $fail\n";

const SETTINGS: &str = "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\n  canary: false\n";

/// The keys of the story.
const KEYS: [&str; 4] = ["developer", "conductor", "ci", "stranger"];

/// Makes a signing key below the repository's own folder, and gives its public half.
pub(crate) fn make_key(repo: &TestRepo, name: &str) -> String {
    let file = repo.root().join("keys").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let mut made = repo.command("ssh-keygen", repo.root());
    let made = made.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&file).status();
    assert!(made.unwrap().success(), "ssh-keygen is needed");
    std::fs::read_to_string(file.with_extension("pub")).unwrap()
}

/// Has a clone sign with one of those keys.
pub(crate) fn sign_with(repo: &TestRepo, clone: &Path, key: &str) {
    let file = repo.root().join("keys").join(key);
    repo.git_in(clone, &["config", "gpg.format", "ssh"]);
    repo.git_in(clone, &["config", "user.signingkey", file.to_str().unwrap()]);
}

/// A project on a forge, with one task under way on the developer's machine.
#[derive(Debug)]
pub(crate) struct Forge {
    pub(crate) stage: Stage,
    pub(crate) remote: PathBuf,
}

impl Forge {
    /// A project whose base has these further settings of the gate.
    pub(crate) fn new(gate: &str) -> Self {
        let repo = TestRepo::new();
        let remote = repo.root().join("remote.git");
        repo.git(&["init", "-q", "--bare", "--initial-branch=main", remote.to_str().unwrap()]);
        repo.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        let mut signers = String::new();
        for name in KEYS {
            let public = make_key(&repo, name);
            if name != "stranger" {
                signers.push_str(&format!("{name}@example.invalid namespaces=\"countersign\" {public}"));
            }
        }
        repo.write(".agentheim/allowed_signers", signers);
        repo.write(".agentheim/countersign.yaml", format!("{SETTINGS}{gate}"));
        repo.write("run.sh", RUN);
        repo.write("value.txt", "1\n");
        repo.write("tests/adds.sh", "[ \"$(cat value.txt)\" = 1 ]\n");
        repo.write("tests/there.sh", "[ -f value.txt ]\n");
        let board = Board::two_root(TASK).criterion("It is there — file: `done.txt`");
        board.commit(&repo);
        let base = repo.commit("task");
        repo.git(&["push", "-q", "origin", "main"]);
        let forge = Self { stage: Stage { repo, base }, remote };
        forge.sign_with(&forge.top(), "developer");
        forge.stage.repo.branch("pr");
        forge.stage.repo.add_worktree(TASK);
        forge
    }

    /// The same, with the task done, judged, landed on `pr` with a signed note, and pushed.
    pub(crate) fn landed(gate: &str) -> Self {
        let forge = Self::new(gate);
        forge.work();
        forge.land(TASK);
        forge.developer(&["push"]).exits(0);
        forge
    }

    /// The developer's clone.
    pub(crate) fn top(&self) -> PathBuf {
        self.stage.repo.path()
    }

    /// Which key a clone signs with.
    pub(crate) fn sign_with(&self, clone: &Path, key: &str) {
        sign_with(&self.stage.repo, clone, key);
    }

    /// The public key of this name.
    pub(crate) fn public_key(&self, name: &str) -> PathBuf {
        self.stage.repo.root().join("keys").join(name).with_extension("pub")
    }

    pub(crate) fn git(&self, clone: &Path, args: &[&str]) -> String {
        self.stage.repo.git_in(clone, args)
    }

    /// Does the task in its worktree, and has it judged.
    pub(crate) fn work(&self) {
        self.stage.write("done.txt", "done\n");
        self.stage.report_bytes(report("done.txt").as_bytes());
        self.stage.judge().is("land");
    }

    /// Lands the judged task on the branch that is checked out.
    pub(crate) fn land(&self, task: &str) -> String {
        self.land_in(&self.top(), task)
    }

    pub(crate) fn land_in(&self, clone: &Path, task: &str) -> String {
        let host = self.stage.repo.host();
        let repo = Repo::discover(&host, clone).unwrap();
        let sealed = find_case(&repo, task, None).unwrap();
        let Decision::Land(warrant) = judge(&sealed.attempt.receipts) else { panic!("no warrant") };
        let branch = format!("refs/heads/{}", repo.current_branch().unwrap().unwrap());
        let target = RefName::new(&branch).unwrap();
        let message = format!("feature(w): it is done [{task}]\n");
        let order = Order {
            task,
            target: &target,
            message: &message,
            books: None,
            verified: &[],
            case: Some(&sealed.commit),
            at: Timestamp(1_700_000_900),
        };
        let landed = land(&repo, warrant, &order).unwrap();
        assert_eq!((&landed.record().note_missing, &landed.record().note_unsigned), (&None, &None));
        landed.record().commit.to_string()
    }

    /// The binary in the developer's clone.
    pub(crate) fn developer(&self, args: &[&str]) -> Outcome {
        self.run(&self.top(), args)
    }

    pub(crate) fn run(&self, clone: &Path, args: &[&str]) -> Outcome {
        self.stage.repo.run_with(clone, args, &[], b"")
    }

    pub(crate) fn run_with(&self, clone: &Path, args: &[&str], vars: &[(&str, &OsStr)]) -> Outcome {
        self.stage.repo.run_with(clone, args, vars, b"")
    }

    /// The binary in the developer's clone, and the git programs that it starts outside of boxes, one line each.
    pub(crate) fn count_git(&self, args: &[&str]) -> (Outcome, Vec<String>) {
        let root = self.stage.repo.root();
        let list = root.join("gits");
        std::fs::write(&list, "").unwrap();
        let git = self.stage.repo.host().git;
        let script = format!(
            "#!/bin/sh\necho \"$*\" 2>/dev/null >> '{}' || true\nexec '{}' \"$@\"\n",
            list.display(),
            git.display()
        );
        super::write_script(&root.join("counting/git"), &script);
        let mut path = root.join("counting").into_os_string();
        path.push(":");
        path.push(super::variable("PATH").unwrap());
        let outcome = self.run_with(&self.top(), args, &[("PATH", &path)]);
        (outcome, std::fs::read_to_string(&list).unwrap().lines().map(str::to_owned).collect())
    }

    /// A fresh clone, its `origin` the remote; `options` are those of `git clone`.
    pub(crate) fn clone_as(&self, name: &str, options: &[&str]) -> PathBuf {
        let place = self.stage.repo.root().join(name);
        let url = format!("file://{}", self.remote.display());
        let words = [&["clone", "-q"], options, &[url.as_str(), place.to_str().unwrap()]].concat();
        self.git(self.stage.repo.root(), &words);
        self.sign_with(&place, name.split('-').next().unwrap());
        place
    }

    /// What the CI job of a pull request does: clone, fetch the evidence, judge. `more` are further words of `ci`.
    pub(crate) fn job(&self, name: &str, more: &[&str]) -> Gated {
        let clone = self.clone_as(name, &["--no-checkout"]);
        self.git(&clone, &["checkout", "-q", "--detach", "origin/pr"]);
        self.run(&clone, &["fetch"]);
        self.judge_in(&clone, &[&["--base", "origin/main", "--head", "origin/pr"], more].concat())
    }

    /// `ci` in a clone, as one document.
    pub(crate) fn judge_in(&self, clone: &Path, words: &[&str]) -> Gated {
        let outcome = self.run(clone, &[&["ci", "--format", "json"], words].concat());
        let document = serde_json::from_str(&outcome.stdout).unwrap_or_else(|why| panic!("{why}\n{outcome}"));
        Gated { outcome, document }
    }

    /// Changes what the note of a commit says and signs it anew with the clone's key, or leaves the signature as it was.
    pub(crate) fn rewrite_note(&self, commit: &str, sign: bool, edit: &dyn Fn(&mut Value)) {
        let host = self.stage.repo.host();
        let repo = Repo::discover(&host, &self.top()).unwrap();
        let (name, commit) = (RefName::new(NOTES).unwrap(), CommitId::new(commit).unwrap());
        let note = Notes::open(&repo, &name).unwrap().get(&commit).unwrap().unwrap();
        let mut lines = String::new();
        let mut statements: Vec<Statement> = Vec::new();
        for envelope in parse_bundle(&note).0 {
            let mut statement = envelope.statement().unwrap();
            if statement.predicate_type == LANDING {
                edit(&mut statement.predicate);
            }
            let edited = Envelope { signatures: envelope.signatures.clone(), ..Envelope::of(&statement) };
            lines.push_str(&edited.line());
            lines.push('\n');
            statements.push(statement);
        }
        self.drop_note(commit.as_str());
        if sign {
            attest::write(&repo, &commit, &statements, find_key(&repo, None), Timestamp(1_700_000_950)).unwrap();
        } else {
            repo.add_to_note(&name, &commit, &lines, Timestamp(1_700_000_950)).unwrap();
        }
    }

    /// So many landings more on the branch, one after the other, as notes have them.
    pub(crate) fn land_more(&self, count: usize) {
        let host = self.stage.repo.host();
        let repo = Repo::discover(&host, &self.top()).unwrap();
        let head = repo.resolve("HEAD").unwrap().unwrap();
        let notes = Notes::open(&repo, &RefName::new(NOTES).unwrap()).unwrap();
        let mut landing = attest::landing_in(&notes.get(&head).unwrap().unwrap(), &head).unwrap();
        for number in 0..count {
            write(&self.top(), format!("more-{number}.txt"), "more\n");
            let commit = self.stage.repo.commit(&format!("feature(w): more [{TASK}]"));
            landing.parent = landing.commit.clone();
            landing.parent_tree = Some(landing.tree.clone());
            landing.commit = CommitId::new(&commit).unwrap();
            landing.tree = repo.tree_of(&landing.commit).unwrap();
            let statement = attest::landing_statement(&landing);
            let at = Timestamp(1_700_000_960);
            attest::write(&repo, &landing.commit, &[statement], find_key(&repo, None), at).unwrap();
        }
    }

    pub(crate) fn drop_note(&self, commit: &str) {
        self.git(&self.top(), &["notes", &format!("--ref={NOTES}"), "remove", commit]);
    }

    /// Overwrites what is shared with what the developer has: what a person with every right can do.
    pub(crate) fn force_notes(&self) {
        let spec = format!("+{NOTES}:{NOTES}");
        self.git(&self.top(), &["push", "-q", "--force", "origin", &spec]);
        let there = self.git(&self.top(), &["ls-remote", "origin", "refs/countersign/ledger"]);
        if !there.is_empty() {
            self.git(&self.top(), &["push", "-q", "origin", ":refs/countersign/ledger"]);
        }
    }

    /// A commit on the branch that is checked out in the developer's clone, pushed.
    pub(crate) fn commit(&self, path: &str, text: &str, message: &str) -> String {
        write(&self.top(), path, text);
        let commit = self.stage.repo.commit(message);
        self.git(&self.top(), &["push", "-q", "--force", "origin", "HEAD"]);
        commit
    }

    /// A commit on `main` of the remote, by somebody else.
    pub(crate) fn base_moves(&self, path: &str, text: &str) {
        let place = self.stage.repo.root().join(format!("other-{}", path.replace('/', "-")));
        self.git(self.stage.repo.root(), &["clone", "-q", self.remote.to_str().unwrap(), place.to_str().unwrap()]);
        write(&place, path, text);
        self.stage.repo.commit_in(&place, "somebody else");
        self.git(&place, &["push", "-q", "origin", "main"]);
        self.git(&self.top(), &["fetch", "-q", "origin"]);
    }
}

/// What the gate said.
#[derive(Debug)]
pub(crate) struct Gated {
    pub(crate) outcome: Outcome,
    pub(crate) document: Value,
}

impl Gated {
    /// Asserts decision and exit code.
    pub(crate) fn is(self, decision: &str, code: i32) -> Self {
        assert_eq!(self.document["decision"], decision, "{}", self.outcome);
        assert_eq!(self.outcome.code, Some(code), "{}", self.outcome);
        assert_eq!(self.document["exit"], code, "{}", self.outcome);
        self
    }

    /// Asserts that the reasons hold these words.
    pub(crate) fn because(self, words: &[&str]) -> Self {
        let reasons = self.document["reasons"].to_string();
        for word in words {
            assert!(reasons.contains(word), "`{word}` is not why\n{}", self.outcome);
        }
        self
    }

    /// Asserts that a finding holds these words.
    pub(crate) fn finds(self, words: &[&str]) -> Self {
        let findings = self.document["findings"].to_string();
        for word in words {
            assert!(findings.contains(word), "`{word}` is not found\n{}", self.outcome);
        }
        self
    }

    /// The task of this id.
    pub(crate) fn task(&self, id: &str) -> &Value {
        let tasks = self.document["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["id"] == id).unwrap_or_else(|| panic!("no task {id}\n{}", self.outcome))
    }

    /// Asserts what the task's decision rests on.
    pub(crate) fn rests_on(self, id: &str, evidence: &str) -> Self {
        assert_eq!(self.task(id)["evidence"], evidence, "{}", self.outcome);
        self
    }
}
