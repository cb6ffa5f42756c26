//! `host::process`: every ending, and nothing left behind.

use crate::stand::{LONG, Stand, ends, is_gone};
use countersign::host::process::{Ending, Stream, run_in_turn, run_lines, run_watched};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

const DAEMON: &str = "setsid sh -c 'echo $$ > daemon; exec sleep 300' & while [ ! -s daemon ]; do sleep 0.01; done";

#[test]
fn a_prompt_of_a_mebibyte_comes_back_whole() {
    let stand = Stand::new();
    let mut launch = stand.launch(["cat"]);
    launch.stdin = (0..1_u32 << 20).map(|i| (i % 251) as u8).collect();
    let ended = stand.run(&launch);
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert!(ended.stdout == launch.stdin);
    assert_eq!(ended.stdout_total, 1 << 20);
    assert_eq!(ended.strays, 0);
}

#[test]
fn a_child_may_ignore_its_input() {
    let stand = Stand::new();
    let mut launch = stand.shell("exit 3");
    launch.stdin = vec![b'p'; 1 << 20];
    assert_eq!(stand.run(&launch).ending, Ending::Exited { code: 3 });
}

#[test]
fn a_child_that_ignores_its_input_can_still_be_stopped() {
    let stand = Stand::new();
    let mut launch = stand.shell("exec sleep 300");
    launch.stdin = vec![b'p'; 1 << 20];
    launch.limits.wall = Duration::from_millis(200);
    assert!(matches!(stand.run(&launch).ending, Ending::TimedOut { .. }));
}

#[test]
fn both_outputs_are_read_before_the_input_is() {
    let stand = Stand::new();
    let mut launch = stand.shell(
        "i=0; while [ $i -lt 20000 ]; do echo 0123456789; echo 0123456789 >&2; i=$((i+1)); done; cat >/dev/null; printf end",
    );
    launch.stdin = vec![b'p'; 1 << 20];
    let ended = stand.run(&launch);
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert_eq!(ended.lines, 40_001, "an unfinished last line counts");
    assert_eq!(ended.stdout_total, 20_000 * 11 + 3);
    assert_eq!(ended.log.bytes_total, 40_000 * 11 + 3);
    assert_eq!(ended.log.bytes_kept, ended.log.bytes_total);
}

#[test]
fn the_capture_is_the_start_and_the_log_is_bounded_and_private() {
    let stand = Stand::new();
    let mut launch = stand.shell("echo start; head -c 3000000 /dev/zero; echo; echo finish");
    launch.capture = 5;
    launch.limits.log_bytes = 1000;
    let ended = stand.run(&launch);
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert_eq!(ended.stdout, b"start");
    assert_eq!((ended.log.bytes_total, ended.log.bytes_kept), (3_000_014, 1000));
    let log = stand.log();
    assert!(log.starts_with("start\n") && log.ends_with("\nfinish\n"));
    assert!(log.contains("\n[countersign: 2999014 bytes left out here]\n"));
    assert_eq!(launch.log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn endless_output_is_stopped() {
    let stand = Stand::new();
    let mut launch = stand.launch(["yes"]);
    launch.limits.hard_output = 1 << 20;
    launch.limits.log_bytes = 1000;
    let ended = stand.run(&launch);
    assert!(matches!(ended.ending, Ending::Flooded { bytes } if bytes > 1 << 20), "{:?}", ended.ending);
    assert_eq!(ended.log.bytes_kept, 1000);
}

/// Case C104, `run-hang`: the limit is on the wall clock, not on silence, and a timeout is nothing else.
#[test]
fn a_run_that_never_ends_is_timed_out_with_what_it_printed() {
    let stand = Stand::new();
    let script = format!("trap '' TERM; echo 1; echo 2; echo 3; {DAEMON}; while :; do printf .; sleep 0.01; done");
    let mut launch = stand.shell(&script);
    launch.limits.wall = Duration::from_secs(2);
    launch.limits.idle = Some(Duration::from_secs(50));
    let ended = stand.run(&launch);
    let Ending::TimedOut { ran_for_ms, last_output_ago_ms: Some(_), lines: 4, last_error: None } = ended.ending else {
        panic!("{:?}", ended.ending)
    };
    assert!(ran_for_ms >= 2000);
    assert!(stand.log().starts_with("1\n2\n3\n."));
    assert!(is_gone(stand.pid("daemon")));
    assert!(ended.strays >= 1);
}

#[test]
fn a_timeout_tells_what_was_measured_and_the_programs_own_last_words_and_not_the_limit() {
    let stand = Stand::new();
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let script = format!(
        "trap 'echo \"giving up on https://user:{secret}@host\" >&2; exit 1' TERM
         echo one; echo retrying >&2; while :; do sleep 0.01; done"
    );
    let mut launch = stand.shell(&script);
    launch.limits.idle = Some(Duration::from_millis(700));
    let sentence = stand.run(&launch).ending.sentence();
    assert!(sentence.starts_with("stopped for silence after "), "{sentence}");
    assert!(sentence.contains(" ago, 2 lines; its last words on standard error: giving up on https://"), "{sentence}");
    assert!(!sentence.contains(&secret) && sentence.contains("[redacted:"), "{sentence}");
}

#[test]
fn lines_are_shown_while_the_program_still_runs() {
    let stand = Stand::new();
    let mut launch = stand.shell("printf 'one\ntw'; while [ ! -e go ]; do sleep 0.01; done; printf 'o\nthree'");
    launch.limits.wall = LONG;
    let mut seen = Vec::new();
    let ended = run_lines(&stand.host, &launch, &mut |stream, line| {
        if seen.is_empty() {
            std::fs::write(stand.inside().join("go"), "").unwrap();
        }
        seen.push((stream, String::from_utf8_lossy(line.bytes).into_owned()));
    });
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert_eq!(seen, ["one", "two", "three"].map(|text| (Stream::Out, text.to_owned())));
}

/// Each run is measured from its own launch.
#[test]
fn the_clock_starts_anew_with_each_attempt() {
    let stand = Stand::new();
    let mut launch = stand.shell("exec sleep 300");
    launch.limits.wall = Duration::from_millis(400);
    for _ in 0..2 {
        let Ending::TimedOut { ran_for_ms, last_output_ago_ms: None, lines: 0, .. } = stand.run(&launch).ending else {
            panic!("it ended otherwise")
        };
        assert!(ran_for_ms >= 400);
        assert!(ran_for_ms < 60_000, "measured from an earlier launch");
    }
}

#[test]
fn silence_is_stopped_where_a_limit_says_so() {
    let stand = Stand::new();
    let mut launch = stand.shell("echo hello; exec sleep 300");
    launch.limits.idle = Some(Duration::from_millis(300));
    let ended = stand.run(&launch);
    assert!(matches!(ended.ending, Ending::Idle { lines: 1, .. }), "{:?}", ended.ending);
    assert!(ended.took < LONG);
}

/// Case C105, `proc-grandchild-pipe`, A: the daemon holds the output open; nobody waits for it.
#[test]
fn a_daemon_that_outlives_a_clean_exit_is_counted_and_gone() {
    let stand = Stand::new();
    let ended = stand.run(&stand.shell(&format!("{DAEMON}; echo ok")));
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert_eq!(ended.stdout, b"ok\n");
    assert_eq!(ended.strays, 1);
    assert!(is_gone(stand.pid("daemon")));
    assert!(ended.took < LONG);
}

/// C105, B: the child hangs too.
#[test]
fn a_daemon_is_gone_after_a_timeout() {
    let stand = Stand::new();
    let mut launch = stand.shell(&format!("{DAEMON}; exec sleep 300"));
    launch.limits.wall = Duration::from_secs(1);
    let ended = stand.run(&launch);
    assert!(matches!(ended.ending, Ending::TimedOut { .. }));
    assert!(is_gone(stand.pid("daemon")));
}

/// C105, C: the daemon writes for ever.
#[test]
fn a_daemon_that_keeps_writing_neither_holds_us_nor_fills_the_log() {
    let stand = Stand::new();
    let mut launch = stand
        .shell("setsid sh -c 'echo $$ > daemon; exec yes' & while [ ! -s daemon ]; do sleep 0.01; done; echo ok >&2");
    launch.limits.log_bytes = 4096;
    let ended = stand.run(&launch);
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert_eq!(ended.strays, 1);
    assert!(ended.log.bytes_kept <= 4096);
    assert!(is_gone(stand.pid("daemon")));
}

#[test]
fn strays_that_closed_every_pipe_and_left_every_group_are_gone() {
    let stand = Stand::new();
    let ended = stand.run(&stand.shell(
        "for n in 1 2 3; do setsid sh -c \"(setsid sh -c 'echo \\$\\$ > s$n; exec sleep 300' &)\" </dev/null >/dev/null 2>&1 & done
         while [ ! -s s1 ] || [ ! -s s2 ] || [ ! -s s3 ]; do sleep 0.01; done",
    ));
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
    assert_eq!(ended.strays, 3);
    for name in ["s1", "s2", "s3"] {
        assert!(is_gone(stand.pid(name)));
    }
}

/// Case C107, `proc-sigterm-ignored`, the process half: one interrupt is TERM, the grace, then KILL.
#[test]
fn a_tree_that_ignores_the_polite_signal_is_killed() {
    let stand = Stand::new();
    let launch = stand.shell(
        "trap '' TERM INT; echo $$ > parent; (trap '' TERM INT; sh -c 'echo $$ > child; exec sleep 300') &
         while [ ! -s child ]; do sleep 0.01; done; echo ready; while :; do sleep 300; done",
    );
    let cancel = stand.host.cancel.clone();
    let ended = run_watched(&stand.host, &launch, &mut |_, _| cancel.ask());
    assert_eq!(ended.ending, Ending::Cancelled);
    assert!(is_gone(stand.pid("parent")) && is_gone(stand.pid("child")));
}

/// C107: the polite signal reaches those who left the group, and what they say on leaving is kept.
#[test]
fn an_interrupt_lets_the_whole_tree_end_politely() {
    let stand = Stand::new();
    let mut launch = stand.shell(
        "trap 'wait; echo parent >&2; exit 7' TERM
         setsid sh -c 'trap \"echo away; exit\" TERM; echo > up; while :; do sleep 0.01; done' &
         while [ ! -e up ]; do sleep 0.01; done; echo ready; while :; do sleep 0.01; done",
    );
    launch.limits.grace = Duration::from_secs(30);
    let cancel = stand.host.cancel.clone();
    let mut asked = false;
    let ended = run_watched(&stand.host, &launch, &mut |stream, _| {
        if stream == Stream::Out && !asked {
            asked = true;
            cancel.ask();
        }
    });
    assert_eq!(ended.ending, Ending::Cancelled);
    assert_eq!(ended.stdout, b"ready\naway\n");
    assert!(stand.log().ends_with("parent\n"));
    assert_eq!(ended.strays, 0);
}

#[test]
fn a_second_interrupt_does_not_wait_for_the_grace() {
    let stand = Stand::new();
    let mut launch = stand.shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
    launch.limits.grace = Duration::from_secs(300);
    let cancel = stand.host.cancel.clone();
    let ended = run_watched(&stand.host, &launch, &mut |_, _| {
        cancel.ask();
        cancel.ask();
    });
    assert_eq!(ended.ending, Ending::Cancelled);
    assert!(ended.took < LONG);
}

#[test]
fn nothing_starts_after_an_interrupt() {
    let stand = Stand::new();
    stand.host.cancel.ask();
    assert_eq!(stand.run(&stand.shell("echo > ran")).ending, Ending::Cancelled);
    assert!(!stand.inside().join("ran").exists());
}

/// C107, B: without a terminal there is nothing to be stopped by.
#[test]
fn the_terminal_is_out_of_reach() {
    let stand = Stand::new();
    let ended = stand.run(&stand.shell("read x </dev/tty; read y; echo done"));
    assert_eq!(ended.stdout, b"done\n");
    assert_eq!(ended.ending, Ending::Exited { code: 0 });
}

#[test]
fn what_cannot_start_says_why() {
    let stand = Stand::new();
    std::fs::write(stand.inside().join("plain"), "not a program").unwrap();
    let mut elsewhere = stand.launch(["true"]);
    elsewhere.cwd = stand.inside().join("missing");
    let mut logless = stand.launch(["true"]);
    logless.log = stand.inside().join("no/such/folder/log");
    for (launch, reason) in [
        (stand.launch(["no-such-program-1"]), "failed to find the program no-such-program-1 on PATH /usr/local/bin"),
        (stand.launch(["./nothing"]), "failed to find the program ./nothing"),
        (stand.launch(["./plain"]), "./plain is not an executable file"),
        (stand.launch::<&str>([]), "the command is empty"),
        (elsewhere, "does not exist"),
        (logless, "failed to make the log"),
    ] {
        let ended = stand.run(&launch);
        let Ending::NotStarted { why } = &ended.ending else { panic!("{:?}", ended.ending) };
        assert!(why.contains(reason), "{why}");
        assert_eq!(ended.stdout_total, 0);
    }
    let mut stand = Stand::new();
    stand.host.helper = "/no/such/helper".into();
    let Ending::NotStarted { why } = stand.run(&stand.launch(["true"])).ending else { panic!("it started") };
    assert!(why.contains("/no/such/helper"));
}

#[test]
fn a_helper_that_is_no_helper_loses_the_ending() {
    let mut stand = Stand::new();
    stand.host.helper = "/bin/false".into();
    let ended = stand.run(&stand.launch(["true"]));
    let Ending::Lost { why } = &ended.ending else { panic!("{:?}", ended.ending) };
    assert!(why.contains("without an answer"), "{why}");
    assert!(!ended.level.enforced && !ended.ending.is_success());
}

#[test]
fn a_helper_that_is_killed_loses_the_ending_but_not_its_orphans() {
    let stand = Stand::new();
    let mut launch = stand.shell("sh -c 'echo $$ > orphan; exec sleep 300' & while [ ! -s orphan ]; do sleep 0.01; done; kill -9 $PPID; sleep 300");
    launch.profile = launch.profile.unconfined();
    let ended = stand.run(&launch);
    let Ending::Lost { why } = &ended.ending else { panic!("{:?}", ended.ending) };
    assert!(why.contains("without an answer") && why.contains("SIGKILL"), "{why}");
    assert!(ends(stand.pid("orphan")));
}

#[test]
fn a_family_that_keeps_forking_is_ended() {
    let stand = Stand::new();
    let launch = stand.shell(
        "trap '' TERM; for n in 1 2 3 4 5 6 7 8 9 10; do
           setsid sh -c 'trap \"\" TERM; while :; do (sleep 0.01; setsid sleep 0.02) & wait $!; done' &
         done; echo ready; while :; do (:) & wait; done",
    );
    let cancel = stand.host.cancel.clone();
    let ended = run_watched(&stand.host, &launch, &mut |_, _| cancel.ask());
    assert_eq!(ended.ending, Ending::Cancelled);
    assert!(ended.strays >= 10, "{}", ended.strays);
}

#[test]
fn a_signal_is_told_by_its_number() {
    let stand = Stand::new();
    assert_eq!(stand.run(&stand.shell("kill -SEGV $$")).ending, Ending::Signalled { signal: 11 });
}

#[test]
fn the_child_sees_its_own_environment_and_no_descriptor_but_three() {
    let stand = Stand::new();
    let open = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let mut launch = stand.launch(["env"]);
    launch.env.push(("ODD".into(), std::os::unix::ffi::OsStringExt::from_vec(b"\xff =\n".to_vec())));
    assert_eq!(stand.run(&launch).stdout, b"ODD=\xff =\n\nPATH=/usr/local/bin:/usr/bin:/bin\n");
    // The listing itself holds the fourth.
    let listed = stand.run(&stand.launch(["ls", "/proc/self/fd"])).stdout;
    assert_eq!(String::from_utf8_lossy(&listed), "0\n1\n2\n3\n");
}

#[test]
fn no_dead_process_is_left_behind() {
    let stand = Stand::new();
    let ended = stand.run(&stand.shell("echo $$; echo $PPID; (exec true) & (exec true) & wait"));
    for pid in String::from_utf8(ended.stdout).unwrap().lines() {
        assert!(is_gone(pid.parse().unwrap()), "{pid}");
    }
}

#[test]
#[ignore = "the conductor that `the_tree_dies_with_its_conductor` kills"]
fn conductor() {
    let stand = Stand::new();
    let launch = stand.shell(&format!("{DAEMON}; cat daemon; echo $$; exec sleep 300"));
    run_watched(&stand.host, &launch, &mut |_, bytes| print!("{}", String::from_utf8_lossy(bytes)));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a conductor must be a process to be killed")]
fn the_tree_dies_with_its_conductor() {
    let mut driver = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "process::conductor"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let pids: Vec<i32> = lines.map_while(Result::ok).filter_map(|line| line.trim().parse().ok()).take(2).collect();
    assert_eq!(pids.len(), 2);
    kill_process(Pid::from_child(&driver), Signal::KILL).unwrap();
    driver.wait().unwrap();
    assert!(pids.into_iter().all(ends));
}

#[test]
fn commands_in_turn_share_a_helper_and_the_first_failure_ends_them() {
    let stand = Stand::new();
    let shell = |script: &str| ["sh", "-c", script].map(OsString::from).to_vec();
    let mut launch = stand.shell("cat; echo one >&2; echo 1 > first");
    launch.stdin = b"input ".to_vec();
    let next = [shell("cat; cat first; echo two >&2"), shell("exit 3"), shell("echo never > never")];
    let ended = run_in_turn(&stand.host, &launch, &next);
    assert_eq!((ended.turn, &ended.ending), (2, &Ending::Exited { code: 3 }));
    assert_eq!(ended.stdout, b"input 1\n", "only the first one has the input");
    assert_eq!(stand.log().matches(['o', 'w']).count(), 3, "both wrote into the log: {}", stand.log());
    assert!(!stand.inside().join("never").exists());

    let ended = run_in_turn(&stand.host, &stand.shell("true"), &[vec!["no-such-program".into()], shell("echo x")]);
    assert_eq!((ended.turn, ended.ending.code(), ended.stdout.len()), (1, "not-started", 0));

    let ended = run_in_turn(&stand.host, &stand.shell(DAEMON), &[shell("rm daemon"), shell(DAEMON)]);
    assert_eq!((ended.turn, &ended.ending, ended.strays), (2, &Ending::Exited { code: 0 }, 2), "{ended:?}");
    assert!(is_gone(stand.pid("daemon")));
}

/// A wall is around all of them, and nothing starts behind one that was asked to end, however well it ends.
#[test]
fn commands_in_turn_stop_together() {
    let stand = Stand::new();
    let mut launch = stand.shell("trap 'exit 0' TERM; while :; do sleep 0.02; done");
    launch.limits.wall = Duration::from_millis(500);
    launch.limits.grace = LONG;
    let never = ["sh", "-c", "echo never > never"].map(OsString::from).to_vec();
    let ended = run_in_turn(&stand.host, &launch, &[never]);
    assert_eq!((ended.turn, ended.ending.code()), (0, "timed-out"), "{ended:?}");
    assert!(!stand.inside().join("never").exists());
}
