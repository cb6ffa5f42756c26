//! Salvage and removal: whatever the worktree holds, it comes back bit for bit, and nothing goes without a proof.

use crate::support::{TestRepo, write};
use countersign::host::Host;
use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::integrate::{SalvageError, SalvageTag, Salvaged, Settled, TeardownError, remove_worktree, salvage};
use countersign::task::TaskId;
use proptest::prelude::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const TASK: &str = "w-001";

/// A repository with a worker's worktree, and the library's view of it.
struct Scene {
    repo: TestRepo,
    base: CommitId,
    host: Host,
}

impl Scene {
    fn new() -> Self {
        let repo = TestRepo::new();
        repo.write("tool.sh", "#!/bin/sh\n");
        repo.write("old.bin", b"\0\x01\xff".repeat(100));
        repo.write("gone.txt", "going\n");
        repo.write("dir/inner.txt", "x\n");
        symlink("a.txt", repo.path().join("link")).unwrap();
        Self::of(repo)
    }

    fn of(repo: TestRepo) -> Self {
        let base = CommitId::new(&repo.commit("work to start from")).unwrap();
        repo.add_worktree(TASK);
        let host = repo.host();
        Self { repo, base, host }
    }

    fn worktree(&self) -> PathBuf {
        self.repo.path().join(".worktrees").join(TASK)
    }

    fn main(&self) -> Repo {
        Repo::discover(&self.host, &self.repo.path()).unwrap()
    }

    fn inside(&self) -> Repo {
        Repo::discover(&self.host, &self.worktree()).unwrap()
    }

    fn save(&self, tag: SalvageTag) -> Result<Salvaged, SalvageError> {
        salvage(&self.inside(), &self.repo.path(), &TaskId::new(TASK).unwrap(), tag, &self.base)
    }

    /// Applies a patch in a fresh checkout of the base: the tree that comes out.
    fn applied(&self, patch: &Path) -> String {
        let place = self.repo.root().join("fresh");
        let (text, patch) = (place.display().to_string(), patch.display().to_string());
        self.repo.git(&["worktree", "add", "-q", "--detach", &text, self.base.as_str()]);
        self.repo.git_in(&place, &["apply", "--index", "--whitespace=nowarn", &patch]);
        let tree = self.repo.git_in(&place, &["write-tree"]);
        assert_eq!(self.repo.git_in(&place, &["diff", "--stat"]), "", "the files are those of the index");
        self.repo.git(&["worktree", "remove", "--force", &text]);
        tree
    }
}

/// Work of every kind: staged, unstaged, untracked, binary, modes, links, deletions, odd names.
fn work(worktree: &Path, repo: &TestRepo) {
    write(worktree, "a.txt", "1\n");
    write(worktree, "staged.txt", "staged\n");
    repo.git_in(worktree, &["add", "staged.txt"]);
    write(worktree, "staged.txt", "staged, then edited\n");
    write(worktree, "new/deep/un tracked ü\t.bin", b"\0\xff\r\n\0".repeat(1000));
    write(worktree, "old.bin", b"\x02\0".repeat(64));
    write(worktree, "no-newline", "no end of line");
    write(worktree, "trailing blanks  ", "x  \r\n\t \n");
    write(worktree, "empty", "");
    std::fs::set_permissions(worktree.join("tool.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_file(worktree.join("gone.txt")).unwrap();
    std::fs::remove_file(worktree.join("link")).unwrap();
    symlink("nowhere/at all", worktree.join("link")).unwrap();
    std::fs::remove_dir_all(worktree.join("dir")).unwrap();
    symlink("a.txt", worktree.join("dir")).unwrap();
}

#[test]
fn work_of_every_kind_comes_back_bit_for_bit_from_the_patch_and_from_the_reference() {
    let scene = Scene::new();
    work(&scene.worktree(), &scene.repo);
    let status = scene.repo.git_in(&scene.worktree(), &["status", "--porcelain"]);
    let saved = scene.save(SalvageTag::Escalated(3)).unwrap();
    let record = saved.record();
    assert_eq!(
        record.patch.as_deref(),
        Some(&*scene.repo.path().join(".agentheim/salvage/w-001-escalated-iter3.patch"))
    );
    assert_eq!(record.reference, "refs/countersign/claims/w-001/escalated-iter3");
    assert_eq!(scene.applied(record.patch.as_ref().unwrap()), record.tree.as_str());
    assert_eq!(scene.repo.git(&["rev-parse", &format!("{}^{{tree}}", record.reference)]), record.tree.as_str());
    assert_eq!(scene.repo.git_in(&scene.worktree(), &["status", "--porcelain"]), status, "saving changes nothing");
    assert_eq!(scene.repo.git(&["status", "--porcelain"]), "", "the patches hide themselves");
}

#[test]
fn no_configuration_of_the_user_bends_the_patch() {
    let plain = Scene::new();
    work(&plain.worktree(), &plain.repo);
    let wanted = std::fs::read(plain.save(SalvageTag::Bounced).unwrap().record().patch.as_ref().unwrap()).unwrap();
    let bent = Scene::new();
    work(&bent.worktree(), &bent.repo);
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("diff.context", "0"),
        ("diff.interHunkContext", "9"),
        ("diff.algorithm", "histogram"),
        ("diff.renames", "copies"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.orderFile", "a.txt"),
        ("color.ui", "always"),
        ("core.quotePath", "false"),
        ("core.abbrev", "4"),
        ("apply.whitespace", "fix"),
        ("core.whitespace", "trailing-space,cr-at-eol"),
    ] {
        bent.repo.git(&["config", key, value]);
    }
    let saved = bent.save(SalvageTag::Bounced).unwrap();
    assert_eq!(std::fs::read(saved.record().patch.as_ref().unwrap()).unwrap(), wanted);
}

#[test]
fn every_event_has_a_file_of_its_own_and_none_is_overwritten() {
    let scene = Scene::new();
    write(&scene.worktree(), "a.txt", "first\n");
    let first = scene.save(SalvageTag::Bounced).unwrap();
    let first = first.record();
    let bytes = std::fs::read(first.patch.as_ref().unwrap()).unwrap();
    write(&scene.worktree(), "a.txt", "second\n");
    let second = scene.save(SalvageTag::Bounced).unwrap();
    let second = second.record();
    assert!(second.patch.as_ref().unwrap().ends_with("w-001-bounced-2.patch"));
    assert_eq!(second.reference, "refs/countersign/claims/w-001/bounced-2");
    assert_eq!(std::fs::read(first.patch.as_ref().unwrap()).unwrap(), bytes);
    assert_ne!(scene.applied(first.patch.as_ref().unwrap()), scene.applied(second.patch.as_ref().unwrap()));
}

#[test]
fn without_a_change_there_is_no_patch_and_yet_a_proof() {
    let scene = Scene::new();
    let saved = scene.save(SalvageTag::Failed).unwrap();
    assert_eq!(saved.record().patch, None);
    remove_worktree(&scene.main(), Settled::Salvaged(saved)).unwrap();
    assert!(!scene.worktree().exists());
}

#[test]
fn a_removed_worktree_leaves_its_branch_other_worktrees_and_what_its_links_point_to() {
    let scene = Scene::new();
    let modules = scene.repo.root().join("node_modules");
    write(&modules, "left-pad/index.js", "x");
    work(&scene.worktree(), &scene.repo);
    symlink(&modules, scene.worktree().join("node_modules")).unwrap();
    write(&scene.worktree(), "locked/x", "x");
    std::fs::set_permissions(scene.worktree().join("locked"), std::fs::Permissions::from_mode(0o555)).unwrap();
    // A worktree of the user whose disk is not mounted now.
    let unmounted = scene.repo.root().join("usb/wt");
    scene.repo.git(&["worktree", "add", "-q", "--detach", unmounted.to_str().unwrap()]);
    std::fs::rename(scene.repo.root().join("usb"), scene.repo.root().join("usb-away")).unwrap();
    let before = scene.repo.git(&["for-each-ref", "refs/heads"]);
    let saved = scene.save(SalvageTag::Discarded).unwrap();
    let tree = saved.record().tree.to_string();
    let patch = saved.record().patch.clone().unwrap();
    remove_worktree(&scene.main(), Settled::Salvaged(saved)).unwrap();
    assert!(!scene.worktree().exists());
    assert_eq!(
        std::fs::read_dir(scene.worktree().parent().unwrap()).unwrap().count(),
        1,
        "only the .gitignore is left"
    );
    assert!(modules.join("left-pad/index.js").exists());
    assert_eq!(scene.repo.git(&["for-each-ref", "refs/heads"]), before);
    let listed = scene.repo.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("/usb/wt") && !listed.contains(".worktrees"), "{listed}");
    assert_eq!(scene.applied(&patch), tree);
}

#[test]
fn a_worktree_that_changed_after_it_was_saved_stays() {
    let scene = Scene::new();
    write(&scene.worktree(), "a.txt", "1\n");
    let saved = scene.save(SalvageTag::TimedOut).unwrap();
    write(&scene.worktree(), "late.txt", "a straggler wrote this\n");
    let refused = remove_worktree(&scene.main(), Settled::Salvaged(saved)).unwrap_err();
    assert!(matches!(refused, TeardownError::Changed { .. }), "{refused}");
    assert_eq!(std::fs::read_to_string(scene.worktree().join("late.txt")).unwrap(), "a straggler wrote this\n");
}

#[test]
fn a_worktree_that_a_person_locked_stays() {
    let scene = Scene::new();
    scene.repo.git(&["worktree", "lock", "--reason", "mine", scene.worktree().to_str().unwrap()]);
    let saved = scene.save(SalvageTag::Crashed).unwrap();
    let refused = remove_worktree(&scene.main(), Settled::Salvaged(saved)).unwrap_err().to_string();
    assert!(refused.contains("is locked (mine)"), "{refused}");
    assert!(scene.worktree().join("a.txt").exists());
}

#[test]
fn the_users_own_checkout_is_never_removed() {
    let scene = Scene::new();
    let main = scene.main();
    let task = TaskId::new(TASK).unwrap();
    let saved = salvage(&main, &scene.repo.path(), &task, SalvageTag::Discarded, &scene.base).unwrap();
    let refused = remove_worktree(&main, Settled::Salvaged(saved)).unwrap_err();
    assert!(matches!(refused, TeardownError::NotLinked { .. }), "{refused}");
    assert!(scene.repo.path().join("a.txt").exists());
}

#[test]
fn history_that_exists_only_inside_the_worktree_is_refused() {
    let other = TestRepo::new();
    let scene = {
        let repo = TestRepo::new();
        repo.git(&["submodule", "add", "-q", other.path().to_str().unwrap(), "sub"]);
        Scene::of(repo)
    };
    scene.repo.git_in(&scene.worktree(), &["submodule", "update", "-q", "--init"]);
    scene.save(SalvageTag::Bounced).unwrap();
    let sub = scene.worktree().join("sub");
    // A commit on a branch that nobody points to from above.
    scene.repo.git_in(&sub, &["switch", "-q", "-c", "side"]);
    write(&sub, "side.txt", "only here\n");
    scene.repo.commit_in(&sub, "only here");
    scene.repo.git_in(&sub, &["checkout", "-q", "--detach", "HEAD~1"]);
    let refused = scene.save(SalvageTag::Bounced).unwrap_err().to_string();
    assert!(refused.contains("sub: the submodule has commits that no remote branch has"), "{refused}");
    assert!(refused.contains("the worktree is kept"), "{refused}");
    // A pointer to such a commit, a dirty submodule, a nested repository.
    scene.repo.git_in(&sub, &["switch", "-q", "side"]);
    assert!(matches!(scene.save(SalvageTag::Bounced), Err(SalvageError::Inside { .. })));
    scene.repo.git_in(&sub, &["checkout", "-q", "--detach", "HEAD~1"]);
    scene.repo.git_in(&sub, &["branch", "-q", "-D", "side"]);
    write(&sub, "a.txt", "edited inside\n");
    assert!(matches!(scene.save(SalvageTag::Bounced), Err(SalvageError::Inside { .. })));
    scene.repo.git_in(&sub, &["checkout", "-q", "a.txt"]);
    scene.save(SalvageTag::Bounced).unwrap();
    let nested = scene.worktree().join("nested");
    std::fs::create_dir(&nested).unwrap();
    scene.repo.git_in(&nested, &["init", "-q"]);
    write(&nested, "x", "x");
    scene.repo.commit_in(&nested, "inner");
    assert!(matches!(scene.save(SalvageTag::Bounced), Err(SalvageError::Inside { .. })));
    assert!(nested.join("x").exists());
}

#[test]
fn ignored_files_are_named_because_they_go() {
    let scene = Scene::new();
    write(&scene.worktree(), ".gitignore", "build/\n");
    write(&scene.worktree(), "build/out.o", "x");
    let saved = scene.save(SalvageTag::Discarded).unwrap();
    assert!(saved.record().left_out.iter().any(|path| path.starts_with("build")), "{:?}", saved.record());
}

/// A step of work on one of a few files.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, Vec<u8>),
    Link(usize, String),
    Remove(usize),
    Mode(usize, bool),
}

const NAMES: [&str; 5] = ["a.txt", "dir/inner.txt", "new", "sp ace/\"quoted\"", "tool.sh"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..NAMES.len();
    prop::collection::vec(
        prop_oneof![
            (name.clone(), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(at, bytes)| Step::Write(at, bytes)),
            (name.clone(), "[a-z/.]{1,20}").prop_map(|(at, to)| Step::Link(at, to)),
            name.clone().prop_map(Step::Remove),
            (name, any::<bool>()).prop_map(|(at, executable)| Step::Mode(at, executable)),
        ],
        0..12,
    )
}

fn perform(worktree: &Path, step: &Step) {
    let clear = |at: usize| {
        let path = worktree.join(NAMES[at]);
        drop(std::fs::remove_file(&path));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    match step {
        Step::Write(at, bytes) => std::fs::write(clear(*at), bytes).unwrap(),
        Step::Link(at, to) => symlink(to, clear(*at)).unwrap(),
        Step::Remove(at) => drop(clear(*at)),
        Step::Mode(at, executable) => {
            let path = worktree.join(NAMES[*at]);
            if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                let mode = if *executable { 0o755 } else { 0o644 };
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_worktree_holds_the_patch_gives_exactly_it(steps in steps()) {
        let scene = Scene::new();
        for step in &steps {
            perform(&scene.worktree(), step);
        }
        let saved = scene.save(SalvageTag::Crashed).unwrap();
        let record = saved.record().clone();
        if let Some(patch) = &record.patch {
            prop_assert_eq!(scene.applied(patch), record.tree.to_string());
        }
        remove_worktree(&scene.main(), Settled::Salvaged(saved)).unwrap();
        prop_assert!(!scene.worktree().exists());
    }
}
