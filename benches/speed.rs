//! What a judgement costs, as ratios to git's own commands measured in the same run.
//!
//! ```text
//! cargo bench                                     3k, 10k and 50k files, 9 rounds
//! cargo bench -- --quick                          3k files, 3 rounds
//! cargo bench -- --files 3000,100000 --rounds 5
//! ```
//! Milliseconds depend on the machine and on its other work; the ratios are what the targets are about. Every round runs
//! every row once, forwards and backwards in turn, so that a busy moment hits all of them; the medians are compared.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "a program of its own, for people")]

use countersign::claim::freeze_worktree;
use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::host::{Host, cancel::Cancel, clock::Clock, env::Env};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// What to measure.
struct Plan {
    files: Vec<u32>,
    rounds: usize,
}

/// One measured thing.
struct Row {
    name: &'static str,
    run: Box<dyn Fn()>,
    times: Vec<Duration>,
    /// The rows whose medians, added up, this one is compared with.
    against: &'static [&'static str],
    target: &'static str,
}

fn main() {
    let plan = plan(std::env::args().skip(1));
    println!("{:>7}  {:<32} {:>10} {:>8}  target", "files", "what", "median ms", "ratio");
    for files in plan.files {
        let stage = Stage::build(files);
        let mut rows = rows(&stage);
        measure(&mut rows, plan.rounds);
        print!("{}", table(files, &rows));
    }
}

fn plan(mut args: impl Iterator<Item = String>) -> Plan {
    let mut plan = Plan { files: vec![3_000, 10_000, 50_000], rounds: 9 };
    while let Some(arg) = args.next() {
        let mut number_list = || {
            let value = args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            value
                .split(',')
                .map(|n| n.parse().unwrap_or_else(|_| panic!("{arg}: {n} is no number")))
                .collect::<Vec<u32>>()
        };
        match arg.as_str() {
            "--quick" => plan = Plan { files: vec![3_000], rounds: 3 },
            "--files" => plan.files = number_list(),
            "--rounds" => plan.rounds = number_list()[0].max(1) as usize,
            // Cargo's own word to a bench without a harness.
            "--bench" => {}
            other => panic!("unknown argument {other}; known are --quick, --files N,N and --rounds N"),
        }
    }
    plan
}

fn rows(stage: &Stage) -> Vec<Row> {
    let row = |name, against, target, run: Box<dyn Fn()>| Row { name, run, times: Vec::new(), against, target };
    let (git, ours, wrapped) = (stage.clone(), stage.clone(), stage.clone());
    let (diff, floor, verify) = (stage.clone(), stage.clone(), stage.clone());
    let tree = git.plumbing_snapshot();
    vec![
        row("git: copy index, add, write-tree", &[], "", Box::new(move || drop(git.plumbing_snapshot()))),
        row("git: diff-tree", &[], "", Box::new(move || diff.diff_tree(&tree))),
        row(WRAPPED, &[], "", Box::new(move || wrapped.wrapped_plumbing())),
        row("countersign: freeze", &[WRAPPED], "<= 1.10", Box::new(move || ours.freeze())),
        row("countersign verify --floor", &[SNAPSHOT, DIFF], "", Box::new(move || floor.verify(&["--floor"]))),
        row(
            "countersign verify (mechanical)",
            &[SNAPSHOT, DIFF],
            "reported",
            Box::new(move || verify.verify(&["task.md", "--fresh"])),
        ),
    ]
}

const SNAPSHOT: &str = "git: copy index, add, write-tree";
const DIFF: &str = "git: diff-tree";
/// The snapshot, its changes, and the listings of what could hide: every git command that a freeze runs.
const WRAPPED: &str = "git: all that a freeze wraps";

fn measure(rows: &mut [Row], rounds: usize) {
    for row in rows.iter() {
        // Unmeasured: it writes the objects that every later run finds, and warms the caches.
        (row.run)();
    }
    for round in 0..rounds {
        let count = rows.len();
        for step in 0..count {
            let row = &mut rows[if round % 2 == 0 { step } else { count - 1 - step }];
            let began = Instant::now();
            (row.run)();
            row.times.push(began.elapsed());
        }
    }
}

fn median(rows: &[Row], name: &str) -> f64 {
    let row = rows.iter().find(|row| row.name == name).unwrap();
    let mut times = row.times.clone();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

fn table(files: u32, rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let (own, other) = (median(rows, row.name), row.against.iter().map(|name| median(rows, name)).sum::<f64>());
        let ratio = if row.against.is_empty() { "1".to_owned() } else { format!("{:.2}", own / other) };
        writeln!(text, "{files:>7}  {:<32} {own:>10.1} {ratio:>8}  {}", row.name, row.target).unwrap();
    }
    text
}

fn search_path() -> OsString {
    Env::of_process().get("PATH").unwrap().to_owned()
}

/// A repository with the marks of a worker at work: edits, new, removed, moved and many ignored files.
#[derive(Clone)]
struct Stage {
    /// Kept for its end: the folder vanishes with the last clone.
    folder: std::sync::Arc<tempfile::TempDir>,
    base: String,
}

impl Stage {
    fn build(files: u32) -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = tempfile::Builder::new().prefix("countersign-bench-").tempdir_in(place).unwrap();
        let mut stage = Self { folder: std::sync::Arc::new(folder), base: String::new() };
        for name in ["repo", "home", "tmp"] {
            fs::create_dir(stage.folder.path().join(name)).unwrap();
        }
        let settings = "[user]\n\tname = T\n\temail = t@example.invalid\n[gc]\n\tauto = 0\n";
        fs::write(stage.folder.path().join("home/.gitconfig"), settings).unwrap();
        stage.git(&["init", "-q", "-b", "main"]);
        for n in 0..files {
            let lines = format!("file {n} says the same on every line\n").repeat(60);
            stage.write(&format!("d{:04}/f{n}.txt", n / 40), &lines);
            stage.age(&format!("d{:04}/f{n}.txt", n / 40));
        }
        stage.write(".gitignore", "ignored/\n");
        stage.write(
            "task.md",
            "# Add a file\n\n## Acceptance criteria\n\n- [ ] The file is there — file: `d0000/new0.txt`\n",
        );
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-q", "-m", "base"]);
        stage.base = stage.git(&["rev-parse", "HEAD"]);
        stage.git(&["switch", "-q", "-c", "aw/work"]);
        stage.work();
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

    fn repo(&self) -> PathBuf {
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
    fn plumbing_snapshot(&self) -> String {
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

    /// Every git command that a freeze runs, and nothing else.
    fn wrapped_plumbing(&self) {
        let tree = self.plumbing_snapshot();
        self.diff_tree(&tree);
        self.git(&["ls-files", "-v", "-z"]);
        self.git(&["ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"]);
        self.git(&["config", "--list", "--show-scope", "-z"]);
    }

    fn diff_tree(&self, tree: &str) {
        self.git(&["diff-tree", "-r", "-M", "--raw", "-z", "--full-index", &format!("{}^{{tree}}", self.base), tree]);
    }

    /// The same through the library: the binary's own start is not in it.
    fn freeze(&self) {
        let home = self.folder.path().join("home");
        let vars = [("PATH".into(), search_path()), (OsString::from("HOME"), home.into())];
        let host = Host {
            git: "git".into(),
            helper: BINARY.into(),
            scratch: self.folder.path().join("tmp"),
            env: Env::of(vars),
            clock: Clock::System,
            cancel: Cancel::default(),
        };
        let repo = Repo::discover(&host, &self.repo()).unwrap();
        let frozen = freeze_worktree(&repo, &CommitId::new(&self.base).unwrap()).unwrap();
        assert_eq!(frozen.changed.len(), 19, "the bench measures another change than it made");
    }

    /// The whole program. An answer that decides nothing is no measurement.
    fn verify(&self, args: &[&str]) {
        let done =
            self.command(BINARY).arg("verify").args(args).args(["--base", &self.base, "--json"]).output().unwrap();
        let decided =
            serde_json::from_slice::<serde_json::Value>(&done.stdout).is_ok_and(|d| d["decision"]["kind"].is_string());
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(decided, "countersign verify {} decided nothing ({}): {said}", args.join(" "), done.status);
    }
}
