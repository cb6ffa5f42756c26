use super::*;
use proptest::prelude::*;

const TASK: &str = "---\nid: core-k3f9q\ntitle: \"fix: a `thing`\"\nstatus: todo\ntype: bug\ncontext: core\ncreated: 2026-11-01\n\
    depends_on:\n  - core-1\nrelated_adrs: [0017, ADR-0018]\npaths: [src/**, tests/{a,b}.rs]\nremoves-tests: tests/old.rs\n---\n\n\
    ## Why\n\n## Acceptance criteria\n- [ ] It works. test: `works`\n";

fn task(text: &str) -> Result<Task, TaskError> {
    read_task(text.as_bytes(), &RepoPath::from(".agentheim/board/core/todo/core-k3f9q.md"))
}

#[test]
fn a_task_file_is_read_whole() {
    let task = task(TASK).unwrap();
    assert_eq!(task.case_key(), "core-k3f9q");
    assert_eq!((task.title.as_str(), task.display_title()), ("\"fix: a `thing`\"", "fix: a `thing`"));
    assert_eq!((task.kind.clone(), task.commit_type()), (Some(TaskType::Bug), "bug".to_owned()));
    assert_eq!(task.depends_on, ["core-1"]);
    assert_eq!(task.related_adrs, ["0017", "ADR-0018"]);
    assert_eq!(task.paths, ["src/**", "tests/{a,b}.rs"]);
    assert_eq!(task.removes_tests, ["tests/old.rs"]);
    assert_eq!(task.criteria().len(), 1);
    assert_eq!(task.bullets[0].line, 18);
    assert!(task.body().starts_with("\n## Why"));
    assert_eq!(task.text, TASK);
}

/// Case C061.
#[test]
fn task_crlf_bom_gives_the_same_task() {
    let plain = task(TASK).unwrap();
    for text in [TASK.replace('\n', "\r\n"), format!("\u{feff}{TASK}"), TASK.trim_end().to_owned()] {
        let other = task(&text).unwrap();
        assert_eq!(other.text, text);
        assert_eq!(Task { text: plain.text.clone(), digest: plain.digest.clone(), ..other }, plain);
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_name() {
    for (text, want) in [
        ("no block\n".to_owned(), "line 1 must be `---`"),
        (TASK.replace("id: core-k3f9q\n", ""), "no `id`"),
        (TASK.replace("core-k3f9q", "../core-k3f9q"), "only a-z"),
        (TASK.replace("core-k3f9q", "012"), "\"012\""),
        (TASK.replace("tests/old.rs", "../x"), "removes-tests"),
        (TASK.replace("src/**", "/etc/**"), "paths"),
        (TASK.replace("status: todo", "status: todo\nstatus: done"), "`status`"),
        (TASK.replace("[0017, ADR-0018]", "[0017, ADR-0018"), "`related_adrs`"),
    ] {
        let error = task(&text).unwrap_err().to_string();
        assert!(error.contains(want) && error.contains("core/todo/core-k3f9q.md"), "{error}");
    }
}

#[test]
fn a_task_without_a_title_or_criteria_says_so() {
    let untitled = task(&TASK.replace("title: \"fix: a `thing`\"\n", "")).unwrap();
    assert_eq!(untitled.title, "");
    assert_eq!(untitled.judged_by("x").unwrap().len(), 1);
    let empty = task(&TASK.replace("- [ ]", "")).unwrap();
    assert!(empty.judged_by("x.md").unwrap_err().to_string().contains("no acceptance criterion"));
}

#[test]
fn a_plain_page_is_a_task_without_an_id() {
    let page = "# Make it fast\n\n## Acceptance criteria\n\n- it is fast\n";
    let task = read_markdown(page.as_bytes(), "plan.md").unwrap();
    assert_eq!((task.id.clone(), task.title.as_str(), task.criteria().len()), (None, "Make it fast", 1));
    assert_eq!(task.case_key(), format!("md-{}", &task.digest[..16]));
    assert_eq!(task.case_key().len(), 19);
    let other = read_markdown(page.replace("fast", "slow").as_bytes(), "plan.md").unwrap();
    assert_ne!(other.case_key(), task.case_key());
    let with_id = read_markdown(TASK.as_bytes(), "-").unwrap();
    assert_eq!(with_id.case_key(), "core-k3f9q");
}

#[test]
fn a_page_whose_frontmatter_is_broken_or_misplaced_is_refused() {
    for text in
        ["---\nid: w-1\n## Acceptance criteria\n- [ ] a\n", "\n---\nid: w-1\n---\n- [ ] a\n", "---\nid: ../x-1\n---\n"]
    {
        let error = read_markdown(text.as_bytes(), "-").unwrap_err().to_string();
        assert!(error.contains("`-`"), "{error}");
    }
    assert!(read_markdown(b"# Title\n\n---\nNote: a rule\n", "-").is_ok());
}

#[test]
fn a_task_prints_as_json_without_its_text() {
    let json = serde_json::to_value(task(TASK).unwrap()).unwrap();
    assert_eq!(json["type"], "bug");
    assert_eq!(json["criteria"][0]["kind"]["checkable"][0]["test"]["name"], "works");
    assert!(json.get("text").is_none());
    let error = serde_json::to_value(task("x").unwrap_err()).unwrap();
    assert!(error.as_str().unwrap().contains("cannot be read"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn reading_arbitrary_bytes_never_panics(bytes: Vec<u8>, tail in "(?s).{0,80}") {
        let path = RepoPath::from("x.md");
        let _ = (read_task(&bytes, &path), read_markdown(&bytes, "x"));
        let text = format!("---\nid: w-1\n---\n{tail}");
        if let Ok(task) = read_task(text.as_bytes(), &path) {
            prop_assert_eq!(task.body(), tail);
        }
    }
}
