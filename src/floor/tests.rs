//! The checks, each on small trees made by hand: for every denial its honest twin.

mod board;
mod masked;
mod own_task;
mod records;
mod report;
mod tampered;
mod tree;

use super::*;
use crate::claim::SightingKind;
use crate::host::git::Git;
use crate::host::ids::CommitId;
use crate::host::{Host, cancel::Cancel, clock, env::Env};
use crate::receipts::Finding;
use crate::task::read_task;
use crate::worker::{examine, parse_report};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A repository without a worktree's files: objects are enough.
struct Stand {
    _folder: tempfile::TempDir,
    repo: Repo,
}

impl Stand {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host {
            git: "git".into(),
            helper: PathBuf::new(),
            scratch: folder.path().to_owned(),
            env: Env::of([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nonexistent")]),
            clock: clock::Clock::Fixed(0),
            cancel: Cancel::new(),
        };
        Git::new(&host, folder.path()).run(["init", "-q", "-b", "main"]).unwrap();
        let repo = Repo::discover(&host, folder.path()).unwrap();
        Self { _folder: folder, repo }
    }

    fn tree(&self, files: &Files) -> TreeId {
        let store = |(path, (mode, bytes)): (&RepoPath, &(u32, Vec<u8>))| {
            let id = if *mode == GITLINK {
                String::from_utf8(bytes.clone()).unwrap()
            } else {
                self.repo.write_blob(bytes).unwrap().as_str().to_owned()
            };
            (path.clone(), (*mode, id))
        };
        self.repo.write_tree(&files.iter().map(store).collect()).unwrap()
    }
}

type Files = BTreeMap<RepoPath, (u32, Vec<u8>)>;

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_000;
const GITLINK: u32 = 0o160_000;

/// What a check is shown. Begins as a board of no layout with one source file and no report.
struct Scene {
    base: Files,
    claim: Files,
    settings: Settings,
    sightings: Vec<Sighting>,
    task: Option<(RepoPath, Task)>,
    layout: Option<Layout>,
    report: ReportState,
    worktree: Option<PathBuf>,
}

impl Scene {
    fn new() -> Self {
        let base = Files::from([("src/a.rs".into(), (FILE, b"fn a() {}\n".to_vec()))]);
        Self {
            claim: base.clone(),
            base,
            settings: Settings::default(),
            sightings: Vec::new(),
            task: None,
            layout: None,
            report: ReportState::None { why: "no report was given".to_owned() },
            worktree: Some("/wt".into()),
        }
    }

    /// A board whose workers keep their own task file, with one task in `doing`.
    fn legacy() -> Self {
        Self::on(Layout::Legacy, ".agentheim/contexts/shed/doing/shed-1-door.md")
            .had(".agentheim/contexts/shed/README.md", "# Shed\n\n## Ubiquitous language\n- **Door** — opens\n")
            .had(".agentheim/contexts/barn/README.md", "# Barn\n")
            .had(".agentheim/contexts/shed/INDEX.md", "# Index\n")
            .had(".agentheim/knowledge/protocol.md", "# Protocol\n")
    }

    /// A board that the conductor keeps.
    fn board() -> Self {
        Self::on(Layout::Board, ".agentheim/board/shed/doing/shed-1-door.md")
            .had(
                ".agentheim/knowledge/contexts/shed/README.md",
                "# Shed\n\n## Ubiquitous language\n- **Door** (noun) — opens\n",
            )
            .had(".agentheim/knowledge/contexts/barn/README.md", "# Barn\n")
            .had(".agentheim/board/shed/INDEX.md", "# Index\n")
            .had(".agentheim/board/protocol.md", "# Protocol\n")
    }

    fn on(layout: Layout, path: &str) -> Self {
        let path = RepoPath::from(path);
        let task = read_task(TASK.as_bytes(), &path).unwrap();
        let mut scene = Self::new().had(path.as_str().unwrap(), TASK);
        scene.layout = Some(layout);
        scene.task = Some((path, task));
        scene
    }

    /// The task with another text, at the base as well.
    fn asked(mut self, edit: impl Fn(&str) -> String) -> Self {
        let (path, _) = self.task.take().unwrap();
        let text = edit(TASK);
        let task = read_task(text.as_bytes(), &path).unwrap();
        self = self.had(path.as_str().unwrap(), &text);
        self.task = Some((path, task));
        self
    }

    fn untasked(mut self) -> Self {
        self.task = None;
        self
    }

    /// A file of the base (and so of the claim).
    fn had(mut self, path: impl Into<RepoPath>, text: impl AsRef<[u8]>) -> Self {
        let path = path.into();
        self.base.insert(path.clone(), (FILE, text.as_ref().to_vec()));
        self.claim.insert(path, (FILE, text.as_ref().to_vec()));
        self
    }

    fn had_mode(mut self, path: &str, mode: u32, bytes: &str) -> Self {
        self = self.wrote_mode(path, mode, bytes);
        self.base.insert(path.into(), (mode, bytes.into()));
        self
    }

    /// A file as the claim has it.
    fn wrote(self, path: impl Into<RepoPath>, text: impl AsRef<[u8]>) -> Self {
        let mut scene = self;
        scene.claim.insert(path.into(), (FILE, text.as_ref().to_vec()));
        scene
    }

    fn wrote_mode(mut self, path: &str, mode: u32, bytes: &str) -> Self {
        self.claim.insert(path.into(), (mode, bytes.into()));
        self
    }

    fn removed(mut self, path: &str) -> Self {
        assert!(self.claim.remove(&RepoPath::from(path)).is_some(), "{path} is there");
        self
    }

    fn moved(mut self, from: &str, to: &str, edit: impl Fn(String) -> String) -> Self {
        let (mode, text) = self.claim.remove(&RepoPath::from(from)).unwrap();
        let text = edit(String::from_utf8(text).unwrap());
        self.claim.insert(to.into(), (mode, text.into()));
        self
    }

    fn saw(mut self, kind: SightingKind, path: &str) -> Self {
        self.sightings.push(Sighting { kind, path: Some(path.into()), detail: "as seen".to_owned() });
        self
    }

    fn reported(mut self, text: &str) -> Self {
        let source = "sidecar".to_owned();
        self.report = match parse_report(text.as_bytes()) {
            Ok(report) => ReportState::Read { problems: examine(&report), report: Box::new(report), source },
            Err(why) => ReportState::Rejected { code: why.code.to_string(), detail: why.reason, source },
        };
        self
    }

    fn set(mut self, edit: impl Fn(&mut Settings)) -> Self {
        edit(&mut self.settings);
        self
    }

    fn given_as_commit(mut self) -> Self {
        self.worktree = None;
        self
    }

    fn with<T>(&self, stand: &Stand, look: impl Fn(&Inspection<'_>) -> T) -> T {
        let (base_tree, tree) = (stand.tree(&self.base), stand.tree(&self.claim));
        let base: CommitId = stand.repo.write_commit(&base_tree, &[], clock::Timestamp(0), "base").unwrap();
        let changed = stand.repo.changes(&base_tree, &tree).unwrap();
        let claim = Claim { name: None, commit: None, tree, base, base_tree, changed };
        look(&Inspection {
            repo: &stand.repo,
            settings: &self.settings,
            claim: &claim,
            sightings: &self.sightings,
            worktree: self.worktree.as_deref(),
            task: self.task.as_ref().map(|(_, task)| task),
            task_path: self.task.as_ref().map(|(path, _)| path),
            layout: self.layout,
            report: &self.report,
            removals: &[],
        })
    }

    fn check(&self, stand: &Stand, id: &str) -> CheckReport {
        let check = CHECKS.iter().find(|check| check.id == id).unwrap();
        let report = self.with(stand, check.inspect);
        assert_eq!(report.id, id);
        assert!(report.state <= check.worst || report.state == State::Unknown, "{id} says {report:?}");
        report
    }
}

/// A row of a table: what happened, the scene, the state, and a word of the first worst finding (or of the note).
type Row = (&'static str, Scene, State, &'static str);

fn hold(id: &str, rows: Vec<Row>) {
    let stand = Stand::new();
    for (what, scene, state, word) in rows {
        let report = scene.check(&stand, id);
        assert_eq!(report.state, state, "{what}: {report:#?}");
        let worst = report.findings.iter().find(|f| f.state == state);
        let said = worst.map_or_else(|| report.note.clone(), text);
        assert!(said.contains(word), "{what}: {said:?} does not say {word:?}");
    }
}

fn text(finding: &Finding) -> String {
    format!("{} | {} | {}", finding.place, finding.expected, finding.observed)
}

const TASK: &str = "---\nid: shed-1\ntitle: Door\nstatus: doing\ntype: feature\ncontext: shed\ncompleted:\nrelated_adrs: []\n---\n\n## Why\nIt squeaks.\n\n## Acceptance criteria\n- [ ] the door opens\n  without a sound\n- [ ] it looks right [human-eye]\n";

/// A report of the first generation that lists these files.
fn old_report(files: &str) -> String {
    let count = files.split(',').filter(|f| !f.trim().is_empty()).count();
    format!(
        "RESULT: SUCCESS\nTASK_ID: shed-1\nSUMMARY: s\nFILES_CHANGED: {count}\nFILE_LIST: {files}\nBC_README_UPDATED: no\nADRS_WRITTEN: none\nNEW_BACKLOG_ITEMS: none\nTESTS_ADDED: 1\nTESTS_PASSING: yes\nTDD_SKIPPED: no\nCONCEPT_CANDIDATE: none\n"
    )
}

/// A report with blocks.
fn new_report(files: &str, adrs: &[(&str, &str)], delta: &str) -> String {
    let count = files.split(',').filter(|f| !f.trim().is_empty()).count();
    let names: Vec<&str> = adrs.iter().map(|(name, _)| *name).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let carried: Vec<String> = adrs.iter().map(|(name, body)| format!("<!-- ADR: {name} -->\n{body}\n")).collect();
    let carried = carried.concat();
    format!(
        "RESULT: SUCCESS\nTASK_ID: shed-1\nSUMMARY: s\nFILES_CHANGED: {count}\nFILE_LIST: {files}\nADRS_WRITTEN: {names}\nTESTS_ADDED: 1\nTESTS_PASSING: yes\nTDD_SKIPPED: no\nCONCEPT_CANDIDATE: none\n````README_DELTA\n{delta}\n````\n````ADRS\n{carried}````\n````OUTCOME\n## Outcome\nIt works.\n````\n````BACKLOG_ITEMS\n````\n"
    )
}

#[test]
fn every_check_has_its_own_id_and_gives_its_worst_state_a_reason() {
    let ids: std::collections::BTreeSet<&str> = CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), CHECKS.len());
    for check in CHECKS {
        assert!(check.id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", check.id);
        assert!(!check.why.is_empty() && !check.why.ends_with('.'), "{}", check.id);
    }
}

#[test]
fn honest_work_passes_every_check_on_both_boards() {
    let stand = Stand::new();
    let legacy = Scene::legacy()
        .moved(".agentheim/contexts/shed/doing/shed-1-door.md", ".agentheim/contexts/shed/done/shed-1-door.md", |t| {
            t.replace("status: doing", "status: done") + "\n## Outcome\nIt opens.\n"
        })
        .wrote("src/a.rs", "fn a() { open() }\n")
        .reported(&old_report("src/a.rs"));
    let board =
        Scene::board().wrote("src/a.rs", "fn a() { open() }\n").reported(&new_report("/wt/src/a.rs", &[], "[]"));
    for (name, scene) in [("legacy", legacy), ("board", board)] {
        for report in scene.with(&stand, inspect_all) {
            let fine = matches!(report.state, State::Pass | State::NotApplicable);
            assert!(fine && report.findings.is_empty(), "{name}: {report:#?}");
        }
    }
}

#[test]
fn all_checks_report_together_even_if_the_first_one_denies() {
    let stand = Stand::new();
    let reports = Scene::board().with(&stand, inspect_all);
    assert_eq!(reports.len(), CHECKS.len());
    assert_eq!((reports[0].id.as_str(), reports[0].state), ("claim-empty", State::Deny));
}

#[test]
fn objects_that_are_gone_make_a_check_unknown_and_blame_nobody() {
    let stand = Stand::new();
    let scene = Scene::legacy()
        .wrote(".gitignore", "x\n")
        .wrote("src/a.rs", "fn b() {}\n")
        .wrote(".agentheim/contexts/shed/doing/shed-1-door.md", "gone")
        .wrote(".agentheim/knowledge/decisions/0001-a.md", "gone");
    let lost = |on: &Inspection<'_>| {
        let mut claim = on.claim.clone();
        claim.tree = TreeId::new(&"1".repeat(40)).unwrap();
        for change in &mut claim.changed {
            change.new = crate::host::ids::BlobId::new(&"1".repeat(40)).unwrap();
        }
        inspect_all(&Inspection { claim: &claim, ..*on })
    };
    let reports = scene.with(&stand, lost);
    let unknown: Vec<&str> = reports.iter().filter(|r| r.state == State::Unknown).map(|r| r.id.as_str()).collect();
    assert_eq!(
        unknown,
        ["hiding-places", "tamper", "adr-shape", "related-adrs", "conflict-markers", "injection", "tests-tampered"]
    );
    let denied: Vec<&CheckReport> = reports.iter().filter(|r| r.state == State::Deny).collect();
    assert!(denied.is_empty(), "{denied:#?}");
}
