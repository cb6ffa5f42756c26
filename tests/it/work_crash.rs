//! A run that is killed before or after any effect leaves the branch before or after it, never between, and the next run
//! ends where an undisturbed one would have ended.

use crate::support::{Crew, end_of};
use countersign::host::env::Env;
use countersign::host::failpoint;
use countersign::pipeline::work::work;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// Says to the child of a test which repository is meant.
const ROOT: &str = "COUNTERSIGN_CRASH_TEST";

/// More effects than these runs have.
const MANY: u32 = 400;

/// The body of the child process; in a run of all tests it has nothing to do.
#[test]
fn a_run_in_a_process_of_its_own_may_be_killed() {
    let (Some(root), Some(at)) = (std::env::var_os(ROOT), std::env::var_os(failpoint::VARIABLE)) else { return };
    let top = Path::new(&root).join("repo");
    let mut host = Crew::host_of(Path::new(&root));
    let mut vars: Vec<(OsString, OsString)> =
        ["PATH", "HOME"].map(|name| (name.into(), host.env.get(name).unwrap().to_owned())).into();
    vars.push((failpoint::VARIABLE.into(), at));
    host.env = Env::of(vars);
    work(&Crew::request_at(&top, &[], 1), &host, &mut |_| {}).unwrap();
}

/// Runs the conductor in a process that dies at this place. True: it died; false: it ended before it came there.
fn dies(crew: &Crew, at: u32) -> bool {
    let mut child = crew.repo.command(std::env::current_exe().unwrap(), &crew.repo.path());
    child
        .args(["--exact", "work_crash::a_run_in_a_process_of_its_own_may_be_killed"])
        .env(ROOT, crew.repo.root())
        .env(failpoint::VARIABLE, at.to_string());
    let done = child.output().unwrap();
    let killed = done.status.signal() == Some(9);
    assert!(killed || done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    killed
}

/// What must be the same however often the run died: the branch's tree without the diary, and what lies about.
fn state(crew: &Crew) -> String {
    let tree = crew.repo.git(&["ls-tree", "-r", "main"]);
    let tree: Vec<&str> = tree.lines().filter(|line| !line.ends_with("protocol.md")).collect();
    let branches = crew.repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
    let worktrees = crew.repo.git(&["worktree", "list", "--porcelain"]).matches("/repo/.worktrees/").count();
    let dirt = crew.repo.git(&["status", "--porcelain"]);
    format!("{}\n{branches}\n{worktrees} worktrees\n{dirt}", tree.join("\n"))
}

/// Kills a run of this worker at every `stride`-th place and lets the next run end it.
fn survives(lines: &str, stride: u32) {
    let undisturbed = Crew::of(1);
    undisturbed.worker(lines);
    assert_eq!(end_of(&undisturbed.work(&[]), "w-1"), "landed");
    let wanted = state(&undisturbed);
    let mut at = 1;
    while at < MANY {
        let crew = Crew::of(1);
        crew.worker(lines);
        let before = crew.repo.git(&["rev-parse", "main"]);
        if !dies(&crew, at) {
            assert!(at > 20, "only {at} places: the run has no effects to die at");
            return;
        }
        let tip = crew.repo.git(&["rev-parse", "main"]);
        crew.repo.git(&["merge-base", "--is-ancestor", &before, &tip]);
        crew.repo.git(&["fsck", "--connectivity-only"]);
        let report = crew.work(&[]);
        let landings = crew.subjects().iter().filter(|subject| subject.contains("is made [w-1]")).count();
        assert_eq!(landings, 1, "died at {at}: {:#?} {report:#?}", crew.subjects());
        assert_eq!(state(&crew), wanted, "died at {at}: {report:#?}");
        let landing = crew.repo.git(&["log", "--format=%H", "-1", "--grep", "is made", "main"]);
        crew.repo.git(&["notes", "--ref=refs/notes/countersign", "show", &landing]);
        crew.repo.no_lock_left();
        at += stride;
    }
    panic!("the run never ended");
}

#[test]
fn crash_every_step_an_honest_task_lands_once_whenever_the_run_is_killed() {
    survives("echo made > \"$id.txt\"\nreport \"$id.txt\"\n", 1);
}

#[test]
fn crash_retry_counter_a_mended_task_lands_once_whenever_the_run_is_killed() {
    survives(
        "if [ $n = 2 ]; then rm -f x.txt; echo made > \"$id.txt\"; report \"$id.txt\"; else echo other > x.txt; report x.txt; fi\n",
        5,
    );
}
