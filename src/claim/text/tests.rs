use super::*;
use crate::host::path::RepoPath;
use proptest::prelude::*;

fn page<T: std::fmt::Display>(lines: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn change(kind: ChangeKind, old_mode: &str, new_mode: &str) -> Change {
    let id = |mode: &str, c: &str| BlobId::new(&if mode == "000000" { "0".repeat(40) } else { c.repeat(40) }).unwrap();
    Change {
        kind,
        path: RepoPath::from("a.txt"),
        from: None,
        old_mode: old_mode.to_owned(),
        new_mode: new_mode.to_owned(),
        old: id(old_mode, "a"),
        new: id(new_mode, "b"),
    }
}

fn edit(old: &[u8], new: &[u8]) -> ChangeText {
    unified(Some(old), Some(new), &change(ChangeKind::Modified, "100644", "100644"))
}

fn text(shown: &ChangeText) -> &str {
    match &shown.body {
        Body::Text { text, .. } => text,
        other => panic!("no text: {other:?}"),
    }
}

#[test]
fn an_edit_shows_eight_lines_of_context() {
    let old = page((1..=30).map(|n| format!("line {n}")));
    let shown = edit(old.as_bytes(), old.replace("line 15\n", "line fifteen\n").as_bytes());
    let lines: Vec<&str> = text(&shown).lines().collect();
    assert_eq!(lines[0], "@@ -7,17 +7,17 @@");
    assert_eq!(lines[1], " line 7");
    assert_eq!(&lines[9..11], ["-line 15", "+line fifteen"]);
    assert_eq!(lines.len(), 19);
}

#[test]
fn what_a_patch_does_not_say_is_said_in_words() {
    let mode = unified(Some(b"x"), Some(b"x"), &change(ChangeKind::Modified, "100644", "100755"));
    assert_eq!((mode.notes, mode.body), (vec!["mode 100644 became 100755 (now executable)".to_owned()], Body::Nothing));
    let link = unified(Some(b"x\n"), Some(b"/etc/passwd"), &change(ChangeKind::TypeChanged, "100644", "120000"));
    assert_eq!(link.notes[0], "was a file, is a symbolic link");
    assert_eq!(text(&link), "@@ -1,1 +1,1 @@\n-x\n+/etc/passwd\n\\ no newline at the end of the file\n");
    let gitlink = unified(None, None, &change(ChangeKind::Added, "000000", "160000"));
    assert!(gitlink.notes[1].contains(&"b".repeat(40)), "{gitlink:?}");
    let empty = unified(None, Some(b""), &change(ChangeKind::Added, "000000", "100755"));
    assert_eq!((&empty.notes[0][..], text(&empty)), ("new executable file", ""));
}

#[test]
fn crlf_phantom_a_change_of_line_endings_is_named_and_real_edits_still_show() {
    let shown = edit(b"a\r\nb\r\n", b"a\nb\n");
    assert!(shown.line_endings_only);
    assert_eq!(shown.notes, ["only line endings differ: CRLF before, LF after, on 2 lines"]);
    let shown = edit(b"a\r\nb\r\n", b"a\r\nc\r\n");
    assert_eq!(text(&shown), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    assert!(shown.notes[0].contains("CRLF"));
    let shown = edit(b"a\r\nb\r\n", b"a\nc\n");
    assert!(!shown.line_endings_only);
    assert_eq!(text(&shown), "@@ -1,2 +1,2 @@\n-a<U+000D>\n-b<U+000D>\n+a\n+c\n");
}

#[test]
fn hidden_characters_are_spelled_out_and_counted() {
    let shown = edit(b"", "ok\u{202e} \u{200d}\x1b[2K caf\u{e9}\t.\n".as_bytes());
    assert_eq!(text(&shown), "@@ -0,0 +1,1 @@\n+ok<U+202E> <U+200D><U+001B>[2K caf\u{e9}\t.\n");
    assert_eq!(shown.notes, ["3 characters that hide or reorder text, or are not text, are shown as <U+…> or <0x…>"]);
    assert_eq!(text(&edit(b"", b"caf\xe9\n")), "@@ -0,0 +1,1 @@\n+caf<0xE9>\n");
}

#[test]
fn binary_content_is_named_and_code_cannot_pose_as_binary() {
    let png: Vec<u8> = (0..2000).map(|n| u8::try_from(n * 7 % 256).unwrap()).collect();
    assert!(matches!(edit(b"x", &png).body, Body::Binary { bytes: 2000, .. }));
    assert!(matches!(
        unified(Some(&png), None, &change(ChangeKind::Deleted, "100644", "000000")).body,
        Body::Binary { .. }
    ));
    assert_eq!(text(&edit(&png, b"rm -rf\n")), "@@ -0,0 +1,1 @@\n+rm -rf\n");
    let evil = b"import os\n# \x00\nos.system('boom')\n".repeat(20);
    let shown = edit(b"", &evil);
    assert!(text(&shown).contains("+# <U+0000>\n+os.system"), "{shown:?}");
    assert!(shown.notes[0].contains("NUL"));
    let mut utf16 = vec![0xff, 0xfe];
    utf16.extend("hello\n".encode_utf16().flat_map(u16::to_le_bytes));
    assert_eq!(text(&edit(b"", &utf16)), "@@ -0,0 +1,1 @@\n+hello\n");
}

#[test]
fn a_cut_line_is_not_whole_and_a_huge_content_is_not_compared() {
    let long = vec![b'x'; 10_000];
    let shown = edit(b"", &long);
    assert!(matches!(shown.body, Body::Text { whole: false, .. }));
    assert!(text(&shown).contains("<the line goes on for 6000 bytes>"));
    let huge = vec![b'x'; LARGEST_COMPARED + 1];
    assert!(matches!(edit(b"", &huge).body, Body::TooLarge { .. }));
}

#[test]
fn many_unlike_lines_are_shown_as_replaced() {
    let many = |word: &str| page((0..15_000).map(|n| format!("{word} {n}")));
    let shown = edit(format!("top\n{}end\n", many("a")).as_bytes(), format!("top\n{}end\n", many("b")).as_bytes());
    let lines: Vec<&str> = text(&shown).lines().collect();
    assert_eq!(lines[0], "@@ -1,15002 +1,15002 @@");
    assert_eq!((lines[1], lines[2], lines[15_002], lines[30_002]), (" top", "-a 0", "+b 0", " end"));
}

/// Puts the new page together again from the hunks and the old page.
fn apply(old: &str, patch: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    for line in patch.lines() {
        if let Some(head) = line.strip_prefix("@@ -") {
            let (start, rest) = head.split_once(',').unwrap();
            let (start, count): (usize, usize) =
                (start.parse().unwrap(), rest.split(' ').next().unwrap().parse().unwrap());
            let start = if count == 0 { start } else { start - 1 };
            out.extend_from_slice(&old[at..start]);
            at = start;
        } else if let Some(kept) = line.strip_prefix(' ') {
            assert_eq!(old[at], kept);
            out.push(kept);
            at += 1;
        } else if let Some(gone) = line.strip_prefix('-') {
            assert_eq!(old[at], gone);
            at += 1;
        } else {
            out.push(line.strip_prefix('+').unwrap());
        }
    }
    out.extend_from_slice(&old[at..]);
    page(out)
}

proptest! {
    #[test]
    fn the_text_of_a_change_is_the_change(old in prop::collection::vec("[ab]{0,2}", 0..40), new in prop::collection::vec("[ab]{0,2}", 0..40)) {
        let (old, new) = (page(&old), page(&new));
        let shown = edit(old.as_bytes(), new.as_bytes());
        match &shown.body {
            Body::Nothing => prop_assert_eq!(old, new),
            Body::Text { text, whole } => {
                prop_assert!(*whole);
                prop_assert_eq!(apply(&old, text), new);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn any_bytes_become_visible_text(old in prop::collection::vec(any::<u8>(), 0..200), new in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Body::Text { text, .. } = edit(&old, &new).body {
            prop_assert!(text.chars().all(|c| c == '\n' || c == '\t' || !crate::host::path::is_deceptive(c)));
        }
    }
}
