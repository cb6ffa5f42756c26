//! The tests themselves: removed, moved, marked, emptied, weakened; and the expectations kept beside them.

use super::matching::{Fate, Matched, Placed, match_tests};
use super::rules::{name, quote, raise};
use super::version::{Changed, Version};
use super::weakening::{compare, judge_new};
use crate::config::glob::Glob;
use crate::floor::Inspection;
use crate::floor::finding::count;
use crate::floor::test_files::{FileRole, Marker, MarkerKind, TestDefinition};
use crate::host::git::{ChangeKind, GitError};
use crate::host::path::RepoPath;
use crate::receipts::Finding;

pub(super) fn look(on: &Inspection<'_>, changes: &[Changed<'_>]) -> Result<Vec<Finding>, GitError> {
    let matched = match_tests(changes);
    let roots = roots(on)?;
    let mut findings = Vec::new();
    for (placed, fate) in &matched.fates {
        findings.extend(judge(on, changes, &roots, *placed, fate));
    }
    findings.extend(new_tests(changes, &matched));
    for changed in changes {
        findings.extend(kept_expectation(changed));
        findings.extend(unread(changed));
    }
    Ok(findings)
}

fn judge(
    on: &Inspection<'_>,
    changes: &[Changed<'_>],
    roots: &[String],
    placed: Placed<'_>,
    fate: &Fate<'_>,
) -> Vec<Finding> {
    let Some(old) = &changes[placed.file].old else { return Vec::new() };
    let title = name(&placed.test.name);
    let was = format!("test {title} of {}", old.at(placed.test.lines.start));
    let (found, rule) = match fate {
        Fate::Gone => return vec![removed(on, changes, placed, old)],
        Fate::Uncollected(file, now, line) => {
            let place = changes[*file].new.as_ref().map_or_else(String::new, |new| new.at(*line));
            let expected = format!("{was} where the runner collects it; give it back its name, place or attribute");
            return vec![raise(
                "test-uncollected",
                place,
                expected,
                format!("its body stands in {}, which no runner collects", name(now)),
            )];
        }
        Fate::Merged(other) => {
            let place = changes[other.file].new.as_ref().map_or_else(String::new, |new| new.at(other.test.lines.start));
            return vec![raise(
                "test-merged",
                place,
                format!("the demands of {was}"),
                format!("they stand in {}", name(&other.test.name)),
            )];
        }
        Fate::Kept(found) => (found, None),
        Fate::Renamed(found) => (found, Some("test-renamed")),
        Fate::Moved(found) => (found, Some("test-moved")),
    };
    let Some(new) = &changes[found.file].new else { return Vec::new() };
    let place = new.at(found.test.lines.start);
    if let Some(root) = left_root(roots, old.path, new.path).or_else(|| left_crate(old.path, new.path)) {
        let expected = format!("{was} inside `{root}`, where the runner looks; move it back");
        return vec![raise("test-uncollected", place, expected, format!("moved to {}, outside of it", new.path))];
    }
    let mut findings: Vec<Finding> = rule
        .map(|rule| raise(rule, &place, was, format!("now {} in {}", name(&found.test.name), new.path)))
        .into_iter()
        .collect();
    findings.extend(marked(placed.test, found.test, new));
    findings.extend(compare(placed.test, found.test, new));
    findings
}

/// The declared test root that the old path lies in and the new one does not.
fn left_root<'r>(roots: &'r [String], old: &RepoPath, new: &RepoPath) -> Option<&'r str> {
    let kept = roots.iter().any(|root| new.is_under(root));
    roots.iter().find(|root| old.is_under(root) && !kept).map(String::as_str)
}

/// Cargo builds what lies in these folders; a Rust file that leaves them all is built by nobody.
fn left_crate(old: &RepoPath, new: &RepoPath) -> Option<&'static str> {
    let part = |path: &RepoPath| {
        ["tests", "src", "benches", "examples"]
            .into_iter()
            .find(|name| path.as_bytes().split(|b| *b == b'/').any(|part| part == name.as_bytes()))
    };
    let root = part(old).filter(|_| new.as_bytes().ends_with(b".rs"))?;
    part(new).is_none().then_some(root)
}

/// Folders that the test command, the base's `package.json` or pytest's `testpaths` name.
fn roots(on: &Inspection<'_>) -> Result<Vec<String>, GitError> {
    let mut said: Vec<String> =
        on.settings.tests.command.iter().flat_map(|line| line.split_whitespace().map(str::to_owned)).collect();
    if let Some(bytes) = on.at_base(&RepoPath::from("package.json"))?
        && let Ok(page) = serde_json::from_slice::<serde_json::Value>(&bytes)
        && let Some(script) = page.pointer("/scripts/test").and_then(|script| script.as_str())
    {
        said.extend(script.split_whitespace().map(str::to_owned));
    }
    for file in ["pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"] {
        let bytes = on.at_base(&RepoPath::from(file))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        for line in text.lines().filter(|line| line.trim_start().starts_with("testpaths")) {
            let value = line.split_once('=').map_or("", |(_, value)| value);
            said.extend(value.split(['"', '\'', '[', ']', ',', ' ']).map(str::to_owned));
        }
    }
    let mut roots = Vec::new();
    for word in said {
        let word = word.trim_matches(['"', '\'']).trim_start_matches("./");
        let folder = word.split('*').next().unwrap_or(word).trim_end_matches('/').to_owned();
        let path = RepoPath::from(folder.as_str());
        let named = !folder.is_empty() && path.is_safe() && !folder.contains(['$', '=', '<', '>']);
        if named && !on.repo.folder(&on.claim.base_tree, &path)?.is_empty() {
            roots.push(folder);
        }
    }
    Ok(roots)
}

fn removed(on: &Inspection<'_>, changes: &[Changed<'_>], placed: Placed<'_>, old: &Version<'_>) -> Finding {
    let title = name(&placed.test.name);
    let place = old.at(placed.test.lines.start);
    let declared = on.removals().find(|glob| declares(glob, old.path, placed.test));
    if let Some(glob) = declared {
        return raise(
            "removal-declared",
            place,
            format!("`removes-tests: {glob}`"),
            format!("test {title} is removed"),
        );
    }
    let new = changes[placed.file].new.as_ref();
    let own = placed.test.own_name();
    let commented = new.and_then(|new| {
        let is_comment = |line: &str| {
            ["//", "#", "/*", "*"]
                .iter()
                .any(|mark| line.trim_start().starts_with(mark) && !line.trim_start().starts_with("#["))
        };
        new.text
            .lines()
            .enumerate()
            .find(|(_, line)| is_comment(line) && line.contains(own))
            .map(|(at, line)| (at + 1, line.to_owned()))
    });
    let told = match commented {
        Some((line, text)) => format!("test {title} is commented out on line {line}: {}", quote(&text)),
        None if new.is_none() => format!("test {title} went with its file"),
        None => format!("test {title} is gone, and no other test has its body"),
    };
    let asked = on.task.is_some_and(|task| task.bullets.iter().any(|bullet| speaks_of_removal(&bullet.criterion.text)));
    let expected = "the test, under any name or in any test file; or `removes-tests: <glob>` in the task (without one: `--removes-tests`)";
    raise(if asked { "removal-asked" } else { "test-removed" }, place, expected, told)
}

fn declares(glob: &str, path: &RepoPath, test: &TestDefinition) -> bool {
    let Ok(glob) = Glob::new(glob) else { return false };
    glob.matches(path) || glob.matches(&RepoPath::from(test.own_name()))
}

/// True if a criterion's words are about taking something away.
pub(in crate::floor) fn speaks_of_removal(criterion: &str) -> bool {
    const WORDS: &[&str] = &["remove", "delete", "drop", "retire", "obsolete", "get rid"];
    let text = criterion.to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// True for a skip under a condition that [`asks_for_platform`], on its own line or on the `if` above it.
fn is_for_platform(marker: &Marker, version: &Version<'_>) -> bool {
    let line = version.line(marker.line);
    let above = version.line(marker.line.saturating_sub(1)).trim();
    marker.kind == MarkerKind::Skip
        && marker.conditional
        && (asks_for_platform(line) || above.starts_with("if ") && asks_for_platform(&format!("{above} {line}")))
}

/// True if a marker's line asks for nothing but the system that it runs on. Whether the test still runs on this one is
/// seen by its run (`tests-kept`), so that such a condition hides nothing here.
fn asks_for_platform(line: &str) -> bool {
    const QUESTIONS: &[&str] = &[
        "platform",
        "system",
        "windows",
        "unix",
        "target_os",
        "target_family",
        "target_arch",
        "target_env",
        "GOOS",
        "target_pointer_width",
    ];
    const AROUND: &[&str] = &[
        "pytest",
        "mark",
        "skipif",
        "skipIf",
        "unittest",
        "reason",
        "sys",
        "os",
        "name",
        "startswith",
        "not",
        "and",
        "or",
        "in",
        "any",
        "all",
        "cfg",
        "cfg_attr",
        "ignore",
        "process",
        "skip",
        "runtime",
        "if",
        "test",
        "t",
        "it",
        "lower",
    ];
    let mut bare = String::new();
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '"' | '\'' | '`') => quote = Some(c),
            (Some(open), close) if open == close => quote = None,
            (None, _) => bare.push(c),
            // A text with something to evaluate in it is more than a text.
            (Some('`'), '$') => return false,
            _ => {}
        }
    }
    // Where the test's own function begins, the marker has ended.
    let bare = bare.split(['}', '>']).next().unwrap_or_default();
    let words: Vec<&str> =
        bare.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect();
    let is_question = |word: &str| QUESTIONS.contains(&word);
    let named = words.windows(2).any(|pair| pair == ["os", "name"]);
    (named || words.iter().any(|word| is_question(word)))
        && words.iter().all(|word| is_question(word) || AROUND.contains(word))
}

/// Markers that the test did not have on the base.
fn marked(old: &TestDefinition, new: &TestDefinition, version: &Version<'_>) -> Vec<Finding> {
    let known = |marker: &Marker| {
        old.markers.iter().any(|before| before.kind == marker.kind && (!before.conditional || marker.conditional))
    };
    let idle = |marker: &Marker| !marker.conditional && matches!(marker.kind, MarkerKind::Skip | MarkerKind::Todo);
    let was_idle = old.markers.iter().any(idle);
    let fresh = new.markers.iter().filter(|marker| !(known(marker) || was_idle && marker.kind != MarkerKind::Only));
    fresh
        .map(|marker| {
            let rule = match marker.kind {
                MarkerKind::MustPanic => "panic-expected",
                MarkerKind::Only => "only-added",
                _ if is_for_platform(marker, version) => "marker-platform",
                _ if marker.conditional => "marker-conditional",
                _ => "marker-added",
            };
            let title = name(&new.name);
            let expected = format!("test {title} as it ran on the base; remove the marker");
            let told = format!("{} on {title}: {}", marker.kind.as_str(), quote(version.line(marker.line)));
            raise(rule, version.at(marker.line), expected, told)
        })
        .collect()
}

fn new_tests(changes: &[Changed<'_>], matched: &Matched<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, changed) in changes.iter().enumerate() {
        let Some(new) = &changed.new else { continue };
        let tests: Vec<&TestDefinition> =
            matched.new.iter().filter(|placed| placed.file == file).map(|placed| placed.test).collect();
        if tests.is_empty() {
            continue;
        }
        let told = format!("{} added, the first on line {}", count(tests.len(), "test"), tests[0].lines.start);
        findings.push(raise("tests-added", new.path, "tests for what the claim adds", told));
        for test in tests {
            findings.extend(judge_new(test, new));
            if let Some(marker) = test.markers.iter().find(|marker| marker.kind != MarkerKind::MustPanic) {
                let rule = match marker.kind {
                    MarkerKind::Only => "only-added",
                    _ if is_for_platform(marker, new) => "marker-platform",
                    _ => "new-test-idle",
                };
                let told = format!(
                    "{} on new test {}: {}",
                    marker.kind.as_str(),
                    name(&test.name),
                    quote(new.line(marker.line))
                );
                findings.push(raise(rule, new.at(marker.line), "a new test that runs, beside all others", told));
            }
        }
    }
    findings
}

/// Snapshots, golden files and other data among the tests.
fn kept_expectation(changed: &Changed<'_>) -> Option<Finding> {
    let is = |role: &FileRole| [&changed.old, &changed.new].into_iter().flatten().any(|version| version.role == *role);
    let path = &changed.change.path;
    if is(&FileRole::Snapshot) {
        let first = changed
            .added_lines()
            .first()
            .map_or_else(|| "removed lines".to_owned(), |(at, line)| format!("line {at}: {}", quote(line)));
        let expected = "a kept expectation that only a changed wish changes";
        return Some(match changed.change.kind {
            ChangeKind::Added => raise("snapshot-added", path, "an expectation that a person has read", first),
            ChangeKind::Deleted => raise("snapshot-rewritten", path, expected, "removed"),
            ChangeKind::Renamed if changed.change.old == changed.change.new => return None,
            _ => raise("snapshot-rewritten", path, expected, first),
        });
    }
    let among_tests = ["test", "tests", "testdata", "__tests__", "spec", "fixtures", "__fixtures__"];
    let inside =
        path.as_bytes().split(|b| *b == b'/').any(|part| among_tests.iter().any(|name| name.as_bytes() == part));
    let known = changed.old.is_some() && changed.change.old != changed.change.new;
    (is(&FileRole::Other) && inside && known)
        .then(|| raise("test-data-changed", path, "data that the tests read", "changed or removed"))
}

/// A test file of a language whose tests are not told apart.
fn unread(changed: &Changed<'_>) -> Option<Finding> {
    let old = changed.old.as_ref().filter(|old| old.is_collected() && old.outline.is_none())?;
    let gone = changed.removed_lines();
    let marks = ["@Disabled", "@Ignore", "[Ignore", "Skip =", "skip", "pending", "markTestSkipped", "xit ", "exit"];
    let added = changed.added_lines();
    let marked = added.iter().find(|(_, line)| marks.iter().any(|mark| line.contains(mark)));
    let expected = "tests that demand what they demanded on the base; compare by eye";
    if let Some((line, text)) = marked {
        return Some(raise("test-file-unread", format!("{}:{line}", changed.change.path), expected, quote(text)));
    }
    let (line, text) = gone.first()?;
    Some(raise(
        "test-file-unread",
        old.at(*line),
        expected,
        format!("{} of the base gone, the first {}", count(gone.len(), "line"), quote(text)),
    ))
}

#[cfg(test)]
mod tests {
    use super::asks_for_platform;

    #[test]
    fn a_condition_on_the_system_alone_is_told_from_any_other() {
        for (line, wanted) in [
            ("@pytest.mark.skipif(sys.platform == \"win32\", reason=\"no links\")", true),
            ("@pytest.mark.skipif(sys.platform.startswith('win') or os.name == 'nt', reason='x')", true),
            ("@unittest.skipIf(platform.system() == 'Windows', 'x')", true),
            ("#[cfg_attr(windows, ignore)]", true),
            ("#[cfg_attr(not(target_os = \"linux\"), ignore = \"x\")]", true),
            ("#[cfg(unix)]", true),
            ("test('links', { skip: process.platform === 'win32' }, () => {", true),
            ("@pytest.mark.skipif(sys.platform == 'win32' or os.environ.get('CI'), reason='x')", false),
            ("@pytest.mark.skipif(os.environ['X'] == 'platform')", false),
            ("@pytest.mark.skipif(sys.platform != slow(), reason='x')", false),
            ("#[cfg(feature = \"slow\")]", false),
            ("#[cfg_attr(miri, ignore)]", false),
        ] {
            assert_eq!(asks_for_platform(line), wanted, "{line}");
        }
    }
}
