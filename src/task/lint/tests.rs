use super::*;
use crate::task::board::BoardFile;
use crate::task::board::tests::{board, page};

fn ids(board: &Board) -> Vec<(&'static str, String)> {
    check(board)
        .into_iter()
        .map(|lint| (lint.id, String::from_utf8_lossy(lint.path.file_name()).into_owned()))
        .collect()
}

fn named(found: &[(&'static str, String)]) -> Vec<&'static str> {
    found.iter().map(|(id, _)| *id).collect()
}

#[test]
fn a_clean_board_has_no_lints() {
    let board = board(&[
        ("core/done/core-1-first.md", page("core-1", "done", "")),
        ("core/todo/core-k3f9q.md", page("core-k3f9q", "todo", "core-1")),
    ]);
    assert_eq!(ids(&board), []);
}

/// Case C064.
#[test]
fn task_duplicate_state_duplicates_and_mismatches_are_errors_with_all_paths() {
    let board = board(&[
        ("core/doing/core-1.md", page("core-1", "doing", "")),
        ("core/todo/core-1.md", page("core-1", "todo", "")),
        ("design-system/todo/core-1-b.md", page("core-1", "todo", "")),
        ("core/todo/core-2.md", page("core-2", "done", "")),
        ("core/todo/core-3.md", page("core-4", "todo", "")),
        ("core/todo/w-1.md", page("w-1", "todo", "").replace("id: w-1", "id: w-1\ncontext: core")),
        ("core/todo/W-1-b.md", page("W-1", "todo", "")),
    ]);
    let lints = check(&board);
    let of = |name: &str| -> Vec<&'static str> {
        lints.iter().filter(|l| l.path.to_string().ends_with(name)).map(|l| l.id).collect()
    };
    assert_eq!(of("board/core/doing/core-1.md"), ["id-duplicate"]);
    assert_eq!(of("board/core/todo/core-1.md"), ["id-duplicate"]);
    assert_eq!(of("design-system/todo/core-1-b.md"), ["context-folder", "id-duplicate"]);
    assert_eq!(of("core-2.md"), ["status-folder"]);
    assert_eq!(of("core-3.md"), ["file-name"]);
    assert_eq!(of("w-1.md"), ["id-duplicate"]);
    assert_eq!(of("W-1-b.md"), ["id-duplicate", "id-grammar"]);
    let first = lints.iter().find(|l| l.id == "id-duplicate").unwrap();
    for path in ["core/doing/core-1.md", "core/todo/core-1.md", "design-system/todo/core-1-b.md"] {
        assert!(first.message.contains(path), "{}", first.message);
    }
    assert_eq!(blocking(&lints, &first.path).count(), 1);
    let other = RepoPath::from(".agentheim/board/core/todo/core-3.md");
    assert_eq!(blocking(&lints, &other).count(), 0);
}

/// N4, in both layouts.
#[test]
fn n4_malformed_ids_are_found_in_both_layouts_and_grandfathered_ones_are_not() {
    for root in [".agentheim/contexts", ".agentheim/board"] {
        let files: Vec<BoardFile> = ["infrastructure-5w5gs", "infrastructure-7x7gs", "infrastructure-k3f9q"]
            .map(|id| BoardFile {
                path: RepoPath::from(format!("{root}/infrastructure/done/{id}.md").as_str()),
                bytes: page(id, "done", "").into_bytes(),
            })
            .to_vec();
        let mut paths: Vec<RepoPath> = files.iter().map(|file| file.path.clone()).collect();
        if root.ends_with("board") {
            paths.push(RepoPath::from(".agentheim/knowledge/contexts/infrastructure/README.md"));
        }
        let board = Board::read(&paths, files).unwrap();
        assert_eq!(ids(&board), [("id-grammar", "infrastructure-7x7gs.md".to_owned())], "{root}");
    }
}

#[test]
fn dependencies_that_lead_nowhere_or_in_circles_are_named() {
    let board = board(&[
        ("core/done/core-9-old.md", page("core-9", "done", "core-77")),
        ("core/todo/core-1.md", page("core-1", "todo", "core-2")),
        ("core/todo/core-2.md", page("core-2", "todo", "core-1, core-88, core-9-old")),
    ]);
    let lints = check(&board);
    let shape: Vec<_> = lints.iter().map(|l| (l.id, l.level)).collect();
    assert_eq!(
        shape,
        [
            ("dependency-dangling", Level::Warning),
            ("dependency-cycle", Level::Error),
            ("dependency-by-file-name", Level::Info),
            ("dependency-cycle", Level::Error),
            ("dependency-dangling", Level::Error),
        ]
    );
    assert!(lints[4].message.contains("core-88"));
}

/// K3 and K4.
#[test]
fn k3_and_k4_human_eye_tasks_need_their_note() {
    let text = |created: &str, status: &str, criteria: &str| {
        page("core-1", status, "").replace("2026-11-01", created).replace("- [ ] it works\n", criteria)
    };
    let all = "- [ ] a [human-eye]\n- [x] b\n  wraps **[Human-Eye]**\n";
    let with_note = format!("{all}\n## Notes\nThis is Builder-Eye Only.\n");
    for (folder, created, criteria, flagged) in [
        ("todo", "2026-07-22", all, true),
        ("doing", "2026-07-22", all, true),
        ("done", "2026-07-22", all, true),
        ("backlog", "2026-07-22", all, false),
        ("todo", "2026-07-21", all, false),
        ("todo", "soon", all, false),
        ("todo", "9999-1-1", all, false),
        ("todo", "2026-07-22", &with_note, false),
        ("todo", "2026-07-22", "- [ ] a [human-eye]\n- [ ] b\n", false),
        ("todo", "2026-07-22", "- [ ] b\n", false),
        ("backlog", "2026-07-22", "", false),
    ] {
        for context in ["core", "design-system"] {
            let path = format!("{context}/{folder}/core-1.md");
            let found = ids(&board(&[(&path, text(created, folder, criteria))]));
            assert_eq!(named(&found).contains(&"human-eye-note"), flagged, "{path} {created} {criteria:?}");
        }
    }
    let none = board(&[("core/todo/core-1.md", text("2026-07-22", "todo", ""))]);
    assert_eq!(named(&ids(&none)), ["criteria-none"]);
}

#[test]
fn spikes_need_a_limit_in_every_folder() {
    let text = |folder: &str, created: &str, more: &str| {
        page("core-1", folder, "").replace("type: chore", "type: spike").replace("2026-11-01", created) + more
    };
    for (folder, created, more, flagged) in [
        ("backlog", "2026-07-22", "", true),
        ("done", "2026-07-22", "", true),
        ("todo", "2026-07-22", "Stop-Loss: a day\n", false),
        ("todo", "2026-07-22", "else RECORD IT AND STOP\n", false),
        ("todo", "2026-07-21", "", false),
        ("todo", "", "", false),
    ] {
        let found = ids(&board(&[(&format!("core/{folder}/core-1.md"), text(folder, created, more))]));
        assert_eq!(named(&found).contains(&"spike-stop-loss"), flagged, "{folder} {created} {more:?}");
    }
    let in_title = text("todo", "2026-07-22", "").replace("title: t", "title: stop-loss");
    assert_eq!(named(&ids(&board(&[("core/todo/core-1.md", in_title)]))), ["spike-stop-loss"]);
}

#[test]
fn odd_files_and_folders_are_reported() {
    let odd = page("core-1", "todo", "")
        .replace("type: chore", "type: epic")
        .replace("title: t", "title: a\u{202e}b")
        .replace("- [ ] it works\n", "- [~] half\r\n- [ ] x (file: ../y)\n");
    let board = board(&[
        ("core/todo/core-1.md", odd),
        ("core/todo/core-2.md", String::new()),
        ("lost/todo/lost-1.md", page("lost-1", "todo", "")),
    ]);
    assert_eq!(
        named(&ids(&board)),
        [
            "criteria-bad-proof",
            "criteria-odd-mark",
            "line-endings",
            "title-hidden-characters",
            "type-unknown",
            "task-malformed",
            "orphan-task-folder"
        ]
    );
}
