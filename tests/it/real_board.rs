//! Reads a real board of 122 tasks, where `COUNTERSIGN_REAL_BOARD` names a checkout of `rommsen/Agentheim` at
//! `d645789`. Without the variable there is nothing to read, and the test says so.

use countersign::host::path::RepoPath;
use countersign::task::board::{Board, BoardFile};
use countersign::task::dependency::{DependencyState, Rule};
use countersign::task::lint::{self, Level};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "the opt-in of this test alone")]
fn real_board() -> anyhow::Result<Option<Board>> {
    let Some(root) = std::env::var_os("COUNTERSIGN_REAL_BOARD").map(PathBuf::from) else { return Ok(None) };
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root.join(".agentheim")) {
        let entry = entry?;
        if entry.file_type().is_file() {
            let path = RepoPath::from_bytes(entry.path().strip_prefix(&root)?.as_os_str().as_bytes());
            files.push(BoardFile { path, bytes: std::fs::read(entry.path())? });
        }
    }
    let paths: Vec<RepoPath> = files.iter().map(|file| file.path.clone()).collect();
    Ok(Some(Board::read(&paths, files)?))
}

#[test]
fn a_real_board_is_read_without_loss() {
    let Some(board) = real_board().unwrap() else {
        println!("COUNTERSIGN_REAL_BOARD is not set: no real board was read");
        return;
    };
    let tasks: Vec<_> = board.tasks.iter().map(|listed| listed.outcome.task().unwrap()).collect();
    assert_eq!(tasks.len(), 122);

    // The boxes Agentheim's own reader knows: column one, blank or x. Beyond them one odd mark and four nested boxes.
    let all: Vec<_> = tasks.iter().flat_map(|task| &task.bullets).collect();
    let boxes: Vec<_> = all.iter().filter(|c| !c.nested && matches!(c.mark, Some(' ' | 'x' | 'X'))).collect();
    let ticked = boxes.iter().filter(|c| c.ticked).count();
    let wrapped = boxes.iter().filter(|c| c.is_wrapped()).count();
    assert_eq!((boxes.len(), boxes.len() - ticked, ticked), (847, 774, 73));
    assert_eq!((wrapped, boxes.len() - wrapped), (559, 288));
    assert_eq!(all.iter().filter(|c| c.nested).count(), 4);
    assert_eq!(all.iter().filter(|c| c.mark == Some('~')).count(), 1);
    assert_eq!(all.len(), 852);

    let states: Vec<_> =
        tasks.iter().flat_map(|task| &task.depends_on).map(|item| board.dependency(item).state).collect();
    assert_eq!(states.len(), 140);
    assert!(states.iter().all(DependencyState::is_satisfied));
    let by_name = |state: &&DependencyState| matches!(state, DependencyState::Done { rule: Rule::FileName, .. });
    assert_eq!(states.iter().filter(by_name).count(), 12);

    let lints = lint::check(&board);
    let odd: Vec<_> = lints.iter().filter(|lint| lint.level != Level::Info).collect();
    println!("{:#?}", lints.iter().map(|lint| (lint.id, lint.path.to_string(), &lint.message)).collect::<Vec<_>>());
    assert!(odd.is_empty(), "{odd:#?}");
}
