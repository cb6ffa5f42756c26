//! The tests that criteria name, and what they are worth.

use super::finding;
use crate::floor::criteria::names;
use crate::receipts::{Bite, BitesRecord, CitedBite, Finding, State};
use crate::task::{Criterion, Kind, Proof};

/// Each test that a checkable criterion names, with the best class that it fits.
pub(super) fn cited(criteria: &[Criterion], bites: &[Bite]) -> Vec<CitedBite> {
    let mut found = Vec::new();
    for criterion in criteria {
        let Kind::Checkable(proofs) = &criterion.kind else { continue };
        let rests_on_tests = proofs.iter().all(|proof| matches!(proof, Proof::Test { .. }));
        for proof in proofs {
            let Proof::Test { name } = proof else { continue };
            let mine: Vec<&Bite> = bites.iter().filter(|bite| names::means(&bite.test, name)).collect();
            let mut proving = mine.iter().filter(|bite| bite.class.is_proof()).peekable();
            found.push(CitedBite {
                criterion: criterion.number,
                name: name.clone(),
                class: mine.iter().map(|bite| bite.class).min(),
                weak: rests_on_tests && proving.peek().is_some() && proving.all(|bite| bite.weak),
            });
        }
    }
    found
}

/// True if a criterion that rests on tests alone names this one.
pub(super) fn names(criteria: &[Criterion], bite: &Bite) -> bool {
    criteria.iter().any(|criterion| match &criterion.kind {
        Kind::Checkable(proofs) => {
            let means = |proof: &Proof| matches!(proof, Proof::Test { name } if names::means(&bite.test, name));
            proofs.iter().all(|proof| matches!(proof, Proof::Test { .. })) && proofs.iter().any(means)
        }
        _ => false,
    })
}

/// A criterion that rests only on tests that notice nothing.
pub(super) fn weak_criteria(record: &BitesRecord) -> Vec<Finding> {
    let mut numbers: Vec<u32> = record.cited.iter().map(|cited| cited.criterion).collect();
    numbers.dedup();
    let weak = numbers.into_iter().filter(|number| record.is_weak(*number));
    weak.map(|number| {
        let why = "weak: the tests it names fail on the base, but nothing shows that they would notice wrong code";
        finding(State::Ask, &format!("C{number}"), why.to_owned())
    })
    .collect()
}
