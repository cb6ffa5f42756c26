//! What must hold after a run of the conductor: the case log's invariants at the end where work lands, is saved, or waits.

use super::invariants::assert_sealed;
use super::{Crew, FakeVerifier, TestRepo, end_of, write};
use countersign::integrate::attest::parse_bundle;
use countersign::pipeline::work::{End, WorkReport};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the user has that no run may touch: dirt, staged content, stash, other references, configuration, hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Belongings(BTreeMap<String, String>);

impl Crew {
    /// Adds lines to the user's own settings.
    pub(crate) fn settings(&self, more: &str) {
        let path = "home/.config/countersign/settings.yaml";
        let text = std::fs::read_to_string(self.repo.root().join(path)).unwrap();
        write(self.repo.root(), path, format!("{text}{more}"));
    }

    /// Names this scripted verifier in the user's settings. Called after [`Crew::worker`], which writes them anew.
    pub(crate) fn judged_by(&self, fake: &FakeVerifier) {
        let program = fake.install(&self.repo);
        self.settings(&format!("  fake:\n    command: ['{}']\nverifier: fake\n", program.display()));
    }

    /// The user's things as they are now.
    pub(crate) fn belongings(&self) -> Belongings {
        let (repo, top) = (&self.repo, self.repo.path());
        let mut found = BTreeMap::new();
        let status = repo.try_git_in(&top, &["status", "--porcelain", "-z", "--untracked-files=all"]).stdout;
        for entry in status.split(|byte| *byte == 0).filter(|entry| entry.len() > 3) {
            let name = String::from_utf8_lossy(entry).into_owned();
            let path = top.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&entry[3..]));
            let bytes = std::fs::read(path).unwrap_or_default();
            found.insert(format!("file {name}"), bytes.escape_ascii().to_string());
        }
        found.insert(
            "staged".to_owned(),
            repo.git(&["diff", "--cached", "--no-ext-diff", "--no-color", "--full-index", "--binary"]),
        );
        found.insert("stash".to_owned(), repo.git(&["stash", "list"]));
        for line in repo.git(&["for-each-ref", "--format=%(refname) %(objectname)"]).lines() {
            let ours = ["refs/heads/main ", "refs/heads/aw/", "refs/countersign/", "refs/notes/countersign "];
            if !ours.iter().any(|ours| line.starts_with(ours)) {
                found.insert(format!("ref {line}"), String::new());
            }
        }
        let common = repo.common_dir();
        for name in ["HEAD", "config", "info/exclude"] {
            found.insert(name.to_owned(), std::fs::read_to_string(common.join(name)).unwrap_or_default());
        }
        for hook in std::fs::read_dir(common.join("hooks")).into_iter().flatten().flatten() {
            let text = std::fs::read(hook.path()).unwrap_or_default();
            found.insert(format!("hook {}", hook.file_name().display()), text.escape_ascii().to_string());
        }
        Belongings(found)
    }

    /// A run, and the invariants that hold whatever came of it: the user's things are as they were, no process and no
    /// lock is left, everything a claim reference names is reachable, and the same run again changes nothing.
    pub(crate) fn run_settled(&self, names: &[&str]) -> WorkReport {
        self.settled(|crew| crew.work(names))
    }

    /// The same around a run of any sort.
    pub(crate) fn settled(&self, run: impl FnOnce(&Self) -> WorkReport) -> WorkReport {
        let before = self.belongings();
        let report = run(self);
        assert_eq!(self.belongings(), before, "the user's things changed: {report:#?}");
        self.assert_settled(&report);
        report
    }

    /// The invariants after a run that was made already.
    pub(crate) fn assert_settled(&self, report: &WorkReport) {
        self.repo.no_process_left();
        self.repo.no_lock_left();
        self.repo.git(&["fsck", "--connectivity-only"]);
        for end in &report.tasks {
            if let End::Landed { commit } = &end.end {
                self.assert_landing(&end.task, commit);
            }
            for place in &end.saved {
                assert!(Path::new(place).is_file() || place.starts_with("refs/"), "{place} is named and not there");
            }
            if matches!(end.end, End::Held { .. }) {
                assert!(self.worktree(&end.task).is_dir(), "{} is held and its worktree is gone", end.task);
            }
        }
        let refs = || self.repo.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let (before, belongings) = (refs(), self.belongings());
        // Nothing new is started: a run of named tasks leaves the others where they are.
        let mut request = self.request(&[]);
        request.only_resume = true;
        let again = self.ask(&request).unwrap();
        assert_eq!(refs(), before, "a second run changes something: {again:#?}");
        assert_eq!(self.belongings(), belongings, "a second run changes something: {again:#?}");
    }

    /// Invariants 1 and 2: what was frozen, tested, shown and decided about is what landed, bookkeeping apart.
    pub(crate) fn assert_landing(&self, task: &str, commit: &str) -> Landing {
        let repo = &self.repo;
        let note = repo.git(&["notes", "--ref=refs/notes/countersign", "show", commit]);
        let note = parse_bundle(note.as_bytes()).0[0].statement().unwrap();
        let word = |of: &Value| of.as_str().unwrap_or_else(|| panic!("{note:#?}")).to_owned();
        let tree = repo.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
        assert_eq!(note.digest("gitCommit"), Some(commit));
        assert_eq!(note.digest("gitTree"), Some(tree.as_str()));
        let said = &note.predicate;
        let (case, claim, base, merged) = (&said["case"], &said["claimTree"], &said["base"], &said["mergedTree"]);
        assert_eq!(said["task"], task);
        let kind = if said["origin"] == "skipped" { "skip" } else { "land" };
        assert_sealed(&word(case), kind, &word(claim), &word(base), repo);
        let books = repo.git(&["diff-tree", "-r", "--name-only", &word(merged), &tree]);
        assert!(books.lines().all(|path| path.starts_with(".agentheim/")), "landed, and not verified: {books}");
        let parents = repo.git(&["show", "-s", "--format=%P", commit]);
        assert_eq!(parents, word(&said["parent"]), "one commit on top of the target");
        let merged = word(merged);
        // What was merged is the claim, or a tree that another attempt of the same case judged, bookkeeping apart.
        let foreign = |judged: &String| repo.git(&["diff-tree", "-r", "--name-only", judged, &merged]);
        let same = |judged: &String| foreign(judged).lines().all(|path| path.starts_with(".agentheim/"));
        assert!(
            self.passed_trees(task).iter().any(same),
            "a merge landed that nobody judged: {}",
            foreign(&word(claim))
        );
        let changed =
            repo.try_git_in(&repo.path(), &["diff-tree", "-r", "-z", "--no-renames", "--name-only", &parents, commit]);
        let changed = changed
            .stdout
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty() && !path.starts_with(b".agentheim/"));
        Landing { changed: changed.map(|path| path.escape_ascii().to_string()).collect(), case: word(case) }
    }

    /// The landing that a report names.
    pub(crate) fn landing(&self, report: &WorkReport, task: &str) -> Landing {
        assert_eq!(end_of(report, task), "landed", "{report:#?}");
        let commit = report.tasks.iter().find_map(|end| match &end.end {
            End::Landed { commit } if end.task == task => Some(commit.clone()),
            _ => None,
        });
        self.assert_landing(task, &commit.unwrap())
    }

    /// The trees that attempts of a task's case let pass.
    fn passed_trees(&self, task: &str) -> Vec<String> {
        let json = |case: &str, page: &str| -> Value { serde_json::from_str(&self.sealed(case, page)).unwrap() };
        let passed = |case: &String| {
            let kind = json(case, "decision.json")["kind"].clone();
            (kind == "land" || kind == "skip").then(|| json(case, "claim.json")["tree"].as_str().unwrap().to_owned())
        };
        self.attempts(task).iter().filter_map(passed).collect()
    }

    /// The trees that the attempts of a task's case are about, newest first.
    pub(crate) fn sealed_claims(&self, task: &str) -> Vec<String> {
        let trees = self.attempts(task).into_iter().filter_map(|case| {
            let shown = self.repo.try_git_in(&self.repo.path(), &["show", &format!("{case}:claim.json")]);
            let claim: Value = serde_json::from_slice(&shown.stdout).ok()?;
            claim["tree"].as_str().map(str::to_owned)
        });
        trees.collect()
    }

    /// The commits that seal a task's attempts, newest first.
    pub(crate) fn attempts(&self, task: &str) -> Vec<String> {
        let name = format!("refs/countersign/cases/{task}");
        if self.repo.git(&["for-each-ref", &name]).is_empty() {
            return Vec::new();
        }
        let log = self.repo.git(&["log", "--first-parent", "--format=%H %s", &name]);
        let cases =
            log.lines().filter_map(|line| line.split_once(' ').filter(|(_, subject)| subject.starts_with("case ")));
        cases.map(|(commit, _)| commit.to_owned()).collect()
    }

    /// A page of a sealed attempt.
    pub(crate) fn sealed(&self, case: &str, page: &str) -> String {
        self.repo.git(&["show", &format!("{case}:{page}")])
    }

    /// Asserts that nothing of a task is on the target but its page and the diary.
    pub(crate) fn assert_nothing_landed(&self, task: &str) {
        let subjects = self.subjects();
        assert!(!subjects.iter().any(|subject| subject.ends_with(&format!("is made [{task}]"))), "{subjects:#?}");
        let root = self.repo.git(&["rev-list", "--max-parents=0", "main"]);
        let added = self.repo.git(&["log", "--format=", "--name-only", "--diff-filter=A", &format!("{root}..main")]);
        assert!(!added.lines().any(|path| path == format!("{task}.txt")), "{added}");
    }

    /// Applies a patch in a fresh checkout of this commit: the tree that comes out.
    pub(crate) fn applied(&self, patch: &Path, base: &str) -> String {
        let place = self.repo.root().join("fresh");
        let text = place.display().to_string();
        self.repo.git(&["worktree", "add", "-q", "--detach", &text, base]);
        self.repo.git_in(&place, &["apply", "--index", "--whitespace=nowarn", &patch.display().to_string()]);
        let tree = self.repo.git_in(&place, &["write-tree"]);
        self.repo.git(&["worktree", "remove", "--force", &text]);
        tree
    }

    /// Asserts that a salvage patch gives its recorded tree back on a fresh checkout of its base; that tree.
    pub(crate) fn assert_patch(&self, name: &str) -> String {
        let patch = self.salvage(name);
        let text = std::fs::read(&patch).unwrap_or_else(|why| panic!("{}: {why}", patch.display()));
        let text = String::from_utf8_lossy(&text).into_owned();
        let word = |of: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(&format!("{of} ")))
                .unwrap_or_else(|| panic!("{text}"))
                .to_owned()
        };
        let tree = self.applied(&patch, &word("base"));
        assert_eq!(tree, word("tree"), "{name}");
        tree
    }

    /// Where a salvage patch lies.
    pub(crate) fn salvage(&self, name: &str) -> PathBuf {
        self.repo.path().join(".agentheim/salvage").join(name)
    }
}

/// A landing, looked at from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Landing {
    /// Paths that it changes, the board's apart, escaped, in tree order.
    pub(crate) changed: Vec<String>,
    /// The sealed case it rests on.
    pub(crate) case: String,
}

/// Why a task is held, in words.
pub(crate) fn why_of(report: &WorkReport, task: &str) -> String {
    let end = report.tasks.iter().find(|end| end.task == task).unwrap_or_else(|| panic!("{task}: {report:#?}"));
    match &end.end {
        End::Held { why, .. } | End::Foreign { why } | End::Stopped { why } => why.clone(),
        End::Landed { .. } | End::Bounced => String::new(),
    }
}

/// A settings line that takes the box away, for workers that do what a box forbids.
pub(crate) const NO_BOX: &str = "sandbox:\n  require: none\n";

/// A git that a worker may use in its worktree, whoever it is.
pub(crate) const GIT: &str =
    "git() { command git -c user.name=W -c user.email=w@example.invalid -c protocol.file.allow=always \"$@\"; }\n";

/// A repository whose configuration is the user's own, kept out of the worker's reach.
pub(crate) fn with_user_config(repo: &TestRepo, more: &str) {
    let path = repo.root().join("home/.gitconfig");
    let plain = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{plain}{more}")).unwrap();
}
