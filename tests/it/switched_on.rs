//! Reports that we switch on. Where the real runner is not on every machine, a program of its name stands in: it looks
//! for the option that the real one takes and writes what the real one writes (real samples of jest 30, vitest 4 and
//! mocha 12; the documented formats of go, Surefire, Gradle, trx and `PHPUnit`).

use crate::rooms::Ground;
use crate::runners::{claim_of, inspection, sides};
use crate::support::has;
use countersign::config::Settings;
use countersign::floor::tests_run::{self, Baseline, Plan, ReportWay, Reuse, Runner, TestsOutcome};
use countersign::receipts::{CaseResult, State};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

/// How one runner is imitated.
struct Stand {
    command: &'static str,
    runner: Runner,
    /// Where the program lies in the tree; it is found first on the `PATH`, or by its path.
    program: &'static str,
    /// Shell lines that put the path of the report, or of a folder for it, into `$out`.
    finds: &'static str,
    /// What it writes about these tests: name and result.
    report: fn(&[(&str, &str)]) -> String,
    /// Its exit code where nothing was found.
    empty: i32,
}

fn jest(tests: &[(&str, &str)]) -> String {
    let word = |result: &str| match result {
        "pass" => "passed",
        "fail" => "failed",
        _ => "pending",
    };
    let cases: Vec<String> = tests
        .iter()
        .map(|(name, result)| {
            format!(
                "{{\"ancestorTitles\":[],\"title\":\"{name}\",\"fullName\":\"{name}\",\"status\":\"{}\",\
                 \"location\":{{\"column\":1,\"line\":1}},\"failureMessages\":[]}}",
                word(result)
            )
        })
        .collect();
    let count = |wanted: &str| tests.iter().filter(|(_, result)| *result == wanted).count();
    let failed = count("fail") > 0;
    let file = format!(
        "{{\"name\":\"ROOM/a.test.js\",\"status\":\"{}\",\"assertionResults\":[{}]}}",
        if failed { "failed" } else { "passed" },
        cases.join(",")
    );
    format!(
        "{{\"numTotalTests\":{},\"numPassedTests\":{},\"numFailedTests\":{},\"numPendingTests\":{},\"numTodoTests\":0,\
         \"numFailedTestSuites\":{},\"numRuntimeErrorTestSuites\":0,\"success\":{},\"wasInterrupted\":false,\
         \"testResults\":[{}]}}",
        tests.len(),
        count("pass"),
        count("fail"),
        count("skip"),
        u8::from(failed),
        !failed,
        if tests.is_empty() { String::new() } else { file }
    )
}

fn junit(tests: &[(&str, &str)]) -> String {
    let mut text = format!("<?xml version=\"1.0\"?><testsuite name=\"a\" tests=\"{}\">", tests.len());
    for (name, result) in tests {
        let inside = match *result {
            "fail" => "<failure>no</failure>",
            "skip" => "<skipped/>",
            _ => "",
        };
        let _ = write!(text, "<testcase classname=\"a\" name=\"{name}\">{inside}</testcase>");
    }
    text + "</testsuite>"
}

fn go(tests: &[(&str, &str)]) -> String {
    let event = |action: &str, test: &str| {
        let test = if test.is_empty() { String::new() } else { format!(",\"Test\":\"{test}\"") };
        format!("{{\"Time\":\"t\",\"Action\":\"{action}\",\"Package\":\"toy\"{test}}}\n")
    };
    let end = if tests.iter().any(|(_, result)| *result == "fail") { "fail" } else { "pass" };
    let each = tests.iter().map(|(name, result)| event("run", name) + &event(result, name));
    event("start", "") + &each.collect::<String>() + &event(end, "")
}

fn trx(tests: &[(&str, &str)]) -> String {
    let mut results = String::new();
    for (name, result) in tests {
        let word = match *result {
            "fail" => "Failed",
            "skip" => "NotExecuted",
            _ => "Passed",
        };
        let _ = write!(results, "<UnitTestResult testId=\"{name}\" testName=\"{name}\" outcome=\"{word}\"/>");
    }
    let outcome = if results.contains("Failed") { "Failed" } else { "Completed" };
    format!(
        "<TestRun><Results>{results}</Results><ResultSummary outcome=\"{outcome}\"><Counters total=\"{}\"/>\
         </ResultSummary></TestRun>",
        tests.len()
    )
}

const STANDS: [Stand; 8] = [
    Stand {
        command: "npx jest",
        runner: Runner::Jest,
        program: "node_modules/.bin/npx",
        finds: "for a; do case $a in --outputFile=*) out=${a#*=};; esac; done\n",
        report: jest,
        empty: 1,
    },
    Stand {
        command: "npm test",
        runner: Runner::Jest,
        program: "node_modules/.bin/jest",
        finds: "for a; do case $a in --outputFile=*) out=${a#*=};; esac; done\n",
        report: jest,
        empty: 1,
    },
    Stand {
        command: "vitest run",
        runner: Runner::Vitest,
        program: "node_modules/.bin/vitest",
        finds: "for a; do case $a in --outputFile.json=*) out=${a#*=};; esac; done\n",
        report: jest,
        empty: 1,
    },
    Stand {
        command: "node_modules/.bin/mocha",
        runner: Runner::Mocha,
        program: "node_modules/.bin/mocha",
        finds: "for a; do case $a in --reporter-option=output=*) out=${a##*=};; esac; done\n",
        report: junit,
        empty: 1,
    },
    Stand {
        command: "go test ./...",
        runner: Runner::GoTest,
        program: "node_modules/.bin/go",
        finds: "[ \"$1 $2 $3\" = 'test -json -count=1' ]\nout=/dev/stdout\n",
        report: go,
        empty: 0,
    },
    Stand {
        command: "./mvnw -q test",
        runner: Runner::Maven,
        program: "mvnw",
        finds: "mkdir -p core/target/surefire-reports\nout=core/target/surefire-reports/TEST-a.xml\n",
        report: junit,
        empty: 0,
    },
    Stand {
        command: "dotnet test",
        runner: Runner::Dotnet,
        program: "node_modules/.bin/dotnet",
        finds: "while [ \"$1\" != --results-directory ]; do shift; done\nmkdir -p \"$2\"\nout=$2/me_host_1.trx\n",
        report: trx,
        empty: 0,
    },
    Stand {
        command: "vendor/bin/phpunit",
        runner: Runner::Phpunit,
        program: "vendor/bin/phpunit",
        finds: "while [ \"$1\" != --log-junit ]; do shift; done\nout=$2\n",
        report: junit,
        empty: 1,
    },
];

/// What the stand-in does on one tree.
enum Does<'a> {
    /// Writes a report of these tests and exits so.
    Tells(&'a [(&'a str, &'a str)], i32),
    /// Runs these shell lines in place of writing its report.
    Instead(&'a str),
}

impl Stand {
    fn files(&self, does: &Does<'_>) -> Vec<(String, String)> {
        let (step, told, code) = match does {
            Does::Tells(tests, code) => ("sed \"s|ROOM|$PWD|g\" told > \"$out\"\n", (self.report)(tests), *code),
            Does::Instead(step) => (*step, String::new(), 0),
        };
        let script = format!("#!/bin/sh\nset -e\n{}{step}\nexit {code}\n", self.finds);
        vec![
            (".gitignore".to_owned(), "target\n".to_owned()),
            ("package.json".to_owned(), "{\"scripts\":{\"test\":\"jest --ci\"}}".to_owned()),
            ("told".to_owned(), told),
            (self.program.to_owned(), script),
        ]
    }

    fn tried(&self, base: &Does<'_>, claim: &Does<'_>) -> TestsOutcome {
        let ground = Ground::new();
        let (base, claim) = (self.files(base), self.files(claim));
        let borrowed = |files: &'_ [(String, String)]| -> Vec<(String, String)> { files.to_vec() };
        for (path, text) in borrowed(&base) {
            ground.write(&path, &text);
        }
        let program = ground.top().join(self.program);
        let runnable = || std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        runnable();
        let first = ground.commit();
        for (path, text) in borrowed(&claim) {
            ground.write(&path, &text);
        }
        ground.write("changed", "x");
        runnable();
        let claim = claim_of(&ground, first, ground.commit());
        let repo = ground.repo();
        let mut settings = Settings::default();
        settings.tests.command = Some(self.command.to_owned());
        let on = inspection(&repo, &settings, &claim);
        let plan = tests_run::plan(&on, None).unwrap();
        let Plan::Commands(commands) = &plan else { panic!("no command") };
        assert_eq!(commands[0].runner, self.runner, "{}", self.command);
        let outcome = tests_run::run_tests(&on, &plan, &ground.logs(), Baseline::Always, Reuse::Nothing);
        for facts in outcome.runs.iter().filter(|facts| facts.tests.is_none()) {
            let log = String::from_utf8_lossy(&std::fs::read(&facts.log).unwrap()).into_owned();
            assert!(log.len() < 4096, "{log}");
        }
        outcome
    }

    #[track_caller]
    fn expect(&self, base: &Does<'_>, claim: &Does<'_>, state: State, words: &str) -> TestsOutcome {
        let outcome = self.tried(base, claim);
        let said: String = outcome.report.findings.iter().map(|f| format!("{}\n", f.observed)).collect();
        let logs: String = outcome
            .runs
            .iter()
            .map(|f| String::from_utf8_lossy(&std::fs::read(&f.log).unwrap_or_default()).into_owned())
            .collect();
        assert_eq!(outcome.report.state, state, "{}: {said}\n{logs}", self.command);
        assert!(said.contains(words), "{}: {words:?} is not in: {said}", self.command);
        outcome
    }
}

fn can_stand(stand: &Stand) -> bool {
    !stand.command.starts_with("npm ") || has("npm", &["--version"])
}

const ONE: Does<'_> = Does::Tells(&[("TestA", "pass")], 0);

#[test]
fn each_runners_report_is_switched_on_and_read() {
    for stand in STANDS.iter().filter(|stand| can_stand(stand)) {
        let two = Does::Tells(&[("TestA", "pass"), ("TestB", "pass"), ("TestC", "skip")], 0);
        let green = stand.expect(&ONE, &two, State::Pass, "");
        let record = green.tests(tests_run::Side::Claim).next().unwrap();
        let passed: Vec<&str> =
            record.cases.iter().filter(|c| c.result == CaseResult::Passed).map(|c| c.name.as_str()).collect();
        assert_eq!(
            (passed, record.cases.len(), record.complete),
            (vec!["TestA", "TestB"], 3, true),
            "{}",
            stand.command
        );
        let red = Does::Tells(&[("TestA", "fail")], 1);
        stand.expect(&ONE, &red, State::Deny, "on the base these pass, on the claim they fail");
        stand.expect(&red, &Does::Tells(&[("TestA", "fail")], 1), State::Info, "failed on the base already");
    }
}

#[test]
fn zero_is_not_green_whatever_the_runner() {
    for stand in STANDS.iter().filter(|stand| can_stand(stand)) {
        let none = Does::Tells(&[], stand.empty);
        stand.expect(&ONE, &none, State::Deny, "no test was executed; on the base 1 ran");
        let skipped = Does::Tells(&[("TestA", "skip")], 0);
        stand.expect(&ONE, &skipped, State::Deny, "1 were skipped");
        let lie = Does::Tells(&[("TestA", "fail")], 0);
        stand.expect(&ONE, &lie, State::Deny, "exited with code 0 although its report lists 1 failing");
    }
}

#[test]
fn a_runner_that_is_ended_from_inside_leaves_no_report_and_is_no_success() {
    for stand in STANDS.iter().filter(|stand| can_stand(stand)) {
        let words = match stand.runner {
            Runner::Maven | Runner::Gradle | Runner::Dotnet => "no test was executed",
            Runner::GoTest => "no event",
            _ => "it wrote no report: something ended the runner before it could",
        };
        let state = if stand.runner == Runner::GoTest { State::Unknown } else { State::Deny };
        stand.expect(&ONE, &Does::Instead("echo 'Tests: 1 passed'"), state, words);
    }
}

#[test]
fn a_report_that_cannot_be_read_proves_nothing() {
    let steps = [
        ("printf '<testsuite><testcase' > \"$out\"", "not XML"),
        ("printf '\\377\\376\\000' > \"$out\"", ""),
        ("ln -s /etc/passwd \"$out\"", "not a regular file"),
        ("truncate -s 80M \"$out\"", "too many to read"),
        (
            "printf '<!DOCTYPE t [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><testsuite><testcase name=\"&b;\"/></testsuite>' > \"$out\"",
            "document type",
        ),
        (
            "echo '<testsuite><testcase name=\"TestA\"/></testsuite>' > \"$out\"; rm -rf \"$out\"; mkdir \"$out\"",
            "not a regular file",
        ),
    ];
    let phpunit = &STANDS[7];
    for (step, words) in steps {
        phpunit.expect(&ONE, &Does::Instead(step), State::Unknown, words);
    }
    // It deletes its own report: that is an end from inside.
    let deletes = "echo '<testsuite/>' > \"$out\"\nrm \"$out\"";
    phpunit.expect(&ONE, &Does::Instead(deletes), State::Deny, "it wrote no report");
}

#[test]
fn only_files_that_this_run_wrote_count_as_mavens() {
    let maven = &STANDS[5];
    // What an older build left in the tree itself is removed first: then nothing was tested.
    let old = "target/surefire-reports/TEST-old.xml";
    let ground = Ground::new();
    for (path, text) in maven.files(&ONE) {
        ground.write(&path, &text);
    }
    ground.write(".gitignore", "");
    ground.write(old, &junit(&[("TestOld", "pass")]));
    std::fs::set_permissions(ground.top().join("mvnw"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let first = ground.commit();
    ground.write("mvnw", "#!/bin/sh\nexit 0\n");
    let claim = claim_of(&ground, first, ground.commit());
    let repo = ground.repo();
    let mut settings = Settings::default();
    settings.tests.command = Some("./mvnw test".to_owned());
    let on = inspection(&repo, &settings, &claim);
    let plan = tests_run::plan(&on, None).unwrap();
    let outcome = tests_run::run_tests(&on, &plan, &ground.logs(), Baseline::Always, Reuse::Nothing);
    let said: String = outcome.report.findings.iter().map(|f| format!("{}\n", f.observed)).collect();
    assert_eq!(outcome.report.state, State::Deny, "{said}");
    assert!(said.contains("no test was executed") && !said.contains("TestOld passed"), "{said}");
}

#[test]
fn a_script_that_cannot_be_switched_on_says_what_to_declare() {
    if !has("npm", &["--version"]) {
        return;
    }
    let ground = Ground::new();
    let package = "{\"scripts\":{\"test\":\"sh t.sh\"}}";
    let (first, second) = sides(&ground, &[("package.json", package), ("t.sh", "true\n")], &[("a", "b")]);
    let claim = claim_of(&ground, first, second);
    let (repo, settings) = (ground.repo(), Settings::default());
    let on = inspection(&repo, &settings, &claim);
    let plan = tests_run::plan(&on, None).unwrap();
    let Plan::Commands(commands) = &plan else { panic!("no command") };
    assert!(matches!(commands[0].report, ReportWay::None(_)));
    let outcome = tests_run::run_tests(&on, &plan, &ground.logs(), Baseline::Always, Reuse::Nothing);
    let said = &outcome.report.findings[0].observed;
    assert_eq!(outcome.report.state, State::Unknown);
    assert!(said.contains("package script") && said.contains("`tests.report` and `tests.format`"), "{said}");
}

#[test]
fn nextest_is_run_and_named() {
    if !has("cargo", &["nextest", "--version"]) {
        return;
    }
    let manifest = "[package]\nname = \"toy\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let lib = |body: &str| {
        format!(
            "pub fn two() -> u32 {{ {body} }}\n#[cfg(test)]\nmod tests {{ #[test] fn is_two() {{ assert_eq!(super::two(), 2) }} }}\n"
        )
    };
    for (body, state, words) in [("1 + 1", State::Pass, ""), ("3", State::Deny, "toy::tests::is_two")] {
        let ground = Ground::new();
        let base = [("Cargo.toml", manifest), (".gitignore", "target\nCargo.lock\n"), ("src/lib.rs", &lib("2"))];
        let (first, second) = sides(&ground, &base, &[("src/lib.rs", &lib(body))]);
        let claim = claim_of(&ground, first, second);
        let repo = ground.repo();
        let mut settings = Settings::default();
        settings.tests.command = Some("cargo nextest run".to_owned());
        let on = inspection(&repo, &settings, &claim);
        let plan = tests_run::plan(&on, None).unwrap();
        let outcome = tests_run::run_tests(&on, &plan, &ground.logs(), Baseline::Always, Reuse::Nothing);
        let said: String = outcome.report.findings.iter().map(|f| format!("{}\n", f.observed)).collect();
        let logs: String = outcome
            .runs
            .iter()
            .map(|f| String::from_utf8_lossy(&std::fs::read(&f.log).unwrap_or_default()).into_owned())
            .collect();
        assert_eq!(outcome.report.state, state, "{said}\n{logs}");
        assert!(said.contains(words), "{said}");
        assert!(outcome.runs.iter().all(|facts| facts.tests.is_some()));
    }
}
