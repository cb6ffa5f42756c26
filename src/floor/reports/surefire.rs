//! Reads a folder of JUnit files, written by several modules of one build.

use super::junit::{self, Dialect};
use super::tally::Tally;
use super::{Source, Totals};
use crate::host::path::{RepoPath, escape};

/// Folders that hold reports and name no module.
const REPORT_FOLDERS: [&[u8]; 7] =
    [b"surefire-reports", b"failsafe-reports", b"test-results", b"test-reports", b"reports", b"report", b"junit"];

/// Reads the XML files of the folder; text files beside them are left alone.
pub(super) fn read(sources: &[Source<'_>], tally: &mut Tally) {
    let mut files = 0_u64;
    let mut totals = Totals::default();
    for source in sources {
        let name = source.path.file_name();
        if !name.to_ascii_lowercase().ends_with(b".xml") {
            continue;
        }
        tally.enter(&source.path);
        let head = &source.bytes[..source.bytes.len().min(2_000)];
        if find(head, b"<failsafe-summary").is_some() {
            summary(source.bytes, &mut totals, tally);
        } else if !name.starts_with(b"TEST-") && find(head, b"<testsuite").is_none() {
            tally.remark("it is no JUnit file and was not read".to_owned());
        } else {
            files += 1;
            junit::read(source.bytes, Dialect::Common, &module(&source.path), tally);
        }
    }
    if files == 0 {
        tally.trouble("the folder holds no JUnit file".to_owned());
    }
    let seen = tally.seen();
    tally.compare("the summary", totals, seen);
}

/// Reads several JUnit files, each under the name of its folder.
pub(super) fn read_modules(sources: &[Source<'_>], tally: &mut Tally) {
    for source in sources {
        tally.enter(&source.path);
        junit::read(source.bytes, Dialect::Common, &module(&source.path), tally);
    }
}

/// The module a report belongs to: its folder, up to the build's own folder.
fn module(path: &RepoPath) -> String {
    let mut folders: Vec<&[u8]> = path.as_bytes().split(|byte| *byte == b'/').collect();
    folders.pop();
    if let Some(end) = folders.iter().position(|folder| matches!(*folder, b"target" | b"build")) {
        folders.truncate(end);
    }
    while folders.last().is_some_and(|last| REPORT_FOLDERS.contains(last)) {
        folders.pop();
    }
    String::from_utf8_lossy(&folders.join(&b'/')).into_owned()
}

/// Failsafe's own totals, which its exit status rests on.
fn summary(bytes: &[u8], totals: &mut Totals, tally: &mut Tally) {
    let number = |tag: &str| -> Option<u64> {
        let start = find(bytes, format!("<{tag}>").as_bytes())? + tag.len() + 2;
        let rest = &bytes[start..];
        let end = find(rest, b"<")?;
        std::str::from_utf8(&rest[..end]).ok()?.trim().parse().ok()
    };
    let (Some(completed), Some(errors), Some(failures)) = (number("completed"), number("errors"), number("failures"))
    else {
        tally.trouble("the summary of failsafe has no totals".to_owned());
        return;
    };
    totals.tests = Some(totals.tests.unwrap_or(0).saturating_add(completed));
    totals.failed = Some(totals.failed.unwrap_or(0).saturating_add(errors).saturating_add(failures));
    if find(bytes, b"timeout=\"true\"").is_some() {
        tally.trouble("failsafe stopped the tests after a time limit".to_owned());
    }
    if let Some(start) = find(bytes, b"<failureMessage>") {
        let text = &bytes[start + b"<failureMessage>".len()..];
        let end = find(text, b"<").unwrap_or(text.len()).min(200);
        if end > 0 {
            tally.trouble(format!("failsafe says: {}", escape(&text[..end])));
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::floor::reports::{Format, Reading, read_report};
    use crate::receipts::CaseResult;

    fn folder(files: &[(&str, &str)]) -> Reading {
        let sources: Vec<Source<'_>> =
            files.iter().map(|(path, text)| Source { path: RepoPath::from(*path), bytes: text.as_bytes() }).collect();
        read_report(Format::Surefire, &sources, "/room")
    }

    #[test]
    fn the_same_test_in_two_modules_is_two_tests() {
        let (good, bad) = (
            "<testsuite tests='1'><testcase classname='x.T' name='a'/></testsuite>",
            "<testsuite tests='1' failures='1'><testcase classname='x.T' name='a'><failure/></testcase></testsuite>",
        );
        let reading = folder(&[
            ("core/target/surefire-reports/TEST-x.T.xml", bad),
            ("web/target/surefire-reports/TEST-x.T.xml", good),
            ("web/target/surefire-reports/x.T.txt", "text"),
            ("app/build/test-results/test/TEST-x.T.xml", good),
            ("target/surefire-reports/TEST-x.T.xml", good),
        ]);
        let found: Vec<(&str, CaseResult)> = reading.cases.iter().map(|c| (c.suite.as_str(), c.result)).collect();
        assert_eq!(
            found,
            [
                ("app/x.T", CaseResult::Passed),
                ("core/x.T", CaseResult::Failed),
                ("web/x.T", CaseResult::Passed),
                ("x.T", CaseResult::Passed),
            ]
        );
        assert!(reading.complete, "{reading:?}");
        assert_eq!(reading.declared.and_then(|declared| declared.tests), Some(4));
    }

    #[test]
    fn a_folder_without_reports_and_a_summary_that_knows_more_are_named() {
        assert!(folder(&[("target/surefire-reports/x.T.txt", "ok")]).distrusted);
        let reading = folder(&[
            ("target/failsafe-reports/TEST-a.xml", "<testsuite><testcase name='a'/></testsuite>"),
            (
                "target/failsafe-reports/failsafe-summary.xml",
                "<failsafe-summary timeout=\"false\"><completed>1</completed><errors>0</errors>\
                 <failures>1</failures><skipped>0</skipped><failureMessage></failureMessage></failsafe-summary>",
            ),
        ]);
        assert!(reading.trouble.iter().any(|t| t.contains("declares 1 failures and lists 0")), "{reading:?}");
    }
}
