//! What is sealed about tests that bite, and about those that do not.

use super::TestCase;
use crate::host::ids::TreeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a new or changed test does on the base's production code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BiteClass {
    /// It fails there by its own expectation, twice.
    Bites,
    /// It fails there, twice, only because names that the claim brings are absent, or because an assertion that its file
    /// makes while it is loaded does not hold.
    ByBuild,
    /// It passes on both sides.
    Guards,
    /// It cannot be built there, for another reason.
    Build,
    /// Its file cannot be loaded there, for another reason.
    Collection,
    /// The run was stopped before it ended.
    Timeout,
    /// The run did not execute it.
    NoneExecuted,
    /// Two runs disagreed.
    Flaky,
    /// It fails there for a reason that proves nothing.
    Unclassified,
}

impl BiteClass {
    /// True for the two classes that prove something.
    pub fn is_proof(self) -> bool {
        matches!(self, Self::Bites | Self::ByBuild)
    }

    /// Its name, as it is sealed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bites => "bites",
            Self::ByBuild => "by-build",
            Self::Guards => "guards",
            Self::Build => "build",
            Self::Collection => "collection",
            Self::Timeout => "timeout",
            Self::NoneExecuted => "none-executed",
            Self::Flaky => "flaky",
            Self::Unclassified => "unclassified",
        }
    }
}

/// One new or changed test of the claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Bite {
    /// The test, as it ended on the claim.
    pub test: TestCase,
    /// What it does on the base's production code.
    pub class: BiteClass,
    /// What was seen there, one line.
    pub observed: String,
    /// Whether it noticed a mutant of the claim's production code; absent if none was tried on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed: Option<bool>,
    /// True if nothing shows that it would notice wrong code: it bites by build only, or a criterion rests on it, and it
    /// noticed no mutant.
    #[serde(default)]
    pub weak: bool,
}

/// What a test that a criterion names does on the base's production code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CitedBite {
    /// The criterion's number.
    pub criterion: u32,
    /// The test's name as the criterion has it.
    pub name: String,
    /// The best class of the tests that the name fits; absent if none of them is new or changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<BiteClass>,
    /// True if the criterion rests on tests alone and every one of them that proves something is weak.
    #[serde(default)]
    pub weak: bool,
}

/// How mutants were tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct MutationRecord {
    /// Mutants that could be made.
    pub possible: u32,
    /// Mutants that were run.
    pub run: u32,
    /// Of those, the ones that could be built and loaded.
    pub built: u32,
    /// Of those, the ones that a test noticed.
    pub noticed: u32,
    /// True if the budget ended before all chosen mutants had been run.
    pub budget_spent: bool,
}

/// What the new and changed tests do on the base's production code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BitesRecord {
    /// The claim's tree.
    pub tree: TreeId,
    /// The trees of base production code and claim's tests that were run, in order.
    pub hybrids: Vec<TreeId>,
    /// Every new or changed test that passes on the claim.
    pub tests: Vec<Bite>,
    /// The tests that criteria name.
    pub cited: Vec<CitedBite>,
    /// How mutants were tried; absent if no test needed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<MutationRecord>,
    /// The commands it rests on.
    pub receipts: Vec<u32>,
}

impl BitesRecord {
    /// How many tests are of this class.
    pub fn count(&self, class: BiteClass) -> usize {
        self.tests.iter().filter(|bite| bite.class == class).count()
    }

    /// True if a criterion rests on tests alone, and none of them proves more than weakly.
    pub fn is_weak(&self, criterion: u32) -> bool {
        let cited = || self.cited.iter().filter(|cited| cited.criterion == criterion);
        let proves = |cited: &CitedBite| !cited.weak && cited.class.is_some_and(BiteClass::is_proof);
        cited().any(|cited| cited.weak) && !cited().any(proves)
    }

    /// The class of a test that the criterion names; none if it is not new or changed.
    pub fn class_of(&self, criterion: u32, name: &str) -> Option<BiteClass> {
        self.cited.iter().find(|cited| cited.criterion == criterion && cited.name == name)?.class
    }

    /// True if the criterion names this test and it passes without the claim's production change as well.
    pub fn only_guards(&self, criterion: u32, name: &str) -> bool {
        let mut cited = self.cited.iter().filter(|cited| cited.criterion == criterion && cited.name == name);
        cited.any(|cited| cited.class == Some(BiteClass::Guards))
    }
}
