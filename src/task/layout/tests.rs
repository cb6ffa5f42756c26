use super::*;

fn detected(paths: &[&str]) -> Result<Option<Layout>, LayoutError> {
    let paths: Vec<RepoPath> = paths.iter().map(|p| RepoPath::from(*p)).collect();
    detect(&paths)
}

#[test]
fn the_layout_is_told_from_what_exists() {
    for (paths, want) in [
        (&["src/lib.rs", "contexts/x"][..], None),
        (&[".agentheim/countersign.yaml"], None),
        (&[".agentheim/contexts/a/README.md", ".agentheim/vision.md"], Some(Layout::Legacy)),
        (&[".agentheim/contexts"], Some(Layout::Legacy)),
        (&[".agentheim/board/a/todo/a-1.md", ".agentheim/knowledge/vision.md"], Some(Layout::Board)),
        (&[".agentheim/knowledge/index.md"], Some(Layout::Board)),
        (&[".agentheim/boards/x", ".agentheim/contexts-old/x"], None),
    ] {
        assert_eq!(detected(paths).unwrap(), want, "{paths:?}");
    }
}

#[test]
fn half_migrated_projects_are_refused() {
    for paths in [
        &[".agentheim/contexts/a/README.md", ".agentheim/board/a/todo/a-1.md"][..],
        &[".agentheim/vision.md", ".agentheim/knowledge/vision.md"],
        &[".agentheim/contexts", ".agentheim/board"],
    ] {
        assert!(matches!(detected(paths), Err(LayoutError::Mixed { .. })), "{paths:?}");
    }
}

#[test]
fn every_page_has_its_place_in_both_layouts() {
    let bc = ContextName::new("core").unwrap();
    let all = |l: Layout| {
        [
            l.folder(&bc, Folder::Doing),
            l.task_index(&bc),
            l.knowledge_index(&bc),
            l.done_archive(&bc),
            l.readme(&bc),
            l.concepts(&bc),
            l.styleguide(),
            l.protocol(),
            l.protocol_archive(),
            l.vision(),
            l.context_map(),
        ]
        .map(|p| p.to_string().replace(".agentheim/", ""))
    };
    assert_eq!(
        all(Layout::Legacy),
        [
            "contexts/core/doing",
            "contexts/core/INDEX.md",
            "contexts/core/INDEX.md",
            "contexts/core/done-archive",
            "contexts/core/README.md",
            "contexts/core/concepts",
            "contexts/design-system/styleguide",
            "knowledge/protocol.md",
            "knowledge/protocol",
            "vision.md",
            "context-map.md",
        ]
    );
    assert_eq!(
        all(Layout::Board),
        [
            "board/core/doing",
            "board/core/INDEX.md",
            "knowledge/contexts/core/INDEX.md",
            "board/core/done-archive",
            "knowledge/contexts/core/README.md",
            "knowledge/contexts/core/concepts",
            "knowledge/contexts/design-system/styleguide",
            "board/protocol.md",
            "board/protocol",
            "knowledge/vision.md",
            "knowledge/context-map.md",
        ]
    );
}

#[test]
fn contexts_are_the_folders_of_the_knowledge_side() {
    let paths: Vec<RepoPath> = [
        ".agentheim/board/core/todo/core-1.md",
        ".agentheim/board/lost/todo/lost-1.md",
        ".agentheim/board/protocol/2026-01.md",
        ".agentheim/board/protocol.md",
        ".agentheim/knowledge/contexts/core/README.md",
        ".agentheim/knowledge/contexts/-rf/README.md",
    ]
    .map(RepoPath::from)
    .to_vec();
    let (names, refused) = Layout::Board.contexts(&paths);
    assert_eq!(names, [ContextName::new("core").unwrap()]);
    assert_eq!(refused, ["-rf"]);
    assert_eq!(Layout::Board.orphans(&paths), ["lost"]);
}

#[test]
fn only_pages_directly_in_a_lifecycle_folder_are_task_files() {
    let is_task = |p: &str| Layout::Board.place(&RepoPath::from(p)).is_some();
    assert!(is_task(".agentheim/board/core/todo/core-1.md"));
    assert!(is_task(".agentheim/board/core/done/core-1.MD"));
    for other in [
        ".agentheim/board/core/INDEX.md",
        ".agentheim/board/core/todo/deeper/core-1.md",
        ".agentheim/board/core/Todo/core-1.md",
        ".agentheim/board/core/todo/.md",
        ".agentheim/board/core/todo/core-1.txt",
        ".agentheim/board/core/done-archive/2026-01.md",
        ".agentheim/board/../todo/x.md",
        ".agentheim/contexts/core/todo/core-1.md",
    ] {
        assert!(!is_task(other), "{other}");
    }
}

#[test]
fn context_names_cannot_leave_their_folder() {
    for bad in ["", ".", "..", "a/b", "a\\b", ".git", "c:", "-x", "a\u{202e}b", "a\nb"] {
        assert!(ContextName::new(bad).is_err(), "{bad:?}");
    }
}
