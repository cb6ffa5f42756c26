//! All integration tests, in one binary: one link, one list.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test complains by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and read the environment themselves")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a skipped test is said aloud")]
#![allow(
    clippy::too_many_lines,
    clippy::items_after_statements,
    clippy::wrong_self_convention,
    reason = "a recipe reads best in one piece"
)]
#![allow(clippy::format_collect, reason = "clearer than folding, and tests are not in a hurry")]

mod acp;
mod agent_sessions;
mod agents;
mod agents_real;
mod bad_input;
mod bad_runner;
mod bites;
mod board;
mod cases;
mod cases_index;
mod change;
mod ci;
mod ci_cases;
mod ci_conducted;
mod ci_contracts;
mod collected;
mod consult;
mod decide;
mod diff;
mod docs;
mod doctor;
mod drive;
mod encoding;
mod footing;
mod gate;
mod gate_workflow;
mod gateway;
mod hook;
mod hostile;
mod house;
mod init;
mod injection;
mod interop;
mod kept;
mod landing;
mod line_endings;
#[path = "../fakes/model.rs"]
mod model;
mod packaging;
mod probes;
mod process;
mod prompt;
mod real_board;
mod real_board_run;
mod reconcile;
mod replayed_history;
mod reported;
mod reports;
mod right_code;
mod rooms;
mod rooms_again;
mod runners;
mod salvage;
mod sandbox;
mod share;
mod snapshot;
mod stand;
mod submodules;
mod support;
mod switched_on;
mod task_files;
mod tour;
mod transcripts;
mod trees;
mod unverified;
mod verdicts;
mod verify;
mod work;
mod work_batch;
mod work_cases;
mod work_cases_bytes;
mod work_cases_reports;
mod work_cases_tasks;
mod work_cli;
mod work_crash;
mod work_kept;
mod work_many;
mod work_merges;
mod worktree;
