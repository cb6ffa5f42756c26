//! The options that switch a runner's report on.

use super::{Found, quote, runner_of, scripts};
use crate::floor::tests_run::mask::{Piece, base_name, pieces, segments};
use crate::floor::tests_run::{ReportWay, Runner, TestCommand, Through};
use std::path::{Path, PathBuf};

/// A reporter for `node --test`: the files of which node speaks, one JSON string a line. Its JUnit report does not name
/// them.
const NODE_FILES: &str = "export default async function* (events) {
  const seen = new Set();
  for await (const { data } of events) {
    const file = data?.file;
    if (typeof file !== 'string' || seen.has(file)) continue;
    seen.add(file);
    yield `${JSON.stringify(file)}\\n`;
  }
}
";

/// Writes what the options of [`instrument`] refer to.
///
/// # Errors
/// The scratch folder cannot be written.
pub(in crate::floor::tests_run) fn prepare(command: &TestCommand, report: &Path) -> std::io::Result<()> {
    if !matches!(command.report, ReportWay::File(_) | ReportWay::Folder(_)) {
        return Ok(());
    }
    match command.runner {
        Runner::Nextest => std::fs::write(settings(report), nextest(&command.command, report)),
        Runner::NodeTest => std::fs::write(reporter(report), NODE_FILES),
        _ => Ok(()),
    }
}

/// A runner's settings of ours beside its report.
fn settings(report: &Path) -> PathBuf {
    report.with_extension("toml")
}

fn reporter(report: &Path) -> PathBuf {
    report.with_extension("mjs")
}

/// Where node's reporter lists the files.
pub(in crate::floor::tests_run) fn reporter_files(report: &Path) -> PathBuf {
    report.with_extension("files")
}

/// A profile of the chosen name with a report; the repository's own settings of that profile come before it.
fn nextest(command: &str, report: &Path) -> String {
    let pieces = pieces(command);
    let words: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let heads = ["--profile=", "-P=", "NEXTEST_PROFILE="];
    let mut named = words.iter().flat_map(|word| heads.iter().filter_map(|head| word.strip_prefix(head)));
    let after = words.iter().position(|word| matches!(*word, "--profile" | "-P")).and_then(|at| words.get(at + 1));
    let profile = after.copied().or_else(|| named.next()).unwrap_or("default");
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let (profile, path) = (text(profile), text(&report.display().to_string()));
    format!("[profile.{profile}.junit]\npath = {path}\n")
}

/// The command line that also writes a report to `report`, outside the tree.
pub(in crate::floor::tests_run) fn instrument(command: &TestCommand, report: &Path) -> String {
    let TestCommand { command: text, runner, .. } = command;
    let mut line = text.clone();
    let is_ours = matches!(
        command.report,
        ReportWay::Output(_) | ReportWay::File(_) | ReportWay::Folder(_) | ReportWay::Built(_)
    );
    let pieces = pieces(text);
    for segment in segments(&pieces).into_iter().rev().filter(|_| is_ours || is_harmless(*runner)) {
        let Some(found) = runner_of(segment) else { continue };
        match command.through {
            Through::Directly if found.runner == *runner => {
                let options = options(found, segment, report);
                line.insert_str(segment[found.at].span.end, &options);
            }
            Through::Script { dashes } if found.runner == Runner::Npm => {
                let end = segment.last().map_or(0, |piece| piece.span.end);
                let options = options(Found { runner: *runner, ..found }, &[], report);
                line.insert_str(end, &format!("{}{options}", scripts::dashes(segment, dashes)));
            }
            _ => {}
        }
    }
    if matches!(runner, Runner::CargoTest | Runner::Nextest) {
        // Binary names and rustc's words go to standard error, results to standard output: one stream keeps the order.
        line.insert_str(0, "exec 2>&1\n");
    }
    line
}

/// The command line whose `node --test` gives up a file that does not come to its end: with a test of another time, a
/// server that nobody closes may keep it from ever ending. The runner then still reports what the file's tests did, which
/// ending the whole run would not. A node that does not know the option goes without it.
pub(in crate::floor::tests_run) fn give_up_after(line: &str, milliseconds: u64) -> String {
    let pieces = pieces(line);
    let mut bounded = line.to_owned();
    for segment in segments(&pieces).into_iter().rev() {
        let Some(Found { at, .. }) = runner_of(segment).filter(|found| found.runner == Runner::NodeTest) else {
            continue;
        };
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

/// The command line that lists the tests instead of running them; none for a runner that cannot, or behind a script.
pub(in crate::floor) fn listing_script(command: &TestCommand) -> Option<String> {
    let text = &command.command;
    let pieces = pieces(text);
    let all = segments(&pieces);
    let place =
        all.iter().position(|segment| runner_of(segment).is_some_and(|found| found.runner == command.runner))?;
    let (segment, end) = (all[place], all[place].last()?.span.end);
    let found = runner_of(segment).filter(|_| command.through == Through::Directly)?;
    let mut line = text[..end].to_owned();
    let at = segment[found.at].span.end;
    match command.runner {
        Runner::CargoTest if segment.iter().any(|piece| piece.text == "--") => line.push_str(" --list"),
        Runner::CargoTest => line.push_str(" -- --list"),
        Runner::Pytest => line.insert_str(at, " --collect-only -q -p no:cacheprovider"),
        Runner::GoTest => line.insert_str(at, " -list ."),
        Runner::Jest => line.insert_str(at, " --listTests"),
        Runner::Vitest if segment[found.at].text == "run" => {
            line.replace_range(segment[found.at].span.clone(), "list --filesOnly");
        }
        Runner::Vitest => line.insert_str(at, " list --filesOnly"),
        _ => return None,
    }
    if command.runner == Runner::CargoTest {
        line.insert_str(0, "exec 2>&1\n");
    }
    Some(line)
}

/// True where options are given even if the settings name a report of their own.
fn is_harmless(runner: Runner) -> bool {
    matches!(runner, Runner::CargoTest | Runner::Pytest | Runner::NodeTest)
}

fn options(found: Found, segment: &[Piece], report: &Path) -> String {
    let path = quote(&report.display().to_string());
    let lacks = |words: &[&str]| !segment.iter().any(|piece| words.contains(&piece.text.as_str()));
    let unless = |words: &[&str], option: &str| if lacks(words) { format!(" {option}") } else { String::new() };
    match found.runner {
        Runner::CargoTest => unless(&["--no-fail-fast", "--no-run"], "--no-fail-fast"),
        Runner::Nextest => {
            let settings = quote(&format!("countersign:{}", settings(report).display()));
            unless(&["--no-fail-fast", "--fail-fast"], "--no-fail-fast") + &format!(" --tool-config-file {settings}")
        }
        // The older family names each test's file.
        Runner::Pytest => format!(" --junitxml={path} -o junit_family=xunit1 -p no:cacheprovider"),
        Runner::NodeTest => {
            let reporter = quote(&reporter(report).display().to_string());
            let files = quote(&reporter_files(report).display().to_string());
            format!(
                " --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit \
                 --test-reporter-destination={path} --test-reporter={reporter} --test-reporter-destination={files}"
            )
        }
        // No result of an earlier run is believed.
        Runner::GoTest => " -json -count=1".to_owned(),
        Runner::Jest => format!(" --json --outputFile={path} --testLocationInResults"),
        Runner::Vitest => format!(" --reporter=default --reporter=json --outputFile.json={path}"),
        Runner::Mocha => format!(" --reporter=xunit --reporter-option=output={path}"),
        // One file name for several projects would keep the last one's results only.
        Runner::Dotnet => format!(" --logger trx --results-directory {path}"),
        Runner::Phpunit => format!(" --log-junit {path}"),
        Runner::Maven => unless(&["-fae", "--fail-at-end", "-fn", "--fail-never"], "--fail-at-end"),
        Runner::Gradle => unless(&["--continue"], "--continue"),
        Runner::Npm | Runner::Other => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::tests_run::runner::recognise;
    use crate::host::path::RepoPath;

    fn command(text: &str, through: Through) -> TestCommand {
        let found = recognise(text);
        let mut command = TestCommand {
            command: text.to_owned(),
            root: RepoPath::from(""),
            source: String::new(),
            runner: found.runner,
            report: found.report.into(),
            through,
        };
        if through != Through::Directly {
            command.runner = Runner::Jest;
            command.report = super::super::switch(Runner::Jest).into();
        }
        command
    }

    fn line(text: &str, report: &str) -> String {
        instrument(&command(text, Through::Directly), Path::new(report))
    }

    #[test]
    fn reports_are_switched_on_where_the_runner_stands() {
        assert_eq!(
            line("cd a && node --test x.mjs | cat", "/tmp/it's/r.xml"),
            "cd a && node --test --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit \
             --test-reporter-destination='/tmp/it'\\''s/r.xml' --test-reporter='/tmp/it'\\''s/r.mjs' \
             --test-reporter-destination='/tmp/it'\\''s/r.files' x.mjs | cat"
        );
        assert_eq!(
            give_up_after("cd a && node --test x.mjs", 30_000),
            "cd a && node --test $('node' --test-timeout=30000 --version >/dev/null 2>&1 && echo \
             --test-timeout=30000) x.mjs"
        );
        for own in ["node --test --test-timeout=5 x.mjs", "pytest --test-timeout", "cargo test"] {
            assert_eq!(give_up_after(own, 30_000), own);
        }
        assert!(line("pytest -k 'a b'", "/r").ends_with("no:cacheprovider -k 'a b'"));
        for (text, expected) in [
            ("cargo test -- --skip x", "exec 2>&1\ncargo test --no-fail-fast -- --skip x"),
            (
                "cargo nextest run -P ci",
                "exec 2>&1\ncargo nextest run --no-fail-fast --tool-config-file 'countersign:/r.toml' -P ci",
            ),
            (
                "go test -C sub ./... && go test ./b",
                "go test -C sub -json -count=1 ./... && go test -json -count=1 ./b",
            ),
            ("npx jest a", "npx jest --json --outputFile='/r.xml' --testLocationInResults a"),
            ("vitest run a", "vitest run --reporter=default --reporter=json --outputFile.json='/r.xml' a"),
            ("mocha", "mocha --reporter=xunit --reporter-option=output='/r.xml'"),
            ("./mvnw -q test", "./mvnw --fail-at-end -q test"),
            ("./gradlew test --continue", "./gradlew test --continue"),
            ("dotnet test a.sln", "dotnet test --logger trx --results-directory '/r.xml' a.sln"),
            ("php vendor/bin/phpunit t", "php vendor/bin/phpunit --log-junit '/r.xml' t"),
            ("mocha -R dot", "mocha -R dot"),
            ("make test", "make test"),
        ] {
            assert_eq!(line(text, "/r.xml"), expected);
        }
    }

    #[test]
    fn options_reach_a_runner_behind_package_scripts() {
        let line = |text, dashes| instrument(&command(text, Through::Script { dashes }), Path::new("/r"));
        let options = "--json --outputFile='/r' --testLocationInResults";
        assert_eq!(line("npm test", 1), format!("npm test -- {options}"));
        assert_eq!(line("npm test -- --ci | cat", 1), format!("npm test -- --ci {options} | cat"));
        assert_eq!(line("npm test", 2), format!("npm test -- -- {options}"));
        assert_eq!(line("yarn test", 0), format!("yarn test {options}"));
    }

    #[test]
    fn the_same_command_lists_its_tests() {
        for (text, expected) in [
            ("cargo test -p a -- --skip x | tee l", Some("exec 2>&1\ncargo test -p a -- --skip x --list")),
            ("cd a && cargo test", Some("exec 2>&1\ncd a && cargo test -- --list")),
            ("python3 -m pytest -q", Some("python3 -m pytest --collect-only -q -p no:cacheprovider -q")),
            ("go test ./...", Some("go test -list . ./...")),
            ("npx jest a", Some("npx jest --listTests a")),
            ("npx vitest run a", Some("npx vitest list --filesOnly a")),
            ("vitest", Some("vitest list --filesOnly")),
            ("mocha", None),
            ("make test", None),
        ] {
            assert_eq!(listing_script(&command(text, Through::Directly)).as_deref(), expected, "{text}");
        }
        assert_eq!(listing_script(&command("npm test", Through::Script { dashes: 1 })), None);
    }

    #[test]
    fn nextests_report_belongs_to_the_chosen_profile() {
        for (text, profile) in [
            ("cargo nextest run", "default"),
            ("cargo nextest run -P ci", "ci"),
            ("cargo nextest run --profile=ci", "ci"),
            ("NEXTEST_PROFILE=slow cargo nextest run", "slow"),
        ] {
            let expected = format!("[profile.\"{profile}\".junit]\npath = \"/r.xml\"\n");
            assert_eq!(nextest(text, Path::new("/r.xml")), expected, "{text}");
        }
    }
}
