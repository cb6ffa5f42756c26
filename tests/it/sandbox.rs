//! `host::sandbox`: what a boxed child cannot do, and what it still can.

use crate::stand::Stand;
use countersign::host::process::{Ended, Ending, Launch};
use countersign::host::sandbox::{Network, Profile};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

/// Runs a launch. Where the kernel has no Landlock the level must say so, and nothing else can be tested.
fn boxed(stand: &Stand, launch: &Launch) -> Option<Ended> {
    let ended = stand.run(launch);
    if !ended.level.enforced {
        assert!(!ended.level.why.is_empty());
        return None;
    }
    assert!(ended.level.seccomp && ended.level.no_new_privs && ended.level.landlock_abi >= Some(1));
    Some(ended)
}

#[test]
fn a_child_writes_inside_and_nowhere_else() {
    let stand = Stand::new();
    let outside = stand.outside();
    for name in ["keep", "cut", "gone", "moved"] {
        std::fs::write(outside.join(name), "precious").unwrap();
    }
    symlink(outside.join("keep"), stand.inside().join("link")).unwrap();
    symlink(&outside, stand.inside().join("folder")).unwrap();
    let launch = stand.shell(&format!(
        "out={}
         echo a > new && mkdir d && mv new d/new && ln d/new d/hard && ln -s x d/soft && : > d/new && chmod 700 d/new && rm d/hard || echo inside
         try() {{ if sh -c \"$1\" 2>/dev/null; then echo \"$1\"; fi; }}
         try \"echo a > $out/new\"; try \"echo a >> $out/keep\"; try \": > $out/cut\"; try \"rm -f $out/gone\"
         try \"mv $out/moved .\"; try \"mv d/soft $out/planted\"; try \"ln $out/keep hard && echo a >> hard\"
         try \"echo a >> link\"; try \"echo a > folder/new\"; try \"mkdir $out/d\"; try \"mkfifo $out/p\"
         try \"mknod d/disk b 254 0\"; try \"mount -t tmpfs none d\"; try \"echo a > /dev/shm/countersign-$$\"
         try \"echo a > /tmp/countersign-$$\"
         echo a > /dev/null && cat $out/keep",
        stand.outside().display()
    ));
    let Some(ended) = boxed(&stand, &launch) else { return };
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "precious", "{}", stand.log());
    let mut left: Vec<_> = outside.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["cut", "gone", "keep", "moved"]);
    assert_eq!(std::fs::read(outside.join("cut")).unwrap(), b"precious");
}

#[test]
fn a_single_file_can_be_made_writable() {
    let stand = Stand::new();
    let (index, other) = (stand.outside().join("index"), stand.outside().join("other"));
    std::fs::write(&index, "").unwrap();
    std::fs::write(&other, "").unwrap();
    let mut launch = stand.shell("echo a > ../outside/index; echo a > ../outside/other");
    launch.profile.write.push(index.clone());
    if boxed(&stand, &launch).is_none() {
        return;
    }
    assert_eq!(std::fs::read(index).unwrap(), b"a\n");
    assert_eq!(std::fs::read(other).unwrap(), b"");
}

/// What a script of [`IPC`] says that had everything.
const ALL: &str = "memory queue semaphore posix";

/// Makes, looks for or removes one object of each kind; says which it was that it had.
const IPC: &str = r#"
import ctypes, sys
libc, do, key = ctypes.CDLL(None, use_errno=True), sys.argv[1], int(sys.argv[2])
flags, name = 0o1600 if do == "make" else 0, b"/countersign-%d" % key
queue = libc.mq_open(name, 0o102 if do == "make" else 2, 0o600, None)
ids = [libc.shmget(key, 4096, flags), libc.msgget(key, flags), libc.semget(key, 1, flags)]
print(" ".join(what for what, id in zip(["memory", "queue", "semaphore", "posix"], ids + [queue]) if id >= 0))
if do == "remove":
    libc.shmctl(ids[0], 0, None), libc.msgctl(ids[1], 0, None), libc.semctl(ids[2], 0, 0), libc.mq_unlink(name)
"#;

#[test]
fn no_shared_memory_queue_or_semaphore_of_a_child_is_left_or_taken_from_outside() {
    let stand = Stand::new();
    let script = stand.inside().join("ipc.py");
    std::fs::write(&script, IPC).unwrap();
    let free = Profile::checks(vec![]).unconfined();
    let run = |what: &str, key: u32, profile: &Profile| {
        let mut launch = stand.shell(&format!("exec python3 '{}' {what} {key}", script.display()));
        launch.profile = Profile { write: launch.profile.write.clone(), ..profile.clone() };
        let ended = stand.run(&launch);
        assert!(ended.ending.is_success(), "{}", stand.log());
        (String::from_utf8(ended.stdout).unwrap().trim().to_owned(), ended.level)
    };
    let key = 0x4353_0000 + (std::process::id() & 0xffff);
    // Outside the box they stay, and the next one finds them.
    assert_eq!(run("make", key, &free).0, ALL);
    assert_eq!(run("look", key, &free).0, ALL);
    for profile in [Profile::checks(vec![]), Profile::verifier(vec![])] {
        let (found, level) = run("look", key, &profile);
        assert!(!level.enforced || found.is_empty(), "{:?} opened the machine's {found}", profile.role);
        let (made, level) = run("make", key + 0x1_0000, &profile);
        let left = run("remove", key + 0x1_0000, &free).0;
        assert!(!level.enforced || left.is_empty(), "{:?} left {left}", profile.role);
        // A test run that has namespaces may use them. Landlock knows no place for a POSIX queue.
        assert!(made.is_empty() || ALL.starts_with(&made), "{:?}: {made}", profile.role);
        assert!(!made.is_empty() || level.network != Network::Loopback, "a test run got none of its own");
    }
    assert_eq!(run("remove", key, &free).0, ALL);
    assert_eq!(run("look", key, &free).0, "");
}

#[test]
fn a_writable_place_that_is_missing_or_a_link_starts_nothing() {
    let stand = Stand::new();
    let link = stand.inside().join("planted");
    symlink(stand.outside(), &link).unwrap();
    for (place, reason) in [(link, "is a symbolic link"), (stand.inside().join("missing"), "failed to open")] {
        let mut launch = stand.shell("echo > ran");
        launch.profile.write.push(place);
        let Ending::NotStarted { why } = stand.run(&launch).ending else { panic!("it started") };
        assert!(why.contains(reason), "{why}");
    }
    assert!(!stand.inside().join("ran").exists());
}

#[test]
#[ignore = "run inside the box by the tests below"]
fn inside_metadata_is_frozen() {
    let mut path = String::new();
    std::io::stdin().read_to_string(&mut path).unwrap();
    let denied = |result: std::io::Result<()>| assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
    denied(std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)));
    denied(std::os::unix::fs::lchown(&path, Some(12345), None));
    let file = std::fs::File::open(&path).unwrap();
    denied(file.set_permissions(PermissionsExt::from_mode(0o755)));
    // Answered with success, and not made: see below.
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    denied(rustix::fs::setxattr(&path, "user.x", b"1", rustix::fs::XattrFlags::empty()).map_err(Into::into));
}

#[test]
fn a_verifier_cannot_change_modes_owners_times_or_attributes() {
    let stand = Stand::new();
    let path = stand.outside().join("script");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let written = path.metadata().unwrap().modified().unwrap();
    let mut launch = stand.driver("sandbox::inside_metadata_is_frozen");
    launch.stdin = path.to_str().unwrap().into();
    launch.profile = Profile::verifier(vec![stand.inside()]);
    let Some(ended) = boxed(&stand, &launch) else { return };
    assert!(ended.ending.is_success(), "{}", stand.log());
    let after = path.metadata().unwrap();
    assert_eq!(after.permissions().mode() & 0o777, 0o644);
    assert_eq!(after.modified().unwrap(), written, "its time was changed");
}

#[test]
#[ignore = "run inside the box by the tests below"]
fn inside_nothing_is_reachable() {
    let mut port = String::new();
    std::io::stdin().read_to_string(&mut port).unwrap();
    let refused = |kind: ErrorKind| assert_eq!(kind, ErrorKind::PermissionDenied);
    refused(TcpStream::connect(format!("127.0.0.1:{port}")).unwrap_err().kind());
    refused(TcpListener::bind("127.0.0.1:0").unwrap_err().kind());
    refused(UdpSocket::bind("127.0.0.1:0").unwrap_err().kind());
    drop(UnixListener::bind("socket").unwrap());
}

#[test]
fn with_the_network_off_neither_tcp_nor_udp_goes_out() {
    let stand = Stand::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut launch = stand.driver("sandbox::inside_nothing_is_reachable");
    launch.stdin = listener.local_addr().unwrap().port().to_string().into();
    let Some(ended) = boxed(&stand, &launch) else { return };
    assert!(ended.ending.is_success(), "{}", stand.log());
    assert_eq!(ended.level.network, Network::Off);
}

#[test]
#[ignore = "run inside the box by the tests below"]
fn inside_only_the_own_loopback_is_reachable() {
    let mut port = String::new();
    std::io::stdin().read_to_string(&mut port).unwrap();
    assert_eq!(TcpStream::connect(format!("127.0.0.1:{port}")).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(TcpStream::connect("192.0.2.1:80").unwrap_err().kind(), ErrorKind::NetworkUnreachable);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut arrived, _) = listener.accept().unwrap();
    out.write_all(b"hello").unwrap();
    drop(out);
    let mut heard = String::new();
    arrived.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "hello");
    let (one, two) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    one.send_to(b"x", two.local_addr().unwrap()).unwrap();
    assert_eq!(two.recv(&mut [0; 8]).unwrap(), 1);
}

#[test]
fn a_loopback_of_its_own_serves_tests_and_reaches_nothing_else() {
    let stand = Stand::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut launch = stand.driver("sandbox::inside_only_the_own_loopback_is_reachable");
    launch.stdin = listener.local_addr().unwrap().port().to_string().into();
    launch.profile.network = Network::Loopback;
    let Some(ended) = boxed(&stand, &launch) else { return };
    if ended.level.network == Network::Open {
        let said = ended.level.why.iter().any(|why| why.contains("the network stays open"));
        assert!(said, "{:?}", ended.level);
        return;
    }
    assert!(ended.ending.is_success(), "{}", stand.log());
    assert_eq!(ended.level.network, Network::Loopback);
}

/// RULINGS 7: a worker may have planted a filter; the git that freezes its work runs it, and it can do no harm.
#[test]
fn git_freezes_a_tree_in_the_snapshot_box_and_a_planted_filter_writes_nowhere() {
    let stand = Stand::new();
    let mut setup = stand.shell(
        "git init -q . && echo '* filter=evil' > .gitattributes && echo text > file && echo victim > ../victim &&
         git config filter.evil.clean 'echo evil > ../victim; chmod 777 ../victim; echo evil > .git/config; cat' &&
         mkdir ../inside/objects",
    );
    setup.cwd = stand.outside();
    setup.profile = setup.profile.unconfined();
    assert!(stand.run(&setup).ending.is_success(), "{}", stand.log());
    let mut freeze = stand.shell("git add -A -- :/ && git write-tree");
    freeze.cwd = stand.outside();
    freeze.profile = Profile::snapshot(vec![stand.inside()]);
    for (name, value) in [
        ("GIT_INDEX_FILE", stand.inside().join("index")),
        ("GIT_OBJECT_DIRECTORY", stand.inside().join("objects")),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", stand.outside().join(".git/objects")),
    ] {
        freeze.env.push((name.into(), value.into()));
    }
    let victim = stand.outside().with_file_name("victim");
    let mode = victim.metadata().unwrap().permissions().mode();
    let Some(ended) = boxed(&stand, &freeze) else { return };
    assert!(ended.ending.is_success(), "{}", stand.log());
    assert_eq!(ended.stdout.len(), 41, "{}", stand.log());
    assert_eq!(std::fs::read(&victim).unwrap(), b"victim\n");
    assert_eq!(victim.metadata().unwrap().permissions().mode(), mode);
    assert_ne!(std::fs::read(stand.outside().join(".git/config")).unwrap(), b"evil\n");
}

/// The helper here is a script that plays a kernel without namespaces.
#[test]
fn where_a_loopback_is_impossible_the_network_is_open_and_the_level_says_so() {
    let mut stand = Stand::new();
    let helper = stand.outside().join("helper");
    std::fs::write(
        &helper,
        r#"#!/bin/sh
read -r order
case $order in
*'"network":"loopback"'*) echo '{"no-network":{"why":"forbidden here"}}' >&0 ;;
*'"network":"open"'*) echo '{"ended":{"turn":0,"code":0,"signal":null,"strays":0,"left":0,"level":{"landlock-abi":7,"enforced":true,"no-new-privs":true,"seccomp":true,"network":"open","why":[]}}}' >&0 ;;
esac
"#,
    )
    .unwrap();
    std::fs::set_permissions(&helper, PermissionsExt::from_mode(0o755)).unwrap();
    stand.host.helper = helper;
    let mut launch = stand.launch(["true"]);
    launch.profile.network = Network::Loopback;
    let ended = stand.run(&launch);
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert_eq!(ended.level.network, Network::Open);
    let why = "the network stays open, because one of its own is impossible here: forbidden here";
    assert_eq!(ended.level.why, [why]);
}

#[test]
fn processes_outside_cannot_be_signalled_not_even_the_helper() {
    let stand = Stand::new();
    let launch = stand.shell(&format!(
        "kill -9 $PPID 2>/dev/null && echo helper; kill -0 {} 2>/dev/null && echo conductor; sleep 300 & kill $! && echo own",
        std::process::id()
    ));
    let Some(ended) = boxed(&stand, &launch) else { return };
    if ended.level.landlock_abi >= Some(6) {
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "own\n");
        assert_eq!(ended.ending, Ending::Exited { code: 0 });
    }
}

#[test]
fn without_a_box_the_level_is_loud_and_the_tree_still_ends() {
    let stand = Stand::new();
    let mut launch = stand.shell(
        "echo a > ../outside/new; setsid sh -c 'echo $$ > daemon; exec sleep 300' & while [ ! -s daemon ]; do sleep 0.01; done",
    );
    launch.profile = launch.profile.unconfined();
    let ended = stand.run(&launch);
    assert!(ended.ending.is_success());
    assert!(stand.outside().join("new").exists());
    assert!(!ended.level.enforced && !ended.level.seccomp);
    assert_eq!(ended.level.network, Network::Open);
    assert_eq!(ended.level.why, ["the sandbox is turned off"]);
    assert_eq!(ended.strays, 1);
    assert!(crate::stand::is_gone(stand.pid("daemon")));
}
