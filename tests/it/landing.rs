//! Landing: one commit on the target with exactly what was verified, or nothing moves at all.

use crate::support::{Stage, TASK, TestRepo, write};
use countersign::config::Bookkeeper;
use countersign::host::Host;
use countersign::host::clock::Timestamp;
use countersign::host::env::Env;
use countersign::host::git::{BranchMove, Obstacle, RefName, Repo};
use countersign::host::ids::{CommitId, TreeId};
use countersign::host::path::RepoPath;
use countersign::integrate::attest::parse_bundle;
use countersign::integrate::{Completion, HookError, Landed, Order, Refusal, Settled, Unlanded, land, remove_worktree};
use countersign::pipeline::find_case;
use countersign::task::layout::{ContextName, Layout};
use countersign::task::read_task;
use countersign::verdict::{Decision, Warrant, WarrantOrigin, judge};
use countersign::worker::parse_report;
use std::path::Path;

const MESSAGE: &str = "feature(w): it is done [w-001]\n";

/// A stage whose worker did the task honestly, judged.
fn judged() -> Stage {
    judged_on(TestRepo::new())
}

fn judged_on(repo: TestRepo) -> Stage {
    let stage = Stage::asking_in(repo);
    stage.write("done.txt", "done\n");
    stage.report("done.txt");
    stage.judge().is("land");
    stage
}

fn open(host: &Host, top: &Path) -> Repo {
    Repo::discover(host, top).unwrap()
}

/// The warrant of the sealed case, made by the one function that makes any.
fn warrant(stage: &Stage) -> Warrant {
    let host = stage.repo.host();
    let sealed = find_case(&open(&host, &stage.repo.path()), TASK, None).unwrap();
    match judge(&sealed.attempt.receipts) {
        Decision::Land(warrant) => warrant,
        other => panic!("no warrant: {other:?}"),
    }
}

fn main_branch() -> RefName {
    RefName::new("refs/heads/main").unwrap()
}

fn land_it(stage: &Stage, warrant: Warrant, verified: &[TreeId]) -> Result<Landed, Box<Unlanded>> {
    land_with(&stage.repo.host(), stage, warrant, verified)
}

fn land_with(host: &Host, stage: &Stage, warrant: Warrant, verified: &[TreeId]) -> Result<Landed, Box<Unlanded>> {
    let target = main_branch();
    let at = Timestamp(1_700_000_900);
    let order = Order { task: TASK, target: &target, message: MESSAGE, books: None, verified, case: None, at };
    land(&open(host, &stage.repo.path()), warrant, &order)
}

/// Asserts that nothing at all is different after a refusal, and gives its words and the warrant back.
fn refused(stage: &Stage, warrant: Warrant) -> (Refusal, Warrant) {
    let before = stage.repo.fingerprint();
    let unlanded = land_it(stage, warrant, &[]).unwrap_err();
    before.assert_unchanged(&stage.repo.fingerprint());
    (unlanded.why, unlanded.warrant)
}

#[test]
fn a_warrant_becomes_one_commit_with_exactly_the_verified_tree_and_the_checkout_follows() {
    let stage = judged();
    let warrant = warrant(&stage);
    let tree = warrant.tree().to_string();
    let landed = land_it(&stage, warrant, &[]).unwrap();
    let record = landed.record();
    let repo = &stage.repo;
    assert_eq!(
        repo.git(&["log", "--format=%P|%T|%an|%s", "-1"]),
        format!("{}|{tree}|T|{}", stage.base, MESSAGE.trim())
    );
    assert_eq!(repo.git(&["rev-parse", "refs/heads/main"]), record.commit.as_str());
    assert_eq!((record.origin, record.tree.as_str()), (WarrantOrigin::Verified, tree.as_str()));
    assert_eq!(std::fs::read_to_string(repo.path().join("done.txt")).unwrap(), "done\n");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    for log in ["HEAD", "main"] {
        assert!(repo.git(&["reflog", "-1", log]).ends_with("countersign: land w-001"));
    }
    repo.no_lock_left();
    let note = repo.git(&["notes", "--ref=refs/notes/countersign", "show", "HEAD"]);
    let (envelopes, unreadable) = parse_bundle(note.as_bytes());
    let kinds: Vec<_> = envelopes.iter().map(|one| one.statement().unwrap().predicate_type).collect();
    assert_eq!((kinds[0].as_str(), kinds.len(), unreadable), ("urn:countersign:landing:1", 2, 0));
    assert!(record.note_unsigned.as_ref().is_some_and(|why| why.contains("gpg.format")));
    let note = envelopes[0].statement().unwrap();
    assert_eq!(note.digest("gitCommit"), Some(record.commit.as_str()));
    assert_eq!(note.digest("gitTree"), Some(tree.as_str()));
    assert_eq!(note.predicate["origin"], "verified");
    let worktree = stage.worktree();
    remove_worktree(&open(&repo.host(), &repo.path()), Settled::Landed { landed, worktree: worktree.clone() }).unwrap();
    assert!(!worktree.exists());
}

#[test]
fn staged_edited_and_untracked_files_of_the_user_stay_as_they_are() {
    let repo = TestRepo::new();
    repo.write("mine.txt", "0\n");
    repo.write("staged.txt", "0\n");
    repo.write("both.txt", "0\n");
    let stage = judged_on(repo);
    let repo = &stage.repo;
    repo.write("mine.txt", "edited\n");
    repo.write("staged.txt", "staged\n");
    repo.write("both.txt", "staged\n");
    repo.git(&["add", "staged.txt", "both.txt"]);
    repo.write("both.txt", "staged, then edited\n");
    repo.write("new.txt", "untracked\n");
    let before = repo.git(&["status", "--porcelain"]);
    let staged = repo.git(&["ls-files", "-s", "staged.txt", "both.txt", "mine.txt"]);
    land_it(&stage, warrant(&stage), &[]).unwrap();
    assert_eq!(repo.git(&["status", "--porcelain"]), before);
    assert_eq!(repo.git(&["ls-files", "-s", "staged.txt", "both.txt", "mine.txt"]), staged);
    assert_eq!(std::fs::read_to_string(repo.path().join("both.txt")).unwrap(), "staged, then edited\n");
    assert!(repo.path().join("done.txt").exists());
}

#[test]
fn a_file_of_the_user_in_the_way_is_refused_before_anything_moves_and_the_warrant_is_still_good() {
    let stage = judged();
    let repo = &stage.repo;
    repo.write("done.txt", "the user's own\n");
    let (why, warrant) = refused(&stage, warrant(&stage));
    assert!(matches!(why, Refusal::Checkout(Obstacle::InTheWay { .. })), "{why}");
    // A folder where the claim has a file, with something in it.
    std::fs::remove_file(repo.path().join("done.txt")).unwrap();
    repo.write("done.txt/notes", "the user's own\n");
    let (why, warrant) = refused(&stage, warrant);
    assert!(matches!(why, Refusal::Checkout(Obstacle::InTheWay { .. })), "{why}");
    std::fs::remove_dir_all(repo.path().join("done.txt")).unwrap();
    // Staged, not on disk.
    repo.write("done.txt", "staged\n");
    repo.git(&["add", "done.txt"]);
    let (why, warrant) = refused(&stage, warrant);
    assert!(matches!(why, Refusal::Checkout(Obstacle::InTheWay { .. })), "{why}");
    repo.git(&["rm", "-q", "-f", "done.txt"]);
    land_it(&stage, warrant, &[]).unwrap();
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_checkout_that_is_busy_or_locked_is_left_alone() {
    let stage = judged();
    let repo = &stage.repo;
    let lock = repo.common_dir().join("index.lock");
    std::fs::write(&lock, "another git's").unwrap();
    let (why, warrant) = refused(&stage, warrant(&stage));
    assert!(matches!(why, Refusal::Checkout(Obstacle::Locked { .. })), "{why}");
    assert_eq!(std::fs::read_to_string(&lock).unwrap(), "another git's");
    std::fs::remove_file(&lock).unwrap();
    std::fs::write(repo.common_dir().join("MERGE_HEAD"), format!("{}\n", stage.base)).unwrap();
    let (why, warrant) = refused(&stage, warrant);
    assert!(why.to_string().contains("in the middle of something (a merge)"), "{why}");
    std::fs::remove_file(repo.common_dir().join("MERGE_HEAD")).unwrap();
    land_it(&stage, warrant, &[]).unwrap();
}

#[test]
fn a_target_that_moved_is_verified_again_and_lands_with_both_changes() {
    let stage = judged();
    let repo = &stage.repo;
    repo.write("human.txt", "meanwhile\n");
    let human = repo.commit("a person commits");
    let (why, warrant) = refused(&stage, warrant(&stage));
    let Refusal::Unverified { merged, paths, .. } = why else { panic!("{why}") };
    assert_eq!(paths.iter().map(ToString::to_string).collect::<Vec<_>>(), ["human.txt"]);
    let landed = land_it(&stage, warrant, std::slice::from_ref(&merged)).unwrap();
    assert_eq!((landed.record().parent.as_str(), &landed.record().tree), (human.as_str(), &merged));
    assert!(repo.path().join("human.txt").exists() && repo.path().join("done.txt").exists());
    assert_eq!(repo.git(&["rev-list", "--count", &format!("{human}..main")]), "1");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_target_that_moved_in_bookkeeping_alone_voids_nothing_unless_it_says_how_to_judge() {
    let stage = judged();
    let repo = &stage.repo;
    repo.write(".agentheim/board/protocol.md", "# Protocol\n\nx\n\n---\n\n");
    repo.write(".agentheim/board/w/INDEX.md", "# w\n");
    repo.commit("bookkeeping of a sibling");
    land_it(&stage, warrant(&stage), &[]).unwrap();
    let stage = judged();
    let readme = ".agentheim/knowledge/contexts/w/README.md";
    stage.repo.write(readme, "# w\n\n## Test command\n\n`true`\n");
    stage.repo.commit("another test command");
    let (why, _) = refused(&stage, warrant(&stage));
    assert!(matches!(&why, Refusal::Unverified { paths, .. } if paths[0].to_string() == readme), "{why}");
}

#[test]
fn a_conflict_names_its_paths_and_moves_nothing() {
    let stage = judged();
    stage.repo.write("done.txt", "a person was faster\n");
    stage.repo.commit("the same file");
    let (why, _) = refused(&stage, warrant(&stage));
    assert!(matches!(&why, Refusal::Conflict { paths, .. } if paths[0].to_string() == "done.txt"), "{why}");
}

#[test]
fn a_target_that_was_rewritten_or_deleted_takes_nothing() {
    let stage = judged();
    let repo = &stage.repo;
    repo.git(&["checkout", "-q", "--orphan", "fresh"]);
    repo.commit("another history");
    repo.git(&["branch", "-f", "main", "fresh"]);
    let (why, warrant) = refused(&stage, warrant(&stage));
    assert!(matches!(why, Refusal::Rewound { .. }), "{why}");
    repo.git(&["branch", "-D", "main"]);
    let (why, _) = refused(&stage, warrant);
    assert!(matches!(why, Refusal::NoTarget { .. }), "{why}");
}

#[test]
fn what_the_target_has_already_is_not_landed_twice() {
    let stage = judged();
    let (first, second) = (warrant(&stage), warrant(&stage));
    land_it(&stage, first, &[]).unwrap();
    let (why, _) = refused(&stage, second);
    assert!(matches!(why, Refusal::Nothing { .. }), "{why}");
}

#[test]
fn a_target_that_is_not_checked_out_moves_alone() {
    let stage = judged();
    let repo = &stage.repo;
    repo.branch("elsewhere");
    repo.write("a.txt", "edited\n");
    let before = repo.fingerprint();
    let landed = land_it(&stage, warrant(&stage), &[]).unwrap();
    assert_eq!(landed.record().checkout, None);
    let different = before.differences(&repo.fingerprint());
    assert!(different.len() == 1 && different[0].contains("refs/heads/main"), "{different:?}");
}

#[test]
fn the_worktree_that_has_the_target_follows_and_two_of_them_are_refused() {
    let stage = judged();
    let repo = &stage.repo;
    repo.branch("elsewhere");
    let linked = repo.root().join("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "main"]);
    let landed = land_it(&stage, warrant(&stage), &[]).unwrap();
    assert_eq!(landed.record().checkout.as_deref().map(|p| p.canonicalize().unwrap()), linked.canonicalize().ok());
    assert!(linked.join("done.txt").exists() && !repo.path().join("done.txt").exists());
    assert_eq!(repo.git_in(&linked, &["status", "--porcelain"]), "");
    let twice = judged();
    let second = twice.repo.root().join("second");
    twice.repo.git(&["worktree", "add", "-q", "--force", second.to_str().unwrap(), "main"]);
    let (why, _) = refused(&twice, warrant(&twice));
    assert!(matches!(why, Refusal::Checkout(Obstacle::Several { .. })), "{why}");
}

#[test]
fn without_an_identity_or_a_signature_nothing_lands() {
    let stage = judged();
    let repo = &stage.repo;
    let before = repo.fingerprint();
    let mut host = repo.host();
    let empty = repo.root().join("empty-home");
    std::fs::create_dir(&empty).unwrap();
    host.env = Env::of([("HOME", empty.as_os_str()), ("PATH", host.env.get("PATH").unwrap())]);
    let unlanded = land_with(&host, &stage, warrant(&stage), &[]).unwrap_err();
    assert!(unlanded.why.to_string().contains("git commit-tree"), "{}", unlanded.why);
    before.assert_unchanged(&repo.fingerprint());
    repo.git(&["config", "commit.gpgSign", "true"]);
    repo.git(&["config", "gpg.program", "false"]);
    let (why, warrant) = refused(&stage, unlanded.warrant);
    assert!(why.to_string().contains("git commit-tree -S"), "{why}");
    // A program that signs.
    let signer = repo.root().join("signer");
    write(repo.root(), "signer", "#!/bin/sh\ncat >/dev/null\nprintf '[GNUPG:] SIG_CREATED \\n' >&2\necho signature\n");
    std::fs::set_permissions(&signer, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repo.git(&["config", "gpg.program", signer.to_str().unwrap()]);
    land_it(&stage, warrant, &[]).unwrap();
    assert!(repo.git(&["cat-file", "commit", "main"]).contains("gpgsig signature"));
}

#[test]
fn a_repository_that_libgit2_cannot_open_lands_all_the_same() {
    let repo = TestRepo::init(&["--object-format=sha256", "--ref-format=reftable"]);
    repo.write("a.txt", "0\n");
    repo.commit("base");
    let stage = judged_on(repo);
    stage.repo.write("human.txt", "meanwhile\n");
    stage.repo.commit("a person commits");
    let (why, warrant) = refused(&stage, warrant(&stage));
    let Refusal::Unverified { merged, .. } = why else { panic!("{why}") };
    land_it(&stage, warrant, &[merged]).unwrap();
    assert_eq!(stage.repo.git(&["status", "--porcelain"]), "");
    assert!(stage.repo.path().join("done.txt").exists());
}

/// Writes a hook into the folder that all worktrees share.
fn hook(stage: &Stage, name: &str, script: &str) {
    script_at(&stage.repo.common_dir().join("hooks").join(name), script);
}

fn script_at(place: &Path, script: &str) {
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(place, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn hooks_see_the_landing_staged_on_the_target_and_may_edit_its_message() {
    let stage = judged();
    let repo = &stage.repo;
    let leak = repo.path().join("leak");
    hook(
        &stage,
        "pre-commit",
        &format!(
            "test \"$(git diff --cached --name-only)\" = done.txt || exit 3\ntest \"$(cat done.txt)\" = done || exit 4\n\
         test \"$(git rev-parse HEAD)\" = {} || exit 5\necho x > '{}' || true",
            stage.base,
            leak.display()
        ),
    );
    hook(&stage, "prepare-commit-msg", "test \"$2\" = message && printf 'checked   \\n\\n\\n\\n' >> \"$1\"");
    hook(&stage, "commit-msg", "grep -q w-001 \"$1\" && echo 'Reviewed-by: hook' >> \"$1\"");
    let warrant = warrant(&stage);
    let tree = warrant.tree().to_string();
    land_it(&stage, warrant, &[]).unwrap();
    assert_eq!(repo.git(&["rev-parse", "main^{tree}"]), tree);
    let message = repo.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(message.trim_end(), "feature(w): it is done [w-001]\nchecked\n\nReviewed-by: hook");
    assert!(!leak.exists(), "a hook runs in the box");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.no_process_left();
}

#[test]
fn a_hook_that_refuses_cannot_run_or_changes_the_tree_holds_the_landing() {
    let stage = judged();
    hook(&stage, "pre-commit", "echo 'not on a Friday' >&2\nexit 1");
    let (why, warrant) = refused(&stage, warrant(&stage));
    assert!(matches!(why, Refusal::Hook(HookError::Refused { hook: "pre-commit", .. })), "{why}");
    assert!(why.to_string().contains("not on a Friday"), "{why}");
    hook(&stage, "pre-commit", "exec no-such-formatter");
    let (why, warrant) = refused(&stage, warrant);
    assert!(matches!(why, Refusal::Hook(HookError::Unable { .. })), "{why}");
    hook(&stage, "pre-commit", "echo more >> done.txt && git add done.txt");
    let (why, warrant) = refused(&stage, warrant);
    let Refusal::Hook(HookError::TreeChanged { paths, .. }) = why else { panic!("{why}") };
    assert_eq!(paths.iter().map(ToString::to_string).collect::<Vec<_>>(), ["done.txt"]);
    hook(&stage, "pre-commit", "exit 0");
    hook(&stage, "commit-msg", ": > \"$1\"");
    let (why, warrant) = refused(&stage, warrant);
    assert!(matches!(why, Refusal::Hook(HookError::Message { .. })), "{why}");
    // As git has it: a hook that cannot be executed is none.
    let place = stage.repo.common_dir().join("hooks/commit-msg");
    std::fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    land_it(&stage, warrant, &[]).unwrap();
}

#[test]
fn hooks_that_are_files_of_the_project_are_the_targets_and_never_what_lies_on_disk() {
    let repo = TestRepo::new();
    script_at(&repo.path().join(".githooks/pre-commit"), ". \"$(dirname \"$0\")/words\"; echo \"$WORDS\"; exit 1");
    repo.write(".githooks/words", "WORDS='the committed hook'\n");
    let stage = judged_on(repo);
    let repo = &stage.repo;
    repo.git(&["config", "core.hooksPath", ".githooks"]);
    script_at(&repo.path().join(".githooks/pre-commit"), "exit 0");
    let (why, warrant) = refused(&stage, warrant(&stage));
    assert!(why.to_string().contains("the committed hook"), "{why}");
    repo.git(&["config", "core.hooksPath", ".elsewhere"]);
    script_at(&repo.path().join(".elsewhere/pre-commit"), "exit 0");
    let (why, warrant) = refused(&stage, warrant);
    assert!(matches!(why, Refusal::Hook(HookError::Untracked { .. })), "{why}");
    std::fs::remove_dir_all(repo.path().join(".elsewhere")).unwrap();
    land_it(&stage, warrant, &[]).unwrap();
}

const INDEX: &str = "# w\n\n<!-- task-counts:start -->\n- **Backlog:** 0\n- **Todo:** 0\n- **Doing:** 1\n- **Done:** 0\n\
                     <!-- task-counts:end -->\n<!-- doing-list:start -->\n- **w-001** — x — `doing/w-001-make-it-so.md`\n<!-- doing-list:end -->\n\
                     <!-- done-list:start -->\n<!-- done-list:end -->\n<!-- backlog-list:start -->\n<!-- backlog-list:end -->\n";

/// A judged stage whose board has all its pages, and a report that changes most of them.
fn with_board() -> Stage {
    let repo = TestRepo::new();
    repo.write(".agentheim/board/w/INDEX.md", INDEX);
    repo.write(".agentheim/board/protocol.md", "# Protocol\n\n---\n\n");
    repo.write(".agentheim/knowledge/contexts/w/INDEX.md", "# w\n\n<!-- adr-local:start -->\n<!-- adr-local:end -->\n");
    let stage = Stage::asking_in(repo);
    stage.write("done.txt", "done\n");
    let adr = "<!-- ADR: 0001-why.md -->\n---\nid: ADR-0001\ntitle: Why\nscope: w\nstatus: accepted\ndate: 2026-03-01\n---\n\n\
               # ADR-0001: Why\n\n## Context\n\nx\n\n## Decision\n\ny\n\n## Consequences\n\nz\n\n\
               ## Alternatives considered\n\nThis over that, because.\n";
    let item = "<!-- TASK: w-k3f9q-next.md -->\n---\nid: w-k3f9q\ntitle: Next\nstatus: backlog\ntype: chore\ncontext: w\n---\n\n\
                ## Acceptance criteria\n\n- [ ] more\n";
    let report = crate::support::report("done.txt")
        .replace("ADRS_WRITTEN: none", "ADRS_WRITTEN: 0001-why.md")
        .replace("````ADRS\n", &format!("````ADRS\n{adr}"))
        .replace("````BACKLOG_ITEMS\n", &format!("````BACKLOG_ITEMS\n{item}"));
    stage.report_bytes(report.as_bytes());
    stage.judge().is("land");
    stage
}

/// Lands with the books kept from the stage's own report.
fn land_with_books(stage: &Stage, warrant: Warrant, verified: &[TreeId]) -> Result<Landed, Box<Unlanded>> {
    let host = stage.repo.host();
    let repo = open(&host, &stage.repo.path());
    let page = ".agentheim/board/w/doing/w-001-make-it-so.md";
    let base = stage.repo.git(&["show", &format!("{}:{page}", stage.base)]);
    let task = read_task(format!("{base}\n").as_bytes(), &RepoPath::from(page)).unwrap();
    let report = std::fs::read(stage.repo.path().join(".worktrees/.results/w-001.iter-1.md")).unwrap();
    let report = parse_report(&report).unwrap();
    let context = ContextName::new("w").unwrap();
    let reason = warrant.reason().text.clone();
    let done = Completion {
        layout: Layout::Board,
        keeper: Bookkeeper::Conductor,
        task: &task,
        context: &context,
        report: Some(&report),
        source: Some("sidecar"),
        origin: warrant.origin(),
        reason: &reason,
        iteration: 1,
        files_changed: 1,
        began: None,
        at: Timestamp(1_700_000_900),
    };
    let (target, at) = (main_branch(), Timestamp(1_700_000_900));
    let order = Order { task: TASK, target: &target, message: MESSAGE, books: Some(&done), verified, case: None, at };
    land(&repo, warrant, &order)
}

#[test]
fn one_commit_holds_the_work_and_all_of_its_bookkeeping() {
    let stage = with_board();
    let repo = &stage.repo;
    let landed = land_with_books(&stage, warrant(&stage), &[]).unwrap();
    let record = landed.record();
    assert_eq!(record.remarks, [""; 0]);
    assert_ne!(record.tree, record.merged);
    let mut changed: Vec<String> =
        repo.git(&["diff", "--no-renames", "--name-status", "HEAD~1", "HEAD"]).lines().map(str::to_owned).collect();
    changed.sort();
    assert_eq!(
        changed,
        [
            "A\t.agentheim/board/w/backlog/w-k3f9q-next.md",
            "A\t.agentheim/board/w/done/w-001-make-it-so.md",
            "A\t.agentheim/knowledge/decisions/0001-why.md",
            "A\tdone.txt",
            "D\t.agentheim/board/w/doing/w-001-make-it-so.md",
            "M\t.agentheim/board/protocol.md",
            "M\t.agentheim/board/w/INDEX.md",
            "M\t.agentheim/knowledge/contexts/w/INDEX.md",
        ]
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    repo.run(&["board", "check"]).exits(0);
    let work = repo.git(&["diff", "--name-only", record.claim.as_str(), "HEAD", "--", ":!.agentheim"]);
    assert_eq!(work, "", "bookkeeping apart, what landed is what was judged");
}

#[test]
fn a_sibling_that_took_the_same_number_and_wrote_the_same_pages_costs_no_second_judgement() {
    let stage = with_board();
    let repo = &stage.repo;
    repo.write(".agentheim/knowledge/decisions/0001-theirs.md", "theirs\n");
    repo.write(
        ".agentheim/board/protocol.md",
        "# Protocol\n\n---\n\n## 2026-01-01 10:00 -- Theirs\n\n**Type:** x\n\n---\n\n",
    );
    repo.commit("a sibling lands");
    land_with_books(&stage, warrant(&stage), &[]).unwrap();
    assert_eq!(repo.git(&["show", "HEAD:.agentheim/knowledge/decisions/0001-theirs.md"]), "theirs");
    assert!(repo.git(&["show", "HEAD:.agentheim/knowledge/decisions/0002-why.md"]).contains("id: ADR-0002"));
    let protocol = repo.git(&["show", "HEAD:.agentheim/board/protocol.md"]);
    assert!(protocol.find("w-001").unwrap() < protocol.find("Theirs").unwrap(), "{protocol}");
}

#[test]
fn a_board_that_cannot_be_written_or_a_task_that_changed_lands_nothing() {
    let stage = with_board();
    let repo = &stage.repo;
    let page = ".agentheim/board/w/doing/w-001-make-it-so.md";
    let text = std::fs::read_to_string(repo.path().join(page)).unwrap();
    repo.write(page, text.replace("It is there", "It is somewhere else"));
    repo.commit("a person changes the task");
    let before = repo.fingerprint();
    let unlanded = land_with_books(&stage, warrant(&stage), &[]).unwrap_err();
    assert!(matches!(unlanded.why, Refusal::TaskChanged { .. }), "{}", unlanded.why);
    before.assert_unchanged(&repo.fingerprint());
    repo.write(page, text);
    repo.write(".agentheim/board/w/INDEX.md", INDEX.replace("<!-- done-list:end -->\n", ""));
    repo.commit("a broken page");
    let before = repo.fingerprint();
    let unlanded = land_with_books(&stage, unlanded.warrant, &[]).unwrap_err();
    assert!(unlanded.why.to_string().contains("`<!-- done-list:end -->` is missing"), "{}", unlanded.why);
    before.assert_unchanged(&repo.fingerprint());
}

mod moving {
    //! Moving a checked-out branch, whatever state the user's files are in.

    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 5] = ["a", "b", "d/x", "d", "e"];

    #[derive(Debug, Clone)]
    enum Edit {
        Write(usize, u8),
        Remove(usize),
    }

    fn edits(most: usize) -> impl Strategy<Value = Vec<Edit>> {
        let one = prop_oneof![
            3 => (0..NAMES.len(), 0_u8..3).prop_map(|(at, n)| Edit::Write(at, n)),
            1 => (0..NAMES.len()).prop_map(Edit::Remove),
        ];
        prop::collection::vec(one, 0..most)
    }

    fn perform(top: &Path, edit: &Edit) {
        let clear = |at: usize| {
            let path = top.join(NAMES[at]);
            drop(std::fs::remove_file(&path));
            drop(std::fs::remove_dir_all(&path));
            path
        };
        match edit {
            Edit::Remove(at) => drop(clear(*at)),
            Edit::Write(at, number) => {
                if NAMES[*at].contains('/') && top.join("d").is_file() {
                    std::fs::remove_file(top.join("d")).unwrap();
                }
                let path = clear(*at);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, [b'0' + number, b'\n']).unwrap();
            }
        }
    }

    /// Every file of the worktree with its bytes.
    fn disk(top: &Path) -> Vec<(String, Vec<u8>)> {
        let entries = walkdir::WalkDir::new(top).sort_by_file_name().into_iter();
        entries
            .filter_entry(|entry| entry.file_name() != ".git")
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| {
                let name = entry.path().strip_prefix(top).unwrap().display().to_string();
                (name, std::fs::read(entry.path()).unwrap())
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_branch_moves_with_every_edit_of_the_user_intact_or_not_at_all(
            landing in edits(4), unstaged in edits(3), staged in edits(3)
        ) {
            let repo = TestRepo::unborn();
            for at in [0, 1, 2] {
                perform(&repo.path(), &Edit::Write(at, 0));
            }
            let old = repo.commit("old");
            for edit in &landing {
                perform(&repo.path(), edit);
            }
            let new = repo.commit("new");
            let changed: Vec<String> =
                repo.git(&["diff-tree", "-r", "--name-only", &old, &new]).lines().map(str::to_owned).collect();
            repo.git(&["reset", "-q", "--hard", &old]);
            repo.git(&["clean", "-ffdxq"]);
            for edit in &staged {
                perform(&repo.path(), edit);
            }
            repo.git(&["add", "-A"]);
            for edit in &unstaged {
                perform(&repo.path(), edit);
            }
            let (before, index, files) = (repo.fingerprint(), repo.git(&["ls-files", "-s"]), disk(&repo.path()));
            let ids = [&old, &new].map(|id| CommitId::new(id).unwrap());
            let host = repo.host();
            let moved = open(&host, &repo.path()).move_branch(&main_branch(), &ids[0], &ids[1], "test").unwrap();
            repo.no_lock_left();
            if !matches!(moved, BranchMove::Moved(_)) {
                before.assert_unchanged(&repo.fingerprint());
                return Ok(());
            }
            prop_assert_eq!(repo.git(&["rev-parse", "main"]), new.clone());
            // What the landing does not touch is exactly as it was, in the index and on disk.
            let untouched = |name: &str| !changed.iter().any(|path| path == name);
            let of_index = |text: &str| -> Vec<String> {
                text.lines().filter(|line| untouched(line.split('\t').nth(1).unwrap())).map(str::to_owned).collect()
            };
            prop_assert_eq!(of_index(&repo.git(&["ls-files", "-s"])), of_index(&index));
            let of_disk = |files: Vec<(String, Vec<u8>)>| -> Vec<_> {
                files.into_iter().filter(|(name, _)| untouched(name)).collect()
            };
            prop_assert_eq!(of_disk(disk(&repo.path())), of_disk(files));
            // What it touches is the new commit's, in the index; on disk too, unless the user had the very same staged and
            // went on from there.
            let staged_now = |name: &str| index.lines().any(|line| line.ends_with(&format!("\t{name}")));
            for path in &changed {
                prop_assert_eq!(repo.git(&["diff", "--cached", "--name-only", "HEAD", "--", path]), "");
                let differs = repo.git(&["diff", "--name-only", "--", path]);
                prop_assert!(differs.is_empty() || staged_now(path), "{}", differs);
            }
        }
    }

    /// A commit that adds one file to the branch's tip, by trees alone.
    fn addition(repo: &Repo, name: &str) -> (CommitId, CommitId) {
        let tip = repo.read_ref(&main_branch()).unwrap().unwrap();
        let blob = repo.write_blob(name.as_bytes()).unwrap();
        let edits = [(RepoPath::from(name), Some((0o100_644, blob.to_string())))].into();
        let tree = repo.edit_tree(&repo.tree_of(&tip).unwrap(), &edits).unwrap();
        let commit = repo.commit_as_user(&tree, &tip, Timestamp(1_700_000_900), name).unwrap();
        (tip, commit)
    }

    #[test]
    fn a_person_who_commits_meanwhile_loses_nothing_and_sees_no_phantom_change() {
        const EACH: usize = 12;
        let repo = TestRepo::new();
        repo.write("edited.txt", "0\n");
        repo.commit("a file to edit");
        repo.write("edited.txt", "edited, never committed\n");
        let host = repo.host();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..EACH {
                    let name = format!("person-{number}");
                    repo.write(&name, &name);
                    // Another git holds the index for a moment: a person tries again.
                    let again = |words: &[&str]| {
                        let done = (0..10_000).any(|_| repo.try_git_in(&repo.path(), words).status.success());
                        assert!(done, "{words:?} never succeeds");
                    };
                    again(&["add", &name]);
                    again(&["commit", "-q", "-m", &name]);
                }
            });
            let ours = open(&host, &repo.path());
            let mut landed = 0;
            while landed < EACH {
                let (tip, commit) = addition(&ours, &format!("landed-{landed}"));
                match ours.move_branch(&main_branch(), &tip, &commit, "test").unwrap() {
                    BranchMove::Moved(_) => landed += 1,
                    BranchMove::Raced | BranchMove::Refused(Obstacle::Locked { .. }) => {}
                    BranchMove::Refused(obstacle) => panic!("{obstacle}"),
                }
            }
        });
        assert_eq!(repo.git(&["status", "--porcelain"]), " M edited.txt");
        assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), (2 * EACH + 2).to_string());
        let names = repo.git(&["ls-tree", "--name-only", "HEAD"]);
        for number in 0..EACH {
            for who in ["person", "landed"] {
                let name = format!("{who}-{number}");
                assert!(names.lines().any(|line| line == name), "{name}: {names}");
                assert!(repo.path().join(&name).exists(), "{name}");
            }
        }
        repo.no_lock_left();
    }

    #[test]
    fn a_stale_old_value_moves_nothing_and_leaves_no_lock() {
        let repo = TestRepo::new();
        let old = repo.git(&["rev-parse", "HEAD"]);
        repo.write("b.txt", "b\n");
        let new = repo.commit("landing");
        repo.git(&["reset", "-q", "--hard", &old]);
        repo.write("c.txt", "c\n");
        repo.commit("a person was faster");
        let before = repo.fingerprint();
        let ids = [&old, &new].map(|id| CommitId::new(id).unwrap());
        let host = repo.host();
        let moved = open(&host, &repo.path()).move_branch(&main_branch(), &ids[0], &ids[1], "test").unwrap();
        assert_eq!(moved, BranchMove::Raced);
        before.assert_unchanged(&repo.fingerprint());
        repo.no_lock_left();
    }
}
