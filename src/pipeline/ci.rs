//! The merge gate: whether what would be merged was verified, on exactly this tree.

mod report;

pub use crate::config::Requirement;
pub use report::{
    Attested, CiDecision, CiReport, Covering, CriterionReport, EvidenceKind, GateFinding, Health, HealthCheck,
    TaskReport,
};
