//! The change as it is listed and shown (cases C014, C017, C018).

use crate::support::{FakeVerifier, Judged, Stage, TASK, TestRepo, judge, report};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const NASTY: &str = "[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\texternal = true\n\trenames = copies\n\talgorithm = histogram\n\
                     \tsrcPrefix = x/\n\tdstPrefix = y/\n\torderFile = /nonexistent\n\tignoreSubmodules = all\n\tcontext = 0\n\
                     [color]\n\tui = always\n[core]\n\tpager = less\n\tquotePath = true\n\tabbrev = 4\n[status]\n\trelativePaths = false\n\tshowUntrackedFiles = no\n\
                     [log]\n\tshowSignature = true\n[alias]\n\tdiff-tree = \"!false\"\n";

/// What a judgement showed: the brief without its token, the changed paths, the tree, the commit.
fn shown(stage: &Stage, judged: &Judged) -> [String; 4] {
    let ledger = judged.sealed(&stage.repo, "receipts.jsonl");
    let token = ledger.split("\"token\":\"").nth(1).unwrap().split('"').next().unwrap();
    let brief = judged.sealed(&stage.repo, "brief.md").replace(token, "TOKEN");
    let nonce = brief.split("data blocks is `").nth(1).unwrap().split('`').next().unwrap().to_owned();
    [
        brief.replace(&nonce, "NONCE"),
        judged.value("claim")["changed"].to_string(),
        judged.claim("tree").to_owned(),
        judged.claim("commit").to_owned(),
    ]
}

/// C014.
#[test]
fn diff_user_config_bends_no_byte_of_what_is_shown() {
    let seen: Vec<[String; 4]> = ["", NASTY]
        .into_iter()
        .map(|settings| {
            let repo = TestRepo::new();
            repo.write("old.txt", "one\ntwo\nthree\n");
            let stage = Stage::of(repo, "done.txt");
            stage.write("a.txt", "1\n");
            stage.write("done.txt", "new\n");
            stage.git(&["mv", "old.txt", "moved.txt"]);
            let evidence = "C1 It is there — covered by file:done.txt";
            stage.verifier(&FakeVerifier::passing(TASK, &[evidence]), "");
            let file = stage.repo.root().join("home/.gitconfig");
            let text = std::fs::read_to_string(&file).unwrap() + settings;
            std::fs::write(file, text).unwrap();
            let judged = stage.judge().is("land");
            assert_eq!(judged.changed(), ["a.txt", "done.txt", "moved.txt"]);
            shown(&stage, &judged)
        })
        .collect();
    assert!(seen[0][0].contains("-0\n| +1\n"), "{}", seen[0][0]);
    assert_eq!(seen[0], seen[1]);
}

/// C017: names that quoting, splitting or decoding would lose.
#[test]
fn diff_quoted_paths_are_listed_once_with_their_true_bytes() {
    let repo = TestRepo::new();
    repo.write("old name.txt", "one\ntwo\nthree\nfour\n");
    let stage = Stage::of(repo, "x b/y.txt");
    let names: [&[u8]; 8] = [
        "ümlaut b.txt".as_bytes(),
        b"a \"q\".txt",
        b"new\nline.txt",
        b"tab\tbed.txt",
        b"x b/y.txt",
        b"-dash.txt",
        b"trailing ",
        b"bad\xff.txt",
    ];
    for name in names {
        stage.write(Path::new(OsStr::from_bytes(name)), "1\n");
    }
    stage.git(&["mv", "old name.txt", "neu ä.txt"]);

    // Without a list: every path once, in bytes that can be read back.
    let judged = stage.judge();
    let mut changed = judged.changed();
    changed.sort_unstable();
    let mut expected = [
        "ümlaut b.txt",
        "a \"q\".txt",
        "new\\x0aline.txt",
        "tab\\x09bed.txt",
        "x b/y.txt",
        "-dash.txt",
        "trailing ",
        "bad\\xff.txt",
        "neu ä.txt",
    ];
    expected.sort_unstable();
    assert_eq!(changed, expected);
    let renamed = judged.value("claim")["changed"].as_array().unwrap().iter().find(|c| c["kind"] == "renamed").unwrap();
    assert_eq!(renamed["from"], "old name.txt");
    for name in names {
        let listed =
            stage.repo.try_git_in(&stage.repo.path(), &["ls-tree", "-r", "-z", "--name-only", judged.claim("tree")]);
        assert!(listed.stdout.split(|b| *b == 0).any(|path| path == name), "{:?}", String::from_utf8_lossy(name));
    }

    // With a list that has all it can carry: nothing is missing; the name with a newline is named as such.
    let list = "ümlaut b.txt, a \"q\".txt, tab\tbed.txt, x b/y.txt, -dash.txt, trailing , neu ä.txt, old name.txt";
    stage.report(list);
    let listed = stage.judge();
    let report = listed.check("report-files").to_string();
    assert!(report.contains("bad\\\\xff.txt") && report.contains("new\\\\x0aline.txt"), "{report}");
    for found in ["ümlaut", "tab", "x b/y", "-dash", "neu"] {
        assert!(!report.contains(found), "{found} was listed: {report}");
    }
    listed.again(&stage.repo);
}

/// C017: a comma ends an entry of the list; the name that holds one is said to be beyond it, and denies nothing.
#[test]
fn diff_quoted_paths_with_a_comma_are_beyond_the_list_and_said_so() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    stage.write("one, two.txt", "1\n");
    stage.report("done.txt, one, two.txt");
    let judged = stage.judge().again(&stage.repo);
    assert!(judged.changed().contains(&"one, two.txt"));
    let found = judged.check("report-files");
    assert_ne!(found["state"], "deny", "{found:#}");
    assert!(found.to_string().contains("one, two.txt"), "{found:#}");
    assert!(report("a, b").contains("FILES_CHANGED: 2"));
}

/// C018: the base moved; a sibling's work is not this worker's deletion.
#[test]
fn diff_two_dot_never_shows_a_siblings_work() {
    let repo = TestRepo::new();
    repo.write("f", "1\n2\n3\n4\n5\n6\n");
    let stage = Stage::of(repo, "done.txt");
    stage.write("f", "1\n2\n3\n4\n5\n6B\n");
    stage.write("done.txt", "1\n");
    stage.verifier(&FakeVerifier::passing(TASK, &["C1 It is there — covered by file:done.txt"]), "");
    // The sibling lands meanwhile.
    stage.repo.write("f", "1A\n2\n3\n4\n5\n6\n");
    stage.repo.write("sibling.txt", "1\n");
    let landed = stage.repo.commit("sibling");
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!((judged.claim("base"), judged.changed()), (&stage.base[..], vec!["done.txt", "f"]));
    let brief = judged.sealed(&stage.repo, "brief.md");
    assert!(brief.contains("| -6\n| +6B\n") && !brief.contains("1A") && !brief.contains("sibling.txt"), "{brief}");

    // After the worker took main in, its work is measured from there: the comparison that a squash would stage.
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-q", "-m", "work"]);
    stage.git(&["merge", "-q", "--no-edit", "main"]);
    let merged = stage.judge().is("land").again(&stage.repo);
    assert_eq!((merged.claim("base"), merged.changed()), (&landed[..], vec!["done.txt", "f"]));
    assert_eq!(merged.file(&stage.repo, "f"), b"1A\n2\n3\n4\n5\n6B\n");
    let squash = stage.repo.git(&["merge-tree", "--write-tree", "main", "aw/w-001"]);
    assert_eq!(squash, merged.claim("tree"));
    let same = judge(&stage.repo, &["verify", TASK, "--json", "--claim", "aw/w-001", "--base", &landed]).is("land");
    assert_eq!(same.claim("tree"), merged.claim("tree"));
}
