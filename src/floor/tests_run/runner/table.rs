//! The runners, for the README's table; a test below holds each row to what the code does.

/// One row of the README's table of test runners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownRunner {
    /// A command that is recognised.
    pub command: &'static str,
    /// Its report.
    pub report: &'static str,
    /// What is added to the command, paths shortened to `…`.
    pub added: &'static str,
    /// What lists its tests where the report does not tell which files were collected; empty if nothing does.
    pub listing: &'static str,
}

/// All runners whose report is switched on.
pub const RUNNERS: &[KnownRunner] = &[
    KnownRunner { command: "cargo test", report: "libtest's output", added: "--no-fail-fast", listing: "-- --list" },
    KnownRunner {
        command: "cargo nextest run",
        report: "JUnit, by a profile of ours below the project's own settings",
        added: "--no-fail-fast --tool-config-file …",
        listing: "",
    },
    KnownRunner {
        command: "pytest",
        report: "JUnit with each test's file",
        added: "--junitxml=… -o junit_family=xunit1",
        listing: "--collect-only -q",
    },
    KnownRunner {
        command: "node --test",
        report: "JUnit, and the files node took up",
        added: "--test-reporter=junit --test-reporter-destination=…",
        listing: "",
    },
    KnownRunner {
        command: "go test ./...",
        report: "JSON events; no cached result is believed",
        added: "-json -count=1",
        listing: "-list .",
    },
    KnownRunner {
        command: "jest",
        report: "JSON",
        added: "--json --outputFile=… --testLocationInResults",
        listing: "--listTests",
    },
    KnownRunner {
        command: "vitest run",
        report: "JSON",
        added: "--reporter=default --reporter=json --outputFile.json=…",
        listing: "list --filesOnly",
    },
    KnownRunner {
        command: "mocha",
        report: "XUnit",
        added: "--reporter=xunit --reporter-option=output=…",
        listing: "",
    },
    KnownRunner { command: "vendor/bin/phpunit", report: "JUnit", added: "--log-junit …", listing: "" },
    KnownRunner {
        command: "dotnet test",
        report: "trx, one file a project",
        added: "--logger trx --results-directory …",
        listing: "",
    },
    KnownRunner {
        command: "mvn test",
        report: "`**/target/{surefire,failsafe}-reports/*.xml`, older ones removed first",
        added: "--fail-at-end",
        listing: "",
    },
    KnownRunner {
        command: "./gradlew test",
        report: "`**/build/test-results/*/*.xml`, older ones removed first",
        added: "--continue",
        listing: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::tests_run::runner::{instrument, listing_script, recognise};
    use crate::floor::tests_run::{ReportWay, TestCommand};
    use crate::host::path::RepoPath;
    use std::path::Path;

    #[test]
    fn each_row_says_what_the_code_does() {
        for row in RUNNERS {
            let found = recognise(row.command);
            let command = TestCommand {
                command: row.command.to_owned(),
                root: RepoPath::from(""),
                source: String::new(),
                runner: found.runner,
                report: found.report.into(),
                through: found.through,
            };
            assert!(!matches!(command.report, ReportWay::None(_)), "{row:?}");
            let line = instrument(&command, Path::new("/r"));
            for part in row.added.split('…') {
                assert!(line.contains(part.trim()), "{row:?}: {line}");
            }
            let listing = listing_script(&command);
            assert_eq!(listing.is_some(), !row.listing.is_empty(), "{row:?}");
            assert!(listing.unwrap_or_default().contains(row.listing), "{row:?}");
        }
    }
}
