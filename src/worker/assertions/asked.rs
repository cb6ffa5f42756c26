//! Assertions from what was asked: the criteria, whether claimed or not, and a question that wants an answer.

use super::phrases::{BECAUSE, WHY, says};
use super::{AssertedBy, Assertion, AssertionKind, Expected, SaidChange};
use crate::task::{Criterion, Kind, Proof};

/// One assertion for each proof of a checkable criterion, and one for each criterion that needs judgement.
pub fn of_criteria(criteria: &[Criterion]) -> Vec<Assertion> {
    criteria.iter().flat_map(of_criterion).collect()
}

fn of_criterion(criterion: &Criterion) -> Vec<Assertion> {
    let quote = format!("{} {}", criterion.label(), criterion.text);
    let by_task = |kind, subject: &str| Assertion::new(kind, AssertedBy::Task, &quote, subject);
    match &criterion.kind {
        Kind::Checkable(proofs) => proofs
            .iter()
            .map(|proof| match proof {
                Proof::File { path, contains } => {
                    let (change, contains) = (Some(SaidChange::Present), contains.clone());
                    let expected = Expected { change, contains, ..Expected::default() };
                    by_task(AssertionKind::FileWritten, &path.to_string()).expecting(expected)
                }
                Proof::Test { name } => by_task(AssertionKind::TestGreen, name),
                Proof::Run { command } => by_task(AssertionKind::CommandRan, command),
            })
            .collect(),
        Kind::HumanEye => vec![by_task(AssertionKind::CriterionMet, "a person's eye")],
        Kind::Judged => vec![by_task(AssertionKind::CriterionMet, "")],
    }
}

/// The assertion that a question was answered, if the words that set the work going ask for a reason.
pub fn of_goal(asked: &str) -> Option<Assertion> {
    let asked = asked.trim();
    says(&WHY, asked).then(|| Assertion::new(AssertionKind::QuestionAnswered, AssertedBy::Goal, asked, ""))
}

/// True if a text gives a reason for something.
pub fn gives_a_reason(text: &str) -> bool {
    says(&BECAUSE, text)
}

/// The paths that an answer points to.
pub fn cited(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '(' | ')' | ',' | '"' | '[' | ']')) {
        // `src/a.rs:12` points to a line of it.
        let path = word.trim_end_matches(['.', ':', ';']).split(':').next().unwrap_or_default();
        if super::claimed::is_path(path) && !found.iter().any(|known| known == path) && found.len() < 20 {
            found.push(path.to_owned());
        }
    }
    found
}
