//! The gate's own statements: what it verified itself, signed with the key of the job, so that the next gate need not.

use super::CiError;
use super::range::Range;
use super::report::{CiDecision, CiReport, EvidenceKind};
use crate::host::ids::CommitId;
use crate::host::signing::find_key;
use crate::integrate::LandingRecord;
use crate::integrate::attest::{Landing, Noted, landing_statement, test_result, verification_summary, write};
use crate::receipts::case;
use crate::verdict::{Decision, judge};

/// Writes a note on the head about every task that this run verified, if the whole range passed on our own evidence and the
/// head is exactly what was judged. None where there is nothing of that kind to say.
pub(super) fn attest(range: &Range, report: &CiReport) -> Result<Option<Noted>, CiError> {
    let own = report.tasks.iter().all(|task| task.evidence == EvidenceKind::Verified && task.case.is_some());
    if report.decision != CiDecision::Pass || report.tasks.is_empty() || !own || range.base_moved() {
        return Ok(None);
    }
    let repo = &range.repo;
    let at = repo.host().clock.now();
    let mut statements = Vec::new();
    for task in &report.tasks {
        let Some(case) = task.case.as_deref().and_then(|case| CommitId::new(case).ok()) else { continue };
        let sealed = case::read(repo, &case).map_err(crate::integrate::attest::AttestError::from)?;
        let receipts = &sealed.attempt.receipts;
        let (Decision::Land(warrant) | Decision::Skip(warrant)) = judge(receipts) else { continue };
        let record = LandingRecord {
            task: task.id.clone(),
            target: "HEAD".to_owned(),
            commit: range.head.clone(),
            parent: range.base.commit.clone(),
            merged: range.tree.clone(),
            tree: range.tree.clone(),
            claim: warrant.commit().clone(),
            origin: warrant.origin(),
            checkout: None,
            remarks: Vec::new(),
            batch: None,
            note_missing: None,
            note_unsigned: None,
        };
        let mut landing = Landing::of(&record, &warrant, Some(&sealed), at);
        landing.parent_tree = Some(range.base_tree.clone());
        let landing = landing_statement(&landing);
        let tests = test_result(&landing.subject, warrant.tree(), receipts);
        statements.push(verification_summary(&landing, tests.as_ref(), at));
        statements.extend(tests);
        statements.push(landing);
    }
    if statements.is_empty() {
        return Ok(None);
    }
    Ok(Some(write(repo, &range.head, &statements, find_key(repo, None), at)?))
}
