//! What to do next with a task: one pure function of what is there.
//!
//! The same function starts a task, goes on with it and recovers it: a run that died leaves a [`Standing`] like any
//! other. The executor does the one step, looks again, and asks again.

use super::journal::{Entry, Errand, From};
use crate::host::ids::{CommitId, TreeId};
use crate::receipts::{DecisionKind, DecisionRecord, ReportedOutcome};
use crate::task::layout::Folder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many claims of one life may be false: the first and two re-dispatches.
pub const MOST_ATTEMPTS: u32 = 3;

/// Everything [`next`] decides from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The folder its file is in on the target; none: there is no such file.
    pub folder: Option<Folder>,
    /// True if its worktree is there.
    pub worktree: bool,
    /// FAIL decisions of dispatched attempts in this life, from the sealed cases.
    pub fails: u32,
    /// Attempts of the conductor sealed in this life.
    pub sealed: u32,
    /// The decision of the attempt sealed last.
    pub decision: Option<DecisionRecord>,
    /// A readable report waits where the worker was told to leave it.
    pub report: bool,
    /// The task's file on the target has the note of the last false claim.
    pub noted: bool,
    /// What the last attempt measures otherwise than an earlier one of this life did, in words.
    pub drift: Option<String>,
    /// What the journal says of this life.
    pub progress: Progress,
}

/// How far this life has come by our own account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// The last thing that matters.
    pub latest: Latest,
    /// The worker's last iteration; 0 before the first.
    pub iteration: u32,
    /// A worker was already sent out again for a lost report.
    pub repeated: bool,
    /// A worker was already sent out to resolve a merge.
    pub resolved: bool,
    /// The target's commit that was merged into the work, if one was.
    pub merged_from: Option<CommitId>,
    /// The places that a merge of the target met, if one was made, and what landed there.
    pub before_merge: Option<(Vec<String>, Vec<String>)>,
    /// The tree that a hook made of the landing, if it was judged for that.
    pub hooked: Option<TreeId>,
    /// What was the last thing before it was held.
    pub before: Option<Box<Latest>>,
}

/// The last thing that matters in a life.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Latest {
    /// Nobody was sent out.
    #[default]
    Nothing,
    /// A worker was sent out and is not back.
    Away(Errand),
    /// It is back.
    Back {
        /// What its report says.
        outcome: ReportedOutcome,
        /// How its process ended.
        ending: String,
        /// In words.
        why: String,
    },
    /// Its work is being judged, or has been.
    Judging {
        /// Attempts sealed before.
        sealed: u32,
    },
    /// The target has other changes in the same places.
    Conflicted {
        /// The target's commit.
        tip: CommitId,
        /// The places.
        paths: Vec<String>,
        /// What landed there.
        with: Vec<String>,
        /// Both sides wrote the same decision record.
        records: bool,
    },
    /// The merge lies in the worktree.
    Merged,
    /// It waits for a person, or for the machine.
    Held {
        /// Stable code.
        code: String,
        /// In words.
        why: String,
    },
    /// It landed.
    Landed(CommitId),
}

impl Progress {
    /// Reads a journal. What belongs to another life than `life` is history.
    pub fn of(entries: &[Entry], life: &CommitId) -> Self {
        let mut progress = Self::default();
        let mut ours = false;
        for entry in entries {
            if let Entry::Sent { life: of, iteration, errand, .. } = entry {
                if of != life {
                    (progress, ours) = (Self::default(), false);
                    continue;
                }
                ours = true;
                progress.iteration = *iteration;
                progress.repeated |= *errand == Errand::Repeat;
                progress.resolved |= *errand == Errand::Resolve;
                progress.latest = Latest::Away(*errand);
                continue;
            }
            if ours {
                progress.take(entry);
            }
        }
        progress
    }

    fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::Returned { outcome, ending, why, .. } => {
                self.latest = Latest::Back { outcome: *outcome, ending: ending.clone(), why: why.clone() };
            }
            Entry::Judging { sealed } => self.latest = Latest::Judging { sealed: *sealed },
            Entry::Conflicted { tip, paths, with, records } => {
                self.before_merge = Some((paths.clone(), with.clone()));
                let (paths, with) = (paths.clone(), with.clone());
                self.latest = Latest::Conflicted { tip: tip.clone(), paths, with, records: *records };
            }
            Entry::Merged { tip, .. } => {
                self.latest = Latest::Merged;
                self.merged_from = Some(tip.clone());
            }
            Entry::Held { code, why, .. } => {
                let held = Latest::Held { code: code.clone(), why: why.clone() };
                let before = std::mem::replace(&mut self.latest, held);
                self.before = Some(Box::new(before));
            }
            Entry::Resumed { from } => {
                let before = self.before.take().map_or(Latest::Nothing, |before| *before);
                self.latest = match from {
                    From::Sending => Latest::Nothing,
                    From::Judging { sealed } => Latest::Judging { sealed: *sealed },
                    From::Landing => before,
                };
            }
            Entry::Hooked { tree } => self.hooked = Some(tree.clone()),
            Entry::Landed { commit, .. } => self.latest = Latest::Landed(commit.clone()),
            Entry::Sent { .. } | Entry::Saved { .. } | Entry::Landing { .. } => {}
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Make its worktree and branch.
    MakeWorktree,
    /// Send a worker out.
    Send {
        /// The iteration, from 1.
        iteration: u32,
        /// Why.
        errand: Errand,
    },
    /// Take in the report of a worker whose end nobody saw.
    Collect,
    /// Freeze and judge.
    Judge,
    /// Write the reasons of the last decision into the task's file.
    Note {
        /// The iteration whose claim was false.
        iteration: u32,
    },
    /// Merge the target into the work.
    Merge,
    /// Land.
    Land,
    /// Give the task back to the backlog.
    Bounce {
        /// The worker's reason.
        why: String,
    },
    /// Save the work and wait for a person or the machine.
    Hold {
        /// Stable code.
        code: String,
        /// In words.
        why: String,
    },
    /// Take the worktree of landed or returned work away.
    Teardown,
    /// Nothing more to do.
    Stop,
}

fn hold(code: &str, why: impl Into<String>) -> Step {
    Step::Hold { code: code.to_owned(), why: why.into() }
}

/// The next step. Pure and total.
pub fn next(standing: &Standing) -> Step {
    let progress = &standing.progress;
    match (standing.folder, &progress.latest) {
        (Some(Folder::Doing), Latest::Held { .. }) => Step::Stop,
        (Some(Folder::Doing), _) if !standing.worktree => Step::MakeWorktree,
        (Some(Folder::Doing), latest) => under_way(standing, latest),
        (Some(Folder::Done | Folder::Backlog), _) if standing.worktree && progress.iteration > 0 => Step::Teardown,
        _ => Step::Stop,
    }
}

fn under_way(standing: &Standing, latest: &Latest) -> Step {
    let progress = &standing.progress;
    match latest {
        Latest::Nothing => Step::Send { iteration: standing.fails + 1, errand: Errand::Do },
        Latest::Away(_) if standing.report => Step::Collect,
        // Nobody's fault: it goes out again on the same errand.
        Latest::Away(errand) => Step::Send { iteration: progress.iteration.max(1), errand: *errand },
        Latest::Back { outcome, ending, why } => returned(standing, *outcome, ending, why),
        Latest::Judging { sealed } if standing.sealed <= *sealed => Step::Judge,
        Latest::Judging { .. } => decided(standing),
        Latest::Conflicted { paths, with, .. } if progress.resolved => {
            hold("merge-conflict", format!("it met the target's changes a second time: {}", met(paths, with)))
        }
        Latest::Conflicted { paths, with, records: true, .. } => {
            hold("merge-conflict", format!("both sides wrote a decision record of one name: {}", met(paths, with)))
        }
        Latest::Conflicted { .. } => Step::Merge,
        Latest::Merged => Step::Send { iteration: progress.iteration.max(1), errand: Errand::Resolve },
        Latest::Held { .. } | Latest::Landed(_) => Step::Stop,
    }
}

/// Where two sides met, and who the other one is.
fn met(paths: &[String], with: &[String]) -> String {
    let by = if with.is_empty() { String::new() } else { format!(", changed there by {}", with.join(", ")) };
    format!("{}{by}; a person decides", paths.join(", "))
}

fn returned(standing: &Standing, outcome: ReportedOutcome, ending: &str, why: &str) -> Step {
    let progress = &standing.progress;
    match outcome {
        ReportedOutcome::Success => Step::Judge,
        ReportedOutcome::Bounced => Step::Bounce { why: why.to_owned() },
        ReportedOutcome::Failed => hold("worker-failed", why),
        ReportedOutcome::Unreadable | ReportedOutcome::None => match ending {
            // The machine's fault, or the user's wish: nothing is used up.
            "not-started" | "lost" | "cancelled" => hold("worker-not-run", why),
            // Its service failed, by the program's own word.
            failed if failed.starts_with("failed-") => hold("worker-not-run", why),
            _ if progress.repeated => hold("lost-result", format!("no readable report, twice: {why}")),
            _ => Step::Send { iteration: progress.iteration.max(1), errand: Errand::Repeat },
        },
    }
}

fn decided(standing: &Standing) -> Step {
    let Some(decision) = &standing.decision else { return Step::Judge };
    let told: Vec<String> = decision.reasons.iter().map(|reason| format!("{}: {}", reason.code, reason.text)).collect();
    let told = told.join("; ");
    match decision.kind {
        DecisionKind::Land | DecisionKind::Skip if standing.drift.is_some() => {
            hold("metric-drift", standing.drift.clone().unwrap_or_default())
        }
        DecisionKind::Land | DecisionKind::Skip => Step::Land,
        DecisionKind::Hold | DecisionKind::FloorOnly => hold("held", told),
        DecisionKind::SendBack => {
            let under_specified = decision.reasons.iter().any(|reason| reason.code == "task-under-specified");
            if under_specified {
                hold("task-under-specified", told)
            } else if standing.fails >= MOST_ATTEMPTS {
                hold("escalated", format!("{} attempts were false; the last: {told}", standing.fails))
            } else if standing.noted {
                Step::Send { iteration: standing.fails + 1, errand: Errand::Mend }
            } else {
                Step::Note { iteration: standing.fails.max(1) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
