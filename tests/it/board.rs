//! `board list|show|check` on both layouts.

use crate::support::{Board, TestRepo};

#[test]
fn a_board_is_listed_shown_and_checked_on_disk_and_at_a_commit() {
    for board in [Board::legacy("shop-001"), Board::two_root("shop-001")] {
        let repo = TestRepo::new();
        let board = board
            .criterion("It adds — test: `adds`")
            .criterion("[human-eye] It looks fine")
            .frontmatter("paths: [src/**]");
        board.commit(&repo);
        let before = repo.fingerprint();
        let listed = repo.run(&["board", "list"]).exits(0);
        assert!(listed.stdout.contains("doing (1)") && listed.stdout.contains("shop-001"), "{listed}");
        assert!(listed.stdout.contains("2 criteria"), "{listed}");
        let shown = repo.run(&["board", "show", "shop-001", "--json"]).exits(0).json();
        assert_eq!(shown["folder"], "doing");
        assert_eq!(shown["path"], board.task_path());
        repo.run(&["board", "show", "shop-001"]).exits(0).says("human-eye");
        repo.run(&["board", "check"]).exits(0).says("1 task read, 0 defects found");
        repo.run(&["board", "show", "shop-404"]).exits(2).says("board list");

        // A defect on disk is no defect of the commit.
        let text = board.task().replace("status: doing", "status: done");
        repo.write(board.task_path(), text);
        let checked = repo.run(&["board", "check", "--json"]).exits(1).json();
        assert_eq!(checked["lints"][0]["id"], "status-folder", "{checked:#}");
        repo.run(&["board", "check", "--at", "HEAD"]).exits(0);
        repo.write(board.task_path(), board.task());
        before.assert_unchanged(&repo.fingerprint());
    }
}

#[test]
fn no_board_a_mixed_one_and_hostile_titles_are_said_in_one_line() {
    let repo = TestRepo::new();
    repo.run(&["board", "list"]).exits(2);
    Board::legacy("shop-001").commit(&repo);
    Board::two_root("shop-002").commit(&repo);
    let mixed = repo.run(&["board", "list"]).exits(2);
    assert!(!mixed.stderr.contains("panicked"), "{mixed}");

    let repo = TestRepo::new();
    let board = Board::two_root("shop-001").criterion("It adds");
    board.commit(&repo);
    repo.write(board.task_path(), board.task().replace("Make it so", "Make \u{1b}[31mit\u{202e} so"));
    let listed = repo.run(&["board", "list"]).exits(0);
    assert!(!listed.stdout.contains('\u{1b}') && !listed.stdout.contains('\u{202e}'), "{listed}");
    repo.write(board.task_path(), "---\nid: ../../etc\n---\n");
    repo.run(&["board", "check"]).exits(1);
}
