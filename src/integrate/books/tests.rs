use super::*;
use crate::task::read_task;
use crate::worker::parse_report;

const TASK: &str = "---\nid: core-001\ntitle: Refuse $& and $1 windows\nstatus: doing\ntype: feature\ncontext: core\n\
                    created: 2026-01-02\ncompleted:\n---\n\n## Why\n\nx\n\n## Acceptance criteria\n\n- [ ] it is refused\n";
const INDEX: &str = "# core\n\n<!-- task-counts:start -->\n- **Backlog:** 0\n- **Todo:** 1\n- **Doing:** 1\n- **Done:** 7\n\
                     <!-- task-counts:end -->\n\n### Done (most recent first)\n<!-- done-list:start -->\n\
                     - **core-000** — old (chore) — `done/core-000.md`\n<!-- done-list:end -->\n\n\
                     <!-- doing-list:start -->\n- **core-001** — whatever stands here — `doing/core-001-windows.md`\n\
                     - **core-0010** — another — `doing/core-0010-x.md`\n<!-- doing-list:end -->\n\n\
                     <!-- todo-list:start -->\n<!-- todo-list:end -->\n<!-- backlog-list:start -->\n<!-- backlog-list:end -->\n";
const KNOWLEDGE: &str = "# core\n\n<!-- adr-local:start -->\n<!-- adr-local:end -->\n";
const TOP: &str = "# Index\n\n<!-- adr-global:start -->\n- **ADR-0001 one** — `knowledge/decisions/0001-one.md`\n<!-- adr-global:end -->\n";
const PROTOCOL: &str =
    "# Protocol\n\nHello.\n\n---\n\n## 2026-01-01 10:00 -- Work session ended\n\n**Type:** x\n\n---\n\n";
const README: &str = "# core\n\n## Ubiquitous language\n\n- **Window.** A time.\n\n## Relationships\n";

fn at(layout: Layout, folder: &str) -> String {
    format!("{}/core/{folder}", layout.lifecycle_root())
}

fn board(layout: Layout) -> Vec<(RepoPath, Vec<u8>)> {
    let context = ContextName::new("core").unwrap();
    let mut pages = vec![
        (RepoPath::from(format!("{}/core-001-windows.md", at(layout, "doing")).as_str()), TASK.into()),
        (RepoPath::from(format!("{}/core-0010-x.md", at(layout, "doing")).as_str()), b"other".to_vec()),
        (layout.protocol(), PROTOCOL.into()),
        (layout.readme(&context), README.into()),
        (RepoPath::from(".agentheim/knowledge/index.md"), TOP.into()),
        (RepoPath::from(".agentheim/knowledge/decisions/0001-one.md"), b"x".to_vec()),
        (RepoPath::from(".agentheim/knowledge/decisions/0004-four.md"), b"x".to_vec()),
    ];
    match layout {
        Layout::Board => {
            pages.push((layout.task_index(&context), INDEX.into()));
            pages.push((layout.knowledge_index(&context), KNOWLEDGE.into()));
        }
        Layout::Legacy => pages.push((layout.task_index(&context), format!("{INDEX}\n{KNOWLEDGE}").into())),
    }
    pages
}

/// A report of generation E with these blocks.
fn report(delta: &str, adrs: &str, outcome: &str, backlog: &str) -> Report {
    let header = "RESULT: SUCCESS\nTASK_ID: core-001\nSUMMARY: Windows are refused\nFILES_CHANGED: 1\nFILE_LIST: a\n\
                  ADRS_WRITTEN: none\nTESTS_ADDED: 2\nTESTS_PASSING: yes\nTDD_SKIPPED: no\nCONCEPT_CANDIDATE: none\n";
    let block = |name: &str, text: &str| format!("````{name}\n{text}\n````\n");
    let text = format!(
        "{header}{}{}{}{}{header}RESULT_END\n",
        block("README_DELTA", delta),
        block("ADRS", adrs),
        block("OUTCOME", outcome),
        block("BACKLOG_ITEMS", backlog)
    );
    parse_report(text.as_bytes()).unwrap()
}

struct Case {
    layout: Layout,
    keeper: Bookkeeper,
    pages: Vec<(RepoPath, Vec<u8>)>,
    report: Option<Report>,
    origin: WarrantOrigin,
}

impl Case {
    fn of(layout: Layout) -> Self {
        Self {
            layout,
            keeper: Bookkeeper::Conductor,
            pages: board(layout),
            report: Some(report("[]", "", "## Outcome\n\nDone so.", "")),
            origin: WarrantOrigin::Verified,
        }
    }

    fn keep(&self) -> Result<Books, BooksError> {
        let task = read_task(TASK.as_bytes(), &RepoPath::from("t.md")).unwrap();
        let context = ContextName::new("core").unwrap();
        let done = Completion {
            layout: self.layout,
            keeper: self.keeper,
            task: &task,
            context: &context,
            report: self.report.as_ref(),
            source: Some("sidecar"),
            origin: self.origin,
            reason: "a document\n## alone",
            iteration: 2,
            files_changed: 3,
            began: Some(Timestamp(1_700_000_000)),
            at: Timestamp(1_700_000_901),
        };
        keep_books(&Pages::of(self.pages.clone()), &done)
    }

    /// A page as it will be.
    fn page(&self, path: &str) -> String {
        let books = self.keep().unwrap();
        let edited =
            books.edits.get(&RepoPath::from(path)).unwrap_or_else(|| panic!("{path}: {:#?}", books.edits.keys()));
        String::from_utf8(edited.clone().unwrap()).unwrap()
    }

    fn set(&mut self, path: &RepoPath, text: impl Into<Vec<u8>>) {
        self.pages.retain(|(known, _)| known != path);
        self.pages.push((path.clone(), text.into()));
    }
}

#[test]
fn a_completed_task_moves_with_status_date_and_outcome_in_both_layouts() {
    for layout in [Layout::Legacy, Layout::Board] {
        let case = Case::of(layout);
        let books = case.keep().unwrap();
        let old = format!("{}/core-001-windows.md", at(layout, "doing"));
        assert_eq!(books.edits.get(&RepoPath::from(old.as_str())), Some(&None));
        let page = case.page(&format!("{}/core-001-windows.md", at(layout, "done")));
        let wanted = TASK.replace("status: doing", "status: done").replace("completed:", "completed: 2023-11-14");
        assert_eq!(page, format!("{wanted}\n## Outcome\n\nDone so.\n"));
        assert_eq!(books.remarks, [""; 0]);
        assert_eq!(case.keep().unwrap(), books, "the same input gives the same bytes");
        assert_eq!(books.edits.len(), 4, "page, page, INDEX, protocol: {:?}", books.edits.keys());
    }
}

#[test]
fn the_index_moves_the_line_and_its_counts_and_touches_no_longer_id() {
    let case = Case::of(Layout::Board);
    let wanted = INDEX
        .replace("- **core-001** — whatever stands here — `doing/core-001-windows.md`\n", "")
        .replace("**Doing:** 1", "**Doing:** 0")
        .replace("**Done:** 7", "**Done:** 8")
        .replace(
            "<!-- done-list:start -->\n",
            "<!-- done-list:start -->\n- **core-001** — Refuse $& and $1 windows (feature) — `done/core-001-windows.md`\n",
        );
    assert_eq!(case.page(".agentheim/board/core/INDEX.md"), wanted);
    // Again on what came of it: no second line, no second count.
    let mut again = Case::of(Layout::Board);
    let index = RepoPath::from(".agentheim/board/core/INDEX.md");
    again.set(&index, wanted.clone());
    assert_eq!(again.keep().unwrap().edits.get(&index), None);
    // CRLF and a byte order mark stay.
    let mut windows = Case::of(Layout::Board);
    windows.set(&index, format!("\u{feff}{}", INDEX.replace('\n', "\r\n")));
    assert_eq!(windows.page(".agentheim/board/core/INDEX.md"), format!("\u{feff}{}", wanted.replace('\n', "\r\n")));
}

#[test]
fn a_page_that_is_not_as_it_should_be_stops_everything() {
    let index = RepoPath::from(".agentheim/board/core/INDEX.md");
    for (old, new, word) in [
        ("<!-- doing-list:end -->", "", "`<!-- doing-list:end -->` is missing"),
        ("<!-- done-list:start -->", "", "`<!-- done-list:start -->` is missing"),
        ("<!-- task-counts:start -->", "", "task-counts"),
        ("- **Doing:** 1", "- **Doing:** 0", "although a task leaves it"),
        ("- **Doing:** 1", "- **Doing:** one", "no number"),
        ("- **Done:** 7\n", "", "no line `- **Done:**`"),
    ] {
        let mut case = Case::of(Layout::Board);
        case.set(&index, INDEX.replace(old, new));
        let why = case.keep().unwrap_err().to_string();
        assert!(why.contains(word) && why.contains("INDEX.md"), "{why}");
    }
    let mut case = Case::of(Layout::Board);
    case.set(&Layout::Board.protocol(), "# Protocol\n\nno end\n");
    assert!(case.keep().unwrap_err().to_string().contains("header has no end"));
    case.set(&Layout::Board.protocol(), b"\xff\n".to_vec());
    assert!(matches!(case.keep(), Err(BooksError::NoText { .. })));
}

#[test]
fn a_task_that_is_not_in_doing_is_not_completed() {
    let doing = RepoPath::from(format!("{}/core-001-windows.md", at(Layout::Board, "doing")).as_str());
    let todo = RepoPath::from(format!("{}/core-001-windows.md", at(Layout::Board, "todo")).as_str());
    let mut case = Case::of(Layout::Board);
    case.set(&todo, TASK);
    assert!(case.keep().unwrap_err().to_string().contains("it is in .agentheim"));
    case.pages.retain(|(path, _)| *path != doing);
    assert!(case.keep().unwrap_err().to_string().contains("it is in `todo`"));
    case.pages.retain(|(path, _)| *path != todo);
    assert!(case.keep().unwrap_err().to_string().contains("it is nowhere"));
}

#[test]
fn the_diary_has_one_more_entry_in_the_peers_shape() {
    let case = Case::of(Layout::Legacy);
    let entry = "## 2023-11-14 22:28 -- Task verified and completed: core-001 - Refuse $& and $1 windows\n\n\
                 **Type:** Work / Task completion\n**Task:** core-001 - Refuse $& and $1 windows\n\
                 **Summary:** Windows are refused\n**Duration:** 16 min\n**Verification:** PASS (iteration 2)\n\
                 **Result source:** sidecar · layout both+sentinel · sidecar present\n**Files changed:** 3\n\
                 **Tests added:** 2\n**ADRs written:** none\n**README delta:** none\n**README length:** 7 lines\n\n---\n\n";
    let (head, rest) = PROTOCOL.split_once("---\n\n").unwrap();
    assert_eq!(case.page(".agentheim/knowledge/protocol.md"), format!("{head}---\n\n{entry}{rest}"));
    let mut skipped = Case::of(Layout::Board);
    skipped.origin = WarrantOrigin::Skipped;
    skipped.pages.retain(|(path, _)| *path != Layout::Board.protocol());
    let page = skipped.page(".agentheim/board/protocol.md");
    assert!(page.starts_with("# Protocol\n"), "{page}");
    assert!(page.contains("-- Task completed (verification skipped): core-001 - "), "{page}");
    assert!(page.contains("**Verification:** SKIPPED — a document ## alone\n"), "no heading of a stranger: {page}");
    assert!(!page.contains("Tests added"), "{page}");
}

const RECORDS: &str = "<!-- ADR: 0005-ours.md -->\n---\nid: ADR-0005\ntitle: Ours\nscope: core\nstatus: accepted\ndate: 2026-03-01\n---\n\n# ADR-0005: Ours\n\nSee 0005.\n\
                       <!-- ADR: 0002-late.md -->\n---\nid: ADR-0002\ntitle: Late\nscope: global\nstatus: accepted\ndate: 2026-03-02\n---\n\n# ADR-0002: Late\n";

#[test]
fn records_get_the_numbers_after_the_highest_and_their_lines() {
    for layout in [Layout::Legacy, Layout::Board] {
        let mut case = Case::of(layout);
        case.report = Some(report("[]", RECORDS, "## Outcome\n\nx", ""));
        assert!(case.page(".agentheim/knowledge/decisions/0005-ours.md").ends_with("# ADR-0005: Ours\n\nSee 0005.\n"));
        let late = case.page(".agentheim/knowledge/decisions/0006-late.md");
        assert!(late.contains("id: ADR-0006\n") && late.contains("# ADR-0006: Late\n"), "{late}");
        assert!(late.ends_with("## Note on ADR numbering\n\nWritten as 0002; numbered 0006 when it landed, after the records that were there.\n"));
        let up = if layout == Layout::Board { "../../decisions" } else { "../../knowledge/decisions" };
        let local = format!("<!-- adr-local:start -->\n- **ADR-0005** — Ours — 2026-03-01 — `{up}/0005-ours.md`\n");
        let knowledge = case.page(&layout.knowledge_index(&ContextName::new("core").unwrap()).to_string());
        assert!(knowledge.contains(&local), "{knowledge}");
        let top = case.page(".agentheim/knowledge/index.md");
        assert!(top.contains("- **ADR-0006** — Late — 2026-03-02 — `knowledge/decisions/0006-late.md`\n"), "{top}");
        assert!(case.page(&layout.protocol().to_string()).contains("**ADRs written:** 0005-ours.md, 0006-late.md\n"));
    }
}

#[test]
fn readme_changes_are_applied_and_what_they_met_is_told() {
    let delta = r#"[{"document": "README.md", "section": "Ubiquitous language", "ops": [
        {"op": "append", "body": "- **Limit.** A number."},
        {"op": "replace", "anchor": "Window.", "expected": "- **Window.** Something else.", "body": "- **Window.** Ours."}]}]"#;
    let mut case = Case::of(Layout::Board);
    case.report = Some(report(delta, "", "## Outcome\n\nx", ""));
    let readme = case.page(".agentheim/knowledge/contexts/core/README.md");
    assert!(readme.contains("- **Window.** A time.\n- **Window.** Ours.\n- **Limit.** A number.\n"), "{readme}");
    assert_eq!(
        case.keep().unwrap().remarks,
        [".agentheim/knowledge/contexts/core/README.md, section Ubiquitous language: merged"]
    );
    let path = RepoPath::from(".agentheim/knowledge/contexts/core/README.md");
    case.pages.retain(|(known, _)| *known != path);
    assert!(case.keep().unwrap_err().to_string().contains("which the target does not have"));
}

fn item(id: &str, name: &str) -> String {
    format!(
        "<!-- TASK: {name} -->\n---\nid: {id}\ntitle: Next\nstatus: backlog\ntype: chore\n---\n\n## Acceptance criteria\n\n- [ ] x"
    )
}

#[test]
fn a_new_task_goes_to_its_contexts_backlog_and_a_false_one_stops_everything() {
    let mut case = Case::of(Layout::Board);
    case.report = Some(report("[]", "", "## Outcome\n\nx", &item("core-k3f9q", "core-k3f9q-next.md")));
    let page = case.page(".agentheim/board/core/backlog/core-k3f9q-next.md");
    assert!(page.starts_with("---\nid: core-k3f9q\n") && page.ends_with("- [ ] x\n"), "{page}");
    let index = case.page(".agentheim/board/core/INDEX.md");
    assert!(index.contains("- **Backlog:** 1\n"), "{index}");
    assert!(
        index.contains("<!-- backlog-list:start -->\n- **core-k3f9q** — Next (chore) — `backlog/core-k3f9q-next.md`\n")
    );
    for (id, name, word) in [
        ("core-0010", "core-0010-again.md", "is taken by"),
        ("other-k3f9q", "other-k3f9q-x.md", "no context `other`"),
        ("core-k3f9q", "core-zzzzz-x.md", "is named `core-k3f9q-<slug>.md`"),
        ("core-k3f9q", "core-k3f9q-/../../x.md", "is named"),
        ("../evil-k3f9q", "../evil-k3f9q.md", "id"),
    ] {
        case.report = Some(report("[]", "", "## Outcome\n\nx", &item(id, name)));
        let why = case.keep().unwrap_err().to_string();
        assert!(why.contains(word), "{id}: {why}");
    }
}

#[test]
fn where_workers_keep_the_board_only_the_conductors_pages_are_written() {
    let mut case = Case::of(Layout::Legacy);
    case.keeper = Bookkeeper::Worker;
    case.report = Some(report("[]", RECORDS, "## Outcome\n\nnot again", ""));
    let doing = RepoPath::from(format!("{}/core-001-windows.md", at(Layout::Legacy, "doing")).as_str());
    case.pages.retain(|(path, _)| *path != doing);
    let done = RepoPath::from(format!("{}/core-001-windows.md", at(Layout::Legacy, "done")).as_str());
    let page = TASK.replace("status: doing", "status: done").replace("completed:", "completed: 2023-11-14");
    case.set(&done, page);
    let books = case.keep().unwrap();
    let paths: Vec<String> = books.edits.keys().map(ToString::to_string).collect();
    assert_eq!(paths, [".agentheim/contexts/core/INDEX.md", ".agentheim/knowledge/protocol.md"]);
}
