//! Ledgers for the tests of this stage.

use crate::claim::Claim;
use crate::host::git::{Change, ChangeKind};
use crate::host::ids::{BlobId, CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::host::process::Ending;
use crate::host::sandbox::{Level, Network};
use crate::receipts::{
    BaseRecord, CaseResult, CheckReport, CommandRecord, ConsultedRecord, FORMAT, Fact, HeardRecord, Opened, Origin,
    ProofRecord, Purpose, Receipt, SettingsRecord, State, TaskRecord, TestCase, TestsRecord,
};
use crate::task::{Criterion, Kind, Proof};

pub(crate) const TOKEN: &str = "00112233445566778899aabbccddeeff";
pub(crate) const TASK_ID: &str = "widgets-1";

pub(crate) fn tree(digit: char) -> TreeId {
    TreeId::new(&digit.to_string().repeat(40)).unwrap()
}

fn commit(digit: char) -> CommitId {
    CommitId::new(&digit.to_string().repeat(40)).unwrap()
}

pub(crate) fn criterion(number: u32, text: &str, kind: Kind) -> Criterion {
    Criterion { number, text: text.into(), kind }
}

pub(crate) fn judged(number: u32, text: &str) -> Criterion {
    criterion(number, text, Kind::Judged)
}

pub(crate) fn proof() -> Proof {
    Proof::Test { name: "rejects_zero".into() }
}

/// A judged, a checkable and a human-eye criterion.
pub(crate) fn criteria() -> Vec<Criterion> {
    vec![
        judged(1, "zero is rejected"),
        criterion(2, "the limit is tested", Kind::Checkable(vec![proof()])),
        criterion(3, "it looks right [human-eye]", Kind::HumanEye),
    ]
}

pub(crate) fn opened() -> Fact {
    Fact::Opened(Opened {
        format: FORMAT,
        countersign: "0.1.0".into(),
        case: TASK_ID.into(),
        attempt: 1,
        origin: Origin::Hand,
        at: "2026-01-01T00:00:00Z".into(),
        git: "git 2.47.3".into(),
        unobserved: vec![],
    })
}

pub(crate) fn base() -> Fact {
    Fact::Base(BaseRecord { commit: commit('a'), tree: tree('b'), rule: "given".into() })
}

pub(crate) fn settings(skip_allowed: bool) -> Fact {
    Fact::Settings(SettingsRecord {
        sources: vec!["built in".into()],
        digest: "0".repeat(64),
        verifier: "command".into(),
        require_task: false,
        skip_allowed,
        policy: String::new(),
        key: "0".repeat(64),
    })
}

pub(crate) fn task(kind: &str, criteria: Vec<Criterion>) -> Fact {
    Fact::Task(TaskRecord {
        id: Some(TASK_ID.into()),
        title: "Limits".into(),
        kind: kind.into(),
        source: "base:tasks/widgets-1.md".into(),
        digest: "0".repeat(64),
        criteria,
    })
}

pub(crate) fn change(kind: ChangeKind, path: &str, from: Option<&str>) -> Change {
    Change {
        kind,
        path: path.into(),
        from: from.map(RepoPath::from),
        old_mode: "100644".into(),
        new_mode: "100644".into(),
        old: BlobId::new(&"1".repeat(40)).unwrap(),
        new: BlobId::new(&"2".repeat(40)).unwrap(),
    }
}

pub(crate) fn claim() -> Fact {
    Fact::Claim(Claim {
        name: None,
        commit: Some(commit('c')),
        tree: tree('d'),
        base: commit('a'),
        base_tree: tree('b'),
        changed: vec![
            change(ChangeKind::Modified, "src/limits.rs", None),
            change(ChangeKind::Deleted, "src/old.rs", None),
            change(ChangeKind::Renamed, "src/new.rs", Some("src/former.rs")),
        ],
    })
}

pub(crate) fn check(id: &str, state: State, note: &str) -> Fact {
    Fact::Check(CheckReport { id: id.into(), state, note: note.into(), findings: vec![] })
}

pub(crate) fn command(purpose: Purpose, line: &str, code: i32) -> CommandRecord {
    CommandRecord {
        purpose,
        command: line.into(),
        root: String::new(),
        tree: tree('d'),
        ending: Ending::Exited { code },
        took_ms: 1,
        log: "tests.log".into(),
        log_digest: "0".repeat(64),
        log_bytes: 0,
        strays: 0,
        level: level(),
        cached: None,
    }
}

fn level() -> Level {
    Level {
        landlock_abi: None,
        enforced: false,
        no_new_privs: true,
        seccomp: true,
        network: Network::Loopback,
        keys_hidden: true,
        agents_hidden: true,
        why: vec![],
    }
}

pub(crate) fn case(name: &str, result: CaseResult) -> TestCase {
    TestCase { suite: String::new(), name: name.into(), file: None, result }
}

pub(crate) fn tests(command: u32, complete: bool, cases: Vec<TestCase>) -> TestsRecord {
    TestsRecord { command, tree: tree('d'), format: "libtest-text".into(), complete, cases }
}

pub(crate) fn proved(on_claim: Option<bool>, on_base: Option<bool>) -> Fact {
    Fact::Proof(ProofRecord {
        criterion: 2,
        proof: proof(),
        on_claim,
        on_base,
        observed: String::new(),
        receipts: vec![],
    })
}

pub(crate) fn consulted(verifier: &str, code: Option<i32>) -> ConsultedRecord {
    ConsultedRecord {
        verifier: verifier.into(),
        resend: false,
        brief_digest: "0".repeat(64),
        not_shown: vec![],
        opened: vec![],
        ending: code.map(|code| Ending::Exited { code }),
        answer_digest: "0".repeat(64),
        trespasses: vec![],
        bystanders: vec![],
        level: None,
        agent: None,
        worker: None,
        instead_of: None,
        contacts: vec![],
    }
}

pub(crate) fn number(facts: Vec<Fact>) -> Vec<Receipt> {
    facts.into_iter().zip(1..).map(|(fact, id)| Receipt { id, fact }).collect()
}

/// A claim that everything speaks for, up to the consultation. Command receipts: 8 (tests), 9 (criterion).
pub(crate) fn honest() -> Vec<Fact> {
    let cases = vec![
        case("limits::rejects_zero", CaseResult::Passed),
        case("limits::is_red", CaseResult::Failed),
        case("limits::is_skipped", CaseResult::Skipped),
        case("verdict_fail_path", CaseResult::Passed),
        case("a::same", CaseResult::Passed),
        case("b::same", CaseResult::Passed),
        case("a::mixed", CaseResult::Passed),
        case("b::mixed", CaseResult::Failed),
    ];
    vec![
        opened(),
        base(),
        settings(true),
        task("feature", criteria()),
        claim(),
        check("claim-empty", State::Pass, ""),
        check("tests-run", State::Pass, ""),
        Fact::Command(command(Purpose::Tests, "cargo test", 0)),
        Fact::Command(command(Purpose::Criterion, "make red", 2)),
        Fact::Tests(tests(8, true, cases)),
        proved(Some(true), Some(false)),
        Fact::Token { token: TOKEN.into() },
        Fact::Consulted(consulted("command", Some(0))),
    ]
}

pub(crate) fn block(outcome: &str, rest: &str) -> String {
    format!("VERDICT: {outcome}\nTASK_ID: {TASK_ID}\nTOKEN: {TOKEN}\n{rest}")
}

pub(crate) fn pass_block() -> String {
    block(
        "PASS",
        "EVIDENCE:\n- C1 zero is rejected — covered by test:limits::rejects_zero, file:src/limits.rs\n\
         - C2 the limit is tested — covered by test:limits::rejects_zero\n\
         - C3 it looks right [human-eye] — covered by builder eye-check pending\n",
    )
}

pub(crate) fn fail_block() -> String {
    block(
        "FAIL",
        "REASONS:\n- [fix] zero is accepted\n- [ask-user] two limits\n  are named\nSUGGESTED_FIX: reject zero\n\
         ITERATION_HINT: likely-fixable\n",
    )
}

/// The PASS of [`pass_block`] as the ledger has it.
pub(crate) fn heard_pass() -> HeardRecord {
    super::hear(pass_block().as_bytes(), &number(honest()), &|_| None)
}
