//! A person's signed approval of exactly this tree releases what is held (RULINGS 40); never what is false or broken.

use super::CiError;
use super::believe::{Trust, any_glob};
use super::own::reason;
use super::range::Range;
use crate::host::git::Notes;
use crate::integrate::attest::{
    APPROVAL, Approval, Noted, SignatureState, Statement, Subject, check_signature, notes_ref, parse_bundle, write,
};
use crate::receipts::Reason;
use std::collections::BTreeMap;

/// The approval that releases these reasons, if a principal that the base allows signed one for this head's tree.
pub(super) fn released(range: &Range, trust: &Trust<'_>, held: &[Reason]) -> Result<Option<Reason>, CiError> {
    if range.settings.gate.approvers.is_empty() {
        return Ok(None);
    }
    let notes = Notes::open(&range.repo, &notes_ref()?)?;
    // It is about a tree on a base: a forge may have put a merge commit around it.
    let places = std::iter::once(&range.head).chain(range.members.iter().rev().map(|member| &member.id));
    let mut envelopes = Vec::new();
    for commit in places {
        envelopes.extend(notes.get(commit)?.map(|note| parse_bundle(&note).0).unwrap_or_default());
    }
    for envelope in envelopes {
        let Ok(statement) = envelope.statement() else { continue };
        if statement.predicate_type != APPROVAL {
            continue;
        }
        let Ok(approval) = serde_json::from_value::<Approval>(statement.predicate.clone()) else { continue };
        let covers = held.iter().all(|reason| approval.codes.contains(&reason.code));
        let this = approval.tree == range.tree && approval.base == range.base.commit;
        if !(covers && this && statement.digest("gitTree") == Some(range.tree.as_str())) {
            continue;
        }
        if let SignatureState::Good { principal } =
            check_signature(range.repo.host(), &envelope, &trust.signers, trust.now)
            && any_glob(&range.settings.gate.approvers, &principal)
        {
            let text = format!("{principal} released {}: {}", approval.codes.join(", "), approval.why);
            return Ok(Some(reason("approved", text)));
        }
    }
    Ok(None)
}

/// Writes an approval of what this range is held for onto its head.
pub(super) fn approve(range: &Range, codes: &[String], why: &str) -> Result<Noted, CiError> {
    let repo = &range.repo;
    let at = repo.host().clock.now();
    let mut codes = codes.to_vec();
    codes.sort();
    codes.dedup();
    let approval = Approval {
        tree: range.tree.clone(),
        base: range.base.commit.clone(),
        codes,
        why: why.to_owned(),
        at: at.to_utc(),
    };
    let digest = BTreeMap::from([("gitTree".to_owned(), range.tree.to_string())]);
    let subject = vec![Subject { name: "what would be merged".to_owned(), digest }];
    let statement = Statement::new(subject, APPROVAL, serde_json::to_value(&approval).unwrap_or_default());
    let key = crate::host::signing::find_key(repo, None);
    Ok(write(repo, &range.head, &[statement], key, at)?)
}
