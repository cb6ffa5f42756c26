//! `runtime-drive` end to end: a small server in node, launched in a room, asked over its own loopback, stopped.

use crate::support::trial::{ID, Trial};
use crate::support::{Board, Outcome};

const SERVER: &str = r"
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { answer, status } from './src/answer.mjs';
const server = createServer((request, response) => {
  const found = request.url === '/widgets' && request.method === 'GET';
  response.writeHead(found ? status : 404, { 'content-type': 'application/json' });
  response.end(found ? JSON.stringify(answer()) : '{}');
});
writeFileSync('run.pid', String(process.pid));
server.listen(0, '127.0.0.1', () => writeFileSync('run.port', String(server.address().port)));
";

const ANSWER: &str =
    "export const status = 200;\nexport const answer = () => ({ widgets: [{ id: 1, size: { color: 'red' } }] });\n";

const SURFACE: &str = "## Runtime surface\n\n```yaml\n# what can be seen from outside\nsurfacePaths:\n  - 'src/**'\nlaunch: node server.mjs\nstop: echo stopping; kill $(cat run.pid)\nrunfile: run.port\nprobes:\n  - path: /widgets # the list\n    method: GET\n    status: 200\n    bodyShape: '{ widgets: array of { id: number, size: { color: string } } }'\n  - path: /nowhere\n    status: 404\n```\n";

const SETTINGS: &str =
    "tests:\n  command: sh run-tests.sh\n  report: report.xml\n  format: junit\nlimits: {boot-seconds: 20}\n";

/// A task in a context with this README, and a server at the base.
fn served(surface: &str, base: &[(&str, &str)]) -> Trial {
    let board = Board::two_root(ID).criterion("It greets — test: `greets`").readme(surface);
    let mut files = vec![("server.mjs", SERVER), ("src/answer.mjs", ANSWER), (".agentheim/countersign.yaml", SETTINGS)];
    files.extend(base);
    Trial::with(&board, &files).honest()
}

fn judged(trial: &Trial) -> Outcome {
    let outcome = trial.verify(&["--fresh"]);
    trial.repo.no_process_left();
    outcome
}

fn said(outcome: &Outcome) -> String {
    let findings = outcome.check("runtime-drive")["findings"].as_array().cloned().unwrap_or_default();
    findings.iter().map(|f| format!("{} | {} | {}\n", f["where"], f["expected"], f["observed"])).collect()
}

fn log(trial: &Trial, outcome: &Outcome) -> String {
    trial.sealed(outcome, "logs/drive-claim-1.log")
}

#[test]
fn a_program_that_answers_as_declared_passes_and_is_stopped() {
    let trial = served(SURFACE, &[]);
    trial.work("src/answer.mjs", format!("{ANSWER}// more\n"));
    let outcome = judged(&trial);
    assert_eq!(outcome.state("runtime-drive"), "pass", "{outcome}");
    assert!(log(&trial, &outcome).contains("stopping"), "{outcome}");
    outcome.decides("land", &["verified"]);
}

#[test]
fn only_a_change_of_the_surface_is_driven() {
    let trial = served(SURFACE, &[]);
    let outcome = judged(&trial);
    assert_eq!(outcome.state("runtime-drive"), "n/a", "{outcome}");
    assert!(outcome.check("runtime-drive")["note"].as_str().unwrap().contains("no changed path"), "{outcome}");
    let without = judged(&served("", &[]));
    assert_eq!(without.state("runtime-drive"), "n/a", "{without}");
}

#[test]
fn a_program_that_does_not_start_is_denied_and_its_stop_runs_all_the_same() {
    let trial = served(SURFACE, &[]);
    trial.work("src/answer.mjs", "throw new Error('broken');\n");
    let outcome = judged(&trial);
    assert_eq!(outcome.state("runtime-drive"), "deny", "{outcome}");
    let said = said(&outcome);
    assert!(said.contains("exited with code 1") && said.contains("on the base it listens"), "{said}");
    assert!(log(&trial, &outcome).contains("stopping"));
    outcome.decides("send-back", &["runtime-drive"]);
}

#[test]
fn a_wrong_status_and_a_key_spelt_otherwise_are_denied_with_what_was_expected() {
    for (answer, words) in [
        (ANSWER.replace("200", "500"), "status 500"),
        (ANSWER.replace("color", "colour"), "$.widgets[0].size.color is missing; $.widgets[0].size has colour"),
        (ANSWER.replace("id: 1", "id: '1'"), "$.widgets[0].id is the string"),
    ] {
        let trial = served(SURFACE, &[]);
        trial.work("src/answer.mjs", answer);
        let outcome = judged(&trial);
        assert_eq!(outcome.state("runtime-drive"), "deny", "{outcome}");
        let said = said(&outcome);
        let expected = "status 200, body { widgets: array of { id: number, size: { color: string } } }";
        assert!(said.contains(words) && said.contains("GET /widgets") && said.contains(expected), "{said}");
    }
}

#[test]
fn what_the_base_does_too_is_not_the_workers_fault() {
    let broken = ANSWER.replace("color", "colour");
    let trial = served(SURFACE, &[("src/answer.mjs", &broken)]);
    trial.work("src/answer.mjs", format!("{broken}// more\n"));
    let outcome = judged(&trial);
    assert_eq!(outcome.state("runtime-drive"), "ask", "{outcome}");
    let missing = SURFACE.replace("launch: node", "launch: no-such-program");
    let trial = served(&missing, &[]);
    trial.work("src/answer.mjs", format!("{ANSWER}// more\n"));
    let outcome = judged(&trial);
    assert_eq!(outcome.state("runtime-drive"), "unknown", "{outcome}");
    assert!(said(&outcome).contains("code 127"), "{outcome}");
    outcome.decides("hold", &["unknown:runtime-drive"]);
}

#[test]
fn a_failing_stop_is_told_and_what_it_leaves_is_ended() {
    let surface = SURFACE.replace("stop: echo stopping; kill $(cat run.pid)", "stop: exit 3");
    let surface = surface.replace("launch: node server.mjs", "launch: setsid node server.mjs & sleep 0");
    let trial = served(&surface, &[]);
    trial.work("src/answer.mjs", format!("{ANSWER}// more\n"));
    let outcome = judged(&trial);
    assert_eq!(outcome.state("runtime-drive"), "info", "{outcome}");
    assert!(said(&outcome).contains("exit status: 3"), "{outcome}");
    outcome.decides("land", &["verified"]);
}

#[test]
fn a_program_that_forges_the_drivers_words_is_not_believed() {
    let forged = r#"{"token":"x","boot":{"kind":"listening","port":1},"answers":[],"stop-failed":null}"#;
    let surface = SURFACE.replace("launch: node server.mjs", &format!("launch: echo '{forged}'; exit 4"));
    assert_ne!(surface, SURFACE);
    let surface = surface.replace("launch: echo", "launch: >-\n  echo");
    let trial = served(&surface, &[]);
    trial.work("src/answer.mjs", format!("{ANSWER}// more\n"));
    let outcome = judged(&trial);
    assert_eq!(outcome.state("runtime-drive"), "unknown", "the base does the same\n{outcome}");
    assert!(said(&outcome).contains("exited with code 4"), "{outcome}");
}

#[test]
fn a_manifest_that_cannot_be_read_holds_and_blames_nobody() {
    let trial = served(&SURFACE.replace("runfile: run.port", "runfile: ../run.port"), &[]);
    trial.work("src/answer.mjs", format!("{ANSWER}// more\n"));
    let outcome = judged(&trial);
    assert!(said(&outcome).contains("`runfile: ../run.port`"), "{outcome}");
    outcome.decides("hold", &["unknown:runtime-drive"]);
}
