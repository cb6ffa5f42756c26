//! `scope` and `tamper`.

use super::*;
use State::{Ask, Deny, Info, NotApplicable, Pass, Unknown};

const DOING: &str = ".agentheim/contexts/shed/doing/shed-1-door.md";
const DONE: &str = ".agentheim/contexts/shed/done/shed-1-door.md";

fn finished(edit: impl Fn(String) -> String) -> Scene {
    Scene::legacy()
        .moved(DOING, DONE, |t| edit(t.replace("status: doing", "status: done") + "\n## Outcome\nIt opens.\n"))
}

#[test]
fn scope_denies_only_what_is_declared_or_what_the_layout_says() {
    let declared = |s: Scene| s.asked(|t| t.replace("completed:", "paths: [src/**, Cargo.toml]\ncompleted:"));
    let forbidden = |s: Scene| s.set(|s| s.scope.forbidden = vec!["vendor/**".to_owned()]);
    hold(
        "scope",
        vec![
            ("no task", Scene::new().wrote("x", "1"), NotApplicable, "no task"),
            ("unexpected, none declared", Scene::legacy().wrote("deep/x", "1"), Pass, "declares no `paths`"),
            (
                "inside the declared",
                declared(Scene::legacy()).wrote("src/n.rs", "1").wrote("Cargo.toml", "1"),
                Pass,
                "",
            ),
            ("outside the declared", declared(Scene::legacy()).wrote("lib/n.rs", "1"), Deny, "lib/n.rs"),
            (
                "moved out of the declared",
                declared(Scene::legacy()).moved("src/a.rs", "lib/a.rs", |t| t),
                Deny,
                "lib/a.rs",
            ),
            ("removed outside the declared", declared(Scene::legacy().had("x", "1")).removed("x"), Deny, "x |"),
            ("forbidden", forbidden(Scene::legacy()).wrote("vendor/x", "1"), Deny, "forbid"),
            ("forbidden, no task", forbidden(Scene::new()).wrote("vendor/x", "1"), Deny, "forbid"),
            ("near the forbidden", forbidden(Scene::legacy()).wrote("vendors/x", "1"), Pass, ""),
            (
                "unreadable glob",
                Scene::legacy().set(|s| s.scope.forbidden = vec!["[".to_owned()]).wrote("x", "1"),
                Unknown,
                "scope.forbidden",
            ),
        ],
    );
}

#[test]
fn the_bases_layout_says_what_a_worker_writes_under_agentheim() {
    let record = ".agentheim/knowledge/decisions/0001-x.md";
    let quiet = |s: Scene| s.untasked().set(|s| s.scope.forbidden = vec!["vendor/**".to_owned()]);
    hold(
        "scope",
        vec![
            ("legacy: own README", Scene::legacy().wrote(".agentheim/contexts/shed/README.md", "1"), Pass, ""),
            (
                "legacy: another README",
                Scene::legacy().wrote(".agentheim/contexts/barn/README.md", "1"),
                Deny,
                "another context's README",
            ),
            ("legacy: a record", Scene::legacy().wrote(record, "1"), Pass, ""),
            ("legacy: its task", finished(|t| t), Pass, ""),
            (
                "legacy: a backlog item",
                Scene::legacy().wrote(".agentheim/contexts/shed/backlog/shed-2.md", "1"),
                Pass,
                "",
            ),
            (
                "legacy: the styleguide",
                Scene::legacy().wrote(".agentheim/contexts/design-system/styleguide/a.js", "1"),
                Pass,
                "",
            ),
            ("legacy: the context map", Scene::legacy().wrote(".agentheim/context-map.md", "1"), Ask, "another page"),
            ("legacy: state", Scene::legacy().wrote(".agentheim/state/x.json", "1"), Deny, "running project"),
            (
                "board: own README",
                Scene::board().wrote(".agentheim/knowledge/contexts/shed/README.md", "1"),
                Deny,
                "README_DELTA",
            ),
            ("board: a record", Scene::board().wrote(record, "1"), Deny, "ADRS"),
            (
                "board: the vision",
                Scene::board().wrote(".agentheim/knowledge/vision.md", "1"),
                Deny,
                "nothing under .agentheim/",
            ),
            (
                "board: the styleguide",
                Scene::board().wrote(".agentheim/knowledge/contexts/design-system/styleguide/a.js", "1"),
                Pass,
                "",
            ),
            ("board: a namesake", Scene::board().wrote(".agentheim-notes.md", "1"), Pass, ""),
            (
                "board: a person's own change",
                quiet(Scene::board()).wrote(".agentheim/knowledge/vision.md", "1"),
                Pass,
                "",
            ),
        ],
    );
}

#[test]
fn l1_and_l2_the_peers_prefix_lists_hold_as_configuration_and_not_as_defaults() {
    let peer = |s: Scene| {
        s.set(|s| {
            s.derived_artifacts = vec!["dashboard/dist/".to_owned()];
            s.scope.forbidden = vec![".agentheim/".to_owned()];
        })
    };
    let touch = |s: Scene, path: &str| s.wrote(path, "1");
    hold(
        "derived-artifacts",
        vec![
            ("not configured", touch(Scene::new(), "dashboard/dist/app.js"), NotApplicable, "configured"),
            ("derived", touch(peer(Scene::new()), "dashboard/dist/app.js"), Deny, "written by a build only"),
            ("derived, nested", touch(peer(Scene::new()), "dashboard/dist/a/b/c.js"), Deny, "dashboard/dist/a/b/c.js"),
            ("derived, dotfile", touch(peer(Scene::new()), "dashboard/dist/.map"), Deny, ".map"),
            ("source", touch(peer(Scene::new()), "dashboard/src/app.js"), Pass, ""),
            ("a namesake", touch(peer(Scene::new()), "dashboard/dist-notes.md"), Pass, ""),
            (
                "moved away",
                peer(Scene::new().had("dashboard/dist/a.js", "long enough to be found\n")).moved(
                    "dashboard/dist/a.js",
                    "a.js",
                    |t| t,
                ),
                Deny,
                "dashboard/dist/a.js",
            ),
            (
                "unreadable",
                touch(Scene::new().set(|s| s.derived_artifacts = vec![String::new()]), "x"),
                Unknown,
                "globs",
            ),
        ],
    );
    hold(
        "scope",
        vec![
            ("bookkeeping", touch(peer(Scene::new()), ".agentheim/board/protocol.md"), Deny, "forbid"),
            ("a namesake", touch(peer(Scene::new()), ".agentheim-notes.md"), Pass, ""),
        ],
    );
}

#[test]
fn a_worker_that_keeps_the_board_moves_its_task_and_writes_its_outcome() {
    let edit = |from: &'static str, to: &'static str| finished(move |t| t.replace(from, to));
    let back = |report: &str| {
        let scene = Scene::legacy().moved(DOING, ".agentheim/contexts/shed/backlog/shed-1-door.md", |t| {
            t.replace("status: doing", "status: backlog") + "\n## Worker note\nno door\n"
        });
        if report.is_empty() { scene } else { scene.reported(report) }
    };
    hold(
        "tamper",
        vec![
            ("finished", finished(|t| t), Pass, ""),
            ("ticked", edit("- [ ] the door", "- [x] the door"), Pass, ""),
            ("dated", edit("completed:", "completed: 2026-01-02"), Pass, ""),
            ("left in doing", Scene::legacy().wrote("src/a.rs", "1"), Pass, ""),
            ("linked to its record", edit("related_adrs: []", "related_adrs: [ADR-0007]"), Pass, ""),
            (
                "a link taken away",
                Scene::legacy().asked(|t| t.replace("related_adrs: []", "related_adrs: [0003]")).moved(
                    DOING,
                    DONE,
                    |t| t.replace("status: doing", "status: done").replace("[0003]", "[]"),
                ),
                Deny,
                "`0003` is gone",
            ),
            (
                "the conductor's note",
                finished(|t| t + "\n## Verifier note (iteration 1)\nFAIL\n"),
                Info,
                "Verifier note",
            ),
            ("softened criterion", edit("the door opens", "the door may open"), Deny, "the door may open"),
            ("softened wrapped line", edit("without a sound", "with a sound"), Deny, "with a sound"),
            ("another title", edit("title: Door", "title: Window"), Deny, "shed-1-door.md:3"),
            ("ticked by a person only", edit("- [ ] it looks", "- [x] it looks"), Deny, "only a person"),
            ("unreadable afterwards", edit("title: Door", "title: Door\ntitle: Door"), Deny, "title"),
            ("status against folder", edit("status: done", "status: doing"), Ask, "status: doing"),
            ("removed", Scene::legacy().removed(DOING), Deny, "removed"),
            ("in two folders", Scene::legacy().wrote(DONE, TASK), Deny, "in several folders"),
            ("bounced", back("RESULT: BOUNCED\nTASK_ID: shed-1\nREASON: no door\n"), Pass, ""),
            ("a bounce without a report", back(""), Deny, "Worker note"),
            ("only line endings", Scene::legacy().wrote(DOING, TASK.replace('\n', "\r\n")), Info, "line endings"),
            (
                "a link in its place",
                Scene::legacy().removed(DOING).wrote_mode(DONE, LINK, "/etc/passwd"),
                Deny,
                "a page, not a link",
            ),
        ],
    );
}

#[test]
fn where_the_conductor_keeps_the_board_a_worker_changes_no_task_file() {
    let own = ".agentheim/board/shed/doing/shed-1-door.md";
    let done = ".agentheim/board/shed/done/shed-1-door.md";
    hold(
        "tamper",
        vec![
            ("untouched", Scene::board().wrote("src/a.rs", "1"), Pass, ""),
            ("ticked", Scene::board().wrote(own, TASK.replace("- [ ] the", "- [x] the")), Deny, ":15"),
            ("moved", Scene::board().moved(own, done, |t| t), Deny, "the conductor moves tasks"),
            (
                "another task",
                Scene::board()
                    .had(".agentheim/board/shed/todo/shed-2.md", "x")
                    .removed(".agentheim/board/shed/todo/shed-2.md"),
                Deny,
                "another task's file",
            ),
            (
                "a new backlog item",
                Scene::board().wrote(".agentheim/board/shed/backlog/shed-3.md", "x"),
                Deny,
                "another task's file",
            ),
        ],
    );
}

#[test]
fn pages_that_others_keep_are_left_alone() {
    let touch = |path: &str| Scene::legacy().wrote(path, "changed\n");
    let declared = |s: Scene| s.asked(|t| t.replace("completed:", "paths: [.agentheim/countersign.yaml]\ncompleted:"));
    let other = ".agentheim/contexts/shed/todo/shed-2-hinge.md";
    hold(
        "tamper",
        vec![
            ("protocol", touch(".agentheim/knowledge/protocol.md"), Deny, "protocol"),
            ("protocol archive", touch(".agentheim/knowledge/protocol/2026-01.md"), Deny, "protocol"),
            ("index", touch(".agentheim/contexts/shed/INDEX.md"), Deny, "INDEX"),
            ("another index", touch(".agentheim/contexts/barn/INDEX.md"), Deny, "INDEX"),
            ("top index", touch(".agentheim/knowledge/index.md"), Deny, "INDEX"),
            ("done archive", touch(".agentheim/contexts/shed/done-archive/2026-01.md"), Deny, "archive"),
            ("settings", touch(".agentheim/countersign.yaml"), Deny, "settings"),
            (
                "settings, as asked",
                declared(Scene::legacy()).wrote(".agentheim/countersign.yaml", "1"),
                Ask,
                "approves",
            ),
            ("another task", Scene::legacy().had(other, "x").wrote(other, "y"), Deny, "another task's file"),
            ("another task removed", Scene::legacy().had(other, "x").removed(other), Deny, "another task's file"),
            ("a task made ready", touch(other), Deny, "another task's file"),
            ("a backlog item", touch(".agentheim/contexts/shed/backlog/shed-3.md"), Pass, ""),
            ("its own README", touch(".agentheim/contexts/shed/README.md"), Pass, ""),
            ("a person's own change", touch(".agentheim/knowledge/protocol.md").untasked(), Info, "no task"),
            (
                "rewritten history",
                Scene::legacy().saw(SightingKind::RewrittenHistory, "x"),
                Deny,
                "no longer an ancestor",
            ),
        ],
    );
}

#[test]
fn hack_runner_config_what_judges_the_claim_is_asked_about() {
    let touch = |path: &str| Scene::legacy().had(path, "old\n").wrote(path, "new\n");
    let tests = |command: &'static str, s: Scene| s.set(move |s| s.tests.command = Some(command.to_owned()));
    let judge = |s: Scene| {
        s.set(|s| {
            let program = crate::config::VerifierProgram {
                command: vec!["judge".to_owned(), "--prompt=prompts/judge.md".to_owned()],
                ..crate::config::VerifierProgram::default()
            };
            s.verifiers.insert("j".to_owned(), program);
        })
    };
    let package = |new: &str| {
        let old = r#"{"scripts":{"test":"node --test"},"version":"1"}"#;
        tests("npm test", Scene::legacy().had("package.json", old).wrote("package.json", new))
    };
    hold(
        "tamper",
        vec![
            ("workflow", touch(".github/workflows/ci.yml"), Ask, "CI"),
            (
                "workflow removed",
                Scene::legacy().had(".github/workflows/ci.yml", "x").removed(".github/workflows/ci.yml"),
                Ask,
                "CI",
            ),
            ("gitlab", touch(".gitlab-ci.yml"), Ask, "CI"),
            ("hooks", touch(".pre-commit-config.yaml"), Ask, "commit hooks"),
            ("verifier's prompt", touch("agents/verifier.md"), Ask, "verifier's prompt"),
            ("configured prompt", judge(touch("prompts/judge.md")), Deny, "its judge"),
            ("another prompt", judge(touch("prompts/other.md")), Pass, ""),
            ("linter levels", touch("clippy.toml"), Ask, "linter"),
            ("coverage", touch(".coveragerc"), Ask, "coverage"),
            ("makefile of the test command", tests("make test", touch("Makefile")), Ask, "test command"),
            ("makefile of nothing", tests("cargo test", touch("Makefile")), Pass, ""),
            ("script of the test command", tests("sh ./ci/run.sh && true", touch("ci/run.sh")), Ask, "test command"),
            ("npm scripts", package(r#"{"scripts":{"test":"true"},"version":"1"}"#), Ask, "scripts"),
            ("npm version", package(r#"{"scripts":{"test":"node --test"},"version":"2"}"#), Pass, ""),
            ("plain source", touch("src/ci.rs"), Pass, ""),
            (
                "a context's test command",
                Scene::legacy().wrote(".agentheim/contexts/shed/README.md", "# Shed\n\n## Test command\ntrue\n"),
                Ask,
                "gives to the gate",
            ),
        ],
    );
}

#[test]
fn snap_exclude_hides_rules_that_hide_files_are_asked_about() {
    let ignoring =
        |rule: &str| Scene::new().had(".gitignore", "target\n").wrote(".gitignore", format!("target\n{rule}\n"));
    let attributes = |rule: &str| Scene::new().wrote(".gitattributes", format!("# why\n{rule}\n"));
    hold(
        "tamper",
        vec![
            ("conftest", ignoring("conftest.py"), Ask, ".gitignore:2"),
            ("tests", ignoring("/tests/"), Ask, "test run"),
            ("everything", ignoring("*"), Ask, "at all"),
            ("build output", ignoring("dist/"), Info, "dist/"),
            ("test results", ignoring("test-results/"), Info, "test-results"),
            ("a namesake", ignoring("latest"), Info, "latest"),
            ("an exception", ignoring("!keep"), Pass, ""),
            ("no new rule", Scene::new().had(".gitignore", "a\nb\n").wrote(".gitignore", "b\r\na\r\n"), Pass, ""),
            ("export-ignore", attributes("tests export-ignore"), Ask, "archives"),
            ("-diff", attributes("*.rs -diff"), Ask, "diffs"),
            ("filter", attributes("*.rs filter=x"), Ask, "program"),
            ("generated", attributes("src/** linguist-generated"), Ask, "reviews"),
            ("lfs", attributes("*.bin filter=lfs diff=lfs merge=lfs -text"), Info, "LFS"),
            ("images", attributes("*.png binary"), Pass, ""),
            ("line endings", attributes("* text=auto eol=lf"), Pass, ""),
        ],
    );
}
