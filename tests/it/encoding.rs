//! Bytes that are no UTF-8, names that are one name elsewhere, contents that git re-encodes (cases C146, C148).

use crate::support::{FakeVerifier, Stage, TASK, TestRepo};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn name(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// C146.
#[test]
fn enc_non_utf8_names_stay_two_and_output_stops_nothing() {
    let latin = b"// r\xe9sum\xe9\nfn main() {}\n";
    let stage = Stage::asking_for("src/latin.rs");
    stage.write(name(b"caf\xe9"), "1\n");
    stage.write(name(b"caf\xe8"), "2\n");
    stage.write("src/latin.rs", latin);
    // The exit status counts, whatever was printed.
    let printing = "printf '\\377\\376\\200\\n' && ";
    let red = stage.judge_with(&["--tests", &format!("{printing}exit 1")]).is("hold").finds(
        "tests-run",
        "unknown",
        &["exited with code 1"],
    );
    let logs = stage.repo.git(&["ls-tree", "-r", "--name-only", red.value("case").as_str().unwrap()]);
    assert!(logs.contains("logs/"), "{logs}");
    stage.verifier(&FakeVerifier::passing(TASK, &["C1 It is there — covered by file:src/latin.rs"]), "");
    let judged = stage.judge_with(&["--tests", &format!("{printing}sh run.sh")]).again(&stage.repo);
    assert_eq!(judged.changed(), ["caf\\xe8", "caf\\xe9", "src/latin.rs"]);
    let listed =
        stage.repo.try_git_in(&stage.repo.path(), &["ls-tree", "-z", "--name-only", judged.claim("tree")]).stdout;
    for path in [b"caf\xe8", b"caf\xe9"] {
        assert!(listed.split(|b| *b == 0).any(|found| found == path));
    }
    assert_eq!(judged.file(&stage.repo, "src/latin.rs"), latin, "the content is not decoded");
    let ledger = judged.sealed(&stage.repo, "receipts.jsonl");
    assert!(
        ledger.contains(r#""path":"caf\\xe9""#) && ledger.contains(r#""path":"caf\\xe8""#),
        "reversible in the ledger"
    );
    let brief = judged.sealed(&stage.repo, "brief.md");
    assert!(brief.contains("file caf\\xe9") && brief.contains("file caf\\xe8"), "{brief}");
    judged.finds("names", "ask", &["caf\\\\xe9", "caf\\\\xe8"]);
}

/// C146: a test that fails with such bytes, on a base where it passed, is the worker's.
#[test]
fn enc_non_utf8_output_of_a_red_run_is_a_fail_when_the_base_is_green() {
    let repo = TestRepo::new();
    repo.write("check.sh", "true\n");
    let stage = Stage::of(repo, "done.txt");
    stage.write("done.txt", "1\n");
    stage.write("check.sh", "printf '\\377\\376\\200'; false\n");
    stage
        .judge_with(&["--tests", "sh run.sh && sh check.sh"])
        .is("send-back")
        .finds("tests-run", "deny", &["code 1"])
        .again(&stage.repo);
}

/// C148.
#[test]
fn enc_normalisation_keeps_two_names_two_and_names_the_mismatch() {
    let (composed, decomposed) = ("\u{e4}.md", "a\u{308}.md");
    for precompose in ["false", "true"] {
        let repo = TestRepo::new();
        repo.git(&["config", "core.precomposeUnicode", precompose]);
        repo.write(composed, "1\n");
        repo.write(decomposed, "1\n");
        let stage = Stage::of(repo, "done.txt");
        stage.write("done.txt", "1\n");
        stage.write(decomposed, "2\n");
        // The two look alike; the bytes tell them apart.
        stage.report(&format!("done.txt, {composed}"));
        let judged = stage
            .judge()
            .is("send-back")
            .finds("report-files", "deny", &["a\\\\xcc\\\\x88.md", "\\\\xc3\\\\xa4.md"])
            .again(&stage.repo);
        assert_eq!(judged.changed(), [decomposed, "done.txt"]);
        let tree = judged.claim("tree");
        assert_eq!(stage.repo.git(&["show", &format!("{tree}:{composed}")]), "1");
        assert_eq!(stage.repo.git(&["show", &format!("{tree}:{decomposed}")]), "2");
        assert!(judged.check("names").to_string().contains("the same name"), "{:#}", judged.check("names"));
    }
}

/// C148: the worker brings the second of the two.
#[test]
fn enc_normalisation_collision_that_the_worker_brings_is_asked_about() {
    let repo = TestRepo::new();
    repo.write("\u{e4}.md", "1\n");
    repo.write("docs/Guide.md", "1\n");
    let stage = Stage::of(repo, "done.txt");
    stage.write("done.txt", "1\n");
    stage.write("a\u{308}.md", "1\n");
    stage.write("docs/guide.md", "1\n");
    let judged = stage.judge().is("hold").finds("names", "ask", &["61 cc 88 2e 6d 64", "Guide.md"]).again(&stage.repo);
    assert_eq!(judged.changed(), ["a\u{308}.md", "docs/guide.md", "done.txt"]);
}

/// A file whose bytes in the worktree are not those in the store (`working-tree-encoding`).
#[test]
fn a_working_tree_encoding_is_gits_to_apply() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let bom = |text: &str| [&[0xff, 0xfe][..], &utf16(text)].concat();
    let repo = TestRepo::new();
    repo.write(".gitattributes", "*.utf16 working-tree-encoding=UTF-16LE-BOM eol=lf\n");
    repo.write("a.utf16", bom("one\n"));
    repo.write("same.utf16", bom("one\n"));
    let stage = Stage::of(repo, "a.utf16");
    stage.write("a.utf16", bom("one\ntwo\n"));
    // The room has the worktree's bytes again, or the tests would judge another file.
    let command = "test \"$(od -An -tx1 a.utf16 | tr -d ' \\n' | head -c 8)\" = fffe6f00 && sh run.sh";
    let judged = stage.judge_with(&["--tests", command]).finds("tests-run", "pass", &["1 executed"]).again(&stage.repo);
    assert_eq!(judged.changed(), ["a.utf16"]);
    assert_eq!(judged.file(&stage.repo, "a.utf16"), b"one\ntwo\n");
    // Bytes that are not that encoding cannot be frozen; they are not guessed at.
    stage.write("a.utf16", [0xff, 0xfe, 0x41]);
    let before = stage.repo.fingerprint();
    let outcome = stage.repo.run(&["verify", TASK]).refuses(4, &["a.utf16", "nothing was changed"]);
    crate::support::assert_invariants(&before, &outcome, &stage.repo);
}
