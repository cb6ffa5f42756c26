//! What travels: notes and the ledger between clones, and the note that is verified without a network.

use crate::support::{Forge, TASK, report, write};
use serde_json::json;

const LEDGER: &str = "refs/countersign/ledger";

#[test]
fn a_note_is_verified_offline_from_the_sealed_case_that_was_shared() {
    let forge = Forge::landed("");
    let clone = forge.clone_as("ci", &[]);
    forge.git(&clone, &["checkout", "-q", "origin/pr"]);
    // Before anything was fetched there is no note, and that is said.
    forge.run(&clone, &["attest", "verify", "HEAD"]).refuses(3, &["has no note", "countersign fetch"]);
    forge.run(&clone, &["fetch"]).exits(0).says("notes ledger");
    // Claims and cases stay where they were made.
    assert_eq!(forge.git(&clone, &["for-each-ref", "refs/countersign/claims", "refs/countersign/cases"]), "");
    std::fs::rename(&forge.remote, forge.stage.repo.root().join("unplugged.git")).unwrap();
    let verified = forge.run(&clone, &["attest", "verify", "HEAD"]).exits(0);
    let verified =
        verified.says("good     replay: the receipts give land again").says("receipts with the digest of the note");
    verified.says("good     subject").says("signature: urn:countersign:landing:1: good: developer@example.invalid");
    let shown = forge.run(&clone, &["attest", "show", "HEAD"]).exits(0);
    shown.says("https://slsa.dev/verification_summary/v1").says("\"verificationResult\": \"PASSED\"");
    // By a key of one's own choice.
    let key = |name: &str| forge.public_key(name).display().to_string();
    forge.run(&clone, &["attest", "verify", "HEAD", "--key", &key("developer")]).exits(0).says("the key given by hand");
    forge.run(&clone, &["attest", "verify", "HEAD", "--key", &key("stranger")]).exits(1).says("unknown-key");
    forge.run(&clone, &["attest", "verify", "HEAD", "--key", "run.sh"]).exits(2).says("as a key: it holds none");
    forge.run(&clone, &["attest", "show", "nowhere"]).refuses(2, &["nowhere", "names no commit"]);
}

#[test]
fn an_edited_case_or_statement_is_told_from_the_sealed_one() {
    let forge = Forge::landed("");
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    forge.developer(&["attest", "verify", "pr"]).exits(0);
    // Another digest of the receipts, by the same key.
    forge.rewrite_note(&head, true, &|predicate| predicate["receipts"]["sha256"] = json!("0".repeat(64)));
    let said = forge.developer(&["attest", "verify", "pr"]).exits(1);
    said.says("BAD      receipts").says("no summary names the landing");
    // Edited without a key.
    forge.rewrite_note(&head, false, &|predicate| predicate["origin"] = json!("skipped"));
    forge.developer(&["attest", "verify", "pr"]).exits(1).says("signature-invalid");
}

/// A second task on another machine, verified and landed there on a branch of its own.
fn second_machine(forge: &Forge, name: &str, id: &str) -> std::path::PathBuf {
    let clone = forge.clone_as(name, &[]);
    forge.git(&clone, &["switch", "-q", "-c", &format!("pr-{id}"), "origin/main"]);
    let page = format!(".agentheim/board/w/doing/{id}.md");
    let text = format!(
        "---\nid: {id}\ntitle: more\nstatus: doing\ntype: chore\ncreated: 2026-11-01\n---\n## Acceptance criteria\n\
         - [ ] it is there — file: `{id}.txt`\n"
    );
    write(&clone, &page, text);
    forge.stage.repo.commit_in(&clone, "a task");
    write(&clone, ".worktrees/.gitignore", "*\n");
    let place = format!(".worktrees/{id}");
    forge.git(&clone, &["worktree", "add", "-q", "-b", &format!("aw/{id}"), &place, "HEAD"]);
    write(&clone, format!("{place}/{id}.txt"), "done\n");
    let said = report(&format!("{id}.txt")).replace(TASK, id);
    write(&clone, format!(".worktrees/.results/{id}.iter-1.md"), said);
    forge.run(&clone, &["verify", id]).exits(0);
    forge.land_in(&clone, id);
    clone
}

#[test]
fn two_machines_that_verified_different_tasks_share_both_without_loss() {
    let forge = Forge::new("");
    forge.work();
    let first = forge.land(TASK);
    let clone = second_machine(&forge, "conductor", "w-002");
    let second = forge.git(&clone, &["rev-parse", "HEAD"]);
    forge.developer(&["push"]).exits(0).says("new in the ledger: w-001");
    // The other's push comes second and overwrites nothing.
    let pushed = forge.run(&clone, &["push", "--json"]).exits(0).json();
    assert_eq!(pushed["tries"], 1, "{pushed}");
    forge.developer(&["fetch"]).exits(0);
    for place in [forge.top(), clone] {
        let notes = forge.git(&place, &["notes", "--ref=refs/notes/countersign", "list"]);
        assert!(notes.contains(&first) && notes.contains(&second), "{notes}");
        let tasks = forge.git(&place, &["ls-tree", "-r", "--name-only", LEDGER]);
        assert!(tasks.contains("/w-001/") && tasks.contains("/w-002/"), "{tasks}");
    }
    // One reference for all results, one commit a landing, and the remote keeps nothing else of ours.
    let there = forge.git(&forge.top(), &["ls-remote", "origin", "refs/countersign/*"]);
    assert_eq!(there.lines().count(), 1, "{there}");
    let subjects = forge.git(&forge.remote, &["log", "--no-merges", "--format=%s", LEDGER]);
    assert_eq!(subjects.lines().filter(|line| line.contains(" landed as ")).count(), 2, "{subjects}");
    let again = forge.developer(&["push", "--json"]).exits(0).json();
    assert_eq!(again["added"], json!([]));
}

#[test]
fn an_inbox_is_folded_in_and_removed_and_of_two_results_under_one_key_the_first_stands() {
    let forge = Forge::new("");
    let clone = second_machine(&forge, "ci", "w-002");
    forge.run(&clone, &["push", "--inbox"]).exits(0).says("refs/countersign/inbox/w-002/");
    let there = || forge.git(&forge.top(), &["ls-remote", "origin", "refs/countersign/*"]);
    assert!(there().contains("refs/countersign/inbox/w-002/") && !there().contains(LEDGER), "{}", there());
    // Leaving it again is no second one.
    forge.run(&clone, &["push", "--inbox"]).exits(0);
    forge.work();
    forge.land(TASK);
    forge.developer(&["push"]).exits(0).says("1 result of its inbox folded in and removed");
    assert!(!there().contains("inbox") && there().contains(LEDGER), "{}", there());
    let tasks = forge.git(&forge.remote, &["ls-tree", "-r", "--name-only", LEDGER]);
    assert!(tasks.contains("/w-001/") && tasks.contains("/w-002/"), "{tasks}");
    let note = forge.git(&clone, &["rev-parse", "HEAD"]);
    assert!(forge.git(&forge.remote, &["notes", "--ref=refs/notes/countersign", "list"]).contains(&note));
    // The same key once more, with other pages: what the remote has stands.
    let tree = forge.git(&forge.top(), &["rev-parse", &format!("{LEDGER}^{{tree}}")]);
    let path = tasks.lines().find(|path| path.contains("/w-001/") && path.ends_with("decision.json")).unwrap();
    let index = forge.stage.repo.root().join("index");
    let with_index = |args: &[&str]| {
        let mut git = forge.stage.repo.command("git", &forge.top());
        let done = git.args(args).env("GIT_INDEX_FILE", &index).output().unwrap();
        assert!(done.status.success(), "{args:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let blob = forge.git(&forge.top(), &["hash-object", "-w", "run.sh"]);
    with_index(&["read-tree", &tree]);
    with_index(&["update-index", "--cacheinfo", &format!("100644,{blob},{path}")]);
    let forged = with_index(&["write-tree"]);
    let rival = forge.git(&forge.top(), &["commit-tree", &forged, "-m", "a rival"]);
    forge.git(&forge.top(), &["update-ref", LEDGER, &rival]);
    forge.developer(&["push", "--evidence-only"]).exits(0);
    let kept = forge.git(&forge.remote, &["rev-parse", &format!("{LEDGER}:{path}")]);
    assert_ne!(kept, blob, "the first result was overwritten");
}

#[test]
fn a_push_is_all_or_nothing_and_never_by_force() {
    let forge = Forge::landed("");
    let before = forge.git(&forge.top(), &["ls-remote", "origin"]);
    // The branch on the remote has somebody else's commit; the developer's has another.
    let other = forge.clone_as("conductor", &[]);
    forge.git(&other, &["switch", "-q", "pr"]);
    write(&other, "theirs.txt", "x\n");
    forge.stage.repo.commit_in(&other, "theirs");
    forge.git(&other, &["push", "-q", "origin", "pr"]);
    write(&forge.top(), "mine.txt", "x\n");
    let mine = forge.stage.repo.commit("mine");
    let moved = forge.git(&forge.top(), &["ls-remote", "origin"]);
    forge.developer(&["push"]).exits(4).says("refuses the push, and nothing of it was taken").says("refs/heads/pr");
    assert_eq!(forge.git(&forge.top(), &["ls-remote", "origin"]), moved);
    assert_ne!(before, moved);
    assert_eq!(forge.git(&forge.top(), &["rev-parse", "pr"]), mine, "what is here stays");
    forge.developer(&["push", "--evidence-only"]).exits(0);
    forge.developer(&["push", "nowhere"]).refuses(2, &["no remote `nowhere`"]);
    forge.developer(&["fetch", "--upload-pack=touch x"]).exits(2);
}

#[test]
fn a_shallow_clone_fetches_what_it_needs() {
    let forge = Forge::landed("");
    let clone = forge.clone_as("ci", &["--depth", "1", "--branch", "pr", "--no-single-branch"]);
    forge.run(&clone, &["ci", "--base", "origin/main"]).exits(4).says("git fetch --unshallow");
    forge.run(&clone, &["fetch"]).exits(0);
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--require", "attested"]);
    gated.is("pass", 0).rests_on(TASK, "attested");
    // A remote without notes is said to have none.
    let bare = Forge::new("");
    bare.developer(&["fetch"]).exits(3).says("missing: origin has no notes");
}

#[test]
fn an_ed25519_key_in_pem_signs_as_well() {
    let forge = Forge::new("");
    // PKCS#8 of 32 bytes of 9, and the public key that belongs to it, as OpenSSH writes it.
    let seed = [9_u8; 32];
    let head = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    let encode = <base64ct::Base64 as base64ct::Encoding>::encode_string;
    let pem =
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", encode(&[&head[..], &seed].concat()));
    let file = forge.stage.repo.root().join("keys/job.pem");
    std::fs::write(&file, pem).unwrap();
    let public = ed25519_dalek::SigningKey::from_bytes(&seed).verifying_key().to_bytes();
    let mut blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20".to_vec();
    blob.extend(public);
    let line = format!("job@example.invalid namespaces=\"countersign\" ssh-ed25519 {}\n", encode(&blob));
    forge.git(&forge.top(), &["switch", "-q", "main"]);
    write(&forge.top(), ".agentheim/allowed_signers", line);
    forge.stage.repo.commit("the job's key alone");
    forge.git(&forge.top(), &["push", "-q", "origin", "main"]);
    forge.git(&forge.top(), &["switch", "-q", "-C", "pr"]);
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    let clone = forge.clone_as("ci", &[]);
    forge.git(&clone, &["checkout", "-q", "origin/pr"]);
    let vars: &[(&str, &std::ffi::OsStr)] = &[("COUNTERSIGN_SIGNING_KEY", file.as_os_str())];
    let words = ["ci", "--base", "origin/main", "--attest"];
    forge.run_with(&clone, &words, vars).exits(0).says("the head has a signed note");
    forge.run(&clone, &["push", "--evidence-only"]).exits(0);
    let gated = forge.job("ci-2", &["--require", "attested"]).is("pass", 0);
    assert_eq!(gated.task(TASK)["attested"]["signer"], "job@example.invalid");
}
