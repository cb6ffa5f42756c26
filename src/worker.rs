//! What a worker says about its own work: the `RESULT` report, read without believing it.
//!
//! Only [`outbox`] touches the machine, to read what a worker left. [`mission`] is what a worker is told. [`sources`] chooses
//! among the copies of a report, [`parse`] reads one copy, [`mod@examine`] names what the grammar lets pass, [`files`] turns
//! `FILE_LIST` into paths, and [`delta`] applies the README changes a report carries. A report is a claim, never evidence
//! (DESIGN §1).

pub mod assertions;
pub mod blocks;
pub mod delta;
pub mod examine;
pub mod files;
pub mod mission;
pub mod outbox;
pub mod parse;
pub mod report;
pub mod sources;

pub use assertions::{AssertedBy, Assertion, AssertionKind, Expected, SaidChange};
pub use delta::{check_delta, read_delta};
pub use examine::{ProblemCode, ReportProblem, examine};
pub use files::{Listed, Place, file_list};
pub use parse::parse_report;
pub use report::{Blocks, Generation, Outcome, Rejection, RejectionCode, Report};
pub use sources::{Candidate, NoValidSource, Picked, Source, pick_report, sidecar_name};
