//! A board of tasks in `todo`, and a scripted worker for all of them.

use super::repo::write_script;
use super::{TestRepo, write};
use countersign::host::Host;
use countersign::pipeline::work::{TaskEnd, WorkError, WorkEvent, WorkReport, WorkRequest, work};
use std::path::{Path, PathBuf};

/// A program that always finds one passing test, and says so in a report that is read.
const TESTS: &str = "printf '<testsuite><testcase name=\"works\"/></testsuite>' > out.xml\n";

/// INDEX with all its blocks.
const INDEX: &str = "# w\n\n<!-- task-counts:start -->\n- **Backlog:** 0\n- **Todo:** @\n- **Doing:** 0\n- **Done:** 0\n\
                     <!-- task-counts:end -->\n\n## Tasks\n\n<!-- todo-list:start -->\n%<!-- todo-list:end -->\n\
                     <!-- doing-list:start -->\n<!-- doing-list:end -->\n<!-- done-list:start -->\n<!-- done-list:end -->\n\
                     <!-- backlog-list:start -->\n<!-- backlog-list:end -->\n";

/// A repository whose board has tasks, and whose settings name the worker `scripted`.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) repo: TestRepo,
}

/// INDEX with this many tasks in `todo`.
fn index(tasks: usize) -> String {
    let lines: String =
        (1..=tasks).map(|n| format!("- **w-{n}** — Make w-{n} (feature) — `todo/w-{n}-make.md`\n")).collect();
    INDEX.replace('@', &tasks.to_string()).replace('%', &lines)
}

impl Crew {
    /// Tasks `w-1`, `w-2`, … that each ask for the file of the same name with `.txt`.
    pub(crate) fn of(tasks: usize) -> Self {
        Self::on(TestRepo::new(), tasks)
    }

    /// The same in this repository.
    pub(crate) fn on(repo: TestRepo, tasks: usize) -> Self {
        repo.write("run.sh", TESTS);
        repo.write(".agentheim/countersign.yaml", "tests:\n  command: sh run.sh\n  report: out.xml\n  format: junit\n");
        repo.write(".agentheim/knowledge/vision.md", "# Vision\n\n## Open questions\n\n- Which port?\n");
        repo.write(".agentheim/knowledge/index.md", "# Index\n");
        repo.write(".agentheim/knowledge/contexts/w/README.md", "# w\n\n## Purpose\nTo be tested.\n");
        repo.write(".agentheim/board/protocol.md", "# Protocol\n\nNewest on top.\n\n---\n\n");
        repo.write(".agentheim/board/w/INDEX.md", index(tasks));
        let crew = Self { repo };
        for number in 1..=tasks {
            crew.task(&format!("w-{number}"), "", &[&format!("It is there — file: `w-{number}.txt`")]);
        }
        crew.repo.commit("board");
        crew
    }

    /// Writes a task into `todo`, not committed.
    pub(crate) fn task(&self, id: &str, more: &str, criteria: &[&str]) {
        let criteria: String = criteria.iter().map(|text| format!("- [ ] {text}\n")).collect();
        let page = format!(
            "---\nid: {id}\ntitle: Make {id}\nstatus: todo\ntype: feature\ncontext: w\ncreated: 2026-09-20\ncompleted:\n\
             {more}---\n\n## Why\nBecause.\n\n## Acceptance criteria\n{criteria}\n## Notes\n"
        );
        self.repo.write(format!(".agentheim/board/w/todo/{id}-make.md"), page);
    }

    /// The worker runs these shell lines in its worktree. `$id` is the task, `$n` the iteration, `$brief` what it was told;
    /// `report FILES` reports success about files, `bounce WHY` and `fail WHY` do what they say.
    pub(crate) fn worker(&self, lines: &str) {
        let script = format!(
            r#"#!/bin/sh
brief=$(cat)
name=$(basename "$COUNTERSIGN_REPORT" .md)
id=${{name%.iter-*}}
n=${{name##*.iter-}}
header() {{
  printf 'RESULT: SUCCESS\nTASK_ID: %s\nSUMMARY: %s is made\nFILES_CHANGED: %s\nFILE_LIST: %s\nADRS_WRITTEN: none\nTESTS_ADDED: 0\nTESTS_PASSING: yes\nTDD_SKIPPED: a page\nCONCEPT_CANDIDATE: none\n' "$id" "$id" "$2" "$1"
}}
report() {{
  count=$(printf '%s' "$1" | awk -F, '{{print NF}}')
  {{ header "$1" "$count"
  printf '````README_DELTA\n[]\n````\n````ADRS\n````\n````OUTCOME\n## Outcome\n\n%s is there.\n````\n````BACKLOG_ITEMS\n````\n' "$id"
  header "$1" "$count"
  printf 'RESULT_END\n'; }} > "$COUNTERSIGN_REPORT"
}}
bounce() {{ printf 'RESULT: BOUNCED\nTASK_ID: %s\nREASON: %s\nRESULT_END\n' "$id" "$1" > "$COUNTERSIGN_REPORT"; }}
fail() {{ printf 'RESULT: FAILED\nTASK_ID: %s\nERROR: %s\nRESULT_END\n' "$id" "$1" > "$COUNTERSIGN_REPORT"; }}
{lines}
"#
        );
        let program = self.repo.root().join("fake/worker");
        write_script(&program, &script);
        let text = format!("verifiers:\n  scripted:\n    command: ['{}']\n", program.display());
        write(self.repo.root(), "home/.config/countersign/settings.yaml", text);
    }

    /// What a run is asked for.
    pub(crate) fn request(&self, names: &[&str]) -> WorkRequest {
        Self::request_at(&self.repo.path(), names, 2)
    }

    /// The same for a repository that another process made.
    pub(crate) fn request_at(top: &Path, names: &[&str], parallel: usize) -> WorkRequest {
        WorkRequest {
            start: top.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            into: None,
            parallel,
            worker: Some("scripted".to_owned()),
            verifier: None,
            resume: false,
            only_resume: false,
            no_verify: false,
        }
    }

    /// The machine as the library sees it in a repository that another process made.
    pub(crate) fn host_of(root: &Path) -> Host {
        TestRepo::host_at(root)
    }

    /// A run of the library.
    pub(crate) fn work(&self, names: &[&str]) -> WorkReport {
        self.ask(&self.request(names)).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The same, however it ends.
    pub(crate) fn ask(&self, request: &WorkRequest) -> Result<WorkReport, WorkError> {
        self.ask_watching(request, &mut |_| {})
    }

    /// The same, with somebody who watches.
    pub(crate) fn ask_watching(
        &self,
        request: &WorkRequest,
        tell: &mut dyn FnMut(&WorkEvent),
    ) -> Result<WorkReport, WorkError> {
        work(request, &self.repo.host(), tell)
    }

    /// A task's worktree.
    pub(crate) fn worktree(&self, id: &str) -> PathBuf {
        self.repo.path().join(".worktrees").join(id)
    }

    /// A file of the branch's tip.
    pub(crate) fn landed(&self, path: &str) -> Option<String> {
        let shown = self.repo.try_git_in(&self.repo.path(), &["cat-file", "blob", &format!("main:{path}")]);
        shown.status.success().then(|| String::from_utf8(shown.stdout).unwrap())
    }

    /// What the note on a task's landing says of it.
    pub(crate) fn noted(&self, task: &str) -> serde_json::Value {
        let page = format!(".agentheim/board/w/done/{task}-make.md");
        let commit = self.repo.git(&["log", "-1", "--format=%H", "main", "--", &page]);
        let note = self.repo.git(&["notes", "--ref=countersign", "show", &commit]);
        let commit = countersign::host::ids::CommitId::new(&commit).unwrap();
        serde_json::to_value(countersign::integrate::attest::landing_in(note.as_bytes(), &commit).unwrap()).unwrap()
    }

    /// The subjects of the branch, newest first.
    pub(crate) fn subjects(&self) -> Vec<String> {
        self.repo.git(&["log", "--format=%s", "main"]).lines().map(str::to_owned).collect()
    }
}

/// How a task ended: `landed`, `bounced`, `held:<code>`, `foreign`, `stopped: <why>`.
pub(crate) fn end_of(report: &WorkReport, task: &str) -> String {
    use countersign::pipeline::work::End;
    let TaskEnd { end, .. } = report
        .tasks
        .iter()
        .find(|end| end.task == task)
        .unwrap_or_else(|| panic!("{task} is not in {:#?}", report.tasks));
    match end {
        End::Landed { .. } => "landed".to_owned(),
        End::Bounced => "bounced".to_owned(),
        End::Held { code, .. } => format!("held:{code}"),
        End::Foreign { .. } => "foreign".to_owned(),
        End::Stopped { why } => format!("stopped: {why}"),
    }
}
