//! The tour's second part: a board that the conductor works on with scripted workers, from `todo` to landed commits.

use super::stage::{StageError, identified};
use crate::cli::console::{Console, visible};
use crate::host::Host;
use crate::pipeline::work::step::Step;
use crate::pipeline::work::{End, TaskEnd, WorkEvent, WorkReport, WorkRequest, work};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One task, and what its worker is like.
struct Part {
    id: &'static str,
    title: &'static str,
    file: &'static str,
    worker: &'static str,
    lands: bool,
}

const PARTS: &[Part] = &[
    Part { id: "site-001", title: "About page", file: "about.md", worker: "honest: writes the page", lands: true },
    Part {
        id: "site-002",
        title: "Contact page",
        file: "contact.md",
        worker: "says done without doing it, and does it when told what is missing",
        lands: true,
    },
    Part {
        id: "site-003",
        title: "Imprint",
        file: "imprint.md",
        worker: "says done three times, and never writes the page",
        lands: false,
    },
    Part {
        id: "site-004",
        title: "Menu entry for the shop",
        file: "shop.md",
        worker: "edits the menu while another task edits it, too",
        lands: true,
    },
    Part {
        id: "site-005",
        title: "Menu entry for the blog",
        file: "blog.md",
        worker: "edits the same line of the menu",
        lands: true,
    },
];

/// The suite of the little project: one test that looks at the menu.
const SUITE: &str = "grep -q home menu.md || exit 1\nprintf '<testsuite><testcase name=\"the_menu_leads_home\"/></testsuite>' > out.xml\n";

/// The worker of all tasks. It is a program like any other: it reads a brief, works in its worktree, and leaves a report.
const WORKER: &str = r#"cat > /dev/null
name=$(basename "$COUNTERSIGN_REPORT" .md)
id=${name%.iter-*}
attempt=${name##*.iter-}
page=draft.md
case $id in
  site-001) page=about.md ;;
  site-002) if [ "$attempt" = 1 ]; then page=draft.md; else page=contact.md; fi ;;
  site-004) page=shop.md; other=site-005 ;;
  site-005) page=blog.md; other=site-004 ;;
esac
rm -f draft.md
files=$page
echo "The page of $id, attempt $attempt." > "$page"
if [ -n "$other" ]; then
  # Both are under way before either is done.
  tries=0
  while [ ! -e "../$other/menu.md" ] && [ $tries -lt 400 ]; do sleep 0.05; tries=$((tries + 1)); done
  if grep -q '^<<<<<<<' menu.md; then printf 'home | shop | blog\n' > menu.md; else echo "home | ${page%.md}" > menu.md; fi
  files="$page, menu.md"
fi
count=$(printf '%s' "$files" | awk -F, '{ print NF }')
header() {
  printf 'RESULT: SUCCESS\nTASK_ID: %s\nSUMMARY: %s is there\nFILES_CHANGED: %s\nFILE_LIST: %s\nADRS_WRITTEN: none\nTESTS_ADDED: 0\nTESTS_PASSING: yes\nTDD_SKIPPED: a page\nCONCEPT_CANDIDATE: none\n' "$id" "$page" "$count" "$files"
}
{
  header
  printf '````README_DELTA\n[]\n````\n````ADRS\n````\n````OUTCOME\n## Outcome\n\n%s is there.\n````\n````BACKLOG_ITEMS\n````\n' "$page"
  header
  printf 'RESULT_END\n'
} > "$COUNTERSIGN_REPORT"
"#;

const INDEX: &str = "# site\n\n<!-- task-counts:start -->\n- **Backlog:** 0\n- **Todo:** @\n- **Doing:** 0\n- **Done:** 0\n<!-- task-counts:end -->\n\n## Tasks\n\n<!-- todo-list:start -->\n%<!-- todo-list:end -->\n<!-- doing-list:start -->\n<!-- doing-list:end -->\n<!-- done-list:start -->\n<!-- done-list:end -->\n<!-- backlog-list:start -->\n<!-- backlog-list:end -->\n";

/// Builds the board below `folder` and works on it. How many tasks ended otherwise than told.
pub(super) fn run(folder: &Path, host: &Host, console: &mut Console) -> anyhow::Result<usize> {
    let top = build(host, folder)?;
    console.answer("");
    console.answer("The whole loop: `countersign work` on a board of five tasks, five workers at once");
    for part in PARTS {
        console.answer(&format!("   {} {:<24} its worker {}", part.id, part.title, part.worker));
    }
    let request = WorkRequest {
        start: top.clone(),
        names: Vec::new(),
        into: None,
        parallel: PARTS.len(),
        worker: Some("scripted".to_owned()),
        verifier: Some("mechanical".to_owned()),
        resume: false,
        only_resume: false,
        no_verify: false,
    };
    let mut steps: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let report = work(&request, host, &mut |event| {
        if let WorkEvent::Step { task, step } = event {
            steps.entry(task.clone()).or_default().extend(word(step));
        }
    })?;
    let surprises = PARTS.iter().filter(|part| !tell(part, &steps, &report, console)).count();
    let log = identified(host, &top).run(["log", "--format=%s", "main"])?;
    console.answer("   git log of the branch, newest first:");
    for subject in String::from_utf8_lossy(&log.stdout).lines().take(12) {
        console.answer(&visible(&format!("     {subject}")));
    }
    console.answer(
        "   why it matters: what landed was verified as it landed; what did not is saved, named, and waits for a person",
    );
    Ok(surprises)
}

/// Tells how a task went. False if it went otherwise than its story says.
fn tell(part: &Part, steps: &BTreeMap<String, Vec<String>>, report: &WorkReport, console: &mut Console) -> bool {
    let way = steps.get(part.id).map(|steps| steps.join(", ")).unwrap_or_default();
    console.answer(&visible(&format!("   {}: {way}", part.id)));
    let Some(TaskEnd { end, saved, .. }) = report.tasks.iter().find(|end| end.task == part.id) else {
        console.answer("   SURPRISE: this task was not worked on; please report it");
        return false;
    };
    let told = match end {
        End::Landed { commit } => format!("landed as {}", &commit[..12.min(commit.len())]),
        End::Held { code, why } => format!("held ({code}): {why}"),
        End::Bounced => "bounced".to_owned(),
        End::Foreign { why } | End::Stopped { why } => why.clone(),
    };
    console.answer(&visible(&format!("     {told}")));
    for place in saved {
        let name =
            Path::new(place).file_name().map_or_else(|| place.clone(), |name| name.to_string_lossy().into_owned());
        console.answer(&visible(&format!("     saved: .agentheim/salvage/{name}")));
    }
    let expected = if part.lands {
        matches!(end, End::Landed { .. })
    } else {
        matches!(end, End::Held { code, .. } if code == "escalated") && !saved.is_empty()
    };
    if !expected {
        console.answer("   SURPRISE: the tour expected another end here; please report it");
    }
    expected
}

/// A step in a word or two; none for those that say nothing here.
fn word(step: &Step) -> Option<String> {
    match step {
        Step::Send { iteration, errand } => {
            let errand = format!("{errand:?}").to_lowercase();
            Some(format!("attempt {iteration} ({errand})"))
        }
        Step::Judge => Some("judged".to_owned()),
        Step::Note { .. } => Some("sent back with the reasons".to_owned()),
        Step::Merge => Some("met another landing".to_owned()),
        Step::Land => Some("landing".to_owned()),
        Step::Hold { .. } => Some("saved and held".to_owned()),
        Step::MakeWorktree | Step::Collect | Step::Bounce { .. } | Step::Teardown | Step::Stop => None,
    }
}

fn build(host: &Host, folder: &Path) -> Result<PathBuf, StageError> {
    let top = folder.join("site");
    let write = |path: &Path, text: &str| {
        let failed = |why| StageError::Io { path: path.to_owned(), why };
        fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
        fs::write(path, text).map_err(failed)
    };
    let worker = folder.join("worker.sh");
    write(&worker, WORKER)?;
    let settings = format!(
        "tests:\n  command: sh suite.sh\n  report: out.xml\n  format: junit\nverifiers:\n  scripted:\n    command: [sh, '{}']\n",
        worker.display()
    );
    let listed = |part: &Part| format!("- **{0}** — {1} (feature) — `todo/{0}.md`\n", part.id, part.title);
    let index = INDEX.replace('@', &PARTS.len().to_string());
    let index = index.replace('%', &PARTS.iter().map(listed).collect::<String>());
    for (path, text) in [
        ("menu.md", "home\n"),
        ("suite.sh", SUITE),
        (".gitignore", "/out.xml\n"),
        (".agentheim/countersign.yaml", settings.as_str()),
        (".agentheim/knowledge/vision.md", "# Vision\n\nA small site.\n"),
        (".agentheim/knowledge/contexts/site/README.md", "# site\n\n## Purpose\n\nPages.\n"),
        (".agentheim/board/protocol.md", "# Protocol\n\nWhat happened, newest first.\n\n---\n\n"),
        (".agentheim/board/site/INDEX.md", &index),
    ] {
        write(&top.join(path), text)?;
    }
    for part in PARTS {
        let page = format!(
            "---\nid: {}\ntitle: {}\nstatus: todo\ntype: feature\ncontext: site\ncreated: 2026-11-30\ncompleted:\n---\n\n## Why\n\nThe site needs it.\n\n## Acceptance criteria\n\n- [ ] the page is there — file: {}\n",
            part.id, part.title, part.file
        );
        write(&top.join(format!(".agentheim/board/site/todo/{}.md", part.id)), &page)?;
    }
    let git = |words: &[&str]| identified(host, &top).run(words).map(|_| ());
    git(&["init", "--quiet", "--initial-branch=main"])?;
    // Landings are made in the user's name; here that is the tour's, also where git knows nobody.
    for (key, value) in [("user.name", "Tour"), ("user.email", "tour@localhost"), ("commit.gpgSign", "false")] {
        git(&["config", key, value])?;
    }
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message=chore(site): a board of five tasks"])?;
    Ok(top)
}
