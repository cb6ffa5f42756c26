use super::*;
use crate::host::{Host, cancel::Cancel, clock::Clock, env::Env};
use std::fs;

struct Scene {
    folder: tempfile::TempDir,
    repo: Repo,
}

impl Scene {
    /// A repository with two commits, a stash-free checkout, and a room beside it.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host {
            git: "git".into(),
            helper: "unused".into(),
            scratch: folder.path().join("scratch"),
            env: Env::of([
                ("PATH", "/usr/local/bin:/usr/bin:/bin"),
                ("HOME", "/nonexistent"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
            ]),
            clock: Clock::Fixed(1_700_000_000),
            cancel: Cancel::new(),
        };
        let top = folder.path().join("repo");
        fs::create_dir_all(&top).unwrap();
        fs::create_dir_all(&host.scratch).unwrap();
        crate::host::git::Git::new(&host, &top).run(["init", "-q", "-b", "main"]).unwrap();
        let repo = Repo::discover(&host, &top).unwrap();
        let scene = Self { folder, repo };
        for (file, text) in [("a.txt", "one\n"), ("b.txt", "two\n")] {
            fs::write(scene.repo.top().join(file), text).unwrap();
            scene.git(&["add", "-A"]);
            scene.git(&["commit", "-q", "-m", file]);
        }
        let room = scene.room();
        scene.git(&["worktree", "add", "-q", "--detach", room.to_str().unwrap()]);
        scene
    }

    fn room(&self) -> PathBuf {
        self.folder.path().join("scratch/room")
    }

    fn git(&self, args: &[&str]) {
        self.git_in(self.repo.top(), args);
    }

    fn git_in(&self, tree: &Path, args: &[&str]) {
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        self.repo.git().within(tree).run(who.iter().chain(args)).unwrap();
    }

    fn look(&self, confined: bool, meanwhile: impl FnOnce(&Self)) -> Trespasses {
        let room = self.room();
        let ledger = [self.folder.path().join("ledger.jsonl")];
        let watched = Watched { repo: &self.repo, room: &room, case: "w-1", also: &ledger };
        let watch = Watch::before(&watched).unwrap();
        meanwhile(self);
        watch.after(&watched, confined)
    }
}

/// Each thing a judge must not do, and a word of how it is named.
type Deed = (&'static str, &'static str, fn(&Scene));

const IN_THE_ROOM: &[Deed] = &[
    ("edits a file", "a.txt changed", |s| fs::write(s.room().join("a.txt"), "x").unwrap()),
    ("adds a file", "new.txt is new", |s| fs::write(s.room().join("new.txt"), "x").unwrap()),
    ("removes a file", "b.txt is gone", |s| fs::remove_file(s.room().join("b.txt")).unwrap()),
    ("edits and puts back", "a.txt changed", |s| {
        fs::write(s.room().join("a.txt"), "xxx\n").unwrap();
        fs::write(s.room().join("a.txt"), "one\n").unwrap();
    }),
    ("adds and removes", "the folder changed", |s| {
        fs::write(s.room().join("t"), "x").unwrap();
        fs::remove_file(s.room().join("t")).unwrap();
    }),
    ("makes a file executable", "a.txt changed", |s| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(s.room().join("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("hides behind a nested repository", "in the room", |s| {
        fs::create_dir_all(s.room().join("x/.git")).unwrap();
    }),
];

const AROUND: &[Deed] = &[
    ("stashes", "reference refs/stash is new", |s| {
        fs::write(s.repo.top().join("a.txt"), "dirty\n").unwrap();
        s.git(&["stash", "-u", "-q"]);
    }),
    ("detaches HEAD", "HEAD of", |s| s.git(&["checkout", "-q", "--detach", "HEAD~1"])),
    ("commits in the room", "HEAD of", |s| s.git_in(&s.room(), &["commit", "-q", "--allow-empty", "-m", "x"])),
    ("moves the branch", "reference refs/heads/main changed", |s| s.git(&["update-ref", "refs/heads/main", "HEAD~1"])),
    ("makes a branch", "reference refs/heads/x is new", |s| s.git(&["branch", "x"])),
    ("moves its own claim", "reference refs/countersign/claims/w-1/1 is new", |s| {
        s.git(&["update-ref", "refs/countersign/claims/w-1/1", "HEAD"]);
    }),
    ("adds a hook", "hooks of the repository: pre-push is new", |s| {
        fs::create_dir_all(s.repo.common_dir().join("hooks")).unwrap();
        fs::write(s.repo.common_dir().join("hooks/pre-push"), "#!/bin/sh\n").unwrap();
    }),
    ("sets config", "config of the repository changed", |s| s.git(&["config", "core.hooksPath", "/tmp/x"])),
    ("excludes files", "info of the repository: exclude", |s| {
        fs::create_dir_all(s.repo.common_dir().join("info")).unwrap();
        fs::write(s.repo.common_dir().join("info/exclude"), "*.py\n").unwrap();
    }),
    ("stages", "the index of", |s| s.git(&["rm", "-q", "--cached", "a.txt"])),
    ("writes into the checkout", "b.txt changed", |s| fs::write(s.repo.top().join("b.txt"), "x").unwrap()),
    ("edits the ledger", "ledger.jsonl is new", |s| fs::write(s.folder.path().join("ledger.jsonl"), "{}").unwrap()),
];

#[test]
fn sb_verifier_writes_in_the_room_void_the_verdict_box_or_not() {
    for confined in [false, true] {
        for (deed, word, act) in IN_THE_ROOM {
            let found = Scene::new().look(confined, *act);
            assert!(found.trespasses.iter().any(|t| t.contains(word)), "{deed}: {found:?}");
        }
    }
}

#[test]
fn sb_verifier_writes_around_the_room_void_without_a_box_and_are_a_bystander_s_with_one() {
    for (deed, word, act) in AROUND {
        let open = Scene::new().look(false, *act);
        assert!(open.trespasses.iter().any(|t| t.contains(word)), "{deed}: {open:?}");
        let closed = Scene::new().look(true, *act);
        assert_eq!(closed.trespasses, Vec::<String>::new(), "{deed}");
        assert!(closed.bystanders.iter().any(|t| t.contains(word)), "{deed}: {closed:?}");
    }
}

#[test]
fn reading_and_other_cases_leave_no_trace() {
    let found = Scene::new().look(false, |scene| {
        fs::read(scene.room().join("a.txt")).unwrap();
        scene.git(&["status", "--porcelain"]);
        scene.git(&["update-ref", "refs/countersign/claims/w-2/1", "HEAD"]);
        scene.git(&["update-ref", "refs/countersign/claims/w-10/1", "HEAD"]);
        let other = scene.folder.path().join("scratch/other");
        scene.git(&["worktree", "add", "-q", "--detach", other.to_str().unwrap()]);
    });
    assert_eq!(found, Trespasses::default());
}

#[test]
fn a_repository_that_cannot_be_observed_any_more_voids() {
    let found = Scene::new().look(true, |scene| fs::write(scene.repo.common_dir().join("config"), "[broken").unwrap());
    assert!(found.trespasses.iter().any(|t| t.contains("cannot be observed")), "{found:?}");
}
