//! All integration tests, in one binary: one link, one list.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test complains by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests start programs and read the environment themselves")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a skipped test is said aloud")]
#![allow(clippy::format_collect, reason = "clearer than folding, and tests are not in a hurry")]

mod bites;
mod cases_index;
mod change;
mod consult;
mod house;
mod process;
mod prompt;
mod real_board;
mod rooms;
mod runners;
mod sandbox;
mod stand;
mod support;
mod verdicts;
