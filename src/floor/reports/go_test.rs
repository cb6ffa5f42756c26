//! Reads `go test -json`: events, one a line, with plain text between them and sometimes before them on their line.
//!
//! A package that does not build, does not set up, or starts and never ends has failed. Kinds of events that are
//! unknown here are counted and otherwise left alone.

use super::tally::{MOST_CASES, Tally, cut};
use crate::host::path::escape;
use crate::receipts::CaseResult;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// How an event begins, whatever stands before it on its line.
const BEGINNINGS: [&[u8]; 3] = [b"{\"Time\":", b"{\"Action\":", b"{\"ImportPath\":"];
/// Kinds of events that say nothing about how a test ended.
const QUIET: [&str; 9] = ["start", "run", "pause", "cont", "output", "build-output", "bench", "attr", "artifacts"];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    action: String,
    #[serde(default)]
    package: Option<String>,
    #[serde(default)]
    import_path: Option<String>,
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    output: Option<String>,
    #[serde(default)]
    failed_build: Option<String>,
}

#[derive(Debug, Default)]
struct Package {
    ended: Option<CaseResult>,
    failed_build: bool,
    /// It printed its own `FAIL` line.
    said_fail: bool,
    /// Each run of each test; none while it has no end.
    tests: BTreeMap<String, Vec<Option<CaseResult>>>,
}

/// What kinds of lines were seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) events: BTreeMap<String, u64>,
    pub(super) unreadable: u64,
    pub(super) text: u64,
}

#[derive(Default)]
struct Stream {
    packages: BTreeMap<String, Package>,
    builds: BTreeSet<String>,
    cached: u64,
    runs: usize,
    too_many: bool,
    marks: Marks,
}

/// Reads the output.
pub(super) fn read(output: &[u8], tally: &mut Tally) -> Marks {
    let mut stream = Stream::default();
    for line in output.split(|byte| *byte == b'\n') {
        stream.line(line.trim_ascii());
    }
    stream.report(tally)
}

impl Stream {
    fn line(&mut self, line: &[u8]) {
        let mut rest = line;
        while !rest.is_empty() {
            let Some(start) = beginning(rest) else {
                self.text(rest);
                return;
            };
            if start > 0 {
                self.text(&rest[..start]);
            }
            rest = &rest[start..];
            let mut events = serde_json::Deserializer::from_slice(rest).into_iter::<Line>();
            let Some(Ok(event)) = events.next() else {
                self.marks.unreadable += 1;
                return;
            };
            rest = rest[events.byte_offset()..].trim_ascii();
            self.event(event);
        }
    }

    fn event(&mut self, event: Line) {
        self.runs += usize::from(event.action == "run");
        let is_known = self.marks.events.contains_key(&event.action) || self.marks.events.len() < 100;
        if self.runs > MOST_CASES || self.packages.len() > MOST_CASES || !is_known {
            self.too_many = true;
            return;
        }
        *self.marks.events.entry(cut(&event.action).to_owned()).or_default() += 1;
        if let Some(path) = event.import_path.filter(|_| event.action == "build-fail") {
            self.builds.insert(cut(&path).to_owned());
        }
        let Some(name) = event.package else {
            if let Some(text) = event.output {
                self.said(&text);
            }
            return;
        };
        let package = self.packages.entry(cut(&name).to_owned()).or_default();
        package.failed_build |= event.failed_build.is_some();
        let end = match event.action.as_str() {
            "pass" => Some(CaseResult::Passed),
            "fail" => Some(CaseResult::Failed),
            "skip" => Some(CaseResult::Skipped),
            _ => None,
        };
        match (event.test, end) {
            (Some(test), Some(end)) => {
                let runs = package.tests.entry(cut(&test).to_owned()).or_default();
                match runs.last_mut() {
                    Some(open @ None) => *open = Some(end),
                    _ => runs.push(Some(end)),
                }
            }
            (Some(test), None) if event.action == "run" => {
                package.tests.entry(cut(&test).to_owned()).or_default().push(None);
            }
            (Some(test), None) => {
                // Go reports no `run` for a test that it learns of by its output alone.
                let runs = package.tests.entry(cut(&test).to_owned()).or_default();
                if runs.is_empty() {
                    runs.push(None);
                }
            }
            (None, Some(end)) => package.ended = Some(package.ended.map_or(end, |before| before.max(end))),
            (None, None) => {
                let text = event.output.unwrap_or_default();
                if text.trim_end().ends_with("(cached)") {
                    self.cached += 1;
                }
                self.said(&text);
            }
        }
    }

    /// `FAIL\t<package>…` is go's own word about a package, as text or as output.
    fn said(&mut self, text: &str) {
        let Some(rest) = text.strip_prefix("FAIL\t") else { return };
        let name = rest.split_whitespace().next().unwrap_or_default();
        if !name.is_empty() {
            let package = self.packages.entry(cut(name).to_owned()).or_default();
            package.said_fail = true;
            package.failed_build |= rest.contains("[build failed]") || rest.contains("[setup failed]");
        }
    }

    fn text(&mut self, line: &[u8]) {
        self.marks.text += 1;
        self.said(&String::from_utf8_lossy(line));
    }

    fn report(self, tally: &mut Tally) -> Marks {
        for (name, package) in &self.packages {
            package.report(name, tally);
        }
        for path in &self.builds {
            // A test binary's import path carries the package in front: `p [p.test]`.
            let package = path.split(' ').next().unwrap_or_default();
            if !self.packages.contains_key(package) {
                tally.case(package, "(build)", None, CaseResult::Errored);
            }
        }
        let marks = self.marks;
        if marks.events.is_empty() {
            tally.trouble("no event of go test was found".to_owned());
            if self.packages.is_empty() {
                tally.executed_unknown();
            }
        }
        if self.too_many {
            tally.trouble(format!("more than {MOST_CASES} tests, or too many kinds of events, are not read"));
        }
        if marks.unreadable > 0 {
            tally.trouble(format!("{} lines begin like events and cannot be read", marks.unreadable));
        }
        if self.cached > 0 {
            tally.remark(format!("{} packages were not run: their results are from go's cache", self.cached));
        }
        for kind in marks.events.keys() {
            if !QUIET.contains(&kind.as_str()) && !matches!(kind.as_str(), "pass" | "fail" | "skip" | "build-fail") {
                tally.remark(format!("events of the unknown kind {} were passed over", escape(kind.as_bytes())));
            }
        }
        marks
    }
}

impl Package {
    fn report(&self, name: &str, tally: &mut Tally) {
        let mut failing = false;
        for (test, runs) in &self.tests {
            for run in runs {
                let result = run.unwrap_or(CaseResult::Errored);
                failing |= result >= CaseResult::Failed;
                tally.case(name, test, None, result);
                if run.is_none() && self.ended == Some(CaseResult::Passed) {
                    let shown = escape(test.as_bytes());
                    tally.trouble(format!("the package passed although its test {shown} has no end"));
                }
            }
        }
        let shown = escape(name.as_bytes());
        match self.ended {
            _ if self.failed_build => tally.case(name, "(build)", None, CaseResult::Errored),
            None => {
                tally.trouble(format!("the package {shown} started and has no end"));
                tally.case(name, "(package)", None, CaseResult::Errored);
            }
            Some(end) if end < CaseResult::Failed && self.said_fail => {
                tally.trouble(format!("the package {shown} printed FAIL and is reported as passed"));
                tally.case(name, "(package)", None, CaseResult::Errored);
            }
            Some(end) if end < CaseResult::Failed && failing => {
                tally.trouble(format!("the package {shown} is reported as passed although a test of it failed"));
            }
            Some(CaseResult::Failed) if !failing => tally.case(name, "(package)", None, CaseResult::Errored),
            Some(_) => {}
        }
    }
}

/// Where an event begins on a line.
fn beginning(line: &[u8]) -> Option<usize> {
    (0..line.len()).find(|at| line[*at] == b'{' && BEGINNINGS.iter().any(|begin| line[*at..].starts_with(begin)))
}
