//! The exit codes: public, documented, one exhaustive match.

use crate::receipts::DecisionKind;
use std::process::{ExitCode as ProcessExit, Termination};

/// How countersign leaves. The README's table is checked against [`ExitCode::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// PASS, a permitted SKIP, or nothing false found where there was no task.
    Pass = 0,
    /// FAIL: the claim is false.
    Fail = 1,
    /// The command, the task or the settings are wrong.
    Usage = 2,
    /// Held: a person decides.
    Held = 3,
    /// Git, a missing program, an unsupported repository, or a gate that cannot say no.
    Environment = 4,
    /// Our bug.
    Bug = 70,
    /// Interrupted.
    Interrupted = 130,
}

impl ExitCode {
    /// Every code with its meaning, as the README shows them.
    pub const ALL: &[(Self, &'static str)] = &[
        (Self::Pass, "PASS, a permitted SKIP, or (without a task) nothing false found; of `work`: all of it landed"),
        (Self::Fail, "FAIL: the claim is false; the reasons are printed"),
        (Self::Usage, "usage: the command, the task or the settings are wrong"),
        (
            Self::Held,
            "held: a person decides; the reason is printed. Of `work`: some task did not land, or cannot start",
        ),
        (Self::Environment, "environment: git, a missing program, an unsupported repository, a broken gate"),
        (Self::Bug, "our bug: please report it"),
        (Self::Interrupted, "interrupted"),
    ];

    /// The code of a decision.
    pub fn of(kind: DecisionKind) -> Self {
        match kind {
            DecisionKind::Land | DecisionKind::Skip | DecisionKind::FloorOnly => Self::Pass,
            DecisionKind::SendBack => Self::Fail,
            DecisionKind::Hold => Self::Held,
        }
    }
}

impl Termination for ExitCode {
    fn report(self) -> ProcessExit {
        ProcessExit::from(self as u8)
    }
}
