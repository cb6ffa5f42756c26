use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<Frontmatter, FrontmatterError> {
    Frontmatter::read(Text::read(text.as_bytes()).unwrap())
}

fn block(lines: &str) -> Frontmatter {
    read(&format!("---\n{lines}\n---\nbody\n")).unwrap()
}

const LF: &str = "---\nid: w-1\ntitle: fix: a thing\ndepends_on: [w-2, w-3]\n---\nbody\n";

/// Case C061: the forms that must read the same.
#[test]
fn task_crlf_bom_line_endings_marks_and_a_missing_last_newline_change_nothing() {
    let crlf = LF.replace('\n', "\r\n");
    let bom = format!("\u{feff}{LF}");
    let both = format!("\u{feff}{crlf}");
    let mixed = LF.replacen('\n', "\r\n", 2);
    let tabs = LF.replace("---\n", "---\t \n");
    let at_end = LF.trim_end_matches("\nbody\n");
    for text in [LF, &crlf, &bom, &both, &mixed, &tabs, at_end] {
        let front = read(text).unwrap();
        assert_eq!(front.word("id").unwrap().unwrap(), "w-1", "{text:?}");
        assert_eq!(front.raw("title").unwrap().unwrap(), "fix: a thing");
        assert_eq!(front.list("depends_on").unwrap(), ["w-2", "w-3"]);
        assert_eq!(front.body_line(), 6);
    }
}

/// Case C061: the forms that must be named and refused.
#[test]
fn task_crlf_bom_blocks_that_cannot_be_read_are_errors_and_never_no_fields() {
    for (text, want) in [
        ("", "line 1 must be `---`"),
        ("body only\n", "line 1 must be `---`"),
        ("\n---\nid: w-1\n---\n", "stands on line 2"),
        ("# note\n---\nid: w-1\n---\n", "stands on line 2"),
        ("<!-- note -->\n\n---\nid: w-1\n---\n", "stands on line 3"),
        (" ---\nid: w-1\n---\n", "stands on line 1"),
        ("----\nid: w-1\n---\n", "line 1 must be `---`"),
        ("---\nid: w-1\n", "never closed"),
        ("---", "never closed"),
        ("---\nid: w-1\n...\nbody\n---\n", "line 3 ends the frontmatter with `...`"),
        ("---\nid: w-1\nstatus todo\n---\n", "line 3 of the frontmatter is not `key: value`"),
        ("---\nstatus : todo\n---\n", "is not `key: value`"),
        ("---\n- w-1\n---\n", "is not `key: value`"),
        ("---\nstatus: todo\nid: w-1\nstatus: done\n---\n", "`status` stands on line 2 and again on line 4"),
        ("---\nDepends_On: [w-1]\n---\n", "spell it `depends_on`"),
        ("---\ndepends-on: [w-1]\n---\n", "spell it `depends_on`"),
        ("---\nremoves_tests: [a]\n---\n", "spell it `removes-tests`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(want), "{text:?}: {error}");
    }
}

/// Case C062, and D11: a list in another spelling is the same list.
#[test]
fn task_yaml_quirks_every_form_of_a_list_reads_the_same() {
    for form in [
        "depends_on: [w-1, w-2]",
        "depends_on: [w-1, w-2] # why",
        "depends_on: ['w-1', \"w-2\"]",
        "depends_on: [w-1, w-2,]",
        "depends_on:[w-1,w-2]",
        "depends_on: w-1, w-2",
        "depends_on:\n  - w-1\n  - w-2",
        "depends_on:\n- w-1 # first\n\n# between\n- \"w-2\"",
        "depends_on: # both\n\t- w-1\n\t- 'w-2'",
    ] {
        assert_eq!(block(form).list("depends_on").unwrap(), ["w-1", "w-2"], "{form}");
    }
    assert_eq!(block("depends_on: w-1").list("depends_on").unwrap(), ["w-1"]);
    for empty in ["", "depends_on:", "depends_on: []", "depends_on: null", "depends_on: ~", "depends_on: none # yet"] {
        assert_eq!(block(empty).list("depends_on").unwrap(), Vec::<String>::new(), "{empty}");
    }
}

#[test]
fn a_list_that_cannot_be_read_whole_is_an_error() {
    for (form, want) in [
        ("depends_on: [w-1, w-2", "never closed"),
        ("depends_on: [w-1,\n  w-2]", "several lines"),
        ("depends_on: [w-1]\n  - w-2", "both"),
        ("depends_on: [w-1] w-2", "after its end"),
        ("depends_on: [[w-1]]", "brackets within brackets"),
        ("depends_on: [w-1, , w-2]", "empty item"),
        ("depends_on:\n  - w-1\n  -", "empty item"),
        ("depends_on: ['w-1]", "quote"),
        ("depends_on: &a [w-1]", "anchor"),
        ("depends_on: [*a, *a]", "anchor"),
        ("depends_on: {w-1: x}", "map"),
        ("depends_on: >\n  w-1", "several lines"),
    ] {
        let error = block(form).list("depends_on").unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("depends_on"), "{form}: {error}");
    }
}

#[test]
fn keys_and_items_are_bounded() {
    let keys: Vec<String> = (0..=MAX_KEYS).map(|n| format!("k{n}:")).collect();
    let error = read(&format!("---\n{}\n---\n", keys.join("\n"))).unwrap_err();
    assert_eq!(error, FrontmatterError::TooManyKeys { line: MAX_KEYS + 2 });
    let items = vec!["w-1"; MAX_ITEMS + 1];
    for form in [format!("tags: [{}]", items.join(",")), format!("tags:\n- {}", items.join("\n- "))] {
        assert!(block(&form).list("tags").unwrap_err().to_string().contains("more than 500 items"));
    }
}

/// Case C062.
#[test]
fn task_yaml_quirks_words_and_titles_stay_strings() {
    let front = block("id: 012\nstatus: \"todo\" # now\ntitle: *not-bold* `x` \"q\": 1 # 2\ntype: yes\ncreated: 5e10");
    assert_eq!(front.word("id").unwrap().unwrap(), "012");
    assert_eq!(front.word("status").unwrap().unwrap(), "todo");
    assert_eq!(front.raw("title").unwrap().unwrap(), "*not-bold* `x` \"q\": 1 # 2");
    assert_eq!(front.word("type").unwrap().unwrap(), "yes");
    assert_eq!(front.word("created").unwrap().unwrap(), "5e10");
    let title = "x".repeat(1 << 20);
    assert_eq!(block(&format!("title: {title}")).raw("title").unwrap().unwrap(), title);
}

#[test]
fn unknown_keys_may_hold_anything_and_are_never_expanded() {
    let bomb = "related: &a [x]\nmore: [*a, *a, *a]\nmeta:\n  deep:\n    - 1\nnotes: |\n  two\n  lines\nid: w-1";
    let front = block(bomb);
    assert_eq!(front.keys().collect::<Vec<_>>(), ["related", "more", "meta", "notes", "id"]);
    assert_eq!(front.raw("more").unwrap().unwrap(), "[*a, *a, *a]");
    assert!(front.raw("notes").is_err());
    assert_eq!(front.word("id").unwrap().unwrap(), "w-1");
}

/// D12: neither the next line nor the body ever fills a blank field.
#[test]
fn a_blank_field_is_blank() {
    let front = read("---\ntitle:\nstatus: backlog\n---\nid: w-9\ntype: bug\n").unwrap();
    assert_eq!(front.raw("title").unwrap(), None);
    assert_eq!(front.word("id").unwrap(), None);
    assert_eq!(front.word("type").unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn reading_never_panics(lines in proptest::collection::vec("[-a-z:# \\[\\]'\",*&|>{}.\\t]{0,12}", 0..12)) {
        let text = format!("---\n{}", lines.join("\n"));
        if let Ok(front) = read(&text) {
            for key in KNOWN {
                let _ = (front.raw(key), front.word(key), front.list(key));
            }
        }
    }
}
