//! The snapshot: committed, staged, unstaged and untracked work, and nothing else (cases C001 to C013).

use crate::support::{Board, FakeVerifier, Stage, TASK, TestRepo, has_pytest, judge, write};

/// A verifier that passes the one criterion by its file.
fn passing(path: &str) -> FakeVerifier {
    FakeVerifier::passing(TASK, &[&format!("C1 It is there — covered by file:{path}")])
}

/// C001.
#[test]
fn snap_untracked_new_files_are_in_the_claim_the_list_and_the_brief() {
    let stage = Stage::asking_for("src/backdoor.sh");
    stage.write("a.txt", "1\n");
    stage.write("src/backdoor.sh", "echo evil\n");
    stage.verifier(&passing("src/backdoor.sh"), "");
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.changed(), ["a.txt", "src/backdoor.sh"]);
    let brief = judged.sealed(&stage.repo, "brief.md");
    assert!(brief.contains("file src/backdoor.sh [new file]") && brief.contains("+echo evil"), "{brief}");
    assert_eq!(judged.file(&stage.repo, "src/backdoor.sh"), b"echo evil\n");
    let ledger = judged.sealed(&stage.repo, "receipts.jsonl");
    assert!(ledger.lines().any(|line| line.contains("\"fact\":\"claim\"") && line.contains("src/backdoor.sh")));
    let diff = stage.repo.git(&["diff-tree", "-r", "--name-only", &stage.base, judged.claim("commit")]);
    assert_eq!(diff, "a.txt\nsrc/backdoor.sh");
}

/// C004: dirt of the human is neither in the claim nor touched; dirt in the worker's own tree is named.
#[test]
fn snap_preexisting_dirt_of_the_human_is_not_in_the_claim() {
    let repo = TestRepo::new();
    repo.write("notes.md", "old\n");
    repo.write("build/out.js", "1\n");
    let stage = Stage::of(repo, "src/x");
    stage.repo.write("notes.md", "half a thought\n");
    stage.repo.write("private.txt", "mine\n");
    stage.write("src/x", "1\n");
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.changed(), ["src/x"]);
    assert_eq!(stage.repo.git(&["status", "--porcelain"]), " M notes.md\n?? private.txt");

    // A worktree that arrived dirty: what the worker does not report is not taken as its work in silence.
    stage.write("build/out.js", "2\n");
    stage.report("src/x");
    stage.judge().is("send-back").finds("report-files", "deny", &["build/out.js"]).again(&stage.repo);
}

/// C006: the shared `info/exclude`, or a changed `.gitignore`, hides a file that the test runner would load.
#[test]
fn snap_exclude_hides_nothing_from_the_judged_tests() {
    if !has_pytest() {
        return;
    }
    let rig = "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n    \
               outcome = yield\n    outcome.get_result().outcome = 'passed'\n";
    for tracked in [false, true] {
        let repo = TestRepo::new();
        repo.write("test_a.py", "def test_a():\n    assert False\n");
        let board = Board::two_root(TASK)
            .criterion("It adds — test: `test_a`")
            .readme("## Test command\n`python3 -m pytest -q`\n");
        board.commit(&repo);
        let worktree = repo.add_worktree(TASK);
        write(&worktree, "conftest.py", rig);
        if tracked {
            write(&worktree, ".gitignore", "conftest.py\n");
        } else {
            write(&worktree, "src.py", "x = 1\n");
            write(&repo.common_dir(), "info/exclude", "conftest.py\n");
        }
        assert!(!repo.git_in(&worktree, &["status", "--porcelain"]).contains("conftest.py"));
        let judged = judge(&repo, &["verify", TASK, "--json"])
            .never_lands()
            .finds("hiding-places", "ask", &["conftest.py", "a rule that is not the base's"])
            .finds("criteria", "deny", &["test_a", "failed"])
            .again(&repo);
        assert!(!judged.changed().contains(&"conftest.py"));
        assert!(judged.sealed(&repo, "receipts.jsonl").contains("conftest.py"));
    }
}

/// C007: no size drops out of one snapshot and comes back in another.
#[test]
fn snap_large_excluded_from_nothing() {
    let repo = TestRepo::new();
    let noise = |seed: u32, len: usize| {
        let mut state = seed;
        let step = move |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        (0..len).map(step).collect::<Vec<u8>>()
    };
    let mut data = noise(1, 5 << 20);
    repo.write("data.bin", &data);
    repo.write("ok.bin", noise(2, 1 << 20));
    let stage = Stage::of(repo, "src/x");
    stage.write("src/x", "1\n");
    stage.verifier(&passing("src/x"), "");
    let first = stage.judge().is("land");
    let second = stage.judge_with(&["--fresh"]).is("land");
    assert_eq!(first.changed(), ["src/x"]);
    assert_eq!((first.claim("tree"), first.claim("commit")), (second.claim("tree"), second.claim("commit")));

    data[4 << 20] ^= 1;
    stage.write("data.bin", &data);
    let changed = stage.judge();
    assert_eq!(changed.changed(), ["data.bin", "src/x"]);
    assert_eq!(changed.file(&stage.repo, "data.bin"), data);
    let brief = changed.sealed(&stage.repo, "brief.md");
    let id = stage.git(&["hash-object", "data.bin"]);
    assert!(brief.contains(&id[..12]) && brief.contains("file data.bin"), "the content is not shown, but named");
    // It is no text at any size: named with its id, it needs no reading (RULINGS 19).
    changed.is("land");

    // A text of that size cannot be read whole: judged without it, there is no unqualified PASS.
    stage.write("data.txt", "a line of text\n".repeat((5 << 20) / 15));
    stage.judge().is("hold").because("data.txt");
}

/// C009: no commit, no worktree, half a history, no branch.
#[test]
fn snap_unborn_bare_shallow_and_detached_states_are_refused_or_work() {
    let board = Board::two_root(TASK).criterion("It is there — file: `done.txt`").status("todo");
    let unborn = TestRepo::unborn();
    unborn.write(board.task_path(), board.task());
    for args in [&["verify", TASK][..], &["verify"], &["verify", "--floor"], &["verify", TASK, "--base", "HEAD"]] {
        let before = unborn.fingerprint();
        let outcome = unborn.run(args).refuses(4, &["main has no commit yet", "make a first commit"]);
        crate::support::assert_invariants(&before, &outcome, &unborn);
        assert_eq!(unborn.git(&["for-each-ref"]), "");
        assert!(!unborn.common_dir().join("countersign").exists() && !unborn.common_dir().join("worktrees").exists());
    }

    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    let root = stage.repo.root();
    stage.repo.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = root.join("bare.git");
    let refs = stage.repo.git_in(&bare, &["for-each-ref"]);
    _ = stage.repo.run_with(&bare, &["verify", TASK], &[], b"").refuses(4, &["bare.git is a bare repository", "clone"]);
    assert_eq!(stage.repo.git_in(&bare, &["for-each-ref"]), refs);

    // Detached: measured against the branch it left, and no branch is guessed or moved.
    stage.git(&["switch", "-q", "--detach"]);
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-q", "-m", "work"]);
    let heads = stage.repo.git(&["for-each-ref", "refs/heads"]);
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.claim("base"), stage.base);
    assert_eq!(stage.repo.git(&["for-each-ref", "refs/heads"]), heads);

    // Shallow: without the base it is refused, with it it works.
    stage.git(&["switch", "-q", "-c", "topic"]);
    let url = format!("file://{}", stage.repo.path().display());
    stage.repo.git(&["clone", "-q", "--depth", "1", "--branch", "topic", "--no-single-branch", &url, "../shallow"]);
    let shallow = root.join("shallow");
    let refs = stage.repo.git_in(&shallow, &["for-each-ref"]);
    let verify = |base: &str| stage.repo.run_with(&shallow, &["verify", TASK, "--base", base], &[], b"");
    for base in ["HEAD~1", &stage.base] {
        _ = verify(base).refuses(4, &["this clone is shallow and lacks the base", "git fetch --unshallow"]);
    }
    assert_eq!(stage.repo.git_in(&shallow, &["for-each-ref"]), refs);
    stage.repo.git_in(&shallow, &["fetch", "-q", "--depth", "2", "origin", "topic"]);
    _ = verify("HEAD~1").exits(0);
    assert_eq!(stage.repo.git_in(&shallow, &["for-each-ref", "refs/heads", "refs/remotes"]), refs);
}

/// C010: everything the worker left, wherever it left it; a rewritten history is found out.
#[test]
fn snap_already_committed_staged_and_loose_work_is_one_claim() {
    let repo = TestRepo::new();
    repo.write("two.txt", "0\n");
    let stage = Stage::of(repo, "one.txt");
    stage.write("one.txt", "1\n");
    stage.git(&["add", "one.txt"]);
    stage.git(&["commit", "-q", "-m", "one"]);
    stage.write("four.txt", "staged\n");
    stage.git(&["add", "four.txt"]);
    stage.write("two.txt", "1\n");
    stage.write("three.txt", "1\n");
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.changed(), ["four.txt", "one.txt", "three.txt", "two.txt"]);
    assert_eq!(judged.claim("base"), stage.base);

    // Nothing but commits: a clean status is not "no work".
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-q", "-m", "rest"]);
    let committed = stage.judge_with(&["--fresh"]).is("land");
    assert_eq!(committed.claim("tree"), judged.claim("tree"));

    // The base's own commit is rewritten: it is no ancestor any more.
    stage.git(&["reset", "-q", "--soft", &stage.base]);
    stage.git(&["commit", "-q", "--amend", "-m", "another base"]);
    let rewritten = stage.judge().never_lands().finds("tamper", "deny", &["not an ancestor", "history was rewritten"]);
    assert_eq!(rewritten.claim("base"), stage.base, "the base did not move with the history");
}

/// C012, the half about `verify`: what was judged is what was frozen, and what changes later is judged anew.
#[test]
fn snap_toctou_edits_after_the_freeze_are_never_under_the_old_decision() {
    let stage = Stage::asking_for("src/x");
    stage.write("src/x", "good\n");
    let target = stage.worktree().join("src/x");
    let meddling = passing("src/x").doing(&format!("echo evil >> '{}' 2>/dev/null || :", target.display()));

    // In its box the verifier cannot write there.
    stage.verifier(&meddling, "");
    let boxed = stage.judge().is("land");
    assert_eq!(std::fs::read(&target).unwrap(), b"good\n");

    // Without a box it can, and the decision still names the frozen tree only.
    stage.verifier(&meddling, "sandbox:\n  require: none\n");
    let before = stage.repo.fingerprint();
    let args = ["verify", TASK, "--json", "--fresh"];
    let outcome = stage.repo.run(&args);
    let different = before.differences(&stage.repo.fingerprint());
    assert!(different.len() == 1 && different[0].contains("src/x"), "{different:?}");
    let document = outcome.json();
    assert_eq!(document["claim"]["tree"], boxed.claim("tree"), "{outcome}");
    assert_eq!(stage.repo.git(&["show", &format!("{}:src/x", boxed.claim("tree"))]), "good");

    // The same command afterwards sees other work, and does not answer from memory.
    stage.verifier(&passing("src/x"), "");
    let later = stage.judge().is("land");
    assert_ne!(later.claim("tree"), boxed.claim("tree"));
    assert_eq!(later.value("judged-before"), false);
    assert_eq!(later.file(&stage.repo, "src/x"), b"good\nevil\n");

    // A verifier that changes what it is shown voids its own verdict.
    stage.verifier(&passing("src/x").doing("echo evil >> src/x"), "sandbox:\n  require: none\n");
    stage.judge_with(&["--fresh"]).is("hold").because("src/x");
}

/// C013: repositories that a git library cannot open.
#[test]
fn snap_libgit2_ext_repositories_work_through_every_path() {
    let plain: fn(&Stage) = |_| {};
    let sparse: fn(&Stage) = |stage| {
        stage.git(&["sparse-checkout", "set", "--cone", ".agentheim", "src"]);
        assert_eq!(stage.git(&["config", "extensions.worktreeConfig"]), "true");
        assert!(!stage.worktree().join("docs").exists());
    };
    let sparse_index: fn(&Stage) = |stage| {
        stage.git(&["sparse-checkout", "set", "--cone", "--sparse-index", ".agentheim", "src"]);
    };
    for (name, options, prepare) in [
        ("sparse", &[][..], sparse),
        ("sparse index", &[], sparse_index),
        ("sha256", &["--object-format=sha256"], plain),
        ("reftable", &["--ref-format=reftable"], plain),
        ("sha256 and sparse", &["--object-format=sha256"], sparse),
    ] {
        let repo = TestRepo::init(options);
        repo.write("docs/deep/page.md", "text\n");
        repo.write("src/old", "1\n");
        let stage = Stage::of(repo, "src/new");
        prepare(&stage);
        stage.write("src/new", "1\n");
        // Outside the cone: new work there is work, absent files there are not deletions.
        stage.write("extra/note.txt", "1\n");
        let judged = stage.judge().is("land").again(&stage.repo);
        assert_eq!(judged.changed(), ["extra/note.txt", "src/new"], "{name}");
        assert_eq!(judged.file(&stage.repo, "docs/deep/page.md"), b"text\n", "{name}");
        for args in [
            &["receipts", TASK][..],
            &["replay", TASK],
            &["board", "show", TASK],
            &["board", "list", "--at", "HEAD"],
            &["verify", "--floor", "--claim", judged.claim("commit"), "--base", &stage.base],
        ] {
            let before = stage.repo.fingerprint();
            let outcome = stage.repo.run(args).exits(0);
            crate::support::assert_invariants(&before, &outcome, &stage.repo);
        }
    }
}
