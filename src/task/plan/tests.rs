use super::*;
use crate::task::board::tests::{board, page};

fn task(id: &str, lines: &str) -> String {
    page(id, "todo", "").replacen("depends_on: []\n", &format!("depends_on: []\n{lines}"), 1)
}

fn names(board: &Board, ids: &[&str]) -> Result<Plan, ScopeRefused> {
    plan(board, &ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>())
}

fn ready(plan: &Plan) -> Vec<&str> {
    plan.ready.iter().map(|ready| ready.id.as_str()).collect()
}

fn reasons(plan: &Plan, task: &str) -> String {
    let held =
        plan.held_back.iter().find(|held| held.task == task).unwrap_or_else(|| panic!("{task} is not held back"));
    held.why.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_task_is_ready_when_every_dependency_is_done_by_either_rule() {
    let board = board(&[
        ("core/done/core-1-first.md", page("core-1", "done", "")),
        ("design-system/done/design-system-001-styleguide.md", page("design-system-001", "done", "")),
        ("core/todo/core-2.md", page("core-2", "todo", "core-1, design-system-001-styleguide")),
        ("core/todo/core-3.md", page("core-3", "todo", "core-2")),
        ("core/todo/core-4.md", page("core-4", "todo", "core-9")),
    ]);
    let plan = names(&board, &[]).unwrap();
    assert_eq!(ready(&plan), ["core-2"]);
    assert!(reasons(&plan, "core-3").contains("is in `todo` (`.agentheim/board/core/todo/core-2.md`)"));
    assert!(reasons(&plan, "core-4").contains("\"core-9\", which no task answers to"));
}

#[test]
fn what_cannot_be_told_waits_and_says_why() {
    let board = board(&[
        ("core/todo/core-1.md", "no frontmatter".to_owned()),
        ("core/todo/core-2.md", page("core-2", "todo", "").replace("- [ ] it works\n", "")),
        ("core/todo/core-3-a.md", page("core-3", "todo", "")),
        ("core/doing/core-3-b.md", page("core-3", "doing", "")),
        ("core/todo/core-4.md", page("core-4", "todo", "core-3")),
    ]);
    let plan = names(&board, &[]).unwrap();
    assert_eq!(ready(&plan), [] as [&str; 0]);
    assert_eq!(plan.held_back.len(), 4);
    assert!(reasons(&plan, "core-1.md").contains("frontmatter"));
    assert!(reasons(&plan, "core-2").contains("no acceptance criterion"));
    assert!(reasons(&plan, "core-3").contains("2 files have this id"));
    assert!(reasons(&plan, "core-4").contains("may be any of"));
}

#[test]
fn a_circle_is_shown_and_starts_nothing_while_others_go_on() {
    let board = board(&[
        ("core/todo/core-1.md", page("core-1", "todo", "core-2")),
        ("core/todo/core-2.md", page("core-2", "todo", "core-1")),
        ("core/todo/core-3.md", page("core-3", "todo", "")),
    ]);
    let plan = names(&board, &[]).unwrap();
    assert_eq!(ready(&plan), ["core-3"]);
    assert_eq!(plan.cycles, [["core-1", "core-2"]]);
    assert!(reasons(&plan, "core-1").contains("it waits for itself: core-1 → core-2"));
}

#[test]
fn named_tasks_run_in_the_order_named_and_one_refused_name_refuses_all() {
    let board = board(&[
        ("core/todo/core-1.md", page("core-1", "todo", "")),
        ("core/todo/core-2.md", page("core-2", "todo", "")),
        ("core/todo/core-3.md", page("core-3", "todo", "core-2")),
        ("core/doing/core-4.md", page("core-4", "doing", "")),
        ("core/backlog/core-5.md", page("core-5", "backlog", "")),
    ]);
    let plan = names(&board, &["core-2", "core-1", "core-2", "core-4"]).unwrap();
    assert_eq!(ready(&plan), ["core-2", "core-1"]);
    assert_eq!(plan.resumed.iter().map(TaskId::as_str).collect::<Vec<_>>(), ["core-4"]);
    let refused = names(&board, &["core-1", "core-3", "core-5", "core", "core-1-x"]).unwrap_err().to_string();
    for words in [
        "core-3 is not ready: it depends on \"core-2\"",
        "core-5 is in `backlog`, not in `todo`",
        "core is on no board here",
        "core-1-x is on no board here",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn an_investigation_waits_for_the_repair_of_its_own_thread_only() {
    let board = board(&[
        ("core/todo/core-1.md", task("core-1", "tags: [login]\n").replace("type: chore", "type: spike")),
        ("core/todo/core-2.md", task("core-2", "tags: [print]\n").replace("type: chore", "type: spike")),
        ("core/todo/core-3.md", task("core-3", "tags: [login]\n").replace("type: chore", "type: bug")),
    ]);
    assert_eq!(ready(&names(&board, &[]).unwrap()), ["core-2", "core-3", "core-1"]);
}

#[test]
fn declared_paths_that_may_meet_only_order_the_landings() {
    let board = board(&[
        ("core/todo/core-1.md", task("core-1", "paths: [\"src/a/**\"]\n")),
        ("core/todo/core-2.md", task("core-2", "paths: [src/a/x.rs]\n")),
        ("core/todo/core-3.md", task("core-3", "paths: [docs/**]\n")),
        ("core/todo/core-4.md", task("core-4", "")),
    ]);
    let plan = names(&board, &[]).unwrap();
    assert_eq!(plan.ready.len(), 4);
    let pairs: Vec<_> = plan.overlaps.iter().map(|(one, other)| (one.as_str(), other.as_str())).collect();
    assert_eq!(pairs, [("core-1", "core-2")]);
}

#[test]
fn a_plan_prints_as_json() {
    let board = board(&[
        ("core/todo/core-1.md", page("core-1", "todo", "")),
        ("core/todo/core-2.md", page("core-2", "todo", "core-9")),
    ]);
    let json = serde_json::to_value(names(&board, &[]).unwrap()).unwrap();
    assert_eq!(json["ready"][0]["id"], "core-1");
    assert_eq!(json["held_back"][0]["why"][0]["reason"], "waits");
}
