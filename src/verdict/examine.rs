//! Cross-examination: a PASS is held against the receipts, line by line.
//!
//! A citation that the receipts do not carry voids the PASS (DESIGN §1.3, §7). Only receipts about the claim's own tree
//! count. A FAIL or a SKIP cites nothing and needs no examination.

use super::evidence::{Citation, Cover, Evidence};
use super::identity::{Match, look_up};
use super::parse::{Complaint, Unusable, Verdict};
use super::{is_embedded, is_reading};
use crate::claim::Claim;
use crate::host::git::ChangeKind;
use crate::host::path::{RepoPath, escape};
use crate::receipts::{
    Bite, BitesRecord, CaseResult, CommandRecord, ConsultedRecord, Fact, ProofRecord, Purpose, Receipt, TaskRecord,
    TestCase, TestsRecord,
};
use crate::task::promise::{Promise, is_guard};
use crate::task::{Criterion, Kind, Proof};

/// One thing in a PASS that the receipts do not bear out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    /// Stable, in kebab case.
    pub code: &'static str,
    /// In words, hostile text escaped.
    pub text: String,
}

impl Objection {
    fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

impl From<Vec<Objection>> for Unusable {
    fn from(objections: Vec<Objection>) -> Self {
        Self::from_complaints(objections.into_iter().map(|o| Complaint::new(o.code, o.text)).collect())
    }
}

/// Holds a verdict against the ledger up to its consultation. No objection means that the verdict stands.
///
/// `file_exists` says whether a path is a file of the claim's tree, for files that no receipt speaks of; `None` means
/// that it could not be found out, which is an objection.
pub fn cross_examine(
    verdict: &Verdict,
    receipts: &[Receipt],
    file_exists: &dyn Fn(&RepoPath) -> Option<bool>,
) -> Vec<Objection> {
    let Verdict::Pass { evidence } = verdict else {
        return Vec::new();
    };
    match Witness::gather(receipts, file_exists) {
        Ok(witness) => witness.examine(evidence),
        Err(objection) => vec![objection],
    }
}

/// What the ledger has to say about the claim's tree.
struct Witness<'a> {
    claim: &'a Claim,
    task: &'a TaskRecord,
    consulted: &'a ConsultedRecord,
    commands: Vec<(u32, &'a CommandRecord)>,
    tests: Vec<&'a TestsRecord>,
    base_tests: Vec<&'a TestsRecord>,
    proofs: Vec<&'a ProofRecord>,
    bites: Option<&'a BitesRecord>,
    file_exists: &'a dyn Fn(&RepoPath) -> Option<bool>,
}

impl<'a> Witness<'a> {
    fn gather(receipts: &'a [Receipt], file_exists: &'a dyn Fn(&RepoPath) -> Option<bool>) -> Result<Self, Objection> {
        let (mut claim, mut task, mut consulted) = (None, None, None);
        let (mut commands, mut tests, mut proofs, mut bites) = (Vec::new(), Vec::new(), Vec::new(), None);
        for receipt in receipts {
            match &receipt.fact {
                Fact::Claim(record) => claim = Some(record),
                Fact::Task(record) => task = Some(record),
                Fact::Consulted(record) => consulted = Some(record),
                Fact::Command(record) => commands.push((receipt.id, record)),
                Fact::Tests(record) => tests.push(record),
                Fact::Proof(record) => proofs.push(record),
                Fact::Bites(record) => bites = Some(record),
                _ => {}
            }
        }
        let missing = |what| Objection::new("receipts-missing", format!("the ledger records no {what}"));
        let claim: &Claim = claim.ok_or_else(|| missing("claim"))?;
        commands.retain(|(_, command)| command.tree == claim.tree);
        let base_tests = tests.iter().copied().filter(|tests| tests.tree == claim.base_tree).collect();
        tests.retain(|tests| tests.tree == claim.tree);
        Ok(Self {
            claim,
            task: task.ok_or_else(|| missing("task"))?,
            consulted: consulted.ok_or_else(|| missing("consultation"))?,
            commands,
            tests,
            base_tests,
            proofs,
            bites: bites.filter(|bites: &&BitesRecord| bites.tree == claim.tree),
            file_exists,
        })
    }

    fn examine(&self, evidence: &[Evidence]) -> Vec<Objection> {
        let mut objections = Vec::new();
        for criterion in &self.task.criteria {
            let mut lines = evidence.iter().filter(|line| line.criterion == criterion.number);
            if let (Some(line), None) = (lines.next(), lines.next()) {
                self.criterion(criterion, line, &mut objections);
            } else {
                let what = format!("C{} does not have exactly one evidence line", criterion.number);
                objections.push(Objection::new("evidence-missing", what));
            }
        }
        if evidence.len() > self.task.criteria.len() {
            objections.push(Objection::new("evidence-unknown-criterion", "there are more lines than criteria"));
        }
        objections.extend(self.not_shown());
        objections.extend(self.nothing_new());
        let unshown = self.nothing_shown(evidence);
        let bitten = if unshown.is_empty() { self.nothing_bites(evidence) } else { None };
        objections.extend(unshown.into_iter().chain(bitten));
        objections
    }

    /// One criterion with its line. Whether its tests bite is judged over all lines: see [`Self::nothing_bites`].
    fn criterion(&self, criterion: &Criterion, line: &Evidence, objections: &mut Vec<Objection>) {
        let number = criterion.number;
        match (&criterion.kind, &line.cover) {
            (Kind::HumanEye, Cover::EyeCheck) => {}
            (Kind::HumanEye, Cover::Cited(_)) => {
                let what = format!("C{number} is for the builder's eye; nothing else may stand in for it");
                objections.push(Objection::new("human-eye-proxied", what));
            }
            (_, Cover::EyeCheck) => {
                let what = format!("C{number} is not marked for the builder's eye and needs evidence");
                objections.push(Objection::new("eye-check-misused", what));
            }
            (kind, Cover::Cited(cited)) => {
                let doubts = cited.iter().filter_map(|citation| self.citation(citation));
                objections.extend(doubts.map(|(code, text)| Objection::new(code, format!("C{number}: {text}"))));
                if let Kind::Checkable(proofs) = kind {
                    objections.extend(proofs.iter().filter_map(|proof| self.proof(number, proof)));
                }
            }
        }
    }

    fn citation(&self, citation: &Citation) -> Option<(&'static str, String)> {
        match citation {
            _ if self.proved(citation) => None,
            Citation::Test(name) => self.test(name),
            Citation::File(path) => self.file(path),
            Citation::Run(command) => self.run(command),
        }
    }

    /// True if what is cited is the proof of a criterion, and its receipts hold.
    fn proved(&self, citation: &Citation) -> bool {
        let same = |proof: &Proof| match (proof, citation) {
            (Proof::Test { name }, Citation::Test(cited)) => name == cited,
            (Proof::File { path, .. }, Citation::File(cited)) => path.to_string() == *cited,
            (Proof::Run { command }, Citation::Run(cited)) => command == cited,
            _ => false,
        };
        let mut records = self.proofs.iter().filter(|record| same(&record.proof)).peekable();
        records.peek().is_some() && records.all(|record| record.on_claim == Some(true))
    }

    fn test(&self, name: &str) -> Option<(&'static str, String)> {
        let shown = escape(name.as_bytes());
        match look_up(name, self.cases(true)) {
            Match::One(CaseResult::Passed) => {}
            Match::One(result) => {
                return Some(("test-not-passed", format!("test `{shown}` ended as {result:?}, not as Passed")));
            }
            Match::Several(n) => {
                let what = format!("`{shown}` is the name of {n} tests, not all of which passed; name one fully");
                return Some(("test-ambiguous", what));
            }
            Match::None => {
                return Some((
                    "test-not-run",
                    format!("no complete run of ours on the claim's tree has test `{shown}`"),
                ));
            }
        }
        match look_up(name, self.cases(false)) {
            Match::One(result @ (CaseResult::Failed | CaseResult::Errored)) => Some((
                "test-not-passed",
                format!("test `{shown}` passed in one run and ended as {result:?} in another"),
            )),
            _ => None,
        }
    }

    /// The cases of the claim's tree from runs that we started: of complete records, or of the others. A repeated run may
    /// contradict a pass; it never makes one.
    fn cases(&self, complete: bool) -> impl Iterator<Item = &'a TestCase> + Clone {
        let proves = |tests: &TestsRecord| {
            let (_, command) = self.commands.iter().find(|(id, _)| *id == tests.command)?;
            match command.purpose {
                Purpose::Setup | Purpose::Canary | Purpose::Drive | Purpose::Listing => None,
                Purpose::Rerun => Some(false),
                Purpose::Tests | Purpose::Criterion => Some(tests.complete),
            }
        };
        let records: Vec<&'a TestsRecord> =
            self.tests.iter().filter(|tests| proves(tests) == Some(complete)).copied().collect();
        records.into_iter().flat_map(|tests| &tests.cases)
    }

    fn file(&self, text: &str) -> Option<(&'static str, String)> {
        let path = match RepoPath::try_from(text.to_owned()) {
            Ok(path) if path.is_safe() => path,
            _ => return Some(("file-missing", format!("`{}` is not a path inside the tree", escape(text.as_bytes())))),
        };
        match self.holds(&path).or_else(|| (self.file_exists)(&path)) {
            Some(true) => None,
            Some(false) => Some(("file-missing", format!("file `{path}` is not in the claim's tree"))),
            None => Some(("file-unknown", format!("whether file `{path}` is in the claim's tree is not known"))),
        }
    }

    /// What the receipts say of a file; `None` if they do not speak of it.
    fn holds(&self, path: &RepoPath) -> Option<bool> {
        let mut gone = false;
        for change in &self.claim.changed {
            if change.path == *path && change.kind != ChangeKind::Deleted {
                return Some(change.new_mode != GITLINK);
            }
            gone |= change.path == *path || change.from.as_ref() == Some(path);
        }
        if gone {
            return Some(false);
        }
        self.consulted.opened.contains(path).then_some(true)
    }

    fn run(&self, line: &str) -> Option<(&'static str, String)> {
        let shown = escape(line.as_bytes());
        let mut runs = self
            .commands
            .iter()
            .map(|(_, command)| command)
            .filter(|command| is_evidence(command) && command.command.trim() == line.trim())
            .peekable();
        if runs.peek().is_none() {
            return Some(("run-not-run", format!("we did not run `{shown}` on the claim's tree")));
        }
        let red = runs.any(|command| !command.ending.is_success());
        red.then(|| ("run-failed", format!("`{shown}` did not exit with 0 on the claim's tree")))
    }

    /// A criterion's own proof holds only if receipts say so, and none says otherwise.
    fn proof(&self, number: u32, proof: &Proof) -> Option<Objection> {
        let records = || self.proofs.iter().filter(|record| record.criterion == number && record.proof == *proof);
        let what = match proof {
            Proof::Test { name } => format!("test `{}`", escape(name.as_bytes())),
            Proof::File { path, .. } => format!("file `{path}`"),
            Proof::Run { command } => format!("run `{}`", escape(command.as_bytes())),
        };
        if records().any(|record| record.on_claim == Some(false)) {
            return Some(Objection::new("proof-false", format!("C{number}: its own proof, {what}, does not hold")));
        }
        let known = records().next().is_some() && records().all(|record| record.on_claim == Some(true));
        (!known).then(|| {
            Objection::new("proof-unknown", format!("C{number}: whether its own proof, {what}, holds is not known"))
        })
    }

    /// A reading verifier must have seen every changed text (RULINGS 19).
    fn not_shown(&self) -> Option<Objection> {
        if is_embedded(self.consulted) {
            return None;
        }
        let unread: Vec<_> = self.consulted.not_shown.iter().filter(|p| !self.consulted.opened.contains(p)).collect();
        let first = unread.first()?;
        let what = format!("{} changed files were neither in the brief nor opened, first `{first}`", unread.len());
        Some(Objection::new("not-shown", what))
    }

    /// A judged criterion of new behaviour needs one citation that tells the change from no change: a test that bites, a
    /// file that the claim changed, a command. A criterion that says that something stays as it is does not, nor does one
    /// whose proof the task's author named; where no new test was tried, a test counts unless it passed on the base.
    fn nothing_shown(&self, evidence: &[Evidence]) -> Vec<Objection> {
        if !is_promised(self.task) || self.claim.changed.is_empty() {
            return Vec::new();
        }
        let judged = self.task.criteria.iter().filter(|c| c.kind == Kind::Judged && !is_guard(&c.text));
        let lines = judged.filter_map(|c| evidence.iter().find(|line| line.criterion == c.number));
        let unshown = lines.filter_map(|line| {
            let Cover::Cited(cited) = &line.cover else { return None };
            let shows = |citation: &Citation| self.citation(citation).is_some() || self.shows_change(citation);
            if cited.iter().any(shows) {
                return None;
            }
            let number = line.criterion;
            let way_out = "cite a test that fails without the change, or a changed file that makes the criterion true";
            Some(if cited.iter().any(|citation| matches!(citation, Citation::Test(_))) {
                let what = format!("C{number}: no cited test fails without the change; {way_out}");
                Objection::new("no-biting-test", what)
            } else {
                let what = format!("C{number}: every cited file is as it was before the change; {way_out}");
                Objection::new("unchanged-evidence", what)
            })
        });
        unshown.collect()
    }

    fn shows_change(&self, citation: &Citation) -> bool {
        match citation {
            Citation::Run(_) => true,
            Citation::File(text) => self.claim.changed.iter().any(|change| change.path.to_string() == *text),
            Citation::Test(name) => match self.bites.filter(|bites| !bites.tests.is_empty()) {
                Some(bites) => self.test_shows_change(name, bites),
                None => !self.passed_before(name),
            },
        }
    }

    fn test_shows_change(&self, name: &str, bites: &BitesRecord) -> bool {
        let means = |bite: &&Bite| look_up(name, std::iter::once(&bite.test)) != Match::None;
        let mut mine = bites.tests.iter().filter(means).peekable();
        // A name that fits none of them may mean a group of tests: then it has a proof that was false before.
        let flipped = |record: &&ProofRecord| {
            matches!(&record.proof, Proof::Test { name: own } if own == name)
                && record.on_base == Some(false)
                && record.on_claim == Some(true)
        };
        if mine.peek().is_none() { self.proofs.iter().any(flipped) } else { mine.any(|bite| bite.class.is_proof()) }
    }

    /// True if a test of this name passed on the base: then it tells nothing about the change.
    fn passed_before(&self, name: &str) -> bool {
        self.base_tests.iter().any(|tests| look_up(name, tests.cases.iter()) == Match::One(CaseResult::Passed))
    }

    /// New behaviour is shown by a test that fails without it (DESIGN §7). Honest work also adds tests that pass on both
    /// sides, so a single line that rests on those is no fault: only a PASS of which no cited test bites is. It is asked of
    /// features and bugs whose claim has new or changed tests, and of lines that rest on tests alone.
    fn nothing_bites(&self, evidence: &[Evidence]) -> Option<Objection> {
        let bites = self.bites.filter(|bites| !bites.tests.is_empty() && is_promised(self.task))?;
        let mut names = Vec::new();
        for line in evidence {
            let Cover::Cited(cited) = &line.cover else { continue };
            let tests: Vec<&String> = cited
                .iter()
                .filter_map(|citation| if let Citation::Test(name) = citation { Some(name) } else { None })
                .collect();
            if tests.len() == cited.len() {
                names.extend(tests);
            }
        }
        let first = names.first()?;
        let proves = |name: &&String| {
            bites
                .tests
                .iter()
                .any(|bite| bite.class.is_proof() && look_up(name, std::iter::once(&bite.test)) != Match::None)
        };
        if names.iter().any(proves) {
            return None;
        }
        let what =
            format!("no cited test fails without the change, first `{}`; cite one that does", escape(first.as_bytes()));
        Some(Objection::new("no-biting-test", what))
    }

    /// Receipts alone prove new work only if one was false on the base (RULINGS 12).
    fn nothing_new(&self) -> Option<Objection> {
        let guards = |record: &ProofRecord| match &record.proof {
            Proof::Test { name } => self.bites.is_some_and(|bites| bites.only_guards(record.criterion, name)),
            Proof::File { .. } | Proof::Run { .. } => false,
        };
        let fresh =
            |record: &&ProofRecord| record.on_base == Some(false) && record.on_claim == Some(true) && !guards(record);
        if is_reading(self.consulted) || self.proofs.iter().any(fresh) {
            return None;
        }
        let what = "no proof of any criterion is false on the base and true on the claim";
        Some(Objection::new("nothing-new", what))
    }
}

/// A run that shows something about the claim: not a preparation, and not one that was made to fail.
fn is_evidence(command: &CommandRecord) -> bool {
    matches!(command.purpose, Purpose::Tests | Purpose::Criterion)
}

/// True for a task whose new behaviour its tests must show.
fn is_promised(task: &TaskRecord) -> bool {
    Promise::of(&task.kind, &task.title).is_made()
}

const GITLINK: &str = "160000";

#[cfg(test)]
mod tests;
