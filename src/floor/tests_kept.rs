//! Check `tests-kept`: what ran on the base still runs on the claim.
//!
//! Identities are compared, never a number: two claims that each add a test both keep every other. A test that is gone,
//! or newly skipped, denies unless the task declares it (`removes-tests`); with only words about removing in the
//! criteria it is a question (RULINGS 14). Tests that fail are `tests-run`'s concern.

use super::finding::{ask, count, deny, info, unknown};
use super::tests_run::compare::{Comparison, Context, Heir, How, Missing, compare};
use super::tests_run::{Run, TestCommand};
use super::{Inspection, tests_tampered};
use crate::config::glob::Glob;
use crate::host::path::{RepoPath, escape};
use crate::receipts::{CheckReport, Finding};

/// The check's public id.
pub const ID: &str = "tests-kept";

/// At most this many tests are named one by one.
const MOST: usize = 100;

/// What a person wants.
const EXPECTED: &str = "every test that ran on the base runs on the claim, or `removes-tests: <glob>` in the task (without one: `--removes-tests`)";

/// What the text of the changed files says about their tests.
pub(in crate::floor) struct Text {
    heirs: Vec<Heir>,
}

impl Text {
    /// Reads it. Where it cannot be read, tests are told apart by what ran alone.
    pub(in crate::floor) fn read(on: &Inspection<'_>) -> Self {
        Self { heirs: tests_tampered::heirs(on).unwrap_or_default() }
    }

    /// Compares the runs of one command; `root` is the folder it runs in.
    pub(in crate::floor) fn compare(
        &self,
        on: &Inspection<'_>,
        root: &RepoPath,
        base: &Run,
        claim: &Run,
    ) -> Comparison {
        let in_claim = |path: &RepoPath| matches!(on.repo.entry(&on.claim.tree, path), Ok(Some(_)));
        let context = Context { heirs: &self.heirs, in_claim: &in_claim, root };
        let mut found = compare(&base.readings(), &claim.readings(), &context);
        // A list that the exit status contradicts is not complete.
        found.complete &= claim.is_borne_out() && base.is_borne_out();
        found
    }

    /// Where a test of the base stood, as far as its text says.
    fn path_of(&self, missing: &Missing) -> Option<&RepoPath> {
        let mut found = self.heirs.iter().filter(|heir| {
            let own = heir.old_name.rsplit("::").next().unwrap_or(&heir.old_name);
            missing.test.own_name() == own || missing.test.stem() == Some(own)
        });
        let first = found.next()?;
        found.all(|other| other.old_path == first.old_path).then_some(&first.old_path)
    }
}

/// The check's findings, command by command.
pub(in crate::floor) struct Findings<'a> {
    on: &'a Inspection<'a>,
    text: &'a Text,
    found: Vec<Finding>,
    notes: Vec<String>,
    /// True once both sides of a command were compared.
    looked: bool,
}

impl<'a> Findings<'a> {
    pub(in crate::floor) fn new(on: &'a Inspection<'a>, text: &'a Text) -> Self {
        Self { on, text, found: Vec::new(), notes: Vec::new(), looked: false }
    }

    /// One command. `base` is none where it was not asked for, or has no such command; `compared` is none where the two
    /// cannot be compared and `tests-run` says why: one reason is told once.
    pub(in crate::floor) fn add(
        &mut self,
        command: &TestCommand,
        claim: &Result<Run, String>,
        base: Option<&Result<Run, String>>,
        compared: Option<&Comparison>,
    ) {
        let name = format!("`{}`", escape(command.command.as_bytes()));
        let Ok(claim) = claim else { return self.note(format!("{name} was not run on the claim; tests-run says why")) };
        let base = match base {
            Some(Ok(base)) => base,
            Some(Err(_)) if !claim.ending.is_success() => return self.note(format!("{name}: tests-run says why")),
            Some(Err(why)) => {
                self.found.push(unknown(name, EXPECTED, format!("the base could not be tested: {why}")));
                return;
            }
            None => return self.note(format!("{name}: there is nothing of the base to compare with")),
        };
        let Some(found) = compared else {
            return self.note(format!("{name}: the tests of both sides cannot be compared; tests-run says why"));
        };
        self.looked = true;
        let (before, now) = found.executed;
        if !base.has_tests() && !base.ending.is_success() {
            let told = format!("on the base it {} and no test ran: there is nothing to keep", base.ending.sentence());
            self.found.push(info(name, EXPECTED, told));
        } else if let Some(why) = claim.doubt() {
            let told = format!("which tests ran on the claim is not known: {why}; see tests-run");
            self.found.push(unknown(name, EXPECTED, told));
        } else if let Some(why) = base.doubt() {
            let told = format!("which tests ran on the base is not known for certain: {why}");
            // A base that is broken may have had more tests than it lists; the claim is not to blame for that.
            let is_broken = !base.ending.is_success() && before > 0;
            let raise = if is_broken { ask } else { unknown };
            self.found.push(raise(name, EXPECTED, told));
            self.missing(found);
        } else {
            self.missing(found);
            self.note(format!("{name}: {before} ran on the base, {now} on the claim, {} kept", found.kept));
        }
        self.appearances(found);
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn missing(&mut self, found: &Comparison) {
        let skipped = found.skipped.iter().map(|missing| (missing, true));
        let lost = found.lost.iter().map(|missing| (missing, false));
        let mut findings: Vec<Finding> = skipped.chain(lost).map(|(missing, skip)| self.judge(missing, skip)).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.state));
        let beyond = findings.len().saturating_sub(MOST);
        findings.truncate(MOST);
        if let (true, Some(last)) = (beyond > 0, findings.last_mut()) {
            last.observed.push_str(&format!(" (and {beyond} more tests, not named)"));
        }
        self.found.extend(findings);
    }

    fn judge(&self, missing: &Missing, is_skipped: bool) -> Finding {
        let path = missing.test.file.as_ref().or_else(|| self.text.path_of(missing));
        let place = match path {
            Some(path) => format!("{} ({path})", missing.test.shown()),
            None => missing.test.shown(),
        };
        let times = if missing.count > 1 { format!(", {} times", missing.count) } else { String::new() };
        let was = if missing.failed { "it failed on the base" } else { "it passed on the base" };
        let now = if is_skipped { "is skipped on the claim" } else { "is not executed on the claim" };
        let told = format!("{was}{times} and {now}");
        if let Some(glob) = self.on.removals().find(|glob| declares(glob, path, missing)) {
            return info(place, format!("`removes-tests: {glob}`"), told);
        }
        let Some(task) = self.on.task else { return deny(place, EXPECTED, told) };
        let asked = task.bullets.iter().any(|bullet| tests_tampered::speaks_of_removal(&bullet.criterion.text));
        if asked {
            let told = format!("{told}; the criteria speak of removing, the task does not declare which tests");
            return ask(place, EXPECTED, told);
        }
        deny(place, EXPECTED, told)
    }

    /// Tests that run under another name or with other parameters.
    fn appearances(&mut self, found: &Comparison) {
        let mut told = 0;
        for (how, old, new) in &found.moved {
            let what = match how {
                How::Moved => "moved",
                How::Renamed => "renamed, with the same body",
                How::Merged => "its assertions stand in another test",
                How::Parametrised => "it runs with parameters now",
                How::Recased => "another case runs in its place",
                How::Shifted => "a case was put in, and its name moved",
            };
            told += 1;
            if told <= MOST {
                let what = format!("{what}: {new}");
                self.found.push(if *how == How::Recased {
                    ask(old, EXPECTED, what)
                } else {
                    info(old, EXPECTED, what)
                });
            }
        }
        if told > MOST {
            self.note(format!("{} more under another name", count(told - MOST, "test")));
        }
    }

    pub(in crate::floor) fn into_report(self) -> CheckReport {
        if self.found.is_empty() && !self.looked {
            return CheckReport::not_applicable(ID, &self.notes.join("; "));
        }
        CheckReport::of(ID, self.found).noting(self.notes.join("; "))
    }
}

/// True if a glob of `removes-tests` means this test: by its file, its name, or its whole name.
fn declares(glob: &str, path: Option<&RepoPath>, missing: &Missing) -> bool {
    let Ok(glob) = Glob::new(glob) else { return false };
    let test = &missing.test;
    let names = [Some(test.name.as_str()), Some(test.own_name()), test.stem()];
    path.is_some_and(|path| glob.matches(path))
        || names.into_iter().flatten().any(|name| glob.matches(&RepoPath::from(name)))
        || glob.matches(&RepoPath::from(test.shown().as_str()))
}
