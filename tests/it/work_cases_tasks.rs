//! Cases of the log about task files, from `todo` to the end (C061, C062, C064, C066, C068).

use crate::support::{Crew, TestRepo, end_of, why_of, write};
use countersign::pipeline::work::WorkReport;
use std::path::Path;

const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";

fn page_at(folder: &str, id: &str) -> String {
    format!(".agentheim/board/w/{folder}/{id}-make.md")
}

/// The page of a task as [`Crew`] writes it.
fn page(crew: &Crew, id: &str) -> String {
    std::fs::read_to_string(crew.repo.path().join(page_at("todo", id))).unwrap()
}

fn bytes_of(crew: &Crew, path: &str) -> Vec<u8> {
    let shown = crew.repo.try_git_in(&crew.repo.path(), &["cat-file", "blob", &format!("main:{path}")]);
    assert!(shown.status.success(), "{path} is not on the target");
    shown.stdout
}

/// Everything that a run could have made for a task.
fn assert_untouched(crew: &Crew, report: &WorkReport, id: &str) {
    assert!(!crew.worktree(id).exists(), "{id} has a worktree: {report:#?}");
    assert!(!report.tasks.iter().any(|end| end.task == id && end_of(report, id) == "landed"), "{report:#?}");
    assert_eq!(
        crew.repo.git(&["for-each-ref", &format!("refs/heads/aw/{id}"), &format!("refs/countersign/claims/{id}")]),
        ""
    );
}

/// C061: every form that is read keeps its bytes from `todo` to `done`; the others start nothing and are named.
#[test]
fn task_crlf_bom_to_the_end() {
    let crew = Crew::of(12);
    let form = |id: &str, change: &dyn Fn(String) -> Vec<u8>| {
        let text = page(&crew, id);
        crew.repo.write(page_at("todo", id), change(text));
    };
    let (crlf, bom) = (|text: String| text.replace('\n', "\r\n"), |text: String| format!("\u{feff}{text}"));
    form("w-2", &|text| crlf(text).into_bytes());
    form("w-3", &|text| bom(text).into_bytes());
    form("w-4", &|text| bom(crlf(text)).into_bytes());
    form("w-5", &|text| text.trim_end().as_bytes().to_vec());
    form("w-6", &|text| text.replacen('\n', "\r\n", 3).into_bytes());
    form("w-7", &|text| text.replace('\n', "\r").into_bytes());
    form("w-8", &|text| [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect());
    form("w-9", &|text| format!("\n{text}").into_bytes());
    form("w-10", &|text| format!("# the task\n{text}").into_bytes());
    form("w-11", &|text| text.replacen("\n---\n", "\n...\n", 1).into_bytes());
    form("w-12", &|text| text.replacen("\n---\n", "\n", 1).into_bytes());
    crew.repo.commit("forms");
    let before: Vec<Vec<u8>> = (1..=6).map(|n| bytes_of(&crew, &page_at("todo", &format!("w-{n}")))).collect();
    crew.worker(HONEST);
    let report = crew.run_settled(&[]);
    for (at, before) in before.iter().enumerate() {
        let id = format!("w-{}", at + 1);
        assert_eq!(end_of(&report, &id), "landed", "{report:#?}");
        let after = bytes_of(&crew, &page_at("done", &id));
        assert!(after.starts_with(&before[..10]), "the mark at the front stays as it is");
        // Every line of the page is still there, byte for byte, but the two that say how it stands.
        let old = before.split_inclusive(|byte| *byte == b'\n');
        let old = old.filter(|line| !line.starts_with(b"status:") && !line.starts_with(b"completed:"));
        let text = String::from_utf8(after.clone()).unwrap();
        for line in old {
            let line = std::str::from_utf8(line).unwrap();
            assert!(text.contains(line), "{id} lost {line:?}: {text:?}");
        }
        let carriage = before.windows(2).filter(|two| two == b"\r\n").count();
        let lines = before.split(|byte| *byte == b'\n').count() - 1;
        let status = if carriage * 2 > lines { "status: done\r\n" } else { "status: done\n" };
        assert!(id == "w-6" || text.contains(status), "{id}: {text:?}");
        assert!(text.contains("completed: 2023-11-14"), "{id}: {text:?}");
        if carriage == lines {
            assert!(!text.replace("\r\n", "").contains('\n'), "{id} got a bare line end: {text:?}");
        } else if carriage == 0 {
            assert!(!text.contains('\r'), "{id} got a carriage return: {text:?}");
        }
        assert!(text.contains("## Outcome"), "{id}: {text:?}");
    }
    for number in 7..=12 {
        let id = format!("w-{number}");
        let file = page_at("todo", &id);
        let held = report.held_back.iter().find(|held| held.path.to_string() == file);
        let held = held.unwrap_or_else(|| panic!("{file} is named nowhere: {report:#?}"));
        assert!(!held.why.is_empty());
        assert_untouched(&crew, &report, &id);
        assert!(crew.repo.path().join(file).is_file(), "it stays where it is");
    }
}

/// C062: values stay text, byte for byte, through every rewrite; a broken page spoils its own task only.
#[test]
fn task_yaml_quirks_to_the_end() {
    let titles = [
        "fix: parser",
        "*not-bold*",
        "@home: `code` → arrow — dash",
        "yes",
        "012",
        "[a, b",
        "1e3 # not a comment?",
        "\"quoted\"",
        "& | > ! % -",
    ];
    let crew = Crew::of(18);
    let retitle = |id: &str, from: &str, to: &str| {
        let text = page(&crew, id);
        assert!(text.contains(from));
        crew.repo.write(page_at("todo", id), text.replacen(from, to, 1));
    };
    for (at, title) in titles.iter().enumerate() {
        let id = format!("w-{}", at + 1);
        retitle(&id, &format!("title: Make {id}"), &format!("title: {title}"));
    }
    let bomb: String = (1..=10).map(|n| format!("x{n}: &a{n} [*a{m}, *a{m}]\n", m = n - 1)).collect();
    retitle("w-10", "created:", "depends_on: w-1\ncreated:");
    retitle("w-11", "created:", "depends_on: [w-1, w-2]\ncreated:");
    retitle("w-12", "created:", "depends_on:\n  - w-1\n  - w-2\ncreated:");
    retitle("w-13", "created:", &format!("depends_on: none\n{bomb}created:"));
    retitle("w-14", "id: w-14", "id: 012");
    retitle("w-15", "id: w-15", "id: 5e10");
    retitle("w-16", "status: todo", "status: todo\nstatus: doing");
    retitle("w-17", "created:", "depends_on: [w-1, w-2\ncreated:");
    retitle("w-18", "title: Make w-18", &format!("title: {}", "x".repeat(1 << 20)));
    crew.repo.commit("quirks");
    crew.worker(HONEST);
    let report = crew.run_settled(&[]);
    for (at, title) in titles.iter().enumerate() {
        let id = format!("w-{}", at + 1);
        assert_eq!(end_of(&report, &id), "landed", "{title}: {report:#?}");
        let text = crew.landed(&page_at("done", &id)).unwrap();
        assert!(text.lines().any(|line| line == format!("title: {title}")), "{text}");
    }
    for number in 10..=13 {
        assert_eq!(end_of(&report, &format!("w-{number}")), "landed", "{report:#?}");
    }
    let order = crew.subjects();
    let at = |id: &str| order.iter().position(|subject| subject.ends_with(&format!("is made [{id}]"))).unwrap();
    for (later, earlier) in [("w-10", "w-1"), ("w-11", "w-2"), ("w-12", "w-2")] {
        assert!(at(later) < at(earlier), "{later} waited for {earlier}: {order:#?}");
    }
    assert!(crew.landed(&page_at("done", "w-13")).unwrap().contains(&bomb), "aliases are text");
    for id in ["w-14", "w-15", "w-16", "w-17"] {
        let file = page_at("todo", id);
        assert!(report.held_back.iter().any(|held| held.path.to_string() == file), "{file}: {report:#?}");
        assert_untouched(&crew, &report, id);
    }
    // The longest title is still a title: the page keeps it, and the lists stay lists.
    assert_eq!(end_of(&report, "w-18"), "landed", "{:.2000}", format!("{report:#?}"));
    assert!(crew.landed(&page_at("done", "w-18")).unwrap().contains(&"x".repeat(1 << 20)));
    let index = crew.landed(".agentheim/board/w/INDEX.md").unwrap();
    assert!(index.contains("- **Done:** 14") && index.contains("- **Todo:** 4"), "{index:.600}");
}

/// C064: one id in two places, or a page that contradicts its folder: found before anything starts.
#[test]
fn task_duplicate_state_to_the_end() {
    let usual = |id: &str, status: &str| {
        format!(
            "---\nid: {id}\ntitle: t\nstatus: {status}\ntype: chore\ncontext: w\ncreated: 2026-09-20\n---\n\n## Acceptance criteria\n- [ ] It is there — file: `{id}.txt`\n"
        )
    };
    let at = |path: &str| format!(".agentheim/board/{path}");
    for (second, id, status) in [
        ("w/doing/w-1-make.md", "w-1", "doing"),
        ("v/todo/w-1-make.md", "w-1", "todo"),
        ("w/todo/w-1-copy.md", "w-1", "todo"),
        ("w/done/w-1-make.md", "w-1", "done"),
        ("w/todo/W-1-make.md", "W-1", "todo"),
    ] {
        let crew = Crew::of(2);
        crew.repo.write(".agentheim/knowledge/contexts/v/README.md", "# v\n");
        crew.repo.write(at(second), usual(id, status));
        crew.repo.commit("twice");
        crew.worker(HONEST);
        let report = crew.run_settled(&[]);
        assert_eq!(end_of(&report, "w-2"), "landed", "{second} blocks its own task only: {report:#?}");
        assert_untouched(&crew, &report, "w-1");
        let said: String = report.held_back.iter().flat_map(|held| &held.why).map(|why| format!("{why}\n")).collect();
        assert!(said.contains("w/todo/w-1-make.md") && said.contains(second), "{second}: {said} {report:#?}");
        let refused = crew.ask(&crew.request(&["w-1"])).unwrap_err().to_string();
        assert!(refused.starts_with("nothing was started: w-1"), "{refused}");
        assert_eq!(crew.landed(&at(second)).unwrap(), usual(id, status), "nothing is healed that is not ours");
    }
    for (path, id, status, word) in
        [("w/todo/w-1-make.md", "w-1", "done", "status"), ("w/todo/w-7-other.md", "w-1", "todo", "w-7-other.md")]
    {
        let crew = Crew::of(2);
        crew.repo.git(&["rm", "-q", &page_at("todo", "w-1")]);
        crew.repo.write(at(path), usual(id, status));
        crew.repo.commit("contradiction");
        crew.worker(HONEST);
        let report = crew.run_settled(&[]);
        assert_eq!(end_of(&report, "w-2"), "landed", "{report:#?}");
        assert_untouched(&crew, &report, "w-1");
        let held = report
            .held_back
            .iter()
            .find(|held| held.path.to_string() == at(path))
            .unwrap_or_else(|| panic!("{report:#?}"));
        assert!(held.why.iter().any(|why| why.to_string().contains(word)), "{held:#?}");
    }
}

/// C066: lifecycle folders that git did not keep are made as needed, at every step; what cannot be written is found
/// before anything is changed.
#[test]
fn task_empty_folders_to_the_end() {
    let repo = TestRepo::new();
    repo.write(
        ".agentheim/board/w/done/w-0-old.md",
        "---\nid: w-0\ntitle: t\nstatus: done\ntype: chore\n---\n\n## Acceptance criteria\n- [ ] x\n",
    );
    let crew = Crew::on(repo, 3);
    let folders = |crew: &Crew| {
        let entries = std::fs::read_dir(crew.repo.path().join(".agentheim/board/w")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(folders(&crew), ["done", "todo"]);
    crew.worker("case $id in w-1) echo made > w-1.txt; report w-1.txt ;; w-2) bounce 'why?' ;; *) echo x > x; report x ;; esac\n");
    for (id, end, left) in [
        ("w-1", "landed", &["done", "todo"][..]),
        ("w-2", "bounced", &["backlog", "done", "todo"]),
        ("w-3", "held:escalated", &["backlog", "doing", "done"]),
    ] {
        let report = crew.work(&[id]);
        assert_eq!(end_of(&report, id), end, "{report:#?}");
        assert_eq!(folders(&crew), left, "git keeps no empty folder, and nobody needs one");
        crew.repo.no_lock_left();
    }
    // What a page says and where it stands agree at every commit on the way.
    for commit in crew.repo.git(&["rev-list", "main"]).lines() {
        let listed = crew.repo.git(&["ls-tree", "-r", "--name-only", commit, ".agentheim/board/w"]);
        for path in listed.lines().filter(|path| path.ends_with("-make.md")) {
            let folder = path.split('/').nth(3).unwrap();
            let text = crew.repo.git(&["show", &format!("{commit}:{path}")]);
            assert!(text.contains(&format!("status: {folder}\n")), "{commit} {path}: {text}");
        }
    }
    assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
}

/// C068: nothing that a page, a name or a report calls itself reaches beyond its place.
#[test]
fn task_id_traversal_to_the_end() {
    let long = format!("w-{}", "1".repeat(300));
    let ids = [
        "../../evil-1",
        "a/b-1",
        "-rf",
        "--help",
        "w.lock",
        "w..1",
        "w~1",
        "@{u}",
        "w 1",
        "w;touch x",
        "$(touch x)",
        "w\nx-1",
        &long,
        "con",
        "w.",
        "w-\u{1f600}",
        "\u{e9}-1",
        "e\u{301}-1",
        "",
    ];
    let outside = |crew: &Crew| -> Vec<String> {
        let root = crew.repo.root();
        let kept = |entry: &walkdir::DirEntry| {
            !["repo", "tmp", "home/.cache"].iter().any(|name| entry.path() == root.join(name))
        };
        let walk = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(kept);
        walk.filter_map(Result::ok).map(|entry| entry.path().display().to_string()).collect()
    };
    let crew = Crew::of(1);
    for (number, id) in ids.iter().enumerate() {
        crew.repo.write(
            format!(".agentheim/board/w/todo/page-{number}.md"),
            format!("---\nid: {id}\ntitle: t\nstatus: todo\ntype: chore\ncontext: w\n---\n\n## Acceptance criteria\n- [ ] It is there — file: `x.txt`\n"),
        );
    }
    crew.repo.commit("ids");
    crew.worker(HONEST);
    let before = outside(&crew);
    let refs = crew.repo.git(&["for-each-ref"]);
    for id in ids {
        let refused = crew.ask(&crew.request(&[id]));
        let why = refused.map(|report| panic!("{id:?} was worked on: {report:#?}")).unwrap_err().to_string();
        assert!(why.starts_with("nothing was started: ") && !why.contains('\n'), "{why:?}");
    }
    assert_eq!(crew.repo.git(&["for-each-ref"]), refs);
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(report.held_back.len(), ids.len(), "{report:#?}");
    assert_eq!(outside(&crew), before);
    let made: Vec<String> = std::fs::read_dir(crew.repo.path().join(".worktrees"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(made.iter().all(|name| [".gitignore", ".results"].contains(&name.as_str())), "{made:?}");
    assert!(!crew.repo.path().join("x").exists());

    // What a report brings has names of its own: a record, a new task, a README section.
    for (block, document) in [
        (
            "BACKLOG_ITEMS",
            "<!-- TASK: ../../../evil-1-x.md -->\n---\nid: evil-1\ntitle: t\nstatus: backlog\n---\n\nx\n",
        ),
        ("BACKLOG_ITEMS", "<!-- TASK: w-9-x.md -->\n---\nid: ../../w-9\ntitle: t\nstatus: backlog\n---\n\nx\n"),
        ("ADRS", "<!-- ADR: ../../../0001-evil.md -->\n---\nid: ADR-0001\ntitle: t\n---\n\n# ADR-0001: t\n"),
        ("ADRS", "<!-- ADR: 0001-evil.md/../../x.md -->\n---\nid: ADR-0001\ntitle: t\n---\n\n# ADR-0001: t\n"),
    ] {
        let crew = Crew::of(1);
        write(crew.repo.root(), "fake/document", document);
        crew.worker(&format!(
            "echo made > \"$id.txt\"; report \"$id.txt\"\n\
             awk -v doc={} '{{ print }} $0 == \"````{block}\" {{ while ((getline line < doc) > 0) print line }}' \"$COUNTERSIGN_REPORT\" > r.tmp\n\
             cat r.tmp > \"$COUNTERSIGN_REPORT\"; rm r.tmp\n",
            crew.repo.root().join("fake/document").display()
        ));
        let before = outside(&crew);
        let report = crew.run_settled(&[]);
        assert_ne!(end_of(&report, "w-1"), "landed", "{block} {document}: {report:#?}");
        assert!(!why_of(&report, "w-1").is_empty());
        assert_eq!(outside(&crew), before);
        let escaped = |path: &Path| path.ends_with("evil-1-x.md") || path.ends_with("0001-evil.md");
        let found = walkdir::WalkDir::new(crew.repo.path()).into_iter().filter_map(Result::ok);
        assert_eq!(found.filter(|entry| escaped(entry.path())).count(), 0);
    }
}
