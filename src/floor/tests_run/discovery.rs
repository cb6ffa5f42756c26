//! Which commands test a claim. Pure: a listing and a reader in, a plan out.
//!
//! The order is: the settings, the context README's `## Test command`, discovery by project root. All of it is read at
//! the base; the claim is asked only where the base has nothing (RULINGS 13), and the plan says so.

mod roots;

use super::mask::{Mask, mask};
use super::runner::unread;
use super::{ReportWay, Runner, TestCommand, runner};
use crate::config::TestSettings;
use crate::floor::reports::Format;
use crate::host::git::GitError;
use crate::host::path::RepoPath;
use std::collections::BTreeSet;

/// Reads a file of a tree; `None` if there is none.
pub type Read<'a> = dyn Fn(&RepoPath) -> Result<Option<Vec<u8>>, GitError> + 'a;

/// A tree to look at.
#[derive(Clone, Copy)]
pub struct Listing<'a> {
    /// Its files.
    pub files: &'a BTreeSet<RepoPath>,
    /// Reads one of them.
    pub read: &'a Read<'a>,
}

/// Everything that discovery depends on.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The settings in force.
    pub settings: &'a TestSettings,
    /// The README of the task's context, if there is one.
    pub readme: Option<&'a RepoPath>,
    /// The base's tree.
    pub base: Listing<'a>,
    /// The claim's tree.
    pub claim: Listing<'a>,
    /// Every changed path, old names of renames included.
    pub changed: &'a [&'a RepoPath],
    /// True if pipes will show a failing stage (`bash` is there).
    pub pipefail: bool,
}

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// These, in order.
    Commands(Vec<TestCommand>),
    /// There is no command: a hold.
    NoCommand {
        /// Where one was looked for.
        why: String,
    },
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The base's own command cannot fail: nothing can be judged with it (exit 2, RULINGS 14).
    #[error(
        "the test command `{command}` ({source_name}) hides the exit status of its tests: {mask}; change it so that a failing test makes it fail"
    )]
    Masked {
        /// The command.
        command: String,
        /// Where it was read.
        source_name: String,
        /// What hides it.
        mask: Mask,
    },
    /// The settings name a report format that is not known.
    #[error("`tests.format: {format}` is not known; countersign reads {}", Format::ALL.map(Format::name).join(", "))]
    Format {
        /// As written.
        format: String,
    },
    /// The settings name a report that is a tracked file, so that yesterday's would count as today's.
    #[error("`tests.report: {path}` is not a path that only a test run writes; name an untracked file inside the tree")]
    Report {
        /// As written.
        path: String,
    },
    /// The tree cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Resolves the commands.
///
/// # Errors
/// A command of the base that hides its exit status, a report that cannot be trusted, an unreadable tree.
pub fn plan(question: &Question<'_>) -> Result<Plan, PlanError> {
    if let Some(command) = given(question.settings.command.as_deref()) {
        let command = by_hand(&command, question.settings.command_said.unwrap_or("settings: tests.command"));
        return finish(question, vec![command]);
    }
    for (listing, source) in [(question.base, "base"), (question.claim, "claim; the base has none")] {
        let Some(readme) = question.readme else { break };
        let text = (listing.read)(readme)?.unwrap_or_default();
        if let Some(command) = given(readme_command(&String::from_utf8_lossy(&text)).as_deref()) {
            return finish(question, vec![by_hand(&command, &format!("{source}:{readme}"))]);
        }
    }
    let base = roots::discover(&question.base, "base")?;
    let found = if base.is_empty() { roots::discover(&question.claim, "claim; the base has none")? } else { base };
    if found.is_empty() {
        let why = "no `tests.command` in the settings, no `## Test command` in the context README, and no Cargo.toml, \
                   package.json with a test script, pytest project, go.mod or Makefile with a `test:` target";
        return Ok(Plan::NoCommand { why: why.to_owned() });
    }
    finish(question, roots::touched(found, question.changed))
}

fn by_hand(command: &str, source: &str) -> TestCommand {
    as_recognised(command.to_owned(), RepoPath::from(""), source.to_owned())
}

/// A command as its own words tell it.
fn as_recognised(command: String, root: RepoPath, source: String) -> TestCommand {
    let found = runner::recognise(&command);
    TestCommand { command, root, source, runner: found.runner, report: found.report.into(), through: found.through }
}

/// Looks through package scripts, applies the declared report and refuses masks.
fn finish(question: &Question<'_>, mut commands: Vec<TestCommand>) -> Result<Plan, PlanError> {
    let declared = declared_report(question)?;
    let only = commands.len() == 1;
    for command in &mut commands {
        if let Some(mask) = mask(&command.command, question.pipefail) {
            let (command, source_name) = (command.command.clone(), command.source.clone());
            return Err(PlanError::Masked { command, source_name, mask });
        }
        if command.runner == Runner::Npm {
            look_through(question, command)?;
        }
        // Of several commands, it belongs to the ones that we cannot read ourselves.
        if let Some((path, format)) = declared.as_ref().filter(|_| only || matches!(command.report, ReportWay::None(_)))
        {
            command.report = ReportWay::Declared(path.clone(), *format);
        }
    }
    Ok(Plan::Commands(commands))
}

/// What a package script starts, by the package.json of the base, or of the claim where the base has none. Where both
/// have one, they must start the same: options for one runner would break another.
fn look_through(question: &Question<'_>, command: &mut TestCommand) -> Result<(), PlanError> {
    let path = package_json(&command.root);
    let (base, claim) = ((question.base.read)(&path)?, (question.claim.read)(&path)?);
    if let Some((script, mask)) =
        base.as_deref().and_then(|text| masked_bodies(&command.command, text).into_iter().next())
    {
        return Err(PlanError::Masked { command: script, source_name: format!("base:{path}"), mask });
    }
    let seen = |text: &[u8]| {
        let package = package_of(text);
        runner::look_through(&command.command, &|name| roots::script(package.as_ref()?, name))
    };
    let found = [base, claim].iter().flatten().map(|text| seen(text)).collect::<Vec<_>>();
    if let [first, ref rest @ ..] = found[..] {
        let report = if rest.iter().all(|other| *other == first) { first.report } else { Err(unread::REWRITTEN) };
        command.report = report.into();
        if report.is_ok() {
            (command.runner, command.through) = (first.runner, first.through);
        }
    }
    Ok(())
}

/// The masks of the package scripts that a command reaches, each with its script's name. npm runs them in a plain shell:
/// only the last program of a pipe counts there.
pub(super) fn masked_bodies(command: &str, package: &[u8]) -> Vec<(String, Mask)> {
    let package = package_of(package);
    let bodies = runner::bodies(command, &|name| roots::script(package.as_ref()?, name));
    bodies.into_iter().filter_map(|(name, body)| Some((name, mask(&body, false)?))).collect()
}

fn package_of(text: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)).ok()
}

fn declared_report(question: &Question<'_>) -> Result<Option<(RepoPath, Format)>, PlanError> {
    let name = question.settings.format.as_deref().unwrap_or("junit");
    let format = Format::named(name).ok_or_else(|| PlanError::Format { format: name.to_owned() })?;
    let Some(path) = question.settings.report.as_deref() else { return Ok(None) };
    let report = RepoPath::from(path);
    // A claim that brings the file is no fault of the settings: the run overwrites it, and that is seen afterwards.
    let tracked = question.base.files.contains(&report);
    if tracked || !report.is_safe() {
        Err(PlanError::Report { path: path.to_owned() })
    } else {
        Ok(Some((report, format)))
    }
}

/// A path below a root.
pub(super) fn join(root: &RepoPath, name: &str) -> RepoPath {
    roots::join(root, name)
}

/// The package.json of a root.
pub(super) fn package_json(root: &RepoPath) -> RepoPath {
    roots::join(root, "package.json")
}

/// A command that says something.
fn given(command: Option<&str>) -> Option<String> {
    let command = command?.trim();
    (!command.is_empty() && !command.eq_ignore_ascii_case("none")).then(|| command.to_owned())
}

/// What stands below `## Test command`: the first fenced block, else the first line that is not empty.
fn readme_command(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim_end);
    lines.find(|line| {
        line.strip_prefix("##")
            .is_some_and(|title| title.trim_matches(['#', ' ', ':']).eq_ignore_ascii_case("test command"))
    })?;
    let section: Vec<&str> = lines.take_while(|line| !line.starts_with("# ") && !line.starts_with("## ")).collect();
    let is_fence = |line: &&str| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
    if let Some(open) = section.iter().position(is_fence) {
        let block: Vec<&str> = section[open + 1..].iter().take_while(|line| !is_fence(line)).copied().collect();
        return Some(block.join("\n"));
    }
    let line = section.iter().find(|line| !line.trim().is_empty())?.trim().trim_start_matches(['-', '*', ' ']);
    // `npm test` in a sentence: the quoted part is the command.
    match line.split('`').collect::<Vec<_>>()[..] {
        [_, command, _, ..] => Some(command.to_owned()),
        _ => Some(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Files<'a> = &'a [(&'a str, &'a str)];

    fn ask(settings: &TestSettings, base: Files<'_>, claim: Files<'_>, changed: &[&str]) -> Result<Plan, PlanError> {
        let map = |files: Files<'_>| -> BTreeMap<RepoPath, Vec<u8>> {
            files.iter().map(|(path, text)| (RepoPath::from(*path), text.as_bytes().to_vec())).collect()
        };
        let (base, claim) = (map(base), map(claim));
        let (base_files, claim_files) = (base.keys().cloned().collect(), claim.keys().cloned().collect());
        let changed: Vec<RepoPath> = changed.iter().map(|path| RepoPath::from(*path)).collect();
        plan(&Question {
            settings,
            readme: Some(&RepoPath::from("ctx/README.md")),
            base: Listing { files: &base_files, read: &|path| Ok(base.get(path).cloned()) },
            claim: Listing { files: &claim_files, read: &|path| Ok(claim.get(path).cloned()) },
            changed: &changed.iter().collect::<Vec<_>>(),
            pipefail: true,
        })
    }

    fn found(files: Files<'_>, changed: &[&str]) -> Vec<String> {
        match ask(&TestSettings::default(), files, files, changed).unwrap() {
            Plan::Commands(commands) => commands.iter().map(|c| format!("{}: {}", c.root, c.command)).collect(),
            Plan::NoCommand { .. } => Vec::new(),
        }
    }

    #[test]
    fn the_readme_section_is_read_in_all_its_shapes() {
        for (text, command) in [
            ("# X\n\n## Test command\n\n```sh\ncargo fmt\ncargo test\n```\nmore\n", Some("cargo fmt\ncargo test")),
            ("## Test command\n`npm test` in the web folder\n", Some("npm test")),
            ("## Test command:\n\npytest -q\n## Next\n", Some("pytest -q")),
            ("## Test command\n\n## Next\nx\n", None),
            ("## Tests\ncargo test\n", None),
        ] {
            assert_eq!(readme_command(text).as_deref(), command, "{text}");
        }
    }

    #[test]
    fn the_claim_is_asked_only_where_the_base_has_nothing() {
        let settings = TestSettings::default();
        let readme = ("ctx/README.md", "## Test command\nmake check\n");
        let cargo = ("Cargo.toml", "[package]\nname='x'\n");
        let Plan::Commands(commands) = ask(&settings, &[cargo], &[cargo, readme], &["src/lib.rs"]).unwrap() else {
            panic!("no command")
        };
        assert_eq!(commands[0].source, "claim; the base has none:ctx/README.md");
        let Plan::Commands(commands) = ask(&settings, &[cargo], &[], &["src/lib.rs"]).unwrap() else { panic!("none") };
        assert_eq!((commands[0].command.as_str(), commands[0].source.as_str()), ("cargo test", "base:Cargo.toml"));
        assert!(matches!(ask(&settings, &[], &[], &["x"]).unwrap(), Plan::NoCommand { .. }));
    }

    #[test]
    fn every_root_with_a_changed_file_runs_and_no_other() {
        let npm = "{\"scripts\":{\"test\":\"jest\"}}";
        let tree: Files<'_> = &[
            ("Cargo.toml", "[workspace]\nmembers=['a']\n"),
            ("a/Cargo.toml", "[package]\n"),
            ("web/package.json", npm),
            ("web/node_modules/x/package.json", npm),
            ("py/pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("py/tests/conftest.py", ""),
            ("go/go.mod", "module x\n"),
        ];
        assert_eq!(found(tree, &["a/src/lib.rs"]), [": cargo test --workspace"]);
        assert_eq!(found(tree, &["web/x.js", "README.md"]), [": cargo test --workspace", "web: npm test"]);
        assert_eq!(found(tree, &["py/a.py"]), ["py: python3 -m pytest"]);
        assert_eq!(found(tree, &["go/a.go"]), ["go: go test ./..."]);
        let no_top: Files<'_> = &[("web/package.json", npm), ("go/go.mod", "")];
        let both = ["go: go test ./...", "web: npm test"];
        assert_eq!(found(no_top, &["docs/x.md"]), both, "nothing else says which");
        assert_eq!(found(no_top, &["docs/x.md", "web/a.js"]), both[1..]);
        assert_eq!(found(no_top, &["skills/x.md", "web/a.js"]), both);
        assert_eq!(found(no_top, &["data/x.json", "web/a.js"]), both);
    }

    #[test]
    fn node_tests_run_directly_and_with_their_neighbours() {
        let node = "{\"scripts\":{\"test\":\"node --test\",\"pretest\":\"node build.mjs\"}}";
        assert_eq!(found(&[("package.json", node)], &["x"]), [": node build.mjs && node --test"]);
        let bare: Files<'_> = &[("lib/test/a.test.mjs", "import { test } from 'node:test';\n"), ("lib/a.mjs", "")];
        assert_eq!(found(bare, &["lib/a.mjs"]), ["lib: node --test"]);
        let unset = "{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"}}";
        assert!(found(&[("package.json", unset)], &["x"]).is_empty());
    }

    #[test]
    fn a_masked_command_of_the_base_is_refused() {
        let settings = TestSettings { command: Some("make test || true".to_owned()), ..TestSettings::default() };
        let refused = ask(&settings, &[], &[], &["x"]).unwrap_err().to_string();
        assert!(refused.contains("hides the exit status") && refused.contains("`|| true`"), "{refused}");
        let jest: Files<'_> = &[("package.json", "{\"scripts\":{\"test\":\"jest || true\"}}")];
        assert!(matches!(ask(&TestSettings::default(), jest, jest, &["x"]), Err(PlanError::Masked { .. })));
    }

    #[test]
    fn a_report_must_not_be_a_tracked_file() {
        let settings = TestSettings {
            command: Some("make test".to_owned()),
            report: Some("report.xml".to_owned()),
            ..TestSettings::default()
        };
        assert!(matches!(ask(&settings, &[("report.xml", "")], &[], &["x"]), Err(PlanError::Report { .. })));
        // One that only the claim has is removed before the run: the settings are not to blame.
        assert!(matches!(ask(&settings, &[], &[("report.xml", "")], &["x"]), Ok(Plan::Commands(_))));
        let Plan::Commands(commands) = ask(&settings, &[], &[], &["x"]).unwrap() else { panic!("none") };
        assert_eq!(commands[0].report, ReportWay::Declared(RepoPath::from("report.xml"), Format::Junit));
        let formatted = |format: &str| TestSettings { format: Some(format.to_owned()), ..settings.clone() };
        let Plan::Commands(commands) = ask(&formatted("tap"), &[], &[], &["x"]).unwrap() else { panic!("none") };
        assert_eq!(commands[0].report, ReportWay::Declared(RepoPath::from("report.xml"), Format::Tap));
        let refused = ask(&formatted("JUnit"), &[], &[], &["x"]).unwrap_err().to_string();
        assert!(refused.contains("go-test-json"), "{refused}");
    }
}
