//! Which runner a command starts, and how its report is switched on.

mod options;
mod scripts;
mod table;

pub(in crate::floor) use options::listing_script;
pub(super) use options::{give_up_after, instrument, prepare, reporter_files};
pub(super) use scripts::{bodies, look_through};
pub use table::{KnownRunner, RUNNERS};

use super::mask::{Piece, base_name, pieces, segments};
use super::{ReportWay, Runner, Through};
use crate::floor::reports::Format;

/// Why no report is read: each finishes "which tests ran is unknown: ".
pub(super) mod unread {
    /// Not one of ours.
    pub(crate) const UNKNOWN: &str = "countersign does not know this runner";
    /// One report would overwrite the other.
    pub(crate) const SEVERAL: &str = "the line starts several test runs";
    /// Its own report lies where the command says.
    pub(crate) const OWN: &str = "the command names a report or a reporter of its own, or runs no test";
    /// A package script that leads nowhere we know.
    pub(crate) const SCRIPT: &str = "its package script is not one plain command of a runner that countersign knows";
    /// The script of another package.
    pub(crate) const ELSEWHERE: &str = "it runs the script of another folder or of several packages";
    /// The claim runs something else under the same name.
    pub(crate) const REWRITTEN: &str = "the claim's package script starts its tests in another way than the base's";
}

/// What a command line starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) runner: Runner,
    pub(super) report: Way,
    pub(super) through: Through,
}

/// [`ReportWay`] as far as a command line alone can tell.
pub(super) type Way = Result<Switch, &'static str>;

/// How a report is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    /// It is what the runner prints.
    Output(Format),
    /// One file.
    File(Format),
    /// A folder of files.
    Folder(Format),
    /// Files that the build writes below its own folders.
    Built(Format),
}

impl From<Way> for ReportWay {
    fn from(way: Way) -> Self {
        match way {
            Ok(Switch::Output(format)) => Self::Output(format),
            Ok(Switch::File(format)) => Self::File(format),
            Ok(Switch::Folder(format)) => Self::Folder(format),
            Ok(Switch::Built(format)) => Self::Built(format),
            Err(why) => Self::None(why),
        }
    }
}

/// How a runner's report is switched on where the command does not stand in the way.
pub(super) fn switch(runner: Runner) -> Way {
    Ok(match runner {
        Runner::CargoTest => Switch::Output(Format::LibtestText),
        Runner::GoTest => Switch::Output(Format::GoTestJson),
        Runner::Nextest | Runner::Pytest | Runner::Mocha | Runner::Phpunit => Switch::File(Format::Junit),
        Runner::NodeTest => Switch::File(Format::NodeJunit),
        Runner::Jest => Switch::File(Format::JestJson),
        Runner::Vitest => Switch::File(Format::VitestJson),
        Runner::Dotnet => Switch::Folder(Format::Trx),
        Runner::Maven | Runner::Gradle => Switch::Built(Format::Surefire),
        Runner::Npm => return Err(unread::SCRIPT),
        Runner::Other => return Err(unread::UNKNOWN),
    })
}

/// Recognises the runner of a command line. A command that starts several runners, or one we do not know, is
/// [`Runner::Other`]: its exit status is all we can read.
pub(super) fn recognise(command: &str) -> Recognised {
    let pieces = pieces(command);
    let mut found: Vec<(Runner, Way)> =
        segments(&pieces).into_iter().filter_map(runner_of).map(|found| (found.runner, found.way())).collect();
    // These print one run after the other; two files would overwrite each other.
    found.dedup_by(|a, b| a.0 == b.0 && matches!(a.0, Runner::CargoTest | Runner::GoTest));
    let (runner, report) = match found[..] {
        [one] => one,
        [] => (Runner::Other, Err(unread::UNKNOWN)),
        _ => (Runner::Other, Err(unread::SEVERAL)),
    };
    Recognised { runner, report, through: Through::Directly }
}

/// The runner of one simple command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) runner: Runner,
    /// The word behind which its options go.
    pub(super) at: usize,
    /// False: the command itself keeps us from switching the report on.
    is_free: bool,
}

impl Found {
    pub(super) fn way(self) -> Way {
        if self.is_free { switch(self.runner) } else { Err(unread::OWN) }
    }
}

/// The runner of one simple command, and the word behind which its options go.
pub(super) fn runner_of(segment: &[Piece]) -> Option<Found> {
    let words: Vec<&str> = segment.iter().map(|piece| base_name(&piece.text)).collect();
    let whole: Vec<&str> = segment.iter().map(|piece| piece.text.as_str()).collect();
    let start = words.iter().position(|word| !word.contains('='))?;
    let place = |wanted: &[&str]| words.iter().position(|word| wanted.contains(word));
    let found = |runner, at| Some(Found { runner, at, is_free: is_free(runner, &whole[at..]) });
    if let Some(cargo) = place(&["cargo"]) {
        let next = cargo + 1 + usize::from(words.get(cargo + 1).is_some_and(|word| word.starts_with('+')));
        return match (words.get(next), words.get(next + 1)) {
            (Some(&("test" | "t")), _) => found(Runner::CargoTest, next),
            (Some(&"nextest"), Some(&("run" | "r"))) => found(Runner::Nextest, next + 1),
            _ => None,
        };
    }
    if let Some(pytest) = place(&["pytest", "py.test"]) {
        let led = pytest == start || matches!(words[pytest - 1], "-m" | "run" | "exec" | "--");
        return if led { found(Runner::Pytest, pytest) } else { None };
    }
    let node = place(&["node"]);
    if let Some(test) = node.and_then(|node| Some(node + words[node..].iter().position(|word| *word == "--test")?)) {
        return found(Runner::NodeTest, test);
    }
    if let Some((runner, at)) = javascript(&words, start) {
        // `vitest run`: options may stand behind the word.
        let sub = usize::from(runner == Runner::Vitest && words.get(at + 1) == Some(&"run"));
        return found(runner, at + sub);
    }
    let (runner, at) = other(&words, start)?;
    found(runner, at)
}

/// Words that may stand before a JavaScript runner and still start it.
const LEADERS: &[&str] = &[
    "npx",
    "bunx",
    "pnpx",
    "yarn",
    "pnpm",
    "npm",
    "exec",
    "x",
    "dlx",
    "run",
    "node",
    "c8",
    "nyc",
    "env",
    "cross-env",
    "time",
    "nice",
    "xvfb-run",
];

fn javascript(words: &[&str], start: usize) -> Option<(Runner, usize)> {
    let named = |word: &str| match word {
        "jest" | "jest.js" => Some(Runner::Jest),
        "vitest" | "vitest.mjs" => Some(Runner::Vitest),
        "mocha" | "_mocha" | "mocha.js" => Some(Runner::Mocha),
        _ => None,
    };
    let at = words.iter().position(|word| named(word).is_some())?;
    let leads = |word: &&str| LEADERS.contains(word) || word.starts_with('-') || word.contains('=');
    // `npm run jest` starts a script of that name, whatever it does.
    let is_script =
        at > start + 1 && matches!(words[start], "npm" | "pnpm") && matches!(words[at - 1], "run" | "run-script");
    if is_script || !words[..at].iter().all(leads) {
        return None;
    }
    named(words[at]).map(|runner| (runner, at))
}

/// Runners that begin their command.
fn other(words: &[&str], start: usize) -> Option<(Runner, usize)> {
    let rest = &words[start..];
    let has = |wanted: &[&str]| rest.iter().any(|word| wanted.contains(word));
    let php = usize::from(rest[0] == "php");
    match rest[0] {
        "go" if rest.get(1) == Some(&"test") => match rest.get(2) {
            // It must come first.
            Some(&"-C") => Some((Runner::GoTest, start + 3)).filter(|(_, at)| *at < words.len()),
            Some(first) if first.starts_with("-C=") => Some((Runner::GoTest, start + 2)),
            _ => Some((Runner::GoTest, start + 1)),
        },
        "dotnet" if rest.get(1) == Some(&"test") => Some((Runner::Dotnet, start + 1)),
        "mvn" | "mvnw" | "mvnd" if has(&["test", "verify", "install", "package", "integration-test"]) => {
            Some((Runner::Maven, start))
        }
        "gradle" | "gradlew" if rest[1..].iter().any(|word| is_gradle_test(word)) => Some((Runner::Gradle, start)),
        _ if matches!(rest.get(php), Some(&("phpunit" | "phpunit.phar" | "simple-phpunit" | "pest"))) => {
            Some((Runner::Phpunit, start + php))
        }
        manager if scripts::is_call(manager, &rest[1..]) => Some((Runner::Npm, start)),
        _ => None,
    }
}

/// `test`, `:core:test`, `check`, `build`, `integrationTest`.
fn is_gradle_test(word: &str) -> bool {
    let task = word.rsplit(':').next().unwrap_or(word);
    !word.starts_with('-') && (matches!(task, "test" | "check" | "build") || task.ends_with("Test"))
}

/// False for a command whose own words say where its report goes, or that it runs nothing.
fn is_free(runner: Runner, words: &[&str]) -> bool {
    let taken: &[&str] = match runner {
        Runner::Jest => &["--outputFile", "--json", "--listTests", "--watch", "--watchAll", "--showConfig", "--init"],
        Runner::Vitest => &["--outputFile", "--watch", "-w", "bench", "list", "watch", "dev", "init", "related"],
        Runner::Mocha => &["--reporter", "-R", "--reporter-option", "--reporter-options", "-O", "--watch", "-w"],
        Runner::Dotnet => &["--results-directory", "--list-tests", "-t"],
        Runner::Phpunit => &["--log-junit", "--list-tests"],
        Runner::GoTest => &["-c", "-list", "-n", "-args"],
        Runner::Nextest => &["--no-run"],
        Runner::Gradle => &["--dry-run", "-m"],
        _ => &[],
    };
    let is_taken = |word: &&str| taken.iter().any(|name| *word == *name || word.starts_with(&format!("{name}=")));
    !words.iter().skip(1).any(is_taken)
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
            ("cargo nextest run", Runner::Nextest),
            ("cargo +stable nextest r --profile ci", Runner::Nextest),
            ("cargo nextest list", Runner::Other),
            ("python3 -m pytest -q tests", Runner::Pytest),
            ("uv run pytest | tail -5", Runner::Pytest),
            ("pip install pytest", Runner::Other),
            ("pytest a; pytest b", Runner::Other),
            ("cd web && node --experimental-vm-modules --test test/", Runner::NodeTest),
            ("/usr/bin/node --test", Runner::NodeTest),
            ("npm test", Runner::Npm),
            ("npm run test -- --ci", Runner::Npm),
            ("yarn test", Runner::Npm),
            ("pnpm run unit", Runner::Npm),
            ("npm ci", Runner::Other),
            ("yarn install", Runner::Other),
            ("node scripts/test.js", Runner::Other),
            ("make test", Runner::Other),
            ("cargo test && npm test", Runner::Other),
            ("jest", Runner::Jest),
            ("npx jest --ci", Runner::Jest),
            ("node_modules/.bin/jest src", Runner::Jest),
            ("NODE_OPTIONS=--x node --experimental-vm-modules node_modules/jest/bin/jest.js", Runner::Jest),
            ("npm install jest", Runner::Other),
            ("npm run jest", Runner::Npm),
            ("echo jest", Runner::Other),
            ("pnpm exec vitest run", Runner::Vitest),
            ("c8 mocha test", Runner::Mocha),
            ("go test ./...", Runner::GoTest),
            ("go vet ./... && go test -race ./...", Runner::GoTest),
            ("go build ./...", Runner::Other),
            ("mvn -q test", Runner::Maven),
            ("./mvnw -B verify", Runner::Maven),
            ("mvn compile", Runner::Other),
            ("./gradlew :core:test", Runner::Gradle),
            ("gradle assemble", Runner::Other),
            ("dotnet test App.sln", Runner::Dotnet),
            ("vendor/bin/phpunit", Runner::Phpunit),
            ("php vendor/bin/phpunit --testsuite unit", Runner::Phpunit),
        ] {
            assert_eq!(recognise(command).runner, runner, "{command}");
        }
    }

    #[test]
    fn a_report_of_the_commands_own_is_not_fought_over() {
        for command in [
            "jest --outputFile=x.json --json",
            "vitest run --outputFile x",
            "vitest bench",
            "mocha -R dot",
            "dotnet test --results-directory out",
            "phpunit --log-junit=x.xml",
            "go test -list .",
        ] {
            let found = recognise(command);
            assert_eq!((found.runner != Runner::Other, found.report), (true, Err(unread::OWN)), "{command}");
        }
        assert_eq!(recognise("jest && jest a").report, Err(unread::SEVERAL));
        assert_eq!(recognise("make test").report, Err(unread::UNKNOWN));
        assert_eq!(recognise("go test ./a && go test ./b").report, Ok(Switch::Output(Format::GoTestJson)));
    }
}
