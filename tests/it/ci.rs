//! The merge gate, with a bare repository as the forge and three clones: what passes, what does not, and in which words.

use crate::support::{Forge, TASK, write};
use serde_json::json;
use std::ffi::OsStr;

const ATTESTED: &[&str] = &["--require", "attested"];

#[test]
fn an_attested_pull_request_passes_without_being_judged_again() {
    let forge = Forge::landed("");
    let gated = forge.job("ci", ATTESTED).is("pass", 0).rests_on(TASK, "attested");
    let task = gated.task(TASK);
    assert_eq!(task["attested"]["signer"], "developer@example.invalid");
    assert_eq!(task["attested"]["role"], "developer");
    assert_eq!(task["criteria"][0]["covering"], "covered");
    assert_eq!(gated.document["tree"], json!(forge.git(&forge.top(), &["rev-parse", "pr^{tree}"])));
    assert_eq!(gated.document["base"], json!(forge.stage.base));
    let clone = forge.stage.repo.root().join("ci");
    let text = forge.run(&clone, &["ci", "--base", "origin/main", "--head", "origin/pr"]).exits(0);
    let text = text.says("passes (land, attested; named by ").says("gate     works: canary honest signature");
    text.says("mechanical verified tree ").says("decision PASS");
}

#[test]
fn what_was_changed_after_the_verification_is_not_covered() {
    let forge = Forge::landed("");
    write(&forge.top(), "done.txt", "done, and more\n");
    forge.git(&forge.top(), &["commit", "-q", "-a", "--amend", "--no-edit"]);
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "pr"]);
    forge.job("ci", ATTESTED).is("held", 3).because(&["not-attested", "no note that counts covers the commit"]);
    // The gate's own judgement may still pass it.
    let clone = forge.stage.repo.root().join("ci");
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--head", "origin/pr"]);
    gated.is("pass", 0).rests_on(TASK, "verified");
}

#[test]
fn a_note_that_is_gone_is_missed_and_the_command_that_brings_it_is_named() {
    let forge = Forge::landed("");
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    forge.drop_note(&head);
    forge.force_notes();
    forge.job("ci", ATTESTED).is("held", 3).because(&["not-attested", "countersign push", "countersign fetch"]);
}

#[test]
fn a_note_copied_from_another_commit_says_nothing_about_this_one() {
    let forge = Forge::landed("");
    let honest = forge.git(&forge.top(), &["rev-parse", "pr"]);
    write(&forge.top(), "done.txt", "something else\n");
    forge.git(&forge.top(), &["commit", "-q", "-a", "--amend", "--no-edit"]);
    let name = "--ref=refs/notes/countersign";
    forge.git(&forge.top(), &["notes", name, "copy", &honest, "HEAD"]);
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "pr"]);
    forge.force_notes();
    let gated = forge.job("ci", ATTESTED).is("held", 3);
    gated.because(&["note-of-another-commit"]).finds(&["note-rejected", "it was copied from there"]);
}

#[test]
fn a_note_that_was_edited_no_longer_carries_its_signature() {
    let forge = Forge::landed("");
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    forge.rewrite_note(&head, false, &|predicate| predicate["verifier"] = json!("somebody"));
    forge.force_notes();
    forge.job("ci", ATTESTED).is("held", 3).because(&["signature-invalid", "was edited afterwards"]);
}

#[test]
fn a_key_that_the_base_does_not_allow_signs_for_nobody() {
    let forge = Forge::new("");
    forge.sign_with(&forge.top(), "stranger");
    forge.work();
    forge.land(TASK);
    forge.developer(&["push"]).exits(0);
    forge.job("ci", ATTESTED).is("held", 3).because(&["unknown-key", "SHA256:"]);
    // Nor does a branch that brings its own allowed signers: those of the base count.
    let key = std::fs::read_to_string(forge.public_key("stranger")).unwrap();
    forge.commit(".agentheim/allowed_signers", &format!("x namespaces=\"countersign\" {key}"), "trust me");
    let gated = forge.job("ci-2", ATTESTED).is("held", 3).because(&["not-attested", "gate-changed"]);
    gated.finds(&["gate-changed", "who may sign"]);
}

#[test]
fn a_note_without_a_signature_counts_only_where_the_base_says_so() {
    for (gate, decision, code) in [("", "held", 3), ("gate: {unsigned: true}\n", "pass", 0)] {
        let forge = Forge::landed(gate);
        let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
        forge.git(&forge.top(), &["config", "--unset", "user.signingkey"]);
        forge.rewrite_note(&head, true, &|_| {});
        forge.force_notes();
        let gated = forge.job("ci", ATTESTED).is(decision, code);
        if code == 3 {
            gated.because(&["unsigned", "nobody signed it"]);
        }
    }
}

#[test]
fn the_settings_say_whose_signature_is_enough() {
    let roles = "gate:\n  roles: {conductor: ['conductor@*'], ci: ['ci@*']}\n  accept-roles: [conductor, ci]\n";
    let forge = Forge::landed(roles);
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    forge.job("ci", ATTESTED).is("held", 3).because(&["role-not-accepted", "as a developer"]);
    forge.sign_with(&forge.top(), "conductor");
    forge.rewrite_note(&head, true, &|_| {});
    forge.force_notes();
    let gated = forge.job("ci-2", ATTESTED).is("pass", 0);
    assert_eq!(gated.task(TASK)["attested"]["role"], "conductor");
}

#[test]
fn settings_that_changed_on_the_base_void_what_was_judged_under_the_old_ones() {
    let forge = Forge::landed("");
    let settings = std::fs::read_to_string(forge.top().join(".agentheim/countersign.yaml")).unwrap();
    forge.base_moves(".agentheim/countersign.yaml", &settings.replace("canary: false", "canary: false\n  retries: 2"));
    forge.job("ci", ATTESTED).is("held", 3).because(&["policy-differs", "other settings"]);
    let clone = forge.stage.repo.root().join("ci");
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--head", "origin/pr"]);
    gated.is("pass", 0).rests_on(TASK, "verified");
}

#[test]
fn a_developers_own_settings_are_not_the_bases() {
    let forge = Forge::new("");
    write(forge.stage.repo.root(), "home/.config/countersign/settings.yaml", "tests: {retries: 3}\n");
    forge.work();
    forge.land(TASK);
    forge.developer(&["push"]).exits(0);
    forge.job("ci", ATTESTED).is("held", 3).because(&["policy-differs", "user:settings.yaml"]);
}

#[test]
fn a_base_that_moved_elsewhere_needs_floor_and_tests_on_the_merge_and_no_verifier() {
    let forge = Forge::landed("");
    forge.base_moves("other.txt", "other\n");
    let gated = forge.job("ci", ATTESTED).is("pass", 0).rests_on(TASK, "remerged");
    assert_eq!(gated.document["merged"], true);
    let merged = gated.document["tree"].as_str().unwrap();
    assert_ne!(merged, forge.git(&forge.top(), &["rev-parse", "pr^{tree}"]));
}

#[test]
fn a_base_that_moved_so_that_the_merge_is_broken_is_refused_although_each_side_was_green() {
    let forge = Forge::landed("");
    // Each side's tests are green; together they are not.
    forge.base_moves("tests/alone.sh", "[ ! -f done.txt ]\n");
    forge.job("ci", ATTESTED).is("fail", 1).because(&["tests-run"]).rests_on(TASK, "remerged");
}

#[test]
fn a_base_that_moved_in_the_changes_own_files_needs_a_judgement() {
    let forge = Forge::new("");
    let pages = |first: &str, last: &str| format!("{first}\n{}{last}\n", "the same\n".repeat(40));
    forge.base_moves("book.txt", &pages("1", "2"));
    forge.git(&forge.top(), &["reset", "-q", "--hard", "origin/main"]);
    write(&forge.top(), "book.txt", pages("one", "2"));
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    let clone = forge.clone_as("ci", &[]);
    forge.git(&clone, &["checkout", "-q", "origin/pr"]);
    forge.judge_in(&clone, &["--base", "origin/main", "--attest"]).is("pass", 0);
    forge.run(&clone, &["push", "--evidence-only"]).exits(0);
    // The other end of the same file: it merges, and nobody judged the two together.
    let other = forge.stage.repo.root().join("other-book.txt");
    write(&other, "book.txt", pages("1", "two"));
    forge.stage.repo.commit_in(&other, "somebody else again");
    forge.git(&other, &["push", "-q", "origin", "main"]);
    forge.job("ci-2", ATTESTED).is("held", 3).because(&["not-attested", "touches, too"]);
    // Squashed onto that base it is no other case.
    let clone = forge.stage.repo.root().join("ci-2");
    forge.git(&clone, &["checkout", "-q", "-B", "squashed", "origin/main"]);
    forge.git(&clone, &["merge", "-q", "--squash", "origin/pr"]);
    let squashed = forge.stage.repo.commit_in(&clone, "it is done [w-001] (#1)");
    let words = ["--base", "origin/main", "--head", &squashed, "--require", "attested"];
    forge.judge_in(&clone, &words).is("held", 3).because(&["base-meets-change"]);
    forge.judge_in(&clone, &words[..4]).is("pass", 0).rests_on(TASK, "verified");
}

#[test]
fn a_branch_rebased_onto_a_moved_base_is_merged_again_and_a_squash_keeps_its_evidence_by_tree() {
    let forge = Forge::landed("");
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    // The forge squashes onto the base as it was: another commit, the same tree.
    let tree = format!("{head}^{{tree}}");
    let words = ["commit-tree", &tree, "-p", &forge.stage.base, "-m", "it is done [w-001] (#7)"];
    let squashed = forge.git(&forge.top(), &words);
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", &format!("{squashed}:refs/heads/pr")]);
    forge.job("ci", ATTESTED).is("pass", 0).rests_on(TASK, "attested");
    // The base moves, and the branch is rebased.
    forge.base_moves("other.txt", "other\n");
    forge.git(&forge.top(), &["rebase", "-q", "origin/main"]);
    forge.git(&forge.top(), &["push", "-q", "--force", "origin", "pr"]);
    forge.git(&forge.top(), &["push", "-q", "origin", &format!("{head}:refs/heads/kept")]);
    forge.job("ci-2", ATTESTED).is("pass", 0).rests_on(TASK, "remerged");
    // Where nobody has the landed commit any more, it is judged again, and said.
    forge.git(&forge.top(), &["push", "-q", "origin", ":refs/heads/kept"]);
    forge.job("ci-3", ATTESTED).is("held", 3).because(&["landing-not-here"]);
    let clone = forge.stage.repo.root().join("ci-3");
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--head", "origin/pr"]);
    gated.is("pass", 0).rests_on(TASK, "verified");
}

#[test]
fn a_later_commit_that_breaks_the_code_and_deletes_its_test_turns_a_verified_branch_red() {
    let forge = Forge::landed("");
    forge.job("ci", ATTESTED).is("pass", 0);
    std::fs::remove_file(forge.top().join("tests/adds.sh")).unwrap();
    forge.commit("value.txt", "2\n", "chore: tidy up");
    forge.job("ci-2", ATTESTED).is("held", 3).because(&["not-attested", "no note that counts covers"]);
    let clone = forge.stage.repo.root().join("ci-2");
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--head", "origin/pr"]);
    gated.is("fail", 1).because(&["tests-kept"]);
}

#[test]
fn a_landing_that_nobody_verified_is_held_until_a_judgement_covers_it() {
    let forge = Forge::landed("");
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    let base = forge.stage.base.clone();
    forge.rewrite_note(&head, true, &|predicate| {
        predicate["origin"] = json!("unverified");
        predicate["noVerify"] = json!(true);
        predicate["uncertified"] = json!([{"from": base, "to": head, "why": "no-verify", "task": TASK}]);
    });
    forge.force_notes();
    let gated = forge.job("ci", ATTESTED).is("held", 3).because(&["no-verify-landing", "--no-verify", "uncertified"]);
    gated.finds(&["never certified", "countersign ci --base"]);
    // The diff of our own judgement starts where the range does, so it certifies it.
    let clone = forge.stage.repo.root().join("ci");
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--head", "origin/pr"]);
    gated.is("pass", 0).rests_on(TASK, "verified");
}

#[test]
fn an_override_is_held_and_only_an_approver_of_the_base_releases_it() {
    let forge = Forge::landed("gate: {approvers: ['conductor@*']}\n");
    let head = forge.git(&forge.top(), &["rev-parse", "pr"]);
    let base = forge.stage.base.clone();
    forge.rewrite_note(&head, true, &|predicate| {
        predicate["origin"] = json!("override");
        predicate["override"] = json!(true);
        predicate["uncertified"] = json!([{"from": base, "to": head, "why": "override", "task": TASK}]);
    });
    forge.force_notes();
    forge.job("ci", &[]).is("held", 3).because(&["override-landing", "over the verdict", "uncertified"]);
    let words = ["decide", "--ci", "--base", "origin/main", "--head", "pr", "--why", "seen, and wanted"];
    forge.git(&forge.top(), &["fetch", "-q", "origin"]);
    // The developer's own approval is none.
    forge.developer(&words).exits(0).says("approved on ");
    forge.developer(&["push", "--evidence-only"]).exits(0);
    forge.job("ci-2", &[]).is("held", 3);
    forge.sign_with(&forge.top(), "conductor");
    forge.developer(&words).exits(0);
    forge.developer(&["push", "--evidence-only"]).exits(0);
    forge.job("ci-3", &[]).is("pass", 0).because(&["approved", "conductor@example.invalid", "seen, and wanted"]);
    // It is about that tree: the next commit is held again.
    forge.commit("more.txt", "more\n", "more");
    forge.job("ci-4", ATTESTED).is("held", 3);
}

#[test]
fn an_empty_range_is_never_a_pass() {
    let forge = Forge::landed("");
    let clone = forge.clone_as("ci", &[]);
    forge.judge_in(&clone, &["--base", "HEAD"]).is("held", 3).because(&["nothing-checked", "has no commit"]);
    // Nor is one that changes nothing.
    let commit = forge.stage.repo.commit_in(&clone, "nothing");
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--head", &commit]);
    gated.is("held", 3).because(&["nothing-checked", "changes nothing"]);
}

#[test]
fn a_change_without_a_task_is_judged_by_floor_and_tests_and_the_base_says_whether_that_is_enough() {
    for (gate, decision, code) in [("", "held", 3), ("gate: {floor-only: true}\n", "pass", 0)] {
        let forge = Forge::new(gate);
        forge.commit("notes.txt", "by hand\n", "chore: by hand");
        let gated = forge.job("ci", &[]).is(decision, code).rests_on("change", "verified");
        assert_eq!(gated.task("change")["decision"], "floor-only");
        std::fs::remove_file(forge.top().join("tests/there.sh")).unwrap();
        forge.commit("value.txt", "3\n", "chore: break it");
        forge.job("ci-2", &[]).is("fail", 1);
    }
    let forge = Forge::new("gate: {free: ['docs/**']}\n");
    forge.commit("docs/a.md", "words\n", "docs");
    forge.job("ci", ATTESTED).is("pass", 0).because(&["free"]);
    forge.commit("a.sh", "x\n", "code");
    forge.job("ci-2", ATTESTED).is("held", 3);
    // A task that is said to be done asks for its evidence, wherever the change lies; instructions for agents are free nowhere.
    let forge = Forge::new("gate: {free: ['docs/**']}\n");
    forge.commit("docs/a.md", "words\n", "docs: it is done [w-001]");
    forge.job("ci", ATTESTED).is("held", 3).because(&["not-attested", "w-001"]);
    let forge = Forge::new("gate: {free: ['docs/**']}\n");
    forge.commit("docs/AGENTS.md", "obey\n", "docs");
    forge.job("ci", ATTESTED).is("held", 3).because(&["gate-changed"]);
}

#[test]
fn a_link_a_right_to_be_executed_and_a_submodule_are_free_in_no_folder() {
    type Deed = fn(&Forge);
    let deeds: [Deed; 3] = [
        |forge| std::os::unix::fs::symlink("../run.sh", forge.top().join("docs/link.md")).unwrap(),
        |forge| {
            let page = forge.top().join("docs/page.md");
            std::fs::set_permissions(page, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        },
        |forge| {
            let pointer = format!("160000,{},docs/sub", forge.stage.base);
            forge.git(&forge.top(), &["update-index", "--add", "--cacheinfo", &pointer]);
            std::fs::create_dir(forge.top().join("docs/sub")).unwrap();
        },
    ];
    for deed in deeds {
        let forge = Forge::new("gate: {free: ['docs/**']}\n");
        forge.base_moves("docs/page.md", "a page\n");
        forge.git(&forge.top(), &["reset", "-q", "--hard", "origin/main"]);
        forge.commit("docs/more.md", "words\n", "docs");
        forge.job("ci", ATTESTED).is("pass", 0).because(&["free"]);
        deed(&forge);
        forge.commit("docs/more.md", "more words\n", "docs and something else");
        forge.job("ci-2", ATTESTED).is("held", 3).because(&["not-attested"]);
    }
}

#[test]
fn a_task_without_a_verdict_is_judged_here_or_held() {
    let forge = Forge::new("");
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    forge.job("ci", ATTESTED).is("held", 3).because(&["not-attested", "w-001"]);
    let clone = forge.stage.repo.root().join("ci");
    let gated = forge.judge_in(&clone, &["--base", "origin/main", "--head", "origin/pr"]);
    assert_eq!(gated.is("pass", 0).rests_on(TASK, "verified").task(TASK)["criteria"][0]["covering"], "covered");
    // One that is claimed and not done.
    std::fs::remove_file(forge.top().join("done.txt")).unwrap();
    forge.commit("other.txt", "x\n", "chore: more");
    let gated = forge.job("ci-2", &[]).is("fail", 1).because(&["criteria"]);
    assert_eq!(gated.task(TASK)["criteria"][0]["covering"], "failed");
    // One that nobody knows, in a context that the base has.
    forge.commit("done.txt", "done\n", "feature(w): and that [w-777]");
    forge.job("ci-3", &[]).is("held", 3).because(&["unknown-task", "w-777"]);
}

#[test]
fn criteria_that_the_range_wrote_are_its_own_and_held() {
    let forge = Forge::new("");
    let page = ".agentheim/board/w/todo/w-002.md";
    let text = "---\nid: w-002\ntitle: easy\nstatus: todo\ntype: chore\ncreated: 2026-11-01\n---\n## Acceptance criteria\n\
                - [ ] it is there — file: `easy.txt`\n";
    forge.commit(page, text, "chore(w): one more task");
    forge.commit("easy.txt", "easy\n", "chore(w): easy [w-002]");
    forge.job("ci", &[]).is("held", 3).because(&["author-criteria", "the range itself wrote it"]);
    // So is a task of the base whose words the range changes.
    let forge = Forge::new("");
    let board = forge.git(&forge.top(), &["ls-files", ".agentheim/board/w"]);
    let page = board.lines().find(|path| path.contains("w-001")).unwrap().to_owned();
    let text = std::fs::read_to_string(forge.top().join(&page)).unwrap().replace("done.txt", "run.sh");
    forge.commit(&page, &text, "chore(w): it was done already [w-001]");
    forge.job("ci", &[]).is("held", 3).because(&["author-criteria", "changes its criteria"]);
}

#[test]
fn what_judges_changes_cannot_be_changed_unseen() {
    let forge = Forge::landed("");
    for (path, what) in [
        (".github/workflows/gate.yml", "CI"),
        (".gitignore", "ignores"),
        ("agents/verifier.md", "prompt"),
        (".agentheim/countersign.yaml", "the settings"),
    ] {
        forge.commit(path, "gate: {floor-only: true, skip: true, unsigned: true}\n", "chore: small things");
        let name = format!("ci-{}", what.replace(' ', "-"));
        let gated = forge.job(&name, &[]);
        assert_ne!(gated.outcome.code, Some(0), "{path}\n{}", gated.outcome);
        gated.finds(&["gate-changed", path, what]);
    }
}

#[test]
fn a_gate_whose_runner_is_gone_is_broken_and_says_so() {
    let forge = Forge::landed("");
    let clone = forge.clone_as("ci", &[]);
    forge.run(&clone, &["fetch"]);
    let tools = forge.stage.repo.root().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let git = forge.stage.repo.host().git;
    std::os::unix::fs::symlink(git, tools.join("git")).unwrap();
    let words = ["ci", "--base", "origin/main", "--head", "origin/pr", "--require", "attested"];
    let vars: &[(&str, &OsStr)] = &[("PATH", tools.as_os_str())];
    let outcome = forge.run_with(&clone, &words, vars).exits(4);
    outcome.says("gate     BROKEN").says("decision BROKEN").says("canary: wanted send-back");
}

#[test]
fn the_job_signs_what_it_verified_itself_and_the_next_one_believes_it() {
    let forge = Forge::new("gate: {roles: {ci: ['ci@*']}, accept-roles: [ci]}\n");
    forge.commit("done.txt", "done\n", "feature(w): it is done [w-001]");
    let clone = forge.clone_as("ci", &[]);
    forge.git(&clone, &["checkout", "-q", "origin/pr"]);
    let words = ["--base", "origin/main", "--attest"];
    forge.judge_in(&clone, &words).is("pass", 0).rests_on(TASK, "verified");
    forge.run(&clone, &["push", "--evidence-only"]).exits(0);
    let gated = forge.job("ci-2", ATTESTED).is("pass", 0).rests_on(TASK, "attested");
    assert_eq!(gated.task(TASK)["attested"]["role"], "ci");
}

#[test]
fn a_document_of_the_gate_is_what_its_schema_says() {
    let forge = Forge::landed("");
    let schema = forge.developer(&["schema", "ci"]).exits(0).json();
    let gated = forge.job("ci", &[]);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&gated.document).map(|why| why.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}\n{}", gated.outcome);
}

#[test]
fn the_number_of_git_programs_does_not_grow_with_the_number_of_attested_commits() {
    let forge = Forge::landed("");
    let base = forge.stage.base.clone();
    let words = ["ci", "--base", &base, "--head", "HEAD", "--require", "attested"];
    let (outcome, few) = forge.count_git(&words);
    outcome.exits(0);
    forge.land_more(25);
    let (outcome, many) = forge.count_git(&words);
    outcome.exits(0).says("26 commits");
    assert!(few.len() > 5, "{few:#?}");
    assert_eq!(few.len(), many.len(), "{many:#?}");
    // One of them without its note is a gap.
    let middle = forge.git(&forge.top(), &["rev-parse", "HEAD~9"]);
    forge.drop_note(&middle);
    forge.developer(&words).exits(3).says(&middle[..12]);
}

#[test]
fn every_code_of_the_gate_is_explained_once() {
    let mut codes: Vec<&str> = countersign::pipeline::ci::GATE_CODES.iter().map(|(code, _)| *code).collect();
    let count = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), count);
    // What the sources give as a code stands in the table.
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pipeline/ci");
    let call =
        regex::Regex::new(r#"(?:\breason|held|reject|bad|Err\(\()\(?(?:wanted, )?"([a-z]+(?:-[a-z]+)+)""#).unwrap();
    let mut seen = 0;
    for name in ["attested.rs", "believe.rs", "deciding.rs", "gate.rs", "own.rs", "released.rs"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        for found in call.captures_iter(&text) {
            seen += 1;
            assert!(codes.contains(&&found[1]), "{name}: {} is not explained", &found[1]);
        }
    }
    assert!(seen > 12, "only {seen} codes found: the reader of sources is broken");
}
