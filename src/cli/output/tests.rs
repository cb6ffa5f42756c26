//! One report in every form: what the forms' own documents demand, what the forges show, and what a stranger may write.

use super::entry::{Entry, Weight, entries};
use super::{check_run, code_quality, command, junit, sarif, shown, summary, text};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::pipeline::ci::{
    CiDecision, CiReport, Covering, CriterionReport, EvidenceKind, GateFinding, Health, HealthCheck, Requirement,
    TaskReport,
};
use crate::receipts::{DecisionKind, Reason, Remedy, State};
use proptest::prelude::*;
use quick_xml::events::Event;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a stranger would put where a name is expected.
const HOSTILE: &str = "x|`<img src=y>` [z](http://e.invalid) @team\r\n::error::forged\n  ::stop-commands::t\n##[add-mask]q \
                       100%0A ]]> \u{202e}\u{7} {0} ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn reason(code: &str, text: &str) -> Reason {
    Reason { code: code.to_owned(), text: text.to_owned() }
}

fn finding(state: State, place: &str, observed: &str) -> GateFinding {
    GateFinding {
        check: "tests-run".to_owned(),
        state,
        place: place.to_owned(),
        line: None,
        expected: "the tests run and pass".to_owned(),
        observed: observed.to_owned(),
        remedy: Remedy::Fix,
    }
}

fn task(id: &str, decision: DecisionKind, findings: Vec<GateFinding>) -> TaskReport {
    let criterion = |number, covering| CriterionReport {
        number,
        text: format!("criterion {number}"),
        covering,
        covered_by: vec![format!("test:t{number}")],
    };
    let all = [Covering::Covered, Covering::EyePending, Covering::Skipped, Covering::Failed, Covering::Unknown];
    TaskReport {
        id: id.to_owned(),
        title: "A task".to_owned(),
        because: "trailer of 1234".to_owned(),
        decision,
        passes: matches!(decision, DecisionKind::Land | DecisionKind::Skip),
        reasons: vec![reason("tests-run", "this check denies"), reason("no-answer", "nobody answered")],
        evidence: EvidenceKind::Verified,
        attested: None,
        criteria: (1..).zip(all).map(|(number, covering)| criterion(number, covering)).collect(),
        findings,
        case: None,
    }
}

fn report(decision: CiDecision, tasks: Vec<TaskReport>) -> CiReport {
    let check = |name: &str| HealthCheck { name: name.to_owned(), works: true, text: "it said no".to_owned() };
    CiReport {
        schema: CiReport::SCHEMA.to_owned(),
        base: CommitId::new(&"a".repeat(40)).unwrap(),
        base_rule: "given".to_owned(),
        head: CommitId::new(&"b".repeat(40)).unwrap(),
        tree: Some(TreeId::new(&"c".repeat(40)).unwrap()),
        merged: true,
        commits: 3,
        changed: 5,
        require: Requirement::Either,
        policy: "d".repeat(64),
        health: Health { works: true, checks: vec![check("canary"), check("box")] },
        tasks,
        findings: Vec::new(),
        decision,
        reasons: vec![reason("task", "1 task is not covered")],
        exit: decision.exit(),
    }
}

fn here(path: &RepoPath) -> bool {
    path.as_bytes().starts_with(b"src/") && path.as_bytes().ends_with(b".rs")
}

/// A run with this many findings, every other one a question, each with as much text as is shown.
fn crowded(number: usize) -> CiReport {
    let long = "<|a&b.c> ".repeat(600);
    let findings = (0..number)
        .map(|n| {
            let state = if n % 2 == 0 { State::Deny } else { State::Ask };
            finding(state, &format!("src/f{n}.rs:{}", n + 1), &format!("finding f{n}: {long}"))
        })
        .collect();
    report(CiDecision::Fail, vec![task("w-1", DecisionKind::SendBack, findings)])
}

fn told(report: &CiReport) -> (CiReport, Vec<Entry>) {
    let shown = shown::shown(report);
    let entries = entries(&shown, &here);
    (shown, entries)
}

fn complaints(schema: &str, document: &Value) -> Vec<String> {
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(document).take(5).map(|why| format!("{}: {why}", why.instance_path())).collect()
}

const SARIF: &str = include_str!("../../../tests/schemas/sarif-2.1.0.json");
const CODE_QUALITY: &str = include_str!("../../../tests/schemas/code-quality.json");
const CHECK_RUN: &str = include_str!("../../../tests/schemas/check-run.json");

#[test]
fn a_run_of_5000_findings_stays_within_what_github_shows_and_counts_the_rest() {
    let report = crowded(5_200);
    let (shown, entries) = told(&report);
    let total = |weight| entries.iter().filter(|entry| entry.weight == weight).count();
    let (errors, warnings) = (total(Weight::Error), total(Weight::Warning));
    assert_eq!((errors, warnings), (2_600 + 2, 2_600), "two reasons that no finding stands for");

    let commands = command::annotations(&entries);
    for (level, all) in [("error", errors), ("warning", warnings)] {
        let shown: Vec<_> = commands.iter().filter(|line| line.starts_with(&format!("::{level} "))).collect();
        assert_eq!(shown.len(), 10, "ten a level and step");
        let last = shown.last().unwrap();
        assert!(last.contains(&format!("{} more of {all} {level}s", all - 9)), "{last}");
    }
    assert!(commands.len() <= 50, "fifty a run");
    assert!(commands.iter().all(|line| line.len() < 64 << 10), "64 KB a message");

    let markdown = summary::markdown(&shown, &entries, summary::STEP_LIMIT);
    assert!(markdown.len() <= 1_048_576, "{}", markdown.len());
    let rows = markdown
        .lines()
        .filter(|line| line.starts_with("| deny") || line.starts_with("| ask") || line.starts_with("| unknown"))
        .count();
    assert!(rows > 20, "{rows}");
    assert!(markdown.contains(&format!("{} findings not shown here (of {})", entries.len() - rows, entries.len())));

    let body = check_run::body(&shown, &entries, Some("https://forge.invalid/run"));
    assert_eq!(complaints(CHECK_RUN, &body), [""; 0]);
    assert_eq!(body["output"]["annotations"].as_array().unwrap().len(), 50);
    assert!(body["output"]["summary"].as_str().unwrap().contains("50 annotations of 5200 are shown"));

    let log = sarif::log(&shown, &entries);
    let run = &log["runs"][0];
    assert_eq!(run["results"].as_array().unwrap().len(), 5_000);
    assert_eq!(run["properties"]["notListed"], 202);
    assert!(run["invocations"][0]["toolExecutionNotifications"].to_string().contains("202 findings not listed"));
    assert!(log.to_string().len() < 10 << 20, "10 MB, and that only after compression");
    assert_eq!(complaints(SARIF, &log), [""; 0]);
}

#[test]
fn a_small_run_is_shown_whole() {
    let (shown, entries) = told(&report(CiDecision::Pass, vec![task("w-1", DecisionKind::Land, Vec::new())]));
    assert_eq!(entries, [], "a task that passes needs no reasons");
    assert_eq!(command::annotations(&entries), [""; 0]);
    let markdown = summary::markdown(&shown, &entries, summary::STEP_LIMIT);
    assert!(!markdown.contains("not shown"), "{markdown}");
    assert!(markdown.contains("## countersign: PASS\n"), "{markdown}");
    assert!(summary::markdown(&shown, &entries, 0).len() <= 400, "a step that wrote its limit before");
}

#[test]
fn a_sarif_result_is_a_failure_only_where_a_claim_is_false() {
    let findings = vec![
        finding(State::Deny, "src/a.rs:7", "1 of 3 fails"),
        finding(State::Ask, "src/b.rs", "odd"),
        finding(State::Unknown, "cargo test", "no runner"),
        finding(State::Info, "", "by the way"),
    ];
    let (shown, entries) = told(&report(CiDecision::Fail, vec![task("w-1", DecisionKind::SendBack, findings)]));
    let log = sarif::log(&shown, &entries);
    assert_eq!(complaints(SARIF, &log), [""; 0]);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of = |word: &str| results.iter().find(|one| one["message"]["text"].as_str().unwrap().contains(word)).unwrap();
    let kinds = |word| (of(word)["kind"].as_str().unwrap(), of(word)["level"].as_str().unwrap());
    assert_eq!(kinds("1 of 3"), ("fail", "error"));
    assert_eq!(kinds("odd"), ("review", "none"));
    assert_eq!(kinds("no runner"), ("open", "none"));
    assert_eq!(kinds("by the way"), ("informational", "none"));
    let place = &of("1 of 3")["locations"][0]["physicalLocation"];
    assert_eq!((&place["artifactLocation"]["uri"], &place["region"]["startLine"]), (&"src/a.rs".into(), &7.into()));
    assert_eq!(of("no runner")["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "cargo test");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
}

#[test]
fn a_fingerprint_stays_when_the_line_and_the_ids_change() {
    let of = |line: u32, id: &str| {
        let findings = vec![finding(State::Deny, &format!("src/a.rs:{line}"), &format!("line {line} of tree {id}"))];
        let (_, entries) = told(&report(CiDecision::Fail, vec![task("w-1", DecisionKind::SendBack, findings)]));
        entries[0].fingerprint.clone()
    };
    assert_eq!(of(7, "342bce9df421"), of(90, "e8c8622823f6"));
    let (_, entries) = told(&crowded(300));
    let marks: BTreeSet<_> = entries.iter().map(|entry| &entry.fingerprint).collect();
    assert_eq!(marks.len(), entries.len());
}

#[test]
fn a_broken_gate_is_an_error_and_no_successful_execution() {
    let mut report = report(CiDecision::Broken, Vec::new());
    report.health = Health {
        works: false,
        checks: vec![HealthCheck { name: "canary".to_owned(), works: false, text: "it was let through".to_owned() }],
    };
    report.reasons = vec![reason("gate-broken", "the canary passed")];
    let (shown, entries) = told(&report);
    let log = sarif::log(&shown, &entries);
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert_eq!(log["runs"][0]["invocations"][0]["exitCode"], 4);
    assert!(command::annotations(&entries)[0].starts_with("::error title=countersign%3A gate-health::canary"));
    assert_eq!(check_run::body(&shown, &entries, None)["conclusion"], "failure");
    assert!(text::lines(&shown).contains(&"gate     BROKEN: canary".to_owned()));
    assert!(junit::document(&shown).contains("<error message=\"it was let through\">"));
}

#[test]
fn a_held_run_without_any_finding_still_says_why() {
    let mut report = report(CiDecision::Held, Vec::new());
    report.reasons = vec![reason("empty-range", "nothing was checked")];
    let (shown, entries) = told(&report);
    assert_eq!(command::annotations(&entries), ["::warning title=countersign%3A empty-range::nothing was checked"]);
    assert_eq!(check_run::body(&shown, &entries, None)["conclusion"], "action_required");
}

/// Elements with the attributes they may have and must have, after the schema that Jenkins publishes.
const JUNIT: [(&str, &[&str], &[&str]); 7] = [
    ("testsuites", &["name", "tests", "failures", "errors"], &[]),
    ("testsuite", &["name", "tests", "failures", "errors", "skipped"], &["name", "tests", "failures", "errors"]),
    ("properties", &[], &[]),
    ("property", &["name", "value"], &["name", "value"]),
    ("testcase", &["name", "classname"], &["name"]),
    ("failure", &["message", "type"], &[]),
    ("error", &["message", "type"], &[]),
];

/// Reads a JUnit document by that schema; every suite's counts must be what it holds. The cases: suite, name, ending, and
/// the text of its ending.
fn cases_of(document: &str) -> Vec<(String, String, String, String)> {
    let mut reader = quick_xml::Reader::from_str(document);
    let (mut open, mut cases, mut suite, mut counts) = (Vec::<String>::new(), Vec::new(), String::new(), [0u32; 4]);
    let mut promised = [0u32; 4];
    loop {
        let event = reader.read_event().unwrap();
        let (start, empty) = match &event {
            Event::Start(start) => (Some(start), false),
            Event::Empty(start) => (Some(start), true),
            _ => (None, false),
        };
        if let Some(start) = start {
            let name = start.name().as_ref().to_owned();
            let name = if name == "skipped" { "error".to_owned() } else { name };
            let (_, may, must) = JUNIT.iter().find(|(known, ..)| *known == name).unwrap_or_else(|| panic!("{name}"));
            let attributes: Vec<(String, String)> = start
                .attributes()
                .map(|one| {
                    let one = one.unwrap();
                    let value = one.normalized_value(quick_xml::XmlVersion::Explicit1_0);
                    (one.key.as_ref().to_owned(), value.unwrap().into_owned())
                })
                .collect();
            assert!(attributes.iter().all(|(key, _)| may.contains(&key.as_str())), "{name}: {attributes:?}");
            let get = |key: &str| attributes.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone());
            assert!(must.iter().all(|key| get(key).is_some()), "{name}: {attributes:?}");
            let real = start.name().as_ref().to_owned();
            match real.as_str() {
                "testsuite" => {
                    suite = get("name").unwrap();
                    counts = [0; 4];
                    promised = ["tests", "failures", "errors", "skipped"].map(|key| get(key).unwrap().parse().unwrap());
                }
                "testcase" => {
                    counts[0] += 1;
                    cases.push((suite.clone(), get("name").unwrap(), "passed".to_owned(), String::new()));
                }
                "failure" | "error" | "skipped" => {
                    let at = ["failure", "error", "skipped"].iter().position(|word| *word == real).unwrap();
                    counts[at + 1] += 1;
                    let case = cases.last_mut().unwrap();
                    assert_eq!(case.2, "passed", "one ending a case");
                    case.2.clone_from(&real);
                    case.3 = get("message").unwrap();
                }
                _ => {}
            }
            if !empty {
                open.push(real);
            }
        }
        match event {
            Event::End(end) => {
                assert_eq!(open.pop().unwrap(), end.name().as_ref());
                if end.name().as_ref() == "testsuite" {
                    assert_eq!(counts, promised, "{suite}");
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(open, [""; 0]);
    cases
}

#[test]
fn junit_has_a_suite_a_task_and_a_case_a_criterion() {
    let findings = vec![finding(State::Deny, "src/a.rs", "red"), finding(State::Info, "src/a.rs", "by the way")];
    let tasks = vec![task("w-1", DecisionKind::SendBack, findings), task("w-2", DecisionKind::Skip, Vec::new())];
    let (shown, _) = told(&report(CiDecision::Fail, tasks));
    let cases = cases_of(&junit::document(&shown));
    let endings: Vec<(&str, &str, &str)> =
        cases.iter().map(|(suite, name, ending, _)| (suite.as_str(), name.as_str(), ending.as_str())).collect();
    assert_eq!(
        endings,
        [
            ("countersign", "health canary", "passed"),
            ("countersign", "health box", "passed"),
            ("countersign", "decision", "failure"),
            ("w-1: A task", "C1 criterion 1", "passed"),
            ("w-1: A task", "C2 criterion 2", "skipped"),
            ("w-1: A task", "C3 criterion 3", "skipped"),
            ("w-1: A task", "C4 criterion 4", "failure"),
            ("w-1: A task", "C5 criterion 5", "error"),
            ("w-1: A task", "check tests-run", "failure"),
            ("w-1: A task", "decision", "failure"),
            ("w-2: A task", "C1 criterion 1", "passed"),
            ("w-2: A task", "C2 criterion 2", "skipped"),
            ("w-2: A task", "C3 criterion 3", "skipped"),
            ("w-2: A task", "C4 criterion 4", "failure"),
            ("w-2: A task", "C5 criterion 5", "error"),
            ("w-2: A task", "decision", "skipped"),
        ]
    );
}

#[test]
fn gitlab_gets_issues_with_a_path_a_line_and_a_fingerprint_of_their_own() {
    let findings = vec![finding(State::Deny, "src/a.rs:7", "red"), finding(State::Ask, "cargo test", "odd")];
    let (_, entries) = told(&report(CiDecision::Fail, vec![task("w-1", DecisionKind::SendBack, findings)]));
    let issues = serde_json::to_value(code_quality::issues(&entries)).unwrap();
    assert_eq!(complaints(CODE_QUALITY, &issues), [""; 0]);
    assert_eq!((&issues[0]["location"]["path"], &issues[0]["severity"]), (&"src/a.rs".into(), &"critical".into()));
    assert_eq!(issues[0]["location"]["lines"]["begin"], 7);
}

/// A report whose every text is this one.
fn all_of(hostile: &str) -> CiReport {
    let hostile_finding = GateFinding { check: hostile.to_owned(), ..finding(State::Deny, hostile, hostile) };
    let mut one = task(hostile, DecisionKind::SendBack, vec![hostile_finding.clone()]);
    for text in [&mut one.title, &mut one.because] {
        hostile.clone_into(text);
    }
    one.reasons.push(reason(hostile, hostile));
    one.criteria[0].text = hostile.to_owned();
    one.criteria[0].covered_by = vec![hostile.to_owned()];
    let mut report = report(CiDecision::Fail, vec![one]);
    report.findings = vec![hostile_finding];
    report.reasons.push(reason(hostile, hostile));
    report.base_rule = hostile.to_owned();
    report.health.checks[0].text = hostile.to_owned();
    report
}

/// What holds in every form, whatever the texts are.
fn assert_harmless(report: &CiReport) {
    let (shown, entries) = told(report);
    for line in command::annotations(&entries) {
        assert!(!line.contains(['\n', '\r']) && !line.contains("##["), "{line:?}");
        let (head, _) = line[2..].split_once("::").unwrap();
        assert!(head.starts_with("error title=") || head.starts_with("warning title="), "{line:?}");
        let properties = head.split_once(' ').unwrap().1;
        assert!(properties.split(',').all(|one| ["title", "file", "line"].contains(&one.split_once('=').unwrap().0)));
    }
    let document = junit::document(&shown);
    assert!(!document.contains("##["), "{document}");
    assert!(document.lines().all(|line| line.trim_start().starts_with('<')), "{document}");
    cases_of(&document);
    let log = sarif::log(&shown, &entries);
    assert_eq!(complaints(SARIF, &log), [""; 0]);
    let json = super::harmless_json(&log).unwrap();
    assert!(!json.contains("##["));
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), log, "the same document");
    let markdown = summary::markdown(&shown, &entries, summary::STEP_LIMIT);
    for tag in markdown.split('<').skip(1) {
        let known = ["code>", "/code>", "br>"];
        assert!(known.iter().any(|known| tag.starts_with(known)), "<{tag}");
    }
    for line in markdown.lines() {
        assert!(
            line.is_empty()
                || ["## ", "### ", "- ", "| ", "|-", "Judged", "The gate", "**"]
                    .iter()
                    .any(|head| line.starts_with(head)),
            "{line}"
        );
    }
}

#[test]
fn a_strangers_text_is_text_in_every_form() {
    let report = all_of(HOSTILE);
    assert_harmless(&report);
    let (shown, entries) = told(&report);
    let forms = [
        text::lines(&shown).join("\n"),
        command::annotations(&entries).join("\n"),
        junit::document(&shown),
        sarif::log(&shown, &entries).to_string(),
        summary::markdown(&shown, &entries, summary::STEP_LIMIT),
        serde_json::to_string(&code_quality::issues(&entries)).unwrap(),
        check_run::body(&shown, &entries, None).to_string(),
    ];
    for form in &forms {
        assert!(!form.contains("ghp_0123456789"), "a secret leaves the machine: {form}");
        assert!(!form.contains(['\u{202e}', '\u{7}', '\r']), "{form:?}");
    }
    let document = serde_json::to_string(&shown::without_secrets(&report)).unwrap();
    assert!(!document.contains("ghp_0123456789"), "{document}");
    assert!(document.contains("\u{202e}"), "the JSON document has everything else as it is");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_breaks_out_of_any_form(text in "\\PC{0,20}(::|##\\[|\\n|\\r|%|,|<|>|&|\\||`|\\]\\]>|\\{0\\}|\\[a\\]\\(b\\)|\u{0}|\u{fffe}|\u{202e}){0,6}\\PC{0,20}") {
        assert_harmless(&all_of(&text));
    }
}
