//! Which runner a command starts, and how its report is switched on.

use super::mask::{Piece, base_name, pieces, segments};
use super::{ReportWay, Runner};
use std::path::Path;

/// Recognises the runner of a command line. A command that starts several runners, or one we do not know, is
/// [`Runner::Other`]: its exit status is all we can read.
pub(super) fn recognise(command: &str) -> (Runner, ReportWay) {
    let pieces = pieces(command);
    let mut found: Vec<Runner> =
        segments(&pieces).into_iter().filter_map(runner_of).map(|(runner, _)| runner).collect();
    // Several `cargo test` print one after the other; two XML reports would overwrite each other.
    found.dedup_by(|a, b| a == b && *a == Runner::CargoTest);
    match found[..] {
        [Runner::CargoTest] => (Runner::CargoTest, ReportWay::LibtestText),
        [Runner::Pytest] => (Runner::Pytest, ReportWay::Junit),
        [Runner::NodeTest] => (Runner::NodeTest, ReportWay::Junit),
        [Runner::Npm] => (Runner::Npm, ReportWay::None),
        _ => (Runner::Other, ReportWay::None),
    }
}

/// The runner of one simple command, and the word behind which its options go.
fn runner_of(segment: &[Piece]) -> Option<(Runner, usize)> {
    let words: Vec<&str> = segment.iter().map(|piece| base_name(&piece.text)).collect();
    let start = words.iter().position(|word| !word.contains('='))?;
    let place = |wanted: &[&str]| words.iter().position(|word| wanted.contains(word));
    if let Some(cargo) = place(&["cargo"]) {
        let next = cargo + 1 + usize::from(words.get(cargo + 1).is_some_and(|word| word.starts_with('+')));
        return matches!(words.get(next), Some(&("test" | "t"))).then_some((Runner::CargoTest, next));
    }
    if let Some(pytest) = place(&["pytest", "py.test"]) {
        let led = pytest == start || matches!(words[pytest - 1], "-m" | "run" | "exec" | "--");
        return led.then_some((Runner::Pytest, pytest));
    }
    if let Some(node) = place(&["node"]) {
        let test = words[node..].iter().position(|word| *word == "--test")?;
        return Some((Runner::NodeTest, node + test));
    }
    let is_test = |at: usize| match words.get(at) {
        Some(&("test" | "t" | "tst")) => true,
        Some(&("run" | "run-script")) => words.get(at + 1) == Some(&"test"),
        _ => false,
    };
    (words[start] == "npm" && is_test(start + 1)).then_some((Runner::Npm, start))
}

/// The command line that also writes a report to `report`, outside the tree.
pub(super) fn instrument(command: &str, runner: Runner, report: &Path) -> String {
    let path = quote(&report.display().to_string());
    let pieces = pieces(command);
    let mut line = command.to_owned();
    for segment in segments(&pieces).into_iter().rev() {
        let Some((found, at)) = runner_of(segment) else { continue };
        let options = match found {
            _ if found != runner => continue,
            Runner::CargoTest if has(segment, "--no-fail-fast") || has(segment, "--no-run") => continue,
            Runner::CargoTest => " --no-fail-fast".to_owned(),
            // The older family names each test's file.
            Runner::Pytest => format!(" --junitxml={path} -o junit_family=xunit1 -p no:cacheprovider"),
            Runner::NodeTest => format!(
                " --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit \
                 --test-reporter-destination={path}"
            ),
            Runner::Npm | Runner::Other => continue,
        };
        line.insert_str(segment[at].span.end, &options);
    }
    if runner == Runner::CargoTest {
        // Binary names go to standard error, results to standard output: one stream keeps them in order.
        line.insert_str(0, "exec 2>&1\n");
    }
    line
}

/// The command line whose `node --test` gives up a file that does not come to its end: with a test of another time, a
/// server that nobody closes may keep it from ever ending. The runner then still reports what the file's tests did, which
/// ending the whole run would not. A node that does not know the option goes without it.
pub(super) fn give_up_after(line: &str, milliseconds: u64) -> String {
    let pieces = pieces(line);
    let mut bounded = line.to_owned();
    for segment in segments(&pieces).into_iter().rev() {
        let Some((Runner::NodeTest, at)) = runner_of(segment) else { continue };
        let Some(node) = segment.iter().find(|piece| base_name(&piece.text) == "node") else { continue };
        if segment.iter().any(|piece| piece.text.starts_with("--test-timeout")) {
            continue;
        }
        let (node, option) = (quote(&node.text), format!("--test-timeout={milliseconds}"));
        let ask = format!(" $({node} {option} --version >/dev/null 2>&1 && echo {option})");
        bounded.insert_str(segment[at].span.end, &ask);
    }
    bounded
}

fn has(segment: &[Piece], word: &str) -> bool {
    segment.iter().any(|piece| piece.text == word)
}

/// One shell word.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_are_recognised_inside_real_command_lines() {
        for (command, runner) in [
            ("cargo test --workspace", Runner::CargoTest),
            ("RUST_LOG=x cargo +nightly test && cargo test --doc", Runner::CargoTest),
            ("cargo nextest run", Runner::Other),
            ("python3 -m pytest -q tests", Runner::Pytest),
            ("uv run pytest | tail -5", Runner::Pytest),
            ("pip install pytest", Runner::Other),
            ("pytest a; pytest b", Runner::Other),
            ("cd web && node --experimental-vm-modules --test test/", Runner::NodeTest),
            ("/usr/bin/node --test", Runner::NodeTest),
            ("npm test", Runner::Npm),
            ("npm run test -- --ci", Runner::Npm),
            ("npm ci", Runner::Other),
            ("node scripts/test.js", Runner::Other),
            ("make test", Runner::Other),
            ("cargo test && npm test", Runner::Other),
        ] {
            assert_eq!(recognise(command).0, runner, "{command}");
        }
    }

    #[test]
    fn reports_are_switched_on_where_the_runner_stands() {
        let report = Path::new("/tmp/it's/r.xml");
        assert_eq!(
            instrument("cd a && node --test x.mjs | cat", Runner::NodeTest, report),
            "cd a && node --test --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit \
             --test-reporter-destination='/tmp/it'\\''s/r.xml' x.mjs | cat"
        );
        assert_eq!(
            instrument("cargo test -- --skip x", Runner::CargoTest, report),
            "exec 2>&1\ncargo test --no-fail-fast -- --skip x"
        );
        assert_eq!(
            give_up_after("cd a && node --test x.mjs", 30_000),
            "cd a && node --test $('node' --test-timeout=30000 --version >/dev/null 2>&1 && echo \
             --test-timeout=30000) x.mjs"
        );
        for own in ["node --test --test-timeout=5 x.mjs", "pytest --test-timeout", "cargo test"] {
            assert_eq!(give_up_after(own, 30_000), own);
        }
        assert!(instrument("pytest -k 'a b'", Runner::Pytest, report).ends_with("no:cacheprovider -k 'a b'"));
    }
}
