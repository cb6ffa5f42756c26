//! What the conductor writes on a board keeps the peer's readers working: its behaviours A1 to O2 (agentheim.md §6) that
//! concern files we write. The number of a behaviour stands in front of the test that holds it.

use crate::support::{Crew, FakeVerifier, end_of, why_of, write};
use countersign::pipeline::work::{TaskEnd, WorkReport};

const HONEST: &str = "echo made > \"$id.txt\"\nreport \"$id.txt\"\n";

/// Shell words for a worker: `fill BLOCK FILE` puts a file's text into a block of the report that it wrote.
const FILL: &str = r#"fill() {
  awk -v doc="$2" -v name="$1" 'skip && $0 != "````" { next } { skip = 0; print }
    $0 == "````" name { while ((getline line < doc) > 0) print line; skip = (name == "README_DELTA") }' "$COUNTERSIGN_REPORT" > r.tmp
  cat r.tmp > "$COUNTERSIGN_REPORT"; rm r.tmp
}
"#;

const INDEX: &str = ".agentheim/board/w/INDEX.md";
const PROTOCOL: &str = ".agentheim/board/protocol.md";

/// The entries of a diary, newest first.
fn entries(text: &str) -> Vec<String> {
    let (_, body) = text.split_once("\n---\n\n").unwrap_or_else(|| panic!("no header: {text}"));
    body.split("\n---\n\n").filter(|entry| !entry.trim().is_empty()).map(str::to_owned).collect()
}

/// The entry whose heading has these words.
fn entry(crew: &Crew, words: &str) -> String {
    let text = crew.landed(PROTOCOL).unwrap();
    let found = entries(&text).into_iter().find(|entry| entry.lines().next().is_some_and(|line| line.contains(words)));
    found.unwrap_or_else(|| panic!("no entry `{words}`: {text}"))
}

/// The names of an entry's fields, in order.
fn field_names(entry: &str) -> Vec<&str> {
    entry.lines().filter_map(|line| line.strip_prefix("**")?.split_once(":**").map(|(name, _)| name)).collect()
}

/// The lines of one of an INDEX page's lists.
fn list(text: &str, name: &str) -> Vec<String> {
    let after = text.split_once(&format!("<!-- {name}:start -->\n")).unwrap().1;
    after.split_once(&format!("<!-- {name}:end -->")).unwrap().0.lines().map(str::to_owned).collect()
}

fn counts(text: &str) -> Vec<String> {
    list(text, "task-counts")
}

fn alone(crew: &Crew) -> WorkReport {
    let mut request = crew.request(&[]);
    request.parallel = 1;
    crew.ask(&request).unwrap()
}

/// Gives the page of the target another text, by a commit of a person.
fn edit(crew: &Crew, path: &str, change: impl FnOnce(String) -> String) {
    let text = String::from_utf8(std::fs::read(crew.repo.path().join(path)).unwrap()).unwrap();
    crew.repo.write(path, change(text));
    crew.repo.commit("edit");
}

#[test]
fn a2_a3_a12_a13_a20_a_task_is_taken_with_its_status_its_line_its_counts_one_entry_and_the_peers_subject() {
    let crew = Crew::of(2);
    // An id that begins like the other one's.
    crew.task("w-11", "", &["It is there — file: `w-11.txt`"]);
    edit(&crew, INDEX, |text| text.replace("**Todo:** 2", "**Todo:** 3"));
    crew.worker("fail 'not today'\n");
    let mut request = crew.request(&["w-1"]);
    request.parallel = 1;
    crew.ask(&request).unwrap();
    let subject = "chore(w): batch start [w-1]";
    let commit = crew.repo.git(&["log", "--format=%H", "-1", "--fixed-strings", "--grep", subject, "main"]);
    assert_eq!(crew.repo.git(&["show", "-s", "--format=%s", &commit]), subject);
    let show = |path: &str| crew.repo.git(&["show", &format!("{commit}:{path}")]);
    let changed = crew.repo.git(&["diff-tree", "-r", "--name-status", "--no-renames", &format!("{commit}^"), &commit]);
    assert_eq!(
        changed.split_whitespace().collect::<Vec<_>>(),
        [
            "M",
            PROTOCOL,
            "M",
            INDEX,
            "A",
            ".agentheim/board/w/doing/w-1-make.md",
            "D",
            ".agentheim/board/w/todo/w-1-make.md"
        ]
    );
    let page = show(".agentheim/board/w/doing/w-1-make.md");
    let old = crew.repo.git(&["show", &format!("{commit}^:.agentheim/board/w/todo/w-1-make.md")]);
    assert_eq!(page, old.replace("status: todo", "status: doing"));
    let index = show(INDEX);
    assert_eq!(counts(&index), ["- **Backlog:** 0", "- **Todo:** 2", "- **Doing:** 1", "- **Done:** 0"]);
    assert_eq!(list(&index, "doing-list"), ["- **w-1** — Make w-1 (feature) — `doing/w-1-make.md`"]);
    assert!(!list(&index, "todo-list").iter().any(|line| line.contains("**w-1**")));
    let wanted = "## 2023-11-14 22:13 -- Batch started: [w-1]\n\n**Type:** Work / Batch start\n**Tasks:** w-1\n\
                  **Parallel:** no (1 worker)\n\n---";
    let diary = show(PROTOCOL);
    assert!(diary.split_once("\n---\n\n").unwrap().1.starts_with(wanted), "{diary}");
    assert!(crew.landed(".agentheim/board/w/todo/w-11-make.md").is_some(), "another id is another task");
}

#[test]
fn a6_a7_a8_a_dependency_is_met_by_a_slugged_done_page_of_any_context_and_by_no_longer_id() {
    let crew = Crew::of(0);
    let done = |context: &str, id: &str| {
        crew.repo.write(
            format!(".agentheim/board/{context}/done/{id}-old.md"),
            format!("---\nid: {id}\ntitle: t\nstatus: done\ntype: chore\n---\n\n## Acceptance criteria\n- [ ] x\n"),
        );
    };
    crew.repo.write(".agentheim/knowledge/contexts/v/README.md", "# v\n");
    done("v", "v-001");
    done("w", "w-0015");
    crew.task("w-1", "depends_on: [v-001]\n", &["It is there — file: `w-1.txt`"]);
    crew.task("w-2", "depends_on: [w-001]\n", &["It is there — file: `w-2.txt`"]);
    edit(&crew, INDEX, |text| {
        text.replace("**Todo:** 0", "**Todo:** 2").replace(
            "<!-- todo-list:start -->\n",
            "<!-- todo-list:start -->\n- **w-1** — x — `todo/w-1-make.md`\n- **w-2** — x — `todo/w-2-make.md`\n",
        )
    });
    crew.worker(HONEST);
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    assert_eq!(report.held_back.len(), 1, "{report:#?}");
    assert!(report.held_back[0].why[0].to_string().contains("no task answers to"), "{report:#?}");
}

#[test]
fn a16_a17_a24_a29_a_landing_moves_page_line_and_counts_and_puts_its_entry_above_the_older_ones() {
    let crew = Crew::of(1);
    edit(&crew, INDEX, |text| format!("{text}\n## Elsewhere\n- **Done:** 77\n- **Doing:** 77\n"));
    edit(&crew, PROTOCOL, |text| format!("{text}## 2020-01-01 10:00 -- Older\n\n**Type:** x\n\n---\n\n"));
    crew.worker(HONEST);
    let report = alone(&crew);
    assert_eq!(end_of(&report, "w-1"), "landed");
    let index = crew.landed(INDEX).unwrap();
    assert_eq!(counts(&index), ["- **Backlog:** 0", "- **Todo:** 0", "- **Doing:** 0", "- **Done:** 1"]);
    assert_eq!(list(&index, "done-list"), ["- **w-1** — Make w-1 (feature) — `done/w-1-make.md`"]);
    assert!(list(&index, "doing-list").is_empty() && list(&index, "todo-list").is_empty());
    assert!(index.ends_with("- **Done:** 77\n- **Doing:** 77\n"), "outside the block nothing counts: {index}");
    let text = entry(&crew, "Task verified and completed: w-1 - Make w-1");
    assert_eq!(
        field_names(&text),
        [
            "Type",
            "Task",
            "Summary",
            "Duration",
            "Verification",
            "Result source",
            "Files changed",
            "Tests added",
            "ADRs written",
            "README delta",
            "README length"
        ]
    );
    for line in ["**Type:** Work / Task completion", "**Task:** w-1 - Make w-1", "**Verification:** PASS (iteration 1)"]
    {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    assert!(text.contains("**Result source:** sidecar · layout both+sentinel · sidecar present"), "{text}");
    let order: Vec<String> = entries(&crew.landed(PROTOCOL).unwrap())
        .iter()
        .map(|entry| entry.lines().next().unwrap().split_once(" -- ").unwrap().1.to_owned())
        .collect();
    assert_eq!(
        order,
        ["Work session ended", "Task verified and completed: w-1 - Make w-1", "Batch started: [w-1]", "Older"]
    );
    assert!(crew.subjects().contains(&"feature(w): w-1 is made [w-1]".to_owned()));
}

#[test]
fn a25_a_task_that_is_done_already_is_not_done_again() {
    let crew = Crew::of(1);
    crew.worker(HONEST);
    crew.run_settled(&[]);
    let index = crew.landed(INDEX).unwrap();
    assert_eq!(list(&index, "done-list").len(), 1);
    assert!(crew.ask(&crew.request(&["w-1"])).unwrap_err().to_string().contains("is in `done`"));
}

#[test]
fn a27_a_skipped_verification_has_its_own_entry_without_tests_and_records() {
    let crew = Crew::of(1);
    crew.task("w-1", "", &["It is told"]);
    crew.repo.commit("prose");
    crew.worker("mkdir -p docs; echo told > docs/x.md; report docs/x.md\n");
    crew.judged_by(&FakeVerifier::answering("VERDICT: SKIP\nTASK_ID: w-1\nTOKEN: @TOKEN@\nREASON: prose only\n"));
    let report = crew.run_settled(&[]);
    assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
    let text = entry(&crew, "Task completed (verification skipped): w-1 - Make w-1");
    assert_eq!(
        field_names(&text),
        ["Type", "Task", "Summary", "Duration", "Verification", "Result source", "Files changed"]
    );
    assert!(text.contains("**Verification:** SKIPPED — "), "{text}");
}

#[test]
fn a28_a30_a31_a32_b7_a_broken_page_stops_a_task_before_anything_is_written() {
    for (path, old, new, word) in [
        (INDEX, "- **Todo:** 1", "- **Todo:** 0", "although a task leaves it"),
        (INDEX, "- **Todo:** 1", "- **Todo:** one", "no number"),
        (INDEX, "- **Todo:** 1\n", "", "no line `- **Todo:**`"),
        (INDEX, "<!-- doing-list:start -->\n", "", "`<!-- doing-list:start -->` is missing"),
        (PROTOCOL, "\n---\n", "\n", "header has no end"),
        (INDEX, "<!-- todo-list:end -->\r\n", "", "`<!-- todo-list:end -->` is missing"),
    ] {
        let crew = Crew::of(1);
        let crlf = old.contains('\r');
        edit(&crew, path, |text| if crlf { text.replace('\n', "\r\n") } else { text }.replacen(old, new, 1));
        crew.worker(HONEST);
        let before = crew.repo.git(&["rev-parse", "main"]);
        let report = crew.work(&[]);
        assert!(end_of(&report, "w-1").starts_with("stopped: "), "{report:#?}");
        assert!(why_of(&report, "w-1").contains(word), "{word}: {report:#?}");
        assert_eq!(crew.repo.git(&["rev-parse", "main"]), before, "{word}: nothing was moved or written");
        assert!(!crew.worktree("w-1").exists());
        assert_eq!(crew.repo.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn b3_b4_b6_pages_keep_their_line_ends_and_their_mark_and_two_contexts_each_their_own() {
    let crew = Crew::of(1);
    crew.repo.write(".agentheim/knowledge/contexts/v/README.md", "# v\n\n## Purpose\nTo be tested.\n");
    let v = crew.landed(INDEX).unwrap().replace("# w\n", "# v\n").replace("w-1", "v-1");
    crew.repo.write(".agentheim/board/v/INDEX.md", v);
    let page = crew.landed(".agentheim/board/w/todo/w-1-make.md").unwrap();
    crew.repo
        .write(".agentheim/board/v/todo/v-1-make.md", page.replace("w-1", "v-1").replace("context: w", "context: v"));
    edit(&crew, INDEX, |text| format!("\u{feff}{}", text.replace('\n', "\r\n")));
    edit(&crew, PROTOCOL, |text| text.replace('\n', "\r\n"));
    crew.worker(HONEST);
    let report = crew.run_settled(&[]);
    assert_eq!((end_of(&report, "w-1").as_str(), end_of(&report, "v-1").as_str()), ("landed", "landed"));
    for path in [INDEX, PROTOCOL] {
        let text = crew.landed(path).unwrap();
        assert!(!text.replace("\r\n", "").contains('\n'), "{path} is still CR LF: {text:?}");
    }
    let index = crew.landed(INDEX).unwrap();
    assert_eq!(index.matches('\u{feff}').count(), 1);
    assert!(index.starts_with('\u{feff}') && index.contains("`done/w-1-make.md`\r\n"));
    assert!(!crew.landed(".agentheim/board/v/INDEX.md").unwrap().contains('\r'));
}

#[test]
fn e13_f1_f4_f7_reports_and_patches_lie_where_the_peer_looks_and_the_page_names_them() {
    let crew = Crew::of(2);
    crew.worker("if [ $id = w-1 ]; then echo made > w-1.txt; report w-1.txt; else echo x > x.txt; report x.txt; fi\n");
    let report = crew.run_settled(&[]);
    assert_eq!((end_of(&report, "w-1").as_str(), end_of(&report, "w-2").as_str()), ("landed", "held:escalated"));
    for name in ["w-1.iter-1", "w-2.iter-1", "w-2.iter-2", "w-2.iter-3"] {
        let text = std::fs::read_to_string(crew.repo.path().join(format!(".worktrees/.results/{name}.md"))).unwrap();
        assert!(text.starts_with("RESULT: SUCCESS\n") && text.ends_with("RESULT_END\n"), "{name}: {text}");
    }
    crew.assert_patch("w-2-escalated-iter3.patch");
    let page = crew.landed(".agentheim/board/w/doing/w-2-make.md").unwrap();
    assert!(
        page.contains("## Salvage note") && page.contains(".agentheim/salvage/w-2-escalated-iter3.patch"),
        "{page}"
    );
}

#[test]
fn h1_h3_h5_h9_h10_o1_two_workers_on_one_readme_bullet_and_one_record_number_both_survive() {
    let crew = Crew::of(2);
    let readme = ".agentheim/knowledge/contexts/w/README.md";
    crew.repo
        .write(".agentheim/knowledge/contexts/w/INDEX.md", "# w\n\n<!-- adr-local:start -->\n<!-- adr-local:end -->\n");
    edit(&crew, readme, |text| {
        format!(
            "{text}\n## Ubiquitous language\n\n- **Window** (opening). A time.\n- **Same.** Known.\n\n## Relationships\n\n- **Other.** x\n"
        )
    });
    for id in ["w-1", "w-2"] {
        write(
            crew.repo.root(),
            format!("fake/{id}.delta"),
            format!(
                "[{{\"document\": \"README.md\", \"section\": \"Ubiquitous language\", \"ops\": [\n\
             {{\"op\": \"replace\", \"anchor\": \"Window\", \"expected\": \"- **Window** (opening). A time.\", \"body\": \"- **Window** (opening). As {id} says.\"}},\n\
             {{\"op\": \"append\", \"body\": \"- **Of {id}.** New.\"}},\n\
             {{\"op\": \"append\", \"body\": \"- **Same.**  Known.\"}}]}}]\n"
            ),
        );
        write(
            crew.repo.root(),
            format!("fake/{id}.adr"),
            format!(
                "<!-- ADR: 0001-by-{id}.md -->\n---\nid: ADR-0001\ntitle: By {id}\nscope: w\nstatus: accepted\ndate: 2026-03-01\nrelated_tasks: [{id}]\nrelated_adrs: []\n---\n\n\
             # ADR-0001: By {id}\n\n## Context\n\nx\n\n## Decision\n\nx\n\n## Consequences\n\nx\n"
            ),
        );
    }
    let fake = crew.repo.root().join("fake").display().to_string();
    crew.worker(&format!(
        "{FILL}echo made > \"$id.txt\"; report \"$id.txt\"\n\
         fill README_DELTA {fake}/$id.delta; fill ADRS {fake}/$id.adr\n\
         sed -i \"s/^ADRS_WRITTEN: none/ADRS_WRITTEN: 0001-by-$id.md/\" \"$COUNTERSIGN_REPORT\"\n"
    ));
    let report = crew.run_settled(&[]);
    for id in ["w-1", "w-2"] {
        assert_eq!(end_of(&report, id), "landed", "{report:#?}");
    }
    let text = crew.landed(readme).unwrap();
    assert!(text.contains("As w-1 says.") && text.contains("As w-2 says."), "both texts survive: {text}");
    assert!(text.contains("- **Of w-1.** New.\n") && text.contains("- **Of w-2.** New.\n"), "{text}");
    assert_eq!(text.matches("**Same.**").count(), 1, "{text}");
    assert!(text.ends_with("## Relationships\n\n- **Other.** x\n"), "another section stays as it is: {text}");
    assert!(!text.contains("<<<<<<<"));
    let records = crew.repo.git(&["ls-tree", "--name-only", "main", ".agentheim/knowledge/decisions/"]);
    let numbers: Vec<&str> = records.lines().map(|path| &path.rsplit_once('/').unwrap().1[..4]).collect();
    assert_eq!(numbers, ["0001", "0002"]);
    let second = records.lines().last().unwrap();
    let text = crew.landed(second).unwrap();
    assert!(
        text.contains("id: ADR-0002\n")
            && text.contains("# ADR-0002: By ")
            && text.contains("## Note on ADR numbering")
    );
    let index = crew.landed(".agentheim/knowledge/contexts/w/INDEX.md").unwrap();
    assert_eq!(list(&index, "adr-local").len(), 2, "{index}");
}

#[test]
fn m1_m2_m4_n1_o2_one_commit_has_code_readme_record_page_new_task_lists_and_diary_and_the_claim_has_none_of_them() {
    let crew = Crew::of(1);
    crew.repo
        .write(".agentheim/knowledge/contexts/w/INDEX.md", "# w\n\n<!-- adr-local:start -->\n<!-- adr-local:end -->\n");
    crew.repo.commit("knowledge");
    let body = "---\nid: w-k3f9q\ntitle: Next\nstatus: backlog\ntype: chore\ncontext: w\ncreated: 2026-03-01\n---\n\n## Acceptance criteria\n\n- [ ] x";
    write(
        crew.repo.root(),
        "fake/delta",
        "[{\"document\": \"README.md\", \"section\": \"Purpose\", \"ops\": [{\"op\": \"append\", \"body\": \"- **New.** x\"}]}]\n",
    );
    write(
        crew.repo.root(),
        "fake/adr",
        "<!-- ADR: 0001-why.md -->\n---\nid: ADR-0001\ntitle: Why\nscope: w\nstatus: accepted\ndate: 2026-03-01\nrelated_tasks: [w-1]\nrelated_adrs: []\n---\n\n# ADR-0001: Why\n\n## Context\n\nx\n\n## Decision\n\nx\n\n## Consequences\n\nx\n",
    );
    write(crew.repo.root(), "fake/item", format!("<!-- TASK: w-k3f9q-next.md -->\n{body}\n"));
    let fake = crew.repo.root().join("fake").display().to_string();
    crew.worker(&format!(
        "{FILL}echo made > \"$id.txt\"; report \"$id.txt\"\n\
         fill README_DELTA {fake}/delta; fill ADRS {fake}/adr; fill BACKLOG_ITEMS {fake}/item\n\
         sed -i \"s/^ADRS_WRITTEN: none/ADRS_WRITTEN: 0001-why.md/\" \"$COUNTERSIGN_REPORT\"\n"
    ));
    let report = crew.run_settled(&[]);
    let landing = crew.landing(&report, "w-1");
    let subject = "feature(w): w-1 is made [w-1]";
    let commit = crew.repo.git(&["log", "--format=%H", "-1", "--fixed-strings", "--grep", subject, "main"]);
    let changed = crew.repo.git(&["diff-tree", "-r", "--name-only", "--no-renames", &format!("{commit}^"), &commit]);
    assert_eq!(
        changed.lines().collect::<Vec<_>>(),
        [
            PROTOCOL,
            INDEX,
            ".agentheim/board/w/backlog/w-k3f9q-next.md",
            ".agentheim/board/w/doing/w-1-make.md",
            ".agentheim/board/w/done/w-1-make.md",
            ".agentheim/knowledge/contexts/w/INDEX.md",
            ".agentheim/knowledge/contexts/w/README.md",
            ".agentheim/knowledge/decisions/0001-why.md",
            "w-1.txt"
        ]
    );
    assert!(crew.landed(".agentheim/board/w/doing/w-1-make.md").is_none(), "no duplicate stays behind");
    assert!(!crew.sealed(&landing.case, "claim.json").contains(".agentheim/"), "the claim itself wrote none of it");
    assert_eq!(crew.landed(".agentheim/board/w/backlog/w-k3f9q-next.md").unwrap(), format!("{body}\n"));
    let index = crew.landed(INDEX).unwrap();
    assert_eq!(list(&index, "backlog-list"), ["- **w-k3f9q** — Next (chore) — `backlog/w-k3f9q-next.md`"]);
    assert_eq!(counts(&index)[0], "- **Backlog:** 1");
}

#[test]
fn the_session_ends_with_its_own_entry_that_names_what_is_carried_over_per_file_and_worktree() {
    let crew = Crew::of(3);
    crew.worker(
        "case $id in w-1) echo made > w-1.txt; report w-1.txt ;; w-2) bounce 'why?' ;; *) echo x > x.txt; report x.txt ;; esac\n",
    );
    crew.repo.write(".agentheim/board/w/todo/half.md.txt", "not committed\n");
    crew.repo.write("mine.txt", "mine\n");
    crew.repo.write("too.txt", "mine\n");
    let report = alone(&crew);
    crew.assert_settled(&report);
    let text = crew.landed(PROTOCOL).unwrap();
    let heading = text.lines().find(|line| line.ends_with("Work session ended")).unwrap();
    assert_eq!(heading, "## 2023-11-14 22:13 -- Work session ended", "alone on its line");
    let text = entry(&crew, "Work session ended");
    assert_eq!(
        field_names(&text),
        [
            "Type",
            "Duration",
            "Completed",
            "Bounced",
            "Failed",
            "Escalated after verification",
            "Lost-result re-dispatches",
            "Lost-result escalations",
            "Dispatches",
            "Commits",
            "Vision-conformance",
            "Batch mix",
            "Carry-over"
        ]
    );
    for line in [
        "**Type:** Work / Session end",
        "**Completed:** w-1",
        "**Bounced:** w-2",
        "**Failed:** none",
        "**Escalated after verification:** w-3",
        "**Lost-result re-dispatches:** 0",
        "**Dispatches:** 5",
        "**Batch mix:** 1 feature",
        "**Carry-over:** .worktrees/w-3 (escalated, saved as w-3-escalated-iter3.patch), \
         .agentheim/board/w/todo/half.md.txt (not committed), left behind (user WIP, 2 files)",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    assert!(crew.subjects()[0].starts_with("chore(w): work session end bookkeeping ["), "{:?}", crew.subjects());
    assert!(crew.repo.path().join(".agentheim/board/w/todo/half.md.txt").is_file());
}

#[test]
fn commits_that_belong_to_no_task_are_summarised_since_the_last_session() {
    let crew = Crew::of(1);
    crew.worker(HONEST);
    let first = crew.work(&[]);
    assert_eq!(first.out_of_band, None, "there was no session before");
    crew.task("w-2", "", &["It is there — file: `w-2.txt`"]);
    edit(&crew, INDEX, |text| text.replace("**Todo:** 0", "**Todo:** 1"));
    crew.repo.write("mine.txt", "1\n");
    crew.repo.commit("Mend the [broken thing] by hand");
    crew.repo.write("mine.txt", "2\n");
    crew.repo.commit("chore(release): v1.2.3");
    crew.repo.write("mine.txt", "3\n");
    crew.repo.commit("feature(w): something [w-0]");
    let second = crew.work(&[]);
    let said = second.out_of_band.clone().unwrap();
    assert!(said.contains("2 by people") && said.contains("1 by tools"), "{said}");
    assert!(said.contains("Mend the [broken thing] by hand") && !said.contains("[w-0]"), "{said}");
    assert!(entry(&crew, "Work session ended").contains(&format!("**Out-of-band:** {said}\n")));
}

#[test]
fn what_is_old_leaves_the_diary_and_the_done_list_for_their_archives_byte_for_byte() {
    for older in [false, true] {
        let crew = if older { legacy(1) } else { Crew::of(1) };
        let (index, protocol, archive, done, done_archive) = if older {
            (
                ".agentheim/contexts/w/INDEX.md",
                ".agentheim/knowledge/protocol.md",
                ".agentheim/knowledge/protocol",
                ".agentheim/contexts/w/done",
                ".agentheim/contexts/w/done-archive",
            )
        } else {
            (INDEX, PROTOCOL, ".agentheim/board/protocol", ".agentheim/board/w/done", ".agentheim/board/w/done-archive")
        };
        let old = |month: &str| format!("## {month}-03 10:00 -- Something\n\n{}\n---\n\n", "**A:** b\n".repeat(600));
        let (january, february) = (old("2023-01"), old("2023-02"));
        edit(&crew, protocol, |text| format!("{text}{february}{january}"));
        crew.repo.write(format!("{archive}/2023-01.md"), "what was there\n");
        let line = |n: usize| format!("- **w-9{n:02}** — Old (chore) — `done/w-9{n:02}-old.md`\n");
        for number in 0..32 {
            let month = if number < 4 { "2023-01" } else { "2023-02" };
            crew.repo.write(
                format!("{done}/w-9{number:02}-old.md"),
                format!("---\nid: w-9{number:02}\ntitle: Old\nstatus: done\ntype: chore\ncompleted: {month}-03\n---\n\n## Acceptance criteria\n- [ ] x\n"),
            );
        }
        let lines: String = (0..32).rev().map(line).collect();
        edit(&crew, index, |text| {
            text.replace("**Done:** 0", "**Done:** 32")
                .replace("<!-- done-list:start -->\n", &format!("<!-- done-list:start -->\n{lines}"))
        });
        crew.worker(HONEST);
        let report = crew.run_settled(&[]);
        assert_eq!(end_of(&report, "w-1"), "landed", "{report:#?}");
        let text = crew.landed(protocol).unwrap();
        assert!(
            text.contains("Work session ended") && text.contains(&february) && !text.contains(&january),
            "older: {older}"
        );
        assert_eq!(crew.landed(&format!("{archive}/2023-01.md")).unwrap(), format!("what was there\n{january}"));
        let text = crew.landed(index).unwrap();
        assert_eq!(list(&text, "done-list").len(), 29, "one new, 28 of February: {text}");
        assert!(text.contains("- **Done:** 33"), "the count is of a lifetime: {text}");
        let archived = crew.landed(&format!("{done_archive}/2023-01.md")).unwrap();
        assert_eq!(archived, (0..4).rev().map(line).collect::<String>());
        let subjects = crew.subjects();
        assert!(subjects.contains(&"chore: rotate protocol — 2023-01 [w-1]".to_owned()), "{subjects:?}");
        assert!(subjects.contains(&"chore(w): rotate INDEX done-list — w:2023-01 [w-1]".to_owned()), "{subjects:?}");
    }
}

/// A crew on a board of the older layout, whose books the conductor keeps.
fn legacy(tasks: usize) -> Crew {
    let crew = Crew::of(tasks);
    let repo = &crew.repo;
    repo.git(&["mv", ".agentheim/board/w", ".agentheim/w"]);
    std::fs::create_dir_all(repo.path().join(".agentheim/contexts")).unwrap();
    repo.git(&["mv", ".agentheim/w", ".agentheim/contexts/w"]);
    repo.git(&["mv", ".agentheim/knowledge/contexts/w/README.md", ".agentheim/contexts/w/README.md"]);
    repo.git(&["mv", PROTOCOL, ".agentheim/knowledge/protocol.md"]);
    repo.git(&["mv", ".agentheim/knowledge/vision.md", ".agentheim/vision.md"]);
    let settings = ".agentheim/countersign.yaml";
    let text = std::fs::read_to_string(repo.path().join(settings)).unwrap();
    repo.write(settings, format!("{text}scope:\n  bookkeeping: conductor\n"));
    repo.commit("the older layout");
    crew
}

#[test]
fn the_older_layout_has_the_same_books_in_its_own_places() {
    let crew = legacy(3);
    crew.worker(
        "case $id in w-1) echo made > w-1.txt; report w-1.txt ;; w-2) bounce 'why?' ;; *) echo x > x.txt; report x.txt ;; esac\n",
    );
    let report = crew.run_settled(&[]);
    let ends: Vec<String> = ["w-1", "w-2", "w-3"].iter().map(|id| end_of(&report, id)).collect();
    assert_eq!(ends, ["landed", "bounced", "held:escalated"], "{report:#?}");
    let index = crew.landed(".agentheim/contexts/w/INDEX.md").unwrap();
    assert_eq!(counts(&index), ["- **Backlog:** 1", "- **Todo:** 0", "- **Doing:** 1", "- **Done:** 1"]);
    assert_eq!(list(&index, "done-list"), ["- **w-1** — Make w-1 (feature) — `done/w-1-make.md`"]);
    for (folder, id) in [("done", "w-1"), ("backlog", "w-2"), ("doing", "w-3")] {
        let page = crew.landed(&format!(".agentheim/contexts/w/{folder}/{id}-make.md")).unwrap();
        assert!(page.contains(&format!("status: {folder}\n")), "{page}");
    }
    let text = crew.landed(".agentheim/knowledge/protocol.md").unwrap();
    assert_eq!(entries(&text).iter().filter(|entry| entry.contains("Task verified and completed: w-1")).count(), 1);
    assert!(
        crew.repo
            .git(&["ls-tree", "-r", "--name-only", "main"])
            .lines()
            .all(|path| !path.starts_with(".agentheim/board"))
    );
    let TaskEnd { saved, .. } = report.tasks.iter().find(|end| end.task == "w-3").unwrap();
    assert!(saved[0].ends_with(".agentheim/salvage/w-3-escalated-iter3.patch"), "{saved:?}");
}
