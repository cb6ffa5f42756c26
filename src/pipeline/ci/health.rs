//! Whether the gate can say no: a claim that must fail and one that must pass, made up here and judged by the real path in
//! every run. A gate that lets the first through, or stops the second, decides nothing.

use super::own::Question;
use super::report::{Health, HealthCheck};
use crate::host::Host;
use crate::host::clock::Timestamp;
use crate::host::git::{Git, GitError, RefName, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::integrate::attest::signatures_tell_apart;
use crate::pipeline::{Observer, Outcome, TaskWord, VerifyError};
use crate::receipts::{DecisionKind, Receipt};
use crate::verdict::EMBEDDED;
use std::collections::BTreeMap;
use std::path::Path;

const SETTINGS: &str = "tests:\n  command: sh check.sh\n  report: out.xml\n  format: junit\n  canary: false\n";
const CHECK: &str = "if [ \"$(cat value.txt)\" = 1 ]; then\n  \
    printf '<testsuite><testcase name=\"value\"/></testsuite>' > out.xml\nelse\n  \
    printf '<testsuite><testcase name=\"value\"><failure/></testcase></testsuite>' > out.xml\n  exit 1\nfi\n";
const TASK: &str = "# Canary\n\n## Acceptance criteria\n\n- [ ] it is there — file: `done.txt`\n";

/// Judges both claims, and tries the reader of signatures.
pub(super) fn try_gate(host: &Host) -> Health {
    let signature = HealthCheck {
        name: "signature".to_owned(),
        works: signatures_tell_apart(),
        text: "a signed statement is told from an edited one".to_owned(),
    };
    let mut checks = match canaries(host) {
        Ok(checks) => checks,
        Err(why) => vec![HealthCheck {
            name: "canary".to_owned(),
            works: false,
            text: format!("the built-in claims could not be judged: {why}"),
        }],
    };
    checks.push(signature);
    Health { works: checks.iter().all(|check| check.works), checks }
}

fn canaries(host: &Host) -> Result<Vec<HealthCheck>, VerifyError> {
    let io = |why| VerifyError::Io { doing: "make a folder in", path: host.scratch.clone(), why };
    let folder = tempfile::Builder::new().prefix("countersign-canary-").tempdir_in(&host.scratch).map_err(io)?;
    // The user's own settings have no say in what this gate can do.
    let mut host = host.clone();
    host.env = host.env.without("COUNTERSIGN_").with("XDG_CONFIG_HOME", folder.path());
    // Nor does a room of this run outlive it.
    host.env = host.env.with("XDG_CACHE_HOME", folder.path().join("cache"));
    let top = folder.path().join("repo");
    std::fs::create_dir_all(&top).map_err(io)?;
    let stage = Stage::build(&host, &top)?;
    let claims = [
        ("canary", "value.txt", "2\n", DecisionKind::SendBack, "a claim that breaks a test is sent back"),
        ("honest", "done.txt", "done\n", DecisionKind::Land, "a claim that does what it says passes"),
    ];
    let mut checks = Vec::new();
    for (name, path, text, wanted, rule) in claims {
        let commit = stage.claim(path, text)?;
        let question =
            Question { host: &host, start: &top, base: &stage.base, commit: &commit, verifier: Some(EMBEDDED) };
        let judged = question.ask(TaskWord::Named("task.md".to_owned()), &mut Silent);
        checks.push(check(name, &judged, wanted, rule));
    }
    Ok(checks)
}

fn check(name: &str, judged: &Result<Outcome, VerifyError>, wanted: DecisionKind, rule: &str) -> HealthCheck {
    let (works, text) = match judged {
        Err(why) => (false, format!("could not be judged: {why}")),
        Ok(outcome) => {
            let by_tests = outcome.decision.reasons.iter().any(|reason| reason.code == "tests-run");
            let for_tests = wanted == DecisionKind::SendBack;
            let right = outcome.decision.kind == wanted && (!for_tests || by_tests);
            let reasons: Vec<String> =
                outcome.decision.reasons.iter().map(|reason| format!("{}: {}", reason.code, reason.text)).collect();
            let seen = format!(
                "wanted {}{}, got {} ({})",
                wanted.word(),
                if for_tests { " by the tests" } else { "" },
                outcome.decision.kind.word(),
                reasons.join("; ")
            );
            (right, if right { rule.to_owned() } else { seen })
        }
    };
    HealthCheck { name: name.to_owned(), works, text }
}

/// Hears nothing: the canary is not the user's business unless it fails.
struct Silent;

impl Observer for Silent {
    fn began(&mut self, _what: &str) {}
    fn recorded(&mut self, _receipt: &Receipt) {}
}

/// A repository that lives as long as the question.
struct Stage {
    repo: Repo,
    base: CommitId,
    tree: TreeId,
}

impl Stage {
    fn build(host: &Host, top: &Path) -> Result<Self, GitError> {
        Git::new(host, top).run(["init", "--quiet", "--initial-branch=main"])?;
        let repo = Repo::discover(host, top)?;
        let files =
            [(".agentheim/countersign.yaml", SETTINGS), ("check.sh", CHECK), ("task.md", TASK), ("value.txt", "1\n")];
        let mut entries = BTreeMap::new();
        for (path, text) in files {
            let blob = repo.write_blob(text.as_bytes())?;
            entries.insert(RepoPath::from(path), (0o100_644, blob.as_str().to_owned()));
        }
        let tree = repo.write_tree(&entries)?;
        let base = repo.write_commit(&tree, &[], Timestamp(0), "canary\n")?;
        let main = RefName::new("refs/heads/main")
            .map_err(|what| GitError::Unreadable { command: "open main".to_owned(), what })?;
        repo.move_ref(&main, &base, None)?;
        Ok(Self { repo, base, tree })
    }

    fn claim(&self, path: &str, text: &str) -> Result<CommitId, GitError> {
        let blob = self.repo.write_blob(text.as_bytes())?;
        let edit = BTreeMap::from([(RepoPath::from(path), Some((0o100_644, blob.as_str().to_owned())))]);
        let tree = self.repo.edit_tree(&self.tree, &edit)?;
        self.repo.write_commit(&tree, std::slice::from_ref(&self.base), Timestamp(0), "claim\n")
    }
}
