//! `host::room`: a room holds exactly its tree, whatever the repository is like and whoever used it before.

use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::host::room::{MOST_ROOMS, Room, RoomError, pool};
use countersign::host::{Host, cancel::Cancel, clock::Clock, env::Env};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository to take rooms of.
pub(crate) struct Ground {
    folder: tempfile::TempDir,
    pub(crate) host: Host,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(init: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host {
            git: "git".into(),
            helper: env!("CARGO_BIN_EXE_countersign").into(),
            scratch: folder.path().join("scratch"),
            env: Env::of_process(),
            clock: Clock::System,
            cancel: Cancel::new(),
        };
        std::fs::create_dir(folder.path().join("repo")).unwrap();
        let ground = Self { folder, host };
        ground.git(&[&["init", "-q", "-b", "main"], init].concat());
        for (key, value) in [("user.name", "t"), ("user.email", "t@example.org"), ("commit.gpgSign", "false")] {
            ground.git(&["config", key, value]);
        }
        ground
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.folder.path().join("logs")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.top(), args)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.top().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self) -> CommitId {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "x", "--allow-empty"]);
        CommitId::new(&self.git(&["rev-parse", "HEAD"])).unwrap()
    }

    pub(crate) fn repo(&self) -> Repo {
        Repo::discover(&self.host, &self.top()).unwrap()
    }
}

#[expect(clippy::disallowed_methods, reason = "the plain git that the rooms are compared with")]
fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
    let output = output.unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The room's files, hashed into a tree by an index of its own: nothing of the room's bookkeeping is believed.
#[expect(clippy::disallowed_methods, reason = "the plain git that the rooms are compared with")]
fn tree_of_files(ground: &Ground, room: &Room) -> String {
    let index = ground.folder.path().join("other-index");
    std::fs::remove_file(&index).ok();
    let run = |args: &[&str]| {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(ground.top().join(".git"))
            .arg("--work-tree")
            .arg(room.path())
            .args(["-c", "core.sparseCheckout=false", "-c", "core.bare=false"])
            .args(args)
            .env("GIT_INDEX_FILE", &index)
            .current_dir(room.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    run(&["add", "-Af", "."]);
    run(&["write-tree"])
}

fn assert_equal(ground: &Ground, room: &Room) {
    assert_eq!(tree_of_files(ground, room), room.tree().as_str());
}

#[test]
fn a_room_holds_every_kind_of_file() {
    let ground = Ground::new();
    ground.write(
        ".gitattributes",
        "/tests export-ignore\nv.txt export-subst\nwide.txt working-tree-encoding=UTF-16LE-BOM text\n",
    );
    ground.write("tests/a.txt", "kept although an archive drops it\n");
    ground.write("v.txt", "$Format:%H$\n");
    ground.write("wide.txt", "");
    std::fs::write(ground.top().join("wide.txt"), [0xff, 0xfe, b'a', 0, b'\n', 0]).unwrap();
    ground.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(ground.top().join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("run.sh", ground.top().join("link")).unwrap();
    ground.write("odd name\nhere", "x");
    let commit = ground.commit();
    let room = Room::take(&ground.repo(), &commit).unwrap();
    assert_equal(&ground, &room);
    assert!(room.path().join("tests/a.txt").is_file(), "an archive would lack it");
    assert_eq!(std::fs::read_to_string(room.path().join("v.txt")).unwrap(), "$Format:%H$\n");
    assert_eq!(std::fs::read(room.path().join("wide.txt")).unwrap(), [0xff, 0xfe, b'a', 0, b'\n', 0]);
    assert_eq!(std::fs::read_link(room.path().join("link")).unwrap(), Path::new("run.sh"));
    assert!(std::fs::metadata(room.path().join("run.sh")).unwrap().permissions().mode() & 0o100 != 0);
}

#[test]
fn filters_run_in_the_room_and_can_write_nothing_else() {
    let ground = Ground::new();
    let loot = ground.folder.path().join("loot");
    ground.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    ground.git(&["config", "filter.up.smudge", &format!("echo x > {}; tr a-z A-Z", loot.display())]);
    ground.write(".gitattributes", "*.up filter=up\n");
    ground.write("a.up", "HELLO\n");
    let commit = ground.commit();
    let room = Room::take(&ground.repo(), &commit).unwrap();
    assert_eq!(std::fs::read_to_string(room.path().join("a.up")).unwrap(), "HELLO\n");
    assert_equal(&ground, &room);
    assert!(!loot.exists(), "the filter wrote outside its box");
}

#[test]
fn a_filter_that_is_not_its_own_inverse_is_no_difference() {
    let ground = Ground::new();
    ground.write("a.txt", "one\r\ntwo\r\n");
    ground.commit();
    ground.write(".gitattributes", "*.txt text\n");
    ground.git(&["add", ".gitattributes"]);
    ground.git(&["commit", "-qm", "attributes only: the blob keeps its carriage returns"]);
    let commit = CommitId::new(&ground.git(&["rev-parse", "HEAD"])).unwrap();
    let room = Room::take(&ground.repo(), &commit).unwrap();
    assert_eq!(std::fs::read(room.path().join("a.txt")).unwrap(), b"one\r\ntwo\r\n");
    assert!(room.changed(&ground.repo()).unwrap().is_empty());
    std::fs::write(room.path().join("a.txt"), b"one\r\ntwo\r\n!").unwrap();
    assert_eq!(room.changed(&ground.repo()).unwrap().len(), 1);
}

#[test]
fn a_failing_required_filter_is_named() {
    let ground = Ground::new();
    ground.write(".gitattributes", "*.up filter=up\n");
    ground.write("a.up", "x\n");
    let commit = ground.commit();
    ground.git(&["config", "filter.up.smudge", "false"]);
    ground.git(&["config", "filter.up.required", "true"]);
    let refused = Room::take(&ground.repo(), &commit).unwrap_err();
    assert!(matches!(refused, RoomError::Checkout { .. }), "{refused}");
    assert!(refused.to_string().contains("a.up"), "{refused}");
}

#[test]
fn the_next_user_finds_nothing_of_the_last() {
    let ground = Ground::new();
    ground.write(".gitignore", "build/\n");
    ground.write("a.txt", "a\n");
    let first = ground.commit();
    ground.write("a.txt", "b\n");
    ground.write("sub/new.txt", "n\n");
    let second = ground.commit();
    let repo = ground.repo();
    let room = Room::take(&repo, &second).unwrap();
    let path = room.path().to_owned();
    std::fs::create_dir_all(path.join("build/deep")).unwrap();
    std::fs::write(path.join("build/deep/x.o"), "x").unwrap();
    std::fs::write(path.join("untracked"), "x").unwrap();
    std::fs::write(path.join("a.txt"), "changed").unwrap();
    git(&path.join("build"), &["init", "-q", "nested"]);
    std::fs::set_permissions(path.join("a.txt"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(room.changed(&repo).unwrap().len(), 1, "new files are no change of the tree");
    drop(room);
    let again = Room::take(&repo, &first).unwrap();
    assert_eq!(again.path(), path, "the slot is used again");
    assert_equal(&ground, &again);
    assert!(!path.join("build").exists() && !path.join("untracked").exists() && !path.join("sub").exists());
}

#[test]
fn a_gitfile_that_was_turned_elsewhere_is_not_followed() {
    let ground = Ground::new();
    ground.write("a.txt", "a\n");
    let commit = ground.commit();
    let repo = ground.repo();
    let room = Room::take(&repo, &commit).unwrap();
    let path = room.path().to_owned();
    std::fs::remove_file(path.join(".git")).unwrap();
    git(&path, &["init", "-q"]);
    git(&path, &["config", "filter.x.clean", "touch owned"]);
    assert!(room.changed(&repo).unwrap().is_empty());
    drop(room);
    let again = Room::take(&repo, &commit).unwrap();
    assert!(path.join(".git").is_file());
    assert_equal(&ground, &again);
}

#[test]
fn rooms_taken_together_are_different_ones() {
    let ground = Ground::new();
    ground.write("a.txt", "a\n");
    let commit = ground.commit();
    let rooms: Vec<Room> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(|| Room::take(&ground.repo(), &commit).unwrap())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut paths: Vec<&Path> = rooms.iter().map(Room::path).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 3);
    for room in &rooms {
        assert_equal(&ground, room);
    }
}

#[test]
fn the_pool_is_bounded() {
    let ground = Ground::new();
    let commit = ground.commit();
    let repo = ground.repo();
    let locks: Vec<std::fs::File> = (1..=MOST_ROOMS)
        .map(|number| {
            let folder = pool(&repo).join(number.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            let lock = std::fs::File::create(folder.join("lock")).unwrap();
            lock.try_lock().unwrap();
            lock
        })
        .collect();
    let refused = Room::take(&repo, &commit).unwrap_err();
    assert!(matches!(refused, RoomError::Full { .. }), "{refused}");
    locks[6].unlock().unwrap();
    let room = Room::take(&repo, &commit).unwrap();
    assert!(room.path().ends_with("7/tree"), "{:?}", room.path());
}

#[test]
fn what_a_crash_leaves_does_not_matter() {
    let ground = Ground::new();
    ground.write("a.txt", "a\n");
    let commit = ground.commit();
    let repo = ground.repo();
    let room = Room::take(&repo, &commit).unwrap();
    let (path, slot) = (room.path().to_owned(), room.path().parent().unwrap().to_owned());
    let admin = PathBuf::from(git(&path, &["rev-parse", "--absolute-git-dir"]));
    drop(room);
    // As after a kill: the marker stands, git's locks too, half a checkout.
    std::fs::write(slot.join("in-use"), "").unwrap();
    std::fs::write(admin.join("index.lock"), "").unwrap();
    std::fs::write(admin.join("HEAD.lock"), "").unwrap();
    std::fs::remove_file(path.join("a.txt")).unwrap();
    let again = Room::take(&repo, &commit).unwrap();
    assert_equal(&ground, &again);
    assert_eq!(again.path(), path);
    drop(again);
    // A broken index, or a vanished administrative folder, makes a new checkout.
    std::fs::write(admin.join("index"), "not an index").unwrap();
    assert_equal(&ground, &Room::take(&repo, &commit).unwrap());
    std::fs::remove_dir_all(ground.top().join(".git/worktrees")).unwrap();
    assert_equal(&ground, &Room::take(&repo, &commit).unwrap());
}

#[test]
fn a_sparse_repository_gives_whole_rooms() {
    let ground = Ground::new();
    ground.write("in/a.txt", "a\n");
    ground.write("out/b.txt", "b\n");
    let commit = ground.commit();
    ground.git(&["config", "extensions.worktreeConfig", "true"]);
    ground.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert!(!ground.top().join("out/b.txt").exists());
    let room = Room::take(&ground.repo(), &commit).unwrap();
    assert_equal(&ground, &room);
    assert!(room.path().join("out/b.txt").is_file());
    assert_eq!(git(room.path(), &["status", "--porcelain"]), "", "git inside the room sees no sparse checkout either");
    assert!(!ground.top().join("out/b.txt").exists(), "the user's own checkout stays as it was");
}

#[test]
fn a_split_index_is_no_obstacle() {
    let ground = Ground::new();
    ground.write("a.txt", "a\n");
    let commit = ground.commit();
    ground.git(&["config", "core.splitIndex", "true"]);
    ground.git(&["update-index", "--split-index"]);
    for _ in 0..2 {
        assert_equal(&ground, &Room::take(&ground.repo(), &commit).unwrap());
    }
}

#[test]
fn rooms_work_in_sha256_and_reftable_repositories() {
    for init in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
        let ground = Ground::with(init);
        ground.write("a.txt", "a\n");
        let first = ground.commit();
        ground.write("b.txt", "b\n");
        let second = ground.commit();
        let repo = ground.repo();
        for commit in [&first, &second, &first] {
            let room = Room::take(&repo, commit).unwrap();
            assert_equal(&ground, &room);
        }
    }
}

#[test]
fn a_retired_room_leaves_other_worktrees_alone() {
    let ground = Ground::new();
    ground.write("a.txt", "a\n");
    let commit = ground.commit();
    let repo = ground.repo();
    let away = ground.folder.path().join("away");
    ground.git(&["worktree", "add", "-q", "--detach", away.to_str().unwrap()]);
    // Its disk is not mounted now; a prune would forget it.
    std::fs::rename(&away, ground.folder.path().join("unmounted")).unwrap();
    let room = Room::take(&repo, &commit).unwrap();
    let path = room.path().to_owned();
    room.retire(&repo).unwrap();
    assert!(!path.exists());
    let listed = ground.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("away") && !listed.contains("rooms"), "{listed}");
    countersign::host::room::sweep(&repo).unwrap();
    assert_eq!(std::fs::read_dir(pool(&repo).join("trash")).unwrap().count(), 0);
    assert_equal(&ground, &Room::take(&repo, &commit).unwrap());
}

#[test]
fn the_users_repository_stays_as_it_was() {
    let ground = Ground::new();
    ground.write("a.txt", "a\n");
    let first = ground.commit();
    ground.write("a.txt", "b\n");
    ground.commit();
    ground.write("a.txt", "dirty\n");
    ground.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch \"$(git rev-parse --git-common-dir)/hook-ran\"\n");
    let hook = ground.top().join(".git/hooks/post-checkout");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let seen = |ground: &Ground| {
        let index = std::fs::read(ground.top().join(".git/index")).unwrap();
        let refs = ground.git(&["for-each-ref"]);
        let config = std::fs::read(ground.top().join(".git/config")).unwrap();
        (index, refs, config, ground.git(&["rev-parse", "HEAD"]), ground.git(&["status", "--porcelain"]))
    };
    // Status itself may refresh the index: look twice before.
    seen(&ground);
    let before = seen(&ground);
    let room = Room::take(&ground.repo(), &first).unwrap();
    assert_equal(&ground, &room);
    drop(room);
    assert_eq!(seen(&ground), before);
    assert!(!ground.top().join(".git/hook-ran").exists(), "a hook ran");
}
