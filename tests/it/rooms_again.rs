//! `host::room`: the short way from one tree of a room to the next, and out of git's register.

use crate::rooms::Ground;
use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::host::room::Room;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything below a folder but the `.git` file: kind, execute bit, content. Empty folders count.
fn everything(top: &Path) -> BTreeMap<PathBuf, (char, bool, Vec<u8>)> {
    let mut all = BTreeMap::new();
    for entry in walkdir::WalkDir::new(top).min_depth(1) {
        let entry = entry.unwrap();
        let inside = entry.path().strip_prefix(top).unwrap().to_owned();
        if inside == Path::new(".git") {
            continue;
        }
        let kind = entry.file_type();
        let found = if kind.is_dir() {
            ('d', false, Vec::new())
        } else if kind.is_symlink() {
            ('l', false, fs::read_link(entry.path()).unwrap().as_os_str().as_bytes().to_vec())
        } else {
            let mode = entry.metadata().unwrap().permissions().mode();
            ('f', mode & 0o100 != 0, if kind.is_file() { fs::read(entry.path()).unwrap() } else { vec![0] })
        };
        all.insert(inside, found);
    }
    all
}

/// What git itself checks out of a commit.
fn fresh(ground: &Ground, commit: &CommitId) -> BTreeMap<PathBuf, (char, bool, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("fresh");
    ground.git(&["worktree", "add", "-q", "--detach", place.to_str().unwrap(), commit.as_str()]);
    let all = everything(&place);
    ground.git(&["worktree", "remove", "--force", place.to_str().unwrap()]);
    all
}

/// A repository whose git keeps a list of what it was asked, and two commits of it that differ in every way.
fn ground() -> (Ground, [CommitId; 2], PathBuf) {
    let mut ground = Ground::new();
    let asked = ground.top().parent().unwrap().join("asked");
    let script = ground.top().parent().unwrap().join("git");
    // In a room's box only the room and its entry can be written.
    let place = asked.display();
    let note = format!("echo \"$*\" 2>/dev/null >> '{place}' || echo \"$*\" >> \"$GIT_DIR/asked\"");
    fs::write(&script, format!("#!/bin/sh\n{note}\nexec git \"$@\"\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    ground.host.git = script;
    fs::create_dir_all(&ground.host.scratch).unwrap();
    for (path, text) in [
        ("same.txt", "same\n"),
        ("edited.txt", "one\n"),
        ("gone.txt", "g\n"),
        ("sub/deep/gone.txt", "g\n"),
        ("kind", "a file\n"),
        ("folder/x", "x\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("odd name\nhere", "o\n"),
        (".gitignore", "*.o\n"),
    ] {
        ground.write(path, text);
    }
    symlink("same.txt", ground.top().join("link")).unwrap();
    let first = ground.commit();
    ground.write("edited.txt", "two\n");
    ground.write("new/file.txt", "n\n");
    for gone in ["gone.txt", "sub/deep/gone.txt", "kind", "link", "folder/x"] {
        fs::remove_file(ground.top().join(gone)).unwrap();
    }
    fs::remove_dir(ground.top().join("folder")).unwrap();
    ground.write("kind/inside", "a folder now\n");
    ground.write("folder", "a file now\n");
    symlink("run.sh", ground.top().join("link")).unwrap();
    fs::set_permissions(ground.top().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let second = ground.commit();
    (ground, [first, second], asked)
}

/// What git was asked since the last look, in and outside the box.
fn questions(ground: &Ground, asked: &Path) -> Vec<String> {
    let mut all = fs::read_to_string(asked).unwrap_or_default();
    fs::remove_file(asked).ok();
    for entry in fs::read_dir(ground.top().join(".git/worktrees")).into_iter().flatten().flatten() {
        all += &fs::read_to_string(entry.path().join("asked")).unwrap_or_default();
        fs::remove_file(entry.path().join("asked")).ok();
    }
    all.lines().map(str::to_owned).collect()
}

type Harm = fn(&Path, &Path);

/// What a test run can leave in a room; the second folder lies outside.
const HARMS: &[(&str, Harm)] = &[
    ("nothing", |_, _| ()),
    ("a longer file", |room, _| fs::write(room.join("same.txt"), "edited by a test\n").unwrap()),
    ("a file of the same length", |room, _| fs::write(room.join("same.txt"), "s4me\n").unwrap()),
    ("the same length and the old times", |room, _| {
        let file = room.join("edited.txt");
        let before = fs::metadata(&file).unwrap();
        fs::write(&file, "x".repeat(usize::try_from(before.len()).unwrap())).unwrap();
        let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
        fs::File::options().write(true).open(&file).unwrap().set_times(times).unwrap();
    }),
    ("a removed file", |room, _| fs::remove_file(room.join("same.txt")).unwrap()),
    ("an execute bit", |room, _| {
        fs::set_permissions(room.join("same.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    }),
    ("a folder for a file", |room, _| {
        fs::remove_file(room.join("same.txt")).unwrap();
        fs::create_dir_all(room.join("same.txt/deep")).unwrap();
        fs::write(room.join("same.txt/deep/x"), "x").unwrap();
    }),
    ("a link for a file", |room, outside| {
        fs::remove_file(room.join("same.txt")).unwrap();
        symlink(outside.join("same.txt"), room.join("same.txt")).unwrap();
    }),
    ("a link for a folder", |room, outside| {
        for name in ["sub", "new"] {
            if room.join(name).is_dir() {
                fs::remove_dir_all(room.join(name)).unwrap();
                symlink(outside, room.join(name)).unwrap();
            }
        }
    }),
    ("ignored, new and nested things", |room, _| {
        fs::write(room.join("built.o"), "x").unwrap();
        fs::write(room.join("beside"), "x").unwrap();
        fs::create_dir_all(room.join("sub/empty/emptier")).unwrap();
        fs::create_dir_all(room.join("nested/.git/refs")).unwrap();
        fs::write(room.join("nested/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(room.join("nested/.git/objects")).unwrap();
    }),
    ("a socket", |room, _| {
        // A path of a socket is short: bound by a relative name elsewhere and moved.
        let short = tempfile::tempdir_in("/tmp").unwrap();
        drop(std::os::unix::net::UnixListener::bind(short.path().join("s")).unwrap());
        fs::rename(short.path().join("s"), room.join("same.txt")).ok();
    }),
];

#[test]
fn whatever_a_test_left_the_room_is_what_git_checks_out() {
    let (ground, commits, _) = ground();
    let (repo, expected) = (ground.repo(), commits.clone().map(|commit| fresh(&ground, &commit)));
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir_all(outside.path().join("deep")).unwrap();
    for name in ["same.txt", "deep/gone.txt", "file.txt"] {
        fs::write(outside.path().join(name), "the user's own\n").unwrap();
    }
    let before = everything(outside.path());
    for (name, harm) in HARMS {
        for (from, to) in [(0, 0), (0, 1), (1, 1), (1, 0)] {
            let room = Room::take(&repo, &commits[from]).unwrap();
            assert_eq!(everything(room.path()), expected[from], "before {name}");
            harm(room.path(), outside.path());
            drop(room);
            let room = Room::take(&repo, &commits[to]).unwrap();
            assert_eq!(everything(room.path()), expected[to], "{name}, from {from} to {to}");
            assert!(room.changed(&repo).unwrap().is_empty(), "{name}, from {from} to {to}");
            assert_eq!(everything(outside.path()), before, "{name}: something outside was touched");
        }
    }
}

#[test]
fn the_same_tree_again_takes_no_git_and_another_one_writes_only_what_differs() {
    let (ground, [first, second], asked) = ground();
    let repo = ground.repo();
    drop(Room::take(&repo, &first).unwrap());
    let made = questions(&ground, &asked);
    assert!(made.iter().any(|line| line.contains("reset --hard")), "the first time is the long way: {made:?}");
    let room = Room::take(&repo, &first).unwrap();
    fs::write(room.path().join("built.o"), "x").unwrap();
    assert!(room.changed(&repo).unwrap().is_empty());
    drop(room);
    drop(Room::take(&repo, &first).unwrap());
    assert_eq!(questions(&ground, &asked), [""; 0], "nothing had to be written");
    let room = Room::take(&repo, &second).unwrap();
    let made = questions(&ground, &asked);
    assert_eq!(made.len(), 2, "{made:?}");
    assert!(made[0].contains("update-index") && made[1].contains("checkout-index"), "{made:?}");
    assert!(!made[1].contains("same.txt"), "what is the same in both trees is not written: {made:?}");
    fs::write(room.path().join("same.txt"), "edited\n").unwrap();
    assert_eq!(room.changed(&repo).unwrap().len(), 1);
    drop(room);
    questions(&ground, &asked);
    let room = Room::take(&repo, &second).unwrap();
    let made = questions(&ground, &asked);
    assert!(made.len() == 1 && made[0].ends_with("checkout-index --force --index -- same.txt"), "{made:?}");
    room.retire(&repo).unwrap();
    assert_eq!(questions(&ground, &asked), [""; 0], "a room is retired without a process");
    assert!(!ground.top().join(".git/worktrees").exists(), "its entry is gone, and with the last one the register");
}

#[test]
fn a_room_whose_index_is_of_another_tree_than_its_head_is_made_right() {
    let (ground, [first, second], _) = ground();
    let repo = ground.repo();
    let room = Room::take(&repo, &first).unwrap();
    let admin = admin(&ground);
    drop(room);
    fs::write(admin.join("HEAD"), format!("{second}\n")).unwrap();
    let room = Room::take(&repo, &second).unwrap();
    assert_eq!(everything(room.path()), fresh(&ground, &second));
}

#[test]
fn a_filtered_file_is_written_by_its_filter_whichever_way_is_taken() {
    let ground = Ground::new();
    ground.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    ground.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    ground.write(".gitattributes", "*.up filter=up\n");
    ground.write("a.up", "ONE\n");
    let first = ground.commit();
    ground.write("a.up", "OTHER\n");
    let second = ground.commit();
    let repo = ground.repo();
    for (commit, text) in [(&first, "ONE\n"), (&second, "OTHER\n"), (&second, "OTHER\n"), (&first, "ONE\n")] {
        let room = Room::take(&repo, commit).unwrap();
        assert_eq!(fs::read_to_string(room.path().join("a.up")).unwrap(), text);
        assert!(room.changed(&repo).unwrap().is_empty());
        fs::write(room.path().join("a.up"), "edited\n").unwrap();
    }
}

#[test]
fn other_attributes_write_every_file_anew() {
    let ground = Ground::new();
    ground.write("a.txt", "one\n");
    let first = ground.commit();
    ground.write(".gitattributes", "*.txt text eol=crlf\n");
    let second = ground.commit();
    let repo = ground.repo();
    for (commit, text) in [(&first, "one\n"), (&second, "one\r\n"), (&second, "one\r\n"), (&first, "one\n")] {
        let room = Room::take(&repo, commit).unwrap();
        assert_eq!(fs::read_to_string(room.path().join("a.txt")).unwrap(), text, "as a new checkout has it");
    }
}

#[test]
fn many_and_long_names_are_no_obstacle() {
    let (ground, [first, _], _) = ground();
    let long = "n".repeat(200);
    for number in 0..400 {
        ground.write(&format!("many/{long}-{number}"), "m\n");
    }
    let third = ground.commit();
    let repo = ground.repo();
    for commit in [&first, &third, &first, &third] {
        let room = Room::take(&repo, commit).unwrap();
        assert_eq!(everything(room.path()), fresh(&ground, commit));
        fs::write(room.path().join("same.txt"), "edited\n").unwrap();
    }
}

#[test]
fn an_entry_that_became_somebody_elses_stays_in_the_register() {
    let (ground, [first, _], _) = ground();
    let repo = ground.repo();
    let room = Room::take(&repo, &first).unwrap();
    let (admin, users) = (admin(&ground), ground.top().parent().unwrap().join("users"));
    // As after a repository was made anew at the same place: the name in the register is now another worktree's.
    fs::write(admin.join("gitdir"), format!("{}\n", users.join(".git").display())).unwrap();
    room.retire(&repo).unwrap();
    assert!(admin.join("HEAD").is_file());
    assert!(!repo.unregister(&admin, &ground.top()).unwrap(), "another place");
    assert!(!repo.unregister(&ground.top().join(".git/objects"), &users).unwrap(), "no entry of the register");
    assert!(repo.unregister(&admin, &users).unwrap());
    assert!(!admin.exists());
}

fn admin(ground: &Ground) -> PathBuf {
    let mut entries = fs::read_dir(ground.top().join(".git/worktrees")).unwrap();
    entries.next().unwrap().unwrap().path().canonicalize().unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the plain git that makes a submodule")]
fn a_room_with_a_submodule_takes_the_long_way() {
    let ground = Ground::new();
    let inner = ground.top().join("inner");
    for args in [
        &["init", "-q"][..],
        &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "--allow-empty", "-m", "x"],
    ] {
        fs::create_dir_all(&inner).unwrap();
        assert!(Command::new("git").arg("-C").arg(&inner).args(args).status().unwrap().success());
    }
    ground.write("a.txt", "a\n");
    let first = ground.commit();
    ground.write("a.txt", "b\n");
    let second = ground.commit();
    let repo: Repo = ground.repo();
    for commit in [&first, &second, &second] {
        let room = Room::take(&repo, commit).unwrap();
        assert_eq!(everything(room.path()), fresh(&ground, commit));
    }
}
