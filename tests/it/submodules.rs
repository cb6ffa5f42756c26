//! Pointers into other repositories (cases C149, C152).

use crate::support::{Stage, TestRepo, write};
use std::path::PathBuf;

/// A stage whose repository has the submodule `lib`, checked out in the worker's worktree.
struct Harbour {
    stage: Stage,
    remote: PathBuf,
}

impl Harbour {
    fn new() -> Self {
        let repo = TestRepo::new();
        let remote = repo.root().join("lib.git");
        let source = repo.root().join("lib-source");
        std::fs::create_dir_all(&source).unwrap();
        repo.git_in(&source, &["init", "-q", "-b", "main"]);
        for number in ["1\n", "2\n"] {
            write(&source, "lib.txt", number);
            repo.commit_in(&source, number.trim());
        }
        repo.git(&["clone", "-q", "--bare", source.to_str().unwrap(), remote.to_str().unwrap()]);
        repo.git(&["submodule", "--quiet", "add", remote.to_str().unwrap(), "lib"]);
        let stage = Stage::of(repo, "done.txt");
        stage.git(&["submodule", "--quiet", "update", "--init"]);
        stage.write("done.txt", "1\n");
        Self { stage, remote }
    }

    fn inner(&self) -> PathBuf {
        self.stage.worktree().join("lib")
    }

    fn head(&self) -> String {
        self.stage.repo.git_in(&self.inner(), &["rev-parse", "HEAD"])
    }

    /// The worker commits inside the submodule; the commit.
    fn commit(&self) -> String {
        write(&self.inner(), "lib.txt", "3\n");
        self.stage.repo.commit_in(&self.inner(), "3")
    }
}

/// C149: `ignore = all` hides nothing from us.
#[test]
fn diff_submodule_ignored_is_listed_with_both_commits() {
    let harbour = Harbour::new();
    let (stage, old) = (&harbour.stage, harbour.head());
    stage.git(&["config", "-f", ".gitmodules", "submodule.lib.ignore", "all"]);
    let new = harbour.commit();
    stage.git(&["update-index", "--cacheinfo", &format!("160000,{new},lib")]);
    assert!(!stage.git(&["diff", "HEAD", "--name-only"]).contains("lib\n"), "git itself says nothing of it");
    let judged = stage
        .judge()
        .is("send-back")
        .finds("submodules", "deny", &[&old, &new, "exists in this worktree only", "ignore = all"])
        .again(&stage.repo);
    assert_eq!(judged.changed(), [".gitmodules", "done.txt", "lib"]);
    let change = &judged.value("claim")["changed"][2];
    assert_eq!((&change["old"], &change["new"]), (&old.into(), &new.into()));
}

/// C149: not staged, merely moved, under an `ignore = all` that the base or the configuration brought.
#[test]
fn diff_submodule_ignored_by_configuration_is_listed_too() {
    for staged in [false, true] {
        let harbour = Harbour::new();
        let stage = &harbour.stage;
        stage.repo.git(&["config", "submodule.lib.ignore", "all"]);
        stage.repo.git(&["config", "diff.ignoreSubmodules", "all"]);
        let new = harbour.commit();
        if staged {
            stage.git(&["update-index", "--cacheinfo", &format!("160000,{new},lib")]);
        }
        let judged = stage.judge().is("send-back").finds("submodules", "deny", &[&new]).again(&stage.repo);
        assert_eq!(judged.changed(), ["done.txt", "lib"], "staged: {staged}");
    }
}

/// C152 A: a commit that nobody else has; pushed, it is fine but for being pointed out.
#[test]
fn sub_moved_to_a_commit_that_exists_nowhere_else_is_denied() {
    let harbour = Harbour::new();
    let stage = &harbour.stage;
    let new = harbour.commit();
    stage.git(&["add", "lib"]);
    let judged = stage.judge().is("send-back").finds("submodules", "deny", &["lib", &new[..12], "on no remote branch"]);
    assert_eq!(judged.changed(), ["done.txt", "lib"]);
    judged.again(&stage.repo);

    stage.repo.git_in(&harbour.inner(), &["push", "-q", harbour.remote.to_str().unwrap(), "HEAD:refs/heads/main"]);
    stage.repo.git_in(&harbour.inner(), &["fetch", "-q"]);
    stage.judge().is("land").finds("submodules", "info", &[&new]).again(&stage.repo);
}

/// C152 B: an old checkout and `git add -A` move the pointer backwards.
#[test]
fn sub_moved_backwards_is_a_regression_that_is_asked_about() {
    let harbour = Harbour::new();
    let stage = &harbour.stage;
    let new = harbour.head();
    stage.repo.git_in(&harbour.inner(), &["checkout", "-q", "HEAD~1"]);
    let old = harbour.head();
    stage.git(&["add", "-A"]);
    let judged = stage.judge().is("hold").finds("submodules", "ask", &["backwards", &new, &old]).again(&stage.repo);
    assert_eq!(judged.changed(), ["done.txt", "lib"]);
}

/// C152 C: content that no commit has, and a submodule that nobody checked out.
#[test]
fn sub_moved_content_without_a_commit_is_not_silently_ignored() {
    let harbour = Harbour::new();
    let stage = &harbour.stage;
    for (file, text) in [("lib.txt", "dirty\n"), ("new.txt", "1\n")] {
        stage.repo.git_in(&harbour.inner(), &["checkout", "-q", "-f", "."]);
        write(&harbour.inner(), file, text);
        let judged =
            stage.judge().is("hold").finds("submodules", "ask", &["lib", "uncommitted content"]).again(&stage.repo);
        assert_eq!(judged.changed(), ["done.txt"], "{file}");
    }
    // Not checked out: nobody can say whether the commit exists, and nobody is blamed.
    stage.repo.git_in(&harbour.inner(), &["checkout", "-q", "-f", "."]);
    std::fs::remove_file(harbour.inner().join("new.txt")).unwrap();
    stage.git(&["submodule", "--quiet", "deinit", "-f", "lib"]);
    stage.git(&["update-index", "--cacheinfo", &format!("160000,{},lib", "7".repeat(40))]);
    stage.judge().is("hold").finds("submodules", "unknown", &["not checked out", "git submodule update --init"]);
}
