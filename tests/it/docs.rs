//! The README's tables are what the code says. `UPDATE_DOCS=1 cargo test docs` writes them anew.

use countersign::agent::PROGRAMS;
use countersign::cli::ExitCode;
use countersign::config::Settings;
use countersign::floor::{
    CHECKS, canary, criteria, receipts, report_tests, runtime_drive, secrets, tests_bite, tests_collected, tests_kept,
    tests_run,
};
use countersign::pipeline::ci::GATE_CODES;
use countersign::receipts::State;
use countersign::verdict::REASONS;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

fn exit_codes() -> String {
    ExitCode::ALL.iter().fold("| code | meaning |\n|---|---|\n".to_owned(), |mut table, (code, meaning)| {
        let _ = writeln!(table, "| {} | {meaning} |", *code as u8);
        table
    })
}

fn checks() -> String {
    let elsewhere = [
        (secrets::ID, State::Deny, "git history does not forget: a secret is refused before any commit object is made"),
        (tests_run::ID, State::Deny, "tests that pass on the base and fail on the claim are a fact about the claim"),
        (tests_kept::ID, State::Deny, "a suite is green for what it no longer asks; every test of the base still runs"),
        (
            tests_collected::ID,
            State::Deny,
            "a new test file that no runner takes up can never fail, so the tests it brings are none",
        ),
        (tests_bite::ID, State::Deny, "new tests that all pass without the change do not show the promised behaviour"),
        (receipts::ID, State::Deny, "a report that a receipt refutes is false, whatever else holds"),
        (report_tests::ID, State::Deny, "a report of passing tests that our own run contradicts is false"),
        (
            canary::ID,
            State::Unknown,
            "whoever tests another checkout by mistake is not at fault, and nobody knows what the claim does",
        ),
        (criteria::ID, State::Deny, "a criterion whose own test, file or command does not hold is not met"),
        (
            runtime_drive::ID,
            State::Deny,
            "a program that starts and answers as declared on the base, and no longer does, is a fact about the claim",
        ),
    ];
    let rows = CHECKS.iter().map(|check| (check.id, check.worst, check.why)).chain(elsewhere);
    rows.fold(
        "| check | worst state | why that and no other |\n|---|---|---|\n".to_owned(),
        |mut table, (id, worst, why)| {
            let worst = serde_json::to_value(worst).unwrap();
            let _ = writeln!(table, "| `{id}` | {} | {why} |", worst.as_str().unwrap());
            table
        },
    )
}

fn runners() -> String {
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    tests_run::RUNNERS.iter().fold(
        "| command | report | switched on by | listed by |\n|---|---|---|---|\n".to_owned(),
        |mut table, row| {
            let (command, added, listing) = (code(row.command), code(row.added), code(row.listing));
            let _ = writeln!(table, "| {command} | {} | {added} | {listing} |", row.report);
            table
        },
    )
}

fn agents() -> String {
    let words = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" ");
    PROGRAMS.iter().fold(
        "| agent | install | keys | credential file lent without a key | its model is at | `args:` that are permitted |\n\
         |---|---|---|---|---|---|\n"
            .to_owned(),
        |mut table, program| {
            let login = program.login.map_or("none".to_owned(), |login| format!("`~/{}/{}`", login.folder, login.file));
            let permitted = if program.arguments.is_empty() { "none".to_owned() } else { words(program.arguments) };
            let _ = writeln!(
                table,
                "| `{}` | `{}` | {} | {login} | {} | {permitted} |",
                program.name,
                program.install,
                words(program.keys),
                words(program.hosts)
            );
            table
        },
    )
}

fn reasons() -> String {
    REASONS.iter().fold("| reason | meaning |\n|---|---|\n".to_owned(), |mut table, (code, meaning)| {
        let _ = writeln!(table, "| `{code}` | {meaning} |");
        table
    })
}

fn gate_codes() -> String {
    GATE_CODES.iter().fold("| code | meaning |\n|---|---|\n".to_owned(), |mut table, (code, meaning)| {
        let _ = writeln!(table, "| `{code}` | {meaning} |");
        table
    })
}

/// Every key that can be set, and the first sentence about it, from the schema.
fn settings() -> String {
    let schema = serde_json::to_value(schemars::schema_for!(Settings)).unwrap();
    let mut rows = "| key | what it sets |\n|---|---|\n".to_owned();
    keys(&schema, &schema, "", &mut rows);
    rows
}

fn keys(schema: &Value, of: &Value, above: &str, rows: &mut String) {
    for (key, value) in of["properties"].as_object().into_iter().flatten() {
        let name = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        let text = value["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "/");
        let first = text.split_once(". ").map_or(text.as_str(), |(first, _)| first).trim_end_matches('.');
        let more = |value: &Value| {
            let place = value["$ref"].as_str()?.strip_prefix("#/$defs/")?;
            Some(schema["$defs"][place].clone()).filter(|inner| inner["properties"].is_object())
        };
        let entry = value["additionalProperties"].is_object();
        match more(value).or_else(|| more(&value["additionalProperties"])) {
            Some(inner) if entry => keys(schema, &inner, &format!("{name}.NAME"), rows),
            Some(inner) => keys(schema, &inner, &name, rows),
            None => {
                assert!(!first.is_empty(), "{name} has no description");
                let _ = writeln!(rows, "| `{name}` | {first} |");
            }
        }
    }
}

/// The text with one marked block's content replaced; none if the marks are missing or stand twice.
fn with_table(text: &str, name: &str, table: &str) -> Option<String> {
    let (open, close) = (format!("<!-- table:{name} -->"), "<!-- /table -->");
    let (head, rest) = text.split_once(&open)?;
    let (_, tail) = rest.split_once(close)?;
    (!tail.contains(&open)).then(|| format!("{head}{open}\n{table}{close}{tail}"))
}

#[expect(clippy::disallowed_methods, reason = "the opt-in of this test alone")]
fn is_update() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

#[test]
fn the_readmes_tables_are_what_the_code_says() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let tables = [
        ("exit-codes", exit_codes()),
        ("checks", checks()),
        ("runners", runners()),
        ("agents", agents()),
        ("reasons", reasons()),
        ("gate-codes", gate_codes()),
        ("settings", settings()),
    ];
    let wanted = tables.iter().fold(text.clone(), |text, (name, table)| {
        with_table(&text, name, table)
            .unwrap_or_else(|| panic!("README.md: no single `<!-- table:{name} -->` … `<!-- /table -->`"))
    });
    if is_update() {
        std::fs::write(&file, &wanted).unwrap();
        return;
    }
    assert!(text == wanted, "README.md's tables are stale; run UPDATE_DOCS=1 cargo test docs");
}

#[test]
fn a_table_is_replaced_between_its_marks_only() {
    let text = "a\n<!-- table:x -->\nold\n<!-- /table -->\nb\n";
    assert_eq!(with_table(text, "x", "new\n").unwrap(), "a\n<!-- table:x -->\nnew\n<!-- /table -->\nb\n");
    assert_eq!(with_table(text, "y", "new\n"), None);
    assert_eq!(with_table(&text.repeat(2), "x", "new\n"), None);
}
