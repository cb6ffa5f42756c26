//! CR LF, mixed ends, and folders that cannot be removed (cases C143, C144, C145).

use crate::support::{FakeVerifier, Stage, TASK, TestRepo, report};
use std::path::Path;

/// C143: attributes that the base does not keep make a fresh worktree look edited.
#[test]
fn crlf_phantom_edits_are_nobodys() {
    for global in ["", "[core]\n\tautocrlf = true\n", "[core]\n\tautocrlf = input\n\teol = crlf\n"] {
        let repo = TestRepo::new();
        let settings = repo.root().join("home/.gitconfig");
        let plain = std::fs::read_to_string(&settings).unwrap();
        repo.write("a.md", "one\r\ntwo\r\n");
        repo.commit("carriage returns");
        repo.write(".gitattributes", "*.md text eol=lf\n");
        // Committed without being normalised, as people do: the new rule's file alone is added.
        repo.git(&["add", ".gitattributes"]);
        repo.git(&["commit", "-q", "-m", "attributes"]);
        let base = crate::support::Board::two_root(TASK).criterion("It is there — file: `b.txt`");
        repo.write("run.sh", "printf '<testsuite><testcase name=\"works\"/></testsuite>' > out.xml\n");
        repo.write(".agentheim/countersign.yaml", "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\n");
        repo.write(base.task_path(), base.task());
        repo.write(".agentheim/knowledge/contexts/w/README.md", "# w\n");
        repo.git(&["add", ".agentheim", "run.sh"]);
        repo.git(&["commit", "-q", "-m", "board"]);
        let base = repo.git(&["rev-parse", "HEAD"]);
        assert!(repo.try_git_in(&repo.path(), &["cat-file", "-p", "HEAD:a.md"]).stdout.contains(&b'\r'));
        std::fs::write(&settings, format!("{plain}{global}")).unwrap();
        repo.add_worktree(TASK);
        let stage = Stage { repo, base };
        stage.write("b.txt", "1\n");
        let judged = stage.judge().is("land").again(&stage.repo);
        assert_eq!(judged.changed(), ["b.txt"], "{global}");
        let blob = |rev: &str| stage.repo.git(&["rev-parse", &format!("{rev}:a.md")]);
        assert_eq!(blob(judged.claim("tree")), blob(&stage.base), "a.md is not swept in");
        if stage.git(&["status", "--porcelain", "a.md"]).is_empty() {
            assert_ne!(global, "", "without further settings git sees a change nobody made");
        } else {
            judged.finds("hiding-places", "info", &["a.md", "line endings not normalised"]);
        }
    }
}

/// C143, variant C: an editor converts a whole file.
#[test]
fn crlf_phantom_of_an_editor_is_shown_as_line_ends_and_nothing_else() {
    let repo = TestRepo::new();
    let long: String = (0..200).map(|n| format!("line {n}\r\n")).collect();
    repo.write("long.txt", &long);
    let stage = Stage::of(repo, "done.txt");
    stage.write("done.txt", "1\n");
    stage.write("long.txt", long.replace("\r\n", "\n"));
    stage.verifier(&FakeVerifier::passing(TASK, &["C1 It is there — covered by file:done.txt"]), "");
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.changed(), ["done.txt", "long.txt"]);
    let brief = judged.sealed(&stage.repo, "brief.md");
    assert!(brief.contains("file long.txt [only line endings differ"), "{brief}");
    assert!(!brief.contains("line 100"), "two hundred lines say nothing");

    // One real edit among them is found.
    stage.write("long.txt", long.replace("\r\n", "\n").replace("line 100\n", "line 100!\n"));
    let edited = stage.judge().sealed(&stage.repo, "brief.md");
    assert!(edited.contains("line 100!"), "{edited}");
}

/// C144, the half about `verify`: mixed ends are frozen as they are; result and verdict read the same with CR LF.
#[test]
fn crlf_patch_of_mixed_line_ends_is_frozen_byte_for_byte() {
    let repo = TestRepo::new();
    repo.write("mixed.txt", "one\r\ntwo\nthree\r\nfour");
    repo.write("src/a.rs", "// a\n");
    let stage = Stage::of(repo, "done.txt");
    let after = b"one!\r\ntwo!\nthree\r\nfour!";
    stage.write("mixed.txt", after);
    stage.write("src/a.rs", "// b\n");
    stage.write("done.txt", "1\n");
    let evidence = "C1 It is there — covered by file:done.txt";
    let answer = format!("VERDICT: PASS\r\nTASK_ID: {TASK}\r\nTOKEN: @TOKEN@\r\nEVIDENCE:\r\n- {evidence}\r\n");
    stage.verifier(&FakeVerifier::answering(&answer), "");
    let text = report("done.txt, mixed.txt, src\\a.rs");
    let mut decided = Vec::new();
    for (text, fresh) in [(text.clone(), "--all-checks"), (text.replace('\n', "\r\n"), "--fresh")] {
        stage.report_bytes(text.as_bytes());
        let judged = stage.judge_with(&[fresh]).is("land").finds("report-files", "info", &["src/a.rs"]);
        assert_eq!(judged.file(&stage.repo, "mixed.txt"), after);
        assert_eq!(judged.changed(), ["done.txt", "mixed.txt", "src/a.rs"]);
        decided.push((judged.check("report-shape").clone(), judged.check("report-files").clone()));
    }
    assert_eq!(decided[0], decided[1], "a report reads the same with either line end");

    // What was frozen applies bit for bit elsewhere.
    let judged = stage.judge_with(&["--fresh"]);
    let patch = stage.repo.try_git_in(
        &stage.repo.path(),
        &["diff-tree", "-p", "--binary", "--full-index", &stage.base, judged.claim("commit")],
    );
    std::fs::write(stage.repo.root().join("claim.patch"), patch.stdout).unwrap();
    stage.repo.git(&["worktree", "add", "-q", "--detach", "../elsewhere", &stage.base]);
    let elsewhere = stage.repo.root().join("elsewhere");
    stage.repo.git_in(&elsewhere, &["apply", "--index", "--whitespace=nowarn", "../claim.patch"]);
    assert_eq!(stage.repo.git_in(&elsewhere, &["write-tree"]), judged.claim("tree"));
}

/// C144: a protected page is protected whatever its line ends.
#[test]
fn crlf_patch_guards_see_through_carriage_returns() {
    for ends in ["\n", "\r\n"] {
        let stage = Stage::asking_for("done.txt");
        let marker = ["<<<<<<< ours", "a", "=======", "b", ">>>>>>> theirs", ""].join(ends);
        stage.write("done.txt", marker);
        stage.write(".agentheim/board/protocol.md", ["# Protocol", "", "verified", ""].join(ends));
        stage
            .judge()
            .is("send-back")
            .finds("conflict-markers", "deny", &["done.txt"])
            .finds("tamper", "deny", &["protocol.md"])
            .again(&stage.repo);
    }
}

/// C145, the half about `verify`: what a test run leaves behind cannot be removed, and is never anybody's work.
#[test]
fn win_locked_debris_of_a_test_run_is_not_the_next_claims() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    stage.repo.git(&["config", "--global", "safe.directory", "*"]);
    let give = stage.repo.command("chown", Path::new("/")).args(["-R", "65534:65534"]).arg(stage.repo.root()).output();
    if !give.is_ok_and(|done| done.status.success()) {
        eprintln!("SKIPPED: only root can run this as somebody else");
        return;
    }
    let debris = "mkdir -p locked/inner && echo x > locked/inner/evil.txt && chmod a-w locked/inner locked; sh run.sh";
    for (tests, expected) in
        [(debris, vec!["done.txt"]), ("test ! -e locked && sh run.sh", vec!["done.txt", "two.txt"])]
    {
        let before = stage.repo.fingerprint();
        let outcome = stage.repo.run_as_nobody(&["verify", TASK, "--json", "--tests", tests]).exits(0);
        crate::support::assert_invariants(&before, &outcome, &stage.repo);
        let document = outcome.json();
        let changed: Vec<&str> =
            document["claim"]["changed"].as_array().unwrap().iter().map(|c| c["path"].as_str().unwrap()).collect();
        assert_eq!(changed, expected);
        stage.write("two.txt", "1\n");
    }
}
