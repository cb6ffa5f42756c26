//! Worktrees in every state git allows, judged for what they hold.

use crate::support::{Stage, TestRepo, assert_invariants, write};
use std::fs::{File, FileTimes};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

fn set_time(path: &Path, seconds: u64) {
    let time = UNIX_EPOCH + Duration::from_secs(seconds);
    File::options().write(true).open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

/// An edit of the same size in the instant of the last `git add`: only the index file's own time gives it away.
#[test]
fn an_edit_in_the_instant_of_git_add_is_seen() {
    let repo = TestRepo::new();
    // Only the time of last modification counts, as on file systems that have no other.
    repo.git(&["config", "core.trustctime", "false"]);
    repo.git(&["config", "core.checkStat", "minimal"]);
    let stage = Stage::of(repo, "racy.txt");
    let file = stage.worktree().join("racy.txt");
    let index = stage.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let instant = 1_750_000_000;
    stage.write("racy.txt", "aaa\n");
    set_time(&file, instant);
    stage.git(&["add", "racy.txt"]);
    set_time(Path::new(&index), instant);
    stage.write("racy.txt", "bbb\n");
    set_time(&file, instant);
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.file(&stage.repo, "racy.txt"), b"bbb\n");
}

/// A clean and smudge filter of the project's own, as git-lfs has them.
#[test]
fn filters_are_applied_both_ways_and_named() {
    for (settings, word) in [("filter.demo.required", "true"), ("filter.demo.required", "false")] {
        let repo = TestRepo::new();
        for (way, script) in [("clean", "sed s/plain/stored/\n"), ("smudge", "sed s/stored/plain/\n")] {
            write(repo.root(), format!("tools/{way}.sh"), script);
            let program = format!("sh {}/tools/{way}.sh", repo.root().display());
            repo.git(&["config", &format!("filter.demo.{way}"), &program]);
        }
        repo.git(&["config", settings, word]);
        repo.write(".gitattributes", "*.demo filter=demo\n");
        repo.write("one.demo", "plain 1\n");
        repo.write("same.demo", "plain\n");
        let stage = Stage::of(repo, "one.demo");
        assert_eq!(stage.repo.git(&["show", "HEAD:one.demo"]), "stored 1");
        stage.write("one.demo", "plain 2\n");
        let tests = "test \"$(cat one.demo same.demo)\" = \"$(printf 'plain 2\\nplain')\" && sh run.sh";
        let judged = stage
            .judge_with(&["--tests", tests])
            .finds("tests-run", "pass", &["1 executed"])
            .finds("hiding-places", "info", &["filter.demo.clean", "runs a program"])
            .again(&stage.repo);
        assert_eq!(judged.changed(), ["one.demo"]);
        assert_eq!(judged.file(&stage.repo, "one.demo"), b"stored 2\n");
    }
}

/// A filter that a worker planted runs in a box, and one that fails is nobody's FAIL.
#[test]
fn a_planted_filter_writes_nowhere_and_a_broken_one_is_an_environment_fault() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    stage.write(".gitattributes", "*.txt filter=planted\n");
    let target = stage.repo.root().join("escaped");
    let command =
        format!("sh -c 'touch {0} {1}/escaped 2>/dev/null; cat'", target.display(), stage.repo.path().display());
    stage.repo.git(&["config", "filter.planted.clean", &command]);
    stage.repo.git(&["config", "filter.planted.smudge", &command]);
    _ = stage.judge().finds("hiding-places", "info", &["filter.planted.clean"]).finds("tamper", "ask", &["filter="]);
    assert!(!target.exists() && !stage.repo.path().join("escaped").exists());

    stage.repo.git(&["config", "filter.planted.clean", "false"]);
    stage.repo.git(&["config", "filter.planted.required", "true"]);
    let before = stage.repo.fingerprint();
    let outcome = stage.repo.run(&["verify", "w-001"]).refuses(4, &["cannot freeze", "filter", "nothing was changed"]);
    assert_invariants(&before, &outcome, &stage.repo);
}

/// A submodule's own configuration can plant a filter too; looking for uncommitted content would run it.
#[test]
fn a_filter_planted_in_a_submodule_writes_nowhere() {
    let repo = TestRepo::new();
    let source = repo.root().join("lib-source");
    std::fs::create_dir_all(&source).unwrap();
    repo.git_in(&source, &["init", "-q", "-b", "main"]);
    write(&source, "lib.txt", "1\n");
    repo.commit_in(&source, "1");
    repo.git(&["submodule", "--quiet", "add", source.to_str().unwrap(), "lib"]);
    let stage = Stage::of(repo, "done.txt");
    stage.git(&["submodule", "--quiet", "update", "--init"]);
    stage.write("done.txt", "1\n");
    let target = stage.repo.root().join("escaped");
    let inner = stage.worktree().join("lib");
    write(&inner, ".gitattributes", "*.txt filter=planted\n");
    let command = format!("sh -c 'touch {} 2>/dev/null; cat'", target.display());
    stage.repo.git_in(&inner, &["config", "filter.planted.clean", &command]);
    // Same size, other time: git has to read it to know.
    write(&inner, "lib.txt", "2\n");
    set_time(&inner.join("lib.txt"), 1_750_000_000);
    _ = stage.judge().is("hold").finds("submodules", "ask", &["uncommitted content"]);
    assert!(!target.exists());
}

/// A split index, a worktree's own configuration, a worktree without an index, one on a detached HEAD.
#[test]
fn a_worktree_is_judged_in_whatever_state_it_is() {
    type Prepare = fn(&Stage);
    let states: [(&str, Prepare); 6] = [
        ("plain", |_| {}),
        ("split index", |stage| {
            stage.git(&["config", "core.splitIndex", "true"]);
            stage.git(&["update-index", "--split-index"]);
            stage.git(&["add", "a.txt"]);
        }),
        ("worktree configuration", |stage| {
            stage.git(&["config", "extensions.worktreeConfig", "true"]);
            stage.git(&["config", "--worktree", "core.autocrlf", "input"]);
        }),
        ("detached", |stage| {
            stage.git(&["switch", "-q", "--detach"]);
        }),
        ("no index", |stage| {
            let index = stage.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"]);
            std::fs::remove_file(index).unwrap();
        }),
        ("intent to add", |stage| {
            stage.write("later.txt", "");
            stage.git(&["add", "-N", "later.txt"]);
            std::fs::remove_file(stage.worktree().join("later.txt")).unwrap();
        }),
    ];
    let mut trees = Vec::new();
    for (name, prepare) in states {
        let stage = Stage::asking_for("src/done.txt");
        prepare(&stage);
        stage.write("src/done.txt", "1\n");
        stage.write("a.txt", "1\n");
        let judged = stage.judge().is("land").again(&stage.repo);
        assert_eq!(judged.changed(), ["a.txt", "src/done.txt"], "{name}");
        trees.push(judged.claim("tree").to_owned());
    }
    trees.dedup();
    assert_eq!(trees.len(), 1, "the same work is the same tree, whatever the state");
}

/// The user's own hands: staged, unstaged, stashed and ignored files around a judgement stay as they are.
#[test]
fn the_users_index_stash_and_ignored_files_are_as_they_were() {
    let repo = TestRepo::new();
    repo.write(".gitignore", "*.log\n");
    let stage = Stage::of(repo, "done.txt");
    stage.repo.write("a.txt", "stashed\n");
    stage.repo.git(&["stash", "push", "-q"]);
    stage.repo.write("a.txt", "staged\n");
    stage.repo.git(&["add", "a.txt"]);
    stage.repo.write("a.txt", "unstaged\n");
    stage.repo.write("debug.log", "ignored\n");
    stage.write("done.txt", "1\n");
    stage.write("a.txt", "2\n");
    stage.git(&["stash", "push", "-q", "a.txt"]);
    stage.git(&["update-index", "--assume-unchanged", "run.sh"]);
    _ = stage.judge().is("hold").finds("hiding-places", "ask", &["run.sh", "assume-unchanged"]).again(&stage.repo);
    stage.git(&["update-index", "--no-assume-unchanged", "run.sh"]);
    _ = stage.judge().is("land").again(&stage.repo);
    assert_eq!(stage.repo.git(&["stash", "list"]).lines().count(), 2);
}

/// Committed, marked so that git looks away, and put back on disk: the commit is the work, and the mark is asked about.
#[test]
fn a_committed_change_that_an_index_flag_hides_on_disk_stays_in_the_claim() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let repo = TestRepo::new();
        repo.write("calc.py", "one = 2\n");
        let stage = Stage::of(repo, "done.txt");
        stage.write("done.txt", "1\n");
        stage.write("calc.py", "one = 1\n");
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-q", "-m", "work"]);
        stage.git(&["update-index", &format!("--{flag}"), "calc.py"]);
        stage.write("calc.py", "one = 2\n");
        let judged = stage
            .judge()
            .is("hold")
            .finds("hiding-places", "ask", &["calc.py", flag, "DIFFER from what the index has"])
            .again(&stage.repo);
        assert!(!judged.check("hiding-places").to_string().contains("line endings"), "{flag}");
        assert_eq!(judged.changed(), ["calc.py", "done.txt"], "{flag}");
        assert_eq!(judged.file(&stage.repo, "calc.py"), b"one = 1\n", "{flag}");
    }
}

/// A staged change is as little a matter of line endings as a committed one.
#[test]
fn a_staged_change_that_an_index_flag_hides_on_disk_stays_in_the_claim() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    let before = std::fs::read(stage.worktree().join("a.txt")).unwrap();
    stage.write("a.txt", b"x".repeat(before.len()));
    stage.git(&["add", "a.txt"]);
    stage.git(&["update-index", "--assume-unchanged", "a.txt"]);
    stage.write("a.txt", &before);
    let judged = stage.judge().is("hold").finds("hiding-places", "ask", &["a.txt", "DIFFER"]).again(&stage.repo);
    assert_eq!(judged.changed(), ["a.txt", "done.txt"]);
}

/// Git adds nothing at all beside a repository without a commit; the worker made it, so it is found and not an error.
#[test]
fn a_nested_repository_without_a_commit_is_denied_and_the_rest_is_judged() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    stage.write("deep/sub/x.txt", "x\n");
    stage.git(&["init", "-q", "deep/sub"]);
    stage.git(&["init", "-q", "deep/sub/inner"]);
    // What is in the index already is seen as any other folder, repository or not.
    stage.git(&["init", "-q", ".agentheim"]);
    let judged = stage
        .judge_with(&["--all-checks"])
        .is("send-back")
        .finds("nested-repository", "deny", &["deep/sub", "without a commit", "would not land"])
        .again(&stage.repo);
    assert_eq!(judged.check("nested-repository")["findings"].as_array().unwrap().len(), 1, "{}", judged.outcome);
    assert_eq!(judged.changed(), ["done.txt"]);
    assert!(stage.worktree().join("deep/sub/x.txt").exists(), "nothing was removed");
}

/// A branch made after the fact and tracked hides the commits before it, easier criteria among them.
#[test]
fn a_base_chosen_by_a_local_upstream_is_asked_about_and_a_named_one_is_not() {
    let stage = Stage::asking_for("done.txt");
    stage.write("eased.txt", "1\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-q", "-m", "ease"]);
    stage.git(&["branch", "x2"]);
    stage.git(&["branch", "-q", "--set-upstream-to=x2"]);
    stage.write("done.txt", "1\n");
    let judged = stage
        .judge()
        .is("hold")
        .finds("tamper", "ask", &["refs/heads/x2", "not in the claim", "--base"])
        .again(&stage.repo);
    assert_eq!(judged.changed(), ["done.txt"]);
    stage.repo.run_with(&stage.worktree(), &["verify", "--floor"], &[], b"").exits(3).says("refs/heads/x2");
    // Whoever names the base knows what it leaves out; the earlier question is not forgotten by it.
    _ = stage.judge_with(&["--base", "x2"]).is("land").finds("tamper", "pass", &[]);
    _ = stage.judge().is("hold");
    // An upstream that leaves nothing out, and the default branch itself, are no question.
    stage.git(&["branch", "-q", "-f", "x2", &stage.base]);
    assert_eq!(stage.judge().is("land").changed(), ["done.txt", "eased.txt"]);
    stage.git(&["branch", "-q", "--set-upstream-to=main"]);
    _ = stage.judge().is("land").finds("tamper", "pass", &[]);
    // Where two branches could be the default one, neither's name is believed.
    stage.git(&["branch", "master"]);
    stage.git(&["branch", "-q", "--set-upstream-to=master"]);
    _ = stage.judge().is("hold").finds("tamper", "ask", &["refs/heads/master"]);
}

/// A branch created on top of its own work hides the commits before it just as well.
#[test]
fn a_base_where_a_later_branch_was_created_is_asked_about() {
    let stage = Stage::asking_for("done.txt");
    stage.write("eased.txt", "1\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-q", "-m", "ease"]);
    stage.git(&["switch", "-q", "-c", "aw/w-001-fixed"]);
    stage.write("done.txt", "1\n");
    let judged = stage.judge().is("hold").finds("tamper", "ask", &["creation of aw/w-001-fixed", "not in the claim"]);
    assert_eq!(judged.changed(), ["done.txt"]);
    stage.repo.run_with(&stage.worktree(), &["verify", "--floor"], &[], b"").exits(3).says("not in the claim");
    _ = stage.judge_with(&["--base", "HEAD"]).is("land").finds("tamper", "pass", &[]);
}

/// A filter that is nobody else's makes other files of a tree: what ran under it says nothing of the tree without it.
#[test]
fn a_run_under_a_filter_of_this_clone_is_asked_about_and_not_taken_for_one_without_it() {
    let stage = Stage::asking_for("done.txt");
    stage.git(&["config", "filter.f.clean", "sed s/a-b/a+b/"]);
    stage.git(&["config", "filter.f.smudge", "sed s/a+b/a-b/"]);
    write(&stage.repo.common_dir(), "info/attributes", "done.txt filter=f\n");
    stage.write("done.txt", "a-b\n");
    let tests = ["--tests", "grep -q a-b done.txt"];
    let first = stage.judge_with(&tests).is("hold").finds("hiding-places", "ask", &["done.txt"]);
    stage.git(&["config", "--unset", "filter.f.clean"]);
    stage.git(&["config", "--unset", "filter.f.smudge"]);
    std::fs::remove_file(stage.repo.common_dir().join("info/attributes")).unwrap();
    stage.write("done.txt", "a+b\n");
    let second = stage.judge_with(&tests).never_lands();
    assert_eq!(first.claim("tree"), second.claim("tree"));
    assert_ne!(second.check("tests-run")["state"], "pass", "{}", second.outcome);
}

/// The same tree is not the same case once history was rewritten or a file is hidden beside it.
#[test]
fn what_stands_around_the_tree_is_part_of_what_was_judged() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    let first = stage.judge().is("land");
    write(&stage.repo.common_dir(), "info/exclude", "conftest.py\n");
    stage.write("conftest.py", "x\n");
    let second = stage.judge().is("hold").finds("hiding-places", "ask", &["conftest.py"]);
    assert_eq!(first.claim("tree"), second.claim("tree"));
}

/// The user's own worktree holds those of the workers, whether somebody ignores them or not.
#[test]
fn worktrees_inside_the_judged_one_are_left_out() {
    for ignored in [true, false] {
        let repo = TestRepo::new();
        repo.write("run.sh", "true\n");
        let base = repo.commit("base");
        let inner = repo.add_worktree("w-002");
        write(&inner, "theirs.txt", "1\n");
        if !ignored {
            std::fs::remove_file(repo.path().join(".worktrees/.gitignore")).unwrap();
        }
        repo.write("mine.txt", "1\n");
        let args = ["verify", "--floor", "--json", "--base", &base, "--tests", "sh run.sh"];
        let judged = crate::support::judge(&repo, &args);
        assert_eq!(judged.changed(), ["mine.txt"], "ignored: {ignored}");
    }
}
