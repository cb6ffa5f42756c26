//! A repository of its own: own home, own settings, emptied environment, a clock that only counts.

use super::Outcome;
use countersign::host::Host;
use countersign::host::cancel::Cancel;
use countersign::host::clock::Clock;
use countersign::host::env::Env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// The first date the counter gives, in seconds since 1970: every commit is one second after the one before it.
const FIRST_DATE: u64 = 1_700_000_000;

/// The binary under test.
const BINARY: &str = env!("CARGO_BIN_EXE_countersign");

/// A repository in a folder that vanishes with it.
///
/// Below [`TestRepo::root`] lie `repo` (the worktree), `home`, `tmp` (the program's `TMPDIR`) and whatever a test puts
/// there; a process of the run can be recognised by that path.
#[derive(Debug)]
pub(crate) struct TestRepo {
    root: TempDir,
    ticks: AtomicU64,
}

impl TestRepo {
    /// An empty repository on `main`, no commit yet.
    pub(crate) fn unborn() -> Self {
        Self::init(&[])
    }

    /// A repository whose base commit holds `a.txt`.
    pub(crate) fn new() -> Self {
        let repo = Self::unborn();
        repo.write("a.txt", "0\n");
        repo.commit("base");
        repo
    }

    /// An empty repository made by `git init` with these further options, e.g. `--object-format=sha256`.
    pub(crate) fn init(options: &[&str]) -> Self {
        let root = tempfile::Builder::new().prefix("countersign-it-").tempdir_in(tmpfs()).unwrap();
        for folder in ["repo", "home/.config", "tmp"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let settings = "[maintenance]\n\tauto = false\n[gc]\n\tauto = 0\n[user]\n\tname = T\n\temail = t@example.invalid\n[init]\n\tdefaultBranch = main\n\
                        [commit]\n\tgpgSign = false\n[protocol \"file\"]\n\tallow = always\n";
        std::fs::write(root.path().join("home/.gitconfig"), settings).unwrap();
        let repo = Self { root, ticks: AtomicU64::new(0) };
        repo.git(&[&["init", "-q", "-b", "main"], options].concat());
        repo
    }

    /// The folder that holds everything of this test.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The top of the worktree.
    pub(crate) fn path(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// The git directory that all worktrees share.
    pub(crate) fn common_dir(&self) -> PathBuf {
        let answer = self.git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        PathBuf::from(answer)
    }

    /// Git, which must succeed: its output without the last line end.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.path(), args)
    }

    /// Git in another folder, which must succeed.
    pub(crate) fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        let done = self.try_git_in(dir, args);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "git {} in {}: {}\n{said}", args.join(" "), dir.display(), done.status);
        String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_owned()
    }

    /// Git, however it ends.
    pub(crate) fn try_git_in(&self, dir: &Path, args: &[&str]) -> Output {
        let date = format!("{} +0000", FIRST_DATE + self.ticks.load(Ordering::Relaxed));
        let mut git = self.command("git", dir);
        git.args(args)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date);
        git.output().unwrap()
    }

    /// Writes a file of the worktree, folders included.
    pub(crate) fn write(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        write(&self.path(), path, bytes);
    }

    /// Commits everything; the commit's id.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.commit_in(&self.path(), message)
    }

    /// Commits everything in one of the worktrees; the commit's id.
    pub(crate) fn commit_in(&self, dir: &Path, message: &str) -> String {
        self.ticks.fetch_add(1, Ordering::Relaxed);
        self.git_in(dir, &["add", "-A"]);
        self.git_in(dir, &["commit", "-q", "--allow-empty", "-m", message]);
        self.git_in(dir, &["rev-parse", "HEAD"])
    }

    /// Switches to a new branch.
    pub(crate) fn branch(&self, name: &str) {
        self.git(&["switch", "-q", "-c", name]);
    }

    /// A worker's worktree as projects expect it: `.worktrees/<id>` on `aw/<id>`, ignored by itself.
    pub(crate) fn add_worktree(&self, id: &str) -> PathBuf {
        self.write(".worktrees/.gitignore", "*\n");
        let place = format!(".worktrees/{id}");
        self.git(&["worktree", "add", "-q", "-b", &format!("aw/{id}"), &place, "HEAD"]);
        self.path().join(place)
    }

    /// Runs the binary in the worktree.
    pub(crate) fn run(&self, args: &[&str]) -> Outcome {
        self.run_with(&self.path(), args, &[], b"")
    }

    /// Runs the binary in a folder, with further variables and something on standard input.
    pub(crate) fn run_with(&self, dir: &Path, args: &[&str], vars: &[(&str, &OsStr)], input: &[u8]) -> Outcome {
        let command = self.command(BINARY, dir);
        Self::finish(command, args, vars, input)
    }

    /// Runs the binary at a terminal of its own, at which this is typed. What it prints is all on one stream.
    pub(crate) fn run_at_terminal(&self, args: &[&str], typed: &str) -> Outcome {
        let words: Vec<String> =
            std::iter::once(BINARY).chain(args.iter().copied()).map(|word| format!("'{word}'")).collect();
        let mut command = self.command("script", &self.path());
        command.args(["-qec", &words.join(" "), "/dev/null"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Open until the end: a terminal whose keyboard is gone ends what runs there.
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(typed.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        drop(stdin);
        Outcome {
            code: done.status.code(),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
            line: format!("countersign {} (at a terminal)", args.join(" ")),
        }
    }

    /// Runs the binary in the worktree as a user who owns nothing: for root, permissions mean little.
    pub(crate) fn run_as_nobody(&self, args: &[&str]) -> Outcome {
        // A copy: the binary itself may lie where nobody may enter.
        let program = self.root().join("countersign");
        // By a program of its own: a file that this process writes may still be open in a child that another test is
        // starting, and a program that is open for writing cannot be started.
        let copied = self.command("cp", self.root()).arg(BINARY).arg(&program).status().unwrap();
        assert!(copied.success(), "cannot copy {BINARY}");
        let mut command = self.command("setpriv", &self.path());
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        let mut outcome = Self::finish(command, args, &[], b"");
        outcome.line = format!("countersign {}", args.join(" "));
        outcome
    }

    fn finish(mut command: Command, args: &[&str], vars: &[(&str, &OsStr)], input: &[u8]) -> Outcome {
        let mut child = command
            .args(args)
            .envs(vars.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // From a thread of its own: a program that answers before it has read everything must not stop us. That it may
        // close its input unread is its right, so a broken pipe is no failure.
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let done = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        Outcome {
            code: done.status.code(),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
            line: format!("countersign {}", args.join(" ")),
        }
    }

    /// Runs the binary and lists every `git` it starts, one argument line each.
    ///
    /// The list is an open file handed down to every child, for a box forbids opening one. A git that has lost it fails
    /// with 97 rather than go uncounted; only the snapshot's own `add` and `write-tree`,
    /// once each a run, are always boxed and never listed.
    pub(crate) fn run_counting_git(&self, args: &[&str]) -> (Outcome, Vec<String>) {
        let list = self.root().join("git-runs");
        std::fs::write(&list, "").unwrap();
        let (command, path) = self.counting(&list, BINARY);
        let outcome = Self::finish(command, args, &[("PATH", &path)], b"");
        (outcome, std::fs::read_to_string(&list).unwrap().lines().map(str::to_owned).collect())
    }

    /// A program started with descriptor 9 open on the list, and the search path that finds the counting git first.
    fn counting(&self, list: &Path, program: &str) -> (Command, OsString) {
        let folder = self.root().join("counted");
        let script = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >&9 || case \" $* \" in\n*' add -A '*|*' write-tree '*) ;;\n\
             *) echo 'uncounted git' >&2; exit 97 ;;\nesac\nexec '{}' \"$@\"\n",
            find_program("git").display()
        );
        write_script(&folder.join("git"), &script);
        let mut path = folder.into_os_string();
        path.push(":");
        path.push(search_path());
        let mut command = self.command("sh", &self.path());
        command.args(["-c", "exec 9>>\"$0\"; exec \"$@\""]).arg(list).arg(program);
        (command, path)
    }

    /// Asserts that nothing of this test's runs is alive: no process whose folder, arguments or environment name
    /// [`TestRepo::root`].
    pub(crate) fn no_process_left(&self) {
        let left = self.processes();
        assert!(left.is_empty(), "processes left behind: {left:#?}");
    }

    fn processes(&self) -> Vec<String> {
        let root = self.root().as_os_str().as_encoded_bytes();
        let mut found = Vec::new();
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let place = process.path();
            let number = process.file_name().to_string_lossy().parse::<u32>().ok();
            // Ourselves aside: our arguments may name the folder we were asked to work in.
            let Some(number) = number.filter(|n| *n != std::process::id()) else { continue };
            let cwd = std::fs::read_link(place.join("cwd")).unwrap_or_default();
            let words = std::fs::read(place.join("cmdline")).unwrap_or_default();
            let vars = std::fs::read(place.join("environ")).unwrap_or_default();
            if [cwd.as_os_str().as_encoded_bytes(), &words, &vars].iter().any(|text| holds(text, root)) {
                found.push(format!("{number}: {}", String::from_utf8_lossy(&words).replace('\0', " ")));
            }
        }
        found
    }

    /// Asserts that no lock file is left in the git directory, nor in those of the worktrees.
    pub(crate) fn no_lock_left(&self) {
        let common = self.common_dir();
        let left: Vec<_> = walkdir::WalkDir::new(&common)
            .into_iter()
            .map(|entry| entry.unwrap().into_path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "lock"))
            .collect();
        assert!(left.is_empty(), "lock files left behind: {left:?}");
    }

    /// The machine as the library sees it from here, for tests that call the library itself.
    pub(crate) fn host(&self) -> Host {
        Self::host_at(self.root())
    }

    /// The same for a repository that another process made.
    pub(crate) fn host_at(root: &Path) -> Host {
        let home = root.join("home");
        let mut vars = vec![("PATH".into(), search_path()), ("HOME".into(), home.into_os_string())];
        vars.extend(installed_tools().into_iter().map(|(name, place)| (OsString::from(name), place.into_os_string())));
        Host {
            git: find_program("git"),
            helper: BINARY.into(),
            scratch: root.join("tmp"),
            env: Env::of(vars),
            clock: Clock::Fixed(FIRST_DATE),
            cancel: Cancel::new(),
        }
    }

    /// A program in an environment that holds nothing of the caller's but where its tools are installed.
    #[expect(clippy::disallowed_methods, reason = "the tests' one starter of programs")]
    pub(crate) fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        let home = self.root().join("home");
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", search_path())
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("TMPDIR", self.root().join("tmp"))
            .env("HOME", home)
            .envs(installed_tools());
        command
    }
}

/// Writes a file below a folder, folders included.
pub(crate) fn write(dir: &Path, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Writes a program.
pub(crate) fn write_script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    write(Path::new("/"), path, text);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Where test repositories are made: in memory if there is such a place, for creating a file on disk costs ten times more.
fn tmpfs() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if variable("TMPDIR").is_none() && memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

pub(crate) fn search_path() -> OsString {
    variable("PATH").expect("the tests need a PATH")
}

fn find_program(name: &str) -> PathBuf {
    let path = search_path();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("{name} is not on PATH"))
}

/// Toolchains live below the real home, which the tests hide.
fn installed_tools() -> Vec<(&'static str, PathBuf)> {
    let home = PathBuf::from(variable("HOME").unwrap_or_default());
    [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")]
        .into_iter()
        .map(|(name, folder)| (name, variable(name).map_or_else(|| home.join(folder), PathBuf::from)))
        .filter(|(_, place)| place.is_dir())
        .collect()
}

#[expect(clippy::disallowed_methods, reason = "the tests read the environment here only")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Says aloud that a test, or a part of it, was skipped. Not with a macro: what those print is kept back when a test
/// passes, and `.ci/run` counts these lines.
pub(crate) fn skip(why: &str) {
    let thread = std::thread::current();
    let line = format!("\nSKIPPED {}: {why}\n", thread.name().unwrap_or("a test"));
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[test]
fn the_same_steps_give_the_same_commit_id_anywhere() {
    let (one, two) = (TestRepo::new(), TestRepo::new());
    let head = one.git(&["rev-parse", "HEAD"]);
    assert_eq!(head, two.git(&["rev-parse", "HEAD"]));
    two.branch("topic");
    two.write("sub/b.txt", "1\n");
    assert_ne!(two.commit("more"), head);
    assert_eq!(two.git(&["symbolic-ref", "--short", "HEAD"]), "topic");
}

#[test]
fn a_worktree_is_the_workers_and_git_does_not_see_it_from_above() {
    let repo = TestRepo::new();
    let worktree = repo.add_worktree("w-001");
    write(&worktree, "new.txt", "work\n");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git_in(&worktree, &["status", "--porcelain"]), "?? new.txt");
    assert_eq!(repo.git_in(&worktree, &["symbolic-ref", "--short", "HEAD"]), "aw/w-001");
}

#[test]
fn a_process_left_behind_is_found_and_so_is_a_lock() {
    let repo = TestRepo::new();
    repo.no_process_left();
    repo.no_lock_left();
    let mut child = repo.command("cat", repo.root()).stdin(Stdio::piped()).spawn().unwrap();
    assert_eq!(repo.processes(), [format!("{}: cat ", child.id())]);
    drop(child.stdin.take());
    child.wait().unwrap();
    repo.no_process_left();
    std::fs::write(repo.common_dir().join("index.lock"), "").unwrap();
    assert!(std::panic::catch_unwind(|| repo.no_lock_left()).is_err());
}

#[test]
fn the_binary_starts_without_the_callers_environment() {
    let (outcome, gits) = TestRepo::new().run_counting_git(&["--version"]);
    assert_eq!(gits, [""; 0], "asking for the version needs no git");
    assert_eq!(outcome.exits(0).stderr, "");
}

#[test]
fn every_git_is_counted_and_none_goes_uncounted() {
    let repo = TestRepo::new();
    let list = repo.root().join("git-runs");
    let (command, path) = repo.counting(&list, "sh");
    let done = TestRepo::finish(command, &["-c", "git rev-parse HEAD; git version | cat"], &[("PATH", &path)], b"");
    assert!(done.exits(0).stdout.starts_with(&repo.git(&["rev-parse", "HEAD"])));
    assert_eq!(std::fs::read_to_string(&list).unwrap(), "rev-parse HEAD\nversion\n");
    // Whoever runs the tests may have left us the descriptor.
    let uncounted = repo
        .command("sh", &repo.path())
        .args(["-c", "exec 9>&-; exec \"$0\" version"])
        .arg(repo.root().join("counted/git"))
        .output()
        .unwrap();
    assert_eq!(uncounted.status.code(), Some(97));
}
