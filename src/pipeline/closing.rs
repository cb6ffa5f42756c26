//! The last steps: decide from the ledger, seal the case, answer.

use super::judge::Run;
use super::known;
use super::{Outcome, VerifyError};
use crate::host::ids::CommitId;
use crate::integrate::attest::{AttestError, attest_certified};
use crate::integrate::certify;
use crate::receipts::case;
use crate::receipts::{Fact, Origin};
use crate::verdict::{self, Decision, WarrantOrigin};
use std::fs;

impl Run<'_> {
    /// Decides, from the ledger alone.
    pub(super) fn decide(&mut self) -> Result<(), VerifyError> {
        self.pause()?;
        let record = verdict::judge(self.recorder.receipts()).record();
        self.recorder.record(Fact::Decided(record)).map(|_| ())
    }

    /// Seals the case (a run without a task only if asked to) and answers.
    pub(super) fn seal(mut self) -> Result<Outcome, VerifyError> {
        let repo = &self.asked.repo;
        repo.leave_quarantine();
        self.refused = None;
        let folder = self.recorder.folder().to_owned();
        self.sealed.receipts = self.recorder.receipts().to_vec();
        let wanted = self.asked.task.is_some() || self.request.seal_floor;
        let sealed =
            wanted.then(|| case::seal(repo, &self.case_key, &self.sealed, repo.host().clock.now())).transpose();
        let sealed = sealed.map_err(|why| self.not_sealed(why))?;
        let key = self.sealed.receipts.iter().find_map(|receipt| match &receipt.fact {
            Fact::Settings(settings) => Some(&settings.key),
            _ => None,
        });
        if let (Some(case), Some(key)) = (&sealed, key) {
            known::remember(repo, key, case);
        }
        self.certify(sealed.as_ref())?;
        // Nothing in the git directory is the only copy any more; raw logs stay there, bounded and untracked (RULINGS 8).
        let raw = folder.join("raw");
        if wanted && raw.is_dir() {
            fs::remove_file(folder.join("receipts.jsonl")).ok();
        } else {
            fs::remove_dir_all(&folder).map_err(|why| VerifyError::Io {
                doing: "remove",
                path: folder.clone(),
                why,
            })?;
            // Empty parents go too; a sibling attempt keeps them.
            folder.ancestors().skip(1).take(2).try_for_each(fs::remove_dir).ok();
        }
        let mut outcome = Outcome::from_receipts(&self.sealed.receipts, sealed.as_ref().map(ToString::to_string));
        if let (Some(outcome), Some(task)) = (&mut outcome, &self.asked.task) {
            outcome.task_inferred.clone_from(&task.inferred);
        }
        outcome
            .ok_or_else(|| VerifyError::Internal { what: "a decided attempt holds no claim or no decision".to_owned() })
    }

    /// A PASS whose diff starts at or before an unverified landing, on work that contains it, certifies that landing.
    fn certify(&self, case: Option<&CommitId>) -> Result<(), VerifyError> {
        let repo = &self.asked.repo;
        let Some(case) = case else { return Ok(()) };
        let warrant = match verdict::judge(self.recorder.receipts()) {
            Decision::Land(warrant) if warrant.origin() == WarrantOrigin::Verified => warrant,
            _ => return Ok(()),
        };
        let head = match &self.asked.commit {
            Some(commit) => Some(commit.clone()),
            None => repo.resolve("HEAD")?,
        };
        let Some(head) = head else { return Ok(()) };
        let closed = certify(repo, &self.asked.base.commit, &head, case)?;
        // A landing's own note says what it covers, and so does the gate's (`ci --attest`); a judgement by hand has none.
        if self.request.origin == Origin::Hand {
            let at = repo.host().clock.now();
            attest_certified(repo, &closed, &head, &warrant, case, at).map_err(|why| match why {
                AttestError::Case(why) => VerifyError::Case(why),
                AttestError::Git(why) => VerifyError::Git(why),
                // A key that cannot sign leaves a note unsigned, and is no error of it.
                AttestError::Signing(why) => VerifyError::Internal { what: why.to_string() },
            })?;
        }
        Ok(())
    }

    fn not_sealed(&self, why: case::CaseError) -> VerifyError {
        let claim = self.recorder.receipts().iter().find_map(|r| match &r.fact {
            Fact::Claim(claim) => claim.name.as_ref().map(|name| format!(" and the work is {name}")),
            _ => None,
        });
        let ledger = self.recorder.folder().join("receipts.jsonl");
        VerifyError::NotSealed { why: Box::new(why), ledger, claim: claim.unwrap_or_default() }
    }
}
