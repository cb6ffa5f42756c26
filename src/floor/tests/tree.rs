//! The checks that read the tree: markers, repositories, links, names, and what may be skipped.

use super::*;
use State::{Ask, Deny, Info, NotApplicable, Pass, Unknown};

const CONFLICT: &str = "a\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> aw/shed-1\nb\n";

#[test]
fn only_an_added_triple_is_a_conflict() {
    let new = |name: &str, text: &str| Scene::new().wrote(name, text);
    let binary = format!("\0{CONFLICT}");
    hold(
        "conflict-markers",
        vec![
            ("a new file", new("x.rs", CONFLICT), Deny, "x.rs:2"),
            ("with windows line ends", new("x.rs", &CONFLICT.replace('\n', "\r\n")), Deny, "x.rs:2"),
            (
                "with a base part",
                new("x.rs", &CONFLICT.replace("=======", "||||||| base\nold\n=======")),
                Deny,
                "x.rs:2",
            ),
            ("around lines of the base", Scene::new().had("x", "a\nours\nb\n").wrote("x", CONFLICT), Deny, "x:2"),
            ("a heading's underline", new("x.rst", "Title\n=======\ntext\n"), Pass, ""),
            ("underline after a quote", new("x.md", ">>>>>>> deep\nTitle\n=======\n"), Pass, ""),
            ("no middle", new("x", "<<<<<<< a\n>>>>>>> b\n"), Pass, ""),
            ("indented", new("x", &CONFLICT.replace('\n', "\n  ")), Pass, ""),
            ("eight marks", new("x", &CONFLICT.replace("<<<<<<<", "<<<<<<<<")), Pass, ""),
            ("an example in a code block", new("x.md", &format!("text\n```\n{CONFLICT}```\n")), Ask, "x.md:4"),
            ("behind a closed code block", new("x.md", &format!("```\nc\n```\n{CONFLICT}")), Deny, "x.md:5"),
            ("already at the base", Scene::new().had("x", CONFLICT).wrote("x", format!("{CONFLICT}more\n")), Pass, ""),
            ("one more than at the base", Scene::new().had("x", CONFLICT).wrote("x", CONFLICT.repeat(2)), Deny, "x:9"),
            ("moved along", Scene::new().had("x", CONFLICT).moved("x", "y", |t| t + "end\n"), Pass, ""),
            ("mended", Scene::new().had("x", CONFLICT).wrote("x", "a\nb\n"), Pass, ""),
            ("in a binary", new("x.bin", &binary), Pass, ""),
            ("in a link's target", Scene::new().wrote_mode("l", LINK, CONFLICT), Pass, ""),
        ],
    );
}

#[test]
fn a_text_too_large_to_read_whole_is_unknown_beyond_what_was_read() {
    let large = "x\n".repeat(usize::try_from(LARGEST_READ).unwrap() / 2 + 1);
    hold(
        "conflict-markers",
        vec![
            ("large text", Scene::new().wrote("x", &large), Unknown, "first 4194304 bytes"),
            ("large text with a conflict", Scene::new().wrote("x", format!("{CONFLICT}{large}")), Deny, "x:2"),
            ("large binary", Scene::new().wrote("x", format!("\0{large}")), Pass, ""),
        ],
    );
}

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";
const DECLARED: &str = "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.org/lib\n";

#[test]
fn merge_gitlink_loss_a_nested_repository_is_denied_and_nothing_is_removed() {
    hold(
        "nested-repository",
        vec![
            ("scaffolded", Scene::new().wrote_mode("app", GITLINK, ONE), Deny, "app | "),
            ("says what was not done", Scene::new().wrote_mode("app", GITLINK, ONE), Deny, "nothing was removed"),
            (
                "seen in the worktree",
                Scene::new().wrote("x", "1").saw(SightingKind::NestedRepository, "app"),
                Deny,
                "app | ",
            ),
            ("declared", Scene::new().wrote(".gitmodules", DECLARED).wrote_mode("lib", GITLINK, ONE), Pass, ""),
            (
                "declared elsewhere",
                Scene::new().wrote(".gitmodules", DECLARED).wrote_mode("lib2", GITLINK, ONE),
                Deny,
                "lib2",
            ),
            (
                "a file became one",
                Scene::new().removed("src/a.rs").wrote_mode("src/a.rs", GITLINK, ONE),
                Deny,
                "src/a.rs",
            ),
            (
                "was so at the base",
                Scene::new()
                    .had_mode("app", GITLINK, ONE)
                    .wrote_mode("app", GITLINK, TWO)
                    .saw(SightingKind::NestedRepository, "app"),
                Pass,
                "",
            ),
            (
                "declaration removed",
                Scene::new().had(".gitmodules", DECLARED).had_mode("lib", GITLINK, ONE).removed(".gitmodules"),
                Deny,
                "lib",
            ),
            (
                "removed with its declaration",
                Scene::new()
                    .had(".gitmodules", DECLARED)
                    .had_mode("lib", GITLINK, ONE)
                    .removed(".gitmodules")
                    .removed("lib"),
                Pass,
                "",
            ),
            (
                "a declaration nobody can read",
                Scene::new().wrote(".gitmodules", "[").wrote_mode("lib", GITLINK, ONE),
                Unknown,
                "git config",
            ),
        ],
    );
}

#[test]
fn sub_moved_a_pointer_that_nobody_else_can_follow_is_denied() {
    let moved =
        || Scene::new().had(".gitmodules", DECLARED).had_mode("lib", GITLINK, ONE).wrote_mode("lib", GITLINK, TWO);
    let still = || Scene::new().had(".gitmodules", DECLARED).had_mode("lib", GITLINK, ONE).wrote("x", "1");
    hold(
        "submodules",
        vec![
            ("none", Scene::new().wrote("x", "1"), NotApplicable, "no submodule"),
            ("A: exists only here", moved().saw(SightingKind::UnreachableGitlink, "lib"), Deny, "this worktree only"),
            ("B: went backwards", moved().saw(SightingKind::SubmoduleRegressed, "lib"), Ask, "backwards"),
            ("C: dirty", still().saw(SightingKind::DirtySubmodule, "lib"), Ask, "will not land"),
            ("not checked out", moved().saw(SightingKind::UnseenGitlink, "lib"), Unknown, "submodule update"),
            (
                "moved and published",
                moved(),
                Info,
                "pointer 1111111111111111111111111111111111111111 → 2222222222222222222222222222222222222222",
            ),
        ],
    );
}

#[test]
fn diff_submodule_ignored_a_hidden_pointer_is_shown_with_both_commits() {
    let stand = Stand::new();
    let hidden = Scene::new()
        .had(".gitmodules", DECLARED)
        .had_mode("lib", GITLINK, ONE)
        .wrote(
            ".gitmodules",
            format!("{DECLARED}\tignore = all\n\tupdate = !sh x\n").replace("example.org", "evil.example"),
        )
        .wrote_mode("lib", GITLINK, TWO);
    let report = hidden.check(&stand, "submodules");
    let told: Vec<String> = report.findings.iter().map(text).collect();
    assert_eq!(report.state, Ask);
    assert!(told.iter().any(|t| t.contains(ONE) && t.contains(TWO)), "{told:#?}");
    for word in
        ["`ignore = all`: git will not show its changes, and its pointer moved", "update = !sh x", "url = https://evil"]
    {
        assert!(told.iter().any(|t| t.contains(word)), "{word}: {told:#?}");
    }
    let honest = Scene::new().had(".gitmodules", DECLARED).wrote(".gitmodules", format!("{DECLARED}\tbranch = main\n"));
    assert_eq!(honest.check(&stand, "submodules").state, NotApplicable);
}

#[test]
fn places_where_work_could_hide_are_asked_about_or_told() {
    let seen = |kind| Scene::new().wrote("x", "1").saw(kind, "conftest.py");
    hold(
        "hiding-places",
        vec![
            ("nothing", Scene::new().wrote("x", "1"), Pass, ""),
            ("a commit", Scene::new().wrote("x", "1").given_as_commit(), NotApplicable, "no worktree"),
            ("assume-unchanged", seen(SightingKind::AssumeUnchanged), Ask, "conftest.py"),
            ("skip-worktree", seen(SightingKind::SkipWorktree), Ask, "no-skip-worktree"),
            ("ignored by a new rule", seen(SightingKind::NewlyIgnoredFile), Ask, "conftest.py"),
            ("ignored by the base", seen(SightingKind::IgnoredFile), Info, "conftest.py"),
            ("exclude", seen(SightingKind::Exclude), Info, "info/exclude"),
            ("executable configuration", seen(SightingKind::ExecutableConfig), Info, "programs"),
            ("converted", Scene::new().had("a", "1\r\n2\r\n").wrote("a", "1\n2\n"), Info, "CR LF to LF; nothing else"),
            (
                "converted and edited",
                Scene::new().had("a", "1\n2\n").wrote("a", "1\r\n3\r\n"),
                Info,
                "other changes hide",
            ),
            ("edited", Scene::new().had("a", "1\r\n2\r\n").wrote("a", "1\r\n3\r\n"), Pass, ""),
            ("mixed at the base", Scene::new().had("a", "1\r\n2\n").wrote("a", "1\n2\n"), Pass, ""),
            ("line endings", seen(SightingKind::LineEndings), Info, "line endings"),
        ],
    );
}

#[test]
fn sb_symlink_escape_a_link_that_leads_out_is_never_followed_and_is_asked_about() {
    hold(
        "hiding-places",
        vec![
            (
                "to the root",
                Scene::new().wrote_mode("src/all", LINK, "/"),
                Ask,
                "src/all | links that stay inside the tree | a link to `/`",
            ),
            (
                "to a secret",
                Scene::new().wrote_mode("out.xml", LINK, "/etc/passwd").given_as_commit(),
                Ask,
                "/etc/passwd",
            ),
            ("climbing", Scene::new().wrote_mode("a/l", LINK, "../../x"), Ask, "../../x"),
            ("inside", Scene::new().wrote_mode("a/l", LINK, "../src/a.rs"), Pass, ""),
            ("was so at the base", Scene::new().had_mode("l", LINK, "/etc/passwd").wrote("x", "1"), Pass, ""),
        ],
    );
    let folder = ".agentheim/contexts/shed/done";
    hold(
        "scope",
        vec![
            ("a board folder replaced", Scene::legacy().wrote_mode(folder, LINK, "/tmp"), Ask, "another page"),
            (
                "the same where the conductor keeps it",
                Scene::board().wrote_mode(".agentheim/board/shed/done", LINK, "/tmp"),
                Deny,
                "nothing under .agentheim/",
            ),
        ],
    );
}

#[test]
fn names_that_collide_or_deceive_are_asked_about() {
    hold(
        "names",
        vec![
            ("plain", Scene::new().wrote("ümlaut.md", "1"), Pass, ""),
            (
                "collides, touched",
                Scene::new().wrote("a\u{308}.md", "1").saw(SightingKind::NameCollision, "a\u{308}.md"),
                Ask,
                "a\\xcc\\x88.md",
            ),
            (
                "collides, untouched",
                Scene::new().wrote("x", "1").saw(SightingKind::NameCollision, "README"),
                Info,
                "README",
            ),
            ("reordered", Scene::new().wrote("x\u{202e}gpj.exe", "1"), Ask, "reorder"),
            ("no text", Scene::new().wrote(RepoPath::from_bytes(&b"caf\xe9"[..]), "1"), Ask, "UTF-8"),
            ("was so at the base", Scene::new().had("x\u{202e}y", "1").wrote("x\u{202e}y", "2"), Pass, ""),
        ],
    );
}

#[test]
fn only_what_nothing_executes_may_be_skipped() {
    let record = ".agentheim/knowledge/decisions/0007-x.md";
    let decision = |s: Scene| s.asked(|t| t.replace("type: feature", "type: decision"));
    let done = |s: Scene| {
        s.moved(".agentheim/contexts/shed/doing/shed-1-door.md", ".agentheim/contexts/shed/done/shed-1-door.md", |t| t)
    };
    let readme = |text: &str| Scene::legacy().wrote(".agentheim/contexts/shed/README.md", text);
    let carried = new_report("", &[("0007-x.md", records::RECORD)], "[]");
    hold(
        "skip-eligible",
        vec![
            ("prose", Scene::new().wrote("docs/a.md", "1").wrote("logo.png", "2"), Pass, "2 changed paths"),
            ("prose removed", Scene::new().had("a.md", "1").removed("a.md"), Pass, "1 changed path"),
            (
                "source",
                Scene::new().wrote("docs/a.md", "1").wrote("src/a.rs", "1"),
                NotApplicable,
                "src/a.rs: neither prose",
            ),
            ("a prompt", Scene::new().wrote("skills/x/notes.md", "1"), NotApplicable, "agents are told"),
            (
                "executable prose",
                Scene::new().wrote_mode("a.md", PROGRAM, "#!/bin/sh"),
                NotApplicable,
                "an executable file",
            ),
            ("no longer executable", Scene::new().had_mode("a.md", PROGRAM, "x").wrote("a.md", "x"), Pass, ""),
            ("a link", Scene::new().wrote_mode("a.md", LINK, "b.md"), NotApplicable, "a link"),
            ("a pointer", Scene::new().wrote_mode("a.md", GITLINK, ONE), NotApplicable, "another repository"),
            ("source renamed to prose", Scene::new().moved("src/a.rs", "a.md", |t| t), NotApplicable, "neither prose"),
            ("nothing", Scene::new(), NotApplicable, "no path changed"),
            ("a context's language", readme("# Shed\n\n## Ubiquitous language\n- **Door** — shuts\n"), Pass, ""),
            ("a context's test command", readme("# Shed\n\n## Test command\ntrue\n"), NotApplicable, "commands"),
            ("a decision", decision(Scene::legacy()).wrote(record, "x"), Info, "decision-adr"),
            ("a decision and its task", done(decision(Scene::legacy())).wrote(record, "x"), Info, "decision-adr"),
            ("a decision in the report", decision(Scene::board()).reported(&carried), Info, "decision-adr"),
            (
                "two decisions",
                decision(Scene::legacy()).wrote(record, "x").wrote(".agentheim/knowledge/decisions/0008-y.md", "1"),
                Pass,
                "",
            ),
            ("a decision and prose", decision(Scene::legacy()).wrote(record, "x").wrote("a.md", "1"), Pass, ""),
            (
                "a decision and source",
                decision(Scene::legacy()).wrote(record, "x").wrote("src/a.rs", "1"),
                NotApplicable,
                "src/a.rs",
            ),
            ("a feature with a record", Scene::legacy().wrote(record, "x"), Pass, ""),
        ],
    );
}
