//! A run that is killed before or after any effect leaves the branch before or after it, never between, and the next run
//! ends where an undisturbed one would have ended.
//!
//! The board has three tasks: one lands, one is false three times, one meets what a person committed meanwhile. Every
//! place at which the program can die has a number. `cargo test` tries every few of them, each time others of the three;
//! `-- --ignored` tries them all.

use crate::support::{Crew, end_of};
use countersign::host::env::Env;
use countersign::host::failpoint;
use countersign::pipeline::work::step::Step;
use countersign::pipeline::work::{WorkError, WorkEvent, WorkReport, work};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

/// Says to the child of a test which repository is meant, and which tasks.
const ROOT: &str = "COUNTERSIGN_CRASH_TEST";
const NAMES: &str = "COUNTERSIGN_CRASH_TASKS";

/// More places than these runs have.
const MANY: u32 = 2000;

/// `w-1` does what is asked, `w-2` never does, `w-3` edits a file that a person edited meanwhile.
const WORKER: &str = "case $id in\n\
    w-1) echo made > w-1.txt; report w-1.txt ;;\n\
    w-2) echo other > x.txt; report x.txt ;;\n\
    w-3) if grep -q '^<<<<<<<' shared.txt; then echo both > shared.txt; else echo mine > shared.txt; fi\n\
         echo made > w-3.txt; report 'w-3.txt, shared.txt' ;;\n\
   esac\n";

/// `w-1` is mended at its second attempt.
const MENDED: &str = "if [ $n = 2 ]; then rm -f x.txt; echo made > \"$id.txt\"; report \"$id.txt\"; else echo other > x.txt; report x.txt; fi\n";

/// The body of the child process; in a run of all tests it has nothing to do.
#[test]
fn a_run_in_a_process_of_its_own_may_be_killed() {
    let (Some(root), Some(at)) = (std::env::var_os(ROOT), std::env::var_os(failpoint::VARIABLE)) else { return };
    let names = std::env::var(NAMES).unwrap_or_default();
    let names: Vec<&str> = names.split_whitespace().collect();
    let top = Path::new(&root).join("repo");
    let mut host = Crew::host_of(Path::new(&root));
    let mut vars: Vec<(OsString, OsString)> =
        ["PATH", "HOME"].map(|name| (name.into(), host.env.get(name).unwrap().to_owned())).into();
    vars.push((failpoint::VARIABLE.into(), at));
    host.env = Env::of(vars);
    work(&Crew::request_at(&top, &names, 1), &host, &mut |_| {}).unwrap();
}

/// A board from which runs begin again and again.
struct Stand {
    crew: Crew,
    image: PathBuf,
    _folder: tempfile::TempDir,
}

impl Stand {
    /// Three tasks, none of them begun.
    fn fresh() -> Self {
        let crew = Crew::of(3);
        crew.worker(WORKER);
        Self::at(crew)
    }

    /// Three tasks; the third was begun by a run that was interrupted, and a person committed after that.
    fn three() -> Self {
        let crew = Crew::of(3);
        crew.repo.write("shared.txt", "one\n");
        crew.repo.commit("shared");
        crew.worker("until [ -e ../never ]; do read -r x < /dev/null; done\n");
        let host = crew.repo.host();
        let cancel = host.cancel.clone();
        let ended = work(&crew.request(&["w-3"]), &host, &mut |event| {
            if matches!(event, WorkEvent::Step { step: Step::Send { .. }, .. }) {
                cancel.ask();
            }
        });
        assert!(matches!(ended, Err(WorkError::Interrupted)), "{ended:?}");
        crew.repo.write("shared.txt", "theirs\n");
        crew.repo.commit("a person commits");
        crew.worker(WORKER);
        Self::at(crew)
    }

    fn at(crew: Crew) -> Self {
        let folder = tempfile::tempdir_in(crew.repo.root().parent().unwrap()).unwrap();
        let image = folder.path().join("image");
        copy(&crew, crew.repo.root(), &image);
        Self { crew, image, _folder: folder }
    }

    /// Everything as it was in the beginning.
    fn again(&self) {
        for entry in std::fs::read_dir(self.crew.repo.root()).unwrap() {
            let place = entry.unwrap().path();
            if place.is_dir() { std::fs::remove_dir_all(place).unwrap() } else { std::fs::remove_file(place).unwrap() }
        }
        copy(&self.crew, &self.image.join("."), self.crew.repo.root());
    }

    /// Runs the conductor in a process that dies at this place. True: it died; false: it ended before it came there.
    fn dies(&self, names: &[&str], at: u32) -> bool {
        let crew = &self.crew;
        let mut child = crew.repo.command(std::env::current_exe().unwrap(), &crew.repo.path());
        child
            .args(["--exact", "work_crash::a_run_in_a_process_of_its_own_may_be_killed"])
            .env(ROOT, crew.repo.root())
            .env(NAMES, names.join(" "))
            .env(failpoint::VARIABLE, at.to_string());
        let done = child.output().unwrap();
        let killed = done.status.signal() == Some(9);
        assert!(killed || done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        killed
    }

    /// The trees that the branch has had since the beginning.
    fn trees(&self) -> BTreeSet<String> {
        self.crew.repo.git(&["log", "--first-parent", "--format=%T", "main"]).lines().map(str::to_owned).collect()
    }
}

/// Copies a folder as it is.
fn copy(crew: &Crew, from: &Path, to: &Path) {
    let done = crew.repo.command("cp", Path::new("/")).arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

/// A page in `doing`. A judgement that was broken off has used up a number, so a claim's may be a later one: of the
/// reference that keeps the work, the page must name one, whichever.
fn page(crew: &Crew, line: &str) -> String {
    let blob = line.split_whitespace().nth(2).unwrap();
    let text = crew.repo.git(&["cat-file", "blob", blob]);
    let mut parts = text.split("refs/countersign/claims/");
    let mut page = parts.next().unwrap().to_owned();
    for part in parts {
        let name: String = part.chars().take_while(|c| !c.is_whitespace()).collect();
        crew.repo.git(&["rev-parse", "--verify", "-q", &format!("refs/countersign/claims/{name}^{{commit}}")]);
        page.push_str("<a claim>");
        page.push_str(&part[name.len()..]);
    }
    page
}

/// What must be the same however often the run died: the branch's tree without the diary, what was saved, and what lies
/// about.
fn state(crew: &Crew) -> String {
    let tree = crew.repo.git(&["ls-tree", "-r", "main"]);
    let is_page = |line: &str| line.contains(".agentheim/board/w/doing/");
    let pages: Vec<String> = tree.lines().filter(|line| is_page(line)).map(|line| page(crew, line)).collect();
    let tree: Vec<&str> = tree.lines().filter(|line| !line.ends_with("protocol.md") && !is_page(line)).collect();
    let branches = crew.repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads/aw"]);
    let listed = crew.repo.git(&["worktree", "list", "--porcelain"]);
    let worktrees: Vec<&str> = listed.lines().filter(|line| line.contains("/repo/.worktrees/")).collect();
    let lying = std::fs::read_dir(crew.repo.path().join(".worktrees")).into_iter().flatten().flatten();
    let lying: BTreeSet<_> = lying.map(|entry| entry.file_name()).filter(|name| name != ".results").collect();
    let patches = std::fs::read_dir(crew.repo.path().join(".agentheim/salvage")).into_iter().flatten().flatten();
    let patches = patches.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "patch"));
    let patches: BTreeSet<_> =
        patches.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap().len())).collect();
    let dirt = crew.repo.git(&["status", "--porcelain"]);
    format!("{tree:#?}\n{pages:#?}\n{branches}\n{worktrees:#?}\n{lying:?}\n{patches:?}\n{dirt}")
}

/// Every task's own record, for whoever has to find out what went wrong.
fn journals(crew: &Crew) -> String {
    let folder = crew.repo.common_dir().join("countersign/work");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let read = |path: PathBuf| std::fs::read_to_string(path.join("journal.jsonl")).unwrap_or_default();
    entries.map(|path| format!("{}\n{}", path.display(), read(path.clone()))).collect()
}

/// Asserts that what a worker has handed in is in its worktree or under a reference.
fn is_reachable(crew: &Crew, id: &str, file: &str, at: u32) {
    let journal = crew.repo.common_dir().join("countersign/work").join(id).join("journal.jsonl");
    if !std::fs::read_to_string(journal).unwrap_or_default().contains("\"entry\":\"returned\"") {
        return;
    }
    // `w-1` has another file at its first attempt, on the board where it is mended.
    let is_there = |file: &str| {
        let named = || !crew.repo.git(&["log", "--all", "--format=%H", "-1", "--", file]).is_empty();
        crew.worktree(id).join(file).exists() || named()
    };
    assert!(is_there(file) || (id == "w-1" && is_there("x.txt")), "died at {at}: {id}'s {file} is nowhere");
}

/// The run after the crash. One that is asked for a task that has landed meanwhile starts nothing; what the dead one left
/// is cleared away by `resume`.
fn ended(crew: &Crew, names: &[&str]) -> WorkReport {
    let mut request = Crew::request_at(&crew.repo.path(), names, 1);
    match crew.ask(&request) {
        Err(WorkError::Scope(_)) => {
            (request.names, request.only_resume) = (Vec::new(), true);
            crew.ask(&request).unwrap()
        }
        done => done.unwrap_or_else(|why| panic!("{why}")),
    }
}

/// Kills a run of these tasks at every `stride`-th place from `first` on, and lets the next run end it. How many places
/// there are.
fn survives(stand: &Stand, names: &[&str], wanted_ends: &[(&str, &str)], (first, stride): (u32, u32)) -> u32 {
    let crew = &stand.crew;
    let undisturbed = ended(crew, names);
    for (id, wanted) in wanted_ends {
        assert_eq!(end_of(&undisturbed, id), *wanted, "{undisturbed:#?}");
    }
    let (wanted, trees) = (state(crew), stand.trees());
    let mut at = first;
    while at < MANY {
        stand.again();
        if !stand.dies(names, at) {
            assert!(at > 20, "only {at} places: the run has no effects to die at");
            return at;
        }
        let tip = crew.repo.git(&["rev-parse", "main^{tree}"]);
        assert!(trees.contains(&tip), "died at {at}: the branch is in a state that an undisturbed run never makes");
        crew.repo.git(&["fsck", "--connectivity-only"]);
        for (id, file) in [("w-1", "w-1.txt"), ("w-2", "x.txt"), ("w-3", "w-3.txt")] {
            is_reachable(crew, id, file, at);
        }
        let report = ended(crew, names);
        // A run that died after the end has nothing left to say about it.
        for (id, wanted) in wanted_ends.iter().filter(|(id, _)| report.tasks.iter().any(|end| end.task == *id)) {
            assert_eq!(end_of(&report, id), *wanted, "died at {at}: {report:#?}");
        }
        for id in ["w-1", "w-2", "w-3"] {
            let landings = crew.subjects().iter().filter(|s| s.contains(&format!("is made [{id}]"))).count();
            let due = usize::from(wanted_ends.contains(&(id, "landed")));
            assert_eq!(landings, due, "died at {at}: {id}: {:#?} {report:#?}", crew.subjects());
        }
        assert_eq!(state(crew), wanted, "died at {at}: {report:#?}\n{}", journals(crew));
        for landing in crew.repo.git(&["log", "--format=%H", "--grep", "is made", "main"]).lines() {
            crew.repo.git(&["notes", "--ref=refs/notes/countersign", "show", landing]);
        }
        crew.repo.no_lock_left();
        at += stride;
    }
    panic!("the run never ended");
}

const LANDS: &[(&str, &str)] = &[("w-1", "landed")];
const FAILS: &[(&str, &str)] = &[("w-2", "held:escalated")];
const MEETS: &[(&str, &str)] = &[("w-3", "landed")];
const ALL: &[(&str, &str)] = &[("w-1", "landed"), ("w-2", "held:escalated"), ("w-3", "landed")];

#[test]
fn crash_every_step_of_a_task_that_lands_is_survived() {
    survives(&Stand::fresh(), &["w-1"], LANDS, (1, 7));
}

#[test]
fn crash_every_step_of_a_task_that_is_false_three_times_is_survived() {
    survives(&Stand::fresh(), &["w-2"], FAILS, (2, 23));
}

#[test]
fn crash_every_step_of_a_task_that_meets_a_conflict_is_survived() {
    survives(&Stand::three(), &["w-3"], MEETS, (3, 19));
}

#[test]
fn crash_every_step_of_a_run_with_three_tasks_is_survived() {
    survives(&Stand::three(), &[], ALL, (40, 97));
}

#[test]
fn crash_retry_counter_a_mended_task_lands_once_whenever_the_run_is_killed() {
    let crew = Crew::of(1);
    crew.worker(MENDED);
    survives(&Stand::at(crew), &[], LANDS, (5, 23));
}

/// Ends a run between the move of the branch and the move of the files: the branch's tree is not the index's.
fn dies_amid_a_move(stand: &Stand) {
    let crew = &stand.crew;
    for at in 1..40 {
        stand.again();
        assert!(stand.dies(&["w-1"], at));
        let followed =
            crew.repo.try_git_in(&crew.repo.path(), &["diff", "--cached", "--quiet", "main"]).status.success();
        if !followed {
            assert!(crew.repo.common_dir().join("index.lock").exists(), "a person could commit the landing away");
            return;
        }
    }
    panic!("no place lies between the two");
}

#[test]
fn crash_every_step_amid_the_files_of_a_checkout_too_is_survived() {
    let stand = Stand::fresh();
    let crew = &stand.crew;
    dies_amid_a_move(&stand);
    // The machine stopped while the files were written: one of them is there, one is gone, the others are not moved.
    let (todo, doing) = (".agentheim/board/w/todo/w-1-make.md", ".agentheim/board/w/doing/w-1-make.md");
    crew.repo.write(doing, format!("{}\n", crew.repo.git(&["show", &format!("main:{doing}")])));
    std::fs::remove_file(crew.repo.path().join(todo)).unwrap();
    let report = crew.work(&["w-1"]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
    crew.repo.no_lock_left();
}

#[test]
fn crash_every_step_leaves_a_lock_that_is_not_ours_and_files_that_a_person_edited_meanwhile() {
    let stand = Stand::fresh();
    let crew = &stand.crew;
    dies_amid_a_move(&stand);
    let diary = ".agentheim/board/protocol.md";
    crew.repo.write(diary, "a person's own words\n");
    let why = crew.ask(&crew.request(&["w-1"])).unwrap_err().to_string();
    assert!(why.contains("protocol.md"), "{why}");
    assert_eq!(std::fs::read_to_string(crew.repo.path().join(diary)).unwrap(), "a person's own words\n");
    assert!(crew.repo.common_dir().join("index.lock").exists(), "still no commit can take the move back");
    let old = crew.repo.try_git_in(&crew.repo.path(), &["show", &format!(":{diary}")]).stdout;
    crew.repo.write(diary, old);
    // Another git took the lock of ours away and has its own there now.
    let lock = crew.repo.common_dir().join("index.lock");
    std::fs::rename(&lock, crew.repo.root().join("aside")).unwrap();
    std::fs::write(&lock, "another git's").unwrap();
    let ended = crew.ask(&crew.request(&["w-1"])).map(|report| end_of(&report, "w-1"));
    assert!(!matches!(ended.as_deref(), Ok("landed")), "{ended:?}");
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), "another git's");
    std::fs::remove_file(&lock).unwrap();
    let report = crew.work(&["w-1"]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}

#[test]
#[ignore = "minutes: every place there is; to be run by hand"]
fn crash_every_step_there_is_is_survived() {
    let (lands, fails, meets) = std::thread::scope(|scope| {
        let lands = scope.spawn(|| survives(&Stand::fresh(), &["w-1"], LANDS, (1, 1)));
        let meets = scope.spawn(|| survives(&Stand::three(), &["w-3"], MEETS, (1, 1)));
        let fails = scope.spawn(|| survives(&Stand::fresh(), &["w-2"], FAILS, (1, 1)));
        (lands.join().unwrap(), fails.join().unwrap(), meets.join().unwrap())
    });
    println!(
        "{lands} places where one lands, {fails} where one is false three times, {meets} where one meets a conflict"
    );
}
