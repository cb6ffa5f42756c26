//! Cases of the log about line ends, bytes that are no text, pointers into other repositories, and folders that cannot be
//! removed, at the end where work lands or is saved (C143 to C152).

use crate::support::{Crew, FakeVerifier, GIT, NO_BOX, TestRepo, end_of, skip, why_of, with_user_config, write};
use countersign::integrate::salvage::SALVAGE_FOLDER;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// C143: attributes that the base does not keep make every checkout look edited; nobody's landing sweeps that in.
#[test]
fn crlf_phantom_to_the_end() {
    for global in ["", "[core]\n\tautocrlf = true\n", "[core]\n\tautocrlf = input\n\teol = crlf\n"] {
        let repo = TestRepo::new();
        let crew = Crew::on(repo, 1);
        crew.repo.write("a.md", "one\r\ntwo\r\n");
        crew.repo.git(&["-c", "core.autocrlf=false", "add", "a.md"]);
        crew.repo.git(&["commit", "-q", "-m", "carriage returns"]);
        crew.repo.write(".gitattributes", "a.md text eol=lf\n");
        crew.repo.git(&["add", ".gitattributes"]);
        crew.repo.git(&["commit", "-q", "-m", "attributes"]);
        with_user_config(&crew.repo, global);
        let blob = crew.repo.git(&["rev-parse", "main:a.md"]);
        crew.worker("echo 1 > b.txt; echo made > \"$id.txt\"; report \"b.txt, $id.txt\"\n");
        let report = crew.run_settled(&[]);
        assert_eq!(crew.landing(&report, "w-1").changed, ["b.txt", "w-1.txt"], "{global}");
        assert_eq!(crew.repo.git(&["rev-parse", "main:a.md"]), blob, "a.md is not swept in");
        assert_eq!(std::fs::read(crew.repo.path().join("a.md")).unwrap(), b"one\r\ntwo\r\n");
        assert!(!crew.worktree("w-1").exists());
    }

    // A worker edits that very file: the checkout cannot follow over it, and is told why.
    let crew = Crew::of(1);
    crew.repo.write("a.md", "one\r\ntwo\r\n");
    crew.repo.commit("carriage returns");
    crew.repo.write(".gitattributes", "*.md text eol=lf\n");
    crew.repo.git(&["add", ".gitattributes"]);
    crew.repo.git(&["commit", "-q", "-m", "attributes"]);
    crew.worker("printf 'one\\ntwo\\nthree\\n' > a.md; echo made > \"$id.txt\"; report \"a.md, $id.txt\"\n");
    let report = crew.run_settled(&[]);
    if end_of(&report, "w-1") == "landed" {
        assert_eq!(crew.landed("a.md").as_deref(), Some("one\ntwo\nthree\n"));
    } else {
        assert_eq!(end_of(&report, "w-1"), "held:landing-waits", "{report:#?}");
        let why = why_of(&report, "w-1");
        assert!(why.contains("a.md") && why.contains("line endings"), "{why}");
        crew.assert_nothing_landed("w-1");
    }
}

/// C144: what was saved comes back bit for bit, whatever its lines end in.
#[test]
fn crlf_patch_to_the_end() {
    for global in ["", "[core]\n\tautocrlf = true\n[apply]\n\twhitespace = fix\n"] {
        let repo = TestRepo::new();
        repo.write("mixed.txt", "one\r\ntwo\nthree\r\nfour");
        repo.write("bare.txt", "a\rb\r");
        repo.write("src/a.rs", "// a\r\n");
        let crew = Crew::on(repo, 1);
        with_user_config(&crew.repo, global);
        // What w-1 asks for is never made, so its work ends as a patch.
        crew.worker(
            "printf 'one!\\r\\ntwo!\\nthree\\r\\nfour!' > mixed.txt; printf 'a\\rb\\rc' > bare.txt\n\
             printf '// b\\r\\n' > src/a.rs; printf 'new\\r\\nold\\n\\r' > new.txt\n\
             report 'mixed.txt, bare.txt, src\\a.rs, new.txt'; sed -i 's/$/\\r/' \"$COUNTERSIGN_REPORT\"\n",
        );
        let report = crew.run_settled(&[]);
        assert_eq!(end_of(&report, "w-1"), "held:escalated", "{report:#?}");
        assert!(
            !why_of(&report, "w-1").contains("report-"),
            "a report reads the same with either line end: {report:#?}"
        );
        let tree = crew.assert_patch("w-1-escalated-iter3.patch");
        assert_eq!(crew.sealed_claims("w-1")[0], tree, "the saved tree is the judged one");
        let blob = |path: &str| {
            crew.repo.try_git_in(&crew.repo.path(), &["cat-file", "blob", &format!("{tree}:{path}")]).stdout
        };
        if global.is_empty() {
            assert_eq!(blob("mixed.txt"), b"one!\r\ntwo!\nthree\r\nfour!");
            assert_eq!(blob("new.txt"), b"new\r\nold\n\r");
            assert_eq!(blob("bare.txt"), b"a\rb\rc");
        }
    }
}

/// C145: what cannot be removed is said, kept or retried, and never taken for somebody's work.
#[test]
fn win_locked_to_the_end() {
    // Folders that their owner locked: removed all the same.
    let crew = Crew::of(1);
    crew.worker(
        "mkdir -p locked/inner; echo 1 > locked/inner/f; echo made > \"$id.txt\"; chmod a-w locked/inner locked\n\
         report \"$id.txt, locked/inner/f\"\n",
    );
    let report = crew.run_settled(&[]);
    assert_eq!(crew.landing(&report, "w-1").changed, ["locked/inner/f", "w-1.txt"]);
    assert!(!crew.worktree("w-1").exists());

    // The worker shuts the folder that holds its worktree, so that nothing can be taken out of it. Root is stopped by no
    // permission, so the run is somebody else's.
    let crew = Crew::of(1);
    let Some(nobody) = Nobody::with(&crew) else { return };
    crew.worker("echo half > half.txt; chmod a-w ..; bounce 'not now'\n");
    crew.settings(NO_BOX);
    nobody.give(&crew);
    let outcome = nobody.work();
    assert!(outcome.contains("cannot"), "{outcome}");
    let worktree = crew.worktree("w-1");
    assert_eq!(std::fs::read_to_string(worktree.join("half.txt")).unwrap(), "half\n", "nothing was lost half way");
    assert!(crew.repo.path().join(SALVAGE_FOLDER).join("w-1-bounced.patch").is_file(), "{outcome}");
    assert!(crew.repo.git(&["worktree", "list", "--porcelain"]).contains("/.worktrees/w-1"), "still registered");

    // The same task again, while the debris cannot go: nothing of it is anybody's work.
    let (backlog, todo) = (".agentheim/board/w/backlog/w-1-make.md", ".agentheim/board/w/todo/w-1-make.md");
    let page = crew.landed(backlog).unwrap().replace("status: backlog", "status: todo");
    crew.repo.git(&["rm", "-q", backlog]);
    crew.repo.write(todo, page);
    crew.repo.commit("back to todo");
    nobody.chmod(".worktrees", 0o555);
    crew.worker("test ! -e half.txt && echo made > \"$id.txt\"; report \"$id.txt\"\n");
    crew.settings(NO_BOX);
    nobody.give(&crew);
    let outcome = nobody.work();
    assert!(!outcome.contains("\"landed\""), "{outcome}");
    crew.assert_nothing_landed("w-1");

    // Unlocked, the next run goes on by itself.
    nobody.chmod(".worktrees", 0o755);
    let outcome = nobody.work();
    assert_eq!(crew.landed("w-1.txt").as_deref(), Some("made\n"), "{outcome}");
    assert!(crew.landed("half.txt").is_none() && !worktree.exists(), "{outcome}");
}

/// Runs of the conductor by a user who owns the test's folders and nothing else: for root, permissions mean little.
struct Nobody {
    root: PathBuf,
    top: PathBuf,
    copy: PathBuf,
}

impl Nobody {
    fn with(crew: &Crew) -> Option<Self> {
        let copy = crew.repo.root().join("conductor");
        let made = crew.repo.command("cp", crew.repo.root()).arg(std::env::current_exe().unwrap()).arg(&copy).status();
        assert!(made.unwrap().success());
        with_user_config(&crew.repo, "[safe]\n\tdirectory = *\n");
        write(&crew.repo.path(), ".worktrees/.gitignore", "*\n");
        std::fs::create_dir(crew.repo.path().join(".worktrees/.results")).unwrap();
        let nobody = Self { root: crew.repo.root().to_owned(), top: crew.repo.path(), copy };
        if !nobody.give(crew) {
            skip("only root can run the conductor as somebody else");
            return None;
        }
        Some(nobody)
    }

    /// Hands everything of the test to that user.
    fn give(&self, crew: &Crew) -> bool {
        let give = crew.repo.command("chown", Path::new("/")).args(["-R", "65534:65534"]).arg(&self.root).status();
        give.is_ok_and(|done| done.success())
    }

    fn chmod(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.top.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A run in a process of that user's; everything it says.
    #[expect(clippy::disallowed_methods, reason = "another user's process")]
    fn work(&self) -> String {
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&self.copy)
            .args(["--exact", "work_cases_bytes::a_run_in_a_process_of_another_user", "--nocapture"])
            .current_dir(&self.root)
            .env("COUNTERSIGN_NOBODY_TEST", &self.root);
        let done = command.output().unwrap();
        let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(done.status.success(), "{said}");
        said
    }
}

/// The body of that process; in a run of all tests it has nothing to do.
#[test]
#[expect(clippy::disallowed_methods, reason = "told by the test that started it")]
fn a_run_in_a_process_of_another_user() {
    let Some(root) = std::env::var_os("COUNTERSIGN_NOBODY_TEST") else { return };
    let root = Path::new(&root);
    let host = Crew::host_of(root);
    let report = countersign::pipeline::work::work(&Crew::request_at(&root.join("repo"), &[], 1), &host, &mut |_| {});
    match report {
        Ok(report) => println!("{}", serde_json::to_string(&report).unwrap()),
        Err(why) => println!("error: {why}"),
    }
}

/// C146: bytes that are no UTF-8, in names, contents and output, stop nothing and become nothing else.
#[test]
fn enc_non_utf8_to_the_end() {
    let latin = b"// r\xe9sum\xe9\nfn main() {}\n";
    let crew = Crew::of(2);
    crew.repo.write(
        "run.sh",
        "printf '\\377\\376\\200\\n'\nprintf '<testsuite><testcase name=\"works\"/></testsuite>' > out.xml\ntest ! -e red\n",
    );
    crew.repo.commit("output that is no text");
    crew.worker(
        "echo made > \"$id.txt\"; echo 1 > \"$(printf 'caf\\351')\"; echo 2 > \"$(printf 'caf\\350')\"\n\
         if [ $id = w-2 ]; then echo 1 > red; report \"red, $id.txt\"; exit; fi\n\
         printf '// r\\351sum\\351\\nfn main() {}\\n' > latin.rs; report \"latin.rs, $id.txt\"\n",
    );
    crew.judged_by(&FakeVerifier::passing("w-1", &["C1 It is there — covered by file:w-1.txt"]));
    let report = crew.run_settled(&["w-1"]);
    let landing = crew.landing(&report, "w-1");
    assert_eq!(landing.changed, ["caf\\xe8", "caf\\xe9", "latin.rs", "w-1.txt"]);
    let landed = crew.repo.try_git_in(&crew.repo.path(), &["cat-file", "blob", "main:latin.rs"]).stdout;
    assert_eq!(landed, latin);
    let listed = |case: &str| {
        let claim: serde_json::Value = serde_json::from_str(&crew.sealed(case, "claim.json")).unwrap();
        claim["changed"].as_array().unwrap().iter().map(|c| c["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&landing.case), ["caf\\xe8", "caf\\xe9", "latin.rs", "w-1.txt"]);
    for (name, text) in [(&b"caf\xe9"[..], "1\n"), (b"caf\xe8", "2\n")] {
        assert_eq!(std::fs::read_to_string(crew.repo.path().join(OsStr::from_bytes(name))).unwrap(), text);
    }

    // The same output from a red run: the exit status counts.
    let report = crew.run_settled(&["w-2"]);
    assert_eq!(end_of(&report, "w-2"), "held:escalated", "{report:#?}");
    assert!(why_of(&report, "w-2").contains("tests-run"), "{report:#?}");
    crew.assert_nothing_landed("w-2");
    crew.assert_patch("w-2-escalated-iter3.patch");
}

/// C148: two names that look alike stay two, and a list that names the wrong one is corrected by its writer.
#[test]
fn enc_normalisation_to_the_end() {
    let (composed, decomposed) = ("\u{e4}.md", "a\u{308}.md");
    for precompose in ["false", "true"] {
        let repo = TestRepo::new();
        repo.git(&["config", "core.precomposeUnicode", precompose]);
        repo.write(composed, "1\n");
        repo.write(decomposed, "1\n");
        let crew = Crew::on(repo, 1);
        crew.worker(&format!(
            "echo made > \"$id.txt\"; echo 2 > '{decomposed}'\n\
             if [ $n = 1 ]; then report '{composed}, w-1.txt'; else report '{decomposed}, w-1.txt'; fi\n"
        ));
        crew.judged_by(&FakeVerifier::passing("w-1", &["C1 It is there — covered by file:w-1.txt"]));
        let report = crew.run_settled(&[]);
        let landing = crew.landing(&report, "w-1");
        assert_eq!(landing.changed, [decomposed.as_bytes().escape_ascii().to_string(), "w-1.txt".to_owned()]);
        assert_eq!(crew.landed(composed).as_deref(), Some("1\n"));
        assert_eq!(crew.landed(decomposed).as_deref(), Some("2\n"));
        assert_eq!(std::fs::read_to_string(crew.repo.path().join(composed)).unwrap(), "1\n");
        let page = crew.landed(".agentheim/board/w/done/w-1-make.md").unwrap();
        assert!(page.contains("## Verifier note (iteration 1)"), "{page}");
        assert!(page.contains("a\\xcc\\x88.md") && page.contains("\\xc3\\xa4.md"), "byte-exact: {page}");
        let checks = crew.sealed(&landing.case, "receipts.jsonl");
        assert!(checks.contains("the same name"), "the collision is pointed out");
    }
}

/// A crew whose repository has the submodule `lib`, whose worker has checked it out.
fn harbour(more: &str) -> (Crew, PathBuf) {
    let repo = TestRepo::new();
    let (remote, source) = (repo.root().join("lib.git"), repo.root().join("lib-source"));
    std::fs::create_dir_all(&source).unwrap();
    repo.git_in(&source, &["init", "-q", "-b", "main"]);
    for number in ["1\n", "2\n"] {
        write(&source, "lib.txt", number);
        repo.commit_in(&source, number.trim());
    }
    repo.git(&["clone", "-q", "--bare", source.to_str().unwrap(), remote.to_str().unwrap()]);
    repo.git(&["submodule", "--quiet", "add", remote.to_str().unwrap(), "lib"]);
    let crew = Crew::on(repo, 1);
    crew.worker(&format!("{GIT}git submodule --quiet update --init\necho made > \"$id.txt\"\n{more}"));
    crew.settings(NO_BOX);
    (crew, remote)
}

/// A recursive clone of the target must be whole.
fn assert_clones(crew: &Crew) {
    let place = crew.repo.root().join("whole");
    crew.repo.git(&[
        "clone",
        "-q",
        "--recursive",
        "--branch",
        "main",
        crew.repo.path().to_str().unwrap(),
        place.to_str().unwrap(),
    ]);
    assert!(place.join("lib/lib.txt").is_file());
    std::fs::remove_dir_all(place).unwrap();
}

/// C152: a pointer lands only if what it points to exists for everybody, and no only copy goes with a worktree.
#[test]
fn sub_moved_to_the_end() {
    let commit = "(cd lib && echo 3 > lib.txt && git add -A && git commit -q -m 3)\n";
    // A: the commit exists in this worktree only.
    let (crew, _) = harbour(&format!("[ $n = 1 ] && {commit}git add lib; report \"$id.txt, lib\"\n"));
    let report = crew.run_settled(&[]);
    assert_ne!(end_of(&report, "w-1"), "landed", "{report:#?}");
    crew.assert_nothing_landed("w-1");
    let inner = crew.worktree("w-1").join("lib");
    assert_eq!(std::fs::read_to_string(inner.join("lib.txt")).unwrap(), "3\n", "the only copy is kept: {report:#?}");
    assert!(why_of(&report, "w-1").contains("lib"), "{report:#?}");
    assert_clones(&crew);

    // Pushed, it lands, and the worktree may go.
    let (crew, remote) = harbour(&format!(
        "{commit}(cd lib && git push -q origin HEAD:refs/heads/main && git fetch -q); git add lib; report \"$id.txt, lib\"\n"
    ));
    // The user's own checkout of the submodule is the user's to update, as after any `git pull`.
    let report = crew.work(&[]);
    crew.assert_settled(&report);
    assert_eq!(crew.landing(&report, "w-1").changed, ["lib", "w-1.txt"]);
    assert!(!crew.worktree("w-1").exists());
    assert_eq!(crew.repo.git(&["rev-parse", "main:lib"]), crew.repo.git_in(&remote, &["rev-parse", "main"]));
    assert_clones(&crew);

    // What lands is fine, but a branch beside it is nowhere else: the worktree stays, and says so.
    let (crew, _) = harbour(
        "(cd lib && git switch -q -c side && echo 4 > side.txt && git add -A && git commit -q -m side && git checkout -q --detach HEAD~1)\n\
         report \"$id.txt\"\n",
    );
    let report = crew.run_settled(&[]);
    let inner = crew.worktree("w-1").join("lib");
    assert!(inner.join(".git").exists(), "the only copy is kept: {report:#?}");
    assert_eq!(crew.repo.git_in(&inner, &["show", "side:side.txt"]), "4");

    // B: the pointer goes backwards; C: content that no commit has.
    for (change, listed, words) in [
        ("(cd lib && git checkout -q HEAD~1); git add -A\n", ", lib", "backwards"),
        ("echo dirty > lib/lib.txt\n", "", "uncommitted content"),
    ] {
        let (crew, _) = harbour(&format!("{change}report \"$id.txt{listed}\"\n"));
        let report = crew.run_settled(&[]);
        assert!(end_of(&report, "w-1").starts_with("held:"), "{report:#?}");
        assert!(why_of(&report, "w-1").contains(words), "{report:#?}");
        crew.assert_nothing_landed("w-1");
    }
}
