//! Worktrees, bases and saved work: where a task is cut from, where it stands, and what is left of it however it ends.

use crate::support::{Crew, end_of, write};
use countersign::pipeline::work::journal::Errand;
use countersign::pipeline::work::step::Step;
use countersign::pipeline::work::{TaskEnd, WorkError, WorkEvent, WorkReport, work};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The task whose worker is sent out for the first time.
fn first_sent(event: &WorkEvent) -> Option<&str> {
    match event {
        WorkEvent::Step { task, step: Step::Send { iteration: 1, errand: Errand::Do } } => Some(task),
        _ => None,
    }
}

fn end<'r>(report: &'r WorkReport, id: &str) -> &'r TaskEnd {
    report.tasks.iter().find(|end| end.task == id).unwrap()
}

/// A value of a patch's header.
fn header(patch: &Path, name: &str) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(patch).unwrap()).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")).map(str::to_owned));
    line.unwrap_or_else(|| panic!("{} names no {name}", patch.display()))
}

/// Applies a patch in a fresh clone at its base: the clone.
fn applied(crew: &Crew, patch: &Path) -> PathBuf {
    let clone = crew.repo.root().join(format!("clone-{}", patch.file_stem().unwrap().to_str().unwrap()));
    let (from, to) = (crew.repo.path().display().to_string(), clone.display().to_string());
    crew.repo.git(&["clone", "-q", "--no-checkout", &from, &to]);
    crew.repo.git_in(&clone, &["checkout", "-q", "--detach", &header(patch, "base")]);
    crew.repo.git_in(&clone, &["apply", "--index", "--whitespace=nowarn", patch.to_str().unwrap()]);
    clone
}

/// Work that a patch made carelessly would lose.
const EVERY_KIND: &str = "printf '\\000\\377new' > logo.png; printf 'no newline at the end' > a.txt; printf '\\001\\000' > new.bin\n\
    rm -f old.bin; [ -e moved.txt ] || mv name.txt moved.txt; chmod +x tool.sh\n\
    rm -f swap.txt; ln -s a.txt swap.txt; printf 'crlf\\r\\nlines\\r\\n' > crlf.txt\n\
    report 'logo.png, a.txt, new.bin, old.bin, name.txt, moved.txt, tool.sh, swap.txt, crlf.txt'\n";

/// A board whose one task was escalated with work of every kind.
fn escalated() -> Crew {
    let crew = Crew::of(1);
    crew.repo.write("logo.png", (0..200u8).map(|n| n.wrapping_mul(37)).collect::<Vec<_>>());
    crew.repo.write("old.bin", b"\0\x01\xff".repeat(50));
    crew.repo.write("name.txt", "one\ntwo\nthree\nfour\n");
    crew.repo.write("tool.sh", "#!/bin/sh\n");
    crew.repo.write("swap.txt", "a file\n");
    crew.repo.write("crlf.txt", "crlf\r\nline\r\n");
    crew.repo.commit("files");
    crew.worker(EVERY_KIND);
    assert_eq!(end_of(&crew.work(&[]), "w-1"), "held:escalated");
    crew
}

fn escalation_patch(crew: &Crew) -> PathBuf {
    crew.repo.path().join(".agentheim/salvage/w-1-escalated-iter3.patch")
}

#[test]
fn diff_binary_patch_of_an_escalated_task_gives_its_tree_back_bit_for_bit_in_a_fresh_clone() {
    let crew = escalated();
    let patch = escalation_patch(&crew);
    std::fs::remove_dir_all(crew.worktree("w-1")).unwrap();
    let clone = applied(&crew, &patch);
    let tree = crew.repo.git_in(&clone, &["write-tree"]);
    assert_eq!(tree, header(&patch, "tree"));
    // A reference keeps the same tree beside the patch.
    let kept = crew.repo.git(&["for-each-ref", "--format=%(tree)", "refs/countersign/claims/w-1"]);
    assert!(kept.lines().any(|line| line == tree), "{kept}");
    assert_eq!(std::fs::read(clone.join("logo.png")).unwrap(), b"\0\xffnew");
    assert_eq!(std::fs::read_link(clone.join("swap.txt")).unwrap(), Path::new("a.txt"));
    assert!(!clone.join("old.bin").exists() && !clone.join("name.txt").exists());
}

#[test]
fn crash_gc_snapshot_leaves_every_object_that_a_receipt_or_a_patch_names() {
    let crew = escalated();
    let patch = escalation_patch(&crew);
    std::fs::remove_dir_all(crew.worktree("w-1")).unwrap();
    crew.repo.git(&["worktree", "prune"]);
    crew.repo.git(&["branch", "-q", "-D", "aw/w-1"]);
    crew.repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    crew.repo.git(&["gc", "-q", "--prune=now"]);
    let (base, commit) = (header(&patch, "base"), header(&patch, "commit"));
    assert!(crew.repo.git(&["diff", "--stat", &base, &commit]).contains("logo.png"));
    crew.repo.git(&["fsck", "--connectivity-only", "--strict"]);
    assert_eq!(crew.repo.git_in(&applied(&crew, &patch), &["write-tree"]), header(&patch, "tree"));
    assert!(crew.repo.run(&["receipts", "w-1"]).exits(0).stdout.contains("claim"));
    crew.repo.run(&["replay", "w-1"]).exits(0);
    // Nothing of it goes to a remote by itself.
    let remote = crew.repo.root().join("remote.git").display().to_string();
    crew.repo.git(&["init", "-q", "--bare", &remote]);
    crew.repo.git(&["remote", "add", "origin", &remote]);
    crew.repo.git(&["push", "-q", "origin", "main"]);
    crew.repo.git(&["push", "-q", "--all", "origin"]);
    let pushed = crew.repo.git(&["ls-remote", &remote]);
    assert!(!pushed.contains("refs/countersign") && !pushed.contains("refs/notes"), "{pushed}");
    // A person threw the evidence away: that is said, and it is no PASS.
    for name in crew.repo.git(&["for-each-ref", "--format=%(refname)", "refs/countersign"]).lines() {
        crew.repo.git(&["update-ref", "-d", name]);
    }
    crew.repo.git(&["gc", "-q", "--prune=now"]);
    let gone = crew.repo.run(&["receipts", "w-1"]);
    assert_eq!(gone.code, Some(2), "{gone:?}");
    assert!(gone.stderr.contains("w-1"), "{gone:?}");
    let before = crew.repo.git(&["rev-list", "--count", "--grep", "is made", "main"]);
    assert_ne!(end_of(&crew.work(&[]), "w-1"), "landed");
    assert_eq!(crew.repo.git(&["rev-list", "--count", "--grep", "is made", "main"]), before);
}

/// Puts one file of each kind into a task's worktree: committed, staged, edited, untracked, ignored.
fn five_files(crew: &Crew, id: &str) {
    let place = &crew.worktree(id);
    let [committed, staged, edited, untracked] = four(id);
    write(place, committed.0, committed.1);
    crew.repo.git_in(place, &["add", committed.0]);
    crew.repo.git_in(place, &["commit", "-q", "-m", "the worker commits"]);
    write(place, staged.0, staged.1);
    crew.repo.git_in(place, &["add", staged.0]);
    write(place, edited.0, edited.1);
    write(place, untracked.0, untracked.1);
    write(place, "build/ignored.o", "ignored\n");
}

/// The four that must never be lost. `a.txt` is in the base.
fn four(id: &str) -> [(&'static str, String); 4] {
    ["committed.txt", "staged.txt", "a.txt", "untracked.txt"].map(|name| (name, format!("{name} of {id}\n")))
}

fn holds_the_four(place: &Path, id: &str) {
    for (name, text) in four(id) {
        assert_eq!(std::fs::read_to_string(place.join(name)).ok(), Some(text), "{name} in {}", place.display());
    }
}

/// Asserts that the work of a task that did not land is where the run's end, the task's page and the journal say.
fn is_saved(crew: &Crew, report: &WorkReport, id: &str, page: &str, patch: &str) {
    let ended = end(report, id);
    let place = crew.repo.path().join(".agentheim/salvage").join(patch);
    assert!(ended.saved.iter().any(|saved| Path::new(saved) == place), "{id}: {ended:#?}");
    holds_the_four(&applied(crew, &place), id);
    let page = crew.landed(page).unwrap();
    assert!(page.contains(&format!(".agentheim/salvage/{patch}")), "{page}");
    assert!(!page.contains(crew.repo.root().to_str().unwrap()), "a page names no place of this machine: {page}");
}

/// Runs a board on which every worker begins in a worktree with the five files.
fn with_five_files(crew: &Crew, parallel: usize) -> WorkReport {
    let mut request = crew.request(&[]);
    request.parallel = parallel;
    crew.ask_watching(&request, &mut |event| {
        if let Some(id) = first_sent(event) {
            five_files(crew, id);
            write(&crew.repo.path(), format!(".worktrees/ready-{id}"), "");
        }
    })
    .unwrap()
}

fn crew_that_ignores(tasks: usize) -> Crew {
    let crew = Crew::of(tasks);
    crew.repo.write(".gitignore", "build/\n");
    crew.repo.commit("ignore");
    crew
}

#[test]
fn wt_cleanup_loses_nothing_when_work_lands_is_escalated_bounced_or_its_report_is_lost() {
    let crew = crew_that_ignores(4);
    crew.worker(
        "until [ -e ../ready-$id ]; do :; done\n\
         case $id in\n\
          w-1) echo made > w-1.txt; report 'w-1.txt, a.txt, committed.txt, staged.txt, untracked.txt' ;;\n\
          w-2) report 'a.txt, committed.txt, staged.txt, untracked.txt' ;;\n\
          w-3) bounce 'what is it for?' ;;\n\
          w-4) exit 3 ;;\n\
         esac\n",
    );
    let report = with_five_files(&crew, 2);
    let ends = ["w-1", "w-2", "w-3", "w-4"].map(|id| end_of(&report, id));
    assert_eq!(ends, ["landed", "held:escalated", "bounced", "held:lost-result"], "{report:#?}");
    for (name, text) in four("w-1") {
        assert_eq!(crew.landed(name), Some(text), "{name} landed");
    }
    assert!(!crew.worktree("w-1").exists() && !crew.worktree("w-3").exists());
    holds_the_four(&crew.worktree("w-2"), "w-2");
    holds_the_four(&crew.worktree("w-4"), "w-4");
    assert!(crew.worktree("w-4").join("build/ignored.o").exists());
    is_saved(&crew, &report, "w-2", ".agentheim/board/w/doing/w-2-make.md", "w-2-escalated-iter3.patch");
    is_saved(&crew, &report, "w-3", ".agentheim/board/w/backlog/w-3-make.md", "w-3-bounced.patch");
    is_saved(&crew, &report, "w-4", ".agentheim/board/w/doing/w-4-make.md", "w-4-lost-result.patch");
}

#[test]
fn wt_cleanup_loses_nothing_when_the_worker_runs_out_of_time() {
    let crew = crew_that_ignores(1);
    let settings = "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\nlimits:\n  worker-seconds: 2\n";
    crew.repo.write(".agentheim/countersign.yaml", settings);
    crew.repo.commit("a limit");
    crew.worker("until [ -e ../never ]; do read -r x < /dev/null; done\n");
    let report = with_five_files(&crew, 1);
    assert_eq!(end_of(&report, "w-1"), "held:lost-result", "{report:#?}");
    holds_the_four(&crew.worktree("w-1"), "w-1");
    is_saved(&crew, &report, "w-1", ".agentheim/board/w/doing/w-1-make.md", "w-1-lost-result.patch");
    crew.repo.no_process_left();
}

#[test]
fn wt_cleanup_loses_nothing_when_the_run_is_interrupted_and_the_task_taken_off_the_board() {
    let crew = crew_that_ignores(1);
    crew.worker("until [ -e ../never ]; do read -r x < /dev/null; done\n");
    let host = crew.repo.host();
    let cancel = host.cancel.clone();
    let ended = work(&crew.request(&[]), &host, &mut |event| {
        if let Some(id) = first_sent(event) {
            five_files(&crew, id);
            cancel.ask();
        }
    });
    assert!(matches!(ended, Err(WorkError::Interrupted)), "{ended:?}");
    crew.repo.no_process_left();
    holds_the_four(&crew.worktree("w-1"), "w-1");
    assert!(crew.worktree("w-1").join("build/ignored.o").exists());
    // A person puts the task back; the next run clears up after the one that was interrupted.
    let (doing, backlog) = (".agentheim/board/w/doing/w-1-make.md", ".agentheim/board/w/backlog/w-1-make.md");
    let page = crew.landed(doing).unwrap().replace("status: doing", "status: backlog");
    crew.repo.git(&["rm", "-q", doing]);
    crew.repo.write(backlog, page);
    crew.repo.commit("not now");
    let report = crew.work(&[]);
    assert!(!crew.worktree("w-1").exists(), "{report:#?}");
    let [saved] = end(&report, "w-1").saved.as_slice() else { panic!("{report:#?}") };
    holds_the_four(&applied(&crew, Path::new(saved)), "w-1");
}

#[test]
fn wt_cleanup_loses_nothing_and_writes_no_patch_where_nothing_was_changed() {
    let crew = Crew::of(1);
    crew.worker("bounce 'not mine'\n");
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "bounced");
    assert!(!crew.worktree("w-1").exists());
    let patches = std::fs::read_dir(crew.repo.path().join(".agentheim/salvage")).into_iter().flatten().flatten();
    assert_eq!(patches.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "patch")).count(), 0);
}

#[test]
fn wt_base_ref_is_the_branch_that_is_checked_out_and_a_different_upstream_is_said() {
    let crew = Crew::of(1);
    crew.worker("echo made > \"$id.txt\"\nreport \"$id.txt\"\n");
    let remote = crew.repo.root().join("origin.git").display().to_string();
    crew.repo.git(&["clone", "-q", "--bare", &crew.repo.path().display().to_string(), &remote]);
    crew.repo.git(&["remote", "add", "origin", &remote]);
    crew.repo.git(&["fetch", "-q", "origin"]);
    crew.repo.git(&["branch", "-q", "--set-upstream-to=origin/main", "main"]);
    crew.repo.write("m2.txt", "2\n");
    let second = crew.repo.commit("M2");
    crew.repo.branch("dev");
    crew.repo.write("d3.txt", "3\n");
    let third = crew.repo.commit("D3");
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(report.target, "refs/heads/dev");
    assert_eq!(crew.repo.git(&["rev-parse", "main"]), second, "no other branch moved");
    let claim: serde_json::Value =
        serde_json::from_str(&crew.repo.git(&["show", "refs/countersign/cases/w-1:claim.json"])).unwrap();
    let base = claim["base"].as_str().unwrap();
    assert_eq!(base.len(), 40);
    assert_eq!(crew.repo.git(&["rev-parse", &format!("{base}^")]), third, "cut from what was checked out");
    assert_eq!(crew.repo.git(&["show", "dev:w-1.txt"]), "made");
    assert!(report.remarks.is_empty(), "dev tracks nothing: {report:#?}");
    // The local branch is behind what the remote has, by one squash commit, and ahead by its own.
    crew.repo.git(&["switch", "-q", "main"]);
    let other = crew.repo.root().join("other");
    crew.repo.git(&["clone", "-q", &remote, other.to_str().unwrap()]);
    write(&other, "squash.txt", "squashed\n");
    crew.repo.commit_in(&other, "a squash on the remote");
    crew.repo.git_in(&other, &["push", "-q", "origin", "main"]);
    crew.repo.git(&["fetch", "-q", "origin"]);
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(crew.landed("squash.txt"), None, "the base is never switched silently");
    let remark = report.remarks.iter().find(|remark| remark.contains("origin/main")).expect("the mismatch is said");
    assert!(remark.contains("1 commit behind") && remark.contains("ahead"), "{remark}");
}

#[test]
fn wt_inside_repo_gitlink_never_reaches_an_index() {
    let crew = Crew::of(1);
    // The worker commits in the main checkout by mistake.
    crew.worker(
        "until [ -e ../go ]; do :; done\n(cd ../.. && git add -A && git commit -q -m 'by mistake')\n\
         echo made > \"$id.txt\"\nreport \"$id.txt\"\n",
    );
    let report = crew
        .ask_watching(&crew.request(&[]), &mut |event| {
            if first_sent(event).is_none() {
                return;
            }
            assert!(crew.worktree("w-1").join(".git").is_file());
            assert_eq!(crew.repo.git(&["status", "--porcelain", "--untracked-files=all"]), "");
            assert_eq!(crew.repo.git(&["add", "-A", "--dry-run"]), "");
            crew.repo.commit("a person adds everything");
            write(&crew.repo.path(), ".worktrees/go", "");
        })
        .unwrap();
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert!(!crew.subjects().iter().any(|subject| subject == "by mistake"), "{:?}", crew.subjects());
    assert!(!crew.repo.git(&["log", "--raw", "--format=", "main"]).contains(" 160000 "));
    assert_eq!(crew.repo.git(&["ls-files", "-s"]).matches("160000").count(), 0);
    assert_eq!(crew.landed(".gitignore"), None, "the project's own ignore file is not ours");
}

#[test]
fn con_config_lock_and_twenty_claims_at_once_leave_no_half_begun_task() {
    const TASKS: usize = 20;
    let crew = Crew::of(TASKS);
    let remote = crew.repo.root().join("origin.git").display().to_string();
    crew.repo.git(&["clone", "-q", "--bare", &crew.repo.path().display().to_string(), &remote]);
    crew.repo.git(&["remote", "add", "origin", &remote]);
    crew.repo.git(&["fetch", "-q", "origin"]);
    crew.repo.git(&["branch", "-q", "--set-upstream-to=origin/main", "main"]);
    // What is begun stays as it is: every worker gives up, and its task waits in `doing`.
    crew.worker("fail 'no'\n");
    let config = std::fs::read(crew.repo.common_dir().join("config")).unwrap();
    let mut request = crew.request(&[]);
    request.names = (1..TASKS).map(|number| format!("w-{number}")).collect();
    request.parallel = TASKS;
    crew.ask(&request).unwrap();
    // One more while somebody holds the lock of the configuration.
    let lock = crew.repo.common_dir().join("config.lock");
    std::fs::write(&lock, "somebody else's").unwrap();
    request.names = vec![format!("w-{TASKS}")];
    let report = crew.ask(&request).unwrap();
    assert_eq!(end_of(&report, "w-20"), "held:worker-failed", "{report:#?}");
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), "somebody else's");
    std::fs::remove_file(&lock).unwrap();
    let listed = |words: &[&str]| crew.repo.git(words).lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let wanted: BTreeSet<String> = (1..=TASKS).map(|number| format!("w-{number}")).collect();
    let branches = listed(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/aw"]);
    let doing: BTreeSet<String> = listed(&["ls-tree", "--name-only", "main:.agentheim/board/w/doing"])
        .iter()
        .map(|name| name.trim_end_matches("-make.md").to_owned())
        .collect();
    assert_eq!((&branches, &doing), (&wanted, &wanted));
    for id in &wanted {
        assert_eq!(crew.repo.git_in(&crew.worktree(id), &["symbolic-ref", "HEAD"]), format!("refs/heads/aw/{id}"));
        let starts = crew.subjects().iter().filter(|subject| subject.ends_with(&format!("batch start [{id}]"))).count();
        assert_eq!(starts, 1, "{id}");
    }
    assert_eq!(std::fs::read(crew.repo.common_dir().join("config")).unwrap(), config);
    crew.repo.no_lock_left();
}

#[test]
fn the_lock_of_the_peers_tools_is_waited_for_taken_over_from_the_dead_and_given_back() {
    let crew = Crew::of(1);
    crew.worker("[ -e ../../.agentheim/state/lifecycle.lock ] && echo held > held.txt\necho made > \"$id.txt\"\nreport \"$id.txt\"\n");
    crew.repo.write(".gitignore", ".agentheim/state/\n");
    crew.repo.commit("ignore");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    // Its holder died on this machine: Linux gives no process such a number.
    let text = format!("{{\"pid\": {}, \"hostname\": \"{}\", \"startedAt\": \"x\"}}", (1 << 22) + 1, host.trim());
    crew.repo.write(".agentheim/state/lifecycle.lock", text);
    let report = crew.work(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    let state = crew.repo.path().join(".agentheim/state");
    assert_eq!(std::fs::read_dir(state).unwrap().count(), 0, "the lock is given back");
    assert_eq!(crew.landed("held.txt"), None, "nobody is locked out while a worker works");
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}
