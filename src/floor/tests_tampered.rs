//! `tests-tampered`: what the claim did to the tests that were there, to what runs them, and to what they see.
//!
//! It reads text and runs nothing: what only a run can show (fewer tests executed, a new test that does not bite) is
//! said by the checks that run.

mod editing;
mod equality;
mod exits;
mod mask;
mod matching;
mod rebound;
mod replaced;
mod rules;
mod runner_asked;
mod scripts;
mod settings;
mod special_case;
mod version;
mod weakening;

pub(in crate::floor) use editing::speaks_of_removal;
pub use mask::mask_of;
pub use rules::RULES;

use super::Inspection;
use super::finding::unreadable;
use super::tests_run::compare::Heir;
use crate::host::git::GitError;
use crate::receipts::{CheckReport, Finding, State};
use version::{Changed, read_changes};

/// The check's id.
pub const ID: &str = "tests-tampered";

/// Findings of one state beyond this many are counted, not listed.
const MOST: usize = 100;

/// Looks at every changed file that is a test, keeps an expectation, settles how tests run, or could treat a test apart
/// from a user. Which row of [`RULES`] a finding rests on stands in front of what was observed.
pub fn inspect(on: &Inspection<'_>) -> CheckReport {
    let looked = match read_changes(on) {
        Ok(changes) => look(on, &changes),
        Err(version::Unread::Setting(why)) => {
            let expected = "globs in the settings' `tests: {files: […]}`; mend them";
            return CheckReport::unknown(ID, ".agentheim/countersign.yaml", expected, &why);
        }
        Err(version::Unread::Git(why)) => Err(why),
    };
    match looked {
        Ok(findings) if findings.is_empty() && on.claim.changed.is_empty() => {
            CheckReport::not_applicable(ID, "nothing changed")
        }
        Ok(findings) => CheckReport::of(ID, bounded(&findings)),
        Err(why) => CheckReport::of(ID, vec![unreadable("", &why)]),
    }
}

fn look(on: &Inspection<'_>, changes: &[Changed<'_>]) -> Result<Vec<Finding>, GitError> {
    let mut findings = editing::look(on, changes)?;
    findings.extend(exits::look(changes));
    findings.extend(scripts::look(changes));
    findings.extend(settings::look(on, changes));
    findings.extend(special_case::look(on, changes)?);
    findings.extend(replaced::look(changes));
    findings.extend(equality::look(changes));
    findings.extend(rebound::look(on, changes)?);
    Ok(findings)
}

/// What became of each test that the changed files define on the base, as `tests-kept` asks.
///
/// # Errors
/// The changes cannot be read, in words.
pub(in crate::floor) fn heirs(on: &Inspection<'_>) -> Result<Vec<Heir>, String> {
    let changes = read_changes(on).map_err(|why| match why {
        version::Unread::Setting(why) => why,
        version::Unread::Git(why) => why.to_string(),
    })?;
    Ok(matching::heirs(&changes))
}

/// Keeps the worst first within each state's limit; what is left out is counted.
fn bounded(findings: &[Finding]) -> Vec<Finding> {
    let mut kept = Vec::new();
    for state in [State::Deny, State::Unknown, State::Ask, State::Info] {
        let mut of_state: Vec<Finding> = findings.iter().filter(|finding| finding.state == state).cloned().collect();
        let beyond = of_state.len().saturating_sub(MOST);
        of_state.truncate(MOST);
        if let (true, Some(last)) = (beyond > 0, of_state.last_mut()) {
            last.observed.push_str(&format!(" (and {beyond} more findings like it, not listed)"));
        }
        kept.extend(of_state);
    }
    kept
}
