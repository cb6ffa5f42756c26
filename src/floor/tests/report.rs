//! `claim-empty`, `report-shape`, `report-files`, `readme-delta`.

use super::*;
use crate::config::Bookkeeper;
use State::{Ask, Deny, Info, NotApplicable, Pass, Unknown};

fn worked() -> Scene {
    Scene::board().wrote("src/a.rs", "fn b() {}\n").wrote("src/b.rs", "1\n")
}

const BOUNCED: &str = "RESULT: BOUNCED\nTASK_ID: shed-1\nREASON: no door\n";

#[test]
fn a_claim_without_a_change_is_denied_unless_no_work_is_offered_or_the_report_carries_it() {
    let record = ("0007-x.md", records::RECORD);
    let decision = |s: Scene| s.asked(|t| t.replace("type: feature", "type: decision"));
    hold(
        "claim-empty",
        vec![
            ("nothing changed", Scene::board(), Deny, "at least one changed path"),
            ("nothing changed, no task", Scene::new(), Deny, "equals the base's"),
            ("something changed", worked(), Pass, "2 changed paths"),
            ("bounced", Scene::board().reported(BOUNCED), NotApplicable, "BOUNCED"),
            (
                "a decision in the report",
                decision(Scene::board()).reported(&new_report("", &[record], "[]")),
                Pass,
                "1 decision record",
            ),
            (
                "a feature with a record only",
                Scene::board().reported(&new_report("", &[record], "[]")),
                Deny,
                "changed path",
            ),
            (
                "a decision without its record",
                decision(Scene::board()).reported(&new_report("", &[], "[]")),
                Deny,
                "changed path",
            ),
        ],
    );
}

#[test]
fn a_report_is_of_the_bases_generation_about_this_task_and_does_not_contradict_itself() {
    let new = |from: &str, to: &str| worked().reported(&new_report("src/a.rs, src/b.rs", &[], "[]").replace(from, to));
    let old = old_report("src/a.rs, src/b.rs");
    let legacy = || Scene::legacy().wrote("src/a.rs", "1").wrote("src/b.rs", "1");
    let by_worker = worked().set(|s| s.scope.bookkeeping = Some(Bookkeeper::Worker));
    let by_conductor = legacy().set(|s| s.scope.bookkeeping = Some(Bookkeeper::Conductor));
    let unsafe_record = new_report("", &[("../0001-x.md", "text")], "[]");
    hold(
        "report-shape",
        vec![
            ("no report", worked(), NotApplicable, "no report was given"),
            ("an honest report", new("", ""), Pass, ""),
            (
                "an honest report with its end line",
                new("BACKLOG_ITEMS\n````\n", "BACKLOG_ITEMS\n````\nRESULT_END\n"),
                Pass,
                "",
            ),
            ("rejected", worked().reported("Hello\nRESULT: SUCCESS\n"), Deny, "missing-result-line"),
            ("first generation, conductor's board", worked().reported(&old), Deny, "generation A"),
            ("first generation, worker's board", legacy().reported(&old), Pass, ""),
            ("new generation, worker's board", legacy().reported(&new_report("src/a.rs", &[], "[]")), Pass, ""),
            ("first generation, settings say worker", by_worker.reported(&old), Pass, ""),
            ("first generation, settings say conductor", by_conductor.reported(&old), Deny, "generation A"),
            ("first generation, no board", Scene::new().reported(&old), Pass, ""),
            ("another task", new("TASK_ID: shed-1", "TASK_ID: shed-2"), Deny, "shed-2"),
            ("red tests", new("TESTS_PASSING: yes", "TESTS_PASSING: no"), Deny, "tests-not-passing"),
            ("half green tests", new("TESTS_PASSING: yes", "TESTS_PASSING: mostly"), Ask, "not-yes-or-no"),
            ("a record it does not carry", new("ADRS_WRITTEN: none", "ADRS_WRITTEN: 0009"), Deny, "adrs-mismatch"),
            ("a name that climbs", worked().reported(&unsafe_record), Deny, "unsafe-file-name"),
            ("odd concept", new("CONCEPT_CANDIDATE: none", "CONCEPT_CANDIDATE: maybe"), Info, "concept-shape"),
            ("bounced", worked().reported(BOUNCED), Pass, "BOUNCED: no door"),
            (
                "failed",
                worked().reported("RESULT: FAILED\nTASK_ID: shed-1\nERROR: it broke\nRESULT_END\n"),
                Pass,
                "it broke",
            ),
        ],
    );
}

#[test]
fn the_file_list_is_compared_both_ways() {
    let listing = |files: &str| worked().reported(&new_report(files, &[], "[]"));
    let generated = |s: Scene| s.set(|s| s.generated = vec!["gen/**".to_owned()]);
    hold(
        "report-files",
        vec![
            ("no report", worked(), NotApplicable, "no report"),
            ("rejected", worked().reported("?"), NotApplicable, "report-shape"),
            ("bounced", worked().reported(BOUNCED), NotApplicable, "BOUNCED"),
            ("both listed", listing("src/a.rs, src/b.rs"), Pass, "2 listed, 2 changed paths"),
            ("listed by absolute path", listing("/wt/src/a.rs, /wt/./src/b.rs"), Pass, ""),
            (
                "one kept quiet",
                listing("src/a.rs"),
                Deny,
                "src/b.rs | listed in FILE_LIST, or restored from the base | changed but not reported",
            ),
            (
                "one made up",
                listing("src/a.rs, src/b.rs, src/c.rs"),
                Deny,
                "src/c.rs | a changed file, or no mention in FILE_LIST | listed but not changed",
            ),
            ("a lockfile kept quiet", listing("src/a.rs, src/b.rs").wrote("web/package-lock.json", "{}"), Pass, ""),
            ("a lockfile made up", listing("src/a.rs, src/b.rs, Cargo.lock"), Deny, "Cargo.lock"),
            ("a generated file kept quiet", generated(listing("src/a.rs, src/b.rs")).wrote("gen/x", "1"), Pass, ""),
            ("the same, not configured", listing("src/a.rs, src/b.rs").wrote("gen/x", "1"), Deny, "gen/x"),
            (
                "unreadable globs",
                listing("src/a.rs, src/b.rs").set(|s| s.generated = vec!["{".to_owned()]),
                Unknown,
                "generated",
            ),
            ("a removed file kept quiet", listing("src/b.rs").removed("src/a.rs"), Deny, "src/a.rs"),
            ("outside", listing("src/a.rs, src/b.rs, /etc/passwd"), Deny, "outside of it"),
            ("climbing", listing("src/a.rs, src/b.rs, ../x"), Deny, "outside of it"),
            ("absolute, worktree unknown", listing("/w/src/a.rs, /w/src/b.rs").given_as_commit(), Pass, ""),
            ("the same, one made up", listing("/w/src/a.rs, /w/src/b.rs, /w/c").given_as_commit(), Deny, "c |"),
            (
                "absolute, no one folder",
                listing("/w/src/a.rs, /v/src/b.rs").given_as_commit(),
                Unknown,
                "not known here",
            ),
            ("a folder", listing("src/a.rs, src/b.rs, src/"), Ask, "a folder"),
            ("windows slashes", listing("src\\a.rs, src/b.rs"), Info, "taken as src/a.rs"),
            (
                "miscounted",
                worked().reported(
                    &new_report("src/a.rs, src/b.rs", &[], "[]").replace("FILES_CHANGED: 2", "FILES_CHANGED: 3"),
                ),
                Ask,
                "FILES_CHANGED",
            ),
            ("none", Scene::board().wrote("src/a.rs", "1").reported(&new_report("none", &[], "[]")), Deny, "src/a.rs"),
        ],
    );
}

#[test]
fn a_name_that_the_list_cannot_carry_is_named_and_denies_nothing() {
    let stand = Stand::new();
    let scene =
        worked().wrote("doc/a, b.txt", "1").reported(&new_report("src/a.rs, src/b.rs, doc/a, b.txt", &[], "[]"));
    let report = scene.check(&stand, "report-files");
    let told: Vec<(State, &str)> = report.findings.iter().map(|f| (f.state, f.place.as_str())).collect();
    assert_eq!(told, [(Info, "doc/a, b.txt")]);
}

#[test]
fn enc_normalisation_the_composed_name_in_the_list_is_not_the_decomposed_one_that_changed() {
    let stand = Stand::new();
    let (composed, decomposed) = ("\u{e4}.md", "a\u{308}.md");
    let scene = Scene::new().had(composed, "1").had(decomposed, "1").wrote(decomposed, "2");
    let report = scene.reported(&old_report(composed)).check(&stand, "report-files");
    let told: Vec<&str> = report.findings.iter().map(|f| f.observed.as_str()).collect();
    assert_eq!(
        told,
        ["changed but not reported (bytes: a\\xcc\\x88.md)", "listed but not changed (bytes: \\xc3\\xa4.md)"]
    );
    assert_eq!(report.state, Deny);
    let honest =
        Scene::new().had(composed, "1").had(decomposed, "1").wrote(decomposed, "2").reported(&old_report(decomposed));
    assert_eq!(honest.check(&stand, "report-files").state, Pass);
}

#[test]
fn a_worker_that_keeps_the_board_need_not_list_its_moved_task() {
    let task = ".agentheim/contexts/shed/doing/shed-1-door.md";
    let done = |s: Scene| {
        s.moved(task, ".agentheim/contexts/shed/done/shed-1-door.md", |t| t.replace("status: doing", "status: done"))
    };
    let item = ".agentheim/contexts/shed/backlog/shed-2-hinge.md";
    let report = old_report("src/a.rs");
    let named = report.replace("NEW_BACKLOG_ITEMS: none", "NEW_BACKLOG_ITEMS: shed-2");
    let base = || done(Scene::legacy()).wrote("src/a.rs", "1");
    hold(
        "report-files",
        vec![
            ("not listed", base().reported(&report), Pass, ""),
            (
                "listed in its new place",
                base().reported(&old_report("src/a.rs, .agentheim/contexts/shed/done/shed-1-door.md")),
                Pass,
                "",
            ),
            ("a backlog item it names", base().wrote(item, "x").reported(&named), Pass, ""),
            ("a backlog item kept quiet", base().wrote(item, "x").reported(&report), Deny, "shed-2-hinge"),
        ],
    );
}

#[test]
fn l3_and_l4_paths_outside_have_their_own_reason_and_both_lists_keep_their_order() {
    let stand = Stand::new();
    let scene = worked().reported(&new_report("/other/x, src/z.rs, ../y, src/c.rs", &[], "[]"));
    let report = scene.check(&stand, "report-files");
    let outside: Vec<&str> =
        report.findings.iter().filter(|f| f.observed.contains("outside")).map(|f| f.place.as_str()).collect();
    assert_eq!(outside, ["FILE_LIST: /other/x", "FILE_LIST: ../y"]);
    let quiet: Vec<&str> =
        report.findings.iter().filter(|f| f.observed.contains("not reported")).map(|f| f.place.as_str()).collect();
    assert_eq!(quiet, ["src/a.rs", "src/b.rs"]);
    assert_eq!(Scene::board().reported(&new_report("", &[], "[]")).check(&stand, "report-files").state, Pass);
}

#[test]
fn readme_changes_need_a_shape_and_should_find_what_they_name() {
    let delta = |json: &str| worked().reported(&new_report("src/a.rs, src/b.rs", &[], json));
    let replace = r#"[{"section":"Ubiquitous language","ops":[{"op":"replace","anchor":"Door","expected":"- **Door** (noun) — opens","body":"- **Door** — shuts"}]}]"#;
    let append = r#"[{"section":"Ubiquitous language","ops":[{"op":"append","body":"- **Hinge** — turns"}]}]"#;
    hold(
        "readme-delta",
        vec![
            ("no report", worked(), NotApplicable, "no report"),
            ("no blocks", Scene::legacy().reported(&old_report("")), NotApplicable, "README_DELTA"),
            ("nothing to change", delta("[]"), Pass, ""),
            ("a bullet more", delta(append), Pass, ""),
            ("a bullet rewritten", delta(replace), Pass, ""),
            ("an unknown op", delta(&append.replace("append", "remove")), Deny, "`append` or `replace`"),
            ("no section", delta(&append.replace("\"section\"", "\"sektion\"")), Deny, "section"),
            ("a missing anchor", delta(&replace.replace("\"Door\"", "\"Window\"")), Ask, "Window"),
            ("a misquoted bullet", delta(&replace.replace("— opens", "— opened")), Ask, "reads otherwise"),
            ("a missing section", delta(&append.replace("Ubiquitous language", "Actors")), Ask, "## Actors"),
            (
                "no page at the base",
                delta(&append.replace("\"section\"", "\"document\":\"context-map.md\",\"section\"")),
                Ask,
                "no such page",
            ),
            ("already there", delta(&append.replace("**Hinge** — turns", "**Door** (noun) — opens")), Info, "already"),
        ],
    );
}
