//! The merge gate: whether what would be merged was verified, on exactly this tree.

mod report;

pub use report::{
    Attested, CiDecision, CiReport, Covering, CriterionReport, EvidenceKind, GateFinding, Health, HealthCheck,
    Requirement, TaskReport,
};
