//! countersign decides from evidence whether a coding agent's claim is true.
//!
//! The modules below are the stages of that decision, in the order data flows through them. A module imports only
//! from modules above it in this list; `tests/it/house.rs` reads every import and holds the order.
//!
//! 1. [`host`] touches the machine (git, processes, sandbox, rooms, clock, environment) so that nobody else does
//! 2. [`config`] settles the settings once
//! 3. [`task`] reads what was asked
//! 4. [`agent`] runs a program that reads a brief and answers
//! 5. [`worker`] reads a worker's report
//! 6. [`claim`] freezes the work
//! 7. [`receipts`] records what happened, in order, for good
//! 8. [`floor`] judges what needs no opinion
//! 9. [`verifier`] asks fresh eyes and proves that they touched nothing
//! 10. [`verdict`] parses the answer, cross-examines it and decides
//! 11. [`integrate`] lands a warrant, and saves what does not land
//! 12. [`pipeline`] tells the story
//! 13. [`cli`] speaks to people

pub mod agent;
pub mod claim;
pub mod cli;
pub mod config;
pub mod floor;
pub mod host;
pub mod integrate;
pub mod pipeline;
pub mod receipts;
pub mod task;
pub mod verdict;
pub mod verifier;
pub mod worker;
