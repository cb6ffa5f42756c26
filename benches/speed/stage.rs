//! The repository that everything is measured in.

use countersign::claim::freeze_worktree;
use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::host::process::{Launch, Limits, run_in_turn};
use countersign::host::sandbox::Profile;
use countersign::host::{Host, cancel::Cancel, clock::Clock, env::Env};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The program under measurement.
pub(super) const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

fn search_path() -> OsString {
    Env::of_process().get("PATH").unwrap().to_owned()
}

/// A repository with the marks of a worker at work: edits, new, removed, moved and many ignored files.
#[derive(Clone)]
pub(super) struct Stage {
    /// Kept for its end: the folder vanishes with the last clone.
    folder: std::sync::Arc<tempfile::TempDir>,
    base: String,
    /// The work's tree.
    tree: String,
}

impl Stage {
    pub(super) fn build(files: u32) -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = tempfile::Builder::new().prefix("countersign-bench-").tempdir_in(place).unwrap();
        let mut stage = Self { folder: std::sync::Arc::new(folder), base: String::new(), tree: String::new() };
        for name in ["repo", "home", "tmp", "tested/.config/countersign"] {
            fs::create_dir_all(stage.folder.path().join(name)).unwrap();
        }
        let settings = "[user]\n\tname = T\n\temail = t@example.invalid\n[gc]\n\tauto = 0\n";
        for home in ["home", "tested"] {
            fs::write(stage.folder.path().join(home).join(".gitconfig"), settings).unwrap();
        }
        let tests = "tests:\n  command: sh run.sh\n  report: out.xml\n";
        fs::write(stage.folder.path().join("tested/.config/countersign/settings.yaml"), tests).unwrap();
        stage.git(&["init", "-q", "-b", "main"]);
        for n in 0..files {
            let lines = format!("file {n} says the same on every line\n").repeat(60);
            stage.write(&format!("d{:04}/f{n}.txt", n / 40), &lines);
            stage.age(&format!("d{:04}/f{n}.txt", n / 40));
        }
        stage.write(".gitignore", "ignored/\nout.xml\n");
        stage.write(
            "task.md",
            "# Add a file\n\n## Acceptance criteria\n\n- [ ] The file is there — file: `d0000/new0.txt`\n",
        );
        stage.write("judged.md", "# Read it\n\n## Acceptance criteria\n\n- [ ] It reads well\n");
        stage.write("run.sh", "echo '<testsuite><testcase name=\"a\"/></testsuite>' > out.xml\n");
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-q", "-m", "base"]);
        stage.base = stage.git(&["rev-parse", "HEAD"]);
        stage.git(&["switch", "-q", "-c", "aw/work"]);
        stage.work();
        stage.tree = stage.plumbing_snapshot();
        stage
    }

    fn work(&self) {
        for n in 0..10 {
            self.write(&format!("d0000/f{n}.txt"), "edited\n");
        }
        for n in 0..5 {
            self.write(&format!("d0000/new{n}.txt"), "new\n");
        }
        for n in 10..12 {
            fs::remove_file(self.repo().join(format!("d0000/f{n}.txt"))).unwrap();
        }
        fs::set_permissions(self.repo().join("d0000/f12.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("f13.txt", self.repo().join("d0000/link")).unwrap();
        for n in 0..2_000 {
            self.write(&format!("ignored/{n}.o"), "built\n");
        }
    }

    pub(super) fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Files as old as those of a real checkout. Git reads anew whatever is as young as the index: in a repository made
    /// this second that would be every file, and only that would be measured.
    fn age(&self, path: &str) {
        let old = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let file = fs::File::options().write(true).open(self.repo().join(path)).unwrap();
        file.set_times(fs::FileTimes::new().set_modified(old)).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "the bench's own starter of programs")]
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let (home, tmp) = (self.folder.path().join("home"), self.folder.path().join("tmp"));
        command.current_dir(self.repo()).env_clear().env("HOME", home).env("TMPDIR", tmp);
        command.env("PATH", search_path()).env("LC_ALL", "C");
        command
    }

    fn git(&self, args: &[&str]) -> String {
        let done = self.command("git").args(args).output().unwrap();
        assert!(done.status.success(), "git {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// What the freezing wraps, and nothing else.
    pub(super) fn plumbing_snapshot(&self) -> String {
        let index = self.folder.path().join("tmp/plumbing-index");
        fs::copy(self.repo().join(".git/index"), &index).unwrap();
        let quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
        let run = |args: &[&str]| {
            let done = self.command("git").args(quiet).args(args).env("GIT_INDEX_FILE", &index).output().unwrap();
            assert!(done.status.success(), "git {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr));
            String::from_utf8_lossy(&done.stdout).trim().to_owned()
        };
        run(&["add", "-A", "--", ":/"]);
        run(&["write-tree"])
    }

    /// The git commands that give the answers of a freeze, and nothing else.
    pub(super) fn wrapped_plumbing(&self) {
        let tree = self.plumbing_snapshot();
        self.listings(&tree);
    }

    fn listings(&self, tree: &str) {
        self.diff_tree(tree);
        self.git(&["ls-files", "-v", "-z"]);
        self.git(&["ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"]);
        self.git(&["config", "--list", "--show-scope", "-z"]);
    }

    pub(super) fn diff_tree(&self, tree: &str) {
        self.git(&["diff-tree", "-r", "-M", "--raw", "-z", "--full-index", &format!("{}^{{tree}}", self.base), tree]);
    }

    /// The same where add and write-tree run in the box of a snapshot.
    pub(super) fn walled_plumbing(&self) {
        let index = self.folder.path().join("tmp/plumbing-index");
        fs::copy(self.repo().join(".git/index"), &index).unwrap();
        for words in [&["add", "-A", "--", ":/"][..], &["write-tree"]] {
            let git = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
            self.boxed(&[git.iter().chain(words).map(OsString::from).collect()]);
        }
        self.listings(&self.tree);
    }

    /// Starts a program of the system and waits for it.
    pub(super) fn program(&self, name: &str) {
        assert!(self.command(name).status().unwrap().success());
    }

    /// Commands in the box that a snapshot's git runs in.
    pub(super) fn boxed(&self, commands: &[Vec<OsString>]) {
        let folder = self.folder.path();
        let env = [("PATH".into(), search_path()), ("GIT_INDEX_FILE".into(), folder.join("tmp/plumbing-index").into())];
        let launch = Launch {
            argv: commands[0].clone(),
            cwd: self.repo(),
            env: env.into(),
            stdin: Vec::new(),
            log: folder.join("boxed.log"),
            capture: 1 << 10,
            limits: Limits::within(Duration::from_secs(600)),
            profile: Profile::snapshot(vec![folder.join("tmp"), self.repo().join(".git/objects")]),
        };
        let ended = run_in_turn(&self.host(), &launch, &commands[1..]);
        assert!(ended.ending.is_success() && ended.level.enforced, "{ended:?}");
    }

    pub(super) fn base(&self) -> CommitId {
        CommitId::new(&self.base).unwrap()
    }

    pub(super) fn open(&self) -> Repo {
        Repo::discover(&self.host(), &self.repo()).unwrap()
    }

    fn host(&self) -> Host {
        let home = self.folder.path().join("home");
        let vars = [("PATH".into(), search_path()), (OsString::from("HOME"), home.into())];
        let git = std::env::split_paths(&search_path()).map(|folder| folder.join("git")).find(|git| git.is_file());
        Host {
            // As the binary finds it.
            git: git.unwrap(),
            helper: BINARY.into(),
            scratch: self.folder.path().join("tmp"),
            env: Env::of(vars),
            clock: Clock::System,
            cancel: Cancel::default(),
        }
    }

    /// The whole program; its document. An answer that decides nothing is no measurement.
    pub(super) fn verify(&self, args: &[&str]) -> serde_json::Value {
        self.verify_at_home(args, "home")
    }

    pub(super) fn verifying(&self, args: &[&str]) -> Command {
        let mut command = self.command(BINARY);
        command.arg("verify").args(args).args(["--base", &self.base]);
        command
    }

    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.path().join("tmp").join(name)
    }

    /// Asks the hook about the end of a turn; milliseconds.
    pub(super) fn asked(&self, word: &[u8]) -> f64 {
        let mut command = self.command(BINARY);
        command.args(["hook", "stop", "--host", "claude"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(word).unwrap();
        let output = child.wait_with_output().unwrap();
        let took = began.elapsed().as_secs_f64() * 1_000.0;
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !answer.contains("UNVERIFIED"), "{answer}");
        took
    }

    fn verify_at_home(&self, args: &[&str], home: &str) -> serde_json::Value {
        let mut command = self.verifying(args);
        let done = command.env("HOME", self.folder.path().join(home)).arg("--json").output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        let said = String::from_utf8_lossy(&done.stderr);
        let decided = document["decision"]["kind"].is_string();
        assert!(decided, "countersign verify {} decided nothing ({}): {said}", args.join(" "), done.status);
        document
    }

    /// A judgement whose tests ran on this tree before: it must not run them again.
    pub(super) fn verify_tested(&self) {
        let document = self.verify_at_home(&["judged.md"], "tested");
        let checks = document["floor"]["checks"].as_array().unwrap();
        let tests = checks.iter().find(|check| check["id"] == "tests-run").unwrap();
        assert_eq!(tests["state"], "pass", "{tests}");
    }

    /// The base, and the same with 190 files changed.
    pub(super) fn two_commits(&self) -> [CommitId; 2] {
        let index = self.folder.path().join("tmp/second-index");
        fs::copy(self.repo().join(".git/index"), &index).unwrap();
        let run = |args: &[&str]| {
            let done = self.command("git").args(args).env("GIT_INDEX_FILE", &index).output().unwrap();
            assert!(done.status.success(), "git {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr));
            String::from_utf8_lossy(&done.stdout).trim().to_owned()
        };
        let blob = run(&["hash-object", "-w", "task.md"]);
        for n in 100..290 {
            run(&["update-index", "--cacheinfo", &format!("100644,{blob},d{:04}/f{n}.txt", n / 40)]);
        }
        let commit = run(&["commit-tree", "-p", &self.base, "-m", "second", &run(&["write-tree"])]);
        [self.base(), CommitId::new(&commit).unwrap()]
    }

    fn worktree(&self) -> PathBuf {
        self.folder.path().join("worktree")
    }

    pub(super) fn worktree_add(&self, commit: &CommitId) {
        self.git(&["worktree", "add", "-q", "--detach", self.worktree().to_str().unwrap(), commit.as_str()]);
    }

    pub(super) fn worktree_remove(&self) {
        if self.worktree().exists() {
            self.git(&["worktree", "remove", "--force", self.worktree().to_str().unwrap()]);
        }
    }
}

/// The freezing alone: the repository is open.
pub(super) fn freeze(repo: &Repo, base: &CommitId) {
    let frozen = freeze_worktree(repo, base).unwrap();
    assert_eq!(frozen.changed.len(), 19, "the bench measures another change than it made");
    drop(frozen);
    repo.leave_quarantine();
}

/// What a test run leaves in a room: new files and edited ones.
pub(super) fn litter(room: &Path) {
    for n in 0..20 {
        fs::write(room.join(format!("d0000/built{n}.o")), "built\n").unwrap();
        fs::write(room.join(format!("d0000/f{n}.txt")), "edited by a test\n").unwrap();
    }
}
