//! Where the worker's report is read.

use super::{ReportWord, VerifyError, VerifyRequest};
use crate::host::digest::digest;
use crate::host::git::Repo;
use crate::host::path::escape;
use crate::receipts::{ReportRecord, ReportedOutcome};
use crate::worker::{Candidate, Outcome, Report, Source, pick_report};
use std::fs;
use std::path::{Path, PathBuf};

/// A report, or why there is none. It is a claim, never evidence.
#[derive(Debug)]
pub(super) struct Reported {
    pub(super) record: ReportRecord,
    pub(super) state: crate::floor::ReportState,
}

pub(super) fn read_report(request: &VerifyRequest, repo: &Repo, id: Option<&str>) -> Result<Reported, VerifyError> {
    let file = match (&request.report, id) {
        (ReportWord::None, _) => return Ok(none("none was asked for")),
        (ReportWord::File(file), _) => Some(request.start.join(file)),
        (ReportWord::Auto, Some(id)) => newest_sidecar(repo, id),
        (ReportWord::Auto, None) => None,
    };
    let Some(file) = file else { return Ok(none("no sidecar under .worktrees/.results")) };
    let shown = escape(file.file_name().unwrap_or_default().as_encoded_bytes());
    let refused = |why: String| VerifyError::Report { path: file.clone(), why };
    let found = fs::symlink_metadata(&file).map_err(|why| refused(why.to_string()))?;
    // A link could make any file of the machine a report.
    if !found.is_file() {
        return Err(refused("it is not a regular file (links are refused)".to_owned()));
    }
    let bytes = fs::read(&file).map_err(|why| refused(why.to_string()))?;
    Ok(settle(&bytes, &shown, id))
}

fn settle(bytes: &[u8], shown: &str, id: Option<&str>) -> Reported {
    use crate::floor::ReportState;
    let candidate = Candidate { source: Source::Sidecar, text: bytes };
    let source = format!("sidecar:{shown}");
    let record =
        |outcome, rejection| ReportRecord { source: source.clone(), digest: digest(bytes), outcome, rejection };
    match pick_report(&[candidate], id) {
        Ok(picked) => Reported {
            record: record(outcome_of(&picked.report), None),
            state: ReportState::Read {
                problems: crate::worker::examine(&picked.report),
                report: Box::new(picked.report),
                source: source.clone(),
            },
        },
        Err(none) => {
            let refusal = none.attempts.into_iter().next();
            let code = refusal.as_ref().map_or_else(|| "empty".to_owned(), |attempt| attempt.refusal.code().to_owned());
            let detail = refusal.map_or_else(String::new, |attempt| attempt.refusal.to_string());
            let detail = detail.strip_prefix(&format!("{code}: ")).unwrap_or(&detail).to_owned();
            Reported {
                record: record(ReportedOutcome::Unreadable, Some(code.clone())),
                state: ReportState::Rejected { code, detail, source: source.clone() },
            }
        }
    }
}

fn outcome_of(report: &Report) -> ReportedOutcome {
    match report.outcome {
        Outcome::Success => ReportedOutcome::Success,
        Outcome::Bounced => ReportedOutcome::Bounced,
        Outcome::Failed => ReportedOutcome::Failed,
    }
}

fn none(why: &str) -> Reported {
    Reported {
        record: ReportRecord {
            source: format!("none: {why}"),
            digest: digest(b""),
            outcome: ReportedOutcome::None,
            rejection: None,
        },
        state: crate::floor::ReportState::None { why: why.to_owned() },
    }
}

/// The sidecar of the highest iteration: `.worktrees/.results/<id>.iter-<N>.md` beside the main worktree.
fn newest_sidecar(repo: &Repo, id: &str) -> Option<PathBuf> {
    let tops = [Some(repo.top()), repo.common_dir().parent(), repo.top().parent().and_then(Path::parent)];
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for folder in tops.into_iter().flatten().map(|top| top.join(".worktrees/.results")) {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name
                .to_str()
                .and_then(|n| n.strip_prefix(id)?.strip_prefix(".iter-")?.strip_suffix(".md")?.parse().ok());
            found.extend(number.map(|number| (number, entry.path())));
        }
    }
    found.into_iter().max().map(|(_, path)| path)
}
