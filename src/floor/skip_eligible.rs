//! `skip-eligible`: whether nothing that anything executes changed, from the diff alone (RULINGS 16).

use super::Inspection;
use super::bookkeeping::{Page, page};
use super::finding::{count, unreadable};
use super::reading::{is_file, text_or_empty};
use super::record::record_name;
use crate::host::git::{Change, GitError};
use crate::host::path::RepoPath;
use crate::receipts::{CheckReport, State};
use crate::task::TaskType;

/// The check's id.
pub const ID: &str = "skip-eligible";

/// The note of a decision task whose whole product is one decision record: it needs no verifier.
pub const DECISION_ADR: &str = "decision-adr";

/// Passes where every changed path is prose or an image. A `decision` task with exactly one record and nothing else but
/// bookkeeping is told by the state `info` and the note [`DECISION_ADR`]. Anything else names the first path that could
/// be executed, loaded or obeyed; that is no fault.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    for change in &on.claim.changed {
        match executable(on, change) {
            Ok(None) => {}
            Ok(Some(why)) => return CheckReport::not_applicable(ID, &format!("{}: {why}", change.path)),
            Err(why) => return CheckReport::of(ID, vec![unreadable(&change.path, &why)]),
        }
    }
    if is_one_decision(on) {
        let report = CheckReport::of(ID, Vec::new()).noting(DECISION_ADR);
        return CheckReport { state: State::Info, ..report };
    }
    if on.claim.changed.is_empty() {
        return CheckReport::not_applicable(ID, "no path changed");
    }
    let note = format!("{}, all of them prose or images", count(on.claim.changed.len(), "changed path"));
    CheckReport::of(ID, Vec::new()).noting(note)
}

fn is_one_decision(on: &Inspection<'_>) -> bool {
    let decision = on.task.is_some_and(|task| task.kind == Some(TaskType::Decision));
    let (records, rest): (Vec<_>, Vec<_>) = on.claim.changed.iter().partition(|c| record_name(&c.path).is_some());
    let bookkeeping = |c: &&Change| {
        let kept = |path| matches!(page(on, path), Some(Page::OwnTask | Page::Index | Page::Protocol));
        c.paths().all(kept)
    };
    // A record in the report is part of what lands, like one in the tree.
    let written = records.len() + on.carried_records().len();
    decision && on.layout.is_some() && written == 1 && rest.iter().all(bookkeeping)
}

/// Why a change could matter to something that runs; none if it cannot.
fn executable(on: &Inspection<'_>, change: &Change) -> Result<Option<&'static str>, GitError> {
    if change.is_gitlink() {
        return Ok(Some("a pointer into another repository"));
    }
    if [&change.old_mode, &change.new_mode].iter().any(|mode| *mode != "000000" && !is_file(mode)) {
        return Ok(Some("a link"));
    }
    if change.new_mode == "100755" {
        return Ok(Some("an executable file"));
    }
    if let Some(why) = change.paths().find_map(by_name) {
        return Ok(Some(why));
    }
    let readme = matches!(page(on, &change.path), Some(Page::OwnReadme | Page::OtherReadme));
    if readme && commands(&text_or_empty(on.repo, &change.old)?) != commands(&text_or_empty(on.repo, &change.new)?) {
        return Ok(Some("the commands that a context's README gives to the gate"));
    }
    Ok(None)
}

/// The sections of a context's README that tell programs what to run.
pub(super) fn commands(text: &[u8]) -> Vec<Vec<u8>> {
    let mut inside = false;
    let mut kept = Vec::new();
    for line in super::reading::lines(text) {
        if let Some(title) = line.strip_prefix(b"## ") {
            let title = title.trim_ascii().to_ascii_lowercase();
            inside = title.starts_with(b"test command") || title.starts_with(b"runtime surface");
        }
        if inside {
            kept.push(line.to_vec());
        }
    }
    kept
}

/// Why a path is not on the allow-list.
fn by_name(path: &RepoPath) -> Option<&'static str> {
    const OBEYED: &[&str] =
        &["agents", "skills", "commands", ".claude", ".claude-plugin", ".codex", ".cursor", ".gemini"];
    const TESTED: &[&str] =
        &["test", "tests", "__tests__", "spec", "specs", "fixtures", "testdata", "snapshots", "__snapshots__"];
    const CI: &[&str] = &[".github", ".gitlab", ".circleci", ".buildkite", ".gitea", ".forgejo", ".husky", ".ci", "ci"];
    const OBEYED_FILES: &[&str] = &["agents.md", "claude.md", "gemini.md", "skill.md", "copilot-instructions.md"];
    const MANIFESTS: &[&str] = &["cmakelists.txt", "requirements", "constraints", "meson_options.txt"];
    // A name that is no text is on no allow-list.
    let Some(text) = path.as_str() else { return Some("a name that is not UTF-8") };
    let lower = text.to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let within = |list: &[&str]| folders.split('/').any(|part| list.contains(&part));
    if within(OBEYED) || OBEYED_FILES.contains(&name) {
        return Some("agents are told by it what to do");
    }
    if within(CI) {
        return Some("part of CI");
    }
    if within(TESTED) {
        return Some("tests may load it");
    }
    if MANIFESTS.iter().any(|manifest| name.starts_with(manifest)) {
        return Some("a manifest");
    }
    (!is_prose(name) && !is_image(name)).then_some("neither prose nor an image")
}

fn is_prose(name: &str) -> bool {
    const BARE: &[&str] =
        &["authors", "changelog", "contributing", "contributors", "copying", "license", "licence", "notice", "readme"];
    let licence = ["license-", "licence-"].iter().any(|head| name.starts_with(head)) && !name.contains('.');
    ["md", "markdown", "txt", "rst", "adoc", "asciidoc"].contains(&extension(name)) || BARE.contains(&name) || licence
}

/// True for an image, by its name.
pub(super) fn is_picture(path: &RepoPath) -> bool {
    path.as_str().is_some_and(|text| is_image(&text.to_lowercase()))
}

/// True for prose and images that nobody obeys and no test loads: what changes there makes no run stale.
pub(super) fn is_outside_the_code(path: &RepoPath) -> bool {
    by_name(path).is_none()
}

/// SVG is left out on purpose: it can carry scripts.
fn is_image(name: &str) -> bool {
    ["png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico", "tiff"].contains(&extension(name))
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(stem, extension)| if stem.is_empty() { "" } else { extension })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prose_and_images_that_nobody_obeys_are_on_the_allow_list() {
        for ok in [
            "README.md",
            "docs/a.rst",
            "LICENSE",
            "LICENSE-MIT",
            "img/Logo.PNG",
            "notes.txt",
            "a/CHANGELOG",
            ".agentheim/x.md",
        ] {
            assert_eq!(by_name(&ok.into()), None, "{ok}");
        }
        for no in [
            "a.rs",
            "a.mdx",
            "logo.svg",
            "AGENTS.md",
            "sub/CLAUDE.md",
            "agents/x.md",
            "p/skills/y/SKILL.md",
            "commands/c.md",
            ".claude/x.md",
            ".github/PULL_REQUEST_TEMPLATE.md",
            "ci/notes.md",
            "requirements.txt",
            "requirements-dev.txt",
            "CMakeLists.txt",
            "tests/fixtures/a.txt",
            ".md",
            "Makefile",
            "a.json",
            ".agentheim/countersign.yaml",
            "md",
        ] {
            assert!(by_name(&no.into()).is_some(), "{no}");
        }
        assert!(by_name(&RepoPath::from_bytes(&b"caf\xe9.md"[..])).is_some());
    }
}
