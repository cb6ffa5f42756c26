//! `floor::tests_run` and `floor::criteria` on small real projects, each with an honest change and its lies.

use crate::rooms::Ground;
use countersign::claim::Claim;
use countersign::config::Settings;
use countersign::floor::criteria::{self, CriteriaOutcome};
use countersign::floor::tests_run::has_pipefail;
use countersign::floor::tests_run::{self, Baseline, Plan, PlanError, Reuse, Side, TestsOutcome};
use countersign::floor::{Inspection, ReportState};
use countersign::host::env::Env;
use countersign::host::git::Repo;
use countersign::host::ids::CommitId;
use countersign::host::path::RepoPath;
use countersign::receipts::{CaseResult, Purpose, State};
use countersign::task::{Criterion, Kind, Proof};
use std::process::Command;

pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

static NO_REPORT: ReportState = ReportState::None { why: String::new() };

pub(crate) fn inspection<'a>(repo: &'a Repo, settings: &'a Settings, claim: &'a Claim) -> Inspection<'a> {
    Inspection {
        repo,
        settings,
        claim,
        sightings: &[],
        worktree: None,
        task: None,
        task_path: None,
        layout: None,
        report: &NO_REPORT,
    }
}

/// Both sides of one change, tested.
struct Tried {
    ground: Ground,
    settings: Settings,
    claim: Claim,
    plan: Plan,
    outcome: TestsOutcome,
}

pub(crate) fn sides(ground: &Ground, base: Files<'_>, claim: Files<'_>) -> (CommitId, CommitId) {
    for (path, text) in base {
        ground.write(path, text);
    }
    let first = ground.commit();
    for (path, text) in claim {
        ground.write(path, text);
    }
    (first, ground.commit())
}

pub(crate) fn claim_of(ground: &Ground, base: CommitId, commit: CommitId) -> Claim {
    let repo = ground.repo();
    let (base_tree, tree) = (repo.tree_of(&base).unwrap(), repo.tree_of(&commit).unwrap());
    let changed = repo.changes(&base_tree, &tree).unwrap();
    Claim { name: None, commit: Some(commit), tree, base, base_tree, changed }
}

fn try_with(settings: Settings, base: Files<'_>, claim: Files<'_>, baseline: Baseline) -> Tried {
    let ground = Ground::new();
    let (first, second) = sides(&ground, base, claim);
    let claim = claim_of(&ground, first, second);
    let repo = ground.repo();
    let inspection = inspection(&repo, &settings, &claim);
    let plan = tests_run::plan(&inspection, None).unwrap();
    let outcome = tests_run::run_tests(&inspection, &plan, &ground.logs(), baseline, Reuse::Nothing);
    for facts in &outcome.runs {
        assert!(facts.log.is_file(), "{} has no log", facts.command.command);
        let tree = if facts.side == Side::Claim { &claim.tree } else { &claim.base_tree };
        assert_eq!(&facts.command.tree, tree);
    }
    drop(repo);
    Tried { ground, settings, claim, plan, outcome }
}

fn tried(base: Files<'_>, claim: Files<'_>) -> Tried {
    try_with(Settings::default(), base, claim, Baseline::WhenRed)
}

impl Tried {
    fn state(&self) -> State {
        self.outcome.report.state
    }

    fn said(&self) -> String {
        self.outcome.report.findings.iter().map(|f| format!("{} {}\n", f.place, f.observed)).collect()
    }

    #[track_caller]
    fn expect(&self, state: State, words: &str) {
        assert_eq!(self.state(), state, "{}\n{}", self.said(), self.logs());
        assert!(self.said().contains(words), "{words:?} is not in: {}", self.said());
    }

    fn logs(&self) -> String {
        let logs = self.outcome.runs.iter().map(|facts| std::fs::read(&facts.log).unwrap_or_default());
        logs.map(|log| String::from_utf8_lossy(&log).into_owned()).collect()
    }

    fn names(&self, side: Side, result: CaseResult) -> Vec<String> {
        let cases = self.outcome.tests(side).flat_map(|record| &record.cases);
        cases.filter(|case| case.result == result).map(|case| case.name.clone()).collect()
    }

    fn prove(&self, proofs: &[Proof]) -> CriteriaOutcome {
        let repo = self.ground.repo();
        let inspection = inspection(&repo, &self.settings, &self.claim);
        let criteria: Vec<Criterion> = (1..)
            .zip(proofs)
            .map(|(number, proof)| Criterion {
                number,
                text: String::new(),
                kind: Kind::Checkable(vec![proof.clone()]),
            })
            .collect();
        criteria::evaluate(&inspection, &criteria, &self.plan, &self.outcome, &self.ground.logs())
    }
}

/// True if the tool is there; says so visibly if not.
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "asks this machine, and tells a person")]
pub(crate) fn has(program: &str, args: &[&str]) -> bool {
    let found = Command::new(program).args(args).output().is_ok_and(|output| output.status.success());
    if !found {
        println!("SKIPPED: `{program} {}` does not work on this machine", args.join(" "));
    }
    found
}

fn has_node() -> bool {
    has("node", &["--version"])
}

fn has_pytest() -> bool {
    has("python3", &["-m", "pytest", "--version"])
}

const CARGO: (&str, &str) = ("Cargo.toml", "[package]\nname = \"toy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
const CARGO_LOCK: (&str, &str) = (
    "Cargo.lock",
    "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n\
     [[package]]\nname = \"toy\"\nversion = \"0.1.0\"\n",
);

fn lib(body: &str, tests: &str) -> String {
    format!(
        "/// ```\n/// assert_eq!(toy::two(), 2);\n/// ```\npub fn two() -> u32 {{ {body} }}\n#[cfg(test)]\nmod tests {{ {tests} }}\n"
    )
}

#[test]
fn cargo_tests_are_run_and_named() {
    let green = lib("2", "#[test] fn is_two() { assert_eq!(super::two(), 2) } #[test] #[ignore] fn slow() {}");
    let more = lib("1 + 1", "#[test] fn is_two() { assert_eq!(super::two(), 2) } #[test] fn again() {}");
    let base: Files<'_> = &[CARGO, CARGO_LOCK, (".gitignore", "target\n"), ("src/lib.rs", &green)];
    let honest = try_with(Settings::default(), base, &[("src/lib.rs", &more)], Baseline::Always);
    honest.expect(State::Pass, "");
    let passed = honest.names(Side::Claim, CaseResult::Passed);
    assert_eq!(passed, ["src/lib.rs - two (line 1)", "tests::again", "tests::is_two"]);
    assert_eq!(honest.names(Side::Base, CaseResult::Skipped), ["tests::slow"]);
    let proofs = honest.prove(&[
        Proof::Test { name: "again".to_owned() },
        Proof::Test { name: "tests::is_two".to_owned() },
        Proof::Test { name: "never_written".to_owned() },
    ]);
    let both: Vec<_> = proofs.proofs.iter().map(|p| (p.record.on_claim, p.record.on_base)).collect();
    assert_eq!(both, [(Some(true), Some(false)), (Some(true), Some(true)), (Some(false), Some(false))]);
    assert_eq!(proofs.report.state, State::Deny);
    assert_eq!(proofs.report.findings[0].place, "C3");
    assert_eq!(proofs.proofs[0].tests.len(), 2, "one test run on each side");
}

#[test]
fn a_red_cargo_run_denies_and_names_the_test() {
    let green = lib("2", "#[test] fn is_two() { assert_eq!(super::two(), 2) }");
    let red = lib(
        "3",
        "#[test] fn is_two() { println!(\"test result: ok. 1 passed; 0 failed\"); assert_eq!(super::two(), 2) }",
    );
    let base: Files<'_> = &[CARGO, CARGO_LOCK, (".gitignore", "target\n"), ("src/lib.rs", &green)];
    let lie = tried(base, &[("src/lib.rs", &red)]);
    lie.expect(State::Deny, "toy::tests::is_two");
    lie.expect(State::Deny, "on the base these pass, on the claim they fail");
}

#[test]
fn a_cargo_run_without_tests_is_never_green() {
    let green = lib("2", "#[test] fn is_two() { assert_eq!(super::two(), 2) }");
    let base: Files<'_> = &[CARGO, CARGO_LOCK, (".gitignore", "target\n"), ("src/lib.rs", &green)];
    let gone = tried(base, &[("src/lib.rs", "pub fn two() -> u32 { 2 }\n")]);
    gone.expect(State::Deny, "no test was executed; on the base 2 ran");
    let never: Files<'_> = &[CARGO, CARGO_LOCK, (".gitignore", "target\n"), ("src/lib.rs", "pub fn one() {}\n")];
    tried(never, &[("src/lib.rs", "pub fn two() {}\n")]).expect(State::Unknown, "on the base none ran either");
}

#[test]
fn cargo_is_never_allowed_the_network() {
    let net = "#[test] fn net() { let l = std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap(); \
               std::net::TcpStream::connect(l.local_addr().unwrap()).unwrap(); \
               assert!(std::env::var(\"CARGO_NET_OFFLINE\").is_ok()); assert!(std::env::temp_dir().join(\"x\").parent().unwrap().is_dir()); }";
    let base: Files<'_> = &[CARGO, CARGO_LOCK, (".gitignore", "target\n"), ("src/lib.rs", &lib("2", ""))];
    tried(base, &[("src/lib.rs", &lib("2", net))]).expect(State::Pass, "");
}

#[test]
fn registry_packages_are_lent_without_a_network() {
    // A package of our own lockfile is surely in this machine's cache.
    let ours =
        include_str!("../../Cargo.lock").split("\n\n").find(|block| block.contains("name = \"cfg-if\"")).unwrap();
    let version = ours.lines().find_map(|line| line.strip_prefix("version = ")).unwrap();
    let manifest = format!("{}[dependencies]\ncfg-if = {version}\n", CARGO.1);
    let lock = format!("{}dependencies = [\n \"cfg-if\",\n]\n", CARGO_LOCK.1);
    let (head, toy) = lock.split_once("\n\n").unwrap();
    let lock = format!("{head}\n\n{}\n\n{toy}", ours.trim());
    let green = lib("2", "#[test] fn is_two() { cfg_if::cfg_if! { if #[cfg(unix)] {} } }");
    let base: Files<'_> =
        &[("Cargo.toml", &manifest), ("Cargo.lock", &lock), (".gitignore", "target\n"), ("src/lib.rs", &green)];
    let tried = tried(base, &[("src/lib.rs", &format!("{green}\n"))]);
    tried.expect(State::Pass, "");
    let set_up = &tried.outcome.runs[0].command;
    assert_eq!((set_up.purpose, set_up.command.as_str()), (Purpose::Setup, "cargo fetch --offline"));
    assert!(set_up.ending.is_success(), "{}", tried.logs());
}

const NODE: (&str, &str) = ("package.json", "{\"type\":\"module\",\"scripts\":{\"test\":\"node --test\"}}");

fn node_test(body: &str) -> String {
    format!("import {{ test, describe }} from 'node:test';\nimport assert from 'node:assert';\n{body}\n")
}

#[test]
fn node_tests_are_run_and_named_with_their_groups() {
    if !has_node() {
        return;
    }
    let base = node_test("test('adds', () => {});");
    let more = node_test(
        "test('adds', () => {});\ndescribe('limits', () => { test('rejects <zero>', () => {}); test.skip('later', () => {}); });",
    );
    let honest =
        try_with(Settings::default(), &[NODE, ("a.test.js", &base)], &[("a.test.js", &more)], Baseline::Always);
    honest.expect(State::Pass, "");
    assert_eq!(honest.names(Side::Claim, CaseResult::Passed), ["adds", "limits > rejects <zero>"]);
    assert_eq!(honest.names(Side::Claim, CaseResult::Skipped), ["limits > later"]);
    let proofs = honest.prove(&[
        Proof::Test { name: "rejects <zero>".to_owned() },
        Proof::Test { name: "limits > later".to_owned() },
        Proof::File { path: RepoPath::from("a.test.js"), contains: Some("describe('limits'".to_owned()) },
        Proof::File { path: RepoPath::from("../etc/passwd"), contains: None },
        Proof::Run { command: "grep -q limits a.test.js".to_owned() },
        Proof::Run { command: "no-such-tool-at-all".to_owned() },
        Proof::Run { command: "./missing.sh".to_owned() },
    ]);
    let both: Vec<_> = proofs.proofs.iter().map(|p| (p.record.on_claim, p.record.on_base)).collect();
    assert_eq!(
        both,
        [
            (Some(true), Some(false)),
            (Some(false), Some(false)),
            (Some(true), Some(false)),
            (None, None),
            (Some(true), Some(false)),
            (None, None),
            (Some(false), Some(false)),
        ],
        "{:?}",
        proofs.proofs
    );
    assert_eq!(proofs.proofs[4].runs.len(), 2);
}

#[test]
fn a_red_node_run_denies_unless_the_base_is_red_too() {
    if !has_node() {
        return;
    }
    let green = node_test("test('adds', () => {});");
    let red = node_test("test('adds', () => { assert.equal(1, 2); });");
    tried(&[NODE, ("a.test.js", &green)], &[("a.test.js", &red)]).expect(State::Deny, "adds");
    let worse = node_test("test('adds', () => { assert.equal(1, 2); });\ntest('new', () => { assert.equal(1, 3); });");
    let held = tried(&[NODE, ("a.test.js", &red)], &[("a.test.js", &worse)]);
    held.expect(State::Deny, "these are new and fail: ");
    held.expect(State::Deny, "failed on the base already, and are not the claim's doing: ");
    let other = node_test("test('adds', () => { assert.equal(1, 3); });");
    tried(&[NODE, ("a.test.js", &red)], &[("a.test.js", &other)]).expect(State::Info, "failed on the base already");
    let broken = tried(&[NODE, ("a.test.js", &green)], &[("a.test.js", "syntax error (")]);
    broken.expect(State::Deny, "a.test.js");
}

#[test]
fn a_node_file_without_tests_is_no_test() {
    if !has_node() {
        return;
    }
    let green = node_test("test('adds', () => {});");
    let empty = tried(&[NODE, ("a.test.js", &green)], &[("a.test.js", "export const a = 1;\n")]);
    empty.expect(State::Deny, "no test was executed");
    let skipped = node_test("test.skip('adds', () => {});");
    tried(&[NODE, ("a.test.js", &green)], &[("a.test.js", &skipped)]).expect(State::Deny, "1 were skipped");
    let left = node_test("test('adds', () => { process.exit(0); });");
    tried(&[NODE, ("a.test.js", &green)], &[("a.test.js", &left)]).expect(State::Deny, "no test was executed");
}

/// Case C038, in small: what is installed in the user's checkout is not what a room tests.
#[test]
fn packages_of_the_users_checkout_are_out_of_reach() {
    if !has_node() {
        return;
    }
    let green = node_test("test('adds', () => {});");
    let reaching = format!("import '../node_modules/x/a.js';\nimport 'x';\n{green}");
    let package = ("node_modules/x/package.json", "{\"name\": \"x\", \"main\": \"a.js\"}");
    let files: Files<'_> =
        &[NODE, (".gitignore", "node_modules\n"), ("a.test.js", &green), package, ("node_modules/x/a.js", "")];
    let tried = tried(files, &[("a.test.js", &reaching)]);
    tried.expect(State::Deny, "a.test.js");
}

#[test]
fn pytest_is_run_and_named() {
    if !has_pytest() {
        return;
    }
    let ini = ("pytest.ini", "[pytest]\n");
    let green = "def test_a():\n    pass\n";
    let more = "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_a(n):\n    pass\nclass TestX:\n    @pytest.mark.skip\n    def test_b(self):\n        pass\n";
    let honest = tried(&[ini, ("tests/test_a.py", green)], &[("tests/test_a.py", more)]);
    honest.expect(State::Pass, "");
    assert_eq!(honest.names(Side::Claim, CaseResult::Passed), ["test_a[1]", "test_a[2]"]);
    let record = honest.outcome.tests(Side::Claim).next().unwrap();
    assert_eq!(record.cases[0].file, Some(RepoPath::from("tests/test_a.py")));
    assert_eq!(honest.prove(&[Proof::Test { name: "test_a".to_owned() }]).report.state, State::Pass);
    let red = "def test_a():\n    assert 1 == 2\n";
    tried(&[ini, ("tests/test_a.py", green)], &[("tests/test_a.py", red)]).expect(State::Deny, "tests.test_a::test_a");
    let uncollected = tried(&[ini, ("tests/test_a.py", green)], &[("tests/test_a.py", "import nothing_of_the_kind\n")]);
    uncollected.expect(State::Deny, "these are new and fail: ");
    let none = tried(&[ini, ("tests/test_a.py", green)], &[("tests/test_a.py", "def helper():\n    pass\n")]);
    none.expect(State::Deny, "on the base 1 ran");
    let torn = "import pytest\n@pytest.fixture\ndef f():\n    yield\n    raise RuntimeError('teardown')\ndef test_a(f):\n    pass\n";
    let torn = tried(&[ini, ("tests/test_a.py", green)], &[("tests/test_a.py", torn)]);
    torn.expect(State::Deny, "test_a");
    assert_eq!(torn.names(Side::Claim, CaseResult::Errored), ["test_a"]);
}

fn command(command: &str) -> Settings {
    let mut settings = Settings::default();
    settings.tests.command = Some(command.to_owned());
    settings
}

fn shell(settings: Settings, base: &str, claim: &str) -> Tried {
    let both: (Files<'_>, Files<'_>) = (&[("run.sh", base)], &[("run.sh", claim)]);
    try_with(settings, both.0, both.1, Baseline::WhenRed)
}

const REPORT: &str = "printf '<testsuite><testcase name=\"a\"/></testsuite>' > out.xml\n";

fn declared(command_line: &str) -> Settings {
    let mut settings = command(command_line);
    settings.tests.report = Some("out.xml".to_owned());
    settings
}

#[test]
fn the_exit_status_decides_and_a_printed_pass_does_not() {
    let green = "echo ok\n";
    shell(command("sh run.sh"), green, "echo 'all tests PASSED'; exit 1\n").expect(State::Deny, "exited with code 1");
    shell(command("sh run.sh"), green, "kill -SEGV $$\n").expect(State::Deny, "SIGSEGV");
    shell(command("sh run.sh"), green, "echo still ok\n").expect(State::Unknown, "which tests ran is unknown");
    shell(command("sh run.sh"), "exit 1\n", "exit 1\n\n").expect(State::Unknown, "environment");
    if has_pipefail(&Ground::new().host) {
        shell(command("sh run.sh | cat"), green, "exit 1\n").expect(State::Deny, "exited with code 1");
    }
}

#[test]
fn a_declared_report_counts_only_if_this_run_wrote_it() {
    shell(declared("sh run.sh"), REPORT, &format!("{REPORT}\n")).expect(State::Pass, "");
    shell(declared("sh run.sh"), REPORT, "true\n").expect(State::Unknown, "it wrote no report");
    shell(declared("sh run.sh"), REPORT, "touch out.xml\n").expect(State::Unknown, "the report is empty");
    shell(declared("sh run.sh"), REPORT, "ln -s /etc/passwd out.xml\n").expect(State::Unknown, "not a regular file");
    shell(declared("sh run.sh"), REPORT, "printf '<testsuite><testcase' > out.xml\n").expect(State::Unknown, "not XML");
    let lie = "printf '<testsuite><testcase name=\"a\"><failure/></testcase></testsuite>' > out.xml\n";
    shell(declared("sh run.sh"), REPORT, lie).expect(State::Deny, "although its report lists 1 failing");
    shell(declared("sh run.sh"), REPORT, &format!("{REPORT}exit 1\n")).expect(State::Deny, "report lists no failure");
    let ground = Ground::new();
    let (first, second) = sides(&ground, &[("run.sh", "true\n"), ("out.xml", "<testsuite/>")], &[("x", "y")]);
    let claim = claim_of(&ground, first, second);
    let (repo, settings) = (ground.repo(), declared("sh run.sh"));
    let inspection = inspection(&repo, &settings, &claim);
    assert!(matches!(tests_run::plan(&inspection, None), Err(PlanError::Report { .. })));
}

#[test]
fn a_run_that_hangs_is_held_with_what_was_measured() {
    let mut settings = declared("sh run.sh");
    settings.limits.tests_seconds = 1;
    let hung = shell(settings, REPORT, "echo started; exec sleep 300\n");
    hung.expect(State::Unknown, "still running after 1.");
    hung.expect(State::Unknown, "1 line");
}

#[test]
fn a_limit_on_silence_of_zero_is_none() {
    let mut settings = declared("sh run.sh");
    settings.limits.tests_idle_seconds = 0;
    shell(settings, REPORT, &format!("{REPORT}\n")).expect(State::Pass, "");
}

#[test]
fn a_run_that_changes_what_it_tests_is_held() {
    let meddling = format!("{REPORT}echo '# changed' >> run.sh\n");
    shell(declared("sh run.sh"), REPORT, &meddling).expect(State::Unknown, "changed tracked files");
}

#[test]
fn nothing_outside_room_and_scratch_can_be_written() {
    let mut ground = Ground::new();
    let path = "/usr/local/bin:/usr/bin:/bin";
    ground.host.env =
        Env::of([("PATH", path), ("HOME", "/nonexistent"), ("GITHUB_TOKEN", "x"), ("SSH_AUTH_SOCK", "/s")]);
    let outside = ground.top().join(".git/planted");
    let probe = format!(
        "{REPORT}! env | grep -e TOKEN -e SSH_\\n! touch {0} 2>/dev/null\ntouch \"$HOME/x\" \"$TMPDIR/y\"\n! git config x.y z 2>/dev/null\n! git update-ref refs/heads/z HEAD 2>/dev/null\n",
        outside.display()
    );
    let (first, second) = sides(&ground, &[("run.sh", REPORT)], &[("run.sh", &probe)]);
    let claim = claim_of(&ground, first, second);
    let (repo, settings) = (ground.repo(), declared("sh -e run.sh"));
    let inspection = inspection(&repo, &settings, &claim);
    let plan = tests_run::plan(&inspection, None).unwrap();
    let outcome = tests_run::run_tests(&inspection, &plan, &ground.logs(), Baseline::WhenRed, Reuse::Nothing);
    assert_eq!(outcome.report.state, State::Pass, "{:?}", outcome.report);
    assert!(outcome.runs.iter().all(|facts| facts.command.level.enforced), "{:?}", outcome.runs);
    assert!(!outside.exists() && ground.git(&["for-each-ref", "refs/heads/z"]).is_empty());
}

#[test]
fn a_failed_set_up_is_nobodys_fault() {
    let mut settings = declared("sh run.sh");
    settings.tests.setup = vec!["exit 9".to_owned()];
    shell(settings, REPORT, &format!("{REPORT}\n")).expect(State::Unknown, "the set-up `exit 9`");
    let mut settings = declared("sh run.sh");
    settings.tests.setup = vec!["echo '<testsuite><testcase name=\"a\"/></testsuite>' > out.xml".to_owned()];
    shell(settings, REPORT, "true\n").expect(State::Unknown, "it wrote no report");
}

#[test]
fn a_script_that_the_claim_masks_denies() {
    if !has("npm", &["--version"]) {
        return;
    }
    let script = |test: &str| format!("{{\"scripts\":{{\"test\":\"{test}\"}}}}");
    let masked = tried(&[("package.json", &script("sh t.sh"))], &[("package.json", &script("sh t.sh || true"))]);
    masked.expect(State::Deny, "`|| true` turns a failure into success");
}

#[test]
fn without_a_command_nothing_passes() {
    let none = tried(&[("a.txt", "a")], &[("a.txt", "b")]);
    none.expect(State::Unknown, "there is no test command");
    assert!(none.outcome.runs.is_empty());
}

#[test]
fn criteria_are_proved_on_both_trees() {
    let tried = shell(declared("sh run.sh"), REPORT, &format!("{REPORT}# careful\n"));
    let file =
        |path: &str, text: Option<&str>| Proof::File { path: RepoPath::from(path), contains: text.map(str::to_owned) };
    let run = |command: &str| Proof::Run { command: command.to_owned() };
    let proved = tried.prove(&[
        file("run.sh", Some("careful")),
        file("run.sh", None),
        file("run.sh/x", None),
        file("../run.sh", None),
        run("grep -q careful run.sh"),
        run("no-such-tool-at-all"),
        run("./missing.sh"),
        Proof::Test { name: "a".to_owned() },
    ]);
    let both: Vec<_> = proved.proofs.iter().map(|p| (p.record.on_claim, p.record.on_base)).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(
        both,
        [(yes, no), (yes, yes), (no, no), (None, None), (yes, no), (None, None), (no, no), (yes, None)],
        "{:?}",
        proved.proofs
    );
    assert_eq!(proved.runs.len(), 6, "three commands on two trees");
    assert_eq!(proved.proofs[4].runs, [0, 3]);
    let places: Vec<&str> = proved.report.findings.iter().map(|finding| finding.place.as_str()).collect();
    assert_eq!(places, ["C3", "C4", "C6", "C7"], "grep reads the changed file, it does not run it");
    let disturbed = tried.prove(&[run("echo x >> run.sh"), run("true")]);
    assert_eq!(disturbed.report.state, State::Unknown);
    assert!(disturbed.proofs[1].record.observed.contains("changed the tracked file run.sh"), "{disturbed:?}");
}
