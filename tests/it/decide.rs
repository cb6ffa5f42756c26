//! A person's answer to a held claim: who may give it, what it is bound to, and what follows from it.

use crate::support::{Crew, FakeVerifier, Outcome, TestRepo, skip, write};

const FALSE: &str = "echo other > x.txt; report x.txt\n";
const WORK: [&str; 3] = ["work", "--agent", "worker=scripted"];

/// The beginning of the claim's tree, as a person types it.
fn tree(repo: &TestRepo, task: &str) -> String {
    let shown = repo.run(&["decide", task, "--json"]).exits(0).json();
    format!("{}\n", &shown["tree"].as_str().unwrap()[..8])
}

fn decide(crew: &Crew, args: &[&str]) -> Outcome {
    let typed = tree(&crew.repo, args[0]);
    crew.repo.run_at_terminal(&[&["decide"], args].concat(), &typed)
}

/// A board whose tasks were worked on until a person has to answer.
fn held(tasks: usize, lines: &str) -> Crew {
    let crew = Crew::of(tasks);
    crew.worker(lines);
    crew.repo.run(&WORK).exits(3);
    crew
}

#[test]
fn a_person_lands_a_false_claim_as_an_override_that_stays_visible() {
    let crew = held(1, FALSE);
    let shown = crew.repo.run(&["decide", "w-1"]).exits(0);
    assert!(shown.stdout.contains("F1") && shown.stdout.contains("criteria"), "{shown}");
    decide(&crew, &["w-1", "approve", "--why", "the file comes later"]).exits(0).says("override");
    let outcome = crew.repo.run(&[&WORK[..], &["w-1"]].concat()).exits(0);
    assert_eq!(crew.landed("x.txt").as_deref(), Some("other\n"), "{outcome}");
    let predicate = crew.noted("w-1");
    assert_eq!(predicate["origin"], "override", "{predicate:#}");
    let approved = predicate["reason"]["text"].as_str().unwrap();
    assert!(approved.contains("t@example.invalid") && approved.contains("criteria"), "{approved}");
    assert_eq!(predicate["uncertified"][0]["why"], "override", "{predicate:#}");
    let message = crew.repo.git(&["log", "-1", "--format=%B", "--grep=Countersign: override", "main"]);
    assert!(message.contains("[w-1]"), "{message}");
    assert!(crew.landed(".agentheim/board/protocol.md").unwrap().contains("overridden by a person"));
    let replayed = crew.repo.run(&["replay", "w-1"]).exits(0);
    assert!(replayed.stdout.contains("agrees"), "{replayed}");
    crew.repo.run(&["decide", "w-1", "approve", "--sign"]).exits(2).says("nothing to rule on");
}

#[test]
fn nobody_decides_without_a_terminal_nor_in_an_agents_environment_nor_by_a_reflex() {
    let crew = held(1, FALSE);
    let before = crew.repo.git(&["for-each-ref"]);
    crew.repo.run(&["decide", "w-1", "approve"]).exits(2).says("no terminal");
    let mark = [("CLAUDECODE", std::ffi::OsStr::new("1"))];
    crew.repo
        .run_with(&crew.repo.path(), &["decide", "w-1", "approve", "--sign"], &mark, b"")
        .exits(2)
        .says("CLAUDECODE");
    for typed in ["\n", "y\n", "yes\n", "deadbeef\n"] {
        crew.repo.run_at_terminal(&["decide", "w-1", "approve"], typed).exits(2).says("nothing was decided");
    }
    crew.repo.run(&["decide", "w-9", "approve"]).exits(2).says("nothing of w-9 was judged");
    crew.repo.run(&["decide", "../w-1"]).exits(2);
    decide(&crew, &["w-1", "approve", "--finding", "F99"]).exits(2).says("no finding F99");
    decide(&crew, &["w-1", "decline", "--finding", "F1"]).exits(2).says("is a fact (deny)");
    assert_eq!(crew.repo.git(&["for-each-ref"]), before, "nothing was recorded");
    crew.repo.run(&WORK).exits(3).says("held (escalated)");
}

#[test]
fn a_signature_decides_where_the_base_names_the_key_and_only_there() {
    let crew = Crew::of(1);
    let key = crew.repo.root().join("key");
    let made = crew
        .repo
        .command("ssh-keygen", crew.repo.root())
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("ssh-keygen makes no key");
    }
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    crew.repo.git(&["config", "gpg.format", "ssh"]);
    crew.repo.git(&["config", "user.signingKey", key.to_str().unwrap()]);
    crew.worker(FALSE);
    crew.repo.run(&WORK).exits(3);
    let before = crew.repo.git(&["for-each-ref"]);
    crew.repo.run(&["decide", "w-1", "approve", "--sign"]).exits(2).says("allowed_signers");
    assert_eq!(crew.repo.git(&["for-each-ref"]), before);

    let crew = Crew::on(crew.repo, 0);
    crew.repo.write(".agentheim/allowed_signers", format!("alice@example.invalid {public}"));
    crew.task("w-2", "", &["It is there — file: `w-2.txt`"]);
    crew.repo.commit("alice may sign");
    crew.worker(FALSE);
    crew.repo.run(&[&WORK[..], &["w-2"]].concat()).exits(3);
    crew.repo.run(&["decide", "w-2", "approve", "--sign"]).exits(0).says("override");
    let case = crew.repo.git(&["cat-file", "commit", "refs/countersign/cases/w-2"]);
    assert!(case.contains("BEGIN SSH SIGNATURE"), "{case}");
    crew.repo.run(&[&WORK[..], &["w-2"]].concat()).exits(0);
}

#[test]
fn what_a_person_chooses_is_mended_and_the_worker_is_told_by_whom() {
    // Escalated after three false claims; a fourth, which a person asked for, is good.
    let crew = held(
        1,
        "if [ $n = 4 ]; then printf '%s' \"$brief\" > told; echo made > w-1.txt; report w-1.txt,told; else echo $n > x-$n; report x-$n; fi\n",
    );
    decide(&crew, &["w-1", "approve", "--finding", "F1", "--why", "only the file is missing"])
        .exits(0)
        .says("to be mended");
    let outcome = crew.repo.run(&[&WORK[..], &["w-1"]].concat());
    let page = crew
        .landed(".agentheim/board/w/doing/w-1-make.md")
        .or_else(|| crew.landed(".agentheim/board/w/done/w-1-make.md"));
    assert!(page.unwrap().contains("## Decision note (iteration 3)"), "{outcome}");
    let told = std::fs::read_to_string(crew.worktree("w-1").join("told")).ok().or_else(|| crew.landed("told"));
    assert!(told.as_ref().is_some_and(|told| told.contains("only the file is missing")), "{told:?}\n{outcome}");
}

/// A crew whose verifier is a program.
fn judged_by(verifier: &FakeVerifier, crew: &Crew) {
    let program = verifier.install(&crew.repo);
    let worker = crew.repo.root().join("fake/worker");
    let text = format!(
        "verifier: reader\nverifiers:\n  scripted:\n    command: ['{}']\n  reader:\n    command: ['{}']\n",
        worker.display(),
        program.display()
    );
    write(crew.repo.root(), "home/.config/countersign/settings.yaml", text);
}

#[test]
fn a_declined_reason_is_told_to_fresh_eyes_and_to_later_work_on_the_same_code_until_the_code_changes() {
    let crew = Crew::of(3);
    crew.worker(
        "printf '%s' \"$brief\" > told-$id\necho $id > $id.txt\n\
         case $id in w-1) printf 'a\\nb\\nc\\n' > code.txt ;; w-2) echo d >> code.txt ;; w-3) sed -i s/b/B/ code.txt ;; esac\n\
         report \"$id.txt,code.txt,told-$id\"\n",
    );
    judged_by(&FakeVerifier::failing("w-1", &["code.txt: two words would be clearer"]), &crew);
    crew.repo.run(&[&WORK[..], &["w-1"]].concat()).exits(3);
    let shown = crew.repo.run(&["decide", "w-1", "--json"]).exits(0).json();
    let findings = shown["findings"].as_array().unwrap();
    let said = findings.iter().find(|point| point["check"] == "verdict").unwrap_or_else(|| panic!("{shown:#}"));
    let id = said["id"].as_str().unwrap();
    decide(&crew, &["w-1", "decline", "--finding", id, "--why", "one word is the house style"])
        .exits(0)
        .says("declined");
    // Fresh eyes, told what was decided and no verdict.
    judged_by(&FakeVerifier::passing("w-1", &["C1 It is there — covered by file:w-1.txt"]), &crew);
    crew.repo.run(&[&WORK[..], &["w-1"]].concat()).exits(0);
    let brief = crew.repo.git(&["show", "refs/countersign/cases/w-1:brief.md"]);
    assert!(
        brief.contains("# Decided by a person") && brief.contains("no defect: verdict: code.txt: two words"),
        "{brief}"
    );
    assert!(brief.contains("one word is the house style") && !brief.contains("VERDICT: FAIL\nTASK_ID: w-1"), "{brief}");
    assert_eq!(crew.noted("w-1")["origin"], "verified");
    // Another task on the same file, the code as it was: worker and verifier are told.
    judged_by(&FakeVerifier::passing("w-2", &["C1 It is there — covered by file:w-2.txt"]), &crew);
    crew.repo.run(&[&WORK[..], &["w-2"]].concat()).exits(0);
    assert!(crew.landed("told-w-2").unwrap().contains("two words would be clearer"));
    assert!(crew.repo.git(&["show", "refs/countersign/cases/w-2:brief.md"]).contains("two words would be clearer"));
    // A third one changes that code: it is open again.
    judged_by(&FakeVerifier::passing("w-3", &["C1 It is there — covered by file:w-3.txt"]), &crew);
    crew.repo.run(&[&WORK[..], &["w-3"]].concat()).exits(0);
    assert!(!crew.repo.git(&["show", "refs/countersign/cases/w-3:brief.md"]).contains("\n# Decided by a person"));
}

#[test]
fn an_aborted_task_is_saved_and_back_in_the_backlog() {
    let crew = held(1, FALSE);
    crew.repo.run(&["decide", "w-1", "abort", "--finding", "F1", "--sign"]).exits(2).says("takes no --finding");
    decide(&crew, &["w-1", "abort", "--why", "nobody needs it"]).exits(0).says("its work is ");
    let page = crew.landed(".agentheim/board/w/backlog/w-1-make.md").unwrap();
    assert!(page.contains("## Salvage note (discarded)") && page.contains("nobody needs it"), "{page}");
    assert!(!crew.worktree("w-1").exists());
    assert!(crew.repo.git(&["for-each-ref", "refs/heads/aw/"]).is_empty());
    let patch = crew.repo.path().join(".agentheim/salvage/w-1-discarded.patch");
    assert!(patch.is_file());
    let receipts = crew.repo.run(&["receipts", "w-1"]).exits(0);
    assert!(receipts.stdout.contains("ruling    abort"), "{receipts}");
    crew.repo.run(&WORK).exits(0);
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn discarded_work_is_listed_shown_and_restored_bit_for_bit_beside_the_checkout() {
    let crew =
        held(1, "printf 'a\\0b' > bin; chmod +x bin; ln -s bin link; printf 'no end' > 'sp ace'; fail 'gave up'\n");
    let discarded = crew.repo.run(&["discard", "w-1", "--why", "later", "--json"]).exits(0).json();
    assert_eq!(discarded["folder"], "backlog", "{discarded:#}");
    let tree = discarded["saved"]["tree"].as_str().unwrap().to_owned();
    assert!(!crew.worktree("w-1").exists());
    let list = crew.repo.run(&["salvage", "list"]).exits(0);
    assert!(list.stdout.contains("w-1-failed.patch") && list.stdout.contains("w-1-discarded.patch"), "{list}");
    crew.repo.write(".agentheim/salvage/other.patch", "diff\n");
    let listed = crew.repo.run(&["salvage", "list", "--json"]).exits(0).json();
    assert_eq!((listed["patches"].as_array().unwrap().len(), listed["others"].as_array().unwrap().len()), (2, 1));
    let shown = crew.repo.run(&["salvage", "show", "w-1-discarded"]).exits(0);
    assert!(shown.stdout.contains("added        sp ace") && !shown.stdout.contains('\0'), "{shown}");
    let before = crew.repo.git(&["status", "--porcelain"]);
    let restored = crew.repo.run(&["salvage", "apply", "w-1-discarded", "--json"]).exits(0).json();
    let place = std::path::PathBuf::from(restored["worktree"].as_str().unwrap());
    assert_eq!(crew.repo.git_in(&place, &["write-tree"]), tree);
    assert_eq!(crew.repo.git_in(&place, &["diff", "--name-only"]), "", "files and index agree");
    assert_eq!(std::fs::read(place.join("bin")).unwrap(), b"a\0b");
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), before, "the checkout is as it was");
    // Again, beside it; and what was edited is refused.
    crew.repo.run(&["salvage", "apply", "w-1-discarded.patch"]).exits(0).says(".restored/w-1-discarded-2");
    let file = crew.repo.path().join(".agentheim/salvage/w-1-discarded.patch");
    let edited = std::fs::read_to_string(&file).unwrap().replace("+no end", "+an end");
    std::fs::write(&file, edited).unwrap();
    crew.repo.run(&["salvage", "apply", "w-1-discarded"]).exits(2).says("it was edited");
    crew.repo.run(&["salvage", "apply", "nothing"]).exits(2).says("there is no salvage patch nothing");
    crew.repo.run(&["salvage", "show", "other"]).exits(2).says("does not begin as a salvage patch");
    crew.repo.run(&["discard", "w-7"]).exits(2).says("neither a page on the branch nor a worktree");
}

#[test]
fn a_task_that_a_process_works_on_is_neither_ruled_on_nor_discarded() {
    let crew = held(1, FALSE);
    let own = crew.repo.common_dir().join("countersign");
    let id = countersign::task::TaskId::new("w-1").unwrap();
    let journal = countersign::pipeline::work::journal::Journal::open(&own, &id).unwrap().unwrap();
    decide(&crew, &["w-1", "approve"]).exits(2).says("another process works on w-1");
    crew.repo.run(&["discard", "w-1"]).exits(2).says("another process works on it");
    drop(journal);
    assert!(crew.worktree("w-1").exists());
}
