//! Task files as people and editors leave them (cases C061, C062, C064, C066, C068).

use crate::support::{Board, Outcome, Stage, TASK, TestRepo, assert_invariants, judge};
use serde_json::Value;

/// Where the task of [`Stage`] lies, on a board that has the context `w`.
fn page_at(folder: &str, name: &str) -> String {
    format!(".agentheim/board/w/{folder}/{name}.md")
}

/// A task page with these lines of frontmatter.
fn page(front: &str) -> String {
    format!("---\n{front}---\n\n## Acceptance criteria\n- [ ] It is there — file: `done.txt`\n")
}

/// The usual lines for an id and a status.
fn front(id: &str, status: &str) -> String {
    format!("id: {id}\ntitle: t\nstatus: {status}\ntype: chore\ncreated: 2026-09-20\ndepends_on: []\n")
}

/// A stage whose task file has exactly these bytes at the base; the work is done.
fn stage_with(task: &[u8]) -> Stage {
    let stage = Stage::on_page(TestRepo::new(), &Board::two_root(TASK), task);
    stage.write("done.txt", "1\n");
    stage
}

fn board_json(repo: &TestRepo, command: &str) -> Value {
    let before = repo.fingerprint();
    let outcome = repo.run(&["board", command, "--json"]);
    assert_invariants_of_board(&before, &outcome, repo);
    outcome.json()
}

/// The invariants without those of a judgement's document.
fn assert_invariants_of_board(before: &crate::support::Fingerprint, outcome: &Outcome, repo: &TestRepo) {
    let plain = Outcome { line: outcome.line.replace("--json", ""), ..outcome.clone() };
    assert_invariants(before, &plain, repo);
}

/// C061: fields are the same whatever the bytes around them, or the file is refused as a whole.
#[test]
fn task_crlf_bom_variants_read_the_same_or_are_refused() {
    let plain = Board::two_root(TASK).criterion("It is there — file: `done.txt`").frontmatter("tags: [a, b]").task();
    let crlf = plain.replace('\n', "\r\n");
    let mixed = plain.replacen('\n', "\r\n", 3);
    let mut read = Vec::new();
    for text in [plain.clone(), crlf.clone(), format!("\u{feff}{plain}"), format!("\u{feff}{crlf}"), mixed] {
        let stage = stage_with(text.as_bytes());
        let judged = stage.judge().is("land").again(&stage.repo);
        assert_eq!(judged.file(&stage.repo, &Board::two_root(TASK).task_path()), text.as_bytes(), "bytes are kept");
        let shown = stage.repo.run(&["board", "show", TASK, "--json"]).exits(0).json();
        let mut task = shown["task"].clone();
        task.as_object_mut().unwrap().remove("digest");
        read.push(task);
    }
    for other in &read[1..] {
        assert_eq!(other, &read[0]);
    }

    // The closing fence may end the file: there is nothing to judge by then, and that is said.
    let (head, _) = plain.split_at(plain.find("\n---\n").unwrap() + 4);
    let stage = stage_with(head.as_bytes());
    _ = stage.repo.run(&["verify", TASK]).refuses(2, &["make-it-so.md has no acceptance criteria"]);

    let utf16: Vec<u8> = [0xfeff].into_iter().chain(plain.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let refused: [(&str, Vec<u8>); 6] = [
        ("CR only", plain.replace('\n', "\r").into_bytes()),
        ("UTF-16", utf16),
        ("blank line first", format!("\n{plain}").into_bytes()),
        ("comment first", format!("# the task\n{plain}").into_bytes()),
        ("dots at the end", plain.replacen("\n---\n", "\n...\n", 1).into_bytes()),
        ("never closed", plain.replacen("\n---\n", "\n", 1).into_bytes()),
    ];
    for (name, bytes) in refused {
        let stage = stage_with(&bytes);
        let before = stage.repo.fingerprint();
        let outcome = stage.repo.run(&["verify", TASK]).refuses(2, &["make-it-so.md"]);
        assert_invariants(&before, &outcome, &stage.repo);
        let checked = board_json(&stage.repo, "check");
        assert!(checked["lints"].to_string().contains("task-malformed"), "{name}: {checked:#}");
        let listed = board_json(&stage.repo, "list");
        assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{name}: it is listed, not dropped");
    }
    // White space after the fence is nothing anybody sees.
    let stage = stage_with(plain.replacen("---\n", "---\t \n", 1).as_bytes());
    _ = stage.judge().is("land");
}

/// C062: values that a YAML reader would turn into something else.
#[test]
fn task_yaml_quirks_stay_text_and_spoil_only_their_own_task() {
    let long = format!("title: {}", "x".repeat(1 << 20));
    let bomb: String = (1..=10).map(|n| format!("x{n}: &a{n} [*a{m}, *a{m}]\n", m = n - 1)).collect();
    let usual = |id: &str, title: &str, more: &str| {
        page(&format!("id: {id}\ntitle: {title}\nstatus: todo\ntype: chore\ncreated: 2026-09-20\n{more}"))
    };
    let repo = TestRepo::new();
    let mut titles = Vec::new();
    for (number, title) in [
        "fix: parser",
        "*not-bold*",
        "@home: `code` → arrow — dash",
        "yes",
        "012",
        "[a, b",
        "{a: b",
        "1e3 # not a comment?",
        "\"quoted\"",
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("w-01{number}");
        repo.write(page_at("todo", &id), usual(&id, title, ""));
        titles.push((id, title));
    }
    let lists = [
        ("w-021", "depends_on: w-1"),
        ("w-022", "depends_on: [w-1]"),
        ("w-023", "depends_on:\n  - w-1"),
        ("w-024", "depends_on: [w-1, w-2]"),
        ("w-025", "depends_on:\n- w-1\n- w-2"),
        ("w-026", "depends_on:"),
        ("w-027", "depends_on: null"),
        ("w-028", "depends_on: none"),
        ("w-029", "depends_on: []"),
    ];
    for (id, line) in lists {
        repo.write(page_at("todo", id), usual(id, "t", &format!("{line}\n")));
    }
    repo.write(page_at("todo", "w-1"), usual("w-1", "t", ""));
    repo.write(page_at("todo", "w-2"), usual("w-2", "t", ""));
    let broken = [
        ("numeric", "id: 012\nstatus: todo\n"),
        ("scientific", "id: 5e10\nstatus: todo\n"),
        ("twice", "id: w-031\nstatus: todo\nstatus: doing\n"),
        ("open", "id: w-032\nstatus: todo\ndepends_on: [w-1, w-2\n"),
    ];
    for (name, lines) in broken {
        repo.write(page_at("todo", name), page(lines));
    }
    repo.write(page_at("todo", "w-041"), page(&format!("id: w-041\n{long}\nstatus: todo\n")));
    repo.write(page_at("todo", "w-042"), page(&format!("id: w-042\ntitle: t\nstatus: todo\n{bomb}")));
    let stage = Stage::asking_in(repo);
    stage.write("done.txt", "1\n");

    let board = board_json(&stage.repo, "list");
    let task = |id: &str| {
        let all = board["tasks"].as_array().unwrap();
        all.iter().find(|t| t["task"]["id"] == id).unwrap_or_else(|| panic!("{id} was not read"))["task"].clone()
    };
    for (id, title) in titles {
        assert_eq!(task(&id)["title"], title);
    }
    for (id, line) in lists {
        let count = line.matches("w-").count();
        assert_eq!(task(id)["depends_on"], serde_json::json!(["w-1", "w-2"][..count]), "{line}");
    }
    assert_eq!(task("w-041")["title"].as_str().unwrap().len(), 1 << 20);
    assert_eq!(task("w-042")["title"], "t", "aliases are text, and stay as short as they are");
    for (name, _) in broken {
        let path = page_at("todo", name);
        let lints = board_json(&stage.repo, "check");
        let found =
            lints["lints"].as_array().unwrap().iter().find(|l| l["path"] == path.as_str() && l["level"] == "error");
        assert!(found.is_some(), "{name}: {lints:#}");
        assert!(
            board["tasks"].as_array().unwrap().iter().any(|t| t["path"] == path.as_str() && t["malformed"].is_string())
        );
    }
    // None of it stands in the way of another task, and the claim keeps every byte.
    let judged = stage.judge().is("land").again(&stage.repo);
    assert_eq!(judged.changed(), ["done.txt"]);
    for id in ["w-031", "w-032", "012", "5e10"] {
        let before = stage.repo.fingerprint();
        let outcome = stage.repo.run(&["verify", id]);
        assert_eq!(outcome.code, Some(2), "{outcome}");
        assert_invariants(&before, &outcome, &stage.repo);
    }
}

/// C064: one id in two places, or a status that its folder contradicts.
#[test]
fn task_duplicate_state_is_found_with_all_paths_and_blocks_the_task() {
    let twice = |first: (&str, &str, &str), second: (&str, &str, &str)| {
        let repo = TestRepo::new();
        for (path, id, status) in [first, second] {
            repo.write(format!(".agentheim/board/{path}"), page(&front(id, status)));
        }
        for context in ["w", "v"] {
            repo.write(format!(".agentheim/knowledge/contexts/{context}/README.md"), "# context\n");
        }
        repo.commit("board");
        repo.add_worktree("w-1");
        crate::support::write(&repo.path().join(".worktrees/w-1"), "done.txt", "1\n");
        repo
    };
    let todo = ("w/todo/w-1.md", "w-1", "todo");
    for (second, lint) in [
        (("w/doing/w-1.md", "w-1", "doing"), "id-duplicate"),
        (("v/todo/w-1.md", "w-1", "todo"), "id-duplicate"),
        (("w/todo/w-1-copy.md", "w-1", "todo"), "id-duplicate"),
        (("w/todo/W-1.md", "W-1", "todo"), "id-duplicate"),
    ] {
        let repo = twice(todo, second);
        let checked = board_json(&repo, "check");
        let text = checked["lints"].to_string();
        assert!(text.contains(lint) && text.contains(todo.0) && text.contains(second.0), "{second:?}: {checked:#}");
        _ = repo.run(&["board", "check"]).exits(1);
        let before = repo.fingerprint();
        let outcome = repo.run(&["verify", "w-1", "--base", "main"]);
        assert_invariants(&before, &outcome, &repo);
        if second.1 == "w-1" {
            _ = outcome.refuses(2, &["w-1", todo.0, second.0]);
        }
    }
    for (path, id, status, lint) in
        [("w/todo/w-1.md", "w-1", "done", "status-folder"), ("w/todo/w-7-other.md", "w-1", "todo", "file-name")]
    {
        let repo = twice((path, id, status), ("w/todo/w-2.md", "w-2", "todo"));
        let checked = board_json(&repo, "check");
        assert!(checked["lints"].to_string().contains(lint), "{checked:#}");
    }
}

/// C066, the half about `verify`: lifecycle folders that git did not keep.
#[test]
fn task_empty_folders_are_empty_and_nothing_is_made_for_reading() {
    let repo = TestRepo::new();
    repo.write(".agentheim/board/w/done/w-000-old.md", page(&front("w-000", "done")));
    let stage = Stage::of(repo, "done.txt");
    let clone = stage.repo.root().join("clone");
    stage.repo.git(&["clone", "-q", ".", "../clone"]);
    let folders = |top: &std::path::Path| {
        let mut names: Vec<String> = std::fs::read_dir(top.join(".agentheim/board/w"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(folders(&clone), ["doing", "done"]);
    for args in [&["board", "list"][..], &["board", "check"], &["board", "show", TASK]] {
        _ = stage.repo.run_with(&clone, args, &[], b"").exits(0);
    }
    assert_eq!(folders(&clone), ["doing", "done"]);
    stage.write("done.txt", "1\n");
    // The worker drains the folder; the task is read at the base all the same, and moving it there is not its right.
    std::fs::remove_dir_all(stage.worktree().join(".agentheim/board/w/doing")).unwrap();
    _ = stage.judge().is("send-back").finds("tamper", "deny", &["doing/w-001-make-it-so.md"]).again(&stage.repo);
}

/// C068: an id is a path, a branch, a reference, an argument: a narrow door.
#[test]
fn task_id_traversal_is_refused_before_any_path_or_reference_is_made() {
    let stage = Stage::asking_for("done.txt");
    stage.write("done.txt", "1\n");
    let long = format!("w-{}", "1".repeat(300));
    let ids = [
        "../../evil-1",
        "a/b-1",
        "w.lock",
        "w..1",
        "w~1",
        "@{u}",
        "w 1",
        "w;touch x",
        "$(id)",
        "w\nx-1",
        &long,
        "con",
        "w.",
        "w-\u{1f600}",
        "\u{e9}-1",
        "e\u{301}-1",
        "W-001",
        "",
    ];
    let outside = || -> Vec<String> {
        let walk = walkdir::WalkDir::new(stage.repo.root()).max_depth(2).sort_by_file_name();
        walk.into_iter().filter_map(Result::ok).map(|e| e.path().display().to_string()).collect()
    };
    let (files, refs) = (outside(), stage.repo.git(&["for-each-ref"]));
    for id in ids {
        for args in
            [&["verify", "--", id][..], &["board", "show", "--", id], &["receipts", "--", id], &["replay", "--", id]]
        {
            let before = stage.repo.fingerprint();
            let outcome = stage.repo.run(args);
            assert_eq!(outcome.code, Some(2), "{id:?}: {outcome}");
            assert!(outcome.stderr.starts_with("error: "), "{id:?}: {outcome}");
            assert_invariants(&before, &outcome, &stage.repo);
        }
    }
    // Without `--` the command line itself refuses them, or reads a wish for help.
    assert_eq!(stage.repo.run(&["verify", "-rf"]).code, Some(2));
    _ = stage.repo.run(&["verify", "--help"]).exits(0);
    assert_eq!((outside(), stage.repo.git(&["for-each-ref"])), (files, refs));

    // The same ids inside a board's files: listed as what they are, and no task to be had under them.
    let repo = TestRepo::new();
    let mut pages = Vec::new();
    for (number, id) in ids.iter().chain(&["-rf", "--help"]).enumerate().filter(|(_, id)| !id.contains('\n')) {
        let path = page_at("todo", &format!("page-{number}"));
        repo.write(&path, page(&front(id, "todo")));
        pages.push(path);
    }
    let stage = Stage::asking_in(repo);
    stage.write("done.txt", "1\n");
    let checked = board_json(&stage.repo, "check");
    let errors = checked["lints"].as_array().unwrap().iter().filter(|lint| lint["level"] == "error");
    let paths: std::collections::BTreeSet<&str> = errors.map(|lint| lint["path"].as_str().unwrap()).collect();
    for path in &pages {
        assert!(paths.contains(path.as_str()), "{path}: {checked:#}");
    }
    _ = stage.judge().is("land").again(&stage.repo);
}

/// C068: an id that reaches out of a worktree name or a report's name is never followed.
#[test]
fn task_id_traversal_through_a_plain_page_makes_a_key_of_its_own() {
    let repo = TestRepo::new();
    repo.write("run.sh", "true\n");
    let base = repo.commit("base");
    repo.branch("topic");
    repo.write("done.txt", "1\n");
    for front in ["", "---\nid: ../../evil\n---\n"] {
        let text = format!("{front}# Page\n\n## Acceptance criteria\n- [ ] It is there — file: `done.txt`\n");
        let before = repo.fingerprint();
        let args = ["verify", "-", "--base", &base, "--json"];
        let outcome = repo.run_with(&repo.path(), &args, &[], text.as_bytes());
        if front.is_empty() {
            assert_invariants(&before, &outcome, &repo);
            let key = outcome.json()["task"].as_str().unwrap().to_owned();
            assert!(key.starts_with("md-") && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{key}");
        } else {
            before.assert_unchanged(&repo.fingerprint());
            _ = outcome.refuses(2, &["../../evil", "only a-z, 0-9 and `-` are allowed"]);
        }
    }
    let seen = judge(&repo, &["verify", "--floor", "--json", "--base", &base, "--tests", "sh run.sh"]);
    assert_eq!(seen.changed(), ["done.txt"]);
}
