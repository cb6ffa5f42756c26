//! Cases of the log at the end where work lands: what was snapshot, shown and compared is what lands (C001 to C018).

use crate::support::{Crew, FakeVerifier, GIT, NO_BOX, TestRepo, end_of, why_of, with_user_config, write};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A verifier that passes the one criterion of a task by its file.
fn passing(task: &str) -> FakeVerifier {
    FakeVerifier::passing(task, &[&format!("C1 It is there — covered by file:{task}.txt")])
}

/// A crew whose only task asks for what a program cannot judge, so that a verifier is asked.
fn judged(files: &[(&str, &str)]) -> Crew {
    let repo = TestRepo::new();
    for (path, text) in files {
        repo.write(path, text);
    }
    Crew::on(repo, 1)
}

/// C001: a file that nobody staged is in the claim, in the brief, and in the landing.
#[test]
fn snap_untracked_to_the_end() {
    let crew = judged(&[]);
    crew.worker(
        "mkdir -p src; echo 1 > a.txt; echo 'echo evil' > src/backdoor.sh; echo made > \"$id.txt\"\n\
         report \"a.txt, src/backdoor.sh, $id.txt\"\n",
    );
    crew.judged_by(&passing("w-1"));
    let report = crew.run_settled(&[]);
    let landing = crew.landing(&report, "w-1");
    assert_eq!(landing.changed, ["a.txt", "src/backdoor.sh", "w-1.txt"]);
    let brief = crew.sealed(&landing.case, "brief.md");
    assert!(brief.contains("file src/backdoor.sh [new file]") && brief.contains("+echo evil"), "{brief}");
    let claim: serde_json::Value = serde_json::from_str(&crew.sealed(&landing.case, "claim.json")).unwrap();
    let listed: Vec<&str> =
        claim["changed"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
    assert_eq!(listed, ["a.txt", "src/backdoor.sh", "w-1.txt"]);
    assert_eq!(std::fs::read_to_string(crew.repo.path().join("src/backdoor.sh")).unwrap(), "echo evil\n");
}

/// C004: the person's half-finished edits are in no landing and stay as they are; one that is in the way makes the
/// landing wait, named, and nothing moves.
#[test]
fn snap_preexisting_dirt_to_the_end() {
    let crew = judged(&[("notes.md", "old\n"), ("staged.md", "old\n")]);
    crew.worker("mkdir -p src; echo 1 > src/x; echo made > \"$id.txt\"; report \"src/x, $id.txt\"\n");
    crew.repo.write("notes.md", "half a thought\n");
    crew.repo.write("private.txt", "mine\n");
    crew.repo.write("staged.md", "staged\n");
    crew.repo.git(&["add", "staged.md"]);
    crew.repo.write("staged.md", "staged, then edited\n");
    let status = crew.repo.git(&["status", "--porcelain"]);
    let report = crew.run_settled(&[]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["src/x", "w-1.txt"]);
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), status);
    assert!(status.contains(" M notes.md") && status.contains("?? private.txt") && status.contains("MM staged.md"));

    let crew = judged(&[("notes.md", "old\n")]);
    crew.worker("echo new > notes.md; echo made > \"$id.txt\"; report \"notes.md, $id.txt\"\n");
    crew.repo.write("notes.md", "half a thought\n");
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "held:landing-waits", "{report:#?}");
    assert!(why_of(&report, "w-1").contains("notes.md"), "{report:#?}");
    crew.assert_nothing_landed("w-1");
    // The person is done; the work lands without anybody doing it again.
    crew.repo.git(&["checkout", "-q", "notes.md"]);
    let report = crew.run_settled(&["w-1"]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["notes.md", "w-1.txt"]);
    assert_eq!(crew.attempts("w-1").len(), 1, "it was not judged again");
}

/// C010: what the worker committed, staged, edited and left untracked lands once; a rewritten history never does.
#[test]
fn snap_already_committed_to_the_end() {
    let crew = judged(&[("two.txt", "0\n")]);
    crew.worker(&format!(
        "{GIT}echo 1 > one.txt; git add one.txt; git commit -q -m one\n\
         echo 1 > four.txt; git add four.txt; echo 1 > two.txt; echo 1 > three.txt; echo made > \"$id.txt\"\n\
         report \"one.txt, two.txt, three.txt, four.txt, $id.txt\"\n"
    ));
    crew.settings(NO_BOX);
    let report = crew.run_settled(&[]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["four.txt", "one.txt", "three.txt", "two.txt", "w-1.txt"]);
    let one = crew.repo.git(&["log", "--format=%s", "main", "--", "one.txt"]);
    assert_eq!(one, "feature(w): w-1 is made [w-1]", "once, by the landing alone");
    assert!(
        crew.repo.git(&["for-each-ref", "refs/countersign/claims/w-1"]).contains("/branch-"),
        "its own commits stay"
    );

    // All of it committed: a clean status is not "no work".
    let crew = judged(&[]);
    crew.worker(&format!("{GIT}echo made > \"$id.txt\"; git add -A; git commit -q -m all; report \"$id.txt\"\n"));
    crew.settings(NO_BOX);
    let report = crew.run_settled(&[]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["w-1.txt"]);

    // The base's own commit is amended: named, sent back, never merged with a moved base.
    let crew = judged(&[]);
    crew.worker(&format!(
        "{GIT}echo made > \"$id.txt\"; git add -A; git commit -q --amend -m 'another base'; report \"$id.txt\"\n"
    ));
    crew.settings(NO_BOX);
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "held:escalated", "{report:#?}");
    assert!(why_of(&report, "w-1").contains("history was rewritten"), "{report:#?}");
    let page = crew.landed(".agentheim/board/w/doing/w-1-make.md").unwrap();
    assert!(page.contains("history was rewritten"), "the worker is told: {page}");
    crew.assert_nothing_landed("w-1");
    assert_eq!(std::fs::read_to_string(crew.worktree("w-1").join("w-1.txt")).unwrap(), "made\n");
    crew.assert_patch("w-1-escalated-iter3.patch");
}

/// C012: what lands is what was judged, whatever is written into the worktree afterwards; and that is not lost either.
#[test]
fn snap_toctou_to_the_end() {
    // A process that the worker left behind ends with it.
    let crew = judged(&[]);
    crew.worker(
        "mkdir -p src; echo good > src/x; echo made > \"$id.txt\"\n\
         (until [ -e ../../w-1.txt ]; do :; done; echo evil >> src/x) > /dev/null 2>&1 &\n\
         setsid sh -c 'until [ -e ../../w-1.txt ]; do :; done; echo evil >> src/x' > /dev/null 2>&1 &\n\
         report \"src/x, $id.txt\"\n",
    );
    let report = crew.run_settled(&[]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["src/x", "w-1.txt"]);
    assert_eq!(crew.landed("src/x").as_deref(), Some("good\n"));
    assert!(!crew.worktree("w-1").exists());

    // A verifier without a box writes into the worker's worktree while it judges.
    let crew = judged(&[]);
    crew.worker("mkdir -p src; echo good > src/x; echo made > \"$id.txt\"; report \"src/x, $id.txt\"\n");
    let late = crew.worktree("w-1").join("src/x");
    crew.judged_by(&passing("w-1").doing(&format!("echo evil >> '{}'", late.display())));
    crew.settings(NO_BOX);
    let report = crew.run_settled(&[]);
    if end_of(&report, "w-1") == "landed" {
        assert_eq!(crew.landed("src/x").as_deref(), Some("good\n"), "only what was judged");
    } else {
        crew.assert_nothing_landed("w-1");
    }
    // The late edit is still somewhere: in the worktree, or in a patch that the end names.
    let kept = std::fs::read_to_string(&late).is_ok_and(|text| text.contains("evil"));
    let saved = report.tasks.iter().flat_map(|end| &end.saved);
    let patched = saved.filter_map(|place| std::fs::read_to_string(place).ok()).any(|patch| patch.contains("+evil"));
    assert!(kept || patched, "{report:#?}");

    // Somebody edits the worktree while the landing waits.
    let crew = judged(&[("notes.md", "old\n")]);
    crew.worker("echo new > notes.md; echo made > \"$id.txt\"; report \"notes.md, $id.txt\"\n");
    crew.repo.write("notes.md", "half a thought\n");
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "held:landing-waits", "{report:#?}");
    write(&crew.worktree("w-1"), "w-1.txt", "evil\n");
    crew.repo.git(&["checkout", "-q", "notes.md"]);
    let report = crew.run_settled(&["w-1"]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["notes.md", "w-1.txt"]);
    assert_eq!(crew.landed("w-1.txt").as_deref(), Some("made\n"));
    let saved = report.tasks[0].saved.iter().filter_map(|place| std::fs::read_to_string(place).ok());
    assert!(saved.into_iter().any(|patch| patch.contains("+evil")), "{report:#?}");
}

/// C014: no configuration of the user changes what is compared, shown, saved or landed.
#[test]
fn diff_user_config_to_the_end() {
    let bent = "[diff]\n\tnoprefix = true\n\texternal = true\n\tmnemonicPrefix = true\n\trenames = copies\n\
                \talgorithm = histogram\n\tcontext = 0\n\torderFile = ~/order\n[color]\n\tui = always\n\tdiff = always\n\
                [core]\n\tpager = less\n\tabbrev = 5\n\tquotePath = false\n[apply]\n\twhitespace = fix\n\
                [merge]\n\tff = only\n\tconflictStyle = diff3\n[commit]\n\tcleanup = scissors\n\tverbose = true\n";
    let ends = ["", bent].map(|config| {
        let repo = TestRepo::new();
        repo.write("old.txt", "one\ntwo\nthree\n");
        let crew = Crew::on(repo, 2);
        with_user_config(&crew.repo, config);
        write(crew.repo.root(), "home/order", "w*\na*\n");
        crew.worker(
            "echo 1 > a.txt; mv old.txt \"new $id.txt\"; printf 'a\\000b' > \"$id.bin\"\n\
             if [ $id = w-1 ]; then echo made > \"$id.txt\"; report \"a.txt, old.txt, new $id.txt, $id.bin, $id.txt\"\n\
             else report \"a.txt, old.txt, new $id.txt, $id.bin\"; fi\n",
        );
        let mut request = crew.request(&[]);
        request.parallel = 1;
        let report = crew.settled(|crew| crew.ask(&request).unwrap());
        let landing = crew.landing(&report, "w-1");
        assert_eq!(landing.changed, ["a.txt", "new w-1.txt", "old.txt", "w-1.bin", "w-1.txt"]);
        assert_eq!(end_of(&report, "w-2"), "held:escalated");
        crew.assert_patch("w-2-escalated-iter3.patch");
        let patch = std::fs::read(crew.salvage("w-2-escalated-iter3.patch")).unwrap();
        // The page of what was saved names the patch by its place on this machine.
        let tree = crew
            .repo
            .git(&["ls-tree", "-r", "main"])
            .lines()
            .filter(|line| !line.ends_with("doing/w-2-make.md"))
            .collect::<Vec<_>>()
            .join("\n");
        let claims: Vec<String> = crew.attempts("w-2").iter().map(|case| crew.sealed(case, "claim.json")).collect();
        (tree, landing.changed, crew.sealed(&landing.case, "claim.json"), claims, patch)
    });
    assert_eq!(ends[0], ends[1]);
}

/// C017: every name lands with its true bytes; a name that the list of a report cannot carry is named as such.
#[test]
fn diff_quoted_paths_to_the_end() {
    let crew = judged(&[("old name.txt", "one\ntwo\nthree\nfour\n")]);
    crew.worker(
        "mkdir 'x b'; echo 1 > 'ümlaut b.txt'; echo 1 > 'a \"q\".txt'; echo 1 > \"$(printf 'tab\\tbed.txt')\"\n\
         echo 1 > 'x b/y.txt'; echo 1 > ./-dash.txt; echo 1 > 'trailing '; mv 'old name.txt' 'neu ä.txt'\n\
         echo made > \"$id.txt\"\n\
         report \"ümlaut b.txt, a \\\"q\\\".txt, $(printf 'tab\\tbed.txt'), x b/y.txt, -dash.txt, trailing , neu ä.txt, old name.txt, $id.txt\"\n",
    );
    // Names that show something else than they are want somebody's look.
    crew.judged_by(&passing("w-1"));
    let report = crew.run_settled(&[]);
    let mut wanted: Vec<String> = [
        "ümlaut b.txt",
        "a \"q\".txt",
        "tab\tbed.txt",
        "x b/y.txt",
        "-dash.txt",
        "trailing ",
        "neu ä.txt",
        "old name.txt",
        "w-1.txt",
    ]
    .map(|name| name.as_bytes().escape_ascii().to_string())
    .into();
    let mut changed = crew.landing(&report, "w-1").changed;
    wanted.sort();
    changed.sort();
    assert_eq!(changed, wanted);
    assert!(crew.repo.path().join("neu ä.txt").is_file() && !crew.repo.path().join("old name.txt").exists());

    // Bytes that are no text, a line end, a comma: beyond the list. They land, and it is said that nobody can tell whether
    // they were reported.
    let crew = judged(&[]);
    crew.worker(
        "echo 1 > \"$(printf 'bad\\377.txt')\"; echo 1 > \"$(printf 'new\\nline.txt')\"; echo 1 > 'one, two.txt'\n\
         echo made > \"$id.txt\"; report \"one, two.txt, $id.txt\"\n",
    );
    crew.judged_by(&passing("w-1"));
    let report = crew.run_settled(&[]);
    let landing = crew.landing(&report, "w-1");
    assert_eq!(landing.changed, ["bad\\xff.txt", "new\\nline.txt", "one, two.txt", "w-1.txt"]);
    let receipts = crew.sealed(&landing.case, "receipts.jsonl");
    let check =
        receipts.lines().find(|line| line.contains("\"id\":\"report-files\"")).unwrap_or_else(|| panic!("{receipts}"));
    for name in ["bad\\\\xff.txt", "new\\\\x0aline.txt", "one, two.txt"] {
        assert!(check.contains(name), "{name}: {check}");
    }
    for name in [&b"bad\xff.txt"[..], b"new\nline.txt"] {
        assert!(crew.repo.path().join(Path::new(OsStr::from_bytes(name))).is_file());
    }
}

/// C018: the sibling that landed first is not in the other's diff, both edits are on the target, and after a conflict
/// the comparison is the one that the landing stages.
#[test]
fn diff_two_dot_to_the_end() {
    let crew = {
        let repo = TestRepo::new();
        repo.write("f", "1\n2\n3\n4\n5\n6\n");
        Crew::on(repo, 2)
    };
    // Both start before either lands; w-2 writes when w-1 is on the target.
    crew.worker(
        "echo made > \"$id.txt\"\n\
         if [ $id = w-1 ]; then until [ -e ../w-2/f ]; do :; done; sed -i 's/^1$/1A/' f; echo 1 > sibling.txt\n\
         report \"$id.txt, f, sibling.txt\"\n\
         else until [ -e ../../w-1.txt ]; do :; done; sed -i 's/^6$/6B/' f; report \"$id.txt, f\"; fi\n",
    );
    let report = crew.run_settled(&[]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["f", "sibling.txt", "w-1.txt"]);
    let second = crew.landing(&report, "w-2");
    assert_eq!(second.changed, ["f", "w-2.txt"]);
    assert_eq!(crew.landed("f").as_deref(), Some("1A\n2\n3\n4\n5\n6B\n"));
    for case in crew.attempts("w-2") {
        let claim = crew.sealed(&case, "claim.json");
        assert!(!claim.contains("sibling.txt") && !claim.contains("w-1.txt"), "{claim}");
        let brief = crew.repo.try_git_in(&crew.repo.path(), &["show", &format!("{case}:brief.md")]).stdout;
        assert!(!String::from_utf8_lossy(&brief).contains("-1A"), "the sibling's line is no deletion");
    }

    let crew = {
        let repo = TestRepo::new();
        repo.write("f", "1\n");
        Crew::on(repo, 2)
    };
    crew.worker(
        "echo made > \"$id.txt\"\n\
         if grep -q '^<<<<<<<' f; then printf 'w-1\\nw-2\\n' > f; report \"$id.txt, f\"\n\
         elif [ $id = w-1 ]; then until [ -e ../w-2/f ]; do :; done; echo w-1 > f; echo 1 > sibling.txt\n\
         report \"$id.txt, f, sibling.txt\"\n\
         else until [ -e ../../w-1.txt ]; do :; done; echo w-2 > f; report \"$id.txt, f\"; fi\n",
    );
    let report = crew.run_settled(&[]);
    assert_eq!(crew.landing(&report, "w-2").changed, ["f", "w-2.txt"]);
    assert_eq!(crew.landed("f").as_deref(), Some("w-1\nw-2\n"));
    let newest = &crew.attempts("w-2")[0];
    let claim: serde_json::Value = serde_json::from_str(&crew.sealed(newest, "claim.json")).unwrap();
    let listed: Vec<&str> =
        claim["changed"].as_array().unwrap().iter().map(|change| change["path"].as_str().unwrap()).collect();
    assert_eq!(listed, ["f", "w-2.txt"], "measured from the target that was merged in");
}
