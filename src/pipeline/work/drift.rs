//! Metric drift: a criterion that reads as before is measured by another command than before.
//!
//! A verifier that notices it says `task-under-specified`. This notices it in what verifiers said: the evidence of two
//! attempts of one life, criterion by criterion. Tests and files that are cited may change with the work; a command that
//! measures may not, for its threshold and its input are the criterion's meaning.

use crate::receipts::{Fact, HeardRecord, Receipt};
use std::collections::{BTreeMap, BTreeSet};

/// The commands by which a PASS covers each criterion, under the criterion's text.
type Measured = BTreeMap<String, BTreeSet<String>>;

fn measured(receipts: &[Receipt]) -> Measured {
    let criteria = receipts.iter().find_map(|receipt| match &receipt.fact {
        Fact::Task(task) => Some(&task.criteria),
        _ => None,
    });
    let heard = receipts.iter().rev().find_map(|receipt| match &receipt.fact {
        Fact::Heard(HeardRecord::Pass { evidence }) => Some(evidence),
        _ => None,
    });
    let (Some(criteria), Some(evidence)) = (criteria, heard) else { return Measured::new() };
    let mut found = Measured::new();
    for line in evidence {
        let Some(criterion) = criteria.iter().find(|criterion| criterion.number == line.criterion) else { continue };
        let commands = line.covered_by.iter().filter_map(|cited| cited.strip_prefix("run:")).map(str::to_owned);
        found.entry(criterion.text.clone()).or_default().extend(commands);
    }
    found.retain(|_, commands| !commands.is_empty());
    found
}

/// What drifted between an earlier attempt and the last one, in words; none if nothing did. Attempts oldest first.
pub(super) fn drift(attempts: &[&[Receipt]]) -> Option<String> {
    let (last, earlier) = attempts.split_last()?;
    let now = measured(last);
    for receipts in earlier.iter().rev() {
        for (text, before) in measured(receipts) {
            if let Some(commands) = now.get(&text).filter(|commands| **commands != before) {
                let list = |commands: &BTreeSet<String>| {
                    commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
                };
                return Some(format!(
                    "the criterion \"{text}\" was measured by {} and is now by {}; say in the task which one counts",
                    list(&before),
                    list(commands)
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipts::{EvidenceRecord, TaskRecord};
    use crate::task::{Criterion, Kind};
    use proptest::prelude::*;

    fn attempt(criteria: &[&str], evidence: &[(u32, &[&str])]) -> Vec<Receipt> {
        let criteria = criteria.iter().zip(1..).map(|(text, number)| Criterion {
            number,
            text: (*text).to_owned(),
            kind: Kind::Judged,
        });
        let (title, kind, source, digest) = ("t".to_owned(), String::new(), "s".to_owned(), "d".to_owned());
        let task = TaskRecord { id: None, title, kind, source, digest, criteria: criteria.collect() };
        let evidence = evidence.iter().map(|(criterion, cited)| EvidenceRecord {
            criterion: *criterion,
            covered_by: cited.iter().map(|text| (*text).to_owned()).collect(),
        });
        let facts = [Fact::Task(task), Fact::Heard(HeardRecord::Pass { evidence: evidence.collect() })];
        facts.into_iter().zip(1..).map(|(fact, id)| Receipt { id, fact }).collect()
    }

    #[test]
    fn another_command_for_the_same_words_is_drift_and_nothing_else_is() {
        let before = attempt(&["fast", "small"], &[(1, &["run:bench --limit 200"]), (2, &["test:a"])]);
        let same = attempt(&["small", "fast"], &[(2, &["run:bench --limit 200", "test:b"]), (1, &["test:b"])]);
        assert_eq!(drift(&[&before, &same]), None, "numbers and tests may change");
        let looser = attempt(&["fast", "small"], &[(1, &["run:bench --limit 500"])]);
        let said = drift(&[&before, &same, &looser]).unwrap();
        assert!(said.contains("\"fast\"") && said.contains("--limit 200") && said.contains("--limit 500"), "{said}");
        let reworded = attempt(&["fast enough"], &[(1, &["run:bench --limit 500"])]);
        assert_eq!(drift(&[&before, &reworded]), None, "another criterion may have another measurement");
        assert_eq!(drift(&[&before, &attempt(&["fast"], &[(1, &["test:fast"])])]), None);
        assert_eq!((drift(&[]), drift(&[&before])), (None, None));
    }

    proptest! {
        #[test]
        fn an_attempt_never_drifts_from_itself(commands in prop::collection::vec("[a-z -]{1,12}", 0..4)) {
            let cited: Vec<String> = commands.iter().map(|command| format!("run:{command}")).collect();
            let cited: Vec<&str> = cited.iter().map(String::as_str).collect();
            let one = attempt(&["fast"], &[(1, &cited)]);
            prop_assert_eq!(drift(&[&one, &one]), None);
        }
    }
}
