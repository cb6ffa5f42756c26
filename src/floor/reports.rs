//! Reads what test runners write: one reader a format, all pure, all answering with a [`Reading`].
//!
//! Reports are written under the eyes of the code under test, so they are hostile input: sizes and depths are bounded,
//! nothing is fetched or expanded, and whatever a reader does not understand makes the reading incomplete. Counts come
//! from the cases themselves; totals that a report declares only serve to contradict it.
//!
//! Two formats have no total of their own over all packages or binaries (`go-test-json`, `libtest-text`): a report cut
//! exactly between two of them looks whole. That is why exit status and report must agree before either is believed.

mod encoding;
mod go_test;
mod jest;
mod junit;
mod libtest;
mod lines;
mod nextest;
mod node;
mod pytest;
mod sarif;
mod surefire;
mod tally;
mod tap;
mod trx;

#[cfg(test)]
mod case_files;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod properties;

pub use junit::Dialect;
pub(in crate::floor) use junit::node_name;

use crate::host::path::RepoPath;
use crate::receipts::TestCase;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tally::Tally;

/// Bytes of a report, all its files together; a larger one is not read.
pub const LARGEST_REPORT: u64 = 64 << 20;

/// A report's format, by the names that the setting `tests.format` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// JUnit XML, one file or several.
    Junit,
    /// JUnit XML as `node --test` writes it: suites are groups whose names belong to the tests' names.
    NodeJunit,
    /// A folder of Maven's or Gradle's JUnit files, of several modules.
    Surefire,
    /// TAP 13 or 14.
    Tap,
    /// What `cargo test` prints.
    LibtestText,
    /// What `cargo nextest run` prints.
    NextestText,
    /// `go test -json`.
    GoTestJson,
    /// `jest --json`.
    JestJson,
    /// `vitest --reporter=json`.
    VitestJson,
    /// What pytest prints: its counts, and the names that `-v` or `-ra` add.
    PytestText,
    /// The totals at the end of `node --test` with the spec reporter.
    NodeSpec,
    /// Visual Studio's test results.
    Trx,
    /// SARIF 2.1.0: every result that is not suppressed counts as a failure.
    Sarif,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Junit,
        Self::NodeJunit,
        Self::Surefire,
        Self::Tap,
        Self::LibtestText,
        Self::NextestText,
        Self::GoTestJson,
        Self::JestJson,
        Self::VitestJson,
        Self::PytestText,
        Self::NodeSpec,
        Self::Trx,
        Self::Sarif,
    ];

    /// Its name in settings and receipts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Junit => "junit",
            Self::NodeJunit => "node-junit",
            Self::Surefire => "surefire",
            Self::Tap => "tap",
            Self::LibtestText => "libtest-text",
            Self::NextestText => "nextest-text",
            Self::GoTestJson => "go-test-json",
            Self::JestJson => "jest-json",
            Self::VitestJson => "vitest-json",
            Self::PytestText => "pytest-text",
            Self::NodeSpec => "node-spec",
            Self::Trx => "trx",
            Self::Sarif => "sarif",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// What a report says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// [`Format::name`].
    pub format: String,
    /// The cases, sorted. Cases of equal suite, name and file are told apart by their place among their equals, the
    /// worst last; none of them is dropped.
    pub cases: Vec<TestCase>,
    /// How many tests ran, if the report says.
    pub executed: Option<u64>,
    /// How many of them failed or broke.
    pub failed: u64,
    /// How many were listed and not run.
    pub skipped: u64,
    /// The totals that the report itself declares.
    pub declared: Option<Totals>,
    /// Tests that passed only after failing, by full name.
    pub flaky: Vec<String>,
    /// True if the list is believed complete.
    pub complete: bool,
    /// True if the report contradicts itself or is damaged: it proves nothing.
    pub distrusted: bool,
    /// What is wrong with it, in words.
    pub trouble: Vec<String>,
    /// What is odd about it and takes nothing from its worth, in words.
    pub remarks: Vec<String>,
    /// True if the run left no report, or an empty one, where the runner was told to write it.
    #[serde(default)]
    pub unwritten: bool,
    /// The files that the runner says it collected, below the folder it ran in; empty if it does not say.
    #[serde(default)]
    pub files: Vec<RepoPath>,
}

/// Totals as a report declares them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// All tests, run or not.
    pub tests: Option<u64>,
    /// Those that failed or broke.
    pub failed: Option<u64>,
    /// Those that were not run.
    pub skipped: Option<u64>,
}

/// One file of a report.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// Its path below the folder of reports; names the module in reports of many files.
    pub path: RepoPath,
    /// Its content.
    pub bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// A report that is one file, or an output.
    pub fn only(bytes: &'a [u8]) -> Self {
        Self { path: RepoPath::from("report"), bytes }
    }
}

/// Reads a report. `room` is the folder the tests ran under: absolute paths below it are shown relative to it. There is
/// no error: what is wrong is named in the reading, which then is not complete.
pub fn read_report(format: Format, sources: &[Source<'_>], room: &str) -> Reading {
    let size: u64 = sources.iter().map(|source| source.bytes.len() as u64).sum();
    let mut tally = Tally::new(room);
    if size > LARGEST_REPORT {
        tally.trouble(format!("the report has {size} bytes, and more than {LARGEST_REPORT} are not read"));
        return tally.into_reading(format);
    }
    if sources.is_empty() {
        tally.trouble("no report was written".to_owned());
        return tally.into_reading(format);
    }
    match format {
        Format::Surefire => surefire::read(sources, &mut tally),
        Format::Junit if sources.len() > 1 => surefire::read_modules(sources, &mut tally),
        _ => {
            for source in sources {
                if sources.len() > 1 {
                    tally.enter(&source.path);
                }
                read_one(format, source.bytes, &mut tally);
            }
        }
    }
    tally.into_reading(format)
}

fn read_one(format: Format, bytes: &[u8], tally: &mut Tally) {
    match format {
        Format::Junit | Format::Surefire => {
            junit::read(bytes, Dialect::Common, "", tally);
        }
        Format::NodeJunit => {
            junit::read(bytes, Dialect::Node, "", tally);
        }
        Format::Tap => tap::read(bytes, tally),
        Format::LibtestText => libtest::read(bytes, tally),
        Format::NextestText => nextest::read(bytes, tally),
        Format::GoTestJson => {
            go_test::read(bytes, tally);
        }
        Format::JestJson | Format::VitestJson => jest::read(bytes, tally),
        Format::PytestText => pytest::read(bytes, tally),
        Format::NodeSpec => node::read(bytes, tally),
        Format::Trx => trx::read(bytes, tally),
        Format::Sarif => {
            sarif::read(bytes, tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_has_one_name_in_settings_and_receipts() {
        for format in Format::ALL {
            assert_eq!(serde_json::to_value(format).unwrap(), format.name());
            assert_eq!(Format::named(format.name()), Some(format));
        }
        assert_eq!(Format::named("JUnit"), None);
    }

    #[test]
    fn no_file_is_no_report() {
        for format in Format::ALL {
            let reading = read_report(format, &[], "/room");
            assert!(!reading.complete && reading.distrusted && !reading.trouble.is_empty(), "{format:?}");
        }
    }
}
